"""Inequalities."""

from __future__ import annotations

from fractions import Fraction

import pytest
from kernel_symbols import (
    ONE,
    RX,
    TWO,
    ZERO,
    A,
    B,
    E,
    H,
    I,
    J,
    K,
    L,
    M,
    N,
    X,
    Y,
    Z,
    assume,
    decide,
    nonneg,
    nonzero,
    positive,
    refused,
    sequent,
)  # fmt: skip

from derive.kernel import terms as T
from derive.kernel.rules import Item, infer


def order(goal: T.Term, premises=(), items=(), facts=()):  # type: ignore[no-untyped-def]
    return infer("order", (*premises, *facts), goal, len(premises), tuple(items))


def not_ordered(goal: T.Term, premises=(), items=(), facts=(), why: str = ".") -> None:  # type: ignore[no-untyped-def]
    refused("order", (*premises, *facts), goal, len(premises), tuple(items), why=why)


def use(*ks: int, cofactor: T.Term = ONE, values: tuple = (), indices: tuple = ()) -> Item:
    return Item(tuple((k, values) for k in ks), cofactor, indices)


SQUARE = T.power(T.sub(X, Y), 2)


def test_squares() -> None:
    goal = T.le(T.mul(TWO, X, Y), T.add(T.power(X, 2), T.power(Y, 2)))
    assert order(goal, [], [use(cofactor=SQUARE)])
    not_ordered(goal, why="left over")
    strict = T.lt(*goal.children)
    not_ordered(strict, [], [use(cofactor=SQUARE)], why="left over")
    assert order(strict, [], [use(cofactor=SQUARE)], [nonzero(T.sub(X, Y))])


@pytest.mark.parametrize("facts", [[], [nonneg(X)], [nonzero(X)]], ids=["none", "nonneg", "apart"])
def test_strictness_needs_something_positive(facts) -> None:  # type: ignore[no-untyped-def]
    not_ordered(T.lt(Y, T.add(X, Y)), [], [], facts)
    not_ordered(T.lt(ZERO, ZERO))
    not_ordered(T.lt(ZERO, ZERO), [assume(T.lt(X, Y))], [use(0, cofactor=ZERO)])


def test_strict_premises() -> None:
    less, most = assume(T.lt(X, Y)), assume(T.le(X, Y))
    goal = T.lt(T.mul(Z, X), T.mul(Z, Y))
    assert order(goal, [less], [use(0, cofactor=Z)], [positive(Z)])
    not_ordered(goal, [less], [use(0, cofactor=Z)], [nonneg(Z)], why="left over")
    not_ordered(goal, [less], [use(0, cofactor=Z)], [nonzero(Z)], why="non-negative")
    not_ordered(goal, [less], [use(0, cofactor=Z)], why="non-negative")
    not_ordered(goal, [most], [use(0, cofactor=Z)], [positive(Z)], why="left over")
    assert order(T.le(*goal.children), [most], [use(0, cofactor=Z)], [positive(Z)])


def test_a_negative_cofactor_is_refused() -> None:
    less = assume(T.lt(X, Y))
    not_ordered(T.lt(Y, X), [less], [use(0, cofactor=T.num(-1))], why="non-negative")
    assert order(T.lt(T.neg(Y), T.neg(X)), [less], [use(0)])


def test_equations_take_any_cofactor() -> None:
    e = assume(T.eq(X, Y))
    assert order(T.le(X, Y), [e], [use(0, cofactor=T.num(-1))])
    assert order(T.le(Y, X), [e], [use(0)])
    not_ordered(T.lt(Y, X), [e], [use(0)], why="left over")
    not_ordered(T.le(ZERO, ZERO), [e, e], [use(0, 1)], why="non-negative")


def test_products_of_inequalities() -> None:
    a, b = assume(T.le(ZERO, X)), assume(T.lt(ZERO, Y))
    assert order(T.le(ZERO, T.mul(X, Y)), [a, b], [use(0, 1)])
    not_ordered(T.lt(ZERO, T.mul(X, Y)), [a, b], [use(0, 1)], why="left over")
    assert order(T.lt(ZERO, T.power(Y, 2)), [b], [use(0, 0)])


def test_sums_of_inequalities() -> None:
    every = assume(T.forall(I, T.lt(A(I), B(I))))
    left, right = T.sum_over(I, A(I)), T.sum_over(I, B(I))
    item = use(0, values=(I,), indices=(I,))
    assert order(T.lt(left, right), [every], [item])
    not_ordered(T.lt(right, left), [every], [item])


def test_a_sum_that_may_be_empty_is_not_strict() -> None:
    for size in (L, T.sub(N, ONE), X):
        i = T.var("i", "fin", size)
        every = assume(T.forall(i, T.lt(A(i), B(i))))
        left, right = T.sum_over(i, A(i)), T.sum_over(i, B(i))
        item = use(0, values=(i,), indices=(i,))
        assert order(T.le(left, right), [every], [item])
        not_ordered(T.lt(left, right), [every], [item], why="left over")
    inner = T.var("c", "fin", I)
    every = assume(T.forall(L, T.lt(ZERO, A(L))))
    item = Item(((0, (inner,)),), ONE, (I, inner))
    goal = T.lt(ZERO, T.sum_over(I, T.sum_over(inner, A(inner))))
    not_ordered(goal, [every], [item], why="left over")


def test_a_hypothesis_about_the_index_forbids_the_sum() -> None:
    goal = T.le(ZERO, T.sum_over(I, A(I)))
    not_ordered(goal, [nonneg(A(I))], [use(0, indices=(I,))], why="free in a hypothesis")
    not_ordered(goal, [], [use(cofactor=A(I), indices=(I,))], [nonneg(A(I))], why="free in a hypo")
    assert order(goal, [], [use(cofactor=A(J), indices=(J,))], [_all_nonneg()])


def _all_nonneg():  # type: ignore[no-untyped-def]
    return infer("specialise", (assume(T.forall(I, T.le(ZERO, A(I)))),), J)


def test_goals_and_premises_of_other_forms() -> None:
    not_ordered(T.eq(X, X))
    not_ordered(T.le(X, Y), [assume(T.negate(T.lt(Y, X)))], [use(0)], why="not of the form")
    not_ordered(T.le(X, Y), [assume(T.le(X, Y))], [use(1)])
    not_ordered(T.le(X, Y), [assume(T.le(X, Y))], [use(-1)], why="no premise")


@pytest.mark.parametrize(
    "goal",
    [
        T.lt(I, N),
        T.le(T.add(I, ONE), N),
        T.lt(T.add(T.mul(I, M), H), T.mul(N, M)),
        T.le(ONE, N),
        T.le(ZERO, L),
        T.lt(ZERO, T.fn("exp", X)),
        T.le(ZERO, T.fn("sqrt", X)),
        T.lt(ZERO, T.add(ONE, T.power(X, 2))),
        T.le(ZERO, T.sum_over(I, T.power(A(I), 2))),
        T.lt(ZERO, T.sum_over(I, T.fn("exp", A(I)))),
        T.le(ZERO, T.power(T.fn("abs", X), -1)),
        T.lt(ZERO, T.PI),
    ],
    ids=T.show,
)
def test_known_by_sort(goal: T.Term) -> None:
    assert order(goal)


@pytest.mark.parametrize(
    "goal",
    [
        T.lt(I, M),
        T.le(N, I),
        T.lt(T.add(I, ONE), N),
        T.lt(T.add(I, J), N),
        T.lt(ONE, N),
        T.lt(ZERO, L),
        T.lt(ZERO, I),
        T.le(ZERO, K),
        T.lt(ZERO, T.fn("sqrt", X)),
        T.lt(ZERO, T.power(X, 2)),
        T.le(ZERO, T.power(X, -1)),
        T.lt(ZERO, T.power(X, -2)),
        T.lt(ZERO, T.fn("abs", X)),
        T.lt(ZERO, T.mul(X, T.inv(X))),
        T.lt(ZERO, T.delta(I, J)),
        T.lt(ZERO, T.total(L, ONE)),
        T.le(ZERO, T.product(N, A(T.bound(0)))),
        T.le(ZERO, T.det(N, T.delta(T.bound(0), T.bound(1)))),
        T.le(ZERO, T.fn("log", N)),
        T.lt(ZERO, T.fn("floor", T.fn("exp", X))),
        T.le(ONE, T.fn("exp", T.power(X, 2))),
        T.le(ZERO, T.fn("max", X, Y)),
        T.le(ZERO, T.fn("min", X, ONE)),
        T.le(ZERO, T.fn("rpow", X, Y)),
        T.lt(ZERO, E(T.power(RX, 2))),
        T.le(ZERO, E(RX)),
    ],
    ids=T.show,
)
def test_not_known_by_sort(goal: T.Term) -> None:
    not_ordered(goal, why="left over")


def test_dichotomy() -> None:
    made = infer("dichotomy", (), X, Y)
    assert sequent(made) == (set(), T.disj(T.le(X, Y), T.lt(Y, X)))
    refused("dichotomy", (), X)
    refused("dichotomy", (), RX, ZERO, why="random")
    refused("dichotomy", (), T.bound(0), ZERO)
    refused("dichotomy", (), T.eq(X, Y), ZERO)


def test_apart_and_not_le() -> None:
    less = assume(T.lt(X, Y))
    assert infer("apart", (less,)).conclusion is T.negate(T.eq(X, Y))
    assert infer("not-le", (less,)).conclusion is T.negate(T.le(Y, X))
    for rule in ("apart", "not-le"):
        refused(rule, (assume(T.le(X, Y)),))
        refused(rule, (assume(T.negate(T.eq(X, Y))),))
        refused(rule, (less, less))


def test_integers() -> None:
    assert infer("integer", (), T.mul(K, T.fn("floor", X))).conclusion.op == "isint"
    assert infer("integer", (assume(T.isint(X)),), T.mul(TWO, X)).hypotheses == {T.isint(X)}
    half = T.num(Fraction(1, 2))
    for t in (X, T.mul(half, K), T.inv(N), T.fn("sqrt", N), T.PI, E(RX), A(I), T.fn("exp", K)):
        refused("integer", (), t, why="not known")
    refused("integer", (assume(T.isint(T.mul(TWO, X))),), X, why="not known")
    refused("integer", (positive(X),), X, why="not known")


def test_integer_gap() -> None:
    less = assume(T.lt(K, N))
    assert infer("integer-gap", (less,)).conclusion is T.le(T.add(K, ONE), N)
    refused("integer-gap", (assume(T.lt(X, N)),), why="integers")
    refused("integer-gap", (assume(T.lt(K, X)),), why="integers")
    refused("integer-gap", (assume(T.le(K, N)),))
    refused("integer-gap", (less, decide(T.eq(X, X))), why="not a fact")
    made = infer("integer-gap", (assume(T.lt(X, N)), assume(T.isint(X))))
    assert made.hypotheses == {T.lt(X, N), T.isint(X)}
