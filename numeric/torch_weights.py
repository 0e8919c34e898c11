"""Weights under the names that PyTorch gives them in a `state_dict`, in and out. Without PyTorch.

`..._from_torch` takes a mapping of names to arrays (tensors on the CPU are arrays, too) and copies
it into weights; `torch_state_dict` is the way back, under the same names in the same order. The
numbers stay as they are: `nn.Linear` stores the transpose of a matrix in row convention, and
`nn.MultiheadAttention` stores the matrices of all heads, and of queries, keys and values where
their widths agree, in one.

All readers raise one ValueError that names what is missing, unknown or of another shape. A
`state_dict` does not tell the number of heads h; the norm and the activation of a layer
(`norm_first`, `activation`, `layer_norm_eps`) are no weights either, and have to be given where
the layer is called.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import singledispatch
from typing import Any

import numpy as np

from numeric.arrays import Array
from numeric.layer_weights import (
    DecoderLayerWeights,
    DecoderWeights,
    EncoderDecoderWeights,
    EncoderLayerWeights,
    EncoderWeights,
    LayerNormWeights,
    NetworkWeights,
    NormWeights,
)
from numeric.torch_layout import (
    SEPARATE,
    State,
    attention_layout,
    behind,
    checked,
    decoder_layer_layout,
    depth,
    encoder_layer_layout,
    has_bias,
    nested,
    norm_layout,
    stack_layout,
    within,
)
from numeric.weights import FeedForwardWeights, MultiHeadWeights, head_width


def layer_norm_from_torch(state: State) -> LayerNormWeights:
    """`nn.LayerNorm` over the last axis: weight (d,), and bias (d,) if it has one."""
    return _layer_norm(checked(state, norm_layout(has_bias(state))))


def multi_head_from_torch(state: State, h: int) -> MultiHeadWeights:
    """`nn.MultiheadAttention` of h heads, with or without biases, kdim and vdim.

    E = embed_dim: in_proj_weight (3E, E), or q_proj_weight (E, E), k_proj_weight (E, kdim) and
    v_proj_weight (E, vdim); out_proj.weight (E, E); in_proj_bias (3E,) and out_proj.bias (E,).
    """
    separate = any(name in state for name in SEPARATE)
    layout = attention_layout(has_bias(state), packed=not separate)
    return _multi_head(checked(state, layout), h)


def encoder_layer_from_torch(state: State, h: int) -> EncoderLayerWeights:
    """`nn.TransformerEncoderLayer` of h heads, with or without biases."""
    return _encoder_layer(checked(state, encoder_layer_layout(has_bias(state))), h)


def decoder_layer_from_torch(state: State, h: int) -> DecoderLayerWeights:
    """`nn.TransformerDecoderLayer` of h heads, with or without biases."""
    return _decoder_layer(checked(state, decoder_layer_layout(has_bias(state))), h)


def encoder_from_torch(state: State, h: int) -> EncoderWeights:
    """`nn.TransformerEncoder` of such layers, with or without a final norm."""
    return _encoder(checked(state, stack_layout(state, encoder_layer_layout)), h)


def decoder_from_torch(state: State, h: int) -> DecoderWeights:
    """`nn.TransformerDecoder` of such layers, with or without a final norm."""
    return _decoder(checked(state, stack_layout(state, decoder_layer_layout)), h)


def transformer_from_torch(state: State, h: int) -> EncoderDecoderWeights:
    """`nn.Transformer` of h heads: encoder and decoder, both with a final norm.

    They need not be of the same depth.
    """
    encoder = stack_layout(within("encoder.", state), encoder_layer_layout, final_norm=True)
    decoder = stack_layout(within("decoder.", state), decoder_layer_layout, final_norm=True)
    arrays = checked(state, nested("encoder.", encoder) | nested("decoder.", decoder))
    return EncoderDecoderWeights(
        _encoder(within("encoder.", arrays), h), _decoder(within("decoder.", arrays), h)
    )


@singledispatch
def torch_state_dict(weights: Any) -> dict[str, Array]:
    """The names and arrays of the PyTorch module whose weights these are.

    Raises ValueError for weights that the module cannot hold (heads of another width than
    d_model / h, or fewer of them for keys; some biases without the others), and TypeError for
    weights of no such module.
    """
    raise TypeError(f"{type(weights).__name__} has no counterpart here among torch.nn")


@torch_state_dict.register
def _(weights: LayerNormWeights) -> dict[str, Array]:
    beta = {} if weights.beta is None else {"bias": weights.beta}
    return _copies({"weight": weights.gamma} | beta)


@torch_state_dict.register
def _(weights: MultiHeadWeights) -> dict[str, Array]:
    _require_square_heads(weights)
    rows = [_rows_of_heads(w) for w in (weights.w_q, weights.w_k, weights.w_v)]
    if len({w.shape for w in rows}) == 1:
        projections = {"in_proj_weight": np.concatenate(rows)}
    else:
        projections = dict(zip(SEPARATE, rows, strict=True))
    out = {"out_proj.weight": weights.w_o.T}
    biases = _all_or_none(weights.b_q, weights.b_k, weights.b_v, weights.b_o)
    if not biases:
        return _copies(projections | out)
    *inputs, b_o = biases
    in_proj_bias = np.concatenate([bias.ravel() for bias in inputs])
    return _copies(projections | {"in_proj_bias": in_proj_bias} | out | {"out_proj.bias": b_o})


@torch_state_dict.register
def _(weights: EncoderLayerWeights) -> dict[str, Array]:
    return _layer_state(
        {"self_attn": weights.attention},
        weights.feed_forward,
        [weights.attention_norm, weights.feed_forward_norm],
    )


@torch_state_dict.register
def _(weights: DecoderLayerWeights) -> dict[str, Array]:
    return _layer_state(
        {"self_attn": weights.self_attention, "multihead_attn": weights.cross_attention},
        weights.feed_forward,
        [weights.self_attention_norm, weights.cross_attention_norm, weights.feed_forward_norm],
    )


@torch_state_dict.register(EncoderWeights)
@torch_state_dict.register(DecoderWeights)
def _(weights: EncoderWeights | DecoderWeights) -> dict[str, Array]:
    layers = {f"layers.{number}": layer for number, layer in enumerate(weights.layers)}
    return _joined(layers | ({} if weights.norm is None else {"norm": weights.norm}))


@torch_state_dict.register
def _(weights: EncoderDecoderWeights) -> dict[str, Array]:
    if weights.encoder.norm is None or weights.decoder.norm is None:
        raise ValueError("a final norm is absent; nn.Transformer has one in encoder and decoder")
    return _joined({"encoder": weights.encoder, "decoder": weights.decoder})


# Building, from arrays whose names and shapes are right.


def _layer_norm(arrays: Mapping[str, Array]) -> LayerNormWeights:
    return LayerNormWeights(arrays["weight"], arrays.get("bias"))


def _multi_head(arrays: Mapping[str, Array], h: int) -> MultiHeadWeights:
    w_o = arrays["out_proj.weight"].T
    d_k = head_width(len(w_o), h)
    packed = arrays.get("in_proj_weight")
    rows = np.split(packed, 3) if packed is not None else [arrays[name] for name in SEPARATE]
    w_q, w_k, w_v = (w.reshape(h, d_k, w.shape[1]).swapaxes(1, 2) for w in rows)
    bias = arrays.get("in_proj_bias")
    b_q, b_k, b_v = (None, None, None) if bias is None else bias.reshape(3, h, d_k)
    return MultiHeadWeights(w_q, w_k, w_v, w_o, b_q, b_k, b_v, arrays.get("out_proj.bias"))


def _feed_forward(arrays: Mapping[str, Array]) -> FeedForwardWeights:
    return FeedForwardWeights(
        arrays["linear1.weight"].T,
        arrays["linear2.weight"].T,
        arrays.get("linear1.bias"),
        arrays.get("linear2.bias"),
    )


def _encoder_layer(arrays: Mapping[str, Array], h: int) -> EncoderLayerWeights:
    return EncoderLayerWeights(
        _multi_head(within("self_attn.", arrays), h),
        _feed_forward(arrays),
        *(_layer_norm(within(f"norm{number}.", arrays)) for number in (1, 2)),
    )


def _decoder_layer(arrays: Mapping[str, Array], h: int) -> DecoderLayerWeights:
    return DecoderLayerWeights(
        _multi_head(within("self_attn.", arrays), h),
        _multi_head(within("multihead_attn.", arrays), h),
        _feed_forward(arrays),
        *(_layer_norm(within(f"norm{number}.", arrays)) for number in (1, 2, 3)),
    )


def _encoder(arrays: Mapping[str, Array], h: int) -> EncoderWeights:
    layers = tuple(_encoder_layer(layer, h) for layer in _layers(arrays))
    return EncoderWeights(layers, _final_norm(arrays))


def _decoder(arrays: Mapping[str, Array], h: int) -> DecoderWeights:
    layers = tuple(_decoder_layer(layer, h) for layer in _layers(arrays))
    return DecoderWeights(layers, _final_norm(arrays))


def _layers(arrays: Mapping[str, Array]) -> list[dict[str, Array]]:
    return [within(f"layers.{number}.", arrays) for number in range(depth(arrays))]


def _final_norm(arrays: Mapping[str, Array]) -> LayerNormWeights | None:
    norm = within("norm.", arrays)
    return _layer_norm(norm) if norm else None


# The way back.


def _layer_state(
    attentions: Mapping[str, MultiHeadWeights],
    feed_forward: NetworkWeights,
    norms: Sequence[NormWeights],
) -> dict[str, Array]:
    if not isinstance(feed_forward, FeedForwardWeights):
        raise TypeError(f"{type(feed_forward).__name__} has no counterpart here among torch.nn")
    first = _linear_state(feed_forward.w_1, feed_forward.b_1)
    second = _linear_state(feed_forward.w_2, feed_forward.b_2)
    numbered = {f"norm{number}": norm for number, norm in enumerate(norms, start=1)}
    state = _joined(attentions) | behind("linear1.", first) | behind("linear2.", second)
    state |= _joined(numbered)
    if any(name.endswith(SEPARATE) for name in state):
        raise ValueError("a layer of torch.nn has attention whose inputs all have width d_model")
    if sum(name.endswith(".bias") for name in state) not in (0, len(attentions) + 2 + len(norms)):
        raise ValueError("some biases are absent; a layer of torch.nn has all of them or none")
    return state


def _linear_state(weight: Array, bias: Array | None) -> dict[str, Array]:
    return _copies({"weight": weight.T} | ({} if bias is None else {"bias": bias}))


def _require_square_heads(weights: MultiHeadWeights) -> None:
    if weights.g != weights.h:
        raise ValueError(f"g={weights.g}; nn.MultiheadAttention needs as many as h={weights.h}")
    d_k = head_width(weights.d_model, weights.h)
    for name, width in {"d_k": weights.d_k, "d_v": weights.d_v}.items():
        if width != d_k:
            raise ValueError(f"{name}={width}; nn.MultiheadAttention needs d_model / h = {d_k}")


def _rows_of_heads(weight: Array) -> Array:
    """(h, d_in, width) -> (h*width, d_in), the matrix of nn.Linear."""
    return weight.swapaxes(1, 2).reshape(-1, weight.shape[1])


def _all_or_none(*biases: Array | None) -> list[Array]:
    present = [bias for bias in biases if bias is not None]
    if len(present) not in (0, len(biases)):
        raise ValueError("some biases are absent; nn.MultiheadAttention has all of them or none")
    return present


def _joined(parts: Mapping[str, Any]) -> dict[str, Array]:
    joined: dict[str, Array] = {}
    for name, part in parts.items():
        joined |= behind(f"{name}.", torch_state_dict(part))
    return joined


def _copies(state: Mapping[str, Array]) -> dict[str, Array]:
    """Arrays of their own, in the memory layout that other libraries expect."""
    return {name: np.array(array, order="C") for name, array in state.items()}
