"""Formulas as MathML.  latex2mathml converts the pieces of a formula; here they are put together.

A browser ends no line inside `<math>`.  So a wide formula becomes several elements, one behind the
other, cut where an author would end a line; those that belong together more closely are grouped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from html import escape, unescape
from itertools import pairwise
from typing import Final
from xml.etree.ElementTree import Element

from derive.report.costs import LINKS, break_costs, follows, joins_factors
from derive.report.errors import MathSyntax
from derive.report.memory import remembered
from derive.report.pieces import Kind, Piece, tallest, width
from derive.report.reading import read

NARROW_EM: Final = 16.0
"""What fits on the screen of a phone; wider formulas are cut."""

_BROAD_EM: Final = 34.0
"""What fits beside a reason on a wide screen; what is broader is grouped once more."""

_BROAD_FRACTION_EM: Final = 18.5
"""What fits on the screen of a phone in the smaller letters that broad formulas have there."""

_MOST_NESTED: Final = 3
_LONELY_EM: Final = 4.5
_SHORT_LEFT_EM: Final = 9.0
_SHORT_EM: Final = 12.0
_EVENLY: Final = 4.0
_HOPELESS: Final = 150.0
_JOINING: Final = frozenset({
    Kind.RELATION, Kind.WEAK_RELATION, Kind.ARROW, Kind.CONNECTIVE, Kind.SUM, Kind.PRODUCT,
})  # fmt: skip

_HOLE: Final = "<mtext>@</mtext>"
_ROMAN: Final = re.compile(r"\\mathrm\s*\{([A-Za-z0-9 ]+)\}")
_WORD: Final = re.compile(r"\\mathit\s*\{([A-Za-z]+)\}")
_NORMS: Final = {r"\lVert": r"\|", r"\rVert": r"\|", r"\lvert": "|", r"\rvert": "|"}
_NORM: Final = re.compile(r"\\[lr][Vv]ert(?![A-Za-z])")
_COMMAND: Final = re.compile(r"\\[A-Za-z]*")
_ESCAPED: Final = {r"\{": "{", r"\}": "}", r"\|": "‖", r"\langle": "⟨", r"\rangle": "⟩"}
"""What the converter leaves behind a command for the size of a delimiter."""

_BRACKETS: Final = frozenset("()[]{}|‖⌊⌋⌈⌉⟨⟩")
_INFIX_ONLY: Final = (
    "=",
    "≠",
    "&lt;",
    "&gt;",
    "≤",
    "≥",
    "∈",
    "∧",
    "∨",
    "⇒",
    "⇔",
    "→",
    "·",
    "×",
    "⊙",
)
"""Signs that browsers know between two operands only, wherever they stand."""

_BOLD: Final = {ord("0") + k: 0x1D7CE + k for k in range(10)}
_DOUBLED: Final = dict(zip(map(ord, "CNQRZ"), "ℂℕℚℝℤ", strict=True))
_SIGNS: Final = frozenset(":;∂∇")
_ROUNDING: Final = frozenset("⌊⌋⌈⌉")
_THIN_SPACE: Final = "0.167em"
"""Left to the style sheet, which sets it between any two factors."""

_SUM_AND_SUM: Final = re.compile(r"(?<=</munderover>)<mspace width=0.278em />(?=<munderover>)")
"""The style sheet sets this one, too."""


@remembered
def displayed(latex: str) -> tuple[str, bool]:
    """The markup of a formula in lines of its own, and whether a part of it is not narrow."""
    pieces = read(latex)
    cut = _cut(pieces)
    parts = list(_leaves(cut))
    broken = _split_fences([pieces[start:end] for start, end in parts])

    def marked(tree: Tree) -> str:
        if isinstance(tree, list):
            return f"<i>{''.join(map(marked, tree))}</i>"
        return _math_at(pieces, tree, broken)

    wide = any(width(pieces[start:end]) > NARROW_EM for start, end in parts)
    return "".join(map(marked, cut)), wide


@remembered
def is_narrow(latex: str) -> bool:
    """Whether the formula fits on the screen of a phone as it is."""
    return width(read(latex)) <= NARROW_EM


@remembered
def inline(latex: str) -> str:
    """The markup of a formula in running text."""
    pieces = read(latex)
    parts = list(_leaves(_cut(pieces)))
    broken = _split_fences([pieces[start:end] for start, end in parts])
    return "".join(_math_at(pieces, part, broken) for part in parts)


def shortened(markup: str) -> str:
    """The markup without the end tags that the next one implies, and with texts joined.

    An HTML parser that meets the end of an element inside MathML ends all that is open in it, too:
    `</mi></msub></math>` is `</math>`.  Of elements with one name it ends the innermost.
    """
    return _ENDS.sub(_implying, markup.replace("</mtext><mtext>", ""))


_END: Final = "</m[a-z]+>"
_ENDS: Final = re.compile(f"(?:{_END}){{2,}}")


def _implying(found: re.Match[str]) -> str:
    return _last_ends(found[0])


@cache
def _last_ends(run: str) -> str:
    """The fewest of these end tags that end the same elements."""
    kept: list[str] = []
    open_: list[str] = []
    for end in re.findall(_END, run):
        if end in open_:
            kept.append(open_[-1])
            open_ = []
        open_.append(end)
    return "".join([*kept, open_[-1]])


# -- where lines may end -----------------------------------------------------------------------


Bounds = tuple[int, int]
Tree = Bounds | list["Tree"]


def _cut(pieces: list[Piece]) -> list[Tree]:
    """The formula as a tree of parts: lines end rather between branches than inside one."""
    if width(pieces) <= NARROW_EM:
        return [(0, len(pieces))]
    return _branches(pieces, break_costs(pieces, joined=True), (0, len(pieces)), 0)


def _leaves(trees: list[Tree]) -> Iterator[Bounds]:
    for tree in trees:
        if isinstance(tree, list):
            yield from _leaves(tree)
        else:
            yield tree


def _branches(
    pieces: list[Piece], costs: list[float | None], bounds: Bounds, nested: int
) -> list[Tree]:
    """The stretch cut where it binds least, and so on in what is broad."""
    level = list(_level(pieces, costs, *bounds))
    broad = _em(pieces, bounds) > _BROAD_EM and nested < _MOST_NESTED
    if nested and not (broad and _begin_clauses(pieces, level[1:])):
        return _side_by_side(pieces, costs, bounds)
    found = [_branches(pieces, costs, each, nested + 1) for each in level]
    if nested and all(len(branch) == 1 for branch in found):
        return _side_by_side(pieces, costs, bounds)
    if len(found) > 1 and _em(pieces, level[0]) <= _SHORT_LEFT_EM:
        found[:2] = [found[0] + found[1]]  # a short left side does not stand alone
    if nested and len(found) == 1:
        return found[0]
    return [branch[0] if len(branch) == 1 else branch for branch in found]


def _begin_clauses(pieces: list[Piece], level: list[Bounds]) -> bool:
    """Whether the stretches begin with a relation or connective, or follow a quantifier."""
    return bool(level) and all(
        pieces[start].kind in LINKS or follows(pieces, start, Kind.QUANTIFIER) for start, _ in level
    )


def _side_by_side(pieces: list[Piece], costs: list[float | None], bounds: Bounds) -> list[Tree]:
    """Parts of one branch; a last factor that is short goes with what it stands behind."""
    parts: list[Tree] = [*_joined_parts(pieces, costs, *bounds)]
    *_, (start, end) = _leaves(parts)
    lonely = pieces[start].kind not in _JOINING and _em(pieces, (start, end)) <= _LONELY_EM
    return [*parts[:-2], parts[-2:]] if lonely and len(parts) > 2 else parts


def _em(pieces: list[Piece], bounds: Bounds) -> float:
    return width(pieces[slice(*bounds)])


def _level(
    pieces: list[Piece], costs: list[float | None], start: int, end: int
) -> Iterator[Bounds]:
    """The stretch cut at the places that bind least; as it is where it cannot be cut."""
    inside = [(cost, place) for place, cost in enumerate(costs) if start < place < end
              and cost is not None and cost < _HOPELESS]  # fmt: skip
    least = min((cost for cost, _ in inside), default=0.0)
    cuts = [place for cost, place in inside if cost <= least + _EVENLY]
    yield from zip([start, *cuts], [*cuts, end], strict=True)


def _parts(
    pieces: list[Piece], costs: list[float | None], start: int, end: int
) -> Iterator[Bounds]:
    """The stretch cut until every part is narrow, as far as that can be."""
    level = list(_level(pieces, costs, start, end))
    if width(pieces[start:end]) <= NARROW_EM or len(level) == 1:
        yield start, end
        return
    for bounds in level:
        yield from _parts(pieces, costs, *bounds)


def _joined_parts(
    pieces: list[Piece], costs: list[float | None], start: int, end: int
) -> Iterator[Bounds]:
    """The same with short parts put together: more elements fill the lines no better."""
    first = last = start
    for _, place in _parts(pieces, costs, start, end):
        if last > first and width(pieces[first:place]) > _SHORT_EM:
            yield first, last
            first = last
        last = place
    yield first, last


def _split_fences(parts: list[list[Piece]]) -> frozenset[int]:
    """Pairs of delimiters that stand in different parts."""
    at: dict[int, set[int]] = {}
    for place, part in enumerate(parts):
        for piece in part:
            if piece.fence is not None:
                at.setdefault(piece.fence, set()).add(place)
    return frozenset(fence for fence, places in at.items() if len(places) > 1)


def _math_at(pieces: list[Piece], part: Bounds, broken: frozenset[int]) -> str:
    """The markup of a part; if it goes on with a factor, with the sign of the product."""
    start, end = part
    found = _math(pieces[start:end], broken, first=start == 0)
    factor = start > 0 and joins_factors(pieces, start)
    return found.replace("<math>", "<math><mo>·</mo>", 1) if factor else found


# -- markup ------------------------------------------------------------------------------------


def _math(pieces: list[Piece], broken: frozenset[int], *, first: bool = False) -> str:
    """A part of a formula; a sign of the `first` one stands before a number."""
    markup = _SUM_AND_SUM.sub("", _row(pieces, broken))
    markup = _SIGN_OF_A_NUMBER.sub(r"\1<mo form=prefix>", markup)
    markup = _SIGN_BEHIND_A_BAR.sub(r"\1<mo form=prefix>", markup)
    markup = _PARTIAL.sub(r"\1<mtext>∂</mtext>", markup)
    markup = _WORDS.sub(_in_one, markup)
    markup = _NAME_BEHIND.sub("<mtext>\\1\u2009</mtext>", markup)
    if not markup and any("text" in piece.source for piece in pieces):
        markup = "<mtext>\xa0</mtext>"  # a space between words that are parts by themselves
    return f"<math>{markup if first else _going_on(pieces, markup)}</math>"


def _going_on(pieces: list[Piece], markup: str) -> str:
    """A row that continues the one before: its first sign would count as a prefix."""
    joins = bool(pieces) and pieces[0].kind in _JOINING and markup.startswith("<mo>")
    if joins and not markup.startswith(_INFIX_ONLY, len("<mo>")):
        return markup.replace("<mo>", "<mo form=infix>", 1)
    return markup


_SIGN_OF_A_NUMBER: Final = re.compile(
    r"(<mo>(?:[=≠≤≥,:;⇒⇔∧∨↦·×∈(\[{]|&lt;|&gt;)</mo>|<mtext>[(\[{]</mtext>)<mo>(?=[−+]</mo>)"
)
"""A browser takes every sign that is not the first of its row for one between two numbers."""


_SIGN_BEHIND_A_BAR: Final = re.compile(
    r"((?:^|<mo>[^<]*</mo>|<mtext>[(\[{]</mtext>)<mtext>[|‖]</mtext>|<mrow><mo>[|‖]</mo>)"
    r"<mo>(?=[−+]</mo>)"
)
"""A bar opens at the beginning, and behind a sign or another bracket."""

_PARTIAL: Final = re.compile("(^|<mtext>[/‖]</mtext>)<mo>∂</mo>")
"""Browsers set space before the sign, as behind a factor."""

_NAME_BEHIND: Final = re.compile(r"<mtext>([)\]])</mtext>(?=<mi>[a-z]{2,}</mi>)")
"""A bracket before the name of a function, which the style sheet cannot tell from a letter."""

_WORDS: Final = re.compile("(?<=>)(?:<mtext>[a-z]+\xa0</mtext>)+")


def _in_one(words: re.Match[str]) -> str:
    """Words between formulas; the space before the first is the converter's loss."""
    return f"<mtext>\xa0{re.sub('<[^>]*>', '', words[0])}</mtext>"


def _row(pieces: list[Piece], broken: frozenset[int]) -> str:
    found: list[str] = []
    place = 0
    while place < len(pieces):
        piece = pieces[place]
        if piece.fence is None or piece.fence in broken:
            source = piece.fixed if piece.fence is not None else piece.source
            stacked = _stacked(source) if piece.em > _BROAD_FRACTION_EM else ""
            found.append(stacked or _piece(source))
            place += 1
            continue
        end = _closing(pieces, place)
        inner = pieces[place : end + 1]
        plain = tallest(inner) == 0 and not _has_no_sign(inner)
        found.append(_plain(inner, broken) if plain else _fenced(inner, broken))
        place = end + 1
    return "".join(found)


def _stacked(source: str) -> str:
    """A broad fraction of which the style sheet can set what is above or below in several rows;
    empty for anything else.
    """
    arguments = _arguments(source)
    rows = [_rows(argument) for argument in arguments]
    if not any(rows):
        return ""
    template = _piece(
        r"\frac" + "".join(
            r"{\text{@}}" if stack else f"{{{argument}}}"
            for stack, argument in zip(rows, arguments, strict=True)
        )
    )  # fmt: skip
    for stack in filter(None, rows):
        template = template.replace(_HOLE, stack, 1)
    return template


def _arguments(source: str) -> list[str]:
    r"""The two arguments of ``\frac{...}{...}``; none of anything else."""
    depth, ends = 0, []
    for place in _UNESCAPED_BRACE.finditer(source):
        depth += 1 if place[0] == "{" else -1
        if depth == 0:
            ends.append(place.start())
    middle = ends[0] if ends else 0
    whole = source.startswith(r"\frac{") and len(ends) == 2 and source[middle : middle + 2] == "}{"
    if not whole or ends[1] + 1 < len(source):
        return []
    return [source[len(r"\frac{") : middle], source[middle + 2 : -1]]


_UNESCAPED_BRACE: Final = re.compile(r"(?<!\\)[{}]")


def _rows(latex: str) -> str:
    """What is broad as rows of a table; empty if it is not broad or cannot be cut."""
    pieces = read(latex)
    if width(pieces) <= _BROAD_FRACTION_EM:
        return ""
    costs = break_costs(pieces, joined=True)
    parts = [pieces[slice(*part)] for part in _joined_parts(pieces, costs, 0, len(pieces))]
    if len(parts) == 1:
        return ""
    broken = _split_fences(parts)
    rows = [_row(parts[0], broken), *(_going_on(part, _row(part, broken)) for part in parts[1:])]
    return f"<mtable class=k>{''.join(f'<mtr><mtd>{row}</mtd></mtr>' for row in rows)}</mtable>"


def _closing(pieces: list[Piece], start: int) -> int:
    """The place of the last delimiter of the fence that opens at `start`."""
    fence = pieces[start].fence
    return max(k for k in range(start, len(pieces)) if pieces[k].fence == fence)


def _plain(pieces: list[Piece], broken: frozenset[int]) -> str:
    """A pair of delimiters about letters: browsers set space around what they could stretch."""
    fence = pieces[0].fence
    freed = [
        replace(piece, source=_SIZED.sub("", piece.source), fence=None)
        if piece.fence == fence
        else piece
        for piece in pieces
    ]
    return _row(freed, broken)


_SIZED: Final = re.compile(r"\\(?:left|middle|right)\s*")


def _has_no_sign(pieces: list[Piece]) -> bool:
    r"""Whether one side of the pair is empty: ``\left.``."""
    ends = (piece.source for piece in pieces if piece.fence == pieces[0].fence)
    return any(_SIZED.sub("", source).startswith(".") for source in ends)


def _fenced(pieces: list[Piece], broken: frozenset[int]) -> str:
    """A pair of delimiters with scripts, as one piece with holes for what it holds."""
    marks = [k for k, piece in enumerate(pieces) if piece.fence == pieces[0].fence]
    template = _piece(r" \text{@} ".join(pieces[k].source for k in marks))
    for start, end in pairwise(marks):
        template = template.replace(_HOLE, _row(pieces[start + 1 : end], broken), 1)
    return template


@cache
def _piece(source: str) -> str:
    """A piece by itself; pieces recur by the thousand, so that this is what makes it fast."""
    plain = _NORM.sub(lambda found: _NORMS[found[0]], _ROMAN.sub(r"\\text{\1}", source))
    plain = _WORD.sub(lambda found: rf"\text{{{''.join(map(_italic, found[1]))}}}", plain)
    plain = plain.replace(r"\not\le", r"\nleq")
    from latex2mathml.converter import Converter  # loaded where there is a page to write

    try:
        root = Converter(display="block").convert_to_element(plain)
    except Exception as error:
        raise MathSyntax(f"no MathML for {source}: {type(error).__name__} {error}") from error
    markup = "".join(map(_markup, root[0]))
    if unknown := _COMMAND.search(re.sub(r"<[^>]*>", "", markup)):
        raise MathSyntax(f"no MathML for {unknown[0]} in {source}")
    return markup


def _markup(element: Element) -> str:
    """An element as HTML: rows of one are left out, and what a browser assumes anyway.

    A row of letters, numbers and signs in a script becomes one identifier: no space stands between
    them there, and pages hold such rows by the ten thousand.
    """
    if element.tag == "mover" and unescape(element[1].text or "") == _OVERLINE:
        # browsers stretch no bar over a base that is wider than it
        return f"<mrow style='border-top:.06em solid'>{_markup(element[0])}</mrow>"
    if element.tag in _SCRIPTED:
        element = _primed(element)
        if element.tag not in _SCRIPTED:
            return _markup(element)
        base, *scripts = element
        children = _base(base) + "".join(_joined(s) or _script(s) for s in scripts)
    else:
        children = "".join(map(_markup, _without_row(element)))
    if element.tag == "mrow" and len(element) == 1 and not element.attrib:
        return children
    text = unescape(element.text or "")
    text = _ESCAPED.get(text, text)
    tag, given = _tag(element.tag, text), element.attrib
    if tag == "mo" and text in _BRACKETS and given.get("stretchy") == "false":
        tag, given = "mtext", {}  # shorter to tell
    if tag == "mo" and text == "/":
        tag = "mtext"  # no space stands around it
    if tag == "mn" and given.get("mathvariant") == "bold":  # browsers know no such attribute
        text, given = text.translate(_BOLD), {}
    if given.get("mathvariant") == "double-struck" and ord(text) in _DOUBLED:
        text, given = text.translate(_DOUBLED), {}
    attributes = "".join(_attributes(tag, text, given))
    if tag == "mspace":
        return "" if attributes.endswith(_THIN_SPACE) else f"<mspace{attributes} />"
    return f"<{tag}{attributes}>{escape(text, quote=False)}{children}</{tag}>"


def _base(element: Element) -> str:
    """What bears scripts; browsers set a delimiter of fixed size only in a row of its own."""
    markup = _markup(element)
    return f"<mrow>{markup}</mrow>" if "minsize" in element.attrib else markup


def _without_row(element: Element) -> Element:
    """What the element holds: a root and a cell are rows by themselves."""
    row = element[0] if element.tag in {"msqrt", "mtd"} and len(element) == 1 else element
    return row if row.tag == "mrow" and not row.attrib else element


_OVERLINE: Final = "―"
_SCRIPTED: Final = frozenset({"msub", "msup", "msubsup", "munder", "mover", "munderover"})
_LETTER: Final = re.compile(r"[A-Za-zα-ω]")
_JOINED_SIGNS: Final = frozenset("=,+−<≤≥·′")


def _joined(row: Element) -> str:
    """A row of single signs as one identifier; empty for any other."""
    if row.tag != "mrow" or len(row) < 2 or row.attrib:
        return ""
    signs = []
    for token in row:
        if token.tag == "mspace" and token.get("width") == _THIN_SPACE:
            continue
        text = unescape(token.text or "")
        sign = token.tag in {"mo", "mi"} and text in _JOINED_SIGNS
        letter = token.tag == "mi" and _LETTER.fullmatch(text) and not token.attrib
        number = token.tag == "mn" and text.isdecimal() and not token.attrib
        if not (letter or number or sign):
            return ""
        signs.append(_italic(text) if letter else text)
    return f"<mi>{escape(''.join(signs), quote=False)}</mi>"


def _primed(element: Element) -> Element:
    """A letter, the name of a function or a parenthesis with a prime in its superscript as a token
    of its own: fonts raise the prime.
    """
    base, script = element[0], element[-1]
    tokens = list(script) if script.tag == "mrow" else [script]
    prime = unescape(tokens[0].text or "") if tokens else ""
    letter = unescape(base.text or "")
    if (
        element.tag not in {"msup", "msubsup"}
        or prime not in _PRIMES
        or not (_is_name(base) or _markup(base) == "<mtext>)</mtext>")
    ):
        return element
    named = Element("mtext" if letter.endswith(")") else "mi")
    named.text = (_italic(letter) if _LETTER.fullmatch(letter) else letter) + prime
    rest = Element("mrow")
    rest.extend(tokens[1:])
    scripts = [*element[1:-1], *([rest] if len(rest) else [])]
    if not scripts:
        return named
    tag = element.tag if len(scripts) == len(element) - 1 else "msub"
    primed = Element(tag)
    primed.extend([named, *scripts])
    return primed


def _is_name(element: Element) -> bool:
    """Whether it is a letter, or upright letters like those of `sin`."""
    text = unescape(element.text or "")
    named = element.tag in {"mi", "mo"} and not element.attrib
    return named and bool(_LETTER.fullmatch(text) or (len(text) > 1 and text.isalpha()))


_PRIMES: Final = frozenset("′″‴")


def _script(row: Element) -> str:
    """A script; what is added to or taken from it has no space before it."""
    return _STEP.sub(r"<mn>\1\2</mn>", _markup(row)) if row.tag == "mrow" else _markup(row)


_STEP: Final = re.compile(r"<mo>([+−])</mo><mn>(\d+)</mn>(?=</mrow>$)")


def _italic(letter: str) -> str:
    """The letter as a browser shows it in an identifier of one letter."""
    if letter == "h":
        return "ℎ"  # the place of the letter among the italic ones is empty
    for first, italic in (("A", 0x1D434), ("a", 0x1D44E), ("α", 0x1D6FC)):
        if 0 <= ord(letter) - ord(first) < 26:
            return chr(italic + ord(letter) - ord(first))
    raise ValueError(f"no italic {letter!r}")


def _tag(tag: str, text: str) -> str:
    """Names of several letters are identifiers: they are upright like text, and shorter to tell."""
    if tag == "mi" and text in _SIGNS:
        return "mo"
    if tag == "mi" and text in _ROUNDING:
        return "mtext"  # browsers set space around what they could stretch
    if text in {"∞", "…"}:  # browsers set space on both sides of a sign
        return "mi"
    if tag in {"mtext", "mo"} and len(text) > 1 and text.isalpha() and text != "mod":
        return "mi"
    return "mspace" if tag == "mtext" and text == "\xa0" else tag


def _attributes(tag: str, text: str, given: dict[str, str]) -> Iterator[str]:
    if tag == "mspace":
        yield f" width={given.get('width', _THIN_SPACE)}"
        return
    bracket = tag == "mo" and text in _BRACKETS
    for name, value in given.items():
        assumed = bracket and (name in {"fence", "form"} or (name, value) == ("stretchy", "true"))
        upright = (name, value) == ("mathvariant", "normal") and len(text) > 1
        if name in {"minsize", "maxsize"}:
            value = f"{float(value.removesuffix('em')):.1f}".removesuffix(".0") + "em"
        if not assumed and not upright:
            yield f" {name}={value}" if _BARE.fullmatch(value) else f' {name}="{value}"'
    if bracket and text in "|‖" and "minsize" in given:  # it would count as a relation
        yield " lspace=0 rspace=0"


_BARE: Final = re.compile(r"[\w.]+")
