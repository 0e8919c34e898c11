"""Kernel terms in floating point: values, axes, and what has none."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import sympy as sp

from derive.convert import Converter
from derive.evaluate import Evaluation, Smooth
from derive.language import (
    Differentiable,
    GradientIs,
    IsInteger,
    VectorFunction,
    at_most,
    both,
    dims,
    either,
    equal,
    forall,
    implies,
    index,
    less,
    negation,
    over,
    plus,
    power,
    product,
    real,
    tensor,
    times,
    total,
)

n, m = dims("n m")
i, k = index("i", n), index("k", n)
j, u = index("j", m), index("u", m)
A, x, y = tensor("A", n, m), tensor("x", m), tensor("y", n)
a, b = real("a"), real("b")
VALUES = {
    "n": 2, "m": 3, "a": 0.5, "b": -2.0,
    "A": np.arange(6.0).reshape(2, 3) - 2.5, "x": np.array([1.0, -2.0, 0.5]),
    "y": np.array([3.0, 0.25]),
}  # fmt: skip


def entries(expression: Any, *indices: Any) -> Any:
    """The values of an expression, for all values of the indices."""
    converter = Converter()
    formula = converter.formula(forall(list(indices), equal(expression, 0)))
    at = Evaluation(VALUES)
    sizes = []
    while formula.op == "forall":
        sizes.append(int(at.entries(formula.children[0])))
        formula = formula.children[1]
    return at.entries(formula.children[0], *sizes)


def holds(formula: Any) -> bool:
    return Evaluation(VALUES).holds(Converter().formula(formula))


A_, x_, y_ = (VALUES[name] for name in "Axy")
SCALARS = {
    "sum": (total(times(A[i, j], x[j]), i, j), (A_ @ x_).sum()),
    "sum of a constant": (total(times(a, n), j), 3 * 0.5 * 2),
    "sum of what does not depend on it": (total(total(y[i], i), j), 3 * y_.sum()),
    "sums of two lengths": (plus(total(a, i), total(a, j)), 0.5 * 5),
    "inverse": (over(n, m), 2 / 3),
    "power": (power(b, 3), -8.0),
    "root": (sp.sqrt(n), math.sqrt(2)),
    "functions": (
        plus(sp.exp(a), sp.log(a), sp.sin(a), sp.cos(b), sp.Abs(b), sp.floor(b / 3), sp.pi),
        math.exp(0.5) + math.log(0.5) + math.sin(0.5) + math.cos(-2.0) + 2 - 1 + math.pi,
    ),
    "maximum": (plus(sp.Max(a, b, evaluate=False), sp.Min(a, b, evaluate=False)), -1.5),
    "remainder": (sp.Mod(m, n, evaluate=False), 1),
    "real power": (sp.Pow(a, b, evaluate=False), 4.0),
    "power of a size": (power(b, m), -8.0),
    "powers of an index": (total(power(b, j), j), 1 - 2 + 4.0),
    "powers of entries": (total(power(x[j], m), j), 1 - 8 + 0.125),
    "product": (product(y[i], i), 0.75),
    "product of one number": (product(b, j), -8.0),
    "products in a sum": (total(product(A[i, j], i), j), A_.prod(axis=0).sum()),
}  # fmt: skip


@pytest.mark.parametrize("name", list(SCALARS))
def test_numbers(name: str) -> None:
    expression, expected = SCALARS[name]
    assert entries(expression) == pytest.approx(expected, rel=1e-15)


def test_entries_have_an_axis_for_every_index() -> None:
    outer = entries(plus(A[i, j], times(y[i], x[j])), i, j)
    np.testing.assert_array_equal(outer, A_ + np.outer(y_, x_))
    np.testing.assert_array_equal(entries(plus(A[i, j], y[i]), j, i), (A_ + y_[:, None]).T)
    np.testing.assert_array_equal(entries(a, i, j), np.full((2, 3), 0.5))
    np.testing.assert_array_equal(entries(sp.KroneckerDelta(i, k), i, k), np.eye(2))
    np.testing.assert_allclose(entries(total(times(A[i, j], A[k, j]), j), i, k), A_ @ A_.T)


def test_an_index_of_two_blocks() -> None:
    z = tensor("z", n * m)
    at = Evaluation({"n": 2, "m": 3, "z": np.arange(6.0)})
    p = Converter().formula(forall([i, j], equal(z[i * m + j], 0)))
    blocks = at.entries(p.children[1].children[1].children[0], 2, 3)
    np.testing.assert_array_equal(blocks, np.arange(6.0).reshape(2, 3))


def test_definitions_give_values() -> None:
    at = Evaluation(VALUES)
    converter = Converter()
    s = tensor("s", n)
    at.define(converter.formula(forall(i, equal(s[i], total(A[i, j], j)))))
    np.testing.assert_array_equal(at.values["s"], A_.sum(axis=1))
    at.define(converter.formula(equal(a, total(s[i], i))))
    assert at.values["a"] == A_.sum()


B, v = tensor("B", n, n), tensor("v", n)


@pytest.mark.parametrize(
    "formula",
    [
        equal(total(y[i], i), 1),
        equal(y[0], 1),
        forall(i, equal(A[i, 0], y[i])),
        forall(i, equal(plus(v[i], 1), 0)),
        forall([i, k], equal(B[k, i], 0)),
        forall(i, equal(B[i, i], 0)),
    ],
)
def test_what_defines_no_symbol(formula: Any) -> None:
    with pytest.raises(ValueError, match="is not a symbol with its indices"):
        Evaluation(VALUES).define(Converter().formula(formula))


def test_an_inequality_defines_nothing() -> None:
    with pytest.raises(ValueError, match="is not an equation"):
        Evaluation(VALUES).define(Converter().formula(forall(i, less(v[i], 0))))


def test_a_sum_over_nothing_is_zero() -> None:
    at = Evaluation({"n": 0, "y": np.zeros(0), "a": 1.5})
    for body in (y[i], a):
        assert at.entries(Converter().term(total(body, i))) == 0


def test_formulas() -> None:
    assert holds(both(less(b, a), at_most(b, b), negation(less(a, b))))
    assert holds(either(less(a, b), less(b, a)))
    assert holds(implies(less(a, b), less(a, a)))
    assert not holds(implies(less(b, a), less(a, a)))
    assert holds(forall(i, less(0, y[i])))
    assert not holds(forall([i, j], less(A[i, j], 2)))
    assert holds(forall([i, j], less(A[i, j], 3)))
    assert holds(IsInteger(b))
    assert not holds(IsInteger(a))


def test_equations_hold_up_to_rounding() -> None:
    tenth = sp.Rational(1, 10)
    assert holds(equal(total(times(tenth, a), j), times(3, tenth, a)))
    assert not holds(equal(a, a + sp.Rational(1, 10**6)))


def test_gradients_and_functions_of_vectors() -> None:
    f = VectorFunction("f", m, m)
    weight = np.array([[1.0, 2.0, 0.0], [0.0, -1.0, 3.0], [2.0, 2.0, 2.0]])
    smooth = Smooth(lambda v: np.sin(weight @ v), lambda v: np.cos(weight @ v)[:, None] * weight)
    at = Evaluation({**VALUES, "f": smooth})
    converter = Converter()
    statement = GradientIs(
        total(times(x[j], f(x)[j]), j), x, u,
        plus(f(x)[u], total(times(x[j], f.partial(x)[j, u]), j)),
    )  # fmt: skip
    value, slope = at.gradient(converter.formula(statement))
    assert value == pytest.approx(x_ @ np.sin(weight @ x_))
    expected = np.sin(weight @ x_) + (x_ * np.cos(weight @ x_)) @ weight
    np.testing.assert_allclose(slope, expected, rtol=1e-15)
    assert at.holds(converter.formula(forall(j, Differentiable(f(x)[j]))))


@pytest.mark.parametrize(
    ("formula", "error", "message"),
    [
        (less(0, over(1, a - a + sp.Integer(0) * b + total(times(0, y[i]), i))),
         FloatingPointError, "divide by zero"),
        (less(0, sp.log(b)), FloatingPointError, "invalid"),
        (less(0, real("c")), KeyError, "c"),
        (less(0, tensor("x", n, m)[0, 0]), ValueError, "x has 1 axes; expected 2"),
        (forall(real("c"), less(0, a)), ValueError, "cannot be looked at"),
    ],
)  # fmt: skip
def test_what_has_no_value(formula: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        holds(formula)


def test_only_gradients_have_a_gradient() -> None:
    with pytest.raises(ValueError, match="is not about a gradient"):
        Evaluation(VALUES).gradient(Converter().formula(less(a, b)))


def test_powers_of_whole_numbers_do_not_overflow() -> None:
    at = Evaluation({"n": 70, "m": 10})
    assert float(at.entries(Converter().term(power(-m, n)))) == pytest.approx(1e70)
    assert float(at.entries(Converter().term(product(m + 0 * i, i)))) == pytest.approx(1e70)
