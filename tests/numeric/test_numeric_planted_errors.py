"""Realistic mistakes, planted one at a time: every check must reject every one of them.

Three kinds: a wrong vjp of a right layer (found by the gradient checks), a wrong layer whose
shapes fit (found by the loops), and wrong sizes (found by counting). Sizes are chosen so that the
mistake changes no shape where that is possible, since a wrong shape is the easy case.
"""

import math

import numeric_loops
import numpy as np
import pytest

from numeric import (
    FeedForwardWeights,
    MultiHeadWeights,
    Sublayer,
    attention_heads,
    batch_norm,
    batch_norm_vjp,
    central_difference_error,
    complex_step_error,
    concat_heads,
    directional_error,
    feed_forward,
    feed_forward_vjp,
    layer_norm,
    layer_norm_outside,
    layer_norm_outside_vjp,
    layer_norm_vjp,
    linear,
    linear_vjp,
    multi_head_attention,
    multi_head_attention_vjp,
    position_encoding,
    position_encoding_vjp,
    post_norm,
    post_norm_vjp,
    pre_norm,
    pre_norm_vjp,
    relu,
    relu_vjp,
    residual,
    residual_stack,
    residual_stack_vjp,
    residual_vjp,
    scaled_dot_product_attention,
    scaled_dot_product_attention_vjp,
    scaled_scores,
    scaled_scores_vjp,
    self_attention,
    self_attention_vjp,
    shift_matrix,
    softmax,
    softmax_vjp,
    split_heads,
)

CHECKS = [central_difference_error, complex_step_error, directional_error]
RNG = np.random.default_rng(7)
PLANTED = []


def normal(*shape):
    return RNG.standard_normal(shape)


def planted(function, *arguments):
    """Collect a wrong vjp of `function`, to be tried at `arguments`."""

    def collect(wrong_vjp):
        name = wrong_vjp.__name__
        PLANTED.append(pytest.param(function, wrong_vjp, arguments, id=name))
        return wrong_vjp

    return collect


# --- softmax ---------------------------------------------------------------------------------

LOGITS = normal(3, 5)


@planted(softmax, LOGITS)
def softmax_without_the_mean_term(logits, g):
    return softmax(logits) * g


@planted(softmax, LOGITS)
def softmax_mean_not_weighted(logits, g):
    p = softmax(logits)
    return p * (g - g.mean(axis=-1, keepdims=True))


@planted(softmax, LOGITS)
def softmax_mean_over_the_wrong_axis(logits, g):
    p = softmax(logits)
    return p * (g - (p * g).sum(axis=0, keepdims=True))


@planted(softmax, LOGITS)
def softmax_diagonal_only(logits, g):
    p = softmax(logits)
    return p * (1 - p) * g


# --- scaled dot-product attention ------------------------------------------------------------

# n = m and d_k = d_v, so that transposes and swapped arguments keep the shapes
SQUARE = normal(4, 3), normal(4, 3), normal(4, 3)
DISTINCT = normal(3, 4), normal(5, 4), normal(5, 2)


@planted(scaled_dot_product_attention, *DISTINCT)
def attention_without_the_query_path(queries, keys, values, g):
    grads = scaled_dot_product_attention_vjp(queries, keys, values, g)
    return 0 * grads[0], grads[1], grads[2]


@planted(scaled_dot_product_attention, *DISTINCT)
def attention_without_the_key_path(queries, keys, values, g):
    grads = scaled_dot_product_attention_vjp(queries, keys, values, g)
    return grads[0], 0 * grads[1], grads[2]


@planted(scaled_dot_product_attention, *DISTINCT)
def attention_without_the_value_path(queries, keys, values, g):
    grads = scaled_dot_product_attention_vjp(queries, keys, values, g)
    return grads[0], grads[1], 0 * grads[2]


@planted(scaled_dot_product_attention, *SQUARE)
def attention_gradients_of_queries_and_keys_swapped(queries, keys, values, g):
    grads = scaled_dot_product_attention_vjp(queries, keys, values, g)
    return grads[1], grads[0], grads[2]


@planted(scaled_dot_product_attention, *SQUARE)
def attention_weights_not_transposed_for_values(queries, keys, values, g):
    grads = scaled_dot_product_attention_vjp(queries, keys, values, g)
    return grads[0], grads[1], softmax(scaled_scores(queries, keys)) @ g


@planted(scaled_scores, *DISTINCT[:2])
def scores_gradient_not_scaled(queries, keys, g):
    return tuple(math.sqrt(4) * grad for grad in scaled_scores_vjp(queries, keys, g))


@planted(scaled_scores, *DISTINCT[:2])
def scores_gradient_divided_by_d_k(queries, keys, g):
    return tuple(grad / math.sqrt(4) for grad in scaled_scores_vjp(queries, keys, g))


@planted(scaled_scores, *SQUARE[:2])
def scores_cotangent_not_transposed_for_keys(queries, keys, g):
    return g @ keys / math.sqrt(3), g @ queries / math.sqrt(3)


# --- multi-head attention --------------------------------------------------------------------

# d_k = d_v = h = 3: the strided and the blocked layout of the heads have the same shape
HEADS = (
    normal(2, 5),
    normal(4, 5),
    normal(4, 5),
    MultiHeadWeights.init(RNG, 5, 3, 3, 3, bias=True),
)


def multi_head_with(wrong, arguments, g):
    """The right gradients, with the fields of the weight gradient in `wrong` put in."""
    *grads, weights = multi_head_attention_vjp(*arguments, g)
    fields = {name: getattr(weights, name) for name in weights.__dataclass_fields__}
    return (*grads, MultiHeadWeights(**{**fields, **wrong(fields)}))


@planted(multi_head_attention, *HEADS)
def heads_cut_with_a_stride(query_input, key_input, value_input, w, g):
    """Only the cut of the concatenation is wrong: row i::h instead of the block of head i."""
    order = np.arange(9).reshape(3, 3).T.ravel()
    moved = MultiHeadWeights(w.w_q, w.w_k, w.w_v, w.w_o[order], w.b_q, w.b_k, w.b_v, w.b_o)
    *grads, wrong = multi_head_attention_vjp(query_input, key_input, value_input, moved, g)
    right = multi_head_attention_vjp(query_input, key_input, value_input, w, g)[-1]
    return (*grads, MultiHeadWeights(wrong.w_q, wrong.w_k, wrong.w_v, right.w_o, *biases(wrong)))


def biases(w):
    return w.b_q, w.b_k, w.b_v, w.b_o


@planted(multi_head_attention, *HEADS)
def gradient_of_w_o_cut_with_a_stride(*arguments):
    order = np.arange(9).reshape(3, 3).T.ravel()
    return multi_head_with(lambda w: {"w_o": w["w_o"][order]}, arguments[:-1], arguments[-1])


@planted(multi_head_attention, *HEADS)
def root_of_d_model_for_root_of_d_k(query_input, key_input, value_input, w, g):
    """The scale enters the gradients of queries and keys linearly."""
    wrong = math.sqrt(3 / 5)
    dq, dk, dv, dw = multi_head_attention_vjp(query_input, key_input, value_input, w, g)
    scaled = MultiHeadWeights(wrong * dw.w_q, wrong * dw.w_k, dw.w_v, dw.w_o, *biases(dw))
    return wrong * dq, wrong * dk, dv, scaled


@planted(multi_head_attention, *HEADS)
def gradients_of_w_q_and_w_k_swapped(*arguments):
    wrong = lambda w: {"w_q": w["w_k"], "w_k": w["w_q"]}  # noqa: E731
    return multi_head_with(wrong, arguments[:-1], arguments[-1])


@planted(multi_head_attention, *HEADS)
def heads_share_one_gradient(*arguments):
    wrong = lambda w: {"w_v": np.broadcast_to(w["w_v"].mean(axis=0), w["w_v"].shape)}  # noqa: E731
    return multi_head_with(wrong, arguments[:-1], arguments[-1])


@planted(multi_head_attention, *HEADS)
def input_gradient_of_the_last_head_only(query_input, key_input, value_input, w, g):
    grads = multi_head_attention_vjp(query_input, key_input, value_input, w, g)
    grad_heads = split_heads(g @ w.w_o.T, w.h)
    queries, keys, values = (
        x @ weight + bias[:, None, :]
        for x, weight, bias in (
            (query_input, w.w_q, w.b_q),
            (key_input, w.w_k, w.b_k),
            (value_input, w.w_v, w.b_v),
        )
    )
    grad_queries, _, _ = scaled_dot_product_attention_vjp(queries, keys, values, grad_heads)
    return grad_queries[-1] @ w.w_q[-1].T, *grads[1:]


@planted(multi_head_attention, *HEADS)
def output_bias_gradient_from_one_token(*arguments):
    return multi_head_with(lambda w: {"b_o": arguments[-1][0]}, arguments[:-1], arguments[-1])


@planted(self_attention, normal(3, 6), MultiHeadWeights.init(RNG, 6, 3))
def self_attention_through_the_queries_only(x, w, g):
    as_query, _, _, grad_weights = multi_head_attention_vjp(x, x, x, w, g)
    return as_query, grad_weights


@planted(self_attention, normal(3, 6), MultiHeadWeights.init(RNG, 6, 3))
def self_attention_paths_averaged(x, w, g):
    grad_x, grad_weights = self_attention_vjp(x, w, g)
    return grad_x / 3, grad_weights


# --- linear and feed-forward -----------------------------------------------------------------

# n = d_in = d_out = 4
LINEAR = normal(4, 4), normal(4, 4), normal(4)


@planted(linear, *LINEAR)
def linear_weight_not_transposed(x, weight, bias, g):
    return g @ weight, *linear_vjp(x, weight, bias, g)[1:]


@planted(linear, *LINEAR)
def linear_weight_gradient_transposed(x, weight, bias, g):
    grad_x, grad_weight, grad_bias = linear_vjp(x, weight, bias, g)
    return grad_x, grad_weight.T, grad_bias


@planted(linear, *LINEAR)
def bias_gradient_summed_over_features(x, weight, bias, g):
    return *linear_vjp(x, weight, bias, g)[:2], g.sum(axis=1)


@planted(linear, *LINEAR)
def bias_gradient_averaged_over_tokens(x, weight, bias, g):
    return *linear_vjp(x, weight, bias, g)[:2], g.mean(axis=0)


@planted(linear, normal(2, 3, 4), normal(4, 4), normal(4))
def bias_gradient_of_the_first_batch_entry(x, weight, bias, g):
    return *linear_vjp(x, weight, bias, g)[:2], g[0].sum(axis=0)


X, FFN = normal(4, 5), FeedForwardWeights.init(RNG, 5, 7)


def feed_forward_with_mask(mask, x, w, g):
    """The backward pass of the layer with the ReLU factor given by `mask(pre_activation)`."""
    pre_activation = linear(x, w.w_1, w.b_1)
    grad_hidden, w_2, b_2 = linear_vjp(relu(pre_activation), w.w_2, w.b_2, g)
    grad_x, w_1, b_1 = linear_vjp(x, w.w_1, w.b_1, grad_hidden * mask(pre_activation))
    return grad_x, FeedForwardWeights(w_1, w_2, b_1, b_2)


@planted(feed_forward, X, FFN)
def relu_mask_dropped(x, w, g):
    return feed_forward_with_mask(np.ones_like, x, w, g)


@planted(feed_forward, X, FFN)
def relu_mask_inverted(x, w, g):
    return feed_forward_with_mask(lambda z: z <= 0, x, w, g)


@planted(feed_forward, X, FFN)
def relu_value_for_its_derivative(x, w, g):
    return feed_forward_with_mask(relu, x, w, g)


@planted(feed_forward, X, FFN)
def pre_activation_for_hidden_in_w_2(x, w, g):
    grad_x, grad = feed_forward_vjp(x, w, g)
    return grad_x, FeedForwardWeights(grad.w_1, linear(x, w.w_1, w.b_1).T @ g, grad.b_1, grad.b_2)


@planted(feed_forward, X, FFN)
def inner_bias_gradient_before_the_mask(x, w, g):
    grad_x, grad = feed_forward_vjp(x, w, g)
    return grad_x, FeedForwardWeights(grad.w_1, grad.w_2, (g @ w.w_2.T).sum(axis=0), grad.b_2)


@planted(relu, normal(6))
def relu_mask_from_the_cotangent(x, g):
    return np.where(g > 0, g, 0.0)


# --- residual --------------------------------------------------------------------------------


def tanh_layer_vjp(x, weight, g):
    grad_product = g * (1 - np.tanh(x @ weight) ** 2)
    return grad_product @ weight.T, x.T @ grad_product


TANH = Sublayer(lambda x, weight: np.tanh(x @ weight), tanh_layer_vjp)
TOKEN, MIXING = normal(3, 4), normal(4, 4)


def tanh_block(x, weight):
    return residual(TANH, x, weight)


def tanh_stack(x, weights):
    return residual_stack([TANH] * 3, x, weights)


@planted(tanh_block, TOKEN, MIXING)
def identity_path_missing(x, weight, g):
    return tanh_layer_vjp(x, weight, g)


@planted(tanh_block, TOKEN, MIXING)
def identity_path_only(x, weight, g):
    return g, residual_vjp(TANH, x, weight, g)[1]


@planted(tanh_block, TOKEN, MIXING)
def jacobian_from_the_wrong_side(x, weight, g):
    """(I + J) g instead of g (I + J), row by row; J_ac = tanh'_a weight_ca."""
    slope = 1 - np.tanh(x @ weight) ** 2
    return g + slope * (g @ weight), residual_vjp(TANH, x, weight, g)[1]


@planted(tanh_block, TOKEN, MIXING)
def ones_for_the_identity(x, weight, g):
    through_branch, grad_weight = tanh_layer_vjp(x, weight, g)
    return g.sum(axis=-1, keepdims=True) + through_branch, grad_weight


@planted(tanh_block, TOKEN, MIXING)
def identity_path_twice(x, weight, g):
    grad_x, grad_weight = residual_vjp(TANH, x, weight, g)
    return g + grad_x, grad_weight


@planted(tanh_block, TOKEN, MIXING)
def identity_path_into_the_weights(x, weight, g):
    grad_x, grad_weight = residual_vjp(TANH, x, weight, g)
    return grad_x, grad_weight + x.T @ g


STACK = tuple(normal(3, 4, 4) / 2)


@planted(tanh_stack, TOKEN, STACK)
def stack_gradients_in_backward_order(x, weights, g):
    grad_x, grad_weights = residual_stack_vjp([TANH] * 3, x, weights, g)
    return grad_x, grad_weights[::-1]


@planted(tanh_stack, TOKEN, STACK)
def stack_pulled_back_in_forward_order(x, weights, g):
    grad_x, _ = residual_stack_vjp([TANH] * 3, x, weights[::-1], g)
    return grad_x, residual_stack_vjp([TANH] * 3, x, weights, g)[1]


@planted(tanh_stack, TOKEN, STACK)
def every_layer_differentiated_at_the_first_input(x, weights, g):
    grad_weights = []
    for weight in reversed(weights):
        g, grad_weight = residual_vjp(TANH, x, weight, g)
        grad_weights.append(grad_weight)
    return g, tuple(reversed(grad_weights))


@planted(tanh_stack, TOKEN, STACK)
def only_the_outermost_skip(x, weights, g):
    """x + f3(f2(f1(x))) has one skip connection, not three."""
    grad_weights = residual_stack_vjp([TANH] * 3, x, weights, g)[1]
    inside = g
    states = [x]
    for weight in weights[:-1]:
        states.append(np.tanh(states[-1] @ weight))
    for state, weight in zip(reversed(states), reversed(weights), strict=True):
        inside, _ = tanh_layer_vjp(state, weight, inside)
    return g + inside, grad_weights


# --- norms -----------------------------------------------------------------------------------

# epsilon = 0.1 and n = d, so that neither a forgotten epsilon nor a wrong axis can hide
NORM = normal(5, 5), normal(5), normal(5)


def inside(x, gamma, beta):
    return layer_norm(x, gamma, beta, epsilon=0.1)


def inside_vjp(x, gamma, beta, g):
    return layer_norm_vjp(x, gamma, beta, g, epsilon=0.1)


def outside(x, gamma, beta):
    return layer_norm_outside(x, gamma, beta, epsilon=0.1)


def outside_vjp(x, gamma, beta, g):
    return layer_norm_outside_vjp(x, gamma, beta, g, epsilon=0.1)


def of_batch(x, gamma, beta):
    return batch_norm(x, gamma, beta, epsilon=0.1)


def of_batch_vjp(x, gamma, beta, g):
    return batch_norm_vjp(x, gamma, beta, g, epsilon=0.1)


def norm_backward(x, gamma, g, mean=True, along=1.0, scale=1.0, ddof=0, axis=-1):
    """The gradient by x of the form with epsilon inside, with parts of it changed."""
    u = x - x.mean(axis=axis, keepdims=True)
    divisor = np.sqrt(x.var(axis=axis, keepdims=True, ddof=ddof) + 0.1)
    values, inner = u / divisor, gamma * g
    out = inner - values * (inner * values).mean(axis=axis, keepdims=True) * along
    return scale * (out - mean * inner.mean(axis=axis, keepdims=True)) / divisor


@planted(inside, *NORM)
def norm_without_the_mean_term(x, gamma, beta, g):
    return norm_backward(x, gamma, g, mean=False), *inside_vjp(x, gamma, beta, g)[1:]


@planted(inside, *NORM)
def norm_with_constant_statistics(x, gamma, beta, g):
    return norm_backward(x, gamma, g, mean=False, along=0.0), *inside_vjp(x, gamma, beta, g)[1:]


@planted(inside, *NORM)
def norm_with_constant_deviation(x, gamma, beta, g):
    return norm_backward(x, gamma, g, along=0.0), *inside_vjp(x, gamma, beta, g)[1:]


@planted(inside, *NORM)
def norm_gradient_times_two(x, gamma, beta, g):
    return norm_backward(x, gamma, g, scale=2.0), *inside_vjp(x, gamma, beta, g)[1:]


@planted(inside, *NORM)
def norm_backward_without_gamma(x, gamma, beta, g):
    return norm_backward(x, 1.0, g), *inside_vjp(x, gamma, beta, g)[1:]


@planted(inside, *NORM)
def norm_backward_unbiased(x, gamma, beta, g):
    return norm_backward(x, gamma, g, ddof=1), *inside_vjp(x, gamma, beta, g)[1:]


@planted(inside, *NORM)
def norm_backward_over_the_batch(x, gamma, beta, g):
    return norm_backward(x, gamma, g, axis=0), *inside_vjp(x, gamma, beta, g)[1:]


@planted(outside, *NORM)
def backward_of_the_other_form(x, gamma, beta, g):
    return inside_vjp(x, gamma, beta, g)


@planted(inside, *NORM)
def backward_of_the_form_outside(x, gamma, beta, g):
    return outside_vjp(x, gamma, beta, g)


@planted(outside, *NORM)
def outside_backward_without_the_factor(x, gamma, beta, g):
    """c = 1 instead of s / sigma."""
    u, sigma = x - x.mean(axis=-1, keepdims=True), x.std(axis=-1, keepdims=True)
    values, inner = u / (sigma + 0.1), gamma * g
    along = values * (inner * values).mean(axis=-1, keepdims=True)
    centred = inner - inner.mean(axis=-1, keepdims=True)
    return (centred - along) / (sigma + 0.1), *outside_vjp(x, gamma, beta, g)[1:]


@planted(inside, *NORM)
def gamma_gradient_from_the_input(x, gamma, beta, g):
    grad_x, _, grad_beta = inside_vjp(x, gamma, beta, g)
    return grad_x, (g * x).sum(axis=0), grad_beta


@planted(inside, *NORM)
def beta_gradient_with_gamma(x, gamma, beta, g):
    return *inside_vjp(x, gamma, beta, g)[:2], (gamma * g).sum(axis=0)


@planted(inside, *NORM)
def gamma_and_beta_gradients_swapped(x, gamma, beta, g):
    grad_x, grad_gamma, grad_beta = inside_vjp(x, gamma, beta, g)
    return grad_x, grad_beta, grad_gamma


@planted(of_batch, *NORM)
def batch_norm_backward_over_the_features(x, gamma, beta, g):
    return inside_vjp(x, gamma, beta, g)


@planted(of_batch, *NORM)
def batch_norm_backward_as_in_evaluation(x, gamma, beta, g):
    """The statistics taken for constants."""
    divisor = np.sqrt(x.var(axis=0) + 0.1)
    return gamma * g / divisor, *of_batch_vjp(x, gamma, beta, g)[1:]


NORM_LAYER = Sublayer(
    lambda x, weights: outside(x, *weights),
    lambda x, weights, g: ((got := outside_vjp(x, *weights, g))[0], got[1:]),
)
BLOCK = TOKEN, MIXING, (normal(4), normal(4))


def post_block(x, weight, norm_weights):
    return post_norm(TANH, NORM_LAYER, x, weight, norm_weights)


def pre_block(x, weight, norm_weights):
    return pre_norm(TANH, NORM_LAYER, x, weight, norm_weights)


@planted(post_block, *BLOCK)
def post_norm_without_the_norm(x, weight, norm_weights, g):
    _, grad_weight, grad_norm = post_norm_vjp(TANH, NORM_LAYER, x, weight, norm_weights, g)
    return residual_vjp(TANH, x, weight, g)[0], grad_weight, grad_norm


@planted(post_block, *BLOCK)
def post_norm_at_the_input(x, weight, norm_weights, g):
    """The Jacobian of the norm at x instead of x + f(x)."""
    grad_sum, grad_norm = NORM_LAYER.vjp(x, norm_weights, g)
    return *residual_vjp(TANH, x, weight, grad_sum), grad_norm


@planted(pre_block, *BLOCK)
def pre_norm_branch_at_the_input(x, weight, norm_weights, g):
    """The Jacobian of the branch at x instead of LN(x)."""
    grad_normed, grad_weight = TANH.vjp(x, weight, g)
    through_branch, grad_norm = NORM_LAYER.vjp(x, norm_weights, grad_normed)
    return g + through_branch, grad_weight, grad_norm


@planted(pre_block, *BLOCK)
def pre_norm_with_everything_through_the_norm(x, weight, norm_weights, g):
    normed = NORM_LAYER.forward(x, norm_weights)
    grad_normed, grad_weight = TANH.vjp(normed, weight, g)
    grad_x, grad_norm = NORM_LAYER.vjp(x, norm_weights, g + grad_normed)
    return grad_x, grad_weight, grad_norm


@planted(pre_block, *BLOCK)
def pre_norm_branch_past_the_norm(x, weight, norm_weights, g):
    _, grad_weight, grad_norm = pre_norm_vjp(TANH, NORM_LAYER, x, weight, norm_weights, g)
    normed = NORM_LAYER.forward(x, norm_weights)
    return g + TANH.vjp(normed, weight, g)[0], grad_weight, grad_norm


# --- position encoding -----------------------------------------------------------------------


def encode(positions):
    return position_encoding(positions, 6)


@planted(encode, normal(5))
def derivative_of_cosine_with_a_plus(positions, g):
    flipped = g.copy()
    flipped[:, 1::2] *= -1
    return position_encoding_vjp(positions, 6, flipped)


@planted(encode, normal(5))
def derivative_without_the_frequency(positions, g):
    angles = positions[:, None] * 10000.0 ** (-np.arange(0, 6, 2) / 6)
    return (g[:, 0::2] * np.cos(angles) - g[:, 1::2] * np.sin(angles)).sum(axis=1)


@planted(encode, normal(5))
def derivative_of_the_concatenated_layout(positions, g):
    return position_encoding_vjp(positions, 6, g.reshape(-1, 2, 3).swapaxes(1, 2).reshape(-1, 6))


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize(("function", "wrong_vjp", "arguments"), PLANTED)
def test_wrong_vjp_is_rejected(check, function, wrong_vjp, arguments):
    assert check(function, wrong_vjp, arguments, np.random.default_rng(0)) > 1e-2


RIGHT = [
    (softmax, softmax_vjp, (LOGITS,)),
    (scaled_dot_product_attention, scaled_dot_product_attention_vjp, DISTINCT),
    (scaled_dot_product_attention, scaled_dot_product_attention_vjp, SQUARE),
    (scaled_scores, scaled_scores_vjp, DISTINCT[:2]),
    (multi_head_attention, multi_head_attention_vjp, HEADS),
    (linear, linear_vjp, LINEAR),
    (feed_forward, feed_forward_vjp, (X, FFN)),
    (relu, relu_vjp, (normal(6),)),
    (tanh_block, lambda x, w, g: residual_vjp(TANH, x, w, g), (TOKEN, MIXING)),
    (tanh_stack, lambda x, w, g: residual_stack_vjp([TANH] * 3, x, w, g), (TOKEN, STACK)),
    (inside, inside_vjp, NORM),
    (outside, outside_vjp, NORM),
    (of_batch, of_batch_vjp, NORM),
    (post_block, lambda *values: post_norm_vjp(TANH, NORM_LAYER, *values), BLOCK),
    (pre_block, lambda *values: pre_norm_vjp(TANH, NORM_LAYER, *values), BLOCK),
    (encode, lambda p, g: position_encoding_vjp(p, 6, g), (normal(5),)),
]


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize(("function", "vjp", "arguments"), RIGHT)
def test_right_vjp_is_accepted_at_the_same_arguments(check, function, vjp, arguments):
    """Otherwise the test above would pass because the arguments are bad, not the vjp."""
    assert check(function, vjp, arguments, np.random.default_rng(0)) < 1e-7


# --- wrong layers: both directions may be consistent, only another implementation can tell ---


def softmax_over_the_queries(queries, keys, values):
    return softmax(scaled_scores(queries, keys).T).T @ values


def attention_scaled_by(divisor):
    return lambda q, k, v: softmax(q @ k.T / divisor) @ v


@pytest.mark.parametrize(
    "wrong_attention",
    [
        pytest.param(softmax_over_the_queries, id="softmax over the queries"),
        pytest.param(attention_scaled_by(4), id="d_k for its root"),
        pytest.param(attention_scaled_by(math.sqrt(12)), id="root of d_model"),
        pytest.param(attention_scaled_by(math.sqrt(5)), id="root of m, the other axis of K"),
        pytest.param(attention_scaled_by(1), id="no scale"),
        pytest.param(lambda q, k, v: scaled_scores(q, k) @ v, id="no softmax"),
    ],
)
def test_wrong_attention_differs_from_the_loops(wrong_attention):
    expected = numeric_loops.attention(*DISTINCT)
    assert np.abs(wrong_attention(*DISTINCT) - expected).max() > 1e-2
    np.testing.assert_allclose(scaled_dot_product_attention(*DISTINCT), expected, atol=1e-13)


MULTI = (normal(3, 12), normal(5, 12), normal(5, 12), MultiHeadWeights.init(RNG, 12, 4, 3, 2, True))


def output_of(concatenated, w):
    return concatenated @ w.w_o + w.b_o


def w_o_cut_with_a_stride(query_input, key_input, value_input, w):
    heads = attention_heads(query_input, key_input, value_input, w)
    return sum(heads[i] @ w.w_o[i :: w.h] for i in range(w.h)) + w.b_o


def heads_reshaped_without_the_swap(query_input, key_input, value_input, w):
    heads = attention_heads(query_input, key_input, value_input, w)
    return output_of(heads.reshape(3, 8), w)


def heads_in_reverse(query_input, key_input, value_input, w):
    return output_of(concat_heads(attention_heads(query_input, key_input, value_input, w)[::-1]), w)


def output_bias_once_per_head(query_input, key_input, value_input, w):
    return multi_head_attention(query_input, key_input, value_input, w) + (w.h - 1) * w.b_o


def values_from_the_keys(query_input, key_input, value_input, w):
    return multi_head_attention(query_input, key_input, key_input, w)


def first_head_for_all(query_input, key_input, value_input, w):
    heads = attention_heads(query_input, key_input, value_input, w)
    return output_of(concat_heads(np.repeat(heads[:1], w.h, axis=0)), w)


@pytest.mark.parametrize(
    "wrong_layer",
    [
        w_o_cut_with_a_stride,
        heads_reshaped_without_the_swap,
        heads_in_reverse,
        output_bias_once_per_head,
        values_from_the_keys,
        first_head_for_all,
    ],
)
def test_wrong_multi_head_differs_from_the_loops(wrong_layer):
    expected = numeric_loops.multi_head(*MULTI)
    assert np.abs(wrong_layer(*MULTI) - expected).max() > 1e-2
    np.testing.assert_allclose(multi_head_attention(*MULTI), expected, atol=1e-12)


SQUARE_FFN = FeedForwardWeights.init(RNG, 5, 5)


@pytest.mark.parametrize(
    "wrong_layer",
    [
        pytest.param(lambda x, w: relu(x @ w.w_1.T + w.b_1) @ w.w_2 + w.b_2, id="W_1 transposed"),
        pytest.param(lambda x, w: relu((x @ w.w_1 + w.b_1) @ w.w_2 + w.b_2), id="ReLU at the end"),
        pytest.param(lambda x, w: (x @ w.w_1 + w.b_1) @ w.w_2 + w.b_2, id="no ReLU"),
        pytest.param(lambda x, w: relu(x @ w.w_1) @ w.w_2 + w.b_2, id="b_1 dropped"),
        pytest.param(lambda x, w: relu(x @ w.w_1 + w.b_1) @ w.w_2, id="b_2 dropped"),
        pytest.param(lambda x, w: relu(x @ w.w_1) @ w.w_2 + w.b_1 @ w.w_2 + w.b_2, id="b_1 late"),
        pytest.param(lambda x, w: relu(x @ w.w_2 + w.b_1) @ w.w_1 + w.b_2, id="W_1, W_2 swapped"),
    ],
)
def test_wrong_feed_forward_differs_from_the_loops(wrong_layer):
    expected = np.array([numeric_loops.feed_forward_token(x, SQUARE_FFN) for x in X])
    assert np.abs(wrong_layer(X, SQUARE_FFN) - expected).max() > 1e-2
    np.testing.assert_allclose(feed_forward(X, SQUARE_FFN), expected, atol=1e-13)


POSITIONS = np.arange(40)


def encoding_with(angles, concatenated=False):
    waves = np.sin(angles), np.cos(angles)
    return np.hstack(waves) if concatenated else np.stack(waves, axis=-1).reshape(40, 6)


PAIR = np.arange(3)


@pytest.mark.parametrize(
    "wrong_encoding",
    [
        pytest.param(encoding_with(POSITIONS[:, None] / 10000 ** (PAIR / 6)), id="i/d"),
        pytest.param(encoding_with(POSITIONS[:, None] / 10000 ** (2 * PAIR / 3)), id="2i/(d/2)"),
        pytest.param(encoding_with(POSITIONS[:, None] * 10000 ** (2 * PAIR / 6)), id="sign of it"),
        pytest.param(encoding_with(POSITIONS[:, None] / 1000 ** (2 * PAIR / 6)), id="base 1000"),
        pytest.param(
            encoding_with(POSITIONS[:, None] / 10000 ** (2 * PAIR / 6), concatenated=True),
            id="sines before cosines",
        ),
        pytest.param(
            encoding_with(math.pi / 2 - POSITIONS[:, None] / 10000 ** (2 * PAIR / 6)),
            id="cosine in the even columns",
        ),
    ],
)
def test_wrong_encoding_differs_from_the_loops_and_is_not_shifted(wrong_encoding):
    expected = np.array([numeric_loops.position_encoding(p, 6) for p in POSITIONS])
    assert np.abs(wrong_encoding - expected).max() > 1e-2
    np.testing.assert_allclose(position_encoding(POSITIONS, 6), expected, atol=1e-13)
    shifted = wrong_encoding[:-7] @ shift_matrix(7, 6).T
    assert np.abs(shifted - wrong_encoding[7:]).max() > 1e-2


@pytest.mark.parametrize(
    "wrong_matrix",
    [
        pytest.param(shift_matrix(37, 6).T, id="transposed"),
        pytest.param(np.abs(shift_matrix(37, 6)), id="without the minus"),
        pytest.param(shift_matrix(37, 6)[::-1, ::-1], id="pairs in reverse"),
        pytest.param(shift_matrix(36, 6), id="off by one"),
        pytest.param(np.eye(6), id="identity"),
    ],
)
def test_wrong_shift_matrix_is_rejected(wrong_matrix):
    encoding, shifted = position_encoding(POSITIONS, 6), position_encoding(POSITIONS + 37, 6)
    assert np.abs(encoding @ wrong_matrix.T - shifted).max() > 1e-2
    np.testing.assert_allclose(encoding @ shift_matrix(37, 6).T, shifted, atol=1e-13)


# --- wrong sizes -----------------------------------------------------------------------------


def test_floor_head_width_loses_columns():
    d_model, h = 100, 8
    floor = d_model // h
    weights = MultiHeadWeights.init(RNG, d_model, h, floor, floor)
    x = normal(2, d_model)
    assert concat_heads(attention_heads(x, x, x, weights)).shape == (2, 96)
    assert weights.parameter_count() == 4 * 8 * 100 * 12 != 4 * d_model**2


@pytest.mark.parametrize(
    "wrong_count",
    [
        pytest.param(3 * 12 * 4 * 3 + 12 * 4 * 2, id="d_k for d_v in W_V"),
        pytest.param(4 * 12 * (2 * 3 + 2), id="W_O forgotten"),
        pytest.param(12 * (2 * 3 + 2 * 2), id="one head"),
        pytest.param(4 * 12**2, id="4 d^2 though h d_v is not d"),
        pytest.param(2 * 4 * 12 * (3 + 2) + 4 * 12, id="with biases of width d"),
    ],
)
def test_wrong_count_of_attention_is_rejected(wrong_count):
    assert MultiHeadWeights.init(RNG, 12, 4, 3, 2).parameter_count() == 480 != wrong_count


def test_wrong_count_of_feed_forward_is_rejected():
    assert FeedForwardWeights.init(RNG, 5, 20).parameter_count() == 8 * 5**2 + 5 * 5 != 8 * 5**2
    assert FeedForwardWeights.init(RNG, 5, 20, bias=False).parameter_count() != 4 * 5**2
