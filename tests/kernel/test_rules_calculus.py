"""Gradients: the chain rule, its conditions, and what has no rule."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from kernel_symbols import (
    ONE,
    RX,
    TWO,
    ZERO,
    A,
    B,
    E,
    I,
    J,
    K,
    L,
    M,
    N,
    X,
    assume,
    refused,
)  # fmt: skip

from derive.kernel import terms as T
from derive.kernel.calculus import differentiate
from derive.kernel.domain import obligations
from derive.kernel.normal import Normaliser
from derive.kernel.rules import infer
from derive.kernel.terms import Term

POINT = A(T.bound(0))
F = T.Head("f", 0, (1,))


def V(*indices: Term) -> Term:
    """The tensor by which is differentiated."""
    return T.apply("V", *indices)


def gradient(body: Term, point: Term = POINT, arity: int = 1) -> tuple[Term, tuple[Term, ...]]:
    dims = (N, M)[:arity]
    value, conditions, _ = differentiate(dims, T.abstract_tensor(body, "V", arity), point)
    return value, conditions


def derived(body: Term, *premises: Term, point: Term = POINT, laws: Sequence[str] = ()) -> Term:
    function = T.abstract_tensor(body, "V", 1)
    made = infer("derivative", tuple(map(assume, premises)), (N,), function, point)
    assert made.hypotheses == set(premises)
    assert made.axioms == {"derivative-table", *laws}
    return made.conclusion


def partial(body: Term, c: Term, *premises: Term) -> Term:
    return T.instantiate(derived(body, *premises).children[-1], (c,))


def not_derived(body: Term, *premises: Term, point: Term = POINT, why: str = ".") -> None:
    function = T.abstract_tensor(body, "V", 1)
    refused("derivative", tuple(map(assume, premises)), (N,), function, point, why=why)


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (V(J), T.delta(I, J)),
        (T.mul(V(J), V(J)), T.mul(TWO, T.delta(I, J), A(J))),
        (T.power(V(J), 3), T.mul(T.num(3), T.power(A(J), 2), T.delta(I, J))),
        (T.power(V(J), 0), ZERO),
        (T.sum_over(J, T.mul(X, V(J))), X),
        (T.sum_over(J, T.power(V(J), 2)), T.mul(TWO, A(I))),
        (T.fn("exp", V(J)), T.mul(T.fn("exp", A(J)), T.delta(I, J))),
        (T.fn("sin", V(J)), T.mul(T.fn("cos", A(J)), T.delta(I, J))),
        (T.fn("cos", V(J)), T.neg(T.mul(T.fn("sin", A(J)), T.delta(I, J)))),
        (V(T.num(7)), T.delta(I, T.num(7))),
        (X, ZERO),
    ],
    ids=lambda t: T.show(t),
)
def test_the_table(body: Term, value: Term) -> None:
    got = partial(body, I)
    assert Normaliser().same(got, value)
    assert not Normaliser().same(got, T.add(value, A(I)))


@pytest.mark.parametrize(
    ("body", "condition", "less"),
    [
        (T.inv(V(J)), T.negate(T.eq(A(J), ZERO)), T.negate(T.eq(A(I), ZERO))),
        (T.power(V(J), -2), T.negate(T.eq(A(J), ZERO)), T.TRUE),
        (T.fn("log", V(J)), T.lt(ZERO, A(J)), T.le(ZERO, A(J))),
        (T.fn("sqrt", V(J)), T.lt(ZERO, A(J)), T.le(ZERO, A(J))),
        (T.fn("log", V(J)), T.lt(ZERO, A(J)), T.negate(T.eq(A(J), ZERO))),
    ],
    ids=["inverse", "power", "log", "sqrt", "log-nonzero"],
)
def test_conditions_at_the_point(body: Term, condition: Term, less: Term) -> None:
    not_derived(body, why="not known")
    not_derived(body, less, why="not known")
    assert derived(body, condition)


def test_conditions_under_a_sum_hold_for_every_index() -> None:
    body = T.sum_over(J, T.fn("log", V(J)))
    not_derived(body, T.lt(ZERO, A(J)), why="not known")
    not_derived(body, T.lt(ZERO, A(ZERO)), why="not known")
    assert derived(body, T.forall(J, T.lt(ZERO, A(J))))
    k = T.var("k", "fin", T.add(J, ONE))
    nested = T.sum_over(J, T.sum_over(k, T.inv(T.add(V(k), B(J, k)))))
    condition = T.negate(T.eq(T.add(A(k), B(J, k)), ZERO))
    diagonal = T.negate(T.eq(T.add(A(J), B(J, J)), ZERO))
    not_derived(nested, T.forall(J, diagonal), why="not known")
    assert derived(nested, T.forall(J, T.forall(k, condition)))


def test_signs_that_are_known_need_no_premise() -> None:
    assert derived(T.fn("sqrt", T.add(ONE, T.power(V(J), 2))))
    assert derived(T.inv(T.sum_over(J, T.fn("exp", V(J)))), laws=["exp-sign"])
    empty = T.var("j", "fin", L)
    not_derived(T.inv(T.sum_over(empty, T.fn("exp", V(empty)))), why="not known")


@pytest.mark.parametrize(
    "body",
    [
        T.fn("abs", V(J)),
        T.fn("max", V(J), ZERO),
        T.fn("floor", V(J)),
        T.fn("mod", V(J), TWO),
        T.fn("rpow", V(J), X),
        T.delta(V(J), X),
        T.product(N, V(T.bound(0))),
        T.det(N, T.mul(V(T.bound(0)), V(T.bound(1)))),
        E(T.mul(RX, V(J))),
        A(V(J)),
        T.total(V(J), ONE),
        T.total(V(ZERO), A(T.bound(0))),
        T.app(F, V(J), A(T.bound(0))),
    ],
    ids=T.show,
)
def test_no_rule(body: Term) -> None:
    not_derived(body)


def test_a_range_that_depends_on_the_variable() -> None:
    """The number of terms jumps: no derivative at an integer, whatever the terms are."""
    not_derived(T.total(V(ZERO), T.inv(T.add(ONE, T.bound(0)))), point=ONE, why="range")


# ---------------------------------------------------------------------------- function symbols


def applied(body: Term, head: T.Head = F) -> Term:
    return T.app(head, N, body)


def test_the_chain_rule() -> None:
    body = applied(T.power(V(T.bound(0)), 2))
    at_point = T.differentiable(applied(T.power(A(T.bound(0)), 2)), 0)
    not_derived(body, why="not known")
    not_derived(body, T.differentiable(applied(A(T.bound(0))), 0), why="not known")
    got = partial(body, I, at_point)
    outer = T.app(T.Head("f", 1, (1,), (0,)), I, N, T.power(A(T.bound(0)), 2))
    assert Normaliser().same(got, T.mul(TWO, A(I), outer))
    free = T.app(T.Head("f", 1, (1,)), I, N, T.power(A(T.bound(0)), 2))
    assert not Normaliser().same(got, T.mul(TWO, A(I), free))


def test_the_chain_rule_below_a_sum() -> None:
    body = T.sum_over(J, applied(T.mul(B(J, T.bound(0)), V(T.bound(0)))))
    one = T.differentiable(applied(T.mul(B(J, T.bound(0)), A(T.bound(0)))), 0)
    not_derived(body, one, why="not known")
    assert derived(body, T.forall(J, one))


def test_differentiable_in_each_of_two_slots_is_not_enough() -> None:
    """x y / (x^2 + y^2) has both partial derivatives at 0 and none along the diagonal."""
    two = T.Head("g", 0, (1, 1))
    inside = T.app(two, N, V(T.bound(0)), N, V(T.bound(0)))
    at = T.app(two, N, POINT, N, POINT)
    not_derived(inside, T.differentiable(at, 0), T.differentiable(at, 1), why="two arguments")
    half = T.app(two, N, V(T.bound(0)), N, B(ZERO, T.bound(0)))
    at_half = T.app(two, N, POINT, N, B(ZERO, T.bound(0)))
    not_derived(half, T.differentiable(at_half, 1), why="not known")
    assert derived(half, T.differentiable(at_half, 0))


def test_second_derivatives() -> None:
    prime = T.Head("f", 1, (1,), (0,))
    body = T.app(prime, J, N, V(T.bound(0)))
    at = T.app(prime, J, N, POINT)
    not_derived(body, T.differentiable(applied(POINT), 0), why="not known")
    got = derived(body, T.differentiable(at, 0))
    heads = {t.data for t in T.subterms(got.children[-1]) if t.op == "app"}
    assert T.Head("f", 2, (1,), (0, 0)) in heads


def test_matrices() -> None:
    v, conditions = gradient(T.sum_over(J, T.apply("V", J, K)), B(T.bound(1), T.bound(0)), 2)
    h = T.var("h", "fin", M)
    assert conditions == ()
    assert Normaliser().same(T.instantiate(v, (I, h)), T.delta(h, K))
    assert not Normaliser().same(T.instantiate(v, (I, h)), T.delta(I, K))
    refused("derivative", (), (N, M), T.abstract_tensor(V(J), "V", 1), ZERO)
    refused("derivative", (), (N,), T.bound(1), ZERO)
    refused("derivative", (), (N,), ZERO, T.bound(1))
    refused("derivative", (), (T.bound(0),), ZERO, ZERO)


# ---------------------------------------------------------------------------- other values


def test_gradient_value() -> None:
    made = infer("derivative", (), (N,), T.abstract_tensor(T.power(V(J), 2), "V", 1), POINT)
    value = made.conclusion.children[-1]
    wanted = T.mul(TWO, A(J), T.delta(T.bound(0), J))
    same = T.quantified("forall", "fin", T.eq(value, wanted), N)
    new = infer("gradient-value", (made, assume(same)), wanted)
    assert new.conclusion.children[-1] is wanted
    refused("gradient-value", (made, assume(same)), T.mul(TWO, wanted))
    everywhere = T.quantified("forall", "nat", T.eq(value, wanted))
    refused("gradient-value", (made, assume(everywhere)), wanted)
    fewer = T.quantified("forall", "fin", T.eq(value, wanted), M)
    refused("gradient-value", (made, assume(fewer)), wanted)
    refused("gradient-value", (assume(same), made), wanted)
    flipped = T.quantified("forall", "fin", T.eq(wanted, value), N)
    refused("gradient-value", (made, assume(flipped)), wanted)


def for_all_tensors(body: Term, arity: int = 1) -> Term:
    return T.quantified("forall", "tensor", T.abstract_tensor(body, "V", arity), arity=arity)


def test_gradient_function() -> None:
    """The same function in other words: sqrt(v^2) and |v| have one gradient where v is not 0."""
    root, size = T.fn("sqrt", T.power(V(J), 2)), T.fn("abs", V(J))
    positive = assume(T.lt(ZERO, T.power(A(J), 2)))
    old = T.abstract_tensor(root, "V", 1)
    new = T.abstract_tensor(size, "V", 1)
    made = infer("derivative", (positive,), (N,), old, POINT)
    same = assume(for_all_tensors(T.eq(root, size)))
    got = infer("gradient-function", (made, same), new)
    assert got.conclusion is T.grad((N,), new, POINT, made.conclusion.children[-1])
    assert got.hypotheses == {positive.conclusion, same.conclusion}
    assert got.axioms == made.axioms

    def not_renamed(premise: Term, function: Term = new) -> None:
        refused("gradient-function", (made, assume(premise)), function, why="is not")

    not_renamed(for_all_tensors(T.eq(size, root)))  # from right to left
    not_renamed(for_all_tensors(T.eq(root, size)), T.neg(new))
    not_renamed(for_all_tensors(T.eq(T.power(root, 2), T.power(size, 2))))
    not_renamed(for_all_tensors(T.le(root, size)))
    not_renamed(for_all_tensors(T.implies(T.lt(ZERO, V(J)), T.eq(root, size))))
    refused("gradient-function", (same, made), new, why="not of the form 'grad'")
    refused("gradient-function", (made,), new)
    refused("gradient-function", (made, same), T.bound(0))


def test_functions_that_agree_at_the_point_only_keep_their_gradients() -> None:
    square = T.power(V(J), 2)
    made = infer("derivative", (), (N,), T.abstract_tensor(square, "V", 1), POINT)
    line = T.mul(A(J), V(J))  # the two agree at A, and nowhere else but at 0
    here = T.eq(T.power(A(J), 2), T.power(A(J), 2))
    new = T.abstract_tensor(line, "V", 1)
    refused("gradient-function", (made, assume(here)), new, why="is not")
    free = assume(T.eq(square, line))
    refused("gradient-function", (made, free), new, why="is not")
    refused("generalise-tensor", (free,), "V", 1, why="free in a hypothesis")
    refused("gradient-function", (made, assume(for_all_tensors(T.eq(square, line)))),
            T.abstract_tensor(square, "V", 1), why="is not")  # fmt: skip


def test_a_function_that_is_not_defined_near_the_point_has_no_gradient() -> None:
    """sqrt(v) - sqrt(v) + sqrt(-v) - sqrt(-v) is 0 where it is defined: at v = 0 alone."""
    old = T.mul(ZERO, V(J))
    made = infer("derivative", (), (N,), T.abstract_tensor(old, "V", 1), POINT)
    roots = [T.fn("sqrt", V(J)), T.fn("sqrt", T.neg(V(J)))]
    for new in (
        T.add(*(T.sub(root, root) for root in roots)),
        T.sub(T.inv(T.fn("floor", V(J))), T.inv(T.fn("floor", V(J)))),
        T.mul(ZERO, T.fn("log", V(J))),
        T.mul(ZERO, T.fn("rpow", V(J), A(J))),
        T.mul(ZERO, T.total(V(J), ONE)),
    ):
        equation = infer("linear-combination", (), T.eq(old, new), 0, ())
        same = infer("generalise-tensor", (equation,), "V", 1)
        function = T.abstract_tensor(new, "V", 1)
        refused("gradient-function", (made, same), function, why="not known")
        defined = [assume(o) for o in obligations(same.conclusion)]
        assert defined
        refused("gradient-function", (made, same, *defined[1:]), function, why="not known")
        got = infer("gradient-function", (made, same, *defined), function)
        assert got.hypotheses == {d.conclusion for d in defined}


def test_a_gradient_function_takes_tensors_of_the_same_rank() -> None:
    entry = T.apply("V", J, K)
    function = T.abstract_tensor(entry, "V", 2)
    made = infer("derivative", (), (N, N), function, B(T.bound(1), T.bound(0)))
    twice = T.mul(ONE, entry)
    new = T.abstract_tensor(twice, "V", 2)
    same = T.eq(entry, twice)
    assert infer("gradient-function", (made, assume(for_all_tensors(same, 2))), new)
    other = T.quantified("forall", "tensor", T.eq(function, new), arity=1)
    refused("gradient-function", (made, assume(other)), new, why="is not")


def test_a_gradient_is_unique() -> None:
    function = T.abstract_tensor(T.sum_over(J, T.power(V(J), 2)), "V", 1)
    value, wrong = T.mul(TWO, A(T.bound(0))), A(T.bound(0))
    one, other = (assume(T.grad((N,), function, POINT, v)) for v in (value, wrong))
    made = infer("gradient-unique", (one, other))
    assert made.conclusion is T.quantified("forall", "fin", T.eq(value, wrong), N)
    assert made.hypotheses == {one.conclusion, other.conclusion}
    refused("gradient-unique", (one,))
    refused("gradient-unique", (one, assume(made.conclusion)), why="not of the form 'grad'")
    for not_the_same in (
        T.grad((M,), function, POINT, wrong),
        T.grad((N,), function, B(ZERO, T.bound(0)), wrong),
        T.grad((N,), T.abstract_tensor(T.sum_over(J, V(J)), "V", 1), POINT, wrong),
        T.grad((N, N), X, A(T.bound(0)), wrong),
    ):
        refused("gradient-unique", (one, assume(not_the_same)), why="one function at one point")


def test_unique_gradients_of_matrices_agree_for_both_indices() -> None:
    function = T.abstract_tensor(T.apply("V", J, K), "V", 2)
    value, other = T.apply("C", T.bound(1), T.bound(0)), T.apply("C", T.bound(0), T.bound(1))
    at = B(T.bound(1), T.bound(0))
    grads = [assume(T.grad((N, M), function, at, v)) for v in (value, other)]
    inner = T.quantified("forall", "fin", T.eq(value, other), M)
    wanted = T.quantified("forall", "fin", inner, N)
    assert infer("gradient-unique", grads).conclusion is wanted


def of_symbol(body: Term, *more: Term, head: T.Head = F, size: Term = N) -> Term:
    """A gradient of f(more; body), as if it were known."""
    function = T.abstract_tensor(T.app(head, *more, size, body), "V", 1)
    return T.grad((N,), function, POINT, A(T.bound(0)))


def test_what_has_a_gradient_is_differentiable() -> None:
    whole = V(T.bound(0))
    made = infer("differentiable", (assume(of_symbol(whole)),), 0)
    assert made.conclusion is T.differentiable(applied(POINT), 0)
    component = infer(
        "differentiable", (assume(of_symbol(whole, J, head=T.Head("f", 1, (1,)))),), 0
    )
    assert component.conclusion is T.differentiable(T.app(T.Head("f", 1, (1,)), J, N, POINT), 0)
    prime = T.Head("f", 1, (1,), (0,))
    second = infer("differentiable", (assume(of_symbol(whole, J, head=prime)),), 0)
    assert second.conclusion is T.differentiable(T.app(prime, J, N, POINT), 0)


@pytest.mark.parametrize(
    "premise",
    [
        of_symbol(T.power(V(T.bound(0)), 3)),  # f(v^3) may have a gradient where f has none
        of_symbol(T.mul(ZERO, V(T.bound(0)))),
        of_symbol(T.add(V(T.bound(0)), A(T.bound(0)))),
        of_symbol(V(T.add(ONE, T.bound(0)))),  # another component in the place of each
        of_symbol(V(ZERO)),
        of_symbol(A(T.bound(0))),
        of_symbol(V(T.bound(0)), size=M),  # more components than are differentiated by
        of_symbol(V(T.bound(0)), V(J), head=T.Head("f", 1, (1,))),  # in an index as well
        T.grad((N,), T.mul(TWO, T.abstract_tensor(applied(V(T.bound(0))), "V", 1)), POINT, ZERO),
        T.grad((N,), T.abstract_tensor(V(J), "V", 1), POINT, ZERO),
        # an entry of the tensor itself, at a point that is made of a function symbol
        T.grad((N,), T.abstract_tensor(V(J), "V", 1),
               T.app(T.Head("f", 1, (1,)), T.bound(0), N, A(T.bound(0))), ZERO),
        T.differentiable(applied(POINT), 0),
    ],
    ids=T.show,
)  # fmt: skip
def test_not_every_gradient_is_that_of_the_symbol(premise: Term) -> None:
    refused("differentiable", (assume(premise),), 0)


def test_differentiable_in_the_slot_of_the_tensor_only() -> None:
    """|w| - |v| has the gradient 0 along the diagonal."""
    two = T.Head("g", 0, (1, 1))
    point = T.app(two, N, POINT, N, B(ZERO, T.bound(0)))
    v, w = V(T.bound(0)), B(ZERO, T.bound(0))
    one = T.grad((N,), T.abstract_tensor(T.app(two, N, v, N, w), "V", 1), POINT, ZERO)
    assert infer("differentiable", (assume(one),), 0).conclusion is T.differentiable(point, 0)
    refused("differentiable", (assume(one),), 1)
    refused("differentiable", (assume(one),), 2)
    refused("differentiable", (assume(one),), -1)
    both = T.grad((N,), T.abstract_tensor(T.app(two, N, v, N, v), "V", 1), POINT, ZERO)
    for slot in (0, 1):
        refused("differentiable", (assume(both),), slot, why="another way")
    refused("differentiable", (assume(one), assume(one)), 0)


def test_a_matrix_that_is_turned_round_is_another_argument() -> None:
    head = T.Head("f", 0, (2,))
    for first, second, fits in ((1, 0, True), (0, 1, False), (0, 0, False)):
        inside = T.apply("V", T.bound(first), T.bound(second))
        function = T.abstract_tensor(T.app(head, N, N, inside), "V", 2)
        g = assume(T.grad((N, N), function, B(T.bound(1), T.bound(0)), ZERO))
        if fits:
            assert infer("differentiable", (g,), 0)
        else:
            refused("differentiable", (g,), 0, why="does not have the tensor")


def test_what_a_gradient_asks_for_is_asked_at_its_point() -> None:
    inverse = T.abstract_tensor(T.inv(V(J)), "V", 1)
    g = T.grad((N,), inverse, POINT, ZERO)
    assert obligations(g) == (T.negate(T.eq(A(J), ZERO)),)
    safe = T.abstract_tensor(T.inv(T.add(ONE, T.power(V(J), 2))), "V", 1)
    assert obligations(T.grad((N,), safe, POINT, ZERO)) == ()
    assert obligations(T.grad((K,), safe, POINT, ZERO)) == (T.le(ZERO, K),)


def test_gradients_cannot_be_decided_or_combined() -> None:
    g = T.grad((N,), T.abstract_tensor(V(J), "V", 1), POINT, ZERO)
    refused("decide", (), g)
    refused("linear-combination", (), g, 0, ())
    refused("derivative", (assume(T.FALSE),), (N,), T.abstract_tensor(T.fn("abs", V(J)), "V", 1),
            POINT)  # fmt: skip
