"""Numeric twins: the evidence that stands beside a proof and can disagree with it.

A twin computes, with `numeric/`, the quantities that a claim speaks of, and says how they should
compare.  It shares no code with the symbolic side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from derive.result import TwinStatus, TwinView


@dataclass(frozen=True)
class Trial:
    """One comparison: `error` is 0 for perfect agreement, and agrees up to `tolerance`."""

    error: float
    tolerance: float | None = None
    what: str = ""


def equal(measured: Any, claimed: Any, what: str = "", tolerance: float | None = None) -> Trial:
    """The two agree; the error is relative to the largest claimed magnitude, at least 1."""
    a, b = _numbers(measured), _numbers(claimed)
    if a.shape != b.shape:
        return Trial(float("inf"), tolerance, f"{what}: shapes {a.shape} and {b.shape}")
    if a.size == 0:
        return Trial(0.0, tolerance, what)
    with np.errstate(invalid="ignore"):
        gap = float(np.max(np.abs(a - b)))
        scale = max(1.0, float(np.max(np.abs(b))))
    return Trial(gap / scale if np.isfinite(gap) else float("inf"), tolerance, what)


def _numbers(x: Any) -> np.ndarray:
    """As an array; yes and no count as 1 and 0."""
    a = np.asarray(x)
    return a.astype(int) if a.dtype == bool else a


def differs(measured: Any, claimed: Any, by: float, what: str = "") -> Trial:
    """The two differ by at least `by`; the error is what is missing of that."""
    a, b = np.asarray(measured, dtype=float), np.asarray(claimed, dtype=float)
    if a.shape != b.shape:
        return Trial(0.0, 0.0, what)
    gap = float(np.max(np.abs(a - b)))
    return Trial(max(0.0, by - gap) if np.isfinite(gap) else float("inf"), 0.0, what)


def at_most(smaller: Any, larger: Any, what: str = "", tolerance: float | None = None) -> Trial:
    """Entry by entry, the first is at most the second; the error is the largest excess."""
    excess = float(np.max(np.asarray(smaller, dtype=float) - np.asarray(larger, dtype=float)))
    return Trial(max(0.0, excess) if np.isfinite(excess) else float("inf"), tolerance, what)


@dataclass(frozen=True)
class Twin:
    """`trials` draws from the generator and yields comparisons; `compares` says of what."""

    compares: str
    trials: Callable[[np.random.Generator], Iterable[Trial]]
    tolerance: float = 1e-12

    def run(self, seed: int, claim_id: str) -> TwinView:
        """The same seed and claim give the same draws, whatever else is run."""
        rng = np.random.default_rng([seed, *claim_id.encode()])
        count, worst, failure = 0, 0.0, ""
        tolerance = self.tolerance
        for t in self.trials(rng):
            count += 1
            limit = self.tolerance if t.tolerance is None else t.tolerance
            tolerance = max(tolerance, limit)
            if not t.error <= limit:
                failure = failure or f"{t.what or self.compares}: error {t.error:.3g} > {limit:.3g}"
            worst = max(worst, t.error)
        if count == 0:
            failure = "the twin made no comparison"
        status = TwinStatus.DISAGREES if failure else TwinStatus.AGREES
        return TwinView(status, count, worst, tolerance, failure or self.compares)
