"""Results and claims in a notebook."""

from __future__ import annotations

from dataclasses import replace

import pytest
import report_samples as samples
from page_reading import Outline

from derive.catalogue import all_claims
from derive.report.reading import read
from derive.result import Result


@pytest.mark.parametrize("result", samples.ALL, ids=lambda result: result.id)
def test_a_result_shows_as_in_the_report(result: Result) -> None:
    shown = result._repr_html_()
    outline = Outline(shown)
    assert outline.loaded == []
    assert len(outline.ids) == len(set(outline.ids))
    assert result.id in shown
    assert "\x00" not in shown
    assert shown.count("<li>") == len(
        result.hypotheses + result.steps + result.correction_steps + result.mutations
    )
    assert "<math>" in shown


def test_the_look_reaches_nothing_else() -> None:
    shown = samples.HEADS._repr_html_()
    assert shown.startswith("<div class=derive><style>@scope (.derive){:scope{")
    assert ":root" not in shown
    style = shown[: shown.index("</style>")]
    assert style.count("{") == style.count("}")


@pytest.mark.parametrize("result", samples.ALL, ids=lambda result: result.id)
def test_a_result_as_latex_is_one_formula(result: Result) -> None:
    latex = result._repr_latex_()
    assert latex[0] == latex[-1] == "$"
    assert result.verdict.value.replace("-", " ") in latex
    assert read(latex[1:-1])


def test_without_a_statement_the_verdict_is_told() -> None:
    assert replace(samples.METAPHOR, statement="")._repr_latex_() == r"$\text{not mathematical}$"


def test_a_claim_shows_what_it_says_before_it_is_settled() -> None:
    (claim,) = (c for c in all_claims(["head-width/floor"]) if c.id == "head-width/floor")
    shown = claim._repr_html_()
    Outline(shown)
    assert "<mo>⌊</mo>" in shown
    assert "not settled yet; expected: conditional." in shown
    assert "as expected" not in shown
    assert claim._repr_latex_().startswith(r"$\displaystyle h")
    (remark, *_) = all_claims(["remarks/*"])
    assert remark.statement is None
    assert remark._repr_latex_() == remark.title
    assert remark.title in remark._repr_html_()
