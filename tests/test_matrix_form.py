"""Index sums in matrix form: what is shown, what must not be, and that a wrong form is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import sympy as sp

from derive import latex, plain_math
from derive.convert import Converter
from derive.kernel import terms as T
from derive.kernel.terms import Term
from derive.language import (
    GradientIs,
    VectorFunction,
    at_most,
    both,
    dims,
    equal,
    exists,
    forall,
    iff,
    implies,
    index,
    norm,
    over,
    tensor,
    total,
)
from derive.matrix_form import formulas, matrix_latex
from derive.matrix_form.forms import Form, NoForm, entry
from derive.matrix_form.recognising import Reader

n, m, d, h = dims("n m d h")
t, s, u = index("t", n), index("s", m), index("u", m)
a, b, c = index("a", d), index("b", d), index("c", d)
A, B, V = tensor("A", n, m), tensor("B", n, m), tensor("V", m, d)
W, J = tensor("W", d, d), tensor("J", d, d)
x, y, g, z = tensor("x", d), tensor("y", d), tensor("g", d), tensor("z", m)
O, K = tensor("O", n, d), tensor("K'", n, d)
delta = sp.KroneckerDelta
f = VectorFunction("f", d, d)


def soft(body: Callable[[Any], Any], at: Any) -> Any:
    return over(sp.exp(body(at)), total(sp.exp(body(u)), u))


def shown(statement: Any, *given: Any) -> str:
    converter = Converter()
    hypotheses = [converter.formula(p) for p in given]
    formula = converter.formula(statement)
    text = matrix_latex(formula, latex.latex(formula), hypotheses, converter.shape_of)
    return plain_math.formula(text)


SHOWN = {
    "∃M: M x = y": exists(J, forall(a, equal(total(J[a, b] * x[b], b), y[a]))),
    "J Wᵀ + W Jᵀ = 0": forall(
        (a, c), equal(total(W[a, b] * J[c, b] + J[a, b] * W[c, b], b), 0)
    ),
    "d 𝟏ᵀ x = 1": equal(total(x[b], a, b), 1),
    "O = A V": forall(t, forall(a, equal(O[t, a], total(A[t, s] * V[s, a], s)))),
    "Aᵀ O = V": forall(s, forall(a, equal(total(A[t, s] * O[t, a], t), V[s, a]))),
    "W x = y": forall(a, equal(total(W[a, b] * x[b], b), y[a])),
    "(K′)ᵀ K′ = J": forall(a, forall(b, equal(total(K[t, a] * K[t, b], t), J[a, b]))),
    "Wᵀ x = y": forall(a, equal(total(W[b, a] * x[b], b), y[a])),
    "xᵀ y = 0": equal(total(x[a] * y[a], a), 0),
    "‖x‖² = 1": equal(total(x[a] ** 2, a), 1),
    "‖x‖² ≤ xᵀ y": at_most(
        sp.sqrt(total(x[a] ** 2, a)) ** 2, total(x[a] * y[a], a)
    ),
    "tr(J) = 0": equal(total(J[a, a], a), 0),
    "⟨J, W⟩ = 0": equal(total(J[a, b] * W[a, b], a, b), 0),
    "⟨J, Wᵀ⟩ = 0": equal(total(J[a, b] * W[b, a], a, b), 0),
    "‖J‖_F² = 1": equal(total(J[a, b] ** 2, a, b), 1),
    "J = x xᵀ W": forall(a, forall(b, equal(J[a, b], total(x[a] * x[c] * W[c, b], c)))),
    "J diag(x) W = I": forall(
        a, forall(b, equal(total(J[a, c] * x[c] * W[c, b], c), delta(a, b)))
    ),
    "A 𝟏 = 𝟏": forall(t, equal(total(A[t, s], s), 1)),
    "Aᵀ 𝟏 = 𝟏": forall(s, equal(total(A[t, s], t), 1)),
    "(I + J) x = 0": forall(a, equal(total((delta(a, b) + J[a, b]) * x[b], b), 0)),
    "A V = softmax(B) V": forall(
        t,
        forall(
            a,
            equal(
                total(A[t, s] * V[s, a], s), total(soft(lambda k: B[t, k], s) * V[s, a], s)
            ),
        ),
    ),
    "softmax(z)ᵀ z = 0": equal(total(soft(lambda k: z[k], s) * z[s], s), 0),
    "∇_x[(f(x) + x)ᵀ g] = g + J_f(x)ᵀ g": GradientIs(
        total(g[b] * (x[b] + f(x)[b]), b), x, a, g[a] + total(g[b] * f.partial(x)[b, a], b)
    ),
    "(∂/∂x) [x + W x] = I + W": forall(
        a, GradientIs(total(W[a, b] * x[b], b) + x[a], x, c, delta(a, c) + W[a, c])
    ),
    "J W = I ⇔ W J = I": iff(
        forall(a, forall(b, equal(total(J[a, c] * W[c, b], c), delta(a, b)))),
        forall(a, forall(b, equal(total(W[a, c] * J[c, b], c), delta(a, b)))),
    ),
}  # fmt: skip


@pytest.mark.parametrize("expected", SHOWN)
def test_the_form_is_shown(expected: str) -> None:
    assert shown(SHOWN[expected]) == expected


def test_a_premise_of_several_parts_needs_no_parentheses() -> None:
    parts = both(forall(a, equal(x[a], 0)), forall(a, equal(total(W[a, b] * y[b], b), 0)))
    statement = implies(parts, forall(a, equal(total(J[a, b] * y[b], b), 0)))
    assert shown(statement) == "x = 0 ∧ W y = 0 ⇒ J y = 0"


def test_free_indices_are_those_of_the_entries() -> None:
    assert shown(equal(O[t, a], total(A[t, s] * V[s, a], s))) == "O = A V"


def test_an_index_of_a_hypothesis_is_not_free() -> None:
    at_t = shown(equal(total(A[t, s] * z[s], s), 0), equal(A[t, 0], 1))
    assert at_t == "zᵀ A_t = 0"


def test_an_index_of_a_premise_is_not_free() -> None:
    at_t = forall(t, implies(equal(A[t, 0], 1), equal(total(A[t, s] * z[s], s), 0)))
    assert shown(at_t) == "∀t < n: A_t0 = 1 ⇒ zᵀ A_t = 0"


def test_what_exists_may_depend_on_a_free_index() -> None:
    """For every row there is a matrix: that is not one matrix for all rows."""
    row = equal(total(J[a, b] * x[b], b), y[a])
    assert shown(exists(J, row)) == "∃M: xᵀ M_a = y_a"


def test_a_premise_is_not_made_stronger() -> None:
    """Its free index stands for one row, also where the conclusion says nothing of it."""
    row = equal(total(A[t, s] * z[s], s), 0)
    all_rows = equal(total(W[a, b] * x[b], b), 0)
    assert shown(implies(row, all_rows)) == "zᵀ A_t = 0 ⇒ W x = 0"


def test_a_gradient_for_one_component_is_no_jacobian() -> None:
    row = GradientIs(total(W[a, b] * x[b], b), x, c, W[a, c])
    assert shown(row) == "(∂/∂x) [W x] = W"
    assert shown(row, equal(W[a, 0], 1)) == "∇_x[xᵀ W_a] = W_a"


def test_powers_of_one_base_are_put_together() -> None:
    k = sp.Symbol("k", real=True)
    twice = equal(over(over(total(x[a] * y[a], a), k), k), 0)
    assert shown(twice) == "xᵀ y/k² = 0"


def test_tensors_of_any_size_are_those_in_use() -> None:
    M = tensor("M", d, d)
    assert shown(forall(M, forall(a, equal(total(M[a, b] * x[b], b), y[a])))) == "∀M: M x = y"


few, double = index("i", n), index("k", 2 * d)
square, column = tensor("S", n + 1, n + 1), tensor("v", n + 1)
K, T3, q = tensor("K", 2 * d, d), tensor("T", d, d, d), tensor("q", 2 * d)

NOT_SHOWN = {
    "a part of an axis is summed": equal(total(column[few] * column[few], few), 0),
    "the columns that are summed are not all": forall(t, equal(total(square[t, few], few), 0)),
    "the rows of an equation are not all": forall(a, equal(total(K[a, b] * K[a, b], b), 1)),
    "a trace of a part": equal(total(square[few, few], few), 0),
    "an index of three matrices": forall(
        (a, b), equal(total(W[a, c] * J[b, c] * T3[c, a, b], c), 0)
    ),
    "exponentials of entries": forall(a, equal(total(sp.exp(W[a, b]), b), 1)),
    "softmax over a part": forall(
        t, equal(over(sp.exp(column[t]), total(sp.exp(column[few]), few)), column[t])
    ),
    "softmax of other scores": forall(
        (t, s), equal(A[t, s], over(sp.exp(B[t, s]), total(sp.exp(A[t, u]), u)))
    ),
    "columns and rows normalised": forall(
        (t, s), equal(A[t, s], over(sp.exp(B[t, s]), total(sp.exp(B[t, u] + 1), u)))
    ),
    "nothing is contracted": forall(a, equal(x[a], y[a])),
    "norms, which are shown as such": at_most(
        norm(lambda b: x[b] + y[b], d), norm(lambda b: x[b], d) + norm(lambda b: y[b], d)
    ),
    "a count": equal(total(sp.Integer(1), a, b), d**2),
    "both sides look the same": forall(
        a, equal(total(W[a, b] * x[b], b), total(x[b] * W[a, b], b))
    ),
    "a function of more components than arguments": equal(
        total(VectorFunction("F", d, 2 * d)(x)[double] * q[double], double), 0
    ),
    "a name that the identity has": forall(
        (a, b), equal(total(tensor("I", d, d)[a, c] * W[c, b], c), delta(a, b))
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NOT_SHOWN)
def test_nothing_is_shown(name: str) -> None:
    shown_instead = {"the rows of an equation are not all": "∀i < d: ‖K_i‖² = 1"}
    assert shown(NOT_SHOWN[name]) == shown_instead.get(name, "")


def test_a_sum_of_nothing_is_no_product() -> None:
    """None of a sequence is meant: the product with a vector would not tell how long that is."""

    def sums(size: Term) -> str:
        left, right = T.var("d", "dim"), size
        entries = (T.apply("t", T.bound(0)), T.apply("s", T.bound(0)))
        formula = T.le(T.total(left, entries[0]), T.total(right, entries[1]))
        return matrix_latex(formula, latex.latex(formula), [], lambda _: None)

    assert sums(T.var("m", "dim")) == r"\mathbf{1}^{\top}\,t \le \mathbf{1}^{\top}\,s"
    assert sums(T.ZERO) == r"\mathbf{1}^{\top}\,t \le \sum_{i=0}^{-1} s_{i}"


def test_the_rows_of_an_equation_that_are_not_all_stay_rows() -> None:
    assert shown(forall(a, equal(total(K[a, b] * x[b], b), y[a]))) == "∀i < d: xᵀ K_i = y_i"


def test_an_inequality_between_entries_stays_one_of_rows() -> None:
    rows = forall(a, at_most(total(W[a, b] * x[b], b), y[a]))
    assert shown(rows) == "∀i < d: xᵀ W_i ≤ y_i"


WRONG = {
    "transposed": lambda form: Form("transpose", (form,), None, form.cols, form.rows),
    "doubled": lambda form: Form("add", (form, form), None, form.rows, form.cols),
    "a part of a sum": lambda form: form.parts[0] if form.parts else form,
}


@pytest.mark.parametrize("mistake", WRONG)
def test_a_wrong_form_is_refused(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the reader makes of a term, it is shown only if its entries are the term."""
    made = Reader.matrix

    def wrong(self: Reader, term: Term, row: Any = None, col: Any = None) -> Form:
        form = made(self, term, row, col)
        return WRONG[mistake](form) if row is not None and form.op != "tensor" else form

    statement = forall((a, b), equal(total(W[a, c] * J[c, b], c), 2 * W[a, b] + J[a, b]))
    assert shown(statement) == "W J = J + 2W"
    monkeypatch.setattr(Reader, "matrix", wrong)
    formulas._matrix_latex.cache_clear()
    assert shown(statement) == ""
    formulas._matrix_latex.cache_clear()


def test_an_entry_needs_its_indices() -> None:
    with pytest.raises(NoForm, match="without its index"):
        entry(Form("identity", rows=T.var("d", "dim"), cols=T.var("d", "dim")))


def test_shapes_that_do_not_fit_are_refused() -> None:
    converter = Converter()
    term = converter.term(total(A[t, s] * V[s, a], s))
    row, col = converter.term(t), converter.term(a)
    shapes = {name: converter.shape_of(name) for name in ("A", "V")}
    assert Reader(shapes).matrix(term, row, col).op == "product"
    with pytest.raises(NoForm):
        Reader({**shapes, "A": (n, n)}).matrix(term, row, col)
