"""Formulas and terms that several statements have in common get a definition in ``Spec.v``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from derive.certify.deep import KINDS, Node, binders, is_formula
from derive.certify.encode import Free, Log, Stated
from derive.certify.spec import (
    FREE,
    INDEX,
    Call,
    Given,
    Printer,
    identifier,
    parts,
    shape,
    symbol_names,
    wrapped,
)  # fmt: skip

#: A definition has to make the statements shorter by as many characters.
GAIN: Final = 10
#: Of a definition: the words around its parameters and its body
_AROUND: Final = 30
#: A name, and what stands before a parameter in a call
_NAME: Final = 8
_LEAST: Final = 24
#: not by a definition: what is short, and a claim behind its premises
_NEVER: Final = ("Lam", "Val", "FImp")


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
        #: by form the name of a definition, and which of what is given are its arguments
        self._names: dict[int, tuple[str, list[int]]] = {}
        self._keys: dict[tuple[Any, ...], int] = {}
        self._facts: dict[int, _Facts] = {}
        self._parts_of: dict[int, Sequence[Node]] = {}
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
            printer = Printer(names, self.call)
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

    def call(self, n: Node) -> Call | None:
        """The definition of a node, if there is one, with what it is called with."""
        facts = self._facts.get(id(n)) or self._of(n)
        found = self._names.get(facts.form)
        if found is None:
            return None
        name, places = found
        return Call(name, [facts.given[k] for k in places])

    def _define(self, bodies: Sequence[Node], used: set[str]) -> None:
        """From the whole to the parts: what is printed in a definition is printed once."""
        times: dict[int, int] = {}
        order: dict[int, Node] = {}
        for body in bodies:
            self._visit(body, order)
            form = self._of(body).form
            times[form] = times.get(form, 0) + 1
        chosen = []
        for form, n in reversed(order.items()):
            count = times.get(form, 0)
            if count > 1 and self._worthwhile(n, count):
                chosen.append(n)
                count = 1
            for p in self._parts(n):
                part = self._of(p).form
                times[part] = times.get(part, 0) + count
        for n in reversed(chosen):
            self._write(n, used)

    def _visit(self, n: Node, order: dict[int, Node]) -> None:
        form = self._of(n).form
        if form not in order:
            for p in self._parts(n):
                self._visit(p, order)
            order[form] = n

    def _worthwhile(self, n: Node, count: int) -> bool:
        facts = self._of(n)
        if facts.length < _LEAST or facts.apart or facts.tensors or n[0] in _NEVER:
            return False
        call = _NAME + 4 * len(facts.given)
        gain = count * (facts.length - call) - facts.length - _AROUND - 4 * len(facts.given)
        return gain > GAIN

    def _write(self, n: Node, used: set[str]) -> None:
        facts = self._of(n)
        numbers = sorted((x for of, x in facts.given if of == FREE), key=self._place)
        free = [self._frees[x] for x in numbers]
        names = dict(zip(numbers, symbol_names(free), strict=True))
        printer = Printer(names, self.call)
        indices = sorted((x for of, x in facts.given if of == INDEX), reverse=True)
        bound: tuple[str, ...] = ("_",) * (indices[0] + 1 if indices else 0)
        for k in indices:
            fresh = printer.fresh(bound, "i")
            bound = (*bound[: len(bound) - 1 - k], fresh, *bound[len(bound) - k :])
        text = printer.defined(n, bound)
        name = identifier(_name(n, names), used)
        used.add(name)
        head = [printer.parameters(free, [*names.values()])] if free else []
        if indices:
            head.append(f"({' '.join(bound[-1 - k] for k in indices)} : R)")
        self._needs[name] = list(printer.called)
        order = [*((FREE, x) for x in numbers), *((INDEX, k) for k in indices)]
        self._names[facts.form] = name, [facts.given.index(g) for g in order]
        lines = [*wrapped(f"Definition {' '.join([name, *head])} :="), *wrapped(f"{text}.")]
        self.definitions[name] = "\n ".join(lines)

    def _place(self, x: int) -> tuple[Any, ...]:
        return self._frees[x].place

    # ------------------------------------------------------------------ what is known of a node

    def _of(self, n: Node) -> _Facts:
        found = self._facts.get(id(n))
        if found is None:
            found = self._facts[id(n)] = self._made(n)
        return found

    def _made(self, n: Node) -> _Facts:
        match n[0]:
            case "Free":
                return self._leaf(3, (FREE, n[1]))
            case "HFree":
                return _Facts(2, self._form(("head", n[2])), ((FREE, n[1]),), apart=n[2])
            case "Bound":
                return self._leaf(2, (INDEX, n[1]))
            case "HBound":
                return _Facts(2, self._form(n), tensors=frozenset([n[1]]))
        known = self._facts.get
        key: list[Any] = [n[0]]
        given: dict[Given, int] = {}
        tensors, apart = _NONE, n[0] in ("Exp_", "FDef")
        for c, depth in zip(n[1:], binders(n), strict=True):
            if type(c) is not tuple:
                key.append(c)
                continue
            f = known(id(c)) or self._of(c)
            key.append(f.form)
            for of, x in f.given:
                if depth and of == INDEX:
                    x -= depth
                #: an index that is bound here, or the place of what is given
                here = of == INDEX and x < 0
                key.append(x if here else given.setdefault((of, x), len(given)))
            tensors |= _outside(f.tensors, depth)
            apart = apart or f.apart
        length = shape(n[0]) + sum([self._of(p).length for p in self._parts(n)])
        return _Facts(length, self._form(tuple(key)), tuple(given), tensors, apart)

    def _parts(self, n: Node) -> Sequence[Node]:
        found = self._parts_of.get(id(n))
        if found is None:
            found = self._parts_of[id(n)] = parts(n)
        return found

    def _leaf(self, length: int, given: Given) -> _Facts:
        return _Facts(length, self._form(("real",)), (given,))

    def _form(self, key: tuple[Any, ...]) -> int:
        return self._keys.setdefault(key, len(self._keys))


_NONE: Final = frozenset[int]()


class _Facts(NamedTuple):
    """Of a node: about how long it is in print, its form, which is that of all nodes that differ in
    what is given for parameters only, what is given here, its loose indices that are tensors, and
    whether it cannot stand in a definition, as an outcome matters or a condition stands in it."""

    length: int
    form: int
    given: tuple[Given, ...] = ()
    tensors: frozenset[int] = _NONE
    apart: bool = False


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
    while p[0] in ("FAll", "FEx", "FAnd", "FDef", "FImp", "FNot"):
        p = p[1] if p[0] in ("FAnd", "FNot") else p[-1]
    todo: list[Node] = [p[-1] if p[0].startswith("FGrad") else p]
    size = "constant"
    while todo:
        n = todo.pop()
        if n[0] == "HFree" or (n[0] == "Free" and KINDS["dim"] != n[2]):
            return names[n[1]]
        size = names[n[1]] if n[0] == "Free" else size
        todo += reversed([d for d in n[1:] if type(d) is tuple])
    return size
