r"""Attention as an average: what a weighted mean of the values can be, and in what it is linear.

The interview note says that attention only takes a weighted average of the values, that nothing
non-linear happens to them, and concludes that the output is still linear. The first two hold, with
bounds that are worth stating; the conclusion fails, since for self-attention the weights move with
the input. Here it is settled for which projections it holds: ``f(X) = softmax(X B X^T) X W`` is
linear if there is one token, or ``B = 0``, or ``W = 0``, and never otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp

from derive.claim import Added, Claim, Correction, Example, Given, Mutation, Notation
from derive.claims import INTERVIEW
from derive.claims._softmax import (
    delta,
    distribution,
    i,
    itself,
    j,
    k,
    m,
    positive_weights,
    put_in,
    s,
    softmax,
    spike,
    sum_of_weights,
    u,
    under,
    weights,
)
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.kernel.terms import Term
from derive.language import (
    GradientIs,
    at_most,
    both,
    dims,
    either,
    equal,
    forall,
    implies,
    index,
    less,
    negation,
    over,
    plus,
    power,
    real,
    tensor,
    times,
    total,
)
from derive.prover import Prover
from derive.result import Source, Verdict
from derive.twin import Trial, Twin, differs
from derive.twin import at_most as no_more
from derive.twin import equal as agree

ORDER = 54
TOPIC = "attention-average"

n, d, d_k, d_v = dims("n d d_k d_v")
t, r = index("t", n), index("r", n)
c, e = index("c", d_v), index("e", d_k)
Q, K, V = tensor("Q", n, d_k), tensor("K", m, d_k), tensor("V", m, d_v)
S, A, O = tensor("S", n, m), tensor("A", n, m), tensor("O", n, d_v)
root = sp.sqrt(d_k)

AVERAGE = "Attention is a weighted average of the values, each time it is computed."


def score(t: Any) -> Callable[[Any], Any]:
    """The scores of query t, one for each key, whatever they are."""
    return lambda i: S[t, i]


def scaled_score(t: Any) -> Callable[[Any], Any]:
    """The scaled dot products of query t with the keys."""
    return lambda i: over(total(times(Q[t, e], K[i, e]), e), root)


def weight(t: Any) -> Callable[[Any], Any]:
    return lambda i: A[t, i]


WEIGHTS = Given(
    forall(t, weights(weight(t), score(t))),
    "the weights are the softmax of the scores, one query at a time",
)
OUTPUT = Given(
    forall([t, c], equal(O[t, c], total(times(A[t, i], V[i, c]), i))),
    "the output is the average, $O=AV$",
)


def row(q: Prover) -> tuple[Theorem, Theorem]:
    """0 < A_ti for all i, and their sum is one."""
    return distribution(q, q.at(q.hyp(0), t), weight(t), score(t))


# ---------------------------------------------------------------------- drawing attention


def inputs(rng: np.random.Generator) -> list[tuple[Any, Any, Any]]:
    """Queries, keys and values, all sizes different, then one query, key, component."""
    sizes = ((3, 5, 4, 2), (4, 2, 3, 7), (1, 6, 2, 3), (3, 1, 2, 4), (2, 3, 1, 1))
    return [
        (rng.standard_normal((rows, width)) * 2, rng.standard_normal((size, width)) * 2,
         rng.standard_normal((size, columns)))
        for rows, size, width, columns in sizes
    ]  # fmt: skip


# ---------------------------------------------------------------------- an average

low, high, radius = real("a"), real("b"), real("r")
in_range = forall(i, both(at_most(low, V[i, c]), at_most(V[i, c], high)))
averages = forall(
    t,
    both(
        forall(i, less(0, A[t, i])),
        equal(total(A[t, i], i), 1),
        forall(c, implies(in_range, both(at_most(low, O[t, c]), at_most(O[t, c], high)))),
    ),
)


def prove_average(q: Prover) -> Theorem:
    positive, one = row(q)
    out = q.at(q.hyp(1), t, c)

    def then(bounds: Theorem) -> Theorem:
        below, above = (q.part(q.at(bounds, i), part) for part in (0, 1))
        at_i = q.at(positive, i)
        rises = q.sum_order(
            q.order(at_most(0, times(A[t, i], plus(V[i, c], -low))), (1, at_i, below),
                    reason="a positive weight times what is not negative"), i,
        )  # fmt: skip
        falls = q.sum_order(
            q.order(at_most(0, times(A[t, i], plus(high, -V[i, c]))), (1, at_i, above),
                    reason="the same from above"), i,
        )  # fmt: skip
        return q.both(
            q.order(
                at_most(low, O[t, c]),
                (1, rises),
                (low, one),
                (1, out),
                reason="add over $s$; the weights sum to 1",
            ),
            q.order(
                at_most(O[t, c], high),
                (1, falls),
                (-high, one),
                (-1, out),
                reason="add over $s$; the weights sum to 1",
            ),
        )

    bounded = q.for_all(under(q, in_range, ["suppose bounds of the values"], then), c)
    return q.for_all(q.both(positive, one, bounded), t)


def twin_average(
    rng: np.random.Generator, weights_of: Callable[[Any, Any], Any] | None = None
) -> list[Trial]:
    """Of attention, or of the average with other weights."""
    from numeric import attention_weights, scaled_dot_product_attention

    out = []
    for query, key, value in inputs(rng):
        if weights_of is None:
            weight = attention_weights(query, key)
            found = scaled_dot_product_attention(query, key, value)
        else:
            weight = weights_of(query, key)
            found = weight @ value
        out += [
            no_more(1e-300, weight.min(), "weights are positive"),
            agree(weight.sum(axis=-1), np.ones(len(query)), "and sum to 1"),
            agree(found, weight @ value, "the output"),
            no_more(found, np.tile(value.max(axis=0), (len(query), 1)), "largest value"),
            no_more(np.tile(value.min(axis=0), (len(query), 1)), found, "smallest value"),
        ]
    return out


def over_queries(query: Any, key: Any) -> Any:
    """Weights by a softmax along the wrong axis."""
    from numeric import scaled_scores
    from numeric import softmax as soft

    return soft(scaled_scores(query, key).T).T


def not_divided(query: Any, key: Any) -> Any:
    """Exponentials that are not divided by their sum."""
    from numeric import scaled_scores

    return np.exp(scaled_scores(query, key))


def dropped_out(query: Any, key: Any) -> Any:
    """Weights of which every other one is dropped, and the rest doubled."""
    from numeric import attention_weights

    kept = np.indices((len(query), len(key))).sum(axis=0) % 2
    return 2 * kept * attention_weights(query, key)


#: one query of two keys with equal scores, and values 0 and 1
TWO_KEYS = {n: 1, m: 2, d_v: 1, S: [[0, 0]], V: [[0], [1]]}
#: two queries of one key
ONE_KEY = {n: 2, m: 1, d_v: 1, S: [[0], [0]], V: [[1]]}


def average_mutations() -> tuple[Mutation, ...]:
    def mistaken(weights_of: Callable[[Any, Any], Any]) -> Twin:
        return Twin(
            "signs and sums of other weights, and ranges of their averages",
            lambda rng: twin_average(rng, weights_of),
        )

    by_query = over(sp.exp(S[t, i]), total(sp.exp(S[r, i]), r))
    return (
        Mutation(
            "softmax runs over the queries, `axis=0`",
            given=(Given(forall([t, i], equal(A[t, i], by_query)), "over the queries"), OUTPUT),
            counterexample=Example(ONE_KEY),
            twin=mistaken(over_queries),
        ),
        Mutation(
            "the exponentials are not divided by their sum",
            given=(Given(forall([t, i], equal(A[t, i], sp.exp(S[t, i]))), "undivided"), OUTPUT),
            counterexample=Example(TWO_KEYS),
            twin=mistaken(not_divided),
        ),
        Mutation(
            "dropout stays on: weights are dropped and the others scaled up",
            twin=mistaken(dropped_out),
        ),
    )


WEIGHTED = Claim(
    id="attention-average/average",
    title="Attention averages the values with positive weights",
    source=Source(
        INTERVIEW, ("B13", "B18"),
        f"{AVERAGE} So every component of an output lies between the smallest and the largest of "
        "that component of the values.",
    ),
    statement=averages,
    given=(WEIGHTS, OUTPUT),
    proof=prove_average,
    twin=Twin("weights, outputs and their ranges of NumPy attention", twin_average),
    mutations=average_mutations,
    expected=Verdict.PROVED,
    remark="This is one head without mask and dropout. What is averaged are rows of $V=XW^V$, and "
    "the weights depend on the input, too.",
)  # fmt: skip

squared_output = total(power(O[t, c], 2), c)
squared_value = total(power(V[i, c], 2), c)
mean_square = total(times(A[t, i], squared_value), i)
norms = forall(
    t,
    both(
        at_most(squared_output, mean_square),
        implies(forall(i, at_most(squared_value, radius)), at_most(squared_output, radius)),
    ),
)


def prove_norm(q: Prover) -> Theorem:
    positive, one = row(q)
    at_i = q.at(positive, i)
    gap = plus(V[i, c], -O[t, c])
    squares = q.sum_order(
        q.order(
            at_most(0, times(A[t, i], power(gap, 2))), (1, q.square(gap), at_i),
            reason="squares with positive weights",
        ), i, c,
    )  # fmt: skip
    inserted = q.sum_equal(
        q.equal(
            power(O[t, c], 2), times(O[t, c], total(times(A[t, i], V[i, c]), i)),
            (O[t, c], q.at(q.hyp(1), t, c)), show=False,
        ), c, reason="insert one of two factors",
    )  # fmt: skip
    convex = q.order(
        at_most(squared_output, mean_square),
        (1, squares), (-squared_output, one), (-2, inserted),
        reason="multiply the squares out and add over $s$ and $c$",
    )  # fmt: skip

    def then(bound: Theorem) -> Theorem:
        each = q.sum_order(
            q.order(
                at_most(times(A[t, i], squared_value), times(A[t, i], radius)),
                (1, at_i, q.at(bound, i)),
            ), i,
        )  # fmt: skip
        return q.order(
            at_most(squared_output, radius), (1, convex), (1, each), (-radius, one),
            reason="the weights sum to 1",
        )  # fmt: skip

    inside = under(
        q, norms.args[1].args[1].args[0], ["suppose that no value is longer than that"], then
    )
    return q.for_all(q.both(convex, inside), t)


def twin_norm(rng: np.random.Generator) -> list[Trial]:
    from numeric import attention_weights, scaled_dot_product_attention

    out = []
    for query, key, value in inputs(rng):
        found = (scaled_dot_product_attention(query, key, value) ** 2).sum(axis=-1)
        squares = (value**2).sum(axis=-1)
        out += [
            no_more(found, attention_weights(query, key) @ squares, "mean square"),
            no_more(found, np.full(len(query), squares.max()), "longest value"),
        ]
    return out


def norm_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "the average of the squares is taken for the smaller one",
            statement=forall(t, at_most(mean_square, squared_output)),
            counterexample=Example(TWO_KEYS),
        ),
    )


NORM = Claim(
    id="attention-average/norm",
    title="No output is longer than the longest value",
    source=Source(
        INTERVIEW, ("B13", "B18"),
        f"{AVERAGE} Beyond the note: averaging shortens; the square of an output is at most the "
        "average of the squares.",
    ),
    statement=norms,
    given=(WEIGHTS, OUTPUT),
    proof=prove_norm,
    twin=Twin("lengths of outputs of NumPy attention against those of values", twin_norm),
    mutations=norm_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip

below_somewhere = both(forall(i, at_most(V[i, c], high)), less(V[k, c], high))


def prove_strict(q: Prover) -> Theorem:
    positive = positive_weights(q, q.at(q.hyp(0), t), weight(t))
    one = sum_of_weights(q, q.at(q.hyp(0), t), weight(t), score(t))
    out = q.at(q.hyp(1), t, c)

    def then(above: Theorem, smaller: Theorem) -> Theorem:
        room = times(A[t, i], plus(high, -V[i, c]))
        others = q.sum_order(
            q.order(
                at_most(0, times(power(1 - delta(i, k), 2), room)),
                (1, q.square(1 - delta(i, k)), q.at(positive, i), q.at(above, i)),
                reason=r"what the values at $s\ne k$ stay below the bound, weighted",
            ), i,
        )  # fmt: skip
        return q.order(
            less(O[t, c], high), (1, others), (1, q.at(positive, k), smaller), (-high, one),
            (-1, out), reason="add over $s$; the term of $k$ is positive",
        )  # fmt: skip

    reasons = ["suppose a bound of the values", "which one of them does not reach"]
    return q.for_all(under(q, below_somewhere, reasons, then), t)


def twin_strict(rng: np.random.Generator) -> list[Trial]:
    from numeric import attention_weights, scaled_dot_product_attention

    out = []
    for query, key, value in inputs(rng):
        if len(key) == 1:
            found = scaled_dot_product_attention(query, key, value)
            out.append(agree(found, np.tile(value, (len(query), 1)), "one key"))
            continue
        found = scaled_dot_product_attention(query, key, value)
        room = attention_weights(query, key) @ (value.max(axis=0) - value)
        out.append(agree(value.max(axis=0) - found, room, "what is missing to the largest"))
        out.append(no_more(1e-12, room.min(), "is positive"))
    return out


def strict_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "no value is asked to be smaller than the largest",
            statement=forall(t, implies(below_somewhere.args[0], less(O[t, c], high))),
            counterexample=Example({**ONE_KEY, c: 0, high: 1}),
        ),
    )


STRICT = Claim(
    id="attention-average/strict",
    title="An output does not reach the largest value, unless all values do",
    source=Source(
        INTERVIEW, ("B13",),
        f"{AVERAGE} Beyond the note: a component that is not the same in all values never reaches "
        "its largest value, so no output is a copy of an extreme value.",
    ),
    statement=forall(t, implies(below_somewhere, less(O[t, c], high))),
    given=(WEIGHTS, OUTPUT),
    proof=prove_strict,
    twin=Twin("distance of outputs of NumPy attention from the largest values", twin_strict),
    mutations=strict_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip

common = tensor("x", d_v)
moved_output = total(times(A[t, i], plus(V[i, c], common[c])), i)


def prove_common(q: Prover) -> Theorem:
    one = sum_of_weights(q, q.at(q.hyp(0), t), weight(t), score(t))
    out = q.at(q.hyp(1), t, c)
    moved = q.equal(
        moved_output, plus(O[t, c], common[c]), (common[c], one), (-1, out),
        reason="the common part is averaged to itself",
    )  # fmt: skip

    def then(same: Theorem) -> Theorem:
        return q.calc(
            O[t, c],
            (total(times(A[t, i], common[c]), i), "insert the values", out, same),
            (common[c], "the weights sum to 1", one),
        )

    alike = under(
        q, forall(i, equal(V[i, c], common[c])), ["suppose that all values are the same"], then
    )
    return q.for_all(q.both(moved, alike), t, c)


def twin_common(
    rng: np.random.Generator, attend: Callable[[Any, Any, Any], Any] | None = None
) -> list[Trial]:
    from numeric import scaled_dot_product_attention

    attend = attend or scaled_dot_product_attention
    out = []
    for query, key, value in inputs(rng):
        shift = rng.standard_normal(value.shape[1])
        found = attend(query, key, value + shift)
        out.append(agree(found, attend(query, key, value) + shift, "moved values"))
        alike = attend(query, key, np.tile(shift, (len(key), 1)))
        out.append(agree(alike, np.tile(shift, (len(query), 1)), "equal values"))
    return out


def common_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "the common part is lost",
            statement=forall([t, c], equal(moved_output, O[t, c])),
            counterexample=Example({**TWO_KEYS, common: [1]}),
        ),
        Mutation(
            "the weights do not sum to 1, so that it is multiplied",
            twin=Twin(
                "averages with weights that are not divided by their sum",
                lambda rng: twin_common(rng, lambda q, k, v: not_divided(q, k) @ v),
            ),
        ),
    )


COMMON = Claim(
    id="attention-average/common-part",
    title="What all values have in common passes unchanged",
    source=Source(
        INTERVIEW, ("B18",),
        f"{AVERAGE} Beyond the note: so equal values come out as they are, whatever the weights, "
        "and a bias of the values is a bias of the output.",
    ),
    statement=forall(
        [t, c],
        both(
            equal(moved_output, plus(O[t, c], common[c])),
            implies(forall(i, equal(V[i, c], common[c])), equal(O[t, c], common[c])),
        ),
    ),
    given=(WEIGHTS, OUTPUT),
    proof=prove_common,
    twin=Twin("outputs of NumPy attention for moved and for equal values", twin_common),
    mutations=common_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip


# ---------------------------------------------------------------------- with a mask

M = tensor("M", n, m)
mask = forall([t, i], either(equal(M[t, i], 0), equal(M[t, i], 1)))
sees_a_key = forall(t, at_most(1, total(M[t, i], i)))


def visible(t: Any, i: Any) -> Any:
    """e^{S_ti} where key i is visible to query t, and 0 elsewhere."""
    return times(M[t, i], sp.exp(S[t, i]))


def masked(t: Any, i: Any) -> Any:
    """The weight of key i: the softmax over the visible keys."""
    return over(visible(t, i), total(visible(t, u), u))


masked_average = forall(
    t,
    both(
        forall(
            i, both(at_most(0, masked(t, i)), implies(equal(M[t, i], 0), equal(masked(t, i), 0)))
        ),
        equal(total(masked(t, i), i), 1),
    ),
)


def not_masked_out(q: Prover, mask: Theorem, i: Any) -> Theorem:
    """0 <= M_ti."""
    goal = at_most(0, M[t, i])
    return q.cases(
        q.at(mask, t, i), lambda none: q.order(goal, (1, none)), lambda one: q.order(goal, (1, one))
    )


def something_visible(q: Prover, mask: Theorem, sees: Theorem) -> Theorem:
    """0 < Sum_u M_tu e^{S_tu}: else every M_tu would be 0."""
    bottom = total(visible(t, u), u)
    goal = q.formula(less(0, bottom))

    def empty(none: Theorem) -> Theorem:
        apart = 1 - delta(k, u)
        others = q.sum_order(
            q.order(
                at_most(0, times(power(apart, 2), visible(t, u))),
                (sp.exp(S[t, u]), q.square(apart), not_masked_out(q, mask, u)),
            ), u,
        )  # fmt: skip
        hidden = q.order(at_most(M[t, k], 0), (sp.exp(-S[t, k]), none), (sp.exp(-S[t, k]), others))
        absurd = q.order(at_most(1, 0), (1, q.at(sees, t)), (1, q.sum_order(hidden, k)))
        return infer("contradiction", [absurd, q.trivial(negation(at_most(1, 0)))], goal)

    return q.cases(q.dichotomy(bottom, 0), empty, lambda above: above)


def prove_masked(q: Prover) -> Theorem:
    reasons = ["let $M$ say for every query which keys it may attend to"]
    return under(q, mask, reasons, lambda zero_one: average_of_visible(q, zero_one))


def average_of_visible(q: Prover, mask: Theorem) -> Theorem:
    bottom = total(visible(t, u), u)
    positive = q.note(
        something_visible(q, mask, q.hyp(0)),
        "terms of visible keys are positive, the others are 0",
    )
    inverse = q.order(at_most(0, power(bottom, -1)), facts=[positive])
    not_negative = q.order(
        at_most(0, masked(t, i)), (sp.exp(S[t, i]), not_masked_out(q, mask, i), inverse),
        reason="no factor is negative",
    )  # fmt: skip
    hidden = q.suppose(
        equal(M[t, i], 0),
        lambda none: q.equal(masked(t, i), 0, none, reason="then its weight is 0"),
        "suppose a hidden key",
    )  # fmt: skip
    one = q.equal(
        total(masked(t, i), i), 1, (1, q.cancel(bottom, positive)),
        reason="numerator and denominator are the same sum, which is not 0",
    )  # fmt: skip
    return q.for_all(q.both(q.for_all(q.both(not_negative, hidden), i), one), t)


def mask_defined(q: Prover, goal: Term) -> Theorem:
    """No sum of visible exponentials is 0, where every query sees a key."""
    if goal.op == "imp":
        with q.supposing(goal.children[0]) as case:
            proved = mask_defined(q, goal.children[1])
        return q.discharge(proved, case)
    if goal.op == "forall":
        q.opened += 1
        x = T.var(f"_x{q.opened}", "fin", *goal.children[:-1])
        return q.for_all(mask_defined(q, T.instantiate(goal.children[-1], (x,))), x)
    sees, mask = q.known()[:2]
    every = q.for_all(something_visible(q, mask, sees), t)
    query = next(s for s in T.free_symbols(goal) if isinstance(s, Term) and s.data[0][:1] == "_")
    return q.trivial(goal, q.at(every, query))


def hidden_before(scores: Any, mask: Any) -> Any:
    """Weights of the visible keys: hidden ones have the score minus infinity."""
    from numeric import softmax as soft

    with np.errstate(divide="ignore"):
        return soft(np.where(mask == 1, scores, -np.inf))


def hidden_after(scores: Any, mask: Any) -> Any:
    """Weights of all keys, those of hidden ones put to 0 afterwards."""
    from numeric import softmax as soft

    return soft(scores) * mask


def twin_masked(
    rng: np.random.Generator, weights_of: Callable[[Any, Any], Any] = hidden_before
) -> list[Trial]:
    """Hidden keys have the score minus infinity, as implementations do it."""
    from numeric import softmax as soft

    out = []
    for rows, size in ((4, 4), (3, 5), (1, 2), (2, 1)):
        scores = rng.standard_normal((rows, size)) * 3
        mask = rng.integers(0, 2, (rows, size)) if size > 1 else np.ones((rows, 1))
        if rows == size:
            mask = np.tri(size)
        mask[np.arange(rows), rng.integers(0, size, rows)] = 1
        weight = weights_of(scores, mask)
        visible = mask * np.exp(scores)
        out += [
            agree(weight, visible / visible.sum(axis=1, keepdims=True), "masked weights"),
            agree(weight.sum(axis=1), np.ones(rows), "row sums"),
            agree(weight[mask == 0], np.zeros(int((mask == 0).sum())), "hidden keys"),
        ]
    hidden = soft(np.array([[0.0, 1.0], [-np.inf, -np.inf]]))
    return [*out, agree(hidden.sum(axis=1), [1, 0], "a query that sees nothing")]


def masked_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "a query may see no key at all",
            given=(),
            counterexample=MASKED.added[0].counterexample,
        ),
        Mutation(
            "keys are hidden after the softmax, whose sum still counts them",
            twin=Twin(
                "weights that are put to 0 after the softmax",
                lambda rng: twin_masked(rng, hidden_after),
            ),
        ),
    )


MASKED = Claim(
    id="attention-average/masked",
    title="With a mask, attention is an average where every query sees a key",
    source=Source(
        INTERVIEW, ("B13",),
        f"{AVERAGE} Read for masked attention, as in a decoder: weights over the keys that are "
        "visible. That there is one for every query is not said.",
    ),
    statement=implies(mask, masked_average),
    added=(
        Added(
            sees_a_key, Example({n: 1, m: 2, M: [[0, 0]], S: [[0, 0]]}),
            "every query sees at least one key",
        ),
    ),
    witness=Example({n: 2, m: 2, M: [[1, 0], [1, 1]], S: [[0, 0], [0, 0]]}),
    proof=prove_masked,
    defined=mask_defined,
    twin=Twin("softmax of scores that are minus infinity where hidden", twin_masked),
    mutations=masked_mutations,
    expected=Verdict.CONDITIONAL,
    remark="A causal mask is of this kind: every token sees itself. A row without a visible key is "
    "0/0: NaN in many implementations, and in others weights 0, whose sum is not 1 either. With "
    "dropout of weights, rows do not sum to 1.",
)  # fmt: skip


# ---------------------------------------------------------------------- linear in the values

other = tensor("Y", m, d_v)
one_factor, other_factor = real("a"), real("b")
half = sp.Rational(1, 2)


def attended(t: Any, value: Callable[[Any], Any]) -> Any:
    """Row t of the output for values with these entries, with the softmax written out."""
    return total(times(softmax(scaled_score(t), i), value(i)), i)


def prove_linear(q: Prover) -> Theorem:
    mixed = lambda i: plus(times(one_factor, V[i, c]), times(other_factor, other[i, c]))  # noqa: E731
    apart = plus(
        times(one_factor, attended(t, lambda i: V[i, c])),
        times(other_factor, attended(t, lambda i: other[i, c])),
    )
    same = q.equal(
        attended(t, mixed), apart,
        reason="the weights do not contain the values; multiply out and split the sum",
    )  # fmt: skip
    return q.for_all(same, t, c)


def twin_linear(rng: np.random.Generator) -> list[Trial]:
    from numeric import scaled_dot_product_attention as attend

    out = []
    for query, key, value in inputs(rng):
        first, second = rng.standard_normal(2)
        second_value = rng.standard_normal(value.shape)
        mixed = attend(query, key, first * value + second * second_value)
        apart = first * attend(query, key, value) + second * attend(query, key, second_value)
        out.append(agree(mixed, apart, f"m={len(key)}"))
    return out


def linear_mutations() -> tuple[Mutation, ...]:
    def moving_keys(rng: np.random.Generator) -> list[Trial]:
        from numeric import scaled_dot_product_attention as attend

        out = []
        for query, key, _ in inputs(rng):
            other_key = rng.standard_normal(key.shape)
            mixed = attend(query, key + other_key, key + other_key)
            apart = attend(query, key, key) + attend(query, other_key, other_key)
            out.append(agree(mixed, apart, f"m={len(key)}"))
        return out

    mean = over(total(V[i, c], i), m)
    return (
        Mutation(
            "the input is varied in place of the values, and the keys move with them",
            twin=Twin("NumPy attention of sums of inputs", moving_keys),
        ),
        Mutation(
            "the output is taken for the plain mean of the values",
            statement=forall([t, c], equal(attended(t, lambda i: V[i, c]), mean)),
            counterexample=Example({
                n: 1, m: 2, d_k: 1, d_v: 1, Q: [[T.fn("log", T.num(2))]], K: [[0], [1]],
                V: [[0], [1]],
            }),
        ),
    )  # fmt: skip


LINEAR = Claim(
    id="attention-average/linear-in-values",
    title="Attention is linear in the values",
    source=Source(
        INTERVIEW, ("B17",),
        "To the values nothing non-linear happens; the softmax acts on queries and keys only.",
    ),
    statement=forall(
        [t, c],
        equal(
            attended(
                t, lambda i: plus(times(one_factor, V[i, c]), times(other_factor, other[i, c]))
            ),
            plus(
                times(one_factor, attended(t, lambda i: V[i, c])),
                times(other_factor, attended(t, lambda i: other[i, c])),
            ),
        ),
    ),
    proof=prove_linear,
    twin=Twin("NumPy attention of sums and multiples of values", twin_linear),
    mutations=linear_mutations,
    expected=Verdict.PROVED,
    remark="For queries and keys that stay as they are. In self-attention they move with the "
    "input.",
)  # fmt: skip


# ---------------------------------------------------------------------- linear in the input?

X, Y = tensor("X", m, d), tensor("Y", m, d)
B, W = tensor("B", d, d), tensor("W", d, d_v)
w_q, w_k = tensor("W^Q", d, d_k), tensor("W^K", d, d_k)
f, h = index("f", d), index("h", d)
SELF = (
    "Asked whether attention is linear, the note answers that only the weights go through a "
    "softmax, and that the output is still linear."
)


def form(x: Callable[[Any, Any], Any], s: Any) -> Callable[[Any], Any]:
    """The scores x_s B x_i of token s, for tokens with the entries x."""
    return lambda i: total(times(x(s, f), B[f, h], x(i, h)), f, h)


def attention(x: Callable[[Any, Any], Any], s: Any, c: Any) -> Any:
    """Entry (s, c) of softmax(x B x^T) x W."""
    return total(times(softmax(form(x, s), i), total(times(x(i, f), W[f, c]), f)), i)


def entry(x: Any) -> Callable[[Any, Any], Any]:
    return lambda s, f: x[s, f]


BILINEAR = Notation(
    forall([f, h], equal(B[f, h], over(total(times(w_q[f, e], w_k[h, e]), e), root))),
    r"$B=W^Q(W^K)^\top/\sqrt{d_k}$",
)


no_scores = forall([f, h], equal(B[f, h], 0))
no_values = forall([f, c], equal(W[f, c], 0))
degenerate = either(equal(m, 1), no_scores, no_values)
doubling = forall(
    X,
    forall(
        [k, c],
        equal(attention(lambda s, f: times(2, X[s, f]), k, c), times(2, attention(entry(X), k, c))),
    ),
)

# One token is e_g, all others are e_g - y. Then the scores of token k are x_0 + [i = k] x_1, and
# entries of the values are v_0 + [i = k] v_1.
g = index("g", d)
l = index("l", d)
y = tensor("y", d)
x_0 = plus(B[g, g], -total(times(B[g, h], y[h]), h))
x_1 = total(times(B[g, h], y[h]), h)
v_0 = plus(W[g, c], -total(times(y[h], W[h, c]), h))
v_1 = total(times(y[h], W[h, c]), h)


def bump(q: Prover, base: Term, extra: Term, at: Term) -> Term:
    """base + delta(k, at) extra."""
    return T.add(base, T.mul(T.delta(q.term(k), at), extra))


def bumped_row(q: Prover, x_0: Term, x_1: Term, v_0: Term, v_1: Term) -> Term:
    """The weighted sum of values v_0 + [i = k] v_1 for scores x_0 + [i = k] x_1."""
    at_i, at_u = q.term(i), q.term(u)
    bottom = T.sum_over(at_u, T.fn("exp", bump(q, x_0, x_1, at_u)))
    ratio = T.mul(T.fn("exp", bump(q, x_0, x_1, at_i)), T.inv(bottom))
    return T.sum_over(at_i, T.mul(ratio, bump(q, v_0, v_1, at_i)))


def bumped_output(q: Prover) -> Theorem:
    """For all reals: that sum is v_0 + v_1 e^{x_1} / (e^{x_1} + m - 1)."""
    x_0, x_1, v_0, v_1 = (q.term(real(name)) for name in ("x_0", "x_1", "v_0", "v_1"))
    at_i, at_k = q.term(i), q.term(k)
    base, peak = T.fn("exp", x_0), T.fn("exp", x_1)
    rest = T.add(peak, q.term(m - 1))
    opened = T.mul(base, T.add(T.ONE, T.mul(T.delta(at_k, at_i), T.sub(peak, T.ONE))))
    powers = q.equal(
        T.fn("exp", bump(q, x_0, x_1, at_i)), opened, (base, q.at(spike(q, x_1), k, i)), show=False
    )
    row = bumped_row(q, x_0, x_1, v_0, v_1)
    bottom = T.sum_over(at_i, T.fn("exp", bump(q, x_0, x_1, at_i)))
    added = q.equal(bottom, T.mul(base, rest), (1, q.sum_equal(powers, i)), show=False)
    value = bump(q, v_0, v_1, at_i)
    each = q.sum_equal(
        q.equal(
            T.mul(T.mul(powers.conclusion.children[0], T.inv(T.mul(base, rest))), value),
            T.mul(T.mul(opened, T.inv(T.mul(base, rest))), value),
            (T.mul(T.inv(T.mul(base, rest)), value), powers), show=False,
        ), i,
    )  # fmt: skip
    share = T.mul(peak, T.inv(rest))
    positive = q.order(T.lt(T.ZERO, rest), (1, q.trivial(at_most(1, m))))
    all_positive = q.order(T.lt(T.ZERO, T.mul(base, rest)), (base, positive))
    closed = q.equal(
        each.conclusion.children[1], T.add(v_0, T.mul(v_1, share)),
        (T.add(v_0, T.mul(v_1, share)), q.cancel(T.mul(base, rest), all_positive)),
        (T.neg(T.mul(v_1, peak, base, T.inv(T.mul(base, rest)))), q.cancel(rest, positive)),
        show=False,
    )  # fmt: skip
    whole = put_in(q, itself(q, row), added, each, closed, right_only=True)
    return q.for_all(whole, real("x_0"), real("x_1"), real("v_0"), real("v_1"))


def as_bumps(q: Prover, row: Term, *values: Any) -> Theorem:
    """A row of the output, as attention writes it, is the sum with these x_0, x_1, v_0, v_1."""
    at_i, at_u = q.term(i), q.term(u)
    x_0, x_1, v_0, v_1 = map(q.term, values)
    body = T.instantiate(row.children[1], (at_i,))
    (top, inverse), value = body.children[0].children, body.children[1]
    scores = q.equal(top.children[0], bump(q, x_0, x_1, at_i), show=False)
    powers = q.rewrite(scores, itself(q, top), lambda x: T.eq(top, T.fn("exp", x)))
    every = q.for_all(powers, i)
    bottom = inverse.children[0]
    added = infer("extensionality", [q.for_all(q.at(every, at_u), u)], bottom, 1)
    values_of = q.equal(value, bump(q, v_0, v_1, at_i), show=False)
    whole = put_in(q, itself(q, body), added, powers, values_of, right_only=True)
    return infer("extensionality", [q.for_all(whole, i)], row, 1)


def prove_doubling(q: Prover) -> Theorem:
    def then(doubles: Theorem) -> Theorem:
        return q.cases(
            q.dichotomy(m, 1),
            lambda few: _one_token(q, few),
            lambda many: _many(q, doubles, many),
        )

    return under(q, doubling, ["suppose that doubling the input doubles the output"], then)


def _one_token(q: Prover, few: Theorem) -> Theorem:
    one = q.note(
        infer("antisymmetry", [few, q.trivial(at_most(1, m))]), "either there is one token"
    )
    return infer("disjunct", [one], q.formula(degenerate), 0)


def _many(q: Prover, doubles: Theorem, many: Theorem) -> Theorem:
    q.note(many, "or there are several")
    products = q.for_all(_products_vanish(q, doubles, many), g, f, h, c)
    goal = q.formula(degenerate)

    def some_value(wrong: Theorem) -> Theorem:
        scores = q.for_all(_no_score(q, products, wrong), g, f)
        return infer("disjunct", [q.note(scores, "if not, every entry of $B$ is 0")], goal, 1)

    return q.cases(
        infer("excluded-middle", [], q.formula(no_values)),
        lambda zero: infer("disjunct", [q.note(zero, "either $W$ is 0 altogether")], goal, 2),
        some_value,
    )


def _no_score(q: Prover, products: Theorem, some_value: Theorem) -> Theorem:
    """B_gf = 0, since an entry of W is not 0."""
    here = q.term(B[g, f])

    def otherwise(score: Theorem) -> Theorem:
        every = q.equal(W[h, c], 0, (T.inv(here), q.at(products, g, f, h, c)), show=False)
        return infer("contradiction", [q.for_all(every, h, c), some_value], T.eq(here, T.ZERO))

    return q.cases(infer("excluded-middle", [], T.eq(here, T.ZERO)), lambda zero: zero, otherwise)


def _products_vanish(q: Prover, doubles: Theorem, many: Theorem) -> Theorem:
    """B_gf W_hc = 0, from three vectors y."""
    for_vectors = _vector_product(q, doubles, many)
    at_f, at_h, at_both = (
        q.at(for_vectors, q.lam(vector, l))
        for vector in (delta(l, f), delta(l, h), plus(delta(l, f), delta(l, h)))
    )
    first = q.equal(times(B[g, f], W[f, c]), 0, (1, at_f), reason="take $y=e_f$")
    second = q.equal(times(B[g, h], W[h, c]), 0, (1, at_h), reason="take $y=e_h$")
    mixed = q.equal(
        plus(times(B[g, f], W[h, c]), times(B[g, h], W[f, c])), 0,
        (1, at_both), (-1, first), (-1, second),
        reason="take $y=e_f+e_h$, and subtract the other two",
    )  # fmt: skip
    one = times(B[g, f], W[h, c])
    square = q.equal(
        power(one, 2), 0, (one, mixed), (times(-1, B[g, h], W[h, c]), first),
        reason="multiply by its first term; the product of the others vanishes",
    )  # fmt: skip
    x = q.term(one)

    def otherwise(nonzero: Theorem) -> Theorem:
        return q.equal(x, 0, (T.inv(x), square), show=False)

    zero = q.cases(infer("excluded-middle", [], T.eq(x, T.ZERO)), lambda zero: zero, otherwise)
    return q.note(zero, "so this vanishes, for all indices")


def _vector_product(q: Prover, doubles: Theorem, many: Theorem) -> Theorem:
    """For every vector y: (B y)_g (y W)_c = 0."""
    peak, higher = sp.exp(x_1), sp.exp(times(4, x_1))
    same = q.equal(
        times(v_1, over(higher, plus(higher, m, -1))), times(v_1, over(peak, plus(peak, m, -1))),
        (half, _at_one_apart(q, doubles)),
        reason="take $e_g$ for one token and $e_g-y$ for all others; this is what the equation "
               "says of the output of that token",
    )  # fmt: skip
    lemma = q.at(_equal_shares(q, many), higher, peak, v_1)
    positive = q.both(*(q.trivial(less(0, part)) for part in (higher, peak)))
    cleared = q.note(
        q.mp(lemma, q.both(positive, same)), "clear the denominators and divide by $m-1$"
    )
    either_way = q.cases(
        q.dichotomy(x_1, 0),
        lambda below: q.cases(
            q.dichotomy(0, x_1),
            lambda above: _with_no_score(q, below, above),
            lambda negative: _with_score(q, cleared, negative),
        ),
        lambda above: _with_score(q, cleared, above),
    )
    shown = q.note(either_way, "the exponential increases, so one factor is 0")
    return q.for_all_tensors(shown, y)


def _equal_shares(q: Prover, many: Theorem) -> Theorem:
    """For all reals with 0 < a, b: x a/(a + m - 1) = x b/(b + m - 1) -> x (a - b) = 0."""
    a, b, x = real("a"), real("b"), real("x")
    rest_a, rest_b = plus(a, m, -1), plus(b, m, -1)
    positive = both(less(0, a), less(0, b))
    same = equal(times(x, over(a, rest_a)), times(x, over(b, rest_b)))
    with q.supposing(both(positive, same)) as case:
        signs, shares = q.part(case, 0), q.part(case, 1)
        above = q.order(less(0, m - 1), (1, many))
        cancel_a, cancel_b = (
            q.cancel(rest, q.order(less(0, rest), (1, q.part(signs, n)), (1, above)))
            for n, rest in enumerate((rest_a, rest_b))
        )
        scaled = q.equal(
            times(m - 1, x, plus(a, -b)), 0,
            (times(rest_a, rest_b), shares), (times(-1, x, a, rest_b), cancel_a),
            (times(x, b, rest_a), cancel_b), show=False,
        )  # fmt: skip
        difference = times(x, plus(a, -b))
        proved = q.equal(
            difference, 0, (over(1, m - 1), scaled),
            (times(-1, difference), q.cancel(m - 1, above)), show=False,
        )  # fmt: skip
    return q.for_all(q.discharge(proved, case), a, b, x)


def _with_no_score(q: Prover, below: Theorem, above: Theorem) -> Theorem:
    zero = infer("antisymmetry", [below, above])
    return q.equal(times(x_1, v_1), 0, (v_1, zero), show=False)


def _with_score(q: Prover, cleared: Theorem, sign: Theorem) -> Theorem:
    """x_1 v_1 = 0 from v_1 (e^{4 x_1} - e^{x_1}) = 0, for x_1 < 0 or 0 < x_1."""
    ends = (x_1, times(4, x_1))
    low, high = ends if sign.conclusion.children[0] is T.ZERO else reversed(ends)
    ordered = q.order(less(low, high), (3, sign))
    powers = q.mp(q.axiom("exp-increasing", low, high), ordered)
    difference = cleared.conclusion.children[0].children[1]
    zero = q.equal(
        v_1, 0, (T.inv(difference), cleared), (times(-1, v_1), q.cancel(difference, powers)),
        show=False,
    )  # fmt: skip
    return q.equal(times(x_1, v_1), 0, (x_1, zero), show=False)


def _at_one_apart(q: Prover, doubles: Theorem) -> Theorem:
    """What doubling says of entry c of the output of token k, with all sums written out."""
    tokens = plus(delta(f, g), -y[f], times(delta(j, k), y[f]))
    equation = q.at(doubles, q.lam(tokens, j, f), k, c)
    twice, double = equation.conclusion.children
    once = double.children[1]
    output = bumped_output(q)
    for row, scores, values in ((twice, 4, 2), (once, 1, 1)):
        numbers = [times(scores, x_0), times(scores, x_1), times(values, v_0), times(values, v_1)]
        same = as_bumps(q, row, *numbers)
        equation = put_in(q, equation, same, q.at(output, *numbers))
    return equation


def projections(rng: np.random.Generator, size: int = 4) -> tuple[Any, ...]:
    """Two inputs and projections, all sizes different."""
    width, head, columns = 5, 3, 2
    return (
        rng.standard_normal((size, width)), rng.standard_normal((size, width)),
        rng.standard_normal((width, head)), rng.standard_normal((width, head)),
        rng.standard_normal((width, columns)),
    )  # fmt: skip


def of_itself(tokens: Any, to_query: Any, to_key: Any, to_value: Any) -> Any:
    """Self-attention of one head."""
    from numeric import scaled_dot_product_attention

    return scaled_dot_product_attention(tokens @ to_query, tokens @ to_key, tokens @ to_value)


def without_scores(to_query: Any, to_key: Any) -> tuple[Any, Any]:
    """Projections that are not 0 with the product 0."""
    to_query, to_key = to_query.copy(), to_key.copy()
    to_query[:, 1:] = 0
    to_key[:, 0] = 0
    return to_query, to_key


def twin_doubling(rng: np.random.Generator) -> list[Trial]:
    """The output of token 0 for the tokens of the proof, and doubling in the three cases."""
    tokens, vectors, to_query, to_key, to_value = projections(rng)
    form = to_query @ to_key.T / to_query.shape[1] ** 0.5
    y, out = vectors[0], []
    for size in (2, 4, 7):
        rows = np.tile(np.eye(5)[1] - y, (size, 1))
        rows[0] = np.eye(5)[1]
        for scale in (1, 2):
            peak = np.exp(scale**2 * (form @ y)[1])
            share = peak / (peak + size - 1)
            expected = scale * (rows[1] + share * y) @ to_value
            found = of_itself(scale * rows, to_query, to_key, to_value)[0]
            out.append(agree(found, expected, f"m={size}, times {scale}"))
    doubled = of_itself(2 * tokens, to_query, to_key, to_value)
    once = of_itself(tokens, to_query, to_key, to_value)
    flat_query, flat_key = without_scores(to_query, to_key)
    out += [
        differs(doubled, 2 * once, by=1e-9, what="no degenerate case"),
        agree(
            of_itself(2 * tokens[:1], to_query, to_key, to_value),
            2 * of_itself(tokens[:1], to_query, to_key, to_value), "one token",
        ),
        agree(
            of_itself(2 * tokens, flat_query, flat_key, to_value),
            2 * of_itself(tokens, flat_query, flat_key, to_value), "no scores",
        ),
    ]  # fmt: skip
    return out


def doubling_mutations() -> tuple[Mutation, ...]:
    def doubled(rng: np.random.Generator) -> list[Trial]:
        tokens, _, *projected = projections(rng)
        once = of_itself(tokens, *projected)
        return [agree(of_itself(2 * tokens, *projected), 2 * once, "any projections")]

    return (
        Mutation(
            "doubled inputs are said to give doubled outputs, whatever the projections",
            twin=Twin("NumPy self-attention of doubled inputs", doubled),
        ),
    )


DOUBLING = Claim(
    id="attention-average/doubling",
    title="Where doubling the input doubles the output, attention is degenerate",
    source=Source(
        INTERVIEW, ("B19",),
        f"{SELF} Beyond the note: the output of self-attention does not even follow a doubled "
        "input, unless there is one token, or no scores, or no values.",
    ),
    statement=implies(doubling, degenerate),
    proof=prove_doubling,
    twin=Twin("NumPy self-attention of doubled inputs", twin_doubling),
    mutations=doubling_mutations,
    expected=Verdict.PROVED,
    remark=r"Here $B$ stands for $W^Q(W^K)^\top/\sqrt{d_k}$ and $W$ for $W^V$. The converse is the "
    "correction in `attention-average/self-attention`, so the three cases are exactly those in "
    "which self-attention is linear.",
)  # fmt: skip

Z = tensor("Z", m, d)
of_x, of_y, of_z = (tensor(name, m, d_v) for name in "FGH")


def attends(output: Any, tokens: Any, name: str) -> Given:
    """The output is self-attention of the tokens."""
    return Notation(
        forall([k, c], equal(output[k, c], attention(entry(tokens), k, c))),
        f"${output.label}$ is the output for ${name}$",
    )


NOTATION = (
    Notation(
        forall(
            [k, f],
            equal(Z[k, f], plus(times(one_factor, X[k, f]), times(other_factor, Y[k, f]))),
        ),
        "$Z=aX+bY$",
    ),
    attends(of_x, X, "X"),
    attends(of_y, Y, "Y"),
    attends(of_z, Z, "Z"),
)
combined = forall(
    [k, c],
    equal(of_z[k, c], plus(times(one_factor, of_x[k, c]), times(other_factor, of_y[k, c]))),
)


def prove_degenerate(q: Prover) -> Theorem:
    cases = (_single, _uniform, _nothing)
    with q.supposing(degenerate) as case:
        proved = q.cases(case, *(lambda part, then=then: then(q, part) for then in cases))
    return q.discharge(proved, case)


def _single(q: Prover, one: Theorem) -> Theorem:
    """With one token its weight is 1: the definitions and the statement, with 1 in place of m."""
    q.note(one, "first case: one token")
    token, component = T.var("k", "fin", T.ONE), q.term(c)
    mixed, *outputs = (q.rewrite(one, q.hyp(n), _of_size(q, q.hyp(n).conclusion)) for n in range(4))
    simple = []
    for theorem, tokens in zip(outputs, (X, Y, Z), strict=True):
        here = q.at(theorem, token, component)
        value = total(times(tokens[0, f], W[f, c]), f)
        simple.append(q.equal(here.conclusion.children[0], value, (1, here), show=False))
    q.note(simple[0], "its weight is 1, so the output is its value; the same for $Y$ and $Z$")
    statement = _of_size(q, q.formula(combined))
    goal = T.instantiate(statement(T.ONE).children[1], (token,))
    goal = T.instantiate(goal.children[1], (component,))
    same = q.equal(*goal.children, *simple, q.at(mixed, T.ZERO), reason="which is linear")
    every = q.for_all(q.for_all(same, component), token)
    return q.rewrite(q.equal(1, m, (-1, one), show=False), every, statement)


def _of_size(q: Prover, formula: Term) -> Callable[[Term], Term]:
    """The formula for another number of tokens."""
    size = q.term(m)
    return lambda x: T.substitute(formula, {size: x})


def _uniform(q: Prover, zero: Theorem) -> Theorem:
    """Without scores all weights are 1/m."""
    q.note(zero, "second case: no scores")
    means = [_mean(q, q.at(q.hyp(n), k, c), zero) for n in (1, 2, 3)]
    q.note(means[0], "all weights are $1/m$; the same for $Y$ and $Z$")
    same = q.equal(
        of_z[k, c], plus(times(one_factor, of_x[k, c]), times(other_factor, of_y[k, c])),
        *means, q.hyp(0), reason="and the mean is linear",
    )  # fmt: skip
    return q.for_all(same, k, c)


def as_mean(p: Prover, row: Term, zero: Theorem) -> Theorem:
    """An entry of the output is a mean of the values, since `zero` says that B = 0."""
    body = T.instantiate(row.children[1], (p.term(i),))
    top, inverse = body.children[0].children
    bottom = inverse.children[0]
    scores = p.equal(top.children[0], 0, zero, show=False)
    powers = p.rewrite(scores, itself(p, top), lambda x: T.eq(top, T.fn("exp", x)))
    powers = put_in(p, powers, p.equal(T.fn("exp", T.ZERO), 1, show=False), right_only=True)
    added = infer("extensionality", [p.for_all(powers, i)], bottom, 1)
    count = p.equal(added.conclusion.children[1], m, show=False)
    added = put_in(p, added, count, right_only=True)
    whole = put_in(p, itself(p, body), added, powers, right_only=True)
    return infer("extensionality", [p.for_all(whole, i)], row, 1)


def _mean(q: Prover, output: Theorem, zero: Theorem) -> Theorem:
    """The output is the mean of the values, from B = 0."""
    row = output.conclusion.children[1]
    return put_in(q, output, as_mean(q, row, zero), right_only=True)


def _nothing(q: Prover, zero: Theorem) -> Theorem:
    q.note(zero, "third case: no values")
    nothing = [
        q.equal(x[k, c], 0, q.at(q.hyp(n), k, c), zero, show=False)
        for n, x in enumerate((of_x, of_y, of_z), start=1)
    ]
    q.note(nothing[0], "all outputs are 0; the same for $Y$ and $Z$")
    same = q.equal(
        of_z[k, c], plus(times(one_factor, of_x[k, c]), times(other_factor, of_y[k, c])),
        *nothing, reason="$0=a\\cdot0+b\\cdot0$",
    )  # fmt: skip
    return q.for_all(same, k, c)


def twin_self(rng: np.random.Generator) -> list[Trial]:
    """Sums and multiples of inputs, in general and in the three cases."""
    tokens, others, to_query, to_key, to_value = projections(rng)
    first, second = rng.uniform(1, 2, 2)

    def gap(projected: tuple[Any, ...], size: int = 4) -> tuple[Any, Any]:
        one, other = tokens[:size], others[:size]
        whole = of_itself(first * one + second * other, *projected)
        return whole, first * of_itself(one, *projected) + second * of_itself(other, *projected)

    usual = (to_query, to_key, to_value)
    out = [
        differs(*gap(usual), by=1e-9, what="self-attention"),
        agree(*gap(usual, size=1), "one token"),
        agree(*gap((*without_scores(to_query, to_key), to_value)), "no scores"),
        agree(*gap((to_query, to_key, 0 * to_value)), "no values"),
    ]
    numbers = np.array([[np.log(2)]]), np.eye(1), np.eye(1)
    line = np.array([[0.0], [1.0]])
    out.append(agree(of_itself(line, *numbers)[1], [2 / 3], "the counterexample"))
    out.append(agree(of_itself(2 * line, *numbers)[1], [32 / 17], "and twice its input"))
    return out


def gradient_by_input(
    tokens: Any, to_query: Any, to_key: Any, to_value: Any, cotangent: Any
) -> Any:
    """What self-attention passes back to its input, through queries, keys and values."""
    from numeric import scaled_dot_product_attention_vjp

    by_query, by_key, by_value = scaled_dot_product_attention_vjp(
        tokens @ to_query, tokens @ to_key, tokens @ to_value, cotangent
    )
    return by_query @ to_query.T + by_key @ to_key.T + by_value @ to_value.T


def self_attention_mutations() -> tuple[Mutation, ...]:
    def additive(rng: np.random.Generator) -> list[Trial]:
        one, other, *projected = projections(rng)
        apart = of_itself(one, *projected) + of_itself(other, *projected)
        return [agree(of_itself(one + other, *projected), apart, "a sum of two inputs")]

    def as_if_linear(rng: np.random.Generator) -> list[Trial]:
        from numeric import attention_weights

        tokens, _, to_query, to_key, to_value = projections(rng)
        cotangent = rng.standard_normal((len(tokens), to_value.shape[1]))
        weight = attention_weights(tokens @ to_query, tokens @ to_key)
        measured = gradient_by_input(tokens, to_query, to_key, to_value, cotangent)
        return [agree(measured, weight.T @ cotangent @ to_value.T, "gradient by the input")]

    return (
        Mutation(
            "the output is linear in the input, as the note says",
            twin=Twin("NumPy self-attention of a sum of inputs", additive),
        ),
        Mutation(
            r"the gradient is that of a linear map, $A^\top G\,(W^V)^\top$",
            twin=Twin("the backward pass of self-attention by its input", as_if_linear),
        ),
    )


LOG_2 = T.fn("log", T.num(2))
SELF_ATTENTION = Claim(
    id="attention-average/self-attention",
    title="Self-attention is linear in its input",
    source=Source(
        INTERVIEW, ("B19",),
        f"{SELF} The input of self-attention is $X$, from which queries, keys and values are "
        "projected.",
    ),
    statement=combined,
    given=(BILINEAR, *NOTATION),
    counterexample=Example(
        {
            m: 2, d: 1, d_k: 1, d_v: 1, w_q: [[LOG_2]], w_k: [[1]], W: [[1]],
            X: [[0], [1]], Y: [[0], [0]], one_factor: 2, other_factor: 0,
        }
    ),
    correction=Correction(implies(degenerate, combined), prove_degenerate, NOTATION),
    twin=Twin("NumPy self-attention of sums and multiples of inputs", twin_self),
    mutations=self_attention_mutations,
    expected=Verdict.REFUTED,
    remark=r"$W^Q(W^K)^\top=0$ is possible with both factors different from 0. For weights that "
    "stay as they are, the output is linear in the values.",
)  # fmt: skip

squared_factor = real("a")


def prove_quadratic(q: Prover) -> Theorem:
    scaled = lambda s, f: times(squared_factor, X[s, f])  # noqa: E731
    same = q.equal(
        form(scaled, k)(i), times(power(squared_factor, 2), form(entry(X), k)(i)),
        reason="the factor occurs twice in every term",
    )  # fmt: skip
    by_projections = total(
        times(total(times(X[k, f], w_q[f, e]), f), total(times(X[i, h], w_k[h, e]), h)), e
    )
    split = q.equal(
        form(entry(X), k)(i), over(by_projections, root), q.hyp(0),
        reason="insert $B$ and exchange the sums",
    )  # fmt: skip
    return q.for_all(q.both(split, same), k, i)


def twin_quadratic(rng: np.random.Generator, degree: int = 2) -> list[Trial]:
    from numeric import scaled_scores

    tokens, _, to_query, to_key, _ = projections(rng)
    scores = scaled_scores(tokens @ to_query, tokens @ to_key)
    bilinear = tokens @ (to_query @ to_key.T / 3**0.5) @ tokens.T
    tripled = scaled_scores(3 * tokens @ to_query, 3 * tokens @ to_key)
    return [agree(scores, bilinear, "scores"), agree(tripled, 3**degree * scores, "times 3")]


def quadratic_mutations() -> tuple[Mutation, ...]:
    scaled = form(lambda s, f: times(squared_factor, X[s, f]), k)(i)
    return (
        Mutation(
            "scores are taken to be linear in the input",
            statement=forall(
                [k, i], equal(scaled, times(squared_factor, form(entry(X), k)(i)))
            ),
            counterexample=Example({
                m: 1, d: 1, d_k: 1, w_q: [[1]], w_k: [[1]], X: [[1]], squared_factor: 2,
            }),
            twin=Twin(
                "scores of three times the inputs against three times the scores",
                lambda rng: twin_quadratic(rng, degree=1),
            ),
        ),
    )  # fmt: skip


QUADRATIC = Claim(
    id="attention-average/quadratic-scores",
    title="Even without softmax, scores are quadratic in the input",
    source=Source(
        INTERVIEW, ("B19",),
        f"{SELF} Beyond the note: the softmax is not the only reason; the products of queries and "
        "keys contain the input twice.",
    ),
    statement=forall(
        [k, i],
        both(
            equal(
                form(entry(X), k)(i),
                over(
                    total(
                        times(
                            total(times(X[k, f], w_q[f, e]), f),
                            total(times(X[i, h], w_k[h, e]), h),
                        ),
                        e,
                    ),
                    root,
                ),
            ),
            equal(
                form(lambda s, f: times(squared_factor, X[s, f]), k)(i),
                times(power(squared_factor, 2), form(entry(X), k)(i)),
            ),
        ),
    ),
    given=(BILINEAR,),
    proof=prove_quadratic,
    twin=Twin("scaled scores of projected inputs, and of three times these", twin_quadratic),
    mutations=quadratic_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip


# ---------------------------------------------------------------------- the backward pass

G, D = tensor("G", n, d_v), tensor("D", n, m)
loss = total(times(G[t, c], attended(t, lambda i: V[i, c])), t, c)
ATTENTION = Given(
    forall(t, weights(weight(t), scaled_score(t))),
    "the weights are the softmax of the scaled scores, one query at a time",
)
passed = total(times(G[t, c], V[i, c]), c)
SCORE_GRADIENT = Notation(
    forall(
        [t, i],
        equal(
            D[t, i],
            times(
                A[t, i],
                plus(passed, -total(times(A[t, j], total(times(G[t, c], V[j, c]), c)), j)),
            ),
        ),
    ),
    "$D$ is the gradient of the scores before they are scaled: that of the weights, "
    "$GV^\\top$, passed back through the softmax",
)
BACKWARD = (
    "To the values nothing non-linear happens. Beyond the note: what attention passes back, for "
    r"the loss $\sum_{tc}G_{tc}O_{tc}$ with any cotangent $G$."
)


def prove_value_gradient(q: Prover) -> Theorem:
    gradient = q.gradient(
        GradientIs(loss, V, sp.Tuple(k, c), 0), reason="the loss is linear in the values"
    )
    entry = q.equal(
        q.partial(gradient, k, c), total(times(A[t, k], G[t, c]), t), q.hyp(0), show=False
    )
    return q.note(
        q.with_partial(gradient, entry, k, c),
        r"one entry of the values remains in the sums; insert the weights: it is $A^\top G$",
    )


def gradient_by(q: Prover, tensor: Any, place: tuple[Any, Any], value: Any, shape: str) -> Theorem:
    """The gradient of the loss by the queries or the keys."""
    gradient = q.gradient(
        GradientIs(loss, tensor, sp.Tuple(*place), 0), reason="product, quotient and chain rule"
    )
    entry = q.equal(q.partial(gradient, *place), value, q.hyp(1), q.hyp(0), show=False)
    return q.note(
        q.with_partial(gradient, entry, *place),
        f"contract the deltas, and compare with what $D$ and the weights stand for: it is {shape}",
    )


by_query = over(total(times(D[r, i], K[i, e]), i), root)
by_key = over(total(times(D[t, k], Q[t, e]), t), root)


def twin_backward(rng: np.random.Generator, centred: bool = True, weighted: bool = True
                  ) -> list[Trial]:  # fmt: skip
    """The backward pass of NumPy attention against its formulas and against complex steps."""
    from numeric import (
        attention_weights,
        complex_step_error,
        scaled_dot_product_attention,
        scaled_dot_product_attention_vjp,
    )

    out = []
    for query, key, value in inputs(rng):
        cotangent = rng.standard_normal((len(query), value.shape[1]))
        found = scaled_dot_product_attention_vjp(query, key, value, cotangent)
        weight = attention_weights(query, key)
        of_weights = cotangent @ value.T
        mean = (weight * of_weights).sum(axis=1, keepdims=True)
        scores = weight * (of_weights - mean if centred else of_weights)
        root = query.shape[1] ** 0.5
        shares = weight if weighted else np.ones_like(weight)
        claimed = (scores @ key / root, scores.T @ query / root, shares.T @ cotangent)
        for name, one, other in zip("QKV", found, claimed, strict=True):
            out.append(agree(one, other, f"gradient of {name}"))
    functions = scaled_dot_product_attention, scaled_dot_product_attention_vjp
    error = complex_step_error(*functions, inputs(rng)[1], rng)
    return [*out, Trial(error, 1e-12, "backward pass against complex steps")]


#: one query 0 of two keys, which so have equal weights, and values 1 and 0
EQUAL_WEIGHTS = {
    n: 1, m: 2, d_k: 1, d_v: 1, Q: [[0]], K: [[1], [0]], V: [[1], [0]], G: [[1]],
    A: [[half, half]],
}  # fmt: skip


def by_value_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "every value receives the whole gradient, without its weights",
            statement=GradientIs(loss, V, sp.Tuple(k, c), total(G[t, c], t)),
            counterexample=Example(EQUAL_WEIGHTS),
            twin=Twin(
                "gradients by the values against sums without weights",
                lambda rng: twin_backward(rng, weighted=False),
            ),
        ),
    )


def by_query_mutations() -> tuple[Mutation, ...]:
    uncentred = Given(forall([t, i], equal(D[t, i], times(A[t, i], passed))), "without the mean")
    return (
        Mutation(
            "the mean is not taken away on the way back through the softmax",
            given=(ATTENTION, uncentred),
            counterexample=Example(EQUAL_WEIGHTS),
            twin=Twin(
                "gradients by the queries, the mean not taken away",
                lambda rng: twin_backward(rng, centred=False),
            ),
        ),
    )


BY_VALUE = Claim(
    id="attention-average/gradient-values",
    title="The gradient by the values",
    source=Source(INTERVIEW, ("B17",), BACKWARD),
    statement=GradientIs(loss, V, sp.Tuple(k, c), total(times(A[t, k], G[t, c]), t)),
    given=(ATTENTION,),
    proof=prove_value_gradient,
    twin=Twin("the backward pass of NumPy attention, down to the values", twin_backward),
    mutations=by_value_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip

BY_QUERY = Claim(
    id="attention-average/gradient-queries",
    title="The gradient by the queries",
    source=Source(
        INTERVIEW, ("B17",), f"{BACKWARD} The non-linearity is all in queries and keys."
    ),
    statement=GradientIs(loss, Q, sp.Tuple(r, e), by_query),
    given=(ATTENTION, SCORE_GRADIENT),
    proof=lambda q: gradient_by(q, Q, (r, e), by_query, r"$DK/\sqrt{d_k}$"),
    twin=Twin("the backward pass of NumPy attention, down to the queries", twin_backward),
    mutations=by_query_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip

BY_KEY = Claim(
    id="attention-average/gradient-keys",
    title="The gradient by the keys",
    source=Source(
        INTERVIEW, ("B17",), f"{BACKWARD} The non-linearity is all in queries and keys."
    ),
    statement=GradientIs(loss, K, sp.Tuple(k, e), by_key),
    given=(ATTENTION, SCORE_GRADIENT),
    proof=lambda q: gradient_by(q, K, (k, e), by_key, r"$D^\top Q/\sqrt{d_k}$"),
    twin=Twin("the backward pass of NumPy attention, down to the keys", twin_backward),
    expected=Verdict.PROVED,
)  # fmt: skip


# ---------------------------------------------------------------------- order does not matter

P = tensor("P", m, m)
K_2, V_2 = tensor("K'", m, d_k), tensor("V'", m, d_v)
permutation = both(
    forall([i, j], either(equal(P[i, j], 0), equal(P[i, j], 1))),
    forall(i, equal(total(P[i, j], j), 1)),
    forall(j, equal(total(P[i, j], i), 1)),
)
PERMUTATION = (
    "suppose a matrix of zeros and ones", "with a single 1 in every row", "and in every column",
)  # fmt: skip
MOVED_KEYS = Notation(
    forall([i, e], equal(K_2[i, e], total(times(P[i, j], K[j, e]), j))), "$K'=PK$"
)
MOVED_VALUES = Notation(
    forall([i, c], equal(V_2[i, c], total(times(P[i, j], V[j, c]), j))), "$V'=PV$"
)


def moved_score(t: Any) -> Callable[[Any], Any]:
    return lambda i: over(total(times(Q[t, e], K_2[i, e]), e), root)


def attended_moved(t: Any, c: Any) -> Any:
    return total(times(softmax(moved_score(t), i), V_2[i, c]), i)


order_free = forall([t, c], equal(attended_moved(t, c), attended(t, lambda i: V[i, c])))


def picks(q: Prover, entries: Theorem, rows: Theorem) -> Theorem:
    """P_ij P_iu = delta(j, u) P_ij for all i, j, u: there is one 1 in a row."""
    same = q.cases(
        q.at(entries, i, j),
        lambda zero: q.equal(power(P[i, j], 2), P[i, j], zero, show=False),
        lambda one: q.equal(power(P[i, j], 2), P[i, j], (P[i, j], one), show=False),
    )
    each = q.for_all(same, i, j)

    def nonneg(a: Any, b: Any) -> Theorem:
        """0 <= P_ia, since it is its own square."""
        return q.order(at_most(0, P[a, b]), (1, q.square(P[a, b])), (-1, q.at(each, a, b)))

    apart = times(1 - delta(j, k), 1 - delta(u, k))
    others = q.sum_order(
        q.order(
            at_most(0, times(power(apart, 2), P[i, j], P[i, k])),
            (1, q.square(apart), nonneg(i, j), nonneg(i, k)),
        ), k,
    )  # fmt: skip
    product = times(P[i, j], P[i, u], 1 - delta(j, u))
    upper = q.order(
        at_most(product, 0), (1, others), (-P[i, j], q.at(rows, i)), (1, q.at(each, i, j))
    )
    lower = q.order(at_most(0, product), (1, q.square(1 - delta(j, u)), nonneg(i, j), nonneg(i, u)))
    zero = infer("antisymmetry", [upper, lower])
    shown = q.equal(
        times(P[i, j], P[i, u]), times(delta(j, u), P[i, j]), (1, zero),
        (delta(j, u), q.at(each, i, j)),
        reason="entries are 0 or 1, and a row has a single 1",
    )  # fmt: skip
    return q.for_all(shown, i, j, u)


def picked(q: Prover, moved: Theorem, one_each: Theorem, entries: Any) -> Theorem:
    """P_ij X'_ic = P_ij X_jc for all i, j, c, from X' = P X."""
    new, old, column = entries
    each = q.equal(
        times(P[i, j], new[i, column]), times(P[i, j], old[j, column]), moved, one_each,
        reason="so a row of $P$ picks one row",
    )  # fmt: skip
    return q.for_all(each, i, j, column)


old_top, new_top, old_part, new_part = (tensor(name, m) for name in ("b", "a", "w", "v"))
matched = both(
    forall([i, j], equal(times(P[i, j], new_top[i]), times(P[i, j], old_top[j]))),
    forall([i, j], equal(times(P[i, j], new_part[i]), times(P[i, j], old_part[j]))),
)


def averaged(top: Any, part: Any) -> Any:
    """The average of the parts with weights in proportion to the tops."""
    return total(times(over(top[i], total(top[u], u)), part[i]), i)


def same_averages(q: Prover, rows: Theorem, columns: Theorem) -> Theorem:
    """For all a, b, v, w: P_ij a_i = P_ij b_j and P_ij v_i = P_ij w_j -> the averages agree."""

    def then(tops: Theorem, parts: Theorem) -> Theorem:
        bottom = regrouped(q, q.at(tops, i, j), new_top[i], old_top[j], (rows, columns))
        q.note(bottom, "their sums agree: rows and columns of $P$ have a single 1")
        pairs = q.equal(
            times(P[i, j], new_top[i], new_part[i]), times(P[i, j], old_top[j], old_part[j]),
            (new_top[i], q.at(parts, i, j)), (old_part[j], q.at(tops, i, j)), show=False,
        )  # fmt: skip
        top = regrouped(
            q, pairs, times(new_top[i], new_part[i]), times(old_top[j], old_part[j]),
            (rows, columns),
        )  # fmt: skip
        q.note(top, "so do the sums of products")
        quotient = over(total(times(new_top[i], new_part[i]), i), total(new_top[i], i))
        moved = put_in(q, itself(q, q.term(quotient)), top, bottom, right_only=True)
        return q.equal(
            averaged(new_top, new_part), averaged(old_top, old_part), (1, moved),
            reason="and the averages",
        )  # fmt: skip

    reasons = (
        "take any numbers with $a_s=b_u$ where $P_{su}=1$", "and others with $v_s=w_u$ there",
    )  # fmt: skip
    theorem = under(q, matched, reasons, then)
    for x in (old_part, new_part, old_top, new_top):
        theorem = q.for_all_tensors(theorem, x)
    return theorem


def regrouped(q: Prover, each: Theorem, new: Any, old: Any, sums: tuple[Theorem, Theorem]
              ) -> Theorem:  # fmt: skip
    """Sum_i new_i = Sum_j old_j, from P_ij new_i = P_ij old_j."""
    rows, columns = sums
    spread = q.equal(new, total(times(P[i, j], new), j), (-new, q.at(rows, i)), show=False)
    gathered = q.equal(total(times(P[i, j], old), i), old, (old, q.at(columns, j)), show=False)
    return q.equal(
        total(new, i), total(old, j), (1, q.sum_equal(spread, i)), (1, q.sum_equal(each, i, j)),
        (1, q.sum_equal(gathered, j)), show=False,
    )  # fmt: skip


def picked_row(q: Prover, one: Theorem, rows: Theorem, entries: Any, place: Any) -> Theorem:
    """X'_ac = X_bc for every c, from P_ab = 1 and what `picked` says."""
    (new, old, column), (a, b) = entries, place
    there = old[b, column]
    same = q.equal(
        new[a, column], there, (1, q.at(rows, a, b, column)), (plus(there, -new[a, column]), one),
        show=False,
    )  # fmt: skip
    return q.for_all(same, column)


def picked_power(q: Prover, entries: Theorem, new: Any, old: Any, same: Any) -> Theorem:
    """P_ij e^{new(i)} = P_ij e^{old(j)}; `same` proves new(i) = old(j) from P_ij = 1."""
    top, other = q.term(sp.exp(new(i))), q.term(sp.exp(old(j)))
    left, right = (T.mul(q.term(P[i, j]), x) for x in (top, other))

    def zero(none: Theorem) -> Theorem:
        return q.equal(left, right, (T.sub(top, other), none), show=False)

    def one(single: Theorem) -> Theorem:
        powers = q.rewrite(
            same(single), itself(q, top), lambda x: T.eq(top, T.fn("exp", x))
        )  # fmt: skip
        return q.equal(left, right, (P[i, j], powers), show=False)

    return q.cases(q.at(entries, i, j), zero, one)


def prove_order_free(q: Prover) -> Theorem:
    new, old = moved_score(t), scaled_score(t)

    def then(entries: Theorem, rows: Theorem, columns: Theorem) -> Theorem:
        one_each = picks(q, entries, rows)
        keys = picked(q, q.hyp(0), one_each, (K_2, K, e))
        values = picked(q, q.hyp(1), one_each, (V_2, V, c))

        def same_score(one: Theorem) -> Theorem:
            key = picked_row(q, one, keys, (K_2, K, e), (i, j))
            return q.equal(new(i), old(j), key, show=False)

        powers = picked_power(q, entries, new, old, same_score)
        q.note(powers, "and so do the scores of these keys")
        lemma = same_averages(q, rows, columns)
        outputs = at_scores(q, lemma, (powers, q.at(values, i, j, c)))
        return q.for_all(q.note(outputs, "so outputs agree, as averages of values"), t, c)

    return under(q, permutation, PERMUTATION, then)


def at_scores(q: Prover, lemma: Theorem, matches: tuple[Theorem, Theorem]) -> Theorem:
    """The lemma about averages for the exponentials and values that match."""
    sides = [[x.children[1] for x in match.conclusion.children] for match in matches]
    tensors = [q.lam(x, place) for side in sides for x, place in zip(side, (i, j), strict=True)]
    matched = q.both(*(q.for_all(match, i, j) for match in matches))
    return q.mp(q.at(lemma, *tensors), matched)


def twin_order(rng: np.random.Generator, with_values: bool = True) -> list[Trial]:
    from numeric import scaled_dot_product_attention as attend

    out = []
    for query, key, value in inputs(rng):
        order = rng.permutation(len(key))
        matrix = np.eye(len(key))[order]
        found = attend(query, matrix @ key, matrix @ value if with_values else value)
        out.append(agree(found, attend(query, key, value), f"m={len(key)}"))
        if len(key) > 1:
            keys_only = attend(query, key[np.roll(order, 1)], value[order])
            out.append(differs(keys_only, attend(query, key, value), by=1e-9, what="other pairs"))
    return out


def order_mutations() -> tuple[Mutation, ...]:
    keys_only = total(times(softmax(moved_score(t), i), V[i, c]), i)
    stays = forall([t, c], equal(keys_only, attended(t, lambda i: V[i, c])))
    return (
        Mutation(
            "the keys are permuted and the values stay in their places",
            statement=implies(permutation, stays),
            counterexample=Example({
                n: 1, m: 2, d_k: 1, d_v: 1, Q: [[T.fn("log", T.num(2))]], K: [[0], [1]],
                V: [[1], [0]], P: [[0, 1], [1, 0]],
            }),
            twin=Twin(
                "NumPy attention with permuted keys only",
                lambda rng: twin_order(rng, with_values=False),
            ),
        ),
    )  # fmt: skip


ORDER_FREE = Claim(
    id="attention-average/order-of-keys",
    title="The order of keys and values does not matter",
    source=Source(
        INTERVIEW, ("B18",),
        f"{AVERAGE} Beyond the note: an average knows no order. If keys and values are permuted "
        "together, every output stays as it is.",
    ),
    statement=implies(permutation, order_free),
    given=(MOVED_KEYS, MOVED_VALUES),
    proof=prove_order_free,
    twin=Twin("NumPy attention with permuted keys and values", twin_order),
    mutations=order_mutations,
    expected=Verdict.PROVED,
    remark="This is why positions have to be encoded.",
)  # fmt: skip

X_2 = tensor("X'", m, d)
MOVED_TOKENS = Notation(
    forall([i, f], equal(X_2[i, f], total(times(P[i, j], X[j, f]), j))), "$X'=PX$"
)
equivariant = forall([k, c], equal(of_y[k, c], total(times(P[k, s], of_x[s, c]), s)))


def prove_equivariant(q: Prover) -> Theorem:
    new, old = form(entry(X_2), k), form(entry(X), s)
    left, right = times(P[k, s], of_y[k, c]), times(P[k, s], of_x[s, c])

    def then(entries: Theorem, rows: Theorem, columns: Theorem) -> Theorem:
        one_each = picks(q, entries, rows)
        tokens = picked(q, q.hyp(0), one_each, (X_2, X, f))
        value, other = (total(times(x, W[f, c]), f) for x in (X_2[i, f], X[j, f]))
        values = q.equal(times(P[i, j], value), times(P[i, j], other), tokens, show=False)
        lemma = same_averages(q, rows, columns)

        def chosen(one: Theorem) -> Theorem:
            """The output of token k of X' is that of token s of X, from P_ks = 1."""
            token = picked_row(q, one, tokens, (X_2, X, f), (k, s))

            def same_score(single: Theorem) -> Theorem:
                key = picked_row(q, single, tokens, (X_2, X, f), (i, j))
                return q.equal(new(i), old(j), token, key, show=False)

            powers = picked_power(q, entries, new, old, same_score)
            q.note(powers, "where $P_{ki}=1$, the scores are those of token $i$ of $X$")
            output = put_in(
                q, q.at(q.hyp(2), k, c), at_scores(q, lemma, (powers, values)), right_only=True
            )
            back = q.at(q.hyp(1), s, c)
            same = put_in(q, output, _turned(q, back), right_only=True)
            return q.equal(left, right, (P[k, s], same), show=False)

        def passed_over(none: Theorem) -> Theorem:
            return q.equal(left, right, (plus(of_y[k, c], -of_x[s, c]), none), show=False)

        each = q.cases(q.at(entries, k, s), passed_over, chosen)
        q.note(each, "so the outputs agree, too; where $P_{ki}=0$, both sides are 0")
        added = q.equal(
            of_y[k, c], equivariant.args[1].args[1].args[1],
            (-of_y[k, c], q.at(rows, k)), (1, q.sum_equal(each, s)),
            reason="add over $i$; row $k$ of $P$ has a single 1",
        )  # fmt: skip
        return q.for_all(added, k, c)

    return under(q, permutation, PERMUTATION, then)


def _turned(q: Prover, equation: Theorem) -> Theorem:
    """b = a, from a = b."""
    a, _ = equation.conclusion.children
    return q.rewrite(equation, itself(q, a), lambda x: T.eq(x, a))


def twin_equivariant(rng: np.random.Generator, moved_back: bool = True) -> list[Trial]:
    out = []
    for size in (1, 2, 4, 6):
        tokens, _, *projected = projections(rng, size)
        order = rng.permutation(size)
        found = of_itself(tokens[order], *projected)
        before = of_itself(tokens, *projected)
        out.append(agree(found, before[order] if moved_back else before, f"m={size}"))
        if size > 1:
            moved = of_itself(np.roll(tokens, 1, axis=0), *projected)
            out.append(differs(moved, of_itself(tokens, *projected), by=1e-6, what="not invariant"))
    return out


def equivariance_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "outputs are said to stay where they are, as if self-attention were invariant",
            statement=implies(permutation, forall([k, c], equal(of_y[k, c], of_x[k, c]))),
            counterexample=Example({
                m: 2, d: 1, d_v: 1, B: [[T.fn("log", T.num(2))]], W: [[1]], X: [[0], [1]],
                P: [[0, 1], [1, 0]],
            }),
            twin=Twin(
                "NumPy self-attention of permuted tokens against the outputs before",
                lambda rng: twin_equivariant(rng, moved_back=False),
            ),
        ),
    )  # fmt: skip


EQUIVARIANT = Claim(
    id="attention-average/equivariance",
    title="Permuted tokens give permuted outputs",
    source=Source(
        INTERVIEW, ("B18",),
        f"{AVERAGE} Beyond the note: in self-attention the tokens have no order, either; if they "
        "are permuted, the outputs are permuted in the same way.",
    ),
    statement=implies(permutation, equivariant),
    given=(MOVED_TOKENS, attends(of_x, X, "X"), attends(of_y, X_2, "X'")),
    proof=prove_equivariant,
    twin=Twin("NumPy self-attention of permuted tokens", twin_equivariant),
    mutations=equivariance_mutations,
    expected=Verdict.PROVED,
    remark=r"Here $B$ stands for $W^Q(W^K)^\top/\sqrt{d_k}$ and $W$ for $W^V$.",
)  # fmt: skip

CLAIMS = (
    WEIGHTED, NORM, STRICT, COMMON, MASKED, ORDER_FREE, EQUIVARIANT, LINEAR, BY_VALUE, BY_QUERY,
    BY_KEY, SELF_ATTENTION, DOUBLING, QUADRATIC,
)  # fmt: skip
