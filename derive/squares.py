"""Polynomials as sums of squares, by completing the squares one after the other."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from derive import search
from derive.kernel import terms as T
from derive.kernel.normal import UNIT, Monomial, Normaliser, Poly, Sign
from derive.kernel.rules import Theorem, fact_normaliser
from derive.kernel.terms import Term
from derive.prover import Prover

#: Polynomials with more terms are left alone.
MAX_TERMS: Final = 30

Form = dict[tuple[int, int], Fraction]


def prove(p: Prover, goal: Term) -> Theorem:
    """a <= b or a < b, where b - a is a sum of squares and a constant that is not negative."""
    a, b = goal.children
    work = fact_normaliser("search", p.facts())
    target = work.poly(T.sub(b, a))
    bases = _halves(target, work)
    form = None if len(target) > MAX_TERMS else _form(target, bases, work)
    parts = None if form is None else _completed(form, len(bases))
    if parts is None:
        raise search.NotFound(goal, search.leftover(b, a))
    items = []
    for c, row in parts:
        if list(row) != [0] or bases[0] is not T.ONE:  # a constant is left over for the kernel
            total = T.add(*(T.mul(T.num(q), bases[k]) for k, q in row.items()))
            items.append((T.num(c), p.square(total)))
    return p.order(goal, *items)


def _halves(target: Poly, work: Normaliser) -> list[Term]:
    """Terms whose squares have a positive coefficient in the polynomial; 1 comes first."""
    out = [T.ONE]
    for m, c in target.items():
        half = _half(m, work) if c > 0 and m is not UNIT and m != UNIT else None
        if half is not None:
            out.append(half)
    return out


def _half(m: Monomial, work: Normaliser) -> Term | None:
    if m.indices:
        return None
    parts = []
    for t, e in m.factors:
        if e % 2 == 0:
            parts.append(T.power(t, e // 2))
        elif t.op == "fn" and t.data == "exp":
            parts.append(T.fn("exp", T.mul(T.num(Fraction(e, 2)), t.children[0])))
        elif work.sign(t) is Sign.POS:
            parts.append(T.power(T.fn("sqrt", t), e))
        else:
            return None
    return T.mul(*parts)


def _form(target: Poly, bases: list[Term], work: Normaliser) -> Form | None:
    """The polynomial as a quadratic form in the bases."""
    places: dict[Monomial, list[tuple[int, int]]] = {}
    for i in range(len(bases)):
        for j in range(i, len(bases)):
            product = work.poly(T.mul(bases[i], bases[j]))
            if len(product) == 1 and set(product.values()) == {Fraction(1)}:
                places.setdefault(next(iter(product)), []).append((i, j))
    form: Form = {}
    for m, c in target.items():
        fitting = [(i, j) for i, j in places.get(m, []) if (i == j) is (c > 0)]
        if not fitting:
            fitting = places.get(m, [])[:1]
        if not fitting:
            return None
        i, j = fitting[0]
        form[i, j] = form.get((i, j), Fraction(0)) + (c if i == j else c / 2)
        form[j, i] = form[i, j]
    return form


def _completed(form: Form, size: int) -> list[tuple[Fraction, dict[int, Fraction]]] | None:
    """Coefficients > 0 and linear forms whose squares add up to the form; 1 is taken last."""
    out = []
    left = dict(form)
    for k in reversed(range(size)):
        pivot = left.get((k, k), Fraction(0))
        row = {j: left[k, j] for j in range(k + 1) if left.get((k, j))}
        if pivot < 0 or (pivot == 0 and row):
            return None
        if pivot == 0:
            continue
        out.append((pivot, {j: q / pivot for j, q in row.items()}))
        for i in range(k):
            for j in range(k):
                change = row.get(i, Fraction(0)) * row.get(j, Fraction(0)) / pivot
                if change:
                    left[i, j] = left.get((i, j), Fraction(0)) - change
    return out
