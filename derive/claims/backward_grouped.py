r"""The backward pass of grouped-query attention, whose query heads share keys and values.

Group p has one head of keys and values, which b query heads read; with one group this is
multi-query attention.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import sympy as sp

from derive.claim import Claim, Given
from derive.claims._backward import Case, Draw, backward_claim, by_table, defined_as, normal, paired
from derive.claims._softmax import exp
from derive.language import GradientIs, dims, index, minus, over, tensor, times, total

ORDER = 73
TOPIC = "backward"

groups, members, n, m, d_k, d_v = dims("g b n m d_k d_v")
p, q = index("p", groups), index("q", members)
t, s, u, r = index("t", n), index("s", m), index("u", m), index("r", m)
c, f = index("c", d_k), index("f", d_v)
Q, K = tensor("Q", groups, members, n, d_k), tensor("K", groups, m, d_k)
V, G = tensor("V", groups, m, d_v), tensor("G", groups, members, n, d_v)
A, D = tensor("A", groups, members, n, m), tensor("D", groups, members, n, m)
ROOT = sp.sqrt(d_k)


def exponential(s: Any) -> Any:
    return exp(over(total(times(Q[p, q, t, c], K[p, s, c]), c), ROOT))


def upstream(s: Any) -> Any:
    """The gradient by the weight of key s."""
    return total(times(G[p, q, t, f], V[p, s, f]), f)


SHARE = over(exponential(s), total(exponential(u), u))
LOSS = total(times(G[p, q, t, f], total(times(SHARE, V[p, s, f]), s)), p, q, t, f)
WEIGHTS = defined_as(A, (p, q, t, s), SHARE, "$A$ holds the attention weights of all query heads")
BY_SCORES = defined_as(
    D, (p, q, t, s),
    times(A[p, q, t, s], minus(upstream(s), total(times(A[p, q, t, u], upstream(u)), u))),
    "$D$ is the gradient by the scores before they are scaled",
)  # fmt: skip

# ---------------------------------------------------------------------- the implementation

#: groups, members, queries, keys, d_k, d_v: no two alike, then one group, one member, one key
SIZES = ((2, 3, 4, 5, 1, 6), (1, 4, 2, 3, 2, 1), (3, 1, 1, 2, 4, 2), (2, 2, 3, 1, 1, 1))


def draw(which: int) -> Draw:
    """`which` numbers the argument."""

    def cases(rng: np.random.Generator) -> Iterator[Case]:
        from numeric import grouped_query_attention, grouped_query_attention_vjp

        for g, e, queries, keys, narrow, wide in SIZES:
            x, cotangent = normal(rng, (g * e, queries, narrow), (g * e, queries, wide))
            k, v = normal(rng, (g, keys, narrow), (g, keys, wide))
            output = grouped_query_attention(x, k, v)
            gradient = grouped_query_attention_vjp(x, k, v, cotangent)[which]
            if which == 0:
                gradient = gradient.reshape(g, e, queries, narrow)
            values = {
                Q: x.reshape(g, e, queries, narrow), K: k, V: v,
                G: cotangent.reshape(g, e, queries, wide),
            }  # fmt: skip
            yield Case(values, paired(cotangent, output), gradient)

    return cases


# ---------------------------------------------------------------------- claims


def claim(
    name: str, formula: str, which: int, goal: GradientIs, given: tuple[Given, ...],
    remark: str = "",
) -> Claim:  # fmt: skip
    return backward_claim(
        f"grouped-query-attention-{name}", f"Grouped-query attention: backward to the {name}",
        f"`grouped_query_attention_vjp` returns ${formula}$ as the gradient by the {name} of "
        "group $i$.",
        goal,
        by_table(
            goal, "product, quotient and chain rule",
            "the deltas leave one group; the rest is what the names stand for",
            *reversed(range(len(given))),
        ),
        draw(which), given=given, remark=remark,
    )  # fmt: skip


QUERIES = claim(
    "queries", r"D_{ij} K_i/\sqrt{d_k}", 0,
    GradientIs(LOSS, Q, (p, q, t, c), over(total(times(D[p, q, t, s], K[p, s, c]), s), ROOT)),
    (WEIGHTS, BY_SCORES),
)  # fmt: skip
KEYS = claim(
    "keys", r"\sum_j D_{ij}^\top Q_{ij}/\sqrt{d_k}", 1,
    GradientIs(
        LOSS, K, (p, r, c), over(total(times(D[p, q, t, r], Q[p, q, t, c]), q, t), ROOT)
    ),
    (WEIGHTS, BY_SCORES),
    "What is shared receives the sum of what the query heads of the group pass back.",
)  # fmt: skip
VALUES = claim(
    "values", r"\sum_j A_{ij}^\top G_{ij}", 2,
    GradientIs(LOSS, V, (p, r, f), total(times(A[p, q, t, r], G[p, q, t, f]), q, t)), (WEIGHTS,),
)  # fmt: skip

CLAIMS = (QUERIES, KEYS, VALUES)

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
