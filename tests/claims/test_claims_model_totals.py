"""The totals of the families: verdicts, replay, twins, and what a wrong count meets."""

from __future__ import annotations

import pytest
from claim_checks import mutant, settle, verdicts, without

from derive.claims import _stored_models, model_totals, model_totals_costs
from derive.claims.model_totals import at, components, summands, total_of
from derive.count import closed, families, sizes
from derive.kernel import terms as T
from derive.result import TwinStatus, Verdict

TOTALS = {c.id.split("/")[1]: c for c in model_totals.CLAIMS}
COSTS = {c.id.split("/")[1]: c for c in model_totals_costs.CLAIMS}
ALL = {**TOTALS, **COSTS}
REFUSED = (Verdict.REFUTED, Verdict.UNDECIDED)


@pytest.mark.parametrize("name", ALL)
def test_all_that_is_supposed_is_notation(name):
    assert all(h.notation for h in settle(ALL[name]).result.hypotheses)


@pytest.mark.parametrize("name", ALL)
def test_a_total_that_is_off_by_one_vector_is_refuted(name):
    *parts, last = ALL[name].statement.children
    wrong = T.eq(last.children[0], T.add(last.children[1], sizes.d_model))
    claim = mutant(ALL[name], statement=T.conj(*parts, wrong))
    by_hand, alone = verdicts(claim)
    assert (by_hand in REFUSED, alone) == (True, Verdict.REFUTED)


LISTS = {"gpt": families.gpt(), "llama": families.llama(), "vit": families.vit()}


@pytest.mark.parametrize("name", LISTS)
def test_a_component_without_one_of_its_tensors_is_refuted(name):
    """Each component's closed form replaced by that of a shorter list."""
    first = TOTALS[name].statement.children
    for k, part in enumerate(components(LISTS[name].weights)):
        for left_out in range(len(part.tensors)):
            fewer = part.tensors[:left_out] + part.tensors[left_out + 1 :]
            wrong = T.eq(part.number, closed.collected(summands(fewer)))
            claim = mutant(TOTALS[name], statement=wrong, proof=None, given=(part.definition,))
            assert settle(claim).result.verdict is Verdict.REFUTED
            right = mutant(claim, statement=first[k])
            assert settle(right).result.verdict is Verdict.PROVED


def test_totals_that_others_print():
    """Familiar mistakes, against the arrays of the twin."""
    case = {"L": 3, "d_model": 4, "d_ff": 16, "V": 11, "n_ctx": 5}
    right = at(total_of(families.gpt().weights), case)
    assert right == sum(_stored_models.gpt(case).values())
    d, layers = case["d_model"], case["L"]
    twelve = 12 * layers * d**2
    mistakes = (twelve, twelve + case["V"] * d, twelve + 13 * layers * d + case["V"] * d)
    assert right == twelve + 13 * layers * d + (case["V"] + case["n_ctx"]) * d + 2 * d
    assert right not in mistakes


@pytest.mark.parametrize("name", TOTALS)
def test_no_count_can_be_left_undefined(name):
    """Without one of the definitions the automatic prover does not get there."""
    for position in range(len(TOTALS[name].given)):
        claim = mutant(TOTALS[name], given=without(TOTALS[name], position), proof=None)
        assert settle(claim).result.verdict in REFUSED


@pytest.mark.parametrize("name", [n for n in COSTS if n != "llama-memory"])
def test_gradients_cost_twice_the_products_and_not_three_times(name):
    *parts, last = COSTS[name].statement.children
    wrong = T.eq(last.children[0], T.mul(T.num(3), last.children[1].children[1]))
    assert verdicts(mutant(COSTS[name], statement=T.conj(*parts, wrong)))[1] is Verdict.REFUTED


def test_a_twin_of_other_arrays_disagrees():
    """Arrays of a model with one bias less."""
    claim = TOTALS["bert"]
    stored = _stored_models.bert
    fewer = lambda s: {**stored(s), "pooler": s["d_model"] ** 2}  # noqa: E731
    twin = model_totals.twin_of(
        components(families.bert().weights), total_of(families.bert().weights), fewer,
        model_totals.cases("L d_model d_ff V n_ctx n_seg", (3, 4, 7, 11, 5, 2)),
    )  # fmt: skip
    assert twin.run(0, claim.id).status is TwinStatus.DISAGREES


def test_a_twin_without_a_component_disagrees():
    def fewer(s):
        return {k: v for k, v in _stored_models.gpt(s).items() if k != "positions"}

    twin = model_totals.twin_of((), T.ZERO, fewer, [{"L": 1, "d_model": 1, "d_ff": 1, "V": 1,
                                                     "n_ctx": 1}])  # fmt: skip
    assert twin.run(0, "x/y").status is TwinStatus.DISAGREES
