"""Closed forms: every family, at random sizes, against arrays; and what a wrong list would do."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from derive.claims import _stored_models
from derive.count import closed, families, sizes
from derive.count.closed import Closed, Summand
from derive.count.counting import count
from derive.count.description import Tensor
from derive.count.families import GptOptions, LlamaOptions, OriginalOptions
from derive.count.models import Model
from derive.kernel import terms as T
from derive.kernel.rules import Refused, infer

OPT = GptOptions(
    "opt", "OPT", positions=T.add(sizes.context, T.num(2)), norm_first=False, final_norm=False,
    projected=True,
)  # fmt: skip
FAMILIES = {
    "gpt": (families.gpt(), _stored_models.gpt),
    "opt": (families.gpt(OPT), _stored_models.opt),
    "bert": (families.bert(), _stored_models.bert),
    "llama": (families.llama(), _stored_models.llama),
    "mixture": (families.llama(LlamaOptions(mixture=True)), _stored_models.mixture),
    "palm": (families.palm(), _stored_models.palm),
    "gopher": (families.gopher(), _stored_models.gopher),
    "t5": (families.t5(), _stored_models.t5),
    "t5-gated": (families.t5(gated=True), _stored_models.t5_gated),
    "original": (families.original(), _stored_models.original),
    "vit": (families.vit(), _stored_models.vit),
}
d, L = sizes.d_model, sizes.layers


@pytest.mark.parametrize("name", list(FAMILIES))
@settings(max_examples=8, deadline=None, derandomize=True, database=None,
          suppress_health_check=[HealthCheck.differing_executors])  # fmt: skip
@given(data=st.data())
def test_totals_are_those_of_arrays(name: str, data: st.DataObject) -> None:
    architecture, stored = FAMILIES[name]
    values = {x: data.draw(st.integers(1, 6), str(x.data[0])) for x in sizes.MEANINGS}
    found = count(Model(name, architecture, values, 1, lengths=()))
    arrays = stored({str(x.data[0]): size for x, size in values.items()})
    assert {part: q.number for part, q in found.components.items()} == arrays
    assert found.total.number == sum(arrays.values())
    assert found.ffn_share == Fraction(arrays["feed-forward"], sum(arrays.values()))


def built(t: Tensor, values: dict[T.Term, int]) -> int:
    """The entries of the arrays that the list describes, built one by one."""
    copies = np.prod([int(closed.value(x, values)) for x in t.copies], dtype=int)
    shape = tuple(int(closed.value(x, values)) for x in t.shape)
    return sum(np.empty(shape).size for _ in range(copies))


@pytest.mark.parametrize("options", [
    GptOptions(bias=False), GptOptions(tied=False), GptOptions(norm_parameters=False),
    GptOptions(free_widths=True), GptOptions(positions=None), OriginalOptions(True, True, 1),
    OriginalOptions(shared=2), LlamaOptions(network_bias=True, tied=True),
])  # fmt: skip
def test_options_count_what_their_lists_hold(options) -> None:
    make = {GptOptions: families.gpt, OriginalOptions: families.original,
            LlamaOptions: families.llama}[type(options)]  # fmt: skip
    architecture = make(options)
    values = {x: 2 + k % 3 for k, x in enumerate(sizes.MEANINGS)}
    found = count(Model("x", architecture, values, 1, lengths=()))
    assert found.total.number == sum(built(t, values) for t in architecture.weights)


def test_options_change_the_total_by_what_they_say() -> None:
    values = {x: 3 for x in sizes.MEANINGS} | {d: 5, sizes.vocabulary: 7, L: 2}

    def total(architecture) -> int:
        return closed.of_tensors(architecture.weights).at(values)

    untied = total(families.gpt(GptOptions(tied=False)))
    assert untied - total(families.gpt()) == 7 * 5
    one, two, three = (total(families.original(OriginalOptions(shared=s))) for s in (1, 2, 3))
    assert (one - two, two - three) == (35, 35)
    assert total(families.original(OriginalOptions(final_norms=True))) - three == 4 * 5
    assert total(families.palm(norm_parameters=True)) - total(families.palm()) == (2 + 1) * 5
    relative = total(families.gopher()) - total(families.gopher(relative=False))
    assert relative == 2 * 5 * 9


# ---------------------------------------------------------------------- must fail


def test_the_kernel_refuses_another_closed_form() -> None:
    """A form that is off by one vector in every layer is not proved."""
    summands = [Summand(t.copies, t.shape) for t in families.gpt().weights]
    wrong = T.add(closed.collected(summands), T.mul(L, d))
    with pytest.raises(Refused):
        infer("linear-combination", [], T.eq(closed.written_sum(summands), wrong), 0, ())


def test_a_value_that_the_list_does_not_add_up_to_is_refused() -> None:
    """The number is held against the list, also where the theorem is about another list."""
    good = closed.of_tensors([Tensor("a", "a", (d, d), (L,))])
    other = Closed(good.theorem, (Summand((L,), (d,)),))
    assert good.at({d: 3, L: 2}) == 18
    with pytest.raises(ValueError, match="but the list adds up to 6"):
        other.at({d: 3, L: 2})


def test_missing_and_broken_sizes_are_refused() -> None:
    good = closed.of_tensors([Tensor("a", "a", (d, d), (L,))])
    with pytest.raises(ValueError, match="no size is given for L"):
        good.at({d: 3})
    half = closed.proved([Summand((), (d,), T.div(sizes.d_ff, sizes.heads))])
    with pytest.raises(ValueError, match="adds up to"):
        half.at({d: 1, sizes.d_ff: 3, sizes.heads: 2})
    with pytest.raises(ValueError, match="not a polynomial"):
        closed.polynomial(T.fn("sin", d))
    with pytest.raises(ValueError, match="not a polynomial"):
        closed.polynomial(T.inv(T.add(d, T.ONE)))


def test_a_share_is_that_of_the_two_numbers() -> None:
    part = closed.of_tensors([Tensor("a", "a", (d, d), (L,))])
    whole = closed.of_tensors([Tensor("a", "a", (d, d), (L,)), Tensor("b", "b", (d,))])
    share = closed.share(part, whole)
    assert share.at({d: 3, L: 2}) == Fraction(18, 21)
    with pytest.raises(ValueError, match="is not the share of the two numbers"):
        replace(share, whole=part).at({d: 3, L: 2})
    with pytest.raises(ValueError, match="adds up to"):
        replace(share, part=replace(part, summands=whole.summands)).at({d: 3, L: 2})


def test_a_theorem_that_the_checker_refuses_is_not_taken(monkeypatch) -> None:
    """The closed form is there only if its log was replayed."""

    def refuse(log) -> None:
        raise Refused("replay", str(log["kind"]))

    monkeypatch.setattr(closed, "check", refuse)
    with pytest.raises(Refused, match="proof"):
        closed.of_tensors([Tensor("a", "a", (d, d), (L,))])


def test_a_forgotten_tensor_changes_the_total() -> None:
    architecture = families.gpt()
    values = dict.fromkeys(sizes.MEANINGS, 2)
    total = closed.of_tensors(architecture.weights).at(values)
    for k, t in enumerate(architecture.weights):
        rest = architecture.weights[:k] + architecture.weights[k + 1 :]
        assert total - closed.of_tensors(rest).at(values) == built(t, values) > 0
    single = [replace(t, copies=()) for t in architecture.weights]
    assert closed.of_tensors(single).at(values) < total


@pytest.mark.parametrize("name", list(FAMILIES))
def test_gradients_of_products_cost_twice_the_products(name: str) -> None:
    """But for the first maps, whose inputs have no gradient."""
    architecture, _ = FAMILIES[name]
    values = {x: 2 * k + 4 for k, x in enumerate(sizes.MEANINGS)} | {sizes.kv_heads: 1}
    found = count(Model(name, architecture, values, 3, lengths=(sizes.n, sizes.m)))
    first = {"patch embedding", "relative positions"}
    once = closed.of_work(
        [(s, w) for s in architecture.parts.stages if s.name in first for w in s.forward],
        "leading",
    ).at(found.values)
    assert found.training.leading.number == 3 * found.forward.leading.number - once
    assert (once > 0) is (name in {"vit", "gopher"})
