import math

import numeric_loops
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numeric import (
    attention_weights,
    central_difference_error,
    complex_step_error,
    directional_error,
    scaled_dot_product_attention,
    scaled_dot_product_attention_vjp,
    scaled_scores,
    scaled_scores_vjp,
)

# n, m, d_k, d_v: all different, then one of each degenerate kind
SIZES = [(3, 5, 4, 2), (5, 2, 3, 7), (1, 1, 1, 1), (1, 4, 2, 3), (4, 1, 2, 3), (2, 3, 1, 5)]


def draw(rng, n, m, d_k, d_v, leading=()):
    shapes = (n, d_k), (m, d_k), (m, d_v)
    return tuple(rng.standard_normal((*leading, *shape)) for shape in shapes)


@settings(derandomize=True, deadline=None, max_examples=30)
@given(*[st.integers(1, 6)] * 4, st.integers(0, 999))
def test_agrees_with_loops(n, m, d_k, d_v, seed):
    queries, keys, values = draw(np.random.default_rng(seed), n, m, d_k, d_v)
    output = scaled_dot_product_attention(queries, keys, values)
    assert output.shape == (n, d_v)
    expected = numeric_loops.attention(queries, keys, values)
    np.testing.assert_allclose(output, expected, atol=1e-12)


@pytest.mark.parametrize("sizes", SIZES)
def test_vjp(sizes, rng):
    functions = scaled_dot_product_attention, scaled_dot_product_attention_vjp
    arguments = draw(rng, *sizes)
    assert complex_step_error(*functions, arguments, rng) < 1e-13
    assert central_difference_error(*functions, arguments, rng) < 1e-7
    assert directional_error(*functions, arguments, rng) < 1e-7


def test_vjp_with_leading_axes(rng):
    functions = scaled_dot_product_attention, scaled_dot_product_attention_vjp
    assert complex_step_error(*functions, draw(rng, 3, 5, 4, 2, leading=(2, 6)), rng) < 1e-13


@pytest.mark.parametrize("sizes", SIZES)
def test_vjp_of_scores(sizes, rng):
    queries, keys, _ = draw(rng, *sizes)
    assert complex_step_error(scaled_scores, scaled_scores_vjp, (queries, keys), rng) < 1e-13


def test_scores_are_divided_by_the_root_of_d_k(rng):
    queries, keys, _ = draw(rng, 3, 5, 4, 2)
    np.testing.assert_allclose(scaled_scores(queries, keys), queries @ keys.T / 2, rtol=1e-15)


def test_identity_values_reveal_the_weights(rng):
    queries, keys, _ = draw(rng, 3, 5, 4, 2)
    output = scaled_dot_product_attention(queries, keys, np.eye(5))
    np.testing.assert_allclose(output, attention_weights(queries, keys), rtol=1e-15)


def test_equal_keys_give_the_mean_of_the_values(rng):
    queries, keys, values = draw(rng, 3, 5, 4, 2)
    keys[:] = keys[0]
    output = scaled_dot_product_attention(queries, keys, values)
    np.testing.assert_allclose(output, [values.mean(axis=0)] * 3, rtol=1e-14)


def test_leading_axes_are_computed_one_by_one(rng):
    queries, keys, values = draw(rng, 3, 5, 4, 2, leading=(2,))
    output = scaled_dot_product_attention(queries, keys, values)
    for i in range(2):
        alone = scaled_dot_product_attention(queries[i], keys[i], values[i])
        np.testing.assert_allclose(output[i], alone, rtol=1e-14)


def test_float32_stays_float32(rng):
    arguments = draw(rng, 3, 5, 4, 2)
    cotangent = rng.standard_normal((3, 2))
    single = [array.astype(np.float32) for array in (*arguments, cotangent)]
    output = scaled_dot_product_attention(*single[:3])
    assert output.dtype == np.float32
    np.testing.assert_allclose(output, scaled_dot_product_attention(*arguments), atol=1e-5)
    gradients = scaled_dot_product_attention_vjp(*arguments, cotangent)
    for gradient, expected in zip(
        scaled_dot_product_attention_vjp(*single), gradients, strict=True
    ):
        assert gradient.dtype == np.float32
        np.testing.assert_allclose(gradient, expected, atol=1e-5)


def test_inputs_are_left_alone(rng):
    arguments = draw(rng, 3, 5, 4, 2)
    copies = [array.copy() for array in arguments]
    scaled_dot_product_attention_vjp(*arguments, rng.standard_normal((3, 2)))
    for array, copy in zip(arguments, copies, strict=True):
        np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize(
    ("queries", "keys", "values", "message"),
    [
        ((4,), (5, 4), (5, 2), r"queries has shape \(4,\); expected \(\.\.\., n, d_k\)"),
        ((3, 4), (5, 3), (5, 2), r"keys has shape \(5, 3\); expected \(m, d_k=4\)"),
        ((3, 4), (5, 4), (3, 2), r"values has shape \(3, 2\); expected \(m=5, d_v\)"),
        ((2, 3, 4), (5, 4), (5, 2), r"keys has shape \(5, 4\); expected \(2, m, d_k=4\)"),
        ((3, 4), (0, 4), (0, 2), r"logits has shape \(3, 0\)"),
    ],
)
def test_shapes_that_do_not_fit(queries, keys, values, message):
    arrays = np.zeros(queries), np.zeros(keys), np.zeros(values)
    with pytest.raises(ValueError, match=message):
        scaled_dot_product_attention(*arrays)
    with pytest.raises(ValueError, match=message):
        scaled_dot_product_attention_vjp(*arrays, np.zeros((3, 2)))


def test_cotangent_of_another_shape(rng):
    queries, keys, values = draw(rng, 3, 5, 4, 2)
    with pytest.raises(ValueError, match=r"cotangent has shape \(5, 2\); expected \(n=3, d_v=2\)"):
        scaled_dot_product_attention_vjp(queries, keys, values, np.zeros((5, 2)))
    with pytest.raises(ValueError, match=r"cotangent has shape \(5, 3\); expected \(n=3, m=5\)"):
        scaled_scores_vjp(queries, keys, np.zeros((5, 3)))


def test_one_key_gets_all_the_weight_and_no_gradient(rng):
    queries, keys, values = draw(rng, 3, 1, 4, 2)
    gradients = scaled_dot_product_attention_vjp(queries, keys, values, rng.standard_normal((3, 2)))
    np.testing.assert_array_equal(attention_weights(queries, keys), np.ones((3, 1)))
    np.testing.assert_allclose(gradients[0], 0, atol=1e-15)
    np.testing.assert_allclose(gradients[1], 0, atol=1e-15)


def test_scores_of_unit_rows_are_at_most_one_over_root_d_k(rng):
    queries, keys, _ = draw(rng, 3, 5, 4, 2)
    queries /= np.linalg.norm(queries, axis=-1, keepdims=True)
    keys /= np.linalg.norm(keys, axis=-1, keepdims=True)
    assert np.abs(scaled_scores(queries, keys)).max() <= 1 / math.sqrt(4) + 1e-15
