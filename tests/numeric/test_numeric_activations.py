import math
from functools import partial

import mpmath
import numpy as np
import pytest

from numeric import (
    activations,
    central_difference_error,
    complex_step_error,
    gelu,
    gelu_tanh,
    gelu_tanh_vjp,
    gelu_vjp,
    leaky_relu,
    leaky_relu_vjp,
    relu,
    relu_vjp,
    sigmoid,
    sigmoid_vjp,
    silu,
    silu_vjp,
)

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


def exact_sigmoid(x):
    return 1 / (1 + mpmath.exp(-x))


def exact_gelu_tanh(x):
    return x * (1 + mpmath.tanh(mpmath.sqrt(2 / mpmath.pi) * (x + 0.044715 * x**3))) / 2


# function, vjp, the formula in many digits, the limits at -inf and inf
SMOOTH = [
    pytest.param(sigmoid, sigmoid_vjp, exact_sigmoid, (0, 1), (0, 0), id="sigmoid"),
    pytest.param(silu, silu_vjp, lambda x: x * exact_sigmoid(x), (0, math.inf), (0, 1), id="silu"),
    pytest.param(gelu, gelu_vjp, lambda x: x * mpmath.ncdf(x), (0, math.inf), (0, 1), id="gelu"),
    pytest.param(gelu_tanh, gelu_tanh_vjp, exact_gelu_tanh, (0, math.inf), (0, 1), id="gelu_tanh"),
]
POINTS = [*np.linspace(-6, 6, 41), -37.0, -12.5, 9.0, 50.0, 1e-300, -1e-9]


@pytest.fixture(params=["scipy", "math"])
def each_error_function(request, monkeypatch):
    """Installed or not, SciPy must not make a difference."""
    if request.param == "scipy":
        pytest.importorskip("scipy", reason="GELU with the error function of SciPy")
    else:
        slow = np.vectorize(math.erfc, otypes=[np.float64])
        monkeypatch.setattr(activations, "_erfc", lambda: slow)


@pytest.mark.usefixtures("each_error_function")
@pytest.mark.parametrize(("function", "vjp", "formula", "limits", "slopes"), SMOOTH)
def test_smooth_activation(function, vjp, formula, limits, slopes, rng):
    """Relative, so that the small values far to the left count as well.

    Phi multiplies a relative error of its argument by x^2, which is 1369 at the leftmost point.
    """
    with mpmath.workdps(400):  # 1 + tanh(u) cancels all but the last of them
        exact = [float(formula(mpmath.mpf(float(x)))) for x in POINTS]
        derivative = [float(mpmath.diff(formula, mpmath.mpf(float(x)), h=1e-30)) for x in POINTS]
    np.testing.assert_allclose(function(POINTS), exact, rtol=1e-12)
    ones = np.ones(len(POINTS))
    np.testing.assert_allclose(vjp(POINTS, ones), derivative, rtol=1e-11, atol=1e-300)
    ends = [-math.inf, math.inf]
    np.testing.assert_array_equal(function(ends), limits)
    np.testing.assert_array_equal(vjp(ends, [1, 1]), slopes)
    huge = [-1e300, 1e300]
    np.testing.assert_array_equal(function(huge), [0, min(limits[1], 1e300)])
    np.testing.assert_array_equal(vjp(huge, [1, 1]), slopes)
    assert central_difference_error(function, vjp, (rng.standard_normal((3, 5)),), rng) < 1e-8


@pytest.mark.parametrize(
    ("function", "vjp"), [(sigmoid, sigmoid_vjp), (silu, silu_vjp), (gelu_tanh, gelu_tanh_vjp)]
)
def test_vjp_by_complex_steps(function, vjp, rng):
    assert complex_step_error(function, vjp, (3 * rng.standard_normal((4, 7)),), rng) < 1e-14


@pytest.mark.usefixtures("each_error_function")
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize(("function", "vjp", "formula", "limits", "slopes"), SMOOTH)
def test_smooth_activation_in_single(function, vjp, formula, limits, slopes, dtype):
    x = np.linspace(-9, 9, 91).astype(dtype)
    assert function(x).dtype == vjp(x, x).dtype == np.float32
    single, double = x.astype(np.float32), x.astype(np.float64)
    np.testing.assert_allclose(function(single), function(double), rtol=2e-5, atol=1e-12)
    np.testing.assert_allclose(vjp(single, single), vjp(double, double), rtol=2e-4, atol=1e-6)
    top = np.array([-np.finfo(dtype).max, np.finfo(dtype).max], dtype=dtype)
    np.testing.assert_array_equal(function(top), [0, min(limits[1], top[1])])
    np.testing.assert_array_equal(vjp(top, np.ones(2, dtype)), slopes)


def test_the_two_forms_of_gelu_are_near_each_other_and_not_the_same():
    x = np.linspace(-8, 8, 3201)
    difference = np.abs(gelu(x) - gelu_tanh(x)).max()
    assert 4.7e-4 < difference < 4.8e-4


def test_what_is_no_number_is_not_hidden():
    x = [math.nan, -1.0, 0.0, 2.0]
    for function in (relu, sigmoid, silu, gelu, gelu_tanh, partial(leaky_relu, slope=0.5)):
        np.testing.assert_array_equal(np.isnan(function(x)), [True, False, False, False])


def test_empty_and_single_numbers():
    for function in (relu, sigmoid, silu, gelu, gelu_tanh):
        assert function(np.zeros((0, 3))).shape == (0, 3)
        assert function(1.0).shape == ()
        assert function([1, 2]).dtype == np.float64


@pytest.mark.parametrize("vjp", [relu_vjp, sigmoid_vjp, silu_vjp, gelu_vjp, gelu_tanh_vjp])
def test_cotangents_that_do_not_fit(vjp):
    with pytest.raises(ValueError, match=r"cotangent has shape \(4,\); expected \(3\)"):
        vjp(np.zeros(3), np.zeros(4))


def test_shapes_that_do_not_fit():
    with pytest.raises(ValueError, match=r"cotangent has shape \(4,\); expected \(3\)"):
        leaky_relu_vjp(np.zeros(3), 0.1, np.zeros(4))
