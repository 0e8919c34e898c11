"""What a statement has to show of itself to be well defined."""

from __future__ import annotations

import pytest
from kernel_symbols import ONE, TWO, ZERO, K, L, N, P, X

from derive.kernel import terms as T
from derive.kernel.check import required
from derive.kernel.domain import obligations
from derive.kernel.normal import Normaliser
from derive.kernel.rules import evaluate, infer
from derive.kernel.terms import KernelError, Term

BODY = P(T.bound(0))


@pytest.mark.parametrize("op", ["forall", "exists"])
@pytest.mark.parametrize(
    ("size", "wanted"),
    [
        (K, (T.le(ZERO, K),)),
        (X, (T.isint(X), T.le(ZERO, X))),
        (T.sub(N, TWO), (T.le(ZERO, T.sub(N, TWO)),)),
        (T.div(N, TWO), (T.isint(T.div(N, TWO)),)),
        (T.num(-1), (T.le(ZERO, T.num(-1)),)),
        (N, ()),
        (L, ()),
        (T.sub(N, ONE), ()),
    ],
    ids=str,
)
def test_a_quantified_index_has_a_natural_range(op: str, size: Term, wanted: tuple) -> None:
    assert obligations(T.quantified(op, "fin", BODY, size)) == wanted
    assert obligations(T.eq(T.total(size, T.bound(0)), ZERO)) == wanted


def test_a_range_below_a_quantifier_is_natural_for_every_index() -> None:
    inner = T.quantified("forall", "fin", BODY, T.sub(T.bound(0), TWO))
    (o,) = obligations(T.quantified("forall", "fin", inner, N))
    assert o is T.quantified("forall", "fin", T.le(ZERO, T.sub(T.bound(0), TWO)), N)


@pytest.mark.parametrize("op", ["sum", "prod", "forall"])
@pytest.mark.parametrize("size", [L, T.sub(N, ONE), ZERO])
def test_what_stands_under_an_empty_range_is_not_used(op: str, size: Term) -> None:
    match op:
        case "sum":
            p = T.le(ZERO, T.total(size, T.inv(X)))
        case "prod":
            p = T.le(ZERO, T.product(size, T.inv(X)))
        case _:
            p = T.quantified("forall", "fin", T.le(ZERO, T.inv(X)), size)
    nonzero = T.negate(T.eq(X, ZERO))
    assert obligations(p) == (T.quantified("forall", "fin", nonzero, size),)


def test_what_stands_under_a_range_with_an_element_is_used() -> None:
    assert obligations(T.le(ZERO, T.total(N, T.inv(X)))) == (T.negate(T.eq(X, ZERO)),)


def test_an_empty_sum_of_what_is_undefined_is_no_counterexample() -> None:
    goal = T.le(ZERO, T.total(L, T.inv(X)))
    values = {L: ZERO, X: ZERO}
    for wanted in required("counterexample", goal, values):
        with pytest.raises(KernelError):
            [infer("decide", [], p) for p in wanted]
    assert any(
        all(evaluate(p, Normaliser()) for p in wanted)
        for wanted in required("counterexample", goal, {L: ONE, X: ZERO})
    )
