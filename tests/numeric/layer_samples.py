"""Weights for the tests of layers, drawn so that no two arrays are alike and none is 0 or 1."""

import numpy as np

from numeric import map_leaves


def shaken(rng, tree, size=0.3):
    """Norms start as the identity, which would hide that they are forgotten or confused."""
    return map_leaves(lambda array: array + size * rng.standard_normal(array.shape), tree)


def tokens(rng, *shape):
    return rng.standard_normal(shape)


def largest_difference(one, other):
    return max(np.abs(a - b).max() for a, b in zip(one, other, strict=True))
