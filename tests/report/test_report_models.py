"""The section about whole models: closed forms, published numbers, shares; in both formats."""

from __future__ import annotations

from dataclasses import replace

import pytest

from derive.claims import model_totals
from derive.count.published import answers
from derive.report import page, rendering
from derive.report.document import build
from derive.report.model import Bars, Notes, Table
from derive.report.models import MODELS, models
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
    assert r"$65 \times 10^{6}$" in tex
    assert "<section id=models>" in html
    assert "<i style=width:45.5%></i>" in html
    assert "124,439,808" in tex
    assert "124,439,808" in html
    assert "<a href=#models>" in html
