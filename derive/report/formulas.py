r"""Formula in, LaTeX out: broken into aligned lines for display, or made breakable for text."""

from __future__ import annotations

import re
from dataclasses import replace
from enum import Enum
from functools import lru_cache
from itertools import pairwise
from math import ceil, inf
from typing import Final

from derive.report.breaking import Broken, Line, break_lines
from derive.report.costs import CLAUSE_LINKS, LINE_COST, depths, inside_short_brackets
from derive.report.layout import MAX_LINES, SMALLER
from derive.report.memory import remembered
from derive.report.pieces import SPACES, Kind, Piece, source_of, tallest, width
from derive.report.reading import read


@remembered
def displayed(latex: str, room: float, most: int = MAX_LINES, highest: float = inf) -> list[str]:
    """The formula in blocks of lines that fit into `room` em, or nearly so where that saves a bad
    break: ``\fitmath`` scales them down. One block if `most` lines suffice, of which the height is
    at most that of `highest` lines of text.
    """
    broken = _best_lines_of(latex, room)
    if len(broken.lines) == 1:
        return [_tight(source_of(broken.lines[0].pieces))]
    blocks = max(ceil(len(broken.lines) / most), ceil(_height(broken) / highest))
    blocks = min(blocks, len(broken.lines))
    ends = [len(broken.lines) * k // blocks for k in range(blocks + 1)]
    return [_tight(_aligned(broken, a, broken.lines[a:b])) for a, b in pairwise(ends)]


def _tight(source: str) -> str:
    """Without the space that TeX sets between a pair of delimiters and the comma behind it."""
    return _COMMA_BEHIND_A_PAIR.sub(r"\g<0>\\mathclose{}", source)


_COMMA_BEHIND_A_PAIR: Final = re.compile(r"\\right *(?:\\[A-Za-z]+|\\?[^\s\\])(?= ?[,;.])")


@lru_cache(maxsize=64)
def _best_lines_of(latex: str, room: float) -> Broken:
    """Asked for several times while a row is set."""
    return best_lines(read(latex), room)


def best_lines(pieces: list[Piece], room: float) -> Broken:
    """The cheapest lines, perhaps for a little more room than there is; the cost has its price."""
    best = break_lines(pieces, room)
    cost = best.cost
    for scale, price in _SCALES:
        if cost <= price + LINE_COST:  # no better without a break
            break
        broken = break_lines(pieces, scale * room)
        if broken.cost + price < cost:
            best, cost = broken, broken.cost + price
    return replace(best, cost=cost)


@remembered
def single_relation(latex: str) -> tuple[str, str, str] | None:
    """Left side, sign and right side of a formula that is one relation between two terms."""
    pieces = read(latex)
    nesting = depths(pieces)
    outside = [k for k, piece in enumerate(pieces) if nesting[k] == 0 and piece.kind in _NOT_TERM]
    if len(outside) != 1 or pieces[outside[0]].kind is not Kind.RELATION:
        return None
    at = outside[0]
    return source_of(pieces[:at]), pieces[at].source, source_of(pieces[at + 1 :])


@remembered
def shared_value(latex: str) -> str | None:
    """The value in a = value = b; None of anything else."""
    pieces = read(latex)
    nesting = depths(pieces)
    outside = [k for k, piece in enumerate(pieces) if nesting[k] == 0 and piece.kind in _NOT_TERM]
    if [pieces[k].source for k in outside] != ["=", "="]:
        return None
    first, second = outside
    return source_of(pieces[first + 1 : second])


@remembered
def em(latex: str) -> float:
    """How wide the formula is on one line."""
    return width(read(latex))


@remembered
def relation(latex: str) -> tuple[str, str, str, str] | None:
    """What a formula that is one relation between two terms binds, and its left side, its sign and
    its right side."""
    pieces = read(latex)
    start = prefix_length(pieces)
    found = single_relation(source_of(pieces[start:])) if pieces[start:] else None
    return None if found is None else (source_of(pieces[:start]), *found)


def prefix_length(pieces: list[Piece]) -> int:
    """How many pieces the formula begins with that bind something."""
    return next((k for k, piece in enumerate(pieces) if not _binds(piece)), len(pieces))


def _binds(piece: Piece) -> bool:
    return piece.kind is Kind.QUANTIFIER or piece.kind in SPACES


@remembered
def fits(latex: str, room: float) -> bool:
    """Whether no piece keeps the lines of the formula from fitting into `room` em."""
    broken = break_lines(read(latex), room)
    left = width(broken.left_side)
    return all(left + line.indent + width(line.pieces) <= room for line in broken.lines)


@remembered
def height(latex: str, room: float) -> float:
    """How many lines of text the formula is high in a column of `room` em."""
    return _height(_best_lines_of(latex, room))


def _height(broken: Broken) -> float:
    return sum(map(_line_height, broken.lines))


@remembered
def badness(latex: str, room: float) -> float:
    """What the places at which the formula is broken cost in the sense of `costs`."""
    broken = _best_lines_of(latex, room)
    return broken.cost - LINE_COST * len(broken.lines)


@remembered
def begins_narrow(latex: str, room: float, column: float, lines: int) -> bool:
    """Whether the first of its lines, as many as stand beside `lines` of smaller text, leave all
    that is right of `column` em free.

    The text begins at the base line of the first, so that the upper half of that is not beside it.
    """
    broken = _best_lines_of(latex, room)
    left, above = width(broken.left_side), 0.0
    for line in broken.lines:
        if above >= lines * _SMALL:
            break
        if left + line.indent + width(line.pieces) > column:
            return False
        above += _line_height(line) if above else (_line_height(line) + 1) / 2
    return above >= lines * _SMALL


def _line_height(line: Line) -> float:
    """In lines of text; a fraction takes two, a sum with its limits nearly three."""
    return _HEIGHTS[min(tallest(line.pieces), len(_HEIGHTS) - 1)]


def _aligned(broken: Broken, start: int, lines: list[Line]) -> str:
    rows = [_row(line, broken.fences) for line in lines]
    if broken.left_side:
        left = source_of(broken.left_side, broken.fences)
        rows[0] = (left if start == 0 else rf"\phantom{{{left}}}") + " " + rows[0]
    body = " \\\\\n".join(rows)
    return f"\\begin{{aligned}}[t]\n{body}\n\\end{{aligned}}"


def _row(line: Line, fences: frozenset[int]) -> str:
    source = source_of(line.pieces, fences)
    if line.factor:
        source = rf"\cdot {source}"
    if not line.indent:
        return f"& {source}"
    # The empty atom keeps a leading + binary.
    return rf"& \hspace{{{line.indent:.1f}em}} {{}} {source}"


@remembered
def inline(latex: str, room: float) -> str:
    r"""Math for running text, where TeX of itself ends lines after signs and relations only.

    Lines may end before arrows, ∧ and ∨, and after commas and quantifiers, too; they never end
    inside short brackets. Where that still leaves a stretch wider than `room` em, fences take a
    fixed size, so that TeX can break inside them; where even that does not help, the formula gets
    lines of its own.
    """
    pieces = read(latex)
    every = frozenset(piece.fence for piece in pieces if piece.fence is not None)
    for fixed in (frozenset[int](), every):
        gaps = _gaps(pieces, fixed)
        if _widest(pieces, gaps) <= room:
            return "$" + _tight(_with_gaps(pieces, gaps, fixed)) + "$"
    lines = [rf"\fitmath{{{block}}}" for block in displayed(latex, room)]
    return r"\newline " + r"\newline ".join(lines) + r"\newline "


_SMALL: Final = 11 / 12
"""The line of the text beside a formula, 9 pt, in lines of 10 pt."""

_HEIGHTS: Final = (1.2, 2.2, 2.9)

_SCALES: Final = ((1.1, 36.0), (SMALLER, 70.0))
"""How much wider than their column lines may be, and what that costs in the sense of `costs`."""

_NOT_TERM: Final = CLAUSE_LINKS | {
    Kind.RELATION, Kind.WEAK_RELATION, Kind.PUNCTUATION, Kind.QUANTIFIER, Kind.TEXT,
    Kind.WIDE_SPACE,
}  # fmt: skip


class _Gap(Enum):
    """What TeX is told between two pieces, and whether a line may end there."""

    NOTHING = ""
    LEFT_TO_TEX = " "
    KEEP = r"\nobreak "
    BREAK = r"\allowbreak "
    AT_COMMA = r"\commabreak "


_BY_TEX: Final = frozenset({Kind.RELATION, Kind.WEAK_RELATION, Kind.SUM, Kind.PRODUCT})
"""After these TeX ends lines."""

_CLOSED: Final = frozenset({_Gap.NOTHING, _Gap.KEEP})


def _gaps(pieces: list[Piece], fixed: frozenset[int]) -> list[_Gap]:
    """The gap behind each piece; fences that are not `fixed` are not broken."""
    short = inside_short_brackets(pieces)
    gaps = [_Gap.NOTHING] * len(pieces)
    inside = 0
    for place, piece in enumerate(pieces[:-1]):
        if piece.fence is not None and piece.fence not in fixed:
            inside += {Kind.OPEN: 1, Kind.CLOSE: -1}.get(piece.kind, 0)
        if inside:
            continue
        if piece.kind in CLAUSE_LINKS or (short[place + 1] and piece.kind in _BY_TEX):
            gaps[place] = _Gap.KEEP
        elif not short[place + 1]:
            gaps[place] = _open_gap(pieces, place)
    return gaps


def _open_gap(pieces: list[Piece], place: int) -> _Gap:
    piece = pieces[place]
    if piece.kind is Kind.PUNCTUATION:
        return _Gap.AT_COMMA
    if piece.kind is Kind.QUANTIFIER or (
        piece.kind not in SPACES and _next_solid(pieces, place) in CLAUSE_LINKS | {Kind.WIDE_SPACE}
    ):
        return _Gap.BREAK
    return _Gap.LEFT_TO_TEX if piece.kind in _BY_TEX else _Gap.NOTHING


def _next_solid(pieces: list[Piece], place: int) -> Kind | None:
    """The kind of the next piece that is not a thin space."""
    return next((p.kind for p in pieces[place + 1 :] if p.kind is not Kind.THIN_SPACE), None)


def _widest(pieces: list[Piece], gaps: list[_Gap]) -> float:
    """Width of the widest stretch in which no line can end."""
    widest = em = 0.0
    for piece, gap in zip(pieces, gaps, strict=True):
        em += piece.em
        widest = max(widest, em)
        em = em if gap in _CLOSED else 0.0
    return widest


def _with_gaps(pieces: list[Piece], gaps: list[_Gap], fixed: frozenset[int]) -> str:
    parts: list[str] = []
    run: list[Piece] = []
    for piece, gap in zip(pieces, gaps, strict=True):
        bound = piece.kind is Kind.QUANTIFIER
        run.append(replace(piece, source=f"{{{piece.source}}}") if bound else piece)
        if gap is not _Gap.NOTHING:
            parts.append(source_of(run, fixed) + gap.value)
            run = []
    return "".join([*parts, source_of(run, fixed)])
