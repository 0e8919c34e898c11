"""The whole document: completeness, determinism, refusals, and that TeX sets it cleanly."""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path

import pytest
import report_samples as samples

from derive.report import (
    ReportError,
    TexFailed,
    TexMissing,
    UnprintableCharacter,
    compile_pdf,
    write_report,
)
from derive.report.rendering import RUN_BEGIN, RUN_END
from derive.result import (
    AxiomView,
    CounterexampleView,
    Errors,
    HypothesisView,
    LogView,
    Measure,
    MutationView,
    Origin,
    Result,
    Source,
    StepView,
    TwinStatus,
    TwinView,
    Verdict,
)

needs_tex = pytest.mark.skipif(
    shutil.which("latexmk") is None or shutil.which("xelatex") is None,
    reason="latexmk and xelatex are not installed",
)


def tex_of(results: Sequence[Result], out: Path, settings: Mapping[str, str]) -> Path:
    (path,) = write_report(results, out, settings=settings, formats=["tex"])
    return path


def text_of(results: Sequence[Result], out: Path) -> str:
    return tex_of(results, out, samples.SETTINGS).read_text("utf-8")


MARKED = Result(
    id="markId",
    title="markTitle",
    topic="Marktopic",
    source=Source("markDocument", ("markPlaceA", "markPlaceB"), "markSays"),
    statement="M_{1001}",
    verdict=Verdict.CONDITIONAL,
    expected=Verdict.REFUTED,
    hypotheses=(
        HypothesisView("M_{1002}", Origin.SOURCE, True, "markNoteA", matrix="M_{1021}"),
        HypothesisView("M_{1003}", Origin.ADDED, False, "markNoteB"),
    ),
    steps=(StepView("M_{1004}", "markRule", "markReason", "M_{1022}"),),
    axioms=(AxiomView("markAxiom", "markCitation", "M_{1005}", "markCondition"),),
    counterexamples=(CounterexampleView({"M_{1006}": "1007"}, "M_{1008}", "M_{1009}"),),
    witness={"M_{1010}": "1011"},
    correction="M_{1012}",
    correction_steps=(StepView("M_{1013}", "markRuleC", "markReasonC", "M_{1023}"),),
    replayed=True,
    logs=(LogView("markKind", "markDigest"),),
    twin=TwinView(TwinStatus.AGREES, 1014, 1.5e-11, 2.5e-10, "markTwinReason"),
    reason="markWhy",
    remark="markRemark",
    mutations=(MutationView("markMutation", "M_{1020}", Verdict.REFUTED),),
    ranges="M_{1018}",
    matrix="M_{1024}",
    correction_matrix="M_{1025}",
    certificate_reason="markCertificate is missing",
    seconds_symbolic=1015.25,
    seconds_numeric=1016.75,
)


def test_every_field_of_a_result_appears(tmp_path: Path) -> None:
    text = text_of([MARKED], tmp_path).replace(r"\allowbreak{}", "")
    words = re.findall(r"\bmark[A-Z]\w*|\bM_\{1\d{3}\}|\b10(?:07|11|14)\b", repr(MARKED))
    assert len(words) > 25
    assert [word for word in words if word not in text] == []
    for shown in ("Marktopic", r"\markconditional", "expected: refuted", "replayed", "1015.25"):
        assert shown in text
    for shown in ("1016.75", r"1.5 \cdot 10^{-11}", r"2.5 \cdot 10^{-10}", "Agrees"):
        assert shown in text
    for shown in ("from the source, used", "added, not needed"):
        assert shown in text


def test_a_page_may_not_end_between_statement_and_source(tmp_path: Path) -> None:
    claim = text_of([MARKED], tmp_path).split(r"\topic{")[-1]
    opening = claim[claim.index(r"\begin{opening}") : claim.index(r"\end{opening}")]
    for shown in ("M_{1001}", "M_{1018}", "markSays"):
        assert shown in opening
    assert "M_{1002}" not in opening


def test_the_marked_result_leaves_no_field_at_its_default() -> None:
    bare = Result("", "", "", MARKED.source, "", Verdict.PROVED, Verdict.PROVED)
    for field in fields(Result):
        exempt = field.name in {"source", "certificate"}
        assert getattr(MARKED, field.name) != getattr(bare, field.name) or exempt


def test_a_certificate_is_told(tmp_path: Path) -> None:
    certified = replace(MARKED, certificate="coq", certificate_reason="")
    assert "by the independent checker and by Coq" in text_of([certified], tmp_path)
    assert "Coq" not in text_of([replace(MARKED, certificate_reason="")], tmp_path)


@pytest.mark.parametrize("verdict", list(Verdict))
def test_every_verdict_has_its_mark_in_words(verdict: Verdict, tmp_path: Path) -> None:
    text = text_of([replace(MARKED, verdict=verdict)], tmp_path)
    mark = rf"\mark{verdict.value.replace('-', '')}"
    assert text.count(mark) == 4  # definition, count, table, heading
    assert mark.replace("mark", "sign") in text[text.index(r"\begin{passages}") :]


def test_refuted_and_conditional_come_first_with_their_counterexample(tmp_path: Path) -> None:
    text = text_of(samples.ALL, tmp_path)
    table = text[text.index(r"\begin{entries}") : text.rindex(r"\end{entries}")]
    marks = re.findall(r"\\entry\{(\\mark\w+)\}", table)
    assert marks[:2] == [r"\markrefuted", r"\markconditional"]
    assert r"9 \neq 10" in table.replace(r"\allowbreak ", "")


def test_entries_stand_below_their_topic(tmp_path: Path) -> None:
    others = [replace(samples.ROTATION, id=f"x/{k}", title=f"title {k}") for k in range(2)]
    text = text_of([samples.RESIDUAL, *others], tmp_path)
    table = text[text.index(r"\begin{entries}") : text.rindex(r"\end{entries}")]
    rows = re.findall(r"\\entrytopic\{[^}]*\}|\\entry\{\\markproved\}\{[a-z]+ \d", table)
    assert rows == [
        r"\entrytopic{Residual and normalisation}",
        r"\entrytopic{Positional encoding}",
        r"\entry{\markproved}{title 0",
        r"\entry{\markproved}{title 1",
    ]


def test_topics_are_spelled_as_words(tmp_path: Path) -> None:
    results = [replace(samples.ROTATION, topic=topic) for topic in ("relu", "entropy-of-weights")]
    text = text_of(results, tmp_path)
    assert r"\topic{ReLU}" in text
    assert r"\topic{Entropy of weights}" in text


def test_disagreement_and_surprise_are_announced(tmp_path: Path) -> None:
    text = text_of(samples.ALL, tmp_path)
    assert "Numeric twins that disagree with a proof: 1." in text
    assert "Verdicts that differ from the expected one: 1." in text
    assert r"\alarm{" not in text_of([samples.HEADS], tmp_path).split(r"\begin{document}")[1]


def test_notes_have_the_columns_in_which_they_take_fewer_lines(tmp_path: Path) -> None:
    wide = r"\forall i < n:\ \forall j < n:\ M_{i\,j} = \sin(x_{i})+\cos(x_{j})+\sin(y_{j})"
    for note, column in (("short", "row"), ("long " * 30, "note")):
        hypothesis = HypothesisView(wide, Origin.SOURCE, True, note)
        text = text_of([replace(MARKED, hypotheses=(hypothesis,))], tmp_path)
        assert rf"\{column}{{H1}}" in text


def test_a_note_gives_its_matrix_form_room_too(tmp_path: Path) -> None:
    factor = r"\left(I-\frac{\mathbf{1}\,\mathbf{1}^{\top}}{d}-\frac{x\,y^{\top}}{d\,s}\right)"
    wide = rf"p_{{l}} = {factor}\,\left(x+y+z+u+v+w\right)\,{factor}"
    hypothesis = HypothesisView("x = y", Origin.SOURCE, True, "n", matrix=wide)
    text = text_of([replace(MARKED, hypotheses=(hypothesis,))], tmp_path)
    assert r"\row{H1}" in text


def test_a_line_goes_on_from_the_one_before_but_not_from_a_number_or_to_an_assumption(
    tmp_path: Path,
) -> None:
    steps = (
        StepView("a = b", "order"), StepView(r"b \le c", "order"), StepView("c < m", "assume"),
        StepView("q = 1", "order"), StepView(r"1 < n", "order"),
    )  # fmt: skip
    text = text_of([replace(MARKED, steps=steps)], tmp_path)
    shown = re.findall(r"\\row\{\d\}\{\\fitmath\{([^}]*)\}", text)
    assert shown == ["a = b", r"\quad \le c", "c < m", "q = 1", "1 < n"]


def test_the_reason_stands_beside_a_wide_formula_that_begins_narrow(tmp_path: Path) -> None:
    wide = r"\frac{a+b+c+d+e+f+g+h+i+j+k+l+m+n+o+p+q+r+s+t+u+v+w}{2}"
    for latex, name in ((rf"S = x + y = {wide}", "asiderow"), (f"{wide} = x = y", "widerow")):
        text = text_of([replace(MARKED, steps=(StepView(latex, "order", ""),))], tmp_path)
        assert rf"\{name}{{1}}" in text


def test_a_reason_of_more_lines_than_the_narrow_ones_leave_stands_below(tmp_path: Path) -> None:
    wide = r"\frac{a+b+c+d+e+f+g+h+i+j+k+l+m+n+o+p+q+r+s+t+u+v+w}{2}"
    step = rf"S = \sum_{{i=0}}^{{n}} x = {wide}"
    for reason, name in (("one line", "asiderow"), ("$a + b + c = 0$, " * 3, "widerow")):
        text = text_of([replace(MARKED, steps=(StepView(step, "order", reason),))], tmp_path)
        assert rf"\{name}{{1}}" in text


def test_a_text_below_a_formula_of_several_blocks_is_below_all_of_it(tmp_path: Path) -> None:
    term = r"\frac{a+b+c+d+e+f+g+h+i+j+k+l+m+n+o+p+q+r+s+t+u+v+w+x+y+z}{2}"
    formula = " + ".join([term] * 20)
    text = text_of([replace(MARKED, steps=(StepView(formula, "order", "theReason"),))], tmp_path)
    body = text[text.index(r"\widerow{1}") :]
    assert body.count(r"\widerow{}") >= 2
    assert body.index("theReason") > body.rindex(r"\widerow{}")


def test_a_high_formula_of_a_row_is_set_in_blocks_between_which_a_page_can_end(
    tmp_path: Path,
) -> None:
    for term, blocks in ((r"\sum_{a=0}^{n-1} x_{a}\,y_{a}\,z_{a}", 2), (r"x_{a}\,y_{a}\,z_{a}", 1)):
        formula = " = ".join([rf"{term} + \left({term}\right)\,\left({term} + 1\right)"] * 6)
        text = text_of([replace(MARKED, steps=(StepView(formula, "order"),))], tmp_path)
        row = text[text.index(r"\row{1}") :].split("Axioms")[0]
        assert row.count("begin{aligned}") == blocks


def test_a_matrix_form_is_kept_with_its_formula(tmp_path: Path) -> None:
    text = text_of([MARKED], tmp_path)
    for number in ("M_{1021}", "M_{1022}"):
        assert re.search(r"\\inmatrices\\\w+\{\}\{\\fitmath\{" + re.escape(number), text)


def test_a_formula_that_would_be_badly_broken_beside_its_reason_has_the_whole_line(
    tmp_path: Path,
) -> None:
    factor = r"\left(a+b+c+d+e+f+g\right)"
    for latex, name in (
        (rf"\exp\left(\log\left({factor}\,{factor}\,{factor}\right)\right)", "widerow"),
        (rf"{factor} + {factor} + {factor} + {factor}", "row"),
    ):
        text = text_of([replace(MARKED, steps=(StepView(latex, "order", "r"),))], tmp_path)
        assert rf"\{name}{{1}}" in text


def test_a_long_reason_stands_below_a_low_formula(tmp_path: Path) -> None:
    for reason, name in (("word " * 12, "row"), ("word " * 60, "widerow")):
        text = text_of([replace(MARKED, steps=(StepView("x = y", "order", reason),))], tmp_path)
        assert rf"\{name}{{1}}" in text


def test_a_passage_with_many_claims_has_several_rows(tmp_path: Path) -> None:
    results = [replace(samples.ROTATION, id=f"x/{k}", title=f"title {k}") for k in range(12)]
    text = text_of(results, tmp_path)
    body = text[text.index(r"\begin{passages}") : text.rindex(r"\end{passages}")]
    rows = [row.count(r"\claimlink") for row in re.findall(r"\\(?:passage|morelinks)\{.*", body)]
    assert sum(rows) == 12
    assert max(rows) <= 5


def test_what_is_not_mathematical_has_no_twin(tmp_path: Path) -> None:
    bare = replace(samples.METAPHOR, statement="")
    assert "Numeric twin" not in text_of([bare], tmp_path).split(r"\tableofcontents")[1]
    assert "Numeric twin" in text_of([samples.METAPHOR], tmp_path)


def test_the_guide_explains_the_rules_and_signs_that_occur(tmp_path: Path) -> None:
    steps = (StepView(r"h \mid d", "leibniz"), StepView("1 = 1", "order"))
    text = text_of([replace(MARKED, correction_steps=steps)], tmp_path)
    guide = text[text.index(r"\guide", text.index(r"\begin{document}")) :]
    guide = guide[: guide.index(r"\topic{")]
    assert r"\term{\code{leibniz}}{From $a$ = $b$ and $p$($a$): $p$($b$);" in guide
    assert r"\term{$h \mid d$}" in guide
    assert r"\term{\code{linear" not in guide
    assert r"\delta" not in guide
    assert r"\guide" not in text_of([], tmp_path).split(r"\begin{document}")[1]


def test_a_twin_tells_its_errors_with_their_measure(tmp_path: Path) -> None:
    errors = (
        Errors(Measure.EXACT, 0.0, 3, 0.0),
        Errors(Measure.STANDARD_ERRORS, 5.0, 2, 1.87),
    )
    twin = TwinView(TwinStatus.AGREES, 5, 1.87, 5.0, "moments of samples", errors)
    text = " ".join(text_of([replace(MARKED, twin=twin)], tmp_path).split())
    assert (
        "Agrees in 5 comparisons: 3 exactly, 2 up to $1.87$ standard errors (tolerance $5$). "
        "Compared: moments of samples."
    ) in text


def without_run(text: str) -> str:
    start, end = text.index(RUN_BEGIN), text.index(RUN_END)
    return text[:start] + text[end:]


def test_the_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    slower = [replace(r, seconds_symbolic=r.seconds_symbolic + 1) for r in samples.ALL]
    first = text_of(samples.ALL, tmp_path / "a")
    assert text_of(samples.ALL, tmp_path / "b") == first
    second = tex_of(slower, tmp_path / "c", {"python": "9"}).read_text()
    assert second != first
    assert without_run(second) == without_run(first)


def test_an_empty_report_is_a_report(tmp_path: Path) -> None:
    assert r"\noclaims" in text_of([], tmp_path)


def test_the_same_claim_twice_has_two_targets(tmp_path: Path) -> None:
    text = text_of([MARKED, MARKED], tmp_path)
    assert text.count("{markid}{\\markconditional}") == 1
    assert text.count("{markid.2}{\\markconditional}") == 1


def test_a_directory_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OSError, match="file"):
        text_of([MARKED], tmp_path / "file" / "out")


def test_a_failed_write_leaves_the_old_report_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text_of([MARKED], tmp_path)
    old = (tmp_path / "report.tex").read_bytes()

    def refuse(*_: object) -> None:
        raise PermissionError("no")

    monkeypatch.setattr("derive.report.writing.os.replace", refuse)
    with pytest.raises(PermissionError):
        text_of([], tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["report.tex"]
    assert (tmp_path / "report.tex").read_bytes() == old


def test_a_character_without_glyph_names_itself_and_its_claim(tmp_path: Path) -> None:
    strange = replace(MARKED, remark="这")
    with pytest.raises(UnprintableCharacter, match=r"claim markId.*U\+8FD9"):
        text_of([strange], tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_malformed_formula_names_its_claim(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match="claim markId"):
        text_of([replace(MARKED, statement=r"\frac{1}{2")], tmp_path)


def test_without_tex_the_packages_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tex = tex_of([MARKED], tmp_path, {})
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TexMissing, match="latexmk texlive-xetex texlive-latex-recommended"):
        compile_pdf(tex)
    assert tex.exists()


# -- with TeX --------------------------------------------------------------------------------


def random_step(rng: random.Random) -> StepView:
    """A chain of sums and products as long as real derivations get, and longer."""

    def term(depth: int) -> str:
        index = rng.choice("abcijk")
        match rng.randrange(7 if depth else 4):
            case 0:
                return rf"g_{{{index}}} J_{{{index} c}}"
            case 1:
                return rf"\frac{{\partial L_{{{index}}}}}{{\partial x_{{{index}}}^{{({index})}}}}"
            case 2:
                return rf"\cos{{\left(\frac{{p}}{{10000^{{2{index}/d}}}} \right)}}"
            case 3:
                return rf"{rng.randrange(1, 99)} \sigma^{{2}}"
            case 4:
                return rf"\sum_{{{index}=0}}^{{{samples.D}-1}} {term(depth - 1)}"
            case 5:
                return rf"\left({term(depth - 1)} - {term(depth - 1)}\right)^{{2}}"
            case _:
                return rf"\sqrt{{{term(depth - 1)} + {term(depth - 1)}}}"

    def side() -> str:
        return " + ".join(term(3) for _ in range(rng.randrange(1, 7)))

    chain = " = ".join(side() for _ in range(rng.randrange(1, 4)))
    return StepView(chain, "some.rule_name", f"since ${term(1)} \\le {term(1)}$")


def hard_results() -> list[Result]:
    rng = random.Random(20240607)
    steps = tuple(random_step(rng) for _ in range(40))
    sums = "y = " + " + ".join(f"x_{{{i}}}" for i in range(500))
    lines = (*steps, StepView(sums, "sum.very_long"), StepView(r"\text{" + "word " * 60 + "}", ""))
    long_title = f"A claim about ${steps[0].latex}$ " * 2
    wordy = Source("a" * 90, tuple(f"B{i:02}" for i in range(40)), f"It says ${steps[1].latex}$.")
    hard = replace(
        MARKED, title=long_title, source=wordy, statement=steps[2].latex, steps=lines, id="x/" * 60
    )
    return [*samples.ALL, hard]


@needs_tex
def test_tex_sets_the_report_cleanly(tmp_path: Path) -> None:
    tex = tex_of(hard_results(), tmp_path / "with space", samples.SETTINGS)
    pdf = compile_pdf(tex)
    assert pdf.read_bytes().startswith(b"%PDF")
    log = tex.with_suffix(".log").read_text("utf-8", errors="replace")
    overfull = [float(pt) for pt in re.findall(r"Overfull \\[hv]box \(([\d.]+)pt", log)]
    assert max(overfull, default=0.0) <= 5.0
    assert "Missing character" not in log
    assert "undefined" not in log
    assert "multiply" not in log
    scaled = set(re.findall(r"report: formula scaled from ([\d.]+)pt to ([\d.]+)pt", log))
    assert all(float(after) > float(before) / 1.25 for before, after in scaled)
    assert sorted(p.suffix for p in tex.parent.iterdir()) == [".log", ".pdf", ".tex"]


@needs_tex
def test_tex_errors_end_with_the_log(tmp_path: Path) -> None:
    tex = tex_of([replace(MARKED, statement=r"\undefinedcommand x")], tmp_path, {})
    with pytest.raises(TexFailed, match="undefinedcommand"):
        compile_pdf(tex)
    assert tex.exists()


def test_a_long_outcome_is_told_in_the_table_by_the_value_of_both_sides(tmp_path: Path) -> None:
    terms = " + ".join(rf"x_{{{k}}} y_{{{k}}}" for k in range(12))
    told = {}
    for latex in (f"{terms} = 7 = z", f"{terms} = z", "a = 7 = b"):
        view = CounterexampleView({"d": "1"}, latex)
        text = text_of([replace(samples.HEADS, counterexamples=(view,))], tmp_path)
        told[latex] = "both sides are $7$" in text
    assert list(told.values()) == [True, False, False]
