"""Conversion: what arrives in the kernel is what was written, or a refusal that names it."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
import sympy as sp

from derive import language as L
from derive.convert import ConversionError, Converter
from derive.kernel import terms as T
from derive.kernel.domain import obligations
from derive.kernel.normal import Normaliser

n, m, d = L.dims("n m d")
i, j, k = L.index("i", n), L.index("j", n), L.index("k", m)
x, y = L.tensor("x", n), L.tensor("y", m)
a, b = L.real("a"), L.real("b")


def term(e: object) -> T.Term:
    return Converter().term(e)


def same(e: object, f: object) -> bool:
    c = Converter()
    return Normaliser().same(c.term(e), c.term(f))


# ------------------------------------------------------------------ functions by definition

DEFINED = {
    "ceiling": (sp.ceiling(a / 2), -sp.floor(-a / 2)),
    "fractional part": (sp.frac(a), a - sp.floor(a)),
    "tangent": (sp.tan(a), sp.sin(a) / sp.cos(a)),
    "sinh": (sp.sinh(a), (sp.exp(a) - sp.exp(-a)) / 2),
    "cosh": (sp.cosh(a), (sp.exp(a) + sp.exp(-a)) / 2),
    "tanh": (sp.tanh(a), (sp.exp(a) - sp.exp(-a)) / (sp.exp(a) + sp.exp(-a))),
}


@pytest.mark.parametrize("name", DEFINED)
def test_a_function_is_what_it_is_defined_as(name: str) -> None:
    assert same(*DEFINED[name])


def test_a_tangent_asks_for_a_cosine_that_does_not_vanish() -> None:
    (obligation,) = obligations(T.eq(term(sp.tan(a)), T.ZERO))
    assert obligation is T.negate(T.eq(T.fn("cos", T.var("a", "real")), T.ZERO))


HINTS = {
    "a case distinction": (sp.Piecewise((1, a > 0), (0, True)), "an implication for each case"),
    "a derivative": (sp.Derivative(a**2, a), "GradientIs"),
    "a matrix": (sp.Matrix([[1, 2], [3, 4]]), "entries of tensors"),
    "a matrix symbol": (sp.MatrixSymbol("M", 2, 2), "entries of tensors"),
    "a whole tensor": (x, "one of its entries"),
}


@pytest.mark.parametrize("name", HINTS)
def test_a_refusal_says_what_to_write_instead(name: str) -> None:
    expression, hint = HINTS[name]
    with pytest.raises(ConversionError, match=hint):
        term(expression)


# ------------------------------------------------------------------ indices up to other indices

p, r = L.integer("p"), L.integer("r")


def pairs(entry: object, low: object, high: object) -> sp.Expr:
    return sp.Sum(sp.Sum(entry, (p, low, high)), (r, 0, n - 1))


WITHIN = {
    "below": pairs(x[p] * x[r], 0, r - 1),
    "up to": pairs(x[p] * x[r], 0, r),
    "above": pairs(x[p] * x[r], r + 1, n - 1),
    "backwards": pairs(x[r - p], 0, r),
    "shifted": pairs(x[p + 1], 0, r - 1),
}
BEYOND = {
    "one more": pairs(x[p + 1], 0, r),
    "one before": pairs(x[p - 1], 0, r),
    "twice": pairs(x[2 * p], 0, r),
    "up to twice": pairs(x[p], 0, 2 * r),
    "backwards, one more": pairs(x[r - p - 1], 0, r),
    "another size": pairs(y[p], 0, r),
}


@pytest.mark.parametrize("case", WITHIN)
def test_an_index_that_runs_up_to_another_fits(case: str) -> None:
    assert term(WITHIN[case]).op == "sum"


@pytest.mark.parametrize("case", BEYOND)
def test_an_index_that_runs_beyond_the_shape_is_refused(case: str) -> None:
    with pytest.raises(ConversionError, match="not known to fit"):
        term(BEYOND[case])


def test_the_refusal_names_the_range_as_it_is_written() -> None:
    with pytest.raises(ConversionError, match=r"the index p with range .*2\*r"):
        term(BEYOND["up to twice"])


# ------------------------------------------------------------------ bound indices


def test_renaming_a_bound_index_gives_the_same_term() -> None:
    assert term(L.total(x[i], i)) is term(L.total(x[j], j))


def test_a_free_index_is_not_the_bound_one_of_its_name() -> None:
    free_and_bound = term(x[i] * L.total(x[i], i))
    apart = term(x[i] * L.total(x[j], j))
    assert free_and_bound is apart
    assert not same(x[i] * L.total(x[i], i), L.total(x[i] ** 2, i))


def test_an_inner_index_shadows_the_outer_one_of_its_name() -> None:
    shadowed = sp.Sum(x[i] * sp.Sum(x[i], (i, 0, n - 1)), (i, 0, n - 1))
    assert same(shadowed, L.total(x[i], i) * L.total(x[j], j))


def test_shifted_bounds_are_shifted_back() -> None:
    z = sp.IndexedBase("z")
    s = sp.Symbol("s", integer=True)
    assert same(sp.Sum(z[s], (s, 1, n)), sp.Sum(z[s + 1], (s, 0, n - 1)))
    assert not same(sp.Sum(z[s], (s, 1, n)), sp.Sum(z[s], (s, 0, n - 1)))


def test_a_bound_that_depends_on_an_outer_index_stays_inside() -> None:
    z, s, t = sp.IndexedBase("z"), sp.Symbol("s", integer=True), sp.Symbol("t", integer=True)
    triangle = sp.Sum(z[t], (t, 0, s), (s, 0, n - 1))
    square = sp.Sum(z[t], (t, 0, n - 1), (s, 0, n - 1))
    assert not same(triangle, square)


def test_an_index_that_starts_elsewhere_is_shifted_back() -> None:
    q = sp.Idx("q", (1, n))
    c = Converter()
    assert c.formula(L.forall(q, L.less(q, n))) is c.formula(L.forall(i, L.less(i + 1, n)))
    assert c.formula(L.exists(q, L.equal(q, 0))) is c.formula(L.exists(i, L.equal(i + 1, 0)))
    assert same(L.total(q, q), L.total(i + 1, i))
    assert same(L.product(q, q), L.product(i + 1, i))


def test_a_quantified_tensor_is_the_one_of_the_gradient() -> None:
    def square(t: L.Tensor) -> object:
        return L.forall(t, L.GradientIs(L.total(t[j] ** 2, j), t, i, 2 * t[i]))

    p = Converter().formula(square(x))
    assert p is Converter().formula(square(L.tensor("w", n)))
    assert not T.free_symbols(p) & {"x", "w"}


def test_names_of_bound_variables_do_not_run_into_one_another() -> None:
    """x1 as the first bound name, and x as the eleventh, are two tensors."""
    first, second = L.tensor("x1", n), L.tensor("x", n)
    p: object = L.forall(second, L.equal(first[i], second[i]))
    for _ in range(9):
        p = L.forall(a, p)
    p = Converter().formula(L.forall(first, p))
    while p.op == "forall":
        p = p.children[-1]
    assert p.children[0] is not p.children[1]


# ------------------------------------------------------------------ division


def test_division_keeps_its_condition() -> None:
    p = Converter().formula(L.equal(L.over(a, a), 1))
    assert obligations(p) == (T.negate(T.eq(T.var("a"), T.ZERO)),)


def test_a_size_needs_no_condition() -> None:
    assert obligations(Converter().formula(L.equal(L.over(d, d), 1))) == ()


def test_a_condition_under_a_sum_is_closed_over_the_index() -> None:
    (o,) = obligations(Converter().formula(L.equal(L.total(1 / x[i], i), a)))
    assert o.op == "forall"
    assert o.children[1].op == "not"


@pytest.mark.parametrize(
    "expression",
    [
        sp.log(a),
        sp.sqrt(a),
        a**b,
        sp.Mod(n, a, evaluate=False),
        L.over(1, a),
        a ** sp.Rational(-3, 2),
    ],
)
def test_partial_operations_have_an_obligation(expression: sp.Expr) -> None:
    assert obligations(Converter().formula(L.equal(expression, b)))


def test_a_premise_guards_what_it_implies() -> None:
    p = Converter().formula(L.implies(L.negation(L.equal(a, 0)), L.equal(L.over(a, a), 1)))
    (o,) = obligations(p)
    assert o.op == "imp"


# ------------------------------------------------------------------ sorts and signs


def test_sorts_follow_the_assumptions() -> None:
    assert term(d).data == ("d", "dim", False)
    assert term(L.natural("l")).data == ("l", "nat", False)
    assert term(L.integer("q")).data == ("q", "int", False)
    assert term(a).data == ("a", "real", False)


def test_a_positive_symbol_declares_its_hypothesis() -> None:
    c = Converter()
    x0 = c.term(L.positive("x0"))
    assert list(c.declared) == [T.lt(T.ZERO, x0)]


def test_exact_numbers_stay_exact() -> None:
    assert term(sp.Rational(1, 3)) is T.num(Fraction(1, 3))
    assert term(2 ** sp.Integer(-99)) is T.num(Fraction(1, 2**99))


# ------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("expression", "named"),
    [
        (sp.Float(0.5), "0.5"),
        (sp.Symbol("u"), "u"),
        (sp.Symbol("u", complex=True), "u"),
        (sp.Symbol("u", negative=True), "u"),
        (a + sp.I, "I"),
        (a + sp.gamma(b), "gamma(b)"),
        (a * sp.Piecewise((1, a > 0), (0, True)), "Piecewise"),
        (sp.Integral(a, (a, 0, 1)), "Integral"),
        (sp.zoo, "zoo"),
        (sp.nan, "nan"),
        (sp.oo, "oo"),
        (sp.Derivative(sp.Function("g")(a), a), "Derivative"),
        (sp.MatrixSymbol("Q", 2, 2), "Q"),
        (sp.Symbol("u", commutative=False), "u"),
        (L.tensor("w", n)[k], "w[k]"),
        (L.tensor("w", n, m)[i, j], "w[i, j]"),
        (L.tensor("w", n)[i + 1], "w[i + 1]"),
        (L.tensor("w", n)[d], "w[d]"),
        (sp.Symbol("u", integer=True, negative=True), "u"),
        (sp.Symbol("u", integer=True, nonzero=True), "u"),
        (sp.Symbol("u", even=True), "u"),
        (sp.Symbol("u", prime=True), "u"),
        (sp.Symbol("u", zero=True), "u"),
        (sp.Symbol("u", rational=True), "u"),
        (sp.IndexedBase("w", shape=(n,), positive=True)[i], "w"),
        (sp.Function("g", positive=True)(a), "g"),
        (sp.KroneckerDelta(i, j, (1, 2)), "(1, 2)"),
        (sp.Idx("q"), "q"),
        (sp.Idx("q", (1, n)), "q"),
        (L.Determinant(2, sp.Idx("q", (1, 2)), L.index("r", 2), a), "q"),
        (L.Determinant(3, L.index("q", 2), L.index("r", 3), a), "q"),
        (sp.Sum(sp.Idx("i", m), (i, 0, n - 1)), "i"),
        (sp.Sum(sp.Max(1, d), (d, 0, 3)), "d"),
        (sp.Sum(a, (sp.Symbol("u", even=True), 0, 3)), "u"),
        (L.real("_1"), "_1"),
        (L.real("%1"), "%1"),
        (L.index("_1", n), "_1"),
        (L.tensor("_1", n)[i], "_1"),
        (sp.Function("_1")(a), "_1"),
        (L.VectorFunction("_1", n)(x)[()], "_1"),
    ],
)
def test_what_is_not_understood_is_refused_by_name(expression: object, named: str) -> None:
    with pytest.raises(ConversionError) as refusal:
        term(expression)
    assert named in str(refusal.value)


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        (L.forall(sp.Symbol("u", negative=True), L.less(a, 0)), "u"),
        (L.exists(sp.Symbol("u", real=True, nonzero=True), L.less(a, 0)), "u"),
        (L.forall(sp.Symbol("u", even=True), L.less(a, 0)), "u"),
        (L.forall(sp.Idx("q"), L.less(a, 0)), "q"),
        (L.forall(sp.IndexedBase("w"), L.less(a, 0)), "w"),
        (L.forall(L.random_tensor("w", n), L.less(a, 0)), "w"),
        (L.GradientIs(a, sp.IndexedBase("w"), i, 0), "w"),
        (L.GradientIs(a, L.random_tensor("w", n), i, 0), "w"),
        (L.GradientIs(a, x, k, 0), "k"),
        (L.GradientIs(a, x, sp.Idx("q", (1, n)), 0), "q"),
        (L.GradientIs(L.tensor("x", m)[k], x, i, 0), "x"),
        (L.GradientIs(a, x, (i, j), 0), "x needs 2 indices"),
        (L.GradientIs(a, L.tensor("w", n, m), i, 0), "w needs one index"),
        (L.GradientIs(a, L.tensor("w", n, m), (k, i), 0), "k"),
        (L.GradientIs(a, L.tensor("w", n, n), (i, i), 0), "w"),
    ],
)
def test_a_variable_that_is_not_understood_is_refused_by_name(
    statement: object, named: str
) -> None:
    with pytest.raises(ConversionError) as refusal:
        Converter().formula(statement)
    assert named in str(refusal.value)


@pytest.mark.parametrize("statement", [sp.true, sp.false, sp.Eq(a / a, 1), a, sp.Symbol("P")])
def test_what_is_no_statement_is_refused(statement: object) -> None:
    with pytest.raises(ConversionError):
        Converter().formula(statement)


def test_a_statement_evaluated_too_early_is_explained() -> None:
    with pytest.raises(ConversionError, match="SymPy evaluated it"):
        Converter().formula(sp.Eq(sp.sqrt(d) * sp.sqrt(1 / d), 1))


def test_one_name_is_one_symbol() -> None:
    c = Converter()
    c.term(sp.Symbol("u", real=True))
    with pytest.raises(ConversionError, match="two different symbols are called u"):
        c.term(sp.Symbol("u", positive=True))


def test_one_name_is_one_tensor() -> None:
    c = Converter()
    c.term(L.tensor("w", n)[i])
    with pytest.raises(ConversionError, match="w is declared twice"):
        c.term(L.tensor("w", m)[k])


def test_a_shape_error_names_both_sizes() -> None:
    with pytest.raises(ConversionError, match=r"size n.*range m"):
        term(x[k])


def test_a_random_and_a_fixed_tensor_of_one_name_are_refused() -> None:
    c = Converter()
    c.term(L.Expectation(L.random_tensor("q", n)[i]))
    with pytest.raises(ConversionError, match="q is declared twice"):
        c.term(L.tensor("q", n)[i])


@pytest.mark.parametrize(
    "build",
    [
        lambda t: L.plus(t, 1), lambda t: L.times(t, 1), lambda t: L.power(t, 2),
        lambda t: L.power(a, t), lambda t: L.over(1, t), lambda t: L.minus(a, t),
        lambda t: L.equal(t, 1), lambda t: L.at_most(1, t), lambda t: L.less(t, a),
        lambda t: L.call(sp.sin, t), lambda t: L.Expectation(t), lambda t: L.IsInteger(t),
        lambda t: L.VectorFunction("f", n, n)(x)[t], lambda t: L.VectorFunction("f", t),
        lambda t: L.VectorFunction("f", n)(lambda _: t)[()], term,
    ],
)  # fmt: skip
def test_text_is_never_run(build: Callable[[str], object], tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    with pytest.raises((TypeError, ConversionError)):
        build(f"open({str(mark)!r}, 'w')")
    assert not mark.exists()


def test_a_function_of_vectors_has_one_size_and_one_shape() -> None:
    """It is printed without them, so two of one name would look like one."""
    long, short = L.tensor("u", n), L.tensor("v", m)
    other = L.VectorFunction("f", m, n)
    one = L.VectorFunction("f", n, n)
    k = L.index("k", n)
    same = Converter()
    same.formula(L.equal(one(long)[k], one.partial(long)[k, k]))
    for wrong in (other(short)[k], L.VectorFunction("f", n)(long)[()], L.tensor("f", n)[k]):
        with pytest.raises(ConversionError, match="f is declared twice"):
            Converter().formula(L.equal(one(long)[k], wrong))


def test_a_sum_is_the_one_that_sympy_makes():
    for body, limits in (
        (x[i] ** 2, [i]), (x[i] * y[k], [k, i]), (3, [i]), (x[j] * L.total(x[i], i), [j]),
        (L.total(x[i] * y[k], i), [k]), (sp.sin(L.total(x[i], i)), [j]),
    ):  # fmt: skip
        made = L.total(body, *limits)
        assert made == sp.Sum(body, *((k, k.lower, k.upper) for k in reversed(limits)))
        assert made.free_symbols == sp.Sum(*made.args).free_symbols
        assert made.is_commutative
    with pytest.raises(TypeError, match="text is not read"):
        L.total("x", i)


def test_an_entry_has_as_many_indices_as_the_tensor():
    matrix = L.tensor("A", n, m)
    assert matrix[i, k] == matrix[(i, k)]
    for wrong in (i, (i,), (i, k, i)):
        with pytest.raises(
            ValueError, match=r"^A has the shape \(n, m\), which [13] indices do not"
        ):
            matrix[wrong]


# ------------------------------------------------------------------ shapes

f = L.VectorFunction("f", n, m)
W = L.tensor("W", n, d / m)
c = L.index("c", d / m)
FITTING = {
    "component": f(x)[k],
    "partial derivative": f.partial(x)[k, i],
    "size by polynomials": L.tensor("B", (n + 1) * m - m)[L.index("r", n) * m + k],
    "quotient": W[i, c],
    "all but the last": x[L.index("r", n - 1)],
    "the next one": x[L.index("r", n - 1) + 1],
    "backwards": x[n - 1 - i],
    "every second one": L.tensor("E", 2 * n)[2 * i + 1],
}
MISFITS = {
    "component": (lambda: f(x)[i], "axis 0 has size m, which the index i with range n"),
    "derivative by it": (lambda: f.partial(x)[k, k], "axis 1 has size n, which the index k"),
    "derivative of it": (lambda: f.partial(x)[i, i], "axis 0 has size m, which the index i"),
    "argument": (lambda: f(y)[k], "axis 0 has size m"),
    "one function, two shapes": (
        lambda: f(x)[k] + L.VectorFunction("f", n, d)(x)[L.index("e", d)],
        "f is declared twice",
    ),
    "the next one": (lambda: x[i + 1], "axis 0 has size n"),
    "the second next one": (lambda: x[L.index("r", n - 1) + 2], "axis 0 has size n"),
    "the one before": (lambda: x[L.index("r", n - 1) - 1], "axis 0 has size n"),
    "backwards": (lambda: x[n - i], "axis 0 has size n"),
    "every second one": (lambda: L.tensor("E", 2 * n)[2 * i + 2], r"axis 0 has size 2\*n"),
    "last index and more": (lambda: x[n], "axis 0 has size n, which the index n"),
    "quotient": (lambda: W[i, k], r"axis 1 has size d/m, which the index k with range m"),
    "inner sizes": (lambda: L.total(x[i] * y[i], i), "axis 0 has size m, which the index i"),
}


@pytest.mark.parametrize("case", FITTING)
def test_indices_that_fit(case: str) -> None:
    assert term(FITTING[case]).op == "app"


@pytest.mark.parametrize("case", MISFITS)
def test_indices_of_another_size_are_refused_with_both_sizes(case: str) -> None:
    made, message = MISFITS[case]
    with pytest.raises(ConversionError, match=message):
        term(made())


def test_a_quotient_as_a_size_carries_that_it_divides() -> None:
    assert obligations(T.eq(term(L.total(W[i, c], c)), T.ZERO)) == (T.isint(term(d / m)),)
