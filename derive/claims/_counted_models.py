"""How many operations and numbers models take, counted while `numeric` computes them.

Each function takes whole numbers by the names of their symbols and returns the operations of the
forward pass by kind, those of its matrix products, and those of the gradients of these products.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

Sizes = Mapping[str, int]
#: What a matrix product multiplies: rows x into and into x out.
Product = tuple[int, int, int]
_NAMES = {"exp": "exponential", "compare": "activation"}
_PRODUCTS = ("queries", "keys", "values", "scores", "heads", "output", "first", "second", "gate",
             "up", "down")  # fmt: skip


@dataclass
class Tally:
    """Operations by kind, and the multiplications that belong to matrix products."""

    kinds: Counter[str] = field(default_factory=Counter)
    products: int = 0
    gradients: int = 0

    def stages(self, stages: Mapping[str, Counter[str]], times: int = 1) -> None:
        for name, counter in stages.items():
            self.counted(counter, times)
            self.products += times * counter["multiply"] * (name in _PRODUCTS)

    def counted(self, counter: Counter[str], times: int = 1) -> None:
        for kind, number in counter.items():
            self.kinds[_NAMES.get(kind, kind)] += times * number

    def linear(self, rng: np.random.Generator, product: Product, times: int = 1) -> None:
        from numeric import count_linear

        rows, into, out = product
        _, counter = count_linear(rng.random((rows, into)), rng.random((into, out)))
        self.counted(counter, times)
        self.products += times * counter["multiply"]

    def entries(self, kind: str, *shape: int, times: int = 1) -> None:
        """One operation for each entry of an array."""
        self.kinds[kind] += times * np.empty(shape).size

    def gradients_of(
        self, rng: np.random.Generator, products: Iterable[Product], times: int = 1
    ) -> None:
        """The two products that give the gradients of the operands of each product."""
        from numeric import count_linear

        for rows, into, out in products:
            left, right, cotangent = (
                rng.random(s) for s in ((rows, into), (into, out), (rows, out))
            )
            for pair in ((cotangent, right.T), (left.T, cotangent)):
                self.gradients += times * count_linear(*pair)[1]["multiply"]


def attention_products(
    n: int, m: int, d: int, heads: int, shared: int, width: int
) -> list[Product]:
    projections = [(n, d, heads * width), *[(m, d, shared * width)] * 2, (n, heads * width, d)]
    return [*projections, *heads * [(n, width, m), (n, m, width)]]


def gpt(s: Sizes) -> Tally:
    from numeric import (
        FeedForwardWeights,
        MultiHeadWeights,
        count_attention,
        count_feed_forward,
        count_layer_norm,
    )

    n, d, h, f, layers = (s[x] for x in ("n", "d_model", "h", "d_ff", "L"))
    rng, tally = np.random.default_rng(1), Tally()
    x = rng.standard_normal((n, d))
    tally.stages(count_attention(x, x, MultiHeadWeights.init(rng, d, h))[1], layers)
    tally.stages(count_feed_forward(x, FeedForwardWeights.init(rng, d, f))[1], layers)
    norm = count_layer_norm(x, np.ones(d), np.ones(d), epsilon=0.1)[1]
    tally.counted(norm, 2 * layers + 1)
    tally.entries("add", 4, n, d, times=layers)  # the biases of attention
    tally.entries("add", 2, n, d, times=layers)  # the residual sums
    tally.entries("add", n, d)  # the positions
    tally.linear(rng, (n, d, s["V"]))
    products = [*attention_products(n, n, d, h, h, d // h), (n, d, f), (n, f, d)]
    tally.gradients_of(rng, products, layers)
    tally.gradients_of(rng, [(n, d, s["V"])])
    return tally


def llama(s: Sizes) -> Tally:
    return _llama(s, mixture=False)


def mixture(s: Sizes) -> Tally:
    return _llama(s, mixture=True)


def _llama(s: Sizes, *, mixture: bool) -> Tally:
    from numeric import MultiHeadWeights, count_attention, count_rms_norm

    n, d, h, shared, width, layers = (s[x] for x in ("n", "d_model", "h", "h_kv", "d_k", "L"))
    rng, tally = np.random.default_rng(1), Tally()
    x = rng.standard_normal((n, d))
    weights = MultiHeadWeights.init(rng, d, h, d_k=width, d_v=width, g=shared)
    tally.stages(count_attention(x, x, weights)[1], layers)
    for heads in (h, shared):  # every entry of queries and keys is turned
        tally.entries("multiply", 2, n, heads, width, times=layers)
        tally.entries("add", n, heads, width, times=layers)
    tally.counted(count_rms_norm(x, np.ones(d), epsilon=0.1)[1], 2 * layers + 1)
    tally.entries("add", 2, n, d, times=layers)
    tally.linear(rng, (n, d, s["V"]))
    tally.gradients_of(rng, attention_products(n, n, d, h, shared, width), layers)
    tally.gradients_of(rng, [(n, d, s["V"])])
    (_experts if mixture else _gated)(tally, s, rng)
    return tally


def _gated(tally: Tally, s: Sizes, rng: np.random.Generator) -> None:
    from numeric import GatedFeedForwardWeights, count_gated_feed_forward

    n, d, f = s["n"], s["d_model"], s["d_ff"]
    weights = GatedFeedForwardWeights.init(rng, d, f)
    tally.stages(count_gated_feed_forward(rng.standard_normal((n, d)), weights)[1], s["L"])
    tally.gradients_of(rng, [(n, d, f), (n, d, f), (n, f, d)], s["L"])


def _experts(tally: Tally, s: Sizes, rng: np.random.Generator) -> None:
    """Token by token: the router, a softmax over the chosen scores, the networks, their mean."""
    from numeric import GatedFeedForwardWeights, count_gated_feed_forward

    n, d, f, number, chosen = (s[x] for x in ("n", "d_model", "d_ff", "E", "k"))
    one = count_gated_feed_forward(rng.standard_normal((1, d)),
                                   GatedFeedForwardWeights.init(rng, d, f))[1]  # fmt: skip
    tally.stages(one, s["L"] * n * chosen)
    tally.linear(rng, (n, d, number), s["L"])
    tally.entries("exponential", n, chosen, times=s["L"])
    tally.entries("add", n, chosen - 1, times=s["L"])
    tally.entries("divide", n, chosen, times=s["L"])
    tally.entries("multiply", n, chosen, d, times=s["L"])
    tally.entries("add", n, chosen - 1, d, times=s["L"])
    tally.gradients_of(rng, [(1, d, f), (1, d, f), (1, f, d)], s["L"] * n * chosen)
    tally.gradients_of(rng, [(n, d, number)], s["L"])


def original(s: Sizes) -> Tally:
    n, m, d = s["n"], s["m"], s["d_model"]
    rng, tally = np.random.default_rng(1), Tally()
    _sublayers(tally, s, rng, [(m, m)], s["L_enc"])
    _sublayers(tally, s, rng, [(n, n), (n, m)], s["L_dec"])
    for rows in (n, m):  # the root of the width, and the sinusoids
        tally.entries("multiply", rows, d)
        tally.entries("add", rows, d)
    tally.linear(rng, (n, d, s["V"]))
    tally.gradients_of(rng, [(n, d, s["V"])])
    return tally


def _sublayers(
    tally: Tally, s: Sizes, rng: np.random.Generator, attend: list[tuple[int, int]], times: int
) -> None:
    """Attention of so many queries to so many keys, then a network, each with sum and norm."""
    from numeric import (
        FeedForwardWeights,
        MultiHeadWeights,
        count_attention,
        count_feed_forward,
        count_layer_norm,
    )

    d, h, width, f = s["d_model"], s["h"], s["d_k"], s["d_ff"]
    weights = MultiHeadWeights.init(rng, d, h, d_k=width, d_v=width)
    rows = attend[0][0]
    x = rng.standard_normal((rows, d))
    for n, m in attend:
        keys = rng.standard_normal((m, d))
        tally.stages(count_attention(x, keys, weights)[1], times)
        tally.gradients_of(rng, attention_products(n, m, d, h, h, width), times)
    tally.stages(count_feed_forward(x, FeedForwardWeights.init(rng, d, f))[1], times)
    tally.gradients_of(rng, [(rows, d, f), (rows, f, d)], times)
    norm = count_layer_norm(x, np.ones(d), np.ones(d), epsilon=0.1)[1]
    tally.counted(norm, times * (len(attend) + 1))
    tally.entries("add", len(attend) + 1, rows, d, times=times)
