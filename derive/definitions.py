"""Symbols that the premises of a statement define, and the values that this gives them.

A premise such as ``d = 2 r``, ``for all i < r: omega_i = 10000^(-2i/d)``, ``for all p, i < r:
PE(p, 2i) = sin(p omega_i)`` or ``for all i < h, c < k: C(i k + c) = H(i, c)`` says what its left
side is, and so does ``for all l: v(l + 1) = a v(l) + b`` up to the value of v(0).  Whoever wants an
example then chooses the other symbols only.  Nothing here is trusted: that the premises hold at the
values has to be proved like everything else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from typing import Final

from derive.kernel import terms as T
from derive.kernel.normal import UNIT, Monomial, Normaliser, literal
from derive.kernel.terms import KernelError, Lam, Term

Values = dict[Term | str, Term | Lam]


@dataclass(frozen=True)
class _Line:
    """The argument ``step * variable + start``."""

    variable: Term | None
    step: int
    start: int

    @property
    def variables(self) -> tuple[Term, ...]:
        return () if self.variable is None else (self.variable,)


#: The argument of a first value.
_FIRST: Final = (_Line(None, 0, 0),)


@dataclass(frozen=True)
class _Block:
    """The argument ``row * columns + column``, where the column is an index below `columns`."""

    row: Term
    column: Term

    @property
    def variables(self) -> tuple[Term, ...]:
        return (self.row, self.column)


@dataclass(frozen=True)
class _Clause:
    """``symbol(arguments) = value``."""

    symbol: Term | str
    arguments: tuple[_Line | _Block, ...]
    value: Term

    @property
    def recurs(self) -> bool:
        """Whether it gives ``v(l + 1)`` from ``v(l)``, in the same way for all l."""
        place = self.arguments[0] if len(self.arguments) == 1 else None
        if not isinstance(place, _Line) or (place.step, place.start) != (1, 1):
            return False
        before = T.apply(str(self.symbol), *place.variables)
        rest = _with(self.value, before, T.ZERO)
        return rest is not self.value and T.free_symbols(rest).isdisjoint(
            [self.symbol, *place.variables]
        )


def _with(t: Term, part: Term, other: Term) -> Term:
    """`t` with something else for a closed part of it."""
    return other if t is part else T.map_children(t, lambda c, _: _with(c, part, other))


def defined_symbols(goal: Term) -> frozenset[Term | str]:
    """The symbols to which the premises of `goal` give a value in terms of the others."""
    return frozenset(_clauses(goal))


def spelled_out(goal: Term) -> frozenset[Term | str]:
    """The defined symbols of which the premises leave nothing open.

    ``v(0) = 1`` alone gives one value of v, and a recurrence gives none without a first one.
    """
    clauses = _clauses(goal)
    return frozenset(s for s in clauses if isinstance(s, Term) or _give_all(clauses[s]))


def without_first_value(goal: Term) -> frozenset[str]:
    """The sequences of which a recurrence is given and no first value."""
    clauses = _clauses(goal)
    return frozenset(
        s for s in clauses
        if isinstance(s, str) and any(c.recurs for c in clauses[s]) and not _give_all(clauses[s])
    )  # fmt: skip


def _give_all(clauses: Sequence[_Clause]) -> bool:
    if any(c.recurs for c in clauses):
        return any(c.arguments == _FIRST for c in clauses)
    return any(all(a.variables for a in c.arguments) for c in clauses)


def only_defines(p: Term, earlier: Sequence[Term]) -> bool:
    """Whether `p` gives a value to one symbol, of which nothing was said before, and no more.

    Every such equation can be met, whatever the other symbols are.  Sizes are not defined: what
    is said of them holds for some sizes only.
    """
    found = list(_defining(p, ())) if p.op != "and" else []
    if len(found) != 1:
        return False
    symbol, value = found[0].symbol, found[0].value
    once = sum(t is symbol or (t.op == "app" and t.data.head == symbol) for t in T.subterms(p)) == 1
    if not once or any(symbol in T.free_symbols(t) for t in earlier):
        return False
    if isinstance(symbol, str) or symbol.data[1] == "real":
        return True
    norm = Normaliser()
    whole = norm.is_int(value) and (symbol.data[1] == "int" or norm.nonneg(norm.poly(value)))
    return symbol.data[1] in ("int", "nat") and whole


def complete(goal: Term, values: Values) -> Values:
    """The values, and those of the symbols that the premises define and `values` leaves out."""
    out = dict(values)
    for symbol, clauses in _clauses(goal).items():
        if symbol in out:
            continue
        scalars = {s: v for s, v in out.items() if isinstance(s, Term) and isinstance(v, Term)}
        tensors = {s: v for s, v in out.items() if isinstance(s, str) and isinstance(v, Lam)}
        try:
            if isinstance(symbol, str):
                out[symbol] = _entries(clauses, scalars, tensors)
            else:
                value = T.substitute(clauses[0].value, scalars, tensors)
                out[symbol] = Normaliser().term(value)
        except KernelError:
            continue
    return out


def _entries(clauses: list[_Clause], scalars: dict[Term, Term], tensors: dict[str, Lam]) -> Lam:
    arity = len(clauses[0].arguments)
    places = [T.var(f"_a{k}") for k in range(arity)]
    for clause in clauses:
        if clause.recurs:
            return _recurrence(clause, clauses, scalars, tensors)
    parts = []
    for clause in clauses:
        inside, where = [], dict(scalars)
        for place, argument in zip(places, clause.arguments, strict=True):
            inside += _solve(argument, place, where)
        parts.append(T.mul(*inside, T.substitute(clause.value, where, tensors)))
    return Lam(arity, T.abstract(T.add(*parts), tuple(places)))


def _recurrence(
    clause: _Clause, clauses: Sequence[_Clause], scalars: dict[Term, Term], tensors: dict[str, Lam]
) -> Lam:
    """v(l) for v(l + 1) = a v(l) + b with numbers a and b; v(0) is 1 where it is free.

    a^l v(0) + b (1 - a^l) / (1 - a), and v(0) + l b for a = 1.
    """
    symbol, norm = str(clause.symbol), Normaliser()

    def after(before: Term) -> Term:
        value = _with(clause.value, T.apply(symbol, *clause.arguments[0].variables), before)
        return T.substitute(value, scalars, tensors)

    x = T.var("_before")
    b = literal(norm.poly(after(T.ZERO)))
    one = literal(norm.poly(after(T.ONE)))
    if (
        b is None
        or one is None
        or not norm.same(after(x), T.add(T.mul(T.num(one - b), x), T.num(b)))
    ):
        raise KernelError(f"not a linear recurrence with numbers for {symbol}")
    a, place = one - b, T.var("_a0")
    known = [c.value for c in clauses if c.arguments == _FIRST]
    first = T.substitute(known[0], scalars, tensors) if known else T.ONE
    power = T.product(place, T.num(a))
    share = place if a == 1 else T.mul(T.num(1 / (1 - a)), T.sub(T.ONE, power))
    return Lam(1, T.abstract(T.add(T.mul(power, first), T.mul(T.num(b), share)), (place,)))


def _solve(argument: _Line | _Block, place: Term, where: dict[Term, Term]) -> list[Term]:
    """Set the variables so that the argument is `place`; factors that are 0 where it cannot be."""
    match argument:
        case _Block(row, column):
            columns = T.substitute(column.children[0], dict(where))
            where[row] = T.fn("floor", T.div(place, columns))
            where[column] = T.fn("mod", place, columns)
        case _Line(None, _, start):
            return [T.delta(place, T.num(start))]
        case _Line(Term() as variable, 1, start):
            where[variable] = place if start == 0 else T.sub(place, T.num(start))
        case _Line(Term() as variable, step, start):
            where[variable] = T.fn("floor", T.div(place, T.num(step)))
            return [T.delta(T.fn("mod", place, T.num(step)), T.num(start))]
    return []


def _clauses(goal: Term) -> dict[Term | str, list[_Clause]]:
    """The definitions in the order of the premises, none of which leads back to its symbol."""
    out: dict[Term | str, list[_Clause]] = {}
    needs: dict[Term | str, frozenset[Term | str]] = {}
    while goal.op == "imp":
        for clause in _defining(goal.children[0], ()):
            inner = T.free_symbols(clause.value)
            if clause.recurs:
                inner -= {clause.symbol}
            below = inner.union(*(needs.get(s, frozenset()) for s in inner))
            if clause.symbol not in below and not any(clause.symbol in needs[s] for s in out):
                out.setdefault(clause.symbol, []).append(clause)
                needs[clause.symbol] = needs.get(clause.symbol, frozenset()) | below
        goal = goal.children[1]
    return out


def _defining(p: Term, variables: tuple[Term, ...]) -> Iterator[_Clause]:
    match p.op:
        case "and":
            for c in p.children:
                yield from _defining(c, variables)
        case "forall" if p.data[0] != "tensor":
            v = T.var(f"_d{len(variables)}", p.data[0], *p.children[:-1])
            yield from _defining(T.instantiate(p.children[-1], (v,)), (*variables, v))
        case "eq" if p.children[0].op == "var" and not variables:
            yield _Clause(p.children[0], (), p.children[1])
        case "eq" if p.children[0].op == "app":
            left, value = p.children
            plain = not left.data.arities and not left.data.random
            found = [_argument(c, variables) for c in left.children]
            arguments = tuple(a for a in found if a is not None)
            used = [v for a in arguments for v in a.variables]
            each_once = len(used) == len(variables) == len(set(used))
            if plain and len(arguments) == len(found) and each_once:
                yield _Clause(left.data.head, arguments, value)


def _argument(t: Term, variables: tuple[Term, ...]) -> _Line | _Block | None:
    """`t` as a literal, as ``step * variable + start`` with 0 <= start < step or step 1, or as
    ``row * columns + column``."""
    try:
        p = Normaliser().poly(t)
    except KernelError:
        return None
    if any(c.denominator != 1 for c in p.values()):
        return None
    start = int(p.get(UNIT, 0))
    (m, c), *others = [i for i in p.items() if i[0] != UNIT] or [(UNIT, Fraction(0))]
    if m == UNIT:
        return _Line(None, 0, start)
    step = int(c)
    found = [v for v in variables if m == Monomial((), ((v, 1),))]
    if found and not others and _fits(step, start):
        return _Line(found[0], step, start)
    return _block(t, variables)


def _block(t: Term, variables: tuple[Term, ...]) -> _Block | None:
    norm = Normaliser()
    for row, column in permutations(variables, 2):
        if not column.children or row.data[1] == "real" or row in T.free_symbols(column):
            continue  # the blocks would overlap
        if norm.same(t, T.add(T.mul(row, column.children[0]), column)):
            return _Block(row, column)
    return None


def _fits(step: int, start: int) -> bool:
    return step == 1 or 0 <= start < step
