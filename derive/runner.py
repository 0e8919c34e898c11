"""Runs claims: proofs, twins, and the replay of every proof log in fresh processes.

A proof is believed only after the checker has replayed its log.  A script that raises or runs
over its time makes its own claim undecided and leaves the others alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import multiprocessing
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import derive
from derive.children import end_with_parent
from derive.replay import Replay, checkers_for
from derive.result import LogView, Result, Settled, TwinStatus, TwinView, Verdict, to_plain
from derive.timing import TimeUp, limited

if TYPE_CHECKING:
    from derive.claim import Claim
    from derive.store import Store

#: Called with the stage, how many claims have passed it, how many there are, and the last one.
Progress = Callable[[str, int, int, str], None]

#: The kinds of logs without which a verdict does not stand.
NEEDS: Final = {
    Verdict.PROVED: {"proof"},
    Verdict.CONDITIONAL: {"proof", "counterexample", "witness"},
    Verdict.REFUTED: {"counterexample"},
}
GRACE_SECONDS: Final = 5.0


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
    kept = store.entries if store is not None else {}
    report = progress or (lambda *_: None)
    ids = [c.id for c in claims]

    def tell(stage: str) -> Tick:
        return lambda done, last: report(stage, done, len(ids), ids[last])

    with replay or Replay(checkers_for(len(claims), jobs)) as checker:
        tickets: dict[int, list[int]] = {}

        def texts(place: int, proof: _Done) -> Sequence[str]:
            found: Settled | None = proof.value
            if found is None:
                return ()
            logs: Sequence[str] = kept[ids[place]]["logs"] if found.recalled else found.logs
            return logs

        def send(place: int, proof: _Done) -> None:
            name, found = ids[place], proof.value
            if found is not None and found.recalled and name in checker.kept:
                tickets[place] = checker.kept[name]
                return
            tickets[place] = [checker.send(log) for log in texts(place, proof)]

        wary = store is None
        work = [
            partial(_recalled, c, kept[c.id]) if c.id in kept else partial(_settled, c, wary)
            for c in claims
        ]
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
        _judge(c, p, t, [answers[k] for k in tickets[place]], texts(place, p))
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
    """Keep what was found, and accepted by the checker, in this run."""
    for proof, result in zip(proofs, results, strict=True):
        found: Settled | None = proof.value
        if found is None or found.recalled:
            continue
        if result.replayed or result.verdict is Verdict.NOT_MATHEMATICAL:
            entry = {"result": to_plain(found.result), "logs": found.logs,
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


def _settled(claim: Claim, wary: bool) -> Settled:
    """The logs as text: that is how they travel between processes, to the checker and to a file."""
    from derive.verify import settle

    found = settle(claim, wary=wary)
    return replace(found, logs=tuple(map(json.dumps, found.logs)))


def _recalled(claim: Claim, entry: Any) -> Settled:
    """Without the logs that are in the store already."""
    from derive.verify import recall

    found = recall(claim, entry)
    if found.recalled:
        return replace(found, logs=())
    return replace(found, logs=tuple(map(json.dumps, found.logs)))


def failed(results: Sequence[Result]) -> bool:
    """Whether a verdict is unexpected, a twin disagrees or a mutation is not caught."""
    return any(
        r.unexpected
        or r.twin.status is TwinStatus.DISAGREES
        or not all(m.caught for m in r.mutations)
        for r in results
    )


# ---------------------------------------------------------------------------- one claim


def _twin_task(claim: Claim, proof: _Done, seed: int, time_limit: float | None) -> _Task:
    """The twin in what the proof has left of the claim's time."""
    twin = claim.twin
    if twin is None or proof.over_time:
        return _Task(lambda: None, None)
    left = None if time_limit is None else max(time_limit - proof.seconds, 0.001)
    return _Task(partial(twin.run, seed, claim.id), left, shown_limit=time_limit)


def evidence(claim: Claim, seed: int) -> tuple[TwinView, float]:
    """What comes of a claim's twin, run here, and the seconds that it takes."""
    done = _here(_twin_task(claim, _Done(), seed, None))
    return _twin_view(claim, _Done(), done), done.seconds


def shared(works: Sequence[Callable[[], Any]], jobs: int, arrived: Arrived) -> None:
    """Do all of it, with several jobs in processes that share it."""
    _shared([_Task(work, None) for work in works], jobs, arrived)


def _judge(
    claim: Claim, proof: _Done, twin: _Done, answers: Sequence[Any], logs: Sequence[str]
) -> Result:
    view = _twin_view(claim, proof, twin)
    why = f"the proof script {proof.why}" if proof.why else ""
    if not why and twin.over_time:
        why = f"the numeric twin {twin.why}"
    if not why:
        why = not_replayed(proof.value, answers)
    if why:
        return Broken(
            id=claim.id, title=claim.title, topic=claim.topic, source=claim.source,
            statement=_statement(claim, proof), verdict=Verdict.UNDECIDED, expected=claim.expected,
            twin=view, reason=why, remark=claim.remark,
            seconds_symbolic=proof.seconds, seconds_numeric=twin.seconds,
        )  # fmt: skip
    result: Result = proof.value.result
    return replace(
        result, replayed=bool(answers), logs=log_views(proof.value, logs), twin=view,
        seconds_symbolic=proof.seconds, seconds_numeric=twin.seconds,
    )  # fmt: skip


def log_views(settled: Settled, texts: Sequence[str]) -> tuple[LogView, ...]:
    """What each log shows and the digest of its text, the same whether it was kept or is new."""
    return tuple(
        LogView(kind, hashlib.sha256(text.encode()).hexdigest())
        for kind, text in zip(settled.kinds, texts, strict=True)
    )


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


def not_replayed(settled: Settled, answers: Sequence[Any]) -> str:
    """Why the logs do not carry the verdict; empty if they do."""
    if not len(answers) == len(settled.goals) == len(settled.kinds):
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
    _begin_child()
    for place in _turns(taken, len(tasks)):
        done = _here(tasks[place])
        try:
            sender.send((place, done))
        except Exception as error:
            sender.send((place, _unsent(done, error)))


def _unsent(done: _Done, error: Exception) -> _Done:
    return _Done(None, f"raised {described(error)}", False, done.seconds)


def _fork(process: Any) -> None:
    """Start a forked process that will call `_begin_child`."""
    with warnings.catch_warnings():
        # Python 3.12 warns of forking beside NumPy's idle threads, which hold no locks.
        warnings.simplefilter("ignore", DeprecationWarning)
        # an interrupt waits until the child has set how it takes one
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin_child() -> None:
    """What a forked process does first."""
    end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _here(task: _Task) -> _Done:
    """Do a task in this process.  Output of scripts goes to standard error."""
    start = time.perf_counter()
    value, why, over_time = None, "", False
    try:
        with contextlib.redirect_stdout(sys.stderr), limited(task.limit):
            value = task.work()
    except TimeUp:
        why, over_time = _over(task), True
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # those of a script's own making, too
        why = f"raised {described(error)}"
    return _Done(value, why, over_time, time.perf_counter() - start)


def _over(task: _Task) -> str:
    limit = task.limit if task.shown_limit is None else task.shown_limit
    return f"ran over the claim's time limit of {limit:g} s"


def described(error: BaseException) -> str:
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
    _begin_child()
    done = _here(task)
    try:
        sender.send(done)
    except Exception as error:
        sender.send(_unsent(done, error))
