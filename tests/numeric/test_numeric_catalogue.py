"""Every planted mistake is caught by the ordinary test that the catalogue names for it."""

import re
from pathlib import Path

import pytest
from planted_errors import CATALOGUE, PLANTED, tables
from planting import Planted, fails, is_caught

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "planted_errors.md"


@pytest.mark.parametrize("planted", [pytest.param(p, id=p.mistake) for p in PLANTED])
def test_a_planted_mistake_is_caught(planted):
    assert is_caught(planted)


@pytest.mark.parametrize("test", sorted({planted.test for planted in PLANTED}))
def test_the_same_test_passes_without_the_mistake(test):
    """Otherwise it would catch anything, or fail because of how it is called here."""
    assert not fails(test)


def test_a_change_that_is_no_mistake_is_not_caught():
    other_way, way = "product + bias", "add_to(product, bias)"
    same = Planted("none", "linear", "linear", way, other_way, PLANTED[0].test)
    assert not is_caught(same)
    elsewhere = PLANTED[0]
    other = Planted(*list(vars(elsewhere).values())[:-1], "positional::test_vjp")
    assert not is_caught(other)


def test_a_snippet_that_is_not_in_the_code_is_refused():
    gone = Planted("gone", "linear", "linear", "no such thing", "x", "softmax::test_vjp")
    with pytest.raises(
        ValueError, match=r"'no such thing' occurs 0 times in linear\.linear; expected"
    ):
        gone.source()
    twice = Planted("twice", "linear", "linear", "bias", "x", "softmax::test_vjp")
    with pytest.raises(ValueError, match=r"occurs \d+ times in linear\.linear; expected once"):
        twice.source()
    nowhere = Planted("nowhere", "linear", "no_function", "x", "y", "softmax::test_vjp")
    with pytest.raises(ValueError, match="there is no function no_function"):
        nowhere.source()


def test_mistakes_are_many_and_no_two_are_alike():
    assert len(PLANTED) >= 40
    changes = [(p.module, p.function, p.right, p.wrong) for p in PLANTED]
    assert len(set(changes)) == len({p.mistake for p in PLANTED}) == len(PLANTED)


def test_the_document_is_the_catalogue():
    """`python tests/numeric/planted_errors.py` prints what should stand there."""
    text = DOCUMENT.read_text(encoding="utf-8")
    start = text.index(f"## {next(iter(CATALOGUE))}")
    assert text[start:].strip() == tables()
    assert re.search(rf"\b{len(PLANTED)} mistakes\b", text[:start])
