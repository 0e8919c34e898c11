"""A decoder-only model: every token is predicted from those before it.

Tokens (..., n) are integers from 0 to v-1. The layers are those of an encoder under a causal mask:
there is no memory to attend to. Positions enter through `options.rotary` where it is given (and
then in every layer, to plain token vectors), else through `positioned_embedding`, as in the
original Transformer. Padding belongs behind the tokens, none of which sees it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from numeric.arrays import Array, as_floating, require_positive
from numeric.blocks import LayerOptions, Pullback
from numeric.embedding import (
    embedding,
    embedding_vjp,
    positioned_embedding,
    positioned_embedding_vjp,
    tied_logits,
    tied_logits_vjp,
)
from numeric.encoder import encoder_pullback
from numeric.layer_weights import EncoderWeights
from numeric.masks import causal_mask
from numeric.weights import Weights

PRE_LN = LayerOptions(norm_first=True)


@dataclass(frozen=True, eq=False)
class DecoderOnlyWeights(Weights):
    """embedding (v, d_model), the vectors of all tokens; stack, the layers and the final norm;
    output (v, d_model), or None if the output is tied to the embedding."""

    embedding: Array
    stack: EncoderWeights
    output: Array | None = None

    def __post_init__(self) -> None:
        v, d_model = self._adopt("embedding", {"v": None, "d_model": None})
        self._adopt_optional("output", {"v": v, "d_model": d_model})
        if self.stack.d_model != d_model:
            raise ValueError(f"stack has width {self.stack.d_model}; expected d_model={d_model}")

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
        tied: bool = True,
        g: int | None = None,
        gated: bool = False,
        rms: bool = False,
    ) -> Self:
        """Random weights for v tokens; the layers as in `EncoderLayerWeights.init`."""
        require_positive("v", v)
        tables = [rng.standard_normal((v, d_model)) / math.sqrt(d_model) for _ in "ab"]
        stack = EncoderWeights.init(rng, layers, d_model, h, d_ff, bias, g=g, gated=gated, rms=rms)
        return cls(tables[0], stack, None if tied else tables[1])


def decoder_only(
    tokens: npt.ArrayLike, weights: DecoderOnlyWeights, *, options: LayerOptions = PRE_LN
) -> Array:
    """tokens (..., n) -> logits of the next tokens (..., n, v)."""
    return decoder_only_pullback(tokens, weights, options=options)[0]


def decoder_only_vjp(
    tokens: npt.ArrayLike,
    weights: DecoderOnlyWeights,
    cotangent: npt.ArrayLike,
    *,
    options: LayerOptions = PRE_LN,
) -> DecoderOnlyWeights:
    """cotangent (..., n, v) -> gradient of the weights."""
    _, pullback = decoder_only_pullback(tokens, weights, options=options)
    (grad_weights,) = pullback(as_floating(cotangent))
    return grad_weights


def decoder_only_pullback(
    tokens: npt.ArrayLike, weights: DecoderOnlyWeights, *, options: LayerOptions = PRE_LN
) -> tuple[Array, Pullback]:
    """Logits (..., n, v), and cotangent -> gradient of the weights."""
    if np.ndim(tokens) == 0 or np.shape(tokens)[-1] == 0:
        raise ValueError(f"tokens has shape {np.shape(tokens)}; expected (..., n) with n >= 1")
    enter, enter_vjp = (
        (positioned_embedding, positioned_embedding_vjp)
        if options.rotary is None
        else (embedding, embedding_vjp)
    )
    x = enter(tokens, weights.embedding)
    mask = causal_mask(np.shape(tokens)[-1])
    states, stack_back = encoder_pullback(x, weights.stack, mask=mask, options=options)
    table = weights.embedding if weights.output is None else weights.output

    def pullback(cotangent: Array) -> tuple[DecoderOnlyWeights]:
        grad_states, as_output = tied_logits_vjp(states, table, cotangent)
        grad_x, grad_stack = stack_back(grad_states)
        as_input = enter_vjp(tokens, weights.embedding, grad_x)
        if weights.output is None:
            return (DecoderOnlyWeights(as_input + as_output, grad_stack),)
        return (DecoderOnlyWeights(as_input, grad_stack, as_output),)

    return tied_logits(states, table), pullback
