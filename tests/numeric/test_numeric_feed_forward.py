import dataclasses
from functools import partial

import numeric_loops
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numeric import (
    GELU,
    GELU_TANH,
    RELU,
    SIGMOID,
    SILU,
    FeedForwardWeights,
    GatedFeedForwardWeights,
    central_difference_error,
    complex_step_error,
    directional_error,
    feed_forward,
    feed_forward_vjp,
    gated_feed_forward,
    gated_feed_forward_vjp,
    leaves,
    linear,
    linear_vjp,
    relu,
    relu_vjp,
)

# leading axes, d_model, d_ff
SIZES = [((3,), 5, 7), ((2, 3), 4, 5), ((), 3, 4), ((1,), 1, 1), ((4,), 2, 1), ((2,), 1, 3)]


def draw_off_kinks(rng, leading, d_model, d_ff, bias):
    """Differences are no derivatives when a pre-activation changes sign on the way."""
    while True:
        x = rng.standard_normal((*leading, d_model))
        weights = FeedForwardWeights.init(rng, d_model, d_ff, bias=bias)
        pre_activation = linear(x, weights.w_1, weights.b_1)
        if np.abs(pre_activation).min() > 1e-3 and (pre_activation > 0).any():
            return x, weights


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("sizes", SIZES)
def test_vjp(sizes, bias, rng):
    arguments = draw_off_kinks(rng, *sizes, bias)
    assert central_difference_error(feed_forward, feed_forward_vjp, arguments, rng) < 1e-7
    assert complex_step_error(feed_forward, feed_forward_vjp, arguments, rng) < 1e-13
    assert directional_error(feed_forward, feed_forward_vjp, arguments, rng) < 1e-7


@pytest.mark.parametrize("shape", [(3,), (2, 3), (4, 2, 3)])
@pytest.mark.parametrize("bias", [False, True])
def test_vjp_of_linear(shape, bias, rng):
    offset = rng.standard_normal(5) if bias else None
    arguments = (rng.standard_normal(shape), rng.standard_normal((3, 5)), offset)
    assert complex_step_error(linear, linear_vjp, arguments, rng) < 1e-14


@settings(derandomize=True, deadline=None, max_examples=25)
@given(*[st.integers(1, 5)] * 4, st.booleans(), st.integers(0, 999))
def test_every_token_of_a_batch_agrees_with_loops(batch, n, d_model, d_ff, bias, seed):
    rng = np.random.default_rng(seed)
    weights = FeedForwardWeights.init(rng, d_model, d_ff, bias=bias)
    x = rng.standard_normal((batch, n, d_model))
    output = feed_forward(x, weights)
    for b in range(batch):
        for t in range(n):
            expected = numeric_loops.feed_forward_token(x[b, t], weights)
            np.testing.assert_allclose(output[b, t], expected, atol=1e-12)


def test_other_tokens_are_not_touched(rng):
    weights = FeedForwardWeights.init(rng, 5, 7)
    x = rng.standard_normal((3, 5))
    moved = x.copy()
    moved[0] += 1
    before, after = feed_forward(x, weights), feed_forward(moved, weights)
    assert np.abs(before[0] - after[0]).max() > 1e-3
    np.testing.assert_allclose(before[1:], after[1:], rtol=1e-14)


def test_relu_pairs_can_make_the_identity(rng):
    eye = np.eye(5)
    weights = FeedForwardWeights(np.hstack([eye, -eye]), np.vstack([eye, -eye]))
    x = rng.standard_normal((3, 5))
    np.testing.assert_array_equal(feed_forward(x, weights), x)


def test_relu_at_and_around_the_kink():
    np.testing.assert_array_equal(relu([-2.0, 0.0, 3.0]), [0, 0, 3])
    np.testing.assert_array_equal(relu_vjp([-2.0, 0.0, 3.0], [5.0, 6.0, 7.0]), [0, 0, 7])


@pytest.mark.parametrize("bias", [False, True])
def test_float32_stays_float32(bias, rng):
    x, weights = draw_off_kinks(rng, (3,), 5, 7, bias)
    cotangent = rng.standard_normal((3, 5))
    x_single, weights_single = x.astype(np.float32), weights.astype(np.float32)
    output = feed_forward(x_single, weights_single)
    assert output.dtype == np.float32
    np.testing.assert_allclose(output, feed_forward(x, weights), atol=1e-5)
    single = feed_forward_vjp(x_single, weights_single, cotangent.astype(np.float32))
    double = feed_forward_vjp(x, weights, cotangent)
    for gradient, expected in zip(leaves(single), leaves(double), strict=True):
        assert gradient.dtype == np.float32
        np.testing.assert_allclose(gradient, expected, atol=1e-5)


def test_shapes_that_do_not_fit(rng):
    weights = FeedForwardWeights.init(rng, 5, 7)
    message = r"x has shape \(3, 7\); expected \(\.\.\., d_model=5\)"
    with pytest.raises(ValueError, match=message):
        feed_forward(np.zeros((3, 7)), weights)
    with pytest.raises(ValueError, match=message):
        feed_forward_vjp(np.zeros((3, 7)), weights, np.zeros((3, 5)))
    with pytest.raises(ValueError, match=r"cotangent has shape \(3, 7\); expected \(3, 5\)"):
        feed_forward_vjp(np.zeros((3, 5)), weights, np.zeros((3, 7)))
    with pytest.raises(ValueError, match=r"bias has shape \(3,\); expected \(d_out=5\)"):
        linear(np.zeros((2, 3)), np.zeros((3, 5)), np.zeros(3))
    with pytest.raises(ValueError, match=r"weight has shape \(3,\); expected \(d_in, d_out\)"):
        linear(np.zeros((2, 3)), np.zeros(3))


@pytest.mark.parametrize("activation", [GELU, GELU_TANH, SILU])
def test_vjp_with_another_activation(activation, rng):
    x, weights = rng.standard_normal((2, 3, 5)), FeedForwardWeights.init(rng, 5, 7)
    functions = [partial(f, activation=activation) for f in (feed_forward, feed_forward_vjp)]
    assert central_difference_error(*functions, (x, weights), rng) < 1e-7
    hidden = activation.forward(x @ weights.w_1 + weights.b_1)
    expected = hidden @ weights.w_2 + weights.b_2
    np.testing.assert_allclose(feed_forward(x, weights, activation=activation), expected)


def test_relu_is_the_activation_unless_told_otherwise(rng):
    x, weights = rng.standard_normal((3, 5)), FeedForwardWeights.init(rng, 5, 7)
    output = feed_forward(x, weights, activation=RELU)
    np.testing.assert_array_equal(output, feed_forward(x, weights))
    assert np.abs(output - feed_forward(x, weights, activation=SILU)).max() > 1e-3


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("sizes", SIZES)
def test_vjp_of_gated_feed_forward(sizes, bias, rng):
    leading, d_model, d_ff = sizes
    weights = GatedFeedForwardWeights.init(rng, d_model, d_ff, bias=bias)
    arguments = rng.standard_normal((*leading, d_model)), weights
    functions = gated_feed_forward, gated_feed_forward_vjp
    assert complex_step_error(*functions, arguments, rng) < 1e-13
    assert central_difference_error(*functions, arguments, rng) < 1e-7


@pytest.mark.parametrize("activation", [SIGMOID, GELU, GELU_TANH, RELU])
def test_gate_with_another_activation(activation, rng):
    x, weights = rng.standard_normal((3, 5)), GatedFeedForwardWeights.init(rng, 5, 7, bias=True)
    functions = gated_feed_forward, gated_feed_forward_vjp
    functions = [partial(f, activation=activation) for f in functions]
    assert central_difference_error(*functions, (x, weights), rng) < 1e-7


@pytest.mark.parametrize("bias", [False, True])
def test_gate_and_other_branch_number_by_number(bias, rng):
    x, w = rng.standard_normal((2, 5)), GatedFeedForwardWeights.init(rng, 5, 3, bias=bias)
    output = gated_feed_forward(x, w)
    for t in range(2):
        expected = np.zeros(5) if w.b_down is None else w.b_down.copy()
        for j in range(3):
            gate = sum(x[t, a] * w.w_gate[a, j] for a in range(5))
            up = sum(x[t, a] * w.w_up[a, j] for a in range(5))
            if bias:
                gate, up = gate + w.b_gate[j], up + w.b_up[j]
            expected += gate / (1 + np.exp(-gate)) * up * w.w_down[j]
        np.testing.assert_allclose(output[t], expected, atol=1e-13)


def test_gated_weights_that_do_not_fit(rng):
    weights = GatedFeedForwardWeights.init(rng, 5, 7, bias=True)
    assert (weights.d_model, weights.d_ff) == (5, 7)
    assert weights.parameter_count() == 3 * 5 * 7 + 7 + 7 + 5
    assert weights.astype(np.float32).w_up.dtype == np.float32
    for name in ("w_gate", "w_up", "w_down", "b_gate", "b_up", "b_down"):
        wrong = np.zeros((1, *getattr(weights, name).shape))
        with pytest.raises(ValueError, match=rf"{name} has shape \(1, .*; expected \("):
            dataclasses.replace(weights, **{name: wrong})
    message = r"x has shape \(3, 7\); expected \(\.\.\., d_model=5\)"
    with pytest.raises(ValueError, match=message):
        gated_feed_forward(np.zeros((3, 7)), weights)
    with pytest.raises(ValueError, match=r"cotangent has shape \(3, 7\); expected \(3, 5\)"):
        gated_feed_forward_vjp(np.zeros((3, 5)), weights, np.zeros((3, 7)))
    with pytest.raises(ValueError, match="d_ff is 0; expected an integer of at least 1"):
        GatedFeedForwardWeights.init(rng, 5, 0)
