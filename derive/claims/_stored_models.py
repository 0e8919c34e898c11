"""Models as arrays, laid out as libraries store them: fused projections, kernels of convolutions.

Each function takes whole numbers and returns the arrays of every component.  Nothing here knows the
lists of `derive.count`; what the two agree on is how many numbers there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

Shapes = Sequence[tuple[int, ...]]
Stored = dict[str, int]
#: Sizes by the names of their symbols.
Sizes = Mapping[str, int]


def _sizes(components: Mapping[str, Shapes]) -> Stored:
    """How many numbers the arrays hold; components without arrays are left out."""
    return {
        name: sum(np.empty(shape).size for shape in shapes)
        for name, shapes in components.items()
        if shapes
    }


def _norm(d: int) -> list[tuple[int]]:
    """Gain and bias."""
    return [(d,), (d,)]


def gpt(s: Sizes) -> Stored:
    """One map to queries, keys and values; LayerNorm before both parts and at the end."""
    d, f = s["d_model"], s["d_ff"]
    return _sizes({
        "token embedding": [(s["V"], d)], "positions": [(s["n_ctx"], d)],
        "attention": s["L"] * [(d, 3 * d), (3 * d,), (d, d), (d,)],
        "feed-forward": s["L"] * [(d, f), (f,), (f, d), (d,)],
        "normalisation": (2 * s["L"] + 1) * _norm(d),
    })  # fmt: skip


def opt(s: Sizes) -> Stored:
    """A narrow embedding with a map in and out, and norms after the sums."""
    d, f, narrow = s["d_model"], s["d_ff"], s["d_emb"]
    return _sizes({
        "token embedding": [(s["V"], narrow)], "positions": [(s["n_ctx"] + 2, d)],
        "embedding projections": [(d, narrow), (narrow, d)],
        "attention": s["L"] * 4 * [(d, d), (d,)],
        "feed-forward": s["L"] * [(f, d), (f,), (d, f), (d,)],
        "normalisation": 2 * s["L"] * _norm(d),
    })  # fmt: skip


def bert(s: Sizes) -> Stored:
    d, f = s["d_model"], s["d_ff"]
    return _sizes({
        "token embedding": [(s["V"], d)], "positions": [(s["n_ctx"], d)],
        "segments": [(s["n_seg"], d)], "pooler": [(d, d), (d,)],
        "attention": s["L"] * 4 * [(d, d), (d,)],
        "feed-forward": s["L"] * [(f, d), (f,), (d, f), (d,)],
        "normalisation": (2 * s["L"] + 1) * _norm(d),
    })  # fmt: skip


def llama(s: Sizes) -> Stored:
    d, f, width = s["d_model"], s["d_ff"], (s["h"] + 2 * s["h_kv"]) * s["d_k"]
    return _sizes({
        "token embedding": [(s["V"], d)], "output head": [(s["V"], d)],
        "attention": s["L"] * [(width, d), (d, s["h"] * s["d_k"])],
        "feed-forward": s["L"] * [(2 * f, d), (d, f)],
        "normalisation": (2 * s["L"] + 1) * [(d,)],
    })  # fmt: skip


def mixture(s: Sizes) -> Stored:
    """The experts of a layer in two arrays."""
    d, f, number = s["d_model"], s["d_ff"], s["E"]
    return llama(s) | _sizes({
        "router": s["L"] * [(number, d)],
        "feed-forward": s["L"] * [(number, 2 * f, d), (number, d, f)],
    })  # fmt: skip


def palm(s: Sizes) -> Stored:
    d, f, width = s["d_model"], s["d_ff"], s["d_k"]
    return _sizes({
        "token embedding": [(s["V"], d)],
        "attention": s["L"] * [(d, s["h"] * width + 2 * width), (s["h"] * width, d)],
        "feed-forward": s["L"] * [(d, 2 * f), (f, d)],
    })  # fmt: skip


def gopher(s: Sizes) -> Stored:
    d, f, width = s["d_model"], s["d_ff"], s["h"] * s["d_k"]
    return _sizes({
        "token embedding": [(s["V"], d)],
        "attention": s["L"] * [(d, 3, width), (width, d), (d, width)],
        "feed-forward": s["L"] * [(d, f), (f, d)],
    })  # fmt: skip


def t5(s: Sizes) -> Stored:
    return _t5(s, matrices=2)


def t5_gated(s: Sizes) -> Stored:
    return _t5(s, matrices=3)


def _t5(s: Sizes, matrices: int) -> Stored:
    d, f, width = s["d_model"], s["d_ff"], s["h"] * s["d_k"]
    encoder, decoder = s["L_enc"], s["L_dec"]
    attention = [(d, 3, width), (width, d)]
    return _sizes({
        "token embedding": [(s["V"], d)], "positions": 2 * [(s["b"], s["h"])],
        "attention": (encoder + decoder) * attention, "cross-attention": decoder * attention,
        "feed-forward": (encoder + decoder) * [(d, matrices - 1, f), (f, d)],
        "normalisation": (2 * encoder + 3 * decoder + 2) * [(d,)],
    })  # fmt: skip


def original(s: Sizes) -> Stored:
    """Attention and networks as the numeric layers store them."""
    from numeric import FeedForwardWeights, MultiHeadWeights

    rng = np.random.default_rng(0)
    encoder, decoder = s["L_enc"], s["L_dec"]
    widths = (s["d_model"], s["h"], s["d_k"], s["d_v"])
    attention = MultiHeadWeights.init(rng, *widths).parameter_count()
    network = FeedForwardWeights.init(rng, s["d_model"], s["d_ff"]).parameter_count()
    norms = (2 * encoder + 3 * decoder) * _norm(s["d_model"])
    return {
        **_sizes({"token embedding": [(s["V"], s["d_model"])], "normalisation": norms}),
        "attention": (encoder + decoder) * attention, "cross-attention": decoder * attention,
        "feed-forward": (encoder + decoder) * network,
    }  # fmt: skip


def vit(s: Sizes) -> Stored:
    d, f = s["d_model"], s["d_ff"]
    return _sizes({
        "patch embedding": [(d, s["c"], s["p"], s["p"]), (d,)], "class token": [(1, 1, d)],
        "positions": [(1, s["N_p"] + 1, d)], "output head": [(s["C"], d), (s["C"],)],
        "attention": s["L"] * [(3 * d, d), (3 * d,), (d, d), (d,)],
        "feed-forward": s["L"] * [(f, d), (f,), (d, f), (d,)],
        "normalisation": (2 * s["L"] + 1) * _norm(d),
    })  # fmt: skip
