"""Multi-head attention with separate inputs for queries, keys and values (cross-attention).

Row convention: query_input (n, d_model), key_input (m, d_model), value_input (m, d_model).
"""

from __future__ import annotations

import numpy.typing as npt

from numeric.arrays import Array, as_floating, require_shape, transpose
from numeric.attention import scaled_dot_product_attention, scaled_dot_product_attention_vjp
from numeric.linear import linear, linear_vjp
from numeric.weights import MultiHeadWeights


def attention_heads(
    query_input: npt.ArrayLike,
    key_input: npt.ArrayLike,
    value_input: npt.ArrayLike,
    weights: MultiHeadWeights,
) -> Array:
    """Inputs (n, d_model), (m, d_model), (m, d_model) -> all heads (h, n, d_v)."""
    inputs = _checked_inputs(query_input, key_input, value_input, weights)
    return scaled_dot_product_attention(*_project_inputs(*inputs, weights))


def concat_heads(heads: npt.ArrayLike) -> Array:
    """(h, n, d_v) -> (n, h*d_v); column i*d_v + c is column c of head i."""
    heads = as_floating(heads)
    require_shape("heads", heads, {"h": None, "n": None, "d_v": None})
    h, n, d_v = heads.shape
    # Without the swap, reshape would deal out the rows of one head over several tokens.
    return heads.swapaxes(0, 1).reshape(n, h * d_v)


def split_heads(concatenated: npt.ArrayLike, h: int) -> Array:
    """(n, h*d_v) -> (h, n, d_v); inverse of `concat_heads`, and therefore also its vjp."""
    concatenated = as_floating(concatenated)
    require_shape("concatenated", concatenated, {"n": None, "h*d_v": None})
    n, width = concatenated.shape
    if width % h:
        raise ValueError(f"concatenated has {width} columns; expected a multiple of h={h}")
    return concatenated.reshape(n, h, width // h).swapaxes(0, 1)


def multi_head_attention(
    query_input: npt.ArrayLike,
    key_input: npt.ArrayLike,
    value_input: npt.ArrayLike,
    weights: MultiHeadWeights,
) -> Array:
    """Inputs (n, d_model), (m, d_model), (m, d_model) -> (n, d_model)."""
    heads = attention_heads(query_input, key_input, value_input, weights)
    return linear(concat_heads(heads), weights.w_o, weights.b_o)


def multi_head_attention_vjp(
    query_input: npt.ArrayLike,
    key_input: npt.ArrayLike,
    value_input: npt.ArrayLike,
    weights: MultiHeadWeights,
    cotangent: npt.ArrayLike,
) -> tuple[Array, Array, Array, MultiHeadWeights]:
    """cotangent (n, d_model) -> gradients of the three inputs and of the weights."""
    inputs = _checked_inputs(query_input, key_input, value_input, weights)
    cotangent = as_floating(cotangent)
    require_shape("cotangent", cotangent, {"n": inputs[0].shape[0], "d_model": weights.d_model})
    queries, keys, values = _project_inputs(*inputs, weights)
    concatenated = concat_heads(scaled_dot_product_attention(queries, keys, values))
    grad_concatenated, w_o, b_o = linear_vjp(concatenated, weights.w_o, weights.b_o, cotangent)
    grad_heads = split_heads(grad_concatenated, weights.h)
    grads = scaled_dot_product_attention_vjp(queries, keys, values, grad_heads)
    grad_query, w_q, b_q = _project_vjp(inputs[0], weights.w_q, weights.b_q, grads[0])
    grad_key, w_k, b_k = _project_vjp(inputs[1], weights.w_k, weights.b_k, grads[1])
    grad_value, w_v, b_v = _project_vjp(inputs[2], weights.w_v, weights.b_v, grads[2])
    grad_weights = MultiHeadWeights(w_q, w_k, w_v, w_o, b_q, b_k, b_v, b_o)
    return grad_query, grad_key, grad_value, grad_weights


def self_attention(x: npt.ArrayLike, weights: MultiHeadWeights) -> Array:
    """x (n, d_model) -> (n, d_model), x being queries, keys and values at once."""
    return multi_head_attention(x, x, x, weights)


def self_attention_vjp(
    x: npt.ArrayLike, weights: MultiHeadWeights, cotangent: npt.ArrayLike
) -> tuple[Array, MultiHeadWeights]:
    """cotangent (n, d_model) -> gradients of x and of the weights."""
    as_query, as_key, as_value, grad_weights = multi_head_attention_vjp(x, x, x, weights, cotangent)
    return as_query + as_key + as_value, grad_weights


def _checked_inputs(
    query_input: npt.ArrayLike,
    key_input: npt.ArrayLike,
    value_input: npt.ArrayLike,
    weights: MultiHeadWeights,
) -> tuple[Array, Array, Array]:
    query_input, key_input = as_floating(query_input), as_floating(key_input)
    value_input = as_floating(value_input)
    require_shape("query_input", query_input, {"n": None, "d_model": weights.d_model})
    require_shape("key_input", key_input, {"m": None, "d_model": weights.d_model})
    m = key_input.shape[0]
    require_shape("value_input", value_input, {"m": m, "d_model": weights.d_model})
    return query_input, key_input, value_input


def _project_inputs(
    query_input: Array, key_input: Array, value_input: Array, weights: MultiHeadWeights
) -> tuple[Array, Array, Array]:
    """Queries (h, n, d_k), keys (h, m, d_k) and values (h, m, d_v) of all heads."""
    return (
        _project(query_input, weights.w_q, weights.b_q),
        _project(key_input, weights.w_k, weights.b_k),
        _project(value_input, weights.w_v, weights.b_v),
    )


def _project(x: Array, weight: Array, bias: Array | None) -> Array:
    """x (n, d_model), weight (h, d_model, width), bias (h, width) -> (h, n, width)."""
    product = x @ weight
    return product if bias is None else product + bias[:, None, :]


def _project_vjp(
    x: Array, weight: Array, bias: Array | None, cotangent: Array
) -> tuple[Array, Array, Array | None]:
    """cotangent (h, n, width) -> gradients of x, weight and bias; all heads read the same x."""
    grad_x = (cotangent @ transpose(weight)).sum(axis=0)
    grad_bias = None if bias is None else cotangent.sum(axis=1)
    return grad_x, transpose(x) @ cotangent, grad_bias
