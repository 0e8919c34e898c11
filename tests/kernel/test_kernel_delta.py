"""Deltas of linear expressions: what is known to be 0 or 1, and what is not."""

from __future__ import annotations

from fractions import Fraction

import pytest

from derive.kernel import terms as T
from derive.kernel.normal import Normaliser
from derive.kernel.rules import infer
from derive.kernel.terms import KernelError, Term

N = T.var("n", "dim")
I, J = T.var("i", "fin", N), T.var("j", "fin", N)
K, X = T.var("k", "int"), T.var("x", "real")


def linear(start: int | Fraction, *parts: tuple[int | Fraction, Term]) -> Term:
    return T.add(T.num(start), *(T.mul(T.num(c), t) for c, t in parts))


ZERO = [
    (linear(0, (2, I)), linear(1, (2, J))),  # an even and an odd number
    (linear(1, (4, I)), linear(0, (2, K))),
    (linear(0, (Fraction(1, 2), I)), linear(Fraction(1, 3), (1, J))),
    (linear(1, (6, I)), linear(2, (10, J), (15, K), (-30, K), (15, K))),
    (I, T.num(Fraction(1, 2))),
    (T.num(0), T.num(3)),
]
ONE = [
    (linear(1, (2, I)), linear(1, (2, I))),
    (T.num(3), T.num(3)),
    (T.mul(T.add(I, J), T.sub(I, J)), T.sub(T.power(I, 2), T.power(J, 2))),
]
OPEN = [
    (linear(0, (2, I)), linear(1, (3, J))),  # 4 = 3 + 1
    (linear(0, (2, I)), linear(2, (2, J))),
    (linear(0, (2, X)), linear(1, (2, J))),  # a real number may be half an odd one
    (linear(0, (Fraction(1, 2), I)), T.num(Fraction(1, 2))),
    (linear(1, (6, I)), linear(0, (10, J), (15, K))),  # 16 j + ... has no common step
    (T.mul(T.num(2), T.inv(N)), T.num(1)),  # n = 2
    (T.mul(T.num(2), T.fn("sqrt", N)), T.num(3)),
    (I, J),
    (I, N),
]


@pytest.mark.parametrize(("a", "b"), ZERO)
def test_known_to_differ(a: Term, b: Term) -> None:
    assert infer("decide", [], T.eq(T.delta(a, b), T.ZERO))
    assert infer("decide", [], T.eq(T.delta(b, a), T.ZERO))


@pytest.mark.parametrize(("a", "b"), ONE)
def test_known_to_be_equal(a: Term, b: Term) -> None:
    assert infer("decide", [], T.eq(T.delta(a, b), T.ONE))


@pytest.mark.parametrize(("a", "b"), [*ONE, *OPEN])
def test_not_known_to_differ(a: Term, b: Term) -> None:
    with pytest.raises(KernelError):
        infer("decide", [], T.eq(T.delta(a, b), T.ZERO))


@pytest.mark.parametrize(("a", "b"), [*ZERO, *OPEN])
def test_not_known_to_be_equal(a: Term, b: Term) -> None:
    with pytest.raises(KernelError):
        infer("decide", [], T.eq(T.delta(a, b), T.ONE))


def test_multiples_of_one_equation_have_one_form() -> None:
    plain = Normaliser().term(T.delta(I, J))
    assert plain.op == "delta"
    for c in (1, 2, -3, Fraction(1, 2)):
        scaled = T.delta(linear(1, (c, I)), linear(1, (c, J)))
        assert Normaliser().term(scaled) is plain
    assert Normaliser().term(T.delta(linear(0, (2, I)), J)) is not plain


def test_a_scaled_delta_contracts_a_sum_only_within_its_range() -> None:
    def over(t: Term) -> Term:
        body = T.mul(T.delta(T.mul(T.num(2), T.bound(0)), t), T.apply("a", T.bound(0)))
        return T.eq(T.total(N, body), T.apply("a", T.mul(T.num(Fraction(1, 2)), t)))

    assert infer("decide", [], over(T.mul(T.num(2), I)))
    for t in (T.mul(T.num(2), N), I, T.mul(T.num(2), K)):
        with pytest.raises(KernelError):
            infer("decide", [], over(t))
