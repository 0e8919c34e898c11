"""Sines and cosines of different frequencies are independent, on the integers already.

By induction over the number of pairs.  If a combination vanishes at every integer, so does
``f(p + 1) + f(p - 1) - 2 cos(w) f(p)`` for the last frequency w: the last pair is gone from it, and
the coefficients of the others are multiplied by ``2 (cos w_i - cos w)``, which are not 0.  So these
coefficients are 0, and what is left are the values of one pair at 0 and 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy as sp

from derive.claims._positions import cos, sin
from derive.convert import Converter
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.kernel.terms import Lam, Term
from derive.language import (
    at_most,
    both,
    dim,
    equal,
    forall,
    implies,
    index,
    integer,
    less,
    minus,
    natural,
    negation,
    plus,
    sequence,
    times,
    total,
)
from derive.prover import Prover

#: Indices of pairs are natural numbers here; `size` of them are summed over, `top` exist.
size, top = dim("s"), dim("N")
last, low, high = natural("m"), natural("u"), natural("v")
place = integer("p")
of_sine, of_cosine = sequence("a"), sequence("b")
frequency: Callable[[Any], sp.Expr] = sp.Function("omega")

#: No two cosines agree, and no sine is 0.
APART = both(
    forall(
        [low, high],
        implies(
            both(less(low, high), less(high, top)),
            negation(equal(cos(frequency(low)), cos(frequency(high)))),
        ),
    ),
    forall(low, implies(less(low, top), negation(equal(sin(frequency(low)), 0)))),
)


def wave(k: Any, p: Any) -> Any:
    """What the pair k adds at position p."""
    angle = times(p, frequency(k))
    return plus(times(of_sine[k], sin(angle)), times(of_cosine[k], cos(angle)))


def combination(length: Any, p: Any = place) -> Any:
    k = sp.Idx(sp.Dummy("k", integer=True), length)
    return total(wave(k, p), k)


def none(k: Any) -> Any:
    return both(equal(of_sine[k], 0), equal(of_cosine[k], 0))


INDEPENDENT = implies(
    at_most(size, top),
    forall(
        [of_sine, of_cosine],
        implies(
            forall(place, equal(combination(size), 0)),
            forall(low, implies(less(low, size), none(low))),
        ),
    ),
)


def independence_law(p: Prover, number: Any, apart: Theorem) -> Theorem:
    """For all a, b: the combination vanishes at every integer -> all coefficients are 0.

    `apart` proves APART for that number of pairs.
    """
    own = Prover(Converter(), ())  # whose symbols are its own
    with own.supposing(APART) as known:
        law = _for_all_numbers(own, known)
    law = own.for_all(own.discharge(law, known), top)
    n = p.term(number)
    at = p.at(p.mp(p.at(law, number), apart), T.sub(n, T.ONE))
    at = _of_size(own, at, n)
    return p.note(
        p.mp(at, p.order(T.le(n, n))),
        r"by induction over the number of pairs. One pair: at 0 its cosine is 1 and its sine is 0, "
        r"at 1 the sine is not 0. One more: with $f$ also $f(p+1) + f(p-1) - 2\cos(\omega) f(p)$ "
        r"is 0, which has no part with the last frequency $\omega$, and in which the coefficients "
        r"of the other pairs are multiplied by $2(\cos\omega_i - \cos\omega) \ne 0$; so these "
        r"are 0, and one pair is left",
    )


def _of_size(p: Prover, theorem: Theorem, n: Term) -> Theorem:
    """The statement about n - 1 + 1 pairs, for n."""
    formula = p.formula(INDEPENDENT)
    at = T.substitute(formula, {p.term(top): n})
    before = T.add(T.sub(n, T.ONE), T.ONE)
    same = p.equal(before, n, show=False)
    return p.rewrite(same, theorem, lambda x: T.substitute(at, {p.term(size): x}))


def _for_all_numbers(p: Prover, known: Theorem) -> Theorem:
    """For all m: INDEPENDENT for m + 1 pairs, from APART."""
    formula = p.formula(INDEPENDENT)
    m = p.term(last)

    def of(number: Term) -> Term:
        return T.substitute(formula, {p.term(size): number})

    base = _opened(p, of(T.add(T.ZERO, T.ONE)), lambda fits, zero, goal: _alone(
        p, known, zero, goal, T.ZERO, fits))  # fmt: skip
    with p.supposing(of(T.add(m, T.ONE))) as before:
        step = _opened(p, of(T.add(T.add(m, T.ONE), T.ONE)), lambda fits, zero, goal: _one_more(
            p, known, before, fits, zero, goal))  # fmt: skip
    return p.induction(base, p.discharge(step, before), last)


def _opened(p: Prover, goal: Term, proof: Callable[[Theorem, Theorem, Term], Theorem]) -> Theorem:
    """``proof(fits, vanishes, for all i: ...)`` for free coefficients."""
    premise, rest = goal.children
    for name in ("a", "b"):
        rest = T.instantiate(rest.children[-1], (name,))
    with p.supposing(premise) as fits:
        with p.supposing(rest.children[0]) as vanishes:
            found = proof(fits, vanishes, rest.children[1])
        theorem = p.discharge(found, vanishes)
        for name in ("b", "a"):
            theorem = infer("generalise-tensor", [theorem], name, 1)
    return p.discharge(theorem, fits)


def _each(p: Prover, goal: Term, case: Callable[[Theorem, Term], Theorem]) -> Theorem:
    """For all i: i < size -> ..., where ``case(i < size, its goal)`` proves it."""
    premise, wanted = T.instantiate(goal.children[0], (p.term(low),)).children
    with p.supposing(premise) as within:
        found = case(within, wanted)
    return p.for_all(p.discharge(found, within), low)


def _vanish_at(p: Prover, known: Theorem, wave_zero: Theorem, k: Any, fits: Theorem) -> Theorem:
    """a_k = b_k = 0, from the values of that pair alone at 0 and 1."""
    cosine = p.equal(of_cosine[k], 0, (1, p.at(wave_zero, 0)), show=False)
    nonzero = p.mp(p.at(p.part(known, 1), k), p.order(less(k, top), (1, fits)))
    s = sin(frequency(k))
    one = p.at(wave_zero, 1)
    product = p.equal(
        times(s, of_sine[k]), 0, (1, one), (times(-1, cos(frequency(k))), cosine), show=False
    )
    inverse = p.cancel(s, nonzero)
    sine = p.equal(
        of_sine[k], 0, (T.inv(p.term(s)), product), (times(-1, of_sine[k]), inverse), show=False
    )
    return p.both(sine, cosine)


def _alone(p: Prover, known: Theorem, zero: Theorem, goal: Term, k: Term, fits: Theorem) -> Theorem:
    """The only pair there is, with index 0."""
    single = p.equal(wave(0, place), 0, (1, p.at(zero, place)), show=False)
    found = _vanish_at(p, known, p.for_all(single, place), 0, p.order(less(0, top)))

    def case(within: Theorem, wanted: Term) -> Theorem:
        upto = p.order(T.le(p.term(low), T.ZERO), (1, p.next_integer(within)))
        same = infer("antisymmetry", [p.order(T.le(T.ZERO, p.term(low))), upto])
        return p.rewrite(same, found, lambda x: T.substitute(wanted, {p.term(low): x}))

    return _each(p, goal, case)


def _one_more(
    p: Prover, known: Theorem, before: Theorem, fits: Theorem, zero: Theorem, goal: Term
) -> Theorem:
    end = last + 1
    inside = p.order(less(end, top), (1, fits))
    others = _others_vanish(p, known, before, inside, zero)
    k = index("e", end)
    each = p.mp(p.at(others, k), p.at(_in_range(p), end, k))
    silent = p.equal(wave(k, place), 0, p.part(each, 0), p.part(each, 1), show=False)
    rest = p.sum_equal(silent, k)
    whole = infer("unroll", [], "sum", p.term(end), _body(p, combination(end)))
    single = p.equal(
        wave(end, place), 0, (1, p.at(zero, place)), (-1, rest), (-1, whole), show=False
    )
    found = _vanish_at(p, known, p.for_all(single, place), end, inside)

    def case(within: Theorem, wanted: Term) -> Theorem:
        def is_last(reached: Theorem) -> Theorem:
            upto = p.order(T.le(p.term(low), p.term(end)), (1, p.next_integer(within)))
            same = infer("antisymmetry", [reached, upto])
            return p.rewrite(same, found, lambda x: T.substitute(wanted, {p.term(low): x}))

        def is_earlier(below: Theorem) -> Theorem:
            return p.mp(p.at(others, low), below)

        return p.cases(p.dichotomy(end, low), is_last, is_earlier)

    return _each(p, goal, case)


def _in_range(p: Prover) -> Theorem:
    """For all sizes and their indices: the index is less than the size."""
    k = T.var("_k", "fin", p.term(size))
    return p.for_all(p.order(T.lt(k, p.term(size))), size, k)


def _body(p: Prover, whole: Any) -> Term:
    return p.term(whole).children[1]


def _others_vanish(
    p: Prover, known: Theorem, before: Theorem, inside: Theorem, zero: Theorem
) -> Theorem:
    """For all i < m + 1: a_i = b_i = 0."""
    end = last + 1
    k = index("f", end + 1)
    difference = _factor(k, end)
    turned = _second_difference(p, k, end)
    total_zero = p.equal(
        total(times(difference, wave(k, place)), k), 0,
        (-1, p.sum_equal(turned, k)),
        (1, p.at(zero, plus(place, 1))),
        (1, p.at(zero, minus(place, 1))),
        (times(-2, cos(frequency(end))), p.at(zero, place)),
        show=False,
    )  # fmt: skip
    body = _body(p, total(times(difference, wave(k, place)), k))
    whole = infer("unroll", [], "sum", p.term(end), body)
    fewer = p.equal(whole.conclusion.children[1].children[0], 0, (1, total_zero), (-1, whole),
                    show=False)  # fmt: skip
    sines, cosines = (_scaled(p, coefficient, end) for coefficient in (of_sine, of_cosine))
    smaller = p.at(
        p.mp(before, p.order(at_most(end, top), (1, p.next_integer(inside)))), sines, cosines
    )
    premise = smaller.conclusion.children[0]
    wanted = T.instantiate(premise.children[0], (p.term(place),))
    shown = p.for_all(p.equal(*wanted.children, (1, fewer), show=False), place)
    scaled = p.at(p.mp(smaller, shown), low)

    def coefficient_zero(within: Theorem) -> Theorem:
        products = p.mp(scaled, within)
        pair = p.order(less(low, end), (1, within)), inside
        nonzero = p.mp(p.at(p.part(known, 0), low, end), p.both(*pair))
        return _divided(p, products, nonzero, end)

    with p.supposing(less(low, end)) as within:
        found = coefficient_zero(within)
    return p.for_all(p.discharge(found, within), low)


def _factor(k: Any, end: Any) -> Any:
    return times(2, minus(cos(frequency(k)), cos(frequency(end))))


def _scaled(p: Prover, coefficient: Any, end: Any) -> Lam:
    return p.lam(times(_factor(low, end), coefficient[low]), low)


def _second_difference(p: Prover, k: Any, end: Any) -> Theorem:
    """f(p+1) + f(p-1) - 2 cos(w) f(p) = 2 (cos w_k - cos w) f(p) for what the pair k adds."""
    x, y = times(place, frequency(k)), frequency(k)
    uses = []
    for coefficient, of in ((of_sine[k], "sin"), (of_cosine[k], "cos")):
        for sign in (1, -1):
            uses.append((coefficient, p.axiom(f"{of}-add", x, times(sign, y))))
    left = plus(
        wave(k, plus(place, 1)), wave(k, minus(place, 1)),
        times(-2, cos(frequency(end)), wave(k, place)),
    )  # fmt: skip
    return p.equal(left, times(_factor(k, end), wave(k, place)), *uses, show=False)


def _divided(p: Prover, products: Theorem, nonzero: Theorem, end: Any) -> Theorem:
    """a_i = b_i = 0, from 2 (cos w_i - cos w) times them being 0."""
    gap = minus(cos(frequency(low)), cos(frequency(end)))
    apart = _difference_apart(p, nonzero, gap)
    inverse = p.cancel(gap, apart)
    share = T.mul(T.inv(p.term(gap)), T.div(T.ONE, T.num(2)))
    out = []
    for e, coefficient in enumerate((of_sine, of_cosine)):
        out.append(
            p.equal(
                coefficient[low], 0, (share, p.part(products, e)),
                (times(-1, coefficient[low]), inverse), show=False,
            )
        )  # fmt: skip
    return p.both(*out)


def _difference_apart(p: Prover, nonzero: Theorem, gap: Any) -> Theorem:
    """not a - b = 0, from not a = b."""
    vanishing = p.formula(equal(gap, 0))
    a, b = nonzero.conclusion.children[0].children
    with p.supposing(vanishing) as case:
        same = p.equal(a, b, (1, case), show=False)
        wrong = infer("contradiction", [same, nonzero], T.negate(vanishing))
    return infer("deny", [wrong], vanishing)
