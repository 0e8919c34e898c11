"""Proofs by induction over a size: statements about sums and products of any length.

The size n becomes N + 1 for a natural number N.  The step takes the last term off every sum and
product of length N + 2, and knows the statement for N + 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice, product
from typing import Final

from derive import powers, rewriting, search
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, fact_normaliser, infer
from derive.kernel.terms import KernelError, Term
from derive.prover import Prover
from derive.substitution import from_changed

Prove = Callable[[Term], Theorem]
#: So many sizes are tried.
MAX_SIZES: Final = 2
_FAILED = (search.NotFound, KernelError)


def by_induction(p: Prover, goal: Term, prove: Prove) -> Theorem:
    """`goal`, a relation or that something is an integer, by induction over one of its sizes."""
    failure: Exception = search.NotFound(goal, "no sum or power over a size")
    ways = (_over, _over_sizes) if powers.occur(goal) else (_over,)
    for way, n in product(ways, islice(_sizes(goal), MAX_SIZES)):
        try:
            return way(p, goal, n, prove)
        except _FAILED as error:
            failure = error
    raise failure


def _sizes(goal: Term) -> Iterator[Term]:
    """Sizes and naturals that are lengths or exponents, and not ranges of free indices."""
    fixed = {s.children[0] for s in T.free_symbols(goal) if isinstance(s, Term) and s.children}
    counts = [goal] if goal.op == "isint" else [c for t in T.subterms(goal) for c in _counts(t)]
    found = dict.fromkeys(s for c in counts for s in T.subterms(c) if s.op == "var")
    yield from (n for n in found if n.data[1] in ("dim", "nat") and n not in fixed)


def _counts(t: Term) -> tuple[Term, ...]:
    """The length of a sum or product, the exponent of a power."""
    if t.op == "fn" and t.data == "rpow":
        return t.children[1:]
    return t.children[:1] if t.op in ("sum", "prod") else ()


def _over(p: Prover, goal: Term, n: Term, prove: Prove) -> Theorem:
    p.opened += 1
    k = T.var(f"_n{p.opened}", "nat")
    sized = n.data[1] == "dim"

    def at(value: Term) -> Term:
        return T.substitute(goal, {n: T.add(value, T.ONE) if sized else value})

    base = prove(at(T.ZERO))
    with p.supposing(at(k)) as case:
        step = _unrolled(p, at(T.add(k, T.ONE)), k, prove)
    everywhere = p.induction(base, p.discharge(step, case), k)
    if not sized:
        return p.at(everywhere, n)
    before = T.sub(n, T.ONE)
    same = p.equal(T.add(before, T.ONE), n, show=False)
    return p.rewrite(same, p.at(everywhere, before), lambda x: T.substitute(goal, {n: x}))


def _over_sizes(p: Prover, goal: Term, n: Term, prove: Prove) -> Theorem:
    """The same from a size d to d + 1: sums over d have terms that can be named, by indices."""
    p.opened += 1
    d, k = T.var(f"_d{p.opened}", "dim"), T.var(f"_n{p.opened}", "nat")

    def at(value: Term) -> Term:
        return T.substitute(goal, {n: value})

    with p.supposing(at(d)) as case:
        step = p.discharge(_unrolled(p, at(T.add(d, T.ONE)), d, prove), case)
    step = p.for_all(p.at(p.for_all(step, d), T.add(k, T.ONE)), k)
    one = p.equal(T.ONE, T.add(T.ZERO, T.ONE), show=False)
    everywhere = infer("induction", [p.rewrite(one, prove(at(T.ONE)), at), step])
    before = T.sub(d, T.ONE)
    same = p.equal(T.add(before, T.ONE), d, show=False)
    positive = p.for_all(p.rewrite(same, p.at(everywhere, before), at), d)
    return p.at(positive, n) if n.data[1] == "dim" else _from_sizes(p, goal, n, positive, prove)


def zero_or_more(p: Prover, goal: Term, n: Term, prove: Prove) -> Theorem:
    """`goal` for a natural number n from that for 0 and that for any size."""
    p.opened += 1
    d = T.var(f"_d{p.opened}", "dim")
    positive = p.for_all(prove(T.substitute(goal, {n: d})), d)
    return _from_sizes(p, goal, n, positive, prove)


def _from_sizes(p: Prover, goal: Term, n: Term, positive: Theorem, prove: Prove) -> Theorem:
    def at(value: Term) -> Term:
        return T.substitute(goal, {n: value})

    zero = prove(at(T.ZERO))

    def none(case: Theorem) -> Theorem:
        nothing = infer("antisymmetry", [p.order(T.le(T.ZERO, n)), case])
        return p.rewrite(nothing, zero, at)

    def some(case: Theorem) -> Theorem:
        return p.at(positive, n, facts=[p.next_integer(case)])

    return p.cases(p.dichotomy(n, T.ZERO), none, some)


def _unrolled(p: Prover, goal: Term, k: Term, prove: Prove) -> Theorem:
    """`goal` from what it becomes with the last term taken off the sums and products."""
    changes = [_shorter(p, side, k) for side in goal.children]
    return from_changed(p, goal, changes, prove)


def _shorter(p: Prover, side: Term, k: Term) -> Theorem:
    """side = side', where every sum and product whose length grows with `k` lost its last term."""
    out = rewriting.same(side)
    for t in dict.fromkeys(T.subterms(side)):
        if t.op in ("sum", "prod") and not t.loose and k in T.free_symbols(t.children[0]):
            out = p.linked(out, rewriting.replaced(out.conclusion.children[1], _last(p, t)))
    return out


def _last(p: Prover, t: Term) -> Theorem:
    """The sum (product) without its last term, plus (times) that term."""
    size, body = t.children
    shorter = fact_normaliser("search", p.facts()).term(T.sub(size, T.ONE))
    split = infer("unroll", [], t.op, shorter, body)
    same = p.equal(T.add(shorter, T.ONE), size, show=False)
    right = split.conclusion.children[1]
    make = T.total if t.op == "sum" else T.product
    return p.rewrite(same, split, lambda x: T.eq(make(x, body), right))
