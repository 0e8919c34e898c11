import numeric_loops
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numeric import (
    MultiHeadWeights,
    attention_heads,
    central_difference_error,
    complex_step_error,
    concat_heads,
    directional_error,
    leaves,
    multi_head_attention,
    multi_head_attention_vjp,
    self_attention,
    self_attention_vjp,
    split_heads,
)

# n, m, d_model, h, d_k, d_v: all different, widths not tied to d_model, then degenerate ones
SIZES = [
    (3, 5, 12, 4, 3, 2),
    (2, 7, 6, 3, 5, 4),
    (1, 1, 1, 1, 1, 1),
    (1, 3, 2, 1, 2, 2),
    (2, 3, 4, 4, 1, 1),
    (4, 1, 2, 2, 1, 3),
]


def draw(rng, n, m, d_model, h, d_k, d_v, bias):
    inputs = [rng.standard_normal((tokens, d_model)) for tokens in (n, m, m)]
    return (*inputs, MultiHeadWeights.init(rng, d_model, h, d_k, d_v, bias=bias))


@settings(derandomize=True, deadline=None, max_examples=25)
@given(*[st.integers(1, 4)] * 6, st.booleans(), st.integers(0, 999))
def test_agrees_with_loops(n, m, d_model, h, d_k, d_v, bias, seed):
    arguments = draw(np.random.default_rng(seed), n, m, d_model, h, d_k, d_v, bias)
    output = multi_head_attention(*arguments)
    assert output.shape == (n, d_model)
    np.testing.assert_allclose(output, numeric_loops.multi_head(*arguments), atol=1e-12)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("sizes", SIZES)
def test_vjp(sizes, bias, rng):
    functions = multi_head_attention, multi_head_attention_vjp
    arguments = draw(rng, *sizes, bias)
    assert complex_step_error(*functions, arguments, rng) < 1e-13
    assert central_difference_error(*functions, arguments, rng) < 1e-7
    assert directional_error(*functions, arguments, rng) < 1e-7


@pytest.mark.parametrize("bias", [False, True])
def test_vjp_of_self_attention(bias, rng):
    x = rng.standard_normal((3, 12))
    arguments = (x, MultiHeadWeights.init(rng, 12, 4, bias=bias))
    assert complex_step_error(self_attention, self_attention_vjp, arguments, rng) < 1e-13


def test_large_layer_along_directions(rng):
    arguments = draw(rng, 20, 30, 128, 8, 16, 12, bias=True)
    error = directional_error(multi_head_attention, multi_head_attention_vjp, arguments, rng)
    assert error < 1e-6


@pytest.mark.parametrize("bias", [False, True])
def test_gradient_has_the_shapes_of_the_weights(bias, rng):
    arguments = draw(rng, 3, 5, 12, 4, 3, 2, bias)
    gradient = multi_head_attention_vjp(*arguments, rng.standard_normal((3, 12)))[-1]
    shapes = [array.shape for array in leaves(arguments[-1])]
    assert [array.shape for array in leaves(gradient)] == shapes


def test_one_bias_alone(rng):
    full = MultiHeadWeights.init(rng, 6, 3, 5, 4, bias=True)
    weights = MultiHeadWeights(full.w_q, full.w_k, full.w_v, full.w_o, b_v=full.b_v)
    arguments = (*(rng.standard_normal((n, 6)) for n in (2, 7, 7)), weights)
    functions = multi_head_attention, multi_head_attention_vjp
    np.testing.assert_allclose(
        multi_head_attention(*arguments), numeric_loops.multi_head(*arguments), atol=1e-12
    )
    assert complex_step_error(*functions, arguments, rng) < 1e-13


def test_key_bias_shifts_every_score_of_a_query_alike(rng):
    """Softmax does not see it, so its gradient is 0."""
    arguments = draw(rng, 3, 5, 12, 4, 3, 2, bias=True)
    gradient = multi_head_attention_vjp(*arguments, rng.standard_normal((3, 12)))[-1]
    np.testing.assert_allclose(gradient.b_k, 0, atol=1e-14)
    assert np.abs(gradient.b_q).max() > 1e-3


def test_output_is_the_sum_over_heads(rng):
    *inputs, weights = draw(rng, 3, 5, 12, 4, 3, 2, bias=False)
    heads = attention_heads(*inputs, weights)
    assert heads.shape == (4, 3, 2)
    by_head = [heads[i] @ weights.w_o[2 * i : 2 * i + 2] for i in range(4)]
    output = multi_head_attention(*inputs, weights)
    np.testing.assert_allclose(output, sum(by_head), atol=1e-13)


@settings(derandomize=True, deadline=None, max_examples=30)
@given(st.integers(1, 5), st.integers(0, 4), st.integers(1, 5))
def test_concat_puts_column_c_of_head_i_at_i_d_v_plus_c(h, n, d_v):
    heads = np.arange(h * n * d_v, dtype=float).reshape(h, n, d_v)
    concatenated = concat_heads(heads)
    assert concatenated.shape == (n, h * d_v)
    for i in range(h):
        for c in range(d_v):
            np.testing.assert_array_equal(concatenated[:, i * d_v + c], heads[i, :, c])
    np.testing.assert_array_equal(split_heads(concatenated, h), heads)


def test_sequences_of_a_batch_are_computed_one_by_one(rng):
    weights = MultiHeadWeights.init(rng, 12, 4, 3, 2, bias=True)
    inputs = [rng.standard_normal((2, 7, tokens, 12)) for tokens in (3, 5, 5)]
    cotangent = rng.standard_normal((2, 7, 3, 12))
    output = multi_head_attention(*inputs, weights)
    *grads, grad_weights = multi_head_attention_vjp(*inputs, weights, cotangent)
    total = [np.zeros_like(leaf) for leaf in leaves(weights)]
    for i in np.ndindex(2, 7):
        alone = [x[i] for x in inputs]
        np.testing.assert_allclose(output[i], multi_head_attention(*alone, weights), atol=1e-13)
        *expected, part = multi_head_attention_vjp(*alone, weights, cotangent[i])
        for gradient, other in zip(grads, expected, strict=True):
            np.testing.assert_allclose(gradient[i], other, atol=1e-13)
        total = [a + b for a, b in zip(total, leaves(part), strict=True)]
    for gradient, other in zip(leaves(grad_weights), total, strict=True):
        np.testing.assert_allclose(gradient, other, atol=1e-12)


def test_a_batch_of_no_sequences(rng):
    weights = MultiHeadWeights.init(rng, 12, 4, 3, 2, bias=True)
    inputs = [np.zeros((0, tokens, 12)) for tokens in (3, 5, 5)]
    assert multi_head_attention(*inputs, weights).shape == (0, 3, 12)
    *grads, grad_weights = multi_head_attention_vjp(*inputs, weights, np.zeros((0, 3, 12)))
    assert [gradient.shape for gradient in grads] == [(0, 3, 12), (0, 5, 12), (0, 5, 12)]
    for gradient, leaf in zip(leaves(grad_weights), leaves(weights), strict=True):
        np.testing.assert_array_equal(gradient, np.zeros_like(leaf))


@pytest.mark.parametrize("bias", [False, True])
def test_float32_stays_float32(bias, rng):
    arguments = draw(rng, 3, 5, 12, 4, 3, 2, bias)
    cotangent = rng.standard_normal((3, 12))
    single = [array.astype(np.float32) for array in (*arguments, cotangent)]
    output = multi_head_attention(*single[:-1])
    assert output.dtype == np.float32
    np.testing.assert_allclose(output, multi_head_attention(*arguments), atol=1e-4)
    gradients = leaves(multi_head_attention_vjp(*arguments, cotangent))
    for gradient, expected in zip(
        leaves(multi_head_attention_vjp(*single)), gradients, strict=True
    ):
        assert gradient.dtype == np.float32
        np.testing.assert_allclose(gradient, expected, atol=1e-4)


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (
            ((3, 11), (5, 12), (5, 12)),
            r"query_input has shape \(3, 11\); expected \(\.\.\., n, d_m",
        ),
        (((3, 12), (5, 2), (5, 12)), r"key_input has shape \(5, 2\); expected \(m, d_key=12"),
        (((3, 12), (5, 12), (3, 12)), r"value_input has shape \(3, 12\); expected \(m=5, d_value"),
        (
            ((2, 3, 12), (5, 12), (5, 12)),
            r"key_input has shape \(5, 12\); expected \(2, m, d_key",
        ),
        (((12,), (5, 12), (5, 12)), r"query_input has shape \(12,\)"),
    ],
)
def test_inputs_that_do_not_fit(shapes, message, rng):
    inputs = [np.zeros(shape) for shape in shapes]
    weights = MultiHeadWeights.init(rng, 12, 4)
    with pytest.raises(ValueError, match=message):
        multi_head_attention(*inputs, weights)
    with pytest.raises(ValueError, match=message):
        multi_head_attention_vjp(*inputs, weights, np.zeros((3, 12)))


def test_cotangent_of_another_shape(rng):
    arguments = draw(rng, 3, 5, 12, 4, 3, 2, bias=False)
    message = r"cotangent has shape \(5, 12\); expected \(n=3, d_model=12\)"
    with pytest.raises(ValueError, match=message):
        multi_head_attention_vjp(*arguments, np.zeros((5, 12)))


def test_columns_that_do_not_split():
    with pytest.raises(ValueError, match="concatenated has 12 columns; expected a multiple of h=5"):
        split_heads(np.zeros((3, 12)), 5)


@pytest.mark.parametrize("bias", [False, True])
def test_keys_and_values_made_of_other_widths(bias, rng):
    weights = MultiHeadWeights.init(rng, 12, 4, 3, 2, bias=bias, d_key=5, d_value=7)
    shapes = ((3, 12), (6, 5), (6, 7))
    arguments = (*(rng.standard_normal(shape) for shape in shapes), weights)
    assert (weights.d_model, weights.d_key, weights.d_value) == (12, 5, 7)
    np.testing.assert_allclose(
        multi_head_attention(*arguments), numeric_loops.multi_head(*arguments), atol=1e-12
    )
    functions = multi_head_attention, multi_head_attention_vjp
    assert complex_step_error(*functions, arguments, rng) < 1e-13
    message = r"key_input has shape \(6, 12\); expected \(m, d_key=5\)"
    with pytest.raises(ValueError, match=message):
        multi_head_attention(arguments[0], np.zeros((6, 12)), arguments[2], weights)
    message = r"value_input has shape \(6, 5\); expected \(m=6, d_value=7\)"
    with pytest.raises(ValueError, match=message):
        multi_head_attention(arguments[0], arguments[1], arguments[1], weights)
    with pytest.raises(ValueError, match="h is 0; expected an integer of at least 1"):
        split_heads(np.zeros((3, 12)), 0)
