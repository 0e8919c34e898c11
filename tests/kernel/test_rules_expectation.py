"""Random quantities stay inside expectations; nothing but linearity is assumed of them."""

from __future__ import annotations

import pytest
from exact_evaluation import World
from kernel_symbols import (
    ONE,
    RX,
    RY,
    TWO,
    ZERO,
    A,
    E,
    I,
    J,
    N,
    X,
    Y,
    assume,
    decide,
    refused,
)  # fmt: skip

from derive.kernel import terms as T
from derive.kernel.normal import Normaliser
from derive.kernel.rules import Item, infer
from derive.kernel.terms import Lam, Term


def R(*indices: Term) -> Term:
    return T.apply("R", *indices, random=True)


COUNT = T.total(T.fn("abs", RX), ONE)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (E(ONE), ONE),
        (E(X), X),
        (E(T.add(T.mul(X, RX), T.mul(Y, RY))), T.add(T.mul(X, E(RX)), T.mul(Y, E(RY)))),
        (E(T.sum_over(I, T.mul(A(I), R(I)))), T.sum_over(I, T.mul(A(I), E(R(I))))),
        (E(E(RX)), E(RX)),
        (E(T.mul(E(RX), RX)), T.power(E(RX), 2)),
        (E(T.mul(E(RX), E(RX), RX)), T.power(E(RX), 3)),
        (E(T.power(T.sub(RX, E(RX)), 2)), T.sub(E(T.power(RX, 2)), T.power(E(RX), 2))),
        (E(T.mul(RX, T.delta(I, J))), T.mul(T.delta(I, J), E(RX))),
        (E(ZERO), ZERO),
    ],
    ids=lambda t: T.show(t),
)
def test_linearity(left: Term, right: Term) -> None:
    made = decide(T.eq(left, right))
    assert made.axioms == {"expectation-linearity"}
    for seed in range(5):
        assert World(seed).truth(made.conclusion)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (E(T.mul(E(RX), RX)), E(RX)),
        (E(T.mul(RX, RY)), T.mul(E(RX), E(RY))),
        (E(T.power(RX, 2)), T.power(E(RX), 2)),
        (E(T.inv(RX)), T.inv(E(RX))),
        (E(T.fn("abs", RX)), T.fn("abs", E(RX))),
        (E(T.fn("max", RX, ZERO)), T.fn("max", E(RX), ZERO)),
        (E(T.fn("exp", RX)), T.fn("exp", E(RX))),
        (E(T.mul(R(I), R(J))), T.mul(E(R(I)), E(R(J)))),
        (E(RX), E(RY)),
        (E(R(I)), E(R(J))),
        (E(T.mul(RX, T.inv(RX))), ONE),
        (E(T.delta(RX, X)), T.delta(E(RX), X)),
        (E(T.mul(COUNT, COUNT)), T.mul(E(COUNT), E(COUNT))),
        (E(COUNT), T.total(E(T.fn("abs", RX)), ONE)),
        (E(A(RX)), A(E(RX))),
        (E(T.product(TWO, RX)), T.product(TWO, E(RX))),
        (E(T.fn("sqrt", T.power(RX, 2))), E(RX)),
        (E(T.mul(RX, E(T.mul(RX, RY)))), T.mul(E(T.power(RX, 2)), E(RY))),
        (E(T.mul(T.delta(RX, X), E(RX))), T.mul(X, E(T.delta(RX, X)))),
        (E(T.mul(T.delta(RX, RY), E(RX))), E(T.mul(T.delta(RX, RY), E(RY)))),
        (E(T.mul(T.delta(RX, X), E(T.mul(X, RY)))), E(T.mul(T.delta(RX, X), E(T.mul(RX, RY))))),
    ],
    ids=lambda t: T.show(t),
)
def test_nothing_but_linearity(left: Term, right: Term) -> None:
    refused("decide", (), T.eq(left, right))
    refused("linear-combination", (), T.eq(left, right), 0, (), why="left over")


def test_a_range_that_is_random_stays_inside() -> None:
    normal = Normaliser().term(E(T.total(T.fn("abs", RX), A(T.bound(0)))))
    assert normal.op == "E"
    assert not T.is_random(normal)


def test_no_outcome_leaks() -> None:
    refused("assume", (), T.le(E(RX), RX), why="random")
    refused("decide", (), T.eq(RX, RX), why="random")
    refused("generalise", (decide(T.eq(E(RX), E(RX))),), RX)
    refused("dichotomy", (), RX, ZERO, why="random")
    refused("excluded-middle", (), T.eq(R(I), ZERO), why="random")
    refused("axiom", (), "abs-nonneg", RX, why="random")
    refused("axiom", (), "pythagoras", R(ONE), why="random")
    refused("derivative", (), (N,), RX, ZERO, why="random")
    refused("unroll", (), "sum", T.fn("floor", T.fn("abs", RX)), ONE)


def test_no_instance_is_random() -> None:
    """E[x Y] = 0 for every number x does not give E[Y Y] = 0."""
    every = assume(T.forall(X, T.eq(E(T.mul(X, RY)), ZERO)))
    for value in (RX, RY, T.mul(RY, ZERO), T.add(X, R(ONE))):
        refused("specialise", (every,), value, why="random")
    tensors = T.quantified("forall", "tensor", T.eq(E(T.app(T.Head(0, 1), ZERO)), ONE), arity=1)
    refused("specialise", (assume(tensors),), Lam(1, RX), why="random")
    goal = T.eq(E(T.mul(RY, RY)), ZERO)
    refused("linear-combination", (every,), goal, 1, (Item(((0, (RY,)),), ONE),), why="random")


def test_equal_means_do_not_make_equal_variables() -> None:
    same = assume(T.eq(E(RX), E(RY)))
    goal = T.eq(E(T.power(RX, 2)), E(T.power(RY, 2)))
    for cofactor in (ONE, RX, T.add(RX, RY), E(T.add(RX, RY))):
        refused("linear-combination", (same,), goal, 1, (Item(((0, ()),), cofactor),))


def test_independence_is_a_hypothesis() -> None:
    free = T.eq(E(T.mul(RX, RY)), T.mul(E(RX), E(RY)))
    goal = T.eq(E(T.mul(TWO, RX, RY)), T.mul(TWO, E(RX), E(RY)))
    made = infer("linear-combination", (assume(free),), goal, 1, (Item(((0, ()),), TWO),))
    assert made.hypotheses == {free}


def test_a_random_function_has_no_deterministic_name() -> None:
    both = T.eq(E(R(ONE)), T.apply("R", ONE))
    refused("decide", (), both)
    with pytest.raises(T.KernelError, match="not a head"):
        T.app(T.Head(0, 1, random=True), ZERO)
