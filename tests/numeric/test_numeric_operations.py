"""The loops that count compute the layers, and count what is done."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from numeric import (
    FeedForwardWeights,
    MultiHeadWeights,
    count_attention,
    count_feed_forward,
    feed_forward,
    multi_head_attention,
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
