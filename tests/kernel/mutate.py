"""Every small alteration of a proof log, for tests that want all of them rejected.

`mutations` walks the JSON of a log and alters one place at a time: every leaf, every element of
every list, every key of every object.  With `reseal` the digest is computed anew, so that an
alteration has to be caught by the replay; without it, by the digest.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from itertools import count
from typing import Any, Final

from derive.kernel.axioms import AXIOMS
from derive.kernel.check import KINDS, Shown, _replay, check
from derive.kernel.log import digest, read_terms
from derive.kernel.rules import RULES
from derive.kernel.terms import FORMULA_OPS, FUNCTIONS, SORTS, TERM_OPS, KernelError

Json = Any
Path = tuple[Any, ...]
Edit = tuple[str, Path, Callable[[Any, Any], None]]
#: words with a meaning in a log; a word of one list is replaced by its neighbours
VOCABULARY = (
    sorted(RULES), sorted(AXIOMS), sorted(KINDS), sorted(TERM_OPS | FORMULA_OPS),
    sorted(FUNCTIONS), sorted((*SORTS, "tensor")),
)  # fmt: skip


def mutations(
    log: Json, *, reseal: bool = False, at_most: int | None = None, seed: int = 0
) -> Iterator[tuple[str, Json]]:
    """Altered copies of `log`, each with a description: all, or at most so many.

    Those are at places that are chosen at random, each by one of its alterations.
    """
    places = [*_places(log, ()), *_for_further_fields(log)]
    numbers = len(log["terms"])
    if at_most is None:
        edits = [e for path, value in places for e in _edits_at(path, value, numbers)]
    else:
        chosen = random.Random(seed)
        some = chosen.sample(places, min(at_most, len(places)))
        edits = [chosen.choice(list(_edits_at(*place, numbers))) for place in some]
    yield from _altered(log, edits, reseal)


def in_every_field(log: Json, steps: Iterable[int], seed: int = 0) -> Iterator[tuple[str, Json]]:
    """For every field of the given steps one alteration, chosen at random and sealed anew.

    The steps before an altered one are as they were, so that it meets the same theorems: if it is
    refused there, the whole log is refused, and only the others are yielded.
    """
    chosen, wanted = random.Random(seed), set(steps)
    terms, theorems = read_terms(log["terms"]), []
    for number, step in enumerate(log["steps"]):
        for description, altered in (
            _altered_step(step, chosen, len(terms)) if number in wanted else ()
        ):
            if _goes_through(altered, theorems, terms):
                changed = {**log, "steps": [*log["steps"]]}
                changed["steps"][number] = altered
                changed["digest"] = digest(changed)
                yield f"steps.{number}.{description}", changed
        theorems.append(_replay(step, theorems, terms))


def _altered_step(step: Json, chosen: random.Random, numbers: int) -> Iterator[tuple[str, Json]]:
    fields: dict[Any, list[Edit]] = {}
    for edit in _edits_in(step, numbers):
        fields.setdefault(edit[1][0], []).append(edit)
    for found in fields.values():
        yield from _altered(step, [chosen.choice(found)], reseal=False)


def _goes_through(step: Json, theorems: list[Any], terms: list[Any]) -> bool:
    """Whether the checker would go on behind this step."""
    try:
        _replay(step, theorems, terms)
    except (
        KernelError, TypeError, AttributeError, LookupError, ValueError, ArithmeticError,
        RecursionError,
    ):  # fmt: skip
        return False
    return True


def _altered(log: Json, edits: Iterable[Edit], reseal: bool) -> Iterator[tuple[str, Json]]:
    for description, path, alter in edits:
        altered = holder = copy(log)
        before = log
        for key in path[:-1]:  # what does not lie on the way is shared with the log
            holder[key] = copy(holder[key])
            holder, before = holder[key], before[key]
        alter(holder, path[-1])
        if reseal and path[0] != "digest":
            altered["digest"] = digest(altered)
        if not _identical(holder, before):
            yield f"{'.'.join(map(str, path))}: {description}", altered


def shown_by(log: Json) -> Shown | None:
    """What the checker accepts the log as, None if it rejects it; other errors are raised."""
    try:
        return check(log)
    except KernelError:
        return None


def accepted_as_the_same(
    log: Json, alterations: Iterable[tuple[str, Json]]
) -> list[tuple[str, Json]]:
    """The alterations after which the log is still accepted for what it showed before."""
    original = check(log)
    return [
        (description, altered)
        for description, altered in alterations
        if (shown := shown_by(altered)) is not None
        and (shown.kind, shown.goal, shown.values)
        == (original.kind, original.goal, original.values)
    ]


def in_a_witness(description: str) -> bool:
    """Whether an alteration leaves alone what a log and its steps claim.

    Only such an alteration may leave a proof of the same statement: another name for a variable
    of the proof, another order of factors, a fact that is not needed.
    """
    return re.match(r"terms\.|steps\.\d+\.(args|premises)\b", description) is not None


# ---------------------------------------------------------------------------- alterations


#: stands where there is no value yet
_NOTHING: Final = object()


def _for_further_fields(log: Json) -> Iterator[tuple[Path, Any]]:
    for k in range(len(log["steps"])):
        yield ("steps", k, "note"), _NOTHING
    yield ("note",), _NOTHING


def _edits_in(whole: Json, numbers: int) -> Iterator[Edit]:
    for path, value in _places(whole, ()):
        yield from _edits_at(path, value, numbers)


def _edits_at(path: Path, value: Json, numbers: int) -> Iterator[Edit]:
    if value is _NOTHING:
        yield "a further field", path, _setter("")
        return
    for description, new in _alternatives(value, numbers):
        yield description, path, _setter(new)
    yield "removed", path, _remove
    if isinstance(path[-1], int):
        yield "doubled", path, lambda holder, k: holder.insert(k, holder[k])
        if path[-1] > 0:
            yield "moved up", path, _swap


def _places(value: Json, path: Path) -> Iterator[tuple[Path, Json]]:
    if path:
        yield path, value
    items = value.items() if isinstance(value, dict) else ()
    items = enumerate(value) if isinstance(value, list) else items
    for key, inner in items:
        yield from _places(inner, (*path, key))


def _setter(new: Json) -> Callable[[Any, Any], None]:
    def put(holder: Any, key: Any) -> None:
        holder[key] = new

    return put


def _remove(holder: Any, key: Any) -> None:
    del holder[key]


def _swap(holder: Any, k: Any) -> None:
    holder[k - 1], holder[k] = holder[k], holder[k - 1]


def _alternatives(value: Json, numbers: int) -> Iterator[tuple[str, Json]]:
    match value:
        case bool():
            yield "negated", not value
            yield "as a number", int(value)
        case int():
            for by in (-1, 1, 2, -5, numbers):
                yield f"{by:+}", value + by
            yield "as a float", float(value)
            yield "as a word", str(value)
            if value in (0, 1):
                yield "as a truth value", bool(value)
        case str():
            yield from ((f"now {w}", w) for w in _other_words(value))
        case None:
            yield "now 0", 0
            yield "now []", []
        case list():
            yield "emptied", []
            yield "with a number more", [*value, 0]
            yield "now an object", dict(zip(map(str, count()), value, strict=False))
        case dict():
            yield "emptied", {}
            yield "as a list", list(value.values())
    if value is not None:
        yield "now null", None


def _other_words(word: str) -> Iterator[str]:
    yield from (word + "'", "", "0", "1/0", "-1", "%0", " " + word)
    for words in VOCABULARY:
        if word in words:
            k = words.index(word)
            yield words[k - 1]
            yield words[(k + 1) % len(words)]


def _identical(a: Json, b: Json) -> bool:
    """Equality that tells 1 from True and from 1.0."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_identical(a[k], b[k]) for k in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(_identical, a, b))
    return bool(a == b)
