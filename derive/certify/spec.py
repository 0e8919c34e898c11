"""Statements in Coq's own notation, as a reader of ``Spec.v`` meets them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain, count
from typing import Any, Final

from derive.certify.deep import Node
from derive.certify.encode import Free
from derive.kernel.terms import Term

_KINDS: Final = ("", "is_int", "is_nat", "is_size", "is_index")
_FUNCTIONS: Final = ("sin", "cos", "exp", "ln", "sqrt", "Rabs", "floor")
_TAKEN: Final = frozenset(
    [
        *(
            "R",
            "E",
            "IZR",
            "INR",
            "PI",
            "O",
            "S",
            "I",
            "Q",
            "N",
            "Z",
            "nat",
            "unit",
            "list",
            "bool",
        ),
        *("Prop", "Set", "Type", "SProp", "forall", "exists", "fun", "let", "in", "if", "then"),
        *("else", "match", "with", "end", "as", "at", "fix", "cofix", "return", "using", "where"),
        *("sin", "cos", "exp", "ln", "sqrt", "Rabs", "Rmax", "Rmin", "floor", "modulo", "delta"),
        *("power", "vector", "Sum", "Product", "Det", "count", "sum_to", "product_to", "is_int"),
        *("is_nat", "is_size", "is_index", "gradient1", "gradient2", "gradient3", "gradient4"),
        *("expectation", "Omega", "outcome"),
    ]
)
#: precedence: what binds tighter than the context is written without brackets
_ATOM: Final = 10
_POWER: Final = 30
_UNARY: Final = 35
_TIMES: Final = 40
_PLUS: Final = 50
_REL: Final = 70
_NOT: Final = 75
_AND: Final = 80
_OR: Final = 85
_IMP: Final = 99
_ALL: Final = 200


def identifier(text: str, used: Iterable[str]) -> str:
    """A Coq name that resembles `text` and is not in use."""
    base = re.sub(r"[^A-Za-z0-9_']", "_", text).strip("_") or "x"
    base = base if base[0].isalpha() else f"x{base}"
    taken = {*_TAKEN, *used}
    name, k = base, 1
    while name in taken:
        k += 1
        name = f"{base}_{k}"
    return name


class Printer:
    """Prints deep nodes; `names` are those of the free symbols by number."""

    def __init__(self, names: dict[int, str]) -> None:
        self.names = names
        self._used = frozenset({*names.values(), *_TAKEN})

    # ------------------------------------------------------------------ statements

    def closed(self, frees: Sequence[Free], numbers: Sequence[int], body: Node) -> str:
        """The formula under quantifiers for its free symbols."""
        out, scope = [], [self.names[k] for k in numbers]
        for f, name in zip(frees, scope, strict=True):
            out.append(self._binder("forall", f.range, name, self.term(f.size, (), _ATOM)))
        return "\n  ".join([*out, self.formula(body, (), _ALL)])

    def _binder(self, word: str, over: tuple[str, int], name: str, size: str) -> str:
        kind, k = over
        if kind != "QNum":
            return f"{word} {name} : {_type(kind, k)},"
        head = f"{word} {name} : R,"
        if not _KINDS[k]:
            return head
        member = f"{_KINDS[k]} {size} {name}" if k == 4 else f"{_KINDS[k]} {name}"
        return f"{head} {member} {'->' if word == 'forall' else '/' + chr(92)}"

    # ------------------------------------------------------------------ formulas

    def formula(self, p: Node, bound: tuple[str, ...], outer: int) -> str:
        op, *data = p
        match op:
            case "FEq" | "FLe" | "FLt":
                sign = {"FEq": "=", "FLe": "<=", "FLt": "<"}[op]
                return self._infix(data, sign, bound, outer, _REL)
            case "FInt":
                return _wrap(f"is_int {self.term(data[0], bound, _ATOM - 1)}", _ATOM, outer)
            case "FTrue" | "FFalse":
                return op[1:]
            case "FAnd":
                return self._right(data, "/\\", bound, outer, _AND)
            case "FOr":
                return self._right(data, "\\/", bound, outer, _OR)
            case "FImp":
                return self._right(data, "->", bound, outer, _IMP)
            case "FNot" if data[0][0] == "FEq":
                return self._infix(data[0][1:], "<>", bound, outer, _REL)
            case "FNot":
                return _wrap(f"~ {self.formula(data[0], bound, _NOT)}", _NOT, outer)
            case "FAll" | "FEx":
                return self._quantified(op, data, bound, outer)
            case _:
                return self._gradient(int(op[-1]), data, bound, outer)

    def _right(
        self, parts: Sequence[Node], sign: str, bound: tuple[str, ...], outer: int, level: int
    ) -> str:
        a, b = parts
        left = self.formula(a, bound, level - 1)
        return _wrap(f"{left} {sign} {self.formula(b, bound, level)}", level, outer)

    def _infix(
        self, parts: Sequence[Node], sign: str, bound: tuple[str, ...], outer: int, level: int
    ) -> str:
        a, b = parts
        text = f"{self.term(a, bound, level - 1)} {sign} {self.term(b, bound, level - 1)}"
        return _wrap(text, level, outer)

    def _quantified(self, op: str, data: Sequence[Node], bound: tuple[str, ...], outer: int) -> str:
        over, size, body = data
        kind, k = str(over[0]), int(over[1])
        name = self._fresh(bound, "T" if kind == "QTen" else "i" if k == 4 else "x")
        word = "forall" if op == "FAll" else "exists"
        head = self._binder(
            word, (str(over[0]), int(over[1])), name, self.term(size, bound, _ATOM - 1)
        )
        limited = kind == "QNum" and _KINDS[k]
        level = (_IMP if word == "forall" else _AND) if limited else _ALL
        return _wrap(f"{head} {self.formula(body, (*bound, name), level)}", _ALL, outer)

    def _gradient(self, r: int, data: Sequence[Node], bound: tuple[str, ...], outer: int) -> str:
        sizes, (function, point, partials) = data[:r], data[r:]
        tensor = self._fresh(bound, "X")
        indices: tuple[str, ...] = ()
        for _ in range(r):
            indices = (*indices, self._fresh((*bound, *indices), "c"))
        inner = (*bound, *indices)
        parts = [self.term(s, bound, _ATOM - 1) for s in sizes]
        parts.append(f"(fun {tensor} => {self.term(function, (*bound, tensor), _ALL)})")
        for t in (point, partials):
            parts.append(f"(fun {' '.join(indices)} => {self.term(t, inner, _ALL)})")
        return _wrap(f"gradient{r} {' '.join(parts)}", _ATOM, outer)

    # ------------------------------------------------------------------ terms

    def term(self, t: Node, bound: tuple[str, ...], outer: int) -> str:
        op, *data = t
        match op:
            case "Num":
                return self._number(data[0], data[1], outer)
            case "Pi":
                return "PI"
            case "Free" | "HFree":
                return self.names[data[0]]
            case "Bound" | "HBound":
                return bound[-1 - data[0]]
            case "Add" if data[1][0] == "Opp":
                return self._binary((data[0], data[1][1]), "-", bound, outer, _PLUS)
            case "Add":
                return self._binary(data, "+", bound, outer, _PLUS)
            case "Mul" if data[1][0] == "Inv":
                return self._binary((data[0], data[1][1]), "/", bound, outer, _TIMES)
            case "Mul":
                return self._binary(data, "*", bound, outer, _TIMES)
            case "Opp":
                return _wrap(f"- {self.term(data[0], bound, _UNARY)}", _UNARY, outer)
            case "Inv":
                return _wrap(f"/ {self.term(data[0], bound, _UNARY)}", _UNARY, outer)
            case "Pow":
                return _wrap(f"{self.term(data[0], bound, _POWER - 1)} ^ {data[1]}", _POWER, outer)
            case "Val":
                return self._application(data[0], bound, outer)
            case _:
                return _wrap(self._call(op, data, bound), _ATOM, outer)

    def _number(self, p: int, q: int, outer: int) -> str:
        whole = str(p) if p >= 0 else f"(-{-p})"
        return whole if q == 1 else _wrap(f"{whole} / {q}", _TIMES, outer)

    def _binary(
        self, parts: Sequence[Node], sign: str, bound: tuple[str, ...], outer: int, level: int
    ) -> str:
        a, b = (self.term(parts[0], bound, level), self.term(parts[1], bound, level - 1))
        return _wrap(f"{a} {sign} {b}", level, outer)

    def _call(self, op: str, data: Sequence[Any], bound: tuple[str, ...]) -> str:
        tight = _ATOM - 1
        if op == "Fn":
            return f"{_FUNCTIONS[data[0]]} {self.term(data[1], bound, tight)}"
        names = {"Max": "Rmax", "Min": "Rmin", "RPow": "power", "Delta": "delta"}
        if op in names:
            return f"{names[op]} {' '.join(self.term(d, bound, tight) for d in data)}"
        if op in ("TSum", "TProd"):
            size, body = data
            i = self._fresh(bound, "i")
            word = "Sum" if op == "TSum" else "Product"
            inner = self.term(body, (*bound, i), _ALL)
            return f"{word} {self.term(size, bound, tight)} (fun {i} => {inner})"
        if op == "TDet":
            size, (_, (_, entries)) = data
            i = self._fresh(bound, "i")
            j = self._fresh((*bound, i), "i")
            inner = self.term(entries, (*bound, i, j), _ALL)
            return f"Det {self.term(size, bound, tight)} (fun {i} {j} => {inner})"
        if op == "Exp_":
            return f"E (fun outcome => {self.term(data[0], bound, _ALL)})"
        raise AssertionError(op)

    def _application(self, head: Node, bound: tuple[str, ...], outer: int) -> str:
        args: list[str] = []
        while head[0] in ("Ap", "ApV"):
            if head[0] == "Ap":
                args.append(self.term(head[2], bound, _ATOM - 1))
            else:
                i = self._fresh(bound, "i")
                body = self.term(head[3], (*bound, i), _ALL)
                size = self.term(head[2], bound, _ATOM - 1)
                args.append(f"{size} (vector {size} (fun {i} => {body}))")
            head = head[1]
        if head[0] == "HFree" and head[2]:
            args.append("outcome")
        name = self.term(head, bound, _ATOM)
        return _wrap(" ".join([name, *reversed(args)]), _ATOM, outer) if args else name

    def _fresh(self, bound: tuple[str, ...], wish: str) -> str:
        used = {*bound, *self._used}
        names = chain("ijkl" if wish == "i" else wish, (f"{wish}{k}" for k in count(1)))
        return next(name for name in names if name not in used)


def _wrap(text: str, level: int, outer: int) -> str:
    return text if level <= outer else f"({text})"


def _type(kind: str, k: int) -> str:
    if kind == "QTen":
        return " -> ".join(["R"] * (k + 1))
    if kind == "QFun":
        return " -> ".join([*["R"] * (k + 1), "(R -> R)", "R"])
    return " -> ".join(["Omega", *["R"] * (k + 1)])


def symbol_names(frees: Sequence[Free]) -> list[str]:
    """Names for the free symbols, apart from each other and from what the prelude defines."""
    out: list[str] = []
    for f in frees:
        s = f.symbol
        text = s.data[0] if isinstance(s, Term) else str(s.head) + "'" * len(s.derivatives)
        out.append(identifier(text, out))
    return out
