"""Breaks a formula that is too wide into lines, the cheapest way in the sense of `costs`.

A break never changes the tokens of the formula, apart from giving fences that it splits a fixed
size. Lines are aligned at the first relation where the left side is short, else they hang.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from derive.report.costs import (
    LINE_COST,
    LINKS,
    break_costs,
    depths,
    first_clause,
    follows,
    is_list,
    joins_factors,
    top_links,
)
from derive.report.pieces import Kind, Piece, width

_OVERFLOW_COST: Final = 400.0
_SLACK_COST: Final = 8.0
_LONELY_EM: Final = 4.5
_LONELY_COST: Final = 4.0
_LONELY_FACTOR_COST: Final = 40.0
"""For a short last line, and for a single term or factor on any line but the first."""

_HANGING_COST: Final = 12.0
_LONGEST_LEFT_SIDE: Final = 0.40
"""Share of the line that the left side may take before relations stop being aligned with it."""

_HANGING_EM: Final = 1.0
_CONTINUED_EM: Final = 1.1
_DEEPEST_EM: Final = 4
_SIGN_EM: Final = 0.72
"""Width of the sign of a product and the space behind it, at the beginning of a line."""


@dataclass(frozen=True)
class Line:
    """`indent` in em; from the alignment point when the lines are aligned, else from the left.

    `factor` tells that the line goes on with a factor, of which only the sign tells on a new line.
    """

    indent: float
    pieces: list[Piece]
    factor: bool = False


@dataclass(frozen=True)
class Broken:
    """Lines of one formula. `left_side` is empty, or what stands before the relation at which
    all lines are aligned. `fences` are the pairs of delimiters that a break splits."""

    left_side: list[Piece]
    lines: list[Line]
    fences: frozenset[int]
    cost: float


def break_lines(pieces: list[Piece], room: float) -> Broken:
    """Lines of at most `room` em, as far as the pieces allow."""
    if width(pieces) <= room:
        return Broken([], [Line(0.0, pieces)], frozenset(), LINE_COST)
    costs = break_costs(pieces)
    layouts = [_Layout(pieces, costs, room, anchor=0)]
    anchor = _alignment(pieces)
    if anchor and width(pieces[:anchor]) <= _LONGEST_LEFT_SIDE * room:
        layouts.append(_Layout(pieces, costs, room, anchor=anchor))
    return min(layouts, key=lambda layout: layout.cost).broken()


def _alignment(pieces: list[Piece]) -> int:
    """The first arrow, or in a single clause the first relation, of the chain; else 0."""
    nesting = depths(pieces)
    links = top_links(pieces, nesting) - {Kind.CONNECTIVE}
    for place in range(first_clause(pieces, nesting)):
        if nesting[place] == 0 and pieces[place].kind in links:
            return place
    return 0


class _Layout:
    """The cheapest breaks for one manner of indenting: aligned at `anchor`, or hanging if 0."""

    def __init__(
        self, pieces: list[Piece], costs: list[float | None], room: float, anchor: int
    ) -> None:
        self._pieces = pieces
        self._room = room
        self._anchor = anchor
        self._depths = depths(pieces)
        self._listed = is_list(pieces, self._depths)
        self._links = top_links(pieces, self._depths)
        self._ends_em = [0.0, *accumulate(piece.em for piece in pieces)]
        self._indents: dict[int, float] = {}
        self._going_on: dict[int, bool] = {}
        self._factors = [k > 0 and joins_factors(pieces, k) for k in range(len(pieces))]
        self.cost, self._breaks = self._cheapest(costs)

    def _cheapest(self, costs: list[float | None]) -> tuple[float, list[int]]:
        """Dynamic programming over line ends: the best way to set everything before each."""
        best: dict[int, tuple[float, list[int]]] = {0: (0.0 if self._anchor else _HANGING_COST, [])}
        for end in range(self._anchor + 1, len(self._pieces) + 1):
            last = end == len(self._pieces)
            cost = 0.0 if last else costs[end]
            if cost is None:
                continue
            total, start = min(
                (total + self._line_cost(start, end), start) for start, (total, _) in best.items()
            )
            breaks = best[start][1]
            best[end] = (total + cost, breaks if last else [*breaks, end])
        return best[len(self._pieces)]

    def _indent(self, start: int) -> float:
        """Where a line that starts with this piece begins, in em from the left."""
        if start not in self._indents:
            self._indents[start] = self._found_indent(start)
        return self._indents[start]

    def _found_indent(self, start: int) -> float:
        if start == 0 or self._pieces[start].glued or self._starts_clause(start):
            return 0.0
        base = self._ends_em[self._anchor] if self._anchor else _HANGING_EM
        body = self._depths[start] == 0 and follows(self._pieces, start, Kind.QUANTIFIER)
        link = body or self._pieces[start].kind in self._links
        nested = min(self._depths[start], _DEEPEST_EM)
        return base + (0.0 if link else _CONTINUED_EM) + nested

    def _starts_clause(self, start: int) -> bool:
        """Whether the line starts behind a comma of a list of clauses."""
        outside = self._listed and self._depths[start] == 0
        return outside and follows(self._pieces, start, Kind.PUNCTUATION)

    def _line_cost(self, start: int, end: int) -> float:
        indent = self._indent(start)
        em = indent + self._ends_em[end] - self._ends_em[start]
        em += _SIGN_EM if start > self._anchor and self._factors[start] else 0.0
        if em > self._room:
            return LINE_COST + _OVERFLOW_COST * (1.0 + em - self._room)
        lonely = start > 0 and em - indent < _LONELY_EM
        cost = LINE_COST + (_LONELY_FACTOR_COST if lonely and self._goes_on(start) else 0.0)
        if end == len(self._pieces):
            return cost + (_LONELY_COST if lonely else 0.0)
        slack = 1.0 - em / self._room
        return cost + _SLACK_COST * slack * slack

    def _goes_on(self, start: int) -> bool:
        """Whether the line starts inside a side of a relation."""
        if start not in self._going_on:
            outside = self._starts_clause(start) or follows(self._pieces, start, Kind.QUANTIFIER)
            self._going_on[start] = self._pieces[start].kind not in LINKS and not outside
        return self._going_on[start]

    def broken(self) -> Broken:
        left_em = self._ends_em[self._anchor]
        starts = [self._anchor, *self._breaks]
        ends = [*self._breaks, len(self._pieces)]
        lines = [
            Line(
                self._indent(start) - left_em if start > self._anchor else 0.0,
                self._pieces[start:end],
                factor=start > self._anchor and self._factors[start],
            )
            for start, end in zip(starts, ends, strict=True)
        ]
        return Broken(self._pieces[: self._anchor], lines, self._split_fences(), self.cost)

    def _split_fences(self) -> frozenset[int]:
        """Pairs of delimiters that stand on different lines."""
        breaks = set(self._breaks)
        lines_of: dict[int, set[int]] = {}
        line = 0
        for place, piece in enumerate(self._pieces):
            line += place in breaks
            if piece.fence is not None:
                lines_of.setdefault(piece.fence, set()).add(line)
        return frozenset(fence for fence, lines in lines_of.items() if len(lines) > 1)
