"""Inequalities of maxima, minima and absolute values, in the cases of what is larger.

A case is closed as soon as what is known of the order, and products of two such, settle it.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations_with_replacement
from typing import Final

from derive import inequalities, search
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, fact_normaliser, infer
from derive.kernel.terms import KernelError, Term
from derive.prover import Prover

#: Cases within cases, and how many things that are known are multiplied.
MAX_DEPTH: Final = 8
MAX_FACTORS: Final = 8
Split = Callable[[Term, Prover], tuple[Term, Term] | None]
_FAILED = (search.NotFound, KernelError)


def by_cases(p: Prover, goal: Term, split: Split, depth: int = MAX_DEPTH) -> Theorem:
    """a <= b or a < b; `split` names a comparison that decides one of the functions."""
    try:
        return _closed(p, goal)
    except _FAILED:
        comparison = split(goal, p) if depth else None
    if comparison is None:
        return inequalities.prove(p, goal)
    cases = [lambda _: by_cases(p, goal, split, depth - 1)] * 2
    return p.cases(p.dichotomy(*comparison), *cases)


def _closed(p: Prover, goal: Term) -> Theorem:
    """The goal, or since what is known contradicts itself."""
    try:
        return _combined(p, goal)
    except _FAILED:
        false = T.le(T.ONE, T.ZERO)
        wrong = _combined(p, false)
        return infer("contradiction", [wrong, infer("decide", [], T.negate(false))], goal)


def _combined(p: Prover, goal: Term) -> Theorem:
    work = fact_normaliser("search", p.facts())
    target = work.poly(T.sub(*reversed(goal.children)))
    known = list({g.conclusion: g for g in p.known() if g.conclusion.op in ("le", "lt")}.values())
    single = [(g,) for g in known]
    pairs = list(combinations_with_replacement(known[-MAX_FACTORS:], 2))
    for uses in (single, single + pairs):
        differences = [[T.sub(*reversed(g.conclusion.children)) for g in use] for use in uses]
        vectors = [work.poly(T.mul(*parts)) for parts in differences]
        solution = inequalities.combination(target, vectors)
        if solution is not None:
            items = [(T.num(c), *use) for c, use in zip(solution, uses, strict=True) if c]
            return p.order(goal, *items)
    raise search.NotFound(goal, "no combination of what is known")
