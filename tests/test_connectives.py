"""Statements with "or", "not" and "there is", without a proof script: right ones, wrong ones."""

from __future__ import annotations

from typing import Any

import pytest

from derive.claim import Claim
from derive.kernel.check import check
from derive.language import (
    at_most,
    both,
    dims,
    divides,
    either,
    equal,
    exists,
    forall,
    implies,
    index,
    integer,
    less,
    natural,
    negation,
    over,
    plus,
    power,
    real,
    tensor,
    times,
    total,
)
from derive.result import Source, Verdict
from derive.verify import settle

x, y, z, a, b, C = (real(name) for name in "xyzabC")
n, d, h = dims("n d h")
k, r = integer("k"), natural("r")
i = index("i", n)
u, v = tensor("u", n), tensor("v", n)


def settled(statement: Any) -> Verdict:
    claim = Claim(
        id="tests/claim", title="t", source=Source("a note", ("1",), "a claim"),
        statement=statement, expected=Verdict.PROVED,
    )  # fmt: skip
    found = settle(claim)
    for log, goal, kind in zip(found.logs, found.goals, found.kinds, strict=True):
        shown = check(log)
        assert (shown.goal.key.hex(), shown.kind) == (goal, kind)
    return found.result.verdict


TRUE = {
    "a larger one": exists(x, less(a, x)),
    "one between": implies(less(a, b), exists(x, both(less(a, x), less(x, b)))),
    "each has one above": forall(y, exists(x, at_most(y, x))),
    "an inverse": forall(x, implies(negation(equal(x, 0)), exists(y, equal(x * y, 1)))),
    "one for all": exists(y, forall(x, equal(x * y, 0))),
    "coefficients": exists(a, exists(b, forall(x, equal(2 * x + 3, plus(times(a, x), b))))),
    "some multiple": exists(C, forall(n, at_most(power(n, 2) + n, times(C, power(n, 2))))),
    "three values": exists(x, exists(y, exists(z, equal(x**2 + y * z + z**2, 7)))),
    "a tensor": exists(u, equal(total(u[i] * v[i], i), 0)),
    "the opposite tensor": exists(u, forall(i, equal(u[i] + v[i], 0))),
    "either way": either(at_most(x, y), at_most(y, x)),
    "trichotomy": either(less(x, y), less(y, x), equal(x, y)),
    "0 or a positive square": either(equal(x, 0), less(0, x**2)),
    "a factor vanishes": implies(equal(x * y, 0), either(equal(x, 0), equal(y, 0))),
    "two roots": implies(equal(x**2, 1), either(equal(x, 1), equal(x, -1))),
    "not both signs": negation(both(less(x, 0), less(0, x))),
    "in each case": implies(either(equal(x, 1), equal(x, 2)), less(0, x)),
    "of what there is": implies(exists(y, equal(x, y**2)), at_most(0, x)),
    "not for all": negation(forall(x, less(0, x))),
    "no such number": negation(exists(x, less(x**2, 0))),
    "no cycle": negation(both(less(x, y), less(y, z), less(z, x))),
}

FALSE = {
    "both signs": exists(x, both(less(x, 0), less(0, x))),
    "a negative square": exists(x, equal(x**2, -1)),
    "its own successor": exists(x, equal(x, plus(x, 1))),
    "a largest one": exists(x, forall(y, at_most(y, x))),
    "a size below 1": exists(n, less(n, 1)),
    "a natural number below 0": exists(r, less(r, 0)),
    "half of 3": exists(n, equal(2 * n, 3)),
    "half of an odd number": exists(k, equal(2 * k, 5)),
    "every inverse": forall(x, exists(y, equal(x * y, 1))),
    "one inverse for all": exists(y, forall(x, equal(x * y, x + 1))),
    "wrong coefficients": exists(
        a, exists(b, forall(x, equal((x + 1) ** 2, plus(times(a, x**2), b))))
    ),
    "no multiple of n": exists(C, forall(n, at_most(power(n, 2), times(C, n)))),
    "no constant": exists(C, forall(n, at_most(n, C))),
    "projections are not of the order of scores": exists(
        C,
        forall([n, d, h], implies(divides(h, d), at_most(
            8 * n * d**2 + 4 * n**2 * d + 3 * h * n**2 - 5 * n * d - h * n,
            times(C, power(n, 2), d),
        ))),
    ),
    "sums of three squares": exists(x, exists(y, exists(z, equal(x**2 + y**2 + z**2, -1)))),
    "a tensor for all": exists(u, forall(v, equal(total(u[i] * v[i], i), 1))),
    "strictly either way": either(less(x, y), less(y, x)),
    "both factors vanish": implies(equal(x * y, 0), both(equal(x, 0), equal(y, 0))),
    "one root": implies(equal(x**2, 1), equal(x, 1)),
    "in one case only": implies(either(equal(x, 1), equal(x, -2)), less(0, x)),
    "of what there is, without its square": implies(exists(y, equal(x, y)), at_most(0, x)),
    "neither of two": negation(either(less(x, 0), less(0, x))),
}  # fmt: skip

#: What is true but not found, or would need more than is known: it must not be settled wrongly.
OPEN = {
    "cube roots": forall(x, exists(y, equal(y**3, x))),
    "a quotient": exists(x, forall(y, exists(z, equal(x * y + z**3, 7)))),
    "powers of 2 outgrow squares": exists(C, forall(n, at_most(2**n, times(C, n**2)))),
    "a hidden division": exists(x, equal(over(1, x), 0)),
}


@pytest.mark.parametrize("name", TRUE)
def test_what_is_true_is_proved(name: str) -> None:
    assert settled(TRUE[name]) is Verdict.PROVED


@pytest.mark.parametrize("name", FALSE)
def test_what_is_false_is_refuted(name: str) -> None:
    assert settled(FALSE[name]) is Verdict.REFUTED


@pytest.mark.parametrize("name", OPEN)
def test_what_is_not_found_is_left_open(name: str) -> None:
    assert settled(OPEN[name]) is Verdict.UNDECIDED


@pytest.mark.parametrize("name", FALSE)
def test_denials_of_what_is_true_are_not_proved(name: str) -> None:
    """The other way round: the denial of a false closed statement holds, of a true one never."""
    assert settled(negation(FALSE[name])) is not Verdict.REFUTED or _has_free_symbols(name)


@pytest.mark.parametrize("name", TRUE)
def test_denials_are_not_proved(name: str) -> None:
    assert settled(negation(TRUE[name])) is not Verdict.PROVED


def _has_free_symbols(name: str) -> bool:
    return name in (
        "strictly either way", "both factors vanish", "one root", "in one case only",
        "of what there is, without its square", "neither of two",
    )  # fmt: skip
