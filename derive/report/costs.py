"""What a line break before each piece of a formula costs; lower is better, None is forbidden.

An author breaks at what binds least: a formula of several clauses at its arrows, then at ∧ and ∨
or at the commas between them; a single clause at the relations of its chain (a saving: each link
gets its own line); then come sums, commas and products, and the inside of parentheses last.
"""

from __future__ import annotations

from typing import Final

from derive.report.pieces import SPACES, Kind, Piece, width

LINE_COST: Final = 22.0
"""What one more line costs."""

_CHAIN: Final = -LINE_COST - 3.0
_BESIDE_CLAUSES: Final = 8.0
_OUTSIDE_CHAIN: Final = 30.0
_NESTED: Final = 36.0
_SHORT_LINK_EM: Final = 3.5
_SHORT_BRACKET_EM: Final = 12.0
_IN_SHORT_BRACKET: Final = 200.0
_IN_NESTED_CLAUSE: Final = 60.0
_SHORT_LEFT_EM: Final = 8.0
_SHORT_LEFT: Final = 35.0
_LETTER_EM: Final = 3.0
_LONE_LETTER: Final = 95.0
"""For a formula of which the first line would be a single letter."""

CLAUSE_LINKS: Final = frozenset({Kind.ARROW, Kind.CONNECTIVE})
LINKS: Final = CLAUSE_LINKS | {Kind.RELATION}
_NOT_BINARY_AFTER: Final = LINKS | {
    Kind.OPEN, Kind.QUANTIFIER, Kind.WEAK_RELATION, Kind.SUM, Kind.PRODUCT, Kind.PUNCTUATION,
    Kind.OPERATOR, Kind.BIG_OPERATOR, Kind.SLASH, Kind.TEXT, Kind.WIDE_SPACE,
}  # fmt: skip
_ENDS_TERM: Final = _NOT_BINARY_AFTER - {Kind.OPERATOR, Kind.BIG_OPERATOR, Kind.PRODUCT, Kind.SLASH}
_NEVER_FIRST: Final = SPACES | {Kind.CLOSE, Kind.PUNCTUATION, Kind.SLASH}
_RELATIONS: Final = frozenset({Kind.RELATION, Kind.WEAK_RELATION})
_BEFORE: Final = {Kind.ARROW: 2.0, Kind.CONNECTIVE: 5.0, Kind.SUM: 10.0, Kind.PRODUCT: 60.0}
_FACTORS: Final = frozenset({Kind.ORDINARY, Kind.CLOSE, Kind.FRACTION})
_DERIVATIVES: Final = (r"\partial", r"\nabla", r"\frac{\partial", r"\frac{d}")
"""What takes what follows as its argument, not as a factor."""

_REMAINDER: Final = 70.0
_BEFORE_BODY: Final = 4.0
_AFTER_BIG_OPERATOR: Final = 300.0
_BETWEEN_QUANTIFIERS: Final = 60.0
_SHORT_TERM_EM: Final = 10.0
_IN_SHORT_TERM: Final = 60.0
"""For a break between the factors of a term that is no longer than this."""

_FIRST_ARGUMENT_EM: Final = 3.0
_AFTER_FIRST_ARGUMENT: Final = 80.0
"""For a comma behind a first argument as short as that of ``max(0, x)``."""

_AFTER: Final = {
    Kind.WIDE_SPACE: 2.0,
    Kind.QUANTIFIER: 14.0,
    Kind.PUNCTUATION: 20.0,
    Kind.TEXT: 30.0,
    Kind.THIN_SPACE: 60.0,
}


def break_costs(pieces: list[Piece], *, joined: bool = False) -> list[float | None]:
    """What a break before each piece costs, None where there can be none.

    With `joined`, what is left of a relation never stands on a line alone if it is short.
    """
    nesting = depths(pieces)
    outside = frozenset(p.kind for p, d in zip(pieces, nesting, strict=True) if d == 0)
    listed = is_list(pieces, nesting)
    end = len(pieces) if listed else first_clause(pieces, nesting)
    short = inside_short_brackets(pieces)
    clauses = _beside_clause_links(pieces)
    costs: list[float | None] = [None]
    for place in range(1, len(pieces)):
        kind = pieces[place].kind
        if nesting[place] == 0 and kind in LINKS:
            weak = listed or _link_em(pieces, nesting, place) < _SHORT_LINK_EM
            short_left = kind is Kind.RELATION and _left_em(pieces, nesting, place) < _SHORT_LEFT_EM
            link = _link_cost(kind, outside, in_chain=place < end, weak=weak)
            lone = kind is Kind.RELATION and not joined and width(pieces[:place]) < _LETTER_EM
            costs.append(link + _SHORT_LEFT * short_left + _LONE_LETTER * lone)
            continue
        cost = _inner_cost(pieces, place)
        if nesting[place] == 0 and kind is not Kind.QUANTIFIER and cost == _AFTER[Kind.QUANTIFIER]:
            cost = _BEFORE_BODY
        if listed and nesting[place] == 0 and follows(pieces, place, Kind.PUNCTUATION) and cost:
            cost = _CHAIN
        if cost is not None:
            cost += _NESTED * nesting[place] + _IN_SHORT_BRACKET * short[place]
            cost += _IN_NESTED_CLAUSE * (kind is Kind.RELATION and clauses[place])
            cost += _IN_SHORT_TERM * _splits_short_term(pieces, nesting, place)
        costs.append(cost)
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


def top_links(pieces: list[Piece], nesting: list[int]) -> frozenset[Kind]:
    """The links that bind least of those outside parentheses; none in a list of clauses."""
    outside = {piece.kind for piece, depth in zip(pieces, nesting, strict=True) if depth == 0}
    for kind in (Kind.ARROW, Kind.CONNECTIVE):
        if kind in outside:
            return frozenset({kind})
    return frozenset() if is_list(pieces, nesting) else frozenset({Kind.RELATION})


def inside_short_brackets(pieces: list[Piece]) -> list[bool]:
    r"""Whether each piece stands between brackets that hold little, as in ``[i = j]``."""
    found = [False] * len(pieces)
    opened: list[int] = []
    for place, piece in enumerate(pieces):
        if piece.kind is Kind.OPEN:
            opened.append(place)
        elif piece.kind is Kind.CLOSE and opened:
            start = opened.pop()
            held = range(start + 1, place + 1)
            if sum(pieces[k].em for k in held) <= _SHORT_BRACKET_EM:
                for k in held:
                    found[k] = True
    return found


def _beside_clause_links(pieces: list[Piece]) -> list[bool]:
    """Whether the parenthesis that each piece stands in, or the line, holds a clause link."""
    groups: list[int] = []
    opened = [0]
    for place, piece in enumerate(pieces, start=1):
        if piece.kind is Kind.CLOSE and len(opened) > 1:
            opened.pop()
        groups.append(opened[-1])
        if piece.kind is Kind.OPEN:
            opened.append(place)
    with_link = {g for g, piece in zip(groups, pieces, strict=True) if piece.kind in CLAUSE_LINKS}
    return [group in with_link for group in groups]


def is_list(pieces: list[Piece], nesting: list[int]) -> bool:
    """Whether commas separate clauses that each have a relation: ``sin 0 = 0, cos 0 = 1``."""
    clauses = [False]
    for piece, depth in zip(pieces, nesting, strict=True):
        if depth == 0 and piece.kind is Kind.PUNCTUATION:
            clauses.append(False)
        elif depth == 0 and piece.kind is Kind.RELATION:
            clauses[-1] = True
    return len(clauses) > 1 and all(clauses)


def _link_em(pieces: list[Piece], nesting: list[int], place: int) -> float:
    """Width from the link at `place` up to the next one that binds as little."""
    em = pieces[place].em
    ends = CLAUSE_LINKS if pieces[place].kind in CLAUSE_LINKS else LINKS
    for piece, depth in zip(pieces[place + 1 :], nesting[place + 1 :], strict=True):
        if depth == 0 and piece.kind in ends:
            break
        em += piece.em
    return em


def _left_em(pieces: list[Piece], nesting: list[int], place: int) -> float:
    """Width of the left side of the relation at `place`, behind a clause link or a quantifier."""
    em = 0.0
    for piece, depth in zip(pieces[:place][::-1], nesting[:place][::-1], strict=True):
        if depth == 0 and piece.kind in CLAUSE_LINKS | {Kind.QUANTIFIER}:
            return em
        if depth == 0 and piece.kind in LINKS:
            break
        em += piece.em
    return float("inf")


def _link_cost(kind: Kind, outside: frozenset[Kind], *, in_chain: bool, weak: bool) -> float:
    """`weak` is a link as short as ``= 0``, or one in a list: no line of its own by right."""
    if kind is Kind.ARROW:
        return _CHAIN
    if kind is Kind.CONNECTIVE:
        return 0.0 if Kind.ARROW in outside or weak else _CHAIN
    if not in_chain:
        return _OUTSIDE_CHAIN
    return _BESIDE_CLAUSES if weak or CLAUSE_LINKS & outside else _CHAIN


def _inner_cost(pieces: list[Piece], place: int) -> float | None:
    before, after = pieces[place - 1], pieces[place]
    if after.kind in _NEVER_FIRST:
        return None
    if after.kind in _RELATIONS:
        return 45.0
    if after.kind in _BEFORE and _is_binary(pieces, place):
        return _REMAINDER if after.source == r"\bmod" else _BEFORE[after.kind]
    if follows(pieces, place, Kind.QUANTIFIER):
        more = after.kind is Kind.QUANTIFIER
        return _BETWEEN_QUANTIFIERS if more else _AFTER[Kind.QUANTIFIER]
    if follows(pieces, place, Kind.BIG_OPERATOR) and before.kind is Kind.THIN_SPACE:
        return _AFTER_BIG_OPERATOR
    if follows(pieces, place, Kind.CONNECTIVE) or follows(pieces, place, Kind.ARROW):
        return None
    if _is_coefficient(pieces, place):
        return None
    if before.kind is Kind.PUNCTUATION and _behind_open(pieces, place) < _FIRST_ARGUMENT_EM:
        return _AFTER_FIRST_ARGUMENT
    if before.kind in _AFTER:
        return _AFTER[before.kind]
    return 30.0 if after.kind is Kind.TEXT else _product_cost(before, after)


def follows(pieces: list[Piece], place: int, kind: Kind) -> bool:
    """Whether the piece before `place`, apart from thin spaces, is of this kind."""
    for piece in reversed(pieces[:place]):
        if piece.kind is not Kind.THIN_SPACE:
            return piece.kind is kind
    return False


def _splits_short_term(pieces: list[Piece], nesting: list[int], place: int) -> bool:
    """Whether a break before `place` tears the factors of a short term apart."""
    depth = nesting[place]
    if pieces[place].kind in _ENDS_TERM or _last_solid(pieces, place) in _ENDS_TERM:
        return False
    em = 0.0
    for way in (range(place, len(pieces)), range(place - 1, -1, -1)):
        for k in way:
            if nesting[k] < depth or (nesting[k] == depth and pieces[k].kind in _ENDS_TERM):
                break
            em += pieces[k].em
    return em < _SHORT_TERM_EM


def _last_solid(pieces: list[Piece], place: int) -> Kind | None:
    """The kind of the piece before `place`, apart from thin spaces."""
    return next((p.kind for p in reversed(pieces[:place]) if p.kind is not Kind.THIN_SPACE), None)


def _is_coefficient(pieces: list[Piece], place: int) -> bool:
    """Whether a number stands before `place`, apart from thin spaces: it stays with its term."""
    for piece in reversed(pieces[:place]):
        if piece.kind is not Kind.THIN_SPACE:
            return piece.source.isdigit()
    return False


def _behind_open(pieces: list[Piece], place: int) -> float:
    """Width from the parenthesis before `place` up to there; infinite without one."""
    em = 0.0
    for piece in reversed(pieces[:place]):
        if piece.kind is Kind.OPEN:
            return em
        em += piece.em
    return float("inf")


def _is_binary(pieces: list[Piece], place: int) -> bool:
    """Whether the sign at `place` joins two terms, rather than standing before one."""
    for piece in reversed(pieces[:place]):
        if piece.kind is not Kind.THIN_SPACE:
            return piece.kind not in _NOT_BINARY_AFTER
    return False


def joins_factors(pieces: list[Piece], place: int) -> bool:
    """Whether a break before `place` stands for a product that has no sign.

    On one line nothing needs to stand there; on two they would be read as two formulas.
    """
    before = next((p for p in reversed(pieces[:place]) if p.kind is not Kind.THIN_SPACE), None)
    after = pieces[place]
    if before is None or before.kind not in _FACTORS or before.source.startswith(_DERIVATIVES):
        return False
    if after.kind is Kind.OPEN and pieces[place - 1].kind is Kind.THIN_SPACE:
        return True  # an argument would stand close by
    joined = after.kind in _FACTORS | {Kind.OPEN, Kind.OPERATOR, Kind.BIG_OPERATOR}
    return joined and _product_cost(before, after) is not None


def _product_cost(before: Piece, after: Piece) -> float | None:
    """Between factors that stand side by side; a parenthesis after a letter may be its argument."""
    if before.kind not in _FACTORS or before.source.startswith(_DERIVATIVES):
        return None
    if after.kind is Kind.OPEN:
        return 45.0 if before.kind is Kind.CLOSE else None
    if after.kind is Kind.BIG_OPERATOR:
        return 45.0
    if before.kind is Kind.CLOSE or Kind.FRACTION in {before.kind, after.kind}:
        return 60.0
    return 100.0 if after.kind in {Kind.ORDINARY, Kind.OPERATOR} else None
