"""Derivatives through ReLU away from its kink, which the derivative table does not know.

ReLU(z) = (z + sqrt(z^2)) / 2 is a formula that it does know; where z is not 0, the slope that it
gives is 1 or 0, the gate of the unit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sympy as sp

from derive.kernel import terms as T
from derive.kernel.rules import Theorem
from derive.kernel.terms import Term
from derive.language import (
    GradientIs,
    at_most,
    both,
    either,
    equal,
    less,
    plus,
    power,
    real,
    relu,
    times,
)
from derive.prover import Prover

HALF = Fraction(1, 2)
ROOT_SLOPE = (
    r"the root of $z^2$ is $z$ for $z > 0$ and $-z$ for $z < 0$: the slope that the table gives is "
    "the gate"
)


def root_form(z: Any) -> Any:
    """(z + sqrt(z^2)) / 2, which is ReLU(z)."""
    return times(sp.Rational(1, 2), plus(z, power(power(z, 2), sp.Rational(1, 2))))


def slope_of_root_form(z: Term, v: Term) -> Term:
    """What the derivative table makes of it, where `v` is the derivative of z."""
    outer = T.div(T.ONE, T.mul(T.num(2), T.fn("sqrt", T.power(z, 2))))
    inner = T.mul(T.num(2), T.power(z, 1), v)
    return T.mul(T.num(HALF), T.add(v, T.mul(outer, inner)))


def sided(z: Any, g: Any) -> Any:
    """No unit is at its kink; the gate is 1 on one side and 0 on the other."""
    return either(both(less(0, z), equal(g, 1)), both(less(z, 0), equal(g, 0)))


def sign_cases(p: Prover, known: Theorem, z: Any, proof: Callable[[Theorem, Theorem], Theorem]
               ) -> Theorem:  # fmt: skip
    """`proof` takes the value of |z| and that of the gate."""

    def above(case: Theorem) -> Theorem:
        up = p.order(at_most(0, z), (1, p.part(case, 0)))
        return proof(p.mp(p.axiom("abs-nonneg", z), up), p.part(case, 1))

    def below(case: Theorem) -> Theorem:
        low = p.order(at_most(z, 0), (1, p.part(case, 0)))
        return proof(p.mp(p.axiom("abs-nonpos", z), low), p.part(case, 1))

    return p.cases(known, above, below)


def root_law(p: Prover) -> Theorem:
    """For all z: (z + sqrt(z^2)) / 2 = ReLU(z)."""
    z = real("z")
    goal = equal(root_form(z), relu(z))

    def above(case: Theorem) -> Theorem:
        size = p.mp(p.axiom("abs-nonneg", z), case)
        return p.equal(*goal.args, size, (p.mp(p.axiom("max-right", 0, z), case)), show=False)

    def below(case: Theorem) -> Theorem:
        low = p.order(at_most(z, 0), (1, case))
        size = p.mp(p.axiom("abs-nonpos", z), low)
        return p.equal(*goal.args, size, p.mp(p.axiom("max-left", 0, z), low), show=False)

    return p.for_all(p.cases(p.dichotomy(0, z), above, below), z)


def slope_law(p: Prover) -> Theorem:
    """For all z and g: if g is the gate of z, then for all v the slope is g v."""
    z, g, v = real("z"), real("g"), real("v")
    slope, claimed = slope_of_root_form(p.term(z), p.term(v)), p.term(times(g, v))
    with p.supposing(sided(z, g)) as known:
        law = sign_cases(
            p, known, z, lambda size, value: p.equal(slope, claimed, size, value, show=False)
        )
    return p.for_all(p.discharge(p.for_all(law, v), known), z, g)


def square_positive(p: Prover, known: Theorem, z: Any) -> Theorem:
    """The unit is not at its kink, so the square of what it receives is positive."""

    def either_side(case: Theorem) -> Theorem:
        side = p.part(case, 0)
        return p.order(less(0, power(z, 2)), (1, side, side))

    return p.cases(known, either_side, either_side)


@dataclass(frozen=True)
class Units:
    """What the units receive, and the tensor of their gates, at these indices."""

    z: Any
    gate: Any
    at: tuple[Any, ...]


def through_gates(
    p: Prover, gates: Theorem, goal: Any, place: tuple[Any, ...],
    loss: Callable[[Callable[[Any], Any]], Any], units: Units, *using: Theorem,
) -> Theorem:  # fmt: skip
    """A gradient of the loss, as a function of the activation, by way of the root.

    `gates` says of all units that they are not at the kink, and what their gates are; `using` are
    definitions that `goal` makes use of.
    """
    z, at = units.z, units.at
    law = p.note(root_law(p), "ReLU as a formula that the derivative table knows")
    away = p.note(
        p.for_all(square_positive(p, p.at(gates, *at), z), *at),
        "the root is not taken at 0, as no unit is there",
    )
    smooth = GradientIs(loss(root_form), *goal.args[1:])
    raw = p.gradient(smooth, away)
    same = p.for_all_tensors(p.replace(loss(root_form), law), goal.args[1])
    slope = p.mp(p.at(slope_law(p), z, units.gate[at]), p.at(gates, *at))
    p.note(slope, ROOT_SLOPE)
    gated_value = p.replace(p.partial(raw, *place), p.for_all(slope, *at))
    value = p.equal(gated_value.conclusion.children[1], goal.args[3], *using, show=False)
    whole = p.linked(gated_value, value)
    theorem = p.with_function(p.with_partial(raw, whole, *place), same)
    return p.note(theorem, "chain rule, with the gates in place of the slopes; the deltas contract")
