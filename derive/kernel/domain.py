"""Where a statement makes sense: one proof obligation for every partial operation in it.

The kernel's functions are total, so ``x/x - x/x = 0`` holds in it for every `x`.  A reader means
less: that the statement is defined.  `obligations` lists, for a formula, what has to hold for
every inverse, logarithm, root and real power in it to be used inside its natural domain, and for
every range to be a natural number, each closed over the indices and premises under which the
operation stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

from derive.kernel import terms as T
from derive.kernel.normal import Normaliser, Sign, literal
from derive.kernel.terms import Lam, Term

#: An obligation, and whether it comes from the conclusion: from what is claimed to hold, rather
#: than from a premise, or from an instance that is only said to exist.
Duty = tuple[Term, bool]


@cache
def obligations(formula: Term) -> tuple[Term, ...]:
    """The formulas that make `formula` well defined, without those that hold by sort alone.

    A law of a function may have been used to tell: `laws_of_obligations`.
    """
    return tuple(dict.fromkeys(o for o, _ in _walk(formula, 0)[0]))


@cache
def laws_of_obligations(formula: Term) -> frozenset[str]:
    """The evaluations by which further obligations of `formula` are known to hold."""
    return _walk(formula, 0)[1]


@cache
def premise_obligations(formula: Term) -> tuple[Term, ...]:
    """The obligations that do not come from the conclusion."""
    return tuple(dict.fromkeys(o for o, mine in _walk(formula, 0)[0] if not mine))


@cache
def conclusion_obligations(formula: Term) -> tuple[Term, ...]:
    """The obligations whose failure leaves the conclusion undefined though all premises hold."""
    return tuple(dict.fromkeys(o for o, mine in _walk(formula, 0)[0] if mine))


@cache
def _is_total(t: Term) -> bool:
    """Whether nothing in `t` can be undefined, by the operations and ranges that occur."""
    if (t.op == "pow" and t.data < 0) or (
        t.op == "fn" and t.data in ("sqrt", "log", "mod", "rpow")
    ):
        return False
    return all(map(_is_natural, _ranges(t))) and all(map(_is_total, t.children))


@cache
def _is_natural(size: Term) -> bool:
    """Whether a range is known to be a natural number by sort alone."""
    return not size.loose and _range_conditions(size) == ((), frozenset())


@cache
def _walk(t: Term, depth: int) -> tuple[tuple[Duty, ...], frozenset[str]]:
    """The duties of a part in which the indices of `depth` binders have been opened.

    Also the evaluations by which further duties are known to be met.
    """
    if _is_total(t) or (t.op == "var" and T.is_reserved(t)):
        return (), frozenset()  # what an opened index ranges over was looked at where it was opened
    walk = _Walk()
    duties = tuple(walk.parts(t, depth))
    return duties, frozenset(walk.norm.used)


class _Walk:
    """A walk through one part; `norm` collects the evaluations that are used on the way."""

    def __init__(self) -> None:
        self.norm = Normaliser()

    def into(self, t: Term, depth: int) -> tuple[Duty, ...]:
        duties, laws = _walk(t, depth)
        self.norm.record(laws)
        return duties

    def parts(self, t: Term, depth: int) -> Iterator[Duty]:
        if t.op == "imp":
            yield from _assumed(self.into(t.children[0], depth))
            for o, mine in self.into(t.children[1], depth):
                yield T.implies(t.children[0], o), mine
            return
        if t.op == "not" and t.children[0].op not in ("eq", "le", "lt", "isint"):
            yield from _assumed(self.into(t.children[0], depth))
            return
        if t.op in ("and", "or"):
            yield from self.sequence(t.children, t.op, depth)
            return
        if t.op in ("forall", "exists"):
            yield from self.quantifier(t, depth)
            return
        own = _condition(t, self.norm)
        if own is not None:
            yield own, True
        for size in _ranges(t):
            yield from self.range_conditions(size)
        for i, child in enumerate(t.children):
            count = t.binds[i]
            if count == 0:
                yield from self.into(child, depth)
            elif t.op == "grad" and i == t.data:
                at_point = T.instantiate(child, (Lam(t.data, t.children[i + 1]),))
                yield from self.into(at_point, depth)
            else:
                yield from self.open_indices(child, _sizes(t, i), depth)

    def sequence(self, parts: tuple[Term, ...], op: str, depth: int) -> Iterator[Duty]:
        """A later conjunct (disjunct) is read where the earlier ones hold (fail)."""
        given: list[Term] = []
        for p in parts:
            for o, mine in self.into(p, depth):
                for g in reversed(given):
                    o = T.implies(g, o)
                yield o, mine
            given.append(p if op == "and" else T.negate(p))

    def quantifier(self, t: Term, depth: int) -> Iterator[Duty]:
        sort, arity = t.data
        if sort == "tensor":
            inner = self.open_tensor(t.children[-1], arity, depth)
        elif sort == "fin":
            yield from self.into(t.children[0], depth)
            yield from self.range_conditions(t.children[0])
            inner = self.open_indices(t.children[1], t.children[:1], depth)
        else:
            inner = self.open_variable(t.children[0], T.var(f"%o{depth}", sort), depth)
        yield from inner if t.op == "forall" else _assumed(inner)

    def open_tensor(self, body: Term, arity: int, depth: int) -> Iterator[Duty]:
        name = f"%O{depth}"
        for o, mine in self.into(T.instantiate(body, (name,)), depth + 1):
            if name in T.free_symbols(o):
                o = T.quantified("forall", "tensor", T.abstract_tensor(o, name, arity), arity=arity)
            yield o, mine

    def open_variable(self, body: Term, x: Term, depth: int) -> Iterator[Duty]:
        for o, mine in self.into(T.instantiate(body, (x,)), depth + 1):
            yield (T.forall(x, o) if x in T.free_symbols(o) else o), mine

    def open_indices(self, body: Term, sizes: tuple[Term, ...], depth: int) -> Iterator[Duty]:
        xs = tuple(T.var(f"%o{depth + k}", "fin", n) for k, n in enumerate(sizes))
        for o, mine in self.into(T.instantiate(body, xs), depth + len(xs)):
            for x in reversed(xs):
                if x in T.free_symbols(o) or not self.is_inhabited(x.children[0]):
                    o = T.forall(x, o)
            yield o, mine

    def range_conditions(self, size: Term) -> tuple[Duty, ...]:
        duties, laws = _range_conditions(size)
        self.norm.record(laws)
        return duties

    def is_inhabited(self, size: Term) -> bool:
        """Whether a range is not empty for sure: what stands under an empty one is never used."""
        return self.norm.has_sign(self.norm.term(size), Sign.POS)


def _assumed(duties: Iterable[Duty]) -> Iterator[Duty]:
    for o, _ in duties:
        yield o, False


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


def _ranges(t: Term) -> tuple[Term, ...]:
    """The ranges that the node itself mentions."""
    match t.op:
        case "sum" | "prod" | "det":
            return t.children[:1]
        case "grad":
            return t.children[: t.data]
        case "var":
            return t.children
        case "forall" | "exists":
            return t.children[:-1]
        case "app":
            bodies = (i for i in range(len(t.children)) if T.binders(t.op, t.data, i))
            return tuple(size for i in bodies for size in _sizes(t, i))
        case _:
            return ()


@cache
def _range_conditions(size: Term) -> tuple[tuple[Duty, ...], frozenset[str]]:
    """A range is a natural number; and the evaluations by which that is known."""
    norm, out = Normaliser(), []
    if not norm.is_int(size):
        out.append((T.isint(size), True))
    if not norm.nonneg(norm.poly(size)):
        out.append((T.le(T.ZERO, size), True))
    return tuple(out), frozenset(norm.used)


def _condition(t: Term, norm: Normaliser) -> Term | None:
    """What the operation at the root of `t` asks for, None if that is known to hold."""
    if t.op == "pow" and t.data < 0:
        base = t.children[0]
        known = norm.term_has_sign(base, Sign.NONZERO)
        return None if known else T.negate(T.eq(base, T.ZERO))
    if t.op != "fn":
        return None
    x = t.children[0] if t.children else T.ZERO
    match t.data:
        case "sqrt":
            return None if norm.term_has_sign(x, Sign.NONNEG) else T.le(T.ZERO, x)
        case "log":
            return None if norm.term_has_sign(x, Sign.POS) else T.lt(T.ZERO, x)
        case "mod":
            known = norm.term_has_sign(t.children[1], Sign.NONZERO)
            return None if known else T.negate(T.eq(t.children[1], T.ZERO))
        case "rpow":
            return _power_condition(t, norm)
        case _:
            return None


def _power_condition(t: Term, norm: Normaliser) -> Term | None:
    """A positive base; or an integer exponent, not negative at zero; or zero to a positive one."""
    base, exponent = t.children
    mark = len(norm.used)
    e = literal(norm.poly(exponent))
    if e is not None and e.denominator == 1 and e >= 0:
        return None
    norm.forget(mark)
    if norm.term_has_sign(base, Sign.POS):
        return None
    nonzero = T.negate(T.eq(base, T.ZERO))
    whole = T.conj(T.isint(exponent), T.disj(T.le(T.ZERO, exponent), nonzero))
    return T.disj(T.lt(T.ZERO, base), whole, T.conj(T.eq(base, T.ZERO), T.lt(T.ZERO, exponent)))
