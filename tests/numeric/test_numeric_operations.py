"""The loops that count compute the layers, and count what is done."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from numeric import (
    FeedForwardWeights,
    GatedFeedForwardWeights,
    MultiHeadWeights,
    count_attention,
    count_feed_forward,
    count_gated_feed_forward,
    count_layer_norm,
    count_linear,
    count_rms_norm,
    feed_forward,
    gated_feed_forward,
    layer_norm,
    linear,
    multi_head_attention,
    rms_norm,
)
from numeric.operations import _Counted, _dot


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.mark.parametrize("shift", [False, True])
@pytest.mark.parametrize(("n", "m", "d", "h"), [(3, 2, 6, 2), (1, 4, 4, 4), (2, 1, 5, 1)])
def test_attention_is_that_of_the_layer(rng, n, m, d, h, shift):
    w = MultiHeadWeights.init(rng, d, h)
    queries, keys = rng.standard_normal((n, d)), rng.standard_normal((m, d))
    output, _ = count_attention(queries, keys, w, shift=shift)
    np.testing.assert_allclose(output, multi_head_attention(queries, keys, keys, w), atol=1e-13)


@pytest.mark.parametrize("bias", [False, True])
def test_feed_forward_is_that_of_the_layer(rng, bias):
    w, x = FeedForwardWeights.init(rng, 3, 5, bias=bias), rng.standard_normal((4, 3))
    np.testing.assert_allclose(count_feed_forward(x, w)[0], feed_forward(x, w), atol=1e-14)


def test_operations_are_counted_one_by_one():
    counter = Counter()
    a, b = _Counted(3.0, counter), _Counted(2.0, counter)
    assert (a * b + a - b).value == 7.0
    assert (a / b).exp().larger(a).value == pytest.approx(np.exp(1.5))
    assert counter == {
        "multiply": 1, "add": 1, "subtract": 1, "divide": 1, "exp": 1, "compare": 1,
    }  # fmt: skip


def test_a_dot_product_has_one_addition_less_than_products():
    counter = Counter()
    row = [_Counted(x, counter) for x in (1.0, 2.0, 3.0)]
    assert _dot(row, row).value == 14.0
    assert counter == {"multiply": 3, "add": 2}


def test_stages_are_kept_apart(rng):
    w = MultiHeadWeights.init(rng, 6, 2)
    _, stages = count_attention(np.ones((2, 6)), np.ones((3, 6)), w)
    assert stages["queries"] == {"multiply": 72, "add": 60}
    assert stages["keys"] == {"multiply": 108, "add": 90}
    assert stages["scores"] == {"multiply": 36, "add": 24}
    assert stages["scaling"] == {"multiply": 12}
    assert stages["softmax"] == {"exp": 12, "add": 8, "divide": 12}


def test_a_wrong_shape_is_refused(rng):
    w = MultiHeadWeights.init(rng, 6, 2)
    with pytest.raises(ValueError, match="key_input has shape"):
        count_attention(np.ones((2, 6)), np.ones((3, 5)), w)


@pytest.mark.parametrize("bias", [False, True])
def test_gated_feed_forward_is_that_of_the_layer(rng, bias):
    w, x = GatedFeedForwardWeights.init(rng, 3, 5, bias=bias), rng.standard_normal((4, 3))
    output, stages = count_gated_feed_forward(x, w)
    np.testing.assert_allclose(output, gated_feed_forward(x, w), atol=1e-14)
    assert stages["gate"] == stages["up"] == {"multiply": 60, "add": 60 if bias else 40}
    assert stages["silu"] == {"activation": 20}
    assert stages["gating"] == {"multiply": 20}
    assert stages["down"] == {"multiply": 60, "add": 60 if bias else 48}


@pytest.mark.parametrize("bias", [False, True])
def test_a_linear_map_is_counted(rng, bias):
    x, w = rng.standard_normal((4, 3)), rng.standard_normal((3, 5))
    b = rng.standard_normal(5) if bias else None
    output, counter = count_linear(x, w, b)
    np.testing.assert_allclose(output, linear(x, w, b), atol=1e-14)
    assert counter == {"multiply": 60, "add": 60 if bias else 40}


def test_norms_are_counted(rng):
    x, gamma, beta = rng.standard_normal((4, 3)), rng.standard_normal(3), rng.standard_normal(3)
    output, counter = count_layer_norm(x, gamma, beta, epsilon=0.1)
    np.testing.assert_allclose(output, layer_norm(x, gamma, beta, epsilon=0.1), atol=1e-14)
    assert counter == {"add": 4 * (2 + 2 + 1 + 3), "subtract": 12, "multiply": 24,
                       "divide": 4 * 5, "root": 4}  # fmt: skip
    output, counter = count_rms_norm(x, gamma, epsilon=0.1)
    np.testing.assert_allclose(output, rms_norm(x, gamma, epsilon=0.1), atol=1e-14)
    assert counter == {"add": 4 * 3, "multiply": 24, "divide": 4 * 4, "root": 4}


def test_other_shapes_are_refused(rng):
    x = np.ones((2, 4))
    for refused in (
        lambda: count_linear(x, np.ones((3, 5))),
        lambda: count_layer_norm(x, np.ones(3), np.ones(3), epsilon=0.1),
        lambda: count_rms_norm(x, np.ones(3), epsilon=0.1),
        lambda: count_gated_feed_forward(x, GatedFeedForwardWeights.init(rng, 3, 5)),
    ):
        with pytest.raises(ValueError, match="x has shape"):
            refused()
