"""Residual connections: verdicts, replay, twins, mutants, and agreement with the NumPy blocks."""

from __future__ import annotations

import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
from claim_checks import CONCLUDED, mutant, settle, without

import numeric
from derive import auto
from derive.claim import Added, Correction, Example, Given
from derive.claims import residual as R
from derive.claims.residual import (
    J,
    Js,
    K,
    L,
    Ps,
    a,
    at,
    b,
    c,
    d,
    f,
    g,
    gs,
    loss,
    rho,
    rhos,
    u,
    w,
    x,
)
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
    index,
    less,
    plus,
    times,
    total,
)
from derive.prover import Prover
from derive.result import TwinStatus, Verdict
from derive.search import NotFound

BY_NAME = {claim.id.split("/")[1]: claim for claim in R.CLAIMS}
CONDITIONAL = {"aligned-branch", "no-vanishing", "product-bounds"}
REFUTED = {"scalar-one", "factor-order", "layer-order", "depth-free", "small-is-not-idle"}


# ---------------------------------------------------------------------- every claim


def test_expected_verdicts():
    of_kind = {v: {n for n, x in BY_NAME.items() if x.expected is v} for v in Verdict}
    assert of_kind[Verdict.CONDITIONAL] == CONDITIONAL
    assert of_kind[Verdict.REFUTED] == REFUTED
    assert len(of_kind[Verdict.PROVED]) == len(BY_NAME) - len(CONDITIONAL | REFUTED)
    assert {p for claim in R.CLAIMS for p in claim.source.places} == {"A29", "A30"}


def test_what_is_assumed():
    axioms = {n: {x.name for x in settle(claim).result.axioms} for n, claim in BY_NAME.items()}
    calculus = {"jacobian", "gradient", "plus-one", "scalar", "recurrence"}
    assert {n for n, names in axioms.items() if "derivative-table" in names} == calculus
    for name in ("layers", "direct-path", "vanishing", "factor-order", "layer-order"):
        assert axioms[name] == set()
    assert axioms["no-vanishing"] == {"sqrt-square", "sqrt-product", "sqrt-rational", "sqrt-sign"}


@pytest.mark.parametrize("name", BY_NAME)
def test_every_hypothesis_is_used(name):
    if BY_NAME[name].expected is not Verdict.REFUTED:
        assert all(h.used for h in settle(BY_NAME[name]).result.hypotheses)


def test_counterexamples_are_exact():
    shown = {
        n: [(x.latex, x.breaks) for x in settle(BY_NAME[n]).result.counterexamples]
        for n in CONDITIONAL | REFUTED
    }
    assert shown["scalar-one"] == [(r"3 \ne 4", "")]
    assert shown["factor-order"] == [(r"1 \ne 0", "")]
    assert shown["layer-order"] == [(r"2 \ne 1", "")]
    assert shown["no-vanishing"] == [
        (r"\sum_{i=0}^{0} g_{i}\,(\delta_{i,0}+J_{i\,0}) = 0", r"\rho < 1")
    ]
    assert shown["product-bounds"][0][0] == r"4 > \frac{1}{4}"
    # seven layers f(x) = -x/10
    assert shown["depth-free"] == [(r"\frac{1}{2} > \frac{4782969}{10000000}", "")]
    assert Fraction(4782969, 10000000) == Fraction(9, 10) ** 7


# ---------------------------------------------------------------------- mutants


def y(i):
    return plus(x[i], f(x)[i])


def jacobian_mutants():
    slope = f.partial(x)
    for value in (
        plus(R.one(a, b), times(-1, slope[a, b])),  # sign
        plus(R.one(a, b), slope[b, a]),  # transposed
        slope[a, b],  # no identity
        plus(1, slope[a, b]),  # the number 1
        plus(times(2, R.one(a, b)), slope[a, b]),  # factor
        plus(R.one(a, b), f.partial(y)[a, b]),  # at the output
    ):
        yield forall(a, GradientIs(R.output(a), x, b, value))


def gradient_mutants():
    at_output, at_input, slope = loss.partial(y), loss.partial(x), f.partial(x)
    for value in (
        R.passed(at_output.__getitem__, lambda i, k: slope[k, i])(a),  # transposed
        R.with_ones(at_output.__getitem__, lambda i, k: slope[i, k])(a),  # the number 1
        R.through(at_output.__getitem__, lambda i, k: slope[i, k])(a),  # no identity
        R.passed(at_input.__getitem__, lambda i, k: slope[i, k])(a),  # loss at the input
        R.passed(at_output.__getitem__, lambda i, k: times(-1, slope[i, k]))(a),  # sign
        at_output[a],  # the branch forgotten
    ):
        yield GradientIs(loss(y)[()], x, a, value)


def plus_one_mutants():
    at_output, slope = loss.partial(y), f.partial(x)
    branch = total(times(at_output[b], slope[b, a]), b)
    for value in (
        plus(at_output[a], times(-1, branch)),
        plus(1, branch),
        plus(total(at_output[b], b), branch),
        plus(times(2, at_output[a]), branch),
        plus(at_output[a], total(times(at_output[b], slope[a, b]), b)),
    ):
        yield GradientIs(loss(y)[()], x, a, value)


def scalar_mutants():
    slope, branch = R.loss1.partial(R.output1)[0], R.f1.partial(R.x1)[0, 0]
    for value in (
        times(slope, plus(1, times(-1, branch))),
        times(slope, branch),
        times(slope, plus(2, branch)),
        times(R.loss1.partial(R.x1)[0], plus(1, branch)),
    ):
        yield GradientIs(R.loss1(R.output1)[()], R.x1, R.i1, value)


def recurrence_mutants():
    formula = BY_NAME["recurrence"].statement
    function, v, _, value, point = formula.args
    layer = R.l
    yield from (
        GradientIs(function, v, a, value),  # not at the input of the layer
        GradientIs(function, v, a, times(2, value), point),
        GradientIs(function, v, a, value, R.xs[layer + 1, a]),
        GradientIs(
            function, v, a,
            R.passed(lambda i: R.losses.partial(at(R.xs, layer))[layer + 1, i],
                     lambda i, k: R.branches.partial(at(R.xs, layer))[layer, i, k])(a),
            point,
        ),
        GradientIs(
            function, v, a,
            R.passed(lambda i: R.losses.partial(at(R.xs, layer + 1))[layer + 1, i],
                     lambda i, k: R.branches.partial(at(R.xs, layer))[layer, k, i])(a),
            point,
        ),
    )  # fmt: skip


behind, branch = R.passed(at(g), at(J)), R.through(at(g), at(J))
#: mutants about numbers: the search finds exact values at which each of them fails
PLAIN_MUTANTS = [
    # the +1 term
    ("vanishing", forall(a, equal(behind(a), plus(g[a], times(-1, branch(a)))))),
    ("vanishing", forall(a, equal(behind(a), branch(a)))),
    ("vanishing", forall(a, equal(behind(a), plus(times(2, g[a]), branch(a))))),
    ("vanishing", forall(a, equal(behind(a), plus(g[a], total(times(J[a, b], g[b]), b))))),
    # the length of a gradient behind one block
    ("aligned-branch", at_most(R.length(behind), R.length(at(g)))),
    ("aligned-branch", at_most(times(2, R.length(at(g))), R.length(behind))),
    # Cauchy-Schwarz and the triangle inequality
    ("cauchy-schwarz", less(sp.Abs(R.inner(at(u), at(w))),
                            times(R.length(at(u)), R.length(at(w))))),
    ("cauchy-schwarz", at_most(sp.Abs(R.inner(at(u), at(w))), R.length(at(u)))),
    ("cauchy-schwarz", at_most(times(2, R.inner(at(u), at(w))),
                               times(R.length(at(u)), R.length(at(w))))),
    ("triangle", less(R.length(R.summed(at(u), at(w))), plus(R.length(at(u)), R.length(at(w))))),
    ("triangle", at_most(R.length(R.summed(at(u), at(w))),
                         plus(R.length(at(u)), times(-1, R.length(at(w)))))),
    ("triangle", at_most(R.length(R.summed(at(u), at(w))), R.length(at(u)))),
    # two layers
    ("layer-order", forall([a, b], equal(R.product_entry(at(J), at(K)),
                                         plus(R.one(a, b), R.plain_product(at(J), at(K)))))),
    ("layer-order", forall([a, b], equal(R.plain_product(at(J), at(K)),
                                         R.plain_product(at(K), at(J))))),
    # the readings of the factor
    ("scalar-one", BY_NAME["scalar-one"].statement),
    ("factor-order", BY_NAME["factor-order"].statement),
    ("layer-order", BY_NAME["layer-order"].statement),
    ("factor-order", forall(a, equal(behind(a), R.applied(at(J), at(g))(a)))),
    ("small-is-not-idle", BY_NAME["small-is-not-idle"].statement),
]  # fmt: skip

EQUIVALENCES = [
    # of vanishing
    iff(R.vanishes(behind), forall(a, equal(branch(a), g[a]))),
    # of the reading with the number 1
    iff(BY_NAME["scalar-one"].statement, equal(d, 1)),
    iff(BY_NAME["scalar-one"].statement, R.vanishes(at(g))),
    implies(equal(d, 2), BY_NAME["scalar-one"].statement),
    # of the order of the factors
    iff(R.ORDERS_AGREE.args[0].args[0], forall([a, b], equal(J[a, b], times(-1, J[b, a])))),
    iff(R.ORDERS_AGREE.args[0].args[0], forall([a, b], equal(J[a, b], R.one(a, b)))),
    implies(R.LAYERS_COMMUTE.args[0].args[0], forall([a, b], equal(J[a, b], K[a, b]))),
    forall([a, b], equal(R.product_entry(at(J), at(K)), R.product_entry(at(K), at(J)))),
]


def added_up_to(k, first=0):
    """What the branches of layers first .. first + k - 1 add."""
    layer = index("k", k)
    return total(R.arrives(layer + first), layer)


size, behind_all = R.length(at(g)), R.length(R.behind_layers(L))
low, high = (R.product_up_to(factor, L) for factor in (R.lower_factor, R.upper_factor))
SEQUENCE_MUTANTS = [
    ("layers", forall(a, equal(gs[L, a], R.through(at(gs, 0), at(Ps, L))(a)))),
    ("layers", forall(a, equal(gs[0, a], R.through(at(gs, L + 1), at(Ps, L))(a)))),
    ("layers", forall(a, equal(gs[0, a], times(2, R.through(at(gs, L), at(Ps, L))(a))))),
    ("direct-path", forall(a, equal(gs[0, a], added_up_to(L)))),
    ("direct-path", forall(a, equal(gs[0, a], plus(gs[L, a], added_up_to(L + 1))))),
    ("direct-path", forall(a, equal(gs[0, a], plus(gs[L, a], added_up_to(L, first=1))))),
    ("direct-path", forall(a, equal(gs[0, a], plus(gs[L + 1, a], added_up_to(L))))),
    ("direct-path", forall(a, equal(gs[0, a], plus(gs[L, a], times(-1, added_up_to(L)))))),
    ("product-bounds", at_most(behind_all, times(low, size))),
    ("product-bounds", at_most(times(low, size), R.length(R.behind_layers(L + 1)))),
    ("product-bounds", less(times(low, size), behind_all)),
    ("depth-free", implies(R.SUMMABLE, at_most(size, behind_all))),
    ("depth-free", implies(R.SUMMABLE, at_most(behind_all, size))),
    ("one-block", at_most(times(plus(1, rho), R.length(at(g))), R.length(behind))),
    ("one-block", at_most(R.length(behind), times(plus(1, times(-1, rho)), R.length(at(g))))),
    ("one-block", both(less(times(plus(1, times(-1, rho)), R.length(at(g))), R.length(behind)),
                       BY_NAME["one-block"].statement.args[1])),
]  # fmt: skip


def proved_by(claim):
    """Who proves it: its own script, or the automatic prover (no search for counterexamples)."""
    out = set()
    try:
        if settle(claim).result.verdict in CONCLUDED:
            out.add("script")
    except (LookupError, AttributeError, TypeError):
        pass  # the script stumbles over a missing hypothesis
    converter = Converter()
    given = [converter.formula(h.formula) for h in claim.given]
    goal = converter.formula(claim.statement)
    try:
        theorem = auto.prove(Prover(converter, given), goal)
    except (NotFound, KernelError):
        return out
    return out | {"automatic"} if theorem.hypotheses <= set(given) else out


CALCULUS_MUTANTS = [
    ("jacobian", jacobian_mutants),
    ("gradient", gradient_mutants),
    ("plus-one", plus_one_mutants),
    ("scalar", scalar_mutants),
    ("recurrence", recurrence_mutants),
]


@pytest.mark.parametrize(
    ("name", "statement"), [(n, s) for n, mutants in CALCULUS_MUTANTS for s in mutants()]
)
def test_mutated_gradients(name, statement):
    claim = mutant(BY_NAME[name], statement=statement)
    assert proved_by(claim) == set()


@pytest.mark.parametrize(("name", "statement"), PLAIN_MUTANTS)
def test_mutants_about_numbers_are_refuted(name, statement):
    claim = mutant(BY_NAME[name], statement=statement, given=())
    assert proved_by(claim) == set()
    assert settle(replace(claim, proof=None)).result.verdict is Verdict.REFUTED


@pytest.mark.parametrize("statement", EQUIVALENCES)
def test_mutated_equivalences(statement):
    for claim in (R.VANISHING, R.SCALAR_ONE, R.FACTOR_ORDER, R.LAYER_ORDER):
        script = claim.proof or claim.correction.proof
        assert proved_by(mutant(claim, statement=statement, proof=script)) == set()


@pytest.mark.parametrize(("name", "statement"), SEQUENCE_MUTANTS)
def test_mutants_about_lengths_and_layers(name, statement):
    claim = BY_NAME[name]
    given = (*claim.given, *(Given(h.formula) for h in claim.added))
    script = claim.proof or claim.correction.proof
    assert proved_by(mutant(claim, statement=statement, given=given, proof=script)) == set()


SHRINKING, GROWING = Fraction(-1, 10), Fraction(1, 10)


def one_component(name, factor):
    """Width 1, and every branch is f(x) = factor x: all that the hypotheses speak of."""
    if name == "one-block":
        return {d: 1, rho: abs(factor), g: [1], J: T.Lam(2, T.num(factor))}
    stack = {d: 1, L: 2, Js: R.multiples(factor)}
    if name in ("layers", "direct-path"):
        stack[gs] = T.Lam(2, T.fn("rpow", T.num(1 / (1 + factor)), T.bound(1)))
    if name != "direct-path":
        stack[Ps] = R.powers(1 + factor)
    if name in ("product-bounds", "depth-free"):
        stack[g] = [1]
        stack[rhos] = T.Lam(1, T.num(abs(factor)))
    return stack


@pytest.mark.parametrize(("name", "statement"), SEQUENCE_MUTANTS)
def test_mutants_about_lengths_and_layers_are_false(name, statement):
    """Shrinking or growing branches refute each of them, and meet all hypotheses."""
    claim = mutant(
        BY_NAME[name],
        statement=statement,
        given=(*BY_NAME[name].given, *(Given(h.formula) for h in BY_NAME[name].added)),
        proof=None,
    )
    examples = [Example(one_component(name, factor)) for factor in (SHRINKING, GROWING)]
    found = {settle(replace(claim, counterexample=e)).result.verdict for e in examples}
    assert Verdict.REFUTED in found


@pytest.mark.parametrize(
    ("name", "position"),
    [(n, k) for n, claim in BY_NAME.items() if claim.proof for k in range(len(claim.given))],
)
def test_no_hypothesis_can_be_dropped(name, position):
    claim = BY_NAME[name]
    given = (*without(claim, position), *(Given(h.formula) for h in claim.added))
    assert proved_by(mutant(claim, given=given)) == set()


@pytest.mark.parametrize("name", sorted(CONDITIONAL))
def test_the_added_hypothesis_cannot_be_dropped(name):
    trivial = Given(equal(0, 0))
    claim = mutant(BY_NAME[name], given=(*BY_NAME[name].given, trivial))
    assert proved_by(claim) == set()


@pytest.mark.parametrize("limit", [at_most(rho, 1), less(rho, 2), less(-1, rho), less(1, rho)])
def test_no_weaker_smallness_keeps_the_gradient(limit):
    claim = mutant(R.NO_VANISHING, given=(R.SMALL, Given(limit)))
    assert proved_by(claim) == set()


def wrong_products():
    """The factors in the other order, and a product that does not start at I."""
    reversed_order = R.each_layer(
        R.l,
        forall(
            [a, b],
            equal(
                Ps[R.l + 1, a, b],
                total(times(Ps[R.l, a, c], plus(R.one(c, b), Js[R.l, c, b])), c),
            ),
        ),
    )
    forgotten = R.each_layer(
        R.l, forall([a, b], equal(Ps[R.l + 1, a, b], total(times(Js[R.l, a, c], Ps[R.l, c, b]), c)))
    )
    start = forall([a, b], equal(Ps[0, a, b], 1))
    gradients, first, products = R.LAYERS.given
    yield (gradients, first, Given(reversed_order))
    yield (gradients, first, Given(forgotten))
    yield (gradients, Given(start), products)


@pytest.mark.parametrize("given", list(wrong_products()))
def test_wrong_products_of_the_factors(given):
    assert proved_by(mutant(R.LAYERS, given=given)) == set()


def wrong_corrections():
    depth, idle = R.DEPTH_FREE.correction, R.IDLE_BRANCH.correction
    small, few = R.SUMMABLE.args
    for premise in (both(small, at_most(R.spent(L), 1)), small, few,
                    both(small, at_most(R.spent(L + 1), 1))):  # fmt: skip
        yield R.DEPTH_FREE, replace(depth, statement=implies(premise, R.DEPTH_FREE_BOUND))
    for position in range(2):
        given = (*depth.given[:position], Given(equal(0, 0)), *depth.given[position + 1 :])
        yield R.DEPTH_FREE, replace(depth, given=given)
    twice = forall(c, equal(R.passed(at(g), R.branch_jacobian)(c), times(2, g[c])))
    yield R.IDLE_BRANCH, replace(idle, statement=implies(R.NO_JACOBIAN, twice))
    yield R.SCALAR_ONE, Correction(EQUIVALENCES[3], R.prove_ones_agree)
    yield R.FACTOR_ORDER, Correction(EQUIVALENCES[6], R.prove_orders_agree)


@pytest.mark.parametrize(("claim", "correction"), list(wrong_corrections()))
def test_wrong_corrections_do_not_stand(claim, correction):
    for attempt in (correction, replace(correction, proof=None)):
        result = settle(replace(claim, correction=attempt)).result
        assert result.verdict is Verdict.UNDECIDED
        assert result.correction is None


def test_wrong_examples_do_not_stand():
    """Values that break nothing, that break a hypothesis, and that meet the added one."""
    symmetric = Example({d: 2, g: [1, 0], J: [[0, 1], [1, 0]]})
    assert settle(replace(R.FACTOR_ORDER, counterexample=symmetric)).result.verdict is (
        Verdict.UNDECIDED
    )
    seven = R.DEPTH_FREE.counterexample
    for changed in (
        {L: 6},  # (9/10)^6 > 1/2
        {Ps: R.powers(Fraction(8, 10))},  # not the product of these factors
        {Ps: R.powers(Fraction(8, 10)), Js: R.multiples(Fraction(-2, 10))},  # not small
        {Ps: R.powers(Fraction(11, 10)), Js: R.multiples(Fraction(1, 10))},  # it grows
        {g: [0]},
    ):
        example = replace(seven, values={**seven.values, **changed})
        claim = replace(R.DEPTH_FREE, counterexample=example)
        assert settle(claim).result.verdict is Verdict.UNDECIDED
    for values in ({d: 1, rho: sp.Rational(1, 2), g: [1], J: [[-1]]},  # not bounded by rho
                   {d: 1, rho: 1, g: [0], J: [[-1]]},  # no gradient
                   {d: 1, rho: 1, g: [1], J: [[1]]}):  # the gradient passes  # fmt: skip
        added = (replace(R.NO_VANISHING.added[0], counterexample=Example(values)),)
        assert settle(replace(R.NO_VANISHING, added=added)).result.verdict is Verdict.UNDECIDED
    no_witness = replace(R.NO_VANISHING.witness, values={d: 1, rho: 1, g: [1], J: [[-1]]})
    assert settle(replace(R.NO_VANISHING, witness=no_witness)).result.verdict is Verdict.UNDECIDED


def test_a_condition_that_is_not_needed_is_not_conditional():
    """One block is bounded for every rho, so an added bound on rho changes nothing."""
    example = R.NO_VANISHING.added[0].counterexample
    claim = replace(
        R.ONE_BLOCK, added=(Added(less(rho, 1), example),), witness=R.NO_VANISHING.witness
    )
    assert settle(claim).result.verdict is Verdict.PROVED


# ---------------------------------------------------------------------- twins can disagree


def break_blocks(monkeypatch, wrong):
    """Put `wrong(sublayer, x, weights, cotangent)` in the place of `residual_vjp`."""
    monkeypatch.setattr(numeric, "residual_vjp", wrong)
    monkeypatch.setattr(sys.modules["numeric.residual"], "residual_vjp", wrong)


def no_identity(sublayer, x, weights, cotangent):
    return sublayer.vjp(x, weights, cotangent)


def wrong_sign(sublayer, x, weights, cotangent):
    through, grad_weights = sublayer.vjp(x, weights, cotangent)
    return cotangent - through, grad_weights


def only_identity(sublayer, x, weights, cotangent):
    return cotangent, sublayer.vjp(x, weights, cotangent)[1]


ALL_BUT_FORWARD = {"cauchy-schwarz", "jacobian", "triangle"}


def disagreeing():
    twins = {n: claim.twin.run(0, claim.id) for n, claim in BY_NAME.items()}
    return {n for n, twin in twins.items() if twin.status is TwinStatus.DISAGREES}


def test_twins_miss_the_identity(monkeypatch):
    break_blocks(monkeypatch, no_identity)
    # the first two do not look at the gradient behind a block; the others all see it
    assert disagreeing() == set(BY_NAME) - ALL_BUT_FORWARD


def test_twins_see_a_wrong_sign(monkeypatch):
    break_blocks(monkeypatch, wrong_sign)
    # with a zero branch the sign cannot matter, and the bounds do not depend on it
    assert disagreeing() == set(BY_NAME) - ALL_BUT_FORWARD - {"small-is-not-idle", "product-bounds"}


def test_twins_see_a_forgotten_branch(monkeypatch):
    break_blocks(monkeypatch, only_identity)
    seen = disagreeing()
    assert {"gradient", "plus-one", "scalar", "layers", "recurrence", "no-vanishing"} <= seen
    assert {"scalar-one", "factor-order", "layer-order", "depth-free", "one-block"} <= seen


def test_twin_of_the_jacobian_sees_a_wrong_forward(monkeypatch):
    monkeypatch.setattr(numeric, "residual", lambda layer, x, weights: layer.forward(x, weights))
    assert "jacobian" in disagreeing()


def test_twins_of_the_inequalities_see_violations(monkeypatch):
    """Three times the branch breaks the bounds that the lengths are compared with."""

    def amplified(sublayer, x, weights, cotangent):
        through, grad_weights = sublayer.vjp(x, weights, cotangent)
        return cotangent + 3 * through, grad_weights

    break_blocks(monkeypatch, amplified)
    assert {"one-block", "product-bounds", "triangle"} <= disagreeing()


# ---------------------------------------------------------------------- the same things in NumPy

RNG = np.random.default_rng(29)


def integers(*shape):
    return RNG.integers(-3, 4, size=shape)


def exact(expression, values, entry):
    """Component `entry` of a symbolic vector or matrix at integer values."""
    converter = Converter()
    term = converter.term(expression)
    chosen = {}
    for symbol, number in values.items():
        if isinstance(symbol, sp.IndexedBase):
            chosen[str(symbol.label)] = table(number.tolist())
        else:
            chosen[converter.term(symbol)] = T.num(int(number))
    placed = {converter.term(i): T.num(k) for i, k in entry.items()}
    # indices are put in after the sizes, which are in their ranges
    at = T.substitute(term, placed)
    return literal(Normaliser().poly(at_values(at, chosen)))


def linear_gradient(cotangent, *jacobians):
    """By `residual_stack_vjp`, for branches f(x) = J x."""
    return R.linear_stack_gradient([j.astype(float) for j in jacobians], cotangent.astype(float))


@pytest.mark.parametrize("width", [1, 2, 5])
def test_symbolic_gradient_is_the_numeric_one(width):
    row, jacobian = integers(width), integers(width, width)
    values = {d: width, g: row, J: jacobian}
    gradient = linear_gradient(row, jacobian)
    column = linear_gradient(row, jacobian.T)
    for k in range(width):
        assert exact(behind(a), values, {a: k}) == gradient[k]
        assert exact(plus(g[a], branch(a)), values, {a: k}) == gradient[k]
        assert exact(R.applied(at(J), at(g))(a), values, {a: k}) == column[k]
        ones = row @ (1 + jacobian)
        assert exact(R.with_ones(at(g), at(J))(a), values, {a: k}) == ones[k]


@pytest.mark.parametrize("width", [1, 3])
def test_value_of_the_gradient_claim_is_the_numeric_one(width):
    """The kernel's own value of the gradient, with partial derivatives put in as numbers."""
    row, jacobian = integers(width), integers(width, width)
    statement = Converter().formula(R.GRADIENT.statement)
    at_width = T.substitute(statement, {T.var("d_model", "dim"): T.num(width)})
    gradient = linear_gradient(row, jacobian)
    for k in range(width):
        value = Normaliser().poly(T.instantiate(at_width.children[-1], (T.num(k),)))
        measured = sum(
            q * np.prod([partial(t, row, jacobian) ** e for t, e in m.factors])
            for m, q in value.items()
        )
        assert float(measured) == gradient[k]


def partial(t, row, jacobian):
    assert t.op == "app"
    assert t.data.derivatives == (0,)
    indices = [int(i.data) for i in t.children[: t.data.scalars]]
    return float({"loss": row, "f": jacobian}[t.data.head][tuple(indices)])


@pytest.mark.parametrize(("width", "depth"), [(1, 3), (2, 1), (3, 4)])
def test_symbolic_layers_are_the_numeric_stack(width, depth):
    jacobians = integers(depth, width, width)
    gradients = np.zeros((depth + 1, width), dtype=int)
    products = np.zeros((depth + 1, width, width), dtype=int)
    gradients[depth], products[0] = integers(width), np.eye(width)
    for k in range(depth):
        factor = np.eye(width, dtype=int) + jacobians[k]
        products[k + 1] = factor @ products[k]
    for k in reversed(range(depth)):
        gradients[k] = linear_gradient(gradients[depth], *jacobians[k:])
    values = {d: width, L: depth, gs: gradients, Js: jacobians, Ps: products}
    recurrence, start, following = (Converter().formula(h.formula) for h in R.LAYERS.given)
    claimed = Converter().formula(R.LAYERS.statement)
    direct = Converter().formula(R.DIRECT_PATH.statement)
    chosen = {s: v for s, v in values.items() if s not in (d, L)}
    tables = {str(s.label): table(v.tolist()) for s, v in chosen.items()}
    sizes = {T.var("d_model", "dim"): T.num(width), T.var("L", "nat"): T.num(depth)}

    def holds(formula):
        at = T.substitute(formula, {s: v for s, v in sizes.items()}, tables)
        return decided(at)

    assert holds(start)
    assert holds(claimed)
    assert holds(direct)
    for k in range(depth):
        for formula in (recurrence, following):
            limit, body = T.instantiate(formula.children[-1], (T.num(k),)).children
            assert limit is T.lt(T.num(k), T.var("L", "nat"))
            assert holds(body)
    wrong = Converter().formula(forall(a, equal(gs[0, a], gs[L, a])))
    assert not holds(wrong) or not np.any(gradients[0] - gradients[depth])


def decided(formula):
    """The truth of a formula about literal ranges, by exact evaluation of every instance."""
    if formula.op == "forall":
        size = int(formula.children[0].data)
        return all(decided(T.instantiate(formula.children[1], (T.num(k),))) for k in range(size))
    assert formula.op == "eq"
    norm = Normaliser()
    difference = literal(norm.poly(T.sub(*formula.children)))
    assert difference is not None
    return difference == 0


@pytest.mark.parametrize("width", [1, 2, 4])
def test_symbolic_length_is_the_numeric_norm(width):
    row, jacobian = integers(width), integers(width, width)
    gradient = linear_gradient(row, jacobian)
    square = exact(R.squared(R.length(behind)), {d: width, g: row, J: jacobian}, {})
    assert square == gradient @ gradient
    assert np.isclose(float(square) ** 0.5, np.linalg.norm(gradient))
