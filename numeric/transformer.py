"""The Transformer of the original paper: from a source to the tokens of its target.

Source (..., m) and target (..., n) are integers from 0 to v-1, with the same leading axes (a
batch, or none). One table of token vectors serves source, target and, tied, the output; see
`positioned_embedding` for the inputs. The target is read with a causal mask: the logits at a token
are about the next one. Padding of the target belongs behind its tokens, none of which sees it;
tokens of the source are marked in `keep` (..., m), False at padding, and True unless given.

Source: Vaswani et al., Attention is all you need, section 3. There is no dropout.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from numeric.arrays import Array, as_floating, require_positive, require_shape
from numeric.blocks import POST_LN, LayerOptions, Pullback
from numeric.embedding import (
    positioned_embedding,
    positioned_embedding_vjp,
    tied_logits,
    tied_logits_vjp,
)
from numeric.encoder_decoder import encoder_decoder_pullback
from numeric.layer_weights import DecoderWeights, EncoderDecoderWeights, EncoderWeights
from numeric.masks import causal_mask, padding_mask
from numeric.weights import Weights


@dataclass(frozen=True, eq=False)
class TransformerWeights(Weights):
    """embedding (v, d_model), the vectors of all tokens; encoder and decoder of that width."""

    embedding: Array
    encoder: EncoderWeights
    decoder: DecoderWeights

    def __post_init__(self) -> None:
        d_model = self._adopt("embedding", {"v": None, "d_model": None})[-1]
        widths = {"encoder": self.encoder.d_model, "decoder": self.decoder.d_model}
        widths["memory of the decoder"] = self.decoder.d_memory
        for name, width in widths.items():
            if width != d_model:
                raise ValueError(f"{name} has width {width}; expected d_model={d_model}")

    @property
    def d_model(self) -> int:
        return int(self.embedding.shape[1])

    @classmethod
    def init(
        cls,
        rng: np.random.Generator,
        v: int,
        layers: int,
        d_model: int,
        h: int,
        d_ff: int,
        *,
        bias: bool = True,
        final_norm: bool = False,
    ) -> Self:
        """Random weights; v tokens, and that many layers in the encoder and in the decoder.

        The paper has no norm behind the last layers, whose outputs are normed already; with
        Pre-LN they need one.
        """
        require_positive("v", v)
        sizes = (layers, d_model, h, d_ff, bias, final_norm)
        return cls(
            embedding=rng.standard_normal((v, d_model)) / math.sqrt(d_model),
            encoder=EncoderWeights.init(rng, *sizes),
            decoder=DecoderWeights.init(rng, *sizes),
        )


def transformer(
    source: npt.ArrayLike,
    target: npt.ArrayLike,
    weights: TransformerWeights,
    *,
    keep: npt.ArrayLike | None = None,
    options: LayerOptions = POST_LN,
) -> Array:
    """source (..., m), target (..., n) -> logits of the next tokens (..., n, v)."""
    return transformer_pullback(source, target, weights, keep=keep, options=options)[0]


def transformer_vjp(
    source: npt.ArrayLike,
    target: npt.ArrayLike,
    weights: TransformerWeights,
    cotangent: npt.ArrayLike,
    *,
    keep: npt.ArrayLike | None = None,
    options: LayerOptions = POST_LN,
) -> TransformerWeights:
    """cotangent (..., n, v) -> gradient of the weights."""
    _, pullback = transformer_pullback(source, target, weights, keep=keep, options=options)
    (grad_weights,) = pullback(as_floating(cotangent))
    return grad_weights


def transformer_pullback(
    source: npt.ArrayLike,
    target: npt.ArrayLike,
    weights: TransformerWeights,
    *,
    keep: npt.ArrayLike | None = None,
    options: LayerOptions = POST_LN,
) -> tuple[Array, Pullback]:
    """Logits (..., n, v), and cotangent -> gradient of the weights."""
    table = weights.embedding
    x, y = positioned_embedding(source, table), positioned_embedding(target, table)
    if y.shape[-2] == 0:
        raise ValueError(f"target has shape {np.shape(target)}; expected (..., n) with n >= 1")
    memory_mask = None if keep is None else padding_mask(_of_tokens(keep, np.shape(source)))
    states, stacks_back = encoder_decoder_pullback(
        x,
        y,
        EncoderDecoderWeights(weights.encoder, weights.decoder),
        source_mask=memory_mask,
        mask=causal_mask(y.shape[-2]),
        memory_mask=memory_mask,
        options=options,
    )

    def pullback(cotangent: Array) -> tuple[TransformerWeights]:
        grad_states, as_output = tied_logits_vjp(states, table, cotangent)
        grad_x, grad_y, grad_stacks = stacks_back(grad_states)
        as_source = positioned_embedding_vjp(source, table, grad_x)
        as_target = positioned_embedding_vjp(target, table, grad_y)
        grad_table = as_output + as_source + as_target
        return (TransformerWeights(grad_table, grad_stacks.encoder, grad_stacks.decoder),)

    return tied_logits(states, table), pullback


def _of_tokens(keep: npt.ArrayLike, tokens: tuple[int, ...]) -> Array:
    keep = np.asarray(keep)
    require_shape("keep", keep, {}, leading=tokens)
    return keep
