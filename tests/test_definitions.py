"""Premises that define a symbol give it a value in a search for counterexamples."""

from __future__ import annotations

import sympy as sp

from derive import language as L
from derive.convert import Converter
from derive.counterexample import find
from derive.definitions import (
    complete,
    defined_symbols,
    only_defines,
    spelled_out,
    without_first_value,
)
from derive.kernel import terms as T
from derive.kernel.check import at_values
from derive.kernel.normal import Normaliser
from derive.kernel.rules import infer
from derive.kernel.terms import Term

d, r = L.dims("d r")
x, y = L.real("x"), L.real("y")
i = L.index("i", r)
w = L.tensor("w", r)
F = sp.Function("F")
DOUBLE = L.equal(d, 2 * r)
WEIGHTS = L.forall(i, L.equal(w[i], L.over(1, 1 + i)))
EVEN = L.forall([x, i], L.equal(F(x, 2 * i), x * w[i]))
ODD = L.forall([x, i], L.equal(F(x, 2 * i + 1), x + i))


def goal(conclusion: object, *premises: object) -> Term:
    converter = Converter()
    out = converter.formula(conclusion)
    for p in reversed(premises):
        out = T.implies(converter.formula(p), out)
    return out


def test_values_follow_the_premises_in_their_order() -> None:
    g = goal(L.equal(F(x, d), y), DOUBLE, WEIGHTS, EVEN, ODD)
    assert defined_symbols(g) == {T.var("d", "dim"), "w", "F"}
    values = complete(g, {T.var("r", "dim"): T.num(3), T.var("x"): T.num(5), T.var("y"): T.num(0)})
    assert values[T.var("d", "dim")] is T.num(6)
    entries = [
        Normaliser().term(T.instantiate(values["F"].body, (T.num(5), T.num(a)))) for a in range(6)
    ]
    assert [str(e) for e in entries] == ["5", "5", "5/2", "6", "5/3", "7"]


def test_a_symbol_that_is_given_is_left_alone() -> None:
    g = goal(L.equal(d, r), DOUBLE)
    given = {T.var("r", "dim"): T.num(3), T.var("d", "dim"): T.num(5)}
    assert complete(g, given) == given


def test_a_circle_of_premises_defines_one_symbol_only() -> None:
    g = goal(L.equal(x, 1), L.equal(x, y + 1), L.equal(y, x - 1))
    assert defined_symbols(g) == {T.var("x")}


def test_what_is_not_an_entry_at_variables_defines_nothing() -> None:
    for premise in (
        L.forall(x, L.equal(F(x, x), x)),
        L.forall([x, i], L.equal(F(x, i * i), x)),
        L.forall([x, i], L.equal(F(x, 1), x + i)),
        L.forall(x, L.equal(F(x, 1), F(x, 0))),
    ):
        assert not defined_symbols(goal(L.equal(x, 1), premise))


def test_blocks_of_columns_are_taken_apart() -> None:
    """Column i k + c of C is column c of block i: with k = 3, column 5 is column 2 of block 1."""
    k = L.dim("k")
    c, B, C = L.index("c", k), L.tensor("B", r, k), L.tensor("C", r * k)
    blocks = L.forall([i, c], L.equal(C[i * k + c], B[i, c] + 10 * i))
    g = goal(L.equal(B[i, c], y), blocks)
    assert defined_symbols(g) == {"C"}
    sizes = {T.var("r", "dim"): T.num(2), T.var("k", "dim"): T.num(3)}
    values = complete(g, {**sizes, "B": T.Lam(2, T.bound(0))})
    entries = [Normaliser().term(T.instantiate(values["C"].body, (T.num(a),))) for a in range(6)]
    assert [str(e) for e in entries] == ["0", "1", "2", "10", "11", "12"]
    assert find(goal(L.equal(C[i * k + c], B[i, c] + 10 * i), blocks)) is None
    assert find(goal(L.equal(C[i * k + c], B[i, c]), blocks)) is not None
    turned = L.forall([i, c], L.equal(sp.IndexedBase("D", real=True)[c * r + c], i))
    assert not defined_symbols(goal(L.equal(x, 1), turned))


def test_the_search_refutes_under_defining_premises() -> None:
    g = goal(L.equal(F(x, 2 * i), F(x, 2 * i + 1)), DOUBLE, WEIGHTS, EVEN, ODD)
    found = find(g)
    assert found is not None
    values, (theorem, *_) = found
    assert theorem.conclusion is T.negate(at_values(g, values))


def test_the_search_does_not_refute_what_holds() -> None:
    assert find(goal(L.equal(F(x, 0) + i, F(x, 2 * i + 1)), WEIGHTS, EVEN, ODD)) is None


def test_premises_that_contradict_one_another_refute_nothing() -> None:
    again = L.forall([x, i], L.equal(F(x, 2 * i), x * w[i] + 1))
    assert find(goal(L.equal(F(x, 0), x + 7), EVEN, again)) is None


def test_angles_are_tried() -> None:
    found = find(goal(L.equal(sp.sin(x) ** 2, sp.sin(x))))
    assert found is not None
    assert infer("decide", [], T.negate(T.eq(T.fn("sin", found[0][T.var("x")]), T.ZERO)))


# ------------------------------------------------------------------ definitions and no more

N, k = L.natural("N"), L.index("k", d)
v, M = L.tensor("v", d), L.tensor("M", d, d)


def defines(p: object, *earlier: object) -> bool:
    converter = Converter()
    return only_defines(converter.formula(p), [converter.formula(q) for q in earlier])


def test_equations_that_only_define() -> None:
    assert defines(L.equal(y, x + 1))
    assert defines(L.equal(N, L.total(1, i)))
    assert defines(WEIGHTS)
    assert defines(EVEN)
    assert defines(L.forall([i, k], L.equal(L.tensor("A", r, d)[i, k], w[i] * v[k])), WEIGHTS)
    assert defines(L.equal(y, x + 1), L.less(0, x))


def test_equations_that_suppose_something() -> None:
    index = L.index("j", d)
    for p in (
        L.equal(x + 1, y),
        L.equal(y, 2 * y),
        L.less(y, x),
        L.both(L.equal(y, x), L.less(0, x)),
        L.implies(L.less(0, x), L.equal(y, x)),
        DOUBLE,  # only some sizes are even
        L.equal(N, x),  # not every number is a natural one
        L.equal(N, d - 2),
        L.equal(d, L.over(d, 2)),
        L.forall(i, L.equal(x, w[i])),  # one number for all
        L.forall(k, L.equal(M[k, k], 1)),
        L.forall([k, index], L.equal(v[k], M[k, index])),  # it makes the columns equal
        L.forall(k, L.equal(v[k], v[0])),
        L.forall(k, L.equal(M[k, 0], M[0, k])),
        L.forall(i, L.equal(F(F(x, 0), i), 1)),
        L.exists(x, L.equal(y, x)),
    ):
        assert not defines(p), p
    assert not defines(L.equal(y, x + 1), L.less(0, y))
    assert not defines(L.equal(y, x + 1), L.equal(y, x))
    assert not defines(ODD, EVEN)


def test_blocks_that_overlap_define_nothing() -> None:
    G, c, row = sp.Function("G"), L.index("c", 2), L.index("a", 3)
    left = L.index("b", 3 - row)
    assert defines(L.forall([N, c], L.equal(G(2 * N + c), c)))
    assert not defines(L.forall([x, c], L.equal(G(2 * x + c), c)))  # G(0) would be 0 and 1
    assert not defines(L.forall([row, left], L.equal(G(row * (3 - row) + left), row)))


# ---------------------------------------------------------------------------- recurrences

v = L.sequence("v")
l, t = L.natural("l"), L.natural("t")


def layers(value: object) -> object:
    return L.forall(l, L.equal(v[l + 1], value))


def entries(g: Term, **scalars: int) -> list[str]:
    values = complete(g, {T.var(name): T.num(q) for name, q in scalars.items()})
    body = values["v"].body
    return [str(Normaliser().term(T.instantiate(body, (T.num(k),)))) for k in range(4)]


def test_a_recurrence_gives_all_values_from_the_first() -> None:
    start = L.equal(v[0], 5)
    conclusion = L.equal(v[t], x)
    grown = goal(conclusion, start, layers(y * v[l]))
    assert "v" in defined_symbols(grown)
    assert entries(grown, y=-2) == ["5", "-10", "20", "-40"]
    assert entries(goal(conclusion, start, layers(v[l] + y)), y=3) == ["5", "8", "11", "14"]
    averaged = goal(conclusion, start, layers(y * v[l] + (1 - y) * x))
    assert entries(averaged, y=2, x=1) == ["5", "9", "17", "33"]
    assert entries(goal(conclusion, start, layers(y * v[l] + x)), y=0, x=7) == ["5", "7", "7", "7"]


def test_the_first_value_is_1_where_nothing_is_said_of_it() -> None:
    assert entries(goal(L.equal(v[t], x), layers(y * v[l])), y=3) == ["1", "3", "9", "27"]


def test_what_is_no_recurrence_with_numbers_gives_no_values() -> None:
    for value in (v[l] ** 2, l * v[l], v[l] + v[0], x * v[l] ** 2 + 1):
        values = complete(goal(L.equal(v[t], x), layers(value)), {T.var("x"): T.ONE})
        assert "v" not in values, value


def test_a_false_closed_form_is_refuted() -> None:
    g = goal(L.equal(v[t], x**t * v[0] + t), layers(x * v[l] + 1))
    found = find(g)
    assert found is not None
    values, roots = found
    assert roots[0].conclusion is T.negate(at_values(g, values))


def test_a_recurrence_leaves_the_first_value_open() -> None:
    v, l = L.sequence("v"), L.natural("l")
    step = L.forall(l, L.equal(v[l + 1], x * v[l] + 1))
    for premises, whole, open_start in (
        ((step,), set(), {"v"}),
        ((step, L.equal(v[1], 0)), set(), {"v"}),
        ((step, L.equal(v[0], y)), {"v"}, set()),
        ((L.equal(v[0], y),), set(), set()),
        ((L.forall(l, L.equal(v[l], y)),), {"v"}, set()),
    ):
        g = goal(L.equal(v[2], 1), *premises)
        assert (spelled_out(g), without_first_value(g)) == (whole, open_start)
