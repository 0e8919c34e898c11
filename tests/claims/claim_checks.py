"""Claims settled once, mutants of them, and exact and numeric values of what they state."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import sympy as sp

from derive import auto, verify
from derive.catalogue import all_claims
from derive.claim import Claim, Example, Given, Script
from derive.convert import Converter
from derive.kernel import terms as T
from derive.kernel.normal import Normaliser, literal
from derive.kernel.rules import Theorem, infer
from derive.prover import Prover
from derive.result import Verdict
from derive.search import NotFound
from derive.verify import Settled

CONCLUDED = (Verdict.PROVED, Verdict.CONDITIONAL)
UNCHANGED = object()


@cache
def _of_the_package() -> dict[str, Claim]:
    return {c.id: c for c in all_claims()}


_FOUND: dict[str, Settled] = {}


def settle(claim: Claim) -> Settled:
    """What comes of a claim; found only once if it is one of the package, as it stands there."""
    if _of_the_package().get(claim.id) is not claim:
        return verify.settle(claim)
    if claim.id not in _FOUND:
        _FOUND[claim.id] = verify.settle(claim)
    return _FOUND[claim.id]


def mutant(claim: Claim, **parts: Any) -> Claim:
    """The claim with another statement or other hypotheses, and nothing that settles it."""
    bare: dict[str, Any] = {"added": (), "witness": None, "counterexample": None,
                            "correction": None}  # fmt: skip
    return replace(claim, **{**bare, **parts})


def without(claim: Claim, position: int) -> tuple[Any, ...]:
    """The claim's hypotheses, with a triviality in place of one of them."""
    kept = list(claim.given)
    kept[position] = Given(T.eq(T.ZERO, T.ZERO))
    return tuple(kept)


def verdicts(claim: Claim) -> tuple[Verdict, Verdict]:
    """What the claim's own script makes of it, and what the automatic prover does."""
    by_hand = settle(claim).result.verdict
    alone = settle(replace(claim, proof=None)).result.verdict
    return by_hand, alone


def proved_by(claim: Claim) -> set[str]:
    """Who proves it: its own script, or the automatic prover (no search for counterexamples)."""
    out = set()
    try:
        if claim.proof is not None and settle(claim).result.verdict in CONCLUDED:
            out.add("script")
    except (LookupError, AttributeError, TypeError):
        pass  # the script stumbles over a missing hypothesis
    converter = Converter()
    given = [converter.formula(h.formula) for h in (*claim.given, *claim.added)]
    goal = converter.formula(claim.statement)
    hypotheses = [*converter.declared, *given]
    try:
        theorem = auto.prove(Prover(converter, hypotheses), goal)
    except (NotFound, T.KernelError):
        return out
    return out | {"automatic"} if theorem.hypotheses <= set(hypotheses) else out


def is_false_at(claim: Claim, values: dict[Any, Any]) -> bool:
    """Whether the kernel shows that the statement fails, and the hypotheses hold, at the values."""
    example = Example(values)
    bare = mutant(claim, proof=None, counterexample=example)
    return settle(bare).result.verdict is Verdict.REFUTED


def scripts(claim: Claim) -> Iterator[tuple[Script, tuple[Any, ...]]]:
    if claim.proof is not None:
        yield claim.proof, (*claim.given, *claim.added)
    if claim.correction is not None and claim.correction.proof is not None:
        yield claim.correction.proof, claim.correction.given


def stray_lines(claim: Claim) -> list[str]:
    """Displayed lines that are neither steps of the proof that is replayed nor suppositions."""
    out = []
    for script, hypotheses in scripts(claim):
        converter = Converter()
        formulas = [converter.formula(h.formula) for h in hypotheses]
        converter.formula(claim.statement)
        declared = list(converter.declared)
        prover = Prover(converter, [*declared, *formulas], len(declared))
        used = ancestors(script(prover))
        shown = [line for line in prover.lines if not is_supposed(line.theorem)]
        out += [line.reason for line in shown if id(line.theorem) not in used]
    return out


def is_supposed(theorem: Theorem) -> bool:
    """Whether it is an assumption or a part of one: it may be shown though nothing needs it."""
    if theorem.rule == "conjunct":
        return is_supposed(theorem.premises[0])
    return theorem.rule == "assume"


def ancestors(theorem: Theorem) -> set[int]:
    seen: set[int] = set()
    stack = [theorem]
    while stack:
        t = stack.pop()
        if id(t) not in seen:
            seen.add(id(t))
            stack.extend(t.premises)
    return seen


def value(expression: Any, sizes: dict[Any, Any]) -> Any:
    """The exact value of a closed symbolic expression at the sizes."""
    converter = Converter()
    term = converter.term(expression)
    at = T.substitute(term, {converter.term(s): converter.term(v) for s, v in sizes.items()})
    return literal(Normaliser().poly(at))


def holds(formula: Any, sizes: dict[Any, Any]) -> bool:
    """Whether exact evaluation shows the formula at the sizes; raises where it cannot tell."""
    converter = Converter()
    p = converter.formula(formula)
    at = T.substitute(p, {converter.term(s): converter.term(v) for s, v in sizes.items()})
    try:
        infer("decide", [], at)
    except T.KernelError:
        infer("decide", [], T.negate(at))
        return False
    return True


def number(expression: Any, values: dict[Any, Any]) -> float:
    """The value at these numbers and arrays, operation by operation and in floating point."""
    converter = Converter()
    known: dict[Any, Any] = {}
    for symbol, at in values.items():
        shaped = isinstance(symbol, sp.IndexedBase)
        known[str(symbol.label) if shaped else converter.term(symbol).data[0]] = at
    return _number(converter.term(expression), known, ())


def _number(t: T.Term, known: dict[Any, Any], bound: tuple[int, ...]) -> Any:
    parts = [_number(c, known, bound) for c, n in zip(t.children, t.binds, strict=True) if not n]
    match t.op:
        case "num":
            return float(t.data) if t.data.denominator > 1 else int(t.data)
        case "var":
            return known[t.data[0]]
        case "bound":
            return bound[-1 - t.data]
        case "add":
            return sum(parts)
        case "mul":
            return math.prod(parts)
        case "pow":
            return parts[0] ** t.data
        case "fn":
            return {"exp": math.exp, "sqrt": math.sqrt}[t.data](*parts)
        case "delta":
            return int(parts[0] == parts[1])
        case "app":
            return known[t.data.head][tuple(parts)]
        case "sum":
            return sum(_number(t.children[1], known, (*bound, k)) for k in range(parts[0]))
        case _:
            raise ValueError(f"{t.op} has no value here")
