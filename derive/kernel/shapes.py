"""Shapes: a judgement over the polynomials in the sizes.

A shape is a tuple of size terms.  Each operation on tensors takes the shapes of its operands and
gives the shape of its result together with the obligations: the formulas that have to hold for
the sizes to be sizes.  Splitting an axis of length ``d`` into ``h`` heads gives ``d/h`` columns
and the obligation that ``d/h`` is an integer.  Two sizes agree if their normal forms do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from derive.kernel import terms as T
from derive.kernel.normal import Normaliser, Sign
from derive.kernel.terms import KernelError, Term

Shape = tuple[Term, ...]


class ShapeError(KernelError):
    """Two shapes do not fit; the message names both, and the sizes that differ."""


@dataclass(frozen=True)
class Judgement:
    """The shape of a result, and what has to hold for it to be one."""

    shape: Shape
    obligations: tuple[Term, ...] = ()


def shape(*sizes: Term) -> Judgement:
    """A declared shape: every size is a natural number."""
    return Judgement(sizes, _naturals(sizes))


def matmul(a: Shape, b: Shape) -> Judgement:
    """(..., n, k) times (..., k, m) is (..., n, m); leading axes agree."""
    if len(a) < 2 or len(b) < 2 or len(a) != len(b):
        raise ShapeError(f"matmul: {show(a)} and {show(b)} are not matrices of one rank")
    for k, (s, t) in enumerate(zip(a[:-2], b[:-2], strict=True)):
        _agree("matmul", a, k, s, b, k, t)
    _agree("matmul", a, len(a) - 1, a[-1], b, len(b) - 2, b[-2])
    return Judgement((*a[:-1], b[-1]))


def add(a: Shape, b: Shape) -> Judgement:
    """Addition entry by entry: no broadcasting."""
    if len(a) != len(b):
        raise ShapeError(f"add: {show(a)} has {len(a)} axes, {show(b)} has {len(b)}")
    for k, (s, t) in enumerate(zip(a, b, strict=True)):
        _agree("add", a, k, s, b, k, t)
    return Judgement(a)


def transpose(a: Shape, order: Sequence[int] | None = None) -> Judgement:
    """The axes in another order; without one, the last two exchanged."""
    if order is None:
        if len(a) < 2:
            raise ShapeError(f"transpose: {show(a)} has fewer than two axes")
        order = (*range(len(a) - 2), len(a) - 1, len(a) - 2)
    if sorted(order) != list(range(len(a))):
        raise ShapeError(f"transpose: {tuple(order)} is not an order of the axes of {show(a)}")
    return Judgement(tuple(a[k] for k in order))


def concatenate(parts: Sequence[Shape], axis: int) -> Judgement:
    """Laid side by side along `axis`: the lengths add up, the other axes agree."""
    if not parts:
        raise ShapeError("concatenate: there is nothing to lay side by side")
    first = parts[0]
    at = _axis("concatenate", first, axis)
    for p in parts[1:]:
        if len(p) != len(first):
            raise ShapeError(f"concatenate: {show(first)} and {show(p)} have different ranks")
        for k, (s, t) in enumerate(zip(first, p, strict=True)):
            if k != at:
                _agree("concatenate", first, k, s, p, k, t)
    length = _simple(T.add(*(p[at] for p in parts)))
    return Judgement((*first[:at], length, *first[at + 1 :]))


def repeat(a: Shape, times: Term, axis: int) -> Judgement:
    """`times` tensors of one shape side by side along `axis`, as the heads of attention are."""
    at = _axis("repeat", a, axis)
    length = _simple(T.mul(times, a[at]))
    return Judgement((*a[:at], length, *a[at + 1 :]), _naturals((times,)))


def split(a: Shape, axis: int, parts: Term) -> Judgement:
    """An axis of length d as two, `parts` by d/parts; `parts` has to divide d."""
    at = _axis("split", a, axis)
    width = T.div(a[at], parts)
    duties = (*_naturals((parts,)), *_divides(parts), *_naturals((width,)))
    return Judgement((*a[:at], parts, _simple(width), *a[at + 1 :]), tuple(dict.fromkeys(duties)))


def merge(a: Shape, axis: int) -> Judgement:
    """The axes `axis` and `axis` + 1 as one."""
    at = _axis("merge", a, axis)
    if at + 1 >= len(a):
        raise ShapeError(f"merge: {show(a)} has no axis after axis {at}")
    return Judgement((*a[:at], _simple(T.mul(a[at], a[at + 1])), *a[at + 2 :]))


def contract(a: Shape, axis: int, b: Shape, other: int) -> Judgement:
    """The sum over an index that stands in an axis of each; the axes that are left follow."""
    k, l = _axis("contract", a, axis), _axis("contract", b, other)
    _agree("contract", a, k, a[k], b, l, b[l])
    return Judgement((*a[:k], *a[k + 1 :], *b[:l], *b[l + 1 :]))


def index(a: Shape, axis: int, i: Term) -> Judgement:
    """The part of `a` at place `i` of an axis; `i` lies in its range."""
    at = _axis("index", a, axis)
    duties: tuple[Term, ...] = ()
    if not Normaliser().in_range(i, a[at]):
        duties = (T.conj(T.isint(i), T.le(T.ZERO, i), T.lt(i, a[at])),)
    return Judgement((*a[:at], *a[at + 1 :]), duties)


def entries(a: Shape) -> Term:
    """How many entries a tensor of this shape has."""
    return _simple(T.mul(*a))


def same(a: Shape, b: Shape) -> bool:
    return len(a) == len(b) and all(Normaliser().same(s, t) for s, t in zip(a, b, strict=True))


def show(a: Shape) -> str:
    return f"({', '.join(map(T.show, a))}{',' if len(a) == 1 else ''})"


# ---------------------------------------------------------------------------- sizes


def _agree(rule: str, a: Shape, k: int, s: Term, b: Shape, l: int, t: Term) -> None:
    if not Normaliser().same(s, t):
        raise ShapeError(
            f"{rule}: {show(a)} and {show(b)} do not fit: "
            f"axis {k} has size {T.show(s)}, axis {l} has size {T.show(t)}"
        )


def _axis(rule: str, a: Shape, axis: int) -> int:
    if not -len(a) <= axis < len(a):
        raise ShapeError(f"{rule}: {show(a)} has no axis {axis}")
    return axis % len(a)


def _simple(size: Term) -> Term:
    return Normaliser().term(size)


def _naturals(sizes: Sequence[Term]) -> tuple[Term, ...]:
    """That the sizes are natural numbers, without what is known by sort."""
    norm, out = Normaliser(), []
    for s in sizes:
        if not norm.is_int(s):
            out.append(T.isint(s))
        if not norm.nonneg(norm.poly(s)):
            out.append(T.le(T.ZERO, s))
    return tuple(out)


def _divides(parts: Term) -> tuple[Term, ...]:
    norm = Normaliser()
    known = norm.sign(norm.term(parts)) in (Sign.POS, Sign.NONZERO)
    return () if known else (T.negate(T.eq(parts, T.ZERO)),)
