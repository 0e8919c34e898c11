"""Instances of what is known for all indices: at the indices and numbers that a goal mentions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product
from typing import Final

from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.kernel.terms import KernelError, Term
from derive.prover import Prover

MAX_INSTANCES: Final = 24
#: Up to this number recurrences are followed down to 0.
MAX_NUMBER: Final = 8


def learn(p: Prover, goal: Term) -> bool:
    """Learn instances, and what follows where a premise is known; whether there are any."""
    before = {g.conclusion for g in p.known()}
    for g in p.known():
        if g.conclusion.op == "forall" and g.conclusion.data[0] != "tensor":
            for values in islice(_choices(g.conclusion, goal), MAX_INSTANCES):
                _learn_instance(p, g, values, before)
    for g in p.known():
        _follow(p, g, before)
    return any(g.conclusion not in before for g in p.known())


def _choices(c: Term, goal: Term) -> Iterator[tuple[Term, ...]]:
    """Values for the quantified variables, of their sorts."""
    pools = []
    while c.op == "forall" and c.data[0] != "tensor":
        pools.append(_pool(c.data[0], goal))
        c = c.children[-1]
    return product(*pools)


def _pool(sort: str, goal: Term) -> list[Term]:
    found = [s for s in T.free_symbols(goal) if isinstance(s, Term) and s.data[1] == sort]
    out = sorted(found, key=lambda s: s.data[0])
    if sort in ("nat", "int", "fin"):
        places = [c.data for t in T.subterms(goal) if t.op == "app" for c in t.children
                  if c.op == "num" and c.data.denominator == 1]  # fmt: skip
        top = int(max(places, default=-1))
        if top <= MAX_NUMBER:
            out += [T.num(k) for k in range(top + 1)]
    return out


def _learn_instance(p: Prover, g: Theorem, values: tuple[Term, ...], before: set[Term]) -> None:
    try:
        for v in values:
            g = infer("specialise", [g], v)
    except KernelError:
        return
    if g.conclusion not in before:
        p.learn(g)


def _follow(p: Prover, g: Theorem, before: set[Term]) -> None:
    """From p -> q where p is known: q."""
    while g.conclusion.op == "imp":
        premise = g.conclusion.children[0]
        known = next((t for t in p.known() if t.conclusion is premise), None)
        try:
            g = infer("modus-ponens", [g, known or p.trivial(premise)])
        except KernelError:
            return
        if g.conclusion not in before and g.conclusion.op != "imp":
            p.learn(g)
