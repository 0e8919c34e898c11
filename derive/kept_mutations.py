"""What became of the mutations of our own claims, kept under the user's seal like proofs.

The logs of what refutes a mistaken statement are replayed in every run; which formulas they are
about was compared when the file was written.  What a mistaken twin measured depends on the seed and
on the sources of `numeric`, which the name of the file tells, too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from derive import store
from derive.replay import Replay
from derive.result import MutationView, Result, mutation_from_plain
from derive.store import Store

SUFFIX: Final = ".mutations"


def open_store(seed: int, *, fresh: bool = False) -> Store:
    """What is kept of mutations for this seed and this state of the program."""
    return store.open_store(fresh=fresh, suffix=SUFFIX, also=_numbers(seed))


def _numbers(seed: int) -> bytes:
    """The seed, and a digest of the sources that compute with it."""
    digest = hashlib.sha256(str(seed).encode())
    for name, pattern in (("numeric", "*.py"), ("numpy", "version.py")):
        spec = find_spec(name)  # not imported: it takes long to load
        if spec is not None and spec.origin is not None:
            for source in sorted(Path(spec.origin).parent.glob(pattern)):
                digest.update(source.read_bytes())
    return digest.digest()


def keep(
    kept: Store, views: Mapping[str, Sequence[MutationView]], settled: Mapping[str, Any]
) -> None:
    """Keep the views of these claims, with the logs of what was settled by id of the mutation."""
    for name, made in views.items():
        ids = [f"{name}-mutation-{k}" for k in range(1, len(made) + 1)]
        found = [settled[i] for i in ids if i in settled]
        views_of = [asdict(view) for view in made]
        entry: dict[str, Any] = {"result": {"views": views_of}}
        for part in ("logs", "goals", "kinds"):
            entry[part] = [x for one in found for x in one[part]]
        kept.keep(name, entry)
    kept.save()


def send(kept: Store, names: Sequence[str], replay: Replay) -> dict[str, list[int]] | None:
    """Give the logs to the checkers; None unless all that is asked for is kept."""
    if not all(name in kept.entries for name in names):
        return None
    return {name: [replay.send(log) for log in kept.entries[name]["logs"]] for name in names}


def attached(
    results: Sequence[Result], kept: Store, places: dict[str, list[int]], answers: Sequence[Any]
) -> list[Result] | None:
    """The results with their mutations; None if a log is not accepted, or shows something else."""
    out = []
    for r in results:
        entry = kept.entries[r.id]
        try:
            shown = zip(places[r.id], entry["goals"], entry["kinds"], strict=True)
            accepted = all(_accepted(answers[at], goal, kind) for at, goal, kind in shown)
            views = tuple(map(mutation_from_plain, entry["result"]["views"]))
        except (TypeError, KeyError, ValueError):
            return None
        if not accepted:
            return None
        out.append(replace(r, mutations=views))
    return out


def _accepted(answer: Any, goal: str, kind: str) -> bool:
    return bool(answer["accepted"]) and answer["goal"] == goal and answer["kind"] == kind
