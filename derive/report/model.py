"""The document as data: what stands where, without a word of LaTeX layout.

`str` fields are plain text with inline ``$...$`` math and ```code``` unless they are called `latex`
(math without dollars), `key` (a link target) or `code` (an identifier).
"""

from __future__ import annotations

from dataclasses import dataclass

from derive import messages
from derive.result import Verdict


@dataclass(frozen=True)
class Paragraph:
    """Text behind a run-in label; the label may be empty."""

    label: str
    text: str
    code: str = ""
    where: str = ""
    """Between label and text: an identifier such as a document's name, and a place in it."""


@dataclass(frozen=True)
class Alarm:
    """Something that must not be overlooked: this project or the claim is in error."""

    text: str


@dataclass(frozen=True)
class Display:
    latex: str


@dataclass(frozen=True)
class Row:
    """A formula and, at its right, the rule that justifies it and the reason.

    `shown` is the LaTeX to print: all of it, or the right side of a chain of relations.
    `matrix` is the formula in matrix form, empty where it has none or it stood just above.
    """

    tag: str
    latex: str
    shown: str
    code: str
    reason: str
    matrix: str = ""


@dataclass(frozen=True)
class Rows:
    label: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Note:
    """A formula with what has to be said about it, behind a name if it has one.

    `matrix` is the formula in matrix form, empty where it has none.
    """

    tag: str
    latex: str
    code: str
    text: str
    matrix: str = ""


@dataclass(frozen=True)
class Notes:
    label: str
    notes: tuple[Note, ...]


@dataclass(frozen=True)
class Glossary:
    """Names or signs, and what they stand for."""

    label: str
    terms: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Table:
    """Rows of four cells: a name, two numbers or short texts, and a remark; under headings."""

    head: tuple[str, str, str, str]
    groups: tuple[tuple[str, tuple[tuple[str, str, str, str], ...]], ...]


@dataclass(frozen=True)
class Bar:
    """A part of a whole, in thousandths."""

    name: str
    thousandths: int


@dataclass(frozen=True)
class Bars:
    """Shares drawn to one scale; `mark` is a share to compare them with, and what it is."""

    caption: str
    bars: tuple[Bar, ...]
    mark: Bar


Block = Paragraph | Alarm | Display | Rows | Notes | Glossary | Table | Bars


@dataclass(frozen=True)
class Anchor:
    """A place of a note as it is referred to: its name, and the target of its passage."""

    name: str
    key: str


@dataclass(frozen=True)
class Claim:
    key: str
    code: str
    title: str
    verdict: Verdict
    places: tuple[Anchor, ...]
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Topic:
    key: str
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
    places: tuple[Anchor, ...]
    details: tuple[str, ...]


@dataclass(frozen=True)
class Link:
    """A claim as it is referred to: its target, its id, its title and its verdict."""

    key: str
    code: str
    title: str
    verdict: Verdict


@dataclass(frozen=True)
class Passage:
    """A place of a note: its name, the lines where it stands, what it says, and its claims."""

    key: str
    name: str
    lines: str
    says: str
    links: tuple[Link, ...]


@dataclass(frozen=True)
class Fault:
    """An error or ambiguity of a note, what should stand there, and the claims that show it."""

    places: str
    problem: str
    instead: str
    links: tuple[Link, ...]


@dataclass(frozen=True)
class Document:
    """A note in its own order; `code` is its name in the claims."""

    key: str
    title: str
    code: str
    passages: tuple[Passage, ...]
    faults: tuple[Fault, ...]


@dataclass(frozen=True)
class Figure:
    """A picture with what is to be seen in it, as PDF and as SVG; it belongs to `topics`."""

    name: str
    title: str
    caption: str
    topics: tuple[str, ...]
    pdf: bytes
    svg: str


@dataclass(frozen=True)
class Timing:
    code: str
    symbolic: float
    numeric: float


@dataclass(frozen=True)
class ProofLog:
    """A log that the checker has accepted: whose it is, what it shows, and its SHA-256."""

    code: str
    kind: str
    digest: str


@dataclass(frozen=True)
class RunDetails:
    """How the report was made, and all that differs between two runs on the same input."""

    settings: tuple[tuple[str, str], ...]
    logs: tuple[ProofLog, ...]
    timings: tuple[Timing, ...]


@dataclass(frozen=True)
class Report:
    """`language` is that of its texts, and of what the renderers say."""

    scope: str
    counts: tuple[Count, ...]
    alarms: tuple[Alarm, ...]
    entries: tuple[Entry, ...]
    documents: tuple[Document, ...]
    figures: tuple[Figure, ...]
    guide: tuple[Block, ...]
    topics: tuple[Topic, ...]
    run: RunDetails
    models: tuple[Block, ...] = ()
    language: str = messages.ENGLISH
