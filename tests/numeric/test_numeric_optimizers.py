import math
from dataclasses import replace

import numpy as np
import pytest

from numeric import (
    AdamState,
    FeedForwardWeights,
    MultiHeadWeights,
    adam_step,
    leaves,
    map_leaves,
    sgd_step,
)

SETTINGS = {"learning_rate": 0.01, "beta_1": 0.8, "beta_2": 0.95, "epsilon": 0.05}


def draw_gradients(rng, weights, count):
    return [map_leaves(lambda w: rng.standard_normal(w.shape), weights) for _ in range(count)]


def adam_in_closed_form(
    start,
    gradients,
    *,
    learning_rate,
    beta_1,
    beta_2,
    epsilon,
    corrected=True,
    inside=False,
    swapped=False,
    zero_based=False,
):
    """One number through all steps, its moving averages written out as weighted sums.

    The switches plant errors that are often made.
    """
    x = start
    for t in range(1, len(gradients) + 1):
        past = list(enumerate(gradients[:t], start=1))
        mean = sum((1 - beta_1) * beta_1 ** (t - i) * g for i, g in past)
        square = sum((1 - beta_2) * beta_2 ** (t - i) * g * g for i, g in past)
        if corrected:
            betas = (beta_2, beta_1) if swapped else (beta_1, beta_2)
            steps = t + 1 if zero_based else t
            mean, square = (m / (1 - b**steps) for m, b in zip((mean, square), betas, strict=True))
        root = math.sqrt(square + epsilon) if inside else math.sqrt(square) + epsilon
        x -= learning_rate * mean / root
    return x


def train(weights, gradients, **settings):
    state = AdamState.init(weights)
    for gradient in gradients:
        weights, state = adam_step(weights, gradient, state, **settings)
    return weights, state


def largest_difference(weights, start, gradients, **switches):
    differences = []
    for array, first, *steps in zip(
        leaves(weights), leaves(start), *map(leaves, gradients), strict=True
    ):
        for index in np.ndindex(array.shape):
            numbers = [float(step[index]) for step in steps]
            expected = adam_in_closed_form(float(first[index]), numbers, **SETTINGS, **switches)
            differences.append(abs(array[index] - expected))
    return max(differences)


def test_adam_is_what_was_published(rng):
    start = FeedForwardWeights.init(rng, 3, 4)
    gradients = draw_gradients(rng, start, 5)
    trained, state = train(start, gradients, **SETTINGS)
    assert state.steps == 5
    assert largest_difference(trained, start, gradients) < 1e-14


@pytest.mark.parametrize(
    "switch",
    [
        pytest.param({"corrected": False}, id="averages not corrected"),
        pytest.param({"inside": True}, id="epsilon inside the root"),
        pytest.param({"swapped": True}, id="corrections swapped"),
        pytest.param({"zero_based": True}, id="one step too many in the correction"),
    ],
)
def test_another_adam_is_told_apart(switch, rng):
    start = FeedForwardWeights.init(rng, 3, 4)
    gradients = draw_gradients(rng, start, 5)
    assert largest_difference(
        train(start, gradients, **SETTINGS)[0], start, gradients, **switch
    ) > (1e-5)


def test_first_step_of_adam_has_the_length_of_the_learning_rate(rng):
    start = rng.standard_normal(7)
    gradient = rng.standard_normal(7) * 10.0 ** np.arange(-3, 4)
    moved, _ = adam_step(start, gradient, AdamState.init(start), learning_rate=0.01, epsilon=1e-30)
    np.testing.assert_allclose(moved, start - 0.01 * np.sign(gradient), rtol=1e-14)


def test_sgd_goes_against_the_gradient(rng):
    start = (rng.standard_normal((2, 3)), None, FeedForwardWeights.init(rng, 2, 3))
    (gradient,) = draw_gradients(rng, start, 1)
    moved = sgd_step(start, gradient, learning_rate=0.25)
    assert isinstance(moved[2], FeedForwardWeights)
    assert moved[1] is None
    for after, before, slope in zip(leaves(moved), leaves(start), leaves(gradient), strict=True):
        np.testing.assert_array_equal(after, before - 0.25 * slope)


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param(lambda w, g: sgd_step(w, g, learning_rate=0.3), id="sgd"),
        pytest.param(
            lambda w, g: adam_step(w, g, AdamState.init(w), learning_rate=0.3)[0], id="adam"
        ),
    ],
)
def test_nothing_is_changed_in_place_and_float32_stays(steps, rng):
    start = MultiHeadWeights.init(rng, 4, 2, bias=True).astype(np.float32)
    before = start.astype(np.float32)
    (gradient,) = draw_gradients(rng, start, 1)
    moved = steps(start, gradient)
    assert {array.dtype for array in leaves(moved)} == {np.dtype(np.float32)}
    for array, old, new in zip(leaves(start), leaves(before), leaves(moved), strict=True):
        np.testing.assert_array_equal(array, old)
        assert np.abs(new - old).min() > 0


def test_state_of_float32_stays_float32(rng):
    start = FeedForwardWeights.init(rng, 3, 4).astype(np.float32)
    _, state = train(start, draw_gradients(rng, start, 2))
    assert {array.dtype for array in leaves((state.mean, state.square))} == {np.dtype(np.float32)}


def test_both_find_the_minimum_of_a_bowl():
    curvature, target = np.array([1.0, 4.0, 0.5]), np.array([1.0, -2.0, 3.0])
    by_sgd = by_adam = np.zeros(3)
    state = AdamState.init(by_adam)
    for _ in range(400):
        by_sgd = sgd_step(by_sgd, curvature * (by_sgd - target), learning_rate=0.2)
        gradient = curvature * (by_adam - target)
        by_adam, state = adam_step(by_adam, gradient, state, learning_rate=0.1)
    np.testing.assert_allclose(by_sgd, target, atol=1e-10)
    np.testing.assert_allclose(by_adam, target, atol=1e-3)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"learning_rate": 0.0}, "learning_rate is 0.0; expected a positive number"),
        ({"learning_rate": math.nan}, "learning_rate is nan; expected a positive number"),
        ({"epsilon": -1.0}, "epsilon is -1.0; expected a positive number"),
        ({"beta_1": 1.0}, "beta_1 is 1.0; expected 0 <= beta_1 < 1"),
        ({"beta_2": -0.1}, "beta_2 is -0.1; expected 0 <= beta_2 < 1"),
    ],
)
def test_settings_that_mean_nothing(settings, message):
    start = np.zeros(3)
    with pytest.raises(ValueError, match=message):
        adam_step(start, start, AdamState.init(start), **settings)
    if "learning_rate" in settings:
        with pytest.raises(ValueError, match=message):
            sgd_step(start, start, **settings)


def test_gradients_of_other_weights_are_refused(rng):
    start = FeedForwardWeights.init(rng, 3, 4)
    without = FeedForwardWeights.init(rng, 3, 4, bias=False)
    message = r"trees differ: an array of shape \(4,\) in one, NoneType in another"
    with pytest.raises(ValueError, match=message):
        sgd_step(start, without, learning_rate=0.1)
    with pytest.raises(ValueError, match=r"NoneType in one, an array of shape \(4,\) in another"):
        sgd_step(without, start, learning_rate=0.1)
    with pytest.raises(ValueError, match=r"shape \(3, 4\) in one, an array of shape \(3, 5\)"):
        sgd_step(start, FeedForwardWeights.init(rng, 3, 5), learning_rate=0.1)
    with pytest.raises(ValueError, match="FeedForwardWeights in one, a tuple of 2 in another"):
        sgd_step(start, (start.w_1, start.w_2), learning_rate=0.1)
    with pytest.raises(ValueError, match="a tuple of 1 in one, a tuple of 2 in another"):
        sgd_step((start,), (start, start), learning_rate=0.1)
    state = AdamState.init(without)
    with pytest.raises(ValueError, match="trees differ"):
        adam_step(start, start, state)
    with pytest.raises(ValueError, match="trees differ"):
        adam_step(start, start, replace(AdamState.init(start), square=without))


@pytest.mark.parametrize("size", [0.0, 1e-4, 300.0])
def test_float16_is_reckoned_in_float32(size):
    """There the default epsilon is 0, so that a gradient of 0 would give 0/0, and squares of 256
    overflow."""
    start, gradient = np.ones(2, np.float16), np.full(2, size, np.float16)
    moved, state = adam_step(start, gradient, AdamState.init(start))
    assert (moved.dtype, state.mean.dtype, state.square.dtype) == ("float16", "float32", "float32")
    np.testing.assert_allclose(moved, 1 - 1e-3 * (size > 0), atol=5e-4)
    np.testing.assert_allclose(state.square, 1e-3 * size**2, rtol=2e-3)
    by_sgd = sgd_step(start, gradient, learning_rate=1e-3)
    assert by_sgd.dtype == np.float16
    np.testing.assert_allclose(by_sgd, 1 - 1e-3 * size, rtol=1e-3)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_gradients_that_are_not_finite_are_refused(bad):
    start, gradient = np.ones(2), np.array([0.0, bad])
    with pytest.raises(ValueError, match="a gradient holds nan or inf; expected finite numbers"):
        sgd_step(start, gradient, learning_rate=0.1)
    with pytest.raises(ValueError, match="a gradient holds nan or inf; expected finite numbers"):
        adam_step(start, gradient, AdamState.init(start))


def test_gradients_whose_squares_overflow_are_refused():
    """An infinite average of squares would hold its weight where it is, for ever."""
    start = np.ones(2, np.float32)
    gradient = np.array([1, -1e25], np.float32)
    with pytest.raises(ValueError, match=r"holds 1e\+25, whose square overflows in float32"):
        adam_step(start, gradient, AdamState.init(start))


def test_integers_are_no_weights():
    start = np.ones(2, int)
    message = "weights have dtype int64; expected floating point numbers"
    with pytest.raises(ValueError, match=message):
        sgd_step(start, np.ones(2), learning_rate=0.1)
    with pytest.raises(ValueError, match=message):
        adam_step(start, np.ones(2), AdamState.init(start))
