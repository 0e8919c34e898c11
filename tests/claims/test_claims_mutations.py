"""The mistakes that the claims name: where some are needed, their texts, and what they meet."""

from __future__ import annotations

from collections import Counter

import pytest
from claim_checks import proved_by, settle

from derive.catalogue import all_claims
from derive.mutations import as_claim, made_for
from derive.result import Verdict

CLAIMS = {c.id: c for c in all_claims() if c.mutations is not None}
each_claim = pytest.mark.parametrize("name", CLAIMS)

#: Where a mistake is easily made, and how many of them at least have to be tried there.
AT_LEAST = {
    "A01": 2,  # a width rounded down; the wrong one divides
    "A02": 3,  # a matrix stored the other way; queries and keys, or values, not told apart
    "A03": 3,  # keys ask the queries; the weights of another head; one head is narrower, too
    "A04": 6,  # heads that start equal, mix, or leave their rows behind
    "A05": 2,  # heads along the tokens, or taking turns
    "A06": 2,  # the same rounding; the quotient upside down
    "A07": 8,  # rows of W^O dealt out, or those of one head; paths back that are forgotten
    "A08": 1,  # one head counted for all
    "A09": 1,  # the key width for the values
    "A10": 1,  # one head's rows
    "A11": 3,  # no output matrix; biases in a layer that has none; the key width for the values
    "A12": 1,  # a single head without its output matrix
    "A13": 8,  # projections, scaling, divisions or heads that are not counted; another crossover
    "A14": 3,  # exactly as many operations; another factor
    "A15": 2,  # exponents without their factor 2; all sines before all cosines
    "A16": 3,  # frequencies with a common period; positions that are real numbers; no gap
    "A17": 1,  # a sign in the addition formula of the cosine
    "A18": 3,  # an odd width; one position less
    "A19": 1,  # the transposed matrix
    "A20": 1,  # scores of any form
    "A21": 3,  # a base below 1; the sign of the exponent; steps that are too long
    "A22": 2,  # gates on the wrong side; ReLU behind the second layer
    "A23": 1,  # the two shapes exchanged
    "A24": 1,  # a widened matrix of full rank
    "A25": 1,  # the network along the axis of the tokens
    "A26": 2,  # one matrix of two; no biases counted where there are some
    "A27": 8,  # cross-attention, embedding or biases that are forgotten
    "A28": 3,  # the gradient that passes no norm; the norm in front of the sum
    "A29": 4,  # (I + J) g; 1 in every entry; the +1 forgotten; factors in the other order
    "A30": 8,  # f(x) = -x; a lower bound of 1; one path more or less
    "A31": 9,  # the other form's backward pass; d - 1 for d; the mean term forgotten
    "A32": 2,  # along axis 0; gradients through other tokens
    "A33": 2,  # the branch differentiated at x
    "A34": 2,  # an identity path of norm 1 in Post-LN; a direct path through it
    "B01a": 6,  # divided by the width or not at all; means and correlations overlooked
    "B01b": 12,  # the bound 1/4 of the norm; vanishing at a tie; factors and means left out
    "B02": 2,  # the second axis where there are axes in front; the first one
    "B03": 1,  # rows and columns exchanged
    "B04": 3,  # the root taken for the width; variance 1 expected of it
    "B05": 3,  # columns dealt out; the input split before a projection by any matrix
    "B06": 2,  # one softmax for all heads; the weights of one head for all
    "B07": 3,  # reshaped at once; columns dealt out
    "B08": 2,  # square matrices, or any columns, taken for projections
    "B10": 6,  # opposite is not the negative, and not the rest to 1; more than two keys
    "B11": 3,  # one head of the old width; maps averaged
    "B13": 6,  # another axis, no division, dropout, masks after the softmax
    "B14": 2,  # the product in the other order; the first bias forgotten
    "B15": 2,  # twice the scores, or a sum of scores
    "B16": 4,  # softmax over the queries; columns that sum to 1
    "B17": 3,  # the input varied in place of the values; weights or means left out
    "B18": 3,  # keys permuted alone; outputs that stay where they are
    "B19": 9,  # the sentence itself; the gradient of a linear map; linear scores; other ways
    "B20": 1,  # ReLU of shifted numbers
    "B21": 1,  # one unit less
    "B22": 1,  # BatchNorm in front, which couples the rows
    "B23": 1,  # a block without its residual sum
    "B24": 3,  # an embedding that is dropped; twice as many words
    "B25": 1,  # another hidden width
    "B26": 5,  # biases dropped; ReLU in the wrong place; a transpose left out; counts of these
    "B28": 2,  # a negative factor taken out; a mask of what is off
    "B29": 2,  # the absolute value; a leaky slope
    "B30": 2,  # a bias of 1
    "B32": 2,  # a lift without ReLU; points that are no bits
    "B33": 1,  # an output that is not as wide as the input
    "B35": 3,  # a bias of 1; a variance that is halved
    "B36": 6,  # twice the width, almost always enough, or half of the time; one unit less
    "B37": 3,  # ReLU as one that loses nothing; the same slope taken twice
    "B38": 1,  # the threshold 1
    "B39": 5,  # gates on the wrong side; a first matrix that learns from zero
    "B40": 6,  # the encoder's input; exchanged roles; a path back that is forgotten
    "B42": 1,  # without the transposes
    "B44": 3,  # the root of the model width; both sides divided; variance that grows with heads
    "B45": 1,  # a hidden width that is built in
}  # fmt: skip
#: How many mistaken statements of a claim are not refuted, but only not provable: a function of
#: which nothing is known but that it is differentiable has no values; and the derivative table does
#: not know ReLU.
OPEN = {
    "backward/feed-forward-first-bias": 1,
    "backward/feed-forward-input": 1,
    "backward/gelu": 3,
    "backward/post-norm-input": 1,
    "backward/pre-norm-input": 1,
    "backward/relu": 1,
    "backward/residual-input": 1,
    "information-loss/kept-energy": 1,
}


@pytest.mark.parametrize("place", AT_LEAST)
def test_the_place_has_its_mutations(place: str) -> None:
    made = [len(made_for(c)) for c in CLAIMS.values() if place in c.source.places]
    assert sum(made) >= AT_LEAST[place]


@each_claim
def test_no_text_is_used_twice(name: str) -> None:
    texts = Counter(m.says for m in made_for(CLAIMS[name]))
    assert all(len(text) > 10 for text in texts)
    assert set(texts.values()) == {1}


@each_claim
def test_mistaken_statements_are_refuted(name: str) -> None:
    """By the values that are given or found, except for those that are listed as open."""
    made = [as_claim(CLAIMS[name], m, k) for k, m in enumerate(made_for(CLAIMS[name]), 1)]
    mistaken = [c for c in made if c.statement is not None]
    verdicts = Counter(settle(c).result.verdict for c in mistaken)
    assert verdicts.pop(Verdict.UNDECIDED, 0) == OPEN.get(name, 0)
    assert set(verdicts) <= {Verdict.REFUTED}
    assert not any(proved_by(c) for c in mistaken if c.counterexample is not None)


def test_only_claims_with_mutations_are_listed_as_open() -> None:
    assert set(OPEN) <= set(CLAIMS)
