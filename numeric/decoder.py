"""The decoder: self-attention, attention to a memory and a feed-forward network in every layer.

x (..., n, d_model), one token per row, and memory (..., m, d_memory), what the encoder has made of
the source, with the same leading axes (a batch, or none). Masks are added to the scores in all
layers (see `masks`): `mask` (n, n), which is `causal_mask(n)` in a model that writes one token
after the other, and `memory_mask` (n, m); or with as many axes as the scores (..., h, n, m) have,
each of which may be 1.
"""

from __future__ import annotations

from functools import reduce

import numpy as np
import numpy.typing as npt

from numeric.arrays import Array, as_floating, require_shape
from numeric.blocks import (
    POST_LN,
    LayerOptions,
    Pullback,
    cross_attention_pullback,
    feed_forward_pullback,
    final_norm_pullback,
    norm_pullback,
    residual_block,
    self_attention_pullback,
)
from numeric.layer_weights import DecoderLayerWeights, DecoderWeights


def decoder_layer(
    x: npt.ArrayLike,
    memory: npt.ArrayLike,
    weights: DecoderLayerWeights,
    *,
    mask: npt.ArrayLike | None = None,
    memory_mask: npt.ArrayLike | None = None,
    options: LayerOptions = POST_LN,
) -> Array:
    """x (..., n, d_model), memory (..., m, d_memory) -> the shape of x."""
    return decoder_layer_pullback(
        x, memory, weights, mask=mask, memory_mask=memory_mask, options=options
    )[0]


def decoder_layer_vjp(
    x: npt.ArrayLike,
    memory: npt.ArrayLike,
    weights: DecoderLayerWeights,
    cotangent: npt.ArrayLike,
    *,
    mask: npt.ArrayLike | None = None,
    memory_mask: npt.ArrayLike | None = None,
    options: LayerOptions = POST_LN,
) -> tuple[Array, Array, DecoderLayerWeights]:
    """cotangent (..., n, d_model) -> gradients of x, of the memory and of the weights."""
    _, pullback = decoder_layer_pullback(
        x, memory, weights, mask=mask, memory_mask=memory_mask, options=options
    )
    grad_x, grad_memory, grad_weights = pullback(as_floating(cotangent))
    return grad_x, grad_memory, grad_weights


def decoder_layer_pullback(
    x: npt.ArrayLike,
    memory: npt.ArrayLike,
    weights: DecoderLayerWeights,
    *,
    mask: npt.ArrayLike | None = None,
    memory_mask: npt.ArrayLike | None = None,
    options: LayerOptions = POST_LN,
) -> tuple[Array, Pullback]:
    """Output (..., n, d_model), and cotangent -> gradients of x, memory and weights."""
    x, memory = as_floating(x), as_floating(memory)
    require_shape("x", x, {"n": None, "d_model": weights.d_model}, leading=None)
    axes = {"m": None, "d_memory": weights.d_memory}
    require_shape("memory", memory, axes, leading=x.shape[:-2])
    attended, self_pullback = residual_block(
        x,
        lambda y: self_attention_pullback(y, weights.self_attention, mask, options),
        lambda y: norm_pullback(y, weights.self_attention_norm, options),
        options,
    )
    informed, cross_pullback = residual_block(
        attended,
        lambda y: cross_attention_pullback(y, memory, weights.cross_attention, memory_mask),
        lambda y: norm_pullback(y, weights.cross_attention_norm, options),
        options,
    )
    output, network_pullback = residual_block(
        informed,
        lambda y: feed_forward_pullback(y, weights.feed_forward, options),
        lambda y: norm_pullback(y, weights.feed_forward_norm, options),
        options,
    )

    def pullback(cotangent: Array) -> tuple[Array, Array, DecoderLayerWeights]:
        grad_informed, grad_network, network_norm = network_pullback(cotangent)
        grad_attended, grad_memory, grad_cross, cross_norm = cross_pullback(grad_informed)
        grad_x, grad_self, self_norm = self_pullback(grad_attended)
        parts = (grad_self, grad_cross, grad_network, self_norm, cross_norm, network_norm)
        return grad_x, grad_memory, DecoderLayerWeights(*parts)

    return output, pullback


def decoder(
    x: npt.ArrayLike,
    memory: npt.ArrayLike,
    weights: DecoderWeights,
    *,
    mask: npt.ArrayLike | None = None,
    memory_mask: npt.ArrayLike | None = None,
    options: LayerOptions = POST_LN,
) -> Array:
    """x (..., n, d_model), memory (..., m, d_memory) -> the shape of x: all layers, each of which
    reads the memory, then the final norm if there is one."""
    return decoder_pullback(
        x, memory, weights, mask=mask, memory_mask=memory_mask, options=options
    )[0]


def decoder_vjp(
    x: npt.ArrayLike,
    memory: npt.ArrayLike,
    weights: DecoderWeights,
    cotangent: npt.ArrayLike,
    *,
    mask: npt.ArrayLike | None = None,
    memory_mask: npt.ArrayLike | None = None,
    options: LayerOptions = POST_LN,
) -> tuple[Array, Array, DecoderWeights]:
    """cotangent (..., n, d_model) -> gradients of x, of the memory and of the weights."""
    _, pullback = decoder_pullback(
        x, memory, weights, mask=mask, memory_mask=memory_mask, options=options
    )
    grad_x, grad_memory, grad_weights = pullback(as_floating(cotangent))
    return grad_x, grad_memory, grad_weights


def decoder_pullback(
    x: npt.ArrayLike,
    memory: npt.ArrayLike,
    weights: DecoderWeights,
    *,
    mask: npt.ArrayLike | None = None,
    memory_mask: npt.ArrayLike | None = None,
    options: LayerOptions = POST_LN,
) -> tuple[Array, Pullback]:
    """Output (..., n, d_model), and cotangent -> gradients of x, memory and weights."""
    output, pullbacks = as_floating(x), []
    for layer in weights.layers:
        output, layer_pullback = decoder_layer_pullback(
            output, memory, layer, mask=mask, memory_mask=memory_mask, options=options
        )
        pullbacks.append(layer_pullback)
    output, final_pullback = final_norm_pullback(output, weights.norm, options)

    def pullback(cotangent: Array) -> tuple[Array, Array, DecoderWeights]:
        gradient, grad_norm = final_pullback(cotangent)
        by_layer, grad_layers = [], []
        for layer_pullback in reversed(pullbacks):
            gradient, through_layer, grad_layer = layer_pullback(gradient)
            by_layer.append(through_layer)
            grad_layers.append(grad_layer)
        # All layers read one memory, so their contributions add up.
        grad_memory = reduce(np.add, by_layer)
        return gradient, grad_memory, DecoderWeights(tuple(reversed(grad_layers)), grad_norm)

    return output, pullback
