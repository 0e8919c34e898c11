"""Whether hypotheses contradict each other, as far as that is seen at a glance.

Anything follows from such hypotheses, so that a proof from them says nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from itertools import islice, product
from typing import Final

from derive import auto, counterexample, definitions
from derive.convert import Converter
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.kernel.terms import KernelError, Term
from derive.prover import Prover
from derive.search import NotFound

FALSE: Final = T.eq(T.ZERO, T.ONE)
#: So many candidates for values at which all hypotheses hold are tried.
TRIES: Final = 24
#: How many cases within cases are looked at.
SPLITS: Final = 1
#: How many instances of a hypothesis about all indices or numbers are looked at.
MAX_INSTANCES: Final = 4
#: The search is left alone where the hypotheses have more nodes.
LARGEST: Final = 80
_FAILED: Final = (NotFound, KernelError)


def found(hypotheses: Sequence[Term]) -> Theorem | None:
    """0 = 1 from some of the hypotheses; None where that is not found."""
    supposed = _without_definitions(hypotheses)
    size = sum(1 for h in supposed for _ in T.subterms(h))
    if not supposed or size > LARGEST or _can_hold(supposed):
        return None
    for goal in (T.le(T.ONE, T.ZERO), FALSE):
        with contextlib.suppress(*_FAILED):
            proved = auto.prove(_prover(supposed), goal, SPLITS)
            return _absurd(proved, infer("decide", [], T.negate(goal)))
    for h in supposed:
        with contextlib.suppress(*_FAILED):
            return _absurd(infer("assume", [], h), _denial(h, [g for g in supposed if g is not h]))
    return None


def _without_definitions(hypotheses: Sequence[Term]) -> list[Term]:
    """Those that do more than give a value to a symbol of which no other says anything."""
    left = list(hypotheses)
    for h in reversed(hypotheses):
        others = [g for g in left if g is not h]
        if definitions.only_defines(h, others):
            left = others
    return left


def _can_hold(hypotheses: Sequence[Term]) -> bool:
    """Whether there are values, soon found, at which all of them hold."""
    goal = FALSE
    for h in reversed(hypotheses):
        goal = T.implies(h, goal)
    return counterexample.find(goal, tries=TRIES) is not None


def _denial(h: Term, others: Sequence[Term]) -> Theorem:
    """not h from the others, where h is a relation."""
    match h.op:
        case "eq":
            return auto.prove(_prover(others), T.negate(h), 0)
        case "le":
            return infer("not-le", [auto.prove(_prover(others), T.lt(*reversed(h.children)), 0)])
        case _:
            raise KernelError(f"not a relation: {T.show(h)}")


def _absurd(known: Theorem, denial: Theorem) -> Theorem:
    return infer("contradiction", [known, denial], FALSE)


def _prover(hypotheses: Sequence[Term]) -> Prover:
    """With instances of what is said of all indices or numbers, and gaps between integers."""
    p = Prover(Converter(), hypotheses)
    for known in p.known():
        for instance in islice(_instances(known), MAX_INSTANCES):
            p.learn(instance)
    for known in p.known():
        if known.conclusion.op == "lt":
            with contextlib.suppress(KernelError):  # not between integers
                p.learn(p.next_integer(known))
    return p


def _instances(known: Theorem) -> Iterator[Theorem]:
    """What a statement about all indices or numbers says of 0 and 1."""
    count, body = 0, known.conclusion
    while body.op == "forall" and body.data[0] != "tensor":
        count, body = count + 1, body.children[-1]
    for values in product((T.ZERO, T.ONE), repeat=count) if count else ():
        instance = known
        try:
            for v in values:
                instance = infer("specialise", [instance], v)
        except KernelError:  # not in the range
            continue
        yield instance
