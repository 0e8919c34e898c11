r"""The backward pass of multi-head attention with a mask, by its four biases and its three inputs.

Each of them stands on one path, as in the layer without a mask.  A bias of the keys adds the same
number to all scores of a query, whatever the mask adds to them: its gradient is zero.
"""

from __future__ import annotations

from typing import Any

from derive.claim import Script
from derive.claims._backward import backward_claim, by_table, in_form
from derive.claims._heads import W_K, W_Q, W_V, K, Q, V, a, c, entries, f, i, j, m, n, o, scaled, t
from derive.claims._softmax import delta
from derive.claims.backward_masked_heads import (
    BY_KEYS,
    BY_QUERIES,
    BY_VALUES,
    CROSS,
    FORWARD,
    SCORES,
    claim,
    draw,
)
from derive.claims.backward_multi_head import (
    BY_HEADS,
    G,
    b_K,
    b_O,
    b_Q,
    b_V,
    e,
    r,
    r_m,
    through_scores,
    through_values,
)
from derive.kernel.rules import Theorem
from derive.language import GradientIs, over, times, total
from derive.prover import Prover

ORDER = 73
TOPIC = "backward"

s = CROSS.s

# ---------------------------------------------------------------------- how a score changes


def by_query_bias(i: Any, t: Any, s: Any) -> Any:
    """How the scaled score of key s for query t changes with entry c of b^Q_j."""
    return scaled(times(delta(i, j), CROSS.k[i, s, c]))


def by_query_input(i: Any, t: Any, s: Any) -> Any:
    return scaled(times(delta(t, r), total(times(W_Q[i, a, c], CROSS.k[i, s, c]), c)))


def by_key_bias(i: Any, t: Any, s: Any) -> Any:
    """The same for every key s."""
    return scaled(times(delta(i, j), CROSS.q[i, t, c]))


def by_key_input(i: Any, t: Any, s: Any) -> Any:
    return scaled(times(delta(s, r_m), total(times(W_K[i, a, c], CROSS.q[i, t, c]), c)))


# ---------------------------------------------------------------------- claims

QUERY_BIAS = GradientIs(CROSS.loss, b_Q, (j, c), total(CROSS.by_q[j, t, c], t))
QUERY_INPUT = GradientIs(
    CROSS.loss, Q, (r, a), total(times(CROSS.by_q[i, r, c], W_Q[i, a, c]), i, c)
)  # fmt: skip
KEY_BIAS = GradientIs(CROSS.loss, b_K, (j, c), total(CROSS.by_k[j, s, c], s))
KEY_INPUT = GradientIs(
    CROSS.loss, K, (r_m, a), total(times(CROSS.by_k[i, r_m, c], W_K[i, a, c]), i, c)
)  # fmt: skip
VALUE_BIAS = GradientIs(CROSS.loss, b_V, (j, e), total(CROSS.by_v[j, s, e], s))
VALUE_INPUT = GradientIs(
    CROSS.loss, V, (r_m, a), total(times(CROSS.by_v[i, r_m, f], W_V[i, a, f]), i, f)
)  # fmt: skip
OUTPUT_BIAS = GradientIs(CROSS.loss, b_O, (o,), total(G[t, o], t))


NO_CHANGE = GradientIs(CROSS.loss, b_K, (j, c), 0)


def prove_key_bias_does_nothing(goal: GradientIs) -> Script:
    """The gradient by the scores of a query sums to 0, and the bias moves all of them alike."""

    def prove(p: Prover) -> Theorem:
        by_query = total(times(CROSS.q[j, t, c], total(CROSS.R[j, t, s], s)), t)
        summed = GradientIs(CROSS.loss, b_K, (j, c), scaled(by_query))
        raw = through_scores(CROSS, summed, by_key_bias, 5)(p)
        named = entries(CROSS.q), entries(CROSS.k)
        (nonzero,) = CROSS.nonzero(p, p.hyp(0), p.hyp(1), named)
        bottom = CROSS.divisor(*named)
        one = p.mp(p.axiom("inverse", bottom), p.at(nonzero, i, t))
        weights = p.equal(
            total(CROSS.A[i, t, s], s), 1, CROSS.hyp(p, 2), one,
            reason="the weights of a query sum to 1",
        )  # fmt: skip
        scores = p.equal(
            total(CROSS.R[i, t, s], s), 0, CROSS.hyp(p, 5), weights,
            reason="so the gradient by its scores sums to 0",
        )  # fmt: skip
        zero = p.for_all(scores, i, t)
        return in_form(p, raw, goal, "every query contributes such a sum", zero)

    return prove


KEY_BIAS_DOES_NOTHING = backward_claim(
    "multi-head-masked-key-bias-zero",
    "Masked multi-head attention: the gradient by $b^K_i$ is zero",
    "The gradient by $b^K_i$ that `multi_head_attention_vjp` returns is zero up to rounding, "
    "whatever mask is added to the scores: the bias moves all scores of a query alike.",
    NO_CHANGE, prove_key_bias_does_nothing(NO_CHANGE), draw("b_k"),
    given=(*CROSS.mask, *SCORES), defined=CROSS.defined, only_in_numbers=True,
    mistakes=lambda: (
        ("the mean is not taken away in the backward pass of the softmax",
         total(times(by_key_bias(i, t, s), CROSS.A[i, t, s], CROSS.gain(s)), i, t, s)),
    ),
    remark="Attention without a mask is the case in which all factors are 1.",
)  # fmt: skip

CLAIMS = (
    claim(
        "query-bias", "$b^Q_i$", r"\mathbf{1}^\top q'_i", QUERY_BIAS,
        through_scores(CROSS, QUERY_BIAS, by_query_bias, 6, 5), "b_q", (*SCORES, BY_QUERIES),
        lambda: (("excluded keys count as well", total(CROSS.k[j, s, c], t, s)),),
    ),
    claim(
        "query-input", "the input of the queries", r"\sum_i q'_i (W^Q_i)^\top", QUERY_INPUT,
        through_scores(CROSS, QUERY_INPUT, by_query_input, 6, 5), 0, (*SCORES, BY_QUERIES),
    ),
    claim(
        "key-bias", "$b^K_i$", r"\mathbf{1}^\top k'_i", KEY_BIAS,
        through_scores(CROSS, KEY_BIAS, by_key_bias, 6, 5), "b_k", (*SCORES, BY_KEYS),
    ),
    KEY_BIAS_DOES_NOTHING,
    claim(
        "key-input", "the input of the keys", r"\sum_i k'_i (W^K_i)^\top", KEY_INPUT,
        through_scores(CROSS, KEY_INPUT, by_key_input, 6, 5), 1, (*SCORES, BY_KEYS),
        lambda: (("all heads pass back through the matrix of the first",
                  total(times(CROSS.by_k[i, r_m, c], W_K[0, a, c]), i, c)),),
    ),
    claim(
        "value-bias", "$b^V_i$", r"\mathbf{1}^\top v'_i", VALUE_BIAS,
        through_values(CROSS, VALUE_BIAS, 4), "b_v", (*FORWARD[:3], BY_HEADS, BY_VALUES),
        lambda: (("the mean over the keys", over(total(CROSS.by_v[j, s, e], s), m)),),
    ),
    claim(
        "value-input", "the input of the values", r"\sum_i v'_i (W^V_i)^\top", VALUE_INPUT,
        through_values(CROSS, VALUE_INPUT, 4), 2, (*FORWARD[:3], BY_HEADS, BY_VALUES),
    ),
    claim(
        "output-bias", "$b^O$", r"\mathbf{1}^\top G", OUTPUT_BIAS,
        by_table(OUTPUT_BIAS, "the bias is added to every row",
                 "the delta leaves one column of every row"),
        "b_o", (),
        lambda: (("the mean over the rows", over(total(G[t, o], t), n)),),
    ),
)  # fmt: skip

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
