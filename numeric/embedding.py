"""The table of token vectors, at the input and, tied, at the output.

Where both ends share the table, its gradient is the sum of those of `embedding_vjp` and
`tied_logits_vjp`.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from numeric.arrays import Array, as_floating, as_indices, require_shape, transpose
from numeric.linear import linear, linear_vjp
from numeric.positional import position_encoding


def embedding(ids: npt.ArrayLike, table: npt.ArrayLike, *, scale: float = 1.0) -> Array:
    """ids (...) of integers from 0 to v-1, table (v, d_model) -> scale * rows (..., d_model).

    The original Transformer has the scale sqrt(d_model), and 1 at the tied output.
    """
    table = as_floating(table)
    require_shape("table", table, {"v": None, "d_model": None})
    rows: Array = scale * table[as_indices("ids", ids, len(table))]
    return rows


def embedding_vjp(
    ids: npt.ArrayLike, table: npt.ArrayLike, cotangent: npt.ArrayLike, *, scale: float = 1.0
) -> Array:
    """cotangent (..., d_model) -> gradient of the table (v, d_model)."""
    table, cotangent = as_floating(table), as_floating(cotangent)
    require_shape("table", table, {"v": None, "d_model": None})
    v, d_model = table.shape
    indices = as_indices("ids", ids, v)
    require_shape("cotangent", cotangent, {"d_model": d_model}, leading=indices.shape)
    gradient: Array = np.zeros((v, d_model), dtype=cotangent.dtype)
    # `gradient[ids] += ...` would count a token that occurs several times only once.
    np.add.at(gradient, indices, scale * cotangent)
    return gradient


def tied_logits(x: npt.ArrayLike, table: npt.ArrayLike) -> Array:
    """x (..., d_model), table (v, d_model) -> logits (..., v), the product with every row."""
    table = as_floating(table)
    require_shape("table", table, {"v": None, "d_model": None})
    return linear(x, transpose(table))


def tied_logits_vjp(
    x: npt.ArrayLike, table: npt.ArrayLike, cotangent: npt.ArrayLike
) -> tuple[Array, Array]:
    """cotangent (..., v) -> gradients of x and of the table."""
    table = as_floating(table)
    require_shape("table", table, {"v": None, "d_model": None})
    grad_x, grad_weight, _ = linear_vjp(x, transpose(table), None, cotangent)
    return grad_x, transpose(grad_weight)


def positioned_embedding(ids: npt.ArrayLike, table: npt.ArrayLike) -> Array:
    """ids (..., n), table (v, d_model) -> (..., n, d_model), the input of the original Transformer.

    sqrt(d_model) times the rows, plus the sinusoidal encoding of the positions 0 to n-1.
    """
    table = as_floating(table)
    require_shape("table", table, {"v": None, "d_model": None})
    rows = embedding(ids, table, scale=math.sqrt(table.shape[-1]))
    if rows.ndim < 2:
        raise ValueError(f"ids has shape {np.shape(ids)}; expected (..., n)")
    positions = np.arange(rows.shape[-2], dtype=rows.dtype)
    return rows + position_encoding(positions, rows.shape[-1])


def positioned_embedding_vjp(
    ids: npt.ArrayLike, table: npt.ArrayLike, cotangent: npt.ArrayLike
) -> Array:
    """cotangent (..., n, d_model) -> gradient of the table (v, d_model)."""
    table = as_floating(table)
    require_shape("table", table, {"v": None, "d_model": None})
    return embedding_vjp(ids, table, cotangent, scale=math.sqrt(table.shape[-1]))
