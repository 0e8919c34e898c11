"""Inequalities between sums of symbolic length, without a proof script."""

from __future__ import annotations

from typing import Any

import pytest
import sympy as sp

from derive.claim import Claim, Given
from derive.kernel.check import check
from derive.language import (
    at_most,
    both,
    dims,
    equal,
    forall,
    index,
    less,
    natural,
    negation,
    over,
    power,
    real,
    tensor,
    times,
    total,
)
from derive.result import Source, Verdict
from derive.verify import settle

n, d = dims("n d")
N = natural("N")
i, j, k, c = index("i", n), index("j", n), index("k", n), index("c", d)
o = index("o", N)
u, v, p, w = (tensor(name, n) for name in "uvpw")
X, t = tensor("X", n, d), tensor("t", N)
a = real("a")

NOT_NEGATIVE = forall(i, at_most(0, p[i]))
WEIGHTS = (NOT_NEGATIVE, equal(total(p[i], i), 1))


def square(entry: Any) -> Any:
    return power(entry, 2)


def sum_of(entry: Any) -> Any:
    return total(entry, i)


TRUE: dict[str, tuple[Any, ...]] = {
    "Cauchy-Schwarz": (
        at_most(square(sum_of(u[i] * v[i])), sum_of(u[i] ** 2) * total(v[j] ** 2, j)),
    ),
    "matrix and vector": (
        at_most(
            total(square(total(X[k, c] * u[k], k)), c),
            total(X[k, c] ** 2, k, c) * total(u[k] ** 2, k),
        ),
    ),
    "square of a sum": (at_most(square(sum_of(u[i])), n * sum_of(u[i] ** 2)),),
    "twice the products": (
        at_most(2 * sum_of(u[i] * v[i]), sum_of(u[i] ** 2) + sum_of(v[i] ** 2)),
    ),
    "squares of sums": (
        at_most(sum_of((u[i] + v[i]) ** 2), 2 * sum_of(u[i] ** 2) + 2 * sum_of(v[i] ** 2)),
    ),
    "variance": (at_most(sum_of((u[i] - total(u[j], j) / n) ** 2), sum_of(u[i] ** 2)),),
    "sizes of a sum": (at_most(sp.Abs(sum_of(u[i])), sum_of(sp.Abs(u[i]))),),
    "an average is at most the bound": (
        at_most(sum_of(p[i] * u[i]), a), *WEIGHTS, forall(i, at_most(u[i], a)),
    ),
    "the square of an average": (
        at_most(square(sum_of(p[i] * u[i])), sum_of(p[i] * u[i] ** 2)), *WEIGHTS,
    ),
    "one of the terms": (at_most(p[k], sum_of(p[i])), NOT_NEGATIVE),
    "one of the squares": (at_most(u[k] ** 2, sum_of(u[i] ** 2)),),
    "positive terms": (less(0, sum_of(u[i])), forall(i, less(0, u[i]))),
    "smaller terms": (less(sum_of(u[i]), sum_of(v[i])), forall(i, less(u[i], v[i]))),
    "two bounds at once": (
        at_most(0, sum_of(u[i] * v[i])), forall(i, both(at_most(0, u[i]), at_most(0, v[i]))),
    ),
    "a sum of squares that vanishes": (equal(u[k], 0), equal(sum_of(u[i] ** 2), 0)),
}  # fmt: skip

FALSE: dict[str, tuple[Any, ...]] = {
    "Cauchy-Schwarz turned round": (
        at_most(sum_of(u[i] ** 2) * total(v[j] ** 2, j), square(sum_of(u[i] * v[i]))),
    ),
    "without the length": (at_most(square(sum_of(u[i])), sum_of(u[i] ** 2)),),
    "products without their factor": (
        at_most(3 * sum_of(u[i] * v[i]), sum_of(u[i] ** 2) + sum_of(v[i] ** 2)),
    ),
    "squares without their factor": (
        at_most(sum_of((u[i] + v[i]) ** 2), sum_of(u[i] ** 2) + sum_of(v[i] ** 2)),
    ),
    "sizes turned round": (at_most(sum_of(sp.Abs(u[i])), sp.Abs(sum_of(u[i]))),),
    "weights that do not sum to 1": (
        at_most(sum_of(p[i] * u[i]), a), NOT_NEGATIVE, forall(i, at_most(u[i], a)),
    ),
    "the average of squares turned round": (
        at_most(sum_of(p[i] * u[i] ** 2), square(sum_of(p[i] * u[i]))), *WEIGHTS,
    ),
    "a term that may be negative": (at_most(u[k], sum_of(u[i])),),
    "terms that may be 0": (less(0, sum_of(p[i])), NOT_NEGATIVE),
    "a sum that may be empty": (less(0, total(t[o], o)), forall(o, less(0, t[o]))),
    "a sum that vanishes": (equal(u[k], 0), equal(sum_of(u[i]), 0)),
    "one of a kind": (equal(over(times(1, sum_of(u[i])), n), u[k]),),
}  # fmt: skip


def settled(statement: Any, *given: Any) -> Verdict:
    claim = Claim(
        id="tests/claim", title="t", source=Source("a note", ("1",), "a claim"),
        statement=statement, given=tuple(map(Given, given)), expected=Verdict.PROVED,
    )  # fmt: skip
    found = settle(claim)
    for log, goal, kind in zip(found.logs, found.goals, found.kinds, strict=True):
        shown = check(log)
        assert (shown.goal.key.hex(), shown.kind) == (goal, kind)
    return found.result.verdict


@pytest.mark.parametrize("name", TRUE)
def test_what_is_true_is_proved(name: str) -> None:
    assert settled(*TRUE[name]) is Verdict.PROVED


@pytest.mark.parametrize("name", FALSE)
def test_what_is_false_is_refuted(name: str) -> None:
    assert settled(*FALSE[name]) is Verdict.REFUTED


def test_quotients_under_a_sum_are_compared_once() -> None:
    """Their denominators would be there again after any multiplication, without an end."""
    telescoping = total(over(1, (i + 1) * (i + 2)), i)
    assert settled(negation(equal(telescoping, n / (n + 2)))) is not Verdict.REFUTED
    assert settled(less(telescoping, n / (n + 2))) is Verdict.REFUTED
