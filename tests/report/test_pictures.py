"""The pictures: their numbers are what is proved, their drawings the same for the same numbers."""

from __future__ import annotations

import base64
import io
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import report_samples as samples
from page_reading import Outline

from derive import messages
from derive.cli import main
from derive.report import ReportError, write_report
from derive.report.model import Figure
from derive.report.pictures import curves, kept
from derive.report.pictures.inline import inline
from numeric.positional import frequencies

FIGURE = Figure("sample", "A title", "See $x_{1}$ in `a/b`.", ("residual_and_normalisation",),
                b"%PDF-1.4 sample", "<svg viewBox='0 0 1 1'><path d='M0 0'/></svg>")  # fmt: skip


# -- the numbers -----------------------------------------------------------------------------


def test_inner_products_depend_on_the_difference_only() -> None:
    rows, gram = curves.encoding(20, 12)
    assert rows.shape == (20, 12)
    assert gram.shape == (20, 20)
    np.testing.assert_allclose(gram[1:, 1:], gram[:-1, :-1], atol=1e-12)


def test_pairs_move_by_the_chord() -> None:
    for offset, moved in zip((1, 4, 16), curves.displacement(30), strict=True):
        np.testing.assert_allclose(moved, curves.chord(frequencies(30), offset), atol=1e-12)
    rates = frequencies(128)
    assert np.all(np.diff(curves.chord(rates)) < 0)
    assert not np.all(np.diff(curves.chord(rates, 16)) < 0)


def test_scores_have_the_proved_variance() -> None:
    found = curves.scores(seed=3)
    number = 400 * 16
    # the variance of a dot product of d_k independent normal pairs: E[x^4] = 3 d_k (d_k + 2)
    errors = np.sqrt((3 * found.widths * (found.widths + 2) - found.widths**2) / number)
    assert np.all(np.abs(found.variance - found.widths) < 5 * errors)
    np.testing.assert_allclose(found.scaled_variance, found.variance / found.widths, rtol=1e-12)
    assert np.all(found.entropy <= math.log(16))
    assert found.entropy[-1] < math.log(16) / 10 < 2 < found.scaled_entropy[-1]
    assert found.jacobian[-1] < 0.15 < 0.25 < found.scaled_jacobian[-1]


def test_gradients_keep_the_proved_bounds() -> None:
    found = curves.gradients(seed=3, deepest=10, d_model=8, trials=3)
    np.testing.assert_allclose(found.plain, curves.RHO**found.depths, rtol=1e-10)
    assert np.all(found.lower <= found.residual * (1 + 1e-12))
    assert np.all(found.residual <= found.upper * (1 + 1e-12))
    for lengths in (found.residual, found.post, found.pre):
        assert lengths[0] == pytest.approx(1)
        assert np.all(lengths[1:] > 2 * found.plain[1:])


def test_shares_are_those_of_the_claims() -> None:
    share = {model.name: curves.feed_forward_share(model) for model in curves.MODELS}
    assert share["GPT-2 small"] == pytest.approx(56_669_184 / 124_439_808)
    assert share["GPT-2 small"] < 0.5 < share["GPT-2 medium"] < 2 / 3
    for model in curves.MODELS:
        assert share[model.name] == pytest.approx(8 / (12 + curves.load(model)), rel=2e-3)


def test_operations_are_those_of_the_claims_and_cross_at_twice_the_width() -> None:
    found = curves.operations(seed=3)
    n, d, h = found.tokens, curves.COUNTED_WIDTH, 2
    np.testing.assert_array_equal(found.projections, 4 * n * d * (2 * d - 1))
    scores_and_scaling = n * n * (2 * d - h) + h * n * n
    np.testing.assert_array_equal(found.attention, scores_and_scaling + n * d * (2 * n - 1))
    more = found.attention > found.projections
    assert list(found.tokens[more]) == [k for k in found.tokens if k >= 2 * d]


# -- in the report ---------------------------------------------------------------------------


def test_pictures_of_the_topics_stand_in_both_formats(tmp_path: Path) -> None:
    other = replace(FIGURE, name="other", topics=("elsewhere",))
    tex, html = write_report(samples.ALL, tmp_path, settings={}, figures=[FIGURE, other])
    assert (tmp_path / "report-sample.pdf").read_bytes() == FIGURE.pdf
    assert not (tmp_path / "report-other.pdf").exists()
    assert r"\drawing{report-sample.pdf}{A title}" in tex.read_text("utf-8")
    page = html.read_text("utf-8")
    assert "<svg role=img aria-label='A title' viewBox=" in page
    assert "<b>A title.</b> See <math>" in page
    assert "#pictures" in Outline(page).targets


def test_without_pictures_nothing_speaks_of_them(tmp_path: Path) -> None:
    tex, html = write_report(samples.ALL, tmp_path, settings={})
    assert r"\drawing{" not in tex.read_text("utf-8").split(r"\begin{document}")[1]
    assert "id=pictures" not in html.read_text("utf-8")


# -- drawn once ------------------------------------------------------------------------------


@pytest.fixture
def drawings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "_state", lambda seed, language: f"{seed:032x}")
    monkeypatch.setattr(
        kept, "_drawn_here", lambda seed, language: (replace(FIGURE, name=f"s{seed}"),)
    )


@pytest.mark.usefixtures("drawings")
def test_pictures_are_drawn_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with kept.drawn(1, tmp_path) as pictures:
        (first,) = pictures()
    assert first == replace(FIGURE, name="s1")

    def refuse(*_: object) -> None:
        raise AssertionError("drawn again")

    monkeypatch.setattr(kept, "_drawn_here", refuse)
    with kept.drawn(1, tmp_path) as pictures:
        assert pictures() == (first,)
    with kept.drawn(2, tmp_path) as pictures, pytest.raises(ReportError, match="ended"):
        pictures()


@pytest.mark.usefixtures("drawings")
def test_what_is_kept_is_replaced_if_it_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / f"{1:032x}.pictures"
    for damaged in (b"", b"[{}]", b"{", b'[{"name": 1}]', b"3"):
        path.write_bytes(damaged)
        with kept.drawn(1, tmp_path) as pictures:
            assert len(pictures()) == 1
    with kept.drawn(2, tmp_path) as pictures:
        pictures()
    assert [p.name for p in tmp_path.iterdir()] == [f"{2:032x}.pictures"]


@pytest.mark.usefixtures("drawings")
def test_a_folder_that_cannot_be_written_to_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    for folder in (None, tmp_path / "file"):
        with kept.drawn(1, folder) as pictures:
            assert len(pictures()) == 1


def test_why_there_are_no_pictures_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ReportError("no pictures: OSError disk")

    monkeypatch.setattr(kept, "_drawn_here", fail)
    with kept.drawn(1, None) as pictures, pytest.raises(ReportError, match="OSError disk"):
        pictures()


def test_without_matplotlib_there_is_a_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("derive.report.missing_to_draw", lambda language: "matplotlib")
    assert main(["report", "remarks/*", "--out", str(tmp_path)]) == 0
    assert "without matplotlib" in capsys.readouterr().err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["report.html", "report.tex"]


# -- with matplotlib -------------------------------------------------------------------------


def test_without_a_chinese_font_there_are_no_chinese_pictures(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    from matplotlib import font_manager

    monkeypatch.setattr(font_manager, "findSystemFonts", lambda: ["/fonts/DejaVuSans.ttf"])
    assert "fonts-arphic-gbsn00lp" in kept.missing_to_draw("zh")
    assert kept.missing_to_draw("en") == ""


def test_chinese_words_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    if kept.missing_to_draw("zh"):
        pytest.skip("there is no Chinese font")
    from derive.report.pictures import drawing

    monkeypatch.setattr(drawing, "_PICTURES", drawing._PICTURES[1:2])
    with messages.speaking("zh"):
        (figure,) = drawing.draw(0)
    assert "移动的距离" in figure.svg
    assert "distance" not in figure.svg
    assert figure.title == "分量对移动多远"


def test_each_language_keeps_its_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "_drawn_here", lambda *_: (FIGURE,))
    monkeypatch.setattr(kept, "_state", lambda seed, language: language)
    for language in messages.LANGUAGES:
        with kept.drawn(1, tmp_path, language) as pictures:
            pictures()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["en.pictures", "zh.pictures-zh"]


_STYLES = re.compile(r"<style>(.*?)</style>")


def test_drawings_are_complete_and_the_same_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    from derive.report.pictures import drawing

    figures = drawing.draw(0)
    monkeypatch.setattr(drawing, "_PICTURES", drawing._PICTURES[::2])
    assert drawing.draw(0) == figures[::2]
    ids: list[str] = []
    classes: list[str] = []
    for figure in figures:
        assert figure.pdf.startswith(b"%PDF")
        outline = Outline(figure.svg)
        ids += outline.ids
        used = re.findall(r'(?:href="|url\()#([^")]+)', figure.svg)
        assert used
        assert {*used} <= {*outline.ids}
        assert "http" not in figure.svg
        rules = re.findall(r"([^{}]*)\{[^{}]*\}", "".join(_STYLES.findall(figure.svg)))
        assert all(re.fullmatch(r"\.[\w-]+", r) for r in rules), "what holds of one class only"
        classes += rules
        assert len(figure.svg) < 60_000
        assert figure.caption.endswith(".")
    assert len(ids) == len(set(ids))
    assert len(classes) == len(set(classes)), "a style is that of one picture"


# -- a drawing as a part of a page -----------------------------------------------------------


DRAWING = """<?xml version="1.0"?>
<!DOCTYPE svg>
<svg xmlns:xlink="http://www.w3.org/1999/xlink" width="9pt" viewBox="0 0 9 9"
 xmlns="http://www.w3.org/2000/svg" version="1.1">
 <metadata>a date</metadata><defs><style type="text/css">*{stroke-linejoin: round}</style></defs>
 <g id="figure_1"><g id="axes_1"><defs><path id="m1" d="M 0 0 L 0 3.500000 L 2.000000 10 z"/></defs>
 <g><use xlink:href="#m1" x="1.23456" y="2" style="stroke: #000000; stroke-width: 0.8"/></g>
 <use xlink:href="#m1" x="2" y="100" style="stroke: #000000; stroke-width: 0.8"/>
 <path d="M 30.00 1.05
L 5 2.5
" clip-path="url(#p2)" style="fill: none"/><text id="text_1">a &lt; b</text></g></g>
 <defs><clipPath id="p2"><rect x="0" y="0" width="9" height="9"/></clipPath></defs></svg>"""


def test_a_drawing_is_told_in_few_bytes() -> None:
    assert inline(DRAWING, "pic") == (
        '<svg width=9pt viewBox="0 0 9 9"><style>.pic0{stroke:#000000;stroke-width:0.8}</style>'
        '<defs><path id=pic-0 d="M0 0L0 3.5L2 10z" /></defs>'
        "<use href=#pic-0 x=1.23 y=2 class=pic0 /><use href=#pic-0 x=2 y=100 class=pic0 />"
        '<path d="M30 1.05L5 2.5" clip-path=url(#pic-1) style="fill:none" />'
        "<text>a &lt; b</text>"
        "<defs><clipPath id=pic-1><rect x=0 y=0 width=9 height=9 /></clipPath></defs></svg>"
    )


def _uses(key: str, look: str = "") -> str:
    return "".join(f"<use href='#{key}' x='{k}.500' y='2'{look}/>" for k in range(4))


def test_marks_in_a_row_are_one_path() -> None:
    look = " style='stroke:red'"
    marks = f"<g><g>{_uses('tick', look)}</g></g><text>t</text>{_uses('dot')}"
    defined = "<defs><path id='tick' d='M 0 0 L 0 3.5'/><path id='dot' d='M 1 1 L 2 2 z'/></defs>"
    assert inline(f"<svg>{defined}{marks}</svg>", "p") == (
        "<svg><style>.p0{stroke:red}</style>"
        '<defs><path id=p-0 d="M0 0L0 3.5" /><path id=p-1 d="M1 1L2 2z" /></defs>'
        '<path d="M0.5 2l0 3.5M1.5 2l0 3.5M2.5 2l0 3.5M3.5 2l0 3.5" class=p0 /><text>t</text>'
        "<marker id=p-1-0 markerUnits=userSpaceOnUse overflow=visible><use href=#p-1 /></marker>"
        '<path d="M0.5 2M1.5 2M2.5 2M3.5 2" style="fill:none;marker:url(#p-1-0)" /></svg>'
    )


def test_a_picture_in_few_colours_has_the_same_dots() -> None:
    image = pytest.importorskip("PIL.Image", reason="pillow is not installed")
    rng = np.random.default_rng(1)
    many = rng.integers(0, 256, (40, 30, 4), np.uint8)
    few = rng.integers(0, 256, (20, 4), np.uint8)[rng.integers(0, 20, (40, 30))]
    opaque = few | np.array([0, 0, 0, 255], np.uint8)
    for given, fewer in ((opaque, True), (few, False), (many, False)):
        file = io.BytesIO()
        image.fromarray(given).save(file, "PNG")
        png = base64.b64encode(file.getvalue()).decode()
        drawn = inline(f"<svg><image href='data:image/png;base64,\n{png}'/></svg>", "p")
        kept_png = re.findall('base64,([^"]*)"', drawn)[0]
        assert (len(kept_png) < len(png)) is fewer
        shown = image.open(io.BytesIO(base64.b64decode(kept_png))).convert("RGBA")
        np.testing.assert_array_equal(np.asarray(shown), given)
