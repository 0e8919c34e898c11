r"""Multi-head attention: shapes of the projections, one head, concatenation, output projection.

The derivations note gives every head its own matrices, lays the heads side by side and multiplies
with ``W^O``.  The layer is a sum over heads: ``Concat W^O = Sum_i A^(i) V C_i`` with
``C_i = W_i^V W_i^O``.  There may be another number of keys than of queries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import sympy as sp

from derive.claim import Added, Claim, Correction, Example, Given, Mutation
from derive.claims import DERIVATIONS, INTERVIEW
from derive.claims._heads import (
    CONCAT,
    HEADS,
    KEYS,
    OUTPUT,
    PROJECTIONS,
    QUERIES,
    VALUES,
    W_K,
    W_O,
    W_Q,
    W_V,
    WEIGHTS,
    A,
    K,
    Q,
    V,
    a,
    attends,
    average,
    b,
    by_heads,
    c,
    concat,
    d,
    d_k,
    d_v,
    dot,
    e,
    f,
    h,
    head,
    i,
    j,
    keys,
    l,
    layers,
    m,
    n,
    o,
    other_A,
    output,
    output_rows,
    own_rows,
    patterns,
    position,
    projected,
    projects,
    queries,
    s,
    same_weights,
    score,
    t,
    values,
)
from derive.kernel.rules import Theorem, infer
from derive.language import (
    at_most,
    both,
    equal,
    forall,
    iff,
    implies,
    index,
    less,
    over,
    plus,
    real,
    tensor,
    times,
    total,
)
from derive.prover import Prover
from derive.result import Source, Verdict
from derive.twin import Trial, Twin, differs
from derive.twin import equal as agree

ORDER = 15
TOPIC = "multi-head"

delta = sp.KroneckerDelta


#: sizes for examples with two heads of one column each
TWO_HEADS = {n: 1, d: 1, h: 2, d_v: 1}


# ---------------------------------------------------------------------- shapes

sizes = both(
    equal(total(1, t, c), times(n, d_k)),
    equal(total(1, s, c), times(m, d_k)),
    equal(total(1, s, f), times(m, d_v)),
)


def prove_shapes(p: Prover) -> Theorem:
    return p.both(
        p.equal(total(1, t, c), times(n, d_k), reason="$n$ queries of $d_k$ columns"),
        p.equal(total(1, s, c), times(m, d_k), reason="$m$ keys, of as many columns"),
        p.equal(total(1, s, f), times(m, d_v), reason="as many values as keys, of any width"),
    )


def refused(function: Callable[..., Any], *arguments: Any) -> bool:
    """Whether shapes that do not fit are an error."""
    try:
        function(*arguments)
    except ValueError:
        return True
    return False


def twin_shapes(rng: np.random.Generator, turned: bool = False) -> Iterator[Trial]:
    from numeric import linear, scaled_dot_product_attention

    for x, y, z, weights in layers(rng):
        w_q = weights.w_q[0].T if turned else weights.w_q[0]
        yield agree(refused(linear, x, w_q), False, "a matrix that fits the queries")
        if turned:
            continue
        q, k, v = linear(x, w_q), linear(y, weights.w_k[0]), linear(z, weights.w_v[0])
        yield agree(q.size, len(x) * weights.d_k, "queries")
        yield agree(k.size, len(y) * weights.d_k, "keys")
        yield agree(v.size, len(y) * weights.d_v, "values")
        out = scaled_dot_product_attention(q, k, v)
        yield agree(out.shape, (len(x), weights.d_v), "one row per query")
    q, k, v = (rng.standard_normal(shape) for shape in ((3, 2), (5, 2), (5, 4)))
    yield agree(refused(scaled_dot_product_attention, q, k[:, :1], v), True, "key width")
    yield agree(refused(scaled_dot_product_attention, q, k, v[:3]), True, "number of values")


def shapes_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            r"$W_i^Q$ is declared as a $d_k \times d_{\text{model}}$ matrix",
            twin=Twin("whether queries pass a turned matrix", lambda rng: twin_shapes(rng, True)),
        ),
        Mutation(
            "there is a query for each of the $m$ keys",
            statement=equal(total(1, t, c), times(m, d_k)),
        ),
        Mutation(
            "there is a value for each of the $n$ queries",
            statement=equal(total(1, s, f), times(n, d_v)),
        ),
    )


SHAPES = Claim(
    id="multi-head/projected-sizes",
    title="Projected queries, keys and values",
    source=Source(DERIVATIONS, ("A02",), f"{PROJECTIONS}; the inputs have one token in each row."),
    statement=sizes,
    proof=prove_shapes,
    twin=Twin("entries of projected arrays; shapes that do not fit are refused", twin_shapes),
    mutations=shapes_mutations,
    expected=Verdict.PROVED,
    remark="Two sizes must agree: queries and keys have one width, and there are as many values as "
    "keys. Nothing ties $d_k$ to $d_v$, or $n$ to $m$.",
)  # fmt: skip


def form(i: Any, a: Any, b: Any) -> Any:
    """Entry (a, b) of ``B_i = W_i^Q W_i^K^T``."""
    return total(times(W_Q[i, a, c], W_K[i, b, c]), c)


def product(i: Any, t: Any, s: Any) -> Any:
    """Entry (t, s) of the products of the queries with the keys of head `i`."""
    return dot(lambda c: queries[i, t, c], lambda c: keys[i, s, c])


def prove_form(p: Prover) -> Theorem:
    theorem = p.calc(
        product(i, t, s),
        (
            total(times(projected(Q, W_Q, i, t, c), projected(K, W_K, i, s, c)), c),
            "insert the projections", p.hyp(0), p.hyp(1),
        ),
        (
            total(times(Q[t, a], form(i, a, b), K[s, b]), a, b),
            r"multiply out, and sum over the $d_k$ columns first",
        ),
    )  # fmt: skip
    return p.for_all(theorem, i, t, s)


def twin_form(rng: np.random.Generator, turned: bool = False) -> Iterator[Trial]:
    from numeric import scaled_scores

    for x, y, _, weights in layers(rng):
        scores = scaled_scores(x @ weights.w_q, y @ weights.w_k) * np.sqrt(weights.d_k)
        forms = weights.w_q @ weights.w_k.swapaxes(1, 2)
        if turned:
            forms = forms.swapaxes(1, 2)
        yield agree(scores, x @ forms @ y.T, "scores by the forms")
        ranks = [np.linalg.matrix_rank(form) for form in forms]
        yield agree(max(ranks) <= weights.d_k, True, "rank of the form of a head")


def form_mutations() -> tuple[Mutation, ...]:
    transposed = total(times(Q[t, a], form(i, b, a), K[s, b]), a, b)
    return (
        Mutation(
            r"the form is turned round, $W_i^K (W_i^Q)^\top$",
            statement=forall([i, t, s], equal(product(i, t, s), transposed)),
            counterexample=Example({
                n: 1, m: 1, d: 2, h: 1, d_k: 1, Q: [[1, 0]], K: [[0, 1]], W_Q: [[[1], [0]]],
                W_K: [[[0], [1]]],
            }),
            twin=Twin("unscaled scores against turned forms", lambda rng: twin_form(rng, True)),
        ),
    )  # fmt: skip


FORM = Claim(
    id="multi-head/scores-by-form",
    title="Queries meet keys in one bilinear form per head",
    source=Source(
        DERIVATIONS, ("A02", "A03"),
        r"$W_i^Q$ and $W_i^K$ are both of shape $d_{\text{model}} \times d_k$, so that the queries "
        "and keys of a head can be multiplied with one another.",
    ),
    statement=forall(
        [i, t, s], equal(product(i, t, s), total(times(Q[t, a], form(i, a, b), K[s, b]), a, b))
    ),
    given=(QUERIES, KEYS),
    proof=prove_form,
    twin=Twin("unscaled scores against the form, and its rank", twin_form),
    mutations=form_mutations,
    expected=Verdict.PROVED,
    remark=r"With $B_i = W_i^Q (W_i^K)^\top$ the scores are $Q B_i K^\top/\sqrt{d_k}$: the two "
    "matrices act through their product only, whose rank is at most $d_k$ (the rank is seen in "
    "the numbers and not proved here).",
)  # fmt: skip


# ---------------------------------------------------------------------- one head


def prove_associative(p: Prover) -> Theorem:
    theorem = p.calc(
        average(A, values, i, t, f),
        (
            total(times(A[i, t, s], projected(V, W_V, i, s, f)), s),
            "insert the values", p.hyp(0),
        ),
        (
            total(times(total(times(A[i, t, s], V[s, a]), s), W_V[i, a, f]), a),
            "exchange the two finite sums",
        ),
    )  # fmt: skip
    return p.for_all(theorem, i, t, f)


def twin_associative(rng: np.random.Generator) -> Iterator[Trial]:
    from numeric import attention_heads

    for x, y, z, weights in layers(rng):
        heads = attention_heads(x, y, z, weights)
        yield agree(heads, (patterns(x, y, weights) @ z) @ weights.w_v, "average, then project")
        yield agree(heads.shape, (weights.h, len(x), weights.d_v), "shape")


def associative_mutations() -> tuple[Mutation, ...]:
    elsewhere = total(times(total(times(A[j, t, s], V[s, a]), s), W_V[i, a, f]), a)
    return (
        Mutation(
            "the values are averaged with the weights of another head",
            statement=forall([i, j, t, f], equal(average(A, values, i, t, f), elsewhere)),
            counterexample=Example({
                **TWO_HEADS, m: 1, V: [[1]], W_V: [[[1]], [[1]]], A: [[[1]], [[2]]],
            }),
        ),
    )  # fmt: skip


ASSOCIATIVE = Claim(
    id="multi-head/average-then-project",
    title="$A(VW) = (AV)W$",
    source=Source(
        DERIVATIONS, ("A03",),
        r"$\mathrm{head}_i = \mathrm{Attention}(QW_i^Q, KW_i^K, VW_i^V) \in "
        r"\mathbb{R}^{n \times d_v}$: the values are projected, then averaged.",
    ),
    statement=forall(
        [i, t, f],
        equal(
            average(A, values, i, t, f),
            total(times(total(times(A[i, t, s], V[s, a]), s), W_V[i, a, f]), a),
        ),
    ),
    given=(VALUES,),
    proof=prove_associative,
    twin=Twin("heads against averages that are projected afterwards", twin_associative),
    mutations=associative_mutations,
    expected=Verdict.PROVED,
    remark="It holds for any weights $A_i$: one row for each query, one column for each key.",
)  # fmt: skip

other_Q, other_queries = tensor("Q'", n, d), tensor("q'", h, n, d_k)
OTHER_WEIGHTS = attends(other_A, other_queries, keys, "and with these it has other weights")


def prove_row(p: Prover) -> Theorem:
    def branch(agree_there: Theorem) -> Theorem:
        query = p.equal(
            queries[i, t, c], other_queries[i, t, c], p.hyp(0), p.hyp(1), agree_there,
            reason="so query $t$ has the same projection",
        )  # fmt: skip
        scores = p.equal(
            score(queries, keys), score(other_queries, keys), p.for_all(query, c),
            reason="the same scores",
        )  # fmt: skip
        weights = same_weights(p, scores, p.at(p.hyp(2), i, t, s), p.at(p.hyp(3), i, t, s))
        theorem = p.equal(
            average(A, values, i, t, f), average(other_A, values, i, t, f), weights,
            reason="and the same average of the values",
        )  # fmt: skip
        return p.for_all(theorem, i, f)

    row = forall(a, equal(Q[t, a], other_Q[t, a]))
    return p.for_all(p.suppose(row, branch, "let the two inputs have row $t$ in common"), t)


def twin_row(rng: np.random.Generator, swapped: bool = False) -> Iterator[Trial]:
    from numeric import attention_heads

    def heads_of(x: Any, y: Any, z: Any, weights: Any) -> Any:
        return attention_heads(*((y, x, x) if swapped else (x, y, z)), weights)

    for x, y, z, weights in layers(rng):
        heads = heads_of(x, y, z, weights)
        changed = rng.standard_normal(x.shape)
        changed[-1] = x[-1]
        others = heads_of(changed, y, z, weights)
        yield agree(others[:, -1], heads[:, -1], "the row of the query that stays")
        yield agree(heads.shape[1], len(x), "one row per query")
        if len(x) > 1 and len(y) > 1:
            yield differs(others[:, 0], heads[:, 0], by=1e-9, what="the row of another query")


def row_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "queries and keys have changed places: a head has a row for each key",
            twin=Twin(
                "heads in which the keys ask the queries", lambda rng: twin_row(rng, swapped=True)
            ),
        ),
    )


ROW = Claim(
    id="multi-head/one-row-per-query",
    title="One row for each query, which reads no other query",
    source=Source(
        DERIVATIONS, ("A03",),
        r"$\mathrm{head}_i \in \mathbb{R}^{n \times d_v}$, one row for each of the $n$ queries.",
    ),
    statement=forall(
        t,
        implies(
            forall(a, equal(Q[t, a], other_Q[t, a])),
            forall([i, f], equal(average(A, values, i, t, f), average(other_A, values, i, t, f))),
        ),
    ),
    given=(
        QUERIES,
        projects(other_queries, other_Q, W_Q, t, c, "another input gives other queries"),
        WEIGHTS,
        OTHER_WEIGHTS,
    ),
    proof=prove_row,
    twin=Twin("heads before and after a change of the other queries", twin_row),
    mutations=row_mutations,
    expected=Verdict.PROVED,
    remark="The number of rows is the number of queries, whatever the number $m$ of keys; every "
    "row reads all keys and values.",
)  # fmt: skip

unseen = tensor("x", d)
lost = forall(c, equal(total(times(unseen[a], W_Q[i, a, c]), a), 0))


def prove_unseen(p: Prover) -> Theorem:
    def branch(nothing: Theorem) -> Theorem:
        theorem = p.equal(
            total(times(plus(Q[t, a], unseen[a]), W_Q[i, a, c]), a),
            projected(Q, W_Q, i, t, c), nothing,
            reason="the projection is linear, and what is added has the projection 0",
        )  # fmt: skip
        return p.for_all(theorem, t, c)

    return p.for_all(p.suppose(lost, branch, "let the matrix send $x$ to 0"), i)


def twin_unseen(rng: np.random.Generator, head: int = 0) -> Iterator[Trial]:
    """What head 0 does not see is added, and the weights of a head are compared."""
    for x, y, _, weights in layers(rng):
        before = patterns(x, y, weights)
        if weights.d_k < weights.d_model:
            kernel = np.linalg.svd(weights.w_q[0].T)[2][weights.d_k :]
            moved = x + rng.standard_normal((len(x), len(kernel))) @ kernel
            watched = min(head, weights.h - 1)
            after = patterns(moved, y, weights)
            yield agree(after[watched], before[watched], "what head 0 does not see")
            if weights.h > 1 and len(y) > 1:
                yield differs(patterns(moved, y, weights), before, by=1e-9, what="others do")


def unseen_mutations() -> tuple[Mutation, ...]:
    moved = total(times(plus(Q[t, a], unseen[a]), W_Q[j, a, c]), a)
    stays = forall([t, c], equal(moved, projected(Q, W_Q, j, t, c)))
    return (
        Mutation(
            "what one head does not see, another does not see either",
            statement=forall([i, j], implies(lost, stays)),
            counterexample=Example({
                **TWO_HEADS, d_k: 1, unseen: [1], W_Q: [[[0]], [[1]]], Q: [[0]],
            }),
            twin=Twin(
                "attention weights of head 1 after a change that head 0 does not see",
                lambda rng: twin_unseen(rng, head=1),
            ),
        ),
    )  # fmt: skip


UNSEEN = Claim(
    id="multi-head/unseen-by-a-head",
    title="What a head does not see",
    source=Source(
        DERIVATIONS, ("A03",),
        "Each head projects its input into a space of low dimension, by $W_i^Q$ for the queries. "
        "That something is lost thereby is not said; that $W_i^Q$ sends a token to 0 is a premise "
        "of this claim.",
    ),
    statement=forall(
        i,
        implies(
            lost,
            forall(
                [t, c],
                equal(
                    total(times(plus(Q[t, a], unseen[a]), W_Q[i, a, c]), a),
                    projected(Q, W_Q, i, t, c),
                ),
            ),
        ),
    ),
    proof=prove_unseen,
    twin=Twin("attention weights after a change that a head does not see", twin_unseen),
    mutations=unseen_mutations,
    expected=Verdict.PROVED,
    remark=r"Such $x \ne 0$ exist when $d_k < d_{\text{model}}$, by counting dimensions, which is "
    "not proved here. Other heads may see them.",
)  # fmt: skip

SHARED = Given(equal(d_k, over(d, h)), r"$d_k = d_{\text{model}}/h$")


def fits(p: Prover) -> Theorem:
    return p.equal(times(h, d_k), d, p.hyp(0), reason="$h$ heads share the width")


def lower(p: Prover, heads: Theorem) -> Theorem:
    """d_k < d_model, from 2 <= h."""
    return p.order(
        less(d_k, d), (-1, fits(p)), (d_k, heads),
        reason=r"$d_{\text{model}} = h\,d_k \ge 2\,d_k > d_k$",
    )  # fmt: skip


def twin_lower(rng: np.random.Generator) -> Iterator[Trial]:
    from numeric import MultiHeadWeights

    for width, heads in ((24, 3), (12, 4), (6, 6), (2, 2)):
        w_q = MultiHeadWeights.init(rng, width, heads).w_q[0]
        yield agree(w_q.shape[1] < w_q.shape[0], True, f"d={width}, h={heads}")
        kernel = np.linalg.svd(w_q.T)[2][w_q.shape[1] :]
        yield agree(kernel @ w_q, np.zeros((width - w_q.shape[1], w_q.shape[1])), "what is lost")
    whole = MultiHeadWeights.init(rng, 7, 1).w_q[0]
    yield agree(whole.shape[1] < whole.shape[0], False, "one head")


def low_mutations() -> tuple[Mutation, ...]:
    return (Mutation("a single head is taken for narrower, too", given=(SHARED,)),)


LOW = Claim(
    id="multi-head/low-dimensional",
    title="The subspace of a head has lower dimension",
    source=Source(
        DERIVATIONS, ("A03",),
        r"Each head projects its input into a space of low dimension, $d_k = d_{\text{model}}/h$.",
    ),
    statement=less(d_k, d),
    given=(SHARED,),
    added=(
        Added(
            at_most(2, h), Example({d: 4, h: 1, d_k: 4}),
            "with a single head nothing is lower; the note speaks of several without saying so",
        ),
    ),
    witness=Example({d: 4, h: 2, d_k: 2}),
    proof=lambda p: lower(p, p.hyp(1)),
    mutations=low_mutations,
    twin=Twin("columns and rows of built matrices; vectors that they lose", twin_lower),
    expected=Verdict.CONDITIONAL,
)  # fmt: skip


def prove_lower_iff(p: Prover) -> Theorem:
    def several(smaller: Theorem) -> Theorem:
        fit = fits(p)

        def one(few: Theorem) -> Theorem:
            p.note(few, "if there were at most one head")
            wide = p.order(at_most(d, d_k), (1, fit), (d_k, few), reason="then $h d_k \\le d_k$")
            absurd = infer("not-le", [smaller])
            return infer("contradiction", [wide, absurd], p.formula(at_most(2, h)))

        return p.cases(
            p.dichotomy(h, 1), one,
            lambda more: p.order(
                at_most(2, h), (1, p.next_integer(more)),
                reason="so $h > 1$, and $h$ is an integer",
            ),
        )  # fmt: skip

    return p.both(
        p.suppose(less(d_k, d), several, "suppose that a head is narrower"),
        p.suppose(at_most(2, h), lambda heads: lower(p, heads), "conversely, take two or more"),
    )


def twin_lower_iff(rng: np.random.Generator, least: int = 2) -> Iterator[Trial]:
    from numeric import head_width

    for heads in range(1, 9):
        width = heads * int(rng.integers(1, 9))
        narrower = head_width(width, heads) < width
        yield agree(narrower, heads >= least, f"d={width}, h={heads}")


def lower_iff_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "three heads are asked for",
            statement=iff(less(d_k, d), at_most(3, h)),
            twin=Twin("widths against three heads", lambda rng: twin_lower_iff(rng, least=3)),
        ),
    )


LOWER_IFF = Claim(
    id="multi-head/lower-iff",
    title="A head is narrower than the model exactly from two heads on",
    source=Source(
        DERIVATIONS, ("A03",),
        "Heads are called low-dimensional; that this needs two of them is left out.",
    ),
    statement=iff(less(d_k, d), at_most(2, h)),
    given=(SHARED,),
    proof=prove_lower_iff,
    twin=Twin("widths that are handed out", twin_lower_iff),
    mutations=lower_iff_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip


# ---------------------------------------------------------------------- side by side, and W^O


def value_map(i: Any, a: Any, o: Any) -> Any:
    """Entry (a, o) of ``C_i = W_i^V W_i^O``."""
    return total(times(W_V[i, a, f], own_rows(i, f, o)), f)


by_maps = total(times(A[i, t, s], total(times(V[s, a], value_map(i, a, o)), a)), i, s)


def prove_by_heads(p: Prover) -> Theorem:
    numbered = p.blocks(output, h, d_v)
    p.note(numbered, r"number the columns by head $i$ and place $c$: $i\,d_v + c$")
    theorem = p.equal(
        output, by_heads, numbered, p.hyp(0),
        reason=r"column $i\,d_v+c$ of the concatenation is column $c$ of head $i$",
    )  # fmt: skip
    return p.for_all(theorem, t, o)


def strided_rows(weights: Any) -> Any:
    """The rows of ``W^O`` dealt out in turn, (h, d_v, d_model)."""
    return np.stack([weights.w_o[k :: weights.h] for k in range(weights.h)])


def twin_by_heads(
    rng: np.random.Generator, rows_of: Callable[[Any], Any] = output_rows
) -> Iterator[Trial]:
    from numeric import attention_heads, multi_head_attention

    for x, y, z, weights in layers(rng):
        out = multi_head_attention(x, y, z, weights)
        heads, rows = attention_heads(x, y, z, weights), rows_of(weights)
        yield agree(out, (heads @ rows).sum(axis=0), "sum over heads")
        yield agree(out.shape, x.shape, "one row per query, of the model width")
        if weights.h > 1 and weights.d_v > 1:
            strided = (heads @ strided_rows(weights)).sum(axis=0)
            yield differs(out, strided, by=1e-9, what="every h-th row of W^O")


def by_heads_mutations() -> tuple[Mutation, ...]:
    def first_only(weights: Any) -> Any:
        return output_rows(weights)[:1]

    def mistaken(compares: str, rows_of: Callable[[Any], Any]) -> Twin:
        return Twin(compares, lambda rng: twin_by_heads(rng, rows_of))

    strided = total(times(head[i, t, f], W_O[plus(times(f, h), i), o]), i, f)
    first_rows = total(times(head[i, t, f], W_O[f, o]), i, f)
    return (
        Mutation(
            "head $i$ gets every $h$-th row of $W^O$, from row $i$ on",
            statement=forall([t, o], equal(output, strided)),
            counterexample=Example({
                **TWO_HEADS, d_v: 2, head: [[[0, 1]], [[0, 0]]], W_O: [[0], [1], [2], [3]],
            }),
            twin=mistaken("sum over heads with rows that are dealt out", strided_rows),
        ),
        Mutation(
            "every head gets the rows of the first",
            statement=forall([t, o], equal(output, first_rows)),
            counterexample=Example({**TWO_HEADS, head: [[[0]], [[1]]], W_O: [[1], [2]]}),
            twin=mistaken("sum over heads with the rows of the first", first_only),
        ),
    )  # fmt: skip


BY_HEADS = Claim(
    id="multi-head/output-by-heads",
    title="The output is a sum over the heads",
    source=Source(
        DERIVATIONS, ("A05", "A07"),
        f"{OUTPUT}: the heads are laid side by side along the last axis, and $W^O$ fuses them.",
    ),
    statement=forall([t, o], equal(output, by_heads)),
    given=(CONCAT,),
    proof=prove_by_heads,
    twin=Twin("output of the layer against the sum over heads", twin_by_heads),
    mutations=by_heads_mutations,
    expected=Verdict.PROVED,
    remark=r"To fuse means to add: $\mathrm{Concat}\,W^O = \sum_i \mathrm{head}_i W_i^O$, where "
    r"$W_i^O$ are the rows $i\,d_v, \dots, (i+1)d_v-1$ of $W^O$. No head acts on another inside "
    r"the layer. If $h\,d_v = d_{\text{model}}$, the concatenation has the model width already, "
    "and nothing is projected back.",
)  # fmt: skip


def prove_by_maps(p: Prover) -> Theorem:
    numbered = p.blocks(output, h, d_v)
    theorem = p.calc(
        output,
        (
            by_heads,
            r"number the columns by head $i$ and place $c$: $i\,d_v + c$", numbered, p.hyp(2),
        ),
        (
            total(
                times(A[i, t, s], projected(V, W_V, i, s, f), own_rows(i, f, o)), i, f, s
            ),
            "insert the heads and their values", p.hyp(1), p.hyp(0),
        ),
        (by_maps, "exchange the finite sums, and sum over the $d_v$ columns first"),
    )  # fmt: skip
    return p.for_all(theorem, t, o)


def twin_by_maps(
    rng: np.random.Generator, patterns_of: Callable[..., Any] = patterns
) -> Iterator[Trial]:
    from numeric import multi_head_attention

    for x, y, z, weights in layers(rng):
        maps = weights.w_v @ output_rows(weights)
        claimed = (patterns_of(x, y, weights) @ z @ maps).sum(axis=0)
        yield agree(multi_head_attention(x, y, z, weights), claimed, "sum of A V C")
        ranks = [np.linalg.matrix_rank(c) for c in maps]
        yield agree(max(ranks) <= weights.d_v, True, "rank of a value map")


def one_softmax(query_input: Any, key_input: Any, weights: Any) -> Any:
    """The weights (h, n, m) of one softmax over the scores of all heads, side by side."""
    from numeric import concat_heads, scaled_scores, softmax, split_heads

    scores = scaled_scores(query_input @ weights.w_q, key_input @ weights.w_k)
    return split_heads(softmax(concat_heads(scores)), weights.h)


def by_maps_mutations() -> tuple[Mutation, ...]:
    first = total(times(A[0, t, s], total(times(V[s, a], value_map(i, a, o)), a)), i, s)
    return (
        Mutation(
            "all heads take the weights of the first",
            statement=forall([t, o], equal(output, first)),
            counterexample=Example({
                **TWO_HEADS, m: 1, V: [[1]], W_V: [[[0]], [[1]]], A: [[[1]], [[2]]],
                W_O: [[1], [1]],
            }),
        ),
        Mutation(
            "the scores are laid side by side before the softmax, which runs over all heads",
            twin=Twin(
                "output of the layer against weights of one softmax",
                lambda rng: twin_by_maps(rng, one_softmax),
            ),
        ),
    )  # fmt: skip


BY_MAPS = Claim(
    id="multi-head/output-by-maps",
    title="The output as a sum of weights times values times maps",
    source=Source(
        INTERVIEW, ("B06",),
        "Four steps: project the inputs, compute attention in each head, lay the heads side by "
        "side, and apply one more linear map.",
    ),
    statement=forall([t, o], equal(output, by_maps)),
    given=(VALUES, HEADS, CONCAT),
    proof=prove_by_maps,
    twin=Twin("output of the layer against the sum of $A V C$ over the heads", twin_by_maps),
    mutations=by_maps_mutations,
    expected=Verdict.PROVED,
    remark=r"$\mathrm{Concat}\,W^O = \sum_i A_i V C_i$ with $C_i = W_i^V W_i^O$, for any "
    r"weights $A_i$: the four steps of this note give the formulas of the other one.",
)  # fmt: skip


def prove_unmixed(p: Prover) -> Theorem:
    numbered = index("r", h * d_v)
    theorem = p.calc(
        total(times(concat[t, numbered], delta(numbered, position(i, f))), numbered),
        (concat[t, position(i, f)], "only one row of the identity matrix has a 1 there"),
        (head[i, t, f], "and that column belongs to head $i$", p.hyp(0)),
    )  # fmt: skip
    return p.for_all(theorem, t, i, f)


def twin_unmixed(rng: np.random.Generator) -> Iterator[Trial]:
    from numeric import MultiHeadWeights, attention_heads, multi_head_attention

    for heads, width in ((4, 2), (3, 1), (1, 3), (2, 5)):
        drawn = MultiHeadWeights.init(rng, heads * width, heads)
        weights = MultiHeadWeights(drawn.w_q, drawn.w_k, drawn.w_v, np.eye(heads * width))
        x, y = rng.standard_normal((3, heads * width)), rng.standard_normal((4, heads * width))
        out = multi_head_attention(x, y, y, weights)
        for k, single in enumerate(attention_heads(x, y, y, weights)):
            yield agree(out[:, k * width : (k + 1) * width], single, f"head {k}")


def unmixed_mutations() -> tuple[Mutation, ...]:
    taken = total(times(concat[t, l], delta(l, position(i, f))), l)
    return (
        Mutation(
            "the coordinates of one head hold what another found",
            statement=forall([t, i, j, f], equal(taken, head[j, t, f])),
            counterexample=Example({**TWO_HEADS, head: [[[0]], [[1]]]}),
        ),
    )


UNMIXED = Claim(
    id="multi-head/identity-output-matrix",
    title="Without mixing by $W^O$ every head keeps its own coordinates",
    source=Source(
        DERIVATIONS, ("A07",),
        "The output projection fuses what the heads found. What would be missing without it is "
        "not said.",
    ),
    statement=forall(
        [t, i, f],
        equal(total(times(concat[t, l], delta(l, position(i, f))), l), head[i, t, f]),
    ),
    given=(CONCAT,),
    proof=prove_unmixed,
    twin=Twin("output with the identity as output matrix, head by head", twin_unmixed),
    mutations=unmixed_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip


# ---------------------------------------------------------------------- "projection"

square, narrow = tensor("W", d, d), tensor("U", d, d_k)
x_row, y_row = tensor("x", d), tensor("y", d)
scale = real("lambda")


def image(entry: Callable[[Any], Any], c: Any) -> Any:
    return total(times(entry(a), narrow[a, c]), a)


def prove_linear(p: Prover) -> Theorem:
    theorem = p.equal(
        image(lambda a: plus(times(scale, x_row[a]), y_row[a]), c),
        plus(times(scale, image(lambda a: x_row[a], c)), image(lambda a: y_row[a], c)),
        reason="distribute, and take the number out of the sum",
    )  # fmt: skip
    return p.for_all(theorem, c)


def twin_linear(rng: np.random.Generator) -> Iterator[Trial]:
    from numeric import linear

    for x, _, _, weights in layers(rng):
        y, number = rng.standard_normal(x.shape), rng.standard_normal()
        w = weights.w_q[0]
        yield agree(linear(number * x + y, w), number * linear(x, w) + linear(y, w), "linear")


LINEAR = Claim(
    id="multi-head/linear-map",
    title="What the projection of a head is: a linear map",
    source=Source(
        INTERVIEW, ("B06", "B08"),
        "Projection matrices and projection into a space are named as the basis of multi-head "
        "attention; the inputs pass different linear transformations.",
    ),
    statement=forall(
        c,
        equal(
            image(lambda a: plus(times(scale, x_row[a]), y_row[a]), c),
            plus(times(scale, image(lambda a: x_row[a], c)), image(lambda a: y_row[a], c)),
        ),
    ),
    proof=prove_linear,
    twin=Twin("the projection of combinations of tokens", twin_linear),
    expected=Verdict.PROVED,
)  # fmt: skip


def onto(a: Any, b: Any) -> Any:
    """Entry (a, b) of ``U U^T``."""
    return total(times(narrow[a, c], narrow[b, c]), c)


def prove_projector(p: Prover) -> Theorem:
    rows = index("o", d)
    twice = p.calc(
        total(times(onto(a, rows), onto(rows, b)), rows),
        (
            total(
                times(narrow[a, c], narrow[b, e], total(times(narrow[o, c], narrow[o, e]), o)),
                c, e,
            ),
            "multiply out, and sum over the rows first",
        ),
        (total(times(narrow[a, c], narrow[b, e], delta(c, e)), c, e), "as given", p.hyp(0)),
        (onto(a, b), "only $e = c$ is left"),
    )  # fmt: skip
    mirrored = p.equal(onto(a, b), onto(b, a), reason="the factors commute")
    return p.both(p.for_all(twice, a, b), p.for_all(mirrored, a, b))


def square_matrices(rng: np.random.Generator) -> Iterator[Any]:
    """The matrices of single heads, which are square."""
    from numeric import MultiHeadWeights

    for width in (2, 5):
        weights = MultiHeadWeights.init(rng, width, 1)
        yield from (weights.w_q[0], weights.w_o)


def twin_idempotent(rng: np.random.Generator) -> Iterator[Trial]:
    for w in square_matrices(rng):
        yield differs(w @ w, w, by=1e-2, what="square matrices of one head")
    for rows, columns in ((5, 2), (4, 4), (3, 1)):
        w, _ = np.linalg.qr(rng.standard_normal((rows, columns)))
        projector = w @ w.T
        yield agree(projector @ projector, projector, "orthonormal columns")


def idempotent_mutations() -> tuple[Mutation, ...]:
    def taken_for_one(rng: np.random.Generator) -> Iterator[Trial]:
        return (agree(w @ w, w) for w in square_matrices(rng))

    twice = total(times(onto(a, o), onto(o, b)), o)
    return (
        Mutation(
            "a square matrix of a single head is taken for a projection",
            twin=Twin("squares of the matrices of a single head", taken_for_one),
        ),
        Mutation(
            r"$U U^\top$ is taken for a projection whatever the columns of $U$ are",
            statement=forall([a, b], equal(twice, onto(a, b))),
        ),
    )


IDEMPOTENT = Claim(
    id="multi-head/projection-idempotent",
    title="The projection of a head is one in the strict sense",
    source=Source(
        INTERVIEW, ("B08",),
        "Under a heading on projection into a space and projection matrices nothing is defined. "
        "In linear algebra a projection is a map that changes nothing when applied twice.",
    ),
    statement=forall([a, o], equal(total(times(square[a, b], square[b, o]), b), square[a, o])),
    counterexample=Example({d: 1, square: [[2]]}),
    correction=Correction(
        both(
            forall([a, b], equal(total(times(onto(a, o), onto(o, b)), o), onto(a, b))),
            forall([a, b], equal(onto(a, b), onto(b, a))),
        ),
        prove_projector,
        (
            Given(
                forall([c, e], equal(total(times(narrow[o, c], narrow[o, e]), o), delta(c, e))),
                "orthonormal columns",
            ),
        ),
    ),
    twin=Twin("squares of random matrices; projectors from orthonormal columns", twin_idempotent),
    mutations=idempotent_mutations,
    expected=Verdict.REFUTED,
    remark=r"From two heads on, $W_i^Q$ is not even square. Where $U^\top U = I$, the matrix "
    r"$U U^\top$ is an orthogonal projection.",
)  # fmt: skip


CLAIMS = (
    SHAPES,
    FORM,
    ASSOCIATIVE,
    ROW,
    UNSEEN,
    LOW,
    LOWER_IFF,
    BY_HEADS,
    BY_MAPS,
    UNMIXED,
    LINEAR,
    IDEMPOTENT,
)

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
