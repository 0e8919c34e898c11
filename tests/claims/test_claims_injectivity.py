"""The claims about injectivity: verdicts, mutants, lemmas, and formulas against the layer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp
from claim_checks import CONCLUDED, mutant, settle

from derive import auto
from derive.candidates import table
from derive.claim import Example
from derive.claims import _injectivity as far_out
from derive.claims import injectivity as I
from derive.convert import Converter
from derive.kernel import terms as T
from derive.kernel.normal import Normaliser, literal
from derive.kernel.rules import infer
from derive.language import (
    at_most,
    both,
    equal,
    exists,
    forall,
    implies,
    less,
    minus,
    negation,
    plus,
    relu,
    times,
    total,
)
from derive.prover import Prover
from derive.result import Verdict
from derive.search import NotFound
from numeric import linear
from numeric import relu as forward

BY_NAME = {c.id.split("/")[1]: c for c in I.CLAIMS}
d, f, a, c, j, e, x, beta = I.d, I.f, I.a, I.c, I.j, I.e, I.x, I.beta


def test_expected_verdicts():
    for name, claim in BY_NAME.items():
        refuted = name == "four-times-needed"
        assert claim.expected is (Verdict.REFUTED if refuted else Verdict.PROVED)


# ---------------------------------------------------------------------- mutants


def assert_not_proved(claim, statement):
    """Neither by the claim's script nor by the automatic prover (a search would take seconds)."""
    script = claim.proof or claim.correction.proof
    assert settle(mutant(claim, statement=statement, proof=script)).result.verdict not in CONCLUDED
    converter = Converter()
    goal = converter.formula(statement)
    with pytest.raises((NotFound, T.KernelError)):
        auto.prove(Prover(converter, [*converter.declared]), goal)


def premise_of(name):
    return BY_NAME[name].statement.args[0]


first, second = I.stacked.args
without_bias = total(times(I.R[e, c], minus(relu(I.product(c)), beta)), c)
transposed = forall([e, a], equal(total(times(I.R[c, e], I.Q[c, a]), c), sp.KroneckerDelta(e, a)))
some_injective = exists(I.W, I.injective)
MUTANTS = [
    ("two-units-each", implies(I.stacked, forall(
        c, equal(minus(I.hidden(plus(d, c)), I.hidden(c)), x[c])))),
    ("two-units-each", implies(I.stacked, forall(c, equal(I.hidden(c), x[c])))),
    ("two-units-each", implies(first, I.READ_BACK.statement.args[1])),
    ("two-units-each", implies(second, I.READ_BACK.statement.args[1])),
    ("two-units-each", I.READ_BACK.statement.args[1]),
    ("four-times-needed", implies(I.injective, at_most(plus(times(2, d), 1), f))),
    ("four-times-needed", implies(I.injective, at_most(f, times(2, d)))),
    ("four-times-needed", implies(I.injective, less(times(2, d), f))),
    ("four-times-needed", at_most(times(2, d), f)),
    ("four-times-needed", implies(negation(I.injective), at_most(times(2, d), f))),
    ("four-times-needed", I.injective),
    ("four-times-needed", implies(at_most(times(2, d), f), I.injective)),
    ("twice-is-enough", implies(at_most(d, f), I.some_layer)),
    ("twice-is-enough", I.some_layer),
    ("twice-is-enough", implies(I.wide_enough, some_injective)),
    ("twice-is-enough", implies(I.wide_enough, forall(I.W, exists(I.b, I.injective)))),
    ("bounded-inputs", implies(I.within_reach, forall(e, equal(I.recovered, x[e])))),
    ("bounded-inputs", implies(both(I.inverse, I.within_reach), forall(
        e, equal(without_bias, x[e])))),
    ("bounded-inputs", implies(both(transposed, I.within_reach), forall(
        e, equal(I.recovered, x[e])))),
]  # fmt: skip


@pytest.mark.parametrize(("name", "statement"), MUTANTS)
def test_mutants_are_not_proved(name, statement):
    assert_not_proved(BY_NAME[name], statement)


THREE = {d: 1, f: 3, I.W: [[1], [-1], [0]], I.b: [0, 0, 0]}
TWO = I.FOUR_TIMES.counterexample.values


@pytest.mark.parametrize(("conclusion", "values"), [
    (at_most(plus(times(2, d), 1), f), TWO),
    (less(times(2, d), f), TWO), (at_most(f, times(2, d)), THREE)])  # fmt: skip
def test_no_other_number_of_units_is_the_least(conclusion, values):
    claim = replace(
        I.FOUR_TIMES, statement=implies(I.injective, conclusion), correction=None,
        counterexample=Example(values, I.one_component),
    )  # fmt: skip
    assert settle(claim).result.verdict is Verdict.REFUTED


@pytest.mark.parametrize("values", [
    TWO | {I.W: [[1], [1]]}, TWO | {I.W: [[1], [0]]}, {d: 1, f: 4, I.W: [[1], [-1], [0], [0]],
                                                       I.b: [0, 0, 0, 0]}])  # fmt: skip
def test_what_is_not_injective_or_wide_enough_is_no_counterexample(values):
    claim = replace(I.FOUR_TIMES, counterexample=Example(values, I.one_component), correction=None)
    assert settle(claim).result.verdict is Verdict.UNDECIDED


# ---------------------------------------------------------------------- lemmas


def test_the_lemmas_assume_nothing():
    p = Prover(Converter(), [])
    for theorem in (
        far_out.equations_count(p), far_out.small_step(p), far_out.switched_off(p),
        far_out.some_direction(p, far_out.ENOUGH), far_out.needs_two_for_each(p),
    ):  # fmt: skip
        assert not theorem.hypotheses
        assert theorem.axioms <= {"inverse", "max-left", "extremum-order", "extremum-value"}


def test_the_layer_of_the_lemmas_is_the_one_of_the_claim():
    converter = Converter()
    assert converter.formula(I.injective) is far_out.injective()
    conclusion = converter.formula(I.FOUR_TIMES.correction.statement)
    assert conclusion is T.implies(far_out.injective(), far_out.ENOUGH)


def test_a_bound_needs_what_it_says():
    """Numbers that may be negative have bounds, too, but this proof does not show it."""
    p = Prover(Converter(), [])
    r = far_out.vector("r")
    wrong = p.assume(T.forall(far_out.J, T.le(r(far_out.J), T.ZERO)))
    with pytest.raises(T.KernelError):
        far_out.has_bound(p, r, wrong, far_out.F)


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_counting_is_true_of_matrices(limit):
    """The number of unknowns is at most that of the equations that leave only 0."""
    rng = np.random.default_rng(limit)
    for _ in range(20):
        width = int(rng.integers(1, 4))
        matrix = rng.integers(-2, 3, (limit, width))
        rows, columns = rng.integers(0, 2, limit), rng.integers(0, 2, width)
        kept = matrix[rows == 1][:, columns == 1]
        leaves_only_zero = np.linalg.matrix_rank(kept) == columns.sum() if kept.size else (
            columns.sum() == 0)  # fmt: skip
        if leaves_only_zero:
            assert columns.sum() <= rows.sum()
        sizes = {far_out.D: T.num(width)}
        tensors = {"t": table(columns.tolist()), "s": table(rows.tolist())}
        claim = far_out.counted(T.num(limit), far_out.matrix("A"), far_out.vector("s"),
                                far_out.vector("t")).children[1]  # fmt: skip
        at = T.substitute(claim, sizes, tensors)
        holds = columns.sum() <= rows.sum()
        infer("decide", [], at if holds else T.negate(at))


# ---------------------------------------------------------------------- proofs and code


def test_a_unit_is_that_of_the_code():
    rng = np.random.default_rng(3)
    point, matrix, shift = (rng.integers(-3, 4, shape) for shape in ((2,), (3, 2), (3,)))
    converter = Converter()
    term = converter.term(I.unit(x))
    tables = {"x": point, "W": matrix, "b": shift}
    tensors = {name: table(array.tolist()) for name, array in tables.items()}
    wanted = forward(linear(point.astype(float), matrix.T.astype(float), shift.astype(float)))
    for row in range(3):
        places = {converter.term(d): T.num(2), converter.term(f): T.num(3),
                  converter.term(j): T.num(row)}  # fmt: skip
        assert literal(Normaliser().poly(T.substitute(term, places, tensors))) == wanted[row]


def test_the_witness_is_a_layer_with_an_inverse():
    rows = [[literal(Normaliser().poly(I.interleaved(T.num(r), T.num(k)))) for k in range(3)]
            for r in range(7)]  # fmt: skip
    matrix = np.array(rows, dtype=float)
    points = np.random.default_rng(4).standard_normal((5, 3))
    held = forward(linear(points, matrix.T))
    np.testing.assert_array_equal(held[:, 0:6:2] - held[:, 1:6:2], points)
    assert not matrix[6].any()
