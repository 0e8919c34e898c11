"""Pre-LN and Post-LN: verdicts, replay, twins, mutants, and agreement with the NumPy blocks."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
import sympy as sp
from claim_checks import CONCLUDED, assert_settled, assert_twin, mutant, stray_lines, without

import numeric
from derive import auto, search
from derive.claim import Correction, Example, Given
from derive.claims import norm_placement as P
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
from derive.counterexample import table
from derive.kernel import terms as T
from derive.kernel.check import at_values
from derive.kernel.normal import Normaliser, literal
from derive.kernel.terms import KernelError
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
from derive.prover import Prover
from derive.result import TwinStatus, Verdict
from derive.verify import settle

BY_NAME = {claim.id.split("/")[1]: claim for claim in P.CLAIMS}
MATHEMATICAL = [n for n, claim in BY_NAME.items() if claim.statement is not None]
REFUTED = {"add-then-norm", "pre-ln-past-the-norm", "post-ln-identity-path"}


# ---------------------------------------------------------------------- every claim


@cache
def settled(name):
    """Verdict and logs checked."""
    return assert_settled(BY_NAME[name])


@pytest.mark.parametrize("name", BY_NAME)
def test_verdict_and_replay(name):
    result = settled(name)
    if BY_NAME[name].expected is Verdict.PROVED:
        assert all(h.used for h in result.hypotheses)


@pytest.mark.parametrize("name", MATHEMATICAL)
def test_twin_agrees(name):
    assert_twin(BY_NAME[name])


@pytest.mark.parametrize("name", MATHEMATICAL)
def test_displayed_lines_are_steps_of_the_proof(name):
    assert stray_lines(BY_NAME[name]) == []


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


def alone(claim):
    """Whether the automatic prover proves it (no search for counterexamples)."""
    converter = Converter()
    given = [converter.formula(h.formula) for h in claim.given]
    goal = converter.formula(claim.statement)
    try:
        theorem = auto.prove(Prover(converter, given), goal)
    except (search.NotFound, KernelError):
        return False
    return theorem.hypotheses <= set(given)


def not_proved(claim):
    return not by_script(claim) and not alone(claim)


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
PRE_TWINS = {"pre-ln-jacobian", "pre-ln-layers", "pre-ln-direct-path", "pre-ln-past-the-norm"}


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


def evaluated(expression, values, place):
    converter = Converter()
    term = converter.term(expression)
    chosen = {}
    for symbol, number in values.items():
        if isinstance(symbol, sp.IndexedBase):
            chosen[str(symbol.label)] = table(number)
        else:
            chosen[converter.term(symbol)] = T.num(number)
    placed = {converter.term(i): T.num(k) for i, k in place.items()}
    return literal(Normaliser().poly(at_values(T.substitute(term, placed), chosen)))


def rational_rows(size):
    """A row with a rational deviation: +q and -q in equal numbers, shifted."""
    signs = np.resize([1, -1], size)
    RNG.shuffle(signs)
    return int(RNG.integers(1, 4)), signs, int(RNG.integers(-2, 3))


@pytest.mark.parametrize("width", [2, 4])
def test_symbolic_blocks_are_the_numeric_ones(width):
    """Linear branches: Post-LN at W = 0 (its divisor is rational), Pre-LN at any W."""
    size, signs, shift = rational_rows(width)
    row = (size * signs + shift).tolist()
    weight = RNG.integers(-2, 3, size=(width, width)).tolist()
    branch = numeric.Sublayer(lambda rows, w: rows @ np.transpose(w), lambda *_: None)
    _, norm = P.branch_and_norm()
    plain = np.ones(width), np.zeros(width)
    values = {d: width, x: row, P.W: weight, epsilon: Fraction(1, 10)}
    pre = numeric.pre_norm(branch, norm, np.array([row]), weight, plain)[0]
    post = numeric.post_norm(branch, norm, np.array([row]), np.zeros((width, width)), plain)[0]
    nothing = {**values, P.W: [[0] * width] * width}
    for k in range(width):
        assert np.isclose(float(evaluated(P.linear_pre(a), values, {a: k})), pre[k])
        got = evaluated(normalised(OUTSIDE, P.linear_sum, a), nothing, {a: k})
        assert np.isclose(float(got), post[k])


@pytest.mark.parametrize("width", [2, 4])
def test_symbolic_factors_are_the_numeric_ones(width):
    """The factors of the blocks at integer branch Jacobians, with mu, sigma and s put in."""
    size, signs, shift = rational_rows(width)
    row = size * signs + shift
    matrix = RNG.integers(-2, 3, size=(width, width))
    branch = numeric.Sublayer(
        lambda rows, w: rows @ w.T, lambda rows, w, g: (g @ w, g.T @ rows)
    )  # fmt: skip
    _, norm = P.branch_and_norm()
    plain = np.ones(width), np.zeros(width)
    rows = np.broadcast_to(row, (width, width)).astype(float)
    pre = numeric.pre_norm_vjp(branch, norm, rows, matrix.astype(float), plain, np.eye(width))[0]
    k = natural("k")
    norm_values = {d: width, x: row.tolist(), mu: shift, sigma: size, s: size + Fraction(1, 10)}
    norms = [[evaluated(jacobian(OUTSIDE, a, b), norm_values, {a: i, b: j}) for j in range(width)]
             for i in range(width)]  # fmt: skip
    values = {d: width, k: 0, Js: [matrix.tolist()], Ns: [[[str(q) for q in r] for r in norms]]}
    for i in range(width):
        for j in range(width):
            got = evaluated(P.pre_step(k, a, b), values, {a: i, b: j})
            assert np.isclose(float(got), pre[i, j])
    post = np.array(norms, dtype=float) @ (np.eye(width) + matrix)
    for i in range(width):
        for j in range(width):
            got = evaluated(P.post_step(k, a, b), values, {a: i, b: j})
            assert np.isclose(float(got), post[i, j])
