"""What the claims about softmax and about attention share: weights by definition, and lemmas.

Weights are a tensor with their definition as a hypothesis, so that statements about them can be
read; `distribution` is the first thing that every proof takes from it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import sympy as sp

from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.kernel.terms import Lam, Term
from derive.language import (
    at_most,
    call,
    dim,
    equal,
    forall,
    index,
    less,
    over,
    plus,
    real,
    times,
    total,
)
from derive.prover import Prover

m = dim("m")
i, j, k, s, u = (index(name, m) for name in "sukij")
delta = sp.KroneckerDelta
Entry = Callable[[Any], Any]


def exp(x: Any) -> Any:
    """e^x as it is written; SymPy takes its time to look for something simpler."""
    return call(sp.exp, x)


def log(x: Any) -> Any:
    """The logarithm as it is written."""
    return call(sp.log, x)


def softmax(z: Entry, i: Any) -> Any:
    """e^{z_i} over the sum of e^{z_u} for all u."""
    return over(exp(z(i)), total(exp(z(u)), u))


def weights(w: Entry, z: Entry) -> Any:
    """For every i: w_i is entry i of the softmax of z."""
    return forall(i, equal(w(i), softmax(z, i)))


def under(p: Prover, assumed: Any, reasons: Sequence[str], then: Callable[..., Theorem]) -> Theorem:
    """assumed -> what `then` proves from its parts, which are shown with their reasons."""
    with p.supposing(assumed) as case:
        many = len(reasons) > 1
        parts = [p.part(case, n) for n in range(len(reasons))] if many else [case]
        for part, reason in zip(parts, reasons, strict=True):
            p.note(part, reason)
        proved = then(*parts)
    return p.discharge(proved, case)


def positive_weights(p: Prover, definition: Theorem, w: Entry) -> Theorem:
    """0 < w_i for every i."""
    positive = p.order(
        less(0, w(i)), (1, p.at(definition, i)),
        reason="a quotient of exponentials, which are positive",
    )  # fmt: skip
    return p.for_all(positive, i)


def sum_of_weights(p: Prover, definition: Theorem, w: Entry, z: Entry) -> Theorem:
    """The w_i sum to one."""
    bottom = total(exp(z(u)), u)
    return p.calc(
        total(w(i), i),
        (over(total(exp(z(i)), i), bottom), "insert the definition; the denominator is common",
         definition),
        (1, "numerator and denominator are the same sum", p.cancel(bottom)),
    )  # fmt: skip


def distribution(p: Prover, definition: Theorem, w: Entry, z: Entry) -> tuple[Theorem, Theorem]:
    """0 < w_i for every i, and the w_i sum to one."""
    positive = positive_weights(p, definition, w)
    return positive, sum_of_weights(p, definition, w, z)


def left_for_others(p: Prover, positive: Theorem, one: Theorem, w: Entry) -> Theorem:
    """0 <= 1 - w_i - w_j + [i = j] w_i for all i, j: what two weights leave for the others."""
    neither = times(1 - delta(i, k), 1 - delta(j, k))
    others = p.sum_order(
        p.order(
            at_most(0, times(neither**2, w(k))), (1, p.square(neither), p.at(positive, k))
        ), k,
    )  # fmt: skip
    rest = p.order(
        at_most(0, 1 - w(i) - w(j) + delta(i, j) * w(i)), (1, others), (-1, one),
        reason="the weights other than $s$ and $u$ are positive, and all sum to 1",
    )  # fmt: skip
    return p.for_all(rest, i, j)


def at_most_one(p: Prover, left: Theorem, w: Entry) -> Theorem:
    """w_i <= 1 for every i, from what i and i leave for the others."""
    return p.for_all(p.order(at_most(w(i), 1), (1, p.at(left, i, i))), i)


def size_at_most(p: Prover, x: Any, bound: Any, low: Theorem, high: Theorem) -> Theorem:
    """|x| <= bound, from -bound <= x and x <= bound."""
    goal = at_most(sp.Abs(x), bound)
    return p.cases(
        p.dichotomy(0, x),
        lambda case: p.order(goal, (1, high), (-1, p.mp(p.axiom("abs-nonneg", x), case))),
        lambda case: p.order(
            goal, (1, low),
            (-1, p.mp(p.axiom("abs-nonpos", x), p.order(at_most(x, 0), (1, case)))),
        ),
    )  # fmt: skip


def same_or_apart(
    p: Prover, a: Any, b: Any, same: Callable[[Theorem], Theorem],
    apart: Callable[[Theorem, Theorem], Theorem],
) -> Theorem:  # fmt: skip
    """One conclusion for two indices that are the same, or not.

    `same` takes delta(a, b) = 1; `apart` takes not a = b, and delta(a, b) = 0.
    """
    x, y = p.term(a), p.term(b)

    def then_one(case: Theorem) -> Theorem:
        at_a = p.trivial(T.eq(T.delta(x, x), T.ONE))
        return same(p.rewrite(case, at_a, lambda hole: T.eq(T.delta(x, hole), T.ONE)))

    return p.cases(
        infer("excluded-middle", [], T.eq(x, y)),
        then_one,
        lambda case: apart(case, no_delta(p, case)),
    )


def no_delta(p: Prover, apart: Theorem) -> Theorem:
    """delta(a, b) = 0, from not a = b for two indices."""
    x, y = apart.conclusion.children[0].children
    both = T.delta(x, y)
    return p.equal(both, 0, (T.neg(both), p.cancel(T.sub(x, y), apart)), show=False)


def no_delta_ever(p: Prover) -> Theorem:
    """For all indices i, j: not i = j -> delta(i, j) = 0; also good for literal indices."""
    with p.supposing(T.negate(T.eq(p.term(i), p.term(j)))) as apart:
        none = no_delta(p, apart)
    return p.for_all(p.discharge(none, apart), i, j)


def spike(p: Prover, x: Any) -> Theorem:
    """For all i, j: e^(delta(i, j) x) = 1 + delta(i, j) (e^x - 1)."""
    x = p.term(x)
    d = T.delta(p.term(i), p.term(j))

    def claimed(d: Term) -> Term:
        peak = T.sub(T.fn("exp", x), T.ONE)
        return T.eq(T.fn("exp", T.mul(d, x)), T.add(T.ONE, T.mul(d, peak)))

    def at(value: Term, known: Theorem) -> Theorem:
        there = p.equal(*claimed(value).children, show=False)
        back = p.equal(value, d, (-1, known), show=False)
        return p.rewrite(back, there, claimed)

    each = same_or_apart(
        p, i, j, lambda one: at(T.ONE, one), lambda _, none: at(T.ZERO, none)
    )  # fmt: skip
    return p.for_all(each, i, j)


def exp_order(p: Prover, below: Theorem) -> Theorem:
    """e^a <= e^b, from a <= b."""
    a, b = below.conclusion.children
    x, y = T.fn("exp", a), T.fn("exp", b)
    goal = T.le(x, y)

    def same(above: Theorem) -> Theorem:
        both = infer("antisymmetry", [below, above])
        return p.rewrite(both, p.trivial(T.le(x, x)), lambda hole: T.le(x, T.fn("exp", hole)))

    def less_than(case: Theorem) -> Theorem:
        return p.order(goal, (1, p.mp(p.axiom("exp-increasing", a, b), case)))

    return p.cases(p.dichotomy(b, a), same, less_than)


def shift_cancels(p: Prover, z: Entry, constant: Any, index: Any) -> Theorem:
    """softmax(z + constant)_i = softmax(z)_i."""
    before, after = total(exp(z(u)), u), total(exp(plus(z(u), constant)), u)
    left = softmax(lambda u: plus(z(u), constant), index)
    right = softmax(z, index)
    # e^(z_i + c) / T = e^(z_i + c) / T * S / S = e^(z_i) / S * T / T, since T = e^c S
    return p.equal(
        left, right, (-left, p.cancel(before)), (right, p.cancel(after)),
        reason="the common factor of numerator and denominator cancels",
    )  # fmt: skip


def not_for_all(p: Prover, goal: Term, *values: Term | Lam) -> Theorem:
    """not for all x ...: q, for the formula `goal`, from q at the values by evaluation."""
    levels = [goal.children[0]]
    for value in values:
        levels.append(T.instantiate(levels[-1].children[-1], (value,)))
    return fails_at(goal, p.trivial(T.negate(levels[-1])), *values)


def fails_at(goal: Term, failing: Theorem, *values: Term | Lam) -> Theorem:
    """not for all x ...: q, for the formula `goal`, from not q at the values."""
    levels = [goal.children[0]]
    for value in values:
        levels.append(T.instantiate(levels[-1].children[-1], (value,)))
    for level, value in zip(reversed(levels[:-1]), reversed(values), strict=True):
        failing = infer("not-forall", [failing], T.negate(level), value)
    return failing


def itself(p: Prover, t: Term) -> Theorem:
    """t = t, without a normal form of t."""
    x = real("x")
    return p.at(p.for_all(p.equal(x, x, show=False), x), t)


def put_in(p: Prover, theorem: Theorem, *equations: Theorem, right_only: bool = False) -> Theorem:
    """The theorem with the right side of each equation in place of its left side."""
    for equation in equations:
        theorem = p.rewrite(equation, theorem, _template(theorem, equation, right_only))
    return theorem


def _template(theorem: Theorem, equation: Theorem, right_only: bool) -> Callable[[Term], Term]:
    c, old = theorem.conclusion, equation.conclusion.children[0]

    def template(x: Term) -> Term:
        if right_only:
            return T.eq(c.children[0], _replaced(c.children[1], old, x))
        return _replaced(c, old, x)

    return template


def _replaced(t: Term, old: Term, new: Term) -> Term:
    return new if t is old else T.map_children(t, lambda c, _: _replaced(c, old, new))
