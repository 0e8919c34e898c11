"""Inequalities of sums, from what is known of their terms.

For an index that is summed in the goal: what is known for all indices, and what holds of the
functions in a term by themselves, one by one and multiplied in pairs; and sums of squares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import combinations, combinations_with_replacement
from typing import Final

from derive import power_orders, search
from derive.bounds import bounds
from derive.equal_factors import is_power
from derive.kernel import terms as T
from derive.kernel.normal import Monomial, Normaliser, Poly, monomial_term, plus
from derive.kernel.rules import Theorem, fact_normaliser, infer
from derive.kernel.terms import KernelError, Term
from derive.prover import Prover

#: So many inequalities of one term are multiplied in pairs.
MAX_PARTS: Final = 6
#: Sums over more indices, and products of more factors, are not taken apart.
MAX_INDICES: Final = 4
MAX_FACTORS: Final = 8
_FAILED = (search.NotFound, KernelError)


def sums(p: Prover, target: Poly, work: Normaliser) -> Iterator[Theorem]:
    """Inequalities between sums that may be of use for the sums in `target`."""
    sizes = dict.fromkeys(i.children[0] for m in target for i in m.indices)
    for size in sizes:
        yield from _of_terms(p, size, target)
    for m in target:
        if len(m.indices) == 1:
            yield from _single_terms(p, m, target, work)
        if 1 < len(m.indices) <= MAX_INDICES:
            yield from _squares(p, m, work)


# ---------------------------------------------------------------------------- term by term


def each(p: Prover, goal: Term, prove: Callable[[Term], Theorem]) -> Theorem:
    """a <= b, where b - a is a sum over one index, since no term of it is negative."""
    work = fact_normaliser("search", p.facts())
    target = work.poly(T.sub(*reversed(goal.children)))
    sizes = {m.indices[0].children[0] if len(m.indices) == 1 else None for m in target}
    size = next(iter(sizes), None)
    if len(sizes) != 1 or size is None:
        raise search.NotFound(goal, "not one sum over one index")
    p.opened += 1
    i = T.var(f"_i{p.opened}", "fin", size)
    term = T.add(*(
        T.substitute(monomial_term(Monomial((), m.factors), c), {m.indices[0]: i})
        for m, c in target.items()
    ))  # fmt: skip
    with p.remembering(*_instances(p, i)):
        one = prove(T.le(T.ZERO, term))
    return p.order(goal, (1, p.sum_order(one, i)))


def _of_terms(p: Prover, size: Term, target: Poly) -> Iterator[Theorem]:
    """The sum over i of what is not negative for every i."""
    p.opened += 1
    i = T.var(f"_i{p.opened}", "fin", size)
    instances = list(_instances(p, i))
    functions = dict.fromkeys(
        T.substitute(t, {m.indices[0]: i})
        for m in target if len(m.indices) == 1 and m.indices[0].children[0] is size
        for t, _ in m.factors if t.op == "fn" and m.indices[0] in T.free_symbols(t)
    )  # fmt: skip
    with p.remembering(*instances):
        of_powers = power_orders.orders(p, _powers_at(target, i), partial(power_orders.at_once, p))
        parts = [*instances, *(b for t in functions for b in bounds(p, t)), *of_powers]
        parts = [t for t in parts if t.conclusion.op in ("le", "lt")][:MAX_PARTS]
        work = fact_normaliser("search", p.facts())  # what cancels for each index
        for k in (1, 2):
            for chosen in combinations_with_replacement(parts, k):
                differences = [T.sub(*reversed(t.conclusion.children)) for t in chosen]
                try:
                    product = work.term(T.mul(*differences))
                    yield p.sum_order(p.order(T.le(T.ZERO, product), (1, *chosen)), i)
                except _FAILED:
                    continue


def _powers_at(target: Poly, i: Term) -> list[Term]:
    """The powers in terms that are added up over an index like `i`, at `i`."""
    of_one = (m for m in target if len(m.indices) == 1 and m.indices[0].children == i.children)
    found = (T.substitute(t, {m.indices[0]: i}) for m in of_one for t, _ in m.factors)
    return list(dict.fromkeys(t for t in found if is_power(t)))


def _instances(p: Prover, i: Term) -> Iterator[Theorem]:
    for g in p.known():
        if g.conclusion.op == "forall" and g.conclusion.data[0] == "fin":
            try:
                yield infer("specialise", [g], i)
            except KernelError:
                continue


def _single_terms(p: Prover, m: Monomial, target: Poly, work: Normaliser) -> Iterator[Theorem]:
    """0 <= Sum over j of (1 - delta(i, j))^2 t(j): the term at i is at most the sum."""
    (j,) = m.indices
    free = {s for n in target for t, _ in n.factors for s in T.free_symbols(t)}
    places = [s for s in free if isinstance(s, Term) and s.children == j.children]
    places = [s for s in places if not s.data[0].startswith("%")]
    if not places:
        return
    p.opened += 1
    k = T.var(f"_i{p.opened}", "fin", j.children[0])
    term = T.substitute(monomial_term(Monomial((), m.factors), Fraction(1)), {j: k})
    instances = list(_instances(p, k))
    with p.remembering(*instances):
        try:
            nonneg = p.nonneg(term)
        except _FAILED:
            return
    for i in sorted(places, key=lambda s: s.data[0]):
        other = T.sub(T.ONE, T.delta(i, k))
        each = p.order(T.le(T.ZERO, T.mul(T.power(other, 2), term)), (1, p.square(other), nonneg))
        yield p.sum_order(each, k)


# ---------------------------------------------------------------------------- squares


def _squares(p: Prover, m: Monomial, work: Normaliser) -> Iterator[Theorem]:
    """Sums of squares in which the double sum occurs as a product of two equal sums.

    Sum over c of (Sum over i of u(i, c))^2 and, by Lagrange's identity, the sum over i and j of
    (v(i) w(j) - v(j) w(i))^2 for u = v w.
    """
    names = {i: T.var(f"_j{k}", "fin", i.children[0]) for k, i in enumerate(m.indices)}
    factors = [T.substitute(t, names) for t, e in m.factors for _ in range(abs(e)) if e > 0]
    if any(e < 0 for _, e in m.factors) or not 1 < len(factors) <= MAX_FACTORS or len(factors) % 2:
        return
    first, *others = factors
    for chosen in combinations(others, len(factors) // 2 - 1):
        half = [first, *chosen]
        rest = list(others)
        for c in chosen:
            rest.remove(c)
        common, one, two = _shared(half, rest, list(names.values()))
        if not one or len(one) != len(two) or not _same(one, two, half, rest, work):
            continue
        total = T.mul(*half)
        for i in reversed(one):
            total = T.sum_over(i, total)
        each = p.square(total)
        yield p.sum_order(each, *common) if common else each
        if len(one) == 1 and not common:
            yield from _lagrange(p, half, one[0], two[0])
        return


def _shared(
    half: Sequence[Term], rest: Sequence[Term], indices: Sequence[Term]
) -> tuple[list[Term], list[Term], list[Term]]:
    """The indices that occur in both, only in the first, only in the second."""
    in_half, in_rest = (
        {s for t in part for s in T.free_symbols(t) if s in indices} for part in (half, rest)
    )
    common = [i for i in indices if i in in_half and i in in_rest]
    return (
        common,
        [i for i in indices if i in in_half and i not in in_rest],
        [i for i in indices if i in in_rest and i not in in_half],
    )


def _same(
    one: Sequence[Term], two: Sequence[Term], half: Sequence[Term], rest: Sequence[Term],
    work: Normaliser,
) -> bool:  # fmt: skip
    """Whether the sums of both halves over their own indices are the same."""
    a, b = T.mul(*half), T.mul(*rest)
    for i, j in zip(reversed(one), reversed(two), strict=True):
        a, b = T.sum_over(i, a), T.sum_over(j, b)
    return not plus(work.poly(a), work.poly(b), -1)


def _lagrange(p: Prover, factors: Sequence[Term], i: Term, j: Term) -> Iterator[Theorem]:
    for count in range(len(factors) // 2 + 1):
        for chosen in combinations(range(len(factors)), count):
            v = T.mul(*(factors[k] for k in chosen))
            w = T.mul(*(t for k, t in enumerate(factors) if k not in chosen))
            there = [T.substitute(t, {i: j}) for t in (v, w)]
            each = p.square(T.sub(T.mul(v, there[1]), T.mul(there[0], w)))
            yield p.sum_order(each, i, j)
