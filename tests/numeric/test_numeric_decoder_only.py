from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from layer_samples import shaken

from numeric import (
    DecoderOnlyWeights,
    EncoderWeights,
    GatedFeedForwardWeights,
    LayerOptions,
    RMSNormWeights,
    Rotary,
    causal_mask,
    complex_step_error,
    decoder_only,
    decoder_only_vjp,
    directional_error,
    embedding,
    encoder,
    leaves,
    positioned_embedding,
)

CLASSIC = LayerOptions(norm_first=True, epsilon=0.1)
POST = LayerOptions(epsilon=0.1)
TODAY = LayerOptions(norm_first=True, rotary=Rotary(layout="halves"), epsilon=0.1)
#: what the weights are drawn with, and the options of the layers
FORMS = {
    "classic": ({}, CLASSIC),
    "post": ({"bias": False}, POST),
    "untied": ({"tied": False}, CLASSIC),
    "of today": ({"bias": False, "g": 1, "gated": True, "rms": True, "tied": False}, TODAY),
    "rotary and tied": ({"g": 1, "rms": True}, replace(TODAY, rotary=Rotary())),
}
ALL = pytest.mark.parametrize(("settings", "options"), list(FORMS.values()), ids=list(FORMS))
TOKENS = np.array([[1, 4, 1, 2], [3, 3, 0, 2]])


def draw(rng, v=5, layers=2, d=4, h=2, d_ff=3, **settings):
    return shaken(rng, DecoderOnlyWeights.init(rng, v, layers, d, h, d_ff, **settings))


def of_weights(options, tokens=TOKENS):
    return (
        lambda weights: decoder_only(tokens, weights, options=options),
        lambda weights, cotangent: decoder_only_vjp(tokens, weights, cotangent, options=options),
    )


@ALL
def test_vjp(settings, options, rng):
    weights = draw(rng, **settings)
    assert complex_step_error(*of_weights(options), (weights,), rng) < 1e-12
    assert directional_error(*of_weights(options), (weights,), rng) < 1e-7


@ALL
def test_is_an_encoder_under_a_causal_mask(settings, options, rng):
    weights = draw(rng, **settings)
    enter = positioned_embedding if options.rotary is None else embedding
    x = enter(TOKENS, weights.embedding)
    states = encoder(x, weights.stack, mask=causal_mask(4), options=options)
    table = weights.output if "tied" in settings else weights.embedding
    logits = decoder_only(TOKENS, weights, options=options)
    assert logits.shape == (2, 4, 5)
    np.testing.assert_allclose(logits, states @ table.T, rtol=0, atol=1e-13)


@ALL
def test_no_token_sees_a_later_one(settings, options, rng):
    weights, later = draw(rng, **settings), TOKENS.copy()
    later[:, 3] = 1
    before, after = (decoder_only(tokens, weights, options=options) for tokens in (TOKENS, later))
    np.testing.assert_allclose(after[:, :3], before[:, :3], rtol=0, atol=1e-13)
    assert np.abs(after[:, 3] - before[:, 3]).min() > 1e-6


@ALL
def test_order_of_the_tokens_matters(settings, options, rng):
    weights = draw(rng, **settings)
    swapped = decoder_only(TOKENS[:, [1, 0, 2, 3]], weights, options=options)
    plain = decoder_only(TOKENS, weights, options=options)
    assert np.abs(swapped - plain)[0, 3].max() > 1e-4


@ALL
def test_float32_stays_float32(settings, options, rng):
    weights = draw(rng, **settings)
    cotangent, single = rng.standard_normal((2, 4, 5)), weights.astype(np.float32)
    assert decoder_only(TOKENS, single, options=options).dtype == np.float32
    found = leaves(decoder_only_vjp(TOKENS, single, cotangent.astype("f4"), options=options))
    expected = leaves(decoder_only_vjp(TOKENS, weights, cotangent, options=options))
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == np.float32
        np.testing.assert_allclose(one, other, rtol=0, atol=2e-3)


def test_form_of_the_weights(rng):
    weights = draw(rng, **FORMS["of today"][0])
    layer = weights.stack.layers[0]
    assert (layer.attention.h, layer.attention.g) == (2, 1)
    assert isinstance(layer.feed_forward, GatedFeedForwardWeights)
    norms = (layer.attention_norm, layer.feed_forward_norm, weights.stack.norm)
    assert all(isinstance(norm, RMSNormWeights) for norm in norms)
    attention, network = 2 * (4 * 4) + 2 * (4 * 2), 3 * (4 * 3)
    tables, norms = 2 * (5 * 4), 5 * 4
    assert weights.parameter_count() == 2 * (attention + network) + tables + norms


def test_parts_that_do_not_fit(rng):
    weights = draw(rng)
    with pytest.raises(ValueError, match="stack has width 8; expected d_model=4"):
        replace(weights, stack=EncoderWeights.init(rng, 1, 8, 2, 3))
    with pytest.raises(ValueError, match=r"output has shape \(4, 5\); expected \(v=5, d_model=4\)"):
        replace(weights, output=np.zeros((4, 5)))
    with pytest.raises(ValueError, match="v is 0; expected an integer of at least 1"):
        draw(rng, v=0)


@ALL
def test_tokens_that_do_not_fit(settings, options, rng):
    function = partial(decoder_only, weights=draw(rng, **settings), options=options)
    with pytest.raises(ValueError, match="ids holds -1; expected 0 to 4"):
        function(TOKENS - 1)
    with pytest.raises(ValueError, match=r"tokens has shape \(\); expected"):
        function(1)
