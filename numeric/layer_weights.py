"""Weights of layers and stacks of them, put together from those of their parts.

Every part of a layer reads and writes vectors of one width, d_model; parts that do not fit
together are refused. Gradients have the same type and shapes as the weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from numeric.arrays import Array, require_positive
from numeric.weights import FeedForwardWeights, GatedFeedForwardWeights, MultiHeadWeights, Weights


@dataclass(frozen=True, eq=False)
class LayerNormWeights(Weights):
    """gamma (d_model,), beta (d_model,) or None if absent."""

    gamma: Array
    beta: Array | None = None

    def __post_init__(self) -> None:
        (d_model,) = self._adopt("gamma", {"d_model": None})
        self._adopt_optional("beta", {"d_model": d_model})

    @property
    def d_model(self) -> int:
        return int(self.gamma.shape[0])

    @classmethod
    def init(cls, d_model: int, bias: bool = True) -> Self:
        """gamma 1 and beta 0: the normalised vectors as they are."""
        require_positive("d_model", d_model)
        return cls(np.ones(d_model), np.zeros(d_model) if bias else None)


@dataclass(frozen=True, eq=False)
class RMSNormWeights(Weights):
    """gamma (d_model,)."""

    gamma: Array

    def __post_init__(self) -> None:
        self._adopt("gamma", {"d_model": None})

    @property
    def d_model(self) -> int:
        return int(self.gamma.shape[0])

    @classmethod
    def init(cls, d_model: int) -> Self:
        """gamma 1: the normalised vectors as they are."""
        require_positive("d_model", d_model)
        return cls(np.ones(d_model))


NormWeights = LayerNormWeights | RMSNormWeights
NetworkWeights = FeedForwardWeights | GatedFeedForwardWeights


@dataclass(frozen=True, eq=False)
class EncoderLayerWeights(Weights):
    """Self-attention and feed-forward network, and the norm that belongs to each."""

    attention: MultiHeadWeights
    feed_forward: NetworkWeights
    attention_norm: NormWeights
    feed_forward_norm: NormWeights

    def __post_init__(self) -> None:
        _require_one_width(vars(self))
        _require_reads("attention", self.attention, self.d_model)

    @property
    def d_model(self) -> int:
        return self.attention.d_model

    @classmethod
    def init(
        cls,
        rng: np.random.Generator,
        d_model: int,
        h: int,
        d_ff: int,
        bias: bool = True,
        *,
        g: int | None = None,
        gated: bool = False,
        rms: bool = False,
    ) -> Self:
        """Random weights, and norms as they start; h has to divide d_model.

        g heads of keys and values (h unless given), a gated network, RMS in place of layer norm.
        """
        network = GatedFeedForwardWeights if gated else FeedForwardWeights
        return cls(
            attention=MultiHeadWeights.init(rng, d_model, h, bias=bias, g=g),
            feed_forward=network.init(rng, d_model, d_ff, bias=bias),
            attention_norm=_norm_at_start(d_model, bias, rms),
            feed_forward_norm=_norm_at_start(d_model, bias, rms),
        )


@dataclass(frozen=True, eq=False)
class DecoderLayerWeights(Weights):
    """Causal self-attention, cross-attention and feed-forward network, and a norm for each.

    Cross-attention reads a memory whose width may be another one than d_model.
    """

    self_attention: MultiHeadWeights
    cross_attention: MultiHeadWeights
    feed_forward: NetworkWeights
    self_attention_norm: NormWeights
    cross_attention_norm: NormWeights
    feed_forward_norm: NormWeights

    def __post_init__(self) -> None:
        _require_one_width(vars(self))
        _require_reads("self_attention", self.self_attention, self.d_model)
        _require_reads("cross_attention", self.cross_attention, self.d_memory)

    @property
    def d_model(self) -> int:
        return self.self_attention.d_model

    @property
    def d_memory(self) -> int:
        return self.cross_attention.d_key

    @classmethod
    def init(
        cls, rng: np.random.Generator, d_model: int, h: int, d_ff: int, bias: bool = True
    ) -> Self:
        """Random weights with layer norms as they start; h has to divide d_model."""
        return cls(
            self_attention=MultiHeadWeights.init(rng, d_model, h, bias=bias),
            cross_attention=MultiHeadWeights.init(rng, d_model, h, bias=bias),
            feed_forward=FeedForwardWeights.init(rng, d_model, d_ff, bias=bias),
            self_attention_norm=LayerNormWeights.init(d_model, bias),
            cross_attention_norm=LayerNormWeights.init(d_model, bias),
            feed_forward_norm=LayerNormWeights.init(d_model, bias),
        )


@dataclass(frozen=True, eq=False)
class EncoderWeights(Weights):
    """Layers in their order, at least one, and the norm behind the last one, None if absent."""

    layers: tuple[EncoderLayerWeights, ...]
    norm: NormWeights | None = None

    def __post_init__(self) -> None:
        _adopt_layers(self)

    @property
    def d_model(self) -> int:
        return self.layers[0].d_model

    @classmethod
    def init(
        cls,
        rng: np.random.Generator,
        layers: int,
        d_model: int,
        h: int,
        d_ff: int,
        bias: bool = True,
        final_norm: bool = True,
        *,
        g: int | None = None,
        gated: bool = False,
        rms: bool = False,
    ) -> Self:
        """Random weights of that many layers, see `EncoderLayerWeights.init`."""
        require_positive("layers", layers)
        sizes = (d_model, h, d_ff, bias)
        drawn = [
            EncoderLayerWeights.init(rng, *sizes, g=g, gated=gated, rms=rms) for _ in range(layers)
        ]
        return cls(tuple(drawn), _norm_at_start(d_model, bias, rms) if final_norm else None)


@dataclass(frozen=True, eq=False)
class DecoderWeights(Weights):
    """Layers in their order, at least one, and the norm behind the last one, None if absent."""

    layers: tuple[DecoderLayerWeights, ...]
    norm: NormWeights | None = None

    def __post_init__(self) -> None:
        _adopt_layers(self)
        for number, layer in enumerate(self.layers):
            _require_reads(
                f"cross_attention of layer {number}", layer.cross_attention, self.d_memory
            )

    @property
    def d_model(self) -> int:
        return self.layers[0].d_model

    @property
    def d_memory(self) -> int:
        return self.layers[0].d_memory

    @classmethod
    def init(
        cls,
        rng: np.random.Generator,
        layers: int,
        d_model: int,
        h: int,
        d_ff: int,
        bias: bool = True,
        final_norm: bool = True,
    ) -> Self:
        """Random weights of that many layers."""
        require_positive("layers", layers)
        drawn = (DecoderLayerWeights.init(rng, d_model, h, d_ff, bias) for _ in range(layers))
        return cls(tuple(drawn), LayerNormWeights.init(d_model, bias) if final_norm else None)


@dataclass(frozen=True, eq=False)
class EncoderDecoderWeights(Weights):
    """Encoder and decoder without embeddings, as in `torch.nn.Transformer`."""

    encoder: EncoderWeights
    decoder: DecoderWeights

    def __post_init__(self) -> None:
        found, written = self.decoder.d_memory, self.encoder.d_model
        if found != written:
            raise ValueError(f"decoder has d_memory={found}; expected {written}, as encoded")

    @property
    def d_model(self) -> int:
        return self.decoder.d_model

    @classmethod
    def init(
        cls,
        rng: np.random.Generator,
        layers: int,
        d_model: int,
        h: int,
        d_ff: int,
        bias: bool = True,
        final_norm: bool = True,
    ) -> Self:
        """Random weights of that many layers in the encoder and as many in the decoder."""
        sizes = (layers, d_model, h, d_ff, bias, final_norm)
        return cls(EncoderWeights.init(rng, *sizes), DecoderWeights.init(rng, *sizes))


def _norm_at_start(d_model: int, bias: bool, rms: bool) -> NormWeights:
    return RMSNormWeights.init(d_model) if rms else LayerNormWeights.init(d_model, bias)


def _adopt_layers(weights: EncoderWeights | DecoderWeights) -> None:
    """Layers as a tuple; refused where there is none or where one does not fit the others."""
    layers = tuple(weights.layers)
    object.__setattr__(weights, "layers", layers)  # the dataclass is frozen for everyone else
    if not layers:
        raise ValueError("layers is empty; expected at least one layer")
    norm = {} if weights.norm is None else {"norm": weights.norm}
    _require_one_width({f"layer {l}": layer for l, layer in enumerate(layers)} | norm)


def _require_reads(name: str, attention: MultiHeadWeights, width: int) -> None:
    """Refuse attention whose keys or values are made of vectors of another width."""
    for axis, found in {"d_key": attention.d_key, "d_value": attention.d_value}.items():
        if found != width:
            raise ValueError(f"{name} has {axis}={found}; expected {width}")


def _require_one_width(parts: Mapping[str, Any]) -> None:
    widths = {name: part.d_model for name, part in parts.items()}
    if len(set(widths.values())) > 1:
        told = ", ".join(f"{name} {width}" for name, width in widths.items())
        raise ValueError(f"parts differ in d_model: {told}")
