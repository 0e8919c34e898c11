"""Exact linear programming: solutions are checked, and a known solution is never missed."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from derive.programming import nonnegative_solution

F = Fraction


def value(columns, x):
    out: dict[str, Fraction] = {}
    for c, column in zip(x, columns, strict=True):
        for r, q in column.items():
            out[r] = out.get(r, F(0)) + c * q
    return {r: q for r, q in out.items() if q}


@pytest.mark.parametrize(
    ("columns", "wanted"),
    [
        ([{"a": F(1)}], {"a": F(-1)}),
        ([{"a": F(1), "b": F(1)}], {"a": F(1)}),
        ([{"a": F(1)}, {"a": F(1), "b": F(1)}], {"a": F(1), "b": F(2)}),
        ([], {"a": F(1)}),
    ],
)
def test_what_has_no_solution(columns, wanted):
    assert nonnegative_solution(columns, wanted) is None


def test_nothing_is_wanted():
    assert nonnegative_solution([{"a": F(1)}, {"a": F(-1)}], {}) == [0, 0]


def test_columns_that_nothing_cancels_stay_out():
    columns = [{"a": F(1), "b": F(1)}, {"a": F(1), "c": F(2)}, {"a": F(1), "c": F(-2)}]
    assert nonnegative_solution(columns, {"a": F(2)}) == [0, 1, 1]


@pytest.mark.parametrize("seed", range(20))
def test_a_solution_that_exists_is_found(seed):
    rng = random.Random(seed)
    rows = "abcdef"[: rng.randint(2, 6)]
    columns = [
        {r: F(rng.randint(-3, 3), rng.randint(1, 3)) for r in rng.sample(rows, rng.randint(1, 2))}
        for _ in range(8)
    ]
    hidden = [F(rng.choice([0, 0, 1, 2])) for _ in columns]
    wanted = value(columns, hidden)
    found = nonnegative_solution(columns, wanted)
    assert found is not None
    assert min(found) >= 0
    assert value(columns, found) == wanted
