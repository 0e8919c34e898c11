"""The feed-forward network: verdicts, replay, twins, mutants, agreement with the NumPy layers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
from claim_checks import CONCLUDED, mutant, settle, without

import numeric
from derive import auto
from derive.claim import Given
from derive.claims import _network as N
from derive.claims import feed_forward as F
from derive.claims import feed_forward_roles as R
from derive.claims import feed_forward_training as G
from derive.claims._network import (
    W_1,
    W_2,
    X,
    a,
    b_1,
    b_2,
    before,
    c,
    d,
    f,
    j,
    k,
    n,
    network,
    row,
    s,
    t,
    u,
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
    implies,
    index,
    less,
    minus,
    negation,
    over,
    plus,
    power,
    relu,
    tensor,
    times,
    total,
)
from derive.prover import Prover
from derive.result import TwinStatus, Verdict
from derive.search import NotFound

CLAIMS = (*F.CLAIMS, *G.CLAIMS, *R.CLAIMS)
BY_NAME = {claim.id.split("/")[1]: claim for claim in CLAIMS}
OF_KIND = {
    Verdict.CONDITIONAL: {"comments", "not-affine"},
    Verdict.REFUTED: {"attention-alone", "softmax-too", "input", "weights-unreadable"},
    Verdict.NOT_MATHEMATICAL: {"training", "purpose", "example"},
    Verdict.UNDECIDED: set(),
}
MATHEMATICAL = [q for q in BY_NAME if BY_NAME[q].statement is not None]


# ---------------------------------------------------------------------- every claim


def settled(name):
    return settle(BY_NAME[name]).result


def test_expected_verdicts_and_places():
    for verdict, names in OF_KIND.items():
        assert {q for q, claim in BY_NAME.items() if claim.expected is verdict} == names
    others = set(BY_NAME) - set().union(*OF_KIND.values())
    assert {BY_NAME[q].expected for q in others} == {Verdict.PROVED}
    places = {p for claim in CLAIMS for p in claim.source.places}
    assert places == {
        "A22", "A23", "A24", "A25", "B14", "B20", "B21", "B22", "B23", "B25", "B26", "B33", "B39",
        "B45",
    }  # fmt: skip


def test_what_is_assumed():
    axioms = {q: {v.name for v in settled(q).axioms} for q in MATHEMATICAL}
    gradients = {q for q in MATHEMATICAL if q.startswith("gradient")} | {"jacobian"}
    with_table = {q for q, names in axioms.items() if "derivative-table" in names}
    assert with_table == gradients | {"zero-gradients"}
    for name in ("code", "same-map", "position-wise", "equivariance", "collapse", "zero-start",
                 "equal-units"):  # fmt: skip
        assert axioms[name] <= {"extremum-order", "extremum-value"}
    maxima = {"max-left", "max-right", "extremum-order"}
    assert axioms["interpolation"] == {"inverse"} | maxima


@pytest.mark.parametrize("name", [q for q in MATHEMATICAL if q not in OF_KIND[Verdict.REFUTED]])
def test_every_hypothesis_is_used(name):
    assert all(h.used for h in settled(name).hypotheses)


def test_counterexamples_are_exact():
    shown = {
        q: [v.latex for v in settled(q).counterexamples]
        for q in OF_KIND[Verdict.REFUTED] | {"not-affine"}
    }
    # both sides come out the same, and are shown with that value between them
    values = [x.split(" = ")[1] for x in shown.pop("not-affine")]
    assert values == ["0", "4"]
    assert shown == {
        # e^{4 log 2} = 16, so the average is 2 * 16/17; twice 2/3 would be the linear answer
        "attention-alone": [r"\frac{32}{17} \ne \frac{4}{3}"],
        "softmax-too": [r"\frac{1}{2} \ne 1"],
        "input": [r"\frac{1}{2} \ne 0"],
        "weights-unreadable": [r"\frac{1}{3} \ne \frac{1}{4}"],
    }


# ---------------------------------------------------------------------- mutants

THERE = index("s", n)
OUT = {q: network(row(q_), a) for q, q_ in (("x", x),)}
no_first_bias = lambda v: plus(total(times(W_2[a, j], relu(G.before(v, j))), j))  # noqa: E731


def shapes_with(**sizes):
    """The stated shapes with some of them exchanged."""
    stated = {"r_1": f, "c_1": d, "l_1": f, "r_2": d, "c_2": f, "l_2": d, **sizes}
    names = {q: sp.Symbol(q, integer=True, positive=True) for q in stated}
    return F.exists(f, both(*(equal(names[q], v) for q, v in stated.items())))


def token_axis(out):
    """The network along the axis of the tokens, which is wrong."""
    hidden = plus(total(times(F.P[t, s], X[s, c]), s), b_2[c])
    return relu(hidden) if out is None else out


def collapsed_without(part):
    matrix = total(times(total(times(W_2[a, j], W_1[j, c]), j), x[c]), c)
    folded = total(times(W_2[a, j], b_1[j]), j)
    parts = {"matrix": matrix, "folded": folded, "bias": b_2[a]}
    return plus(*(v for q, v in parts.items() if q != part))


def gated_bias_outside():
    passed = times(F.gate[j], total(times(W_1[j, c], x[c]), c))
    return plus(total(times(W_2[a, j], plus(passed, b_1[j])), j), b_2[a])


one_row = network(row(X, t), a)
#: mutants about numbers: the search finds exact values at which each of them fails
PLAIN_MUTANTS = [
    ("relations", forall(j, equal(
        total(times(F.factors[F.i], before(row(F.points, F.i), j)), F.i), 0))),
    ("functional", equal(F.FUNCTIONAL.statement.args[0], F.FUNCTIONAL.statement.args[1].args[0])),
    ("functional", equal(total(times(F.functional[j], relu(before(row(x), j))), j),
                         F.FUNCTIONAL.statement.args[1])),
    ("same-map", forall([u, t], implies(
        forall(c, equal(F.Z[u, c], X[t, c])),
        forall(a, equal(network(row(F.Z, u), a), times(2, one_row)))))),
    ("position-wise", forall([t, a], equal(one_row, network(row(F.Y, t), a)))),
    ("position-wise", forall([t, s, a], equal(one_row, network(row(X, s), a)))),
    ("collapse", forall(a, equal(F.without_relu(row(x), a), collapsed_without("bias")))),
    ("lipschitz", forall(a, less(sp.Abs(F.output_change(a)), F.output_bound(a)))),
    ("lipschitz", forall(a, at_most(sp.Abs(F.output_change(a)), total(F.gap(c), c)))),
    ("not-affine", F.NOT_AFFINE.statement),
    ("not-affine", equal(*F.midpoint(F.o))),
    ("one-unit", forall(a, equal(network(row(x), a), network(row(x), a, lambda z: z)))),
    ("attention-alone", R.ATTENTION.statement),
    ("softmax-too", R.NORMALISATION.statement),
    ("softmax-too", forall(u, equal(R.softened(row(R.logits)), sp.exp(R.logits[u])))),
]  # fmt: skip


def proved_by(claim):
    """Who proves it: its own script, or the automatic prover (no search for counterexamples)."""
    out = set()
    try:
        if settle(claim).result.verdict in CONCLUDED:
            out.add("script")
    except (LookupError, AttributeError, TypeError, ValueError):
        pass  # the script stumbles over a missing hypothesis
    converter = Converter()
    given = [converter.formula(h.formula) for h in claim.given]
    goal = converter.formula(claim.statement)
    try:
        theorem = auto.prove(Prover(converter, given), goal)
    except (NotFound, KernelError):
        return out
    return out | {"automatic"} if theorem.hypotheses <= set(given) else out


@pytest.mark.parametrize(("name", "statement"), PLAIN_MUTANTS)
def test_mutants_about_numbers_are_refuted(name, statement):
    claim = mutant(BY_NAME[name], statement=statement, given=())
    script = BY_NAME[name].proof or BY_NAME[name].correction.proof
    assert proved_by(replace(claim, proof=script)) == set()
    assert settle(replace(claim, proof=None)).result.verdict is Verdict.REFUTED


def few_dependent(number):
    """No more inputs than dimensions are said to be dependent."""
    few, points, factors = index("i", number), tensor("y", number, d), tensor("mu", number)
    hidden = total(times(F.up_4[F.e4, c], points[few, c]), c)
    relation = forall(F.e4, equal(total(times(factors[few], hidden), few), 0))
    return F.exists(factors, both(F.not_zero(factors, few), relation))


def all_normal():
    return forall([F.e4, c], equal(F.up_4[F.e4, c], 0))


def square_lost():
    """As many hidden numbers as outputs."""
    vector, square = tensor("h", d), tensor("W_2", d, d)
    lost = forall(a, equal(total(times(square[a, c], vector[c]), c), 0))
    return F.exists(vector, both(F.not_zero(vector, c), lost))


def all_lost():
    every = forall(a, equal(total(times(F.down_4[a, F.e4], F.lost[F.e4]), F.e4), 0))
    return forall(F.lost, implies(F.not_zero(F.lost, F.e4), every))


def unfitted(number, act=lambda z: z):
    """One point fewer, or outputs that go through ReLU."""
    at, targets = index("i", number), tensor("y", number)
    points = tensor("x", number, d)
    units = total(times(R.weights[j], relu(before(row(points, at), j))), j)
    met = forall(at, equal(act(plus(units, R.bias)), targets[at]))
    return F.exists(targets, forall([R.weights, R.bias], negation(met)))


def all_unfitted():
    met = forall(R.point, equal(R.fitted(R.point), R.targets[R.point]))
    return forall([R.targets, R.weights, R.bias], negation(met))


UNDER_HYPOTHESES = [
    # (name, statement): false under the hypotheses of the claim
    ("shapes", implies(F.fits, shapes_with(r_1=d, c_1=f))),
    ("shapes", implies(both(*F.fits.args[:4]), F.stated)),
    ("shapes", implies(both(*F.fits.args[1:]), F.stated)),
    ("weights-unreadable", R.READABLE.statement),
    ("code", forall([u, t, a], equal(F.in_code(row(F.batch, u, t), a),
                                     network(row(F.batch, u, t), a, lambda z: z)))),
    ("equivariance", forall([t, a], equal(
        network(F.moved(X, t), a), total(times(F.P[s, t], network(row(X, s), a)), s)))),
    ("equivariance", forall([t, a], equal(network(F.moved(X, t), a), one_row))),
    ("cell", forall(a, equal(network(row(x), a), gated_bias_outside()))),
    ("identity", forall(a, equal(F.doubled(a), times(2, x[a])))),
    ("identity", forall(a, equal(F.doubled(a), times(-1, x[a])))),
    ("identity", forall(a, equal(F.doubled(a), relu(x[a])))),
    ("collapsed-count", both(equal(F.kept, power(d, 2)),
                             equal(minus(F.spent, F.kept), times(7, power(d, 2))))),
    ("zero-start", implies(R.both(*G.nothing(0).args[:2]), forall(G.l, G.nothing(G.l)))),
    ("zero-start", forall(G.l, G.nothing(G.l))),
    ("equal-units", implies(both(*G.alike(0).args[:2]), forall(G.l, G.alike(G.l)))),
    ("equal-units", implies(both(*G.alike(0).args[1:]), forall(G.l, G.alike(G.l)))),
    ("equal-units", forall(G.l, G.alike(G.l))),
    ("rank", both(few_dependent(d), F.HYPERPLANE)),
    ("rank", both(F.DEPENDENT, few_dependent(d))),
    ("rank", both(F.DEPENDENT, all_normal())),
    ("narrowing", square_lost()),
    ("narrowing", all_lost()),
    ("capacity", unfitted(f + 1)),
    ("capacity", unfitted(f + 2, relu)),
    ("capacity", all_unfitted()),
    ("input", R.INPUT.statement),
    ("input", equal(total(plus(R.normalised(a), R.attention[a]), a), 0)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "statement"), UNDER_HYPOTHESES)
def test_mutants_under_the_hypotheses(name, statement):
    claim = BY_NAME[name]
    script = claim.proof or claim.correction.proof
    assert proved_by(mutant(claim, statement=statement, proof=script)) == set()


# gradients: sign, factor, transposed, gate left out, another token, other cotangent

back, tokens = G.behind_units, X
GRADIENT_MUTANTS = {
    "gradient-input": [
        times(-1, total(times(W_1[j, c], back(t, j)), j)),
        total(times(W_1[j, c], total(times(W_2[a, j], G.G[t, a]), a)), j),
        total(times(W_1[j, c], back(s, j)), j, s),
        times(2, total(times(W_1[j, c], back(t, j)), j)),
    ],
    "gradient-first-matrix": [
        times(-1, total(times(back(t, j), X[t, c]), t)),
        total(times(back(s, j), X[t, c]), s, t),
        total(times(total(times(W_2[a, j], G.G[t, a]), a), X[t, c]), t),
        times(n, total(times(back(t, j), X[t, c]), t)),
    ],
    "gradient-first-bias": [
        total(total(times(W_2[a, j], G.G[t, a]), a), t),
        total(times(power(G.M[t, j], 2), back(t, j), 2), t),
        over(total(back(t, j), t), n),
    ],
    "gradient-second-matrix": [
        total(times(-1, G.G[t, a], G.passed_on(t, j)), t),
        times(total(G.G[t, a], t), total(G.passed_on(t, j), t)),
    ],
    "gradient-second-bias": [
        total(times(2, G.G[t, a]), t),
        times(n, total(G.G[t, a], t)),
        total(G.G[t, c], t, c),
    ],
}


def with_value(claim, value):
    """The same claim with another value for the gradient."""
    statement = claim.statement
    gradient = statement if isinstance(statement, GradientIs) else statement.args[1]
    changed = GradientIs(*gradient.args[:3], value)
    return changed if gradient is statement else implies(statement.args[0], changed)


@pytest.mark.parametrize(
    ("name", "value"), [(q, v) for q, values in GRADIENT_MUTANTS.items() for v in values]
)
def test_mutated_gradients(name, value):
    claim = BY_NAME[name]
    assert proved_by(mutant(claim, statement=with_value(claim, value))) == set()


@pytest.mark.parametrize("name", ["gradient-input", "gradient-first-matrix", "gradient-first-bias"])
def test_gradients_need_the_gates(name):
    """At a kink there is no derivative, and no gate may be 1 on the wrong side."""
    gradient = BY_NAME[name].statement.args[1]
    z = before(row(X, t), j)
    trivial = equal(0, 0)
    loose = forall([t, j], F.open_or_shut(z, G.M[t, j]))
    wrong = forall([t, j], G.sided(times(-1, z), G.M[t, j]))
    for premise in (trivial, loose, wrong):
        claim = mutant(BY_NAME[name], statement=implies(premise, gradient))
        assert proved_by(claim) == set()


def jacobian_mutants():
    value = G.jacobian(t, a, s, c)
    for changed in (
        times(-1, value),
        times(N.one(t, s), total(times(W_2[a, j], W_1[j, c]), j)),
        plus(value, N.one(t, s)),
    ):
        gradient = GradientIs(network(row(X, t), a), X, (s, c), changed)
        yield forall(t, implies(G.ROW_GATES, forall(a, gradient)))


@pytest.mark.parametrize("statement", list(jacobian_mutants()))
def test_mutated_jacobians(statement):
    assert proved_by(mutant(G.JACOBIAN, statement=statement)) == set()


def test_at_zero_nothing_else_has_no_gradient():
    parts = G.ZERO_GRADIENTS
    flat = GradientIs(*parts[3].args[:3], 0)
    for statement in (
        implies(G.ALL_ZERO, both(*parts[:3], flat)),
        implies(both(*G.ALL_ZERO.args[:2]), both(*parts)),
        implies(both(G.ALL_ZERO.args[0], G.ALL_ZERO.args[2]), both(*parts)),
    ):
        assert proved_by(mutant(G.ZERO_START, statement=statement)) == set()


def interpolation_mutants():
    through, size = R.hinge_network, R.hinges + R.further
    at = R.xs[R.hinges]
    premises = both(R.IN_ORDER, R.FIRST_WEIGHT, R.OTHER_WEIGHTS)

    def claim(premise, point, number, value):
        return implies(premise, forall([R.hinges, R.further], equal(through(point, number), value)))

    yield claim(premises, at, size, R.ys[R.hinges + 1])
    yield claim(premises, at, size, times(2, R.ys[R.hinges]))
    yield claim(both(R.IN_ORDER, R.FIRST_WEIGHT), at, size, R.ys[R.hinges])
    yield claim(both(R.IN_ORDER, R.OTHER_WEIGHTS), at, size, R.ys[R.hinges])


@pytest.mark.parametrize("statement", list(interpolation_mutants()))
def test_mutated_interpolation(statement):
    assert proved_by(mutant(R.INTERPOLATION, statement=statement)) == set()


@pytest.mark.parametrize(
    ("name", "position"),
    [(q, r) for q in MATHEMATICAL if BY_NAME[q].proof for r in range(len(BY_NAME[q].given))],
)
def test_no_hypothesis_can_be_dropped(name, position):
    claim = BY_NAME[name]
    assert proved_by(mutant(claim, given=without(claim, position))) == set()


@pytest.mark.parametrize("position", [0, 1])
@pytest.mark.parametrize("name", sorted(OF_KIND[Verdict.CONDITIONAL]))
def test_no_added_hypothesis_can_be_dropped(name, position):
    claim = BY_NAME[name]
    kept = [Given(h.formula) for h in claim.added]
    kept[position] = Given(equal(0, 0))
    assert proved_by(mutant(claim, given=tuple(kept))) == set()


def test_one_sign_is_asked_of_every_unit():
    """That the unit itself contributes is not enough."""
    own = Given(less(0, W_2[F.o, k]))
    claim = mutant(F.NOT_AFFINE, given=(own, Given(F.ACROSS)))
    assert proved_by(claim) == set()
    found = replace(claim, proof=None, counterexample=F.NOT_AFFINE.added[0].counterexample)
    assert settle(found).result.verdict is Verdict.REFUTED


@pytest.mark.parametrize(
    ("name", "statement", "given"),
    [
        ("softmax-too", equal(total(times(2, R.softened(row(R.logits))), u), 1), ()),
        ("input", equal(total(R.normalised(a), a), 1), ()),
        ("attention-alone", forall([t, a], equal(
            R.mixed(lambda q: X[q, a], lambda q: R.Y[q, a], t),
            total(times(R.values[t, s], X[s, a]), s))), ()),
    ],
)  # fmt: skip
def test_mutated_corrections(name, statement, given):
    script = BY_NAME[name].correction.proof
    assert proved_by(mutant(BY_NAME[name], statement=statement, given=given, proof=script)) == set()


# ---------------------------------------------------------------------- agreement with NumPy


def integers(rng, *shape):
    return rng.integers(-3, 4, size=shape)


def exact(expression, values):
    """The exact value of an expression at sizes, indices and integer tensors."""
    converter = Converter()
    at = {}
    for symbol, v in values.items():
        if isinstance(v, np.ndarray):
            at[str(symbol.label)] = table(v.tolist())
        else:
            at[converter.term(symbol)] = converter.term(v)
    number = literal(Normaliser().poly(at_values(converter.term(expression), at)))
    assert number is not None
    return number


@pytest.fixture(scope="module")
def drawn():
    """Integer weights and tokens of which no hidden unit is at its kink."""
    rng = np.random.default_rng(7)
    while True:
        w1, w2 = integers(rng, 4, 2), integers(rng, 2, 4)
        c1, c2, points = integers(rng, 4), integers(rng, 2), integers(rng, 3, 2)
        z = points @ w1.T + c1
        if np.abs(z).min() > 0 and (z > 0).any() and (z < 0).any():
            break
    weights = numeric.FeedForwardWeights(w1.T, w2.T, c1, c2)
    values = {d: 2, f: 4, n: 3, W_1: w1, W_2: w2, b_1: c1, b_2: c2, X: points}
    return weights, points, values


def entries(expression, values, *indices):
    """All entries of a symbolic tensor, as floats."""
    sizes = [int(values[i.upper + 1]) for i in indices]
    out = np.empty(sizes)
    for place in np.ndindex(*sizes):
        out[place] = float(exact(expression, {**values, **dict(zip(indices, place, strict=True))}))
    return out


def test_the_formula_is_what_the_layer_computes(drawn):
    weights, points, values = drawn
    assert np.array_equal(entries(one_row, values, t, a), numeric.feed_forward(points, weights))
    wrong = plus(one_row, b_2[a])
    assert not np.array_equal(entries(wrong, values, t, a), numeric.feed_forward(points, weights))


def test_the_code_is_what_the_layer_computes(drawn):
    weights, points, values = drawn
    code = F.in_code(row(X, t), a)
    stored = {**values, F.V_1: values[W_1].T, F.V_2: values[W_2].T}
    assert np.array_equal(entries(code, stored, t, a), numeric.feed_forward(points, weights))


def test_the_collapsed_map_is_the_product(drawn):
    weights, points, values = drawn
    got = entries(F.collapsed(row(X, t), a), values, t, a)
    linear = numeric.linear(
        numeric.linear(points, weights.w_1, weights.b_1), weights.w_2, weights.b_2
    )
    assert np.array_equal(got, linear)


def test_the_gradients_are_those_of_the_layer(drawn):
    weights, points, values = drawn
    cotangent = integers(np.random.default_rng(3), 3, 2)
    gates = (points @ weights.w_1 + weights.b_1 > 0).astype(int)
    by_tokens, by_weights = numeric.feed_forward_vjp(points, weights, cotangent)
    at = {**values, G.G: cotangent, G.M: gates}
    found = {
        "gradient-input": by_tokens,
        "gradient-first-matrix": by_weights.w_1.T,
        "gradient-first-bias": by_weights.b_1,
        "gradient-second-matrix": by_weights.w_2.T,
        "gradient-second-bias": by_weights.b_2,
    }
    for name, expected in found.items():
        statement = BY_NAME[name].statement
        gradient = statement if isinstance(statement, GradientIs) else statement.args[1]
        places = gradient.args[2]
        indices = tuple(places) if isinstance(places, sp.Tuple) else (places,)
        assert np.array_equal(entries(gradient.args[3], at, *indices), expected), name


def test_the_loss_is_the_pairing_with_the_cotangent(drawn):
    weights, points, values = drawn
    cotangent = integers(np.random.default_rng(4), 3, 2)
    got = exact(G.batch_loss(), {**values, G.G: cotangent})
    assert got == Fraction((cotangent * numeric.feed_forward(points, weights)).sum())


def test_the_hinges_pass_through_the_points():
    at, height = [0, 1, 3, 4], [2, -1, 5, 5]
    rises = [Fraction(height[q + 1] - height[q], at[q + 1] - at[q]) for q in range(3)]
    weights = [rises[0], rises[1] - rises[0], rises[2] - rises[1]]
    for point, value in zip(at, height, strict=True):
        converter = Converter()
        term = converter.term(R.hinge_network(point, 3))
        tensors = {"x": table(at), "y": table(height), "w": table(weights)}
        got = literal(Normaliser().poly(T.substitute(term, {}, tensors)))
        assert got == value


def test_the_network_receives_a_centred_vector():
    values = {d: 2, x: np.array([3, -1]), R.attention: np.array([-2, 2]), R.root: 2}
    got = entries(R.normalised(a), values, a)
    added = np.array([1.0, 1.0])
    assert np.array_equal(got, (added - added.mean()) / 2)


# ---------------------------------------------------------------------- twins can disagree


def disagrees(name):
    return BY_NAME[name].twin.run(0, BY_NAME[name].id).status is TwinStatus.DISAGREES


def relu_outside(points, w):
    return np.maximum(points @ w.w_1 @ w.w_2 + w.b_1 @ w.w_2 + w.b_2, 0)


def mixes_tokens(points, w):
    points = np.asarray(points)
    mean = points.mean(axis=0, keepdims=True) if points.ndim > 1 else points
    return right(points, w) + (mean @ w.w_1) @ w.w_2


def along_tokens(points, w):
    return right(np.asarray(points)[::-1], w) if np.ndim(points) == 2 else right(points, w)


right, right_vjp = numeric.feed_forward, numeric.feed_forward_vjp


@pytest.mark.parametrize(
    ("wrong", "names"),
    [
        (relu_outside, ("code", "cell", "identity", "gradient-input")),
        (mixes_tokens, ("same-map", "position-wise", "jacobian", "gradient-first-matrix")),
        (along_tokens, ("position-wise", "jacobian", "gradient-input")),
        (lambda v, w: numeric.linear(numeric.linear(v, w.w_1, w.b_1), w.w_2, w.b_2),
         ("collapse", "not-affine", "code", "interpolation")),
        (lambda v, w: right(v, w) - w.b_2, ("code", "cell", "interpolation")),
    ],
)  # fmt: skip
def test_a_wrong_layer_is_noticed(monkeypatch, wrong, names):
    monkeypatch.setattr(numeric, "feed_forward", wrong)
    assert {q for q in names if disagrees(q)} == set(names)


def without_gates(points, w, cotangent):
    _, grads = right_vjp(points, w, cotangent)
    behind = cotangent @ w.w_2.T
    wrong = replace(grads, w_1=points.T @ behind, b_1=behind.sum(axis=0))
    return behind @ w.w_1.T, wrong


def first_token_only(points, w, cotangent):
    by_tokens, _ = right_vjp(points, w, cotangent)
    return by_tokens, right_vjp(points[:1], w, cotangent[:1])[1]


@pytest.mark.parametrize(
    ("wrong", "names"),
    [
        (without_gates, ("gradient-input", "gradient-first-matrix", "gradient-first-bias")),
        (first_token_only, ("gradient-first-matrix", "gradient-first-bias",
                            "gradient-second-matrix", "gradient-second-bias", "zero-gradients")),
    ],
)  # fmt: skip
def test_a_wrong_vjp_is_noticed(monkeypatch, wrong, names):
    monkeypatch.setattr(numeric, "feed_forward_vjp", wrong)
    assert {q for q in names if disagrees(q)} == set(names)


def test_random_units_do_not_stay_alike(monkeypatch):
    monkeypatch.setattr(G, "twins_units", numeric.FeedForwardWeights.init)
    assert disagrees("equal-units")
    monkeypatch.setattr(G, "zero_start", numeric.FeedForwardWeights.init)
    assert disagrees("zero-start")
    assert disagrees("zero-gradients")
