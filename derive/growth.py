"""Inequalities through functions that grow: exponentials and logarithms.

Exponentials of the goal, also those that are added up, are compared by their exponents, logarithms
by the product of their arguments, and what stands beside one exponential by its logarithm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import islice, product
from math import lcm
from typing import Final, NamedTuple

from derive import inequalities, lemmas, search
from derive.kernel import terms as T
from derive.kernel.normal import Monomial, Poly, Sign, monomial_term, to_term
from derive.kernel.rules import Item, Theorem, fact_normaliser, infer
from derive.kernel.terms import KernelError, Term
from derive.orders import order_of_exponentials, order_of_logarithms
from derive.prover import Prover

Prove = Callable[[Term], Theorem]
Use = tuple[Term, tuple[Theorem, ...]]
#: So many pairs of exponentials are compared, and no powers beyond this one are multiplied.
MAX_PAIRS: Final = 9
LARGEST: Final = 64
_FAILED = (search.NotFound, KernelError)


def positive(p: Prover, t: Term) -> Theorem:
    """0 < t by its form, also for sums all of whose terms are positive."""
    try:
        return lemmas.positive(p, t)
    except _FAILED:
        if t.op != "sum":
            return inequalities.prove(p, T.lt(T.ZERO, t))
    p.opened += 1
    i = T.var(f"_g{p.opened}", "fin", t.children[0])
    with p.remembering(*instances(p, [i])):
        each = p.for_all(positive(p, T.instantiate(t.children[1], (i,))), i)
    item = Item(((0, (i,)),), T.ONE, (i,))
    return infer("order", [each], T.lt(T.ZERO, t), 1, (item,))


# ---------------------------------------------------------------------------- exponentials


class _Part(NamedTuple):
    """A monomial with an exponential: its index, if it has one, the exponent, and the rest."""

    size: Term | None
    exponent: Term  # with the index as bound index
    rest: Term

    def at(self, i: Term) -> Term:
        return T.instantiate(self.exponent, (i,)) if self.size is not None else self.exponent


def compared(p: Prover, goal: Term) -> list[Use]:
    """e^x <= e^y for exponentials on either side of the goal, summed where they are added up."""
    work = fact_normaliser("search", p.facts())
    poly = work.poly(T.sub(*reversed(goal.children)))
    small = [part for m, c in poly.items() if c < 0 and (part := _part(m)) is not None]
    large = [part for m, c in poly.items() if c > 0 and (part := _part(m)) is not None]
    out: list[Use] = []
    for low, high in islice(product(small, large), MAX_PAIRS):
        try:
            order = _order(p, low, high)
            cofactors = dict.fromkeys((low.rest, high.rest))
            out += [(c, (order,)) for c in cofactors if work.sign(c) >= Sign.NONNEG]
        except _FAILED:
            continue
    return out


def _part(m: Monomial) -> _Part | None:
    found = [t for t, e in m.factors if e == 1 and t.op == "fn" and t.data == "exp"]
    if len(found) != 1 or len(m.indices) > 1:
        return None
    others = tuple((t, e) for t, e in m.factors if t is not found[0])
    if any(not inequalities.is_free(t) for t, _ in others):
        return None
    rest = monomial_term(Monomial((), others), Fraction(1))
    if not m.indices:
        return _Part(None, found[0].children[0], rest)
    (i,) = m.indices
    return _Part(i.children[0], T.abstract(found[0].children[0], (i,)), rest)


def _order(p: Prover, low: _Part, high: _Part) -> Theorem:
    sizes = [s for s in (low.size, high.size) if s is not None]
    if len({*sizes}) > 1:
        raise KernelError("sums over different ranges")
    p.opened += 1
    i = T.var(f"_g{p.opened}", "fin", sizes[0]) if sizes else T.ZERO
    x, y = low.at(i), high.at(i)
    places = [s for s in T.free_symbols(T.le(x, y)) if isinstance(s, Term) and s.data[1] == "fin"]
    with p.remembering(*instances(p, places)):
        order = inequalities.prove(p, T.le(x, y))
    powers = order_of_exponentials(p, order)
    return p.sum_order(powers, i) if sizes else powers


def instances(p: Prover, places: Sequence[Term]) -> Iterator[Theorem]:
    """What is known for all indices, at each of these."""
    known = [g for g in p.known() if g.conclusion.op == "forall" and g.conclusion.data[0] == "fin"]
    for g, place in product(known, sorted(places, key=lambda s: str(s.data[0]))):
        try:
            yield infer("specialise", [g], place)
        except KernelError:
            continue


def by_logarithm(p: Prover, goal: Term, prove: Prove) -> Theorem:
    """c e^x <= y from x <= log(y / c), for y > 0, and the same for the other order and for <."""
    a, b = goal.children
    work = fact_normaliser("search", p.facts())
    poly = work.poly(T.sub(b, a))
    for m, c in poly.items():
        if m.indices or [(t.op, t.data, e) for t, e in m.factors] != [("fn", "exp", 1)]:
            continue
        power, scale = m.factors[0][0], T.num(abs(c))
        rest = {n: q if c < 0 else -q for n, q in poly.items() if n is not m}
        value = work.term(T.div(to_term(rest), scale))
        if value.op == "num" and value.data <= 0:
            continue
        p.fact(positive(p, value))
        sides = (power.children[0], T.fn("log", value))
        related = T.lt if goal.op == "lt" else T.le
        order = prove(related(*(sides if c < 0 else sides[::-1])))
        grown = order_of_exponentials(p, order) if goal.op == "le" else p.mp(
            p.axiom("exp-increasing", *order.conclusion.children), order)  # fmt: skip
        return p.order(goal, (scale, grown))
    raise search.NotFound(goal, search.leftover(b, a))


# ---------------------------------------------------------------------------- logarithms


def by_product(p: Prover, goal: Term, prove: Prove) -> Theorem:
    """log x + log y <= 2 log z + r from x y <= z^2 e^r, and the same for <."""
    a, b = goal.children
    work = fact_normaliser("search", p.facts())
    logs, rest = _logarithms(work.poly(T.sub(b, a)))
    scale = lcm(*(c.denominator for c in logs.values()))
    if not logs or sum(abs(c) for c in logs.values()) * scale > LARGEST:
        raise search.NotFound(goal, search.leftover(b, a))
    for x in logs:
        p.fact(positive(p, x))
    exponents = {x: int(c * scale) for x, c in logs.items()}
    below = [x for x, k in exponents.items() for _ in range(-k)]
    above = [x for x, k in exponents.items() for _ in range(k)]
    if rest:
        power = T.fn("exp", T.mul(T.num(scale), to_term(rest)))
        above.append(power)
    related = T.lt if goal.op == "lt" else T.le
    order = prove(related(T.mul(*below), T.mul(*above)))
    sides = order.conclusion.children
    grown = order_of_logarithms(p, related(*(T.fn("log", s) for s in sides)), order)
    part = Fraction(1, scale)
    splits = ((c, lemmas.log_of_product(p, parts)) for c, parts in ((part, below), (-part, above))
              if parts)  # fmt: skip
    return p.order(goal, (part, grown), *splits)


def _logarithms(poly: Poly) -> tuple[dict[Term, Fraction], Poly]:
    """The coefficients of logarithms, by their arguments, and what else there is."""
    logs: dict[Term, Fraction] = {}
    rest: dict[Monomial, Fraction] = {}
    for m, c in poly.items():
        found = [t.children[0] for t, e in m.factors if e == 1 and t.op == "fn" and t.data == "log"]
        if len(found) == len(m.factors) == 1 and not m.indices:
            logs[found[0]] = c
        else:
            rest[m] = c
    return logs, rest
