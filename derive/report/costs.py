"""What a line break before each piece of a formula costs; lower is better, None is forbidden.

An author breaks at the relations of the chain first (a saving: each link gets its own line),
then at sums, at commas, at products, and inside parentheses only when nothing else is left.
"""

from __future__ import annotations

from typing import Final

from derive.report.pieces import SPACES, Kind, Piece

LINE_COST: Final = 22.0
"""What one more line costs."""

_CHAIN: Final = -LINE_COST - 3.0
_NESTED: Final = 25.0
_SHORT_LINK_EM: Final = 3.5

_NOT_BINARY_AFTER: Final = frozenset({
    Kind.OPEN, Kind.RELATION, Kind.WEAK_RELATION, Kind.ARROW, Kind.SUM, Kind.PRODUCT,
    Kind.PUNCTUATION, Kind.OPERATOR, Kind.BIG_OPERATOR, Kind.SLASH, Kind.TEXT, Kind.WIDE_SPACE,
})  # fmt: skip
_NEVER_FIRST: Final = SPACES | {Kind.CLOSE, Kind.PUNCTUATION, Kind.SLASH}
_RELATIONS: Final = frozenset({Kind.RELATION, Kind.WEAK_RELATION, Kind.ARROW})
_BEFORE: Final = {Kind.SUM: 10.0, Kind.PRODUCT: 25.0}
_AFTER: Final = {
    Kind.WIDE_SPACE: 2.0,
    Kind.PUNCTUATION: 20.0,
    Kind.TEXT: 30.0,
    Kind.THIN_SPACE: 50.0,
}


def break_costs(pieces: list[Piece]) -> list[float | None]:
    nesting = depths(pieces)
    clause = first_clause(pieces, nesting)
    arrows = any(p.kind is Kind.ARROW and d == 0 for p, d in zip(pieces, nesting, strict=True))
    costs: list[float | None] = [None]
    for place in range(1, len(pieces)):
        if nesting[place] == 0 and pieces[place].kind in {Kind.RELATION, Kind.ARROW}:
            short = _link_em(pieces, nesting, place) < _SHORT_LINK_EM
            weak = arrows or short
            costs.append(_link_cost(pieces[place].kind, in_chain=place < clause, weak=weak))
            continue
        cost = _inner_cost(pieces, place)
        costs.append(None if cost is None else cost + _NESTED * nesting[place])
    return costs


def depths(pieces: list[Piece]) -> list[int]:
    """How many parentheses are open before each piece; a close without an open counts nothing."""
    depth = 0
    found = []
    for piece in pieces:
        found.append(depth)
        if piece.kind is Kind.OPEN:
            depth += 1
        elif piece.kind is Kind.CLOSE:
            depth = max(0, depth - 1)
    return found


def first_clause(pieces: list[Piece], nesting: list[int]) -> int:
    """Where the chain of relations ends: at a comma, wide space or text outside parentheses."""
    ends = {Kind.PUNCTUATION, Kind.WIDE_SPACE, Kind.TEXT}
    for place, piece in enumerate(pieces):
        if place and nesting[place] == 0 and piece.kind in ends:
            return place
    return len(pieces)


def _link_em(pieces: list[Piece], nesting: list[int], place: int) -> float:
    """Width from the relation at `place` up to the next one."""
    em = pieces[place].em
    for piece, depth in zip(pieces[place + 1 :], nesting[place + 1 :], strict=True):
        if depth == 0 and piece.kind in {Kind.RELATION, Kind.ARROW}:
            break
        em += piece.em
    return em


def _link_cost(kind: Kind, *, in_chain: bool, weak: bool) -> float:
    """`weak` is a link beside arrows, or one as short as ``= 0``: no line of its own by right."""
    if kind is Kind.ARROW:
        return _CHAIN
    if not in_chain:
        return 30.0
    return 8.0 if weak else _CHAIN


def _inner_cost(pieces: list[Piece], place: int) -> float | None:
    before, after = pieces[place - 1], pieces[place]
    if after.kind in _NEVER_FIRST:
        return None
    if after.kind in _RELATIONS:
        return 45.0
    if after.kind in _BEFORE and _is_binary(pieces, place):
        return _BEFORE[after.kind]
    if before.kind in _AFTER:
        return _AFTER[before.kind]
    return 30.0 if after.kind is Kind.TEXT else _product_cost(before, after)


def _is_binary(pieces: list[Piece], place: int) -> bool:
    """Whether the sign at `place` joins two terms, rather than standing before one."""
    for piece in reversed(pieces[:place]):
        if piece.kind is not Kind.THIN_SPACE:
            return piece.kind not in _NOT_BINARY_AFTER
    return False


def _product_cost(before: Piece, after: Piece) -> float | None:
    """Between factors that stand side by side; a parenthesis after a letter may be its argument."""
    if before.kind not in {Kind.ORDINARY, Kind.CLOSE, Kind.FRACTION}:
        return None
    if after.kind is Kind.OPEN:
        return 30.0 if before.kind is Kind.CLOSE else None
    if after.kind is Kind.BIG_OPERATOR:
        return 32.0
    if before.kind is Kind.CLOSE or Kind.FRACTION in {before.kind, after.kind}:
        return 40.0
    return 90.0 if after.kind in {Kind.ORDINARY, Kind.OPERATOR} else None
