"""Residual blocks around an arbitrary sublayer, with and without a norm, and stacks of them.

A block adds its input to the output of its sublayer, so a sublayer keeps the shape of x.  A norm
is a sublayer, too; it stands behind the sum (`post_norm`) or in front of the branch (`pre_norm`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from numeric.arrays import Array, as_floating, require_shape


@dataclass(frozen=True)
class Sublayer:
    """A forward function and its vjp, for instance `feed_forward` and `feed_forward_vjp`.

    forward(x, weights) -> y of the shape of x;
    vjp(x, weights, cotangent) -> gradients of x and of the weights.
    `weights` may be any tree; a sublayer without weights takes and returns None.
    """

    forward: Callable[[Array, Any], Array]
    vjp: Callable[[Array, Any, Array], tuple[Array, Any]]


def residual(sublayer: Sublayer, x: npt.ArrayLike, weights: Any) -> Array:
    """x of any shape -> the same shape."""
    x = as_floating(x)
    branch = sublayer.forward(x, weights)
    # Broadcasting would accept a branch of shape (d_model,) or (n, 1) without a word.
    require_shape("output of the sublayer", branch, {}, leading=x.shape)
    return x + branch


def residual_vjp(
    sublayer: Sublayer, x: npt.ArrayLike, weights: Any, cotangent: npt.ArrayLike
) -> tuple[Array, Any]:
    """cotangent like x -> gradients of x and of the weights."""
    x, cotangent = as_floating(x), as_floating(cotangent)
    require_shape("cotangent", cotangent, {}, leading=x.shape)
    through_branch, grad_weights = sublayer.vjp(x, weights, cotangent)
    require_shape("gradient of the sublayer", through_branch, {}, leading=x.shape)
    return cotangent + through_branch, grad_weights


def post_norm(
    sublayer: Sublayer, norm: Sublayer, x: npt.ArrayLike, weights: Any, norm_weights: Any
) -> Array:
    """norm(x + sublayer(x)), as in the original Transformer; x of any shape -> the same shape."""
    normed = norm.forward(residual(sublayer, x, weights), norm_weights)
    require_shape("output of the norm", normed, {}, leading=as_floating(x).shape)
    return normed


def post_norm_vjp(
    sublayer: Sublayer,
    norm: Sublayer,
    x: npt.ArrayLike,
    weights: Any,
    norm_weights: Any,
    cotangent: npt.ArrayLike,
) -> tuple[Array, Any, Any]:
    """cotangent like x -> gradients of x, of the weights and of the weights of the norm."""
    total = residual(sublayer, x, weights)
    grad_total, grad_norm_weights = norm.vjp(total, norm_weights, as_floating(cotangent))
    grad_x, grad_weights = residual_vjp(sublayer, x, weights, grad_total)
    return grad_x, grad_weights, grad_norm_weights


def pre_norm(
    sublayer: Sublayer, norm: Sublayer, x: npt.ArrayLike, weights: Any, norm_weights: Any
) -> Array:
    """x + sublayer(norm(x)); x of any shape -> the same shape."""
    x = as_floating(x)
    branch = sublayer.forward(norm.forward(x, norm_weights), weights)
    require_shape("output of the sublayer", branch, {}, leading=x.shape)
    return x + branch


def pre_norm_vjp(
    sublayer: Sublayer,
    norm: Sublayer,
    x: npt.ArrayLike,
    weights: Any,
    norm_weights: Any,
    cotangent: npt.ArrayLike,
) -> tuple[Array, Any, Any]:
    """cotangent like x -> gradients of x, of the weights and of the weights of the norm."""
    x, cotangent = as_floating(x), as_floating(cotangent)
    require_shape("cotangent", cotangent, {}, leading=x.shape)
    normed = norm.forward(x, norm_weights)
    grad_normed, grad_weights = sublayer.vjp(normed, weights, cotangent)
    through_branch, grad_norm_weights = norm.vjp(x, norm_weights, grad_normed)
    require_shape("gradient of the norm", through_branch, {}, leading=x.shape)
    return cotangent + through_branch, grad_weights, grad_norm_weights


def residual_stack(
    sublayers: Sequence[Sublayer], x: npt.ArrayLike, weights: Sequence[Any]
) -> Array:
    """L blocks in a row, `weights[l]` for `sublayers[l]`; the empty stack is the identity."""
    return _stack_inputs(sublayers, as_floating(x), weights)[-1]


def residual_stack_vjp(
    sublayers: Sequence[Sublayer],
    x: npt.ArrayLike,
    weights: Sequence[Any],
    cotangent: npt.ArrayLike,
) -> tuple[Array, tuple[Any, ...]]:
    """cotangent like x -> gradients of x and, layer by layer, of the weights."""
    inputs = _stack_inputs(sublayers, as_floating(x), weights)
    gradient = as_floating(cotangent)
    require_shape("cotangent", gradient, {}, leading=inputs[0].shape)
    grad_weights: list[Any] = []
    layers = list(zip(sublayers, inputs[:-1], weights, strict=True))
    for sublayer, layer_input, layer_weights in reversed(layers):
        gradient, layer_gradient = residual_vjp(sublayer, layer_input, layer_weights, gradient)
        grad_weights.append(layer_gradient)
    return gradient, tuple(reversed(grad_weights))


def _stack_inputs(sublayers: Sequence[Sublayer], x: Array, weights: Sequence[Any]) -> list[Array]:
    """The input of every block, and after them the output of the last one."""
    if len(sublayers) != len(weights):
        raise ValueError(f"weights has {len(weights)} layers; expected {len(sublayers)}")
    states = [x]
    for sublayer, layer_weights in zip(sublayers, weights, strict=True):
        states.append(residual(sublayer, states[-1], layer_weights))
    return states
