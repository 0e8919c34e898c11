"""Terms of index notation as matrix forms.

A product of entries under sums is a network: an index is a vertex, an entry with two indices an
edge, one with a single index a mark at its vertex.  A summed vertex with one edge is a matrix times
a vector, one with two edges a matrix product; so they go, the innermost first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from derive.kernel import terms as T
from derive.kernel.terms import Term
from derive.matrix_form import forms as F
from derive.matrix_form.forms import Form, NoForm

_MOST_OUTER_SUMS: Final = 2
_MOST_FACTORS: Final = 24
_CONTRACTED: Final = frozenset(["product", "trace", "frobenius", "norm", "norm2", "softmax"])


@cache
def has_sum(t: Term) -> bool:
    return t.op in ("sum", "prod") or any(map(has_sum, t.children))


Shape = tuple[Term | None, ...]
Shapes = Mapping[str, Shape]
"""The sizes of the axes of tensors by name; None for an axis whose size is not known."""


@dataclass(frozen=True)
class Reader:
    """Reads terms as forms; entries are read only where an index runs over the whole axis."""

    shapes: Shapes

    def matrix(self, t: Term, row: Term | None = None, col: Term | None = None) -> Form:
        """The form whose entry at `row` and `col` is `t`; raises `NoForm` where none is known."""
        if row is None:
            return self.scalar(t)
        if t.op == "add":
            return F.plus(*(self.matrix(c, row, col) for c in t.children))
        factors, summed = _flat(t, frozenset([row] if col is None else [row, col]))
        try:
            return self._with_outer_sums(factors, summed, row, col, _MOST_OUTER_SUMS)
        except NoForm:
            if t.op != "sum" or t.children[1].op != "add":
                raise
        size, body = t.children
        return F.plus(*(self.matrix(T.total(size, c), row, col) for c in body.children))

    def scalar(self, t: Term) -> Form:
        """A term without open indices: every sum in it has to have a form."""
        if not has_sum(t):
            return F.scalar(t)
        if t.op in ("sum", "mul"):
            factors, summed = _flat(t, frozenset())
            return self._with_outer_sums(factors, summed, None, None, _MOST_OUTER_SUMS)
        inside: dict[Term, tuple[Term, Form]] = {}
        return F.scalar(self._without_sums(t, inside), list(inside.values()))

    def _without_sums(self, t: Term, inside: dict[Term, tuple[Term, Form]]) -> Term:
        """The term with a variable for every sum in it, and for every root that is a norm."""
        if not has_sum(t):
            return t
        if t in inside:
            return inside[t][0]
        if t.op == "sum":
            inside[t] = F.fresh_scalar(), self.scalar(t)
            return inside[t][0]
        squared = t.op == "pow" and t.data == 2
        root = t.children[0] if squared else t
        if root.op == "fn" and root.data == "sqrt" and root.children[0].op == "sum":
            below = self.scalar(root.children[0])
            if below.op == "norm2":
                name = "norm2" if squared else "norm"
                inside[t] = F.fresh_scalar(), F.number(name, *below.parts)
                return inside[t][0]
        if t.op not in ("add", "mul", "pow", "fn", "E"):
            raise NoForm(f"a sum inside of {t.op}")
        return T.map_children(t, lambda c, _: self._without_sums(c, inside))

    def _with_outer_sums(
        self,
        factors: list[Term],
        summed: list[Term],
        row: Term | None,
        col: Term | None,
        most: int,
    ) -> Form:
        """The form of the network; if need be a sum of forms, over the heads for instance."""
        try:
            return _Network(self, factors, summed, row, col).form()
        except NoForm:
            if not most:
                raise
        moving = {x for x in (row, col, *summed) if x is not None}
        still = [f for f in factors if moving.isdisjoint(f.free)]
        if still and len(still) < len(factors):
            rest = [f for f in factors if not moving.isdisjoint(f.free)]
            made = self._with_outer_sums(rest, summed, row, col, most)
            return F.scaled(self.scalar(T.mul(*still)), made)
        for k in summed:
            others = [index for index in summed if index is not k]
            try:
                part = self._with_outer_sums(factors, others, row, col, most - 1)
            except NoForm:
                continue
            if _may_be_summed(part):
                return F.summed(k, part)
        raise NoForm("no contraction of this network")

    # ------------------------------------------------------------------ single entries

    def leaf(self, t: Term, row: Term, col: Term | None = None) -> Form:
        """The form of a factor that is neither a product nor a sum."""
        match t.op:
            case "app":
                return self._tensor(t, row, col)
            case "delta" if set(t.children) == {row, col}:
                if col is None or row.children[0] is not col.children[0]:
                    raise NoForm("an identity that is not square")
                return F.identity(row.children[0])
            case "add":
                return self.matrix(t, row, col)
            case "fn" if t.data == "max" and len(t.children) == 2 and t.children[0] is T.ZERO:
                return F.of_entries("relu", self.matrix(t.children[1], row, col))
            case "pow" if t.data == -1 and col is None:
                return F.reciprocal(self.matrix(t.children[0], row))
            case _:
                raise NoForm(f"no form for {t.op} at an index")

    def _tensor(self, t: Term, row: Term, col: Term | None) -> Form:
        """A tensor whose last indices are `row` and `col`, or `col` and `row`."""
        head = t.data
        places = t.children[: head.scalars]
        if not isinstance(head.head, str) or len(head.derivatives) > 1:
            raise NoForm("not an entry of a tensor")
        if col is None and tuple(places[-2:]) == (row, row):
            return self._diagonal(t, row)
        wanted = (row,) if col is None else (row, col)
        if col is not None and tuple(places[-2:]) == (col, row):
            return F.transpose(self._tensor(t, col, row))
        if tuple(places[-len(wanted) :]) != wanted:
            raise NoForm("an index that is not at the end")
        others = [*places[: -len(wanted)], *t.children[head.scalars :]]
        if any(x in o.free for x in wanted for o in others):
            raise NoForm("an index that occurs twice")
        if not self._whole(t, wanted):
            raise NoForm("an index that does not run over the whole axis")
        return F.tensor(t, row, col)

    def _diagonal(self, t: Term, row: Term) -> Form:
        other = F.fresh(row.children[0])
        places = t.children[: t.data.scalars - 2]
        entry = T.app(t.data, *places, row, other, *t.children[t.data.scalars :])
        return F.diagonal(self._tensor(entry, row, other))

    def _whole(self, t: Term, at: tuple[Term, ...]) -> bool:
        """Whether the last indices run over all of their axes.

        The components of a function of vectors are as many as those of its argument: the kernel
        knows no other number of them, and where an index runs further the form is refused.
        """
        sizes = tuple(x.children[0] for x in at)
        if T.ZERO in sizes:
            return False  # nothing of a sequence, and no vector
        if t.data.arities:
            return t.data.arities == (1,) and set(sizes) == {t.children[t.data.scalars]}
        shape = self.shapes.get(t.data.head)
        return shape is not None and len(shape) == t.data.scalars and shape[-len(at) :] == sizes

    # ------------------------------------------------------------------ softmax

    def softmaxes(
        self, factors: Sequence[Term], indices: Sequence[Term]
    ) -> tuple[list[Term], list[_Factor]]:
        """The factors without pairs ``exp(z) * (Sum exp(z))^-1``, and the forms of these pairs."""
        rest = list(factors)
        found: list[_Factor] = []
        for above in [f for f in factors if f.op == "fn" and f.data == "exp"]:
            pair = _denominator(above, rest, indices)
            if pair is None:
                continue
            below, along = pair
            at = [x for x in indices if x in above.free and x is not along]
            if len(at) > 1:
                continue
            z = above.children[0]
            made = self.matrix(z, at[0], along) if at else self.matrix(z, along)
            found.append(_Factor(F.of_entries("softmax", made), (*at, along)))
            rest.remove(above)
            rest.remove(below)
        return rest, found


def _may_be_summed(part: Form) -> bool:
    """Whether a sum of such forms is clearer than one of entries: something in it is contracted,
    or it is a single sum of numbers.
    """
    inner = part.parts[1] if part.op == "scale" else part
    if inner.op == "summed":
        return _may_be_summed(inner.parts[0]) and inner.parts[0].op != "scalar"
    return not inner.parts if inner.op == "scalar" else contracts(inner)


def contracts(a: Form) -> bool:
    """Whether a sum over an index has gone into the form."""
    return a.op in _CONTRACTED or any(map(contracts, a.parts))


# ---------------------------------------------------------------------------- networks


def _flat(t: Term, active: frozenset[Term]) -> tuple[list[Term], list[Term]]:
    """The factors of nested products and sums, and the summed indices from outside to inside."""
    if t.op == "sum":
        k = F.fresh(t.children[0])
        factors, summed = _flat(T.instantiate(t.children[1], (k,)), active | {k})
        return factors, [k, *summed]
    if t.op == "pow" and t.data == 2 and not active.isdisjoint(t.free):
        return _joined([_flat(t.children[0], active), _flat(t.children[0], active)])
    if t.op == "mul":
        return _joined([_flat(c, active) for c in t.children])
    return [t], []


def _joined(parts: Iterable[tuple[list[Term], list[Term]]]) -> tuple[list[Term], list[Term]]:
    factors: list[Term] = []
    summed: list[Term] = []
    for some, indices in parts:
        factors += some
        summed += indices
    if len(factors) > _MOST_FACTORS:
        raise NoForm("too many factors")
    return factors, summed


@dataclass(frozen=True)
class _Factor:
    """A form with the indices of its entries."""

    form: Form
    at: tuple[Term, ...]


class _Network:
    def __init__(
        self,
        reader: Reader,
        factors: list[Term],
        summed: list[Term],
        row: Term | None,
        col: Term | None,
    ) -> None:
        self._reader = reader
        self._row, self._col = row, col
        self._open = [x for x in (row, col) if x is not None]
        self._summed = list(summed)
        self._scalars: list[Form] = []
        self._marks: dict[Term, list[Form]] = {x: [] for x in (*self._open, *summed)}
        self._edges: dict[frozenset[Term], list[_Factor]] = {}
        rest, found = reader.softmaxes(factors, [*self._open, *summed])
        for f in found:
            self._put(f)
        for t in rest:
            self._put(self._factor(t))

    def _factor(self, t: Term) -> _Factor:
        at = tuple(x for x in (*self._open, *self._summed) if x in t.free)
        if not at:
            return _Factor(self._reader.scalar(t), ())
        if len(at) > 2:
            raise NoForm("an entry with three indices")
        return _Factor(self._reader.leaf(t, *at), at)

    def _put(self, f: _Factor) -> None:
        match f.at:
            case ():
                self._scalars.append(f.form)
            case (x,):
                self._marks[x].append(f.form)
            case _:
                self._edges.setdefault(frozenset(f.at), []).append(f)

    # -- contraction -------------------------------------------------------------------------

    def form(self) -> Form:
        while self._summed:
            for k in reversed(self._summed):
                if len(self._neighbours(k)) <= 2:
                    self._contract(k)
                    break
            else:
                raise NoForm("every index joins three entries")
        made = self._rest()
        for s in sorted(reversed(self._scalars), key=lambda s: not s.parts):  # plain ones in front
            made = F.scaled(s, made)
        return made

    def _neighbours(self, k: Term) -> list[Term]:
        return [x for pair in self._edges if k in pair for x in pair if x is not k]

    def _contract(self, k: Term) -> None:
        self._summed.remove(k)
        beside = self._neighbours(k)
        marks = self._marks.pop(k)
        match beside:
            case []:
                self._scalars.append(_total(k, marks))
            case [x] if self._is_pair(k, x, marks):
                self._summed.remove(x)
                del self._marks[x]
                self._scalars.append(_inner([f.form for f in self._cut(x, k)]))
            case [x]:
                vector = F.hadamard(*marks) if marks else F.ones(k.children[0])
                self._marks[x].append(F.product(self._edge(x, k), vector))
            case _:
                x, y = beside
                between = [F.diag(F.hadamard(*marks))] if marks else []
                made = F.product(self._edge(x, k), *between, self._edge(k, y))
                self._put(_Factor(made, (x, y)))

    def _is_pair(self, k: Term, x: Term, marks: list[Form]) -> bool:
        """Whether several edges join `k` and `x`, and nothing else is there."""
        alone = x in self._summed and self._neighbours(x) == [k]
        several = len(self._edges[frozenset((k, x))]) > 1
        return alone and several and not marks and not self._marks[x]

    def _cut(self, x: Term, y: Term) -> list[_Factor]:
        """The edges from `x` to `y`, all in this direction, which are taken out."""
        return [
            f if f.at == (x, y) else _Factor(F.transpose(f.form), (x, y))
            for f in self._edges.pop(frozenset((x, y)))
        ]

    def _edge(self, x: Term, y: Term) -> Form:
        return F.hadamard(*(f.form for f in self._cut(x, y)))

    def _rest(self) -> Form:
        """What is left at the open indices."""
        if self._row is None:
            return F.scalar(T.ONE)
        rows = self._marks[self._row]
        if self._col is None:
            return F.hadamard(*rows) if rows else F.ones(self._row.children[0])
        cols = self._marks[self._col]
        if self._edges:
            made = self._edge(self._row, self._col)
            made = F.product(F.diag(F.hadamard(*rows)), made) if rows else made
            return F.product(made, F.diag(F.hadamard(*cols))) if cols else made
        left = F.hadamard(*rows) if rows else F.ones(self._row.children[0])
        right = F.hadamard(*cols) if cols else F.ones(self._col.children[0])
        return F.product(left, F.transpose(right))


def _total(k: Term, marks: list[Form]) -> Form:
    """The sum over an index that joins nothing."""
    match marks:
        case []:
            return F.scalar(k.children[0])
        case [v] if v.op == "diagonal":
            return F.number("trace", *v.parts)
        case [v]:
            return F.product(F.transpose(F.ones(k.children[0])), v)
        case [u, v] if F.same(u, v):
            return F.number("norm2", u)
        case [*first, last]:
            return F.product(F.transpose(F.hadamard(*first)), last)
    raise NoForm("no sum")


def _inner(parts: list[Form]) -> Form:
    """The sum over both indices of a product entry by entry."""
    first, rest = parts[0], F.hadamard(*parts[1:])
    return F.number("norm2", first) if F.same(first, rest) else F.number("frobenius", first, rest)


def _denominator(
    above: Term, factors: Sequence[Term], indices: Sequence[Term]
) -> tuple[Term, Term] | None:
    """The inverse of the sum of `above` over one of its indices, and that index."""
    for below in factors:
        if below.op != "pow" or below.data != -1 or below.children[0].op != "sum":
            continue
        size, body = below.children[0].children
        for x in indices:
            alone = x in above.free and x not in below.free and x.children[0] is size
            if alone and T.instantiate(body, (x,)) is above:
                return below, x
    return None
