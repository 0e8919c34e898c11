"""Mistakes that were made in other people's code, with the numbers that showed them.

Where a function of `numeric` could make the mistake, it is held against the right number; the
wrong one is computed beside it, so that the case is known to tell the two apart.
"""

import math
from functools import partial

import numpy as np
import pytest

from numeric import (
    MultiHeadWeights,
    central_difference_error,
    cross_entropy_vjp,
    embedding_vjp,
    layer_norm,
    layer_norm_outside,
    layer_norm_outside_vjp,
    layer_norm_vjp,
    linear_vjp,
    scaled_scores,
    self_attention,
    softmax,
    softmax_vjp,
    tied_logits_vjp,
)


def test_softmax_shifted_by_the_maximum_of_the_batch():
    rows = np.array([[0, 1, 2, 3], [10000, 10001, 10002, 10003]], dtype=np.float32)
    with np.errstate(invalid="ignore"):
        exponentials = np.exp(rows - rows.max())
        wrong = exponentials / exponentials.sum(axis=1, keepdims=True)
    assert np.isnan(wrong[0]).all()
    np.testing.assert_array_equal(exponentials[0] / exponentials.sum(), 0)
    expected = np.exp([-3, -2, -1, 0]) / np.exp([-3, -2, -1, 0]).sum()
    np.testing.assert_allclose(softmax(rows), [expected] * 2, rtol=1e-6)


def test_softmax_gradient_of_the_diagonal_only(rng):
    logits, cotangent = rng.standard_normal((2, 4))
    p, gradient = softmax(logits), softmax_vjp(logits, cotangent)
    wrong = cotangent * p * (1 - p)
    assert abs(gradient.sum()) < 1e-15 < 1e-2 < abs(wrong.sum())
    np.testing.assert_allclose(gradient, p * (cotangent - p @ cotangent), atol=1e-16)


@pytest.mark.parametrize("epsilon", [1e-5, 0.1])
def test_norm_gradient_at_a_constant_row(epsilon):
    """The chain rule through the root gives infinity times 0; the derivative exists."""
    row, ones, zeros = np.full(4, 2.0), np.ones(4), np.zeros(4)
    centring = np.eye(4) - 1 / 4
    for vjp, factor in ((layer_norm_outside_vjp, epsilon), (layer_norm_vjp, math.sqrt(epsilon))):
        jacobian = [vjp(row, ones, zeros, e, epsilon=epsilon)[0] for e in np.eye(4)]
        np.testing.assert_allclose(jacobian, centring / factor, rtol=1e-12)
    moved = np.array([1.0, -2.0, 0.5, 0.25]) * epsilon * 1e-7
    output = layer_norm_outside(row + moved, ones, zeros, epsilon=epsilon)
    np.testing.assert_allclose(output, centring @ moved / epsilon, rtol=1e-3, atol=1e-14)


@pytest.mark.parametrize("tokens", [5, 1])
def test_bias_gradient_is_summed_over_the_tokens(tokens, rng):
    """Neither of the shape of the output, nor a mean."""
    x, weight, bias = rng.standard_normal((tokens, 3)), rng.standard_normal((3, 4)), np.zeros(4)
    cotangent = rng.standard_normal((tokens, 4))
    gradient = linear_vjp(x, weight, bias, cotangent)[2]
    assert gradient.shape == (4,)
    np.testing.assert_allclose(gradient, sum(cotangent), rtol=1e-14)
    wrong = cotangent.mean(axis=0)
    assert bool(np.abs(gradient - wrong).max() > 0.1) is (tokens > 1)


def test_cross_entropy_is_divided_by_the_batch_for_the_mean_only(rng):
    logits, targets = rng.standard_normal((8, 5)), rng.integers(0, 5, 8)
    difference = softmax(logits) - np.eye(5)[targets]
    total = cross_entropy_vjp(logits, targets, 1.0, reduction="sum")
    mean = cross_entropy_vjp(logits, targets, 1.0)
    np.testing.assert_allclose(total, difference, atol=1e-15)
    np.testing.assert_allclose(mean, difference / 8, atol=1e-16)
    assert np.abs(total - mean).max() > 0.5


def test_tied_table_needs_both_gradients_and_every_occurrence(rng):
    table, ids = rng.standard_normal((4, 3)), np.array([1, 1])
    cotangent, at_output = rng.standard_normal((2, 3)), rng.standard_normal((2, 4))
    buffered = np.zeros((4, 3))
    buffered[ids] += cotangent
    gradient = embedding_vjp(ids, table, cotangent)
    np.testing.assert_allclose(gradient[1], cotangent.sum(axis=0))
    assert np.abs(buffered - gradient).max() > 1e-2
    _, of_output = tied_logits_vjp(table[ids], table, at_output)
    np.testing.assert_allclose(of_output, at_output.T @ table[ids])


def test_heads_merged_without_the_transpose_are_not_equivariant(rng):
    x, weights, order = rng.standard_normal((3, 4)), MultiHeadWeights.init(rng, 4, 2), [2, 0, 1]

    def wrong(x):
        scores = scaled_scores(x @ weights.w_q, x @ weights.w_k)
        heads = softmax(scores) @ (x @ weights.w_v)
        return heads.reshape(3, 4) @ weights.w_o

    right = partial(self_attention, weights=weights)
    np.testing.assert_allclose(right(x[order]), right(x)[order], atol=1e-14)
    assert np.abs(wrong(x[order]) - wrong(x)[order]).max() > 0.1


def test_scale_that_is_divided_by_twice(rng):
    """Unit variance with the root of d_k; dividing by its reciprocal gives d_k squared."""
    d_k = 64
    queries, keys = rng.choice([-1.0, 1.0], (2, 400, d_k))
    scores = scaled_scores(queries, keys)
    assert abs(scores.var() - 1) < 0.05
    inverted = queries @ keys.T / d_k**-0.5
    np.testing.assert_allclose(inverted.var() / scores.var(), d_k**2, rtol=1e-12)


def taylor_orders(factor):
    """Of the remainder of the first order for layer norm, with the gradient times `factor`."""
    rng = np.random.default_rng(5)
    x, direction = rng.standard_normal((2, 3, 6))
    gamma, beta, cotangent = rng.standard_normal(6), np.zeros(6), rng.standard_normal((3, 6))

    def value(x):
        return (layer_norm(x, gamma, beta, epsilon=0.1) * cotangent).sum()

    gradient = factor * layer_norm_vjp(x, gamma, beta, cotangent, epsilon=0.1)[0]
    slope = (gradient * direction).sum()
    steps = 0.1 / 2.0 ** np.arange(9)
    remainders = [abs(value(x + h * direction) - value(x) - h * slope) for h in steps]
    return np.diff(np.log2(remainders)) * -1


def test_order_of_the_taylor_remainder_needs_no_step():
    """2 with the right gradient; 1 at the smallest steps, not at the largest, if it is 3 % off."""
    right, wrong = taylor_orders(1.0), taylor_orders(1.03)
    assert (np.abs(right[3:] - 2) < 0.1).all()
    assert abs(wrong[-1] - 1) < 0.1
    assert wrong[0] > wrong[-1] + 0.2


def test_differences_are_central():
    """The error falls with the square of the step; that of one-sided differences with the step."""
    errors = [
        central_difference_error(
            np.exp, lambda x, g: np.exp(x) * g, (np.ones(1),), np.random.default_rng(0), step=h
        )
        for h in (0.01, 0.001)
    ]
    np.testing.assert_allclose(errors, [0.01**2 / 6, 0.001**2 / 6], rtol=1e-3)
