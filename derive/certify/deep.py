"""Kernel terms as the data type `tm` of ``coq/Terms.v``, nested tuples with the constructor first.

Equal nodes are one object, so that they are compared and looked up by identity.
Both printers start from them: `spec` writes readable formulas, `encode` the text of a log.
Sums and products become binary, ``a + (-1) b`` becomes ``a - b`` and ``a b^-1`` becomes ``a / b``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from derive.kernel import terms as T
from derive.kernel.terms import Head, Lam, Term

Node = tuple[Any, ...]


class Unsupported(Exception):
    """Something of the kernel that the Coq side does not have; the message names it."""


KINDS: Final = {"real": 0, "int": 1, "nat": 2, "dim": 3, "fin": 4}
FUNCTIONS: Final = {"sin": 0, "cos": 1, "exp": 2, "log": 3, "sqrt": 4, "abs": 5, "floor": 6}
_NODES: Final[dict[tuple[Any, ...], Node]] = {}


def node(op: str, *data: Any) -> Node:
    """The node with these parts; there is only one."""
    key = (op, *[id(d) if type(d) is tuple else d for d in data])
    found = _NODES.get(key)
    if found is None:
        found = _NODES[key] = (op, *data)
    return found


def is_formula(n: Node) -> bool:
    return bool(n[0][0] == "F") and n[0] not in ("Free", "Fn")


_BINDERS: Final = {
    "TSum": (0, 1), "TProd": (0, 1), "FAll": (0, 0, 1), "FEx": (0, 0, 1), "ApV": (0, 0, 1),
    "Lam": (1,), **{f"FGrad{r}": (*[0] * r, 1, r, r) for r in range(1, 5)},
}  # fmt: skip
_NO_BINDERS: Final = tuple((0,) * k for k in range(4))


def binders(n: Node) -> Sequence[int]:
    """How many indices a node binds around each of its parts."""
    return _BINDERS.get(n[0]) or _NO_BINDERS[len(n) - 1]


ZERO: Final[Node] = node("Num", 0, 1)
ONE: Final[Node] = node("Num", 1, 1)


class Symbols:
    """Numbers for free symbols: variables by node, heads by name and shape."""

    def __init__(self) -> None:
        self.named: list[Term | Head] = []
        self._numbers: dict[Term | Head, int] = {}

    def of(self, symbol: Term | Head) -> int:
        found = self._numbers.get(symbol)
        if found is None:
            found = self._numbers[symbol] = len(self.named)
            self.named.append(symbol)
        return found


class Deep:
    """Translates terms and formulas, each once."""

    def __init__(self, symbols: Symbols) -> None:
        self.symbols = symbols
        self._memo: dict[Term, Node] = {}
        self._entries: dict[tuple[Any, ...], Node] = {}
        self._abstracted: dict[tuple[int, int, int], Node] = {}

    def __call__(self, t: Term) -> Node:
        found = self._memo.get(t)
        if found is None:
            found = self._memo[t] = self._translated(t)
        return found

    def _translated(self, t: Term) -> Node:
        match t.op:
            case "var" if t.data[2]:
                return node("Val", node("HFree", self.symbols.of(t), True))
            case "var":
                size = self(t.children[0]) if t.children else ZERO
                return node("Free", self.symbols.of(t), KINDS[t.data[1]], size)
            case "diff":
                return self._differentiable(t)
            case _:
                return self._operation(t.op, t.data, [*map(self, t.children)])

    def entry(self, op: str, data: Any, parts: Sequence[Node]) -> Node:
        """The term that a log lists as this operation on others, where it is no variable and says
        nothing of differentiability."""
        if type(data) is list:
            data = tuple([tuple(d) if type(d) is list else d for d in data])
        key = (op, data, *map(id, parts))
        found = self._entries.get(key)
        if found is None:
            if op == "num":
                data = T.read_number(data)
            elif op == "app":
                data = Head(*data)
            found = self._entries[key] = self._operation(op, data, parts)
        return found

    def abstracted(self, n: Node, x: Node, depth: int = 0) -> Node:
        """The node, which has no loose indices, with one in place of the free symbol x."""
        if n is x:
            return node("Bound", depth)
        if n[0] == "Free":
            return n
        key = (id(n), id(x), depth)
        found = self._abstracted.get(key)
        if found is None:
            parts = [
                self.abstracted(c, x, depth + k) if type(c) is tuple else c
                for c, k in zip(n[1:], binders(n), strict=True)
            ]
            found = self._abstracted[key] = node(n[0], *parts)
        return found

    def _operation(self, op: str, data: Any, parts: Sequence[Node]) -> Node:
        if op in T.FORMULA_OPS:
            return self._formula(op, data, parts)
        return self._term(op, data, parts)

    # ------------------------------------------------------------------ terms

    def _term(self, op: str, data: Any, parts: Sequence[Node]) -> Node:
        match op:
            case "num":
                return node("Num", data.numerator, data.denominator)
            case "bound":
                return node("Bound", data)
            case "add":
                return _chain("Add", parts) if parts else ZERO
            case "mul" if parts[0] is _MINUS_ONE and len(parts) > 1:
                return node("Opp", _chain("Mul", parts[1:]))
            case "mul":
                return _chain("Mul", parts)
            case "pow":
                return _power(parts[0], data)
            case "fn":
                return _function(data, parts)
            case "delta":
                return node("Delta", *parts)
            case "sum":
                return node("TSum", *parts)
            case "prod":
                return node("TProd", *parts)
            case "E":
                return node("Exp_", parts[0])
            case "det":
                size, entries = parts
                return node("TDet", size, node("Lam", node("Lam", entries)))
            case "app":
                return node("Val", self._application(data, parts))
            case _:
                raise Unsupported(f"there is no {op!r} on the Coq side")

    def _application(self, head: Head, parts: Sequence[Node]) -> Node:
        if isinstance(head.head, int):
            out: Node = node("HBound", head.head)
        else:
            out = node("HFree", self.symbols.of(head), head.random)
        for p in parts[: head.scalars]:
            out = node("Ap", out, p)
        at = head.scalars
        for arity in head.arities:
            if arity != 1:
                raise Unsupported("a function of matrices")
            out = node("ApV", out, parts[at], parts[at + 1])
            at += 2
        return out

    # ------------------------------------------------------------------ formulas

    def _formula(self, op: str, data: Any, parts: Sequence[Node]) -> Node:
        match op:
            case "eq" | "le" | "lt":
                return node(_RELATIONS[op], *parts)
            case "isint":
                return node("FInt", parts[0])
            case "and" | "or":
                return _connected(op, parts)
            case "not":
                return node("FNot", parts[0])
            case "imp":
                return node("FImp", *parts)
            case "forall" | "exists":
                sort, arity = data
                size = parts[0] if sort == "fin" else ZERO
                kind = node("QTen", arity) if sort == "tensor" else node("QNum", KINDS[sort])
                return node("FAll" if op == "forall" else "FEx", kind, size, parts[-1])
            case "grad" if 1 <= data <= 4:
                return node(f"FGrad{data}", *parts)
            case "grad":
                raise Unsupported(f"a gradient by a tensor with {data} indices")
            case _:
                raise Unsupported(f"there is no {op!r} on the Coq side")

    def _differentiable(self, t: Term) -> Node:
        """The function has the derivative symbol as its gradient in that vector."""
        (value,) = t.children
        head, n = value.data, value.data.scalars
        if head.arities != (1,):
            raise Unsupported("differentiability in one of several vectors")
        size, body = value.children[n:]
        scalars = [T.lift(c, 1) for c in value.children[:n]]
        whole = T.app(Head(1, 1), T.bound(0))
        function = T.app(head, *scalars, T.lift(size, 1), whole)
        entries = T.app(slope(head), *scalars, T.bound(0), T.lift(size, 1), T.lift(body, 1, 1))
        return node("FGrad1", self(size), self(function), self(body), self(entries))


def slope(f: Head) -> Head:
    """The derivative symbol of a function in its first vector."""
    return Head(f.head, f.scalars + 1, f.arities, (*f.derivatives, 0), f.random)


_RELATIONS: Final = {"eq": "FEq", "le": "FLe", "lt": "FLt"}
_MINUS_ONE: Final = node("Num", -1, 1)


def _chain(op: str, parts: Sequence[Node]) -> Node:
    """The parts with a binary operation between them, from the left."""
    out = parts[0]
    for p in parts[1:]:
        out = node(op, out, p)
    return out


def _power(base: Node, e: int) -> Node:
    if e == -1:
        return node("Inv", base)
    return node("Pow", node("Inv", base), -e) if e < 0 else node("Pow", base, e)


def _function(name: str, args: Sequence[Node]) -> Node:
    match name:
        case "pi":
            return node("Pi")
        case "max":
            return _chain("Max", args)
        case "min":
            return _chain("Min", args)
        case "rpow":
            return node("RPow", *args)
        case "mod":
            a, n = args
            whole = node("Fn", FUNCTIONS["floor"], node("Mul", a, node("Inv", n)))
            return node("Add", a, node("Opp", node("Mul", n, whole)))
        case _:
            return node("Fn", FUNCTIONS[name], args[0])


def _connected(op: str, parts: Sequence[Node]) -> Node:
    if not parts:
        return node("FTrue" if op == "and" else "FFalse")
    *init, out = parts
    for p in reversed(init):
        out = node("FAnd" if op == "and" else "FOr", p, out)
    return out


def value(deep: Deep, v: Term | Lam) -> tuple[int, Node]:
    """A value of a quantified variable: (0, number) or (1, tensor)."""
    return (0, deep(v)) if isinstance(v, Term) else (1, tensor(deep(v.body), v.arity))


def tensor(body: Node, arity: int) -> Node:
    for _ in range(arity):
        body = node("Lam", body)
    return body
