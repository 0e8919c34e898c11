"""Plain text with inline math: what is escaped, kept, mapped, refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from derive.report import MathSyntax, TextSyntax, UnprintableCharacter
from derive.report.text import escape, lines_at_most, lines_of_text, plain, set_code, set_text
from derive.report.tokens import tokenize
from derive.report.values import assignment, number

ROOM = 40.0


@pytest.mark.parametrize(
    ("char", "latex"),
    [
        ("&", r"\&"),
        ("%", r"\%"),
        ("#", r"\#"),
        ("_", r"\_"),
        ("{", r"\{"),
        ("}", r"\}"),
        ("~", r"\textasciitilde{}"),
        ("^", r"\textasciicircum{}"),
        ("\\", r"\textbackslash{}"),
        ("`", r"\textasciigrave{}"),
    ],
)
def test_special_characters_print_as_themselves(char: str, latex: str) -> None:
    assert escape(f"a{char}b") == f"a{latex}b"


def test_a_percent_sign_stays_with_its_number() -> None:
    assert escape("3.0 % off, a %") == r"3.0~\% off, a \%"


def test_formulas_that_are_not_broken_may_take_more_lines() -> None:
    text = "square and sum: $a + b + c + d = 0$, $a + b + c + e = 1$"
    assert (lines_of_text(text, 12.0), lines_at_most(text, 12.0)) == (2, 3)
    assert lines_at_most("两行，", 2.0) == 2
    assert lines_at_most("", 2.0) == 0


def test_letters_with_accents_stay() -> None:
    assert escape("naïve Gauß – “Łódź”…") == "naïve Gauß – “Łódź”…"
    assert escape("nai\u0308ve") == "naïve"


def test_mathematical_characters_go_into_math() -> None:
    assert escape("α ≤ ∞") == r"$\alpha$ $\leq$ $\infty$"
    assert tokenize("α≤x²") == [r"\alpha", r"\leq", "x", "^", "{", "2", "}"]
    assert "".join(tokenize(r"\text{a ≤ b}")) == r"\text{a $\leq$ b}"


@pytest.mark.parametrize("text", ["中", "emoji 🙂", "\x07"])
def test_other_characters_are_refused_by_name(text: str) -> None:
    with pytest.raises(UnprintableCharacter, match=f"U\\+{ord(text[-1]):04X}"):
        escape(text)


def test_quotes_are_curled() -> None:
    assert escape('the "+1" ("key")') == "the “+1” (“key”)"


def test_math_is_not_escaped_and_dollars_can_be() -> None:
    assert set_text(r"5\$ for $a_{1}$ & more", ROOM) == r"5\$ for $a_{1}$ \& more"


def test_identifiers_stand_between_backticks() -> None:
    assert set_text("the array `w_q`, not ` alone", ROOM) == (
        r"the array \code{w\_q}, not \textasciigrave{} alone"
    )
    assert plain("The array `w_q`") == r"The array w\_q"
    assert set_text("by feed_forward_vjp, $x_a$", ROOM) == r"by \code{feed\_forward\_vjp}, $x_a$"


def test_an_open_dollar_is_refused() -> None:
    with pytest.raises(TextSyntax, match="not closed"):
        set_text("half $a", ROOM)


def test_math_wider_than_the_column_gets_its_own_lines() -> None:
    wide = "+".join(f"{{x_{{{i}}} y_{{{i}}} z_{{{i}}}}}" for i in range(3)) + "w" * 60
    assert r"\newline \fitmath{" in set_text(f"so ${wide}$.", 12.0)


def test_bookmarks_are_free_of_tex() -> None:
    assert plain(r"Width $d_{\text{model}} \le 3$ & 50%") == r"Width d\_model le 3 \& 50\%"


def test_code_can_break_at_separators_and_in_long_runs() -> None:
    assert set_code("sum.of_delta_and_x") == (
        r"\code{sum.\allowbreak{}of\_\allowbreak{}delta\_\allowbreak{}and\_\allowbreak{}x}"
    )
    assert set_code("a" * 20) == rf"\code{{{'a' * 16}\allowbreak{{}}aaaa}}"


def test_short_code_is_not_broken() -> None:
    assert set_code("k.shape[-1]") == r"\code{k.shape[-1]}"
    assert r"\allowbreak" not in set_text("with `axis=-1`", ROOM)


@given(st.text(alphabet=st.sampled_from("ab &%#_{}~^\\`é≤α\"'")))
def test_escaped_text_has_balanced_braces(text: str) -> None:
    latex = escape(text).replace(r"\{", "").replace(r"\}", "")
    assert latex.count("{") == latex.count("}")
    assert latex.count("$") % 2 == 0


def test_values() -> None:
    assert assignment({"d_model": "10", "h": "1/3"}) == r"$d_{\text{model}} = 10$, $h = 1/3$"
    assert assignment({"v": "[1, -1/2]"}) == r"$v = \left(1, -1/2\right)$"
    matrix = r"\left(\begin{smallmatrix} 1 & 0 \\ 0 & -1 \end{smallmatrix}\right)"
    assert assignment({"J": "[[1, 0], [0, -1]]"}) == f"$J = {matrix}$"
    assert assignment({"K": "[[1/2]]"}) == r"$K = \left(1/2\right)$"
    assert assignment({"x": r"\sqrt{2}"}) == r"$x = \sqrt{2}$"
    assert assignment({"N": "10**6"}) == "$N = 10^{6}$"
    assert assignment({"F": "the map x"}) == "$F =$ the map x"


def test_numbers() -> None:
    assert number(0.0) == "$0$"
    assert number(3.64e-13) == r"$3.6 \cdot 10^{-13}$"
    assert number(1e-12) == "$10^{-12}$"
    assert number(0.25) == "$0.25$"
    assert number(float("nan")) == "nan"


@pytest.mark.parametrize("latex", ["x % y", "a # b", "$x$", "\\mathcal{l}", r"\mathbb{x}", "a\\"])
def test_formulas_that_tex_would_misread_are_refused(latex: str) -> None:
    with pytest.raises(MathSyntax):
        tokenize(latex)


def test_the_indicator_one_is_bold() -> None:
    assert "".join(tokenize(r"\mathbb{1} \mathbb 1")) == r"\mathbf{1} \mathbf{1}"


def test_a_list_of_matrices_shows_its_matrices() -> None:
    first, second = (
        rf"\left(\begin{{smallmatrix}} {body} \end{{smallmatrix}}\right)"
        for body in (r"1 \\ 0", r"0 \\ 1/2")
    )
    value = "[[[1], [0]], [[0], [1/2]]]"
    assert assignment({"W": value}) == rf"$W = \left({first}, {second}\right)$"


@pytest.mark.parametrize("value", ["[[[1, 2]], [[1]]]", "[[1], [[2]]]", "[[1, 2], [3]]", "[[]]"])
def test_a_list_that_is_no_array_is_shown_as_it_is(value: str) -> None:
    assert assignment({"W": value}) == f"$W =$ {value}"
