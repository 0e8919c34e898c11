"""Kernel terms as the data type `tm` of ``coq/Terms.v``, nested tuples with the constructor first.

Equal nodes are one object, so that they are compared and looked up by identity.
Both printers start from them: `spec` writes readable formulas, `encode` the text of a log.
Sums and products become binary, ``a + (-1) b`` becomes ``a - b`` and ``a b^-1`` becomes ``a / b``.
"""

from __future__ import annotations

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

    def __call__(self, t: Term) -> Node:
        found = self._memo.get(t)
        if found is None:
            found = self._memo[t] = self._formula(t) if T.is_formula(t) else self._term(t)
        return found

    # ------------------------------------------------------------------ terms

    def _term(self, t: Term) -> Node:
        match t.op:
            case "num":
                return node("Num", t.data.numerator, t.data.denominator)
            case "var" if t.data[2]:
                return node("Val", node("HFree", self.symbols.of(t), True))
            case "var":
                size = self(t.children[0]) if t.children else ZERO
                return node("Free", self.symbols.of(t), KINDS[t.data[1]], size)
            case "bound":
                return node("Bound", t.data)
            case "add":
                return self._sum(t)
            case "mul":
                return self._product(t)
            case "pow":
                return self._power(t)
            case "fn":
                return self._function(t)
            case "delta":
                return node("Delta", *map(self, t.children))
            case "sum":
                return node("TSum", *map(self, t.children))
            case "prod":
                return node("TProd", *map(self, t.children))
            case "E":
                return node("Exp_", self(t.children[0]))
            case "det":
                size, entries = map(self, t.children)
                return node("TDet", size, node("Lam", node("Lam", entries)))
            case "app":
                return node("Val", self._application(t.data, t.children))
            case _:
                raise Unsupported(f"there is no {t.op!r} on the Coq side")

    def _sum(self, t: Term) -> Node:
        first, *rest = t.children
        out = self(first)
        for c in rest:
            out = node("Add", out, self(c))
        return out if rest or t.children else ZERO

    def _product(self, t: Term) -> Node:
        first, *rest = t.children
        if rest and first.op == "num" and first.data == -1:
            return node("Opp", self._factors(rest))
        return self._factors(t.children)

    def _factors(self, children: Any) -> Node:
        first, *rest = children
        out = self(first)
        for c in rest:
            out = node("Mul", out, self(c))
        return out

    def _power(self, t: Term) -> Node:
        base, e = self(t.children[0]), t.data
        if e == -1:
            return node("Inv", base)
        return node("Pow", node("Inv", base), -e) if e < 0 else node("Pow", base, e)

    def _function(self, t: Term) -> Node:
        args = list(map(self, t.children))
        match t.data:
            case "pi":
                return node("Pi")
            case "max" | "min":
                out = args[0]
                for a in args[1:]:
                    out = node("Max" if t.data == "max" else "Min", out, a)
                return out
            case "rpow":
                return node("RPow", *args)
            case "mod":
                a, n = args
                whole = node("Fn", FUNCTIONS["floor"], node("Mul", a, node("Inv", n)))
                return node("Add", a, node("Opp", node("Mul", n, whole)))
            case name:
                return node("Fn", FUNCTIONS[name], args[0])

    def _application(self, head: Head, children: tuple[Term, ...]) -> Node:
        if isinstance(head.head, int):
            out: Node = node("HBound", head.head)
        else:
            out = node("HFree", self.symbols.of(head), head.random)
        for c in children[: head.scalars]:
            out = node("Ap", out, self(c))
        at = head.scalars
        for arity in head.arities:
            if arity != 1:
                raise Unsupported("a function of matrices")
            out = node("ApV", out, self(children[at]), self(children[at + 1]))
            at += 2
        return out

    # ------------------------------------------------------------------ formulas

    def _formula(self, t: Term) -> Node:
        match t.op:
            case "eq" | "le" | "lt":
                return node(_RELATIONS[t.op], *map(self, t.children))
            case "isint":
                return node("FInt", self(t.children[0]))
            case "and" | "or":
                return self._parts(t)
            case "not":
                return node("FNot", self(t.children[0]))
            case "imp":
                return node("FImp", *map(self, t.children))
            case "forall" | "exists":
                op = "FAll" if t.op == "forall" else "FEx"
                sort, arity = t.data
                size = self(t.children[0]) if sort == "fin" else ZERO
                kind = node("QTen", arity) if sort == "tensor" else node("QNum", KINDS[sort])
                return node(op, kind, size, self(t.children[-1]))
            case "grad":
                return self._gradient(t)
            case "diff":
                return self._differentiable(t)
            case _:
                raise Unsupported(f"there is no {t.op!r} on the Coq side")

    def _parts(self, t: Term) -> Node:
        if not t.children:
            return node("FTrue" if t.op == "and" else "FFalse")
        *init, out = map(self, t.children)
        for p in reversed(init):
            out = node("FAnd" if t.op == "and" else "FOr", p, out)
        return out

    def _gradient(self, t: Term) -> Node:
        if not 1 <= t.data <= 4:
            raise Unsupported(f"a gradient by a tensor with {t.data} indices")
        return node(f"FGrad{t.data}", *map(self, t.children))

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


def value(deep: Deep, v: Term | Lam) -> tuple[int, Node]:
    """A value of a quantified variable: (0, number) or (1, tensor)."""
    if isinstance(v, Term):
        return 0, deep(v)
    out = deep(v.body)
    for _ in range(v.arity):
        out = node("Lam", out)
    return 1, out
