"""Cross-entropy of logits against class numbers, with softmax and logarithm in one piece."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from numeric.arrays import Array, as_floating, as_indices, require_shape
from numeric.softmax import log_softmax, softmax

Reduction = Literal["mean", "sum"]


def cross_entropy(
    logits: npt.ArrayLike,
    targets: npt.ArrayLike,
    *,
    ignore_index: int | None = None,
    token_weights: npt.ArrayLike | None = None,
    reduction: Reduction = "mean",
) -> Array:
    """logits (..., v), targets (...) of integers from 0 to v-1 -> loss (), in nats.

    Every token counts with its weight (token_weights (...), at least 0; 1 unless given), and with
    0 where its target is ignore_index; the mean divides by the sum of these.  That the sum is 0
    (no mean) or that a counted target has the logit -inf (infinite loss) raises ValueError.
    """
    logits = as_floating(logits)
    targets, shares = _targets_and_shares(logits, targets, ignore_index, token_weights, reduction)
    log_probabilities = np.take_along_axis(log_softmax(logits), targets[..., None], axis=-1)
    # Not the product alone: 0 times the infinite loss of a token that does not count is NaN.
    losses = np.where(shares == 0, 0, -log_probabilities[..., 0])
    loss: Array = (shares * losses).sum()
    return loss


def cross_entropy_vjp(
    logits: npt.ArrayLike,
    targets: npt.ArrayLike,
    cotangent: npt.ArrayLike,
    *,
    ignore_index: int | None = None,
    token_weights: npt.ArrayLike | None = None,
    reduction: Reduction = "mean",
) -> Array:
    """cotangent () -> gradient of the logits (..., v), whose rows sum to 0.

    The cotangent is 1 where the loss is what is minimised.
    """
    logits, cotangent = as_floating(logits), as_floating(cotangent)
    require_shape("cotangent", cotangent, {})
    targets, shares = _targets_and_shares(logits, targets, ignore_index, token_weights, reduction)
    gradient = softmax(logits)
    at_target = np.take_along_axis(gradient, targets[..., None], axis=-1)
    np.put_along_axis(gradient, targets[..., None], at_target - 1, axis=-1)
    gradient *= (cotangent.astype(gradient.dtype) * shares)[..., None]
    return gradient


def _targets_and_shares(
    logits: Array,
    targets: npt.ArrayLike,
    ignore_index: int | None,
    token_weights: npt.ArrayLike | None,
    reduction: Reduction,
) -> tuple[Array, Array]:
    """Class numbers (0 for ignored tokens), and the share of each token in the loss."""
    require_shape("logits", logits, {"v": None}, leading=None)
    targets, tokens = np.asarray(targets), logits.shape[:-1]
    require_shape("targets", targets, {}, leading=tokens)
    weights = np.ones(tokens) if token_weights is None else as_floating(token_weights)
    require_shape("token_weights", weights, {}, leading=tokens)
    if not ((weights >= 0) & (weights < np.inf)).all():
        raise ValueError("token_weights holds a negative number, inf or nan; expected at least 0")
    if ignore_index is not None:
        ignored = targets == ignore_index
        weights, targets = np.where(ignored, 0, weights), np.where(ignored, 0, targets)
    targets = as_indices("targets", targets, logits.shape[-1])
    _refuse_excluded(logits, targets, weights)
    return targets, _reduced(weights, reduction).astype(logits.real.dtype)


def _reduced(weights: Array, reduction: Reduction) -> Array:
    if reduction == "sum":
        return weights
    if reduction != "mean":
        raise ValueError(f"reduction is {reduction!r}; expected 'mean' or 'sum'")
    total = weights.sum()
    if total == 0:
        raise ValueError("no token counts: all are ignored or weigh 0; expected one for the mean")
    shares: Array = weights / total
    return shares


def _refuse_excluded(logits: Array, targets: Array, weights: Array) -> None:
    of_targets = np.take_along_axis(logits.real, targets[..., None], axis=-1)[..., 0]
    infinite = np.isneginf(of_targets) & (weights != 0)
    if infinite.any():
        token = tuple(int(i) for i in np.argwhere(infinite)[0])
        raise ValueError(
            f"logits gives the target {targets[token]} of token {token} the value -inf; "
            "expected a finite number, for the loss would be infinite"
        )
