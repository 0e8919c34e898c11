"""A stack of residual blocks: verdicts, replay, twins, mutants, and agreement with NumPy."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from claim_checks import CONCLUDED, mutant, settle, without

import numeric
from derive import auto
from derive.claims import residual as R
from derive.claims import residual_stack as S
from derive.claims.residual import Js, L, Ps, a, at, b, c, g, l, one, rhos, v, x
from derive.convert import Converter
from derive.kernel import terms as T
from derive.kernel.terms import KernelError
from derive.language import (
    Differentiable,
    GradientIs,
    at_most,
    both,
    equal,
    forall,
    implies,
    index,
    less,
    plus,
    times,
    total,
)
from derive.prover import Prover
from derive.result import TwinStatus, Verdict
from derive.search import NotFound

BY_NAME = {claim.id.split("/")[1]: claim for claim in S.CLAIMS}


# ---------------------------------------------------------------------- every claim


@pytest.mark.parametrize("name", BY_NAME)
def test_what_the_proof_rests_on(name):
    result = settle(BY_NAME[name]).result
    assert result.verdict is Verdict.PROVED
    assert "derivative-table" in {fact.name for fact in result.axioms}


def test_no_layer_has_a_hypothesis_that_is_not_in_the_stack():
    """All that is supposed of branches and sizes is about the layers below L."""
    for formula in (
        S.BLOCKS.formula.args[1], S.SMOOTH_BRANCHES.formula, S.FACTORS.args[1], *S.SMALL.args,
        S.NAMES.args[0],
    ):  # fmt: skip
        layer, body = formula.args
        assert body.args[0] == less(layer, L)


# ---------------------------------------------------------------------- mutants


def proved_by(claim):
    """Who proves it: its own script, or the automatic prover."""
    out = set()
    try:
        if settle(claim).result.verdict in CONCLUDED:
            out.add("script")
    except (LookupError, AttributeError, TypeError):
        pass  # the script stumbles over a missing hypothesis
    converter = Converter()
    given = [converter.formula(h.formula) for h in claim.given]
    try:
        theorem = auto.prove(Prover(converter, given), converter.formula(claim.statement))
    except (NotFound, KernelError):
        return out
    return out | {"automatic"} if theorem.hypotheses <= set(given) else out


def jacobian_mutants():
    smooth, start, following = S.JACOBIAN.statement.args
    whole, branch = S.stack_jacobian, S.branch_jacobian
    yield both(forall(a, Differentiable(S.state(x, L + 1)(a))), start, following)
    yield both(smooth, forall([a, b], equal(whole(0)(a, b), 1)), following)
    yield both(smooth, forall([a, b], equal(whole(1)(a, b), one(a, b))), following)
    for value in (
        R.with_factor(lambda i, j: branch(l)(j, i), whole(l))(a, b),  # transposed
        R.with_factor(lambda i, j: times(-1, branch(l)(i, j)), whole(l))(a, b),  # sign
        R.with_factor(branch(l + 1), whole(l))(a, b),  # the next branch
        R.with_factor(branch(l), whole(l + 1))(a, b),
        total(times(whole(l)(a, c), plus(one(c, b), branch(l)(c, b))), c),  # the other order
        total(times(branch(l)(a, c), whole(l)(c, b)), c),  # no identity
    ):
        entries = forall([a, b], equal(whole(l + 1)(a, b), value))
        yield both(smooth, start, R.each_layer(l, entries))
    entries = following.args[1].args[1]
    yield both(smooth, start, forall(l, entries))  # beyond the stack
    yield both(smooth, start, forall(l, implies(at_most(l, L), entries)))


def gradient_mutants():
    def claimed(value, factors=S.FACTORS, point=x[a], function=None):
        function = S.total_loss(v) if function is None else function
        return implies(factors, GradientIs(function, v, a, value, point))

    value = R.through(S.last_slope, at(Ps, L))(a)
    yield claimed(total(times(S.last_slope(b), Ps[L, a, b]), b))  # transposed
    yield claimed(R.through(S.last_slope, at(Ps, L + 1))(a))
    yield claimed(times(2, value))
    yield claimed(times(-1, value))
    yield claimed(S.last_slope(a))  # the branches forgotten
    yield claimed(R.through(R.loss.partial(x).__getitem__, at(Ps, L))(a))  # loss at the input
    yield claimed(value, point=S.state(x, L)(a))  # at the last output
    yield claimed(value, function=R.loss(S.state(v, L + 1))[()])
    yield claimed(value, function=R.loss(v)[()])
    start, following = S.FACTORS.args
    yield claimed(value, following)
    yield claimed(value, start)
    reverse = total(times(Ps[l, a, c], plus(one(c, b), S.branch_jacobian(l)(c, b))), c)
    for wrong in (
        reverse,
        R.with_factor(lambda i, j: S.branch_jacobian(l)(j, i), at(Ps, l))(a, b),
        total(times(S.branch_jacobian(l)(a, c), Ps[l, c, b]), c),
        R.with_factor(S.branch_jacobian(l + 1), at(Ps, l))(a, b),
    ):
        factors = R.each_layer(l, forall([a, b], equal(Ps[l + 1, a, b], wrong)))
        yield claimed(value, both(start, factors))
    fewer = forall(l, implies(less(l + 1, L), following.args[1].args[1]))
    yield claimed(value, both(start, fewer))  # the last factor may be anything


def direct_path_mutants():
    def claimed(value, point=x[a]):
        return GradientIs(S.total_loss(v), v, a, value, point)

    branches = S.through_branches(L, a)
    yield claimed(branches)  # the +1 path forgotten
    yield claimed(S.last_slope(a))
    yield claimed(plus(S.last_slope(a), times(-1, branches)))
    yield claimed(plus(times(2, S.last_slope(a)), branches))
    yield claimed(plus(S.last_slope(a), S.through_branches(L + 1, a)))
    yield claimed(plus(R.loss.partial(x)[a], branches))
    yield claimed(plus(S.last_slope(a), branches), S.state(x, L)(a))
    k = index("k", L)
    for term in (
        # past the other layers on both sides
        total(times(S.last_slope(b), S.branch_jacobian(k)(b, a)), b),
        R.through(S.last_slope, S.stack_jacobian(k))(a),  # without the branch
        R.through(
            lambda i: total(times(S.last_slope(c), S.branch_jacobian(k)(i, c)), c),
            S.stack_jacobian(k),
        )(a),  # the branch transposed
        R.through(
            lambda i: total(times(S.last_slope(c), S.branch_jacobian(k)(c, i)), c),
            S.stack_jacobian(k + 1),
        )(a),  # one block too many below it
    ):
        yield claimed(plus(S.last_slope(a), total(term, k)))


def bounds_mutants():
    lower, upper = S.WITHIN.args
    low, high = (R.product_up_to(f, L) for f in (R.lower_factor, R.upper_factor))
    size, length = R.length(at(g)), R.length(at(S.G))

    def claimed(conclusion, names=S.NAMES, small=S.SMALL):
        return implies(names, implies(small, conclusion))

    yield claimed(at_most(times(high, size), length))
    yield claimed(at_most(length, times(low, size)))
    yield claimed(less(times(low, size), length))
    yield claimed(at_most(size, length))
    yield claimed(at_most(length, size))
    yield claimed(at_most(times(R.product_up_to(R.lower_factor, L + 1), size), length))
    bounded, limited = S.SMALL.args
    yield claimed(lower, small=bounded)
    yield claimed(lower, small=limited)
    yield claimed(upper, small=limited)
    fewer = forall(l, implies(less(l + 1, L), limited.args[1].args[1]))
    yield claimed(lower, small=both(bounded, fewer))
    for position in range(3):
        kept = both(*(n for k, n in enumerate(S.NAMES.args) if k != position))
        yield claimed(lower, kept)
        yield claimed(upper, kept)
    slopes, last, _ = S.NAMES.args
    elsewhere = GradientIs(S.total_loss(v), v, a, S.G[a], S.state(x, L)(a))
    yield claimed(S.WITHIN, both(slopes, last, elsewhere))
    other = GradientIs(R.loss(S.state(v, L + 1))[()], v, a, S.G[a], x[a])
    yield claimed(S.WITHIN, both(slopes, last, other))
    turned = R.each_layer(l, forall([a, b], equal(Js[l, b, a], S.branch_jacobian(l)(a, b))))
    yield claimed(S.WITHIN, both(turned, *S.NAMES.args[1:]))


MUTANTS = [
    *(("stack-jacobian", m) for m in jacobian_mutants()),
    *(("stack-gradient", m) for m in gradient_mutants()),
    *(("stack-direct-path", m) for m in direct_path_mutants()),
    *(("stack-bounds", m) for m in bounds_mutants()),
]


@pytest.mark.parametrize(("name", "statement"), MUTANTS)
def test_mutants_are_not_proved(name, statement):
    assert proved_by(mutant(BY_NAME[name], statement=statement)) == set()


@pytest.mark.parametrize(
    ("name", "position"), [(n, k) for n, claim in BY_NAME.items() for k in range(len(claim.given))]
)
def test_no_hypothesis_can_be_dropped(name, position):
    assert proved_by(mutant(BY_NAME[name], given=without(BY_NAME[name], position))) == set()


def weaker_hypotheses():
    """Differentiable at the wrong point, in fewer layers, or equations at one point only."""
    smooth = S.SMOOTH_BRANCHES.formula.args[1].args[1]
    at_input = R.each_layer(l, forall(a, Differentiable(R.branches(x)[l, a])))
    yield 2, at_input
    yield 2, forall(l, implies(less(l + 1, L), smooth))
    yield 2, forall(l, implies(less(0, l), implies(less(l, L), smooth)))
    yield 0, forall(a, equal(S.state(x, 0)(a), x[a]))
    outputs = [forall(a, equal(S.state(w, l + 1)(a), S.block(w, l)(a))) for w in (x, v)]
    yield 1, R.each_layer(l, outputs[0])
    yield 1, forall(v, forall(l, implies(less(l + 1, L), outputs[1])))
    yield 3, Differentiable(R.loss(x)[()])


@pytest.mark.parametrize(("position", "formula"), list(weaker_hypotheses()))
def test_no_hypothesis_can_be_weakened(position, formula):
    """In particular, functions that agree at one point need not have the same derivative there."""
    for claim in S.CLAIMS:
        if position < len(claim.given):
            given = list(claim.given)
            given[position] = type(given[position])(formula)
            assert proved_by(mutant(claim, given=tuple(given))) == set()


# ---------------------------------------------------------------------- twins can disagree


def disagreeing():
    twins = {n: claim.twin.run(0, claim.id) for n, claim in BY_NAME.items()}
    return {n for n, twin in twins.items() if twin.status is TwinStatus.DISAGREES}


def test_twins_see_a_wrong_gradient(monkeypatch):
    def amplified(sublayer, x, weights, cotangent):
        behind, by_weights = sublayer.vjp(x, weights, cotangent)
        return cotangent + 3 * behind, by_weights

    monkeypatch.setattr(numeric, "residual_vjp", amplified)
    monkeypatch.setattr(sys.modules["numeric.residual"], "residual_vjp", amplified)
    assert disagreeing() == {"stack-gradient", "stack-direct-path", "stack-bounds"}


def test_twins_see_a_wrong_forward(monkeypatch):
    """The last block without its identity."""

    def forgetful(layers, x, weights):
        for layer, w in zip(layers[:-1], weights[:-1], strict=True):
            x = x + layer.forward(x, w)
        return layers[-1].forward(x, weights[-1]) if layers else x

    monkeypatch.setattr(numeric, "residual_stack", forgetful)
    assert {"stack-jacobian", "stack-gradient", "stack-direct-path"} <= disagreeing()


# ---------------------------------------------------------------------- the same things in NumPy


def evaluate(t, values):
    """A term at numbers: `values` holds sizes, arrays, and Python functions for the symbols."""
    match t.op:
        case "num":
            return complex(t.data) if t.data.denominator > 1 else int(t.data)
        case "var":
            return values[t.data[0]]
        case "add":
            return sum(evaluate(k, values) for k in t.children)
        case "mul":
            return np.prod([evaluate(k, values) for k in t.children])
        case "delta":
            left, right = (evaluate(k, values) for k in t.children)
            return int(left == right)
        case "sum":
            return sum(
                evaluate(T.instantiate(t.children[1], (T.num(k),)), values)
                for k in range(evaluate(t.children[0], values))
            )
        case "app":
            return applied(t, values)
    raise ValueError(T.show(t))


def applied(t, values):
    head = t.data
    indices = tuple(evaluate(k, values) for k in t.children[: head.scalars])
    if not head.arities:
        return values[head.head][indices]
    size, body = t.children[head.scalars :]
    entries = [T.instantiate(body, (T.num(k),)) for k in range(evaluate(size, values))]
    vector = np.array([evaluate(e, values) for e in entries])
    return values["d" * len(head.derivatives) + head.head](vector, *indices)


def tanh_stack(rng, width, depth):
    """What the symbols mean for a stack of tanh blocks and a loss of sines."""
    weights, slopes = rng.standard_normal((depth, width, width)), rng.standard_normal(width)
    layers = [R.tanh_branch()] * depth

    def passed(start, k):
        return numeric.residual_stack(layers[:k], start[None], list(weights[:k]))[0]

    return {
        "d_model": width, "L": depth,
        "X": lambda start, k, i: passed(start, k)[i],
        "f": lambda at, k, i: np.tanh(at @ weights[k])[i],
        "df": lambda at, k, i, j: R.tanh_jacobian(at, weights[k])[i, j],
        "loss": lambda end: np.sin(end) @ slopes,
        "dloss": lambda end, i: slopes[i] * np.cos(end[i]),
    }  # fmt: skip


@pytest.mark.parametrize(("width", "depth"), [(1, 3), (3, 1), (2, 2), (3, 4)])
def test_the_symbols_are_the_numeric_stack(width, depth):
    rng = np.random.default_rng(width + 10 * depth)
    values, start = tanh_stack(rng, width, depth), rng.standard_normal(width)
    converter = Converter()
    for k in range(depth):
        for i in range(width):
            places = {"m": k, "a": i, "v": start}
            block, following = (
                evaluate(converter.term(e), {**values, **places})
                for e in (S.block(v, R.m)(a), S.state(v, R.m + 1)(a))
            )
            assert np.isclose(block, following, rtol=1e-13)


@pytest.mark.parametrize(("width", "depth"), [(1, 3), (3, 1), (4, 0), (2, 2), (3, 4)])
def test_the_value_of_the_gradient_is_the_derivative(width, depth):
    """The kernel's own value against complex steps of the kernel's own function."""
    rng = np.random.default_rng(100 + width + 10 * depth)
    values, start = tanh_stack(rng, width, depth), rng.standard_normal(width)
    statement = Converter().formula(S.GRADIENT.statement.args[1])
    size, function, point, value = statement.children
    assert evaluate(size, values) == width
    assert point is T.apply("x", T.bound(0))
    values["x"] = start
    values["P"] = np.stack(products(values, width, depth))
    loss = T.instantiate(function, ("v",))
    for k in range(width):
        step = start + 1e-30j * np.eye(width)[k]
        measured = np.imag(evaluate(loss, {**values, "v": step})) / 1e-30
        claimed = evaluate(T.instantiate(value, (T.num(k),)), values)
        assert np.isclose(claimed, measured, rtol=1e-12)


def products(values, width, depth):
    """P_0, ..., P_L by the recurrence that the statement supposes."""
    converter = Converter()
    entry = converter.term(R.with_factor(S.branch_jacobian(R.m), at(Ps, R.m))(a, b))
    out = [np.eye(width)]
    for k in range(depth):
        cells = [
            [evaluate(entry, {**values, "P": np.stack(out), "m": k, "a": i, "b": j})
             for j in range(width)]
            for i in range(width)
        ]  # fmt: skip
        out.append(np.array(cells))
    return out


def test_the_bounds_are_those_of_the_products():
    """With the norms of the Jacobians for rho both sides bound the derivative."""
    rng = np.random.default_rng(5)
    norms = rng.random(4)
    sizes = {"L": 4, "rho": norms}
    low, high = (Converter().term(R.product_up_to(f, L)) for f in (R.lower_factor, R.upper_factor))
    for product, wanted in ((low, np.prod(1 - norms)), (high, np.prod(1 + norms))):
        factors = [
            evaluate(T.instantiate(product.children[1], (T.num(k),)), sizes)
            for k in range(evaluate(product.children[0], sizes))
        ]
        assert np.isclose(np.prod(factors), wanted)
    assert Converter().term(rhos[0]).data.head == "rho"
