"""Steps of training: plain stochastic gradient descent, and Adam as it was published.

Weights and gradients are trees of one form (see `numeric.trees`). A step returns new weights and
changes nothing in place. Every array keeps its dtype; what is float16 is reckoned in float32.
Weights that are not floating and gradients that are not finite raise ValueError.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from numeric.arrays import Array, as_floating, require_finite
from numeric.trees import map_leaves

Tree = TypeVar("Tree")


def sgd_step(weights: Tree, gradients: Tree, *, learning_rate: float) -> Tree:
    """weights - learning_rate * gradients, array by array; the tree of the weights."""
    _require_positive("learning_rate", learning_rate)
    gradients = map_leaves(_finite, gradients)
    moved: Tree = map_leaves(lambda w, g: _moved(w, learning_rate * g), weights, gradients)
    return moved


@dataclass(frozen=True, eq=False)
class AdamState:
    """What Adam remembers: how many steps were taken, and the moving averages of the gradients
    and of their squares, two trees of the form of the weights."""

    steps: int
    mean: Any
    square: Any

    @classmethod
    def init(cls, weights: Any) -> AdamState:
        """Before the first step: averages of 0."""
        mean, square = (map_leaves(_zeros_like, weights) for _ in range(2))
        return cls(0, mean, square)


def adam_step(
    weights: Tree,
    gradients: Tree,
    state: AdamState,
    *,
    learning_rate: float = 1e-3,
    beta_1: float = 0.9,
    beta_2: float = 0.999,
    epsilon: float = 1e-8,
) -> tuple[Tree, AdamState]:
    """One step of Adam (Kingma and Ba 2015, algorithm 1) -> weights and state after it.

    The averages start at 0 and are corrected for it by 1 - beta^t; epsilon is added to the root.
    """
    _require_positive("learning_rate", learning_rate)
    _require_positive("epsilon", epsilon)
    for name, beta in {"beta_1": beta_1, "beta_2": beta_2}.items():
        if not 0 <= beta < 1:
            raise ValueError(f"{name} is {beta}; expected 0 <= {name} < 1")
    steps, gradients = state.steps + 1, map_leaves(_finite, gradients)
    mean = _moving_average(state.mean, gradients, beta_1)
    square = _moving_average(state.square, map_leaves(_square, gradients), beta_2)
    correct_mean, correct_square = 1 - beta_1**steps, 1 - beta_2**steps

    def step(w: Array, m: Array, v: Array) -> Array:
        root = np.sqrt(v / correct_square) + epsilon
        return _moved(w, learning_rate * (m / correct_mean) / root)

    return map_leaves(step, weights, mean, square), AdamState(steps, mean, square)


def _moving_average(average: Any, values: Any, beta: float) -> Any:
    return map_leaves(lambda a, x: _kept(a, beta * a + (1 - beta) * x), average, values)


def _zeros_like(weights: Array) -> Array:
    return np.zeros_like(as_floating(weights))


def _finite(gradient: Array) -> Array:
    gradient = as_floating(gradient)
    require_finite("a gradient", gradient)
    return gradient


def _square(gradient: Array) -> Array:
    with np.errstate(over="ignore"):
        square: Array = np.square(gradient)
    if not np.isfinite(square).all():  # it would never move again
        raise ValueError(
            f"a gradient holds {np.abs(gradient).max():.3g}, whose square overflows in "
            f"{gradient.dtype}; expected smaller numbers"
        )
    return square


def _moved(weights: Array, step: Array) -> Array:
    if weights.dtype.kind not in "fc":
        raise ValueError(f"weights have dtype {weights.dtype}; expected floating point numbers")
    return _kept(weights, as_floating(weights) - step)


def _kept(old: Array, new: Array) -> Array:
    """A gradient of a wider dtype must not widen the weights."""
    return new.astype(old.dtype, copy=False)


def _require_positive(name: str, value: float) -> None:
    if not (0 < value < math.inf):
        raise ValueError(f"{name} is {value}; expected a positive number")
