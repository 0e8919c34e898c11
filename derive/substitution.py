"""Proofs by putting something else for a part of the goal, also inside functions.

Linear combinations do not reach the argument of a root, an exponential or an inverse.  Here known
equations that say what a symbol or an entry is are put in wherever it stands, and arguments with
composite denominators are divided out.  Nothing here is trusted: each step is a kernel rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Final

import sympy as sp

from derive import fractions, lemmas, rewriting, search
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, fact_normaliser
from derive.kernel.terms import KernelError, Term
from derive.prover import Prover

_RELATIONS: Final = {"eq": T.eq, "le": T.le, "lt": T.lt}
Prove = Callable[[Term], Theorem]
_FAILED = (search.NotFound, KernelError)
#: Terms with more parts are not divided out.
LARGEST: Final = 40


def rewritten(p: Prover, goal: Term, prove: Prove) -> Theorem:
    """`goal` (a relation, or that t is an integer) with the rules put in, which `prove` proves."""
    changes = [_rewritten_side(p, side) for side in goal.children]
    if all(c is None for c in changes):
        raise search.NotFound(goal, "nothing to put in")
    return from_changed(p, goal, changes, prove)


def from_changed(p: Prover, goal: Term, changes: Sequence[Theorem | None], prove: Prove) -> Theorem:
    """`goal` from the same with t' for its side t, for every change t = t'; `prove` proves that."""
    sides = [
        t if c is None else c.conclusion.children[1]
        for t, c in zip(goal.children, changes, strict=True)
    ]
    theorem = prove(_with_sides(goal, sides))
    for place, change in enumerate(changes):
        if change is not None:
            theorem = p.rewrite(turned(p, change), theorem, _template(goal, theorem, place))
    return theorem


def _with_sides(goal: Term, sides: Sequence[Term]) -> Term:
    return T.isint(*sides) if goal.op == "isint" else _RELATIONS[goal.op](*sides)


def _template(goal: Term, theorem: Theorem, place: int) -> Callable[[Term], Term]:
    """The theorem's formula with something else for one of its sides."""
    sides = theorem.conclusion.children
    return lambda x: _with_sides(goal, [x if k == place else t for k, t in enumerate(sides)])


def turned(p: Prover, equation: Theorem) -> Theorem:
    """b = a from a = b."""
    a = equation.conclusion.children[0]
    return p.rewrite(equation, rewriting.same(a), lambda x: T.eq(x, a))


def _rewritten_side(p: Prover, side: Term) -> Theorem | None:
    """side = side', None if no rule changes it."""
    out: Theorem | None = None
    now = side
    for make in (_definitions, _constant_sums, _quotients, _powers):
        for rule in make(p, now):
            step = rewriting.replaced(now, rule)
            after = step.conclusion.children[1]
            if after is not now:
                out = step if out is None else p.linked(out, step)
                now = after
    return out


# ---------------------------------------------------------------------------- definitions


def _definitions(p: Prover, side: Term) -> Iterator[Theorem]:
    """Known equations between a symbol or an entry of a tensor and something else."""
    for g in p.known():
        c = g.conclusion
        while c.op == "forall" and c.data[0] != "tensor":
            c = c.children[-1]
        if c.op != "eq":
            continue
        a, b = c.children
        if _is_defined(a, b):
            yield g
        elif c is g.conclusion and _is_defined(b, a):
            yield turned(p, g)


def _is_defined(a: Term, b: Term) -> bool:
    return a.op in ("var", "app") and all(t is not a for t in T.subterms(b))


def _constant_sums(p: Prover, side: Term) -> Iterator[Theorem]:
    """Sum over k < m of y = m y for any natural m, where the length is that of another index."""
    bodies = dict.fromkeys(
        t.children[1] for t in T.subterms(side)
        if t.op == "sum" and t.children[0].loose and not t.children[1].loose
    )  # fmt: skip
    m = T.var("_m", "nat")
    for body in bodies:
        yield p.for_all(p.equal(T.total(m, body), T.mul(m, body), show=False), m)


# ---------------------------------------------------------------------------- quotients


def _quotients(p: Prover, side: Term) -> Iterator[Theorem]:
    """u = u' for arguments of functions that get simpler when they are divided out."""
    arguments = dict.fromkeys(
        c for t in T.subterms(side) if t.op == "fn" for c in t.children if not c.loose
    )
    for u in arguments:
        if u.op in ("num", "var") or sum(1 for _ in T.subterms(u)) > LARGEST:
            continue
        try:
            simple = fractions.divided_out(u, fact_normaliser("search", p.facts()))
            if simple is not None:
                yield _quotient(p, u, simple)
        except _FAILED:
            continue


def _quotient(p: Prover, u: Term, simple: Term) -> Theorem:
    goal = T.eq(u, simple)
    try:
        return p.equal(u, simple, show=False)
    except _FAILED:
        return lemmas.cleared(p, goal)


# ---------------------------------------------------------------------------- powers


def _powers(p: Prover, side: Term) -> Iterator[Theorem]:
    """log N = k log b for N = b^k, also for the real powers of N."""
    for t in dict.fromkeys(T.subterms(side)):
        if t.op == "fn" and t.data in ("log", "rpow") and t.children[0].op == "num":
            found = _perfect_power(t.children[0].data)
            if found is None and t.data == "log" and not t.loose:
                yield from _log_of_factors(p, t.children[0].data)
            if found is None or t.loose:
                continue
            log = _log_of_power(p, *found)
            if t.data == "log":
                yield log
                continue
            x, y = t.children
            written = p.equal(t, T.fn("exp", T.mul(y, T.fn("log", x))), show=False)
            yield p.rewrite(log, written, _power_template(t, y))


def _power_template(t: Term, y: Term) -> Callable[[Term], Term]:
    return lambda log: T.eq(t, T.fn("exp", T.mul(y, log)))


def _perfect_power(q: Fraction) -> tuple[int, int] | None:
    """(b, k) with q = b^k and k > 1 as large as it can be."""
    if q.denominator != 1 or not 1 < q < 10**9:
        return None
    base, exponent = sp.perfect_power(int(q)) or (0, 0)
    return (int(base), int(exponent)) if exponent else None


def _log_of_factors(p: Prover, q: Fraction) -> Iterator[Theorem]:
    """log N = k log b + ..., for the prime factors b of N, if there is more than one."""
    if q.denominator != 1 or not 1 < q < 10**9:
        return
    factors = {int(b): int(k) for b, k in sp.factorint(int(q)).items()}
    if len(factors) > 1:
        split = lemmas.log_of_product(p, [T.num(b) for b, k in factors.items() for _ in range(k)])
        logs = (T.mul(T.num(k), T.fn("log", T.num(b))) for b, k in factors.items())
        yield p.equal(T.fn("log", T.num(q)), T.add(*logs), (1, split), show=False)


def _log_of_power(p: Prover, base: int, exponent: int) -> Theorem:
    b = T.num(base)
    split = lemmas.log_of_product(p, [b] * exponent)
    goal = T.eq(T.fn("log", T.num(base**exponent)), T.mul(T.num(exponent), T.fn("log", b)))
    return p.equal(*goal.children, (1, split), show=False)
