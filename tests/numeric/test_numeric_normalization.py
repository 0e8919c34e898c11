"""Norm layers and the blocks around them: against loops, differences, and each other."""

import math
from functools import partial

import numpy as np
import pytest

from numeric import (
    FeedForwardWeights,
    Sublayer,
    batch_norm,
    batch_norm_vjp,
    central_difference_error,
    complex_step_error,
    directional_error,
    feed_forward,
    feed_forward_vjp,
    layer_norm,
    layer_norm_outside,
    layer_norm_outside_vjp,
    layer_norm_vjp,
    post_norm,
    post_norm_vjp,
    pre_norm,
    pre_norm_vjp,
    residual,
    rms_norm,
    rms_norm_vjp,
)

EPSILON = 0.1
LAYERS = [
    pytest.param(layer_norm, layer_norm_vjp, id="inside"),
    pytest.param(layer_norm_outside, layer_norm_outside_vjp, id="outside"),
    pytest.param(batch_norm, batch_norm_vjp, id="batch"),
]


def with_epsilon(function, epsilon=EPSILON):
    return partial(function, epsilon=epsilon)


def normalised_by_loops(values, epsilon, outside):
    """A list of numbers, one formula at a time, without NumPy."""
    mean = sum(values) / len(values)
    variance = sum((v - mean) ** 2 for v in values) / len(values)
    divisor = math.sqrt(variance) + epsilon if outside else math.sqrt(variance + epsilon)
    return [(v - mean) / divisor for v in values]


@pytest.mark.parametrize("shape", [(3, 5), (1, 4), (2, 3, 7), (3, 1)])
@pytest.mark.parametrize(("layer", "outside"), [(layer_norm, False), (layer_norm_outside, True)])
def test_layer_norm_is_the_loop_over_every_row(layer, outside, shape, rng):
    x, gamma, beta = rng.standard_normal(shape), *rng.standard_normal((2, shape[-1]))
    rows = x.reshape(-1, shape[-1])
    expected = np.array([normalised_by_loops(list(r), EPSILON, outside) for r in rows])
    expected = (expected * gamma + beta).reshape(shape)
    np.testing.assert_allclose(layer(x, gamma, beta, epsilon=EPSILON), expected, rtol=1e-12)


@pytest.mark.parametrize("shape", [(3, 5), (4, 1), (2, 3, 4)])
def test_batch_norm_is_the_loop_over_every_feature(shape, rng):
    x, gamma, beta = rng.standard_normal(shape), *rng.standard_normal((2, shape[-1]))
    columns = x.reshape(-1, shape[-1]).T
    expected = np.array([normalised_by_loops(list(c), EPSILON, False) for c in columns]).T
    expected = (expected * gamma + beta).reshape(shape)
    np.testing.assert_allclose(batch_norm(x, gamma, beta, epsilon=EPSILON), expected, rtol=1e-12)


@pytest.mark.parametrize("shape", [(3, 5), (2, 3, 4), (4, 2)])
@pytest.mark.parametrize(("layer", "vjp"), LAYERS)
def test_vjp(layer, vjp, shape, rng):
    arguments = rng.standard_normal(shape), *rng.standard_normal((2, shape[-1]))
    functions = with_epsilon(layer), with_epsilon(vjp)
    assert complex_step_error(*functions, arguments, rng) < 1e-13
    assert central_difference_error(*functions, arguments, rng) < 1e-7
    assert directional_error(*functions, arguments, rng) < 1e-7


@pytest.mark.parametrize("shape", [(3, 5), (4, 1), (2, 3, 4)])
def test_vjp_of_rms_norm(shape, rng):
    arguments = rng.standard_normal(shape), rng.standard_normal(shape[-1])
    functions = with_epsilon(rms_norm), with_epsilon(rms_norm_vjp)
    assert complex_step_error(*functions, arguments, rng) < 1e-13
    assert central_difference_error(*functions, arguments, rng) < 1e-7


def test_rms_norm_is_layer_norm_of_rows_with_mean_zero(rng):
    x, gamma = rng.standard_normal((3, 6)), rng.standard_normal(6)
    centred = x - x.mean(axis=-1, keepdims=True)
    expected = layer_norm(x, gamma, np.zeros(6), epsilon=EPSILON)
    np.testing.assert_allclose(rms_norm(centred, gamma, epsilon=EPSILON), expected, rtol=1e-12)


@pytest.mark.parametrize("value", [0.0, 0.1, -7.3])
@pytest.mark.parametrize(("layer", "vjp"), LAYERS)
def test_constant_rows_give_beta_and_finite_gradients(layer, vjp, value, rng):
    x, gamma, beta = np.full((3, 7), value), *rng.standard_normal((2, 7))
    cotangent = rng.standard_normal((3, 7))
    np.testing.assert_allclose(layer(x, gamma, beta, epsilon=EPSILON), [beta] * 3, atol=1e-14)
    gradients = vjp(x, gamma, beta, cotangent, epsilon=EPSILON)
    assert all(np.isfinite(gradient).all() for gradient in gradients)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("layer", "vjp"), LAYERS)
def test_the_rounding_of_a_mean_is_not_normalised(layer, vjp, dtype, rng):
    """In float32 the mean of 512 times 1000.1 is off by some 1e-4, ten times this epsilon."""
    n, epsilon, axis = 512, 1e-5, 0 if layer is batch_norm else 1
    x, cotangent = np.full((n, n), 1000.1, dtype), rng.standard_normal((n, n)).astype(dtype)
    ones, zeros = np.ones(n, dtype), np.zeros(n, dtype)
    np.testing.assert_allclose(layer(x, ones, zeros, epsilon=epsilon), 0, atol=1e-4)
    divisor = epsilon if layer is layer_norm_outside else math.sqrt(epsilon)
    expected = (cotangent - cotangent.mean(axis=axis, keepdims=True)) / divisor
    gradient, of_gamma, _ = vjp(x, ones, zeros, cotangent, epsilon=epsilon)
    np.testing.assert_allclose(gradient, expected, rtol=0, atol=1e-3 * expected.max())
    np.testing.assert_allclose(of_gamma, 0, atol=1e-2)


@pytest.mark.parametrize(("layer", "vjp"), LAYERS)
def test_a_mean_far_above_the_deviation_costs_no_digits(layer, vjp, rng):
    x = (1000 + 0.01 * rng.standard_normal((64, 64))).astype(np.float32)
    ones, zeros = np.ones(64, np.float32), np.zeros(64, np.float32)
    exact = layer(x.astype(np.float64), ones, zeros, epsilon=1e-5)
    np.testing.assert_allclose(layer(x, ones, zeros, epsilon=1e-5), exact, rtol=0, atol=2e-6)


def test_gradient_at_a_constant_row(rng):
    """The derivative of u / (sigma + epsilon) at u = 0 is that of u / epsilon."""
    cotangent = rng.standard_normal((1, 6))
    ones, zeros = np.ones(6), np.zeros(6)
    expected = (cotangent - cotangent.mean()) / EPSILON
    for value in (0.0, 2.0):  # both have an exact mean
        got = layer_norm_outside_vjp(np.full((1, 6), value), ones, zeros, cotangent, epsilon=0.1)
        np.testing.assert_allclose(got[0], expected, rtol=1e-13)
        small = rng.standard_normal((1, 6)) * 1e-9
        moved = layer_norm_outside(small, ones, zeros, epsilon=EPSILON)
        np.testing.assert_allclose(moved, (small - small.mean()) / EPSILON, rtol=1e-6)


@pytest.mark.parametrize(("layer", "vjp"), LAYERS)
@pytest.mark.parametrize("value", [1.0, 0.0, 0.1])  # the mean of 0.1, 0.1, 0.1 is not 0.1
def test_a_divisor_of_zero_is_refused(layer, vjp, value):
    x, ones = np.full((2, 3), value), np.ones(3)
    with pytest.raises(ValueError, match="the divisor is 0"):
        layer(x, ones, ones, epsilon=0.0)
    with pytest.raises(ValueError, match="the divisor is 0"):
        vjp(x, ones, ones, x, epsilon=0.0)


@pytest.mark.parametrize(("layer", "vjp"), LAYERS)
def test_float32_stays_float32(layer, vjp, rng):
    x, cotangent = rng.standard_normal((2, 3, 4)).astype(np.float32)
    gamma, beta = rng.standard_normal((2, 4)).astype(np.float32)
    output = layer(x, gamma, beta, epsilon=EPSILON)
    gradients = vjp(x, gamma, beta, cotangent, epsilon=EPSILON)
    assert {output.dtype, *(gradient.dtype for gradient in gradients)} == {np.dtype(np.float32)}
    exact = layer(*(v.astype(np.float64) for v in (x, gamma, beta)), epsilon=EPSILON)
    np.testing.assert_allclose(output, exact, atol=1e-5)


def test_epsilon_stands_where_it_is_said(rng):
    """With deviation (1 - epsilon) / 2 both forms agree, with any other they do not."""
    row = rng.standard_normal(9)
    row = (row - row.mean()) / row.std()
    ones, zeros = np.ones(9), np.zeros(9)
    for deviation, agree in ((0.45, True), (0.2, False), (1.0, False)):
        forms = [f(deviation * row, ones, zeros, epsilon=0.1) for f in
                 (layer_norm, layer_norm_outside)]  # fmt: skip
        assert np.allclose(*forms, rtol=1e-12) is agree


@pytest.mark.parametrize("epsilon", [-1e-5, np.nan, np.inf])
def test_no_epsilon(epsilon):
    x, ones = np.arange(6.0).reshape(2, 3), np.ones(3)
    for layer in (layer_norm, layer_norm_outside, batch_norm):
        with pytest.raises(ValueError, match=r"epsilon is .*; expected a finite number of at"):
            layer(x, ones, ones, epsilon=epsilon)
    with pytest.raises(ValueError, match=r"epsilon is .*; expected a finite number of at"):
        rms_norm(x, ones, epsilon=epsilon)


def test_rms_norm_of_nothing_but_zeros_is_refused():
    with pytest.raises(ValueError, match="the divisor is 0: all entries vanish"):
        rms_norm(np.zeros((2, 3)), np.ones(3), epsilon=0.0)
    np.testing.assert_array_equal(rms_norm(np.zeros(3), np.ones(3), epsilon=1e-5), [0, 0, 0])
    np.testing.assert_array_equal(rms_norm(np.full(4, 0.1), np.ones(4), epsilon=0.0), [1] * 4)


# --- blocks ----------------------------------------------------------------------------------


def norm_layer(forward, vjp):
    return Sublayer(
        lambda x, weights: forward(x, *weights, epsilon=EPSILON),
        lambda x, weights, g: (
            (got := vjp(x, *weights, g, epsilon=EPSILON))[0], got[1:]
        ),
    )  # fmt: skip


NORMS = [norm_layer(layer_norm, layer_norm_vjp), norm_layer(layer_norm_outside,
                                                            layer_norm_outside_vjp)]  # fmt: skip
FEED_FORWARD = Sublayer(feed_forward, feed_forward_vjp)
BLOCKS = [(post_norm, post_norm_vjp), (pre_norm, pre_norm_vjp)]


def around(function, sublayer, norm):
    return lambda x, weights, norm_weights, *g: function(
        sublayer, norm, x, weights, norm_weights, *g
    )


def tanh_branch():
    def vjp(x, weight, g):
        before = g * (1 - np.tanh(x @ weight) ** 2)
        return before @ weight.T, x.T @ before

    return Sublayer(lambda x, weight: np.tanh(x @ weight), vjp)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize(("block", "vjp"), BLOCKS)
def test_vjp_of_blocks(block, vjp, norm, rng):
    for shape in ((3, 5), (1, 4)):
        width = shape[-1]
        arguments = (
            rng.standard_normal(shape),
            rng.standard_normal((width, width)),
            tuple(rng.standard_normal((2, width))),
        )
        functions = around(block, tanh_branch(), norm), around(vjp, tanh_branch(), norm)
        assert complex_step_error(*functions, arguments, rng) < 1e-13
        assert central_difference_error(*functions, arguments, rng) < 1e-7


@pytest.mark.parametrize(("block", "vjp"), BLOCKS)
def test_vjp_of_blocks_around_feed_forward(block, vjp, rng):
    weights = FeedForwardWeights.init(rng, 6, 9)
    arguments = rng.standard_normal((4, 6)), weights, tuple(rng.standard_normal((2, 6)))
    functions = (around(f, FEED_FORWARD, NORMS[0]) for f in (block, vjp))
    assert complex_step_error(*functions, arguments, rng) < 1e-12


def test_blocks_are_compositions(rng):
    x, weight = rng.standard_normal((3, 5)), rng.standard_normal((5, 5))
    norm_weights = tuple(rng.standard_normal((2, 5)))
    norm = NORMS[1]
    normed = norm.forward(x, norm_weights)
    expected = x + np.tanh(normed @ weight)
    got = pre_norm(tanh_branch(), norm, x, weight, norm_weights)
    np.testing.assert_array_equal(got, expected)
    expected = norm.forward(residual(tanh_branch(), x, weight), norm_weights)
    got = post_norm(tanh_branch(), norm, x, weight, norm_weights)
    np.testing.assert_array_equal(got, expected)


# --- extremes --------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("layer", "vjp"), LAYERS)
def test_squares_that_overflow_are_refused(layer, vjp, dtype):
    """The quotient by an infinite deviation would be 0 without a word."""
    ones = np.ones(3, dtype)
    huge = np.array([[1, 2, 4], [3, 2, 1]], dtype) * dtype(np.finfo(dtype).max / 8)
    for entry in (huge, np.full((2, 3), np.inf), np.array([[1, np.nan, 1], [1, 2, 3]])):
        x = entry.astype(dtype)
        with pytest.raises(ValueError, match="the divisor is not finite: x holds nan or inf, or"):
            layer(x, ones, ones, epsilon=EPSILON)
        with pytest.raises(ValueError, match="the divisor is not finite"):
            vjp(x, ones, ones, np.ones((2, 3)), epsilon=EPSILON)
        with pytest.raises(ValueError, match="the divisor is not finite"):
            rms_norm(x, ones, epsilon=EPSILON)


@pytest.mark.parametrize(("layer", "vjp"), LAYERS)
def test_half_precision_is_computed_in_single(layer, vjp, rng):
    """300^2 is beyond float16."""
    x, cotangent = (300 * rng.standard_normal((2, 3, 4))).astype(np.float16)
    gamma, beta = rng.standard_normal((2, 4)).astype(np.float16)
    output = layer(x, gamma, beta, epsilon=EPSILON)
    gradients = vjp(x, gamma, beta, cotangent, epsilon=EPSILON)
    assert {output.dtype, *(gradient.dtype for gradient in gradients)} == {np.dtype(np.float32)}
    exact = layer(*(v.astype(np.float64) for v in (x, gamma, beta)), epsilon=EPSILON)
    np.testing.assert_allclose(output, exact, atol=1e-5)


@pytest.mark.parametrize(("layer", "vjp"), LAYERS[:2])
def test_a_batch_of_no_rows(layer, vjp):
    x, ones = np.zeros((0, 4, 3)), np.ones(3)
    assert layer(x, ones, ones, epsilon=EPSILON).shape == (0, 4, 3)
    gradients = vjp(x, ones, ones, x, epsilon=EPSILON)
    assert [gradient.shape for gradient in gradients] == [(0, 4, 3), (3,), (3,)]
    assert rms_norm(x, ones, epsilon=EPSILON).shape == (0, 4, 3)
    with pytest.raises(ValueError, match=r"x has shape \(0, 4, 3\); there is nothing to take the"):
        batch_norm(x, ones, ones, epsilon=EPSILON)


# --- what does not fit -----------------------------------------------------------------------


def test_shapes_that_do_not_fit():
    x, ones = np.ones((2, 3)), np.ones(3)
    with pytest.raises(ValueError, match=r"x has shape \(2, 3\); expected \(\.\.\., d=4\)"):
        layer_norm(x, np.ones(4), np.ones(4), epsilon=EPSILON)
    with pytest.raises(ValueError, match=r"beta has shape \(1,\); expected \(d=3\)"):
        layer_norm_outside(x, ones, np.ones(1), epsilon=EPSILON)
    with pytest.raises(ValueError, match=r"gamma has shape \(\); expected \(d\)"):
        layer_norm(x, 1.0, 0.0, epsilon=EPSILON)
    with pytest.raises(ValueError, match=r"cotangent has shape \(3,\); expected \(2, 3\)"):
        layer_norm_vjp(x, ones, ones, ones, epsilon=EPSILON)
    with pytest.raises(ValueError, match=r"cotangent has shape \(3,\); expected \(2, 3\)"):
        rms_norm_vjp(x, ones, ones, epsilon=EPSILON)
    with pytest.raises(ValueError, match=r"x has shape \(3,\); expected \(\.\.\., n, d\)"):
        batch_norm(ones, ones, ones, epsilon=EPSILON)
    with pytest.raises(ValueError, match="there is nothing to normalise"):
        layer_norm(np.ones((2, 0)), np.ones(0), np.ones(0), epsilon=EPSILON)


@pytest.mark.parametrize("block", [post_norm, pre_norm])
def test_branch_that_would_broadcast_is_refused(block):
    narrow = Sublayer(lambda x, _: np.zeros(4), lambda x, _, g: (np.zeros(4), None))
    weights = np.ones(4), np.ones(4)
    with pytest.raises(ValueError, match=r"output of the sublayer has shape \(4,\)"):
        block(narrow, NORMS[0], np.arange(12.0).reshape(3, 4), None, weights)
