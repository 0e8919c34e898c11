"""Finding the arguments of kernel rules; nothing here decides what is true.

`equation` looks for the cofactors that make a goal a linear combination of given equations: it
uses every given equation as a rewriting rule, from its left side to its right, on the normal form
of what is left over, and hands the cofactors to the kernel.  Premises that turn out not to be
needed are dropped, so that a proof lists only what it uses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import permutations
from typing import Final

from derive import opaque
from derive.kernel import terms as T
from derive.kernel.normal import (
    Monomial,
    Normaliser,
    Poly,
    monomial_key,
    plus,
    to_term,
)
from derive.kernel.rules import Item, Refused, Theorem, check_member, fact_normaliser, infer
from derive.kernel.terms import KernelError, Lam, Term

MAX_STEPS: Final = 300


class NotFound(Exception):
    """The search gives up; `left` is what could not be shown to vanish."""

    def __init__(self, goal: Term, left: str, rest: Term | None = None) -> None:
        super().__init__(f"no proof found of {T.show(goal)}; left over: {left}")
        self.goal = goal
        self.left = left
        #: the same as a term, where rewriting got no further
        self.rest = rest


def equation(
    a: Term, b: Term, using: Sequence[Theorem] = (), facts: Sequence[Theorem] = ()
) -> Theorem:
    """A proof of ``a = b`` from equations (possibly under quantifiers) and facts."""
    goal = T.eq(a, b)
    theorem = _with_opaque_parts(goal, using)
    if theorem is not None:
        return theorem
    if a is b or not facts:
        return _equation(goal, using, ())
    try:
        return _equation(goal, using, ())
    except NotFound:
        pass
    theorem = _equation(goal, using, facts)
    return _without_spare_facts(goal, theorem, facts)


def _with_opaque_parts(goal: Term, using: Sequence[Theorem]) -> Theorem | None:
    try:
        return opaque.proved(goal, using, lambda g, u: _equation(g, u, ()))
    except (NotFound, KernelError):
        return None


def _equation(goal: Term, using: Sequence[Theorem], facts: Sequence[Theorem]) -> Theorem:
    a, b = goal.children
    work = Normaliser() if not facts else fact_normaliser("search", facts)
    rest = plus(work.poly(a), work.poly(b), -1)
    if not rest:
        return infer("linear-combination", [*facts], goal, 0, ())
    taken = {s.data[0] if isinstance(s, Term) else s for s in T.free_symbols(goal)}
    for p in using:
        for f in (*p.hypotheses, p.conclusion):
            taken |= {s.data[0] if isinstance(s, Term) else s for s in T.free_symbols(f)}
    rules = [_Rewrite(n, p, work) for n, p in enumerate(using)]
    items: list[Item] = []
    for _ in range(MAX_STEPS):
        if not rest:
            break
        item = _first_match(rest, rules, work, taken)
        if item is None:
            raise NotFound(goal, T.show(to_term(rest)), to_term(rest))
        items.append(item)
        rest = plus(rest, work.poly(_value(item, using, work)), -1)
    if rest:
        raise NotFound(goal, T.show(to_term(rest)))
    numbers = sorted({n for i in items for n, _ in i.uses})
    renamed = {n: k for k, n in enumerate(numbers)}
    final = tuple(
        Item(tuple((renamed[n], v) for n, v in i.uses), i.cofactor, i.indices) for i in items
    )
    premises = [using[n] for n in numbers] + list(facts)
    return infer("linear-combination", premises, goal, len(numbers), final)


def combination(
    goal: Term, equations: Sequence[Theorem], items: tuple[Item, ...], facts: Sequence[Theorem]
) -> Theorem:
    """The goal from given cofactors, with as few of the facts as it takes."""

    def combined(goal: Term, equations: Sequence[Theorem]) -> Theorem:
        return infer("linear-combination", equations, goal, len(equations), items)

    try:
        return opaque.proved(goal, equations, combined) or combined(goal, equations)
    except KernelError:
        pass
    try:
        return combined(goal, equations)
    except KernelError:
        premises = [*equations, *facts]
    theorem = infer("linear-combination", premises, goal, len(equations), items)
    return _without_spare_facts(goal, theorem, facts) if len(facts) > 1 else theorem


def _without_spare_facts(goal: Term, theorem: Theorem, facts: Sequence[Theorem]) -> Theorem:
    """Drop every fact without which the same combination still goes through."""
    count, items = theorem.args[1], theorem.args[2]
    equations, kept = list(theorem.premises[:count]), list(facts)
    for f in facts:
        fewer = [g for g in kept if g is not f]
        try:
            theorem = infer("linear-combination", [*equations, *fewer], goal, count, items)
            kept = fewer
        except KernelError:
            continue
    return theorem


def _value(item: Item, using: Sequence[Theorem], work: Normaliser) -> Term:
    ((number, values),) = item.uses
    c = _instance(using[number].conclusion, values, work)
    assert c is not None
    value = T.mul(item.cofactor, T.sub(*c.children))
    for i in reversed(item.indices):
        value = T.sum_over(i, value)
    return value


def _instance(c: Term, values: Sequence[Term | Lam], work: Normaliser) -> Term | None:
    """The equation at the values, None if one of them is out of range."""
    for v in values:
        size = c.children[0] if c.data[0] == "fin" else None
        try:
            check_member("search", v, c.data, size, work)
        except Refused:
            return None
        c = T.instantiate(c.children[-1], (v,))
    return c


@dataclass(frozen=True)
class _Lead:
    """What a rewriting rule replaces: one monomial with pattern variables."""

    variables: tuple[Term, ...]
    indices: tuple[Term, ...]
    factors: tuple[tuple[Term, int], ...]
    coefficient: Fraction


class _Rewrite:
    """An equation, read from left to right."""

    def __init__(self, number: int, theorem: Theorem, work: Normaliser) -> None:
        self.number = number
        self.theorem = theorem
        plain = not work.signs and not work.integers
        lead = _plain_lead(theorem.conclusion) if plain else _lead(theorem.conclusion, work)
        self.usable = lead is not None
        if lead is not None:
            self.lead = lead


@cache
def _plain_lead(conclusion: Term) -> _Lead | None:
    return _lead(conclusion, Normaliser())


def _lead(conclusion: Term, work: Normaliser) -> _Lead | None:
    """What an equation under quantifiers replaces; None if it is of no use as a rule."""
    variables: list[Term] = []
    c = conclusion
    while c.op == "forall" and c.data[0] != "tensor":
        v = T.var(f"?{len(variables)}", c.data[0], *c.children[:-1])
        variables.append(v)
        c = T.instantiate(c.children[-1], (v,))
    if c.op != "eq":
        return None
    left = c.children[0]
    whole = work.poly(T.sub(*c.children))
    start = work.poly(left.children[0] if left.op == "add" else left)
    for m in sorted(start, key=_weight):
        if m in whole:
            opened = work.opened(m)
            return _Lead(tuple(variables), opened.indices, opened.factors, whole[m])
    return None


def _weight(m: Monomial) -> tuple[int, object]:
    return (-len(m.factors), monomial_key(m))


def _first_match(
    rest: Poly, rules: Sequence[_Rewrite], work: Normaliser, taken: set[str]
) -> Item | None:
    for m in sorted(rest, key=monomial_key):
        names: dict[Term, Term] = {}
        for i in m.indices:
            k = len(names)
            while f"i{k}" in taken:
                k += 1
            names[i] = T.var(f"i{k + 1000 * len(names)}", "fin", i.children[0])
        indices = tuple(names.values())
        factors = [(T.substitute(t, names), e) for t, e in m.factors]
        target = Monomial(indices, tuple(factors))
        for r in rules:
            if not r.usable:
                continue
            for item in _matches(target, rest[m], r, work):
                return item
    return None


def _matches(m: Monomial, c: Fraction, r: _Rewrite, work: Normaliser) -> Iterator[Item]:
    """The items that cancel ``c * m`` by the rule `r`."""
    for binding, used in _bind(list(r.lead.factors), list(m.factors), {}, r, ()):
        values = []
        for v in r.lead.variables:
            if v not in binding:
                break
            values.append(binding[v])
        else:
            item = _item(m, c, r, binding, used, tuple(values), work)
            if item is not None:
                yield item


def _item(
    m: Monomial, c: Fraction, r: _Rewrite, binding: dict[Term, Term],
    used: tuple[int, ...], values: tuple[Term, ...], work: Normaliser,
) -> Item | None:  # fmt: skip
    inner = [binding.get(i) for i in r.lead.indices]
    if any(i not in m.indices for i in inner) or len(set(inner)) != len(inner):
        return None
    left: list[Term] = []
    for at, (t, e) in enumerate(m.factors):
        e -= sum(r.lead.factors[k][1] for k, u in enumerate(used) if u == at)
        if e:
            left.append(t if e == 1 else T.power(t, e))
    cofactor = T.mul(T.num(c / r.lead.coefficient), *left)
    outer = tuple(i for i in m.indices if i not in inner)
    if any(i in T.free_symbols(cofactor) for i in inner if i is not None):
        return None
    if any(i in T.free_symbols(v) for i in inner if i is not None for v in values):
        return None
    if _instance(r.theorem.conclusion, values, work) is None:
        return None
    return Item(((r.number, values),), cofactor, outer)


def _bind(
    pattern: list[tuple[Term, int]], target: list[tuple[Term, int]],
    binding: dict[Term, Term], r: _Rewrite, used: tuple[int, ...],
) -> Iterator[tuple[dict[Term, Term], tuple[int, ...]]]:  # fmt: skip
    """Match every factor of the pattern with a factor of the target that divides by it."""
    if not pattern:
        yield binding, used
        return
    (p, e), *others = pattern
    for at, (t, f) in enumerate(target):
        if at in used or f * e < 0 or abs(f) < abs(e):
            continue
        for extended in _match(p, t, binding, r):
            yield from _bind(others, target, extended, r, (*used, at))


def _match(p: Term, t: Term, binding: dict[Term, Term], r: _Rewrite) -> Iterator[dict[Term, Term]]:
    """Structural matching; what has no order (sums, maxima) matches in any, if it is short."""
    if p in r.lead.variables or p in r.lead.indices:
        if p in binding:
            if binding[p] is t:
                yield binding
        elif not t.loose:
            yield {**binding, p: t}
        return
    if p is t:
        yield binding
        return
    if p.op != t.op or p.data != t.data or len(p.children) != len(t.children):
        return
    orders: Iterator[tuple[Term, ...]] = iter([t.children])
    unordered = p.op in ("add", "mul", "delta") or (p.op == "fn" and p.data in ("max", "min"))
    if unordered and len(p.children) <= 4:
        orders = permutations(t.children)
    for children in orders:
        states = [binding]
        for a, b in zip(p.children, children, strict=True):
            states = [s for state in states for s in _match(a, b, state, r)]
        yield from states


# ---------------------------------------------------------------------------- inverses


def cancellation(t: Term, facts: Sequence[Theorem] = ()) -> Theorem:
    """``t^-1 * t = 1`` for a composite `t` that is known not to vanish.

    The normal form multiplies such a product out; this equation lets it be put together again.
    """
    nonzero = decided(T.negate(T.eq(t, T.ZERO)), facts)
    return infer("modus-ponens", [infer("axiom", [], "inverse", t), nonzero])


def decided(goal: Term, facts: Sequence[Theorem] = ()) -> Theorem:
    """A formula that exact evaluation shows, with as few of the facts as it takes."""
    kept: list[Theorem] = []
    try:
        return infer("decide", kept, goal)
    except KernelError:
        kept = list(facts)
    theorem = infer("decide", kept, goal)
    for f in facts if len(facts) > 1 else ():  # without any it failed
        fewer = [g for g in kept if g is not f]
        try:
            theorem = infer("decide", fewer, goal)
            kept = fewer
        except KernelError:
            continue
    return theorem


def inverses(p: Poly) -> list[Term]:
    """The composite terms that occur inverted in a polynomial."""
    return list(
        dict.fromkeys(t for m in p for t, e in m.factors if e < 0 and t.op in ("add", "sum"))
    )


def leftover(a: Term, b: Term) -> str:
    """What is left of a - b in normal form, for messages."""
    work = Normaliser()
    return T.show(to_term(plus(work.poly(a), work.poly(b), -1)))


def opposed(goal: Term, premises: Sequence[Theorem], items: Sequence[Item]) -> Theorem | None:
    """0 < 0 from x < y and y <= x, of which it is no matter how long they are."""
    whole = [Item(((k, ()),), T.ONE) for k in range(2)]
    if goal is not T.lt(T.ZERO, T.ZERO) or len(premises) != 2 or list(items) != whole:
        return None
    below, back = premises
    if (below.conclusion.op, back.conclusion.op) != ("lt", "le"):
        return None
    x, y = below.conclusion.children
    if back.conclusion.children != (y, x):
        return None
    theorem = _two_ways()
    for value in (x, y):
        theorem = infer("specialise", [theorem], value)
    for premise in premises:
        theorem = infer("modus-ponens", [theorem, premise])
    return theorem


@cache
def _two_ways() -> Theorem:
    """For all x, y: x < y -> y <= x -> 0 < 0."""
    x, y = T.var("x", "real"), T.var("y", "real")
    parts = T.lt(x, y), T.le(y, x)
    each = tuple(Item(((k, ()),), T.ONE) for k in range(2))
    theorem = infer("order", [infer("assume", [], p) for p in parts], T.lt(T.ZERO, T.ZERO), 2, each)
    for p in reversed(parts):
        theorem = infer("discharge", [theorem], p)
    for v in (y, x):
        theorem = infer("generalise", [theorem], v)
    return theorem
