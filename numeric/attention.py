"""Scaled dot-product attention, for one head or for any leading axes of heads.

Row convention: queries (..., n, d_k), keys (..., m, d_k), values (..., m, d_v), where d_v may
differ from d_k and the leading axes agree. There are n output rows, one per query.
"""

from __future__ import annotations

import math

import numpy.typing as npt

from numeric.arrays import Array, as_floating, require_shape, transpose
from numeric.softmax import softmax, softmax_vjp


def scaled_scores(queries: npt.ArrayLike, keys: npt.ArrayLike) -> Array:
    """queries (..., n, d_k), keys (..., m, d_k) -> logits (..., n, m), divided by sqrt(d_k)."""
    queries, keys = as_floating(queries), as_floating(keys)
    _check_queries_and_keys(queries, keys)
    return queries @ transpose(keys) / math.sqrt(queries.shape[-1])


def scaled_scores_vjp(
    queries: npt.ArrayLike, keys: npt.ArrayLike, cotangent: npt.ArrayLike
) -> tuple[Array, Array]:
    """cotangent (..., n, m) -> gradients of queries (..., n, d_k) and keys (..., m, d_k)."""
    queries, keys, cotangent = as_floating(queries), as_floating(keys), as_floating(cotangent)
    _check_queries_and_keys(queries, keys)
    n, m, d_k = queries.shape[-2], keys.shape[-2], queries.shape[-1]
    require_shape("cotangent", cotangent, {"n": n, "m": m}, leading=queries.shape[:-2])
    grad_products = cotangent / math.sqrt(d_k)
    return grad_products @ keys, transpose(grad_products) @ queries


def attention_weights(queries: npt.ArrayLike, keys: npt.ArrayLike) -> Array:
    """queries (..., n, d_k), keys (..., m, d_k) -> (..., n, m); row t weighs the m keys."""
    return softmax(scaled_scores(queries, keys))


def scaled_dot_product_attention(
    queries: npt.ArrayLike, keys: npt.ArrayLike, values: npt.ArrayLike
) -> Array:
    """queries (..., n, d_k), keys (..., m, d_k), values (..., m, d_v) -> (..., n, d_v)."""
    weights, values = attention_weights(queries, keys), as_floating(values)
    _check_values(values, weights)
    return weights @ values


def scaled_dot_product_attention_vjp(
    queries: npt.ArrayLike, keys: npt.ArrayLike, values: npt.ArrayLike, cotangent: npt.ArrayLike
) -> tuple[Array, Array, Array]:
    """cotangent (..., n, d_v) -> gradients of queries, keys and values, shaped like these."""
    values, cotangent = as_floating(values), as_floating(cotangent)
    scores = scaled_scores(queries, keys)
    weights = softmax(scores)
    _check_values(values, weights)
    axes = {"n": weights.shape[-2], "d_v": values.shape[-1]}
    require_shape("cotangent", cotangent, axes, leading=weights.shape[:-2])
    grad_values = transpose(weights) @ cotangent
    grad_weights = cotangent @ transpose(values)
    grad_scores = softmax_vjp(scores, grad_weights)
    grad_queries, grad_keys = scaled_scores_vjp(queries, keys, grad_scores)
    return grad_queries, grad_keys, grad_values


def _check_queries_and_keys(queries: Array, keys: Array) -> None:
    require_shape("queries", queries, {"n": None, "d_k": None}, leading=None)
    axes = {"m": None, "d_k": queries.shape[-1]}
    require_shape("keys", keys, axes, leading=queries.shape[:-2])


def _check_values(values: Array, weights: Array) -> None:
    axes = {"m": weights.shape[-1], "d_v": None}
    require_shape("values", values, axes, leading=weights.shape[:-2])
