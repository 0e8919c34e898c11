"""Masks: what they exclude, empty rows, and that nothing is ever NaN."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numeric import (
    MultiHeadWeights,
    apply_mask,
    attention_weights,
    boolean_mask,
    causal_mask,
    central_difference_error,
    combine_masks,
    complex_step_error,
    leaves,
    multi_head_attention,
    multi_head_attention_vjp,
    padding_mask,
    scaled_dot_product_attention,
    scaled_dot_product_attention_vjp,
    self_attention,
    self_attention_vjp,
)

INF = np.inf
FLOORS = [
    pytest.param(np.float64(-np.inf), id="-inf"),
    pytest.param(np.finfo(np.float64).min, id="least float64"),
    pytest.param(np.finfo(np.float32).min, id="least float32"),
    pytest.param(np.float64(np.finfo(np.float32).min), id="least float32, cast"),
    pytest.param(np.finfo(np.float16).min, id="least float16"),
    pytest.param(np.float32(-3.3895313892515355e38), id="least bfloat16"),
]


def draw(rng, n, m, d_k, d_v, leading=()):
    shapes = (n, d_k), (m, d_k), (m, d_v)
    return tuple(rng.standard_normal((*leading, *shape)) for shape in shapes)


def attention_over_kept_keys(queries, keys, values, keep):
    """Row by row, the attention over the keys that are kept and nothing else."""
    rows = np.zeros((len(queries), values.shape[1]))
    for t, kept in enumerate(keep):
        if kept.any():
            rows[t] = scaled_dot_product_attention(queries[t : t + 1], keys[kept], values[kept])[0]
    return rows


@settings(derandomize=True, deadline=None, max_examples=40)
@given(st.integers(1, 5), st.integers(1, 6), st.integers(0, 999))
def test_excluded_keys_are_as_if_they_were_not_there(n, m, seed):
    rng = np.random.default_rng(seed)
    arguments, keep = draw(rng, n, m, 4, 3), rng.random((n, m)) < 0.6
    mask = boolean_mask(keep)
    output = scaled_dot_product_attention(*arguments, mask=mask)
    np.testing.assert_allclose(output, attention_over_kept_keys(*arguments, keep), atol=1e-14)
    functions = scaled_dot_product_attention, scaled_dot_product_attention_vjp
    functions = tuple(partial(function, mask=mask) for function in functions)
    assert complex_step_error(*functions, arguments, rng) < 1e-13
    assert central_difference_error(*functions, arguments, rng) < 1e-7


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("floor", FLOORS)
def test_all_that_stands_for_minus_infinity_excludes(floor, dtype, rng):
    arguments = [array.astype(dtype) for array in draw(rng, 3, 4, 5, 2)]
    keep = np.array([[True, False, True, False], [False] * 4, [True] * 4])
    mask = np.where(keep, floor.dtype.type(0), floor)
    assert mask.dtype == floor.dtype
    expected = scaled_dot_product_attention(*arguments, mask=boolean_mask(keep))
    output = scaled_dot_product_attention(*arguments, mask=mask)
    assert output.dtype == dtype
    np.testing.assert_array_equal(output, expected)
    np.testing.assert_array_equal(output[1], 0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_query_without_any_key_gives_zero_and_no_gradient(dtype, rng):
    arguments = [array.astype(dtype) for array in draw(rng, 3, 4, 5, 2)]
    cotangent = rng.standard_normal((3, 2)).astype(dtype)
    mask = np.full((3, 4), -INF)
    np.testing.assert_array_equal(scaled_dot_product_attention(*arguments, mask=mask), 0)
    for gradient in scaled_dot_product_attention_vjp(*arguments, cotangent, mask=mask):
        assert gradient.dtype == dtype
        np.testing.assert_array_equal(gradient, 0)
    mask[::2] = 0
    output = scaled_dot_product_attention(*arguments, mask=mask)
    np.testing.assert_array_equal(output[1], 0)
    without = scaled_dot_product_attention(arguments[0][::2], *arguments[1:])
    np.testing.assert_allclose(output[::2], without, rtol=1e-5)
    gradients = scaled_dot_product_attention_vjp(*arguments, cotangent, mask=mask)
    np.testing.assert_array_equal(gradients[0][1], 0)
    shorter = arguments[0][::2], *arguments[1:], cotangent[::2]
    expected = scaled_dot_product_attention_vjp(*shorter)
    np.testing.assert_allclose(gradients[0][::2], expected[0], atol=1e-6)
    for gradient, other in zip(gradients[1:], expected[1:], strict=True):
        np.testing.assert_allclose(gradient, other, atol=1e-6)


def test_an_excluded_key_gets_no_gradient_whatever_it_holds(rng):
    queries, keys, values = draw(rng, 3, 4, 5, 2)
    mask = boolean_mask([[True, True, False, True]])
    cotangent = rng.standard_normal((3, 2))
    expected = scaled_dot_product_attention(queries, keys, values, mask=mask)
    keys[2], values[2] = 1e150, -1e150
    output = scaled_dot_product_attention(queries, keys, values, mask=mask)
    np.testing.assert_array_equal(output, expected)
    _, grad_keys, grad_values = scaled_dot_product_attention_vjp(
        queries, keys, values, cotangent, mask=mask
    )
    np.testing.assert_array_equal(grad_keys[2], 0)
    np.testing.assert_array_equal(grad_values[2], 0)


def test_an_excluded_score_may_be_anything():
    masked = apply_mask([[INF, np.nan, 1.0]], [[-INF, -INF, 0.5]])
    np.testing.assert_array_equal(masked, [[-INF, -INF, 1.5]])


def test_a_bias_is_added_to_the_scores(rng):
    queries, keys, _ = draw(rng, 3, 4, 5, 2)
    bias = rng.standard_normal((3, 4))
    scores = queries @ keys.T / np.sqrt(5) + bias
    expected = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(attention_weights(queries, keys, mask=bias), expected, rtol=1e-13)


def test_a_constant_for_infinity_leaks():
    """exp(-10) is not 0: a small constant in place of -inf is a bias, and is taken as one."""
    scores = np.array([[0.0, 0.0], [0.0, 12.0]])
    ones = np.ones((1, 1))
    weights = [
        attention_weights(ones, row[:, None], mask=np.array([[0.0, -10.0]]))[0, 1] for row in scores
    ]
    np.testing.assert_allclose(weights, [4.5397868702e-05, 0.8807970779], rtol=1e-9)
    excluded = attention_weights(ones, scores[1][:, None], mask=np.array([[0.0, -INF]]))
    np.testing.assert_array_equal(excluded, [[1, 0]])


@pytest.mark.parametrize(
    ("n", "m", "offset", "rows"),
    [
        (3, 3, 0, ["x..", "xx.", "xxx"]),
        (2, 4, 0, ["x...", "xx.."]),
        (2, 4, 2, ["xxx.", "xxxx"]),
        (4, 2, 0, ["x.", "xx", "xx", "xx"]),
        (4, 2, -2, ["..", "..", "x.", "xx"]),
        (1, 3, 2, ["xxx"]),
        (1, 1, 0, ["x"]),
    ],
)
def test_causal_mask(n, m, offset, rows):
    keep = np.array([[entry == "x" for entry in row] for row in rows])
    mask = causal_mask(n, m, offset=offset)
    np.testing.assert_array_equal(mask, np.where(keep, 0.0, -INF))
    if n == m:
        np.testing.assert_array_equal(causal_mask(n, offset=offset), mask)


@settings(derandomize=True, deadline=None, max_examples=20)
@given(st.integers(1, 6), st.integers(0, 5), st.integers(0, 999))
def test_a_causal_prefix_does_not_see_what_follows(n, more, seed):
    rng = np.random.default_rng(seed)
    x, weights = rng.standard_normal((n + more, 6)), MultiHeadWeights.init(rng, 6, 3)
    whole = self_attention(x, weights, mask=causal_mask(n + more))
    np.testing.assert_allclose(whole[:n], self_attention(x[:n], weights, mask=causal_mask(n)))
    # the last tokens alone, with the keys of all: decoding
    if more:
        mask = causal_mask(more, n + more, offset=n)
        last = multi_head_attention(x[n:], x, x, weights, mask=mask)
        np.testing.assert_allclose(whole[n:], last)


@pytest.mark.parametrize("mask", [causal_mask(3), boolean_mask([[False, True, True]] * 3)])
def test_vjp_of_masked_multi_head_attention(mask, rng):
    arguments = rng.standard_normal((2, 3, 6)), MultiHeadWeights.init(rng, 6, 3, bias=True)
    functions = partial(self_attention, mask=mask), partial(self_attention_vjp, mask=mask)
    assert complex_step_error(*functions, arguments, rng) < 1e-13


@pytest.mark.parametrize("h", [1, 2])
def test_padding_of_a_batch_is_as_if_it_were_cut_off(h, rng):
    lengths = 5, 2, 0
    keep = np.arange(5) < np.array(lengths)[:, None]
    x, weights = rng.standard_normal((3, 4, 6)), MultiHeadWeights.init(rng, 6, h, bias=True)
    memory, cotangent = rng.standard_normal((3, 5, 6)), rng.standard_normal((3, 4, 6))
    mask = padding_mask(keep)
    assert mask.shape == (3, 1, 1, 5)
    output = multi_head_attention(x, memory, memory, weights, mask=mask)
    grads = multi_head_attention_vjp(x, memory, memory, weights, cotangent, mask=mask)
    for i, length in enumerate(lengths[:2]):
        cut = memory[i, :length]
        alone = multi_head_attention(x[i], cut, cut, weights)
        np.testing.assert_allclose(output[i], alone, atol=1e-14)
        expected = multi_head_attention_vjp(x[i], cut, cut, weights, cotangent[i])
        np.testing.assert_allclose(grads[0][i], expected[0], atol=1e-14)
        for role in (1, 2):
            np.testing.assert_allclose(grads[role][i, :length], expected[role], atol=1e-14)
            np.testing.assert_array_equal(grads[role][i, length:], 0)
    np.testing.assert_array_equal(output[2], [weights.b_o] * 4)
    assert all(np.isfinite(array).all() for array in leaves(grads))
    np.testing.assert_array_equal(grads[0][2], 0)


def test_masks_combine(rng):
    keep = np.array([[True, True, False], [True, True, True]])
    both = combine_masks(padding_mask(keep), causal_mask(3))
    assert both.shape == (2, 1, 3, 3)
    expected = keep[:, None, None] & (causal_mask(3) == 0)
    np.testing.assert_array_equal(both, boolean_mask(expected))
    least = np.finfo(np.float32).min
    twice = combine_masks(np.full((1, 2), least), np.array([[least, 3]], dtype=np.float32))
    np.testing.assert_array_equal(twice, [[-INF, -INF]])
    np.testing.assert_array_equal(combine_masks([[1.0, -INF]], [[2.0, 5.0]]), [[3, -INF]])


def test_a_mask_is_left_alone(rng):
    arguments = draw(rng, 3, 3, 4, 2)
    mask = causal_mask(3).astype(np.float32)
    scaled_dot_product_attention_vjp(*arguments, np.ones((3, 2)), mask=mask)
    np.testing.assert_array_equal(mask, causal_mask(3))


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (np.zeros((4, 3)), r"mask has shape \(4, 3\); expected \(3, 4\) or \(2, 5, 3, 4\), where"),
        (np.zeros((5, 3, 4)), r"mask has shape \(5, 3, 4\); expected"),
        (np.zeros((2, 3, 4)), r"mask has shape \(2, 3, 4\); expected"),
        (np.zeros((2, 2, 3, 4)), r"mask has shape \(2, 2, 3, 4\); expected"),
        (np.zeros(4), r"mask has shape \(4,\); expected"),
        (np.ones((3, 4), dtype=bool), r"mask has dtype bool; expected floating point numbers"),
        (np.ones((3, 4), dtype=int), r"mask has dtype int64; expected floating point numbers"),
        (np.full((3, 4), np.nan), r"mask holds nan or \+inf; expected finite numbers or -inf"),
        (np.full((3, 4), INF), r"mask holds nan or \+inf"),
    ],
)
def test_masks_that_do_not_fit(mask, message, rng):
    arguments = draw(rng, 3, 4, 6, 2, leading=(2, 5))
    with pytest.raises(ValueError, match=message):
        scaled_dot_product_attention(*arguments, mask=mask)
    with pytest.raises(ValueError, match=message):
        scaled_dot_product_attention_vjp(*arguments, np.ones((2, 5, 3, 2)), mask=mask)


def test_a_mask_by_batch_is_not_taken_for_one_by_head(rng):
    """batch = h: plain broadcasting would accept it."""
    x, weights = rng.standard_normal((3, 4, 6)), MultiHeadWeights.init(rng, 6, 3)
    with pytest.raises(ValueError, match=r"mask has shape \(3, 4, 4\); expected \(4, 4\) or"):
        self_attention(x, weights, mask=np.zeros((3, 4, 4)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: boolean_mask([[0, 1]]), "keep has dtype int64; expected booleans"),
        (lambda: padding_mask([[0.0, -INF]]), "keep has dtype float64; expected booleans"),
        (lambda: padding_mask(True), r"keep has shape \(\); expected \(..., m\)"),
        (lambda: causal_mask(0), "n is 0; expected an integer of at least 1"),
        (lambda: causal_mask(3, 2.0), "m is 2.0; expected an integer of at least 1"),
        (lambda: combine_masks(), "there are no masks to combine"),
        (
            lambda: combine_masks(np.zeros((2, 3)), np.zeros((3, 2))),
            r"masks have shapes \[\(2, 3\), \(3, 2\)\]; expected shapes that broadcast",
        ),
    ],
)
def test_what_masks_are_not_made_from(make, message):
    with pytest.raises(ValueError, match=message):
        make()
