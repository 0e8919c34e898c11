r"""The backward pass of multi-head attention: what reaches each head, each matrix and each input.

The derivations note defines the layer and stops there.  The gradients follow the layer from its
output back to its inputs, part by part: the output projection, the heads, the projections.  A
gradient by a part is that of the sum of fixed coefficients times what the part computes; by the
chain rule it is the gradient of a loss that has these coefficients for its gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import sympy as sp

from derive.claim import Claim, Example, Given, Mutation, Notation
from derive.claims import DERIVATIONS
from derive.claims._heads import (
    HEADS,
    OUTPUT,
    PROJECTIONS,
    W_O,
    W_Q,
    WEIGHTS,
    A,
    X,
    a,
    attention,
    average,
    by_heads,
    c,
    concat,
    d,
    d_k,
    d_v,
    entries,
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
    output,
    own_rows,
    patterns,
    projected,
    queries,
    s,
    scaled,
    t,
    values,
)
from derive.kernel.rules import Theorem
from derive.language import GradientIs, both, equal, forall, index, minus, tensor, times, total
from derive.prover import Prover
from derive.result import Source, Verdict
from derive.twin import Trial, Twin
from derive.twin import equal as agree

ORDER = 19
TOPIC = "multi-head-backward"


G, by_head = tensor("G", n, d), tensor("g", h, n, d_v)
R = tensor("R", h, n, m)
GAIN = Notation(
    forall(
        [i, t, s],
        equal(
            R[i, t, s],
            times(
                A[i, t, s],
                total(times(by_head[i, t, f], minus(values[i, s, f], head[i, t, f])), f),
            ),
        ),
    ),
    "the gradient by the scores: weight times how far the value is from the average, along $g$",
)
PAIRED = (
    " For a loss with the gradient $G$ by the output, its gradients are those of the sum of "
    "$G_{t a}$ times the output, by the chain rule. Gradients are not computed in the note."
)
PAIRED_HEADS = (
    "A head is the attention of projected inputs. Its gradients are not computed in the note: with "
    "$g$, the gradient of the loss by the head, they are those of the sum of the entries of the "
    "head, each times that of $g$."
)


def small_layer(rng: np.random.Generator) -> tuple[Any, ...]:
    """A layer with other sizes everywhere that is small enough to try every entry."""
    from numeric import MultiHeadWeights

    weights = MultiHeadWeights.init(rng, 4, 5, 1, 2)
    x, y, z = (rng.standard_normal((tokens, 4)) for tokens in (2, 3, 3))
    return x, y, z, weights


def prove_output_gradient(p: Prover) -> Theorem:
    rows = index("l", h * d_v)
    first = p.gradient(OUTPUT_GRADIENT.statement.args[0], reason="the output is linear in $W^O$")
    entry = p.equal(
        p.partial(first, rows, o), total(times(concat[t, rows], G[t, o]), t),
        reason="only the terms with this row and this column are left",
    )  # fmt: skip
    by_matrix = p.note(
        p.with_partial(first, entry, rows, o), r"in matrices: $\mathrm{Concat}^\top G$"
    )
    second = p.gradient(OUTPUT_GRADIENT.statement.args[1], reason="and linear in the heads")
    entry = p.equal(
        p.partial(second, i, t, f), total(times(G[t, o], own_rows(i, f, o)), o),
        reason="only the terms with this head, query and column are left",
    )  # fmt: skip
    by_heads = p.note(p.with_partial(second, entry, i, t, f), r"in matrices: $G\,(W_i^O)^\top$")
    return p.both(by_matrix, by_heads)


def twin_output_gradient(rng: np.random.Generator) -> Iterator[Trial]:
    from numeric import (
        attention_heads,
        complex_step_error,
        concat_heads,
        multi_head_attention,
        multi_head_attention_vjp,
    )

    layer = small_layer(rng)
    yield Trial(
        complex_step_error(multi_head_attention, multi_head_attention_vjp, layer, rng),
        1e-12, "all seven gradients against complex steps",
    )  # fmt: skip
    for x, y, z, weights in layers(rng):
        cotangent = rng.standard_normal(x.shape)
        gradient = multi_head_attention_vjp(x, y, z, weights, cotangent)[-1]
        together = concat_heads(attention_heads(x, y, z, weights))
        yield agree(gradient.w_o, together.T @ cotangent, "Concat^T G")


def output_mutations() -> tuple[Mutation, ...]:
    paired = total(times(G[t, o], output), t, o)
    return (
        Mutation(
            "the gradient by $W^O$ reads the first query only",
            statement=GradientIs(paired, W_O, (l, o), times(concat[0, l], G[0, o])),
            counterexample=Example({
                n: 2, d: 1, h: 1, d_v: 1, G: [[1], [1]], concat: [[1], [1]], W_O: [[1]],
            }),
        ),
    )  # fmt: skip


OUTPUT_GRADIENT = Claim(
    id="multi-head-backward/output",
    title="Backward through the output projection",
    source=Source(DERIVATIONS, ("A07",), f"{OUTPUT}.{PAIRED}"),
    statement=both(
        GradientIs(
            total(times(G[t, o], output), t, o), W_O, (l, o),
            total(times(concat[t, l], G[t, o]), t),
        ),
        GradientIs(
            total(times(G[t, o], by_heads), t, o), head, (i, t, f),
            total(times(G[t, o], own_rows(i, f, o)), o),
        ),
    ),
    proof=prove_output_gradient,
    twin=Twin("the backward pass with random cotangents", twin_output_gradient),
    mutations=output_mutations,
    expected=Verdict.PROVED,
    remark="So the backward pass splits at the heads just as the forward pass joins them: head $i$ "
    r"receives $G\,(W_i^O)^\top$ and nothing from the other heads.",
)  # fmt: skip

paired_average = total(times(by_head[i, t, f], average(A, values, i, t, f)), i, t, f)
through_attention = total(
    times(
        by_head[i, t, f],
        total(
            times(
                attention(entries(queries), entries(keys), i, t, s),
                values[i, s, f],
            ),
            s,
        ),
    ),
    i, t, f,
)  # fmt: skip


def prove_values_gradient(p: Prover) -> Theorem:
    raw = p.gradient(VALUES_GRADIENT.statement, reason="a head is linear in its values")
    entry = p.equal(
        p.partial(raw, i, s, f), total(times(A[i, t, s], by_head[i, t, f]), t),
        reason="only the terms with this head, key and column are left",
    )  # fmt: skip
    return p.note(p.with_partial(raw, entry, i, s, f), r"in matrices: $A_i^\top g_i$")


def backward(
    x: Any, y: Any, z: Any, weights: Any, cotangent: Any,
    centred: bool = True, scale: Callable[[int], Any] = np.sqrt,
) -> tuple[Any, ...]:  # fmt: skip
    """Projected inputs, weights, heads, and the gradients by projections, by the formulas."""
    from numeric import attention_heads

    q, k, v = x @ weights.w_q, y @ weights.w_k, z @ weights.w_v
    heads, pattern = attention_heads(x, y, z, weights), patterns(x, y, weights)
    gain = np.einsum("itf,isf->its", cotangent, v)
    if centred:
        gain = gain - np.einsum("itf,itf->it", cotangent, heads)[..., None]
    gain = pattern * gain / scale(weights.d_k)
    return (q, k, v), (gain @ k, gain.swapaxes(1, 2) @ q, pattern.swapaxes(1, 2) @ cotangent)


def twin_attention_gradient(
    which: int, **formula: Any
) -> Callable[[np.random.Generator], Iterator[Trial]]:
    """The formula against the vjp of attention, and that against complex steps."""

    def trials(rng: np.random.Generator) -> Iterator[Trial]:
        from numeric import (
            complex_step_error,
            scaled_dot_product_attention,
            scaled_dot_product_attention_vjp,
        )

        for x, y, z, weights in layers(rng):
            cotangent = rng.standard_normal((weights.h, len(x), weights.d_v))
            (q, k, v), gradients = backward(x, y, z, weights, cotangent, **formula)
            measured = scaled_dot_product_attention_vjp(q, k, v, cotangent)
            yield agree(measured[which], gradients[which], "formula")
        shapes = ((2, 3, 2), (2, 4, 2), (2, 4, 1))
        error = complex_step_error(
            scaled_dot_product_attention, scaled_dot_product_attention_vjp,
            tuple(rng.standard_normal(shape) for shape in shapes), rng,
        )  # fmt: skip
        yield Trial(error, 1e-12, "complex steps")

    return trials


def values_mutations() -> tuple[Mutation, ...]:
    all_heads = total(times(A[j, t, s], by_head[j, t, f]), j, t)
    return (
        Mutation(
            "the values of a head receive the gradients of all heads",
            statement=GradientIs(paired_average, values, (i, s, f), all_heads),
            counterexample=Example({
                n: 1, m: 1, h: 2, d_v: 1, A: [[[1]], [[1]]], by_head: [[[1]], [[1]]],
                values: [[[1]], [[1]]],
            }),
        ),
    )  # fmt: skip


VALUES_GRADIENT = Claim(
    id="multi-head-backward/values",
    title="Backward through a head: values",
    source=Source(DERIVATIONS, ("A07",), PAIRED_HEADS),
    statement=GradientIs(
        paired_average, values, (i, s, f), total(times(A[i, t, s], by_head[i, t, f]), t)
    ),
    proof=prove_values_gradient,
    twin=Twin("the backward pass of attention by the values", twin_attention_gradient(2)),
    mutations=values_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip


HALF = sp.Rational(1, 2)
#: one query of four columns, all 0, so that its two keys have the weight 1/2 each
UNIFORM = {
    n: 1, m: 2, h: 1, d_k: 4, d_v: 1, queries: [[[0, 0, 0, 0]]],
    keys: [[[1, 0, 0, 0], [0, 0, 0, 0]]], values: [[[1], [0]]], by_head: [[[1]]],
    A: [[[HALF, HALF]]], head: [[[HALF]]],
}  # fmt: skip

by_queries = scaled(total(times(R[i, t, s], keys[i, s, c]), s))
by_keys = scaled(total(times(R[i, t, s], queries[i, t, c]), t))


def prove_attention_gradient(
    p: Prover, x: Any, at: tuple[Any, ...], partial: Any, how: str
) -> Theorem:
    raw = p.gradient(
        GradientIs(through_attention, x, at, partial),
        reason="product, quotient and chain rule, term by term",
    )
    theorem = p.equal(
        p.partial(raw, *at), partial, p.hyp(0), p.hyp(1), p.hyp(2),
        reason="the quotient rule leaves $v$ minus its average; deltas select head and row",
    )  # fmt: skip
    return p.note(p.with_partial(raw, theorem, *at), how)


def queries_mutations() -> tuple[Mutation, ...]:
    gain = times(A[i, t, s], total(times(by_head[i, t, f], values[i, s, f]), f))
    uncentred = Given(forall([i, t, s], equal(R[i, t, s], gain)), "the average is not taken away")
    unscaled = total(times(R[i, t, s], keys[i, s, c]), s)
    return (
        Mutation(
            "the backward pass of softmax forgets to take the average away",
            given=(uncentred, HEADS, WEIGHTS),
            counterexample=Example(UNIFORM),
            twin=Twin(
                "gradients by the queries, the average not taken away",
                twin_attention_gradient(0, centred=False),
            ),
        ),
        Mutation(
            r"the factor $1/\sqrt{d_k}$ is left out",
            statement=GradientIs(through_attention, queries, (i, t, c), unscaled),
            counterexample=Example(UNIFORM),
            twin=Twin(
                "gradients by the queries without the factor",
                twin_attention_gradient(0, scale=lambda _: 1),
            ),
        ),
    )


QUERIES_GRADIENT = Claim(
    id="multi-head-backward/queries",
    title="Backward through a head: queries",
    source=Source(DERIVATIONS, ("A07",), PAIRED_HEADS),
    statement=GradientIs(through_attention, queries, (i, t, c), by_queries),
    given=(GAIN, HEADS, WEIGHTS),
    proof=lambda p: prove_attention_gradient(
        p, queries, (i, t, c), by_queries, r"in matrices: $R_i k_i/\sqrt{d_k}$"
    ),
    twin=Twin("the backward pass of attention by the queries", twin_attention_gradient(0)),
    mutations=queries_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip


def keys_mutations() -> tuple[Mutation, ...]:
    first = scaled(times(R[i, 0, s], queries[i, 0, c]))
    return (
        Mutation(
            "a key hears of the first query only",
            statement=GradientIs(through_attention, keys, (i, s, c), first),
            counterexample=Example({
                n: 2, m: 2, h: 1, d_k: 1, d_v: 1, queries: [[[0], [1]]], keys: [[[0], [0]]],
                values: [[[1], [0]]], by_head: [[[1], [1]]],
                A: [[[HALF, HALF], [HALF, HALF]]], head: [[[HALF], [HALF]]],
            }),
        ),
        Mutation(
            "the factor is $1/d_k$ in place of its root",
            twin=Twin(
                "gradients by the keys with another factor",
                twin_attention_gradient(1, scale=lambda width: width),
            ),
        ),
    )  # fmt: skip


KEYS_GRADIENT = Claim(
    id="multi-head-backward/keys",
    title="Backward through a head: keys",
    source=Source(DERIVATIONS, ("A07",), PAIRED_HEADS),
    statement=GradientIs(through_attention, keys, (i, s, c), by_keys),
    given=(GAIN, HEADS, WEIGHTS),
    proof=lambda p: prove_attention_gradient(
        p, keys, (i, s, c), by_keys, r"in matrices: $R_i^\top q_i/\sqrt{d_k}$"
    ),
    twin=Twin("the backward pass of attention by the keys", twin_attention_gradient(1)),
    mutations=keys_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip

by_projection = tensor("p", h, n, d_k)
paired_projection = total(times(by_projection[i, t, c], projected(X, W_Q, i, t, c)), i, t, c)


def prove_projection_gradient(p: Prover) -> Theorem:
    first = p.gradient(
        PROJECTION_GRADIENT.statement.args[0], reason="the projection is linear in the matrices"
    )
    entry = p.equal(
        p.partial(first, i, a, c), total(times(X[t, a], by_projection[i, t, c]), t),
        reason="only the terms with this head, row and column are left",
    )  # fmt: skip
    by_matrix = p.note(p.with_partial(first, entry, i, a, c), r"in matrices: $X^\top p_i$")
    second = p.gradient(PROJECTION_GRADIENT.statement.args[1], reason="and linear in the input")
    entry = p.equal(
        p.partial(second, t, a), total(times(by_projection[i, t, c], W_Q[i, a, c]), i, c),
        reason="the input is read by every head, so the sum over heads stays",
    )  # fmt: skip
    by_input = p.note(
        p.with_partial(second, entry, t, a), r"in matrices: $\sum_i p_i (W_i^Q)^\top$"
    )
    return p.both(by_matrix, by_input)


def twin_projection_gradient(
    rng: np.random.Generator, counted: slice = slice(None), forgotten: int | None = None
) -> Iterator[Trial]:
    """With the sum over the heads that are counted; a forgotten path gives the gradient 0."""
    from numeric import multi_head_attention_vjp, split_heads

    for x, y, z, weights in layers(rng):
        cotangent = rng.standard_normal(x.shape)
        heads = split_heads(cotangent @ weights.w_o.T, weights.h)
        _, projected = backward(x, y, z, weights, heads)
        *inputs, gradient = multi_head_attention_vjp(x, y, z, weights, cotangent)
        names = ("queries", "keys", "values")
        grads = (gradient.w_q, gradient.w_k, gradient.w_v)
        matrices = (weights.w_q, weights.w_k, weights.w_v)
        for k, (name, source) in enumerate(zip(names, (x, y, z), strict=True)):
            yield agree(grads[k], source.T @ projected[k], f"matrices of the {name}")
            by_heads = projected[k] @ matrices[k].swapaxes(1, 2)
            summed = by_heads[counted].sum(axis=0)
            gradient_by_input = inputs[k] if k != forgotten else np.zeros_like(inputs[k])
            yield agree(gradient_by_input, summed, f"input of the {name}")


def projection_mutations() -> tuple[Mutation, ...]:
    first = total(times(by_projection[0, t, c], W_Q[0, a, c]), c)
    return (
        Mutation(
            "the input hears of the first head only",
            statement=GradientIs(paired_projection, X, (t, a), first),
            counterexample=Example({
                n: 1, d: 1, h: 2, d_k: 1, by_projection: [[[1]], [[1]]], W_Q: [[[1]], [[1]]],
                X: [[1]],
            }),
            twin=Twin(
                "gradients by the inputs from one head",
                lambda rng: twin_projection_gradient(rng, slice(1)),
            ),
        ),
        *(
            Mutation(
                f"the path back through the {name} is forgotten",
                twin=Twin(
                    f"gradients by all inputs, that of the {name} left at 0",
                    partial(twin_projection_gradient, forgotten=k),
                ),
            )
            for k, name in enumerate(("queries", "keys", "values"))
        ),
    )  # fmt: skip


PROJECTION_GRADIENT = Claim(
    id="multi-head-backward/projections",
    title="Backward through the projections of all heads",
    source=Source(
        DERIVATIONS, ("A07",),
        f"{PROJECTIONS}. Their gradients, from the gradient $p$ of the loss by what is projected, "
        "are not computed in the note.",
    ),
    statement=both(
        GradientIs(
            paired_projection, W_Q, (i, a, c), total(times(X[t, a], by_projection[i, t, c]), t)
        ),
        GradientIs(
            paired_projection, X, (t, a),
            total(times(by_projection[i, t, c], W_Q[i, a, c]), i, c),
        ),
    ),
    proof=prove_projection_gradient,
    twin=Twin("gradients by all matrices and inputs of the layer", twin_projection_gradient),
    mutations=projection_mutations,
    expected=Verdict.PROVED,
    remark="In self-attention the input stands in three places, and the three gradients add up.",
)  # fmt: skip

CLAIMS = (
    OUTPUT_GRADIENT,
    VALUES_GRADIENT,
    QUERIES_GRADIENT,
    KEYS_GRADIENT,
    PROJECTION_GRADIENT,
)

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
