"""Frequencies of the position encoding: verdicts, replay, twins, mutants, agreement with NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from claim_checks import CONCLUDED, mutant, proved_by, settle, verdicts

from derive.claim import Example, Given
from derive.claims import positional_frequencies as F
from derive.claims._positions import ENCODING, cosine, d, i, j, k, omega, pos, r, sin, sine
from derive.convert import Converter
from derive.language import (
    GradientIs,
    at_most,
    both,
    equal,
    forall,
    implies,
    less,
    over,
    plus,
    power,
    times,
)
from derive.prover import Prover
from derive.result import Verdict
from numeric import frequencies, position_encoding

BY_NAME = {c.id.split("/")[1]: c for c in F.CLAIMS}
MATHEMATICAL = [n for n, c in BY_NAME.items() if c.statement is not None]


def test_verdicts_and_places():
    kinds = {n: c.expected.value for n, c in BY_NAME.items() if c.expected is not Verdict.PROVED}
    assert kinds == {"any-offset": "refuted", "meaning": "not-mathematical"}
    assert {p for c in F.CLAIMS for p in c.source.places} == {"A21"}


def test_only_the_order_of_steps_needs_bounds_of_the_sine():
    used = {n: {x.name for x in settle(BY_NAME[n]).result.axioms} for n in MATHEMATICAL}
    bounds = {"sin-lower", "sin-upper"}
    assert {n for n in used if used[n] & bounds} == {"one-step", "any-offset"}
    assert used["one-step"] & bounds == {"sin-lower"}


def test_the_counterexample_shows_the_opposite_of_what_is_refuted():
    (shown,) = settle(BY_NAME["any-offset"]).result.counterexamples
    assert r" \ge " in shown.latex
    assert "<" not in shown.latex


def mp_prover():
    return Prover(Converter(), ())


def test_the_sine_is_shown_to_be_positive_up_to_three():
    for top in (2, 3):
        theorem = F.positive_sines(mp_prover(), top)
        assert not theorem.hypotheses


@pytest.mark.parametrize("top", [4, 10])
def test_and_no_further(top):
    p = mp_prover()
    premise = both(less(0, F.any_angle), at_most(F.any_angle, top))
    with p.supposing(premise) as case, pytest.raises(Exception, match="left over"):
        F.sine_positive_to_three(p, F.any_angle, p.part(case, 0), p.part(case, 1))


# ---------------------------------------------------------------------- mutants

first, second = F.VELOCITY
gap, wave = F.gap, F.wavelength
MUTANTS = {
    "decreasing: increasing": mutant(
        F.FALLING, statement=forall([i, j], implies(less(i, j), less(omega[i], omega[j])))
    ),
    "decreasing: without order": mutant(
        F.FALLING, statement=forall([i, j], less(omega[j], omega[i]))
    ),
    "decreasing: below 1 percent": mutant(F.FALLING, statement=forall(i, less(omega[i], 1))),
    "period: half of it": mutant(
        F.WAVES, statement=equal(sine(plus(pos, over(sp.pi, omega[i])), i), sine(pos, i))
    ),
    "period: cosine at half of it": mutant(
        F.WAVES, statement=equal(cosine(plus(pos, over(sp.pi, omega[i])), i), cosine(pos, i))
    ),
    "wavelengths: the step": mutant(
        F.WAVELENGTHS,
        statement=both(
            equal(wave(0), times(2, sp.pi)),
            forall([i, j], implies(equal(j, plus(i, 1)), equal(wave(j), times(10000, wave(i))))),
        ),
    ),
    "wavelengths: downwards": mutant(
        F.WAVELENGTHS,
        statement=both(
            equal(wave(0), times(2, sp.pi)),
            forall(
                [i, j],
                implies(
                    equal(i, plus(j, 1)),
                    equal(wave(j), times(power(10000, over(2, d)), wave(i))),
                ),
            ),
        ),
    ),
    "longest: 10000 turns": mutant(
        F.LONGEST_WAVE, statement=equal(wave(F.last), times(2, sp.pi, 10000))
    ),
    "speed: twice": mutant(
        F.SPEED,
        statement=equal(plus(power(first, 2), power(second, 2)), times(2, power(omega[i], 2))),
    ),
    "speed: sign of the cosine": mutant(
        F.SPEED,
        statement=GradientIs(
            F.cos(F.turn), F.t, F.u_index, times(F.same_token, omega[i], sin(F.turn))
        ),
    ),
    "speed: frequency forgotten": mutant(
        F.SPEED,
        statement=GradientIs(
            sin(F.turn), F.t, F.u_index, times(F.same_token, F.cos(F.turn))
        ),
    ),
    "step: no cosines": mutant(F.STEP, given=(*ENCODING[:3], Given(equal(0, 0)))),
    "one step: the other way": mutant(
        F.ONE_STEP, statement=implies(less(i, j), less(gap(1, i), gap(1, j)))
    ),
    "one step: five steps": mutant(
        F.ONE_STEP, statement=implies(less(i, j), less(gap(5, j), gap(5, i)))
    ),
    "any offset: as claimed": mutant(F.LARGER, proof=F.prove_few_steps),
    "any offset: up to 6": mutant(
        F.LARGER,
        statement=implies(
            both(less(i, j), less(0, k), at_most(k, 6)), less(gap(k, j), gap(k, i))
        ),
        proof=F.prove_few_steps,
    ),
    "any offset: offset 0": mutant(
        F.LARGER,
        statement=implies(
            both(less(i, j), at_most(0, k), at_most(k, 3)), less(gap(k, j), gap(k, i))
        ),
        proof=F.prove_few_steps,
    ),
}  # fmt: skip
REFUTED = {
    "decreasing: increasing", "decreasing: without order", "decreasing: below 1 percent",
    "speed: twice",
}  # fmt: skip


#: Mutants about all positions and offsets.
WITHOUT_SEARCH = [
    n for n in MUTANTS if n.startswith(("any offset", "one step: the", "one step: f"))
]


@pytest.mark.parametrize("name", WITHOUT_SEARCH)
def test_no_mutant_is_proved_by_hand_or_alone(name):
    assert not proved_by(MUTANTS[name])


@pytest.mark.parametrize("name", [n for n in MUTANTS if n not in WITHOUT_SEARCH])
def test_no_mutant_is_proved(name):
    by_hand, alone = verdicts(MUTANTS[name])
    assert by_hand not in CONCLUDED
    assert alone not in CONCLUDED
    if name in REFUTED:
        assert alone is Verdict.REFUTED


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_few_steps_are_no_counterexample(steps):
    values = {r: 4, d: 8, i: 0, j: 1, pos: 0, F.steps: steps}
    example = Example(values, F.LARGER.counterexample.proof)
    assert settle(mutant(F.LARGER, counterexample=example)).result.verdict is Verdict.UNDECIDED


# ---------------------------------------------------------------------- NumPy


@pytest.mark.parametrize("width", [2, 4, 6, 64])
def test_gaps_are_those_of_the_arrays(width):
    w, offset, position = frequencies(width), 2.5, 7.25
    measured = F.gaps(width, offset, np.array([position]))[0]
    there, here = (position + offset) * w, position * w
    written = (np.sin(there) - np.sin(here)) ** 2 + (np.cos(there) - np.cos(here)) ** 2
    np.testing.assert_allclose(measured, written, atol=1e-12)
    changed = position_encoding([position + offset], width) - position_encoding([position], width)
    assert np.sum(changed**2) == pytest.approx(measured.sum())


def test_mutated_statements_are_false_in_numbers():
    """Where the search does not find it: five steps, six steps, the last wavelength."""
    five = F.gaps(8, 5.0, np.zeros(1))[0]
    six = F.gaps(8, 6.0, np.zeros(1))[0]
    wide = F.gaps(512, 5.0, np.zeros(1))[0]
    assert six[1] > six[0] + 0.2
    assert wide[1] > wide[0]
    assert five[1] < five[0]
    assert 1 / frequencies(512)[-1] < 9647


def test_the_sine_of_three_is_as_small_as_is_shown():
    theorem = F.sine_of_three(mp_prover())
    assert not theorem.hypotheses
    assert np.sin(3) ** 2 < 0.06
