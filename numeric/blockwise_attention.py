"""Attention whose memory does not grow with the number of scores, forward and backward.

The scores are made block by block and never all at once. Going along the blocks of keys, every
query keeps the largest score so far, the sum of the exponentials below it and their mean of the
values; where a later block raises the maximum, what was kept is scaled down to it (online softmax).
The result is that of `scaled_dot_product_attention`, whatever the blocks are.

Row convention: queries (..., n, d_k), keys (..., m, d_k), values (..., m, d_v). Besides inputs and
results the memory is that of a few blocks of block x block scores for each leading axis.
Sources: Milakov and Gimelshein, Online normalizer calculation for softmax; Dao et al.,
FlashAttention.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from numeric.arrays import Array, as_floating, require_positive, require_shape, transpose

BLOCK = 512


def blockwise_attention(
    queries: npt.ArrayLike,
    keys: npt.ArrayLike,
    values: npt.ArrayLike,
    *,
    causal: bool = False,
    block: int = BLOCK,
) -> Array:
    """queries (..., n, d_k), keys (..., m, d_k), values (..., m, d_v) -> (..., n, d_v).

    causal: query t looks at key s for s <= t + m - n, as where m - n keys were read before; a
    query without any key gives 0.
    """
    return _forward(*_checked(queries, keys, values, block), causal, block)[0]


def blockwise_attention_vjp(
    queries: npt.ArrayLike,
    keys: npt.ArrayLike,
    values: npt.ArrayLike,
    cotangent: npt.ArrayLike,
    *,
    causal: bool = False,
    block: int = BLOCK,
) -> tuple[Array, Array, Array]:
    """cotangent (..., n, d_v) -> gradients of queries, keys and values, shaped like these."""
    queries, keys, values = _checked(queries, keys, values, block)
    cotangent = as_floating(cotangent)
    axes = {"n": queries.shape[-2], "d_v": values.shape[-1]}
    require_shape("cotangent", cotangent, axes, leading=queries.shape[:-2])
    output, log_total = _forward(queries, keys, values, causal, block)
    # The mean of the gradients of a query's weights under these weights.
    mean = (cotangent * output).sum(axis=-1, keepdims=True)
    root = math.sqrt(queries.shape[-1])
    dtype = np.result_type(queries, cotangent)
    grads = (
        np.zeros(queries.shape, dtype),
        np.zeros(keys.shape, dtype),
        np.zeros(values.shape, dtype),
    )
    for rows, columns, excluded in _blocks(queries.shape[-2], keys.shape[-2], causal, block):
        q, k, v = queries[..., rows, :], keys[..., columns, :], values[..., columns, :]
        with np.errstate(over="ignore"):
            weights = np.exp(_scores(q, k, excluded) - log_total[..., rows, :])
        grad_output = cotangent[..., rows, :]
        grads[2][..., columns, :] += transpose(weights) @ grad_output
        grad_scores = weights * (grad_output @ transpose(v) - mean[..., rows, :]) / root
        grads[0][..., rows, :] += grad_scores @ k
        grads[1][..., columns, :] += transpose(grad_scores) @ q
    return grads


def _forward(
    queries: Array, keys: Array, values: Array, causal: bool, block: int
) -> tuple[Array, Array]:
    """Output (..., n, d_v) and the logarithms (..., n, 1) of the sums of exponentials."""
    leading, n = queries.shape[:-2], queries.shape[-2]
    mixed = np.zeros((*leading, n, values.shape[-1]), queries.dtype)
    largest = np.full((*leading, n, 1), -np.inf, queries.dtype)
    total = np.zeros((*leading, n, 1), queries.dtype)
    for rows, columns, excluded in _blocks(n, keys.shape[-2], causal, block):
        scores = _scores(queries[..., rows, :], keys[..., columns, :], excluded)
        at = np.s_[..., rows, :]
        top = np.maximum(largest[at], scores.max(axis=-1, keepdims=True))
        if not (top < np.inf).all():
            raise ValueError("scores hold nan or +inf; expected finite numbers")
        shift = np.where(np.isneginf(top), 0, top)  # a query that has not met any key
        with np.errstate(over="ignore"):  # below the range is -inf, which is what exp needs
            weights, kept = np.exp(scores - shift), np.exp(largest[at] - shift)
        largest[at] = top
        total[at] = kept * total[at] + weights.sum(axis=-1, keepdims=True)
        mixed[at] = kept * mixed[at] + weights @ values[..., columns, :]
    empty = total == 0
    total[empty] = 1
    largest[empty] = 0
    return mixed / total, largest + np.log(total)


def _blocks(
    n: int, m: int, causal: bool, block: int
) -> Iterator[tuple[slice, slice, Array | None]]:
    """Blocks of queries and keys that meet, and which pairs in them do not."""
    for row in range(0, n, block):
        rows = slice(row, min(row + block, n))
        for column in range(0, m, block):
            columns = slice(column, min(column + block, m))
            if not causal:
                yield rows, columns, None
                continue
            last = np.arange(rows.start, rows.stop)[:, None] + m - n
            excluded = np.arange(columns.start, columns.stop) > last
            if not excluded.all():
                yield rows, columns, excluded if excluded.any() else None


def _scores(queries: Array, keys: Array, excluded: Array | None) -> Array:
    scores = queries / math.sqrt(queries.shape[-1]) @ transpose(keys)
    return scores if excluded is None else np.where(excluded, -np.inf, scores)


def _checked(
    queries: npt.ArrayLike, keys: npt.ArrayLike, values: npt.ArrayLike, block: int
) -> tuple[Array, Array, Array]:
    require_positive("block", block)
    queries, keys, values = as_floating(queries), as_floating(keys), as_floating(values)
    require_shape("queries", queries, {"n": None, "d_k": None}, leading=None)
    leading = queries.shape[:-2]
    require_shape("keys", keys, {"m": None, "d_k": queries.shape[-1]}, leading=leading)
    require_shape("values", values, {"m": keys.shape[-2], "d_v": None}, leading=leading)
    dtype = np.result_type(queries, keys, values)
    queries, keys, values = (x.astype(dtype, copy=False) for x in (queries, keys, values))
    return queries, keys, values
