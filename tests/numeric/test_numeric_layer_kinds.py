"""Layers over random shapes and kinds of arrays: batches, empty ones, strides, precisions."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layer_samples import shaken

from numeric import (
    GELU_TANH,
    DecoderLayerWeights,
    EncoderLayerWeights,
    LayerOptions,
    Rotary,
    causal_mask,
    decoder_layer,
    decoder_layer_vjp,
    directional_error,
    encoder_layer,
    encoder_layer_vjp,
    leaves,
    map_leaves,
    padding_mask,
)

SOME = settings(derandomize=True, deadline=None, max_examples=20)
SIZE = st.integers(1, 4)
OPTIONS = st.builds(
    LayerOptions,
    norm_first=st.booleans(),
    activation=st.sampled_from([None, GELU_TANH]),
    rotary=st.sampled_from([None, Rotary(), Rotary(base=3.0, layout="halves")]),
    epsilon=st.just(0.1),
)
BATCH = st.sampled_from([(), (1,), (2,), (2, 3)])


def draw(seed, decoding, batch, n, m, h, half, d_ff, options, **forms):
    """A layer with heads of even width, and its inputs; some queries are left without any key."""
    rng = np.random.default_rng(seed)
    d = 2 * half * h
    x = rng.standard_normal((*batch, n, d))
    if not decoding:
        layer = EncoderLayerWeights.init(rng, d, h, d_ff, **forms)
        functions = (partial(f, options=options) for f in (encoder_layer, encoder_layer_vjp))
        return rng, *functions, (x, shaken(rng, layer))
    memory = rng.standard_normal((*batch, m, d))
    memory_mask = np.where(rng.random((n, m)) < 0.7, rng.standard_normal((n, m)), -np.inf)
    masks = {"mask": causal_mask(n, offset=-(seed % 2)), "memory_mask": memory_mask}
    layer = DecoderLayerWeights.init(rng, d, h, d_ff, bias=forms.get("bias", True))
    named = masks | {"options": options}
    functions = (partial(f, **named) for f in (decoder_layer, decoder_layer_vjp))
    return rng, *functions, (x, memory, shaken(rng, layer))


FORMS = st.fixed_dictionaries(
    {"bias": st.booleans(), "gated": st.booleans(), "rms": st.booleans(), "g": st.just(1)}
)
DRAWN = (st.integers(0, 999), st.booleans(), BATCH, SIZE, SIZE, SIZE, st.integers(1, 2), SIZE)


@SOME
@given(*DRAWN, OPTIONS, FORMS)
def test_vjp(seed, decoding, batch, n, m, h, half, d_ff, options, forms):
    sizes = (batch, n, m, h, half, d_ff)
    rng, *functions, arguments = draw(seed, decoding, *sizes, options, **forms)
    assert directional_error(*functions, arguments, rng, directions=2) < 1e-6


@SOME
@given(*DRAWN, OPTIONS)
def test_strides_mean_nothing(seed, decoding, batch, n, m, h, half, d_ff, options):
    sizes = (batch, n, m, h, half, d_ff)
    rng, forward, vjp, arguments = draw(seed, decoding, *sizes, options)
    cotangent = rng.standard_normal(arguments[0].shape)

    def scattered(array):
        wide = np.zeros((2 * array.shape[0], *array.shape[1:]))[::2] if array.ndim else array
        wide[...] = array
        return np.asfortranarray(wide) if array.ndim % 2 else wide[::-1][::-1]

    other = map_leaves(scattered, (*arguments, cotangent))
    np.testing.assert_allclose(forward(*other[:-1]), forward(*arguments), rtol=0, atol=1e-12)
    found, expected = leaves(vjp(*other)), leaves(vjp(*arguments, cotangent))
    for one, same in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, same, rtol=0, atol=1e-11)


@pytest.mark.parametrize("decoding", [False, True])
@pytest.mark.parametrize("norm_first", [False, True])
def test_an_empty_batch_has_gradients_of_zero(norm_first, decoding):
    options = LayerOptions(norm_first=norm_first)
    _, forward, vjp, arguments = draw(0, decoding, (0,), 3, 4, 2, 1, 5, options)
    assert forward(*arguments).shape == (0, 3, 4)
    gradients = vjp(*arguments, np.zeros((0, 3, 4)))
    for gradient, argument in zip(leaves(gradients), leaves(arguments), strict=True):
        np.testing.assert_array_equal(gradient, np.zeros(argument.shape))


@pytest.mark.parametrize("decoding", [False, True])
def test_half_precision_is_computed_in_single(decoding):
    rng, forward, vjp, arguments = draw(0, decoding, (2,), 3, 4, 2, 1, 5, LayerOptions())
    cotangent = rng.standard_normal((2, 3, 4))
    half = map_leaves(lambda array: array.astype(np.float16), (*arguments, cotangent))
    assert forward(*half[:-1]).dtype == np.float32
    expected = leaves(vjp(*arguments, cotangent))
    for gradient, other in zip(leaves(vjp(*half)), expected, strict=True):
        assert gradient.dtype == np.float32
        np.testing.assert_allclose(gradient, other, rtol=0, atol=0.1)


@pytest.mark.parametrize("norm_first", [False, True])
def test_a_sequence_of_nothing_but_padding(norm_first):
    """Its attention gives 0 and passes no gradient on; the other sequence does not notice."""
    options = LayerOptions(norm_first=norm_first, epsilon=0.1)
    rng, _, _, (x, layer) = draw(0, False, (2,), 3, 4, 2, 1, 5, options)
    keep = np.array([[True, True, True], [False, False, False]])
    named = {"mask": padding_mask(keep), "options": options}
    output = encoder_layer(x, layer, **named)
    gradients = encoder_layer_vjp(x, layer, rng.standard_normal(x.shape), **named)
    assert all(np.isfinite(array).all() for array in (output, *leaves(gradients)))
    np.testing.assert_allclose(output[0], encoder_layer(x[0], layer, options=options), atol=1e-13)
    silent = map_leaves(np.zeros_like, layer.attention)
    silent = replace(layer, attention=replace(silent, b_o=layer.attention.b_o))
    np.testing.assert_allclose(output[1], encoder_layer(x[1], silent, options=options), atol=1e-13)
