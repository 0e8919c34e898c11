"""Inequalities that hold of one function or symbol by itself, as of floors and exponentials."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from math import lcm
from typing import Final

from derive import search
from derive.kernel import terms as T
from derive.kernel.normal import Normaliser, Sign
from derive.kernel.rules import Theorem, fact_normaliser
from derive.kernel.terms import KernelError, Term
from derive.prover import Prover

#: e^x is bounded by numbers for |x| up to this, by squaring e^(x/2^k) k times.
LARGEST: Final = 8
HALVINGS: Final = 6
_FAILED = (search.NotFound, KernelError)


def bounds(p: Prover, t: Term) -> Iterator[Theorem]:
    """What is known of an atom of a normal form by what it is."""
    if t.op == "var":
        yield from _of_symbol(p, t)
    elif t.op == "delta":  # 1 - delta is its own square
        yield p.order(T.le(t, T.ONE), (1, p.square(T.sub(T.ONE, t))))
    elif t.op == "fn" and t.data in _OF_FUNCTION and (p.patient or t.data == "floor"):
        try:
            yield from _OF_FUNCTION[t.data](p, t)
        except _FAILED:
            return


def _of_symbol(p: Prover, t: Term) -> Iterator[Theorem]:
    if t.data[1] in ("dim", "nat"):
        yield p.trivial(T.le(T.num(int(t.data[1] == "dim")), t))
    if t.data[1] == "fin":
        yield p.trivial(T.lt(t, t.children[0]))


def _of_floor(p: Prover, t: Term) -> Iterator[Theorem]:
    x = t.children[0]
    yield p.axiom("floor-lower", x)
    upper = p.axiom("floor-upper", x)
    yield upper
    d = _denominator(x, fact_normaliser("search", p.facts()))
    if d is not None and d is not T.ONE:
        yield p.next_integer(p.order(T.lt(T.mul(d, x), T.mul(d, T.add(t, T.ONE))), (d, upper)))


def _denominator(x: Term, work: Normaliser) -> Term | None:
    """A positive integer that makes an integer of x, as small as it is seen to be."""
    poly = work.poly(x)
    below: dict[Term, int] = {}
    for m in poly:
        for t, e in m.factors:
            if e < 0:
                below[t] = max(below.get(t, 0), -e)
    if not all(work.is_int(t) and work.sign(t) is Sign.POS for t in below):
        return None
    powers = [T.power(t, e) for t, e in below.items()]
    for number in (1, lcm(*(c.denominator for c in poly.values()))):
        d = T.mul(*([] if number == 1 else [T.num(number)]), *powers)
        if work.is_int(T.mul(d, x)):
            return d
    return None


def _of_exponential(p: Prover, t: Term) -> Iterator[Theorem]:
    """1 + x <= e^x."""
    tangent = p.mp(p.axiom("log-tangent", t), p.trivial(T.lt(T.ZERO, t)))
    x = t.children[0]
    yield p.order(T.le(T.add(T.ONE, x), t), (1, tangent))
    if x.op == "num" and abs(x.data) <= LARGEST:
        yield from _of_number(p, x.data)


def _of_number(p: Prover, x: Fraction) -> Iterator[Theorem]:
    """(1 + x/k)^k <= e^x <= (1 - x/k)^-k for a power k of 2."""
    yield _from_below(p, x)
    below = _from_below(p, -x)
    t, low = T.fn("exp", T.num(x)), below.conclusion.children[0].data
    yield p.order(T.le(t, T.num(1 / low)), (T.mul(T.num(1 / low), t), below))


def _from_below(p: Prover, x: Fraction) -> Theorem:
    low, power = 1 + x / 2**HALVINGS, x / 2**HALVINGS
    y = T.fn("exp", T.num(power))
    tangent = p.mp(p.axiom("log-tangent", y), p.trivial(T.lt(T.ZERO, y)))
    theorem = p.order(T.le(T.num(low), y), (1, tangent))
    for _ in range(HALVINGS):
        power, before, low = 2 * power, low, low**2
        goal = T.le(T.num(low), T.fn("exp", T.num(power)))
        theorem = p.order(goal, (1, theorem, theorem), (2 * before, theorem))
    return theorem


def _of_logarithm(p: Prover, t: Term) -> Iterator[Theorem]:
    """1 - 1/x <= log x <= x - 1, for x > 0."""
    positive = p.trivial(T.lt(T.ZERO, t.children[0]))
    v = T.var("_v", "real")
    log, inverse = T.fn("log", v), T.inv(v)
    with p.supposing(T.lt(T.ZERO, v)) as case:
        upper = p.mp(p.axiom("log-tangent", v), case)
        lower = p.mp(p.axiom("log-tangent", inverse), p.trivial(T.lt(T.ZERO, inverse)))
        both = p.both(case, p.trivial(T.lt(T.ZERO, inverse)))
        split = p.mp(p.axiom("log-product", v, inverse), both)
        lower = p.order(T.le(T.sub(T.ONE, inverse), log), (1, lower), (-1, split))
    for bound in (upper, lower):
        yield p.mp(p.at(p.for_all(p.discharge(bound, case), v), t.children[0]), positive)


def _of_sine(p: Prover, t: Term) -> Iterator[Theorem]:
    """-1 <= t <= 1, since 2 (1 - t) = (1 - t)^2 + (1 - t^2)."""
    x = t.children[0]
    other = T.fn("cos" if t.data == "sin" else "sin", x)
    circle, half = p.axiom("pythagoras", x), Fraction(1, 2)
    for goal, end in (
        (T.le(t, T.ONE), T.sub(T.ONE, t)),
        (T.le(T.num(-1), t), T.add(T.ONE, t)),
    ):
        yield p.order(goal, (half, p.square(end)), (half, p.square(other)), (-half, circle))


def _of_absolute_value(p: Prover, t: Term) -> Iterator[Theorem]:
    """x <= |x| and -x <= |x|."""
    v = T.var("_v", "real")
    for side in (v, T.neg(v)):
        yield p.at(_by_cases(p, T.le(side, T.fn("abs", v)), T.ZERO, v, v), t.children[0])


def _of_extremum(p: Prover, t: Term) -> Iterator[Theorem]:
    """a <= max(a, b) and b <= max(a, b); the other way round for the minimum."""
    if len(t.children) != 2:
        return
    v, w = T.var("_v", "real"), T.var("_w", "real")
    either = T.fn(t.data, v, w)
    for side in (v, w):
        goal = T.le(side, either) if t.data == "max" else T.le(either, side)
        yield p.at(_by_cases(p, goal, v, w, v, w), *t.children)


def _by_cases(p: Prover, goal: Term, a: Term, b: Term, *variables: Term) -> Theorem:
    """For all of the variables: the goal, in the cases a <= b and b < a."""

    def branch(case: Theorem) -> Theorem:
        for k in (0, 1):
            try:
                return p.order(goal, (k, case))
            except KernelError:
                continue
        return p.order(goal, (2, case))

    return p.for_all(p.cases(p.dichotomy(a, b), branch, branch), *variables)


_OF_FUNCTION: dict[str, Callable[[Prover, Term], Iterator[Theorem]]] = {
    "floor": _of_floor, "exp": _of_exponential, "log": _of_logarithm,
    "sin": _of_sine, "cos": _of_sine, "abs": _of_absolute_value,
    "max": _of_extremum, "min": _of_extremum,
}  # fmt: skip
