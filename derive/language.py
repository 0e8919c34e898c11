"""The vocabulary in which claims are written: SymPy symbols, and what SymPy lacks.

Sizes, indices and tensors are SymPy's `Symbol`, `Idx` and `IndexedBase` with the assumptions that
the kernel needs.  Quantifiers, expectation, determinants, functions of vectors and gradients are
small SymPy nodes of our own; they hold what they are given and compute nothing.

SymPy simplifies while it builds (``x/x`` becomes 1 before anyone sees it), so where a statement
is about such an expression, `times`, `over`, `plus` and `power` build it as it is written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import sympy as sp
from sympy.core.symbol import Str
from sympy.logic.boolalg import Boolean


def _expr(x: Any) -> Any:
    """A SymPy object as it is, a number as SymPy's; text is refused, since SymPy would run it."""
    try:
        return sp.sympify(x, strict=True)
    except sp.SympifyError:
        raise TypeError(
            f"{x!r} is no expression: text is not read; declare symbols with dim, real, tensor, ..."
        ) from None


# ---------------------------------------------------------------------------- symbols


def dim(name: str) -> sp.Symbol:
    """A size: an integer, at least 1."""
    return sp.Symbol(name, integer=True, positive=True)


def dims(names: str) -> tuple[sp.Symbol, ...]:
    return tuple(dim(n) for n in names.split())


def natural(name: str) -> sp.Symbol:
    """An integer, at least 0."""
    return sp.Symbol(name, integer=True, nonnegative=True)


def integer(name: str) -> sp.Symbol:
    return sp.Symbol(name, integer=True)


def real(name: str) -> sp.Symbol:
    return sp.Symbol(name, real=True)


def positive(name: str) -> sp.Symbol:
    """A positive real; the kernel sees a real and the hypothesis that it is positive."""
    return sp.Symbol(name, positive=True)


def index(name: str, size: Any) -> sp.Idx:
    """An index 0 <= name < size."""
    return sp.Idx(name, size)


class Tensor(sp.IndexedBase):
    """A real tensor with a shape; entries are written ``W[i, j]`` and are checked against it."""

    random = False

    def __getitem__(self, indices: Any, **options: Any) -> Any:
        given = len(indices) if isinstance(indices, tuple | list | sp.Tuple) else 1
        if given != len(self.shape):
            shape = ", ".join(map(str, self.shape))
            raise ValueError(
                f"{self.label} has the shape ({shape}), which {given} indices do not fit"
            )
        return super().__getitem__(indices, **options)


class RandomTensor(Tensor):
    """A tensor of random variables; it may stand inside an expectation only."""

    random = True


def tensor(name: str, *shape: Any) -> Tensor:
    return Tensor(name, shape=shape, real=True)


def sequence(name: str, *shape: Any) -> Tensor:
    """A tensor of that shape for every natural number, which is its first index."""
    return tensor(name, sp.oo, *shape)


def random_tensor(name: str, *shape: Any) -> RandomTensor:
    return RandomTensor(name, shape=shape, real=True)


# ---------------------------------------------------------------------------- as written


class WrittenSum(sp.Add):
    """A sum whose terms keep the order in which they are written."""


def plus(*terms: Any) -> sp.Expr:
    return WrittenSum(*map(_expr, terms), evaluate=False)


class InOrder(sp.Expr):
    """A sum whose terms stay in this order in print (SymPy moves numbers to the end)."""

    is_real = True

    def __new__(cls, *terms: Any) -> InOrder:
        return sp.Expr.__new__(cls, *map(_expr, terms))


def times(*factors: Any) -> sp.Expr:
    return sp.Mul(*map(_expr, factors), evaluate=False)


def power(base: Any, exponent: Any) -> sp.Expr:
    return sp.Pow(_expr(base), _expr(exponent), evaluate=False)


def over(a: Any, b: Any) -> sp.Expr:
    """a / b as it is written."""
    return times(a, power(b, -1))


def minus(a: Any, b: Any) -> sp.Expr:
    return plus(a, times(-1, b))


def call(function: Any, *args: Any) -> sp.Expr:
    """``function(*args)`` as it is written, for SymPy's own functions."""
    return function(*map(_expr, args), evaluate=False)


def relu(x: Any) -> sp.Expr:
    """max(0, x) as it is written (SymPy's ``Max`` would rewrite a maximum of maxima)."""
    return call(sp.Max, 0, x)


def total(body: Any, *indices: sp.Idx) -> sp.Expr:
    """The sum over the whole range of every index, the first one outermost."""
    limits = [sp.Tuple(i, i.lower, i.upper) for i in reversed(indices)]
    while isinstance(body, sp.Sum):  # as SymPy writes sums of sums
        body, limits = body.function, [*body.limits, *limits]
    # SymPy's own constructor gives the same, after a search for functions by cases and other bounds
    made = sp.Expr.__new__(sp.Sum, _expr(body), *limits)
    made.is_commutative = True
    return made


def product(body: Any, i: sp.Idx) -> sp.Expr:
    return sp.Product(body, (i, i.lower, i.upper))


def norm(entry: Callable[[sp.Idx], Any], size: Any) -> sp.Expr:
    """The Euclidean norm of the vector with these entries."""
    i = sp.Idx(sp.Dummy("i", integer=True), size)
    return sp.sqrt(total(entry(i) ** 2, i))


# ---------------------------------------------------------------------------- new terms


class Expectation(sp.Expr):
    """``E[x]``."""

    is_real = True

    def __new__(cls, x: Any) -> Expectation:
        return sp.Expr.__new__(cls, _expr(x))


def variance(x: Any) -> sp.Expr:
    """``E[(x - E[x])^2]``."""
    return Expectation(plus(x, times(-1, Expectation(x))) ** 2)


class Determinant(sp.Expr):
    """The determinant of the size x size matrix with the entries ``entry(row, column)``."""

    is_real = True

    def __new__(cls, size: Any, row: Any, column: Any, body: Any) -> Determinant:
        return sp.Expr.__new__(cls, *map(_expr, (size, row, column, body)))


def determinant(size: Any, entry: Callable[[sp.Idx, sp.Idx], Any]) -> Determinant:
    a, b = (sp.Idx(sp.Dummy(x, integer=True), size) for x in "ab")
    return Determinant(size, a, b, entry(a, b))


class Applied(sp.Expr):
    """An entry of a function of a vector, or of one of its partial derivatives.

    args: name, indices, size and index and body of the vector argument, order of differentiation,
    shape.
    """

    is_real = True

    def __new__(cls, *args: Any) -> Applied:
        return sp.Expr.__new__(cls, *args)


class VectorFunction:
    """A function of a vector of `size` entries, with values in a tensor of shape `shape`.

    ``f(x)[a]`` is a component; with an empty shape ``f(x)[()]`` is the value.  ``f.partial(x)``
    takes one more index, the component of `x` by which it is differentiated.  The vector is a
    `Tensor` with one index, or a Python function from an index to an entry.
    """

    def __init__(self, name: str, size: Any, *shape: Any) -> None:
        self.name, self.size, self.shape = name, _expr(size), shape

    def __call__(self, x: Any) -> _Value:
        return _Value(self, x, 0)

    def partial(self, x: Any) -> _Value:
        return _Value(self, x, 1)


class _Value:
    def __init__(self, function: VectorFunction, x: Any, order: int) -> None:
        self.function, self.x, self.order = function, x, order

    def __getitem__(self, indices: Any) -> Applied:
        f = self.function
        given = indices if isinstance(indices, tuple) else (indices,)
        expected = len(f.shape) + self.order
        if len(given) != expected:
            raise ValueError(f"{f.name} takes {expected} indices here, not {len(given)}")
        i = sp.Idx(sp.Dummy("i", integer=True), f.size)
        body = self.x[i] if isinstance(self.x, sp.IndexedBase) else self.x(i)
        vector = sp.Tuple(f.size, i, _expr(body))
        shape = sp.Tuple(*map(_expr, f.shape), *[f.size] * self.order)
        places = sp.Tuple(*map(_expr, given))
        return Applied(Str(f.name), places, vector, sp.Integer(self.order), shape)


# ---------------------------------------------------------------------------- formulas


class _Formula(Boolean):
    """A formula of our own; SymPy's logic leaves it alone."""

    def __new__(cls, *args: Any) -> Any:
        return Boolean.__new__(cls, *map(_expr, args))


class ForAll(_Formula):
    """For all `x`: body.  `x` is a symbol, an index, or a tensor with a shape."""


class Exists(_Formula):
    """There is `x` with: body."""


class IsInteger(_Formula):
    """The number is an integer."""


class GradientIs(_Formula):
    """The expression is differentiable in the tensor, with these partial derivatives.

    args: expression, tensor, index (a tuple of indices if the tensor has several), partial
    derivative by the entry with that index; where the derivative is taken at another point than
    the tensor itself, the entry of that point.
    """


class Differentiable(_Formula):
    """The function of a vector is differentiable at its argument (args: an `Applied`)."""


class AllOf(_Formula):
    """Every one of the formulas, in this order (SymPy's ``And`` would sort them)."""


class AnyOf(_Formula):
    """At least one of the formulas, in this order."""


def forall(variables: Sequence[Any] | Any, body: Any) -> Any:
    for x in reversed(variables if isinstance(variables, list | tuple) else [variables]):
        body = ForAll(x, body)
    return body


def exists(x: Any, body: Any) -> Any:
    return Exists(x, body)


def divides(h: Any, d: Any) -> Any:
    """h | d, for h != 0."""
    return IsInteger(over(d, h))


def equal(a: Any, b: Any) -> Any:
    """a = b as it is written (SymPy's ``Eq`` would evaluate it)."""
    return sp.Eq(_expr(a), _expr(b), evaluate=False)


def all_equal(*terms: Any) -> Any:
    """a = b = c ..."""
    return both(*map(equal, terms, terms[1:]))


def at_most(a: Any, b: Any) -> Any:
    return sp.Le(_expr(a), _expr(b), evaluate=False)


def less(a: Any, b: Any) -> Any:
    return sp.Lt(_expr(a), _expr(b), evaluate=False)


def implies(p: Any, q: Any) -> Any:
    return sp.Implies(p, q, evaluate=False)


def iff(p: Any, q: Any) -> Any:
    return both(implies(p, q), implies(q, p))


def both(*parts: Any) -> Any:
    return AllOf(*parts)


def either(*parts: Any) -> Any:
    return AnyOf(*parts)


def negation(p: Any) -> Any:
    return sp.Not(p, evaluate=False)
