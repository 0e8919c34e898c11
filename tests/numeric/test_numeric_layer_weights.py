from dataclasses import replace

import numpy as np
import pytest

from numeric import (
    DecoderLayerWeights,
    DecoderWeights,
    EncoderDecoderWeights,
    EncoderLayerWeights,
    EncoderWeights,
    FeedForwardWeights,
    LayerNormWeights,
    MultiHeadWeights,
    RMSNormWeights,
    leaves,
)


def attention_count(d, bias):
    return 4 * d * d + bias * 4 * d


def feed_forward_count(d, d_ff, bias):
    return 2 * d * d_ff + bias * (d_ff + d)


@pytest.mark.parametrize("bias", [True, False])
def test_parameter_counts(bias, rng):
    d, h, d_ff, layers = 12, 4, 7, 3
    norm = d + bias * d
    encoder_layer = attention_count(d, bias) + feed_forward_count(d, d_ff, bias) + 2 * norm
    decoder_layer = 2 * attention_count(d, bias) + feed_forward_count(d, d_ff, bias) + 3 * norm
    sizes = (rng, layers, d, h, d_ff, bias)
    counts = {
        EncoderLayerWeights.init(rng, d, h, d_ff, bias): encoder_layer,
        DecoderLayerWeights.init(rng, d, h, d_ff, bias): decoder_layer,
        EncoderWeights.init(*sizes): layers * encoder_layer + norm,
        DecoderWeights.init(*sizes, final_norm=False): layers * decoder_layer,
        EncoderDecoderWeights.init(*sizes): layers * (encoder_layer + decoder_layer) + 2 * norm,
        RMSNormWeights.init(d): d,
    }
    for weights, count in counts.items():
        assert weights.parameter_count() == count
        assert weights.d_model == d


def test_encoder_layer_of_the_base_model(rng):
    """12 d² + 13 d."""
    layer = EncoderLayerWeights.init(rng, 512, 8, 2048)
    assert layer.parameter_count() == 12 * 512**2 + 13 * 512


def test_norms_start_as_the_identity():
    norm = LayerNormWeights.init(5)
    np.testing.assert_array_equal(norm.gamma, np.ones(5))
    np.testing.assert_array_equal(norm.beta, np.zeros(5))
    assert LayerNormWeights.init(5, bias=False).beta is None
    np.testing.assert_array_equal(RMSNormWeights.init(5).gamma, np.ones(5))


def test_no_two_layers_start_alike(rng):
    first, second = EncoderWeights.init(rng, 2, 12, 4, 7).layers
    for one, other in zip(leaves(first.attention), leaves(second.attention), strict=True):
        assert np.abs(one - other).max() > 1e-3


@pytest.mark.parametrize("part", ["attention", "feed_forward", "attention_norm"])
def test_parts_of_an_encoder_layer_that_differ_in_width(part, rng):
    layer, wider = (EncoderLayerWeights.init(rng, d, 4, 7) for d in (12, 16))
    with pytest.raises(ValueError, match=rf"parts differ in d_model: .*{part} 16"):
        replace(layer, **{part: getattr(wider, part)})


@pytest.mark.parametrize(
    "part", ["self_attention", "cross_attention", "feed_forward", "cross_attention_norm"]
)
def test_parts_of_a_decoder_layer_that_differ_in_width(part, rng):
    layer, wider = (DecoderLayerWeights.init(rng, d, 4, 7) for d in (12, 16))
    with pytest.raises(ValueError, match=rf"parts differ in d_model: .*{part} 16"):
        replace(layer, **{part: getattr(wider, part)})


def test_layers_that_differ_in_width(rng):
    layers = tuple(EncoderLayerWeights.init(rng, d, 4, 7) for d in (12, 16))
    message = "parts differ in d_model: layer 0 12, layer 1 16"
    with pytest.raises(ValueError, match=message):
        EncoderWeights(layers)
    with pytest.raises(ValueError, match="parts differ in d_model: layer 0 12, norm 16"):
        EncoderWeights(layers[:1], LayerNormWeights.init(16))


def test_no_layers(rng):
    with pytest.raises(ValueError, match="layers is empty; expected at least one layer"):
        DecoderWeights(())
    with pytest.raises(ValueError, match="layers is 0; expected an integer of at least 1"):
        EncoderWeights.init(rng, 0, 12, 4, 7)


def test_a_list_of_layers_becomes_a_tuple(rng):
    encoder = EncoderWeights([EncoderLayerWeights.init(rng, 12, 4, 7)])
    assert isinstance(encoder.layers, tuple)
    assert len(leaves(encoder)) == 16


def test_self_attention_reads_what_it_writes(rng):
    layer, decoder_layer = (
        kind.init(rng, 12, 4, 7) for kind in (EncoderLayerWeights, DecoderLayerWeights)
    )
    with pytest.raises(ValueError, match=r"^attention has d_key=5; expected 12"):
        replace(layer, attention=MultiHeadWeights.init(rng, 12, 4, d_key=5))
    with pytest.raises(ValueError, match="self_attention has d_value=5; expected 12"):
        replace(decoder_layer, self_attention=MultiHeadWeights.init(rng, 12, 4, d_value=5))


def test_cross_attention_reads_a_memory_of_another_width(rng):
    layer = DecoderLayerWeights.init(rng, 12, 4, 7)
    other = MultiHeadWeights.init(rng, 12, 4, d_key=5, d_value=5)
    assert replace(layer, cross_attention=other).d_memory == 5
    with pytest.raises(ValueError, match="cross_attention has d_value=12; expected 5"):
        replace(layer, cross_attention=MultiHeadWeights.init(rng, 12, 4, d_key=5))


def test_decoder_that_reads_another_width_than_the_encoder_writes(rng):
    encoder = EncoderWeights.init(rng, 1, 16, 4, 7)
    decoder = DecoderWeights.init(rng, 2, 12, 4, 7)
    message = "decoder has d_memory=12; expected 16"
    with pytest.raises(ValueError, match=message):
        EncoderDecoderWeights(encoder, decoder)
    read = MultiHeadWeights.init(rng, 12, 4, d_key=16, d_value=16)
    fitting = DecoderWeights(
        tuple(replace(layer, cross_attention=read) for layer in decoder.layers)
    )
    assert EncoderDecoderWeights(encoder, fitting).d_model == 12


def test_an_array_of_another_shape(rng):
    with pytest.raises(ValueError, match=r"beta has shape \(4,\); expected \(d_model=5\)"):
        LayerNormWeights(np.ones(5), np.zeros(4))
    with pytest.raises(ValueError, match=r"gamma has shape \(5, 1\); expected \(d_model\)"):
        RMSNormWeights(np.ones((5, 1)))
    with pytest.raises(ValueError, match="d_model=12 is not divisible by h=5"):
        EncoderLayerWeights.init(rng, 12, 5, 7)


def test_cast_reaches_every_array(rng):
    weights = EncoderDecoderWeights.init(rng, 1, 12, 4, 7).astype(np.float32)
    assert {array.dtype for array in leaves(weights)} == {np.dtype(np.float32)}
    assert isinstance(weights.decoder.layers[0].feed_forward, FeedForwardWeights)
