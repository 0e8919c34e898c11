r"""The backward pass of the feed-forward network, by its weights and by its input.

Rows are tokens, as in `numeric/`: FFN(X) = ReLU(X W_1 + b_1) W_2 + b_2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from derive.claim import Claim, Script
from derive.claims._backward import (
    Case,
    Draw,
    Mistakes,
    backward_claim,
    by_table,
    defined_as,
    normal,
    paired,
    place_of,
)
from derive.claims._gates import Units, sided, through_gates
from derive.kernel.rules import Theorem
from derive.language import GradientIs, dims, forall, index, over, plus, relu, tensor, times, total
from derive.prover import Prover

ORDER = 74
TOPIC = "backward"

n, d, d_ff = dims("n d_model d_ff")
t, r = index("t", n), index("r", n)
a, b = index("a", d), index("b", d)
j = index("j", d_ff)
X, G = tensor("X", n, d), tensor("G", n, d)
W_1, b_1, W_2, b_2 = (
    tensor("W_1", d, d_ff), tensor("b_1", d_ff), tensor("W_2", d_ff, d), tensor("b_2", d)
)  # fmt: skip
M, H, D = (tensor(name, n, d_ff) for name in "MHD")


def received(t: Any) -> Any:
    """What hidden unit j receives for token t."""
    return plus(total(times(X[t, a], W_1[a, j]), a), b_1[j])


def loss(act: Callable[[Any], Any] = relu) -> Any:
    """The entries of the output, each times its cotangent."""
    output = plus(total(times(act(received(t)), W_2[j, b]), j), b_2[b])
    return total(times(G[t, b], output), t, b)


LOSS = loss()
UNITS = Units(received(t), M, (t, j))
OFF_THE_KINK = forall([t, j], sided(received(t), M[t, j]))
HIDDEN = defined_as(
    H, (t, j), relu(received(t)), r"$H = \mathrm{ReLU}(X W_1 + b_1)$ holds the hidden units"
)  # fmt: skip
BEHIND = defined_as(
    D, (t, j), times(M[t, j], total(times(G[t, b], W_2[j, b]), b)),
    r"$D = M \odot G\,W_2^\top$ is the gradient by what the hidden units receive",
)  # fmt: skip

# ---------------------------------------------------------------------- proofs


def prove_through(goal: GradientIs) -> Script:
    """A gradient that passes the hidden units."""

    def prove(p: Prover) -> Theorem:
        return p.suppose(
            OFF_THE_KINK,
            lambda gates: through_gates(
                p, gates, goal, place_of(goal), loss, UNITS, p.hyp(0)
            ),
            "let no hidden unit of any token be at its kink, and let $M$ hold the gates",
        )  # fmt: skip

    return prove


# ---------------------------------------------------------------------- the implementation

#: tokens, d_model, d_ff: no two alike, then one token, one unit, one feature
SIZES = ((3, 4, 5), (1, 3, 2), (4, 2, 1), (2, 1, 3))
#: units are at least so far from their kink
ROOM = 1e-3


def draw(which: str) -> Draw:
    """`which` names an argument of the network."""

    def cases(rng: np.random.Generator) -> Iterator[Case]:
        from numeric import FeedForwardWeights, feed_forward, feed_forward_vjp

        for tokens, width, hidden in SIZES:
            w = FeedForwardWeights.init(rng, width, hidden)
            x = off_the_kink(rng, tokens, w)
            cotangent = rng.standard_normal(x.shape)
            by_tokens, by_weights = feed_forward_vjp(x, w, cotangent)
            gates = (x @ w.w_1 + w.b_1 > 0).astype(float)
            values = {X: x, G: cotangent, M: gates, W_1: w.w_1, b_1: w.b_1, W_2: w.w_2, b_2: w.b_2}
            gradient = by_tokens if which == "x" else getattr(by_weights, which)
            yield Case(values, paired(cotangent, feed_forward(x, w)), gradient)

    return cases


def off_the_kink(rng: np.random.Generator, tokens: int, w: Any) -> Any:
    while True:
        (x,) = normal(rng, (tokens, w.d_model))
        if np.abs(x @ w.w_1 + w.b_1).min() > ROOM:
            return x


# ---------------------------------------------------------------------- claims


def claim(
    name: str, title: str, formula: str, goal: GradientIs, which: str, remark: str = "",
    mistakes: Mistakes | None = None,
) -> Claim:  # fmt: skip
    """A gradient that passes the hidden units."""
    return backward_claim(
        f"feed-forward-{name}", f"Feed-forward network: backward to {title}",
        f"`feed_forward_vjp` returns ${formula}$ as the gradient by {title}, with "
        r"$D = M \odot G\,W_2^\top$ for the gradient by what the hidden units receive; $M$ is 1 "
        "where that is positive, and 0 elsewhere.",
        goal, prove_through(goal), draw(which), given=(BEHIND,), premise=OFF_THE_KINK,
        mistakes=mistakes, remark=remark,
    )  # fmt: skip


INPUT = claim(
    "input", "the input", r"D\,W_1^\top",
    GradientIs(LOSS, X, (r, a), total(times(D[r, j], W_1[a, j]), j)), "x",
    "At a kink ReLU has no derivative, and the implementation takes the gate to be 0 there.",
    lambda: (
        ("the gates are left out",
         total(times(W_1[a, j], total(times(G[r, b], W_2[j, b]), b)), j)),
    ),
)  # fmt: skip
FIRST_WEIGHT = claim(
    "first-weight", "$W_1$", r"X^\top D",
    GradientIs(LOSS, W_1, (a, j), total(times(X[t, a], D[t, j]), t)), "w_1",
)  # fmt: skip
FIRST_BIAS = claim(
    "first-bias", "$b_1$", r"\mathbf{1}^\top D", GradientIs(LOSS, b_1, j, total(D[t, j], t)), "b_1",
    mistakes=lambda: (("the mean over the tokens", over(total(D[t, j], t), n)),),
)  # fmt: skip
SECOND_WEIGHT_GOAL = GradientIs(LOSS, W_2, (j, b), total(times(H[t, j], G[t, b]), t))
SECOND_WEIGHT = backward_claim(
    "feed-forward-second-weight", "Feed-forward network: backward to $W_2$",
    r"`feed_forward_vjp` returns $H^\top G$ as the gradient by $W_2$, with "
    r"$H = \mathrm{ReLU}(X W_1 + b_1)$.",
    SECOND_WEIGHT_GOAL,
    by_table(
        SECOND_WEIGHT_GOAL, "the output is linear in $W_2$, so no unit has to be off its kink",
        "the deltas leave one unit and one column", 0,
    ),
    draw("w_2"), given=(HIDDEN,),
)  # fmt: skip
SECOND_BIAS_GOAL = GradientIs(LOSS, b_2, b, total(G[t, b], t))
SECOND_BIAS = backward_claim(
    "feed-forward-second-bias", "Feed-forward network: backward to $b_2$",
    r"`feed_forward_vjp` returns $\mathbf{1}^\top G$ as the gradient by $b_2$, the sum over "
    "all tokens.",
    SECOND_BIAS_GOAL,
    by_table(SECOND_BIAS_GOAL, "the bias is added to every row", "the delta leaves one column"),
    draw("b_2"),
)  # fmt: skip

CLAIMS = (INPUT, FIRST_WEIGHT, FIRST_BIAS, SECOND_WEIGHT, SECOND_BIAS)

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
