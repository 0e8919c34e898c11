import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from numeric import central_difference_error, complex_step_error, softmax, softmax_vjp

SHAPES = [(3, 5), (2, 3, 4), (1, 1), (1, 7), (6, 1), (4,)]
LOGITS = hnp.arrays(np.float64, hnp.array_shapes(max_dims=3, max_side=5), elements=st.floats(-9, 9))
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


def test_minus_infinity_excludes_an_entry():
    np.testing.assert_array_equal(softmax([0.0, -np.inf, 0.0]), [0.5, 0, 0.5])


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
    with pytest.raises(ValueError, match=r"logits has shape \(.*\); expected \(\.\.\., m\)"):
        softmax(logits)


def test_cotangent_of_another_shape():
    with pytest.raises(ValueError, match=r"cotangent has shape \(5,\); expected \(3, 5\)"):
        softmax_vjp(np.zeros((3, 5)), np.zeros(5))
