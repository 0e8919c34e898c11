"""What a statement has to show of itself to be well defined."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest
from exact_evaluation import Unsettled, World, is_zero, negative
from kernel_symbols import ONE, TWO, ZERO, K, L, N, P, X
from test_rules_random import Attack

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


class Undefined(Exception):
    """A partial operation is used outside its domain, or a range is not a natural number."""


class Strict(World):
    """Evaluates what is used, and knows no conventions."""

    def value(self, t: Term, env: tuple = (), outcome: int | None = None):
        out = super().value(t, env, outcome)
        if (t.op == "pow" and t.data < 0) or t.op == "fn":
            self.operation(t, [super(Strict, self).value(c, env, outcome) for c in t.children])
        if t.op in ("sum", "prod", "det", "app", "var"):
            count = {"sum": 1, "prod": 1, "det": 1, "var": 1, "app": len(t.children) - 1}[t.op]
            vector = t.op != "app" or t.data.arities
            self.ranges(t.children[:count] if vector else (), env)
        return out

    def operation(self, t: Term, args: list) -> None:
        x, name = args[0] if args else ONE, t.data
        if (t.op == "pow" and is_zero(x)) or (name == "mod" and is_zero(args[1])):
            raise Undefined(t)
        if (name == "sqrt" and negative(x)) or (name == "log" and (is_zero(x) or negative(x))):
            raise Undefined(t)
        if name == "rpow" and (is_zero(x) or negative(x)):
            y = args[1]
            if not isinstance(y, Fraction):
                raise Unsettled
            if (is_zero(x) and y < 0) or (negative(x) and y.denominator != 1):
                raise Undefined(t)

    def ranges(self, sizes: tuple[Term, ...], env: tuple) -> None:
        for size in sizes:
            n = self.value(size, env)
            if not isinstance(n, Fraction):
                raise Unsettled
            if n < 0 or n.denominator != 1:
                raise Undefined(size)

    def truth(self, p: Term, env: tuple = ()) -> bool:
        if p.op in ("and", "or"):
            for c in p.children:
                if self.truth(c, env) is (p.op == "or"):
                    return p.op == "or"
            return p.op == "and"
        if p.op in ("forall", "exists"):
            self.ranges(p.children[:1], env)
        return super().truth(p, env)


def _is_defined(p: Term, seed: int) -> bool:
    try:
        Strict(seed).truth(p)
    except Undefined:
        return False
    return True


def test_a_statement_is_defined_where_its_obligations_hold_and_nowhere_else() -> None:
    defined = undefined = 0
    for seed in range(700):
        p = Attack(Random(seed)).formula(3)
        if any(s.op == "E" for s in T.subterms(p)) or not obligations(p):
            continue
        for k in range(6):
            try:
                held = all(World(10 * seed + k).truth(o) for o in obligations(p))
                whole = _is_defined(p, 10 * seed + k)
            except Unsettled:
                continue
            assert whole is held, (seed, k, p)
            defined, undefined = defined + held, undefined + (not whole)
    assert min(defined, undefined) > 100
