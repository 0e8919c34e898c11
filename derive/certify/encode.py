"""Proof logs of the kernel as steps that ``coq/Run.v`` replays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from derive.certify.deep import (
    KINDS,
    ZERO,
    Deep,
    Node,
    Symbols,
    Unsupported,
    node,
    slope,
    tensor,
    value,
)  # fmt: skip
from derive.certify.derivatives import explained
from derive.certify.packed import END, Part, Writer
from derive.certify.reading import Terms
from derive.kernel import terms as T
from derive.kernel.log import read_argument
from derive.kernel.terms import Head, Lam, Term

_RULES: Final = (
    "assume", "conj", "conjunct", "discharge", "modus-ponens", "specialise",
    "witness", "choose", "cases", "disjunct", "excluded-middle", "contradiction", "deny",
    "not-implies", "not-forall", "not-conj", "induction", "axiom", "linear-combination", "order",
    "antisymmetry", "dichotomy", "apart", "not-le", "integer-gap", "integer", "leibniz",
    "extensionality", "unroll", "block-sum", "block-forall", "finite-forall", "decide",
    "derivative", "gradient-value", "gradient-function", "gradient-unique",
)  # fmt: skip
_AXIOMS: Final = (
    "inverse", "sin-add", "cos-add", "pythagoras", "cos-one", "max-right", "max-left", "min-left",
    "min-right", "abs-nonneg", "abs-nonpos", "log-product", "log-tangent", "exp-increasing",
    "floor-lower", "floor-upper", "sin-upper", "sin-lower", "pi-irrational",
    "det-product", "det-transpose", "det-identity",
)  # fmt: skip
_MORE: Final = ("close", "plain-linear-combination", "plain-order")
_CODE: Final = {name: k for k, name in enumerate(_RULES + _MORE, END + 1)}


@dataclass(frozen=True)
class Free:
    """A free symbol of a statement: its number, what it ranges over, and the size of a range."""

    symbol: Term | Head
    range: tuple[str, int]
    size: Node

    @property
    def place(self) -> tuple[Any, ...]:
        """Its place among the symbols of a statement."""
        return _place(self.symbol)


def frees(deep: Deep, formulas: Sequence[Term]) -> list[Free]:
    """The free symbols of the formulas, in the order in which they are quantified."""
    found: dict[Term | Head, None] = {}
    for p in formulas:
        for t in _subterms(p, open_=True):
            if t.op == "var":
                found.setdefault(t)
            elif t.op == "app" and isinstance(t.data.head, str):
                found.setdefault(t.data)
            elif t.op == "diff":
                found.setdefault(t.children[0].data)
                found.setdefault(slope(t.children[0].data))
    return [_free(deep, s) for s in sorted(found, key=_place)]


def _subterms(p: Term, *, open_: bool = False) -> list[Term]:
    """All of them, or those with free symbols."""
    seen: dict[Term, None] = {}
    todo = [p]
    while todo:
        t = todo.pop()
        if t not in seen and (t.free or not open_):
            seen[t] = None
            todo += t.children
    return list(seen)


def _place(s: Term | Head) -> tuple[Any, ...]:
    if isinstance(s, Term):
        order = ("dim", "nat", "int", "real", "fin").index(s.data[1])
        return (0, s.data[2], order, s.data[0])
    return (1, s.random, bool(s.arities), -s.scalars, str(s.head), s.derivatives)


def _free(deep: Deep, s: Term | Head) -> Free:
    if isinstance(s, Term):
        size = deep(s.children[0]) if s.children else ZERO
        if s.data[2]:
            return Free(s, ("QRan", 0), ZERO)
        return Free(s, ("QNum", KINDS[s.data[1]]), size)
    if s.random:
        if s.arities:
            raise Unsupported("a random function of vectors")
        return Free(s, ("QRan", s.scalars), ZERO)
    if s.arities:
        if s.arities != (1,):
            raise Unsupported("a function of several vectors")
        return Free(s, ("QFun", s.scalars), ZERO)
    return Free(s, ("QTen", s.scalars), ZERO)


@dataclass(frozen=True)
class Stated:
    """Roots of a log that are stated together, and the symbols that are free in them.

    Conditions under which the only root is well defined stand where they are needed.
    """

    roots: Sequence[Term]
    frees: Sequence[Free]
    conditions: Sequence[Term] = ()


def _by_premise(formulas: Sequence[Node]) -> list[tuple[Node | None, list[Node]]]:
    """Different formulas; implications with one premise together."""
    groups: dict[int, tuple[Node | None, list[Node]]] = {}
    for p in {id(p): p for p in formulas}.values():
        premise = p[1] if p[0] == "FImp" else None
        groups.setdefault(id(p if premise is None else premise), (premise, []))[1].append(p)
    return list(groups.values())


def _conjunction(formulas: Sequence[Node]) -> Node:
    """The conjunction of different formulas, with each common premise once."""
    parts = []
    for premise, members in _by_premise(formulas):
        if premise is None or len(members) == 1:
            parts.append(members[0])
        else:
            parts.append(node("FImp", premise, _conjunction([p[2] for p in members])))
    *init, out = parts
    for p in reversed(init):
        out = node("FAnd", p, out)
    return out


def _guarded(conditions: Sequence[Node], claim: Node) -> Node:
    """The claim, with each condition behind the premises that both have in common."""
    inner = [p[2] for p in conditions if _behind_one(p, claim)]
    rest = [p for p in conditions if not _behind_one(p, claim)]
    if inner:
        claim = node("FImp", claim[1], _guarded(inner, claim[2]))
    return node("FDef", _conjunction(rest), claim) if rest else claim


def _behind_one(p: Node, q: Node) -> bool:
    """Whether both are implications, and have the first premise in common."""
    return p[0] == q[0] == "FImp" and p[1] is q[1]


class Log:
    """One proof log of the kernel, step by step."""

    def __init__(self, log: Any, deep: Deep | None = None) -> None:
        self.deep = Deep(Symbols()) if deep is None else deep
        self.symbols = self.deep.symbols
        self.terms = Terms(log["terms"], self.deep)
        self.steps, self._root_steps = explained(self.terms, log["steps"], log["roots"])
        self._read: tuple[int, list[Part | Free]] | None = None
        self.roots = [self._conclusion(r) for r in self._root_steps]
        self.goal: Term = self.terms[log["goal"]]
        self.values = {
            read_argument(k, self.terms): read_argument(v, self.terms) for k, v in log["values"]
        }
        self.kind = log["kind"]
        #: whether it speaks of means
        self.means = self.terms.has("E")
        self.statement, *self.conditions = self._stated()

    def read_steps(self) -> tuple[int, list[Part | Free]]:
        """How many there are, and what is written of them; nothing else needs them."""
        self._read = len(self.steps), _Steps(self).parts()
        self.steps, self.terms = (), Terms((), self.deep)
        return self._read

    def _conclusion(self, k: int) -> Term:
        return self.terms[self.steps[k]["conclusion"]]

    def opened(self, tensors_only: bool) -> Stated | None:
        """The statement of a counterexample or a witness with its symbols instead of their values,
        or instead of those of tensors; none if it says something else than the goal."""
        told = T.negate(self.goal) if self.kind == "counterexample" else self.goal
        tensors = {k: v for k, v in self.values.items() if isinstance(v, Lam)}
        numbers = {k: v for k, v in self.values.items() if isinstance(v, Term)}
        told = T.substitute(told, numbers if tensors_only else {})
        if T.substitute(told, numbers, tensors) is not self.roots[0]:
            return None
        kept = [f.body for f in tensors.values()] + ([] if tensors_only else [*numbers.values()])
        entries = [c for t in _subterms(told) if t.op == "app" for c in t.children]
        if T.num(-1) in (*kept, *entries):  # (-1) b is written as - b, which x b at x = -1 is not
            return None
        found = frees(self.deep, [told])
        plain = all(f.range[0] == "QTen" or f.range[0] == "QNum" for f in found)
        return Stated([told], found) if found and plain else None

    def value_of(self, f: Free) -> tuple[int, Node]:
        """The number of indices of a symbol, and its value, under as many bound ones."""
        key = f.symbol.head if isinstance(f.symbol, Head) else f.symbol
        v = self.values[key]
        return (v.arity, self.deep(v.body)) if isinstance(v, Lam) else (0, self.deep(v))

    def encoded(self) -> str:
        """The whole proof as the only one of a text."""
        w = Writer(self.symbols)
        self.encode(w)
        w.end()
        return w.text()

    def _stated(self) -> list[Stated]:
        """The goal with its conditions, and the conditions that cannot be stated with it: those
        under other indices, as the range of an index may be empty, and those beside values."""
        goal, *conditions = self.roots
        groups: dict[tuple[Term | Head, ...], list[Term]] = {}
        for root in conditions:
            groups.setdefault(self._indices(root), []).append(root)
        within = [] if self.values else groups.pop(self._indices(goal), [])
        rest = [Stated(group, frees(self.deep, group)) for group in groups.values()]
        return [Stated([goal], frees(self.deep, [goal, *within]), within), *rest]

    def _indices(self, root: Term) -> tuple[Term | Head, ...]:
        found = [s for s in root.free if isinstance(s, Term) and s.data[1] == "fin"]
        return tuple(sorted(found, key=_place))

    def formula(self, stated: Stated) -> Node:
        """The conjunction of the roots, each premise once: p -> q, p -> r as p -> q and r."""
        formula = _conjunction(list(map(self.deep, stated.roots)))
        return _guarded([*map(self.deep, dict.fromkeys(stated.conditions))], formula)

    def encode(self, w: Writer) -> None:
        """Write the whole proof; its last step is the conjunction of what is stated."""
        count, parts = self._read or self.read_steps()
        w.add(count, [self.name(w, p) if isinstance(p, Free) else p for p in parts])
        made = {r: (self.deep(r), k) for r, k in zip(self.roots, self._root_steps, strict=True)}
        closed = []
        for stated in (self.statement, *self.conditions):
            at = self._together(w, [made[r] for r in stated.roots])
            if stated.conditions:
                conditions = {r: made[r] for r in stated.conditions}
                at = self._guard(w, [*conditions.values()], (self.deep(stated.roots[0]), at))
            if stated.frees:
                names = [self.name(w, f) for f in reversed(stated.frees)]
                at = w.step(_CODE["close"], [w.theorem(at), len(names), *names])
            closed.append(at)
        if len(closed) != 1 or closed[0] != w.theorems - 1:
            w.step(_CODE["conj"], [len(closed), *map(w.theorem, closed)])

    def name(self, w: Writer, f: Free) -> int:
        """A free symbol, by its place among those of the text."""
        return w.atom(self.symbols.of(f.symbol), f.size)

    def _together(self, w: Writer, proved: Sequence[tuple[Node, int]]) -> int:
        """From theorems for the formulas, one for their conjunction as `_conjunction` forms it."""
        theorems = {id(p): k for p, k in reversed(proved)}
        parts = []
        for premise, members in _by_premise([p for p, _ in proved]):
            if premise is None or len(members) == 1:
                parts.append(theorems[id(members[0])])
                continue
            assumed = w.step(_CODE["assume"], [premise])
            inner = []
            for p in members:
                both = [w.theorem(theorems[id(p)]), w.theorem(assumed)]
                inner.append((p[2], w.step(_CODE["modus-ponens"], both)))
            k = self._together(w, inner)
            parts.append(w.step(_CODE["discharge"], [w.theorem(k), premise]))
        if len(parts) == 1:
            return parts[0]
        return w.step(_CODE["conj"], [len(parts), *map(w.theorem, parts)])

    def _guard(
        self, w: Writer, conditions: Sequence[tuple[Node, int]], claim: tuple[Node, int]
    ) -> int:
        """From theorems for the conditions and the claim, one for what `_guarded` makes of them."""
        formula, at = claim
        inner = [c for c in conditions if _behind_one(c[0], formula)]
        rest = [c for c in conditions if not _behind_one(c[0], formula)]
        if inner:
            premise = formula[1]
            assumed = w.step(_CODE["assume"], [premise])
            *shown, last = (
                (p[2], w.step(_CODE["modus-ponens"], [w.theorem(k), w.theorem(assumed)]))
                for p, k in [*inner, claim]
            )
            at = self._guard(w, shown, last)
            at = w.step(_CODE["discharge"], [w.theorem(at), premise])
        if rest:
            parts = [self._together(w, rest), at]
            at = w.step(_CODE["conj"], [2, *map(w.theorem, parts)])
        return at


class _Steps:
    """The steps of a log: of each its code, and what stands behind it."""

    def __init__(self, log: Log) -> None:
        self.deep, self.terms = log.deep, log.terms
        self.steps: Sequence[Any] = log.steps
        self.at = 0
        self.form = self.rule = ""
        self.premises: list[int] = []
        #: as the log has them
        self.args: list[Any] = []

    def parts(self) -> list[Part | Free]:
        """All of them in turn, with the symbols themselves in place of their numbers."""
        out: list[Part | Free] = []
        for at, step in enumerate(self.steps):
            self.at, self.rule, self.form = at, step["rule"], step["rule"]
            self.premises, self.args = step["premises"], step["args"]
            method = getattr(self, "_" + self.rule.replace("-", "_"), None)
            if method is None:
                raise Unsupported(f"the rule {self.rule!r} has no counterpart in Coq yet")
            parts = method()
            out.append(_CODE[self.form])
            out += parts
        return out

    # -- parts

    def _p(self, k: int) -> int:
        """How far back the theorem is that is a premise."""
        return self.at - 1 - self.premises[k]

    def _all(self, start: int = 0, end: int | None = None) -> list[Part]:
        chosen = self.premises[start:end]
        last = self.at - 1
        return [len(chosen), *[last - k for k in chosen]]

    def _exactly(self, count: int) -> list[Any]:
        if len(self.args) != count:
            raise ValueError(f"the rule {self.rule!r} takes {count} arguments")
        return self.args

    def _only(self) -> Node:
        return self._node(*self._exactly(1))

    def _node(self, argument: Any) -> Node:
        return self.terms.node(argument["term"])

    def _read(self, argument: Any) -> Any:
        return read_argument(argument, self.terms)

    def _value(self, argument: Any) -> list[Part]:
        if "term" in argument:
            return [0, self._node(argument)]
        return [1, tensor(self.terms.node(argument["body"]), argument["arity"])]

    def _conclusion(self) -> Node:
        """What the step itself concludes."""
        return self.terms.node(self.steps[self.at]["conclusion"])

    def _concluded(self) -> int:
        """The number of the term that the first premise concludes."""
        number: int = self.steps[self.premises[0]]["conclusion"]
        return number

    # -- rules, by name

    def _assume(self) -> list[Part]:
        return [self._only()]

    def _conj(self) -> list[Part]:
        return self._all()

    def _conjunct(self) -> list[Part]:
        (i,) = self._exactly(1)
        return [self._p(0), i, self.terms.parts(self._concluded())]

    def _discharge(self) -> list[Part]:
        return [self._p(0), self._only()]

    def _modus_ponens(self) -> list[Part]:
        return [self._p(0), self._p(1)]

    def _generalise(self) -> list[Part | Free]:
        (x,) = map(self._read, self._exactly(1))
        self.form = "close"
        return [self._p(0), 1, _free(self.deep, x)]

    def _generalise_tensor(self) -> list[Part | Free]:
        name, arity = self.args
        self.form = "close"
        head = Free(Head(name, arity), ("QTen", arity), ZERO)
        return [self._p(0), 1, head]

    def _specialise(self) -> list[Part]:
        return [self._p(0), *self._all(1), *self._value(self._exactly(1)[0])]

    def _witness(self) -> list[Part]:
        goal, v = self.args
        return [self._p(0), *self._all(1), self._node(goal), *self._value(v)]

    def _choose(self) -> list[Part | Free]:
        (x,) = map(self._read, self._exactly(1))
        if isinstance(x, str):
            x = Head(x, self.terms[self._concluded()].data[1])
        return [self._p(0), self._p(1), _free(self.deep, x)]

    def _cases(self) -> list[Part]:
        return [self._p(0), *self._all(1)]

    def _disjunct(self) -> list[Part]:
        goal, i = self.args
        return [self._p(0), self._node(goal), i, self.terms.parts(goal["term"])]

    def _excluded_middle(self) -> list[Part]:
        return [self._only()]

    def _contradiction(self) -> list[Part]:
        return [self._p(0), self._p(1), self._only()]

    def _deny(self) -> list[Part]:
        return [self._p(0), self._only()]

    def _not_implies(self) -> list[Part]:
        return [self._p(0), self._p(1)]

    def _not_forall(self) -> list[Part]:
        goal, v = self.args
        return [self._p(0), *self._all(1), self._node(goal), *self._value(v)]

    def _not_conj(self) -> list[Part]:
        goal, i = self.args
        return [self._p(0), self._node(goal), i, len(self._read(goal).children[0].children)]

    def _induction(self) -> list[Part]:
        return [self._p(0), self._p(1)]

    def _axiom(self) -> list[Part]:
        name, *args = self.args
        if name not in _AXIOMS:
            raise Unsupported(f"the axiom {name!r} is not proved in Coq")
        return [_AXIOMS.index(name), len(args), *map(self._node, args)]

    def _linear_combination(self) -> list[Part]:
        goal, count, items = self.args
        items = [i["item"] for i in items]
        if count == len(self.premises) and _plain(items):
            self.form = f"plain-{self.rule}"
            cofactors = [self._node(cofactor) for _, cofactor, _ in items]
            return [*self._all(), self._node(goal), len(items), *cofactors]
        made = [n for item in items for n in self._item(*item)]
        return [*self._all(0, count), *self._all(count), self._node(goal), len(items), *made]

    _order = _linear_combination

    def _item(self, uses: Any, cofactor: Any, indices: Any) -> list[Part]:
        """The parts under the summed indices, which become bound."""
        symbols = tuple(map(self._read, indices))
        out: list[Part] = [len(uses)]
        for number, values in uses:
            out += [number, len(values)]
            for v in values:
                out += value(self.deep, _closed(self._read(v), symbols))
        out += [self.deep(T.abstract(self._read(cofactor), symbols)), len(symbols)]
        for k, i in enumerate(symbols):
            out.append(self.deep(T.abstract(i.children[0], symbols[:k])))
        return out

    def _antisymmetry(self) -> list[Part]:
        return [self._p(0), self._p(1)]

    def _dichotomy(self) -> list[Part]:
        return [self._node(a) for a in self._exactly(2)]

    def _apart(self) -> list[Part]:
        return [self._p(0)]

    def _not_le(self) -> list[Part]:
        return [self._p(0)]

    def _integer_gap(self) -> list[Part]:
        return [self._p(0), *self._all(1)]

    def _integer(self) -> list[Part]:
        return [*self._all(), self._only()]

    def _leibniz(self) -> list[Part]:
        hole, template = map(self._node, self._exactly(2))
        return [self._p(0), self._p(1), self.deep.abstracted(template, hole)]

    def _extensionality(self) -> list[Part]:
        _, left, right = self._conclusion()
        return [self._p(0), left, right]

    def _unroll(self) -> list[Part]:
        op, size, body = self.args
        return [*self._all(), int(op == "prod"), self._node(size), self._node(body)]

    def _block_sum(self) -> list[Part]:
        return [*self._all(), *map(self._node, self.args)]

    def _block_forall(self) -> list[Part]:
        goal, columns = self.args
        return [*self._all(), self._node(goal), columns]

    def _finite_forall(self) -> list[Part]:
        return [*self._all(), self._only()]

    def _decide(self) -> list[Part]:
        return [*self._all(), self._only()]

    def _derivative(self) -> list[Part]:
        dims, *others = self.args
        partials = self._conclusion()[-1]
        return [*self._all(), self._gradient([*map(self._node, [*dims, *others]), partials])]

    def _gradient_value(self) -> list[Part]:
        return self._about_gradient(-1)

    def _gradient_function(self) -> list[Part]:
        return self._about_gradient(-3)

    def _about_gradient(self, place: int) -> list[Part]:
        """The gradient of the first premise with the argument in this place."""
        _, *parts = self.terms.node(self._concluded())
        parts[place] = self._node(self.args[0])
        return [self._p(0), self._p(1), self._gradient(parts)]

    def _gradient(self, parts: Sequence[Node]) -> Node:
        return self.deep.entry("grad", len(parts) - 3, parts)

    def _gradient_unique(self) -> list[Part]:
        return [self._p(0), self._p(1)]


def _plain(items: Sequence[Any]) -> bool:
    """Whether the items use the premises in their order, each once and as it is."""
    return all(
        not indices and len(uses) == 1 and uses[0] == [k, []]
        for k, (uses, _, indices) in enumerate(items)
    )


def _closed(v: Term | Lam, indices: tuple[Term, ...]) -> Term | Lam:
    if isinstance(v, Term):
        return T.abstract(v, indices)
    return Lam(v.arity, T.abstract(v.body, indices, v.arity))
