"""The encoder: self-attention and a feed-forward network in every layer, each with its norm.

x (..., n, d_model), one token per row, with any leading axes (a batch, or none). A mask is added
to the scores in all layers (see `masks`): (n, n), or as many axes as the scores (..., h, n, n)
have, each of which may be 1. `f_pullback` gives the output of `f`, and a function that takes a
cotangent of the output to the gradients.
"""

from __future__ import annotations

import numpy.typing as npt

from numeric.arrays import Array, as_floating, require_shape
from numeric.blocks import (
    POST_LN,
    LayerOptions,
    Pullback,
    feed_forward_pullback,
    final_norm_pullback,
    norm_pullback,
    residual_block,
    self_attention_pullback,
)
from numeric.layer_weights import EncoderLayerWeights, EncoderWeights


def encoder_layer(
    x: npt.ArrayLike,
    weights: EncoderLayerWeights,
    *,
    mask: npt.ArrayLike | None = None,
    options: LayerOptions = POST_LN,
) -> Array:
    """x (..., n, d_model) -> the same shape."""
    return encoder_layer_pullback(x, weights, mask=mask, options=options)[0]


def encoder_layer_vjp(
    x: npt.ArrayLike,
    weights: EncoderLayerWeights,
    cotangent: npt.ArrayLike,
    *,
    mask: npt.ArrayLike | None = None,
    options: LayerOptions = POST_LN,
) -> tuple[Array, EncoderLayerWeights]:
    """cotangent (..., n, d_model) -> gradients of x and of the weights."""
    _, pullback = encoder_layer_pullback(x, weights, mask=mask, options=options)
    grad_x, grad_weights = pullback(as_floating(cotangent))
    return grad_x, grad_weights


def encoder_layer_pullback(
    x: npt.ArrayLike,
    weights: EncoderLayerWeights,
    *,
    mask: npt.ArrayLike | None = None,
    options: LayerOptions = POST_LN,
) -> tuple[Array, Pullback]:
    """Output (..., n, d_model), and cotangent -> gradients of x and of the weights."""
    x = as_floating(x)
    require_shape("x", x, {"n": None, "d_model": weights.d_model}, leading=None)
    attended, attention_pullback = residual_block(
        x,
        lambda y: self_attention_pullback(y, weights.attention, mask, options),
        lambda y: norm_pullback(y, weights.attention_norm, options),
        options,
    )
    output, network_pullback = residual_block(
        attended,
        lambda y: feed_forward_pullback(y, weights.feed_forward, options),
        lambda y: norm_pullback(y, weights.feed_forward_norm, options),
        options,
    )

    def pullback(cotangent: Array) -> tuple[Array, EncoderLayerWeights]:
        grad_attended, grad_network, grad_network_norm = network_pullback(cotangent)
        grad_x, grad_attention, grad_attention_norm = attention_pullback(grad_attended)
        return grad_x, EncoderLayerWeights(
            grad_attention, grad_network, grad_attention_norm, grad_network_norm
        )

    return output, pullback


def encoder(
    x: npt.ArrayLike,
    weights: EncoderWeights,
    *,
    mask: npt.ArrayLike | None = None,
    options: LayerOptions = POST_LN,
) -> Array:
    """x (..., n, d_model) -> the same shape: all layers, then the final norm if there is one."""
    return encoder_pullback(x, weights, mask=mask, options=options)[0]


def encoder_vjp(
    x: npt.ArrayLike,
    weights: EncoderWeights,
    cotangent: npt.ArrayLike,
    *,
    mask: npt.ArrayLike | None = None,
    options: LayerOptions = POST_LN,
) -> tuple[Array, EncoderWeights]:
    """cotangent (..., n, d_model) -> gradients of x and of the weights."""
    _, pullback = encoder_pullback(x, weights, mask=mask, options=options)
    grad_x, grad_weights = pullback(as_floating(cotangent))
    return grad_x, grad_weights


def encoder_pullback(
    x: npt.ArrayLike,
    weights: EncoderWeights,
    *,
    mask: npt.ArrayLike | None = None,
    options: LayerOptions = POST_LN,
) -> tuple[Array, Pullback]:
    """Output (..., n, d_model), and cotangent -> gradients of x and of the weights."""
    output = as_floating(x)
    pullbacks = []
    for layer in weights.layers:
        output, layer_pullback = encoder_layer_pullback(output, layer, mask=mask, options=options)
        pullbacks.append(layer_pullback)
    output, final_pullback = final_norm_pullback(output, weights.norm, options)

    def pullback(cotangent: Array) -> tuple[Array, EncoderWeights]:
        gradient, grad_norm = final_pullback(cotangent)
        grad_layers = []
        for layer_pullback in reversed(pullbacks):
            gradient, grad_layer = layer_pullback(gradient)
            grad_layers.append(grad_layer)
        return gradient, EncoderWeights(tuple(reversed(grad_layers)), grad_norm)

    return output, pullback
