"""Strategies of the automatic prover for "or", "not" and "there is", and for what is supposed.

`prove` is the prover itself, for the smaller goals that come up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations, islice
from math import floor, gcd
from typing import Final

from derive import search, solving
from derive.kernel import terms as T
from derive.kernel.normal import UNIT, to_term
from derive.kernel.rules import Theorem, fact_normaliser, infer
from derive.kernel.terms import KernelError, Lam, Term
from derive.prover import Prover

Prove = Callable[[Term], Theorem]
FAILED: Final = (search.NotFound, KernelError)
#: How many values are tried for what there is.
MAX_VALUES: Final = 12


# ---------------------------------------------------------------------------- or


def alternative(p: Prover, goal: Term, prove: Prove) -> Theorem:
    """One of several: by itself, or the others where the first one does not hold."""
    for k, part in enumerate(goal.children):
        try:
            return infer("disjunct", [prove(part)], goal, k)
        except FAILED:
            continue
    for k, part in enumerate(goal.children):
        try:
            return _one_or_the_others(p, goal, k, part, prove)
        except FAILED:
            continue
    raise search.NotFound(goal, "none of them is found")


def _one_or_the_others(p: Prover, goal: Term, k: int, part: Term, prove: Prove) -> Theorem:
    others = [c for j, c in enumerate(goal.children) if j != k]

    def holds(case: Theorem) -> Theorem:
        return infer("disjunct", [case], goal, goal.children.index(case.conclusion))

    def fails(_: Theorem) -> Theorem:
        if len(others) == 1:
            return holds(prove(others[0]))
        return p.cases(prove(T.disj(*others)), *[holds] * len(others))

    match part.op:
        case "le":
            return p.cases(p.dichotomy(*part.children), holds, fails)
        case "lt":
            return p.cases(p.dichotomy(*reversed(part.children)), fails, holds)
        case _:
            return p.cases(infer("excluded-middle", [], part), holds, fails)


# ---------------------------------------------------------------------------- there is


def some(p: Prover, goal: Term, prove: Prove) -> Theorem:
    """There is x: one of the values that the formula itself suggests."""
    for value in islice(_values(p, goal), MAX_VALUES):
        try:
            found = prove(T.instantiate(goal.children[-1], (value,)))
            return _witness(p, goal, value, found)
        except FAILED:
            continue
    raise search.NotFound(goal, "no value is found for it")


def _witness(p: Prover, goal: Term, value: Term | Lam, found: Theorem) -> Theorem:
    try:
        return infer("witness", [found], goal, value)
    except KernelError:
        return infer("witness", [found, *p.facts()], goal, value)


def _values(p: Prover, goal: Term) -> Iterator[Term | Lam]:
    sort, arity = goal.data
    if sort == "tensor":
        yield from (Lam(arity, T.num(q)) for q in (0, 1))
        heads = dict.fromkeys(t.data for t in T.subterms(goal) if t.op == "app")
        places = tuple(T.bound(arity - 1 - k) for k in range(arity))
        for head in heads:
            if isinstance(head.head, str) and not (head.arities or head.random):
                try:
                    entry = T.app(head, *places)
                except KernelError:
                    continue
                yield from (Lam(arity, entry), Lam(arity, T.neg(entry)))
        return
    p.opened += 1
    x = T.var(f"_v{p.opened}", sort, *goal.children[:-1])
    yield from _coefficient(p, goal)
    solved = list(dict.fromkeys(_solutions(T.instantiate(goal.children[-1], (x,)), x)))
    yield from solved
    if sort == "int":  # next to a bound that is no integer
        yield from (T.add(T.fn("floor", t), T.num(q)) for t in solved for q in (0, 1))
    if sort == "real":
        yield from (
            T.fn("sqrt", t) for t in _square_values(T.instantiate(goal.children[-1], (x,)), x)
        )
    yield from (T.div(T.add(a, b), T.num(2)) for a, b in combinations(solved, 2))
    yield from (T.num(q) for q in (1, 0, 2, -1))
    free = [s for s in T.free_symbols(goal) if isinstance(s, Term)]
    for s in sorted(free, key=lambda s: str(s.data[0])):
        yield from (s, T.add(s, T.ONE), T.sub(s, T.ONE), T.neg(s))
        yield from (T.inv(s), T.div(s, T.num(2)))


def _coefficient(p: Prover, goal: Term) -> Iterator[Term]:
    """What x has to be for an equation of polynomials in what is quantified within."""
    unknown: list[Term] = []
    body = goal
    while body.op == "exists" and body.data[0] != "tensor":
        p.opened += 1
        unknown.append(T.var(f"_v{p.opened}", body.data[0], *body.children[:-1]))
        body = T.instantiate(body.children[-1], (unknown[-1],))
    if body.op != "forall":
        return
    while body.op == "forall" and body.data[0] != "tensor":
        p.opened += 1
        x = T.var(f"_x{p.opened}", body.data[0], *body.children[:-1])
        body = T.instantiate(body.children[-1], (x,))
    if body.op == "eq":
        values = solving.coefficients(body, unknown)
        if values is not None:
            yield T.num(values[0])


def _solutions(body: Term, x: Term) -> Iterator[Term]:
    """What an equation or inequality in the body, linear in x, makes of x."""
    for part in _parts(body):
        if part.op in ("eq", "le", "lt"):
            value = solving.linear(part, x)
            if value is not None:
                yield value
                if part.op == "lt":
                    yield from (T.add(value, T.ONE), T.sub(value, T.ONE))


def _square_values(body: Term, x: Term) -> Iterator[Term]:
    """What an equation in the body makes of x^2."""
    square = T.power(x, 2)
    for part in _parts(body):
        if part.op == "eq" and square in part.children:
            yield from (t for t in part.children if t is not square)


def _parts(p: Term) -> Iterator[Term]:
    if p.op in ("and", "or"):
        for c in p.children:
            yield from _parts(c)
    else:
        yield p


# ---------------------------------------------------------------------------- not


def denial(p: Prover, goal: Term, prove: Prove) -> Theorem:
    """not q: where q fails, or since something absurd follows from it."""
    (denied,) = goal.children
    try:
        return _failing(denied, goal, prove)
    except FAILED:
        pass
    with p.supposing(denied) as case:
        wrong = absurd(p, case, goal, prove)
    return infer("deny", [wrong], denied)


def _failing(denied: Term, goal: Term, prove: Prove) -> Theorem:
    match denied.op:
        case "imp":
            premise, conclusion = denied.children
            return infer("not-implies", [prove(premise), prove(T.negate(conclusion))])
        case "and":
            for k, part in enumerate(denied.children):
                try:
                    return infer("not-conj", [prove(T.negate(part))], goal, k)
                except FAILED:
                    continue
        case "forall" if denied.data[0] != "tensor":
            for q in (1, 0, 2, -1):
                try:
                    failing = prove(T.negate(T.instantiate(denied.children[-1], (T.num(q),))))
                    return infer("not-forall", [failing], goal, T.num(q))
                except FAILED:
                    continue
        case "le":
            return infer("not-le", [prove(T.lt(*reversed(denied.children)))])
    raise search.NotFound(goal, "nothing is found that fails")


def absurd(p: Prover, case: Theorem, goal: Term, prove: Prove) -> Theorem:
    """`goal` from something that contradicts itself or what is known."""
    q = case.conclusion
    match q.op:
        case "or":
            return p.cases(case, *[lambda c: absurd(p, c, goal, prove)] * len(q.children))
        case "exists":
            return chosen(p, case, lambda c: absurd(p, c, goal, prove))
        case "and":
            for k, part in enumerate(q.children):
                if part.op in ("or", "exists"):
                    try:
                        return absurd(p, p.part(case, k), goal, prove)
                    except FAILED:
                        continue
    try:
        return _contradiction(p, goal, prove)
    except FAILED:
        pass
    with p.remembering():
        _learn_instances(p)
        try:
            return _contradiction(p, goal, prove)
        except FAILED:
            pass
    return _by_growth(p, goal, prove)


def _contradiction(p: Prover, goal: Term, prove: Prove) -> Theorem:
    """From two things that are known, or from what evaluation denies, or from 0 < 0 or 1 = 0."""
    for known in p.known():
        c = known.conclusion
        try:
            if c.op == "not":
                return infer("contradiction", [prove(c.children[0]), known], goal)
            if c.op in ("eq", "le", "lt"):
                return infer("contradiction", [known, _denied(p, known)], goal)
        except FAILED:
            continue
    for wrong in (T.lt(T.ZERO, T.ZERO), T.eq(T.ONE, T.ZERO)):
        try:
            found = prove(wrong)
        except FAILED:
            continue
        return infer("contradiction", [found, search.decided(T.negate(wrong))], goal)
    raise search.NotFound(goal, "nothing absurd follows")


def _by_growth(p: Prover, goal: Term, prove: Prove) -> Theorem:
    """From what is known for all sizes: at one beyond the numbers that are to bound it.

    For a number C that is the integer floor(C^2) + 1, which is at least 1 and more than C.
    """
    reals = {s for t in p.known() for s in t.conclusion.free
             if isinstance(s, Term) and s.data[1] == "real"}  # fmt: skip
    for known in p.known():
        if known.conclusion.op != "forall" or known.conclusion.data[0] not in ("dim", "nat"):
            continue
        for s in sorted(reals, key=lambda s: str(s.data[0])):
            large = T.add(T.fn("floor", T.power(s, 2)), T.ONE)
            more = list(_beyond(p, s, large))
            for instance in _at_sizes(p, known, (T.ONE, large)):
                with p.setting_aside(known), p.remembering(instance, *more):
                    try:
                        return _contradiction(p, goal, prove)
                    except FAILED:
                        continue
    raise search.NotFound(goal, "nothing absurd follows")


def _beyond(p: Prover, x: Term, large: Term) -> Iterator[Theorem]:
    """x < N and 1 <= N for N = floor(x^2) + 1, and the first also times N and N^2.

    Since x <= (x^2 + 1)/2 and x^2 < floor(x^2) + 1.
    """
    half = T.num(Fraction(1, 2))
    above = p.axiom("floor-upper", T.power(x, 2))
    square = p.square(T.sub(x, T.ONE))
    more = p.order(T.lt(x, large), (half, above), (half, square))
    some = p.order(T.le(T.ONE, large))
    positive = p.order(T.lt(T.ZERO, large))
    yield from (some, more)
    for factors in ((positive,), (positive, positive)):
        product = T.mul(T.sub(large, x), *[large] * len(factors))
        yield p.order(T.lt(T.ZERO, product), (T.ONE, more, *factors))


def _at_sizes(p: Prover, known: Theorem, sizes: Sequence[Term]) -> Iterator[Theorem]:
    """The instances of a statement about all sizes, one quantifier after the other."""
    if known.conclusion.op != "forall":
        yield known
        return
    for value in sizes:
        try:
            at = p.at(known, value)
        except KernelError:
            continue
        yield from _at_sizes(p, at, sizes)


def _denied(p: Prover, known: Theorem) -> Theorem:
    """What is known is false: by evaluation, or since an integer would lie between two others."""
    c = known.conclusion
    try:
        return search.decided(T.negate(c), p.facts())
    except KernelError:
        if c.op != "eq":
            raise
    whole = [s for s in c.free if isinstance(s, Term) and s.data[1] in ("int", "nat", "dim", "fin")]
    for s in whole:
        value = solving.linear(c, s)
        if value is not None and value.op == "num" and value.data.denominator != 1:
            below = p.equal(s, value, known, show=False)
            low = T.num(floor(value.data))
            above = p.next_integer(p.order(T.lt(low, s), (T.ONE, below)))
            wrong = p.order(T.lt(T.ZERO, T.ZERO), (T.ONE, above), (T.num(-1), below))
            right = search.decided(T.negate(wrong.conclusion))
            return infer("contradiction", [wrong, right], T.negate(c))
    return no_fraction(p, known)


def no_fraction(p: Prover, known: Theorem) -> Theorem:
    """not a = b, where a - b is N t + q for an integer t, and q / N is none: as 2 p = 2 r + 1."""
    work = fact_normaliser("search", p.facts())
    poly = dict(work.poly(T.sub(*known.conclusion.children)))
    rest = poly.pop(UNIT, Fraction(0))
    if not poly or any(c.denominator != 1 for c in poly.values()):
        raise KernelError(f"not known to be false: {T.show(known.conclusion)}")
    n = gcd(*(int(c) for c in poly.values()))
    t = to_term({m: c / n for m, c in poly.items()})
    value = -rest / n
    if value.denominator == 1 or not work.is_int(t):
        raise KernelError(f"not known to be false: {T.show(known.conclusion)}")
    below = p.equal(t, T.num(value), (Fraction(1, n), known), show=False)
    above = p.next_integer(p.order(T.lt(T.num(floor(value)), t), (T.ONE, below)))
    wrong = p.order(T.lt(T.ZERO, T.ZERO), (T.ONE, above), (T.num(-1), below))
    denied = T.negate(known.conclusion)
    return infer("contradiction", [wrong, search.decided(T.negate(wrong.conclusion))], denied)


def _learn_instances(p: Prover) -> None:
    """What is known for all x: at the symbols that occur and one next to them, and at numbers."""
    before = p.known()
    free = {s for t in before for s in T.free_symbols(t.conclusion) if isinstance(s, Term)}
    symbols = sorted(free, key=lambda s: str(s.data[0]))
    for t in before:
        c = t.conclusion
        if c.op != "forall":
            continue
        if c.data[0] == "tensor":
            for q in (0, 1):
                p.learn(infer("specialise", [t], Lam(c.data[1], T.num(q))))
            continue
        near = [v for s in symbols for v in (s, T.add(s, T.ONE), T.sub(s, T.ONE))]
        for value in islice([*near, T.ZERO, T.ONE], MAX_VALUES):
            try:
                p.learn(infer("specialise", [t], value))
            except KernelError:
                continue


# ---------------------------------------------------------------------------- suppositions


def chosen(p: Prover, some: Theorem, branch: Callable[[Theorem], Theorem]) -> Theorem:
    """From there is x with q(x): what follows from q(x), for a new x."""
    sort, _ = some.conclusion.data
    p.opened += 1
    if sort == "tensor":
        x: Term | str = f"_X{p.opened}"
    else:
        x = T.var(f"_x{p.opened}", sort, *some.conclusion.children[:-1])
    instance = T.instantiate(some.conclusion.children[-1], (x,))
    with p.supposing(instance) as case:
        proved = branch(case)
    return infer("choose", [some, proved], x)


def opened(p: Prover, goal: Term, prove: Prove) -> Theorem:
    """The goal in each case of an "or" that is known, for what there is, or by contradiction."""
    for known in p.known():
        c = known.conclusion
        if c.op not in ("or", "exists"):
            continue
        with p.setting_aside(known):
            if c.op == "or":
                return p.cases(known, *[lambda _: prove(goal)] * len(c.children))
            return chosen(p, known, lambda _: prove(goal))
    raise search.NotFound(goal, "nothing is left open")
