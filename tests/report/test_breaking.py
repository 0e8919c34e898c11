"""Breaking formulas: no token is lost or moved, lines fit, breaks stand where authors put them."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from derive.report import MathSyntax
from derive.report.breaking import Broken, break_lines
from derive.report.formulas import displayed, inline
from derive.report.pieces import source_of, width
from derive.report.reading import read
from derive.report.tokens import tokenize

D = r"d_{\text{model}}"
ATOMS = ["x", "g_a", "x_{i}^{2}", r"\alpha", "12", "f'", r"\text{ for all } i", r"\hat{x}", "n!"]
SIGNS = ["+", "-", r"\cdot", "", ",", r"\,", r"\quad", "=", r"\le", r"\implies"]
AROUND = [
    r"\left(%s\right)",
    r"\left\{%s\right\}^{2}",
    "(%s)",
    rf"\sum_{{a=0}}^{{{D}-1}} %s",
    r"\frac{%s}{2}",
    r"\sqrt{%s}",
    r"\begin{pmatrix} %s & 1 \\ 0 & 1 \end{pmatrix}",
]


def random_formula(rng: random.Random, around: list[str], depth: int = 4) -> str:
    """A formula of random shape; `around` are the constructs that may hold another one."""
    if depth == 0 or rng.random() < 0.25:
        return rng.choice(ATOMS)
    if rng.random() < 0.5:
        return rng.choice(around) % random_formula(rng, around, depth - 1)
    terms = [random_formula(rng, around, depth - 1) for _ in range(rng.randrange(2, 5))]
    return f" {rng.choice(SIGNS)} ".join(terms)


SEEDS = st.integers(0, 2**32 - 1).map(random.Random)
FORMULAS = SEEDS.map(lambda rng: random_formula(rng, AROUND))
FLAT_FORMULAS = SEEDS.map(lambda rng: random_formula(rng, AROUND[:-1]))
ROOMS = st.floats(min_value=4.0, max_value=50.0)
seeded = settings(derandomize=True, deadline=None)


def solid(latex: str) -> list[str]:
    return [token for token in tokenize(latex) if token != " "]


def lines_of(broken: Broken) -> list[float]:
    left = width(broken.left_side)
    return [left + line.indent + width(line.pieces) for line in broken.lines]


@seeded
@given(FORMULAS)
def test_reading_keeps_every_token(latex: str) -> None:
    assert solid(source_of(read(latex))) == solid(latex)


@seeded
@given(FORMULAS, ROOMS)
def test_breaking_keeps_every_piece_in_order(latex: str, room: float) -> None:
    pieces = read(latex)
    broken = break_lines(pieces, room)
    kept = [*broken.left_side, *[piece for line in broken.lines for piece in line.pieces]]
    assert kept == pieces


@seeded
@given(FLAT_FORMULAS, ROOMS)
def test_displayed_text_has_the_same_tokens(latex: str, room: float) -> None:
    shown = " ".join(_without_layout(block) for block in displayed(latex, room))
    assert _comparable(shown) == _comparable(latex)


def test_a_line_that_goes_on_with_a_factor_begins_with_the_sign_of_the_product() -> None:
    """On one line nothing stands between factors; a derivative has an argument, no factor."""
    sums = [
        rf"\sum_{{{i}=0}}^{{n-1}} \frac{{a_{{{i}}} + b_{{{i}}} + c}}{{d_{{{i}}}}}" for i in "ijk"
    ]
    (block,) = displayed(" ".join(sums), 8.0)
    assert [row.count(r"\cdot") for row in block.splitlines()[1:-1]] == [0, 1, 1]
    assert r"\cdot" not in displayed(" ".join(sums), 80.0)[0]
    signed = displayed(" + ".join(sums), 8.0)[0]
    assert r"\cdot" not in signed
    assert len(signed.splitlines()) == 5
    slope = rf"\frac{{\partial}}{{\partial x}} {sums[0]}"
    assert r"\cdot" not in displayed(slope, 4.0)[0]


def _without_layout(block: str) -> str:
    """What stands on the lines of a block, without alignment and indentation."""
    if "aligned" not in block:
        return block
    rows = [row.removesuffix(r" \\") for row in block.splitlines()[1:-1]]
    return " ".join(_row_without_layout(row) for row in rows)


def _row_without_layout(row: str) -> str:
    left, _, rest = row.partition("& ")
    left = "" if left.startswith(r"\phantom") else left
    return left + re.sub(r"^\\hspace\{[0-9.]+em\} \{\} ", "", rest)


def _comparable(latex: str) -> list[str]:
    """Tokens, with fences of every size alike, texts side by side joined, and without the sign that
    a product gets at the beginning of a line.
    """
    fences = re.sub(r"\\(?:left|right|(?:big|Big|Bigg)[lr])(?![A-Za-z])", " FENCE ", latex)
    plain = re.sub(r"\\mathclose\{\}|\\cdot(?![A-Za-z])", "", fences)
    return solid(re.sub(r"\s*\}\s*\\text\{\s*", " ", plain))


@seeded
@given(FORMULAS, ROOMS)
def test_a_fence_is_fixed_exactly_when_a_break_splits_it(latex: str, room: float) -> None:
    broken = break_lines(read(latex), room)
    parts = [broken.left_side + broken.lines[0].pieces, *[line.pieces for line in broken.lines[1:]]]
    for part in parts:
        source = source_of(part, broken.fences)
        assert len(re.findall(r"\\left(?![a-z])", source)) == len(
            re.findall(r"\\right(?![a-z])", source)
        )


@seeded
@given(st.lists(st.sampled_from(ATOMS), min_size=2, max_size=60), ROOMS)
def test_lines_of_a_sum_fit(terms: list[str], room: float) -> None:
    broken = break_lines(read(" + ".join(terms)), max(room, 8.0))
    assert all(em <= max(room, 8.0) + 1e-9 for em in lines_of(broken))


def test_what_fits_is_not_broken() -> None:
    assert displayed("a = b + c", 20.0) == ["a = b + c"]


def test_relations_are_aligned_one_a_line() -> None:
    chain = r"y_c = \sum_{a=0}^{d-1} g_a J_{a c} + g_c = g_c + z_{c} + z_{d} \le w_{c} + v_{c}"
    (block,) = displayed(chain, 14.0)
    rows = block.splitlines()[1:-1]
    assert rows[0].startswith("y_c & =")
    assert [row.split()[1] for row in rows[1:]] == ["=", r"\le"]


def test_sums_break_before_the_sign_outside_parentheses() -> None:
    formula = r"x = \left(a_{1} + a_{2} + a_{3}\right) b + \left(a_{4} + a_{5} + a_{6}\right) c"
    broken = break_lines(read(formula), 12.0)
    assert broken.fences == frozenset()
    assert broken.lines[1].pieces[0].source == "+"


def lines_at(formula: str, room: float) -> list[str]:
    broken = break_lines(read(formula), room)
    first, *rest = [re.sub(r"(\s|\\ )+$", "", source_of(line.pieces)) for line in broken.lines]
    return [f"{source_of(broken.left_side)} {first}".strip(), *rest]


PAIR = r"\mathrm{PE}_{2\,i} = \sin(x) \ \land\  \mathrm{PE}_{2\,i+1} = \cos(x)"


def test_conjunctions_break_between_their_parts() -> None:
    for room in (13.0, 14.0, 16.0):
        first, second = lines_at(PAIR, room)
        assert first.endswith(r"\sin ( x )")
        assert second.startswith(r"\land")


def test_conjuncts_with_short_left_sides_stay_with_their_relation() -> None:
    sums = [r"\sum_{i=0}^{h-1} \;\sum_{c=0}^{d-1} 1" + f"+x_{{{k}}}" for k in range(6)]
    formula = r" \ \land\  ".join(f"M_{{{k}}} = {term}" for k, term in enumerate(sums))
    for arrow in ("", r" \ \Rightarrow\  x_{1} = y_{1}"):
        for room in (17.0, 21.0, 27.0, 35.0):
            starts = {line.split()[0] for line in lines_at(formula + arrow, room)[1:]}
            assert starts <= {r"\land", r"\Rightarrow"}


def test_implications_break_before_the_arrow_then_between_conjuncts() -> None:
    formula = PAIR + r" \ \Rightarrow\  \mathrm{PE}_{0} < t"
    assert [line.split()[0] for line in lines_at(formula, 16.0)[1:]] == [r"\land", r"\Rightarrow"]
    assert lines_at(formula, 22.0)[-1].startswith(r"\Rightarrow")
    inside = rf"\neg \left({formula}\right)"
    assert [line.split()[0] for line in lines_at(inside, 16.0)[1:]] == [r"\land", r"\Rightarrow"]


def test_no_break_between_a_quantifier_and_its_colon() -> None:
    prefix = r"\forall x \in \mathbb{R}:\ \forall a < d_{\text{model}}:\ "
    formula = prefix + r"\mathrm{PE}_{a} \le \mathrm{PE}_{a}+\mathrm{PE}_{x}"
    for room in (8.0, 10.0, 13.0, 16.0):
        for line in lines_at(formula, room):
            assert line.count(":") == line.count(r"\forall")
    assert r"{\forall a < d_{\text{model}} :}\allowbreak" in inline(formula, 20.0)


def test_a_short_left_side_stays_with_its_relation_behind_a_quantifier() -> None:
    formula = r"\forall i < h:\ \forall t < n:\ A_{i\,t} = x_{1}+x_{2}"
    for room in (12.0, 14.0):
        assert lines_at(formula, room)[1].startswith("A_{i\\,t} =")


def test_a_quantifier_without_a_colon_is_a_sign() -> None:
    assert [p.source for p in read(r"\forall i, x := 2")] == [
        *(r"\forall", "i", ",", "x", ":=", "2")
    ]


def test_lists_of_equations_break_after_commas() -> None:
    for formula in (
        r"\sin k\pi = 0, \ \cos k\pi = (-1)^{k}, \ \cos(k\pi + x) = 0",
        r"\sin' = \cos, \ \cos' = -\sin, \ \tan' = 1 + \tan^{2}",
    ):
        lines = lines_at(formula, 12.0)
        assert len(lines) == 3
        assert [line[-1] for line in lines[:-1]] == [",", ","]


def test_short_brackets_are_not_split() -> None:
    iverson = r"[a \bmod 2 = 0]"
    for formula in (
        r"x = y + \operatorname{Cov}\left[q_{c}, q_{e}\right]\,z",
        rf"x_{{a}} = {iverson}\,\sin(p\,w_{{a}}) + {iverson}\,\cos(p\,w_{{a}})",
    ):
        for room in (11.0, 12.0, 13.0, 15.0):
            for line in lines_at(formula, room):
                assert line.count("[") == line.count("]")
        for cut in re.split(r"\\allowbreak|\\commabreak|=(?!\\nobreak)", inline(formula, 15.0)):
            assert cut.count("[") == cut.count("]")


def test_the_last_term_does_not_stand_alone() -> None:
    formula = "y = " + " + ".join(["x_{1} y_{1}"] * 9)
    for room in (12.0, 16.0, 20.0, 24.0):
        assert width(break_lines(read(formula), room).lines[-1].pieces) > 4.0


def test_no_letter_stands_alone_above_what_it_is() -> None:
    widths, sizes = " + ".join([D] * 4), rf"{D}\,d_{{ff}} + d_{{ff}} + d_{{ff}}\,{D} + {D}"
    for term in (rf"\left({widths}\right) + \left({D}\right)", rf"\left({sizes}\right)"):
        formula = rf"N_{{L}} = \sum_{{l=0}}^{{L-1}} {term}"
        for room in (19.0, 19.4, 20.0):
            assert "=" in lines_at(formula, room)[0]


def test_no_short_term_stands_alone_inside_a_side() -> None:
    row = r"\sum_{b=0}^{d-1} V_{j\,b}\,X_{b}+b_{j}"
    layer = rf"\left(\sum_{{j=0}}^{{d-1}} W_{{a\,j}}\,\max\left(0, {row}\right)+c_{{a}}\right)"
    formula = rf"\left|{layer}-{layer}\right| \le " + "+".join(["K_{1}\\,X_{1}"] * 6)
    for room in (14.0, 15.0, 16.0, 17.0, 18.0, 19.0):
        for line in lines_at(formula, room)[1:]:
            assert not re.fullmatch(r"\+ c_\{a\}[^=<]{0,20}", line)


def test_sums_stay_together() -> None:
    formula = r"T = \sum_{i=0}^{h-1} \;\sum_{t=0}^{n-1} \;\left(x_{t}+y_{i}+z_{i}\right)"
    for room in (10.0, 11.0, 12.0):
        for line in lines_at(formula, room):
            assert not line.endswith(r"\;")


def test_a_unary_minus_stays_with_its_term() -> None:
    terms = " = ".join(["-a_{1} b_{1}"] * 8)
    for line in break_lines(read(terms), 10.0).lines[1:]:
        assert line.pieces[0].source != "-"


def test_fractions_inside_fractions_are_small() -> None:
    wide = "x_{1}+x_{2}+x_{3}+x_{4}"
    plain, nested = (
        width(read(rf"\frac{{{part}}}{{2}}")) for part in (wide, rf"\frac{{{wide}}}{{3}}")
    )
    assert nested < 0.9 * plain


def test_a_split_fence_takes_a_fixed_size() -> None:
    inner = " + ".join(f"x_{{{i}}}" for i in range(30))
    (block,) = displayed(rf"\left({inner}\right)^{{2}}", 15.0)
    assert r"\bigl(" in block
    assert r"\bigr)^{2}" in block
    assert r"\left" not in block


def test_sympy_braces_around_a_split_fence_go() -> None:
    inner = " + ".join(rf"\frac{{p_{{{i}}}}}{{q}}" for i in range(20))
    (block,) = displayed(rf"\cos{{\left({inner} \right)}}", 15.0)
    assert r"\cos \Bigl(" in block
    assert block.count("{") == block.count("}")


def test_very_long_formulas_come_in_blocks() -> None:
    blocks = displayed("y = " + " + ".join(f"x_{{{i}}}" for i in range(400)), 12.0)
    assert len(blocks) > 3
    assert all(block.startswith(r"\begin{aligned}[t]") for block in blocks)
    assert all(block.splitlines()[1].startswith(r"\phantom{y}") for block in blocks[1:])


def test_blocks_of_one_formula_are_about_equally_long() -> None:
    latex = "y = " + " + ".join(f"x_{{{i}}}" for i in range(60))
    (whole,) = displayed(latex, 14.0, 99)
    lines = whole.count("\n") - 1
    most = lines - 1
    first, second = (block.count("\n") - 1 for block in displayed(latex, 14.0, most))
    assert first + second == lines
    assert second - first in (0, 1)


def test_long_text_breaks_between_words() -> None:
    (block,) = displayed(r"\text{" + "many words in a row " * 6 + "}", 20.0)
    assert r"\text{many words in a row many" in block


def test_inline_math_opens_fences_only_when_it_must() -> None:
    formula = r"\left(" + " + ".join(["x_{1}"] * 12) + r"\right)"
    assert r"\left(" in inline(formula, 40.0)
    assert r"\bigl(" in inline(formula, 8.0)


@pytest.mark.parametrize(
    "latex",
    [
        "a_{b",
        "a & b",
        r"a \\ b",
        r"\left( a",
        r"a \right)",
        "}",
        r"\frac{1}",
        "x^",
        r"\begin{matrix} a \end{cases}",
        r"\text{a",
    ],
)
def test_malformed_formulas_are_refused_with_the_formula(latex: str) -> None:
    with pytest.raises(MathSyntax, match=re.escape(latex)):
        read(latex)


@pytest.mark.parametrize(
    ("formula", "room", "unwanted"),
    [
        (r"\forall i < n:\ \forall j < n:\ M_{i\,j} + N_{i\,j} = x_{i} + y_{j}", 12.0, r"n: \ $"),
        (r"x = a\,b\,c + a\,b\,d\,e + a\,d\,e\,f + c\,d\,e\,f", 8.0, r"[a-f] \\,$"),
        (r"x = y_{1} + y_{2} + 2\,\left(z_{1} + z_{2}\right) + u", 9.0, r"2 \\,$"),
        (r"x = y + \max\left(0, a + b + c + d + e\right)", 11.0, r"0 ,$"),
    ],
)
def test_bad_places_are_avoided(formula: str, room: float, unwanted: str) -> None:
    lines = lines_at(formula, room)
    assert len(lines) > 1
    assert not any(re.search(unwanted, line) for line in lines)


def test_a_formula_is_a_little_too_wide_rather_than_badly_broken() -> None:
    product = r"x = \left(a + b + c + d\right)\,\left(e + f + g + h\right)"
    room = width(read(product)) / 1.05
    assert len(break_lines(read(product), room).lines) > 1
    assert displayed(product, room) == [source_of(read(product))]
    chain = r"a + b + c + d = e + f + g + h"
    assert len(displayed(chain, width(read(chain)) / 1.05)[0].splitlines()) == 4  # two lines
