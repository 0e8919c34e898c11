"""Linear combinations, substitution of equals, and equality under binders."""

from __future__ import annotations

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
    L,
    M,
    N,
    P,
    X,
    Y,
    Z,
    assume,
    decide,
    nonzero,
    positive,
    refused,
    sequent,
)  # fmt: skip

from derive.kernel import terms as T
from derive.kernel.rules import Item, infer
from derive.kernel.terms import Lam

F = T.Head("F", 0, (1,))


def combination(goal: T.Term, premises=(), items=(), facts=()):  # type: ignore[no-untyped-def]
    return infer("linear-combination", (*premises, *facts), goal, len(premises), tuple(items))


def not_combined(goal: T.Term, premises=(), items=(), facts=(), why: str = ".") -> None:  # type: ignore[no-untyped-def]
    refused("linear-combination", (*premises, *facts), goal, len(premises), tuple(items), why=why)


def use(k: int, cofactor: T.Term = ONE, values: tuple = (), indices: tuple = ()) -> Item:
    return Item(((k, values),), cofactor, indices)


# ---------------------------------------------------------------------------- combinations


def test_a_combination_of_hypotheses() -> None:
    e = assume(T.eq(X, Y))
    made = combination(T.eq(T.mul(Z, X), T.mul(Z, Y)), [e], [use(0, Z)])
    assert sequent(made) == ({T.eq(X, Y)}, T.eq(T.mul(Z, X), T.mul(Z, Y)))
    not_combined(T.eq(T.mul(Z, X), T.mul(Z, Y)), [e], [use(0, X)], why="left over")
    not_combined(T.eq(T.mul(Z, X), T.mul(Z, Y)), [e], [use(0, T.neg(Z))], why="left over")
    not_combined(T.eq(X, Y), [e], [], why="left over")
    not_combined(T.eq(X, Y), [e], [use(1)])
    not_combined(T.eq(X, Y), [e], [use(-1)], why="no premise")
    not_combined(T.le(X, Y), [e], [use(0)])


def test_division_needs_a_fact() -> None:
    e, goal = assume(T.eq(T.mul(X, Y), T.mul(X, Z))), T.eq(Y, Z)
    not_combined(goal, [e], [use(0, T.inv(X))], why="left over")
    made = combination(goal, [e], [use(0, T.inv(X))], [nonzero(X)])
    assert made.hypotheses == {e.conclusion, T.negate(T.eq(X, ZERO))}
    not_combined(goal, [e], [use(0, T.inv(X))], [nonzero(Y)], why="left over")


def test_only_equations_are_combined() -> None:
    for p in (T.le(X, Y), T.lt(X, Y), T.negate(T.eq(X, Y)), T.conj(T.eq(X, Y), P(Z))):
        not_combined(T.eq(X, Y), [assume(p)], [use(0)], why="not of the form")


def test_an_equation_that_is_only_a_fact_is_no_equation() -> None:
    refused(
        "linear-combination", (assume(T.le(X, Y)), assume(T.le(Y, X))), T.eq(X, Y), 0,
        (use(0),),
    )  # fmt: skip


def test_products_of_equations() -> None:
    e, f = assume(T.eq(X, ZERO)), assume(T.eq(Y, ZERO))
    item = Item(((0, ()), (1, ())), ONE)
    assert combination(T.eq(T.mul(X, Y), ZERO), [e, f], [item])
    not_combined(T.eq(T.mul(X, X), ZERO), [e, f], [item])


@pytest.mark.parametrize("cofactor", [ONE, X, T.neg(TWO)])
def test_a_cofactor_without_an_equation_proves_nothing(cofactor: T.Term) -> None:
    alone = Item((), cofactor)
    not_combined(T.eq(cofactor, ZERO), [], [alone], why="uses no equation")
    not_combined(T.eq(cofactor, ZERO), [assume(T.eq(Y, Z))], [alone], why="uses no equation")
    not_combined(T.eq(T.add(Y, cofactor), Z), [assume(T.eq(Y, Z))], [use(0), alone])
    summed = Item((), cofactor, (I,))
    not_combined(T.eq(T.sum_over(I, cofactor), ZERO), [], [summed], why="uses no equation")


def test_summed_combinations() -> None:
    every = assume(T.forall(I, T.eq(A(I), B(I))))
    goal = T.eq(T.sum_over(I, T.mul(A(I), X)), T.sum_over(I, T.mul(B(I), X)))
    assert combination(goal, [every], [use(0, X, (I,), (I,))])
    not_combined(goal, [every], [use(0, X, (J,), (I,))])
    not_combined(goal, [every], [use(0, X, (H,), (I,))], why="known")
    not_combined(goal, [every], [use(0, X, (), (I,))], why="not of the form")
    not_combined(goal, [every], [use(0, X, (I, I), (I,))])


def test_a_hypothesis_about_the_index_forbids_the_sum() -> None:
    goal = T.eq(T.sum_over(I, A(I)), ZERO)
    not_combined(
        goal, [assume(T.eq(A(I), ZERO))], [use(0, ONE, (), (I,))], why="free in a hypothesis"
    )
    same = decide(T.eq(T.sub(A(I), A(I)), ZERO))
    not_combined(goal, [same], [use(0, ONE, (), (I,))], [positive(A(I))], why="free in a hypo")
    assert combination(T.eq(ZERO, ZERO), [same], [use(0, ONE, (), (I,))])


def test_a_range_that_depends_on_an_index() -> None:
    inner = T.var("c", "fin", I)
    every = assume(T.forall(L, T.eq(T.apply("u", L), ZERO)))
    goal = T.eq(T.sum_over(I, T.sum_over(inner, T.apply("u", inner))), ZERO)
    assert combination(goal, [every], [use(0, ONE, (inner,), (I, inner))])
    not_combined(goal, [every], [use(0, ONE, (inner,), (inner, I))])
    not_combined(goal, [every], [use(0, ONE, (J,), (I, J))], why="left over")


def test_an_index_of_a_range_that_may_be_empty_is_used_below_its_sum_only() -> None:
    e = T.var("e", "fin", L)
    never = assume(T.quantified("forall", "fin", T.eq(ONE, ZERO), L))
    not_combined(T.eq(ONE, ZERO), [never], [use(0, ONE, (e,))], why="may be empty")
    assert combination(T.eq(L, ZERO), [never], [use(0, ONE, (e,), (e,))])
    sums = T.quantified(
        "forall", "tensor", T.eq(T.total(L, T.app(T.Head(1, 1), T.bound(0))), ZERO), arity=1
    )
    at_e = Lam(1, T.delta(T.bound(0), e))
    not_combined(T.eq(ONE, ZERO), [assume(sums)], [use(0, ONE, (at_e,))], why="may be empty")
    inside = T.total(L, T.delta(T.bound(0), e))
    empty = assume(T.eq(L, ZERO))
    not_combined(T.eq(L, ZERO), [empty], [use(0, inside)], why="may be empty")
    f = T.var("f", "fin", T.add(e, ONE))
    not_combined(T.eq(L, ZERO), [empty], [use(0, ZERO, (), (f,))], why="may be empty")
    bound = assume(T.quantified("forall", "fin", T.lt(ONE, ZERO), L))
    refused("order", (bound,), T.lt(ONE, ZERO), 1, (use(0, ONE, (e,)),), why="may be empty")


def test_premises_about_all_numbers_do_not_speak_of_outcomes() -> None:
    every = assume(T.forall(X, T.eq(T.apply("u", X), ZERO)))
    not_combined(T.eq(E(T.apply("u", RX)), ZERO), [every], [use(0, ONE, (RX,))], why="random")


def test_names_below_binders_are_not_captured() -> None:
    """F of a constant vector says nothing of F of the vector 0, 1, 2, ..."""
    every = assume(T.forall(X, T.eq(T.app(F, N, X), Y)))
    goal = T.eq(T.app(F, N, T.bound(0)), Y)
    for name in ("%f0", "%f1", "%b0", "%w0", "%0"):
        not_combined(goal, [every], [use(0, ONE, (T.var(name),))], why="reserved")


# ---------------------------------------------------------------------------- leibniz


def test_leibniz() -> None:
    e = assume(T.eq(X, Y))
    made = infer("leibniz", (e, assume(P(X))), Z, P(Z))
    assert sequent(made) == ({T.eq(X, Y), P(X)}, P(Y))
    refused("leibniz", (e, assume(P(Y))), Z, P(Z), why="template")
    refused("leibniz", (assume(T.le(X, Y)), assume(P(X))), Z, P(Z))
    refused("leibniz", (e, assume(P(X))), L, P(L), why="not a real variable")
    refused("leibniz", (e, assume(P(X))), RX, P(RX), why="not a real variable")
    refused("leibniz", (e, assume(P(X))), T.add(Z, ONE), P(Z))


def test_leibniz_leaves_ranges_alone() -> None:
    """i < n and i < m are different indices, even when n = m."""
    hole = T.var("z")
    inside = T.var("i", "fin", T.fn("exp", hole))
    at = T.var("i", "fin", T.fn("exp", X))
    refused(
        "leibniz", (assume(T.eq(X, Y)), assume(T.eq(A(at), ZERO))), hole, T.eq(A(inside), ZERO),
        why="range",
    )  # fmt: skip
    sums = [T.eq(T.total(s, A(T.bound(0))), ZERO) for s in (X, Y, hole)]
    assert (
        infer("leibniz", (assume(T.eq(X, Y)), assume(sums[0])), hole, sums[2]).conclusion
        is (sums[1])
    )


def test_leibniz_does_not_capture() -> None:
    e = assume(T.eq(X, Y))
    body = T.exists(Y, T.lt(X, Y))
    made = infer("leibniz", (e, assume(body)), Z, T.exists(Y, T.lt(Z, Y)))
    assert made.conclusion is T.exists(T.var("w"), T.lt(Y, T.var("w")))


# ---------------------------------------------------------------------------- extensionality


@pytest.mark.parametrize(
    ("t", "child"),
    [
        (T.total(N, A(T.bound(0))), 1),
        (T.product(N, A(T.bound(0))), 1),
        (T.app(F, N, A(T.bound(0))), 1),
        (T.app(T.Head("G", 1, (1,)), Y, N, A(T.bound(0))), 2),
    ],
)
def test_extensionality(t: T.Term, child: int) -> None:
    every = assume(T.forall(I, T.eq(A(I), B(I))))
    made = infer("extensionality", (every,), t, child)
    changed = T.instantiate(T.abstract(B(I), (I,)), (T.bound(0),))
    assert made.conclusion.children[1].children[child] is changed
    refused("extensionality", (every,), t, child - 1)
    refused("extensionality", (every,), t, child + 1)
    refused("extensionality", (every,), t, -1)
    refused("extensionality", (assume(T.forall(H, T.eq(A(H), B(H)))),), t, child, why="range")
    refused("extensionality", (assume(T.forall(L, T.eq(A(L), B(L)))),), t, child, why="range")
    refused("extensionality", (assume(T.forall(I, T.eq(B(I), A(I)))),), t, child, why="body")
    refused("extensionality", (assume(T.eq(X, Y)),), t, child)
    refused("extensionality", (assume(T.forall(I, T.le(A(I), B(I)))),), t, child)


def test_extensionality_of_determinants() -> None:
    t = T.det(N, B(T.bound(1), T.bound(0)))
    same = T.forall(I, T.forall(J, T.eq(B(I, J), T.apply("C", I, J))))
    flipped = T.forall(J, T.forall(I, T.eq(B(I, J), T.apply("C", I, J))))
    made = infer("extensionality", (assume(same),), t, 1)
    assert made.conclusion.children[1] is T.det(N, T.apply("C", T.bound(1), T.bound(0)))
    refused("extensionality", (assume(flipped),), t, 1)
    refused("extensionality", (assume(T.forall(I, T.eq(B(I, I), ZERO))),), t, 1)
    other = T.forall(I, T.forall(H, T.eq(B(I, H), T.apply("C", I, H))))
    refused("extensionality", (assume(other),), t, 1, why="range")


def test_extensionality_reaches_no_gradient_and_no_expectation() -> None:
    gradient = T.grad((N,), T.app(T.Head(0, 1), ZERO), A(T.bound(0)), T.delta(T.bound(0), ZERO))
    every = assume(T.forall(I, T.eq(A(I), B(I))))
    refused("extensionality", (every,), gradient, 2)
    refused("extensionality", (every,), E(RX), 0)
    refused("extensionality", (every,), T.forall(I, T.eq(A(I), ZERO)), 1)


def test_antisymmetry() -> None:
    up, down = assume(T.le(X, Y)), assume(T.le(Y, X))
    assert sequent(infer("antisymmetry", (up, down))) == (
        {T.le(X, Y), T.le(Y, X)},
        T.eq(X, Y),
    )
    refused("antisymmetry", (up, up), why="converse")
    refused("antisymmetry", (up, assume(T.le(Y, Z))), why="converse")
    refused("antisymmetry", (up, assume(T.lt(Y, X))))
    refused("antisymmetry", (assume(T.le(X, X)), assume(T.le(M, M))))
    refused("antisymmetry", (up,))


def test_two_is_not_one() -> None:
    not_combined(T.eq(TWO, ONE), why="left over")
    not_combined(T.eq(T.mul(X, T.inv(X)), ONE), why="left over")
    not_combined(T.eq(T.fn("sqrt", T.power(X, 2)), X), why="left over")
    not_combined(T.eq(T.power(T.fn("sqrt", X), 2), X), why="left over")
