"""Nested weights seen as a flat list of arrays.

A tree is an array, None (an absent bias), a tuple of trees, or a dataclass whose fields are
trees. Whatever walks over all weights (counting, casting, checking gradients) does it here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from numeric.arrays import Array


def map_leaves(function: Callable[[Array], Array], tree: Any) -> Any:
    """The same tree with `function` applied to every array."""
    if tree is None:
        return None
    if isinstance(tree, (np.ndarray, np.generic)):
        return function(np.asarray(tree))
    if isinstance(tree, tuple):
        return tuple(map_leaves(function, branch) for branch in tree)
    if is_dataclass(tree) and not isinstance(tree, type):
        branches = {f.name: map_leaves(function, getattr(tree, f.name)) for f in fields(tree)}
        return type(tree)(**branches)
    raise TypeError(f"{type(tree).__name__} is not an array, None, a tuple or a dataclass of them")


def leaves(tree: Any) -> list[Array]:
    """The arrays of the tree, in the order of its fields; absent biases are left out."""
    found: list[Array] = []

    def collect(array: Array) -> Array:
        found.append(array)
        return array

    map_leaves(collect, tree)
    return found
