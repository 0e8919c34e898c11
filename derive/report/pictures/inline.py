"""A drawing of matplotlib as a part of a page, in as few bytes as it can be told.

Matplotlib puts every mark into groups of its own and repeats its style; groups that say nothing are
left out, and a style that recurs becomes a class.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from html import escape
from typing import Final
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

_REFERENCE: Final = re.compile(r"(?:^|url\()#([^)]+)")
_DRAWN: Final = frozenset({"path", "use", "text", "tspan", "image", "rect"})


def inline(svg: str, name: str) -> str:
    """The drawing without prologue and metadata, with ids and classes of its own."""
    body = svg[svg.index("<svg") :]
    body = re.sub(r' (?:xmlns(?::xlink)?|version)="[^"]*"', "", body)
    root = ElementTree.fromstring(body.replace("xlink:href", "href"))
    keys = _keys(root, name)
    classes = _classes(root, name)
    style = "".join(f".{key}{{{_style(text)}}}" for text, key in classes.items())
    inner = "".join(_markup(child, keys, classes) for child in root)
    sheet = f"<style>{style}</style>" if style else ""
    return f"<svg{_attributes(root, keys, {})}>{sheet}{inner}</svg>"


def _keys(root: Element, name: str) -> dict[str, str]:
    """Short ids for those that something refers to."""
    values = [value for element in root.iter() for value in element.attrib.values()]
    used = {found[1] for value in values for found in _REFERENCE.finditer(value)}
    defined = dict.fromkeys(element.get("id", "") for element in root.iter())
    return {old: f"{name}-{n}" for n, old in enumerate(k for k in defined if k in used)}


def _classes(root: Element, name: str) -> dict[str, str]:
    """A class for every style that recurs."""
    count = Counter(e.get("style", "") for e in root.iter() if e.tag in _DRAWN)
    shared = (text for text, number in count.items() if text and number > 1)
    return {text: f"{name}{n}" for n, text in enumerate(shared)}


def _markup(element: Element, keys: dict[str, str], classes: dict[str, str]) -> str:
    if element.tag in {"metadata", "style"}:
        return ""
    inner = "".join(_content(element, keys, classes))
    attributes = _attributes(element, keys, classes)
    if not inner and element.tag not in _DRAWN:
        return ""
    if element.tag == "g" and not attributes:
        return inner
    if not inner:
        return f"<{element.tag}{attributes} />"
    return f"<{element.tag}{attributes}>{inner}</{element.tag}>"


def _content(element: Element, keys: dict[str, str], classes: dict[str, str]) -> Iterator[str]:
    yield _text(element.text)
    for child in element:
        yield _markup(child, keys, classes)
        yield _text(child.tail)


def _text(text: str | None) -> str:
    return escape(text, quote=False) if text and text.strip() else ""


def _attributes(element: Element, keys: dict[str, str], classes: dict[str, str]) -> str:
    found = ""
    for name, value in element.attrib.items():
        if name == "id" and value not in keys:
            continue
        if name == "style" and value in classes:
            name, value = "class", classes[value]
        elif name == "id":
            value = keys[value]
        elif name == "style":
            value = _style(value)
        elif name == "d":
            value = _path(value)
        else:
            value = _short(_REFERENCE.sub(lambda m: m[0].replace(m[1], keys[m[1]]), value))
        found += f" {name}={value}" if _BARE.fullmatch(value) else f' {name}="{value}"'
    return found


_BARE: Final = re.compile(r"[\w.#%()+-]+")


def _style(text: str) -> str:
    return re.sub(r"\s*([:;])\s*", r"\1", text).rstrip(";")


def _short(text: str) -> str:
    """Numbers to a hundredth of a point: less is not to be seen."""
    return re.sub(r"(\.\d\d)\d+", r"\1", text)


def _path(text: str) -> str:
    text = re.sub(r"\s+", " ", _short(text)).strip()
    text = re.sub(r"\.0+(?!\d)|(\.\d*[1-9])0+(?!\d)", lambda found: found[1] or "", text)
    return re.sub(r" ?([A-Za-z]) ?", r"\1", text)
