r"""The backward pass of the gated feed-forward network with SiLU (SwiGLU), by every weight and X.

Rows are tokens: (SiLU(X W_g + b_g) * (X W_u + b_u)) W_d + b_d, the product taken unit by unit.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from derive.claim import Claim, Given, Script
from derive.claims._backward import (
    Case,
    Draw,
    backward_claim,
    by_name,
    by_table,
    defined_as,
    in_form,
    inserted,
    paired,
)
from derive.claims._sigmoid import reflection, sigmoid
from derive.kernel.rules import Theorem
from derive.language import GradientIs, dims, index, plus, tensor, times, total
from derive.prover import Prover

ORDER = 78
TOPIC = "backward"

n, d, d_ff = dims("n d_model d_ff")
t, r = index("t", n), index("r", n)
a, b = index("a", d), index("b", d)
j, k = index("j", d_ff), index("k", d_ff)
X, G = tensor("X", n, d), tensor("G", n, d)
W_G, W_U, W_D = tensor("W^g", d, d_ff), tensor("W^u", d, d_ff), tensor("W^d", d_ff, d)
b_G, b_U, b_D = tensor("b^g", d_ff), tensor("b^u", d_ff), tensor("b^d", d)
Z, U, P, R, H, D, E = (tensor(name, n, d_ff) for name in ("Z", "U", "P", "Q", "H", "D", "E"))


def through(w: Any, bias: Any) -> Any:
    """Unit j of token t."""
    return plus(total(times(X[t, a], w[a, j]), a), bias[j])


GATE, UP = through(W_G, b_G), through(W_U, b_U)
HIDDEN = times(times(GATE, sigmoid(GATE)), UP)
LOSS = total(times(G[t, b], plus(total(times(HIDDEN, W_D[j, b]), j), b_D[b])), t, b)


def of_unit(name: Any, value: Any, note: str) -> Given:
    return defined_as(name, (t, j), value, note)


OF_GATE = of_unit(Z, GATE, "$Z = X W^g + b^g$")
OF_UP = of_unit(U, UP, "$U = X W^u + b^u$")
OPEN = of_unit(P, sigmoid(Z[t, j]), r"$P = \sigma(Z)$")
SHUT = of_unit(R, sigmoid(times(-1, Z[t, j])), r"$Q = \sigma(-Z)$")
behind = total(times(G[t, b], W_D[j, b]), b)
BY_UP = of_unit(
    E, times(behind, Z[t, j], P[t, j]),
    r"$E = G (W^d)^\top \odot Z \odot P$ is the gradient by $U$",
)  # fmt: skip
BY_GATE = of_unit(
    D, times(behind, U[t, j], P[t, j], plus(1, times(Z[t, j], R[t, j]))),
    r"$D = G (W^d)^\top \odot U \odot P \odot (1 + Z \odot Q)$ is the gradient by $Z$",
)  # fmt: skip
UNITS = of_unit(
    H, times(times(Z[t, j], P[t, j]), U[t, j]), r"$H = Z \odot P \odot U$ holds the hidden units"
)  # fmt: skip

# ---------------------------------------------------------------------- proofs

#: what the network computes, in the order in which it is put in
NAMES = (OF_GATE, OF_UP, OPEN)


def prove(goal: GradientIs, given: tuple[Given, ...]) -> Script:
    """`given` begins with definitions among NAMES; the others are of what comes back."""

    def script(p: Prover) -> Theorem:
        known = {g: p.hyp(number) for number, g in enumerate(given)}
        names = [by_name(p, known[g], t, j) for g in NAMES if g in known]
        raw = inserted(p, p.gradient(goal), goal, *names)
        p.note(raw, "product, quotient and chain rule, with names for what has one")
        using = [known[g] for g in given if g not in (OF_GATE, OF_UP)]
        if SHUT in known:
            law = p.for_all(p.at(reflection(p), Z[t, j]), t, j)
            using.append(p.note(law, r"$e^{-z}\,\sigma(z) = \sigma(-z)$ for every $z$"))
        return in_form(
            p, raw, goal,
            "the deltas leave one term of each sum; the rest is what the names stand for", *using,
        )  # fmt: skip

    return script


# ---------------------------------------------------------------------- the implementation

#: tokens, d_model, d_ff: no two alike, then one token, one unit, one feature
SIZES = ((3, 4, 5), (1, 3, 2), (4, 2, 1), (2, 1, 3))


def draw(which: str) -> Draw:
    """`which` names an argument of the network."""

    def cases(rng: np.random.Generator) -> Iterator[Case]:
        from numeric import GatedFeedForwardWeights, gated_feed_forward, gated_feed_forward_vjp

        for tokens, width, hidden in SIZES:
            w = GatedFeedForwardWeights.init(rng, width, hidden, bias=True)
            x, cotangent = rng.standard_normal((2, tokens, width))
            by_tokens, by_weights = gated_feed_forward_vjp(x, w, cotangent)
            values = {
                X: x, G: cotangent, W_G: w.w_gate, W_U: w.w_up, W_D: w.w_down,
                b_G: w.b_gate, b_U: w.b_up, b_D: w.b_down,
            }  # fmt: skip
            gradient = by_tokens if which == "x" else getattr(by_weights, which)
            yield Case(values, paired(cotangent, gated_feed_forward(x, w)), gradient)

    return cases


# ---------------------------------------------------------------------- claims

TOLD = {
    BY_GATE: r"$D$ for the gradient by $Z = X W^g + b^g$",
    BY_UP: r"$E$ for the gradient by $U = X W^u + b^u$",
    UNITS: "$H$ for the hidden units",
}


def claim(
    name: str, title: str, formula: str, x: Any, place: Any, value: Any, which: str,
    given: tuple[Given, ...],
) -> Claim:  # fmt: skip
    goal = GradientIs(LOSS, x, place, value)
    told = ", ".join(TOLD[g] for g in given if g in TOLD)
    return backward_claim(
        f"gated-feed-forward-{name}", f"Gated feed-forward network: backward to {title}",
        f"`gated_feed_forward_vjp` returns ${formula}$ as the gradient by {title}, with {told}.",
        goal, prove(goal, given), draw(which), given=given,
    )  # fmt: skip


THROUGH_GATE = (OF_GATE, OF_UP, OPEN, SHUT, BY_GATE)
THROUGH_UP = (OF_GATE, OPEN, BY_UP)
INPUT = claim(
    "input", "the input", r"D (W^g)^\top + E (W^u)^\top", X, (r, a),
    plus(total(times(D[r, j], W_G[a, j]), j), total(times(E[r, j], W_U[a, j]), j)), "x",
    (*THROUGH_GATE, BY_UP),
)  # fmt: skip
GATE_WEIGHT = claim(
    "gate-weight", "$W^g$", r"X^\top D", W_G, (a, k), total(times(X[t, a], D[t, k]), t),
    "w_gate", THROUGH_GATE,
)  # fmt: skip
GATE_BIAS = claim(
    "gate-bias", "$b^g$", r"\mathbf{1}^\top D", b_G, k, total(D[t, k], t), "b_gate", THROUGH_GATE
)
UP_WEIGHT = claim(
    "up-weight", "$W^u$", r"X^\top E", W_U, (a, k), total(times(X[t, a], E[t, k]), t), "w_up",
    THROUGH_UP,
)  # fmt: skip
UP_BIAS = claim(
    "up-bias", "$b^u$", r"\mathbf{1}^\top E", b_U, k, total(E[t, k], t), "b_up", THROUGH_UP
)  # fmt: skip
DOWN_WEIGHT = claim(
    "down-weight", "$W^d$", r"H^\top G", W_D, (k, b), total(times(H[t, k], G[t, b]), t), "w_down",
    (OF_GATE, OF_UP, OPEN, UNITS),
)  # fmt: skip
DOWN_BIAS_GOAL = GradientIs(LOSS, b_D, b, total(G[t, b], t))
DOWN_BIAS = backward_claim(
    "gated-feed-forward-down-bias", "Gated feed-forward network: backward to $b^d$",
    r"`gated_feed_forward_vjp` returns $\mathbf{1}^\top G$ as the gradient by $b^d$.",
    DOWN_BIAS_GOAL,
    by_table(DOWN_BIAS_GOAL, "the bias is added to every row", "the delta leaves one column"),
    draw("b_down"),
)  # fmt: skip

CLAIMS = (INPUT, GATE_WEIGHT, GATE_BIAS, UP_WEIGHT, UP_BIAS, DOWN_WEIGHT, DOWN_BIAS)

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
