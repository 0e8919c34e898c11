"""Looking for exact counterexamples inside the declared domain.

A candidate (`candidates`) counts only when the kernel proves that the premises hold there and
that the conclusion fails or is undefined.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Final

from derive.candidates import Values, candidates, table
from derive.denials import closed, deny
from derive.kernel import terms as T
from derive.kernel.check import at_values
from derive.kernel.domain import conclusion_obligations, obligations, premise_obligations
from derive.kernel.normal import Normaliser
from derive.kernel.rules import Theorem, evaluate, infer
from derive.kernel.terms import KernelError, Term

__all__ = [
    "Values",
    "denied",
    "find",
    "opened",
    "premises_defined",
    "refutation",
    "refuting",
    "table",
]


#: At how many values the automatic prover is asked for what evaluation does not tell.
THOROUGH: Final = 6


def find(
    goal: Term, seed: int = 0, tries: int | None = None
) -> tuple[Values, list[Theorem]] | None:
    """Values at which `goal` (closed over its free symbols) is provably false or undefined.

    A point where everything is defined is preferred to one where the conclusion is not.  With
    `tries` only so many candidates are looked at, and only for the former.
    """
    undefined: tuple[Values, list[Theorem]] | None = None
    order = _cheap_premises_first(goal)
    conditions = conclusion_obligations(goal)
    thorough = THOROUGH
    for values in islice(candidates(goal, seed), tries):
        if _a_premise_fails(goal, values, order):
            continue
        roots = refuting(goal, goal, values, thorough > 0)
        thorough -= 1
        if roots is not None and _defined(goal, values):
            return values, roots
        for target in conditions if undefined is None and tries is None else ():
            roots = refuting(goal, target, values, alone=False)
            if roots is not None:
                undefined = values, roots
                break
    return undefined


def _premises(goal: Term) -> list[Term]:
    out = []
    while goal.op == "imp":
        out.append(goal.children[0])
        goal = goal.children[1]
    return out


def _cheap_premises_first(goal: Term) -> list[int]:
    sizes = [sum(1 for _ in T.subterms(p)) for p in _premises(goal)]
    return sorted(range(len(sizes)), key=lambda k: sizes[k])


def _a_premise_fails(goal: Term, values: Values, order: list[int]) -> bool:
    """Whether evaluation denies a premise, or the values are out of range."""
    try:
        premises = _premises(at_values(goal, values))
        return any(_is_false(premises[k]) for k in order)
    except KernelError:
        return True


def _is_false(p: Term) -> bool:
    if p.op == "and":
        return any(map(_is_false, p.children))
    return evaluate(p, Normaliser()) is False


def refuting(goal: Term, target: Term, values: Values, alone: bool = True) -> list[Theorem] | None:
    """What the checker asks for: `target` fails at the values, and the premises are defined."""
    theorem = refutation(target, values, alone)
    if theorem is None:
        return None
    try:
        return [theorem, *premises_defined(goal, values)]
    except KernelError:
        return None


def premises_defined(goal: Term, values: Values) -> list[Theorem]:
    """The premises of `goal` are well defined at the values."""
    return [closed(o) for o in premise_obligations(at_values(goal, values))]


def _defined(goal: Term, values: Values) -> bool:
    try:
        return all(closed(o) for o in obligations(at_values(goal, values)))
    except KernelError:
        return False


def refutation(target: Term, values: Values, alone: bool = True) -> Theorem | None:
    """A proof that `target` is false at the values; `alone` as in `deny`."""
    try:
        return deny(at_values(target, values), alone=alone)
    except KernelError:
        return None


def opened(
    p: Term, within: Sequence[tuple[Term, Term]], deny: Callable[[Term], Theorem]
) -> Theorem:
    """not p, where `deny` proves that what is left of p at the values for its quantifiers fails.

    "There is x" is denied for any x, which has its own symbol as value.
    """
    if not within:
        return deny(p)
    (symbol, value), *others = within
    body = p.children[-1]
    if p.op == "forall":
        failing = opened(T.instantiate(body, (value,)), others, deny)
        return infer("not-forall", [failing], T.negate(p), value)
    if p.op != "exists" or value is not symbol:
        raise KernelError(f"no quantifier for the value {T.show(value)}: {T.show(p)}")
    instance = T.instantiate(body, (symbol,))
    failing = opened(instance, others, deny)
    supposed = infer("assume", [], instance)
    absurd = infer("contradiction", [supposed, failing], T.negate(p))
    return infer("deny", [infer("choose", [infer("assume", [], p), absurd], symbol)], p)


def denied(p: Term, premises: int, deny: Callable[[Term], Theorem]) -> Theorem:
    """not (h1 -> ... -> hn -> q): `deny` proves not q, and the premises hold by themselves."""
    if premises == 0:
        return deny(p)
    failing = denied(p.children[1], premises - 1, deny)
    return infer("not-implies", [closed(p.children[0]), failing])
