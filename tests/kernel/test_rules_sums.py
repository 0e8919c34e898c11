"""Unrolling, blocks, and finitely many cases."""

from __future__ import annotations

from fractions import Fraction

from kernel_symbols import (
    ONE,
    TWO,
    ZERO,
    A,
    B,
    H,
    I,
    K,
    L,
    M,
    N,
    P,
    X,
    assume,
    decide,
    nonneg,
    positive,
    refused,
)  # fmt: skip

from derive.kernel import terms as T
from derive.kernel.rules import infer

BODY = A(T.bound(0))


def test_unroll() -> None:
    made = infer("unroll", (), "sum", L, BODY)
    assert made.conclusion is T.eq(T.total(T.add(L, ONE), BODY), T.add(T.total(L, BODY), A(L)))
    made = infer("unroll", (), "prod", N, BODY)
    assert made.conclusion is T.eq(T.product(T.add(N, ONE), BODY), T.mul(T.product(N, BODY), A(N)))
    assert infer("unroll", (), "sum", ZERO, BODY)
    for size in (K, X, T.num(-1), T.num(Fraction(1, 2)), T.sub(L, ONE), T.neg(N), T.bound(0)):
        refused("unroll", (), "sum", size, BODY)
    refused("unroll", (), "det", L, BODY)
    refused("unroll", (), "sum", L, A(T.bound(1)))
    refused("unroll", (), "sum", L, P(T.bound(0)))
    assert infer("unroll", (nonneg(K),), "sum", K, BODY).hypotheses == {T.le(ZERO, K)}
    refused("unroll", (nonneg(X),), "sum", X, BODY, why="integer")


def test_block_sum() -> None:
    made = infer("block-sum", (), N, M, BODY)
    place = T.add(T.mul(T.bound(1), M), T.bound(0))
    assert made.conclusion is T.eq(T.total(T.mul(N, M), BODY), T.total(N, T.total(M, A(place))))
    for rows, columns in ((K, M), (N, K), (X, M), (N, T.inv(M)), (T.num(-1), T.num(-1))):
        refused("block-sum", (), rows, columns, BODY, why="known")
    refused("block-sum", (), N, T.bound(0), BODY)
    refused("block-sum", (), N, M, A(T.bound(1)))
    assert infer("block-sum", (), L, L, BODY)


def test_block_forall() -> None:
    cases = [T.forall(I, P(T.add(T.mul(I, TWO), T.num(c)))) for c in (0, 1)]
    a = T.var("a", "fin", T.mul(N, TWO))
    goal = T.forall(a, P(a))
    even, odd = map(assume, cases)
    assert infer("block-forall", (even, odd), goal, 2).conclusion is goal
    refused("block-forall", (odd, even), goal, 2, why="column 0")
    refused("block-forall", (even,), goal, 2, why="columns")
    refused("block-forall", (even,), goal, 1, why="columns")
    refused("block-forall", (), goal, 0)
    refused("block-forall", (even, odd, odd), goal, 3, why="columns")
    flipped = T.var("a", "fin", T.mul(TWO, N))
    refused("block-forall", (even, odd), T.forall(flipped, P(flipped)), 2)
    short = [assume(T.forall(H, P(T.add(T.mul(H, TWO), T.num(c))))) for c in (0, 1)]
    refused("block-forall", short, goal, 2, why="column 0")
    b = T.var("a", "fin", T.mul(K, TWO))
    i = T.var("i", "fin", K)
    over = [assume(T.forall(i, P(T.add(T.mul(i, TWO), T.num(c))))) for c in (0, 1)]
    refused("block-forall", over, T.forall(b, P(b)), 2, why="known")
    refused("block-forall", (even, odd), T.exists(a, P(a)), 2)


def test_finite_forall() -> None:
    three = T.var("a", "fin", T.num(3))
    goal = T.forall(three, P(three))
    cases = [assume(P(T.num(k))) for k in range(3)]
    assert infer("finite-forall", cases, goal).conclusion is goal
    refused("finite-forall", cases[:2], goal, why="2 cases")
    refused("finite-forall", [*cases, cases[0]], goal, why="4 cases")
    refused("finite-forall", [cases[1], cases[0], cases[2]], goal, why="case 0")
    refused("finite-forall", cases, T.exists(three, P(three)))
    refused("finite-forall", cases, T.forall(I, P(I)), why="3 cases")
    none = T.quantified("forall", "fin", T.FALSE, ZERO)
    assert infer("finite-forall", (), none).conclusion is none
    for size in (L, T.num(-1), T.num(Fraction(1, 2)), X):
        refused("finite-forall", (), T.quantified("forall", "fin", T.FALSE, size))


def test_false_sums() -> None:
    def total(n: T.Term, body: T.Term) -> T.Term:
        return T.total(n, body)

    diagonal = T.delta(T.bound(0), K)
    for left, right in (
        (total(K, ONE), K),
        (total(X, ONE), X),
        (total(N, T.mul(diagonal, BODY)), A(K)),
        (total(N, T.delta(T.bound(0), N)), ONE),
        (total(N, T.delta(T.bound(0), H)), ONE),
        (total(N, T.delta(T.bound(0), T.num(Fraction(1, 2)))), ONE),
        (total(N, BODY), total(M, BODY)),
        (
            total(N, total(M, B(T.bound(1), T.bound(0)))),
            total(N, total(M, B(*map(T.bound, (0, 1))))),
        ),
        (T.mul(total(N, BODY), total(N, BODY)), total(N, T.power(BODY, 2))),
        (total(N, total(T.bound(0), BODY)), total(N, total(N, BODY))),
        (total(T.add(N, ONE), BODY), total(N, BODY)),
        (T.inv(total(N, BODY)), total(N, T.inv(BODY))),
        (T.product(N, X), T.mul(N, X)),
    ):
        refused("linear-combination", (), T.eq(left, right), 0, (), why="left over")
        refused("decide", (), T.eq(left, right))


def test_true_sums() -> None:
    two = T.delta(T.bound(0), TWO)
    big = T.add(N, T.num(3))
    for left, right in (
        (T.total(N, ONE), N),
        (T.total(N, T.mul(T.delta(T.bound(0), I), BODY)), A(I)),
        (T.total(big, T.mul(two, BODY)), A(TWO)),
        (T.total(ZERO, BODY), ZERO),
        (T.total(T.num(-3), BODY), ZERO),
        (T.total(TWO, BODY), T.add(A(ZERO), A(ONE))),
        (T.total(N, T.total(M, B(T.bound(1), T.bound(0)))),
         T.total(M, T.total(N, B(T.bound(0), T.bound(1))))),
        (T.total(N, T.fn("exp", T.add(BODY, X))),
         T.mul(T.fn("exp", X), T.total(N, T.fn("exp", BODY)))),
    ):  # fmt: skip
        assert decide(T.eq(left, right))


def test_a_length_that_a_fact_makes_natural() -> None:
    goal = T.eq(T.total(K, ONE), K)
    refused("decide", (), goal)
    assert decide(goal, nonneg(K)).hypotheses == {T.le(ZERO, K)}
    assert decide(goal, positive(K))
    refused("decide", (positive(X),), T.eq(T.total(X, ONE), X))
