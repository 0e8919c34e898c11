"""Shapes of tensors with symbolic sizes."""

from __future__ import annotations

import pytest

from derive.kernel import shapes as S
from derive.kernel import terms as T
from derive.kernel.shapes import Judgement, ShapeError

N, M, D, H, DK, DV, FF = (T.var(s, "dim") for s in ("n", "m", "d_model", "h", "d_k", "d_v", "d_ff"))
L, R = T.var("l", "nat"), T.var("r")
TWO = T.num(2)


def no_duty(j: Judgement, *sizes: T.Term) -> None:
    assert S.same(j.shape, sizes), (j, sizes)
    assert j.obligations == ()


def mismatch(call, *words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ShapeError) as caught:
        call()
    for w in words:
        assert w in str(caught.value)


def test_declared_shapes() -> None:
    no_duty(S.shape(N, D), N, D)
    no_duty(S.shape(), *())
    assert S.shape(R).obligations == (T.isint(R), T.le(T.ZERO, R))
    assert S.shape(T.div(D, H)).obligations == (T.isint(T.div(D, H)),)
    assert S.shape(T.sub(N, M)).obligations == (T.le(T.ZERO, T.sub(N, M)),)
    no_duty(S.shape(T.sub(N, T.ONE)), T.sub(N, T.ONE))


def test_matmul() -> None:
    no_duty(S.matmul((N, D), (D, DK)), N, DK)
    no_duty(S.matmul((H, N, D), (H, D, DK)), H, N, DK)
    no_duty(S.matmul((N, T.mul(H, DV)), (T.mul(DV, H), D)), N, D)
    mismatch(lambda: S.matmul((N, DK), (D, M)), "(n, d_k)", "(d_model, m)", "size d_k", "d_model")
    mismatch(lambda: S.matmul((N, T.mul(H, DV)), (D, D)), "(n, (h*d_v))", "(d_model, d_model)")
    mismatch(lambda: S.matmul((H, N, D), (M, D, DK)), "axis 0", "size h", "size m")
    mismatch(lambda: S.matmul((N, D), (D,)), "not matrices")
    mismatch(lambda: S.matmul((N, D), (H, D, DK)), "one rank")
    mismatch(lambda: S.matmul((), ()), "not matrices")


def test_add_has_no_broadcasting() -> None:
    no_duty(S.add((N, D), (N, D)), N, D)
    no_duty(S.add((T.mul(TWO, N),), (T.add(N, N),)), T.mul(TWO, N))
    mismatch(lambda: S.add((N, D), (N, DV)), "(n, d_model)", "(n, d_v)", "size d_v", "axis 1")
    mismatch(lambda: S.add((N, D), (D,)), "2 axes", "1")
    mismatch(lambda: S.add((N, D), (T.ONE, D)), "size 1")
    mismatch(lambda: S.add((N, D), (D, N)), "axis 0")


def test_transpose() -> None:
    no_duty(S.transpose((N, D)), D, N)
    no_duty(S.transpose((H, N, D)), H, D, N)
    no_duty(S.transpose((H, N, D), (1, 0, 2)), N, H, D)
    mismatch(lambda: S.transpose((N,)), "fewer than two")
    mismatch(lambda: S.transpose((N, D), (0, 0)), "not an order")
    mismatch(lambda: S.transpose((N, D), (0,)), "not an order")
    mismatch(lambda: S.transpose((N, D), (0, 2)), "not an order")


def test_concatenate() -> None:
    no_duty(S.concatenate([(N, DV), (N, DV)], -1), N, T.mul(TWO, DV))
    no_duty(S.concatenate([(N, D), (M, D)], 0), T.add(M, N), D)
    no_duty(S.concatenate([(N,)], 0), N)
    mismatch(lambda: S.concatenate([(N, DV), (M, DV)], 1), "(n, d_v)", "(m, d_v)", "size m")
    mismatch(lambda: S.concatenate([(N, DV), (N,)], 0), "different ranks")
    mismatch(lambda: S.concatenate([(N, DV)], 2), "no axis 2")
    mismatch(lambda: S.concatenate([], 0), "nothing")


def test_heads_side_by_side() -> None:
    no_duty(S.repeat((N, DV), H, 1), N, T.mul(H, DV))
    whole = S.repeat((N, T.div(D, H)), H, 1)
    no_duty(whole, N, D)
    assert S.repeat((N, DV), R, 1).obligations == (T.isint(R), T.le(T.ZERO, R))
    mismatch(lambda: S.repeat((N,), H, 1), "no axis 1")


def test_split_asks_for_divisibility() -> None:
    j = S.split((N, D), 1, H)
    assert S.same(j.shape, (N, H, T.div(D, H)))
    assert j.obligations == (T.isint(T.div(D, H)),)
    no_duty(S.split((N, T.mul(H, DV)), 1, H), N, H, DV)
    no_duty(S.split((N, T.mul(TWO, D)), -1, TWO), N, TWO, D)
    odd = S.split((N, D), 1, TWO)
    assert odd.obligations == (T.isint(T.div(D, TWO)),)
    maybe_none = S.split((N, T.mul(L, D)), 1, L)
    assert T.negate(T.eq(L, T.ZERO)) in maybe_none.obligations
    assert T.isint(R) in S.split((N, D), 1, R).obligations
    mismatch(lambda: S.split((N, D), 2, H), "(n, d_model)", "no axis 2")
    mismatch(lambda: S.split((N, D), -3, H), "no axis -3")


def test_merge() -> None:
    no_duty(S.merge((N, H, DV), 1), N, T.mul(H, DV))
    no_duty(S.merge(S.split((N, D), 1, H).shape, 1), N, D)
    mismatch(lambda: S.merge((N, D), 1), "no axis after")
    mismatch(lambda: S.merge((), 0), "no axis 0")


def test_contract() -> None:
    no_duty(S.contract((N, D), 1, (D, DK), 0), N, DK)
    no_duty(S.contract((N, DK), 1, (M, DK), 1), N, M)
    no_duty(S.contract((D,), 0, (D,), 0))
    mismatch(lambda: S.contract((N, DK), 1, (M, DV), 1), "size d_k", "size d_v", "(n, d_k)")
    mismatch(lambda: S.contract((N,), 1, (N,), 0), "no axis 1")


def test_index() -> None:
    i, j = T.var("i", "fin", N), T.var("j", "fin", M)
    no_duty(S.index((N, D), 0, i), D)
    no_duty(S.index((N, D), 0, T.ZERO), D)
    assert S.index((N, D), 0, j).obligations != ()
    assert S.index((N, D), 0, N).obligations != ()
    assert S.index((N, D), 1, i).obligations != ()


def test_entries() -> None:
    assert S.entries((D, DK)) is S.entries((DK, D))
    assert S.entries(()) is T.ONE
    heads = T.mul(H, S.entries((D, DK)))
    assert S.same((heads,), (S.entries((D, T.mul(H, DK))),))
    assert not S.same((S.entries((D, FF)),), (S.entries((D, DK)),))
    assert S.same((S.entries((N, T.div(D, H), H)),), (T.mul(N, D),))


def test_multi_head_attention() -> None:
    """Every head maps n x d_model to n x d_v; side by side they are n x h d_v."""
    query = S.matmul((N, D), (D, DK)).shape
    key, value = S.matmul((M, D), (D, DK)).shape, S.matmul((M, D), (D, DV)).shape
    head = S.matmul(S.matmul(query, S.transpose(key).shape).shape, value)
    no_duty(head, N, DV)
    joined = S.repeat(head.shape, H, 1)
    no_duty(S.matmul(joined.shape, (T.mul(H, DV), D)), N, D)
    mismatch(lambda: S.matmul(joined.shape, (D, D)), "size d_model")
    mismatch(lambda: S.matmul(query, key), "size d_k", "size m")


def test_equal_numbers_are_not_needed_to_differ() -> None:
    """Sizes agree by their normal form, not by a name or a value."""
    assert S.same((T.mul(H, T.div(D, H)),), (D,))
    assert not S.same((D,), (T.mul(H, DV),))
    assert not S.same((N,), (N, T.ONE))
    assert S.show((N,)) == "(n,)"
    assert S.show((N, T.mul(H, DV))) == "(n, (h*d_v))"
