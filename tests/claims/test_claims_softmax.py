"""Softmax: verdicts, replay, twins, mutants, and agreement with the NumPy softmax."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
from claim_checks import is_false_at, mutant, proved_by, settle, without

import numeric
from derive.claim import Example, Given
from derive.claims import softmax as S
from derive.claims._softmax import delta, i, j, k, m, softmax, weights
from derive.claims.softmax import A, J, a, g, keys, n, p, query, scores, t, v, w, z
from derive.convert import Converter
from derive.counterexample import table
from derive.kernel import terms as T
from derive.kernel.check import at_values
from derive.kernel.normal import Normaliser, literal
from derive.kernel.rules import evaluate
from derive.language import (
    GradientIs,
    at_most,
    both,
    equal,
    forall,
    iff,
    implies,
    less,
    negation,
    over,
    plus,
    power,
    times,
    total,
)
from derive.result import TwinStatus, Verdict

BY_NAME = {claim.id.split("/")[1]: claim for claim in S.CLAIMS}
CONDITIONAL = {"vanishing", "columns"}
REFUTED = {"query-bias"}
half, quarter = sp.Rational(1, 2), sp.Rational(1, 4)


# ---------------------------------------------------------------------- every claim


def test_expected_verdicts():
    of_kind = {v: {n for n, x in BY_NAME.items() if x.expected is v} for v in Verdict}
    assert of_kind[Verdict.CONDITIONAL] == CONDITIONAL
    assert of_kind[Verdict.REFUTED] == REFUTED
    assert len(of_kind[Verdict.PROVED]) == len(BY_NAME) - len(CONDITIONAL | REFUTED)
    places = {p for claim in S.CLAIMS for p in claim.source.places}
    assert places == {"B01b", "B02", "B03", "B15", "B16"}


def test_counterexamples_are_exact():
    shown = {
        name: [(x.latex, x.breaks) for x in settle(BY_NAME[name]).result.counterexamples]
        for name in CONDITIONAL | REFUTED
    }
    assert shown["columns"] == [(r"7 \ne 16", "b = 0")]
    assert shown["query-bias"] == [(r"\frac{1}{3} \ne \frac{1}{2}", "")]
    ((latex, breaks),) = shown["vanishing"]
    assert latex == r"\frac{1}{4} > \frac{1}{16}"
    assert r"z_{s}+\Delta \le z_{k}" in breaks


def test_only_gradients_use_the_derivative_table():
    axioms = {n: {x.name for x in settle(claim).result.axioms} for n, claim in BY_NAME.items()}
    calculus = {n for n, names in axioms.items() if "derivative-table" in names}
    assert calculus == {"jacobian", "backward", "scaled-jacobian", "through-scores"}
    increasing = {n for n, names in axioms.items() if "exp-increasing" in names}
    assert increasing == {"vanishing", "scaled-vanishing", "ties-do-not-vanish"}


# ---------------------------------------------------------------------- mutants


def jacobian_is(entry):
    return Given(forall([i, j], equal(J[i, j], entry)))


PLUS = jacobian_is(plus(times(p[i], delta(i, j)), times(p[i], p[j])))
NO_WEIGHT = jacobian_is(plus(delta(i, j), times(-1, p[i], p[j])))
NO_PRODUCT = jacobian_is(times(p[i], delta(i, j)))
DOUBLED = jacobian_is(plus(times(2, p[i], delta(i, j)), times(-2, p[i], p[j])))
UNNORMALISED = Given(forall(i, equal(p[i], sp.exp(z[i]))))
UNNORMALISED_SCALED = Given(forall(i, equal(p[i], sp.exp(times(a, z[i])))))


def with_given(name, position, wrong):
    claim = BY_NAME[name]
    given = list(claim.given)
    given[position] = wrong
    return name, {"given": tuple(given)}


def stated(name, statement):
    return name, {"statement": statement}


def elsewhere(name, statement, values):
    """A mutant that fails at other values than the other ones of its claim."""
    return name, {"statement": statement}, values


WRONG_JACOBIANS = [
    with_given(name, 1, wrong)
    for name, wrongs in {
        "jacobian": (NO_WEIGHT, DOUBLED),
        "jacobian-sums": (PLUS, NO_WEIGHT, NO_PRODUCT),
        "jacobian-entries": (PLUS, NO_WEIGHT, DOUBLED),
        "jacobian-variance": (PLUS, NO_WEIGHT, DOUBLED, NO_PRODUCT),
        "jacobian-norm": (PLUS, NO_WEIGHT, DOUBLED, NO_PRODUCT),
        "half-attained": (NO_WEIGHT, DOUBLED),
        "scaled-jacobian": (PLUS, NO_WEIGHT, DOUBLED),
        "ties-do-not-vanish": (jacobian_is(times(-1, p[i], p[j])),),
        "through-scores": (PLUS, NO_WEIGHT, NO_PRODUCT, DOUBLED),
        "no-explosion": (PLUS, NO_WEIGHT, NO_PRODUCT, DOUBLED),
    }.items()
    for wrong in wrongs
]

WRONG_WEIGHTS = [
    *(
        with_given(name, 0, UNNORMALISED)
        for name in ("jacobian", "backward", "jacobian-sums", "jacobian-entries",
                     "jacobian-variance", "jacobian-norm", "half-attained")
    ),
    *(
        with_given(name, 0, UNNORMALISED_SCALED)
        for name in ("scaled-jacobian", "vanishing", "ties-do-not-vanish")
    ),
    with_given("below-one", 0, S.OVER_QUERIES),
    with_given("column-sums", 0, S.OVER_QUERIES),
]  # fmt: skip

paired = total(times(g[i], softmax(S.score, i)), i)
mean = total(times(p[i], g[i]), i)
longer_score = lambda i: times(2, S.attention_score(i))  # noqa: E731
by_width = lambda i: over(S.dot_product(i), S.d_k)  # noqa: E731
through = over(total(times(J[i, j], keys[j, S.c]), j), S.root)
tied, tie_ahead = BY_NAME["half-attained"].statement, S.tie_ahead.args

LOG2, LOG3 = (T.fn("log", T.num(q)) for q in (2, 3))
SCORES = {m: 2, z: [0, LOG2]}
DIRECTION = {**SCORES, v: [1, -1]}
TWO_KEYS = {m: 2, S.d_k: 1, query: [LOG2], keys: [[0], [1]], S.change: [1], S.bias: [1]}
TIED = {m: 3, z: [0, 0, 0], k: 0, S.ell: 1, a: 1}
PAIR = {m: 2, z: [0, 0], k: 0, S.ell: 1}
LED = {m: 2, z: [2, 0], a: LOG2, S.gap: 2, k: 0}
FAR_TIE = {m: 2, z: [0, 0], a: 16, S.gap: 4, k: 0}
ROWS = {m: 2, n: 2, scores: [[0, LOG2], [LOG3, 0]]}

WRONG_STATEMENTS = [
    stated("jacobian", forall(i, GradientIs(softmax(S.score, i), z, j, times(-1, J[i, j])))),
    stated("jacobian", forall(i, GradientIs(softmax(S.score, i), z, j, p[i] * p[j]))),
    stated("jacobian", forall(i, GradientIs(sp.exp(z[i]), z, j, J[i, j]))),
    stated("backward", GradientIs(paired, z, j, times(p[j], plus(g[j], mean)))),
    stated("backward", GradientIs(paired, z, j, times(2, p[j], plus(g[j], -mean)))),
    stated("backward", GradientIs(paired, z, j, times(g[j], plus(p[j], -mean)))),
    stated("jacobian-sums", forall(i, equal(total(J[i, j], j), p[i]))),
    stated("jacobian-entries", forall([i, j], at_most(times(p[i], 1 - p[i]), J[i, j]))),
    stated("jacobian-entries", forall([i, j], at_most(0, J[i, j]))),
    elsewhere("jacobian-variance", both(equal(S.form, S.spread), less(0, S.form)),
              {**SCORES, v: [1, 1]}),
    stated("jacobian-norm", at_most(total(power(w[i], 2), i),
                                    times(sp.Rational(1, 6), S.squares))),
    elsewhere("half-attained", implies(tied.args[0].args[0], tied.args[1]), {**PAIR, z: [0, LOG2]}),
    elsewhere("half-attained", implies(tied.args[0].args[1], tied.args[1]),
              {**PAIR, z: [0, LOG2], S.ell: 0}),
    elsewhere("half-attained", implies(tied.args[0], equal(p[k], half)), TIED),
    elsewhere("half-attained", implies(tied.args[0], implies(equal(m, 3), equal(p[k], half))),
              TIED),
    stated("scaled-jacobian",
           forall(i, GradientIs(softmax(S.scaled_score, i), z, j, times(a, a, J[i, j])))),
    elsewhere("ties-do-not-vanish", implies(both(*tie_ahead[1:]), at_most(S.floor, J[k, k])),
              {**TIED, z: [0, 0, -1], a: -sp.log(16)}),
    elsewhere("ties-do-not-vanish", implies(both(*tie_ahead[:3]), at_most(S.floor, J[k, k])),
              {**TIED, z: [0, 0, T.fn("log", T.num(16))]}),
    stated("ties-do-not-vanish", implies(S.tie_ahead, at_most(J[k, k], S.floor))),
    elsewhere("scaled-vanishing", implies(both(*S.alone.args[:2]), S.scaled_bound), FAR_TIE),
    elsewhere("scaled-vanishing", implies(S.alone, forall([i, j], at_most(
        times(a, sp.Abs(J[i, j])), over(S.limit, 100)))), LED),
    stated("scaled-vanishing", implies(S.alone, forall([i, j], at_most(
        times(power(a, 3), sp.Abs(J[i, j])), S.limit)))),
    stated("through-scores", forall(i, GradientIs(
        softmax(S.dot_product, i), query, S.c, through))),
    stated("through-scores", forall(i, GradientIs(
        softmax(S.attention_score, i), query, S.c, over(through, S.root)))),
    stated("no-explosion", at_most(total(power(w[i], 2), i), over(S.reached, 4))),
    stated("absorbed-factor", forall(i, equal(
        softmax(S.longer_query, i), softmax(by_width, i)))),
    stated("not-affine", implies(at_most(2, m), S.middle)),
    stated("not-affine", negation(S.middle)),
    stated("shift", implies(S.shifted, forall(i, equal(z[i], S.y[i])))),
    stated("shift", iff(S.same_weights, forall(i, equal(z[i], S.y[i])))),
    stated("probability-matrix", forall(t, equal(total(A[t, i], i), 2))),
    stated("below-one", implies(at_most(2, m), forall([t, i], less(A[t, i], half)))),
    stated("column-sums", equal(total(A[t, i], i, t), m)),
    stated("key-bias", forall(i, equal(softmax(S.with_key_bias, i), softmax(longer_score, i)))),
]  # fmt: skip

MUTANTS = [*WRONG_JACOBIANS, *WRONG_WEIGHTS, *WRONG_STATEMENTS]


@pytest.mark.parametrize("number", range(len(MUTANTS)))
def test_no_mutant_is_proved(number):
    name, parts, *_ = MUTANTS[number]
    assert proved_by(mutant(BY_NAME[name], **parts)) == set()


AT = {
    "jacobian-sums": SCORES,
    "jacobian-entries": {m: 2, z: [0, 0]},
    "jacobian-variance": DIRECTION,
    "jacobian-norm": DIRECTION,
    "half-attained": PAIR,
    "ties-do-not-vanish": TIED,
    "no-explosion": {m: 2, S.d_k: 4, query: [LOG2, 0, 0, 0],
                     keys: [[2, 0, 0, 0], [-2, 0, 0, 0]], S.change: [1, 0, 0, 0]},
    "absorbed-factor": {**TWO_KEYS, S.d_k: 4, query: [LOG2, 0, 0, 0],
                        keys: [[0, 0, 0, 0], [4, 0, 0, 0]]},
    "columns": {S.leading: 0, S.shape: [7, 16], S.d_k: 16},
    "rows-and-columns": {S.leading: 0, S.shape: [7, 16], m: 7, S.d_k: 16},
    "probability-matrix": ROWS,
    "below-one": {**ROWS, n: 1, scores: [[0, LOG2]]},
    "column-sums": {**ROWS, n: 1, scores: [[0, LOG2]]},
    "key-bias": TWO_KEYS,
}  # fmt: skip
#: Gradients have no truth value at numbers, and what is denied for all vectors is no number.
NOT_EVALUATED = {"jacobian", "backward", "scaled-jacobian", "through-scores", "not-linear",
                 "not-affine", "vanishing", "scaled-vanishing", "shift"}  # fmt: skip


@pytest.mark.parametrize(
    "number", [x for x, (name, *_) in enumerate(MUTANTS) if name not in NOT_EVALUATED]
)
def test_mutants_are_false(number):
    name, parts, *values = MUTANTS[number]
    assert is_false_at(mutant(BY_NAME[name], **parts), values[0] if values else AT[name])


def test_at_a_tie_the_scaled_gradient_does_not_vanish():
    without_lead = implies(both(*S.alone.args[:2]), S.scaled_bound)
    assert is_false_at(mutant(S.LIMIT, statement=without_lead), FAR_TIE)


def test_the_claims_themselves_hold_there():
    for name, values in AT.items():
        assert not is_false_at(BY_NAME[name], values)


@pytest.mark.parametrize(
    ("name", "position"), [("rows-and-columns", 2), ("rows-and-columns", 0), ("jacobian-sums", 1)]
)
def test_no_hypothesis_can_be_dropped(name, position):
    claim = mutant(BY_NAME[name], given=without(BY_NAME[name], position))
    assert proved_by(claim) == set()


@pytest.mark.parametrize("name", sorted(CONDITIONAL))
def test_the_added_hypothesis_cannot_be_dropped(name):
    assert proved_by(mutant(BY_NAME[name])) == set()


def test_wrong_examples_do_not_stand():
    """Values at which the statement holds, or that do not violate the added hypothesis."""
    harmless = Example({m: 2, z: [1, 0], a: 1, S.gap: 1, k: 0})
    (added,) = S.VANISHING.added
    claim = replace(S.VANISHING, added=(replace(added, counterexample=harmless),))
    assert settle(claim).result.verdict is Verdict.UNDECIDED
    still = Example({S.leading: 0, S.shape: [7, 16], S.d_k: 16})
    (added,) = S.COLUMNS.added
    claim = replace(S.COLUMNS, added=(replace(added, counterexample=still),))
    assert settle(claim).result.verdict is Verdict.UNDECIDED
    without_bias = replace(
        S.QUERY_BIAS, counterexample=Example({**TWO_KEYS, query: [LOG2], S.bias: [0]})
    )
    assert settle(without_bias).result.verdict is Verdict.UNDECIDED


def test_wrong_corrections_do_not_stand():
    right = S.QUERY_BIAS.correction
    for wrong in (
        equal(softmax(S.with_query_bias, i), times(p[i], sp.exp(S.bias_score(i)))),
        equal(
            times(softmax(S.with_query_bias, i), S.rest_of_weights),
            times(p[i], sp.exp(times(-1, S.bias_score(i)))),
        ),
    ):
        changed = replace(right, statement=forall(i, wrong))
        for proof in (right.proof, None):
            claim = replace(S.QUERY_BIAS, correction=replace(changed, proof=proof))
            assert settle(claim).result.verdict is Verdict.UNDECIDED


# ---------------------------------------------------------------------- twins see planted errors


def wrong_softmax(logits):
    e = np.exp(logits)
    return e / e.sum(axis=0)


def doubled_vjp(logits, cotangent):
    return 2 * RIGHT_VJP(logits, cotangent)


def vjp_without_mean(logits, cotangent):
    return numeric.softmax(logits) * cotangent


def vjp_with_sum(logits, cotangent):
    weight = numeric.softmax(logits)
    return weight * (cotangent + (weight * cotangent).sum(axis=-1, keepdims=True))


def scores_over_width(queries, keys):
    return queries @ np.swapaxes(keys, -1, -2) / queries.shape[-1]


def scores_by_axis_one(queries, keys):
    return queries @ np.swapaxes(keys, -1, -2) / keys.shape[1] ** 0.5


def unscaled_weights(queries, keys):
    return numeric.softmax(np.asarray(queries) @ np.asarray(keys).T)


RIGHT_VJP = numeric.softmax_vjp
PLANTED = [
    ("softmax_vjp", doubled_vjp, ["backward", "half-attained", "scaled-jacobian",
                                  "jacobian-variance", "jacobian-norm", "jacobian-entries"]),
    ("softmax_vjp", vjp_without_mean, ["backward", "jacobian-sums", "jacobian-entries",
                                       "jacobian-variance", "scaled-jacobian", "vanishing"]),
    ("softmax_vjp", vjp_with_sum, ["backward", "jacobian-sums", "jacobian-norm",
                                   "jacobian-entries"]),
    ("scaled_scores", scores_over_width, ["columns", "rows-and-columns"]),
    ("scaled_scores", scores_by_axis_one, ["columns"]),
    ("attention_weights", unscaled_weights, ["through-scores", "absorbed-factor", "no-explosion",
                                             "query-bias"]),
    ("softmax", wrong_softmax, ["probability-matrix", "below-one", "column-sums"]),
    ("softmax", np.exp, ["jacobian", "probability-matrix", "shift", "not-affine", "column-sums"]),
    ("softmax", np.tanh, ["jacobian", "not-linear", "scaled-jacobian"]),
    ("attention_weights", lambda q, k: numeric.softmax(q @ k.T) + 0 * q.sum(), ["through-scores"]),
    ("attention_weights", lambda q, k: q @ k.T, ["key-bias", "query-bias"]),
    ("softmax_vjp", lambda z, g: 0 * g, ["ties-do-not-vanish", "half-attained"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("function", "wrong", "name"), [(f, x, n) for f, x, names in PLANTED for n in names]
)
def test_twins_see_planted_errors(monkeypatch, function, wrong, name):
    monkeypatch.setattr(numeric, function, wrong)
    claim = BY_NAME[name]
    assert claim.twin.run(0, claim.id).status is TwinStatus.DISAGREES


# ---------------------------------------------------------------------- agreement with NumPy


def at(expression, values):
    """The exact value of a symbolic expression, as a float."""
    converter = Converter()
    term = converter.term(expression)
    tensors = {str(x.label): table(y) for x, y in values.items() if isinstance(x, sp.IndexedBase)}
    others = {
        converter.term(x): converter.term(y)
        for x, y in values.items() if not isinstance(x, sp.IndexedBase)
    }  # fmt: skip
    exact = literal(Normaliser().poly(T.substitute(term, others, tensors)))
    assert isinstance(exact, Fraction)
    return float(exact)


def logs(numbers):
    return [T.fn("log", T.num(int(x))) if x > 1 else T.ZERO for x in numbers]


@pytest.mark.parametrize("size", [1, 2, 5])
def test_symbolic_softmax_is_the_numeric_one(size):
    numbers = np.random.default_rng(size).integers(1, 9, size)
    weight = numeric.softmax(np.log(numbers))
    for x in range(size):
        assert at(softmax(S.score, i), {m: size, z: logs(numbers), i: x}) == pytest.approx(
            weight[x], abs=1e-14
        )


@pytest.mark.parametrize(("size", "width"), [(4, 1), (3, 4), (1, 9)])
def test_symbolic_attention_weights_are_the_numeric_ones(size, width):
    """Widths are squares, and queries are 0 or logarithms, so that all is rational."""
    rng = np.random.default_rng(size)
    numbers, key = rng.integers(1, 6, width), int(width**0.5) * rng.integers(-2, 3, (size, width))
    weight = numeric.attention_weights(np.log(numbers)[None], key)[0]
    values = {m: size, S.d_k: width, query: logs(numbers), keys: key.tolist()}
    for x in range(size):
        got = at(softmax(S.attention_score, i), {**values, i: x})
        assert got == pytest.approx(weight[x], rel=1e-12)


def test_symbolic_gradient_is_the_numeric_one():
    """The stated gradient at exact weights, against the backward pass with a random cotangent."""
    size, numbers = 4, np.array([3, 1, 5, 2])
    cotangent = np.array([2, -3, 1, 7])
    weight = [Fraction(int(x), int(numbers.sum())) for x in numbers]
    exact = {m: size, p: [T.num(x) for x in weight], g: cotangent.tolist()}
    value = times(p[j], plus(g[j], times(-1, mean)))
    gradient = numeric.softmax_vjp(np.log(numbers), cotangent)
    entry = plus(times(p[i], delta(i, j)), times(-1, p[i], p[j]))
    for x in range(size):
        assert at(value, {**exact, j: x}) == pytest.approx(gradient[x], abs=1e-14)
        row = numeric.softmax_vjp(np.log(numbers), np.eye(size)[x])
        found = [at(entry, {**exact, i: x, j: y}) for y in range(size)]
        np.testing.assert_allclose(found, row, atol=1e-15)


def test_the_bound_of_the_vanishing_gradient_is_the_numeric_one():
    """(m - 1) e^(-a Delta) at a = log 3: 2/27 for a gap of 3."""
    values = {m: 3, a: LOG3, S.gap: 3}
    assert at(S.tail, values) == pytest.approx(2 / 27)
    jacobian = S.jacobian_of(np.log(3) * np.array([3.0, 0.0, -1.0]))
    assert np.abs(jacobian).max() <= 2 / 27


def test_definitions_of_weights_can_be_evaluated():
    converter = Converter()
    formula = converter.formula(weights(S.weight, S.score))
    right = {converter.term(m): T.num(2), "z": table([0, LOG2]), "p": table(["1/3", "2/3"])}
    wrong = {**right, "p": table(["2/3", "1/3"])}
    assert evaluate(at_values(formula, right), Normaliser()) is True
    assert evaluate(at_values(formula, wrong), Normaliser()) is False
