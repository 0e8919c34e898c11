r"""The backward passes of activation functions, entry by entry.

ReLU has a derivative away from its kink.  The sigmoid is 1/(1 + e^-x), SiLU is x times that, and
GELU in its tanh form is x times the sigmoid of twice the argument of tanh.  The error function is
not among the functions of the kernel: for GELU itself the normal distribution is a function of
which its derivative, the density, is all that is known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import sympy as sp

from derive.claim import Given, Script
from derive.claims._backward import (
    Case,
    Draw,
    backward_claim,
    by_table,
    defined_as,
    in_form,
    paired,
)
from derive.claims._gates import Units, sided, through_gates
from derive.claims._sigmoid import reflection, sigmoid
from derive.claims._softmax import delta, exp
from derive.evaluate import Smooth
from derive.kernel.rules import Theorem
from derive.language import (
    Differentiable,
    GradientIs,
    VectorFunction,
    dim,
    equal,
    forall,
    index,
    minus,
    over,
    plus,
    power,
    real,
    relu,
    tensor,
    times,
    total,
)
from derive.prover import Prover

ORDER = 77
TOPIC = "backward"

Entrywise = Callable[[Any], Any]

n = dim("n")
i, j, k = (index(name, n) for name in "ijk")
x, g, M, P, R, U = (tensor(name, n) for name in ("x", "g", "m", "p", "q", "u"))


# ---------------------------------------------------------------------- formulas


def loss(function: Entrywise) -> Any:
    """The entries of the output, each times its cotangent."""
    return total(times(g[i], function(x[i])), i)


def both_sides(z: Entrywise, what: str) -> tuple[Any, Any]:
    """The sigmoid of z, and that of -z."""
    return (
        defined_as(P, (i,), sigmoid(z(x[i])), rf"$p = \sigma({what})$"),
        defined_as(R, (i,), sigmoid(times(-1, z(x[i]))), rf"$q = \sigma(-{what})$"),
    )


def itself(z: Any) -> Any:
    return z


half = sp.Rational(1, 2)
c = real("c")
ROOT = power(over(2, sp.pi), half)


def tanh(u: Any) -> Any:
    grows, falls = exp(u), exp(times(-1, u))
    return over(minus(grows, falls), plus(grows, falls))


def argument(z: Any) -> Any:
    """What GELU hands to tanh."""
    return times(ROOT, plus(z, times(c, power(z, 3))))


def twice(z: Any) -> Any:
    return times(2, argument(z))


RELU_GOAL = GradientIs(loss(relu), x, j, times(M[j], g[j]))
OFF_THE_KINK = forall(i, sided(x[i], M[i]))
SIGMOID_GOAL = GradientIs(loss(sigmoid), x, j, times(g[j], P[j], R[j]))
SILU_GOAL = GradientIs(
    loss(lambda z: times(z, sigmoid(z))), x, j, times(g[j], P[j], plus(1, times(x[j], R[j])))
)
BY_SIGMOID = loss(lambda z: times(z, sigmoid(twice(z))))
SLOPE = times(2, ROOT, plus(1, times(3, c, power(x[j], 2))))
GELU_GOAL = GradientIs(
    loss(lambda z: times(z, times(half, plus(1, tanh(argument(z)))))), x, j,
    times(g[j], plus(P[j], times(x[j], P[j], R[j], SLOPE))),
)  # fmt: skip
Phi = VectorFunction("Phi", n, n)


def density(z: Any) -> Any:
    """Of the standard normal distribution."""
    return over(exp(times(-1, half, power(z, 2))), power(times(2, sp.pi), half))


NORMAL = (
    Given(forall(i, Differentiable(Phi(x)[i])), r"$\Phi$ is differentiable at $x$"),
    Given(
        forall([i, k], equal(Phi.partial(x)[i, k], times(delta(i, k), density(x[k])))),
        r"$\Phi$ works entry by entry, and its derivative is the density of the standard normal "
        "distribution",
    ),
)
EXACT_GOAL = GradientIs(
    total(times(g[i], x[i], Phi(x)[i]), i), x, j,
    times(g[j], plus(Phi(x)[j], times(x[j], density(x[j])))),
)  # fmt: skip


# ---------------------------------------------------------------------- proofs


def prove(goal: GradientIs, z: Entrywise, first: str) -> Script:
    """By the table; `z` is what the sigmoid takes."""

    def script(p: Prover) -> Theorem:
        raw = p.gradient(goal, reason=first)
        law = p.note(
            p.at(reflection(p), z(x[j])),
            r"$e^{-z}\,\sigma(z) = \sigma(-z)$ for every "
            "$z$",
        )
        return in_form(
            p, raw, goal, r"the delta leaves one entry; $p$ and $q$ are the two sigmoids",
            p.hyp(0), p.hyp(1), law,
        )  # fmt: skip

    return script


def tanh_law(p: Prover) -> Theorem:
    """For all u: sigma(2 u) = (1 + tanh u) / 2."""
    u = real("u")
    above, below = plus(exp(u), exp(times(-1, u))), plus(1, exp(times(-1, times(2, u))))
    law = p.equal(
        sigmoid(times(2, u)), times(half, plus(1, tanh(u))),
        (minus(half, power(below, -1)), p.cancel(above)),
        (times(exp(u), power(above, -1)), p.cancel(below)), show=False,
    )  # fmt: skip
    return p.for_all(law, u)


def prove_gelu(p: Prover) -> Theorem:
    law = p.note(
        tanh_law(p),
        r"$e^u$ times numerator and denominator: $\sigma(2u) = (1 + \tanh u)/2$ for "
        "every $u$",
    )
    by_sigmoid = GradientIs(BY_SIGMOID, *GELU_GOAL.args[1:])
    found = prove(by_sigmoid, twice, "product and chain rule, with the sigmoid for $\\tanh$")(p)
    same = p.for_all_tensors(p.replace(BY_SIGMOID, law), x)
    return p.note(p.with_function(found, same), r"and with $\tanh$ as it stands")


def prove_relu(p: Prover) -> Theorem:
    units = Units(x[i], M, (i,))
    return p.suppose(
        OFF_THE_KINK, lambda gates: through_gates(p, gates, RELU_GOAL, (j,), loss, units),
        "let no entry be 0, and let $m$ hold the gates",
    )  # fmt: skip


# ---------------------------------------------------------------------- the implementation


def draw(name: str) -> Draw:
    """`name` is that of the function in NumPy; entries on both sides of 0, large ones, and one."""

    def cases(rng: np.random.Generator) -> Iterator[Case]:
        import numeric

        for size, scale in ((6, 1), (5, 4), (1, 1)):
            point, cotangent = rng.standard_normal((2, size))
            point *= scale
            values: dict[Any, Any] = {x: point, g: cotangent}
            if name == "relu":
                values[M] = (point > 0).astype(float)
            if name == "gelu_tanh":
                values[c] = 0.044715
            if name == "gelu":
                values["Phi"] = Smooth(normal_distribution, normal_densities)
            output = getattr(numeric, name)(point)
            gradient = getattr(numeric, f"{name}_vjp")(point, cotangent)
            yield Case(values, paired(cotangent, output), gradient)

    return cases


def normal_distribution(v: Any) -> Any:
    return np.array([0.5 * (1 + math.erf(entry / math.sqrt(2))) for entry in v])


def normal_densities(v: Any) -> Any:
    """Its partial derivatives."""
    return np.diag(np.exp(-v * v / 2) / math.sqrt(2 * math.pi))


# ---------------------------------------------------------------------- claims

RELU = backward_claim(
    "relu", "ReLU: backward",
    r"`relu_vjp` returns $m \odot g$, where $m$ is 1 for a positive entry and 0 for the others.",
    RELU_GOAL, prove_relu, draw("relu"), premise=OFF_THE_KINK,
    mistakes=lambda: (("the gate turned round", times(1 - M[j], g[j])),),
    remark="At 0 ReLU has no derivative; the implementation returns 0 there.",
)  # fmt: skip
SIGMOID = backward_claim(
    "sigmoid", "Sigmoid: backward", r"`sigmoid_vjp` returns $g\,\sigma(x)\,\sigma(-x)$.",
    SIGMOID_GOAL, prove(SIGMOID_GOAL, itself, "quotient rule"), draw("sigmoid"),
    given=both_sides(itself, "x"),
)  # fmt: skip
SILU = backward_claim(
    "silu", "SiLU: backward",
    r"`silu_vjp` returns $g\,\sigma(x)\,(1 + x\,\sigma(-x))$, for $x\,\sigma(x)$.",
    SILU_GOAL, prove(SILU_GOAL, itself, "product and quotient rule"), draw("silu"),
    given=both_sides(itself, "x"),
    mistakes=lambda: (("the sigmoid is taken for a constant", times(g[j], P[j])),),
)  # fmt: skip
GELU = backward_claim(
    "gelu", "GELU: backward",
    r"`gelu_vjp` returns $g\,(\Phi(x) + x\,\varphi(x))$ with the distribution function $\Phi$ of "
    r"the standard normal distribution and its density $\varphi$, for $x\,\Phi(x)$.",
    EXACT_GOAL, by_table(EXACT_GOAL, "product rule", "the delta leaves one entry", 1),
    draw("gelu"), given=NORMAL,
    mistakes=lambda: (
        ("the distribution is taken for a constant", times(g[j], Phi(x)[j])),
        ("the density is not multiplied by the entry",
         times(g[j], plus(Phi(x)[j], density(x[j])))),
        ("the density without the half in the exponent",
         times(g[j], plus(Phi(x)[j], times(
             x[j], over(exp(times(-1, power(x[j], 2))), power(times(2, sp.pi), half)))))),
    ),
    remark=r"The kernel has no error function. All that is used of $\Phi$ is its derivative.",
)  # fmt: skip
GELU_TANH = backward_claim(
    "gelu-tanh", "GELU in its tanh form: backward",
    r"`gelu_tanh_vjp` returns $g\,(p + x\,p\,q\,s)$ with $p = \sigma(2u)$, $q = \sigma(-2u)$ and "
    r"$s = 2\sqrt{2/\pi}\,(1 + 3 c x^2)$, the derivative of $2u$, for $x\,(1 + \tanh u)/2$ with "
    r"$u = \sqrt{2/\pi}\,(x + c x^3)$ and $c = 0.044715$.",
    GELU_GOAL, prove_gelu, draw("gelu_tanh"), given=both_sides(twice, "2u"),
    remark="It holds for any number $c$.",
)  # fmt: skip

CLAIMS = (RELU, SIGMOID, SILU, GELU, GELU_TANH)

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
