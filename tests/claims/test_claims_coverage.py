"""Every place of both notes has an answer, and not many claims stay open."""

from __future__ import annotations

import pytest

from derive.catalogue import all_claims
from derive.places import NOTES, whole
from derive.result import Verdict

CLAIMS = all_claims()
PLACES = [(document, place.name) for document, places in NOTES.items() for place in places]


def covering(document: str, name: str) -> list:
    return [
        c for c in CLAIMS if c.source.document == document and name in map(whole, c.source.places)
    ]


def test_the_places_are_all_there_are() -> None:
    names = sorted(name for _, name in PLACES)
    expected = [f"A{k:02}" for k in range(1, 37)] + [f"B{k:02}" for k in range(1, 48)]
    assert names == expected


@pytest.mark.parametrize(("document", "name"), PLACES)
def test_a_place_is_covered_by_a_claim(document: str, name: str) -> None:
    assert covering(document, name)


def test_claims_speak_of_places_that_exist() -> None:
    known = set(PLACES)
    for claim in CLAIMS:
        assert {(claim.source.document, whole(p)) for p in claim.source.places} <= known, claim.id


def test_what_is_not_mathematical_has_a_reason() -> None:
    for claim in CLAIMS:
        if claim.expected is Verdict.NOT_MATHEMATICAL:
            assert len(claim.reason) >= len("Metaphors.")


def test_at_most_five_claims_stay_open() -> None:
    assert sum(c.expected is Verdict.UNDECIDED for c in CLAIMS) <= 5
