"""Replacing terms as they stand: under sums, for all values of variables, and nowhere else."""

from __future__ import annotations

import pytest

from derive.convert import Converter
from derive.kernel import terms as T
from derive.kernel.terms import KernelError
from derive.language import (
    dims,
    equal,
    forall,
    implies,
    index,
    plus,
    real,
    relu,
    tensor,
    times,
    total,
)
from derive.prover import Prover

n, m = dims("n m")
i, j, k = index("i", n), index("j", n), index("k", m)
x, y, z = tensor("x", n), tensor("y", n), tensor("z", m)
u, v = real("u"), real("v")


def prover(*hypotheses):
    converter = Converter()
    return Prover(converter, [converter.formula(h) for h in hypotheses])


def test_a_rule_is_used_wherever_it_fits():
    p = prover(forall(i, equal(x[i], y[i])))
    theorem = p.replace(plus(x[j], total(times(x[i], relu(x[i])), i)), p.hyp(0))
    assert theorem.conclusion.children[1] is p.term(plus(y[j], total(times(y[i], relu(y[i])), i)))
    assert theorem.hypotheses == {p.hyp(0).conclusion}


def test_a_rule_about_numbers_takes_composite_terms():
    p = prover(forall([u, v], equal(times(u, v), plus(u, v))))
    theorem = p.replace(total(times(x[i], relu(x[i])), i), p.hyp(0))
    assert theorem.conclusion.children[1] is p.term(total(plus(x[i], relu(x[i])), i))


def test_what_was_replaced_is_not_looked_at_again():
    p = prover(forall(u, equal(relu(u), relu(relu(u)))))
    theorem = p.replace(relu(v), p.hyp(0))
    assert theorem.conclusion.children[1] is p.term(relu(relu(v)))


def test_rules_one_after_the_other():
    p = prover(equal(u, v), equal(v, 0))
    theorem = p.replace(relu(u), p.hyp(0), p.hyp(1))
    assert theorem.conclusion.children[1] is T.fn("max", T.ZERO, T.ZERO)


def test_where_nothing_fits_nothing_changes():
    p = prover(forall(i, equal(x[i], y[i])), forall(u, equal(relu(u), u)))
    for term in (total(z[k], k), times(y[j], 3), u):
        t = p.term(term)
        assert p.replace(t, p.hyp(0)).conclusion is T.eq(t, t)


def test_an_index_out_of_range_is_left_alone():
    """x[k] stands for an entry that the rule, about n entries, does not speak of."""
    p = prover(forall(i, equal(x[i], y[i])))
    outside = T.apply("x", p.term(k))
    assert p.replace(outside, p.hyp(0)).conclusion is T.eq(outside, outside)
    t = T.sum_over(p.term(k), T.mul(outside, p.term(z[k])))
    assert p.replace(t, p.hyp(0)).conclusion is T.eq(t, t)


def test_a_variable_that_the_left_side_does_not_fix():
    p = prover(forall([u, v], equal(relu(u), relu(v))))
    assert p.replace(relu(u), p.hyp(0)).conclusion is p.formula(equal(relu(u), relu(u)))


def test_only_equations_are_rules():
    p = prover(implies(equal(u, 0), equal(u, v)))
    with pytest.raises(KernelError, match="not an equation"):
        p.replace(relu(u), p.hyp(0))


def test_a_rule_about_an_index_of_the_sum_does_not_reach_into_it():
    """From x_i = y_i for one i, nothing follows for the summed index of that name."""
    p = prover(equal(x[i], y[i]))
    t = p.term(total(x[i], i))
    assert p.replace(t, p.hyp(0)).conclusion is T.eq(t, t)


def test_links():
    p = prover(equal(u, v), equal(v, x[i]), equal(x[j], 1))
    assert p.linked(p.hyp(0), p.hyp(1)).conclusion is p.formula(equal(u, x[i]))
    with pytest.raises(KernelError):
        p.linked(p.hyp(0), p.hyp(2))
