"""Scaled dot-product attention, for one head or for any leading axes of heads.

Row convention: queries (..., n, d_k), keys (..., m, d_k), values (..., m, d_v), where d_v may
differ from d_k and the leading axes agree. There are n output rows, one per query.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from numeric.arrays import Array, as_floating, require_group, require_shape, transpose
from numeric.masks import apply_mask
from numeric.memory import matmul
from numeric.softmax import softmax, softmax_pullback

#: of queries, keys and values
Gradients = tuple[Array, Array, Array]


def scaled_scores(queries: npt.ArrayLike, keys: npt.ArrayLike) -> Array:
    """queries (..., n, d_k), keys (..., m, d_k) -> logits (..., n, m), divided by sqrt(d_k)."""
    queries, keys = as_floating(queries), as_floating(keys)
    _check_queries_and_keys(queries, keys)
    return matmul(queries / math.sqrt(queries.shape[-1]), transpose(keys))


def scaled_scores_vjp(
    queries: npt.ArrayLike, keys: npt.ArrayLike, cotangent: npt.ArrayLike
) -> tuple[Array, Array]:
    """cotangent (..., n, m) -> gradients of queries (..., n, d_k) and keys (..., m, d_k)."""
    queries, keys, cotangent = as_floating(queries), as_floating(keys), as_floating(cotangent)
    _check_queries_and_keys(queries, keys)
    n, m, d_k = queries.shape[-2], keys.shape[-2], queries.shape[-1]
    require_shape("cotangent", cotangent, {"n": n, "m": m}, leading=queries.shape[:-2])
    grad_queries, grad_keys = matmul(cotangent, keys), matmul(transpose(cotangent), queries)
    root = math.sqrt(d_k)
    grad_queries /= root
    grad_keys /= root
    return grad_queries, grad_keys


def attention_weights(
    queries: npt.ArrayLike, keys: npt.ArrayLike, *, mask: npt.ArrayLike | None = None
) -> Array:
    """queries (..., n, d_k), keys (..., m, d_k) -> (..., n, m); row t weighs the m keys.

    mask: see `masks`; a query from which every key is excluded has weights 0.
    """
    return softmax(_masked_scores(queries, keys, mask))


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
    return scaled_dot_product_attention_pullback(queries, keys, values, mask=mask)[0]


def scaled_dot_product_attention_vjp(
    queries: npt.ArrayLike,
    keys: npt.ArrayLike,
    values: npt.ArrayLike,
    cotangent: npt.ArrayLike,
    *,
    mask: npt.ArrayLike | None = None,
) -> Gradients:
    """cotangent (..., n, d_v) -> gradients of queries, keys and values, shaped like these.

    Nothing flows through excluded keys, nor from a query without any key.
    """
    return scaled_dot_product_attention_pullback(queries, keys, values, mask=mask)[1](cotangent)


def scaled_dot_product_attention_pullback(
    queries: npt.ArrayLike,
    keys: npt.ArrayLike,
    values: npt.ArrayLike,
    *,
    mask: npt.ArrayLike | None = None,
) -> tuple[Array, Callable[[npt.ArrayLike], Gradients]]:
    """Output (..., n, d_v), and cotangent -> gradients of queries, keys and values."""
    weights, scores_pullback = softmax_pullback(_masked_scores(queries, keys, mask), overwrite=True)
    values = as_floating(values)
    n, m = weights.shape[-2:]
    require_shape("values", values, {"m": m, "d_v": None}, leading=weights.shape[:-2])

    def pullback(cotangent: npt.ArrayLike) -> Gradients:
        cotangent = as_floating(cotangent)
        axes = {"n": n, "d_v": values.shape[-1]}
        require_shape("cotangent", cotangent, axes, leading=weights.shape[:-2])
        grad_values = matmul(transpose(weights), cotangent)
        grad_scores = scores_pullback(matmul(cotangent, transpose(values)))
        grad_queries, grad_keys = scaled_scores_vjp(queries, keys, grad_scores)
        return grad_queries, grad_keys, grad_values

    return matmul(weights, values), pullback


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
    return grouped_query_attention_pullback(queries, keys, values, mask=mask)[0]


def grouped_query_attention_vjp(
    queries: npt.ArrayLike,
    keys: npt.ArrayLike,
    values: npt.ArrayLike,
    cotangent: npt.ArrayLike,
    *,
    mask: npt.ArrayLike | None = None,
) -> Gradients:
    """cotangent (..., h, n, d_v) -> gradients of queries, keys and values, shaped like these."""
    return grouped_query_attention_pullback(queries, keys, values, mask=mask)[1](cotangent)


def grouped_query_attention_pullback(
    queries: npt.ArrayLike,
    keys: npt.ArrayLike,
    values: npt.ArrayLike,
    *,
    mask: npt.ArrayLike | None = None,
) -> tuple[Array, Callable[[npt.ArrayLike], Gradients]]:
    """Output (..., h, n, d_v), and cotangent -> gradients of queries, keys and values."""
    h, g = _heads(queries, keys, values)
    if h == g:
        return scaled_dot_product_attention_pullback(queries, keys, values, mask=mask)
    repeated = (np.repeat(as_floating(array), h // g, axis=-3) for array in (keys, values))
    output, repeated_pullback = scaled_dot_product_attention_pullback(queries, *repeated, mask=mask)

    def pullback(cotangent: npt.ArrayLike) -> Gradients:
        grad_queries, grad_keys, grad_values = repeated_pullback(cotangent)
        return grad_queries, _sum_over_groups(grad_keys, g), _sum_over_groups(grad_values, g)

    return output, pullback


def _masked_scores(
    queries: npt.ArrayLike, keys: npt.ArrayLike, mask: npt.ArrayLike | None
) -> Array:
    scores = scaled_scores(queries, keys)
    return scores if mask is None else apply_mask(scores, mask)


def _heads(queries: npt.ArrayLike, keys: npt.ArrayLike, values: npt.ArrayLike) -> tuple[int, int]:
    """The number of query heads and that of the heads that they share."""
    queries, keys, values = as_floating(queries), as_floating(keys), as_floating(values)
    require_shape("queries", queries, {"h": None, "n": None, "d_k": None}, leading=None)
    h, _, d_k = queries.shape[-3:]
    require_shape("keys", keys, {"g": None, "m": None, "d_k": d_k}, leading=queries.shape[:-3])
    g, m, _ = keys.shape[-3:]
    require_shape("values", values, {"g": g, "m": m, "d_v": None}, leading=queries.shape[:-3])
    require_group(g, h)
    return h, g


def _sum_over_groups(gradient: Array, g: int) -> Array:
    """(..., h, m, d) -> (..., g, m, d): h/g query heads have read the same keys and values."""
    *leading, h, m, d = gradient.shape
    total: Array = gradient.reshape(*leading, g, h // g, m, d).sum(axis=-3)
    return total


def _check_queries_and_keys(queries: Array, keys: Array) -> None:
    require_shape("queries", queries, {"n": None, "d_k": None}, leading=None)
    axes = {"m": None, "d_k": queries.shape[-1]}
    require_shape("keys", keys, axes, leading=queries.shape[:-2])
