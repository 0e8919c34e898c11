"""The displayed formulas of a page, and how it stays within its weight.

A formula that several claims share stands once; the others link to it, and the script puts it in
their place.  If need be, formulas are packed, and the script puts them in place: first those of
which a part stands elsewhere, to which they link, then the longest, above all those of derivations,
which stand there as text.
"""

from __future__ import annotations

import base64
import json
import re
import string
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import chain
from typing import Final

from derive import plain_math
from derive.messages import say
from derive.report import mathml
from derive.report.memory import remembered
from derive.report.repeated import Place, Standing
from derive.report.told import Formula, Part, Words

BUDGET_BYTES: Final = 2_998_000
"""What a page may weigh."""

_SHARED_BYTES: Final = 200
"""Markup that is as long as this stands once on the page."""

_FAR_SHORTER: Final = 0.75
_COMPRESSION: Final = 28
_LONG_KEY: Final = "f9999"

_PLACE: Final = re.compile("\x00(\\d+)\x00")
_BRACED: Final = re.compile(r"\{[^{}]{1,12}\}")
"""A script in a line of text, short enough to stand in one piece."""


@dataclass(frozen=True)
class Line:
    """A formula in lines of its own: its markup, and how it stands there when it is packed.

    `latex` is the whole formula, of which `parts` are shown; `name` is what it is called in its
    claim.  What is `listed` is the formula of a row, which the style sheet knows by its place.
    """

    latex: str
    parts: tuple[Part, ...]
    name: str
    claim: str
    indented: bool
    markup: str
    wide: bool
    folded: bool
    listed: bool

    def shown(self, key: str = "") -> str:
        return self._formula(self.markup, key, wide=self.wide)

    def link(self, original: Line, key: str) -> str:
        """Where the same formula stands."""
        where = say("as in {what} of {claim}", what=original.name, claim=original.claim)
        return f"{self._start('g')}<a href=#{key}>{escape(where)}</a>"

    def reduced(self, parts: Sequence[Part | Link], key: str = "") -> str:
        """With links in place of what stands elsewhere."""
        markup, wide = _markup(parts)
        return self._formula(markup, key, "z", wide=wide)

    def saved_by(self, size: int) -> int:
        """About how many bytes are saved if so many stand there, and the script gets the markup."""
        return len(self.shown().encode()) - size - len(self.markup) // _COMPRESSION

    def _formula(self, markup: str, key: str, *kinds: str, wide: bool) -> str:
        """It scrolls sideways if need be, also by keyboard."""
        reached = f" tabindex=0 role=group aria-label={say('formula')}" if wide else ""
        return f"{self._start(*kinds, *(['w'] if wide else []), key=key, more=reached)}{markup}"

    def _start(self, *kinds: str, key: str = "", more: str = "") -> str:
        ends = ["i"] if self.indented else []
        classes = " ".join([*([] if self.listed else ["f"]), *kinds, *ends])
        quoted = f"'{classes}'" if " " in classes else classes
        named = f" class={quoted}" if classes else ""
        return f"<p{named}{f' id={key}' if key else ''}{more}>"

    def packed(self, key: str = "") -> str:
        text = " ".join(
            escape(part.text) if isinstance(part, Words) else _as_text(part.latex)
            for part in self.parts
        )
        return f"{self._start('z', key=key)}{text}"


@remembered
def _as_text(latex: str) -> str:
    text = plain_math.formula(latex).replace("-", "−")  # a line may end behind a hyphen
    whole = _BRACED.sub(lambda found: found[0].replace(" ", "\u00a0"), text)
    return escape(whole, quote=False)


@dataclass(frozen=True)
class Link:
    """What is said in place of a part of a formula that stands under the key."""

    text: str
    key: str


def line(
    latex: str,
    parts: Sequence[Part],
    *,
    name: str = "",
    claim: str = "",
    indented: bool = False,
    folded: bool = False,
    listed: bool = False,
) -> Line:
    markup, wide = _markup(parts)
    return Line(latex, tuple(parts), name, claim, indented, markup, wide, folded, listed)


def _markup(parts: Sequence[Part | Link]) -> tuple[str, bool]:
    """The markup of a line, and whether a part of it is not narrow."""
    found = [_part(part) for part in parts]
    if len(found) > 1 and not isinstance(parts[-1], Formula):  # its relation goes with it
        found[-2:] = [(f"<i>{found[-2][0]} {found[-1][0]}</i>", found[-2][1])]
    return mathml.shortened("".join(text for text, _ in found)), any(wide for _, wide in found)


def _part(part: Part | Link) -> tuple[str, bool]:
    match part:
        case Formula():
            return mathml.displayed(part.latex)
        case Words():
            return f"{escape(part.text)} ", False
        case Link():
            return f"<a href=#{part.key}>{escape(part.text)}</a> ", False


@dataclass(frozen=True)
class _Packing:
    """A line told in fewer bytes: in these parts, some of them links, or without parts as text."""

    line: int
    gain: int
    parts: tuple[Part | Place, ...] = ()


@dataclass
class Lines:
    """Collects the formulas; the text of the page holds a mark for each until it is filled in."""

    _all: list[Line] = field(default_factory=list)

    def add(self, new: Line) -> str:
        self._all.append(new)
        return f"\x00{len(self._all) - 1}\x00"

    def fill(self, text: str) -> str:
        """The text with every formula as it is."""
        return _PLACE.sub(lambda found: self._all[int(found[1])].shown(), text)

    def fill_within_budget(self, head: str, tail: str, varying: int = 0) -> str:
        """The page with as few lines packed as keep it within its budget.

        So many bytes of it are not counted, since they may be others in the next run.
        """
        shared = self._shared()
        packings = self._packings(shared)
        packed: dict[int, _Packing] = {}
        page = self._with_packed(head, tail, shared, packed)
        while packings and (excess := len(page.encode()) - varying - BUDGET_BYTES) > 0:
            while packings and excess > 0:
                packing = packings.pop()
                packed[packing.line] = packing
                excess -= packing.gain
            page = self._with_packed(head, tail, shared, packed)
        return page

    def _packings(self, shared: dict[int, int]) -> list[_Packing]:
        """All that can be done about the weight of the page, the last first."""
        lines = [k for k in range(len(self._all)) if k not in shared]
        links = {p.line: p for p in self._reductions(lines)}
        texts = [self._text(k, links[k].gain if k in links else 0) for k in lines]
        shown = Counter([*lines, *shared.values()])

        def urgency(packing: _Packing) -> tuple[float, int]:
            """What is folded is packed twice as soon as what is not, and what one line shows
            twice as soon as what two show.
            """
            weight = shown[packing.line] * (1 if self._all[packing.line].folded else 2)
            return packing.gain / weight, -packing.line

        return [*sorted(texts, key=urgency), *sorted(links.values(), key=urgency)]

    def _reductions(self, lines: list[int]) -> Iterator[_Packing]:
        """The lines of which so much stands elsewhere that links are far shorter."""
        standing = Standing()
        for k in lines:
            each = self._all[k]
            if len(each.markup) < _SHARED_BYTES:
                continue
            parts = tuple(chain.from_iterable(standing.without_repetition(p) for p in each.parts))
            standing.add(k, each.latex)
            if any(isinstance(part, Place) for part in parts):
                size = len(each.reduced(self._with_links(k, parts, {})).encode())
                if size < _FAR_SHORTER * len(each.shown().encode()):
                    yield _Packing(k, each.saved_by(size), parts)

    def _text(self, k: int, saved: int) -> _Packing:
        size = len(self._all[k].packed().encode())
        return _Packing(k, self._all[k].saved_by(size) - saved)

    def _with_links(
        self, k: int, parts: Sequence[Part | Place], keys: Mapping[int, str]
    ) -> list[Part | Link]:
        return [self._link(k, p, keys) if isinstance(p, Place) else p for p in parts]

    def _link(self, k: int, place: Place, keys: Mapping[int, str]) -> Link:
        """The link from a line; that it leads to another claim is told."""
        original = self._all[place.line]
        text = place.named(original.name)
        if original.claim != self._all[k].claim:
            text = say("{what} of {claim}", what=text, claim=original.claim)
        return Link(text, keys.get(place.line, _LONG_KEY))

    def _shared(self) -> dict[int, int]:
        """For every line that stands elsewhere already, where that is."""
        first: dict[str, int] = {}
        shared: dict[int, int] = {}
        for place, each in enumerate(self._all):
            if first.setdefault(each.markup, place) != place and (
                len(each.markup.encode()) >= _SHARED_BYTES
            ):
                shared[place] = first[each.markup]
        return shared

    def _with_packed(
        self, head: str, tail: str, shared: dict[int, int], packed: dict[int, _Packing]
    ) -> str:
        places = (part for packing in packed.values() for part in packing.parts)
        targets = {place.line for place in places if isinstance(place, Place)}
        keys = {k: f"f{n}" for n, k in enumerate(sorted(targets.union(shared.values())))}

        def stands(k: int) -> str:
            each, key = self._all[k], keys.get(k, "")
            if k in shared:
                return each.link(self._all[shared[k]], keys[shared[k]])
            if k not in packed:
                return each.shown(key)
            parts = packed[k].parts
            return (
                each.reduced(self._with_links(k, parts, keys), key) if parts else each.packed(key)
            )

        store = self._store([self._all[k] for k in sorted(packed)])
        filled = _PLACE.sub(lambda found: stands(int(found[1])), head)
        return "\n".join([filled, store, tail]) + "\n"

    def _store(self, packed: list[Line]) -> str:
        """For the script: the LaTeX of all formulas in order, the markup of packed lines, and which
        of these are wide.
        """
        latex = _numbered([each.latex for each in self._all])
        wide = [place for place, each in enumerate(packed) if each.wide]
        table = [*latex, *_abridged([each.markup for each in packed]), wide]
        told = json.dumps(table, ensure_ascii=False).encode()
        text = base64.b85encode(zlib.compress(told, 9)).decode()
        return f"<script type=text/plain id=packed>{text.translate(_IN_ORDER)}</script>"


_IN_ORDER: Final = str.maketrans(
    string.digits + string.ascii_uppercase + string.ascii_lowercase + "!#$%&()*+-;<=>?@^_`{|}~",
    "".join(map(chr, range(0x28, 0x7D))).replace("<", "!"),
)
"""The digits of base 85 in the order of their codes, for the script; none begins a tag."""


def _numbered(texts: list[str]) -> tuple[list[str], list[int]]:
    """Each text once, and for each place 0 if it is the next of them, or its number from 1."""
    known: dict[str, int] = {}
    places = []
    for text in texts:
        places.append(known.get(text, 0))
        known.setdefault(text, len(known) + 1)
    return list(known), places


_TOKEN: Final = re.compile(r"<(m[ion]|mtext)>[^<]*</\1>|<[^>]+>")
_SIGNS: Final = range(0x80, 0x700)


def _abridged(markup: list[str]) -> tuple[str, dict[str, str]]:
    """The lines in one text, with a single character for every token, and what these stand for."""
    text = "\n".join(markup)
    free = (chr(k) for k in _SIGNS if chr(k) not in text)
    count = Counter(found[0] for found in _TOKEN.finditer(text))
    most = sorted(count, key=lambda token: (-count[token] * len(token), token))
    sign_of = dict(zip(most[:_TOKENS], free, strict=False))
    short = _TOKEN.sub(lambda found: sign_of.get(found[0], found[0]), text)
    return short, {sign: token for token, sign in sign_of.items()}


_TOKENS: Final = 240
