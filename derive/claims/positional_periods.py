"""Sinusoidal position encoding: at which widths real positions can share an encoding.

A common period of all pairs would make the second frequency rational.  It is the r-th root of
1/10000 for r pairs, and that is rational for 1, 2 and 4 pairs only: for other numbers of pairs
``M^r = 10000 K^r`` has no solution, since M and K could be halved again and again.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import sympy as sp

from derive.claim import Claim, Example, Mutation
from derive.claims._positions import ENCODING, cos, d, other, pos, r, sin, source
from derive.claims.positional_uniqueness import (
    agree_in_first_pair,
    collide,
    first_frequency,
    injective,
)
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.kernel.terms import Term
from derive.language import (
    at_most,
    both,
    equal,
    implies,
    integer,
    minus,
    negation,
    over,
    plus,
    power,
    times,
)
from derive.prover import Prover
from derive.result import Verdict
from derive.twin import Trial, Twin, differs
from derive.twin import equal as agree

ORDER = 32
TOPIC = "positional-encoding"

FALSE = T.eq(T.ONE, T.ZERO)
PAIRS = T.var("r", "dim")
TWO, HALF = T.num(2), T.num(Fraction(1, 2))


# ---------------------------------------------------------------------- powers of integers


def root_power(x: Term, exponent: Term = PAIRS) -> Term:
    """x^l for a positive x, as the kernel knows it for symbolic exponents."""
    return T.fn("exp", T.mul(exponent, T.fn("log", x)))


def is_false(p: Prover, wrong: Theorem) -> Theorem:
    """1 = 0, from a formula that evaluation denies."""
    right = p.trivial(T.negate(wrong.conclusion))
    return infer("contradiction", [wrong, right], FALSE)


def whole_powers(p: Prover) -> Theorem:
    """For all x >= 1 and l >= 0: x^l is an integer."""
    x, l = T.var("x", "dim"), T.var("l", "nat")
    base = infer("integer", [], root_power(x, T.ZERO))
    with p.supposing(T.isint(root_power(x, l))) as case:
        following = infer("integer", [case], root_power(x, T.add(l, T.ONE)))
    step = p.discharge(following, case)
    return p.for_all(p.induction(base, step, l), x)


def odd(x: Term) -> Term:
    """There is an integer b with x = 2 b + 1."""
    return T.exists(T.var("b", "int"), T.eq(x, T.add(T.mul(TWO, T.var("b", "int")), T.ONE)))


def odd_powers(p: Prover) -> Theorem:
    """For all a, l >= 0: (2 a + 1)^l is odd."""
    a, l, b = T.var("a", "nat"), T.var("l", "nat"), T.var("b", "int")
    number = T.add(T.mul(TWO, a), T.ONE)
    start = odd(root_power(number, T.ZERO))
    base = p.exists(start, T.ZERO, p.equal(*T.instantiate(start.children[0], (T.ZERO,)).children,
                                           show=False))  # fmt: skip
    goal = odd(root_power(number, T.add(l, T.ONE)))

    def multiplied(case: Theorem) -> Theorem:
        value = T.add(T.mul(TWO, a, b), a, b)
        wanted = T.instantiate(goal.children[0], (value,))
        found = p.equal(*wanted.children, (number, case), show=False)
        return p.exists(goal, value, found)

    with p.supposing(odd(root_power(number, l))) as case:
        following = p.choose(case, b, multiplied)
    step = p.discharge(following, case)
    return p.for_all(p.induction(base, step, l), a)


def not_both(p: Prover, equation: Theorem, half: Term, rest: Term) -> Theorem:
    """False, from 2 rest + 1 = 2 half for integers."""
    gap = T.sub(half, rest)
    same = p.equal(gap, HALF, (T.num(Fraction(-1, 2)), equation), show=False)
    try:
        whole = infer("integer", [], gap)
    except T.KernelError:
        whole = infer("integer", p.facts(), gap)
    return is_false(p, p.rewrite(same, whole, T.isint))


def by_parity(
    p: Prover, x: Term, even: Callable[[Term, Theorem, Theorem], Theorem],
    uneven: Callable[[Term, Theorem], Theorem],
) -> Theorem:  # fmt: skip
    """False, from either parity of x: `even` takes a, x = 2 a and 1 <= a; `uneven` a, x = 2 a + 1.

    Here a is x / 2, rounded down.
    """
    share = T.div(x, TWO)
    a = T.fn("floor", share)
    low, high = p.axiom("floor-lower", share), p.axiom("floor-upper", share)
    twice = T.mul(TWO, a)
    below = p.order(T.le(twice, x), (2, low))

    def is_even(reached: Theorem) -> Theorem:
        same = infer("antisymmetry", [reached, below])
        some = p.order(T.lt(T.ZERO, a), (HALF, p.order(T.le(T.ONE, x))), (HALF, reached))
        at_least = p.order(T.le(T.ONE, a), (1, p.next_integer(some)))
        return even(a, same, at_least)

    def is_odd(above: Theorem) -> Theorem:
        upper = p.order(T.lt(x, T.add(twice, TWO)), (2, high))
        top = p.order(T.le(x, T.add(twice, T.ONE)), (1, p.next_integer(upper)))
        bottom = p.order(T.le(T.add(twice, T.ONE), x), (1, p.next_integer(above)))
        return uneven(a, infer("antisymmetry", [top, bottom]))

    return p.cases(p.dichotomy(x, twice), is_even, is_odd)


def denial(p: Prover, statement: Term, absurd: Callable[[Theorem], Theorem]) -> Theorem:
    """Not the statement, since 1 = 0 follows from it."""
    with p.supposing(statement) as case:
        nothing = absurd(case)
        refuted = infer("contradiction", [nothing, p.trivial(T.negate(FALSE))], T.negate(statement))
    return infer("deny", [refuted], statement)


def against(p: Prover, equation: Theorem, never: Theorem) -> Theorem:
    return infer("contradiction", [equation, never], FALSE)


def descend(
    p: Prover, holds: Callable[[Term, Term], Term],
    smaller: Callable[[Term, Term, Theorem, Theorem], Theorem],
) -> Theorem:  # fmt: skip
    """For all x, y >= 1: not ``holds(x, y)``, if halves of both would do as well.

    ``smaller(x, y, equation, none)`` ends in 1 = 0; `none` says that there are no such numbers
    with a first one of at most l, where x is at most l + 1.
    """
    x, y, l = T.var("x", "dim"), T.var("y", "dim"), T.var("l", "nat")

    def none_up_to(bound: Term) -> Term:
        premise = T.conj(T.le(x, bound), holds(x, y))
        return T.forall(x, T.forall(y, T.implies(premise, FALSE)))

    with p.supposing(T.conj(T.le(x, T.ZERO), holds(x, y))) as case:
        wrong = p.order(T.le(T.ONE, T.ZERO), (1, p.order(T.le(T.ONE, x))), (1, p.part(case, 0)))
        nothing = is_false(p, wrong)
    base = p.for_all(p.discharge(nothing, case), x, y)
    with p.supposing(none_up_to(l)) as none:
        with p.supposing(T.conj(T.le(x, T.add(l, T.ONE)), holds(x, y))) as case:
            ended = smaller(x, y, p.part(case, 1), p.both(none, p.part(case, 0)))
        following = p.for_all(p.discharge(ended, case), x, y)
    step = p.discharge(following, none)
    instance = p.at(p.at(p.induction(base, step, l), x), x, y)

    def impossible(case: Theorem) -> Theorem:
        return p.mp(instance, p.both(p.trivial(T.le(x, x)), case))

    return p.for_all(denial(p, holds(x, y), impossible), x, y)


def at_halves(p: Prover, none: Theorem, a: Term, c: Term, same: Theorem, sizes: list[Theorem],
              equation: Theorem) -> Theorem:  # fmt: skip
    """False, from the equation at the halves a and c, where x = 2 a is at most l + 1."""
    limit = p.part(none, 1)
    l = limit.conclusion.children[1].children[0]
    shorter = p.order(T.le(a, l), (1, limit), (1, same), (1, sizes[0]))
    return p.mp(p.at(p.part(none, 0), a, c, facts=sizes), p.both(shorter, equation))


# ---------------------------------------------------------------------- three pairs


def three_pairs(p: Prover) -> Theorem:
    """No x, y >= 1 with x^3 = 1250 y^3."""

    def holds(x: Term, y: Term) -> Term:
        return T.eq(T.power(x, 3), T.mul(T.num(1250), T.power(y, 3)))

    def cube_rest(a: Term) -> Term:
        """(2 a + 1)^3 = 2 * this + 1."""
        terms = T.mul(T.num(4), T.power(a, 3)), T.mul(T.num(6), T.power(a, 2)), T.mul(T.num(3), a)
        return T.add(*terms)

    def odd_cube(p: Prover, a: Term, x: Term, same: Theorem) -> Theorem:
        """x^3 = 2 (4 a^3 + 6 a^2 + 3 a) + 1, from x = 2 a + 1."""
        number = T.add(T.mul(TWO, a), T.ONE)
        cofactor = T.add(T.power(x, 2), T.mul(x, number), T.power(number, 2))
        right = T.add(T.mul(TWO, cube_rest(a)), T.ONE)
        return p.equal(T.power(x, 3), right, (cofactor, same), show=False)

    def even_cube(p: Prover, a: Term, x: Term, same: Theorem) -> Theorem:
        cofactor = T.add(T.power(x, 2), T.mul(x, TWO, a), T.power(T.mul(TWO, a), 2))
        right = T.mul(T.num(8), T.power(a, 3))
        return p.equal(T.power(x, 3), right, (cofactor, same), show=False)

    def smaller(x: Term, y: Term, equation: Theorem, none: Theorem) -> Theorem:
        def even(a: Term, same: Theorem, size: Theorem) -> Theorem:
            cube = even_cube(p, a, x, same)

            def even_too(c: Term, other: Theorem, second: Theorem) -> Theorem:
                halves = p.equal(
                    *holds(a, c).children,
                    (T.num(Fraction(-1, 8)), cube),
                    (T.num(Fraction(1, 8)), equation),
                    (T.num(Fraction(1250, 8)), even_cube(p, c, y, other)),
                    show=False,
                )
                return at_halves(p, none, a, c, same, [size, second], halves)

            def odd_other(c: Term, other: Theorem) -> Theorem:
                rest = T.add(T.mul(T.num(625), cube_rest(c)), T.num(312))
                half = T.mul(TWO, T.power(a, 3))
                wrong = p.equal(
                    T.add(T.mul(TWO, rest), T.ONE),
                    T.mul(TWO, half),
                    (-625, odd_cube(p, c, y, other)),
                    (HALF, cube),
                    (T.num(Fraction(-1, 2)), equation),
                    show=False,
                )
                return not_both(p, wrong, half, rest)

            return by_parity(p, y, even_too, odd_other)

        def uneven(a: Term, same: Theorem) -> Theorem:
            half = T.mul(T.num(625), T.power(y, 3))
            wrong = p.equal(
                T.add(T.mul(TWO, cube_rest(a)), T.ONE),
                T.mul(TWO, half),
                (-1, odd_cube(p, a, x, same)),
                (1, equation),
                show=False,
            )
            return not_both(p, wrong, half, cube_rest(a))

        return by_parity(p, x, even, uneven)

    return descend(p, holds, smaller)


def three_pairs_start(p: Prover, m: Term, k: Term, equation: Theorem) -> Theorem:
    """False, from M^3 = 10000 K^3: M is even, and half of it solves the equation above."""
    none = three_pairs(p)

    def even(a: Term, same: Theorem, size: Theorem) -> Theorem:
        cofactor = T.add(T.power(m, 2), T.mul(m, TWO, a), T.power(T.mul(TWO, a), 2))
        halves = p.equal(
            T.power(a, 3),
            T.mul(T.num(1250), T.power(k, 3)),
            (T.mul(T.num(Fraction(-1, 8)), cofactor), same),
            (T.num(Fraction(1, 8)), equation),
            show=False,
        )
        return against(p, halves, p.at(none, a, k, facts=[size]))

    def uneven(a: Term, same: Theorem) -> Theorem:
        number = T.add(T.mul(TWO, a), T.ONE)
        cofactor = T.add(T.power(m, 2), T.mul(m, number), T.power(number, 2))
        rest = T.add(
            T.mul(T.num(4), T.power(a, 3)), T.mul(T.num(6), T.power(a, 2)), T.mul(T.num(3), a)
        )
        half = T.mul(T.num(5000), T.power(k, 3))
        wrong = p.equal(
            T.add(T.mul(TWO, rest), T.ONE),
            T.mul(TWO, half),
            (T.neg(cofactor), same),
            (1, equation),
            show=False,
        )
        return not_both(p, wrong, half, rest)

    return by_parity(p, m, even, uneven)


# ---------------------------------------------------------------------- five pairs or more


def solves(x: Term, y: Term) -> Term:
    """x^r = 10000 y^r."""
    return T.eq(root_power(x), T.mul(T.num(10000), root_power(y)))


def doubled(p: Prover, a: Term, size: Theorem) -> Theorem:
    """(2 a)^r = 2^r a^r."""
    positive = p.order(T.lt(T.ZERO, a), (1, size))
    split = p.mp(p.axiom("log-product", TWO, a), p.both(p.trivial(T.lt(T.ZERO, TWO)), positive))
    left = root_power(T.mul(TWO, a))
    unchanged = p.equal(left, left, show=False)
    spread = p.rewrite(
        split, unchanged, lambda x: T.eq(left, T.fn("exp", T.mul(PAIRS, x)))
    )  # fmt: skip
    return p.equal(left, T.mul(root_power(TWO), root_power(a)), (1, spread), show=False)


def many_pairs(p: Prover, five: Theorem) -> Theorem:
    """No x, y >= 1 with x^r = 10000 y^r, if r is at least 5."""
    whole = p.note(whole_powers(p), "powers of whole numbers are whole numbers, by induction")
    odds = p.note(odd_powers(p), "powers of odd numbers are odd, by induction")
    room = p.order(T.le(T.ZERO, T.sub(PAIRS, T.num(5))), (1, five))
    u, v, t = (T.var(name, "int") for name in "uvt")
    two = p.at(p.at(whole, TWO), T.sub(PAIRS, T.num(5)), facts=[room])

    def named(integer_fact: Theorem, name: Term, use: Callable[[Theorem], Theorem]) -> Theorem:
        """Call an integer by a name."""
        value = integer_fact.conclusion.children[0]
        goal = T.exists(name, T.eq(value, name))
        some = p.exists(goal, value, p.equal(value, value, show=False), integer_fact)
        return p.choose(some, name, use)

    def power_of(x: Term, size: list[Theorem]) -> Theorem:
        return p.at(p.at(whole, x, facts=size), PAIRS)

    def smaller(x: Term, y: Term, equation: Theorem, none: Theorem) -> Theorem:
        def even(a: Term, same: Theorem, size: Theorem) -> Theorem:
            at_twice = p.rewrite(same, equation, lambda z: solves(z, y))
            twice = doubled(p, a, size)

            def even_too(c: Term, other: Theorem, second: Theorem) -> Theorem:
                both_twice = p.rewrite(
                    other, at_twice, lambda z: solves(T.mul(TWO, a), z)
                )  # fmt: skip
                shrink = T.inv(root_power(TWO))
                halves = p.equal(
                    *solves(a, c).children,
                    (T.neg(shrink), twice),
                    (shrink, both_twice),
                    (T.mul(T.num(10000), shrink), doubled(p, c, second)),
                    show=False,
                )
                return at_halves(p, none, a, c, same, [size, second], halves)

            def odd_other(c: Term, other: Theorem) -> Theorem:
                at_odd = p.rewrite(other, at_twice, lambda z: solves(T.mul(TWO, a), z))
                b = T.var("b", "int")
                some = p.at(p.at(odds, c), PAIRS)

                def from_two(is_u: Theorem) -> Theorem:
                    def from_half(is_v: Theorem) -> Theorem:
                        def from_odd(is_odd: Theorem) -> Theorem:
                            rest = T.add(T.mul(T.num(625), b), T.num(312))
                            wrong = p.equal(
                                T.add(T.mul(TWO, rest), T.ONE),
                                T.mul(TWO, u, v),
                                (-625, is_odd),
                                (T.mul(TWO, u), is_v),
                                (T.mul(TWO, root_power(a)), is_u),
                                (T.num(Fraction(1, 16)), twice),
                                (T.num(Fraction(-1, 16)), at_odd),
                                show=False,
                            )
                            return not_both(p, wrong, T.mul(u, v), rest)

                        return p.choose(some, b, from_odd)

                    return named(power_of(a, [size]), v, from_half)

                return named(two, u, from_two)

            return by_parity(p, y, even_too, odd_other)

        def uneven(a: Term, same: Theorem) -> Theorem:
            at_odd = p.rewrite(same, equation, lambda z: solves(z, y))
            b = T.var("b", "int")
            some = p.at(p.at(odds, a), PAIRS)

            def from_odd(is_odd: Theorem) -> Theorem:
                def from_other(is_t: Theorem) -> Theorem:
                    half = T.mul(T.num(5000), t)
                    wrong = p.equal(
                        T.add(T.mul(TWO, b), T.ONE),
                        T.mul(TWO, half),
                        (-1, is_odd),
                        (1, at_odd),
                        (10000, is_t),
                        show=False,
                    )
                    return not_both(p, wrong, half, b)

                return named(power_of(y, []), t, from_other)

            return p.choose(some, b, from_odd)

        return by_parity(p, x, even, uneven)

    return descend(p, solves, smaller)


# ---------------------------------------------------------------------- the claim

p_minus_q = minus(pos, other)
#: Only a proof knows that there is a second pair.
omega_1 = sp.Function("omega")(1)
turns, more = integer("m"), integer("k")
OTHERWISE = both(negation(equal(r, 1)), negation(equal(r, 2)), negation(equal(r, 4)))


def at_least_two(p: Prover, not_one: Theorem) -> Theorem:
    goal = p.formula(at_most(2, r))

    def one(reached: Theorem) -> Theorem:
        same = infer("antisymmetry", [reached, p.order(at_most(1, r))])
        return infer("contradiction", [same, not_one], goal)

    def two(above: Theorem) -> Theorem:
        return p.order(goal, (1, p.next_integer(above)))

    found = p.cases(p.dichotomy(r, 1), one, two)
    return p.note(found, "there is a second pair")


def whole_turns(p: Prover, gap: Any, sines: Theorem, cosines: Theorem, x: Any, y: Any) -> Theorem:
    """There is an integer k with x - y = 2 pi k, from equal sines and equal cosines."""
    one = p.calc(
        cos(gap),
        (
            plus(times(cos(x), cos(y)), times(sin(x), sin(y))),
            "addition formula of the cosine",
            p.axiom("cos-add", x, times(-1, y)),
        ),
        (
            plus(power(cos(y), 2), power(sin(y), 2)),
            "the sines agree, and so do the cosines",
            (cos(y), cosines),
            (sin(y), sines),
        ),
        (1, r"$\sin^2 + \cos^2 = 1$", p.axiom("pythagoras", y)),
    )
    return p.note(p.mp(p.axiom("cos-one", gap), one), "the cosine is 1 at whole turns only")


def in_second_pair(p: Prover, same: Theorem, two: Theorem) -> Theorem:
    """The angles of the second pair differ by whole turns as well."""
    equal_parts = []
    for component, f, hypothesis in ((2, sin, p.hyp(2)), (3, cos, p.hyp(3))):
        here, there = (p.at(hypothesis, x, 1, facts=[two]) for x in (pos, other))
        room = p.order(at_most(component + 1, d), (1, p.hyp(0)), (2, two))
        agreeing = p.at(same, component, facts=[room])
        equal_parts.append(
            p.equal(
                f(times(pos, omega_1)),
                f(times(other, omega_1)),
                (1, agreeing),
                (-1, here),
                (1, there),
                reason=f"component {component}",
            )
        )
    x, y = times(pos, omega_1), times(other, omega_1)
    sines, cosines = equal_parts
    return whole_turns(p, minus(x, y), sines, cosines, x, y)


def second_frequency(p: Prover, two: Theorem) -> Theorem:
    """omega_1 = 1 / 10000^(1/r)."""
    stated = p.at(p.hyp(1), 1, facts=[two])
    left, right = stated.conclusion.children
    exponent = right.children[1].children[0].children[1]
    shorter = p.equal(
        exponent, T.inv(PAIRS), (over(-1, times(d, r)), p.hyp(0)), show=False
    )  # fmt: skip
    named = p.rewrite(
        shorter,
        stated,
        lambda x: T.eq(left, T.mul(T.ONE, T.inv(T.fn("rpow", T.num(10000), x)))),
    )
    return p.note(named, r"definition, with $d_{\text{model}} = 2r$")


def to_powers(p: Prover, named: Theorem, m: Term, k: Term, quotient: Theorem) -> Theorem:
    """M^r = 10000 K^r, from omega_1 M = K."""
    w = named.conclusion.children[0]
    log_k = p.equal(T.fn("log", k), T.fn("log", k), show=False)
    spread = p.rewrite(
        p.equal(k, T.mul(w, m), (-1, quotient), show=False),
        log_k,
        lambda x: T.eq(T.fn("log", k), T.fn("log", x)),
    )
    positive = p.both(p.trivial(T.lt(T.ZERO, w)), p.trivial(T.lt(T.ZERO, m)))
    split = p.mp(p.axiom("log-product", w, m), positive)
    unchanged = p.equal(T.fn("log", w), T.fn("log", w), show=False)
    log_w = p.rewrite(named, unchanged, lambda x: T.eq(T.fn("log", w), T.fn("log", x)))
    ten = T.fn("log", T.num(10000))
    sums = p.equal(
        T.mul(PAIRS, T.fn("log", m)),
        T.add(T.mul(PAIRS, T.fn("log", k)), ten),
        (T.neg(PAIRS), spread),
        (T.neg(PAIRS), split),
        (T.neg(PAIRS), log_w),
        reason="logarithms of both sides, times $r$",
    )
    same = p.equal(root_power(m), root_power(m), show=False)
    grown = p.rewrite(sums, same, lambda x: T.eq(root_power(m), T.fn("exp", x)))
    return p.equal(*solves(m, k).children, (1, grown), reason="and exponentials of these")


NUMBERS = T.var("x", "dim"), T.var("y", "dim")


def irrational(p: Prover, premise: Theorem, two: Theorem) -> Theorem:
    """For all x, y >= 1: not omega_1 x = y."""
    x, y = NUMBERS
    named = second_frequency(p, two)
    w, value = named.conclusion.children
    p.fact(p.order(T.lt(T.ZERO, w), (1, named), (1, p.trivial(T.lt(T.ZERO, value)))))

    def absurd(quotient: Theorem) -> Theorem:
        p.note(quotient, "let it be a fraction $y/x$ of whole numbers")
        equation = to_powers(p, named, x, y, quotient)

        def few(limit: Theorem) -> Theorem:
            three = p.note(exactly_three(p, premise, two, limit), "the only case up to 4")
            cubes = p.rewrite(three, equation, lambda r: T.eq(
                T.fn("exp", T.mul(r, T.fn("log", x))),
                T.mul(T.num(10000), T.fn("exp", T.mul(r, T.fn("log", y)))),
            ))  # fmt: skip
            written = p.equal(
                T.power(x, 3),
                T.mul(T.num(10000), T.power(y, 3)),
                (1, cubes),
                reason="the third powers",
            )
            return against(p, written, halving_three(p))

        def many(above_four: Theorem) -> Theorem:
            why = "otherwise there are at least five pairs"
            five = p.order(at_most(5, r), (1, p.next_integer(above_four)), reason=why)
            never = p.note(
                p.at(many_pairs(p, five), x, y),
                "$x$ is even, since its power is; then so is $y$, with at least five factors 2 on "
                "the left and four in 10000; their halves solve the same equation, and so on "
                "without end",
            )
            return against(p, equation, never)

        return p.cases(p.dichotomy(r, 4), few, many)

    never = denial(p, T.eq(T.mul(w, x), y), absurd)
    return p.for_all(p.note(never, r"so that $\omega_1$ is irrational"), x, y)


def halving_three(p: Prover) -> Theorem:
    """Not x^3 = 10000 y^3."""
    x, y = NUMBERS
    cubes = T.eq(T.power(x, 3), T.mul(T.num(10000), T.power(y, 3)))
    return p.note(
        denial(p, cubes, lambda case: three_pairs_start(p, x, y, case)),
        r"$x$ is even, and its half solves $x^3 = 1250\,y^3$; there both are even again, and "
        "their halves solve the same equation, and so on without end",
    )


def exactly_three(p: Prover, premise: Theorem, two: Theorem, limit: Theorem) -> Theorem:
    """r = 3, from 2 <= r <= 4 and r not 2 or 4."""
    goal = p.formula(equal(r, 3))

    def is_two(low: Theorem) -> Theorem:
        same = infer("antisymmetry", [low, two])
        return infer("contradiction", [same, p.part(premise, 1)], goal)

    def above_two(high: Theorem) -> Theorem:
        three = p.order(at_most(3, r), (1, p.next_integer(high)))

        def is_four(reached: Theorem) -> Theorem:
            same = infer("antisymmetry", [limit, reached])
            return infer("contradiction", [same, p.part(premise, 2)], goal)

        def below_four(below: Theorem) -> Theorem:
            top = p.order(at_most(r, 3), (1, p.next_integer(below)))
            return infer("antisymmetry", [top, three])

        return p.cases(p.dichotomy(4, r), is_four, below_four)

    return p.cases(p.dichotomy(r, 2), is_two, above_two)


def prove_otherwise(p: Prover) -> Theorem:
    def with_premise(premise: Theorem) -> Theorem:
        def same_position(same: Theorem) -> Theorem:
            two = at_least_two(p, p.part(premise, 0))
            never = irrational(p, premise, two)
            unit = first_frequency(p)
            wide = p.order(at_most(2, d), (1, p.hyp(0)))
            sines = agree_in_first_pair(p, unit, p.at(same, 0), pos, other, "sin")
            cosines = agree_in_first_pair(p, unit, p.at(same, 1, facts=[wide]), pos, other, "cos")
            first = whole_turns(p, p_minus_q, sines, cosines, pos, other)
            second = in_second_pair(p, same, two)
            return p.choose(
                first,
                turns,
                lambda one: p.choose(
                    second, more, lambda other_turns: from_turns(p, never, one, other_turns)
                ),
            )

        return p.suppose(collide(pos, other), same_position, "let two positions share an encoding")

    return p.suppose(OTHERWISE, with_premise, "let there be another number of pairs")


def from_turns(p: Prover, never: Theorem, first: Theorem, second: Theorem) -> Theorem:
    """p = q, from p - q = 2 pi m and omega_1 (p - q) = 2 pi k, as omega_1 is irrational."""
    p.note(first, "let $m$ be the turns of the first pair")
    p.note(second, "and $k$ those of the second one")
    w, m, k, twice_pi = (p.term(e) for e in (omega_1, turns, more, 2 * sp.pi))
    quotient = p.equal(
        T.mul(w, m),
        k,
        (T.mul(T.num(-1), w, T.inv(twice_pi)), first),
        (T.inv(twice_pi), second),
        reason=r"$\omega_1 (p - q)$, written in two ways, without $2\pi$",
    )
    goal = p.formula(equal(pos, other))

    def absurd(x: Term, y: Term, above: Theorem, same: Theorem) -> Theorem:
        positive = p.order(T.lt(T.ZERO, y), (-1, same), (w, above))
        sizes = [
            p.order(T.le(T.ONE, e), (1, p.next_integer(t))) for e, t in ((x, above), (y, positive))
        ]
        nothing = against(p, same, p.at(never, x, y, facts=sizes))
        return infer("contradiction", [nothing, p.trivial(T.negate(FALSE))], goal)

    def forwards(above: Theorem) -> Theorem:
        p.note(above, r"if $m$ is positive, then so is $k$, and $\omega_1$ is a fraction")
        return absurd(m, k, above, quotient)

    def not_forwards(low: Theorem) -> Theorem:
        def none(back: Theorem) -> Theorem:
            zero = p.note(infer("antisymmetry", [low, back]), "if there are no turns")
            return p.equal(pos, other, (1, first), (twice_pi, zero), reason="it is one position")

        def backwards(below: Theorem) -> Theorem:
            above = p.order(
                T.lt(T.ZERO, T.neg(m)), (1, below), reason="and if $m$ is negative, take $-m$"
            )
            turned = p.equal(T.mul(w, T.neg(m)), T.neg(k), (-1, quotient), reason="and $-k$")
            return absurd(T.neg(m), T.neg(k), above, turned)

        return p.cases(p.dichotomy(0, turns), none, backwards)

    found = p.cases(p.dichotomy(turns, 0), not_forwards, forwards)
    return p.note(found, "which is all that is left")


def twin_otherwise(rng: np.random.Generator) -> list[Trial]:
    """Positions many turns of the first pair apart, at widths with and without a common period."""
    from numeric import position_encoding

    trials = []
    steps = 2 * np.pi * np.arange(1, 2_001)
    for width in (2, 4, 6, 8, 10, 12, 16, 64):
        start = rng.uniform(-9, 9)
        apart = np.abs(position_encoding(start + steps, width) - position_encoding([start], width))
        closest = apart.max(axis=1).min()
        if width in (2, 4, 8):
            trials.append(agree(closest, 0.0, f"d={width}", 1e-9))
        else:
            trials.append(differs(closest, 0.0, by=1e-5, what=f"d={width}"))
    return trials


def otherwise_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "one pair of components is enough",
            statement=implies(
                both(negation(equal(r, 2)), negation(equal(r, 4))), injective(pos, other)
            ),
            counterexample=Example({r: 1, pos: 0, other: 2 * sp.pi}),
        ),
    )


UNIQUE_OTHERWISE = Claim(
    id="positional-encoding/unique-on-reals-otherwise",
    title="At widths other than 2, 4 and 8 different real positions have different encodings",
    source=source(
        "A16",
        r"Different positions have different encodings. Beyond the note: positions may be any real "
        r"numbers, if the number $r = d_{\text{model}}/2$ of pairs is not 1, 2 or 4.",
    ),
    statement=implies(OTHERWISE, injective(pos, other)),
    given=ENCODING,
    proof=prove_otherwise,
    twin=Twin("encodings of positions up to 2000 turns apart", twin_otherwise),
    mutations=otherwise_mutations,
    expected=Verdict.PROVED,
    remark="With 1, 2 or 4 pairs there are common periods: `positional-encoding/unique-on-reals`.",
)  # fmt: skip

CLAIMS = (UNIQUE_OTHERWISE,)

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
