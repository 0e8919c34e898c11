r"""The backward pass of multi-head attention, by every matrix, every bias and every input.

The loss depends on an argument along one path: through the queries, the keys, the values, or past
the heads.  What the other paths compute is a tensor with its definition, so that a statement shows
where its argument stands; self-attention, whose input stands on three paths, comes last.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from derive.claim import Claim, Given, Notation, Script
from derive.claims._backward import (
    Case,
    Draw,
    Mistakes,
    backward_claim,
    by_name,
    by_table,
    defined_as,
    in_form,
    inserted,
    normal,
    paired,
    place_of,
)
from derive.claims._heads import (
    CONCAT,
    SIZES,
    W_K,
    W_O,
    W_Q,
    W_V,
    Entry,
    K,
    Q,
    V,
    X,
    a,
    average,
    c,
    concat,
    d,
    d_k,
    d_v,
    dot,
    entries,
    f,
    h,
    head,
    i,
    j,
    l,
    m,
    n,
    o,
    own_rows,
    position,
    scaled,
    t,
)
from derive.claims._softmax import delta, exp
from derive.kernel import terms as T
from derive.kernel.rules import Theorem
from derive.language import GradientIs, index, minus, over, plus, tensor, times, total
from derive.prover import Prover

ORDER = 73
TOPIC = "backward"

G = tensor("G", n, d)
b_Q, b_K, b_V = tensor("b^Q", h, d_k), tensor("b^K", h, d_k), tensor("b^V", h, d_v)
b_O = tensor("b^O", d)
r, r_m = index("r", n), index("r", m)
e = index("e", d_v)

# ---------------------------------------------------------------------- the layer


def project(x: Any, w: Any, bias: Any) -> Entry:
    """Entry (t, c) of the input times the matrix of head i, plus its bias."""
    return lambda i, t, c: plus(total(times(x[t, a], w[i, a, c]), a), bias[i, c])


class Layer:
    """The layer with `rows` keys, whose inputs for queries, keys and values are given.

    What stands on the way forward and backward is a tensor with its definition.  `factors` holds
    the exponentials of a mask; the hypotheses about them are the first ones then.
    """

    def __init__(
        self, rows: Any, q_input: Any, k_input: Any, v_input: Any, factors: Any = None
    ) -> None:
        self.factors, self.first = factors, 0 if factors is None else 2
        self.s, self.u = index("s", rows), index("u", rows)
        self.inputs = q_input, k_input, v_input
        self.explicit = (
            project(q_input, W_Q, b_Q), project(k_input, W_K, b_K), project(v_input, W_V, b_V)
        )  # fmt: skip
        self.q, self.by_q = tensor("q", h, n, d_k), tensor("q'", h, n, d_k)
        self.k, self.by_k = tensor("k", h, rows, d_k), tensor("k'", h, rows, d_k)
        self.v, self.by_v = tensor("v", h, rows, d_v), tensor("v'", h, rows, d_v)
        self.A, self.R = tensor("A", h, n, rows), tensor("R", h, n, rows)
        self.loss = self._loss()

    def weight(self, q: Entry, k: Entry) -> Any:
        """The weight with which head i takes key s for query t."""
        return over(self.visible(q, k, self.s), self.divisor(q, k))

    def divisor(self, q: Entry, k: Entry) -> Any:
        """What the exponentials of the scores of query t add up to."""
        return total(self.visible(q, k, self.u), self.u)

    def visible(self, q: Entry, k: Entry, s: Any) -> Any:
        """The exponential of the score of key s, times the factor of the mask if there is one."""
        seen = exp(self.score(q, k, s))
        return seen if self.factors is None else times(self.factors[i, t, s], seen)

    def score(self, q: Entry, k: Entry, s: Any) -> Any:
        """Of key s for query t in head i."""
        return scaled(dot(lambda c: q(i, t, c), lambda c: k(i, s, c)))

    def hyp(self, p: Prover, number: int) -> Theorem:
        """A hypothesis, counted from the first definition on."""
        return p.hyp(self.first + number)

    def smooth(self, p: Prover) -> list[Theorem]:
        """What the derivative of a weight asks for."""
        return []

    def head(self) -> Any:
        """Entry (t, f) of head i."""
        q, k, v = self.explicit
        return total(times(self.weight(q, k), v(i, self.s, f)), self.s)

    def _loss(self) -> Any:
        """The entries of the output, each times its cotangent."""
        output = plus(total(times(self.head(), own_rows(i, f, o)), i, f), b_O[o])
        return total(times(G[t, o], output), t, o)

    def gain(self, s: Any) -> Any:
        return total(times(g[i, t, f], self.v[i, s, f]), f)

    def forward(self) -> tuple[Notation, ...]:
        """Queries, keys, weights, values."""
        s, (q, k, v) = self.s, self.explicit
        x, y, z = (str(x.label) for x in self.inputs)
        return (
            defined_as(self.q, (i, t, c), q(i, t, c), f"$q_i = {x} W^Q_i + b^Q_i$, for every head"),
            defined_as(self.k, (i, s, c), k(i, s, c), f"$k_i = {y} W^K_i + b^K_i$"),
            defined_as(
                self.A, (i, t, s), self.weight(entries(self.q), entries(self.k)),
                "$A_i$ holds the attention weights",
            ),
            defined_as(self.v, (i, s, f), v(i, s, f), f"$v_i = {z} W^V_i + b^V_i$"),
        )  # fmt: skip

    def by_scores(self) -> Notation:
        mean = total(times(self.A[i, t, self.u], self.gain(self.u)), self.u)
        return defined_as(
            self.R, (i, t, self.s), times(self.A[i, t, self.s], minus(self.gain(self.s), mean)),
            r"$R_i$ is the gradient by the scores of head $i$ before they are scaled: "
            r"$g_i v_i^\top$, passed back through the softmax",
        )  # fmt: skip

    def backward(self) -> tuple[Notation, ...]:
        """The gradients by queries, keys and values."""
        s = self.s
        return (
            defined_as(
                self.by_q, (i, t, c), scaled(total(times(self.R[i, t, s], self.k[i, s, c]), s)),
                r"$q'_i = R_i k_i/\sqrt{d_k}$ is the gradient by the queries",
            ),
            defined_as(
                self.by_k, (i, s, c), scaled(total(times(self.R[i, t, s], self.q[i, t, c]), t)),
                r"$k'_i = R_i^\top q_i/\sqrt{d_k}$ is the gradient by the keys",
            ),
            defined_as(
                self.by_v, (i, s, f), total(times(self.A[i, t, s], g[i, t, f]), t),
                r"$v'_i = A_i^\top g_i$ is the gradient by the values",
            ),
        )  # fmt: skip


g = tensor("g", h, n, d_v)
BY_HEADS = defined_as(
    g, (i, t, f), total(times(G[t, o], own_rows(i, f, o)), o),
    r"$g_i = G\,(W^O_i)^\top$ is the gradient by head $i$; $W^O_i$ are the rows of $W^O$ that "
    "belong to it",
)  # fmt: skip
CROSS, SELF = Layer(m, Q, K, V), Layer(n, X, X, X)

# ---------------------------------------------------------------------- proofs


def names(p: Prover, layer: Layer, count: int = 4) -> list[Theorem]:
    """Queries, keys, weights and values by their names; the first hypotheses define them."""
    s = layer.s
    places = ((i, t, c), (i, s, c), (i, t, s), (i, s, f))
    return [by_name(p, layer.hyp(p, k), *at) for k, at in enumerate(places[:count])]


def at_heads(p: Prover, partial: Any, definition: Theorem) -> Theorem:
    """Sum of G times the change of the output = sum of g times that of the heads."""
    Y = tensor("Y", h, n, d_v)
    output = total(times(Y[i, t, f], own_rows(i, f, o)), i, f)
    law = p.equal(
        total(times(G[t, o], output), t, o), total(times(g[i, t, f], Y[i, t, f]), i, t, f),
        definition, show=False,
    )  # fmt: skip
    change = opened(p, opened(p, partial, t, o).children[1], i, f).children[0]
    return p.at(p.for_all_tensors(law, Y), p.lam(change, i, t, f))


def opened(p: Prover, sums: Any, *at: Any) -> Any:
    """The body of nested sums at these indices."""
    for place in at:
        sums = T.instantiate(sums.children[1], (p.term(place),))
    return sums


WEIGHT_LAW = (
    "one weight, by the quotient rule: the weight times how far the change of its score is from "
    "the average change"
)
AT_HEADS = (
    r"the output is linear in the heads, and a head in its weights; what comes back to head $i$ "
    r"is $g_i$"
)
CONTRACT = "the deltas leave one term of each sum; the rest is what the names stand for"


def through_scores(layer: Layer, goal: GradientIs, change: Entry, *using: int) -> Script:
    """By way of one weight; `change` is how the score of key s for query t changes."""

    def prove(p: Prover) -> Theorem:
        to_names, place, s = names(p, layer), place_of(goal), layer.s
        q, k, _ = layer.explicit
        conditions = layer.smooth(p)
        weight = GradientIs(layer.weight(q, k), goal.args[1], goal.args[2], 0)
        written_out = p.gradient(weight, *conditions)
        one = inserted(p, written_out, goal, *to_names[:2])
        mean = total(times(layer.A[i, t, layer.u], change(i, t, layer.u)), layer.u)
        law = p.equal(
            p.partial(one, *place), times(layer.A[i, t, s], minus(change(i, t, s), mean)),
            layer.hyp(p, 2), show=False,
        )  # fmt: skip
        slope = p.note(p.with_partial(one, law, *place), WEIGHT_LAW)
        law = p.for_all(p.same_partials(written_out, slope, *place), i, t, s)
        values_too = to_names[:3] if layer.inputs[0] is layer.inputs[2] else []
        raw = p.gradient(goal, *conditions)
        return whole(p, layer, raw, goal, 4, [law, to_names[3], *values_too], *using)

    return prove


def through_values(layer: Layer, goal: GradientIs, *using: int) -> Script:
    return lambda p: whole(p, layer, p.gradient(goal), goal, 3, names(p, layer, 3), *using)


def whole(
    p: Prover, layer: Layer, raw: Theorem, goal: GradientIs, split: int, rules: list[Theorem],
    *using: int,
) -> Theorem:  # fmt: skip
    """The gradient of the loss, with the rules put in and brought to the form of the goal."""
    raw, place = inserted(p, raw, goal, *rules), place_of(goal)
    by_heads = at_heads(p, p.partial(raw, *place), layer.hyp(p, split))
    raw = p.note(p.with_partial(raw, by_heads, *place), AT_HEADS)
    return in_form(p, raw, goal, CONTRACT, *(layer.hyp(p, k) for k in using))


def prove_output_weight(goal: GradientIs, layer: Layer | None = None) -> Script:
    """By W^O, whose row l takes column l of the concatenation."""
    layer = layer or CROSS

    def prove(p: Prover) -> Theorem:
        heads = by_name(p, layer.hyp(p, 4), i, t, f)
        raw = inserted(p, p.gradient(goal), goal, *names(p, layer), heads)
        p.note(raw, "the output is linear in $W^O$")
        columns = index("l'", h * d_v)
        picked = total(times(concat[t, columns], delta(l, columns)), columns)
        blocks = p.blocks(picked, h, d_v)
        p.note(blocks, "the columns of the concatenation, head by head")
        same = p.equal(
            total(times(head[i, t, f], delta(l, position(i, f))), i, f),
            blocks.conclusion.children[1], layer.hyp(p, 5), show=False,
        )  # fmt: skip
        row = p.equal(
            total(times(head[i, t, f], delta(l, position(i, f))), i, f), concat[t, l],
            (1, same), (-1, blocks),
            reason="only the head and the column that stand at $l$ are left",
        )  # fmt: skip
        return in_form(p, raw, goal, "likewise for the columns of the output", p.for_all(row, t))

    return prove


# ---------------------------------------------------------------------- the implementation


def draw(which: str | int) -> Draw:
    """A layer with biases; `which` names an argument, or numbers an input."""

    def cases(rng: np.random.Generator) -> Iterator[Case]:
        from numeric import (
            attention_heads,
            concat_heads,
            multi_head_attention,
            multi_head_attention_vjp,
        )

        for x, y, z, w in drawn(rng):
            cotangent = rng.standard_normal(x.shape)
            *inputs, weights = multi_head_attention_vjp(x, y, z, w, cotangent)
            gradient = getattr(weights, which) if isinstance(which, str) else inputs[which]
            output = multi_head_attention(x, y, z, w)
            together = concat_heads(attention_heads(x, y, z, w))
            values = {Q: x, K: y, V: z, G: cotangent, concat: together, **of_layer(w)}
            yield Case(values, paired(cotangent, output), gradient)

    return cases


def draw_self(rng: np.random.Generator) -> Iterator[Case]:
    from numeric import self_attention, self_attention_vjp

    for x, _, _, w in drawn(rng):
        cotangent = rng.standard_normal(x.shape)
        gradient, _ = self_attention_vjp(x, w, cotangent)
        yield Case(
            {X: x, G: cotangent, **of_layer(w)}, paired(cotangent, self_attention(x, w)), gradient
        )


def drawn(rng: np.random.Generator) -> Iterator[tuple[Any, ...]]:
    from numeric import MultiHeadWeights

    for queries, rows, width, heads, narrow, wide in SIZES:
        w = MultiHeadWeights.init(rng, width, heads, narrow, wide, bias=True)
        yield *normal(rng, *((tokens, width) for tokens in (queries, rows, rows))), w


def of_layer(w: Any) -> dict[Any, Any]:
    return {
        W_Q: w.w_q, W_K: w.w_k, W_V: w.w_v, W_O: w.w_o,
        b_Q: w.b_q, b_K: w.b_k, b_V: w.b_v, b_O: w.b_o,
    }  # fmt: skip


# ---------------------------------------------------------------------- claims


@dataclass(frozen=True)
class Argument:
    """What the layer is differentiated by, at which place, and what the gradient is there.

    `formula` is the gradient in matrices, `which` the argument's name or number in NumPy.
    """

    name: str
    title: str
    formula: str
    x: Any
    place: tuple[Any, ...]
    value: Any
    which: str | int
    remark: str = ""
    mistakes: Mistakes | None = None

    @property
    def goal(self) -> GradientIs:
        return GradientIs(CROSS.loss, self.x, self.place, self.value)

    def claim(self, given: tuple[Given, ...], proof: Callable[[GradientIs], Script]) -> Claim:
        return backward_claim(
            f"multi-head-{self.name}", f"Multi-head attention: backward to {self.title}",
            f"`multi_head_attention_vjp` returns ${self.formula}$ as the gradient by {self.title}."
            + told(self.formula),
            self.goal, proof(self.goal), draw(self.which), given=given, remark=self.remark,
            mistakes=self.mistakes, only_in_numbers=True,
        )  # fmt: skip


PROJECTED = {"q": "queries", "k": "keys", "v": "values"}


def told(formula: str) -> str:
    """What the primed letters of a formula stand for."""
    letters = "".join(re.findall(r"[qkv]'_i", formula))
    return "".join(f" Here ${x}'_i$ is the gradient by the {PROJECTED[x]} of head $i$."
                   for x in "qkv" if x in letters)  # fmt: skip


FORWARD = CROSS.forward()
BY_QUERIES, BY_KEYS, BY_VALUES = CROSS.backward()
SCORES = (*FORWARD, BY_HEADS, CROSS.by_scores())
HEADS = defined_as(
    head, (i, t, f), average(CROSS.A, CROSS.v, i, t, f), "head $i$ is $A_i v_i$"
)  # fmt: skip
by_q, by_k, by_v, s = CROSS.by_q, CROSS.by_k, CROSS.by_v, CROSS.s


def of_queries(change: Entry, argument: Argument) -> Claim:
    return argument.claim(
        (*SCORES, BY_QUERIES),
        lambda goal: through_scores(CROSS, goal, lambda *at: scaled(change(*at)), 6, 5),
    )


def of_keys(change: Entry, argument: Argument) -> Claim:
    return argument.claim(
        (*SCORES, BY_KEYS),
        lambda goal: through_scores(CROSS, goal, lambda *at: scaled(change(*at)), 6, 5),
    )


def of_values(argument: Argument) -> Claim:
    return argument.claim(
        (*FORWARD[:3], BY_HEADS, BY_VALUES), lambda goal: through_values(CROSS, goal, 4)
    )


QUERY_CLAIMS = (
    of_queries(
        lambda i, t, s: times(delta(i, j), Q[t, a], CROSS.k[i, s, c]),
        Argument("query-weight", "$W^Q_i$", r"Q^\top q'_i", W_Q, (j, a, c),
                 total(times(Q[t, a], by_q[j, t, c]), t), "w_q", mistakes=lambda: (
                     ("all heads share one gradient",
                      total(times(Q[t, a], by_q[i, t, c]), i, t)),
                 )),
    ),
    of_queries(
        lambda i, t, s: times(delta(i, j), CROSS.k[i, s, c]),
        Argument("query-bias", "$b^Q_i$", r"\mathbf{1}^\top q'_i", b_Q, (j, c),
                 total(by_q[j, t, c], t), "b_q"),
    ),
    of_queries(
        lambda i, t, s: times(delta(t, r), total(times(W_Q[i, a, c], CROSS.k[i, s, c]), c)),
        Argument("query-input", "the input of the queries", r"\sum_i q'_i (W^Q_i)^\top", Q, (r, a),
                 total(times(by_q[i, r, c], W_Q[i, a, c]), i, c), 0, mistakes=lambda: (
                     ("only the first head passes something back",
                      total(times(by_q[0, r, c], W_Q[0, a, c]), c)),
                 )),
    ),
)  # fmt: skip

KEY_CLAIMS = (
    of_keys(
        lambda i, t, s: times(delta(i, j), K[s, a], CROSS.q[i, t, c]),
        Argument("key-weight", "$W^K_i$", r"K^\top k'_i", W_K, (j, a, c),
                 total(times(K[s, a], by_k[j, s, c]), s), "w_k"),
    ),
    of_keys(
        lambda i, t, s: times(delta(i, j), CROSS.q[i, t, c]),
        Argument("key-bias", "$b^K_i$", r"\mathbf{1}^\top k'_i", b_K, (j, c),
                 total(by_k[j, s, c], s), "b_k",
                 "It is zero, since a bias of the keys moves all scores of a query alike."),
    ),
    of_keys(
        lambda i, t, s: times(delta(s, r_m), total(times(W_K[i, a, c], CROSS.q[i, t, c]), c)),
        Argument("key-input", "the input of the keys", r"\sum_i k'_i (W^K_i)^\top", K, (r_m, a),
                 total(times(by_k[i, r_m, c], W_K[i, a, c]), i, c), 1),
    ),
)  # fmt: skip

VALUE_CLAIMS = (
    of_values(Argument(
        "value-weight", "$W^V_i$", r"V^\top v'_i", W_V, (j, a, e),
        total(times(V[s, a], by_v[j, s, e]), s), "w_v",
    )),
    of_values(Argument(
        "value-bias", "$b^V_i$", r"\mathbf{1}^\top v'_i", b_V, (j, e), total(by_v[j, s, e], s),
        "b_v",
    )),
    of_values(Argument(
        "value-input", "the input of the values", r"\sum_i v'_i (W^V_i)^\top", V, (r_m, a),
        total(times(by_v[i, r_m, f], W_V[i, a, f]), i, f), 2,
    )),
)  # fmt: skip

OUTPUT_CLAIMS = (
    Argument(
        "output-weight", "$W^O$", r"\mathrm{Concat}^\top G", W_O, (l, o),
        total(times(concat[t, l], G[t, o]), t), "w_o",
    ).claim((*FORWARD, HEADS, CONCAT), prove_output_weight),
    Argument("output-bias", "$b^O$", r"\mathbf{1}^\top G", b_O, (o,), total(G[t, o], t),
             "b_o").claim(
        (), lambda goal: by_table(goal, "the bias is added to every row", "the delta leaves one "
                                  "column of every row"),
    ),
)  # fmt: skip


def in_both(layer: Layer, i: Any, t: Any, s: Any) -> Any:
    """How a score changes with X, which stands in its query and in its key."""
    in_query = times(delta(t, r), total(times(W_Q[i, a, c], layer.k[i, s, c]), c))
    in_key = times(delta(s, r), total(times(W_K[i, a, c], layer.q[i, t, c]), c))
    return scaled(plus(in_query, in_key))


def self_change(i: Any, t: Any, s: Any) -> Any:
    return in_both(SELF, i, t, s)


SELF_GOAL = GradientIs(
    SELF.loss, X, (r, a),
    plus(
        total(times(SELF.by_q[i, r, c], W_Q[i, a, c]), i, c),
        total(times(SELF.by_k[i, r, c], W_K[i, a, c]), i, c),
        total(times(SELF.by_v[i, r, f], W_V[i, a, f]), i, f),
    ),
)  # fmt: skip
SELF_INPUT = backward_claim(
    "self-attention-input", "Self-attention: backward to the input",
    "`self_attention_vjp` returns as the gradient by $X$, which is the input of queries, keys and "
    "values at once, the sum of what the three pass back.",
    SELF_GOAL, through_scores(SELF, SELF_GOAL, self_change, 8, 7, 6, 5), draw_self,
    mistakes=lambda: (
        ("the path through the keys is forgotten",
         plus(*(SELF_GOAL.args[3].args[path] for path in (0, 2)))),
        ("the path through the values is forgotten",
         plus(*(SELF_GOAL.args[3].args[path] for path in (0, 1)))),
    ),
    only_in_numbers=True,
    given=(*SELF.forward(), BY_HEADS, SELF.by_scores(), *SELF.backward()),
)  # fmt: skip

CLAIMS = (*QUERY_CLAIMS, *KEY_CLAIMS, *VALUE_CLAIMS, *OUTPUT_CLAIMS, SELF_INPUT)

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
