"""Texts of logs, sound and altered, replayed by Coq and held against each other."""

import inspect
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from derive.certify import check
from derive.kernel import log as kernel_log
from derive.kernel.rules import RULES, infer
from derive.kernel.terms import KernelError


def answers(library: Path, lines: Sequence[str]) -> list[bool]:
    """What Coq answers to each evaluation of a truth value in these lines."""
    source = ["From Derive Require Import Text Prelude Run Rules Terms.", *lines]
    (library / "Trial.v").write_text("\n".join(source) + "\n", encoding="utf-8")
    (answer,) = check._compile(library, ["Trial"])
    return [a == "true" for a in re.findall(r"= (true|false)\b", answer)]


def proves(library: Path, texts: Sequence[str]) -> list[bool]:
    """Whether Coq replays each text to the end."""
    found = answers(library, [
        f'Eval vm_compute in match {_replayed(t)} with [Some _] => true | _ => false end.'
        for t in texts
    ])  # fmt: skip
    assert len(found) == len(texts)
    return found


def proves_the_same(
    library: Path, pairs: Sequence[tuple[str, str]]
) -> tuple[list[bool], list[bool]]:
    """Whether the second texts of the pairs, each once, are replayed; and for every pair whether
    the first text ends in the same formula as the second."""
    originals = sorted({original for _, original in pairs})
    lines = []
    for k, original in enumerate(originals):
        lines += [
            f"Definition o{k} := Eval vm_compute in {_replayed(original)}.",
            f"Eval compute in match o{k} with [Some _] => true | _ => false end.",
        ]
    for made, original in pairs:
        said = f"{_replayed(made)}, o{originals.index(original)}"
        same = f"match {said} with [Some p], [Some q] => feqb p q | _, _ => false end"
        lines.append(f"Eval vm_compute in {same}.")
    found = answers(library, lines)
    assert len(found) == len(originals) + len(pairs)
    return found[: len(originals)], found[len(originals) :]


def _replayed(text: str) -> str:
    return f'replay (text_of ["{text}"%blob])'


def still_proves(log: Any) -> bool:
    """Whether the program's own kernel makes the same roots with these steps.

    A premise that is no fact, and an argument that the rule has no place for, are refused there and
    of no use here: such a log still is a proof.
    """
    terms, made = kernel_log.read_terms(log["terms"]), []
    try:
        for step in log["steps"]:
            args = [kernel_log.read_argument(a, terms) for a in _used(step["rule"], step["args"])]
            made.append(infer(step["rule"], [made[k] for k in step["premises"]], *args))
    except (KernelError, LookupError, TypeError, AttributeError) as error:
        return "is not a fact about a sign" in str(error)
    wanted = [terms[log["steps"][r]["conclusion"]] for r in log["roots"]]
    roots = [made[r] for r in log["roots"]]
    return [r.conclusion for r in roots] == wanted and not any(r.hypotheses for r in roots)


def _used(rule: str, args: Sequence[Any]) -> Sequence[Any]:
    """The arguments without those for which the rule has no place."""
    _premises, *places = inspect.signature(RULES[rule]).parameters.values()
    if any(p.kind is p.VAR_POSITIONAL for p in places):
        return args
    return args[: len(places)]
