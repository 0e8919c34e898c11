"""Which share of all parameters the feed-forward networks hold.

The derivations note says about 2/3 of a Transformer, the interview note says the majority.  Both
are right for a stack of blocks that hold one attention layer and one network each, and for large
models.  Cross-attention, and the embedding of a small model, are enough to turn them over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import sympy as sp

from derive.claim import Added, Claim, Correction, Example, Given, Mutation
from derive.claims import DERIVATIONS, INTERVIEW, parameters
from derive.claims.parameters import (
    FOUR_TIMES,
    KEYS_FIT,
    VALUES_FIT,
    W_1,
    W_2,
    d_k,
    d_v,
    definitions,
    f,
    matrices,
    number,
    ones,
    under,
)
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.kernel.terms import KernelError, Term
from derive.language import (
    all_equal,
    both,
    dims,
    equal,
    iff,
    implies,
    less,
    minus,
    natural,
    over,
    plus,
    power,
    real,
    times,
)
from derive.prover import Prover
from derive.result import Source, Verdict
from derive.twin import Trial, Twin
from derive.twin import at_most as bounded
from derive.twin import equal as agree

ORDER = 26
TOPIC = "parameter-shares"

d, h = parameters.d, parameters.h
square = power(d, 2)
layers, vocabulary, context = dims("L V n")
FIT = (KEYS_FIT, VALUES_FIT)

# ---------------------------------------------------------------------- counting


@dataclass(frozen=True)
class Group:
    """Tensors of one kind: the symbol for the number of their entries, and 1 for every entry."""

    number: sp.Symbol
    what: str
    entries: sp.Expr
    closed: sp.Expr

    @property
    def counted(self) -> Any:
        return equal(self.number, self.entries)


def group(name: str, what: str, entries: Sequence[Any], closed: Any) -> Group:
    return Group(natural(name), what, plus(*entries), closed)


def attention_entries(*front: Any, bias: bool = False) -> list[Any]:
    """Of a layer, with axes in front for several of them."""
    weights = [
        ones(*front, h, d, d_k), ones(*front, h, d, d_k), ones(*front, h, d, d_v),
        ones(*front, times(h, d_v), d),
    ]  # fmt: skip
    shifts = [
        ones(*front, h, d_k), ones(*front, h, d_k), ones(*front, h, d_v), ones(*front, d),
    ]  # fmt: skip
    return [*weights, *(shifts if bias else ())]


def network_entries(*front: Any, bias: bool = False) -> list[Any]:
    weights = [ones(*front, f, d), ones(*front, d, f)]
    return [*weights, *([ones(*front, f), ones(*front, d)] if bias else ())]


def attention(*front: Any, bias: bool = False) -> Group:
    many = times(*front) if front else 1
    each = plus(times(4, square), times(4, d)) if bias else times(4, square)
    entries = attention_entries(*front, bias=bias)
    return group("N_A", "attention", entries, times(many, each) if front else each)


def network(*front: Any, bias: bool = False) -> Group:
    many = times(*front) if front else 1
    each = plus(times(8, square), times(5, d)) if bias else times(8, square)
    entries = network_entries(*front, bias=bias)
    return group("N_F", "feed-forward networks", entries, times(many, each) if front else each)


def norms(*front: Any) -> Group:
    """A scale and a shift for every column; the last axis in front counts those of one layer."""
    entries = [ones(*front, d), ones(*front, d)]
    return group("N_L", "layer normalisation", entries, times(2, *front, d))


def embedding(*rows: Any) -> Group:
    what = "embeddings" if len(rows) > 1 else "the embedding"
    return group("N_E", what, [ones(r, d) for r in rows], times(plus(*rows), d))


def everything(*groups: Group) -> sp.Expr:
    return plus(*(g.number for g in groups))


def counting(*groups: Group) -> Any:
    return both(*(g.counted for g in groups))


#: A proof from the counts of the groups in closed form.
Argument = Callable[[Prover, Sequence[Theorem]], Theorem]


def counted(groups: Sequence[Group], then: Argument) -> Callable[[Prover], Theorem]:
    """Under the premise that the groups are counted; the hypotheses say which widths fit."""

    def script(p: Prover) -> Theorem:
        def from_counts(*parts: Theorem) -> Theorem:
            fits = p.given[p.declared :]
            how = ", with the given widths" if fits else ", counted out"
            return then(
                p,
                [
                    p.equal(g.number, g.closed, t, *fits, reason=g.what + how)
                    for g, t in zip(groups, parts, strict=True)
                ],
            )

        return under(p, counting(*groups), from_counts, "let this be counted")

    return script


def share_is(p: Prover, part: Any, whole: Any, above: Any, below: Any, same: Theorem, reason: str
             ) -> Theorem:  # fmt: skip
    """part / whole = above / below, from part below = above whole for positive denominators."""
    a, b = power(whole, -1), power(below, -1)
    return p.equal(
        over(part, whole),
        over(above, below),
        (times(a, b), same),
        (times(-1, part, a), p.cancel(below)),
        (times(above, b), p.cancel(whole)),
        reason=reason,
    )


def positive_whole(p: Prover, goal: Term) -> Theorem:
    """The counts of a share do not vanish: some group has the closed form of a positive number.

    `goal` is the obligation, under all hypotheses and premises.
    """
    if goal.op == "imp":
        with p.supposing(goal.children[0]) as case:
            theorem = positive_whole(p, goal.children[1])
        return infer("discharge", [theorem], case.conclusion)
    whole = goal.children[0].children[0]
    for equation in (t for t in p.known() if t.conclusion.op == "eq"):
        count, entries = equation.conclusion.children
        if count in (whole, *whole.children):
            positive = p.trivial(T.lt(T.ZERO, entries))
            above = p.order(T.lt(T.ZERO, count), (1, equation), (1, positive))
            return p.trivial(goal, p.fact(above))
    raise KernelError("no count is known")


def source(places: str, says: str) -> Source:
    (first,) = {place[0] for place in places.split()}
    document = DERIVATIONS if first == "A" else INTERVIEW
    return Source(document, tuple(places.split()), says)


# ---------------------------------------------------------------------- twins


@dataclass(frozen=True)
class Stored:
    """Numbers stored by the parts of a model."""

    attention: int
    network: int
    norms: int
    embedding: int

    @property
    def total(self) -> int:
        return self.attention + self.network + self.norms + self.embedding


def empty(*shape: int) -> np.ndarray:
    """An array that takes no memory, however large."""
    return np.broadcast_to(0.0, shape)


def model(
    width: int, heads: int, blocks: int, attentions: int, *, bias: bool = True, norms: int = 0,
    rows: Sequence[int] = (),
) -> Stored:  # fmt: skip
    """`blocks` networks and `attentions` attention layers in all, and one table for each of `rows`.

    `norms` is the number of normalisations in all.
    """
    from numeric import FeedForwardWeights, MultiHeadWeights

    w = width // heads
    layer = MultiHeadWeights(
        empty(heads, width, w), empty(heads, width, w), empty(heads, width, w), empty(width, width),
        *(
            (empty(heads, w), empty(heads, w), empty(heads, w), empty(width)) if bias else ()
        ),
    )  # fmt: skip
    shifts = (empty(4 * width), empty(width)) if bias else ()
    ffn = FeedForwardWeights(empty(width, 4 * width), empty(4 * width, width), *shifts)
    gain, offset = empty(norms, width), empty(norms, width)
    return Stored(
        attentions * layer.parameter_count(),
        blocks * ffn.parameter_count(),
        gain.size + offset.size,
        sum(empty(r, width).size for r in rows),
    )


#: (d_model, h): divisible, no two alike; one head, as many as the width, width 1.
SIZES = ((12, 4), (30, 5), (8, 8), (7, 1), (512, 8), (1, 1))


def shares(
    attentions: int, *, claimed: Callable[[int], float], bias: bool = False, norms: int = 0
) -> Callable[[np.random.Generator], Iterator[Trial]]:
    """The share of the network in one block with so many attention layers and normalisations."""

    def trials(_rng: np.random.Generator) -> Iterator[Trial]:
        for m, n in SIZES:
            block = model(m, n, 1, attentions, bias=bias, norms=norms)
            yield agree(block.network / block.total, claimed(m), f"d={m}, h={n}")

    return trials


# ---------------------------------------------------------------------- A27: blocks

SMALL = {d: 4, h: 2, d_k: 2, d_v: 2, f: 16}
rest = natural("R")
FFN, ALL = number(W_1, W_2), number(*matrices, W_1, W_2)
AS_IN_THE_NOTE = (*definitions(*matrices, W_1, W_2), *FIT, FOUR_TIMES)


def note_counts(p: Prover) -> tuple[Theorem, Theorem]:
    """The note's two totals."""
    layer = p.equal(
        number(*matrices), times(4, square), *(p.hyp(e) for e in range(4)), p.hyp(6), p.hyp(7),
        reason="the attention layer, four squares: `parameters/layer`",
    )  # fmt: skip
    ffn = p.equal(
        FFN, times(8, square), p.hyp(4), p.hyp(5), p.hyp(8),
        reason="the network, eight squares: `parameters/feed-forward`",
    )  # fmt: skip
    return layer, ffn


def prove_two_thirds(p: Prover) -> Theorem:
    layer, ffn = note_counts(p)
    whole = plus(ALL, rest)
    two = Fraction(2, 3)
    return p.equal(
        FFN,
        times(two, whole),
        (1 - two, ffn),
        (-two, layer),
        (-two, p.hyp(9)),
        reason=r"$8 = \frac23 (4 + 8)$, and there is nothing else",
    )


def two_thirds_mutations() -> tuple[Mutation, ...]:
    without_attention = plus(FFN, rest)
    return (
        Mutation(
            "what else there is, such as a second attention layer, is overlooked",
            given=AS_IN_THE_NOTE,
            counterexample=Example({**SMALL, rest: 96}),
            twin=Twin(
                "shares of stored numbers in a block with two attention layers",
                shares(2, claimed=lambda _m: 2 / 3),
            ),
        ),
        Mutation(
            "the share is one of the network alone, without attention",
            statement=equal(FFN, times(Fraction(2, 3), without_attention)),
            counterexample=Example({**SMALL, rest: 0}),
        ),
    )


def twin_two_thirds(rng: np.random.Generator) -> list[Trial]:
    trials = list(shares(1, claimed=lambda _m: 2 / 3)(rng))
    for m, n in SIZES:
        other = model(m, n, 1, 1, bias=False, rows=(5,))
        trials.append(agree(other.network / other.total < 2 / 3, True, f"d={m}, 5 rows more"))
    return trials


TWO_THIRDS = Claim(
    id="parameter-shares/two-thirds",
    title="Two thirds of a Transformer",
    source=source(
        "A27",
        r"$8\,d_{\text{model}}^2$ is about 2/3 of all parameters of a Transformer; what else a "
        r"Transformer has, $R$ parameters in all, is not counted.",
    ),
    statement=equal(FFN, times(Fraction(2, 3), plus(ALL, rest))),
    given=AS_IN_THE_NOTE,
    added=(
        Added(
            equal(rest, 0),
            Example({**SMALL, rest: 96}),
            "nothing but one attention layer and one network for each block",
        ),
    ),
    witness=Example({**SMALL, rest: 0}),
    proof=prove_two_thirds,
    twin=Twin("shares of stored numbers in a block, and with a table beside it", twin_two_thirds),
    mutations=two_thirds_mutations,
    expected=Verdict.CONDITIONAL,
    remark="Cross-attention, embeddings, biases and normalisation all lower the share.",
)  # fmt: skip

r = real("r")
WIDENED = equal(f, times(r, d))


def prove_any_widening(p: Prover) -> Theorem:
    def then(*parts: Theorem) -> Theorem:
        attention_count, network_count, wider = parts
        layer = p.equal(
            LAYER.number, LAYER.closed, attention_count, p.hyp(0), p.hyp(1), reason="attention"
        )
        ffn = p.equal(
            NET.number,
            times(2, r, square),
            network_count,
            wider,
            reason=r"two matrices, with $d_{ff} = r\,d_{\text{model}}$",
        )
        size = p.trivial(less(0, f))
        scaled = p.order(
            less(0, r),
            (over(1, d), size),
            (over(-1, d), wider),
            reason="a hidden width is positive",
        )
        p.fact(scaled)
        p.fact(p.order(less(0, plus(LAYER.number, NET.number)), (1, layer), (1, ffn)))
        same = p.equal(
            times(NET.number, plus(r, 2)),
            times(r, plus(LAYER.number, NET.number)),
            (2, ffn),
            (times(-1, r), layer),
            reason=r"$2r\,(r + 2) = r\,(4 + 2r)$",
        )
        return share_is(
            p, NET.number, plus(LAYER.number, NET.number), r, plus(r, 2), same, "divide"
        )

    return under(
        p, both(LAYER.counted, NET.counted, WIDENED), then, "let this be counted, for a factor $r$"
    )


LAYER, NET = attention(), network()


def any_widening_defined(p: Prover, goal: Term) -> Theorem:
    """Neither the whole nor r + 2 vanishes."""
    if goal.op == "imp":
        with p.supposing(goal.children[0]) as case:
            theorem = any_widening_defined(p, goal.children[1])
        return infer("discharge", [theorem], case.conclusion)
    wider = next(t for t in p.known() if t.conclusion is p.formula(WIDENED))
    size = p.trivial(less(0, f))
    p.fact(p.order(less(0, r), (over(1, d), size), (over(-1, d), wider)))
    entries = next(t for t in p.known() if t.conclusion is p.formula(NET.counted))
    p.fact(p.order(less(0, NET.number), (1, entries)))
    return p.trivial(goal)


def twin_any_widening(rng: np.random.Generator, bias: bool = False) -> list[Trial]:
    from numeric import FeedForwardWeights, MultiHeadWeights

    trials = []
    for m, n, hidden in ((4, 2, 6), (6, 3, 24), (5, 1, 1), (1, 1, 3), (3, 3, 3)):
        layer = MultiHeadWeights.init(rng, m, n).parameter_count()
        ffn = FeedForwardWeights.init(rng, m, hidden, bias=bias).parameter_count()
        ratio = hidden / m
        trials.append(agree(ffn / (layer + ffn), ratio / (ratio + 2), f"d={m}, d_ff={hidden}"))
    return trials


def any_widening_mutations() -> tuple[Mutation, ...]:
    share = over(NET.number, plus(LAYER.number, NET.number))
    premises = both(LAYER.counted, NET.counted, WIDENED)
    return (
        Mutation(
            "attention is counted as one square in place of four",
            statement=implies(premises, equal(share, over(times(2, r), plus(times(2, r), 1)))),
            counterexample=Example({d: 1, h: 1, d_k: 1, d_v: 1, f: 1, r: 1}),
        ),
        Mutation(
            "the network has biases",
            twin=Twin(
                "shares of networks with biases", lambda rng: twin_any_widening(rng, bias=True)
            ),
        ),
    )


ANY_WIDENING = Claim(
    id="parameter-shares/any-widening",
    title="The share of the network for other hidden widths",
    source=source(
        "A27",
        r"About 2/3, for $d_{ff} = 4\,d_{\text{model}}$. Beyond the note: "
        r"$d_{ff} = r\,d_{\text{model}}$.",
    ),
    statement=implies(
        both(LAYER.counted, NET.counted, WIDENED),
        equal(over(NET.number, plus(LAYER.number, NET.number)), over(r, plus(r, 2))),
    ),
    given=FIT,
    proof=prove_any_widening,
    defined=any_widening_defined,
    twin=Twin("shares of stored numbers, for several hidden widths", twin_any_widening),
    mutations=any_widening_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip


def block_share(
    groups: Sequence[Group], above: Any, below: Any, sense: str
) -> Callable[[Prover], Theorem]:
    """The share of the network in a block, as one fraction and as what is missing of `sense`."""
    whole, ffn = everything(*groups), groups[1].number
    limit, missing = MISSING[sense]

    def then(p: Prover, counts: Sequence[Theorem]) -> Theorem:
        p.fact(p.order(less(0, whole), *((1, c) for c in counts), reason="the total is not zero"))
        same = p.equal(
            times(ffn, below),
            times(above, whole),
            *((below if g is groups[1] else 0, c) for g, c in zip(groups, counts, strict=True)),
            *((times(-1, above), c) for c in counts),
            reason="both products, multiplied out",
        )
        share = share_is(p, ffn, whole, above, below, same, r"divide; $d_{\text{model}}$ cancels")
        short = p.equal(
            over(above, below),
            minus(limit, over(missing, below)),
            (limit, p.cancel(below)),
            reason=rf"take ${sp.latex(sp.Rational(limit))}$ out",
        )
        under_limit = p.order(
            less(over(ffn, whole), limit),
            (-1, share),
            (-1, short),
            reason="what is taken off is positive",
        )
        return p.both(p.both(share, short), under_limit)

    return counted(groups, then)


#: What a share falls short of, and the numerator of what is missing.
MISSING = {
    "two thirds": (Fraction(2, 3), Fraction(11, 3)),
    "half": (Fraction(1, 2), Fraction(9, 2)),
}
ENCODER = (attention(bias=True), network(bias=True), norms(2))
DECODER = (attention(2, bias=True), network(bias=True), norms(3))
encoder_fraction = plus(times(8, d), 5), plus(times(12, d), 13)
decoder_fraction = plus(times(8, d), 5), plus(times(16, d), 19)


def short_of(groups: Sequence[Group], fraction: tuple[Any, Any], sense: str) -> Any:
    share, (limit, missing) = over(groups[1].number, everything(*groups)), MISSING[sense]
    above, below = fraction
    return implies(
        counting(*groups),
        both(
            all_equal(share, over(above, below), minus(limit, over(missing, below))),
            less(share, limit),
        ),
    )


def claimed_share(groups: Sequence[Group], value: Any) -> Any:
    return implies(counting(*groups), equal(groups[1].number, times(value, everything(*groups))))


ENCODER_BLOCK = Claim(
    id="parameter-shares/encoder-block",
    title="Two thirds of an encoder block with everything in it",
    source=source(
        "A27",
        r"About 2/3 of all parameters; read as exactly that share of an encoder block with two "
        r"normalisations and all biases, those of attention included.",
    ),
    statement=claimed_share(ENCODER, Fraction(2, 3)),
    given=(*FIT, FOUR_TIMES),
    counterexample=Example(SMALL),
    correction=Correction(
        short_of(ENCODER, encoder_fraction, "two thirds"),
        block_share(ENCODER, *encoder_fraction, "two thirds"),
        (*FIT, FOUR_TIMES),
        defined=positive_whole,
    ),
    twin=Twin(
        "shares of stored numbers in encoder blocks",
        shares(1, claimed=lambda m: 2 / 3 - 11 / (3 * (12 * m + 13)), bias=True, norms=2),
    ),
    expected=Verdict.REFUTED,
    remark=r"What is missing is small: at $d_{\text{model}} = 512$ the share is 66.6 %.",
)  # fmt: skip

DECODER_BLOCK = Claim(
    id="parameter-shares/decoder-block",
    title="Two thirds of a decoder block",
    source=source(
        "A27",
        r"About 2/3 of all parameters; read as that share of a decoder block, which has a second "
        r"attention layer, for the output of the encoder, and a third normalisation.",
    ),
    statement=claimed_share(DECODER, Fraction(2, 3)),
    given=(*FIT, FOUR_TIMES),
    counterexample=Example(SMALL),
    correction=Correction(
        short_of(DECODER, decoder_fraction, "half"),
        block_share(DECODER, *decoder_fraction, "half"),
        (*FIT, FOUR_TIMES),
        defined=positive_whole,
    ),
    twin=Twin(
        "shares of stored numbers in decoder blocks",
        shares(2, claimed=lambda m: 1 / 2 - 9 / (2 * (16 * m + 19)), bias=True, norms=3),
    ),
    expected=Verdict.REFUTED,
)  # fmt: skip

BARE_DECODER = (attention(2), network())


def exact_share(groups: Sequence[Group], value: Fraction, why: str) -> Callable[[Prover], Theorem]:
    whole, ffn = everything(*groups), groups[1].number

    def then(p: Prover, counts: Sequence[Theorem]) -> Theorem:
        return p.equal(
            ffn,
            times(value, whole),
            *((1 if g is groups[1] else 0, c) for g, c in zip(groups, counts, strict=True)),
            *((-value, c) for c in counts),
            reason=why,
        )

    return counted(groups, then)


def half_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "cross-attention is forgotten, which makes two thirds of it",
            statement=claimed_share(BARE_DECODER, Fraction(2, 3)),
            counterexample=Example(SMALL),
            twin=Twin(
                "shares of stored matrices in blocks without cross-attention",
                shares(1, claimed=lambda _m: 1 / 2),
            ),
        ),
        Mutation(
            "biases and normalisation are counted, too",
            statement=claimed_share(DECODER, Fraction(1, 2)),
            counterexample=Example(SMALL),
            twin=Twin(
                "shares of everything stored in decoder blocks",
                shares(2, claimed=lambda _m: 1 / 2, bias=True, norms=3),
            ),
        ),
    )


HALF = Claim(
    id="parameter-shares/decoder-block-matrices",
    title="Half of the matrices of a decoder block",
    source=source(
        "A27",
        r"About 2/3, for one attention layer and one network. Beyond the note: the matrices of a "
        r"decoder block, with its two attention layers.",
    ),
    statement=claimed_share(BARE_DECODER, Fraction(1, 2)),
    given=(*FIT, FOUR_TIMES),
    proof=exact_share(BARE_DECODER, Fraction(1, 2), r"$8 = \frac12 (4 + 4 + 8)$"),
    twin=Twin("shares of stored matrices in decoder blocks", shares(2, claimed=lambda _m: 1 / 2)),
    mutations=half_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip

# N encoder blocks with one attention layer each, N decoder blocks with two, networks in both
BOTH_STACKS = (attention(3, layers), network(2, layers))


def twin_stacks(_rng: np.random.Generator, attentions: int = 3) -> list[Trial]:
    """With so many attention layers for an encoder block and a decoder block."""
    trials = []
    for blocks in (1, 2, 6):
        for m, n in SIZES:
            stack = model(m, n, 2 * blocks, attentions * blocks, bias=False)
            trials.append(agree(stack.network / stack.total, 4 / 7, f"L={blocks}, d={m}"))
    return trials


def stacks_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "cross-attention is forgotten in the decoder",
            statement=claimed_share(BOTH_STACKS, Fraction(2, 3)),
            counterexample=Example({**SMALL, layers: 1}),
            twin=Twin(
                "shares of stored matrices in stacks without cross-attention",
                lambda rng: twin_stacks(rng, attentions=2),
            ),
        ),
    )


STACKS = Claim(
    id="parameter-shares/encoder-decoder",
    title="Four sevenths of an encoder and a decoder",
    source=source(
        "A27",
        r"About 2/3 of a Transformer. Beyond the note: the matrices of an encoder and a decoder of "
        r"$L$ blocks each, as in the original model; $3L$ attention layers and $2L$ networks.",
    ),
    statement=claimed_share(BOTH_STACKS, Fraction(4, 7)),
    given=(*FIT, FOUR_TIMES),
    proof=exact_share(BOTH_STACKS, Fraction(4, 7), r"$16 = \frac47 (12 + 16)$"),
    twin=Twin("shares of stored matrices in both stacks", twin_stacks),
    mutations=stacks_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip

WITH_WORDS = (*BOTH_STACKS, embedding(vocabulary))
words_fraction = times(16, layers, d), plus(times(28, layers, d), vocabulary)


def prove_with_words(p: Prover, counts: Sequence[Theorem]) -> Theorem:
    whole, ffn = everything(*WITH_WORDS), WITH_WORDS[1].number
    above, below = words_fraction
    p.fact(p.order(less(0, whole), *((1, c) for c in counts), reason="the total is not zero"))
    same = p.equal(
        times(ffn, below),
        times(above, whole),
        (below, counts[1]),
        *((times(-1, above), c) for c in counts),
        reason="both products, multiplied out",
    )
    return share_is(p, ffn, whole, above, below, same, r"divide; $d_{\text{model}}$ cancels")


def twin_with_words(_rng: np.random.Generator, tables: int = 1) -> list[Trial]:
    """With so many tables of the words."""
    trials = []
    for blocks, m, n, words in ((1, 12, 4, 5), (2, 7, 1, 100), (6, 512, 8, 37_000), (1, 1, 1, 1)):
        rows = (words,) * tables
        stack = model(m, n, 2 * blocks, 3 * blocks, bias=False, rows=rows)
        claimed = 16 * blocks * m / (28 * blocks * m + words)
        trials.append(agree(stack.network / stack.total, claimed, f"L={blocks}, d={m}, V={words}"))
    return trials


def words_mutations() -> tuple[Mutation, ...]:
    above, below = words_fraction
    share = over(WITH_WORDS[1].number, everything(*WITH_WORDS))
    twice = over(above, plus(below, vocabulary))
    return (
        Mutation(
            "the embedding is dropped",
            statement=claimed_share(WITH_WORDS, Fraction(4, 7)),
            counterexample=Example({**SMALL, layers: 1, vocabulary: 1}),
            twin=Twin(
                "shares of stored numbers without the embedding",
                lambda rng: twin_with_words(rng, tables=0),
            ),
        ),
        Mutation(
            "the embedding is counted twice though both stacks share it",
            statement=implies(counting(*WITH_WORDS), equal(share, twice)),
            counterexample=Example({**SMALL, layers: 1, vocabulary: 1}),
            twin=Twin(
                "shares of stored numbers with two tables",
                lambda rng: twin_with_words(rng, tables=2),
            ),
        ),
    )


WORDS = Claim(
    id="parameter-shares/encoder-decoder-embedding",
    title="The share of the networks in encoder, decoder, and an embedding",
    source=source(
        "A27",
        r"About 2/3 of a Transformer. Beyond the note: the matrices of both stacks, and one "
        r"embedding of $V$ words that they share.",
    ),
    statement=implies(
        counting(*WITH_WORDS),
        equal(over(WITH_WORDS[1].number, everything(*WITH_WORDS)), over(*words_fraction)),
    ),
    given=(*FIT, FOUR_TIMES),
    proof=counted(WITH_WORDS, prove_with_words),
    defined=positive_whole,
    twin=Twin("shares of stored numbers in both stacks with an embedding", twin_with_words),
    mutations=words_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip


# ---------------------------------------------------------------------- B24: the majority

WIDTHS_FIT = tuple(
    Given(g.formula, "the heads share the width of the model") for g in FIT
)  # fmt: skip
FOURFOLD = Given(FOUR_TIMES.formula, r"the width is raised from 512 to 2048, fourfold")
USUAL = (*WIDTHS_FIT, FOURFOLD)
STACK = (attention(layers), network(layers), embedding(vocabulary))
majority = less(everything(*STACK), times(2, STACK[1].number))
few_words = less(vocabulary, times(4, layers, d))


def prove_majority(p: Prover, counts: Sequence[Theorem]) -> Theorem:
    return p.order(
        majority,
        (d, p.hyp(3)),
        (1, counts[1]),
        (-1, counts[0]),
        (-1, counts[2]),
        reason=r"$12L\,d_{\text{model}}^2 + V\,d_{\text{model}} < 16L\,d_{\text{model}}^2$",
    )


GPT2 = {d: 768, h: 12, d_k: 64, d_v: 64, f: 3_072, layers: 12, vocabulary: 50_257}
GPT3 = {d: 12_288, h: 96, d_k: 128, d_v: 128, f: 49_152, layers: 96, vocabulary: 50_257}
#: (layers, d_model, h, words): around four times layers and width.
AROUND = (
    (1, 4, 2, 15), (1, 4, 2, 16), (1, 4, 2, 17), (3, 5, 1, 59), (3, 5, 5, 60), (2, 1, 1, 9),
    (12, 768, 12, 50_257), (96, 12_288, 96, 50_257), (6, 512, 8, 37_000),
)  # fmt: skip


def twin_majority(_rng: np.random.Generator, tables: int = 1) -> list[Trial]:
    trials = []
    for blocks, m, n, words in AROUND:
        stack = model(m, n, blocks, blocks, bias=False, rows=(words,) * tables)
        most = 2 * stack.network > stack.total
        trials.append(agree(most, words < 4 * blocks * m, f"L={blocks}, d={m}, V={words}"))
    return trials


def majority_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "the model is not asked to be large for its vocabulary",
            given=USUAL,
            counterexample=Example(GPT2),
            twin=Twin(
                "stored numbers without the embedding, around the vocabulary in question",
                lambda rng: twin_majority(rng, tables=0),
            ),
        ),
    )


MAJORITY = Claim(
    id="parameter-shares/majority",
    title="The majority of all parameters",
    source=source(
        "B24",
        r"The feed-forward networks hold most of the parameters of a Transformer; read as the "
        r"matrices of $L$ blocks, and an embedding of $V$ words.",
    ),
    statement=implies(counting(*STACK), majority),
    given=USUAL,
    added=(
        Added(
            few_words,
            Example(GPT2),
            "the note does not say that the model is large for its vocabulary; the counterexample "
            "has the sizes of GPT-2 small",
        ),
    ),
    witness=Example(GPT3),
    proof=counted(STACK, prove_majority),
    mutations=majority_mutations,
    twin=Twin("stored numbers around the vocabulary in question", twin_majority),
    expected=Verdict.CONDITIONAL,
    remark="The witness has the sizes of GPT-3.",
)  # fmt: skip


def exactly_when(
    groups: Sequence[Group], condition: Any, scale: Any, reason: str
) -> Callable[[Prover], Theorem]:
    """2 N_F > all if and only if the condition holds, which differs by the factor `scale`."""
    most = less(everything(*groups), times(2, groups[1].number))
    signs = [1 if g is groups[1] else -1 for g in groups]

    def then(p: Prover, counts: Sequence[Theorem]) -> Theorem:
        def divided(known: Theorem) -> Theorem:
            items = ((over(-s, scale), c) for s, c in zip(signs, counts, strict=True))
            return p.order(condition, (over(1, scale), known), *items, reason=f"divide by {reason}")

        def multiplied(known: Theorem) -> Theorem:
            items = zip(signs, counts, strict=True)
            return p.order(most, (scale, known), *items, reason=f"multiply by {reason}")

        return p.both(
            p.suppose(most, divided, "suppose that it is the majority"),
            p.suppose(condition, multiplied, "conversely, suppose this"),
        )

    return counted(groups, then)


WIDTH = r"$d_{\text{model}}$"


def majority_iff_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "twice as many words are allowed",
            statement=implies(
                counting(*STACK), iff(majority, less(vocabulary, times(8, layers, d)))
            ),
            counterexample=Example({**SMALL, layers: 1, vocabulary: 16}),
        ),
    )


MAJORITY_IFF = Claim(
    id="parameter-shares/majority-iff",
    title="When the networks hold the majority",
    source=source(
        "B24",
        r"The feed-forward networks hold most of the parameters. Beyond the note: exactly when, "
        r"for the matrices of $L$ blocks and an embedding of $V$ words.",
    ),
    statement=implies(counting(*STACK), iff(majority, few_words)),
    given=USUAL,
    proof=exactly_when(STACK, few_words, d, WIDTH),
    mutations=majority_iff_mutations,
    twin=Twin("stored numbers around the vocabulary in question", twin_majority),
    expected=Verdict.PROVED,
)  # fmt: skip

LANGUAGE_MODEL = (
    attention(layers, bias=True), network(layers, bias=True), norms(plus(times(2, layers), 1)),
    embedding(vocabulary, context),
)  # fmt: skip
few_rows = less(plus(vocabulary, context, times(3, layers), 2), times(4, layers, d))


def language_model(blocks: int, m: int, n: int, words: int, positions: int) -> Stored:
    return model(m, n, blocks, blocks, norms=2 * blocks + 1, rows=(words, positions))


def twin_language_model(_rng: np.random.Generator) -> list[Trial]:
    trials = []
    for blocks, m, n, words in AROUND:
        for positions in (1, 2, 3, 1024):
            stored = language_model(blocks, m, n, words, positions)
            most = 2 * stored.network > stored.total
            claimed = words + positions + 3 * blocks + 2 < 4 * blocks * m
            trials.append(agree(most, claimed, f"L={blocks}, d={m}, V={words}, n={positions}"))
    return trials


LANGUAGE_MODEL_IFF = Claim(
    id="parameter-shares/majority-iff-everything",
    title="When the networks hold the majority, everything counted",
    source=source(
        "B24",
        r"The feed-forward networks hold most of the parameters. Beyond the note: exactly when, "
        r"for $L$ blocks with all biases, $2L + 1$ normalisations, $V$ words and $n$ positions.",
    ),
    statement=implies(
        counting(*LANGUAGE_MODEL),
        iff(less(everything(*LANGUAGE_MODEL), times(2, LANGUAGE_MODEL[1].number)), few_rows),
    ),
    given=USUAL,
    proof=exactly_when(LANGUAGE_MODEL, few_rows, d, WIDTH),
    twin=Twin("stored numbers around the number of rows in question", twin_language_model),
    expected=Verdict.PROVED,
)  # fmt: skip


def twin_stacks_majority(_rng: np.random.Generator) -> list[Trial]:
    trials = []
    for blocks, m, n, words in AROUND:
        stack = model(m, n, 2 * blocks, 3 * blocks, bias=False, rows=(words,))
        most = 2 * stack.network > stack.total
        trials.append(agree(most, words < 4 * blocks * m, f"L={blocks}, d={m}, V={words}"))
    return trials


STACKS_IFF = Claim(
    id="parameter-shares/majority-iff-encoder-decoder",
    title="When the networks hold the majority of an encoder and a decoder",
    source=source(
        "B24",
        r"The feed-forward networks hold most of the parameters. Beyond the note: exactly when, "
        r"for the matrices of $L$ blocks on either side and one embedding of $V$ words.",
    ),
    statement=implies(
        counting(*WITH_WORDS),
        iff(less(everything(*WITH_WORDS), times(2, WITH_WORDS[1].number)), few_words),
    ),
    given=USUAL,
    proof=exactly_when(WITH_WORDS, few_words, d, WIDTH),
    twin=Twin("stored numbers around the vocabulary in question", twin_stacks_majority),
    expected=Verdict.PROVED,
)  # fmt: skip


def prove_minority(p: Prover, counts: Sequence[Theorem]) -> Theorem:
    return p.order(
        less(times(2, DECODER[1].number), everything(*DECODER)),
        *((1 if g is not DECODER[1] else -1, c) for g, c in zip(DECODER, counts, strict=True)),
        reason=r"$16\,d_{\text{model}}^2 + 10\,d_{\text{model}} < "
        r"16\,d_{\text{model}}^2 + 19\,d_{\text{model}}$",
    )


def twin_minority(_rng: np.random.Generator) -> list[Trial]:
    trials = []
    for m, n in SIZES:
        block = model(m, n, 1, 2, norms=3)
        trials.append(bounded(2 * block.network + 9 * m, block.total, f"d={m}"))
    return trials


DECODER_MAJORITY = Claim(
    id="parameter-shares/majority-decoder-block",
    title="The majority of a decoder block",
    source=source(
        "B24",
        r"The feed-forward networks hold most of the parameters; read as those of a decoder block "
        r"with cross-attention, all biases and three normalisations.",
    ),
    statement=implies(
        counting(*DECODER), less(everything(*DECODER), times(2, DECODER[1].number))
    ),
    given=USUAL,
    counterexample=Example(SMALL),
    correction=Correction(
        implies(counting(*DECODER), less(times(2, DECODER[1].number), everything(*DECODER))),
        counted(DECODER, prove_minority),
        USUAL,
    ),
    twin=Twin("stored numbers of decoder blocks", twin_minority),
    expected=Verdict.REFUTED,
)  # fmt: skip

# ---------------------------------------------------------------------- models


def at_sizes(groups: Sequence[Group], sizes: dict[Any, int]) -> tuple[Group, ...]:
    return tuple(
        Group(g.number, g.what, g.entries.xreplace(sizes), g.closed.xreplace(sizes)) for g in groups
    )


BASE = {d: 512, h: 8, d_k: 64, d_v: 64, f: 2_048, vocabulary: 37_000}
# 6 + 6 blocks, the latter with two attention layers and three normalisations
BASE_MODEL = at_sizes(
    (attention(18, bias=True), network(12, bias=True), norms(30), embedding(vocabulary)), BASE
)
GPT2_MODEL = at_sizes(LANGUAGE_MODEL, {**GPT2, context: 1_024})
GPT3_MODEL = at_sizes(LANGUAGE_MODEL, {**GPT3, context: 2_048})


def share_between(
    groups: Sequence[Group], ffn: int, whole: int, low: Fraction, high: Fraction
) -> Any:
    """The two counts, and bounds for the share."""
    share = over(groups[1].number, everything(*groups))
    return implies(
        counting(*groups),
        both(
            equal(groups[1].number, ffn),
            equal(everything(*groups), whole),
            less(low, share),
            less(share, high),
        ),
    )


def prove_share(
    groups: Sequence[Group], ffn: int, whole: int, low: Fraction, high: Fraction
) -> Callable[[Prover], Theorem]:
    ffn_number, together = groups[1].number, everything(*groups)
    share, inverse = over(ffn_number, together), power(together, -1)

    def then(p: Prover, counts: Sequence[Theorem]) -> Theorem:
        first = p.equal(ffn_number, ffn, counts[1], show=False)
        second = p.equal(together, whole, *counts, reason="everything, added up")
        p.fact(p.order(less(0, together), (1, second)))
        cancelled = p.cancel(together)
        less_than = p.order(less(times(low, together), ffn_number), (-low, second), (1, first))
        more_than = p.order(less(ffn_number, times(high, together)), (-1, first), (high, second))
        below = p.order(
            less(low, share),
            (inverse, less_than),
            (low, cancelled),
            reason=rf"since ${sp.latex(sp.Rational(low))} \cdot {whole} < {ffn}$",
        )
        above = p.order(
            less(share, high),
            (inverse, more_than),
            (-high, cancelled),
            reason=rf"since ${ffn} < {sp.latex(sp.Rational(high))} \cdot {whole}$",
        )
        return p.both(first, second, below, above)

    return counted(groups, then)


def model_claim(
    name: str, title: str, where: Source, groups: Sequence[Group], numbers: Any, stored: Stored,
    remark: str = "", refuted: Any = None,
    mutations: Callable[[], tuple[Mutation, ...]] | None = None,
) -> Claim:  # fmt: skip
    """The counts of one model: as what is to be proved, or as the correction of `refuted`."""

    def trials(_rng: np.random.Generator) -> list[Trial]:
        ffn, whole, low, high = numbers
        share = stored.network / stored.total
        return [
            agree(stored.network, ffn, "networks"),
            agree(stored.total, whole, "everything"),
            bounded(float(low), share, "share"),
            bounded(share, float(high), "share"),
        ]

    proof, statement = prove_share(groups, *numbers), share_between(groups, *numbers)
    twin = Twin("numbers stored by arrays of these sizes", trials)
    parts: dict[str, Any] = {"statement": statement, "proof": proof, "defined": positive_whole}
    if refuted is not None:
        parts = {
            "statement": implies(counting(*groups), refuted),
            "counterexample": Example({}),
            "correction": Correction(statement, proof, defined=positive_whole),
        }
    return Claim(
        id=f"parameter-shares/{name}", title=title, source=where, twin=twin, remark=remark,
        mutations=mutations,
        expected=Verdict.PROVED if refuted is None else Verdict.REFUTED, **parts,
    )  # fmt: skip


BASE_SHARE = model_claim(
    "transformer-base",
    "Two thirds of the base model",
    source(
        "A27",
        r"About 2/3 of all parameters; read as exactly that share of the base model, with "
        r"$d_{\text{model}} = 512$, six blocks on either side, and 37000 words in one embedding.",
    ),
    BASE_MODEL,
    (25_196_544, 63_082_496, Fraction(399, 1000), Fraction(2, 5)),
    model(512, 8, 12, 18, norms=30, rows=(37_000,)),
    refuted=equal(BASE_MODEL[1].number, times(Fraction(2, 3), everything(*BASE_MODEL))),
    remark="Just under 40 %. The number of words is that of the published model, rounded.",
)
BASE_MAJORITY = model_claim(
    "transformer-base-majority",
    "The majority of the base model",
    source(
        "B24",
        r"The feed-forward networks hold most of the parameters of a Transformer; read as the "
        r"base model, whose default sizes 512 and 2048 the note uses.",
    ),
    BASE_MODEL,
    (25_196_544, 63_082_496, Fraction(399, 1000), Fraction(2, 5)),
    model(512, 8, 12, 18, norms=30, rows=(37_000,)),
    refuted=less(everything(*BASE_MODEL), times(2, BASE_MODEL[1].number)),
)


def gpt2_mutations() -> tuple[Mutation, ...]:
    """Without the embedding the share is 66.6 % in place of 45.5 %."""
    low, high = Fraction(455, 1000), Fraction(456, 1000)

    def without_embedding(_rng: np.random.Generator) -> list[Trial]:
        stored = language_model(12, 768, 12, 50_257, 1_024)
        share = stored.network / (stored.total - (50_257 + 1_024) * 768)
        return [bounded(float(low), share, "share"), bounded(share, float(high), "share")]

    ffn, rest = GPT2_MODEL[1].number, plus(*(g.number for g in GPT2_MODEL[:3]))
    return (
        Mutation(
            "the share is taken of a total without the embeddings",
            statement=implies(counting(*GPT2_MODEL), less(ffn, times(high, rest))),
            counterexample=Example({}),
            twin=Twin("the share of the networks without the embeddings", without_embedding),
        ),
    )


GPT2_MAJORITY = model_claim(
    "gpt2-small-majority",
    "The majority of GPT-2 small",
    source(
        "B24",
        r"The feed-forward networks hold most of the parameters of a Transformer; read as GPT-2 "
        r"small: 12 blocks of width 768, 50257 words, 1024 positions.",
    ),
    GPT2_MODEL,
    (56_669_184, 124_439_808, Fraction(455, 1000), Fraction(456, 1000)),
    language_model(12, 768, 12, 50_257, 1_024),
    refuted=less(everything(*GPT2_MODEL), times(2, GPT2_MODEL[1].number)),
    mutations=gpt2_mutations,
)
GPT3_SHARE = model_claim(
    "gpt3",
    "Nearly two thirds of GPT-3",
    source(
        "A27",
        r"About 2/3 of all parameters of a Transformer. Beyond the note: GPT-3, with 96 blocks of "
        r"width 12288, 50257 words, 2048 positions.",
    ),
    GPT3_MODEL,
    (115_970_015_232, 174_604_259_328, Fraction(664, 1000), Fraction(2, 3)),
    language_model(96, 12_288, 96, 50_257, 2_048),
)

CLAIMS = (
    TWO_THIRDS,
    ANY_WIDENING,
    ENCODER_BLOCK,
    DECODER_BLOCK,
    HALF,
    STACKS,
    WORDS,
    BASE_SHARE,
    GPT3_SHARE,
    MAJORITY,
    MAJORITY_IFF,
    LANGUAGE_MODEL_IFF,
    STACKS_IFF,
    DECODER_MAJORITY,
    BASE_MAJORITY,
    GPT2_MAJORITY,
)

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
