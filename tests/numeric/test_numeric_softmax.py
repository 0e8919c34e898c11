import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from numeric import (
    central_difference_error,
    complex_step_error,
    log_softmax,
    log_softmax_vjp,
    softmax,
    softmax_vjp,
)

SHAPES = [(3, 5), (2, 3, 4), (1, 1), (1, 7), (6, 1), (4,)]
LOGITS = hnp.arrays(np.float64, hnp.array_shapes(max_dims=3, max_side=5), elements=st.floats(-9, 9))
INF, LOG_2 = np.inf, np.log(2)
ONCE = settings(derandomize=True, deadline=None, max_examples=50)


@ONCE
@given(LOGITS)
def test_every_row_is_a_distribution(logits):
    probabilities = softmax(logits)
    assert (probabilities > 0).all()
    np.testing.assert_allclose(probabilities.sum(axis=-1), 1, rtol=1e-14)


@ONCE
@given(LOGITS, st.floats(-700, 700))
def test_a_common_shift_changes_nothing(logits, shift):
    np.testing.assert_allclose(softmax(logits + shift), softmax(logits), rtol=1e-10)


@ONCE
@given(LOGITS)
def test_agrees_with_the_quotient_of_exponentials(logits):
    quotient = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(softmax(logits), quotient, rtol=1e-13)


def test_huge_logits_do_not_overflow():
    np.testing.assert_array_equal(softmax([1e300, -1e300, 0.0]), [1, 0, 0])
    np.testing.assert_array_equal(softmax([1e308, 1e308]), [0.5, 0.5])

    np.testing.assert_array_equal(softmax([1.7e308, -1.7e308]), [1, 0])
    np.testing.assert_array_equal(log_softmax([1e308, -1e307, 1e308]), [-LOG_2, -1.1e308, -LOG_2])
    np.testing.assert_array_equal(log_softmax([1.7e308, -1.7e308]), [0, -INF])  # -3.4e308


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_row_is_shifted_by_its_own_maximum(dtype):
    """By that of the whole batch, the first row would be 0/0."""
    rows = np.array([[0, 1, 2, 3], [10000, 10001, 10002, 10003]], dtype=dtype)
    np.testing.assert_array_equal(softmax(rows)[0], softmax(rows)[1])
    np.testing.assert_allclose(softmax(rows).sum(axis=1), 1, rtol=1e-6)
    np.testing.assert_array_equal(log_softmax(rows)[0], log_softmax(rows)[1])


def test_minus_infinity_excludes_an_entry(rng):
    np.testing.assert_array_equal(softmax([0.0, -INF, 0.0]), [0.5, 0, 0.5])
    np.testing.assert_array_equal(log_softmax([0.0, -INF, 0.0]), [-LOG_2, -INF, -LOG_2])
    logits, cotangent = rng.standard_normal((2, 4))
    for vjp in (softmax_vjp, log_softmax_vjp):
        without = vjp(logits[[0, 2, 3]], cotangent[[0, 2, 3]])
        gradient = vjp(np.where([0, 1, 0, 0], -INF, logits), cotangent)
        np.testing.assert_allclose(gradient[[0, 2, 3]], without, atol=1e-15)
        assert gradient[1] == 0


def test_a_row_with_everything_excluded_is_zero(rng):
    logits, cotangent = np.full((2, 3), -INF), rng.standard_normal((2, 3))
    logits[1] = 0
    np.testing.assert_array_equal(softmax(logits), [[0] * 3, [1 / 3] * 3])
    np.testing.assert_array_equal(log_softmax(logits)[0], [-INF] * 3)
    np.testing.assert_array_equal(softmax_vjp(logits, cotangent)[0], [0] * 3)
    np.testing.assert_array_equal(log_softmax_vjp(logits, cotangent)[0], [0] * 3)


def test_vjp_of_log_softmax_at_complex_logits(rng):
    """Complex numbers stay complex; what is excluded is told by the real part."""
    logits, cotangent = rng.standard_normal((2, 4))
    logits[1] = -INF
    gradient = log_softmax_vjp(logits + 0j, cotangent)
    np.testing.assert_allclose(gradient, log_softmax_vjp(logits, cotangent), atol=1e-15)


@pytest.mark.parametrize("function", [softmax, log_softmax])
@pytest.mark.parametrize("entry", [np.nan, INF])
def test_what_is_no_number_is_refused(function, entry):
    with pytest.raises(ValueError, match=r"logits holds nan or \+inf"):
        function([[0.0, 1.0], [entry, -INF]])


@ONCE
@given(LOGITS)
def test_log_softmax_is_the_logarithm(logits):
    np.testing.assert_allclose(np.exp(log_softmax(logits)), softmax(logits), rtol=1e-13)


def test_log_softmax_is_right_where_the_probability_vanishes():
    np.testing.assert_array_equal(log_softmax([0.0, -2000.0]), [0, -2000])
    assert softmax([0.0, -2000.0])[1] == 0


@pytest.mark.parametrize("shape", SHAPES)
def test_vjp_of_log_softmax(shape, rng):
    arguments = (rng.standard_normal(shape),)
    assert complex_step_error(log_softmax, log_softmax_vjp, arguments, rng) < 1e-14
    assert central_difference_error(log_softmax, log_softmax_vjp, arguments, rng) < 1e-8


@pytest.mark.parametrize("shape", SHAPES)
def test_vjp(shape, rng):
    arguments = (rng.standard_normal(shape),)
    assert complex_step_error(softmax, softmax_vjp, arguments, rng) < 1e-14
    assert central_difference_error(softmax, softmax_vjp, arguments, rng) < 1e-8


def test_vjp_is_the_jacobian_diag_p_minus_p_p(rng):
    logits, cotangent = rng.standard_normal((2, 6))
    p = softmax(logits)
    jacobian = np.diag(p) - np.outer(p, p)
    np.testing.assert_allclose(softmax_vjp(logits, cotangent), cotangent @ jacobian, atol=1e-15)


def test_vjp_sends_constants_to_zero(rng):
    logits = rng.standard_normal((3, 5))
    np.testing.assert_allclose(softmax_vjp(logits, np.full((3, 5), 7.0)), 0, atol=1e-14)


def test_float32_stays_float32(rng):
    logits, cotangent = rng.standard_normal((2, 3, 5))
    single, cotangent_single = logits.astype(np.float32), cotangent.astype(np.float32)
    assert softmax(single).dtype == softmax_vjp(single, cotangent_single).dtype == np.float32
    np.testing.assert_allclose(softmax(single), softmax(logits), rtol=1e-5)
    gradient = softmax_vjp(logits, cotangent)
    np.testing.assert_allclose(softmax_vjp(single, cotangent_single), gradient, atol=1e-6)


def test_integers_become_float64():
    assert softmax([1, 2, 3]).dtype == np.float64


@pytest.mark.parametrize("logits", [3.0, np.zeros((2, 0))])
def test_nothing_to_normalise(logits):
    for function in (softmax, log_softmax):
        with pytest.raises(ValueError, match=r"logits has shape \(.*\); expected \(\.\.\., m\)"):
            function(logits)


def test_cotangent_of_another_shape():
    with pytest.raises(ValueError, match=r"cotangent has shape \(5,\); expected \(3, 5\)"):
        softmax_vjp(np.zeros((3, 5)), np.zeros(5))
    with pytest.raises(ValueError, match=r"cotangent has shape \(5,\); expected \(3, 5\)"):
        log_softmax_vjp(np.zeros((3, 5)), np.zeros(5))


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_half_precision_is_computed_in_single(dtype, rng):
    logits = (20 * rng.standard_normal((3, 50))).astype(dtype)
    cotangent = rng.standard_normal((3, 50)).astype(dtype)
    for function in (softmax, log_softmax):
        assert function(logits).dtype == np.float32
        expected = function(logits.astype(np.float64))
        np.testing.assert_allclose(function(logits), expected, rtol=1e-4)
    for vjp in (softmax_vjp, log_softmax_vjp):
        assert vjp(logits, cotangent).dtype == np.float32
        expected = vjp(logits.astype(np.float64), cotangent.astype(np.float64))
        np.testing.assert_allclose(vjp(logits, cotangent), expected, atol=1e-4)
