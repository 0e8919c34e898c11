"""Pre-LN and Post-LN: verdicts, replay, twins, mutants, and agreement with the NumPy blocks."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from claim_checks import CONCLUDED, is_false_at, mutant, number, proved_by, settle, without

import numeric
from derive.claim import Correction, Example, Given
from derive.claims import norm_placement as P
from derive.claims import residual as R
from derive.claims._norms import (
    OUTSIDE,
    a,
    at,
    b,
    beta,
    c,
    d,
    epsilon,
    gamma,
    jacobian,
    mu,
    normalised,
    one,
    s,
    sigma,
    x,
)
from derive.claims.norm_placement import Js, L, Ns, Ps, e, gs, l, layer, ps, sigmas
from derive.claims.residual import each_layer, f, output
from derive.convert import Converter
from derive.kernel import terms as T
from derive.language import (
    GradientIs,
    at_most,
    both,
    equal,
    forall,
    iff,
    implies,
    less,
    natural,
    plus,
    power,
    times,
    total,
)
from derive.result import TwinStatus, Verdict

BY_NAME = {claim.id.split("/")[1]: claim for claim in P.CLAIMS}
MATHEMATICAL = [n for n, claim in BY_NAME.items() if claim.statement is not None]
REFUTED = {"add-then-norm", "pre-ln-past-the-norm", "post-ln-identity-path"}


# ---------------------------------------------------------------------- every claim


@cache
def settled(name):
    """Verdict and logs checked."""
    return settle(BY_NAME[name]).result


def test_expected_verdicts():
    of_kind = {v: {n for n, k in BY_NAME.items() if k.expected is v} for v in Verdict}
    assert of_kind[Verdict.REFUTED] == REFUTED
    assert of_kind[Verdict.NOT_MATHEMATICAL] == {"stability"}
    assert len(of_kind[Verdict.PROVED]) == len(BY_NAME) - 4
    places = {p for claim in P.CLAIMS for p in claim.source.places}
    assert places == {"A28", "A33", "A34", "B41"}


def test_what_is_assumed():
    axioms = {n: {k.name for k in settled(n).axioms} for n in MATHEMATICAL}
    calculus = {"post-ln-jacobian", "pre-ln-jacobian"}
    assert {n for n, names in axioms.items() if "derivative-table" in names} == calculus
    for name in ("post-ln-layers", "pre-ln-layers", "pre-ln-direct-path"):
        assert axioms[name] == set()


def test_counterexamples_are_exact():
    shown = {n: [k.latex for k in settled(n).counterexamples] for n in REFUTED}
    assert shown["add-then-norm"] == [r"\frac{1}{2} \ne 1"]
    assert shown["pre-ln-past-the-norm"] == [r"1 \ne \frac{4}{5}"]
    assert shown["post-ln-identity-path"] == [r"4\,\sqrt{2} > \sqrt{2}"]


# ---------------------------------------------------------------------- mutants


def by_script(claim):
    """Whether the claim's own script still settles it in its favour."""
    try:
        return settle(claim).result.verdict in CONCLUDED
    except (LookupError, AttributeError, TypeError):
        return False  # the script stumbles over a missing hypothesis


def not_proved(claim):
    return proved_by(claim) == set()


def post_mutants():
    slope = f.partial(x)

    def block(factor, row=output, weight=gamma[a]):
        return times(weight, total(times(jacobian(OUTSIDE, a, c, row), factor(c)), c))

    yield times(gamma[a], plus(one(a, b), slope[a, b]))  # the norm forgotten, as in the note
    yield plus(one(a, b), slope[a, b])
    yield block(lambda k: plus(one(k, b), slope[k, b]), weight=1)  # gamma forgotten
    yield block(lambda k: plus(one(k, b), slope[k, b]), weight=gamma[b])
    yield block(lambda k: slope[k, b])  # the identity forgotten
    yield block(lambda k: plus(one(k, b), times(-1, slope[k, b])))
    yield block(lambda k: plus(one(k, b), slope[b, k]))  # transposed
    yield block(lambda k: plus(1, slope[k, b]))  # the number 1
    yield block(lambda k: plus(one(k, b), slope[k, b]), row=at(x))  # the norm at x
    yield times(gamma[a], jacobian(OUTSIDE, a, b, output))  # the branch forgotten
    yield times(gamma[a], plus(jacobian(OUTSIDE, a, b, output), slope[a, b]))  # LN(x) + f(x)


@pytest.mark.parametrize("value", list(post_mutants()))
def test_mutated_jacobians_of_post_ln(value):
    statement = implies(less(0, sigma), forall(a, GradientIs(P.post_output(a), x, b, value)))
    assert not by_script(mutant(P.POST_JACOBIAN, statement=statement))


def pre_mutants():
    inside, at_input = f.partial(P.normed), f.partial(x)

    def block(branch, weight=gamma, identity=one(a, b), norm=jacobian):  # noqa: B008
        through = total(times(branch(c), times(weight[c], norm(OUTSIDE, c, b))), c)
        return plus(identity, through)

    yield block(lambda k: at_input[a, k])  # the branch differentiated at x
    yield block(lambda k: inside[k, a])  # transposed
    yield block(lambda k: times(-1, inside[a, k]))
    yield block(lambda k: inside[a, k], identity=0)  # the identity forgotten
    yield block(lambda k: inside[a, k], identity=1)  # the number 1
    yield block(lambda k: inside[a, k], weight=beta)
    yield plus(one(a, b), inside[a, b])  # past the norm
    yield total(  # everything through the norm, as in Post-LN
        times(plus(one(a, c), inside[a, c]), times(gamma[c], jacobian(OUTSIDE, c, b))), c
    )


@pytest.mark.parametrize("value", list(pre_mutants()))
def test_mutated_jacobians_of_pre_ln(value):
    statement = implies(less(0, sigma), forall(a, GradientIs(P.pre_output(a), x, b, value)))
    assert not by_script(mutant(P.PRE_JACOBIAN, statement=statement))


def test_the_jacobians_need_rows_that_are_not_constant():
    for claim in (P.POST_JACOBIAN, P.PRE_JACOBIAN):
        assert not by_script(mutant(claim, statement=claim.statement.args[1]))


@pytest.mark.parametrize(
    "sums",
    [
        equal(total(P.entering(b), b), 1),
        equal(total(times(P.entering(b), x[b]), b), 0),
        equal(total(P.entering(b), b), total(times(P.g[b], gamma[b]), b)),
        forall(b, equal(P.entering(b), 0)),
    ],
)
def test_mutated_sums_of_gradients(sums):
    statement = implies(less(0, sigma), sums)
    assert not_proved(mutant(P.ENTERING, statement=statement))


BOTH_LAYERS = [(P.POST_LAYERS, P.post_step), (P.PRE_LAYERS, P.pre_step)]


def layer_mutants():
    yield forall(a, equal(gs[0, a], total(times(gs[L, b], Ps[L, a, b]), b)))
    yield forall(a, equal(gs[L, a], total(times(gs[0, b], Ps[L, b, a]), b)))
    yield forall(a, equal(gs[0, a], total(times(gs[L + 1, b], Ps[L, b, a]), b)))
    yield forall(a, equal(gs[0, a], times(2, total(times(gs[L, b], Ps[L, b, a]), b))))
    yield forall(a, equal(gs[0, a], total(times(gs[L, b], Ps[L + 1, b, a]), b)))


def one_layer(factor, wrong):
    """Width 1, one layer: the gradient passes the factor (1 + J) N or 1 + J N."""
    norm, branch = Fraction(1, 2), Fraction(3)
    number = norm * (1 + branch) if factor is P.post_step else 1 + norm * branch
    rows = T.Lam(2, T.fn("rpow", T.num(1 / number), T.bound(1)))
    return {d: 1, L: 1, Ns: R.multiples(norm), Js: R.multiples(branch), gs: rows,
            Ps: R.powers(number + wrong)}  # fmt: skip


def test_stacks_at_numbers():
    """The hypotheses hold at these numbers; with another product they do not."""
    for claim, factor in BOTH_LAYERS:
        unequal = mutant(claim, statement=equal(gs[0, 0], gs[L, 0]))
        small = replace(unequal, given=claim.given)
        assert is_false_at(small, one_layer(factor, 0))
        assert not is_false_at(small, one_layer(factor, 1))
        for statement in layer_mutants():
            if statement != next(layer_mutants()):  # in width 1 nothing is transposed
                assert is_false_at(mutant(claim, statement=statement), one_layer(factor, 0))


@pytest.mark.parametrize("statement", list(layer_mutants()))
def test_mutated_stacks(statement):
    for claim, _ in BOTH_LAYERS:
        assert not by_script(mutant(claim, statement=statement))


def wrong_products(factor):
    """The factors in the other order; a product that does not start at I; no identity in it."""
    gradients, first, products = (
        P.gradients(factor, ""), *P.products(factor, "")
    )  # fmt: skip
    turned = equal(Ps[l + 1, a, b], total(times(Ps[l, a, e], factor(l, e, b)), e))
    bare = equal(Ps[l + 1, a, b], total(times(P.branch_step(l, a, e), Ps[l, e, b]), e))
    turned, bare = (each_layer(l, forall([a, b], q)) for q in (turned, bare))
    yield gradients, first, Given(turned)
    yield gradients, Given(forall([a, b], equal(Ps[0, a, b], 1))), products
    yield gradients, first, Given(bare)


def test_wrong_products_of_the_factors():
    for claim, factor in BOTH_LAYERS:
        for given in wrong_products(factor):
            assert not by_script(mutant(claim, given=given))


def test_the_two_stacks_are_different():
    """The gradients of one with the products of the other."""
    mixed = (P.POST_GRADIENTS, *P.products(P.pre_step, ""))
    assert not by_script(mutant(P.POST_LAYERS, given=mixed))
    mixed = (P.PRE_GRADIENTS, *P.products(P.post_step, ""))
    assert not by_script(mutant(P.PRE_LAYERS, given=mixed))
    # a direct path is claimed of Pre-LN only
    assert not by_script(mutant(P.DIRECT, given=(P.POST_GRADIENTS,)))


def direct_mutants():
    added = total(P.through_branch(layer, a), layer)
    yield forall(a, equal(gs[0, a], added))
    yield forall(a, equal(gs[0, a], plus(gs[L, a], times(-1, added))))
    yield forall(a, equal(gs[0, a], plus(gs[L + 1, a], added)))
    yield forall(a, equal(gs[0, a], gs[L, a]))
    no_norm = total(total(times(gs[layer + 1, b], Js[layer, b, a]), b), layer)
    yield forall(a, equal(gs[0, a], plus(gs[L, a], no_norm)))
    swapped = total(
        total(times(gs[layer + 1, b], total(times(Ns[layer, b, c], Js[layer, c, a]), c)), b), layer
    )
    yield forall(a, equal(gs[0, a], plus(gs[L, a], swapped)))


@pytest.mark.parametrize("statement", list(direct_mutants()))
def test_mutated_direct_paths(statement):
    assert not_proved(mutant(P.DIRECT, statement=statement))


def path_mutants():
    least = both(at_most(0, epsilon), less(0, s), each_layer(l, at_most(s, sigmas[l])))
    before, behind = P.length_of(ps, 0), P.length_of(ps, L)
    yield implies(least, at_most(behind, times(power(s, L), before)))
    yield implies(least, less(times(power(s, L), before), behind))
    yield implies(least, at_most(times(power(s, L + 1), before), behind))
    yield implies(least, at_most(before, behind))  # s may be less than 1
    yield implies(least, equal(before, behind))
    most = both(at_most(0, epsilon), less(0, s), each_layer(l, at_most(sigmas[l], s)))
    yield implies(most, at_most(times(power(s, L), before), behind))
    one_only = both(at_most(0, epsilon), less(0, s), at_most(s, sigmas[0]))
    yield implies(one_only, at_most(times(power(s, L), before), behind))
    any_sign = both(less(0, s), less(0, s), each_layer(l, at_most(s, sigmas[l])))
    yield implies(any_sign, at_most(times(power(s, L), before), behind))


@pytest.mark.parametrize("statement", list(path_mutants()))
def test_mutated_identity_paths(statement):
    claim = mutant(P.POST_PATH, statement=statement, proof=P.prove_divided)
    assert not by_script(claim)


def halving_mutants():
    before, behind = P.length_of(ps, 0), P.length_of(ps, L)
    spreads, bound = P.HALVED.args
    yield implies(spreads, at_most(times(power(2, L), before), behind))
    yield implies(spreads, equal(times(power(P.ROOT_TWO, L), before), behind))
    yield implies(
        both(at_most(0, epsilon), each_layer(l, equal(sigmas[l], 1))), bound
    )  # fmt: skip
    yield implies(both(at_most(0, epsilon), equal(sigmas[0], P.ROOT_TWO)), bound)


@pytest.mark.parametrize("statement", list(halving_mutants()))
def test_mutated_halving(statement):
    assert not by_script(mutant(P.HALVED_PATH, statement=statement))


def remaining_mutants():
    positive, norms, branches, small = P.SMALL_BRANCHES.args
    bound = P.REMAINS.args[1]
    product, behind = bound.args
    yield implies(both(positive, norms, branches), bound)  # the branches may be large
    yield implies(both(positive, norms, small, small), bound)
    yield implies(both(positive, branches, small, small), bound)
    yield implies(P.SMALL_BRANCHES, less(product, behind))
    yield implies(P.SMALL_BRANCHES, at_most(behind, product))
    yield implies(P.SMALL_BRANCHES, at_most(P.length(at(P.g)), behind))
    steep = each_layer(l, P.bounded(at(Js, l), P.rhos[l]))  # s_l may be less than 1
    yield implies(both(positive, norms, steep, small), bound)


@pytest.mark.parametrize("statement", list(remaining_mutants()))
def test_mutated_lower_bounds(statement):
    assert not by_script(mutant(P.REMAINING, statement=statement))


def reversing(factor):
    """Width 1: every N_l is 1/s_l, and every branch has J_l = -factor s_l."""
    return {d: 1, L: 2, P.g: [1], P.divisors: T.Lam(1, T.num(Fraction(1, 2))),
            Ns: R.multiples(Fraction(2)), Js: R.multiples(-factor / 2),
            Ps: R.powers(1 - factor)}  # fmt: skip


def test_the_lower_bound_is_attained():
    """f_l(x) = -rho_l s_l x behind a norm: the bound is exact, and less than what arrives."""
    values = {**reversing(Fraction(3, 4)), P.rhos: T.Lam(1, T.num(Fraction(3, 4)))}
    product, behind = P.REMAINS.args[1].args
    for conclusion in (less(product, behind), at_most(P.length(at(P.g)), behind)):
        wrong = mutant(P.REMAINING, statement=implies(P.SMALL_BRANCHES, conclusion))
        assert is_false_at(wrong, values)


VARIANCES = [
    (P.SPREAD_OF_SUM, implies(P.UNCORRELATED, equal(P.spread_of(P.sum_of), 1))),
    (P.SPREAD_OF_SUM, implies(P.UNCORRELATED, equal(P.spread_of(P.sum_of), 4))),
    (P.SPREAD_OF_SUM, implies(both(*P.UNCORRELATED.args[:2]), P.SPREAD_OF_SUM.statement.args[1])),
    (P.SPREAD_OF_SUM, implies(P.UNCORRELATED.args[2], P.SPREAD_OF_SUM.statement.args[1])),
    (P.GROWTH, implies(P.GROWING, equal(P.spread_of(at(P.xs, L)), P.spread_of(at(P.xs, 0))))),
    (P.GROWTH, implies(P.GROWING, equal(P.spread_of(at(P.xs, L)),
                                        plus(P.spread_of(at(P.xs, 0)), times(2, L))))),
    (P.GROWTH, implies(P.GROWING.args[0], P.grown(L))),
    (P.GROWTH, implies(P.GROWING.args[1], P.grown(L))),
]  # fmt: skip


@pytest.mark.parametrize(("claim", "statement"), VARIANCES)
def test_mutated_variances(claim, statement):
    assert not_proved(mutant(claim, statement=statement))


@pytest.mark.parametrize(
    ("name", "position"),
    [(n, k) for n, claim in BY_NAME.items() if claim.proof for k in range(len(claim.given))],
)
def test_no_hypothesis_can_be_dropped(name, position):
    claim = BY_NAME[name]
    assert not by_script(mutant(claim, given=without(claim, position)))


def test_the_order_of_add_and_norm_is_refuted_by_search():
    bare = replace(P.ADD_THEN_NORM, counterexample=None, correction=None, twin=None)
    small = replace(bare, statement=T.substitute(
        Converter().formula(bare.statement), {T.var("d_model", "dim"): T.ONE}))  # fmt: skip
    assert settle(small).result.verdict is Verdict.REFUTED


def test_wrong_examples_do_not_stand():
    right = P.ADD_THEN_NORM.counterexample.values
    for changed in ({epsilon: 0}, {d: 1, x: [0], P.W: [[0]]}):
        example = Example({**right, **changed})
        assert settle(replace(P.ADD_THEN_NORM, counterexample=example)).result.verdict is (
            Verdict.UNDECIDED
        )
    right = P.POST_PATH.counterexample.values
    for changed in ({ps: P.alternating(3)}, {L: 0}, {epsilon: 2}):
        example = Example({**right, **changed})
        assert settle(replace(P.POST_PATH, counterexample=example)).result.verdict is (
            Verdict.UNDECIDED
        )
    right = P.ALL_PAST.counterexample.values
    for changed in ({gs: P.alternating(Fraction(5, 4))}, {L: 0}, {Js: T.Lam(3, T.ZERO)}):
        example = Example({**right, **changed})
        assert settle(replace(P.ALL_PAST, counterexample=example)).result.verdict is (
            Verdict.UNDECIDED
        )


def test_wrong_corrections_do_not_stand():
    means = both(P.MEANS.args[0], equal(P.mean_of(P.linear_pre), 0))
    wrong = [
        (P.ADD_THEN_NORM, replace(P.ADD_THEN_NORM.correction,
                                  statement=implies(less(0, epsilon), means))),
        (P.ALL_PAST, replace(P.ALL_PAST.correction,
                             statement=iff(P.NOTHING_ADDED, forall(a, equal(gs[L, a], 0))))),
        (P.POST_PATH, replace(P.POST_PATH.correction, statement=P.DIVIDED.args[1])),
        (P.POST_PATH, Correction(P.PATH_LOSES, P.prove_divided, P.PATH)),
    ]  # fmt: skip
    for claim, correction in wrong:
        assert settle(replace(claim, correction=correction)).result.verdict is Verdict.UNDECIDED


# ---------------------------------------------------------------------- twins can disagree


def disagreeing():
    twins = {n: BY_NAME[n].twin.run(0, BY_NAME[n].id) for n in MATHEMATICAL}
    return {n for n, twin in twins.items() if twin.status is TwinStatus.DISAGREES}


POST_TWINS = {"post-ln-jacobian", "post-ln-layers", "post-ln-gradient-sum",
              "post-ln-identity-path", "post-ln-halving"}  # fmt: skip
PRE_TWINS = {"pre-ln-jacobian", "pre-ln-layers", "pre-ln-direct-path", "pre-ln-past-the-norm",
             "pre-ln-lower-bound"}  # fmt: skip


def test_twins_see_the_other_placement(monkeypatch):
    post, pre = numeric.post_norm, numeric.pre_norm
    monkeypatch.setattr(numeric, "post_norm", pre)
    monkeypatch.setattr(numeric, "pre_norm", post)
    seen = {"post-ln-jacobian", "pre-ln-jacobian", "add-then-norm", "spread-of-sum",
            "pre-ln-growth"}  # fmt: skip
    assert seen <= disagreeing()


def test_twins_see_the_norm_put_on_the_sum(monkeypatch):
    """With the norm on the sum the path past the branches has no factor 1."""
    monkeypatch.setattr(numeric, "pre_norm_vjp", numeric.post_norm_vjp)
    assert disagreeing() == {*PRE_TWINS, "post-ln-gradient-sum"}


def test_twins_see_a_forgotten_norm(monkeypatch):
    def without_norm(sublayer, norm, x, weights, norm_weights, cotangent):
        grad_x, grad = numeric.residual_vjp(sublayer, x, weights, cotangent)
        return grad_x, grad, norm_weights

    monkeypatch.setattr(numeric, "post_norm_vjp", without_norm)
    assert disagreeing() == POST_TWINS


def test_twins_see_a_branch_differentiated_at_the_input(monkeypatch):
    def at_input(sublayer, norm, x, weights, norm_weights, cotangent):
        grad_normed, grad = sublayer.vjp(x, weights, cotangent)
        through, grad_norm = norm.vjp(x, norm_weights, grad_normed)
        return cotangent + through, grad, grad_norm

    monkeypatch.setattr(numeric, "pre_norm_vjp", at_input)
    assert {"pre-ln-jacobian", "pre-ln-layers", "pre-ln-direct-path"} <= disagreeing()


def test_twins_see_the_other_epsilon(monkeypatch):
    monkeypatch.setattr(numeric, "layer_norm_outside", numeric.layer_norm)
    monkeypatch.setattr(numeric, "layer_norm_outside_vjp", numeric.layer_norm_vjp)
    seen = {"post-ln-jacobian", "pre-ln-jacobian", "post-ln-layers", "pre-ln-layers"}
    assert {*seen, "spread-of-sum"} <= disagreeing()


# ---------------------------------------------------------------------- the same things in NumPy

RNG = np.random.default_rng(34)


@pytest.mark.parametrize("width", [2, 5])
def test_symbolic_blocks_are_the_numeric_ones(width):
    row, matrix = RNG.standard_normal(width), RNG.standard_normal((width, width))
    _, norm = P.branch_and_norm()
    plain = np.ones(width), np.zeros(width)
    values = {d: width, x: row, P.W: matrix, epsilon: 0.1}
    for block, entry in ((numeric.pre_norm, P.linear_pre(a)),
                         (numeric.post_norm, normalised(OUTSIDE, P.linear_sum, a))):  # fmt: skip
        expected = block(R.linear_branch(), norm, row[None], matrix, plain)[0]
        got = [number(entry, {**values, a: k}) for k in range(width)]
        np.testing.assert_allclose(got, expected, rtol=1e-11)


@pytest.mark.parametrize("width", [2, 5])
def test_symbolic_factors_are_the_numeric_ones(width):
    """The factors of the blocks, with the Jacobian of LayerNorm at the rows that they use."""
    row, matrix = RNG.standard_normal(width), RNG.standard_normal((width, width))
    _, norm = P.branch_and_norm()
    plain, eye = (np.ones(width), np.zeros(width)), np.eye(width)
    rows = np.broadcast_to(row, (width, width))
    k = natural("k")
    for vjp, step, point in ((numeric.pre_norm_vjp, P.pre_step, row),
                             (numeric.post_norm_vjp, P.post_step, row + matrix @ row)):  # fmt: skip
        at_point = {d: width, x: point, mu: point.mean(), sigma: point.std(),
                    s: point.std() + 0.1}  # fmt: skip
        norms = np.array([[number(jacobian(OUTSIDE, a, b), {**at_point, a: i, b: j})
                           for j in range(width)] for i in range(width)])  # fmt: skip
        values = {d: width, k: 0, Js: matrix[None], Ns: norms[None]}
        got = [[number(step(k, a, b), {**values, a: i, b: j}) for j in range(width)]
               for i in range(width)]  # fmt: skip
        expected = vjp(R.linear_branch(), norm, rows, matrix, plain, eye)[0]
        np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-12)
