"""What shows inequalities between sums: squares, and what is known of every term.

``(sum x_i y_i)^2 <= (sum x_i^2)(sum y_i^2)`` holds since the sum of all ``(x_i y_j - x_j y_i)^2``
is not negative, and ``sum p_i x_i <= a`` for weights that sum to 1 and ``x_i <= a``, since that of
all ``p_i (a - x_i)`` is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, combinations_with_replacement, islice
from typing import Final, NamedTuple

from derive.kernel import terms as T
from derive.kernel.normal import Normaliser, Poly
from derive.kernel.rules import Item, Theorem, infer
from derive.kernel.terms import KernelError, Term
from derive.prover import Prover

#: Of how many different entries of one range squares are tried.
MAX_ENTRIES: Final = 4
#: How many sums are handed to the linear programme.
MAX_SUMS: Final = 60
#: How many equations are tried, and how many cofactors for each.
MAX_EQUATIONS: Final = 3
MAX_FACTORS: Final = 6


class Entry(NamedTuple):
    """What is added up over an index: a term with the index as bound index, and others in it."""

    body: Term
    others: tuple[Term, ...]

    def at(self, i: Term) -> Term:
        return T.instantiate(self.body, (i,))


def uses(p: Prover, goal: Term) -> list[tuple[Term, tuple[Theorem, ...]]]:
    """Cofactors and what they multiply, for the linear programme: sums that are not negative.

    They are made of what the goal and known equations add up, and of what is known of its terms;
    known equations come with the sums and the numbers in the goal as cofactors.
    """
    work = Normaliser()
    equations = [g for g in p.known() if g.conclusion.op == "eq"][:MAX_EQUATIONS]
    target = work.poly(T.sub(*goal.children))
    polys = [target, *(work.poly(T.sub(*g.conclusion.children)) for g in equations)]
    found: list[Theorem] = []
    for size, entries in _entries(p, polys).items():
        kept = entries[:MAX_ENTRIES]
        signs = _signs(p, size, kept)
        found += islice(_squares(p, goal, size, kept), MAX_SUMS)
        found += islice(_weighted(p, goal, size, kept, signs), MAX_SUMS)
    once = list({t.conclusion: t for t in found}.values())
    sizes = [(t, e) for m in target for t, e in m.factors if e < 0 and t.op == "var"]
    below = dict.fromkeys((t, e) for t, e in sizes if t.data[1] == "dim")
    cofactors = [T.ONE, *(T.power(t, e) for t, e in below)]
    out: list[tuple[Term, tuple[Theorem, ...]]] = [(c, (t,)) for c in cofactors for t in once]
    parts = [t for t in T.subterms(goal) if t.op in ("sum", "var") and not t.loose]
    factors = [T.ONE, *(t for t in dict.fromkeys(parts) if t.op == "sum" or t.data[1] == "real")]
    for t in equations:
        for c in factors[:MAX_FACTORS]:
            out += [(c, (t,)), (T.neg(c), (t,))]
    return out


def at_free_indices(p: Prover, goal: Term) -> Iterator[Theorem]:
    """What is known for all indices of two ranges or more, or added up, at those of the goal.

    For all i and j: 0 <= A_ij, gives for all j: 0 <= A_kj.
    """
    for known in p.known():
        c = known.conclusion
        if c.op == "forall" and c.data[0] == "fin" and not c.children[0].loose:
            for k in _free_indices(goal, c.children[0]):
                instance = infer("specialise", [known], k)
                parts = range(len(instance.conclusion.children))
                if instance.conclusion.op == "and":
                    yield from (p.part(instance, part) for part in parts)
                else:
                    yield instance


def alike(p: Prover, goal: Term) -> Iterator[Theorem]:
    """For all j: x_j = x_k, with k of the goal, from what is known for all i and j: x_i = x_j."""
    for known in at_free_indices(p, goal):
        c = known.conclusion
        if c.op == "forall" and c.data[0] == "fin" and c.children[-1].op == "eq":
            j = _fresh(p, c.children[0])
            at = infer("specialise", [known], j)
            yield p.for_all(p.equal(*reversed(at.conclusion.children), (-1, at), show=False), j)


# ---------------------------------------------------------------------------- squares


def _squares(p: Prover, goal: Term, size: Term, entries: Sequence[Entry]) -> Iterator[Theorem]:
    i, j = _fresh(p, size), _fresh(p, size)
    for e in entries:
        yield from _square(p, T.sum_over(i, e.at(i)), *e.others)
        yield from _square(p, e.at(i), i, *e.others)
        yield from _square(p, T.sub(e.at(i), e.at(j)), i, j, *e.others)
        for k in _free_indices(goal, size):
            rest = T.sub(T.ONE, T.delta(k, i))
            yield from _square(p, T.mul(rest, e.at(i)), i, *e.others)
    for e, f in combinations(entries, 2):
        others = tuple(dict.fromkeys((*e.others, *f.others)))
        yield from _square(p, T.sub(e.at(i), f.at(i)), i, *others)
        yield from _square(p, T.add(e.at(i), f.at(i)), i, *others)
        across = T.sub(T.mul(e.at(i), f.at(j)), T.mul(e.at(j), f.at(i)))
        yield from _square(p, across, i, j, *others)
        yield from _square(p, T.sub(T.sum_over(i, e.at(i)), T.sum_over(i, f.at(i))), *others)


def _square(p: Prover, t: Term, *indices: Term) -> Iterator[Theorem]:
    """0 <= t^2, summed over the indices; nothing where the range of one may be empty."""
    try:
        yield _summed(p, p.square(t), *indices)
    except KernelError:
        return


def _summed(p: Prover, theorem: Theorem, *indices: Term) -> Theorem:
    return p.sum_order(theorem, *indices) if indices else theorem


# ---------------------------------------------------------------------------- what is known


def _signs(p: Prover, size: Term, entries: Sequence[Entry]) -> list[Theorem]:
    """For all i of that range: inequalities that are known, and those of absolute values."""
    out: list[Theorem] = []
    for known in p.known():
        c = known.conclusion
        if c.op == "forall" and c.data[0] == "fin" and c.children[0] is size:
            out += _parts(p, infer("specialise", [known], i := _fresh(p, size)), i)
    for e in entries:
        i = _fresh(p, size)
        t = e.at(i)
        for inside in (s.children[0] for s in T.subterms(t) if s.op == "fn" and s.data == "abs"):
            if not e.others:
                for a in (inside, T.neg(inside)):
                    out.append(p.for_all(_below_its_size(p, a, inside), i))
    return out


def _parts(p: Prover, theorem: Theorem, i: Term) -> Iterator[Theorem]:
    if theorem.conclusion.op == "and":
        for k in range(len(theorem.conclusion.children)):
            yield from _parts(p, p.part(theorem, k), i)
    elif theorem.conclusion.op in ("le", "lt"):
        yield p.for_all(theorem, i)


def _below_its_size(p: Prover, a: Term, inside: Term) -> Theorem:
    """a <= |x|, for a = x or a = -x."""
    goal = T.le(a, T.fn("abs", inside))

    def branch(same: Theorem, case: Theorem) -> Theorem:
        try:
            return p.order(goal, (T.num(-1), same))
        except KernelError:
            return p.order(goal, (T.num(-1), same), (T.num(2), case))

    return p.cases(
        p.dichotomy(T.ZERO, inside),
        lambda case: branch(p.mp(p.axiom("abs-nonneg", inside), case), case),
        lambda case: branch(
            p.mp(p.axiom("abs-nonpos", inside), p.order(T.le(inside, T.ZERO), (T.ONE, case))), case
        ),
    )


def _weighted(
    p: Prover, goal: Term, size: Term, entries: Sequence[Entry], signs: Sequence[Theorem]
) -> Iterator[Theorem]:
    """Sums of what is known not to be negative, of products of two, and with squares."""
    i, j = _fresh(p, size), _fresh(p, size)
    for known in signs:
        at = p.at(known, i)
        yield _sum_of(p, known, i)
        for k in _free_indices(goal, size):
            alone = T.sub(T.ONE, T.delta(k, i))
            yield from _product(p, (p.square(alone), at), i)
            yield p.at(known, k)
        for e in entries:
            if not e.others:
                yield from _product(p, (p.square(e.at(i)), at), i)
                yield from _product(
                    p, (at, p.at(known, j), p.square(T.sub(e.at(i), e.at(j)))), i, j
                )
    for one, two in combinations_with_replacement(signs, 2):
        yield from _product(p, (p.at(one, i), p.at(two, i)), i)


def _sum_of(p: Prover, known: Theorem, i: Term) -> Theorem:
    """The sums over i of both sides of what is known for all i, less where every term is."""
    below = p.sum_order(known, i)
    if known.conclusion.children[1].op != "lt":
        return below
    item = Item(((0, (i,)),), T.ONE, (i,))
    try:
        return infer("order", [known], T.lt(*below.conclusion.children), 1, (item,))
    except KernelError:  # there may be none
        return below


def _product(p: Prover, theorems: Sequence[Theorem], *indices: Term) -> Iterator[Theorem]:
    factors = [T.sub(*reversed(t.conclusion.children)) for t in theorems]
    try:
        product = p.order(T.le(T.ZERO, T.mul(*factors)), (T.ONE, *theorems))
        yield _summed(p, product, *indices)
    except KernelError:
        return


# ---------------------------------------------------------------------------- what is added up


def _fresh(p: Prover, size: Term) -> Term:
    p.opened += 1
    return T.var(f"_i{p.opened}", "fin", size)


def _free_indices(goal: Term, size: Term) -> list[Term]:
    found = [s for s in T.free_symbols(goal) if isinstance(s, Term) and s.data[1] == "fin"]
    return sorted((s for s in found if s.children[0] is size), key=lambda s: str(s.data[0]))


def _entries(p: Prover, polys: Sequence[Poly]) -> dict[Term, list[Entry]]:
    """What is added up, by the range of the index."""
    out: dict[Term, list[Entry]] = {}
    renamed: dict[Term, Term] = {}
    for m in (m for poly in polys for m in poly):
        for i in m.indices:
            if i.children[0].loose or _is_bound(i.children[0]):
                continue
            for t, e in m.factors:
                if e < 0 or i not in t.free:
                    continue
                inside = [k for k in m.indices if k is not i and k in t.free]
                if len(inside) > 1 or any(_is_bound(k.children[0]) for k in inside):
                    continue
                new = {k: renamed.setdefault(k, _fresh(p, k.children[0])) for k in inside}
                entry = Entry(T.substitute(T.abstract(t, (i,)), new), tuple(new.values()))
                found = out.setdefault(i.children[0], [])
                if entry not in found:
                    found.append(entry)
    return out


def _is_bound(size: Term) -> bool:
    return any(isinstance(s, Term) and s.data[0].startswith("%") for s in size.free)
