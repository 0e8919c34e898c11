"""The list of axioms is closed; each holds, and none without its side condition."""

from __future__ import annotations

from fractions import Fraction

import pytest
from exact_evaluation import MP, World, function
from kernel_symbols import ONE, RX, TWO, ZERO, B, K, N, X, Y, axiom, refused

from derive.kernel import terms as T
from derive.kernel.axioms import ARITHMETIC, AXIOMS, EVALUATIONS
from derive.kernel.terms import Term

HALF = T.num(Fraction(1, 2))
PLAIN = (ZERO, ONE, TWO, T.num(-1), T.num(-3), HALF, T.num(Fraction(-5, 2)))
MATRIX = B(T.bound(1), T.bound(0))
OTHER = T.apply("C", T.bound(1), T.bound(0))
SPECIAL = {
    "det-product": [(n, MATRIX, OTHER) for n in map(T.num, range(4))],
    "det-transpose": [(n, MATRIX) for n in map(T.num, range(4))],
    "det-identity": [(n,) for n in map(T.num, range(4))],
}


def arguments(name: str) -> list[tuple[Term, ...]]:
    if name in SPECIAL:
        return SPECIAL[name]
    if AXIOMS[name].arity == 1:
        return [(a,) for a in PLAIN]
    return [(a, b) for a in PLAIN for b in PLAIN]


def test_the_lists_are_closed() -> None:
    assert sorted(AXIOMS) == [
        "abs-nonneg", "abs-nonpos", "cos-add", "cos-one", "det-identity", "det-product",
        "det-transpose", "exp-increasing", "floor-lower", "floor-upper", "inverse", "log-product",
        "log-tangent", "max-left", "max-right", "min-left", "min-right", "pi-irrational",
        "pythagoras", "sin-add", "sin-lower", "sin-upper",
    ]  # fmt: skip
    assert sorted(EVALUATIONS) == [
        "abs-product", "abs-sign", "abs-square", "abs-value", "derivative-table", "exp-add",
        "exp-log", "exp-sign", "exp-zero", "expectation-linearity", "extremum-order",
        "extremum-sign", "extremum-value", "floor-integer", "floor-shift", "floor-sign",
        "floor-unit", "integer-power", "integer-value", "log-exp", "log-one", "pi-sign",
        "real-power", "remainder", "sqrt-product", "sqrt-rational", "sqrt-sign", "sqrt-square",
        "trig-parity", "trig-pi",
    ]  # fmt: skip
    assert sorted(ARITHMETIC) == [
        "congruence", "delta-replace", "delta-scale", "delta-sum", "delta-value", "integers",
        "inverse-power", "inverse-product", "ranges", "ring", "signs", "strict-signs",
        "sum-constant", "sum-exchange", "sum-linear", "sum-literal", "sum-product",
    ]  # fmt: skip


@pytest.mark.parametrize("name", sorted(AXIOMS))
def test_every_axiom_has_its_citation(name: str) -> None:
    schema = AXIOMS[name]
    assert schema.name == name
    assert schema.formula
    assert schema.citation
    instance = axiom(name, *arguments(name)[0])
    assert instance.axioms == {name}
    assert not instance.hypotheses
    conditional = instance.conclusion.op == "imp"
    assert bool(schema.condition) is conditional


@pytest.mark.parametrize("name", sorted(set(AXIOMS) - {"cos-one"}))
def test_every_instance_is_true(name: str) -> None:
    """The conclusion of cos-one, about all integers, has its own tests below."""
    for args in arguments(name):
        p = axiom(name, *args).conclusion
        for seed in range(3):
            world = World(seed)
            if p.op == "imp" and not world.truth(p.children[0]):
                continue
            assert world.truth(p), p


#: where the conclusion fails although the arguments are as close to the condition as they can be
BEYOND = {
    "inverse": (ZERO,),
    "cos-one": (T.PI,),
    "pi-irrational": (T.PI, ONE),
    "max-right": (ONE, ZERO),
    "max-left": (ZERO, ONE),
    "min-left": (ONE, ZERO),
    "min-right": (ZERO, ONE),
    "abs-nonneg": (T.num(-1),),
    "abs-nonpos": (ONE,),
    "log-product": (T.num(-1), T.num(-2)),
    "log-tangent": (ZERO,),
    "exp-increasing": (ONE, ONE),
    "sin-upper": (T.num(-1),),
    "sin-lower": (T.num(-1),),
}


@pytest.mark.parametrize("name", sorted(AXIOMS))
def test_the_side_condition_matters(name: str) -> None:
    args = BEYOND.get(name)
    if args is None:
        assert AXIOMS[name].condition == ""
        return
    condition, conclusion = axiom(name, *args).conclusion.children
    world = World(0)
    if name == "cos-one":
        assert not world.truth(condition)
        assert not any(_turns(world, conclusion, k) for k in range(-3, 4))
    elif name == "pi-irrational":
        assert world.truth(condition.children[2]), "m = pi n holds"
        assert not world.truth(conclusion)
    else:
        assert not world.truth(condition)
        assert not world.truth(conclusion)


@pytest.mark.parametrize("args", [(ZERO, TWO), (TWO, ZERO), (T.num(-2), T.num(-3))], ids=str)
def test_log_product_needs_both_signs(args: tuple[Term, Term]) -> None:
    condition, conclusion = axiom("log-product", *args).conclusion.children
    assert not World(0).truth(condition)
    assert not World(0).truth(conclusion)


def test_the_bounds_of_the_sine_are_of_no_use_before_their_condition_is_shown() -> None:
    x = T.var("x", "real")
    for name in ("sin-upper", "sin-lower"):
        refused("modus-ponens", (axiom(name, x), axiom("pythagoras", x)))
        refused("decide", (), axiom(name, T.num(-1)).conclusion.children[1])


@pytest.mark.parametrize("q", [Fraction(1, 100), 1, Fraction(5, 2), 7, 100])
def test_the_bounds_of_the_sine_are_no_sharper_than_they_may_be(q: Fraction | int) -> None:
    """Each of them holds, and fails if it is moved by the next term of the series."""
    x, world = T.num(q), World(0)
    upper, lower = (axiom(name, x).conclusion.children[1] for name in ("sin-upper", "sin-lower"))
    assert world.truth(upper)
    assert world.truth(lower)
    if q <= 1:
        sharper = T.sub(upper.children[1], T.num(Fraction(q) ** 3 / 5))
        assert not world.truth(T.le(upper.children[0], sharper))
        sharper = T.add(lower.children[0], T.num(Fraction(q) ** 5 / 100))
        assert not world.truth(T.le(sharper, lower.children[1]))


def _turns(world: World, exists: Term, k: int) -> bool:
    return world.truth(T.instantiate(exists.children[0], (T.num(k),)))


def test_cosine_is_one_at_whole_turns_only() -> None:
    for k in range(-2, 3):
        x = T.mul(TWO, T.PI, T.num(k))
        condition, conclusion = axiom("cos-one", x).conclusion.children
        assert World(0).truth(condition)
        assert _turns(World(0), conclusion, k)


def test_the_turns_of_a_cosine_are_not_captured() -> None:
    """With x = k + 2 pi, the integer that exists is another one than k."""
    k = T.var("k", "int")
    instance = axiom("cos-one", T.add(k, T.mul(TWO, T.PI))).conclusion
    assert k in T.free_symbols(instance.children[1])
    j = T.var("j", "int")
    renamed = axiom("cos-one", T.add(j, T.mul(TWO, T.PI))).conclusion
    assert T.substitute(instance, {k: j}) is renamed


def test_the_other_integer_matters() -> None:
    p = axiom("pi-irrational", K, K).conclusion.children[0]
    assert [c.op for c in p.children] == ["isint", "isint", "eq"]


def test_arguments_that_do_not_fit() -> None:
    refused("axiom", (), "sin-add", X)
    refused("axiom", (), "sin-add", X, Y, X)
    refused("axiom", (), "no-such-axiom", X)
    refused("axiom", (), "pythagoras", T.eq(X, Y))
    refused("axiom", (), "pythagoras", RX)
    refused("axiom", (), "pythagoras", T.bound(0))
    refused("axiom", (), "pythagoras", "x")
    refused("axiom", (axiom("pythagoras", X),), "pythagoras", X)
    refused("axiom", (), "det-transpose", N, T.apply("C", T.bound(2), T.bound(0)))
    refused("axiom", (), "det-product", T.bound(0), MATRIX, OTHER)
    refused("axiom", (), "det-identity", T.bound(0))


def test_determinants_by_name() -> None:
    world = World(3, {N: Fraction(3)})
    assert world.truth(axiom("det-product", N, MATRIX, OTHER).conclusion)
    assert world.truth(axiom("det-transpose", N, MATRIX).conclusion)
    swapped = T.eq(T.det(N, T.apply("B", T.bound(0), ZERO)), T.det(N, MATRIX))
    assert not world.truth(swapped)


def test_the_evaluator_knows_pi() -> None:
    assert abs(function("pi", []) - MP.pi) < MP.mpf(10) ** -50
