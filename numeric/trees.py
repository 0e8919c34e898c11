"""Nested weights seen as a flat list of arrays.

A tree is an array, None (an absent bias), a tuple of trees, or a dataclass whose fields are
trees. Whatever walks over all weights (counting, casting, checking gradients, taking a step of
training) does it here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from numeric.arrays import Array


def map_leaves(function: Callable[..., Array], tree: Any, *others: Any) -> Any:
    """The same tree with every array replaced by `function` of it and of its like in `others`.

    Raises ValueError where another tree is built differently or one of its arrays has another
    shape, and TypeError for what is no tree.
    """
    if tree is None:
        return _require_alike(tree, others, [other is None for other in others])
    if isinstance(tree, (np.ndarray, np.generic)):
        _require_alike(tree, others, [np.shape(other) == tree.shape for other in others])
        return function(np.asarray(tree), *map(np.asarray, others))
    _require_alike(tree, others, [type(other) is type(tree) for other in others])
    if isinstance(tree, tuple):
        _require_alike(tree, others, [len(other) == len(tree) for other in others])
        return tuple(map_leaves(function, *branch) for branch in zip(tree, *others, strict=True))
    if is_dataclass(tree) and not isinstance(tree, type):
        names = [field.name for field in fields(tree)]
        branches = ([getattr(each, name) for each in (tree, *others)] for name in names)
        mapped = [map_leaves(function, *branch) for branch in branches]
        return type(tree)(**dict(zip(names, mapped, strict=True)))
    raise TypeError(f"{type(tree).__name__} is not an array, None, a tuple or a dataclass of them")


def leaves(tree: Any) -> list[Array]:
    """The arrays of the tree, in the order of its fields; absent biases are left out."""
    found: list[Array] = []

    def collect(array: Array) -> Array:
        found.append(array)
        return array

    map_leaves(collect, tree)
    return found


def _require_alike(tree: Any, others: Sequence[Any], alike: Sequence[bool]) -> None:
    for other, same in zip(others, alike, strict=True):
        if not same:
            raise ValueError(f"trees differ: {_kind(tree)} in one, {_kind(other)} in another")


def _kind(tree: Any) -> str:
    if isinstance(tree, (np.ndarray, np.generic)):
        return f"an array of shape {tree.shape}"
    return f"a tuple of {len(tree)}" if isinstance(tree, tuple) else type(tree).__name__
