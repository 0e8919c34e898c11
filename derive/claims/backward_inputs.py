r"""The backward passes at both ends of a model: embedding, tied output, rotary encoding.

Token t has the number c_t; row c_t of the table is the sum of all rows v, each times 1 if v is c_t
and 0 if it is not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import sympy as sp

from derive.claims._backward import Case, Draw, backward_claim, by_table, paired
from derive.claims._softmax import delta
from derive.kernel import terms as T
from derive.language import (
    GradientIs,
    call,
    dims,
    index,
    plus,
    real,
    tensor,
    times,
    total,
)

ORDER = 79
TOPIC = "backward"

n, d, vocabulary = dims("n d_model v")
t, r = index("t", n), index("r", n)
a, b = index("a", d), index("b", d)
u, w = index("u", vocabulary), index("w", vocabulary)
C, X, G = tensor("c", n), tensor("X", n, d), tensor("G", n, d)
E, L = tensor("E", vocabulary, d), tensor("G", n, vocabulary)
scale = real("s")

# ---------------------------------------------------------------------- embedding

ROW = total(times(delta(u, C[t]), E[u, a]), u)
EMBEDDING_GOAL = GradientIs(
    total(times(G[t, a], scale, ROW), t, a), E, (w, a),
    times(scale, total(times(delta(w, C[t]), G[t, a]), t)),
)  # fmt: skip


def draw_embedding(rng: np.random.Generator) -> Iterator[Case]:
    """Tokens that occur once, twice and never."""
    from numeric import embedding, embedding_vjp

    for ids, rows, width in (([0, 3, 3, 1], 5, 2), ([2], 3, 4), ([0, 0], 1, 1)):
        table = rng.standard_normal((rows, width))
        cotangent = rng.standard_normal((len(ids), width))
        output = embedding(ids, table, scale=1.5)
        gradient = embedding_vjp(ids, table, cotangent, scale=1.5)
        values = {E: table, G: cotangent, C: np.array(ids), scale: 1.5}
        yield Case(values, paired(cotangent, output), gradient)


EMBEDDING = backward_claim(
    "embedding", "Embedding: backward to the table",
    "`embedding_vjp` returns for row $i$ of the table the sum of the cotangents of all tokens "
    "with the number $i$, times the scale.",
    EMBEDDING_GOAL, by_table(EMBEDDING_GOAL, "the output is linear in the table",
                             "the deltas leave the tokens with this number"), draw_embedding,
    mistakes=lambda: (
        ("the scale is forgotten", total(times(delta(w, C[t]), G[t, a]), t)),
        ("every row gets all cotangents", times(scale, total(G[t, a], t))),
    ),
    remark="A token that occurs twice counts twice.",
)  # fmt: skip

# ---------------------------------------------------------------------- tied output

LOGITS = total(times(L[t, u], total(times(X[t, a], E[u, a]), a)), t, u)
LOGITS_INPUT = GradientIs(LOGITS, X, (r, a), total(times(L[r, u], E[u, a]), u))
LOGITS_TABLE = GradientIs(LOGITS, E, (w, a), total(times(L[t, w], X[t, a]), t))


def draw_logits(which: int) -> Draw:
    def cases(rng: np.random.Generator) -> Iterator[Case]:
        from numeric import tied_logits, tied_logits_vjp

        for rows, width, words in ((3, 2, 5), (1, 4, 2), (2, 1, 1)):
            x, table = rng.standard_normal((rows, width)), rng.standard_normal((words, width))
            cotangent = rng.standard_normal((rows, words))
            output = tied_logits(x, table)
            gradient = tied_logits_vjp(x, table, cotangent)[which]
            yield Case({X: x, E: table, L: cotangent}, paired(cotangent, output), gradient)

    return cases


TIED = tuple(
    backward_claim(
        f"tied-logits-{name}",
        f"Tied output: backward to the {name}",
        f"`tied_logits_vjp` returns ${formula}$ as the gradient by the {name}, for $X E^\\top$.",
        goal,
        by_table(goal, f"the logits are linear in the {name}", "the deltas leave one term"),
        draw_logits(which),
    )
    for which, (name, formula, goal) in enumerate(
        (("input", "G E", LOGITS_INPUT), ("table", r"G^\top X", LOGITS_TABLE))
    )
)

# ---------------------------------------------------------------------- rotary encoding

(pairs,) = dims("k")
p = index("p", pairs)
e, f, g = (index(name, 2) for name in "efg")
Y, H, theta = tensor("Y", n, pairs, 2), tensor("G", n, pairs, 2), tensor("theta", n, pairs)


def turn(angle: Any, row: Any, column: Any) -> Any:
    """An entry of the rotation by an angle: cosines, and the sine below, less the sine above."""
    below = times(delta(row, 1), delta(column, 0))
    above = times(delta(row, 0), delta(column, 1))
    return plus(
        times(call(sp.cos, angle), delta(row, column)),
        times(call(sp.sin, angle), plus(below, times(-1, above))),
    )


TURNED = total(times(turn(theta[t, p], e, f), Y[t, p, f]), f)
ROTARY_GOAL = GradientIs(
    total(times(H[t, p, e], TURNED), t, p, e), Y, (t, p, g),
    total(times(turn(times(-1, theta[t, p]), g, e), H[t, p, e]), e),
)  # fmt: skip


def draw_rotary(rng: np.random.Generator) -> Iterator[Case]:
    """Both layouts of the pairs."""
    from numeric import frequencies, rotary_encoding, rotary_encoding_vjp

    for rows, width in ((3, 4), (2, 6), (1, 2)):
        positions = rng.integers(0, 50, rows)
        angles = positions[:, None] * frequencies(width)
        for layout in ("interleaved", "halves"):
            x, cotangent = rng.standard_normal((2, rows, width))
            output = rotary_encoding(x, positions, layout=layout)
            gradient = rotary_encoding_vjp(x, positions, cotangent, layout=layout)
            yield Case(
                {Y: in_pairs(x, layout), H: in_pairs(cotangent, layout), theta: angles},
                paired(cotangent, output), in_pairs(gradient, layout),
            )  # fmt: skip


def in_pairs(x: Any, layout: str) -> Any:
    """(n, d) -> (n, d/2, 2)."""
    rows, width = x.shape
    if layout == "interleaved":
        return x.reshape(rows, width // 2, 2)
    return x.reshape(rows, 2, width // 2).swapaxes(1, 2)


A_QUARTER_TURN = T.div(T.PI, T.num(2))

ROTARY = backward_claim(
    "rotary-encoding", "Rotary encoding: backward",
    "`rotary_encoding_vjp` turns the cotangent back: every pair of columns by minus the angle by "
    "which the encoding has turned it.",
    ROTARY_GOAL, by_table(ROTARY_GOAL, "the encoding is linear in every pair",
                          r"the deltas leave one pair, and $\cos(-\theta) = \cos\theta$, "
                          r"$\sin(-\theta) = -\sin\theta$"), draw_rotary,
    mistakes=lambda: (
        ("turned further in place of back",
         total(times(turn(theta[t, p], g, e), H[t, p, e]), e),
         {n: 1, pairs: 1, theta: [[A_QUARTER_TURN]], Y: [[[0, 0]]], H: [[[1, 0]]]}),
    ),
    remark="It holds for any angles, and so for both layouts of the pairs.",
)  # fmt: skip

CLAIMS = (EMBEDDING, *TIED, ROTARY)

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
