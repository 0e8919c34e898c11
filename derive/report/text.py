"""Running text with inline ``$...$`` math and identifiers between backticks -> LaTeX.

Everything else is plain text, so that LaTeX's special characters print as themselves; a literal
dollar is written ``\\$``.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from derive.report.characters import TEXT_SPECIAL, text_char
from derive.report.errors import TextSyntax
from derive.report.formulas import inline

_DOLLAR: Final = re.compile(r"(?<!\\)\$")
_AFTER_SEPARATOR: Final = re.compile(r"(?<=[-_./:])(?=[^-_./:])")
_LONGEST_RUN: Final = 16
_CODE: Final = re.compile(r"`([^`]+)`")


def set_text(text: str, room: float) -> str:
    """LaTeX of `text`; inline math gives way where it is wider than `room` em."""
    parts = _split(text)
    return "".join(
        inline(part, room) if place % 2 else _words(part) for place, part in enumerate(parts)
    )


def _words(text: str) -> str:
    parts = _CODE.split(text)
    return "".join(
        set_code(part) if place % 2 else escape(part) for place, part in enumerate(parts)
    )


def plain(text: str) -> str:
    """`text` for a PDF bookmark: no TeX, formulas reduced to their letters and signs."""
    parts = _split(text)
    flat = (
        re.sub(r"\\[,;:!> ]|\\(?:text|left|right|mathrm|mathbf|operatorname)\b|[{}]", "", part)
        if place % 2
        else _CODE.sub(r"\1", part)
        for place, part in enumerate(parts)
    )
    ascii_only = "".join(flat).replace("\\", "").replace("$", "")
    return "".join(TEXT_SPECIAL.get(char, char) for char in ascii_only if char.isprintable())


def escape(text: str) -> str:
    """LaTeX that prints plain text as it is, white space collapsed, straight quotes curled."""
    collapsed = re.sub(r"[ \t\r\n]+", " ", unicodedata.normalize("NFC", text))
    curled = re.sub(r'(?<![^\s(\[])"', "“", collapsed).replace('"', "”")
    return "".join(text_char(char, text) for char in curled.replace(r"\$", "$"))


def set_code(name: str) -> str:
    """An identifier, a file name or a path in typewriter, with places where a line may end."""
    runs = [
        run[start : start + _LONGEST_RUN]
        for run in _AFTER_SEPARATOR.split(name)
        for start in range(0, len(run), _LONGEST_RUN)
    ]
    return r"\code{" + r"\allowbreak{}".join(escape(run) for run in runs) + "}"


def _split(text: str) -> list[str]:
    """Text and math in turn, text first."""
    parts = _DOLLAR.split(text)
    if len(parts) % 2 == 0:
        raise TextSyntax(f"a dollar sign is not closed in: {text}")
    return parts
