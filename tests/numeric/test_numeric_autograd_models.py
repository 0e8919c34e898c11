"""Gradients of layers and whole models against HIPS autograd, over formulas written here."""

import math
from dataclasses import fields, is_dataclass
from functools import partial

import autograd.numpy as anp
import numpy as np
import pytest
from autograd import make_vjp
from layer_samples import shaken
from test_numeric_autograd import Bunch, feed_forward, multi_head

import numeric
from numeric import (
    DecoderLayerWeights,
    DecoderOnlyWeights,
    DecoderWeights,
    EncoderLayerWeights,
    EncoderWeights,
    LayerOptions,
    TransformerWeights,
    causal_mask,
    leaves,
)

RNG = np.random.default_rng(37)
EPSILON = 0.1
N, M, D, H, D_FF, V = 3, 4, 6, 3, 5, 7
SOURCE, TARGET = np.array([[1, 4, 1, 2], [3, 3, 0, 2]]), np.array([[0, 4, 4], [0, 1, 6]])
CAUSAL = causal_mask(N)


def layer_norm(x, w):
    mean = anp.mean(x, axis=-1, keepdims=True)
    variance = anp.mean((x - mean) ** 2, axis=-1, keepdims=True)
    return (x - mean) / anp.sqrt(variance + EPSILON) * w.gamma + w.beta


def block(norm_first, x, sublayer, norm):
    if norm_first:
        return x + sublayer(layer_norm(x, norm))
    return layer_norm(x + sublayer(x), norm)


def network(w, x):
    return feed_forward(lambda z: anp.maximum(z, 0), x, w)


def encoder_layer(norm_first, mask, x, w):
    x = block(norm_first, x, lambda y: multi_head(y, y, y, w.attention, mask), w.attention_norm)
    return block(norm_first, x, partial(network, w.feed_forward), w.feed_forward_norm)


def decoder_layer(norm_first, x, memory, w):
    def causal(y):
        return multi_head(y, y, y, w.self_attention, CAUSAL)

    def across(y):
        return multi_head(y, memory, memory, w.cross_attention)

    x = block(norm_first, x, causal, w.self_attention_norm)
    x = block(norm_first, x, across, w.cross_attention_norm)
    return block(norm_first, x, partial(network, w.feed_forward), w.feed_forward_norm)


def encoder(norm_first, mask, x, w):
    for layer in w.layers:
        x = encoder_layer(norm_first, mask, x, layer)
    return layer_norm(x, w.norm)


def decoder(norm_first, x, memory, w):
    for layer in w.layers:
        x = decoder_layer(norm_first, x, memory, layer)
    return layer_norm(x, w.norm)


def entered(ids, table):
    angles = np.arange(ids.shape[-1])[:, None] / 10_000 ** (np.arange(0, D, 2) / D)
    waves = np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(-1, D)
    return math.sqrt(D) * table[ids] + waves


def transformer(norm_first, w):
    memory = encoder(norm_first, None, entered(SOURCE, w.embedding), w.encoder)
    states = decoder(norm_first, entered(TARGET, w.embedding), memory, w.decoder)
    return anp.dot(states, w.embedding.T)


def decoder_only(norm_first, w):
    states = encoder(norm_first, CAUSAL, entered(TARGET, w.embedding), w.stack)
    return anp.dot(states, w.output.T)


def normal(*shape):
    return RNG.standard_normal(shape)


def bunch(tree, following):
    """The tree again, with the arrays of `following` in the order of its leaves."""
    if tree is None:
        return None
    if isinstance(tree, tuple):
        return [bunch(branch, following) for branch in tree]
    if is_dataclass(tree):
        return Bunch({f.name: bunch(getattr(tree, f.name), following) for f in fields(tree)})
    return next(following)


SIZES = (2, D, H, D_FF)
TIED = TransformerWeights.init(RNG, V, *SIZES, final_norm=True)
UNTIED = DecoderOnlyWeights.init(RNG, V, *SIZES, tied=False)
#: name -> formula, vjp, arguments
CASES = {
    "encoder layer": (
        lambda norm_first, *arguments: encoder_layer(norm_first, None, *arguments),
        numeric.encoder_layer_vjp,
        (normal(2, N, D), EncoderLayerWeights.init(RNG, D, H, D_FF)),
    ),
    "decoder layer": (
        decoder_layer,
        partial(numeric.decoder_layer_vjp, mask=CAUSAL),
        (normal(2, N, D), normal(2, M, D), DecoderLayerWeights.init(RNG, D, H, D_FF)),
    ),
    "encoder": (
        lambda norm_first, *arguments: encoder(norm_first, CAUSAL, *arguments),
        partial(numeric.encoder_vjp, mask=CAUSAL),
        (normal(2, N, D), EncoderWeights.init(RNG, *SIZES)),
    ),
    "decoder": (
        decoder,
        partial(numeric.decoder_vjp, mask=CAUSAL),
        (normal(2, N, D), normal(2, M, D), DecoderWeights.init(RNG, *SIZES)),
    ),
    "transformer": (transformer, partial(numeric.transformer_vjp, SOURCE, TARGET), (TIED,)),
    "decoder only": (decoder_only, partial(numeric.decoder_only_vjp, TARGET), (UNTIED,)),
}


@pytest.mark.parametrize("norm_first", [False, True], ids=["post", "pre"])
@pytest.mark.parametrize("name", list(CASES))
def test_gradients_agree(name, norm_first):
    formula, vjp, arguments = CASES[name]
    arguments = shaken(RNG, arguments)

    def of_leaves(flat):
        return formula(norm_first, *bunch(arguments, iter(flat)))

    pull_back, value = make_vjp(of_leaves)(tuple(leaves(arguments)))
    cotangent = RNG.standard_normal(np.shape(value))
    expected = pull_back(cotangent)
    options = LayerOptions(norm_first=norm_first, epsilon=EPSILON)
    gradients = leaves(vjp(*arguments, cotangent, options=options))
    largest = max(np.abs(gradient).max() for gradient in expected)
    assert largest > 1e-2
    for gradient, other in zip(gradients, expected, strict=True):
        np.testing.assert_allclose(gradient, other, rtol=0, atol=1e-14 * largest)
