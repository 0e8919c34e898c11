"""Running text with inline ``$...$`` math and identifiers -> LaTeX.

Identifiers stand between backticks; words with an underscore are identifiers, too.

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
_CODE: Final = re.compile(r"`([^`]+)`|\b([A-Za-z]\w*_\w+)\b")


def set_text(text: str, room: float) -> str:
    """LaTeX of `text`; inline math gives way where it is wider than `room` em."""
    parts = _split(text)
    return "".join(
        inline(part, room) if place % 2 else _words(part) for place, part in enumerate(parts)
    )


def _words(text: str) -> str:
    """Plain text; what stands between backticks or has an underscore is an identifier."""
    out, end = "", 0
    for found in _CODE.finditer(text):
        out += escape(text[end : found.start()]) + set_code(found[1] or found[2])
        end = found.end()
    return out + escape(text[end:])


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
