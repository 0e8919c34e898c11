import numeric_loops
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numeric import (
    central_difference_error,
    complex_step_error,
    frequencies,
    position_encoding,
    position_encoding_vjp,
    shift_matrix,
)

WIDTHS = [2, 4, 6, 8, 64, 512]
EVEN = st.integers(1, 16).map(lambda pairs: 2 * pairs)
OFFSETS = st.floats(-300, 300)
ONCE = settings(derandomize=True, deadline=None, max_examples=40)


@pytest.mark.parametrize("d_model", WIDTHS)
def test_agrees_with_loops(d_model):
    positions = [0, 1, 2, 37, 1999]
    expected = [numeric_loops.position_encoding(p, d_model) for p in positions]
    np.testing.assert_allclose(position_encoding(positions, d_model), expected, atol=1e-12)


@pytest.mark.parametrize("d_model", WIDTHS)
def test_squared_length_is_half_the_width(d_model):
    encoding = position_encoding(np.arange(2000), d_model)
    np.testing.assert_allclose((encoding**2).sum(axis=1), d_model / 2, rtol=1e-12)


def test_position_zero_alternates_zero_and_one():
    np.testing.assert_array_equal(position_encoding([0], 6), [[0, 1, 0, 1, 0, 1]])


@pytest.mark.parametrize("d_model", WIDTHS)
def test_frequencies_fall_from_one(d_model):
    omega = frequencies(d_model)
    assert omega.shape == (d_model // 2,)
    assert omega[0] == 1
    assert (np.diff(omega) < 0).all()
    np.testing.assert_allclose(omega[-1], 10000 ** (2 / d_model - 1), rtol=1e-13)


@pytest.mark.parametrize("d_model", WIDTHS)
def test_one_matrix_shifts_every_position(d_model):
    positions = np.arange(500)
    shifted = position_encoding(positions, d_model) @ shift_matrix(37, d_model).T
    np.testing.assert_allclose(shifted, position_encoding(positions + 37, d_model), atol=1e-10)


@ONCE
@given(EVEN, OFFSETS, OFFSETS)
def test_shifts_are_a_group_of_rotations(d_model, k, l):
    matrix = shift_matrix(k, d_model)
    eye = np.eye(d_model)
    np.testing.assert_allclose(
        matrix @ shift_matrix(l, d_model), shift_matrix(k + l, d_model), atol=1e-11
    )
    np.testing.assert_allclose(matrix @ matrix.T, eye, atol=1e-14)
    np.testing.assert_allclose(shift_matrix(-k, d_model), matrix.T, atol=1e-15)
    np.testing.assert_allclose(np.linalg.det(matrix), 1, rtol=1e-12)
    np.testing.assert_array_equal(shift_matrix(0, d_model), eye)


@ONCE
@given(EVEN, OFFSETS, OFFSETS, st.floats(0.5, 1e5))
def test_shift_of_real_positions_with_any_base(d_model, position, k, base):
    encoding = position_encoding([position, position + k], d_model, base)
    np.testing.assert_allclose(encoding[1], shift_matrix(k, d_model, base) @ encoding[0], atol=1e-9)


@pytest.mark.parametrize("d_model", [2, 4, 6, 12])
def test_vjp(d_model, rng):
    functions = (
        lambda positions: position_encoding(positions, d_model),
        lambda positions, cotangent: position_encoding_vjp(positions, d_model, cotangent),
    )
    arguments = (rng.uniform(-9, 9, 5),)
    assert complex_step_error(*functions, arguments, rng) < 1e-14
    assert central_difference_error(*functions, arguments, rng) < 1e-7


def test_float32_is_correct_at_large_positions():
    positions = np.arange(1990, 2000)
    single = position_encoding(positions.astype(np.float32), 6)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, position_encoding(positions, 6), atol=1e-7)
    cotangent = np.ones((10, 6), dtype=np.float32)
    assert position_encoding_vjp(positions.astype(np.float32), 6, cotangent).dtype == np.float32


@pytest.mark.parametrize("d_model", [1, 3, 511])
def test_odd_width_is_refused(d_model):
    message = f"d_model={d_model} is odd; expected an even width"
    with pytest.raises(ValueError, match=message):
        position_encoding([0, 1], d_model)
    with pytest.raises(ValueError, match=message):
        shift_matrix(1, d_model)


def test_other_arguments_that_do_not_fit():
    with pytest.raises(ValueError, match="d_model is 0; expected an integer of at least 1"):
        frequencies(0)
    with pytest.raises(ValueError, match=r"d_model is 4\.0; expected an integer"):
        frequencies(4.0)
    with pytest.raises(ValueError, match="base is 0; expected a positive number"):
        frequencies(4, 0)
    with pytest.raises(ValueError, match=r"positions has shape \(1, 2\); expected \(n\)"):
        position_encoding([[0, 1]], 4)
    with pytest.raises(
        ValueError, match=r"cotangent has shape \(2, 3\); expected \(n=2, d_model=4"
    ):
        position_encoding_vjp([0, 1], 4, np.zeros((2, 3)))
