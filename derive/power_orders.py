"""The order of powers with a symbolic natural exponent, from that of their bases."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import permutations
from typing import Final

from derive import power_laws
from derive.bounds import bounds
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, fact_normaliser
from derive.kernel.terms import KernelError, Term
from derive.power_laws import MINUS_ONE
from derive.prover import Prover

#: Of so many powers the order is looked at.
MAX_COMPARED: Final = 6
#: What tries to prove an inequality.
Found = Callable[[Term], Theorem | None]
_RELATIONS: Final = {"le": T.le, "lt": T.lt}


def at_once(p: Prover, goal: Term) -> Theorem | None:
    """An inequality that is known, or that known signs tell."""
    known = [g for g in p.known() if g.conclusion.op in _RELATIONS]
    for items in ((), *(((T.ONE, g),) for g in known)):
        try:
            return p.order(goal, *items)
        except KernelError:
            continue
    return None


def orders(p: Prover, powers: Sequence[Term], found: Found) -> Iterator[Theorem]:
    """Signs of powers, and their order among each other and beside 1, from those of the bases."""
    low: dict[Term, Theorem] = {}
    compared = [t for t in powers if _is_defined(p, t)][:MAX_COMPARED]
    for t in compared:
        k, x = t.children
        apart = _decided(p, T.negate(T.eq(x, T.ZERO)))
        if apart is not None:
            yield p.mp(p.at(power_laws.not_zero(), x, k), apart)
        sign = found(T.le(T.ZERO, x))
        if sign is not None:
            low[x] = sign
            yield p.mp(p.at(power_laws.not_negative(), x, k), sign)
            yield from _beside_one(p, found, k, x, sign)
        else:
            yield from _of_any_sign(p, found, k, x)
    for s, t in permutations(compared, 2):
        (k, x), (other, y) = s.children, t.children
        if k is other and x in low:
            yield from _grown(p, k, low[x], _less(found, x, y))


def _is_defined(p: Prover, t: Term) -> bool:
    """Whether the exponent is known to be a natural number."""
    try:
        return p.at(power_laws.of_one(), t.children[0]) is not None
    except KernelError:
        return False


def _beside_one(p: Prover, found: Found, k: Term, x: Term, sign: Theorem) -> Iterator[Theorem]:
    """x^k <= 1 or 1 <= x^k, less where that is known, for 0 <= x."""
    one = p.at(power_laws.of_one(), k)
    for above in _grown(p, k, sign, _less(found, x, T.ONE)):
        goal = _RELATIONS[above.conclusion.op](T.product(k, x), T.ONE)
        yield p.order(goal, (1, above), (-1, one))
    for above in _grown(p, k, p.trivial(T.le(T.ZERO, T.ONE)), _less(found, T.ONE, x)):
        goal = _RELATIONS[above.conclusion.op](T.ONE, T.product(k, x))
        yield p.order(goal, (1, above), (1, one))


def _of_any_sign(p: Prover, found: Found, k: Term, x: Term) -> Iterator[Theorem]:
    """|x|^k <= 1 and -|x^k| <= x^k <= |x^k|, where |x| <= 1 is found."""
    small = _between(p, found, x)
    if small is not None:
        size = power_laws.absolute(x)
        with p.remembering(small):
            yield from _beside_one(p, found, k, size, p.order(T.le(T.ZERO, size)))
        yield from bounds(p, power_laws.absolute(T.product(k, x)))


def _between(p: Prover, found: Found, x: Term) -> Theorem | None:
    """|x| < 1 or |x| <= 1, also from -1 < x < 1 or the like."""
    size = power_laws.absolute(x)
    known = _less(found, size, T.ONE)
    if known is not None:
        return known
    low, high = _less(found, MINUS_ONE, x), _less(found, x, T.ONE)
    if low is None or high is None:
        return None
    strict = low.conclusion.op == high.conclusion.op == "lt"
    goal = (T.lt if strict else T.le)(size, T.ONE)
    return p.cases(
        p.dichotomy(T.ZERO, x),
        lambda _: p.order(goal, (1, high)),
        lambda _: p.order(goal, (1, low)),
    )


def _less(found: Found, a: Term, b: Term) -> Theorem | None:
    """a < b, or a <= b, where one is found."""
    return found(T.lt(a, b)) or found(T.le(a, b))


def _grown(p: Prover, k: Term, sign: Theorem, order: Theorem | None) -> Iterator[Theorem]:
    """a^k <= b^k, or a^k < b^k where k is not 0, from 0 <= a and the order of a and b."""
    if order is None:
        return
    a, b = order.conclusion.children
    before = fact_normaliser("search", p.facts()).term(T.sub(k, T.ONE))
    if order.conclusion.op == "lt":
        try:
            law = p.mp(p.at(power_laws.growing_strictly(), a, b, before), sign, order)
            goal = T.lt(T.product(k, a), T.product(k, b))
            yield p.order(goal, (1, law))
            return
        except KernelError:  # 0 may be the exponent
            order = p.order(T.le(a, b), (1, order))
    yield p.mp(p.at(power_laws.growing(), a, b, k), sign, order)


def _decided(p: Prover, goal: Term) -> Theorem | None:
    try:
        return p.trivial(goal)
    except KernelError:
        return None
