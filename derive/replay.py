"""The replay of proof logs, in processes of their own that are isolated from all but the kernel."""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Final, Self

import derive

if TYPE_CHECKING:
    from derive.store import Store

_END: Final = object()
#: A checker more pays for its start if there are the logs of so many more claims.
_WORTH_A_CHECKER: Final = 100


def checkers_for(claims: int, jobs: int) -> int:
    """How many checkers are worth while."""
    return max(1, min(jobs, claims // _WORTH_A_CHECKER))


class Replay:
    """Checkers at work; they start at once and answer each log while others are being made."""

    def __init__(self, checkers: int = 1) -> None:
        self._checkers = [_Checker() for _ in range(checkers)]
        self._places: list[tuple[_Checker, int]] = []
        #: the places of the answers for the logs of a store, by the id of the claim
        self.kept: dict[str, list[int]] = {}

    def send(self, log: Any) -> int:
        """Give a log to the checker that has had least; returns the place of the answer."""
        text = log if isinstance(log, str) else json.dumps(log)
        return self._give(min(self._checkers, key=lambda c: c.load), text)

    def send_kept(self, store: Store, names: Sequence[str]) -> None:
        """Give the kept logs of these claims to the checkers, before the claims are known.

        Each checker gets neighbours: the proofs of a topic have many steps in common, which a
        checker takes only once.
        """
        logs = {name: store.entries[name]["logs"] for name in names}
        share = sum(len(log) for each in logs.values() for log in each) / len(self._checkers)
        waiting = iter(self._checkers)
        checker = next(waiting)
        for name in names:
            if checker.load >= share:
                checker = next(waiting, checker)
            self.kept[name] = [self._give(checker, log) for log in logs[name]]

    def _give(self, checker: _Checker, text: str) -> int:
        self._places.append((checker, checker.send(text)))
        return len(self._places) - 1

    def answers(self, patience: float | None) -> list[Any]:
        """One answer for each log; waits at most `patience` seconds."""
        until = None if patience is None else time.monotonic() + patience
        for checker in self._checkers:
            checker.finish()
        found = {checker: checker.answers(until) for checker in self._checkers}
        return [found[checker][at] for checker, at in self._places]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for checker in self._checkers:
            checker.end()


class _Checker:
    """One checker.  A thread feeds it, so that a slow one does not hold up the proofs."""

    def __init__(self) -> None:
        #: how many characters it has been given
        self.load = 0
        self._count = 0
        self._files = contextlib.ExitStack()
        self._answers, self._messages = self._file(), self._file()
        self._process = subprocess.Popen(
            _command(), stdin=subprocess.PIPE, stdout=self._answers, stderr=self._messages
        )
        self._queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._feeder = threading.Thread(target=self._feed, daemon=True)

    def _file(self) -> IO[bytes]:
        return self._files.enter_context(tempfile.TemporaryFile())

    def send(self, text: str) -> int:
        if self._count == 0:
            self._feeder.start()
        self._count += 1
        self.load += len(text)
        self._queue.put(text)
        return self._count - 1

    def _feed(self) -> None:
        assert self._process.stdin is not None
        # a checker that has ended reads nothing; `answers` tells why
        with contextlib.suppress(BrokenPipeError), self._process.stdin as pipe:
            while (text := self._queue.get()) is not _END:
                pipe.write(text.encode() + b"\n")
                pipe.flush()

    def finish(self) -> None:
        """There is nothing more to come."""
        self._queue.put(_END)

    def answers(self, until: float | None) -> list[Any]:
        if self._count == 0:
            return []
        try:
            left = None if until is None else max(0.0, until - time.monotonic())
            status = self._process.wait(left)
        except subprocess.TimeoutExpired:
            return self._refusal("the checker ran over the time limit")
        self._answers.seek(0)
        found = _answers_in(self._answers.read())
        if status == 0 and len(found) == self._count:
            return found
        self._messages.seek(0)
        last = self._messages.read().decode(errors="replace").strip().splitlines()[-1:]
        return self._refusal(": ".join([f"the checker ended with status {status}", *last]))

    def _refusal(self, reason: str) -> list[Any]:
        return [{"accepted": False, "reason": reason}] * self._count

    def end(self) -> None:
        self.finish()
        self._process.kill()
        self._process.wait()
        if self._feeder.is_alive():
            self._feeder.join()
        elif self._process.stdin is not None:
            self._process.stdin.close()
        self._files.close()


def _answers_in(text: bytes) -> list[Any]:
    """The answers, one on a line; none if a line is not an answer."""
    try:
        found = [json.loads(line) for line in text.splitlines()]
    except ValueError:
        return []
    return found if all(isinstance(a, dict) for a in found) else []


def _command() -> list[str]:
    """``python -m derive.kernel.check`` without site packages, environment or current directory.

    The folder of this very package is all that is added to the path, so that the kernel that is
    replayed is the one that is installed beside this file, also in a source checkout.
    """
    root = str(Path(derive.__path__[0]).resolve().parent)
    start = (
        "import runpy, sys; sys.path.insert(0, sys.argv.pop(1)); "
        "runpy.run_module('derive.kernel.check', run_name='__main__', alter_sys=True)"
    )
    return [sys.executable, "-I", "-S", "-c", start, root]
