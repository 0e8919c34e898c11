"""The layer, the split into heads, the backward pass: verdicts, replay, twins, mutants, NumPy."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
import sympy as sp
from claim_checks import (
    CONCLUDED,
    holds,
    mutant,
    number,
    proved_by,
    settle,
    value,
    verdicts,
    without,
)

import numeric
from derive.claim import Example, Given
from derive.claims import _heads as P
from derive.claims import head_split as S
from derive.claims import multi_head as H
from derive.claims import multi_head_backward as B
from derive.claims._heads import (
    W_K,
    W_O,
    W_Q,
    W_V,
    A,
    K,
    Q,
    V,
    X,
    a,
    average,
    b,
    c,
    concat,
    d,
    d_k,
    d_v,
    f,
    h,
    head,
    i,
    j,
    keys,
    l,
    m,
    n,
    o,
    position,
    projected,
    queries,
    s,
    t,
    values,
)
from derive.convert import ConversionError, Converter
from derive.language import (
    GradientIs,
    at_most,
    either,
    equal,
    forall,
    iff,
    implies,
    less,
    over,
    plus,
    times,
    total,
)
from derive.result import TwinStatus, Verdict

BY_NAME = {c.id: c for c in (*H.CLAIMS, *S.CLAIMS, *B.CLAIMS)}
delta = sp.KroneckerDelta
TRIVIAL = Given(equal(0, 0))


# ---------------------------------------------------------------------- every claim


def test_verdicts_other_than_proved():
    kinds = {n: x.expected.value for n, x in BY_NAME.items() if x.expected is not Verdict.PROVED}
    assert kinds == {
        "multi-head/low-dimensional": "conditional",
        "multi-head/projection-idempotent": "refuted",
        "head-split/reshape-without-swap": "refuted",
        "head-split/split-by-stride": "refuted",
        "head-split/split-along-tokens": "refuted",
    }
    places = {p for x in BY_NAME.values() for p in x.source.places}
    assert places == {"A02", "A03", "A05", "A07", "B05", "B06", "B07", "B08"}


def test_every_hypothesis_is_used():
    for name, claim in BY_NAME.items():
        result = settle(claim).result
        assert all(x.used for x in result.hypotheses), name


def test_the_condition_is_needed():
    (low,) = settle(H.LOW).result.counterexamples
    assert (low.latex, low.breaks) == (r"4 \ge 4", r"2 \le h")


def test_nothing_but_derivatives_and_roots_is_assumed():
    allowed = {"derivative-table", "exp-add", "exp-sign", "sqrt-sign", "sqrt-square"}
    for claim in BY_NAME.values():
        assert {x.name for x in settle(claim).result.axioms} <= allowed


# ---------------------------------------------------------------------- mutants


def everywhere(variables, left, right):
    return forall(variables, equal(left, right))


def diagonally(variables, left, right):
    return implies(S.block_diagonal, everywhere(variables, left, right))


form = total(times(Q[t, a], H.form(i, a, b), K[s, b]), a, b)
commuted = total(times(total(times(A[i, t, s], V[s, a]), s), W_V[i, a, f]), a)
column, strided = S.column, S.strided

REFUTED = {
    # shapes
    "sizes: width of the keys for the values": mutant(
        H.SHAPES, statement=equal(total(1, s, f), times(m, d_k))
    ),
    "sizes: all heads": mutant(
        H.SHAPES, statement=equal(total(1, t, c), times(n, times(h, d_k)))
    ),
    "form: queries for keys": mutant(
        H.FORM,
        statement=everywhere(
            [i, t, s], H.product(i, t, s),
            total(times(Q[t, a], W_Q[i, a, c], W_Q[i, b, c], K[s, b]), a, b, c),
        ),
    ),
    "form: a sign": mutant(
        H.FORM, statement=everywhere([i, t, s], H.product(i, t, s), times(-1, form))
    ),
    "form: one head for all": mutant(
        H.FORM,
        statement=everywhere(
            [i, t, s], H.product(i, t, s), total(times(Q[t, a], H.form(0, a, b), K[s, b]), a, b)
        ),
    ),
    "form: no queries given": mutant(H.FORM, given=without(H.FORM, 0)),
    "form: no keys given": mutant(H.FORM, given=without(H.FORM, 1)),
    # one head
    "average: projected twice": mutant(
        H.ASSOCIATIVE,
        statement=everywhere(
            [i, t, f], average(A, values, i, t, f),
            total(times(A[i, t, s], values[i, s, f], W_V[i, a, f]), s, a),
        ),
    ),
    "average: half of it": mutant(
        H.ASSOCIATIVE,
        statement=everywhere([i, t, f], average(A, values, i, t, f), over(commuted, 2)),
    ),
    "average: not projected": mutant(H.ASSOCIATIVE, given=without(H.ASSOCIATIVE, 0)),
    "low: one head": mutant(H.LOW, given=(*H.LOW.given, Given(at_most(1, h)))),
    "low: half": mutant(
        H.LOW, statement=at_most(times(2, d_k), d), given=(*H.LOW.given, Given(at_most(1, h)))
    ),
    "low: not the width of a head": mutant(H.LOW, given=(TRIVIAL, Given(at_most(2, h)))),
    "lower iff: one": mutant(H.LOWER_IFF, statement=iff(less(d_k, d), at_most(1, h))),
    "lower iff: at most": mutant(H.LOWER_IFF, statement=iff(at_most(d_k, d), at_most(2, h))),
    # splitting
    "split: the first head for all": mutant(
        S.SPLIT,
        statement=everywhere(
            [i, t, c], S.at_once(X, S.full_Q, t, c), projected(X, W_Q, i, t, c)
        ),
    ),
    "split: no blocks": mutant(S.SPLIT, given=without(S.SPLIT, 0)),
    "split first: whole token": mutant(
        S.SPLIT_FIRST,
        statement=diagonally(
            [i, t, c], S.whole_token,
            total(times(S.parts_of_X[t, S.x_column], S.U[i, S.x_column, c]), S.x_column),
        ),
    ),
    "split first: twice": mutant(
        S.SPLIT_FIRST,
        statement=diagonally([i, t, c], S.whole_token, times(2, S.own_part)),
    ),
    "reshape: columns in the middle": mutant(
        S.RESHAPE,
        statement=everywhere(
            [t, i, c], S.row_major(t, i, c), plus(times(plus(times(t, d_k), c), h), i)
        ),
    ),
    "direct: as many heads as tokens": mutant(
        S.DIRECT, statement=implies(equal(n, h), S.straight)
    ),
    "direct: one column": mutant(
        S.DIRECT, statement=iff(S.straight, either(equal(n, 1), equal(d_k, 1)))
    ),
    "stride: as many heads as columns": mutant(
        S.STRIDE, statement=implies(equal(h, d_k), S.every_hth)
    ),
    "tokens: two heads": mutant(
        S.TOKENS, statement=implies(S.even_share, iff(equal(S.r, n), equal(h, 2)))
    ),
    # the output
    "heads: one of them": mutant(
        H.BY_HEADS,
        statement=everywhere(
            [t, o], P.output, total(times(head[0, t, f], W_O[f, o]), f)
        ),
    ),
    "heads: averaged": mutant(
        H.BY_HEADS, statement=everywhere([t, o], P.output, over(P.by_heads, h))
    ),
    "heads: not side by side": mutant(H.BY_HEADS, given=without(H.BY_HEADS, 0)),
    "maps: no values": mutant(H.BY_MAPS, given=without(H.BY_MAPS, 0)),
    "maps: a sign": mutant(
        H.BY_MAPS, statement=everywhere([t, o], P.output, times(-1, H.by_maps))
    ),
    "identity: twice": mutant(
        H.UNMIXED,
        statement=everywhere(
            [t, i, f], total(times(concat[t, l], delta(l, position(i, f))), l),
            times(2, head[i, t, f]),
        ),
    ),
    # projections
    "linear: an offset": mutant(
        H.LINEAR,
        statement=everywhere(
            c, H.image(lambda a: plus(H.x_row[a], 1), c), H.image(lambda a: H.x_row[a], c)
        ),
    ),
    "linear: the square of the number": mutant(
        H.LINEAR,
        statement=everywhere(
            c, H.image(lambda a: times(H.scale, H.x_row[a]), c),
            times(H.scale**2, H.image(lambda a: H.x_row[a], c)),
        ),
    ),
    "unseen: a change that is seen": mutant(
        H.UNSEEN, statement=H.UNSEEN.statement.args[1].args[1]
    ),
    "idempotent: symmetric": mutant(
        H.IDEMPOTENT, statement=everywhere([a, o], H.square[a, o], H.square[o, a])
    ),
    "idempotent: twice": mutant(
        H.IDEMPOTENT,
        statement=everywhere(
            [a, o], total(times(H.square[a, b], H.square[b, o]), b), times(2, H.square[a, o])
        ),
    ),
    "direct: never": mutant(S.DIRECT, statement=iff(S.straight, equal(0, 1))),
    "row: no weights": mutant(H.ROW, given=without(H.ROW, 2)),
    "both ways: no values": mutant(S.SPLIT_HEADS, given=without(S.SPLIT_HEADS, 2)),
    "both ways: split values are not": mutant(S.SPLIT_HEADS, given=without(S.SPLIT_HEADS, 5)),
    "both ways: no weights": mutant(S.SPLIT_HEADS, given=without(S.SPLIT_HEADS, 10)),
}  # fmt: skip
#: So many hypotheses that a search for counterexamples takes seconds.
LARGE = {
    "row: another row": mutant(
        H.ROW,
        statement=forall(
            t,
            implies(
                forall(a, equal(Q[0, a], H.other_Q[0, a])), H.ROW.statement.args[1].args[1]
            ),
        ),
    ),
    "row: nothing in common": mutant(
        H.ROW, statement=forall(t, H.ROW.statement.args[1].args[1])
    ),
    "row: no queries": mutant(H.ROW, given=without(H.ROW, 0)),
    "both ways: other queries": mutant(S.SPLIT_HEADS, given=without(S.SPLIT_HEADS, 0)),
    "both ways: other keys": mutant(S.SPLIT_HEADS, given=without(S.SPLIT_HEADS, 1)),
    "both ways: split keys are not": mutant(S.SPLIT_HEADS, given=without(S.SPLIT_HEADS, 4)),
}  # fmt: skip
gradient = GradientIs
paired = total(times(B.G[t, o], P.output), t, o)
#: Derivatives are not denied by evaluation; these have to stay open.
GRADIENTS = {
    "matrix: a sign": mutant(
        B.OUTPUT_GRADIENT,
        statement=gradient(
            paired, W_O, (l, o), total(times(-1, concat[t, l], B.G[t, o]), t)
        ),
    ),
    "heads: rows of another head": mutant(
        B.OUTPUT_GRADIENT,
        statement=gradient(
            total(times(B.G[t, o], P.by_heads), t, o), head, (i, t, f),
            total(times(B.G[t, o], P.own_rows(0, f, o)), o),
        ),
    ),
    "heads: every h-th row": mutant(
        B.OUTPUT_GRADIENT,
        statement=gradient(
            total(times(B.G[t, o], P.by_heads), t, o), head, (i, t, f),
            total(times(B.G[t, o], W_O[plus(times(f, h), i), o]), o),
        ),
    ),
    "values: weights of one query": mutant(
        B.VALUES_GRADIENT,
        statement=gradient(
            B.paired_average, values, (i, s, f), times(A[i, 0, s], B.by_head[i, 0, f])
        ),
    ),
    "queries: scaled by the width": mutant(
        B.QUERIES_GRADIENT,
        statement=gradient(
            B.through_attention, queries, (i, t, c),
            over(total(times(B.R[i, t, s], keys[i, s, c]), s), d_k),
        ),
    ),
    "queries: no weights": mutant(
        B.QUERIES_GRADIENT, given=without(B.QUERIES_GRADIENT, 2)
    ),
    "keys: a sign": mutant(
        B.KEYS_GRADIENT,
        statement=gradient(B.through_attention, keys, (i, s, c), times(-1, B.by_keys)),
    ),
    "keys: no heads": mutant(B.KEYS_GRADIENT, given=without(B.KEYS_GRADIENT, 1)),
    "projection: turned round": mutant(
        B.PROJECTION_GRADIENT,
        statement=gradient(
            B.paired_projection, W_Q, (i, a, c),
            total(times(X[t, a], B.by_projection[j, t, c]), j, t),
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUTED)
def test_mutants_are_refuted(name):
    by_hand, alone = verdicts(REFUTED[name])
    assert by_hand not in CONCLUDED
    assert alone is Verdict.REFUTED


@pytest.mark.parametrize("name", [*LARGE, *GRADIENTS])
def test_mutants_are_not_proved(name):
    assert not proved_by({**LARGE, **GRADIENTS}[name])


def test_a_condition_that_is_not_broken_does_not_count():
    (added,) = H.LOW.added
    for values_ in ({d: 4, h: 2, d_k: 2}, {d: 12, h: 4, d_k: 3}):
        wrong = replace(added, counterexample=Example(values_))
        assert settle(replace(H.LOW, added=(wrong,))).result.verdict is Verdict.UNDECIDED


# ---------------------------------------------------------------------- shapes


def test_entries_out_of_shape_are_no_statements():
    for wrong in (
        Q[s, a],  # a key for a query
        W_Q[i, c, a],
        W_Q[i, a, f],
        W_O[plus(times(i, d_k), c), o],
        concat[t, plus(times(i, d_v), c)],
        W_O[plus(times(i, d_v), d_v), o],
    ):
        with pytest.raises(ConversionError):
            Converter().term(wrong)


@pytest.mark.parametrize("tokens", [(3, 3), (2, 5)])
def test_layers_refuse_what_does_not_fit(tokens):
    rng = np.random.default_rng(4)
    weights = numeric.MultiHeadWeights.init(rng, 6, 3, 2, 4)
    x, y = (rng.standard_normal((count, 6)) for count in tokens)
    numeric.multi_head_attention(x, y, y, weights)
    for wrong in ((x[:, :5], y, y), (x, y[:, :2], y), (x, y, y[:1]), (x.T, y, y)):
        with pytest.raises(ValueError, match="expected"):
            numeric.multi_head_attention(*wrong, weights)
    with pytest.raises(ValueError, match="w_q has shape"):
        numeric.MultiHeadWeights(weights.w_q[0], weights.w_k, weights.w_v, weights.w_o)
    with pytest.raises(ValueError, match="w_o has shape"):
        numeric.MultiHeadWeights(weights.w_q, weights.w_k, weights.w_v, weights.w_o.T)


# ---------------------------------------------------------------------- agreement with NumPy


def drawn(seed, sizes):
    """Small integers for every tensor of the layer, and what the layer makes of them."""
    rng = np.random.default_rng(seed)
    tokens, others, width, heads, key_width, value_width = sizes
    w = numeric.MultiHeadWeights(
        *(rng.integers(-2, 3, shape).astype(float) for shape in (
            (heads, width, key_width), (heads, width, key_width),
            (heads, width, value_width), (heads * value_width, width),
        ))
    )  # fmt: skip
    x, y, z = (rng.integers(-1, 2, (k, width)).astype(float) for k in (tokens, others, others))
    known = {
        n: tokens, m: others, d: width, h: heads, d_k: key_width, d_v: value_width,
        Q: x, K: y, V: z, W_Q: w.w_q, W_K: w.w_k, W_V: w.w_v, W_O: w.w_o, X: x,
        queries: x @ w.w_q, keys: y @ w.w_k, values: z @ w.w_v, A: P.patterns(x, y, w),
        head: numeric.attention_heads(x, y, z, w),
    }  # fmt: skip
    known[concat] = numeric.concat_heads(known[head])
    return (x, y, z, w), known


CASES = [(0, (2, 3, 4, 2, 1, 3)), (1, (3, 2, 2, 3, 2, 1)), (2, (1, 2, 3, 1, 2, 2))]


@pytest.mark.parametrize(("seed", "sizes"), CASES)
def test_definitions_are_what_the_layer_computes(seed, sizes):
    (x, y, z, w), known = drawn(seed, sizes)
    out = numeric.multi_head_attention(x, y, z, w)
    for at in np.ndindex(sizes[0], sizes[2]):
        where = {**known, t: at[0], o: at[1]}
        for expression in (P.output, P.by_heads, H.by_maps):
            assert number(expression, where) == pytest.approx(out[at], abs=1e-12)
    for definition in (P.QUERIES, P.KEYS, P.VALUES, P.WEIGHTS, P.HEADS, P.CONCAT):
        assert_holds(definition.formula, known)


def assert_holds(formula, known):
    """An equation for all indices, at these sizes and arrays."""
    indices = []
    while hasattr(formula, "args") and type(formula).__name__ == "ForAll":
        indices.append(formula.args[0])
        formula = formula.args[1]
    ranges = [int(number(x.upper + 1, known)) for x in indices]
    for at in itertools.product(*map(range, ranges)):
        where = {**known, **dict(zip(indices, at, strict=True))}
        left, right = (number(side, where) for side in formula.args)
        assert left == pytest.approx(right, abs=1e-12)


@pytest.mark.parametrize(("seed", "sizes"), CASES)
def test_statements_hold_of_the_layer(seed, sizes):
    _, known = drawn(seed, sizes)
    for claim in (H.FORM, H.ASSOCIATIVE, H.BY_HEADS, H.BY_MAPS, H.UNMIXED):
        assert_holds(claim.statement, known)
    full = {S.full_Q: S.beside(known[W_Q]), S.full_K: S.beside(known[W_K])}
    assert_holds(S.BLOCKS_Q.formula, {**known, **full})
    assert_holds(S.SPLIT.statement, {**known, **full})
    with pytest.raises(AssertionError):
        assert_holds(S.SPLIT.statement, {**known, S.full_Q: full[S.full_Q] + 1})


@pytest.mark.parametrize(("seed", "sizes"), CASES)
def test_gradients_are_those_of_the_backward_pass(seed, sizes):
    (x, y, z, w), known = drawn(seed, sizes)
    cotangent = np.random.default_rng(seed).standard_normal(x.shape)
    by_head = numeric.split_heads(cotangent @ w.w_o.T, w.h)
    gain = np.einsum("itf,isf->its", by_head, known[values])
    gain = known[A] * (gain - np.einsum("itf,itf->it", by_head, known[head])[..., None])
    known = {**known, B.G: cotangent, B.by_head: by_head, B.R: gain}
    assert_holds(B.GAIN.formula, known)
    gradient = numeric.multi_head_attention_vjp(x, y, z, w, cotangent)[-1]
    by_attention = numeric.scaled_dot_product_attention_vjp(
        known[queries], known[keys], known[values], by_head
    )
    for expected, value_, at in (
        (gradient.w_o, B.OUTPUT_GRADIENT.statement.args[0].args[3], (l, o)),
        (by_head, B.OUTPUT_GRADIENT.statement.args[1].args[3], (i, t, f)),
        (by_attention[0], B.by_queries, (i, t, c)),
        (by_attention[1], B.by_keys, (i, s, c)),
        (by_attention[2], B.VALUES_GRADIENT.statement.args[3], (i, s, f)),
    ):
        for place in np.ndindex(expected.shape):
            where = {**known, **dict(zip(at, place, strict=True))}
            assert number(value_, where) == pytest.approx(expected[place], abs=1e-12)


def test_places_are_those_of_reshaped_arrays():
    for tokens, heads, width in itertools.product((1, 2, 3), repeat=3):
        flat = np.arange(tokens * heads * width)
        matrix = flat.reshape(tokens, heads * width)
        sizes = {n: tokens, h: heads, d_k: width}
        for at in np.ndindex(tokens, heads, width):
            where = {**sizes, t: at[0], i: at[1], c: at[2]}
            column = int(value(S.column(i, c), where))
            assert value(S.row_major(t, i, c), where) == matrix[at[0], column]
            assert value(S.tokens_first(t, i, c), where) == flat.reshape(tokens, heads, width)[at]
            direct = flat.reshape(heads, tokens, width)[at[1], at[0], at[2]]
            assert value(S.heads_first(t, i, c), where) == direct
            place = int(value(S.strided(i, c), where))
            assert matrix[0, at[1] :: heads][at[2]] == matrix[0, place]
        for claim in (S.DIRECT, S.STRIDE):
            assert holds(claim.correction.statement, sizes)


def test_lower_iff_at_small_sizes():
    for heads, width in itertools.product(range(1, 5), repeat=2):
        sizes = {d: heads * width, h: heads, d_k: width}
        assert holds(H.LOWER_IFF.statement, sizes)


# ---------------------------------------------------------------------- twins that disagree


def disagreeing(monkeypatch, name, replacement):
    monkeypatch.setattr(numeric, name, replacement)
    runs = {n: x.twin.run(0, x.id).status for n, x in BY_NAME.items()}
    return {n for n, s in runs.items() if s is TwinStatus.DISAGREES}


def test_twins_notice_a_split_without_the_swap(monkeypatch):
    wrong = lambda x, heads: x.reshape(heads, x.shape[0], -1)  # noqa: E731
    assert {
        "head-split/project-then-split",
        "head-split/both-ways-agree",
        "head-split/reshape-and-swap",
        "multi-head-backward/projections",
    } <= disagreeing(monkeypatch, "split_heads", wrong)


def test_twins_notice_heads_that_are_not_scaled(monkeypatch):
    def wrong(x, y, z, weights):
        scores = (x @ weights.w_q) @ (y @ weights.w_k).swapaxes(1, 2)
        return numeric.softmax(scores) @ (z @ weights.w_v)

    found = disagreeing(monkeypatch, "attention_heads", wrong)
    assert {"multi-head/average-then-project", "head-split/both-ways-agree"} <= found


def test_twins_notice_another_order_of_the_heads(monkeypatch):
    right = numeric.multi_head_attention

    def wrong(x, y, z, weights):
        turned = weights.w_o.reshape(weights.h, weights.d_v, -1)[::-1].reshape(weights.w_o.shape)
        return right(
            x, y, z, numeric.MultiHeadWeights(weights.w_q, weights.w_k, weights.w_v, turned)
        )

    found = disagreeing(monkeypatch, "multi_head_attention", wrong)
    assert {
        "multi-head/output-by-heads",
        "multi-head/output-by-maps",
        "multi-head/identity-output-matrix",
        "multi-head-backward/output",
    } <= found


def test_twins_notice_a_backward_pass_without_the_mean(monkeypatch):
    def wrong(q, k, v, cotangent):
        weights = numeric.attention_weights(q, k)
        by_scores = weights * (cotangent @ v.swapaxes(-1, -2)) / np.sqrt(q.shape[-1])
        swapped = by_scores.swapaxes(-1, -2)
        return by_scores @ k, swapped @ q, weights.swapaxes(-1, -2) @ cotangent

    found = disagreeing(monkeypatch, "scaled_dot_product_attention_vjp", wrong)
    # by the values nothing is wrong in itself; its check by complex steps is of all three
    assert {"multi-head-backward/queries", "multi-head-backward/keys"} <= found


def test_twins_notice_one_head_too_few(monkeypatch):
    right = numeric.multi_head_attention_vjp

    def wrong(x, y, z, weights, cotangent):
        *inputs, gradient = right(x, y, z, weights, cotangent)
        return (*(g / weights.h for g in inputs), gradient)

    found = disagreeing(monkeypatch, "multi_head_attention_vjp", wrong)
    assert found == {"multi-head-backward/output", "multi-head-backward/projections"}
