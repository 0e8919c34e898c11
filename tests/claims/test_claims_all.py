"""What holds of every claim, found as the program finds them: nothing is listed here."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from claim_checks import CONCLUDED, settle, stray_lines
from mutate import accepted_as_the_same, in_a_witness, in_every_field, mutations, shown_by

from derive import runner, translations
from derive.catalogue import all_claims
from derive.claim import Claim, Script
from derive.kernel.check import check
from derive.mutations import as_claim, made_for, with_mutations
from derive.places import NOTES
from derive.result import MutationView, TwinStatus, Verdict

CLAIMS = {c.id: c for c in all_claims()}
#: How many hypotheses a proof does not need, where the source states more than it takes.
SPARE = {
    "parameters/likewise": 1,
    "operation-counts/layer-order-long": 1,
    "positional-encoding/range": 1,
    "positional-encoding/origin": 2,
    "positional-encoding/norm": 1,
    "positional-encoding/no-gap": 1,
    "positional-encoding/inner-product": 1,
    "positional-encoding/unique-by-sines": 2,
    "positional-encoding/distance": 1,
    "positional-encoding/rotation": 2,
    "positional-encoding/rotation-only": 1,
    "positional-encoding/linear-shift": 1,
    "positional-scores/turn": 2,
    "positional-scores/pair-iff": 1,
    "positional-scores/different-pairs": 1,
    "positional-scores/possible": 1,
    "positional-frequencies/decreasing": 1,
    "positional-frequencies/period": 1,
    "positional-frequencies/wavelengths": 1,
    "positional-frequencies/step": 2,
    "positional-frequencies/one-step": 1,
    "layer-norm/sample-deviation": 1,
    "layer-norm/near-constant-rows": 1,
}
#: How many alterations of each log are sealed anew and given to the replay, and of how many steps
#: every field is (``--all-steps``: of all).
RESEALED = 6
STEPS = 2
#: All that concerns one claim runs in turn, so that one process settles it once.
each_claim = pytest.mark.parametrize("name", CLAIMS, scope="module")


def test_the_runner_puts_it_together() -> None:
    """Proof, replay in another process, and twin; every claim by itself is tested below."""
    results = runner.verify(list(CLAIMS.values())[::12])
    assert not runner.failed(results)
    for result in results:
        assert result.verdict is CLAIMS[result.id].expected
        if result.verdict is not Verdict.NOT_MATHEMATICAL:
            assert result.replayed, result.id
            assert result.twin.status is TwinStatus.AGREES
            assert result.twin.trials > 0


@each_claim
def test_every_text_has_a_translation(name: str) -> None:
    """``python -m derive.translations`` says the same of all claims at once."""
    claim = CLAIMS[name]
    said = tuple(MutationView(m.says) for m in made_for(claim))
    result = replace(settle(claim).result, mutations=said)
    if claim.twin is not None:
        result = replace(result, twin=claim.twin.run(0, name))
    assert translations.faults(translations.of_claims([result])) == []


@each_claim
def test_the_twin_agrees_whatever_the_seed(name: str) -> None:
    twin = CLAIMS[name].twin
    assert (twin is None) is (CLAIMS[name].statement is None)
    found = [twin.run(seed, name) for seed in (1, 59)] if twin else []
    assert [v.reason for v in found if v.status is not TwinStatus.AGREES] == []


@each_claim
def test_the_logs_show_the_goals_of_the_claim(name: str) -> None:
    s = settle(CLAIMS[name])
    assert s.result.verdict is CLAIMS[name].expected, s.result.reason
    assert bool(s.logs) is (s.result.verdict is not Verdict.NOT_MATHEMATICAL)
    for log, goal, kind in zip(s.logs, s.goals, s.kinds, strict=True):
        shown = check(log)
        assert (shown.goal.key.hex(), shown.kind) == (goal, kind)


@each_claim
def test_what_is_displayed_is_what_is_proved(name: str) -> None:
    """Every line of a derivation is a step of the proof that is replayed."""
    assert stray_lines(CLAIMS[name]) == []


@each_claim
def test_no_line_repeats_the_one_before(name: str) -> None:
    """What a line says again is another case or a new supposition, for which it has a reason."""
    result = settle(CLAIMS[name]).result
    for lines in (result.steps, result.correction_steps):
        assert [x for x, y in pairwise(lines) if (x.latex, x.reason) == (y.latex, y.reason)] == []
        assert [
            x for x in lines if x.latex.count(" = ") == 1 and len({*x.latex.split(" = ")}) == 1
        ] == []


def test_titles_of_refuted_claims_say_what_is_claimed() -> None:
    """So that a title reads rightly behind the verdict: what is refuted, not what is true."""
    denial = re.compile(r"\bnor\b|(?<!that )\b(is|are|do|does|need|can) ?not\b", re.IGNORECASE)
    titles = [c.title for c in CLAIMS.values() if c.expected is Verdict.REFUTED]
    assert len(titles) > 50
    assert [title for title in titles if denial.search(title)] == []


@each_claim
def test_what_is_supposed_is_needed(name: str) -> None:
    result = settle(CLAIMS[name]).result
    spare = [h for h in result.hypotheses if not h.used]
    if result.verdict in CONCLUDED:
        assert len(spare) == SPARE.get(name, 0)
    else:
        assert name not in SPARE


@each_claim
def test_what_is_proved_can_be_read(name: str) -> None:
    """A derivation has lines, and every line has a reason in words or as a formula."""
    result = settle(CLAIMS[name]).result
    steps = result.correction_steps if result.verdict is Verdict.REFUTED else result.steps
    if result.verdict in (Verdict.PROVED, Verdict.CONDITIONAL) or result.correction:
        assert steps
    assert all(re.search(r"[A-Za-z]{2}|\$.*=.*\$", s.reason) for s in steps)


@each_claim
def test_no_altered_log_passes_the_digest(name: str) -> None:
    for log in settle(CLAIMS[name]).logs:
        for description, altered in mutations(log, at_most=15, seed=1):
            assert shown_by(altered) is None, description


def chosen_steps(log: Any, name: str, request: pytest.FixtureRequest) -> Sequence[int]:
    """All steps of a log, or a sample of them without ``--all-steps``."""
    steps = range(len(log["steps"]))
    if request.config.getoption("all_steps"):
        return steps
    return random.Random(name).sample(steps, min(STEPS, len(steps)))


@each_claim
def test_no_field_of_a_step_can_be_altered(name: str, request: pytest.FixtureRequest) -> None:
    for log in settle(CLAIMS[name]).logs:
        for number in chosen_steps(log, name, request):
            step = log["steps"][number]
            for field, value in step.items():
                step[field] = [*value, 0] if isinstance(value, list) else f"{value}0"
                assert shown_by(log) is None, f"step {number}: {field}"
                step[field] = value
        assert shown_by(log) is not None


@each_claim
def test_an_altered_log_that_is_sealed_again_shows_nothing_false(name: str) -> None:
    """What is left of the same statement is another proof of it: a name, an order, a spare fact."""
    for log in settle(CLAIMS[name]).logs:
        altered = mutations(log, reseal=True, at_most=RESEALED, seed=2)
        survivors = accepted_as_the_same(log, altered)
        assert all(in_a_witness(description) for description, _ in survivors)


@each_claim
def test_no_field_of_a_step_can_be_altered_and_sealed_again(
    name: str, request: pytest.FixtureRequest
) -> None:
    for log in settle(CLAIMS[name]).logs:
        altered = in_every_field(log, chosen_steps(log, name, request), seed=3)
        survivors = accepted_as_the_same(log, altered)
        assert all(in_a_witness(description) for description, _ in survivors)


@each_claim
def test_the_claim_says_what_the_source_says(name: str) -> None:
    claim: Claim = CLAIMS[name]
    assert len(claim.source.says) > 20
    assert bool(claim.source.places) is (claim.source.document in NOTES)
    assert all(re.fullmatch(r"[AB]\d\d|B01[ab]", p) for p in claim.source.places)


def test_the_same_seed_gives_the_same_twins() -> None:
    name = next(iter(CLAIMS))
    twin = CLAIMS[name].twin
    assert twin is not None
    assert twin.run(3, name) == twin.run(3, name)


@each_claim
def test_mutations_are_caught(name: str) -> None:
    claim = CLAIMS[name]
    (result,) = with_mutations([settle(claim).result], [claim])
    assert bool(result.mutations) is (claim.mutations is not None)
    assert [m.says for m in result.mutations if not m.caught] == []
    for mutation in made_for(claim):
        mistaken = as_claim(claim, mutation, 1)
        if mistaken.statement is not None:
            own = replace(mistaken, counterexample=None, proof=script(claim))
            assert own.proof is None or own_verdict(own) not in CONCLUDED


def script(claim: Claim) -> Script | None:
    """The proof that the claim gives, of its statement or of what should stand there."""
    return claim.proof or (claim.correction.proof if claim.correction is not None else None)


def own_verdict(claim: Claim) -> Verdict | None:
    """What the claim's own script makes of it; None where it stumbles over what is missing."""
    try:
        return settle(claim).result.verdict
    except (LookupError, AttributeError, TypeError):
        return None
