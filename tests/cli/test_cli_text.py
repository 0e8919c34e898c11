"""Formulas as text, and text in columns."""

from __future__ import annotations

import pytest

from derive.plain_math import ascii_only, formula, text, value
from derive.result import CounterexampleView, Result, Source, Verdict
from derive.terminal import Style, columns, fit, verified, wrap, wrap_formula

FORMULAS = {
    r"\frac{\partial L}{\partial x_{i}} = \sum_{j=0}^{n-1} g_{j}": "∂L/∂x_i = ∑_{j=0}^{n-1} g_j",
    r"h\,\left\lfloor \frac{d_{\text{model}}}{h} \right\rfloor \ne d_{\text{model}}":
        "h ⌊d_model/h⌋ ≠ d_model",
    r"\frac{a+b}{c\,d}": "(a + b)/(c d)",
    r"\frac{1}{2} x": "(1/2) x",
    r"-\frac{1}{2}": "-1/2",
    r"\frac{\sum_{i} x_{i}}{n} + \sum_{i} \frac{x_i}{n}": "(∑_{i} x_i)/n + ∑_{i} x_i/n",
    r"\frac{1}{\frac{a}{b}}": "1/(a/b)",
    r"\frac{\frac{a}{b}}{c}": "(a/b)/c",
    r"\frac12 + \frac{a}{b}^2": "1/2 + (a/b)²",
    r"a - (b - c)": "a - (b - c)",
    r"\log\frac{a}{b}": "log(a/b)",
    r"x^{2} y_{10} z^{-1} w^{n-1}": "x² y₁₀ z⁻¹ wⁿ⁻¹",
    r"e^{a b} e^{x} e^{x_i} e^{-\frac{x^2}{2}}": "e^(a b) e^x e^(x_i) e^(-x²/2)",
    r"10000^{2i/d}": "10000^(2i/d)",
    r"W_i^Q {W^Q}^\top A^{(l)}": "W_i^Q (W^Q)ᵀ A^(l)",
    r"A_{t s} B_{i,j} C_{i d_v + c}": "A_ts B_{i,j} C_{i d_v+c}",
    r"\sqrt{x+1} \sqrt x^2 \sqrt[3]{x}": "√(x + 1) (√x)² ³√x",
    r"\left|x\right| + |y| + \lVert z \rVert_2": "|x| + |y| + ‖z‖₂",
    r"h \mid d,\ h \nmid n": "h | d, h ∤ n",
    r"\mathbb{E}\left[X | Y\right]": "𝔼[X | Y]",
    r"a \not\le b \not= c": "a ≰ b ≠ c",
    r"\hat{x}_a \bar y": "x̂_a ȳ",
    r"\sin(k\pi) \sin^{2}{\left(x \right)}": "sin(k π) sin²(x)",
    r"f(x) \quad g (x)": "f(x) g (x)",
    r"\begin{pmatrix} a & b \\ c & d \end{pmatrix}": "(a, b; c, d)",
    r"|x| = \begin{cases} x & \text{if } x \ge 0 \\ -x & \text{otherwise} \end{cases}":
        "|x| = {x if x ≥ 0; -x otherwise}",
    r"x \text{ is even, so } x^2 \text{ is}": "x is even, so x² is",
    r"\forall x \in \mathbb{R}:\ \neg (x < x)": "∀x ∈ ℝ: ¬(x < x)",
    r"a = -b, (-a)": "a = -b, (-a)",
    r"\operatorname{softmax}(z)_{i}": "softmax(z)_i",
    r"\max\left(0, x\right)": "max(0, x)",
    r"\sum_{i} 1 \ \land\  x = 2": "∑_{i} 1 ∧ x = 2",
    r"W_{i}^{\prime Q} + x^{\prime}": "W′_i^Q + x′",
    r"\lim_{h \to 0} \frac{a}{h}": "lim_{h→0} a/h",
    r"ω ≤ \omega": "ω ≤ ω",
    r"\mathbf{1}^{\top} x": "𝟏ᵀ x",
    r"\foo{x}{y} + 1": r"\foo{x}{y} + 1",
}  # fmt: skip


@pytest.mark.parametrize("latex", FORMULAS)
def test_formula(latex):
    assert formula(latex) == FORMULAS[latex]


@pytest.mark.parametrize("latex", [r"\frac{a}{b", r"a}", r"\left(x", r"\begin{cases} x", "a & b"])
def test_a_formula_that_is_not_well_formed_stays_as_it_is(latex):
    assert formula(latex) == latex


def test_text_with_formulas():
    assert text(r"the sum $\sum_b x_b$ costs \$5") == "the sum ∑_{b} x_b costs $5"
    assert text("an open $ stays") == "an open $ stays"


def test_values():
    assert value(r"\frac{1}{2}") == "1/2"
    assert value("[1, 1/2]") == "[1, 1/2]"
    assert value("the map x ↦ −x") == "the map x ↦ −x"


@pytest.mark.parametrize(
    ("shown", "plain"),
    [
        ("h ⌊d/h⌋ ≠ d", "h floor(d/h) != d"),
        ("x² y₁₀ z⁻¹", "x^2 y_10 z^-1"),
        ("√(x + 1) √x", "sqrt(x + 1) sqrt x"),
        ("a ≰ b", "a not <= b"),
        ("x̂ + ȳ", "xhat + ybar"),
        ("∀k ∈ ℤ", "for all k in Z"),
        ("ω Δ λ", "omega Delta lambda"),
        ("n×d", "n x d"),
        ("“naïve” — café…", '"naive" - cafe...'),
        ("注意力", "???"),
        ("  plain  text", "  plain  text"),
    ],
)
def test_ascii(shown, plain):
    assert ascii_only(shown) == plain


def test_no_relation_turns_into_another_one_in_ascii():
    relations = "=≠<≤≰≮>≥≱∈∉≡≈∣∤⊂⟹⟺→"
    spelled = [ascii_only(f"a {r} b").strip() for r in relations]
    assert len({*spelled, "a = b"}) == len(relations)


# ---------------------------------------------------------------------------- columns


def test_wrap():
    assert wrap("aa bb cc", "> ", "  ", 7) == ["> aa bb", "  cc"]
    assert wrap("", "  ") == [""]
    assert wrap("abcdefgh ij", "", "  ", 5) == ["abc", "  def", "  gh", "  ij"]
    assert wrap("注意力 注意", "", "", 7) == ["注意力", "注意"]
    for width in range(8, 30):
        lines = wrap("some words and averyveryverylongword " * 3, " - ", "    ", width)
        assert all(columns(line) <= width for line in lines)
        assert "".join("".join(lines).split()).replace("-", "", 1) == (
            "somewordsandaveryveryverylongword" * 3
        )


def test_formulas_break_before_relations_and_outside_of_brackets():
    assert wrap_formula("aaaa bbbb cc = dd ee", "", "  ", 18) == ["aaaa bbbb cc", "  = dd ee"]
    assert wrap_formula("f (aa + bb) + (cc + dd)", "", "  ", 21) == ["f (aa + bb)", "  + (cc + dd)"]
    assert wrap_formula("aaaa bbbb cccc dddd", "> ", "  ", 12) == ["> aaaa bbbb", "  cccc dddd"]
    assert wrap_formula("short", "1. ") == ["1. short"]
    long = "(" + " + ".join(f"x_{k} y_{k}" for k in range(40)) + ") = averyverylongword" * 3
    for width in range(12, 60):
        lines = wrap_formula(long, "- ", "   ", width)
        assert all(columns(line) <= width for line in lines)
        assert "".join("".join(lines).split())[1:] == "".join(long.split())


def test_fit():
    style = Style()
    assert fit("abc", 5, style) == "abc  "
    assert fit("abcdef", 5, style) == "abcd…"
    assert fit("abcdef", 5, Style(unicode=False)) == "ab..."
    assert columns(fit("注意力机制", 5, style)) == 5


def test_a_counterexample_that_is_wrapped_keeps_its_text():
    values = {"Q": "[[0, 1], [1, 2], [3, 5], [8, 13]]", "K": "[[0, 1], [1, 2], [3, 5], [8, 13]]"}
    example = CounterexampleView(values, "1 = 2", breaks="Q = K")
    wrong = Result(
        "a/b", "title", "topic", Source("note", ("1",), ""), "1 = 2",
        Verdict.REFUTED, Verdict.PROVED, counterexamples=(example,),
    )  # fmt: skip
    shown = " ".join(verified([wrong], Style(), seed=0, seconds=0.0).split())
    rows = "[[0, 1], [1, 2], [3, 5], [8, 13]]"
    assert f"Q = {rows}, K = {rows}; breaks the added hypothesis Q = K; gives 1 = 2" in shown


@pytest.mark.parametrize(
    ("name", "value", "parts"),
    [
        ("v", "[[[1, 2], [0, 1/2]], [[3, 0]]]", "v₀ = [[1, 2], [0, 1/2]], v₁ = [[3, 0]]"),
        ("W^{Q}", "[[[1]], [[-2]]]", "W₀^Q = [[1]], W₁^Q = [[-2]]"),
        ("T", "[[[[1]], [[2]]]]", "T_{0,0} = [[1]], T_{0,1} = [[2]]"),
        ("x_{2}", "[[[1, 0]]]", "x_{2,0} = [[1, 0]]"),
        ("J", "[[0, 1], [0, 0]]", "J = [[0, 1], [0, 0]]"),
        ("M", "[[[1, 2]", "M = [[[1, 2]"),
    ],
)  # fmt: skip
def test_a_tensor_is_shown_matrix_by_matrix(name: str, value: str, parts: str) -> None:
    example = CounterexampleView({name: value}, "1 = 2")
    wrong = Result(
        "a/b", "title", "topic", Source("note", ("1",), ""), "1 = 2",
        Verdict.REFUTED, Verdict.PROVED, counterexamples=(example,),
    )  # fmt: skip
    shown = " ".join(verified([wrong], Style(), seed=0, seconds=0.0).split())
    assert f"counterexample: {parts}; gives 1 = 2" in shown
