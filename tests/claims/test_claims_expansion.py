"""The claims about expansion: verdicts, mutants, and formulas against the layers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
from claim_checks import CONCLUDED, mutant, settle, value, verdicts

from derive import auto
from derive.candidates import table
from derive.claim import Example
from derive.claims import expansion as X
from derive.convert import Converter
from derive.kernel import terms as T
from derive.kernel.normal import Normaliser, literal
from derive.language import (
    at_most,
    equal,
    exists,
    forall,
    iff,
    implies,
    less,
    minus,
    over,
    plus,
    power,
    times,
    total,
)
from derive.prover import Prover
from derive.result import Verdict
from derive.search import NotFound
from numeric import linear

BY_NAME = {c.id.split("/")[1]: c for c in X.CLAIMS}
d, f, n, r, q, t = X.d, X.f, X.n, X.r, X.q, X.larger


def test_verdicts_are_the_ones_listed():
    kinds = {n: c.expected.value for n, c in BY_NAME.items() if c.expected is not Verdict.PROVED}
    assert kinds == {
        "empirical-factor": "not-mathematical",
        "separates": "refuted",
        "balance": "not-mathematical",
        "factor-for-half": "refuted",
    }


sum_of_both = plus(X.first, X.second)
MUTANTS = [
    ("weights", equal(X.weights, times(8, power(d, 2)))),
    ("operations", implies(X.expanded, equal(X.operations, times(4, n, power(r, 2), d)))),
    ("operations", implies(X.expanded, equal(X.operations, times(4, r, power(d, 2))))),
    ("no-optimum-of-cost", implies(less(t, r), X.dearer)),
    ("no-optimum-of-cost", implies(X.more, X.dearer.args[0].func(*X.dearer.args[0].args[::-1]))),
    ("exclusive-or", implies(X.bits, equal(X.both_units, sum_of_both))),
    ("factor-for-half", implies(X.left_over, equal(f, times(2, d)))),
    ("factor-for-half", implies(equal(q, X.half), equal(f, times(2, d)))),
    ("factor-four", implies(X.left_over, equal(q, sp.Rational(3, 4)))),
    ("factor-four", iff(equal(f, times(4, d)), equal(q, sp.Rational(3, 4)))),
]  # fmt: skip


@pytest.mark.parametrize(("name", "statement"), MUTANTS)
def test_mutants_are_refuted_by_the_search(name, statement):
    claim = BY_NAME[name]
    script = claim.proof or claim.correction.proof
    by_hand, alone = verdicts(mutant(claim, statement=statement, proof=script))
    assert by_hand not in CONCLUDED
    assert alone is Verdict.REFUTED


SEPARATION_MUTANTS = [
    implies(X.separable_before, X.separable_after),
    X.separable_before,
    X.separable_after,
    implies(X.separable_after, forall(X.u, forall(X.k, forall(
        X.i, less(0, times(X.y[X.i], X.before(X.i))))))),
    implies(X.separable_after, exists(X.u, forall(
        X.i, less(0, times(X.y[X.i], minus(X.before(X.i), X.k)))))),
]  # fmt: skip


def assert_not_proved(claim, statement):
    """Neither by the claim's script nor by the automatic prover (a search would take seconds)."""
    script = claim.proof or claim.correction.proof
    assert settle(mutant(claim, statement=statement, proof=script)).result.verdict not in CONCLUDED
    converter = Converter()
    goal = converter.formula(statement)
    with pytest.raises((NotFound, T.KernelError)):
        auto.prove(Prover(converter, [*converter.declared]), goal)


@pytest.mark.parametrize("statement", SEPARATION_MUTANTS)
@pytest.mark.parametrize("claim", [X.SEPARATION, X.KEPT], ids=lambda claim: claim.id)
def test_mutants_of_separability(claim, statement):
    assert_not_proved(claim, statement)


def test_the_matrix_has_to_be_undone():
    annihilated = forall([X.a, X.e], equal(total(times(X.L[X.a, X.j], X.W[X.j, X.e]), X.j), 0))
    for premise in (annihilated, at_most(d, f)):
        wrong = implies(premise, implies(X.separable_before, X.separable_after))
        assert_not_proved(X.KEPT, wrong)


@pytest.mark.parametrize("labels", [[1, 1, 1, 1], [-1, 1, 1, 1], [-1, -1, 1, 1], [1, -1, -1, 1]])
def test_only_the_exclusive_or_is_a_counterexample(labels):
    values = {**X.SEPARATION.counterexample.values, X.y: labels}
    claim = replace(X.SEPARATION, counterexample=Example(values, X.no_readout), correction=None)
    wanted = Verdict.REFUTED if labels == [1, -1, -1, 1] else Verdict.UNDECIDED
    assert settle(claim).result.verdict is wanted


def test_points_that_coincide_are_no_counterexample():
    values = {**X.SEPARATION.counterexample.values, X.x: [[0, 0], [0, 0], [1, 0], [1, 1]]}
    claim = replace(X.SEPARATION, counterexample=Example(values, X.no_readout), correction=None)
    assert settle(claim).result.verdict is Verdict.UNDECIDED


# ---------------------------------------------------------------------- proofs and code


def test_the_image_of_a_point_is_that_of_the_code():
    rng = np.random.default_rng(5)
    points, matrix, shift, readout = (
        rng.integers(-3, 4, shape) for shape in ((5, 2), (3, 2), (3,), (3,))
    )
    converter = Converter()
    tensors = {"x": points, "W": matrix, "b": shift, "w": readout}
    tables = {name: table(array.tolist()) for name, array in tensors.items()}
    entry, score = converter.term(X.image(X.i)(X.j)), converter.term(X.after(X.i))
    symbols = [converter.term(symbol) for symbol in (d, f, X.N, X.c, X.i, X.j)]
    images = linear(points.astype(float), matrix.T.astype(float), shift.astype(float))

    def exact(term, point, unit):
        numbers = (2, 3, 5, Fraction(1, 2), point, unit)
        places = dict(zip(symbols, map(T.num, numbers), strict=True))
        return float(literal(Normaliser().poly(T.substitute(term, places, tables))))

    for point in range(5):
        assert [exact(entry, point, unit) for unit in range(3)] == list(images[point])
        assert exact(score, point, 0) == images[point] @ readout + 0.5


def test_counts_are_those_of_arrays():
    sizes = {d: 3, f: 7, n: 2}
    assert value(X.weights, sizes) == 2 * 3 * 7
    assert value(X.operations, sizes) == 2 * (
        X.counted(3, np.zeros((3, 7))) + X.counted(7, np.zeros((7, 3)))
    )
    assert value(over(X.operations, X.weights), sizes) == 2 * 2
