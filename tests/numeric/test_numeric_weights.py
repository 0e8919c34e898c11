import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numeric import (
    FeedForwardWeights,
    MultiHeadWeights,
    attention_heads,
    concat_heads,
    head_width,
    leaves,
    map_leaves,
)

ONCE = settings(derandomize=True, deadline=None, max_examples=60)
SIZE = st.integers(1, 7)


@ONCE
@given(SIZE, SIZE, SIZE, SIZE)
def test_parameter_count_of_attention(d_model, h, d_k, d_v):
    rng = np.random.default_rng(0)
    without = MultiHeadWeights.init(rng, d_model, h, d_k, d_v).parameter_count()
    assert without == 2 * h * d_model * (d_k + d_v)
    with_bias = MultiHeadWeights.init(rng, d_model, h, d_k, d_v, bias=True).parameter_count()
    assert with_bias == without + 2 * h * d_k + h * d_v + d_model


@pytest.mark.parametrize(("d_model", "h"), [(512, 8), (12, 4), (30, 5), (8, 8), (2, 1)])
def test_four_d_squared_when_h_divides_d(d_model, h, rng):
    weights = MultiHeadWeights.init(rng, d_model, h)
    assert weights.d_k == weights.d_v == head_width(d_model, h)
    assert weights.parameter_count() == 4 * d_model**2


def test_base_model_counts(rng):
    assert MultiHeadWeights.init(rng, 512, 8).parameter_count() == 1_048_576
    assert MultiHeadWeights.init(rng, 512, 8, bias=True).parameter_count() == 1_050_624
    assert FeedForwardWeights.init(rng, 512, 2048, bias=False).parameter_count() == 2_097_152
    assert FeedForwardWeights.init(rng, 512, 2048).parameter_count() == 2_099_712


@ONCE
@given(SIZE, SIZE)
def test_parameter_count_of_feed_forward(d_model, d_ff):
    rng = np.random.default_rng(0)
    without = FeedForwardWeights.init(rng, d_model, d_ff, bias=False).parameter_count()
    assert without == 2 * d_model * d_ff
    assert FeedForwardWeights.init(rng, d_model, d_ff).parameter_count() == without + d_ff + d_model


def test_head_width_for_all_small_sizes():
    for d_model in range(1, 65):
        for h in range(1, 65):
            if d_model % h:
                with pytest.raises(
                    ValueError, match=f"d_model={d_model} is not divisible by h={h}"
                ):
                    head_width(d_model, h)
            else:
                assert h * head_width(d_model, h) == d_model


def test_a_head_width_rounded_down_loses_columns(rng):
    d_model, h = 100, 8
    floor = d_model // h
    weights = MultiHeadWeights.init(rng, d_model, h, floor, floor)
    x = rng.standard_normal((2, d_model))
    assert concat_heads(attention_heads(x, x, x, weights)).shape == (2, 96)
    assert weights.parameter_count() == 4 * 8 * 100 * 12 != 4 * d_model**2


@pytest.mark.parametrize(("d_model", "h"), [(0, 1), (4, 0), (-4, 2), (4.0, 2), (8, 2.0)])
def test_head_width_of_no_size(d_model, h):
    with pytest.raises(ValueError, match="expected an integer of at least 1"):
        head_width(d_model, h)


def test_init_refuses_an_undivided_width(rng):
    with pytest.raises(ValueError, match="d_model=100 is not divisible by h=8"):
        MultiHeadWeights.init(rng, 100, 8)
    with pytest.raises(ValueError, match="d_model=100 is not divisible by h=8"):
        MultiHeadWeights.init(rng, 100, 8, d_k=12)
    with pytest.raises(ValueError, match="d_v is 0; expected an integer of at least 1"):
        MultiHeadWeights.init(rng, 100, 8, d_k=12, d_v=0)
    with pytest.raises(ValueError, match="d_ff is 0; expected"):
        FeedForwardWeights.init(rng, 4, 0)


@pytest.mark.parametrize("name", ["w_q", "w_k", "w_v", "w_o", "b_q", "b_k", "b_v", "b_o"])
def test_a_transposed_field_is_refused(name, rng):
    weights = MultiHeadWeights.init(rng, 12, 4, 3, 2, bias=True)
    wrong = np.zeros((1, *getattr(weights, name).shape[::-1]))
    with pytest.raises(ValueError, match=rf"{name} has shape \(1, .*; expected \("):
        dataclasses.replace(weights, **{name: wrong})


def test_projections_in_column_convention_are_refused(rng):
    weights = MultiHeadWeights.init(rng, 12, 4, 3, 2)
    message = r"w_k has shape \(4, 3, 12\); expected \(g, d_key, d_k=3\)"
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(weights, w_k=weights.w_k.swapaxes(1, 2))
    feed_forward = FeedForwardWeights.init(rng, 5, 7)
    message = r"w_2 has shape \(5, 7\); expected \(d_ff=7, d_model=5\)"
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(feed_forward, w_2=feed_forward.w_2.T)


def test_heads_of_keys_and_values_are_shared_evenly(rng):
    weights = MultiHeadWeights.init(rng, 12, 4, 3, 2, bias=True, g=2)
    assert (weights.h, weights.g) == (4, 2)
    assert weights.parameter_count() == 12 * (4 * 3 + 2 * 3 + 2 * 2 + 4 * 2) + 4 * 3 + 10 + 12
    for g, message in [(3, "keys have g=3 heads"), (0, "g is 0; expected"), (8, "g=8 heads")]:
        with pytest.raises(ValueError, match=message):
            MultiHeadWeights.init(rng, 12, 4, g=g)
    with pytest.raises(ValueError, match="keys have g=3 heads, which do not divide the h=4 heads"):
        dataclasses.replace(weights, w_k=np.zeros((3, 12, 3)))
    message = r"w_v has shape \(4, 12, 2\); expected \(g=2, d_value, d_v\)"
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(weights, w_v=np.zeros((4, 12, 2)))


def test_sizes_are_read_off_the_arrays(rng):
    weights = MultiHeadWeights.init(rng, 12, 4, 3, 2)
    assert (weights.d_model, weights.h, weights.d_k, weights.d_v) == (12, 4, 3, 2)
    feed_forward = FeedForwardWeights.init(rng, 5, 7)
    assert (feed_forward.d_model, feed_forward.d_ff) == (5, 7)


def test_lists_and_integers_become_float64():
    weights = FeedForwardWeights([[1, 2]], [[3], [4]])
    assert weights.w_1.dtype == weights.w_2.dtype == np.float64


def test_same_seed_same_weights_and_no_two_arrays_alike():
    first, again = (MultiHeadWeights.init(np.random.default_rng(3), 12, 4, bias=True) for _ in "ab")
    for one, other in zip(leaves(first), leaves(again), strict=True):
        np.testing.assert_array_equal(one, other)
    assert np.abs(first.w_q - first.w_k).max() > 1e-3
    assert min(np.abs(array).max() for array in leaves(first)) > 1e-3


def test_cast_leaves_the_original_alone(rng):
    weights = MultiHeadWeights.init(rng, 12, 4)
    assert {array.dtype for array in leaves(weights.astype(np.float32))} == {np.dtype(np.float32)}
    assert {array.dtype for array in leaves(weights)} == {np.dtype(np.float64)}


def test_trees_nest_and_refuse_what_they_do_not_know(rng):
    tree = (FeedForwardWeights.init(rng, 2, 3, bias=False), None, (np.ones(4), np.float64(5)))
    assert [leaf.shape for leaf in leaves(tree)] == [(2, 3), (3, 2), (4,), ()]
    doubled = map_leaves(lambda array: 2 * array, tree)
    np.testing.assert_array_equal(doubled[0].w_1, 2 * tree[0].w_1)
    with pytest.raises(TypeError, match="list is not an array"):
        leaves([np.ones(4)])
    with pytest.raises(TypeError, match="type is not an array"):
        leaves(FeedForwardWeights)
