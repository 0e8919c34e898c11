"""The shares of the feed-forward networks: verdicts, replay, twins, mutants, stored arrays."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from claim_checks import CONCLUDED, mutant, settle, value, verdicts, without

from derive.claim import Added, Example, Given
from derive.claims import parameter_shares as P
from derive.claims.parameter_shares import d, everything, h, layers, vocabulary
from derive.claims.parameters import d_k, d_v, f
from derive.language import both, equal, iff, implies, less, minus, over, plus, times
from derive.result import Verdict
from numeric import FeedForwardWeights, MultiHeadWeights

BY_NAME = {c.id.split("/")[1]: c for c in P.CLAIMS}


def test_verdicts_other_than_proved():
    kinds = {n: c.expected.value for n, c in BY_NAME.items() if c.expected is not Verdict.PROVED}
    assert kinds == {
        "two-thirds": "conditional",
        "encoder-block": "refuted",
        "decoder-block": "refuted",
        "transformer-base": "refuted",
        "majority": "conditional",
        "majority-decoder-block": "refuted",
        "transformer-base-majority": "refuted",
        "gpt2-small-majority": "refuted",
    }


def test_places():
    assert {p for c in P.CLAIMS for p in c.source.places} == {"A27", "B24"}


def test_counterexamples_give_the_numbers_of_the_models():
    shown = {n: settle(BY_NAME[n]).result.counterexamples for n in BY_NAME}
    assert shown["gpt2-small-majority"][0].latex == r"124439808 \ge 113338368"
    assert shown["transformer-base-majority"][0].latex == r"63082496 \ge 50393088"
    assert shown["majority"][0].breaks == r"V < 4\,L\,d_{\text{model}}"


def test_all_hypotheses_of_the_proved_claims_are_used():
    for claim in P.CLAIMS:
        result = settle(claim).result
        if result.verdict is Verdict.PROVED:
            assert all(x.used for x in result.hypotheses), claim.id


# ---------------------------------------------------------------------- mutants


def beyond(claim, conclusion):
    return mutant(claim, statement=implies(claim.statement.args[0], conclusion))


def share(groups):
    return over(groups[1].number, everything(*groups))


def most(groups):
    return less(everything(*groups), times(2, groups[1].number))


def of_all(groups, q):
    return equal(groups[1].number, times(q, everything(*groups)))


FFN, ALL, STACK, BOTH, WORDS = P.FFN, P.ALL, P.STACK, P.BOTH_STACKS, P.WITH_WORDS
above, below = P.encoder_fraction
MUTANTS = {
    "two thirds: a half": mutant(
        P.TWO_THIRDS,
        statement=equal(FFN, times(Fraction(1, 2), plus(ALL, P.rest))),
        given=(*P.TWO_THIRDS.given, Given(equal(P.rest, 0))),
    ),
    "two thirds: of the rest": mutant(
        P.TWO_THIRDS,
        statement=equal(FFN, times(Fraction(2, 3), plus(minus(ALL, FFN), P.rest))),
        given=(*P.TWO_THIRDS.given, Given(equal(P.rest, 0))),
    ),
    "two thirds: not four times": mutant(
        P.TWO_THIRDS, given=(*without(P.TWO_THIRDS, 8), Given(equal(P.rest, 0)))
    ),
    "two thirds: keys do not fit": mutant(
        P.TWO_THIRDS, given=(*without(P.TWO_THIRDS, 6), Given(equal(P.rest, 0)))
    ),
    "any widening: r + 4": beyond(
        P.ANY_WIDENING, equal(share((P.LAYER, P.NET)), over(P.r, plus(P.r, 4)))
    ),
    "any widening: r and r + 1": beyond(
        P.ANY_WIDENING, equal(share((P.LAYER, P.NET)), over(P.r, plus(P.r, 1)))
    ),
    "encoder: as claimed": mutant(P.ENCODER_BLOCK, proof=P.ENCODER_BLOCK.correction.proof),
    "encoder: one normalisation": beyond(
        P.ENCODER_BLOCK, equal(share(P.ENCODER), over(above, plus(times(12, d), 11)))
    ),
    "encoder: more than two thirds": beyond(
        P.ENCODER_BLOCK, less(Fraction(2, 3), share(P.ENCODER))
    ),
    "encoder: error term with 13": beyond(
        P.ENCODER_BLOCK,
        equal(share(P.ENCODER), minus(Fraction(2, 3), over(Fraction(13, 3), below))),
    ),
    "decoder: cross-attention forgotten": beyond(
        P.DECODER_BLOCK, equal(share(P.DECODER), over(above, below))
    ),
    "decoder: just a half": beyond(P.DECODER_BLOCK, of_all(P.DECODER, Fraction(1, 2))),
    "stacks: a half": beyond(P.STACKS, of_all(BOTH, Fraction(1, 2))),
    "stacks: not four times": mutant(P.STACKS, given=without(P.STACKS, 2)),
    "base: two thirds": mutant(P.BASE_SHARE),
    "base: one off": beyond(P.BASE_SHARE, equal(P.BASE_MODEL[1].number, 25_196_545)),
    "gpt3: above": beyond(P.GPT3_SHARE, less(Fraction(2, 3), share(P.GPT3_MODEL))),
    "majority: twice as many words": mutant(
        P.MAJORITY,
        added=(Added(less(vocabulary, times(8, layers, d)), P.MAJORITY.added[0].counterexample),),
        witness=P.MAJORITY.witness,
    ),
    "majority iff: at most": beyond(
        P.MAJORITY_IFF, iff(most(STACK), less(vocabulary, plus(times(4, layers, d), 1)))
    ),
    "majority iff: embedding dropped": beyond(P.MAJORITY_IFF, most(STACK)),
    "everything: without the biases": beyond(
        P.LANGUAGE_MODEL_IFF,
        iff(most(P.LANGUAGE_MODEL), less(plus(vocabulary, P.context), times(4, layers, d))),
    ),
    "everything: without the last normalisation": beyond(
        P.LANGUAGE_MODEL_IFF,
        iff(
            most(P.LANGUAGE_MODEL),
            less(plus(vocabulary, P.context, times(3, layers)), times(4, layers, d)),
        ),
    ),
    "stacks iff: two thirds of it": beyond(
        P.STACKS_IFF,
        iff(most(WORDS), less(times(3, vocabulary), times(8, layers, d))),
    ),
    "decoder majority: as claimed": mutant(
        P.DECODER_MAJORITY, proof=P.DECODER_MAJORITY.correction.proof
    ),
    "gpt2: as claimed": mutant(P.GPT2_MAJORITY),
    "gpt2: 456": beyond(P.GPT2_MAJORITY, less(Fraction(456, 1000), share(P.GPT2_MODEL))),
}
#: Mutants whose falsity shows at sizes that the search does not try.
NOT_REFUTED = {"majority: twice as many words"}


@pytest.mark.parametrize("name", MUTANTS)
def test_no_mutant_is_proved(name):
    by_hand, alone = verdicts(MUTANTS[name])
    assert by_hand not in CONCLUDED
    assert alone not in CONCLUDED
    if name not in NOT_REFUTED:
        assert alone is Verdict.REFUTED


def test_fractions_are_those_of_the_counts():
    """Every closed form, and every fraction, at exact sizes."""
    sizes = {d: 12, h: 4, d_k: 3, d_v: 3, f: 48, layers: 5, vocabulary: 77, P.context: 9}
    for groups in (P.ENCODER, P.DECODER, P.BARE_DECODER, BOTH, WORDS, P.LANGUAGE_MODEL):
        for g in groups:
            assert value(g.entries, sizes) == value(g.closed, sizes)
    for groups, fraction in (
        (P.ENCODER, P.encoder_fraction),
        (P.DECODER, P.decoder_fraction),
        (WORDS, P.words_fraction),
    ):
        counts = [value(g.closed, sizes) for g in groups]
        top, bottom = (value(x, sizes) for x in fraction)
        assert Fraction(counts[1]) / sum(counts) == Fraction(top) / bottom


# ---------------------------------------------------------------------- stored arrays


@pytest.mark.parametrize("blocks", [1, 3])
@pytest.mark.parametrize(("width", "heads"), [(12, 4), (6, 1), (5, 5)])
def test_groups_are_what_is_stored(width, heads, blocks):
    sizes = {d: width, h: heads, d_k: width // heads, d_v: width // heads, f: 4 * width,
             layers: blocks, vocabulary: 7, P.context: 3}  # fmt: skip
    rng = np.random.default_rng(0)
    for bias in (False, True):
        layer = MultiHeadWeights.init(rng, width, heads, bias=bias).parameter_count()
        ffn = FeedForwardWeights.init(rng, width, 4 * width, bias=bias).parameter_count()
        assert value(P.attention(layers, bias=bias).entries, sizes) == blocks * layer
        assert value(P.network(layers, bias=bias).entries, sizes) == blocks * ffn
        assert value(P.attention(bias=bias).entries, sizes) == layer
    assert value(P.norms(2).entries, sizes) == 4 * width
    assert value(P.embedding(vocabulary, P.context).entries, sizes) == 10 * width


def test_models_of_the_twins_store_what_arrays_store():
    stored = P.model(12, 4, 2, 3, norms=5, rows=(7, 3))
    rng = np.random.default_rng(0)
    layer = MultiHeadWeights.init(rng, 12, 4, bias=True)
    ffn = FeedForwardWeights.init(rng, 12, 48)
    assert stored.attention == 3 * layer.parameter_count()
    assert stored.network == 2 * ffn.parameter_count()
    assert (stored.norms, stored.embedding) == (120, 120)


def test_another_vocabulary_breaks_the_majority_as_well():
    sizes = {d: 1, h: 1, d_k: 1, d_v: 1, f: 4, layers: 1, vocabulary: 4}
    statement = implies(P.counting(*STACK), P.majority)
    claim = mutant(P.MAJORITY, statement=statement, given=P.USUAL, proof=None)
    broken = mutant(claim, counterexample=Example(sizes))
    assert settle(broken).result.verdict is Verdict.REFUTED
    met = mutant(claim, counterexample=Example({**sizes, vocabulary: 3}))
    assert settle(met).result.verdict is Verdict.UNDECIDED


def test_premises_cannot_be_left_out():
    bare = mutant(P.MAJORITY_IFF, statement=both(iff(P.majority, P.few_words)))
    assert verdicts(bare)[1] is Verdict.REFUTED
