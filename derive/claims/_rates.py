r"""Shares e^x/(e^x + M) that move at different rates are independent, if M > 1.

If a combination of them does not move with t, for x = t l_s, then the factors of those with one
rate sum to 0, unless that rate is 0.  No pole of a complex function is needed for it: with the
shares at t, -t, 2t and -2t one has a function that falls like 1/x for large and like x^2 for small
x = e^{t l}.  So at the smallest rate, taken positive, its value times e^{t l} stays away from 0 as
t grows, while that of every other rate vanishes like 1/t.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy as sp

from derive.claims._gauge import (
    BOUNDS,
    SCALE,
    SUM,
    at_rate,
    gauge_law,
    moment,
    put_at,
    value,
    vanishing_law,
    x,
)
from derive.claims._lowest import at_j, at_m, lowest_law
from derive.claims._softmax import delta
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.kernel.terms import Term
from derive.language import (
    at_most,
    both,
    dim,
    either,
    equal,
    forall,
    index,
    less,
    minus,
    negation,
    plus,
    power,
    real,
    tensor,
    times,
    total,
)
from derive.prover import Prover

# ---------------------------------------------------------------------- all terms at one moment

size = dim("q")
s, k = index("s", size), index("o", size)
v, rate, f = tensor("v", size), tensor("L", size), tensor("f", size)
whole, scale, least = real("G"), real("C"), real("c")
ROOM = total(times(2, plus(1, power(times(whole, v[s], power(minus(rate[s], rate[k]), -1)), 2))), s)


def term_law(p: Prover) -> Theorem:
    """For all numbers: one term of the sum that is left, bounded by squares.

    Where e = 1, or e = 0, d is not 0, and v = 0 or y = 0 or -4 <= d y <= 4, for G v y (1 - e).
    """
    factor, d, y, e = real("a"), real("d"), real("y"), real("e")
    bounds = both(at_most(-4, times(d, y)), at_most(times(d, y), 4))
    goal = p.formula(at_most(
        times(-1, 1 - e, factor, y), times(2, plus(1, power(times(factor, power(d, -1)), 2)))
    ))  # fmt: skip
    quarter = sp.Rational(1, 4)

    def apart(case: Theorem) -> Theorem:
        none, nonzero = p.part(case, 0), p.part(case, 1)
        r = times(factor, power(d, -1))

        def bounded(case: Theorem) -> Theorem:
            low, high = p.part(case, 0), p.part(case, 1)
            return p.order(
                goal, (quarter, low, p.square(plus(1, r))), (quarter, high, p.square(minus(1, r))),
                (times(-1, factor, y), none), (times(-1, factor, y), p.cancel(d, nonzero)),
            )  # fmt: skip

        return p.cases(
            p.part(case, 2),
            lambda zero: p.order(goal, (times(1 - e, y), zero)),
            lambda zero: p.order(goal, (times(1 - e, factor), zero)),
            bounded,
        )

    premise = p.formula(either(
        equal(e, 1),
        both(equal(e, 0), negation(equal(d, 0)),
             either(equal(factor, 0), equal(y, 0), bounds)),
    ))  # fmt: skip
    with p.supposing(premise) as case:
        found = p.cases(case, lambda one: p.order(goal, (times(-1, factor, y), one)), apart)
    return p.for_all(p.discharge(found, case), factor, d, y, e)


def left_over_law(p: Prover) -> Theorem:
    """For all v, l, f, C, c, w, t, G: t G^2 is bounded, where f_s is the gauge of rate l_s at t.

    If the terms v_s f_s sum to 0, no rate that counts is smaller than that of w, which is positive,
    and G is the sum of the v_s that have the rate of w.
    """
    own = rate[k]
    growth = sp.exp(times(moment, own))
    counts = either(equal(v[s], 0), equal(f[s], 0), at_most(power(own, 2), power(rate[s], 2)))
    bounds = put_at(BOUNDS, {x: sp.exp(times(moment, rate[s])), value: f[s]})
    far = at_most(least, times(scale, growth, f[k]))
    same = delta(rate[s], own)
    premise = both(
        less(0, scale), less(0, own), less(0, moment), far, forall(s, both(counts, bounds)),
        forall(s, equal(times(same, f[s]), times(same, f[k]))),
        equal(total(times(v[s], f[s]), s), 0), equal(total(times(same, v[s]), s), whole),
    )  # fmt: skip
    vanishing, terms = vanishing_law(p), term_law(p)
    with p.supposing(premise) as case:
        _, positive, later, far, each, alike, none, gathered = (p.part(case, n) for n in range(8))
        y = times(moment, growth, f[s])
        found = p.at(terms, times(whole, v[s]), minus(rate[s], own), y, same)
        each = p.at(each, s)
        left = p.mp(found, _term_premise(
            p, found.conclusion.children[0], own, p.part(each, 0),
            lambda wider: p.mp(p.at(vanishing, own, rate[s], moment, f[s]),
                               p.both(positive, later, wider, p.part(each, 1))),
        ))  # fmt: skip
        summed = p.sum_order(left, s)
        of_own = p.equal(
            total(times(same, v[s], f[s]), s), times(whole, f[k]),
            (1, p.sum_equal(p.equal(times(same, v[s], f[s]), times(same, v[s], f[k]),
                                    (v[s], p.at(alike, s)), show=False), s)),
            (f[k], gathered), show=False,
        )  # fmt: skip
        found = p.order(
            at_most(times(least, moment, power(whole, 2)), times(scale, ROOM)),
            (times(moment, power(whole, 2)), far), (scale, summed),
            (times(-1, scale, whole, moment, growth), none),
            (times(scale, whole, moment, growth), of_own),
        )  # fmt: skip
    found = p.for_all(p.discharge(found, case), scale, least, k, moment, whole)
    for array in (f, rate, v):
        found = p.for_all_tensors(found, array)
    return found


def _term_premise(
    p: Prover, goal: Term, own: Any, counts: Theorem, bounded: Callable[[Theorem], Theorem]
) -> Theorem:
    """What the law about one term asks, at s."""
    apart_goal = goal.children[1]
    kinds = apart_goal.children[2]

    def same(case: Theorem) -> Theorem:
        at = p.term(own)
        one = p.rewrite(
            turned(p, case), p.trivial(T.eq(T.delta(at, at), T.ONE)),
            lambda x: T.eq(T.delta(x, at), T.ONE),
        )  # fmt: skip
        return infer("disjunct", [p.equal(*goal.children[0].children, (1, one), show=False)],
                     goal, 0)  # fmt: skip

    def apart(case: Theorem) -> Theorem:
        nonzero = difference_apart(p, case)

        def within(wider: Theorem) -> Theorem:
            low, high = (p.part(bounded(wider), n) for n in (0, 1))
            limits = kinds.children[2]
            found = p.both(*(p.order(limits.children[n], (1, x)) for n, x in ((0, low), (1, high))))
            return infer("disjunct", [found], kinds, 2)

        def zero(n: int) -> Callable[[Theorem], Theorem]:
            left = kinds.children[n].children[0]
            factor = T.ONE if n else p.term(whole)
            factor = p.term(times(moment, sp.exp(times(moment, own)))) if n else factor
            return lambda none: infer(
                "disjunct", [p.equal(left, 0, (factor, none), show=False)], kinds, n
            )

        each = p.cases(counts, zero(0), zero(1), within)
        none = p.equal(*apart_goal.children[0].children, (1, no_delta_of(p, case)), show=False)
        return infer("disjunct", [p.both(none, nonzero, each)], goal, 1)

    return p.cases(infer("excluded-middle", [], p.formula(equal(rate[s], own))), same, apart)


def turned(p: Prover, same: Theorem) -> Theorem:
    """b = a, from a = b."""
    a, b = same.conclusion.children
    return p.equal(b, a, (-1, same), show=False)


def difference_apart(p: Prover, apart: Theorem) -> Theorem:
    """not a - b = 0, from not a = b."""
    a, b = apart.conclusion.children[0].children
    vanishing = T.eq(T.sub(a, b), T.ZERO)
    with p.supposing(vanishing) as case:
        same = p.equal(a, b, (1, case), show=False)
        wrong = infer("contradiction", [same, apart], T.negate(vanishing))
    return infer("deny", [wrong], vanishing)


def no_delta_of(p: Prover, apart: Theorem) -> Theorem:
    """delta(a, b) = 0, from not a = b."""
    a, b = apart.conclusion.children[0].children
    law = p.at(swapped(p, lambda x: x), a, b)
    both_ways, gap = T.delta(a, b), T.sub(a, b)
    inverse = p.cancel(gap, difference_apart(p, apart))
    return p.equal(
        both_ways, 0, (T.inv(gap), law), (T.neg(both_ways), inverse), show=False
    )  # fmt: skip


def swapped(p: Prover, entry: Callable[[Any], Any]) -> Theorem:
    """For all reals b, a: delta(a, b) f(b) = delta(a, b) f(a)."""
    a, b = real("a"), real("b")
    same = p.equal(times(delta(a, b), entry(b)), times(delta(a, b), entry(a)), show=False)
    return p.for_all(same, b, a)


# ---------------------------------------------------------------------- all moments


def late_law(p: Prover) -> Theorem:
    """For all G, R, C, c, l: there comes a moment t >= 1/l with c t G^2 > C R, if G is not 0.

    It is (C R + 1)/(c G^2) + 1/l.
    """
    room, own = real("R"), real("l")
    signs = both(less(0, scale), less(0, least), less(0, own), at_most(0, room),
                 negation(equal(whole, 0)))  # fmt: skip
    t = plus(
        times(plus(times(scale, room), 1), power(times(least, power(whole, 2)), -1)), power(own, -1)
    )
    beyond = less(times(scale, room), times(least, t, power(whole, 2)))
    with p.supposing(signs) as case:
        square = p.order(less(0, times(least, power(whole, 2))))
        once = p.cancel(times(least, power(whole, 2)), square)
        found = p.both(
            p.order(less(0, t)),
            p.order(at_most(1, times(t, own))),
            p.order(beyond, (plus(times(scale, room), 1), once)),
        )
    return p.for_all(p.discharge(found, case), whole, room, scale, least, own)


OF_OWN = total(times(delta(rate[s], rate[k]), v[s]), s)
COUNTS = either(equal(v[s], 0), equal(rate[s], 0), at_most(power(rate[k], 2), power(rate[s], 2)))
SILENT = forall(moment, equal(total(times(v[s], at_rate(rate[s])), s), 0))


def least_rate_law(p: Prover) -> Theorem:
    """For all v, l, w: if the sum of the terms is 0 at all moments, the v_s at the rate of w are.

    Where this rate is positive, and the smallest one of those that count; 0 < n is known.
    """
    premise = both(less(0, rate[k]), forall(s, COUNTS), SILENT)
    goal = p.formula(equal(OF_OWN, 0))
    laws = left_over_law(p), gauge_law(p), late_law(p)
    with p.supposing(premise) as case:

        def otherwise(nonzero: Theorem) -> Theorem:
            wrong = _too_late(p, case, nonzero, *laws)
            return infer("contradiction", [wrong, p.trivial(T.negate(wrong.conclusion))], goal)

        found = p.cases(infer("excluded-middle", [], goal), lambda zero: zero, otherwise)
    found = p.for_all(p.discharge(found, case), k)
    return p.for_all_tensors(p.for_all_tensors(found, rate), v)


def _too_late(
    p: Prover, case: Theorem, nonzero: Theorem, left_over: Theorem, bounds: Theorem, late: Theorem
) -> Theorem:
    """0 < 0, at a moment that is late enough."""
    positive, least_of, silent = (p.part(case, n) for n in range(3))
    gathered, own = p.term(OF_OWN), p.term(rate[k])
    room = T.substitute(p.term(ROOM), {p.term(whole): gathered})
    wide, high = (p.order(less(0, c)) for c in (SCALE, SUM))
    signs = p.at(late, gathered, room, SCALE, SUM, own)
    chosen = p.mp(signs, p.both(wide, high, positive, p.nonneg(room), nonzero))
    later, reached, beyond = (p.part(chosen, n) for n in range(3))
    limited = _limited(p, positive, least_of, silent, wide, left_over, bounds)
    limited = p.at(limited, later.conclusion.children[1])
    bound = p.mp(limited, p.both(later, reached))
    return p.order(T.lt(T.ZERO, T.ZERO), (1, beyond), (1, bound))


def _limited(
    p: Prover, positive: Theorem, least_of: Theorem, silent: Theorem, wide: Theorem,
    left_over: Theorem, bounds: Theorem,
) -> Theorem:  # fmt: skip
    """For all t: 0 < t and 1 <= t l_w -> c t G^2 <= C R."""
    entry = p.lam(at_rate(rate[s]), s)
    bound = p.at(left_over, p.lam(v[s], s), p.lam(rate[s], s), entry, SCALE, SUM, k, moment, OF_OWN)
    needed = bound.conclusion.children[0].children
    growth = sp.exp(times(moment, rate[s]))
    with p.supposing(both(less(0, moment), at_most(1, times(moment, rate[k])))) as case:
        later, reached = p.part(case, 0), p.part(case, 1)
        at_s = p.mp(p.at(bounds, growth), p.trivial(less(0, growth)))
        own = sp.exp(times(moment, rate[k]))
        positive_own = p.trivial(less(0, own))
        up = p.mp(p.axiom("log-tangent", own), positive_own)
        large = p.order(at_most(2, own), (1, up), (1, reached))
        far = p.mp(p.part(p.mp(p.at(bounds, own), positive_own), 4), large)
        goal = T.instantiate(needed[4].children[1], (p.term(s),))
        counts = _counted(p, goal.children[0], p.at(least_of, s))
        each = p.for_all(p.both(counts, p.both(*(p.part(at_s, n) for n in range(4)))), s)
        alike = p.for_all(p.at(swapped(p, at_rate), rate[s], rate[k]), s)
        same = p.equal(*needed[7].children, show=False)
        found = p.mp(
            bound,
            p.both(wide, positive, later, far, each, alike, p.at(silent, moment), same),
        )
    return p.for_all(p.discharge(found, case), moment)


def _counted(p: Prover, goal: Term, counts: Theorem) -> Theorem:
    """v_s = 0, or the gauge of its rate is, or the rate is no smaller."""
    r = real("r")
    with p.supposing(equal(r, 0)) as still:
        at_zero = p.equal(at_rate(0), 0, show=False)
        back = p.equal(0, r, (-1, still), show=False)
        none = p.rewrite(back, at_zero, lambda x: T.eq(_at(p, x), T.ZERO))
    law = p.for_all(p.discharge(none, still), r)
    return p.cases(
        counts,
        lambda zero: infer("disjunct", [zero], goal, 0),
        lambda zero: infer("disjunct", [p.mp(p.at(law, rate[s]), zero)], goal, 1),
        lambda wider: infer("disjunct", [wider], goal, 2),
    )


def _at(p: Prover, rate: Term) -> Term:
    r = real("r")
    return T.substitute(p.term(at_rate(r)), {p.term(r): rate})


# ---------------------------------------------------------------------- equal rates together

g, h = index("j", size), index("h", size)


def factor_at(x: Any) -> Any:
    """The sum of the factors of those with the rate x."""
    return total(times(delta(rate[h], x), v[h]), h)


def number_at(x: Any) -> Any:
    return total(delta(rate[h], x), h)


def evened(x: Any) -> Any:
    """What each of those with the rate x has, if they share the sum of their factors."""
    return times(factor_at(x), power(number_at(x), -1))


def _counted_once(p: Prover) -> Theorem:
    """For all s: 0 < number of those with the rate of s."""
    here = times(power(1 - delta(g, s), 2), power(delta(rate[g], rate[s]), 2))
    squares = p.order(
        at_most(0, here), (1, p.square(1 - delta(g, s)), p.square(delta(rate[g], rate[s])))
    )  # fmt: skip
    found = p.order(less(0, number_at(rate[s])), (1, p.sum_order(squares, g)))
    return p.for_all(found, s)


def evened_law(p: Prover, counted: Theorem) -> Theorem:
    """For all f: if f_g = f_s for equal rates, then sum evened_s f_s = sum v_s f_s."""
    alike = equal(times(delta(rate[g], rate[s]), f[s]), times(delta(rate[g], rate[s]), f[g]))
    with p.supposing(forall([g, s], alike)) as case:
        share_of = lambda x: power(number_at(x), -1)  # noqa: E731
        swap = p.at(swapped(p, share_of), rate[s], rate[g])
        same = delta(rate[g], rate[s])
        each = p.equal(
            times(same, v[g], share_of(rate[s]), f[s]), times(same, v[g], share_of(rate[g]), f[g]),
            (times(v[g], share_of(rate[s])), p.at(case, g, s)), (times(v[g], f[g]), swap),
            show=False,
        )  # fmt: skip
        whole_sum = p.sum_equal(each, s, g)
        once = p.equal(
            times(number_at(rate[s]), share_of(rate[s]), v[s], f[s]), times(v[s], f[s]),
            (times(v[s], f[s]), p.cancel(number_at(rate[s]), p.at(counted, s))), show=False,
        )  # fmt: skip
        found = p.equal(
            total(times(evened(rate[s]), f[s]), s), total(times(v[s], f[s]), s),
            (1, whole_sum), (1, p.sum_equal(once, s)), show=False,
        )  # fmt: skip
    return p.for_all_tensors(p.discharge(found, case), f)


def rates_law(p: Prover, above_one: Theorem) -> Theorem:
    """For all w: if the terms sum to 0 at all moments, the rate of w is 0, or its factors sum to 0.

    For the tensors v and L; `above_one` proves 0 < n, for M = 1 + n.
    """
    with p.remembering(above_one):
        return _for_each_rate(p)


def _for_each_rate(p: Prover) -> Theorem:
    least, lowest, counted = least_rate_law(p), lowest_law(p), _counted_once(p)
    regrouped = evened_law(p, counted)
    goal = p.formula(either(equal(rate[s], 0), equal(factor_at(rate[s]), 0)))
    with p.supposing(SILENT) as silent:
        even = p.at(regrouped, p.lam(at_rate(rate[s]), s))
        even = p.mp(even, p.for_all(p.at(swapped(p, at_rate), rate[s], rate[g]), g, s))
        even = p.for_all(p.linked(even, p.at(silent, moment)), moment)
        marks, heights = (
            p.lam(_at_place(p, e, at_m), at_m)
            for e in (times(evened(rate[s]), rate[s]), power(rate[s], 2))
        )
        found = p.at(lowest, marks, heights, size)

        def none(every: Theorem) -> Theorem:
            within = p.order(less(s, size))
            return _unmarked(p, goal, p.mp(p.at(every, s), within), counted)

        def some(lowest_one: Theorem) -> Theorem:
            wrong = _lowest_vanishes(p, lowest_one, least, even, counted)
            return infer("contradiction", [wrong, p.part(lowest_one, 1)], goal)

        found = p.cases(found, none, lambda some_of: p.choose(some_of, at_j, some))
    return p.discharge(p.for_all(found, s), silent)


def _unmarked(p: Prover, goal: Term, zero: Theorem, counted: Theorem) -> Theorem:
    """The rate is 0, or the sum of its factors, where the product of their shares with it is."""

    def moving(nonzero: Theorem) -> Theorem:
        r = rate[s]
        even = p.equal(
            evened(r), 0, (power(r, -1), zero), (times(-1, evened(r)), p.cancel(r, nonzero)),
            show=False,
        )  # fmt: skip
        number = number_at(r)
        none = p.equal(
            factor_at(r), 0, (number, even),
            (times(-1, factor_at(r)), p.cancel(number, p.at(counted, s))), show=False,
        )  # fmt: skip
        return infer("disjunct", [none], goal, 1)

    still = goal.children[0]
    return p.cases(
        infer("excluded-middle", [], still),
        lambda zero: infer("disjunct", [zero], goal, 0), moving,
    )  # fmt: skip


def _at_place(p: Prover, e: Any, place: Any) -> Term:
    """What `e` says of s, for a natural number in place of the index."""
    return T.substitute(p.term(e), {p.term(s): p.term(place)})


def _lowest_vanishes(
    p: Prover, lowest_one: Theorem, least: Theorem, even: Theorem, counted: Theorem
) -> Theorem:
    """Of the lowest marked rate, the mark is 0."""
    within, nonzero, no_lower = (p.part(lowest_one, n) for n in range(3))
    p.fact(p.next_integer(within))  # so that it is an index
    mark = nonzero.conclusion.children[0].children[0]
    own, shared = _at_place(p, rate[s], at_j), _at_place(p, evened(rate[s]), at_j)
    moves = _factors_apart(p, nonzero, shared, own)

    def towards(sign: int) -> Callable[[Theorem], Theorem]:
        def found(case: Theorem) -> Theorem:
            law = p.at(least, p.lam(evened(rate[s]), s), p.lam(times(sign, rate[s]), s), at_j)
            first, second, third = law.conclusion.children[0].children
            positive = p.order(first, (1, case)) if sign == 1 else _negative(p, first, case, moves)
            counts = _no_lower(p, second, no_lower)
            at_sign = p.at(even, times(sign, moment))
            at_t = T.instantiate(third.children[0], (p.term(moment),))
            # t (-l) and (-t) l: the sums are the same, one by one
            turned_time = p.equal(
                T.mul(p.term(moment), p.term(times(sign, rate[s]))),
                T.mul(p.term(times(sign, moment)), p.term(rate[s])), show=False,
            )  # fmt: skip
            same = p.replace(at_t.children[0], p.for_all(turned_time, s))
            silent = p.for_all(p.linked(same, at_sign), moment)
            gone = p.mp(law, p.both(positive, counts, silent))
            return _mark_zero(p, mark, own, shared, gone, counted)

        return found

    return p.cases(p.dichotomy(own, 0), towards(-1), towards(1))


def _factors_apart(p: Prover, nonzero: Theorem, shared: Term, own: Term) -> Theorem:
    """not l = 0, from not a l = 0."""
    zero = T.eq(own, T.ZERO)
    with p.supposing(zero) as case:
        none = p.equal(nonzero.conclusion.children[0].children[0], 0, (shared, case), show=False)
        wrong = infer("contradiction", [none, nonzero], T.negate(zero))
    return infer("deny", [wrong], zero)


def _negative(p: Prover, goal: Term, case: Theorem, moves: Theorem) -> Theorem:
    """0 < -l, from l <= 0 and l not 0."""
    own = case.conclusion.children[0]

    def reached(above: Theorem) -> Theorem:
        both_ways = infer("antisymmetry", [case, above])
        return infer("contradiction", [both_ways, moves], goal)

    return p.cases(p.dichotomy(T.ZERO, own), reached, lambda below: p.order(goal, (1, below)))


def _no_lower(p: Prover, goal: Term, no_lower: Theorem) -> Theorem:
    """For all s: it shares nothing, or stays, or is no lower than the lowest that is marked."""
    wanted = T.instantiate(goal.children[1], (p.term(s),))
    e, r = p.term(evened(rate[s])), p.term(rate[s])

    def unmarked(zero: Theorem) -> Theorem:
        def moving(nonzero: Theorem) -> Theorem:
            none = p.equal(e, 0, (T.inv(r), zero), (T.neg(e), p.cancel(r, nonzero)), show=False)
            return infer("disjunct", [none], wanted, 0)

        def still(stays: Theorem) -> Theorem:
            side = wanted.children[1].children[0]
            return infer("disjunct", [p.equal(side, 0, stays, show=False)], wanted, 1)

        return p.cases(infer("excluded-middle", [], T.eq(r, T.ZERO)), still, moving)

    found = p.cases(
        p.mp(p.at(no_lower, s), p.order(less(s, size))), unmarked,
        lambda above: infer("disjunct", [p.order(wanted.children[2], (1, above))], wanted, 2),
    )  # fmt: skip
    return p.for_all(found, s)


def _mark_zero(
    p: Prover, mark: Term, own: Term, shared: Term, gone: Theorem, counted: Theorem
) -> Theorem:
    """The mark is 0, since all that have its rate together share what it stands for."""
    law = p.at(swapped(p, evened), rate[s], own)
    place = p.term(at_j)
    number = _at_place(p, number_at(rate[s]), at_j)
    each = p.sum_equal(law, s)
    none = p.equal(T.mul(number, shared), 0, (1, gone), (-1, each), show=False)
    cancel = p.cancel(number, p.at(counted, place))
    zero = p.equal(shared, 0, (T.inv(number), none), (T.neg(shared), cancel), show=False)
    return p.equal(mark, 0, (own, zero), show=False)
