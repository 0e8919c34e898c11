"""Numbers longer than Python's limit for decimal conversion are kept, logged and replayed."""

import math
from fractions import Fraction

import pytest

from derive import latex
from derive.kernel import terms as T
from derive.kernel.check import check
from derive.kernel.log import digest, write
from derive.kernel.rules import KernelError, infer

TINY = [T.num(Fraction(1, math.factorial(n))) for n in (2004, 2006)]


def test_text_gives_the_number_back():
    for n in (10**5000, 10**5000 - 1, -(7**9999), 2**4096 - 1, 2**4096, 3):
        assert_kept(n)


def assert_kept(n):
    for q in (Fraction(n), Fraction(1, n)):
        assert T.read_number(T.number_text(q)) == q
        assert T.num(q) is T.num(Fraction(q.numerator, q.denominator))


def test_distinct_tiny_numbers_are_distinct():
    a, b = TINY
    assert a is not b
    assert a.key != b.key
    theorem = infer("decide", [], T.lt(b, a))
    for wrong in (T.eq(a, b), T.lt(a, b), T.le(a, b), T.eq(b, T.ZERO)):
        with pytest.raises(KernelError):
            infer("decide", [], wrong)
    assert check(write("proof", T.lt(b, a), [theorem])).goal is T.lt(b, a)


def test_a_log_holds_a_long_number_in_one_way():
    goal = T.lt(T.ZERO, T.num(10**5000))
    log = write("proof", goal, [infer("decide", [], goal)])
    written = T.number_text(Fraction(10**5000))
    terms = [
        [op, written.upper().replace("X", "x") if data == written else data, children]
        for op, data, children in log["terms"]
    ]
    assert terms != log["terms"]
    changed = {**log, "terms": terms}
    with pytest.raises(KernelError):
        check({**changed, "digest": digest(changed)})


def test_printing():
    assert latex.latex(TINY[0]) == r"\frac{1}{2004!}"
    assert latex.latex(T.num(10**5000 + 7)) == r"100000\ldots000007\ \text{(5001 digits)}"


SUM = T.total(T.var("n", "dim"), T.apply("x", T.bound(0)))
SUM_OF_EXPONENTIALS = T.total(T.var("n", "dim"), T.fn("exp", T.apply("x", T.bound(0))))


@pytest.mark.parametrize(
    ("base", "exponent"),
    [
        (T.num(2), 10**9),
        (T.num(2), -(10**9)),
        (T.num(Fraction(1, 3)), 10**7),
        (T.add(T.var("a"), T.ONE), 10**9),
        (T.add(T.var("a"), T.var("b")), 2000),
        (T.add(*map(T.var, "abcdefghij")), 20),
        (SUM, 1000),
        (SUM_OF_EXPONENTIALS, 11),
        (T.add(SUM_OF_EXPONENTIALS, T.ONE), 11),
        (T.fn("sqrt", T.add(T.power(T.var("a"), 2), T.ONE)), 10**9),
    ],
)
def test_a_power_that_is_too_long_is_refused_at_once(base, exponent):
    t = T.power(base, exponent)
    with pytest.raises(KernelError, match="too long"):
        infer("decide", [], T.eq(t, t))


def test_long_powers_that_stay_short_are_evaluated():
    a = T.var("a")
    for left, right in (
        (T.power(T.ONE, 10**9), T.ONE),
        (T.power(T.num(-1), 10**9 + 1), T.num(-1)),
        (T.power(T.power(a, 10**5), 10**5), T.power(a, 10**10)),
        (T.power(T.fn("abs", a), 10**9 + 1), T.mul(T.power(a, 10**9), T.fn("abs", a))),
        (T.power(T.num(2), 10**4), T.num(2**10000)),
    ):
        infer("decide", [], T.eq(left, right))
    infer("decide", [], T.eq(T.power(SUM_OF_EXPONENTIALS, -99), T.power(SUM_OF_EXPONENTIALS, -99)))
    with pytest.raises(KernelError):
        infer("decide", [], T.eq(T.power(a, 10**9), T.power(a, 10**9 + 1)))


@pytest.mark.parametrize("text", ["1e999999999", "1.5", "1_0", " 1"])
def test_a_number_has_one_notation(text):
    with pytest.raises(ValueError, match="not an exact number"):
        T.read_number(text)
