"""Values at which a false statement is likely to fail: what the search for counterexamples tries.

Small values come first.  The numbers, roots, logarithms and angles of the statement decide which
others are added; tensors get entries that are equal, zero, of either sign or different from each
other, in the shape in which they are used.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from itertools import chain, islice, product
from math import prod
from typing import Final

from derive import definitions
from derive.kernel import terms as T
from derive.kernel.normal import UNROLL, Normaliser, literal
from derive.kernel.terms import KernelError, Lam, Term

SYSTEMATIC: Final = 400
RANDOM: Final = 200
#: So many in all where a function of vectors occurs, which gets no values, or where the statement
#: is about a gradient, which evaluation cannot deny.
FEW: Final = 40
#: How many nodes one candidate may unfold to, and all of a search together.
LARGEST_WORK: Final = 20_000
WORK: Final = 500_000
UNKNOWN_LENGTH: Final = 3
#: With tensors, every choice of the other values is tried with so many fillings.
FILLINGS: Final = 4
LARGEST_AXIS: Final = 4
LARGEST_TABLE: Final = 64

Values = dict[Term | str, Term | Lam]
Entry = Callable[[tuple[int, ...], random.Random], Term]


def candidates(goal: Term, seed: int) -> Iterator[Values]:
    """Values for the free symbols of `goal` that its premises do not define.

    None if random quantities occur: evaluation knows no expectations.
    """
    parts = list(T.subterms(goal))
    heads = {t.data for t in parts if t.op == "app"}
    if any(head.random for head in heads):
        return iter(())
    hopeless = any(head.arities for head in heads) or any(t.op in ("grad", "diff") for t in parts)
    return _affordable(goal, islice(_all(goal, seed), FEW if hopeless else None))


def _affordable(goal: Term, found: Iterator[Values]) -> Iterator[Values]:
    """The candidates whose evaluation is not too much work, until all the work is used up."""
    left = WORK
    for values in found:
        cost = work(goal, values)
        if cost > LARGEST_WORK:
            continue
        left -= cost
        if left < 0:
            return
        yield values


def work(p: Term, values: Values) -> int:
    """About how many nodes evaluation visits when it unfolds every sum and quantifier."""
    scalars = {s: v for s, v in values.items() if isinstance(s, Term) and isinstance(v, Term)}
    tables = {str(h): cost_of_one(f.body) for h, f in values.items() if isinstance(f, Lam)}
    lengths: dict[Term, int] = {}

    def length(size: Term) -> int:
        if size not in lengths:
            known = UNKNOWN_LENGTH if size.loose else (_literal(size, scalars) or 1)
            lengths[size] = known if known <= UNROLL else 1  # longer ones stay as they are
        return lengths[size]

    def cost(t: Term) -> int:
        nodes = 1 + sum(map(cost, t.children))
        if t.op == "app":
            nodes += tables.get(t.data.head, 0)
        ranged = t.op in ("sum", "prod") or (t.op in ("forall", "exists") and t.data[0] == "fin")
        ranged = ranged and t.children[1].loose > 0
        return nodes * length(t.children[0]) if ranged else nodes

    return cost(p)


def _all(goal: Term, seed: int) -> Iterator[Values]:
    defined = definitions.defined_symbols(goal)
    chosen = [s for s in T.free_symbols(goal) if isinstance(s, Term) and s not in defined]
    scalars = sorted(chosen, key=lambda s: (s.data[1] == "fin", s.data[0]))
    axes = {name: sizes for name, sizes in _axes(goal).items() if name not in defined}
    functions = frozenset(t.data for t in T.subterms(goal) if t.op == "fn")
    weights = _weights(goal)
    pools = [_pool(s, goal, functions) for s in scalars]
    rng = random.Random(seed)
    share = FILLINGS if axes else 1
    drawn = (tuple(rng.choice(p) for p in pools) for _ in range(RANDOM // share))
    for choice in chain(islice(_by_distance(pools), SYSTEMATIC // share), drawn):
        values: Values = dict(_in_range(scalars, choice))
        for filling in range(share):
            filled = dict(values)
            filled.update(_tables(axes, values, filling, functions, rng))
            if filling:
                shared = {n: axes[n] for n in weights if n in axes}
                filled.update(_shares(shared, values, filling == FILLINGS - 1))
            yield definitions.complete(goal, filled)


def cost_of_one(t: Term) -> int:
    """How many nodes a term has."""
    return 1 + sum(map(cost_of_one, t.children))


def table(entries: object) -> Lam:
    """A tensor from nested lists of exact numbers; zero outside."""
    flat = list(_flat(entries, ()))
    arity = len(flat[0][0])
    parts = []
    for place, value in flat:
        if value is not T.ZERO or place == flat[-1][0]:  # the last place tells the shape
            where = [T.delta(T.bound(arity - 1 - k), T.num(i)) for k, i in enumerate(place)]
            parts.append(T.mul(value, *where))
    return Lam(arity, T.add(*parts))


def _flat(e: object, place: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], Term]]:
    if isinstance(e, list | tuple):
        for i, x in enumerate(e):
            yield from _flat(x, (*place, i))
    else:
        yield place, e if isinstance(e, Term) else T.num(Fraction(str(e)))


# ---------------------------------------------------------------------------- scalars


def _pool(s: Term, goal: Term, functions: frozenset[str]) -> list[Term]:
    """Values to try for a symbol, the simplest first."""
    numbers = [t.data for t in T.subterms(goal) if t.op == "num"]
    near = {factor * q + k for q in numbers for factor in (1, 2) for k in (-1, 0, 1)}
    simple = [Fraction(q) for q in (1, 0, -1, 2, -2, 3, -3, 4, 5, 10, 9, 16)]
    extra = sorted(near - set(simple), key=lambda q: (abs(q), q))
    if s.data[1] == "real":
        return [*_special(functions), *map(T.num, _reals(simple, extra, functions))]
    low = {"int": None, "nat": 0, "fin": 0}.get(s.data[1], 1)
    whole = [q for q in [*simple, *extra] if q.denominator == 1]
    return [T.num(q) for q in whole if low is None or q >= low]


def _reals(
    simple: list[Fraction], extra: list[Fraction], functions: frozenset[str]
) -> list[Fraction]:
    half = Fraction(1, 2)
    parts = [half, -half] if functions & {"floor", "mod"} else []
    quarter = [Fraction(1, 4)] if functions & {"sqrt", "rpow"} else []
    out = [*simple[:1], *parts, *simple[1:4], half, *quarter, *simple[4:7], -half, 3 * half]
    return list(dict.fromkeys([*out, *extra, *map(Fraction, (4, 9, 16))]))


def _special(functions: frozenset[str]) -> list[Term]:
    """Where the functions have simple values: angles, and logarithms for exponentials."""
    out: list[Term] = []
    if functions & {"sin", "cos"}:
        out += [T.mul(T.num(Fraction(k, 2)), T.PI) for k in (1, 2, -1, 4)]
    if "exp" in functions:
        out += [T.ZERO, T.fn("log", T.num(2))]
        if "sqrt" in functions:  # so that roots of exponentials are numbers, too
            out += [T.mul(T.num(2), T.fn("log", T.num(2)))]
    if "log" in functions:
        out += [T.fn("exp", T.ONE)]
    return out


def _in_range(scalars: list[Term], choice: tuple[Term, ...]) -> Iterator[tuple[Term, Term]]:
    """The choice, with indices moved into the ranges that the sizes give them."""
    sizes: dict[Term, Term] = {}
    for s, value in zip(scalars, choice, strict=True):
        if s.data[1] == "fin":
            size = _literal(s.children[0], sizes)
            if size:
                value = T.num(int(value.data) % size)
        else:
            sizes[s] = value
        yield s, value


def _literal(size: Term, values: Mapping[Term, Term]) -> int | None:
    try:
        q = literal(Normaliser().poly(T.substitute(size, dict(values))))
    except KernelError:
        return None
    return int(q) if q is not None and q.denominator == 1 and q > 0 else None


def _by_distance(pools: list[list[Term]]) -> Iterator[tuple[Term, ...]]:
    """All choices, those near the front of every pool first."""
    longest = sum(len(p) - 1 for p in pools)
    for distance in range(longest + 1):
        for places in product(*(range(min(len(p), distance + 1)) for p in pools)):
            if sum(places) == distance:
                yield tuple(p[k] for p, k in zip(pools, places, strict=True))


# ---------------------------------------------------------------------------- tensors


def _axes(goal: Term) -> dict[str, list[Term | None]]:
    """For every plain tensor the size of each axis, as far as the indices in use tell it."""
    out: dict[str, list[Term | None]] = {}

    def visit(t: Term, sizes: tuple[Term | None, ...]) -> None:
        if t.op == "app" and isinstance(t.data.head, str) and not t.data.arities:
            found = [_size_of(c, sizes) for c in t.children]
            if not t.data.random:
                known = out.setdefault(t.data.head, found)
                out[t.data.head] = [a or b for a, b in zip(known, found, strict=True)]
        for i, c in enumerate(t.children):
            count = T.binders(t.op, t.data, i)
            visit(c, (*sizes, *_bound_sizes(t, i, count)))

    visit(goal, ())
    return out


def _bound_sizes(t: Term, i: int, count: int) -> tuple[Term | None, ...]:
    if t.op in ("sum", "prod") or (t.op in ("forall", "exists") and t.data[0] == "fin"):
        return tuple(t.children[:1]) if count else ()
    if t.op == "det" and count:
        return (t.children[0], t.children[0])
    return (None,) * (1 if t.op in ("forall", "exists") else count)


def _size_of(index: Term, sizes: tuple[Term | None, ...]) -> Term | None:
    """The range of an index that is a variable, if it does not depend on other indices."""
    size: Term | None = None
    if index.op == "var" and index.children:
        size = index.children[0]
    elif index.op == "bound" and index.data < len(sizes):
        size = sizes[-1 - index.data]
    return size if size is not None and not size.loose else None


def _tables(
    axes: dict[str, list[Term | None]], values: Values, filling: int,
    functions: frozenset[str], rng: random.Random,
) -> Values:  # fmt: skip
    scalars = {s: v for s, v in values.items() if isinstance(s, Term) and isinstance(v, Term)}
    kinds = [*_KINDS, *([_logarithm] if "exp" in functions else [])]
    shared = rng.choice(kinds)
    alone = rng.randrange(len(axes)) if "exp" in functions and axes else None
    out: Values = {}
    for k, (name, sizes) in enumerate(axes.items()):
        first = (_small, kinds[-1] if "exp" in functions else _one, shared)
        kind = first[filling] if filling < len(first) else rng.choice(kinds)
        if filling == 2 and alone is not None:  # products with whole numbers stay logarithms
            kind = _log_two if k == alone else _ramp
        shape = [_axis(size, scalars) for size in sizes]
        while prod(shape) > LARGEST_TABLE:
            shape[shape.index(max(shape))] -= 1
        out[name] = table(_filled(shape, (), kind, rng)) if shape else Lam(0, kind((), rng))
    return out


def _weights(goal: Term) -> list[str]:
    """Tensors whose entries are said to sum to 1 over the last index."""
    out = []
    for t in T.subterms(goal):
        if t.op == "eq" and t.children[1] is T.ONE and t.children[0].op == "sum":
            body = t.children[0].children[1]
            if body.op == "app" and body.children[-1] is T.bound(0):
                out.append(body.data.head)
    return [name for name in dict.fromkeys(out) if isinstance(name, str)]


def _shares(axes: dict[str, list[Term | None]], values: Values, apart: bool) -> Values:
    """Weights that are all the same; `apart`: every other tensor of them has growing ones."""
    scalars = {s: v for s, v in values.items() if isinstance(s, Term) and isinstance(v, Term)}
    out: Values = {}
    for k, (name, sizes) in enumerate(axes.items()):
        shape = [_axis(size, scalars) for size in sizes]
        kind = _growing_share(shape[-1]) if apart and k % 2 else _equal_share(shape[-1])
        out[name] = table(_filled(shape, (), kind, random.Random(0)))
    return out


def _equal_share(length: int) -> Entry:
    return lambda *_: T.num(Fraction(1, length))


def _growing_share(length: int) -> Entry:
    """1, 2, 3, ... over their sum."""
    return lambda place, _: T.num(Fraction(2 * (place[-1] + 1), length * (length + 1)))


def _axis(size: Term | None, scalars: Mapping[Term, Term]) -> int:
    length = None if size is None else _literal(size, scalars)
    return 3 if length is None else min(length, LARGEST_AXIS)


def _filled(shape: list[int], place: tuple[int, ...], kind: Entry, rng: random.Random) -> object:
    if not shape:
        return kind(place, rng)
    return [_filled(shape[1:], (*place, i), kind, rng) for i in range(shape[0])]


def _small(place: tuple[int, ...], rng: random.Random) -> Term:
    return T.num(rng.randint(-2, 2))


def _positive(place: tuple[int, ...], rng: random.Random) -> Term:
    return T.num(rng.randint(1, 3))


def _one(place: tuple[int, ...], rng: random.Random) -> Term:
    return T.ONE


def _unit(place: tuple[int, ...], rng: random.Random) -> Term:
    return T.num(int(len({*place, 0} if len(place) == 1 else {*place}) <= 1))


def _ramp(place: tuple[int, ...], rng: random.Random) -> Term:
    return T.num(sum(place))


def _alternating(place: tuple[int, ...], rng: random.Random) -> Term:
    return T.num((-1) ** sum(place))


def _corner(place: tuple[int, ...], rng: random.Random) -> Term:
    """A projection, as a matrix."""
    return T.num(int(not any(place)))


def _shift(place: tuple[int, ...], rng: random.Random) -> Term:
    """A nilpotent matrix; a step as a vector."""
    return T.num(int(place[-1] == 1 + (place[0] if len(place) > 1 else 0)))


def _log_two(place: tuple[int, ...], rng: random.Random) -> Term:
    return T.fn("log", T.num(2))


def _logarithm(place: tuple[int, ...], rng: random.Random) -> Term:
    return T.fn("log", T.num(2)) if rng.random() < 0.5 else T.ZERO


_KINDS: Final = (_small, _positive, _one, _unit, _ramp, _alternating, _corner, _shift)
