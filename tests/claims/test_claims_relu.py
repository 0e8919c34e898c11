"""The claims about ReLU: verdicts, mutants, and that proofs and code speak of the same function."""

from __future__ import annotations

from fractions import Fraction

import pytest
import sympy as sp
from claim_checks import CONCLUDED, mutant, settle, value, verdicts

from derive.claim import Given
from derive.claims import relu as R
from derive.claims._relu import half, inactive, size
from derive.language import (
    at_most,
    both,
    equal,
    exists,
    forall,
    iff,
    implies,
    less,
    minus,
    negation,
    over,
    plus,
    relu,
    times,
)
from derive.result import Verdict
from numeric import relu as forward

BY_NAME = {c.id.split("/")[1]: c for c in R.CLAIMS}
x, y, a, b, g, s, t = R.x, R.y, R.a, R.b, R.g, R.s, R.t


def test_verdicts_are_the_ones_listed():
    kinds = {n: c.expected.value for n, c in BY_NAME.items() if c.expected is not Verdict.PROVED}
    assert kinds == {
        "positively-homogeneous": "conditional",
        "additive": "refuted",
    }


# ---------------------------------------------------------------------- mutants of plain statements


def negative(t):
    return times(-1, t)


below_half = forall(t, at_most(times(g, t), relu(t)))
MUTANTS = {
    "closed-forms": [
        equal(relu(x), plus(x, size(x))),
        equal(relu(x), minus(1, inactive(x))),
    ],
    "in-words": [
        implies(at_most(x, 0), equal(relu(x), x)),
        implies(at_most(x, 1), equal(relu(x), 0)),
    ],
    "two-parts": [
        equal(plus(relu(x), relu(negative(x))), x),
        equal(minus(relu(x), relu(negative(x))), size(x)),
        equal(minus(relu(negative(x)), relu(x)), x),
        equal(times(relu(x), relu(x)), 0),
    ],
    "idempotent": [
        equal(relu(relu(x)), x),
        equal(relu(negative(relu(x))), relu(x)),
    ],
    "convex": [
        at_most(relu(R.mixture), R.chord),
        implies(both(at_most(0, s), at_most(s, 1)), less(relu(R.mixture), R.chord)),
    ],
    "lipschitz": [
        at_most(size(minus(relu(x), relu(y))), over(size(minus(x, y)), 2)),
        at_most(size(minus(x, y)), size(minus(relu(x), relu(y)))),
        implies(less(x, y), less(relu(x), relu(y))),
        implies(at_most(x, y), at_most(relu(y), relu(x))),
    ],
    "additive": [
        equal(relu(plus(x, y)), plus(relu(x), relu(y))),
        equal(relu(minus(x, y)), minus(relu(x), relu(y))),
    ],
}  # fmt: skip
CASES = [
    pytest.param(name, statement, id=f"{name}-{n}")
    for name, statements in MUTANTS.items()
    for n, statement in enumerate(statements)
]


@pytest.mark.parametrize(("name", "statement"), CASES)
def test_mutants_are_refuted_by_the_search(name, statement):
    by_hand, alone = verdicts(mutant(BY_NAME[name], statement=statement))
    assert by_hand not in CONCLUDED
    assert alone is Verdict.REFUTED


FACTOR_MUTANTS = [
    equal(relu(times(a, x)), times(size(a), relu(x))),
    equal(relu(times(a, x)), times(a, x)),
    equal(relu(times(a, x)), relu(x)),
]


@pytest.mark.parametrize("statement", FACTOR_MUTANTS)
def test_mutants_with_a_factor(statement):
    for given in ((), (Given(at_most(0, a)),)):
        alone = settle(mutant(R.SCALED, statement=statement, given=given, proof=None))
        if statement is not FACTOR_MUTANTS[0] or not given:
            assert alone.result.verdict is Verdict.REFUTED
    by_hand = settle(mutant(R.SCALED, statement=statement, given=(Given(at_most(0, a)),)))
    assert by_hand.result.verdict not in CONCLUDED


def test_the_factor_must_not_be_negative():
    for condition in (at_most(a, 0), less(a, 0), at_most(-1, a), negation(equal(a, 0))):
        claim = mutant(R.SCALED, given=(Given(condition),), proof=None)
        assert settle(claim).result.verdict is Verdict.REFUTED


SLOPE_MUTANTS = [
    ("derivative", implies(less(0, x), R.has_slope(x, 0))),
    ("derivative", implies(less(x, 0), R.has_slope(x, 1))),
    ("derivative", implies(at_most(0, x), R.has_slope(x, 1))),
    ("derivative", R.has_slope(x, half)),
    ("no-derivative-at-zero", exists(a, R.has_slope(0, a))),
    ("no-derivative-at-zero", R.has_slope(0, half)),
    ("no-derivative-at-zero", negation(exists(a, R.has_slope(1, a)))),
    ("subgradients", iff(below_half, both(at_most(0, g), less(g, 1)))),
    ("subgradients", iff(below_half, at_most(g, 1))),
    ("subgradients", implies(at_most(0, g), below_half)),
    ("subgradients", below_half),
    ("not-affine", exists(a, exists(b, forall(x, equal(relu(x), plus(times(a, x), b)))))),
    ("not-affine", negation(exists(a, exists(b, equal(relu(x), plus(times(a, x), b)))))),
    ("not-affine", negation(
        exists(a, exists(b, forall(x, equal(relu(relu(x)), plus(times(a, relu(x)), b))))))),
]  # fmt: skip


@pytest.mark.parametrize(("name", "statement"), SLOPE_MUTANTS)
def test_mutants_with_quantifiers_are_not_proved(name, statement):
    assert not set(verdicts(mutant(BY_NAME[name], statement=statement))) & set(CONCLUDED)


# ---------------------------------------------------------------------- proofs and code


@pytest.mark.parametrize("at", [Fraction(k, 3) for k in range(-7, 8)])
def test_the_symbolic_function_is_the_one_of_the_code(at):
    number = sp.Rational(at.numerator, at.denominator)
    wanted = float(forward(float(at)))
    for expression in (relu(x), R.closed_form, R.masked, relu(relu(x))):
        assert float(value(expression, {x: number})) == pytest.approx(wanted, abs=1e-15)
    assert value(inactive(x), {x: number}) == int(wanted == 0)
