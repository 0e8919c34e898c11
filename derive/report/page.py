"""Document model -> one HTML page that needs nothing else; the look is in `page.css`.

Nothing in it needs the script `page.js`, which filters, folds and copies.  End tags that HTML lets
one leave out are left out, and a formula is not told twice in one claim: the page holds thousands.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from html import escape
from importlib import resources
from itertools import groupby
from typing import Final

from derive import messages, plain_math, wording
from derive.messages import counted, listing, mark, say
from derive.report import mathml
from derive.report.document import AXIOMS, IN_MATRICES, MUTATIONS
from derive.report.errors import ReportError
from derive.report.lines import Lines, line
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
    Topic,
)
from derive.report.models import MODELS
from derive.report.text import Span, spans, typeset
from derive.report.told import Formula, Part, Told
from derive.report.words import (
    FAULTS,
    GUIDE,
    INSTEAD,
    NO_CLAIMS,
    RUN,
    SUBTITLE,
    TITLE,
    WARNING,
    WRONG,
)
from derive.result import Verdict

RUN_BEGIN: Final = (
    "<!-- run-dependent part: begins (all else depends on the input and the seed) -->"
)
RUN_END: Final = "<!-- run-dependent part: ends -->"

_SIGN: Final = {
    Verdict.PROVED: ("p", "✓"),
    Verdict.CONDITIONAL: ("c", "△"),
    Verdict.REFUTED: ("r", "×"),
    Verdict.UNDECIDED: ("u", "?"),
    Verdict.NOT_MATHEMATICAL: ("n", "–"),
}
"""The class of a verdict in the style sheet, and the sign that stands before its name."""


def render(report: Report) -> str:
    """The complete page."""
    with messages.speaking(report.language):
        return _Page().page(report)


def render_claim(claim: Claim) -> str:
    """One claim by itself, with the axioms that it uses."""
    return _Page().alone(claim)


class _Page:
    """Collects what the parts of the page mention: formulas and axioms."""

    def __init__(self) -> None:
        self._lines = Lines()
        self._axioms: dict[str, Note] = {}
        self._told = Told()
        self._claim_code = ""
        self._name = _STATEMENT

    def page(self, report: Report) -> str:
        topics = [self._topic(topic) for topic in report.topics]
        guide = [self._block(block) for block in report.guide]
        parts = [
            _head(),
            _header(report),
            "<div class=page>",
            _contents(report, self._axioms),
            "<main id=main>",
            _summary(report),
            _entries(report.entries),
            *(_document(document) for document in report.documents if _speaks(document)),
            _figures(report.figures),
            _section("guide", say(GUIDE), guide),
            *topics,
            _section("models", say(MODELS), [self._block(block) for block in report.models]),
            _axioms(self._axioms.values()),
            RUN_BEGIN,
            run := _run(report.run),
            RUN_END,
        ]
        tail = [
            "</main></div>",
            f"<script type=application/json id=words>{_script_words()}</script>",
            f"<script>{_resource('page.js')}</script>",
        ]
        head = "\n".join(part for part in parts if part)
        varying = len(run.encode()) - _expected(report.run)
        return self._lines.fill_within_budget(head, "\n".join(tail), varying)

    def alone(self, claim: Claim) -> str:
        article = self._claim(claim)
        return self._lines.fill(article) + _axioms(self._axioms.values())

    # -- topics and claims -------------------------------------------------------------------

    def _topic(self, topic: Topic) -> str:
        claims = [self._claim(claim) for claim in topic.claims]
        return _section(topic.key, topic.title, claims, kind="topic")

    def _claim(self, claim: Claim) -> str:
        self._told = Told()
        self._claim_code = claim.code
        self._name = _STATEMENT
        try:
            blocks = [self._block(block) for block in claim.blocks]
            head = (
                f"<h3>{_text(claim.title)}</h3>"
                f"<p class=meta>{_mark(claim.verdict)} {_code(claim.code)} {_places(claim.places)}"
            )
            letter = _SIGN[claim.verdict][0]
            body = "\n".join([head, *blocks])
            return f"<article id={claim.key} data-v={letter}>{body}</article>"
        except ReportError as error:
            error.locate(f"claim {claim.code}")
            raise

    def _block(self, block: Block) -> str:
        match block:
            case Paragraph():
                self._name = _NAMES.get(block.label, self._name)
                # document and place stand in the passage that the head of the claim links to
                return f"<p>{_label(block.label)}{_text(block.text)}"
            case Alarm():
                return _alarm(block)
            case Display():
                return self._formula(block.latex, say(self._name), listed=False)
            case Rows():
                return self._rows(block)
            case Notes():
                return self._notes(block)
            case Glossary():
                return _glossary(block)
            case Table():
                return _table(block)
            case Bars():
                return _bars(block)

    def _rows(self, block: Rows) -> str:
        rows = "\n".join(map(self._row, block.rows))
        number = len(block.rows)
        count = counted("{number} line", "{number} lines", number)
        return _rows(block.label, count, _list("rows", block.rows, rows))

    def _row(self, row: Row) -> str:
        code = f"<i>{escape(row.code)}</i> " if row.code else ""
        name = say("line {tag}", tag=row.tag)
        formula = self._again(row.latex) or self._named(row.latex, row.shown, name)
        self._told.learn(row.latex, name)
        matrix = self._in_matrices(row.matrix, name, folded=True)
        return f"<li>{formula}<p>{code}{_text(row.reason)}{matrix}"

    def _notes(self, block: Notes) -> str:
        if block.label == AXIOMS:
            return f"<p>{_label(AXIOMS)}" + say(
                "{what}.", what=listing(*map(self._axiom, block.notes))
            )
        if block.label == MUTATIONS:
            return self._mutations(block)
        notes = "\n".join(map(self._note, block.notes))
        return f"<p>{_label(block.label)}{_list('rows notes', block.notes, notes)}"

    def _mutations(self, block: Notes) -> str:
        notes = "\n".join(map(self._mutation, block.notes))
        count = counted("{number} mistake", "{number} mistakes", len(block.notes))
        return _rows(block.label, count, _list("rows notes", block.notes, notes))

    def _mutation(self, note: Note) -> str:
        name = say("mistake {tag}", tag=note.tag)
        formula = "<p class=t>"
        if note.latex:
            again = self._again(note.latex)
            formula = again or self._named(note.latex, note.latex, name)
        return f"<li>{formula}<p>{_text(note.text)}"

    def _note(self, note: Note) -> str:
        code = say("{what}: {more}", what=_code(note.code), more="") if note.code else ""
        name = say("hypothesis {tag}", tag=note.tag)
        formula = self._formula(note.latex, name) if note.latex else "<p class=t>"
        matrix = self._in_matrices(note.matrix, name)
        return f"<li>{formula}<p>{code}{_text(note.text)}{matrix}"

    def _in_matrices(self, latex: str, name: str, *, folded: bool = False) -> str:
        if not latex:
            return ""
        return f"{self._line(latex, [Formula(latex)], name, folded=folded)}<p>{say(IN_MATRICES)}"

    def _axiom(self, note: Note) -> str:
        self._axioms.setdefault(note.code, note)
        return f"<a href=#{_axiom_key(note)}>{escape(note.code)}</a>"

    def _again(self, latex: str) -> str:
        """A wide formula that stands above is only named."""
        name = self._told.name(latex)
        return f"<p class=t>{say('as in {what}', what=name)}" if name else ""

    def _named(self, latex: str, shown: str, name: str) -> str:
        """A folded formula of which `shown` is to be printed, naming the sides that stand above."""
        parts = self._told.parts(latex, shown)
        return self._line(latex, parts, name, indented=shown != latex, folded=True)

    def _formula(self, latex: str, name: str, *, listed: bool = True) -> str:
        self._told.learn(latex, name)
        return self._line(latex, [Formula(latex)], name, listed=listed)

    def _line(
        self,
        latex: str,
        parts: Sequence[Part],
        name: str,
        *,
        indented: bool = False,
        folded: bool = False,
        listed: bool = True,
    ) -> str:
        new = line(
            latex,
            parts,
            name=name,
            claim=self._claim_code,
            indented=indented,
            folded=folded,
            listed=listed,
        )
        return self._lines.add(new)


_STATEMENT: Final = mark("the statement")
_NAMES: Final = {
    "In matrix form": mark("the matrix form"),
    "Corrected statement": mark("the corrected statement"),
    "Counterexample": mark("the counterexample"),
    "Witness": mark("the witness"),
}
"""How a formula is named that stands behind the label."""


def _rows(label: str, count: str, rows: str) -> str:
    """Numbered lines under a fold."""
    return (
        f"<details><summary>{escape(say(label))} <span>({count})</span></summary>{rows}</details>"
    )


def _list(kind: str, rows: Sequence[Row | Note], items: str) -> str:
    """Lines that the style sheet numbers, with the letter of their tags."""
    letter = rows[0].tag.rstrip("0123456789") if rows else ""
    tagged = f" data-tag={letter}" if letter else ""
    return f"<ol class='{kind}'{tagged}>{items}</ol>"


# -- the frame of the page ---------------------------------------------------------------------


def _head() -> str:
    return (
        f"<!doctype html>\n<html lang={messages.language()}><head><meta charset=utf-8>"
        "<meta name=viewport content='width=device-width, initial-scale=1'>"
        f"<title>{say(TITLE)}</title>\n<style>{style()}</style></head>\n<body>"
    )


def _header(report: Report) -> str:
    return (
        f"<a class=skip href=#main>{say('Skip to the report')}</a>\n"
        f"<header><h1>{say(TITLE)}</h1>"
        f"<p>{messages.sentences(say(SUBTITLE), escape(report.scope))}</header>"
    )


def _contents(report: Report, axioms: dict[str, Note]) -> str:
    parts = [("summary", say("Summary")), ("claims", say("All claims"))]
    parts += [(document.key, document.title) for document in report.documents if _speaks(document)]
    parts += [("pictures", say("Pictures"))] if report.figures else []
    parts += [("guide", say(GUIDE))] if report.guide else []
    topics = [(topic.key, topic.title) for topic in report.topics]
    last = [("models", say(MODELS))] if report.models else []
    last += [("axioms", say(AXIOMS))] if axioms else []
    last += [("run", say(RUN))]
    return (
        "<div class=side>\n"
        + _form(report.topics)
        + "<nav aria-label={0}><details open><summary>{0}</summary>".format(say("Contents"))
        + _links_to(parts) + f"<h2>{say('Derivations')}</h2>" + _links_to(topics) + _links_to(last)
        + "</details></nav></div>"
    )  # fmt: skip


def _links_to(targets: Iterable[tuple[str, str]]) -> str:
    items = "".join(f"<li><a href=#{key}>{_text(title)}</a>" for key, title in targets)
    return f"<ul>{items}</ul>"


def _form(topics: tuple[Topic, ...]) -> str:
    """Shown by the script, which it needs."""
    verdicts = "".join(
        f"<label><input type=checkbox name=v value={letter} checked>"
        f"<b class={letter}>{sign} {wording.name_of(verdict)}</b></label>"
        for verdict, (letter, sign) in _SIGN.items()
    )
    options = "".join(f"<option value={t.key}>{_plain(t.title)}</option>" for t in topics)
    return (
        f"<form id=filter role=search aria-label='{say('Filter claims')}' hidden>"
        f"<label>{say('Search')} <input type=search name=q autocomplete=off></label>"
        f"<fieldset><legend>{say('Verdict')}</legend>{verdicts}</fieldset>"
        f"<label>{say('Topic')} <select name=t><option value=''>{say('all')}</option>{options}"
        "</select></label>"
        "<p><output id=count></output>"
        f"<p><button type=button id=unfold>{say('Unfold all')}</button> "
        f"<button type=button id=fold>{say('Fold all')}</button>"
        f"<p><label>{say('Colours')} <select name=m>"
        f"<option value='light dark'>{say('as the system')}<option value=light>{say('light')}"
        f"<option value=dark>{say('dark')}</select></label>"
        f"<p class=quiet>{say('The number of a line copies its formula as LaTeX.')}"
        "</form>\n<p id=said role=status></p>\n"
    )


def _section(key: str, title: str, parts: list[str], *, kind: str = "") -> str:
    if not parts:
        return ""
    named = f" class={kind}" if kind else ""
    return f"<section id={key}{named}><h2>{_text(title)}</h2>\n" + "\n".join(parts) + "</section>"


_SCRIPT_WORDS: Final = (
    mark("{shown} of {all} claims"), mark("formula"), mark("LaTeX copied"),
    mark("Copy {tag} as LaTeX"),
)  # fmt: skip


def _script_words() -> str:
    """What the script says, in the order in which it takes the words."""
    return json.dumps([say(words) for words in _SCRIPT_WORDS], ensure_ascii=False)


FORMULA: Final = ".f,.rows li>p:nth-of-type(odd):not(.t)"
"""What selects formulas in lines of their own; those of rows go without the class."""


def style() -> str:
    """The style sheet, in which ``.f`` stands for a formula, and counts as one class does."""
    return re.sub(r"\.f(?![\w-])", f":where({FORMULA}):nth-child(n)", _resource("page.css"))


def _resource(name: str) -> str:
    return resources.files("derive.report").joinpath(name).read_text("utf-8").strip()


# -- the summary -------------------------------------------------------------------------------


def _summary(report: Report) -> str:
    rows = "".join(map(_count, report.counts))
    total = sum(count.number for count in report.counts)
    table = (
        f"<table class=counts><thead><tr>{_heads('Verdict', 'Claims', 'Meaning')}<tbody>{rows}"
        f"<tfoot><tr><th scope=row>{say('all')}<td>{total}<td></table>"
    )
    return _section("summary", say("Summary"), [table, *map(_alarm, report.alarms)])


def _count(count: Count) -> str:
    mark = _mark(count.verdict)
    return f"<tr><th scope=row>{mark}<td>{count.number}<td>{escape(count.meaning)}"


def _entries(entries: tuple[Entry, ...]) -> str:
    if not entries:
        return _section("claims", say("All claims"), [f"<p>{say(NO_CLAIMS)}"])
    groups = groupby(entries, key=lambda entry: (entry.verdict, entry.topic))
    bodies = [
        f"<tbody><tr><th colspan=3 scope=rowgroup>{_mark(verdict)} {_text(topic)}"
        + "".join(map(_entry, group))
        for (verdict, topic), group in groups
    ]
    head = f"<thead><tr>{_heads('Verdict', 'Claim', 'Places')}"
    table = f"<table class=entries>{head}" + "\n".join(bodies) + "</table>"
    return _section("claims", say("All claims"), [table])


def _entry(entry: Entry) -> str:
    details = "".join(f"<br><small>{_text(detail)}</small>" for detail in entry.details)
    title = _link(entry.key, entry.title)
    return f"<tr><td>{_mark(entry.verdict)}<td>{title}{details}<td>{_places(entry.places)}"


# -- the notes ---------------------------------------------------------------------------------


def _speaks(document: Document) -> bool:
    """Whether there is anything to tell of it: our own code has no places."""
    return bool(document.passages or document.faults)


def _document(document: Document) -> str:
    where = f"<p class=quiet>{say('In the claims: {name}', name=_code(document.code))}"
    passages = [_passage(passage) for passage in document.passages]
    faults = "".join(map(_fault, document.faults))
    listed = [f"<h3>{say(FAULTS)}</h3><div class=faults>{faults}</div>"] if faults else []
    return _section(document.key, document.title, [where, *passages, *listed])


def _passage(passage: Passage) -> str:
    lines = escape(listing(*passage.lines.split(", ")).replace("-", "–\u2060"))
    single = passage.lines.isdecimal()
    where = say("line {lines}", lines=lines) if single else say("lines {lines}", lines=lines)
    numbered = f" <small>{where}</small>" if lines else ""
    return (
        f"<div class=place id={passage.key}><h3>{escape(passage.name)}{numbered}</h3>"
        f"<p>{_text(passage.says)}{_links(passage.links)}</div>"
    )


def _fault(fault: Fault) -> str:
    return (
        f"<div class=place><h4>{escape(fault.places)}</h4>"
        f"<div><p>{_label(WRONG)}{_text(fault.problem)}"
        f"<p>{_label(INSTEAD)}{_text(fault.instead)}</div>"
        f"{_links(fault.links)}</div>"
    )


def _links(links: tuple[Link, ...]) -> str:
    items = (f"<li>{_sign(link.verdict)} {_link(link.key, link.title)}" for link in links)
    return f"<ul class=links>{''.join(items)}</ul>" if links else "<ul></ul>"


# -- the pictures ------------------------------------------------------------------------------


def _figures(figures: tuple[Figure, ...]) -> str:
    return _section("pictures", say("Pictures"), [_figure(figure) for figure in figures])


def _figure(figure: Figure) -> str:
    title = _text(figure.title)
    svg = figure.svg.replace("<svg", f"<svg role=img aria-label='{_plain(figure.title)}'", 1)
    caption = (
        f"<figcaption><b>{say('{what}.', what=title)}</b> {_text(figure.caption)}</figcaption>"
    )
    return f"<figure id=picture-{figure.name}><div tabindex=0>{svg}</div>{caption}</figure>"


# -- small parts -------------------------------------------------------------------------------


def _link(key: str, title: str) -> str:
    """A link; one that is a formula and nothing else is told to screen readers as text, too."""
    words = "".join(part for span, part in spans(title) if span is not Span.MATH)
    label = "" if words.strip() else f' aria-label="{escape(plain_math.text(title))}"'
    return f"<a href=#{key}{label}>{_text(title)}</a>"


def _mark(verdict: Verdict) -> str:
    letter, sign = _SIGN[verdict]
    return f"<b class={letter}>{sign} {wording.name_of(verdict)}</b>"


def _sign(verdict: Verdict) -> str:
    letter, sign = _SIGN[verdict]
    return f"<b class={letter} role=img aria-label='{wording.name_of(verdict)}'>{sign}</b>"


def _places(anchors: tuple[Anchor, ...]) -> str:
    return listing(*(f"<a href=#{a.key}>{escape(a.name)}</a>" for a in anchors))


def _label(label: str) -> str:
    return f"<b>{say('{label}.', label=escape(say(label)))}</b> " if label else ""


def _code(name: str) -> str:
    return f"<code>{escape(name)}</code>"


def _alarm(alarm: Alarm) -> str:
    return f"<p class=alarm>{_label(WARNING)}{_text(alarm.text)}"


def _glossary(block: Glossary) -> str:
    terms = "".join(f"<dt>{_text(name)}<dd>{_text(text)}" for name, text in block.terms)
    label = f"<p>{_label(block.label)}" if block.label else ""
    return f"{label}<dl>{terms}</dl>"


def _table(table: Table) -> str:
    head = "".join(f"<th scope=col>{_text(name)}" for name in table.head)
    bodies = "".join(
        f"<tbody><tr><th colspan=4 scope=rowgroup>{_text(heading)}"
        + "".join("<tr>" + "".join(f"<td>{_text(cell)}" for cell in row) for row in rows)
        for heading, rows in table.groups
    )
    return _scrolling(f"<table class=compared><thead><tr>{head}{bodies}</table>")


def _bars(block: Bars) -> str:
    rows = "".join(
        f"<tr><th scope=row>{_text(b.name)}<td><i style=width:{b.thousandths / 10:.1f}%></i>"
        f"<td>{b.thousandths / 10:.1f} %"
        for b in (*block.bars, block.mark)
    )
    caption = f"<figcaption>{_text(block.caption)}</figcaption>"
    return f"<figure><table class=bars>{rows}</table>{caption}</figure>"


def _axioms(axioms: Iterable[Note]) -> str:
    rows = "\n".join(
        f"<dt id={_axiom_key(note)}>{_code(note.code)}"
        f"<dd>{_math(note.latex) if note.latex else ''} <p>{_text(note.text)}"
        for note in sorted(axioms, key=lambda note: note.code)
    )
    return _section("axioms", say(AXIOMS), [f"<dl>{rows}</dl>"]) if rows else ""


def _math(latex: str) -> str:
    return mathml.shortened(mathml.inline(latex))


def _axiom_key(note: Note) -> str:
    return f"axiom-{escape(note.code)}"


_START: Final = re.compile("^<math>(<mo>(?=[−+]))?")


def _behind_parenthesis(found: re.Match[str]) -> str:
    return f"<math><mtext>(</mtext>{'<mo form=prefix>' if found[1] else ''}"


def _text(text: str) -> str:
    """Running text: words, identifiers and formulas; no line ends between one and its comma, or
    the parenthesis that opens before it."""
    out: list[str] = []
    after_formula = False
    for span, part in spans(text):
        if after_formula and (found := _CLOSING.match(part)):  # it stays with it inside of it
            out[-1] = out[-1].removesuffix("</math>") + f"<mtext>{found[0]}</mtext></math>"
            part = part[found.end() :]
        shown = _span(span, part)
        if out and out[-1].endswith("(") and shown.startswith("<math>"):
            out[-1] = out[-1].removesuffix("(")
            shown = _START.sub(_behind_parenthesis, shown)
        out.append(shown)
        after_formula = shown.endswith("</math>")
    return mathml.shortened("".join(out))


_CLOSING: Final = re.compile("[.,;:!?)\\]”’，。；：！？、）]+")


def _span(span: Span, part: str) -> str:
    match span:
        case Span.WORDS:
            return escape(typeset(part), quote=False).replace(" %", "\u00a0%")
        case Span.CODE:
            return _code(part)
        case Span.MATH:
            return _number(part) or mathml.inline(part)


def _number(latex: str) -> str:
    """A number such as ``2.3 \\cdot 10^{-15}`` as text; empty for other formulas."""
    found = re.fullmatch(r"(\d[\d.]*)(?: \\cdot 10\^\{(-?\d+)\})?|10\^\{(-?\d+)\}", latex)
    if found is None:
        return ""
    factor, *powers = found.groups()
    power = "".join(p.translate(_RAISED) for p in powers if p)
    return "·".join(part for part in (factor, f"10{power}" if power else "") if part)


_RAISED: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def _plain(text: str) -> str:
    """Text without markup, where none can stand."""
    return "".join(escape(part) for _, part in spans(text))


# -- how the report was made -------------------------------------------------------------------


def _run(run: RunDetails) -> str:
    settings = "".join(f"<dt>{escape(say(name))}<dd>{_code(value)}" for name, value in run.settings)
    logs: dict[str, str] = {}
    for log in run.logs:
        logs[log.code] = (
            logs.get(log.code, "") + f"<br>{escape(say(log.kind))} {log.digest[:_DIGITS]}"
        )
    rows = "\n".join(
        f"<tr><th scope=row>{escape(t.code)}<td>{t.symbolic:.2f}<td>{t.numeric:.2f}"
        f"<td>{logs.get(t.code, '').removeprefix('<br>')}"
        for t in run.timings
    )
    table = f"<table class=logs><thead><tr>{_heads(*_RUN_COLUMNS)}<tbody>{rows}</table>"
    folded = _folded(say("Times, and the hash of every proof log"), table) if rows else ""
    return _section("run", say(RUN), [f"<dl>{settings}</dl>", folded])


def _expected(run: RunDetails) -> int:
    """About how many bytes `_run` takes, whatever the times and the settings are."""
    timings = tuple(replace(t, symbolic=0.0, numeric=0.0) for t in run.timings)
    return len(_run(replace(run, settings=(), timings=timings)).encode()) + _SETTINGS_BYTES


_SETTINGS_BYTES: Final = 400
_RUN_COLUMNS: Final = (
    mark("Claim"), mark("Symbolic, s"), mark("Numeric, s"),
    mark("SHA-256 of its proof logs, the first 32 digits"),
)  # fmt: skip
_DIGITS: Final = 32
"""Enough to tell any two logs apart; the LaTeX has all 64."""


def _heads(*names: str) -> str:
    """The heads of columns."""
    return "".join(f"<th scope=col>{say(name)}" for name in names)


def _folded(label: str, body: str) -> str:
    return f"<details><summary>{label}</summary>{_scrolling(body)}</details>"


def _scrolling(table: str) -> str:
    """A table that may be wider than the screen; it can be scrolled by keyboard, too."""
    return f"<div class=scroll tabindex=0 role=group aria-label={say('table')}>{table}</div>"
