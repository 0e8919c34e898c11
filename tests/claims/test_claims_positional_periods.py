"""Real positions with one encoding: verdict, replay, twin, mutants, and the number theory."""

from __future__ import annotations

import pytest
from claim_checks import is_false_at, mutant, proved_by, settle

from derive.claim import Given
from derive.claims import positional_periods as P
from derive.claims._positions import ENCODING, d, i, omega, other, pos, r
from derive.claims.positional_uniqueness import common_period, injective
from derive.convert import Converter
from derive.kernel import terms as T
from derive.kernel.rules import Theorem
from derive.language import both, equal, forall, implies, negation, over, power
from derive.prover import Prover
from derive.result import Verdict
from derive.search import NotFound

CLAIM = P.UNIQUE_OTHERWISE


def test_what_it_rests_on():
    result = settle(CLAIM).result
    assert all(h.used for h in result.hypotheses)
    assert {x.name for x in result.axioms} >= {"cos-one", "log-product"}
    assert "pi-irrational" not in {x.name for x in result.axioms}


# ---------------------------------------------------------------------- mutants


def unless(*pairs):
    return implies(both(*(negation(equal(r, n)) for n in pairs)), injective(pos, other))


def of_base(base):
    """The hypotheses with another base."""
    stretch = power(base, over(2 * i, d))
    frequencies = Given(forall(i, equal(omega[i], over(1, stretch))))
    return (ENCODING[0], frequencies, *ENCODING[2:])


MUTANTS = {
    "two pairs": unless(1, 4, 7),
    "four pairs": unless(1, 2, 7),
    "any number": injective(pos, other),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_no_mutant_is_proved(name):
    assert not proved_by(mutant(CLAIM, statement=MUTANTS[name]))


@pytest.mark.parametrize("base", [64, 1024, 100, 1])
def test_another_base_is_another_matter(base):
    """64 has a rational third root and 1024 a fifth one; the proof does not go through for 100."""
    assert not proved_by(mutant(CLAIM, given=of_base(base)))


def test_without_the_frequencies():
    given = (ENCODING[0], Given(equal(0, 0)), *ENCODING[2:])
    assert not proved_by(mutant(CLAIM, given=given))


def test_at_one_pair_nothing_is_shown_to_fail():
    assert not is_false_at(CLAIM, {r: 1, pos: 0, other: 2 * P.sp.pi})


@pytest.mark.parametrize("width", [4, 8])
def test_at_two_and_four_pairs_the_statement_fails(width):
    statement = implies(equal(d, width), injective(pos, other))
    claim = mutant(CLAIM, statement=statement, proof=None, counterexample=common_period(width))
    assert settle(claim).result.verdict is Verdict.REFUTED


# ---------------------------------------------------------------------- number theory


def prover():
    return Prover(Converter(), ())


@pytest.mark.parametrize("lemma", [P.whole_powers, P.odd_powers, P.three_pairs, P.halving_three])
def test_lemmas_stand_alone(lemma):
    theorem: Theorem = lemma(prover())
    assert not theorem.hypotheses


@pytest.mark.parametrize("least", [1, 2, 3, 4])
def test_fewer_than_five_pairs_are_not_enough_for_the_descent(least):
    """2^4 = 16 divides 10000 as often as the left side: there is a solution, 10^4 = 10000."""
    p = prover()
    with p.supposing(T.le(T.num(least), P.PAIRS)) as few, pytest.raises((T.KernelError, NotFound)):
        P.many_pairs(p, few)


def test_five_pairs_are():
    p = prover()
    with p.supposing(T.le(T.num(5), P.PAIRS)) as five:
        theorem = P.many_pairs(p, five)
    assert theorem.hypotheses == {five.conclusion}


def test_there_are_solutions_for_other_numbers_of_pairs():
    found = {
        n: [(x, y) for y in range(1, 12) for x in range(1, 10**5) if x**n == 10_000 * y**n][:1]
        for n in (1, 2, 4)
    }
    assert found == {1: [(10_000, 1)], 2: [(100, 1)], 4: [(10, 1)]}
    for n in (3, 5, 6, 7, 8):
        roots = [round((10_000 * y**n) ** (1 / n)) for y in range(1, 400)]
        assert not [y for y, x in enumerate(roots, 1) if x**n == 10_000 * y**n]
