"""Weights as frozen dataclasses of arrays; gradients have the same type and shapes.

Row convention: a token is a row and is multiplied from the right. Note that `nn.Linear` and
texts in column convention store the transposes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from numeric.arrays import Array, Axes, as_floating, require_group, require_positive, require_shape
from numeric.trees import leaves, map_leaves


def head_width(d_model: int, h: int) -> int:
    """d_model / h, refused where it is not an integer: floor would lose d_model mod h columns."""
    require_positive("d_model", d_model)
    require_positive("h", h)
    if d_model % h:
        raise ValueError(f"d_model={d_model} is not divisible by h={h}")
    return d_model // h


@dataclass(frozen=True, eq=False)
class Weights:
    """What all weights have in common. `eq=False`: `==` of arrays is not a truth value."""

    def parameter_count(self) -> int:
        """How many numbers are stored, counted on the arrays themselves."""
        return sum(array.size for array in leaves(self))

    def astype(self, dtype: npt.DTypeLike) -> Self:
        cast: Self = map_leaves(lambda array: array.astype(dtype), self)
        return cast

    def _adopt(self, name: str, axes: Axes) -> tuple[int, ...]:
        """Make field `name` a floating array, refuse a wrong shape, and return the shape."""
        array = as_floating(getattr(self, name))
        require_shape(name, array, axes)
        object.__setattr__(self, name, array)  # the dataclass is frozen for everyone else
        return array.shape

    def _adopt_optional(self, name: str, axes: Axes) -> None:
        if getattr(self, name) is not None:
            self._adopt(name, axes)


@dataclass(frozen=True, eq=False)
class MultiHeadWeights(Weights):
    """Multi-head attention; `w_q[i]` is the query matrix of head i.

    w_q (h, d_model, d_k), w_k (g, d_key, d_k), w_v (g, d_value, d_v), w_o (h*d_v, d_model);
    biases b_q (h, d_k), b_k (g, d_k), b_v (g, d_v), b_o (d_model,), each None if absent.
    Rows i*d_v to (i+1)*d_v of w_o belong to head i.  g is h unless heads share keys and values:
    then g divides h, and head i reads those of i // (h/g) (grouped-query attention).  d_key and
    d_value, the widths of the inputs for keys and values, are d_model unless these come from
    somewhere else.
    """

    w_q: Array
    w_k: Array
    w_v: Array
    w_o: Array
    b_q: Array | None = None
    b_k: Array | None = None
    b_v: Array | None = None
    b_o: Array | None = None

    def __post_init__(self) -> None:
        h, d_model, d_k = self._adopt("w_q", {"h": None, "d_model": None, "d_k": None})
        g = self._adopt("w_k", {"g": None, "d_key": None, "d_k": d_k})[0]
        require_group(g, h)
        d_v = self._adopt("w_v", {"g": g, "d_value": None, "d_v": None})[-1]
        self._adopt("w_o", {"h*d_v": h * d_v, "d_model": d_model})
        self._adopt_optional("b_q", {"h": h, "d_k": d_k})
        self._adopt_optional("b_k", {"g": g, "d_k": d_k})
        self._adopt_optional("b_v", {"g": g, "d_v": d_v})
        self._adopt_optional("b_o", {"d_model": d_model})

    @property
    def h(self) -> int:
        return int(self.w_q.shape[0])

    @property
    def g(self) -> int:
        """How many heads of keys and values there are."""
        return int(self.w_k.shape[0])

    @property
    def d_model(self) -> int:
        return int(self.w_q.shape[1])

    @property
    def d_key(self) -> int:
        return int(self.w_k.shape[1])

    @property
    def d_value(self) -> int:
        return int(self.w_v.shape[1])

    @property
    def d_k(self) -> int:
        return int(self.w_q.shape[2])

    @property
    def d_v(self) -> int:
        return int(self.w_v.shape[2])

    @classmethod
    def init(
        cls,
        rng: np.random.Generator,
        d_model: int,
        h: int,
        d_k: int | None = None,
        d_v: int | None = None,
        bias: bool = False,
        g: int | None = None,
        d_key: int | None = None,
        d_value: int | None = None,
    ) -> Self:
        """Random weights; d_k and d_v are d_model / h unless given, and need not divide d_model.

        g heads of keys and values, h unless given; d_key and d_value are d_model unless given.
        """
        d_key = d_model if d_key is None else d_key
        d_value = d_model if d_value is None else d_value
        d_k = head_width(d_model, h) if d_k is None else d_k
        d_v = head_width(d_model, h) if d_v is None else d_v
        sizes = {"d_model": d_model, "h": h, "d_k": d_k, "d_v": d_v}
        for name, size in (sizes | {"d_key": d_key, "d_value": d_value}).items():
            require_positive(name, size)
        g = h if g is None else g
        require_group(g, h)
        return cls(
            w_q=_normal(rng, d_model, (h, d_model, d_k)),
            w_k=_normal(rng, d_key, (g, d_key, d_k)),
            w_v=_normal(rng, d_value, (g, d_value, d_v)),
            w_o=_normal(rng, h * d_v, (h * d_v, d_model)),
            b_q=_normal(rng, 1, (h, d_k)) if bias else None,
            b_k=_normal(rng, 1, (g, d_k)) if bias else None,
            b_v=_normal(rng, 1, (g, d_v)) if bias else None,
            b_o=_normal(rng, 1, (d_model,)) if bias else None,
        )


@dataclass(frozen=True, eq=False)
class FeedForwardWeights(Weights):
    """w_1 (d_model, d_ff), w_2 (d_ff, d_model); b_1 (d_ff,), b_2 (d_model,), None if absent."""

    w_1: Array
    w_2: Array
    b_1: Array | None = None
    b_2: Array | None = None

    def __post_init__(self) -> None:
        d_model, d_ff = self._adopt("w_1", {"d_model": None, "d_ff": None})
        self._adopt("w_2", {"d_ff": d_ff, "d_model": d_model})
        self._adopt_optional("b_1", {"d_ff": d_ff})
        self._adopt_optional("b_2", {"d_model": d_model})

    @property
    def d_model(self) -> int:
        return int(self.w_1.shape[0])

    @property
    def d_ff(self) -> int:
        return int(self.w_1.shape[1])

    @classmethod
    def init(cls, rng: np.random.Generator, d_model: int, d_ff: int, bias: bool = True) -> Self:
        """Random weights, with the biases that the formula of the layer has."""
        require_positive("d_model", d_model)
        require_positive("d_ff", d_ff)
        return cls(
            w_1=_normal(rng, d_model, (d_model, d_ff)),
            w_2=_normal(rng, d_ff, (d_ff, d_model)),
            b_1=_normal(rng, 1, (d_ff,)) if bias else None,
            b_2=_normal(rng, 1, (d_model,)) if bias else None,
        )


@dataclass(frozen=True, eq=False)
class GatedFeedForwardWeights(Weights):
    """w_gate and w_up (d_model, d_ff), w_down (d_ff, d_model); b_gate and b_up (d_ff,),
    b_down (d_model,), None if absent."""

    w_gate: Array
    w_up: Array
    w_down: Array
    b_gate: Array | None = None
    b_up: Array | None = None
    b_down: Array | None = None

    def __post_init__(self) -> None:
        d_model, d_ff = self._adopt("w_gate", {"d_model": None, "d_ff": None})
        self._adopt("w_up", {"d_model": d_model, "d_ff": d_ff})
        self._adopt("w_down", {"d_ff": d_ff, "d_model": d_model})
        self._adopt_optional("b_gate", {"d_ff": d_ff})
        self._adopt_optional("b_up", {"d_ff": d_ff})
        self._adopt_optional("b_down", {"d_model": d_model})

    @property
    def d_model(self) -> int:
        return int(self.w_gate.shape[0])

    @property
    def d_ff(self) -> int:
        return int(self.w_gate.shape[1])

    @classmethod
    def init(cls, rng: np.random.Generator, d_model: int, d_ff: int, bias: bool = False) -> Self:
        """Random weights, without biases unless asked for."""
        require_positive("d_model", d_model)
        require_positive("d_ff", d_ff)
        return cls(
            w_gate=_normal(rng, d_model, (d_model, d_ff)),
            w_up=_normal(rng, d_model, (d_model, d_ff)),
            w_down=_normal(rng, d_ff, (d_ff, d_model)),
            b_gate=_normal(rng, 1, (d_ff,)) if bias else None,
            b_up=_normal(rng, 1, (d_ff,)) if bias else None,
            b_down=_normal(rng, 1, (d_model,)) if bias else None,
        )


def _normal(rng: np.random.Generator, fan_in: int, shape: tuple[int, ...]) -> Array:
    """Variance 1/fan_in keeps activations of order 1. Biases are drawn too, because a zero bias
    would hide that it is forgotten."""
    return rng.standard_normal(shape) / math.sqrt(fan_in)
