"""Symbols and shorthands that the kernel's tests share."""

from __future__ import annotations

from typing import Any

import pytest

from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.kernel.terms import KernelError, Term

X, Y, Z, W = (T.var(s) for s in "xyzw")
K = T.var("k", "int")
L = T.var("l", "nat")
N, M = T.var("n", "dim"), T.var("m", "dim")
I, J, H = T.var("i", "fin", N), T.var("j", "fin", N), T.var("h", "fin", M)
RX, RY = T.var("X", random=True), T.var("Y", random=True)
ZERO, ONE, TWO = T.ZERO, T.ONE, T.num(2)


def A(*indices: Term) -> Term:
    return T.apply("A", *indices)


def B(*indices: Term) -> Term:
    return T.apply("B", *indices)


def E(body: Term) -> Term:
    return T.expectation(body)


def P(x: Term) -> Term:
    """A formula about `x` of which nothing is known."""
    return T.eq(T.apply("P", x), ZERO)


def assume(p: Term) -> Theorem:
    return infer("assume", (), p)


def decide(p: Term, *facts: Theorem) -> Theorem:
    return infer("decide", facts, p)


def axiom(name: str, *args: Any) -> Theorem:
    return infer("axiom", (), name, *args)


def refused(rule: str, premises: Any, *args: Any, why: str = ".") -> None:
    """The rule does not apply, and says so."""
    with pytest.raises(KernelError, match=why):
        infer(rule, premises, *args)


def positive(t: Term) -> Theorem:
    return assume(T.lt(ZERO, t))


def nonneg(t: Term) -> Theorem:
    return assume(T.le(ZERO, t))


def nonzero(t: Term) -> Theorem:
    return assume(T.negate(T.eq(t, ZERO)))


def sequent(t: Theorem) -> tuple[frozenset[Term], Term]:
    return t.hypotheses, t.conclusion
