from dataclasses import replace
from functools import partial

import numeric_loops
import numpy as np
import pytest
from layer_samples import shaken

from numeric import (
    GELU,
    GELU_TANH,
    RELU,
    SILU,
    EncoderLayerWeights,
    EncoderWeights,
    FeedForwardWeights,
    GatedFeedForwardWeights,
    LayerNormWeights,
    LayerOptions,
    MultiHeadWeights,
    RMSNormWeights,
    Rotary,
    Sublayer,
    causal_mask,
    central_difference_error,
    complex_step_error,
    directional_error,
    encoder,
    encoder_layer,
    encoder_layer_vjp,
    encoder_vjp,
    feed_forward,
    feed_forward_vjp,
    gelu_tanh,
    layer_norm,
    layer_norm_vjp,
    leaves,
    map_leaves,
    padding_mask,
    post_norm,
    post_norm_vjp,
    pre_norm,
    pre_norm_vjp,
    self_attention,
    self_attention_vjp,
    silu,
)

POST, PRE = LayerOptions(epsilon=0.1), LayerOptions(norm_first=True, epsilon=0.1)
BOTH = pytest.mark.parametrize("options", [POST, PRE], ids=["post", "pre"])


def draw_layer(rng, d=12, h=4, d_ff=7, bias=True):
    return shaken(rng, EncoderLayerWeights.init(rng, d, h, d_ff, bias))


def draw_encoder(rng, layers=2, d=6, h=3, d_ff=5, bias=True, final_norm=True):
    return shaken(rng, EncoderWeights.init(rng, layers, d, h, d_ff, bias, final_norm))


def with_rms_norms(rng, layer):
    norms = {
        f"{part}_norm": shaken(rng, RMSNormWeights.init(layer.d_model))
        for part in ("attention", "feed_forward")
    }
    return replace(layer, **norms)


def pair(function, vjp, options, mask=None):
    return (
        partial(function, options=options, mask=mask),
        partial(vjp, options=options, mask=mask),
    )


LAYER = partial(pair, encoder_layer, encoder_layer_vjp)
STACK = partial(pair, encoder, encoder_vjp)


@BOTH
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("sizes", [(3, 12, 4, 7), (1, 2, 1, 1), (2, 2, 2, 3)])
def test_vjp_of_a_layer(sizes, bias, options, rng):
    n, d, h, d_ff = sizes
    arguments = (rng.standard_normal((n, d)), draw_layer(rng, d, h, d_ff, bias))
    assert complex_step_error(*LAYER(options), arguments, rng) < 1e-12


@BOTH
def test_vjp_of_a_layer_by_differences(options, rng):
    arguments = (rng.standard_normal((3, 6)), draw_layer(rng, 6, 3, 5))
    assert central_difference_error(*LAYER(options), arguments, rng) < 1e-7
    assert directional_error(*LAYER(options), arguments, rng) < 1e-7


@BOTH
def test_vjp_of_a_batch_with_padding(options, rng):
    keep = np.array([[True, True, True], [True, True, False]])
    arguments = (rng.standard_normal((2, 3, 6)), draw_layer(rng, 6, 3, 5))
    assert complex_step_error(*LAYER(options, padding_mask(keep)), arguments, rng) < 1e-12


@BOTH
def test_vjp_of_a_layer_with_rms_norm(options, rng):
    arguments = (rng.standard_normal((3, 6)), with_rms_norms(rng, draw_layer(rng, 6, 3, 5)))
    assert complex_step_error(*LAYER(options), arguments, rng) < 1e-12


def test_vjp_of_a_layer_of_today(rng):
    """RMS norm in front, turned queries, heads that share keys and values, SwiGLU."""
    layer = with_rms_norms(rng, draw_layer(rng))
    layer = replace(
        layer,
        attention=MultiHeadWeights.init(rng, 12, 3, g=1),
        feed_forward=GatedFeedForwardWeights.init(rng, 12, 7),
    )
    arguments = (rng.standard_normal((4, 12)), layer)
    for layout in ("interleaved", "halves"):
        options = replace(PRE, rotary=Rotary(base=7.0, layout=layout))
        functions = LAYER(options, causal_mask(4))
        assert complex_step_error(*functions, arguments, rng) < 1e-12


@pytest.mark.parametrize(
    ("activation", "function"),
    [(GELU_TANH, gelu_tanh), (SILU, silu)],
)
@pytest.mark.parametrize("network", [FeedForwardWeights, GatedFeedForwardWeights])
def test_other_activations(network, activation, function, rng):
    weights = network.init(rng, 6, 5, bias=True)
    layer = replace(draw_layer(rng, 6, 3, 5), feed_forward=weights)
    x, options = rng.standard_normal((3, 6)), replace(PRE, activation=activation)
    assert complex_step_error(*LAYER(options), (x, layer), rng) < 1e-12
    quiet = replace(layer, attention=map_leaves(np.zeros_like, layer.attention))
    norm = layer.feed_forward_norm
    y = layer_norm(x, norm.gamma, norm.beta, epsilon=0.1)
    if network is FeedForwardWeights:
        expected = x + function(y @ weights.w_1 + weights.b_1) @ weights.w_2 + weights.b_2
    else:
        hidden = function(y @ weights.w_gate + weights.b_gate) * (y @ weights.w_up + weights.b_up)
        expected = x + hidden @ weights.w_down + weights.b_down
    np.testing.assert_allclose(encoder_layer(x, quiet, options=options), expected, atol=1e-13)


def test_gelu_by_differences(rng):
    arguments = (rng.standard_normal((3, 6)), draw_layer(rng, 6, 3, 5))
    functions = LAYER(replace(POST, activation=GELU))
    assert central_difference_error(*functions, arguments, rng) < 1e-7


def test_a_gated_network_has_silu_unless_told_otherwise(rng):
    layer = replace(draw_layer(rng), feed_forward=GatedFeedForwardWeights.init(rng, 12, 7))
    x = rng.standard_normal((3, 12))
    silu_layer, relu_layer = (
        encoder_layer(x, layer, options=replace(POST, activation=activation))
        for activation in (SILU, RELU)
    )
    np.testing.assert_array_equal(encoder_layer(x, layer, options=POST), silu_layer)
    assert np.abs(silu_layer - relu_layer).max() > 1e-3


def test_turned_queries_see_differences_of_positions_only(rng):
    """A token in front of all others, seen by none, shifts the positions of these."""
    options, layer = replace(PRE, rotary=Rotary()), draw_layer(rng, 12, 3)
    x, mask = rng.standard_normal((5, 12)), np.zeros((5, 5))
    mask[1:, 0] = -np.inf
    shifted = encoder_layer(x, layer, mask=mask, options=options)
    expected = encoder_layer(x[1:], layer, options=options)
    np.testing.assert_allclose(shifted[1:], expected, rtol=0, atol=1e-13)
    plain = encoder_layer(x[1:], layer, options=PRE)
    assert np.abs(plain - expected).max() > 1e-3


@BOTH
@pytest.mark.parametrize("final_norm", [True, False])
@pytest.mark.parametrize("layers", [1, 2])
def test_vjp_of_a_stack(layers, final_norm, options, rng):
    weights = draw_encoder(rng, layers, 4, 2, 3, final_norm=final_norm)
    arguments = (rng.standard_normal((3, 4)), weights)
    assert complex_step_error(*STACK(options), arguments, rng) < 1e-12


def from_loops(x, layer, options):
    """The layer written out token by token: the formulas of the paper, over loops."""

    def normed(tokens, norm):
        rows = []
        for row in tokens:
            mean = sum(row) / len(row)
            variance = sum((value - mean) ** 2 for value in row) / len(row)
            deviation = (variance + options.epsilon) ** 0.5
            rows.append([(value - mean) / deviation for value in row])
        return np.array(rows) * norm.gamma + (0 if norm.beta is None else norm.beta)

    def network(tokens):
        return np.array(
            [numeric_loops.feed_forward_token(token, layer.feed_forward) for token in tokens]
        )

    if options.norm_first:
        y = normed(x, layer.attention_norm)
        x = x + numeric_loops.multi_head(y, y, y, layer.attention)
        return x + network(normed(x, layer.feed_forward_norm))
    x = normed(x + numeric_loops.multi_head(x, x, x, layer.attention), layer.attention_norm)
    return normed(x + network(x), layer.feed_forward_norm)


@BOTH
@pytest.mark.parametrize("bias", [True, False])
def test_agrees_with_loops(bias, options, rng):
    x, layer = rng.standard_normal((3, 12)), draw_layer(rng, bias=bias)
    expected = from_loops(x, layer, options)
    np.testing.assert_allclose(encoder_layer(x, layer, options=options), expected, atol=1e-12)


def test_agrees_with_the_residual_blocks_one_by_one(rng):
    """Forward and backward; the blocks of `residual` compute everything twice, but say less."""
    layer, x, cotangent = draw_layer(rng), *rng.standard_normal((2, 3, 12))
    attention = Sublayer(self_attention, self_attention_vjp)
    network = Sublayer(feed_forward, feed_forward_vjp)
    norm = Sublayer(
        lambda y, w: layer_norm(y, w.gamma, w.beta, epsilon=0.1),
        lambda y, w, g: _named(layer_norm_vjp(y, w.gamma, w.beta, g, epsilon=0.1)),
    )
    blocks = {POST: (post_norm, post_norm_vjp), PRE: (pre_norm, pre_norm_vjp)}
    first = (layer.attention, layer.attention_norm)
    second = (layer.feed_forward, layer.feed_forward_norm)
    for options, (forward, vjp) in blocks.items():
        attended = forward(attention, norm, x, *first)
        output = forward(network, norm, attended, *second)
        gradient, network_grad, network_norm = vjp(network, norm, attended, *second, cotangent)
        gradient, attention_grad, attention_norm = vjp(attention, norm, x, *first, gradient)
        expected = (attention_grad, network_grad, attention_norm, network_norm)
        np.testing.assert_allclose(
            encoder_layer(x, layer, options=options), output, rtol=0, atol=1e-14
        )
        found = encoder_layer_vjp(x, layer, cotangent, options=options)
        for one, other in zip(leaves(found), leaves((gradient, expected)), strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-13)


def _named(gradients):
    grad_x, *grads = gradients
    return grad_x, LayerNormWeights(*grads)


@BOTH
def test_a_stack_is_its_layers_in_order_and_the_norm(options, rng):
    weights, x = draw_encoder(rng, 3), rng.standard_normal((4, 6))
    expected = x
    for layer in weights.layers:
        expected = encoder_layer(expected, layer, options=options)
    without = replace(weights, norm=None)
    np.testing.assert_array_equal(encoder(x, without, options=options), expected)
    expected = layer_norm(expected, weights.norm.gamma, weights.norm.beta, epsilon=0.1)
    np.testing.assert_array_equal(encoder(x, weights, options=options), expected)


@BOTH
def test_sequences_of_a_batch_do_not_meet(options, rng):
    weights, x, cotangent = draw_encoder(rng), *rng.standard_normal((2, 3, 4, 6))
    output = encoder(x, weights, options=options)
    gradient, grad_weights = encoder_vjp(x, weights, cotangent, options=options)
    alone = [encoder_vjp(x[b], weights, cotangent[b], options=options) for b in range(3)]
    for b in range(3):
        np.testing.assert_allclose(
            output[b], encoder(x[b], weights, options=options), rtol=0, atol=1e-13
        )
        np.testing.assert_allclose(gradient[b], alone[b][0], rtol=0, atol=1e-12)
    sums = map_leaves(lambda *grads: sum(grads), *(grads for _, grads in alone))
    for whole, total in zip(leaves(grad_weights), leaves(sums), strict=True):
        np.testing.assert_allclose(whole, total, rtol=0, atol=1e-12)


@BOTH
def test_padding_is_as_if_it_were_not_there(options, rng):
    weights, x, cotangent = draw_encoder(rng), *rng.standard_normal((2, 2, 5, 6))
    keep = np.array([[True] * 5, [True] * 3 + [False] * 2])
    cotangent[~keep] = 0
    mask = padding_mask(keep)
    output = encoder(x, weights, mask=mask, options=options)
    short = encoder(x[1, :3], weights, options=options)
    np.testing.assert_allclose(output[1, :3], short, rtol=0, atol=1e-13)
    gradient, _ = encoder_vjp(x, weights, cotangent, mask=mask, options=options)
    expected, _ = encoder_vjp(x[1, :3], weights, cotangent[1, :3], options=options)
    np.testing.assert_allclose(gradient[1, :3], expected, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(gradient[1, 3:], 0)


@BOTH
def test_tokens_in_another_order_give_the_outputs_in_that_order(options, rng):
    weights, x, order = draw_encoder(rng), rng.standard_normal((5, 6)), rng.permutation(5)
    output = encoder(x, weights, options=options)
    moved = encoder(x[order], weights, options=options)
    np.testing.assert_allclose(moved, output[order], rtol=0, atol=1e-13)


@BOTH
def test_float32_stays_float32(options, rng):
    weights, x, cotangent = draw_encoder(rng), *rng.standard_normal((2, 4, 6))
    single = [array.astype(np.float32) for array in (x, weights, cotangent)]
    assert encoder(*single[:-1], options=options).dtype == np.float32
    found = leaves(encoder_vjp(*single, options=options))
    expected = leaves(encoder_vjp(x, weights, cotangent, options=options))
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == np.float32
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-3)


@BOTH
def test_arguments_are_left_alone(options, rng):
    weights, x, cotangent = draw_encoder(rng), *rng.standard_normal((2, 4, 6))
    before = [array.copy() for array in leaves((x, weights, cotangent))]
    encoder_vjp(x, weights, cotangent, options=options)
    for array, old in zip(leaves((x, weights, cotangent)), before, strict=True):
        np.testing.assert_array_equal(array, old)


def test_options_are_no_names():
    with pytest.raises(TypeError, match="activation is 'gelu'; expected Activation or None"):
        LayerOptions(activation="gelu")
    with pytest.raises(TypeError, match="rotary is True; expected Rotary or None"):
        LayerOptions(rotary=True)


@BOTH
def test_shapes_that_do_not_fit(options, rng):
    layer, weights = draw_layer(rng), draw_encoder(rng)
    with pytest.raises(ValueError, match=r"x has shape \(3, 11\); expected .* n, d_model=12"):
        encoder_layer(np.zeros((3, 11)), layer, options=options)
    with pytest.raises(ValueError, match=r"x has shape \(6,\); expected \(\.\.\., n, d_model=6\)"):
        encoder(np.zeros(6), weights, options=options)
    x = rng.standard_normal((3, 12))
    with pytest.raises(ValueError, match=r"cotangent has shape \(1, 12\); expected \(3,"):
        encoder_layer_vjp(x, layer, np.zeros((1, 12)), options=options)
    with pytest.raises(ValueError, match="d_k=3 is odd; expected an even width"):
        encoder_layer(x, layer, options=replace(options, rotary=Rotary()))
    with pytest.raises(ValueError, match=r"mask has shape \(3, 4\)"):
        encoder_layer(x, layer, mask=np.zeros((3, 4)), options=options)
