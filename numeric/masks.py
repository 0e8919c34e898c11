"""Masks of attention: numbers that are added to the scores before the softmax.

0 keeps a key, -inf excludes it, and any other number is a bias.  A mask is often filled with the
most negative finite number of its precision instead of -inf, which a sum with a score turns into
anything between a uniform row and an overflow; here such entries exclude the key, too.  -1e9 and
the like are numbers as any other: a row that holds nothing else is uniform, not empty.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from numeric.arrays import Array, as_floating, require_positive, require_shape


def boolean_mask(keep: npt.ArrayLike) -> Array:
    """keep of any shape, True where a query may look at a key -> the mask, of the same shape.

    That is the meaning in `scaled_dot_product_attention` of PyTorch; the masks of its
    `MultiheadAttention` say True where a key is left out.
    """
    keep = np.asarray(keep)
    if keep.dtype != np.bool_:
        raise ValueError(f"keep has dtype {keep.dtype}; expected booleans, True to keep a key")
    mask = np.zeros(keep.shape)
    mask[~keep] = -np.inf
    return mask


def causal_mask(n: int, m: int | None = None, *, offset: int = 0) -> Array:
    """(n, m) mask that lets query t look at key s for s <= t + offset; m is n unless given.

    With offset 0 the first query meets the first key, whatever m is.  Queries that continue
    m - n tokens read before (whose keys come first) need offset=m-n: the last query then sees
    all keys.  A negative offset leaves the first queries without any key.
    """
    m = n if m is None else m
    require_positive("n", n)
    require_positive("m", m)
    return boolean_mask(np.arange(m) <= np.arange(n)[:, None] + offset)


def padding_mask(keep: npt.ArrayLike) -> Array:
    """keep (..., m), False at padding -> (..., 1, 1, m), for all heads and all queries."""
    keep = np.asarray(keep)
    require_shape("keep", keep, {"m": None}, leading=None)
    return boolean_mask(keep)[..., None, None, :]


def combine_masks(*masks: npt.ArrayLike) -> Array:
    """The sum of masks that broadcast together; a key that one of them excludes stays excluded."""
    if not masks:
        raise ValueError("there are no masks to combine; expected at least one")
    floorless = [_without_floor(mask) for mask in masks]
    shapes = [mask.shape for mask in floorless]
    try:
        total = np.zeros(np.broadcast_shapes(*shapes))
    except ValueError:
        raise ValueError(f"masks have shapes {shapes}; expected shapes that broadcast") from None
    for mask in floorless:
        total += mask
    return total


def apply_mask(scores: npt.ArrayLike, mask: npt.ArrayLike) -> Array:
    """scores (..., n, m) plus the mask, in the precision of the scores.

    mask (n, m), or with as many axes as the scores have; its axes may be 1 instead.  Excluded
    keys get -inf whatever their score is.
    """
    scores, mask = as_floating(scores), _without_floor(mask)
    require_shape("scores", scores, {"n": None, "m": None}, leading=None)
    require_mask_shape(mask, scores.shape)
    excluded = np.isneginf(mask)
    bias = np.where(excluded, 0, mask).astype(scores.real.dtype)
    masked = scores + bias
    np.copyto(masked, -np.inf, where=excluded)
    return masked


def _without_floor(mask: npt.ArrayLike) -> Array:
    """The mask with -inf for what stands for it: the least number of the precision, or nearly.

    Half of it is the limit because masks are cast: the least number of float32 may arrive in
    float64, and that of bfloat16, which NumPy lacks, in either.
    """
    mask = np.asarray(mask)
    if mask.dtype.kind != "f":
        raise ValueError(
            f"mask has dtype {mask.dtype}; expected floating point numbers to be added to the "
            "scores (boolean_mask makes them from booleans)"
        )
    if not (mask < np.inf).all():
        raise ValueError("mask holds nan or +inf; expected finite numbers or -inf")
    floor = max(float(np.finfo(precision).min) for precision in (mask.dtype, np.float32)) / 2
    return np.where(mask <= floor, mask.dtype.type(-np.inf), mask)


def require_mask_shape(mask: Array, scores: tuple[int, ...]) -> None:
    """Refuse a mask that is not (n, m) or has other axes than scores of that shape."""
    # Plain broadcasting would read a mask (batch, n, m) as (h, n, m) where batch and h agree.
    if mask.ndim in (2, len(scores)):
        sizes = zip(mask.shape, scores[-mask.ndim :], strict=True)
        if all(size in (1, expected) for size, expected in sizes):
            return
    raise ValueError(
        f"mask has shape {mask.shape}; expected {scores[-2:]} or {scores}, where an axis may be 1"
    )
