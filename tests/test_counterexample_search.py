"""The search for counterexamples and for inequalities: what it finds, and what it leaves alone."""

from fractions import Fraction

import pytest

from derive import inequalities
from derive.candidates import candidates, table
from derive.convert import Converter
from derive.counterexample import find
from derive.denials import closed, deny
from derive.kernel import terms as T
from derive.kernel.normal import Normaliser
from derive.kernel.rules import KernelError, infer
from derive.latex import value
from derive.prover import Prover
from derive.search import NotFound

n, m = T.var("n", "dim"), T.var("m", "dim")
x, y = T.var("x"), T.var("y")
i = T.var("i", "fin", n)


def vector(name, index):
    return T.apply(name, index)


# ---------------------------------------------------------------------- candidates


def test_indices_lie_in_the_range_that_the_sizes_give():
    goal = T.eq(vector("s", i), T.ZERO)
    for values in candidates(goal, 0):
        assert 0 <= values[i].data < values[n].data


def test_tensors_have_the_shape_in_which_they_are_used():
    goal = T.eq(T.total(n, T.total(m, T.apply("A", T.bound(1), T.bound(0)))), T.ZERO)
    for values in candidates(goal, 0):
        rows, columns = (min(int(values[s].data), 4) for s in (n, m))
        text = value(values["A"])
        assert text.count("[") == rows + 1
        assert text.count(",") == rows * columns - 1


def test_equal_and_signed_entries_are_among_the_candidates():
    goal = T.eq(T.total(n, vector("s", T.bound(0))), T.ZERO)
    seen = {value(v["s"]) for v in candidates(goal, 0) if v[n] is T.num(3)}
    assert {"[1, 1, 1]", "[1, -1, 1]", "[1, 0, 0]"} <= seen


def test_the_same_seed_gives_the_same_candidates():
    goal = T.eq(T.total(n, vector("s", T.bound(0))), T.mul(x, y))
    first, again = ([str(v) for v in candidates(goal, seed)] for seed in (5, 5))
    assert first == again


def test_no_values_where_something_is_random():
    goal = T.eq(T.expectation(T.apply("q", random=True)), T.ZERO)
    assert list(candidates(goal, 0)) == []
    assert find(goal) is None


def test_the_last_entry_of_a_table_is_kept():
    assert value(table([[1, 0], [0, 0]])) == "[[1, 0], [0, 0]]"
    assert value(table([0, 0, 0])) == "[0, 0, 0]"
    assert value(table([Fraction(1, 2), 0])) == "[1/2, 0]"


# ---------------------------------------------------------------------- denials


def root(q):
    return T.fn("sqrt", T.num(q))


DENIED = [
    T.le(T.num(3), T.fn("exp", T.ONE)),
    T.lt(T.num(Fraction(-1, 2)), T.neg(T.fn("exp", T.num(Fraction(-1, 3))))),
    T.disj(T.eq(T.ONE, T.ZERO), T.le(root(2), T.ONE)),
    T.eq(root(2), T.num(2)),
    T.eq(T.add(root(2), T.ONE), T.num(3)),
    T.le(T.num(2), root(2)),
    T.lt(T.num(2), root(3)),
    T.eq(T.fn("log", T.num(2)), T.ZERO),
    T.eq(T.fn("exp", T.ONE), T.fn("exp", T.num(2))),
    T.eq(T.mul(T.num(3), T.fn("log", T.num(2))), T.ZERO),
    T.conj(T.eq(T.ONE, T.ONE), T.eq(root(2), T.ONE)),
    T.forall(x, T.eq(T.power(x, 2), x)),
    T.forall(T.var("k", "nat"), T.le(T.ONE, T.var("k", "nat"))),
    T.implies(T.negate(T.eq(root(2), T.ONE)), T.eq(root(2), T.num(2))),
]
NOT_DENIED = [
    T.le(T.num(2), T.fn("exp", T.ONE)),
    T.lt(T.neg(T.fn("exp", T.num(Fraction(-1, 3)))), T.num(Fraction(-1, 2))),
    T.disj(T.eq(T.ONE, T.ZERO), T.le(T.ONE, root(2))),
    T.eq(root(4), T.num(2)),
    T.eq(T.mul(root(2), root(2)), T.num(2)),
    T.le(root(2), T.num(2)),
    T.forall(x, T.le(T.ZERO, T.power(x, 2))),
    T.forall(x, T.eq(T.fn("log", T.fn("exp", x)), x)),
    T.implies(T.eq(root(2), T.num(2)), T.eq(T.ONE, T.ZERO)),
    T.eq(T.fn("log", T.mul(T.num(2), T.num(3))), T.add(*(T.fn("log", T.num(k)) for k in (2, 3)))),
]


@pytest.mark.parametrize("formula", DENIED, ids=T.show)
def test_false_formulas_are_denied(formula):
    theorem = deny(formula)
    assert theorem.conclusion is T.negate(formula)
    assert not theorem.hypotheses


@pytest.mark.parametrize("formula", NOT_DENIED, ids=T.show)
def test_true_formulas_are_not_denied(formula):
    with pytest.raises(KernelError):
        deny(formula)


def test_what_is_closed_is_true():
    assert closed(T.negate(T.eq(root(2), T.ONE))).conclusion.op == "not"
    for false in DENIED:
        with pytest.raises(KernelError):
            closed(false)


# ---------------------------------------------------------------------- inequalities


def prover(*hypotheses):
    return Prover(Converter(), hypotheses)


FOUND = [
    ([T.le(x, y)], T.le(T.mul(T.num(2), x), T.mul(T.num(2), y))),
    ([T.le(T.ZERO, x), T.le(x, y)], T.le(T.power(x, 2), T.power(y, 2))),
    ([T.lt(T.ZERO, x), T.lt(T.ZERO, y), T.lt(x, y)], T.lt(T.inv(y), T.inv(x))),
    ([], T.le(T.mul(T.num(2), x, y), T.add(T.power(x, 2), T.power(y, 2)))),
    ([], T.le(T.fn("floor", x), x)),
    ([T.le(T.num(3), x)], T.lt(T.num(2), x)),
    ([], T.le(T.ONE, n)),
]
MISSED = [
    ([T.le(x, y)], T.lt(x, y)),
    ([T.le(x, y)], T.le(T.power(x, 2), T.power(y, 2))),
    ([T.lt(x, y)], T.lt(T.inv(y), T.inv(x))),
    ([], T.lt(T.mul(T.num(2), x, y), T.add(T.power(x, 2), T.power(y, 2)))),
    ([], T.lt(T.fn("floor", x), x)),
    ([], T.le(T.num(2), n)),
    ([], T.le(x, T.power(x, 2))),
]


@pytest.mark.parametrize(("hypotheses", "goal"), FOUND)
def test_combinations_are_found(hypotheses, goal):
    theorem = inequalities.prove(prover(*hypotheses), goal)
    assert theorem.conclusion is goal
    assert theorem.hypotheses <= set(hypotheses)


@pytest.mark.parametrize(("hypotheses", "goal"), MISSED)
def test_false_inequalities_are_not_found(hypotheses, goal):
    with pytest.raises((NotFound, KernelError)):
        inequalities.prove(prover(*hypotheses), goal)


def test_linear_programming():
    poly = Normaliser().poly
    a, b = poly(x), poly(y)
    both = poly(T.add(x, T.mul(T.num(3), y), T.ONE))
    assert inequalities.combination(both, [a, b]) == [1, 3]
    assert inequalities.combination(poly(T.sub(x, y)), [a, b]) is None
    assert inequalities.combination(poly(T.sub(x, T.ONE)), [a]) is None
    assert inequalities.combination({}, [a, b]) == [0, 0]
    assert infer("decide", [], T.le(T.ZERO, T.ONE)).conclusion.op == "le"
