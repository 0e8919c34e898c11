"""All outputs and all gradients against PyTorch's, in float64.

An error is told in units of the largest number that PyTorch gives: of the output, and of all
gradients together. Both have to be at most 1e-14, some 45 roundings; what they are is printed in
a table at the end of the run.
"""

import math
from functools import partial

import numpy as np
import pytest
import torch_states
from layer_samples import shaken

torch = pytest.importorskip("torch", reason="PyTorch is missing (extra `torch`)")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

import numeric  # noqa: E402
from numeric import (  # noqa: E402
    GELU,
    GELU_TANH,
    RELU,
    SILU,
    AdamState,
    DecoderLayerWeights,
    DecoderOnlyWeights,
    DecoderWeights,
    EncoderDecoderWeights,
    EncoderLayerWeights,
    EncoderWeights,
    LayerNormWeights,
    LayerOptions,
    MultiHeadWeights,
    Rotary,
    TransformerWeights,
    boolean_mask,
    causal_mask,
    combine_masks,
    leaves,
    map_leaves,
    padding_mask,
    torch_state_dict,
)
from numeric.blockwise_attention import blockwise_attention, blockwise_attention_vjp  # noqa: E402
from numeric.fast_encoder import FastEncoderLayer  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")
LIMIT = 1e-14
f64 = {"dtype": torch.float64}
BATCH, N, M, D, H, D_FF, V = 3, 7, 9, 32, 4, 48, 11


@pytest.fixture(autouse=True)
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def relative_error(mine, theirs):
    """The largest difference, in units of the largest of their numbers."""
    assert [np.shape(a) for a in mine] == [np.shape(b) for b in theirs]
    scale = max(np.abs(array).max() for array in theirs)
    differences = [np.abs(a - b).max() for a, b in zip(mine, theirs, strict=True)]
    assert np.isfinite(differences).all()
    assert scale > 0
    return float(max(differences) / scale)


@pytest.fixture
def compare(record_property):
    """compare(output, gradients, their output, their gradients)."""

    def check(output, gradients, their_output, their_gradients):
        errors = (
            relative_error([output], [their_output.detach().numpy()]),
            relative_error(gradients, [gradient.numpy() for gradient in their_gradients]),
        )
        assert max(errors) <= LIMIT, errors
        record_property("error against PyTorch", errors)

    return check


def tensors(*arrays):
    return [torch.tensor(array, requires_grad=True) for array in arrays]


def test_the_comparison_sees_an_error_of_a_few_roundings(rng, compare):
    (x,) = tensors(rng.standard_normal((3, 4)))
    cotangent = rng.standard_normal((3, 4))
    output = torch.sin(x)
    output.backward(torch.tensor(cotangent))
    exact = np.sin(x.detach().numpy()), cotangent * np.cos(x.detach().numpy())
    compare(exact[0], [exact[1]], output, [x.grad])
    for factors in ((1 + 3e-14, 1), (1, 1 + 3e-14)):
        with pytest.raises(AssertionError):
            compare(exact[0] * factors[0], [exact[1] * factors[1]], output, [x.grad])
    with pytest.raises(AssertionError):
        compare(exact[0], [exact[1] * np.nan], output, [x.grad])


# Primitives: (our function, its vjp, theirs), by name; arrays are drawn in the shapes given.

ROWS = (BATCH, N, D)
EPSILON = 1e-5


def elementwise(activation, theirs):
    return activation.forward, activation.vjp, theirs, [ROWS]


def mask_of_scores(rng):
    mask = rng.standard_normal((BATCH, H, N, M))
    mask[rng.random((BATCH, H, N, M)) < 0.3] = -np.inf
    mask[..., 0] = 0  # no row without any key: there PyTorch has NaN
    return mask


def swiglu(x, gate, up, down):
    return (F.silu(x @ gate) * (x @ up)) @ down


def our_swiglu(x, gate, up, down):
    return numeric.gated_feed_forward(x, numeric.GatedFeedForwardWeights(gate, up, down))


def our_swiglu_vjp(x, gate, up, down, cotangent):
    weights = numeric.GatedFeedForwardWeights(gate, up, down)
    return tuple(leaves(numeric.gated_feed_forward_vjp(x, weights, cotangent)))


PRIMITIVES = {
    "relu": elementwise(RELU, F.relu),
    "gelu": elementwise(GELU, F.gelu),
    "gelu, tanh form": elementwise(GELU_TANH, partial(F.gelu, approximate="tanh")),
    "silu": elementwise(SILU, F.silu),
    "softmax": (numeric.softmax, numeric.softmax_vjp, partial(F.softmax, dim=-1), [ROWS]),
    "log-softmax": (
        numeric.log_softmax, numeric.log_softmax_vjp, partial(F.log_softmax, dim=-1), [ROWS]
    ),
    "linear": (
        numeric.linear, numeric.linear_vjp, lambda x, w, b: F.linear(x, w.T, b),
        [ROWS, (D, D_FF), (D_FF,)],
    ),
    "swiglu": (our_swiglu, our_swiglu_vjp, swiglu, [ROWS, (D, D_FF), (D, D_FF), (D_FF, D)]),
    "layer norm": (
        partial(numeric.layer_norm, epsilon=EPSILON),
        partial(numeric.layer_norm_vjp, epsilon=EPSILON),
        lambda x, gamma, beta: F.layer_norm(x, (D,), gamma, beta, EPSILON), [ROWS, (D,), (D,)],
    ),
    "rms norm": (
        partial(numeric.rms_norm, epsilon=EPSILON),
        partial(numeric.rms_norm_vjp, epsilon=EPSILON),
        lambda x, gamma: F.rms_norm(x, (D,), gamma, EPSILON), [ROWS, (D,)],
    ),
    "batch norm": (
        partial(numeric.batch_norm, epsilon=EPSILON),
        partial(numeric.batch_norm_vjp, epsilon=EPSILON),
        lambda x, gamma, beta: F.batch_norm(
            x.reshape(-1, D), None, None, gamma, beta, training=True, eps=EPSILON
        ).reshape(x.shape),
        [ROWS, (D,), (D,)],
    ),
    "scaled dot-product attention": (
        numeric.scaled_dot_product_attention, numeric.scaled_dot_product_attention_vjp,
        F.scaled_dot_product_attention, [(BATCH, H, N, 8), (BATCH, H, M, 8), (BATCH, H, M, 5)],
    ),
    "blockwise attention": (
        partial(blockwise_attention, block=4), partial(blockwise_attention_vjp, block=4),
        F.scaled_dot_product_attention, [(BATCH, H, N, 8), (BATCH, H, M, 8), (BATCH, H, M, 5)],
    ),
    "grouped-query attention": (
        numeric.grouped_query_attention, numeric.grouped_query_attention_vjp,
        partial(F.scaled_dot_product_attention, enable_gqa=True),
        [(BATCH, H, N, 8), (BATCH, 2, M, 8), (BATCH, 2, M, 8)],
    ),
}  # fmt: skip


def check_function(compare, rng, ours, vjp, theirs, arrays):
    inputs = tensors(*arrays)
    their_output = theirs(*inputs)
    cotangent = rng.standard_normal(their_output.shape)
    their_output.backward(torch.tensor(cotangent))
    gradients = vjp(*arrays, cotangent)
    gradients = gradients if isinstance(gradients, tuple) else (gradients,)
    compare(ours(*arrays), gradients, their_output, [each.grad for each in inputs])


@pytest.mark.parametrize("name", list(PRIMITIVES))
def test_primitive(name, compare, rng):
    *functions, shapes = PRIMITIVES[name]
    check_function(compare, rng, *functions, [rng.standard_normal(shape) for shape in shapes])


@pytest.mark.parametrize("kind", ["additive", "causal", "padding"])
def test_masked_attention(kind, compare, rng):
    masks = {
        "additive": mask_of_scores(rng),
        "causal": causal_mask(N, M, offset=M - N),
        "padding": padding_mask(np.arange(M) < np.array([M, 4, 1])[:, None]),
    }
    shapes = [(BATCH, H, N, 8), (BATCH, H, M, 8), (BATCH, H, M, 5)]
    check_function(
        compare,
        rng,
        partial(numeric.scaled_dot_product_attention, mask=masks[kind]),
        partial(numeric.scaled_dot_product_attention_vjp, mask=masks[kind]),
        partial(F.scaled_dot_product_attention, attn_mask=torch.tensor(masks[kind])),
        [rng.standard_normal(shape) for shape in shapes],
    )


@pytest.mark.parametrize("settings", [{}, {"ignore_index": 3}, {"reduction": "sum"}])
def test_cross_entropy(settings, compare, rng):
    targets = rng.integers(0, V, (BATCH, N))
    targets[0, 0] = 3
    check_function(
        compare,
        rng,
        lambda z: numeric.cross_entropy(z, targets, **settings),
        lambda z, g: numeric.cross_entropy_vjp(z, targets, g, **settings),
        lambda z: F.cross_entropy(z.reshape(-1, V), torch.tensor(targets.ravel()), **settings),
        [3 * rng.standard_normal((BATCH, N, V))],
    )


def test_embedding_and_tied_output(compare, rng):
    ids = rng.integers(0, V - 1, (BATCH, N))  # some tokens often, the last one never

    def theirs(table):
        return F.linear(F.embedding(torch.tensor(ids), table) * math.sqrt(D), table)

    def vjp(table, cotangent):
        x = numeric.embedding(ids, table, scale=math.sqrt(D))
        grad_x, as_output = numeric.tied_logits_vjp(x, table, cotangent)
        return as_output + numeric.embedding_vjp(ids, table, grad_x, scale=math.sqrt(D))

    def ours(table):
        return numeric.tied_logits(numeric.embedding(ids, table, scale=math.sqrt(D)), table)

    check_function(compare, rng, ours, vjp, theirs, [rng.standard_normal((V, D))])


def turned(x, base, layout):
    """Rotary encoding as a product of complex numbers."""
    n, d = x.shape[-2:]
    angles = torch.arange(n, **f64)[:, None] * base ** (-torch.arange(0, d, 2, **f64) / d)
    phases = torch.polar(torch.ones_like(angles), angles)
    if layout == "interleaved":
        return torch.view_as_real(torch.view_as_complex(x.unflatten(-1, (-1, 2))) * phases).flatten(
            -2
        )
    product = torch.complex(x[..., : d // 2], x[..., d // 2 :]) * phases
    return torch.cat([product.real, product.imag], dim=-1)


@pytest.mark.parametrize("layout", ["interleaved", "halves"])
def test_rotary_encoding(layout, compare, rng):
    rotary = Rotary(base=100.0, layout=layout)
    theirs = partial(turned, base=100.0, layout=layout)
    check_function(
        compare, rng, rotary.forward, rotary.vjp, theirs, [rng.standard_normal((BATCH, H, N, 8))]
    )


# Modules: our weights go out through their state_dict, and our gradients as well.


def loaded(module, weights):
    module.load_state_dict({k: torch.tensor(v) for k, v in torch_state_dict(weights).items()})
    return module


def check_module(compare, module, inputs, theirs, output, gradients, cotangent):
    """`gradients`: those of the inputs, then those of the weights."""
    their_output = theirs(*inputs)
    their_output.backward(torch.tensor(cotangent))
    *grad_inputs, grad_weights = gradients
    named = torch_state_dict(grad_weights)
    parameters = dict(module.named_parameters())
    assert list(named) == list(parameters)
    compare(
        output,
        [*grad_inputs, *named.values()],
        their_output,
        [x.grad for x in inputs] + [parameters[name].grad for name in named],
    )


OF_SOURCE = np.arange(M) < np.array([M, 4, 1])[:, None]
OF_TARGET = np.arange(N) < np.array([N, 5, 2])[:, None]


def additive(keep):
    """Padding as PyTorch wants it beside an additive mask: (batch, m)."""
    return torch.tensor(boolean_mask(keep))


@pytest.mark.parametrize("bias", [True, False])
def test_layer_norm_module(bias, compare, rng):
    weights = shaken(rng, LayerNormWeights.init(D, bias))
    module = loaded(nn.LayerNorm(D, bias=bias, **f64), weights)
    x, cotangent = rng.standard_normal((2, *ROWS))
    beta = np.zeros(D) if weights.beta is None else weights.beta
    output = numeric.layer_norm(x, weights.gamma, beta, epsilon=EPSILON)
    grad_x, gamma, grad_beta = numeric.layer_norm_vjp(
        x, weights.gamma, beta, cotangent, epsilon=EPSILON
    )
    grad_weights = LayerNormWeights(gamma, grad_beta if bias else None)
    check_module(compare, module, tensors(x), module, output, [grad_x, grad_weights], cotangent)


@pytest.mark.parametrize("masked", [False, True], ids=["unmasked", "masked"])
@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
@pytest.mark.parametrize("widths", [{}, {"kdim": 5, "vdim": 6}, {"vdim": 6}], ids=str)
def test_multi_head_attention(widths, bias, masked, compare, rng):
    d_key, d_value = widths.get("kdim", D), widths.get("vdim", D)
    weights = MultiHeadWeights.init(rng, D, H, bias=bias, d_key=d_key, d_value=d_value)
    module = nn.MultiheadAttention(D, H, bias=bias, batch_first=True, **widths, **f64)
    loaded(module, weights)
    shapes = [(BATCH, N, D), (BATCH, M, d_key), (BATCH, M, d_value)]
    arrays, cotangent = [rng.standard_normal(s) for s in shapes], rng.standard_normal((BATCH, N, D))
    mask = rng.standard_normal((N, M))
    mask[1:, -1] = -np.inf
    ours, theirs = {}, {}
    if masked:
        ours = {"mask": combine_masks(mask, padding_mask(OF_SOURCE))}
        theirs = {"attn_mask": torch.tensor(mask), "key_padding_mask": additive(OF_SOURCE)}
    check_module(
        compare,
        module,
        tensors(*arrays),
        lambda *inputs: module(*inputs, need_weights=False, **theirs)[0],
        numeric.multi_head_attention(*arrays, weights, **ours),
        numeric.multi_head_attention_vjp(*arrays, weights, cotangent, **ours),
        cotangent,
    )


ACTIVATIONS = {"relu": (RELU, F.relu), "gelu": (GELU, F.gelu)}
FORMS = [
    pytest.param(
        norm_first, activation, bias, id=" ".join([placement, activation, with_or_without])
    )
    for norm_first, placement in ((False, "post"), (True, "pre"))
    for activation in ACTIVATIONS
    for bias, with_or_without in ((True, "bias"), (False, "no bias"))
]
ALL_FORMS = pytest.mark.parametrize(("norm_first", "activation", "bias"), FORMS)


def form(norm_first, activation, bias):
    """Options here, and the arguments of their modules."""
    ours, theirs = ACTIVATIONS[activation]
    return LayerOptions(norm_first=norm_first, activation=ours), {
        "dropout": 0.0, "activation": theirs, "norm_first": norm_first, "bias": bias,
        "batch_first": True, **f64,
    }  # fmt: skip


@ALL_FORMS
def test_encoder_layer(norm_first, activation, bias, compare, rng):
    options, arguments = form(norm_first, activation, bias)
    weights = shaken(rng, EncoderLayerWeights.init(rng, D, H, D_FF, bias), 0.1)
    module = loaded(nn.TransformerEncoderLayer(D, H, D_FF, **arguments), weights)
    x, cotangent = rng.standard_normal((2, BATCH, M, D))
    named = {"mask": padding_mask(OF_SOURCE), "options": options}
    check_module(
        compare,
        module,
        tensors(x),
        partial(module, src_key_padding_mask=additive(OF_SOURCE)),
        numeric.encoder_layer(x, weights, **named),
        numeric.encoder_layer_vjp(x, weights, cotangent, **named),
        cotangent,
    )


@pytest.mark.parametrize("norm_first", [False, True], ids=["post", "pre"])
def test_encoder_layer_of_the_base_model(norm_first, compare, rng):
    options, arguments = form(norm_first, "relu", True)
    weights = EncoderLayerWeights.init(rng, 512, 8, 2048)
    module = loaded(nn.TransformerEncoderLayer(512, 8, 2048, **arguments), weights)
    x, cotangent = rng.standard_normal((2, 2, 64, 512))
    check_module(
        compare,
        module,
        tensors(x),
        module,
        numeric.encoder_layer(x, weights, options=options),
        numeric.encoder_layer_vjp(x, weights, cotangent, options=options),
        cotangent,
    )


def test_fast_encoder_layer(compare, rng):
    _, arguments = form(False, "relu", True)
    weights = shaken(rng, EncoderLayerWeights.init(rng, D, H, D_FF), 0.1)
    module = loaded(nn.TransformerEncoderLayer(D, H, D_FF, **arguments), weights)
    x, cotangent = rng.standard_normal((2, BATCH, M, D))
    layer = FastEncoderLayer(weights)
    output = layer.forward(x, mask=padding_mask(OF_SOURCE))
    check_module(
        compare,
        module,
        tensors(x),
        partial(module, src_key_padding_mask=additive(OF_SOURCE)),
        output,
        layer.backward(cotangent),
        cotangent,
    )


def decoder_masks():
    ours = {
        "mask": combine_masks(causal_mask(N), padding_mask(OF_TARGET)),
        "memory_mask": padding_mask(OF_SOURCE),
    }
    theirs = {
        "tgt_mask": torch.tensor(causal_mask(N)),
        "tgt_key_padding_mask": additive(OF_TARGET),
        "memory_key_padding_mask": additive(OF_SOURCE),
    }
    return ours, theirs


@ALL_FORMS
def test_decoder_layer(norm_first, activation, bias, compare, rng):
    options, arguments = form(norm_first, activation, bias)
    weights = shaken(rng, DecoderLayerWeights.init(rng, D, H, D_FF, bias), 0.1)
    module = loaded(nn.TransformerDecoderLayer(D, H, D_FF, **arguments), weights)
    x, cotangent = rng.standard_normal((2, BATCH, N, D))
    memory, (ours, theirs) = rng.standard_normal((BATCH, M, D)), decoder_masks()
    check_module(
        compare,
        module,
        tensors(x, memory),
        partial(module, **theirs),
        numeric.decoder_layer(x, memory, weights, options=options, **ours),
        numeric.decoder_layer_vjp(x, memory, weights, cotangent, options=options, **ours),
        cotangent,
    )


@pytest.mark.parametrize("final_norm", [True, False], ids=["final norm", "no final norm"])
@pytest.mark.parametrize("norm_first", [False, True], ids=["post", "pre"])
def test_stacks(norm_first, final_norm, compare, rng):
    options, arguments = form(norm_first, "relu", True)
    sizes = (3, D, H, D_FF, True, final_norm)
    x, memory = rng.standard_normal((BATCH, N, D)), rng.standard_normal((BATCH, M, D))
    norm = nn.LayerNorm(D, **f64) if final_norm else None

    weights = shaken(rng, EncoderWeights.init(rng, *sizes), 0.1)
    layer = nn.TransformerEncoderLayer(D, H, D_FF, **arguments)
    module = loaded(nn.TransformerEncoder(layer, 3, norm, enable_nested_tensor=False), weights)
    cotangent, named = rng.standard_normal((BATCH, M, D)), {"mask": padding_mask(OF_SOURCE)}
    check_module(
        compare,
        module,
        tensors(memory),
        partial(module, src_key_padding_mask=additive(OF_SOURCE)),
        numeric.encoder(memory, weights, options=options, **named),
        numeric.encoder_vjp(memory, weights, cotangent, options=options, **named),
        cotangent,
    )

    weights = shaken(rng, DecoderWeights.init(rng, *sizes), 0.1)
    layer = nn.TransformerDecoderLayer(D, H, D_FF, **arguments)
    module = loaded(nn.TransformerDecoder(layer, 3, norm), weights)
    module.zero_grad()
    cotangent, (ours, theirs) = rng.standard_normal((BATCH, N, D)), decoder_masks()
    check_module(
        compare,
        module,
        tensors(x, memory),
        partial(module, **theirs),
        numeric.decoder(x, memory, weights, options=options, **ours),
        numeric.decoder_vjp(x, memory, weights, cotangent, options=options, **ours),
        cotangent,
    )


@ALL_FORMS
def test_transformer_module(norm_first, activation, bias, compare, rng):
    options, arguments = form(norm_first, activation, bias)
    weights = shaken(rng, EncoderDecoderWeights.init(rng, 2, D, H, D_FF, bias), 0.1)
    module = loaded(nn.Transformer(D, H, 2, 2, D_FF, **arguments), weights)
    source, (target, cotangent) = (
        rng.standard_normal((BATCH, M, D)),
        rng.standard_normal((2, *ROWS)),
    )
    ours, theirs = decoder_masks()
    named = {"source_mask": padding_mask(OF_SOURCE), "options": options, **ours}
    check_module(
        compare,
        module,
        tensors(source, target),
        partial(module, src_key_padding_mask=additive(OF_SOURCE), **theirs),
        numeric.encoder_decoder(source, target, weights, **named),
        numeric.encoder_decoder_vjp(source, target, weights, cotangent, **named),
        cotangent,
    )


# Whole models, down to the loss.


def positions(n, d):
    angles = torch.arange(n, **f64)[:, None] / 10000 ** (torch.arange(0, d, 2, **f64) / d)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)


def entered(ids, table):
    return F.embedding(ids, table) * math.sqrt(D) + positions(ids.shape[-1], D)


@pytest.mark.parametrize("norm_first", [False, True], ids=["post", "pre"])
def test_whole_transformer(norm_first, compare, rng):
    options, arguments = form(norm_first, "relu", True)
    weights = shaken(rng, TransformerWeights.init(rng, V, 2, D, H, D_FF, final_norm=True), 0.1)
    stacks = EncoderDecoderWeights(weights.encoder, weights.decoder)
    module = loaded(nn.Transformer(D, H, 2, 2, D_FF, **arguments), stacks)
    source, tokens = rng.integers(0, V, (BATCH, M)), rng.integers(1, V, (BATCH, 1 + N))
    tokens[:, 1:][~OF_TARGET] = 0
    (table,) = tensors(weights.embedding)
    states = module(
        entered(torch.tensor(source), table),
        entered(torch.tensor(tokens[:, :-1]), table),
        tgt_mask=torch.tensor(causal_mask(N)),
        src_key_padding_mask=additive(OF_SOURCE),
        memory_key_padding_mask=additive(OF_SOURCE),
    )
    logits, expected = F.linear(states, table), torch.tensor(tokens[:, 1:])
    their_loss = F.cross_entropy(logits.reshape(-1, V), expected.flatten(), ignore_index=0)
    their_loss.backward()
    model = partial(
        numeric.transformer_pullback, source, weights=weights, keep=OF_SOURCE, options=options
    )
    loss, gradient = numeric.next_token_loss(model, tokens, ignore_index=0)
    named = torch_state_dict(EncoderDecoderWeights(gradient.encoder, gradient.decoder))
    parameters = dict(module.named_parameters())
    compare(
        np.array(loss),
        [gradient.embedding, *named.values()],
        their_loss,
        [table.grad, *(parameters[name].grad for name in named)],
    )


def test_decoder_only_model_as_an_encoder_with_a_mask(compare, rng):
    options, arguments = form(True, "gelu", True)
    weights = shaken(rng, DecoderOnlyWeights.init(rng, V, 2, D, H, D_FF, tied=False), 0.1)
    layer, norm = nn.TransformerEncoderLayer(D, H, D_FF, **arguments), nn.LayerNorm(D, **f64)
    module = nn.TransformerEncoder(layer, 2, norm, enable_nested_tensor=False)
    loaded(module, weights.stack)
    tokens, cotangent = rng.integers(0, V, (BATCH, N)), rng.standard_normal((BATCH, N, V))
    table, output = tensors(weights.embedding, weights.output)
    states = module(entered(torch.tensor(tokens), table), mask=torch.tensor(causal_mask(N)))
    logits = F.linear(states, output)
    logits.backward(torch.tensor(cotangent))
    gradient = numeric.decoder_only_vjp(tokens, weights, cotangent, options=options)
    named, parameters = torch_state_dict(gradient.stack), dict(module.named_parameters())
    compare(
        numeric.decoder_only(tokens, weights, options=options),
        [gradient.embedding, gradient.output, *named.values()],
        logits,
        [table.grad, output.grad, *(parameters[name].grad for name in named)],
    )


def decoder_of_today(tokens, tree, rotary):
    """RMS norm, rotary encoding, grouped heads and SwiGLU, written with PyTorch's functions."""
    x = F.embedding(tokens, tree.embedding)
    for layer in tree.stack.layers:
        w, network = layer.attention, layer.feed_forward
        y = F.rms_norm(x, (D,), layer.attention_norm.gamma, EPSILON)
        queries, keys, values = (
            torch.einsum("bnd,hdc->bhnc", y, matrix) for matrix in (w.w_q, w.w_k, w.w_v)
        )
        queries, keys = (turned(each, rotary.base, rotary.layout) for each in (queries, keys))
        heads = F.scaled_dot_product_attention(
            queries, keys, values, is_causal=True, enable_gqa=True
        )
        x = x + torch.einsum("bhnc,hcd->bnd", heads, w.w_o.unflatten(0, (H, -1)))
        y = F.rms_norm(x, (D,), layer.feed_forward_norm.gamma, EPSILON)
        x = x + swiglu(y, network.w_gate, network.w_up, network.w_down)
    return F.linear(F.rms_norm(x, (D,), tree.stack.norm.gamma, EPSILON), tree.embedding)


class Tree:
    """Weights with tensors in place of arrays, under the same names."""

    def __init__(self, weights, tensors):
        for name, value in vars(weights).items():
            if value is None or isinstance(value, np.ndarray):
                setattr(self, name, None if value is None else next(tensors))
            elif isinstance(value, tuple):
                setattr(self, name, [Tree(each, tensors) for each in value])
            else:
                setattr(self, name, Tree(value, tensors))


@pytest.mark.parametrize("layout", ["interleaved", "halves"])
def test_decoder_only_model_of_today(layout, compare, rng):
    rotary = Rotary(layout=layout)
    options = LayerOptions(norm_first=True, rotary=rotary)
    settings = {"bias": False, "g": 2, "gated": True, "rms": True}
    weights = shaken(rng, DecoderOnlyWeights.init(rng, V, 2, D, H, D_FF, **settings), 0.1)
    tokens, cotangent = rng.integers(0, V, (BATCH, N)), rng.standard_normal((BATCH, N, V))
    parameters = tensors(*leaves(weights))
    logits = decoder_of_today(torch.tensor(tokens), Tree(weights, iter(parameters)), rotary)
    logits.backward(torch.tensor(cotangent))
    compare(
        numeric.decoder_only(tokens, weights, options=options),
        leaves(numeric.decoder_only_vjp(tokens, weights, cotangent, options=options)),
        logits,
        [parameter.grad for parameter in parameters],
    )


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_optimizers(optimizer, compare, rng):
    weights = EncoderLayerWeights.init(rng, D, H, D_FF)
    parameters = tensors(*leaves(weights))
    if optimizer == "sgd":
        theirs = torch.optim.SGD(parameters, lr=0.1)
    else:
        theirs = torch.optim.Adam(parameters, lr=0.1, betas=(0.8, 0.95), eps=1e-3)
    state = AdamState.init(weights)
    for _ in range(7):
        gradient = map_leaves(lambda array: rng.standard_normal(array.shape), weights)
        for parameter, array in zip(parameters, leaves(gradient), strict=True):
            parameter.grad = torch.tensor(array)
        theirs.step()
        if optimizer == "sgd":
            weights = numeric.sgd_step(weights, gradient, learning_rate=0.1)
        else:
            settings = {"learning_rate": 0.1, "beta_1": 0.8, "beta_2": 0.95, "epsilon": 1e-3}
            weights, state = numeric.adam_step(weights, gradient, state, **settings)
    # There is no output to compare; the weights stand in both places.
    found, expected = leaves(weights), [parameter.detach() for parameter in parameters]
    compare(found[0], found, expected[0], expected)


# The names and shapes that `torch_states` writes down are those of the modules.


@pytest.mark.parametrize("bias", [True, False])
def test_states_are_those_of_the_modules(bias):
    of_layer, of_attention = (12, 7, bias), (12, bias)
    encoder_layer = nn.TransformerEncoderLayer(12, 4, 7, bias=bias)
    decoder_layer = nn.TransformerDecoderLayer(12, 4, 7, bias=bias)
    modules = [
        (nn.LayerNorm(12, bias=bias), torch_states.norm(12, bias)),
        (nn.MultiheadAttention(12, 4, bias=bias), torch_states.attention(*of_attention)),
        (
            nn.MultiheadAttention(12, 4, bias=bias, kdim=5, vdim=9),
            torch_states.attention(*of_attention, kdim=5, vdim=9),
        ),
        (
            nn.MultiheadAttention(12, 4, bias=bias, vdim=5),
            torch_states.attention(*of_attention, vdim=5),
        ),
        (encoder_layer, torch_states.encoder_layer(*of_layer)),
        (decoder_layer, torch_states.decoder_layer(*of_layer)),
        (
            nn.TransformerEncoder(encoder_layer, 2),
            torch_states.stack([torch_states.encoder_layer(*of_layer)] * 2),
        ),
        (
            nn.TransformerDecoder(decoder_layer, 2, nn.LayerNorm(12)),
            torch_states.stack([torch_states.decoder_layer(*of_layer)] * 2, torch_states.norm(12)),
        ),
        (nn.Transformer(12, 4, 2, 3, 7, bias=bias), torch_states.transformer(12, 7, 2, 3, bias)),
    ]
    for module, shapes in modules:
        state = module.state_dict()
        assert {name: tuple(tensor.shape) for name, tensor in state.items()} == shapes
        assert list(state) == list(shapes)


def test_a_state_dict_of_tensors_is_read_as_it_is():
    torch.manual_seed(0)
    state = nn.Transformer(12, 4, 1, 2, 7).state_dict()
    back = torch_state_dict(numeric.transformer_from_torch(state, h=4))
    assert list(back) == list(state)
    for name, array in back.items():
        assert array.dtype == np.float32
        np.testing.assert_array_equal(array, state[name].numpy())
        assert not np.shares_memory(array, state[name].numpy())
    with pytest.raises(ValueError, match=r"weight cannot be read as an array: .*BFloat16"):
        numeric.layer_norm_from_torch(nn.LayerNorm(3, dtype=torch.bfloat16).state_dict())
