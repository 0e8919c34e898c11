"""How many scalar operations the layers take: loops over numbers that count what is done to them.

The loops follow the formulas as they stand, a dot product being a sum of products. What they
compute is returned beside the counts, so that they can be held against the vectorised layers.
Slow, and meant for small sizes only.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from numeric.arrays import Array, Axes, as_floating, require_shape
from numeric.weights import FeedForwardWeights, GatedFeedForwardWeights, MultiHeadWeights

#: Operations of every stage, by kind: "multiply", "add", "subtract", "divide", "exp", "compare",
#: "root", "activation".
Operations = dict[str, Counter[str]]


class _Counted:
    """A number that notes every operation in a counter."""

    __slots__ = ("counter", "value")

    def __init__(self, value: float, counter: Counter[str]) -> None:
        self.value, self.counter = value, counter

    def __mul__(self, other: _Counted) -> _Counted:
        return self._noted("multiply", self.value * other.value)

    def __add__(self, other: _Counted) -> _Counted:
        return self._noted("add", self.value + other.value)

    def __sub__(self, other: _Counted) -> _Counted:
        return self._noted("subtract", self.value - other.value)

    def __truediv__(self, other: _Counted) -> _Counted:
        return self._noted("divide", self.value / other.value)

    def exp(self) -> _Counted:
        return self._noted("exp", math.exp(self.value))

    def sqrt(self) -> _Counted:
        return self._noted("root", math.sqrt(self.value))

    def silu(self) -> _Counted:
        return self._noted("activation", self.value / (1 + math.exp(-self.value)))

    def larger(self, other: _Counted) -> _Counted:
        return self._noted("compare", max(self.value, other.value))

    def _noted(self, operation: str, value: float) -> _Counted:
        self.counter[operation] += 1
        return _Counted(value, self.counter)


def count_attention(
    query_input: npt.ArrayLike,
    key_input: npt.ArrayLike,
    weights: MultiHeadWeights,
    *,
    shift: bool = False,
) -> tuple[Array, Operations]:
    """Inputs (n, d_model), (m, d_model) -> output (n, d_model) and the operations of each stage.

    Stages: queries, keys, values, scores, scaling, softmax, heads, output. Biases are left out.
    Keys and values that several heads share are computed once. `shift` subtracts the maximum of
    every row before the softmax.
    """
    query_input, key_input = as_floating(query_input), as_floating(key_input)
    _require_rows("query_input", query_input, {"n": None, "d_model": weights.d_model})
    if weights.d_key != weights.d_value:
        raise ValueError(f"d_value={weights.d_value}; expected d_key={weights.d_key}")
    _require_rows("key_input", key_input, {"m": None, "d_key": weights.d_key})
    stages: Operations = {}
    root = 1 / math.sqrt(weights.d_k)
    queries = [_product(query_input, w, _stage(stages, "queries")) for w in weights.w_q]
    keys = [_product(key_input, w, _stage(stages, "keys")) for w in weights.w_k]
    values = [_product(key_input, w, _stage(stages, "values")) for w in weights.w_v]
    heads = []
    for i, q in enumerate(queries):
        shared = i * weights.g // weights.h
        scores = _product(q, keys[shared].T, _stage(stages, "scores"))
        scaled = _each(scores, _stage(stages, "scaling"), lambda x, c: x * _Counted(root, c))
        attention = _softmax_rows(scaled, _stage(stages, "softmax"), shift)
        heads.append(_product(attention, values[shared], _stage(stages, "heads")))
    together = np.concatenate(heads, axis=1)
    return _product(together, weights.w_o, _stage(stages, "output")), stages


def count_feed_forward(x: npt.ArrayLike, weights: FeedForwardWeights) -> tuple[Array, Operations]:
    """x (n, d_model) -> output (n, d_model) and the operations of each stage.

    Stages: first, relu, second; biases are added where there are any.
    """
    x = as_floating(x)
    require_shape("x", x, {"n": None, "d_model": weights.d_model})
    stages: Operations = {}
    hidden = _affine(x, weights.w_1, weights.b_1, _stage(stages, "first"))
    hidden = _each(hidden, _stage(stages, "relu"), lambda z, c: z.larger(_Counted(0.0, c)))
    return _affine(hidden, weights.w_2, weights.b_2, _stage(stages, "second")), stages


def count_gated_feed_forward(
    x: npt.ArrayLike, weights: GatedFeedForwardWeights
) -> tuple[Array, Operations]:
    """x (n, d_model) -> output (n, d_model), with SiLU, and the operations of each stage.

    Stages: gate, silu, up, gating, down. SiLU counts as one operation, "activation".
    """
    x = as_floating(x)
    require_shape("x", x, {"n": None, "d_model": weights.d_model})
    stages: Operations = {}
    gate = _affine(x, weights.w_gate, weights.b_gate, _stage(stages, "gate"))
    gate = _each(gate, _stage(stages, "silu"), lambda z, _: z.silu())
    up = _affine(x, weights.w_up, weights.b_up, _stage(stages, "up"))
    product = _pairs(gate, up, _stage(stages, "gating"))
    return _affine(product, weights.w_down, weights.b_down, _stage(stages, "down")), stages


def count_linear(
    x: npt.ArrayLike, weight: Array, bias: Array | None = None
) -> tuple[Array, Counter[str]]:
    """x (n, d_in), weight (d_in, d_out) -> (n, d_out) and the operations."""
    x, weight = as_floating(x), as_floating(weight)
    require_shape("weight", weight, {"d_in": None, "d_out": None})
    require_shape("x", x, {"n": None, "d_in": weight.shape[0]})
    if bias is not None:
        bias = as_floating(bias)
        require_shape("bias", bias, {"d_out": weight.shape[1]})
    counter: Counter[str] = Counter()
    return _affine(x, weight, bias, counter), counter


def count_layer_norm(
    x: npt.ArrayLike, gamma: Array, beta: Array, *, epsilon: float
) -> tuple[Array, Counter[str]]:
    """x (n, d), gamma and beta (d,) -> (n, d), as `layer_norm`, and the operations."""
    gamma, beta = as_floating(gamma), as_floating(beta)
    require_shape("gamma", gamma, {"d": None})
    require_shape("beta", beta, {"d": gamma.size})
    counter: Counter[str] = Counter()
    rows = []
    for row in _rows_of_norm(x, gamma, counter):
        mean = _mean(row, counter)
        centred = [a - mean for a in row]
        rows.append(_scaled(centred, _root_of(centred, epsilon, counter), gamma, counter))
    shifts = _numbers(beta, counter)
    return _table([[a + b for a, b in zip(row, shifts, strict=True)] for row in rows]), counter


def count_rms_norm(x: npt.ArrayLike, gamma: Array, *, epsilon: float) -> tuple[Array, Counter[str]]:
    """x (n, d), gamma (d,) -> (n, d), as `rms_norm`, and the operations."""
    gamma = as_floating(gamma)
    require_shape("gamma", gamma, {"d": None})
    counter: Counter[str] = Counter()
    rows = _rows_of_norm(x, gamma, counter)
    return _table(
        [_scaled(row, _root_of(row, epsilon, counter), gamma, counter) for row in rows]
    ), counter


def _require_rows(name: str, array: Array, axes: Axes) -> None:
    require_shape(name, array, axes)
    if not len(array):
        raise ValueError(f"{name} has shape {array.shape}; expected at least one row")


def _rows_of_norm(x: npt.ArrayLike, gamma: Array, counter: Counter[str]) -> list[list[_Counted]]:
    x = as_floating(x)
    require_shape("x", x, {"n": None, "d": gamma.shape[0]})
    return [_numbers(row, counter) for row in x]


def _mean(numbers: Sequence[_Counted], counter: Counter[str]) -> _Counted:
    return _total(numbers) / _Counted(len(numbers), counter)


def _root_of(numbers: Sequence[_Counted], epsilon: float, counter: Counter[str]) -> _Counted:
    """sqrt(mean of squares + epsilon)."""
    square = _mean([a * a for a in numbers], counter)
    return (square + _Counted(epsilon, counter)).sqrt()


def _scaled(
    numbers: Sequence[_Counted], divisor: _Counted, gamma: Array, counter: Counter[str]
) -> list[_Counted]:
    return [a / divisor * g for a, g in zip(numbers, _numbers(gamma, counter), strict=True)]


def _pairs(left: Array, right: Array, counter: Counter[str]) -> Array:
    """The products of entries that stand at the same place."""
    rows = zip(left, right, strict=True)
    return _table(
        [[a * b for a, b in zip(_numbers(x, counter), _numbers(y, counter), strict=True)]
         for x, y in rows]
    )  # fmt: skip


def _stage(stages: Operations, name: str) -> Counter[str]:
    return stages.setdefault(name, Counter())


def _numbers(row: Array, counter: Counter[str]) -> list[_Counted]:
    return [_Counted(value, counter) for value in row.tolist()]


def _table(rows: Sequence[Sequence[Any]]) -> Array:
    return np.array([[x.value for x in row] for row in rows])


def _total(numbers: Sequence[_Counted]) -> _Counted:
    return reduce(lambda a, b: a + b, numbers)


def _dot(left: Sequence[_Counted], right: Sequence[_Counted]) -> _Counted:
    return _total([a * b for a, b in zip(left, right, strict=True)])


def _product(left: Array, right: Array, counter: Counter[str]) -> Array:
    rows, columns = (
        [_numbers(row, counter) for row in side] for side in (left, right.T)
    )  # fmt: skip
    return _table([[_dot(row, column) for column in columns] for row in rows])


def _affine(x: Array, weight: Array, bias: Array | None, counter: Counter[str]) -> Array:
    product = _product(x, weight, counter)
    if bias is None:
        return product
    shifts = _numbers(bias, counter)
    rows = (_numbers(row, counter) for row in product)
    return _table([[a + b for a, b in zip(row, shifts, strict=True)] for row in rows])


def _each(
    entries: Array, counter: Counter[str], change: Callable[[_Counted, Counter[str]], _Counted]
) -> Array:
    return _table([[change(x, counter) for x in _numbers(row, counter)] for row in entries])


def _softmax_rows(logits: Array, counter: Counter[str], shift: bool) -> Array:
    return _table([_softmax(_numbers(row, counter), shift) for row in logits])


def _softmax(row: list[_Counted], shift: bool) -> list[_Counted]:
    if shift:
        largest = reduce(_Counted.larger, row)
        row = [x - largest for x in row]
    exponentials = [x.exp() for x in row]
    whole = _total(exponentials)
    return [x / whole for x in exponentials]
