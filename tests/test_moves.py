"""Moves of proof scripts about sums, squares and gradients; sequences of tensors; print order."""

from __future__ import annotations

import pytest
import sympy as sp

from derive import auto
from derive.convert import ConversionError, Converter
from derive.kernel import terms as T
from derive.kernel.rules import Item, infer
from derive.kernel.terms import KernelError
from derive.language import (
    Differentiable,
    GradientIs,
    InOrder,
    VectorFunction,
    at_most,
    dim,
    equal,
    forall,
    index,
    integer,
    less,
    natural,
    norm,
    plus,
    power,
    real,
    sequence,
    tensor,
    times,
    total,
)
from derive.latex import latex
from derive.prover import Prover
from derive.search import NotFound, opposed

n = dim("n")
i, j = index("i", n), index("j", n)
x, y = tensor("x", n), tensor("y", n)
f = VectorFunction("f", n, n)
h = VectorFunction("h", n)


def prover(*hypotheses):
    converter = Converter()
    return Prover(converter, [converter.formula(p) for p in hypotheses])


def test_squares_and_their_sums():
    p = prover()
    for t in (x[i] ** 2, total((x[i] - y[i]) ** 2, i), total(x[i] ** 4, i), x[i] ** 2 + y[i] ** 2,
              total(times(x[i] ** 2, total((y[j] - x[i]) ** 2, j)), i)):  # fmt: skip
        theorem = p.nonneg(t)
        assert theorem.conclusion is T.le(T.ZERO, p.term(t))
        assert not theorem.hypotheses


@pytest.mark.parametrize("t", [x[i], -(x[i] ** 2), x[i] ** 3, total(x[i] * y[i], i), x[i] * y[i]])
def test_what_may_be_negative(t):
    with pytest.raises(KernelError):
        prover().nonneg(t)


def test_automatic_proofs_over_tensors():
    p = prover()
    goal = p.formula(forall(x, at_most(0, total((x[i] - y[i]) ** 2, i))))
    assert auto.prove(p, goal).conclusion is goal
    with pytest.raises((KernelError, NotFound)):
        auto.prove(p, p.formula(forall(x, at_most(0, total(x[i], i)))))


def test_automatic_proofs_index_by_index():
    p, k = prover(), index("k", 2)
    goal = p.formula(forall(k, equal(sp.KroneckerDelta(k, 0) * sp.KroneckerDelta(k, 1), 0)))
    assert auto.prove(p, goal).conclusion is goal
    with pytest.raises((KernelError, NotFound)):
        auto.prove(p, p.formula(forall(k, equal(sp.KroneckerDelta(k, 0), 1))))


def test_sums_of_both_sides():
    p = prover(forall(i, at_most(x[i], y[i])), forall(i, equal(x[i], y[i])))
    order, equality = p.hyp(0), p.hyp(1)
    summed = p.sum_order(order, i)
    assert summed.conclusion is p.formula(at_most(total(x[i], i), total(y[i], i)))
    assert p.sum_equal(equality, i).conclusion is p.formula(equal(total(x[i], i), total(y[i], i)))
    assert p.sum_order(p.at(order, j), j).conclusion is summed.conclusion
    with pytest.raises(KernelError):
        p.sum_equal(order, i)


def test_sums_of_both_sides_only_for_every_index():
    p = prover(at_most(x[i], y[i]))
    with pytest.raises(KernelError):
        p.sum_order(p.hyp(0), i)


def test_gradient_needs_its_conditions():
    goal = GradientIs(h(lambda k: plus(x[k], f(x)[k]))[()], x, j, 0)
    inner, outer = Differentiable(f(x)[i]), Differentiable(h(lambda k: plus(x[k], f(x)[k]))[()])
    theorem = prover(forall(i, inner), outer).gradient(goal)
    assert len(theorem.hypotheses) == 2
    for known in ((), (forall(i, inner),), (outer,), (inner, outer)):
        with pytest.raises(KernelError):
            prover(*known).gradient(goal)


def test_gradient_in_another_form():
    p = prover()
    goal = GradientIs(total(x[i] ** 2, i), x, j, times(2, x[j]))
    raw = p.gradient(goal)
    theorem = p.with_partial(raw, p.equal(p.partial(raw, j), times(2, x[j])), j)
    assert theorem.conclusion is p.formula(goal)
    wrong = p.equal(x[j], x[j])
    with pytest.raises(KernelError):
        p.with_partial(raw, wrong, j)


def test_gradient_by_a_matrix():
    """The bilinear form of x and y with the matrix W: entry (i, k) of its gradient is x_i y_k."""
    d = dim("d")
    k, l, W, z = index("k", d), index("l", d), tensor("W", n, d), tensor("z", d)
    form = total(times(x[i], W[i, k], z[k]), i, k)
    goal = GradientIs(form, W, (j, l), times(x[j], z[l]))
    p = prover()
    raw = p.gradient(goal)
    theorem = p.with_partial(raw, p.equal(p.partial(raw, j, l), times(x[j], z[l])), j, l)
    assert theorem.conclusion is p.formula(goal)
    assert theorem.conclusion is not p.formula(GradientIs(form, W, (j, l), times(z[l], x[j])))
    assert latex(theorem.conclusion).startswith(r"\frac{\partial}{\partial W_{t\,i}}")
    with pytest.raises((KernelError, NotFound)):
        p.equal(p.partial(raw, j, l), times(x[j], z[k]))
    turned = GradientIs(total(times(x[i], W[j, k], z[k]), i, k), W, (j, l), 0)
    assert p.gradient(turned).conclusion is not raw.conclusion


def test_gradient_at_a_point():
    p = prover()
    distance = total(plus(x[i], times(-1, y[i])) ** 2, i)
    goal = GradientIs(distance, x, j, 0, y[j])
    raw = p.gradient(goal)
    theorem = p.with_partial(raw, p.equal(p.partial(raw, j), 0), j)
    assert theorem.conclusion is p.formula(goal)
    assert theorem.conclusion is not p.formula(GradientIs(distance, x, j, 0))
    shown = latex(theorem.conclusion)
    assert r"\frac{\partial}{\partial v_" in shown
    assert "v_{s}-y_{s}" in shown
    assert r"\Big|_{v=y} = 0" in shown


def test_gradient_of_a_function_in_another_form():
    p = prover()
    squares, products = total(x[i] ** 2, i), total(times(x[i], x[i]), i)
    raw = p.gradient(GradientIs(squares, x, j, 0))
    same = p.for_all_tensors(p.equal(squares, products), x)
    theorem = p.with_function(raw, same)
    assert theorem.conclusion.children[1] is p.formula(GradientIs(products, x, j, 0)).children[1]
    assert theorem.conclusion.children[2:] == raw.conclusion.children[2:]
    with pytest.raises(KernelError):
        p.with_function(raw, p.for_all_tensors(p.equal(products, squares), x))


def test_gradient_at_the_variable_itself_prints_as_such():
    p = prover()
    square = p.formula(GradientIs(total(x[i] ** 2, i), x, j, times(2, x[j])))
    renamed = p.formula(GradientIs(total(y[i] ** 2, i), y, j, times(2, x[j]), x[j]))
    assert square is renamed
    assert latex(square).startswith(r"\frac{\partial}{\partial x_{t}}")
    assert r"\Big" not in latex(square)


def test_sequences_have_natural_indices():
    s, k, m = sequence("s", n), natural("k"), integer("m")
    converter = Converter()
    for good in (s[k, i], s[k + 1, i], s[0, i], s[i, i]):
        converter.term(good)
    for bad in (s[m, i], s[k - 1, i], s[-1, i], s[sp.Rational(1, 2), i], s[k, k], s[real("r"), i]):
        with pytest.raises(ConversionError):
            Converter().term(bad)


def test_sums_in_order():
    r = real("r")
    assert latex(Converter().term(InOrder(1, r))) == "1+r"
    assert Converter().term(InOrder(1, r)) is T.add(T.ONE, T.var("r"))
    assert Prover(Converter(), []).equal(InOrder(1, r), r + 1).conclusion.op == "eq"


def test_lengths_of_products_print_as_such():
    matrix = tensor("M", n, n)
    row = norm(lambda k: total(times(x[j], plus(sp.KroneckerDelta(j, k), matrix[j, k])), j), n)
    column = norm(lambda k: total(times(matrix[k, j], x[j]), j), n)
    neither = norm(lambda k: total(times(matrix[k, j], matrix[j, k]), j), n)
    assert latex(Converter().term(row)) == r"\left\lVert x\,(I+M) \right\rVert"
    assert latex(Converter().term(column)) == r"\left\lVert M\,x \right\rVert"
    assert r"\lVert" not in latex(Converter().term(neither))


def test_products_of_matrices_in_a_norm_are_all_of_one_kind():
    """A row times a column's matrix would look like a column times a row's."""
    M, N = tensor("M", n, n), tensor("N", n, n)

    def rowwise(entry, matrix, k):
        return lambda i: total(times(entry(k), matrix[k, i]), k)

    def columnwise(matrix, entry, k):
        return lambda i: total(times(matrix[i, k], entry(k)), k)

    def shown(entry):
        return latex(Converter().term(norm(entry, n)))

    k, l = index("k", n), index("l", n)
    assert shown(rowwise(rowwise(x.__getitem__, M, k), N, l)) == (
        r"\left\lVert x\,M\,N \right\rVert"
    )
    assert shown(columnwise(M, columnwise(N, x.__getitem__, k), l)) == (
        r"\left\lVert M\,N\,x \right\rVert"
    )
    mixed = (
        shown(rowwise(columnwise(M, x.__getitem__, k), N, l)),
        shown(columnwise(M, rowwise(x.__getitem__, N, k), l)),
        shown(lambda i: rowwise(x.__getitem__, M, k)(i) + columnwise(M, x.__getitem__, l)(i)),
    )
    assert not any(r"\lVert" in text for text in mixed)
    assert len(set(mixed)) == 3


def test_the_identity_is_not_printed_beside_another_i():
    k, M = index("k", n), tensor("M", n, n)
    with_identity = norm(lambda i: total(times(x[k], plus(sp.KroneckerDelta(k, i), M[k, i])), k), n)
    identity = r"\left\lVert x\,(I+M) \right\rVert"
    assert latex(Converter().term(with_identity)) == identity
    other = latex(Converter().formula(equal(with_identity, real("I"))))
    assert identity not in other
    assert r"\delta" in other


def test_a_rule_with_a_maximum_is_found_whatever_the_order_of_its_arguments():
    p = Prover(Converter(), [])
    part = p.assume(forall(i, equal(sp.Max(0, x[i]), sp.Max(0, -x[i]))))
    weighted = (total(times(y[i], sp.Max(0, side * x[i])), i) for side in (1, -1))
    assert p.equal(*weighted, part).hypotheses == part.hypotheses


def test_what_lies_below_and_not_below_is_absurd_however_long_it_is():
    p = Prover(Converter(), [])
    long = power(plus(x[i], x[j], n), 3)
    with p.supposing(less(n, long)) as below, p.supposing(at_most(long, n)) as back:
        found = p.order(less(0, 0), (1, below), (1, back))
        assert found.conclusion is T.lt(T.ZERO, T.ZERO)
        assert found.rule == "modus-ponens"  # without the normal form of the long side
        assert found.hypotheses == below.hypotheses | back.hypotheses
    a, b = T.var("a", "real"), T.var("b", "real")
    less_than, at_most_as = (infer("assume", [], q) for q in (T.lt(a, b), T.le(b, a)))
    wrong = infer("assume", [], T.le(a, b))
    each = [Item(((k, ()),), T.ONE) for k in range(2)]
    absurd = T.lt(T.ZERO, T.ZERO)
    assert opposed(absurd, [less_than, at_most_as], each) is not None
    assert opposed(T.lt(T.ZERO, T.ONE), [less_than, at_most_as], each) is None
    assert opposed(absurd, [at_most_as, less_than], each) is None
    assert opposed(absurd, [less_than, wrong], each) is None
    assert opposed(absurd, [less_than, at_most_as], [each[0], each[0]]) is None


@pytest.mark.parametrize("patient", [False, True])
def test_a_function_without_or_with_several_arguments_has_no_identity(patient):
    p = Prover(Converter(), [])
    p.patient = patient
    r, s = real("r"), real("s")
    for side in (sp.pi, sp.Max(r, s), times(sp.pi, sp.Mod(r, n))):
        with pytest.raises((NotFound, KernelError)):
            auto.prove(p, p.formula(equal(side, r)))
