"""Token vectors and the tied output."""

import math

import numpy as np
import pytest

from numeric import (
    central_difference_error,
    complex_step_error,
    cross_entropy,
    cross_entropy_vjp,
    embedding,
    embedding_vjp,
    tied_logits,
    tied_logits_vjp,
)

# with repetitions, and token 2 nowhere
IDS = [np.array([1, 3, 1, 0]), np.array([[4, 4, 4], [0, 1, 4]]), np.array(3)]


def bound(ids, scale):
    return (
        lambda table: embedding(ids, table, scale=scale),
        lambda table, g: embedding_vjp(ids, table, g, scale=scale),
    )


@pytest.mark.parametrize("scale", [1.0, math.sqrt(3)])
@pytest.mark.parametrize("ids", IDS)
def test_vjp(ids, scale, rng):
    arguments = (rng.standard_normal((5, 3)),)
    assert complex_step_error(*bound(ids, scale), arguments, rng) < 1e-14
    assert central_difference_error(*bound(ids, scale), arguments, rng) < 1e-8


@pytest.mark.parametrize("ids", IDS)
def test_rows_of_the_table(ids, rng):
    table = rng.standard_normal((5, 3))
    output = embedding(ids, table)
    assert output.shape == (*ids.shape, 3)
    for place in np.ndindex(ids.shape):
        np.testing.assert_array_equal(output[place], table[ids[place]])
    np.testing.assert_allclose(embedding(ids, table, scale=2.5), 2.5 * output)


def test_a_token_that_occurs_twice_counts_twice():
    gradient = embedding_vjp([2, 0, 2], np.zeros((4, 1)), [[1.0], [10.0], [100.0]])
    np.testing.assert_array_equal(gradient, [[10], [0], [101], [0]])


def test_the_product_with_one_hot_rows(rng):
    """The embedding is that product, and its vjp that of the product."""
    ids, table = IDS[1], rng.standard_normal((5, 3))
    one_hot, cotangent = np.eye(5)[ids], rng.standard_normal((2, 3, 3))
    np.testing.assert_allclose(embedding(ids, table), one_hot @ table)
    expected = np.einsum("btv,btd->vd", one_hot, cotangent)
    np.testing.assert_allclose(embedding_vjp(ids, table, cotangent), expected)


@pytest.mark.parametrize("leading", [(), (4,), (2, 3)])
def test_vjp_of_tied_logits(leading, rng):
    arguments = rng.standard_normal((*leading, 3)), rng.standard_normal((5, 3))
    assert complex_step_error(tied_logits, tied_logits_vjp, arguments, rng) < 1e-14
    np.testing.assert_allclose(tied_logits(*arguments), arguments[0] @ arguments[1].T)


def test_a_tied_table_gets_the_sum_of_both_gradients(rng):
    ids, targets, scale = np.array([1, 2, 1]), np.array([2, 0, 3]), math.sqrt(3)

    def loss(table):
        return cross_entropy(tied_logits(embedding(ids, table, scale=scale), table), targets)

    def by_parts(table, g):
        x = embedding(ids, table, scale=scale)
        grad_logits = cross_entropy_vjp(tied_logits(x, table), targets, g)
        grad_x, at_output = tied_logits_vjp(x, table, grad_logits)
        return embedding_vjp(ids, table, grad_x, scale=scale), at_output

    def both(table, g):
        at_input, at_output = by_parts(table, g)
        return at_input + at_output

    table = rng.standard_normal((4, 3))
    assert complex_step_error(loss, both, (table,), rng) < 1e-14
    for part in (0, 1):
        one = lambda table, g, part=part: by_parts(table, g)[part]  # noqa: E731
        assert complex_step_error(loss, one, (table,), rng) > 1e-2


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_half_precision_is_computed_in_single(dtype, rng):
    table, x = rng.standard_normal((5, 3)).astype(dtype), rng.standard_normal((2, 3)).astype(dtype)
    assert embedding([1, 2], table, scale=math.sqrt(3)).dtype == np.float32
    assert embedding_vjp([1, 2], table, x, scale=math.sqrt(3)).dtype == np.float32
    assert tied_logits(x, table).dtype == np.float32
    cotangent = np.ones((2, 5), dtype)
    assert {g.dtype for g in tied_logits_vjp(x, table, cotangent)} == {np.dtype(np.float32)}


def test_no_tokens():
    table, none = np.ones((5, 3)), np.zeros((0, 4), dtype=int)
    assert embedding(none, table).shape == (0, 4, 3)
    np.testing.assert_array_equal(embedding_vjp(none, table, np.zeros((0, 4, 3))), 0 * table)


@pytest.mark.parametrize(
    ("ids", "shape", "message"),
    [
        ([5], (5, 3), "ids holds 5; expected 0 to 4"),
        ([0, -1], (5, 3), "ids holds -1; expected 0 to 4"),
        ([0.0], (5, 3), "ids has dtype float64; expected integers"),
        ([[True]], (5, 3), "ids has dtype bool; expected integers"),
        ([0], (5,), r"table has shape \(5,\); expected \(v, d_model\)"),
    ],
)
def test_what_does_not_fit(ids, shape, message):
    with pytest.raises(ValueError, match=message):
        embedding(ids, np.zeros(shape))
    with pytest.raises(ValueError, match=message):
        embedding_vjp(ids, np.zeros(shape), np.zeros((len(ids), 3)))


def test_shapes_that_do_not_fit():
    with pytest.raises(ValueError, match=r"cotangent has shape \(3, 2\); expected \(2, d_model=3"):
        embedding_vjp([0, 1], np.zeros((5, 3)), np.zeros((3, 2)))
    with pytest.raises(ValueError, match=r"x has shape \(4, 5\); expected \(\.\.\., d_in=3\)"):
        tied_logits(np.zeros((4, 5)), np.zeros((5, 3)))
    with pytest.raises(ValueError, match=r"table has shape \(5,\); expected \(v, d_model\)"):
        tied_logits_vjp(np.zeros((4, 5)), np.zeros(5), np.zeros((4, 5)))
