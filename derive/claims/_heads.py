"""What the claims on multi-head attention share: symbols, the layer's parts, moves and layers.

One token is one row.  There are `n` queries and `m` keys; head `i` has its own projections, and
the rows ``i d_v`` to ``(i + 1) d_v - 1`` of ``W^O`` belong to it.  Every part of the layer is a
tensor with its definition as a hypothesis, so that statements about it can be read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

from derive.claim import Given
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.kernel.terms import Term
from derive.language import dims, equal, forall, index, over, plus, tensor, times, total
from derive.prover import Prover

if TYPE_CHECKING:
    from numeric import MultiHeadWeights

Entry = Callable[..., Any]

h, n, m, d, d_k, d_v = dims("h n m d_model d_k d_v")
i, j = index("i", h), index("j", h)
t = index("t", n)
s, u = index("s", m), index("u", m)
a, b, o = index("a", d), index("b", d), index("o", d)
c, e = index("c", d_k), index("e", d_k)
f, g = index("f", d_v), index("g", d_v)
l = index("l", h * d_v)

#: inputs, and the matrices of all heads
Q, K, V = tensor("Q", n, d), tensor("K", m, d), tensor("V", m, d)
X = tensor("X", n, d)
W_Q, W_K = tensor("W^Q", h, d, d_k), tensor("W^K", h, d, d_k)
W_V, W_O = tensor("W^V", h, d, d_v), tensor("W^O", h * d_v, d)
#: projected inputs, attention weights and output of each head; heads side by side; the output
queries, keys = tensor("q", h, n, d_k), tensor("k", h, m, d_k)
values = tensor("v", h, m, d_v)
A, other_A = tensor("A", h, n, m), tensor("A'", h, n, m)
head = tensor("head", h, n, d_v)
concat = tensor("Concat", n, h * d_v)


def position(i: Any, f: Any) -> Any:
    """The column of the concatenation where column `f` of head `i` stands."""
    return plus(times(i, d_v), f)


def projected(x: Any, w: Any, i: Any, t: Any, c: Any) -> Any:
    """Entry (t, c) of the input times the matrix of head `i`."""
    return total(times(x[t, a], w[i, a, c]), a)


def dot(x: Entry, y: Entry) -> Any:
    """The product of a query and a key, column by column."""
    return total(times(x(c), y(c)), c)


def scaled(product: Any) -> Any:
    return over(product, sp.sqrt(d_k))


def softmax(score: Entry, s: Any) -> Any:
    """e^{z_s} over the sum of all e^{z_u}."""
    return over(sp.exp(score(s)), total(sp.exp(score(u)), u))


def attention(queries: Entry, keys: Entry, i: Any, t: Any, s: Any) -> Any:
    """The weight with which head `i` takes key `s` for query `t`."""
    return softmax(lambda s: scaled(dot(lambda c: queries(i, t, c), lambda c: keys(i, s, c))), s)


def score(queries: Any, keys: Any) -> Any:
    """The score of key `s` for query `t` in head `i`."""
    return scaled(dot(lambda c: queries[i, t, c], lambda c: keys[i, s, c]))


def entries(x: Any) -> Entry:
    return lambda *index: x[index]


def own_rows(i: Any, f: Any, o: Any) -> Any:
    """Entry (f, o) of the rows of ``W^O`` that belong to head `i`."""
    return W_O[position(i, f), o]


def average(weights: Any, values: Any, i: Any, t: Any, f: Any) -> Any:
    """Entry (t, f) of a head: the average of the values with its weights for query `t`."""
    return total(times(weights[i, t, s], values[i, s, f]), s)


def projects(y: Any, x: Any, w: Any, t: Any, c: Any, note: str) -> Given:
    """For every head, `y` is the input `x` times the matrix of the head."""
    return Given(forall([i, t, c], equal(y[i, t, c], projected(x, w, i, t, c))), note)


def attends(
    weights: Any, queries: Any, keys: Any,
    note: str = "attention weights $A_i$ by the formula of scaled dot-product attention",
) -> Given:  # fmt: skip
    weight = attention(entries(queries), entries(keys), i, t, s)
    return Given(forall([i, t, s], equal(weights[i, t, s], weight)), note)


QUERIES = projects(queries, Q, W_Q, t, c, "the queries of head $i$ are $QW_i^Q$")
KEYS = projects(keys, K, W_K, s, c, "its keys are $KW_i^K$")
VALUES = projects(values, V, W_V, s, f, "its values are $VW_i^V$")
WEIGHTS = attends(A, queries, keys)
HEADS = Given(
    forall([i, t, f], equal(head[i, t, f], average(A, values, i, t, f))),
    "a head is the average of its values with its weights",
)
CONCAT = Given(
    forall([t, i, f], equal(concat[t, position(i, f)], head[i, t, f])),
    r"side by side: column $c$ of head $i$ becomes column $i\,d_v+c$",
)


#: an entry of the output: by the concatenation, and as a sum over heads
output = total(times(concat[t, l], W_O[l, o]), l)
by_heads = total(times(head[i, t, f], own_rows(i, f, o)), i, f)

PROJECTIONS = (
    r"Head $i$ has $W_i^Q, W_i^K \in \mathbb{R}^{d_{\text{model}} \times d_k}$ and "
    r"$W_i^V \in \mathbb{R}^{d_{\text{model}} \times d_v}$"
)
OUTPUT = (
    r"$\mathrm{MultiHead}(Q, K, V) = \mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_h)\,W^O$"
)
ALL_ALIKE = (
    "If all heads give one and the same attention pattern, multi-head attention is a single head"
)


# ---------------------------------------------------------------------- moves


def same_softmax(p: Prover, same: Theorem, s: Any) -> Theorem:
    """From z_s = z'_s, with s free: e^{z_s} / sum of e^{z_u} is the same for z'."""
    before, after = same.conclusion.children
    left, right = T.fn("exp", before), T.fn("exp", after)
    exps = p.rewrite(same, p.equal(left, left, show=False), lambda x: T.eq(left, T.fn("exp", x)))
    sums = p.sum_equal(exps, s)
    below = sums.conclusion.children[0]
    whole = T.div(left, below)
    half = p.rewrite(
        exps, p.equal(whole, whole, show=False), lambda x: T.eq(whole, T.div(x, below))
    )
    return p.rewrite(sums, half, lambda x: T.eq(whole, T.div(right, x)))


def same_weights(p: Prover, scores: Theorem, first: Theorem, second: Theorem) -> Theorem:
    """A_its = A'_its for all s, from equal scores and the definitions of A and A'."""
    same = same_softmax(p, scores, s)
    weights = p.equal(
        first.conclusion.children[0], second.conclusion.children[0],
        (1, first), (1, same), (-1, second), reason="hence the same weights",
    )  # fmt: skip
    return p.for_all(weights, s)


def not_for_all(target: Term, failing: Theorem, *values: Any) -> Theorem:
    """not for all x, y ...: q, for the formula `target`, from not q at the values."""
    levels = [target.children[0]]
    for v in values:
        levels.append(T.instantiate(levels[-1].children[-1], (v,)))
    for level, v in zip(reversed(levels[:-1]), reversed(values), strict=True):
        failing = infer("not-forall", [failing], T.negate(level), v)
    return failing


# ---------------------------------------------------------------------- layers to measure

#: (n, m, d_model, h, d_k, d_v): no two sizes coincide; then one head, one query, one key, h = d.
SIZES = ((3, 5, 7, 4, 2, 6), (2, 4, 3, 1, 5, 2), (1, 3, 2, 2, 1, 4), (4, 1, 3, 3, 1, 1))


def layers(rng: np.random.Generator) -> Iterator[tuple[Any, Any, Any, MultiHeadWeights]]:
    """Inputs for queries, keys and values, and the weights of a layer without biases."""
    from numeric import MultiHeadWeights

    for queries, keys, width, heads, key_width, value_width in SIZES:
        weights = MultiHeadWeights.init(rng, width, heads, key_width, value_width)
        x, y, z = (rng.standard_normal((tokens, width)) for tokens in (queries, keys, keys))
        yield x, y, z, weights


def patterns(query_input: Any, key_input: Any, weights: MultiHeadWeights) -> Any:
    """The attention weights of all heads, (h, n, m)."""
    from numeric import attention_weights

    return attention_weights(query_input @ weights.w_q, key_input @ weights.w_k)


def output_rows(weights: MultiHeadWeights) -> Any:
    """The rows of ``W^O`` by head, (h, d_v, d_model)."""
    return weights.w_o.reshape(weights.h, weights.d_v, weights.d_model)
