"""Is a hand-written vjp the derivative of its forward function?

Every check takes `function(*arguments) -> array`, `vjp(*arguments, cotangent) -> gradients of the
arguments` and a tuple of arguments, which may be trees (weights). It draws a random cotangent and
returns the largest error, relative to the largest entry of that gradient where this exceeds 1.
The cotangent is never constant: softmax, for one, sends a constant cotangent to 0, so that any
multiple of its vjp would pass. All arithmetic is done in float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from numeric.arrays import Array, require_shape
from numeric.trees import leaves, map_leaves

Function = Callable[..., Any]
Arguments = tuple[Any, ...]


def central_difference_error(
    function: Function,
    vjp: Function,
    arguments: Arguments,
    rng: np.random.Generator,
    step: float = 1e-6,
) -> float:
    """Entry by entry against central differences; right up to about 1e-8 away from kinks."""
    arguments = _copy(arguments, np.float64)
    cotangent = _random_cotangent(rng, function, arguments)

    def slope(leaf: Array, index: tuple[int, ...]) -> float:
        centre = leaf[index]
        leaf[index] = above = centre + step
        value_above = _pair(cotangent, function(*arguments))
        leaf[index] = below = centre - step
        value_below = _pair(cotangent, function(*arguments))
        leaf[index] = centre
        return (value_above - value_below) / float(above - below)

    return _largest_error(_gradients(vjp, arguments, cotangent), arguments, slope)


def complex_step_error(
    function: Function,
    vjp: Function,
    arguments: Arguments,
    rng: np.random.Generator,
    step: float = 1e-30,
) -> float:
    """Entry by entry against complex steps: exact to rounding, for a function that is analytic
    and is written without `abs`, conjugates or comparisons of complex numbers."""
    real_arguments = _copy(arguments, np.float64)
    cotangent = _random_cotangent(rng, function, real_arguments)
    arguments = _copy(arguments, np.complex128)

    def slope(leaf: Array, index: tuple[int, ...]) -> float:
        centre = leaf[index]
        leaf[index] = centre + 1j * step
        value = np.array(function(*arguments))  # a copy: the identity returns its argument
        leaf[index] = centre
        if not np.iscomplexobj(value):
            raise ValueError("function dropped the imaginary part; it has no complex step")
        return _pair(cotangent, value.imag) / step

    return _largest_error(_gradients(vjp, real_arguments, cotangent), arguments, slope)


def directional_error(
    function: Function,
    vjp: Function,
    arguments: Arguments,
    rng: np.random.Generator,
    step: float = 1e-6,
    directions: int = 8,
) -> float:
    """Along random directions by central differences, each with its own cotangent.

    Two evaluations per direction, whatever the number of weights. Every argument moves at once.
    """
    arguments = _copy(arguments, np.float64)
    errors = []
    for _ in range(directions):
        cotangent = _random_cotangent(rng, function, arguments)
        direction = [rng.standard_normal(leaf.shape) for leaf in leaves(arguments)]
        gradients = _gradients(vjp, arguments, cotangent)
        _require_same_shapes(gradients, leaves(arguments))
        ahead, behind = (_moved(arguments, direction, sign * step) for sign in (1, -1))
        change = _pair(cotangent, function(*ahead)) - _pair(cotangent, function(*behind))
        pairs = zip(direction, gradients, strict=True)
        expected = sum(_pair(gradient, v) for v, gradient in pairs)
        errors.append(_relative_error(np.asarray(expected), np.asarray(change / (2 * step))))
    return max(errors)


def _pair(cotangent: Array, value: Array) -> float:
    return float(np.vdot(cotangent, value))


def _copy(arguments: Arguments, dtype: type) -> Arguments:
    copied: Arguments = map_leaves(lambda array: array.astype(dtype), arguments)
    return copied


def _random_cotangent(rng: np.random.Generator, function: Function, arguments: Arguments) -> Array:
    shape = np.shape(function(*arguments))
    if 0 in shape:
        raise ValueError(f"function returned shape {shape}; there is nothing to check")
    values = rng.standard_normal(shape)
    # Away from 0, so that no error of the vjp is hidden by the factor it is multiplied with.
    return np.asarray(values + np.copysign(0.5, values))


def _moved(arguments: Arguments, direction: list[Array], amount: float) -> Arguments:
    """`arguments` moved along `direction`, whose arrays stand in the order of the leaves."""
    steps = iter(direction)
    moved: Arguments = map_leaves(lambda array: array + amount * next(steps), arguments)
    return moved


def _gradients(vjp: Function, arguments: Arguments, cotangent: Array) -> list[Array]:
    return leaves(vjp(*arguments, cotangent))


def _require_same_shapes(gradients: list[Array], expected: list[Array]) -> None:
    if len(gradients) != len(expected):
        raise ValueError(f"vjp returned {len(gradients)} gradients; expected {len(expected)}")
    if not any(argument.size for argument in expected):
        raise ValueError("arguments hold no number; there is nothing to check")
    for number, (gradient, argument) in enumerate(zip(gradients, expected, strict=True)):
        require_shape(f"gradient {number}", gradient, {}, leading=argument.shape)


def _largest_error(
    gradients: list[Array],
    arguments: Arguments,
    slope: Callable[[Array, tuple[int, ...]], float],
) -> float:
    """`slope(leaf, index)` measures one derivative by moving an entry of `arguments` in place."""
    moving = leaves(arguments)
    _require_same_shapes(gradients, moving)
    errors = []
    for gradient, leaf in zip(gradients, moving, strict=True):
        measured = np.empty(leaf.shape)
        for index in np.ndindex(leaf.shape):
            measured[index] = slope(leaf, index)
        errors.append(_relative_error(gradient, measured))
    return max(errors)


def _relative_error(gradient: Array, measured: Array) -> float:
    """Infinite where anything is not finite: NaN compares false, and would pass as no error."""
    if not (np.isfinite(gradient).all() and np.isfinite(measured).all()):
        return math.inf
    if not measured.size:
        return 0.0
    return float(np.abs(gradient - measured).max() / max(1.0, np.abs(measured).max()))
