"""What the feed-forward network is for: fitting, softmax or ReLU, and what it receives.

The interview note gives it the non-linear part of a block, and the output of attention as input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import sympy as sp

from derive.claim import Claim, Correction, Example, Given, Mutation
from derive.claims import INTERVIEW
from derive.claims._dimension import null_vector_law, outside
from derive.claims._network import (
    Entry,
    X,
    a,
    before,
    c,
    d,
    f,
    j,
    m,
    n,
    row,
    s,
    t,
    u,
    x,
)
from derive.kernel import terms as T
from derive.kernel.rules import Item, Theorem, infer
from derive.kernel.terms import Term
from derive.language import (
    at_most,
    both,
    dim,
    equal,
    exists,
    forall,
    implies,
    index,
    less,
    minus,
    natural,
    negation,
    over,
    plus,
    positive,
    power,
    real,
    relu,
    sequence,
    tensor,
    times,
    total,
)
from derive.prover import Prover
from derive.result import Source, Verdict
from derive.twin import Trial, Twin, differs
from derive.twin import at_most as bounded
from derive.twin import equal as agree

ORDER = 38
TOPIC = "feed-forward"

# ---------------------------------------------------------------------- fitting functions

l = natural("l")
xs, ys, ws = sequence("x"), sequence("y"), sequence("w")
hinges = natural("N")
further = natural("k")


def rise(at: Any) -> Any:
    """The slope between two neighbouring points."""
    return over(minus(ys[at + 1], ys[at]), minus(xs[at + 1], xs[at]))


def hinge_network(point: Any, number: Any) -> Any:
    """A network of width 1 with so many units: all weights 1 inside, biases -x_j, output y_0."""
    unit = index("j", number)
    return plus(total(times(ws[unit], relu(minus(point, xs[unit]))), unit), ys[0])


IN_ORDER = forall(l, less(xs[l], xs[l + 1]))
FIRST_WEIGHT = equal(ws[0], rise(0))
OTHER_WEIGHTS = forall(l, equal(ws[l + 1], minus(rise(l + 1), rise(l))))


def by_induction(
    p: Prover, claim: Any, base: Callable[[Term], Theorem],
    step: Callable[[Theorem, Term], Theorem],
) -> Theorem:  # fmt: skip
    """For all l: claim; `base` and `step` are given the case that they have to prove."""
    now, number = p.formula(claim), p.term(l)
    start = base(T.substitute(now, {number: T.ZERO}))
    with p.supposing(now) as known:
        following = step(known, T.substitute(now, {number: T.add(number, T.ONE)}))
    return p.induction(start, p.discharge(following, known), l)


def next_unit(p: Prover, point: Any, number: Any) -> Theorem:
    """The units up to and with one more."""
    body = p.term(hinge_network(point, number)).children[0].children[1]
    return infer("unroll", [], "sum", p.term(number), body)


def last_piece(p: Prover, ordered: Theorem, first: Theorem, others: Theorem) -> Theorem:
    """For all l and all z >= x_l: l + 1 units give y_l + slope_l (z - x_l)."""
    z = real("z")
    line = plus(ys[l], times(rise(l), minus(z, xs[l])))
    claim = forall(z, implies(at_most(xs[l], z), equal(hinge_network(z, l + 1), line)))

    def opened(at: Any, beyond: Theorem) -> Theorem:
        """A unit whose kink lies at or before z passes on z - x."""
        up = p.order(at_most(0, minus(z, xs[at])), (1, beyond))
        return p.mp(p.axiom("max-right", 0, minus(z, xs[at])), up)

    def for_points(goal: Term, proof: Callable[[Theorem, tuple[Term, ...]], Theorem]) -> Theorem:
        premise, conclusion = T.instantiate(goal.children[-1], (p.term(z),)).children
        with p.supposing(premise) as beyond:
            theorem = proof(beyond, conclusion.children)
        return p.for_all(p.discharge(theorem, beyond), z)

    def base(goal: Term) -> Theorem:
        theorem = for_points(
            goal, lambda beyond, sides: p.equal(*sides, opened(0, beyond), first, show=False)
        )
        return p.note(theorem, "one unit gives the line through two points")

    def step(known: Theorem, goal: Term) -> Theorem:
        gap = p.at(ordered, l)

        def beyond_next(beyond: Theorem, sides: tuple[Term, ...]) -> Theorem:
            earlier = p.order(at_most(xs[l], z), (1, gap), (1, beyond))
            return p.equal(
                *sides, (1, next_unit(p, z, l + 1)), (1, p.mp(p.at(known, z), earlier)),
                (ws[l + 1], opened(l + 1, beyond)),
                (minus(z, xs[l + 1]), p.at(others, l)),
                (minus(ys[l + 1], ys[l]), p.cancel(minus(xs[l + 1], xs[l]), gap)),
                show=False,
            )  # fmt: skip

        return p.note(
            for_points(goal, beyond_next), "the next unit turns the line to the next slope"
        )

    return by_induction(p, claim, base, step)


def prove_interpolation(p: Prover) -> Theorem:
    def under(case: Theorem) -> Theorem:
        ordered, first, others = (p.part(case, q) for q in range(3))
        pieces = p.note(last_piece(p, ordered, first, others), "by induction over the units")
        through = p.note(through_point(p, ordered, pieces), "the line ends in the next point")
        return p.for_all(later_units(p, ordered, through), hinges)

    return p.suppose(
        both(IN_ORDER, FIRST_WEIGHT, OTHER_WEIGHTS), under,
        "let the points be in order, and each weight the change of slope at its point",
    )  # fmt: skip


def through_point(p: Prover, ordered: Theorem, pieces: Theorem) -> Theorem:
    """For all N: N units give y_N at x_N."""
    gap = p.at(ordered, l)

    def step(_known: Theorem, goal: Term) -> Theorem:
        above = p.order(at_most(xs[l], xs[l + 1]), (1, gap))
        line = p.mp(p.at(pieces, l, xs[l + 1]), above)
        cancel = p.cancel(minus(xs[l + 1], xs[l]), gap)
        return p.equal(
            *goal.children, (1, line), (minus(ys[l + 1], ys[l]), cancel), show=False
        )  # fmt: skip

    claim = equal(hinge_network(xs[l], l), ys[l])
    return by_induction(p, claim, lambda goal: p.equal(*goal.children, show=False), step)


def later_units(p: Prover, ordered: Theorem, through: Theorem) -> Theorem:
    """For all k: N + k units give y_N at x_N, since later units pass nothing on there."""
    point, later = xs[hinges], xs[hinges + l]

    def not_smaller(known: Theorem, goal: Term) -> Theorem:
        return p.order(goal, (1, known), (1, p.at(ordered, hinges + l)))

    order = p.note(
        by_induction(p, at_most(point, later), p.order, not_smaller),
        "the points behind $x_N$ are not smaller",
    )
    low = p.order(at_most(minus(point, later), 0), (1, p.at(order, l)))
    shut = p.mp(p.axiom("max-left", 0, minus(point, later)), low)

    def step(known: Theorem, goal: Term) -> Theorem:
        more = next_unit(p, point, hinges + l)
        return p.equal(
            *goal.children, (1, more), (1, known), (ws[hinges + l], shut), show=False
        )  # fmt: skip

    claim = equal(hinge_network(point, hinges + l), ys[hinges])
    theorem = by_induction(
        p, claim, lambda goal: p.equal(*goal.children, p.at(through, hinges), show=False), step
    )
    return p.note(theorem, "so their units pass nothing on at $x_N$")


def points_apart(p: Prover, goal: Term) -> Theorem:
    """The slopes are defined: neighbouring points are not equal."""
    if goal.op == "imp":
        with p.supposing(goal.children[0]) as premise:
            theorem = points_apart(p, goal.children[1])
        return p.discharge(theorem, premise)
    if goal.op == "forall":
        return p.for_all(points_apart(p, T.instantiate(goal.children[-1], (p.term(l),))), l)
    ordered = next(h for h in p.known() if h.conclusion.op == "forall")
    *_, earlier = (q for q in T.subterms(goal) if q.op == "app")
    return p.trivial(goal, p.at(ordered, earlier.children[0]))


def twin_interpolation(rng: np.random.Generator, missing: int = 0) -> Iterator[Trial]:
    """The last units of the network may be missing."""
    from numeric import FeedForwardWeights, feed_forward

    for count in (2, 3, 5, 9)[missing:]:
        at = np.cumsum(rng.uniform(0.5, 1.5, count)) - 2
        values = rng.standard_normal(count)
        slopes = np.diff(values) / np.diff(at)
        units = count - 1 - missing
        weights = np.diff(slopes, prepend=0.0)[:units, None]
        w = FeedForwardWeights(np.ones((1, units)), weights, -at[:units], values[:1])
        yield agree(feed_forward(at[:, None], w)[:, 0], values, f"{count} points")
        fewer = np.maximum(at[:, None] - at[:-2], 0) if count > 2 else np.zeros((count, 0))
        ranks = [
            np.linalg.matrix_rank(np.hstack([units, np.ones((count, 1))]))
            for units in (np.maximum(at[:, None] - at[:-1], 0), fewer)
        ]
        yield agree(ranks, [count, count - 1], "functions of the points, and with one unit fewer")


def interpolation_mutations() -> tuple[Mutation, ...]:
    def triangular(number: int, weight: Term) -> Example:
        """The points (l, l (l + 1) / 2), whose slopes are l + 1, and as many units as given."""
        at = T.bound(0)
        return Example({
            hinges: number, further: 0, xs: T.Lam(1, at),
            ys: T.Lam(1, T.div(T.mul(at, T.add(at, T.ONE)), T.num(2))), ws: T.Lam(1, weight),
        })  # fmt: skip

    def meets(premises: Any, offset: int) -> Any:
        at = hinges + offset
        met = equal(hinge_network(xs[at], hinges + further), ys[at])
        return implies(both(*premises), met)

    slopes = forall(l, equal(ws[l + 1], rise(l + 1)))
    return (
        Mutation(
            "one unit fewer is enough",
            statement=meets((IN_ORDER, FIRST_WEIGHT, OTHER_WEIGHTS), 1),
            counterexample=triangular(0, T.ONE),
            twin=Twin(
                "a network without its last unit at the points",
                lambda rng: twin_interpolation(rng, missing=1),
            ),
        ),
        Mutation(
            "the weights are the slopes, not their changes",
            statement=meets((IN_ORDER, FIRST_WEIGHT, slopes), 0),
            counterexample=triangular(2, T.add(T.bound(0), T.ONE)),
        ),
    )


INTERPOLATION = Claim(
    id="feed-forward/interpolation",
    title="$N$ units pass through $N + 1$ points",
    source=Source(
        INTERVIEW, ("B21",),
        "The non-linear transformation is there to let the model fit complex functions. Which "
        "functions, and how many units it takes, is not said; here points on a line, in order.",
    ),
    statement=implies(
        both(IN_ORDER, FIRST_WEIGHT, OTHER_WEIGHTS),
        forall([hinges, further], equal(hinge_network(xs[hinges], hinges + further), ys[hinges])),
    ),
    proof=prove_interpolation,
    defined=points_apart,
    twin=Twin("a network with these weights at the points, and ranks", twin_interpolation),
    mutations=interpolation_mutations,
    remark=r"The network has $d_{\text{model}} = 1$, $W_1 = 1$, $b_1 = -x_j$, $W_2 = w_j$ and "
    r"$b_2 = y_0$. Its first $N$ units meet the points $0, \dots, N$ exactly, whatever the $y$ "
    "are. Any finite list of different points can be put in order and continued.",
    expected=Verdict.PROVED,
)  # fmt: skip

# how many points a given hidden layer can serve

point = index("i", f + 2)
places, targets = tensor("x", f + 2, d), tensor("y", f + 2)
weights, bias = tensor("w", f), real("beta")
VECTOR = "_v"


def fitted(at: Any) -> Any:
    """What an output with these weights and this bias makes of a point."""
    return plus(total(times(weights[j], relu(before(row(places, at), j))), j), bias)


UNFITTED = exists(
    targets,
    forall([weights, bias], negation(forall(point, equal(fitted(point), targets[point])))),
)


def prove_capacity(p: Prover) -> Theorem:
    law = null_vector_law(p)
    feature, unit = T.var("_q", "nat"), p.term(relu(before(row(places, point), j)))
    is_bias = T.delta(feature, p.term(f))
    of_unit = T.substitute(unit, {p.term(j): feature})
    entry = T.add(is_bias, T.mul(T.sub(T.ONE, is_bias), of_unit))
    matrix = T.Lam(2, T.abstract(entry, (feature, p.term(point))))
    some = p.at(law, f + 1, 0, matrix)
    with p.supposing(T.instantiate(some.conclusion.children[-1], (VECTOR,))) as case:
        theorem = out_of_reach(p, p.part(case, 0), p.part(case, 1), unit)
    return p.note(
        infer("choose", [some, theorem], VECTOR),
        "but the targets are not all 0",
    )


def out_of_reach(p: Prover, positive: Theorem, every: Theorem, unit: Term) -> Theorem:
    """No output meets targets to which all features are orthogonal."""
    here, target = p.term(point), T.apply(VECTOR, p.term(point))

    def orthogonal(number: Any) -> Theorem:
        return p.mp(p.at(every, number), p.order(at_most(plus(number, 1), plus(f, 1))))

    of_bias = p.equal(T.sum_over(here, target), 0, (1, orthogonal(f)), show=False)
    own = orthogonal(j)
    plain = p.replace(own.conclusion.children[0], outside(p, f))
    of_unit = p.equal(
        T.sum_over(here, T.mul(unit, target)), 0, (-1, plain), (1, own), show=False
    )  # fmt: skip
    p.note(of_bias, "take targets that are orthogonal to the constant")
    p.note(of_unit, "and to what each unit makes of the points: so many equations have a solution")
    met = p.formula(forall(point, equal(fitted(point), targets[point])))
    met = T.substitute(met, {}, {"y": T.Lam(1, T.apply(VECTOR, T.bound(0)))})
    with p.supposing(met) as case:
        product = T.mul(target, p.term(fitted(point)))
        same = p.equal(T.power(target, 2), product, (T.neg(target), p.at(case, point)), show=False)
        p.note(case, r"suppose that an output with the bias $\beta$ meets them")
        length = p.sum_equal(same, point, reason="put it in the place of one target in each square")
        unit_index = p.term(j)
        items = (
            Item(((0, ()),), T.ONE),
            Item(((1, (unit_index,)),), p.term(weights[j]), (unit_index,)),
            Item(((2, ()),), p.term(bias)),
        )
        premises = [length, p.for_all(of_unit, j), of_bias]
        goal = T.eq(length.conclusion.children[0], T.ZERO)
        zero = infer("linear-combination", premises, goal, 3, items)
        p.note(zero, "which is 0, as the output is a combination of units and constant")
        never = p.order(T.lt(T.ZERO, T.ZERO), (1, positive), (-1, zero))
        nothing = p.equal(0, 0, show=False)
        absurd = infer("contradiction", [nothing, infer("apart", [never])], T.negate(met))
    refuted = infer("deny", [absurd], met)
    every_output = p.for_all_tensors(p.for_all(refuted, bias), weights)
    return p.exists(UNFITTED, T.Lam(1, T.apply(VECTOR, T.bound(0))), every_output)


def twin_capacity(rng: np.random.Generator) -> Iterator[Trial]:
    """The best output by least squares misses such targets; it meets one target fewer."""
    from numeric import FeedForwardWeights, linear, relu

    for width, hidden in ((1, 3), (3, 5), (4, 2), (1, 1)):
        w = FeedForwardWeights.init(rng, width, hidden)
        points = rng.standard_normal((hidden + 2, width))
        units = relu(linear(points, w.w_1, w.b_1))
        features = np.hstack([units, np.ones((hidden + 2, 1))])
        wanted = np.linalg.svd(features.T)[2][-1]
        best = features @ np.linalg.lstsq(features, wanted, rcond=None)[0]
        yield differs(best, wanted, by=0.1, what=f"{hidden} units, {hidden + 2} points")
        yield agree(features.T @ wanted, np.zeros(hidden + 1), "orthogonal targets")


CAPACITY = Claim(
    id="feed-forward/capacity",
    title="No more than $N + 1$ points for $N$ given units",
    source=Source(
        INTERVIEW, ("B21",),
        "The non-linear transformation is there to let the model fit complex functions; how much "
        "$N$ hidden units can fit is not said. Here their weights are given, and $W_2$ and $b_2$ "
        "free.",
    ),
    statement=UNFITTED,
    proof=prove_capacity,
    twin=Twin("least squares over the outputs, at targets orthogonal to the units", twin_capacity),
    remark=r"For $d_{ff} + 2$ points there are targets that no $W_2$ and $b_2$ meet, whatever the "
    r"hidden layer is. So the units of `feed-forward/interpolation` are as few as can be.",
    expected=Verdict.PROVED,
)  # fmt: skip

# ---------------------------------------------------------------------- who is non-linear

score = tensor("B", d, d)
values = tensor("A", n, n)


def logit(tokens: Any, at: Any, seen: Any) -> Any:
    """x_at B x_seen with B = W_Q W_K^T / sqrt(d_k)."""
    return total(times(tokens(at, a), score[a, c], tokens(seen, c)), a, c)


def attended(tokens: Any, at: Any, out: Any) -> Any:
    """Attention with softmax, and nothing else."""
    weights = total(sp.exp(logit(tokens, at, s)), s)
    return over(total(times(sp.exp(logit(tokens, at, s)), tokens(s, out)), s), weights)


def given_tokens(at: Any, out: Any) -> Any:
    return X[at, out]


def doubled_tokens(at: Any, out: Any) -> Any:
    return times(2, X[at, out])


LAM = real("lambda")


Y = tensor("Y", n, d)


def mixed(tokens: Entry, other: Entry, at: Any) -> Any:
    return total(times(values[at, s], plus(times(LAM, tokens(s)), other(s))), s)


def prove_fixed_weights(p: Prover) -> Theorem:
    theorem = p.equal(
        *FIXED_WEIGHTS.args[1].args[1].args,
        reason="the average is a sum of the values, each times a number",
    )  # fmt: skip
    return p.for_all(theorem, t, a)


FIXED_WEIGHTS = forall(
    [t, a],
    equal(
        mixed(lambda at: X[at, a], lambda at: Y[at, a], t),
        plus(
            times(LAM, total(times(values[t, s], X[s, a]), s)),
            total(times(values[t, s], Y[s, a]), s),
        ),
    ),
)


def twin_attention(rng: np.random.Generator) -> Iterator[Trial]:
    from numeric import MultiHeadWeights, attention_weights, self_attention

    for tokens_, width, heads in ((4, 12, 3), (3, 4, 1), (2, 1, 1)):
        w = MultiHeadWeights.init(rng, width, heads)
        tokens = rng.standard_normal((tokens_, width)) + 1
        once, twice = self_attention(tokens, w), self_attention(2 * tokens, w)
        yield differs(twice, 2 * once, by=1e-9, what=f"doubled input, width {width}")
        fixed = attention_weights(tokens, tokens)
        moved_ = rng.standard_normal((tokens_, width))
        yield agree(fixed @ (3 * tokens + moved_), 3 * (fixed @ tokens) + fixed @ moved_, "fixed")


ATTENTION = Claim(
    id="feed-forward/attention-alone",
    title="Attention without the network is linear",
    source=Source(
        INTERVIEW, ("B14",),
        "Attention only takes a weighted average of the values, so a feed-forward network is added "
        "to transform it non-linearly. Read strictly, attention alone would be linear: twice the "
        "input would give twice the output.",
    ),
    statement=forall(
        [t, a],
        equal(attended(doubled_tokens, t, a), times(2, attended(given_tokens, t, a))),
    ),
    counterexample=Example({d: 1, n: 2, score: [[T.fn("log", T.num(2))]], X: [[0], [1]]}),
    correction=Correction(FIXED_WEIGHTS, prove_fixed_weights),
    twin=Twin("self-attention of twice the input, and averages with fixed weights", twin_attention),
    remark="It is linear in the values while the weights stay fixed. As the weights come from the "
    "same input, it is not linear in that. ReLU is what the values themselves have to pass.",
    expected=Verdict.REFUTED,
)  # fmt: skip

logits = tensor("z", m)
other_key = index("v", m)


def softened(entries: Entry) -> Any:
    return over(sp.exp(entries(u)), total(sp.exp(entries(other_key)), other_key))


shift = real("kappa")
NORMALISES = both(
    equal(total(softened(row(logits)), u), 1),
    forall(u, equal(softened(lambda e: plus(logits[e], shift)), softened(row(logits)))),
    forall(
        [u, LAM],
        implies(at_most(0, LAM), equal(relu(times(LAM, logits[u])), times(LAM, relu(logits[u])))),
    ),
)


def scaled_relu(p: Prover) -> Theorem:
    """ReLU takes a factor that is not negative out."""
    z = logits[u]

    def under(case: Theorem) -> Theorem:
        def above(side: Theorem) -> Theorem:
            inner = p.mp(p.axiom("max-right", 0, z), side)
            outer = p.mp(
                p.axiom("max-right", 0, times(LAM, z)),
                p.order(at_most(0, times(LAM, z)), (1, case, side)),
            )
            return p.equal(
                relu(times(LAM, z)),
                times(LAM, relu(z)),
                (1, outer),
                (times(-1, LAM), inner),
                show=False,
            )

        def below(side: Theorem) -> Theorem:
            low = p.order(at_most(z, 0), (1, side))
            inner = p.mp(p.axiom("max-left", 0, z), low)
            outer = p.mp(
                p.axiom("max-left", 0, times(LAM, z)),
                p.order(at_most(times(LAM, z), 0), (1, case, low)),
            )
            return p.equal(
                relu(times(LAM, z)),
                times(LAM, relu(z)),
                (1, outer),
                (times(-1, LAM), inner),
                show=False,
            )

        return p.cases(p.dichotomy(0, z), above, below)

    with p.supposing(at_most(0, LAM)) as case:
        theorem = under(case)
    return p.for_all(p.discharge(theorem, case), u, LAM)


def prove_normalises(p: Prover) -> Theorem:
    weights = total(sp.exp(logits[other_key]), other_key)
    adds_up = p.calc(
        total(softened(row(logits)), u),
        (over(total(sp.exp(logits[u]), u), weights), "take the common denominator out"),
        (1, "numerator and denominator are the same sum", p.cancel(weights)),
    )
    lifted = total(sp.exp(plus(logits[other_key], shift)), other_key)
    shifted, plain = softened(lambda e: plus(logits[e], shift)), softened(row(logits))
    moved_ = p.equal(
        shifted, plain, (plain, p.cancel(lifted)), (times(-1, shifted), p.cancel(weights)),
        reason=r"a common shift puts the factor $e^{\kappa}$ above and below the line",
    )  # fmt: skip
    relu_law = p.note(scaled_relu(p), "ReLU: by the sign of $z$")
    return p.both(adds_up, p.for_all(moved_, u), relu_law)


def twin_normalises(
    rng: np.random.Generator, unmoved: Callable[[Any], Any] | None = None
) -> Iterator[Trial]:
    from numeric import relu as relu_
    from numeric import softmax

    ignores_shifts = unmoved or softmax
    for length in (1, 2, 3, 7):
        z = rng.standard_normal(length)
        yield differs(softmax(2 * z), 2 * softmax(z), by=0.1, what="softmax is not homogeneous")
        yield agree(softmax(z).sum(), 1.0, "sum of the weights")
        yield agree(ignores_shifts(z + 1.7), ignores_shifts(z), "shifted logits")
        yield agree(relu_(2.5 * z), 2.5 * relu_(z), "ReLU of a multiple")
    z = np.array([-1.0, 0.5, 2.0])
    yield differs(relu_(z + 1), relu_(z), by=0.1, what="ReLU is not shift-invariant")
    yield differs(relu_(z).sum(), 1.0, by=0.1, what="ReLU does not normalise")


def normalisation_mutations() -> tuple[Mutation, ...]:
    def shifted_relu(rng: np.random.Generator) -> Iterator[Trial]:
        from numeric import relu as relu_

        yield from twin_normalises(rng, relu_)

    return (
        Mutation(
            "ReLU ignores a common shift, as softmax does",
            statement=equal(relu(plus(logits[u], shift)), relu(logits[u])),
            counterexample=Example({m: 1, u: 0, logits: [0], shift: 1}),
            twin=Twin("ReLU of shifted numbers", shifted_relu),
        ),
        Mutation(
            "ReLU takes out factors of either sign",
            statement=equal(relu(times(LAM, logits[u])), times(LAM, relu(logits[u]))),
            counterexample=Example({m: 1, u: 0, logits: [1], LAM: -1}),
        ),
    )


NORMALISATION = Claim(
    id="feed-forward/softmax-too",
    title="Softmax does no more than normalise",
    source=Source(
        INTERVIEW, ("B20",),
        "Softmax serves to normalise the weights, and ReLU is what brings in non-linearity. Read "
        "strictly, softmax would be linear: twice the logits would give twice the weights.",
    ),
    statement=forall(u, equal(softened(lambda e: times(2, logits[e])),
                              times(2, softened(row(logits))))),
    counterexample=Example({m: 2, logits: [0, 0]}),
    correction=Correction(NORMALISES, prove_normalises),
    twin=Twin("softmax and ReLU of multiples and of shifted numbers", twin_normalises),
    mutations=normalisation_mutations,
    remark="Both are non-linear and they differ: softmax normalises and ignores a common shift; "
    "ReLU works on each entry and takes positive factors out.",
    expected=Verdict.REFUTED,
)  # fmt: skip

PURPOSE = Claim(
    id="feed-forward/purpose",
    title="Reshaping, deepening, learning",
    source=Source(
        INTERVIEW, ("B20", "B21", "B22"),
        "The network reshapes the features into richer ones, deepens the representation of each "
        "word in its context, and lets the model learn complex relations.",
    ),
    reason="Richer, deeper and learning are not defined, so nothing is asserted that could be "
    "proved or refuted. What can be: that the network is not affine, works on each position by "
    "itself, and passes through given points.",
    expected=Verdict.NOT_MATHEMATICAL,
)  # fmt: skip

# ---------------------------------------------------------------------- what goes in

gain, offset, attention = tensor("gamma", d), tensor("beta", d), tensor("o", d)
epsilon = positive("epsilon")


def stream(e: Any) -> Any:
    return plus(x[e], attention[e])


mean = over(total(stream(c), c), d)
spread = over(total(power(minus(stream(c), mean), 2), c), d)
root = positive("r")


def normalised(e: Any) -> Any:
    """LN(x + o) without gain and offset."""
    return over(minus(stream(e), mean), root)


def prove_centred(p: Prover) -> Theorem:
    return p.calc(
        total(normalised(a), a),
        (
            over(minus(total(stream(a), a), times(d, mean)), root),
            "all entries have one denominator, and the mean is subtracted from each",
        ),
        (0, r"$d_{\text{model}}$ times the mean is the sum"),
    )


def twin_input(rng: np.random.Generator, kept: float = 1.0) -> Iterator[Trial]:
    """`kept` is the factor of the tokens in the residual sum."""
    from numeric import MultiHeadWeights, layer_norm, self_attention

    for width, heads in ((12, 3), (4, 1), (2, 2)):
        tokens = rng.standard_normal((3, width))
        out = self_attention(tokens, MultiHeadWeights.init(rng, width, heads))
        added = tokens + out
        centred = added - added.mean(-1, keepdims=True)
        inside = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 0.1)
        plain = np.ones(width), np.zeros(width)
        received = layer_norm(kept * tokens + out, *plain, epsilon=0.1)
        yield agree(received, inside, f"LN(x + o), width {width}")
        yield differs(received, out, by=1e-2, what=f"width {width}")
        yield agree(received.sum(-1), np.zeros(3), f"sums, width {width}")


def input_mutations() -> tuple[Mutation, ...]:
    own_mean = over(total(attention[c], c), d)
    own_spread = over(total(power(minus(attention[c], own_mean), 2), c), d)
    own_root = positive("r_o")
    return (
        Mutation(
            r"the block has no residual sum, and the network receives $\mathrm{LN}(o)$",
            statement=equal(normalised(a), over(minus(attention[a], own_mean), own_root)),
            given=(*INPUT.given, Given(equal(power(own_root, 2), plus(own_spread, epsilon)))),
            counterexample=Example(
                {d: 2, a: 0, x: [3, -3], attention: [0, 0], epsilon: 16, root: 5, own_root: 4}
            ),
            twin=Twin(
                r"$\mathrm{LN}(o)$ against $\mathrm{LN}(x + o)$",
                lambda rng: twin_input(rng, kept=0.0),
            ),
        ),
    )


INPUT = Claim(
    id="feed-forward/input",
    title="The network receives the output of attention",
    source=Source(
        INTERVIEW, ("B23",),
        "The input of the feed-forward network is the output of attention. In a block it is "
        r"$\mathrm{LN}(x + o)$, where $o$ is that output.",
    ),
    statement=forall(
        a, equal(plus(times(gain[a], normalised(a)), offset[a]), attention[a])
    ),
    given=(
        Given(equal(power(root, 2), plus(spread, epsilon)), r"$r$ is the root in $\mathrm{LN}$"),
    ),
    counterexample=Example(
        {d: 2, x: [1, -1], attention: [0, 0], gain: [1, 1], offset: [0, 0], epsilon: 3, root: 2}
    ),
    correction=Correction(equal(total(normalised(a), a), 0), prove_centred),
    twin=Twin(r"$\mathrm{LN}(x + o)$ against $o$, and its sums", twin_input),
    mutations=input_mutations,
    remark="Both orders of a block have the residual sum and a normalisation in between. With gain "
    "1 and offset 0 the entries of what the network receives add up to 0, which those of the "
    "output of attention need not do.",
    expected=Verdict.REFUTED,
)  # fmt: skip

e = index("a", dim("d_v"))
wide_values = tensor("V", m, dim("d_v"))
some, others = tensor("A", m), tensor("A'", m)
value_0, value_1 = tensor("v_0", dim("d_v")), tensor("v_1", dim("d_v"))
first_weight, second_weight = real("p"), real("q")


def average(weights: Any, out: Any) -> Any:
    return total(times(weights[u], wide_values[u, out]), u)


def is_average(weights: Any) -> Any:
    return both(forall(u, less(0, weights[u])), equal(total(weights[u], u), 1))


def pair(weight: Any) -> Any:
    return plus(times(weight, value_0[e]), times(minus(1, weight), value_1[e]))


def prove_two_keys(p: Prover) -> Theorem:
    gap = minus(value_0[e], value_1[e])

    def under(same: Theorem) -> Theorem:
        product = p.equal(
            times(minus(first_weight, second_weight), gap), 0, same,
            reason="subtract, and take the difference of the weights out",
        )  # fmt: skip
        cancel = p.cancel(gap)
        return p.equal(
            first_weight, second_weight, (over(1, gap), product),
            (times(-1, minus(first_weight, second_weight)), cancel),
            reason="divide by the difference of the values",
        )  # fmt: skip

    return p.suppose(
        equal(pair(first_weight), pair(second_weight)), under, "let the averages agree"
    )


def twin_readable(rng: np.random.Generator) -> Iterator[Trial]:
    for width in (1, 2, 3):
        keys = rng.standard_normal((width + 2, width))
        relation = np.linalg.svd(np.vstack([keys.T, np.ones(width + 2)]))[2][-1]
        even = np.full(width + 2, 1 / (width + 2))
        moved_ = even + relation / np.abs(relation).max() / (2 * width + 4)
        yield bounded(0, moved_.min(), "weights are positive")
        yield agree(moved_ @ keys, even @ keys, f"same output, width {width}")
        yield differs(moved_, even, by=1e-2, what="other weights")
        two = rng.standard_normal((2, width))
        pick = rng.uniform(0.1, 0.9)
        out = pick * two[0] + (1 - pick) * two[1]
        found = (out - two[1])[0] / (two[0] - two[1])[0]
        yield agree(found, pick, "two keys", tolerance=1e-9)


def readable_mutations() -> tuple[Mutation, ...]:
    alike = {dim("d_v"): 1, e: 0, value_0: [1], value_1: [1], first_weight: 0, second_weight: 1}
    return (
        Mutation(
            "two keys are enough, whether or not their values differ",
            statement=implies(
                equal(pair(first_weight), pair(second_weight)), equal(first_weight, second_weight)
            ),
            counterexample=Example(alike),
        ),
    )


READABLE = Claim(
    id="feed-forward/weights-unreadable",
    title="The weights can be read off the output of attention",
    source=Source(
        INTERVIEW, ("B23",),
        "The vector that the network receives for one word is said to hold how strongly it is "
        "related to another word. Then the output of attention would determine its weights.",
    ),
    statement=implies(
        both(is_average(some), is_average(others),
             forall(e, equal(average(some, e), average(others, e)))),
        forall(u, equal(some[u], others[u])),
    ),
    counterexample=Example(
        {
            m: 3, dim("d_v"): 1, wide_values: [[0], [1], [2]],
            some: ["1/3", "1/3", "1/3"], others: ["1/4", "1/2", "1/4"],
        }
    ),
    correction=Correction(
        implies(equal(pair(first_weight), pair(second_weight)), equal(first_weight, second_weight)),
        prove_two_keys,
        (Given(negation(equal(value_0[e], value_1[e])), "two keys, whose values differ"),),
    ),
    twin=Twin("weights with one output, and two keys", twin_readable),
    mutations=readable_mutations,
    remark="Three keys with values on a line are enough. With two keys whose values differ the "
    "weights can be computed from the output; in general as long as no value is an affine "
    "combination of the others. In the corrected statement $v_0$ and $v_1$ are these two values, "
    "and $p$ and $q$ weights of the first.",
    expected=Verdict.REFUTED,
)  # fmt: skip

EXAMPLE = Claim(
    id="feed-forward/example",
    title="The example of a negated word",
    source=Source(
        INTERVIEW, ("B23",),
        "For a negated word the note gives a vector with named coordinates, such as positive "
        "feeling times 0.3, that comes out of the network.",
    ),
    reason="The coordinates and numbers illustrate an idea; no weights are given from which they "
    "would follow, and coordinates of a trained network have no names.",
    expected=Verdict.NOT_MATHEMATICAL,
)  # fmt: skip

CLAIMS = (
    INTERPOLATION,
    CAPACITY,
    ATTENTION,
    NORMALISATION,
    PURPOSE,
    INPUT,
    READABLE,
    EXAMPLE,
)

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
