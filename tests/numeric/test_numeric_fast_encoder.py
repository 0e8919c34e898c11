"""The fast encoder layer agrees with the plain one, which is its specification."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from numeric import boolean_mask, causal_mask, encoder_layer, encoder_layer_vjp, padding_mask
from numeric.fast_encoder import FastEncoderLayer, _are_tame
from numeric.layer_weights import EncoderLayerWeights, LayerNormWeights
from numeric.trees import leaves, map_leaves

#: Long sequences do not keep all exponentials, and many of them go backward in two parts.
SHAPES = [
    (7, 12), (2, 5, 12), (2, 3, 4, 12), (1, 12), (300, 12), (2, 300, 12), (70, 30, 12), (0, 3, 12)
]  # fmt: skip


def mask_of_every_head(shape):
    drawn = np.random.default_rng(3).random((*shape[:-2], 3, shape[-2], shape[-2]))
    return boolean_mask(drawn < 0.6)


MASKS = {
    "none": lambda shape: None,
    "causal": lambda shape: causal_mask(shape[-2]),
    "without a key": lambda shape: causal_mask(shape[-2], offset=-1),
    "padding": lambda shape: padding_mask(np.arange(shape[-2]) % 2 == np.zeros((*shape[:-2], 1))),
    "another in every head": mask_of_every_head,
}


def drawn(dtype=np.float64, scale=1.0):
    rng = np.random.default_rng(5)
    weights = EncoderLayerWeights.init(rng, 12, 3, 20)
    norms = [LayerNormWeights(*rng.standard_normal((2, 12))) for _ in range(2)]
    weights = replace(weights, attention_norm=norms[0], feed_forward_norm=norms[1])
    return map_leaves(lambda a: (scale * a).astype(dtype), weights)


def assert_agrees(layer, weights, shape, mask, tolerance):
    rng = np.random.default_rng([7, *shape])
    dtype = weights.attention.w_q.dtype
    x, g = (rng.standard_normal(shape).astype(dtype) for _ in range(2))
    output = layer.forward(x, mask=mask)
    assert output.dtype == dtype
    np.testing.assert_allclose(output, encoder_layer(x, weights, mask=mask), **tolerance)
    found_x, found = layer.backward(g)
    wanted_x, wanted = encoder_layer_vjp(x, weights, g, mask=mask)
    assert type(found) is EncoderLayerWeights
    for a, b in zip([found_x, *leaves(found)], [wanted_x, *leaves(wanted)], strict=True):
        assert (a.shape, a.dtype) == (b.shape, dtype)
        scale = np.abs(b).max(initial=1)
        np.testing.assert_allclose(a / scale, b / scale, **tolerance)


EXACT = {"rtol": 0, "atol": 1e-13}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("shape", SHAPES)
def test_it_is_the_plain_layer(shape, mask):
    weights = drawn()
    assert_agrees(FastEncoderLayer(weights), weights, shape, MASKS[mask](shape), EXACT)


@pytest.mark.parametrize("shape", SHAPES)
def test_it_is_the_plain_layer_in_float32(shape):
    weights = drawn(np.float32)
    assert_agrees(FastEncoderLayer(weights), weights, shape, None, {"rtol": 0, "atol": 2e-5})


def test_scores_that_would_leave_the_range_of_exp():
    weights = drawn(scale=30)
    layer = FastEncoderLayer(weights)
    assert_agrees(layer, weights, (6, 12), None, {"rtol": 0, "atol": 1e-9})
    assert all(layer._shifted)


def test_finite_exponentials_whose_sum_is_not():
    """A query of (1, 0) times keys of about (s, 0), where e^s is the largest number but one factor
    of e: forty of them are too many for the sum."""
    limit = float(np.log(np.finfo(np.float64).max)) - 1
    weights = drawn()
    attention = weights.attention
    zero = map_leaves(np.zeros_like, attention)
    b_q, b_k = zero.b_q.copy(), zero.b_k.copy()
    b_q[:, 0], b_k[:, 0] = 1, limit * np.sqrt(attention.d_k)
    weights = replace(weights, attention=replace(attention, w_q=zero.w_q, w_k=zero.w_k, b_q=b_q,
                                                 b_k=b_k))  # fmt: skip
    layer = FastEncoderLayer(weights)
    assert_agrees(layer, weights, (40, 12), None, {"rtol": 0, "atol": 1e-11})  # scores of 700
    assert all(layer._shifted)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_small_scores_need_no_shift(dtype):
    """Just inside the limits no term of a sum has vanished that would count beside it."""
    limit = np.sqrt(np.finfo(dtype).max)
    totals = np.array([1.01 / limit, 1, 0.99 * limit], dtype)
    assert _are_tame(totals)
    for outside in (0, 0.99 / limit, 1.01 * limit, np.inf, np.nan):
        assert not _are_tame(np.append(totals, dtype(outside)))
    assert np.finfo(dtype).tiny / totals[0] < np.finfo(dtype).eps ** 2


def test_one_layer_serves_many_shapes_in_turn():
    weights = drawn()
    layer = FastEncoderLayer(weights)
    for shape in (*SHAPES, *SHAPES[::-1]):
        for mask in MASKS.values():
            assert_agrees(layer, weights, shape, mask(shape), EXACT)


def test_backward_is_that_of_the_last_forward_and_may_be_repeated():
    weights, rng = drawn(), np.random.default_rng(0)
    layer = FastEncoderLayer(weights)
    x, y, g = rng.standard_normal((3, 2, 5, 12))
    layer.forward(x)
    layer.forward(y)
    for _ in range(2):
        found = layer.backward(g)[0]
        np.testing.assert_allclose(found, encoder_layer_vjp(y, weights, g)[0], **EXACT)


@pytest.mark.parametrize("part", ["_network_backward", "_attend_backward", "_gradients"])
def test_backward_after_one_that_was_interrupted(part, monkeypatch):
    weights, rng = drawn(), np.random.default_rng(0)
    layer = FastEncoderLayer(weights)
    x, g = rng.standard_normal((2, 70, 30, 12))
    layer.forward(x)
    real, calls = getattr(layer, part), []

    def interrupted(*arguments):
        calls.append(part)
        if len(calls) == (1 if part == "_gradients" else 2):  # in the second span
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(layer, part, interrupted)
    with pytest.raises(KeyboardInterrupt):
        layer.backward(g)
    found_x, found = layer.backward(g)
    wanted_x, wanted = encoder_layer_vjp(x, weights, g)
    for a, b in zip([found_x, *leaves(found)], [wanted_x, *leaves(wanted)], strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-11)


@pytest.mark.parametrize("d_ff", [1, 3, 5, 9, 31])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_hidden_units_of_any_number(d_ff, dtype):
    """What is known of every one is a byte, in memory that holds numbers of four or eight."""
    weights = EncoderLayerWeights.init(np.random.default_rng(5), 12, 3, d_ff).astype(dtype)
    tolerance = EXACT if dtype == np.float64 else {"rtol": 0, "atol": 2e-5}
    assert_agrees(FastEncoderLayer(weights), weights, (2, 7, 12), None, tolerance)


def test_what_it_returned_may_be_handed_back_to_it():
    weights, rng = drawn(), np.random.default_rng(0)
    layer = FastEncoderLayer(weights)
    x = rng.standard_normal((2, 5, 12))
    y = encoder_layer(x, weights)
    layer.forward(layer.forward(x))
    g = rng.standard_normal(x.shape)
    grad_y, _ = encoder_layer_vjp(y, weights, g)
    np.testing.assert_allclose(layer.backward(g)[0], grad_y, **EXACT)
    again, _ = encoder_layer_vjp(y, weights, grad_y)
    np.testing.assert_allclose(layer.backward(layer.backward(g)[0])[0], again, **EXACT)


def test_inputs_are_left_alone():
    weights, rng = drawn(), np.random.default_rng(0)
    x, g = rng.standard_normal((2, 3, 12))
    kept = x.copy(), g.copy(), map_leaves(np.copy, weights)
    layer = FastEncoderLayer(weights)
    layer.forward(x)
    layer.backward(g)
    for a, b in zip([x, g, *leaves(weights)], [kept[0], kept[1], *leaves(kept[2])], strict=True):
        np.testing.assert_array_equal(a, b)


def test_strided_inputs():
    weights, rng = drawn(), np.random.default_rng(0)
    x, g = rng.standard_normal((2, 12, 8)).swapaxes(1, 2)[:, ::2]
    layer = FastEncoderLayer(weights)
    np.testing.assert_allclose(layer.forward(x), encoder_layer(x, weights), **EXACT)
    np.testing.assert_allclose(layer.backward(g)[0], encoder_layer_vjp(x, weights, g)[0], **EXACT)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_no_number_is_refused(bad):
    x = np.ones((3, 12))
    x[1, 2] = bad
    with np.errstate(invalid="ignore"), pytest.raises(ValueError, match="nan or"):
        FastEncoderLayer(drawn()).forward(x)


def test_numbers_whose_squares_overflow_are_refused():
    """They are no row of zeros; without queries and keys the scores would not tell."""
    weights = map_leaves(np.zeros_like, drawn(np.float32))
    x = np.zeros((3, 12))
    x[1, 2] = 1e25
    for run in (partial(encoder_layer, weights=weights), FastEncoderLayer(weights).forward):
        with pytest.raises(ValueError, match=r"squares overflow \(above about 2e\+19 in float32"):
            run(x.astype(np.float32))


def test_a_mean_far_above_the_deviation_costs_no_digits():
    """In float32 means near 1000 are off by up to 3e-5, a deviation of 0.01 is no more than that
    times 300."""
    weights = drawn()
    still = map_leaves(np.zeros_like, (weights.attention, weights.feed_forward))
    weights = replace(weights, attention=still[0], feed_forward=still[1])
    x = 1000 + 0.01 * np.random.default_rng(0).standard_normal((40, 12)).astype(np.float32)
    exact = encoder_layer(x.astype(np.float64), weights)
    found = FastEncoderLayer(weights.astype(np.float32)).forward(x)
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-5)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, np.nan, np.inf])
def test_an_epsilon_that_is_not_positive_is_refused(epsilon):
    with pytest.raises(ValueError, match=f"epsilon is {epsilon}; expected a finite number above 0"):
        FastEncoderLayer(drawn(), epsilon=epsilon)


def test_what_is_not_real_is_refused():
    layer = FastEncoderLayer(drawn())
    with pytest.raises(ValueError, match="dtype <U1; expected numbers"):
        layer.forward([["1"] * 12])
    with pytest.raises(ValueError, match="x has dtype complex128; expected real numbers"):
        layer.forward(np.ones((3, 12)) + 0j)
    layer.forward(np.ones((3, 12), np.float16))
    with pytest.raises(ValueError, match="cotangent has dtype complex128; expected real numbers"):
        layer.backward(np.ones((3, 12)) + 0j)
    with pytest.raises(ValueError, match="weights have dtype complex128; expected real numbers"):
        FastEncoderLayer(drawn(np.complex128))


@pytest.mark.parametrize("narrow", ["attention", "feed_forward", "feed_forward_norm"])
def test_the_widest_precision_of_the_weights_is_that_of_all(narrow):
    weights = drawn()
    weights = replace(weights, **{narrow: getattr(weights, narrow).astype(np.float32)})
    x, g = np.random.default_rng(0).standard_normal((2, 3, 12))
    layer = FastEncoderLayer(weights)
    np.testing.assert_allclose(layer.forward(x), encoder_layer(x, weights), **EXACT)
    grad_x, found = layer.backward(g)
    assert {a.dtype for a in (grad_x, *leaves(found))} == {np.dtype(np.float64)}
    np.testing.assert_allclose(grad_x, encoder_layer_vjp(x, weights, g)[0], **EXACT)


def test_backward_needs_a_forward_pass_that_has_come_to_its_end():
    layer = FastEncoderLayer(drawn())
    with pytest.raises(RuntimeError, match="call forward first"):
        layer.backward(np.ones((3, 12)))
    layer.forward(np.ones((3, 12)))
    layer.backward(np.ones((3, 12)))
    with pytest.raises(ValueError, match="nan or"):
        layer.forward(np.full((3, 12), np.nan))
    with pytest.raises(RuntimeError, match="call forward first"):
        layer.backward(np.ones((3, 12)))


def test_other_layers_are_refused():
    weights = drawn()
    others = [
        EncoderLayerWeights.init(np.random.default_rng(0), 12, 3, 20, bias=False),
        replace(weights, attention=replace(weights.attention, b_k=None)),
        replace(weights, attention_norm=replace(weights.attention_norm, beta=None)),
    ]
    for other in others:
        with pytest.raises(ValueError, match="not a layer of the original Transformer"):
            FastEncoderLayer(other)


@pytest.mark.parametrize("shape", [(3, 5, 5), (2, 5, 5), (5, 4), (2, 3, 5, 4), (5,)])
def test_a_mask_that_the_plain_layer_refuses_is_refused(shape):
    x, weights, mask = np.ones((2, 5, 12)), drawn(), np.zeros(shape)
    with pytest.raises(ValueError, match="mask has shape") as plain:
        encoder_layer(x, weights, mask=mask)
    with pytest.raises(ValueError, match="mask has shape") as fast:
        FastEncoderLayer(weights).forward(x, mask=mask)
    assert str(fast.value) == str(plain.value)


def test_bad_shapes_are_named():
    layer = FastEncoderLayer(drawn())
    with pytest.raises(
        ValueError, match=r"x has shape \(3, 11\); expected \(\.\.\., n, d_model=12"
    ):
        layer.forward(np.ones((3, 11)))
    with pytest.raises(ValueError, match=r"x has shape \(2, 0, 12\); expected at least one token"):
        layer.forward(np.ones((2, 0, 12)))
    with pytest.raises(ValueError, match=r"x has shape \(\); expected"):
        layer.forward(1.0)
    layer.forward(np.ones((3, 12)))
    with pytest.raises(ValueError, match=r"cotangent has shape \(2, 12\); expected \(3, 12\)"):
        layer.backward(np.ones((2, 12)))
