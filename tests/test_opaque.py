"""Exponentials are replaced by tensors only where the equation holds for any numbers."""

import pytest

from derive import language as L
from derive import opaque, search
from derive.convert import Converter
from derive.kernel import terms as T
from derive.kernel.rules import infer

n, m = L.dims("n m")
i, j, u = L.index("i", n), L.index("j", m), L.index("u", m)
Q, K, A, G = L.tensor("Q", n, m), L.tensor("K", m, m), L.tensor("A", n, m), L.tensor("G", n, m)
c = L.index("c", m)


def exp(a, b):
    return L.call(L.sp.exp, L.total(Q[a, c] * K[b, c], c))


def weight(a, b):
    return L.over(exp(a, b), L.total(exp(a, u), u))


def term(x):
    return Converter().term(x)


def calls(monkeypatch):
    """The goals of the combinations that are looked for."""
    goals = []
    find = search._equation

    def seen(goal, using, facts):
        goals.append(goal)
        return find(goal, using, facts)

    monkeypatch.setattr(search, "_equation", seen)
    return goals


LEFT = L.total(G[i, j] * (weight(i, j) + 2 * weight(i, j)), i, j)
RIGHT = L.total(G[i, j] * (3 * weight(i, j)), i, j)


def test_the_theorem_is_about_the_exponentials(monkeypatch):
    goals = calls(monkeypatch)
    a, b = term(LEFT), term(RIGHT)
    theorem = search.equation(a, b)
    assert theorem.conclusion is T.eq(a, b)
    assert not theorem.hypotheses
    assert len(goals) == 1
    assert not any(t.op == "fn" for t in T.subterms(goals[0]))
    assert theorem.rule == "specialise"


def test_equations_that_are_used_are_about_them_too():
    converter = Converter()
    meaning = converter.formula(L.forall([i, j], L.equal(A[i, j], weight(i, j))))
    used = infer("assume", [], meaning)
    a = converter.term(L.total(G[i, j] * (weight(i, j) + 2 * weight(i, j)), i, j))
    b = converter.term(L.total(G[i, j] * 3 * A[i, j], i, j))
    theorem = search.equation(a, b, [used])
    assert theorem.conclusion is T.eq(a, b)
    assert theorem.hypotheses == {meaning}
    assert theorem.rule == "modus-ponens"
    with pytest.raises(search.NotFound):
        search.equation(a, b)


def test_what_takes_a_law_of_exponentials_is_proved_directly():
    def shifted(a, b):
        return L.call(L.sp.exp, L.plus(L.total(Q[a, c] * K[b, c], c), 1))

    e = L.call(L.sp.exp, 1)
    a = term(L.total(shifted(i, j) + shifted(i, j), i, j))
    b = term(L.total(e * (exp(i, j) + exp(i, j)), i, j))
    theorem = search.equation(a, b)
    assert theorem.conclusion is T.eq(a, b)
    assert theorem.rule == "linear-combination"
    assert "exp-add" in theorem.axioms


def test_what_is_false_stays_unproved():
    with pytest.raises(search.NotFound):
        search.equation(term(LEFT), term(L.total(G[i, j] * (2 * weight(i, j)), i, j)))
    other = L.total(G[i, j] * (weight(i, j) + 2 * weight(i, u)), i, j)
    with pytest.raises(search.NotFound):
        search.equation(term(other), term(RIGHT))


def test_names_of_tensors_are_not_taken_twice():
    taken = {"G": T.Lam(2, T.apply("_e0", T.bound(1), T.bound(0)))}
    a, b = (T.substitute(term(side), {}, taken) for side in (LEFT, RIGHT))
    theorem = search.equation(a, b)
    assert theorem.conclusion is T.eq(a, b)
    assert theorem.rule == "specialise"


def test_few_exponentials_are_left_alone():
    a = T.eq(term(exp(i, j) + exp(i, j)), term(2 * exp(i, j)))
    assert opaque.proved(a, [], lambda goal, using: pytest.fail("not worth while")) is None
