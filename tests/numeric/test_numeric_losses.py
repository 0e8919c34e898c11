"""Cross-entropy: which tokens count, and with what factor."""

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numeric import (
    central_difference_error,
    complex_step_error,
    cross_entropy,
    cross_entropy_vjp,
    log_softmax,
    log_softmax_vjp,
    softmax,
)

SHAPES = [(4, 5), (2, 3, 7), (1, 1), (6, 1), (5,)]


def draw(rng, shape):
    return rng.standard_normal(shape), rng.integers(0, shape[-1], shape[:-1])


def bound(targets, **options):
    return (
        lambda logits: cross_entropy(logits, targets, **options),
        lambda logits, g: cross_entropy_vjp(logits, targets, g, **options),
    )


@settings(derandomize=True, deadline=None, max_examples=30)
@given(st.integers(1, 5), st.integers(1, 6), st.integers(0, 999))
def test_agrees_with_the_formula_token_by_token(tokens, v, seed):
    logits, targets = draw(np.random.default_rng(seed), (tokens, v))
    losses = [
        math.log(sum(map(math.exp, row))) - row[target]
        for row, target in zip(logits.tolist(), targets, strict=True)
    ]
    np.testing.assert_allclose(cross_entropy(logits, targets), sum(losses) / tokens, atol=1e-14)
    total = cross_entropy(logits, targets, reduction="sum")
    np.testing.assert_allclose(total, sum(losses), atol=1e-13)


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("shape", SHAPES)
def test_vjp(shape, reduction, rng):
    logits, targets = draw(rng, shape)
    weights = rng.random(shape[:-1]) + 0.5
    for options in ({}, {"token_weights": weights}):
        functions = bound(targets, reduction=reduction, **options)
        assert complex_step_error(*functions, (logits,), rng) < 1e-14
        assert central_difference_error(*functions, (logits,), rng) < 1e-8


def test_the_factor_follows_the_reduction(rng):
    """p - one_hot for the sum, over the number of tokens for the mean."""
    logits, targets = draw(rng, (8, 5))
    difference = softmax(logits) - np.eye(5)[targets]
    mean = cross_entropy_vjp(logits, targets, 1.0)
    np.testing.assert_allclose(mean, difference / 8, atol=1e-16)
    total = cross_entropy_vjp(logits, targets, 1.0, reduction="sum")
    np.testing.assert_allclose(total, difference, atol=1e-15)
    np.testing.assert_allclose(cross_entropy_vjp(logits, targets, -3.0), -3 * mean, atol=1e-15)


def test_is_log_softmax_at_the_targets(rng):
    logits, targets = draw(rng, (8, 5))
    picked = log_softmax(logits)[np.arange(8), targets]
    np.testing.assert_allclose(cross_entropy(logits, targets), -picked.mean(), rtol=1e-14)
    through = log_softmax_vjp(logits, -np.eye(5)[targets] / 8)
    np.testing.assert_allclose(cross_entropy_vjp(logits, targets, 1.0), through, atol=1e-15)


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_ignored_tokens_are_as_if_they_were_not_there(reduction, rng):
    logits, targets = draw(rng, (2, 4, 5))
    targets[0, 1] = targets[1, 2:] = -100
    options = {"ignore_index": -100, "reduction": reduction}
    counted = targets != -100
    expected = cross_entropy(logits[counted], targets[counted], reduction=reduction)
    np.testing.assert_allclose(cross_entropy(logits, targets, **options), expected, rtol=1e-14)
    gradient = cross_entropy_vjp(logits, targets, 2.0, **options)
    expected = cross_entropy_vjp(logits[counted], targets[counted], 2.0, reduction=reduction)
    np.testing.assert_allclose(gradient[counted], expected, rtol=1e-13)
    np.testing.assert_array_equal(gradient[~counted], 0)
    assert complex_step_error(*bound(targets, **options), (logits,), rng) < 1e-14


def test_an_index_in_the_vocabulary_can_be_ignored(rng):
    """The number of the padding token, usually 0."""
    logits, targets = rng.standard_normal((6, 5)), np.array([0, 1, 2, 0, 4, 0])
    expected = cross_entropy(logits[[1, 2, 4]], targets[[1, 2, 4]])
    np.testing.assert_allclose(cross_entropy(logits, targets, ignore_index=0), expected)


def test_weights_are_repetitions_of_tokens(rng):
    logits, targets = draw(rng, (3, 5))
    weights = np.array([2.0, 0.0, 3.0])
    loss = cross_entropy(logits, targets, token_weights=weights)
    repeated = np.repeat(np.arange(3), [2, 0, 3])
    np.testing.assert_allclose(loss, cross_entropy(logits[repeated], targets[repeated]))
    padding = np.array([1.0, 0.0, 1.0])
    loss = cross_entropy(logits, targets, token_weights=padding)
    np.testing.assert_allclose(loss, cross_entropy(logits, targets * [1, 0, 1] + [0, -1, 0],
                                                   ignore_index=-1))  # fmt: skip


def test_a_common_shift_of_the_logits_changes_nothing(rng):
    logits, targets = draw(rng, (4, 5))
    shift = rng.standard_normal((4, 1)) * 100
    loss = cross_entropy(logits + shift, targets)
    np.testing.assert_allclose(loss, cross_entropy(logits, targets), rtol=1e-12)
    np.testing.assert_allclose(cross_entropy_vjp(logits, targets, 3.0).sum(axis=-1), 0, atol=1e-15)


def test_equal_logits_give_the_logarithm_of_the_vocabulary():
    np.testing.assert_allclose(cross_entropy(np.zeros((3, 50)), [1, 7, 49]), math.log(50))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_extreme_logits(dtype):
    logits = np.array([[1e30, 0, -1e30], [0, -np.inf, 0]], dtype=dtype)
    loss = cross_entropy(logits, [0, 2], reduction="sum")
    np.testing.assert_allclose(loss, math.log(2), rtol=1e-6)
    assert cross_entropy(logits[:1], [1]) == dtype(1e30)
    gradient = cross_entropy_vjp(logits, [2, 2], 1.0, reduction="sum")
    np.testing.assert_allclose(gradient, [[1, 0, -1], [0.5, 0, -0.5]])
    assert gradient.dtype == loss.dtype == dtype


def test_an_ignored_token_may_have_its_target_excluded():
    logits = np.array([[0.0, -np.inf], [-np.inf, -np.inf], [0.0, 0.0]])
    options = {"token_weights": [0.0, 0.0, 1.0]}
    np.testing.assert_allclose(cross_entropy(logits, [1, 1, 0], **options), math.log(2))
    gradient = cross_entropy_vjp(logits, [1, 1, 0], 1.0, **options)
    np.testing.assert_array_equal(gradient, [[0, 0], [0, 0], [-0.5, 0.5]])


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_half_precision_is_computed_in_single(dtype, rng):
    logits, targets = draw(rng, (4, 50))
    low = logits.astype(dtype)
    loss, gradient = cross_entropy(low, targets), cross_entropy_vjp(low, targets, 1.0)
    assert loss.dtype == gradient.dtype == np.float32
    np.testing.assert_allclose(loss, cross_entropy(low.astype(float), targets), rtol=1e-6)
    exact = cross_entropy_vjp(low.astype(float), targets, 1.0)
    np.testing.assert_allclose(gradient, exact, atol=1e-7)


def test_a_batch_of_no_tokens():
    logits, targets = np.zeros((0, 5)), np.zeros(0, dtype=int)
    assert cross_entropy(logits, targets, reduction="sum") == 0
    assert cross_entropy_vjp(logits, targets, 1.0, reduction="sum").shape == (0, 5)
    with pytest.raises(ValueError, match="no token counts"):
        cross_entropy(logits, targets)


@pytest.mark.parametrize(
    ("targets", "options", "message"),
    [
        ([0, 1], {}, r"targets has shape \(2,\); expected \(3\)"),
        ([0, 1, 5], {}, "targets holds 5; expected 0 to 4"),
        ([0, -1, 2], {}, "targets holds -1; expected 0 to 4"),
        ([0, -1, 2], {"ignore_index": -100}, "targets holds -1; expected 0 to 4"),
        ([0.0, 1.0, 2.0], {}, "targets has dtype float64; expected integers"),
        ([True, False, True], {}, "targets has dtype bool; expected integers"),
        ([0, 1, 4], {}, r"the target 4 of token \(2,\) the value -inf; expected a finite number"),
        ([7, 7, 7], {"ignore_index": 7}, "no token counts: all are ignored or weigh 0"),
        ([0, 1, 2], {"token_weights": [0, 0, 0]}, "no token counts"),
        ([0, 1, 2], {"token_weights": [1, 1]}, r"token_weights has shape \(2,\); expected \(3\)"),
        ([0, 1, 2], {"token_weights": [1, -1, 1]}, "token_weights holds a negative number"),
        ([0, 1, 2], {"token_weights": [1, np.nan, 1]}, "token_weights holds a negative number"),
        ([0, 1, 2], {"reduction": "none"}, "reduction is 'none'; expected 'mean' or 'sum'"),
    ],
)
def test_what_does_not_fit(targets, options, message):
    logits = np.zeros((3, 5))
    logits[2, 4] = -np.inf
    functions = cross_entropy, partial(cross_entropy_vjp, cotangent=1.0)
    for function in functions:
        with pytest.raises(ValueError, match=message):
            function(logits, targets, **options)


def test_shapes_that_do_not_fit():
    with pytest.raises(ValueError, match=r"logits has shape \(\); expected \(\.\.\., v\)"):
        cross_entropy(3.0, 0)
    with pytest.raises(ValueError, match=r"cotangent has shape \(3,\); expected \(\)"):
        cross_entropy_vjp(np.zeros((3, 5)), [0, 1, 2], np.ones(3))
