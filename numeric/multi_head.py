"""Multi-head attention with separate inputs for queries, keys and values (cross-attention).

Row convention: query_input (..., n, d_model), key_input (..., m, d_key) and value_input
(..., m, d_value), with the same leading axes (a batch, or none); d_key and d_value are d_model
where all come from one model.  The scores of all heads are (..., h, n, m), and a mask is (n, m)
or has as many axes as they have, each of which may be 1.  `rotary` turns queries and keys by their
positions.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy.typing as npt

from numeric.arrays import Array, as_floating, require_positive, require_shape
from numeric.attention import grouped_query_attention, grouped_query_attention_pullback
from numeric.linear import linear, linear_vjp
from numeric.rotary import Rotary
from numeric.weights import MultiHeadWeights

#: of the inputs of queries, keys and values, and of the weights
Gradients = tuple[Array, Array, Array, MultiHeadWeights]
#: cotangent of the heads -> gradients of their input, the matrices and the biases
Projection = Callable[[Array], tuple[Array, Array, Array | None]]


def attention_heads(
    query_input: npt.ArrayLike,
    key_input: npt.ArrayLike,
    value_input: npt.ArrayLike,
    weights: MultiHeadWeights,
    *,
    mask: npt.ArrayLike | None = None,
    rotary: Rotary | None = None,
) -> Array:
    """Inputs (..., n, d_model), (..., m, d_key), (..., m, d_value) -> heads (..., h, n, d_v)."""
    inputs = _checked_inputs(query_input, key_input, value_input, weights)
    projected, _ = _project_inputs(*inputs, weights, rotary)
    return grouped_query_attention(*projected, mask=mask)


def concat_heads(heads: npt.ArrayLike) -> Array:
    """(..., h, n, d_v) -> (..., n, h*d_v); column i*d_v + c is column c of head i."""
    heads = as_floating(heads)
    require_shape("heads", heads, {"h": None, "n": None, "d_v": None}, leading=None)
    *leading, h, n, d_v = heads.shape
    # Without the swap, reshape would deal out the rows of one head over several tokens.
    return heads.swapaxes(-3, -2).reshape(*leading, n, h * d_v)


def split_heads(concatenated: npt.ArrayLike, h: int) -> Array:
    """(..., n, h*d_v) -> (..., h, n, d_v); inverse of `concat_heads`, and so its vjp as well."""
    concatenated = as_floating(concatenated)
    require_shape("concatenated", concatenated, {"n": None, "h*d_v": None}, leading=None)
    *leading, n, width = concatenated.shape
    require_positive("h", h)
    if width % h:
        raise ValueError(f"concatenated has {width} columns; expected a multiple of h={h}")
    return concatenated.reshape(*leading, n, h, width // h).swapaxes(-3, -2)


def multi_head_attention(
    query_input: npt.ArrayLike,
    key_input: npt.ArrayLike,
    value_input: npt.ArrayLike,
    weights: MultiHeadWeights,
    *,
    mask: npt.ArrayLike | None = None,
    rotary: Rotary | None = None,
) -> Array:
    """Inputs (..., n, d_model), (..., m, d_key), (..., m, d_value) -> (..., n, d_model)."""
    inputs = query_input, key_input, value_input
    return multi_head_attention_pullback(*inputs, weights, mask=mask, rotary=rotary)[0]


def multi_head_attention_vjp(
    query_input: npt.ArrayLike,
    key_input: npt.ArrayLike,
    value_input: npt.ArrayLike,
    weights: MultiHeadWeights,
    cotangent: npt.ArrayLike,
    *,
    mask: npt.ArrayLike | None = None,
    rotary: Rotary | None = None,
) -> Gradients:
    """cotangent (..., n, d_model) -> gradients of the three inputs and of the weights."""
    inputs = query_input, key_input, value_input
    return multi_head_attention_pullback(*inputs, weights, mask=mask, rotary=rotary)[1](cotangent)


def multi_head_attention_pullback(
    query_input: npt.ArrayLike,
    key_input: npt.ArrayLike,
    value_input: npt.ArrayLike,
    weights: MultiHeadWeights,
    *,
    mask: npt.ArrayLike | None = None,
    rotary: Rotary | None = None,
) -> tuple[Array, Callable[[npt.ArrayLike], Gradients]]:
    """Output (..., n, d_model), and cotangent -> gradients of the inputs and of the weights."""
    inputs = _checked_inputs(query_input, key_input, value_input, weights)
    projected, projections = _project_inputs(*inputs, weights, rotary)
    heads, heads_pullback = grouped_query_attention_pullback(*projected, mask=mask)
    concatenated = concat_heads(heads)
    output = linear(concatenated, weights.w_o, weights.b_o)

    def pullback(cotangent: npt.ArrayLike) -> Gradients:
        cotangent = as_floating(cotangent)
        *leading, n, d_model = output.shape
        require_shape("cotangent", cotangent, {"n": n, "d_model": d_model}, leading=tuple(leading))
        grad_concatenated, w_o, b_o = linear_vjp(concatenated, weights.w_o, weights.b_o, cotangent)
        queries, keys, values = heads_pullback(split_heads(grad_concatenated, weights.h))
        if rotary is not None:
            queries, keys = rotary.vjp(projected[0], queries), rotary.vjp(projected[1], keys)
        to_queries, to_keys, to_values = projections
        grad_query, w_q, b_q = to_queries(queries)
        grad_key, w_k, b_k = to_keys(keys)
        grad_value, w_v, b_v = to_values(values)
        grad_weights = MultiHeadWeights(w_q, w_k, w_v, w_o, b_q, b_k, b_v, b_o)
        return grad_query, grad_key, grad_value, grad_weights

    return output, pullback


def self_attention(
    x: npt.ArrayLike,
    weights: MultiHeadWeights,
    *,
    mask: npt.ArrayLike | None = None,
    rotary: Rotary | None = None,
) -> Array:
    """x (..., n, d_model) -> (..., n, d_model), x being queries, keys and values at once."""
    return self_attention_pullback(x, weights, mask=mask, rotary=rotary)[0]


def self_attention_vjp(
    x: npt.ArrayLike,
    weights: MultiHeadWeights,
    cotangent: npt.ArrayLike,
    *,
    mask: npt.ArrayLike | None = None,
    rotary: Rotary | None = None,
) -> tuple[Array, MultiHeadWeights]:
    """cotangent (..., n, d_model) -> gradients of x and of the weights."""
    return self_attention_pullback(x, weights, mask=mask, rotary=rotary)[1](cotangent)


def self_attention_pullback(
    x: npt.ArrayLike,
    weights: MultiHeadWeights,
    *,
    mask: npt.ArrayLike | None = None,
    rotary: Rotary | None = None,
) -> tuple[Array, Callable[[npt.ArrayLike], tuple[Array, MultiHeadWeights]]]:
    """Output (..., n, d_model), and cotangent -> gradients of x and of the weights."""
    output, by_role = multi_head_attention_pullback(x, x, x, weights, mask=mask, rotary=rotary)

    def pullback(cotangent: npt.ArrayLike) -> tuple[Array, MultiHeadWeights]:
        as_query, as_key, as_value, grad_weights = by_role(cotangent)
        return as_query + as_key + as_value, grad_weights

    return output, pullback


def _checked_inputs(
    query_input: npt.ArrayLike,
    key_input: npt.ArrayLike,
    value_input: npt.ArrayLike,
    weights: MultiHeadWeights,
) -> tuple[Array, Array, Array]:
    query_input, key_input = as_floating(query_input), as_floating(key_input)
    value_input, d_model = as_floating(value_input), weights.d_model
    require_shape("query_input", query_input, {"n": None, "d_model": d_model}, leading=None)
    leading = query_input.shape[:-2]
    require_shape("key_input", key_input, {"m": None, "d_key": weights.d_key}, leading=leading)
    axes = {"m": key_input.shape[-2], "d_value": weights.d_value}
    require_shape("value_input", value_input, axes, leading=leading)
    return query_input, key_input, value_input


def _project_inputs(
    query_input: Array,
    key_input: Array,
    value_input: Array,
    weights: MultiHeadWeights,
    rotary: Rotary | None,
) -> tuple[tuple[Array, Array, Array], tuple[Projection, Projection, Projection]]:
    """Queries (..., h, n, d_k), keys (..., g, m, d_k) and values (..., g, m, d_v) of all heads."""
    queries, to_queries = _project(query_input, weights.w_q, weights.b_q)
    keys, to_keys = _project(key_input, weights.w_k, weights.b_k)
    values, to_values = _project(value_input, weights.w_v, weights.b_v)
    if rotary is not None:
        if weights.d_k % 2:
            raise ValueError(f"d_k={weights.d_k} is odd; expected an even width, turned in pairs")
        queries, keys = rotary.forward(queries), rotary.forward(keys)
    return (queries, keys, values), (to_queries, to_keys, to_values)


def _project(x: Array, weight: Array, bias: Array | None) -> tuple[Array, Projection]:
    """x (..., n, d_model), weight (h, d_model, width), bias (h, width) -> (..., h, n, width).

    All heads read the same x, so one product with the matrices side by side serves them all.
    """
    h, width = len(weight), weight.shape[-1]
    side_by_side = concat_heads(weight), None if bias is None else bias.reshape(h * width)

    def pullback(cotangent: Array) -> tuple[Array, Array, Array | None]:
        grad_x, grad_weight, grad_bias = linear_vjp(x, *side_by_side, concat_heads(cotangent))
        grad_bias = None if grad_bias is None else grad_bias.reshape(h, width)
        return grad_x, split_heads(grad_weight, h), grad_bias

    return split_heads(linear(x, *side_by_side), h), pullback
