"""Attention with dropout of its weights: an average in the mean only.

The interview note calls attention a weighted average, without a word on dropout.  In training,
weights are dropped at random and those that are kept are scaled up: then a row of weights sums to
1 in the mean, and its output is right in the mean, but with a variance, and no single row has to
sum to 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import sympy as sp

from derive.claim import Claim, Correction, Example, Mutation
from derive.claims import INTERVIEW
from derive.claims._outcomes import counted, outcomes
from derive.claims._softmax import delta, i, k, m, under
from derive.kernel.rules import Theorem
from derive.language import (
    Expectation,
    at_most,
    both,
    dim,
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
from derive.twin import Trial, Twin
from derive.twin import equal as agree

ORDER = 54
TOPIC = "attention-average"

d_v = dim("d_v")
c = index("c", d_v)
A, V = tensor("A", m), tensor("V", m, d_v)
rate = real("rho")
kept_share = minus(1, rate)
SAID = (
    "Attention is a weighted average of the values. Beyond the note: in training, every weight is "
    r"dropped with probability $\rho$, and the others are divided by $1-\rho$"
)


def dropped(mask: Any) -> Any:
    """Weight i after dropout: the mask is 1 where it is kept, and 0 where it is dropped."""
    return lambda i: over(times(A[i], mask[i]), kept_share)


# ---------------------------------------------------------------------- in the mean

keeps = random_tensor("M", m)
RATE = both(at_most(0, rate), less(rate, 1))
#: Every mask is 1 with probability 1 - rho.
MEANS = forall(i, equal(Expectation(keeps[i]), kept_share))
#: Masks are 0 or 1, so that they are their own squares, and independent of each other.
PRODUCTS = forall(
    [i, k],
    equal(
        Expectation(times(keeps[i], keeps[k])),
        plus(power(kept_share, 2), times(delta(i, k), rate, kept_share)),
    ),
)
random_row = total(dropped(keeps)(i), i)
random_output = total(times(dropped(keeps)(i), V[i, c]), i)


def shares(p: Prover, rate_known: Theorem) -> Theorem:
    """(1 - rho)^-1 (1 - rho) = 1."""
    positive = p.order(less(0, kept_share), (1, p.part(rate_known, 1)))
    return p.cancel(kept_share, p.fact(p.note(positive, "some weights are kept")))


def prove_mean(p: Prover) -> Theorem:
    def then(known: Theorem, means: Theorem) -> Theorem:
        whole = shares(p, known)
        out = []
        for drawn, value, plain in (
            (random_row, 1, total(A[i], i)),
            (random_output, V[i, c], total(times(A[i], V[i, c]), i)),
        ):
            scaled = over(times(A[i], kept_share, value), kept_share)
            out.append(
                p.calc(
                    Expectation(drawn),
                    (
                        total(over(times(A[i], Expectation(keeps[i]), value), kept_share), i),
                        "the expectation is linear",
                    ),
                    (total(scaled, i), r"a weight is kept with probability $1-\rho$", means),
                    (plain, "and divided by that", (plain, whole)),
                )
            )
        return p.both(out[0], p.for_all(out[1], c))

    reasons = (r"some weights are kept", r"each one with probability $1-\rho$")
    return under(p, both(RATE, MEANS), reasons, then)


def drawn_rows(rng: np.random.Generator) -> Iterator[tuple[Any, Any, Any, Any, float]]:
    """Weights, values, all masks with their probabilities, and the rate."""
    from numeric import attention_weights

    for size, columns, rate in ((1, 2, 0.25), (2, 3, 0.5), (5, 2, 0.1), (6, 4, 0.9)):
        query, key = rng.standard_normal((1, 3)), rng.standard_normal((size, 3))
        weights, values = attention_weights(query, key)[0], rng.standard_normal((size, columns))
        masks = np.array(list(product((0, 1), repeat=size)), float)
        chances = np.prod(np.where(masks == 1, 1 - rate, rate), axis=1)
        yield weights, values, masks, chances, rate


def twin_mean(rng: np.random.Generator, scaled: bool = True) -> list[Trial]:
    """Means over all masks."""
    trials = []
    for weights, values, masks, chances, rate in drawn_rows(rng):
        rows = masks * weights / ((1 - rate) if scaled else 1)
        trials += [
            agree(chances @ rows.sum(axis=1), 1.0, f"mean of the sum, m={len(weights)}"),
            agree(chances @ (rows @ values), weights @ values, f"mean, m={len(weights)}"),
        ]
    return trials


#: One key, which is dropped half of the time.
ONE_KEY = {m: 1, A: [1], rate: sp.Rational(1, 2)}


def mean_mutations() -> tuple[Mutation, ...]:
    unscaled = Expectation(total(times(A[i], keeps[i], V[i, c]), i))
    return (
        Mutation(
            "the weights that are kept are not scaled up",
            statement=counted(
                implies(
                    both(RATE, MEANS), forall(c, equal(unscaled, total(times(A[i], V[i, c]), i)))
                )
            ),
            counterexample=outcomes({keeps: [[1], [0]]}, {**ONE_KEY, d_v: 1, V: [[1]]}),
            twin=Twin(
                "means over all masks without the factor",
                lambda rng: twin_mean(rng, scaled=False),
            ),
        ),
    )


MEAN = Claim(
    id="attention-average/dropout-mean",
    title="In the mean, dropout of weights changes nothing",
    source=Source(INTERVIEW, ("B13", "B18"), f"{SAID}: what holds in the mean."),
    statement=implies(
        both(RATE, MEANS),
        both(
            equal(Expectation(random_row), total(A[i], i)),
            forall(c, equal(Expectation(random_output), total(times(A[i], V[i, c]), i))),
        ),
    ),
    proof=prove_mean,
    twin=Twin("rows of weights and outputs, averaged over all masks", twin_mean),
    mutations=mean_mutations,
    expected=Verdict.PROVED,
    remark="For a row of attention weights the first sum is 1.",
)  # fmt: skip


# ---------------------------------------------------------------------- how far from the mean

factor = over(rate, kept_share)
spread_of_row = times(factor, total(power(A[i], 2), i))
spread_of_output = times(factor, total(times(power(A[i], 2), power(V[i, c], 2)), i))


def prove_variance(p: Prover) -> Theorem:
    def then(known: Theorem, means: Theorem, products: Theorem) -> Theorem:
        whole = shares(p, known)
        out = []
        for drawn, value, spread in (
            (random_row, lambda _: 1, spread_of_row),
            (random_output, lambda e: V[e, c], spread_of_output),
        ):
            part = lambda e, value=value: times(A[e], value(e))  # noqa: E731
            pair = times(part(i), part(k), Expectation(times(keeps[i], keeps[k])))
            inverse = power(kept_share, -2)
            single = times(part(i), Expectation(keeps[i]))
            square = times(-1, inverse, power(total(single, i), 2))
            squares = total(power(part(i), 2), i)
            out.append(
                p.calc(
                    variance(drawn),
                    (
                        plus(times(inverse, total(pair, i, k)), square),
                        "multiply the square out; the expectation is linear",
                    ),
                    (
                        times(inverse, rate, kept_share, squares),
                        "insert the moments of the masks; the squares of the means cancel",
                        products,
                        means,
                    ),
                    (spread, "divide", (times(factor, squares), whole)),
                )
            )
        return p.both(out[0], p.for_all(out[1], c))

    reasons = (
        "some weights are kept", r"each one with probability $1-\rho$",
        "masks are 0 or 1, so that $M_s^2=M_s$, and independent of each other",
    )  # fmt: skip
    return under(p, both(RATE, MEANS, PRODUCTS), reasons, then)


def twin_variance(rng: np.random.Generator, together: bool = False) -> list[Trial]:
    """Variances over all masks; or over masks that drop all weights together."""
    trials = []
    for weights, values, masks, chances, rate in drawn_rows(rng):
        if together and len(weights) > 1:
            masks, chances = np.array([1 - 0 * weights, 0 * weights]), np.array([1 - rate, rate])
        rows = masks * weights / (1 - rate)
        for name, found, parts in (
            ("row", rows.sum(axis=1)[:, None], weights[:, None]),
            ("output", rows @ values, weights[:, None] * values),
        ):
            mean = chances @ found
            measured = chances @ (found - mean) ** 2
            claimed = rate / (1 - rate) * (parts**2).sum(axis=0)
            trials.append(agree(measured, claimed, f"{name}, m={len(weights)}", 1e-10))
    return trials


def variance_mutations() -> tuple[Mutation, ...]:
    premise = both(RATE, MEANS, PRODUCTS)
    return (
        Mutation(
            "the variance is that of the masks, without the division",
            statement=counted(
                implies(
                    premise,
                    equal(variance(random_row), times(rate, kept_share, total(power(A[i], 2), i))),
                )
            ),
            counterexample=outcomes({keeps: [[1], [0]]}, ONE_KEY),
        ),
        Mutation(
            "masks need not be independent",
            twin=Twin(
                "variances over masks that drop all weights together",
                lambda rng: twin_variance(rng, together=True),
            ),
        ),
    )


VARIANCE = Claim(
    id="attention-average/dropout-variance",
    title="How much outputs vary under dropout of weights",
    source=Source(INTERVIEW, ("B13", "B18"), f"{SAID}: by how much outputs vary."),
    statement=implies(
        both(RATE, MEANS, PRODUCTS),
        both(
            equal(variance(random_row), spread_of_row),
            forall(c, equal(variance(random_output), spread_of_output)),
        ),
    ),
    proof=prove_variance,
    twin=Twin("variances over all masks", twin_variance),
    mutations=variance_mutations,
    expected=Verdict.PROVED,
    remark=r"A row of $m$ equal weights has the variance $\frac{\rho}{1-\rho}\frac1m$; one in "
    r"which a single key has all the weight has $\frac{\rho}{1-\rho}$.",
)  # fmt: skip


# ---------------------------------------------------------------------- a single row

mask = tensor("M", m)
row_sum = total(dropped(mask)(i), i)
ROW = both(RATE, equal(total(A[i], i), 1))
kept_weight = total(times(A[i], mask[i]), i)


def prove_row(p: Prover) -> Theorem:
    def then(known: Theorem, _one: Theorem) -> Theorem:
        whole = shares(p, known)
        same = p.equal(
            row_sum, over(kept_weight, kept_share), reason="the weights that are kept, scaled up"
        )

        def kept(sums: Theorem) -> Theorem:
            return p.equal(
                kept_weight, kept_share,
                (kept_share, sums), (times(-1, kept_share), same),
                (times(-1, kept_weight), whole), reason=r"multiply by $1-\rho$",
            )  # fmt: skip

        def back(enough: Theorem) -> Theorem:
            return p.equal(
                row_sum, 1, (1, same), (over(1, kept_share), enough), (1, whole),
                reason=r"divide by $1-\rho$",
            )  # fmt: skip

        return p.both(
            p.suppose(equal(row_sum, 1), kept, "suppose the row sums to 1"),
            p.suppose(equal(kept_weight, kept_share), back, "conversely"),
        )

    return under(p, ROW, ("some weights are kept", "before dropout the row sums to 1"), then)


def twin_row(rng: np.random.Generator) -> list[Trial]:
    """Which masks leave a row whose sum is 1."""
    trials = []
    for weights, _, masks, _, rate in drawn_rows(rng):
        rows = (masks * weights / (1 - rate)).sum(axis=1)
        kept = masks @ weights
        trials += [
            agree(np.isclose(rows, 1), np.isclose(kept, 1 - rate), f"m={len(weights)}"),
            agree(rows[0], 0.0, "all dropped"),
        ]
    even = np.array([0.25, 0.25, 0.5])
    trials.append(agree((np.array([1, 1, 0]) * even / 0.5).sum(), 1.0, "half of the weight kept"))
    return trials


SINGLE_ROW = Claim(
    id="attention-average/dropout-rows",
    title="With dropout, weights still sum to 1",
    source=Source(INTERVIEW, ("B13", "B18"), f"{SAID}: whether it still is an average."),
    statement=implies(ROW, equal(row_sum, 1)),
    counterexample=Example({
        m: 2, rate: sp.Rational(1, 2), A: [sp.Rational(1, 4), sp.Rational(3, 4)], mask: [1, 0],
    }),
    correction=Correction(
        implies(ROW, iff(equal(row_sum, 1), equal(kept_weight, kept_share))), prove_row
    ),
    twin=Twin("sums of rows for all masks", twin_row),
    expected=Verdict.REFUTED,
    remark="If all weights of a row are dropped, its output is 0, whatever the values are.",
)  # fmt: skip

CLAIMS = (MEAN, VARIANCE, SINGLE_ROW)

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
