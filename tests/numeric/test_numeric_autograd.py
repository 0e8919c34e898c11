"""All gradients against HIPS autograd, which differentiates the formulas written here by itself.

The formulas are the ones of textbooks, without what makes the functions of `numeric` robust.
"""

import math
from functools import partial

import autograd.numpy as anp
import numpy as np
import pytest
from autograd import make_vjp

import numeric
from numeric import (
    FeedForwardWeights,
    GatedFeedForwardWeights,
    MultiHeadWeights,
    causal_mask,
    leaves,
    map_leaves,
)

RNG = np.random.default_rng(31)
EPSILON = 0.1


def normal(*shape):
    return RNG.standard_normal(shape)


def softmax(x):
    exponentials = anp.exp(x)
    return exponentials / anp.sum(exponentials, axis=-1, keepdims=True)


def attention(q, k, v, mask=None):
    scores = anp.matmul(q, anp.swapaxes(k, -1, -2)) / math.sqrt(q.shape[-1])
    return anp.matmul(softmax(scores if mask is None else scores + mask), v)


def grouped(q, k, v, mask=None):
    size = q.shape[-3] // k.shape[-3]
    heads = [
        attention(q[..., i, :, :], k[..., i // size, :, :], v[..., i // size, :, :], mask)
        for i in range(q.shape[-3])
    ]
    return anp.stack(heads, axis=-3)


def multi_head(query_input, key_input, value_input, w, mask=None):
    size = len(w.w_q) // len(w.w_k)
    heads = []
    for i in range(len(w.w_q)):
        j = i // size
        heads.append(
            attention(
                anp.dot(query_input, w.w_q[i]) + w.b_q[i],
                anp.dot(key_input, w.w_k[j]) + w.b_k[j],
                anp.dot(value_input, w.w_v[j]) + w.b_v[j],
                mask,
            )
        )
    return anp.dot(anp.concatenate(heads, axis=-1), w.w_o) + w.b_o


def silu(x):
    return x / (1 + anp.exp(-x))


def gelu_tanh(x):
    return x / 2 * (1 + anp.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def feed_forward(activation, x, w):
    return anp.dot(activation(anp.dot(x, w.w_1) + w.b_1), w.w_2) + w.b_2


def gated(x, w):
    gate = silu(anp.dot(x, w.w_gate) + w.b_gate)
    return anp.dot(gate * (anp.dot(x, w.w_up) + w.b_up), w.w_down) + w.b_down


def normed(x, axis, outside=False):
    u = x - anp.mean(x, axis=axis, keepdims=True)
    variance = anp.mean(u**2, axis=axis, keepdims=True)
    return u / (anp.sqrt(variance) + EPSILON if outside else anp.sqrt(variance + EPSILON))


def rms_norm(x, gamma):
    return x / anp.sqrt(anp.mean(x**2, axis=-1, keepdims=True) + EPSILON) * gamma


def cross_entropy(one_hot, weights, logits):
    losses = -anp.sum(one_hot * anp.log(softmax(logits)), axis=-1)
    return anp.sum(weights * losses) / anp.sum(weights)


def rotated(positions, x):
    """Halves; every row times its own rotation matrix."""
    d = x.shape[-1]
    rows = []
    for t, position in enumerate(positions):
        angles = position / 10_000 ** (np.arange(0, d, 2) / d)
        cosine, sine = np.diag(np.cos(angles)), np.diag(np.sin(angles))
        rows.append(anp.dot(x[..., t, :], np.block([[cosine, sine], [-sine, cosine]])))
    return anp.stack(rows, axis=-2)


def encoding(positions):
    waves = [wave(positions / 10_000 ** (i / 3)) for i in range(3) for wave in (anp.sin, anp.cos)]
    return anp.stack(waves, axis=-1)


IDS = np.array([[1, 3, 1], [0, 1, 4]])
TARGETS, COUNTED = np.array([2, 0, 4, 4]), np.array([1.0, 0.0, 2.0, 0.5])
MASK = np.where(RNG.random((3, 5)) < 0.7, RNG.standard_normal((3, 5)), -np.inf)
MASK[:, 0] = 0
HEADS = normal(2, 4, 3, 6), normal(2, 2, 5, 6), normal(2, 2, 5, 7)
INPUTS = normal(2, 3, 12), normal(2, 5, 12), normal(2, 5, 12)
NORM = normal(3, 4, 5), normal(5), normal(5)


def of_norm(name):
    return partial(getattr(numeric, f"{name}_vjp"), epsilon=EPSILON)


# formula, vjp, arguments
CASES = {
    "softmax": (softmax, numeric.softmax_vjp, (normal(3, 5),)),
    "log softmax": (lambda x: anp.log(softmax(x)), numeric.log_softmax_vjp, (normal(3, 5),)),
    "cross-entropy": (
        partial(cross_entropy, np.eye(5)[TARGETS], COUNTED),
        lambda x, g: numeric.cross_entropy_vjp(x, TARGETS, g, token_weights=COUNTED),
        (normal(4, 5),),
    ),
    "relu": (lambda x: anp.maximum(x, 0), numeric.relu_vjp, (normal(3, 5),)),
    "sigmoid": (lambda x: 1 / (1 + anp.exp(-x)), numeric.sigmoid_vjp, (normal(3, 5),)),
    "silu": (silu, numeric.silu_vjp, (normal(3, 5),)),
    "gelu, tanh": (gelu_tanh, numeric.gelu_tanh_vjp, (normal(3, 5),)),
    "linear": (
        lambda x, w, b: anp.dot(x, w) + b,
        numeric.linear_vjp,
        (normal(2, 3, 4), normal(4, 5), normal(5)),
    ),
    "embedding": (
        lambda table: math.sqrt(3) * table[IDS],
        lambda table, g: numeric.embedding_vjp(IDS, table, g, scale=math.sqrt(3)),
        (normal(5, 3),),
    ),
    "tied output": (
        lambda x, table: anp.dot(x, table.T),
        numeric.tied_logits_vjp,
        (normal(2, 4, 3), normal(5, 3)),
    ),
    "attention": (
        attention,
        numeric.scaled_dot_product_attention_vjp,
        (normal(2, 3, 4), normal(2, 5, 4), normal(2, 5, 7)),
    ),
    "attention with a mask": (
        partial(attention, mask=MASK),
        partial(numeric.scaled_dot_product_attention_vjp, mask=MASK),
        (normal(2, 3, 4), normal(2, 5, 4), normal(2, 5, 7)),
    ),
    "grouped-query attention": (grouped, numeric.grouped_query_attention_vjp, HEADS),
    "grouped-query attention with a mask": (
        partial(grouped, mask=MASK),
        partial(numeric.grouped_query_attention_vjp, mask=MASK),
        HEADS,
    ),
    "multi-head attention": (
        multi_head,
        numeric.multi_head_attention_vjp,
        (*INPUTS, MultiHeadWeights.init(RNG, 12, 4, 3, 2, bias=True)),
    ),
    "multi-query attention, causal": (
        partial(multi_head, mask=causal_mask(3, 5, offset=2)),
        partial(numeric.multi_head_attention_vjp, mask=causal_mask(3, 5, offset=2)),
        (*INPUTS, MultiHeadWeights.init(RNG, 12, 4, 3, 2, bias=True, g=1)),
    ),
    "self-attention": (
        lambda x, w: multi_head(x, x, x, w),
        numeric.self_attention_vjp,
        (normal(2, 3, 6), MultiHeadWeights.init(RNG, 6, 3, bias=True)),
    ),
    "feed-forward": (
        partial(feed_forward, lambda x: anp.maximum(x, 0)),
        numeric.feed_forward_vjp,
        (normal(2, 3, 5), FeedForwardWeights.init(RNG, 5, 7)),
    ),
    "feed-forward with GELU": (
        partial(feed_forward, gelu_tanh),
        partial(numeric.feed_forward_vjp, activation=numeric.GELU_TANH),
        (normal(2, 3, 5), FeedForwardWeights.init(RNG, 5, 7)),
    ),
    "SwiGLU": (
        gated,
        numeric.gated_feed_forward_vjp,
        (normal(2, 3, 5), GatedFeedForwardWeights.init(RNG, 5, 7, bias=True)),
    ),
    "layer norm": (
        lambda x, gamma, beta: normed(x, -1) * gamma + beta,
        of_norm("layer_norm"),
        NORM,
    ),
    "layer norm, epsilon outside": (
        lambda x, gamma, beta: normed(x, -1, outside=True) * gamma + beta,
        of_norm("layer_norm_outside"),
        NORM,
    ),
    "batch norm": (
        lambda x, gamma, beta: normed(x, (0, 1)) * gamma + beta,
        of_norm("batch_norm"),
        NORM,
    ),
    "RMS norm": (rms_norm, of_norm("rms_norm"), NORM[:2]),
    "rotary encoding": (
        partial(rotated, (3, 4, 5)),
        lambda x, g: numeric.rotary_encoding_vjp(x, [3, 4, 5], g, layout="halves"),
        (normal(2, 3, 6),),
    ),
    "position encoding": (
        encoding,
        lambda positions, g: numeric.position_encoding_vjp(positions, 6, g),
        (normal(4),),
    ),
}


def gradients_of_autograd(formula, arguments):
    """Autograd takes flat arguments: the leaves of `arguments`, put together again inside."""
    arrays = leaves(arguments)

    def of_leaves(flat):
        following = iter(flat)
        return formula(*map_leaves_to(following, arguments))

    pull_back, value = make_vjp(of_leaves)(tuple(arrays))
    cotangent = RNG.standard_normal(np.shape(value))
    return cotangent, pull_back(cotangent)


class Bunch:
    """Weights of any arrays, also those that autograd traces, which are no NumPy arrays."""

    def __init__(self, fields):
        self.__dict__.update(fields)


def map_leaves_to(following, arguments):
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            yield next(following)
        else:
            yield Bunch({name: next(following) for name in argument.__dataclass_fields__})


@pytest.mark.parametrize("name", list(CASES))
def test_gradients_agree(name):
    formula, vjp, arguments = CASES[name]
    cotangent, expected = gradients_of_autograd(formula, arguments)
    gradients = leaves(vjp(*arguments, cotangent))
    largest = max(np.abs(gradient).max() for gradient in expected)
    assert largest > 1e-2
    for gradient, other in zip(gradients, expected, strict=True):
        np.testing.assert_allclose(gradient, other, rtol=0, atol=1e-14 * largest)


def test_a_slightly_wrong_gradient_does_not_agree():
    formula, vjp, arguments = CASES["softmax"]
    cotangent, (expected,) = gradients_of_autograd(formula, arguments)
    wrong = map_leaves(lambda gradient: 1.001 * gradient, vjp(*arguments, cotangent))
    assert np.abs(wrong - expected).max() > 1e-14 * np.abs(expected).max()
