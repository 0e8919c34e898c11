"""The head widths: verdicts, replay, twins, mutants, and agreement with the NumPy layers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from claim_checks import CONCLUDED, holds, mutant, settle, value, verdicts

import numeric
from derive.claim import Example, Given
from derive.claims import head_width as H
from derive.claims.head_width import c, columns, d, d_v, e, h, i, j, position, quotient, w
from derive.language import (
    at_most,
    both,
    divides,
    equal,
    exists,
    forall,
    iff,
    implies,
    less,
    minus,
    over,
    plus,
    times,
    total,
)
from derive.result import TwinStatus, Verdict

BY_NAME = {c.id.split("/")[1]: c for c in H.CLAIMS}
TRIVIAL = Given(equal(0, 0))


# ---------------------------------------------------------------------- every claim


def test_verdicts_other_than_proved():
    kinds = {n: x.expected.value for n, x in BY_NAME.items() if x.expected is not Verdict.PROVED}
    assert kinds == {"whole-number": "conditional", "floor": "conditional"}
    assert {p for x in H.CLAIMS for p in x.source.places} == {"A01", "A05", "A06"}


def test_the_conditions_are_needed():
    floor = settle(H.FLOOR).result
    assert [x.latex for x in floor.counterexamples] == [r"9 \ne 10"]
    (whole,) = settle(H.WHOLE).result.counterexamples
    assert whole.values == {r"d_{\text{model}}": "100", "h": "8"}
    assert whole.breaks == r"h \mid d_{\text{model}}"


def test_only_rounding_is_assumed():
    axioms = {n: {a.name for a in settle(x).result.axioms} for n, x in BY_NAME.items()}
    bounds = {"floor-lower", "floor-upper"}
    assert {n for n, a in axioms.items() if bounds & a} == {"positions-reached", "remainder"}
    rounding = {"floor-shift", "floor-unit", "floor-integer", "floor-sign", "remainder"}
    assert all(a <= bounds | rounding for a in axioms.values())
    assert axioms["whole-number"] == axioms["exists-iff"] == set()


# ---------------------------------------------------------------------- mutants

somewhere = H.some_column
width_h = H.floor_width
REFUTED = {
    "base: one off": mutant(H.BASE, statement=equal(over(512, 8), 65)),
    "base: multiplied": mutant(H.BASE, statement=equal(times(512, 8), 64)),
    # concatenation
    "range: one column less": mutant(
        H.IN_RANGE,
        statement=forall([i, c], less(position(i, c), minus(times(h, d_v), 1))),
    ),
    "range: places from one": mutant(
        H.IN_RANGE, statement=forall([i, c], at_most(1, position(i, c)))
    ),
    "range: the sum of the widths": mutant(
        H.IN_RANGE, statement=forall([i, c], less(position(i, c), plus(h, d_v)))
    ),
    "distinct: heads and columns mixed": mutant(
        H.DISTINCT,
        statement=forall(
            [i, c, j, e], implies(equal(plus(i, c), plus(j, e)), both(equal(i, j), equal(c, e)))
        ),
    ),
    "distinct: another column": mutant(
        H.DISTINCT,
        statement=forall(
            [i, c, j, e],
            implies(equal(position(i, c), position(j, e)), equal(c, plus(e, 1))),
        ),
    ),
    "columns: one head": mutant(H.COLUMNS, statement=equal(total(1, c), times(h, d_v))),
    "columns: model width": mutant(H.COLUMNS, statement=equal(columns, d)),
    "width iff: upside down": mutant(
        H.WIDTH_IFF, statement=iff(equal(columns, d), equal(d_v, over(h, d)))
    ),
    "width iff: heads": mutant(
        H.WIDTH_IFF, statement=iff(equal(columns, d), equal(h, quotient))
    ),
    "width iff: the columns of one head": mutant(
        H.WIDTH_IFF, statement=iff(equal(total(1, c), d), equal(d_v, quotient))
    ),
    # quotients
    "rationals: divided": mutant(H.OVER_RATIONALS, statement=equal(over(quotient, h), d)),
    "floor iff: turned round": mutant(
        H.FLOOR_IFF, statement=iff(equal(times(h, width_h), d), divides(d, h))
    ),
    "floor iff: one column lost": mutant(
        H.FLOOR_IFF, statement=iff(equal(plus(times(h, width_h), 1), d), divides(h, d))
    ),
    "remainder: below the width": mutant(H.REMAINDER, statement=less(H.remainder, d)),
    "remainder: positive": mutant(H.REMAINDER, statement=less(0, H.remainder)),
    "remainder: at most two below": mutant(
        H.REMAINDER, statement=at_most(H.remainder, minus(h, 2))
    ),
    "remainder iff: one": mutant(
        H.REMAINDER_IFF, statement=iff(equal(H.remainder, 1), divides(h, d))
    ),
    "remainder iff: turned round": mutant(
        H.REMAINDER_IFF, statement=iff(equal(H.remainder, 0), divides(d, h))
    ),
}  # fmt: skip
#: A search by evaluation does not deny that something exists; these only have to stay open.
OPEN = {
    "whole: nothing added": mutant(H.WHOLE, given=(TRIVIAL,)),
    "whole: the other one divides": mutant(H.WHOLE, given=(Given(divides(d, h)),)),
    "whole: one more": mutant(
        H.WHOLE,
        given=(Given(divides(h, d)),),
        statement=exists(w, equal(times(h, w), plus(d, 1))),
    ),
    "exists iff: turned round": mutant(
        H.EXISTS_IFF, statement=iff(H.some_width, divides(d, h))
    ),
    "exists iff: the product": mutant(
        H.EXISTS_IFF, statement=iff(exists(w, equal(w, times(h, d))), divides(h, d))
    ),
    "reached: one place too many": mutant(
        H.REACHED,
        statement=forall(H.l, implies(at_most(H.l, times(h, d_v)), exists(i, somewhere))),
    ),
    "reached: stride of heads": mutant(
        H.REACHED,
        statement=forall(
            H.l,
            implies(
                less(H.l, times(h, d_v)),
                exists(i, exists(c, equal(plus(times(i, h), c), H.l))),
            ),
        ),
    ),
    "reached: no bound": mutant(H.REACHED, statement=forall(H.l, exists(i, somewhere))),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUTED)
def test_mutants_are_caught(name):
    by_hand, alone = verdicts(REFUTED[name])
    assert by_hand not in CONCLUDED
    assert alone is Verdict.REFUTED


@pytest.mark.parametrize("name", OPEN)
def test_mutants_about_existence_are_not_proved(name):
    by_hand, alone = verdicts(OPEN[name])
    assert by_hand not in CONCLUDED
    assert alone not in CONCLUDED


def test_a_counterexample_has_to_break_the_condition_and_the_statement():
    added = H.WHOLE.added[0]
    for values in ({d: 12, h: 4}, {d: 96, h: 8}):
        fits = replace(added, counterexample=Example(values, H.no_width))
        assert settle(replace(H.WHOLE, added=(fits,))).result.verdict is Verdict.UNDECIDED
    alone = replace(added, counterexample=Example({d: 100, h: 8}))  # which needs no proof by hand
    assert settle(replace(H.WHOLE, added=(alone,))).result.verdict is Verdict.CONDITIONAL


# ---------------------------------------------------------------------- agreement with NumPy


def test_positions_are_those_of_the_concatenated_array():
    rng = np.random.default_rng(3)
    for heads, n, width in rng.integers(1, 6, size=(12, 3)).tolist():
        x = rng.standard_normal((heads, n, width))
        together = numeric.concat_heads(x)
        assert together.shape[1] == value(columns, {h: heads, d_v: width})
        for a in range(heads):
            for b in range(width):
                place = int(value(position(i, c), {i: a, c: b, h: heads, d_v: width}))
                assert np.array_equal(together[:, place], x[a, :, b])
                assert value(H.head_at, {H.l: place, d_v: width}) == a
                assert value(H.column_at, {H.l: place, d_v: width}) == b


def test_floor_and_remainder_are_those_of_python():
    for m in range(1, 25):
        for n in range(1, 25):
            sizes = {d: m, h: n}
            assert value(width_h, sizes) == m // n
            assert value(H.remainder, sizes) == m % n
            assert holds(divides(h, d), sizes) is (m % n == 0)


@pytest.mark.parametrize("claim", [H.FLOOR_IFF, H.REMAINDER, H.REMAINDER_IFF])
def test_statements_hold_at_small_sizes(claim):
    for m in range(1, 13):
        for n in range(1, 13):
            assert holds(claim.statement, {d: m, h: n})


def test_statements_about_places_hold_at_small_sizes():
    for n in range(1, 5):
        for width in range(1, 5):
            assert holds(H.IN_RANGE.statement, {h: n, d_v: width})
            assert holds(H.DISTINCT.statement, {h: n, d_v: width})
            assert holds(H.WIDTH_IFF.statement, {h: n, d_v: width, d: n * width})
            assert holds(H.WIDTH_IFF.statement, {h: n, d_v: width, d: n * width + 1})


def test_the_width_of_the_base_model():
    assert value(over(512, 8), {}) == numeric.head_width(512, 8)


# ---------------------------------------------------------------------- twins that disagree


def disagreeing(monkeypatch, name, replacement):
    monkeypatch.setattr(H, name, replacement)
    runs = {n: x.twin.run(0, x.id).status for n, x in BY_NAME.items()}
    return {n for n, s in runs.items() if s is TwinStatus.DISAGREES}


def test_twins_notice_heads_that_are_dealt_out(monkeypatch):
    """Without the swap of axes the entries are all there, in the wrong columns."""
    wrong = lambda heads: heads.reshape(heads.shape[1], -1)  # noqa: E731
    assert disagreeing(monkeypatch, "concat_heads", wrong) == {"positions-reached"}


def test_twins_notice_heads_that_are_stacked(monkeypatch):
    wrong = lambda heads: heads.reshape(-1, heads.shape[2])  # noqa: E731
    found = disagreeing(monkeypatch, "concat_heads", wrong)
    assert {"positions-reached", "position-in-range", "concatenated-columns"} <= found


def test_twins_notice_columns_that_are_covered(monkeypatch):
    def wrong(heads):
        right = numeric.concat_heads(heads)
        right[:, -1] = right[:, 0]
        return right

    assert "positions-distinct" in disagreeing(monkeypatch, "concat_heads", wrong)


def test_twins_notice_a_width_that_is_rounded(monkeypatch):
    """Floor division in the layers would lose columns without a word."""
    found = disagreeing(monkeypatch, "head_width", lambda m, n: m // n)
    assert found == {"whole-number", "exists-iff", "floor-iff", "remainder-iff"}


def test_twins_notice_a_wrong_width(monkeypatch):
    found = disagreeing(monkeypatch, "head_width", lambda m, n: numeric.head_width(m, n) + 1)
    assert found == {"over-rationals"}
