"""Running text with inline ``$...$`` math and identifiers -> LaTeX.

Identifiers stand between backticks; words with an underscore are identifiers, too.

Everything else is plain text, so that LaTeX's special characters print as themselves; a literal
dollar is written ``\\$``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from enum import Enum, auto
from math import ceil
from typing import Final

from derive.report.characters import TEXT_SPECIAL, text_char
from derive.report.errors import TextSyntax
from derive.report.formulas import inline
from derive.report.pieces import width
from derive.report.reading import read
from derive.report.widths import upright_width

_DOLLAR: Final = re.compile(r"(?<!\\)\$")
_AFTER_SEPARATOR: Final = re.compile(r"(?<=[-_./:])(?=[^-_./:])")
_UNIT: Final = re.compile(r"[\u3000-\uffff][，。；：、）]*|[^\s\u3000-\uffff]+|\s+")
_CODE: Final = re.compile(r"`([^`]+)`|\b([A-Za-z]\w*_\w+)\b", re.ASCII)


class Span(Enum):
    """What a stretch of running text is."""

    WORDS = auto()
    CODE = auto()
    MATH = auto()


def spans(text: str) -> Iterator[tuple[Span, str]]:
    """The stretches of running text, each without its dollars or backticks."""
    for place, part in enumerate(_split(text)):
        if place % 2:
            yield Span.MATH, part
            continue
        end = 0
        for found in _CODE.finditer(part):
            yield Span.WORDS, part[end : found.start()]
            yield Span.CODE, found[1] or found[2]
            end = found.end()
        yield Span.WORDS, part[end:]


def set_text(text: str, room: float) -> str:
    """LaTeX of `text`; inline math gives way where it is wider than `room` em."""
    return "".join(_set(span, part, room) for span, part in spans(text))


def tied(latex: str) -> str:
    """The text of a narrow column, of which the last line is not a single letter or number."""
    return _LAST_SPACE.sub("~", latex)


_LAST_SPACE: Final = re.compile(r"(?<=[^\s~]{2}) (?=(?:\$[^$\s]{1,6}\$|[^\s$\\{}~]{1,2})[.,;]?$)")


def _set(span: Span, part: str, room: float) -> str:
    match span:
        case Span.WORDS:
            return escape(part)
        case Span.CODE:
            return set_code(part)
        case Span.MATH:
            return inline(part, room)


def lines_of_text(text: str, room: float) -> int:
    """About how many lines of `room` em a text takes."""
    return ceil(sum(_em(span, part) for span, part in spans(text)) / room)


def lines_at_most(text: str, room: float) -> int:
    """How many lines of `room` em a text takes if no formula in it is broken."""
    lines, used = min(len(text), 1), 0.0
    for unit, em in _units(text):
        if unit.isspace():
            used += em
        elif used and used + em > room:
            lines, used = lines + 1, em
        else:
            used += em
    return lines


def _units(text: str) -> Iterator[tuple[str, float]]:
    """What stays together on a line, and how wide it is: words, single Chinese characters with the
    punctuation behind them, names and formulas."""
    for span, part in spans(text):
        units = _UNIT.findall(part) if span is Span.WORDS else [part]
        yield from ((unit, _em(span, unit)) for unit in units)


def _em(span: Span, part: str) -> float:
    return width(read(part)) if span is Span.MATH else upright_width(part)


def plain(text: str) -> str:
    """`text` for a PDF bookmark: no TeX, formulas reduced to their letters and signs."""
    parts = _split(text)
    flat = (
        re.sub(r"\\[,;:!> ]|\\(?:text|left|right|mathrm|mathbf|operatorname)\b|[{}]", "", part)
        if place % 2
        else _CODE.sub(lambda found: found[1] or found[2], part)
        for place, part in enumerate(parts)
    )
    ascii_only = "".join(flat).replace("\\", "").replace("$", "")
    return "".join(TEXT_SPECIAL.get(char, char) for char in ascii_only if char.isprintable())


def escape(text: str) -> str:
    """LaTeX that prints plain text as it is, white space collapsed, straight quotes curled."""
    return "".join(text_char(char, text) for char in typeset(text))


def typeset(text: str) -> str:
    """Plain words with white space collapsed, straight quotes curled, escaped dollars plain; a
    percent sign stays with its number."""
    collapsed = re.sub(r"[ \t\r\n]+", " ", unicodedata.normalize("NFC", text))
    collapsed = re.sub(r"(?<=\d) (?=%)", "\xa0", collapsed)
    curled = re.sub(r'(?<![^\s(\[])"', "“", collapsed).replace('"', "”")
    return curled.replace(r"\$", "$")


def set_code(name: str) -> str:
    """An identifier, a file name or a path in typewriter, with places where a line may end."""
    return rf"\code{{{breakable(name, 16)}}}"


def breakable(name: str, longest: int) -> str:
    """A name with places where a line may end: none in a short one, else behind separators, and in
    what is longer.
    """
    if len(name) <= longest:
        return escape(name)
    runs = [
        run[start : start + longest]
        for run in _AFTER_SEPARATOR.split(name)
        for start in range(0, len(run), longest)
    ]
    return r"\allowbreak{}".join(escape(run) for run in runs)


def _split(text: str) -> list[str]:
    """Text and math in turn, text first."""
    parts = _DOLLAR.split(text)
    if len(parts) % 2 == 0:
        raise TextSyntax(f"a dollar sign is not closed in: {text}")
    return parts
