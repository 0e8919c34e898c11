"""Query heads that share keys and values: one head for several, or one for all."""

from functools import partial

import numeric_loops
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numeric import (
    MultiHeadWeights,
    causal_mask,
    central_difference_error,
    complex_step_error,
    count_attention,
    grouped_query_attention,
    grouped_query_attention_vjp,
    multi_head_attention,
    multi_head_attention_vjp,
    scaled_dot_product_attention,
    scaled_dot_product_attention_vjp,
)

# h, g: ordinary, grouped, multi-query, one head
HEADS = [(4, 4), (4, 2), (6, 3), (4, 1), (1, 1)]


def draw(rng, h, g, n=3, m=5, d_k=4, d_v=2, leading=()):
    shapes = (h, n, d_k), (g, m, d_k), (g, m, d_v)
    return tuple(rng.standard_normal((*leading, *shape)) for shape in shapes)


@settings(derandomize=True, deadline=None, max_examples=25)
@given(st.integers(1, 3), st.integers(1, 3), *[st.integers(1, 4)] * 4, st.integers(0, 999))
def test_query_head_i_reads_head_i_over_the_size_of_a_group(g, size, n, m, d_k, d_v, seed):
    queries, keys, values = draw(np.random.default_rng(seed), g * size, g, n, m, d_k, d_v)
    output = grouped_query_attention(queries, keys, values)
    assert output.shape == (g * size, n, d_v)
    for i in range(g * size):
        expected = numeric_loops.attention(queries[i], keys[i // size], values[i // size])
        np.testing.assert_allclose(output[i], expected, atol=1e-12)


@pytest.mark.parametrize("mask", [None, causal_mask(3, 5)])
@pytest.mark.parametrize(("h", "g"), HEADS)
def test_vjp(h, g, mask, rng):
    functions = grouped_query_attention, grouped_query_attention_vjp
    functions = tuple(partial(function, mask=mask) for function in functions)
    arguments = draw(rng, h, g, leading=(2,))
    assert complex_step_error(*functions, arguments, rng) < 1e-13
    assert central_difference_error(*functions, draw(rng, h, g), rng) < 1e-7


def test_one_head_each_is_ordinary_attention(rng):
    arguments, cotangent = draw(rng, 4, 4), rng.standard_normal((4, 3, 2))
    output = grouped_query_attention(*arguments)
    np.testing.assert_array_equal(output, scaled_dot_product_attention(*arguments))
    expected = scaled_dot_product_attention_vjp(*arguments, cotangent)
    gradients = grouped_query_attention_vjp(*arguments, cotangent)
    for gradient, other in zip(gradients, expected, strict=True):
        np.testing.assert_array_equal(gradient, other)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("g", [1, 2, 4])
def test_shared_heads_are_ordinary_heads_with_repeated_weights(g, bias, rng):
    few = MultiHeadWeights.init(rng, 12, 4, 3, 2, bias=bias, g=g)
    repeat = partial(np.repeat, repeats=4 // g, axis=0)
    biases = (few.b_q, repeat(few.b_k), repeat(few.b_v), few.b_o) if bias else ()
    full = MultiHeadWeights(few.w_q, repeat(few.w_k), repeat(few.w_v), few.w_o, *biases)
    inputs = [rng.standard_normal((2, tokens, 12)) for tokens in (3, 5, 5)]
    output = multi_head_attention(*inputs, few)
    np.testing.assert_allclose(output, multi_head_attention(*inputs, full), atol=1e-13)
    cotangent = rng.standard_normal((2, 3, 12))
    gradient = multi_head_attention_vjp(*inputs, few, cotangent)[-1]
    of_all = multi_head_attention_vjp(*inputs, full, cotangent)[-1]
    for name in ("w_k", "w_v"):
        by_head = getattr(of_all, name)
        summed = by_head.reshape(g, 4 // g, *by_head.shape[1:]).sum(axis=1)
        np.testing.assert_allclose(getattr(gradient, name), summed, atol=1e-13)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("g", [1, 2])
def test_vjp_of_multi_head_attention(g, bias, rng):
    weights = MultiHeadWeights.init(rng, 6, 4, 3, 2, bias=bias, g=g)
    arguments = (*(rng.standard_normal((2, n, 6)) for n in (2, 3, 3)), weights)
    functions = multi_head_attention, multi_head_attention_vjp
    assert complex_step_error(*functions, arguments, rng) < 1e-13


def test_float32_stays_float32(rng):
    arguments = [array.astype(np.float32) for array in draw(rng, 4, 2)]
    cotangent = np.ones((4, 3, 2), dtype=np.float32)
    assert grouped_query_attention(*arguments).dtype == np.float32
    gradients = grouped_query_attention_vjp(*arguments, cotangent)
    assert {gradient.dtype for gradient in gradients} == {np.dtype(np.float32)}


@pytest.mark.parametrize(
    ("queries", "keys", "values", "message"),
    [
        ((3, 4), (5, 4), (5, 2), r"queries has shape \(3, 4\); expected \(\.\.\., h, n, d_k\)"),
        ((4, 3, 4), (5, 4), (5, 2), r"keys has shape \(5, 4\); expected \(g, m, d_k=4\)"),
        ((4, 3, 4), (3, 5, 4), (3, 5, 2), "keys have g=3 heads, which do not divide the h=4"),
        ((4, 3, 4), (8, 5, 4), (8, 5, 2), "keys have g=8 heads, which do not divide the h=4"),
        ((4, 3, 4), (0, 5, 4), (0, 5, 2), "g is 0; expected an integer of at least 1"),
        ((4, 3, 4), (2, 5, 4), (4, 5, 2), r"values has shape \(4, 5, 2\); expected \(g=2, m=5,"),
        ((7, 4, 3, 4), (2, 5, 4), (2, 5, 2), r"keys has shape \(2, 5, 4\); expected \(7, g, m,"),
    ],
)
def test_heads_that_do_not_fit(queries, keys, values, message):
    arrays = np.zeros(queries), np.zeros(keys), np.zeros(values)
    with pytest.raises(ValueError, match=message):
        grouped_query_attention(*arrays)
    with pytest.raises(ValueError, match=message):
        grouped_query_attention_vjp(*arrays, np.zeros((4, 3, 2)))


def test_shared_keys_are_counted_once(rng):
    """The layer is computed as it is, and keys and values cost what they cost two heads."""
    weights = MultiHeadWeights.init(rng, 12, 6, g=2)
    x = rng.standard_normal((3, 12))
    output, stages = count_attention(x, x, weights)
    np.testing.assert_allclose(output, multi_head_attention(x, x, x, weights), atol=1e-13)
    assert stages["keys"] == stages["values"] == {"multiply": 3 * 12 * 4, "add": 3 * 11 * 4}
    assert stages["queries"]["multiply"] == 3 * 12 * 12
    assert stages["scores"]["multiply"] == 6 * 3 * 3 * 2
