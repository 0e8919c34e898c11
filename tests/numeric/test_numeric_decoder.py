from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from layer_samples import shaken

from numeric import (
    DecoderLayerWeights,
    DecoderWeights,
    LayerNormWeights,
    LayerOptions,
    MultiHeadWeights,
    Sublayer,
    causal_mask,
    central_difference_error,
    combine_masks,
    complex_step_error,
    decoder,
    decoder_layer,
    decoder_layer_vjp,
    decoder_vjp,
    directional_error,
    feed_forward,
    feed_forward_vjp,
    layer_norm,
    layer_norm_vjp,
    leaves,
    map_leaves,
    multi_head_attention,
    multi_head_attention_vjp,
    padding_mask,
    post_norm,
    post_norm_vjp,
    pre_norm,
    pre_norm_vjp,
    self_attention,
    self_attention_vjp,
)

POST, PRE = LayerOptions(epsilon=0.1), LayerOptions(norm_first=True, epsilon=0.1)
BOTH = pytest.mark.parametrize("options", [POST, PRE], ids=["post", "pre"])


def draw_layer(rng, d=12, h=4, d_ff=7, bias=True, d_memory=None):
    layer = DecoderLayerWeights.init(rng, d, h, d_ff, bias)
    if d_memory is not None:
        read = MultiHeadWeights.init(rng, d, h, bias=bias, d_key=d_memory, d_value=d_memory)
        layer = replace(layer, cross_attention=read)
    return shaken(rng, layer)


def draw_decoder(rng, layers=2, d=6, h=3, d_ff=5, bias=True, final_norm=True):
    return shaken(rng, DecoderWeights.init(rng, layers, d, h, d_ff, bias, final_norm))


def pair(function, vjp, options, mask=None, memory_mask=None):
    named = {"options": options, "mask": mask, "memory_mask": memory_mask}
    return partial(function, **named), partial(vjp, **named)


LAYER = partial(pair, decoder_layer, decoder_layer_vjp)
STACK = partial(pair, decoder, decoder_vjp)


@BOTH
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("sizes", [(3, 5, 8, 2, 3), (1, 1, 2, 1, 1), (2, 1, 2, 2, 3)])
def test_vjp_of_a_layer(sizes, bias, options, rng):
    n, m, d, h, d_ff = sizes
    inputs = rng.standard_normal((n, d)), rng.standard_normal((m, d))
    arguments = (*inputs, draw_layer(rng, d, h, d_ff, bias))
    assert complex_step_error(*LAYER(options, causal_mask(n)), arguments, rng) < 1e-12


@BOTH
def test_vjp_of_a_layer_by_differences(options, rng):
    arguments = (*(rng.standard_normal((n, 6)) for n in (3, 4)), draw_layer(rng, 6, 3, 5))
    functions = LAYER(options, causal_mask(3))
    assert central_difference_error(*functions, arguments, rng) < 1e-7
    assert directional_error(*functions, arguments, rng) < 1e-7


@BOTH
def test_vjp_with_a_memory_of_another_width(options, rng):
    inputs = rng.standard_normal((3, 6)), rng.standard_normal((4, 5))
    arguments = (*inputs, draw_layer(rng, 6, 3, 7, d_memory=5))
    assert complex_step_error(*LAYER(options), arguments, rng) < 1e-12


@BOTH
def test_vjp_of_a_batch_with_both_masks(options, rng):
    of_target = np.array([[True, True, True], [True, True, False]])
    of_source = np.array([[True, False, True, True], [True, True, False, False]])
    masks = combine_masks(causal_mask(3), padding_mask(of_target)), padding_mask(of_source)
    inputs = rng.standard_normal((2, 3, 6)), rng.standard_normal((2, 4, 6))
    arguments = (*inputs, draw_layer(rng, 6, 3, 5))
    assert complex_step_error(*LAYER(options, *masks), arguments, rng) < 1e-12


@BOTH
@pytest.mark.parametrize("final_norm", [True, False])
@pytest.mark.parametrize("layers", [1, 2])
def test_vjp_of_a_stack(layers, final_norm, options, rng):
    inputs = rng.standard_normal((2, 4)), rng.standard_normal((3, 4))
    arguments = (*inputs, draw_decoder(rng, layers, 4, 2, 3, final_norm=final_norm))
    assert complex_step_error(*STACK(options, causal_mask(2)), arguments, rng) < 1e-12


def _named(gradients):
    grad_x, *grads = gradients
    return grad_x, LayerNormWeights(*grads)


def test_agrees_with_the_residual_blocks_one_by_one(rng):
    layer, x, cotangent = draw_layer(rng), *rng.standard_normal((2, 3, 12))
    memory, mask, memory_mask = rng.standard_normal((5, 12)), causal_mask(3), np.zeros((3, 5))
    memory_mask[0, 1] = memory_mask[2, 4] = -np.inf
    sublayers = {
        "self_attention": Sublayer(
            lambda y, w: self_attention(y, w, mask=mask),
            lambda y, w, g: self_attention_vjp(y, w, g, mask=mask),
        ),
        "cross_attention": Sublayer(
            lambda y, w: multi_head_attention(y, memory, memory, w, mask=memory_mask),
            lambda y, w, g: multi_head_attention_vjp(y, memory, memory, w, g, mask=memory_mask)[
                ::3
            ],
        ),
        "feed_forward": Sublayer(feed_forward, feed_forward_vjp),
    }
    norm = Sublayer(
        lambda y, w: layer_norm(y, w.gamma, w.beta, epsilon=0.1),
        lambda y, w, g: _named(layer_norm_vjp(y, w.gamma, w.beta, g, epsilon=0.1)),
    )
    blocks = {POST: (post_norm, post_norm_vjp), PRE: (pre_norm, pre_norm_vjp)}
    for options, (forward, vjp) in blocks.items():
        states = [x]
        for name, sublayer in sublayers.items():
            weights = getattr(layer, name), getattr(layer, f"{name}_norm")
            states.append(forward(sublayer, norm, states[-1], *weights))
        masks = {"mask": mask, "memory_mask": memory_mask, "options": options}
        output = decoder_layer(x, memory, layer, **masks)
        np.testing.assert_allclose(output, states[-1], rtol=0, atol=1e-13)
        gradient, grads = cotangent, {}
        for name, state in zip(reversed(sublayers), reversed(states[:-1]), strict=True):
            weights = getattr(layer, name), getattr(layer, f"{name}_norm")
            found = vjp(sublayers[name], norm, state, *weights, gradient)
            gradient, grads[name], grads[f"{name}_norm"] = found
        grad_x, _, grad_layer = decoder_layer_vjp(x, memory, layer, cotangent, **masks)
        expected = leaves((gradient, DecoderLayerWeights(**grads)))
        for one, other in zip(leaves((grad_x, grad_layer)), expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


@BOTH
def test_a_stack_is_its_layers_in_order_and_the_norm(options, rng):
    weights, memory = draw_decoder(rng, 3), rng.standard_normal((5, 6))
    x = expected = rng.standard_normal((4, 6))
    masks = {"mask": causal_mask(4), "memory_mask": np.zeros((4, 5)), "options": options}
    for layer in weights.layers:
        expected = decoder_layer(expected, memory, layer, **masks)
    np.testing.assert_array_equal(
        decoder(x, memory, replace(weights, norm=None), **masks), expected
    )
    expected = layer_norm(expected, weights.norm.gamma, weights.norm.beta, epsilon=0.1)
    np.testing.assert_array_equal(decoder(x, memory, weights, **masks), expected)


@BOTH
def test_no_token_sees_a_later_one(options, rng):
    weights, memory = draw_decoder(rng), rng.standard_normal((3, 6))
    x, cotangent = rng.standard_normal((2, 5, 6))
    later = x.copy()
    later[3:] += rng.standard_normal((2, 6))
    masks = {"mask": causal_mask(5), "options": options}
    before, after = decoder(x, memory, weights, **masks), decoder(later, memory, weights, **masks)
    np.testing.assert_allclose(before[:3], after[:3], rtol=0, atol=1e-14)
    assert np.abs(before[3:] - after[3:]).min() > 1e-6
    cotangent[3:] = 0
    gradient, _, _ = decoder_vjp(x, memory, weights, cotangent, **masks)
    np.testing.assert_array_equal(gradient[3:], 0)
    assert np.abs(gradient[:3]).min() > 1e-6


@BOTH
def test_sequences_of_a_batch_do_not_meet(options, rng):
    weights, x, cotangent = draw_decoder(rng), *rng.standard_normal((2, 3, 4, 6))
    memory, named = rng.standard_normal((3, 5, 6)), {"mask": causal_mask(4), "options": options}
    output = decoder(x, memory, weights, **named)
    *gradients, grad_weights = decoder_vjp(x, memory, weights, cotangent, **named)
    alone = [decoder_vjp(x[b], memory[b], weights, cotangent[b], **named) for b in range(3)]
    for b in range(3):
        single = decoder(x[b], memory[b], weights, **named)
        np.testing.assert_allclose(output[b], single, rtol=0, atol=1e-13)
        for whole, one in zip(gradients, alone[b][:2], strict=True):
            np.testing.assert_allclose(whole[b], one, rtol=0, atol=1e-12)
    sums = map_leaves(lambda *grads: sum(grads), *(grads[-1] for grads in alone))
    for whole, total in zip(leaves(grad_weights), leaves(sums), strict=True):
        np.testing.assert_allclose(whole, total, rtol=0, atol=1e-12)


@BOTH
def test_memory_is_a_set(options, rng):
    """Without a mask the order of the memory means nothing."""
    weights, x, memory = draw_decoder(rng), *rng.standard_normal((2, 5, 6))
    order = rng.permutation(5)
    output = decoder(x, memory, weights, mask=causal_mask(5), options=options)
    moved = decoder(x, memory[order], weights, mask=causal_mask(5), options=options)
    np.testing.assert_allclose(moved, output, rtol=0, atol=1e-13)


@BOTH
def test_padding_of_the_memory_is_as_if_it_were_not_there(options, rng):
    weights, x, memory = draw_decoder(rng), *rng.standard_normal((2, 1, 5, 6))
    cotangent, keep = rng.standard_normal((1, 5, 6)), np.array([[True, True, True, False, False]])
    named = {"memory_mask": padding_mask(keep), "options": options}
    short = decoder(x, memory[:, :3], weights, options=options)
    output = decoder(x, memory, weights, **named)
    np.testing.assert_allclose(output, short, rtol=0, atol=1e-13)
    _, grad_memory, _ = decoder_vjp(x, memory, weights, cotangent, **named)
    np.testing.assert_array_equal(grad_memory[:, 3:], 0)
    assert np.abs(grad_memory[:, :3]).min() > 1e-6


@BOTH
def test_float32_stays_float32(options, rng):
    weights, x, memory, cotangent = draw_decoder(rng), *rng.standard_normal((3, 4, 6))
    arguments = (x, memory, weights, cotangent)
    single = [array.astype(np.float32) for array in arguments]
    named = {"mask": causal_mask(4), "options": options}
    assert decoder(*single[:-1], **named).dtype == np.float32
    expected = leaves(decoder_vjp(*arguments, **named))
    for one, other in zip(leaves(decoder_vjp(*single, **named)), expected, strict=True):
        assert one.dtype == np.float32
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-3)


@BOTH
def test_shapes_that_do_not_fit(options, rng):
    layer, x = draw_layer(rng), rng.standard_normal((2, 3, 12))
    memory = rng.standard_normal((2, 5, 12))
    named = {"options": options}
    with pytest.raises(ValueError, match=r"x has shape \(3, 11\); expected .* n, d_model=12"):
        decoder_layer(np.zeros((3, 11)), memory, layer, **named)
    with pytest.raises(ValueError, match=r"memory has shape \(5, 12\); expected \(2, m, d_mem"):
        decoder_layer(x, memory[0], layer, **named)
    with pytest.raises(ValueError, match=r"memory has shape \(2, 5, 7\); expected .*d_memory=12"):
        decoder_layer(x, np.zeros((2, 5, 7)), layer, **named)
    with pytest.raises(ValueError, match=r"cotangent has shape \(3, 12\); expected \(2, 3,"):
        decoder_layer_vjp(x, memory, layer, np.zeros((3, 12)), **named)
    with pytest.raises(ValueError, match=r"mask has shape \(5, 3\)"):
        decoder_layer(x, memory, layer, memory_mask=np.zeros((5, 3)), **named)
