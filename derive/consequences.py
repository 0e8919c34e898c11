"""What follows from hypotheses by themselves, so that the prover has it at hand.

Both sides of ``|x| <= c``, the squares of roots that are compared, the exponentials of logarithms
that are, and that no weight is more than what all of them add up to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from derive import lemmas, search
from derive.bounds import bounds
from derive.kernel import terms as T
from derive.kernel.normal import Normaliser
from derive.kernel.rules import Theorem, fact_normaliser, infer
from derive.kernel.terms import KernelError, Term
from derive.orders import order_of_exponentials
from derive.prover import Prover

#: So many consequences are remembered.
MAX_FOUND: Final = 12
Find = Callable[[Prover, Theorem], Iterator[Theorem]]
_FAILED = (search.NotFound, KernelError)


def of(p: Prover) -> list[Theorem]:
    """What follows from what is known, without what is known already."""
    return _found(p, (_squares, _exponentials, _weights))


def of_absolute_values(p: Prover) -> list[Theorem]:
    """x_i <= c, -c <= x_i and 0 <= c for what is known of the form |x_i| <= c."""
    at_once = [g for g in p.known() if _is_bounded(g.conclusion)]
    return _found(p, (_sides,), at_once) + [t for g in at_once for t in _nonneg_bound(p, g)]


def _is_bounded(c: Term) -> bool:
    while c.op == "forall" and c.data[0] != "tensor":
        c = c.children[-1]
    size = c.children[0] if c.op in ("le", "lt") else c
    return size.op == "fn" and size.data == "abs"


def _found(
    p: Prover, finds: Sequence[Find], among: Sequence[Theorem] | None = None
) -> list[Theorem]:
    known = {g.conclusion for g in p.known()}
    found: dict[Term, Theorem] = {}
    opened = p.opened
    for g in p.known() if among is None else among:
        for theorem in _of_known(p, g, finds):
            if theorem.conclusion not in known and not _is_plain(theorem.conclusion):
                found.setdefault(theorem.conclusion, theorem)
    p.opened = opened  # the variables are bound again
    return list(found.values())[:MAX_FOUND]


def _is_plain(c: Term) -> bool:
    """Whether it says nothing, as 2 = 2."""
    return c.op == "eq" and c.children[0] is c.children[1]


def _of_known(p: Prover, g: Theorem, finds: Sequence[Find]) -> Iterator[Theorem]:
    at, variables = _opened(p, g)
    if at.conclusion.op not in ("eq", "le", "lt"):
        return
    with p.remembering(*_instances(p, variables)):
        for find in finds:
            try:
                yield from (p.for_all(t, *variables) for t in find(p, at))
            except _FAILED:
                continue


def _opened(p: Prover, g: Theorem) -> tuple[Theorem, list[Term]]:
    """What is known for all numbers or indices, at new ones."""
    variables: list[Term] = []
    while g.conclusion.op == "forall" and g.conclusion.data[0] != "tensor":
        p.opened += 1
        sort = g.conclusion.data[0]
        variables.append(T.var(f"_c{p.opened}", sort, *g.conclusion.children[:-1]))
        g = infer("specialise", [g], variables[-1])
    return g, variables


def _instances(p: Prover, places: list[Term]) -> list[Theorem]:
    """What is known for all indices, at each of these, one quantifier after the other."""
    out: list[Theorem] = []
    for g in p.known() if places else ():
        reached = [g]
        for place in places:
            reached += [t for at in reached if (t := _instance(at, place)) is not None]
        out += reached[1:]
    return out


def _instance(g: Theorem, place: Term) -> Theorem | None:
    try:
        return infer("specialise", [g], place)
    except KernelError:
        return None


# ---------------------------------------------------------------------------- absolute values


def _sides(p: Prover, at: Theorem) -> Iterator[Theorem]:
    """x <= c and -c <= x from |x| <= c, and the same for <."""
    size, bound = at.conclusion.children
    if at.conclusion.op == "eq" or size.op != "fn" or size.data != "abs":
        return
    related = T.lt if at.conclusion.op == "lt" else T.le
    above, below = bounds(p, size)
    x = size.children[0]
    yield p.order(related(x, bound), (1, above), (1, at))
    yield p.order(related(T.neg(bound), x), (1, below), (1, at))


def _nonneg_bound(p: Prover, g: Theorem) -> Iterator[Theorem]:
    """0 <= c from |x_i| <= c for all i, where there is a first i."""
    while g.conclusion.op == "forall" and g.conclusion.data[0] != "tensor":
        first = _instance(g, T.ZERO)
        if first is None:
            return
        g = first
    if g.conclusion.op not in ("le", "lt"):
        return
    size, bound = g.conclusion.children
    if size.op == "fn" and size.data == "abs" and bound.op != "num":
        related = T.lt if g.conclusion.op == "lt" else T.le
        yield p.order(related(T.ZERO, bound), (1, g))


# ---------------------------------------------------------------------------- roots, logarithms


def _squares(p: Prover, at: Theorem) -> Iterator[Theorem]:
    """a^2 = b^2 from a = b, and a^2 <= b^2 from 0 <= a <= b, where one of the two is a root."""
    a, b = at.conclusion.children
    roots = lemmas.free_functions(at.conclusion, "sqrt")
    work = fact_normaliser("search", p.facts())
    defined = at.conclusion.op == "eq" and a.op in ("var", "app")  # the root is put in for it
    if defined or not roots or not any(_is_root(t, work) for t in (a, b)):
        return
    squares = T.power(a, 2), T.power(b, 2)
    if at.conclusion.op == "eq":
        yield p.equal(*squares, (T.add(a, b), at), show=False)
        return
    nonneg = p.nonneg(a)
    related = T.lt if at.conclusion.op == "lt" else T.le
    yield p.order(related(*squares), (1, at, at), (2, nonneg, at))


def _is_root(t: Term, work: Normaliser) -> bool:
    poly = work.poly(t)
    factors = next(iter(poly)).factors if len(poly) == 1 else ()
    return any(f.op == "fn" and f.data == "sqrt" for f, _ in factors)


def _exponentials(p: Prover, at: Theorem) -> Iterator[Theorem]:
    """e^a = e^b from a = b, and the same for <= and <, where one of the two is a logarithm."""
    a, b = at.conclusion.children
    if not any(t.op == "fn" and t.data == "log" for t in (a, b)):
        return
    match at.conclusion.op:
        case "lt":
            powers = p.mp(p.axiom("exp-increasing", a, b), at)
        case "le":
            powers = order_of_exponentials(p, at)
        case _:
            power, hole = T.fn("exp", a), T.var("_y", "real")
            itself = p.equal(power, power, show=False)
            powers = infer("leibniz", [at, itself], hole, T.eq(power, T.fn("exp", hole)))
    yield _simplified(p, powers)


def _simplified(p: Prover, theorem: Theorem) -> Theorem:
    """The relation between the normal forms of its sides."""
    work = fact_normaliser("search", p.facts())
    a, b = map(work.term, theorem.conclusion.children)
    if theorem.conclusion.op == "eq":
        return p.equal(a, b, (1, theorem), show=False)
    return p.order((T.lt if theorem.conclusion.op == "lt" else T.le)(a, b), (1, theorem))


# ---------------------------------------------------------------------------- weights


def _weights(p: Prover, at: Theorem) -> Iterator[Theorem]:
    """x_k <= c for all k, where the x_i add up to c and none of them is negative."""
    total, c = at.conclusion.children
    if at.conclusion.op != "eq" or total.op != "sum" or total.children[1].op != "app":
        return
    size, body = total.children
    p.opened += 2
    i, k = (T.var(f"_c{p.opened - s}", "fin", size) for s in range(2))
    at_i, at_k = (T.instantiate(body, (s,)) for s in (i, k))
    with p.remembering(*_instances(p, [i])):
        nonneg = p.nonneg(at_i)
    other = T.sub(T.ONE, T.delta(k, i))
    each = p.order(T.le(T.ZERO, T.mul(T.power(other, 2), at_i)), (1, p.square(other), nonneg))
    yield p.for_all(p.order(T.le(at_k, c), (1, p.sum_order(each, i)), (-1, at)), k)
