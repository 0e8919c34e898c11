r"""A quotient of polynomials that four shares x/(x + M) combine to, and how fast it falls.

With g(x) = x/(x + M) it is M^2 (g(x^2) - g(x)) + g(x^-2) - g(x^-1).  For M > 1 it falls like 1/x
for large x and like x^2 for small ones, so that at x = e^{tl} it tells different rates l apart.
"""

from __future__ import annotations

from typing import Any

import sympy as sp

from derive.claims._softmax import exp_order
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.kernel.terms import Term
from derive.language import (
    at_most,
    both,
    equal,
    implies,
    less,
    minus,
    over,
    plus,
    power,
    real,
    times,
)
from derive.prover import Prover

#: M is 1 + n, so that nothing that follows has a negative coefficient
more, x, moment = real("n"), real("x"), real("t")
rest = plus(1, more)
value = real("g")


def share(x: Any) -> Any:
    """Of a token whose exponential is x times that of each of the M others."""
    return over(x, plus(x, rest))


def turned_share(x: Any) -> Any:
    """The same for 1/x."""
    return over(1, plus(1, times(rest, x)))


def gauge(x: Any) -> Any:
    """What four shares combine to: it falls for large and for small x."""
    square = power(x, 2)
    return plus(
        times(power(rest, 2), minus(share(square), share(x))),
        minus(turned_share(square), turned_share(x)),
    )


WIDE = times(more, plus(1, more), plus(2, more))
SUM = plus(1, power(rest, 2))
#: The gauge at x is M^3 - M times the quotient of these.
TOP = times(power(x, 2), minus(x, 1), plus(times(SUM, power(x, 2)), times(rest, x), rest))
BOTTOM = times(
    plus(times(rest, power(x, 4)), times(SUM, power(x, 2)), rest),
    plus(times(rest, power(x, 2)), times(SUM, x), rest),
)
CLOSED = equal(times(value, BOTTOM), TOP)
#: What is shown of it; where x is at least 2, it is not small.
BOUNDS = both(
    at_most(-2, times(x, value)),
    at_most(times(x, value), 2),
    at_most(times(-2, power(x, 2)), value),
    at_most(value, times(2, power(x, 2))),
)
SCALE = times(2, power(plus(2, more), 4))
NOT_SMALL = implies(at_most(2, x), at_most(SUM, times(SCALE, x, value)))


def closed_gauge(p: Prover) -> Theorem:
    """For all x > 0: (M^3 - M)^-1 gauge(x) D = N; 0 < n is known."""
    square = power(x, 2)
    a, b = plus(square, rest), plus(x, rest)
    c, d = plus(1, times(rest, square)), plus(1, times(rest, x))
    m2 = power(rest, 2)
    with p.supposing(less(0, x)) as positive:
        cancels = [p.cancel(t, p.order(less(0, t), sparing=False)) for t in (a, b, c, d)]
        closed = p.equal(
            times(gauge(x), BOTTOM), times(WIDE, TOP),
            (times(m2, square, b, c, d), cancels[0]), (times(-1, m2, x, a, c, d), cancels[1]),
            (times(a, b, d), cancels[2]), (times(-1, a, b, c), cancels[3]), show=False,
        )  # fmt: skip
        found = _smaller(p, closed)
    return p.for_all(p.discharge(found, positive), x)


def _smaller(p: Prover, closed: Theorem) -> Theorem:
    """From a d = w n: w^-1 a d = n, by a law about numbers."""
    a, d, w, n = (real(name) for name in "adwz")
    with p.supposing(both(less(0, w), equal(times(a, d), times(w, n)))) as case:
        scaled = T.mul(p.term(times(power(w, -1), a)), p.term(d))  # as it is put together below
        found = p.equal(
            scaled, n, (power(w, -1), p.part(case, 1)),
            (n, p.cancel(w, p.part(case, 0))), show=False,
        )  # fmt: skip
    law = p.for_all(p.discharge(found, case), a, d, w, n)
    at = p.at(law, gauge(x), BOTTOM, WIDE, TOP)
    return p.mp(at, p.both(p.order(less(0, WIDE)), closed))


def divided_law(p: Prover) -> Theorem:
    """For all reals: 0 < d and a d <= b d -> a <= b."""
    a, b, d = real("a"), real("b"), real("d")
    with p.supposing(both(less(0, d), at_most(times(a, d), times(b, d)))) as case:
        positive, scaled = p.part(case, 0), p.part(case, 1)

        def above(case: Theorem) -> Theorem:
            wrong = p.order(less(0, 0), (1, scaled), (1, positive, case))
            right = p.trivial(T.negate(wrong.conclusion))
            return infer("contradiction", [wrong, right], p.formula(at_most(a, b)))

        found = p.cases(p.dichotomy(a, b), lambda c: c, above)
    return p.for_all(p.discharge(found, case), a, b, d)


def bounds_law(p: Prover) -> Theorem:
    """For all x > 0 and g = N / D: the bounds; 0 < n is known."""
    divide = divided_law(p)
    with p.supposing(both(less(0, x), CLOSED)) as case:
        closed = p.part(case, 1)
        positive = p.order(less(0, BOTTOM), sparing=False)

        def bound(goal: Any, factor: Any) -> Theorem:
            """a <= b, where one of them is the factor times g."""
            a, b = goal.args
            sign = times(-1 if value in a.free_symbols else 1, factor)
            goal = at_most(times(a, BOTTOM), times(b, BOTTOM))
            scaled = p.order(goal, (sign, closed), sparing=False)
            return p.mp(p.at(divide, a, b, BOTTOM), p.both(positive, scaled))

        bounds = [bound(g, f) for g, f in zip(BOUNDS.args, (x, x, 1, 1), strict=True)]
        with p.supposing(NOT_SMALL.args[0]) as far:
            beyond = p.at(_far_law(p), p.term(minus(x, 2)))
            beyond = p.mp(beyond, p.order(at_most(0, minus(x, 2)), (1, far)))
            a, b = NOT_SMALL.args[1].args
            scaled = p.order(
                at_most(times(a, BOTTOM), times(b, BOTTOM)), (1, beyond),
                (times(SCALE, x), closed),
            )  # fmt: skip
            last = p.mp(p.at(divide, a, b, BOTTOM), p.both(positive, scaled))
        found = p.both(*bounds, p.discharge(last, far))
    return p.for_all(p.discharge(found, case), x, value)


def _far_law(p: Prover) -> Theorem:
    """For all z >= 0, at x = 2 + z: (1 + M^2) D <= 2 (M + 1)^4 x N."""
    z = real("z")
    at = {x: plus(2, z)}
    with p.supposing(at_most(0, z)) as case:
        goal = at_most(times(SUM, BOTTOM), times(SCALE, x, TOP))
        found = p.order(put_at(goal, at), sparing=False)
    return p.for_all(p.discharge(found, case), z)


def put_at(e: Any, values: dict[Any, Any]) -> Any:
    """The expression with the values put in, and nothing evaluated."""
    if e in values or not e.args:
        return values.get(e, e)
    as_written = {"evaluate": False} if isinstance(e, sp.Add | sp.Mul | sp.Pow) else {}
    return e.func(*(put_at(a, values) for a in e.args), **as_written)


# ---------------------------------------------------------------------- how fast a term vanishes

slow, fast = real("k"), real("l")
#: what the value times e^{tk} is, times t (l - k)
DELAYED = times(minus(fast, slow), moment, sp.exp(times(moment, slow)), value)


def tangent(p: Prover) -> Theorem:
    """For all y: y e^-y <= 1."""
    y = real("y")
    tangent = p.mp(p.axiom("log-tangent", sp.exp(y)), p.trivial(less(0, sp.exp(y))))
    found = p.order(at_most(times(y, sp.exp(-y)), 1), (sp.exp(-y), tangent))
    return p.for_all(found, y)


def vanishing_law(p: Prover) -> Theorem:
    """For all k, l, t > 0 and g within the bounds at e^{tl}: -4 <= t (l - k) e^{tk} g <= 4.

    Where 0 < k, l is not k, and k^2 <= l^2.
    """
    growth = sp.exp(times(moment, fast))
    premise = both(
        less(0, slow), less(0, moment), at_most(power(slow, 2), power(fast, 2)),
        put_at(BOUNDS, {x: growth}),
    )  # fmt: skip
    falls, divide = tangent(p), divided_law(p)
    goal = p.formula(both(at_most(-4, DELAYED), at_most(DELAYED, 4)))

    with p.supposing(premise) as case:
        wider = p.part(case, 2)
        bounds = [p.part(p.part(case, 3), n) for n in range(4)]
        found = p.cases(
            p.dichotomy(fast, 0),
            lambda below: _opposite_sign(p, goal, below, wider, bounds, falls, divide),
            lambda above: _same_sign(p, goal, above, wider, bounds, falls, divide),
        )
    return p.for_all(p.discharge(found, case), slow, fast, moment, value)


def _same_sign(
    p: Prover, goal: Term, above: Theorem, wider: Theorem, bounds: list[Theorem], falls: Theorem,
    divide: Theorem,
) -> Theorem:  # fmt: skip
    both_of = plus(fast, slow)
    ordered = p.mp(
        p.at(divide, slow, fast, both_of),
        p.both(p.order(less(0, both_of), (1, above)),
               p.order(at_most(times(slow, both_of), times(fast, both_of)), (1, wider))),
    )  # fmt: skip
    gap = minus(fast, slow)
    late = times(moment, gap)
    part = p.at(falls, late)
    decay = times(moment, sp.exp(times(-1, late)))
    return p.both(
        p.order(goal.children[0], (decay, ordered, bounds[0]), (2, part)),
        p.order(goal.children[1], (decay, ordered, bounds[1]), (2, part)),
    )


def _opposite_sign(
    p: Prover, goal: Term, below: Theorem, wider: Theorem, bounds: list[Theorem], falls: Theorem,
    divide: Theorem,
) -> Theorem:  # fmt: skip
    size, gap = times(-1, fast), minus(slow, fast)
    ordered = p.mp(
        p.at(divide, slow, size, gap),
        p.both(p.order(less(0, gap), (1, below)),
               p.order(at_most(times(slow, gap), times(size, gap)), (1, wider))),
    )  # fmt: skip
    wide = p.order(at_most(0, gap), (1, below))
    late = times(moment, size)
    rest_of = times(moment, plus(slow, fast))
    upto_one = exp_order(p, p.order(at_most(rest_of, 0), (moment, ordered)))
    upto_one = p.order(at_most(sp.exp(rest_of), 1), (1, upto_one))
    growth = times(moment, sp.exp(times(moment, slow)))
    square = times(moment, sp.exp(plus(times(moment, slow), times(2, moment, fast))))
    common = (2 * square, ordered), (4, upto_one), (4 * sp.exp(rest_of), p.at(falls, late))
    return p.both(
        p.order(goal.children[0], (growth, wide, bounds[3]), *common),
        p.order(goal.children[1], (growth, wide, bounds[2]), *common),
    )


# ---------------------------------------------------------------------- its bounds, for all x > 0


def scaled_gauge(x: Any) -> Any:
    return times(power(WIDE, -1), gauge(x))


def at_rate(rate: Any, t: Any = moment) -> Any:
    """The gauge of what moves at that rate, over M^3 - M."""
    return scaled_gauge(sp.exp(times(t, rate)))


def gauge_law(p: Prover) -> Theorem:
    """For all x > 0: the bounds for the gauge at x; 0 < n is known."""
    closed, bounds = closed_gauge(p), bounds_law(p)
    with p.supposing(less(0, x)) as positive:
        found = p.mp(
            p.at(bounds, x, scaled_gauge(x)), p.both(positive, p.mp(p.at(closed, x), positive))
        )
    return p.for_all(p.discharge(found, positive), x)
