"""Arrays as the rest of the package wants them: floating, and of the shape that was asked for."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Axes = Mapping[str, int | None]


def as_floating(values: npt.ArrayLike) -> Array:
    """`values` as an array: float16 becomes float32, all else that is not floating float64.

    float16 ends at 65504 and has 11 bits, too little for sums of exponentials or squares.
    Complex stays complex because `gradcheck` differentiates by complex steps. Raises ValueError
    for what is not made of numbers; text is none, even where it reads like one.
    """
    array = np.asarray(values)
    if array.dtype == np.float16:
        return array.astype(np.float32)
    if array.dtype.kind in "fc":
        return array
    exact = array.dtype.kind == "O" and all(isinstance(x, Real) for x in array.flat)
    if not exact and array.dtype.kind not in "biu":
        raise ValueError(f"an array has dtype {array.dtype}; expected numbers")
    return array.astype(np.float64)


def require_shape(
    name: str,
    array: Array,
    axes: Axes,
    leading: tuple[int, ...] | None = (),
) -> None:
    """Refuse `array` unless its last axes are `axes` and the axes before them are `leading`.

    `axes` maps the name of an axis to its size, or to None if any size will do;
    `leading=None` allows any axes in front.
    """
    shape = array.shape
    split = len(shape) - len(axes)
    if split >= 0 and (leading is None or shape[:split] == leading):
        pairs = zip(axes.values(), shape[split:], strict=True)
        if all(expected in (None, size) for expected, size in pairs):
            return
    front = ["..."] if leading is None else [str(size) for size in leading]
    back = [label if size is None else f"{label}={size}" for label, size in axes.items()]
    raise ValueError(f"{name} has shape {shape}; expected ({', '.join(front + back)})")


def require_positive(name: str, value: int) -> None:
    """Refuse a size that is not an integer of at least 1."""
    if not isinstance(value, (int, np.integer)) or value < 1:
        raise ValueError(f"{name} is {value!r}; expected an integer of at least 1")


def require_finite(name: str, array: Array) -> None:
    if not np.isfinite(array).all():
        raise ValueError(f"{name} holds nan or inf; expected finite numbers")


def require_group(g: int, h: int) -> None:
    """Refuse g heads of keys and values that h query heads cannot share evenly."""
    require_positive("g", g)
    if h % g:
        raise ValueError(f"keys have g={g} heads, which do not divide the h={h} heads of queries")


def transpose(array: Array) -> Array:
    """(..., a, b) -> (..., b, a)."""
    return np.swapaxes(array, -1, -2)


def add_to(total: Array, term: Array) -> Array:
    """total + term, in the place of `total` where that has the precision of the sum."""
    out = total if total.dtype == np.result_type(total, term) else None
    added: Array = np.add(total, term, out=out)
    return added


#: So many numbers stay in the cache between passes over them.
_CACHED = 1 << 16


def row_blocks(*arrays: Array) -> Iterator[tuple[Array, ...]]:
    """Some rows of arrays (..., m) of one shape at a time, as matrices (rows, m).

    They are few enough to stay in the cache, so that only the first of several passes over them
    waits for memory. What is written to them is in the array if that is contiguous.
    """
    *leading, m = arrays[0].shape
    rows = [array.reshape(math.prod(leading), m) for array in arrays]
    step = max(1, _CACHED // max(1, m))
    for start in range(0, len(rows[0]), step):
        yield tuple(part[start : start + step] for part in rows)


def as_indices(name: str, values: npt.ArrayLike, size: int) -> npt.NDArray[np.integer[Any]]:
    """`values` as an array of integers from 0 to size-1; NumPy would count negative ones back."""
    indices = np.asarray(values)
    if indices.dtype.kind not in "iu":
        raise ValueError(f"{name} has dtype {indices.dtype}; expected integers")
    outside = (indices < 0) | (indices >= size)
    if outside.any():
        raise ValueError(f"{name} holds {indices[outside][0]}; expected 0 to {size - 1}")
    return indices
