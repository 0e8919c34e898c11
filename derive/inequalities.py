"""Inequalities as non-negative combinations of known ones, found by exact linear programming.

What is combined: the inequalities that are assumed, products of two of them, squares of sums and
differences of two atoms, the bounds of floors and of sizes, and known inequalities divided by what
is positive.  The coefficients are rational; the kernel checks the sum that comes out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, combinations_with_replacement
from typing import Final

from derive import search
from derive.kernel import terms as T
from derive.kernel.normal import UNIT, Monomial, Normaliser, Poly, Sign
from derive.kernel.rules import Theorem, fact_normaliser
from derive.kernel.terms import KernelError, Term
from derive.prover import Prover

#: Of how many known inequalities and atoms products and squares are tried.
MAX_KNOWN: Final = 6
MAX_ATOMS: Final = 4
MAX_MULTIPLES: Final = 24
Use = tuple[Term, tuple[Theorem, ...]]


def prove(p: Prover, goal: Term) -> Theorem:
    """`goal`, a <= b or a < b; raises `search.NotFound`."""
    a, b = goal.children
    work = fact_normaliser("search", p.facts())
    try:
        target = work.poly(T.sub(b, a))
        uses = list(_uses(p, target, work))
        vectors = [work.poly(_value(u)) for u in uses]
    except KernelError as error:
        raise search.NotFound(goal, str(error)) from error
    solution = combination(target, vectors)
    if solution is None:
        raise search.NotFound(goal, search.leftover(b, a))
    items = [
        (T.mul(T.num(c), cofactor), *theorems)
        for c, (cofactor, theorems) in zip(solution, uses, strict=True)
        if c
    ]
    return p.order(goal, *items)


def _value(use: Use) -> Term:
    cofactor, theorems = use
    return T.mul(cofactor, *(T.sub(*reversed(t.conclusion.children)) for t in theorems))


def _uses(p: Prover, target: Poly, work: Normaliser) -> Iterator[Use]:
    known = [t for t in p.known() if t.conclusion.op in ("le", "lt")]
    known += [t for t in p.facts() if t.conclusion.op in ("le", "lt") and t not in known]
    known = known[:MAX_KNOWN]
    yield from ((T.ONE, (t,)) for t in known)
    yield from ((T.ONE, pair) for pair in combinations_with_replacement(known, 2))
    inverse = T.mul(*(T.power(t, e) for t, e in _inverted(target)))
    if inverse is not T.ONE and work.sign(work.term(inverse)) is Sign.POS:
        yield from ((inverse, (t,)) for t in known)
    atoms = [t for t in dict.fromkeys(t for m in target for t, _ in m.factors) if is_free(t)]
    inner = [s for t in atoms if t.op == "fn" and t.data == "floor" for s in T.subterms(t)]
    inner = [s for s in dict.fromkeys(inner) if s.op == "var" and s not in atoms]
    bounds = [theorem for t in (*atoms, *inner) for theorem in _bounds(p, t)]
    yield from ((T.ONE, (t,)) for t in bounds)
    yield from list(_multiples([*known, *bounds], target, work))[:MAX_MULTIPLES]
    if any(e > 1 or len(m.factors) > 1 for m in target for _, e in m.factors):
        yield from _squares(p, [t for t in atoms if t.op in ("var", "app", "fn")][:MAX_ATOMS])


def _inverted(target: Poly) -> list[tuple[Term, int]]:
    lowest: dict[Term, int] = {}
    for m in target:
        for t, e in m.factors:
            if e < 0 and is_free(t):
                lowest[t] = min(e, lowest.get(t, 0))
    return list(lowest.items())


def is_free(t: Term) -> bool:
    """Whether `t` stands outside all sums."""
    return not any(isinstance(s, Term) and s.data[0].startswith("%") for s in T.free_symbols(t))


def _bounds(p: Prover, t: Term) -> Iterator[Theorem]:
    if t.op == "fn" and t.data == "floor":
        yield p.axiom("floor-lower", t.children[0])
        yield p.axiom("floor-upper", t.children[0])
    if t.op == "var" and t.data[1] in ("dim", "nat"):
        yield p.trivial(T.le(T.num(int(t.data[1] == "dim")), t))
    if t.op == "var" and t.data[1] == "fin":
        yield p.trivial(T.lt(t, t.children[0]))


def _multiples(known: Sequence[Theorem], target: Poly, work: Normaliser) -> Iterator[Use]:
    """Known inequalities times what makes one of their terms one of the target's."""
    for t in known:
        poly = work.poly(T.sub(*reversed(t.conclusion.children)))
        for m in target:
            for n in poly:
                cofactor = quotient(m, n, work)
                if cofactor not in (None, T.ONE) and work.sign_of(cofactor) >= Sign.NONNEG:
                    yield cofactor, (t,)


def quotient(m: Monomial, n: Monomial, work: Normaliser) -> Term | None:
    """m / n, if that only divides by what does not vanish."""
    if m.indices or n.indices:
        return None
    powers = dict(m.factors)
    for t, e in n.factors:
        powers[t] = powers.get(t, 0) - e
    for t, e in powers.items():
        if not is_free(t) or (e < 0 and work.sign(t) not in (Sign.POS, Sign.NONZERO)):
            return None
    return T.mul(*(T.power(t, e) for t, e in powers.items() if e))


def _squares(p: Prover, atoms: Sequence[Term]) -> Iterator[Use]:
    for t in atoms:
        yield T.ONE, (p.square(t),)
    for s, t in combinations(atoms, 2):
        yield T.ONE, (p.square(T.sub(s, t)),)
        yield T.ONE, (p.square(T.add(s, t)),)


# ---------------------------------------------------------------------------- programming


def combination(target: Poly, vectors: Sequence[Poly]) -> list[Fraction] | None:
    """Coefficients c >= 0 such that target - Sum c_i vectors_i is a constant >= 0."""
    rows = list({m: None for v in (target, *vectors) for m in v if m != UNIT})
    columns = [[v.get(m, Fraction(0)) for m in (*rows, UNIT)] for v in vectors]
    columns.append([Fraction(0)] * len(rows) + [Fraction(1)])
    wanted = [target.get(m, Fraction(0)) for m in (*rows, UNIT)]
    solution = _nonnegative_solution(columns, wanted)
    return None if solution is None else solution[:-1]


def _nonnegative_solution(
    columns: list[list[Fraction]], wanted: list[Fraction]
) -> list[Fraction] | None:
    """x >= 0 with Sum x_j columns_j = wanted, by the first phase of the simplex method."""
    height, width = len(wanted), len(columns)
    signs = [1 if w >= 0 else -1 for w in wanted]
    table = [
        [signs[i] * columns[j][i] for j in range(width)] + [signs[i] * wanted[i]]
        for i in range(height)
    ]
    basis = [width + i for i in range(height)]  # an artificial variable for every row
    while True:
        costs = [sum(r[j] for r, v in zip(table, basis, strict=True) if v >= width)
                 for j in range(width + 1)]  # fmt: skip
        entering = next((j for j in range(width) if costs[j] > 0), None)
        if entering is None:
            break
        ratios = [
            (r[-1] / r[entering], basis[i], i) for i, r in enumerate(table) if r[entering] > 0
        ]
        _pivot(table, basis, min(ratios)[2], entering)
    if costs[-1] != 0:
        return None
    out = [Fraction(0)] * width
    for r, v in zip(table, basis, strict=True):
        if v < width:
            out[v] = r[-1]
    return out


def _pivot(table: list[list[Fraction]], basis: list[int], row: int, column: int) -> None:
    scale = table[row][column]
    table[row] = [x / scale for x in table[row]]
    for i, r in enumerate(table):
        if i != row and r[column]:
            factor = r[column]
            table[i] = [x - factor * y for x, y in zip(r, table[row], strict=True)]
    basis[row] = column
