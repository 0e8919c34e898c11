"""What does not fit is refused in one line that names it, by every function of the package."""

import inspect
from fractions import Fraction

import numpy as np
import pytest

import numeric as nx

RNG = np.random.default_rng(0)
V, D, H, N, M, B = 7, 6, 3, 4, 5, 2


def drawn(*shape):
    return RNG.standard_normal(shape)


HEADS = nx.MultiHeadWeights.init(RNG, D, H, bias=True)
NETWORK = nx.FeedForwardWeights.init(RNG, D, 8)
GATED = nx.GatedFeedForwardWeights.init(RNG, D, 8)
MODEL = {"v": V, "layers": 1, "d_model": D, "h": H, "d_ff": 8}
ENCODER = nx.EncoderWeights.init(RNG, 2, D, H, 8)
DECODER = nx.DecoderWeights.init(RNG, 2, D, H, 8)
NETWORK_SUBLAYER = nx.Sublayer(nx.feed_forward, nx.feed_forward_vjp)
X, MEMORY, TABLE, LOGITS = drawn(B, N, D), drawn(B, M, D), drawn(V, D), drawn(B, N, V)
ROW, SQUARE = drawn(3), np.eye(3)
TOKENS, OTHERS = RNG.integers(0, V, (B, N)), RNG.integers(0, V, (B, M))
MASK, WIDE_MASK = nx.causal_mask(N), np.zeros((N, M))
INPUTS = {"query_input": X, "key_input": MEMORY, "value_input": MEMORY, "weights": HEADS}
PARTS = {"queries": drawn(B, H, N, 2), "keys": drawn(B, H, M, 2), "values": drawn(B, H, M, 3)}
NORM = {"x": X, "gamma": drawn(D), "beta": drawn(D), "epsilon": 0.1}
RMS_NORM = {"x": X, "gamma": drawn(D), "epsilon": 0.1}
TWO = {"x": X, "memory": MEMORY, "mask": MASK, "memory_mask": WIDE_MASK}
LOSS = {"logits": LOGITS, "targets": TOKENS, "token_weights": np.ones((B, N))}
MOMENTS = {"mean_q": ROW, "cov_q": SQUARE, "mean_k": ROW, "cov_k": SQUARE}
ROTARY = {"x": X, "positions": np.arange(4.0)}

#: function -> its arguments, and the shape of the output where it has a vjp
CALLS = {
    "apply_mask": ({"scores": drawn(B, H, N, M), "mask": WIDE_MASK}, None),
    "attention_heads": (INPUTS | {"mask": WIDE_MASK}, None),
    "multi_head_attention": (INPUTS | {"mask": WIDE_MASK}, X.shape),
    "self_attention": ({"x": X, "weights": HEADS, "mask": MASK}, X.shape),
    "scaled_scores": ({key: PARTS[key] for key in ("queries", "keys")}, (B, H, N, M)),
    "scaled_dot_product_attention": (PARTS, (B, H, N, 3)),
    "grouped_query_attention": (PARTS, (B, H, N, 3)),
    "blockwise_attention": (PARTS, (B, H, N, 3)),
    "batch_norm": (NORM, X.shape),
    "layer_norm": (NORM, X.shape),
    "layer_norm_outside": (NORM, X.shape),
    "rms_norm": (RMS_NORM, X.shape),
    "linear": ({"x": X, "weight": drawn(D, 3), "bias": drawn(3)}, (B, N, 3)),
    "feed_forward": ({"x": X, "weights": NETWORK}, X.shape),
    "gated_feed_forward": ({"x": X, "weights": GATED}, X.shape),
    "softmax": ({"logits": LOGITS}, LOGITS.shape),
    "log_softmax": ({"logits": LOGITS}, LOGITS.shape),
    "cross_entropy": (LOSS, ()),
    "embedding": ({"ids": TOKENS, "table": TABLE}, X.shape),
    "positioned_embedding": ({"ids": TOKENS, "table": TABLE}, X.shape),
    "tied_logits": ({"x": X, "table": TABLE}, LOGITS.shape),
    "rotary_encoding": (ROTARY, X.shape),
    "residual": ({"sublayer": NETWORK_SUBLAYER, "x": X, "weights": NETWORK}, X.shape),
    "encoder": ({"x": X, "weights": ENCODER, "mask": MASK}, X.shape),
    "encoder_layer": ({"x": X, "weights": ENCODER.layers[0], "mask": MASK}, X.shape),
    "decoder": (TWO | {"weights": DECODER}, X.shape),
    "decoder_layer": (TWO | {"weights": DECODER.layers[0]}, X.shape),
    "encoder_decoder": (
        {"source": MEMORY, "target": X, "weights": nx.EncoderDecoderWeights(ENCODER, DECODER)},
        X.shape,
    ),
    "decoder_only": (
        {"tokens": TOKENS, "weights": nx.DecoderOnlyWeights.init(RNG, **MODEL)}, LOGITS.shape
    ),
    "transformer": (
        {"source": OTHERS, "target": TOKENS, "weights": nx.TransformerWeights.init(RNG, **MODEL),
         "keep": np.ones((B, M), bool)},
        LOGITS.shape,
    ),
    "concat_heads": ({"heads": drawn(H, N, 2)}, None),
    "split_heads": ({"concatenated": X, "h": H}, None),
    "padding_mask": ({"keep": np.ones((B, M), bool)}, None),
    "independent_dot_moments": (MOMENTS, None),
    "sample_moments": ({"values": drawn(9)}, None),
    "count_attention": ({"query_input": X[0], "key_input": MEMORY[0], "weights": HEADS}, None),
    "count_feed_forward": ({"x": X[0], "weights": NETWORK}, None),
    "count_gated_feed_forward": ({"x": X[0], "weights": GATED}, None),
    "count_layer_norm": (NORM | {"x": X[0]}, None),
    "count_rms_norm": (RMS_NORM | {"x": X[0]}, None),
    "count_linear": ({"x": X[0], "weight": drawn(D, 3), "bias": drawn(3)}, None),
}  # fmt: skip
ELEMENTWISE = ["gelu", "gelu_tanh", "relu", "sigmoid", "silu"]


def all_calls():
    for name, (arguments, output) in CALLS.items():
        yield name, arguments
        if output is not None:
            yield f"{name}_vjp", arguments | {"cotangent": np.ones(output)}
    for name in ELEMENTWISE:
        yield f"{name}_vjp", {"x": X, "cotangent": np.ones(X.shape)}
    yield "leaky_relu_vjp", {"x": X, "slope": 0.1, "cotangent": np.ones(X.shape)}


CASES = [
    pytest.param(name, arguments, which, id=f"{name}-{which}")
    for name, arguments in all_calls()
    for which, array in arguments.items()
    if isinstance(array, np.ndarray)
]
#: one token is a sequence of no axes
NUMBER_WILL_DO = {("embedding", "ids")}


def call(name, arguments, which, array):
    getattr(nx, name)(**arguments | {which: array})


@pytest.mark.parametrize(("name", "arguments", "which"), CASES)
def test_a_number_in_place_of_an_array_is_refused(name, arguments, which):
    call(name, arguments, which, arguments[which])  # what stands there is accepted
    entries = np.asarray(arguments[which]).reshape(-1)
    number = entries[0] if np.ndim(arguments[which]) else entries
    if (name, which) in NUMBER_WILL_DO:
        call(name, arguments, which, number)
    else:
        with pytest.raises(ValueError, match=r"\A[\w*]+ has shape \(.*\); expected .*\Z"):
            call(name, arguments, which, number)


@pytest.mark.parametrize(("name", "arguments", "which"), CASES)
@pytest.mark.parametrize("bad", ["1", None])
def test_what_is_no_number_is_refused(name, arguments, which, bad):
    with pytest.raises(ValueError, match=r"\A[\w ]+ has dtype (<U1|object); expected .*\Z"):
        call(name, arguments, which, np.full(np.shape(arguments[which]), bad))


def test_exact_numbers_are_taken():
    assert nx.relu([Fraction(-1, 2), Fraction(1, 4), 3]).tolist() == [0, 0.25, 3]


@pytest.mark.parametrize("name", ["query_input", "key_input"])
def test_operations_are_counted_on_one_row_at_least(name):
    arguments, _ = CALLS["count_attention"]
    with pytest.raises(ValueError, match=rf"{name} has shape \(0, 6\); expected at least one row"):
        call("count_attention", arguments, name, np.ones((0, D)))


@pytest.mark.parametrize(("name", "which"), [("decoder_only", "tokens"), ("transformer", "target")])
def test_a_model_reads_one_token_at_least(name, which):
    arguments, _ = CALLS[name]
    with pytest.raises(ValueError, match=rf"{which} has shape \(2, 0\); expected .* n >= 1"):
        call(name, arguments, which, np.ones((B, 0), int))


def test_every_function_of_arrays_is_here():
    listed = {name for name, _ in all_calls()}
    takes_arrays = {
        name for name in nx.__all__ if inspect.isfunction(getattr(nx, name))
        and any("ArrayLike" in str(p.annotation) and p.default is p.empty
                for p in inspect.signature(getattr(nx, name)).parameters.values())
    }  # fmt: skip
    tried_elsewhere = {
        *(name for name in takes_arrays if name.endswith("_pullback")),  # what `f` and `f_vjp` call
        *ELEMENTWISE, "leaky_relu",  # any shape will do
        "boolean_mask", "combine_masks", "attention_weights", "position_encoding",
        "position_encoding_vjp", "post_norm", "post_norm_vjp", "pre_norm", "pre_norm_vjp",
        "residual_stack", "residual_stack_vjp", "sample_dot_products", "next_token_loss",
        "save_safetensors",
    }  # fmt: skip
    assert takes_arrays - listed == tried_elsewhere & takes_arrays
