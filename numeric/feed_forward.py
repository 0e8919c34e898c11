"""The position-wise feed-forward network, plain (with ReLU unless told otherwise) and gated."""

from __future__ import annotations

from collections.abc import Callable

import numpy.typing as npt

from numeric.activations import RELU, SILU, Activation
from numeric.arrays import Array, as_floating, require_shape
from numeric.linear import linear, linear_vjp
from numeric.weights import FeedForwardWeights, GatedFeedForwardWeights


def feed_forward(
    x: npt.ArrayLike, weights: FeedForwardWeights, *, activation: Activation = RELU
) -> Array:
    """x (..., d_model) -> (..., d_model), every token by itself."""
    return feed_forward_pullback(x, weights, activation=activation)[0]


def feed_forward_vjp(
    x: npt.ArrayLike,
    weights: FeedForwardWeights,
    cotangent: npt.ArrayLike,
    *,
    activation: Activation = RELU,
) -> tuple[Array, FeedForwardWeights]:
    """cotangent (..., d_model) -> gradients of x and of the weights (0 through ReLU at a kink)."""
    return feed_forward_pullback(x, weights, activation=activation)[1](cotangent)


def feed_forward_pullback(
    x: npt.ArrayLike, weights: FeedForwardWeights, *, activation: Activation = RELU
) -> tuple[Array, Callable[[npt.ArrayLike], tuple[Array, FeedForwardWeights]]]:
    """Output (..., d_model), and cotangent -> gradients of x and of the weights."""
    x = as_floating(x)
    require_shape("x", x, {"d_model": weights.d_model}, leading=None)
    pre_activation = linear(x, weights.w_1, weights.b_1)
    hidden = activation.forward(pre_activation)

    def pullback(cotangent: npt.ArrayLike) -> tuple[Array, FeedForwardWeights]:
        cotangent = as_floating(cotangent)
        require_shape("cotangent", cotangent, {}, leading=x.shape)
        grad_hidden, w_2, b_2 = linear_vjp(hidden, weights.w_2, weights.b_2, cotangent)
        grad_pre_activation = activation.vjp(pre_activation, grad_hidden)
        grad_x, w_1, b_1 = linear_vjp(x, weights.w_1, weights.b_1, grad_pre_activation)
        return grad_x, FeedForwardWeights(w_1, w_2, b_1, b_2)

    return linear(hidden, weights.w_2, weights.b_2), pullback


def gated_feed_forward(
    x: npt.ArrayLike, weights: GatedFeedForwardWeights, *, activation: Activation = SILU
) -> Array:
    """x (..., d_model) -> (..., d_model): (activation(x w_gate) * (x w_up)) w_down.

    With SiLU this is SwiGLU, with GELU GEGLU, with ReLU ReGLU, with the sigmoid GLU.
    Source: Shazeer, GLU variants improve Transformer.
    """
    return gated_feed_forward_pullback(x, weights, activation=activation)[0]


def gated_feed_forward_vjp(
    x: npt.ArrayLike,
    weights: GatedFeedForwardWeights,
    cotangent: npt.ArrayLike,
    *,
    activation: Activation = SILU,
) -> tuple[Array, GatedFeedForwardWeights]:
    """cotangent (..., d_model) -> gradients of x and of the weights."""
    return gated_feed_forward_pullback(x, weights, activation=activation)[1](cotangent)


def gated_feed_forward_pullback(
    x: npt.ArrayLike, weights: GatedFeedForwardWeights, *, activation: Activation = SILU
) -> tuple[Array, Callable[[npt.ArrayLike], tuple[Array, GatedFeedForwardWeights]]]:
    """Output (..., d_model), and cotangent -> gradients of x and of the weights."""
    x = as_floating(x)
    require_shape("x", x, {"d_model": weights.d_model}, leading=None)
    pre_activation = linear(x, weights.w_gate, weights.b_gate)
    gate, up = activation.forward(pre_activation), linear(x, weights.w_up, weights.b_up)
    hidden = gate * up

    def pullback(cotangent: npt.ArrayLike) -> tuple[Array, GatedFeedForwardWeights]:
        cotangent = as_floating(cotangent)
        require_shape("cotangent", cotangent, {}, leading=x.shape)
        grad_hidden, w_down, b_down = linear_vjp(hidden, weights.w_down, weights.b_down, cotangent)
        grad_gate = activation.vjp(pre_activation, grad_hidden * up)
        through_gate, w_gate, b_gate = linear_vjp(x, weights.w_gate, weights.b_gate, grad_gate)
        through_up, w_up, b_up = linear_vjp(x, weights.w_up, weights.b_up, grad_hidden * gate)
        gradient = GatedFeedForwardWeights(w_gate, w_up, w_down, b_gate, b_up, b_down)
        return through_gate + through_up, gradient

    return linear(hidden, weights.w_down, weights.b_down), pullback
