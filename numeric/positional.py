"""Sinusoidal position encoding, interleaved: column 2i is the sine and 2i+1 the cosine of pair i.

d_model must be even. With an odd width the last sine has no cosine, and a shift of the position
is then no longer a linear map of the encoding.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from numeric.arrays import Array, as_floating, require_finite, require_positive, require_shape


def frequencies(d_model: int, base: float = 10_000.0) -> Array:
    """Angular frequency of each pair, (d_model/2,), from 1 down (for base > 1)."""
    require_positive("d_model", d_model)
    if d_model % 2:
        raise ValueError(f"d_model={d_model} is odd; expected an even width (sine-cosine pairs)")
    if not base > 0:
        raise ValueError(f"base is {base}; expected a positive number")
    pair = np.arange(d_model // 2)
    return base ** (-2.0 * pair / d_model)


def position_encoding(positions: npt.ArrayLike, d_model: int, base: float = 10_000.0) -> Array:
    """positions (n,), any real numbers -> (n, d_model)."""
    positions, angles = _angles(positions, d_model, base)
    encoding = np.empty((len(positions), d_model), dtype=positions.dtype)
    encoding[:, 0::2] = np.sin(angles)
    encoding[:, 1::2] = np.cos(angles)
    return encoding


def position_encoding_vjp(
    positions: npt.ArrayLike,
    d_model: int,
    cotangent: npt.ArrayLike,
    base: float = 10_000.0,
) -> Array:
    """cotangent (n, d_model) -> gradient of the positions (n,)."""
    positions, angles = _angles(positions, d_model, base)
    cotangent = as_floating(cotangent)
    require_shape("cotangent", cotangent, {"n": len(positions), "d_model": d_model})
    grad_angles = cotangent[:, 0::2] * np.cos(angles) - cotangent[:, 1::2] * np.sin(angles)
    gradient: Array = grad_angles @ frequencies(d_model, base)
    return gradient.astype(positions.dtype)


def shift_matrix(offset: float, d_model: int, base: float = 10_000.0) -> Array:
    """(d_model, d_model) matrix that takes the encoding of p, as a column, to that of p + offset.

    Rows of encodings are therefore shifted by `encoding @ shift_matrix(offset, d_model).T`.
    """
    angles = offset * frequencies(d_model, base)
    sine_columns = np.arange(0, d_model, 2)
    cosine_columns = sine_columns + 1
    matrix = np.zeros((d_model, d_model))
    matrix[sine_columns, sine_columns] = matrix[cosine_columns, cosine_columns] = np.cos(angles)
    matrix[sine_columns, cosine_columns] = np.sin(angles)
    matrix[cosine_columns, sine_columns] = -np.sin(angles)
    return matrix


def _angles(positions: npt.ArrayLike, d_model: int, base: float) -> tuple[Array, Array]:
    """positions (n,) and, in at least float64, their angles (n, d_model/2).

    A float32 angle near 2000 is off by 1e-4 before the sine is even taken.
    """
    positions = as_floating(positions)
    require_shape("positions", positions, {"n": None})
    require_finite("positions", positions)
    return positions, positions[:, None] * frequencies(d_model, base)
