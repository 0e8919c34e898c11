"""Softmax and its logarithm over the last axis.

An entry -inf is excluded: its probability is 0. Where a whole row is excluded there is nothing to
choose from, and all its probabilities are 0. NaN and +inf are refused.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from numeric.arrays import Array, as_floating, require_shape, row_blocks
from numeric.memory import empty


def softmax(logits: npt.ArrayLike, *, overwrite: bool = False) -> Array:
    """logits (..., m) -> probabilities (..., m); each row along the last axis sums to 1.

    overwrite: the logits are not needed any more, and may become the probabilities.
    """
    logits = _checked(logits)
    probabilities = _room_for(logits, overwrite)
    ones = np.ones((logits.shape[-1], 1), logits.dtype)  # a product is the fastest sum
    for rows, out in row_blocks(logits, probabilities):
        np.exp(_shifted(rows, out), out=out)
        total = out @ ones
        total[total == 0] = 1  # only where the whole row is excluded: else the largest term is 1
        out *= 1 / total
    return probabilities


def softmax_vjp(logits: npt.ArrayLike, cotangent: npt.ArrayLike) -> Array:
    """logits (..., m), cotangent (..., m) -> gradient (..., m); each row of it sums to 0."""
    return softmax_pullback(logits)[1](cotangent)


def softmax_pullback(
    logits: npt.ArrayLike, *, overwrite: bool = False
) -> tuple[Array, Callable[[npt.ArrayLike], Array]]:
    """Probabilities (..., m), and cotangent (..., m) -> gradient (..., m).

    The gradients are made of the probabilities, which must not change before.
    overwrite: logits and cotangent are not needed any more, and may become what is returned.
    """
    probabilities = softmax(logits, overwrite=overwrite)

    def pullback(cotangent: npt.ArrayLike) -> Array:
        cotangent = as_floating(cotangent)
        require_shape("cotangent", cotangent, {}, leading=probabilities.shape)
        gradient = _room_for(cotangent, overwrite, np.result_type(probabilities, cotangent))
        for p, upstream, out in row_blocks(probabilities, cotangent, gradient):
            mean_upstream = np.einsum("rm,rm->r", p, upstream)[:, None]
            np.subtract(upstream, mean_upstream, out=out)
            out *= p
        return gradient

    return probabilities, pullback


def log_softmax(logits: npt.ArrayLike) -> Array:
    """logits (..., m) -> log probabilities (..., m), -inf where a logit is."""
    shifted = _shifted(_checked(logits))
    total = np.exp(shifted).sum(axis=-1, keepdims=True)
    total[total == 0] = 1
    log_probabilities: Array = shifted - np.log(total)
    return log_probabilities


def log_softmax_vjp(logits: npt.ArrayLike, cotangent: npt.ArrayLike) -> Array:
    """logits (..., m), cotangent (..., m) -> gradient (..., m); each row of it sums to 0.

    The output does not move where it is -inf: the cotangent of such an entry has no effect.
    """
    probabilities, cotangent = softmax(logits), as_floating(cotangent)
    require_shape("cotangent", cotangent, {}, leading=probabilities.shape)
    reached = np.where(np.isneginf(as_floating(logits).real), 0, cotangent)
    gradient: Array = reached - probabilities * reached.sum(axis=-1, keepdims=True)
    return gradient


def _room_for(rows: Array, overwrite: bool, dtype: npt.DTypeLike | None = None) -> Array:
    """An array of the same shape, and of this precision; `rows` itself where it may be."""
    dtype = rows.dtype if dtype is None else np.dtype(dtype)
    if overwrite and rows.dtype == dtype and rows.flags.carray:
        return rows
    return empty(rows.shape, dtype)


def _checked(logits: npt.ArrayLike) -> Array:
    logits = as_floating(logits)
    if logits.ndim == 0 or logits.shape[-1] == 0:
        raise ValueError(f"logits has shape {logits.shape}; expected (..., m) with m >= 1")
    return logits


def _shifted(logits: Array, out: Array | None = None) -> Array:
    """The logits less the maximum of their row: what keeps exp from overflowing and a row from
    vanishing. The shift cancels in the quotient."""
    # Complex numbers (in complex steps) have no maximum; overflow is decided by the real part.
    # Where all is excluded, the least number takes the place of -inf, whose difference is NaN.
    lowest = np.finfo(logits.dtype).min
    largest = logits.real.max(axis=-1, keepdims=True, initial=lowest)
    if not (largest < np.inf).all():
        raise ValueError("logits holds nan or +inf; expected finite numbers or -inf")
    with np.errstate(over="ignore"):  # below the range is -inf, which is what exp needs
        shifted: Array = np.subtract(logits, largest, out=out)
    return shifted
