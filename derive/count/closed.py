"""Closed forms: the sum over a list of tensors as a polynomial in the sizes, proved by the kernel.

The polynomial is collected here by ordinary means, which may be wrong without harm: a `Closed`
holds a theorem of the kernel that the sum over layers and entries is this polynomial, whose log the
checker has replayed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod

from derive.count import sizes
from derive.count.description import Shape, Stage, Tensor, Work, summed
from derive.kernel import terms as T
from derive.kernel.check import check
from derive.kernel.log import write
from derive.kernel.rules import Theorem, infer
from derive.kernel.terms import Term

#: Exponents of the sizes in a monomial, those that are not 0.
Monomial = tuple[tuple[Term, int], ...]
Polynomial = dict[Monomial, int | Fraction]
Sizes = Mapping[Term, int]


@dataclass(frozen=True)
class Summand:
    """`body` for every entry of an array with the shape `over`, in as many copies."""

    copies: Shape
    over: Shape
    body: Term = T.ONE


@dataclass(frozen=True)
class Closed:
    """The theorem that a sum over entries is a closed form."""

    theorem: Theorem
    summands: tuple[Summand, ...]

    @property
    def term(self) -> Term:
        return self.theorem.conclusion.children[1]

    def at(self, values: Sizes) -> int:
        """The closed form at these sizes, which has to be what the list adds up to.

        Raises ValueError where a size is missing or a division leaves a remainder.
        """
        found, listed = value(self.term, values), listed_total(self.summands, values)
        if found != listed or found.denominator != 1:
            raise ValueError(f"{T.show(self.term)}: {found}, but the list adds up to {listed}")
        return int(found)


@dataclass(frozen=True)
class Share:
    """The theorem that one sum divided by another is one closed form divided by the other."""

    theorem: Theorem
    part: Closed
    whole: Closed

    @property
    def term(self) -> Term:
        return self.theorem.conclusion.children[1]

    def at(self, values: Sizes) -> Fraction:
        """The share at these sizes, which has to be that of the two numbers."""
        found = value(self.term, values)
        if found != Fraction(self.part.at(values), self.whole.at(values)):
            raise ValueError(f"{T.show(self.term)}: {found} is not the share of the two numbers")
        return found


def share(part: Closed, whole: Closed) -> Share:
    """The share of a sum in another, with its proof."""
    sums, forms = (
        T.div(*(c.theorem.conclusion.children[side] for c in (part, whole))) for side in (0, 1)
    )
    return Share(_theorem(sums, forms), part, whole)


def of_tensors(tensors: Iterable[Tensor], each: Term = T.ONE) -> Closed:
    """How many entries the tensors have (times `each`)."""
    return proved([Summand(t.copies, t.shape, each) for t in tensors])


def of_work(stages: Iterable[tuple[Stage, Work]], kind: str) -> Closed:
    """How many operations of a kind the steps take; "leading" counts two for every
    multiplication of a matrix product and nothing else."""
    return proved(
        [
            Summand(stage.copies, work.over, body)
            for stage, work in stages
            if (body := operations(work, kind)) is not None
        ]
    )


def operations(work: Work, kind: str) -> Term | None:
    """Operations of a kind for one entry."""
    if kind == "leading":
        return None if work.inner is None else T.mul(T.num(2), work.inner)
    return work.each.get(kind)


def proved(summands: Sequence[Summand]) -> Closed:
    """The closed form of a sum over entries, with its proof."""
    return Closed(_theorem(written_sum(summands), collected(summands)), tuple(summands))


def _theorem(a: Term, b: Term) -> Theorem:
    """a = b by ring laws and sums; its log is replayed before anything is said of it."""
    theorem = infer("linear-combination", [], T.eq(a, b), 0, ())
    check(write("proof", theorem.conclusion, [theorem]))
    return theorem


def written_sum(summands: Sequence[Summand]) -> Term:
    """The sum as the list gives it: what has the same copies stands under one sum over them."""
    parts = []
    for copies, same in _by_copies(summands).items():
        parts.append(summed(copies, T.add(*(summed(s.over, s.body) for s in same))))
    return T.add(*parts)


def products(summands: Sequence[Summand]) -> Term:
    """The same with the sides of every array multiplied, still under a sum over the copies."""
    parts = []
    for copies, same in _by_copies(summands).items():
        parts.append(summed(copies, T.add(*(_sides(s) for s in same))))
    return T.add(*parts)


def _sides(s: Summand) -> Term:
    return T.mul(*s.over, *(() if s.body is T.ONE else (s.body,)))


def collected(summands: Sequence[Summand]) -> Term:
    """The same, multiplied out and collected, with the copies in front."""
    parts = []
    for copies, same in _by_copies(summands).items():
        inner: Polynomial = {}
        for s in same:
            _accumulate(inner, polynomial(T.mul(*s.over, s.body)))
        if copies and len(inner) > 1:
            parts.append(T.mul(*copies, written(inner)))
        else:
            parts += _summands(written(_times(polynomial(T.mul(*copies)), inner)))
    return T.add(*parts)


def _summands(t: Term) -> tuple[Term, ...]:
    return t.children if t.op == "add" else (t,)


def _by_copies(summands: Iterable[Summand]) -> dict[Shape, list[Summand]]:
    """Summands by their copies; what is there once comes last."""
    groups: dict[Shape, list[Summand]] = {}
    for s in summands:
        groups.setdefault(s.copies, []).append(s)
    single = groups.pop((), None)
    return groups if single is None else {**groups, (): single}


# ---------------------------------------------------------------------------- polynomials


def polynomial(t: Term) -> Polynomial:
    """A term of sums, products and whole powers of sizes, multiplied out."""
    match t.op:
        case "num":
            return {(): _plain(t.data)} if t.data else {}
        case "var":
            return {((t, 1),): 1}
        case "add":
            out: Polynomial = {}
            for c in t.children:
                _accumulate(out, polynomial(c))
            return out
        case "mul":
            return _product_of(t.children)
        case "pow":
            return _power(polynomial(t.children[0]), t.data, t)
        case _:
            raise ValueError(f"{T.show(t)} is not a polynomial in sizes")


def _product_of(factors: Sequence[Term]) -> Polynomial:
    """Plain sizes first, which make one monomial; what is left is multiplied out."""
    exponents: dict[Term, int] = {}
    others = []
    for t in factors:
        if t.op == "var":
            exponents[t] = exponents.get(t, 0) + 1
        else:
            others.append(t)
    out: Polynomial = {tuple(sorted(exponents.items(), key=_rank_of_power)): 1}
    for t in others:
        out = _times(out, polynomial(t))
    return out


def _plain(q: Fraction) -> int | Fraction:
    return q.numerator if q.denominator == 1 else q


def _power(base: Polynomial, exponent: int, t: Term) -> Polynomial:
    if exponent < 0 and len(base) == 1:
        ((monomial, factor),) = base.items()
        power = Fraction(factor) ** exponent
        return {tuple((x, e * exponent) for x, e in monomial): _plain(power)}
    if exponent < 0:
        raise ValueError(f"{T.show(t)} is not a polynomial in sizes")
    out: Polynomial = {(): 1}
    for _ in range(exponent):
        out = _times(out, base)
    return out


def _accumulate(into: Polynomial, more: Polynomial) -> None:
    for monomial, factor in more.items():
        into[monomial] = into.get(monomial, 0) + factor
        if not into[monomial]:
            del into[monomial]


def _times(a: Polynomial, b: Polynomial) -> Polynomial:
    out: Polynomial = {}
    for x, p in a.items():
        for y, q in b.items():
            _accumulate(out, {_product(x, y): p * q})
    return out


def _product(a: Monomial, b: Monomial) -> Monomial:
    if not a or not b:
        return a or b
    exponents = dict(a)
    for x, e in b:
        exponents[x] = exponents.get(x, 0) + e
    return tuple(sorted(((x, e) for x, e in exponents.items() if e), key=_rank_of_power))


_RANKS = {x: (k, "") for k, x in enumerate(sizes.MEANINGS)}


def _rank(x: Term) -> tuple[int, str]:
    return _RANKS.get(x) or (len(_RANKS), str(x.data[0]))


def _rank_of_power(power: tuple[Term, int]) -> tuple[int, str]:
    return _rank(power[0])


def written(p: Polynomial) -> Term:
    """The polynomial as a term, highest degree first."""
    order = sorted(p, key=lambda mono: (-sum(e for _, e in mono), [_rank(x) for x, _ in mono]))
    return T.add(*(_written(mono, p[mono]) for mono in order))


def _written(monomial: Monomial, factor: int | Fraction) -> Term:
    powers = [x if e == 1 else T.power(x, e) for x, e in monomial]
    return T.mul(*([] if factor == 1 and powers else [T.num(factor)]), *powers)


# ---------------------------------------------------------------------------- numbers


def value(t: Term, values: Sizes) -> Fraction:
    """The exact value of a sum of products of sizes."""
    match t.op:
        case "num":
            return Fraction(t.data)
        case "var":
            if t not in values:
                raise ValueError(f"no size is given for {t.data[0]}")
            return Fraction(values[t])
        case "add":
            return sum((value(c, values) for c in t.children), Fraction(0))
        case "mul":
            return prod((value(c, values) for c in t.children), start=Fraction(1))
        case "pow":
            return value(t.children[0], values) ** int(t.data)
        case _:
            raise ValueError(f"{T.show(t)} is not a polynomial in sizes")


def listed_total(summands: Iterable[Summand], values: Sizes) -> Fraction:
    """The sum over the list at these sizes, added up summand by summand."""
    total = Fraction(0)
    for s in summands:
        total += prod((value(x, values) for x in (*s.copies, *s.over, s.body)), start=Fraction(1))
    return total
