"""Scores of position encodings: verdicts, replay, twins, mutants, agreement with NumPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from claim_checks import CONCLUDED, mutant, proved_by, settle, verdicts

from derive.claim import Example, Given
from derive.claims import positional_scores as S
from derive.claims._positions import (
    ENCODING,
    angle,
    cos,
    exists_function,
    i,
    j,
    k,
    other,
    pos,
    sin,
    turned,
)
from derive.convert import Converter
from derive.language import at_most, both, equal, forall, iff, implies, less, plus, times, total
from derive.prover import Prover
from derive.result import Verdict
from numeric import position_encoding, shift_matrix

BY_NAME = {c.id.split("/")[1]: c for c in S.CLAIMS}


def test_verdicts_and_places():
    refuted = {n for n, c in BY_NAME.items() if c.expected is Verdict.REFUTED}
    assert refuted == {"any-form", "tokens"}
    assert {p for c in S.CLAIMS for p in c.source.places} == {"A20"}


def test_counterexamples_at_whole_positions():
    shown = {n: settle(BY_NAME[n]).result.counterexamples[0] for n in ("any-form", "tokens")}
    assert shown["any-form"].latex == r"\sin^{2}(1) \ne 0"
    assert {shown[n].values["m"] for n in shown} == {"1"}


def test_the_turned_vectors_need_no_hypothesis():
    assert settle(S.TURNED).result.hypotheses == ()


# ---------------------------------------------------------------------- mutants


def entries(*values):
    """Other blocks than a I + b J."""
    places = ((0, 0), (0, 1), (1, 0), (1, 1))
    return both(
        *(
            forall([i, j], equal(S.B(2 * i + e, 2 * j + f), times(S.same_pair, v)))
            for (e, f), v in zip(places, values, strict=True)
        )
    )


alpha, beta = S.alpha[i], S.beta[i]
gap = turned(pos, other)
opposite = total(plus(times(alpha, cos(gap)), times(-1, beta, sin(gap))), i)
without_pair = exists_function("B", forall([pos, other], equal(S.score(pos, other), cos(gap))))
forms = {
    "opposite signs on the diagonal": (
        entries(alpha, beta, times(-1, beta), times(-1, alpha)), S.by_offset,
    ),
    "sign of the sine": (S.ANY_FORM.correction.statement.args[0], opposite),
}  # fmt: skip
MUTANTS = {
    "turn: sine of the other sign": mutant(
        S.TURN, statement=both(equal(S.overlap, cos(angle(k))), equal(S.area, sin(angle(-k))))
    ),
    "turn: no cosines": mutant(S.TURN, given=(*ENCODING[:3], Given(equal(0, 0)))),
    "any form: as claimed": mutant(S.ANY_FORM),
    "tokens: as claimed": mutant(S.TOKENS),
    "tokens: no cross term": mutant(
        S.TOKENS,
        statement=equal(
            S.token_score(pos, other), plus(*S.four_terms.args[:2], total(cos(gap), i))
        ),
    ),
    "pair: symmetric": mutant(
        S.PAIR_IFF, statement=iff(S.OFFSET_ONLY, both(equal(S.u, S.z), equal(S.v, S.w)))
    ),
    "pair: one condition": mutant(S.PAIR_IFF, statement=iff(S.OFFSET_ONLY, equal(S.u, S.z))),
    "pair: any matrix": mutant(S.PAIR_IFF, statement=S.OFFSET_ONLY),
    "pair: opposite diagonal": mutant(
        S.PAIR_IFF,
        statement=implies(
            both(equal(S.u, times(-1, S.z)), equal(S.v, times(-1, S.w))), S.OFFSET_ONLY
        ),
    ),
    "pairs: the same one, perhaps": mutant(
        S.MIXED, statement=implies(at_most(i, j), iff(S.MIXED_OFFSET_ONLY, S.NOTHING))
    ),
    "pairs: in any order": mutant(S.MIXED, statement=iff(S.MIXED_OFFSET_ONLY, S.NOTHING)),
    "pairs: blocks as within one": mutant(
        S.MIXED, statement=implies(less(i, j), iff(S.MIXED_OFFSET_ONLY, S.BLOCK))
    ),
    "pairs: always": mutant(S.MIXED, statement=implies(less(i, j), S.MIXED_OFFSET_ONLY)),
    "pairs: any frequencies": mutant(
        S.MIXED, given=(ENCODING[0], Given(equal(0, 0)), *ENCODING[2:])
    ),
    "possible: one pair for all": mutant(S.POSSIBLE, statement=without_pair),
    "turned: products of one parity": mutant(
        S.TURNED,
        statement=equal(
            S.turned_score(pos, other),
            total(times(plus(S.products(0, 0), S.products(1, 1)), cos(gap)), i),
        ),
    ),
    **{
        f"blocks: {name}": mutant(
            S.ANY_FORM,
            statement=implies(premise, equal(S.score(pos, other), conclusion)),
            proof=S.prove_blocks,
        )
        for name, (premise, conclusion) in forms.items()
    },
}  # fmt: skip
#: Mutants about all matrices or all positions.
WITHOUT_SEARCH = [n for n in MUTANTS if not n.startswith("turn:")]


@pytest.mark.parametrize("name", WITHOUT_SEARCH)
def test_no_mutant_is_proved_by_hand_or_alone(name):
    assert not proved_by(MUTANTS[name])


@pytest.mark.parametrize("name", [n for n in MUTANTS if n not in WITHOUT_SEARCH])
def test_no_mutant_is_proved(name):
    by_hand, alone = verdicts(MUTANTS[name])
    assert by_hand not in CONCLUDED
    assert alone not in CONCLUDED


@pytest.mark.parametrize(
    ("claim", "values", "sound"),
    [
        (S.ANY_FORM, {S.form_entries: [[1, 0], [0, 0]]}, True),
        (S.ANY_FORM, {S.form_entries: [[1, 0], [0, 1]]}, False),
        (S.ANY_FORM, {S.form_entries: [[0, 1], [-1, 0]]}, False),
        (S.TOKENS, {S.token: [1, 0], S.next_token: [0, 0]}, True),
        (S.TOKENS, {S.token: [0, 0], S.next_token: [0, 0]}, False),
    ],
)
def test_counterexamples_have_to_break_the_statement(claim, values, sound):
    example = Example({**S.FROM_ORIGIN, **values}, claim.counterexample.proof)
    verdict = settle(mutant(claim, counterexample=example)).result.verdict
    assert verdict is (Verdict.REFUTED if sound else Verdict.UNDECIDED)


# ---------------------------------------------------------------------- NumPy


@pytest.mark.parametrize("width", [2, 4, 6])
def test_definitions_are_those_of_the_arrays(width):
    """The sums of the statements, entry by entry, against matrix products."""
    rng = np.random.default_rng(0)
    form = rng.standard_normal((width, width))
    one, two = rng.standard_normal((2, width))
    p, q = rng.uniform(-20, 20, 2)
    at, to = position_encoding([p, q], width)
    w = [10000 ** (-2 * e / width) for e in range(width // 2)]

    def encoded(x):
        return [f(x * v) for v in w for f in (math.sin, math.cos)]

    double = sum(
        encoded(p)[e] * form[e, f] * encoded(q)[f] for e in range(width) for f in range(width)
    )
    np.testing.assert_allclose(at @ form @ to, double, atol=1e-12)
    added = sum((one[e] + encoded(p)[e]) * (two[e] + encoded(q)[e]) for e in range(width))
    np.testing.assert_allclose((one + at) @ (two + to), added, atol=1e-12)
    turned_one, turned_two = (
        [
            value
            for e, v in enumerate(w)
            for value in (
                math.cos(x * v) * y[2 * e] + math.sin(x * v) * y[2 * e + 1],
                -math.sin(x * v) * y[2 * e] + math.cos(x * v) * y[2 * e + 1],
            )
        ]
        for x, y in ((p, one), (q, two))
    )
    scored = (shift_matrix(p, width) @ one) @ (shift_matrix(q, width) @ two)
    np.testing.assert_allclose(np.dot(turned_one, turned_two), scored, atol=1e-12)


def test_sin_one_is_shown_not_to_vanish():
    theorem = S.sine_of_one(Prover(Converter(), ()))
    assert not theorem.hypotheses
    assert theorem.axioms >= {"pi-irrational", "cos-one"}
