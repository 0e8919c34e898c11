"""Formulas in floating point: the value of a kernel term where its symbols are numbers and arrays.

Twins use it to compare a formula that was proved with an implementation.  Nothing is proved here:
all entries of an expression are computed at once, one axis for every index that is open, and sums
run over the last axis.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from derive import equal_factors
from derive.kernel import terms as T
from derive.kernel.terms import Lam, Term

Array = npt.NDArray[Any]

#: How far the sides of an equation among the premises may lie apart.
CLOSE: Final = 1e-9

_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "pi": lambda: np.pi, "sin": np.sin, "cos": np.cos, "exp": np.exp, "log": np.log,
    "sqrt": np.sqrt, "abs": np.abs, "floor": np.floor, "mod": np.mod, "rpow": np.float_power,
    "max": lambda *x: _fold(np.maximum, x), "min": lambda *x: _fold(np.minimum, x),
}  # fmt: skip


@dataclass(frozen=True)
class Smooth:
    """A differentiable function of a vector, and its partial derivatives.

    The component by which it is differentiated is their last axis.
    """

    value: Callable[[Array], Array]
    partial: Callable[[Array], Array]


class Evaluation:
    """Values at given numbers, arrays and functions, which are found by the names of the symbols.

    Raises `KeyError` for a symbol without a value, `ValueError` for what has no value in floating
    point, `FloatingPointError` where an operation is not defined or overflows.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = dict(values)
        self._memo: dict[tuple[Term, tuple[int, ...]], Any] = {}

    def define(self, equation: Term) -> None:
        """Give the symbol on the left of an equation (for all its indices) the value of the right.

        Raises `ValueError` for another form.
        """
        sizes: list[int] = []
        while equation.op == "forall" and equation.data[0] == "fin":
            sizes.append(self._size(equation.children[0], tuple(sizes)))
            equation = equation.children[1]
        if equation.op != "eq":
            raise ValueError(f"{equation} is not an equation")
        left, right = equation.children
        indices = tuple(T.bound(k) for k in reversed(range(len(sizes))))
        if left.op not in ("app", "var") or left.children != indices:
            raise ValueError(f"{left} is not a symbol with its indices")
        name = left.data.head if left.op == "app" else left.data[0]
        self.values[name] = self.entries(right, *sizes)

    def entries(self, body: Term, *sizes: int) -> Array:
        """The array of the values of `body`, whose bound indices run over ranges of these sizes."""
        with np.errstate(divide="raise", invalid="raise", over="raise"):
            found = self._value(body, sizes)
        return np.broadcast_to(found, sizes)

    def gradient(self, statement: Term) -> tuple[Array, Array]:
        """For "the gradient of f is g": the value of f at the point, and the entries of g there."""
        dims, (function, point, value) = _parts(statement)
        at_point = T.instantiate(function, (Lam(len(dims), point),))
        sizes = [self._size(d, ()) for d in dims]
        return self.entries(at_point), self.entries(value, *sizes)

    def holds(self, formula: Term) -> bool:
        """Whether a formula without quantifiers other than over indices is true.

        The sides of an equation are allowed to differ by rounding.
        """
        return bool(np.all(self._truth(formula, ())))

    # ------------------------------------------------------------------ terms

    def _size(self, t: Term, sizes: tuple[int, ...]) -> int:
        if t.loose:
            raise ValueError(f"the range {t} depends on an index")
        return int(self._value(t, sizes))

    def _value(self, t: Term, sizes: tuple[int, ...]) -> Any:
        """An array with an axis for every open index, of length 1 where nothing depends on it.

        What depends on none of them may be a plain number.
        """
        known = self._memo.get((t, sizes))
        if known is None:
            known = self._memo[t, sizes] = self._compute(t, sizes)
        return known

    def _compute(self, t: Term, sizes: tuple[int, ...]) -> Any:
        match t.op:
            case "num":
                return int(t.data) if t.data.denominator == 1 else float(t.data)
            case "var":
                return self.values[t.data[0]]
            case "bound":
                return _index(t.data, sizes)
            case "sum":
                return self._sum(t, sizes)
            case "prod":
                return self._product(t, sizes)
            case "app" if t.data.arities:
                return self._applied(t, sizes)
            case "add" | "mul" | "pow" | "fn" | "delta" | "app":
                return self._combined(t, [self._value(c, sizes) for c in t.children])
            case _:
                raise ValueError(f"{t} has no value in floating point")

    def _combined(self, t: Term, parts: list[Any]) -> Any:
        match t.op:
            case "add":
                return _fold(np.add, parts)
            case "mul":
                return _fold(np.multiply, parts)
            case "pow":
                base = parts[0] if t.data >= 0 else np.asarray(parts[0], float)
                return base**t.data
            case "delta":
                return np.equal(*parts).astype(int)
            case "fn":
                return _FUNCTIONS[t.data](*parts)
            case _:
                return self._entry(t.data.head, parts)

    def _entry(self, name: str, indices: list[Any]) -> Any:
        array = np.asarray(self.values[name])
        if array.ndim != len(indices):
            raise ValueError(f"{name} has {array.ndim} axes; expected {len(indices)}")
        if any(np.min(i, initial=0) < 0 for i in indices):
            raise ValueError(f"{name} has no entry with a negative index")
        return array[tuple(np.asarray(i, int) for i in indices)]

    def _sum(self, t: Term, sizes: tuple[int, ...]) -> Any:
        size = self._size(t.children[0], sizes)
        body = self._value(t.children[1], (*sizes, size))
        if np.ndim(body) and body.shape[-1] == size:
            return body.sum(axis=-1)
        return size * (body[..., 0] if np.ndim(body) else body)

    def _product(self, t: Term, sizes: tuple[int, ...]) -> Any:
        factor = equal_factors.base(t)
        if factor is not None:  # the exponent may depend on an index
            exponent = np.maximum(self._value(t.children[0], sizes), 0)
            return np.float_power(self._value(factor, sizes), exponent)
        size = self._size(t.children[0], sizes)
        body = self._value(t.children[1], (*sizes, size))
        return np.broadcast_to(body, (*sizes, size)).prod(axis=-1, dtype=float)

    def _applied(self, t: Term, sizes: tuple[int, ...]) -> Any:
        """An entry of a function of one vector that does not depend on the open indices."""
        head = t.data
        if len(head.arities) > 1 or head.arities[0] != 1 or len(head.derivatives) > 1:
            raise ValueError(f"{t} is not a function of one vector, or its derivative")
        size, body = t.children[head.scalars :]
        if body.loose > 1:
            raise ValueError(f"the vector in {t} depends on an index")
        vector = self.entries(body, self._size(size, sizes))
        function: Smooth = self.values[head.head]
        found = (function.partial if head.derivatives else function.value)(vector)
        inner = Evaluation({head.head: found})
        indices = [self._value(c, sizes) for c in t.children[: head.scalars]]
        return inner._entry(head.head, indices)

    # ------------------------------------------------------------------ formulas

    def _truth(self, p: Term, sizes: tuple[int, ...]) -> Any:
        match p.op:
            case "eq" | "le" | "lt":
                with np.errstate(divide="raise", invalid="raise", over="raise"):
                    a, b = (self._value(c, sizes) for c in p.children)
                if p.op == "eq":
                    return np.abs(np.subtract(a, b)) <= CLOSE
                return np.less(a, b) if p.op == "lt" else np.less_equal(a, b)
            case "and" | "or" | "not" | "imp":
                parts = [self._truth(c, sizes) for c in p.children]
                return _CONNECTIVES[p.op](parts)
            case "diff":
                return isinstance(self.values[p.children[0].data.head], Smooth)
            case "isint":
                value = self._value(p.children[0], sizes)
                return np.equal(value, np.floor(value))
            case "forall" if p.data[0] == "fin":
                size = self._size(p.children[0], sizes)
                inner = self._truth(p.children[1], (*sizes, size))
                return np.all(np.broadcast_to(inner, (*sizes, size)), axis=-1)
            case _:
                raise ValueError(f"{p} cannot be looked at in floating point")


_CONNECTIVES: Final[dict[str, Callable[[list[Any]], Any]]] = {
    "and": lambda parts: _fold(np.logical_and, parts),
    "or": lambda parts: _fold(np.logical_or, parts),
    "not": lambda parts: np.logical_not(parts[0]),
    "imp": lambda parts: np.logical_or(np.logical_not(parts[0]), parts[1]),
}


def _fold(operation: Callable[[Any, Any], Any], parts: Any) -> Any:
    first, *rest = parts
    for part in rest:
        first = operation(first, part)
    return first


def _index(number: int, sizes: tuple[int, ...]) -> Array:
    axis = len(sizes) - 1 - number
    shape = [1] * len(sizes)
    shape[axis] = sizes[axis]
    return np.arange(sizes[axis]).reshape(shape)


def _parts(statement: Term) -> tuple[tuple[Term, ...], tuple[Term, ...]]:
    """The sizes of a gradient, and its function, point and value."""
    if statement.op != "grad":
        raise ValueError(f"{statement} is not about a gradient")
    count = statement.data
    return statement.children[:count], statement.children[count:]
