"""Results in the language that is spoken: what a claim says comes from the catalogue of its topic.

Where each text of a result stands is told in one place, `with_texts`: the tool that makes the
catalogues walks through the same texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Final

from derive import messages
from derive.kernel.axioms import AXIOMS, EVALUATIONS
from derive.messages import mark
from derive.report.composed import TEMPLATES
from derive.result import AxiomView, MutationView, Result, StepView

#: Domains of texts that belong to no claim; the claims of a topic have one of their own.
NOTES: Final = "notes"
TRUSTED: Final = "trusted-base"
PUBLISHED: Final = "published"

#: Given a text and what it is, what stands in its place.
Change = Callable[[str, str], str]

_IN_FORMULAS: Final = (
    mark("is differentiable at"),
    mark("is undefined"),
    mark("true"),
    mark("false"),
    mark("(not understood)"),
    mark("({number} digits)"),
)
"""Words that stand in formulas; other text there is a part of a symbol's name."""


def domain_of(topic: str) -> str:
    """The domain of a topic's claims."""
    return f"claims-{re.sub(r'[^a-z0-9-]+', '-', topic.lower())}"


def localized(result: Result) -> Result:
    """The result with every text, also within formulas, in the language that is spoken."""
    if messages.language() == messages.ENGLISH:
        return result
    domain = domain_of(result.topic)
    return with_texts(result, lambda text, what: _told(text, what, domain))


def _told(text: str, what: str, domain: str) -> str:
    if what == FORMULA:
        return formula(text)
    if what == AXIOM:
        return messages.told(text, TRUSTED)
    found = messages.told(text, domain)
    return composed(text) if found == text and what in FOUND_OUT else found


FORMULA: Final = "formula"
AXIOM: Final = "axiom"
COMPARES: Final = "what the twin compares"
REASON: Final = "reason of the verdict"
UNCERTIFIED: Final = "why there is no certificate"

FOUND_OUT: Final = frozenset({COMPARES, REASON, UNCERTIFIED})
"""Where a text may stand that was put together while the claim was settled."""


def with_texts(result: Result, change: Change) -> Result:
    """The result with each of its texts and formulas changed; all else stays as it is."""

    def formulas(values: dict[str, str]) -> dict[str, str]:
        return {name: change(value, FORMULA) for name, value in values.items()}

    def steps(rows: tuple[StepView, ...]) -> tuple[StepView, ...]:
        return tuple(_step(row, change) for row in rows)

    return replace(
        result,
        title=change(result.title, "title"),
        source=replace(result.source, says=change(result.source.says, "what the source says")),
        statement=change(result.statement, FORMULA),
        matrix=change(result.matrix, FORMULA),
        correction_matrix=change(result.correction_matrix, FORMULA),
        ranges=change(result.ranges, FORMULA),
        hypotheses=tuple(
            replace(
                h,
                latex=change(h.latex, FORMULA),
                matrix=change(h.matrix, FORMULA),
                note=change(h.note, "note of a hypothesis"),
            )
            for h in result.hypotheses
        ),
        steps=steps(result.steps),
        axioms=tuple(_axiom(a, change) for a in result.axioms),
        counterexamples=tuple(
            replace(
                c,
                values=formulas(c.values),
                latex=change(c.latex, FORMULA),
                breaks=change(c.breaks, FORMULA),
            )
            for c in result.counterexamples
        ),
        witness=formulas(result.witness),
        correction=None if result.correction is None else change(result.correction, FORMULA),
        correction_steps=steps(result.correction_steps),
        certificate_reason=change(result.certificate_reason, UNCERTIFIED),
        twin=replace(result.twin, reason=change(result.twin.reason, COMPARES)),
        reason=change(result.reason, REASON),
        remark=change(result.remark, "remark"),
        mutations=tuple(_mutation(m, change) for m in result.mutations),
    )


def _step(row: StepView, change: Change) -> StepView:
    """Where the step is an axiom, its name stands before the reason."""
    name, colon, reason = row.reason.partition(": ")
    if row.rule == "axiom" and (name in AXIOMS or name in EVALUATIONS):
        between = messages.say(": ") if colon else ""
        said = f"{name}{between}{change(reason, 'reason of a step')}"
    else:
        said = change(row.reason, "reason of a step")
    formulas = {"latex": change(row.latex, FORMULA), "matrix": change(row.matrix, FORMULA)}
    return replace(row, reason=said, **formulas)


def _axiom(axiom: AxiomView, change: Change) -> AxiomView:
    return replace(
        axiom,
        citation=change(axiom.citation, AXIOM),
        latex=change(axiom.latex, FORMULA),
        condition=change(axiom.condition, AXIOM),
    )


def _mutation(mutation: MutationView, change: Change) -> MutationView:
    return replace(
        mutation,
        says=change(mutation.says, "a mistake that has to be caught"),
        statement=change(mutation.statement, FORMULA),
    )


# -- texts that are made while claims are settled ----------------------------------------------


def composed(text: str) -> str:
    """A text that one of the templates gives, from its translation; any other as it is."""
    found = template_of(text)
    if found is None:
        return messages.told(text, messages.PROGRAM)
    template, values = found
    return messages.say(template, **{name: composed(value) for name, value in values.items()})


def template_of(text: str) -> tuple[str, dict[str, str]] | None:
    """The template that gives the text, and what its fields hold."""
    for template in TEMPLATES:
        found = _pattern(template).fullmatch(text)
        if found is not None:
            return template, found.groupdict()
    return None


@cache
def _pattern(template: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\\{([a-z_]+)\\\}", r"(?P<\1>.+?)", re.escape(template)), re.DOTALL)


# -- words within formulas ---------------------------------------------------------------------

_TEXT: Final = re.compile(r"\\text\{( *)([^{}]*?)( *)\}")
_DIGITS: Final = re.compile(r"\((\d+) digits\)")


def formula(latex: str) -> str:
    """A formula whose words, not the names of its symbols, are in the language spoken."""
    if r"\text{" not in latex or messages.language() == messages.ENGLISH:
        return latex
    return _TEXT.sub(_words, latex)


def _words(found: re.Match[str]) -> str:
    before, words, after = found.groups()
    digits = _DIGITS.fullmatch(words)
    if digits:
        said = messages.say("({number} digits)", number=digits[1])
    elif words in _IN_FORMULAS:
        said = messages.told(words, messages.PROGRAM)
    else:
        return found[0]
    # a space that ends the text is dropped by TeX behind a Chinese character
    return rf"\text{{{before}{said}}}" + (r"\;" if after else "")
