"""Equations that follow from known ones by multiplying with quotients of terms and adding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Final

from derive import rewriting, search
from derive.inequalities import is_free, quotient
from derive.kernel import terms as T
from derive.kernel.normal import Monomial, Normaliser, Poly, monomial_term, plus
from derive.kernel.rules import Theorem, fact_normaliser
from derive.kernel.terms import KernelError, Term
from derive.prover import Prover

#: How many products of equations with cofactors are tried, and of how many terms an equation.
MAX_PRODUCTS: Final = 80
MAX_TERMS: Final = 8
#: Equations of more terms in all are left alone.
LARGEST: Final = 60


def prove(p: Prover, goal: Term) -> Theorem:
    """a = b as a combination of known equations and of ``t^-1 t = 1``."""
    a, b = goal.children
    work = fact_normaliser("search", p.facts())
    target = work.poly(T.sub(a, b))
    known = [g for g in p.known() if g.conclusion.op == "eq"]
    if not known or len(target) > MAX_TERMS:
        raise search.NotFound(goal, search.leftover(a, b))
    polys = [work.poly(T.sub(*g.conclusion.children)) for g in known]
    if sum(map(len, polys)) > LARGEST:
        raise search.NotFound(goal, search.leftover(a, b))
    cancels = [c for c in (_cancel(p, t) for t in _denominators([target, *polys])) if c]
    uses = list(dict.fromkeys(_uses(target, known, polys, cancels, work)))[:MAX_PRODUCTS]
    vectors = [work.poly(T.mul(c, T.sub(*g.conclusion.children))) for c, g in uses]
    solution = solve(target, vectors)
    if solution is None:
        raise search.NotFound(goal, search.leftover(a, b))
    items = [(T.mul(T.num(q), c), g) for q, (c, g) in zip(solution, uses, strict=True) if q]
    return p.equal(a, b, *items, show=False)


def mirrored(p: Prover, goal: Term) -> Theorem:
    """a = b, where a rule for all indices turns t = a - b into c t for a number c other than 1.

    So t = 0; as for the sum of the x_i A_ij x_j, where A_ij = -A_ji.
    """
    a, b = goal.children
    work = fact_normaliser("search", p.facts())
    gap = work.term(T.sub(a, b))
    for rule in p.known():
        c = rule.conclusion
        if c.op != "forall" or gap is T.ZERO:
            continue
        try:
            turned = rewriting.replaced(gap, rule)
        except KernelError:
            continue
        after = work.poly(turned.conclusion.children[1])
        factor = _multiple(after, work.poly(gap))
        if factor is not None and factor != 1:
            return p.equal(a, b, (1 / (1 - factor), turned), show=False)
    raise search.NotFound(goal, search.leftover(a, b))


def _multiple(a: Poly, b: Poly) -> Fraction | None:
    """c with a = c b."""
    if not b:
        return None
    first = next(iter(b))
    c = a.get(first, Fraction(0)) / b[first]
    return None if plus(a, b, -c) else c


def _denominators(polys: Sequence[Poly]) -> list[Term]:
    return list(dict.fromkeys(t for q in polys for t in search.inverses(q) if is_free(t)))


def _cancel(p: Prover, t: Term) -> Theorem | None:
    try:
        return p.cancel(t)
    except KernelError:
        return None


def _uses(
    target: Poly, known: Sequence[Theorem], polys: Sequence[Poly], cancels: Sequence[Theorem],
    work: Normaliser,
) -> Iterator[tuple[Term, Theorem]]:  # fmt: skip
    """Cofactors and equations: with cofactor 1, cleared of denominators, and with quotients."""
    bases = [c.conclusion.children[0].children[1] for c in cancels]
    for g in known:
        yield T.ONE, g
        yield from ((t, g) for t in bases)
    for g, poly in zip(known, polys, strict=True):
        for m in target:
            for other in poly:
                cofactor = quotient(m, other, work)
                if cofactor is not None:
                    yield cofactor, g
    for cancel, t in zip(cancels, bases, strict=True):
        for poly in (target, *polys):
            for m in poly:
                if not m.indices:
                    factors = tuple((f, e) for f, e in m.factors if f is not t)
                    yield monomial_term(Monomial((), factors), Fraction(1)), cancel


def linear(relation: Term, x: Term) -> Term | None:
    """The value of the variable x that makes both sides equal, where they are linear in it."""
    try:
        poly = Normaliser().poly(T.sub(*relation.children))
    except KernelError:
        return None
    slope: list[Term] = []
    rest: list[Term] = []
    for m, c in poly.items():
        if not any(x in t.free for t, _ in m.factors):
            rest.append(monomial_term(m, c))
            continue
        others = tuple((t, e) for t, e in m.factors if t is not x)
        if len(others) == len(m.factors) or dict(m.factors)[x] != 1:
            return None
        if any(x in t.free for t, _ in others) or m.indices:
            return None
        slope.append(monomial_term(Monomial((), others), c))
    if not slope:
        return None
    return Normaliser().term(T.neg(T.div(T.add(T.ZERO, *rest), T.add(T.ZERO, *slope))))


def coefficients(equation: Term, unknown: Sequence[Term]) -> list[Fraction] | None:
    """Numbers for the unknowns at which both sides are the same polynomial, if they are linear."""
    try:
        poly = Normaliser().poly(T.sub(*equation.children))
    except KernelError:
        return None
    target: dict[Monomial, Fraction] = {}
    vectors: list[dict[Monomial, Fraction]] = [{} for _ in unknown]
    for m, c in poly.items():
        inside = [k for k, s in enumerate(unknown) if any(s in t.free for t, _ in m.factors)]
        if not inside:
            target[m] = -c
            continue
        others = tuple((t, e) for t, e in m.factors if t is not unknown[inside[0]])
        if len(inside) > 1 or dict(m.factors).get(unknown[inside[0]]) != 1:
            return None
        vectors[inside[0]][Monomial(m.indices, others)] = c
    return solve(target, vectors)


def solve(target: Poly, vectors: Sequence[Poly]) -> list[Fraction] | None:
    """Coefficients with target = Sum c_i vectors_i, by elimination."""
    rows = list({m: None for v in (target, *vectors) for m in v})
    width = len(vectors)
    table = [[*(v.get(m, Fraction(0)) for v in vectors), target.get(m, Fraction(0))] for m in rows]
    pivots: list[int] = []
    for column in range(width):
        at = len(pivots)
        row = next((k for k in range(at, len(table)) if table[k][column]), None)
        if row is None:
            continue
        table[at], table[row] = table[row], table[at]
        scale = table[at][column]
        table[at] = [x / scale for x in table[at]]
        for k, r in enumerate(table):
            if k != at and r[column]:
                f = r[column]
                table[k] = [x - f * y for x, y in zip(r, table[at], strict=True)]
        pivots.append(column)
    if any(r[-1] for r in table[len(pivots) :]):
        return None
    out = [Fraction(0)] * width
    for r, column in zip(table, pivots, strict=False):
        out[column] = r[-1]
    return out
