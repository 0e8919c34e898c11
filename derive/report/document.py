"""Results -> document model: which parts a claim has, in which order, and what they say."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from derive import messages, wording
from derive.messages import listing, mark, say, sentences
from derive.report.formulas import em, shared_value, single_relation
from derive.report.guide import guide
from derive.report.localizing import localized
from derive.report.model import (
    Alarm,
    Block,
    Claim,
    Count,
    Display,
    Entry,
    Figure,
    Note,
    Notes,
    Paragraph,
    ProofLog,
    Report,
    Row,
    Rows,
    RunDetails,
    Timing,
    Topic,
)
from derive.report.models import models
from derive.report.notes import anchors, documents
from derive.report.values import assignment, number
from derive.result import (
    AxiomView,
    CounterexampleView,
    HypothesisView,
    MutationView,
    Result,
    StepView,
    TwinStatus,
    TwinView,
    Verdict,
)

AXIOMS: Final = mark("Axioms")
"""The label of the notes that are the same for all claims which use them."""

IN_MATRICES: Final = mark("in matrix form")
"""What stands beside the second form of a line."""

MUTATIONS: Final = mark("Mistakes that have to be caught")
"""The label of the notes that are no part of the claim's argument."""

TWIN: Final = mark("Numeric twin")


def build(
    results: Sequence[Result],
    *,
    settings: Mapping[str, str],
    complete: bool = False,
    figures: Sequence[Figure] = (),
    language: str = messages.ENGLISH,
) -> Report:
    """The whole document; topics and claims keep the order in which they come.

    `settings` say how the results were made: seed, command, versions. `complete` says that the
    results are all claims of the notes, so that all that is wrong in these is listed, too. Of the
    `figures` those are taken that belong to one of the topics.  `language` is one of
    `derive.messages.LANGUAGES`.
    """
    with messages.speaking(language):
        return _report(list(map(localized, results)), settings, complete=complete, figures=figures)


def _report(
    results: Sequence[Result],
    settings: Mapping[str, str],
    *,
    complete: bool,
    figures: Sequence[Figure],
) -> Report:
    keyed = list(zip(keys(results), results, strict=True))
    topics = dict.fromkeys(result.topic for result in results)
    return Report(
        scope=wording.scope(results),
        counts=tuple(_count(verdict, results) for verdict in wording.MEANING),
        alarms=tuple(_alarms(results)),
        entries=tuple(
            _entry(result, key)
            for verdict in wording.MEANING
            for key, result in keyed
            if result.verdict is verdict
        ),
        documents=documents(keyed, complete=complete),
        figures=tuple(f for f in figures if not topics.keys().isdisjoint(f.topics)),
        guide=guide(results),
        topics=tuple(
            Topic(
                topic_key(topic),
                _topic_title(topic),
                tuple(claim(result, key) for key, result in keyed if result.topic == topic),
            )
            for topic in topics
        ),
        run=_run(results, settings),
        models=models(results),
        language=messages.language(),
    )


def topic_key(topic: str) -> str:
    """A topic as a link target; unlike the targets of claims it has no dot."""
    return "topic-" + re.sub(r"[^a-z0-9]+", "-", topic.lower())


def keys(results: Sequence[Result]) -> list[str]:
    """A link target for each claim, made from its id."""
    keys: list[str] = []
    for result in results:
        key = re.sub(r"[^a-z0-9-]+", ".", result.id.lower())
        keys.append(f"{key}.{len(keys) + 1}" if key in keys else key)
    return keys


def _run(results: Sequence[Result], settings: Mapping[str, str]) -> RunDetails:
    return RunDetails(
        settings=tuple(settings.items()),
        logs=tuple(ProofLog(r.id, log.kind, log.digest) for r in results for log in r.logs),
        timings=tuple(Timing(r.id, r.seconds_symbolic, r.seconds_numeric) for r in results),
    )


def _topic_title(topic: str) -> str:
    """A topic such as `positional-encoding` as a heading; other titles as they are."""
    return say(topic_title(topic))


def topic_title(topic: str) -> str:
    """The same in English."""
    if topic in _TOPICS:
        return _TOPICS[topic]
    if not re.fullmatch(r"[a-z0-9_-]+", topic):
        return topic
    return re.sub(r"[-_]+", " ", topic).capitalize()


_TOPICS: Final = {
    "attention-average": mark("Attention as an average"),
    "cross-attention": mark("Cross-attention"),
    "multi-head": mark("Multi-head attention"),
    "multi-head-backward": mark("Multi-head attention, backward"),
    "feed-forward": mark("Feed-forward network"),
    "layer-norm": mark("Layer normalisation"),
    "residual": mark("Residual connections"),
    "scaling": mark("Scaled dot products"),
    "relu": mark("ReLU"),
}
"""Topics whose name alone would not do as a heading."""


def _count(verdict: Verdict, results: Sequence[Result]) -> Count:
    found = sum(result.verdict is verdict for result in results)
    return Count(verdict, found, say(wording.MEANING[verdict]))


def _alarms(results: Sequence[Result]) -> list[Alarm]:
    unexpected = sum(result.unexpected for result in results)
    disagreeing = sum(result.twin.status is TwinStatus.DISAGREES for result in results)
    alarms = []
    if unexpected:
        differ = say("Verdicts that differ from the expected one: {number}.", number=unexpected)
        alarms.append(Alarm(differ))
    if disagreeing:
        twins = say("Numeric twins that disagree with a proof: {number}.", number=disagreeing)
        alarms.append(Alarm(twins))
    return alarms


def _entry(result: Result, key: str) -> Entry:
    details = tuple(map(_one_line, result.counterexamples))
    title = _topic_title(result.topic)
    return Entry(key, title, result.title, result.verdict, anchors(result), details)


_LINE_EM: Final = 20.0
"""A longer outcome is told by the value of both sides, where they have the same."""


def _one_line(counterexample: CounterexampleView) -> str:
    values = assignment(counterexample.values)
    shared = shared_value(counterexample.latex) if counterexample.latex else None
    if shared is not None and em(counterexample.latex) > _LINE_EM:
        outcome = say("both sides are ${value}$", value=shared)
    else:
        outcome = f"${counterexample.latex}$" if counterexample.latex else ""
    if not (values and outcome):
        return values or outcome
    return say("{what}: {more}", what=values, more=outcome)


def claim(result: Result, key: str) -> Claim:
    """All parts of a claim that there is something to say of."""
    blocks: list[Block] = [
        *_statement(result),
        *_notes(
            mark("Hypotheses"), "H", [_hypothesis(h, result.verdict) for h in result.hypotheses]
        ),
        *_rows(mark("Derivation"), "", result.steps, [result.matrix]),
        *_notes(AXIOMS, "A", [_axiom(a) for a in result.axioms]),
        *_verdict(result),
        *_counterexamples(result),
        *_witness(result),
        *_correction(result),
        *(_twin(result.twin) if result.statement else []),
        *_notes(MUTATIONS, "M", [_mutation(m) for m in result.mutations]),
        *_optional(mark("Remark"), result.remark),
    ]
    return Claim(key, result.id, result.title, result.verdict, anchors(result), tuple(blocks))


def _statement(result: Result) -> list[Block]:
    source = result.source
    where = listing("", *source.places) if source.places else ""
    shown: list[Block] = [Display(result.statement)] if result.statement else []
    shown += _in_matrices(result.matrix)
    if result.ranges:
        shown.append(Paragraph(mark("For all"), f"${result.ranges}$"))
    return [*shown, Paragraph(mark("Source"), source.says, code=source.document, where=where)]


def _in_matrices(latex: str) -> list[Block]:
    return [Paragraph(mark("In matrix form"), ""), Display(latex)] if latex else []


def _rows(
    label: str, prefix: str, steps: Sequence[StepView], told: Sequence[str] = ()
) -> list[Block]:
    """Numbered lines; a line that goes on where the one before ended does not repeat its left, and
    none repeats a matrix form.

    A line with a reason in words does not name its rule if that is the one of most lines.  What is
    supposed goes on nowhere, and nothing goes on from a number: ``m = 1`` and ``1 < m`` are no
    chain.
    """
    rows: list[Row] = []
    in_matrices = {"", *told}
    right = ""
    for place, step in enumerate(steps, start=1):
        chain = single_relation(step.latex)
        goes_on = chain is not None and chain[0] == right and step.rule != "assume"
        shown = f"{chain[1]} {chain[2]}" if chain is not None and goes_on else step.latex
        matrix = "" if step.matrix in in_matrices else step.matrix
        in_matrices.add(matrix)
        tag = f"{prefix}{place}"
        rule = "" if step.rule == _UNNAMED and step.reason else step.rule
        rows.append(Row(tag, step.latex, shown, rule, step.reason, matrix))
        right = "" if chain is None or _NUMBER.fullmatch(chain[2]) else chain[2]
    return [Rows(label, tuple(rows))] if rows else []


_UNNAMED: Final = "linear-combination"
"""The rule of most lines: their reason in words says more."""

_NUMBER: Final = re.compile(r"-?\s*(?:\d+|\\frac\{\d+\}\{\d+\})")


def _notes(label: str, prefix: str, notes: list[Note]) -> list[Block]:
    numbered = tuple(
        replace(note, tag=f"{prefix}{place}") for place, note in enumerate(notes, start=1)
    )
    return [Notes(label, numbered)] if numbered else []


def _hypothesis(hypothesis: HypothesisView, verdict: Verdict) -> Note:
    status = wording.status(hypothesis, verdict)
    note = hypothesis.note
    text = say("{what} ({more})", what=note, more=status) if note else status
    return Note("", hypothesis.latex, "", text, hypothesis.matrix)


def _axiom(axiom: AxiomView) -> Note:
    if axiom.condition and axiom.latex.startswith(axiom.condition):
        return Note("", axiom.latex, axiom.name, axiom.citation)
    if wording.in_words(axiom.condition) or not axiom.latex:
        text = axiom.citation
        if axiom.condition:
            text = say("if {condition}; {text}", condition=axiom.condition, text=text)
        return Note("", axiom.latex, axiom.name, text)
    where = rf"\quad ({axiom.condition})" if axiom.condition else ""
    return Note("", axiom.latex + where, axiom.name, axiom.citation)


def _mutation(mutation: MutationView) -> Note:
    by = say(" and ").join(map(say, mutation.caught_by.split(" and ")))
    text = say("{what} (caught by: {by})", what=mutation.says, by=by)
    return Note("", mutation.statement, "", text)


_CAUGHT_BY: Final = (mark("counterexample"), mark("no proof"), mark("twin"), mark("nothing"))
"""What `MutationView.caught_by` names."""


def _verdict(result: Result) -> list[Block]:
    name = wording.name_of(result.verdict).capitalize()
    if result.unexpected:
        expected = wording.name_of(result.expected)
        found = say("{verdict} (expected: {expected}).", verdict=name, expected=expected)
    else:
        found = say("{verdict} (as expected).", verdict=name)
    checked = wording.replayed(result) if result.replayed or result.steps else ""
    paragraph = Paragraph(mark("Verdict"), sentences(found, result.reason, checked))
    if not result.unexpected:
        return [paragraph]
    alarm = say("This is not the verdict that the claim's module expects.")
    return [Alarm(alarm), paragraph]


def _counterexamples(result: Result) -> list[Block]:
    blocks: list[Block] = []
    for example in result.counterexamples:
        values, breaks = assignment(example.values), example.breaks
        taken = say("Take {values}.", values=values) if values else ""
        broken = (
            say("This breaks the added hypothesis ${breaks}$.", breaks=breaks) if breaks else ""
        )
        then = say("Then") if values or breaks else say("The negation of the statement holds:")
        evaluated = then if example.latex else ""
        blocks.append(Paragraph(mark("Counterexample"), sentences(taken, broken, evaluated)))
        if example.latex:
            blocks.append(Display(example.latex))
    return blocks


def _witness(result: Result) -> list[Block]:
    if not result.witness:
        return []
    values = assignment(result.witness)
    meets = say("{values} meets all hypotheses, so they can hold together.", values=values)
    return [Paragraph(mark("Witness"), meets)]


def _correction(result: Result) -> list[Block]:
    if result.correction is None:
        return []
    shown = [Display(result.correction), *_in_matrices(result.correction_matrix)]
    told = [result.correction_matrix]
    proof = _rows(mark("Its derivation"), "C", result.correction_steps, told)
    return [Paragraph(mark("Corrected statement"), ""), *shown, *proof]


def _twin(twin: TwinView) -> list[Block]:
    if twin.status is TwinStatus.NONE:
        return [Paragraph(TWIN, sentences(say("None."), twin.reason))]
    if twin.status is TwinStatus.DISAGREES:
        worst = say(
            "Disagrees: {reason}. Worst of {trials} trials: error {error}, tolerance {limit}.",
            reason=twin.reason, trials=twin.trials, error=number(twin.max_error),
            limit=number(twin.tolerance),
        )  # fmt: skip
        alarm = say("The numeric twin disagrees: an error in this project, not a verdict.")
        return [Alarm(alarm), Paragraph(TWIN, worst)]
    agrees = say("Agrees {how}.", how=wording.agreement(twin, number))
    what = twin.reason.rstrip(".")
    compared = say("Compared: {what}.", what=what) if what else ""
    return [Paragraph(TWIN, sentences(agrees, compared))]


def _optional(label: str, text: str) -> list[Block]:
    return [Paragraph(label, text)] if text else []
