"""The sentences of the report that do not depend on the claim."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from derive.result import Errors, HypothesisView, Measure, Origin, TwinView, Verdict

NAME: Final = {
    Verdict.PROVED: "proved",
    Verdict.CONDITIONAL: "conditional",
    Verdict.REFUTED: "refuted",
    Verdict.UNDECIDED: "undecided",
    Verdict.NOT_MATHEMATICAL: "not mathematical",
}

MEANING: Final = {
    Verdict.REFUTED: "an exact counterexample meets every hypothesis and breaks the statement",
    Verdict.CONDITIONAL: (
        "proved once hypotheses are added; a counterexample shows of each that it is needed, "
        "and a witness meets them all"
    ),
    Verdict.UNDECIDED: "there is neither a proof nor a counterexample",
    Verdict.PROVED: "it follows from what the source states; nothing else is assumed",
    Verdict.NOT_MATHEMATICAL: "history, metaphor or advice, listed so that coverage is complete",
}
"""In the order in which a reader needs them: what is wrong first."""

ORIGIN: Final = {Origin.SOURCE: "from the source", Origin.ADDED: "added"}
_USED: Final = {True: "used", False: "not needed"}
REPLAYED: Final = {
    True: "The proof log was replayed by the independent checker.",
    False: "No proof log was replayed.",
}


def status(hypothesis: HypothesisView, verdict: Verdict) -> str:
    """Who states the hypothesis, and what becomes of it."""
    refuted = verdict is Verdict.REFUTED
    use = "met by the counterexample" if refuted else _USED[hypothesis.used]
    return f"{ORIGIN[hypothesis.origin]}, {use}"


def agreement(view: TwinView, number: Callable[[float], str]) -> str:
    """In how many comparisons a twin agrees, and how closely, as ``in 2 comparisons, exactly``."""
    groups = view.errors or (
        Errors(Measure.DIFFERENCE, view.tolerance, view.trials, view.max_error),
    )
    many = f"in {view.trials} comparison{'' if view.trials == 1 else 's'}"
    if len(groups) == 1:
        return f"{many}, {_closeness(groups[0], number)}"
    return f"{many}: " + ", ".join(f"{g.trials} {_closeness(g, number)}" for g in groups)


def _closeness(group: Errors, number: Callable[[float], str]) -> str:
    limits = f"(tolerance {number(group.tolerance)})"
    match group.measure:
        case Measure.EXACT:
            return "exactly"
        case Measure.DIFFERENCE if group.largest == 0:
            return "without any difference"
        case Measure.DIFFERENCE:
            return f"up to a difference of {number(group.largest)} {limits}"
        case Measure.STANDARD_ERRORS:
            return f"up to {number(group.largest)} standard errors {limits}"
        case Measure.APART:
            return "with the difference that has to be there"
