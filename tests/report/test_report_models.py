"""The section about whole models: closed forms, published numbers, shares; in both formats."""

from __future__ import annotations

from dataclasses import replace

import pytest

from derive.claims import model_totals
from derive.count.published import answers
from derive.report import page, rendering
from derive.report.document import build
from derive.report.model import Bars, Notes, Table
from derive.report.models import MODELS, _told, models
from derive.verify import settle


@pytest.fixture(scope="module")
def result():
    return settle(model_totals.PALM).result


@pytest.fixture(scope="module")
def report(result):
    return build([result], settings={"Seed": "0"})


def part(report, kind):
    (found,) = (block for block in report.models if isinstance(block, kind))
    return found


def test_only_reports_about_totals_have_the_section(result):
    assert models([replace(result, topic="scaling")]) == ()
    assert models([]) == ()
    other = build([replace(result, topic="scaling")], settings={})
    assert r"\modeltotals" not in rendering.render(other).split(r"\begin{document}")[1]
    assert MODELS not in page.render(other)


def test_every_family_has_its_closed_form(report):
    """As the claims have it, with what is counted beside it."""
    notes = part(report, Notes).notes
    totals = {claim.statement.children[-1].children[1] for claim in model_totals.CLAIMS}
    assert len(notes) == len(totals) + 1  # GPT-1 has norms in other places than GPT-2
    assert all("biases: " in note.text for note in notes)


def test_every_published_total_is_in_the_table(report):
    rows = [row for _, group in part(report, Table).groups for row in group]
    expected = [a for a in answers() if a.counts_parameters]
    assert len(rows) == len(expected)
    assert sorted(row[2] for row in rows) == sorted(f"{a.number:,}" for a in expected)
    assert ("small", "124,439,808", "124,439,808", "exact") in rows


def test_shares_are_those_of_the_counts(report):
    bars = part(report, Bars)
    shares = {bar.name: bar.thousandths for bar in bars.bars}
    assert shares["GPT-2, small"] == 455
    assert shares["GPT-3, 175B"] == 664
    assert shares["Attention Is All You Need, base"] == 400
    assert bars.mark.thousandths == 667


def test_both_formats_show_it(report):
    tex, html = rendering.render(report), page.render(report)
    assert r"\modeltotals" in tex
    assert r"\sharebar{GPT-2, small}{0.455}{45.5}" in tex
    assert r"$65 \cdot 10^{6}$" in tex  # as the report writes powers of ten elsewhere
    assert r"\times 10^" not in tex
    assert "<section id=models>" in html
    assert "<i style=width:45.5%></i>" in html
    assert "124,439,808" in tex
    assert "124,439,808" in html
    assert "<a href=#models>" in html


def test_no_name_is_said_twice_and_long_numbers_have_separators(report):
    forms = [note.text for note in part(report, Notes).notes]
    assert any(text.startswith("GPT, GPT-1: ") for text in forms)
    assert any(text.startswith("mixture of experts (Mixtral), 8x7B: ") for text in forms)
    for name in ("GPT", "OPT", "Mixtral"):
        assert not any(f"({name}, " in text for text in forms)
    answers = [row[3] for _, rows in part(report, Table).groups for row in rows]
    assert any("said 274,041,856, which is 20 layers" in text for text in answers)


@pytest.mark.parametrize("text", ["d_ff=14336000", "$x^{1234567}$", "1.23456789", "123456"])
def test_other_digits_stay_as_they_are(text):
    assert "," not in _told(text)
