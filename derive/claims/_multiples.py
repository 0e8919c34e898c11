r"""Whole multiples of real numbers that are near whole numbers (Dirichlet), without pigeonholes.

One number: if j y is within 1/(N + 1) of a whole number, but not within 1/(N + 2), then some
multiple of j is: of the distance z to the whole number, the nearest whole number to 1/z makes a
multiple that is within |z|/2 of 1.  How large j has to be does not depend on y.  Several numbers
at once: if k does for the first ones, to within e/M, then one of k, 2 k, ..., M k does for the next
one, too, and for the others to within e.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy as sp

from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.kernel.terms import Term
from derive.language import (
    at_most,
    both,
    exists,
    forall,
    implies,
    integer,
    less,
    minus,
    natural,
    plus,
    power,
    real,
    sequence,
    times,
)
from derive.prover import Prover

N, M, j, k, q, R, i = (natural(name) for name in ("N", "M", "j", "k", "q", "R", "i"))
whole, other = integer("a"), integer("b")
y, z, e = real("y"), real("z"), real("e")
w = sequence("w")
half = sp.Rational(1, 2)


def near(gap: Any, bound: Any) -> Any:
    return both(at_most(times(-1, bound), gap), at_most(gap, bound))


def limit(n: Any) -> Any:
    return power(plus(n, 1), -1)


#: There is a multiple near a whole number, and a bound of the factor that holds for all y.
SINGLE = exists(M, forall(y, exists(j, exists(whole, both(
    at_most(1, j), at_most(j, M), near(minus(times(j, y), whole), limit(N))
)))))  # fmt: skip
#: So it is for R numbers at once.
ALL = forall(e, implies(less(0, e), exists(k, both(
    at_most(1, k),
    forall(i, implies(less(i, R), exists(whole, near(minus(times(k, w[i]), whole), e)))),
))))  # fmt: skip


def shown(p: Prover, goal: Term, values: tuple[Any, ...], prove: Callable[[Term], Theorem]
          ) -> Theorem:  # fmt: skip
    """There are such, namely these; `prove` shows what is said of them."""
    if not values:
        return prove(goal)
    value = p.term(values[0])
    theorem = shown(p, T.instantiate(goal.children[-1], (value,)), values[1:], prove)
    return p.exists(goal, value, theorem, *p.facts())


def by_induction(p: Prover, claim: Any, variable: Any, start: Callable[[Term], Theorem],
                 step: Callable[[Term, Theorem], Theorem]) -> Theorem:  # fmt: skip
    x, formula = p.term(variable), p.formula(claim)
    base = start(T.substitute(formula, {x: T.ZERO}))
    with p.supposing(formula) as case:
        following = step(T.substitute(formula, {x: T.add(x, T.ONE)}), case)
    return p.induction(base, p.discharge(following, case), variable)


def single_law(p: Prover) -> Theorem:
    """`SINGLE` for all N."""
    law = nearest_law(p)

    def for_each(goal: Term, bound: Any, prove: Callable[[Term], Theorem]) -> Theorem:
        return shown(p, goal, (bound,), lambda every: p.for_all(
            prove(T.instantiate(every.children[-1], (p.term(y),))), y
        ))  # fmt: skip

    def start(goal: Term) -> Theorem:
        low, high = p.axiom("floor-lower", y), p.axiom("floor-upper", y)

        def first(all_of: Term) -> Theorem:
            least, most, gap = all_of.children
            below, above = gap.children
            return p.both(
                p.order(least), p.order(most),
                p.both(p.order(below, (1, low)), p.order(above, (1, high))),
            )  # fmt: skip

        return for_each(goal, 1, lambda some: shown(p, some, (1, sp.floor(y)), first))

    def step(goal: Term, known: Theorem) -> Theorem:
        def with_bound(every: Theorem) -> Theorem:
            return for_each(goal, times(M, plus(N, 3)), lambda some: p.choose(
                p.at(every, y), j, lambda inner: p.choose(
                    inner, whole, lambda found: _nearer(p, some, found, law)
                )
            ))  # fmt: skip

        return p.choose(known, M, with_bound)

    return by_induction(p, SINGLE, N, start, step)


def _nearer(p: Prover, goal: Term, found: Theorem, law: Theorem) -> Theorem:
    """A multiple of j that is within 1/(N + 2), from one that is within 1/(N + 1)."""
    least, most, (low, high) = p.part(found, 0), p.part(found, 1), _parts(p, p.part(found, 2))
    gap, closer = minus(times(j, y), whole), limit(plus(N, 1))

    def stays(below: Theorem, above: Theorem) -> Theorem:
        def same(all_of: Term) -> Theorem:
            first, last, (left, right) = _goals(all_of)
            return p.both(
                p.order(first, (1, least)), p.order(last, (plus(N, 3), most)),
                p.both(p.order(left, (1, below)), p.order(right, (1, above))),
            )  # fmt: skip

        return shown(p, goal, (j, whole), same)

    return p.cases(
        p.dichotomy(gap, closer),
        lambda above: p.cases(
            p.dichotomy(times(-1, closer), gap), lambda below: stays(below, above),
            lambda under: _multiplied(p, goal, -1, found, law, under, low),
        ),
        lambda over: _multiplied(p, goal, 1, found, law, over, high),
    )  # fmt: skip


def _parts(p: Prover, pair: Theorem) -> tuple[Theorem, Theorem]:
    return p.part(pair, 0), p.part(pair, 1)


def _goals(all_of: Term) -> tuple[Term, Term, tuple[Term, Term]]:
    first, last, gap = all_of.children
    left, right = gap.children
    return first, last, (left, right)


def _multiplied(
    p: Prover, goal: Term, sign: int, found: Theorem, law: Theorem, beyond: Theorem, within: Theorem
) -> Theorem:
    """The multiple q j, with the q that `law` gives for the distance z to the whole number."""
    least, most = p.part(found, 0), p.part(found, 1)
    law = p.at(law, times(sign, minus(times(j, y), whole)))
    left, right = law.conclusion.children[0].children
    known = p.mp(law, p.both(p.order(left, (1, beyond)), p.order(right, (1, within))))

    def multiple(case: Theorem) -> Theorem:
        several, top, (low, high) = p.part(case, 0), p.part(case, 1), _parts(p, p.part(case, 2))
        behind, ahead = (low, high) if sign == 1 else (high, low)

        def said(all_of: Term) -> Theorem:
            first, last, (left, right) = _goals(all_of)
            return p.both(
                p.order(first, (q, least), (1, several)), p.order(last, (q, most), (M, top)),
                p.both(p.order(left, (1, behind)), p.order(right, (1, ahead))),
            )  # fmt: skip

        return shown(p, goal, (times(q, j), plus(times(q, whole), sign)), said)

    return p.choose(known, q, multiple)


def nearest_law(p: Prover) -> Theorem:
    """For all z: 1/(N + 2) < z <= 1/(N + 1) -> some q z is within 1/(N + 2) of 1, 1 <= q <= N + 3.

    It is the whole number that is nearest to 1/z, so that q z is within z/2.
    """
    reach, closer, turn = limit(N), limit(plus(N, 1)), power(z, -1)
    claim = p.formula(exists(q, both(
        at_most(1, q), at_most(q, plus(N, 3)), near(minus(times(q, z), 1), closer)
    )))  # fmt: skip
    with p.supposing(both(less(closer, z), at_most(z, reach))) as case:
        beyond, within = _parts(p, case)
        positive = p.order(less(0, z), (1, beyond))
        with p.remembering(positive):
            once = p.cancel(z)
            nearest = sp.floor(plus(turn, half))
            low = p.axiom("floor-lower", plus(turn, half))
            high = p.axiom("floor-upper", plus(turn, half))
            at_reach, at_closer = p.cancel(plus(N, 1)), p.cancel(plus(N, 2))
            unit = p.order(at_most(reach, 1), (times(N, reach),), (-1, at_reach))
            wide = p.order(at_most(1, turn), (turn, within), (turn, unit), (1, once))
            some = p.fact(p.order(less(0, nearest), (1, high), (1, wide)))
            several = p.order(at_most(1, nearest), (1, p.next_integer(some)))
            narrow = p.order(
                less(turn, plus(N, 2)), (times(turn, plus(N, 2)), beyond),
                (times(-1, plus(N, 2)), once), (turn, at_closer),
            )  # fmt: skip
            finer = p.order(
                at_most(times(half, reach), closer), (times(half, N, reach, closer),),
                (times(-1, closer), at_reach), (times(half, reach), at_closer),
            )  # fmt: skip
            bounds = ((half, within), (1, finer))

            def said(all_of: Term) -> Theorem:
                first, last, (left, right) = _goals(all_of)
                return p.both(
                    p.order(first, (1, several)), p.order(last, (1, low), (1, narrow)),
                    p.both(
                        p.order(left, (z, high), (1, once), *bounds),
                        p.order(right, (z, low), (-1, once), *bounds),
                    ),
                )  # fmt: skip

            found = shown(p, claim, (nearest,), said)
    return p.for_all(p.discharge(found, case), z)


def several_law(p: Prover, single: Theorem) -> Theorem:
    """`ALL` for all R."""

    def start(goal: Term) -> Theorem:
        def with_bound(_positive: Theorem) -> Theorem:
            return shown(p, _opened(p, goal, e).children[1], (1,), one)

        def one(all_of: Term) -> Theorem:
            least, every = all_of.children
            with p.supposing(less(i, 0)) as none:
                wrong = p.order(T.lt(T.ZERO, T.ZERO), (1, none))
                nothing = p.trivial(T.negate(wrong.conclusion))
                rest = infer("contradiction", [wrong, nothing], _opened(p, every, i).children[1])
            return p.both(p.order(least), p.for_all(p.discharge(rest, none), i))

        return _for_positive(p, with_bound)

    def step(goal: Term, known: Theorem) -> Theorem:
        def with_bound(positive: Theorem) -> Theorem:
            some = _opened(p, goal, e).children[1]
            n = sp.floor(power(e, -1))
            p.fact(p.order(less(0, power(e, -1))))
            fine = p.at(single, n)
            return p.choose(fine, M, lambda every: refined(some, every, positive, n))

        def refined(some: Term, every: Theorem, positive: Theorem, n: Any) -> Theorem:
            share = times(e, power(plus(M, 1), -1))
            before = p.mp(
                p.at(known, share), p.order(less(0, share), (power(plus(M, 1), -1), positive))
            )
            return p.choose(before, k, lambda earlier: p.choose(
                p.at(every, times(k, w[R])), j, lambda inner: p.choose(
                    inner, whole, lambda found: shown(
                        p, some, (times(j, k),), lambda all_of: _again(p, all_of, earlier, found, n)
                    )
                )
            ))  # fmt: skip

        return _for_positive(p, with_bound)

    return by_induction(p, ALL, R, start, step)


def _for_positive(p: Prover, then: Callable[[Theorem], Theorem]) -> Theorem:
    with p.supposing(less(0, e)) as positive:
        found = then(positive)
    return p.for_all(p.discharge(found, positive), e)


def _opened(p: Prover, goal: Term, variable: Any) -> Term:
    return T.instantiate(goal.children[-1], (p.term(variable),))


def _again(p: Prover, goal: Term, earlier: Theorem, found: Theorem, n: Any) -> Theorem:
    """What is said of j k for R + 1 numbers, from k for R of them and j for k times the next."""
    (least_k, before), (least_j, most) = _parts(p, earlier), (p.part(found, 0), p.part(found, 1))
    first, every = goal.children
    premise, some = _opened(p, every, i).children
    at_next = T.substitute(some, {p.term(i): p.term(R)})
    last = shown(p, at_next, (whole,), lambda both_of: _within(p, both_of, p.part(found, 2), n))

    def is_last(reached: Theorem, upto: Theorem) -> Theorem:
        same = infer("antisymmetry", [reached, upto])
        return p.rewrite(same, last, lambda x: T.substitute(some, {p.term(i): x}))

    def is_before(below: Theorem) -> Theorem:
        of_k = p.mp(p.at(before, i), below)
        return p.choose(of_k, other, lambda close: shown(
            p, some, (times(j, other),), lambda both_of: _stretched(p, both_of, close, most)
        ))  # fmt: skip

    with p.supposing(premise) as within:
        upto = p.order(at_most(i, R), (1, p.next_integer(within)))
        each = p.cases(p.dichotomy(R, i), lambda reached: is_last(reached, upto), is_before)
    return p.both(
        p.order(first, (k, least_j), (1, least_k)), p.for_all(p.discharge(each, within), i)
    )


def _within(p: Prover, goal: Term, close: Theorem, n: Any) -> Theorem:
    """Within e, from within 1/(n + 1), where n is the whole part of 1/e."""
    low, high = _parts(p, close)
    share = limit(n)
    more = p.axiom("floor-upper", power(e, -1))
    finer = p.order(
        at_most(share, e), (times(e, share), more), (times(-1, e), p.cancel(plus(n, 1))),
        (share, p.cancel(e)),
    )  # fmt: skip
    left, right = goal.children
    return p.both(p.order(left, (1, low), (1, finer)), p.order(right, (1, high), (1, finer)))


def _stretched(p: Prover, goal: Term, close: Theorem, most: Theorem) -> Theorem:
    """j times as far, for j <= M, is within e, from within e/(M + 1)."""
    low, high = _parts(p, close)
    share = times(e, power(plus(M, 1), -1))
    room = ((share, most), (times(-1, e), p.cancel(plus(M, 1))))
    left, right = goal.children
    return p.both(p.order(left, (j, low), *room), p.order(right, (j, high), *room))
