"""The notes, place by place: what each says, its claims, and what is wrong there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from derive import messages
from derive.claims import DERIVATIONS, INTERVIEW
from derive.errata import Erratum, errata_of
from derive.places import NOTES, Place, places_of, whole
from derive.report import localizing
from derive.report.model import Anchor, Document, Fault, Link, Passage
from derive.result import Result

TITLES: Final = {
    DERIVATIONS: "The note of derivations: attention, positions, feed-forward network, residuals",
    INTERVIEW: "The note of interview questions: scaling, heads, averages, feed-forward network",
}

Keyed = Sequence[tuple[str, Result]]


def documents(keyed: Keyed, *, complete: bool) -> tuple[Document, ...]:
    """A part for each document of which places are named; in a complete report with all that is
    wrong in it.
    """
    named = dict.fromkeys(result.source.document for _, result in keyed)
    parts = (_document(document, keyed, complete=complete) for document in named)
    return tuple(part for part in parts if part.passages or part.faults)


def anchors(result: Result) -> tuple[Anchor, ...]:
    """The places of a claim, with the targets of the passages that they belong to."""
    source = result.source
    return tuple(Anchor(p, _place_key(source.document, whole(p))) for p in source.places)


def _place_key(document: str, name: str) -> str:
    """The places of our notes have names of their own; those of other documents may share one."""
    ours = any(name == place.name for place in NOTES.get(document, ()))
    return name if ours else _key("place", document, name)


def _key(kind: str, *parts: str) -> str:
    """A link target; unlike the targets of claims it has no dot."""
    return "-".join([kind, *(re.sub(r"[^A-Za-z0-9]+", "-", part) for part in parts)])


def _document(document: str, keyed: Keyed, *, complete: bool) -> Document:
    here = [(key, result) for key, result in keyed if result.source.document == document]
    named = [place for _, result in here for place in result.source.places]
    passages = (_passage(document, place, here) for place in places_of(document, named))
    links = {result.id: link(key, result) for key, result in here}
    faults = errata_of(document, links.keys(), complete=complete)
    return Document(
        key=_key("note", document),
        title=_told(TITLES[document]) if document in TITLES else f"`{document}`",
        code=document,
        passages=tuple(passage for passage in passages if passage.links),
        faults=tuple(_fault(erratum, links) for erratum in faults),
    )


def _passage(document: str, place: Place, here: Keyed) -> Passage:
    found = [link(key, r) for key, r in here if place.name in map(whole, r.source.places)]
    key = _place_key(document, place.name)
    return Passage(key, place.name, place.lines, _told(place.says), tuple(found))


def _fault(erratum: Erratum, links: dict[str, Link]) -> Fault:
    found = tuple(links[name] for name in erratum.claims if name in links)
    places = messages.listing(*erratum.places)
    return Fault(places, _told(erratum.problem), _told(erratum.instead), found)


def link(key: str, result: Result) -> Link:
    return Link(key, result.id, result.title, result.verdict)


def _told(text: str) -> str:
    return messages.told(text, localizing.NOTES)
