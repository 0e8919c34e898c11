"""Connectives, quantifiers, induction and the choice of a witness."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import pytest
from kernel_symbols import (
    ONE,
    RX,
    TWO,
    ZERO,
    A,
    E,
    H,
    I,
    J,
    K,
    L,
    M,
    N,
    P,
    X,
    Y,
    Z,
    assume,
    decide,
    nonneg,
    positive,
    refused,
    sequent,
)  # fmt: skip

from derive.kernel import terms as T
from derive.kernel.rules import RULES, Conclusion, Theorem, infer
from derive.kernel.terms import KernelError, Lam

p, q, r = P(X), P(Y), P(Z)
HALF = T.num(Fraction(1, 2))
FORALL_X = T.forall(X, P(X))


# ---------------------------------------------------------------------------- making theorems


def test_a_theorem_is_made_by_a_rule_only() -> None:
    with pytest.raises(KernelError, match="infer"):
        Theorem(frozenset(), T.FALSE, frozenset(), "decide", (), ())
    with pytest.raises(KernelError, match="infer"):
        dataclasses.replace(decide(T.eq(X, X)), conclusion=T.FALSE)
    with pytest.raises(dataclasses.FrozenInstanceError):
        decide(T.eq(X, X)).conclusion = T.FALSE  # type: ignore[misc]


def test_unknown_rules_and_arguments() -> None:
    refused("believe", ())
    refused("conj", (Conclusion(frozenset(), T.FALSE),), why="not a theorem")
    refused("assume", ())
    refused("assume", (), p, p)
    refused("assume", (), [p], why="argument")
    refused("assume", (), 1.5, why="argument")


class Twice(list):  # type: ignore[type-arg]
    """Says something else when it is asked again."""

    def __iter__(self):  # type: ignore[no-untyped-def]
        yield self.pop(0)


class Forged(Theorem):
    def __post_init__(self, made_by: object) -> None:
        """Anyone may make one."""


class Body(Lam):
    """A formula in the place of a tensor, of a type of one's own."""


class Hidden(str):
    def __getitem__(self, at):  # type: ignore[no-untyped-def]
        return "x"


def test_only_the_types_of_the_kernel_are_taken() -> None:
    forged = Forged(frozenset(), T.FALSE, frozenset(), "decide", (), ())
    refused("conj", (forged,), why="not a theorem")
    asked_twice = Twice([decide(T.eq(X, X)), Conclusion(frozenset(), T.FALSE)])
    assert infer("conj", asked_twice).conclusion is T.eq(X, X)
    assert infer("conj", iter([decide(T.eq(X, X))])).conclusion is T.eq(X, X)
    every = assume(FORALL_X)
    one_of_two = assume(T.conj(p, q))
    refused("conjunct", (one_of_two,), True, why="argument")
    refused("axiom", (), Hidden("inverse"), X, why="argument")
    refused("specialise", (every,), Body(1, X), why="argument")
    for no_formula in ((p,), "p", 1, T.Lam(0, p)):
        refused("assume", (), no_formula, why="not a closed formula")
    for name in (Hidden("%nobody has made it"), 1, b"x", None, ""):
        with pytest.raises(KernelError, match="not a name"):
            T.var(name)
        if name != 1:  # the number of a bound tensor
            with pytest.raises(KernelError, match="not a head"):
                T.apply(name, ONE)


def test_reserved_names_stay_inside() -> None:
    for name in ("%f0", "%0", "%x", "%"):
        refused("assume", (), P(T.var(name)), why="reserved")
        refused("specialise", (assume(FORALL_X),), T.var(name), why="reserved")
        refused("assume", (), T.eq(T.apply(name, ONE), ZERO), why="reserved")
    two = assume(T.forall(X, T.eq(T.app(T.Head("F", 0, (1,)), N, X), Y)))
    refused("specialise", (two,), T.mul(T.var("%b0"), ZERO), why="reserved")


# ---------------------------------------------------------------------------- formulas


def test_assume() -> None:
    assert sequent(assume(p)) == ({p}, p)


@pytest.mark.parametrize(
    "formula",
    [
        X,
        T.eq(T.bound(0), ZERO),
        T.eq(RX, ZERO),
        T.eq(T.apply("R", ONE, random=True), ZERO),
        T.le(E(RX), RX),
        T.eq(A(T.var("i", "fin", L)), ZERO),
        T.eq(A(T.var("i", "fin", X)), ZERO),
        T.eq(A(T.var("i", "fin", T.sub(N, ONE))), ZERO),
        T.eq(E(A(T.var("i", "fin", T.fn("exp", RX)))), ZERO),
    ],
    ids=T.show,
)
def test_what_cannot_be_stated(formula: T.Term) -> None:
    refused("assume", (), formula)


def test_conj_and_conjunct() -> None:
    both = infer("conj", (assume(p), assume(q)))
    assert sequent(both) == ({p, q}, T.conj(p, q))
    assert infer("conjunct", (both,), 1).conclusion is q
    assert infer("conj", ()).conclusion is T.TRUE
    refused("conjunct", (both,), 2)
    refused("conjunct", (both,), -1)
    refused("conjunct", (assume(T.disj(p, q)),), 0)


def test_discharge_and_modus_ponens() -> None:
    imp = infer("discharge", (assume(p),), p)
    assert sequent(imp) == (set(), T.implies(p, p))
    assert sequent(infer("discharge", (assume(q),), p)) == ({q}, T.implies(p, q))
    assert infer("modus-ponens", (imp, assume(p))).conclusion is p
    refused("modus-ponens", (imp, assume(q)), why="premise")
    refused("modus-ponens", (assume(p), imp))
    refused("discharge", (assume(p),), X)
    refused("discharge", (assume(p),), T.eq(RX, ZERO))


def test_disjunct_and_cases() -> None:
    either = infer("disjunct", (assume(p),), T.disj(p, q), 0)
    assert sequent(either) == ({p}, T.disj(p, q))
    refused("disjunct", (assume(p),), T.disj(p, q), 1)
    refused("disjunct", (assume(p),), T.disj(q, p), -1)
    refused("disjunct", (assume(p),), T.conj(p, q), 0)
    middle = infer("excluded-middle", (), p)
    left = infer("conjunct", (infer("conj", (assume(r), assume(p))),), 0)
    right = infer("conjunct", (infer("conj", (assume(r), assume(T.negate(p)))),), 0)
    assert sequent(infer("cases", (middle, left, right))) == ({r}, r)
    refused("cases", (middle, left), why="cases")
    refused("cases", (middle, left, assume(q)), why="one conclusion")
    refused("cases", (assume(T.FALSE),), why="0 cases")
    kept = infer("cases", (middle, left, left))
    assert kept.hypotheses == {r, p}, "a hypothesis goes in its own case only"


def test_negation() -> None:
    no = assume(T.negate(p))
    assert infer("contradiction", (assume(p), no), q).conclusion is q
    refused("contradiction", (assume(q), no), r)
    refused("contradiction", (no, assume(p)), r)
    refused("contradiction", (assume(p), no), X)
    absurd = infer("contradiction", (assume(p), assume(T.negate(p))), T.negate(p))
    assert sequent(infer("deny", (absurd,), p)) == ({T.negate(p)}, T.negate(p))
    refused("deny", (absurd,), q)
    made = infer("not-implies", (assume(p), assume(T.negate(q))))
    assert made.conclusion is T.negate(T.implies(p, q))
    refused("not-implies", (assume(p), assume(q)))
    made = infer("not-conj", (assume(T.negate(q)),), T.negate(T.conj(p, q)), 1)
    assert made.conclusion is T.negate(T.conj(p, q))
    refused("not-conj", (assume(T.negate(q)),), T.negate(T.conj(p, q)), 0)
    refused("not-conj", (assume(T.negate(q)),), T.negate(T.conj(p, q)), -1)
    refused("not-conj", (assume(T.negate(q)),), T.negate(T.disj(p, q)), 1)


# ---------------------------------------------------------------------------- quantifiers


def test_generalise() -> None:
    every = infer("generalise", (assume(q),), X)
    assert sequent(every) == ({q}, T.forall(X, q))
    refused("generalise", (assume(p),), X, why="free in a hypothesis")
    refused("generalise", (decide(T.eq(E(RX), E(RX))),), RX, why="deterministic")
    refused("generalise", (decide(T.eq(A(I), A(I))),), N, why="range")
    refused("generalise", (assume(P(I)),), N, why="free in a hypothesis")
    refused("generalise", (decide(T.eq(X, X)),), T.add(X, ONE))
    other = T.var("x", "int")
    assert infer("generalise", (assume(p),), other).conclusion.children[0] is p


def test_generalise_tensor() -> None:
    same = decide(T.eq(A(I), A(I)))
    made = infer("generalise-tensor", (same,), "A", 1)
    assert made.conclusion.data == ("tensor", 1)
    refused("generalise-tensor", (same,), "A", 2)
    refused("generalise-tensor", (same,), "A", 0)
    refused("generalise-tensor", (assume(T.eq(A(I), ZERO)),), "A", 1, why="hypothesis")
    random = E(T.apply("R", ONE, random=True))
    refused("generalise-tensor", (decide(T.eq(random, random)),), "R", 1, why="plain")
    derived = T.app(T.Head("F", 1, (1,), (0,)), ZERO, N, T.bound(0))
    refused("generalise-tensor", (decide(T.eq(derived, derived)),), "F", 1, why="plain")


def test_specialise() -> None:
    every = assume(FORALL_X)
    assert infer("specialise", (every,), T.add(X, Y)).conclusion is P(T.add(X, Y))
    refused("specialise", (assume(p),), X)
    refused("specialise", (every,), RX, why="random")
    refused("specialise", (every,), p)
    refused("specialise", (every,), T.bound(0))
    refused("specialise", (every,), Lam(1, ZERO))
    inner = assume(T.forall(X, T.eq(E(T.mul(X, T.var("Y", random=True))), ZERO)))
    refused("specialise", (inner,), T.var("Y", random=True), why="random")
    assert infer("specialise", (inner,), E(RX))


@pytest.mark.parametrize(
    ("variable", "good", "bad"),
    [
        (K, [K, L, N, I, T.fn("floor", X), T.num(-3), T.mul(K, N)], [X, HALF, T.inv(N)]),
        (L, [L, N, I, ZERO, T.sub(N, ONE), T.fn("abs", K)], [K, T.num(-1), X, T.sub(L, ONE)]),
        (N, [N, ONE, T.add(L, ONE), T.mul(N, M)], [L, I, ZERO, K, T.fn("abs", X)]),
        (
            I,
            [I, J, ZERO, T.sub(N, ONE), T.sub(T.sub(N, ONE), I)],
            [N, K, H, T.add(I, ONE), T.num(-1), HALF, T.neg(I), ONE, X],
        ),
    ],
    ids=["int", "nat", "dim", "fin"],
)
def test_instances_lie_in_range(variable, good, bad) -> None:  # type: ignore[no-untyped-def]
    every = assume(T.forall(variable, P(variable)))
    goal = T.exists(variable, P(variable))
    deny = T.negate(T.forall(variable, P(variable)))
    for value in good:
        infer("specialise", (every,), value)
        infer("witness", (assume(P(value)),), goal, value)
        infer("not-forall", (assume(T.negate(P(value))),), deny, value)
    for value in bad:
        refused("specialise", (every,), value, why="known")
        refused("witness", (assume(P(value)),), goal, value, why="known")
        refused("not-forall", (assume(T.negate(P(value))),), deny, value, why="known")


EMPTY = [T.var("e", "fin", size) for size in (ZERO, L, K, T.sub(N, ONE), T.num(-1))]


@pytest.mark.parametrize("index", EMPTY, ids=lambda i: T.show(i.children[0]))
def test_an_index_of_a_range_that_may_be_empty_is_no_instance(index: T.Term) -> None:
    size = index.children[0]
    never = assume(T.quantified("forall", "fin", T.eq(ONE, ZERO), size))
    some = T.quantified("exists", "fin", T.eq(ONE, ONE), size)
    refused("specialise", (never,), index, why="may be empty")
    refused("witness", (decide(T.eq(ONE, ONE)),), some, index, why="may be empty")
    apart = decide(T.negate(T.eq(ONE, ZERO)))
    refused("not-forall", (apart,), T.negate(never.conclusion), index, why="may be empty")
    inner = T.var("f", "fin", T.add(index, ONE))
    goal = T.quantified("exists", "fin", T.eq(ONE, ONE), T.add(index, ONE))
    refused("witness", (decide(T.eq(ONE, ONE)),), goal, inner, why="may be empty")


def test_facts_bring_a_value_into_range() -> None:
    every = assume(T.forall(L, P(L)))
    whole = assume(T.isint(X))
    made = infer("specialise", (every, whole, nonneg(X)), X)
    assert made.hypotheses == {every.conclusion, T.isint(X), T.le(ZERO, X)}
    refused("specialise", (every, whole), X)
    refused("specialise", (every, nonneg(X)), X)
    refused("specialise", (every, assume(p)), L, why="not a fact")


def test_quantified_tensors() -> None:
    body = T.eq(T.app(T.Head(0, 1), ZERO), X)
    every = assume(T.quantified("forall", "tensor", body, arity=1))
    made = infer("specialise", (every,), Lam(1, T.add(T.bound(0), TWO)))
    assert made.conclusion is T.eq(T.add(ZERO, TWO), X)
    refused("specialise", (every,), Lam(2, ZERO))
    refused("specialise", (every,), Lam(1, T.bound(1)))
    refused("specialise", (every,), Lam(1, p))
    refused("specialise", (every,), Lam(1, T.mul(RX, ZERO)), why="random")
    refused("specialise", (every,), X)


def test_witness() -> None:
    goal = T.exists(X, P(X))
    assert infer("witness", (assume(q),), goal, Y).conclusion is goal
    refused("witness", (assume(q),), goal, X, why="instance")
    refused("witness", (assume(q),), FORALL_X, Y)
    refused("witness", (assume(T.eq(E(RX), ZERO)),), T.exists(X, T.eq(E(X), ZERO)), RX)


def test_choose() -> None:
    some = assume(T.exists(X, P(X)))
    again = infer("witness", (assume(p),), T.exists(Y, P(Y)), X)
    assert sequent(infer("choose", (some, again), X)) == ({some.conclusion}, T.exists(X, P(X)))
    refused("choose", (some, assume(p)), X, why="free in what remains")
    side = infer("conj", (again, assume(T.eq(X, ONE))))
    refused("choose", (some, side), X, why="free in what remains")
    refused("choose", (some, again), T.var("x", "int"), why="sort")
    refused("choose", (some, again), T.var("x", random=True))
    refused("choose", (assume(FORALL_X), again), X)
    below = assume(T.exists(I, P(I)))
    refused("choose", (below, assume(q)), H, why="sort")
    shadow = T.exists(Y, T.eq(X, Y))
    refused("choose", (assume(shadow), assume(q)), X, why="free in what remains")


def test_choose_a_tensor() -> None:
    """From some u with u_0 = y, there is a v with v_0 = y; u must not stay behind."""

    def first(name: str) -> T.Term:
        return T.eq(T.apply(name, ZERO), Y)

    def some_tensor(p: T.Term, name: str, arity: int = 1) -> T.Term:
        return T.quantified("exists", "tensor", T.abstract_tensor(p, name, arity), arity=arity)

    some = assume(some_tensor(first("u"), "u"))
    entry = infer("witness", (assume(first("u")),), T.exists(X, T.eq(X, Y)), T.apply("u", ZERO))
    made = infer("choose", (some, entry), "u")
    assert sequent(made) == ({some.conclusion}, T.exists(X, T.eq(X, Y)))
    refused("choose", (some, assume(first("u"))), "u", why="free in what remains")
    side = infer("conj", (entry, assume(T.eq(T.apply("u", ONE), ONE))))
    refused("choose", (some, side), "u", why="free in what remains")
    both = T.conj(first("u"), T.eq(T.apply("v", ZERO), ONE))
    taken = assume(some_tensor(both, "u"))
    refused("choose", (taken, assume(q)), "v", why="sort")
    refused("choose", (some, entry), X, why="sort")
    refused("choose", (assume(T.exists(X, P(X))), assume(q)), "u", why="sort")
    refused("choose", (assume(FORALL_X), entry), "u")
    matrix = assume(some_tensor(T.eq(T.apply("u", ZERO, ONE), Y), "u", 2))
    refused("choose", (matrix, entry), "u", why="free in what remains")
    mixed = T.quantified("exists", "tensor", T.eq(T.app(T.Head(0, 2), ZERO, ZERO), Y), arity=1)
    with pytest.raises(T.KernelError, match="not as a plain tensor"):
        infer("choose", (assume(mixed), assume(q)), "u")


# ---------------------------------------------------------------------------- induction


def test_induction() -> None:
    def claim(n: T.Term) -> T.Term:
        return T.le(ZERO, T.apply("P", n))

    step = assume(T.forall(L, T.implies(claim(L), claim(T.add(L, ONE)))))
    base = assume(claim(ZERO))
    made = infer("induction", (base, step))
    assert sequent(made) == ({base.conclusion, step.conclusion}, T.forall(L, claim(L)))
    refused("induction", (assume(claim(ONE)), step), why="l = 0")
    refused("induction", (step, base))
    two = assume(T.forall(L, T.implies(claim(L), claim(T.add(L, TWO)))))
    refused("induction", (base, two), why="l \\+ 1")
    swapped = assume(T.forall(L, T.implies(claim(T.add(L, ONE)), claim(L))))
    refused("induction", (base, swapped))
    for other in (K, N, X):
        wrong = assume(T.forall(other, T.implies(claim(other), claim(T.add(other, ONE)))))
        refused("induction", (base, wrong), why="naturals")


def test_facts_must_be_facts() -> None:
    for formula in (T.eq(X, ZERO), T.disj(p, q), FORALL_X):
        refused("decide", (assume(formula),), T.eq(X, X), why="not a fact")
    assert decide(T.lt(ZERO, X), positive(X)).hypotheses == {T.lt(ZERO, X)}


def test_the_list_of_rules_is_closed() -> None:
    assert sorted(RULES) == [
        "antisymmetry", "apart", "assume", "axiom", "block-forall", "block-sum", "cases",
        "choose", "conj", "conjunct", "contradiction", "decide", "deny", "derivative",
        "dichotomy", "differentiable", "discharge", "disjunct", "excluded-middle", "extensionality",
        "finite-forall", "generalise", "generalise-tensor", "gradient-function",
        "gradient-unique", "gradient-value", "induction", "integer", "integer-gap", "leibniz",
        "linear-combination", "modus-ponens", "not-conj", "not-forall", "not-implies",
        "not-le", "order", "specialise", "unroll", "witness",
    ]  # fmt: skip


def test_evaluations_of_side_conditions_are_listed():
    """That exp(log n) is a size takes exp(log x) = x, though the conclusion does not show it."""
    n = T.var("n", "dim")
    size = T.fn("exp", T.fn("log", n))
    k = T.var("k", "nat")
    everywhere = infer("generalise", [infer("order", [], T.le(ZERO, k), 0, ())], k)
    assert everywhere.axioms == frozenset()
    at = infer("specialise", [everywhere], size)
    assert at.axioms == {"exp-log"}
    some = T.exists(k, T.le(ZERO, k))
    assert infer("witness", [at], some, size).axioms == {"exp-log"}
    body = T.apply("f", T.bound(0))
    assert infer("unroll", [], "sum", size, body).axioms == {"exp-log"}
    assert infer("block-sum", [], size, n, body).axioms == {"exp-log"}
