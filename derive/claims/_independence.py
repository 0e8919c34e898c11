"""Sines and cosines of different frequencies are independent, on a few integers already.

By induction over the number of pairs.  If a combination of n + 1 pairs vanishes at 2 n + 2 integers
in a row, then ``f(p + 1) + f(p - 1) - 2 cos(w) f(p)``, for the last frequency w, does at all of
them but the first and the last: the last pair is gone from it, and the coefficients of the others
are multiplied by ``2 (cos w_i - cos w)``, which are not 0.  So these coefficients are 0, and what
is left are the values of one pair at two integers in a row.
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
place, start = integer("p"), integer("q")
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


def window(number: Any, p: Any = place, first: Any = start) -> Any:
    """As many integers in a row as these pairs have coefficients."""
    return both(at_most(first, p), less(p, plus(first, times(2, number))))


INDEPENDENT = implies(
    at_most(size, top),
    forall(
        [start, of_sine, of_cosine],
        implies(
            forall(place, implies(window(size), equal(combination(size), 0))),
            forall(low, implies(less(low, size), none(low))),
        ),
    ),
)


def independence_law(p: Prover, number: Any, apart: Theorem) -> Theorem:
    """For all q, a, b: the combination vanishes at q, ..., q + 2 n - 1 -> all coefficients are 0.

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
        r"by induction over the number of pairs. One pair, of frequency $\omega$: its values at "
        r"two positions in a row have the determinant $-\sin\omega \ne 0$. One more, of frequency "
        r"$\omega$: where a sum $f(l)$ as here is 0, so is $f(l+1) + f(l-1) - 2\cos(\omega)f(l)$, "
        r"at two positions fewer; it has no part with $\omega$, and the coefficients of the other "
        r"pairs are multiplied by $2(\cos\omega_i - \cos\omega) \ne 0$; so these are 0, and one "
        r"pair is left",
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
    for name in (p.term(start), "a", "b"):
        rest = T.instantiate(rest.children[-1], (name,))
    with p.supposing(premise) as fits:
        with p.supposing(rest.children[0]) as vanishes:
            found = proof(fits, vanishes, rest.children[1])
        theorem = p.discharge(found, vanishes)
        for name in ("b", "a"):
            theorem = infer("generalise-tensor", [theorem], name, 1)
        theorem = p.for_all(theorem, start)
    return p.discharge(theorem, fits)


def _zero_at(p: Prover, zero: Theorem, p_at: Any, *items: tuple[Any, Theorem]) -> Theorem:
    """That the combination is 0 at an integer of the window; `items` show that it is one."""
    at = p.at(zero, p_at)
    low_end, high_end = at.conclusion.children[0].children
    return p.mp(at, p.both(p.order(low_end, *items[:1]), p.order(high_end, *items[1:])))


def _each(p: Prover, goal: Term, case: Callable[[Theorem, Term], Theorem]) -> Theorem:
    """For all i: i < size -> ..., where ``case(i < size, its goal)`` proves it."""
    premise, wanted = T.instantiate(goal.children[0], (p.term(low),)).children
    with p.supposing(premise) as within:
        found = case(within, wanted)
    return p.for_all(p.discharge(found, within), low)


def _vanish_at(
    p: Prover, known: Theorem, zeros: tuple[Theorem, Theorem], k: Any, fits: Theorem
) -> Theorem:
    """a_k = b_k = 0, from the values of that pair alone at q and q + 1."""
    nonzero = p.mp(p.at(p.part(known, 1), k), p.order(less(k, top), (1, fits)))
    angle, w = times(start, frequency(k)), frequency(k)
    s, c, slope = sin(angle), cos(angle), sin(w)
    here, there = zeros
    turned = minus(times(of_sine[k], c), times(of_cosine[k], s))
    product = p.equal(
        times(slope, turned), 0, (1, there), (times(-1, cos(w)), here),
        (times(-1, of_sine[k]), p.axiom("sin-add", angle, w)),
        (times(-1, of_cosine[k]), p.axiom("cos-add", angle, w)), show=False,
    )  # fmt: skip
    flat = p.equal(
        turned, 0, (T.inv(p.term(slope)), product),
        (times(-1, turned), p.cancel(slope, nonzero)), show=False,
    )  # fmt: skip
    one = p.axiom("pythagoras", angle)
    sine = p.equal(
        of_sine[k], 0, (s, here), (c, flat), (times(-1, of_sine[k]), one), show=False
    )  # fmt: skip
    cosine = p.equal(
        of_cosine[k], 0, (c, here), (times(-1, s), flat), (times(-1, of_cosine[k]), one),
        show=False,
    )  # fmt: skip
    return p.both(sine, cosine)


def _alone(p: Prover, known: Theorem, zero: Theorem, goal: Term, k: Term, fits: Theorem) -> Theorem:
    """The only pair there is, with index 0."""
    zeros = []
    for step in (0, 1):
        at = plus(start, step)
        zeros.append(p.equal(wave(0, at), 0, (1, _zero_at(p, zero, at)), show=False))
    found = _vanish_at(p, known, (zeros[0], zeros[1]), 0, p.order(less(0, top)))

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
    zeros = []
    for step in (0, 1):
        at = plus(start, step)
        silent = p.equal(wave(k, at), 0, p.part(each, 0), p.part(each, 1), show=False)
        rest = p.sum_equal(silent, k)
        whole = infer("unroll", [], "sum", p.term(end), _body(p, combination(end, at)))
        zeros.append(p.equal(
            wave(end, at), 0, (1, _zero_at(p, zero, at)), (-1, rest), (-1, whole), show=False
        ))  # fmt: skip
    found = _vanish_at(p, known, (zeros[0], zeros[1]), end, inside)

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
    body = _body(p, total(times(difference, wave(k, place)), k))
    whole = infer("unroll", [], "sum", p.term(end), body)
    sines, cosines = (_scaled(p, coefficient, end) for coefficient in (of_sine, of_cosine))
    smaller = p.at(
        p.mp(before, p.order(at_most(end, top), (1, p.next_integer(inside)))),
        plus(start, 1),
        sines,
        cosines,
    )
    wanted = T.instantiate(smaller.conclusion.children[0].children[0], (p.term(place),))
    with p.supposing(wanted.children[0]) as among:
        low_end, high_end = p.part(among, 0), p.part(among, 1)
        upto = p.next_integer(high_end)
        later, here, earlier = (
            _zero_at(p, zero, plus(place, step), (1, low_end), (1, upto)) for step in (1, 0, -1)
        )
        total_zero = p.equal(
            total(times(difference, wave(k, place)), k), 0,
            (-1, p.sum_equal(turned, k)), (1, later), (1, earlier),
            (times(-2, cos(frequency(end))), here), show=False,
        )  # fmt: skip
        fewer = p.equal(whole.conclusion.children[1].children[0], 0, (1, total_zero), (-1, whole),
                        show=False)  # fmt: skip
        equation = p.equal(*wanted.children[1].children, (1, fewer), show=False)
    shown = p.for_all(p.discharge(equation, among), place)
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
