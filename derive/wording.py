"""The sentences of the report that do not depend on the claim."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from derive.messages import counted, listing, mark, say, sentences
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
NOT_RUN: Final = mark("not checked by Coq here; derive certify --check does that")

NAME: Final = {
    Verdict.PROVED: mark("proved"),
    Verdict.CONDITIONAL: mark("conditional"),
    Verdict.REFUTED: mark("refuted"),
    Verdict.UNDECIDED: mark("undecided"),
    Verdict.NOT_MATHEMATICAL: mark("not mathematical"),
}

MEANING: Final = {
    Verdict.REFUTED: mark(
        "an exact counterexample meets every hypothesis and breaks the statement"
    ),
    Verdict.CONDITIONAL: mark(
        "proved once hypotheses are added; a counterexample shows of each that it is needed, "
        "and a witness meets them all"
    ),
    Verdict.UNDECIDED: mark("there is neither a proof nor a counterexample"),
    Verdict.PROVED: mark("it follows from what the source states; nothing else is assumed"),
    Verdict.NOT_MATHEMATICAL: mark(
        "history, metaphor or advice, listed so that coverage is complete"
    ),
}
"""In the order in which a reader needs them: what is wrong first."""

ORIGIN: Final = {Origin.SOURCE: mark("from the source"), Origin.ADDED: mark("added")}
_USED: Final = {True: mark("used"), False: mark("not needed")}


def name_of(verdict: Verdict) -> str:
    """The verdict in the language that is spoken."""
    return say(NAME[verdict])


def replayed(result: Result) -> str:
    """Who has accepted the proof logs besides the program that found them."""
    if not result.replayed:
        return say("No proof log was replayed.")
    if result.certificate == "coq":
        return say("The proof log was replayed by the independent checker and by Coq.")
    why = result.certificate_reason
    uncertified = say("No certificate: {why}.", why=why) if why and why != say(NOT_RUN) else ""
    return sentences(say("The proof log was replayed by the independent checker."), uncertified)


def scope(results: Sequence[Result]) -> str:
    """What was verified, in a few sentences."""
    if not results:
        return ""
    documents = list(dict.fromkeys(result.source.document for result in results))
    replayed = sum(result.replayed for result in results)
    agreeing = sum(result.twin.status is TwinStatus.AGREES for result in results)
    return sentences(
        counted(
            "{claims} from {documents} was settled.",
            "{claims} from {documents} were settled.",
            len(results),
            claims=_claims(len(results)),
            documents=counted("{number} document", "{number} documents", len(documents)),
        ),
        say(
            "The proof logs of {replayed} were replayed by a checker of their own, without search "
            "and without computer algebra; the numeric twins of {agreeing} agree.",
            replayed=_claims(replayed),
            agreeing=_claims(agreeing),
        ),
    )


def _claims(number: int) -> str:
    return counted("{number} claim", "{number} claims", number)


def status(hypothesis: HypothesisView, verdict: Verdict) -> str:
    """Who states the hypothesis, and whether a proof used it; a counterexample meets them all."""
    origin = say("notation") if hypothesis.notation else say(ORIGIN[hypothesis.origin])
    return origin if verdict is Verdict.REFUTED else listing(origin, say(_USED[hypothesis.used]))


def in_words(condition: str) -> bool:
    """Whether the condition of an axiom is a sentence rather than a formula."""
    return re.search(r"(?<![\\A-Za-z])[A-Za-z]{4,}|[\u4e00-\u9fff]", condition) is not None


def agreement(view: TwinView, number: Callable[[float], str]) -> str:
    """In how many comparisons a twin agrees, and how closely, as ``in 2 comparisons, exactly``."""
    groups = _by_closeness(view)
    many = counted("in {number} comparison", "in {number} comparisons", view.trials)
    if len(groups) == 1:
        return listing(many, _closeness(groups[0], number))
    parts = (say("{trials} {how}", trials=g.trials, how=_closeness(g, number)) for g in groups)
    return say("{what}: {more}", what=many, more=listing(*parts))


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
    limit, largest = number(group.tolerance), number(group.largest)
    match group.measure:
        case Measure.EXACT:
            return say("exactly")
        case Measure.DIFFERENCE:
            return say(
                "up to a difference of {largest} (tolerance {limit})", largest=largest, limit=limit
            )
        case Measure.STANDARD_ERRORS:
            return say(
                "up to {largest} standard errors (tolerance {limit})", largest=largest, limit=limit
            )
        case Measure.APART:
            return say("with the difference that has to be there")
