import math
from dataclasses import replace
from functools import partial

import numeric_loops
import numpy as np
import pytest
from layer_samples import shaken

from numeric import (
    DecoderWeights,
    EncoderDecoderWeights,
    EncoderWeights,
    LayerOptions,
    TransformerWeights,
    causal_mask,
    central_difference_error,
    complex_step_error,
    decoder,
    directional_error,
    encoder,
    encoder_decoder,
    encoder_decoder_vjp,
    leaves,
    map_leaves,
    next_token_loss,
    padding_mask,
    positioned_embedding,
    positioned_embedding_vjp,
    transformer,
    transformer_pullback,
    transformer_vjp,
)

POST, PRE = LayerOptions(epsilon=0.1), LayerOptions(norm_first=True, epsilon=0.1)
BOTH = pytest.mark.parametrize("options", [POST, PRE], ids=["post", "pre"])
SOURCE = np.array([[1, 4, 1, 2], [3, 3, 0, 2]])
TARGET = np.array([[0, 4, 4], [0, 1, 2]])
KEEP = np.array([[True, True, True, True], [True, True, False, True]])


def draw(rng, v=5, layers=1, d=4, h=2, d_ff=3, **settings):
    return shaken(rng, TransformerWeights.init(rng, v, layers, d, h, d_ff, **settings))


def of_weights(options, source=SOURCE, target=TARGET, keep=None):
    named = {"keep": keep, "options": options}
    return (
        lambda weights: transformer(source, target, weights, **named),
        lambda weights, cotangent: transformer_vjp(source, target, weights, cotangent, **named),
    )


@BOTH
@pytest.mark.parametrize("final_norm", [True, False])
def test_vjp(final_norm, options, rng):
    weights = draw(rng, final_norm=final_norm)
    assert complex_step_error(*of_weights(options, keep=KEEP), (weights,), rng) < 1e-12


@BOTH
def test_vjp_with_padding_and_two_layers(options, rng):
    weights = draw(rng, layers=2, d=6, h=3, bias=False, final_norm=True)
    functions = of_weights(options, keep=KEEP)
    assert directional_error(*functions, (weights,), rng) < 1e-7


def test_vjp_by_differences(rng):
    functions = of_weights(POST, SOURCE[0], TARGET[0])
    assert central_difference_error(*functions, (draw(rng),), rng) < 1e-7


def test_vjp_of_the_input(rng):
    """The source tokens occur twice, and some of the table not at all."""
    functions = partial(positioned_embedding, SOURCE), partial(positioned_embedding_vjp, SOURCE)
    assert complex_step_error(*functions, (rng.standard_normal((7, 6)),), rng) < 1e-14


def test_input_is_sqrt_d_times_the_vector_plus_the_position(rng):
    table = rng.standard_normal((5, 6))
    x = positioned_embedding(SOURCE, table)
    for b, t in np.ndindex(SOURCE.shape):
        expected = math.sqrt(6) * table[SOURCE[b, t]] + numeric_loops.position_encoding(t, 6)
        np.testing.assert_allclose(x[b, t], expected, rtol=0, atol=1e-14)


@BOTH
def test_is_encoder_and_decoder_between_the_table(options, rng):
    weights = draw(rng, layers=2, final_norm=True)
    table, mask = weights.embedding, padding_mask(KEEP)
    memory = encoder(
        positioned_embedding(SOURCE, table), weights.encoder, mask=mask, options=options
    )
    states = decoder(
        positioned_embedding(TARGET, table),
        memory,
        weights.decoder,
        mask=causal_mask(3),
        memory_mask=mask,
        options=options,
    )
    logits = transformer(SOURCE, TARGET, weights, keep=KEEP, options=options)
    assert logits.shape == (2, 3, 5)
    np.testing.assert_allclose(logits, states @ table.T, rtol=0, atol=1e-13)


@BOTH
def test_no_token_sees_a_later_one(options, rng):
    weights, later = draw(rng, layers=2), TARGET.copy()
    later[:, 2] = 3
    before = transformer(SOURCE, TARGET, weights, options=options)
    after = transformer(SOURCE, later, weights, options=options)
    np.testing.assert_allclose(after[:, :2], before[:, :2], rtol=0, atol=1e-13)
    assert np.abs(after[:, 2] - before[:, 2]).min() > 1e-6


@BOTH
def test_padding_of_the_source_is_as_if_it_were_not_there(options, rng):
    weights, keep = draw(rng, layers=2), np.array([True, True, True, False])
    padded = transformer(SOURCE[0], TARGET[0], weights, keep=keep, options=options)
    short = transformer(SOURCE[0, :3], TARGET[0], weights, options=options)
    np.testing.assert_allclose(padded, short, rtol=0, atol=1e-13)
    whole = transformer(SOURCE[0], TARGET[0], weights, options=options)
    assert np.abs(padded - whole).max() > 1e-3


@BOTH
def test_order_of_the_source_matters(options, rng):
    weights = draw(rng)
    moved = transformer(SOURCE[:, ::-1], TARGET, weights, options=options)
    assert np.abs(moved - transformer(SOURCE, TARGET, weights, options=options)).max() > 1e-3


@BOTH
def test_vjp_of_encoder_and_decoder(options, rng):
    weights = shaken(rng, EncoderDecoderWeights.init(rng, 1, 4, 2, 3))
    arguments = (rng.standard_normal((2, 4, 4)), rng.standard_normal((2, 3, 4)), weights)
    masks = {"source_mask": padding_mask(KEEP), "memory_mask": padding_mask(KEEP)}
    named = masks | {"mask": causal_mask(3), "options": options}
    functions = partial(encoder_decoder, **named), partial(encoder_decoder_vjp, **named)
    assert complex_step_error(*functions, arguments, rng) < 1e-12


@BOTH
def test_float32_stays_float32(options, rng):
    weights, cotangent = draw(rng, final_norm=True), rng.standard_normal((2, 3, 5))
    single = weights.astype(np.float32)
    assert transformer(SOURCE, TARGET, single, options=options).dtype == np.float32
    found = leaves(transformer_vjp(SOURCE, TARGET, single, cotangent.astype("f4"), options=options))
    expected = leaves(transformer_vjp(SOURCE, TARGET, weights, cotangent, options=options))
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == np.float32
        np.testing.assert_allclose(one, other, rtol=0, atol=2e-3)


def test_loss_of_the_next_tokens(rng):
    weights, tokens = draw(rng), np.array([[0, 4, 4, 1], [0, 1, 2, 3]])
    loss, gradient = next_token_loss(
        lambda given: transformer_pullback(SOURCE, given, weights), tokens, ignore_index=3
    )
    logits = transformer(SOURCE, tokens[:, :-1], weights)
    total, counted = 0.0, 0
    for b, t in np.ndindex(2, 3):
        if tokens[b, t + 1] != 3:
            exponentials = [math.exp(value) for value in logits[b, t]]
            total -= math.log(exponentials[tokens[b, t + 1]] / sum(exponentials))
            counted += 1
    assert counted == 5
    assert loss == pytest.approx(total / counted, rel=1e-12)

    def loss_of(weights):
        model = partial(transformer_pullback, SOURCE, weights=weights)
        return np.array(next_token_loss(model, tokens, ignore_index=3)[0])

    def vjp(weights, cotangent):
        model = partial(transformer_pullback, SOURCE, weights=weights)
        gradient = next_token_loss(model, tokens, ignore_index=3)[1]
        return map_leaves(lambda array: cotangent * array, gradient)

    assert directional_error(loss_of, vjp, (weights,), rng) < 1e-7
    assert isinstance(gradient, TransformerWeights)


def test_parts_that_do_not_fit(rng):
    weights = draw(rng)
    with pytest.raises(ValueError, match="encoder has width 8; expected d_model=4"):
        replace(weights, encoder=EncoderWeights.init(rng, 1, 8, 2, 3))
    with pytest.raises(ValueError, match="decoder has width 8; expected d_model=4"):
        replace(weights, decoder=DecoderWeights.init(rng, 1, 8, 2, 3))
    with pytest.raises(ValueError, match="v is 0; expected an integer of at least 1"):
        draw(rng, v=0)


def test_tokens_that_do_not_fit(rng):
    weights = draw(rng)
    with pytest.raises(ValueError, match="ids holds 5; expected 0 to 4"):
        transformer(SOURCE + 1, TARGET, weights)
    with pytest.raises(ValueError, match="ids has dtype float64; expected integers"):
        transformer(SOURCE / 1, TARGET, weights)
    with pytest.raises(ValueError, match=r"ids has shape \(\); expected \(\.\.\., n\)"):
        transformer(1, 2, weights)
    with pytest.raises(ValueError, match=r"memory has shape \(2, 4, 4\); expected \(m"):
        transformer(SOURCE, TARGET[0], weights)
    with pytest.raises(ValueError, match=r"keep has shape \(4,\); expected \(2, 4\)"):
        transformer(SOURCE, TARGET, weights, keep=KEEP[0])
    with pytest.raises(ValueError, match=r"tokens has shape \(2, 1\); expected"):
        next_token_loss(partial(transformer_pullback, SOURCE, weights=weights), TARGET[:, :1])
