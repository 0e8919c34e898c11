r"""Softmax: its Jacobian, when that vanishes, what it ignores, and that it is not linear.

The interview note says that the factor ``1/sqrt(d_k)`` mitigates vanishing or exploding gradients,
that softmax brings non-linearity into attention, and that its result is a matrix of probabilities.
None of the three is computed there. Here the Jacobian ``J = diag(p) - p p^T`` is derived, bounded
from both sides, and followed through the scaled scores: it never explodes, and it vanishes with
growing scores only if one of them is the largest by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp

from derive.claim import Added, Claim, Correction, Example, Given, Mutation, Notation
from derive.claims import INTERVIEW
from derive.claims._softmax import (
    at_most_one,
    delta,
    distribution,
    exp_order,
    fails_at,
    i,
    j,
    k,
    left_for_others,
    m,
    no_delta,
    no_delta_ever,
    not_for_all,
    put_in,
    same_or_apart,
    shift_cancels,
    size_at_most,
    softmax,
    spike,
    sum_of_weights,
    u,
    under,
    weights,
)
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.kernel.terms import Lam, Term
from derive.language import (
    GradientIs,
    at_most,
    both,
    dims,
    equal,
    exists,
    forall,
    iff,
    implies,
    index,
    less,
    natural,
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

ORDER = 52
TOPIC = "softmax"

z, p, g, v, w = (tensor(name, m) for name in "zpgvw")
J = tensor("J", m, m)
half, quarter = sp.Rational(1, 2), sp.Rational(1, 4)

GRADIENTS = (
    r"The factor $1/\sqrt{d_k}$ is there to mitigate vanishing or exploding gradients. No gradient "
    "is computed, and no condition is named."
)


def score(i: Any) -> Any:
    return z[i]


def weight(i: Any) -> Any:
    return p[i]


WEIGHTS = Notation(weights(weight, score), r"the weights $p$ are the softmax of the scores $z$")
JACOBIAN = Notation(
    forall([i, j], equal(J[i, j], plus(times(p[i], delta(i, j)), times(-1, p[i], p[j])))),
    r"$J=\operatorname{diag}(p)-p\,p^\top$",
)


def weight_facts(q: Prover) -> tuple[Theorem, Theorem]:
    """p_i > 0 and Sum p_i = 1, from the definition, which is the first hypothesis."""
    return distribution(q, q.hyp(0), weight, score)


# ---------------------------------------------------------------------- drawing scores


def rows(rng: np.random.Generator) -> list[Any]:
    """Scores of several lengths and sizes, with one score, and with ties."""
    drawn = [rng.standard_normal(size) * scale for size, scale in ((5, 1), (2, 3), (7, 9), (1, 1))]
    return [*drawn, np.zeros(4), np.array([2.0, 2.0, -1.0])]


def jacobian_of(scores: Any) -> Any:
    """J, row by row from the vjp of the implementation."""
    from numeric import softmax_vjp

    return np.stack([softmax_vjp(scores, e) for e in np.eye(len(scores))])


# ---------------------------------------------------------------------- the Jacobian


def prove_jacobian(q: Prover) -> Theorem:
    definition, jacobian = q.hyp(0), q.hyp(1)
    gradient = q.gradient(GradientIs(softmax(score, i), z, j, 0), reason="quotient rule")
    entry = q.equal(
        q.partial(gradient, j), J[i, j], jacobian, definition,
        reason=r"the first factor is $p_s$; the second term is $-p_s\,p_u$",
    )  # fmt: skip
    return q.for_all(q.note(q.with_partial(gradient, entry, j), "so this is the gradient"), i)


def twin_jacobian(rng: np.random.Generator, sign: int = -1) -> list[Trial]:
    """Complex steps give every derivative to rounding."""
    from numeric import softmax as soft

    out = []
    for scores in rows(rng):
        size = len(scores)
        weight = soft(scores)
        steps = scores + 1e-30j * np.eye(size)
        measured = soft(steps).imag.T / 1e-30
        claimed = np.diag(weight) + sign * np.outer(weight, weight)
        out.append(agree(measured, claimed, f"m={size}"))
    return out


#: two scores of which the second has twice the weight of the first
TWO_SCORES = {m: 2, z: [0, T.fn("log", T.num(2))]}


def jacobian_is(entry: Any) -> Given:
    """J by a mistaken formula."""
    return Given(forall([i, j], equal(J[i, j], entry)), "another matrix")


def jacobian_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            r"the sign of the second term: $\operatorname{diag}(p)+p\,p^\top$",
            given=(WEIGHTS, jacobian_is(plus(times(p[i], delta(i, j)), times(p[i], p[j])))),
            counterexample=Example({m: 1, z: [0]}),
            twin=Twin(
                "complex steps against a sum of both terms", lambda rng: twin_jacobian(rng, 1)
            ),
        ),
        Mutation(
            r"only the diagonal is kept, $\operatorname{diag}(p)$",
            given=(WEIGHTS, jacobian_is(times(p[i], delta(i, j)))),
            counterexample=Example({m: 1, z: [0]}),
            twin=Twin("complex steps against a diagonal", lambda rng: twin_jacobian(rng, 0)),
        ),
    )


DERIVATIVE = Claim(
    id="softmax/jacobian",
    title="The Jacobian of softmax",
    source=Source(
        INTERVIEW, ("B01b",),
        f"{GRADIENTS} The gradient meant is the one through softmax; here it is.",
    ),
    statement=forall(i, GradientIs(softmax(score, i), z, j, J[i, j])),
    given=(WEIGHTS, JACOBIAN),
    proof=prove_jacobian,
    twin=Twin("complex steps through softmax against the stated matrix", twin_jacobian),
    mutations=jacobian_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip


def prove_vjp(q: Prover) -> Theorem:
    definition = q.hyp(0)
    paired = total(times(g[i], softmax(score, i)), i)
    gradient = q.gradient(
        GradientIs(paired, z, j, 0), reason="product and quotient rule, term by term"
    )
    mean = total(times(p[i], g[i]), i)
    entry = q.equal(
        q.partial(gradient, j), times(p[j], plus(g[j], -mean)), definition,
        reason="the delta leaves one summand of the first term; in both terms the weight of that "
               "score is a factor",
    )  # fmt: skip
    return q.note(q.with_partial(gradient, entry, j), "so this is the gradient")


def twin_vjp(rng: np.random.Generator, centred: bool = True) -> list[Trial]:
    from numeric import complex_step_error, softmax_vjp
    from numeric import softmax as soft

    out = []
    for scores in rows(rng):
        cotangent = rng.standard_normal(len(scores))
        weight = soft(scores)
        claimed = weight * (cotangent - (weight @ cotangent if centred else 0))
        out.append(agree(softmax_vjp(scores, cotangent), claimed, f"m={len(scores)}"))
    error = complex_step_error(soft, softmax_vjp, (rng.standard_normal((3, 5)),), rng)
    return [*out, Trial(error, 1e-12, "backward pass against complex steps")]


def backward_mutations() -> tuple[Mutation, ...]:
    paired = total(times(g[i], softmax(score, i)), i)
    return (
        Mutation(
            "the mean of the cotangent is not taken away",
            statement=GradientIs(paired, z, j, times(p[j], g[j])),
            counterexample=Example({m: 1, z: [0], g: [1]}),
            twin=Twin(
                "the backward pass against products with the weights",
                lambda rng: twin_vjp(rng, centred=False),
            ),
        ),
    )


VJP = Claim(
    id="softmax/backward",
    title="The backward pass of softmax",
    source=Source(
        INTERVIEW, ("B01b",), f"{GRADIENTS} Beyond the note: what an implementation computes."
    ),
    statement=GradientIs(
        total(times(g[i], softmax(score, i)), i), z, j,
        times(p[j], plus(g[j], -total(times(p[i], g[i]), i))),
    ),
    given=(WEIGHTS,),
    proof=prove_vjp,
    twin=Twin("the backward pass of softmax with random cotangents", twin_vjp),
    mutations=backward_mutations,
    expected=Verdict.PROVED,
    remark="The cotangent $g$ minus its mean under $p$, weighted with $p$. A constant cotangent "
    "gives 0, so a test that uses one sees no wrong factor.",
)  # fmt: skip


def prove_sums(q: Prover) -> Theorem:
    jacobian = q.hyp(1)
    one = sum_of_weights(q, q.hyp(0), weight, score)
    by_row = q.calc(
        total(J[i, j], j),
        (plus(p[i], times(-1, p[i], total(p[j], j))), "insert $J$; the diagonal gives $p_s$",
         jacobian),
        (0, "the weights sum to 1", one),
    )  # fmt: skip
    by_column = q.calc(
        total(J[i, j], i),
        (plus(p[j], times(-1, p[j], total(p[i], i))), "the same along the other index", jacobian),
        (0, "the weights sum to 1", one),
    )
    return q.both(q.for_all(by_row, i), q.for_all(by_column, j))


def twin_sums(rng: np.random.Generator) -> list[Trial]:
    out = []
    for scores in rows(rng):
        jacobian = jacobian_of(scores)
        zero = np.zeros(len(scores))
        out += [
            agree(jacobian.sum(axis=1), zero, "rows"),
            agree(jacobian.sum(axis=0), zero, "columns"),
        ]
    return out


def sums_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "the trace is taken for 0, too",
            statement=equal(total(J[i, i], i), 0),
            counterexample=Example(TWO_SCORES),
        ),
    )


SUMS = Claim(
    id="softmax/jacobian-sums",
    title="Rows and columns of the Jacobian sum to zero",
    source=Source(
        INTERVIEW, ("B01b",),
        f"{GRADIENTS} Beyond the note: in one direction the gradient vanishes whatever the scale; "
        "weights do not change when all scores move together.",
    ),
    statement=both(forall(i, equal(total(J[i, j], j), 0)), forall(j, equal(total(J[i, j], i), 0))),
    given=(WEIGHTS, JACOBIAN),
    proof=prove_sums,
    twin=Twin("row and column sums of the Jacobian of the implementation", twin_sums),
    mutations=sums_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip


# ---------------------------------------------------------------------- how large it can be


def entry_bounds(q: Prover, left: Theorem, positive: Theorem) -> Theorem:
    """|J_ij| <= p_i (1 - p_i) for all i, j."""
    jacobian = q.at(q.hyp(1), i, j)
    variance = times(p[i], 1 - p[i])
    at_i, at_j, room = q.at(positive, i), q.at(positive, j), q.at(left, i, j)
    apart = q.square(1 - delta(i, j))
    low = q.order(
        at_most(times(-1, variance), J[i, j]), (1, jacobian), (1, apart, at_i, room),
        (2 * delta(i, j), at_i, q.at(left, i, i)),
        reason=r"for $s\ne u$ the entry is $-p_s\,p_u$, and $p_u\le 1-p_s$",
    )  # fmt: skip
    high = q.order(
        at_most(J[i, j], variance), (-1, jacobian), (1, apart, at_i, at_j),
        (1, apart, at_i, q.at(left, i, i)),
        reason=r"on the diagonal they are equal; elsewhere $-p_s\,p_u\le 0$",
    )  # fmt: skip
    return q.for_all(size_at_most(q, J[i, j], variance, low, high), i, j)


def prove_entries(q: Prover) -> Theorem:
    positive, one = weight_facts(q)
    left = left_for_others(q, positive, one, weight)
    diagonal = q.at(entry_bounds(q, left, positive), i, j)
    q.note(diagonal, "so no entry is larger than the diagonal one in its row")
    fourth = q.order(
        at_most(times(p[i], 1 - p[i]), quarter), (1, q.square(p[i] - half)),
        reason=r"$\tfrac14-p_s(1-p_s)=(p_s-\tfrac12)^2$",
    )  # fmt: skip
    return q.for_all(q.both(diagonal, fourth), i, j)


def twin_entries(rng: np.random.Generator) -> list[Trial]:
    out = []
    for scores in rows(rng):
        jacobian = jacobian_of(scores)
        largest = np.abs(jacobian).max(axis=1)
        out += [
            no_more(largest, np.diag(jacobian), "entries against the diagonal"),
            no_more(largest, np.full(len(scores), 0.25), "entries against 1/4"),
        ]
    out.append(agree(np.abs(jacobian_of(np.zeros(2))), np.full((2, 2), 0.25), "attained at a tie"))
    return out


def entries_mutations() -> tuple[Mutation, ...]:
    def fifth(rng: np.random.Generator) -> list[Trial]:
        tied = jacobian_of(np.zeros(2))
        return [no_more(np.abs(tied).max(), 0.2, "entries against 1/5")]

    return (
        Mutation(
            "the bound is put at $1/5$",
            statement=forall([i, j], at_most(sp.Abs(J[i, j]), sp.Rational(1, 5))),
            counterexample=Example({m: 2, z: [0, 0]}),
            twin=Twin("entries of the Jacobian against 1/5", fifth),
        ),
    )


ENTRIES = Claim(
    id="softmax/jacobian-entries",
    title="No entry of the Jacobian exceeds one quarter",
    source=Source(
        INTERVIEW, ("B01b",),
        f"{GRADIENTS} Beyond the note: no single partial derivative can explode.",
    ),
    statement=forall(
        [i, j],
        both(
            at_most(sp.Abs(J[i, j]), times(p[i], 1 - p[i])),
            at_most(times(p[i], 1 - p[i]), quarter),
        ),
    ),
    given=(WEIGHTS, JACOBIAN),
    proof=prove_entries,
    twin=Twin(
        "entries of the Jacobian against its diagonal and $1/4$", twin_entries, tolerance=1e-15
    ),
    mutations=entries_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip

mean = total(times(p[j], v[j]), j)
form = total(times(v[i], J[i, j], v[j]), i, j)
spread = total(times(p[i], power(plus(v[i], -mean), 2)), i)


def variance_of(x: Any) -> Any:
    """Sum p_i x_i^2 - (Sum p_i x_i)^2."""
    x = entries(x)
    mean_square = total(times(p[i], power(x(i), 2)), i)
    return plus(mean_square, -(total(times(p[i], x(i)), i) ** 2))


def entries(x: Any) -> Callable[[Any], Any]:
    return x.__getitem__ if isinstance(x, sp.IndexedBase) else x


def written_out(q: Prover) -> Theorem:
    """v^T J v as a mean square minus a squared mean."""
    return q.equal(form, variance_of(v), q.hyp(1), reason="insert $J$")


def not_negative(q: Prover, positive: Theorem, one: Theorem, x: Any) -> Theorem:
    """0 <= Sum p_i x_i^2 - (Sum p_i x_i)^2."""
    x = entries(x)
    mean = total(times(p[j], x(j)), j)
    term = times(p[i], power(plus(x(i), -mean), 2))
    squares = q.sum_order(
        q.order(at_most(0, term), (1, q.square(plus(x(i), -mean)), q.at(positive, i))), i
    )
    return q.order(at_most(0, variance_of(x)), (1, squares), (-(mean**2), one))


def prove_variance(q: Prover) -> Theorem:
    positive, one = weight_facts(q)
    first = written_out(q)
    same = q.equal(
        form,
        spread,
        (1, first),
        (-(mean**2), one),
        reason=r"multiply out the square; the cross term is twice the squared mean, and "
        "the weights sum to 1",
    )
    squares = q.sum_order(
        q.order(
            at_most(0, spread.args[0]), (1, q.square(plus(v[i], -mean)), q.at(positive, i)),
            reason="squares with positive weights",
        ), i, reason="add over $s$",
    )  # fmt: skip
    return q.both(same, q.order(at_most(0, form), (1, squares), (1, same), reason="insert"))


def twin_variance(rng: np.random.Generator) -> list[Trial]:
    from numeric import softmax as soft

    out = []
    for scores in rows(rng):
        direction = rng.standard_normal(len(scores))
        value = direction @ jacobian_of(scores) @ direction
        weight = soft(scores)
        centre = weight @ direction
        out += [
            agree(value, weight @ (direction - centre) ** 2, "variance under the weights"),
            no_more(0.0, value, "not negative"),
        ]
    return out


def variance_mutations() -> tuple[Mutation, ...]:
    mean_square = total(times(p[i], power(v[i], 2)), i)
    return (
        Mutation(
            "the mean is not taken away before squaring",
            statement=equal(form, mean_square),
            counterexample=Example({**TWO_SCORES, v: [1, 1]}),
        ),
    )


VARIANCE = Claim(
    id="softmax/jacobian-variance",
    title="The Jacobian is a covariance, and positive semidefinite",
    source=Source(
        INTERVIEW, ("B01b",),
        f"{GRADIENTS} Beyond the note: along a direction $v$ the Jacobian gives the variance of "
        "$v$ under the weights.",
    ),
    statement=both(equal(form, spread), at_most(0, form)),
    given=(WEIGHTS, JACOBIAN),
    proof=prove_variance,
    twin=Twin("quadratic forms of the Jacobian against weighted variances", twin_variance),
    mutations=variance_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip


def at_most_half(q: Prover, positive: Theorem, one: Theorem, x: Any, show: bool = True) -> Theorem:
    """Sum p_i x_i^2 - (Sum p_i x_i)^2 <= 1/2 Sum x_i^2."""
    x = entries(x)
    apart = times(1 - delta(i, j), plus(x(i), x(j)))
    pairs = q.sum_order(
        q.order(
            at_most(0, times(power(apart, 2), p[i], p[j])),
            (1, q.square(apart), q.at(positive, i), q.at(positive, j)),
        ), i, j,
    )  # fmt: skip
    mean_square = total(times(p[i], power(x(i), 2)), i)
    by_pairs = q.order(
        at_most(variance_of(x), times(2, total(times(p[i], 1 - p[i], power(x(i), 2)), i))),
        (half, pairs), (-mean_square, one),
    )  # fmt: skip
    each = q.order(
        at_most(times(2, p[i], 1 - p[i], power(x(i), 2)), times(half, power(x(i), 2))),
        (2, q.square(times(x(i), p[i] - half))),
    )
    goal = at_most(variance_of(x), times(half, total(power(x(i), 2), i)))
    bound = q.order(goal, (1, by_pairs), (1, q.sum_order(each, i)))
    if show:
        q.note(by_pairs, r"the difference is half the sum of $p_s\,p_u\,(v_s+v_u)^2$ over $s\ne u$")
        q.note(each, r"$p_s(1-p_s)\le\tfrac14$")
        q.note(bound, "add over $s$")
    return bound


squares = total(power(v[i], 2), i)
image = Notation(forall(i, equal(w[i], total(times(J[i, j], v[j]), j))), "$w=Jv$, the image of $v$")


def norm_bound(
    q: Prover, positive: Theorem, one: Theorem, upper: Theorem, image: Theorem
) -> Theorem:
    """|w|^2 <= 1/4 |v|^2 for w = J v, from the bound of the variance of v."""
    of_image = at_most_half(q, positive, one, w, show=False)
    value = plus(times(p[i], v[i]), times(-1, p[i], mean))
    through = q.equal(w[i], value, image, q.hyp(1), show=False)
    product = q.sum_equal(
        q.equal(power(w[i], 2), times(w[i], value), (w[i], through), show=False),
        i, reason=r"$w_s=p_s(v_s-\sum_u p_u v_u)$, multiplied by $w_s$ and added up",
    )  # fmt: skip
    below = q.order(
        at_most(
            0,
            plus(variance_of(v), times(-4, total(power(w[i], 2), i)), times(4, variance_of(w))),
        ),
        (1, not_negative(q, positive, one, v_minus_twice_w)), (-4, product),
        reason="the variance of $v-2w$ is not negative; written out, the covariance of $v$ and "
        r"$w$ is $\|w\|^2$",
    )  # fmt: skip
    return q.order(
        at_most(total(power(w[i], 2), i), times(quarter, squares)),
        (half, below), (2, of_image), (half, upper),
        reason=r"the variances of $v$ and $w$ are at most $\tfrac12\|v\|^2$ and "
        r"$\tfrac12\|w\|^2$",
    )  # fmt: skip


def prove_norm(q: Prover) -> Theorem:
    positive, one = weight_facts(q)
    upper = at_most_half(q, positive, one, v)
    bound = q.order(
        at_most(form, times(half, squares)), (1, upper), (-1, written_out(q)),
        reason=r"so $v^\top Jv\le\tfrac12\|v\|^2$ for every $v$",
    )  # fmt: skip
    return q.both(bound, norm_bound(q, positive, one, upper, q.hyp(2)))


def v_minus_twice_w(i: Any) -> Any:
    return plus(v[i], times(-2, w[i]))


def twin_norm(rng: np.random.Generator, limit: float = 0.5) -> list[Trial]:
    """Spectral norms, and the largest at two equal scores."""
    out = []
    for scores in [*rows(rng), *(rng.standard_normal(6) * 4 for _ in range(20))]:
        largest = np.linalg.eigvalsh(jacobian_of(scores))[-1]
        out.append(no_more(largest, limit, f"m={len(scores)}"))
    out.append(agree(np.linalg.eigvalsh(jacobian_of(np.zeros(2)))[-1], limit, "two equal scores"))
    return out


def norm_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            r"the bound is put at $\tfrac14$, the largest entry",
            statement=at_most(form, times(quarter, squares)),
            counterexample=Example({m: 2, z: [0, 0], v: [1, -1]}),
            twin=Twin("eigenvalues of the Jacobian against 1/4", lambda rng: twin_norm(rng, 0.25)),
        ),
    )


NORM = Claim(
    id="softmax/jacobian-norm",
    title="The Jacobian at least halves every direction",
    source=Source(
        INTERVIEW, ("B01b",),
        f"{GRADIENTS} Through the softmax alone a gradient cannot explode: no direction is "
        "stretched to more than half its length.",
    ),
    statement=both(
        at_most(form, times(half, squares)),
        at_most(total(power(w[i], 2), i), times(quarter, squares)),
    ),
    given=(WEIGHTS, JACOBIAN, image),
    proof=prove_norm,
    twin=Twin("eigenvalues of the Jacobian of the implementation", twin_norm),
    mutations=norm_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip


ell = index("l", m)
tie = both(negation(equal(k, ell)), equal(z[ell], z[k]))
TIE = ("suppose two different positions", "with equal scores")


def tied_weights(q: Prover, same: Theorem, scores: Callable[[Any], Any]) -> Theorem:
    """p_l = p_k, from scores_l = scores_k and the definition, which is the first hypothesis."""
    bottom = total(sp.exp(scores(u)), u)
    start = q.equal(sp.exp(scores(ell)), sp.exp(scores(ell)), show=False)
    left = start.conclusion.children[0]
    powers = q.rewrite(same, start, lambda x: T.eq(left, T.fn("exp", x)))
    return q.equal(
        p[ell], p[k], (1, q.at(q.hyp(0), ell)), (-1, q.at(q.hyp(0), k)), (over(1, bottom), powers),
        reason="equal scores have equal weights",
    )  # fmt: skip


along = plus(delta(j, k), -delta(j, ell))
tied_image = forall(
    i, equal(total(times(J[i, j], along), j), times(p[k], plus(delta(i, k), -delta(i, ell))))
)


def prove_attained(q: Prover) -> Theorem:
    def then(different: Theorem, same: Theorem) -> Theorem:
        equal_weights = tied_weights(q, same, score)
        stretched = q.calc(
            tied_image.args[1].args[0],
            (
                plus(times(p[i], plus(delta(i, k), -delta(i, ell))),
                     times(-1, p[i], plus(p[k], -p[ell]))),
                "insert $J$", q.hyp(1),
            ),
            (
                tied_image.args[1].args[1],
                "the two weights are equal; at the other positions both sides are 0",
                (-delta(i, ell), equal_weights), (p[i], equal_weights),
            ),
        )  # fmt: skip
        eigen = q.for_all(stretched, i)
        return q.both(eigen, weight_of_two(q, different, equal_weights))

    return under(q, tie, TIE, then)


def weight_of_two(q: Prover, different: Theorem, equal_weights: Theorem) -> Theorem:
    """m = 2 -> p_k = 1/2."""
    positive, one = weight_facts(q)
    apart = no_delta(q, different)
    left = left_for_others(q, positive, one, weight)
    below = q.at(at_most_one(q, left, weight), j)
    others = times(1 - delta(j, k), 1 - delta(j, ell))

    def then(two: Theorem) -> Theorem:
        upper = q.order(
            at_most(p[k], half), (half, q.at(left, k, ell)), (half, equal_weights),
            (-half * p[k], apart), reason="two equal weights are at most 1 together",
        )  # fmt: skip
        rest = q.sum_order(
            q.order(at_most(0, times(power(others, 2), 1 - p[j])), (1, q.square(others), below)), j
        )
        lower = q.order(
            at_most(half, p[k]), (half, rest), (-half, equal_weights), (-half, two), (half, one),
            (-half * (1 - p[k]), apart), reason="and there are no others",
        )  # fmt: skip
        return q.note(infer("antisymmetry", [upper, lower]), "so each is one half")

    return under(q, equal(m, 2), ["suppose that these are all the scores"], then)


def twin_attained(rng: np.random.Generator) -> list[Trial]:
    from numeric import softmax as soft

    out = []
    for size, first, second in ((5, 1, 3), (2, 0, 1), (3, 2, 0)):
        scores = rng.standard_normal(size)
        scores[second] = scores[first]
        direction = np.zeros(size)
        direction[[first, second]] = 1, -1
        stretched = jacobian_of(scores) @ direction
        out.append(agree(stretched, soft(scores)[first] * direction, f"m={size}"))
    out.append(agree(jacobian_of([7.0, 7.0]) @ [1, -1], [0.5, -0.5], "one half"))
    return out


ATTAINED = Claim(
    id="softmax/half-attained",
    title="The bound of one half is attained",
    source=Source(
        INTERVIEW, ("B01b",),
        f"{GRADIENTS} Beyond the note: where two scores are equal, their difference is a direction "
        "in which the Jacobian multiplies by their weight, by one half if there are no others.",
    ),
    statement=implies(tie, both(tied_image, implies(equal(m, 2), equal(p[k], half)))),
    given=(WEIGHTS, JACOBIAN),
    proof=prove_attained,
    twin=Twin("image of the difference of two tied positions", twin_attained),
    expected=Verdict.PROVED,
)  # fmt: skip


# ---------------------------------------------------------------------- growing scores

a = real("a")
gap = real("Delta")


def scaled_score(i: Any) -> Any:
    return times(a, z[i])


SCALED = Notation(
    weights(weight, scaled_score), r"the weights $p$ are the softmax of the scores $a z$"
)
leads = both(
    less(0, gap), forall(j, implies(negation(equal(j, k)), at_most(plus(z[j], gap), z[k])))
)
tail = times(m - 1, sp.exp(times(-1, a, gap)))


def prove_scale(q: Prover) -> Theorem:
    definition, jacobian = q.hyp(0), q.hyp(1)
    gradient = q.gradient(GradientIs(softmax(scaled_score, i), z, j, 0), reason="quotient rule")
    entry = q.equal(
        q.partial(gradient, j), times(a, J[i, j]), jacobian, definition,
        reason="the inner derivative is $a$ in every term",
    )  # fmt: skip
    return q.for_all(q.note(q.with_partial(gradient, entry, j), "so this is the gradient"), i)


def twin_scale(rng: np.random.Generator, in_front: bool = True) -> list[Trial]:
    from numeric import softmax as soft

    out = []
    for scores in rows(rng):
        scale = rng.uniform(0.5, 3)
        steps = scale * (scores + 1e-30j * np.eye(len(scores)))
        measured = soft(steps).imag.T / 1e-30
        front = scale if in_front else 1.0
        out.append(agree(measured, front * jacobian_of(scale * scores), f"m={len(scores)}"))
    return out


def scale_mutations() -> tuple[Mutation, ...]:
    inside_only = GradientIs(softmax(scaled_score, i), z, j, J[i, j])
    return (
        Mutation(
            "the factor $a$ is seen in the weights only, not in front",
            statement=forall(i, inside_only),
            counterexample=Example({m: 2, z: [0, 0], a: 2}),
            twin=Twin(
                "complex steps against the Jacobian without the factor",
                lambda rng: twin_scale(rng, in_front=False),
            ),
        ),
    )


SCALE = Claim(
    id="softmax/scaled-jacobian",
    title="A factor on the scores is a factor on the gradient, too",
    source=Source(
        INTERVIEW, ("B01b",),
        f"{GRADIENTS} Beyond the note: for scores $a z$ two things change: the Jacobian is "
        r"taken at other weights, and it is multiplied by $a$; $a=1/\sqrt{d_k}$ in attention.",
    ),
    statement=forall(i, GradientIs(softmax(scaled_score, i), z, j, times(a, J[i, j]))),
    given=(SCALED, JACOBIAN),
    proof=prove_scale,
    twin=Twin("complex steps through softmax of scaled scores", twin_scale),
    mutations=scale_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip


def scaled_facts(q: Prover) -> tuple[Theorem, Theorem]:
    return distribution(q, q.hyp(0), weight, scaled_score)


def prove_vanishing(q: Prover) -> Theorem:
    gap_is_positive, ahead = (q.part(q.hyp(2), n) for n in (0, 1))

    def rest(one: Theorem, below: Theorem) -> Theorem:
        either_way = q.cases(
            q.dichotomy(0, a),
            lambda case: _rest_is_small(
                q, q.note(case, "let the scale not be negative"), ahead, one, below
            ),
            lambda case: _scale_is_negative(q, (case, gap_is_positive), one, below),
        )
        return q.note(either_way, "in both cases")

    return q.for_all(bound_by_rest(q, rest), i, j)


def bound_by_rest(q: Prover, rest: Callable[[Theorem, Theorem], Theorem]) -> Theorem:
    """|J_ij| <= (m - 1) e^(-a Delta), where `rest` shows this for 1 - p_k."""
    positive, one = scaled_facts(q)
    left = left_for_others(q, positive, one, weight)
    others_are_small = rest(one, at_most_one(q, left, weight))
    entry = q.at(entry_bounds(q, left, positive), i, j)
    apart = q.square(1 - delta(i, k))
    others = q.order(
        at_most(times(p[i], 1 - p[i]), 1 - p[k]),
        (delta(i, k), q.square(1 - p[i])), (1, apart, q.at(left, i, k)),
        (1, apart, q.square(p[i])),
        reason=r"for $s=k$ since $p_k\le1$, for $s\ne k$ since $p_s\le1-p_k$",
    )  # fmt: skip
    return q.order(
        at_most(sp.Abs(J[i, j]), tail), (1, entry), (1, others), (1, others_are_small),
        reason="one after the other",
    )  # fmt: skip


def _rest_is_small(
    q: Prover, case: Theorem, ahead: Theorem, one: Theorem, below: Theorem
) -> Theorem:
    """1 - p_k <= (m - 1) e^(-a Delta), for 0 <= a."""
    factor = sp.exp(times(-1, a, gap))
    bottom = total(sp.exp(scaled_score(u)), u)
    goal = at_most(times(power(1 - delta(j, k), 2), p[j]), times(power(1 - delta(j, k), 2), factor))

    def apart(different: Theorem, _: Theorem) -> Theorem:
        behind = q.mp(q.at(ahead, j), different)
        scaled = q.order(
            at_most(scaled_score(j), plus(scaled_score(k), times(-1, a, gap))), (1, case, behind),
            reason=r"for $u\ne k$, by the gap",
        )  # fmt: skip
        powers = q.note(exp_order(q, scaled), "the exponential increases")
        smaller = q.order(
            at_most(p[j], factor), (-1, q.at(q.hyp(0), j)), (over(1, bottom), powers),
            (factor, q.at(q.hyp(0), k)), (factor, q.at(below, k)),
            reason=r"divide by the sum of exponentials; $p_k\le1$",
        )  # fmt: skip
        return q.order(goal, (1, q.square(1 - delta(j, k)), smaller))

    def same(together: Theorem) -> Theorem:
        return q.order(goal, (plus(p[j], times(-1, factor)), together))

    each = same_or_apart(q, j, k, same, apart)
    return q.order(
        at_most(1 - p[k], tail), (1, q.sum_order(each, j)), (1, one),
        reason=r"add over all $u\ne k$",
    )  # fmt: skip


def _scale_is_negative(
    q: Prover, signs: tuple[Theorem, Theorem], one: Theorem, below: Theorem
) -> Theorem:
    """The same for a < 0, where the bound says little."""
    q.note(signs[0], "let the scale be negative")
    exponent = q.order(at_most(0, times(-1, a, gap)), (1, *signs))
    powers = q.order(
        at_most(1, sp.exp(times(-1, a, gap))), (1, exp_order(q, exponent)),
        reason="the exponent is positive",
    )  # fmt: skip
    each = q.sum_order(
        q.order(
            at_most(0, times(power(1 - delta(j, k), 2), 1 - p[j])),
            (1, q.square(1 - delta(j, k)), q.at(below, j)),
        ), j,
    )  # fmt: skip
    count = q.trivial(at_most(0, m - 1))
    return q.order(
        at_most(1 - p[k], tail), (1, each), (1, one), (1, count, powers),
        reason="each of the $m-1$ other weights is at most 1",
    )  # fmt: skip


def twin_vanishing(rng: np.random.Generator) -> list[Trial]:
    """The bound with a single maximum; far above it at a tie."""
    out = []
    for size in (2, 5, 7):
        scores = rng.standard_normal(size)
        lead = np.sort(scores)[-1] - np.sort(scores)[-2]
        for scale in (-1.0, 0.0, 1.0, 10.0, 100.0):
            largest = np.abs(jacobian_of(scale * scores)).max()
            out.append(no_more(largest, (size - 1) * np.exp(-scale * lead), f"scale {scale}"))
    for scale in (10.0, 1000.0):
        largest = np.abs(jacobian_of(scale * np.array([1.0, 1.0, 0.0]))).max()
        out.append(differs(largest, 2 * np.exp(-scale), by=0.2, what="at a tie"))
    return out


def vanishing_mutations() -> tuple[Mutation, ...]:
    def at_a_tie(_rng: np.random.Generator) -> list[Trial]:
        tied = np.array([1.0, 1.0, 0.0])
        largest = [(scale, np.abs(jacobian_of(scale * tied)).max()) for scale in (1.0, 10.0, 100.0)]
        return [no_more(x, 2 * np.exp(-scale), f"scale {scale}") for scale, x in largest]

    return (
        Mutation(
            "the gradient is said to vanish with the scale always, at a tie as well",
            given=VANISHING.given,
            counterexample=VANISHING.added[0].counterexample,
            twin=Twin("largest entry of the Jacobian at a tie", at_a_tie),
        ),
        Mutation(
            r"the gap is taken twice, $e^{-2a\Delta}$",
            statement=forall(
                [i, j],
                at_most(sp.Abs(J[i, j]), times(m - 1, sp.exp(times(-2, a, gap)))),
            ),
            counterexample=Example({m: 2, z: [1, 0], a: T.fn("log", T.num(4)), gap: 1, k: 0}),
        ),
    )


VANISHING = Claim(
    id="softmax/vanishing",
    title="Gradients vanish for large scores if one of them is the largest by itself",
    source=Source(
        INTERVIEW, ("B01b",),
        r"Without $1/\sqrt{d_k}$ the scores are larger by a factor and gradients vanish; that one "
        "score has to lead by a gap is not said.",
    ),
    statement=forall([i, j], at_most(sp.Abs(J[i, j]), tail)),
    given=(SCALED, JACOBIAN),
    added=(
        Added(
            leads, Example({m: 2, z: [0, 0], a: sp.log(16), gap: 1, k: 0}),
            r"position $k$ is ahead of all others by $\Delta$",
        ),
    ),
    witness=Example({m: 2, z: [1, 0], a: 1, gap: 1, k: 0}),
    proof=prove_vanishing,
    twin=Twin("largest entry of the Jacobian for growing scores", twin_vanishing),
    mutations=vanishing_mutations,
    expected=Verdict.CONDITIONAL,
)  # fmt: skip

alone = both(less(0, a), *leads.args)
ALONE = (
    "suppose a positive scale", r"a positive gap $\Delta$", "and that position $k$ leads by it",
)  # fmt: skip
limit = over(times(4, m - 1), times(a, power(gap, 2)))
scaled_bound = forall([i, j], at_most(times(a, sp.Abs(J[i, j])), limit))


def prove_limit(q: Prover) -> Theorem:
    def then(scale: Theorem, gap_is_positive: Theorem, ahead: Theorem) -> Theorem:
        not_negative = q.order(at_most(0, a), (1, scale))
        entry = bound_by_rest(
            q, lambda one, below: _rest_is_small(q, not_negative, ahead, one, below)
        )
        y = times(half, a, gap)
        above = q.order(less(0, y), (half, scale, gap_is_positive))
        tangent = q.mp(q.axiom("log-tangent", sp.exp(y)), q.trivial(less(0, sp.exp(y))))
        linear = q.order(
            at_most(y, sp.exp(y)), (1, tangent),
            reason=r"$\log x\le x-1$ at $x=e^{a\Delta/2}$",
        )  # fmt: skip
        square = q.order(
            at_most(power(y, 2), sp.exp(times(a, gap))), (1, linear, linear), (2, above, linear),
            reason="square both sides, which are positive",
        )  # fmt: skip
        falls = q.order(
            at_most(times(a, sp.exp(times(-1, a, gap))), over(4, times(a, power(gap, 2)))),
            (over(times(4, sp.exp(times(-1, a, gap))), times(a, power(gap, 2))), square),
            facts=[scale, gap_is_positive],
            reason=r"multiply by $4e^{-a\Delta}/(a\Delta^2)$",
        )  # fmt: skip
        count = q.trivial(at_most(0, m - 1))
        last = q.order(
            at_most(times(a, sp.Abs(J[i, j])), limit), (1, scale, entry), (1, count, falls),
            reason="multiply the bound by $a$, and insert",
        )  # fmt: skip
        return q.for_all(last, i, j)

    return under(q, alone, ALONE, then)


def twin_limit(rng: np.random.Generator) -> list[Trial]:
    out = []
    for size in (1, 2, 5, 7):
        scores = np.sort(rng.standard_normal(size))
        lead = scores[-1] - scores[-2] if size > 1 else 1.0
        for scale in (0.1, 1.0, 10.0, 1000.0):
            largest = scale * np.abs(jacobian_of(scale * scores)).max()
            out.append(no_more(largest, 4 * (size - 1) / (scale * lead**2), f"scale {scale}"))
    tied = 1000.0 * np.abs(jacobian_of(1000.0 * np.array([1.0, 1.0, 0.0]))).max()
    out.append(agree(tied, 250.0, "not at a tie"))
    return out


LIMIT = Claim(
    id="softmax/scaled-vanishing",
    title="Where one score leads, the gradient by the unscaled scores vanishes for large scales, "
          "too",
    source=Source(
        INTERVIEW, ("B01b",),
        f"{GRADIENTS} Beyond the note: the gradient by the unscaled scores has $a$ as a factor; if "
        "one score leads by a gap, it still tends to 0 for large $a$.",
    ),
    statement=implies(alone, scaled_bound),
    given=(SCALED, JACOBIAN),
    proof=prove_limit,
    twin=Twin("scaled entries of the Jacobian for growing scores", twin_limit),
    expected=Verdict.PROVED,
)  # fmt: skip

tie_ahead = both(
    at_most(0, a), negation(equal(k, ell)), equal(z[ell], z[k]), forall(j, at_most(z[j], z[k]))
)
AHEAD = (
    "suppose a scale that is not negative", "and two different positions", "with equal scores",
    "that no score exceeds",
)  # fmt: skip
floor = over(1, times(2, m))


def prove_tie(q: Prover) -> Theorem:
    def then(scale: Theorem, different: Theorem, same: Theorem, largest: Theorem) -> Theorem:
        positive, one = scaled_facts(q)
        bottom = total(sp.exp(scaled_score(u)), u)
        scaled_tie = q.equal(scaled_score(ell), scaled_score(k), (a, same), show=False)
        equal_weights = tied_weights(q, scaled_tie, scaled_score)
        powers = exp_order(
            q, q.order(at_most(scaled_score(j), scaled_score(k)), (1, scale, q.at(largest, j)))
        )
        each = q.order(
            at_most(p[j], p[k]), (-1, q.at(q.hyp(0), j)), (over(1, bottom), powers),
            (1, q.at(q.hyp(0), k)), reason="the largest score has the largest weight",
        )  # fmt: skip
        share = q.order(
            at_most(over(1, m), p[k]), (over(1, m), q.sum_order(each, j)), (over(1, m), one),
            reason="the weights sum to 1, so the largest is at least the mean",
        )  # fmt: skip
        left = q.at(left_for_others(q, positive, one, weight), k, ell)
        upper = q.order(
            at_most(p[k], half), (half, left), (half, equal_weights),
            (-half * p[k], no_delta(q, different)),
            reason="two equal weights are at most 1 together",
        )  # fmt: skip
        entry = q.order(
            at_most(floor, J[k, k]), (1, q.at(q.hyp(1), k, k)), (half, share),
            (1, q.at(positive, k), upper),
            reason=r"$J_{kk}=p_k(1-p_k)\ge\tfrac12p_k$",
        )  # fmt: skip
        grows = q.order(
            at_most(times(a, floor), times(a, J[k, k])), (1, scale, entry),
            reason="multiply by $a$",
        )  # fmt: skip
        return q.both(entry, grows)

    return under(q, tie_ahead, AHEAD, then)


def twin_tie(rng: np.random.Generator) -> list[Trial]:
    out = []
    for size in (2, 3, 6):
        scores = rng.standard_normal(size)
        scores[:2] = scores.max() + rng.uniform(0, 1)
        for scale in (0.0, 1.0, 10.0, 1000.0):
            entry = jacobian_of(scale * scores)[0, 0]
            out.append(no_more(1 / (2 * size), entry, f"m={size}, scale {scale}"))
    entry = jacobian_of(1000 * np.array([1.0, 1.0, 0.0]))[0, 0]
    out.append(agree(entry, 0.25, "one quarter, far out"))
    return out


def tie_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "the entry is put at $1/m$ at least",
            statement=implies(tie_ahead, at_most(over(1, m), J[k, k])),
            counterexample=Example({m: 3, z: [0, 0, 0], k: 0, ell: 1, a: 1}),
        ),
    )


TIE_STAYS = Claim(
    id="softmax/ties-do-not-vanish",
    title="At a tie the gradient does not vanish, whatever the scale",
    source=Source(
        INTERVIEW, ("B01b",),
        f"{GRADIENTS} Beyond the note: with two largest scores the Jacobian keeps an entry of at "
        "least $1/(2m)$, and the gradient by the unscaled scores grows with the scale.",
    ),
    statement=implies(
        tie_ahead, both(at_most(floor, J[k, k]), at_most(times(a, floor), times(a, J[k, k])))
    ),
    given=(SCALED, JACOBIAN),
    proof=prove_tie,
    twin=Twin("diagonal entry of the Jacobian at a tie, up to scale 1000", twin_tie),
    mutations=tie_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip


# ---------------------------------------------------------------------- through the scaled scores

d_k, n = dims("d_k n")
c = index("c", d_k)
t, r = index("t", n), index("r", n)
query, change, bias = tensor("q", d_k), tensor("x", d_k), tensor("b", d_k)
keys, queries = tensor("K", m, d_k), tensor("Q", n, d_k)
root = sp.sqrt(d_k)


def dot_product(i: Any) -> Any:
    """One query and key i."""
    return total(times(query[c], keys[i, c]), c)


def attention_score(i: Any) -> Any:
    return over(dot_product(i), root)


ATTENTION = Notation(
    weights(weight, attention_score),
    r"the weights $p$ are the softmax of the scaled scores of one query $q$",
)


def prove_through(q: Prover) -> Theorem:
    definition, jacobian = q.hyp(0), q.hyp(1)
    gradient = q.gradient(
        GradientIs(softmax(attention_score, i), query, c, 0),
        reason=r"quotient rule; the derivative of score $s$ by $q_c$ is $K_{s c}/\sqrt{d_k}$",
    )
    value = over(total(times(J[i, j], keys[j, c]), j), root)
    entry = q.equal(
        q.partial(gradient, c), value, jacobian, definition,
        reason="the Jacobian of softmax appears, multiplied by the keys",
    )  # fmt: skip
    return q.for_all(q.note(q.with_partial(gradient, entry, c), "so this is the gradient"), i)


def twin_through(
    rng: np.random.Generator, divisor: Callable[[int], float] = np.sqrt
) -> list[Trial]:
    """Every derivative of the weights by the query, from complex steps."""
    from numeric import attention_weights

    out = []
    for size, width in ((5, 3), (2, 7), (1, 4), (4, 1)):
        row, key = rng.standard_normal(width), rng.standard_normal((size, width))
        steps = row + 1e-30j * np.eye(width)
        measured = attention_weights(steps, key).imag.T / 1e-30
        weight = attention_weights(row[None], key)[0]
        claimed = (np.diag(weight) - np.outer(weight, weight)) @ key / divisor(width)
        out.append(agree(measured, claimed, f"m={size}, d_k={width}"))
    return out


def through_mutations() -> tuple[Mutation, ...]:
    unscaled = total(times(J[i, j], keys[j, c]), j)
    return (
        Mutation(
            r"the factor $1/\sqrt{d_k}$ in front is forgotten",
            statement=forall(i, GradientIs(softmax(attention_score, i), query, c, unscaled)),
            counterexample=Example({
                m: 2, d_k: 4, query: [0, 0, 0, 0], keys: [[1, 0, 0, 0], [0, 0, 0, 0]],
            }),
            twin=Twin(
                "complex steps against products without the factor",
                lambda rng: twin_through(rng, lambda _: 1.0),
            ),
        ),
        Mutation(
            "the factor in front is $1/d_k$",
            twin=Twin(
                "complex steps against products with another factor",
                lambda rng: twin_through(rng, lambda width: width),
            ),
        ),
    )  # fmt: skip


THROUGH = Claim(
    id="softmax/through-scores",
    title="The gradient of attention weights by the query",
    source=Source(
        INTERVIEW, ("B01b",),
        f"{GRADIENTS} Computed, the factor appears once in front, and once inside the weights.",
    ),
    statement=forall(
        i,
        GradientIs(
            softmax(attention_score, i), query, c,
            over(total(times(J[i, j], keys[j, c]), j), root),
        ),
    ),
    given=(ATTENTION, JACOBIAN),
    proof=prove_through,
    twin=Twin("complex steps through scaled attention weights", twin_through),
    mutations=through_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip

moved = over(total(times(keys[i, c], change[c]), c), root)
MOVED = Notation(
    forall(i, equal(v[i], moved)),
    r"$v=Kx/\sqrt{d_k}$, how the scores move when $q$ moves by $x$",
)
reached = over(total(power(total(times(keys[i, c], change[c]), c), 2), i), times(4, d_k))


def prove_no_explosion(q: Prover) -> Theorem:
    positive, one = distribution(q, q.hyp(0), weight, attention_score)
    bound = norm_bound(q, positive, one, at_most_half(q, positive, one, v), q.hyp(3))
    scores = q.sum_equal(
        q.equal(power(v[i], 2), power(moved, 2), (plus(v[i], moved), q.at(q.hyp(2), i)),
                show=False),
        i, reason="insert $v$",
    )  # fmt: skip
    return q.order(
        at_most(total(power(w[i], 2), i), reached), (1, bound), (-quarter, scores),
        reason=r"the factor $1/\sqrt{d_k}$ leaves the sum squared",
    )  # fmt: skip


def twin_no_explosion(rng: np.random.Generator) -> list[Trial]:
    """Weights moved by complex steps of the query, for queries of any length."""
    from numeric import attention_weights

    out = []
    for size, width, scale in ((5, 3, 1), (2, 7, 30), (6, 4, 300), (1, 4, 1), (4, 1, 5)):
        row, key = scale * rng.standard_normal(width), rng.standard_normal((size, width))
        direction = rng.standard_normal(width)
        weight = attention_weights((row + 1e-30j * direction)[None], key)[0]
        limit = np.linalg.norm(key @ direction) / (2 * width**0.5)
        out.append(no_more(np.linalg.norm(weight.imag / 1e-30), limit, f"m={size}, {scale}"))
    opposite = np.outer([1.0, -1.0], np.ones(4))
    weight = attention_weights(1e-30j * np.ones((1, 4)), opposite)[0]
    out.append(agree(np.linalg.norm(weight.imag / 1e-30), 2**0.5, "attained at two tied keys"))
    return out


def no_explosion_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "the bound is taken to be smaller by a factor $d_k$ once more",
            statement=at_most(total(power(w[i], 2), i), over(reached, d_k)),
            counterexample=Example({
                m: 2, d_k: 4, query: [0, 0, 0, 0], keys: [[2, 0, 0, 0], [-2, 0, 0, 0]],
                change: [1, 0, 0, 0],
            }),
        ),
    )  # fmt: skip


NO_EXPLOSION = Claim(
    id="softmax/no-explosion",
    title="How far attention weights can move",
    source=Source(
        INTERVIEW, ("B01b",),
        f"{GRADIENTS} Beyond the note: what is bounded is the softmax; what can be large is the "
        "matrix of keys, and it is this that the factor divides.",
    ),
    statement=at_most(total(power(w[i], 2), i), reached),
    given=(
        ATTENTION, JACOBIAN, MOVED,
        Notation(image.formula, "$w=Jv$, how the weights move to first order"),
    ),
    proof=prove_no_explosion,
    twin=Twin("first-order changes of attention weights against the bound", twin_no_explosion),
    mutations=no_explosion_mutations,
    expected=Verdict.PROVED,
    remark=r"In norms: $\|\partial p/\partial q\|\le\|K\|/(2\sqrt{d_k})$, against $\tfrac12\|K\|$ "
    "for scores that are not scaled.",
)  # fmt: skip


def longer_query(i: Any) -> Any:
    """The query times sqrt(d_k), and key i, scaled."""
    return over(total(times(root, query[c], keys[i, c]), c), root)


def prove_absorbed(q: Prover) -> Theorem:
    same = q.equal(
        softmax(longer_query, i), softmax(dot_product, i),
        reason=r"the factor $\sqrt{d_k}$ leaves every sum of products and cancels: the scores are "
        "the same",
    )  # fmt: skip
    return q.for_all(same, i)


def twin_absorbed(
    rng: np.random.Generator, longer_by: Callable[[int], float] = np.sqrt
) -> list[Trial]:
    from numeric import attention_weights
    from numeric import softmax as soft

    out = []
    for rows, size, width in ((3, 5, 4), (2, 1, 7), (1, 6, 1)):
        query, key = rng.standard_normal((rows, width)), rng.standard_normal((size, width))
        longer = attention_weights(longer_by(width) * query, key)
        out.append(agree(longer, soft(query @ key.T), f"d_k={width}"))
        if size > 1 and width > 1:
            out.append(differs(attention_weights(query, key), longer, by=1e-9, what="as it is"))
    return out


def absorbed_mutations() -> tuple[Mutation, ...]:
    unchanged = equal(softmax(attention_score, i), softmax(dot_product, i))
    return (
        Mutation(
            "the queries stay as they are",
            statement=forall(i, unchanged),
            counterexample=Example({
                m: 2, d_k: 4, query: [T.fn("log", T.num(2)), 0, 0, 0],
                keys: [[0, 0, 0, 0], [4, 0, 0, 0]],
            }),
            twin=Twin(
                "attention weights of the same queries against unscaled scores",
                lambda rng: twin_absorbed(rng, lambda _: 1.0),
            ),
        ),
        Mutation(
            "the queries are longer by $d_k$ in place of its root",
            twin=Twin(
                "attention weights of queries that are too long",
                lambda rng: twin_absorbed(rng, lambda width: width),
            ),
        ),
    )  # fmt: skip


ABSORBED = Claim(
    id="softmax/absorbed-factor",
    title="The factor can be absorbed into the projection of the queries",
    source=Source(
        INTERVIEW, ("B01b",),
        r"$1/\sqrt{d_k}$ is there for the gradients: not for what can be expressed, since queries "
        r"that are longer by a factor $\sqrt{d_k}$ undo it.",
    ),
    statement=forall(i, equal(softmax(longer_query, i), softmax(dot_product, i))),
    proof=prove_absorbed,
    twin=Twin("attention weights of longer queries against unscaled scores", twin_absorbed),
    mutations=absorbed_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip


# ---------------------------------------------------------------------- the shape of the keys

leading = natural("b")
shape = tensor("shape", leading + 2)
LAST_AXIS = Given(
    equal(shape[leading + 1], d_k),
    "what $d_k$ is: the number of components of a key, which stand on the last axis",
)
KEY_AXIS = Given(
    equal(shape[leading], m),
    "what $m$ is: the number of keys, which stand on the axis before the last",
)
MATRIX = Given(equal(leading, 0), "the note speaks of a matrix: no axes in front")


def on_axis(q: Prover, there: Theorem, none_in_front: Theorem, axis: int, size: Any) -> Theorem:
    """shape_axis = size, from what is known of axis b + axis, and b = 0."""
    value = q.term(size)

    def entry(x: Any) -> Any:
        return T.eq(T.apply("shape", T.add(x, T.num(axis)) if axis else x), value)

    moved = q.rewrite(none_in_front, there, entry)
    return q.equal(shape[axis], size, moved, reason=f"without axes in front it is axis {axis}")


def key_shapes(rng: np.random.Generator) -> list[tuple[int, ...]]:
    """Shapes of keys with up to two axes in front, no two sizes alike."""
    return [tuple(rng.permutation([2, 3, 5, 7])[:axes].tolist()) for axes in (2, 2, 2, 3, 3, 4)]


def twin_columns(rng: np.random.Generator) -> list[Trial]:
    """The squared divisor of attention against shape[1], for matrices and with axes in front."""
    out = []
    for sizes in key_shapes(rng):
        found = squared_divisor(rng.uniform(1, 2, sizes))
        out.append(agree(found, sizes[-1], f"last axis of {sizes}"))
        if len(sizes) == 2:
            out.append(agree(found, sizes[1], f"axis 1 of {sizes}"))
        else:
            out.append(differs(found, sizes[1], by=0.5, what=f"axis 1 of {sizes}"))
    return out


def squared_divisor(keys: Any) -> float:
    """By what attention divides the products of one query and the keys, squared."""
    from numeric import scaled_scores

    ones = np.ones((*keys.shape[:-2], 1, keys.shape[-1]))
    products = ones @ np.swapaxes(keys, -1, -2)
    return float(np.mean(products / scaled_scores(ones, keys)) ** 2)


def columns_mutations() -> tuple[Mutation, ...]:
    def second_axis(rng: np.random.Generator) -> list[Trial]:
        keys = [rng.uniform(1, 2, sizes) for sizes in key_shapes(rng)]
        return [agree(squared_divisor(k), k.shape[1], f"axis 1 of {k.shape}") for k in keys]

    return (
        Mutation(
            "`shape[1]` is used for keys with a sequence or head axis in front",
            given=(LAST_AXIS,),
            counterexample=COLUMNS.added[0].counterexample,
            twin=Twin("the divisor that attention uses against axis 1", second_axis),
        ),
        Mutation(
            "`shape[0]` is taken for the width of a key",
            statement=equal(shape[0], d_k),
            counterexample=COLUMNS.witness,
        ),
    )


COLUMNS = Claim(
    id="softmax/columns",
    title="The second axis is the width of a key only where keys are a matrix",
    source=Source(
        INTERVIEW, ("B02",),
        "What is divided by is the dimension of the key matrix, in code `k.shape[1]`, its number "
        "of columns. The code is missing; keys there usually carry axes for sequences and heads.",
    ),
    statement=equal(shape[1], d_k),
    given=(LAST_AXIS,),
    added=(
        Added(
            MATRIX.formula, Example({leading: 1, shape: [2, 7, 16], d_k: 16}),
            "no axes in front of the two of a matrix",
        ),
    ),
    witness=Example({leading: 0, shape: [7, 16], d_k: 16}),
    proof=lambda q: on_axis(q, q.hyp(0), q.hyp(1), 1, d_k),
    twin=Twin("the divisor that attention uses against axis 1 of the keys", twin_columns),
    mutations=columns_mutations,
    expected=Verdict.CONDITIONAL,
    remark="With a sequence axis in front, `shape[1]` is the number of keys: the divisor would be "
    r"$\sqrt m$. `k.shape[-1]` is right for any number of axes.",
)  # fmt: skip


def prove_rows(q: Prover) -> Theorem:
    row_axis = on_axis(q, q.hyp(0), q.hyp(2), 0, m)
    return q.both(row_axis, on_axis(q, q.hyp(1), q.hyp(2), 1, d_k))


def twin_rows(rng: np.random.Generator, row_axis: int = 0) -> list[Trial]:
    """Rows and columns of keys, from the shapes of what attention makes of them."""
    from numeric import attention_weights, scaled_scores_vjp

    out = []
    for size, width in ((7, 16), (3, 2), (1, 5), (4, 1)):
        query, key = rng.standard_normal((6, width)), rng.standard_normal((size, width))
        weight = attention_weights(query, key)
        _, gradient = scaled_scores_vjp(query, key, np.ones((6, size)))
        out += [
            agree(weight.shape[-1], key.shape[row_axis], "a weight for every row"),
            agree(gradient.shape, (size, width), "a gradient for every entry"),
            agree(squared_divisor(key), key.shape[1 - row_axis], "columns"),
        ]
    return out


def rows_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "rows and columns are exchanged",
            statement=both(equal(shape[1], m), equal(shape[0], d_k)),
            counterexample=Example({leading: 0, shape: [7, 16], m: 7, d_k: 16}),
            twin=Twin(
                "shapes of attention weights, and the divisor, by the other axis",
                lambda rng: twin_rows(rng, row_axis=1),
            ),
        ),
    )


ROWS = Claim(
    id="softmax/rows-and-columns",
    title="Rows and columns of a matrix of keys",
    source=Source(
        INTERVIEW, ("B03",),
        "For the matrix of keys, `k.shape[0]` is the number of rows and `k.shape[1]` the number of "
        "columns.",
    ),
    statement=both(equal(shape[0], m), equal(shape[1], d_k)),
    given=(KEY_AXIS, LAST_AXIS, MATRIX),
    proof=prove_rows,
    twin=Twin("shapes of attention weights and gradients, and the divisor", twin_rows),
    mutations=rows_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip


# ---------------------------------------------------------------------- not linear

y = tensor("y", m)
factor = real("c")
NONLINEAR = "Softmax brings a non-linear transformation into attention."


def other_score(i: Any) -> Any:
    return y[i]


additive = forall(
    [z, y],
    forall(
        i,
        equal(
            softmax(lambda i: plus(z[i], y[i]), i),
            plus(softmax(score, i), softmax(other_score, i)),
        ),
    ),
)
homogeneous = forall(
    [factor, z],
    forall(i, equal(softmax(lambda i: times(factor, z[i]), i), times(factor, softmax(score, i)))),
)
ZEROS = Lam(1, T.ZERO)


def prove_not_linear(q: Prover) -> Theorem:
    first, second = q.formula(negation(additive)), q.formula(negation(homogeneous))
    return q.both(
        q.note(
            not_for_all(q, first, ZEROS, ZEROS, T.ZERO),
            r"take zero vectors: all three entries are $1/m$, and $1/m\ne2/m$",
        ),
        q.note(
            not_for_all(q, second, T.num(2), ZEROS, T.ZERO),
            r"take the factor 2 and the zero vector: $1/m\ne2/m$",
        ),
    )


def twin_not_linear(rng: np.random.Generator) -> list[Trial]:
    from numeric import softmax as soft

    out = []
    for size in (1, 2, 5):
        first, second = rng.standard_normal((2, size))
        out += [
            differs(soft(first + second), soft(first) + soft(second), by=0.1, what="sum"),
            differs(soft(2 * first), 2 * soft(first), by=0.1, what="multiple"),
            agree(soft(np.zeros(size)), np.full(size, 1 / size), "at 0"),
        ]
    return out


def not_linear_mutations() -> tuple[Mutation, ...]:
    def doubled(rng: np.random.Generator) -> list[Trial]:
        from numeric import softmax as soft

        drawn = [rng.standard_normal(size) for size in (1, 2, 5)]
        return [agree(soft(2 * x), 2 * soft(x), f"m={len(x)}") for x in drawn]

    def zeros(*values: Lam | Term) -> Example:
        return Example({}, lambda q, target: not_for_all(q, target, *values))

    return (
        Mutation(
            "softmax of twice the scores is taken for twice the softmax",
            statement=homogeneous,
            counterexample=zeros(T.num(2), ZEROS, T.ZERO),
            twin=Twin("softmax of doubled scores", doubled),
        ),
        Mutation(
            "softmax of a sum is taken for the sum",
            statement=additive,
            counterexample=zeros(ZEROS, ZEROS, T.ZERO),
        ),
    )


NOT_LINEAR = Claim(
    id="softmax/not-linear",
    title="Softmax is neither additive nor homogeneous",
    source=Source(INTERVIEW, ("B15",), NONLINEAR),
    statement=both(negation(additive), negation(homogeneous)),
    proof=prove_not_linear,
    twin=Twin("softmax of sums and multiples", twin_not_linear),
    mutations=not_linear_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip

middle = forall(
    [z, y],
    forall(
        i,
        equal(
            softmax(lambda i: times(half, plus(z[i], y[i])), i),
            times(half, plus(softmax(score, i), softmax(other_score, i))),
        ),
    ),
)


def prove_not_affine(q: Prover) -> Theorem:
    """z = 0 and y = 2 log m at position 0: m/(2m-1) is not the mean of 1/m and m^2/(m^2+m-1)."""
    goal = q.formula(negation(middle))
    peak = q.term(times(2, sp.log(m), delta(0, i)))
    values = (ZEROS, Lam(1, T.abstract(peak, (q.term(i),))), T.ZERO)
    supposed = goal.children[0]
    for value in values:
        supposed = T.instantiate(supposed.children[-1], (value,))

    def then(two: Theorem) -> Theorem:
        above = q.order(less(0, m - 1), (1, two))
        cube = q.order(
            less(0, power(m - 1, 3)), (1, above, above, above), reason="so this is positive"
        )
        with q.supposing(supposed) as case:
            absurd = infer(
                "contradiction", [_cube_vanishes(q, case), infer("apart", [cube])],
                T.negate(supposed),
            )  # fmt: skip
        failing = infer("deny", [absurd], supposed)
        return q.note(fails_at(goal, failing, *values), r"both cannot be, so the two values differ")

    return under(q, at_most(2, m), ["suppose at least two scores"], then)


def _cube_vanishes(q: Prover, supposed: Theorem) -> Theorem:
    """0 = (m - 1)^3, from the equation at the two points."""
    double, triple = 2 * m - 1, power(m, 2) + m - 1
    at_middle = _sum_with_peak(q, supposed.conclusion.children[0], sp.log(m), double)
    at_end = _sum_with_peak(q, supposed.conclusion.children[1], times(2, sp.log(m)), triple)
    means = q.equal(
        over(m, double), times(half, plus(over(1, m), over(power(m, 2), triple))),
        put_in(q, supposed, at_middle, at_end),
        reason=r"suppose that the middle value is the mean, with scores 0 at one end and "
        r"$(2\log m,0,\dots,0)$ at the other",
    )  # fmt: skip
    return q.equal(
        0, power(m - 1, 3), (times(-2, m, double, triple), means),
        (times(2, power(m, 2), triple), q.cancel(double)),
        (times(-1, power(m, 3), double), q.cancel(triple)),
        reason="multiply by all denominators",
    )  # fmt: skip


def _sum_with_peak(q: Prover, side: Term, height: Any, value: Any) -> Theorem:
    """The sum of exponentials in `side` is `value`: all scores are 0 but one."""
    bottom = [x for x in T.subterms(side) if x.op == "sum"][-1]
    peak = q.at(spike(q, height), T.ZERO)
    return q.equal(bottom, value, (1, q.sum_equal(peak, j)), show=False)


def twin_not_affine(rng: np.random.Generator) -> list[Trial]:
    from numeric import softmax as soft

    out = []
    for size in (2, 3, 7):
        end = np.zeros(size)
        end[0] = 2 * np.log(size)
        gap = soft(end / 2) - (soft(np.zeros(size)) + soft(end)) / 2
        below = 2 * size * (2 * size - 1) * (size**2 + size - 1)
        out.append(agree(gap[0], (size - 1) ** 3 / below, f"gap at the middle, m={size}"))
        out.append(differs(gap[0], 0.0, by=0.01, what=f"m={size}"))
    out.append(agree(soft([3.0]), (soft([0.0]) + soft([6.0])) / 2, "one score"))
    return out


NOT_AFFINE = Claim(
    id="softmax/not-affine",
    title="Softmax is not linear, even with a constant added",
    source=Source(
        INTERVIEW, ("B15",),
        f"{NONLINEAR} Beyond the note: a linear map plus a constant would also send 0 to "
        "something else; with at least two scores softmax is not of that form, either.",
    ),
    statement=implies(at_most(2, m), negation(middle)),
    proof=prove_not_affine,
    twin=Twin("softmax half-way between two vectors of scores", twin_not_affine),
    expected=Verdict.PROVED,
    remark="For a single score softmax is the constant 1.",
)  # fmt: skip

same_weights = forall(i, equal(softmax(score, i), softmax(other_score, i)))
shifted = exists(factor, forall(i, equal(z[i], plus(y[i], factor))))


def prove_shift(q: Prover) -> Theorem:
    top, bottom = total(sp.exp(z[u]), u), total(sp.exp(y[u]), u)
    ratio = over(top, bottom)

    def there(same: Theorem) -> Theorem:
        left = q.term(sp.exp(z[i]))
        proportional = q.equal(
            left, times(sp.exp(y[i]), ratio),
            (top, q.at(same, i)), (T.neg(left), q.cancel(top)),
            reason="multiply by the first denominator",
        )  # fmt: skip
        logs = q.rewrite(
            proportional, q.equal(T.fn("log", left), T.fn("log", left), show=False),
            lambda x: T.eq(T.fn("log", left), T.fn("log", x)),
        )  # fmt: skip
        product = infer(
            "modus-ponens",
            [
                q.axiom("log-product", sp.exp(y[i]), ratio),
                q.both(q.trivial(less(0, sp.exp(y[i]))), q.trivial(less(0, ratio))),
            ],
        )
        constant = q.equal(
            z[i], plus(y[i], sp.log(ratio)), (1, logs), (1, product), reason="take logarithms"
        )
        return q.note(
            q.exists(shifted, sp.log(ratio), q.for_all(constant, i)),
            "the difference does not depend on $s$",
        )

    def back(some: Theorem) -> Theorem:
        def then(difference: Theorem) -> Theorem:
            q.note(difference, "let $c$ be that constant")
            first = _same_scores(q, difference)
            second = shift_cancels(q, other_score, factor, i)
            both_ways = q.equal(
                softmax(score, i), softmax(other_score, i), (1, first), (1, second), show=False
            )
            return q.for_all(both_ways, i)

        return q.choose(some, factor, then)

    return q.both(
        q.suppose(same_weights, there, "suppose the same weights"),
        q.suppose(shifted, back, "conversely, suppose a common difference"),
    )


def _same_scores(q: Prover, difference: Theorem) -> Theorem:
    """softmax(z)_i = softmax(y + c)_i, from z_i = y_i + c for every i."""
    shifted_score = lambda i: plus(y[i], factor)  # noqa: E731
    power_j = q.term(sp.exp(z[j]))
    powers = q.rewrite(
        q.at(difference, j), q.equal(power_j, power_j, show=False),
        lambda x: T.eq(power_j, T.fn("exp", x)),
    )  # fmt: skip
    left = q.term(softmax(score, i))
    proved = put_in(
        q, q.equal(left, left, show=False), q.sum_equal(powers, j), q.at(q.for_all(powers, j), i),
        right_only=True,
    )  # fmt: skip
    return q.equal(left, softmax(shifted_score, i), (1, proved), reason="insert the scores")


def twin_shift(rng: np.random.Generator, common: bool = True) -> list[Trial]:
    from numeric import softmax as soft

    out = []
    for scores in rows(rng):
        offset = rng.uniform(-5, 5, None if common else len(scores))
        out.append(agree(soft(scores + offset), soft(scores), f"m={len(scores)}"))
        recovered = np.log(soft(scores))
        out.append(agree(recovered - recovered[0], scores - scores[0], "logarithms", 1e-9))
    return out


def shift_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "every score may be shifted by a constant of its own",
            statement=same_weights,
            counterexample=Example({m: 2, z: [0, 0], y: [0, T.fn("log", T.num(2))]}),
            twin=Twin(
                "softmax of scores that are shifted one by one",
                lambda rng: twin_shift(rng, common=False),
            ),
        ),
    )


SHIFT = Claim(
    id="softmax/shift",
    title="Softmax forgets a common constant, and nothing else",
    source=Source(
        INTERVIEW, ("B15",),
        f"{NONLINEAR} Beyond the note: weights fix the scores up to a common constant.",
    ),
    statement=iff(same_weights, shifted),
    proof=prove_shift,
    twin=Twin("softmax of shifted scores, and scores recovered by logarithms", twin_shift),
    mutations=shift_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip


# ---------------------------------------------------------------------- a matrix of probabilities

scores, A = tensor("S", n, m), tensor("A", n, m)
PROBABILITIES = (
    "The result of the softmax is a matrix of probabilities, by which the values are multiplied."
)


def row_score(t: Any) -> Callable[[Any], Any]:
    return lambda i: scores[t, i]


def row_weight(t: Any) -> Callable[[Any], Any]:
    return lambda i: A[t, i]


ROW_WISE = Given(
    forall(t, weights(row_weight(t), row_score(t))),
    "the softmax is taken over the keys, one query at a time",
)


def row_facts(q: Prover) -> tuple[Theorem, Theorem]:
    return distribution(q, q.at(q.hyp(0), t), row_weight(t), row_score(t))


def prove_stochastic(q: Prover) -> Theorem:
    positive, one = row_facts(q)
    return q.both(q.for_all(positive, t), q.for_all(one, t))


def matrices(rng: np.random.Generator) -> list[Any]:
    """Scores of several queries and keys."""
    return [4 * rng.standard_normal(size) for size in ((3, 5), (4, 2), (1, 6), (5, 1), (1, 1))]


def twin_stochastic(
    rng: np.random.Generator, normalised: Callable[[Any], Any] | None = None
) -> list[Trial]:
    from numeric import softmax as soft

    out = []
    for score in matrices(rng):
        weight = (normalised or soft)(score)
        out += [
            no_more(1e-300, weight.min(), "positive"),
            agree(weight.sum(axis=1), np.ones(len(score)), "row sums"),
        ]
    return out


def over_the_queries(scores: Any) -> Any:
    """Softmax along the wrong axis."""
    from numeric import softmax as soft

    return soft(scores.T).T


OVER_QUERIES = Given(
    forall([t, i], equal(A[t, i], over(sp.exp(scores[t, i]), total(sp.exp(scores[r, i]), r)))),
    "the softmax is taken over the queries",
)


def stochastic_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "softmax runs over the queries, `axis=0`",
            given=(OVER_QUERIES,),
            counterexample=Example({m: 1, n: 2, scores: [[0], [0]]}),
            twin=Twin(
                "row sums of weights that are normalised by column",
                lambda rng: twin_stochastic(rng, over_the_queries),
            ),
        ),
        Mutation(
            "columns are said to sum to 1",
            statement=forall(i, equal(total(A[t, i], t), 1)),
            counterexample=Example({m: 1, n: 2, scores: [[0], [0]]}),
        ),
    )


STOCHASTIC = Claim(
    id="softmax/probability-matrix",
    title="Attention weights form a row-stochastic matrix",
    source=Source(INTERVIEW, ("B16",), PROBABILITIES),
    statement=both(
        forall([t, i], less(0, A[t, i])), forall(t, equal(total(A[t, i], i), 1))
    ),
    given=(ROW_WISE,),
    proof=prove_stochastic,
    twin=Twin("signs and row sums of attention weights", twin_stochastic),
    mutations=stochastic_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip


def prove_inside(q: Prover) -> Theorem:
    positive, one = row_facts(q)
    left = left_for_others(q, positive, one, row_weight(t))

    def then(two: Theorem) -> Theorem:
        goal = less(A[t, i], 1)

        def leaves(other: int, apart: Theorem, reason: str) -> Theorem:
            """A_ti < 1, since there is a position `other` with delta(i, other) = 0."""
            return q.order(
                goal, (1, q.at(left, i, other)), (1, q.at(positive, other)),
                (times(-1, A[t, i]), apart), reason=reason,
            )  # fmt: skip

        first = T.eq(T.ZERO, q.term(i))
        bound = q.cases(
            infer("excluded-middle", [], first),
            lambda case: leaves(
                1, _apart_from_one(q, case), "for the first key, by the weight of the second"
            ),
            lambda case: leaves(
                0, _apart_from_zero(q, case), "for every other key, by the weight of the first"
            ),
        )
        return q.for_all(bound, t, i)

    return under(q, at_most(2, m), ["suppose at least two keys"], then)


def _apart_from_one(q: Prover, zero: Theorem) -> Theorem:
    """delta(i, 1) = 0, from 0 = i."""
    at_zero = q.trivial(T.eq(T.delta(T.ZERO, T.ONE), T.ZERO))
    return q.rewrite(zero, at_zero, lambda x: T.eq(T.delta(x, T.ONE), T.ZERO))


def _apart_from_zero(q: Prover, nonzero: Theorem) -> Theorem:
    """delta(0, i) = 0, from not 0 = i."""
    return q.mp(q.at(no_delta_ever(q), T.ZERO, i), nonzero)


def twin_inside(rng: np.random.Generator) -> list[Trial]:
    from numeric import softmax as soft

    out = [agree(soft([[3.0]]), [[1.0]], "one key")]
    for score in matrices(rng):
        if score.shape[1] > 1:
            weight = soft(score)
            out.append(no_more(weight.max(), 1 - weight.min() / 2, "below 1"))
    return out


def inside_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "a single key is allowed, which takes all the weight",
            statement=forall([t, i], less(A[t, i], 1)),
            counterexample=Example({m: 1, n: 1, scores: [[0]]}),
        ),
    )


INSIDE = Claim(
    id="softmax/below-one",
    title="With two keys or more, no query attends to one key alone",
    source=Source(
        INTERVIEW, ("B16",),
        f"{PROBABILITIES} Beyond the note: none of them is 0 or, with two keys or more, 1.",
    ),
    statement=implies(at_most(2, m), forall([t, i], less(A[t, i], 1))),
    given=(ROW_WISE,),
    proof=prove_inside,
    twin=Twin("largest attention weights", twin_inside),
    mutations=inside_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip

by_column = forall(i, equal(total(A[t, i], t), 1))


def prove_by_column(q: Prover) -> Theorem:
    one = sum_of_weights(q, q.at(q.hyp(0), t), row_weight(t), row_score(t))
    each = q.for_all(one, t)
    everything = q.equal(
        total(A[t, i], i, t), n, each, reason="add the rows first: $n$ rows that sum to 1"
    )

    def then(columns: Theorem) -> Theorem:
        return q.equal(
            n, m, (-1, everything), (1, q.sum_equal(columns, i)),
            reason="add the columns first: $m$ columns that sum to 1",
        )  # fmt: skip

    return q.both(everything, q.suppose(by_column, then, "suppose that columns sum to 1, too"))


def twin_by_column(rng: np.random.Generator) -> list[Trial]:
    from numeric import softmax as soft

    out = []
    for score in matrices(rng):
        sums = soft(score).sum(axis=0)
        out.append(agree(sums.sum(), len(score), "all column sums"))
        if score.shape[0] != score.shape[1]:
            out.append(differs(sums, np.ones_like(sums), by=1e-9, what="columns"))
    square = soft(3 * rng.standard_normal((4, 4)))
    return [*out, differs(square.sum(axis=0), np.ones(4), by=1e-9, what="columns, n=m")]


def by_column_mutations() -> tuple[Mutation, ...]:
    def doubly(rng: np.random.Generator) -> list[Trial]:
        from numeric import softmax as soft

        sums = [soft(score).sum(axis=0) for score in matrices(rng)]
        return [agree(x, np.ones(len(x)), f"m={len(x)}") for x in sums]

    return (
        Mutation(
            "the weights are taken for doubly stochastic",
            statement=by_column,
            counterexample=Example({m: 2, n: 1, scores: [[0, 0]]}),
            twin=Twin("column sums of attention weights against 1", doubly),
        ),
    )


BY_COLUMN = Claim(
    id="softmax/column-sums",
    title="Columns of attention weights sum to the number of queries over all keys",
    source=Source(
        INTERVIEW, ("B16",),
        f"{PROBABILITIES} Beyond the note: columns can sum to 1, too, only if there are as many "
        "keys as queries.",
    ),
    statement=both(
        equal(total(A[t, i], i, t), n), implies(by_column, equal(n, m))
    ),
    given=(ROW_WISE,),
    proof=prove_by_column,
    twin=Twin("column sums of attention weights", twin_by_column),
    mutations=by_column_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip


# ---------------------------------------------------------------------- biases


def with_key_bias(i: Any) -> Any:
    return over(total(times(query[c], plus(keys[i, c], bias[c])), c), root)


def with_query_bias(i: Any) -> Any:
    return over(total(times(plus(query[c], bias[c]), keys[i, c]), c), root)


def bias_score(i: Any) -> Any:
    return over(total(times(bias[c], keys[i, c]), c), root)


def prove_key_bias(q: Prover) -> Theorem:
    constant = over(total(times(query[c], bias[c]), c), root)
    split = lambda i: plus(attention_score(i), constant)  # noqa: E731
    first = q.equal(
        softmax(with_key_bias, i), softmax(split, i),
        reason="multiply out: the bias adds the same number to the scores of all keys",
    )  # fmt: skip
    second = shift_cancels(q, attention_score, constant, i)
    both_ways = q.equal(
        softmax(with_key_bias, i), softmax(attention_score, i), (1, first), (1, second), show=False
    )
    return q.for_all(both_ways, i)


def heads(rng: np.random.Generator) -> list[tuple[Any, Any, Any]]:
    """One query, keys and a bias."""
    sizes = ((5, 3), (2, 4), (1, 6), (7, 1))
    return [
        (rng.standard_normal((1, width)), rng.standard_normal((size, width)),
         rng.standard_normal(width))
        for size, width in sizes
    ]  # fmt: skip


def twin_key_bias(rng: np.random.Generator, on_queries: bool = False) -> list[Trial]:
    from numeric import attention_weights

    out = []
    for row, key, offset in heads(rng):
        moved = (row + offset, key) if on_queries else (row, key + offset)
        out.append(agree(attention_weights(*moved), attention_weights(row, key), f"m={len(key)}"))
    return out


def key_bias_mutations() -> tuple[Mutation, ...]:
    unmoved = equal(with_key_bias(i), attention_score(i))
    return (
        Mutation(
            "the bias is added to the queries",
            twin=Twin(
                "attention weights with and without a bias of the queries",
                lambda rng: twin_key_bias(rng, on_queries=True),
            ),
        ),
        Mutation(
            "the scores themselves are taken to stay",
            statement=forall(i, unmoved),
            counterexample=Example({m: 1, d_k: 1, query: [1], keys: [[0]], bias: [1]}),
        ),
    )


KEY_BIAS = Claim(
    id="softmax/key-bias",
    title="A bias of the keys has no effect on attention weights",
    source=Source(
        INTERVIEW, ("B16",),
        f"{PROBABILITIES} Beyond the note: a bias of the keys changes none of them.",
    ),
    statement=forall(i, equal(softmax(with_key_bias, i), softmax(attention_score, i))),
    proof=prove_key_bias,
    twin=Twin("attention weights with and without a bias of the keys", twin_key_bias),
    mutations=key_bias_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip

rest_of_weights = total(times(p[j], sp.exp(bias_score(j))), j)
reweighted = forall(
    i,
    equal(times(softmax(with_query_bias, i), rest_of_weights), times(p[i], sp.exp(bias_score(i)))),
)


def prove_query_bias(q: Prover) -> Theorem:
    definition = q.hyp(0)
    before, after = (total(sp.exp(z(u)), u) for z in (attention_score, with_query_bias))
    top = sp.exp(with_query_bias(i))
    rest = q.equal(
        rest_of_weights, over(after, before), definition,
        reason="insert the weights without bias; exponents add",
    )  # fmt: skip
    product = q.equal(
        times(softmax(with_query_bias, i), rest_of_weights), times(p[i], sp.exp(bias_score(i))),
        (over(top, after), rest), (over(top, before), q.cancel(after)),
        (-sp.exp(bias_score(i)), q.at(definition, i)),
        reason=r"multiply; the weight without bias is $\exp(\sum_c q_c K_{sc}/\sqrt{d_k})$ over "
               "the denominator without bias",
    )  # fmt: skip
    return q.for_all(product, i)


def twin_query_bias(rng: np.random.Generator) -> list[Trial]:
    from numeric import attention_weights

    out = []
    for row, key, offset in heads(rng):
        plain, moved = attention_weights(row, key), attention_weights(row + offset, key)
        factors = plain * np.exp(key @ offset / key.shape[1] ** 0.5)
        out.append(agree(moved, factors / factors.sum(), f"m={len(key)}"))
        if len(key) > 1:
            out.append(differs(moved, plain, by=1e-6, what=f"m={len(key)}"))
    moved = attention_weights([[np.log(2)]], np.array([[0.0], [1.0]]))
    out.append(agree(moved, [[1 / 3, 2 / 3]], "the counterexample"))
    return out


QUERY_BIAS = Claim(
    id="softmax/query-bias",
    title="A bias of the queries has no effect on attention weights",
    source=Source(
        INTERVIEW, ("B16",),
        f"{PROBABILITIES} Biases are not mentioned; this is the statement about the bias of the "
        "keys, made for that of the queries.",
    ),
    statement=forall(i, equal(softmax(with_query_bias, i), softmax(attention_score, i))),
    counterexample=Example(
        {m: 2, d_k: 1, query: [0], bias: [T.fn("log", T.num(2))], keys: [[0], [1]]}
    ),
    correction=Correction(reweighted, prove_query_bias, (ATTENTION,)),
    twin=Twin("attention weights with and without a bias of the queries", twin_query_bias),
    expected=Verdict.REFUTED,
    remark=r"Key $s$ gets the factor $\exp(\sum_c b_c K_{sc}/\sqrt{d_k})$, whatever the query is.",
)  # fmt: skip

CLAIMS = (
    DERIVATIVE, VJP, SUMS, ENTRIES, VARIANCE, NORM, ATTAINED, SCALE, VANISHING, LIMIT, TIE_STAYS,
    THROUGH,
    NO_EXPLOSION, ABSORBED, COLUMNS, ROWS, NOT_LINEAR, NOT_AFFINE, SHIFT, STOCHASTIC, INSIDE,
    BY_COLUMN, KEY_BIAS, QUERY_BIAS,
)  # fmt: skip

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
