"""Normalisation layers: layer norm with epsilon inside or outside the root, RMS norm, batch norm.

Means are over one row (layer norm, RMS norm) or over all rows (batch norm, training mode), and
variances are biased: they divide by the number of entries.  With mean mu, deviation sigma and
u = x - mu the layers return ``u / s * gamma + beta``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from numeric.arrays import Array, as_floating, require_shape, row_blocks
from numeric.memory import empty

Axes = tuple[int, ...]
#: of x, gamma and beta
Gradients = tuple[Array, Array, Array]


class _Normalised(NamedTuple):
    """u / s, the divisor s, and c u / s with c = 2 s times the derivative of s by the variance.

    The means keep their axes.  The second direction is what the backward pass needs.
    """

    values: Array
    divisor: Array
    direction: Array


def layer_norm(
    x: npt.ArrayLike, gamma: npt.ArrayLike, beta: npt.ArrayLike, *, epsilon: float
) -> Array:
    """x (..., d), gamma and beta (d,) -> (..., d); s = sqrt(sigma^2 + epsilon)."""
    return layer_norm_pullback(x, gamma, beta, epsilon=epsilon)[0]


def layer_norm_vjp(
    x: npt.ArrayLike,
    gamma: npt.ArrayLike,
    beta: npt.ArrayLike,
    cotangent: npt.ArrayLike,
    *,
    epsilon: float,
) -> Gradients:
    """cotangent (..., d) -> gradients of x, gamma and beta."""
    return layer_norm_pullback(x, gamma, beta, epsilon=epsilon)[1](cotangent)


def layer_norm_pullback(
    x: npt.ArrayLike, gamma: npt.ArrayLike, beta: npt.ArrayLike, *, epsilon: float
) -> tuple[Array, Callable[[npt.ArrayLike], Gradients]]:
    """Output (..., d), and cotangent -> gradients of x, gamma and beta."""
    x, gamma, beta = _checked(x, gamma, beta, epsilon)
    return _by_rows(_inside, x, gamma, beta, epsilon)


def layer_norm_outside(
    x: npt.ArrayLike, gamma: npt.ArrayLike, beta: npt.ArrayLike, *, epsilon: float
) -> Array:
    """x (..., d), gamma and beta (d,) -> (..., d); s = sigma + epsilon."""
    return layer_norm_outside_pullback(x, gamma, beta, epsilon=epsilon)[0]


def layer_norm_outside_vjp(
    x: npt.ArrayLike,
    gamma: npt.ArrayLike,
    beta: npt.ArrayLike,
    cotangent: npt.ArrayLike,
    *,
    epsilon: float,
) -> Gradients:
    """cotangent (..., d) -> gradients of x, gamma and beta; for a constant row the derivative
    of u / (sigma + epsilon) is that of u / epsilon."""
    return layer_norm_outside_pullback(x, gamma, beta, epsilon=epsilon)[1](cotangent)


def layer_norm_outside_pullback(
    x: npt.ArrayLike, gamma: npt.ArrayLike, beta: npt.ArrayLike, *, epsilon: float
) -> tuple[Array, Callable[[npt.ArrayLike], Gradients]]:
    """Output (..., d), and cotangent -> gradients of x, gamma and beta."""
    x, gamma, beta = _checked(x, gamma, beta, epsilon)
    return _by_rows(_outside, x, gamma, beta, epsilon)


def batch_norm(
    x: npt.ArrayLike, gamma: npt.ArrayLike, beta: npt.ArrayLike, *, epsilon: float
) -> Array:
    """x (..., n, d), gamma and beta (d,) -> the same shape; s = sqrt(sigma^2 + epsilon).

    Training mode: mean and deviation of a feature over all rows of all leading axes.
    """
    return batch_norm_pullback(x, gamma, beta, epsilon=epsilon)[0]


def batch_norm_vjp(
    x: npt.ArrayLike,
    gamma: npt.ArrayLike,
    beta: npt.ArrayLike,
    cotangent: npt.ArrayLike,
    *,
    epsilon: float,
) -> Gradients:
    """cotangent like x -> gradients of x, gamma and beta, through mean and deviation as well."""
    return batch_norm_pullback(x, gamma, beta, epsilon=epsilon)[1](cotangent)


def batch_norm_pullback(
    x: npt.ArrayLike, gamma: npt.ArrayLike, beta: npt.ArrayLike, *, epsilon: float
) -> tuple[Array, Callable[[npt.ArrayLike], Gradients]]:
    """Output like x, and cotangent -> gradients of x, gamma and beta."""
    x, gamma, beta = _checked(x, gamma, beta, epsilon)
    axes = _row_axes(x)
    return _output_and_pullback(_inside(x, axes, epsilon), axes, gamma, beta)


def rms_norm(x: npt.ArrayLike, gamma: npt.ArrayLike, *, epsilon: float) -> Array:
    """x (..., d), gamma (d,) -> (..., d): x / sqrt(mean of x^2 + epsilon) * gamma."""
    return rms_norm_pullback(x, gamma, epsilon=epsilon)[0]


def rms_norm_vjp(
    x: npt.ArrayLike, gamma: npt.ArrayLike, cotangent: npt.ArrayLike, *, epsilon: float
) -> tuple[Array, Array]:
    """cotangent (..., d) -> gradients of x and gamma."""
    return rms_norm_pullback(x, gamma, epsilon=epsilon)[1](cotangent)


def rms_norm_pullback(
    x: npt.ArrayLike, gamma: npt.ArrayLike, *, epsilon: float
) -> tuple[Array, Callable[[npt.ArrayLike], tuple[Array, Array]]]:
    """Output (..., d), and cotangent -> gradients of x and gamma."""
    x, gamma, _ = _checked(x, gamma, None, epsilon)
    divisor = _root(x, (-1,), epsilon)
    values = x / divisor

    def pullback(cotangent: npt.ArrayLike) -> tuple[Array, Array]:
        cotangent = as_floating(cotangent)
        require_shape("cotangent", cotangent, {}, leading=x.shape)
        inner = cotangent * gamma
        grad_x = (inner - values * (inner * values).mean(axis=-1, keepdims=True)) / divisor
        return grad_x, _over_rows(cotangent * values)

    return values * gamma, pullback


def _inside(x: Array, axes: Axes, epsilon: float) -> _Normalised:
    _refuse_constants(x, axes, epsilon)
    u = _centred(x, axes)
    divisor = _root(u, axes, epsilon)
    values = u / divisor
    return _Normalised(values, divisor, values)


def _outside(x: Array, axes: Axes, epsilon: float) -> _Normalised:
    _refuse_constants(x, axes, epsilon)
    u = _centred(x, axes)
    sigma = np.sqrt(_mean_square(u, axes))
    divisor = checked_divisor(sigma + x.dtype.type(epsilon))
    # Where sigma is 0 so is u, and u / sigma (which would be NaN) stands beside a factor 0.
    return _Normalised(u / divisor, divisor, u / np.where(sigma == 0, 1, sigma))


def _root(u: Array, axes: Axes, epsilon: float) -> Array:
    return checked_divisor(np.sqrt(_mean_square(u, axes) + u.dtype.type(epsilon)))


def _refuse_constants(x: Array, axes: Axes, epsilon: float) -> None:
    """Without epsilon, equal entries would give 0/0, or the rounding of their mean over itself."""
    if epsilon == 0 and x.size and (x.max(axis=axes) == x.min(axis=axes)).any():
        raise ValueError("the divisor is 0: all entries are equal, and epsilon is 0")


def _centred(x: Array, axes: Axes) -> Array:
    # What overflows or is not a number in x comes out as a divisor that is refused.
    with np.errstate(over="ignore", invalid="ignore"):
        centred: Array = x - x.mean(axis=axes, keepdims=True)
        # A mean is rounded. Where all entries are equal, nothing but that would be left of them,
        # and divided by a small epsilon it would be of any size.
        centred -= centred.mean(axis=axes, keepdims=True)
    return centred


def _mean_square(u: Array, axes: Axes) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        mean: Array = (u * u).mean(axis=axes, keepdims=True)
    return mean


def checked_divisor(divisor: Array) -> Array:
    """Infinite squares would make 0 of a row that is only large."""
    if not np.isfinite(divisor).all():
        limit = math.sqrt(float(np.finfo(divisor.real.dtype).max))
        raise ValueError(
            "the divisor is not finite: x holds nan or inf, or numbers whose squares overflow "
            f"(above about {limit:.0e} in {divisor.real.dtype})"
        )
    if (divisor == 0).any():
        raise ValueError("the divisor is 0: all entries vanish or are equal, and epsilon is 0")
    return divisor


def _output_and_pullback(
    normalised: _Normalised, axes: Axes, gamma: Array, beta: Array
) -> tuple[Array, Callable[[npt.ArrayLike], Gradients]]:
    values, divisor, direction = normalised

    def pullback(cotangent: npt.ArrayLike) -> Gradients:
        cotangent = as_floating(cotangent)
        require_shape("cotangent", cotangent, {}, leading=values.shape)
        inner = cotangent * gamma
        along = (inner * values).mean(axis=axes, keepdims=True)
        centred = inner - inner.mean(axis=axes, keepdims=True)
        grad_x = (centred - direction * along) / divisor
        return grad_x, _over_rows(cotangent * values), _over_rows(cotangent)

    return values * gamma + beta, pullback


def _by_rows(
    normalise: Callable[[Array, Axes, float], _Normalised],
    x: Array,
    gamma: Array,
    beta: Array,
    epsilon: float,
) -> tuple[Array, Callable[[npt.ArrayLike], Gradients]]:
    """A norm over the last axis, a few rows at a time, which stay in the cache."""
    output = empty(x.shape, np.result_type(x, gamma, beta))
    pullbacks = []
    for rows, out in row_blocks(x, output):
        out[...], part = _output_and_pullback(normalise(rows, (-1,), epsilon), (-1,), gamma, beta)
        pullbacks.append(part)

    def pullback(cotangent: npt.ArrayLike) -> Gradients:
        cotangent = as_floating(cotangent)
        require_shape("cotangent", cotangent, {}, leading=x.shape)
        dtype = np.result_type(cotangent, gamma, x)
        grad_x, grad_gamma, grad_beta = empty(x.shape, dtype), *np.zeros((2, x.shape[-1]), dtype)
        for part, (upstream, out) in zip(pullbacks, row_blocks(cotangent, grad_x), strict=True):
            out[...], of_gamma, of_beta = part(upstream)
            grad_gamma += of_gamma
            grad_beta += of_beta
        return grad_x, grad_gamma, grad_beta.astype(cotangent.dtype)

    return output, pullback


def _over_rows(x: Array) -> Array:
    """All rows share gamma and beta, so their contributions add up."""
    total: Array = x.reshape(-1, x.shape[-1]).sum(axis=0)
    return total


def _row_axes(x: Array) -> Axes:
    if x.ndim < 2:
        raise ValueError(f"x has shape {x.shape}; expected (..., n, d)")
    if x.size == 0:
        raise ValueError(f"x has shape {x.shape}; there is nothing to take the mean of")
    return tuple(range(x.ndim - 1))


def _checked(
    x: npt.ArrayLike, gamma: npt.ArrayLike, beta: npt.ArrayLike | None, epsilon: float
) -> tuple[Array, Array, Array]:
    x, gamma = as_floating(x), as_floating(gamma)
    shift = np.zeros_like(gamma) if beta is None else as_floating(beta)
    require_shape("gamma", gamma, {"d": None})
    require_shape("beta", shift, {"d": gamma.size})
    require_shape("x", x, {"d": gamma.size}, leading=None)
    if not 0 <= epsilon < math.inf:
        raise ValueError(f"epsilon is {epsilon}; expected a finite number of at least 0")
    if gamma.size == 0:
        raise ValueError(f"x has shape {x.shape}; there is nothing to normalise")
    return x, gamma, shift
