"""Statements about integers in the cases of their remainders, as that n (n + 1) is even.

An integer p is N k + r for k = floor(p / N) and one of r = 0, ..., N - 1, where N is what the
statement divides by.  Each of these statements about all integers k is left to the prover.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import chain
from math import lcm
from typing import Final

from derive import search
from derive.kernel import terms as T
from derive.kernel.normal import UNIT, Normaliser
from derive.kernel.rules import Theorem, infer
from derive.kernel.terms import KernelError, Term
from derive.prover import Prover

Prove = Callable[[Term], Theorem]
#: Larger numbers are not divided by, and no more cases than this are looked at.
MAX_DIVISOR: Final = 12
MAX_CASES: Final = 36
MAX_VARIABLES: Final = 2


def by_cases(p: Prover, goal: Term, prove: Prove) -> Theorem:
    """`goal` for every remainder of the integers in it."""
    if not _variables([goal]):
        raise KernelError("no integers")
    supposed = [g for g in p.known() if _divisor(g.conclusion) > 1]
    divisor = lcm(*(_divisor(c) for c in (goal, *(g.conclusion for g in supposed))))
    variables = _variables([goal, *(g.conclusion for g in supposed)])
    if not 1 < divisor <= MAX_DIVISOR or not 0 < len(variables) <= MAX_VARIABLES:
        raise KernelError("no integers are divided")
    if divisor ** len(variables) > MAX_CASES:
        raise KernelError("too many remainders")
    whole = goal
    for g in reversed(supposed):
        whole = T.implies(g.conclusion, whole)
    theorem = _over(p, whole, variables, divisor, prove)
    for g in supposed:
        theorem = p.mp(theorem, g)
    return theorem


def _divisor(c: Term) -> int:
    """What the numbers of a formula are divided by: 2 for n (n + 1) / 2 and for floor(n / 2)."""
    parts = [t for t in T.subterms(c) if t.op == "isint" or (t.op == "fn" and t.data == "floor")]
    parts += [t for t in T.subterms(c) if t.op == "fn" and t.data == "mod"]
    found = [1, *_multiples(c)]
    for t in parts:
        if t.op == "fn" and t.data == "mod":
            n = t.children[1]
            found.append(int(n.data) if n.op == "num" and n.data.denominator == 1 else 0)
            continue
        try:
            coefficients = Normaliser().poly(t.children[0]).values()
        except KernelError:
            continue
        found.append(lcm(*(q.denominator for q in coefficients)))
    return abs(lcm(*found))


def _multiples(c: Term) -> Iterator[int]:
    """2, for that there is an integer q with p = 2 q."""
    for some in T.subterms(c) if c.op == "exists" and c.data[0] == "int" else ():
        for t in some.children if some.op == "mul" and some.loose else ():
            if t.op == "num" and t.data.denominator == 1 and t.data != 0:
                yield int(t.data)


def _variables(formulas: Sequence[Term]) -> list[Term]:
    free = set(chain.from_iterable(T.free_symbols(c) for c in formulas))
    whole = [s for s in free if isinstance(s, Term) and s.data[1] in ("int", "nat", "dim")]
    sizes = set(chain.from_iterable(s.children for s in free if isinstance(s, Term)))
    found = [s for s in whole if not any(s in T.free_symbols(t) for t in sizes)]
    return sorted(found, key=lambda s: str(s.data[0]))


def _over(p: Prover, goal: Term, variables: Sequence[Term], n: int, prove: Prove) -> Theorem:
    """`goal` for every remainder of the first variable, in each of these for the others."""
    if not variables:
        return _supposing(p, goal, prove)
    x, *others = variables
    p.opened += 1
    k = T.var(f"_q{p.opened}", "int")
    quotient = T.fn("floor", T.div(x, T.num(n)))
    cases: list[Theorem] = []
    for r in range(n):
        there = T.substitute(goal, {x: _at(n, k, r)})
        law = p.for_all(_over(p, there, others, n, prove), k)
        instance = p.at(law, quotient)
        cases.append(_when(p, goal, x, _at(n, quotient, r), instance))
    return _one_of(p, x, cases, n)


def _at(n: int, k: Term, r: int) -> Term:
    return T.add(T.mul(T.num(n), k), T.num(r))


def _when(p: Prover, goal: Term, x: Term, value: Term, instance: Theorem) -> Theorem:
    """x = n k + r -> goal, from the goal at n k + r."""
    with p.supposing(T.eq(value, x)) as case:
        theorem = p.rewrite(case, instance, lambda hole: T.substitute(goal, {x: hole}))
        return p.discharge(theorem, case)


def _one_of(p: Prover, x: Term, cases: Sequence[Theorem], n: int) -> Theorem:
    """The conclusion that all of the cases have, since the remainder is one of 0, ..., n - 1."""
    argument = T.div(x, T.num(n))
    rest = T.sub(x, T.mul(T.num(n), T.fn("floor", argument)))
    lower = p.order(T.le(T.ZERO, rest), (n, p.axiom("floor-lower", argument)))
    upper = p.order(T.lt(rest, T.num(n)), (n, p.axiom("floor-upper", argument)))

    def taken(r: int, above: Theorem) -> Theorem:
        """From r <= rest: the conclusion."""
        value = cases[r].conclusion.children[0].children[0]

        def here(case: Theorem) -> Theorem:
            low = p.order(T.le(value, x), (1, above))
            high = p.order(T.le(x, value), (1, case))
            return p.mp(cases[r], infer("antisymmetry", [low, high]))

        def further(case: Theorem) -> Theorem:
            return taken(r + 1, p.next_integer(case))

        if r == n - 1:
            return here(p.order(T.le(rest, T.num(r)), (1, p.next_integer(upper))))
        return p.cases(p.dichotomy(rest, T.num(r)), here, further)

    return taken(0, lower)


def _supposing(p: Prover, goal: Term, prove: Prove) -> Theorem:
    """The goal, by evaluation, since one of its premises fails, or by the prover."""
    try:
        return search.decided(goal)
    except KernelError:
        if goal.op != "imp":
            return prove(goal)
    premise, conclusion = goal.children
    with p.supposing(premise) as case:
        try:
            theorem = _no_integer(p, case, conclusion, prove)
        except (search.NotFound, KernelError):
            theorem = _supposing(p, conclusion, prove)
        return p.discharge(theorem, case)


def _no_integer(p: Prover, case: Theorem, conclusion: Term, prove: Prove) -> Theorem:
    """Anything, from that t is an integer, where t is one and a fraction."""
    if case.conclusion.op != "isint":
        raise search.NotFound(conclusion, "not that something is an integer")
    rest = Normaliser().poly(case.conclusion.children[0]).get(UNIT, Fraction(0))
    fraction = T.isint(T.num(rest % 1))
    denied = search.decided(T.negate(fraction))
    return infer("contradiction", [prove(fraction), denied], conclusion)
