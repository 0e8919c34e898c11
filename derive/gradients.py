"""Gradients in statements: proving them from the derivative table, and denying them at values."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

from derive.kernel import terms as T
from derive.kernel.calculus import differentiate
from derive.kernel.normal import Normaliser, literal
from derive.kernel.rules import Theorem, infer
from derive.kernel.terms import KernelError, Term
from derive.prover import Prover

Prove = Callable[[Term], Theorem]


def prove(p: Prover, goal: Term, prove: Prove) -> Theorem:
    """`goal`, the gradient of a function, whose entries `prove` shows to be those of the table."""
    sizes = goal.children[: goal.data]
    found = _derivative(goal, lambda c: _known(p, c) or prove(c))
    same = T.eq(found.conclusion.children[-1], goal.children[-1])
    for k in reversed(range(goal.data)):
        same = T.quantified("forall", "fin", same, T.lift(sizes[k], k))
    return infer("gradient-value", [found, prove(same)], goal.children[-1])


def _known(p: Prover, c: Term) -> Theorem | None:
    return next((t for t in p.known() if t.conclusion is c), None)


def _derivative(goal: Term, prove: Prove) -> Theorem:
    """The gradient by the derivative table of the function in `goal`, at its point."""
    sizes, (function, point) = goal.children[: goal.data], goal.children[goal.data : goal.data + 2]
    _, conditions, _ = differentiate(sizes, function, point)
    return infer("derivative", [prove(c) for c in conditions], sizes, function, point)


def deny(goal: Term, prove: Prove, deny_equation: Prove) -> Theorem:
    """not `goal`, for a closed gradient, since an entry of it is not that of the table."""
    found = _derivative(goal, prove)
    supposed = infer("assume", [], goal)
    same = infer("gradient-unique", [found, supposed])
    for place in _places(goal):
        equation = same
        for value in place:
            equation = infer("specialise", [equation], value)
        try:
            different = deny_equation(equation.conclusion)
        except KernelError:
            continue
        absurd = infer("contradiction", [equation, different], T.negate(goal))
        return infer("deny", [absurd], goal)
    raise KernelError(f"not known to be false: {T.show(goal)}")


def _places(goal: Term) -> list[tuple[Term, ...]]:
    lengths = []
    for size in goal.children[: goal.data]:
        length = literal(Normaliser().poly(size))
        if length is None or length.denominator != 1:
            raise KernelError(f"gradient: the range {T.show(size)} is not a number")
        lengths.append(range(min(int(length), 4)))
    return [tuple(map(T.num, place)) for place in product(*lengths)]
