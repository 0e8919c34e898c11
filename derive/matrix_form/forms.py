"""Expressions of matrices, and what their entries are.

A form has rows and columns (the sizes of the two), rows only (a column vector), or neither (a
scalar).  The functions that make forms refuse parts whose shapes do not fit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count, pairwise
from math import prod
from typing import Any, Final

from derive.kernel import terms as T
from derive.kernel.terms import Term

_SCALARS: Final = count()


class _Indices:
    """The numbers of indices that occur nowhere else in a form."""

    numbers = count()


class NoForm(Exception):
    """A term has no matrix form that this package knows."""


@dataclass(frozen=True)
class Form:
    """`op` with the forms that it is made of; `data` is what is no form."""

    op: str
    parts: tuple[Form, ...] = ()
    data: Any = None
    rows: Term | None = None
    cols: Term | None = None


def hole(place: str, size: Term) -> Term:
    """The index of a tensor's template: one variable for each place and size."""
    return T.var(f"%{place}", "fin", size)


def start() -> None:
    """Begin a form of its own: the kernel keeps terms, so that names used again cost nothing."""
    _Indices.numbers = count()


def fresh(size: Term) -> Term:
    """An index that occurs nowhere else in the form."""
    return T.var(f"%k{next(_Indices.numbers)}", "fin", size)


def fresh_scalar() -> Term:
    """A scalar that stands for a form until that is printed or written out."""
    return T.var(f"%m{next(_SCALARS)}")


# ---------------------------------------------------------------------------- making forms


def tensor(entry: Term, row: Term, col: Term | None) -> Form:
    """A tensor by its entry at `row` and `col`."""
    names = {row: hole("row", row.children[0])}
    if col is not None:
        names[col] = hole("col", col.children[0])
    return Form("tensor", (), T.substitute(entry, names), row.children[0],
                None if col is None else col.children[0])  # fmt: skip


def scalar(term: Term, inside: Sequence[tuple[Term, Form]] = ()) -> Form:
    """A scalar; `inside` are the variables in it that stand for scalar forms."""
    if len(inside) == 1 and term is inside[0][0]:
        return inside[0][1]
    return Form("scalar", tuple(f for _, f in inside), (term, tuple(v for v, _ in inside)))


def identity(size: Term) -> Form:
    return Form("identity", rows=size, cols=size)


def zero(rows: Term | None, cols: Term | None) -> Form:
    return Form("zero", rows=rows, cols=cols)


def ones(size: Term) -> Form:
    return Form("ones", rows=size)


def transpose(a: Form) -> Form:
    """The transpose; that of a column vector is a row, which stands in products only."""
    match a.op:
        case "transpose":
            return a.parts[0]
        case "product":
            return product(*(transpose(p) for p in reversed(a.parts)))
        case "add" | "hadamard" | "relu" if a.rows is not None and a.cols is not None:
            return Form(a.op, tuple(transpose(p) for p in a.parts), None, a.cols, a.rows)
        case "scale":
            return scaled(a.parts[0], transpose(a.parts[1]))
        case "zero":
            return zero(a.cols, a.rows)
        case "diag" | "identity":
            return a
        case _ if a.rows is None and a.cols is None:
            return a
    return Form("transpose", (a,), None, a.cols, a.rows)


def product(*factors: Form) -> Form:
    """The matrix product, without factors ``I`` and with scalars in front."""
    flat: list[Form] = []
    scale: list[Form] = []
    for f in factors:
        if f.op == "scale":
            scale.append(f.parts[0])
            f = f.parts[1]
        flat += f.parts if f.op == "product" else [f]
    for a, b in pairwise(flat):
        if a.cols is not b.rows:
            raise NoForm(f"the shapes of {a.op} and {b.op} do not fit")
    kept = [f for f in flat if f.op != "identity"] or flat[:1]
    made = kept[0] if len(kept) == 1 else Form("product", tuple(kept), None, flat[0].rows,
                                               flat[-1].cols)  # fmt: skip
    for s in scale:
        made = scaled(s, made)
    return made


def _entrywise(op: str, parts: Sequence[Form]) -> Form:
    if len(parts) == 1:
        return parts[0]
    first = parts[0]
    if any(p.rows is not first.rows or p.cols is not first.cols for p in parts):
        raise NoForm(f"{op}: the shapes differ")
    flat = [q for p in parts for q in (p.parts if p.op == op else (p,))]
    return Form(op, tuple(flat), None, first.rows, first.cols)


def plus(*parts: Form) -> Form:
    return _entrywise("add", parts)


def hadamard(*parts: Form) -> Form:
    """The product entry by entry."""
    return _entrywise("hadamard", parts)


def scaled(s: Form, a: Form) -> Form:
    """A scalar times a form."""
    if s.data == (T.ONE, ()):
        return a
    if s.data == (T.ZERO, ()) and a.rows is not None:
        return zero(a.rows, a.cols)
    if a.op == "scale":
        return scaled(times(s, a.parts[0]), a.parts[1])
    if a.rows is None and a.cols is None:
        return times(s, a)
    if a.cols is None and (inner := [f for f in _factors(s) if f.op == "product"]):
        made = product(a, *inner)  # 1 (1^T x) rather than (1^T x) 1
        for f in _factors(s):
            made = made if f in inner else scaled(f, made)
        return made
    return Form("scale", (s, a), None, a.rows, a.cols)


def _factors(s: Form) -> list[Form]:
    """The factors of a scalar, of which those that are no forms are one."""
    if s.op != "scalar" or s.data[0].op != "mul":
        return [s]
    term, names = s.data
    forms = dict(zip(names, s.parts, strict=True))
    plain = [c for c in term.children if c not in forms]
    if any(not x.free.isdisjoint(forms) for x in plain):
        return [s]
    alone = [scalar(T.mul(*plain))] if plain else []
    return [*alone, *(forms[c] for c in term.children if c in forms)]


def times(a: Form, b: Form) -> Form:
    """The product of two scalars."""
    inside: list[tuple[Term, Form]] = []
    factors: list[Term] = []
    for s in (a, b):
        if s.op == "scalar":
            term, names = s.data
            inside += zip(names, s.parts, strict=True)
        else:
            term = fresh_scalar()
            inside.append((term, s))
        factors += term.children if term.op == "mul" else [term]
    numbers = [f for f in factors if f.op == "num"]
    factor = T.num(prod(f.data for f in numbers))
    others = [f for f in factors if f.op != "num"]
    powers = [T.power(base, e) if e != 1 else base for base, e in _collected(others).items()]
    return scalar(T.mul(*([] if factor is T.ONE else [factor]), *powers), inside)


def _collected(factors: Sequence[Term]) -> dict[Term, int]:
    """The factors as bases with exponents; those below the line stay apart from those above."""
    above: Counter[Term] = Counter()
    below: Counter[Term] = Counter()
    for f in factors:
        base, e = (f.children[0], f.data) if f.op == "pow" else (f, 1)
        (above if e > 0 else below)[base] += e
    return {**above, **{b: e for b, e in below.items() if b not in above}, **{
        T.power(b, e): 1 for b, e in below.items() if b in above}}  # fmt: skip


def diag(v: Form) -> Form:
    return Form("diag", (v,), None, v.rows, v.rows)


def reciprocal(v: Form) -> Form:
    return Form("reciprocal", (v,), None, v.rows, v.cols)


def diagonal(a: Form) -> Form:
    """The diagonal of a square matrix as a vector; only its sum, the trace, is printed."""
    if a.rows is not a.cols:
        raise NoForm("the diagonal of a matrix that is not square")
    return Form("diagonal", (a,), None, a.rows)


def of_entries(op: str, a: Form) -> Form:
    """``relu``: the larger of 0 and each entry; ``softmax``: of every row, or of a vector."""
    return Form(op, (a,), None, a.rows, a.cols)


def number(op: str, *parts: Form) -> Form:
    """``trace``, ``frobenius`` (of two), ``norm`` and ``norm2``, its square."""
    return Form(op, parts)


def summed(index: Term, a: Form) -> Form:
    return Form("summed", (a,), index, a.rows, a.cols)


# ---------------------------------------------------------------------------- entries


def entry(a: Form, row: Term | None = None, col: Term | None = None) -> Term:
    """The entry at these indices as a term of index notation."""
    match a.op:
        case "tensor":
            places = [("row", a.rows, row), ("col", a.cols, col)]
            return T.substitute(a.data, {
                hole(p, size): at for p, size, at in places if size is not None and at is not None
            })  # fmt: skip
        case "scalar":
            term, names = a.data
            return T.substitute(term, dict(zip(names, map(entry, a.parts), strict=True)))
        case "identity":
            return T.delta(_at(row), _at(col))
        case "ones":
            return T.ONE
        case "zero":
            return T.ZERO
        case "transpose":
            return entry(a.parts[0], col, row)
        case "product":
            return _product_entry(a.parts, row, col)
        case "add":
            return T.add(*(entry(p, row, col) for p in a.parts))
        case "hadamard":
            return T.mul(*(entry(p, row, col) for p in a.parts))
        case "scale":
            return T.mul(entry(a.parts[0]), entry(a.parts[1], row, col))
        case "diag":
            return T.mul(T.delta(_at(row), _at(col)), entry(a.parts[0], row))
        case "reciprocal":
            return T.inv(entry(a.parts[0], row, col))
        case "diagonal":
            return entry(a.parts[0], row, row)
        case "relu":
            return T.fn("max", T.ZERO, entry(a.parts[0], row, col))
        case "softmax":
            return _softmax_entry(a.parts[0], row, col)
        case "summed":
            return T.sum_over(a.data, entry(a.parts[0], row, col))
        case _:
            return _number(a)


def _at(index: Term | None) -> Term:
    if index is None:
        raise NoForm("an entry without its index")
    return index


def _product_entry(factors: tuple[Form, ...], row: Term | None, col: Term | None) -> Term:
    inner = [None if f.cols is None else fresh(f.cols) for f in factors[:-1]]
    places = [row, *inner, col]
    body = T.mul(*(entry(f, places[k], places[k + 1]) for k, f in enumerate(factors)))
    for index in reversed(inner):
        body = body if index is None else T.sum_over(index, body)
    return body


def _softmax_entry(z: Form, row: Term | None, col: Term | None) -> Term:
    along = fresh(_at(z.rows if z.cols is None else z.cols))
    others = entry(z, along) if z.cols is None else entry(z, row, along)
    return T.div(T.fn("exp", entry(z, row, col)), T.sum_over(along, T.fn("exp", others)))


def _number(a: Form) -> Term:
    first = a.parts[0]
    i = fresh(_at(first.rows))
    j = i if a.op == "trace" else None if first.cols is None else fresh(first.cols)
    body = entry(first, i, j)
    if a.op in ("norm", "norm2"):
        body = T.power(body, 2)
    elif a.op == "frobenius":
        body = T.mul(body, entry(a.parts[1], i, j))
    elif a.op != "trace":
        raise NoForm(f"no entries for {a.op}")
    made = T.sum_over(i, body if j is None or j is i else T.sum_over(j, body))
    return T.fn("sqrt", made) if a.op == "norm" else made


def same(a: Form, b: Form) -> bool:
    """Whether two forms have the same entries, as terms up to the names of bound indices."""
    if a.rows is not b.rows or a.cols is not b.cols:
        return False
    at = [None if size is None else hole(k, size) for k, size in (("i", a.rows), ("j", a.cols))]
    return entry(a, *at) is entry(b, *at)
