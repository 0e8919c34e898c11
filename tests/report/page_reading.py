"""A page as a reader of its source sees it: elements, targets, and what the script unpacks."""

from __future__ import annotations

import json
import re
import zlib
from html.parser import HTMLParser

_FOREIGN = """
    math mrow mi mo mn mtext mspace mfrac msqrt mroot msub msup msubsup munder mover munderover
    mtable mtr mtd mstyle mpadded mphantom menclose
"""
FOREIGN = frozenset(_FOREIGN.split())
OPTIONAL_END = frozenset(
    ["p", "li", "dt", "dd", "tr", "td", "th", "thead", "tbody", "tfoot", "option"]
)
VOID = frozenset(["meta", "input", "br"])


def completed(source: str) -> str:
    """The source with every end tag inside MathML that an HTML parser takes for granted.

    Where one ends an element, the elements that are open in it end, too.
    """
    found: list[str] = []
    within: list[str] = []
    for part in re.split("(<[^<>]*>)", source):
        tag = re.match("<(/?)([a-z]+)", part)
        if tag is None or tag[2] not in FOREIGN or part.endswith("/>"):
            found.append(part)
        elif not tag[1]:
            within.append(tag[2])
            found.append(part)
        else:
            assert tag[2] in within, f"{part} ends nothing"
            while within:
                found.append(f"</{within[-1]}>")
                if within.pop() == tag[2]:
                    break
    return "".join(found)


class Outline(HTMLParser):
    """The ids, link targets and attributes of a page; refuses end tags that fit no start."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.ids: list[str] = []
        self.targets: list[str] = []
        self.loaded: list[str] = []
        self.open: list[str] = []
        self.feed(completed(source))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if "id" in values:
            self.ids.append(values["id"] or "")
        if tag == "a":
            self.targets.append(values["href"] or "")
        self.loaded += [values[name] or "" for name in ("src", "data", "poster") if name in values]
        self.loaded += [tag] if tag in {"link", "iframe", "object", "embed", "base"} else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in FOREIGN or "svg" in self.open, tag
        self.ids += [value or "" for name, value in attrs if name == "id"]

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open[-1] != tag and self.open[-1] in OPTIONAL_END:
            self.open.pop()
        assert self.open, f"</{tag}> ends nothing"
        assert self.open.pop() == tag


def unpacked(source: str) -> tuple[list[str], list[str]]:
    """The LaTeX of every formula in order, and the markup of the lines that are packed."""
    found = re.search(r"<script type=text/plain id=packed>([^<]*)</script>", source)
    assert found is not None
    table, places, text, tokens, _ = json.loads(zlib.decompress(_from_base_85(found[1])))
    new = iter(table)
    formulas = [table[place - 1] if place else next(new) for place in places]
    markup = "".join(tokens.get(sign, sign) for sign in text)
    return formulas, markup.split("\n") if markup else []


def _from_base_85(text: str) -> bytes:
    """The bytes behind digits that go from "(" to "|", where "!" stands for "<"."""
    padded = text + "|" * (-len(text) % 5)
    words = []
    for start in range(0, len(padded), 5):
        word = 0
        for digit in padded[start : start + 5].replace("!", "<"):
            word = 85 * word + ord(digit) - 40
        words.append((word % 2**32).to_bytes(4, "big"))
    return b"".join(words)[: len(text) * 4 // 5]
