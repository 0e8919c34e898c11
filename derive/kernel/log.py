"""Proof logs: every step of a proof as plain JSON data, and back.

A log says what it shows (`kind`, `goal`, `values`), lists the terms it uses once each, and lists
the steps in order: rule, premises by number, arguments, and the sequent that the step claims.
`read` checks the form of a log; what it proves is decided by `check`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from derive.kernel import terms as T
from derive.kernel.rules import Item, Theorem
from derive.kernel.terms import Head, KernelError, Lam, Term

VERSION: Final = 1
Json = Any
Values = Mapping[Term | str, Term | Lam]


class Writer:
    """Encodes terms, arguments and steps, each term and each step once."""

    def __init__(self) -> None:
        self.terms: list[Json] = []
        self.steps: list[Json] = []
        self._term_at: dict[Term, int] = {}
        self._step_at: dict[int, int] = {}

    def term(self, t: Term) -> int:
        at = self._term_at.get(t)
        if at is None:
            known = self._term_at.get
            children = [self.term(c) if (k := known(c)) is None else k for c in t.children]
            self.terms.append([t.op, _encode_data(t), children])
            at = self._term_at[t] = len(self.terms) - 1
        return at

    def argument(self, a: Any) -> Json:
        kind = type(a)
        if kind is Term:
            return {"term": self.term(a)}
        if kind is str or kind is int:
            return a
        if kind is tuple:
            return [self.argument(x) for x in a]
        if kind is Lam:
            return {"arity": a.arity, "body": self.term(a.body)}
        if kind is Item:
            return {"item": [self.argument(p) for p in (a.uses, a.cofactor, a.indices)]}
        raise KernelError(f"log: argument {a!r} cannot be written")

    def step(self, theorem: Theorem) -> int:
        at = self._step_at.get(id(theorem))
        if at is None:
            premises = [self.step(p) for p in theorem.premises]
            hypotheses = in_order(theorem.hypotheses)
            self.steps.append(
                {
                    "rule": theorem.rule,
                    "premises": premises,
                    "args": [self.argument(a) for a in theorem.args],
                    "hypotheses": [self.term(h) for h in hypotheses],
                    "conclusion": self.term(theorem.conclusion),
                    "axioms": sorted(theorem.axioms),
                }
            )
            at = self._step_at[id(theorem)] = len(self.steps) - 1
        return at


def write(kind: str, goal: Term, roots: Sequence[Theorem], values: Values | None = None) -> Json:
    """The log that `roots` show `goal` in the sense of `kind` (see `check.KINDS`)."""
    log = contents(kind, goal, roots, values)
    return {**log, "digest": digest(log)}


def contents(
    kind: str, goal: Term, roots: Sequence[Theorem], values: Values | None = None
) -> dict[str, Json]:
    """A log without its digest."""
    w = Writer()
    return {
        "version": VERSION,
        "kind": kind,
        "goal": w.term(goal),
        "values": [[w.argument(k), w.argument(v)] for k, v in _ordered(values or {})],
        "roots": [w.step(r) for r in roots],
        "steps": w.steps,
        "terms": w.terms,
    }


def in_order(hypotheses: frozenset[Term]) -> list[Term]:
    """In the order in which a step lists them."""
    return sorted(hypotheses, key=lambda h: h.key) if len(hypotheses) > 1 else [*hypotheses]


def _ordered(values: Values) -> list[tuple[Term | str, Term | Lam]]:
    """Tensors by name, then scalars by key: one order for one assignment."""
    return sorted(values.items(), key=lambda item: _place(item[0]))


def _place(symbol: Term | str) -> tuple[bool, bytes]:
    if isinstance(symbol, Term):
        return True, symbol.key
    return False, symbol.encode()


def digest(log: Json) -> str:
    """SHA-256 of everything in a log but the digest itself, which stands last."""
    return _digest(json.dumps({k: v for k, v in log.items() if k != "digest"}))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


_SEAL: Final = ', "digest": "'


def digest_fits(text: str) -> bool:
    """Whether the digest in the text of a log is that of the rest."""
    head, mark, tail = text.rpartition(_SEAL)
    return bool(mark) and tail == f'{_digest(head + "}")}"}}'


def _encode_data(t: Term) -> Json:
    match t.op:
        case "num":
            return T.number_text(t.data)
        case "app":
            h = t.data
            return [h.head, h.scalars, list(h.arities), list(h.derivatives), h.random]
        case "var" | "forall" | "exists":
            return list(t.data)
        case _:
            return t.data


# ---------------------------------------------------------------------------- reading


def read_terms(encoded: Json) -> list[Term]:
    """Rebuild the terms of a log: those that have been made before, or by their constructors."""
    out: list[Term] = []
    for entry in encoded:
        op, data, places = entry if len(entry) == 3 else (None, None, None)
        if (
            type(op) is not str
            or type(places) is not list
            or not _INT.issuperset(map(type, places))
        ):
            raise KernelError(f"log: term {len(out)} is not [op, data, children]")
        if places and not 0 <= min(places) <= max(places) < len(out):
            raise KernelError(f"log: term {len(out)} refers to a later one")
        out.append(read_node(op, data, tuple([out[k] for k in places])))
    return out


def read_node(op: str, data: Json, children: tuple[Term, ...]) -> Term:
    """The term that a log lists as this operation on terms that are read."""
    kept = _kept_data(op, data)
    if kept is _MALFORMED:
        raise KernelError(f"log: there is no term {op!r} with data {data!r}")
    known = T.interned(op, kept, children)
    return _build(op, data, children) if known is None else known


def _kept_data(op: str, data: Json) -> Any:
    """The data as nodes hold it; `_MALFORMED` if no node has data of these types.

    They have to be these very types: True and 1.0 are equal to 1.
    """
    kind = type(data)
    if data is None or kind is str or kind is int:
        return data
    if kind is not list:
        return _MALFORMED
    types = tuple(map(type, data))
    if op == "app" and types in _HEAD_TYPES:
        head, scalars, arities, slots, random = data
        if _INT.issuperset(map(type, (*arities, *slots))):
            return head, scalars, tuple(arities), tuple(slots), random
    elif types in (_VARIABLE, _QUANTIFIER):
        return tuple(data)
    return _MALFORMED


_INT: Final = frozenset([int])
_MALFORMED: Final = object()
_HEAD_TYPES: Final = frozenset((kind, int, list, list, bool) for kind in (str, int))
_VARIABLE: Final = (str, str, bool)
_QUANTIFIER: Final = (str, int)
_PLAIN: Final[Mapping[str, Callable[..., Term]]] = {
    "add": T.add, "mul": T.mul, "delta": T.delta, "sum": T.total, "prod": T.product,
    "det": T.det, "E": T.expectation, "eq": T.eq, "le": T.le, "lt": T.lt, "and": T.conj,
    "or": T.disj, "not": T.negate, "imp": T.implies, "isint": T.isint,
}  # fmt: skip


def _build(op: str, data: Json, children: tuple[Term, ...]) -> Term:
    """The node, made by its constructor, which has to give it back unchanged."""
    plain = _PLAIN.get(op) if data is None else None
    t = _with_data(op, data, children) if plain is None else plain(*children)
    if t.op != op or t.children != children:
        raise KernelError(f"log: {op!r} with {len(children)} children is not in normal shape")
    return t


def _with_data(op: str, data: Json, children: tuple[Term, ...]) -> Term:
    match op, data:
        case "app", [str() | int() as head, int(n), [*arities], [*slots], bool(random)]:
            return T.app(Head(head, n, tuple(arities), tuple(slots), random), *children)
        case "bound", int(k):
            return T.bound(k)
        case "num", str():
            return T.num(T.read_number(data))
        case "var", [str(name), str(sort), bool(random)]:
            return T.var(name, sort, *children, random=random)
        case "pow", int(e):
            return T.power(children[0], e)
        case "fn", str(name):
            return T.fn(name, *children)
        case (("forall" | "exists"), [str(sort), int(arity)]):
            size = children[0] if len(children) == 2 else None
            return T.quantified(op, sort, children[-1], size, arity)
        case "grad", int(r) if len(children) == r + 3:
            return T.grad(children[:r], *children[r:])
        case "diff", int(slot):
            return T.differentiable(children[0], slot)
        case _:
            raise KernelError(f"log: there is no term {op!r} with data {data!r}")


def read_argument(a: Json, terms: Sequence[Term]) -> Any:
    if type(a) is list:
        return tuple([read_argument(p, terms) for p in a])
    if type(a) is str or type(a) is int:
        return a
    match a:
        case {"term": k, **rest} if not rest:
            return read_term(k, terms)
        case {"arity": int(arity), "body": k, **rest} if not rest and type(arity) is int:
            return Lam(arity, read_term(k, terms))
        case {"item": [uses, cofactor, indices], **rest} if not rest:
            return Item(*(read_argument(p, terms) for p in (uses, cofactor, indices)))
        case _:
            raise KernelError(f"log: {a!r} is not an argument")


def read_term(k: Json, terms: Sequence[Term]) -> Term:
    """The term with a number."""
    if type(k) is not int or not 0 <= k < len(terms):
        raise KernelError(f"log: there is no term {k!r}")
    return terms[k]
