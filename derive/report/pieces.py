r"""A formula as a row of pieces that are never broken, each with its kind and its width.

``\frac{a}{b}``, ``\sum_{i=0}^{n-1}``, ``x_{i}^{2}``, ``\forall i < n:``, a matrix are one piece
each; a pair ``\left( ... \right)`` is transparent: its delimiters are pieces and so is what it
holds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Final


class Kind(Enum):
    """What a piece is to its neighbours; TeX's atom classes, a little finer."""

    ORDINARY = auto()
    OPERATOR = auto()
    BIG_OPERATOR = auto()
    FRACTION = auto()
    QUANTIFIER = auto()
    ARROW = auto()
    CONNECTIVE = auto()
    RELATION = auto()
    WEAK_RELATION = auto()
    SUM = auto()
    PRODUCT = auto()
    SLASH = auto()
    OPEN = auto()
    CLOSE = auto()
    PUNCTUATION = auto()
    THIN_SPACE = auto()
    WIDE_SPACE = auto()
    TEXT = auto()


SPACES: Final = frozenset({Kind.THIN_SPACE, Kind.WIDE_SPACE})


@dataclass(frozen=True)
class Piece:
    r"""`em` includes the space that TeX adds around it; `tall` is 0 for a letter, 1 for a
    fraction, 2 for a sum or a matrix.

    The delimiters of a ``\left ... \right`` pair carry the pair's number as `fence` and, as
    `fixed`, the form of fixed size that replaces them when the pair is broken across lines.
    `glued` marks a word that continues the text of the piece before.
    """

    source: str
    kind: Kind
    em: float
    tall: int = 0
    fence: int | None = None
    fixed: str = ""
    glued: bool = False


def width(pieces: list[Piece]) -> float:
    return sum(piece.em for piece in pieces)


def tallest(pieces: list[Piece]) -> int:
    return max((piece.tall for piece in pieces), default=0)


def with_scripts(piece: Piece, source: str, script_em: float, *, limits: bool) -> Piece:
    """The same piece with sub- and superscripts: beside it, or above and below it (`limits`)."""
    em = max(piece.em, script_em) if limits else piece.em + script_em
    fixed = piece.fixed + source if piece.fixed else ""
    return replace(piece, source=piece.source + source, em=em, fixed=fixed)


def source_of(pieces: list[Piece], broken: frozenset[int] = frozenset()) -> str:
    """LaTeX of pieces on one line; fences in `broken` take their fixed size."""
    parts: list[str] = []
    for piece in pieces:
        source = piece.fixed if piece.fence in broken else piece.source
        if piece.glued and parts:
            parts[-1] = parts[-1].removesuffix("}") + source.removeprefix(r"\text{")
        else:
            parts.append(source)
    return " ".join(parts)
