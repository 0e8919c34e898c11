"""What layers are made of: a sublayer with its norm and the residual connection around it.

`f_pullback` returns the output of `f` and its pullback, a function from a cotangent of the output
to the gradients of everything that `f` depends on. The pullback remembers what the forward pass
has computed, so that a deep model is run forward once and backward once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from numeric.activations import RELU, SILU, Activation
from numeric.arrays import Array
from numeric.feed_forward import (
    feed_forward,
    feed_forward_vjp,
    gated_feed_forward,
    gated_feed_forward_vjp,
)
from numeric.layer_weights import LayerNormWeights, NetworkWeights, NormWeights, RMSNormWeights
from numeric.multi_head import (
    multi_head_attention,
    multi_head_attention_vjp,
    self_attention,
    self_attention_vjp,
)
from numeric.normalization import layer_norm, layer_norm_vjp, rms_norm, rms_norm_vjp
from numeric.rotary import Rotary
from numeric.weights import GatedFeedForwardWeights, MultiHeadWeights

#: cotangent -> gradients of the input and of whatever else the output depends on
Pullback = Callable[[Array], tuple[Any, ...]]
#: input -> output and pullback
Differentiable = Callable[[Array], tuple[Array, Pullback]]


@dataclass(frozen=True)
class LayerOptions:
    """What a layer is besides its weights.

    norm_first: x + sublayer(norm(x)) (Pre-LN) in place of norm(x + sublayer(x)) (Post-LN, as in
    the original Transformer). activation: of the feed-forward network, ReLU in a plain and SiLU
    in a gated one unless given. rotary: how self-attention turns queries and keys by their
    positions, not at all unless given. epsilon: of the norms, inside the root.
    """

    norm_first: bool = False
    activation: Activation | None = None
    rotary: Rotary | None = None
    epsilon: float = 1e-5


#: The layers of the original Transformer.
POST_LN = LayerOptions()


def residual_block(
    x: Array, sublayer: Differentiable, norm: Differentiable, options: LayerOptions
) -> tuple[Array, Pullback]:
    """x (..., d_model) -> the same shape; cotangent -> gradients of x, of whatever else the
    sublayer depends on, and of the weights of the norm."""
    return (_pre_norm if options.norm_first else _post_norm)(x, sublayer, norm)


def _pre_norm(x: Array, sublayer: Differentiable, norm: Differentiable) -> tuple[Array, Pullback]:
    normed, norm_pullback = norm(x)
    branch, sublayer_pullback = sublayer(normed)

    def pullback(cotangent: Array) -> tuple[Any, ...]:
        grad_normed, *grads = sublayer_pullback(cotangent)
        through_branch, grad_norm = norm_pullback(grad_normed)
        return cotangent + through_branch, *grads, grad_norm

    return x + branch, pullback


def _post_norm(x: Array, sublayer: Differentiable, norm: Differentiable) -> tuple[Array, Pullback]:
    branch, sublayer_pullback = sublayer(x)
    output, norm_pullback = norm(x + branch)

    def pullback(cotangent: Array) -> tuple[Any, ...]:
        grad_total, grad_norm = norm_pullback(cotangent)
        through_branch, *grads = sublayer_pullback(grad_total)
        return grad_total + through_branch, *grads, grad_norm

    return output, pullback


def norm_pullback(x: Array, weights: NormWeights, options: LayerOptions) -> tuple[Array, Pullback]:
    """x (..., d_model) -> the same shape; cotangent -> gradients of x and of the weights."""
    epsilon = options.epsilon
    if isinstance(weights, RMSNormWeights):
        return _rms_norm_pullback(x, weights.gamma, epsilon)
    gamma = weights.gamma
    beta = np.zeros_like(gamma) if weights.beta is None else weights.beta

    def pullback(cotangent: Array) -> tuple[Array, LayerNormWeights]:
        grad_x, grad_gamma, grad_beta = layer_norm_vjp(x, gamma, beta, cotangent, epsilon=epsilon)
        return grad_x, LayerNormWeights(grad_gamma, None if weights.beta is None else grad_beta)

    return layer_norm(x, gamma, beta, epsilon=epsilon), pullback


def _rms_norm_pullback(x: Array, gamma: Array, epsilon: float) -> tuple[Array, Pullback]:
    def pullback(cotangent: Array) -> tuple[Array, RMSNormWeights]:
        grad_x, grad_gamma = rms_norm_vjp(x, gamma, cotangent, epsilon=epsilon)
        return grad_x, RMSNormWeights(grad_gamma)

    return rms_norm(x, gamma, epsilon=epsilon), pullback


def final_norm_pullback(
    x: Array, weights: NormWeights | None, options: LayerOptions
) -> tuple[Array, Pullback]:
    """x itself where there is no norm behind the last layer."""
    if weights is None:
        return x, lambda cotangent: (cotangent, None)
    return norm_pullback(x, weights, options)


def self_attention_pullback(
    x: Array, weights: MultiHeadWeights, mask: npt.ArrayLike | None, options: LayerOptions
) -> tuple[Array, Pullback]:
    """x (..., n, d_model) -> the same shape; cotangent -> gradients of x and of the weights."""
    rotary = options.rotary

    def pullback(cotangent: Array) -> tuple[Array, MultiHeadWeights]:
        return self_attention_vjp(x, weights, cotangent, mask=mask, rotary=rotary)

    return self_attention(x, weights, mask=mask, rotary=rotary), pullback


def cross_attention_pullback(
    x: Array, memory: Array, weights: MultiHeadWeights, mask: npt.ArrayLike | None
) -> tuple[Array, Pullback]:
    """x (..., n, d_model), memory (..., m, d_memory) -> the shape of x; cotangent -> gradients
    of x, of the memory (which is keys and values at once) and of the weights."""

    def pullback(cotangent: Array) -> tuple[Array, Array, MultiHeadWeights]:
        grads = multi_head_attention_vjp(x, memory, memory, weights, cotangent, mask=mask)
        grad_x, as_keys, as_values, grad_weights = grads
        return grad_x, as_keys + as_values, grad_weights

    return multi_head_attention(x, memory, memory, weights, mask=mask), pullback


def feed_forward_pullback(
    x: Array, weights: NetworkWeights, options: LayerOptions
) -> tuple[Array, Pullback]:
    """x (..., d_model) -> the same shape; cotangent -> gradients of x and of the weights."""
    if isinstance(weights, GatedFeedForwardWeights):
        gated = options.activation or SILU
        return gated_feed_forward(
            x, weights, activation=gated
        ), lambda cotangent: gated_feed_forward_vjp(x, weights, cotangent, activation=gated)
    activation = options.activation or RELU
    return feed_forward(x, weights, activation=activation), lambda cotangent: feed_forward_vjp(
        x, weights, cotangent, activation=activation
    )
