"""Attention as an average: verdicts, replay, twins, mutants, agreement with NumPy attention."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp
from claim_checks import is_false_at, mutant, proved_by, settle, without

import numeric
from derive.claim import Example, Given
from derive.claims import attention_average as M
from derive.claims._softmax import i, k, m, s
from derive.claims.attention_average import A, B, D, G, K, O, P, Q, S, V, W, X, c, e, r, t
from derive.convert import Converter
from derive.counterexample import table
from derive.kernel import terms as T
from derive.kernel.normal import Normaliser, literal
from derive.language import (
    GradientIs,
    at_most,
    both,
    equal,
    forall,
    implies,
    less,
    over,
    plus,
    times,
    total,
)
from derive.result import TwinStatus, Verdict

BY_NAME = {claim.id.split("/")[1]: claim for claim in M.CLAIMS}
REFUTED = {"self-attention"}
CONDITIONAL = {"masked"}


# ---------------------------------------------------------------------- every claim


def test_expected_verdicts():
    of_kind = {v: {n for n, x in BY_NAME.items() if x.expected is v} for v in Verdict}
    assert of_kind[Verdict.REFUTED] == REFUTED
    assert of_kind[Verdict.CONDITIONAL] == CONDITIONAL
    assert len(of_kind[Verdict.PROVED]) == len(BY_NAME) - len(REFUTED | CONDITIONAL)
    assert {p for claim in M.CLAIMS for p in claim.source.places} == {"B13", "B17", "B18", "B19"}


def test_counterexamples_are_exact():
    (shown,) = settle(BY_NAME["self-attention"]).result.counterexamples
    assert shown.latex == r"\frac{32}{17} \ne \frac{4}{3}"
    (shown,) = settle(BY_NAME["masked"]).result.counterexamples
    assert shown.latex == r"0 \le \frac{0}{0} \quad\text{is undefined}"


def test_what_is_assumed():
    axioms = {n: {x.name for x in settle(claim).result.axioms} for n, claim in BY_NAME.items()}
    calculus = {n for n, names in axioms.items() if "derivative-table" in names}
    assert calculus == {"gradient-values", "gradient-queries", "gradient-keys"}
    assert {n for n, names in axioms.items() if "exp-increasing" in names} == {"doubling"}
    assert axioms["equivariance"] == {"exp-sign"}  # the sum of weights is not 0


# ---------------------------------------------------------------------- mutants

LOG2, LOG3, LOG9 = (T.fn("log", T.num(q)) for q in (2, 3, 9))
TWO_QUERIES = {
    m: 2,
    M.n: 2,
    M.d_v: 1,
    S: [[0, LOG2], [LOG3, 0]],
    V: [[3], [1]],
    t: 0,
    c: 0,
    k: 1,
    M.low: 1,
    M.high: 3,
    M.radius: 9,
}
ALIKE = {**TWO_QUERIES, V: [[3], [3]]}
FAR = {**TWO_QUERIES, S: [[0, 0], [LOG9, LOG9]]}
SMALL = {m: 2, M.d: 1, M.d_v: 1, B: [[LOG2]], W: [[1]], X: [[0], [1]]}
HEAD = {m: 2, M.n: 1, M.d_k: 1, M.d_v: 1, Q: [[LOG2]], K: [[0], [1]], V: [[3], [1]]}
SWAP, HALVES = [[0, 1], [1, 0]], [["1/2", "1/2"], ["1/2", "1/2"]]
CYCLE = {**SMALL, m: 3, X: [[0], [1], [2]], P: [[0, 1, 0], [0, 0, 1], [1, 0, 0]]}
AT = {
    "average": {**TWO_QUERIES, V: [[3], [2]], M.low: 2},
    "norm": TWO_QUERIES,
    "strict": FAR,
    "common-part": {**ALIKE, M.common: [3]},
    "linear-in-values": HEAD,
    "order-of-keys": {**HEAD, P: [[1, 0], [1, 0]]},
    "equivariance": {**SMALL, P: [[1, 0], [1, 0]]},
    "quadratic-scores": {
        m: 2,
        M.d: 2,
        M.d_k: 1,
        M.w_q: [[1], [0]],
        M.w_k: [[0], [1]],
        X: [[1, 0], [1, 1]],
        M.squared_factor: 2,
    },
}


def with_given(name, position, wrong):
    given = list(BY_NAME[name].given)
    given[position] = wrong
    return name, {"given": tuple(given)}


def stated(name, statement):
    return name, {"statement": statement}


def elsewhere(name, statement, values):
    """A mutant that fails at other values than the other ones of its claim."""
    return name, {"statement": statement}, values


UNNORMALISED = Given(forall([t, i], equal(A[t, i], sp.exp(S[t, i]))))
OVER_QUERIES = Given(
    forall([t, i], equal(A[t, i], over(sp.exp(S[t, i]), total(sp.exp(S[r, i]), r))))
)
FIRST_ONLY = Given(forall([t, c], equal(O[t, c], times(A[t, 0], V[0, c]))))
TWICE = Given(forall([t, c], equal(O[t, c], times(2, total(times(A[t, i], V[i, c]), i)))))

WRONG_GIVEN = [
    with_given(name, position, wrong)
    for name, wrongs in {
        "average": ((1, FIRST_ONLY), (1, TWICE)),
        "norm": ((0, UNNORMALISED), (1, TWICE)),
        "strict": ((0, UNNORMALISED), (0, OVER_QUERIES), (1, TWICE)),
        "common-part": ((0, UNNORMALISED), (0, OVER_QUERIES), (1, FIRST_ONLY), (1, TWICE)),
    }.items()
    for position, wrong in wrongs
]

averages = BY_NAME["average"].statement.args[1].args
bounds = averages[2].args[1].args[1].args
mean_of_values = over(total(V[i, c], i), m)
passed = total(times(A[t, i], V[i, c]), i)
plain = lambda t: M.attended(t, lambda i: V[i, c])  # noqa: E731
doubled = lambda t: M.attended(t, lambda i: times(2, V[i, c]))  # noqa: E731
rows_only = both(*M.permutation.args[:2])
columns_only = both(M.permutation.args[0], M.permutation.args[2])
no_entries = both(*M.permutation.args[1:])
gradient = M.SCORE_GRADIENT.formula.args[1].args[1]
without_mean = Given(forall([t, i], equal(D[t, i], times(A[t, i], M.passed))))
unweighted = Given(forall([t, i], equal(D[t, i], gradient.args[1].args[1])))

WRONG_STATEMENTS = [
    stated("average", forall([t, c], implies(M.in_range, equal(O[t, c], M.low)))),
    elsewhere("average", forall([t, c], implies(M.in_range, less(O[t, c], M.high))),
              ALIKE),
    stated("average", forall(t, equal(total(A[t, i], i), m))),
    stated("average", forall([t, c], equal(O[t, c], mean_of_values))),
    stated("average", forall(i, equal(total(A[t, i], t), 1))),
    stated("norm", forall(t, at_most(M.squared_output, over(M.mean_square, 2)))),
    elsewhere("norm", forall(t, less(M.squared_output, M.mean_square)),
              ALIKE),
    elsewhere("strict", forall(t, implies(M.below_somewhere.args[1], less(O[t, c], M.high))),
              {**TWO_QUERIES, V: [[5], [1]], M.high: 2}),
    stated("strict", forall(t, implies(M.below_somewhere, at_most(O[t, c], V[k, c])))),
    elsewhere("common-part", forall([t, c], equal(O[t, c], M.common[c])),
              {**TWO_QUERIES, M.common: [3]}),
    stated("common-part", forall([t, c], equal(
        M.moved_output, plus(O[t, c], times(2, M.common[c]))))),
    stated("linear-in-values", forall([t, c], equal(doubled(t), plain(t)))),
    stated("linear-in-values", forall([t, c], equal(doubled(t), times(4, plain(t))))),
    stated("order-of-keys", implies(rows_only, M.order_free)),
    elsewhere("order-of-keys", implies(columns_only, M.order_free),
              {**HEAD, P: [[1, 1], [0, 0]]}),
    elsewhere("order-of-keys", implies(no_entries, M.order_free),
              {**HEAD, Q: [[T.fn("log", T.num(4))]], K: [[0], [2]], P: HALVES}),
    stated("equivariance", implies(rows_only, M.equivariant)),
    elsewhere("equivariance", implies(columns_only, M.equivariant),
              {**SMALL, P: [[1, 1], [0, 0]]}),
    elsewhere("equivariance", implies(M.permutation, forall(
        [k, c], equal(M.of_y[k, c], total(times(P[s, k], M.of_x[s, c]), s)))), CYCLE),
    stated("quadratic-scores", forall([k, i], equal(
        M.form(M.entry(X), k)(i), M.form(M.entry(X), i)(k)))),
]  # fmt: skip

GRADIENT_MUTANTS = [
    stated("gradient-values", GradientIs(
        M.loss, V, sp.Tuple(k, c), total(times(-1, A[t, k], G[t, c]), t))),
    stated("gradient-values", GradientIs(
        M.loss, V, sp.Tuple(k, c), total(times(2, A[t, k], G[t, c]), t))),
    stated("gradient-queries", GradientIs(
        M.loss, Q, sp.Tuple(r, e), times(M.root, M.by_query))),
    stated("gradient-queries", GradientIs(
        M.loss, Q, sp.Tuple(r, e), over(total(times(A[r, i], K[i, e]), i), M.root))),
    stated("gradient-keys", GradientIs(M.loss, K, sp.Tuple(k, e), times(-1, M.by_key))),
    stated("gradient-keys", GradientIs(M.loss, K, sp.Tuple(k, e), over(M.by_key, M.root))),
    with_given("gradient-queries", 1, unweighted),
    with_given("gradient-keys", 1, without_mean),
    with_given("gradient-keys", 1, unweighted),
]  # fmt: skip

NECESSITY_MUTANTS = [
    stated("doubling", implies(M.doubling, M.no_scores)),
    stated("doubling", implies(M.doubling, M.no_values)),
    stated("doubling", implies(M.doubling, equal(m, 1))),
    stated("doubling", M.degenerate),
    stated("doubling", implies(M.degenerate.args[1], M.no_values)),
]  # fmt: skip

MASK_MUTANTS = [
    implies(M.mask, M.masked_average),  # nothing is said of rows
    implies(both(M.mask, at_most(1, total(M.M[t, i], t, i))), M.masked_average),
    implies(both(M.mask, M.sees_a_key), forall([t, i], less(0, M.masked(t, i)))),
    implies(both(M.mask, M.sees_a_key), forall(t, equal(total(M.masked(t, i), i), m))),
    implies(both(M.mask, M.sees_a_key), forall(i, equal(total(M.masked(t, i), t), 1))),
    implies(M.sees_a_key, M.masked_average),  # entries of any sign
]

MUTANTS = [*WRONG_GIVEN, *WRONG_STATEMENTS]


@pytest.mark.parametrize("statement", MASK_MUTANTS)
def test_mutants_about_masks(statement):
    claim = mutant(M.MASKED, statement=statement)
    assert proved_by(claim) == set()
    hidden = {**TWO_QUERIES, M.M: [[1, 0], [0, 0]]}
    signed = {**TWO_QUERIES, M.M: [[1, 0], [2, -1]]}
    visible = {**TWO_QUERIES, M.M: [[1, 0], [1, 1]]}
    assert any(is_false_at(claim, values) for values in (hidden, signed, visible))


@pytest.mark.parametrize("number", range(len(MUTANTS)))
def test_no_mutant_is_proved(number):
    name, parts, *_ = MUTANTS[number]
    assert proved_by(mutant(BY_NAME[name], **parts)) == set()


@pytest.mark.parametrize("number", range(len(GRADIENT_MUTANTS) + len(NECESSITY_MUTANTS)))
def test_no_mutated_gradient_or_necessity_is_proved(number):
    name, parts = [*GRADIENT_MUTANTS, *NECESSITY_MUTANTS][number]
    assert proved_by(mutant(BY_NAME[name], **parts)) == set()


@pytest.mark.parametrize("number", range(len(MUTANTS)))
def test_mutants_are_false(number):
    name, parts, *values = MUTANTS[number]
    assert is_false_at(mutant(BY_NAME[name], **parts), values[0] if values else AT[name])


def test_the_claims_themselves_hold_there():
    for name, values in AT.items():
        assert not is_false_at(BY_NAME[name], values)


@pytest.mark.parametrize("case", range(3))
def test_no_case_of_linearity_can_be_dropped(case):
    """Without one of the three cases, doubling proves less; with it, the correction says less."""
    fewer = [x for n, x in enumerate(M.degenerate.args) if n != case]
    claim = mutant(M.DOUBLING, statement=implies(M.doubling, type(M.degenerate)(*fewer)))
    assert proved_by(claim) == set()


def test_wrong_corrections_do_not_stand():
    right = M.SELF_ATTENTION.correction
    some_score = equal(total(B[M.f, M.f], M.f), 0)
    for premise in (equal(m, 2), some_score, equal(M.one_factor, 1)):
        wrong = replace(right, statement=implies(premise, M.combined))
        for proof in (right.proof, None):
            claim = replace(M.SELF_ATTENTION, correction=replace(wrong, proof=proof))
            assert settle(claim).result.verdict is Verdict.UNDECIDED


def test_wrong_examples_do_not_stand():
    """One token, no scores, no values: the statement holds there."""
    values = M.SELF_ATTENTION.counterexample.values
    for harmless in (
        {m: 1, X: [[1]], M.Y: [[0]]},
        {M.w_q: [[0]]},
        {W: [[0]]},
        {M.one_factor: 1},
    ):
        claim = replace(M.SELF_ATTENTION, counterexample=Example({**values, **harmless}))
        assert settle(claim).result.verdict is Verdict.UNDECIDED


@pytest.mark.parametrize("name", ["average", "norm", "strict", "common-part"])
@pytest.mark.parametrize("position", [0, 1])
def test_no_hypothesis_can_be_dropped(name, position):
    claim = mutant(BY_NAME[name], given=without(BY_NAME[name], position))
    assert proved_by(claim) == set()


# ---------------------------------------------------------------------- twins see planted errors

RIGHT = {name: getattr(numeric, name) for name in (
    "attention_weights", "scaled_dot_product_attention", "scaled_dot_product_attention_vjp",
)}  # fmt: skip


def over_queries(queries, keys, values):
    scores = numeric.scaled_scores(queries, keys)
    return np.exp(scores) / np.exp(scores).sum(axis=0) @ values


def with_dropout(queries, keys, values):
    weight = RIGHT["attention_weights"](queries, keys)
    return weight * (np.arange(weight.shape[-1]) % 2) @ values


def unnormalised(queries, keys, values):
    return np.exp(numeric.scaled_scores(queries, keys)) @ values


def with_positions(queries, keys, values):
    return (
        RIGHT["scaled_dot_product_attention"](queries, keys, values) + np.arange(len(values)).sum()
    )


def by_position(queries, keys, values):
    place = np.linspace(0, 1, len(values))[:, None]
    return RIGHT["scaled_dot_product_attention"](queries, keys, values * (1 + place))


def squared_values(queries, keys, values):
    return RIGHT["scaled_dot_product_attention"](queries, keys, values**2)


def linear_attention(queries, keys, values):
    return np.full((len(queries), len(values)), 1 / len(values)) @ values


def as_if_weights_stood_still(queries, keys, values, cotangent):
    """The gradient of a linear map: that of the values alone."""
    found = RIGHT["scaled_dot_product_attention_vjp"](queries, keys, values, cotangent)
    return 0 * found[0], 0 * found[1], found[2]


def without_scale(queries, keys, values, cotangent):
    found = RIGHT["scaled_dot_product_attention_vjp"](queries, keys, values, cotangent)
    return found[0] * queries.shape[1] ** 0.5, found[1], found[2]


ATTEND = "scaled_dot_product_attention"
PLANTED = [
    ("softmax", lambda z: np.exp(z), ["masked"]),
    ("softmax", lambda z: np.exp(z) / np.exp(z).sum(axis=0), ["masked"]),
    (ATTEND, over_queries, ["average", "common-part", "doubling"]),
    (ATTEND, with_dropout, ["average", "strict", "common-part"]),
    (ATTEND, unnormalised, ["average", "norm", "common-part", "doubling"]),
    (ATTEND, with_positions, ["average", "linear-in-values", "norm"]),
    (ATTEND, by_position, ["order-of-keys", "equivariance"]),
    (ATTEND, squared_values, ["linear-in-values", "average", "self-attention"]),
    (ATTEND, linear_attention, ["self-attention", "doubling", "order-of-keys"]),
    (f"{ATTEND}_vjp", as_if_weights_stood_still, ["gradient-queries", "gradient-keys"]),
    (f"{ATTEND}_vjp", without_scale, ["gradient-queries", "gradient-values"]),
    ("scaled_scores", lambda q, k: np.sqrt(np.abs(q @ k.T)), ["quadratic-scores"]),
]


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
    return float(literal(Normaliser().poly(T.substitute(term, others, tensors))))


def logs(matrix):
    return [[T.fn("log", T.num(int(x))) if x > 1 else T.ZERO for x in row] for row in matrix]


@pytest.mark.parametrize(
    ("rows", "size", "width", "columns"), [(2, 3, 4, 2), (3, 1, 1, 2), (1, 4, 1, 1)]
)
def test_symbolic_output_is_the_numeric_one(rows, size, width, columns):
    """Widths are squares, and queries are 0 or logarithms, so that all is rational."""
    rng = np.random.default_rng(rows)
    numbers = rng.integers(1, 5, (rows, width))
    key = int(width**0.5) * rng.integers(-1, 3, (size, width))
    value = rng.integers(-3, 4, (size, columns))
    expected = numeric.scaled_dot_product_attention(np.log(numbers), key, value)
    values = {m: size, M.n: rows, M.d_k: width, M.d_v: columns, Q: logs(numbers),
              K: key.tolist(), V: value.tolist()}  # fmt: skip
    for x, z in np.ndindex(expected.shape):
        found = at(plain(t), {**values, t: x, c: z})
        assert found == pytest.approx(expected[x, z], rel=1e-12, abs=1e-13)


@pytest.mark.parametrize(("size", "width", "columns"), [(3, 2, 2), (1, 3, 1)])
def test_symbolic_self_attention_is_the_numeric_one(size, width, columns):
    rng = np.random.default_rng(size)
    tokens = rng.integers(-1, 3, (size, width))
    numbers, to_value = rng.integers(1, 4, (width, width)), rng.integers(-2, 3, (width, columns))
    projected = tokens @ np.log(numbers) * width**0.5, tokens, tokens @ to_value
    expected = numeric.scaled_dot_product_attention(*projected)
    values = {m: size, M.d: width, M.d_v: columns, B: logs(numbers), W: to_value.tolist(),
              X: tokens.tolist()}  # fmt: skip
    for x, z in np.ndindex(expected.shape):
        found = at(M.attention(M.entry(X), k, c), {**values, k: x, c: z})
        assert found == pytest.approx(expected[x, z], rel=1e-12, abs=1e-13)


def test_symbolic_gradients_are_the_numeric_ones():
    """Gradients as they are stated, at exact values, against the backward pass."""
    rng = np.random.default_rng(5)
    rows, size, width, columns = 2, 3, 4, 2
    numbers, key = rng.integers(1, 4, (rows, width)), 2 * rng.integers(-1, 2, (size, width))
    value, cotangent = rng.integers(-3, 4, (size, columns)), rng.integers(-3, 4, (rows, columns))
    expected = numeric.scaled_dot_product_attention_vjp(np.log(numbers), key, value, cotangent)
    products = np.ones((rows, size), dtype=object)
    for x, z in np.ndindex(rows, size):
        for y in range(width):
            products[x, z] *= sp.Integer(int(numbers[x, y])) ** int(key[z, y] // 2)
    weight = products / products.sum(axis=1, keepdims=True)
    back = cotangent @ value.T
    scores = weight * (back - (weight * back).sum(axis=1, keepdims=True))
    tables = {A: weight.tolist(), D: scores.tolist(), G: cotangent.tolist(), K: key.tolist(),
              V: value.tolist(), m: size, M.n: rows, M.d_k: width, M.d_v: columns}  # fmt: skip
    gradient = M.SCORE_GRADIENT.formula.args[1].args[1].args[1]
    for x, z in np.ndindex(rows, size):
        assert at(gradient, {**tables, t: x, i: z}) == pytest.approx(float(scores[x, z]))
    for x, z in np.ndindex(rows, width):
        found = at(M.by_query, {**tables, r: x, e: z})
        assert found == pytest.approx(expected[0][x, z], abs=1e-12)
    for x, z in np.ndindex(size, columns):
        found = at(total(times(A[t, k], G[t, c]), t), {**tables, k: x, c: z})
        assert found == pytest.approx(expected[2][x, z], abs=1e-12)


def test_the_output_of_the_chosen_tokens_is_the_numeric_one():
    """What `bumped_output` says of e_g among e_g - y: the closed form at exact values."""
    size, number = 3, 5
    peak = sp.Integer(number)
    share = peak / (peak + size - 1)
    y_value, form = np.array([1.0, 0.0]), np.array([[np.log(number), 0.0], [0.0, 0.0]])
    tokens = np.tile(np.array([1.0, 0.0]) - y_value, (size, 1))
    tokens[0] = [1.0, 0.0]
    to_value = np.array([[2.0], [3.0]])
    projected = tokens @ form * 2**0.5, tokens, tokens @ to_value
    found = numeric.scaled_dot_product_attention(*projected)[0]
    assert found == pytest.approx([float(2 * share)])
