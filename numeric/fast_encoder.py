"""The encoder layer of the original Transformer once more, written for speed.

`FastEncoderLayer` computes what `encoder_layer` and `encoder_layer_vjp` do, and these are its
specification.  Nearly all arithmetic is in the matrix products; what the plain form loses beside
them is memory that is handed back and taken again, and passes over arrays that have left the cache.
Here every array is allocated once, queries, keys and values come from one product, and what is
elementwise runs over a few rows or one head at a time.  Gradients of hidden units, queries, keys
and values take the places of these.  The exponentials of the scores are kept for
the backward pass as far as they take no more room than all else that is kept, and made again beyond
that.  They are never divided by their sums: what they are multiplied with has fewer numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from numeric.arrays import Array, as_floating, require_shape
from numeric.layer_weights import EncoderLayerWeights, LayerNormWeights
from numeric.masks import apply_mask, require_mask_shape
from numeric.memory import Arena
from numeric.multi_head import concat_heads, split_heads
from numeric.normalization import checked_divisor
from numeric.trees import leaves, map_leaves
from numeric.weights import FeedForwardWeights, MultiHeadWeights

#: So many numbers stay in the cache between the passes over them.
_CACHED = 1 << 17
#: Sequences go backward together up to so many rows, which are enough for fast products.
_SPAN = 2048


class FastEncoderLayer:
    """Post-LN with biases: self-attention, one network with ReLU, norms with epsilon inside.

    Works in the widest precision among the weights, which must not change as long as it is used,
    nor x and mask before `backward`.  The arrays that `forward` and `backward` return belong to the
    layer and are written over by its next call; `backward` belongs to the last `forward`; repeated,
    it runs that again, as its gradients stand where something was kept.
    """

    def __init__(self, weights: EncoderLayerWeights, *, epsilon: float = 1e-5) -> None:
        """Raises ValueError for weights of another kind of layer or that are not real, and for an
        epsilon of 0."""
        if not 0 < epsilon < math.inf:
            raise ValueError(f"epsilon is {epsilon}; expected a finite number above 0")
        self.weights = weights
        self._attention, self._network, *norms = _plain_parts(_of_one_precision(weights))
        self._epsilon = epsilon
        self._largest = 0, 0
        self._has_run = self._is_used_up = False
        self._norms = [(_repeated(norm.gamma), _repeated(norm.beta)) for norm in norms]
        self._pack(self._attention)

    def _pack(self, w: MultiHeadWeights) -> None:
        """The projections side by side, those of the queries divided by sqrt(d_k)."""
        dtype = w.w_q.dtype
        self._scale = dtype.type(1 / math.sqrt(w.d_k))
        parts = [concat_heads(part) for part in (w.w_q, w.w_k, w.w_v)]
        self._w_qkv = np.concatenate([parts[0] * self._scale, *parts[1:]], axis=1)
        biases = [np.asarray(b).reshape(-1) for b in (w.b_q, w.b_k, w.b_v)]
        self._b_qkv = _repeated(np.concatenate([biases[0] * self._scale, *biases[1:]]))
        self._b_o = _repeated(w.b_o)
        self._b_1, self._b_2 = _repeated(self._network.b_1), _repeated(self._network.b_2)
        self._zeros = np.zeros_like(self._b_1)  # np.maximum is five times as fast as with 0
        self._mean = np.full((w.d_model, 1), 1 / w.d_model, dtype)  # x @ it are the means of rows
        # 1 where a column belongs to a head: products with it sum over heads, or spread over them.
        self._columns = np.kron(np.eye(w.h, dtype=dtype), np.ones(w.d_k, dtype))

    def _make_room(self, rows: int, n: int) -> None:
        """New memory where more is needed than before: the old pieces would stay beside it."""
        if rows > self._largest[0] or n > self._largest[1]:
            self._largest = max(rows, self._largest[0]), max(n, self._largest[1])
            self._memory = Arena(self._w_qkv.dtype)
            self._array = self._memory.array

    # ------------------------------------------------------------------ forward

    def forward(self, x: npt.ArrayLike, *, mask: npt.ArrayLike | None = None) -> Array:
        """x (..., n, d_model) -> the same shape, n at least 1; mask as in `encoder_layer`."""
        self._has_run = False
        x = _real("x", x, self._w_qkv.dtype)
        w = self.weights
        require_shape("x", x, {"n": None, "d_model": w.d_model}, leading=None)
        if x.shape[-2] == 0:
            raise ValueError(f"x has shape {x.shape}; expected at least one token")
        self._make_room(math.prod(x.shape[:-1]), x.shape[-2])
        if self._memory.holds(x):
            x = x.copy()  # what the layer has returned is about to be written over
        if mask is not None:
            mask, n = np.asarray(mask), x.shape[-2]
            require_mask_shape(mask, (*x.shape[:-2], self._attention.h, n, n))
        self._shape, self._mask = x.shape, mask
        self._x = x.reshape(-1, w.d_model)
        rows, d = self._x.shape
        self._qkv = self._array("qkv", rows, 3 * d)
        self._heads = self._array("heads", rows, d)
        self._hidden = self._array("hidden", rows, self._network.d_ff)
        self._normed = [self._array(f"{name} normed", rows, d) for name in ("first", "second")]
        self._inverse = [self._array(f"{name} inverse", rows, 1) for name in ("first", "second")]
        second = self._array("second", rows, d)
        self._prepare_exponentials()
        for span in self._spans():
            x, first = self._x[span], self._array("between", *self._x[span].shape)
            self._attend(span, self._normed[0][span])
            self._add_and_norm(span, 0, x, self._b_o, first)
            self._network_forward(first, self._hidden[span], self._normed[1][span])
            self._add_and_norm(span, 1, first, self._b_2, second[span])
        self._has_run, self._is_used_up = True, False
        return second.reshape(self._shape)

    def _spans(self) -> list[slice]:
        """Rows of some whole sequences at a time; one span at least."""
        n, rows = self._shape[-2], len(self._x)
        step = n * max(1, _SPAN // n)
        return [slice(start, min(start + step, rows)) for start in range(0, max(rows, 1), step)]

    def _prepare_exponentials(self) -> None:
        """Places for them, for no more heads than need the room of everything else that is kept."""
        (rows, d), n, h = self._x.shape, self._shape[-2], self._attention.h
        heads = rows // n * h
        self._kept = rows * (7 * d + self._network.d_ff) // (n * n)
        self._exponentials = self._array("exponentials", min(heads, self._kept + 1), n, n)
        self._shifted = np.zeros(heads, bool)
        self._inverse_totals = self._array("inverse totals", rows, h)

    def _attend(self, span: slice, out: Array) -> None:
        """out = attention of the rows of a span, without the last bias."""
        qkv, heads = self._qkv[span], self._heads[span]
        np.matmul(self._x[span], self._w_qkv, out=qkv)
        for (block,) in _chunks(qkv):
            block += self._b_qkv[: len(block)]
        n, h = self._shape[-2], self._attention.h
        totals = self._array("totals", len(qkv) // n * h, n)
        ones = np.ones(n, totals.dtype)
        for total, (head, (q, k, v), mixed) in zip(
            totals, self._each_head(span, qkv, heads), strict=True
        ):
            weights = self._exponentials_of(head, q, k)
            with np.errstate(over="ignore"):  # of a sum, too
                np.matmul(ones, weights, out=total)
            if not _are_tame(total):
                self._shifted[head] = True
                weights = self._exponentials_of(head, q, k)
                np.matmul(ones, weights, out=total)
            np.matmul(weights.T, v, out=mixed)
        totals[totals == 0] = 1  # a query from which every key is excluded
        by_row = totals.reshape(-1, h, n).swapaxes(1, 2).reshape(-1, h)
        np.divide(1, by_row, out=self._inverse_totals[span])
        self._divide_by_totals(span, heads)
        np.matmul(heads, self._attention.w_o, out=out)

    def _each_head(
        self, span: slice, qkv: Array, heads: Array
    ) -> Iterator[tuple[int, Array, Array]]:
        """Numbers of all heads in a span, views of their queries, keys, values and outputs."""
        n, h, d_k = self._shape[-2], self._attention.h, self._attention.d_k
        parts = qkv.reshape(-1, n, 3, h, d_k).transpose(0, 3, 2, 1, 4)
        outputs = heads.reshape(-1, n, h, d_k).swapaxes(1, 2)
        head = span.start // n * h
        for sequence in zip(parts, outputs, strict=True):
            for part, output in zip(*sequence, strict=True):
                yield head, part, output
                head += 1

    def _exponentials_of(self, head: int, q: Array, k: Array) -> Array:
        """Of the scores (m, n), one key per row; those of later heads than are kept have one
        place together."""
        scores = np.matmul(k, q.T, out=self._array("scores", len(k), len(q)))
        if self._mask is not None:
            mask = self._mask_of(*divmod(head, self._attention.h))
            scores[...] = apply_mask(scores.T, mask).T
        if self._shifted[head]:
            scores -= _largest(scores)
        with np.errstate(over="ignore"):  # what is infinite is made again, with a shift
            return np.exp(scores, out=self._exponentials[min(head, self._kept)])

    def _mask_of(self, b: int, i: int) -> Array:
        """The mask (n, m) of head i in sequence b."""
        mask = np.asarray(self._mask)
        if mask.ndim == 2:
            return mask
        shape = (*self._shape[:-2], self._attention.h, *mask.shape[-2:])
        full: Array = np.broadcast_to(mask, shape)
        return full.reshape(-1, self._attention.h, *mask.shape[-2:])[b, i]

    def _divide_by_totals(self, span: slice, heads: Array) -> None:
        scratch = self._array("scratch", *self._b_o.shape)
        for block, inverse in _chunks(heads, self._inverse_totals[span]):
            block *= np.matmul(inverse, self._columns, out=scratch[: len(block)])

    def _network_forward(self, x: Array, hidden: Array, out: Array) -> None:
        np.matmul(x, self._network.w_1, out=hidden)
        for (block,) in _chunks(hidden):
            block += self._b_1[: len(block)]
            np.maximum(block, self._zeros[: len(block)], out=block)
        np.matmul(hidden, self._network.w_2, out=out)

    def _add_and_norm(self, span: slice, which: int, x: Array, bias: Array, out: Array) -> None:
        """out = norm(x + branch + bias), where the normalised vectors take the branch's place."""
        for u, inverse, block, y in _chunks(
            self._normed[which][span], self._inverse[which][span], x, out
        ):
            u += bias[: len(u)]
            u += block
            for _ in range(2):  # the second takes away what the rounded means have left
                u -= u @ self._mean
            np.einsum("nd,nd->n", u, u, out=inverse[:, 0])
            inverse /= u.shape[1]
            inverse += self._epsilon
            np.divide(1, checked_divisor(np.sqrt(inverse, out=inverse)), out=inverse)
            u *= inverse
            _affine(u, *self._norms[which], y)

    # ------------------------------------------------------------------ backward

    def backward(self, cotangent: npt.ArrayLike) -> tuple[Array, EncoderLayerWeights]:
        """cotangent (..., n, d_model) of the last `forward` -> gradients of x and the weights.

        Raises RuntimeError where there is no `forward` that has come to its end.
        """
        if not self._has_run:
            raise RuntimeError("backward belongs to a forward pass; call forward first")
        cotangent = _real("cotangent", cotangent, self._w_qkv.dtype)
        require_shape("cotangent", cotangent, {}, leading=self._shape)
        if self._is_used_up:
            cotangent = cotangent.copy()  # it may be what was returned the last time
            self.forward(self._x.reshape(self._shape), mask=self._mask)
        self._is_used_up = True
        cotangent, gradient = cotangent.reshape(self._x.shape), self._normed[1]
        self._sums: dict[str, Array] = {}
        for span in reversed(self._spans()):  # the last ones may still be in the cache
            through = self._array("between", *self._x[span].shape)
            out = gradient[span]
            self._norm_backward(span, 1, cotangent[span], through)
            self._network_backward(span, through, out)
            self._norm_backward(span, 0, out, through)
            self._attention_backward(span, through, out)
        return gradient.reshape(self._shape), self._gradients()

    def _flags(self, name: str, rows: int, columns: int) -> Array:
        """A place for truth values."""
        wide = -(-columns // self._w_qkv.itemsize)
        return self._array(name, rows, wide).view(bool)[:, :columns]

    def _add(self, name: str, value: Array) -> None:
        """Sums over the spans; the first value is kept as it is."""
        if name in self._sums:
            self._sums[name] += value
        else:
            self._sums[name] = value

    def _add_product(self, name: str, left: Array, right: Array) -> None:
        place = f"sum of {name}" if name not in self._sums else "product"
        out = self._array(place, left.shape[1], right.shape[1])
        self._add(name, np.matmul(left.T, right, out=out))

    def _norm_backward(self, span: slice, which: int, cotangent: Array, out: Array) -> None:
        """(g - mean g - xhat mean(g xhat)) / s with g = cotangent * gamma, and of gamma, beta."""
        (gamma, _), d = self._norms[which], cotangent.shape[1]
        scratch = self._array("scratch", *gamma.shape)
        mean_with_gamma = self._mean * gamma[0, :, None]
        grad_gamma, grad_beta = np.zeros((2, d), out.dtype)
        for g, x_hat, inverse, block in _chunks(
            cotangent, self._normed[which][span], self._inverse[which][span], out
        ):
            product = np.multiply(g, x_hat, out=scratch[: len(g)])
            grad_gamma += _column_sums(product)
            grad_beta += _column_sums(g)
            along = product @ mean_with_gamma
            np.multiply(g, gamma[: len(g)], out=block)
            block -= block @ self._mean
            block -= np.multiply(x_hat, along, out=product)
            block *= inverse
        self._add(f"gamma {which}", grad_gamma)
        self._add(f"beta {which}", grad_beta)

    def _network_backward(self, span: slice, cotangent: Array, out: Array) -> None:
        """Through the network and beside it."""
        w, hidden = self._network, self._hidden[span]
        self._add_product("w_2", hidden, cotangent)
        self._add("b_2", _column_sums(cotangent))
        active = np.greater(hidden, 0, out=self._flags("active", *hidden.shape))
        grad_hidden = np.matmul(cotangent, w.w_2.T, out=hidden)
        grad_b_1 = np.zeros(w.d_ff, hidden.dtype)
        for block, passes in _chunks(grad_hidden, active):
            block *= passes
            grad_b_1 += _column_sums(block)
        for normed, first in _chunks(self._normed[0][span], out):
            _affine(normed, *self._norms[0], first)
        self._add_product("w_1", out, grad_hidden)
        self._add("b_1", grad_b_1)
        np.matmul(grad_hidden, w.w_1.T, out=out)
        out += cotangent

    def _attention_backward(self, span: slice, cotangent: Array, out: Array) -> None:
        """Through the attention and beside it."""
        heads, qkv = self._heads[span], self._qkv[span]
        self._add_product("w_o", heads, cotangent)
        self._add("b_o", _column_sums(cotangent))
        grad_heads = np.matmul(cotangent, self._attention.w_o.T, out=out)
        self._attend_backward(span, grad_heads)
        self._add_product("w_qkv", self._x[span], qkv)
        self._add("b_qkv", _column_sums(qkv))
        np.matmul(qkv, self._w_qkv.T, out=out)
        out += cotangent

    def _attend_backward(self, span: slice, grad_heads: Array) -> None:
        """The gradients of queries, keys and values, in their places; `grad_heads` is used up.

        The gradients of the weights, less their means, are products of vectors that are one longer.
        """
        n, h, d_k = self._shape[-2], self._attention.h, self._attention.d_k
        self._divide_by_totals(span, grad_heads)  # in place of the weights
        means = self._mean_gradients(grad_heads, self._heads[span])
        means = means.reshape(h, -1, n).swapaxes(0, 1).reshape(-1, n)
        grad_scores, grad_k = self._array("scores", n, n), self._array("keys", n, d_k)
        values, grads = (self._array(f"{name}, longer", n, d_k + 1) for name in ("values", "grads"))
        values[:, -1] = -1
        heads = self._each_head(span, self._qkv[span], grad_heads)
        for mean, (head, (q, k, v), grad_out) in zip(means, heads, strict=True):
            is_kept = head < self._kept
            weights = self._exponentials[head] if is_kept else self._exponentials_of(head, q, k)
            values[:, :-1], grads[:, :-1], grads[:, -1] = v, grad_out, mean
            np.matmul(values, grads.T, out=grad_scores)
            grad_scores *= weights
            np.matmul(weights, grad_out, out=v)
            np.matmul(grad_scores, q, out=grad_k)
            np.matmul(grad_scores.T, k, out=q)
            k[...] = grad_k

    def _mean_gradients(self, grad_heads: Array, heads: Array) -> Array:
        """(h, rows): of a query's weights under these weights, without a pass over either."""
        means = self._array("means", self._attention.h, len(heads))
        scratch = self._array("scratch", *self._b_o.shape)
        for grad, head, mean in _chunks(grad_heads, heads, means.T):
            product = np.multiply(grad, head, out=scratch[: len(grad)])
            np.matmul(self._columns, product.T, out=mean.T)
        return means

    def _gradients(self) -> EncoderLayerWeights:
        sums = self._sums
        w_q, w_k, w_v, b_q, b_k, b_v = self._unpacked(sums["w_qkv"], sums["b_qkv"])
        return EncoderLayerWeights(
            MultiHeadWeights(w_q, w_k, w_v, sums["w_o"], b_q, b_k, b_v, sums["b_o"]),
            FeedForwardWeights(*(sums[name] for name in ("w_1", "w_2", "b_1", "b_2"))),
            *(LayerNormWeights(sums[f"gamma {k}"], sums[f"beta {k}"]) for k in (0, 1)),
        )

    def _unpacked(self, grad_w: Array, grad_b: Array) -> list[Array]:
        """Gradients of w_q, w_k, w_v (h, d_model, d_k) and b_q, b_k, b_v (h, d_k)."""
        h, d = self._attention.h, self.weights.d_model
        grad_w[:, :d] *= self._scale
        grad_b[:d] *= self._scale
        parts = [slice(k * d, (k + 1) * d) for k in range(3)]
        matrices = [split_heads(grad_w[:, part], h) for part in parts]
        return matrices + [grad_b[part].reshape(h, -1) for part in parts]


def _real(name: str, values: npt.ArrayLike, dtype: npt.DTypeLike) -> Array:
    array = as_floating(values)
    if array.dtype.kind == "c":
        raise ValueError(f"{name} has dtype {array.dtype}; expected real numbers")
    return np.asarray(array, dtype, order="C")


def _of_one_precision(weights: EncoderLayerWeights) -> EncoderLayerWeights:
    dtype = np.result_type(*leaves(weights))
    if dtype.kind == "c":
        raise ValueError(f"weights have dtype {dtype}; expected real numbers")
    alike: EncoderLayerWeights = map_leaves(lambda w: w.astype(dtype, copy=False), weights)
    return alike


def _are_tame(totals: Array) -> bool:
    """Whether sums of exponentials are so far inside the range of their precision that the scores
    need not be shifted: no term that counts has vanished, and products stay inside as well."""
    limit = math.sqrt(np.finfo(totals.dtype).max)
    return bool(totals.min() > 1 / limit and totals.max() < limit)  # False for nan, too


def _largest(scores: Array) -> Array:
    top: Array = scores.max(axis=0)
    if not (top < np.inf).all():
        raise ValueError("scores hold nan or +inf; expected finite numbers or -inf")
    top[np.isneginf(top)] = 0  # a query from which every key is excluded
    return top


def _column_sums(rows: Array) -> Array:
    """By a product, which is faster than a sum."""
    sums: Array = np.ones(len(rows), rows.dtype) @ rows
    return sums


def _repeated(vector: Array | None) -> Array:
    """The vector in every one of a few rows: NumPy adds it twice as fast as when it broadcasts."""
    row = np.asarray(vector)
    return np.tile(row, (_rows(row.size), 1))


def _affine(normed: Array, gamma: Array, beta: Array, out: Array) -> None:
    np.multiply(normed, gamma[: len(normed)], out=out)
    out += beta[: len(normed)]


def _chunks(*arrays: Array) -> Iterator[list[Array]]:
    """A few rows of matrices at a time, of all of them as many as fit of the first."""
    step, rows = _rows(arrays[0].shape[1]), len(arrays[0])
    for start in range(0, rows, step):
        yield [array[start : start + step] for array in arrays]


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
