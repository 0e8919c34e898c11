"""Inequalities between logarithms of several numbers, from ``log x <= x - 1`` at their quotients.

Gibbs' inequality, bounds of entropies and Jensen's inequality for the logarithm are sums of such.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import islice
from typing import Final, NamedTuple

from derive import lemmas, search
from derive.bounds import bounds
from derive.growth import instances, positive
from derive.kernel import terms as T
from derive.kernel.normal import Monomial, Poly, monomial_term
from derive.kernel.rules import Theorem, fact_normaliser
from derive.kernel.terms import KernelError, Term
from derive.prover import Prover

Use = tuple[Term, tuple[Theorem, ...]]
#: So many pairs of logarithms, and of what is known as factors, are tried.
MAX_PAIRS: Final = 12
MAX_KNOWN: Final = 6
_FAILED = (search.NotFound, KernelError)


class _Log(NamedTuple):
    """A logarithm in the goal: the index it is summed over, if any, its argument, what it has as
    a factor, and the sign of it."""

    over: Term | None
    argument: Term
    factor: Term
    sign: int


def uses(p: Prover, goal: Term) -> list[Use]:
    """Tangents at quotients of the arguments of logarithms in the goal, times their factors."""
    work = fact_normaliser("search", p.facts())
    found = list(dict.fromkeys(_logarithms(p, work.poly(T.sub(*reversed(goal.children))))))
    pairs = [(x, y) for x in found for y in found if x is not y and _fit(x, y)]
    out: list[Use] = []
    for x, y in islice(pairs, MAX_PAIRS):
        places = [s for log in (x, y) for s in T.free_symbols(log.argument)]
        fins = [s for s in dict.fromkeys(places) if isinstance(s, Term) and s.data[1] == "fin"]
        with p.remembering(*instances(p, fins)):
            for found_for in (_weighted, _plain):
                try:
                    out += found_for(p, x, y)
                except _FAILED:
                    continue
    for x in found:
        if x.over is None:
            out += _alone(p, x)
    return out + list(_cancelled(p, found))


def _alone(p: Prover, x: _Log) -> Iterator[Use]:
    """The bounds of one logarithm, times what is known."""
    known = [g for g in p.known() if g.conclusion.op in ("le", "lt")]
    for bound in bounds(p, T.fn("log", x.argument)):
        yield from ((T.ONE, (g, bound)) for g in known[:MAX_KNOWN])


def _logarithms(p: Prover, target: Poly) -> Iterator[_Log]:
    opened: dict[Term, Term] = {}
    for m, c in target.items():
        logs = [t for t, e in m.factors if e == 1 and t.op == "fn" and t.data == "log"]
        if len(logs) != 1 or len(m.indices) > 1:
            continue
        others = tuple((t, e) for t, e in m.factors if t is not logs[0])
        argument, factor = logs[0].children[0], monomial_term(Monomial((), others), Fraction(1))
        index = None
        for i in m.indices:
            size = i.children[0]
            if size not in opened:
                p.opened += 1
                opened[size] = T.var(f"_t{p.opened}", "fin", size)
            index = opened[size]
            argument, factor = (T.substitute(t, {i: index}) for t in (argument, factor))
        yield _Log(index, argument, factor, 1 if c > 0 else -1)


def _fit(x: _Log, y: _Log) -> bool:
    """Whether y may stand beside x, which has the factor: summed over the same index or none."""
    return x.argument is not y.argument and y.over in (x.over, None)


def _weighted(p: Prover, x: _Log, y: _Log) -> Iterator[Use]:
    """x - z <= x log x - x log z for z = y or 1/y, x > 0."""
    if x.sign < 0:
        return
    both_positive = [positive(p, t) for t in (x.argument, y.argument)]
    v, w = T.var("_v", "real"), T.var("_w", "real")
    with p.supposing(T.conj(*(T.lt(T.ZERO, t) for t in (v, w)))) as case:
        value = T.inv(w) if y.sign > 0 else w
        ratio = T.mul(value, T.inv(v))
        tangent = p.mp(p.axiom("log-tangent", ratio), p.trivial(T.lt(T.ZERO, ratio)))
        split = lemmas.log_of_product(p, [value, T.inv(v)])
        log_x, log_y = T.fn("log", v), T.fn("log", w)
        right = T.mul(v, T.add(log_x, log_y if y.sign > 0 else T.neg(log_y)))
        goal = T.le(T.sub(v, value), right)
        law = p.discharge(p.order(goal, (v, tangent), (v, split)), case)
    theorem = p.mp(p.at(p.for_all(law, v, w), x.argument, y.argument), *both_positive)
    yield T.ONE, (_summed(p, theorem, x),)


def _plain(p: Prover, x: _Log, y: _Log) -> Iterator[Use]:
    """The tangent at x^s y^t for signs s and t, times the factor of x and what is known."""
    signs = (-x.sign, -y.sign)
    both_positive = [positive(p, t) for t in (x.argument, y.argument)]
    v, w = T.var("_v", "real"), T.var("_w", "real")
    with p.supposing(T.conj(*(T.lt(T.ZERO, t) for t in (v, w)))) as case:
        parts = [t if s > 0 else T.inv(t) for s, t in zip(signs, (v, w), strict=True)]
        ratio = T.mul(*parts)
        tangent = p.mp(p.axiom("log-tangent", ratio), p.trivial(T.lt(T.ZERO, ratio)))
        logs = [T.mul(T.num(s), T.fn("log", t)) for s, t in zip(signs, (v, w), strict=True)]
        split = lemmas.log_of_product(p, parts)
        goal = T.le(T.add(*logs), T.sub(ratio, T.ONE))
        law = p.discharge(p.order(goal, (1, tangent), (1, split)), case)
    theorem = p.mp(p.at(p.for_all(law, v, w), x.argument, y.argument), *both_positive)
    if x.over is None:
        yield T.ONE, (theorem,)
        known = [g for g in p.known() if g.conclusion.op in ("le", "lt")]
        yield from ((T.ONE, (g, theorem)) for g in known[:MAX_KNOWN])
        return
    difference = T.sub(*reversed(theorem.conclusion.children))
    goal = T.le(T.ZERO, T.mul(x.factor, difference))
    yield T.ONE, (_summed(p, p.order(goal, (1, p.nonneg(x.factor), theorem)), x),)


def _summed(p: Prover, theorem: Theorem, x: _Log) -> Theorem:
    return theorem if x.over is None else p.sum_order(theorem, x.over)


def _cancelled(p: Prover, logs: Sequence[_Log]) -> Iterator[Use]:
    """x^-1 x = 1 for sums under a logarithm, either way."""
    for x in dict.fromkeys(log.argument for log in logs if log.over is None):
        if x.op in ("add", "sum"):
            try:
                equation = p.cancel(x, positive(p, x))
            except _FAILED:
                continue
            yield from ((T.num(s), (equation,)) for s in (1, -1))
