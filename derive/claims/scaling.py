r"""Scaling: what dividing the dot product by ``sqrt(d_k)`` does to its variance.

The interview note says that the factor keeps dot products in a controllable range, and a few lines
later that it is a division by the dimension.  Neither sentence names an assumption on queries and
keys.  Here they are random vectors.

What holds for all random vectors (with finite moments) is written with the expectation ``E``, a
linear functional of which nothing else is known.  What needs conditions, and what fails, is
written over a finite probability space instead: outcomes with probabilities ``P``, and one row of
`q` and of `k` for each outcome; ``E_P`` is the mean over the outcomes.  There a counterexample is
a table that anyone can check.  Nothing is lost: only finitely many moments occur, and those of any
random vector are also those of one with finitely many values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product as all_of
from typing import Any

import numpy as np
import sympy as sp

from derive.claim import Added, Claim, Correction, Example, Mutation
from derive.claims import INTERVIEW
from derive.claims._outcomes import counted, outcomes
from derive.kernel import terms as T
from derive.kernel.rules import Theorem
from derive.language import (
    Expectation,
    at_most,
    both,
    dims,
    either,
    equal,
    forall,
    iff,
    implies,
    index,
    less,
    minus,
    over,
    plus,
    power,
    random_tensor,
    real,
    tensor,
    times,
    total,
    variance,
)
from derive.prover import Prover
from derive.result import Source, Verdict
from derive.twin import Trial, Twin, differs, sampled
from derive.twin import equal as agree

ORDER = 50
TOPIC = "scaling"

E = Expectation
d, h, d_k, N = dims("d_model h d_k N")
a, b = index("a", d), index("b", d)
c, e = index("c", d_k), index("e", d_k)
root = sp.sqrt(d_k)

NOTHING_SAID = (
    r"The factor $1/\sqrt{d_k}$ is there to keep the dot products in a controllable range. What "
    "is random, and how it is distributed, is not said."
)


# ---------------------------------------------------------------------- all random vectors

q, k = random_tensor("q", d_k), random_tensor("k", d_k)
dot = total(times(q[c], k[c]), c)


def qq(c: Any, e: Any) -> Any:
    return E(times(q[c], q[e]))


def kk(c: Any, e: Any) -> Any:
    return E(times(k[c], k[e]))


def four(c: Any, e: Any) -> Any:
    return E(times(q[c], q[e], k[c], k[e]))


def covariance(x: Any, c: Any, e: Any) -> Any:
    return plus(E(times(x[c], x[e])), times(-1, E(x[c]), E(x[e])))


def white(x: Any) -> Any:
    """E[x_c x_e] is 1 for c = e and 0 otherwise."""
    return forall([c, e], equal(E(times(x[c], x[e])), sp.KroneckerDelta(c, e)))


def centred(x: Any) -> Any:
    return forall(c, equal(E(x[c]), 0))


#: Independence of q and k, as far as it matters: components, and products of two components.
uncorrelated = forall(c, equal(E(times(q[c], k[c])), times(E(q[c]), E(k[c]))))
factorising = forall([c, e], equal(four(c, e), times(qq(c, e), kk(c, e))))


def under(p: Prover, assumed: Any, reasons: Sequence[str], then: Callable[..., Theorem]) -> Theorem:
    """assumed -> what `then` proves from its parts, which are shown with their reasons."""
    with p.supposing(assumed) as case:
        parts = [p.part(case, i) for i in range(len(reasons))]
        for part, reason in zip(parts, reasons, strict=True):
            p.note(part, reason)
        proved = then(*parts)
    return p.discharge(proved, case)


INDEPENDENT = (
    "assumption: components of $q$ and $k$ are uncorrelated",
    "assumption: so are products of two components",
)


def diagonal(p: Prover, moments: Theorem) -> Theorem:
    """E[x_c x_c] = value for every c, from the second moments."""
    return p.for_all(p.at(moments, c, c), c)


def mean_of_dot(p: Prover, uncorrelated: Theorem) -> Theorem:
    return p.calc(
        E(dot),
        (total(E(times(q[c], k[c])), c), "the expectation is linear"),
        (total(times(E(q[c]), E(k[c])), c), "components of $q$ and $k$ are uncorrelated",
         uncorrelated),
    )  # fmt: skip


def variance_of_dot(p: Prover, factorising: Theorem) -> Theorem:
    """Var[q.k] by the second moments of q and of k."""
    square_of_mean = times(-1, power(E(dot), 2))
    return p.calc(
        variance(dot),
        (
            plus(E(power(dot, 2)), square_of_mean),
            r"multiply the square out; $\mathbb{E}[q\cdot k]$ is a number and leaves the "
            "expectation",
        ),
        (
            plus(total(four(c, e), c, e), square_of_mean),
            "the square of a sum is a double sum, and the expectation is linear",
        ),
        (
            plus(total(times(qq(c, e), kk(c, e)), c, e), square_of_mean),
            "expectations of products of two components of $q$ and two of $k$ factorise",
            factorising,
        ),
    )


# ---------------------------------------------------------------------- mean and variance

general_variance = total(
    plus(
        times(covariance(q, c, e), covariance(k, c, e)),
        times(E(k[c]), covariance(q, c, e), E(k[e])),
        times(E(q[c]), covariance(k, c, e), E(q[e])),
    ),
    c, e,
)  # fmt: skip


def prove_moments(p: Prover) -> Theorem:
    def then(first: Theorem, fourth: Theorem) -> Theorem:
        mean = mean_of_dot(p, first)
        before = variance_of_dot(p, fourth)
        return p.both(
            mean,
            p.equal(
                variance(dot), general_variance, before, mean,
                reason="write second moments as covariances plus products of means; the product "
                "of all four means is the square of the mean of the dot product, and cancels",
            ),
        )  # fmt: skip

    return under(p, MOMENTS.statement.args[0], INDEPENDENT, then)


def signs_of(rng: np.random.Generator, width: int) -> tuple[list[list[int]], list[list[int]]]:
    """Maps that make q and k, of dependent components each, from separate random signs."""
    half_q, half_k = rng.integers(-3, 4, (2, width, 2)).tolist()
    return [[*row, 0, 0] for row in half_q], [[0, 0, *row] for row in half_k]


def twin_moments(rng: np.random.Generator, with_means: bool = True) -> list[Trial]:
    from numeric import exact_dot_moments, independent_dot_moments

    out = []
    for width in (1, 2, 3, 3, 5):
        map_q, map_k = signs_of(rng, width)
        mean_q, mean_k = rng.integers(-3, 4, (2, width)).tolist()
        exact = exact_dot_moments(map_q, map_k, mean_q, mean_k)
        cov_q, cov_k = (np.array(m) @ np.array(m).T for m in (map_q, map_k))
        means = (mean_q, mean_k) if with_means else (np.zeros(width), np.zeros(width))
        closed = independent_dot_moments(means[0], cov_q, means[1], cov_k)
        out += [
            agree(float(exact.mean), closed.mean, f"mean by enumeration, d_k={width}"),
            agree(float(exact.variance), closed.variance, f"variance by enumeration, d_k={width}"),
        ]
    if with_means:
        for width in (1, 4, 7):
            out += by_sampling(rng, *random_moments(rng, width))
    return out


#: Two independent signs.
SIGNS = list(all_of((1, -1), repeat=2))


#: What is mistaken for the variance, under the same assumptions.
WITHOUT_MEANS = implies(
    both(uncorrelated, factorising),
    equal(variance(dot), total(times(covariance(q, c, e), covariance(k, c, e)), c, e)),
)


def moments_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            r"only $\operatorname{tr}(\Sigma_q\Sigma_k)$ is kept, as if there were no means",
            statement=counted(WITHOUT_MEANS),
            counterexample=outcomes({q: [[1], [1]], k: [[1], [-1]]}, {d_k: 1}),
            twin=Twin(
                "moments of vectors with means against those of vectors without",
                lambda rng: twin_moments(rng, with_means=False),
            ),
        ),
    )


def random_moments(rng: np.random.Generator, width: int) -> tuple[Any, Any, Any, Any]:
    """Means and covariances without special values."""
    factors = rng.standard_normal((2, width, width))
    means = rng.standard_normal((2, width))
    return means[0], factors[0] @ factors[0].T, means[1], factors[1] @ factors[1].T


def by_sampling(
    rng: np.random.Generator, mean_q: Any, cov_q: Any, mean_k: Any, cov_k: Any,
    divisor: float = 1.0, variance: float | None = None,
) -> list[Trial]:  # fmt: skip
    """Moments of sampled dot products, in standard errors from the closed form."""
    from numeric import independent_dot_moments, sample_dot_products, sample_moments

    exact = independent_dot_moments(mean_q, cov_q, mean_k, cov_k)
    values = sample_dot_products(rng, 10_000, mean_q, cov_q, mean_k, cov_k) / divisor
    got = sample_moments(values)
    wanted = exact.variance / divisor**2 if variance is None else variance
    return [
        sampled(got.mean, exact.mean / divisor, got.mean_error, "mean of samples"),
        sampled(got.variance, wanted, got.variance_error, "variance of samples"),
    ]


MOMENTS = Claim(
    id="scaling/moments",
    title="Mean and variance of the dot product of independent random vectors",
    source=Source(
        INTERVIEW, ("B01a",),
        f"{NOTHING_SAID} Beyond the note: what holds for independent $q$ and $k$, whatever their "
        "means and covariances are.",
    ),
    statement=implies(
        both(uncorrelated, factorising),
        both(
            equal(E(dot), total(times(E(q[c]), E(k[c])), c)),
            equal(variance(dot), general_variance),
        ),
    ),
    proof=prove_moments,
    twin=Twin(
        "mean and variance of dot products of vectors of dependent components with means, by "
        "enumeration of signs and by sampling, against traces of NumPy matrices",
        twin_moments, tolerance=1e-9,
    ),
    mutations=moments_mutations,
    expected=Verdict.PROVED,
    remark=r"In matrices: $\operatorname{tr}(\Sigma_q\Sigma_k)+\mu_k^\top\Sigma_q\mu_k"
    r"+\mu_q^\top\Sigma_k\mu_q$. Neither a Gaussian law, nor identical distributions, nor "
    "independence of the components inside a vector is used.",
)  # fmt: skip


# ---------------------------------------------------------------------- one white side is enough

WHITE_KEYS = "assumption: components of the keys are uncorrelated, with mean square 1"

one_side = both(
    uncorrelated, factorising, centred(k), white(k), equal(total(qq(c, c), c), d_k)
)  # fmt: skip


def prove_one_side(p: Prover) -> Theorem:
    def then(
        first: Theorem, fourth: Theorem, mean_k: Theorem, white_k: Theorem, trace: Theorem
    ) -> Theorem:
        mean = p.equal(E(dot), 0, mean_of_dot(p, first), mean_k, reason="the keys have mean zero")
        before = variance_of_dot(p, fourth)
        unscaled = p.calc(
            variance(dot),
            (
                total(times(qq(c, e), sp.KroneckerDelta(c, e)), c, e),
                "insert the mean zero and the second moments of the keys",
                before,
                mean,
                white_k,
            ),
            (total(qq(c, c), c), "only the terms with $e=c$ remain"),
            (d_k, "by the last assumption", trace),
        )
        scaled = p.calc(
            variance(over(dot, root)),
            (
                over(variance(dot), d_k),
                r"the factor $1/\sqrt{d_k}$ is a number and leaves the expectation squared",
            ),
            (1, r"insert the variance", unscaled),
        )
        return p.both(unscaled, scaled)

    reasons = (
        *INDEPENDENT, "assumption: keys of mean zero", WHITE_KEYS,
        "assumption: the expected square norm of the query is $d_k$",
    )  # fmt: skip
    return under(p, one_side, reasons, then)


def twin_one_side(rng: np.random.Generator) -> list[Trial]:
    """White keys against queries that are equal, skewed or of unequal variance."""
    from numeric import exact_dot_moments, rademacher_dot_moments

    out = []
    for width in (1, 2, 3, 4):
        moments = rademacher_dot_moments(width)
        out.append(agree(float(moments.variance), width, f"independent signs, d_k={width}"))
        map_q, map_k = equal_queries(width)
        exact = exact_dot_moments(map_q, map_k)
        out.append(agree(float(exact.variance), width, f"equal query components, d_k={width}"))
    for width in (2, 5):
        factor = rng.standard_normal((width, width))
        cov = factor @ factor.T
        cov *= width / np.trace(cov)
        zero = np.zeros(width)
        out += by_sampling(rng, zero, cov, zero, np.eye(width), width**0.5, variance=1.0)
    return out


def equal_queries(width: int) -> tuple[list[list[int]], list[list[int]]]:
    """One sign in all components of q, and a sign for every component of k."""
    map_q = [[1, *[0] * width] for _ in range(width)]
    return map_q, [[0, *(int(i == j) for j in range(width))] for i in range(width)]


ONE_SIDE = Claim(
    id="scaling/one-white-side",
    title="Assumptions on one side are enough for unit variance",
    source=Source(
        INTERVIEW, ("B01a",),
        f"{NOTHING_SAID} Beyond the note: textbooks assume that all $2 d_k$ components are "
        "independent with mean zero and variance one; less is enough.",
    ),
    statement=implies(
        one_side, both(equal(variance(dot), d_k), equal(variance(over(dot, root)), 1))
    ),
    proof=prove_one_side,
    twin=Twin(
        "variance of the scaled dot product for white keys and dependent query components",
        twin_one_side, tolerance=1e-9,
    ),
    expected=Verdict.PROVED,
    remark="The queries may have any mean, and dependent components of unequal variance.",
)  # fmt: skip


# ---------------------------------------------------------------------- the exact condition

centred_keys = both(uncorrelated, factorising, centred(k))
sum_of_products = total(times(qq(c, e), kk(c, e)), c, e)


def prove_exact_condition(p: Prover) -> Theorem:
    def then(first: Theorem, fourth: Theorem, mean_k: Theorem) -> Theorem:
        mean = p.equal(E(dot), 0, mean_of_dot(p, first), mean_k, reason="the keys have mean zero")
        before = variance_of_dot(p, fourth)
        scaled = p.calc(
            variance(over(dot, root)),
            (
                over(variance(dot), d_k),
                r"the factor $1/\sqrt{d_k}$ is a number and leaves the expectation squared",
            ),
            (over(sum_of_products, d_k), "insert the variance, with mean zero", before, mean),
        )
        there = p.suppose(
            equal(variance(over(dot, root)), 1),
            lambda one: p.equal(
                sum_of_products, d_k, (times(-1, d_k), scaled), (d_k, one),
                reason="multiply both sides by $d_k$",
            ),
            "suppose that the scaled variance is 1",
        )  # fmt: skip
        back = p.suppose(
            equal(sum_of_products, d_k),
            lambda trace: p.equal(
                variance(over(dot, root)), 1, scaled, trace, reason=r"$d_k/d_k=1$"
            ),
            "conversely, suppose that the sum of products is $d_k$",
        )
        return p.both(there, back)

    reasons = (*INDEPENDENT, "assumption: keys of mean zero")
    return under(p, centred_keys, reasons, then)


def twin_exact_condition(rng: np.random.Generator) -> list[Trial]:
    out = []
    for width in (2, 5):
        mean = np.zeros(width)
        _, cov_q, _, cov_k = random_moments(rng, width)
        cov_q *= width / np.trace(cov_q @ cov_k)
        out += by_sampling(rng, mean, cov_q, mean, cov_k, width**0.5, variance=1.0)
        off = by_sampling(rng, mean, 2 * cov_q, mean, cov_k, width**0.5, variance=1.0)[1]
        out.append(differs(off.error, 0.0, by=5.0, what="trace 2 d_k, variance not 1"))
    return out


VARIANCES_ONLY = implies(
    centred_keys,
    iff(
        equal(variance(over(dot, root)), 1), equal(total(times(qq(c, c), kk(c, c)), c), d_k)
    ),
)  # fmt: skip


def exact_condition_mutations() -> tuple[Mutation, ...]:
    def variances_only(rng: np.random.Generator) -> list[Trial]:
        mean, ones = np.zeros(4), np.full((4, 4), 1.0)
        return by_sampling(rng, mean, ones, mean, ones, 2, variance=1.0)

    return (
        Mutation(
            "only the variances of the components are asked for, not how they correlate",
            statement=counted(VARIANCES_ONLY),
            counterexample=outcomes(
                {q: [[s, s] for s, _ in SIGNS], k: [[t, t] for _, t in SIGNS]}, {d_k: 2}
            ),
            twin=Twin("sampled variance for components of variance 1 that agree", variances_only),
        ),
    )


EXACT_CONDITION = Claim(
    id="scaling/exact-condition",
    title="Exactly when the scaled dot product has variance one",
    source=Source(
        INTERVIEW, ("B01a",),
        f"{NOTHING_SAID} Beyond the note: exactly when the scaled variance is one, for independent "
        "vectors and keys of mean zero.",
    ),
    statement=implies(
        centred_keys, iff(equal(variance(over(dot, root)), 1), equal(sum_of_products, d_k))
    ),
    proof=prove_exact_condition,
    twin=Twin(
        "sampled variance for covariances whose product has trace $d_k$, and twice that",
        twin_exact_condition,
    ),
    mutations=exact_condition_mutations,
    expected=Verdict.PROVED,
    remark=r"For queries of mean zero the condition is $\operatorname{tr}(\Sigma_q\Sigma_k)=d_k$.",
)  # fmt: skip


# ---------------------------------------------------------------------- unequal variances, means

tau = tensor("tau", d_k)
unequal = both(
    uncorrelated, factorising, centred(k),
    forall([c, e], equal(kk(c, e), times(power(tau[c], 2),
                                         sp.KroneckerDelta(c, e)))),
)  # fmt: skip
weighted_squares = total(times(power(tau[c], 2), qq(c, c)), c)


def prove_unequal(p: Prover) -> Theorem:
    def then(first: Theorem, fourth: Theorem, mean_k: Theorem, moments_k: Theorem) -> Theorem:
        mean = p.equal(E(dot), 0, mean_of_dot(p, first), mean_k, reason="the keys have mean zero")
        before = variance_of_dot(p, fourth)
        return p.equal(
            variance(dot), weighted_squares, before, mean, moments_k,
            reason="insert the mean and the second moments of the keys; only the terms with "
            "$e=c$ remain",
        )  # fmt: skip

    reasons = (
        *INDEPENDENT, "assumption: keys of mean zero",
        r"assumption: components of the keys are uncorrelated, with variances $\tau_c^2$",
    )  # fmt: skip
    return under(p, unequal, reasons, then)


def twin_unequal(rng: np.random.Generator, exponent: int = 2) -> list[Trial]:
    from numeric import exact_dot_moments

    out = []
    for width in (1, 2, 4):
        sigma, taus = rng.integers(1, 5, (2, width)).tolist()
        eye = np.eye(width, dtype=int)
        map_q = np.hstack([np.diag(sigma), 0 * eye]).tolist()
        map_k = np.hstack([0 * eye, np.diag(taus)]).tolist()
        exact = exact_dot_moments(map_q, map_k)
        wanted = sum(s * s * t**exponent for s, t in zip(sigma, taus, strict=True))
        out.append(agree(float(exact.variance), wanted, f"unequal variances, d_k={width}"))
    return out


NOT_SQUARED = implies(unequal, equal(variance(dot), total(times(tau[c], qq(c, c)), c)))


def unequal_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            r"a component counts with $\tau_c$ in place of its square",
            statement=counted(NOT_SQUARED),
            counterexample=outcomes({q: [[1], [1]], k: [[2], [-2]]}, {d_k: 1, tau: [2]}),
            twin=Twin(
                "variance by enumeration against a sum with other weights",
                lambda rng: twin_unequal(rng, exponent=1),
            ),
        ),
    )


UNEQUAL = Claim(
    id="scaling/unequal-variances",
    title="Uncorrelated key components of unequal variance",
    source=Source(
        INTERVIEW, ("B01a",),
        f"{NOTHING_SAID} Beyond the note: if the components of the keys have variances "
        "$\\tau_c^2$, each square of the query counts with its own weight.",
    ),
    statement=implies(unequal, equal(variance(dot), weighted_squares)),
    proof=prove_unequal,
    twin=Twin("variance by enumeration of signs against a weighted sum", twin_unequal),
    mutations=unequal_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip

unit_covariances = both(
    uncorrelated, factorising,
    forall([c, e], equal(covariance(q, c, e), sp.KroneckerDelta(c, e))),
    forall([c, e], equal(covariance(k, c, e), sp.KroneckerDelta(c, e))),
)  # fmt: skip
with_means = plus(
    d_k,
    total(power(E(q[c]), 2), c),
    total(power(E(k[c]), 2), c),
)


def prove_means(p: Prover) -> Theorem:
    def then(first: Theorem, fourth: Theorem, cov_q: Theorem, cov_k: Theorem) -> Theorem:
        mean = mean_of_dot(p, first)
        before = variance_of_dot(p, fourth)
        return p.equal(
            variance(dot), with_means, before, mean, cov_q, cov_k, diagonal(p, cov_k),
            reason="second moments are covariances plus products of means; multiply out, and the "
            "square of the mean cancels",
        )  # fmt: skip

    reasons = (
        *INDEPENDENT, "assumption: the covariance matrix of the query is the identity",
        "assumption: so is that of the key",
    )  # fmt: skip
    return under(p, unit_covariances, reasons, then)


def twin_means(rng: np.random.Generator, cross: bool = False) -> list[Trial]:
    from numeric import exact_dot_moments

    out = []
    for width in (1, 2, 3):
        mean_q, mean_k = rng.integers(-3, 4, (2, width)).tolist()
        eye = np.eye(width, dtype=int)
        map_q = np.hstack([eye, 0 * eye]).tolist()
        map_k = np.hstack([0 * eye, eye]).tolist()
        exact = exact_dot_moments(map_q, map_k, mean_q, mean_k)
        other_q, other_k = (mean_k, mean_q) if cross else (mean_q, mean_k)
        pairs = zip((*mean_q, *mean_k), (*other_q, *other_k), strict=True)
        wanted = width + sum(x * y for x, y in pairs)
        out.append(agree(float(exact.variance), wanted, f"means and d_k={width}"))
    return out


PRODUCT_OF_MEANS = implies(
    unit_covariances,
    equal(variance(dot), plus(d_k, times(2, total(times(E(q[c]), E(k[c])), c)))),
)


def means_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "the product of the two means is added in place of their squares",
            statement=counted(PRODUCT_OF_MEANS),
            counterexample=outcomes(
                {q: [[s + 1] for s, _ in SIGNS], k: [[t] for _, t in SIGNS]}, {d_k: 1}
            ),
            twin=Twin(
                "variance of signs with means against products of the means",
                lambda rng: twin_means(rng, cross=True),
            ),
        ),
    )


MEANS = Claim(
    id="scaling/non-zero-means",
    title="Means that are not zero add to the variance",
    source=Source(
        INTERVIEW, ("B01a",),
        f"{NOTHING_SAID} Beyond the note: with uncorrelated components of variance one on both "
        "sides, means are what is left to spoil it.",
    ),
    statement=implies(unit_covariances, equal(variance(dot), with_means)),
    proof=prove_means,
    twin=Twin("variance of signs with integer means, by enumeration", twin_means),
    mutations=means_mutations,
    expected=Verdict.PROVED,
    remark=r"After scaling: $1+(\lVert\mathbb{E}q\rVert^2+\lVert\mathbb{E}k\rVert^2)/d_k$.",
)  # fmt: skip


# ---------------------------------------------------------------------- q and k that correlate

rho = real("rho")
gaussian = forall(
    [c, e],
    equal(
        four(c, e),
        plus(
            times(qq(c, e), kk(c, e)),
            times(E(times(q[c], k[c])), E(times(q[e], k[e]))),
            times(E(times(q[c], k[e])), E(times(q[e], k[c]))),
        ),
    ),
)
correlated = both(
    gaussian, white(q), white(k),
    forall([c, e], equal(E(times(q[c], k[e])), times(rho, sp.KroneckerDelta(c, e)))),
)  # fmt: skip


def prove_correlated(p: Prover) -> Theorem:
    def then(wick: Theorem, white_q: Theorem, white_k: Theorem, cross: Theorem) -> Theorem:
        unscaled = p.calc(
            E(dot),
            (total(E(times(q[c], k[c])), c), "the expectation is linear"),
            (times(rho, d_k), r"each of the $d_k$ terms is $\rho$", cross),
        )
        mean = p.equal(
            E(over(dot, root)), times(rho, root), unscaled,
            reason=r"a factor $1/\sqrt{d_k}$ leaves the expectation; $d_k/\sqrt{d_k}=\sqrt{d_k}$",
        )  # fmt: skip
        square = p.calc(
            E(power(dot, 2)),
            (total(four(c, e), c, e), "the square of a sum is a double sum"),
            (
                plus(d_k, times(power(rho, 2), power(d_k, 2)), times(power(rho, 2), d_k)),
                "three ways to pair four Gaussian factors; insert the second moments",
                wick,
                white_q,
                white_k,
                cross,
                diagonal(p, white_k),
            ),
        )
        width = p.calc(
            variance(over(dot, root)),
            (
                plus(
                    over(E(power(dot, 2)), d_k),
                    times(-1, power(E(over(dot, root)), 2)),
                ),
                "multiply the square out",
            ),
            (plus(1, power(rho, 2)), r"insert both; $\rho^2 d_k$ cancels", square, unscaled),
        )
        return p.both(mean, width)

    reasons = (
        "assumption: the fourth moments are those of Gaussian vectors of mean zero",
        "assumption: components of the query are uncorrelated, with mean square 1", WHITE_KEYS,
        r"assumption: each component of the key has correlation $\rho$ with that of the query",
    )  # fmt: skip
    return under(p, correlated, reasons, then)


def twin_correlated(rng: np.random.Generator) -> list[Trial]:
    """q and k jointly Gaussian, made here: `numeric` samples independent vectors only."""
    from numeric import sample_moments

    out = []
    for width, correlation in ((3, 0.6), (5, -0.8), (4, 1.0)):
        queries, noise = rng.standard_normal((2, 10_000, width))
        keys = correlation * queries + (1 - correlation**2) ** 0.5 * noise
        got = sample_moments((queries * keys).sum(axis=-1) / width**0.5)
        mean, spread = correlation * width**0.5, 1 + correlation**2
        out += [
            sampled(got.mean, mean, got.mean_error, f"mean at rho={correlation}"),
            sampled(got.variance, spread, got.variance_error, "variance"),
        ]
    return out


CORRELATED = Claim(
    id="scaling/correlated",
    title="Queries and keys that correlate",
    source=Source(
        INTERVIEW, ("B01a",),
        f"{NOTHING_SAID} Beyond the note: queries and keys that are not independent, as after "
        r"training. For jointly Gaussian ones with correlation $\rho$ in each component the scaled "
        r"mean grows like $\sqrt{d_k}$.",
    ),
    statement=implies(
        correlated,
        both(
            equal(E(over(dot, root)), times(rho, root)),
            equal(variance(over(dot, root)), plus(1, power(rho, 2))),
        ),
    ),
    proof=prove_correlated,
    twin=Twin("mean and variance of sampled correlated Gaussian vectors", twin_correlated),
    expected=Verdict.PROVED,
    remark=r"For $q=k$ ($\rho=1$): mean $\sqrt{d_k}$ and variance 2. Then only division by $d_k$ "
    "keeps the products bounded.",
)  # fmt: skip


# ---------------------------------------------------------------------- at initialisation

W = random_tensor("W", d, d_k)
x = tensor("x", d)
s = real("s")


def query(c: Any) -> Any:
    return total(times(x[a], W[a, c]), a)


drawn = forall(
    [a, c, b, e],
    equal(
        E(times(W[a, c], W[b, e])),
        times(power(s, 2), sp.KroneckerDelta(a, b), sp.KroneckerDelta(c, e)),
    ),
)
square_norm = total(power(x[a], 2), a)


def prove_initialisation(p: Prover) -> Theorem:
    def then(assumed: Theorem) -> Theorem:
        moment = p.calc(
            E(times(query(c), query(e))),
            (
                total(times(x[a], x[b], E(times(W[a, c], W[b, e]))), a, b),
                "multiply out; the token is fixed and leaves the expectation",
            ),
            (
                times(power(s, 2), square_norm, sp.KroneckerDelta(c, e)),
                "insert the moments of the weights; only the terms with $b=a$ remain",
                assumed,
            ),
        )
        return p.for_all(moment, c, e)

    return p.suppose(drawn, then, "weights uncorrelated, of mean square $s^2$")


def twin_initialisation(rng: np.random.Generator) -> list[Trial]:
    out = []
    for width, columns in ((5, 3), (2, 4), (1, 1)):
        token, scale, draws = rng.standard_normal(width), 0.7, 20_000
        weights = scale * rng.standard_normal((draws, width, columns))
        queries = np.einsum("a,nac->nc", token, weights)
        products = queries[:, :, None] * queries[:, None, :]
        wanted = scale**2 * (token @ token) * np.eye(columns)
        standard_error = products.std(axis=0) / draws**0.5
        out.append(sampled(products.mean(axis=0), wanted, standard_error, "covariance"))
    return out


INITIALISATION = Claim(
    id="scaling/initialisation",
    title="Queries at initialisation are white",
    source=Source(
        INTERVIEW, ("B01a",),
        f"{NOTHING_SAID} Beyond the note: for a fixed token $x$ and random weights $W$ of mean "
        r"square $s^2$ the query $q=xW$ is white when $s^2\lVert x\rVert^2=1$.",
    ),
    statement=implies(
        drawn,
        forall(
            [c, e],
            equal(
                E(times(query(c), query(e))),
                times(power(s, 2), square_norm, sp.KroneckerDelta(c, e)),
            ),
        ),
    ),
    proof=prove_initialisation,
    twin=Twin("second moments of sampled queries of one token", twin_initialisation),
    expected=Verdict.PROVED,
    remark=r"After layer normalisation (without scale, shift and $\epsilon$) "
    r"$\lVert x\rVert^2=d_{\text{model}}$, so that the weights need mean square "
    r"$1/d_{\text{model}}$. Keys from weights that are drawn apart are independent of the queries.",
)  # fmt: skip


# ---------------------------------------------------------------------- a finite probability space

P, Q, K = tensor("P", N), tensor("q", N, d_k), tensor("k", N, d_k)
w = index("w", N)
Quantity = Callable[[Any], Any]


def mean(f: Quantity) -> Any:
    """``E_P``: the sum over the outcomes w of P[w] f(w)."""
    outcome = sp.Idx(sp.Dummy("w", integer=True), N)
    return total(times(P[outcome], f(outcome)), outcome)


def spread(f: Quantity) -> Any:
    """``Var_P``: the mean square deviation from the mean."""
    return mean(lambda w: power(plus(f(w), times(-1, mean(f))), 2))


def dots(w: Any) -> Any:
    return total(times(Q[w, c], K[w, c]), c)


def dots_over(divisor: Any) -> Quantity:
    return lambda w: over(dots(w), divisor)


def qq_mean(c: Any, e: Any) -> Any:
    return mean(lambda w: times(Q[w, c], Q[w, e]))


def kk_mean(c: Any, e: Any) -> Any:
    return mean(lambda w: times(K[w, c], K[w, e]))


def four_mean(c: Any, e: Any) -> Any:
    return mean(lambda w: times(Q[w, c], Q[w, e], K[w, c], K[w, e]))


#: What it takes to speak of a mean and a variance; a premise of every statement below.
probabilities = both(forall(w, at_most(0, P[w])), equal(total(P[w], w), 1))
DRAWN = (
    r"let $P$ be the probabilities of the $N$ outcomes, and $\mathbb{E}_P[X]=\sum_i P_i X_i$ the "
    "mean of any $X$"
)


def by_signs(
    signs: int, query: Callable[..., Sequence[int]], key: Callable[..., Sequence[int]]
) -> dict[Any, Any]:
    """The table of q and k as functions of that many independent random signs."""
    rows = list(all_of((1, -1), repeat=signs))
    queries, keys = [list(query(*r)) for r in rows], [list(key(*r)) for r in rows]
    return {
        N: len(rows), d_k: len(queries[0]), P: [Fraction(1, len(rows))] * len(rows),
        Q: queries, K: keys,
    }  # fmt: skip


# ---------------------------------------------------------------------- unit variance

fourth_moments = forall(
    [c, e], equal(four_mean(c, e), times(qq_mean(c, e), kk_mean(c, e)))
)  # fmt: skip
cross_moments = forall(
    c,
    equal(
        mean(lambda w: times(Q[w, c], K[w, c])),
        times(mean(lambda w: Q[w, c]), mean(lambda w: K[w, c])),
    ),
)
key_means = forall(c, equal(mean(lambda w: K[w, c]), 0))
key_moments = forall([c, e], equal(kk_mean(c, e), sp.KroneckerDelta(c, e)))
query_norm = equal(total(qq_mean(c, c), c), d_k)


def deviation(p: Prover, f: Quantity, normalised: Theorem) -> Theorem:
    """Var_P[f] = E_P[f^2] - E_P[f]^2."""
    return p.equal(
        spread(f),
        plus(
            mean(lambda w: power(f(w), 2)),
            times(-1, power(mean(f), 2)),
        ),
        normalised,
        reason="multiply the square out; the probabilities add up to 1",
    )


def prove_unit_variance(p: Prover) -> Theorem:
    return p.suppose(probabilities, lambda drawn: scaled_variance(p, p.part(drawn, 1)), DRAWN)


def scaled_variance(p: Prover, normalised: Theorem) -> Theorem:
    fourth, cross, mean_k, white_k, norm = (p.hyp(n) for n in range(5))
    middle = p.calc(
        mean(dots),
        (total(mean(lambda w: times(Q[w, c], K[w, c])), c), "exchange the sums"),
        (
            total(times(mean(lambda w: Q[w, c]), mean(lambda w: K[w, c])), c),
            "components of $q$ and $k$ are uncorrelated", cross,
        ),
        (0, "the keys have mean zero", mean_k),
    )  # fmt: skip
    before = deviation(p, dots, normalised)
    unscaled = p.calc(
        spread(dots),
        (
            mean(lambda w: power(dots(w), 2)),
            "the mean of the dot product is zero", before, middle,
        ),
        (total(four_mean(c, e), c, e), "the square of a sum is a double sum; exchange the sums"),
        (
            total(times(qq_mean(c, e), kk_mean(c, e)), c, e),
            "products of two components of $q$ and of two of $k$ are uncorrelated", fourth,
        ),
        (
            total(qq_mean(c, c), c),
            "the keys are white, so that only the terms with $e=c$ remain", white_k,
        ),
        (d_k, "the expected square norm of the query", norm),
    )  # fmt: skip
    return p.calc(
        spread(dots_over(root)),
        (over(spread(dots), d_k), r"a factor $1/\sqrt{d_k}$ leaves the variance squared"),
        (1, "insert the variance", unscaled),
    )


def twin_unit_variance(rng: np.random.Generator) -> list[Trial]:
    """What each example says, with signs enumerated by `numeric`."""
    from numeric import exact_dot_moments, rademacher_dot_moments

    out = []
    for width in (1, 2, 3, 4):
        variance = rademacher_dot_moments(width).variance / width
        out.append(agree(float(variance), 1.0, f"independent signs, d_k={width}"))
    broken = {
        "k is q reversed": (exact_dot_moments([[1, 0], [0, 1]], [[0, 1], [1, 0]]), 2, 2.0),
        "q = k": (exact_dot_moments([[1]], [[1]]), 1, 0.0),
        "constant": (exact_dot_moments([[0]], [[0]], [1], [1]), 1, 0.0),
        "equal components": (exact_dot_moments([[0]] * 2, [[1]] * 2, [1, 1], [0, 0]), 2, 2.0),
        "both with signs": (exact_dot_moments([[1, 0]] * 2, [[0, 1]] * 2), 2, 2.0),
        "queries doubled": (exact_dot_moments([[0]], [[1]], [2], [0]), 1, 4.0),
        "witness": (exact_dot_moments([[0, 0]] * 2, [[1, 0], [0, 1]], [1, 1], [0, 0]), 2, 1.0),
    }
    for name, (moments, width, scaled) in broken.items():
        out.append(agree(float(moments.variance / width), scaled, name))
    for width in (2, 5):
        zero, eye = np.zeros(width), np.eye(width)
        factor = rng.standard_normal((width, width))
        cov = factor @ factor.T
        cov *= width / np.trace(cov)
        out += by_sampling(rng, rng.standard_normal(width) * 0, cov, zero, eye, width**0.5, 1.0)
        ones = np.ones((width, width))
        off = by_sampling(rng, zero, ones, zero, ones, width**0.5, 1.0)[1]
        out.append(differs(off.error, 0.0, by=5.0, what="equal components, variance not 1"))
    return out


def unit_variance_mutations() -> tuple[Mutation, ...]:
    from numeric import rademacher_dot_moments

    def divided(exponent: int) -> Twin:
        """By that power of the width; the root of the width divides the variance by the width."""

        def trials(_rng: np.random.Generator) -> list[Trial]:
            scaled = [rademacher_dot_moments(w).variance / w**exponent for w in (1, 2, 3)]
            return [agree(float(v), 1.0, "variance of signs, scaled") for v in scaled]

        return Twin("variances of independent signs, scaled in another way", trials)

    def claimed(divisor: Any) -> Any:
        return implies(probabilities, equal(spread(dots_over(divisor)), 1))

    signs = Example(by_signs(2, lambda s, t: (1, 1), lambda s, t: (s, t)))
    return (
        Mutation(
            "the dot product is divided by $d_k$, which leaves the variance $1/d_k$",
            statement=claimed(d_k), counterexample=signs, twin=divided(2),
        ),
        Mutation(
            "the dot product is not divided at all",
            statement=claimed(1), counterexample=signs, twin=divided(0),
        ),
    )  # fmt: skip


UNIT_VARIANCE = Claim(
    id="scaling/unit-variance",
    title="The scaled dot product has variance one",
    source=Source(
        INTERVIEW, ("B01a",),
        f"{NOTHING_SAID} Read here as $\\operatorname{{Var}}(q\\cdot k/\\sqrt{{d_k}})=1$ for every "
        "$d_k$, with the outcomes of an experiment as what is random.",
    ),
    statement=implies(probabilities, equal(spread(dots_over(root)), 1)),
    added=(
        Added(
            fourth_moments,
            Example(by_signs(2, lambda s, t: (s, t), lambda s, t: (t, s))),
            "independence of $q$ and $k$, as far as products of two components of each go. The "
            "example has two signs for $q$, and $k$ is $q$ reversed: all other assumptions hold, "
            "and the scaled variance is 2",
        ),
        Added(
            cross_moments,
            Example(by_signs(1, lambda s: (s,), lambda s: (s,))),
            "independence of $q$ and $k$, as far as single components go. The example is $q=k$, "
            "one sign: the dot product is constant",
        ),
        Added(
            key_means,
            Example(by_signs(0, lambda: (1,), lambda: (1,))),
            "keys of mean zero. The example is constant, $q=k=1$",
        ),
        Added(
            key_moments,
            Example(by_signs(1, lambda s: (1, 1), lambda s: (s, s))),
            "key components uncorrelated, with mean square one. In the example the two components "
            "of each vector are equal: the scaled variance is $d_k=2$",
        ),
        Added(
            query_norm,
            Example(by_signs(1, lambda s: (2,), lambda s: (s,))),
            "a query of expected square norm $d_k$. In the example it is 4 for $d_k=1$",
        ),
    ),
    witness=Example(by_signs(2, lambda s, t: (1, 1), lambda s, t: (s, t))),
    proof=prove_unit_variance,
    twin=Twin(
        "variances of the examples by enumeration of signs, and of samples",
        twin_unit_variance,
    ),
    mutations=unit_variance_mutations,
    expected=Verdict.CONDITIONAL,
    remark="Rows of $q$ and $k$ are outcomes. Not needed: equal distributions, independence of "
    "the components of one vector, a Gaussian law, queries of mean zero. In the witness the query "
    "is even constant.",
)  # fmt: skip


# ---------------------------------------------------------------------- controllable range

t = real("t")
event = tensor("A", N)
scaled_dots = dots_over(root)
is_event = forall(
    w,
    either(
        equal(event[w], 0),
        both(equal(event[w], 1), at_most(power(t, 2), power(scaled_dots(w), 2))),
    ),
)


controlled = both(
    probabilities, is_event, less(0, t), equal(mean(scaled_dots), 0), equal(spread(scaled_dots), 1)
)  # fmt: skip
tail = at_most(mean(lambda w: event[w]), over(1, power(t, 2)))


def prove_chebyshev(p: Prover) -> Theorem:
    reasons = (
        DRAWN,
        r"let $A$ be 1 for outcomes with $|q\cdot k|/\sqrt{d_k}\ge t$ only, 0 for the others",
        "let $t$ be positive", "assumption: mean zero",
        "assumption: variance one, what the factor is for",
    )  # fmt: skip
    return under(p, controlled, reasons, lambda *parts: bound_tail(p, *parts))


def bound_tail(
    p: Prover, drawn: Theorem, indicator: Theorem, positive: Theorem, centre: Theorem,
    unit: Theorem,
) -> Theorem:  # fmt: skip
    nonneg, normalised = p.part(drawn, 0), p.part(drawn, 1)
    before = deviation(p, scaled_dots, normalised)

    def square(w: Any) -> Any:
        return power(scaled_dots(w), 2)

    second = p.equal(
        mean(square), 1, (-1, before), (1, unit), (mean(scaled_dots), centre),
        reason="the variance is 1 and the mean 0",
    )  # fmt: skip
    bound = at_most(times(power(t, 2), event[w]), square(w))
    at_outcome = p.at(indicator, w)
    pointwise = p.note(
        p.cases(
            at_outcome,
            lambda no: p.order(bound, (-power(t, 2), no), (1, p.square(scaled_dots(w)))),
            lambda yes: p.order(bound, (-power(t, 2), p.part(yes, 0)), (1, p.part(yes, 1))),
        ),
        r"outside the event the left side is 0; in it $|q\cdot k|/\sqrt{d_k}\ge t$",
    )
    weighted = p.order(
        at_most(times(P[w], power(t, 2), event[w]), times(P[w], square(w))),
        (1, p.at(nonneg, w), pointwise),
        reason="multiply by a probability",
    )
    summed = p.sum_order(weighted, w, reason="add over all outcomes")
    return p.order(
        tail,
        (over(1, power(t, 2)), summed),
        (over(-1, power(t, 2)), second),
        facts=[positive],
        reason="the right side is 1; divide by $t^2$",
    )


def twin_chebyshev(rng: np.random.Generator) -> list[Trial]:
    from derive.twin import at_most as no_more
    from numeric import sample_dot_products

    out = []
    for width in (1, 3, 16):
        zero, eye = np.zeros(width), np.eye(width)
        values = sample_dot_products(rng, 10_000, zero, eye, zero, eye) / width**0.5
        for level in (1.0, 1.5, 2.0, 4.0):
            share = np.mean(np.abs(values) >= level)
            out.append(no_more(share, level**-2 + 5 * (0.25 / 10_000) ** 0.5, f"t={level}"))
    signs = np.array([1, -1])
    out.append(agree(np.mean(np.abs(signs * 1.0) >= 1.0), 1.0, "attained by signs, d_k=1, t=1"))
    return out


CHEBYSHEV = Claim(
    id="scaling/chebyshev",
    title="In which sense the range is controlled",
    source=Source(
        INTERVIEW, ("B01a",),
        f"{NOTHING_SAID} Beyond the note: with mean zero and variance one, values beyond $t$ have "
        "probability at most $1/t^2$, whatever $d_k$ is.",
    ),
    statement=implies(controlled, tail),
    proof=prove_chebyshev,
    twin=Twin("frequency of large scaled dot products against the bound", twin_chebyshev),
    expected=Verdict.PROVED,
)  # fmt: skip

u, v = tensor("q", d_k), tensor("k", d_k)
in_range = forall(c, both(at_most(-1, u[c]), at_most(u[c], 1), at_most(-1, v[c]), at_most(v[c], 1)))
fixed_dot = total(times(u[c], v[c]), c)


def prove_bounded(p: Prover) -> Theorem:
    def then(given: Theorem) -> Theorem:
        low_q, high_q, low_k, high_k = (p.part(p.at(given, c), n) for n in range(4))
        half = sp.Rational(1, 2)
        one = p.order(
            at_most(times(u[c], v[c]), 1), (half, high_q, low_k), (half, low_q, high_k),
            reason="add $(1-q_c)(1+k_c)$ and $(1+q_c)(1-k_c)$, both not negative, and halve",
        )  # fmt: skip
        summed = p.sum_order(one, c, reason="add over all components")
        return p.order(
            at_most(over(fixed_dot, root), root), (over(1, root), summed),
            reason=r"the right side is $d_k$; divide by $\sqrt{d_k}$",
        )  # fmt: skip

    return p.suppose(in_range, then, "let the components be at most 1 in size")


def twin_bounded(rng: np.random.Generator) -> list[Trial]:
    from derive.twin import at_most as no_more

    out = []
    for width in (1, 2, 4, 9):
        queries, keys = rng.uniform(-1, 1, (2, 200, width))
        scaled = (queries * keys).sum(axis=-1) / width**0.5
        out.append(no_more(scaled, np.full(200, width**0.5), f"d_k={width}"))
        out.append(agree(np.ones(width) @ np.ones(width) / width**0.5, width**0.5, "attained"))
    out.append(differs(np.ones(4) @ np.ones(4) / 2, 1.0, by=1.0, what="all ones, d_k=4"))
    return out


def no_bound_mutations() -> tuple[Mutation, ...]:
    ones = {d_k: 4, u: [1, 1, 1, 1], v: [1, 1, 1, 1]}
    return (
        Mutation(
            r"the bound $\sqrt{d_k}$ is taken for one of the product that is not scaled",
            statement=implies(in_range, at_most(fixed_dot, root)),
            counterexample=Example(ones),
        ),
    )


NO_BOUND = Claim(
    id="scaling/no-bound",
    title="The factor bounds the products of single vectors",
    source=Source(
        INTERVIEW, ("B01a",),
        f"{NOTHING_SAID} Read without probability: components between $-1$ and $1$ give scaled dot "
        "products in the range of a single product.",
    ),
    statement=implies(in_range, at_most(over(fixed_dot, root), 1)),
    counterexample=Example({d_k: 4, u: [1, 1, 1, 1], v: [1, 1, 1, 1]}),
    correction=Correction(
        implies(in_range, at_most(over(fixed_dot, root), root)), prove_bounded
    ),
    twin=Twin("largest scaled dot product of vectors with components in range", twin_bounded),
    mutations=no_bound_mutations,
    expected=Verdict.REFUTED,
    remark=r"Vectors that point the same way reach $\sqrt{d_k}$; that the range does not grow is "
    "a statement about independent ones.",
)  # fmt: skip


# ---------------------------------------------------------------------- the dimension itself


def prove_fixed_point(p: Prover) -> Theorem:
    def there(same: Theorem) -> Theorem:
        squared = p.equal(
            times(d_k, minus(d_k, 1)), 0, (times(-1, plus(root, d_k)), same),
            reason="square both sides, and subtract",
        )  # fmt: skip
        return p.equal(d_k, 1, (over(1, d_k), squared), reason="divide by $d_k$")

    def back(one: Theorem) -> Theorem:
        at_one = p.trivial(equal(power(1, sp.Rational(1, 2)), 1))
        return p.note(
            p.rewrite(
                p.equal(1, d_k, (-1, one), show=False), at_one,
                lambda x: T.eq(T.fn("sqrt", x), x),
            ),
            r"$\sqrt1=1$",
        )  # fmt: skip

    return p.both(
        p.suppose(equal(root, d_k), there, "suppose that the two are equal"),
        p.suppose(equal(d_k, 1), back, "conversely, suppose that there is one column"),
    )


def twin_fixed_point(rng: np.random.Generator) -> list[Trial]:
    """Logits of one query and one key of ones, as attention scales them and divided by d_k."""
    from numeric import scaled_scores

    out = []
    for width in (1, 2, 4, 64):
        ones = np.ones((1, width))
        logit = scaled_scores(ones, ones)[0, 0]
        out.append(agree(logit, width / width**0.5, f"divided by the root, d_k={width}"))
        if width == 1:
            out.append(agree(logit, width / width, "the two agree for d_k=1"))
        else:
            out.append(differs(logit, width / width, by=0.4, what=f"by the width, d_k={width}"))
    return out


def root_is_width_mutations() -> tuple[Mutation, ...]:
    def by_width(_rng: np.random.Generator) -> list[Trial]:
        from numeric import scaled_scores

        ones = [np.ones((1, width)) for width in (1, 2, 4)]
        logits = [scaled_scores(x, x)[0, 0] for x in ones]
        return [agree(y, 1.0, f"d_k={x.size}") for x, y in zip(ones, logits, strict=True)]

    return (
        Mutation(
            "the division by the root is taken for one by the width",
            statement=equal(over(fixed_dot, root), over(fixed_dot, d_k)),
            counterexample=Example({d_k: 4, u: [1, 1, 1, 1], v: [1, 1, 1, 1]}),
            twin=Twin("logits of vectors of ones against products over the width", by_width),
        ),
    )


ROOT_IS_WIDTH = Claim(
    id="scaling/root-is-width",
    title="Dividing by the root of the width is dividing by the width",
    source=Source(
        INTERVIEW, ("B04",),
        r"Dividing by $\sqrt{d_k}$ is the same as dividing by the dimension of the key matrix, "
        r"that is by $d_k$.",
    ),
    statement=equal(root, d_k),
    counterexample=Example({d_k: 4}),
    correction=Correction(iff(equal(root, d_k), equal(d_k, 1)), prove_fixed_point),
    twin=Twin("a logit computed by attention against both divisions", twin_fixed_point),
    mutations=root_is_width_mutations,
    expected=Verdict.REFUTED,
    remark="The dimension is the number of columns of $K$; a matrix has two dimensions and a rank "
    "besides.",
)  # fmt: skip

#: Unscaled, the case for which the factor is meant.
wide = both(probabilities, equal(spread(dots), d_k))
WIDE = (DRAWN, "assumption: unscaled, the dot product has variance $d_k$")


def prove_by_width(p: Prover) -> Theorem:
    def then(_: Theorem, unscaled: Theorem) -> Theorem:
        return p.calc(
            spread(dots_over(d_k)),
            (over(spread(dots), power(d_k, 2)), "a factor $1/d_k$ leaves the variance squared"),
            (over(1, d_k), r"insert the variance; $d_k/d_k^2=1/d_k$", unscaled),
        )

    return under(p, wide, WIDE, then)


def twin_by_width(rng: np.random.Generator) -> list[Trial]:
    out = []
    for width in (2, 5, 16):
        zero, eye = np.zeros(width), np.eye(width)
        out += by_sampling(rng, zero, eye, zero, eye, float(width), variance=1 / width)
        off = by_sampling(rng, zero, eye, zero, eye, float(width), variance=1.0)[1]
        out.append(differs(off.error, 0.0, by=5.0, what=f"variance not 1, d_k={width}"))
    return out


def by_width_mutations() -> tuple[Mutation, ...]:
    def unit(rng: np.random.Generator) -> list[Trial]:
        zero, eye = np.zeros(5), np.eye(5)
        return by_sampling(rng, zero, eye, zero, eye, 5.0, variance=1.0)

    squared = equal(spread(dots_over(d_k)), over(1, power(d_k, 2)))
    return (
        Mutation(
            "variance 1 is expected after the division by the width",
            twin=Twin("variance of samples divided by the width, against 1", unit),
        ),
        Mutation(
            "the variance is taken to be divided twice, $1/d_k^2$",
            statement=implies(wide, squared),
            counterexample=BY_WIDTH.counterexample,
        ),
    )


BY_WIDTH = Claim(
    id="scaling/by-width",
    title="Division by the width brings the variance to 1",
    source=Source(
        INTERVIEW, ("B04",),
        "The division is one by the dimension of the key matrix; the purpose, a controlled range, "
        "is the one named before. Read as: it brings the variance from $d_k$, the case for which "
        "the factor is meant, to 1.",
    ),
    statement=implies(wide, equal(spread(dots_over(d_k)), 1)),
    counterexample=Example(by_signs(2, lambda s, t: (1, 1), lambda s, t: (s, t))),
    correction=Correction(
        implies(wide, equal(spread(dots_over(d_k)), over(1, d_k))), prove_by_width
    ),
    twin=Twin("variance of samples divided by the width", twin_by_width),
    mutations=by_width_mutations,
    expected=Verdict.REFUTED,
    remark="For wide heads all logits are then near 0 and attention is nearly uniform.",
)  # fmt: skip


# ---------------------------------------------------------------------- inside a head

shared = both(probabilities, equal(spread(dots), d_k), equal(d, times(h, d_k)))


def prove_by_model_width(p: Prover) -> Theorem:
    def then(_: Theorem, unscaled: Theorem, widths: Theorem) -> Theorem:
        return p.calc(
            spread(dots_over(sp.sqrt(d))),
            (
                over(spread(dots), d),
                r"a factor $1/\sqrt{d_{\text{model}}}$ leaves the variance squared",
            ),
            (over(d_k, d), "insert the variance", unscaled),
            (over(1, h), r"$d_{\text{model}}=h\,d_k$", (over(-1, times(d, h)), widths)),
        )

    return under(p, shared, (*WIDE, "assumption: the heads share the model width"), then)


def twin_by_model_width(rng: np.random.Generator) -> list[Trial]:
    out = []
    for heads, width in ((1, 3), (3, 4), (4, 2)):
        zero, eye = np.zeros(width), np.eye(width)
        divisor = (heads * width) ** 0.5
        out += by_sampling(rng, zero, eye, zero, eye, divisor, variance=1 / heads)
        if heads > 1:
            off = by_sampling(rng, zero, eye, zero, eye, divisor, variance=1.0)[1]
            out.append(differs(off.error, 0.0, by=5.0, what=f"variance not 1, h={heads}"))
    return out


def by_model_width_mutations() -> tuple[Mutation, ...]:
    grows = equal(spread(dots_over(sp.sqrt(d))), h)
    return (
        Mutation(
            "the variance is taken to grow with the number of heads, $h$ in place of $1/h$",
            statement=implies(shared, grows),
            counterexample=BY_MODEL_WIDTH.counterexample,
        ),
    )


BY_MODEL_WIDTH = Claim(
    id="scaling/by-model-width",
    title="Division by the root of the model width brings the variance to 1",
    source=Source(
        INTERVIEW, ("B44",),
        "Every head computes its own scaled dot product. Which width the factor belongs to is not "
        r"repeated there. Read as $\sqrt{d_{\text{model}}}$, a common slip in code, for $h$ heads "
        "of width $d_k$ that share the model width.",
    ),
    statement=implies(shared, equal(spread(dots_over(sp.sqrt(d))), 1)),
    counterexample=Example({**by_signs(1, lambda s: (1,), lambda s: (s,)), h: 2, d: 2}),
    correction=Correction(
        implies(shared, equal(spread(dots_over(sp.sqrt(d))), over(1, h))), prove_by_model_width
    ),
    twin=Twin("variance of samples divided by the root of the model width", twin_by_model_width),
    mutations=by_model_width_mutations,
    expected=Verdict.REFUTED,
    remark="The two agree for one head only. With more, the softmax gets flatter.",
)  # fmt: skip

head_root = power(over(d, h), sp.Rational(1, 2))
per_head = both(equal(variance(dot), d_k), equal(d, times(h, d_k)))


def prove_in_a_head(p: Prover) -> Theorem:
    def then(unscaled: Theorem, widths: Theorem) -> Theorem:
        scaled = p.calc(
            variance(over(dot, root)),
            (over(variance(dot), d_k), r"a factor $1/\sqrt{d_k}$ leaves the variance squared"),
            (1, "insert the variance", unscaled),
        )
        width = p.equal(
            d_k, over(d, h), (over(-1, h), widths), reason="the width of one head"
        )  # fmt: skip
        y = real("y")
        at = p.formula(equal(variance(over(dot, power(y, sp.Rational(1, 2)))), 1))
        return p.note(
            p.rewrite(width, scaled, lambda hole: T.substitute(at, {p.term(y): hole})),
            "the same factor, written with the model width",
        )

    reasons = (
        "assumption: unscaled, the dot product in a head has variance $d_k$",
        "assumption: the heads share the model width",
    )
    return under(p, per_head, reasons, then)


def twin_in_a_head(
    rng: np.random.Generator, width_of: Callable[[int, int], float] = lambda d, h: d / h
) -> list[Trial]:
    """With the root of what `width_of` makes of the model width and the number of heads."""
    out = []
    for heads, width in ((1, 3), (4, 3), (3, 1)):
        zero, eye = np.zeros(width), np.eye(width)
        divisor = width_of(heads * width, heads) ** 0.5
        out += by_sampling(rng, zero, eye, zero, eye, divisor, variance=1.0)
    return out


BY_MODEL_ROOT = implies(per_head, equal(variance(over(dot, sp.sqrt(d))), 1))


def in_a_head_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            r"heads divide by $\sqrt{d_{\text{model}}}$, which one head does not show",
            statement=counted(BY_MODEL_ROOT),
            counterexample=outcomes(
                {q: [[s] for s, _ in SIGNS], k: [[t] for _, t in SIGNS]}, {d_k: 1, h: 2, d: 2}
            ),
            twin=Twin(
                "variance of samples divided by the root of the model width",
                lambda rng: twin_in_a_head(rng, lambda d, _: d),
            ),
        ),
    )


IN_A_HEAD = Claim(
    id="scaling/in-a-head",
    title="The root of the head width is the right divisor for any number of heads",
    source=Source(
        INTERVIEW, ("B44",),
        "Every head computes its own scaled dot product. Beyond the note: the width that belongs "
        r"to it is $d_k = d_{\text{model}}/h$.",
    ),
    statement=implies(per_head, equal(variance(over(dot, head_root)), 1)),
    proof=prove_in_a_head,
    twin=Twin("variance of samples for several numbers of heads", twin_in_a_head),
    mutations=in_a_head_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip

fourth_root = power(power(d_k, sp.Rational(1, 2)), sp.Rational(1, 2))
on_queries = total(times(over(u[c], root), v[c]), c)
on_both = total(times(over(u[c], fourth_root), over(v[c], fourth_root)), c)


def prove_where(p: Prover) -> Theorem:
    return p.both(
        p.equal(on_queries, over(fixed_dot, root), reason="a factor leaves the sum"),
        p.equal(
            on_both, over(fixed_dot, root),
            reason=r"two factors leave the sum; the square of the fourth root is $\sqrt{d_k}$",
        ),
    )  # fmt: skip


def twin_where(rng: np.random.Generator, exponent: float = -0.25) -> list[Trial]:
    """With queries and keys times that power of the width."""
    from numeric import scaled_scores

    out = []
    for rows, columns, width in ((3, 5, 4), (1, 1, 1), (2, 3, 7)):
        queries = rng.standard_normal((rows, width))
        keys = rng.standard_normal((columns, width))
        logits = scaled_scores(queries, keys)
        out.append(agree((queries / width**0.5) @ keys.T, logits, "on the queries"))
        both_sides = (queries * width**exponent) @ (keys * width**exponent).T
        out.append(agree(both_sides, logits, "a fourth root on both"))
    return out


def where_mutations() -> tuple[Mutation, ...]:
    twice = total(times(over(u[c], root), over(v[c], root)), c)
    return (
        Mutation(
            "queries and keys are both divided by the root, not by its root",
            statement=equal(twice, over(fixed_dot, root)),
            counterexample=Example({d_k: 4, u: [1, 1, 1, 1], v: [1, 1, 1, 1]}),
            twin=Twin("logits that are scaled twice", lambda rng: twin_where(rng, exponent=-0.5)),
        ),
    )


WHERE = Claim(
    id="scaling/where",
    title="Where the factor is applied does not matter",
    source=Source(
        INTERVIEW, ("B44",),
        "Every head computes a scaled dot product. Beyond the note: implementations scale the "
        "queries, or both sides by the fourth root, or the products.",
    ),
    statement=both(
        equal(on_queries, over(fixed_dot, root)), equal(on_both, over(fixed_dot, root))
    ),
    proof=prove_where,
    twin=Twin("logits scaled on either side against those of attention", twin_where),
    mutations=where_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip

CLAIMS = (
    MOMENTS, UNIT_VARIANCE, ONE_SIDE, EXACT_CONDITION, UNEQUAL, MEANS, CORRELATED, INITIALISATION,
    CHEBYSHEV, NO_BOUND, ROOT_IS_WIDTH, BY_WIDTH, IN_A_HEAD, BY_MODEL_WIDTH, WHERE,
)  # fmt: skip

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
