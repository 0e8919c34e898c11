"""What a statement has to show of itself to be well defined."""

from __future__ import annotations

import pytest
from kernel_symbols import ONE, TWO, ZERO, K, L, N, P, X

from derive.kernel import terms as T
from derive.kernel.domain import obligations
from derive.kernel.terms import Term

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
