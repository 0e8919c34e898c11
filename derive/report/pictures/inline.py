"""A drawing of matplotlib as a part of a page, in as few bytes as it can be told.

Matplotlib puts every mark into groups of its own and repeats its style; groups that say nothing are
left out, a style that recurs becomes a class, and marks in a row become one path.
"""

from __future__ import annotations

import base64
import io
import re
from collections import Counter
from collections.abc import Iterator
from html import escape
from typing import Final
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np

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
    inner = _joined("".join(_markup(child, keys, classes) for child in root))
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
        elif value.startswith(_PNG):
            value = _PNG + _in_few_colours(value.removeprefix(_PNG))
        else:
            value = _short(_REFERENCE.sub(lambda m: m[0].replace(m[1], keys[m[1]]), value))
        found += f" {name}={value}" if _BARE.fullmatch(value) else f' {name}="{value}"'
    return found


_PNG: Final = "data:image/png;base64,"
_MOST_COLOURS: Final = 256


def _in_few_colours(png: str) -> str:
    """The picture with a palette, if it has few colours and none shines through: the same dots."""
    from PIL import Image  # matplotlib cannot draw one without it

    with Image.open(io.BytesIO(base64.b64decode(png))) as opened:
        picture = opened.convert("RGBA")
    dots = np.asarray(picture)
    colours, numbers = np.unique(dots[..., :3].reshape(-1, 3), axis=0, return_inverse=True)
    if len(colours) > _MOST_COLOURS or dots[..., 3].min() < 255:
        return png
    few = Image.fromarray(numbers.reshape(dots.shape[:2]).astype(np.uint8))
    few.putpalette(colours.tobytes())  # which makes grey ones numbers of colours
    file = io.BytesIO()
    few.save(file, "PNG", optimize=True)
    return min(base64.b64encode(file.getvalue()).decode(), png.strip(), key=len)


def _joined(markup: str) -> str:
    """Marks in a row as one path: straight strokes as they are, others as markers at its points."""
    strokes = dict(_STROKE.findall(markup))
    runs: list[str] = []

    def path(found: re.Match[str]) -> str:
        _, key, look = found.groups()
        points = [_path(f"M{x} {y}") for x, y in _POINT.findall(found[0])]
        if key in strokes:
            return f'<path d="{"".join(f"{p}l{strokes[key]}" for p in points)}"{look} />'
        runs.append(f"{key}-{len(runs)}")
        marker = f"<marker id={runs[-1]} markerUnits=userSpaceOnUse overflow=visible>"
        drawn = f'<path d="{"".join(points)}" style="fill:none;marker:url(#{runs[-1]})" />'
        return f"{marker}<use href=#{key}{look} /></marker>{drawn}"

    return _RUN.sub(path, markup)


_STROKE: Final = re.compile(r'<path id=([\w-]+) d="M0 0L(-?[\d.]+ -?[\d.]+)"')
_RUN: Final = re.compile(
    r"(<use href=#([\w-]+) x=[\d.-]+ y=[\d.-]+((?: class=\w+)?) />)"
    r"(?:<use href=#\2 x=[\d.-]+ y=[\d.-]+\3 />){2,}"
)
_POINT: Final = re.compile(r" x=([\d.-]+) y=([\d.-]+)")
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
