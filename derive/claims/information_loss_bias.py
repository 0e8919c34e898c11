r"""What a bias does to the share of inactive units, and what is kept beside a straight line.

The interview note calls 50 percent a loss and a natural optimum, without a measure.  A bias moves
the share of inactive units; how far, is bounded for every distribution with two moments.  For a
normal pre-activation the part of ReLU that no straight line explains is largest at a share of one
half: its slope is computed here, with its sign where two known inequalities hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import erfc, exp, pi
from typing import Any

import numpy as np
import sympy as sp

from derive.claim import Claim, Example, Given, Mutation
from derive.claims import INTERVIEW
from derive.claims.information_loss import N, P, w, z
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.language import (
    Differentiable,
    GradientIs,
    VectorFunction,
    at_most,
    both,
    either,
    equal,
    forall,
    implies,
    index,
    less,
    minus,
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
from derive.twin import Trial, Twin
from derive.twin import at_most as no_more
from derive.twin import equal as agree

ORDER = 57
TOPIC = "information-loss"

# ---------------------------------------------------------------------- the share below zero

inactive = tensor("A", N)
mu, sigma = real("mu"), real("sigma")
share = total(times(P[w], inactive[w]), w)
room = plus(power(sigma, 2), power(mu, 2))
BIASED = both(
    both(forall(w, at_most(0, P[w])), equal(total(P[w], w), 1)),
    forall(
        w,
        either(equal(inactive[w], 0), both(equal(inactive[w], 1), at_most(z[w], 0))),
    ),
    equal(total(times(P[w], z[w]), w), mu),
    equal(total(times(P[w], power(minus(z[w], mu), 2)), w), power(sigma, 2)),
    less(0, mu),
)
BOUND = at_most(share, over(power(sigma, 2), room))


def prove_share(p: Prover) -> Theorem:
    def then(case: Theorem) -> Theorem:
        parts = [p.part(case, e) for e in range(5)]
        reasons = (
            "let $P$ be the probabilities of the $N$ outcomes",
            "let $A$ be 1 for inactive outcomes only, and 0 for the others",
            r"let $\mu$ be the mean", r"and $\sigma^2$ the variance",
            "and let the mean be positive",
        )  # fmt: skip
        for part, reason in zip(parts, reasons, strict=True):
            p.note(part, reason)
        drawn, indicator, centre, spread, positive = parts
        nonneg, one = p.part(drawn, 0), p.part(drawn, 1)
        far = minus(times(mu, minus(z[w], mu)), power(sigma, 2))
        wide = p.fact(p.order(less(0, room), (1, positive, positive)))
        goal = at_most(times(power(room, 2), inactive[w]), power(far, 2))

        def inside(yes: Theorem) -> Theorem:
            below = p.order(at_most(0, times(-1, mu, z[w])), (1, positive, p.part(yes, 1)))
            return p.order(
                goal, (times(-1, power(room, 2)), p.part(yes, 0)), (2, wide, below),
                (1, p.square(times(mu, z[w]))),
            )  # fmt: skip

        pointwise = p.note(
            p.cases(
                p.at(indicator, w),
                lambda no: p.order(goal, (times(-1, power(room, 2)), no), (1, p.square(far))),
                inside,
            ),
            r"outside the event the left side is 0; in it $z \le 0$, so that $\mu z - \mu^2 - "
            r"\sigma^2$ is no more than $-(\mu^2 + \sigma^2)$",
        )
        weighted = p.order(
            at_most(times(P[w], power(room, 2), inactive[w]), times(P[w], power(far, 2))),
            (1, p.at(nonneg, w), pointwise), reason="multiply by a probability",
        )  # fmt: skip
        summed = p.sum_order(weighted, w, reason="add over all outcomes")
        square = total(times(P[w], power(far, 2)), w)
        value = p.equal(
            square, times(power(sigma, 2), room),
            (power(mu, 2), spread), (times(-2, mu, power(sigma, 2)), centre),
            (plus(times(2, power(mu, 2), power(sigma, 2)), power(sigma, 4)), one),
            reason=r"insert mean and variance",
        )  # fmt: skip
        inverse = p.cancel(room, wide)
        q = power(room, -1)
        ones = plus(times(q, room), 1)
        return p.order(
            BOUND, (power(q, 2), summed), (times(-1, power(q, 2)), value),
            (times(share, ones), inverse), (times(-1, power(sigma, 2), q), inverse),
            reason=r"divide by $(\sigma^2 + \mu^2)^2$",
        )  # fmt: skip

    return p.suppose(BIASED, then, "two moments are known")


def drawn_values(rng: np.random.Generator) -> Iterator[tuple[Any, Any]]:
    for size in (2, 3, 7, 40):
        chances = rng.random(size)
        yield chances / chances.sum(), rng.standard_normal(size) + rng.uniform(0.5, 2)


def twin_share(rng: np.random.Generator, divisor: float = 1.0) -> Iterator[Trial]:
    from numeric import relu

    for chances, values in drawn_values(rng):
        mean = float(chances @ values)
        if mean <= 0:
            continue
        spread = float(chances @ (values - mean) ** 2)
        inactive = float(chances @ (relu(values) == 0))
        yield no_more(inactive, spread / (spread + mean**2) / divisor, f"{len(values)} outcomes")
    for ratio in (0.5, 1.0, 2.0):
        values, chances = np.array([0.0, 1.0]), np.array([1.0, ratio**2]) / (1 + ratio**2)
        mean = float(chances @ values)
        spread = float(chances @ (values - mean) ** 2)
        inactive = float(chances @ (relu(values) == 0))
        yield agree(inactive, spread / (spread + mean**2) / divisor, "two outcomes")
    for bias in (0.5, 1.0, 2.0):  # a normal pre-activation
        yield no_more(0.5 * erfc(bias / 2**0.5), 1 / (1 + bias**2), f"normal, mean {bias}")


def share_mutations() -> tuple[Mutation, ...]:
    half = sp.Rational(1, 2)
    return (
        Mutation(
            "the bound is half of that",
            statement=implies(BIASED, at_most(share, over(power(sigma, 2), times(2, room)))),
            counterexample=Example({
                N: 2, P: [half, half], z: [0, 2], inactive: [1, 0], mu: 1, sigma: 1,
            }),
            twin=Twin("shares against half of the bound", lambda rng: twin_share(rng, 2.0)),
        ),
    )  # fmt: skip


SHARE = Claim(
    id="information-loss/biased-share",
    title="How many units can be inactive in spite of a bias",
    source=Source(
        INTERVIEW, ("B30", "B35"),
        "ReLU activates sparsely and loses about half of the information. Beyond the note: with a "
        r"positive mean $\mu$ of the pre-activation the share of inactive units is bounded.",
    ),
    statement=implies(BIASED, BOUND),
    proof=prove_share,
    twin=Twin("shares of inactive outcomes and the bound", twin_share),
    mutations=share_mutations,
    expected=Verdict.PROVED,
    remark=r"The bound is attained by two outcomes, 0 and another. At $\mu = \sigma$ it is one "
    "half. For a normal pre-activation the share is then 15.9 %, which is an integral that "
    "is not proved here.",
)  # fmt: skip


# ---------------------------------------------------------------------- beside a straight line

x = tensor("t", 1)
i = index("i", 1)
above, density = VectorFunction("Q", 1), VectorFunction("phi", 1)
t, q, f = x[0], above(x)[()], density(x)[()]
SLOPES = (
    Given(Differentiable(q), "$Q(t)$ is the probability of more than $t$"),
    Given(Differentiable(f), r"$\varphi$ is the density of the standard normal distribution"),
    Given(forall(i, equal(above.partial(x)[i], times(-1, f))), r"$Q' = -\varphi$"),
    Given(forall(i, equal(density.partial(x)[i], times(-1, t, f))), r"$\varphi' = -t_0\varphi$"),
)
energy = minus(
    minus(times(plus(1, power(t, 2)), q), times(t, f)),
    plus(power(minus(f, times(t, q)), 2), power(q, 2)),
)
slope = times(2, plus(times(f, minus(times(2, q), 1)), times(t, minus(1, q), q)))
MILLS = both(
    less(times(t, q, plus(power(t, 2), 3)), times(f, plus(power(t, 2), 2))),
    at_most(times(q, plus(power(t, 2), 4)), 1),
    less(0, f), less(q, 1),
)  # fmt: skip
KEPT = both(
    GradientIs(energy, x, i, slope),
    implies(both(equal(t, 0), equal(q, sp.Rational(1, 2))), equal(slope, 0)),
    implies(MILLS, less(slope, 0)),
)


def prove_kept(p: Prover) -> Theorem:
    gradient = p.gradient(
        GradientIs(energy, x, i, 0), p.hyp(0), p.hyp(1), reason="product and chain rule"
    )
    value = p.equal(p.partial(gradient, 0), slope, p.at(p.hyp(2), 0), p.at(p.hyp(3), 0), show=False)
    wanted = p.formula(KEPT.args[0])
    equations = T.quantified(
        "forall", "fin", T.eq(gradient.conclusion.children[-1], wanted.children[-1]), T.ONE
    )
    only = infer("finite-forall", [value], equations)
    found = p.note(
        infer("gradient-value", [gradient, only], wanted.children[-1]),
        r"insert $Q' = -\varphi$ and $\varphi' = -t_0\varphi$; there is no other component",
    )

    def flat(case: Theorem) -> Theorem:
        origin, half = p.part(case, 0), p.part(case, 1)
        return p.equal(
            slope, 0, (times(2, minus(1, q), q), origin), (times(4, f), half),
            reason="both terms vanish",
        )  # fmt: skip

    def falls(case: Theorem) -> Theorem:
        mills, tail, positive, below = (p.part(case, e) for e in range(4))
        width = plus(power(t, 2), 3)
        wide = p.fact(p.order(less(0, width), (1, p.square(t))))
        rest = p.order(less(0, minus(1, q)), (1, below))
        scaled = p.order(
            less(times(width, slope), 0), (2, rest, mills), (2, positive, tail),
            reason="multiply by $t_0^2 + 3$, and use both inequalities",
        )  # fmt: skip
        inverse = p.cancel(width, wide)
        return p.order(
            less(slope, 0), (power(width, -1), scaled), (slope, inverse),
            reason="which is positive",
        )  # fmt: skip

    return p.both(
        found,
        p.suppose(KEPT.args[1].args[0], flat, "at the threshold 0 half of the units are active"),
        p.suppose(MILLS, falls, "suppose two bounds for the tail"),
    )


def normal(t: float) -> tuple[float, float]:
    """Q and phi at t; erfc keeps its digits far out."""
    return 0.5 * erfc(t / 2**0.5), exp(-t * t / 2) / (2 * pi) ** 0.5


def kept_energy(t: float) -> float:
    q, f = normal(t)
    return (1 + t * t) * q - t * f - (f - t * q) ** 2 - q * q


def by_integration(t: float) -> float:
    """E[(ReLU(z - t) - a z - b)^2] for the best line, by a fine sum."""
    from numeric import relu

    z = np.linspace(-10, 10, 50_001)
    weights = np.exp(-z * z / 2)
    weights /= weights.sum()
    y = relu(z - t)
    mean = weights @ y
    return float(weights @ (y - mean) ** 2 - (weights @ (y * z)) ** 2)


def slope_of_energy(q: float, f: float, t: float) -> float:
    return 2 * (f * (2 * q - 1) + t * (1 - q) * q)


def twin_kept(
    _rng: np.random.Generator, threshold: float = 0.0,
    slope_at: Callable[[float, float, float], float] = slope_of_energy,
) -> Iterator[Trial]:  # fmt: skip
    grid = np.linspace(-3, 3, 601)
    best = grid[np.argmax([kept_energy(float(t)) for t in grid])]
    yield agree(best, threshold, "where the energy is largest", 1e-9)
    for t in (-1.5, 0.0, 0.4, 1.25, 3.0):
        q, f = normal(t)
        claimed = slope_at(q, f, t)
        measured = (kept_energy(t + 1e-5) - kept_energy(t - 1e-5)) / 2e-5
        yield agree(measured, claimed, f"slope at {t}", 1e-8)
        yield agree(by_integration(t), kept_energy(t), f"energy at {t}", 1e-7)
    for t in (0.8, 1.5, 4.0, 10.0):
        q, f = normal(t)
        yield no_more(t * q * (t * t + 3), f * (t * t + 2), f"first bound at {t}")
        yield no_more(q * (t * t + 4), 1.0, f"second bound at {t}")


def kept_mutations() -> tuple[Mutation, ...]:
    wrong = times(2, plus(times(f, minus(times(2, q), 1)), times(t, q)))
    return (
        Mutation(
            r"the slope has $t Q$ in place of $t (1 - Q) Q$",
            statement=GradientIs(energy, x, i, wrong),
            twin=Twin(
                "slopes of the energy against those with $t Q$",
                lambda rng: twin_kept(rng, slope_at=lambda q, f, t: 2 * (f * (2 * q - 1) + t * q)),
            ),
        ),
        Mutation(
            "the energy is largest at the threshold 1",
            twin=Twin("where the energy is largest, against 1", lambda rng: twin_kept(rng, 1.0)),
        ),
    )


KEPT_ENERGY = Claim(
    id="information-loss/kept-energy",
    title="What no straight line explains, and where it is stationary",
    source=Source(
        INTERVIEW, ("B38",),
        "Fifty percent is a natural optimum, seen from random signal processing; for what, is not "
        r"said. Read as: for a standard normal $z$ and a threshold $t$, the mean square of what is "
        r"left of $\mathrm{ReLU}(z - t)$ beside the best straight line, "
        r"$(1+t^2)Q - t\varphi - (\varphi - tQ)^2 - Q^2$.",
    ),
    statement=KEPT,
    given=SLOPES,
    proof=prove_kept,
    twin=Twin("energies by integration, slopes, and where they are largest", twin_kept),
    mutations=kept_mutations,
    expected=Verdict.PROVED,
    remark=r"$t$ is written as a vector of one component, $t_0$. The first bound is one of Mills' "
    r"ratio, known for all $t_0 > 0$; the second holds from about $t_0 = 0.8$ on. That the energy "
    r"falls on all of $t_0 > 0$, and the integral itself, are seen in numbers and not proved.",
)  # fmt: skip

CLAIMS = (SHARE, KEPT_ENERGY)

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
