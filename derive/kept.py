"""Results of claims whose proofs are kept under the user's seal (`derive.store`).

The logs are replayed and the twins are run, as in every run.  What the claims state has been
compared with the logs when the file was written, so nothing of it is computed again: without
twins not even SymPy is loaded.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

from derive import runner
from derive.catalogue import PACKAGE
from derive.replay import Replay
from derive.result import Result, Settled, TwinView, from_plain
from derive.store import Module, Store

#: What came of a claim's twin, and the seconds that it took.
Evidence = tuple[TwinView, float]
_NO_TWIN: Evidence = (TwinView(runner.TwinStatus.NONE), 0.0)


def names(store: Store, patterns: Sequence[str]) -> list[str] | None:
    """The claims that are meant, in their order, if all of them are known and kept."""
    if not all(_is_known(store, p) for p in patterns or ["*"]):
        return None
    ids = [i for m in store.modules for i in m.claims]
    if not all(any(fnmatchcase(i, p) for i in ids) for p in patterns):
        return None  # the nearest of all claims will be named
    chosen = [i for i in ids if not patterns or any(fnmatchcase(i, p) for p in patterns)]
    return chosen if all(i in store.entries for i in chosen) else None


def _is_known(store: Store, pattern: str) -> bool:
    """Whether all claims that a pattern can mean are in modules that the store knows."""
    return store.complete or any(m.topic == pattern.split("/")[0] for m in store.modules)


def results(
    store: Store,
    chosen: Sequence[str],
    replay: Replay,
    *,
    seed: int,
    jobs: int,
    twins: bool = True,
    progress: runner.Progress | None = None,
) -> list[Result] | None:
    """The results; None if a log is not accepted or a module cannot be read.

    The logs have been given to `replay` already (`send_kept`).
    """
    evidence = _twins(store, chosen, seed, jobs, progress) if twins else {}
    if evidence is None:
        return None
    answers = replay.answers(None)
    out = []
    for name in chosen:
        found = [answers[k] for k in replay.kept[name]]
        result = _result(store.entries[name], found, *evidence.get(name, _NO_TWIN))
        if result is None:
            return None
        out.append(result)
    return out


def _result(
    entry: Mapping[str, Any], answers: Sequence[Any], twin: TwinView, seconds: float
) -> Result | None:
    try:
        goals, kinds = tuple(entry["goals"]), tuple(entry["kinds"])
        settled = Settled(from_plain(entry["result"]), (), goals, kinds, recalled=True)
    except (TypeError, KeyError, ValueError):
        return None
    if runner.not_replayed(settled, answers):
        return None
    return replace(
        settled.result, replayed=bool(answers), logs=runner.log_views(settled, entry["logs"]),
        twin=twin, seconds_symbolic=sum(a["seconds"] for a in answers), seconds_numeric=seconds,
    )  # fmt: skip


# ---------------------------------------------------------------------------- twins


def _twins(
    store: Store, chosen: Sequence[str], seed: int, jobs: int, progress: runner.Progress | None
) -> dict[str, Evidence] | None:
    """What came of the twins; each process loads the modules whose twins it runs."""
    wanted = set(chosen)
    modules = sorted(
        (m for m in store.modules if not wanted.isdisjoint(m.claims)),
        key=lambda m: -len(wanted.intersection(m.claims)),
    )
    if jobs > 1:  # what all of them need is loaded once
        importlib.import_module("derive.claim")
        importlib.import_module("numeric")
    out: dict[str, Evidence] = {}
    whole = True

    def arrived(place: int, done: Any) -> None:
        nonlocal whole
        whole = whole and not done.why
        out.update(done.value or {})
        if progress is not None:
            progress("twins", len(wanted.intersection(out)), len(wanted), modules[place].name)

    runner.shared([partial(_twins_in, m, wanted, seed) for m in modules], jobs, arrived)
    return out if whole and wanted <= out.keys() else None


def _twins_in(module: Module, wanted: set[str], seed: int) -> dict[str, Evidence]:
    """What came of the wanted twins of a module."""
    return dict(_evidence(module, wanted, seed))


def _evidence(module: Module, wanted: set[str], seed: int) -> Iterator[tuple[str, Evidence]]:
    claims = importlib.import_module(f"{PACKAGE}.{module.name}").CLAIMS
    for claim in claims:
        if claim.id in wanted:
            yield claim.id, runner.evidence(claim, seed)
