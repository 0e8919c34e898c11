"""Evaluation at exact numbers, and what the normal form must not identify."""

from __future__ import annotations

from fractions import Fraction

import pytest
from kernel_symbols import (
    ONE,
    RX,
    TWO,
    ZERO,
    A,
    E,
    I,
    J,
    K,
    L,
    M,
    N,
    X,
    Y,
    assume,
    decide,
    nonneg,
    nonzero,
    positive,
    refused,
)  # fmt: skip

from derive.kernel import terms as T
from derive.kernel.normal import Normaliser, Sign
from derive.kernel.terms import Term

HALF = T.num(Fraction(1, 2))


def q(a: int, b: int = 1) -> Term:
    return T.num(Fraction(a, b))


def f(name: str, *args: Term) -> Term:
    return T.fn(name, *args)


@pytest.mark.parametrize(
    "p",
    [
        T.eq(T.add(ONE, ONE), TWO),
        T.lt(ONE, TWO),
        T.negate(T.le(TWO, ONE)),
        T.negate(T.eq(f("sqrt", TWO), ZERO)),
        T.isint(q(4)),
        T.negate(T.isint(HALF)),
        T.implies(T.lt(TWO, ONE), T.eq(X, Y)),
        T.disj(T.eq(X, Y), T.eq(ONE, ONE)),
        T.TRUE,
        T.quantified("forall", "fin", T.le(T.bound(0), TWO), q(3)),
        T.quantified("forall", "fin", T.FALSE, ZERO),
        T.eq(f("floor", q(-1, 2)), q(-1)),
        T.eq(f("mod", q(-7), q(3)), TWO),
        T.eq(f("mod", q(7), q(-3)), q(-2)),
        T.eq(f("mod", q(-7), q(-3)), q(-1)),
        T.eq(f("mod", X, ZERO), X),
        T.eq(T.inv(ZERO), ZERO),
        T.eq(f("abs", q(-3)), q(3)),
        T.eq(f("max", q(-3), q(-4)), q(-3)),
        T.eq(f("min", q(-3), q(-4)), q(-4)),
        T.eq(T.product(q(3), T.add(T.bound(0), ONE)), q(6)),
        T.eq(T.product(ZERO, X), ONE),
        T.eq(f("sqrt", q(12)), T.mul(TWO, f("sqrt", q(3)))),
        T.eq(f("rpow", X, TWO), T.power(X, 2)),
        T.eq(f("rpow", ZERO, ZERO), ONE),
        T.eq(f("cos", T.mul(q(3), T.PI)), q(-1)),
        T.eq(f("sin", T.mul(K, T.PI)), ZERO),
        T.eq(T.power(ZERO, 0), ONE),
        T.eq(f("sqrt", T.power(X, 2)), f("abs", X)),
        T.eq(T.mul(X, X, T.inv(X)), X),
        T.eq(f("log", f("exp", X)), X),
    ],
    ids=T.show,
)
def test_true(p: Term) -> None:
    assert decide(p).conclusion is p


@pytest.mark.parametrize(
    "p",
    [
        T.FALSE,
        T.eq(ZERO, ONE),
        T.eq(T.mul(X, T.inv(X)), ONE),
        T.eq(T.mul(ZERO, T.inv(ZERO)), ONE),
        T.eq(T.sub(T.mul(X, T.inv(X)), T.mul(Y, T.inv(Y))), ZERO),
        T.eq(f("sqrt", T.power(X, 2)), X),
        T.eq(T.power(f("sqrt", X), 2), X),
        T.eq(T.mul(f("sqrt", X), f("sqrt", X)), X),
        T.eq(f("sqrt", T.mul(X, Y)), T.mul(f("sqrt", X), f("sqrt", Y))),
        T.eq(f("sqrt", X), X),
        T.eq(f("exp", f("log", X)), X),
        T.eq(f("log", T.power(X, 2)), T.mul(TWO, f("log", X))),
        T.eq(f("log", T.mul(X, Y)), T.add(f("log", X), f("log", Y))),
        T.eq(f("rpow", X, T.add(Y, ONE)), T.mul(X, f("rpow", X, Y))),
        T.eq(f("rpow", f("rpow", X, TWO), HALF), X),
        T.eq(f("abs", X), X),
        T.eq(f("abs", T.add(X, Y)), T.add(f("abs", X), f("abs", Y))),
        T.eq(f("floor", T.add(X, Y)), T.add(f("floor", X), f("floor", Y))),
        T.eq(f("floor", T.neg(X)), T.neg(f("floor", X))),
        T.eq(f("floor", T.div(K, TWO)), T.div(K, TWO)),
        T.eq(f("floor", T.div(I, M)), ZERO),
        T.eq(f("floor", T.div(K, N)), ZERO),
        T.eq(f("mod", K, N), K),
        T.eq(f("mod", X, ONE), ZERO),
        T.eq(f("sin", T.mul(X, T.PI)), ZERO),
        T.eq(f("cos", T.mul(K, T.PI)), ONE),
        T.eq(f("cos", T.mul(HALF, K, T.PI)), ZERO),
        T.eq(f("max", X, Y), X),
        T.eq(f("max", X, Y), f("min", X, Y)),
        T.eq(f("max", T.neg(X), T.neg(Y)), T.neg(f("max", X, Y))),
        T.eq(T.delta(I, J), ZERO),
        T.eq(T.delta(X, Y), ONE),
        T.eq(T.power(T.inv(X), -1), T.power(X, 2)),
        T.eq(T.inv(T.add(X, Y)), T.add(T.inv(X), T.inv(Y))),
        T.eq(T.det(N, A(T.bound(0))), T.det(N, A(T.bound(1)))),
        T.eq(T.product(N, T.mul(TWO, A(T.bound(0)))), T.mul(TWO, T.product(N, A(T.bound(0))))),
        T.lt(ONE, ONE),
        T.le(TWO, ONE),
        T.negate(T.eq(X, Y)),
        T.negate(T.eq(X, X)),
        T.negate(T.isint(X)),
        T.negate(T.isint(T.PI)),
        T.isint(HALF),
        T.negate(T.lt(X, Y)),
        T.conj(T.eq(ONE, ONE), T.eq(X, Y)),
        T.disj(T.eq(X, Y), T.lt(TWO, ONE)),
        T.implies(T.eq(X, Y), T.eq(Y, X)),
        T.quantified("forall", "fin", T.le(T.bound(0), ONE), q(3)),
        T.quantified("forall", "fin", T.TRUE, L),
        T.quantified("forall", "fin", T.TRUE, HALF),
        T.quantified("forall", "real", T.TRUE),
        T.quantified("exists", "fin", T.TRUE, q(3)),
        T.eq(RX, RX),
    ],
    ids=T.show,
)
def test_not_shown(p: Term) -> None:
    refused("decide", (), p)


@pytest.mark.parametrize(
    ("p", "enough", "less"),
    [
        (T.eq(T.mul(X, T.inv(X)), ONE), nonzero(X), nonneg(X)),
        (T.eq(f("sqrt", T.power(X, 2)), X), nonneg(X), nonzero(X)),
        (T.eq(T.power(f("sqrt", X), 2), X), nonneg(X), nonzero(X)),
        (T.eq(f("sqrt", T.mul(X, Y)), T.mul(f("sqrt", X), f("sqrt", Y))), nonneg(X), nonzero(X)),
        (T.eq(f("exp", f("log", X)), X), positive(X), nonneg(X)),
        (T.eq(f("rpow", X, T.add(Y, ONE)), T.mul(X, f("rpow", X, Y))), positive(X), nonneg(X)),
        (T.eq(f("abs", X), X), nonneg(X), nonzero(X)),
        (T.eq(f("abs", X), T.neg(X)), assume(T.le(X, ZERO)), nonzero(X)),
        (T.eq(f("max", X, Y), Y), assume(T.le(X, Y)), assume(T.negate(T.eq(X, Y)))),
        (T.eq(f("sin", T.mul(X, T.PI)), ZERO), assume(T.isint(X)), nonneg(X)),
        (T.eq(f("cos", T.mul(X, T.PI)), ONE), assume(T.isint(T.div(X, TWO))), assume(T.isint(X))),
        (T.eq(f("floor", X), X), assume(T.isint(X)), assume(T.isint(T.mul(TWO, X)))),
        (T.eq(f("floor", T.div(K, N)), ZERO), None, nonneg(K)),
        (T.lt(ZERO, T.mul(X, X)), nonzero(X), nonneg(X)),
        (T.negate(T.eq(X, Y)), assume(T.lt(X, Y)), assume(T.le(X, Y))),
    ],
    ids=lambda t: T.show(t) if isinstance(t, Term) else "",
)
def test_facts(p: Term, enough, less) -> None:  # type: ignore[no-untyped-def]
    refused("decide", (), p)
    refused("decide", (less,), p)
    if enough is not None:
        assert decide(p, enough).hypotheses == enough.hypotheses


def test_a_fact_is_about_its_own_term() -> None:
    goal = T.eq(T.mul(X, T.inv(X)), ONE)
    for fact in (nonzero(Y), nonzero(T.add(X, ONE)), positive(A(X)), nonneg(X)):
        refused("decide", (fact,), goal)
    assert decide(goal, nonzero(T.mul(X, Y)))
    assert decide(goal, assume(T.lt(X, ZERO)))
    assert decide(goal, assume(T.negate(T.eq(ZERO, X))))


def test_signs_that_a_sum_does_not_have() -> None:
    norm = Normaliser({X: Sign.NONZERO, Y: Sign.POS})
    for t, wanted in (
        (T.add(X, Y), Sign.UNKNOWN),
        (T.mul(X, Y), Sign.NONZERO),
        (T.inv(X), Sign.NONZERO),
        (T.power(X, 2), Sign.POS),
        (T.neg(Y), Sign.NONZERO),
        (T.total(L, Y), Sign.NONNEG),
        (T.total(N, A(T.bound(0))), Sign.UNKNOWN),
        (T.sub(N, ONE), Sign.UNKNOWN),
        (E(RX), Sign.UNKNOWN),
    ):
        assert norm.sign(norm.term(t)) is wanted, t


def test_squares_are_seen_before_they_are_expanded() -> None:
    norm = Normaliser()
    square = T.power(T.sub(X, Y), 2)
    assert norm.sign(norm.term(square)) is Sign.UNKNOWN
    assert norm.sign_of(square) is Sign.NONNEG
    assert norm.sign_of(T.power(T.sub(X, Y), 3)) is Sign.UNKNOWN
    assert norm.sign_of(T.mul(T.num(-1), square)) is Sign.UNKNOWN
    assert norm.sign_of(T.mul(TWO, square)) is Sign.NONNEG


@pytest.mark.parametrize(
    ("p", "used"),
    [
        (T.eq(f("sqrt", T.mul(N, M)), T.mul(f("sqrt", N), f("sqrt", M))), {"sqrt-product"}),
        (T.eq(f("sqrt", T.power(X, 2)), f("abs", X)), {"sqrt-square"}),
        (T.eq(f("sqrt", N), f("sqrt", N)), set()),
        (T.eq(T.mul(f("exp", X), f("exp", Y)), f("exp", T.add(X, Y))), {"exp-add"}),
        (T.eq(f("cos", T.neg(X)), f("cos", X)), {"trig-parity"}),
        (T.eq(T.power(f("abs", X), 2), T.power(X, 2)), {"abs-square"}),
        (T.eq(f("log", f("exp", X)), X), {"log-exp"}),
        (T.eq(T.mul(X, Y), T.mul(Y, X)), set()),
    ],
    ids=lambda t: T.show(t) if isinstance(t, Term) else "",
)
def test_what_evaluation_uses_is_recorded(p: Term, used: set[str]) -> None:
    assert used <= decide(p).axioms
    assert used or not decide(p).axioms
