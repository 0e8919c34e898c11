"""Premises that several statements have in common get a definition in ``Spec.v``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from derive.certify.deep import Node
from derive.certify.encode import Free, Log, Stated
from derive.certify.spec import Printer, identifier, symbol_names, wrapped

#: A definition has to make the statements shorter by as many characters.
GAIN: Final = 60


class Shared:
    """The definitions, by name, for the premises of these logs."""

    def __init__(self, logs: Sequence[Log], used: set[str]) -> None:
        self.definitions: dict[str, str] = {}
        self._names: dict[int, tuple[str, list[int]]] = {}
        self._kept: list[Node] = []
        found: dict[int, list[tuple[Node, Log, Stated]]] = {}
        for log in logs:
            for stated in (log.statement, *log.conditions):
                for premise in _premises(log.formula(stated)):
                    if not _is_random(premise):
                        found.setdefault(id(premise), []).append((premise, log, stated))
        for uses in found.values():
            if len(uses) > 1:
                self._define(*uses[0], len(uses), used)

    def printed(self, log: Log, stated: Stated) -> str:
        """The statement, closed."""
        numbers = [log.symbols.of(f.symbol) for f in stated.frees]
        names = dict(zip(numbers, symbol_names(stated.frees), strict=True))
        return Printer(names, self._names).closed(stated.frees, numbers, log.formula(stated))

    def of(self, log: Log) -> tuple[str, ...]:
        """The names of the definitions that the statements of a log use."""
        ids = [
            id(premise)
            for stated in (log.statement, *log.conditions)
            for premise in _premises(log.formula(stated))
        ]
        return tuple(dict.fromkeys(self._names[k][0] for k in ids if k in self._names))

    def _define(self, premise: Node, log: Log, stated: Stated, count: int, used: set[str]) -> None:
        free = _frees_of(premise, log, stated)
        numbers = [log.symbols.of(f.symbol) for f in free]
        names = symbol_names(free)
        printer = Printer(dict(zip(numbers, names, strict=True)))
        text = printer.premise(premise)
        name = identifier(f"{_subject(premise, dict(zip(numbers, names, strict=True)))}_is", used)
        parameters = printer.parameters(free, names)
        call = len(name) + sum(len(n) + 1 for n in names)
        head = f"Definition {name} {parameters} : Prop :="
        if count * (len(text) - call) < len(head) + len(text) + GAIN:
            return
        used.add(name)
        self._kept.append(premise)
        self._names[id(premise)] = name, numbers
        self.definitions[name] = "\n  ".join([*wrapped(head), *wrapped(f"{text}.")])


def _premises(p: Node) -> Iterator[Node]:
    """The premises under no quantifier."""
    while p[0] in ("FImp", "FAnd", "FNot"):
        if p[0] == "FNot":
            p = p[1]
            continue
        if p[0] == "FAnd":
            yield from _premises(p[1])
        else:
            yield p[1]
        p = p[2]


def _frees_of(premise: Node, log: Log, stated: Stated) -> list[Free]:
    found = {n[1] for n in _parts(premise) if n[0] in ("Free", "HFree")}
    return [f for f in stated.frees if log.symbols.of(f.symbol) in found]


def _is_random(premise: Node) -> bool:
    """Whether it needs the expectation of its statement, or an outcome."""
    return any(n[0] == "Exp_" or (n[0] == "HFree" and n[2]) for n in _parts(premise))


def _parts(p: Node) -> Iterator[Node]:
    """Every node in it, each once."""
    seen = set[int]()
    todo = [p]
    while todo:
        n = todo.pop()
        if id(n) not in seen:
            seen.add(id(n))
            yield n
            todo += [d for d in n[1:] if type(d) is tuple]


def _subject(p: Node, names: dict[int, str]) -> str:
    """The symbol that a premise says something of: the first one of what it concludes."""
    while p[0] in ("FAll", "FEx", "FAnd", "FImp", "FNot"):
        p = p[-1] if p[0] in ("FAll", "FEx", "FImp") else p[1]
    todo: list[Node] = [p[-1] if p[0].startswith("FGrad") else p]
    while todo:
        n = todo.pop()
        if n[0] in ("Free", "HFree"):
            return names[n[1]]
        todo += reversed([d for d in n[1:] if type(d) is tuple])
    return "condition"
