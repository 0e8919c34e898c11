r"""LaTeX math as a list of tokens: commands, numbers, single characters, runs of white space.

White space is kept, because it counts inside ``\text``; elsewhere readers skip it.
"""

from __future__ import annotations

import re
from typing import Final

from derive.report.characters import math_char, unicode_in_text
from derive.report.errors import MathSyntax

TEXT_COMMANDS: Final = frozenset(
    rf"\{name}" for name in ("text", "textrm", "textbf", "textit", "texttt", "textsf", "mbox")
)
_TOKEN: Final = re.compile(r"\\operatorname\*|\\[A-Za-z]+|\\.|\d+(?:\.\d+)?|\s+|.", re.DOTALL)
_CAPITALS_ONLY: Final = re.compile(r"(\\math(?:bb|cal))\s*\{?\s*[^A-Z{\s]")
_INDICATOR: Final = re.compile(r"\\mathbb\s*(?:1|\{\s*1\s*\})")  # the font has no digits
_FORBIDDEN: Final = {False: frozenset("%#$"), True: frozenset("%#")}  # keyed by "inside text"


def tokenize(latex: str) -> list[str]:
    """Tokens of a formula, every one printable; refuses ``$``, ``#`` and ``%`` outside text."""
    _refuse_missing_letters(latex)
    tokens: list[str] = []
    text_depth = 0
    awaiting_text = False
    for token in _TOKEN.findall(_INDICATOR.sub(r"\\mathbf{1}", latex)):
        if token.isspace():
            tokens.append(" ")
            continue
        if token == "\\":
            raise MathSyntax(f"a backslash ends the formula {latex}")
        tokens.extend(_printable(token, latex, in_text=text_depth > 0))
        text_depth = _text_depth(text_depth, token, awaiting_text)
        awaiting_text = token in TEXT_COMMANDS
    return tokens


def _refuse_missing_letters(latex: str) -> None:
    """The calligraphic and blackboard fonts print other signs where they lack a letter."""
    lacking = _CAPITALS_ONLY.search(_INDICATOR.sub("", latex))
    if lacking:
        raise MathSyntax(f"{lacking[1]} has capital letters only; found in the formula {latex}")


def join(tokens: list[str]) -> str:
    """The LaTeX text of tokens, with a space where a command would swallow the next letter."""
    parts: list[str] = []
    for token in tokens:
        if parts and is_command_word(parts[-1]) and token[0].isalpha():
            parts.append(" ")
        parts.append(token)
    return "".join(parts)


def is_command_word(token: str) -> bool:
    return token[0] == "\\" and token[-1].isalpha()


def _printable(token: str, latex: str, *, in_text: bool) -> list[str]:
    if len(token) > 1:
        return [token]
    if token in _FORBIDDEN[in_text]:
        raise MathSyntax(f"{token} inside the formula {latex}")
    if "!" <= token <= "~":
        return [token]
    if in_text:
        return [unicode_in_text(token, latex)]
    return _TOKEN.findall(math_char(token, latex))


def _text_depth(depth: int, token: str, awaiting_text: bool) -> int:
    """Brace depth counted from the text command that opened it; 0 outside text."""
    if token == "{" and (depth or awaiting_text):
        return depth + 1
    if token == "}" and depth:
        return depth - 1
    return depth
