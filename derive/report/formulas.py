r"""Formula in, LaTeX out: broken into aligned lines for display, or made breakable for text."""

from __future__ import annotations

from typing import Final

from derive.report.breaking import Broken, Line, break_lines
from derive.report.layout import MAX_LINES
from derive.report.pieces import SPACES, Kind, Piece, source_of, width
from derive.report.reading import read


def displayed(latex: str, room: float) -> list[str]:
    """The formula in blocks of lines that fit into `room` em; one block unless it is very long.

    A single piece wider than `room` is left as it is: ``\fitmath`` scales it down.
    """
    broken = break_lines(read(latex), room)
    if len(broken.lines) == 1:
        return [source_of(broken.lines[0].pieces)]
    starts = range(0, len(broken.lines), MAX_LINES)
    return [_aligned(broken, start, broken.lines[start : start + MAX_LINES]) for start in starts]


def fits(latex: str, room: float) -> bool:
    """Whether no piece keeps the lines of the formula from fitting into `room` em."""
    broken = break_lines(read(latex), room)
    left = width(broken.left_side)
    return all(left + line.indent + width(line.pieces) <= room for line in broken.lines)


def _aligned(broken: Broken, start: int, lines: list[Line]) -> str:
    rows = [_row(line, broken.fences) for line in lines]
    if broken.left_side:
        left = source_of(broken.left_side, broken.fences)
        rows[0] = (left if start == 0 else rf"\phantom{{{left}}}") + " " + rows[0]
    body = " \\\\\n".join(rows)
    return f"\\begin{{aligned}}[t]\n{body}\n\\end{{aligned}}"


def _row(line: Line, fences: frozenset[int]) -> str:
    source = source_of(line.pieces, fences)
    if not line.indent:
        return f"& {source}"
    # The empty atom keeps a leading + binary.
    return rf"& \hspace{{{line.indent:.1f}em}} {{}} {source}"


def inline(latex: str, room: float) -> str:
    r"""Math for running text, where TeX ends lines after signs and relations only.

    Commas and wide spaces outside fences may end a line too. Where that still leaves a stretch
    wider than `room` em, fences take a fixed size, so that TeX can break inside them; where even
    that does not help, the formula gets lines of its own.
    """
    pieces = read(latex)
    every = frozenset(piece.fence for piece in pieces if piece.fence is not None)
    for fixed in (frozenset[int](), every):
        stretches = _stretches(pieces, fixed)
        if max(map(width, stretches), default=0.0) <= room:
            return "$" + "".join(_with_break(run, fixed) for run in stretches).rstrip() + "$"
    lines = [rf"\fitmath{{{block}}}" for block in displayed(latex, room)]
    return r"\newline " + r"\newline ".join(lines) + r"\newline "


def _with_break(run: list[Piece], fixed: frozenset[int]) -> str:
    """TeX may end a line after a sign or a relation of itself; elsewhere it has to be told."""
    told = run[-1].kind in {Kind.PUNCTUATION, Kind.WIDE_SPACE}
    return source_of(run, fixed) + (r"\allowbreak " if told else " ")


_ENDS_LINE: Final = frozenset({
    Kind.RELATION, Kind.WEAK_RELATION, Kind.ARROW, Kind.SUM, Kind.PRODUCT, Kind.PUNCTUATION,
    Kind.WIDE_SPACE,
})  # fmt: skip


def _stretches(pieces: list[Piece], fixed: frozenset[int]) -> list[list[Piece]]:
    """Runs of pieces without a break inside; fences that are not `fixed` are not broken."""
    runs: list[list[Piece]] = [[]]
    inside = 0
    for place, piece in enumerate(pieces):
        runs[-1].append(piece)
        if piece.fence is not None and piece.fence not in fixed:
            inside += {Kind.OPEN: 1, Kind.CLOSE: -1}.get(piece.kind, 0)
        spaced = pieces[place + 1 : place + 2] and pieces[place + 1].kind in SPACES
        if not inside and piece.kind in _ENDS_LINE and not spaced:
            runs.append([])
    return [run for run in runs if run]
