"""The encoder layer of the original Transformer once more, written for speed.

`FastEncoderLayer` computes what `encoder_layer` and `encoder_layer_vjp` do, and these are its
specification.  Nearly all arithmetic is in the matrix products; what the plain form loses beside
them is memory that is handed back and taken again, and passes over arrays that have left the cache.
Here every array is allocated once, queries, keys and values come from one product, and what is
elementwise runs over a few rows or one head at a time.  Attention weights are not kept: a head's
scores are made again where the backward pass needs them.  Nor are they ever divided by their sums:
what they are multiplied with has fewer numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from numeric.arrays import Array, require_shape
from numeric.layer_weights import EncoderLayerWeights, LayerNormWeights
from numeric.masks import apply_mask
from numeric.multi_head import concat_heads, split_heads
from numeric.weights import FeedForwardWeights, MultiHeadWeights

#: So many numbers stay in the cache between the passes over them.
_CACHED = 1 << 15


class FastEncoderLayer:
    """Post-LN with biases: self-attention, one network with ReLU, norms with epsilon inside.

    Works in the precision of the weights.  The arrays that `forward` and `backward` return belong
    to the layer and are written over by its next call; `backward` belongs to the last `forward`.
    """

    def __init__(self, weights: EncoderLayerWeights, *, epsilon: float = 1e-5) -> None:
        """Raises ValueError for weights of another kind of layer."""
        self.weights = weights
        self._attention, self._network, *self._norms = _plain_parts(weights)
        self._epsilon = epsilon
        self._arrays: dict[str, Array] = {}
        self._pack(self._attention)

    def _pack(self, w: MultiHeadWeights) -> None:
        """The projections side by side, those of the queries divided by sqrt(d_k)."""
        self._scale = w.w_q.dtype.type(1 / math.sqrt(w.d_k))
        parts = [concat_heads(part) for part in (w.w_q, w.w_k, w.w_v)]
        self._w_qkv = np.concatenate([parts[0] * self._scale, *parts[1:]], axis=1)
        biases = [np.asarray(b).reshape(-1) for b in (w.b_q, w.b_k, w.b_v)]
        self._b_qkv = np.concatenate([biases[0] * self._scale, *biases[1:]])

    def _array(self, name: str, *shape: int) -> Array:
        """An array that is kept from call to call as long as its shape stays."""
        found = self._arrays.get(name)
        if found is None or found.shape != shape:
            found = self._arrays[name] = np.empty(shape, self._w_qkv.dtype)
        return found

    # ------------------------------------------------------------------ forward

    def forward(self, x: npt.ArrayLike, *, mask: npt.ArrayLike | None = None) -> Array:
        """x (..., n, d_model) -> the same shape; mask as in `encoder_layer`."""
        x = np.ascontiguousarray(x, dtype=self._w_qkv.dtype)
        w = self.weights
        require_shape("x", x, {"n": None, "d_model": w.d_model}, leading=None)
        self._shape, self._mask = x.shape, mask
        self._x = x.reshape(-1, w.d_model)
        rows, d = self._x.shape
        np.matmul(self._x, self._w_qkv, out=self._array("qkv", rows, 3 * d))
        heads = self._array("heads", rows, d)
        self._attend(heads)
        attended = np.matmul(heads, self._attention.w_o, out=self._array("normed", rows, d))
        first = self._array("first", rows, d)
        self._add_and_norm(
            self._x, attended, np.asarray(self._attention.b_o), self._norms[0], first, "first"
        )
        network = self._network
        hidden = np.matmul(first, network.w_1, out=self._array("hidden", rows, network.d_ff))
        for part in _chunks(hidden):
            block = hidden[part]
            block += network.b_1
            np.maximum(block, 0, out=block)
        output = np.matmul(hidden, network.w_2, out=self._array("output normed", rows, d))
        second = self._array("second", rows, d)
        self._add_and_norm(first, output, np.asarray(network.b_2), self._norms[1], second, "second")
        return second.reshape(self._shape)

    def _attend(self, heads: Array) -> None:
        n = self._shape[-2]
        weights = self._array("weights", n, n)
        ones = np.ones(n, weights.dtype)
        top, total = (self._array(name, *self._leading(), n) for name in ("top", "total"))
        biases = self._b_qkv.reshape(3, self._attention.h, 1, -1)
        for at, (q, k, v), out in self._each_head(self._arrays["qkv"], heads):
            for part, bias in zip((q, k, v), biases[:, at[1]], strict=True):
                part += bias
            self._scores(q, k, at, weights)
            small = self._mask is None and _are_small(q, k)
            top[at] = 0 if small else _largest(weights)
            _exponentials(weights, top[at])
            sums = np.matmul(weights, ones, out=total[at])
            sums[sums == 0] = 1
            np.matmul(weights, v, out=out)
            out /= sums[:, None]

    def _scores(self, q: Array, k: Array, at: tuple[int, int], out: Array) -> None:
        np.matmul(q, k.T, out=out)
        if self._mask is not None:
            out[...] = apply_mask(out, self._mask_of(*at))

    def _leading(self) -> tuple[int, int]:
        """How many sequences and heads there are."""
        return math.prod(self._shape[:-2]), self._attention.h

    def _each_head(
        self, qkv: Array, heads: Array
    ) -> Iterator[tuple[tuple[int, int], tuple[Array, Array, Array], Array]]:
        """Views of the queries, keys and values of every head, and of its output."""
        batch, h = self._leading()
        n, d_k = self._shape[-2], self._attention.d_k
        parts = qkv.reshape(batch, n, 3, h, d_k)
        outputs = heads.reshape(batch, n, h, d_k)
        for b in range(batch):
            for i in range(h):
                yield (b, i), tuple(parts[b, :, :, i].swapaxes(0, 1)), outputs[b, :, i]

    def _mask_of(self, b: int, i: int) -> Array:
        """The mask (n, m) of head i in sequence b."""
        mask = np.asarray(self._mask)
        if mask.ndim == 2:
            return mask
        shape = (*self._shape[:-2], self._attention.h, *mask.shape[-2:])
        full: Array = np.broadcast_to(mask, shape)
        return full.reshape(*self._leading(), *mask.shape[-2:])[b, i]

    def _add_and_norm(
        self, x: Array, branch: Array, bias: Array, norm: LayerNormWeights, out: Array, name: str
    ) -> None:
        """out = norm(x + branch + bias); `branch` becomes the normalised vectors."""
        rows, d = x.shape
        inverse = self._array(f"{name} inverse", rows)
        mean = np.full(d, 1 / d, x.dtype)
        for part in _chunks(x):
            u = branch[part]
            u += bias
            u += x[part]
            u -= (u @ mean)[:, None]
            variance = np.einsum("nd,nd->n", u, u) / d
            inverse[part] = 1 / np.sqrt(variance + self._epsilon)
            u *= inverse[part, None]
            np.multiply(u, norm.gamma, out=out[part])
            out[part] += norm.beta

    # ------------------------------------------------------------------ backward

    def backward(self, cotangent: npt.ArrayLike) -> tuple[Array, EncoderLayerWeights]:
        """cotangent (..., n, d_model) of the last `forward` -> gradients of x and the weights."""
        cotangent = np.ascontiguousarray(cotangent, dtype=self._w_qkv.dtype)
        require_shape("cotangent", cotangent, {}, leading=self._shape)
        gradient = cotangent.reshape(self._x.shape)
        through, network_norm = self._norm_backward(
            gradient, self._arrays["output normed"], self._norms[1], "second"
        )
        gradient, network = self._network_backward(through)
        through, attention_norm = self._norm_backward(
            gradient, self._arrays["normed"], self._norms[0], "first"
        )
        gradient, attention = self._attention_backward(through)
        grads = EncoderLayerWeights(attention, network, attention_norm, network_norm)
        return gradient.reshape(self._shape), grads

    def _norm_backward(
        self, cotangent: Array, normed: Array, norm: LayerNormWeights, name: str
    ) -> tuple[Array, LayerNormWeights]:
        """(g - mean g - xhat mean(g xhat)) / s with g = cotangent * gamma, and of gamma, beta."""
        rows, d = cotangent.shape
        out = self._array("through norm", rows, d)
        scratch = self._array("scratch", _rows(d), d)
        inverse = self._arrays[f"{name} inverse"]
        grad_gamma, grad_beta = np.zeros(d, out.dtype), np.zeros(d, out.dtype)
        mean, gamma_mean = np.full(d, 1 / d, out.dtype), norm.gamma / d
        for part in _chunks(cotangent):
            g, x_hat, block = cotangent[part], normed[part], out[part]
            product = np.multiply(g, x_hat, out=scratch[: len(g)])
            grad_gamma += product.sum(axis=0)
            grad_beta += g.sum(axis=0)
            along = product @ gamma_mean
            np.multiply(g, norm.gamma, out=block)
            block -= (block @ mean)[:, None]
            np.multiply(x_hat, along[:, None], out=product)
            block -= product
            block *= inverse[part, None]
        return out, LayerNormWeights(grad_gamma, grad_beta)

    def _network_backward(self, cotangent: Array) -> tuple[Array, FeedForwardWeights]:
        """Through the network and beside it."""
        w, hidden, first = self._network, self._arrays["hidden"], self._arrays["first"]
        rows, d_ff = hidden.shape
        grad_w_2 = np.matmul(hidden.T, cotangent, out=self._array("grad w_2", *w.w_2.shape))
        grad_hidden = np.matmul(cotangent, w.w_2.T, out=self._array("grad hidden", rows, d_ff))
        grad_b_1 = np.zeros(d_ff, hidden.dtype)
        for part in _chunks(hidden):
            block = grad_hidden[part]
            block *= hidden[part] > 0
            grad_b_1 += block.sum(axis=0)
        grad_w_1 = np.matmul(first.T, grad_hidden, out=self._array("grad w_1", *w.w_1.shape))
        gradient = np.matmul(grad_hidden, w.w_1.T, out=self._array("gradient", *first.shape))
        gradient += cotangent
        return gradient, FeedForwardWeights(grad_w_1, grad_w_2, grad_b_1, cotangent.sum(axis=0))

    def _attention_backward(self, cotangent: Array) -> tuple[Array, MultiHeadWeights]:
        """Through the attention and beside it."""
        w, heads = self._attention, self._arrays["heads"]
        grad_w_o = np.matmul(heads.T, cotangent, out=self._array("grad w_o", *w.w_o.shape))
        grad_heads = np.matmul(cotangent, w.w_o.T, out=self._array("gradient", *heads.shape))
        grad_qkv = self._array("grad qkv", *self._arrays["qkv"].shape)
        self._attend_backward(grad_heads, grad_qkv)
        shape = self._w_qkv.shape
        grad_w_qkv = np.matmul(self._x.T, grad_qkv, out=self._array("grad w_qkv", *shape))
        gradient = np.matmul(grad_qkv, self._w_qkv.T, out=self._array("gradient", *heads.shape))
        gradient += cotangent
        parts = self._unpacked(grad_w_qkv, grad_qkv.sum(axis=0))
        w_q, w_k, w_v, b_q, b_k, b_v = parts
        b_o = cotangent.sum(axis=0)
        return gradient, MultiHeadWeights(w_q, w_k, w_v, grad_w_o, b_q, b_k, b_v, b_o)

    def _attend_backward(self, grad_heads: Array, grad_qkv: Array) -> None:
        """The gradients of all queries, keys and values; `grad_heads` is used up."""
        n = self._shape[-2]
        weights, grad_scores = self._array("weights", n, n), self._array("grad scores", n, n)
        top, total = self._arrays["top"], self._arrays["total"]
        forward = self._each_head(self._arrays["qkv"], self._arrays["heads"])
        backward = self._each_head(grad_qkv, grad_heads)
        for (at, (q, k, v), out), (_, grads, grad_out) in zip(forward, backward, strict=True):
            grad_q, grad_k, grad_v = grads
            grad_out /= total[at][:, None]  # in place of the weights
            self._scores(q, k, at, weights)
            _exponentials(weights, top[at])
            np.matmul(weights.T, grad_out, out=grad_v)
            np.matmul(grad_out, v.T, out=grad_scores)
            # The mean of a row of grad_scores under the weights, without a pass over either.
            grad_scores -= np.einsum("nd,nd->n", grad_out, out)[:, None]
            grad_scores *= weights
            np.matmul(grad_scores, k, out=grad_q)
            np.matmul(grad_scores.T, q, out=grad_k)

    def _unpacked(self, grad_w: Array, grad_b: Array) -> list[Array]:
        """Gradients of w_q, w_k, w_v (h, d_model, d_k) and b_q, b_k, b_v (h, d_k)."""
        h, d = self._attention.h, self.weights.d_model
        grad_w[:, :d] *= self._scale
        grad_b[:d] *= self._scale
        matrices = [split_heads(part, h) for part in np.split(grad_w, 3, axis=1)]
        return matrices + [part.reshape(h, -1) for part in np.split(grad_b, 3)]


def _are_small(queries: Array, keys: Array) -> bool:
    """Whether no score can leave the range of exp, so that none need be taken away first."""
    longest = [float(np.einsum("nd,nd->n", a, a).max(initial=0)) for a in (queries, keys)]
    limit = math.log(np.finfo(queries.dtype).max) / 2
    return bool(math.sqrt(longest[0] * longest[1]) < limit)


def _largest(scores: Array) -> Array:
    top: Array = scores.max(axis=1)
    if not (top < np.inf).all():
        raise ValueError("scores hold nan or +inf; expected finite numbers or -inf")
    top[np.isneginf(top)] = 0  # a query from which every key is excluded
    return top


def _exponentials(scores: Array, top: Array) -> None:
    if top.any():
        scores -= top[:, None]
    np.exp(scores, out=scores)


def _chunks(array: Array) -> Iterator[slice]:
    """A few rows of a matrix at a time."""
    step = _rows(array.shape[1])
    for start in range(0, len(array), step):
        yield slice(start, min(start + step, len(array)))


def _rows(width: int) -> int:
    return max(1, _CACHED // width)


def _plain_parts(
    weights: EncoderLayerWeights,
) -> tuple[MultiHeadWeights, FeedForwardWeights, LayerNormWeights, LayerNormWeights]:
    attention, network = weights.attention, weights.feed_forward
    first, second = weights.attention_norm, weights.feed_forward_norm
    present = [getattr(attention, name) for name in ("b_q", "b_k", "b_v", "b_o")]
    if isinstance(network, FeedForwardWeights):
        present += [network.b_1, network.b_2]
        if isinstance(first, LayerNormWeights) and isinstance(second, LayerNormWeights):
            present += [first.beta, second.beta]
            widths = {attention.h * attention.d_k, attention.h * attention.d_v}
            ordinary = widths == {attention.d_model} and attention.g == attention.h
            if ordinary and all(bias is not None for bias in present):
                return attention, network, first, second
    raise ValueError(
        "weights is not a layer of the original Transformer; expected biases everywhere, a plain "
        "network, layer norms with beta, as many heads of keys as of queries and "
        "h*d_k = h*d_v = d_model"
    )
