"""What every function of the package has in common, over random shapes and kinds of arrays."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import numeric
from numeric import (
    FeedForwardWeights,
    GatedFeedForwardWeights,
    MultiHeadWeights,
    causal_mask,
    directional_error,
    leaves,
    map_leaves,
    padding_mask,
)

BATCHES = st.sampled_from([(), (1,), (2,), (3, 2)])
SIZES = st.integers(1, 5)
SOME = settings(derandomize=True, deadline=None, max_examples=10)


@dataclass(frozen=True)
class Case:
    """`batched` are the arguments with one entry per sequence, `shared` those that have none."""

    forward: Callable[..., Any]
    vjp: Callable[..., Any]
    batched: tuple[Any, ...]
    shared: tuple[Any, ...] = ()

    @property
    def arguments(self):
        return (*self.batched, *self.shared)


def pair(name, **options):
    functions = getattr(numeric, name), getattr(numeric, f"{name}_vjp")
    return tuple(partial(function, **options) for function in functions) if options else functions


def random_mask(rng, n, m):
    """Biases, keys left out, and now and then a query without any key."""
    mask = np.where(rng.random((n, m)) < 0.6, rng.standard_normal((n, m)), -np.inf)
    mask[rng.integers(0, n)] = -np.inf
    return mask


def rows(name, d=5, **options):
    """x (..., n, d) alone."""
    return lambda rng, batch, n, m: Case(
        *pair(name, **options), (rng.standard_normal((*batch, n, d)),)
    )


def norm(name, vectors):
    return lambda rng, batch, n, m: Case(
        *pair(name, epsilon=0.1),
        (rng.standard_normal((*batch, n, 5)),),
        tuple(rng.standard_normal((vectors, 5))),
    )


def attention(name, h, g, make_mask):
    def build(rng, batch, n, m):
        shapes = (*h, n, 4), (*g, m, 4), (*g, m, 3)
        arrays = tuple(rng.standard_normal((*batch, *shape)) for shape in shapes)
        return Case(*pair(name, mask=make_mask(rng, n, m)), arrays)

    return build


def multi_head(g, make_mask, bias):
    def build(rng, batch, n, m):
        inputs = tuple(rng.standard_normal((*batch, tokens, 6)) for tokens in (n, m, m))
        weights = MultiHeadWeights.init(rng, 6, 4, 3, 2, bias=bias, g=g)
        return Case(*pair("multi_head_attention", mask=make_mask(rng, n, m)), inputs, (weights,))

    return build


def self_attention(rng, batch, n, m):
    x, weights = rng.standard_normal((*batch, n, 6)), MultiHeadWeights.init(rng, 6, 3)
    return Case(*pair("self_attention", mask=causal_mask(n)), (x,), (weights,))


def with_weights(name, weights, **options):
    return lambda rng, batch, n, m: Case(
        *pair(name, **options), (rng.standard_normal((*batch, n, 5)),), weights(rng)
    )


def linear_weights(rng):
    return rng.standard_normal((5, 4)), rng.standard_normal(4)


def rotary(layout):
    def build(rng, batch, n, m):
        forward, vjp = pair("rotary_encoding", layout=layout)
        positions = m + np.arange(n)
        return Case(
            lambda x: forward(x, positions),
            lambda x, g: vjp(x, positions, g),
            (rng.standard_normal((*batch, n, 6)),),
        )

    return build


def no_mask(rng, n, m):
    return None


def causal(rng, n, m):
    return causal_mask(n, m, offset=m - n)


def padded(rng, n, m):
    return padding_mask(np.arange(m) < m - 1)[0]


BUILDERS = {
    "softmax": rows("softmax"),
    "log_softmax": rows("log_softmax"),
    "relu": rows("relu"),
    "sigmoid": rows("sigmoid"),
    "silu": rows("silu"),
    "gelu": rows("gelu"),
    "gelu_tanh": rows("gelu_tanh"),
    "layer_norm": norm("layer_norm", 2),
    "layer_norm_outside": norm("layer_norm_outside", 2),
    "rms_norm": norm("rms_norm", 1),
    "linear": with_weights("linear", linear_weights),
    "tied_logits": with_weights("tied_logits", lambda rng: (rng.standard_normal((7, 5)),)),
    "feed_forward": with_weights(
        "feed_forward", lambda rng: (FeedForwardWeights.init(rng, 5, 7),), activation=numeric.GELU
    ),
    "gated_feed_forward": with_weights(
        "gated_feed_forward", lambda rng: (GatedFeedForwardWeights.init(rng, 5, 7, bias=True),)
    ),
    "scaled_dot_product_attention": attention("scaled_dot_product_attention", (), (), no_mask),
    "with a mask": attention("scaled_dot_product_attention", (), (), random_mask),
    "with heads, causal": attention("scaled_dot_product_attention", (3,), (3,), causal),
    "grouped_query_attention": attention("grouped_query_attention", (4,), (2,), no_mask),
    "multi-query, with a mask": attention("grouped_query_attention", (3,), (1,), random_mask),
    "multi_head_attention": multi_head(None, no_mask, True),
    "with shared heads, causal": multi_head(2, causal, False),
    "with a padding mask": multi_head(1, padded, True),
    "self_attention": self_attention,
    "rotary_encoding": rotary("interleaved"),
    "rotary_encoding, halves": rotary("halves"),
}
EVERY = pytest.mark.parametrize("build", [pytest.param(b, id=name) for name, b in BUILDERS.items()])


def drawn(build, batch, n, m, seed):
    """The case, and a cotangent of its output."""
    rng = np.random.default_rng(seed)
    case = build(rng, batch, n, m)
    shape = np.shape(case.forward(*case.arguments))
    return case, rng.standard_normal(shape)


def strided(array):
    """The same numbers, every second one of a larger array, backwards."""
    large = np.full([2 * size + 1 for size in array.shape], np.nan, array.dtype)
    view = large[tuple(slice(1, None, 2) for _ in array.shape)]
    view = view[(slice(None, None, -1),) * array.ndim]
    view[...] = array
    return view


def read_only(array):
    """In the order of Fortran, and not to be written to."""
    array = np.array(array, order="F")
    array.flags.writeable = False
    return array


@EVERY
@SOME
@given(BATCHES, SIZES, SIZES, st.integers(0, 999))
def test_gradients_at_all_shapes(build, batch, n, m, seed):
    case, _ = drawn(build, batch, n, m, seed)
    rng = np.random.default_rng(seed)
    assert directional_error(case.forward, case.vjp, case.arguments, rng, directions=2) < 1e-6


@EVERY
@pytest.mark.parametrize("kind", [strided, read_only])
@SOME
@given(BATCHES, SIZES, SIZES, st.integers(0, 999))
def test_order_in_memory_makes_no_difference(kind, build, batch, n, m, seed):
    case, cotangent = drawn(build, batch, n, m, seed)
    views = map_leaves(kind, case.arguments)
    output = case.forward(*views)
    np.testing.assert_allclose(output, case.forward(*case.arguments), rtol=0, atol=1e-13)
    expected = case.vjp(*case.arguments, cotangent)
    gradients = case.vjp(*views, kind(cotangent))
    for gradient, other in zip(leaves(gradients), leaves(expected), strict=True):
        np.testing.assert_allclose(gradient, other, rtol=0, atol=1e-12)
    for view, argument in zip(leaves(views), leaves(case.arguments), strict=True):
        np.testing.assert_array_equal(view, argument)


@EVERY
@SOME
@given(BATCHES, SIZES, SIZES, st.integers(0, 999))
def test_float32_stays_float32_and_float16_becomes_it(build, batch, n, m, seed):
    case, cotangent = drawn(build, batch, n, m, seed)
    half = map_leaves(lambda array: array.astype(np.float16), (case.arguments, cotangent))
    single = map_leaves(lambda array: array.astype(np.float32), half)
    double = map_leaves(lambda array: array.astype(np.float64), half)

    def everything(arguments, g):
        return leaves((case.forward(*arguments), case.vjp(*arguments, g)))

    for of_half, of_single, of_double in zip(
        everything(*half), everything(*single), everything(*double), strict=True
    ):
        assert of_half.dtype == of_single.dtype == np.float32
        assert of_double.dtype == np.float64
        np.testing.assert_array_equal(of_half, of_single)
        scale = 1 + np.abs(of_double).max(initial=0)
        np.testing.assert_allclose(of_single, of_double, rtol=0, atol=2e-5 * scale)


@EVERY
@pytest.mark.parametrize("batch", [(0,), (2, 0)])
def test_a_batch_of_no_sequences(build, batch):
    case = build(np.random.default_rng(0), batch, 3, 4)
    output = case.forward(*case.arguments)
    assert output.shape[: len(batch)] == batch
    gradients = leaves(case.vjp(*case.arguments, np.zeros(output.shape)))
    for gradient, argument in zip(gradients, leaves(case.arguments), strict=True):
        assert gradient.shape == argument.shape
        np.testing.assert_array_equal(gradient, 0)


@EVERY
@SOME
@given(SIZES, SIZES, st.integers(0, 999))
def test_sequences_of_a_batch_do_not_meet(build, n, m, seed):
    case, cotangent = drawn(build, (3,), n, m, seed)
    output, gradients = case.forward(*case.arguments), case.vjp(*case.arguments, cotangent)
    gradients = gradients if isinstance(gradients, tuple) else (gradients,)
    split = len(case.batched)
    shared = [np.zeros_like(leaf) for leaf in leaves(case.shared)]
    for i in range(3):
        alone = (*(array[i] for array in case.batched), *case.shared)
        np.testing.assert_allclose(output[i], case.forward(*alone), rtol=0, atol=1e-13)
        parts = case.vjp(*alone, cotangent[i])
        parts = parts if isinstance(parts, tuple) else (parts,)
        for gradient, part in zip(gradients[:split], parts[:split], strict=True):
            np.testing.assert_allclose(gradient[i], part, rtol=0, atol=1e-12)
        shared = [a + b for a, b in zip(shared, leaves(parts[split:]), strict=True)]
    for gradient, total in zip(leaves(gradients[split:]), shared, strict=True):
        np.testing.assert_allclose(gradient, total, rtol=0, atol=1e-12)


@EVERY
def test_the_gradient_is_linear_in_the_cotangent(build):
    """Also at masked rows, and wherever a shortcut might be taken."""
    case, first = drawn(build, (2,), 3, 4, 0)
    second = np.random.default_rng(1).standard_normal(first.shape)
    both = leaves(case.vjp(*case.arguments, 2 * first - second))
    apart = (leaves(case.vjp(*case.arguments, g)) for g in (first, second))
    for gradient, one, other in zip(both, *apart, strict=True):
        np.testing.assert_allclose(gradient, 2 * one - other, rtol=0, atol=1e-12)


@EVERY
def test_a_zero_cotangent_gives_zero_gradients(build):
    case, cotangent = drawn(build, (2,), 3, 4, 0)
    for gradient in leaves(case.vjp(*case.arguments, np.zeros_like(cotangent))):
        np.testing.assert_array_equal(gradient, 0)


# --- invariances -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["linear", "feed_forward", "gated_feed_forward", "layer_norm"])
def test_tokens_are_treated_alike(name):
    case, cotangent = drawn(BUILDERS[name], (), 5, 1, 0)
    x, *shared = case.arguments
    order = np.array([3, 0, 4, 1, 2])
    np.testing.assert_allclose(
        case.forward(x[order], *shared), case.forward(x, *shared)[order], atol=1e-13
    )
    gradients = case.vjp(x, *shared, cotangent)
    permuted = case.vjp(x[order], *shared, cotangent[order])
    np.testing.assert_allclose(permuted[0], gradients[0][order], atol=1e-12)
    for gradient, other in zip(leaves(gradients[1:]), leaves(permuted[1:]), strict=True):
        np.testing.assert_allclose(gradient, other, atol=1e-12)


@pytest.mark.parametrize("name", ["scaled_dot_product_attention", "multi_head_attention"])
def test_the_order_of_the_keys_makes_no_difference(name):
    case, cotangent = drawn(BUILDERS[name], (), 3, 5, 0)
    queries, keys, values, *shared = case.arguments
    order = np.array([3, 0, 4, 1, 2])
    turned = queries, keys[order], values[order], *shared
    output = case.forward(*case.arguments)
    np.testing.assert_allclose(case.forward(*turned), output, atol=1e-13)
    gradients = case.vjp(*case.arguments, cotangent)
    permuted = case.vjp(*turned, cotangent)
    np.testing.assert_allclose(permuted[0], gradients[0], atol=1e-12)
    for i in (1, 2):
        np.testing.assert_allclose(permuted[i], gradients[i][order], atol=1e-12)


def test_self_attention_is_equivariant_under_permutations_of_the_tokens():
    """The merge of the heads by a reshape alone is not."""
    rng = np.random.default_rng(0)
    x, weights = rng.standard_normal((3, 4)), MultiHeadWeights.init(rng, 4, 2)
    order = np.array([2, 0, 1])
    output = numeric.self_attention(x, weights)
    np.testing.assert_allclose(numeric.self_attention(x[order], weights), output[order])


def test_a_head_given_twice_with_half_its_output_changes_nothing():
    rng = np.random.default_rng(0)
    w = MultiHeadWeights.init(rng, 6, 2, 3, 2)
    x, order = rng.standard_normal((5, 6)), [0, 0, 1]
    rows = w.w_o.reshape(2, 2, 6)[order] * np.array([0.5, 0.5, 1])[:, None, None]
    doubled = MultiHeadWeights(w.w_q[order], w.w_k[order], w.w_v[order], rows.reshape(6, 6))
    expected = numeric.self_attention(x, w)
    np.testing.assert_allclose(numeric.self_attention(x, doubled), expected, atol=1e-13)


def test_a_shift_of_all_scores_of_a_query_changes_nothing():
    rng = np.random.default_rng(0)
    arrays = rng.standard_normal((3, 4, 5))
    shift = np.broadcast_to(rng.standard_normal((4, 1)) * 50, (4, 4))
    expected = numeric.scaled_dot_product_attention(*arrays)
    shifted = numeric.scaled_dot_product_attention(*arrays, mask=shift)
    np.testing.assert_allclose(shifted, expected, rtol=1e-11)
    cotangent = rng.standard_normal((4, 5))
    gradients = numeric.scaled_dot_product_attention_vjp(*arrays, cotangent, mask=shift)
    for gradient, other in zip(
        gradients, numeric.scaled_dot_product_attention_vjp(*arrays, cotangent), strict=True
    ):
        np.testing.assert_allclose(gradient, other, atol=1e-12)
