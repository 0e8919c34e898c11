"""Cross-attention: where keys and values come from, and where the gradients go.

The decoder reads a memory: `M` holds one row for each of the `m` positions of the encoder's
output.  Queries are made of the `n` rows of the decoder's own states `Y`, keys and values of the
rows of `M`.  What is shown is one head of key width d_k and value width d_v; the layer adds heads
up (`derive.claims.multi_head`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import sympy as sp

from derive import search
from derive.claim import Claim, Correction, Example, Mutation, Notation
from derive.claims import INTERVIEW
from derive.kernel import terms as T
from derive.kernel.rules import Item, Theorem
from derive.language import (
    GradientIs,
    both,
    dims,
    equal,
    forall,
    iff,
    index,
    minus,
    over,
    plus,
    tensor,
    times,
    total,
)
from derive.prover import Prover
from derive.result import Source, Verdict
from derive.twin import Trial, Twin, differs
from derive.twin import equal as agree

ORDER = 60
TOPIC = "cross-attention"

Entry = Callable[..., Any]

n, m, d, d_k, d_v = dims("n m d_model d_k d_v")
t = index("t", n)
r, s, u = (index(name, m) for name in "rsu")
a, b = (index(name, d) for name in "ab")
c, e = index("c", d_k), index("e", d_v)
X, M = tensor("X", m, d), tensor("M", m, d)
Y = tensor("Y", n, d)
W_Q, W_K, W_V = tensor("W^Q", d, d_k), tensor("W^K", d, d_k), tensor("W^V", d, d_v)
Q, K, V = tensor("Q", n, d_k), tensor("K", m, d_k), tensor("V", m, d_v)
A, D = tensor("A", n, m), tensor("D", n, m)
G = tensor("G", n, d_v)


def key(states: Any, s: Any, c: Any) -> Any:
    return total(times(states[s, a], W_K[a, c]), a)


def value(states: Any, s: Any, e: Any) -> Any:
    return total(times(states[s, a], W_V[a, e]), a)


def query(t: Any, c: Any) -> Any:
    return total(times(Y[t, a], W_Q[a, c]), a)


def weight(query: Entry, key: Entry, t: Any, s: Any) -> Any:
    """The share of memory row s in output row t."""

    def score(s: Any) -> Any:
        return over(total(times(query(t, c), key(s, c)), c), sp.sqrt(d_k))

    return over(sp.exp(score(s)), total(sp.exp(score(u)), u))


def weighted_output(weight: Entry, value: Entry) -> Any:
    """The sum of all entries of the output, each times its entry of the cotangent G."""
    return total(times(G[t, e], total(times(weight(t, s), value(s, e)), s)), t, e)


def entry(tensor: Any) -> Entry:
    return lambda *indices: tensor[indices]


# ---------------------------------------------------------------------- where they come from


def same(memory: Any, states: Any) -> Any:
    """Keys and values made of the one are those made of the other."""
    return both(
        forall([s, c], equal(key(memory, s, c), key(states, s, c))),
        forall([s, e], equal(value(memory, s, e), value(states, s, e))),
    )


W = tensor("N", d, d_k)


def projected(states: Any, s: Any, c: Any) -> Any:
    return total(times(states[s, a], W[a, c]), a)


ALWAYS = forall(W, forall([s, c], equal(projected(M, s, c), projected(X, s, c))))
IDENTITY = forall([s, a], equal(M[s, a], X[s, a]))


def prove_only_identity(p: Prover) -> Theorem:
    """Choose the matrix whose columns all pick one feature."""
    with p.supposing(ALWAYS) as always:
        picked = p.at(always, p.lam(sp.KroneckerDelta(a, b), a, c))
        column = p.note(
            p.at(picked, s, 0),
            r"take the matrix $N$ with $N_{ac} = \delta_{ab}$, which picks feature $b$; column $0$",
        )
        entries = p.equal(M[s, b], X[s, b], column, reason="the delta leaves one term of each sum")
        forth = p.discharge(p.for_all(entries, s, b), always)
    with p.supposing(IDENTITY) as identity:
        same_rows = p.equal(
            projected(M, s, c), projected(X, s, c), identity,
            reason="conversely, put $M = X$, whatever $N$ is",
        )  # fmt: skip
        back = p.discharge(p.for_all_tensors(p.for_all(same_rows, s, c), W), identity)
    return p.note(p.both(forth, back), "both directions together")


def memories(rng: np.random.Generator) -> Iterator[tuple[Any, Any, Any, Any]]:
    """Decoder states, encoder input, encoder output and weights; no two sizes coincide."""
    from numeric import MultiHeadWeights

    for queries, rows, width, heads in ((3, 5, 8, 2), (1, 4, 6, 3), (2, 1, 4, 1)):
        weights = MultiHeadWeights.init(rng, d_model=width, h=heads)
        yield (rng.standard_normal((queries, width)), rng.standard_normal((rows, width)),
               rng.standard_normal((rows, width)), weights)  # fmt: skip


def reads_memory(states: Any, _input: Any, memory: Any, weights: Any) -> Any:
    from numeric import multi_head_attention

    return multi_head_attention(states, memory, memory, weights)


def reads_input(states: Any, encoder_input: Any, _memory: Any, weights: Any) -> Any:
    from numeric import multi_head_attention

    return multi_head_attention(states, encoder_input, encoder_input, weights)


def memory_reads(states: Any, _input: Any, memory: Any, weights: Any) -> Any:
    from numeric import multi_head_attention

    return multi_head_attention(memory, states, states, weights)


def twin_source(
    rng: np.random.Generator, layer: Callable[..., Any] = reads_memory
) -> Iterator[Trial]:
    from numeric import multi_head_attention

    for states, encoder_input, memory, weights in memories(rng):
        read = layer(states, encoder_input, memory, weights)
        yield agree(read.shape, states.shape, "a row for each of the decoder's")
        other = multi_head_attention(states, encoder_input, encoder_input, weights)
        rows, width = memory.shape
        yield differs(read, other, by=1e-9, what=f"{rows} rows of width {width}")
        same = multi_head_attention(states, memory.copy(), memory, weights)
        yield agree(read, same, "an encoder that changes nothing")


def source_mutations() -> tuple[Mutation, ...]:
    def mistaken(compares: str, layer: Callable[..., Any]) -> Twin:
        return Twin(compares, lambda rng: twin_source(rng, layer))

    equal_keys = forall([s, c], equal(key(M, s, c), key(X, s, c)))
    return (
        Mutation(
            "the decoder is fed the input of the encoder",
            twin=mistaken("cross-attention to the input of an encoder", reads_input),
        ),
        Mutation(
            "queries come from the encoder, keys and values from the decoder",
            twin=mistaken("rows of cross-attention with exchanged roles", memory_reads),
        ),
        Mutation(
            "equal keys for one matrix are taken to show that the encoder changes nothing",
            statement=iff(equal_keys, IDENTITY),
            counterexample=Example({m: 1, d: 1, d_k: 1, M: [[1]], X: [[0]], W_K: [[0]]}),
        ),
    )


SOURCE = Claim(
    id="cross-attention/memory-source",
    title="Do keys and values come from the encoder's input?",
    source=Source(
        INTERVIEW, ("B40",),
        "In cross-attention $K$ and $V$ are said to come from the input of the encoder: with $X$ "
        "for that input and $M$ for the output of the encoder, which the decoder reads, "
        "$M W^K = X W^K$ and $M W^V = X W^V$.",
    ),
    statement=same(M, X),
    counterexample=Example(
        {m: 1, d: 1, d_k: 1, d_v: 1, M: [[1]], X: [[0]], W_K: [[1]], W_V: [[1]]}
    ),
    correction=Correction(iff(ALWAYS, IDENTITY), prove_only_identity),
    twin=Twin("cross-attention to the output and to the input of an encoder", twin_source),
    mutations=source_mutations,
    remark="Keys and values are projections of the output of the encoder's last layer, with "
    "matrices that belong to the decoder layer. For every matrix $N$ the two agree only if the "
    "encoder changes nothing.",
    expected=Verdict.REFUTED,
)  # fmt: skip


# ---------------------------------------------------------------------- gradients


def score_gradient(value: Entry) -> Any:
    """D: the gradient by the scores, row by row the softmax Jacobian times ``G V^T``."""

    def upstream(s: Any) -> Any:
        return total(times(G[t, e], value(s, e)), e)

    mean = total(times(A[t, u], upstream(u)), u)
    return forall([t, s], equal(D[t, s], times(A[t, s], minus(upstream(s), mean))))


def reading_weight(t: Any, s: Any) -> Any:
    return weight(entry(Q), lambda s, c: key(M, s, c), t, s)


READING = Notation(
    forall([t, s], equal(A[t, s], reading_weight(t, s))),
    r"$A$ holds the attention weights, with keys $M W^K$ and queries $Q$",
)
SCORES = Notation(
    score_gradient(lambda s, e: value(M, s, e)),
    r"$D$ is the gradient by the scores",
)


def by_memory(r: Any, b: Any) -> Any:
    through_keys = over(total(times(total(times(D[t, r], Q[t, c]), t), W_K[b, c]), c), sp.sqrt(d_k))
    through_values = total(times(total(times(A[t, r], G[t, e]), t), W_V[b, e]), e)
    return plus(through_keys, through_values)


def summed_over_output(
    p: Prover, goal: Any, single: Any, slope: Any, result: Any, tensor: Any, at: Any, reason: str
) -> tuple[Theorem, Theorem]:
    """The gradient of the whole from that of one product of weight and value.

    Returns the gradient in the form of the derivative table, and the equation that brings its
    partial derivatives to the form `result`.
    """
    weights, scores = p.hyp(0), p.hyp(1)
    indices = tuple(map(p.term, (t, e, s)))
    part = p.gradient(GradientIs(single, tensor, at, 0))
    tidied = p.equal(p.partial(part, *at), slope, weights, show=False)
    one = p.note(p.with_partial(part, tidied, *at), reason)
    equation = p.same_partials(part, one, *at)
    whole = p.gradient(goal)
    middle = p.term(total(times(G[t, e], slope), t, e, s))
    each = Item(((0, indices),), p.term(G[t, e]), indices)
    collected = search.combination(
        T.eq(p.partial(whole, *at), middle), [p.for_all(equation, t, e, s)], (each,), ()
    )
    regrouped = p.equal(middle, result, scores, show=False)
    return whole, p.equal(p.partial(whole, *at), result, (1, collected), (1, regrouped), show=False)


def prove_memory_gradient(p: Prover) -> Theorem:
    single = times(reading_weight(t, s), value(M, s, e))
    through_key = times(
        A[t, s], minus(sp.KroneckerDelta(s, r), A[t, r]),
        over(total(times(Q[t, c], W_K[b, c]), c), sp.sqrt(d_k)), value(M, s, e),
    )  # fmt: skip
    through_value = times(A[t, s], sp.KroneckerDelta(s, r), W_V[b, e])
    whole, found = summed_over_output(
        p, MEMORY_GRADIENT.statement, single, plus(through_key, through_value), by_memory(r, b),
        M, (r, b),
        r"product rule for one weight and one value: quotient rule for the softmax, whose scores "
        r"depend on $M$ through the keys; the value is linear in $M$",
    )  # fmt: skip
    return p.note(
        p.with_partial(whole, found, r, b),
        r"times $G_{te}$ and summed over $t$, $e$ and $s$; in matrices "
        r"$D^\top Q\,(W^K)^\top/\sqrt{d_k} + A^\top G\,(W^V)^\top$",
    )


def heads(rng: np.random.Generator) -> Iterator[tuple[Any, ...]]:
    """Y, M, the three weights of one head and G, with sizes that all differ."""
    for queries, rows, width, narrow, wide in ((3, 5, 6, 2, 4), (1, 2, 3, 4, 1), (2, 1, 1, 3, 2)):
        yield tuple(
            rng.standard_normal(shape)
            for shape in ((queries, width), (rows, width), (width, narrow), (width, narrow),
                          (width, wide), (queries, wide))
        )  # fmt: skip


def by_complex_steps(function: Callable[[Any], Any], point: Any) -> Any:
    """The gradient of a real function, entry by entry."""
    gradient = np.empty_like(point)
    for place in np.ndindex(point.shape):
        step = point.astype(complex)
        step[place] += 1e-30j
        gradient[place] = function(step).imag / 1e-30
    return gradient


def one_head(states: Any, memory: Any, w_q: Any, w_k: Any, w_v: Any) -> Any:
    from numeric import scaled_dot_product_attention

    return scaled_dot_product_attention(states @ w_q, memory @ w_k, memory @ w_v)


def weighed_head(cotangent: Any, w_q: Any, w_k: Any, w_v: Any, states: Any, memory: Any) -> Any:
    return np.sum(cotangent * one_head(states, memory, w_q, w_k, w_v))


def gradients(states: Any, memory: Any, w_q: Any, w_k: Any, w_v: Any, cotangent: Any) -> Any:
    """By the decoder's states and by the memory, from the hand-written backward pass."""
    from numeric import scaled_dot_product_attention_vjp

    by_q, by_k, by_v = scaled_dot_product_attention_vjp(
        states @ w_q, memory @ w_k, memory @ w_v, cotangent
    )
    return by_q @ w_q.T, by_k @ w_k.T + by_v @ w_v.T, by_v @ w_v.T


def twin_memory_gradient(rng: np.random.Generator, keys: bool = True) -> Iterator[Trial]:
    for states, memory, w_q, w_k, w_v, cotangent in heads(rng):
        weighed = partial(weighed_head, cotangent, w_q, w_k, w_v, states)
        measured = by_complex_steps(weighed, memory)
        _, gradient, values_only = gradients(states, memory, w_q, w_k, w_v, cotangent)
        yield agree(gradient if keys else values_only, measured, f"{len(memory)} memory rows")
        if len(memory) > 1:
            yield differs(values_only, measured, by=1e-6, what="without the path through the keys")


def memory_gradient_mutations() -> tuple[Mutation, ...]:
    values_alone = total(times(total(times(A[t, r], G[t, e]), t), W_V[b, e]), e)
    loss = weighted_output(reading_weight, lambda s, e: value(M, s, e))
    half = sp.Rational(1, 2)
    return (
        Mutation(
            "the path through the keys is forgotten",
            statement=GradientIs(loss, M, (r, b), values_alone),
            counterexample=Example({
                n: 1, m: 2, d: 2, d_k: 1, d_v: 1, M: [[0, 1], [0, 0]], W_K: [[1], [0]],
                W_V: [[0], [1]], Q: [[1]], G: [[1]], A: [[half, half]],
            }),
            twin=Twin(
                "the backward pass through the values against complex steps",
                lambda rng: twin_memory_gradient(rng, keys=False),
            ),
        ),
    )  # fmt: skip


MEMORY_GRADIENT = Claim(
    id="cross-attention/memory-gradient",
    title="The gradient that reaches the encoder",
    source=Source(
        INTERVIEW, ("B40",),
        "Keys and values both come from the encoder. The note does not speak of gradients: what "
        "the encoder's output $M$ receives from a decoder layer, for any gradient $G$ by the "
        "output of the head, has a part through the keys and one through the values.",
    ),
    statement=GradientIs(
        weighted_output(reading_weight, lambda s, e: value(M, s, e)),
        M, (r, b), by_memory(r, b),
    ),
    given=(READING, SCORES),
    mutations=memory_gradient_mutations,
    proof=prove_memory_gradient,
    twin=Twin("the backward pass of a cross-attention head and complex steps",
              twin_memory_gradient),
    expected=Verdict.PROVED,
)  # fmt: skip


ASKING = Notation(
    forall([t, s], equal(A[t, s], weight(query, entry(K), t, s))),
    r"$A$ holds the attention weights, with queries $Y W^Q$ and keys $K$",
)
VALUES = Notation(score_gradient(entry(V)), r"$D$ is the gradient by the scores")


def by_states(r: Any, b: Any) -> Any:
    return over(total(times(total(times(D[r, s], K[s, c]), s), W_Q[b, c]), c), sp.sqrt(d_k))


q = index("q", n)


def prove_query_gradient(p: Prover) -> Theorem:
    single = times(weight(query, entry(K), t, s), V[s, e])
    mean = total(times(A[t, u], K[u, c]), u)
    slope = times(
        sp.KroneckerDelta(t, q), A[t, s],
        over(total(times(minus(K[s, c], mean), W_Q[b, c]), c), sp.sqrt(d_k)), V[s, e],
    )  # fmt: skip
    whole, found = summed_over_output(
        p, QUERY_GRADIENT.statement, single, slope, by_states(q, b), Y, (q, b),
        r"quotient rule for the softmax; row $t$ of the scores depends on row $t$ of $Y$ only",
    )  # fmt: skip
    return p.note(
        p.with_partial(whole, found, q, b),
        r"times $G_{te}$ and summed over $t$, $e$ and $s$; in matrices "
        r"$D K\,(W^Q)^\top/\sqrt{d_k}$",
    )


def twin_query_gradient(rng: np.random.Generator, scaled: bool = True) -> Iterator[Trial]:
    for states, memory, w_q, w_k, w_v, cotangent in heads(rng):
        weighed = partial(weighed_head, cotangent, w_q, w_k, w_v, memory=memory)
        gradient, _, _ = gradients(states, memory, w_q, w_k, w_v, cotangent)
        gradient = gradient if scaled else gradient * np.sqrt(w_q.shape[1])
        yield agree(gradient, by_complex_steps(weighed, states), f"{len(states)} queries")


def query_gradient_mutations() -> tuple[Mutation, ...]:
    one_key = over(
        total(times(total(times(D[q, s], K[0, c]), s), W_Q[b, c]), c), sp.sqrt(d_k)
    )  # fmt: skip
    loss = weighted_output(lambda t, s: weight(query, entry(K), t, s), entry(V))
    half = sp.Rational(1, 2)
    return (
        Mutation(
            "the first key stands for all",
            statement=GradientIs(loss, Y, (q, b), one_key),
            counterexample=Example({
                n: 1, m: 2, d: 1, d_k: 1, d_v: 1, Y: [[0]], W_Q: [[1]], K: [[0], [1]],
                V: [[1], [0]], G: [[1]], A: [[half, half]],
            }),
        ),
        Mutation(
            r"the factor $1/\sqrt{d_k}$ is left out",
            twin=Twin(
                "the backward pass without the factor against complex steps",
                lambda rng: twin_query_gradient(rng, scaled=False),
            ),
        ),
    )  # fmt: skip


QUERY_GRADIENT = Claim(
    id="cross-attention/query-gradient",
    title="The gradient that stays in the decoder",
    source=Source(
        INTERVIEW, ("B40",),
        "Queries come from the decoder. The note does not speak of gradients: this one reaches "
        "the decoder's states $Y$, through the queries alone.",
    ),
    statement=GradientIs(
        weighted_output(lambda t, s: weight(query, entry(K), t, s), entry(V)),
        Y, (q, b), by_states(q, b),
    ),
    given=(ASKING, VALUES),
    mutations=query_gradient_mutations,
    proof=prove_query_gradient,
    twin=Twin("the backward pass of a cross-attention head and complex steps",
              twin_query_gradient),
    expected=Verdict.PROVED,
)  # fmt: skip


def prove_cached(p: Prover) -> Theorem:
    parts = []
    for states, i in ((key(M, s, c), c), (value(M, s, e), e)):
        raw = p.gradient(GradientIs(states, Y, (q, b), 0))
        zero = p.equal(p.partial(raw, q, b), 0, show=False)
        parts.append(p.for_all(p.with_partial(raw, zero, q, b), s, i))
    return p.note(p.both(*parts), "$Y$ does not occur in what is differentiated")


def twin_cached(rng: np.random.Generator, of_decoder: bool = False) -> Iterator[Trial]:
    """Decoding row by row with the keys and values of the first step gives the same output."""
    from numeric import scaled_dot_product_attention

    for states, memory, w_q, w_k, w_v, _ in heads(rng):
        kept = states if of_decoder else memory
        keys, values = kept @ w_k, kept @ w_v
        rows = [scaled_dot_product_attention((y @ w_q)[None], keys, values)[0] for y in states]
        together = one_head(states, memory, w_q, w_k, w_v)
        yield agree(np.stack(rows), together, f"{len(states)} steps")


def cached_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "the keys that are kept are those of the decoder's own states",
            twin=Twin(
                "decoding with keys and values of the decoder's states",
                lambda rng: twin_cached(rng, of_decoder=True),
            ),
        ),
        Mutation(
            "keys are said not to depend on the memory, either",
            statement=forall([s, c], GradientIs(key(M, s, c), M, (r, b), 0)),
            counterexample=Example({m: 1, d: 1, d_k: 1, M: [[0]], W_K: [[1]]}),
        ),
    )


CACHED = Claim(
    id="cross-attention/cached",
    title="Keys and values do not depend on the decoder",
    source=Source(
        INTERVIEW, ("B40",),
        "Keys and values come from the encoder. The note does not draw the conclusion: they are "
        "the same at every step of decoding, and need to be computed only once.",
    ),
    statement=both(
        forall([s, c], GradientIs(key(M, s, c), Y, (q, b), 0)),
        forall([s, e], GradientIs(value(M, s, e), Y, (q, b), 0)),
    ),
    proof=prove_cached,
    twin=Twin("decoding step by step and all at once", twin_cached),
    mutations=cached_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip


CLAIMS = (SOURCE, MEMORY_GRADIENT, QUERY_GRADIENT, CACHED)

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
