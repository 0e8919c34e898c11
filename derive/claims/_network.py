"""What the claims about the feed-forward network share: symbols, the network, and moves.

The derivations note writes FFN(x) = W_2 ReLU(W_1 x + b_1) + b_2 for a column x, with W_1 of shape
(d_ff, d_model) and W_2 of shape (d_model, d_ff).  The NumPy layers multiply rows from the right and
store the transposes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import sympy as sp

from derive.kernel import terms as T
from derive.kernel.rules import Theorem
from derive.language import (
    call,
    dims,
    index,
    plus,
    relu,
    tensor,
    times,
    total,
)
from derive.prover import Prover

d, f, n, m = dims("d_model d_ff n m")
a, c = index("a", d), index("c", d)
j, k = index("j", f), index("k", f)
t, s = index("t", n), index("s", n)
u = index("u", m)
W_1, b_1 = tensor("W_1", f, d), tensor("b_1", f)
W_2, b_2 = tensor("W_2", d, f), tensor("b_2", d)
x = tensor("x", d)
X = tensor("X", n, d)

Entry = Callable[[Any], Any]


def row(matrix: Any, *place: Any) -> Entry:
    """The entries of one row."""
    return lambda e: matrix[(*place, e)]


def before(v: Entry, unit: Any) -> Any:
    """What a hidden unit receives: (W_1 v + b_1)_unit."""
    return plus(total(times(W_1[unit, c], v(c)), c), b_1[unit])


def network(v: Entry, out: Any, act: Callable[[Any], Any] = relu) -> Any:
    """FFN(v)_out."""
    return plus(total(times(W_2[out, j], act(before(v, j))), j), b_2[out])


def one(i: Any, l: Any) -> Any:
    return call(sp.KroneckerDelta, i, l)


def under_relu(p: Prover, equation: Theorem) -> Theorem:
    """From u = v: ReLU(u) = ReLU(v)."""
    return p.replace(T.fn("max", T.ZERO, equation.conclusion.children[0]), equation)


# ---------------------------------------------------------------------- the numeric side

#: (d_model, d_ff): no two alike, then one hidden unit, one input, one of each.
SIZES = ((3, 5), (4, 2), (5, 1), (1, 3), (1, 1))


def networks(rng: np.random.Generator) -> Iterator[Any]:
    from numeric import FeedForwardWeights

    for width, hidden in SIZES:
        yield FeedForwardWeights.init(rng, width, hidden)


def by_loops(point: Any, w: Any) -> list[float]:
    """The formula for one column, entry by entry; the stored matrices are the transposes."""
    width, hidden = w.w_1.shape
    units = [
        max(0.0, sum(w.w_1[e, u] * point[e] for e in range(width)) + w.b_1[u])
        for u in range(hidden)
    ]
    return [sum(w.w_2[u, e] * units[u] for u in range(hidden)) + w.b_2[e] for e in range(width)]


def rows_of(rng: np.random.Generator, w: Any, number: int = 3) -> Any:
    """Rows of which no hidden unit is near its kink."""
    while True:
        drawn = rng.standard_normal((number, w.d_model))
        if np.abs(drawn @ w.w_1 + w.b_1).min() > 1e-3:
            return drawn


def zero_network(width: int, hidden: int) -> Any:
    """In float32, which halves the time for large ones."""
    from numeric import FeedForwardWeights

    shapes = ((width, hidden), (hidden, width), (hidden,), (width,))
    return FeedForwardWeights(*(np.zeros(shape, np.float32) for shape in shapes))
