r"""What a loss cannot tell about the heads: their order, equal heads, a change of basis in a head.

The derivations note gives every head matrices of its own and calls that the key.  Heads are
independent functions of their matrices; but the layer has symmetries, and heads that start equal
stay equal: matrices of one's own are not enough, they have to start differently.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import sympy as sp

from derive.claim import Claim, Example, Given, Mutation
from derive.claims import DERIVATIONS
from derive.claims._heads import (
    HEADS,
    KEYS,
    OUTPUT,
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
    attention,
    average,
    b,
    c,
    d,
    d_k,
    d_v,
    dot,
    e,
    entries,
    f,
    g,
    h,
    head,
    i,
    j,
    keys,
    layers,
    m,
    n,
    o,
    other_A,
    output_rows,
    own_rows,
    patterns,
    position,
    projected,
    projects,
    queries,
    s,
    same_weights,
    scaled,
    score,
    t,
    values,
)
from derive.claims.multi_head_backward import GAIN, G, R, by_head
from derive.kernel.rules import Theorem, infer
from derive.language import (
    GradientIs,
    IsInteger,
    VectorFunction,
    at_most,
    both,
    dim,
    equal,
    forall,
    implies,
    index,
    minus,
    natural,
    over,
    plus,
    sequence,
    tensor,
    times,
    total,
)
from derive.prover import Prover
from derive.result import Source, Verdict
from derive.twin import Trial, Twin, differs
from derive.twin import equal as agree

ORDER = 17
TOPIC = "head-symmetries"

delta = sp.KroneckerDelta
OWN = (
    r"Every head has its own $W_i^Q, W_i^K, W_i^V$; this is called the key, which lets each head "
    "attend to something else."
)


# ---------------------------------------------------------------------- independence

new_Q, new_K = tensor("W^Q'", h, d, d_k), tensor("W^K'", h, d, d_k)
new_V = tensor("W^V'", h, d, d_v)
new_queries, new_keys = tensor("q'", h, n, d_k), tensor("k'", h, m, d_k)
new_values = tensor("v'", h, m, d_v)
NEW_WEIGHTS = attends(other_A, new_queries, new_keys, "and attention weights by the same formula")


def alike(own: Any, other: Any, i: Any, j: Any, c: Any) -> Any:
    """Head `i` of the one has the matrix of head `j` of the other."""
    return forall([a, c], equal(own[i, a, c], other[j, a, c]))


same_matrices = both(
    alike(W_Q, new_Q, i, i, c), alike(W_K, new_K, i, i, c), alike(W_V, new_V, i, i, f)
)


def prove_independent(p: Prover) -> Theorem:
    def branch(same: Theorem) -> Theorem:
        query, key, value = (
            p.equal(
                mine, new, p.hyp(k), p.hyp(3 + k), p.part(same, k),
                reason=f"the {name} of head $i$ use the matrix of head $i$ only",
            )
            for k, name, mine, new in (
                (0, "queries", queries[i, t, c], new_queries[i, t, c]),
                (1, "keys", keys[i, s, c], new_keys[i, s, c]),
                (2, "values", values[i, s, f], new_values[i, s, f]),
            )
        )  # fmt: skip
        scores = p.equal(
            score(queries, keys), score(new_queries, new_keys),
            p.for_all(query, t, c), p.for_all(key, s, c), reason="so the scores agree",
        )  # fmt: skip
        weights = same_weights(p, scores, p.at(p.hyp(6), i, t, s), p.at(p.hyp(7), i, t, s))
        theorem = p.equal(
            average(A, values, i, t, f), average(other_A, new_values, i, t, f),
            weights, p.for_all(value, s), reason="and so do the averages",
        )  # fmt: skip
        return p.for_all(theorem, t, f)

    supposed = "let head $i$ have the same matrices in both layers, and the others any"
    return p.for_all(p.suppose(same_matrices, branch, supposed), i)


def twin_independent(
    rng: np.random.Generator, heads_of: Callable[..., Any] | None = None
) -> Iterator[Trial]:
    from numeric import MultiHeadWeights, attention_heads

    heads_of = heads_of or attention_heads
    for x, y, z, weights in layers(rng):
        before = heads_of(x, y, z, weights)
        matrices = [np.array(w) for w in (weights.w_q, weights.w_k, weights.w_v)]
        for w in matrices:
            w[1:] = rng.standard_normal(w[1:].shape)
        w_q, w_k, w_v = matrices
        after = heads_of(x, y, z, MultiHeadWeights(w_q, w_k, w_v, weights.w_o))
        yield agree(after[0], before[0], "the head that kept its matrices")
        if len(before) > 1:
            yield differs(after[1:], before[1:], by=1e-9, what="the others")


#: two heads of one query, one key and one column each
TINY = {n: 1, m: 1, d: 1, h: 2, d_k: 1, d_v: 1, Q: [[1]], K: [[1]], V: [[1]]}
ZEROS, ONES = [[[0]], [[0]]], [[[1]], [[1]]]


def independent_mutations() -> tuple[Mutation, ...]:
    def keys_of_the_next(x: Any, y: Any, z: Any, weights: Any) -> Any:
        from numeric import attention_heads

        return attention_heads(x, y, z, exchanged(weights, 1, np.roll(weights.w_k, 1, axis=0)))

    alike_but_for_values = both(*same_matrices.args[:2])
    return (
        Mutation(
            "the value matrix of a head is left out of what makes it",
            statement=forall(
                i, implies(alike_but_for_values, INDEPENDENT.statement.args[1].args[1])
            ),
            counterexample=Example({
                **TINY, W_Q: ZEROS, new_Q: ZEROS, W_K: ZEROS, new_K: ZEROS, W_V: ZEROS,
                new_V: ONES, A: ONES, other_A: ONES,
            }),
        ),
        Mutation(
            "the queries of a head meet the keys of the next",
            twin=Twin(
                "heads with the keys of the next, after a change of the others",
                lambda rng: twin_independent(rng, keys_of_the_next),
            ),
        ),
    )  # fmt: skip


INDEPENDENT = Claim(
    id="head-symmetries/independent",
    title="A head is a function of its own matrices",
    source=Source(
        DERIVATIONS, ("A04",),
        r"Each head computes its attention independently, with its own $W_i^Q, W_i^K, W_i^V$.",
    ),
    statement=forall(
        i,
        implies(
            same_matrices,
            forall(
                [t, f],
                equal(average(A, values, i, t, f), average(other_A, new_values, i, t, f)),
            ),
        ),
    ),
    given=(
        QUERIES, KEYS, VALUES,
        projects(new_queries, Q, new_Q, t, c, "another layer has other matrices"),
        projects(new_keys, K, new_K, s, c, "its keys"),
        projects(new_values, V, new_V, s, f, "its values"),
        WEIGHTS, NEW_WEIGHTS,
    ),
    proof=prove_independent,
    twin=Twin("heads before and after a change of the other heads", twin_independent),
    mutations=independent_mutations,
    expected=Verdict.PROVED,
    remark="Independent as functions, so the heads can be computed at the same time. Nothing is "
    "said about independence in the sense of probability.",
)  # fmt: skip

full_query = lambda i, t, c: projected(Q, W_Q, i, t, c)  # noqa: E731
full_key = lambda i, s, c: projected(K, W_K, i, s, c)  # noqa: E731
SPELLED_QUERIES = Given(
    forall([i, t, s], equal(A[i, t, s], attention(full_query, entries(keys), i, t, s))),
    "attention weights, with the queries written out",
)
SPELLED_KEYS = Given(
    forall([i, t, s], equal(A[i, t, s], attention(entries(queries), full_key, i, t, s))),
    "attention weights, with the keys written out",
)


def head_by(weight: Any) -> Any:
    return total(times(weight, values[i, s, f]), s)


#: entries of a head as functions of the query, key and value matrices
of_W_Q = head_by(attention(full_query, entries(keys), i, t, s))
of_W_K = head_by(attention(entries(queries), full_key, i, t, s))
of_W_V = total(times(A[i, t, s], projected(V, W_V, i, s, f)), s)
off_average = minus(values[i, s, f], head[i, t, f])
slope_Q = times(
    delta(i, j), scaled(times(Q[t, b], total(times(A[i, t, s], keys[i, s, e], off_average), s)))
)
slope_K = times(
    delta(i, j),
    scaled(times(queries[i, t, e], total(times(A[i, t, s], K[s, b], off_average), s))),
)
slope_V = times(delta(i, j), delta(f, g), total(times(A[i, t, s], V[s, b]), s))


def prove_slope(
    p: Prover, function: Any, matrix: Any, at: tuple[Any, ...], slope: Any, reason: str,
    *definitions: Theorem,
) -> Theorem:  # fmt: skip
    raw = p.gradient(GradientIs(function, matrix, at, slope), reason="by the derivative table")
    entry = p.equal(p.partial(raw, *at), slope, *definitions, reason=reason)
    theorem = p.with_partial(raw, entry, *at)
    return p.for_all(p.note(theorem, r"where $j \ne i$, this is 0"), i, t, f)


def by_matrices(x: Any, y: Any, z: Any, weights: Any, cotangent: Any) -> tuple[Any, ...]:
    """Gradients of the heads by all query, key and value matrices, from the backward pass."""
    from numeric import scaled_dot_product_attention_vjp

    q, k, v = scaled_dot_product_attention_vjp(
        x @ weights.w_q, y @ weights.w_k, z @ weights.w_v, cotangent
    )
    return x.T @ q, y.T @ k, z.T @ v


def slopes(x: Any, y: Any, z: Any, weights: Any, i: int, cotangent: Any) -> tuple[Any, ...]:
    """The same for head `i` alone, by the formulas."""
    from numeric import attention_heads

    pattern = patterns(x, y, weights)[i]
    v, average = z @ weights.w_v[i], attention_heads(x, y, z, weights)[i]
    gain = pattern * (cotangent @ v.T - (cotangent * average).sum(axis=1, keepdims=True))
    gain = gain / np.sqrt(weights.d_k)
    k, q = y @ weights.w_k[i], x @ weights.w_q[i]
    return x.T @ gain @ k, (q.T @ gain @ y).T, z.T @ pattern.T @ cotangent


def twin_slopes(which: int, alone: bool = True) -> Callable[[np.random.Generator], Iterator[Trial]]:
    """One head at a time gets a cotangent; the gradients by the matrices of the others vanish."""

    def trials(rng: np.random.Generator) -> Iterator[Trial]:
        from numeric import MultiHeadWeights, attention_heads, complex_step_error

        for x, y, z, weights in layers(rng):
            i = int(rng.integers(weights.h))
            cotangent = rng.standard_normal((weights.h, len(x), weights.d_v))
            if alone:
                cotangent[np.arange(weights.h) != i] = 0
            measured = by_matrices(x, y, z, weights, cotangent)[which]
            claimed = np.zeros_like(measured)
            claimed[i] = slopes(x, y, z, weights, i, cotangent[i])[which]
            yield agree(measured, claimed, "all matrices, when one head counts")

        x, y, z = (rng.standard_normal((tokens, 2)) for tokens in (2, 3, 3))
        small = MultiHeadWeights.init(rng, 2, 3, 1, 2)

        def heads(w: Any) -> Any:
            return attention_heads(x, y, z, exchanged(small, which, w))

        def vjp(w: Any, cotangent: Any) -> tuple[Any]:
            return (by_matrices(x, y, z, exchanged(small, which, w), cotangent)[which],)

        matrices = (small.w_q, small.w_k, small.w_v)[which]
        yield Trial(complex_step_error(heads, vjp, (matrices,), rng), 1e-12, "complex steps")

    return trials


def exchanged(weights: Any, which: int, new: Any) -> Any:
    """The layer with other query, key or value matrices."""
    from numeric import MultiHeadWeights

    parts = [weights.w_q, weights.w_k, weights.w_v, weights.w_o]
    parts[which] = new
    return MultiHeadWeights(*parts)


NO_GRADIENT = f"{OWN} If heads are independent, the derivative of head $i$ by the "


def slope_mutations() -> tuple[Mutation, ...]:
    whole = scaled(times(Q[t, b], total(times(A[i, t, s], keys[i, s, e], off_average), s)))
    half = sp.Rational(1, 2)
    return (
        Mutation(
            r"$\delta_{ij}$ is left out: a head moves with the matrix of every other",
            statement=forall([i, t], GradientIs(of_W_Q, W_Q, (j, b, e), whole)),
            counterexample=Example({
                n: 1, m: 2, d: 1, h: 2, d_k: 1, d_v: 1, f: 0, Q: [[1]], W_Q: ZEROS,
                keys: [[[1], [0]], [[1], [0]]], values: [[[1], [0]], [[1], [0]]],
                A: [[[half, half]], [[half, half]]], head: [[[half]], [[half]]],
            }),
            twin=Twin(
                "the backward pass when every head counts", twin_slopes(0, alone=False)
            ),
        ),
    )  # fmt: skip


SLOPE_Q = Claim(
    id="head-symmetries/slope-by-queries",
    title="The derivative of a head by all query matrices",
    source=Source(DERIVATIONS, ("A04",), f"{NO_GRADIENT}matrix $W_j^Q$ of another has to vanish."),
    statement=forall([i, t, f], GradientIs(of_W_Q, W_Q, (j, b, e), slope_Q)),
    given=(SPELLED_QUERIES, HEADS),
    proof=lambda p: prove_slope(
        p, of_W_Q, W_Q, (j, b, e), slope_Q,
        "the quotient rule leaves $v$ minus its average; deltas select the head",
        p.hyp(1), p.hyp(0),
    ),
    twin=Twin("the backward pass with one head that counts", twin_slopes(0)),
    mutations=slope_mutations,
    expected=Verdict.PROVED,
    remark=r"The factor $\delta_{ij}$ is the independence of the heads.",
)  # fmt: skip

SLOPE_K = Claim(
    id="head-symmetries/slope-by-keys",
    title="The derivative of a head by all key matrices",
    source=Source(DERIVATIONS, ("A04",), f"{NO_GRADIENT}matrix $W_j^K$ of another has to vanish."),
    statement=forall([i, t, f], GradientIs(of_W_K, W_K, (j, b, e), slope_K)),
    given=(SPELLED_KEYS, HEADS),
    proof=lambda p: prove_slope(
        p, of_W_K, W_K, (j, b, e), slope_K,
        "the quotient rule leaves $v$ minus its average; deltas select the head",
        p.hyp(1), p.hyp(0),
    ),
    twin=Twin("the backward pass with one head that counts", twin_slopes(1)),
    expected=Verdict.PROVED,
)  # fmt: skip

SLOPE_V = Claim(
    id="head-symmetries/slope-by-values",
    title="The derivative of a head by all value matrices",
    source=Source(DERIVATIONS, ("A04",), f"{NO_GRADIENT}matrix $W_j^V$ of another has to vanish."),
    statement=forall([i, t, f], GradientIs(of_W_V, W_V, (j, b, g), slope_V)),
    proof=lambda p: prove_slope(
        p, of_W_V, W_V, (j, b, g), slope_V, "a head is linear in its values; deltas select it"
    ),
    twin=Twin("the backward pass with one head that counts", twin_slopes(2)),
    expected=Verdict.PROVED,
)  # fmt: skip


# ---------------------------------------------------------------------- the order of the heads

place = tensor("sigma", h)
any_head, any_rows = (sp.IndexedBase(name, real=True) for name in ("head", "W^O"))
#: each of the heads stands in one place
another_order = both(
    forall(i, both(IsInteger(place[i]), at_most(0, place[i]), at_most(place[i], minus(h, 1)))),
    forall(j, equal(total(delta(place[i], j), i), 1)),
)


def contribution(i: Any) -> Any:
    """What head `i` adds to entry (t, o) of the output."""
    return total(times(any_head[i, t, f], any_rows[position(i, f), o]), f)


def prove_order(p: Prover) -> Theorem:
    def branch(order: Theorem) -> Theorem:
        at_place, once = p.at(p.part(order, 0), i), p.part(order, 1)
        for k in range(3):
            p.fact(p.part(at_place, k))
        written = p.equal(
            contribution(place[i]), total(times(delta(place[i], j), contribution(j)), j),
            reason=r"$\sigma_i$ is one of the indices, so one term of this sum is left",
        )  # fmt: skip
        summed = p.sum_equal(written, i)
        theorem = p.calc(
            total(contribution(place[i]), i),
            (total(times(delta(place[i], j), contribution(j)), i, j), "add up", (1, summed)),
            (
                total(times(total(delta(place[i], j), i), contribution(j)), j),
                "exchange the sums",
            ),
            (total(contribution(j), j), "every head stands in one place", once),
        )  # fmt: skip
        return p.for_all(theorem, t, o)

    return p.suppose(another_order, branch, r"let $\sigma$ be another order of the heads")


def twin_order(rng: np.random.Generator, with_rows: bool = True) -> Iterator[Trial]:
    from numeric import MultiHeadWeights, multi_head_attention

    for x, y, z, weights in layers(rng):
        order = rng.permutation(weights.h)
        rows = output_rows(weights)
        parts = (weights.w_q[order], weights.w_k[order], weights.w_v[order])
        moved_rows = rows[order] if with_rows else rows
        moved = MultiHeadWeights(*parts, moved_rows.reshape(weights.w_o.shape))
        out = multi_head_attention(x, y, z, weights)
        yield agree(multi_head_attention(x, y, z, moved), out, "heads with their rows")
        if weights.h > 1:
            order = np.roll(np.arange(weights.h), 1)
            parts = (weights.w_q[order], weights.w_k[order], weights.w_v[order])
            stays = multi_head_attention(x, y, z, MultiHeadWeights(*parts, weights.w_o))
            yield differs(stays, out, by=1e-9, what="heads without their rows")


def order_mutations() -> tuple[Mutation, ...]:
    moved = total(times(any_head[place[i], t, f], any_rows[position(i, f), o]), i, f)
    return (
        Mutation(
            "the heads change places and leave their rows of $W^O$ behind",
            statement=implies(
                another_order, forall([t, o], equal(moved, total(contribution(i), i)))
            ),
            counterexample=Example({
                n: 1, d: 1, h: 2, d_v: 1, place: [1, 0], any_head: [[[1]], [[0]]],
                any_rows: [[1], [0]],
            }),
            twin=Twin(
                "layers whose heads are permuted without their rows",
                lambda rng: twin_order(rng, with_rows=False),
            ),
        ),
    )  # fmt: skip


REORDERED = Claim(
    id="head-symmetries/order-of-heads",
    title="The heads have no order",
    source=Source(
        DERIVATIONS, ("A04", "A07"),
        f"Heads are computed independently and laid side by side, {OUTPUT}; their order is not "
        "spoken of. Another order is a premise of this claim.",
    ),
    statement=implies(
        another_order,
        forall([t, o], equal(total(contribution(place[i]), i), total(contribution(i), i))),
    ),
    proof=prove_order,
    twin=Twin("layers whose heads are permuted with and without their rows", twin_order),
    mutations=order_mutations,
    expected=Verdict.PROVED,
    remark=r"A head that takes over the matrices of head $\sigma_i$ becomes head $\sigma_i$, and "
    r"the rows of $W^O$ have to move with it: a loss cannot tell the order.",
)  # fmt: skip


# ---------------------------------------------------------------------- equal heads

FROM_OUTPUT = Given(
    forall([i, t, f], equal(by_head[i, t, f], total(times(G[t, o], own_rows(i, f, o)), o))),
    "the gradient by the heads, from the gradient $G$ by the output",
)
equal_heads = both(
    alike(W_Q, W_Q, i, j, c),
    alike(W_K, W_K, i, j, c),
    alike(W_V, W_V, i, j, f),
    forall([f, o], equal(own_rows(i, f, o), own_rows(j, f, o))),
)


def gradient_Q(i: Any, a: Any, c: Any) -> Any:
    return scaled(total(times(Q[t, a], R[i, t, s], keys[i, s, c]), t, s))


def gradient_K(i: Any, a: Any, c: Any) -> Any:
    return scaled(total(times(K[s, a], R[i, t, s], queries[i, t, c]), t, s))


def gradient_V(i: Any, a: Any, f: Any) -> Any:
    return total(times(V[s, a], A[i, t, s], by_head[i, t, f]), t, s)


def gradient_O(i: Any, f: Any, o: Any) -> Any:
    return total(times(head[i, t, f], G[t, o]), t)


equal_gradients = both(
    forall([a, c], equal(gradient_Q(i, a, c), gradient_Q(j, a, c))),
    forall([a, c], equal(gradient_K(i, a, c), gradient_K(j, a, c))),
    forall([a, f], equal(gradient_V(i, a, f), gradient_V(j, a, f))),
    forall([f, o], equal(gradient_O(i, f, o), gradient_O(j, f, o))),
)


def prove_equal_gradients(p: Prover) -> Theorem:
    def same(part: Any, k: int, known: Theorem, reason: str, *index: Any) -> Theorem:
        left, right = part(i), part(j)
        theorem = p.equal(left, right, p.hyp(k), known, reason=reason)
        return p.for_all(theorem, *index)

    def branch(case: Theorem) -> Theorem:
        own = [p.part(case, k) for k in range(4)]
        query = same(lambda i: queries[i, t, c], 0, own[0], "equal queries", t, c)
        key = same(lambda i: keys[i, s, c], 1, own[1], "equal keys", s, c)
        value = same(lambda i: values[i, s, f], 2, own[2], "equal values", s, f)
        sent = same(lambda i: by_head[i, t, f], 6, own[3], "equal gradients by the heads", t, f)
        scores = p.equal(score(queries, keys), score_of(j), query, key, reason="equal scores")
        weight = same_weights(p, scores, p.at(p.hyp(3), i, t, s), p.at(p.hyp(3), j, t, s))
        weight = p.for_all(weight, t)
        result = p.for_all(
            p.equal(head[i, t, f], head[j, t, f], p.hyp(4), weight, value, reason="equal heads"),
            t, f,
        )  # fmt: skip
        gain = p.for_all(
            p.equal(
                R[i, t, s], R[j, t, s], p.hyp(5), weight, sent, value, result,
                reason="equal gradients by the scores",
            ),
            t, s,
        )  # fmt: skip
        ends = (
            (gradient_Q, (a, c), (gain, key), "query matrices"),
            (gradient_K, (a, c), (gain, query), "key matrices"),
            (gradient_V, (a, f), (weight, sent), "value matrices"),
            (gradient_O, (f, o), (result,), "rows of $W^O$"),
        )
        return p.both(
            *(
                p.for_all(
                    p.equal(
                        gradient(i, *at), gradient(j, *at), *known,
                        reason=f"so the gradients by the {name} are equal",
                    ),
                    *at,
                )
                for gradient, at, known, name in ends
            )
        )  # fmt: skip

    return p.for_all(p.suppose(equal_heads, branch, "let heads $i$ and $j$ be equal"), i, j)


def score_of(i: Any) -> Any:
    return scaled(dot(lambda c: queries[i, t, c], lambda c: keys[i, s, c]))


def twins_among_heads(rng: np.random.Generator) -> Iterator[tuple[Any, ...]]:
    """Layers of several heads, of which the first two are equal in everything."""
    from numeric import MultiHeadWeights

    for x, y, z, weights in layers(rng):
        if weights.h > 1:
            rows = output_rows(weights).copy()
            parts = [w.copy() for w in (weights.w_q, weights.w_k, weights.w_v)]
            for w in (*parts, rows):
                w[1] = w[0]
            w_q, w_k, w_v = parts
            yield x, y, z, MultiHeadWeights(w_q, w_k, w_v, rows.reshape(weights.w_o.shape))


def by_parts(weights: Any) -> tuple[Any, ...]:
    return weights.w_q, weights.w_k, weights.w_v, output_rows(weights)


def twin_equal_gradients(rng: np.random.Generator, redrawn: bool = False) -> Iterator[Trial]:
    from numeric import multi_head_attention_vjp

    for x, y, z, drawn in twins_among_heads(rng):
        weights = exchanged(drawn, 0, rng.standard_normal(drawn.w_q.shape)) if redrawn else drawn
        cotangent = rng.standard_normal(x.shape)
        gradient = multi_head_attention_vjp(x, y, z, weights, cotangent)[-1]
        for part in by_parts(gradient):
            yield agree(part[0], part[1], "equal heads")
        other = exchanged(weights, 0, np.concatenate([weights.w_q[:1] + 1, weights.w_q[1:]]))
        gradient = multi_head_attention_vjp(x, y, z, other, cotangent)[-1]
        if len(y) > 1:
            yield differs(gradient.w_k[0], gradient.w_k[1], by=1e-9, what="heads that differ")


def equal_gradients_mutations() -> tuple[Mutation, ...]:
    equal_but_for_values = both(*(equal_heads.args[k] for k in (0, 1, 3)))
    return (
        Mutation(
            "one of the two heads has query matrices of its own",
            twin=Twin(
                "gradients of two heads with other query matrices",
                lambda rng: twin_equal_gradients(rng, redrawn=True),
            ),
        ),
        Mutation(
            "equal value matrices are not asked for",
            statement=forall([i, j], implies(equal_but_for_values, equal_gradients.args[3])),
            counterexample=Example({
                **TINY, W_Q: ZEROS, W_K: ZEROS, W_V: [[[0]], [[1]]], W_O: [[1], [1]], G: [[1]],
                A: ONES, values: [[[0]], [[1]]], head: [[[0]], [[1]]], by_head: ONES, R: ZEROS,
            }),
        ),
    )  # fmt: skip


EQUAL_GRADIENTS = Claim(
    id="head-symmetries/equal-heads-equal-gradients",
    title="Equal heads receive equal gradients",
    source=Source(
        DERIVATIONS, ("A04",),
        f"{OWN} That the matrices must not start equal is not said.",
    ),
    statement=forall([i, j], implies(equal_heads, equal_gradients)),
    given=(QUERIES, KEYS, VALUES, WEIGHTS, HEADS, GAIN, FROM_OUTPUT),
    proof=prove_equal_gradients,
    twin=Twin("gradients of two equal heads, and of two that differ", twin_equal_gradients),
    mutations=equal_gradients_mutations,
    expected=Verdict.PROVED,
    remark="The four expressions are the gradients by the matrices of a head, as the claims on the "
    "backward pass derive them. Equal means equal in all four matrices.",
)  # fmt: skip

number_of_weights = dim("r")
weight_index = index("a", number_of_weights)
step = natural("l")
learned = sequence("theta", h, number_of_weights)
rate = sequence("eta")
slope = VectorFunction("F", number_of_weights, sp.oo, number_of_weights)


def weights_of(step: Any, i: Any) -> Callable[[Any], Any]:
    return lambda a: learned[step, i, a]


descent = forall(
    [step, i, weight_index],
    equal(
        learned[step + 1, i, weight_index],
        minus(
            learned[step, i, weight_index],
            times(rate[step], slope(weights_of(step, i))[step, weight_index]),
        ),
    ),
)


def same_after(step: Any) -> Any:
    return forall(
        weight_index, equal(learned[step, i, weight_index], learned[step, j, weight_index])
    )


def prove_stay_equal(p: Prover) -> Theorem:
    def branch(premise: Theorem) -> Theorem:
        rule, start = p.part(premise, 0), p.part(premise, 1)

        def one_step(now: Theorem) -> Theorem:
            first = p.term(slope(weights_of(step, i))[step, weight_index])
            moved = infer("extensionality", [now], first, len(first.children) - 1)
            p.note(moved, "equal weights give equal gradients")
            after = p.equal(
                learned[step + 1, i, weight_index], learned[step + 1, j, weight_index],
                rule, now, moved, reason="and the same step leads to equal weights again",
            )  # fmt: skip
            return p.for_all(after, weight_index)

        onward = p.suppose(same_after(step), one_step, "let them be equal after $l$ steps")
        return p.note(
            p.induction(start, onward, step), "by induction over the steps, from the equal start"
        )

    supposed = "let both heads make the same kind of step, and start equal"
    return p.for_all(p.suppose(both(descent, same_after(0)), branch, supposed), i, j)


def twin_stay_equal(rng: np.random.Generator, redrawn: bool = False) -> Iterator[Trial]:
    """Some steps of gradient descent on the square of the distance to a target."""
    from numeric import MultiHeadWeights, multi_head_attention, multi_head_attention_vjp

    for x, y, z, drawn in twins_among_heads(rng):
        weights = exchanged(drawn, 0, rng.standard_normal(drawn.w_q.shape)) if redrawn else drawn
        target = rng.standard_normal(x.shape)
        now = weights
        for _ in range(4):
            off = multi_head_attention(x, y, z, now) - target
            gradient = multi_head_attention_vjp(x, y, z, now, off)[-1]
            now = MultiHeadWeights(
                now.w_q - 0.1 * gradient.w_q, now.w_k - 0.1 * gradient.w_k,
                now.w_v - 0.1 * gradient.w_v, now.w_o - 0.1 * gradient.w_o,
            )  # fmt: skip
        for part in by_parts(now):
            yield agree(part[0], part[1], "after four steps")
        yield differs(now.w_o, weights.w_o, by=1e-9, what="the weights have moved")


def stay_equal_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "the two heads start with different query matrices",
            twin=Twin(
                "steps of gradient descent from heads that differ",
                lambda rng: twin_stay_equal(rng, redrawn=True),
            ),
        ),
    )


STAY_EQUAL = Claim(
    id="head-symmetries/equal-heads-stay-equal",
    title="Heads that start equal never separate",
    source=Source(
        DERIVATIONS, ("A04",),
        f"{OWN} Training is not spoken of; the rule of the steps is a premise of this claim.",
    ),
    statement=forall([i, j], implies(both(descent, same_after(0)), forall(step, same_after(step)))),
    proof=prove_stay_equal,
    twin=Twin("steps of gradient descent from equal heads", twin_stay_equal),
    mutations=stay_equal_mutations,
    expected=Verdict.PROVED,
    remark=r"$\theta_{l,i}$ holds all weights of head $i$ after $l$ steps, and $F_l$ gives the "
    "gradient by the weights of a head, whatever the rest of the model is at that step. That it "
    "is one function for all heads is what the claim on equal gradients says.",
)  # fmt: skip


# ---------------------------------------------------------------------- a change of basis

turn, back = tensor("M", h, d_k, d_k), tensor("N", h, d_k, d_k)
turn_v, back_v = tensor("M", h, d_v, d_v), tensor("N", h, d_v, d_v)
c_2, f_2 = index("x", d_k), index("x", d_v)
turned_O = tensor("W^O'", h * d_v, d)


def inverse(turn: Any, back: Any, c: Any, middle: Any, e: Any) -> Any:
    return forall(
        [i, c, e],
        equal(total(times(turn[i, c, middle], back[i, middle, e]), middle), delta(c, e)),
    )


inverse_keys, inverse_values = (
    inverse(turn, back, c, c_2, e), inverse(turn_v, back_v, f, f_2, g)
)  # fmt: skip
INVERSE = "let $N_i$ be the inverse of $M_i$"
TURNED_Q = Given(
    forall([i, a, e], equal(new_Q[i, a, e], total(times(W_Q[i, a, c], turn[i, c, e]), c))),
    "another basis for the queries: $W_i^Q M_i$",
)
TURNED_K = Given(
    forall([i, a, e], equal(new_K[i, a, e], total(times(W_K[i, a, c], back[i, e, c]), c))),
    r"and the opposite one for the keys: $W_i^K M_i^{-\top}$",
)


def prove_gauge_scores(p: Prover) -> Theorem:
    def branch(cancel: Theorem) -> Theorem:
        query = p.equal(
            new_queries[i, t, e], total(times(queries[i, t, c], turn[i, c, e]), c),
            p.hyp(2), p.hyp(4), p.hyp(0), reason="the queries are turned by $M_i$",
        )  # fmt: skip
        key = p.equal(
            new_keys[i, s, e], total(times(keys[i, s, c], back[i, e, c]), c),
            p.hyp(3), p.hyp(5), p.hyp(1), reason="and the keys by the inverse",
        )  # fmt: skip
        products = p.calc(
            dot(lambda c: new_queries[i, t, c], lambda c: new_keys[i, s, c]),
            (
                total(
                    times(
                        queries[i, t, c], keys[i, s, e],
                        total(times(turn[i, c, c_2], back[i, c_2, e]), c_2),
                    ),
                    c, e,
                ),
                "multiply out", p.for_all(query, t, e), p.for_all(key, s, e),
            ),
            (
                total(times(queries[i, t, c], keys[i, s, e], delta(c, e)), c, e),
                "the two matrices cancel", cancel,
            ),
            (dot(lambda c: queries[i, t, c], lambda c: keys[i, s, c]), "only $e=c$ is left"),
        )  # fmt: skip
        scores = p.equal(
            score(new_queries, new_keys), score(queries, keys), (over(1, sp.sqrt(d_k)), products),
            reason="so every score stays",
        )  # fmt: skip
        weights = same_weights(p, scores, p.at(p.hyp(7), i, t, s), p.at(p.hyp(6), i, t, s))
        return p.for_all(p.at(weights, s), i, t, s)

    return p.suppose(inverse_keys, branch, INVERSE)


def twin_gauge_scores(
    rng: np.random.Generator, inverse: Callable[[Any], Any] = np.linalg.inv
) -> Iterator[Trial]:
    for x, y, _, weights in layers(rng):
        turn = rng.standard_normal((weights.h, weights.d_k, weights.d_k))
        turn += 3 * np.eye(weights.d_k)
        back = inverse(turn)
        turned = exchanged(weights, 0, weights.w_q @ turn)
        both = exchanged(turned, 1, weights.w_k @ back.swapaxes(1, 2))
        before = patterns(x, y, weights)
        yield Trial(float(np.abs(patterns(x, y, both) - before).max()), 1e-11, "the same weights")
        wrong = exchanged(turned, 1, weights.w_k @ turn.swapaxes(1, 2))
        if len(y) > 1:
            yield differs(patterns(x, y, wrong), before, by=1e-9, what="not the inverse")


def gauge_scores_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "the keys are turned by $M_i$ as the queries are, not by the inverse",
            twin=Twin(
                "attention weights when both are turned alike",
                lambda rng: twin_gauge_scores(rng, lambda turn: turn.swapaxes(1, 2)),
            ),
        ),
    )


GAUGE_SCORES = Claim(
    id="head-symmetries/basis-of-queries",
    title="Queries and keys have no basis of their own",
    source=Source(
        DERIVATIONS, ("A04",),
        f"{OWN} How far the matrices are determined by what the head does is left open; the change "
        "of basis is a premise of this claim.",
    ),
    statement=implies(inverse_keys, forall([i, t, s], equal(other_A[i, t, s], A[i, t, s]))),
    given=(
        QUERIES, KEYS,
        projects(new_queries, Q, new_Q, t, c, "the queries of the changed matrices"),
        projects(new_keys, K, new_K, s, c, "and their keys"),
        TURNED_Q, TURNED_K,
        WEIGHTS, NEW_WEIGHTS,
    ),
    proof=prove_gauge_scores,
    twin=Twin("attention weights before and after a change of basis", twin_gauge_scores),
    mutations=gauge_scores_mutations,
    expected=Verdict.PROVED,
    remark=r"$(W_i^Q M)(W_i^K M^{-\top})^\top = W_i^Q (W_i^K)^\top$ for every invertible $M$.",
)  # fmt: skip

TURNED_V = Given(
    forall([i, a, g], equal(new_V[i, a, g], total(times(W_V[i, a, f], turn_v[i, f, g]), f))),
    "another basis for the values: $W_i^V M_i$",
)
TURNED_O = Given(
    forall(
        [i, f, o],
        equal(turned_O[position(i, f), o], total(times(back_v[i, f, g], own_rows(i, g, o)), g)),
    ),
    "and the inverse on the rows of the head: $M_i^{-1} W_i^O$",
)


def maps(values: Any, rows: Any) -> Any:
    """Entry (a, o) of the value matrix of head `i` times its rows of the output matrix."""
    return total(times(values[i, a, f], rows[position(i, f), o]), f)


def prove_gauge_values(p: Prover) -> Theorem:
    def branch(cancel: Theorem) -> Theorem:
        theorem = p.calc(
            maps(new_V, turned_O),
            (
                total(
                    times(
                        W_V[i, a, f], own_rows(i, g, o),
                        total(times(turn_v[i, f, f_2], back_v[i, f_2, g]), f_2),
                    ),
                    f, g,
                ),
                "insert both, and multiply out", p.hyp(0), p.hyp(1),
            ),
            (
                total(times(W_V[i, a, f], own_rows(i, g, o), delta(f, g)), f, g),
                "the two matrices cancel", cancel,
            ),
            (maps(W_V, W_O), "only equal columns are left"),
        )  # fmt: skip
        return p.for_all(theorem, i, a, o)

    return p.suppose(inverse_values, branch, INVERSE)


def twin_gauge_values(
    rng: np.random.Generator, inverse: Callable[[Any], Any] = np.linalg.inv
) -> Iterator[Trial]:
    from numeric import multi_head_attention

    for x, y, z, weights in layers(rng):
        turn = rng.standard_normal((weights.h, weights.d_v, weights.d_v))
        turn += 3 * np.eye(weights.d_v)
        rows = inverse(turn) @ output_rows(weights)
        turned = exchanged(weights, 2, weights.w_v @ turn)
        both = exchanged(turned, 3, rows.reshape(weights.w_o.shape))
        before = multi_head_attention(x, y, z, weights)
        gap = np.abs(multi_head_attention(x, y, z, both) - before).max()
        yield Trial(float(gap), 1e-11, "the same output")
        yield differs(multi_head_attention(x, y, z, turned), before, by=1e-9, what="one of them")


def gauge_values_mutations() -> tuple[Mutation, ...]:
    stays = equal(maps(new_V, W_O), maps(W_V, W_O))
    return (
        Mutation(
            "only the value matrix is turned, not the rows of $W^O$",
            statement=implies(inverse_values, forall([i, a, o], stays)),
            given=(TURNED_V,),
            counterexample=Example({
                d: 1, h: 1, d_v: 1, turn_v: [[[2]]], back_v: [[[sp.Rational(1, 2)]]], W_V: [[[1]]],
                W_O: [[1]],
            }),
            twin=Twin(
                "outputs when the value matrix alone is turned",
                lambda rng: twin_gauge_values(rng, lambda turn: np.eye(turn.shape[1])),
            ),
        ),
    )  # fmt: skip


GAUGE_VALUES = Claim(
    id="head-symmetries/basis-of-values",
    title="Values have no basis of their own",
    source=Source(
        DERIVATIONS, ("A04", "A07"),
        f"{OWN} The values of a head meet its rows of the output matrix; how far each of the two "
        "is determined is left open. The change of basis is a premise of this claim.",
    ),
    statement=implies(
        inverse_values, forall([i, a, o], equal(maps(new_V, turned_O), maps(W_V, W_O)))
    ),
    given=(TURNED_V, TURNED_O),
    proof=prove_gauge_values,
    twin=Twin("outputs before and after a change of basis", twin_gauge_values),
    mutations=gauge_values_mutations,
    expected=Verdict.PROVED,
    remark=r"The output is $\sum_i A_i V C_i$, and $C_i = W_i^V W_i^O$ does not change: "
    r"$(W_i^V M)(M^{-1} W_i^O) = W_i^V W_i^O$.",
)  # fmt: skip

EQUAL_SHARES = Given(
    both(equal(d_k, over(d, h)), equal(d_v, over(d, h))), r"$d_k = d_v = d_{\text{model}}/h$"
)
free_numbers = minus(
    times(4, d**2), times(h, plus(d_k**2, d_v**2))
)  # all entries, less those of M_i for each head


def prove_gauge_count(p: Prover) -> Theorem:
    keys_, values_ = p.part(p.hyp(0), 0), p.part(p.hyp(0), 1)
    return p.calc(
        free_numbers,
        (
            minus(times(4, d**2), times(h, plus(over(d, h) ** 2, over(d, h) ** 2))),
            "insert the widths", keys_, values_,
        ),
        (minus(times(4, d**2), over(times(2, d**2), h)), "one factor $h$ cancels"),
    )  # fmt: skip


def rank_of_jacobian(rng: np.random.Generator, width: int, heads: int) -> int:
    """The rank of the outputs' derivative by all weights: how many of them count."""
    from numeric import MultiHeadWeights, self_attention
    from numeric.trees import leaves

    weights = MultiHeadWeights.init(rng, width, heads).astype(np.complex128)
    x = rng.standard_normal((4 * width + 1, width))
    columns = []
    for leaf in leaves(weights):
        for place in np.ndindex(leaf.shape):
            leaf[place] += 1e-30j
            columns.append(self_attention(x, weights).imag.ravel() / 1e-30)
            leaf[place] -= 1e-30j
    # complex steps are exact to rounding: singular values are 1e-9 and more, or about 1e-16
    return int(np.linalg.matrix_rank(np.array(columns), tol=1e-12))


def twin_gauge_count(rng: np.random.Generator) -> Iterator[Trial]:
    for width, heads in ((2, 1), (2, 2), (3, 1), (3, 3)):
        claimed = 4 * width**2 - 2 * width**2 // heads
        yield agree(rank_of_jacobian(rng, width, heads), claimed, f"d={width}, h={heads}")


def gauge_count_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "one change of basis is counted for each head in place of two",
            statement=equal(free_numbers, minus(times(4, d**2), over(d**2, h))),
        ),
    )


GAUGE_COUNT = Claim(
    id="head-symmetries/free-numbers",
    title="How many numbers are left when the symmetries are taken off",
    source=Source(
        DERIVATIONS, ("A04",),
        r"The layer has $4\,d_{\text{model}}^2$ numbers. Each head may be changed by an invertible "
        r"$d_k \times d_k$ and an invertible $d_v \times d_v$ matrix, which the note does not say.",
    ),
    statement=equal(free_numbers, minus(times(4, d**2), over(times(2, d**2), h))),
    given=(EQUAL_SHARES,),
    proof=prove_gauge_count,
    twin=Twin("rank of the derivative of the outputs by all weights", twin_gauge_count),
    mutations=gauge_count_mutations,
    expected=Verdict.PROVED,
    remark="Only the arithmetic is proved here. What the layer does determines the products of its "
    "heads, where these are all different and none is 0 (`head-symmetries/determined`), and they "
    "determine factors of full rank up to changes of basis (`head-symmetries/only-basis-changes`). "
    "The rank of the derivative at random weights is this number. With one head this is half of "
    "all numbers.",
)  # fmt: skip

CLAIMS = (
    INDEPENDENT,
    SLOPE_Q,
    SLOPE_K,
    SLOPE_V,
    REORDERED,
    EQUAL_GRADIENTS,
    STAY_EQUAL,
    GAUGE_SCORES,
    GAUGE_VALUES,
    GAUGE_COUNT,
)

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
