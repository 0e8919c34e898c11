"""Where a statement makes sense: one proof obligation for every partial operation in it.

The kernel's functions are total, so ``x/x - x/x = 0`` holds in it for every `x`.  A reader means
less: that the statement is defined.  `obligations` lists, for a formula, what has to hold for
every inverse, logarithm, root and real power in it to be used inside its natural domain, each
closed over the indices and premises under which the operation stands.
"""

from __future__ import annotations

from collections.abc import Iterator

from derive.kernel import terms as T
from derive.kernel.normal import Normaliser, Sign, literal
from derive.kernel.terms import Term


def obligations(formula: Term) -> tuple[Term, ...]:
    """The formulas that make `formula` well defined, without those that hold by sort alone."""
    found: dict[Term, None] = {}
    for o in _walk(formula, Normaliser(), 0):
        found.setdefault(o)
    return tuple(found)


def _walk(t: Term, norm: Normaliser, depth: int) -> Iterator[Term]:
    if t.op == "imp":
        yield from _walk(t.children[0], norm, depth)
        for o in _walk(t.children[1], norm, depth):
            yield T.implies(t.children[0], o)
        return
    if t.op in ("and", "or"):
        yield from _sequence(t.children, t.op, norm, depth)
        return
    if t.op in ("forall", "exists"):
        yield from _quantifier(t, norm, depth)
        return
    own = _condition(t, norm)
    if own is not None:
        yield own
    for i, child in enumerate(t.children):
        count = T.binders(t.op, t.data, i)
        if count == 0:
            yield from _walk(child, norm, depth)
        elif t.op == "grad" and i == t.data:
            yield from _open_tensor(child, t.data, norm, depth)
        else:
            yield from _open_indices(child, _sizes(t, i), norm, depth)


def _sequence(parts: tuple[Term, ...], op: str, norm: Normaliser, depth: int) -> Iterator[Term]:
    """A later conjunct (disjunct) is read where the earlier ones hold (fail)."""
    given: list[Term] = []
    for p in parts:
        for o in _walk(p, norm, depth):
            for g in reversed(given):
                o = T.implies(g, o)
            yield o
        given.append(p if op == "and" else T.negate(p))


def _quantifier(t: Term, norm: Normaliser, depth: int) -> Iterator[Term]:
    sort, arity = t.data
    if sort == "tensor":
        yield from _open_tensor(t.children[-1], arity, norm, depth)
        return
    if sort == "fin":
        yield from _walk(t.children[0], norm, depth)
    x = T.var(f"%o{depth}", sort, *t.children[:-1])
    for o in _walk(T.instantiate(t.children[-1], (x,)), norm, depth + 1):
        yield T.forall(x, o) if x in T.free_symbols(o) else o


def _open_tensor(body: Term, arity: int, norm: Normaliser, depth: int) -> Iterator[Term]:
    name = f"%O{depth}"
    for o in _walk(T.instantiate(body, (name,)), norm, depth + 1):
        if name in T.free_symbols(o):
            o = T.quantified("forall", "tensor", T.abstract_tensor(o, name, arity), arity=arity)
        yield o


def _open_indices(
    body: Term, sizes: tuple[Term, ...], norm: Normaliser, depth: int
) -> Iterator[Term]:
    xs = tuple(T.var(f"%o{depth + k}", "fin", n) for k, n in enumerate(sizes))
    for o in _walk(T.instantiate(body, xs), norm, depth + len(xs)):
        for x in reversed(xs):
            if x in T.free_symbols(o):
                o = T.forall(x, o)
        yield o


def _sizes(t: Term, i: int) -> tuple[Term, ...]:
    """The ranges of the indices that child `i` binds."""
    if t.op in ("sum", "prod"):
        return (t.children[0],)
    if t.op == "det":
        return (t.children[0], t.children[0])
    if t.op == "grad":
        return t.children[: t.data]
    count = T.binders(t.op, t.data, i)
    return t.children[i - count : i]


def _condition(t: Term, norm: Normaliser) -> Term | None:
    """What the operation at the root of `t` asks for, None if that is known to hold."""
    if t.op == "pow" and t.data < 0:
        base = t.children[0]
        known = norm.sign(norm.term(base)) in (Sign.POS, Sign.NONZERO)
        return None if known else T.negate(T.eq(base, T.ZERO))
    if t.op != "fn":
        return None
    x = t.children[0] if t.children else T.ZERO
    match t.data:
        case "sqrt":
            known = norm.sign(norm.term(x)) >= Sign.NONNEG
            return None if known else T.le(T.ZERO, x)
        case "log":
            return None if norm.sign(norm.term(x)) is Sign.POS else T.lt(T.ZERO, x)
        case "mod":
            known = norm.sign(norm.term(t.children[1])) in (Sign.POS, Sign.NONZERO)
            return None if known else T.negate(T.eq(t.children[1], T.ZERO))
        case "rpow":
            return _power_condition(t, norm)
        case _:
            return None


def _power_condition(t: Term, norm: Normaliser) -> Term | None:
    """A positive base; or an integer exponent, not negative at zero; or zero to a positive one."""
    base, exponent = t.children
    e = literal(norm.poly(exponent))
    if e is not None and e.denominator == 1 and e >= 0:
        return None
    if norm.sign(norm.term(base)) is Sign.POS:
        return None
    nonzero = T.negate(T.eq(base, T.ZERO))
    whole = T.conj(T.isint(exponent), T.disj(T.le(T.ZERO, exponent), nonzero))
    return T.disj(T.lt(T.ZERO, base), whole, T.conj(T.eq(base, T.ZERO), T.lt(T.ZERO, exponent)))
