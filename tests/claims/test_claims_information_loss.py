"""The claims about information loss: verdicts, mutants, and exact means against arrays."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
from claim_checks import CONCLUDED, mutant, settle, verdicts

from derive import auto
from derive.candidates import table as tensor_of
from derive.claim import Example
from derive.claims import information_loss as L
from derive.claims._relu import at_zero, half, inactive
from derive.convert import Converter
from derive.kernel import terms as T
from derive.kernel.normal import Normaliser, literal
from derive.kernel.rules import infer
from derive.language import (
    at_most,
    equal,
    forall,
    implies,
    less,
    minus,
    negation,
    over,
    plus,
    power,
    relu,
    times,
)
from derive.result import Verdict
from numeric import relu as forward

BY_NAME = {c.id.split("/")[1]: c for c in L.CLAIMS}


def test_verdicts_are_the_ones_listed():
    kinds = {n: c.expected.value for n, c in BY_NAME.items() if c.expected is not Verdict.PROVED}
    assert kinds == {
        "half-inactive": "conditional",
        "half-energy": "conditional",
        "half-variance": "refuted",
        "half-of-the-bits": "refuted",
        "natural-optimum": "not-mathematical",
    }


# ---------------------------------------------------------------------- mutants

SIGNS, ONE, NONE = L.table([1, -1]), L.table([1]), L.table([0])
SKEW = L.table([-1, 3], [Fraction(3, 4), Fraction(1, 4)])
share, reversed_share = L.mean(inactive), L.mean(L.mirrored(inactive))
energy, reversed_energy = (
    L.mean(L.activated_square), L.mean(L.mirrored(L.activated_square)))  # fmt: skip
before, after = L.spread(L.same), L.spread(relu)


def drawn(statement):
    return implies(L.probabilities, statement)


def symmetric(statement, *premises):
    return T.implies(L.law_and(*premises), Converter().formula(statement))


MUTANTS = [
    ("shares", drawn(equal(plus(share, L.mean(at_zero)), 1)), ONE),
    ("shares", drawn(equal(share, reversed_share)), ONE),
    ("shares", drawn(equal(plus(share, reversed_share), plus(2, L.mean(at_zero)))), ONE),
    ("half-inactive", drawn(equal(share, 0)), SIGNS),
    ("half-inactive", drawn(at_most(half, share)), ONE),
    ("any-share", drawn(implies(L.all_active, equal(share, 1))), ONE),
    ("any-share", drawn(implies(L.all_dead, equal(share, 0))), NONE),
    ("any-share", drawn(implies(forall(L.w, at_most(0, L.z[L.w])), equal(share, 0))), NONE),
    ("energy-splits", equal(energy, L.mean(L.square)), SIGNS),
    ("energy-splits", equal(plus(energy, energy), L.mean(L.square)), ONE),
    ("energy-splits", equal(minus(energy, reversed_energy), L.mean(L.square)), SIGNS),
    ("half-energy", equal(energy, times(half, L.mean(L.square))), SKEW),
    ("half-energy", equal(energy, times(half, power(L.mean(L.same), 2))), SIGNS),
    ("half-variance", L.half_variance, SIGNS),
    ("half-variance", symmetric(equal(after, before)), SIGNS),
    ("half-variance", drawn(equal(after, L.less_of_variance)), SKEW),
    ("half-variance", symmetric(equal(after, minus(before, power(L.mean(relu), 2)))), SIGNS),
]  # fmt: skip


def by_script(claim, script):
    """The verdict; none where the script asks for a hypothesis that the claim does not have."""
    try:
        return settle(replace(claim, proof=script)).result.verdict
    except (IndexError, AttributeError):
        return None


@pytest.mark.parametrize(("name", "statement", "values"), MUTANTS)
def test_mutants_are_false_at_a_table_and_not_proved(name, statement, values):
    claim = BY_NAME[name]
    script = claim.proof or claim.correction.proof
    bare = mutant(claim, statement=statement, proof=None)
    false = replace(bare, counterexample=Example(values, auto.prove))
    assert settle(false).result.verdict is Verdict.REFUTED
    assert by_script(bare, script) not in CONCLUDED
    assert by_script(bare, None) not in CONCLUDED


GAUSSIAN_MUTANTS = [
    times(minus(half, over(1, sp.pi)), power(L.sigma, 2)),
    times(plus(half, over(1, times(2, sp.pi))), power(L.sigma, 2)),
    times(L.constant, L.sigma),
]


@pytest.mark.parametrize("kept", GAUSSIAN_MUTANTS)
def test_mutants_of_the_gaussian_constant(kept):
    wrong = T.implies(L.half_normal, Converter().formula(equal(after, kept)))
    assert not set(verdicts(mutant(L.GAUSSIAN, statement=wrong))) & set(CONCLUDED)


TRIVIAL = T.eq(T.ZERO, T.ZERO)


@pytest.mark.parametrize("dropped", range(1, 5))
def test_every_assumption_on_the_gaussian_is_used(dropped):
    parts = list(L.half_normal.children)
    assert len(parts) == 5
    parts[dropped] = TRIVIAL
    bare = mutant(L.GAUSSIAN, statement=T.implies(T.conj(*parts), L.kept_variance), proof=None)
    assert by_script(bare, L.GAUSSIAN.proof) not in CONCLUDED
    assert by_script(bare, None) not in CONCLUDED


@pytest.mark.parametrize("name", ["shares", "any-share", "half-variance"])
def test_probabilities_have_to_add_up_to_one(name):
    """Otherwise two outcomes of probability one break the statement."""
    claim = BY_NAME[name]
    script = claim.proof or claim.correction.proof
    conclusion = {
        "shares": L.both_shares,
        "any-share": implies(L.all_dead, equal(share, 1)),
        "half-variance": equal(after, L.less_of_variance),
    }[name]
    statement = implies(forall(L.w, at_most(0, L.P[L.w])), conclusion)
    bare = mutant(claim, statement=statement, proof=None)
    assert by_script(bare, script) not in CONCLUDED
    assert by_script(bare, None) not in CONCLUDED
    values = L.table([-1, -1] if name != "half-variance" else [2, -1], [1, 1])
    false = replace(bare, counterexample=Example(values))
    assert settle(false).result.verdict is Verdict.REFUTED


@pytest.mark.parametrize(("name", "count"), [("half-inactive", 2), ("half-energy", 1)])
def test_added_hypotheses_are_needed(name, count):
    claim = BY_NAME[name]
    assert len(claim.added) == count
    for n in range(count):
        rest = tuple(h for k, h in enumerate(claim.added) if k != n)
        weaker = replace(claim, added=rest, witness=claim.witness if rest else None, proof=None)
        assert settle(weaker).result.verdict not in CONCLUDED
        assert by_script(weaker, claim.proof) not in CONCLUDED


# ---------------------------------------------------------------------- mutants of entropies

gate, p_on, lost, H = L.gate(L.p_on), L.p_on, L.lost, L.before
BIT_MUTANTS = [
    equal(lost, times(half, H)),
    equal(lost, L.log(L.M)),
    less(times(half, H), lost),
    equal(L.after, times(half, H)),
    less(lost, times(sp.Rational(1, 8), H)),
]


@pytest.mark.parametrize("conclusion", BIT_MUTANTS)
def test_mutants_of_the_bits(conclusion):
    wrong = mutant(L.IN_BITS, statement=implies(L.entropies, conclusion), proof=None)
    assert by_script(wrong, L.prove_in_bits) not in CONCLUDED
    assert by_script(wrong, None) not in CONCLUDED
    values = {L.M: 2 if conclusion not in BIT_MUTANTS[:1] else 1}
    numbers = np.array([1, -1] if values[L.M] == 1 else [1, 2, -1, -2])
    before = L.entropy_of(numbers) * np.log(2)
    after = L.entropy_of(forward(numbers.astype(float))) * np.log(2)
    assert not numerically(conclusion, {L.M: values[L.M], L.before: before, L.after: after})


GATE_MUTANTS = [
    at_most(L.log(2), gate),
    less(gate, L.log(2)),
    at_most(gate, times(half, L.log(2))),
    at_most(gate, L.log(sp.Rational(3, 2))),
    equal(gate, L.log(2)),
    implies(negation(equal(p_on, sp.Rational(1, 3))), less(gate, L.log(2))),
]


@pytest.mark.parametrize("conclusion", GATE_MUTANTS)
def test_mutants_of_the_gate(conclusion):
    wrong = mutant(L.GATE, statement=implies(L.is_share, conclusion))
    assert not set(verdicts(wrong)) & set(CONCLUDED)
    assert not all(numerically(conclusion, {p_on: share}) for share in (0.1, 0.5))


def test_the_gate_has_to_be_between_zero_and_one():
    for premise in (less(0, p_on), less(p_on, 1)):
        wrong = mutant(L.GATE, statement=implies(premise, L.largest))
        assert not set(verdicts(wrong)) & set(CONCLUDED)


def numerically(formula, values):
    """The truth of a relation, or an implication of relations, in floating point."""
    if isinstance(formula, sp.Implies):
        premise, conclusion = formula.args
        return not numerically(premise, values) or numerically(conclusion, values)
    if isinstance(formula, sp.Not):
        return not numerically(formula.args[0], values)
    a, b = (float(side.subs(values)) for side in formula.args)
    if isinstance(formula, sp.Eq):
        return abs(a - b) < 1e-12
    return a < b - 1e-12 if isinstance(formula, sp.Lt) else a <= b + 1e-12


# ---------------------------------------------------------------------- proofs and code


@pytest.mark.parametrize("largest", [1, 2, 5])
def test_entropies_are_those_of_enumerated_values(largest):
    before, after = (part.args[1] for part in L.entropies.args)
    values = np.concatenate([np.arange(1, largest + 1), -np.arange(1, largest + 1)]).astype(float)
    sizes = {L.M: largest}
    for symbolic, numbers in ((before, values), (after, forward(values))):
        exact = float(symbolic.subs(sizes).doit())
        assert exact == pytest.approx(L.entropy_of(numbers) * np.log(2), abs=1e-12)


def test_the_entropy_of_a_gate_is_that_of_its_outcomes():
    for active in (1, 3, 4):
        exact = float(L.gate(sp.Rational(active, 8)).subs({}).doit())
        numbers = np.array([1.0] * active + [-1.0] * (8 - active))
        assert exact == pytest.approx(L.entropy_of(forward(numbers)) * np.log(2), abs=1e-12)


def at_table(expression, table):
    """The exact value of a mean over the outcomes of a table."""
    converter = Converter()
    term = converter.term(expression)
    sizes = {converter.term(L.N): T.num(table[L.N])}
    tensors = {str(k.label): tensor_of(table[k]) for k in (L.P, L.z)}
    return literal(Normaliser().poly(T.substitute(term, sizes, tensors)))


def test_means_are_those_of_the_arrays():
    rng = np.random.default_rng(7)
    for _ in range(6):
        values = rng.integers(-3, 4, 5).tolist()
        weights = [Fraction(int(k), 100) for k in rng.multinomial(100, [0.2] * 5)]
        table = L.table(values, weights)
        numbers, p = np.array(values, float), np.array(weights, float)
        kept = forward(numbers)
        for expression, wanted in [
            (share, p @ (kept == 0)),
            (reversed_share, p @ (forward(-numbers) == 0)),
            (L.mean(at_zero), p @ (numbers == 0)),
            (L.mean(L.activated_square), p @ kept**2),
            (L.spread(relu), p @ (kept - p @ kept) ** 2),
            (L.spread(L.same), p @ (numbers - p @ numbers) ** 2),
        ]:
            assert float(at_table(expression, table)) == pytest.approx(float(wanted), abs=1e-12)


@pytest.mark.parametrize(("values", "meets"), [
    ([-2, 2], True), ([0], True), ([1, -1], True), ([1], False), ([-1, 3], False)])  # fmt: skip
def test_symmetric_tables_meet_the_hypothesis_and_others_do_not(values, meets):
    bare = mutant(L.HALF_ENERGY, statement=L.SYMMETRIC, proof=None)
    false = replace(bare, counterexample=Example(L.table(values)))
    assert settle(false).result.verdict is (Verdict.UNDECIDED if meets else Verdict.REFUTED)
    denied = replace(bare, statement=T.negate(L.SYMMETRIC),
                     counterexample=Example(L.table(values), double_negation))  # fmt: skip
    assert settle(denied).result.verdict is (Verdict.REFUTED if meets else Verdict.UNDECIDED)


def double_negation(p, goal):
    """not not q, from q."""
    supposed = goal.children[0]
    holds = auto.prove(p, supposed.children[0])
    absurd = infer("contradiction", [holds, p.assume(supposed)], goal)
    return infer("deny", [absurd], supposed)
