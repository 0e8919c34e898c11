"""The position-wise feed-forward network with ReLU."""

from __future__ import annotations

import numpy.typing as npt

from numeric.activations import relu, relu_vjp
from numeric.arrays import Array, as_floating, require_shape
from numeric.linear import linear, linear_vjp
from numeric.weights import FeedForwardWeights


def feed_forward(x: npt.ArrayLike, weights: FeedForwardWeights) -> Array:
    """x (..., d_model) -> (..., d_model), every token by itself."""
    x = as_floating(x)
    require_shape("x", x, {"d_model": weights.d_model}, leading=None)
    hidden = relu(linear(x, weights.w_1, weights.b_1))
    return linear(hidden, weights.w_2, weights.b_2)


def feed_forward_vjp(
    x: npt.ArrayLike, weights: FeedForwardWeights, cotangent: npt.ArrayLike
) -> tuple[Array, FeedForwardWeights]:
    """cotangent (..., d_model) -> gradients of x and of the weights (0 through ReLU at a kink)."""
    x, cotangent = as_floating(x), as_floating(cotangent)
    require_shape("x", x, {"d_model": weights.d_model}, leading=None)
    require_shape("cotangent", cotangent, {}, leading=x.shape)
    pre_activation = linear(x, weights.w_1, weights.b_1)
    hidden = relu(pre_activation)
    grad_hidden, w_2, b_2 = linear_vjp(hidden, weights.w_2, weights.b_2, cotangent)
    grad_pre_activation = relu_vjp(pre_activation, grad_hidden)
    grad_x, w_1, b_1 = linear_vjp(x, weights.w_1, weights.b_1, grad_pre_activation)
    return grad_x, FeedForwardWeights(w_1, w_2, b_1, b_2)
