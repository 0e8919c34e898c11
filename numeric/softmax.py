"""Softmax over the last axis."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from numeric.arrays import Array, as_floating, require_shape


def softmax(logits: npt.ArrayLike) -> Array:
    """logits (..., m) -> probabilities (..., m); each row along the last axis sums to 1."""
    logits = as_floating(logits)
    if logits.ndim == 0 or logits.shape[-1] == 0:
        raise ValueError(f"logits has shape {logits.shape}; expected (..., m) with m >= 1")
    # The shift cancels in the quotient and keeps exp from overflowing. Overflow is decided by the
    # real part, and complex numbers (in complex steps) have no maximum.
    shift = logits.real.max(axis=-1, keepdims=True)
    exponentials = np.exp(logits - shift)
    probabilities: Array = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return probabilities


def softmax_vjp(logits: npt.ArrayLike, cotangent: npt.ArrayLike) -> Array:
    """logits (..., m), cotangent (..., m) -> gradient (..., m); each row of it sums to 0."""
    probabilities = softmax(logits)
    cotangent = as_floating(cotangent)
    require_shape("cotangent", cotangent, {}, leading=probabilities.shape)
    mean_cotangent = (probabilities * cotangent).sum(axis=-1, keepdims=True)
    gradient: Array = probabilities * (cotangent - mean_cotangent)
    return gradient
