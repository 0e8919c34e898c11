"""The parameter counts: verdicts, replay, twins, mutants, and the arrays that are counted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from claim_checks import CONCLUDED, holds, mutant, settle, value, verdicts, without

from derive.claim import Example, Given
from derive.claims import parameters as P
from derive.claims.parameters import d, d_k, d_k2, d_v, d_v2, f, h, h2, number, square
from derive.language import all_equal, both, equal, iff, implies, minus, over, plus, times
from derive.result import TwinStatus, Verdict
from numeric import FeedForwardWeights, MultiHeadWeights

BY_NAME = {c.id.split("/")[1]: c for c in P.CLAIMS}
TRIVIAL = Given(equal(0, 0))


# ---------------------------------------------------------------------- every claim


def test_verdicts_other_than_proved():
    kinds = {n: c.expected.value for n, c in BY_NAME.items() if c.expected is not Verdict.PROVED}
    assert kinds == {
        "likewise": "conditional",
        "single-head": "conditional",
        "single-head-without-output": "refuted",
        "single-narrow-head": "refuted",
        "feed-forward-formula": "refuted",
    }


def test_places():
    assert {p for c in P.CLAIMS for p in c.source.places} >= {
        "A08", "A09", "A10", "A11", "A12", "A26", "B26",
    }  # fmt: skip


def test_counterexamples_give_the_numbers_of_the_notes():
    texts = {n: [x.latex for x in settle(BY_NAME[n]).result.counterexamples] for n in BY_NAME}
    assert texts["likewise"] == [r"180 \ne 144"]
    assert texts["single-head"] == [r"360 \ne 576", r"360 \ne 576", r"432 \ne 576"]
    assert texts["single-head-without-output"] == [r"432 \ne 576"]
    assert texts["single-narrow-head"] == [r"144 \ne 576"]
    assert texts["feed-forward-formula"] == [r"2099712 \ne 2097152"]


def test_all_hypotheses_of_the_proved_claims_are_used():
    for claim in P.CLAIMS:
        result = settle(claim).result
        if result.verdict is Verdict.PROVED:
            assert all(x.used for x in result.hypotheses), claim.id


def test_likewise_does_not_use_the_reason_given_for_the_queries():
    used = {x.latex: x.used for x in settle(P.LIKEWISE).result.hypotheses}
    assert used[r"h\,d_{k} = d_{\text{model}}"] is False
    assert used[r"h\,d_{v} = d_{\text{model}}"] is True


# ---------------------------------------------------------------------- mutants


def count_of(part, shape):
    """A hypothesis that gives a part another shape than it has."""
    wrong = P.stored(str(part.number), str(part.tensor.label), *shape)
    return wrong.definition


def with_definition(claim, position, part, shape):
    given = list(claim.given)
    assert given[position] == part.definition
    given[position] = count_of(part, shape)
    return mutant(claim, given=tuple(given))


N = {p: number(*getattr(P, p)) for p in (
    "matrices", "other_matrices", "single", "bare", "narrow",
    "network", "turned", "gated", "grouped", "base_matrices", "defaults",
)}  # fmt: skip
N["with_biases"] = plus(N["matrices"], P.B)
N["other_with_biases"] = plus(N["other_matrices"], P.B2)


def concluding(claim, conclusion):
    """The claim with another conclusion behind its premise."""
    return mutant(claim, statement=implies(claim.statement.args[0], conclusion))


def assuming(claim, premise):
    """The claim with another premise."""
    return mutant(claim, statement=implies(premise, claim.statement.args[1]))


GROUPS, TURNED = P.counting(*P.shared), P.counting(*P.turned_matrices)
Q, K, V, O = P.W_Q, P.W_K, P.W_V, P.W_O
MUTANTS = {
    # one kind of matrix
    "queries: cubed": mutant(P.QUERIES, statement=equal(Q.number, times(square, d))),
    "queries: heads forgotten in the square": mutant(
        P.QUERIES, statement=all_equal(Q.number, Q.sides, times(d, d_k))
    ),
    "queries: plus one": mutant(P.QUERIES, statement=equal(Q.number, plus(square, 1))),
    "queries: no hypothesis": mutant(P.QUERIES, given=without(P.QUERIES, 1)),
    "queries: hypothesis turned round": mutant(
        P.QUERIES, given=(Q.definition, Given(equal(times(h, d), d_k)))
    ),
    "queries: the other width": with_definition(P.QUERIES, 0, Q, (h, d, d_v)),
    "keys: shape without heads": with_definition(P.KEYS, 0, K, (d, d_k)),
    "values: no hypothesis": mutant(P.VALUES, given=without(P.VALUES, 1)),
    "likewise: nothing added": mutant(P.LIKEWISE, given=(*P.LIKEWISE.given, TRIVIAL)),
    "output: no hypothesis": mutant(P.OUTPUT, given=without(P.OUTPUT, 1)),
    # the layer
    "any widths: output forgotten": mutant(
        P.ANY_WIDTHS, statement=equal(number(Q, K, V), P.any_widths)
    ),
    "layer: keys do not fit": mutant(P.LAYER, given=without(P.LAYER, 4)),
    "layer: values do not fit": mutant(P.LAYER, given=without(P.LAYER, 5)),
    "layer: output not counted": mutant(
        P.LAYER, statement=equal(number(Q, K, V), times(4, square))
    ),
    "biases: none": concluding(P.LAYER_WITH_BIASES, equal(N["with_biases"], times(4, square))),
    "biases: general formula without output": concluding(
        P.LAYER_WITH_BIASES,
        equal(N["with_biases"], plus(P.any_widths, times(2, h, d_k), times(h, d_v))),
    ),
    "biases: one head's queries": assuming(
        P.LAYER_WITH_BIASES,
        equal(P.B, plus(P.ones(d_k), P.ones(h, d_k), P.ones(h, d_v), P.ones(d))),
    ),
    "biases: not counted": mutant(
        P.LAYER_WITH_BIASES, statement=P.LAYER_WITH_BIASES.statement.args[1]
    ),
    "base: one off": mutant(P.BASE_LAYER, statement=equal(N["base_matrices"], 1_048_577)),
    "base: no biases": mutant(
        P.BASE_LAYER,
        statement=both(
            equal(N["base_matrices"], 1_048_576), equal(P.base_biases, 512)
        ),
    ),
    "grouped: all share": concluding(P.GROUPED, equal(N["grouped"], times(4, square))),
    "grouped: values for every head": assuming(
        P.GROUPED, both(GROUPS[0], equal(P.shared[1].number, P.ones(h, d, d_v)))
    ),
    "grouped: keys not counted": assuming(P.GROUPED, GROUPS[1]),
    "grouped: keys do not fit": mutant(P.GROUPED, given=without(P.GROUPED, 2)),
    "grouped: values do not fit": mutant(P.GROUPED, given=without(P.GROUPED, 3)),
    # numbers of heads
    "constant: other keys do not fit": mutant(P.CONSTANT, given=without(P.CONSTANT, 10)),
    "constant: other values do not fit": mutant(P.CONSTANT, given=without(P.CONSTANT, 11)),
    "constant: keys do not fit": mutant(P.CONSTANT, given=without(P.CONSTANT, 8)),
    "constant: in proportion to heads": mutant(
        P.CONSTANT, statement=equal(times(h, N["matrices"]), times(h2, N["other_matrices"]))
    ),
    "constant with biases: output bias per head": assuming(
        P.CONSTANT_WITH_BIASES,
        both(
            equal(P.B, plus(P.ones(h, d_k), P.ones(h, d_k), P.ones(h, d_v), P.ones(h, d))),
            P.OTHER_BIASES,
        ),
    ),
    "constant with biases: the other's not counted": assuming(P.CONSTANT_WITH_BIASES, P.BIASES),
    "constant with biases: values do not fit": mutant(
        P.CONSTANT_WITH_BIASES, given=without(P.CONSTANT_WITH_BIASES, 9)
    ),
    "same count: both widths needed": mutant(
        P.SAME_COUNT_IFF,
        statement=iff(
            equal(N["matrices"], N["other_matrices"]),
            both(equal(times(h, d_k), times(h2, d_k2)), equal(times(h, d_v), times(h2, d_v2))),
        ),
    ),
    "same count: keys alone": mutant(
        P.SAME_COUNT_IFF,
        statement=iff(
            equal(N["matrices"], N["other_matrices"]), equal(times(h, d_k), times(h2, d_k2))
        ),
    ),
    "same count: heads alone": mutant(
        P.SAME_COUNT_IFF,
        statement=iff(equal(N["matrices"], N["other_matrices"]), equal(h, h2)),
    ),
    # single heads
    **{
        f"single: {name}": mutant(
            P.SINGLE,
            given=(
                *P.SINGLE.given,
                *(TRIVIAL if k == position else Given(a.formula)
                  for k, a in enumerate(P.SINGLE.added)),
            ),
        )
        for position, name in enumerate(("narrow keys", "narrow values", "no output"))
    },
    "single: layer's keys do not fit": mutant(
        P.SINGLE,
        given=(*without(P.SINGLE, 8), *(Given(a.formula) for a in P.SINGLE.added)),
    ),
    "bare: two squares": mutant(
        P.WITHOUT_OUTPUT,
        statement=equal(N["bare"], times(2, square)),
        proof=P.prove_without_output,
    ),
    "bare: as many": mutant(P.WITHOUT_OUTPUT, proof=P.prove_without_output),
    "narrow: as many": mutant(P.NARROW, proof=P.prove_narrow),
    "narrow: quarter": mutant(
        P.NARROW, statement=equal(N["narrow"], over(square, h)), proof=P.prove_narrow
    ),
    "narrow: divided twice": mutant(
        P.NARROW,
        statement=equal(N["narrow"], over(times(4, square), times(h, h))),
        proof=P.prove_narrow,
    ),
    "narrow iff: two heads": mutant(
        P.NARROW_IFF, statement=iff(equal(N["narrow"], N["matrices"]), equal(h, 2))
    ),
    "narrow iff: width one": mutant(
        P.NARROW_IFF, statement=iff(equal(N["narrow"], N["matrices"]), equal(d, 1))
    ),
    # feed-forward
    "feed-forward: no widening": mutant(P.FEED_FORWARD, given=without(P.FEED_FORWARD, 2)),
    "feed-forward: widening turned round": mutant(
        P.FEED_FORWARD, given=(*P.FEED_FORWARD.given[:2], Given(equal(d, times(4, f))))
    ),
    "formula: as said": mutant(P.FORMULA, proof=P.prove_formula),
    "formula: one bias": mutant(
        P.FORMULA,
        statement=equal(N["network"], plus(times(8, square), times(4, d))),
        proof=P.prove_formula,
    ),
    "ratio: biases of one width": concluding(
        P.RATIO, equal(N["network"], plus(times(2, P.r, square), times(2, P.r, d)))
    ),
    "ratio: one matrix": concluding(
        P.RATIO, equal(N["network"], plus(times(P.r, square), times(plus(P.r, 1), d)))
    ),
    "ratio: sign": concluding(
        P.RATIO, equal(N["network"], plus(times(2, P.r, square), times(minus(P.r, 1), d)))
    ),
    "ratio: the other way": assuming(P.RATIO, equal(d, times(P.r, f))),
    "ratio: any width": mutant(P.RATIO, statement=P.RATIO.statement.args[1]),
    "gated: two matrices": concluding(P.GATED, equal(number(P.W_1, P.W_2), times(8, square))),
    "gated: any width": assuming(P.GATED, P.W_G.counted),
    "gated: the gate not counted": assuming(P.GATED, P.narrower),
    "code: squares": concluding(P.CODE, equal(N["turned"], times(8, square))),
    "code: the second not turned": assuming(P.CODE, TURNED[0]),
    "code: bias of the wrong width": with_definition(P.CODE, 1, P.b_1, (d,)),
    "defaults: matrices only": mutant(P.DEFAULTS, statement=equal(N["defaults"], 2_097_152)),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_caught(name):
    by_hand, alone = verdicts(MUTANTS[name])
    assert by_hand not in CONCLUDED
    assert alone is Verdict.REFUTED


def test_the_automatic_prover_is_not_just_lame():
    found = [c.id for c in P.CLAIMS if c.expected is Verdict.PROVED
             and settle(replace(c, proof=None)).result.verdict is Verdict.PROVED]  # fmt: skip
    assert len(found) >= 10


def test_counterexamples_have_to_break_the_statement():
    for claim in (P.WITHOUT_OUTPUT, P.NARROW):
        one_head = replace(claim, counterexample=Example({d: 12, h: 1, d_k: 12, d_v: 12}))
        fits = settle(one_head).result.verdict
        assert fits is (Verdict.REFUTED if claim is P.WITHOUT_OUTPUT else Verdict.UNDECIDED)


def test_counterexamples_have_to_meet_the_hypotheses():
    wrong = replace(P.WITHOUT_OUTPUT, counterexample=Example({d: 12, h: 4, d_k: 5, d_v: 3}))
    assert settle(wrong).result.verdict is Verdict.UNDECIDED


# ---------------------------------------------------------------------- what is counted


def arrays(weights):
    """The arrays of a layer under the symbols of the claim."""
    return {
        P.W_Q: weights.w_q, P.W_K: weights.w_k, P.W_V: weights.w_v, P.W_O: weights.w_o,
    }  # fmt: skip


def test_symbolic_counts_are_the_sizes_of_the_arrays():
    rng = np.random.default_rng(7)
    for m, n, k, v in rng.integers(1, 8, size=(20, 4)).tolist():
        sizes = {d: m, h: n, d_k: k, d_v: v}
        weights = MultiHeadWeights.init(rng, m, n, d_k=k, d_v=v, bias=True)
        for part, array in arrays(weights).items():
            assert value(part.entries, sizes) == value(part.sides, sizes) == array.size
            assert tuple(value(s, sizes) for s in part.tensor.shape) == array.shape
        biases = value(P.BIASES.args[1], sizes)
        assert biases == sum(b.size for b in (weights.b_q, weights.b_k, weights.b_v, weights.b_o))
        total = sum(value(s.entries, sizes) for s in P.matrices) + biases
        assert total == weights.parameter_count()
        assert total == value(plus(P.any_widths, *P.bias_widths), sizes)


def test_symbolic_feed_forward_counts_are_the_sizes_of_the_arrays():
    rng = np.random.default_rng(8)
    for m, n in rng.integers(1, 9, size=(20, 2)).tolist():
        w, sizes = FeedForwardWeights.init(rng, m, n), {d: m, f: n}
        assert value(P.W_1.entries, sizes) == w.w_1.size
        assert value(P.W_2.entries, sizes) == w.w_2.size
        # the note's matrices stand on the left of the token, those of the code on the right
        assert tuple(value(s, sizes) for s in P.W_1.tensor.shape) == w.w_1.T.shape
        assert tuple(value(s, sizes) for s in P.turned[0].tensor.shape) == w.w_1.shape
        assert sum(value(s.entries, sizes) for s in P.network) == w.parameter_count()


def test_statements_hold_at_small_sizes():
    rng = np.random.default_rng(9)
    for n, w in rng.integers(1, 7, size=(15, 2)).tolist():
        sizes = {d: n * w, h: n, d_k: w, d_v: w}
        counts = {s.number: value(s.entries, sizes) for s in P.matrices}
        counts[P.B] = value(P.BIASES.args[1], sizes)
        for claim in (P.QUERIES, P.VALUES, P.OUTPUT, P.LAYER):
            assert holds(claim.statement, {**sizes, **counts}), claim.id
            assert not holds(claim.statement, {**sizes, **counts, d: n * w + 1}), claim.id
        premise, conclusion = P.LAYER_WITH_BIASES.statement.args
        assert holds(premise, {**sizes, **counts})
        assert holds(conclusion, {**sizes, **counts})
        assert not holds(conclusion, {**sizes, **counts, P.B: counts[P.B] + 1})


# ---------------------------------------------------------------------- twins that disagree


class WideValues(MultiHeadWeights):
    """Planted error: values one column wider than they should be."""

    @classmethod
    def init(cls, rng, d_model, h, d_k=None, d_v=None, bias=False):
        width = (d_model // h if d_v is None else d_v) + 1
        return MultiHeadWeights.init(rng, d_model, h, d_k=d_k, d_v=width, bias=bias)


class NoBias(FeedForwardWeights):
    """Planted error: biases are never stored."""

    @classmethod
    def init(cls, rng, d_model, d_ff, bias=True):
        return FeedForwardWeights.init(rng, d_model, d_ff, bias=False)


def disagreeing(monkeypatch, name, replacement):
    monkeypatch.setattr(P, name, replacement)
    runs = {}
    for c in P.CLAIMS:
        try:
            runs[c.id.split("/")[1]] = c.twin.run(0, c.id).status
        except (AssertionError, TypeError):
            runs[c.id.split("/")[1]] = TwinStatus.DISAGREES
    return {n for n, s in runs.items() if s is TwinStatus.DISAGREES}


def test_twins_notice_wide_values(monkeypatch):
    assert disagreeing(monkeypatch, "MultiHeadWeights", WideValues) == {
        "values", "likewise", "output", "layer-any-widths", "layer", "layer-with-biases",
        "base-layer", "grouped-queries", "constant-in-heads", "constant-with-biases",
        "single-head", "single-head-without-output", "single-narrow-head", "same-count-iff",
        "narrow-head-iff",
    }  # fmt: skip


def test_twins_notice_missing_biases(monkeypatch):
    assert disagreeing(monkeypatch, "FeedForwardWeights", NoBias) == {
        "feed-forward-formula", "feed-forward-ratio", "feed-forward-code", "feed-forward-defaults",
    }  # fmt: skip
