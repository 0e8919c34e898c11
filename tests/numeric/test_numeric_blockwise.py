"""Blockwise attention is plain attention, whatever the blocks, and its memory stays flat."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from numeric import (
    causal_mask,
    release_memory,
    scaled_dot_product_attention,
    scaled_dot_product_attention_vjp,
)
from numeric.blockwise_attention import blockwise_attention, blockwise_attention_vjp

#: leading axes, n, m, d_k, d_v
SIZES = [
    ((), 7, 11, 3, 5),
    ((2, 3), 5, 4, 2, 3),
    ((1,), 1, 1, 1, 1),
    ((2,), 9, 6, 4, 4),
    ((0,), 3, 2, 2, 1),
]
BLOCKS = [1, 2, 3, 64]


def drawn(sizes, seed=0, dtype=float, scale=1.0):
    leading, n, m, d_k, d_v = sizes
    rng = np.random.default_rng(seed)
    shapes = ((n, d_k), (m, d_k), (m, d_v), (n, d_v))
    q, k, v, g = (rng.standard_normal((*leading, *s)).astype(dtype) for s in shapes)
    return q * dtype(scale), k, v, g


def mask_for(q, k, causal):
    n, m = q.shape[-2], k.shape[-2]
    return causal_mask(n, m, offset=m - n) if causal else None


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-13), (np.float32, 2e-5)])
def test_it_is_plain_attention(sizes, block, causal, dtype, tolerance):
    q, k, v, g = drawn(sizes, dtype=dtype, scale=3)
    mask = mask_for(q, k, causal)
    found = blockwise_attention(q, k, v, causal=causal, block=block)
    wanted = scaled_dot_product_attention(q, k, v, mask=mask)
    assert found.dtype == wanted.dtype == dtype
    np.testing.assert_allclose(found, wanted, rtol=0, atol=tolerance)
    found = blockwise_attention_vjp(q, k, v, g, causal=causal, block=block)
    wanted = scaled_dot_product_attention_vjp(q, k, v, g, mask=mask)
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype == dtype
        np.testing.assert_allclose(a, b, rtol=0, atol=10 * tolerance)


@pytest.mark.parametrize("sign", [1, -1])
def test_scores_beyond_the_range_of_exp_and_rising_or_falling_from_block_to_block(sign):
    q, k, v, g = drawn(((), 4, 9, 2, 3))
    k = k + sign * 400 * np.arange(9)[:, None]
    found = blockwise_attention(q, k, v, block=2)
    np.testing.assert_allclose(found, scaled_dot_product_attention(q, k, v), rtol=0, atol=1e-12)
    for a, b in zip(
        blockwise_attention_vjp(q, k, v, g, block=2),
        scaled_dot_product_attention_vjp(q, k, v, g),
        strict=True,
    ):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-9)


def test_scores_at_both_ends_of_the_range():
    """Their difference is beyond it, and the smaller one counts nothing."""
    q = np.full((1, 1), 1.7e19, np.float32)
    k, v, g = np.array([[1.7e19], [-1.7e19]], np.float32), np.array([[1.0], [5.0]]), np.ones((1, 1))
    for block in (1, 2):
        assert blockwise_attention(q, k, v, block=block) == 1
        grads = blockwise_attention_vjp(q, k, v, g, block=block)
        for a, b in zip(grads, ([[0]], [[0], [0]], [[1], [0]]), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("narrow", range(4))
def test_one_input_of_less_precision_costs_the_others_nothing(narrow):
    """Sums of exponentials and gradients are kept in the widest of the precisions."""
    arguments = list(drawn(((), 4, 9, 2, 3), scale=30))
    arguments[narrow] = arguments[narrow].astype(np.float32)
    q, k, v, g = arguments
    found = [blockwise_attention(q, k, v, block=2), *blockwise_attention_vjp(q, k, v, g, block=2)]
    q, k, v, g = (x.astype(np.float64) for x in arguments)
    wanted = [scaled_dot_product_attention(q, k, v), *scaled_dot_product_attention_vjp(q, k, v, g)]
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype == np.float64
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)


def test_queries_without_a_key_give_nothing():
    q, k, v, g = drawn(((), 5, 3, 2, 2))
    assert not blockwise_attention(q, k, v, causal=True, block=2)[:2].any()
    grads = blockwise_attention_vjp(q, k, v, g, causal=True, block=2)
    assert not grads[0][:2].any()
    assert all(np.isfinite(a).all() for a in grads)


def test_a_stale_maximum_is_caught():
    """What the scaling is for: without it a later, larger block would count too little."""
    q = np.ones((1, 1))
    k = np.array([[0.0], [5.0]])
    v = np.array([[0.0], [1.0]])
    found = blockwise_attention(q, k, v, block=1)
    np.testing.assert_allclose(found, 1 / (1 + np.exp(-5.0)), rtol=1e-14)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_no_number_is_refused(bad):
    q, k, v, _ = drawn(((), 3, 4, 2, 2))
    q[1, 0] = bad
    with pytest.raises(ValueError, match="nan or"):
        blockwise_attention(q, k, v, block=2)


def test_bad_shapes_and_blocks_are_named():
    q, k, v, g = drawn(((), 3, 4, 2, 5))
    with pytest.raises(ValueError, match=r"keys has shape \(4, 1\); expected \(m, d_k=2\)"):
        blockwise_attention(q, k[:, :1], v)
    with pytest.raises(ValueError, match=r"values has shape \(3, 5\); expected \(m=4, d_v\)"):
        blockwise_attention(q, k, v[:3])
    with pytest.raises(ValueError, match=r"cotangent has shape \(2, 5\); expected \(n=3, d_v=5\)"):
        blockwise_attention_vjp(q, k, v, g[:2])
    with pytest.raises(ValueError, match="block is 0"):
        blockwise_attention(q, k, v, block=0)


def peak(n, run):
    q, k, v, g = drawn(((), n, n, 2, 2), dtype=np.float32)
    release_memory()  # what earlier arrays had would not be counted
    tracemalloc.start()
    try:
        run(q, k, v, g)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_the_number_of_scores():
    """Four times as many tokens: 16 times the scores, and at most four times the memory."""
    for run in (
        lambda q, k, v, g: blockwise_attention(q, k, v, block=64),
        lambda q, k, v, g: blockwise_attention_vjp(q, k, v, g, block=64),
    ):
        assert peak(2048, run) < 4 * peak(512, run)
    scores = 1024 * 1024 * np.dtype(np.float32).itemsize
    assert peak(1024, lambda q, k, v, g: scaled_dot_product_attention(q, k, v)) > scores
    assert peak(1024, lambda q, k, v, g: blockwise_attention(q, k, v, block=64)) < scores / 8
