"""Formulas and terms that several statements have in common get a definition in ``Spec.v``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from derive.certify.deep import KINDS, Node, is_formula
from derive.certify.encode import Free, Log, Stated
from derive.certify.spec import (
    Call,
    Printer,
    binders,
    identifier,
    parts,
    shape,
    symbol_names,
    wrapped,
)  # fmt: skip

#: A definition has to make the statements shorter by as many characters.
GAIN: Final = 60
#: Of a definition: the words around its parameters and its body
_AROUND: Final = 30
#: A name, and what stands before a parameter in a call
_NAME: Final = 8
_LEAST: Final = 30


@dataclass(frozen=True)
class Form:
    """A way to state something; with `values` the symbols have those of the log."""

    stated: Stated
    body: Node
    values: Sequence[tuple[int, Node]] = ()


class Shared:
    """The definitions, by name, for what the statements of these logs have in common."""

    def __init__(self, logs: Sequence[Log], used: set[str]) -> None:
        self.definitions: dict[str, str] = {}
        self._needs: dict[str, list[str]] = {}
        self._calls: dict[int, Call] = {}
        self._facts: dict[int, _Facts] = {}
        self._forms = {id(log): self._chosen(log) for log in logs}
        self._frees: dict[int, Free] = {}
        for log in logs:
            for form in self._forms[id(log)]:
                for f in form.stated.frees:
                    self._frees.setdefault(log.symbols.of(f.symbol), f)
        self._define([f.body for log in logs for f in self._forms[id(log)]], used)

    def printed(self, log: Log) -> tuple[list[str], list[str]]:
        """The statement of a log and its conditions, and the definitions that they need, each
        behind those that it needs itself."""
        texts: list[str] = []
        called: dict[str, None] = {}
        for form in self._forms[id(log)]:
            numbers = [log.symbols.of(f.symbol) for f in form.stated.frees]
            names = dict(zip(numbers, symbol_names(form.stated.frees), strict=True))
            printer = Printer(names, self._calls)
            if form.values:
                given = [(x, *v) for x, v in zip(numbers, form.values, strict=True)]
                texts.append(printer.at_values(given, form.body))
            else:
                texts.append(printer.closed(form.stated.frees, numbers, form.body))
            called.update(printer.called)
        needed: dict[str, None] = {}
        for name in called:
            self._add(name, needed)
        return texts, list(needed)

    def _add(self, name: str, needed: dict[str, None]) -> None:
        for other in self._needs[name]:
            self._add(other, needed)
        needed[name] = None

    # ------------------------------------------------------------------ forms

    def _chosen(self, log: Log) -> list[Form]:
        """The statement and the conditions; of the forms at values the shortest."""
        first, *rest = (Form(s, log.formula(s)) for s in (log.statement, *log.conditions))
        if not log.values:
            return [first, *rest]
        forms = [first]
        for only in (True, False):
            opened = log.opened(tensors_only=only)
            if opened is not None:
                values = [log.value_of(f) for f in opened.frees]
                forms.append(Form(opened, log.formula(opened), values))
        return [min(forms, key=self._length), *rest]

    def _length(self, form: Form) -> int:
        around = sum(20 + 2 * arity + self._of(v).length for arity, v in form.values)
        return self._of(form.body).length + around

    # ------------------------------------------------------------------ definitions

    def _define(self, bodies: Sequence[Node], used: set[str]) -> None:
        """From the whole to the parts: what is printed in a definition is printed once."""
        times: dict[int, int] = {}
        order: dict[int, Node] = {}
        for body in bodies:
            self._visit(body, order)
            times[id(body)] = times.get(id(body), 0) + 1
        chosen = []
        for n in reversed(order.values()):
            count = times[id(n)]
            if count > 1 and self._worthwhile(n, count):
                chosen.append(n)
                count = 1
            for p in parts(n):
                times[id(p)] = times.get(id(p), 0) + count
        for n in reversed(chosen):
            self._write(n, used)

    def _visit(self, n: Node, order: dict[int, Node]) -> None:
        if id(n) not in order:
            for p in parts(n):
                self._visit(p, order)
            order[id(n)] = n

    def _worthwhile(self, n: Node, count: int) -> bool:
        facts = self._of(n)
        if facts.length < _LEAST or facts.random or facts.tensors or n[0] in ("Lam", "Val"):
            return False
        size = len(facts.free) + len(facts.numbers)
        call = _NAME + 4 * size
        gain = count * (facts.length - call) - facts.length - _AROUND - 4 * size
        return gain > GAIN

    def _write(self, n: Node, used: set[str]) -> None:
        facts = self._of(n)
        numbers = sorted(facts.free, key=lambda x: self._frees[x].place)
        free = [self._frees[x] for x in numbers]
        names = symbol_names(free)
        printer = Printer(dict(zip(numbers, names, strict=True)), self._calls)
        indices = sorted(facts.numbers, reverse=True)
        bound: tuple[str, ...] = ("_",) * (indices[0] + 1 if indices else 0)
        for k in indices:
            fresh = printer.fresh(bound, "i")
            bound = (*bound[: len(bound) - 1 - k], fresh, *bound[len(bound) - k :])
        text = printer.defined(n, bound)
        name = identifier(_name(n, dict(zip(numbers, names, strict=True))), used)
        used.add(name)
        head = [printer.parameters(free, names)] if free else []
        if indices:
            head.append(f"({' '.join(bound[-1 - k] for k in indices)} : R)")
        self._needs[name] = list(printer.called)
        self._calls[id(n)] = Call(n, name, numbers, indices)
        lines = [*wrapped(f"Definition {' '.join([name, *head])} :="), *wrapped(f"{text}.")]
        self.definitions[name] = "\n ".join(lines)

    # ------------------------------------------------------------------ what is known of a node

    def _of(self, n: Node) -> _Facts:
        found = self._facts.get(id(n))
        if found is None:
            found = self._facts[id(n)] = self._made(n)
        return found

    def _made(self, n: Node) -> _Facts:
        op = n[0]
        match op:
            case "Free":
                return _Facts(3, frozenset([n[1]]))
            case "HFree":
                return _Facts(2, frozenset([n[1]]), random=n[2])
            case "Bound":
                return _Facts(2, numbers=frozenset([n[1]]))
            case "HBound":
                return _Facts(2, tensors=frozenset([n[1]]))
        free, numbers, tensors, random = _NONE, _NONE, _NONE, op == "Exp_"
        for c, depth in zip(n[1:], binders(n), strict=True):
            if type(c) is tuple:
                f = self._of(c)
                free |= f.free
                numbers |= _outside(f.numbers, depth)
                tensors |= _outside(f.tensors, depth)
                random = random or f.random
        length = shape(op) + sum(self._of(p).length for p in parts(n))
        return _Facts(length, free, numbers, tensors, random)


_NONE: Final = frozenset[int]()


@dataclass(frozen=True)
class _Facts:
    """Of a node: about how long it is in print, its free symbols, its loose indices that are
    numbers and those that are tensors, and whether an outcome matters."""

    length: int
    free: frozenset[int] = _NONE
    numbers: frozenset[int] = _NONE
    tensors: frozenset[int] = _NONE
    random: bool = False


def _outside(loose: frozenset[int], depth: int) -> frozenset[int]:
    """The loose indices as they are outside of so many binders."""
    return frozenset([k - depth for k in loose if k >= depth]) if depth and loose else loose


def _name(n: Node, names: dict[int, str]) -> str:
    """A name for a formula or term by a symbol in it."""
    if is_formula(n):
        return f"{_subject(n, names)}_is"
    words = {"TSum": "sum", "TProd": "product", "Fn": "value", "Max": "max", "Min": "min"}
    return f"{words.get(n[0], 'term')}_{_subject(n, names)}"


def _subject(p: Node, names: dict[int, str]) -> str:
    """The symbol that a formula says something of: the first one of what it concludes
    that is not a size."""
    while p[0] in ("FAll", "FEx", "FAnd", "FImp", "FNot"):
        p = p[-1] if p[0] in ("FAll", "FEx", "FImp") else p[1]
    todo: list[Node] = [p[-1] if p[0].startswith("FGrad") else p]
    size = "constant"
    while todo:
        n = todo.pop()
        if n[0] == "HFree" or (n[0] == "Free" and KINDS["dim"] != n[2]):
            return names[n[1]]
        size = names[n[1]] if n[0] == "Free" else size
        todo += reversed([d for d in n[1:] if type(d) is tuple])
    return size
