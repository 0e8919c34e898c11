"""The document as data: what stands where, without a word of LaTeX layout.

`str` fields are plain text with inline ``$...$`` math and ```code``` unless they are called `latex`
(math without dollars), `key` (a link target) or `code` (an identifier).
"""

from __future__ import annotations

from dataclasses import dataclass

from derive.result import Verdict


@dataclass(frozen=True)
class Paragraph:
    """Text behind a run-in label; the label may be empty."""

    label: str
    text: str
    code: str = ""
    """An identifier that stands between label and text, such as a document's name."""


@dataclass(frozen=True)
class Alarm:
    """Something that must not be overlooked: this project or the claim is in error."""

    text: str


@dataclass(frozen=True)
class Display:
    latex: str


@dataclass(frozen=True)
class Row:
    """A formula and, at its right, the rule that justifies it and the reason."""

    tag: str
    latex: str
    code: str
    reason: str


@dataclass(frozen=True)
class Rows:
    label: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Note:
    """A formula with what has to be said about it, behind a name if it has one."""

    tag: str
    latex: str
    code: str
    text: str


@dataclass(frozen=True)
class Notes:
    label: str
    notes: tuple[Note, ...]


@dataclass(frozen=True)
class Glossary:
    """Names or signs, and what they stand for."""

    label: str
    terms: tuple[tuple[str, str], ...]


Block = Paragraph | Alarm | Display | Rows | Notes | Glossary


@dataclass(frozen=True)
class Claim:
    key: str
    code: str
    title: str
    verdict: Verdict
    places: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Topic:
    title: str
    claims: tuple[Claim, ...]


@dataclass(frozen=True)
class Count:
    verdict: Verdict
    number: int
    meaning: str


@dataclass(frozen=True)
class Entry:
    """One claim in the table of all claims; `details` are its counterexamples, a line each."""

    key: str
    topic: str
    title: str
    verdict: Verdict
    places: str
    details: tuple[str, ...]


@dataclass(frozen=True)
class Timing:
    code: str
    symbolic: float
    numeric: float


@dataclass(frozen=True)
class RunDetails:
    """All that differs between two runs on the same input."""

    versions: tuple[tuple[str, str], ...]
    timings: tuple[Timing, ...]


@dataclass(frozen=True)
class Report:
    seed: int
    counts: tuple[Count, ...]
    alarms: tuple[Alarm, ...]
    guide: tuple[Block, ...]
    entries: tuple[Entry, ...]
    topics: tuple[Topic, ...]
    run: RunDetails
