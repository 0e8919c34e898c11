"""Looking for exact counterexamples inside the declared domain.

Values are integers and simple fractions: sizes and naturals within their ranges, reals around the
numbers that occur in the statement, tensors with small entries; symbols that the premises define
get the values that this gives them.  A candidate counts only when the kernel proves that the
premises hold there and, by exact evaluation, that the conclusion fails.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import islice, product
from typing import Final

from derive import auto, definitions
from derive.convert import Converter
from derive.kernel import terms as T
from derive.kernel.check import at_values
from derive.kernel.domain import conclusion_obligations, obligations, premise_obligations
from derive.kernel.rules import Theorem, infer
from derive.kernel.terms import KernelError, Lam, Term
from derive.prover import Prover
from derive.search import NotFound

SYSTEMATIC: Final = 400
RANDOM: Final = 200
Values = dict[Term | str, Term | Lam]


def find(goal: Term, seed: int = 0) -> tuple[Values, list[Theorem]] | None:
    """Values at which `goal` (closed over its free symbols) is provably false or undefined.

    A point where everything is defined is preferred to one where the conclusion is not.
    """
    undefined: tuple[Values, list[Theorem]] | None = None
    for values in _candidates(goal, seed):
        roots = refuting(goal, goal, values)
        if roots is not None and _defined(goal, values):
            return values, roots
        if undefined is None:
            for target in conclusion_obligations(goal):
                roots = refuting(goal, target, values)
                if roots is not None:
                    undefined = values, roots
    return undefined


def refuting(goal: Term, target: Term, values: Values) -> list[Theorem] | None:
    """What the checker asks for: `target` fails at the values, and the premises are defined."""
    theorem = refutation(target, values)
    if theorem is None:
        return None
    try:
        return [theorem, *premises_defined(goal, values)]
    except KernelError:
        return None


def premises_defined(goal: Term, values: Values) -> list[Theorem]:
    """The premises of `goal` are well defined at the values."""
    return [_closed(o) for o in premise_obligations(at_values(goal, values))]


def _defined(goal: Term, values: Values) -> bool:
    try:
        return all(_closed(o) for o in obligations(at_values(goal, values)))
    except KernelError:
        return False


def refutation(target: Term, values: Values) -> Theorem | None:
    """A proof that `target` is false at the values, where evaluation denies its conclusion."""
    try:
        return _denied(at_values(target, values))
    except KernelError:
        return None


def _denied(p: Term) -> Theorem:
    if p.op != "imp":
        return infer("decide", [], T.negate(p))
    failing = _denied(p.children[1])
    return infer("not-implies", [_closed(p.children[0]), failing])


def denied(p: Term, premises: int, deny: Callable[[Term], Theorem]) -> Theorem:
    """not (h1 -> ... -> hn -> q): `deny` proves not q, and the premises hold by themselves."""
    if premises == 0:
        return deny(p)
    failing = denied(p.children[1], premises - 1, deny)
    return infer("not-implies", [_closed(p.children[0]), failing])


def _closed(p: Term) -> Theorem:
    """A closed formula by evaluation or, where it quantifies over numbers, a simple proof."""
    try:
        return infer("decide", [], p)
    except KernelError:
        pass
    try:
        return auto.prove(Prover(Converter(), ()), p)
    except NotFound as error:
        raise KernelError(str(error)) from error


def table(entries: object) -> Lam:
    """A tensor from nested lists of exact numbers; zero outside."""
    flat = list(_entries(entries, ()))
    arity = len(flat[0][0])
    parts = []
    for place, q in flat:
        if q or place == flat[-1][0]:  # the last place tells the shape
            where = [T.delta(T.bound(arity - 1 - k), T.num(i)) for k, i in enumerate(place)]
            parts.append(T.mul(T.num(q), *where))
    return Lam(arity, T.add(*parts))


def _entries(e: object, place: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], Fraction]]:
    if isinstance(e, list | tuple):
        for i, x in enumerate(e):
            yield from _entries(x, (*place, i))
    else:
        yield place, Fraction(str(e))


def _candidates(goal: Term, seed: int) -> Iterator[Values]:
    defined = definitions.defined_symbols(goal)
    chosen = [s for s in T.free_symbols(goal) if isinstance(s, Term) and s not in defined]
    scalars = sorted(chosen, key=lambda s: s.data[0])
    heads = {
        t.data.head: t.data.scalars
        for t in T.subterms(goal)
        if t.op == "app" and isinstance(t.data.head, str) and t.data.head not in defined
    }
    pools = [_pool(s, goal) for s in scalars]
    rng = random.Random(seed)
    for choice in islice(_by_distance(pools), SYSTEMATIC):
        yield definitions.complete(goal, _assign(scalars, choice, heads, rng))
    for _ in range(RANDOM):
        drawn = tuple(rng.choice(p) for p in pools)
        yield definitions.complete(goal, _assign(scalars, drawn, heads, rng))


def _assign(
    scalars: list[Term], choice: tuple[Term, ...], heads: dict[str, int], rng: random.Random
) -> Values:
    values: Values = dict(zip(scalars, choice, strict=True))
    for head, arity in heads.items():
        shape = [3] * arity
        values[head] = table(_random_entries(shape, rng)) if arity else Lam(0, T.num(1))
    return values


def _random_entries(shape: list[int], rng: random.Random) -> object:
    if not shape:
        return rng.randint(-2, 2)
    return [_random_entries(shape[1:], rng) for _ in range(shape[0])]


def _pool(s: Term, goal: Term) -> list[Term]:
    """Values to try for a symbol, the simplest first; angles where sines and cosines occur."""
    near = {t.data + k for t in T.subterms(goal) if t.op == "num" for k in (-1, 0, 1)}
    simple = [Fraction(q) for q in (1, 0, -1, 2, -2, 3, -3, 4, 5, 10, 9)]
    numbers = [*simple, *sorted(near - set(simple), key=abs)]
    if s.data[1] == "real":
        half, extra = Fraction(1, 2), numbers[len(simple) :]
        numbers = [*simple[:4], half, *simple[4:7], -half, *extra, Fraction(4), Fraction(9)]
        return [*(_ANGLES if _has_angles(goal) else ()), *map(T.num, numbers)]
    low = {"int": min(numbers), "nat": 0, "fin": 0}.get(s.data[1], 1)
    return [T.num(q) for q in numbers if q.denominator == 1 and q >= low]


_ANGLES: Final = tuple(T.mul(T.num(Fraction(k, 2)), T.PI) for k in (1, 2, -1, 4))


def _has_angles(goal: Term) -> bool:
    return any(t.op == "fn" and t.data in ("sin", "cos") for t in T.subterms(goal))


def _by_distance(pools: list[list[Term]]) -> Iterator[tuple[Term, ...]]:
    """All choices, those near the front of every pool first."""
    longest = sum(len(p) - 1 for p in pools)
    for distance in range(longest + 1):
        for places in product(*(range(min(len(p), distance + 1)) for p in pools)):
            if sum(places) == distance:
                yield tuple(p[k] for p, k in zip(pools, places, strict=True))
