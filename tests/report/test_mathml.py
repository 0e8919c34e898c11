"""Formulas as MathML: well formed, nothing left over or lost, cut so that phones show them."""

from __future__ import annotations

import random
import re
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from page_reading import completed
from test_breaking import AROUND, random_formula

from derive.report import MathSyntax
from derive.report.mathml import NARROW_EM, displayed, inline, is_narrow, shortened
from derive.report.pieces import width
from derive.report.reading import read

seeded = settings(derandomize=True, deadline=None, max_examples=60)
FORMULAS = st.integers(0, 2**32 - 1).map(lambda n: random_formula(random.Random(n), AROUND))


def parsed(markup: str) -> ElementTree.Element:
    """The markup as XML, in which attributes have quotes."""
    quoted = re.sub(r'(<[^>]*?\s[a-z]+=)([^\s">]+)', r'\1"\2"', markup)
    while quoted != markup:
        markup, quoted = quoted, re.sub(r'(<[^>]*?\s[a-z]+=)([^\s">]+)', r'\1"\2"', quoted)
    return ElementTree.fromstring(f"<r>{markup}</r>")


def text(markup: str) -> str:
    return "".join(parsed(markup).itertext())


@seeded
@given(FORMULAS)
def test_every_formula_is_well_formed(latex: str) -> None:
    root = parsed(displayed(latex)[0])
    assert {element.tag for element in root} <= {"math", "i"}
    assert "\\" not in "".join(root.itertext())


def test_the_number_of_children_is_that_of_mathml() -> None:
    wanted = {"msub": 2, "msup": 2, "msubsup": 3, "mfrac": 2, "munderover": 3, "munder": 2}
    rng = random.Random(7)
    for _ in range(60):
        for element in parsed(displayed(random_formula(rng, AROUND))[0]).iter():
            assert len(element) == wanted.get(element.tag, len(element))


def test_brackets_that_stand_in_different_lines_are_signs() -> None:
    summand = "a_{i} + " * 30
    for left, right, signs in (
        (r"\langle", r"\rangle", "⟨⟩"),
        (r"\{", r"\}", "{}"),
        ("(", ")", "()"),
    ):
        shown = text(displayed(rf"\left{left} {summand} b \right{right} = c")[0])
        assert shown.startswith(signs[0])
        assert signs[1] in shown


@pytest.mark.parametrize(
    ("latex", "markup"),
    [
        (r"d_{\text{model}}", "<msub><mi>d</mi><mi>model</mi></msub>"),
        (
            r"\left(x\right)^{2}",
            "<mtext>(</mtext><mi>x</mi><msup><mtext>)</mtext><mn>2</mn></msup>",
        ),
        (
            r"\left(\frac{a}{b}\right)^{2}",
            "<msup><mrow><mo>(</mo><mfrac><mi>a</mi><mi>b</mi></mfrac><mo>)</mo></mrow>"
            "<mn>2</mn></msup>",
        ),
        (r"f(x)", "<mi>f</mi><mtext>(</mtext><mi>x</mi><mtext>)</mtext>"),
        (r"\mathrm{ReLU}", "<mi>ReLU</mi>"),
        (r"\mathbf{1}", "<mn>𝟏</mn>"),
        (r"\operatorname{Cov}", "<mi>Cov</mi>"),
        (r"\lVert x \rVert", "<mtext>‖</mtext><mi>x</mi><mtext>‖</mtext>"),
        (r"a < b", "<mi>a</mi><mo>&lt;</mo><mi>b</mi>"),
        (r"\partial f", "<mtext>∂</mtext><mi>f</mi>"),
        (
            r"\overline{g \odot x}",
            "<mrow style='border-top:.06em solid'><mrow><mi>g</mi><mo>⊙</mo><mi>x</mi></mrow>"
            "</mrow>",
        ),
        (r"-1 < -x", "<mo>−</mo><mn>1</mn><mo>&lt;</mo><mo form=prefix>−</mo><mi>x</mi>"),
        (r"x - 1", "<mi>x</mi><mo>−</mo><mn>1</mn>"),
        (r"(-x)", "<mtext>(</mtext><mo form=prefix>−</mo><mi>x</mi><mtext>)</mtext>"),
        (
            r"f \text{ is smooth at } x",
            "<mi>f</mi><mtext>\xa0is\xa0smooth\xa0at\xa0</mtext><mi>x</mi>",
        ),
        (
            r"\big| x",
            "<mo minsize=1.2em maxsize=1.2em lspace=0 rspace=0>|</mo><mi>x</mi>",
        ),
        (r"1/4", "<mn>1</mn><mtext>/</mtext><mn>4</mn>"),
        (r"\mathit{pos}", "<mi>𝑝𝑜𝑠</mi>"),
        (r"f'(x)", "<mi>𝑓′</mi><mtext>(</mtext><mi>x</mi><mtext>)</mtext>"),
        (
            r"\partial f/\partial x",
            "<mtext>∂</mtext><mi>f</mi><mtext>/</mtext><mtext>∂</mtext><mi>x</mi>",
        ),
        (
            r"a = |-x|-y",
            "<mi>a</mi><mo>=</mo><mtext>|</mtext><mo form=prefix>−</mo><mi>x</mi><mtext>|</mtext>"
            "<mo>−</mo><mi>y</mi>",
        ),
        (r"(uv)'", "<mtext>(</mtext><mi>u</mi><mi>v</mi><mtext>)′</mtext>"),
        (r"\sin'", "<mi>sin′</mi>"),
        (r"-\infty", "<mo>−</mo><mi>∞</mi>"),
        (r"n \in \mathbb Z", "<mi>n</mi><mo>∈</mo><mi>ℤ</mi>"),
        (r"\lfloor x \rfloor", "<mtext>⌊</mtext><mi>x</mi><mtext>⌋</mtext>"),
        (r"d_{k}^{\prime}", "<msub><mi>𝑑′</mi><mi>k</mi></msub>"),
        (r"W_{i}^{\prime Q}", "<msubsup><mi>𝑊′</mi><mi>i</mi><mi>Q</mi></msubsup>"),
        (
            r"\mathbb{E}[x]",
            "<mi>𝔼</mi><mtext>[</mtext><mi>x</mi><mtext>]</mtext>",
        ),
        (
            r"\sum_{i=0}^{n-1} x_{i}",
            "<munderover><mo>∑</mo><mi>𝑖=0</mi><mi>𝑛−1</mi></munderover>"
            "<msub><mi>x</mi><mi>i</mi></msub>",
        ),
        (r"W_{h\,a\,b}", "<msub><mi>W</mi><mi>ℎ𝑎𝑏</mi></msub>"),
        (r"x^{\alpha+1}", "<msup><mi>x</mi><mi>𝛼+1</mi></msup>"),
        (
            r"x^{d_{k}-1}",
            "<msup><mi>x</mi><mrow><msub><mi>d</mi><mi>k</mi></msub><mn>−1</mn></mrow></msup>",
        ),
    ],
)  # fmt: skip
def test_markup(latex: str, markup: str) -> None:
    assert displayed(latex) == (f"<math>{markup}</math>", False)
    assert inline(latex) == f"<math>{markup}</math>"


@seeded
@given(FORMULAS)
def test_an_html_parser_reads_the_same_without_the_end_tags_that_others_imply(latex: str) -> None:
    markup, _ = displayed(latex)
    short = shortened(markup)
    assert completed(short) == markup.replace("</mtext><mtext>", "")
    assert not re.search("</mi></m(?!i)", short)


@pytest.mark.parametrize(
    ("markup", "short"),
    [
        ("<math><mi>x</mi></math><math><mn>1</mn></math>", "<math><mi>x</math><math><mn>1</math>"),
        (
            "<msup><mrow><msup><mi>x</mi><mrow><mi>y</mi></mrow></msup></mrow><mn>2</mn></msup>",
            "<msup><mrow><msup><mi>x</mi><mrow><mi>y</msup></mrow><mn>2</msup>",
        ),
        (
            "<msup><mi>x</mi><msup><mi>y</mi><mn>2</mn></msup></msup>",
            "<msup><mi>x</mi><msup><mi>y</mi><mn>2</msup></msup>",
        ),
    ],
)
def test_of_two_ends_of_one_name_both_stay(markup: str, short: str) -> None:
    assert shortened(markup) == short


def long_sum(terms: int) -> str:
    return "y = " + " + ".join(f"x_{{{k}}} z_{{{k}}}" for k in range(terms))


def test_a_wide_formula_is_cut_into_narrow_parts_in_order() -> None:
    latex = long_sum(30)
    markup, wide = displayed(latex)
    assert not wide
    assert markup.count("<math>") > 5
    assert re.findall("</math><math><mo[^>]*>.", markup) == [
        "</math><math><mo>=",
        *["</math><math><mo form=infix>+"] * (markup.count("<math>") - 2),
    ]
    assert text(markup).replace("+", " ") == text(inline(latex)).replace("+", " ")
    assert [int(k) for k in re.findall(r"x(\d+)z", text(markup))] == list(range(30))


@seeded
@given(FORMULAS)
def test_only_what_cannot_be_cut_is_wide(latex: str) -> None:
    _, wide = displayed(latex)
    assert not wide or any(piece.em > NARROW_EM / 3 for piece in read(latex))
    assert wide <= (not is_narrow(latex))


def test_groups_keep_together_what_binds_more_closely() -> None:
    left = " + ".join(f"a_{{{k}}}" for k in range(12))
    right = " + ".join(f"b_{{{k}}}" for k in range(12))
    markup, _ = displayed(f"{left} = {right}")
    groups = [text(ElementTree.tostring(g, "unicode")) for g in parsed(markup)]
    assert [group[0] for group in groups] == ["a", "="]
    assert width(read(left)) > NARROW_EM


def test_a_short_left_side_stays_with_its_relation() -> None:
    root = parsed(displayed(long_sum(12))[0])
    assert [element.tag for element in root] == ["i"]


def test_words_keep_their_distance_when_the_formula_is_cut() -> None:
    tall = r"\left(\gamma \frac{x_{a} - \mu}{s} + \beta + \delta + \epsilon + \zeta\right)_{a}"
    assert text(inline(rf"L \text{{ is smooth at }} {tall}")).startswith(
        "L\xa0is\xa0smooth\xa0at\xa0("
    )


def test_a_split_fence_has_delimiters_of_one_size() -> None:
    inner = " + ".join(f"x_{{{k}}}" for k in range(20))
    markup, _ = displayed(rf"\left({inner}\right)^{{2}}")
    sizes = re.findall(r"<mo minsize=([\d.]+em) maxsize=\1>[()]", markup)
    assert len(sizes) == 2
    assert len(set(sizes)) == 1


def test_what_the_converter_does_not_know_is_refused_by_name() -> None:
    with pytest.raises(MathSyntax, match=r"\\nosuchcommand"):
        displayed(r"\nosuchcommand + 1")


def test_a_closing_delimiter_with_an_exponent_keeps_its_size_when_its_pair_is_split() -> None:
    terms = " + ".join(rf"\sum_{{i=0}}^{{n-1}} x_{{{k}i}}" for k in range(12))
    text, _ = displayed(rf"\left({terms}\right)^{{2}}")
    assert re.search("<msup><mrow><mo minsize=2.5em maxsize=2.5em>\\)</mo></mrow><mn>2</mn>", text)


def test_what_is_broad_is_grouped_again_so_that_lines_begin_with_its_connectives() -> None:
    parts = [rf"\left({' + '.join(f'{x}_{{{k}}}' for k in range(12))}\right) = 0" for x in "abc"]
    joined = r" \wedge ".join(parts)
    (whole,) = parsed(displayed(rf"p = q \Rightarrow {joined}")[0])
    firsts = [text(ElementTree.tostring(branch, "unicode"))[0] for branch in whole]
    assert firsts == ["p", "⇒", "∧", "∧"]
    assert [branch.tag for branch in whole] == ["math", "i", "i", "i"]


def test_a_short_last_factor_does_not_stand_on_a_line_alone() -> None:
    factors = " ".join(rf"\frac{{a_{{{k}}} + b + c + d + e + f + g + h}}{{2}}" for k in range(5))
    (whole,) = parsed(displayed(rf"y = {factors} v_{{t}}")[0])
    assert [part.tag for part in whole][-1] == "i"
    assert text(ElementTree.tostring(whole[-1][-1], "unicode")) == "·vt"


def test_what_is_broad_in_a_fraction_stands_in_rows_that_are_the_same_in_one() -> None:
    terms = [f"x_{{{k}}} z_{{{k}}}" for k in range(12)]
    markup, wide = displayed(rf"y = \frac{{{' + '.join(terms)}}}{{d_{{k}}}}")
    (fraction,) = parsed(markup).iter("mfrac")
    rows, below = fraction
    assert wide
    assert below.tag == "msub"
    assert (rows.tag, rows.attrib) == ("mtable", {"class": "k"})
    assert len(rows) > 1
    cells = [cell for (cell,) in rows]
    assert [cell[0].attrib for cell in cells[1:]] == [{"form": "infix"}] * (len(rows) - 1)
    assert "".join("".join(cell.itertext()) for cell in cells) == text(inline(" + ".join(terms)))


@pytest.mark.parametrize("latex", [r"\frac{a + b}{2}", rf"\frac{{{'x' * 60}}}{{2}}^{{3}}"])
def test_other_fractions_stand_as_they_are(latex: str) -> None:
    assert "mtable" not in displayed(latex)[0]


def test_a_part_that_goes_on_with_a_factor_begins_with_the_sign_of_the_product() -> None:
    factors = [rf"\frac{{a_{{{k}}} + b + c + d + e + f + g + h}}{{2}}" for k in range(4)]
    shown = displayed(" ".join(factors))[0]
    starts = [re.sub("<[^>]*>", "", part)[0] for part in shown.split("<math>")[1:]]
    assert starts == [*"a···"]
    assert "·" not in displayed(" + ".join(factors))[0]
    assert "·" not in displayed(" ".join(factors[:1]))[0]


def test_what_separates_and_what_is_left_out_have_space_on_one_side() -> None:
    assert "<mo>;</mo>" in inline("x ; y")
    assert "<mi>…</mi>" in inline(r"0, \ldots, n")


def test_a_function_behind_a_bracket_stands_apart() -> None:
    assert "<mtext>)\u2009</mtext><mi>cos</mi>" in inline(r"(x) \cos y")
    assert "\u2009" not in inline(r"(x) y")
