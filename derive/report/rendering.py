"""Document model -> LaTeX text, one function per part; the look is in `preamble.sty`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from itertools import groupby
from typing import Final

from derive import messages
from derive.messages import listing, say, space, suffix
from derive.report import layout
from derive.report.document import IN_MATRICES
from derive.report.errors import ReportError
from derive.report.formulas import badness, begins_narrow, displayed, fits, height
from derive.report.model import (
    Alarm,
    Anchor,
    Bars,
    Block,
    Claim,
    Count,
    Display,
    Document,
    Entry,
    Fault,
    Figure,
    Glossary,
    Link,
    Note,
    Notes,
    Paragraph,
    Passage,
    Report,
    Row,
    Rows,
    RunDetails,
    Table,
    Timing,
    Topic,
)
from derive.report.text import (
    breakable,
    escape,
    lines_at_most,
    lines_of_text,
    plain,
    set_code,
    set_text,
    tied,
)
from derive.report.words import tex_words
from derive.result import Verdict

RUN_BEGIN = "% --- run-dependent part: begins (all else depends on the input and the seed)"
RUN_END = "% --- run-dependent part: ends"

_MARK = {
    Verdict.PROVED: r"\markproved",
    Verdict.CONDITIONAL: r"\markconditional",
    Verdict.REFUTED: r"\markrefuted",
    Verdict.UNDECIDED: r"\markundecided",
    Verdict.NOT_MATHEMATICAL: r"\marknotmathematical",
}


_LINKS_OF_ROW: Final = 5

_LONG_REASON: Final = 7
"""A reason of so many lines in its column stands below its formula, if that is lower."""

_TEXT_BELOW: Final = 80.0
"""What it costs, in the sense of `costs`, that the text stands below the formula."""


@dataclass(frozen=True)
class _Columns:
    """The macro of a row, and the em that it has for the formula and for the text beside it."""

    name: str
    formula: float
    text: float


_REASONED: Final = _Columns("row", layout.FORMULA_EM, layout.REASON_EM)
_NOTED: Final = _Columns("note", layout.NOTED_EM, layout.NOTE_EM)


def render(report: Report) -> str:
    """The complete LaTeX document."""
    with messages.speaking(report.language):
        return _whole(report)


def _whole(report: Report) -> str:
    parts = [
        preamble(),
        r"\begin{document}",
        command("reporttitle", escape(report.scope)),
        _counts(report.counts),
        *[_alarm(alarm) for alarm in report.alarms],
        r"\tableofcontents",
        _entries(report.entries),
        *[_document(document) for document in report.documents],
        _figures(report.figures),
        _guide(report.guide),
        *[_topic(topic) for topic in report.topics],
        _models(report.models),
        _run(report.run),
        r"\end{document}",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def preamble() -> str:
    """The lengths of the page and the words, then the look that uses them."""
    lengths = [rf"\newcommand{{\{name}}}{{{length}}}" for name, length in layout.tex_lengths()]
    folder = resources.files("derive.report")
    names = ["preamble.sty", *fonts(messages.language()), "claims.sty"]
    looks = [folder.joinpath(name).read_text("utf-8") for name in names]
    words = tex_words(whole=True)
    return "\n".join([*lengths, *words, *(look.rstrip() for look in looks)])


def fonts(language: str) -> tuple[str, ...]:
    """The style that brings fonts for a language that needs other ones."""
    return ("chinese.sty",) if language == "zh" else ()


def command(name: str, *arguments: str) -> str:
    """``\\name{first}{second}``."""
    return f"\\{name}" + "".join(f"{{{argument}}}" for argument in arguments)


# -- the summary -----------------------------------------------------------------------------


def _counts(counts: tuple[Count, ...]) -> str:
    rows = [
        command("countrow", _MARK[count.verdict], str(count.number), escape(count.meaning))
        for count in counts
    ]
    total = command("totalrow", str(sum(count.number for count in counts)))
    return "\n".join([r"\begin{counts}", *rows, total, r"\end{counts}"])


def _guide(blocks: tuple[Block, ...]) -> str:
    return "\n\n".join([r"\guide", *map(_block, blocks)]) if blocks else ""


def _entries(entries: tuple[Entry, ...]) -> str:
    if not entries:
        return r"\noclaims"
    groups = groupby(entries, key=lambda entry: (entry.verdict, entry.topic))
    rows = [row for (_, topic), group in groups for row in _entries_of_topic(topic, group)]
    return "\n".join([r"\begin{entries}", *rows, r"\end{entries}"])


def _entries_of_topic(topic: str, entries: Iterable[Entry]) -> list[str]:
    heading = command("entrytopic", set_text(topic, layout.ENTRY_EM))
    return [heading, *map(_entry, entries)]


def _entry(entry: Entry) -> str:
    title = set_text(entry.title, layout.ENTRY_EM)
    details = [command("entrydetail", set_text(d, layout.ENTRY_EM)) for d in entry.details]
    places = _places(entry.places)
    return command("entry", _MARK[entry.verdict], title, "".join(details), places, entry.key)


# -- the notes -----------------------------------------------------------------------------


def _document(document: Document) -> str:
    heading = command("notepart", set_text(document.title, layout.BODY_EM), plain(document.title))
    parts = [heading, command("documentname", set_code(document.code))]
    parts += _environment("passages", [_passage(passage) for passage in document.passages])
    return "\n".join([*parts, *_environment("faults", [_fault(f) for f in document.faults])])


def _passage(passage: Passage) -> str:
    lines = escape(listing(*passage.lines.split(", ")).replace("-", "–"))
    says = set_text(passage.says, layout.SAYS_EM)
    first, *more = batched(passage.links, _LINKS_OF_ROW)
    rows = [command("passage", breakable(passage.name, 5), lines, says, _links(first))]
    return "\n".join(
        [*rows, *(command("morelinks", _links(links)) for links in more), r"\passageend"]
    )


def batched(links: tuple[Link, ...], most: int) -> list[tuple[Link, ...]]:
    """The links in rows of at most `most`, so that a page can end between."""
    return [links[start : start + most] for start in range(0, len(links), most)] or [()]


def _fault(fault: Fault) -> str:
    problem, instead = (set_text(text, layout.FAULT_EM) for text in (fault.problem, fault.instead))
    return command("fault", breakable(fault.places, 5), problem, instead, _links(fault.links))


def _links(links: tuple[Link, ...]) -> str:
    return "".join(
        command("claimlink", link.key, _sign(link.verdict), set_text(link.title, layout.LINK_EM))
        for link in links
    )


def _sign(verdict: Verdict) -> str:
    return _MARK[verdict].replace("mark", "sign")


def _places(anchors: tuple[Anchor, ...]) -> str:
    return escape(listing(*(anchor.name for anchor in anchors)))


# -- the pictures ----------------------------------------------------------------------------


def file_of(figure: Figure, language: str) -> str:
    """The name of the file that a picture has beside the document."""
    return f"report{suffix(language)}-{figure.name}.pdf"


def _figures(figures: tuple[Figure, ...]) -> str:
    return "\n\n".join([r"\pictures", *map(_figure, figures)]) if figures else ""


def _figure(figure: Figure) -> str:
    caption = set_text(figure.caption, layout.BODY_EM)
    return command("drawing", file_of(figure, messages.language()), escape(figure.title), caption)


# -- the claims ------------------------------------------------------------------------------


def _topic(topic: Topic) -> str:
    heading = command("topic", set_text(topic.title, layout.BODY_EM), plain(topic.title))
    return "\n\n".join([heading, *[render_claim(claim) for claim in topic.claims]])


def render_claim(claim: Claim) -> str:
    """The body of one claim."""
    try:
        head = command(
            "claim",
            set_text(claim.title, layout.BODY_EM),
            plain(claim.title),
            claim.key,
            _MARK[claim.verdict],
            set_code(claim.code),
            _places(claim.places),
        )
        return "\n\n".join([head, *_opening(claim.blocks)])
    except ReportError as error:
        error.locate(f"claim {claim.code}")
        raise


def _opening(blocks: tuple[Block, ...]) -> list[str]:
    """The blocks, with what comes first, up to the source, kept on one page."""
    texts = [_block(block) for block in blocks]
    first = next((k for k, b in enumerate(blocks) if isinstance(b, Paragraph) and b.code), None)
    if first is None:
        return texts
    return [r"\begin{opening}", *texts[: first + 1], r"\end{opening}", *texts[first + 1 :]]


def _block(block: Block) -> str:
    match block:
        case Paragraph():
            return _paragraph(block)
        case Alarm():
            return _alarm(block)
        case Display():
            return _display(block)
        case Rows():
            return "\n".join([*_label(block.label), *map(_row, block.rows)])
        case Notes():
            return _notes(block)
        case Glossary():
            return "\n".join([*_label(block.label), *map(_term, block.terms)])
        case Table():
            return _table(block)
        case Bars():
            return _bars(block)


def _models(blocks: tuple[Block, ...]) -> str:
    return "\n\n".join([r"\modeltotals", *map(_block, blocks)]) if blocks else ""


def _table(table: Table) -> str:
    """Rows under the heading of their group, on as many pages as they need."""
    lines = [command("begin", "comparison") + "".join(f"{{{escape(h)}}}" for h in table.head)]
    for heading, rows in table.groups:
        lines.append(command("comparisongroup", set_text(heading, layout.BODY_EM)))
        lines += [command("comparisonrow", *(set_text(c, layout.CELL_EM) for c in r)) for r in rows]
    return "\n".join([*lines, command("end", "comparison")])


def _bars(block: Bars) -> str:
    rows = [
        command("sharebar", set_text(b.name, layout.NOTE_EM), f"{b.thousandths / 1000:.3f}",
                f"{b.thousandths / 10:.1f}")
        for b in (*block.bars, block.mark)
    ]  # fmt: skip
    caption = command("barcaption", set_text(block.caption, layout.BODY_EM))
    return "\n".join([command("begin", "bars"), *rows, command("end", "bars"), caption])


def _label(label: str) -> list[str]:
    return [command("rows", escape(say(label)))] if label else []


def _paragraph(paragraph: Paragraph) -> str:
    code = ""
    if paragraph.code:
        where = escape(say("{what}.", what=paragraph.where) + space())
        code = set_code(paragraph.code) + where
    text = set_text(paragraph.text, layout.BODY_EM)
    return command("labelled", escape(say(paragraph.label))) + code + text


def _alarm(alarm: Alarm) -> str:
    return command("alarm", set_text(alarm.text, layout.BODY_EM))


def _display(display: Display) -> str:
    blocks = displayed(display.latex, layout.DISPLAY_EM)
    return "\n".join(command("displayedmath", block) for block in blocks)


def _row(row: Row) -> str:
    shown = row.shown if row.shown == row.latex else rf"\quad {row.shown}"
    text_lines = bool(row.code) + lines_of_text(row.reason, layout.REASON_EM)
    below = text_lines >= _LONG_REASON and text_lines > height(shown, layout.FORMULA_EM) + 3
    code = [set_code(row.code)] if row.code else []
    room = layout.BODY_EM if below else layout.REASON_EM
    reason = [tied(set_text(row.reason, room))] if row.reason else []
    beside = r" \\ ".join(code + reason)
    most = bool(row.code) + lines_at_most(row.reason, layout.REASON_EM)
    lines = [_beside(row.tag, shown, beside, _REASONED, most, below=below)]
    if row.matrix:
        lines.append(_in_matrices(row.matrix, _REASONED))
    return "\n".join(lines)


def _notes(block: Notes) -> str:
    """Notes have as much room as formulas, or little room as reasons: what takes fewer lines."""
    wide, narrow = (sum(_height(n, c) for n in block.notes) for c in (_NOTED, _REASONED))
    columns = _NOTED if wide <= narrow else _REASONED
    return "\n".join([*_label(block.label), *(_note(note, columns) for note in block.notes)])


def _height(note: Note, columns: _Columns) -> float:
    """How many lines a note takes."""
    formulas = [height(latex, columns.formula) for latex in (note.latex, note.matrix) if latex]
    text = lines_of_text(f"{note.code} {note.text}", columns.text)
    return max(formulas[0] if note.latex else 0.0, text) + sum(formulas[1:])


def _note(note: Note, columns: _Columns) -> str:
    code = [set_code(note.code)] if note.code else []
    beside = escape(say(": ")).join([*code, tied(set_text(note.text, layout.REASON_EM))])
    text_lines = lines_at_most(f"{note.code} {note.text}", layout.REASON_EM)
    lines = [_beside(note.tag, note.latex, beside, columns, text_lines)]
    if note.matrix:
        lines.append(_in_matrices(note.matrix, columns))
    return "\n".join(lines)


def _in_matrices(latex: str, columns: _Columns) -> str:
    """The row below a formula that says the same of matrices."""
    return command("inmatrices") + _beside("", latex, escape(say(IN_MATRICES)), columns)


def _term(term: tuple[str, str]) -> str:
    name, text = term
    return command("term", set_text(name, layout.NOTE_EM), set_text(text, layout.NOTE_EM))


def _beside(
    tag: str, latex: str, text: str, columns: _Columns, text_lines: int = 1, *, below: bool = False
) -> str:
    """A formula with a text at its right, or below where one of them needs the whole line.

    The text takes `text_lines` in the column of reasons.
    """
    if not latex:
        return command("saying", escape(tag), text)
    name, room = columns.name, columns.formula
    if below or not fits(latex, layout.SMALLER * room) or _better_alone(latex, room):
        name, room = "widerow", layout.WIDE_EM
        if not below and begins_narrow(latex, room, layout.FORMULA_EM, text_lines):
            name = "asiderow"
    blocks = displayed(latex, room, layout.MAX_ROW_LINES, layout.MAX_ROW_HEIGHT)
    more = "widerow" if room == layout.WIDE_EM else name
    names = [name, *[more] * (len(blocks) - 1)]
    tags = [escape(tag), *[""] * (len(blocks) - 1)]
    texts = [""] * len(blocks)
    texts[-1 if name == "widerow" else 0] = text  # below is below all of it
    rows = zip(names, tags, blocks, texts, strict=True)
    return "\n".join(command(n, t, command("fitmath", b), said) for n, t, b, said in rows)


def _better_alone(latex: str, room: float) -> bool:
    """Whether in the whole line the formula is broken at far better places."""
    bad = badness(latex, room)
    return bad > _TEXT_BELOW and bad > badness(latex, layout.WIDE_EM) + _TEXT_BELOW


# -- what differs between runs ---------------------------------------------------------------


def _run(run: RunDetails) -> str:
    settings = [
        command("setting", escape(say(name)), set_code(value)) for name, value in run.settings
    ]
    logs = [
        command("prooflog", set_code(log.code), escape(say(log.kind)), set_code(log.digest))
        for log in run.logs
    ]
    return "\n".join(
        [
            RUN_BEGIN,
            r"\rundetails",
            *_environment("settings", settings),
            *_environment("prooflogs", logs),
            *_environment("timings", [_timing(timing) for timing in run.timings]),
            RUN_END,
        ]
    )


def _environment(name: str, rows: list[str]) -> list[str]:
    return [command("begin", name), *rows, command("end", name)] if rows else []


def _timing(timing: Timing) -> str:
    return command(
        "timing", set_code(timing.code), f"{timing.symbolic:.2f}", f"{timing.numeric:.2f}"
    )
