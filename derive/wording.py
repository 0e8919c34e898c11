"""The sentences of the report that do not depend on the claim."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from derive.result import (
    Errors,
    HypothesisView,
    Measure,
    Origin,
    Result,
    TwinStatus,
    TwinView,
    Verdict,
)

#: The reason of what Coq was not asked about, which would say nothing of any claim.
NOT_RUN: Final = "not checked by Coq here; derive certify --check does that"

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


def replayed(result: Result) -> str:
    """Who has accepted the proof logs besides the program that found them."""
    if not result.replayed:
        return "No proof log was replayed."
    if result.certificate == "coq":
        return "The proof log was replayed by the independent checker and by Coq."
    why = result.certificate_reason
    uncertified = f" No certificate: {why}." if why and why != NOT_RUN else ""
    return f"The proof log was replayed by the independent checker.{uncertified}"


def scope(results: Sequence[Result]) -> str:
    """What was verified, in a few sentences."""
    if not results:
        return ""
    documents = list(dict.fromkeys(result.source.document for result in results))
    replayed = sum(result.replayed for result in results)
    agreeing = sum(result.twin.status is TwinStatus.AGREES for result in results)
    return (
        f"{_counted(len(results), 'claim')} from {_counted(len(documents), 'document')} "
        f"{'was' if len(results) == 1 else 'were'} settled. The proof logs of "
        f"{_counted(replayed, 'claim')} were replayed by a checker of their own, without search "
        f"and without computer algebra; the numeric twins of {_counted(agreeing, 'claim')} agree."
    )


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def status(hypothesis: HypothesisView, verdict: Verdict) -> str:
    """Who states the hypothesis, and whether a proof used it; a counterexample meets them all."""
    origin = "notation" if hypothesis.notation else ORIGIN[hypothesis.origin]
    return origin if verdict is Verdict.REFUTED else f"{origin}, {_USED[hypothesis.used]}"


def in_words(condition: str) -> bool:
    """Whether the condition of an axiom is a sentence rather than a formula."""
    return re.search(r"(?<![\\A-Za-z])[A-Za-z]{4,}", condition) is not None


def agreement(view: TwinView, number: Callable[[float], str]) -> str:
    """In how many comparisons a twin agrees, and how closely, as ``in 2 comparisons, exactly``."""
    groups = _by_closeness(view)
    many = f"in {_counted(view.trials, 'comparison')}"
    if len(groups) == 1:
        return f"{many}, {_closeness(groups[0], number)}"
    return f"{many}: " + ", ".join(f"{g.trials} {_closeness(g, number)}" for g in groups)


def _by_closeness(view: TwinView) -> list[Errors]:
    """The groups of a twin's errors; all numbers that do not differ at all are one group."""
    groups = view.errors or (
        Errors(Measure.DIFFERENCE, view.tolerance, view.trials, view.max_error),
    )
    equal = {Measure.EXACT, Measure.DIFFERENCE}
    exact = [g for g in groups if g.measure in equal and g.largest == 0]
    together = Errors(Measure.EXACT, 0.0, sum(g.trials for g in exact), 0.0)
    return [*([together] if exact else []), *(g for g in groups if g not in exact)]


def _closeness(group: Errors, number: Callable[[float], str]) -> str:
    limits = f"(tolerance {number(group.tolerance)})"
    match group.measure:
        case Measure.EXACT:
            return "exactly"
        case Measure.DIFFERENCE:
            return f"up to a difference of {number(group.largest)} {limits}"
        case Measure.STANDARD_ERRORS:
            return f"up to {number(group.largest)} standard errors {limits}"
        case Measure.APART:
            return "with the difference that has to be there"
