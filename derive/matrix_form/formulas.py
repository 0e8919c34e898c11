"""Formulas in matrix form: equations for every entry as equations of matrices.

A form is taken only if its entry is shown to be the term that it stands for: by the kernel's normal
form, which knows nothing of how the form was found.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import permutations
from typing import Final

from derive import latex
from derive.kernel import terms as T
from derive.kernel.normal import Normaliser
from derive.kernel.terms import KernelError, Term
from derive.matrix_form.forms import Form, NoForm, entry, start
from derive.matrix_form.printing import Printer
from derive.matrix_form.recognising import Reader, Shape, Shapes, contracts, has_sum

_MOST_INDICES: Final = 4


def matrix_latex(
    p: Term, shown: str, hypotheses: Iterable[Term], shape_of: Callable[[str], Shape | None]
) -> str:
    """The formula, of which `shown` is the LaTeX, in matrix form as LaTeX; empty where it has none
    without most of the sums.

    Free indices of the formula that are in none of the `hypotheses` may be any, so that an equation
    between entries is one of matrices.  `shape_of` tells the sizes of a tensor's axes by its name.
    """
    if not has_sum(p) or latex.has_weighted_mean(p):
        return ""
    around = tuple(hypotheses)
    fixed = p.free.intersection(frozenset().union(*(h.free for h in around)))
    names = sorted(s for s in p.free if isinstance(s, str))
    shapes = tuple((name, shape_of(name) or _ranges_in_use((p, *around), name)) for name in names)
    text = _matrix_latex(p, frozenset(s for s in fixed if isinstance(s, Term)), shapes)
    fewer = text.count(r"\sum") * 2 <= shown.count(r"\sum")
    same = text.replace(" ", "") == shown.replace(" ", "")
    return text if fewer and not same else ""


@cache
def _matrix_latex(p: Term, fixed: frozenset[Term], shapes: tuple[tuple[str, Shape], ...]) -> str:
    names = frozenset(s.data[0] if isinstance(s, Term) else s for s in p.free)
    try:
        return _Writer(names, fixed, dict(shapes)).formula(p)
    except (NoForm, KernelError):
        return ""


@dataclass(frozen=True)
class _Side:
    """A form with what it stands for: the term, and the indices of its entries."""

    form: Form
    term: Term
    row: Term | None = None
    col: Term | None = None

    def check(self) -> None:
        """Raise `NoForm` unless the entry of the form is the term."""
        if not Normaliser().same(entry(self.form, self.row, self.col), self.term):
            raise NoForm("the entry has another normal form")


@dataclass(frozen=True)
class _Writer:
    """`fixed` are the indices that are not for all values: an equation with them is no matrix's.

    `asked` says that a form has to contract something.
    """

    taken: frozenset[str]
    fixed: frozenset[Term]
    shapes: Shapes
    asked: bool = True

    def formula(self, p: Term) -> str:
        match p.op:
            case "imp":
                premise, conclusion = p.children
                after = replace(self, fixed=self.fixed | _variables(premise))
                text = after.formula(conclusion)
                text = latex.fenced(text) if latex.is_equivalence(conclusion) else text
                return rf"{self._premise(premise)} \ \Rightarrow\  {text}"
            case "forall" if p.data[0] == "fin":
                return self._for_all_entries(p)
            case "forall":
                return self._for_whole(p)
            case "exists" if p.data[0] != "fin":  # what there is may depend on the free indices
                return self._within(p)._for_whole(p)
            case "and" if latex.is_equivalence(p):
                sides = self._within(p)._parts(p.children[0].children)
                return r" \ \Leftrightarrow\  ".join(sides)
            case "and" if all(c.op in latex.SIGNS for c in p.children):
                return self._relations(p, ())
            case "and" if p.children:
                return r" \ \land\  ".join(self._parts(p.children))
            case "eq" | "le" | "lt":
                return self._relations(p, ())
            case "grad":
                return self._gradient(p)
            case _:
                raise NoForm(f"no matrix form for {p.op}")

    def _within(self, p: Term) -> _Writer:
        """For parts of `p` that have to hold for the indices at hand only."""
        return replace(self, fixed=self.fixed | _variables(p))

    def _parts(self, parts: Sequence[Term]) -> list[str]:
        """The parts in matrix form, at least one of which contracts something."""
        texts = []
        contracted = not self.asked
        for p in parts:
            try:
                texts.append(self._part(p))
                contracted = True
            except NoForm:
                texts.append(replace(self, asked=False)._part_as_it_is(p))
        if not contracted:
            raise NoForm("no contraction in any part")
        return texts

    def _part_as_it_is(self, p: Term) -> str:
        """A part in which nothing is contracted, in entries if it has no other form."""
        try:
            return self._part(p)
        except NoForm:
            text = latex.formula_in(p, self.taken)
        return latex.fenced(text) if _JOINED.search(text) else text

    def _part(self, p: Term) -> str:
        text = self.formula(p)
        return latex.fenced(text) if _JOINED.search(text) else text

    def _premise(self, p: Term) -> str:
        """A premise in matrix form, or else as it is."""
        try:
            text = replace(self._within(p), asked=False).formula(p)
        except NoForm:
            text = latex.formula_in(p, self.taken)
        arrow = p.op in ("imp", "forall", "exists") or latex.is_equivalence(p)
        return latex.fenced(text) if arrow and _QUANTIFIED.search(text) else text

    # ------------------------------------------------------------------ quantifiers

    def _for_whole(self, p: Term) -> str:
        """A quantified tensor or number, which is no index of entries."""
        sign = rf"\{p.op}"
        if p.data[0] == "tensor":
            letter = latex.tensor_letter(p, self.taken)
            body = T.instantiate(p.children[-1], (letter,))
            writer = replace(self, shapes={**self.shapes, letter: _shape_in_use(body, letter)})
            return rf"{sign} {letter}:\ {writer._inside(p, letter, letter)}"
        letter = latex.letter_for(None, self.taken, p.data[0])
        where = latex.SETS[p.data[0]]
        x = T.var(letter, p.data[0])
        return rf"{sign} {letter} \in {where}:\ {self._inside(p, x, letter)}"

    def _inside(self, p: Term, value: Term | str, letter: str) -> str:
        inner = replace(self, taken=self.taken | {letter})
        return inner.formula(T.instantiate(p.children[-1], (value,)))

    def _for_all_entries(self, p: Term) -> str:
        """The last one or two of the quantified indices are those of the entries."""
        opened: list[Term] = []
        body, writer = p, self
        while body.op == "forall" and body.data[0] == "fin":
            size = body.children[0]
            x = T.var(latex.letter_for(size, writer.taken), "fin", size)
            opened.append(x)
            writer = replace(writer, taken=writer.taken | {x.data[0]}, fixed=writer.fixed | {x})
            body = T.instantiate(body.children[1], (x,))
        if body.op == "grad" and body.data == 1 and opened[-1] in body.free:
            try:
                text = writer._jacobian(body, opened[-1])
            except NoForm:
                return self._quantified(opened, writer.formula(body))
            return self._quantified(opened[:-1], text)
        if body.op not in latex.SIGNS and not (body.op == "and" and _all_equations(body)):
            return self._quantified(opened, writer.formula(body))
        for count in (2, 1, 0):
            at = opened[len(opened) - count :]
            if len(at) == count:
                try:
                    text = writer._relations(body, at)
                except NoForm:
                    continue
                return self._quantified(opened[: len(opened) - count], text)
        raise NoForm("no entries")

    def _quantified(self, indices: Sequence[Term], text: str) -> str:
        for x in reversed(indices):
            below = latex.term_in(x.children[0], self.taken)[0]
            text = rf"\forall {latex.name(x.data[0])} < {below}:\ {text}"
        return text

    # ------------------------------------------------------------------ relations

    def _relations(self, p: Term, at: Sequence[Term]) -> str:
        """Relations whose sides are the entries at these indices, or at free ones."""
        parts = p.children if p.op == "and" else (p,)
        if at and not _all_equations(p):
            raise NoForm("an inequality between entries")
        sides = [s for r in parts for s in r.children]
        for chosen in [tuple(at)] if at else self._free_indices(p):
            try:
                found = [self._side(s, *chosen) for s in sides]
            except NoForm:
                continue
            if self.asked and not any(contracts(s.form) for s in found):
                continue
            return self._chain(parts, found)
        raise NoForm("no contraction on either side")

    def _free_indices(self, p: Term) -> list[tuple[Term, ...]]:
        """Which free indices may be those of the entries: two, one, or none of them."""
        free = [s for s in _in_order(p) if s.data[1] == "fin" and s not in self.fixed]
        if len(free) > _MOST_INDICES or not _all_equations(p):
            return [()]
        used = [x for x in free if not any(x in y.children[0].free for y in free)]
        return [c for count in (2, 1) for c in permutations(used, count)] + [()]

    def _side(self, t: Term, row: Term | None = None, col: Term | None = None) -> _Side:
        start()
        side = _Side(Reader(self.shapes).matrix(t, row, col), t, row, col)
        side.check()
        return side

    def _chain(self, parts: Sequence[Term], sides: Sequence[_Side]) -> str:
        """a = b, or a = b = c where each relation begins as the one before ends."""
        printer = Printer(self.taken, {})
        texts = [printer.latex(s.form) for s in sides]
        out = texts[0]
        for k, r in enumerate(parts):
            if k and parts[k - 1].children[1] is not r.children[0]:
                out += rf" \ \land\  {texts[2 * k]}"
            if texts[2 * k] == texts[2 * k + 1]:
                raise NoForm("matrices hide what the equation says")
            out += f" {latex.SIGNS[r.op]} {texts[2 * k + 1]}"
        return out

    # ------------------------------------------------------------------ gradients

    def _gradient(self, p: Term) -> str:
        """By a tensor as it stands: the last two of its indices are those of the entries."""
        open_indices = [s for s in _in_order(p) if s.data[1] == "fin" and s not in self.fixed]
        if p.data == 1 and len(open_indices) == 1:
            try:
                return self._jacobian(p, open_indices[0])
            except NoForm:
                pass  # a gradient for each value of the index
        dims, (function, _, value) = p.children[: p.data], p.children[p.data :]
        name = _varied(p)
        inner, letters = self, []
        for size in dims:
            letters.append(T.var(latex.letter_for(size, inner.taken), "fin", size))
            inner = replace(inner, taken=inner.taken | {letters[-1].data[0]})
        at = letters[-2:]
        result = self._side(T.instantiate(value, letters), *at)
        varied = self._side(T.instantiate(function, (name,)))
        if not (contracts(varied.form) or contracts(result.form)):
            raise NoForm("no contraction")
        variable = self._side(T.apply(name, *letters), *at)
        printer = Printer(inner.taken, {})
        below, function_text, value_text = (
            printer.latex(s.form) for s in (variable, varied, result)
        )
        return rf"\nabla_{{{below}}} {latex.fenced(function_text, '[]')} = {value_text}"

    def _jacobian(self, p: Term, row: Term) -> str:
        """The gradients of all components of a vector: the index `row` is that of the component."""
        size, function, _, value = p.children
        name = _varied(p)
        col = T.var(latex.letter_for(size, self.taken | {row.data[0]}), "fin", size)
        varied = self._side(T.instantiate(function, (name,)), row)
        result = self._side(T.instantiate(value, (col,)), row, col)
        variable = self._side(T.apply(name, col), col)
        if not (contracts(varied.form) or contracts(result.form)):
            raise NoForm("no contraction")
        printer = Printer(self.taken | {row.data[0], col.data[0]}, {})
        inside = latex.fenced(printer.latex(varied.form), "[]")
        below = printer.latex(variable.form)
        return rf"\frac{{\partial}}{{\partial {below}}} {inside} = {printer.latex(result.form)}"


_QUANTIFIED: Final = re.compile(r"\\forall|\\exists|\\Rightarrow|\\Leftrightarrow|\\lor")
"""What is put in parentheses in front of an arrow."""

_JOINED: Final = re.compile(rf"{_QUANTIFIED.pattern}|\\land")
"""What is put in parentheses between other formulas."""


def _shape_in_use(p: Term, name: str) -> Shape:
    """The sizes of the axes of a quantified tensor, of which nothing counts but what `p` uses:
    for each axis the range of the indices there, if it is always the same.
    """
    return tuple(axis.pop() if len(axis) == 1 else None for axis in _ranges([p], name))


def _ranges_in_use(formulas: Sequence[Term], name: str) -> Shape:
    """The same for a function of numbers, which has no shape, by the indices that run over an axis;
    other numbers may be put in for them.
    """
    axes = [axis - {None} for axis in _ranges(formulas, name)]
    return tuple(axis.pop() if len(axis) == 1 else None for axis in axes)


def _ranges(formulas: Sequence[Term], name: str) -> list[set[Term | None]]:
    found: list[set[Term | None]] = []
    for p in formulas:
        for k, axis in enumerate(_ranges_in(p).get(name, ())):
            found += [set()] if k == len(found) else []
            found[k] |= axis
    return found


@cache
def _ranges_in(p: Term) -> dict[str, list[set[Term | None]]]:
    """By the name of a tensor or function of numbers: what its indices run over in `p`."""
    found: dict[str, list[set[Term | None]]] = {}
    for t, sizes in _with_sizes(p, ()):
        if t.op == "app" and not t.data.arities:
            axes = found.setdefault(t.data.head, [set() for _ in t.children])
            for axis, index in zip(axes, t.children, strict=False):
                axis.add(_range_of(index, sizes))
    return found


def _with_sizes(
    t: Term, sizes: tuple[Term | None, ...]
) -> Iterator[tuple[Term, tuple[Term | None, ...]]]:
    """The subterms, each with the sizes of the indices that are bound around it."""
    yield t, sizes
    for child, count in zip(t.children, t.binds, strict=True):
        known = t.op in ("sum", "prod") or (t.op == "forall" and t.data[0] == "fin")
        size = t.children[0] if known and not t.children[0].loose else None
        yield from _with_sizes(child, (*sizes, *[size] * count))


def _range_of(index: Term, sizes: tuple[Term | None, ...]) -> Term | None:
    if index.op == "bound":
        return sizes[-1 - index.data]
    return index.children[0] if index.op == "var" and index.data[1] == "fin" else None


def _variables(p: Term) -> frozenset[Term]:
    return frozenset(s for s in p.free if isinstance(s, Term))


def _varied(p: Term) -> str:
    """The name of the tensor that a gradient is by, if it is taken at the tensor itself."""
    function, point, _ = p.children[p.data :]
    entries = tuple(T.bound(k) for k in reversed(range(p.data)))
    at_itself = point.op == "app" and point.children == entries
    if not at_itself or not isinstance(point.data.head, str):
        raise NoForm("a gradient at another point")
    name: str = point.data.head
    if name in function.free:
        raise NoForm("the variable is also a constant of the function")
    return name


def _all_equations(p: Term) -> bool:
    return all(c.op == "eq" for c in (p.children if p.op == "and" else (p,)))


def _in_order(p: Term) -> list[Term]:
    """The free variables in the order in which they first occur."""
    seen: dict[Term, None] = {}
    for s in T.subterms(p):
        if s.op == "var":
            seen.setdefault(s)
    return list(seen)
