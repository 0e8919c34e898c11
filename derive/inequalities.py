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

from derive import programming, search, squares, termwise
from derive.bounds import bounds
from derive.kernel import terms as T
from derive.kernel.normal import (
    UNIT,
    Monomial,
    Normaliser,
    Poly,
    Sign,
    constant,
    monomial_term,
    plus,
)  # fmt: skip
from derive.kernel.rules import Theorem, fact_normaliser
from derive.kernel.terms import KernelError, Term
from derive.prover import Prover

#: Of how many known inequalities and atoms products and squares are tried.
MAX_KNOWN: Final = 6
MAX_ATOMS: Final = 4
MAX_MULTIPLES: Final = 24
MAX_EQUATIONS: Final = 3
MAX_FACTORS: Final = 3
#: By how much an inequality that has to be strict is to hold, at first not at all.
MARGINS: Final = (Fraction(0), Fraction(1, 8), Fraction(1, 1024))
_PLAIN: Final = ("var", "app", "fn")
#: The row of a linear programme that counts what is strict.
STRICT: Final = Monomial((), ((T.var("%strict", "real"), 1),))
Use = tuple[Term, tuple[Theorem, ...]]


def prove(p: Prover, goal: Term, further: Sequence[Use] = ()) -> Theorem:
    """`goal`, a <= b or a < b, also with what `further` offers; raises `search.NotFound`."""
    a, b = goal.children
    work = fact_normaliser("search", p.facts())
    try:
        target = work.poly(T.sub(b, a))
        uses = [*further, *_uses(p, target, work)]
        vectors = [work.poly(_value(u)) for u in uses]
    except KernelError as error:
        raise search.NotFound(goal, str(error)) from error
    strict = None if target or goal.op != "lt" else [_is_strict(u) for u in uses]
    for margin in MARGINS if goal.op == "lt" else MARGINS[:1]:
        wanted = plus(target, constant(margin), -1)
        solution = combination(wanted, vectors, work if p.patient else None, strict)
        if solution is None and not margin:
            break
        chosen = [] if solution is None else list(zip(solution, uses, strict=True))
        items = [(T.mul(T.num(c), cofactor), *theorems) for c, (cofactor, theorems) in chosen if c]
        try:
            return p.order(goal, *items)
        except KernelError:  # nothing in it is positive, so something has to be left over
            continue
    if p.patient:
        return squares.prove(p, goal)
    raise search.NotFound(goal, search.leftover(b, a))


def _value(use: Use) -> Term:
    cofactor, theorems = use
    if theorems[0].conclusion.op == "eq":
        return T.mul(cofactor, T.sub(*theorems[0].conclusion.children))
    return T.mul(cofactor, *(T.sub(*reversed(t.conclusion.children)) for t in theorems))


def _is_strict(use: Use) -> bool:
    cofactor, theorems = use
    return cofactor is T.ONE and all(t.conclusion.op == "lt" for t in theorems)


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
    if p.patient:
        inner += [s for t in atoms for s in _inside(t) if s not in atoms]
        inner += [t for t in _within(known, work) if t not in atoms]
    by_form = [theorem for t in (*atoms, *inner) for theorem in bounds(p, t)]
    if p.patient:
        by_form += termwise.sums(p, target, work)
        yield from _equations(p, atoms)
        for k in known[:MAX_FACTORS]:
            yield from ((T.ONE, (k, t)) for t in by_form[:MAX_KNOWN])
    yield from ((T.ONE, (t,)) for t in by_form)
    yield from list(_multiples([*known, *by_form], target, work))[:MAX_MULTIPLES]
    if any(e > 1 or len(m.factors) > 1 for m in target for _, e in m.factors):
        squares_of = list(_squares(p, [t for t in atoms if t.op in _PLAIN][:MAX_ATOMS]))
        yield from squares_of
        yield from _times_squares(known, squares_of) if p.patient else ()


def _within(known: Sequence[Theorem], work: Normaliser) -> list[Term]:
    """Maxima and absolute values in what is known."""
    found = (t for k in known for t in T.subterms(k.conclusion) if t.op == "fn" and not t.loose)
    terms = dict.fromkeys(work.term(t) for t in found if t.data in ("max", "min", "abs"))
    return [t for t in terms if t.op == "fn"]


def _inside(t: Term) -> Iterator[Term]:
    """The floors in the argument of a floor."""
    for c in t.children if t.op == "fn" and t.data == "floor" else ():
        yield from (s for s in T.subterms(c) if s.op == "fn" and s.data == "floor")


def _times_squares(known: Sequence[Theorem], of: Sequence[Use]) -> Iterator[Use]:
    """Known inequalities, one or two, times squares."""
    few = known[:MAX_FACTORS]
    for factors in (*((t,) for t in few), *combinations(few, 2)):
        yield from ((cofactor, (*factors, *square)) for cofactor, square in of)


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


def _equations(p: Prover, atoms: Sequence[Term]) -> Iterator[Use]:
    """Known equations, times atoms and with either sign."""
    known = [t for t in p.known() if t.conclusion.op == "eq"]
    for t in known[:MAX_EQUATIONS]:
        for cofactor in (T.ONE, *atoms[:MAX_ATOMS]):
            yield cofactor, (t,)
            yield T.neg(cofactor), (t,)


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
    """m / n, if that only divides by what does not vanish and the sums of both are the same."""
    if m.indices != n.indices:
        return None
    powers = dict(m.factors)
    for t, e in n.factors:
        powers[t] = powers.get(t, 0) - e
    powers = {t: e for t, e in powers.items() if e}
    for t, e in powers.items():
        if not is_free(t) or (e < 0 and work.sign(t) not in (Sign.POS, Sign.NONZERO)):
            return None
    return T.mul(*(T.power(t, e) for t, e in powers.items()))


def _squares(p: Prover, atoms: Sequence[Term]) -> Iterator[Use]:
    for t in atoms:
        yield T.ONE, (p.square(t),)
    for s, t in combinations(atoms, 2):
        yield T.ONE, (p.square(T.sub(s, t)),)
        yield T.ONE, (p.square(T.add(s, t)),)


# ---------------------------------------------------------------------------- programming


def combination(
    target: Poly,
    vectors: Sequence[Poly],
    work: Normaliser | None = None,
    strict: Sequence[bool] | None = None,
) -> list[Fraction] | None:
    """Coefficients c >= 0 such that target - Sum c_i vectors_i is a constant >= 0.

    With `work`, products of what it knows not to be negative may be left over as well.  For 0 < 0,
    `strict` tells which vectors are more than 0: not all of them get 0.
    """
    left = dict.fromkeys(m for v in (target, *vectors) for m in v if _may_be_left(m, work))
    columns = [dict(v) for v in vectors]
    columns += ({m: Fraction(1)} for m in (UNIT, *left))
    wanted = dict(target)
    if strict is not None:
        wanted[STRICT] = Fraction(1)
        for column, positive in zip(columns, strict, strict=False):
            if positive:
                column[STRICT] = Fraction(1)
    solution = programming.nonnegative_solution(columns, wanted)
    return None if solution is None else solution[: len(vectors)]


def _may_be_left(m: Monomial, work: Normaliser | None) -> bool:
    if work is None or m == UNIT or m.indices:
        return False
    return work.sign(monomial_term(m, Fraction(1))) >= Sign.NONNEG
