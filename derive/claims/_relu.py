"""What the claims about ReLU share: brackets and signs, and moves of their proofs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp

from derive.claims import INTERVIEW
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.language import at_most, call, equal, over, plus, real, relu, times
from derive.prover import Prover
from derive.result import Source

half = sp.Rational(1, 2)


def source(places: str, says: str) -> Source:
    return Source(INTERVIEW, tuple(places.split()), says)


def neg(t: Any) -> Any:
    return times(-1, t)


def size(t: Any) -> Any:
    return call(sp.Abs, t)


def at_zero(t: Any) -> Any:
    """1 for 0, and 0 for any other number."""
    return call(sp.KroneckerDelta, t, 0)  # evaluation would ask for the sign of t


def inactive(t: Any) -> Any:
    """1 where ReLU gives 0, that is for t <= 0, and 0 elsewhere."""
    return at_zero(relu(t))


def of(values: np.ndarray) -> np.ndarray:
    """ReLU as the code computes it."""
    from numeric import relu as forward

    return forward(values)


# ---------------------------------------------------------------------- moves


def by_sign(p: Prover, t: Any, branch: Callable[[Theorem], Theorem]) -> Theorem:
    """One conclusion for t >= 0 and for t < 0, each case shown as a line."""

    def shown(reason: str) -> Callable[[Theorem], Theorem]:
        return lambda case: branch(p.note(case, reason))

    return p.cases(
        p.dichotomy(0, t), shown("first case"), shown("second case; there is no third one")
    )


def bracket_law(p: Prover, t: Any) -> Theorem:
    """[t = 0] t = [t = 0] 0, from the same for any two numbers."""
    u, v = T.var("u"), T.var("v")
    bracket = T.delta(u, v)
    law = T.eq(T.mul(bracket, u), T.mul(bracket, v))
    theorem = infer("linear-combination", [], law, 0, ())
    return p.at(p.for_all(theorem, u, v), t, 0)


def below_ramp(p: Prover, t: Any) -> Theorem:
    """t <= ReLU(t)."""

    def case(_: Theorem) -> Theorem:
        return p.order(at_most(t, relu(t)))

    return p.cases(p.dichotomy(0, t), case, case)


def absolute_at_least(p: Prover, t: Any, sign: int) -> Theorem:
    """t <= |t| for the sign 1, -t <= |t| for the sign -1."""
    goal = at_most(times(sign, t), size(t))

    def case(known: Theorem) -> Theorem:
        other = (sign > 0) is (known.conclusion.op == "lt")  # then |t| is the other one of t and -t
        return p.order(goal, *([(2, known)] if other else []))

    return p.cases(p.dichotomy(0, t), case, case)


x = real("x")
brackets = equal(plus(inactive(x), inactive(neg(x))), plus(1, at_zero(x)))


def count_brackets(p: Prover) -> Theorem:
    """[x <= 0] + [x >= 0] = 1 + [x = 0], for every real x."""

    def case(sign: Theorem) -> Theorem:
        if sign.conclusion.op == "le":
            return p.cases(p.dichotomy(x, 0), lambda other: at_the_kink(p, sign, other), apart)
        return apart(sign)

    def apart(sign: Theorem) -> Theorem:
        none = p.equal(at_zero(x), 0, (over(1, x), bracket_law(p, x)), show=False)
        return p.equal(*brackets.args, none, show=False)

    theorem = p.cases(p.dichotomy(0, x), case, case)
    return p.note(
        p.for_all(theorem, x),
        r"the brackets count $x\le0$, $x\ge0$ and $x=0$: only $0$ is counted twice",
    )


def at_the_kink(p: Prover, low: Theorem, high: Theorem) -> Theorem:
    zero = infer("antisymmetry", [low, high])
    formula = p.formula(brackets)
    here = p.trivial(T.substitute(formula, {p.term(x): T.ZERO}))
    return p.rewrite(zero, here, lambda hole: T.substitute(formula, {p.term(x): hole}))
