"""Statements in the notation that ``Spec.v`` begins with."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import Any, Final

from derive.certify.deep import KINDS, Node, binders, is_formula
from derive.certify.encode import Free
from derive.kernel.terms import Term

#: What ``Spec.v`` begins with.
HEADER: Final = """\
(** What is claimed, generated from the claims.  D stands for d_model, and in their LaTeX \\D for
    d_{model}, and a sum over i<n,j<m for two sums from 0. *)
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
Local Notation "'each' i '<' n ';' j '<' m , p" :=
  (forall i : R, is_index n i -> forall j : R, is_index m j -> p)
  (at level 200, i name, n at level 69, j name, m at level 69, p at level 200).
Local Notation "'each' i '<' n ';' j '<' m ';' k '<' o , p" :=
  (forall i : R, is_index n i -> forall j : R, is_index m j -> forall k : R, is_index o k -> p)
  (at level 200, i name, n at level 69, j name, m at level 69, k name, o at level 69,
   p at level 200).
(** A condition under which what follows is well defined: it is claimed, too. *)
Local Notation "'defined' d ';' p" := (d /\\ p) (at level 200, d at level 200, p at level 200).
(** Sums, products and means over the integers 0 <= i < n; they end before + and -. *)
Local Notation "'sum' i '<' n , b" := (Sum n (fun i => b))
  (at level 45, i name, n at level 69, b at level 45, right associativity).
Local Notation "'sum' i '<' n ';' j '<' m , b" := (Sum n (fun i => Sum m (fun j => b)))
  (at level 45, i name, n at level 69, j name, m at level 69, b at level 45, right associativity).
Local Notation "'sum' i '<' n ';' j '<' m ';' k '<' o , b" :=
  (Sum n (fun i => Sum m (fun j => Sum o (fun k => b))))
  (at level 45, i name, n at level 69, j name, m at level 69, k name, o at level 69, b at level 45,
   right associativity).
Local Notation "'prod' i '<' n , b" := (Product n (fun i => b))
  (at level 45, i name, n at level 69, b at level 45, right associativity).
Local Notation "'mean' i '<' n , b" := (Sum n (fun i => b) / n)
  (at level 45, i name, n at level 69, b at level 45, right associativity).
(** The softmax of the numbers b over 0 <= i < n, at the index that is called i outside of it *)
Local Notation "'softmax' i '<' n , b" := (exp b / Sum n (fun i => exp b))
  (at level 45, i name, n at level 69, b at level 45, right associativity).
"""
WIDTH: Final = 99
_KINDS: Final = ("", "is_int", "is_nat", "is_size", "is_index")
_MANY: Final = ("", "ints", "nats", "sizes", "each")
_FUNCTIONS: Final = ("sin", "cos", "exp", "ln", "sqrt", "Rabs", "floor")
#: for what most statements speak of; nothing else is called so
_SHORT: Final = {"d_model": "D"}
_TAKEN: Final = frozenset((
    "R", "E", "IZR", "INR", "PI", "O", "S", "I", "Q", "N", "Z", "nat", "unit", "list", "bool",
    "Prop", "Set", "Type", "SProp", "forall", "exists", "fun", "let", "in", "if", "then", "else",
    "match", "with", "end", "as", "at", "fix", "cofix", "return", "using", "where", "sin", "cos",
    "exp", "ln", "sqrt", "Rabs", "Rmax", "Rmin", "floor", "modulo", "delta", "power", "vector",
    "Sum", "Product", "Det", "count", "sum_to", "product_to", "det_to", "is_int", "is_nat",
    "is_size", "is_index", "gradient1", "gradient2", "gradient3", "gradient4", "expectation",
    "Omega", "w", "R1", "R2", "R3", "R4", "sizes", "nats", "ints", "each", "some", "sum",
    "prod", "mean", "softmax", "defined", "D",
))  # fmt: skip
#: ranges that have one notation
_TOGETHER: Final = 3
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


def identifier(text: str, used: Container[str]) -> str:
    """A Coq name that resembles `text` and is not in use."""
    base = re.sub(r"[^A-Za-z0-9_']", "_", text).strip("_") or "x"
    base = base if base[0].isalpha() else f"x{base}"
    name, k = base, 1
    while name in _TAKEN or name in used:
        k += 1
        name = f"{base}_{k}"
    return name


#: What is given for a parameter: a free symbol or a loose index, each with its number
FREE, INDEX = range(2)
Given = tuple[int, int]


@dataclass(frozen=True)
class Call:
    """Instead of a node: the name of a definition, and what is given for its parameters."""

    name: str
    given: Sequence[Given]


def _no_call(_: Node) -> Call | None:
    return None


class Printer:
    """Prints deep nodes; `names` are those of the free symbols by number.

    `call` finds for a node that has a definition what is printed instead.
    """

    def __init__(
        self, names: dict[int, str], call: Callable[[Node], Call | None] = _no_call
    ) -> None:
        self.names = names
        self.call = call
        #: the definitions that were used
        self.called: dict[str, None] = {}
        self._used = frozenset(names.values())

    # ------------------------------------------------------------------ statements

    def closed(self, frees: Sequence[Free], numbers: Sequence[int], body: Node) -> str:
        """The formula under quantifiers for its free symbols, a line for each premise."""
        return self._lines(self._quantifiers(frees, [self.names[k] for k in numbers]), body)

    def at_values(self, values: Sequence[tuple[int, int, Node]], body: Node) -> str:
        """The formula where symbols, by number, have values under so many indices."""
        lets = []
        for x, arity, value in values:
            bound: tuple[str, ...] = ()
            for _ in range(arity):
                bound = (*bound, self.fresh(bound, "i"))
            head = " ".join([self.names[x], *([f"({' '.join(bound)} : R)"] if bound else [])])
            lets.append(f"let {head} := {self.term(value, bound, _ALL)} in")
        return self._lines([" ".join(lets)], body)

    def _lines(self, lines: list[str], body: Node) -> str:
        while body[0] in ("FImp", "FDef") and self.call(body) is None:
            if body[0] == "FImp":
                lines.append(f"{self.formula(body[1], (), _IMP - 1)} ->")
            else:
                lines.append(f"defined {self.formula(body[1], (), _ALL)};")
            body = body[2]
        lines.append(self.formula(body, (), _ALL))
        return "\n ".join(line for text in lines for line in wrapped(text))

    def defined(self, n: Node, bound: tuple[str, ...]) -> str:
        """The body of a definition; `bound` names the loose indices."""
        return self.formula(n, bound, _ALL) if is_formula(n) else self.term(n, bound, _ALL)

    def _called(self, call: Call, bound: tuple[str, ...], outer: int) -> str:
        """By a definition."""
        self.called[call.name] = None
        given = [self.names[x] if of == FREE else bound[-1 - x] for of, x in call.given]
        return _wrap(" ".join([call.name, *given]), _ATOM, outer) if given else call.name

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
        call = self.call(p)
        if call is not None:
            return self._called(call, bound, outer)
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
            case "FDef":
                first, then = (self.formula(d, bound, _ALL) for d in data)
                return _wrap(f"defined {first}; {then}", _ALL, outer)
            case "FOr":
                return self._right(data, "\\/", bound, outer, _OR)
            case "FImp":
                left = self.formula(data[0], bound, _IMP - 1)
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
        name = self.fresh(bound, "T" if kind == "QTen" else "i" if k == 4 else "x")
        word = "forall" if op == "FAll" else "exists"
        head = self._binder(word, (kind, k), name, self.term(size, bound, _PLUS))
        bound = (*bound, name)
        together = 1
        while head.startswith("each ") and self._goes_on(body, "FAll") and together < _TOGETHER:
            range_, bound = self._further(body[2], bound)
            head = f"{head[:-1]}; {range_},"
            body = body[3]
            together += 1
        inside = _AND if kind == "QNum" and 0 < k < 4 and op == "FEx" else _ALL
        return _wrap(f"{head} {self.formula(body, bound, inside)}", _ALL, outer)

    def _gradient(self, r: int, data: Sequence[Node], bound: tuple[str, ...], outer: int) -> str:
        sizes, (function, point, partials) = data[:r], data[r:]
        tensor = self.fresh(bound, "X")
        indices: tuple[str, ...] = ()
        for _ in range(r):
            indices = (*indices, self.fresh((*bound, *indices), "c"))
        inner = (*bound, *indices)
        parts = [self.term(s, bound, _ATOM - 1) for s in sizes]
        parts.append(f"(fun {tensor} => {self.term(function, (*bound, tensor), _ALL)})")
        parts += [self._function(t, inner, r) for t in (point, partials)]
        return _wrap(f"gradient{r} {' '.join(parts)}", _ATOM, outer)

    def _function(self, body: Node, bound: tuple[str, ...], count: int) -> str:
        """The function of the last `count` bound names; a tensor by its name alone."""
        h, args = body[1] if body[0] == "Val" else body, []
        while h[0] == "Ap":
            args.append(h[2])
            h = h[1]
        plain = all(a[0] == "Bound" and a[1] == k for k, a in enumerate(args))
        if body[0] == "Val" and plain and len(args) == count:
            if h[0] == "HFree" and not h[2]:
                return self.names[h[1]]
            if h[0] == "HBound" and h[1] >= count:
                return bound[-1 - h[1]]
        return f"(fun {' '.join(bound[-count:])} => {self.term(body, bound, _ALL)})"

    # ------------------------------------------------------------------ terms

    def term(self, t: Node, bound: tuple[str, ...], outer: int) -> str:
        call = self.call(t)
        if call is not None:
            return self._called(call, bound, outer)
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
                k = softmax_at(data[0], data[1][1])
                if k is not None:
                    size, i = data[1][1][1], bound[-1 - k]
                    return self._ranged("softmax", i, size, data[0][2], bound, bound, outer)
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
                return _wrap(self._applied(op, data, bound), _ATOM, outer)

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
        inside = (*bound, self.fresh(bound, "i"))
        ranges = [_below(inside[-1], self.term(size, bound, _PLUS))]
        while word == "sum" and self._goes_on(body, "TSum") and len(ranges) < _TOGETHER:
            range_, inside = self._further(body[1], inside)
            ranges.append(range_)
            body = body[2]
        text = f"{word} {'; '.join(ranges)}, {self.term(body, inside, _SUM)}"
        return _wrap(text, _SUM, outer)

    def _goes_on(self, n: Node, op: str) -> bool:
        """Whether this is another sum, or another statement of all indices, without a name."""
        all_ = op != "FAll" or n[1] == ("QNum", KINDS["fin"])
        return bool(n[0] == op) and all_ and self.call(n) is None

    def _further(self, size: Node, bound: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
        i = self.fresh(bound, "i")
        return _below(i, self.term(size, bound, _PLUS)), (*bound, i)

    def _ranged(
        self, word: str, i: str, size: Node, body: Node, bound: tuple[str, ...],
        inside: tuple[str, ...], outer: int,
    ) -> str:  # fmt: skip
        range_ = _below(i, self.term(size, bound, _PLUS))
        return _wrap(f"{word} {range_}, {self.term(body, inside, _SUM)}", _SUM, outer)

    def _applied(self, op: str, data: Sequence[Any], bound: tuple[str, ...]) -> str:
        tight = _ATOM - 1
        if op == "Fn":
            return f"{_FUNCTIONS[data[0]]} {self.term(data[1], bound, tight)}"
        names = {"Max": "Rmax", "Min": "Rmin", "RPow": "power", "Delta": "delta"}
        if op in names:
            return f"{names[op]} {' '.join(self.term(d, bound, tight) for d in data)}"
        if op == "TDet":
            size, (_, (_, entries)) = data
            i = self.fresh(bound, "i")
            j = self.fresh((*bound, i), "i")
            inner = self.term(entries, (*bound, i, j), _ALL)
            return f"Det {self.term(size, bound, tight)} (fun {i} {j} => {inner})"
        if op == "Exp_":
            return f"E (fun w => {self.term(data[0], bound, _ALL)})"
        raise AssertionError(op)

    def _application(self, head: Node, bound: tuple[str, ...], outer: int) -> str:
        args: list[str] = []
        while head[0] in ("Ap", "ApV"):
            if head[0] == "Ap":
                args.append(self.term(head[2], bound, _ATOM - 1))
            else:
                i = self.fresh(bound, "i")
                body = self._function(head[3], (*bound, i), 1)
                size = self.term(head[2], bound, _ATOM - 1)
                args.append(f"{size} (vector {size} {body})")
            head = head[1]
        if head[0] == "HFree" and head[2]:
            args.append("w")
        name = self.term(head, bound, _ATOM)
        return _wrap(" ".join([name, *reversed(args)]), _ATOM, outer) if args else name

    def fresh(self, bound: tuple[str, ...], wish: str) -> str:
        """A name that is neither bound nor free here."""
        names = chain("ijkl" if wish == "i" else wish, (f"{wish}{k}" for k in count(1)))
        used = (bound, self._used, _TAKEN)
        return next(name for name in names if not any(name in of for of in used))


def softmax_at(a: Node, total: Node) -> int | None:
    """The bound index k if a = exp(x k), and the other exp(x 0) + ... + exp(x (n - 1))."""
    if a[0] != "Fn" or _FUNCTIONS[a[1]] != "exp" or total[0] != "TSum":
        return None
    body = total[2]
    if body[0] != "Fn" or body[1] != a[1]:
        return None
    found: set[int] = set()
    if not _instance(a[2], body[2], 0, found) or len(found) != 1:
        return None
    (k,) = found
    return None if _mentions(body[2], k + 1, 0) else k


def _instance(a: Node, b: Node, depth: int, found: set[int]) -> bool:
    """Whether a is b with a bound index for its outermost one; that index is added."""
    op = a[0]
    if op != b[0] or len(a) != len(b):
        return False
    if op in ("Bound", "HBound") and b[1] >= depth:
        if b[1] > depth:
            return bool(a[1] == b[1] - 1)
        found.add(a[1] - depth)
        return bool(a[1] >= depth)
    if op == "Free":
        return a is b
    inner = _depths(a, depth)
    return all(
        _instance(c, d, k, found) if type(c) is tuple and type(d) is tuple else c == d
        for c, d, k in zip(a[1:], b[1:], inner, strict=True)
    )


def _mentions(n: Node, k: int, depth: int) -> bool:
    """Whether the loose index k occurs."""
    if n[0] in ("Bound", "HBound"):
        return bool(n[1] == k + depth)
    return n[0] != "Free" and any(
        type(c) is tuple and _mentions(c, k, d)
        for c, d in zip(n[1:], _depths(n, depth), strict=True)
    )


def _depths(n: Node, depth: int) -> Sequence[int]:
    """How many indices are bound around each part of a node under so many."""
    return [depth + k for k in binders(n)]


def parts(n: Node) -> Sequence[Node]:
    """The nodes from which the printer makes the text of a node."""
    op, *data = n
    match op:
        case "Add" if data[1][0] == "Opp":
            return data[0], data[1][1]
        case "Mul" if data[1][0] == "Inv":
            a, b = data[0], data[1][1]
            if a[0] == "TSum" and a[1] is b:
                return a[1:]
            return (b[1], a[2]) if softmax_at(a, b) is not None else (a, b)
        case "Val":
            return _arguments(data[0])
        case "FNot" if data[0][0] == "FEq":
            return data[0][1:]
        case "FAll" | "FEx":
            return data[1:]
        case "TDet":
            return data[0], data[1][1][1]
        case _:
            return [d for d in data if type(d) is tuple]


def _arguments(h: Node) -> list[Node]:
    found: list[Node] = []
    while h[0] in ("Ap", "ApV"):
        found += h[2:]
        h = h[1]
    return found


def shape(op: str) -> int:
    """About how many characters a node has beside its parts."""
    return _SHAPES.get(op, 30 if op.startswith("FGrad") else 3)


_SHAPES: Final = {
    "Mul": 1, "Opp": 2, "Inv": 1, "Pow": 2, "Fn": 6, "Max": 6, "Min": 6, "RPow": 7, "Delta": 7,
    "TSum": 7, "TProd": 8, "Exp_": 18, "Val": 2, "Ap": 1, "ApV": 12, "Lam": 0, "TDet": 12,
    "FInt": 7, "FAnd": 4, "FDef": 10, "FOr": 4, "FImp": 4, "FAll": 9, "FEx": 14,
    "QNum": 0, "QTen": 0,
}  # fmt: skip


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


def wrapped(text: str, places: str = " ") -> list[str]:
    """Lines of a limited width, broken at these places; all but the first one are indented."""
    if len(text) <= WIDTH:
        return [text]
    pieces = re.split(f"({places})", text)
    lines = [pieces[0]]
    for between, piece in zip(pieces[1::2], pieces[2::2], strict=True):
        if len(lines[-1]) + len(between) + len(piece) <= WIDTH:
            lines[-1] += between + piece
        else:
            lines.append(f" {piece}")
    return lines


def symbol_names(frees: Sequence[Free]) -> list[str]:
    """Names for the free symbols, apart from each other and from what the prelude defines."""
    out: list[str] = []
    for f in frees:
        s = f.symbol
        text = s.data[0] if isinstance(s, Term) else str(s.head) + "'" * len(s.derivatives)
        short = _SHORT.get(text)
        out.append(short if short and short not in out else identifier(text, out))
    return out
