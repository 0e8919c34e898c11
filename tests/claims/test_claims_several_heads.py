"""Several heads that are linear together: verdicts, replay, twins, mutants, and their lemmas."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from claim_checks import (
    is_false_at,
    mutant,
    number,
    proved_by,
)

import numeric
from derive.claims import _gauge as gauge
from derive.claims import _rates as rates
from derive.claims import attention_all_heads as M
from derive.claims.attention_all_heads import ADDITIVE, ALL_HEADS, CANCEL, DIFFERENT
from derive.claims.attention_several_heads import SEVERAL, B, C, groups, j, members, s
from derive.claims.attention_two_heads import TWO_HEADS
from derive.claims.head_symmetries_all import (
    ALL_DETERMINED,
    DETERMINED,
    SAME,
    D,
    maps_agree,
    with_maps,
)
from derive.convert import Converter
from derive.kernel.terms import KernelError
from derive.language import both, equal, forall, implies, less
from derive.prover import Prover
from derive.twin import Twin

BY_NAME = {
    claim.id.split("/")[1]: claim for claim in (SEVERAL, TWO_HEADS, ALL_HEADS, ALL_DETERMINED)
}


# ---------------------------------------------------------------------- mutants

silent, cancelled = M.silent, M.cancelled
no_members = forall([j, M.f, M.c], equal(C[s, j, M.f, M.c], 0))
many = less(2, M.m)
MUTANTS = {
    "one token is enough": implies(both(DIFFERENT, ADDITIVE), CANCEL),
    "two tokens are enough": implies(both(less(1, M.m), DIFFERENT, ADDITIVE), CANCEL),
    "groups may have the same scores": implies(both(many, ADDITIVE), CANCEL),
    "no group has scores": implies(both(many, DIFFERENT, ADDITIVE), forall(s, silent)),
    "the maps of every group cancel": implies(
        both(many, DIFFERENT, ADDITIVE), forall(s, cancelled)
    ),
    "every single map is 0": implies(
        both(many, DIFFERENT, ADDITIVE), forall(s, M.either(silent, no_members))
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_not_proved(name: str) -> None:
    assert proved_by(mutant(ALL_HEADS, statement=MUTANTS[name])) == set()


one_by_one = forall(
    [j, M.f, M.c], equal(C[s, j, M.f, M.c], with_maps(C[s, j, M.f, M.c]))
)  # fmt: skip
OF_TWO_LAYERS = {
    "two tokens are enough": implies(both(less(1, M.m), DIFFERENT, SAME), DETERMINED),
    "groups may have the same scores": implies(both(many, SAME), DETERMINED),
    "without scores as well": implies(both(many, DIFFERENT, SAME), forall(s, maps_agree)),
    "head by head": implies(both(many, DIFFERENT, SAME), forall(s, M.either(silent, one_by_one))),
}


@pytest.mark.parametrize("name", OF_TWO_LAYERS)
def test_mutants_about_two_layers_are_not_proved(name: str) -> None:
    assert proved_by(mutant(ALL_DETERMINED, statement=OF_TWO_LAYERS[name])) == set()


def test_layers_may_share_a_sum_and_not_its_terms() -> None:
    """The maps of two heads with the same scores are told by their sum only."""
    values = {M.m: 3, M.d: 1, M.d_v: 1, groups: 1, members: 2, B: [[[1]]],
              C: [[[[1]], [[0]]]], D: [[[[0]], [[1]]]]}  # fmt: skip
    claim = mutant(SEVERAL, statement=implies(DETERMINED, forall(s, one_by_one)), given=())
    assert is_false_at(claim, values)


ONE_GROUP = {M.m: 3, M.d: 1, M.d_v: 1, groups: 1, members: 1, B: [[[0]]], C: [[[[1]]]]}


def test_what_is_left_of_the_conclusion_is_needed() -> None:
    """Neither alternative does alone, and the maps of a group need not be 0 one by one."""
    for values, conclusion in (
        (ONE_GROUP, forall(s, cancelled)),
        ({**ONE_GROUP, B: [[[1]]], C: [[[[0]]]]}, forall(s, silent)),
        (
            {**ONE_GROUP, members: 2, B: [[[1]]], C: [[[[1]], [[-1]]]]},
            forall(s, M.either(silent, no_members)),
        ),
    ):
        claim = mutant(SEVERAL, statement=implies(CANCEL, conclusion), given=())
        assert is_false_at(claim, values)


# ---------------------------------------------------------------------- lemmas


def test_the_gauge_is_what_its_bounds_are_proved_of() -> None:
    """Four shares, the quotient of polynomials and its bounds, at numbers."""
    rng = np.random.default_rng(3)
    for _ in range(50):
        values = {gauge.more: float(rng.uniform(0, 6)), gauge.x: float(np.exp(rng.normal(0, 3)))}
        found = number(gauge.gauge(gauge.x), values) / number(gauge.WIDE, values)
        quotient = number(gauge.TOP, values) / number(gauge.BOTTOM, values)
        assert found == pytest.approx(quotient, rel=1e-7, abs=1e-9)
        x = values[gauge.x]
        assert abs(x * found) <= 2
        assert abs(found) <= 2 * x**2
        if x >= 2:
            assert number(gauge.SUM, values) <= number(gauge.SCALE, values) * x * found


def test_shares_at_one_token_are_not_independent() -> None:
    """With M = 1 opposite rates make up for each other: the lemma asks for 0 < M - 1."""
    p = Prover(Converter(), ())
    with pytest.raises(KernelError):
        rates.rates_law(p, p.assume(equal(gauge.more, 0)))
    x = sp.Symbol("x", positive=True)
    opposite = gauge.gauge(x) + gauge.gauge(1 / x)
    assert sp.simplify(opposite.subs(gauge.more, 0)) == 0
    assert sp.simplify(opposite.subs(gauge.more, 1)) != 0


def test_the_statement_is_about_numeric_attention() -> None:
    """One row of all heads, at numbers, is what NumPy's heads give."""
    rng = np.random.default_rng(4)
    sizes = {M.m: 3, M.d: 2, M.d_v: 2, groups: 2, members: 2}
    forms, maps = rng.standard_normal((2, 2, 2)), rng.standard_normal((2, 2, 2, 2))
    tokens = rng.standard_normal((3, 2))
    found = number(
        M.all_heads(M.of(M.X)),
        {**sizes, B: forms, C: maps, M.X: tokens, M.k: 1, M.c: 0},
    )
    scale = np.sqrt(2)
    heads = [
        numeric.scaled_dot_product_attention(tokens @ form * scale, tokens, tokens @ value_map)
        for form, of_group in zip(forms, maps, strict=True)
        for value_map in of_group
    ]
    assert found == pytest.approx(sum(heads)[1, 0])


def test_the_twin_sees_heads_that_are_linear() -> None:
    """With linear attention in place of softmax every combination would be additive."""

    def of_itself(tokens, to_query, to_key, value_map):
        return tokens @ value_map

    original = M.of_itself
    try:
        M.of_itself = of_itself
        assert isinstance(ALL_HEADS.twin, Twin)
        assert ALL_HEADS.twin.run(0, ALL_HEADS.id).status.value == "disagrees"
    finally:
        M.of_itself = original
