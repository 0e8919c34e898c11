"""The HTML page: complete, self-contained, the same for the same input, and within its budget."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import report_samples as samples
from page_reading import Outline, completed, unpacked
from test_report import MARKED

from derive.report import ReportError, lines, write_report
from derive.report.mathml import displayed, shortened
from derive.report.page import RUN_BEGIN, RUN_END
from derive.result import (
    CounterexampleView,
    HypothesisView,
    MutationView,
    Result,
    StepView,
    Verdict,
)


def page_of(
    results: Sequence[Result], out: Path, settings: Mapping[str, str] = samples.SETTINGS
) -> str:
    (path,) = write_report(results, out, settings=settings, formats=["html"])
    return path.read_text("utf-8")


def test_every_field_of_a_result_appears(tmp_path: Path) -> None:
    source = completed(page_of([MARKED], tmp_path))
    words = set(re.findall(r"\bmark[A-Z]\w*|\b10(?:07|11|14)\b", repr(MARKED)))
    assert len(words) > 20
    assert {word for word in words if word not in source} == set()
    formulas = set(re.findall(r"M_\{1\d{3}\}", repr(MARKED)))
    shown = {f"<msub><mi>M</mi><mn>{name[3:-1]}</mn></msub>" for name in formulas}
    assert {markup for markup in shown if markup not in source} == set()
    for part in (
        "△ conditional",
        "expected: refuted",
        "1.5·10⁻¹¹",
        "2.5·10⁻¹⁰",
        "1015.25",
        "Agrees",
    ):
        assert part in source


def test_links_lead_somewhere_and_targets_are_unique(tmp_path: Path) -> None:
    outline = Outline(page_of([*samples.ALL, samples.HEADS, MARKED], tmp_path))
    assert len(outline.ids) == len(set(outline.ids))
    assert {target for target in outline.targets if target[1:] not in outline.ids} == set()
    assert len(outline.targets) > 3 * len(samples.ALL)


def test_nothing_is_loaded(tmp_path: Path) -> None:
    source = page_of(samples.ALL, tmp_path)
    assert Outline(source).loaded == []
    assert re.findall(r"url\(|@import|https?://", source) == []


def test_the_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    def without_run(text: str) -> str:
        start, end = text.index(RUN_BEGIN), text.index(RUN_END)
        return text[:start] + text[end:]

    first = page_of(samples.ALL, tmp_path / "a")
    assert page_of(samples.ALL, tmp_path / "b") == first
    slower = [replace(r, seconds_symbolic=r.seconds_symbolic + 1) for r in samples.ALL]
    second = page_of(slower, tmp_path / "c", {"Python": "9"})
    assert second != first
    assert without_run(second) == without_run(first)


def test_text_is_text(tmp_path: Path) -> None:
    nasty = "<script>alert(1)</script> & \"quoted\" 'so'"
    result = replace(MARKED, title=nasty, remark=nasty, topic=nasty, source=samples.HEADS.source)
    source = page_of([result], tmp_path, {nasty: nasty})
    assert source.count("<script>") == 1
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; “quoted”" in source
    Outline(source)


def test_a_parenthesis_stays_with_the_formula_that_it_opens_before(tmp_path: Path) -> None:
    result = replace(MARKED, remark="in rows ($-Q$), not ($X$ or $Y$)")
    source = completed(page_of([result], tmp_path))
    assert "rows <math><mtext>(</mtext><mo form=prefix>−</mo><mi>Q</mi>" in source
    assert "not <math><mtext>(</mtext><mi>X</mi></math> or" in source


def test_refuted_and_conditional_come_first_with_their_counterexample(tmp_path: Path) -> None:
    source = completed(page_of(samples.ALL, tmp_path))
    table = source[source.index("<table class=entries>") :]
    table = table[: table.index("</table>")]
    assert re.findall(r"<tr><td><b class=(\w)>", table) == ["r", "c", "u", "p", "p", "n"]
    assert "<mn>9</mn><mo>≠</mo><mn>10</mn>" in table


@pytest.mark.parametrize("verdict", list(Verdict))
def test_every_verdict_has_a_sign_and_a_word(verdict: Verdict, tmp_path: Path) -> None:
    source = page_of([replace(MARKED, verdict=verdict)], tmp_path)
    article = source[source.index("<article") : source.index("</article>")]
    assert re.search(rf"<b class=\w>\S {verdict.value.replace('-', ' ')}</b>", article)


def test_a_chain_does_not_repeat_its_left_sides(tmp_path: Path) -> None:
    steps = (
        StepView("M_{1} = M_{2}", "rule"),
        StepView(r"M_{2} \le M_{3}", "rule"),
        StepView("M_{4} = M_{5}", "rule"),
    )
    source = completed(page_of([replace(MARKED, steps=steps)], tmp_path))
    assert source.count("<msub><mi>M</mi><mn>2</mn></msub>") == 1
    assert "<p class=i><math><mo>≤</mo><msub><mi>M</mi><mn>3</mn></msub></math>" in source
    assert unpacked(source)[0].count(r"M_{2} \le M_{3}") == 1  # copied as a whole


def test_only_the_commonest_rule_is_not_named_beside_a_reason(tmp_path: Path) -> None:
    rule = "linear-combination"
    steps = (
        StepView("a = b", rule, "a reason"),
        StepView("b = c", rule),
        StepView("c = d", "r", "s"),
    )
    source = page_of([replace(MARKED, steps=steps)], tmp_path)
    derivation = source[source.index("Derivation <span>") :]
    beside = [line.split("</math><p>")[1] for line in re.findall("<li>.*", derivation)[:3]]
    assert beside == ["a reason", f"<i>{rule}</i> ", "<i>r</i> s</ol></details>"]


def test_a_wide_formula_is_told_once_in_a_claim(tmp_path: Path) -> None:
    wide = "y = " + " + ".join(f"x_{{{k}}}" for k in range(40))
    steps = (StepView(wide, "rule"), StepView("z = 1", "rule"), StepView(wide, "again"))
    source = page_of([replace(MARKED, statement="s = 0", steps=steps)], tmp_path)
    assert "<p class=t>as in line 1<p>" in source
    source = page_of([replace(MARKED, statement=wide, steps=steps)], tmp_path)
    assert source.count("<p class=t>as in the statement<p>") == 2


def test_a_side_that_stands_above_is_named_where_it_means_the_same(tmp_path: Path) -> None:
    left, right, other = (" + ".join(f"{x}_{{{k}}}" for k in range(30)) for x in "xyz")
    steps = (
        StepView(rf"\forall i < n : {left} = {other}", "rule"),
        StepView(f"{left} = {other}", "rule"),
        StepView(rf"{right} \le {left}", "rule"),
        StepView("a = b", "rule"),
        StepView(f"{left} = z", "rule"),
    )
    statement = f"{left} = {right}"
    source = completed(page_of([replace(MARKED, statement=statement, steps=steps)], tmp_path))
    start = source.index("Derivation <span>")
    first, second, third, _, fifth = re.findall("<li>.*", source[start:])[:5]
    assert "side of" not in first  # there i is bound
    assert re.search("the left side of the statement (<i>)?<math><mo>=</mo><msub><mi>z", second)
    together = "<i><math><mo>≤</mo></math> the left side of the statement </i>"
    assert f"the right side of the statement {together}" in third
    assert "the left side of the statement <math><mo>=</mo><mi>z</mi></math>" in fifth
    assert unpacked(source)[0].count(f"{left} = {other}") == 1  # copied as a whole


def test_a_mistake_in_the_hypotheses_alone_leaves_the_statement(tmp_path: Path) -> None:
    wide = "y = " + " + ".join(f"x_{{{k}}}" for k in range(40))
    mutation = MutationView("the premise is left out", wide)
    source = page_of([replace(MARKED, statement=wide, steps=(), mutations=(mutation,))], tmp_path)
    assert "<li><p class=t>as in the statement<p>the premise is left out" in source


def test_a_formula_that_claims_share_stands_once(tmp_path: Path) -> None:
    wide = "y = " + " + ".join(f"x_{{{k}}} z_{{{k}}}" for k in range(40))
    shared = HypothesisView(wide, "source", True)
    first = replace(MARKED, id="one/first", hypotheses=(shared,), steps=())
    second = replace(MARKED, id="two/second", hypotheses=(shared,), steps=())
    source = page_of([first, second], tmp_path)
    markup = shortened(displayed(wide)[0])
    assert source.count(markup) == 1
    (key, named), *others = re.findall("<p class=g><a href=#(f[0-9]+)>([^\n]*)</a>", source)
    assert others == []
    assert named == "as in hypothesis H1 of one/first"
    assert source.count(f"id={key}") == 1
    assert f" id={key}>{markup}" in source or f" id={key} tabindex" in source
    assert unpacked(source)[0].count(wide) == 2  # both can be copied
    Outline(source)


def test_what_is_copied_is_the_latex_of_every_formula_in_order(tmp_path: Path) -> None:
    source = page_of(samples.ALL, tmp_path)
    formulas, _ = unpacked(source)
    in_rows = re.findall(r"<li><p(?! class=t)|<math></p>", source)
    assert len(re.findall(r"<p class=f>", source)) + len(in_rows) == len(formulas)
    ordered = [samples.RESIDUAL.statement, *(h.latex for h in samples.RESIDUAL.hypotheses)]
    start = formulas.index(ordered[0])
    assert formulas[start : start + len(ordered)] == ordered


_PACKED = r"<p class=(?:z|'(?:f )?z(?: i)?')>"


def test_a_heavy_page_packs_its_longest_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = page_of(samples.ALL, tmp_path)
    assert unpacked(full)[1] == []
    budget = len(full.encode()) - 4000
    monkeypatch.setattr(lines, "BUDGET_BYTES", budget)
    light = page_of(samples.ALL, tmp_path)
    assert len(light.encode()) <= budget
    packed = unpacked(light)[1]
    assert 0 < len(packed) == len(re.findall(_PACKED, light)) < 12
    assert min(map(len, packed)) > 400
    assert all(markup in full and markup not in light for markup in packed)
    texts = re.findall(f"{_PACKED}([^<\n]+)", light)
    assert len(texts) == len(packed)
    assert all("\\" not in text for text in texts)
    assert any("∑_{a=0}^{d_model−1} g_a (δ_ac + J_ac)" in text for text in texts)
    assert f"<p class=f>{shortened(displayed(samples.HEADS.statement)[0])}\n" in light
    Outline(light)
    slow = [replace(r, seconds_symbolic=12345.0) for r in samples.ALL]
    assert unpacked(page_of(slow, tmp_path))[1] == packed, "times are not counted"
    monkeypatch.setattr(lines, "BUDGET_BYTES", 1)
    lightest = page_of(samples.ALL, tmp_path)
    assert len(unpacked(lightest)[1]) == len(unpacked(lightest)[0])
    assert unpacked(lightest)[0] == unpacked(full)[0]


def test_what_stands_elsewhere_is_linked_to_before_anything_is_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left, right, new = (" + ".join(f"{x}_{{{k}}}" for k in range(40)) for x in "xyz")
    mistake = MutationView("a mistake", rf"{left} = {right} \land {new} = {right}")
    result = replace(MARKED, statement=rf"{left} = {right}", steps=(), mutations=(mistake,))
    full = page_of([result], tmp_path)
    monkeypatch.setattr(lines, "BUDGET_BYTES", len(full.encode()) - 100)
    light = completed(page_of([result], tmp_path))
    (key,) = re.findall("<p class=f id=(f[0-9]+)", light)
    (packed,) = re.findall("<p class=z>(.*)<p>a mistake", light)
    assert packed.startswith(f"<a href=#{key}>the statement</a> <i><math><mo>∧</mo><msub>")
    last = f"<i><math><mo>=</mo></math> <a href=#{key}>the right side of the statement</a> </i>"
    assert packed.endswith(last)
    assert packed.count("<mi>z</mi>") == 40
    assert unpacked(light) == (unpacked(full)[0], [shortened(displayed(mistake.statement)[0])])


def test_an_empty_report_is_a_page(tmp_path: Path) -> None:
    assert "No claims were selected." in page_of([], tmp_path)


def test_a_malformed_formula_names_its_claim_and_leaves_the_old_page(tmp_path: Path) -> None:
    old = page_of([MARKED], tmp_path)
    for wrong in (r"\frac{1}{2", r"\undefinedcommand x"):
        with pytest.raises(ReportError, match="claim markId"):
            page_of([replace(MARKED, statement=wrong)], tmp_path)
    assert (tmp_path / "report.html").read_text("utf-8") == old
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_no_format_is_replaced_if_one_cannot_be_made(tmp_path: Path) -> None:
    write_report([MARKED], tmp_path, settings={})
    old = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert len(old) == 2
    with pytest.raises(ReportError):
        write_report([replace(MARKED, statement=r"\nosuch x")], tmp_path, settings={})
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == old


def test_many_claims_give_the_same_in_two_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def written(folder: Path) -> list[bytes]:
        paths = write_report(samples.ALL, folder, settings=samples.SETTINGS)
        return [path.read_bytes() for path in paths]

    alone = written(tmp_path / "a")
    monkeypatch.setattr("derive.report.writing._MANY", 2)
    assert written(tmp_path / "b") == alone


def test_a_value_that_is_a_list_is_a_row(tmp_path: Path) -> None:
    example = CounterexampleView({"x": "[1, 2]", "M": "[[1, 0], [0, 1]]"}, "1 \\neq 2")
    source = completed(page_of([replace(MARKED, counterexamples=(example,))], tmp_path))
    assert "<mtr><mtd><mn>1</mn></mtd><mtd><mn>0</mn></mtd></mtr>" in source
