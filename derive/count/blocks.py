"""The parts that architectures are made of, each with its weights, steps and kept activations.

What is counted: a dot product of length k takes k multiplications and k - 1 additions;
exponentials, roots and activation functions are one operation each; a softmax does not subtract
the maximum; attention works on the full square of tokens, whether or not a mask hides a part of
it.  In the backward pass the activations listed as `kept` are at hand, and the gradients of the two
operands of a product are products of the same size.
"""

from __future__ import annotations

from dataclasses import dataclass

from derive.count.description import Part, Shape, Stage, Tensor, Work
from derive.count.sizes import d_ff, d_model
from derive.kernel import terms as T
from derive.kernel.terms import Term

ONE, TWO, THREE = T.ONE, T.num(2), T.num(3)


def dots(over: Shape, inner: Term) -> Work:
    """An array of dot products."""
    return Work(over, {"multiply": inner, "add": T.sub(inner, ONE)}, inner)


def every(*over: Term, **each: int | Term) -> Work:
    """Operations of the given kinds for each entry."""
    return Work(over, {k: T.num(c) if isinstance(c, int) else c for k, c in each.items()})


def step(name: str, component: str, forward: Work, *backward: Work) -> Part:
    return Part(stages=(Stage(name, component, (forward,), backward),))


def kept(name: str, component: str, *shape: Term) -> Part:
    return Part(kept=(Tensor(name, component, shape),))


def weights(name: str, component: str, *shape: Term) -> Part:
    return Part(weights=(Tensor(name, component, shape),))


# ---------------------------------------------------------------------------- linear maps


def product(name: str, component: str, rows: Term, into: Term, out: Term, *, first: bool = False
            ) -> Part:  # fmt: skip
    """rows x into times into x out, and the gradients of both (of the first map only one)."""
    gradients = [dots((into, out), rows)] if first else [dots((rows, into), out)]
    gradients += [] if first else [dots((into, out), rows)]
    return step(name, component, dots((rows, out), into), *gradients)


def linear(
    name: str, component: str, rows: Term, into: Term, out: Term, *, bias: bool, first: bool = False
) -> Part:
    """A weight matrix that is applied to every row, with or without a bias."""
    part = weights(f"{name} weight", component, into, out)
    part += product(name, component, rows, into, out, first=first)
    if bias:
        part += weights(f"{name} bias", component, out)
        part += step(
            f"{name} bias", component, every(rows, out, add=1), every(out, add=T.sub(rows, ONE))
        )
    return part


def residual(component: str, rows: Term, width: Term = d_model) -> Part:
    """The sum with the input; in the backward pass the gradients of both ways are added."""
    added = every(rows, width, add=1)
    return step("residual sum", component, added, added)


def fan_out(component: str, uses: int, rows: Term, width: Term = d_model) -> Part:
    """A value that several maps read: their gradients are added."""
    return Part(stages=(
        Stage("sum of gradients", component, (), (every(rows, width, add=uses - 1),)),
    ))  # fmt: skip


# ---------------------------------------------------------------------------- normalisation


def layer_norm(
    name: str, rows: Term, width: Term = d_model, *, gain: bool = True, bias: bool = True,
    read: bool = True,
) -> Part:  # fmt: skip
    """(x - mean) / sqrt(variance + epsilon), times a gain, plus a bias.

    `read` says that gradients read the output, because a product does.
    """
    sums = T.mul(TWO, T.sub(width, ONE))
    forward = [
        every(rows, width, subtract=1, multiply=1 + gain, divide=1, add=int(bias)),
        every(rows, add=T.add(sums, ONE), divide=2, root=1),
    ]
    backward = [
        every(rows, width, multiply=2 + gain, subtract=2, divide=1),
        every(rows, add=sums, divide=2),
    ]
    part = _norm(name, rows, width, "deviations", (gain, bias), (forward, backward))
    return part + _output(name, rows, width) if gain and read else part


def rms_norm(name: str, rows: Term, width: Term = d_model, *, gain: bool = True) -> Part:
    """x / sqrt(mean of squares + epsilon), times a gain."""
    forward = [
        every(rows, width, multiply=1 + gain, divide=1),
        every(rows, add=width, divide=1, root=1),
    ]
    backward = [
        every(rows, width, multiply=2 + gain, subtract=1, divide=1),
        every(rows, add=T.sub(width, ONE), divide=1),
    ]
    part = _norm(name, rows, width, "root mean squares", (gain, False), (forward, backward))
    return part + _output(name, rows, width) if gain else part


def _output(name: str, rows: Term, width: Term) -> Part:
    """Without a gain the output is the normalised input, which is kept already."""
    return kept(f"{name}: output", "normalisation", rows, width)


def _norm(
    name: str, rows: Term, width: Term, divisors: str, has: tuple[bool, bool],
    work: tuple[list[Work], list[Work]],
) -> Part:  # fmt: skip
    """The weights that there are, and their gradients, which are sums over all rows."""
    component, (forward, backward) = "normalisation", work
    gain, bias = has
    part = Part()
    if gain:
        part += weights(f"{name} gain", component, width)
        backward.append(every(rows, width, multiply=1))
    if bias:
        part += weights(f"{name} bias", component, width)
    backward.append(every(width, add=T.mul(T.num(gain + bias), T.sub(rows, ONE))))
    part += Part(stages=(Stage(name, component, tuple(forward), tuple(backward)),))
    part += kept(f"{name}: normalised input", component, rows, width)
    return part + kept(f"{name}: {divisors}", component, rows)


# ---------------------------------------------------------------------------- attention


@dataclass(frozen=True)
class Heads:
    """How the heads of an attention layer lie: `q_width` is the width of all queries together."""

    heads: Term
    kv_heads: Term
    d_k: Term
    d_v: Term
    q_width: Term
    k_width: Term
    v_width: Term
    o_width: Term

    def rows_that_meet(self, queries: Term) -> Term:
        """How many rows of queries meet one key: those of all heads that share it."""
        if self.heads is self.kv_heads:
            return queries
        return T.mul(queries, T.div(self.heads, self.kv_heads))


def equal_heads(heads: Term, width: Term) -> Heads:
    """As many heads as share the width equally."""
    return Heads(heads, heads, T.div(width, heads), T.div(width, heads), *[width] * 4)


def free_heads(heads: Term, kv_heads: Term, d_k: Term, d_v: Term) -> Heads:
    """Heads whose widths are given; several of them may share keys and values."""
    return Heads(heads, kv_heads, d_k, d_v, T.mul(heads, d_k), T.mul(kv_heads, d_k),
                 T.mul(kv_heads, d_v), T.mul(heads, d_v))  # fmt: skip


@dataclass(frozen=True)
class Biases:
    """Which projections of an attention layer have a bias."""

    qkv: bool = False
    output: bool = False


def attention(
    by: Heads, queries: Term, keys: Term, biases: Biases, *, component: str = "attention",
    scaled: bool = True, rotary: bool = False, shift: bool = False, cache: bool = False,
) -> Part:  # fmt: skip
    """Multi-head attention of `queries` tokens to `keys` tokens: self-attention if both are one.

    `shift` adds a bias to the scores; with `cache` the keys and values of a token are kept for
    the tokens that follow.
    """
    part = _projections(by, queries, keys, biases, component)
    if queries is keys:
        part += fan_out(component, 3, queries)
    if rotary:
        part += _rotation("rotary positions of queries", component, queries, by.q_width)
        part += _rotation("rotary positions of keys", component, keys, by.k_width)
    part += _scores(by, queries, keys, component, scaled=scaled, shift=shift)
    part += _weighted_sums(by, queries, keys, component)
    part += linear("output", component, queries, by.o_width, d_model, bias=biases.output)
    part += kept("heads", component, queries, by.o_width)
    if cache:
        part += Part(cache=(
            Tensor("keys", component, (by.k_width,)), Tensor("values", component, (by.v_width,)),
        ))  # fmt: skip
    return part


def _projections(by: Heads, queries: Term, keys: Term, biases: Biases, component: str) -> Part:
    part = Part()
    rows = {"query": queries, "key": keys, "value": keys}
    widths = {"query": by.q_width, "key": by.k_width, "value": by.v_width}
    for name, width in widths.items():
        part += linear(name, component, rows[name], d_model, width, bias=biases.qkv)
    for name, width in widths.items():
        part += kept(_PLURALS[name], component, rows[name], width)
    return part


_PLURALS = {"query": "queries", "key": "keys", "value": "values"}


def _rotation(name: str, component: str, rows: Term, width: Term) -> Part:
    """Every pair is turned: two products and a sum for each of its two entries, both ways."""
    turned = every(rows, width, multiply=2, add=1)
    return step(name, component, turned, turned)


def _scores(
    by: Heads, queries: Term, keys: Term, component: str, *, scaled: bool, shift: bool
) -> Part:
    square = (by.heads, queries, keys)
    part = step(
        "scores", component, dots(square, by.d_k),
        dots((queries, by.q_width), keys),
        dots((keys, by.k_width), by.rows_that_meet(queries)),
    )  # fmt: skip
    if scaled:
        part += step("scaling", component, every(*square, multiply=1), every(*square, multiply=1))
    if shift:  # every score adds its gradient to an entry of the table
        part += step("relative positions", component, every(*square, add=1), every(*square, add=1))
    part += softmax(component, keys, by.heads, queries)
    return part + kept("attention weights", component, *square)


def softmax(component: str, length: Term, *rows: Term) -> Part:
    """Exponentials, divided by their sum; backward a (g - sum of a g)."""
    return step(
        "softmax", component,
        every(*rows, exponential=length, add=T.sub(length, ONE), divide=length),
        every(*rows, multiply=T.mul(TWO, length), add=T.sub(length, ONE), subtract=length),
    )  # fmt: skip


def _weighted_sums(by: Heads, queries: Term, keys: Term, component: str) -> Part:
    return step(
        "weighted sums", component, dots((queries, by.o_width), keys),
        dots((by.heads, queries, keys), by.d_v),
        dots((keys, by.v_width), by.rows_that_meet(queries)),
    )  # fmt: skip


# ---------------------------------------------------------------------------- feed-forward


def feed_forward(rows: Term, *, bias: bool, width: Term = d_ff) -> Part:
    """A linear map, an activation function, a linear map."""
    component = "feed-forward"
    part = linear("up", component, rows, d_model, width, bias=bias)
    part += _activated(component, rows, width)
    part += linear("down", component, rows, width, d_model, bias=bias)
    part += kept("before the activation", component, rows, width)
    return part + kept("after the activation", component, rows, width)


def gated_feed_forward(rows: Term, *, bias: bool = False, width: Term = d_ff) -> Part:
    """The activation of one linear map times another one, then a linear map."""
    component = "feed-forward"
    part = linear("gate", component, rows, d_model, width, bias=bias)
    part += linear("up", component, rows, d_model, width, bias=bias)
    part += _activated(component, rows, width)
    part += _gate(component, rows, width)
    part += linear("down", component, rows, width, d_model, bias=bias)
    part += fan_out(component, 2, rows)
    for name in ("gate before the activation", "gate", "up", "product"):
        part += kept(name, component, rows, width)
    return part


def _activated(component: str, rows: Term, width: Term) -> Part:
    return step(
        "activation", component, every(rows, width, activation=1),
        every(rows, width, activation=1, multiply=1),
    )  # fmt: skip


def _gate(component: str, rows: Term, width: Term) -> Part:
    return step("gating", component, every(rows, width, multiply=1), every(rows, width, multiply=2))


def mixture(rows: Term, experts: Term, active: Term, width: Term = d_ff) -> Part:
    """A router sends every token to `active` of `experts` gated networks, whose outputs it weighs.

    The softmax is over the chosen scores; every expert is taken to receive at least one token.
    """
    component = "feed-forward"
    sent = T.mul(rows, active)
    part = linear("router", "router", rows, d_model, experts, bias=False)
    part += softmax("router", active, rows)
    part += kept("router weights", "router", rows, active)
    for name, into, out in (
        ("gate", d_model, width), ("up", d_model, width), ("down", width, d_model),
    ):  # fmt: skip
        part += _expert(name, sent, into, out, experts, active)
    part += _activated(component, sent, width) + _gate(component, sent, width)
    part += step(
        "weighted sum", component,
        every(rows, d_model, multiply=active, add=T.sub(active, ONE)),
        every(rows, d_model, multiply=T.mul(TWO, active)),
        every(rows, active, add=T.sub(d_model, ONE)),
    )  # fmt: skip
    part += Part(stages=(Stage("sum of gradients", component, (), (
        every(rows, d_model, add=T.mul(TWO, active)),
    )),))  # fmt: skip
    for name in ("gate before the activation", "gate", "up", "product"):
        part += kept(name, component, sent, width)
    return part + kept("outputs of experts", component, sent, d_model)


def _expert(name: str, sent: Term, into: Term, out: Term, experts: Term, active: Term) -> Part:
    """A matrix of every expert; together they are applied to all tokens that are sent."""
    tensor = Tensor(f"{name} weight", "feed-forward", (into, out), (experts,), (active,))
    gradient = Work(
        (into, out), {"multiply": sent, "add": T.sub(sent, experts)}, sent
    )  # a sum over the tokens of an expert, for each expert
    return Part(
        weights=(tensor,),
        stages=(
            Stage(name, "feed-forward", (dots((sent, out), into),),
                  (dots((sent, into), out), gradient)),
        ),
    )  # fmt: skip


# ---------------------------------------------------------------------------- both ends


def look_up(name: str, component: str, table: Term, rows: Term, width: Term = d_model) -> Part:
    """Rows of a table; in the backward pass each adds its gradient to the row that it came from."""
    return weights(name, component, table, width) + step(
        name, component, every(rows, width), every(rows, width, add=1)
    )


def head(rows: Term, width: Term, vocabulary: Term, *, tied: bool) -> Part:
    """Scores of all words; tied to the embedding, it reads the same matrix."""
    component = "output head"
    if not tied:
        return linear("output head", component, rows, width, vocabulary, bias=False)
    part = product("output head", component, rows, width, vocabulary)
    shared = every(vocabulary, width, add=1)
    return part + Part(stages=(Stage("sum of gradients", component, (), (shared,)),))
