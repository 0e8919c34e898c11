"""Numeric twins: the evidence that stands beside a proof and can disagree with it.

A twin computes, with `numeric/`, the quantities that a claim speaks of, and says how they should
compare.  It shares no code with the symbolic side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from derive.result import Errors, Measure, TwinStatus, TwinView


@dataclass(frozen=True)
class Trial:
    """One comparison: `error` is 0 for perfect agreement, and agrees up to `tolerance`."""

    error: float
    tolerance: float | None = None
    what: str = ""
    measure: Measure = Measure.DIFFERENCE


def equal(measured: Any, claimed: Any, what: str = "", tolerance: float | None = None) -> Trial:
    """The two agree; whole numbers exactly, unless a tolerance is given.

    The error is relative to the largest claimed magnitude, at least 1.
    """
    a, b = _numbers(measured), _numbers(claimed)
    whole = tolerance is None and all(x.dtype.kind in "iuO" for x in (a, b))
    measure = Measure.EXACT if whole else Measure.DIFFERENCE
    limit = 0.0 if whole else tolerance
    if a.shape != b.shape:
        return Trial(float("inf"), limit, f"{what}: shapes {a.shape} and {b.shape}", measure)
    if a.size == 0:
        return Trial(0.0, limit, what, measure)
    with np.errstate(invalid="ignore"):
        gap = float(np.max(np.abs(a - b)))
        scale = max(1.0, float(np.max(np.abs(b))))
    return Trial(gap / scale if np.isfinite(gap) else float("inf"), limit, what, measure)


def _numbers(x: Any) -> np.ndarray:
    """As an array; yes and no count as 1 and 0."""
    a = np.asarray(x)
    return a.astype(int) if a.dtype == bool else a


def differs(measured: Any, claimed: Any, by: float, what: str = "") -> Trial:
    """The two differ by at least `by`; the error is what is missing of that."""
    a, b = np.asarray(measured, dtype=float), np.asarray(claimed, dtype=float)
    if a.shape != b.shape:
        return Trial(0.0, 0.0, what, Measure.APART)
    gap = float(np.max(np.abs(a - b)))
    missing = max(0.0, by - gap) if np.isfinite(gap) else float("inf")
    return Trial(missing, 0.0, what, Measure.APART)


def at_most(smaller: Any, larger: Any, what: str = "", tolerance: float | None = None) -> Trial:
    """Entry by entry, the first is at most the second; the error is the largest excess."""
    excess = float(np.max(np.asarray(smaller, dtype=float) - np.asarray(larger, dtype=float)))
    return Trial(max(0.0, excess) if np.isfinite(excess) else float("inf"), tolerance, what)


def sampled(
    measured: Any, claimed: Any, standard_error: Any, what: str = "", limit: float = 5.0
) -> Trial:
    """Means over random samples agree with the claimed values up to `limit` standard errors."""
    off = float(np.max(np.abs(np.asarray(measured) - claimed) / np.asarray(standard_error)))
    return Trial(off if np.isfinite(off) else float("inf"), limit, what, Measure.STANDARD_ERRORS)


@dataclass(frozen=True)
class Twin:
    """`trials` draws from the generator and yields comparisons; `compares` says of what."""

    compares: str
    trials: Callable[[np.random.Generator], Iterable[Trial]]
    tolerance: float = 1e-12

    def run(self, seed: int, claim_id: str) -> TwinView:
        """The same seed and claim give the same draws, whatever else is run."""
        rng = np.random.default_rng([seed, *claim_id.encode()])
        failure = ""
        groups: dict[tuple[Measure, float], list[float]] = {}
        for t in self.trials(rng):
            limit = self.tolerance if t.tolerance is None else t.tolerance
            groups.setdefault((t.measure, limit), []).append(t.error)
            if not t.error <= limit:
                unit = " standard errors" if t.measure is Measure.STANDARD_ERRORS else ""
                failure = failure or (
                    f"{t.what or self.compares}: error {t.error:.3g} > {limit:.3g}{unit}"
                )
        if not groups:
            failure = "the twin made no comparison"
        errors = tuple(
            Errors(measure, limit, len(found), _largest(found))
            for (measure, limit), found in sorted(groups.items(), key=_order)
        )
        worst = max(errors, key=_severity, default=Errors(Measure.EXACT, 0.0, 0, 0.0))
        return TwinView(
            TwinStatus.DISAGREES if failure else TwinStatus.AGREES,
            sum(e.trials for e in errors),
            worst.largest,
            worst.tolerance,
            failure or self.compares,
            errors,
        )


def _order(group: tuple[tuple[Measure, float], Any]) -> tuple[int, float]:
    (measure, limit), _ = group
    return list(Measure).index(measure), limit


def _largest(errors: list[float]) -> float:
    """The largest error; one that is not a number counts as the largest."""
    return max(errors, key=lambda e: float("inf") if np.isnan(e) else e)


def _severity(e: Errors) -> tuple[float, float]:
    """The largest error as a share of its tolerance."""
    if np.isnan(e.largest) or (e.largest > 0 and e.tolerance == 0):
        return float("inf"), e.tolerance
    return (e.largest / e.tolerance if e.tolerance else 0.0), e.tolerance
