"""Elementwise non-linearities."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from numeric.arrays import Array, as_floating, require_shape


def relu(x: npt.ArrayLike) -> Array:
    """x of any shape -> the same shape."""
    x = as_floating(x)
    # A comparison instead of np.maximum: complex steps must follow the branch of the real part.
    return np.where(x.real > 0, x, x.dtype.type(0))


def relu_vjp(x: npt.ArrayLike, cotangent: npt.ArrayLike) -> Array:
    """x and cotangent of one shape -> gradient; at the kink x = 0 it is 0."""
    x, cotangent = as_floating(x), as_floating(cotangent)
    require_shape("cotangent", cotangent, {}, leading=x.shape)
    return np.where(x.real > 0, cotangent, cotangent.dtype.type(0))


def leaky_relu(x: npt.ArrayLike, slope: float) -> Array:
    """x of any shape -> the same shape: x where it is positive, slope * x elsewhere."""
    x = as_floating(x)
    return np.where(x.real > 0, x, x.dtype.type(slope) * x)


def leaky_relu_vjp(x: npt.ArrayLike, slope: float, cotangent: npt.ArrayLike) -> Array:
    """x and cotangent of one shape -> gradient of x; at the kink x = 0 that from below."""
    x, cotangent = as_floating(x), as_floating(cotangent)
    require_shape("cotangent", cotangent, {}, leading=x.shape)
    return np.where(x.real > 0, cotangent, cotangent.dtype.type(slope) * cotangent)
