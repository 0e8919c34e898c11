"""The online softmax: verdicts, replay, twins, and recurrences that are not it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from claim_checks import mutant, settle, verdicts, without

from derive.catalogue import all_claims
from derive.claim import Given, Notation
from derive.claims import online_softmax as O
from derive.claims._softmax import exp, log
from derive.convert import Converter
from derive.evaluate import Evaluation
from derive.language import (
    GradientIs,
    both,
    equal,
    forall,
    minus,
    over,
    plus,
    times,
    total,
)
from derive.result import Verdict

CLAIMS = {c.id: c for c in all_claims(["attention/*"])}
each = pytest.mark.parametrize("name", list(CLAIMS))


def test_the_claims() -> None:
    names = ("online-softmax-merge", "online-softmax", "online-softmax-backward")
    assert [f"attention/{name}" for name in names] == list(CLAIMS)


@each
def test_what_the_proof_rests_on(name: str) -> None:
    result = settle(CLAIMS[name]).result
    assert result.verdict is Verdict.PROVED
    assert {a.name for a in result.axioms} <= {
        "derivative-table", "exp-add", "exp-log", "log-exp", "log-product", "inverse",
        "exp-sign", "exp-zero",
    }  # fmt: skip


# ---------------------------------------------------------------------- what is not it


def merge(above: Any, below: Any) -> Any:
    return forall(O.c, equal(over(above, below), O.MERGE.args[1].args[1]))


def half_scaled(first: Any, second: Any) -> Any:
    """The second part is not scaled."""
    return plus(times(exp(minus(O.a, O.shift)), first), second)


def turned_round(first: Any, second: Any) -> Any:
    """The shifts are taken away from the common one."""
    return plus(times(exp(minus(O.shift, O.a)), first), times(exp(minus(O.shift, O.b)), second))


def online(average: Any, logarithm: Any = None) -> Any:
    return both(forall(O.c, average), O.ONLINE.args[1] if logarithm is None else logarithm)


def recurrence(kept: Any, mixed: Any) -> Given:
    return Given(forall(O.l, both(kept, forall(O.c, mixed))))


def next_of(kept: Any, following: Any, factor: Any, value: Any) -> Any:
    block = O.met(O.k, times(O.l, O.w), O.shifts[O.l + 1], value)
    return equal(following, plus(times(factor, kept), block))


def with_factor(factor: Any) -> tuple[Any, ...]:
    """The hypotheses, with another factor for what was kept."""
    step = recurrence(
        next_of(O.kept[O.l], O.kept[O.l + 1], factor, O.nothing),
        next_of(O.mixed[O.l, O.c], O.mixed[O.l + 1, O.c], factor, O.of_value),
    )
    return O.START, step, O.LAST, O.OUT


def last_without_scale() -> tuple[Any, ...]:
    def plain(kept: Any, value: Any) -> Any:
        return plus(kept, O.met(O.rest_key, times(O.l, O.w), O.shift, value))

    return (
        O.START, O.STEP, Notation(equal(O.last, plain(O.kept[O.l], O.nothing))),
        Notation(forall(O.c, equal(O.output[O.c], plain(O.mixed[O.l, O.c], O.of_value)))),
    )  # fmt: skip


MERGED, ONLINE, BACKWARD = O.MERGED, O.ONLINE_SOFTMAX, O.ONLINE_BACKWARD
up, down = O.shifts[O.l + 1], O.shifts[O.l]
blocks_only = over(O.summed(O.l * O.w, O.of_value), O.summed(O.l * O.w, O.nothing))
shorter = over(O.summed(O.ALL_KEYS, O.of_value), O.summed(O.l * O.w + 1, O.nothing))

REFUTED = {
    "merge: the second part is not scaled": mutant(
        MERGED, statement=merge(half_scaled(*O.KEPT[2:]), half_scaled(*O.KEPT[:2]))
    ),
    "merge: the factors turned round": mutant(
        MERGED, statement=merge(turned_round(*O.KEPT[2:]), turned_round(*O.KEPT[:2]))
    ),
    "merge: only the values are scaled": mutant(
        MERGED, statement=merge(O.merged(*O.KEPT[2:]), plus(*O.KEPT[:2]))
    ),
    "merge: the mean of both averages": mutant(
        MERGED,
        statement=merge(plus(over(O.KEPT[2], O.KEPT[0]), over(O.KEPT[3], O.KEPT[1])), 2),
    ),
    "backward: a sign": mutant(
        BACKWARD,
        statement=GradientIs(*O.BACKWARD.args[:3], times(-1, O.BACKWARD.args[3])),
    ),
    "backward: without the mean": mutant(
        BACKWARD,
        statement=GradientIs(
            *O.BACKWARD.args[:3], times(exp(minus(O.z[O.at], O.normal)), O.by_weight(O.at))
        ),
    ),
}  # fmt: skip
UNPROVED = {
    "online: not scaled": mutant(ONLINE, given=with_factor(1)),
    "online: scaled the other way": mutant(ONLINE, given=with_factor(exp(minus(up, down)))),
    "online: scaled by the shift alone": mutant(ONLINE, given=with_factor(exp(times(-1, up)))),
    "online: the last block is not scaled": mutant(ONLINE, given=last_without_scale()),
    "online: without a start": mutant(ONLINE, given=without(ONLINE, 0)),
    "online: without a recurrence": mutant(ONLINE, given=without(ONLINE, 1)),
    "online: the last block is forgotten": mutant(
        ONLINE, statement=online(equal(over(O.output[O.c], O.last), blocks_only))
    ),
    "online: another number of keys below": mutant(
        ONLINE, statement=online(equal(over(O.output[O.c], O.last), shorter))
    ),
    "online: not divided": mutant(
        ONLINE, statement=online(equal(O.output[O.c], O.ATTENTION))
    ),
    "online: the shift taken away": mutant(
        ONLINE,
        statement=online(
            O.ONLINE.args[0].args[1],
            equal(minus(log(O.last), O.shift), log(O.summed(O.ALL_KEYS, O.nothing))),
        ),
    ),
    "backward: the mean of the values": mutant(
        BACKWARD,
        given=(
            O.NORMALIZER,
            Notation(equal(O.mean, over(total(total(times(O.g[O.c], O.Y[O.h, O.c]), O.c), O.h),
                                        O.m))),
        ),
    ),
    "backward: the sum itself is kept": mutant(
        BACKWARD, given=(Notation(equal(O.normal, O.BOTTOM)), O.MEAN)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", list(REFUTED))
def test_false_statements_are_refuted(name: str) -> None:
    by_hand, alone = verdicts(REFUTED[name])
    assert by_hand is Verdict.UNDECIDED
    assert alone is Verdict.REFUTED


@pytest.mark.parametrize("name", list(UNPROVED))
def test_the_script_does_not_prove_what_is_false(name: str) -> None:
    assert settle(UNPROVED[name]).result.verdict is Verdict.UNDECIDED


def measured(factor: Any = None) -> Evaluation:
    """Two blocks of three keys and a last one of two, with random shifts.

    `factor` makes what is kept from one shift to the next; it is left out of the recurrence to
    see what then becomes of the result.
    """
    rng = np.random.default_rng(11)
    scores, values, shifts = rng.standard_normal(8), rng.standard_normal((8, 2)), [0.5, -1.0, 2.0]
    scale = factor or (lambda before, after: np.exp(before - after))
    kept, mixed = [0.0], [np.zeros(2)]
    for number, at in enumerate((0, 3, 6)):
        after = [*shifts[1:], 0.25][number]
        block = np.exp(scores[at : at + 3] - after)
        kept.append(scale(shifts[number], after) * kept[-1] + block.sum())
        mixed.append(scale(shifts[number], after) * mixed[-1] + block @ values[at : at + 3])
    return Evaluation({
        "d_v": 2, "w": 3, "r": 2, "l": 2, "mu": 0.25, "s": scores, "v": values, "M": shifts,
        "L": kept[:3], "O": np.stack(mixed[:3]), "S": kept[3], "o": mixed[3],
    })  # fmt: skip


def holds(at: Evaluation, statement: Any) -> bool:
    return at.holds(Converter().formula(statement))


def test_the_statement_holds_of_the_recurrence_in_numbers() -> None:
    at = measured()
    assert holds(at, O.ONLINE)
    assert holds(at, O.LAST.formula)
    assert holds(at, O.OUT.formula)
    assert all(holds(at, part) for part in O.START.formula.args)


@pytest.mark.parametrize(
    "factor",
    [lambda before, after: 1.0, lambda before, after: np.exp(after - before),
     lambda before, after: np.exp(-after), lambda before, after: 0.0],
)  # fmt: skip
def test_other_factors_give_something_else(factor: Any) -> None:
    assert not holds(measured(factor), O.ONLINE)


@pytest.mark.parametrize(
    "name", [n for n, c in UNPROVED.items() if c.statement is not O.ONLINE and n[:6] == "online"]
)
def test_other_statements_fail_in_numbers(name: str) -> None:
    assert not holds(measured(), UNPROVED[name].statement)
