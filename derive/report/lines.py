"""The displayed formulas of a page, and how it stays within its weight.

A formula that several claims share stands once; the others link to it, and the script puts it in
their place.  If need be, the longest formulas are packed, above all those of derivations: they
stand there as text, and the script puts them in place.
"""

from __future__ import annotations

import base64
import json
import re
import string
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Final

from derive import plain_math
from derive.messages import say
from derive.report import mathml
from derive.report.memory import remembered
from derive.report.told import Part, Words

BUDGET_BYTES: Final = 2_995_000
"""What a page may weigh."""

_SHARED_BYTES: Final = 200
"""Markup that is as long as this stands once on the page."""

_PLACE: Final = re.compile("\x00(\\d+)\x00")
_BRACED: Final = re.compile(r"\{[^{}]{1,12}\}")
"""A script in a line of text, short enough to stand in one piece."""


@dataclass(frozen=True)
class Line:
    """A formula in lines of its own: its markup, and how it stands there when it is packed.

    `latex` is the whole formula, of which `parts` are shown; `name` says where it stands.  What is
    `listed` is the formula of a row, which the style sheet knows by its place.
    """

    latex: str
    parts: tuple[Part, ...]
    name: str
    indented: bool
    markup: str
    wide: bool
    folded: bool
    listed: bool

    def shown(self, key: str = "") -> str:
        """It scrolls sideways if need be, also by keyboard."""
        reached = f" tabindex=0 role=group aria-label={say('formula')}" if self.wide else ""
        return f"{self._start('w' if self.wide else '', key, reached)}{self.markup}"

    def link(self, original: Line, key: str) -> str:
        """Where the same formula stands."""
        return f"{self._start('g')}<a href=#{key}>{original.name}</a>"

    def _start(self, kind: str, key: str = "", more: str = "") -> str:
        kinds = [*([] if self.listed else ["f"]), *([kind] if kind else [])]
        classes = " ".join([*kinds, *(["i"] if self.indented else [])])
        quoted = f"'{classes}'" if " " in classes else classes
        named = f" class={quoted}" if classes else ""
        return f"<p{named}{f' id={key}' if key else ''}{more}>"

    def packed(self, key: str = "") -> str:
        text = " ".join(
            escape(part.text) if isinstance(part, Words) else _as_text(part.latex)
            for part in self.parts
        )
        return f"{self._start('z', key)}{text}"

    def gain(self) -> int:
        """About how many bytes are saved by packing it."""
        compressed = len(self.markup) // 20
        return len(self.shown().encode()) - len(self.packed().encode()) - compressed

    def dispensable(self) -> float:
        """The higher, the sooner it is packed: what is folded twice as soon as what is not."""
        return self.gain() if self.folded else self.gain() / 2


@remembered
def _as_text(latex: str) -> str:
    text = plain_math.formula(latex).replace("-", "−")  # a line may end behind a hyphen
    whole = _BRACED.sub(lambda found: found[0].replace(" ", "\u00a0"), text)
    return escape(whole, quote=False)


def line(
    latex: str,
    parts: Sequence[Part],
    *,
    name: str = "",
    indented: bool = False,
    folded: bool = False,
    listed: bool = False,
) -> Line:
    found = [
        (f"{escape(part.text)} ", False)
        if isinstance(part, Words)
        else mathml.displayed(part.latex)
        for part in parts
    ]
    if len(found) > 1 and isinstance(parts[-1], Words):  # its relation goes with it
        found[-2:] = [(f"<i>{found[-2][0]} {found[-1][0]}</i>", found[-2][1])]
    markup = mathml.shortened("".join(text for text, _ in found))
    wide = any(wide for _, wide in found)
    return Line(latex, tuple(parts), name, indented, markup, wide, folded, listed)


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
        """The page with as few lines packed as keep it within its budget, the longest first.

        So many bytes of it are not counted, since they may be others in the next run.
        """
        shared = self._shared()
        order = sorted(
            (k for k in range(len(self._all)) if k not in shared),
            key=lambda k: (-self._all[k].dispensable(), k),
        )
        count = 0
        page = self._with_packed(head, tail, shared, frozenset())
        while (excess := len(page.encode()) - varying - BUDGET_BYTES) > 0 and count < len(order):
            while excess > 0 and count < len(order):
                excess -= self._all[order[count]].gain()
                count += 1
            page = self._with_packed(head, tail, shared, frozenset(order[:count]))
        return page

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
        self, head: str, tail: str, shared: dict[int, int], packed: frozenset[int]
    ) -> str:
        keys = {place: f"f{n}" for n, place in enumerate(sorted(set(shared.values())))}

        def stands(place: int) -> str:
            each, key = self._all[place], keys.get(place, "")
            if place in shared:
                return each.link(self._all[shared[place]], keys[shared[place]])
            return each.packed(key) if place in packed else each.shown(key)

        store = self._store([self._all[place].markup for place in sorted(packed)])
        filled = _PLACE.sub(lambda found: stands(int(found[1])), head)
        return "\n".join([filled, store, tail]) + "\n"

    def _store(self, markup: list[str]) -> str:
        """For the script: the LaTeX of all formulas in order, and the markup of packed lines."""
        table = json.dumps([*_numbered([each.latex for each in self._all]), *_abridged(markup)])
        text = base64.b85encode(zlib.compress(table.encode(), 9)).decode()
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
