"""Normal forms are computed once and handed out to everyone: nobody may change one."""

import pytest

from derive.kernel import terms as T
from derive.kernel.normal import UNIT, Normaliser, Sign
from derive.kernel.rules import KernelError, infer

x = T.var("x")
QUOTIENT = T.mul(x, T.inv(x))


def test_a_normal_form_cannot_be_changed():
    bound = T.total(T.var("n", "dim"), T.apply("s", T.bound(0)))
    for t in (T.add(x, T.ONE), QUOTIENT, bound, T.var("%f0", "fin", T.var("n", "dim"))):
        p = Normaliser().poly(t)
        for change in (lambda q: q.pop(UNIT), lambda q: q.clear(), lambda q: q.update({})):
            with pytest.raises(AttributeError):
                change(p)
        with pytest.raises(TypeError):
            p[UNIT] = 1
    with pytest.raises(KernelError):
        infer("decide", [], T.eq(T.add(x, T.ONE), x))


def test_facts_put_into_a_normaliser_do_not_reach_the_others():
    careless = Normaliser()
    careless.signs[x] = Sign.POS
    careless.poly(QUOTIENT)
    with pytest.raises(KernelError):
        infer("decide", [], T.eq(QUOTIENT, T.ONE))
    assert Normaliser().poly(QUOTIENT) != Normaliser().poly(T.ONE)
