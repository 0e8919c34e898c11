"""The loss that models of the next token are trained with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from numeric.arrays import Array
from numeric.blocks import Pullback
from numeric.losses import cross_entropy, cross_entropy_vjp

#: tokens (..., n) -> logits of the next tokens (..., n, v) and pullback
Model = Callable[[Array], tuple[Array, Pullback]]


def next_token_loss(
    model: Model, tokens: npt.ArrayLike, *, ignore_index: int | None = None
) -> tuple[float, Any]:
    """tokens (..., n+1) -> mean cross-entropy of tokens 1 to n, each given those before it, and
    the gradient of the weights.

    `model` is a pullback with all but the tokens bound, for instance
    `lambda tokens: transformer_pullback(source, tokens, weights)`. Tokens that are ignore_index
    (padding) are read, but do not count.
    """
    tokens = np.asarray(tokens)
    if tokens.ndim == 0 or tokens.shape[-1] < 2:
        raise ValueError(f"tokens has shape {tokens.shape}; expected (..., n+1) with n >= 1")
    given, expected = tokens[..., :-1], tokens[..., 1:]
    logits, pullback = model(given)
    loss = cross_entropy(logits, expected, ignore_index=ignore_index)
    (gradient,) = pullback(
        cross_entropy_vjp(logits, expected, np.ones_like(loss), ignore_index=ignore_index)
    )
    return float(loss), gradient
