"""Runs claims: proofs, twins, and the replay of every proof log in one fresh process.

A proof is believed only after the checker has replayed its log.  A script that raises or runs
over its time makes its own claim undecided and leaves the others alone.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Final, Self

import derive
from derive.result import Result, TwinStatus, TwinView, Verdict, to_plain

if TYPE_CHECKING:
    from derive.claim import Claim
    from derive.store import Store
    from derive.verify import Settled

#: Called with the stage, how many claims have passed it, how many there are, and the last one.
Progress = Callable[[str, int, int, str], None]

#: The kinds of logs without which a verdict does not stand.
NEEDS: Final = {
    Verdict.PROVED: {"proof"},
    Verdict.CONDITIONAL: {"proof", "counterexample", "witness"},
    Verdict.REFUTED: {"counterexample"},
}
GRACE_SECONDS: Final = 5.0
_LONGEST_TIMER: Final = 1e8
_END: Final = object()


@dataclass(frozen=True)
class Broken(Result):
    """An undecided result whose check broke off: no module can expect that."""

    @property
    def unexpected(self) -> bool:
        return True


def verify(
    claims: Sequence[Claim],
    *,
    seed: int = 0,
    jobs: int = 1,
    time_limit: float | None = None,
    progress: Progress | None = None,
    store: Store | None = None,
    replay: Replay | None = None,
) -> list[Result]:
    """The result of every claim, in order; apart from times the same for any number of jobs.

    Proofs that `store` holds are recalled rather than found again, and replayed like new ones.
    `replay` is a checker that may have been given the logs of `store` already (`send_kept`).
    """
    from derive.verify import recall, settle

    kept = store.entries if store is not None else {}

    report = progress or (lambda *_: None)
    ids = [c.id for c in claims]

    def tell(stage: str) -> Tick:
        return lambda done, last: report(stage, done, len(ids), ids[last])

    with replay or Replay() as checker:
        tickets: dict[int, list[int]] = {}

        def send(place: int, proof: _Done) -> None:
            if proof.value is not None and proof.value.recalled and ids[place] in checker.kept:
                tickets[place] = checker.kept[ids[place]]
                return
            logs = proof.value.logs if proof.value is not None else ()
            tickets[place] = [checker.send(log) for log in logs]

        work = [partial(recall, c, kept[c.id]) if c.id in kept else partial(settle, c)
                for c in claims]  # fmt: skip
        proving = [_Task(w, time_limit) for w in work]
        if time_limit is None:  # a twin does not depend on how long the proof took
            twins = [_twin_task(c, _Done(), seed, None) for c in claims]
            proofs, evidence = _together(proving, twins, jobs, tell, send)
        else:
            proofs = _run(proving, jobs, tell("proofs"))
            for place, proof in enumerate(proofs):
                send(place, proof)
            twins = [
                _twin_task(c, p, seed, time_limit) for c, p in zip(claims, proofs, strict=True)
            ]
            evidence = _run(twins, jobs, tell("twins"))
        patience = None if time_limit is None else GRACE_SECONDS + time_limit * len(claims)
        answers = checker.answers(patience)
    results = [
        _judge(c, p, t, [answers[k] for k in tickets[place]])
        for place, (c, p, t) in enumerate(zip(claims, proofs, evidence, strict=True))
    ]
    if store is None:
        return results
    if any(p.value and p.value.recalled and not r.replayed
           for p, r in zip(proofs, results, strict=True)):  # fmt: skip
        store.entries = {}  # what is kept is damaged: find everything again
        return verify(claims, seed=seed, jobs=jobs, time_limit=time_limit, progress=progress,
                      store=store)  # fmt: skip
    _keep(store, proofs, results)
    return results


def _keep(store: Store, proofs: Sequence[_Done], results: Sequence[Result]) -> None:
    """Keep what was found in this run and accepted by the checker."""
    for proof, result in zip(proofs, results, strict=True):
        found: Settled | None = proof.value
        if found is not None and result.replayed and not found.recalled:
            logs = [json.dumps(log) for log in found.logs]
            entry = {"result": to_plain(found.result), "logs": logs,
                     "goals": found.goals, "kinds": found.kinds}  # fmt: skip
            store.keep(result.id, entry)
    store.save()


def _together(
    proving: Sequence[_Task],
    twins: Sequence[_Task],
    jobs: int,
    tell: Callable[[str], Tick],
    send: Callable[[int, _Done], None],
) -> tuple[list[_Done], list[_Done]]:
    """Proofs and twins as one list of tasks; `send` sees every proof as soon as it is there."""
    count = len(proving)
    ticks = tell("proofs"), tell("twins")
    done = [0, 0]

    def arrived(place: int, result: _Done) -> None:
        kind, at = divmod(place, count)
        if kind == 0:
            send(at, result)
        done[kind] += 1
        ticks[kind](done[kind], at)

    found = _shared([*proving, *twins], jobs, arrived)
    return found[:count], found[count:]


def failed(results: Sequence[Result]) -> bool:
    """Whether a verdict is unexpected or a twin disagrees."""
    return any(r.unexpected or r.twin.status is TwinStatus.DISAGREES for r in results)


# ---------------------------------------------------------------------------- one claim


def _twin_task(claim: Claim, proof: _Done, seed: int, time_limit: float | None) -> _Task:
    """The twin in what the proof has left of the claim's time."""
    twin = claim.twin
    if twin is None or proof.over_time:
        return _Task(lambda: None, None)
    left = None if time_limit is None else max(time_limit - proof.seconds, 0.001)
    return _Task(partial(twin.run, seed, claim.id), left, shown_limit=time_limit)


def _judge(claim: Claim, proof: _Done, twin: _Done, answers: Sequence[Any]) -> Result:
    view = _twin_view(claim, proof, twin)
    why = f"the proof script {proof.why}" if proof.why else ""
    if not why and twin.over_time:
        why = f"the numeric twin {twin.why}"
    if not why:
        why = _not_replayed(proof.value, answers)
    if why:
        return Broken(
            id=claim.id, title=claim.title, topic=claim.topic, source=claim.source,
            statement=_statement(claim, proof), verdict=Verdict.UNDECIDED, expected=claim.expected,
            twin=view, reason=why, remark=claim.remark,
            seconds_symbolic=proof.seconds, seconds_numeric=twin.seconds,
        )  # fmt: skip
    result: Result = proof.value.result
    return replace(
        result, replayed=bool(answers), twin=view,
        seconds_symbolic=proof.seconds, seconds_numeric=twin.seconds,
    )  # fmt: skip


def _twin_view(claim: Claim, proof: _Done, twin: _Done) -> TwinView:
    if twin.value is not None:
        view: TwinView = twin.value
        return view
    if claim.twin is None:
        return TwinView(TwinStatus.NONE)
    if proof.over_time or twin.over_time:
        return TwinView(TwinStatus.NONE, reason="not finished within the time limit")
    return TwinView(TwinStatus.DISAGREES, reason=f"the twin {twin.why}")


def _statement(claim: Claim, proof: _Done) -> str:
    """The statement where it can be told; it may itself be what took too long or raised."""
    from derive.verify import statement_latex

    limit = GRACE_SECONDS if proof.over_time else None
    return _here(_Task(partial(statement_latex, claim), limit)).value or ""


def _not_replayed(settled: Settled, answers: Sequence[Any]) -> str:
    """Why the logs do not carry the verdict; empty if they do."""
    if not len(settled.logs) == len(settled.goals) == len(settled.kinds):
        return "its proof logs, goals and kinds do not belong together"
    missing = NEEDS.get(settled.result.verdict, set()) - set(settled.kinds)
    if missing:
        return f"its proof log does not replay: there is no {min(missing)} in it"
    listed = {axiom.name for axiom in settled.result.axioms}
    for answer, goal, kind in zip(answers, settled.goals, settled.kinds, strict=True):
        why = _objection(answer, goal, kind, listed)
        if why:
            return f"its proof log does not replay: {why}"
    return ""


def _objection(answer: Any, goal: str, kind: str, listed: set[str]) -> str:
    if not answer["accepted"]:
        return str(answer["reason"])
    if answer["kind"] != kind:
        return f"it shows a {answer['kind']}, not a {kind}"
    if answer["goal"] != goal:
        return f"it is the {kind} of another goal"
    unlisted = set(answer["axioms"]) - listed
    return f"it uses the axiom {min(unlisted)}, which is not listed" if unlisted else ""


# ---------------------------------------------------------------------------- replay


class Replay:
    """The checker at work in a process of its own, isolated from everything but the kernel.

    It starts at once and answers each log while the next ones are still being made.  A thread
    feeds it, so that a slow checker does not hold up the proofs.
    """

    def __init__(self) -> None:
        self._count = 0
        self._files = contextlib.ExitStack()
        self._answers, self._messages = self._file(), self._file()
        self._process = subprocess.Popen(
            _checker(), stdin=subprocess.PIPE, stdout=self._answers, stderr=self._messages
        )
        self._queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        #: the places of the answers for the logs of a store, by the id of the claim
        self.kept: dict[str, list[int]] = {}
        self._lock = threading.Lock()
        self._feeder = threading.Thread(target=self._feed, daemon=True)

    def _file(self) -> IO[bytes]:
        return self._files.enter_context(tempfile.TemporaryFile())

    def send(self, log: Any) -> int:
        """Give a log to the checker; returns the place of its answer."""
        with self._lock:
            if self._count == 0:
                self._feeder.start()
            self._count += 1
            self._queue.put(log)
            return self._count - 1

    def send_kept(self, store: Store, names: Iterable[str]) -> None:
        """Give the kept logs of these claims to the checker, before the claims are known."""
        for name in names:
            self.kept[name] = [self.send(log) for log in store.entries[name]["logs"]]

    def _feed(self) -> None:
        assert self._process.stdin is not None
        # a checker that has ended reads nothing; `answers` tells why
        with contextlib.suppress(BrokenPipeError), self._process.stdin as pipe:
            while (log := self._queue.get()) is not _END:
                text = log if isinstance(log, str) else json.dumps(log)  # kept logs are text
                pipe.write(text.encode() + b"\n")
                pipe.flush()

    def answers(self, patience: float | None) -> list[Any]:
        """One answer for each log; waits at most `patience` seconds."""
        if self._count == 0:
            return []
        self._queue.put(_END)
        try:
            status = self._process.wait(patience)
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

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._queue.put(_END)
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


def _checker() -> list[str]:
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


# ---------------------------------------------------------------------------- tasks


@dataclass(frozen=True)
class _Task:
    """Something to compute for one claim, within `limit` seconds."""

    work: Callable[[], Any]
    limit: float | None
    shown_limit: float | None = None


@dataclass(frozen=True)
class _Done:
    """What came of a task: its value, or why there is none."""

    value: Any = None
    why: str = ""
    over_time: bool = False
    seconds: float = 0.0


class _TimeUp(BaseException):
    """Not an `Exception`, so that a proof script that catches those does not catch it."""


Tick = Callable[[int, int], None]


def _can_fork() -> bool:
    return "fork" in multiprocessing.get_all_start_methods()


def _run(tasks: Sequence[_Task], jobs: int, tick: Tick) -> list[_Done]:
    """Do all tasks; with several jobs each one in a process of its own."""
    if jobs > 1 and len(tasks) > 1 and _can_fork():
        return _in_children(tasks, jobs, tick)
    out = []
    for place, task in enumerate(tasks):
        out.append(_here(task))
        tick(place + 1, place)
    return out


Arrived = Callable[[int, _Done], None]


def _shared(tasks: Sequence[_Task], jobs: int, arrived: Arrived) -> list[_Done]:
    """Do all tasks, with several jobs in forked processes that each take the next that is left.

    What a process has learnt serves its next task, which a process for each task would lose.  A
    task that ends its process is done again in one of its own, to tell how it ends.
    """
    found: dict[int, _Done] = {}

    def keep(place: int, done: _Done) -> None:
        found[place] = done
        arrived(place, done)

    if jobs > 1 and _can_fork():
        _in_helpers(tasks, min(jobs, len(tasks)), keep)
    else:
        for place, task in enumerate(tasks):
            keep(place, _here(task))
    lost = [place for place in range(len(tasks)) if place not in found]
    for place in lost:
        keep(place, *_in_children([tasks[place]], 1, lambda *_: None))
    return [found[place] for place in range(len(tasks))]


def _in_helpers(tasks: Sequence[_Task], count: int, keep: Arrived) -> None:
    """Let `count` helpers share the tasks, and hear from all of them until each has ended."""
    context = multiprocessing.get_context("fork")
    taken = context.Value("i", 0)
    helpers = [_Helper(context, tasks, taken) for _ in range(count)]
    try:
        heard = [helper.results for helper in helpers]
        while heard:
            ready = wait(heard)
            for results in [r for r in heard if r in ready]:
                try:
                    keep(*results.recv())
                except (EOFError, OSError):
                    heard.remove(results)
    finally:
        for helper in helpers:
            helper.end()


def _turns(taken: Any, count: int) -> Iterator[int]:
    """The tasks that this process gets from the common list."""
    while True:
        with taken.get_lock():
            place = taken.value
            taken.value += 1
        if place >= count:
            return
        yield place


class _Helper:
    """A forked process that takes tasks from the common list and sends what came of them."""

    def __init__(self, context: Any, tasks: Sequence[_Task], taken: Any) -> None:
        self.results, sender = context.Pipe(duplex=False)
        self._process = context.Process(target=_help, args=(tasks, taken, sender), daemon=True)
        _fork(self._process)
        sender.close()

    def end(self) -> None:
        self._process.kill()
        self._process.join()
        self.results.close()


def _help(tasks: Sequence[_Task], taken: Any, sender: Any) -> None:
    _take_interrupts()
    for place in _turns(taken, len(tasks)):
        done = _here(tasks[place])
        try:
            sender.send((place, done))
        except Exception as error:
            sender.send((place, _unsent(done, error)))


def _unsent(done: _Done, error: Exception) -> _Done:
    return _Done(None, f"raised {_described(error)}", False, done.seconds)


def _fork(process: Any) -> None:
    """Start a forked process that will call `_take_interrupts`."""
    with warnings.catch_warnings():
        # Python 3.12 warns of forking beside NumPy's idle threads, which hold no locks.
        warnings.simplefilter("ignore", DeprecationWarning)
        # an interrupt waits until the child has set how it takes one
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _take_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _here(task: _Task) -> _Done:
    """Do a task in this process.  Output of scripts goes to standard error."""
    start = time.perf_counter()
    value, why, over_time = None, "", False
    try:
        with contextlib.redirect_stdout(sys.stderr), _limited(task.limit):
            value = task.work()
    except _TimeUp:
        why, over_time = _over(task), True
    except (Exception, SystemExit) as error:
        why = f"raised {_described(error)}"
    return _Done(value, why, over_time, time.perf_counter() - start)


def _over(task: _Task) -> str:
    limit = task.limit if task.shown_limit is None else task.shown_limit
    return f"ran over the claim's time limit of {limit:g} s"


@contextlib.contextmanager
def _limited(seconds: float | None) -> Iterator[None]:
    """Raise `_TimeUp` after so many seconds, and again should the first one get lost."""
    if seconds is None:
        yield
        return

    def ring(*_: Any) -> None:
        raise _TimeUp

    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, min(seconds, _LONGEST_TIMER), 0.5)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _described(error: BaseException) -> str:
    """The exception in one line, with the place in the script that led to it."""
    text = " ".join(str(error).split())
    head = type(error).__name__ + (f": {text}" if text else "")
    frames = list(traceback.extract_tb(error.__traceback__))
    place = ([f for f in frames if _is_script(Path(f.filename))] or frames)[-1]
    return f"{head} ({Path(place.filename).name}:{place.lineno})"


def _is_script(path: Path) -> bool:
    """Whether a file holds claims or belongs to a user, and is no library."""
    here, library = Path(derive.__path__[0]), Path(traceback.__file__).parent
    foreign = path.is_relative_to(here) or path.is_relative_to(library)
    return path.is_relative_to(here / "claims") or not (foreign or "site-packages" in path.parts)


def _in_children(tasks: Sequence[_Task], jobs: int, tick: Tick) -> list[_Done]:
    """One forked process for each task, `jobs` at a time.

    A fresh process for each keeps claims apart: what one of them computes, caches or breaks, a
    crash included, the next one does not see.
    """
    context = multiprocessing.get_context("fork")
    done: dict[int, _Done] = {}
    running: dict[Connection, _Child] = {}
    waiting = list(enumerate(tasks))[::-1]
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                child = _Child(context, *waiting.pop())
                running[child.results] = child
            pause = min((c.seconds_left() for c in running.values()), default=None)
            ready = wait(list(running), None if pause == float("inf") else pause)
            for results, child in list(running.items()):
                if results in ready or child.seconds_left() <= 0:
                    del running[results]
                    done[child.place] = child.finish(results in ready)
                    tick(len(done), child.place)
    finally:
        for child in running.values():
            child.end()
    return [done[place] for place in range(len(tasks))]


class _Child:
    """A forked process that does one task and sends what came of it."""

    def __init__(self, context: Any, place: int, task: _Task) -> None:
        self.place = place
        self._task = task
        self._start = time.perf_counter()
        self.results, sender = context.Pipe(duplex=False)
        self._process = context.Process(target=_do_and_send, args=(task, sender), daemon=True)
        _fork(self._process)
        sender.close()

    def seconds_left(self) -> float:
        """Until the child is ended from outside, should its own timer not stop it."""
        if self._task.limit is None:
            return float("inf")
        return self._start + self._task.limit + GRACE_SECONDS - time.perf_counter()

    def finish(self, answered: bool) -> _Done:
        seconds = time.perf_counter() - self._start
        try:
            if not answered:
                return _Done(None, _over(self._task), True, seconds)
            done: _Done = self.results.recv()
            return done
        except EOFError:
            self._process.join()
            why = f"ended its process with status {self._process.exitcode}"
            return _Done(None, why, False, seconds)
        finally:
            self.end()

    def end(self) -> None:
        self._process.kill()
        self._process.join()
        self._process.close()
        self.results.close()


def _do_and_send(task: _Task, sender: Any) -> None:
    _take_interrupts()
    done = _here(task)
    try:
        sender.send(done)
    except Exception as error:
        sender.send(_unsent(done, error))
