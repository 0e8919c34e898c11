"""Sine and cosine at multiples of half a turn: what is evaluated, and what is not."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from derive.kernel import terms as T
from derive.kernel.normal import Normaliser
from derive.kernel.rules import infer
from derive.kernel.terms import KernelError, Term

K, X = T.var("k", "int"), T.var("x", "real")
HALF = T.num(Fraction(1, 2))


def turns(*factors: Term) -> Term:
    return T.mul(T.PI, *factors)


@pytest.mark.parametrize("name", ["sin", "cos"])
@pytest.mark.parametrize("halves", range(-9, 10))
def test_values_at_literal_half_turns(name: str, halves: int) -> None:
    found = Normaliser().term(T.fn(name, turns(T.num(Fraction(halves, 2)))))
    assert found.op == "num"
    assert found.data == round(getattr(math, name)(halves * math.pi / 2))


@pytest.mark.parametrize("quotient", [Fraction(1, 3), Fraction(1, 4), Fraction(5, 6)])
@pytest.mark.parametrize("name", ["sin", "cos"])
def test_other_angles_are_left_alone(name: str, quotient: Fraction) -> None:
    assert Normaliser().term(T.fn(name, turns(T.num(quotient)))).op != "num"


EVEN, ODD = T.mul(T.num(2), K), T.add(T.mul(T.num(2), K), T.ONE)
HOLDS = [
    (T.fn("sin", turns(K)), 0),
    (T.fn("cos", turns(EVEN)), 1),
    (T.fn("cos", turns(ODD)), -1),
    (T.fn("cos", turns(T.add(K, HALF))), 0),
    (T.fn("sin", turns(T.add(EVEN, HALF))), 1),
    (T.fn("sin", turns(T.add(ODD, HALF))), -1),
]


@pytest.mark.parametrize(("t", "value"), HOLDS)
def test_symbolic_half_turns(t: Term, value: int) -> None:
    assert "trig-pi" in infer("decide", [], T.eq(t, T.num(value))).axioms


@pytest.mark.parametrize(("t", "value"), HOLDS)
@pytest.mark.parametrize("wrong", [-1, 0, 1])
def test_no_other_value_is_accepted(t: Term, value: int, wrong: int) -> None:
    if wrong != value:
        with pytest.raises(KernelError):
            infer("decide", [], T.eq(t, T.num(wrong)))
        assert infer("decide", [], T.negate(T.eq(t, T.num(wrong))))


MUST_FAIL = [
    (T.fn("sin", turns(X)), 0),  # not an integer
    (T.fn("cos", turns(X)), 1),
    (T.fn("cos", turns(T.add(X, HALF))), 0),
    (T.fn("sin", turns(T.mul(HALF, K))), 0),  # the parity of k is not known
    (T.fn("cos", turns(T.mul(HALF, K))), 0),
    (T.fn("cos", turns(K)), 1),
    (T.fn("cos", turns(K)), -1),
    (T.fn("sin", turns(T.add(K, HALF))), 1),
    (T.fn("sin", T.mul(T.power(T.PI, 2), HALF)), 1),  # not a rational multiple of pi
    (T.fn("sin", HALF), 1),
    (T.fn("cos", HALF), 0),
]


@pytest.mark.parametrize(("t", "value"), MUST_FAIL)
def test_what_is_not_known_is_refused(t: Term, value: int) -> None:
    for wanted in (T.eq(t, T.num(value)), T.negate(T.eq(t, T.num(value)))):
        with pytest.raises(KernelError):
            infer("decide", [], wanted)
