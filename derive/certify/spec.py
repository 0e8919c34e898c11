"""Statements in the notation that ``Spec.v`` begins with."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, count
from typing import Any, Final

from derive.certify.deep import Node
from derive.certify.encode import Free
from derive.kernel.terms import Term

#: What ``Spec.v`` begins with.
HEADER: Final = """\
(** What is claimed, generated from the claims.  A claim whose statement needs no further
    condition to be well defined has no [_defined]. *)
From Derive Require Import Prelude.
Open Scope R_scope.

(** Functions of real numbers; tensors are such functions of their indices. *)
Local Notation R1 := (R -> R).
Local Notation R2 := (R -> R -> R).
Local Notation R3 := (R -> R -> R -> R).
Local Notation R4 := (R -> R -> R -> R -> R).
(** For all sizes, natural numbers, integers, and for all or some integers 0 <= i < n *)
Local Notation "'sizes' x .. y , p" :=
  (forall x, is_size x -> .. (forall y, is_size y -> p) ..)
  (at level 200, x binder, y binder, p at level 200).
Local Notation "'nats' x .. y , p" := (forall x, is_nat x -> .. (forall y, is_nat y -> p) ..)
  (at level 200, x binder, y binder, p at level 200).
Local Notation "'ints' x .. y , p" := (forall x, is_int x -> .. (forall y, is_int y -> p) ..)
  (at level 200, x binder, y binder, p at level 200).
Local Notation "'each' i '<' n , p" := (forall i : R, is_index n i -> p)
  (at level 200, i name, n at level 69, p at level 200).
Local Notation "'some' i '<' n , p" := (exists i : R, is_index n i /\\ p)
  (at level 200, i name, n at level 69, p at level 200).
(** Sums, products and means over the integers 0 <= i < n; they end before + and -. *)
Local Notation "'sum' i '<' n , b" := (Sum n (fun i => b))
  (at level 45, i name, n at level 69, b at level 45, right associativity).
Local Notation "'prod' i '<' n , b" := (Product n (fun i => b))
  (at level 45, i name, n at level 69, b at level 45, right associativity).
Local Notation "'mean' i '<' n , b" := (Sum n (fun i => b) / n)
  (at level 45, i name, n at level 69, b at level 45, right associativity).
"""
WIDTH: Final = 98
_KINDS: Final = ("", "is_int", "is_nat", "is_size", "is_index")
_MANY: Final = ("", "ints", "nats", "sizes", "each")
_FUNCTIONS: Final = ("sin", "cos", "exp", "ln", "sqrt", "Rabs", "floor")
_TAKEN: Final = frozenset((
    "R", "E", "IZR", "INR", "PI", "O", "S", "I", "Q", "N", "Z", "nat", "unit", "list", "bool",
    "Prop", "Set", "Type", "SProp", "forall", "exists", "fun", "let", "in", "if", "then", "else",
    "match", "with", "end", "as", "at", "fix", "cofix", "return", "using", "where", "sin", "cos",
    "exp", "ln", "sqrt", "Rabs", "Rmax", "Rmin", "floor", "modulo", "delta", "power", "vector",
    "Sum", "Product", "Det", "count", "sum_to", "product_to", "det_to", "is_int", "is_nat",
    "is_size", "is_index", "gradient1", "gradient2", "gradient3", "gradient4", "expectation",
    "Omega", "outcome", "R1", "R2", "R3", "R4", "sizes", "nats", "ints", "each", "some", "sum",
    "prod", "mean",
))  # fmt: skip
#: precedence: what binds tighter than the context is written without brackets
_ATOM: Final = 10
_POWER: Final = 30
_UNARY: Final = 35
_TIMES: Final = 40
_SUM: Final = 45
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
    """Prints deep nodes; `names` are those of the free symbols by number.

    `shared` gives, for a premise that has a definition of its own, the name of that and the numbers
    of its parameters.
    """

    def __init__(
        self, names: dict[int, str], shared: Mapping[int, tuple[str, Sequence[int]]] | None = None
    ) -> None:
        self.names = names
        self.shared = shared or {}
        self._used = frozenset({*names.values(), *_TAKEN})

    # ------------------------------------------------------------------ statements

    def closed(self, frees: Sequence[Free], numbers: Sequence[int], body: Node) -> str:
        """The formula under quantifiers for its free symbols, a line for each premise."""
        lines = self._quantifiers(frees, [self.names[k] for k in numbers])
        while body[0] == "FImp":
            lines.append(f"{self.premise(body[1])} ->")
            body = body[2]
        lines.append(self.formula(body, (), _ALL))
        return "\n  ".join(line for text in lines for line in wrapped(text))

    def premise(self, p: Node) -> str:
        """A formula left of an arrow, by its own definition if it has one."""
        found = self.shared.get(id(p))
        if found is None:
            return self.formula(p, (), _IMP - 1)
        name, numbers = found
        return " ".join([name, *(self.names[k] for k in numbers)])

    def parameters(self, frees: Sequence[Free], names: Sequence[str]) -> str:
        """The symbols as parameters of a definition, with their types."""
        groups: list[tuple[str, list[str]]] = []
        for f, name in zip(frees, names, strict=True):
            _append(groups, _type(*f.range), name)
        return " ".join(f"({' '.join(of)} : {kind})" for kind, of in groups)

    def _quantifiers(self, frees: Sequence[Free], names: Sequence[str]) -> list[str]:
        """Symbols of one kind together; an index needs its size before it."""
        groups: list[tuple[str, list[str]]] = []
        for f, name in zip(frees, names, strict=True):
            kind, k = f.range
            if kind == "QNum" and k == 4:
                groups.append((f"each {_below(name, self.term(f.size, (), _PLUS))}", []))
            elif kind == "QNum" and k:
                _append(groups, _MANY[k], name)
            else:
                _append(groups, f"forall : {_type(kind, k)}", name)
        out: list[str] = []
        for head, of in groups:
            word, _, kind = head.partition(" : ")
            names = " ".join(of)
            if kind and out and out[-1].startswith("forall "):
                out[-1] = f"{out[-1][:-1]} ({names} : {kind}),"
            else:
                out.append(
                    f"{word} ({names} : {kind})," if kind else f"{word} {names},".replace(" ,", ",")
                )
        return [" ".join(out)] if out else []

    def _binder(self, word: str, over: tuple[str, int], name: str, size: str) -> str:
        kind, k = over
        if kind == "QNum" and k == 4:
            return f"{'each' if word == 'forall' else 'some'} {_below(name, size)},"
        if kind == "QNum" and k:
            if word == "forall":
                return f"{_MANY[k]} {name},"
            return f"exists {name} : R, {_KINDS[k]} {name} /\\"
        return f"{word} {name} : {_type(kind, k)},"

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
                left = self.formula(data[0], bound, _IMP - 1) if bound else self.premise(data[0])
                return _wrap(f"{left} -> {self.formula(data[1], bound, _ALL)}", _IMP, outer)
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
        head = self._binder(word, (kind, k), name, self.term(size, bound, _PLUS))
        inside = _AND if kind == "QNum" and 0 < k < 4 and op == "FEx" else _ALL
        return _wrap(f"{head} {self.formula(body, (*bound, name), inside)}", _ALL, outer)

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
            case "Mul" if data[1][0] == "Inv" and data[0][0] == "TSum" and data[0][1] is data[1][1]:
                return self._over("mean", data[0][1:], bound, outer)
            case "Mul" if data[1][0] == "Inv":
                return self._binary((data[0], data[1][1]), "/", bound, outer, _TIMES)
            case "Mul":
                return self._binary(data, "*", bound, outer, _TIMES)
            case "Opp":
                return _wrap(f"- {self.term(data[0], bound, _UNARY)}", _UNARY, outer)
            case "Inv":
                return _wrap(f"/ {self.term(data[0], bound, _UNARY)}", _UNARY, outer)
            case "Pow":
                return _wrap(f"{self.term(data[0], bound, _POWER - 1)}^{data[1]}", _POWER, outer)
            case "Val":
                return self._application(data[0], bound, outer)
            case "TSum" | "TProd":
                return self._over("sum" if op == "TSum" else "prod", data, bound, outer)
            case _:
                return _wrap(self._call(op, data, bound), _ATOM, outer)

    def _number(self, p: int, q: int, outer: int) -> str:
        whole = str(p) if p >= 0 else f"(-{-p})"
        return whole if q == 1 else _wrap(f"{whole}/{q}", _TIMES, outer)

    def _binary(
        self, parts: Sequence[Node], sign: str, bound: tuple[str, ...], outer: int, level: int
    ) -> str:
        a, b = (self.term(parts[0], bound, level), self.term(parts[1], bound, level - 1))
        return _wrap(_tight(a, sign, b) if level == _TIMES else f"{a} {sign} {b}", level, outer)

    def _over(self, word: str, data: Sequence[Node], bound: tuple[str, ...], outer: int) -> str:
        size, body = data
        i = self._fresh(bound, "i")
        inner = self.term(body, (*bound, i), _SUM)
        range_ = _below(i, self.term(size, bound, _PLUS))
        return _wrap(f"{word} {range_}, {inner}", _SUM, outer)

    def _call(self, op: str, data: Sequence[Any], bound: tuple[str, ...]) -> str:
        tight = _ATOM - 1
        if op == "Fn":
            return f"{_FUNCTIONS[data[0]]} {self.term(data[1], bound, tight)}"
        names = {"Max": "Rmax", "Min": "Rmin", "RPow": "power", "Delta": "delta"}
        if op in names:
            return f"{names[op]} {' '.join(self.term(d, bound, tight) for d in data)}"
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


def _tight(a: str, sign: str, b: str) -> str:
    """The two without spaces, unless a sign would be joined by another one."""
    return f"{a} {sign} {b}" if b[0] in "-/" else f"{a}{sign}{b}"


def _below(name: str, size: str) -> str:
    return _tight(name, "<", size)


def _wrap(text: str, level: int, outer: int) -> str:
    return text if level <= outer else f"({text})"


def _append(groups: list[tuple[str, list[str]]], head: str, name: str) -> None:
    """Add a name to the last group if it is of the same head, otherwise to a new one."""
    if groups and groups[-1][0] == head and groups[-1][1]:
        groups[-1][1].append(name)
    else:
        groups.append((head, [name]))


def _type(kind: str, k: int) -> str:
    if kind in ("QNum", "QTen"):
        return f"R{k}" if kind == "QTen" and k else "R"
    if kind == "QFun":
        return " -> ".join([*["R"] * (k + 1), "R1", "R"])
    return f"Omega -> R{k}" if k else "Omega -> R"


def wrapped(text: str) -> list[str]:
    """Lines of a limited width; what does not begin the first one is indented."""
    if len(text) <= WIDTH:
        return [text]
    first, *words = text.split(" ")
    lines = [first]
    for word in words:
        if len(lines[-1]) + len(word) < WIDTH:
            lines[-1] += f" {word}"
        else:
            lines.append(f"  {word}")
    return lines


def symbol_names(frees: Sequence[Free]) -> list[str]:
    """Names for the free symbols, apart from each other and from what the prelude defines."""
    out: list[str] = []
    for f in frees:
        s = f.symbol
        text = s.data[0] if isinstance(s, Term) else str(s.head) + "'" * len(s.derivatives)
        out.append(identifier(text, out))
    return out
