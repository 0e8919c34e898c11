"""Models of which every number counts what is done to it: forward and backward, written out.

NumPy arrays of `Counted` objects; matrix products, sums and elementwise operations are NumPy's own
and end in the operators below.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

TALLY: Counter[str] = Counter()


@dataclass(frozen=True)
class Counted:
    """A number that adds what is done to it to TALLY."""

    value: float

    def _noted(self, kind: str, value: float) -> Counted:
        TALLY[kind] += 1
        return Counted(value)

    def __add__(self, other: Counted) -> Counted:
        return self._noted("add", self.value + other.value)

    def __sub__(self, other: Counted) -> Counted:
        return self._noted("subtract", self.value - other.value)

    def __mul__(self, other: Counted) -> Counted:
        return self._noted("multiply", self.value * other.value)

    def __truediv__(self, other: Counted) -> Counted:
        return self._noted("divide", self.value / other.value)

    def exp(self) -> Counted:
        return self._noted("exponential", math.exp(self.value))

    def sqrt(self) -> Counted:
        return self._noted("root", math.sqrt(self.value))

    def activated(self) -> Counted:
        return self._noted("activation", math.tanh(self.value))

    def slope(self) -> Counted:
        return self._noted("activation", 1 - math.tanh(self.value) ** 2)


def counted(array: Any) -> np.ndarray:
    return np.vectorize(Counted, otypes=[object])(np.asarray(array, dtype=float))


def values(array: np.ndarray) -> np.ndarray:
    return np.vectorize(lambda x: x.value, otypes=[float])(array)


activated = np.vectorize(Counted.activated, otypes=[object])
slope = np.vectorize(Counted.slope, otypes=[object])


def number(x: float) -> Counted:
    return Counted(float(x))


def each_row(x: np.ndarray) -> np.ndarray:
    """The sums of the rows, as a column."""
    return np.add.reduce(x, axis=1)[:, None]


# ---------------------------------------------------------------------------- parts

EPSILON = 0.1


def layer_norm(x: np.ndarray, gain: np.ndarray, bias: np.ndarray) -> tuple[np.ndarray, Any]:
    width = number(x.shape[1])
    centred = x - each_row(x) / width
    deviation = np.sqrt(each_row(centred * centred) / width + number(EPSILON))
    normal = centred / deviation
    return normal * gain + bias, (normal, deviation, gain)


def layer_norm_backward(g: np.ndarray, kept: Any) -> tuple[np.ndarray, ...]:
    normal, deviation, gain = kept
    width = number(g.shape[1])
    scaled = g * gain
    mean, along = each_row(scaled) / width, each_row(scaled * normal) / width
    dx = (scaled - mean - normal * along) / deviation
    return dx, np.add.reduce(g * normal, axis=0), np.add.reduce(g, axis=0)


def rms_norm(x: np.ndarray, gain: np.ndarray) -> tuple[np.ndarray, Any]:
    root = np.sqrt(each_row(x * x) / number(x.shape[1]) + number(EPSILON))
    normal = x / root
    return normal * gain, (normal, root, gain)


def rms_norm_backward(g: np.ndarray, kept: Any) -> tuple[np.ndarray, ...]:
    normal, root, gain = kept
    scaled = g * gain
    along = each_row(scaled * normal) / number(g.shape[1])
    return (scaled - normal * along) / root, np.add.reduce(g * normal, axis=0)


def softmax(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x)
    return powers / each_row(powers)


def softmax_backward(g: np.ndarray, a: np.ndarray) -> np.ndarray:
    return a * (g - each_row(a * g))


def turned(x: np.ndarray, angle: float) -> np.ndarray:
    """Every row's pairs turned by its position times the angle; tables of sin and cos are given."""
    n, width = x.shape
    cos, sin = (
        counted(f(angle * np.arange(n))[:, None] * np.ones(width)) for f in (np.cos, np.sin)
    )
    signs = np.tile([-1.0, 1.0], width // 2)
    swapped = x.reshape(n, -1, 2)[:, :, ::-1].reshape(n, width)
    return x * cos + swapped * counted(values(sin) * signs)


def attend(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, heads: int, shared: int
) -> tuple[np.ndarray, Any]:
    """q (n, h d_k), k and v (m, g d_k): `heads` heads of queries over `shared` of keys."""
    width, scale = q.shape[1] // heads, number(0.7)
    outputs, kept = [], []
    for i in range(heads):
        own = slice(i * width, (i + 1) * width)
        j = i * shared // heads
        theirs = slice(j * width, (j + 1) * width)
        a = softmax((q[:, own] @ k[:, theirs].T) * scale)
        outputs.append(a @ v[:, theirs])
        kept.append((own, theirs, a))
    return np.concatenate(outputs, axis=1), (q, k, v, scale, kept)


def attend_backward(g: np.ndarray, kept: Any) -> tuple[np.ndarray, ...]:
    q, k, v, scale, parts = kept
    dq = np.empty_like(q)
    dk: dict[int, Any] = {}
    dv: dict[int, Any] = {}
    for own, theirs, a in parts:
        ds = softmax_backward(g[:, own] @ v[:, theirs].T, a) * scale
        dq[:, own] = ds @ k[:, theirs]
        for into, more in ((dk, ds.T @ q[:, own]), (dv, a.T @ g[:, own])):
            at = theirs.start
            into[at] = more if at not in into else into[at] + more
    together = (np.concatenate([d[at] for at in sorted(d)], axis=1) for d in (dk, dv))
    return dq, *together


# ---------------------------------------------------------------------------- a decoder, twice


@dataclass(frozen=True)
class Shape:
    n: int
    layers: int
    d: int
    heads: int
    shared: int
    d_k: int
    inner: int
    words: int


def gpt_weights(rng: np.random.Generator, s: Shape) -> dict[str, np.ndarray]:
    shapes: dict[str, tuple[int, ...]] = {"words": (s.words, s.d), "places": (s.n, s.d)}
    for l in range(s.layers):
        for norm in ("1", "2"):
            shapes |= {f"g{norm}.{l}": (s.d,), f"b{norm}.{l}": (s.d,)}
        for name in "qkvo":
            shapes |= {f"W{name}.{l}": (s.d, s.d), f"c{name}.{l}": (s.d,)}
        shapes |= {f"Wu.{l}": (s.d, s.inner), f"cu.{l}": (s.inner,)}
        shapes |= {f"Wd.{l}": (s.inner, s.d), f"cd.{l}": (s.d,)}
    shapes |= {"g": (s.d,), "b": (s.d,)}
    return {name: counted(rng.standard_normal(shape) / 2) for name, shape in shapes.items()}


def gpt_forward(w: dict[str, np.ndarray], tokens: Any, s: Shape) -> tuple[np.ndarray, Any]:
    x = w["words"][tokens] + w["places"]
    layers = []
    for l in range(s.layers):
        y, norm1 = layer_norm(x, w[f"g1.{l}"], w[f"b1.{l}"])
        q, k, v = (y @ w[f"W{name}.{l}"] + w[f"c{name}.{l}"] for name in "qkv")
        heads, attention = attend(q, k, v, s.heads, s.heads)
        x = x + (heads @ w[f"Wo.{l}"] + w[f"co.{l}"])
        z, norm2 = layer_norm(x, w[f"g2.{l}"], w[f"b2.{l}"])
        before = z @ w[f"Wu.{l}"] + w[f"cu.{l}"]
        after = activated(before)
        x = x + (after @ w[f"Wd.{l}"] + w[f"cd.{l}"])
        layers.append((y, norm1, attention, heads, z, norm2, before, after))
    y, norm = layer_norm(x, w["g"], w["b"])
    return y @ w["words"].T, (layers, y, norm)


def gpt_backward(
    g: np.ndarray, w: dict[str, np.ndarray], tokens: Any, kept: Any, s: Shape
) -> dict[str, np.ndarray]:
    layers, y, norm = kept
    d = {"words": g.T @ y}
    dx, d["g"], d["b"] = layer_norm_backward(g @ w["words"], norm)
    for l in reversed(range(s.layers)):
        y, norm1, attention, heads, z, norm2, before, after = layers[l]
        d[f"Wd.{l}"], d[f"cd.{l}"] = after.T @ dx, np.add.reduce(dx, axis=0)
        db = (dx @ w[f"Wd.{l}"].T) * slope(before)
        d[f"Wu.{l}"], d[f"cu.{l}"] = z.T @ db, np.add.reduce(db, axis=0)
        dz, d[f"g2.{l}"], d[f"b2.{l}"] = layer_norm_backward(db @ w[f"Wu.{l}"].T, norm2)
        dx = dx + dz
        d[f"Wo.{l}"], d[f"co.{l}"] = heads.T @ dx, np.add.reduce(dx, axis=0)
        projected = attend_backward(dx @ w[f"Wo.{l}"].T, attention)
        for name, dp in zip("qkv", projected, strict=True):
            d[f"W{name}.{l}"], d[f"c{name}.{l}"] = y.T @ dp, np.add.reduce(dp, axis=0)
        dq, dk, dv = (p @ w[f"W{name}.{l}"].T for name, p in zip("qkv", projected, strict=True))
        dy, d[f"g1.{l}"], d[f"b1.{l}"] = layer_norm_backward(dq + dk + dv, norm1)
        dx = dx + dy
    d["places"] = scattered(dx, range(s.n), s.n)
    d["words"] = d["words"] + scattered(dx, tokens, s.words)
    return d


def scattered(rows: np.ndarray, places: Any, size: int) -> np.ndarray:
    """Rows added to the rows of a table of zeros."""
    table = counted(np.zeros((size, rows.shape[1])))
    for row, place in zip(rows, places, strict=True):
        table[place] = table[place] + row
    return table


def llama_weights(rng: np.random.Generator, s: Shape) -> dict[str, np.ndarray]:
    shapes: dict[str, tuple[int, ...]] = {"words": (s.words, s.d), "head": (s.d, s.words)}
    for l in range(s.layers):
        shapes |= {f"g1.{l}": (s.d,), f"g2.{l}": (s.d,)}
        shapes |= {f"Wq.{l}": (s.d, s.heads * s.d_k), f"Wo.{l}": (s.heads * s.d_k, s.d)}
        shapes |= {f"Wk.{l}": (s.d, s.shared * s.d_k), f"Wv.{l}": (s.d, s.shared * s.d_k)}
        shapes |= {f"Wg.{l}": (s.d, s.inner), f"Wu.{l}": (s.d, s.inner)}
        shapes |= {f"Wd.{l}": (s.inner, s.d)}
    shapes |= {"g": (s.d,)}
    return {name: counted(rng.standard_normal(shape) / 2) for name, shape in shapes.items()}


def llama_forward(w: dict[str, np.ndarray], tokens: Any, s: Shape) -> tuple[np.ndarray, Any]:
    x = w["words"][tokens]
    layers = []
    for l in range(s.layers):
        y, norm1 = rms_norm(x, w[f"g1.{l}"])
        q, k, v = (y @ w[f"W{name}.{l}"] for name in "qkv")
        heads, attention = attend(turned(q, 0.3), turned(k, 0.3), v, s.heads, s.shared)
        x = x + heads @ w[f"Wo.{l}"]
        z, norm2 = rms_norm(x, w[f"g2.{l}"])
        before, up = z @ w[f"Wg.{l}"], z @ w[f"Wu.{l}"]
        gate = activated(before)
        product = gate * up
        x = x + product @ w[f"Wd.{l}"]
        layers.append((y, norm1, attention, heads, z, norm2, before, gate, up, product))
    y, norm = rms_norm(x, w["g"])
    return y @ w["head"], (layers, y, norm)


def llama_backward(
    g: np.ndarray, w: dict[str, np.ndarray], tokens: Any, kept: Any, s: Shape
) -> dict[str, np.ndarray]:
    layers, y, norm = kept
    d = {"head": y.T @ g}
    dx, d["g"] = rms_norm_backward(g @ w["head"].T, norm)
    for l in reversed(range(s.layers)):
        y, norm1, attention, heads, z, norm2, before, gate, up, product = layers[l]
        d[f"Wd.{l}"] = product.T @ dx
        dp = dx @ w[f"Wd.{l}"].T
        du, dg = dp * gate, (dp * up) * slope(before)
        d[f"Wu.{l}"], d[f"Wg.{l}"] = z.T @ du, z.T @ dg
        dz, d[f"g2.{l}"] = rms_norm_backward(du @ w[f"Wu.{l}"].T + dg @ w[f"Wg.{l}"].T, norm2)
        dx = dx + dz
        d[f"Wo.{l}"] = heads.T @ dx
        dq, dk, dv = attend_backward(dx @ w[f"Wo.{l}"].T, attention)
        projected = (turned(dq, -0.3), turned(dk, -0.3), dv)
        for name, p in zip("qkv", projected, strict=True):
            d[f"W{name}.{l}"] = y.T @ p
        dq, dk, dv = (p @ w[f"W{name}.{l}"].T for name, p in zip("qkv", projected, strict=True))
        dy, d[f"g1.{l}"] = rms_norm_backward(dq + dk + dv, norm1)
        dx = dx + dy
    d["words"] = scattered(dx, tokens, s.words)
    return d
