"""Claims and results as text of 80 columns."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Final

from derive import latex, plain_math, wording
from derive.jsonout import summary
from derive.places import Place, about, whole
from derive.result import (
    CounterexampleView,
    HypothesisView,
    MutationView,
    Result,
    StepView,
    TwinStatus,
    TwinView,
    Verdict,
)

if TYPE_CHECKING:
    from derive.claim import Claim

WIDTH: Final = 80
LABEL: Final = 18
_NAME_WIDTHS: Final = (12, 34)
_COLOUR: Final = {
    Verdict.PROVED: "32",
    Verdict.CONDITIONAL: "33",
    Verdict.REFUTED: "35",
    Verdict.UNDECIDED: "31",
    Verdict.NOT_MATHEMATICAL: "2",
}
_BOLD: Final = "1"
_ALARM: Final = "31"
_SAMPLE: Final = "∑≤ω√²⌊‖✓…ℝ"
_BREAK_COST: Final = {
    word: cost
    for cost, words in enumerate(
        ("⇒ => ⟹ ⇔ <=> ⟺", "∧ ∨ and or", "= ≠ != ≤ <= < ≥ >= > ≈ ≡ := ∈ in ∉", "+ - ± · ×")
    )
    for word in words.split()
}
"""By the word after the break."""


@dataclass(frozen=True)
class Style:
    """What the output can show: characters beyond ASCII, and colours."""

    unicode: bool = True
    colour: bool = False

    @classmethod
    def of(cls, stream: IO[str]) -> Style:
        """Colours on a terminal only, unless NO_COLOR is set; Unicode where it can be encoded."""
        try:
            _SAMPLE.encode(getattr(stream, "encoding", None) or "ascii")
        except (UnicodeEncodeError, LookupError):
            unicode = False
        else:
            unicode = True
        plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
        return cls(unicode, stream.isatty() and not plain)

    def math(self, latex: str) -> str:
        return self.plain(plain_math.formula(latex))

    def prose(self, text: str) -> str:
        """Running text with ``$...$`` formulas, in one line."""
        return self.plain(plain_math.text(" ".join(text.split())))

    def plain(self, text: str) -> str:
        return text if self.unicode else plain_math.ascii_only(text)

    def paint(self, text: str, colour: str) -> str:
        return f"\x1b[{colour}m{text}\x1b[0m" if self.colour and colour else text


# ---------------------------------------------------------------------------- lines


def columns(text: str) -> int:
    """How many columns a text takes: wide characters two, combining ones none."""
    return sum(_columns(c) for c in text)


def _columns(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def wrap(text: str, first: str = "", rest: str | None = None, width: int = WIDTH) -> list[str]:
    """Lines of at most `width` columns that start with `first` and then with `rest`."""
    rest = first if rest is None else rest
    lines, line, empty = [], first, True
    for word in text.split(" "):
        if not empty and columns(line) + 1 + columns(word) > width:
            lines.append(line)
            line, empty = rest, True
        for piece in _pieces(word, width - max(columns(first), columns(rest))):
            if not empty and piece is not word:
                lines.append(line)
                line, empty = rest, True
            line, empty = line + ("" if empty else " ") + piece, False
    return [*lines, line.rstrip()]


def _pieces(word: str, room: int) -> Iterator[str]:
    """The word, cut where it is wider than a whole line."""
    if columns(word) <= room:
        yield word
        return
    piece = ""
    for char in word:
        if columns(piece + char) > room:
            yield piece
            piece = ""
        piece += char
    yield piece


def wrap_formula(
    formula: str, first: str = "", rest: str | None = None, width: int = WIDTH
) -> list[str]:
    """Like `wrap`, but lines end before arrows, relations and signs, outside brackets first."""
    rest = first if rest is None else rest
    words = formula.split(" ")
    costs = _break_costs(words)
    lines, start, indent = [], 0, first
    while columns(indent + " ".join(words[start:])) > width:
        room = width - columns(indent)
        ends = [
            k for k in range(start + 1, len(words)) if columns(" ".join(words[start:k])) <= room
        ]
        far = [k for k in ends if 3 * columns(" ".join(words[start:k])) >= room]
        if not far:
            break
        end = min(reversed(far), key=costs.__getitem__)
        lines.append(indent + " ".join(words[start:end]))
        start, indent = end, rest
    return [*lines, *wrap(" ".join(words[start:]), indent, rest, width)]


def _break_costs(words: Sequence[str]) -> list[int]:
    """What a break before each word costs: deep inside brackets much, before an arrow nothing."""
    costs, depth, before = [], 0, ""
    for word in words:
        apart = before in _BREAK_COST or before[:1] in "∑∏"
        costs.append(10 * depth + _BREAK_COST.get(word, 4) + 2 * apart)
        depth += sum(word.count(c) for c in "([{⌊⌈") - sum(word.count(c) for c in ")]}⌋⌉")
        before = word
    return costs


def fit(text: str, width: int, style: Style) -> str:
    """The text in exactly `width` columns: cut with an ellipsis or filled with spaces."""
    if columns(text) > width:
        dots = style.plain("…")
        while columns(text) > width - len(dots):
            text = text[:-1]
        text = text.rstrip() + dots
    return text + " " * (width - columns(text))


def _labelled(label: str, lines: Iterable[str]) -> list[str]:
    """Lines in the body column, the label before the first one."""
    out = []
    for line in lines:
        out.append(f"  {label:<{LABEL - 2}}{line}".rstrip())
        label = ""
    return out


def _body(text: str, hang: int = 0) -> list[str]:
    return wrap(text, "", " " * hang, WIDTH - LABEL)


def _formula(formula: str) -> list[str]:
    return wrap_formula(formula, "", "  ", WIDTH - LABEL)


# ---------------------------------------------------------------------------- list


def list_claims(claims: Sequence[Claim], style: Style) -> str:
    """Topics, their claims and the places of the sources that each one covers."""
    lines = []
    for topic in dict.fromkeys(c.topic for c in claims):
        lines += [style.paint(topic, _BOLD)]
        for claim in (c for c in claims if c.topic == topic):
            lines += _listed(claim, style)
        lines.append("")
    documents = dict.fromkeys(c.source.document for c in claims)
    for document in documents:
        covering = [c for c in claims if c.source.document == document]
        lines.append(style.plain(f"{document}: {_coverage(covering)}"))
    return _text([*lines, _number(len(claims), "claim")])


def _listed(claim: Claim, style: Style) -> list[str]:
    room = WIDTH - 2 - columns(claim.id)
    places = " ".join(claim.source.places)
    first = f"  {claim.id}{style.plain(places):>{room}}".rstrip()
    if columns(places) > room - 2:
        first = f"  {claim.id}"
        return [first, *wrap(places, "      "), *wrap(style.prose(claim.title), "      ")]
    return [first, *wrap(style.prose(claim.title), "      ")]


def list_places(
    document: str, places: Sequence[Place], results: Sequence[Result], style: Style
) -> str:
    """The places of one document in order: what each says, and the claims about it."""
    lines = [style.paint(style.plain(document), _BOLD)]
    for place in places:
        where = f"   line{'s' * (not place.lines.isdecimal())} {place.lines}" if place.lines else ""
        lines += ["", f"  {style.paint(style.plain(place.name), _BOLD)}{style.plain(where)}"]
        lines += wrap(style.prose(place.says), "    ") if place.says else []
        here = about(place, results)
        wide = max((columns(r.id) for r in here), default=0)
        lines += [_verdict_on(r, wide, style) for r in here] or ["    (no claim covers it)"]
    elsewhere = [r for r in results if not r.source.places]
    if elsewhere:
        wide = max(columns(r.id) for r in elsewhere)
        lines += ["", *(_verdict_on(r, wide, style) for r in elsewhere)]
    open_places = sum(not about(place, results) for place in places)
    end = f", {open_places} not covered" if open_places else ""
    numbers = summary(results)
    found = ", ".join(f"{numbers[v]} {wording.NAME[v]}" for v in Verdict if numbers[v])
    covered = [f"{_number(len(places), 'place')}{end}"] if places else []
    count = ", ".join([*covered, _number(len(results), "claim")])
    return _text([*lines, "", *wrap(f"{count}: {found}" if found else count, rest="  ")])


def _verdict_on(r: Result, wide: int, style: Style) -> str:
    room = WIDTH - 4 - 11 - 2 - wide - 2
    title = f"  {fit(style.prose(r.title), room, style)}" if room > 10 else ""
    verdict = style.paint(f"{_SHORT.get(r.verdict, r.verdict.value):<11}", _COLOUR[r.verdict])
    mark = style.paint("!", _ALARM) if _is_trouble(r) else " "
    return f"  {mark} {verdict}  {fit(r.id, wide, style)}{title}".rstrip()


def _coverage(claims: Sequence[Claim]) -> str:
    places = {whole(p) for c in claims for p in c.source.places}
    counts = [_number(len(places), "place")] if places else []
    return ", ".join([*counts, _number(len(claims), "claim")])


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")


# ---------------------------------------------------------------------------- show


def show(r: Result, style: Style) -> str:
    """All that is known about one claim."""
    where = ", ".join([r.source.document, *r.source.places])
    lines = [style.paint(r.id, _BOLD), *wrap(style.prose(r.title), "  "), ""]
    lines += _labelled("Source", [*_body(style.plain(where)), *_body(style.prose(r.source.says))])
    if r.statement:
        lines += _labelled("Statement", _formula(style.math(r.statement)))
    if r.matrix:
        lines += _labelled("In matrix form", _formula(style.math(r.matrix)))
    if r.ranges:
        lines += _labelled("For all", _body(style.math(r.ranges)))
    lines += _labelled("Hypotheses", _flat(_hypothesis(h, r, style) for h in r.hypotheses))
    lines += _labelled("Derivation", _steps(r.steps, style, [r.matrix]))
    axioms = (_fact(a.name, a.latex, a.condition, a.citation, style) for a in r.axioms)
    lines += _labelled("Axioms", _flat(axioms))
    lines += _labelled("Verdict", _verdict(r, style))
    for example in r.counterexamples:
        lines += _labelled("Counterexample", _counterexample(example, style))
    if r.witness:
        lines += _labelled("Witness", _body(_values(r.witness, style), 2))
    if r.correction is not None:
        lines += _labelled("Correction", _formula(style.math(r.correction)))
        if r.correction_matrix:
            lines += _labelled("In matrix form", _formula(style.math(r.correction_matrix)))
        lines += _labelled("", _steps(r.correction_steps, style, [r.correction_matrix]))
    lines += _labelled("Numeric twin", _twin(r.twin, style))
    lines += _labelled("Mutations", _flat(_mutation(m, style) for m in r.mutations))
    if r.remark:
        lines += _labelled("Remark", _body(style.prose(r.remark)))
    return _text(lines)


def _mutation(m: MutationView, style: Style) -> list[str]:
    return [
        *_body(style.prose(m.says)),
        *(_formula(style.math(m.statement)) if m.statement else ()),
        *wrap(f"caught by: {m.caught_by}", "    ", width=WIDTH - LABEL),
    ]


def _flat(groups: Iterable[list[str]]) -> list[str]:
    return [line for group in groups for line in group]


def _hypothesis(h: HypothesisView, r: Result, style: Style) -> list[str]:
    status = wording.status(h, r.verdict)
    note = f"{status}: {style.prose(h.note)}" if h.note else status
    lines = _formula(style.math(h.latex))
    if h.matrix:
        text = f"in matrix form: {style.math(h.matrix)}"
        lines += wrap_formula(text, "  ", "    ", WIDTH - LABEL)
    return [*lines, *wrap(note, "    ", width=WIDTH - LABEL)]


def _steps(steps: Sequence[StepView], style: Style, told: Sequence[str]) -> list[str]:
    """Numbered lines; none repeats a matrix form, of which `told` stands above."""
    out = []
    in_matrices = {"", *told}
    for number, step in enumerate(steps, start=1):
        out += wrap_formula(style.math(step.latex), f"{number:>2}. ", "      ", WIDTH - LABEL)
        if step.matrix not in in_matrices:
            in_matrices.add(step.matrix)
            text = f"in matrix form: {style.math(step.matrix)}"
            out += wrap_formula(text, "    ", "      ", WIDTH - LABEL)
        reason = ": ".join(filter(None, (step.rule, style.prose(step.reason))))
        out += wrap(f"[{reason}]", "    ", "     ", WIDTH - LABEL)
    return out


def _verdict(r: Result, style: Style) -> list[str]:
    expected = f"expected: {wording.NAME[r.expected]}" if r.unexpected else "as expected"
    lines = _body(f"{wording.NAME[r.verdict]} ({expected}): {wording.MEANING[r.verdict]}.")
    name, rest = lines[0].split(" (", 1)
    lines[0] = f"{style.paint(name, _COLOUR[r.verdict])} ({rest}"
    if r.reason:
        lines += _body(style.prose(r.reason))
    if r.replayed or r.steps:
        lines += _body(wording.replayed(r))
    return lines


def _counterexample(example: CounterexampleView, style: Style) -> list[str]:
    parts = _counterexample_parts(example, style)
    values = 1 if example.values else 0
    return [*_flat(_body(v, 2) for v in parts[:values]), *_flat(map(_formula, parts[values:]))]


def _counterexample_parts(example: CounterexampleView, style: Style) -> list[str]:
    """The values, what they break, and what they give: a line each, before it is wrapped."""
    parts = [_values(example.values, style)] if example.values else []
    if example.breaks:
        parts.append(f"breaks the added hypothesis {style.math(example.breaks)}")
    if example.latex:
        parts.append(f"gives {style.math(example.latex)}")
    return parts


def _values(values: Mapping[str, str], style: Style) -> str:
    pairs = (pair for k, v in values.items() for pair in _matrices(k, v))
    shown = (f"{plain_math.formula(k)} = {plain_math.value(v)}" for k, v in pairs)
    return style.plain(", ".join(shown))


def _matrices(name: str, value: str) -> Iterator[tuple[str, str]]:
    """A tensor of three or more axes as its matrices with their indices; others as they are."""
    parts = _parts(value) if value.startswith("[[[") else None
    if parts is None:
        yield name, value
        return
    for k, part in enumerate(parts):
        yield from _matrices(latex.indexed(name, [str(k)]), part)


def _parts(value: str) -> list[str] | None:
    """The entries of a nested list as texts; None where it is not well formed."""
    parts, depth, start = [], 0, 1
    for place, char in enumerate(value):
        depth += {"[": 1, "]": -1}.get(char, 0)
        if (depth == 1 and char == ",") or (depth == 0 and char == "]"):
            parts.append(value[start:place].strip())
            start = place + 1
    return parts if depth == 0 and start == len(value) else None


def _twin(view: TwinView, style: Style) -> list[str]:
    if view.status is TwinStatus.NONE:
        return ["none", *(_body(style.prose(view.reason)) if view.reason else [])]
    if view.status is TwinStatus.DISAGREES:
        worst = (
            f": {_number(view.trials, 'comparison')}, largest error {view.max_error:.2g}, "
            f"tolerance {view.tolerance:.2g}"
        )
        return [
            style.paint(view.status.value, _ALARM) + (worst if view.trials else ""),
            *_body(style.prose(view.reason)),
        ]
    first, *rest = _body(f"agrees {wording.agreement(view, '{:.2g}'.format)}")
    compared = _body(f"compared: {style.prose(view.reason)}") if view.reason else []
    return [first.replace("agrees", style.paint("agrees", "32"), 1), *rest, *compared]


# ---------------------------------------------------------------------------- verify


def verified(results: Sequence[Result], style: Style, *, seed: int, seconds: float) -> str:
    """One line for each claim, by topic; then the counts, and what is not as it should be."""
    legend = "log twin"
    lines = [" " * (WIDTH - len(legend)) + legend] if results else []
    for topic in dict.fromkeys(r.topic for r in results):
        here = [r for r in results if r.topic == topic]
        low, high = _NAME_WIDTHS
        wide = min(max(low, *(columns(_name(r)) for r in here)), high)
        lines += [style.paint(topic, _BOLD), *(_line(r, wide, style) for r in here)]
    run = f"Seed {seed}, {seconds:.1f} s."
    return _text([*lines, "", *_summary(results, run), *_trouble(results, style)])


def counts(results: Sequence[Result]) -> str:
    """How many claims have which verdict, and whether that is as expected."""
    return _text(_summary(results))


def _line(r: Result, wide: int, style: Style) -> str:
    verdict = f"{_SHORT.get(r.verdict, r.verdict.value):<11}"
    name = fit(_name(r), wide, style)
    title = fit(style.prose(r.title), WIDTH - 2 - 11 - 2 - wide - 2 - 2 - 8, style)
    mark = style.paint("!" if _is_trouble(r) else " ", _ALARM)
    log = style.plain("✓") if r.replayed else "-"
    twin = style.paint(*_TWIN_MARK[r.twin.status])
    painted = style.paint(verdict, _COLOUR[r.verdict])
    return f"{mark} {painted}  {name}  {title}  {log:>3} {style.plain(twin)}".rstrip()


def _name(r: Result) -> str:
    """The part of the id that the topic above the line does not say."""
    return r.id.split("/", 1)[-1]


_SHORT: Final = {Verdict.NOT_MATHEMATICAL: "not maths"}
_TWIN_MARK: Final = {
    TwinStatus.AGREES: ("✓", ""),
    TwinStatus.DISAGREES: ("✗", _ALARM),
    TwinStatus.NONE: ("-", ""),
}


def _is_trouble(r: Result) -> bool:
    disagrees = r.twin.status is TwinStatus.DISAGREES
    return r.unexpected or disagrees or not all(m.caught for m in r.mutations)


def _summary(results: Sequence[Result], run: str = "") -> list[str]:
    numbers = summary(results)
    found = ", ".join(f"{numbers[v]} {wording.NAME[v]}" for v in Verdict if numbers[v])
    unexpected, disagreeing = numbers["unexpected"], numbers["twin_disagreements"]
    verdicts = f"{unexpected} unexpected" if unexpected else "all as expected"
    twins = f"{disagreeing} disagreeing" if disagreeing else "none disagrees"
    replayed = _number(sum(r.replayed for r in results), "claim")
    return [
        *wrap(f"{_number(len(results), 'claim')}: {found or 'none'}.", rest="  "),
        f"Verdicts: {verdicts}.  Twins: {twins}.",
        *_caught(results),
        f"Proof logs of {replayed} replayed in a fresh process.  {run}".rstrip(),
    ]


def _caught(results: Sequence[Result]) -> list[str]:
    made = [m for r in results for m in r.mutations]
    missed = sum(not m.caught for m in made)
    found = f"{missed} not caught" if missed else "all caught"
    return [f"Mutations: {len(made)}, {found}."] if made else []


def _trouble(results: Sequence[Result], style: Style) -> list[str]:
    lines = []
    for r in filter(_is_trouble, results):
        lines += ["", style.paint(r.id, _BOLD)]
        if r.unexpected:
            found = f"{wording.NAME[r.verdict]}, expected: {wording.NAME[r.expected]}"
            reason = f"; {style.prose(r.reason)}" if r.reason else ""
            lines += wrap(found + reason, "  ", "    ")
        for example in r.counterexamples if r.verdict is Verdict.REFUTED and r.unexpected else ():
            text = "; ".join(_counterexample_parts(example, style))
            lines += wrap(f"counterexample: {text}", "  ", "    ")
        if r.twin.status is TwinStatus.DISAGREES:
            text = f"the numeric twin disagrees: {style.prose(r.twin.reason)}"
            lines += wrap(text, "  ", "    ")
        for m in (m for m in r.mutations if not m.caught):
            lines += wrap(f"the mutation is not caught: {style.prose(m.says)}", "  ", "    ")
    return lines


# ---------------------------------------------------------------------------- axioms


def trusted_base(style: Style) -> str:
    """The closed list of what is trusted: rules, axioms, and the laws of the normal form."""
    from derive.kernel.axioms import ARITHMETIC, AXIOMS, EVALUATIONS
    from derive.kernel.rules import RULES

    lines = [style.paint(f"Rules ({len(RULES)})", _BOLD)]
    for name, rule in RULES.items():
        formula = " ".join((rule.__doc__ or "").strip().split("\n\n")[0].split())
        lines += wrap(style.plain(formula), f"  {name:<22}", " " * 24)
    tables = (
        ("Axioms", AXIOMS.values()),
        ("Evaluations", EVALUATIONS.values()),
        ("Arithmetic", ARITHMETIC.values()),
    )
    for title, facts in tables:
        lines += ["", style.paint(f"{title} ({len(facts)})", _BOLD)]
        for fact in facts:
            body = _fact("", fact.formula, fact.condition, fact.citation, style, WIDTH - 26)
            first, *rest = body
            lines += [f"  {fact.name:<22}  {first}".rstrip(), *(" " * 26 + x for x in rest)]
    return _text(lines)


def _fact(
    name: str, latex: str, condition: str, citation: str, style: Style, width: int = WIDTH - LABEL
) -> list[str]:
    """An axiom: its name and formula, the condition, the citation."""
    formula = ": ".join(filter(None, (name, style.math(latex))))
    lines = wrap_formula(formula, "", "  ", width)
    if condition:
        words = style.prose(condition) if wording.in_words(condition) else style.math(condition)
        lines += wrap(f"if {words}", "  ", "    ", width)
    return [*lines, *wrap(f"({style.plain(citation)})", "  ", "   ", width)]


def _text(lines: Iterable[str]) -> str:
    return "\n".join(lines) + "\n"
