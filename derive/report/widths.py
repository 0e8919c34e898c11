"""How wide single tokens are in em of the current size; read off Computer Modern with TeX."""

from __future__ import annotations

from typing import Final

SCRIPT: Final = 0.72
"""Scale of a subscript or superscript."""

THIN, MEDIUM, THICK = 0.167, 0.222, 0.278
"""The three spaces that TeX puts around operators, binary operators and relations."""

_LETTERS: Final = dict(zip(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
    (
        0.53, 0.43, 0.43, 0.52, 0.47, 0.60, 0.51, 0.58, 0.35, 0.47, 0.55, 0.32, 0.88,
        0.60, 0.49, 0.50, 0.48, 0.48, 0.47, 0.36, 0.57, 0.52, 0.74, 0.57, 0.53, 0.51,
        0.75, 0.81, 0.79, 0.86, 0.80, 0.78, 0.79, 0.91, 0.52, 0.65, 0.92, 0.68, 1.08,
        0.91, 0.79, 0.78, 0.79, 0.77, 0.67, 0.72, 0.79, 0.81, 1.08, 0.91, 0.80, 0.75,
    ),
    strict=True,
))  # fmt: skip

_PUNCTUATION: Final = {
    "(": 0.39, ")": 0.39, "[": 0.28, "]": 0.28, "|": 0.28, "/": 0.50, "!": 0.28, ".": 0.28,
    ",": 0.28, ";": 0.28, ":": 0.28, "?": 0.47, "'": 0.28, r"\{": 0.5, r"\}": 0.5, r"\|": 0.5,
    "=": 0.78, "<": 0.78, ">": 0.78, "+": 0.78, "-": 0.78, "*": 0.5, "~": 0.33,
}  # fmt: skip

_COMMANDS: Final = {
    "nabla": 0.83, "infty": 1.0, "ell": 0.42, "ldots": 1.17, "cdots": 1.33, "dots": 1.33,
    "ddots": 1.17, "vdots": 0.28, "langle": 0.39, "rangle": 0.39, "lfloor": 0.45, "rfloor": 0.45,
    "lceil": 0.45, "rceil": 0.45, "lvert": 0.28, "rvert": 0.28, "lVert": 0.5, "rVert": 0.5,
    "lbrace": 0.5, "rbrace": 0.5, "prime": 0.28, "forall": 0.56, "exists": 0.56, "cdot": 0.28,
    "mid": 0.28, "nmid": 0.28, "to": 1.0, "mapsto": 1.0, "implies": 2.2, "iff": 2.4,
    "Longrightarrow": 1.65, "Longleftrightarrow": 1.85, "longrightarrow": 1.65,
    "Rightarrow": 1.0, "Leftrightarrow": 1.0, "coloneqq": 1.0, "circ": 0.5, "gg": 1.0, "ll": 1.0,
    "bmod": 1.9,
    "sum": 1.45, "prod": 1.28, "int": 1.0, "bigcup": 1.12, "bigcap": 1.12, "bigoplus": 1.52,
    ",": 0.17, ":": 0.23, ">": 0.23, ";": 0.28, "!": -0.17, " ": 0.34, "quad": 1.0, "qquad": 2.0,
    "displaystyle": 0.0, "textstyle": 0.0, "scriptstyle": 0.0, "limits": 0.0, "nolimits": 0.0,
    "left": 0.0, "right": 0.0, "middle": 0.0, "not": 0.0,
}  # fmt: skip

_UNKNOWN: Final = 0.78
"""Most relations, binary operators and wide Greek letters."""


_FIRST_WIDE: Final = "\u3000"
"""From here on characters fill a square: Chinese ones and their punctuation."""


def token_width(token: str) -> float:
    """Width of one token of math, without the space around it."""
    if token[0].isdigit():
        return 0.5 * len(token)
    if len(token) > 1 and token[0] == "\\" and token not in _PUNCTUATION:
        return _COMMANDS.get(token[1:], _UNKNOWN)
    return _LETTERS.get(token) or _PUNCTUATION.get(token, _UNKNOWN)


def upright_width(text: str) -> float:
    r"""Width of letters set upright, as in ``\text`` or ``\operatorname``."""
    return sum(_upright_letter(char) for char in text)


def _upright_letter(char: str) -> float:
    if char in "iljtfI.,;:'!|()[] ":
        return 0.36
    if char in "mwMW":
        return 0.9
    if char >= _FIRST_WIDE:
        return 1.0
    return 0.75 if char.isupper() else 0.53
