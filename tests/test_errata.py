"""What is wrong in the notes: every fault is at places that exist, shown by claims that exist."""

from __future__ import annotations

import pytest

from derive.catalogue import all_claims
from derive.claims import DERIVATIONS, INTERVIEW
from derive.errata import ERRATA, errata_of
from derive.places import NOTES
from derive.report.text import spans


@pytest.mark.parametrize("document", [DERIVATIONS, INTERVIEW])
def test_places_and_claims_exist(document):
    places = [place.name for place in NOTES[document]]
    known = {claim.id for claim in all_claims() if claim.source.document == document}
    for fault in ERRATA[document]:
        assert fault.places
        assert {*fault.places} <= {*places}
        assert {*fault.claims} <= known
        for text in (fault.problem, fault.instead):
            assert text.endswith(".")
            assert list(spans(text))


def test_only_what_the_chosen_claims_show_unless_all_are_chosen():
    (first, *_) = ERRATA[INTERVIEW]
    assert errata_of(INTERVIEW, {first.claims[0]}, complete=False) == (first,)
    assert errata_of(INTERVIEW, set(), complete=False) == ()
    assert errata_of(INTERVIEW, set(), complete=True) == ERRATA[INTERVIEW]
    assert errata_of("another", set(), complete=True) == ()
