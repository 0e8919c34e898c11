"""The sentences of the report that do not depend on the claim."""

from __future__ import annotations

from typing import Final

from derive.result import HypothesisView, Origin, Verdict

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
