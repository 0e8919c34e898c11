r"""Information loss: what ReLU does to shares, mean squares and variances.

The interview note says that ReLU makes activations sparse, and later that it loses about half of
the information.  It names neither a distribution nor a measure of information, so that every
reading is a claim of its own.

Pre-activations ``z`` are random here: a finite probability space, with outcomes of the
probabilities ``P``, one value of ``z`` for each of them, and ``E_P`` for the mean.  The outcomes
may be the units of a layer, its inputs, or both.  Nothing is lost by finiteness: only finitely
many moments occur, and those of any random number are also those of one with finitely many values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import sympy as sp

from derive import auto
from derive.claim import Added, Claim, Correction, Example, Mutation
from derive.claims._relu import (
    at_zero,
    bracket_law,
    by_sign,
    count_brackets,
    half,
    inactive,
    neg,
    of,
    source,
)
from derive.convert import Converter
from derive.counterexample import denied
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.kernel.terms import Lam, Term
from derive.language import (
    at_most,
    both,
    call,
    dim,
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
    real,
    relu,
    tensor,
    times,
    total,
)
from derive.prover import Prover
from derive.result import Verdict
from derive.twin import Trial, Twin, differs, sampled
from derive.twin import equal as agree

ORDER = 57
TOPIC = "information-loss"

x, sigma = real("x"), real("sigma")

NOT_NAMED = "ReLU loses about half of the information; by which measure is not said."

# ---------------------------------------------------------------------- random pre-activations

N = dim("N")
w = index("w", N)
P, z = tensor("P", N), tensor("z", N)
Quantity = Callable[[Any], Any]


@cache
def mean(f: Quantity) -> Any:
    """``E_P``: the sum over the outcomes w of P[w] f(z[w])."""
    outcome = sp.Idx(sp.Dummy("w", integer=True), N)
    return total(times(P[outcome], f(z[outcome])), outcome)


@cache
def spread(f: Quantity) -> Any:
    """``Var_P``: the mean square deviation from the mean."""
    return mean(lambda v: power(plus(f(v), times(-1, mean(f))), 2))


def same(v: Any) -> Any:
    return v


def square(v: Any) -> Any:
    return power(v, 2)


def activated_square(v: Any) -> Any:
    return power(relu(v), 2)


@cache
def mirrored(f: Quantity) -> Quantity:
    return lambda v: f(neg(v))


#: What it takes to speak of a share or a mean; a premise of the statements below.
probabilities = both(forall(w, at_most(0, P[w])), equal(total(P[w], w), 1))
DRAWN = (
    r"let $P$ be the probabilities of the $N$ outcomes, and $\mathbb{E}_P[X]=\sum_i P_i X_i$ the "
    "mean of any $X$"
)


def drawn(p: Prover, then: Callable[[Theorem], Theorem]) -> Theorem:
    """probabilities -> what `then` proves from their adding up to 1."""
    return p.suppose(probabilities, lambda law: then(p.part(law, 1)), DRAWN)


def equal_in_law() -> Term:
    """For every function g of a real number: E_P[g(z)] = E_P[g(-z)]."""
    f = sp.Function("g")
    opened = Converter().formula(equal(mean(f), mean(mirrored(f))))
    return T.quantified("forall", "tensor", T.abstract_tensor(opened, "g", 1), arity=1)


_formula = Converter().formula
SYMMETRIC = equal_in_law()


def under_symmetry(p: Prover, symmetric: Theorem, f: Quantity, reason: str) -> Theorem:
    """E_P[f(z)] = E_P[f(-z)]."""
    variable = T.var("v")
    body = T.abstract(p.term(f(real("v"))), (variable,))
    return p.note(p.at(symmetric, Lam(1, body)), reason)


def table(values: list[Any], weights: list[Any] | None = None) -> dict[Any, Any]:
    """A distribution: values with their probabilities, equal ones if nothing else is said."""
    count = len(values)
    return {N: count, P: weights or [Fraction(1, count)] * count, z: values}


def draws(rng: np.random.Generator, mean: float = 0.0, spread: float = 1.0) -> np.ndarray:
    return mean + spread * rng.standard_normal(40_000)


def share(rng: np.random.Generator, claimed: float, mean: float, what: str) -> Trial:
    """The share of zeros among activations of Gaussian numbers, in standard errors."""
    values = of(draws(rng, mean))
    return sampled(np.mean(values == 0), claimed, (0.25 / values.size) ** 0.5, what)


def in_standard_errors(values: np.ndarray, claimed: float, what: str) -> Trial:
    """The mean of samples against what it should be."""
    return sampled(values.mean(), claimed, values.std() / values.size**0.5, what)


# ---------------------------------------------------------------------- how many are inactive

both_shares = equal(plus(mean(inactive), mean(mirrored(inactive))), plus(1, mean(at_zero)))


def shares_add_up(p: Prover, normalised: Theorem) -> Theorem:
    """P(z <= 0) + P(z >= 0) = 1 + P(z = 0)."""
    counted = count_brackets(p)
    return p.equal(
        *both_shares.args, p.for_all(p.at(counted, z[w]), w), normalised,
        reason="take the mean; the probabilities add up to 1",
    )  # fmt: skip


def distributions(rng: np.random.Generator) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Values and probabilities: of every sign, with and without zeros, a single one."""
    for count in (1, 2, 5, 8):
        for values in (rng.standard_normal(count), rng.integers(-1, 2, count).astype(float)):
            weights = rng.uniform(size=count)
            yield values, weights / weights.sum()


def twin_shares(rng: np.random.Generator) -> Iterator[Trial]:
    for values, weights in distributions(rng):
        up, down = weights @ (of(values) == 0), weights @ (of(-values) == 0)
        yield agree(up + down, 1 + weights @ (values == 0), f"{values.size} outcomes")


def share_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "what is at the kink is counted once",
            statement=implies(
                probabilities, equal(plus(mean(inactive), mean(mirrored(inactive))), 1)
            ),
            counterexample=Example(table([0])),
        ),
    )


SHARES = Claim(
    id="information-loss/shares",
    title="Inactive units, counted from either side",
    source=source(
        "B30 B35",
        "Activations are sparse; ReLU loses about half. Of the distribution nothing is said. "
        "Beyond the note: what holds for all of them.",
    ),
    statement=implies(probabilities, both_shares),
    proof=lambda p: drawn(p, lambda normalised: shares_add_up(p, normalised)),
    twin=Twin("shares of zeros for random distributions", twin_shares),
    mutations=share_mutations,
    expected=Verdict.PROVED,
    remark=r"$\mathbb{P}(z\le0)+\mathbb{P}(z\ge0)=1+\mathbb{P}(z=0)$.",
)


def prove_half(p: Prover) -> Theorem:
    balanced, no_atom = p.hyp(0), p.hyp(1)

    def then(normalised: Theorem) -> Theorem:
        counted = shares_add_up(p, normalised)
        return p.equal(
            mean(inactive), half, (half, counted), (half, balanced), (half, no_atom),
            reason="the two shares on the left are equal, and nothing is at 0: halve",
        )  # fmt: skip

    return drawn(p, then)


def twin_half(rng: np.random.Generator, bias: float = 0.0) -> Iterator[Trial]:
    yield share(rng, 0.5, bias, "Gaussian of mean zero")
    yield share(rng, 0.158655253931457, 1.0, "Gaussian of mean one: 15.9 %")
    skewed = np.array([-1.0, -1.0, 2.0, 5.0])
    yield agree(np.mean(of(skewed) == 0), 0.5, "median zero, not symmetric")
    for values in ([1.0], [0.0], [-1.0], [0.0, -1.0, 1.0]):
        zeros = np.mean(of(np.array(values)) == 0)
        yield differs(zeros, 0.5, by=0.1, what=f"values {values}")


def half_mutations() -> tuple[Mutation, ...]:
    centred = equal(mean(same), 0)
    skewed = table([-1, 3], [Fraction(3, 4), Fraction(1, 4)])
    return (
        Mutation(
            "a bias of 1 changes nothing: half of the units give zero whatever the median is",
            given=(),
            counterexample=Example(table([1])),
            twin=Twin(
                "share of zeros among activations with a bias of 1",
                lambda rng: twin_half(rng, bias=1.0),
            ),
        ),
        Mutation(
            "a mean of zero is enough",
            statement=implies(probabilities, implies(centred, equal(mean(inactive), half))),
            given=(),
            counterexample=Example(skewed),
        ),
    )


HALF = Claim(
    id="information-loss/half-inactive",
    title="Half of the units give zero",
    source=source(
        "B30 B35",
        "ReLU makes activations sparse, and about half is lost; no distribution is named. Read "
        "here as: a pre-activation gives 0 with probability one half.",
    ),
    statement=implies(probabilities, equal(mean(inactive), half)),
    added=(
        Added(
            equal(mean(inactive), mean(mirrored(inactive))),
            Example(table([1])),
            r"median zero: $z\le0$ is as probable as $z\ge0$. In the example, as with a large "
            "bias, no unit is inactive",
        ),
        Added(
            equal(mean(at_zero), 0),
            Example(table([0])),
            "no mass at zero. In the example all units are at the kink, and all give 0",
        ),
    ),
    witness=Example(table([-1, 3])),
    proof=prove_half,
    twin=Twin("share of zeros among activations of samples and of small tables", twin_half),
    mutations=half_mutations,
    expected=Verdict.CONDITIONAL,
    remark=r"Neither a Gaussian law nor symmetry is needed. For a Gaussian of mean $\mu$ and "
    r"standard deviation $\sigma$ the share is $\Phi(-\mu/\sigma)$: 15.9 % for $\mu=\sigma$.",
)

all_active = forall(w, less(0, z[w]))
all_dead = forall(w, at_most(z[w], 0))


def prove_extremes(p: Prover) -> Theorem:
    def active(above: Theorem) -> Theorem:
        p.fact(p.at(above, w))
        none = p.equal(
            inactive(z[w]), 0, (over(1, z[w]), bracket_law(p, z[w])),
            reason="ReLU keeps $z_w$, which is not 0",
        )  # fmt: skip
        return p.equal(mean(inactive), 0, p.for_all(none, w), reason="in every outcome")

    def dead(normalised: Theorem, below: Theorem) -> Theorem:
        p.fact(p.at(below, w))
        one = p.equal(inactive(z[w]), 1, reason="ReLU gives 0")
        return p.equal(
            mean(inactive), 1, p.for_all(one, w), normalised,
            reason="in every outcome; the probabilities add up to 1",
        )  # fmt: skip

    def then(normalised: Theorem) -> Theorem:
        return p.both(
            p.suppose(all_active, active, "let every pre-activation be positive"),
            p.suppose(
                all_dead, lambda below: dead(normalised, below),
                "let no pre-activation be positive",
            ),
        )  # fmt: skip

    return drawn(p, then)


def twin_extremes(rng: np.random.Generator) -> Iterator[Trial]:
    from numeric import FeedForwardWeights, linear

    weights = FeedForwardWeights.init(rng, 3, 7)
    x = rng.uniform(-1, 1, (5, 3))
    reach = np.abs(weights.w_1).sum(axis=0)
    for sign, zeros in ((1, 0.0), (-1, 1.0)):
        hidden = of(linear(x, weights.w_1, sign * (reach + 0.1)))
        yield agree(np.mean(hidden == 0), zeros, f"share of zeros, bias of sign {sign}")


EXTREMES = Claim(
    id="information-loss/any-share",
    title="A bias can make no unit inactive, or all",
    source=source(
        "B30",
        "ReLU makes activations sparse. Beyond the note: a bias in front of it decides how many.",
    ),
    statement=implies(
        probabilities,
        both(
            implies(all_active, equal(mean(inactive), 0)),
            implies(all_dead, equal(mean(inactive), 1)),
        ),
    ),
    proof=prove_extremes,
    twin=Twin("share of zeros in a layer with a large bias of either sign", twin_extremes),
    expected=Verdict.PROVED,
    remark="A layer of the second kind gets no gradient either: its units are dead.",
)


# ---------------------------------------------------------------------- energy

squares = equal(plus(activated_square(x), activated_square(neg(x))), square(x))


def split_squares(p: Prover) -> Theorem:
    theorem = by_sign(
        p, x, lambda _: p.equal(*squares.args, reason="one of the two terms is $x^2$, the other 0")
    )
    return p.for_all(theorem, x)


def energy_splits(p: Prover) -> Theorem:
    split = split_squares(p)
    return p.equal(
        plus(mean(activated_square), mean(mirrored(activated_square))), mean(square),
        p.for_all(p.at(split, z[w]), w), reason="take the mean",
    )  # fmt: skip


def prove_half_energy(p: Prover) -> Theorem:
    return half_of_energy(p, p.hyp(0))


def half_of_energy(p: Prover, symmetric: Theorem) -> Theorem:
    split = energy_splits(p)
    same_law = under_symmetry(
        p, symmetric, activated_square, r"symmetry, for the function $g(v)=\max(0,v)^2$"
    )
    return p.equal(
        mean(activated_square), times(half, mean(square)), (half, split), (half, same_law),
        reason="the two means on the left are equal: halve",
    )  # fmt: skip


def energies(values: np.ndarray, weights: np.ndarray) -> tuple[float, float, float]:
    """Mean squares after ReLU, after ReLU of the negated numbers, and before."""
    up, down, before = (weights @ v**2 for v in (of(values), of(-values), values))
    return float(up), float(down), float(before)


def symmetric(rng: np.random.Generator) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    for values, weights in distributions(rng):
        yield np.concatenate([values, -values]), np.concatenate([weights, weights]) / 2


def twin_energy(rng: np.random.Generator) -> Iterator[Trial]:
    for values, weights in distributions(rng):
        up, down, before = energies(values, weights)
        yield agree(up + down, before, f"{values.size} outcomes")


ENERGY_SPLITS = Claim(
    id="information-loss/energy-splits",
    title="The two parts share the mean square",
    source=source(
        "B35", f"{NOT_NAMED} Beyond the note: what holds of mean squares for any distribution."
    ),
    statement=equal(
        plus(mean(activated_square), mean(mirrored(activated_square))), mean(square)
    ),
    proof=energy_splits,
    twin=Twin("mean squares of both parts for random distributions", twin_energy),
    expected=Verdict.PROVED,
)  # fmt: skip


def twin_half_energy(
    rng: np.random.Generator,
    drawn: Callable[[np.random.Generator], Iterator[tuple[np.ndarray, np.ndarray]]] = symmetric,
) -> Iterator[Trial]:
    for values, weights in drawn(rng):
        up, _, before = energies(values, weights)
        yield agree(up, before / 2, f"{values.size} outcomes")
    values = draws(rng, 0.0, 1.7)
    kept = of(values) ** 2 - values**2 / 2
    yield in_standard_errors(kept, 0.0, "Gaussian samples")
    up, _, before = energies(np.ones(1), np.ones(1))
    yield differs(up, before / 2, by=0.4, what="a single positive value")


def energy_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "half is kept whatever the distribution is",
            given=(),
            counterexample=Example(table([1])),
            twin=Twin(
                "mean squares for distributions that are not symmetric",
                lambda rng: twin_half_energy(rng, distributions),
            ),
        ),
        Mutation(
            "all of the mean square is kept",
            statement=equal(mean(activated_square), mean(square)),
            given=(),
            counterexample=Example(table([1, -1])),
        ),
    )


HALF_ENERGY = Claim(
    id="information-loss/half-energy",
    title="Half of the mean square is kept",
    source=source(
        "B35",
        f"{NOT_NAMED} Read here as: the mean square of an activation is half of that of the "
        "pre-activation.",
    ),
    statement=equal(mean(activated_square), times(half, mean(square))),
    added=(
        Added(
            SYMMETRIC,
            Example(table([1])),
            "a symmetric distribution: $z$ and $-z$ give every function the same mean. In the "
            "example the only value is positive, and nothing is lost",
        ),
    ),
    witness=Example(table([-2, 2]), auto.prove),
    proof=prove_half_energy,
    twin=Twin("mean squares for symmetric distributions and Gaussian samples", twin_half_energy),
    mutations=energy_mutations,
    expected=Verdict.CONDITIONAL,
    remark="This is the factor 2 in the initialisation of He et al. for layers with ReLU.",
)


# ---------------------------------------------------------------------- variance


def variance_of(p: Prover, f: Quantity, normalised: Theorem, what: str) -> Theorem:
    """Var_P[f(z)] = E_P[f(z)^2] - E_P[f(z)]^2."""
    return p.equal(
        spread(f), plus(mean(lambda v: power(f(v), 2)), times(-1, power(mean(f), 2))),
        normalised,
        reason=f"{what}: multiply the square out; the probabilities add up to 1",
    )  # fmt: skip


def centred(p: Prover, symmetric: Theorem) -> Theorem:
    mirror = under_symmetry(p, symmetric, same, "symmetry, for $g(v)=v$")
    return p.equal(mean(same), 0, (half, mirror), reason="so that the mean is its own negative")


less_of_variance = plus(times(half, spread(same)), times(-1, power(mean(relu), 2)))


def law_and(*premises: Term) -> Term:
    """A symmetric distribution, and what else is assumed of it."""
    return T.conj(*_formula(probabilities).children, SYMMETRIC, *premises)


def prove_variance(p: Prover) -> Theorem:
    def within(law: Theorem) -> Theorem:
        normalised, symmetric = p.part(law, 1), p.part(law, 2)
        kept = half_of_energy(p, symmetric)
        zero = centred(p, symmetric)
        before = p.equal(
            spread(same), mean(square), variance_of(p, same, normalised, "before"), zero,
            reason="the mean vanishes",
        )  # fmt: skip
        after = variance_of(p, relu, normalised, "after")
        return p.equal(
            spread(relu), less_of_variance, (1, after), (1, kept), (-half, before),
            reason="half of the mean square is kept",
        )  # fmt: skip

    return p.suppose(law_and(), within, f"{DRAWN}, the same for $z$ and $-z$")


def twin_variance(rng: np.random.Generator) -> Iterator[Trial]:
    for values, weights in symmetric(rng):
        after = weights @ of(values) ** 2 - (weights @ of(values)) ** 2
        wanted = weights @ values**2 / 2 - (weights @ of(values)) ** 2
        yield agree(after, wanted, f"{values.size} outcomes")
    signs = of(np.array([1.0, -1.0]))
    yield agree(signs.var(), 0.25, "two signs: a quarter, not a half")
    values = draws(rng)
    yield differs(
        of(values).var(), values.var() / 2, by=0.14, what="Gaussian samples: 0.341, not 0.5"
    )


half_variance = T.implies(law_and(), _formula(equal(spread(relu), times(half, spread(same)))))
variance_left = T.implies(law_and(), _formula(equal(spread(relu), less_of_variance)))


def variance_mutations() -> tuple[Mutation, ...]:
    def left(of_mean: Any) -> Term:
        return T.implies(
            law_and(), _formula(equal(spread(relu), plus(times(half, spread(same)), of_mean)))
        )

    first = mean(relu)
    return (
        Mutation(
            "the square of the mean is added, not taken away",
            statement=left(power(first, 2)),
            counterexample=Example(table([1, -1]), auto.prove),
        ),
        Mutation(
            "the mean itself is taken away, not its square",
            statement=left(times(-1, first)),
            counterexample=Example(table([1, -1]), auto.prove),
        ),
    )


VARIANCE = Claim(
    id="information-loss/half-variance",
    title="Half of the variance is kept",
    source=source(
        "B35",
        f"{NOT_NAMED} Read here with the variance as its measure, and for symmetric distributions, "
        "of which half of the mean square is kept.",
    ),
    statement=half_variance,
    counterexample=Example(table([1, -1])),
    correction=Correction(variance_left, prove_variance),
    twin=Twin("variances for symmetric distributions and Gaussian samples", twin_variance),
    mutations=variance_mutations,
    expected=Verdict.REFUTED,
    remark="What is missing is the square of the mean that the activation acquires.",
)

sigma = real("sigma")
root = power(times(2, sp.pi), half)
constant = minus(half, over(1, times(2, sp.pi)))
half_normal = law_and(
    _formula(equal(mean(square), power(sigma, 2))),
    _formula(equal(mean(relu), over(sigma, root))),
)
kept_variance = _formula(equal(spread(relu), times(constant, power(sigma, 2))))


def prove_gaussian(p: Prover) -> Theorem:
    def within(moments: Theorem) -> Theorem:
        normalised, symmetric, second, first = (p.part(moments, n) for n in range(1, 5))
        kept = half_of_energy(p, symmetric)
        after = variance_of(p, relu, normalised, "after")
        inserted = plus(times(half, power(sigma, 2)), times(-1, power(over(sigma, root), 2)))
        return p.calc(
            spread(relu),
            (
                inserted, "half of the mean square is kept; insert both moments",
                after, kept, second, first,
            ),
            (times(constant, power(sigma, 2)), r"collect $\sigma^2$"),
        )  # fmt: skip

    return p.suppose(
        half_normal,
        within,
        r"what is used of a Gaussian of mean 0 and variance $\sigma^2$: symmetry and two moments",
    )


def twin_gaussian(rng: np.random.Generator, kept: float = 0.5 - 0.5 / np.pi) -> Iterator[Trial]:
    for spread in (1.0, 0.4, 3.0):
        values = of(draws(rng, 0.0, spread))
        wanted = kept * spread**2
        first = spread / (2 * np.pi) ** 0.5
        yield in_standard_errors(values, first, f"mean for sigma={spread}")
        yield in_standard_errors((values - first) ** 2, wanted, f"variance for sigma={spread}")
    yield agree(0.5 - 0.5 / np.pi, 0.340845, "34 % are kept, 66 % lost", tolerance=1e-6)


def three_values(p: Prover, target: Term) -> Theorem:
    r"""The probabilities 1/pi, 1/pi and 1 - 2/pi are not negative, since $\sin x\le x$."""
    law, halved = target.children[0].children
    quarter_turn = times(half, sp.pi)
    above = p.mp(p.axiom("sin-upper", quarter_turn), p.trivial(at_most(0, quarter_turn)))
    weights = law.children[0]
    chances = [T.instantiate(weights.children[1], (T.num(n),)) for n in range(3)]
    rest = p.order(chances[2], (over(2, sp.pi), above))
    none_negative = infer("finite-forall", [*map(p.trivial, chances[:2]), rest], weights)
    holds = p.both(none_negative, *(auto.prove(p, part) for part in law.children[1:]))
    return infer("not-implies", [holds, p.trivial(T.negate(halved))])


def gaussian_mutations() -> tuple[Mutation, ...]:
    number = Converter().term
    side, tail = number(power(over(sp.pi, 2), half)), number(over(1, sp.pi))
    rest = number(minus(1, over(2, sp.pi)))
    moments_of_a_gaussian = table([side, T.neg(side), 0], [tail, tail, rest])
    halved = _formula(equal(spread(relu), times(half, power(sigma, 2))))
    return (
        Mutation(
            "the variance is halved",
            statement=T.implies(half_normal, halved),
            counterexample=Example({**moments_of_a_gaussian, sigma: 1}, three_values),
            twin=Twin(
                "variance of activations of Gaussian samples against a half",
                lambda rng: twin_gaussian(rng, kept=0.5),
            ),
        ),
    )


GAUSSIAN = Claim(
    id="information-loss/gaussian-variance",
    title="The variance that is kept of a Gaussian",
    source=source(
        "B35",
        f"{NOT_NAMED} Beyond the note: what is left of the variance of a Gaussian of mean zero.",
    ),
    statement=T.implies(half_normal, kept_variance),
    proof=prove_gaussian,
    twin=Twin("mean and variance of activations of Gaussian samples", twin_gaussian),
    mutations=gaussian_mutations,
    expected=Verdict.PROVED,
    remark="About 0.341: two thirds of the variance are gone, not half. Only the moments that are "
    "written here enter, so that finitely many outcomes are no restriction.",
)


# ---------------------------------------------------------------------- in bits

M = dim("M")
i, j = index("i", 2 * M), index("j", M)
each = over(1, times(2, M))


def log(t: Any) -> Any:
    return call(sp.log, t)


#: entropy before and after
before, after = real("H"), real("K")
entropies = both(
    equal(before, neg(total(times(each, log(each)), i))),
    equal(after, minus(neg(times(half, log(half))), total(times(each, log(each)), j))),
)
lost = minus(before, after)
in_bits = both(equal(lost, times(half, log(M))), less(lost, times(half, before)))


def log_of_product(p: Prover, a: Any, b: Any) -> Theorem:
    """log(a b) = log a + log b, for a and b that are known to be positive."""
    return p.mp(p.axiom("log-product", a, b), p.trivial(less(0, a)), p.trivial(less(0, b)))


def log_of_half(p: Prover) -> Theorem:
    """log 1/2 = -log 2."""
    return p.equal(log(half), neg(log(2)), (-1, log_of_product(p, 2, half)), show=False)


def prove_in_bits(p: Prover) -> Theorem:
    one = p.equal(
        log(each), minus(neg(log(2)), log(M)),
        (-1, log_of_product(p, times(2, M), each)), (-1, log_of_product(p, 2, M)), show=False,
    )  # fmt: skip
    p.note(one, r"$\log\frac1{2M}=-\log(2M)$, and the logarithm of a product is a sum")
    halved = p.note(log_of_half(p), "likewise")
    tangent = p.mp(p.axiom("log-tangent", half), p.trivial(less(0, half)))
    p.note(tangent, r"the tangent of the logarithm at 1: $\log x\le x-1$, at $x=\frac12$")
    positive = p.order(at_most(half, log(2)), (1, tangent), (1, halved), reason="so that")

    def within(defined: Theorem) -> Theorem:
        whole = p.equal(
            before, plus(log(2), log(M)), p.part(defined, 0), one, reason="insert: $2M$ equal terms"
        )  # fmt: skip
        kept = p.equal(
            after, plus(log(2), times(half, log(M))), p.part(defined, 1), one, halved,
            reason="insert: a term for $0$, and $M$ equal ones",
        )  # fmt: skip
        gone = p.equal(lost, times(half, log(M)), whole, kept, reason="the difference")
        share = p.order(
            less(lost, times(half, before)), (half, positive), (-1, gone), (half, whole),
            reason=r"the loss is less than half of the entropy by $\frac12\log2$",
        )  # fmt: skip
        return p.both(gone, share)

    return p.suppose(entropies, within, "$H$ of the number and $K$ of its activation")


def entropy_of(values: np.ndarray) -> float:
    """In bits, of the values of equally probable outcomes."""
    _, counts = np.unique(values, return_counts=True)
    shares = counts / values.size
    return float(-(shares * np.log2(shares)).sum())


def twin_in_bits(rng: np.random.Generator) -> Iterator[Trial]:
    for largest, wanted in ((1, 0.0), (2, 0.25), (64, 3 / 7), (1024, 10 / 22)):
        values = np.concatenate([np.arange(1, largest + 1), -np.arange(1, largest + 1)])
        whole, kept = entropy_of(values), entropy_of(of(values))
        yield agree(whole - kept, np.log2(largest) / 2, f"bits lost, M={largest}")
        yield agree((whole - kept) / whole, wanted, f"share lost, M={largest}")


def bit_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            r"$\frac12\log(2M)$ is lost, with the sign of the number",
            statement=implies(entropies, equal(lost, times(half, log(times(2, M))))),
            counterexample=Example({M: 1}),
        ),
    )


IN_BITS = Claim(
    id="information-loss/half-of-the-bits",
    title="Half of the bits are lost",
    source=source(
        "B35",
        rf"{NOT_NAMED} Read here with Shannon's measure: of a number that is any of "
        r"$\pm1,\dots,\pm M$ with the same probability, half of the entropy goes.",
    ),
    statement=implies(entropies, equal(lost, times(half, before))),
    counterexample=Example({M: 1}),
    correction=Correction(implies(entropies, in_bits), prove_in_bits),
    twin=Twin("entropies of enumerated values before and after", twin_in_bits),
    mutations=bit_mutations,
    expected=Verdict.REFUTED,
    remark=r"The share is $\frac12\log M/\log(2M)$: 25 % for $M=2$, 43 % for $M=64$, and it tends "
    "to a half. For a continuous number the measure says nothing: both entropies are infinite.",
)

# ---------------------------------------------------------------------- one half as an optimum

OPTIMUM = Claim(
    id="information-loss/natural-optimum",
    title="Fifty percent as a natural optimum",
    source=source(
        "B38",
        "From the point of view of random signal processing a loss of 50 % is a natural optimum.",
    ),
    reason="No quantity is named that would be optimal. For the entropy of the gates one half is "
    "the maximum, which is a claim of its own; for other aims, such as sparse codes, it is not.",
    expected=Verdict.NOT_MATHEMATICAL,
)

p_on, s = real("p"), real("s")


def gate(share: Any) -> Any:
    """The entropy of a gate that is open with this probability."""
    closed = minus(1, share)
    return minus(neg(times(share, log(share))), times(closed, log(closed)))


is_share = both(less(0, p_on), less(p_on, 1))
largest = both(
    equal(gate(half), log(2)),
    at_most(gate(p_on), log(2)),
    implies(negation(equal(p_on, half)), less(gate(p_on), log(2))),
)


def square_root(t: Any) -> Any:
    return power(t, half)


def off(share: Any) -> Any:
    """How far the root of a probability is from that of one half."""
    return minus(square_root(share), square_root(half))


def surprise(p: Prover, halves: Theorem) -> Theorem:
    """For all s > 0: -s log s <= s log 2 + 2 sqrt s sqrt 1/2 - 2 s."""

    def within(_: Theorem) -> Theorem:
        root, middle = square_root(s), square_root(half)
        ratio = over(middle, root)
        tangent = p.mp(p.axiom("log-tangent", ratio), p.trivial(less(0, ratio)))
        p.note(tangent, r"the tangent of the logarithm at 1: $\log x\le x-1$, at a ratio of roots")
        quotient = log_of_product(p, root, ratio)
        doubled, halved = log_of_product(p, root, root), log_of_product(p, middle, middle)
        value = p.equal(
            log(ratio), times(half, minus(neg(log(2)), log(s))),
            (-1, quotient), (half, doubled), (-half, halved), (half, halves),
            reason="the logarithm of a ratio is a difference, that of a root is one half",
        )  # fmt: skip
        return p.order(
            at_most(
                neg(times(s, log(s))), plus(times(s, log(2)), times(2, root, middle), times(-2, s))
            ),
            (times(2, s), tangent), (times(2, s), value),
            reason="multiply by twice the probability",
        )  # fmt: skip

    return p.for_all(p.suppose(less(0, s), within, "let $s$ be any probability"), s)


def prove_gate(p: Prover) -> Theorem:
    halves = log_of_half(p)
    top = p.equal(gate(half), log(2), halves, reason=r"$\log\frac12=-\log2$")
    bound = surprise(p, halves)

    def within(between: Theorem) -> Theorem:
        low, high = p.part(between, 0), p.part(between, 1)
        closed = minus(1, p_on)
        rest = p.fact(p.order(less(0, closed), (1, high)))
        open_part = p.mp(p.at(bound, p_on), low)
        closed_part = p.note(
            p.both(open_part, p.mp(p.at(bound, closed), rest)),
            "at the probabilities of an open and of a closed gate",
        )
        open_part, closed_part = p.part(closed_part, 0), p.part(closed_part, 1)
        squares = plus(power(off(p_on), 2), power(off(closed), 2))
        sharp = p.order(
            at_most(gate(p_on), minus(log(2), squares)), (1, open_part), (1, closed_part),
            reason="add the two; what is left over are two squares",
        )  # fmt: skip
        most = p.order(
            at_most(gate(p_on), log(2)), (1, sharp), (1, p.square(off(p_on))),
            (1, p.square(off(closed))), reason="squares are not negative",
        )  # fmt: skip

        def apart(elsewhere: Theorem) -> Theorem:
            differ = roots_differ(p, elsewhere)
            above = p.mp(p.at(positive_square(p), off(p_on)), differ)
            p.note(above, "then the first square is not zero")
            return p.order(
                less(gate(p_on), log(2)), (1, sharp), (1, above), (1, p.square(off(closed))),
                reason="so that the inequality is strict",
            )  # fmt: skip

        strictly = p.suppose(
            negation(equal(p_on, half)), apart, r"let $p$ be another number than $\frac12$"
        )
        return p.both(top, most, strictly)

    return p.suppose(is_share, within, "let $p$ be the probability that a unit is active")


def positive_square(p: Prover) -> Theorem:
    """For all s: s != 0 -> 0 < s^2."""
    with p.supposing(negation(equal(s, 0))) as nonzero:
        theorem = p.discharge(p.trivial(less(0, power(s, 2)), nonzero), nonzero)
    return p.for_all(theorem, s)


def roots_differ(p: Prover, elsewhere: Theorem) -> Theorem:
    """sqrt p != sqrt 1/2, since p != 1/2."""
    same = p.assume(equal(off(p_on), 0))
    squared = p.equal(
        p_on, half, (plus(square_root(p_on), square_root(half)), same), show=False
    )  # fmt: skip
    absurd = infer("contradiction", [squared, elsewhere], T.negate(same.conclusion))
    return infer("deny", [absurd], same.conclusion)


def twin_gate(rng: np.random.Generator, best: float = 0.0) -> Iterator[Trial]:
    """`best` is the threshold that is said to be the best one; 0 and 1 are tried."""
    shares = np.concatenate([np.linspace(0.01, 0.99, 99), rng.uniform(0.001, 0.999, 50)])
    entropies = -shares * np.log2(shares) - (1 - shares) * np.log2(1 - shares)
    yield agree(shares[np.argmax(entropies)], 0.5, "where it is largest")
    yield agree(entropies.max(), 1.0, "one bit")
    for threshold in (0.0, 1.0):
        zeros = np.mean(of(draws(rng) - threshold) == 0)
        entropy = -zeros * np.log2(zeros) - (1 - zeros) * np.log2(1 - zeros)
        wanted = 1.0 if threshold == best else 0.6309
        yield agree(entropy, wanted, f"Gaussian numbers, threshold {threshold}", tolerance=0.02)


def best_in_the_middle(p: Prover, target: Term) -> Theorem:
    """The entropy at one half is not at most that at 1/4, where it is less than log 2."""
    elsewhere = sp.Rational(1, 4)
    inside = p.trivial(less(0, elsewhere)), p.trivial(less(elsewhere, 1))
    known = p.mp(p.at(p.for_all(prove_gate(p), p_on), elsewhere), *inside)
    apart = p.trivial(negation(equal(elsewhere, half)))
    strict, top = p.mp(p.part(known, 2), apart), p.part(known, 0)

    def differ(statement: Term) -> Theorem:
        with p.supposing(statement) as case:
            wrong = p.order(T.lt(T.ZERO, T.ZERO), (1, strict), (1, case), (1, top))
            right = p.trivial(T.negate(wrong.conclusion))
            none = infer("contradiction", [wrong, right], T.negate(statement))
        return infer("deny", [none], statement)

    return denied(target.children[0], 1, differ)


def gate_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "the threshold 1 is the best one, at which less than a quarter of the units is active",
            statement=implies(is_share, at_most(gate(p_on), gate(sp.Rational(1, 4)))),
            counterexample=Example({p_on: half}, best_in_the_middle),
            twin=Twin(
                "entropies of gates at the thresholds 0 and 1",
                lambda rng: twin_gate(rng, best=1.0),
            ),
        ),
    )


GATE = Claim(
    id="information-loss/gate-entropy",
    title="A gate says most when it is open half of the time",
    source=source(
        "B38",
        "A loss of 50 % is a natural optimum; of which quantity is not said. Beyond the "
        "note: of the entropy of whether a unit is active.",
    ),
    statement=implies(is_share, largest),
    proof=prove_gate,
    twin=Twin("entropies of gates on a grid and of samples", twin_gate),
    mutations=gate_mutations,
    expected=Verdict.PROVED,
)

CLAIMS = (
    SHARES, HALF, EXTREMES, ENERGY_SPLITS, HALF_ENERGY, VARIANCE, GAUSSIAN, IN_BITS,
    OPTIMUM, GATE,
)  # fmt: skip

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
