"""Mean and variance of the dot product of two random vectors q and k of width d_k.

Three ways that share nothing: exact enumeration, the closed form, and sampling.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from numeric.arrays import Array, as_floating, require_positive, require_shape

Rational = int | Fraction
MAX_SIGNS = 16  # 2**16 outcomes is about a second of exact arithmetic


class ExactMoments(NamedTuple):
    mean: Fraction
    variance: Fraction


class Moments(NamedTuple):
    mean: float
    variance: float


class SampleMoments(NamedTuple):
    """Estimates, each with its standard error."""

    mean: float
    variance: float
    mean_error: float
    variance_error: float


def rademacher_dot_moments(d_k: int) -> ExactMoments:
    """All 2 d_k components independent and +1 or -1 with probability 1/2."""
    require_positive("d_k", d_k)
    unit = [[int(i == j) for j in range(2 * d_k)] for i in range(2 * d_k)]
    return exact_dot_moments(unit[:d_k], unit[d_k:])


def exact_dot_moments(
    map_q: Sequence[Sequence[Rational]],
    map_k: Sequence[Sequence[Rational]],
    mean_q: Sequence[Rational] | None = None,
    mean_k: Sequence[Rational] | None = None,
) -> ExactMoments:
    """q = map_q s + mean_q and k = map_k s + mean_k for r independent random signs s.

    map_q and map_k are (d_k, r) of integers or fractions. q and k are independent when they use
    disjoint columns, equal when the maps are; the covariance of q is map_q map_q^T.
    """
    signs = _check_maps(map_q, map_k)
    mean_q = [0] * len(map_q) if mean_q is None else mean_q
    mean_k = [0] * len(map_k) if mean_k is None else mean_k
    for name, mean_vector in {"mean_q": mean_q, "mean_k": mean_k}.items():
        if len(mean_vector) != len(map_q):
            raise ValueError(f"{name} has {len(mean_vector)} entries; expected d_k={len(map_q)}")
    first = second = Fraction(0)
    for s in product((1, -1), repeat=signs):
        dot = _dot(_affine(map_q, mean_q, s), _affine(map_k, mean_k, s))
        first += dot
        second += dot * dot
    mean = first / 2**signs
    return ExactMoments(mean, second / 2**signs - mean * mean)


def independent_dot_moments(
    mean_q: npt.ArrayLike, cov_q: npt.ArrayLike, mean_k: npt.ArrayLike, cov_k: npt.ArrayLike
) -> Moments:
    """Closed form for independent q and k; means (d_k,), covariances (d_k, d_k)."""
    mean_q, cov_q, mean_k, cov_k = _checked_moments(mean_q, cov_q, mean_k, cov_k)
    variance = np.trace(cov_q @ cov_k) + mean_k @ cov_q @ mean_k + mean_q @ cov_k @ mean_q
    return Moments(float(mean_q @ mean_k), float(variance))


def sample_dot_products(
    rng: np.random.Generator,
    samples: int,
    mean_q: npt.ArrayLike,
    cov_q: npt.ArrayLike,
    mean_k: npt.ArrayLike,
    cov_k: npt.ArrayLike,
) -> Array:
    """(samples,) dot products of independent Gaussian q and k with the given moments."""
    require_positive("samples", samples)
    mean_q, cov_q, mean_k, cov_k = _checked_moments(mean_q, cov_q, mean_k, cov_k)
    queries = _gaussian(rng, samples, mean_q, cov_q)
    keys = _gaussian(rng, samples, mean_k, cov_k)
    products: Array = (queries * keys).sum(axis=-1)
    return products


def sample_moments(values: npt.ArrayLike) -> SampleMoments:
    """values (samples,) -> estimates of mean and variance and their standard errors."""
    values = as_floating(values)
    require_shape("values", values, {"samples": None})
    if values.size < 2:
        raise ValueError(f"values has shape {values.shape}; expected at least 2 samples")
    mean, variance = values.mean(), values.var(ddof=1)
    fourth = ((values - mean) ** 4).mean()
    return SampleMoments(
        mean=float(mean),
        variance=float(variance),
        mean_error=math.sqrt(variance / values.size),
        variance_error=math.sqrt(max(0.0, fourth - variance**2) / values.size),
    )


def _check_maps(map_q: Sequence[Sequence[Rational]], map_k: Sequence[Sequence[Rational]]) -> int:
    """The number of signs r, once both maps are known to be (d_k, r)."""
    lengths_q, lengths_k = [len(row) for row in map_q], [len(row) for row in map_k]
    if not lengths_q or len(lengths_q) != len(lengths_k) or len({*lengths_q, *lengths_k}) != 1:
        rows = f"map_q and map_k have rows of lengths {lengths_q} and {lengths_k}"
        raise ValueError(f"{rows}; expected both (d_k, r)")
    signs = lengths_q[0]
    if signs > MAX_SIGNS:
        raise ValueError(f"map_q has {signs} columns; expected at most {MAX_SIGNS}")
    return signs


def _affine(
    matrix: Sequence[Sequence[Rational]], shift: Sequence[Rational], signs: tuple[int, ...]
) -> list[Rational]:
    return [_dot(row, signs) + offset for row, offset in zip(matrix, shift, strict=True)]


def _dot(left: Sequence[Rational], right: Sequence[Rational]) -> Rational:
    return sum((a * b for a, b in zip(left, right, strict=True)), start=0)


def _checked_moments(
    mean_q: npt.ArrayLike, cov_q: npt.ArrayLike, mean_k: npt.ArrayLike, cov_k: npt.ArrayLike
) -> tuple[Array, Array, Array, Array]:
    mean_q, cov_q = as_floating(mean_q), as_floating(cov_q)
    mean_k, cov_k = as_floating(mean_k), as_floating(cov_k)
    require_shape("mean_q", mean_q, {"d_k": None})
    d_k = mean_q.shape[0]
    require_shape("mean_k", mean_k, {"d_k": d_k})
    for name, covariance in {"cov_q": cov_q, "cov_k": cov_k}.items():
        require_shape(name, covariance, {"rows d_k": d_k, "columns d_k": d_k})
    return mean_q, cov_q, mean_k, cov_k


def _gaussian(rng: np.random.Generator, samples: int, mean: Array, covariance: Array) -> Array:
    # "eigh", not "cholesky": covariances of rank 1 (all components equal) are the counterexamples.
    return rng.multivariate_normal(
        mean, covariance, size=samples, check_valid="raise", method="eigh"
    )
