import numpy as np
import pytest

from numeric import central_difference_error, complex_step_error, leaky_relu, leaky_relu_vjp, relu

SLOPES = [0.0, 0.1, 0.5, 1.0, 3.0, -0.5]


def with_slope(slope):
    return (
        lambda x: leaky_relu(x, slope),
        lambda x, cotangent: leaky_relu_vjp(x, slope, cotangent),
    )


def off_the_kink(rng, *shape):
    values = rng.standard_normal(shape)
    return values + np.copysign(1e-2, values)


@pytest.mark.parametrize("slope", SLOPES)
def test_vjp_of_leaky_relu(slope, rng):
    function, vjp = with_slope(slope)
    arguments = (off_the_kink(rng, 3, 5),)
    assert central_difference_error(function, vjp, arguments, rng) < 1e-8
    assert complex_step_error(function, vjp, arguments, rng) < 1e-14


@pytest.mark.parametrize("wrong", [
    lambda x, c: np.where(x > 0, c, 0.0),  # the gradient of ReLU
    lambda x, c: np.where(x > 0, 0.1 * c, c),  # the halves exchanged
    lambda x, c: np.where(c > 0, c, 0.1 * c),  # the mask of the cotangent
    lambda x, c: np.where(x > 0, c, -0.1 * c),
])  # fmt: skip
def test_wrong_vjps_are_caught(wrong, rng):
    function, _ = with_slope(0.1)
    assert central_difference_error(function, wrong, (off_the_kink(rng, 20),), rng) > 1e-2


def test_special_slopes(rng):
    values = rng.standard_normal(20)
    np.testing.assert_array_equal(leaky_relu(values, 0.0), relu(values))
    np.testing.assert_array_equal(leaky_relu(values, 1.0), values)
    np.testing.assert_array_equal(leaky_relu(values, -1.0), np.abs(values))
    np.testing.assert_array_equal(leaky_relu([-2.0, 0.0, 3.0], 0.5), [-1, 0, 3])
    np.testing.assert_array_equal(leaky_relu_vjp([-2.0, 0.0, 3.0], 0.5, [4, 6, 8]), [2, 3, 8])


def test_the_inverse_has_the_inverse_slope(rng):
    values = rng.standard_normal(20)
    np.testing.assert_allclose(leaky_relu(leaky_relu(values, 0.2), 5.0), values, rtol=1e-15)


def test_float32_stays_float32():
    assert leaky_relu(np.ones(3, np.float32), 0.1).dtype == np.float32
    ones = np.ones(3, np.float32)
    assert leaky_relu_vjp(ones, 0.1, ones).dtype == np.float32


def test_shapes_that_do_not_fit():
    with pytest.raises(ValueError, match=r"cotangent has shape \(4,\); expected \(3\)"):
        leaky_relu_vjp(np.zeros(3), 0.1, np.zeros(4))
