"""A tape over counting numbers: steps with their gradients, and models of all families.

A value that is read several times gets its gradients added, which the numbers count.  Rows that
were looked up add their gradients to one table of zeros; where the table is the output head as
well, that table is added to the head's gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import counted_models as M
import numpy as np
from counted_models import counted, number


class Node:
    """A value, and the gradient that has come in so far."""

    def __init__(self, value: Any, needed: bool = True, stored: bool = True) -> None:
        self.value, self.needed, self.stored = value, needed, stored
        self.gradient: Any = None
        self.looked_up: list[tuple[Any, Any]] = []

    def receive(self, gradient: Any) -> None:
        if self.needed:
            self.gradient = gradient if self.gradient is None else self.gradient + gradient


def cotangent(out: Node) -> np.ndarray:
    return np.random.default_rng(3).standard_normal(out.value.shape)


class Tape:
    """Weights are drawn as they are asked for; `backward` runs the steps in reverse.

    `moved` moves all weights along a direction that is drawn with them.
    """

    def __init__(self, seed: int, moved: float = 0.0) -> None:
        self.rng, self.aside = np.random.default_rng(seed), np.random.default_rng(seed + 1)
        self.moved = moved
        self.weights: dict[str, Node] = {}
        self.directions: dict[str, np.ndarray] = {}
        self.steps: list[Callable[[], None]] = []
        self.read: dict[int, np.ndarray] = {}

    def weight(self, name: str, *shape: int) -> Node:
        if name not in self.weights:
            self.directions[name] = self.aside.standard_normal(shape)
            drawn = self.rng.standard_normal(shape) / 2
            moved = drawn + self.moved * self.directions[name]
            self.weights[name] = Node(counted(moved), stored=False)
        return self.weights[name]

    def constant(self, *shape: int) -> Node:
        return Node(counted(self.rng.standard_normal(shape)), needed=False, stored=False)

    def keep(self, *nodes: Node | np.ndarray) -> None:
        """What a gradient will read; weights and inputs take no memory of their own."""
        for x in nodes:
            if isinstance(x, Node) and not x.stored:
                continue
            array = x.value if isinstance(x, Node) else x
            self.read[id(array)] = array

    def step(self, value: Any, back: Callable[[Any], None]) -> Node:
        out = Node(value)

        def run() -> None:
            if out.gradient is not None:
                back(out.gradient)

        self.steps.append(run)
        return out

    def backward(self, out: Node) -> None:
        out.gradient = counted(cotangent(out))
        for run in reversed(self.steps):
            run()
        for table in self.weights.values():
            if table.looked_up:
                zeros = counted(np.zeros(table.value.shape))
                for places, rows in table.looked_up:
                    for place, row in zip(places, rows, strict=True):
                        zeros[place] = zeros[place] + row
                table.receive(zeros)

    # ------------------------------------------------------------------ steps

    def matmul(self, x: Node, w: Node, turned: bool = False) -> Node:
        matrix = w.value.T if turned else w.value

        def back(g: Any) -> None:
            if x.needed:
                x.receive(g @ matrix.T)
            w.receive(g.T @ x.value if turned else x.value.T @ g)

        self.keep(x)
        return self.step(x.value @ matrix, back)

    def linear(self, name: str, x: Node, out: int, bias: bool) -> Node:
        y = self.matmul(x, self.weight(f"{name}.weight", x.value.shape[1], out))
        if not bias:
            return y
        b = self.weight(f"{name}.bias", out)

        def back(g: Any) -> None:
            y.receive(g)
            b.receive(np.add.reduce(g, axis=0))

        return self.step(y.value + b.value, back)

    def add(self, x: Node, y: Node) -> Node:
        def back(g: Any) -> None:
            x.receive(g)
            y.receive(g)

        return self.step(x.value + y.value, back)

    def scale(self, x: Node) -> Node:
        c = number(1.5)
        return self.step(x.value * c, lambda g: x.receive(g * c))

    def product(self, x: Node, y: Node) -> Node:
        def back(g: Any) -> None:
            x.receive(g * y.value)
            y.receive(g * x.value)

        self.keep(x, y)
        return self.step(x.value * y.value, back)

    def activation(self, x: Node) -> Node:
        self.keep(x)
        return self.step(M.activated(x.value), lambda g: x.receive(g * M.slope(x.value)))

    def turn(self, x: Node) -> Node:
        return self.step(M.turned(x.value, 0.3), lambda g: x.receive(M.turned(g, -0.3)))

    def look_up(self, table: Node, places: Any) -> Node:
        return self.step(table.value[places], lambda g: table.looked_up.append((places, g)))

    def rows(self, x: Node, chosen: Any) -> Node:
        """Some of the rows; the others have no gradient."""

        def back(g: Any) -> None:
            whole = counted(np.zeros(x.value.shape))
            whole[chosen] = g
            x.receive(whole)

        return self.step(x.value[chosen], back)

    def gather(self, x: Node, chosen: Sequence[int]) -> Node:
        """Rows that others are gathered from as well: what comes first to a row is not added."""

        def back(g: Any) -> None:
            if x.gradient is None:
                x.gradient = np.full(x.value.shape, None, dtype=object)
            for row, place in zip(g, chosen, strict=True):
                old = x.gradient[place]
                x.gradient[place] = row if old[0] is None else old + row

        return self.step(x.value[list(chosen)], back)

    def stack(self, rows: Sequence[Node]) -> Node:
        def back(g: Any) -> None:
            for k, row in enumerate(rows):
                row.receive(g[[k]])

        return self.step(np.concatenate([row.value for row in rows]), back)

    def below(self, x: Node, y: Node) -> Node:
        """Rows laid on top of each other."""
        cut = x.value.shape[0]

        def back(g: Any) -> None:
            x.receive(g[:cut])
            y.receive(g[cut:])

        return self.step(np.concatenate([x.value, y.value]), back)

    def layer_norm(self, name: str, x: Node, gain: bool = True, bias: bool = True) -> Node:
        d = x.value.shape[1]
        width = number(d)
        centred = x.value - M.each_row(x.value) / width
        variance = M.each_row(centred * centred) / width
        deviation = np.sqrt(variance + number(M.EPSILON))
        return self._normed(name, x, centred / deviation, deviation, True, gain, bias)

    def rms_norm(self, name: str, x: Node, gain: bool = True) -> Node:
        squares = M.each_row(x.value * x.value) / number(x.value.shape[1])
        root = np.sqrt(squares + number(M.EPSILON))
        return self._normed(name, x, x.value / root, root, False, gain, False)

    def _normed(
        self, name: str, x: Node, normal: Any, divisor: Any, centred: bool, gain: bool, bias: bool
    ) -> Node:
        width = number(normal.shape[1])
        gains = self.weight(f"{name}.gain", normal.shape[1]) if gain else None
        biases = self.weight(f"{name}.bias", normal.shape[1]) if bias else None

        def back(g: Any) -> None:
            scaled = g
            if gains is not None:
                scaled = g * gains.value
                gains.receive(np.add.reduce(g * normal, axis=0))
            if biases is not None:
                biases.receive(np.add.reduce(g, axis=0))
            along = M.each_row(scaled * normal) / width
            inner = scaled - M.each_row(scaled) / width if centred else scaled
            x.receive((inner - normal * along) / divisor)

        self.keep(normal, divisor)
        value = normal if gains is None else normal * gains.value
        return self.step(value if biases is None else value + biases.value, back)

    def attention(
        self, q: Node, k: Node, v: Node, heads: int, shared: int, *, scaled: bool = True,
        table: Node | None = None, places: Node | None = None,
    ) -> Node:  # fmt: skip
        """`table` holds a bias of the scores for each head; `places` keys of relative positions."""
        wide, deep = q.value.shape[1] // heads, v.value.shape[1] // shared
        c, outs, kept = number(0.7), [], []
        for i in range(heads):
            j = i * shared // heads
            own, key = slice(i * wide, (i + 1) * wide), slice(j * wide, (j + 1) * wide)
            value = slice(j * deep, (j + 1) * deep)
            scores = q.value[:, own] @ k.value[:, key].T
            if places is not None:
                scores = scores + q.value[:, own] @ places.value[:, own].T
            if scaled:
                scores = scores * c
            if table is not None:
                scores = scores + table.value[i]
            a = M.softmax(scores)
            outs.append(a @ v.value[:, value])
            kept.append((own, key, value, a))
            self.keep(a)
        self.keep(q, k, v, *([] if places is None else [places]))

        def back(g: Any) -> None:
            dq, relative = np.empty_like(q.value), np.empty_like(q.value)
            dk: dict[int, Any] = {}
            dv: dict[int, Any] = {}
            dplaces = np.empty_like(q.value)
            for i, (own, key, value, a) in enumerate(kept):
                out = slice(i * deep, (i + 1) * deep)
                ds = M.softmax_backward(g[:, out] @ v.value[:, value].T, a)
                if table is not None:
                    table.looked_up.append(([i], [ds]))
                if scaled:
                    ds = ds * c
                dq[:, own] = ds @ k.value[:, key]
                if places is not None:
                    relative[:, own] = ds @ places.value[:, own]
                    dplaces[:, own] = ds.T @ q.value[:, own]
                for into, more, at in ((dk, ds.T @ q.value[:, own], key.start),
                                       (dv, a.T @ g[:, out], value.start)):  # fmt: skip
                    into[at] = more if at not in into else into[at] + more
            q.receive(dq)
            if places is not None:
                q.receive(relative)
                places.receive(dplaces)
            for node, found in ((k, dk), (v, dv)):
                node.receive(np.concatenate([found[at] for at in sorted(found)], axis=1))

        return self.step(np.concatenate(outs, axis=1), back)

    def weighted(self, outputs: Sequence[Node], weights: Node) -> Node:
        """The sum of the outputs, each row times its weight."""
        parts = [o.value * weights.value[:, [j]] for j, o in enumerate(outputs)]
        total = parts[0]
        for part in parts[1:]:
            total = total + part

        def back(g: Any) -> None:
            for j, o in enumerate(outputs):
                o.receive(g * weights.value[:, [j]])
            along = [M.each_row(g * o.value) for o in outputs]
            weights.receive(np.concatenate(along, axis=1))

        return self.step(total, back)

    def softmax(self, x: Node) -> Node:
        a = M.softmax(x.value)
        return self.step(a, lambda g: x.receive(M.softmax_backward(g, a)))


# ---------------------------------------------------------------------- sublayers


def attend(
    t: Tape, name: str, x: Node, memory: Node, s: dict[str, int], *, qkv: bool = False,
    output: bool = False, rotary: bool = False, shared: int = 0, **more: Any,
) -> Node:  # fmt: skip
    d, heads, wide, deep = s["d_model"], s["h"], s["d_k"], s.get("d_v", s["d_k"])
    shared = shared or heads
    q = t.linear(f"{name}.q", x, heads * wide, qkv)
    k = t.linear(f"{name}.k", memory, shared * wide, qkv)
    v = t.linear(f"{name}.v", memory, shared * deep, qkv)
    if rotary:
        q, k = t.turn(q), t.turn(k)
    return t.linear(f"{name}.o", t.attention(q, k, v, heads, shared, **more), d, output)


def network(t: Tape, name: str, x: Node, s: dict[str, int], bias: bool) -> Node:
    hidden = t.activation(t.linear(f"{name}.up", x, s["d_ff"], bias))
    return t.linear(f"{name}.down", hidden, s["d_model"], bias)


def gated(t: Tape, name: str, x: Node, s: dict[str, int]) -> Node:
    gate = t.activation(t.linear(f"{name}.gate", x, s["d_ff"], False))
    hidden = t.product(gate, t.linear(f"{name}.up", x, s["d_ff"], False))
    return t.linear(f"{name}.down", hidden, s["d_model"], False)


def words(t: Tape, s: dict[str, int], length: int) -> Any:
    return t.rng.integers(s["V"], size=length)


def logits(t: Tape, y: Node, table: Node) -> Node:
    return t.matmul(y, table, turned=True)


# ---------------------------------------------------------------------- families


def gpt(t: Tape, s: dict[str, int]) -> Node:
    n, d = s["n"], s["d_model"]
    table = t.weight("words", s["V"], d)
    x = t.look_up(table, words(t, s, n))
    x = t.add(x, t.look_up(t.weight("places", s["n_ctx"], d), np.arange(n)))
    for l in range(s["L"]):
        y = t.layer_norm(f"1.{l}", x)
        x = t.add(x, attend(t, f"a{l}", y, y, s, qkv=True, output=True))
        x = t.add(x, network(t, f"f{l}", t.layer_norm(f"2.{l}", x), s, True))
    return logits(t, t.layer_norm("n", x), table)


def bert(t: Tape, s: dict[str, int]) -> Node:
    n, d = s["n"], s["d_model"]
    x = t.look_up(t.weight("words", s["V"], d), words(t, s, n))
    x = t.add(x, t.look_up(t.weight("places", s["n_ctx"], d), np.arange(n)))
    x = t.add(x, t.look_up(t.weight("segments", s["n_seg"], d), np.zeros(n, dtype=int)))
    x = t.layer_norm("norm", x)
    for l in range(s["L"]):
        y = t.add(x, attend(t, f"a{l}", x, x, s, qkv=True, output=True))
        x = t.layer_norm(f"1.{l}", y)
        x = t.layer_norm(f"2.{l}", t.add(x, network(t, f"f{l}", x, s, True)))
    return t.activation(t.linear("pooler", t.rows(x, [0]), d, True))


def original(t: Tape, s: dict[str, int]) -> Node:
    table = t.weight("words", s["V"], s["d_model"])

    def embedded(length: int) -> Node:
        scaled = t.scale(t.look_up(table, words(t, s, length)))
        return t.add(scaled, t.constant(length, s["d_model"]))

    memory, x = embedded(s["m"]), embedded(s["n"])
    for l in range(s["L_enc"]):
        memory = t.layer_norm(f"e1.{l}", t.add(memory, attend(t, f"ea{l}", memory, memory, s)))
        memory = t.layer_norm(f"e2.{l}", t.add(memory, network(t, f"ef{l}", memory, s, True)))
    for l in range(s["L_dec"]):
        x = t.layer_norm(f"d1.{l}", t.add(x, attend(t, f"da{l}", x, x, s)))
        x = t.layer_norm(f"d2.{l}", t.add(x, attend(t, f"dc{l}", x, memory, s)))
        x = t.layer_norm(f"d3.{l}", t.add(x, network(t, f"df{l}", x, s, True)))
    return logits(t, x, table)


def t5(t: Tape, s: dict[str, int]) -> Node:
    return _t5(t, s, lambda name, x: network(t, name, x, s, False))


def t5_gated(t: Tape, s: dict[str, int]) -> Node:
    return _t5(t, s, lambda name, x: gated(t, name, x, s))


def _t5(t: Tape, s: dict[str, int], inner: Callable[[str, Node], Node]) -> Node:
    n, m, heads = s["n"], s["m"], s["h"]
    table = t.weight("words", s["V"], s["d_model"])
    memory, x = (t.look_up(table, words(t, s, length)) for length in (m, n))
    shifts = {m: t.weight("ours", heads, m, m), n: t.weight("theirs", heads, n, n)}
    for l in range(s["L_enc"]):
        y = t.rms_norm(f"e1.{l}", memory)
        memory = t.add(memory, attend(t, f"ea{l}", y, y, s, scaled=False, table=shifts[m]))
        memory = t.add(memory, inner(f"ef{l}", t.rms_norm(f"e2.{l}", memory)))
    memory = t.rms_norm("e", memory)
    for l in range(s["L_dec"]):
        y = t.rms_norm(f"d1.{l}", x)
        x = t.add(x, attend(t, f"da{l}", y, y, s, scaled=False, table=shifts[n]))
        y = t.rms_norm(f"d2.{l}", x)
        x = t.add(x, attend(t, f"dc{l}", y, memory, s, scaled=False))
        x = t.add(x, inner(f"df{l}", t.rms_norm(f"d3.{l}", x)))
    return logits(t, t.scale(t.rms_norm("d", x)), table)


def palm(t: Tape, s: dict[str, int]) -> Node:
    table = t.weight("words", s["V"], s["d_model"])
    x = t.look_up(table, words(t, s, s["n"]))
    for l in range(s["L"]):
        y = t.layer_norm(f"n{l}", x, gain=False, bias=False)
        inner = t.add(attend(t, f"a{l}", y, y, s, rotary=True, shared=1), gated(t, f"f{l}", y, s))
        x = t.add(x, inner)
    return logits(t, t.layer_norm("n", x, gain=False, bias=False), table)


def gopher(t: Tape, s: dict[str, int]) -> Node:
    n, wide = s["n"], s["h"] * s["d_k"]
    table = t.weight("words", s["V"], s["d_model"])
    x = t.look_up(table, words(t, s, n))
    for l in range(s["L"]):
        y = t.rms_norm(f"1.{l}", x, gain=False)
        places = t.linear(f"r{l}", t.constant(n, s["d_model"]), wide, False)
        x = t.add(x, attend(t, f"a{l}", y, y, s, places=places))
        x = t.add(x, network(t, f"f{l}", t.rms_norm(f"2.{l}", x, gain=False), s, False))
    return logits(t, t.rms_norm("n", x, gain=False), table)


def vit(t: Tape, s: dict[str, int]) -> Node:
    d, number_of = s["d_model"], s["N_p"]
    pixels = t.constant(number_of, s["c"] * s["p"] ** 2)
    x = t.below(t.weight("class", 1, d), t.linear("patches", pixels, d, True))
    x = t.add(x, t.weight("places", number_of + 1, d))
    for l in range(s["L"]):
        y = t.layer_norm(f"1.{l}", x)
        x = t.add(x, attend(t, f"a{l}", y, y, s, qkv=True, output=True))
        x = t.add(x, network(t, f"f{l}", t.layer_norm(f"2.{l}", x), s, True))
    return t.linear("head", t.rows(t.layer_norm("n", x), [0]), s["C"], True)


def mixture(t: Tape, s: dict[str, int]) -> Node:
    d = s["d_model"]
    x = t.look_up(t.weight("words", s["V"], d), words(t, s, s["n"]))
    for l in range(s["L"]):
        y = t.rms_norm(f"1.{l}", x)
        x = t.add(x, attend(t, f"a{l}", y, y, s, rotary=True, shared=s["h_kv"]))
        x = t.add(x, experts(t, l, t.rms_norm(f"2.{l}", x), s))
    return t.linear("head", t.rms_norm("n", x), s["V"], False)


def experts(t: Tape, l: int, y: Node, s: dict[str, int]) -> Node:
    """Token i goes to the experts i, i + 1, ..., so that each has some."""
    n, number_of, chosen = s["n"], s["E"], s["k"]
    scores = t.linear(f"r{l}", y, number_of, False)
    where = (np.arange(n)[:, None] + np.arange(chosen)) % number_of
    weights = t.softmax(t.rows(scores, (np.arange(n)[:, None], where)))
    outputs: list[list[Any]] = [[None] * chosen for _ in range(n)]
    for e in range(number_of):
        sent = [(i, j) for i in range(n) for j in range(chosen) if where[i, j] == e]
        out = gated(t, f"x{l}.{e}", t.gather(y, [i for i, _ in sent]), s)
        for row, (i, j) in enumerate(sent):
            outputs[i][j] = t.gather(out, [row])
    return t.weighted([t.stack([outputs[i][j] for i in range(n)]) for j in range(chosen)], weights)
