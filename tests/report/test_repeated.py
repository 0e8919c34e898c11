"""What stands on the page already is named so that it can be found, and nothing else is."""

from __future__ import annotations

import random

from test_breaking import AROUND, random_formula

from derive.report.repeated import Place, Side, Standing, clauses
from derive.report.told import Formula, Part, Words

A, B, C, D = (" + ".join(rf"{x}_{{{k}}}" for k in range(30)) for x in "abcd")


def shown(standing: Standing, latex: str) -> list[Part | Place]:
    return list(standing.without_repetition(Formula(latex)))


def test_clauses_and_sides_are_found_outside_of_brackets() -> None:
    latex = r"\forall i < n:\ x_{i} = y \land (p = q \lor r) \Rightarrow \forall t:\ u \le v < w"
    assert [(link, body, left, right) for link, _, body, left, _, right in clauses(latex)] == [
        ("", "x_{i} = y", "x_{i}", "y"),
        (r"\land", r"( p = q \lor r )", "", ""),
        (r"\Rightarrow", r"u \le v < w", "", ""),
    ]
    assert [prefix for _, prefix, *_ in clauses(latex)] == [
        r"\forall i < n : \ ",
        "",
        r"\forall t : \ ",
    ]


def test_a_part_that_stands_elsewhere_is_named() -> None:
    standing = Standing()
    standing.add(4, rf"{A} = {B} \land {C} \le 1 \Rightarrow {D} = 0")
    standing.add(7, rf"{C} = {B}")
    places = [
        part
        for part in shown(standing, rf"{C} \le 1 \lor {B} = {C}")
        if not isinstance(part, Formula)
    ]
    assert places == [Place(4, 2, Side.BOTH), Place(4, 1, Side.RIGHT), Place(4, 2, Side.LEFT)]
    assert [place.named("the statement") for place in places] == [
        "clause 2 of the statement",
        "the right side of clause 1 of the statement",
        "the left side of clause 2 of the statement",
    ]
    (whole,) = shown(standing, rf"{C} = {B}")
    assert whole == Place(7, 0, Side.BOTH)
    assert whole.named("line 3") == "line 3"


def test_what_is_narrow_or_new_stays() -> None:
    standing = Standing()
    standing.add(0, "x = y")
    assert shown(standing, r"x = y \land y = z") == [Formula(r"x = y \land y = z")]
    assert list(standing.without_repetition(Words("the left side"))) == [Words("the left side")]


def test_with_what_they_name_in_their_place_the_parts_are_the_formula() -> None:
    rng = random.Random(3)
    formulas = [random_formula(rng, AROUND) for _ in range(30)]
    formulas += [rf"{rng.choice(formulas)} \land {rng.choice(formulas)}" for _ in range(60)]
    standing, named = Standing(), 0
    for line, latex in enumerate(formulas):
        restored = ""
        for part in shown(standing, latex):
            if isinstance(part, Place):
                named += 1
                _, _, body, left, _, right = clauses(formulas[part.line])[max(part.clause - 1, 0)]
                restored += {Side.BOTH: body, Side.LEFT: left, Side.RIGHT: right}[part.side]
            else:
                assert isinstance(part, Formula)
                restored += part.latex
        whole = "".join("".join(clause[:3]) for clause in clauses(latex))
        assert restored.replace(" ", "") == whole.replace(" ", "")
        standing.add(line, latex)
    assert named > 40
