"""The checks themselves: they accept what is right and refuse what is wrong."""

import math
import subprocess
import sys

import numpy as np
import pytest

from numeric import (
    FeedForwardWeights,
    central_difference_error,
    complex_step_error,
    directional_error,
    softmax,
    softmax_vjp,
)

CHECKS = [central_difference_error, complex_step_error, directional_error]


def cube(x):
    return x**3


def cube_vjp(x, cotangent):
    return 3 * x**2 * cotangent


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("shape", [(), (1,), (4,), (2, 3)])
def test_right_gradient_is_accepted(check, shape, rng):
    assert check(cube, cube_vjp, (rng.standard_normal(shape),), rng) < 1e-8


@pytest.mark.parametrize("check", CHECKS)
def test_function_and_vjp_that_return_their_arguments_themselves(check, rng):
    arguments = (rng.standard_normal((2, 3)),)
    assert check(lambda x: x, lambda x, g: g, arguments, rng) < 1e-8
    assert check(lambda x: x, lambda x, g: x, arguments, rng) > 1e-2
    assert check(lambda x: x.T, lambda x, g: g.T, arguments, rng) < 1e-8


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("seed", range(20))
def test_factor_slightly_off_is_rejected(check, seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.5, 2, (2, 3))
    assert check(cube, lambda x, g: 3.001 * x**2 * g, (x,), rng) > 1e-5


@pytest.mark.parametrize("check", CHECKS)
def test_doubled_softmax_gradient_is_rejected(check, rng):
    """A constant cotangent would let it pass: the true gradient is then 0."""
    x = rng.standard_normal((3, 5))
    assert check(softmax, lambda x, g: 2 * softmax_vjp(x, g), (x,), rng) > 1e-2


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_gradient_that_is_not_finite_is_an_infinite_error(check, bad, rng):
    def vjp(x, cotangent):
        gradient = cube_vjp(x, cotangent)
        gradient[1] = bad
        return gradient

    assert check(cube, vjp, (rng.standard_normal(4),), rng) == math.inf


@pytest.mark.parametrize("check", CHECKS)
def test_gradient_of_another_shape_is_refused(check, rng):
    with pytest.raises(ValueError, match=r"gradient 0 has shape \(3,\); expected \(2, 3\)"):
        check(cube, lambda x, g: cube_vjp(x, g).sum(axis=0), (rng.standard_normal((2, 3)),), rng)


@pytest.mark.parametrize("check", CHECKS)
def test_forgotten_gradient_is_refused(check, rng):
    weights = FeedForwardWeights.init(rng, 2, 3)

    def first_bias(weights):
        return weights.b_1 * 1

    def vjp(weights, cotangent):
        return FeedForwardWeights(0 * weights.w_1, 0 * weights.w_2, cotangent, None)

    with pytest.raises(ValueError, match="vjp returned 3 gradients; expected 4"):
        check(first_bias, vjp, (weights,), rng)


@pytest.mark.parametrize("check", CHECKS)
def test_nothing_to_check_is_refused(check, rng):
    with pytest.raises(ValueError, match="nothing to check"):
        check(cube, cube_vjp, (np.zeros((0, 3)),), rng)
    with pytest.raises(ValueError, match="nothing to check"):
        check(lambda: np.ones(2), lambda cotangent: (), (), rng)


@pytest.mark.parametrize("check", CHECKS)
def test_one_wrong_entry_among_many_is_rejected(check, rng):
    def vjp(x, cotangent):
        gradient = cube_vjp(x, cotangent)
        gradient[17, 3] += 1
        return gradient

    assert check(cube, vjp, (rng.standard_normal((20, 5)),), rng) > 1e-3


@pytest.mark.parametrize("check", CHECKS)
def test_arguments_of_any_dtype_are_copied_to_float64(check, rng):
    x = np.array([1, 2, 3])
    assert check(cube, cube_vjp, (x,), rng) < 1e-7
    assert check(cube, cube_vjp, (x.astype(np.float32),), rng) < 1e-7
    np.testing.assert_array_equal(x, [1, 2, 3])


def test_complex_step_refuses_a_function_that_drops_the_imaginary_part(rng):
    with pytest.raises(ValueError, match="dropped the imaginary part"):
        complex_step_error(np.abs, lambda x, g: np.sign(x) * g, (np.ones(3),), rng)


def test_complex_step_is_exact_where_differences_are_not(rng):
    arguments = (rng.uniform(1, 2, 4),)
    assert complex_step_error(cube, cube_vjp, arguments, rng) < 1e-15
    assert central_difference_error(cube, cube_vjp, arguments, rng) > 1e-15


def test_import_needs_numpy_and_the_standard_library_only():
    program = (
        "import sys, numeric; "
        "third = {'sympy', 'scipy', 'mpmath', 'hypothesis', 'pytest', 'derive'}; "
        "sys.exit(str(third & set(sys.modules)) if third & set(sys.modules) else 0)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
