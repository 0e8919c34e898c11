"""The numbers behind the pictures, computed with `numeric`: plain arrays, nothing of drawing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from numeric.arrays import Array
from numeric.linear import linear, linear_vjp
from numeric.moments import sample_dot_products
from numeric.normalization import layer_norm, layer_norm_vjp
from numeric.operations import count_attention
from numeric.positional import position_encoding
from numeric.residual import (
    Sublayer,
    post_norm,
    post_norm_vjp,
    pre_norm,
    pre_norm_vjp,
    residual,
    residual_vjp,
)
from numeric.softmax import softmax
from numeric.weights import MultiHeadWeights


def encoding(positions: int = 64, d_model: int = 64) -> tuple[Array, Array]:
    """The encodings (positions, d_model) and their inner products (positions, positions)."""
    rows = position_encoding(np.arange(positions), d_model)
    return rows, rows @ rows.T


def displacement(d_model: int = 128, offsets: Sequence[int] = (1, 4, 16)) -> list[Array]:
    """How far each pair moves over an offset, for d_model/2 frequencies; one row an offset."""
    origin = position_encoding([0], d_model)[0]
    rows = position_encoding(list(offsets), d_model)
    return [np.hypot(*(row - origin).reshape(-1, 2).T) for row in rows]


def chord(rates: Array, offset: int = 1) -> Array:
    """The proved value of the same: 2 |sin(k w / 2)| for every frequency w."""
    return 2 * np.abs(np.sin(offset * rates / 2))


@dataclass(frozen=True)
class Scores:
    """For each head width: variances of scores, mean entropy of weights, norm of the Jacobian."""

    widths: Array
    variance: Array
    scaled_variance: Array
    entropy: Array
    scaled_entropy: Array
    jacobian: Array
    scaled_jacobian: Array


_WIDTHS: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256)


def scores(seed: int, samples: int = 400, keys: int = 16) -> Scores:
    """Queries and keys with independent standard normal components, `keys` keys a query."""
    rng = np.random.default_rng([seed, 1])
    columns: list[list[float]] = []
    for d_k in _WIDTHS:
        zero, one = np.zeros(d_k), np.eye(d_k)
        dots = sample_dot_products(rng, samples * keys, zero, one, zero, one).reshape(-1, keys)
        plain, scaled = dots, dots / np.sqrt(d_k)
        columns.append([float(d_k), *_both(np.var, plain, scaled),
                        *_both(_entropy, plain, scaled),
                        *_both(_jacobian_norm, plain, scaled)])  # fmt: skip
    return Scores(*np.array(columns).T)


def _both(measure: Callable[[Array], float], plain: Array, scaled: Array) -> tuple[float, float]:
    return float(measure(plain)), float(measure(scaled))


def _entropy(logits: Array) -> float:
    """Mean entropy of the weights, in nats."""
    weights = softmax(logits)
    return float(-np.mean(np.sum(weights * np.log(np.maximum(weights, 1e-300)), axis=1)))


def _jacobian_norm(logits: Array) -> float:
    """Mean Frobenius norm of the Jacobian diag(p) - p p^T of softmax."""
    p = softmax(logits)
    jacobians = p[:, :, None] * (np.eye(p.shape[1]) - p[:, None, :])
    return float(np.mean(np.linalg.norm(jacobians, axis=(1, 2))))


@dataclass(frozen=True)
class Depths:
    """Length of the gradient by the first input for each depth, where the last has length 1."""

    depths: Array
    plain: Array
    residual: Array
    post: Array
    pre: Array
    lower: Array
    upper: Array


RHO: Final = 0.3
"""How much longer the branch of a layer makes a row."""


def gradients(seed: int, deepest: int = 24, d_model: int = 24, trials: int = 8) -> Depths:
    """Stacks of linear layers that make every row RHO times as long; means over `trials`."""
    rng = np.random.default_rng([seed, 2])
    lengths = np.zeros((4, deepest + 1))
    for _ in range(trials):
        weights = [_turn(rng, d_model) * RHO for _ in range(deepest)]
        x, last = rng.standard_normal((1, d_model)), rng.standard_normal((1, d_model))
        last /= np.linalg.norm(last)
        for row, stack in enumerate((_plain, _residual, _post, _pre)):
            for depth in range(deepest + 1):
                lengths[row, depth] += np.log(np.linalg.norm(stack(x, weights[:depth], last)))
    plain, skipped, post, pre = np.exp(lengths / trials)
    depths = np.arange(deepest + 1)
    return Depths(depths, plain, skipped, post, pre, (1 - RHO) ** depths, (1 + RHO) ** depths)


def _turn(rng: np.random.Generator, size: int) -> Array:
    """A random orthogonal matrix."""
    q, r = np.linalg.qr(rng.standard_normal((size, size)))
    return np.asarray(q * np.sign(np.diag(r)))


_BRANCH: Final = Sublayer(linear, lambda x, w, g: linear_vjp(x, w, None, g)[:2])


def _normed(x: Array, weights: tuple[Array, Array]) -> Array:
    gamma, beta = weights
    return layer_norm(x, gamma, beta, epsilon=_EPSILON)


def _normed_vjp(x: Array, weights: tuple[Array, Array], gradient: Array) -> tuple[Array, None]:
    gamma, beta = weights
    return layer_norm_vjp(x, gamma, beta, gradient, epsilon=_EPSILON)[0], None


_EPSILON: Final = 1e-5
_NORM: Final = Sublayer(_normed, _normed_vjp)


def _plain(x: Array, weights: Sequence[Array], gradient: Array) -> Array:
    return _back(x, weights, gradient, linear, lambda v, w, g: linear_vjp(v, w, None, g)[0])


def _residual(x: Array, weights: Sequence[Array], gradient: Array) -> Array:
    return _back(
        x, weights, gradient,
        lambda v, w: residual(_BRANCH, v, w), lambda v, w, g: residual_vjp(_BRANCH, v, w, g)[0],
    )  # fmt: skip


def _post(x: Array, weights: Sequence[Array], gradient: Array) -> Array:
    unit = np.ones(x.shape[1]), np.zeros(x.shape[1])
    return _back(
        x, weights, gradient,
        lambda v, w: post_norm(_BRANCH, _NORM, v, w, unit),
        lambda v, w, g: post_norm_vjp(_BRANCH, _NORM, v, w, unit, g)[0],
    )  # fmt: skip


def _pre(x: Array, weights: Sequence[Array], gradient: Array) -> Array:
    unit = np.ones(x.shape[1]), np.zeros(x.shape[1])
    return _back(
        x, weights, gradient,
        lambda v, w: pre_norm(_BRANCH, _NORM, v, w, unit),
        lambda v, w, g: pre_norm_vjp(_BRANCH, _NORM, v, w, unit, g)[0],
    )  # fmt: skip


def _back(
    x: Array,
    weights: Sequence[Array],
    gradient: Array,
    forward: Callable[[Array, Array], Array],
    vjp: Callable[[Array, Array, Array], Array],
) -> Array:
    """The gradient by x of a stack of layers."""
    inputs = [x]
    for weight in weights:
        inputs.append(forward(inputs[-1], weight))
    for value, weight in zip(reversed(inputs[:-1]), reversed(weights), strict=True):
        gradient = vjp(value, weight, gradient)
    return gradient


@dataclass(frozen=True)
class Model:
    """A decoder-only model with learned positions and one embedding for input and output."""

    name: str
    layers: int
    d_model: int
    vocabulary: int
    positions: int


MODELS: Final = (
    Model("GPT-2 small", 12, 768, 50257, 1024),
    Model("GPT-2 medium", 24, 1024, 50257, 1024),
    Model("GPT-2 large", 36, 1280, 50257, 1024),
    Model("GPT-2 XL", 48, 1600, 50257, 1024),
    Model("GPT-3", 96, 12288, 50257, 2048),
)


def feed_forward_share(model: Model) -> float:
    """The share of the feed-forward networks, of width 4 d_model, in all parameters."""
    d = model.d_model
    network = 8 * d * d + 5 * d
    block = 12 * d * d + 13 * d
    embedding = (model.vocabulary + model.positions) * d
    return model.layers * network / (model.layers * block + embedding + 2 * d)


def load(model: Model) -> float:
    """The rows of the embeddings, for each layer and unit of width."""
    return (model.vocabulary + model.positions) / (model.layers * model.d_model)


@dataclass(frozen=True)
class Counts:
    """Operations of one attention layer, counted one by one, for each number of tokens."""

    tokens: Array
    projections: Array
    attention: Array


COUNTED_WIDTH: Final = 8


def operations(seed: int, heads: int = 2, longest: int = 32) -> Counts:
    """Projections against scores and weighted sums, at d_model = COUNTED_WIDTH."""
    rng = np.random.default_rng([seed, 3])
    weights = MultiHeadWeights.init(rng, COUNTED_WIDTH, heads, bias=False)
    tokens = np.arange(4, longest + 1, 4)
    rows = []
    for n in tokens:
        x = rng.standard_normal((int(n), COUNTED_WIDTH))
        _, stages = count_attention(x, x, weights)
        total = {name: sum(counter.values()) for name, counter in stages.items()}
        rows.append([
            sum(total[name] for name in ("queries", "keys", "values", "output")),
            sum(total[name] for name in ("scores", "scaling", "heads")),
        ])  # fmt: skip
    projections, attention = np.array(rows).T
    return Counts(tokens, projections, attention)
