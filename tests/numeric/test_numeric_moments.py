from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numeric import (
    exact_dot_moments,
    independent_dot_moments,
    rademacher_dot_moments,
    sample_dot_products,
    sample_moments,
)

SAMPLES = 100_000
SMALL = st.integers(-3, 3)


@pytest.mark.parametrize("d_k", [1, 2, 3, 4])
def test_independent_signs_have_variance_d_k(d_k):
    assert rademacher_dot_moments(d_k) == (0, d_k)


@settings(derandomize=True, deadline=None, max_examples=30)
@given(st.integers(1, 3), st.data())
def test_closed_form_agrees_with_enumeration(d_k, data):
    """Integer maps and means of independent vectors: both sides are exact."""
    matrix = st.lists(st.lists(SMALL, min_size=2, max_size=2), min_size=d_k, max_size=d_k)
    half_q, half_k = data.draw(matrix), data.draw(matrix)
    vector = st.lists(SMALL, min_size=d_k, max_size=d_k)
    mean_q, mean_k = data.draw(vector), data.draw(vector)
    map_q, map_k = [[*row, 0, 0] for row in half_q], [[0, 0, *row] for row in half_k]
    exact = exact_dot_moments(map_q, map_k, mean_q, mean_k)
    cov_q, cov_k = (np.array(half) @ np.array(half).T for half in (half_q, half_k))
    assert independent_dot_moments(mean_q, cov_q, mean_k, cov_k) == exact


def test_equal_components_have_variance_d_k_squared():
    map_q, map_k = [[1, 0]] * 4, [[0, 1]] * 4
    assert exact_dot_moments(map_q, map_k) == (0, 16)


def test_equal_vectors_have_mean_d_k():
    eye = [[int(i == j) for j in range(4)] for i in range(4)]
    assert exact_dot_moments(eye, eye) == (4, 0)


def test_fractions_stay_exact():
    third = Fraction(1, 3)
    assert exact_dot_moments([[third, 0]], [[0, third]], [third], [0]) == (0, Fraction(2, 81))


def random_moments(rng, d_k):
    """Means and covariances without any of the special values that would hide a term."""
    factors = rng.standard_normal((2, d_k, d_k))
    means = 2 * rng.standard_normal((2, d_k))
    return means[0], factors[0] @ factors[0].T, means[1], factors[1] @ factors[1].T


@pytest.mark.parametrize("d_k", [1, 3, 8])
def test_samples_agree_with_the_closed_form(d_k, rng):
    moments = random_moments(rng, d_k)
    exact = independent_dot_moments(*moments)
    estimate = sample_moments(sample_dot_products(rng, SAMPLES, *moments))
    assert abs(estimate.mean - exact.mean) < 5 * estimate.mean_error
    assert abs(estimate.variance - exact.variance) < 5 * estimate.variance_error
    assert estimate.variance_error < 0.05 * exact.variance


def test_samples_reject_wrong_closed_forms(rng):
    mean_q, cov_q, mean_k, cov_k = random_moments(rng, 3)
    estimate = sample_moments(sample_dot_products(rng, SAMPLES, mean_q, cov_q, mean_k, cov_k))
    wrong = {
        "identity covariances": 3.0,
        "no means": np.trace(cov_q @ cov_k),
        "one mean": np.trace(cov_q @ cov_k) + mean_k @ cov_q @ mean_k,
        "product of traces": np.trace(cov_q) * np.trace(cov_k),
        "means swapped": independent_dot_moments(mean_k, cov_q, mean_q, cov_k).variance,
    }
    for name, variance in wrong.items():
        assert abs(estimate.variance - variance) > 10 * estimate.variance_error, name


@pytest.mark.parametrize(("divisor", "holds"), [(2.0, True), (4.0, False), (4.0**0.5 * 2, False)])
def test_only_the_root_of_d_k_gives_unit_variance(divisor, holds, rng):
    """d_k = 4; the wrong divisors are d_k and the root of d_model = 16."""
    dots = sample_dot_products(rng, SAMPLES, np.zeros(4), np.eye(4), np.zeros(4), np.eye(4))
    estimate = sample_moments(dots / divisor)
    assert (abs(estimate.variance - 1) < 5 * estimate.variance_error) == holds


def test_singular_covariance_can_be_sampled(rng):
    ones = np.ones((4, 4))
    estimate = sample_moments(sample_dot_products(rng, SAMPLES, *[np.zeros(4), ones] * 2))
    assert abs(estimate.variance - 16) < 5 * estimate.variance_error


def test_standard_errors_of_known_values():
    estimate = sample_moments([1.0, -1.0, 1.0, -1.0])
    assert estimate.mean == 0
    assert estimate.variance == pytest.approx(4 / 3)
    assert estimate.mean_error == pytest.approx((1 / 3) ** 0.5)
    # Fourth central moment 21, variance 4: the error is the root of (21 - 4**2) / 4.
    assert sample_moments([0.0, 0.0, 0.0, 4.0]).variance_error == pytest.approx(1.25**0.5)


def test_arguments_that_do_not_fit(rng):
    with pytest.raises(ValueError, match="d_k is 0"):
        rademacher_dot_moments(0)
    with pytest.raises(ValueError, match="map_q has 18 columns; expected at most 16"):
        rademacher_dot_moments(9)
    with pytest.raises(ValueError, match=r"rows of lengths \[2, 1\] and \[2, 2\]"):
        exact_dot_moments([[1, 0], [1]], [[0, 1], [0, 1]])
    with pytest.raises(ValueError, match="mean_k has 1 entries; expected d_k=2"):
        exact_dot_moments([[1], [1]], [[1], [1]], [0, 0], [0])
    with pytest.raises(ValueError, match=r"cov_k has shape \(3, 3\)"):
        independent_dot_moments(np.zeros(2), np.eye(2), np.zeros(2), np.eye(3))
    with pytest.raises(ValueError, match="covariance"):
        sample_dot_products(rng, 5, np.zeros(2), -np.eye(2), np.zeros(2), np.eye(2))
    with pytest.raises(ValueError, match="expected at least 2 samples"):
        sample_moments([1.0])
