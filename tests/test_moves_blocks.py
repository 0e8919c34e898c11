"""Sums and statements over blocks: what the moves prove, and what they refuse."""

from __future__ import annotations

import pytest

from derive import language as L
from derive.convert import Converter
from derive.kernel import terms as T
from derive.kernel.terms import KernelError, Term
from derive.prover import Prover
from derive.search import NotFound

d, r = L.dims("d r")
a, i = L.index("a", d), L.index("i", r)
x = L.tensor("x", d)
TWICE = L.equal(d, 2 * r)


def prover(*hypotheses: object) -> Prover:
    converter = Converter()
    return Prover(converter, [converter.formula(h) for h in hypotheses])


def test_a_sum_over_pairs() -> None:
    p = prover(TWICE)
    theorem = p.blocks(L.total(x[a], a), r, 2, p.hyp(0))
    assert theorem.hypotheses == {p.formula(TWICE)}
    left, right = theorem.conclusion.children
    assert left is p.term(L.total(x[a], a))
    entries = T.add(*(T.apply("x", T.add(T.mul(T.num(2), p.term(i)), T.num(c))) for c in (0, 1)))
    p.equal(right, T.sum_over(p.term(i), entries), show=False)
    with pytest.raises(NotFound):
        p.equal(right, T.sum_over(p.term(i), entries.children[0]), show=False)


@pytest.mark.parametrize("size", [L.equal(d, 3 * r), L.equal(d, 2 * r + 1), L.equal(r, 2 * d)])
def test_another_size_is_refused(size: object) -> None:
    p = prover(size)
    with pytest.raises((NotFound, KernelError)):
        p.blocks(L.total(x[a], a), r, 2, p.hyp(0))


def parity_is_small(p: Prover, goal: Term) -> None:
    def case(_at: Term, _column: int, wanted: Term) -> object:
        return p.order(wanted)

    theorem = p.each_block(goal, r, 2, case, p.hyp(0))
    assert theorem.conclusion is goal


def test_a_statement_about_either_parity() -> None:
    p = prover(TWICE)
    remainder = T.fn("mod", p.term(a), T.num(2))
    parity_is_small(p, T.forall(p.term(a), T.le(remainder, T.ONE)))


def test_a_case_that_fails_is_not_passed_over() -> None:
    p = prover(TWICE)
    remainder = T.fn("mod", p.term(a), T.num(2))
    with pytest.raises(KernelError):
        parity_is_small(p, T.forall(p.term(a), T.le(remainder, T.ZERO)))


def test_every_column_has_to_be_shown() -> None:
    p = prover(TWICE)
    first = p.formula(L.forall(a, L.equal(x[a], x[a])))

    def only_the_first(_at: Term, _column: int, _wanted: Term) -> object:
        return p.equal(1, 1, show=False)

    with pytest.raises(KernelError):
        p.each_block(first, r, 2, only_the_first, p.hyp(0))
