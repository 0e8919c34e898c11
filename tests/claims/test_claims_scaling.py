"""The scaling claims: verdicts, replay, mutants, and that proofs and code mean the same."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
from claim_checks import settle

from derive.claim import Example
from derive.claims import scaling as S
from derive.convert import Converter
from derive.kernel import terms as T
from derive.language import (
    at_most,
    both,
    equal,
    forall,
    implies,
    negation,
    over,
    plus,
    power,
    times,
    total,
    variance,
)
from derive.result import Verdict
from numeric import exact_dot_moments, scaled_scores

BY_NAME = {c.id.split("/")[1]: c for c in S.CLAIMS}
CONCLUDED = (Verdict.PROVED, Verdict.CONDITIONAL)
root, dot, c, e = S.root, S.dot, S.c, S.e


def test_verdicts_are_the_ones_listed():
    kinds = {n: c.expected.value for n, c in BY_NAME.items() if c.expected is not Verdict.PROVED}
    assert kinds == {
        "unit-variance": "conditional",
        "no-bound": "refuted",
        "root-is-width": "refuted",
        "by-width": "refuted",
        "by-model-width": "refuted",
    }


# ---------------------------------------------------------------------- evaluation over tables


class Space:
    """A finite probability space: uniform outcomes, each with values of the random tensors."""

    def __init__(self, sizes, outcomes, **fixed):
        self.sizes, self.outcomes, self.fixed = sizes, outcomes, fixed

    def holds(self, formula):
        return self._truth(Converter().formula(formula))

    def value(self, expression, outcome=None):
        return self._value(Converter().term(expression), outcome)

    def _truth(self, p):
        match p.op:
            case "eq":
                a, b = (self._value(x, None) for x in p.children)
                return math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-12)
            case "and":
                return all(map(self._truth, p.children))
            case "imp":
                return not self._truth(p.children[0]) or self._truth(p.children[1])
            case "forall":
                size = self._value(p.children[0], None)
                return all(self._truth(T.instantiate(p.children[1], (T.num(i),)))
                           for i in range(int(size)))  # fmt: skip
        raise ValueError(p)

    def _value(self, t, outcome):
        match t.op:
            case "num":
                return t.data
            case "var":
                return self.sizes[t.data[0]]
            case "add":
                return sum(self._value(x, outcome) for x in t.children)
            case "mul":
                return math.prod(self._value(x, outcome) for x in t.children)
            case "pow":
                return self._value(t.children[0], outcome) ** t.data
            case "delta":
                a, b = (self._value(x, outcome) for x in t.children)
                return int(a == b)
            case "fn" if t.data == "sqrt":
                return math.sqrt(self._value(t.children[0], outcome))
            case "sum":
                size = int(self._value(t.children[0], outcome))
                parts = (T.instantiate(t.children[1], (T.num(i),)) for i in range(size))
                return sum(self._value(x, outcome) for x in parts)
            case "E":
                values = [self._value(t.children[0], o) for o in self.outcomes]
                return sum(values) / Fraction(len(values))
            case "app":
                place = tuple(int(self._value(x, outcome)) for x in t.children)
                entries = (outcome if t.data.random else self.fixed)[t.data.head]
                for k in place:
                    entries = entries[k]
                return entries
        raise ValueError(t)


def of_signs(signs, query, key, **fixed):
    rows = [
        {"q": [Fraction(v) for v in query(*r)], "k": [Fraction(v) for v in key(*r)]}
        for r in itertools.product((1, -1), repeat=signs)
    ]
    return Space({"d_k": len(rows[0]["q"]), **fixed.pop("sizes", {})}, rows, **fixed)


def independent_space(rng, width):
    """q and k each uniform over three random rows with means, independent of each other."""
    q_rows, k_rows = rng.integers(-3, 4, (2, 3, width)).tolist()
    pairs = itertools.product(q_rows, k_rows)
    rows = [{"q": list(map(Fraction, a)), "k": list(map(Fraction, b))} for a, b in pairs]
    return Space({"d_k": width}, rows)


def test_moments_hold_over_random_spaces_and_agree_with_numpy():
    rng = np.random.default_rng(1)
    for width in (1, 2, 3):
        space = independent_space(rng, width)
        assert space.holds(S.MOMENTS.statement.args[0])
        assert space.holds(S.MOMENTS.statement.args[1])
        queries = np.array([o["q"] for o in space.outcomes], dtype=float)
        keys = np.array([o["k"] for o in space.outcomes], dtype=float)
        dots = (queries * keys).sum(axis=1)
        assert float(space.value(variance(dot))) == pytest.approx(dots.var(), rel=1e-12)
        logits = np.array([scaled_scores(a[None], b[None])[0, 0] for a, b in zip(
            queries, keys, strict=True)])  # fmt: skip
        symbolic = [float(space.value(over(dot, root), o)) for o in space.outcomes]
        assert symbolic == pytest.approx(list(logits), rel=1e-12)


def test_definitions_agree_with_the_enumeration_of_signs():
    space = of_signs(2, lambda s, t: (s + 1, s - 2 * t), lambda s, t: (t + 2, 3 * s))
    exact = exact_dot_moments([[1, 0], [1, -2]], [[0, 1], [3, 0]], [1, 0], [2, 0])
    assert space.value(variance(dot)) == exact.variance
    assert space.value(S.E(dot)) == exact.mean


# ---------------------------------------------------------------------- mutants over all laws

SIGNS = of_signs(4, lambda a, b, s, t: (a, b), lambda a, b, s, t: (s, t))
MEANS = of_signs(4, lambda a, b, s, t: (a + 1, b), lambda a, b, s, t: (s + 1, t + 2))
SKEW = of_signs(2, lambda s, t: (3 * s + 1, s), lambda s, t: (t, 2 * t + 1))
UNEQUAL = of_signs(
    4, lambda a, b, s, t: (2 * a + 1, b + a), lambda a, b, s, t: (3 * s, t), tau=[3, 1]
)
DEPENDENT = of_signs(3, lambda r, s, t: (r, r), lambda r, s, t: (s, t))
ROTATED = of_signs(2, lambda s, t: (s, t), lambda s, t: (t, s))
TWO_HEADS = of_signs(
    4, lambda a, b, s, t: (a, b), lambda a, b, s, t: (s, t), sizes={"d_model": 4, "h": 2}
)
cov = S.covariance
qq, kk = S.qq, S.kk


def summed(*terms):
    return total(plus(*terms), c, e)


def independent(conclusion):
    return implies(both(S.uncorrelated, S.factorising), conclusion)


def variance_is(value):
    return independent(equal(variance(dot), value))


TRACE = times(cov(S.q, c, e), cov(S.k, c, e))
OF_KEYS = times(S.E(S.k[c]), cov(S.q, c, e), S.E(S.k[e]))
OF_QUERIES = times(S.E(S.q[c]), cov(S.k, c, e), S.E(S.q[e]))
SWAPPED = times(S.E(S.q[c]), cov(S.q, c, e), S.E(S.q[e]))


#: name of the claim -> mutated statements, each with a space that meets its hypotheses
MUTANTS = {
    "moments": [
        (S.WITHOUT_MEANS, SKEW),
        (variance_is(summed(TRACE, OF_KEYS)), SKEW),
        (variance_is(summed(TRACE, OF_QUERIES)), SKEW),
        (variance_is(summed(OF_KEYS, OF_QUERIES)), SIGNS),
        (variance_is(summed(TRACE, OF_KEYS, times(-1, OF_QUERIES))), SKEW),
        (variance_is(summed(TRACE, SWAPPED, OF_QUERIES)), SKEW),
        (variance_is(total(times(cov(S.q, c, c), cov(S.k, e, e)), c, e)), SIGNS),
        (variance_is(summed(times(2, TRACE), OF_KEYS, OF_QUERIES)), SKEW),
        (variance_is(total(times(qq(c, e), kk(c, e)), c, e)), MEANS),
        (independent(equal(S.E(dot), 0)), MEANS),
        (implies(S.uncorrelated, S.MOMENTS.statement.args[1]), ROTATED),
    ],
    "one-white-side": [
        (implies(S.one_side, equal(variance(dot), 1)), SIGNS),
        (implies(S.one_side, equal(variance(dot), power(S.d_k, 2))), SIGNS),
        (implies(S.one_side, equal(variance(over(dot, S.d_k)), 1)), SIGNS),
        (implies(S.one_side, equal(variance(times(dot, root)), 1)), SIGNS),
        (implies(S.one_side, equal(variance(over(dot, root)), S.d_k)), SIGNS),
        (
            implies(
                both(
                    S.uncorrelated, S.centred(S.k), S.white(S.k),
                    equal(total(qq(c, c), c), S.d_k),
                ),
                equal(variance(dot), S.d_k),
            ),
            ROTATED,
        ),
        (
            implies(
                both(S.uncorrelated, S.factorising, S.centred(S.k), S.white(S.k)),
                equal(variance(dot), S.d_k),
            ),
            SKEW_QUERIES := of_signs(2, lambda s, t: (2, 3), lambda s, t: (s, t)),
        ),
    ],
    "exact-condition": [
        (S.VARIANCES_ONLY, of_signs(2, lambda s, t: (s, s), lambda s, t: (t, t))),
        (
            implies(
                S.centred_keys,
                implies(
                    equal(variance(over(dot, root)), 1),
                    equal(total(times(qq(c, c), kk(c, c)), c), S.d_k),
                ),
            ),
            of_signs(2, lambda s, t: (s, s, 0, 0), lambda s, t: (t, t, 0, 0)),
        ),
        (
            implies(S.centred_keys, implies(
                equal(S.sum_of_products, 1), equal(variance(over(dot, root)), 1))),
            of_signs(2, lambda s, t: (s, 0), lambda s, t: (t, 0)),
        ),
        (
            implies(S.centred_keys, implies(
                equal(S.sum_of_products, S.d_k), equal(variance(over(dot, S.d_k)), 1))),
            SIGNS,
        ),
    ],
    "unequal-variances": [
        (S.NOT_SQUARED, UNEQUAL),
        (implies(S.unequal, equal(variance(dot), total(qq(c, c), c))), UNEQUAL),
        (
            implies(S.unequal, equal(
                variance(dot), total(times(power(S.tau[c], 2), qq(e, e)), c, e))),
            UNEQUAL,
        ),
        (
            implies(S.unequal, equal(
                variance(dot), total(times(power(S.tau[c], 2), cov(S.q, c, c)), c))),
            UNEQUAL,
        ),
    ],
    "non-zero-means": [
        (S.PRODUCT_OF_MEANS, MEANS),
        (implies(S.unit_covariances, equal(variance(dot), S.d_k)), MEANS),
        (
            implies(S.unit_covariances, equal(
                variance(dot), plus(S.d_k, total(power(S.E(S.q[c]), 2), c)))),
            MEANS,
        ),
        (
            implies(S.unit_covariances, equal(
                variance(dot), plus(S.d_k, total(times(S.E(S.q[c]), S.E(S.k[c])), c)))),
            MEANS,
        ),
    ],
    "in-a-head": [
        (S.BY_MODEL_ROOT, TWO_HEADS),
        (implies(S.per_head, equal(variance(over(dot, power(over(S.d, S.h), 1))), 1)), TWO_HEADS),
        (
            implies(S.per_head, equal(variance(over(dot, power(times(S.d, S.h), sp.S.Half))), 1)),
            TWO_HEADS,
        ),
    ],
}  # fmt: skip
CASES = [
    pytest.param(name, statement, space, id=f"{name}-{i}")
    for name, mutants in MUTANTS.items()
    for i, (statement, space) in enumerate(mutants)
]


@pytest.mark.parametrize(("name", "statement", "space"), CASES)
def test_mutants_are_false_and_not_proved(name, statement, space):
    assert space.holds(statement.args[0]), "the space does not meet the hypotheses"
    assert not space.holds(statement), "the mutant is true there"
    claim = BY_NAME[name]
    for proof in (claim.proof, None):
        settled = settle(replace(claim, statement=statement, proof=proof))
        assert settled.result.verdict not in CONCLUDED


@pytest.mark.parametrize(("name", "spaces"), [
    ("moments", [SIGNS, MEANS, SKEW, UNEQUAL, DEPENDENT]),
    ("one-white-side", [SIGNS, DEPENDENT]),
    ("exact-condition", [SIGNS, DEPENDENT]),
    ("unequal-variances", [UNEQUAL]),
    ("non-zero-means", [SIGNS, MEANS]),
    ("in-a-head", [TWO_HEADS]),
])  # fmt: skip
def test_statements_hold_over_the_spaces_of_their_mutants(name, spaces):
    """The other way round: the hypotheses can be met, and then the conclusion holds."""
    premise, conclusion = BY_NAME[name].statement.args
    for space in spaces:
        assert space.holds(premise)
        assert space.holds(conclusion)


GAUSSIAN_MUTANTS = [
    equal(S.E(over(dot, root)), S.rho),
    equal(S.E(over(dot, root)), times(S.rho, S.d_k)),
    equal(variance(over(dot, root)), 1),
    equal(variance(over(dot, root)), plus(1, S.rho)),
    equal(variance(over(dot, root)), plus(1, times(-1, power(S.rho, 2)))),
    equal(variance(dot), plus(1, power(S.rho, 2))),
]


@pytest.mark.parametrize("conclusion", GAUSSIAN_MUTANTS)
def test_mutants_about_correlated_vectors(conclusion):
    claim = BY_NAME["correlated"]
    for proof in (claim.proof, None):
        statement = implies(S.correlated, conclusion)
        assert settle(replace(claim, statement=statement, proof=proof)).result.verdict not in (
            CONCLUDED
        )


def moment_of_queries(value):
    return implies(S.drawn, forall([c, e], equal(S.E(times(S.query(c), S.query(e))), value)))


INITIALISATION_MUTANTS = [
    moment_of_queries(times(S.s, S.square_norm, sp.KroneckerDelta(c, e))),
    moment_of_queries(times(power(S.s, 2), S.square_norm)),
    moment_of_queries(times(power(S.s, 2), sp.KroneckerDelta(c, e))),
    moment_of_queries(times(power(S.s, 2), S.d, sp.KroneckerDelta(c, e))),
]


@pytest.mark.parametrize("statement", INITIALISATION_MUTANTS)
def test_mutants_about_initialisation(statement):
    claim = BY_NAME["initialisation"]
    for proof in (claim.proof, None):
        assert settle(replace(claim, statement=statement, proof=proof)).result.verdict not in (
            CONCLUDED
        )


# ---------------------------------------------------------------------- conditions and tables


@pytest.mark.parametrize("dropped", range(5))
def test_each_added_hypothesis_is_needed(dropped):
    """Its example meets the other ones, and without it there is no proof but a refutation."""
    claim = BY_NAME["unit-variance"]
    rest = [a for n, a in enumerate(claim.added) if n != dropped]
    weaker = replace(claim, added=tuple(rest), proof=None)
    assert settle(weaker).result.verdict not in CONCLUDED
    with pytest.raises(IndexError):  # the script asks for the hypothesis that is not there
        settle(replace(weaker, proof=claim.proof))
    premises = both(*(a.formula for a in rest))
    false = replace(
        claim, statement=implies(premises, claim.statement), given=(), added=(), witness=None,
        proof=None, counterexample=claim.added[dropped].counterexample,
    )  # fmt: skip
    assert settle(false).result.verdict is Verdict.REFUTED


def test_the_examples_are_the_tables_that_the_twin_enumerates():
    """Every row of every table is one outcome of the signs that its note speaks of."""
    for example in [
        *(a.counterexample for a in S.UNIT_VARIANCE.added), S.UNIT_VARIANCE.witness,
        S.BY_WIDTH.counterexample, S.BY_MODEL_WIDTH.counterexample,
    ]:  # fmt: skip
        values = example.values
        queries, keys = np.array(values[S.Q]), np.array(values[S.K])
        assert queries.shape == keys.shape == (values[S.N], values[S.d_k])
        assert sum(values[S.P]) == 1
        assert all(p == Fraction(1, values[S.N]) for p in values[S.P])


FINITE_MUTANTS = [
    ("unit-variance", implies(S.probabilities, conclusion), S.by_signs(
        2, lambda s, t: (1, 1), lambda s, t: (s, t)))
    for conclusion in (
        equal(S.spread(S.dots_over(root)), S.d_k),
    )
]  # fmt: skip


@pytest.mark.parametrize(("name", "statement", "table"), FINITE_MUTANTS)
def test_mutants_over_a_finite_space(name, statement, table):
    claim = BY_NAME[name]
    for proof in (claim.proof, None):
        mutant = replace(claim, statement=statement, proof=proof)
        assert settle(mutant).result.verdict not in CONCLUDED
    hypotheses = both(*(a.formula for a in claim.added))
    false = replace(
        claim, statement=implies(hypotheses, statement), given=(), added=(), witness=None,
        proof=None, counterexample=Example(table),
    )  # fmt: skip
    assert settle(false).result.verdict is Verdict.REFUTED


CORRECTION_MUTANTS = [
    ("by-width", equal(S.spread(S.dots_over(S.d_k)), over(1, root))),
    ("by-model-width", equal(S.spread(S.dots_over(sp.sqrt(S.d))), over(1, power(S.h, 2)))),
    ("by-model-width", equal(S.spread(S.dots_over(S.d)), over(1, S.h))),
    ("by-model-width", equal(S.spread(S.dots_over(sp.sqrt(S.d))), over(1, S.d_k))),
]


@pytest.mark.parametrize(("name", "conclusion"), CORRECTION_MUTANTS)
def test_mutants_of_the_corrections(name, conclusion):
    claim = BY_NAME[name]
    statement = implies(claim.statement.args[0], conclusion)
    table = S.by_signs(4, lambda a, b, s, t: (a, b), lambda a, b, s, t: (s, t))
    if name == "by-model-width":
        table |= {S.h: 3, S.d: 6}
    for proof in (claim.correction.proof, None):
        mutant = replace(
            claim, statement=statement, proof=proof, counterexample=None, correction=None
        )
        assert settle(mutant).result.verdict not in CONCLUDED
    false = replace(claim, statement=statement, counterexample=Example(table), correction=None)
    assert settle(false).result.verdict is Verdict.REFUTED


def test_tail_bound_mutants():
    """1/t fails for signs with t = 2?  No: for t = 1/2 the bound 1 is below the probability."""
    claim = BY_NAME["chebyshev"]
    table = S.by_signs(1, lambda s: (1,), lambda s: (s,)) | {S.event: [1, 1], S.t: 1}
    for bound in (over(1, times(2, power(S.t, 2))), over(1, power(plus(S.t, 1), 2))):
        statement = implies(S.controlled, at_most(S.mean(lambda w: S.event[w]), bound))
        for proof in (claim.proof, None):
            mutant = replace(claim, statement=statement, proof=proof)
            assert settle(mutant).result.verdict not in CONCLUDED
        false = replace(claim, statement=statement, proof=None, counterexample=Example(table))
        assert settle(false).result.verdict is Verdict.REFUTED


# ---------------------------------------------------------------------- plain vectors

#: a part of a premise that is left out, and a table that meets the others
SIGN = S.by_signs(1, lambda s: (1,), lambda s: (s,))
WEAKER = [
    ("by-width", 1, S.by_signs(1, lambda s: (2,), lambda s: (s,))),
    ("by-model-width", 1, S.by_signs(1, lambda s: (2,), lambda s: (s,)) | {S.h: 1, S.d: 1}),
    ("by-model-width", 2, SIGN | {S.h: 1, S.d: 2}),
    ("chebyshev", 1, SIGN | {S.event: [1, 1], S.t: 2}),
    ("chebyshev", 4, S.by_signs(1, lambda s: (2,), lambda s: (s,)) | {S.event: [1, 1], S.t: 2}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "dropped", "table"), WEAKER)
def test_no_part_of_a_premise_is_idle(name, dropped, table):
    claim = BY_NAME[name]
    right = claim.statement if claim.correction is None else claim.correction.statement
    premise, conclusion = right.args
    rest = both(*(p for k, p in enumerate(premise.args) if k != dropped))
    proof = claim.proof if claim.correction is None else claim.correction.proof
    bare = {"counterexample": None, "correction": None}
    for script in (proof, None):
        mutant = replace(claim, statement=implies(rest, conclusion), proof=script, **bare)
        assert settle(mutant).result.verdict not in CONCLUDED
    false = replace(
        claim, statement=implies(rest, conclusion), proof=None,
        counterexample=Example(table), correction=None,
    )  # fmt: skip
    assert settle(false).result.verdict is Verdict.REFUTED


PLAIN_MUTANTS = [
    ("no-bound", at_most(over(S.fixed_dot, root), 1)),
    ("no-bound", implies(S.in_range, at_most(over(S.fixed_dot, root), 1))),
    ("no-bound", implies(S.in_range, at_most(over(S.fixed_dot, root), over(1, root)))),
    ("root-is-width", equal(root, over(1, S.d_k))),
    ("root-is-width", equal(root, S.d_k)),
    ("root-is-width", equal(power(root, 2), power(S.d_k, 2))),
    ("root-is-width", implies(equal(root, S.d_k), equal(S.d_k, 4))),
    ("where", equal(S.on_queries, over(S.fixed_dot, S.d_k))),
    ("where", equal(S.on_queries, S.fixed_dot)),
    ("where", equal(S.on_both, over(S.fixed_dot, S.fourth_root))),
]  # fmt: skip


@pytest.mark.parametrize(("name", "statement"), PLAIN_MUTANTS)
def test_mutants_are_refuted_by_the_search(name, statement):
    claim = replace(
        BY_NAME[name], statement=statement, proof=None, counterexample=None, correction=None
    )
    assert settle(claim).result.verdict is Verdict.REFUTED


@pytest.mark.parametrize("name", [n for n, c in BY_NAME.items() if c.proof is not None])
def test_scripts_do_not_prove_another_statement(name):
    """A script that proves its own statement does not carry the negated one."""
    claim = BY_NAME[name]
    other = negation(claim.statement)
    assert settle(replace(claim, statement=other)).result.verdict not in CONCLUDED
