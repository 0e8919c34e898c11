"""Scaled dot-product attention, for one head or for any leading axes of heads.

Row convention: queries (..., n, d_k), keys (..., m, d_k), values (..., m, d_v), where d_v may
differ from d_k and the leading axes agree. There are n output rows, one per query.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from numeric.arrays import Array, as_floating, require_group, require_shape, transpose
from numeric.masks import apply_mask
from numeric.softmax import softmax, softmax_pullback


def scaled_scores(queries: npt.ArrayLike, keys: npt.ArrayLike) -> Array:
    """queries (..., n, d_k), keys (..., m, d_k) -> logits (..., n, m), divided by sqrt(d_k)."""
    queries, keys = as_floating(queries), as_floating(keys)
    _check_queries_and_keys(queries, keys)
    return queries / math.sqrt(queries.shape[-1]) @ transpose(keys)


def scaled_scores_vjp(
    queries: npt.ArrayLike, keys: npt.ArrayLike, cotangent: npt.ArrayLike
) -> tuple[Array, Array]:
    """cotangent (..., n, m) -> gradients of queries (..., n, d_k) and keys (..., m, d_k)."""
    queries, keys, cotangent = as_floating(queries), as_floating(keys), as_floating(cotangent)
    _check_queries_and_keys(queries, keys)
    n, m, d_k = queries.shape[-2], keys.shape[-2], queries.shape[-1]
    require_shape("cotangent", cotangent, {"n": n, "m": m}, leading=queries.shape[:-2])
    root = math.sqrt(d_k)
    return cotangent @ keys / root, transpose(cotangent) @ queries / root


def attention_weights(
    queries: npt.ArrayLike, keys: npt.ArrayLike, *, mask: npt.ArrayLike | None = None
) -> Array:
    """queries (..., n, d_k), keys (..., m, d_k) -> (..., n, m); row t weighs the m keys.

    mask: see `masks`; a query from which every key is excluded has weights 0.
    """
    scores = scaled_scores(queries, keys)
    return softmax(scores if mask is None else apply_mask(scores, mask))


def scaled_dot_product_attention(
    queries: npt.ArrayLike,
    keys: npt.ArrayLike,
    values: npt.ArrayLike,
    *,
    mask: npt.ArrayLike | None = None,
) -> Array:
    """queries (..., n, d_k), keys (..., m, d_k), values (..., m, d_v) -> (..., n, d_v).

    mask (n, m) or (..., n, m), see `masks`; a query from which every key is excluded gives 0.
    """
    weights, values = attention_weights(queries, keys, mask=mask), as_floating(values)
    _check_values(values, weights)
    return weights @ values


def scaled_dot_product_attention_vjp(
    queries: npt.ArrayLike,
    keys: npt.ArrayLike,
    values: npt.ArrayLike,
    cotangent: npt.ArrayLike,
    *,
    mask: npt.ArrayLike | None = None,
) -> tuple[Array, Array, Array]:
    """cotangent (..., n, d_v) -> gradients of queries, keys and values, shaped like these.

    Nothing flows through excluded keys, nor from a query without any key.
    """
    weights = attention_weights(queries, keys, mask=mask)
    values, cotangent = as_floating(values), as_floating(cotangent)
    _check_values(values, weights)
    axes = {"n": weights.shape[-2], "d_v": values.shape[-1]}
    require_shape("cotangent", cotangent, axes, leading=weights.shape[:-2])
    grad_values = transpose(weights) @ cotangent
    grad_weights = cotangent @ transpose(values)
    grad_scores = softmax_pullback(weights, grad_weights)
    grad_queries, grad_keys = scaled_scores_vjp(queries, keys, grad_scores)
    return grad_queries, grad_keys, grad_values


def grouped_query_attention(
    queries: npt.ArrayLike,
    keys: npt.ArrayLike,
    values: npt.ArrayLike,
    *,
    mask: npt.ArrayLike | None = None,
) -> Array:
    """queries (..., h, n, d_k), keys (..., g, m, d_k), values (..., g, m, d_v) -> (..., h, n, d_v).

    g divides h, and h/g query heads in a row share a head of keys and values: query head i reads
    head i // (h/g).  g = 1 is multi-query attention, g = h the ordinary one.
    """
    keys, values = _per_query_head(queries, keys, values)
    return scaled_dot_product_attention(queries, keys, values, mask=mask)


def grouped_query_attention_vjp(
    queries: npt.ArrayLike,
    keys: npt.ArrayLike,
    values: npt.ArrayLike,
    cotangent: npt.ArrayLike,
    *,
    mask: npt.ArrayLike | None = None,
) -> tuple[Array, Array, Array]:
    """cotangent (..., h, n, d_v) -> gradients of queries, keys and values, shaped like these."""
    repeated = _per_query_head(queries, keys, values)
    grads = scaled_dot_product_attention_vjp(queries, *repeated, cotangent, mask=mask)
    g = as_floating(keys).shape[-3]
    return grads[0], _sum_over_groups(grads[1], g), _sum_over_groups(grads[2], g)


def _per_query_head(
    queries: npt.ArrayLike, keys: npt.ArrayLike, values: npt.ArrayLike
) -> tuple[Array, Array]:
    """Keys and values with every head repeated for the h/g query heads that read it."""
    queries, keys, values = as_floating(queries), as_floating(keys), as_floating(values)
    require_shape("queries", queries, {"h": None, "n": None, "d_k": None}, leading=None)
    h, _, d_k = queries.shape[-3:]
    require_shape("keys", keys, {"g": None, "m": None, "d_k": d_k}, leading=queries.shape[:-3])
    g, m, _ = keys.shape[-3:]
    require_shape("values", values, {"g": g, "m": m, "d_v": None}, leading=queries.shape[:-3])
    require_group(g, h)
    return np.repeat(keys, h // g, axis=-3), np.repeat(values, h // g, axis=-3)


def _sum_over_groups(gradient: Array, g: int) -> Array:
    """(..., h, m, d) -> (..., g, m, d): h/g query heads have read the same keys and values."""
    *leading, h, m, d = gradient.shape
    total: Array = gradient.reshape(*leading, g, h // g, m, d).sum(axis=-3)
    return total


def _check_queries_and_keys(queries: Array, keys: Array) -> None:
    require_shape("queries", queries, {"n": None, "d_k": None}, leading=None)
    axes = {"m": None, "d_k": queries.shape[-1]}
    require_shape("keys", keys, axes, leading=queries.shape[:-2])


def _check_values(values: Array, weights: Array) -> None:
    axes = {"m": weights.shape[-1], "d_v": None}
    require_shape("values", values, axes, leading=weights.shape[:-2])
