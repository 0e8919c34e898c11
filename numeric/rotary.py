"""Rotary position encoding: pairs of columns are turned by angles that grow with the position.

Pair i turns by position * base^(-2i/d), as the pairs of the sinusoidal encoding do.  It is made
of the columns 2i and 2i+1 ("interleaved", as in the paper and in the Llama reference) or of i and
i + d/2 ("halves", as in GPT-NeoX and in Llama weights that were converted for it).  Queries and
keys must be turned in one layout: the two differ by a permutation of the columns.

Source: Su et al., RoFormer, section 3.2.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from numeric.arrays import Array, as_floating, require_finite, require_shape
from numeric.positional import frequencies

Layout = Literal["interleaved", "halves"]


@dataclass(frozen=True)
class Rotary:
    """How attention turns its queries and keys. Both are numbered from 0: the scores depend on
    differences of positions only."""

    base: float = 10_000.0
    layout: Layout = "interleaved"

    def forward(self, x: Array) -> Array:
        """x (..., n, d_k) -> the same shape."""
        return rotary_encoding(x, np.arange(x.shape[-2]), base=self.base, layout=self.layout)

    def vjp(self, x: Array, cotangent: Array) -> Array:
        """cotangent (..., n, d_k) -> gradient of x."""
        positions = np.arange(x.shape[-2])
        return rotary_encoding_vjp(x, positions, cotangent, base=self.base, layout=self.layout)


def rotary_encoding(
    x: npt.ArrayLike,
    positions: npt.ArrayLike,
    *,
    base: float = 10_000.0,
    layout: Layout = "interleaved",
) -> Array:
    """x (..., n, d) with d even, positions (n,) -> x with every row turned, of the same shape.

    positions may also have as many axes as x without its last one, (..., n), each of which may be
    1: sequences of a batch that begin elsewhere.  They are any real numbers; a sequence that
    continues `offset` tokens has `offset + np.arange(n)`.
    """
    x, angles = _checked(x, positions, base)
    return _turned(x, angles, layout)


def rotary_encoding_vjp(
    x: npt.ArrayLike,
    positions: npt.ArrayLike,
    cotangent: npt.ArrayLike,
    *,
    base: float = 10_000.0,
    layout: Layout = "interleaved",
) -> Array:
    """cotangent (..., n, d) -> gradient of x: the cotangent turned back."""
    x, angles = _checked(x, positions, base)
    cotangent = as_floating(cotangent)
    require_shape("cotangent", cotangent, {}, leading=x.shape)
    return _turned(cotangent, -angles, layout)


def _turned(x: Array, angles: Array, layout: Layout) -> Array:
    first, second = _columns(x.shape[-1], layout)
    cosine, sine = (function(angles).astype(x.real.dtype) for function in (np.cos, np.sin))
    turned = np.empty_like(x)
    turned[..., first] = cosine * x[..., first] - sine * x[..., second]
    turned[..., second] = sine * x[..., first] + cosine * x[..., second]
    return turned


def _columns(d: int, layout: Layout) -> tuple[slice, slice]:
    """The first and the second column of every pair."""
    if layout == "interleaved":
        return slice(0, None, 2), slice(1, None, 2)
    if layout == "halves":
        return slice(0, d // 2), slice(d // 2, None)
    raise ValueError(f"layout is {layout!r}; expected 'interleaved' or 'halves'")


def _checked(x: npt.ArrayLike, positions: npt.ArrayLike, base: float) -> tuple[Array, Array]:
    """x, and the angles (..., n, d/2) in float64: in float32 one near 2000 is off by 1e-4."""
    x, positions = as_floating(x), as_floating(positions).astype(np.float64)
    require_shape("x", x, {"n": None, "d": None}, leading=None)
    if x.shape[-1] % 2:
        raise ValueError(f"x has shape {x.shape}; expected (..., n, d) with d even")
    require_finite("positions", positions)
    rows = x.shape[:-1]
    fits = positions.ndim in (1, len(rows)) and all(
        size in (1, expected)
        for size, expected in zip(positions.shape[::-1], rows[::-1], strict=False)
    )
    if not fits or positions.shape[-1] != rows[-1]:
        raise ValueError(f"positions has shape {positions.shape}; expected {rows[-1:]} or {rows}")
    return x, positions[..., None] * frequencies(x.shape[-1], base)
