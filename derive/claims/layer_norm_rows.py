r"""Layer normalisation: how large its entries get, and how it behaves at rows that are constant.

Beyond what the derivations note says of ``(x - mu) / (sigma + epsilon)``: bounds for single
entries, the smallest widths, the sign of the row, the divisor ``d - 1`` that some programs use for
the variance, and why the function has a derivative at a constant row, but no second one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import sympy as sp

from derive.claim import Claim, Example, Given, Mutation, Notation
from derive.claims import DERIVATIONS
from derive.claims._norms import (
    FORMS,
    INSIDE,
    MEAN,
    OUTSIDE,
    SPREAD,
    Entry,
    a,
    b,
    c,
    centred,
    d,
    defined_by,
    definitions,
    deviation_of,
    epsilon,
    half,
    mean_of,
    mu,
    one,
    rewritten,
    root,
    sigma,
    square,
    square_of_deviation,
    sum_of_centred,
    variance_in,
    x,
)
from derive.claims.layer_norm import (
    EPSILON,
    FORMULA,
    hat,
    layer,
    learn_sign,
    samples,
    spread_and_divisor,
)
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.kernel.terms import KernelError
from derive.language import (
    at_most,
    both,
    equal,
    forall,
    implies,
    less,
    minus,
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
from derive.twin import Trial, Twin
from derive.twin import at_most as no_more
from derive.twin import equal as agree

ORDER = 42
TOPIC = "layer-norm"


def source(beyond: str) -> Source:
    return Source(DERIVATIONS, ("A31",), f"{FORMULA} Beyond the note: {beyond}")


# ---------------------------------------------------------------------- how large an entry gets

NOT_NEGATIVE = both(at_most(0, epsilon), less(0, sigma))


def ratio(form: Any, i: Any) -> Any:
    return over(centred(i), form.divisor)


def prove_bound(p: Prover) -> Theorem:
    def then(case: Theorem) -> Theorem:
        sums = sum_of_centred(p, p.hyp(0))
        squares = square_of_deviation(p, p.hyp(1))
        bound = _largest_entry(p, sums, squares)
        parts = []
        for form in FORMS:
            parts.append(_divided_by(p, form, bound, case))
        return p.for_all(p.both(*parts), c)

    return p.suppose(NOT_NEGATIVE, then, r"let $\epsilon \ge 0$, and let the row not be constant")


def _largest_entry(p: Prover, sums: Theorem, squares: Theorem) -> Theorem:
    """u_c^2 <= (d - 1) sigma^2."""
    others = times(minus(1, one(a, c)), minus(1, one(b, c)))
    pairs = p.sum_order(p.square(times(others, minus(centred(a), centred(b)))), a, b)
    p.note(pairs, "squares of differences of the features other than $c$")
    rest = minus(total(square(centred(a)), a), square(centred(c)))
    spread = p.order(
        at_most(square(centred(c)), times(minus(d, 1), rest)),
        (half, pairs),
        (plus(total(centred(b), b), times(-2, centred(c))), sums),
        reason=r"multiply out; the other $x_a - \mu$ sum to $-(x_c - \mu)$, since all sum to 0",
    )
    return p.order(
        at_most(square(centred(c)), times(minus(d, 1), square(sigma))),
        (over(1, d), spread), (minus(d, 1), squares),
        reason=r"insert $\sigma^2$, and divide by $d_{\text{model}}$",
    )  # fmt: skip


def _divided_by(p: Prover, form: Any, bound: Theorem, case: Theorem) -> Theorem:
    """(u_c / s)^2 <= d - 1."""
    nonneg, positive = p.part(case, 0), p.part(case, 1)
    p.fact(positive)
    if form is OUTSIDE:
        room = p.order(less(0, form.divisor), (1, nonneg), (1, positive))
        wider = p.order(
            at_most(square(sigma), square(form.divisor)), (1, nonneg, nonneg),
            (2, nonneg, positive),
        )  # fmt: skip
    else:
        under = p.order(less(0, form.usable), (1, positive, positive), (1, nonneg))
        p.fact(under)
        room = p.trivial(less(0, form.divisor), under)
        wider = p.order(at_most(square(sigma), square(form.divisor)), (1, nonneg))
    p.fact(room)
    inverse = p.cancel(form.divisor, room)
    fits = p.order(
        at_most(square(centred(c)), times(minus(d, 1), square(form.divisor))),
        (1, bound), (1, p.order(at_most(0, minus(d, 1))), wider),
    )  # fmt: skip
    share = power(form.divisor, -1)
    ones = plus(times(share, form.divisor), 1)
    return p.order(
        at_most(square(ratio(form, c)), minus(d, 1)),
        (square(share), fits), (times(-1, minus(d, 1), ones), inverse),
        reason="divide by the square of the divisor, which is no less than "
        r"$\sigma^2$",
    )  # fmt: skip


def twin_bound(rng: np.random.Generator, tighter: float = 0.0) -> Iterator[Trial]:
    for rows in samples(rng):
        width = rows.shape[1]
        for form in FORMS:
            limit = np.full(rows.shape, width - 1 - tighter)
            yield no_more(hat(form, rows) ** 2, limit, f"width {width}")
        if width > 1:
            lone = np.eye(width)[:1]
            largest = hat(OUTSIDE, lone, 1e-12).max() ** 2
            yield agree(largest, width - 1 - tighter, f"a lone feature, width {width}", 1e-6)


def bound_mutations() -> tuple[Mutation, ...]:
    tighter = forall(c, at_most(square(ratio(OUTSIDE, c)), minus(d, 2)))
    return (
        Mutation(
            r"the bound is $\sqrt{d_{\text{model}} - 2}$",
            statement=implies(NOT_NEGATIVE, tighter),
            counterexample=Example({d: 2, x: [1, -1], mu: 0, sigma: 1, epsilon: 0}),
            twin=Twin(
                "squares of normalised entries against one less",
                lambda rng: twin_bound(rng, tighter=1.0),
            ),
        ),
    )


BOUND = Claim(
    id="layer-norm/entry-bound",
    title="No entry of a normalised row is large",
    source=source(
        r"no normalised entry exceeds $\sqrt{d_{\text{model}} - 1}$, whatever the row is."
    ),
    statement=implies(
        NOT_NEGATIVE,
        forall(c, both(*(at_most(square(ratio(form, c)), minus(d, 1)) for form in FORMS))),
    ),
    given=(MEAN, SPREAD),
    proof=prove_bound,
    defined=defined_by(learn_sign),
    twin=Twin("normalised entries, and those of a row with a single feature", twin_bound),
    mutations=bound_mutations,
    expected=Verdict.PROVED,
    remark=r"With $\epsilon = 0$ a row attains it in which one feature differs from all others.",
)  # fmt: skip


# ---------------------------------------------------------------------- one or two features

lone_row, pair_row = tensor("x", 1), tensor("y", 2)
pair_mean = over(plus(pair_row[0], pair_row[1]), 2)
pair_deviation = root(over(plus(*(square(minus(pair_row[e], pair_mean)) for e in (0, 1))), 2))
NARROW = (
    Notation(equal(mu, pair_mean), r"$\mu$ is the mean of the two features of $y$"),
    Notation(equal(sigma, pair_deviation), r"$\sigma$ their standard deviation"),
)
narrow = both(
    equal(minus(lone_row[0], over(lone_row[0], 1)), 0),
    implies(
        negation(equal(pair_row[0], pair_row[1])),
        both(
            equal(square(over(minus(pair_row[0], mu), sigma)), 1),
            equal(
                over(minus(pair_row[1], mu), sigma),
                times(-1, over(minus(pair_row[0], mu), sigma)),
            ),
        ),
    ),
)


def _narrow_spread(p: Prover, mean: Theorem, deviation: Theorem) -> Theorem:
    """sigma^2 = ((y_0 - y_1) / 2)^2."""
    return p.equal(
        square(sigma), square(over(minus(pair_row[0], pair_row[1]), 2)),
        square_of_deviation(p, deviation), mean,
        reason="both features lie half their difference from the mean",
    )  # fmt: skip


def _narrow_positive(p: Prover, apart: Theorem, spread: Theorem) -> Theorem:
    """0 < sigma, from y_0 != y_1."""
    goal = p.formula(less(0, sigma))
    gap = minus(pair_row[0], pair_row[1])

    def vanishes(reached: Theorem) -> Theorem:
        zero = infer("antisymmetry", [reached, p.order(at_most(0, sigma))])
        squares = p.equal(square(gap), 0, (-4, spread), (times(4, sigma), zero), show=False)
        none = p.cases(
            infer("excluded-middle", [], p.formula(equal(gap, 0))),
            lambda case: case,
            lambda case: p.equal(
                gap, 0, (over(1, gap), squares), (times(-1, gap), p.cancel(gap, case)),
                show=False,
            ),
        )  # fmt: skip
        same = p.equal(pair_row[0], pair_row[1], (1, none), show=False)
        return infer("contradiction", [same, apart], goal)

    return p.cases(p.dichotomy(sigma, 0), vanishes, lambda case: case)


def prove_narrow(p: Prover) -> Theorem:
    single = p.equal(
        minus(lone_row[0], over(lone_row[0], 1)), 0, reason="a single feature is its own mean"
    )

    def then(apart: Theorem) -> Theorem:
        spread = _narrow_spread(p, p.hyp(0), p.hyp(1))
        positive = p.fact(p.note(_narrow_positive(p, apart, spread), "which is not 0"))
        inverse = p.cancel(sigma, positive)
        first, second = (minus(pair_row[e], mu) for e in (0, 1))
        share = power(sigma, -1)
        middle = p.hyp(0)
        gap = minus(pair_row[0], pair_row[1])
        squares = p.equal(
            square(first), square(sigma),
            (times(-1, plus(first, over(gap, 2))), middle), (-1, spread), show=False,
        )  # fmt: skip
        ones = plus(times(share, sigma), 1)
        return p.both(
            p.equal(
                square(over(first, sigma)), 1, (square(share), squares), (ones, inverse),
                reason="so the quotient is $1$ or $-1$",
            ),
            p.equal(
                over(second, sigma), times(-1, over(first, sigma)), (times(-2, share), middle),
                reason="and the two quotients are opposite",
            ),
        )  # fmt: skip

    premise = negation(equal(pair_row[0], pair_row[1]))
    return p.both(single, p.suppose(premise, then, "let the two features differ"))


def _learn_narrow(q: Prover, premises: list[Theorem], _symbols: Any) -> None:
    mean, deviation, _ = definitions(q, premises)
    apart = next((t for t in premises if t.conclusion.op == "not"), None)
    if mean is not None and deviation is not None:
        spread = _narrow_spread(q, mean, deviation)
        if apart is not None:
            q.fact(_narrow_positive(q, apart, spread))


def twin_narrow(rng: np.random.Generator) -> Iterator[Trial]:
    forward = layer(INSIDE)[0]
    for row in rng.standard_normal((5, 2)):
        found = forward(row[None], np.ones(2), np.zeros(2), epsilon=0.0)[0]
        sign = np.sign(row[0] - row[1])
        yield agree(found, np.array([sign, -sign]), "two features")
    lone, gain, bias = rng.standard_normal((3, 4, 1))
    for form in FORMS:
        found = layer(form)[0](lone, gain[0], bias[0], epsilon=EPSILON)
        yield agree(found, np.tile(bias[0], (4, 1)), "one feature")


TWO_FEATURES = Claim(
    id="layer-norm/narrow-rows",
    title="With one feature nothing is left, with two only a sign",
    source=source(
        r"with $d_{\text{model}} = 1$ every output is $\beta$; with 2 features and $\epsilon = 0$ "
        "only the order of the two is kept."
    ),
    statement=narrow,
    given=NARROW,
    proof=prove_narrow,
    defined=defined_by(_learn_narrow),
    twin=Twin("LayerNorm of rows with one and with two features", twin_narrow),
    expected=Verdict.PROVED,
)  # fmt: skip


# ---------------------------------------------------------------------- the sign of a row

mu_2, sigma_2 = real("mu'"), real("sigma'")


def opposite(i: Any) -> Any:
    return times(-1, x[i])


OPPOSITE = (
    Notation(equal(mu_2, mean_of(opposite)), r"$\mu'$ is the mean of the row $-x$"),
    Notation(equal(sigma_2, deviation_of(opposite, mu_2)), r"$\sigma'$ its standard deviation"),
)


def of_opposite(form: Any) -> Any:
    """The divisor of the row -x."""
    if form is OUTSIDE:
        return plus(sigma_2, epsilon)
    return root(plus(square(sigma_2), epsilon))


def opposite_ratio(form: Any, i: Any) -> Any:
    return over(minus(opposite(i), mu_2), of_opposite(form))


ODD = implies(
    less(0, epsilon),
    forall(a, both(*(equal(opposite_ratio(form, a), times(-1, ratio(form, a))) for form in FORMS))),
)


def same_root(p: Prover, definition: Theorem, under: Theorem) -> Theorem:
    """name = sqrt(b), from name = sqrt(a) and a = b."""
    name, _ = definition.conclusion.children
    return p.rewrite(under, definition, lambda e: T.eq(name, T.fn("sqrt", e)))


def prove_odd(p: Prover) -> Theorem:
    def then(_positive: Theorem) -> Theorem:
        mean, deviation, mean_2, deviation_2 = (p.hyp(e) for e in range(4))
        means = p.equal(mu_2, times(-1, mu), (1, mean_2), (1, mean), reason="the mean of $-x$")
        both_rows = mean_of(lambda i: plus(times(2, x[i]), mu_2, times(-1, mu)))
        variances = p.equal(
            variance_in(deviation_2), variance_in(deviation), (both_rows, means),
            reason="and its variance: squares have no sign",
        )  # fmt: skip
        rooted = same_root(p, deviation_2, variances)
        same = p.equal(sigma_2, sigma, (1, rooted), (-1, deviation), reason="and its deviation")
        parts = []
        for form in FORMS:
            moved = rewritten(p, opposite_ratio(form, a), same, means)
            parts.append(
                p.equal(
                    opposite_ratio(form, a), times(-1, ratio(form, a)), (1, moved),
                    reason="so the quotient has the other sign",
                )
            )  # fmt: skip
        return p.for_all(p.both(*parts), a)

    return p.suppose(less(0, epsilon), then, r"let $\epsilon$ be positive")


def learn_opposite(q: Prover, premises: list[Theorem], symbols: Any) -> None:
    """Neither standard deviation is negative."""
    learn_sign(q, premises, symbols)
    for t in premises:
        if t.conclusion.op == "eq" and t.conclusion.children[0] is q.term(sigma_2):
            q.fact(q.nonneg(variance_in(t)))
            q.fact(q.order(at_most(0, sigma_2), (1, t)))


def twin_odd(rng: np.random.Generator, sign: float = -1.0) -> Iterator[Trial]:
    for rows in samples(rng):
        for form in FORMS:
            yield agree(hat(form, -rows), sign * hat(form, rows), f"width {rows.shape[1]}")


def odd_mutations() -> tuple[Mutation, ...]:
    even = forall(a, equal(opposite_ratio(OUTSIDE, a), ratio(OUTSIDE, a)))
    return (
        Mutation(
            "the sign of the row is lost",
            statement=implies(less(0, epsilon), even),
            counterexample=Example({
                d: 2, x: [1, -1], mu: 0, sigma: 1, mu_2: 0, sigma_2: 1, epsilon: 1,
            }),
            twin=Twin(
                "rows and opposite rows, taken to give the same", lambda rng: twin_odd(rng, 1.0)
            ),
        ),
    )  # fmt: skip


ODD_ROWS = Claim(
    id="layer-norm/odd",
    title="The opposite row is normalised to the opposite",
    source=source("how $-x$ is normalised."),
    statement=ODD,
    given=(MEAN, SPREAD, *OPPOSITE),
    proof=prove_odd,
    defined=defined_by(learn_opposite),
    twin=Twin("normalised rows of both signs", twin_odd),
    mutations=odd_mutations,
    expected=Verdict.PROVED,
    remark=r"So with $\beta = 0$ LayerNorm is an odd function, also after the factor $\gamma$.",
)  # fmt: skip


# ---------------------------------------------------------------------- the other variance

sample_sigma = real("sigma_s")
SAMPLE = Notation(
    equal(sample_sigma, root(over(total(square(centred(c)), c), minus(d, 1)))),
    r"$\sigma_s$ divides the sum of squares by $d_{\text{model}} - 1$, as `torch.std` does",
)
SEVERAL = Given(less(1, d), "for a single feature the other variance is not defined")
VARIED = less(0, sigma)
sample_ratio = equal(
    over(centred(a), sample_sigma),
    times(root(over(minus(d, 1), d)), over(centred(a), sigma)),
)


def _sample_squares(p: Prover, sample: Theorem, room: Theorem) -> Theorem:
    """sigma_s^2 = the sum of squares over d - 1; that sigma_s is not negative becomes a fact."""
    under = sample.conclusion.children[1].children[0]
    _learn_under(p, room)
    p.fact(p.order(at_most(0, sample_sigma), (1, sample)))
    return p.equal(square(sample_sigma), under, sample, show=False)


def _learn_under(p: Prover, room: Theorem) -> None:
    """That the sum of squares over d - 1 is not negative."""
    inverse, share = p.cancel(minus(d, 1), room), power(minus(d, 1), -1)
    positive = p.order(at_most(0, share), (square(share), room), (times(-1, share), inverse))
    squares = p.nonneg(total(square(centred(c)), c))
    p.fact(p.order(at_most(0, over(total(square(centred(c)), c), minus(d, 1))),
                   (1, squares, positive)))  # fmt: skip


SHARE = root(over(minus(d, 1), d))


def _both_deviations(
    p: Prover, room: Theorem, definitions: tuple[Theorem, Theorem], varied: Theorem
) -> Theorem:
    """sigma = sqrt((d - 1) / d) sigma_s."""
    squares = square_of_deviation(p, definitions[0])
    sample = _sample_squares(p, definitions[1], room)
    p.fact(p.order(at_most(0, over(minus(d, 1), d)), (over(1, d), room)))
    known = p.equal(
        square(sigma), square(times(SHARE, sample_sigma)), (1, squares),
        (times(-1, over(minus(d, 1), d)), sample),
        (times(-1, over(1, d), total(square(centred(c)), c)), p.cancel(minus(d, 1), room)),
        reason="the two sums of squares are the same",
    )  # fmt: skip
    ends = plus(sigma, times(SHARE, sample_sigma))
    inverse = p.cancel(ends, p.order(less(0, ends), (1, varied)))
    gap = minus(sigma, times(SHARE, sample_sigma))
    return p.equal(
        sigma, times(SHARE, sample_sigma), (over(1, ends), known), (times(-1, gap), inverse),
        reason="neither side is negative",
    )  # fmt: skip


def prove_sample(p: Prover) -> Theorem:
    def then(varied: Theorem) -> Theorem:
        room = p.fact(p.order(less(0, minus(d, 1)), (1, p.hyp(2))))
        same = _both_deviations(p, room, (p.hyp(1), p.hyp(3)), varied)
        spread = p.fact(_sample_positive(p, same, varied))
        cancelled = p.cancel(sample_sigma, spread), p.cancel(sigma, varied)
        u, first, second = centred(a), power(sample_sigma, -1), power(sigma, -1)
        found = p.equal(
            over(u, sample_sigma), times(SHARE, over(u, sigma)),
            (times(u, first, second), same), (times(-1, u, first), cancelled[1]),
            (times(u, SHARE, second), cancelled[0]),
            reason="divide",
        )  # fmt: skip
        return p.for_all(found, a)

    return p.suppose(VARIED, then, "let the features not be all the same")


def _sample_positive(p: Prover, same: Theorem, varied: Theorem) -> Theorem:
    """0 < sigma_s: otherwise sigma would be 0."""
    goal = p.formula(less(0, sample_sigma))

    def vanishes(reached: Theorem) -> Theorem:
        zero = infer("antisymmetry", [reached, p.order(at_most(0, sample_sigma))])
        none = p.equal(sigma, 0, (1, same), (SHARE, zero), show=False)
        never = p.trivial(negation(equal(sigma, 0)), varied)
        return infer("contradiction", [none, never], goal)

    return p.cases(p.dichotomy(sample_sigma, 0), vanishes, lambda case: case)


def learn_sample(q: Prover, premises: list[Theorem], symbols: Any) -> None:
    """What stands under the roots is not negative, and sigma_s is not 0 where sigma is not."""
    learn_sign(q, premises, symbols)
    several = next((t for t in premises if t.conclusion is q.formula(SEVERAL.formula)), None)
    if several is None:
        return
    room = q.fact(q.order(less(0, minus(d, 1)), (1, several)))
    _learn_under(q, room)
    q.fact(q.order(at_most(0, over(minus(d, 1), d)), (over(1, d), room)))
    named = {t.conclusion.children[0]: t for t in premises if t.conclusion.op == "eq"}
    varied = next((t for t in premises if t.conclusion is q.formula(VARIED)), None)
    if varied is not None:
        pair = named[q.term(sigma)], named[q.term(sample_sigma)]
        same = _both_deviations(q, room, pair, varied)
        q.fact(_sample_positive(q, same, varied))


def twin_sample(rng: np.random.Generator, ddof: int = 1) -> Iterator[Trial]:
    for rows in samples(rng):
        width = rows.shape[1]
        if width == 1:
            continue
        for row in rows[:2]:
            found = (row - row.mean()) / row.std(ddof=ddof)
            expected = np.sqrt((width - 1) / width) * hat(INSIDE, row[None], 0.0)[0]
            yield agree(found, expected, f"width {width}", 1e-9)


def sample_mutations() -> tuple[Mutation, ...]:
    larger = equal(
        over(centred(a), sample_sigma),
        times(root(over(d, minus(d, 1))), over(centred(a), sigma)),
    )
    return (
        Mutation(
            r"the factor is the inverse, $\sqrt{d_{\text{model}}/(d_{\text{model}} - 1)}$",
            statement=implies(VARIED, forall(a, larger)),
            counterexample=Example({
                d: 2, x: [1, -1], mu: 0, sigma: 1, sample_sigma: sp.sqrt(2),
            }),
            twin=Twin(
                "quotients by the same deviation", lambda rng: twin_sample(rng, ddof=0)
            ),
        ),
    )  # fmt: skip


SAMPLE_DEVIATION = Claim(
    id="layer-norm/sample-deviation",
    title="What another variance changes",
    source=source(
        r"the note does not say by what $\sigma^2$ divides; with $d_{\text{model}} - 1$ (as in "
        r"some programs) and $\epsilon = 0$ the normalised row is a little smaller."
    ),
    statement=implies(VARIED, forall(a, sample_ratio)),
    given=(MEAN, SPREAD, SEVERAL, SAMPLE),
    proof=prove_sample,
    defined=defined_by(learn_sample),
    twin=Twin("rows divided by either deviation", twin_sample),
    mutations=sample_mutations,
    expected=Verdict.PROVED,
    remark="With a single feature the other variance is not defined.",
)  # fmt: skip


# ---------------------------------------------------------------------- near constant rows

POSITIVE = less(0, epsilon)
linear_part = over(centred(a), epsilon)
remainder = minus(ratio(OUTSIDE, a), linear_part)


def split_inverse(p: Prover, x: Any, y: Any, cancel_x: Theorem, cancel_y: Theorem) -> Theorem:
    """(x y)^-1 = x^-1 y^-1, for positive x and y."""
    first, second, whole = power(x, -1), power(y, -1), power(times(x, y), -1)
    inverse = p.cancel(times(x, y))
    return p.equal(
        whole, times(first, second), (times(first, second), inverse), (times(-1, whole), cancel_x),
        (times(-1, whole, first, x), cancel_y), show=False,
    )  # fmt: skip


def prove_near(p: Prover) -> Theorem:
    def then(positive: Theorem) -> Theorem:
        square_of_deviation(p, p.hyp(1))
        nonneg = p.order(at_most(0, sigma))
        room = p.fact(p.order(less(0, plus(sigma, epsilon)), (1, nonneg), (1, positive)))
        whole, plain = p.cancel(plus(sigma, epsilon), room), p.cancel(epsilon, positive)
        q, e, u = power(plus(sigma, epsilon), -1), power(epsilon, -1), centred(a)
        split = split_inverse(p, epsilon, plus(sigma, epsilon), plain, whole)
        on_one = p.equal(
            remainder, times(-1, sigma, u, e, q), (times(u, e), whole), (times(-1, u, q), plain),
            reason="on one denominator",
        )  # fmt: skip
        exact = p.equal(
            remainder, times(-1, over(times(sigma, u), times(epsilon, plus(sigma, epsilon)))),
            (1, on_one), (times(sigma, u), split), show=False,
        )  # fmt: skip
        wider = p.order(at_most(0, plus(sigma, times(2, epsilon))), (1, nonneg), (2, positive))
        inverses = p.order(
            at_most(square(q), square(e)),
            (times(square(q), square(e)), nonneg, wider),
            (times(-1, square(e), plus(times(q, plus(sigma, epsilon)), 1)), whole),
            (times(square(q), plus(times(e, epsilon), 1)), plain),
            reason=r"$\sigma + \epsilon$ is no less than $\epsilon$",
        )  # fmt: skip
        bound = p.order(
            at_most(square(remainder), square(over(times(sigma, u), square(epsilon)))),
            (square(times(sigma, u, e)), inverses),
            (times(-1, minus(remainder, times(sigma, u, e, q))), on_one), reason="take squares",
        )  # fmt: skip
        return p.for_all(p.both(exact, bound), a)

    return p.suppose(POSITIVE, then, r"let $\epsilon$ be positive")


NEAR = implies(
    POSITIVE,
    forall(
        a,
        both(
            equal(
                remainder,
                times(
                    -1,
                    over(times(sigma, centred(a)), times(epsilon, plus(sigma, epsilon))),
                ),
            ),
            at_most(square(remainder), square(over(times(sigma, centred(a)), square(epsilon)))),
        ),
    ),
)


def twin_near(rng: np.random.Generator, form: Any = OUTSIDE) -> Iterator[Trial]:
    """The remainder of rows near a constant one falls with the square of the distance."""
    for width in (2, 5, 33):
        direction = rng.standard_normal(width)
        for distance in (1e-1, 1e-2, 1e-3):
            row = 3.0 + distance * direction
            u, deviation, _ = spread_and_divisor(OUTSIDE, row)
            left = hat(form, row[None])[0] - u / EPSILON
            limit = deviation * np.abs(u) / EPSILON**2
            yield no_more(np.abs(left), limit + 1e-9, f"width {width}, {distance}")


def near_mutations() -> tuple[Mutation, ...]:
    slope = over(centred(a), root(epsilon))
    steeper = square(minus(ratio(OUTSIDE, a), slope))
    limit = square(over(times(sigma, centred(a)), square(epsilon)))
    return (
        Mutation(
            r"the slope at a constant row is $1/\sqrt\epsilon$, as in the other form",
            statement=implies(POSITIVE, forall(a, at_most(steeper, limit))),
            counterexample=Example({
                d: 2, x: [sp.Rational(1, 100), -sp.Rational(1, 100)], mu: 0,
                sigma: sp.Rational(1, 100), epsilon: sp.Rational(1, 4),
            }),
            twin=Twin(
                "remainders of the other form", lambda rng: twin_near(rng, form=INSIDE)
            ),
        ),
    )  # fmt: skip


NEAR_CONSTANT = Claim(
    id="layer-norm/near-constant-rows",
    title="How rows near a constant one are normalised",
    source=source(
        r"at a row whose features are all the same $\sigma$ is 0, and its root has no derivative "
        "there; the normalised row has one: up to terms of second order it is $(x - "
        r"\mu)/\epsilon$."
    ),
    statement=NEAR,
    given=(MEAN, SPREAD),
    proof=prove_near,
    defined=defined_by(learn_sign),
    twin=Twin("what is left of normalised rows near constant ones", twin_near),
    mutations=near_mutations,
    expected=Verdict.PROVED,
    remark=r"So the derivative there is $(I - \frac1{d_{\text{model}}} "
           r"\mathbf{1}\mathbf{1}^\top)/\epsilon$. The chain rule through $\sqrt{\sigma^2}$ does "
           "not find it: it gives 0 times infinity.",
)  # fmt: skip


# ---------------------------------------------------------------------- no second derivative

w = tensor("w", d)
t, base, tau = real("t"), real("x_0"), real("tau")
mean_up, mean_down, spread_up, spread_down = (
    real(name) for name in ("mu_+", "mu_-", "sigma_+", "sigma_-")
)


def moved(sign: int) -> Entry:
    """The constant row x_0, moved by t along w or back."""
    return lambda i: plus(base, times(sign, t, w[i]))


def line_statistics(mean: Any, spread: Any, sign: int) -> tuple[Notation, Notation]:
    name = "$x_0 + t w$" if sign == 1 else "$x_0 - t w$"
    return (
        Notation(equal(mean, mean_of(moved(sign))), f"the mean of {name}"),
        Notation(equal(spread, deviation_of(moved(sign), mean)), f"the deviation of {name}"),
    )


LINE = (
    Notation(equal(tau, root(mean_of(lambda i: square(w[i])))), r"$\tau$ is the deviation of $w$"),
    *line_statistics(mean_up, spread_up, 1),
    *line_statistics(mean_down, spread_down, -1),
)
ALONG = both(POSITIVE, less(0, t), equal(total(w[a], a), 0))
slope_along = over(times(t, w[a]), epsilon)
quotient_up = over(
    minus(over(minus(moved(1)(a), mean_up), plus(spread_up, epsilon)), slope_along), square(t)
)
quotient_down = over(
    plus(over(minus(moved(-1)(a), mean_down), plus(spread_down, epsilon)), slope_along), square(t)
)
side = over(times(w[a], tau), times(epsilon, plus(times(t, tau), epsilon)))
SIDES = implies(
    ALONG,
    forall(
        a,
        both(
            equal(quotient_up, times(-1, side)),
            equal(quotient_down, side),
            implies(
                both(less(0, w[a]), at_most(times(t, tau), epsilon)),
                at_most(over(times(w[a], tau), square(epsilon)), minus(quotient_down, quotient_up)),
            ),
        ),
    ),
)


def _along(p: Prover, mean: Any, sign: int, hypothesis: int, case: Theorem) -> list[Theorem]:
    """The mean is x_0, and the deviation t tau."""
    definition, deviation = p.hyp(hypothesis), p.hyp(hypothesis + 1)
    centre = p.equal(
        mean, base, (1, definition), (over(times(sign, t), d), p.part(case, 2)),
        reason="the mean stays where it is",
    )  # fmt: skip
    shares = mean_of(lambda i: minus(minus(mean, base), times(2, sign, t, w[i])))
    squares = mean_of(lambda i: square(w[i]))
    p.fact(p.nonneg(squares))
    variance = p.equal(
        variance_in(deviation), times(square(t), squares), (shares, centre), show=False
    )
    rooted = same_root(p, deviation, variance)
    pulled = p.mp(p.at(_pulled_root(p), squares), p.nonneg(squares))
    spread = p.equal(
        deviation.conclusion.children[0], times(t, tau), (1, rooted), (1, pulled),
        (times(-1, t), p.hyp(0)), reason=r"and the deviation is $t\tau$",
    )  # fmt: skip
    return [centre, spread]


def _pulled_root(p: Prover) -> Theorem:
    """For all v: 0 <= v -> sqrt(t^2 v) = t sqrt(v), since t is positive."""
    v = T.var("v")
    with p.supposing(T.le(T.ZERO, v)) as sign:
        product = T.fn("sqrt", T.mul(p.term(square(t)), v))
        law = p.equal(product, T.mul(p.term(t), T.fn("sqrt", v)), show=False)
    return p.for_all(p.discharge(law, sign), v)


def prove_sides(p: Prover) -> Theorem:
    def then(case: Theorem) -> Theorem:
        positive, ahead = p.part(case, 0), p.fact(p.part(case, 1))
        up, down = _along(p, mean_up, 1, 1, case), _along(p, mean_down, -1, 3, case)
        p.fact(p.order(at_most(0, tau), (1, p.hyp(0))))
        divisor = plus(times(t, tau), epsilon)
        room = p.fact(p.order(less(0, divisor), (1, positive)))
        cancels = [p.cancel(e, f) for e, f in ((divisor, room), (epsilon, positive), (t, ahead))]
        parts = [
            _quotient(p, quotient_up, times(-1, side), up, cancels, 1),
            _quotient(p, quotient_down, side, down, cancels, -1),
        ]
        gap = p.suppose(
            both(less(0, w[a]), at_most(times(t, tau), epsilon)),
            lambda near: _gap(p, parts, near, positive, cancels),
            "let $w_a$ be positive, $t$ small",
        )  # fmt: skip
        return p.for_all(p.both(*parts, gap), a)

    return p.suppose(ALONG, then, "let $w$ have mean 0")


def _quotient(
    p: Prover, quotient: Any, value: Any, statistics: list[Theorem], cancels: list[Theorem],
    sign: int,
) -> Theorem:  # fmt: skip
    moved_row = rewritten(p, quotient, *statistics)
    q, e, r = (power(x, -1) for x in (plus(times(t, tau), epsilon), epsilon, t))
    share = times(sign, w[a], square(r), t)
    whole, plain, step = cancels
    on_one = times(sign, w[a], tau, q, e)
    split = split_inverse(p, epsilon, plus(times(t, tau), epsilon), plain, whole)
    return p.equal(
        quotient, value, (1, moved_row),
        (times(share, e), whole), (times(-1, share, q), plain),
        (times(-1, on_one, plus(times(r, t), 1)), step), (times(sign, w[a], tau), split),
        reason="on one denominator, and divided by $t^2$",
    )  # fmt: skip


def _gap(
    p: Prover, parts: list[Theorem], near: Theorem, positive: Theorem, cancels: list[Theorem]
) -> Theorem:
    """w tau / eps^2 <= 2 w tau / (eps (t tau + eps)), since t tau + eps <= 2 eps."""
    above, small = p.part(near, 0), p.part(near, 1)
    whole, plain, _ = cancels
    q, e = (power(x, -1) for x in (plus(times(t, tau), epsilon), epsilon))
    up, down = parts
    split = split_inverse(p, epsilon, plus(times(t, tau), epsilon), plain, whole)
    return p.order(
        at_most(over(times(w[a], tau), square(epsilon)), minus(quotient_down, quotient_up)),
        (times(square(e), q, tau), above, small),
        (times(w[a], tau, square(e)), whole),
        (times(-2, w[a], tau, e, q), plain),
        (1, down), (-1, up), (times(2, w[a], tau), split),
        reason=r"$t\tau + \epsilon \le 2\epsilon$",
    )  # fmt: skip


def learn_line(q: Prover, premises: list[Theorem], _symbols: Any) -> None:
    """All deviations are not negative, so that every divisor is positive."""
    for v in (tau, spread_up, spread_down):
        for premise in premises:
            if premise.conclusion.op == "eq" and premise.conclusion.children[0] is q.term(v):
                q.fact(q.order(at_most(0, v), (1, premise)))
    with suppress(KernelError):
        for premise in premises:
            if premise.conclusion is q.formula(ALONG):
                q.fact(q.part(premise, 0))
                q.fact(q.part(premise, 1))
                for v in (spread_up, spread_down):
                    q.fact(q.order(less(0, plus(v, epsilon))))
                q.fact(q.order(less(0, plus(times(t, tau), epsilon))))
                q.fact(q.order(less(0, times(epsilon, plus(times(t, tau), epsilon)))))


def twin_sides(rng: np.random.Generator, form: Any = OUTSIDE) -> Iterator[Trial]:
    """Second difference quotients from both sides, and how far they stay apart."""
    for width in (3, 5, 33):
        direction = rng.standard_normal(width)
        direction -= direction.mean()
        deviation = direction.std()
        slope = direction / EPSILON if form is OUTSIDE else direction / EPSILON**half
        for step in (1e-2, 1e-3, 1e-4):
            sides = [
                (hat(form, (2.0 + e * step * direction)[None])[0] - e * step * slope) / step**2
                for e in (1, -1)
            ]
            claimed = direction * deviation / (EPSILON * (step * deviation + EPSILON))
            what = f"width {width}, t={step}"
            yield agree(sides[0], -claimed, what, 1e-3)
            yield agree(sides[1], claimed, what, 1e-3)


def sides_mutations() -> tuple[Mutation, ...]:
    def smooth(rng: np.random.Generator) -> Iterator[Trial]:
        return twin_sides(rng, form=INSIDE)

    together = implies(ALONG, forall(a, equal(quotient_up, quotient_down)))
    return (
        Mutation(
            "the quotients from both sides agree",
            statement=together,
            counterexample=Example({
                d: 2, w: [1, -1], t: 1, base: 0, tau: 1, epsilon: 1, mean_up: 0, mean_down: 0,
                spread_up: 1, spread_down: 1,
            }),
            twin=Twin("second difference quotients of the other form", smooth),
        ),
    )  # fmt: skip


NO_SECOND = Claim(
    id="layer-norm/no-second-derivative",
    title="No second derivative at a constant row",
    source=source(
        r"whether the normalised row is smooth where $\sigma = 0$. Along a line through a constant "
        "row, what is left after the linear term is divided by $t^2$, on both sides."
    ),
    statement=SIDES,
    given=LINE,
    proof=prove_sides,
    defined=defined_by(learn_line),
    twin=Twin("second difference quotients on both sides", twin_sides),
    mutations=sides_mutations,
    expected=Verdict.PROVED,
    remark=r"The two quotients stay at least $w_a\tau/\epsilon^2$ apart, however small $t$ is. "
    r"With $\sqrt{\sigma^2 + \epsilon}$ there is no such gap.",
)  # fmt: skip

CLAIMS = (
    BOUND, TWO_FEATURES, ODD_ROWS, SAMPLE_DEVIATION, NEAR_CONSTANT, NO_SECOND,
)  # fmt: skip

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
