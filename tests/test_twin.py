"""Twins: what an error counts, and which errors are told."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest

from derive import wording
from derive.result import Measure, TwinStatus, TwinView
from derive.twin import Trial, Twin, at_most, differs, equal, sampled


def run(*trials: Trial, tolerance: float = 1e-12) -> TwinView:
    def given(_: np.random.Generator) -> Iterable[Trial]:
        return trials

    return Twin("numbers", given, tolerance).run(0, "tests/twin")


def said(view: TwinView) -> str:
    return wording.agreement(view, "{:.2g}".format)


def test_errors_of_different_measures_are_told_apart() -> None:
    view = run(
        equal(np.array([2, 3]), np.array([2, 3])),
        equal(1.0 + 1e-14, 1.0),
        equal(1.0, 1.0),
        equal(4.0, 4.0 + 1e-8, tolerance=1e-7),
        sampled(2.0, 1.0, 0.5),
        differs(1.0, 2.0, by=0.5),
    )
    assert view.status is TwinStatus.AGREES
    assert [(e.measure, e.tolerance, e.trials) for e in view.errors] == [
        (Measure.EXACT, 0.0, 1),
        (Measure.DIFFERENCE, 1e-12, 2),
        (Measure.DIFFERENCE, 1e-7, 1),
        (Measure.STANDARD_ERRORS, 5.0, 1),
        (Measure.APART, 0.0, 1),
    ]
    assert said(view) == (
        "in 6 comparisons: 1 exactly, 2 up to a difference of 1e-14 (tolerance 1e-12), "
        "1 up to a difference of 2.5e-09 (tolerance 1e-07), "
        "1 up to 2 standard errors (tolerance 5), 1 with the difference that has to be there"
    )


def test_the_worst_trial_is_the_one_nearest_to_its_tolerance() -> None:
    view = run(sampled(2.0, 1.0, 1.0), equal(1.0 + 9e-13, 1.0))
    assert view.max_error == pytest.approx(9e-13, rel=1e-3)
    assert view.tolerance == 1e-12
    view = run(sampled(5.0, 1.0, 1.0), equal(1.0 + 1e-15, 1.0))
    assert (view.max_error, view.tolerance) == (4.0, 5.0)


def test_whole_numbers_are_exact_unless_told_otherwise() -> None:
    assert said(run(equal(7, 7), equal(True, True), equal(1.0, 1.0))) == "in 3 comparisons, exactly"
    assert run(equal(10**15, 10**15 + 1)).status is TwinStatus.DISAGREES
    assert run(equal(10**15, 10**15 + 1, tolerance=1e-9)).status is TwinStatus.AGREES


@pytest.mark.parametrize(
    "trial",
    [
        sampled(np.array([0.0, 9.0]), 0.0, 1.0, "means"),
        sampled(float("nan"), 0.0, 1.0, "means"),
        differs(1.0, 1.1, by=0.5, what="means"),
        at_most(1.0, 0.5, "means"),
        equal(1.0, 2.0, "means"),
        equal(np.zeros(2), np.zeros(3), "means"),
        Trial(float("nan"), 1.0, "means"),
    ],
)
def test_a_failure_names_its_trial(trial: Trial) -> None:
    view = run(equal(1, 1), trial)
    assert view.status is TwinStatus.DISAGREES
    assert view.reason.startswith("means: ")


def test_no_comparison_is_a_failure() -> None:
    assert run().status is TwinStatus.DISAGREES
