"""Mistakes in how layers are put together, planted one at a time: the gradient check sees all.

One function of the real code is replaced by a wrong one; what surrounds it stays as it is.
"""

import sys
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from layer_samples import shaken

from numeric import (
    DecoderWeights,
    EncoderWeights,
    LayerOptions,
    Rotary,
    causal_mask,
    decoder,
    decoder_vjp,
    directional_error,
    encoder,
    encoder_vjp,
    multi_head_attention_vjp,
)

BLOCKS, ENCODER, DECODER = (
    sys.modules[f"numeric.{name}"] for name in ("blocks", "encoder", "decoder")
)
_pre, _post, _norm = BLOCKS._pre_norm, BLOCKS._post_norm, BLOCKS.norm_pullback
_self, _cross = BLOCKS.self_attention_pullback, BLOCKS.cross_attention_pullback
_final = BLOCKS.final_norm_pullback


def with_gradients(function, change):
    """The function with `change(gradients, cotangent)` in place of its gradients."""

    def wrong(*arguments, **options):
        output, pullback = function(*arguments, **options)
        return output, lambda cotangent: change(tuple(pullback(cotangent)), cotangent)

    return wrong


def backward_of(function, other):
    """The output of one function, and the gradients of another."""
    return lambda *arguments: (function(*arguments)[0], other(*arguments)[1])


def no_direct_path(gradients, cotangent):
    return gradients[0] - cotangent, *gradients[1:]


def direct_path_twice(gradients, cotangent):
    return gradients[0] + cotangent, *gradients[1:]


def residual_around_the_norm(x, sublayer, norm):
    """y + sublayer(y) with y = norm(x), in place of x + sublayer(y)."""
    output, pullback = _pre(x, sublayer, norm)
    return output - x + norm(x)[0], pullback


def norm_before_the_sum(x, sublayer, norm):
    """x + norm(sublayer(x)), in place of norm(x + sublayer(x))."""
    _, pullback = _post(x, sublayer, norm)
    return x + norm(sublayer(x)[0])[0], pullback


def no_gamma(gradients, _):
    grad_x, norm = gradients
    return grad_x, replace(norm, gamma=np.zeros_like(norm.gamma))


def norms_swapped(gradients, _):
    grad_x, layer = gradients
    norms = {"attention_norm": layer.feed_forward_norm, "feed_forward_norm": layer.attention_norm}
    return grad_x, replace(layer, **norms)


def attentions_swapped(gradients, _):
    *inputs, layer = gradients
    parts = {"self_attention": layer.cross_attention, "cross_attention": layer.self_attention}
    return *inputs, replace(layer, **parts)


def layers_in_reverse(gradients, _):
    *inputs, stack = gradients
    return *inputs, replace(stack, layers=stack.layers[::-1])


def norm_with_another_epsilon(x, weights, options):
    return _norm(x, weights, replace(options, epsilon=1e-5))


def memory_as_keys_only(x, memory, weights, mask):
    output, _ = _cross(x, memory, weights, mask)

    def pullback(cotangent):
        grads = multi_head_attention_vjp(x, memory, memory, weights, cotangent, mask=mask)
        return grads[0], grads[1], grads[3]

    return output, pullback


def self_attention_without_mask(x, weights, _, options):
    return _self(x, weights, None, options)


def cross_attention_without_mask(x, memory, weights, _):
    return _cross(x, memory, weights, None)


def first_of_the_list(_, contributions):
    return contributions[0]


PRE, POST = LayerOptions(norm_first=True, epsilon=0.1), LayerOptions(epsilon=0.1)
TURNED = replace(PRE, rotary=Rotary())

PLANTED = {
    "post: no direct path": (BLOCKS, "_post_norm", with_gradients(_post, no_direct_path), POST),
    "pre: no direct path": (BLOCKS, "_pre_norm", with_gradients(_pre, no_direct_path), PRE),
    "pre: twice": (BLOCKS, "_pre_norm", with_gradients(_pre, direct_path_twice), PRE),
    "pre: around the norm": (BLOCKS, "_pre_norm", residual_around_the_norm, PRE),
    "post: norm before the sum": (BLOCKS, "_post_norm", norm_before_the_sum, POST),
    "post backward of pre": (BLOCKS, "_pre_norm", backward_of(_pre, _post), PRE),
    "pre backward of post": (BLOCKS, "_post_norm", backward_of(_post, _pre), POST),
    "no gradient of gamma": (ENCODER, "norm_pullback", with_gradients(_norm, no_gamma), POST),
    "epsilon of the backward pass": (
        ENCODER, "norm_pullback", backward_of(_norm, norm_with_another_epsilon), PRE
    ),
    "norms of a layer swapped": (
        ENCODER, "encoder_layer_pullback",
        with_gradients(ENCODER.encoder_layer_pullback, norms_swapped), PRE,
    ),
    "attentions of a layer swapped": (
        DECODER, "decoder_layer_pullback",
        with_gradients(DECODER.decoder_layer_pullback, attentions_swapped), PRE,
    ),
    "layers of the encoder in reverse": (
        ENCODER, "encoder_pullback",
        with_gradients(ENCODER.encoder_pullback, layers_in_reverse), POST,
    ),
    "layers of the decoder in reverse": (
        DECODER, "decoder_pullback",
        with_gradients(DECODER.decoder_pullback, layers_in_reverse), POST,
    ),
    "memory as keys only": (DECODER, "cross_attention_pullback", memory_as_keys_only, POST),
    "memory of one layer only": (DECODER, "reduce", first_of_the_list, PRE),
    "mask not in the backward pass": (
        DECODER, "self_attention_pullback", backward_of(_self, self_attention_without_mask), POST
    ),
    "mask not in the forward pass": (
        DECODER, "self_attention_pullback", backward_of(self_attention_without_mask, _self), PRE
    ),
    "mask of the memory not in the backward pass": (
        DECODER, "cross_attention_pullback", backward_of(_cross, cross_attention_without_mask), POST
    ),
    "gradients not turned back": (Rotary, "vjp", lambda _, x, cotangent: cotangent, TURNED),
    "gradients turned on": (Rotary, "vjp", lambda self, _, g: self.forward(g), TURNED),
    "final norm not in the backward pass": (
        DECODER, "final_norm_pullback",
        with_gradients(_final, lambda gradients, cotangent: (cotangent, gradients[1])), PRE,
    ),
}  # fmt: skip


def error(module, options, rng):
    x, y = rng.standard_normal((2, 3, 4))
    if module is DECODER:
        memory_mask = np.array([[0, -np.inf, 0], [0, 0, -np.inf], [0.5, 0, 0]])
        masks = {"mask": causal_mask(3), "memory_mask": memory_mask, "options": options}
        functions = partial(decoder, **masks), partial(decoder_vjp, **masks)
        arguments = (x, y, shaken(rng, DecoderWeights.init(rng, 2, 4, 2, 3)))
        return directional_error(*functions, arguments, rng)
    functions = partial(encoder, options=options), partial(encoder_vjp, options=options)
    arguments = (x, shaken(rng, EncoderWeights.init(rng, 2, 4, 2, 3)))
    return directional_error(*functions, arguments, rng)


@pytest.mark.parametrize("module", [ENCODER, DECODER], ids=["encoder", "decoder"])
@pytest.mark.parametrize("options", [PRE, POST, TURNED], ids=["pre", "post", "rotary"])
def test_the_real_code_passes(module, options, rng):
    assert error(module, options, rng) < 1e-7


@pytest.mark.parametrize("name", list(PLANTED))
def test_a_planted_error_is_seen(name, monkeypatch, rng):
    module, attribute, wrong, options = PLANTED[name]
    monkeypatch.setattr(module, attribute, wrong)
    for stack in (module,) if module in (ENCODER, DECODER) else (ENCODER, DECODER):
        assert error(stack, options, rng) > 1e-3
