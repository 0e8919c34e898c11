"""Encoder and decoder, one after the other, without embeddings: what `torch.nn.Transformer` is.

source (..., m, d) and target (..., n, d_model) are vectors, with the same leading axes. Masks as in
`encoder` (`source_mask`) and `decoder` (`mask`, `memory_mask`).
"""

from __future__ import annotations

import numpy.typing as npt

from numeric.arrays import Array, as_floating
from numeric.blocks import POST_LN, LayerOptions, Pullback
from numeric.decoder import decoder_pullback
from numeric.encoder import encoder_pullback
from numeric.layer_weights import EncoderDecoderWeights


def encoder_decoder(
    source: npt.ArrayLike,
    target: npt.ArrayLike,
    weights: EncoderDecoderWeights,
    *,
    source_mask: npt.ArrayLike | None = None,
    mask: npt.ArrayLike | None = None,
    memory_mask: npt.ArrayLike | None = None,
    options: LayerOptions = POST_LN,
) -> Array:
    """source (..., m, d), target (..., n, d_model) -> the shape of the target."""
    return encoder_decoder_pullback(
        source,
        target,
        weights,
        source_mask=source_mask,
        mask=mask,
        memory_mask=memory_mask,
        options=options,
    )[0]


def encoder_decoder_vjp(
    source: npt.ArrayLike,
    target: npt.ArrayLike,
    weights: EncoderDecoderWeights,
    cotangent: npt.ArrayLike,
    *,
    source_mask: npt.ArrayLike | None = None,
    mask: npt.ArrayLike | None = None,
    memory_mask: npt.ArrayLike | None = None,
    options: LayerOptions = POST_LN,
) -> tuple[Array, Array, EncoderDecoderWeights]:
    """cotangent (..., n, d_model) -> gradients of source, target and weights."""
    _, pullback = encoder_decoder_pullback(
        source,
        target,
        weights,
        source_mask=source_mask,
        mask=mask,
        memory_mask=memory_mask,
        options=options,
    )
    grad_source, grad_target, grad_weights = pullback(as_floating(cotangent))
    return grad_source, grad_target, grad_weights


def encoder_decoder_pullback(
    source: npt.ArrayLike,
    target: npt.ArrayLike,
    weights: EncoderDecoderWeights,
    *,
    source_mask: npt.ArrayLike | None = None,
    mask: npt.ArrayLike | None = None,
    memory_mask: npt.ArrayLike | None = None,
    options: LayerOptions = POST_LN,
) -> tuple[Array, Pullback]:
    """Output (..., n, d_model), and cotangent -> gradients of source, target and weights."""
    memory, encoder_back = encoder_pullback(
        source, weights.encoder, mask=source_mask, options=options
    )
    output, decoder_back = decoder_pullback(
        target, memory, weights.decoder, mask=mask, memory_mask=memory_mask, options=options
    )

    def pullback(cotangent: Array) -> tuple[Array, Array, EncoderDecoderWeights]:
        grad_target, grad_memory, grad_decoder = decoder_back(cotangent)
        grad_source, grad_encoder = encoder_back(grad_memory)
        return grad_source, grad_target, EncoderDecoderWeights(grad_encoder, grad_decoder)

    return output, pullback
