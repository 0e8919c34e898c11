import numpy as np
import pytest

from numeric import (
    FeedForwardWeights,
    MultiHeadWeights,
    Sublayer,
    central_difference_error,
    complex_step_error,
    directional_error,
    feed_forward,
    feed_forward_vjp,
    residual,
    residual_stack,
    residual_stack_vjp,
    residual_vjp,
    self_attention,
    self_attention_vjp,
)


def tanh_layer(x, weight):
    return np.tanh(x @ weight)


def tanh_layer_vjp(x, weight, cotangent):
    grad_product = cotangent * (1 - np.tanh(x @ weight) ** 2)
    return grad_product @ weight.T, x.T @ grad_product


TANH = Sublayer(tanh_layer, tanh_layer_vjp)
SELF_ATTENTION = Sublayer(self_attention, self_attention_vjp)
FEED_FORWARD = Sublayer(feed_forward, feed_forward_vjp)


def scaling(factor):
    """x -> factor * x, a sublayer without weights."""
    return Sublayer(lambda x, _: factor * x, lambda x, _, cotangent: (factor * cotangent, None))


def block(sublayer):
    """The two functions of a residual block, as the gradient checks want them."""
    return (
        lambda x, weights: residual(sublayer, x, weights),
        lambda x, weights, cotangent: residual_vjp(sublayer, x, weights, cotangent),
    )


def stack(sublayers):
    return (
        lambda x, weights: residual_stack(sublayers, x, weights),
        lambda x, weights, cotangent: residual_stack_vjp(sublayers, x, weights, cotangent),
    )


@pytest.mark.parametrize("shape", [(3, 5), (1, 4), (4, 1), (1, 1)])
def test_vjp_of_a_block(shape, rng):
    arguments = (rng.standard_normal(shape), rng.standard_normal((shape[1], shape[1])))
    assert complex_step_error(*block(TANH), arguments, rng) < 1e-14
    assert central_difference_error(*block(TANH), arguments, rng) < 1e-7
    assert directional_error(*block(TANH), arguments, rng) < 1e-7


def test_vjp_around_attention_and_feed_forward(rng):
    x = rng.standard_normal((3, 12))
    attention = MultiHeadWeights.init(rng, 12, 4, bias=True)
    assert complex_step_error(*block(SELF_ATTENTION), (x, attention), rng) < 1e-13
    assert (
        complex_step_error(*block(FEED_FORWARD), (x, FeedForwardWeights.init(rng, 12, 7)), rng)
        < 1e-13
    )


def test_gradient_is_a_row_times_identity_plus_jacobian(rng):
    x, weight = rng.standard_normal(5), rng.standard_normal((5, 5))
    cotangent = rng.standard_normal(5)
    # y_a = x_a + tanh(sum_c x_c weight_ca), so that row a, column c of the Jacobian is:
    jacobian = (1 - np.tanh(x @ weight) ** 2)[:, None] * weight.T
    gradient, _ = residual_vjp(TANH, x[None], weight, cotangent[None])
    np.testing.assert_allclose(gradient[0], cotangent @ (np.eye(5) + jacobian), rtol=1e-13)


@pytest.mark.parametrize("layers", [0, 1, 2, 5])
def test_vjp_of_a_stack(layers, rng):
    weights = tuple(rng.standard_normal((4, 4)) / 2 for _ in range(layers))
    arguments = (rng.standard_normal((3, 4)), weights)
    functions = stack([TANH] * layers)
    assert complex_step_error(*functions, arguments, rng) < 1e-13
    assert central_difference_error(*functions, arguments, rng) < 1e-7


def test_vjp_of_a_stack_of_different_sublayers(rng):
    weights = (
        MultiHeadWeights.init(rng, 6, 3),
        FeedForwardWeights.init(rng, 6, 5),
        None,
        rng.standard_normal((6, 6)),
    )
    functions = stack([SELF_ATTENTION, FEED_FORWARD, scaling(0.25), TANH])
    assert complex_step_error(*functions, (rng.standard_normal((3, 6)), weights), rng) < 1e-13


def test_empty_stack_is_the_identity(rng):
    x, cotangent = rng.standard_normal((2, 3, 4))
    np.testing.assert_array_equal(residual_stack([], x, ()), x)
    gradient, grad_weights = residual_stack_vjp([], x, (), cotangent)
    np.testing.assert_array_equal(gradient, cotangent)
    assert grad_weights == ()


def test_sublayer_minus_x_kills_the_gradient(rng):
    x, cotangent = rng.standard_normal((2, 3, 4))
    gradient, _ = residual_vjp(scaling(-1.0), x, None, cotangent)
    np.testing.assert_array_equal(gradient, np.zeros((3, 4)))


def test_deep_stack_multiplies_one_minus_delta(rng):
    x, cotangent = rng.standard_normal((2, 3, 4))
    gradient, _ = residual_stack_vjp([scaling(-0.1)] * 100, x, [None] * 100, cotangent)
    np.testing.assert_allclose(gradient, 0.9**100 * cotangent, rtol=1e-12)


def test_float32_stays_float32(rng):
    x, cotangent = rng.standard_normal((2, 3, 4)).astype(np.float32)
    weight = rng.standard_normal((4, 4)).astype(np.float32)
    gradient, grad_weights = residual_stack_vjp([TANH] * 2, x, [weight] * 2, cotangent)
    assert residual_stack([TANH] * 2, x, [weight] * 2).dtype == np.float32
    assert {gradient.dtype, *(array.dtype for array in grad_weights)} == {np.dtype(np.float32)}


@pytest.mark.parametrize("shape", [(4,), (3, 1), (2, 3, 4)])
def test_branch_that_would_broadcast_is_refused(shape):
    sublayer = Sublayer(lambda x, _: np.zeros(shape), lambda x, _, g: (np.zeros(shape), None))
    with pytest.raises(ValueError, match=r"output of the sublayer has shape .*; expected \(3, 4\)"):
        residual(sublayer, np.zeros((3, 4)), None)
    with pytest.raises(ValueError, match=r"gradient of the sublayer has shape .*; expected \(3, 4"):
        residual_vjp(sublayer, np.zeros((3, 4)), None, np.zeros((3, 4)))


def test_other_shapes_that_do_not_fit():
    x = np.zeros((3, 4))
    with pytest.raises(ValueError, match=r"cotangent has shape \(4,\); expected \(3, 4\)"):
        residual_vjp(TANH, x, np.eye(4), np.zeros(4))
    with pytest.raises(ValueError, match=r"cotangent has shape \(4,\); expected \(3, 4\)"):
        residual_stack_vjp([], x, (), np.zeros(4))
    with pytest.raises(ValueError, match="weights has 1 layers; expected 2"):
        residual_stack([TANH, TANH], x, [np.eye(4)])
