"""Elementwise non-linearities: x of any shape -> the same shape.

At -inf and +inf they have their limits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt

from numeric.arrays import Array, as_floating, require_shape, row_blocks
from numeric.memory import empty


def relu(x: npt.ArrayLike) -> Array:
    """max(x, 0)."""
    x = as_floating(x)
    if x.dtype.kind == "c":  # complex steps must follow the branch of the real part
        return np.where(x.real <= 0, 0, x)
    zeros = np.zeros(x.shape[-1:], x.dtype)  # twice as fast as the number 0
    return np.maximum(x, zeros, out=empty(x.shape, x.dtype))


def relu_vjp(x: npt.ArrayLike, cotangent: npt.ArrayLike) -> Array:
    """x and cotangent of one shape -> gradient; at the kink x = 0 it is 0."""
    x, cotangent = _of_one_shape(x, cotangent)
    gradient = empty(x.shape, cotangent.dtype)
    for rows, upstream, out in row_blocks(*map(np.atleast_1d, (x, cotangent, gradient))):
        np.multiply(upstream, rows.real > 0, out=out)  # several times as fast as np.where
    return gradient


def leaky_relu(x: npt.ArrayLike, slope: float) -> Array:
    """x where it is positive, slope * x elsewhere."""
    x = as_floating(x)
    return np.where(x.real > 0, x, x.dtype.type(slope) * x)


def leaky_relu_vjp(x: npt.ArrayLike, slope: float, cotangent: npt.ArrayLike) -> Array:
    """x and cotangent of one shape -> gradient of x; at the kink x = 0 that from below."""
    x, cotangent = _of_one_shape(x, cotangent)
    return np.where(x.real > 0, cotangent, cotangent.dtype.type(slope) * cotangent)


def gelu(x: npt.ArrayLike) -> Array:
    """x Phi(x), Phi being the distribution function of the standard normal distribution.

    Uses the error function of SciPy where that is installed, else that of `math`, number by
    number. Real numbers only. Source: Hendrycks and Gimpel, Gaussian error linear units.
    """
    x = as_floating(x)
    return _from_below(x) * _normal_distribution(x)


def gelu_vjp(x: npt.ArrayLike, cotangent: npt.ArrayLike) -> Array:
    """x and cotangent of one shape -> gradient."""
    x, cotangent = _of_one_shape(x, cotangent)
    near = _near_zero(x)
    density = np.exp(-near * near / 2) / math.sqrt(2 * math.pi)
    return cotangent * (_normal_distribution(x) + near * density)


def gelu_tanh(x: npt.ArrayLike) -> Array:
    """x (1 + tanh(u)) / 2 with u = sqrt(2/pi) (x + 0.044715 x^3), near `gelu` to 5e-4."""
    x = as_floating(x)
    return _from_below(x) * sigmoid(2 * _tanh_argument(x))


def gelu_tanh_vjp(x: npt.ArrayLike, cotangent: npt.ArrayLike) -> Array:
    """x and cotangent of one shape -> gradient."""
    x, cotangent = _of_one_shape(x, cotangent)
    near, twice = _near_zero(x), 2 * _tanh_argument(x)
    slope = 2 * math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * near * near)
    above, below = sigmoid(twice), sigmoid(-twice)
    return cotangent * (above + near * above * below * slope)


def sigmoid(x: npt.ArrayLike) -> Array:
    """1 / (1 + exp(-x)), to full relative accuracy on both sides."""
    x = as_floating(x)
    positive = x.real > 0
    exponential = np.exp(np.where(positive, -x, x))  # never above 1
    return np.where(positive, 1, exponential) / (1 + exponential)


def sigmoid_vjp(x: npt.ArrayLike, cotangent: npt.ArrayLike) -> Array:
    """x and cotangent of one shape -> gradient."""
    x, cotangent = _of_one_shape(x, cotangent)
    return cotangent * sigmoid(x) * sigmoid(-x)


def silu(x: npt.ArrayLike) -> Array:
    """x sigmoid(x), also called swish."""
    x = as_floating(x)
    return _from_below(x) * sigmoid(x)


def silu_vjp(x: npt.ArrayLike, cotangent: npt.ArrayLike) -> Array:
    """x and cotangent of one shape -> gradient."""
    x, cotangent = _of_one_shape(x, cotangent)
    return cotangent * sigmoid(x) * (1 + _near_zero(x) * sigmoid(-x))


class Activation(NamedTuple):
    """A non-linearity and its vjp, to be handed to a feed-forward network."""

    forward: Callable[[npt.ArrayLike], Array]
    vjp: Callable[[npt.ArrayLike, npt.ArrayLike], Array]


RELU = Activation(relu, relu_vjp)
GELU = Activation(gelu, gelu_vjp)
GELU_TANH = Activation(gelu_tanh, gelu_tanh_vjp)
SIGMOID = Activation(sigmoid, sigmoid_vjp)
SILU = Activation(silu, silu_vjp)


#: exp(-x) is 0 beyond it even in float64, and so is whatever x is multiplied with here.
_FAR = 800.0


def _from_below(x: Array) -> Array:
    """x, but finite where it is -inf: the factor is 0 there, and 0 * inf would be NaN."""
    return np.where(x.real < -_FAR, x.dtype.type(-_FAR), x)


def _near_zero(x: Array) -> Array:
    """x, but finite on both sides, for products whose other factor is 0 far out."""
    return np.where(x.real > _FAR, x.dtype.type(_FAR), _from_below(x))


@cache
def _erfc() -> Callable[[Array], Array]:
    """1 - erf, which NumPy does not have; `math` has it number by number, so it is far slower."""
    try:
        from scipy.special import erfc
    except ImportError:
        return np.vectorize(math.erfc, otypes=[np.float64])
    return cast(Callable[[Array], Array], erfc)


def _normal_distribution(x: Array) -> Array:
    # 1 + erf would be lost in the rounding of 1 for x below -8
    distribution: Array = _erfc()(-_near_zero(x) / math.sqrt(2)) / 2
    return distribution.astype(x.dtype)


def _tanh_argument(x: Array) -> Array:
    near = _near_zero(x)
    return math.sqrt(2 / math.pi) * (near + 0.044715 * near * near * near)


def _of_one_shape(x: npt.ArrayLike, cotangent: npt.ArrayLike) -> tuple[Array, Array]:
    x, cotangent = as_floating(x), as_floating(cotangent)
    require_shape("cotangent", cotangent, {}, leading=x.shape)
    return x, cotangent
