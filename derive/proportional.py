"""Roots, inverses and logarithms of two sums that differ by a factor.

sqrt(Sum (u x_i)^2) is |u| sqrt(Sum x_i^2), but the normal form cannot see it in the root alone.
Where both occur, one is written by the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from typing import Final, NamedTuple

from derive import lemmas, search
from derive.inequalities import is_free
from derive.kernel import terms as T
from derive.kernel.normal import Monomial, Normaliser, Sign, monomial_key, plus
from derive.kernel.rules import Theorem, fact_normaliser
from derive.kernel.terms import KernelError, Term
from derive.prover import Prover

#: So many pairs of sums are compared, and none with more terms.
MAX_PAIRS: Final = 12
MAX_TERMS: Final = 24


class Ratio(NamedTuple):
    """``number * factors^exponents * e^exponent``, which stands outside all sums."""

    number: Fraction
    powers: dict[Term, int]
    exponent: Term

    def term(self) -> Term:
        parts = [T.power(t, e) for t, e in self.powers.items()]
        return T.mul(T.num(self.number), *parts, T.fn("exp", self.exponent))


def equations(p: Prover, goal: Term) -> Iterator[Theorem]:
    """For every two roots, inverses or logarithms in an equation with proportional arguments."""
    work = fact_normaliser("search", p.facts())
    poly = work.poly(T.sub(*goal.children))
    atoms = dict.fromkeys(f for m in poly for f in m.factors if is_free(f[0]))
    kinds: dict[str, list[Term]] = {"sqrt": [], "log": [], "inverse": []}
    for t, e in atoms:
        if t.op == "fn" and t.data in ("sqrt", "log"):
            kinds[t.data].append(t.children[0])
        elif e < 0 and t.op in ("add", "sum"):
            kinds["inverse"].append(t)
    for kind, found in kinds.items():
        same = sorted(dict.fromkeys(found), key=lambda t: (sum(1 for _ in T.subterms(t)), t.key))
        for y, x in list(combinations(same, 2))[:MAX_PAIRS]:
            ratio = _ratio(x, y, work)
            if ratio is None:
                continue
            try:
                yield _RULES[kind](p, x, y, ratio, work)
            except (search.NotFound, KernelError):
                continue


def _ratio(x: Term, y: Term, work: Normaliser) -> Ratio | None:
    """r with x = r y, if there is one outside all sums."""
    whole, part = work.poly(x), work.poly(y)
    if len(whole) != len(part) or not 0 < len(whole) <= MAX_TERMS:
        return None
    first = min(part, key=monomial_key)
    for m, c in whole.items():
        ratio = _quotient(m, first, c / part[first], work)
        if ratio is not None and not plus(whole, work.poly(T.mul(ratio.term(), y)), -1):
            return ratio
    return None


def _quotient(m: Monomial, n: Monomial, number: Fraction, work: Normaliser) -> Ratio | None:
    if m.indices != n.indices:
        return None
    names = {i: work.fresh(i.children[0]) for i in m.indices}
    powers: dict[Term, int] = {}
    exponents: list[Term] = []
    for factors, sense in ((m.factors, 1), (n.factors, -1)):
        for at_rest, e in factors:
            t = T.substitute(at_rest, names)
            if t.op == "fn" and t.data == "exp":
                exponents.append(T.mul(T.num(sense * e), t.children[0]))
            else:
                powers[t] = powers.get(t, 0) + sense * e
    powers = {t: e for t, e in powers.items() if e}
    exponent = work.term(T.add(*exponents)) if exponents else T.ZERO
    free = all(map(is_free, (*powers, exponent)))
    divisible = all(e > 0 or work.sign(t) in (Sign.POS, Sign.NONZERO) for t, e in powers.items())
    return Ratio(number, powers, exponent) if free and divisible else None


# ---------------------------------------------------------------------------- rules


def _root(p: Prover, x: Term, y: Term, ratio: Ratio, work: Normaliser) -> Theorem:
    """sqrt x = sqrt(c) |v| sqrt y for x = c v^2 y."""
    half = Fraction(1, 2)
    parts = [T.fn("exp", T.mul(T.num(half), ratio.exponent))]
    for t, e in ratio.powers.items():
        if e % 2 and work.sign(t) is not Sign.POS:
            raise KernelError(f"the sign of {t} is not known")
        parts.append(T.power(T.fn("sqrt", t), e) if e % 2 else T.power(t, e // 2))
    v, w = T.var("_v", "real"), T.var("_w", "real")
    number = T.num(ratio.number)
    left = T.fn("sqrt", T.mul(number, T.power(v, 2), w))
    right = T.mul(T.fn("sqrt", number), T.fn("abs", v), T.fn("sqrt", w))
    law = p.at(p.for_all(p.equal(left, right, show=False), v, w), T.mul(*parts), y)
    return _from(p, T.fn("sqrt", x), law)


def _inverse(p: Prover, x: Term, y: Term, ratio: Ratio, work: Normaliser) -> Theorem:
    v, w = T.var("_v", "real"), T.var("_w", "real")
    split = p.equal(T.inv(T.mul(v, w)), T.mul(T.inv(v), T.inv(w)), show=False)
    return _from(p, T.inv(x), p.at(p.for_all(split, v, w), ratio.term(), y))


def _logarithm(p: Prover, x: Term, y: Term, ratio: Ratio, work: Normaliser) -> Theorem:
    parts: list[Term] = [] if ratio.number == 1 else [T.num(ratio.number)]
    for t, e in ratio.powers.items():
        parts += [t if e > 0 else T.inv(t)] * abs(e)
    if ratio.exponent is not T.ZERO:
        parts.append(T.fn("exp", ratio.exponent))
    return _from(p, T.fn("log", x), lemmas.log_of_product(p, [*parts, y]))


def _from(p: Prover, left: Term, law: Theorem) -> Theorem:
    """left = b, from a = b where a has the normal form of `left`."""
    return p.equal(left, law.conclusion.children[1], (1, law), show=False)


_RULES: Final = {"sqrt": _root, "inverse": _inverse, "log": _logarithm}
