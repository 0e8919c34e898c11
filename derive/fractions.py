"""Quotients with composite denominators: in lowest terms, and compared.

SymPy says what the lowest terms are; that they are equal, and that the inequality holds, is proved.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Final

import sympy as sp

from derive import inequalities, lemmas, search
from derive.kernel import terms as T
from derive.kernel.normal import (
    Monomial,
    Normaliser,
    Poly,
    Sign,
    monomial_term,
    scaled,
    to_term,
)
from derive.kernel.rules import Theorem, fact_normaliser
from derive.kernel.terms import KernelError, Term
from derive.prover import Prover

#: Longer sums of quotients are left alone.
MAX_TERMS: Final = 40


def divided_out(u: Term, work: Normaliser) -> Term | None:
    """The term in lowest terms, None if it has no composite denominator that cancels."""
    poly = work.poly(u)
    if not search.inverses(poly) or len(poly) > MAX_TERMS:
        return None
    names: dict[Term, sp.Symbol] = {}
    before = _rational(poly, names, work)
    after = sp.cancel(before)
    if sp.denom(after).free_symbols and sp.denom(after).is_Add:
        return None
    back = {v: k for k, v in names.items()}
    return _term(sp.expand(after), back)


def _rational(poly: Poly, names: dict[Term, sp.Symbol], work: Normaliser) -> sp.Expr:
    out = sp.Integer(0)
    for m, c in poly.items():
        part = sp.Rational(c.numerator, c.denominator)
        if m.indices:
            bound = tuple((t, e) for t, e in m.factors if not inequalities.is_free(t))
            total = monomial_term(Monomial(m.indices, bound), Fraction(1))
            part *= names.setdefault(total, sp.Symbol(f"x{len(names)}"))
        for t, e in m.factors:
            if m.indices and not inequalities.is_free(t):
                continue
            if t.op == "add":
                part *= _rational(work.poly(t), names, work) ** e
            else:
                part *= names.setdefault(t, sp.Symbol(f"x{len(names)}")) ** e
        out += part
    return out


def _term(e: sp.Expr, back: dict[sp.Symbol, Term]) -> Term:
    match e:
        case sp.Add():
            return T.add(*(_term(x, back) for x in e.args))
        case sp.Mul():
            return T.mul(*(_term(x, back) for x in e.args))
        case sp.Pow() if isinstance(e.exp, sp.Integer):
            return T.power(_term(e.base, back), int(e.exp))
        case sp.Rational():
            return T.num(Fraction(int(e.p), int(e.q)))
        case sp.Symbol():
            return back[e]
    raise KernelError(f"{e} is no quotient of polynomials")


def compared(p: Prover, goal: Term, prove: Callable[[Term], Theorem]) -> Theorem:
    """a <= b or a < b from the sign of the numerator of b - a, over a positive denominator."""
    a, b = goal.children
    work = fact_normaliser("search", p.facts())
    poly = work.poly(T.sub(b, a))
    composite = any(e < 0 and t.op in ("add", "sum") for m in poly for t, e in m.factors)
    if not composite or len(poly) > MAX_TERMS:
        raise search.NotFound(goal, search.leftover(a, b))
    names: dict[Term, sp.Symbol] = {}
    above, below = sp.fraction(sp.cancel(_rational(poly, names, work)))
    if below.is_Number:  # the quotients are under sums, and would be there again
        raise search.NotFound(goal, search.leftover(a, b))
    back = {v: k for k, v in names.items()}
    factors, signs = [], []
    for f in sp.Mul.make_args(sp.factor(below)):
        base, exponent = f.as_base_exp()
        sign, flipped = _sign(p, _term(sp.expand(base), back), prove)
        if flipped:
            above *= (-1) ** exponent
        factors.append(T.power(sign.conclusion.children[1], -int(exponent)))
        signs.append(sign)
    top = _term(sp.expand(above), back)
    with p.remembering(*signs):
        numerator = prove((T.lt if goal.op == "lt" else T.le)(T.ZERO, top))
        inverse = T.mul(*factors)
        same = lemmas.cleared(p, T.eq(T.sub(b, a), T.mul(top, inverse)))
        return p.order(goal, (T.num(1), same), (inverse, numerator))


def _without(m: Monomial, powers: dict[Term, int]) -> Monomial:
    left = ((t, e - powers.get(t, 0)) for t, e in m.factors)
    return Monomial(m.indices, tuple((t, e) for t, e in left if e))


def by_common_factor(p: Prover, goal: Term, prove: Callable[[Term], Theorem]) -> Theorem:
    """a <= b or a < b from the sign of what is left of b - a without common positive factors."""
    a, b = goal.children
    work = fact_normaliser("search", p.facts())
    poly = work.poly(T.sub(b, a))
    first = next(iter(poly), None)
    if first is None or len(poly) < 2:
        raise search.NotFound(goal, search.leftover(a, b))
    powers = dict(first.factors)
    for m in poly:
        here = dict(m.factors)
        powers = {t: min(e, here[t]) for t, e in powers.items() if t in here}
    powers = {t: e for t, e in powers.items() if inequalities.is_free(t)}
    powers = {t: e for t, e in powers.items() if e and work.sign(t) is Sign.POS}
    if not powers:
        raise search.NotFound(goal, search.leftover(a, b))
    common = T.mul(*(T.power(t, e) for t, e in powers.items()))
    left = T.add(*(monomial_term(_without(m, powers), c) for m, c in poly.items()))
    return p.order(goal, (common, prove((T.lt if goal.op == "lt" else T.le)(T.ZERO, left))))


def _sign(p: Prover, t: Term, prove: Callable[[Term], Theorem]) -> tuple[Theorem, bool]:
    """0 < t, or 0 < -t and that it is this."""
    try:
        return prove(T.lt(T.ZERO, t)), False
    except (search.NotFound, KernelError):
        opposite = to_term(scaled(fact_normaliser("search", p.facts()).poly(t), -1))
        return prove(T.lt(T.ZERO, opposite)), True
