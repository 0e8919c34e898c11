"""Layer normalisation: mean and spread of its output, its Jacobian, and what leaves it unchanged.

A token is a row ``x`` with mean mu and standard deviation sigma over its features.  LayerNorm
divides ``u = x - mu`` by s, where ``s = sigma + epsilon`` in the note and
``s = sqrt(sigma^2 + epsilon)`` elsewhere; the claims treat both.  The variances divide by the
number of features.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np

from derive.claim import Added, Claim, Correction, Example, Given, Mutation, Notation, Script
from derive.claims import DERIVATIONS, INTERVIEW
from derive.claims._norms import (
    FORMS,
    INSIDE,
    MEAN,
    OUTSIDE,
    SPREAD,
    USABLE,
    Entry,
    Form,
    Row,
    a,
    at,
    b,
    beta,
    c,
    centred,
    d,
    defined,
    defined_by,
    definitions,
    deviation_of,
    divisor_is,
    epsilon,
    flipped,
    g,
    gamma,
    half,
    jacobian,
    mean_of,
    mu,
    named,
    normalised,
    one,
    over_s,
    rewritten,
    root,
    row_of,
    s,
    same_normalised,
    sigma,
    smoothness,
    spelled_out,
    square,
    square_of_deviation,
    statistics_of,
    sum_of_centred,
    summed,
    usable,
    variance_of,
    x,
)
from derive.claims.residual import by_squares, lemma, use
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.language import (
    Differentiable,
    GradientIs,
    VectorFunction,
    at_most,
    both,
    dim,
    either,
    equal,
    forall,
    iff,
    implies,
    index,
    less,
    minus,
    negation,
    over,
    plus,
    positive,
    power,
    real,
    tensor,
    times,
    total,
)
from derive.prover import Prover
from derive.result import Source, Verdict
from derive.twin import Trial, Twin, differs
from derive.twin import at_most as below
from derive.twin import equal as agree

ORDER = 42
TOPIC = "layer-norm"

FORMULA = r"LayerNorm is $\frac{x - \mu}{\sigma + \epsilon}\,\gamma + \beta$."


def divided(by: Any) -> Entry:
    """The normalised row ``(x - mu) / by``."""
    return lambda i: over(centred(i), by)


def both_forms(part: Callable[[Form], Any]) -> Any:
    return both(*map(part, FORMS))


def silently(p: Prover, premise: Any, conclusion: Callable[[], Theorem]) -> Theorem:
    """premise -> conclusion, where the premise is needed only for both sides to be defined."""
    with p.supposing(premise) as case:
        theorem = conclusion()
    return p.discharge(theorem, case)


# ---------------------------------------------------------------------- the numeric side

EPSILON = 0.1  # 1e-5 would hide where it stands
WIDTHS = (1, 2, 5, 33)


def layer(form: Form) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The forward and backward functions of `numeric` for a form."""
    import numeric

    if form is OUTSIDE:
        return numeric.layer_norm_outside, numeric.layer_norm_outside_vjp
    return numeric.layer_norm, numeric.layer_norm_vjp


def hat(form: Form, rows: Any, eps: float = EPSILON) -> Any:
    """The normalised rows: gamma is 1 and beta is 0."""
    width = rows.shape[-1]
    return layer(form)[0](rows, np.ones(width), np.zeros(width), epsilon=eps)


def behind(form: Form, rows: Any, cotangent: Any, eps: float = EPSILON) -> Any:
    """The gradient by the rows, from one by the normalised rows."""
    width = rows.shape[-1]
    return layer(form)[1](rows, np.ones(width), np.zeros(width), cotangent, epsilon=eps)[0]


def jacobian_of_row(form: Form, row: Any, eps: float = EPSILON) -> Any:
    """Row a is the gradient of component a of the output."""
    rows = np.broadcast_to(row, (row.size, row.size))
    return behind(form, rows, np.eye(row.size), eps)


def spread_and_divisor(
    form: Form, row: Any, eps: float = EPSILON, ddof: int = 0
) -> tuple[Any, Any, Any]:
    """u, sigma and s of a row, without `numeric`; `ddof` is taken from the number of features."""
    u, deviation = row - row.mean(), row.std(ddof=ddof)
    return u, deviation, deviation + eps if form is OUTSIDE else np.sqrt(deviation**2 + eps)


def samples(rng: np.random.Generator) -> Iterator[Any]:
    """Three rows of each width, of different means and spreads; the last one is constant."""
    for width in WIDTHS:
        rows = rng.standard_normal((3, width)) * [[1.0], [0.2], [0.0]] + [[0.5], [-3.0], [2.0]]
        yield rows


# ---------------------------------------------------------------------- mean and spread


BOTH_DIVISORS = r"this holds for $s = \sigma + \epsilon$ and for $s = \sqrt{\sigma^2 + \epsilon}$"


def mean_of_output(p: Prover, mean: Theorem) -> Theorem:
    return p.calc(
        mean_of(over_s),
        (over(over(total(centred(c), c), d), s),
         "whatever the divisor $s$ is, it is the same for all features"),
        (0, "the sum in it is zero",
         (over(over(1, d), s), sum_of_centred(p, mean))),
    )  # fmt: skip


def prove_mean(p: Prover) -> Theorem:
    theorem = p.for_all(mean_of_output(p, p.hyp(0)), s)
    return p.note(p.both(*(p.at(theorem, form.divisor) for form in FORMS)), BOTH_DIVISORS)


def twin_mean(rng: np.random.Generator) -> Iterator[Trial]:
    for rows in samples(rng):
        for form in FORMS:
            yield agree(hat(form, rows).mean(axis=-1), np.zeros(3), f"width {rows.shape[1]}")


MEAN_ZERO = Claim(
    id="layer-norm/mean",
    title="The normalised row has mean zero",
    source=Source(DERIVATIONS, ("A31",), FORMULA),
    statement=both_forms(lambda form: equal(mean_of(divided(form.divisor)), 0)),
    given=(MEAN, *USABLE),
    proof=prove_mean,
    twin=Twin("means of normalised rows", twin_mean),
    remark=r"Before $\gamma$ and $\beta$ are applied; the second part is for the divisor "
    r"$\sqrt{\sigma^2 + \epsilon}$.",
    expected=Verdict.PROVED,
)


def variance_of_output(p: Prover, mean: Theorem, deviation: Theorem) -> Theorem:
    """The variance of the row divided by s is sigma^2 / s^2."""
    zero = mean_of_output(p, mean)
    squares = square_of_deviation(p, deviation)
    p.note(squares, r"the square of $\sigma$")
    summand = square(minus(over_s(c), mean_of(over_s)))
    entry = p.equal(summand, over(square(centred(c)), square(s)), (
        minus(mean_of(over_s), times(2, over_s(c))), zero), show=False)  # fmt: skip
    summed = p.sum_equal(p.for_all(entry, c), c)
    return p.calc(
        variance_of(over_s, mean_of(over_s)),
        (over(variance_of(at(x), mu), square(s)),
         "no mean is to be subtracted, and the divisor is the same for all features",
         (over(1, d), summed)),
        (over(square(sigma), square(s)), r"by the definition of $\sigma$",
         (over(-1, square(s)), squares)),
    )  # fmt: skip


def hat_deviation(form: Form) -> Any:
    row = divided(form.divisor)
    return deviation_of(row, mean_of(row))


def for_any_divisor(p: Prover, conclusion: Callable[[], Theorem]) -> Theorem:
    """What `conclusion` proves for a divisor s > 0, for both forms of it."""
    with p.supposing(less(0, s)) as positive_divisor:
        p.note(positive_divisor, "let $s$ be a positive divisor")
        theorem = conclusion()
    theorem = p.for_all(p.discharge(theorem, positive_divisor), s)
    parts = [
        p.mp(p.at(theorem, form.divisor), p.order(less(0, form.divisor))) for form in FORMS
    ]  # fmt: skip
    return p.note(p.both(*parts), BOTH_DIVISORS)


def prove_spread(p: Prover) -> Theorem:
    def conclusion() -> Theorem:
        value = variance_of_output(p, p.hyp(0), p.hyp(1))
        wide, short = value.conclusion.children
        quotient = p.equal(T.fn("sqrt", short), over(sigma, s), show=False)
        back = p.equal(short, wide, (-1, value), show=False)
        theorem = p.rewrite(
            back, quotient, lambda e: T.eq(T.fn("sqrt", e), quotient.conclusion.children[1])
        )
        return p.note(theorem, r"take roots; $\sigma$ is not negative and $s$ is positive")

    return for_any_divisor(p, conclusion)


def twin_spread(rng: np.random.Generator, ddof: int = 0) -> Iterator[Trial]:
    for rows in [r for r in samples(rng) if r.shape[1] > ddof]:
        for form in FORMS:
            for row, output in zip(rows, hat(form, rows), strict=True):
                _, deviation, divisor = spread_and_divisor(form, row, ddof=ddof)
                yield agree(output.std(), deviation / divisor, f"width {row.size}")


def spread_mutations() -> tuple[Mutation, ...]:
    unbiased = root(over(total(square(centred(c)), c), minus(d, 1)))
    return (
        Mutation(
            r"$\sigma$ divides by $d_{\text{model}} - 1$",
            given=(MEAN, Given(equal(sigma, unbiased)), *USABLE),
            counterexample=Example({d: 3, x: [1, 0, -1], mu: 0, sigma: 1, epsilon: 3}),
            twin=Twin(
                "standard deviations of normalised rows against that of a sample",
                lambda rng: twin_spread(rng, ddof=1),
            ),
        ),
    )


SPREAD_OF_OUTPUT = Claim(
    id="layer-norm/spread",
    title="The standard deviation of the normalised row",
    source=Source(
        DERIVATIONS, ("A31",),
        FORMULA + r" What spread the row has afterwards is not said.",
    ),
    statement=both_forms(lambda form: equal(hat_deviation(form), over(sigma, form.divisor))),
    given=(MEAN, SPREAD, *USABLE),
    proof=prove_spread,
    defined=defined,
    twin=Twin("standard deviations of normalised rows", twin_spread),
    mutations=spread_mutations,
    remark=r"For $\epsilon > 0$ it is less than $1$, and $0$ for a row of equal entries.",
    expected=Verdict.PROVED,
)  # fmt: skip

OUTPUT_VARIANCE = variance_of(divided(OUTSIDE.divisor), mean_of(divided(OUTSIDE.divisor)))


def variance_at(p: Prover, form: Form, positive_divisor: Theorem) -> Theorem:
    """The variance of the normalised row in that form."""
    with p.supposing(less(0, s)) as case:
        theorem = variance_of_output(p, p.hyp(0), p.hyp(1))
    theorem = p.for_all(p.discharge(theorem, case), s)
    reason = r"for $s = \sigma + \epsilon$" if form is OUTSIDE else ""
    return p.note(p.mp(p.at(theorem, form.divisor), positive_divisor), reason)


def prove_unit_variance(p: Prover) -> Theorem:
    value = variance_at(p, OUTSIDE, p.hyp(2))
    nothing = p.hyp(3)
    p.fact(p.order(less(0, sigma), (1, p.hyp(2)), (-1, nothing)))
    ratio = over(square(sigma), square(plus(sigma, 0)))
    plain = p.equal(ratio, 1, show=False)
    back = p.equal(0, epsilon, (-1, nothing), show=False)
    at_epsilon = p.rewrite(
        back, plain,
        lambda e: T.eq(T.div(p.term(square(sigma)), T.power(T.add(p.term(sigma), e), 2)), T.ONE),
    )  # fmt: skip
    p.note(at_epsilon, r"with $\epsilon = 0$ it is $\sigma^2/\sigma^2$")
    return p.equal(OUTPUT_VARIANCE, 1, (1, value), (1, at_epsilon), reason="together")


def twin_unit_variance(rng: np.random.Generator) -> Iterator[Trial]:
    for rows in samples(rng):
        for form in FORMS:
            if rows.shape[1] > 1:
                without = hat(form, rows[:2], eps=0.0)
                yield agree(without.var(axis=-1), np.ones(2), "no epsilon")
            output = hat(form, rows)
            yield agree(output[2], np.zeros(rows.shape[1]), "a row of equal entries")
            yield differs(output.var(axis=-1), np.ones(3), by=0.9, what="with epsilon")


UNIT_VARIANCE = Claim(
    id="layer-norm/unit-variance",
    title="Does the normalised row have variance 1?",
    source=Source(
        DERIVATIONS, ("A31",),
        FORMULA + " The name says that the row is normalised, and one takes this to mean that its "
                  "variance is $1$.",
    ),
    statement=equal(OUTPUT_VARIANCE, 1),
    given=(MEAN, SPREAD, usable(OUTSIDE)),
    added=(
        Added(
            equal(epsilon, 0),
            Example({d: 2, x: [1, 1], epsilon: 1}),
            r"with $\epsilon > 0$ the variance is less than $1$; for a row of equal entries it "
            r"is $0$",
        ),
    ),
    witness=Example({d: 2, x: [1, -1], epsilon: 0}),
    proof=prove_unit_variance,
    defined=defined,
    twin=Twin("variances of normalised rows with and without $\\epsilon$", twin_unit_variance),
    remark=r"Without $\epsilon$ the formula means nothing for a row of equal entries.",
    expected=Verdict.CONDITIONAL,
)  # fmt: skip


def spread_is_one(form: Form) -> Any:
    return iff(equal(hat_deviation(form), 1), equal(epsilon, 0))


def prove_spread_is_one(p: Prover) -> Theorem:
    spreads = p.note(
        use(p, lemma(SPREAD_OF_OUTPUT), *(p.hyp(k) for k in range(4))), "the spread of the output"
    )
    square_of_deviation(p, p.hyp(1))
    return p.both(*(
        one_only_without_epsilon(p, form, p.part(spreads, k), p.hyp(2 + k))
        for k, form in enumerate(FORMS)
    ))  # fmt: skip


def one_only_without_epsilon(
    p: Prover, form: Form, spread: Theorem, positive_divisor: Theorem
) -> Theorem:
    unit, none = (p.formula(part) for part in spread_is_one(form).args[0].args)
    divisor, ratio = form.divisor, p.term(over(sigma, form.divisor))

    def only_then(is_one: Theorem) -> Theorem:
        cancelled = (times(-1, sigma), p.cancel(form.usable))
        same = p.equal(
            sigma, divisor, (divisor, is_one), (times(-1, divisor), spread), cancelled,
            reason="then the quotient is $1$, so numerator and denominator are the same",
        )  # fmt: skip
        cofactor = -1 if form is OUTSIDE else times(-1, plus(sigma, divisor))
        how = "subtract" if form is OUTSIDE else "subtract the squares of both sides"
        return p.equal(epsilon, 0, (cofactor, same), reason=how)

    def then(nothing: Theorem) -> Theorem:
        lead = sigma if form is OUTSIDE else square(sigma)
        p.fact(p.order(less(0, lead), (1, positive_divisor), (-1, nothing)))
        eps = p.term(epsilon)
        plain = p.equal(T.substitute(ratio, {eps: T.ZERO}), 1, show=False)
        back = p.equal(0, epsilon, (-1, nothing), show=False)
        quotient = p.rewrite(
            back, plain, lambda e: T.eq(T.substitute(ratio, {eps: e}), T.ONE)
        )  # fmt: skip
        p.note(quotient, r"without $\epsilon$ this is $\sigma/\sigma$")
        return p.equal(hat_deviation(form), 1, (1, spread), (1, quotient), reason="together")

    first = rf"$\epsilon$ {form.name} the root" if form is INSIDE else r"$\sigma + \epsilon$"
    return p.both(
        p.suppose(unit, only_then, f"{first}: suppose that the spread is $1$"),
        p.suppose(none, then, "conversely, suppose this"),
    )


def twin_spread_is_one(rng: np.random.Generator) -> Iterator[Trial]:
    for rows in samples(rng):
        if rows.shape[1] == 1:
            continue
        for form in FORMS:
            for eps in (0.0, 0.01, 0.1):
                off = np.abs(hat(form, rows[:2], eps).std(axis=-1) - 1).max()
                yield agree(off < 1e-6, eps == 0, f"epsilon {eps}")


SPREAD_IS_ONE = Claim(
    id="layer-norm/unit-spread",
    title="The spread of the normalised row is 1 exactly if $\\epsilon$ is 0",
    source=Source(
        DERIVATIONS, ("A31",),
        FORMULA + r" That $\epsilon$ changes the spread of the output is not said.",
    ),
    statement=both_forms(spread_is_one),
    given=SPREAD_OF_OUTPUT.given,
    proof=prove_spread_is_one,
    defined=defined,
    twin=Twin("spreads of normalised rows for several $\\epsilon$", twin_spread_is_one),
    remark=r"That the divisor is positive excludes rows of equal entries if $\epsilon = 0$.",
    expected=Verdict.PROVED,
)  # fmt: skip


# ---------------------------------------------------------------------- where epsilon stands

NOT_NEGATIVE = at_most(0, epsilon)
A_DEVIATION = Given(at_most(0, sigma), r"$\sigma$ is a standard deviation")
SAME_DIVISOR = iff(
    equal(OUTSIDE.divisor, INSIDE.divisor),
    either(equal(epsilon, 0), equal(sigma, over(minus(1, epsilon), 2))),
)


def root_of_a_square(p: Prover) -> Theorem:
    """For all t: if 0 <= t, then t = sqrt(t^2)."""
    t = T.var("t")
    with p.supposing(T.le(T.ZERO, t)) as sign:
        theorem = p.equal(t, T.fn("sqrt", T.power(t, 2)), show=False)
    return p.for_all(p.discharge(theorem, sign), t)


def prove_same_divisor(p: Prover) -> Theorem:
    same, exceptions = (p.formula(part) for part in SAME_DIVISOR.args[0].args)
    outside, inside = OUTSIDE.divisor, INSIDE.divisor
    excess = minus(plus(times(2, sigma), epsilon), 1)

    def only_then(equality: Theorem) -> Theorem:
        squares = p.equal(
            square(outside), plus(square(sigma), epsilon), (plus(outside, inside), equality),
            reason="square both sides",
        )  # fmt: skip
        factors = p.equal(times(epsilon, excess), 0, (1, squares), reason="subtract and factor")

        def apart(nonzero: Theorem) -> Theorem:
            p.fact(nonzero)
            other = p.equal(excess, 0, (over(1, epsilon), factors),
                            reason=r"if $\epsilon$ is not $0$, divide by it")  # fmt: skip
            width = p.equal(sigma, over(minus(1, epsilon), 2), (half, other),
                            reason=r"solve for $\sigma$")  # fmt: skip
            return infer("disjunct", [width], exceptions, 1)

        return p.cases(
            infer("excluded-middle", [], exceptions.children[0]),
            lambda zero: infer("disjunct", [zero], exceptions, 0),
            apart,
        )

    def then(either_one: Theorem) -> Theorem:
        def squares_agree(case: Theorem, cofactor: Any, why: str) -> Theorem:
            under = p.equal(
                plus(square(sigma), epsilon), square(outside), (cofactor, case), reason=why
            )  # fmt: skip
            root_of_square = p.mp(p.at(root_law, outside), sign)
            back = p.equal(*reversed(under.conclusion.children), (-1, under), show=False)
            theorem = p.rewrite(
                back, root_of_square, lambda e: T.eq(p.term(outside), T.fn("sqrt", e))
            )
            return p.note(theorem, "take roots; neither side is negative")

        sign = p.order(at_most(0, outside))
        root_law = root_of_a_square(p)
        return p.cases(
            either_one,
            lambda case: squares_agree(
                case, times(-1, excess), r"$(\sigma + \epsilon)^2 = \sigma^2$ for $\epsilon = 0$"
            ),
            lambda case: squares_agree(
                case, times(-2, epsilon), r"$2\sigma + \epsilon = 1$ makes the squares agree"
            ),
        )

    def equivalence(_: Theorem) -> Theorem:
        return p.both(
            p.suppose(same, only_then, "suppose that the divisors agree"),
            p.suppose(exceptions, then, "conversely, suppose this"),
        )

    return p.suppose(NOT_NEGATIVE, equivalence, r"let $\epsilon$ not be negative")


def twin_same_divisor(rng: np.random.Generator) -> Iterator[Trial]:
    """Rows of given deviation; the divisor is read off the output."""
    for width in (2, 5):
        row = rng.standard_normal(width)
        row = (row - row.mean()) / row.std()
        for eps in (0.0, 0.1, 0.5):
            for deviation in (0.2, (1 - eps) / 2, 1.5):
                one_way, other_way = (hat(form, deviation * row, eps) for form in FORMS)
                if eps == 0 or deviation == (1 - eps) / 2:
                    yield agree(one_way, other_way, "an exception")
                else:
                    yield differs(one_way, other_way, by=1e-9, what="no exception")


def divisor_mutations() -> tuple[Mutation, ...]:
    without = iff(equal(OUTSIDE.divisor, INSIDE.divisor), equal(epsilon, 0))
    return (
        Mutation(
            r"both are the same without $\epsilon$ only",
            statement=implies(NOT_NEGATIVE, without),
            counterexample=Example({sigma: over(1, 4), epsilon: half}),
        ),
    )


SAME_DIVISORS = Claim(
    id="layer-norm/same-divisor",
    title="When both divisors are the same number",
    source=Source(
        DERIVATIONS, ("A31",),
        r"The divisor of LayerNorm is written $\sigma + \epsilon$. (The paper on LayerNorm and "
        r"programs take $\sqrt{\sigma^2 + \epsilon}$.) The sign of $\epsilon$ is not stated.",
    ),
    statement=implies(NOT_NEGATIVE, SAME_DIVISOR),
    given=(A_DEVIATION,),
    proof=prove_same_divisor,
    twin=Twin("normalised rows of given deviation in both forms", twin_same_divisor),
    mutations=divisor_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip


def outputs_agree(i: Any) -> Any:
    return equal(*(over(centred(i), form.divisor) for form in FORMS))


WHEN_OUTPUTS_AGREE = iff(forall(a, outputs_agree(a)), SAME_DIVISOR.args[0].args[1])
COMPARABLE = both(NOT_NEGATIVE, less(0, sigma))


def prove_outputs_agree(p: Prover) -> Theorem:
    return p.suppose(
        COMPARABLE,
        lambda case: outputs_agree_if(p, case),
        r"let $\epsilon$ not be negative, and $x$ not constant",
    )


def outputs_agree_if(p: Prover, comparable: Theorem) -> Theorem:
    same, exceptions = (p.formula(part) for part in WHEN_OUTPUTS_AGREE.args[0].args)
    squares = square_of_deviation(p, p.hyp(1))
    law = use(p, lemma(SAME_DIVISORS), p.order(at_most(0, sigma)), p.part(comparable, 0))
    outside, inside = OUTSIDE.divisor, INSIDE.divisor

    def only_then(agreement: Theorem) -> Theorem:
        weighted = p.equal(
            times(centred(a), over(centred(a), outside)),
            times(centred(a), over(centred(a), inside)),
            (centred(a), p.at(agreement, a)), show=False,
        )  # fmt: skip
        summed = p.sum_equal(weighted, a)
        p.note(summed, r"multiply by $x_a - \mu$ and sum over the features")
        ratios = p.equal(
            over(square(sigma), outside), over(square(sigma), inside),
            (over(1, outside), squares), (over(-1, inside), squares), (over(1, d), summed),
            reason=r"divide by $d_{\text{model}}$: the mean of $(x_a - \mu)^2$ is $\sigma^2$",
        )  # fmt: skip
        shared = times(outside, inside, power(sigma, -2))
        divisors = p.equal(
            outside, inside, (times(-1, shared), ratios), (inside, p.cancel(outside)),
            (times(-1, outside), p.cancel(INSIDE.usable)),
            reason=r"multiply by both divisors and divide by $\sigma^2$, which is positive",
        )  # fmt: skip
        return p.note(p.mp(p.part(law, 0), divisors), "and when the divisors agree is known")

    def then(either_one: Theorem) -> Theorem:
        divisors = p.note(p.mp(p.part(law, 1), either_one), "then the divisors agree")
        first, u = p.term(over(centred(a), outside)), p.term(centred(a))
        start = p.equal(first, first, show=False)
        entry = p.rewrite(divisors, start, lambda e: T.eq(first, T.div(u, e)))
        return p.for_all(entry, a)

    return p.both(
        p.suppose(same, only_then, "suppose that the outputs agree"),
        p.suppose(exceptions, then, "conversely, suppose this"),
    )


TWO_FORMS = Claim(
    id="layer-norm/two-forms",
    title=r"It makes no difference whether $\epsilon$ stands inside or outside the root",
    source=Source(
        DERIVATIONS, ("A31",),
        FORMULA + r" This is given as LayerNorm, whose divisor elsewhere is "
        r"$\sqrt{\sigma^2 + \epsilon}$.",
    ),
    statement=forall(a, outputs_agree(a)),
    given=(MEAN, SPREAD, *USABLE),
    counterexample=Example({d: 2, x: [1, -1], epsilon: 3}),
    correction=Correction(
        implies(COMPARABLE, WHEN_OUTPUTS_AGREE),
        prove_outputs_agree,
        given=(MEAN, SPREAD, *USABLE),
    ),
    defined=defined,
    twin=Twin("normalised rows of given deviation in both forms", twin_same_divisor),
    remark=r"The formula of the note is a valid definition, but another one: with $\epsilon > 0$ "
    r"both agree for rows of one single $\sigma > 0$ at most.",
    expected=Verdict.REFUTED,
)  # fmt: skip


other, spread = real("eta"), real("t")
ALWAYS = forall(
    spread,
    implies(at_most(0, spread),
            equal(plus(spread, other), root(plus(square(spread), epsilon)))),
)  # fmt: skip


def prove_no_substitute(p: Prover) -> Theorem:
    def then(_: Theorem) -> Theorem:
        with p.supposing(ALWAYS) as always:
            p.note(
                always,
                r"suppose that the constant $\eta$ outside the root served for every "
                "deviation",
            )
            zero, unit = (p.mp(p.at(always, k), p.trivial(at_most(0, k))) for k in (0, 1))
            at_zero = p.equal(
                square(other), epsilon, (plus(other, root(epsilon)), zero),
                reason=r"for the deviation 0: square both sides of $\eta = \sqrt{\epsilon}$",
            )  # fmt: skip
            at_one = p.equal(
                square(plus(1, other)), plus(1, epsilon),
                (plus(1, other, root(plus(1, epsilon))), unit),
                reason=r"for the deviation 1: the same with $1 + \eta = \sqrt{1 + \epsilon}$",
            )  # fmt: skip
            none = p.equal(other, 0, (half, at_one), (-half, at_zero),
                           reason="subtract both")  # fmt: skip
            nothing = p.equal(epsilon, 0, (-1, at_zero), (other, none), reason="put this in")
            positive_epsilon = p.trivial(negation(equal(epsilon, 0)))
            denied = p.formula(negation(ALWAYS))
            absurd = infer("contradiction", [nothing, positive_epsilon], denied)
        denial = p.note(infer("deny", [absurd], always.conclusion), r"but $\epsilon$ is positive")
        return p.for_all(denial, other)

    return p.suppose(less(0, epsilon), then, r"let $\epsilon$ be positive")


def twin_no_substitute(rng: np.random.Generator) -> Iterator[Trial]:
    """A constant that fits one spread does not fit others."""
    row = rng.standard_normal(5)
    row = (row - row.mean()) / row.std()
    for eps in (0.1, 0.5, 3.0):
        for fitted, tried in ((1.0, 0.3), (0.3, 2.0)):
            constant = np.sqrt(fitted**2 + eps) - fitted
            same = hat(OUTSIDE, fitted * row, constant)
            yield agree(same, hat(INSIDE, fitted * row, eps), "where it was fitted")
            changed = hat(OUTSIDE, tried * row, constant)
            yield differs(changed, hat(INSIDE, tried * row, eps), by=1e-9, what="elsewhere")


NO_SUBSTITUTE = Claim(
    id="layer-norm/no-substitute",
    title="No constant outside the root does what $\\epsilon$ does inside",
    source=Source(
        DERIVATIONS, ("A31",),
        r"The divisor of LayerNorm is written $\sigma + \epsilon$, as if this were the usual "
        r"$\sqrt{\sigma^2 + \epsilon}$ with another constant.",
    ),
    statement=implies(less(0, epsilon), forall(other, negation(ALWAYS))),
    proof=prove_no_substitute,
    defined=defined,
    twin=Twin("normalised rows with a constant fitted to another spread", twin_no_substitute),
    remark="The statement runs over all constants outside the root, and then over all deviations.",
    expected=Verdict.PROVED,
)  # fmt: skip


# ---------------------------------------------------------------------- the Jacobian


def row_facts(p: Prover, show: bool = True) -> Row:
    """From the hypotheses `row_given`: what is known of the row."""
    return row_of(p, p.hyp(0), p.hyp(1), p.hyp(3), show)


def row_given(form: Form) -> tuple[Given, ...]:
    return MEAN, SPREAD, usable(form), divisor_is(form)


def prove_jacobian(form: Form) -> Script:
    def smooth(p: Prover) -> Theorem:
        row = row_facts(p, show=False)
        raw = p.gradient(
            GradientIs(normalised(form, at(x), a), x, b, 0), *smoothness(p, form, row, p.hyp(2))
        )
        spread = row.deviation if form is OUTSIDE else row.squares
        for definition in (row.mean, spread, row.divisor):
            raw = named(p, definition, raw)
        slope = over(
            total(times(centred(c), minus(one(c, b), over(1, d))), c), times(d, form.slope)
        )
        first = p.equal(
            p.partial(raw, b),
            minus(over(minus(one(a, b), over(1, d)), s),
                  times(over(centred(a), square(s)), slope)),
            show=False,
        )  # fmt: skip
        quotient = p.with_partial(raw, first, b)
        p.note(
            quotient,
            r"quotient and chain rule, with $\partial \mu/\partial x_b = "
            r"1/d_{\text{model}}$",
        )
        p.note(row.sums, r"the deviations from the mean add up to zero")
        value = p.equal(
            p.partial(quotient, b), jacobian(form, a, b),
            (over(centred(a), times(square(d), form.slope, square(s))), row.sums),
            reason=r"so $\sum_c (x_c - \mu)(\delta_{cb} - 1/d_{\text{model}}) = x_b - \mu$",
        )  # fmt: skip
        return p.for_all(p.with_partial(quotient, value, b), a)

    if form is OUTSIDE:
        reason = r"suppose that $x$ is not constant, so that $\sigma$ is differentiable"
        return lambda p: p.suppose(less(0, sigma), lambda _: smooth(p), reason)
    return smooth


def twin_jacobian(
    form: Form, coupled: Form | None = None, mean: float = 1.0
) -> Callable[[np.random.Generator], Iterator[Trial]]:
    """The coupling may be that of another form, and the mean term have another factor."""

    def trials(rng: np.random.Generator) -> Iterator[Trial]:
        for rows in samples(rng):
            row = rows[0]
            u, deviation, divisor = spread_and_divisor(form, row)
            if row.size == 1 and OUTSIDE in (form, coupled):
                continue  # the row is constant
            coupling = divisor * (deviation if (coupled or form) is OUTSIDE else divisor)
            flat = np.eye(row.size) - mean / row.size
            claimed = (flat - np.outer(u, u) / (row.size * coupling)) / divisor
            yield agree(jacobian_of_row(form, row), claimed, f"backward, width {row.size}")
            steps = row + 1e-30j * np.eye(row.size)
            yield agree(hat(form, steps).imag.T / 1e-30, claimed, f"steps, width {row.size}")
            if row.size > 1:
                other = (flat - np.outer(u, u) / (row.size * deviation**2)) / divisor
                yield differs(claimed, other, by=1e-9, what="epsilon forgotten in the coupling")

    return trials


#: A row of deviation 1; the divisor is 2 in either form.
UNIT_ROW = {
    OUTSIDE: {d: 2, x: [1, -1], mu: 0, sigma: 1, epsilon: 1, s: 2},
    INSIDE: {d: 2, x: [1, -1], mu: 0, sigma: 1, epsilon: 3, s: 2},
}


def other_form(form: Form) -> Form:
    return INSIDE if form is OUTSIDE else OUTSIDE


def if_spread(form: Form, formula: Any) -> Any:
    """With epsilon outside the root there is a derivative where sigma > 0 only."""
    return implies(less(0, sigma), formula) if form is OUTSIDE else formula


def jacobian_mutations(form: Form) -> tuple[Mutation, ...]:
    other = other_form(form)

    def claimed(path: Any, coupling: Any) -> Any:
        """`path` is what does not go through the deviation."""
        coupled = over(times(centred(a), centred(b)), times(d, coupling))
        value = over(minus(path, coupled), s)
        return if_spread(form, GradientIs(normalised(form, at(x), a), x, b, value))

    at_values = Example({**UNIT_ROW[form], a: 0})
    return (
        Mutation(
            rf"the last term is that for $\epsilon$ {other.name} the root",
            statement=claimed(minus(one(a, b), over(1, d)), other.coupling),
            counterexample=at_values,
            twin=Twin(
                "rows of the Jacobian against the formula of the other form",
                twin_jacobian(form, coupled=other),
            ),
        ),
        Mutation(
            "the mean is taken for a constant",
            statement=claimed(one(a, b), form.coupling),
            counterexample=at_values,
            twin=Twin(
                "rows of the Jacobian against a formula without the derivative of the mean",
                twin_jacobian(form, mean=0.0),
            ),
        ),
    )


def jacobian_claim(form: Form) -> Claim:
    formula = forall(a, GradientIs(normalised(form, at(x), a), x, b, jacobian(form, a, b)))
    return Claim(
        id=f"layer-norm/jacobian-{form.name}",
        title=f"The Jacobian of the normalisation, with $\\epsilon$ {form.name} the root",
        source=Source(
            DERIVATIONS, ("A31",),
            FORMULA + r" Its derivative is not given"
            + (r", nor that it needs $\sigma > 0$." if form is OUTSIDE else
               r"; here for the divisor $\sqrt{\sigma^2 + \epsilon}$."),
        ),
        statement=if_spread(form, formula),
        given=row_given(form),
        proof=prove_jacobian(form),
        defined=defined,
        twin=Twin("rows of the Jacobian by the vjp and by complex steps", twin_jacobian(form)),
        mutations=lambda: jacobian_mutations(form),
        remark=r"$J = \frac{1}{s}\left(I - \frac{1}{d_{\text{model}}} \mathbf{1} \mathbf{1}^{\top} "
        + (r"- \frac{s}{\sigma} \cdot \frac{1}{d_{\text{model}}} \hat{x} \hat{x}^{\top}\right)$ "
           r"with $\hat{x} = (x - \mu)/s$." if form is OUTSIDE else
           r"- \frac{1}{d_{\text{model}}} \hat{x} \hat{x}^{\top}\right)$ with "
           r"$\hat{x} = (x - \mu)/s$; it holds for constant rows as well."),
        expected=Verdict.PROVED,
    )  # fmt: skip


JACOBIANS = tuple(map(jacobian_claim, FORMS))


def applied(form: Form, row: Entry, i: Any) -> Any:
    """Component i of ``J v``."""
    return total(times(jacobian(form, i, b), row(b)), b)


def spectrum(form: Form) -> Any:
    orthogonal = both(
        equal(total(g[b], b), 0), equal(total(times(centred(b), g[b]), b), 0)
    )  # fmt: skip
    return both(
        forall(a, equal(applied(form, lambda _: 1, a), 0)),
        forall(a, equal(applied(form, centred, a), times(form.kept, centred(a)))),
        implies(orthogonal, forall(a, equal(applied(form, at(g), a), over(g[a], s)))),
    )


def prove_spectrum(form: Form) -> Script:
    def prove(p: Prover) -> Theorem:
        row = row_facts(p)
        weight = over(centred(a), times(d, form.coupling, s))
        p.note(row.squares, r"the square of $\sigma$")
        constant = p.equal(
            applied(form, lambda _: 1, a), 0, (times(-1, weight), row.sums),
            reason=r"the entries of a row: $1 - d_{\text{model}} \cdot "
                   r"\frac{1}{d_{\text{model}}}$, and a sum of deviations",
        )  # fmt: skip
        along = p.calc(
            applied(form, centred, a),
            (times(centred(a), over(minus(1, over(square(sigma), form.coupling)), s)),
             r"$\sum_b (x_b - \mu)^2 = d_{\text{model}}\, \sigma^2$",
             (times(-1, over(1, times(d, s))), row.sums), (times(d, weight), row.squares)),
            (times(form.kept, centred(a)),
             r"$s - \sigma = \epsilon$" if form is OUTSIDE else r"$s^2 - \sigma^2 = \epsilon$",
             kept_factor(form, row.divisor)),
        )  # fmt: skip

        def others(orthogonal: Theorem) -> Theorem:
            return p.for_all(
                p.equal(
                    applied(form, at(g), a), over(g[a], s),
                    (times(-1, over(1, times(d, s))), p.part(orthogonal, 0)),
                    (times(-1, weight), p.part(orthogonal, 1)),
                    reason="only the identity is left of the Jacobian",
                ),
                a,
            )  # fmt: skip

        premise = p.formula(spectrum(form).args[2].args[0])
        rest = p.suppose(
            premise, others, r"let $g$ be orthogonal to $(1, \dots, 1)$ and to $x - \mu$"
        )
        return p.both(p.for_all(constant, a), p.for_all(along, a), rest)

    if form is OUTSIDE:
        return lambda p: silently(p, less(0, sigma), lambda: prove(p))
    return prove


def kept_factor(form: Form, divisor: Theorem) -> tuple[Any, Theorem]:
    """The cofactor by which the definition of s turns s - sigma (s^2 - sigma^2) into epsilon."""
    if form is OUTSIDE:
        return times(centred(a), power(s, -2)), divisor
    return times(centred(a), power(s, -3), plus(s, form.divisor)), divisor


def twin_spectrum(form: Form) -> Callable[[np.random.Generator], Iterator[Trial]]:
    def trials(rng: np.random.Generator) -> Iterator[Trial]:
        for rows in samples(rng):
            row, width = rows[0], rows.shape[1]
            if width == 1:
                yield agree(jacobian_of_row(form, row), [[0]], "one feature")
                continue
            u, _, divisor = spread_and_divisor(form, row)
            matrix = jacobian_of_row(form, row)
            kept = EPSILON / divisor**2 if form is OUTSIDE else EPSILON / divisor**3
            yield agree(matrix @ np.ones(width), np.zeros(width), "constants")
            yield agree(matrix @ u, kept * u, "the row itself")
            expected = np.sort([0, kept, *[1 / divisor] * (width - 2)])
            yield agree(np.linalg.eigvalsh(matrix), expected, "eigenvalues", tolerance=1e-10)
            without = jacobian_of_row(form, row, eps=0.0)
            rank = np.linalg.matrix_rank(without, tol=1e-8)
            yield agree(rank, width - 2, "rank without epsilon")

    return trials


def spectrum_claim(form: Form) -> Claim:
    statement = spectrum(form)
    return Claim(
        id=f"layer-norm/spectrum-{form.name}",
        title=f"What the Jacobian does to a row, with $\\epsilon$ {form.name} the root",
        source=Source(
            DERIVATIONS, ("A31",), FORMULA + " What becomes of a change of $x$ is not said."
        ),
        statement=implies(less(0, sigma), statement) if form is OUTSIDE else statement,
        given=row_given(form),
        proof=prove_spectrum(form),
        defined=defined,
        twin=Twin("eigenvalues of the Jacobian from the vjp", twin_spectrum(form)),
        remark=r"The parts say what the Jacobian $J$, which is symmetric, makes of a constant, of "
        r"$x - \mu$ (nothing for $\epsilon = 0$), and of a row $g$ that is orthogonal to both.",
        expected=Verdict.PROVED,
    )  # fmt: skip


SPECTRA = tuple(map(spectrum_claim, FORMS))


# ---------------------------------------------------------------------- what leaves it unchanged

POSITIVE_EPSILON = less(0, epsilon)
UNSAID = r" That $\epsilon > 0$, so that every row can be divided, is not stated either."


shift, scale = real("t"), positive("alpha")


def learn_sign(q: Prover, premises: list[Theorem], symbols: frozenset[T.Term | str]) -> None:
    """sigma is not negative."""
    _, deviation, _ = definitions(q, premises)
    if deviation is not None and q.term(sigma) in symbols:
        q.fact(q.order(at_most(0, sigma), (1, deviation)))


def prove_shift(p: Prover) -> Theorem:
    return silently(p, POSITIVE_EPSILON, lambda: shift_forms(p))


def shift_forms(p: Prover) -> Theorem:
    parts = []
    for form in FORMS:
        spread = p.hyp(1) if form is OUTSIDE else square_of_deviation(p, p.hyp(1))
        plain = p.equal(normalised(form, shifted, a), normalised(form, at(x), a), show=False)
        p.note(plain, r"the mean is shifted by $t$ as well, and $x_a - \mu$ stays")
        names = rewritten(
            p, normalised(form, at(x), a), flipped(p, p.hyp(0)), flipped(p, spread)
        )  # fmt: skip
        value = p.equal(
            normalised(form, shifted, a), over(centred(a), form.divisor), (1, plain), (1, names),
            reason=r"with $\mu$ and $\sigma$ for mean and deviation",
        )  # fmt: skip
        parts.append(p.for_all(value, a))
    return p.both(*parts)


def shifted(i: Any) -> Any:
    return plus(x[i], shift)


def twin_shift(rng: np.random.Generator) -> Iterator[Trial]:
    for rows in samples(rng):
        for form in FORMS:
            by = rng.uniform(-3, 3, size=(3, 1))
            moved = hat(form, rows[:2] + by[:2])
            yield agree(moved, hat(form, rows[:2]), f"width {rows.shape[1]}")


SHIFT = Claim(
    id="layer-norm/shift",
    title="A number added to all features changes nothing",
    source=Source(DERIVATIONS, ("A31",), FORMULA + r" Invariances are not mentioned." + UNSAID),
    statement=implies(
        POSITIVE_EPSILON,
        both_forms(
            lambda form: forall(
                a, equal(normalised(form, shifted, a), over(centred(a), form.divisor))
            )
        ),
    ),
    given=(MEAN, SPREAD),
    proof=prove_shift,
    defined=defined_by(learn_sign),
    twin=Twin("rows with a number added", twin_shift),
    remark=r"On the left $x_a + t$ in place of $x_a$, in both forms of LayerNorm.",
    expected=Verdict.PROVED,
)  # fmt: skip


def scaled(i: Any) -> Any:
    return times(scale, x[i])


def smaller(form: Form) -> Any:
    """The divisor with epsilon for the original row in place of the scaled one."""
    if form is OUTSIDE:
        return plus(sigma, over(epsilon, scale))
    return root(plus(square(sigma), over(epsilon, square(scale))))


def scaled_statistics(p: Prover, mean: Theorem, squares: Theorem) -> tuple[Theorem, Theorem]:
    """Variance and mean of alpha x, in terms of those of x."""
    means = p.equal(
        mean_of(scaled), times(scale, mu), (times(-1, scale), mean),
        reason=r"the mean of $\alpha x$",
    )  # fmt: skip
    sides = plus(scaled(c), times(-1, mean_of(scaled))), times(scale, centred(c))
    distance = p.equal(
        square(sides[0]), square(sides[1]), (times(-1, plus(*sides)), means), show=False
    )
    variances = p.equal(
        variance_of(scaled, mean_of(scaled)), times(square(scale), square(sigma)),
        (over(1, d), p.sum_equal(distance, c)), (times(-1, square(scale)), squares),
        reason="and its variance",
    )  # fmt: skip
    return variances, means


def learn_scaled(q: Prover, premises: list[Theorem], symbols: frozenset[T.Term | str]) -> None:
    """The divisors of x and of alpha x, in terms of x alone."""
    mean, deviation, _ = definitions(q, premises)
    if mean is None or deviation is None or q.term(mu) in symbols:
        return
    squares = square_of_deviation(q, deviation)
    wide = q.formula(less(0, plus(times(scale, sigma), epsilon)))
    for t in premises:
        if t.conclusion is wide:
            written = plus(root(times(square(scale), square(sigma))), epsilon)
            variances, _ = scaled_statistics(q, mean, squares)
            positive_room = q.order(less(0, written), (1, t))
            q.fact(spelled_out(q, positive_room, flipped(q, variances)))


def root_of_room(p: Prover, form: Form) -> Theorem:
    """The divisor of the scaled row is alpha times the one with the smaller epsilon."""
    narrow = smaller(form)
    if form is OUTSIDE:
        spread = root(times(square(scale), square(sigma)))
        return p.equal(plus(spread, epsilon), times(scale, narrow), show=False)
    t, under = T.var("t"), narrow.base
    with p.supposing(T.le(T.ZERO, t)) as sign:
        product = T.mul(p.term(square(scale)), t)
        law = p.equal(T.fn("sqrt", product), T.mul(p.term(scale), T.fn("sqrt", t)), show=False)
    law = p.at(p.for_all(p.discharge(law, sign), t), under)
    pulled = p.mp(law, p.order(at_most(0, under)))
    wide = plus(times(square(scale), square(sigma)), epsilon)
    multiplied = p.equal(times(square(scale), under), wide, show=False)
    right = pulled.conclusion.children[1]
    return p.rewrite(multiplied, pulled, lambda e: T.eq(T.fn("sqrt", e), right))


def prove_scale(p: Prover) -> Theorem:
    reason = r"let $\epsilon$ be positive"
    return p.suppose(POSITIVE_EPSILON, lambda _: scale_forms(p), reason)


def scale_forms(p: Prover) -> Theorem:
    squares = square_of_deviation(p, p.hyp(1))
    with p.supposing(less(0, s)) as case:
        ratio = over(minus(scaled(a), times(scale, mu)), times(scale, s))
        cancelled = p.equal(ratio, over(centred(a), s), show=False)
    cancelled = p.for_all(p.discharge(cancelled, case), s)
    statistics = scaled_statistics(p, p.hyp(0), squares)
    parts = []
    for form in FORMS:
        start = rewritten(p, normalised(form, scaled, a), *statistics)
        narrow = smaller(form)
        divisors = root_of_room(p, form)
        p.note(divisors, "so this is the divisor")
        quotient = rewritten(p, start.conclusion.children[1], divisors)
        last = p.mp(p.at(cancelled, narrow), p.order(less(0, narrow)))
        value = p.equal(
            normalised(form, scaled, a), over(centred(a), narrow),
            (1, start), (1, quotient), (1, last),
            reason=r"and $\alpha$ is left out of the quotient",
        )  # fmt: skip
        parts.append(p.for_all(value, a))
    return p.both(*parts)


def twin_scale(rng: np.random.Generator) -> Iterator[Trial]:
    for rows in samples(rng):
        for factor in (0.25, 3.0):
            for form, smaller_epsilon in zip(FORMS, (EPSILON / factor, EPSILON / factor**2),
                                             strict=True):  # fmt: skip
                expected = hat(form, rows, smaller_epsilon)
                yield agree(hat(form, factor * rows), expected, f"width {rows.shape[1]}")


SCALE = Claim(
    id="layer-norm/scale",
    title="A positive factor acts like a smaller $\\epsilon$",
    source=Source(DERIVATIONS, ("A31",), FORMULA + r" Invariances are not mentioned." + UNSAID),
    statement=implies(
        POSITIVE_EPSILON,
        both_forms(
            lambda form: forall(
                a, equal(normalised(form, scaled, a), over(centred(a), smaller(form)))
            )
        ),
    ),
    given=(MEAN, SPREAD),
    proof=prove_scale,
    defined=defined_by(learn_sign),
    twin=Twin("rows with a factor, and rows with another $\\epsilon$", twin_scale),
    remark=r"On the left $\alpha x_a$ in place of $x_a$: with $\epsilon/\alpha$ in place of "
    r"$\epsilon$, or $\epsilon/\alpha^2$ in the other form, the row is normalised as before.",
    expected=Verdict.PROVED,
)


def prove_scale_invariance(p: Prover) -> Theorem:
    mean, deviation, positive_divisor, _, nothing = (p.hyp(k) for k in range(5))
    squares = square_of_deviation(p, deviation)
    p.fact(p.order(less(0, sigma), (1, positive_divisor), (-1, nothing)))
    start = rewritten(p, normalised(OUTSIDE, scaled, a), *scaled_statistics(p, mean, squares))
    eps = p.term(epsilon)
    claimed = T.eq(start.conclusion.children[1], p.term(over(centred(a), OUTSIDE.divisor)))
    plain = T.substitute(claimed, {eps: T.ZERO})
    without = p.equal(*plain.children, show=False)
    at_epsilon = p.rewrite(flipped(p, nothing), without, lambda e: T.substitute(claimed, {eps: e}))
    p.note(at_epsilon, r"as $\epsilon$ is $0$, the factor $\alpha$ cancels")
    value = p.equal(
        normalised(OUTSIDE, scaled, a), over(centred(a), OUTSIDE.divisor),
        (1, start), (1, at_epsilon), reason=r"with mean and deviation of $\alpha x$",
    )  # fmt: skip
    return p.for_all(value, a)


def twin_scale_invariance(rng: np.random.Generator, eps: float = 0.0) -> Iterator[Trial]:
    for rows in samples(rng):
        if rows.shape[1] == 1:
            continue
        kept = rows[:2]
        # Rounding of a row that hardly varies is divided by its small deviation.
        condition = np.max(np.abs(kept).max(axis=1) / kept.std(axis=1))
        limit = max(1e-12, 8 * float(np.finfo(kept.dtype).eps * condition))
        for form in FORMS:
            without = hat(form, 3 * kept, eps=eps)
            expected = hat(form, kept, eps=eps)
            yield agree(without, expected, f"width {rows.shape[1]}", tolerance=limit)
            yield differs(hat(form, 3 * kept), hat(form, kept), by=1e-9, what="with epsilon")
            yield agree(hat(form, -kept), -hat(form, kept), "a factor -1")


def invariance_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            r"the factor cancels with any $\epsilon$",
            given=(*SCALE_INVARIANCE.given, Given(NOT_NEGATIVE)),
            counterexample=Example({d: 2, x: [1, -1], scale: 2, epsilon: 1}),
            twin=Twin(
                "rows with a factor, with epsilon",
                lambda rng: twin_scale_invariance(rng, eps=EPSILON),
            ),
        ),
    )


SCALE_INVARIANCE = Claim(
    id="layer-norm/scale-invariance",
    title="Does a positive factor change the output?",
    source=Source(
        DERIVATIONS, ("A31",),
        FORMULA + r" Numerator and $\sigma$ have the same unit, so that one expects a common "
        r"factor of the features to cancel; the note does not say so.",
    ),
    statement=forall(
        a, equal(normalised(OUTSIDE, scaled, a), over(centred(a), OUTSIDE.divisor))
    ),
    given=(
        MEAN,
        SPREAD,
        usable(OUTSIDE),
        Given(less(0, plus(times(scale, sigma), epsilon)), r"the same for $\alpha x$"),
    ),
    added=(
        Added(
            equal(epsilon, 0),
            Example({d: 2, x: [1, -1], scale: 2, epsilon: 1}),
            r"with $\epsilon > 0$ the factor makes the output larger",
        ),
    ),
    witness=Example({d: 2, x: [1, -1], scale: 2, epsilon: 0}),
    proof=prove_scale_invariance,
    defined=defined_by(learn_scaled),
    twin=Twin("rows with a factor, with and without $\\epsilon$", twin_scale_invariance),
    mutations=invariance_mutations,
    expected=Verdict.CONDITIONAL,
)  # fmt: skip


# ---------------------------------------------------------------------- backward

loss = VectorFunction("loss", d)


def output(i: Any) -> Any:
    """y, in terms of mu and s."""
    return plus(times(gamma[i], over_s(i)), beta[i])


def weighted(i: Any) -> Any:
    """The gradient by the normalised row."""
    return times(gamma[i], g[i])


def vjp(form: Form, i: Any) -> Any:
    """The gradient by x_i, as it is programmed."""
    along = times(over_s(i), mean_of(lambda j: times(gamma[j], g[j], over_s(j))))
    if form is OUTSIDE:
        along = times(over(s, sigma), along)
    return over(minus(minus(weighted(i), mean_of(weighted)), along), s)


UPSTREAM = Notation(
    forall(a, equal(g[a], loss.partial(output)[a])),
    r"$g$ is the gradient of a loss by the output $y$ of LayerNorm",
)
SMOOTH_LOSS = Given(Differentiable(loss(output)[()]), "the loss is differentiable")


def prove_vjp(form: Form) -> Script:
    def chain_rule(p: Prover) -> Theorem:
        row = row_facts(p, show=False)
        upstream, smooth = p.hyp(4), p.hyp(5)
        spread = row.deviation if form is OUTSIDE else row.squares
        written = spelled_out(p, smooth, row.divisor, spread, row.mean)
        raw = p.gradient(
            GradientIs(loss(whole_output(form))[()], x, b, 0),
            written, *smoothness(p, form, row, p.hyp(2)),
        )  # fmt: skip
        for definition in (row.mean, spread, row.divisor):
            raw = named(p, definition, raw)
        rows = total(times(weighted(a), jacobian(form, a, b)), a)
        through = p.equal(p.partial(raw, b), rows, upstream, row.mean, show=False)
        raw = p.with_partial(raw, through, b)
        p.note(raw, r"chain rule: through $y$ and the Jacobian of the normalisation")
        value = p.equal(
            rows, vjp(form, b), reason=r"multiply out and collect the sums; $\hat{x} = (x - \mu)/s$"
        )
        return p.with_partial(raw, value, b)

    if form is OUTSIDE:
        return lambda p: p.suppose(
            less(0, sigma), lambda _: chain_rule(p), r"suppose that $x$ is not constant"
        )
    return chain_rule


def whole_output(form: Form) -> Entry:
    return lambda i: plus(times(gamma[i], normalised(form, at(x), i)), beta[i])


def twin_vjp(
    form: Form, mistaken: Form | None = None, mean: float = 1.0
) -> Callable[[np.random.Generator], Iterator[Trial]]:
    """A batch of rows with gamma and beta; the formula is written out for each row.

    The backward pass may be that of another form, and the mean have another factor.
    """

    def trials(rng: np.random.Generator) -> Iterator[Trial]:
        forward, backward = layer(form)[0], layer(mistaken or form)[1]
        for width in WIDTHS:
            rows, cotangents = rng.standard_normal((2, 4, width))
            weights, biases = rng.standard_normal((2, width))
            got, by_gamma, by_beta = backward(rows, weights, biases, cotangents, epsilon=EPSILON)
            outputs = (forward(rows, weights, biases, epsilon=EPSILON) - biases) / weights
            for row, cotangent, normed, gradient in zip(
                rows, cotangents, outputs, got, strict=True
            ):
                _, deviation, divisor = spread_and_divisor(form, row)
                inner = weights * cotangent
                extra = divisor / deviation if form is OUTSIDE and deviation else 1.0
                along = extra * normed * (inner * normed).mean()
                claimed = (inner - mean * inner.mean() - along) / divisor
                yield agree(gradient, claimed, f"gradient by x, width {width}")
            yield agree(by_gamma, (cotangents * outputs).sum(axis=0), "gradient by gamma")
            yield agree(by_beta, cotangents.sum(axis=0), "gradient by beta")
        if form is OUTSIDE:
            constant = behind(form, np.full((1, 5), 0.1), rng.standard_normal((1, 5)))
            yield agree(np.isfinite(constant).all(), True, "a constant row gives no NaN")

    return trials


def twin_affine(rng: np.random.Generator) -> Iterator[Trial]:
    from numeric import complex_step_error

    for form in FORMS:
        forward, backward = layer(form)
        for shape in ((3, 5), (2, 2, 3), (1, 2)):
            arguments = rng.standard_normal(shape), *rng.standard_normal((2, shape[-1]))
            error = complex_step_error(
                lambda *values, forward=forward: forward(*values, epsilon=EPSILON),
                lambda *values, backward=backward: backward(*values, epsilon=EPSILON),
                arguments, rng,
            )  # fmt: skip
            yield Trial(error, 1e-12, f"complex steps, shape {shape}")


def vjp_mutations(form: Form) -> tuple[Mutation, ...]:
    """In the statements the loss is the sum of the outputs, each times its g."""
    paired = total(times(g[a], whole_output(form)(a)), a)
    hat_along = times(over_s(b), mean_of(lambda j: times(gamma[j], g[j], over_s(j))))
    right, wrong = (over(s, sigma), 1) if form is OUTSIDE else (1, over(s, sigma))

    def claimed(factor: Any, *means: Any) -> Any:
        parts = weighted(b), *(times(-1, mean) for mean in means), times(-1, factor, hat_along)
        return if_spread(form, GradientIs(paired, x, b, over(plus(*parts), s)))

    values = {**UNIT_ROW[form], g: [1, 0], gamma: [1, 1], beta: [0, 0]}
    names = {OUTSIDE: r"\sigma + \epsilon", INSIDE: r"\sqrt{\sigma^2 + \epsilon}"}
    return (
        Mutation(
            f"the backward pass of ${names[other_form(form)]}$ stands behind the forward pass of "
            f"${names[form]}$",
            statement=claimed(wrong, mean_of(weighted)),
            given=row_given(form),
            counterexample=Example(values),
            twin=Twin(
                "the backward pass of the other form against the formula",
                twin_vjp(form, mistaken=other_form(form)),
            ),
        ),
        Mutation(
            r"the mean $\overline{g'}$ is forgotten",
            statement=claimed(right),
            given=row_given(form),
            counterexample=Example(values),
            twin=Twin(
                "the backward pass against the formula without this mean",
                twin_vjp(form, mean=0.0),
            ),
        ),
    )


def vjp_claim(form: Form) -> Claim:
    formula = GradientIs(loss(whole_output(form))[()], x, b, vjp(form, b))
    return Claim(
        id=f"layer-norm/vjp-{form.name}",
        title=f"The backward pass of LayerNorm, with $\\epsilon$ {form.name} the root",
        source=Source(
            DERIVATIONS, ("A31",), FORMULA + r" Its backward pass is not given."
        ),
        statement=if_spread(form, formula),
        given=(*row_given(form), UPSTREAM, SMOOTH_LOSS),
        proof=prove_vjp(form),
        defined=defined,
        twin=Twin("the backward pass of rows with gamma and beta", twin_vjp(form)),
        mutations=lambda: vjp_mutations(form),
        remark=r"With $\hat{x} = (x - \mu)/s$, $g' = \gamma \odot g$ and a bar for the mean over "
        r"the features: $\frac{1}{s}\left(g' - \overline{g'} - "
        + (r"\frac{s}{\sigma}\," if form is OUTSIDE else "")
        + r"\hat{x}\,\overline{g' \odot \hat{x}}\right)$.",
        expected=Verdict.PROVED,
    )  # fmt: skip


VJPS = tuple(map(vjp_claim, FORMS))


def prove_affine(p: Prover) -> Theorem:
    upstream, smooth = p.hyp(1), p.hyp(2)
    parts = []
    for weights, value, why in (
        (gamma, times(g[b], over_s(b)), r"chain rule; $\gamma_b$ stands in $y_b$ alone"),
        (beta, g[b], r"the same for $\beta$"),
    ):
        raw = p.gradient(GradientIs(loss(output)[()], weights, b, 0), smooth)
        equation = p.equal(p.partial(raw, b), value, upstream, show=False)
        parts.append(p.note(p.with_partial(raw, equation, b), why))
    return p.both(*parts)


AFFINE = Claim(
    id="layer-norm/affine",
    title=r"The gradients by $\gamma$ and $\beta$",
    source=Source(
        DERIVATIONS, ("A31",), FORMULA + r" The product is taken feature by feature."
    ),
    statement=both(
        GradientIs(loss(output)[()], gamma, b, times(g[b], over_s(b))),
        GradientIs(loss(output)[()], beta, b, g[b]),
    ),
    given=(Given(less(0, s), r"the divisor, in either form"), UPSTREAM, SMOOTH_LOSS),
    proof=prove_affine,
    defined=defined,
    twin=Twin(r"complex steps by $x$, $\gamma$ and $\beta$", twin_affine),
    remark=r"For several tokens the contributions of all rows are added up.",
    expected=Verdict.PROVED,
)  # fmt: skip


def back(form: Form, i: Any) -> Any:
    """Component i of ``g J``."""
    return total(times(g[a], jacobian(form, a, i)), a)


def orthogonal(form: Form) -> Any:
    return both(
        equal(total(back(form, b), b), 0),
        equal(
            total(times(back(form, b), centred(b)), b),
            times(form.kept, total(times(g[a], centred(a)), a)),
        ),
    )


def prove_orthogonal(form: Form) -> Script:
    def prove(p: Prover) -> Theorem:
        known = use(p, lemma(SPECTRA[FORMS.index(form)]), *(p.hyp(k) for k in range(4)))
        if form is OUTSIDE:
            known = p.mp(known, p.known()[-1])
        facts = (
            p.note(p.part(known, 0), "the Jacobian loses constants"),
            p.note(p.part(known, 1), r"and leaves this of $x - \mu$"),
        )
        vectors = (lambda _: 1, centred)
        values = (0, times(form.kept, centred(a)))
        reasons = ("multiply by $g_a$ and sum; the sums may be exchanged", "likewise")
        parts = []
        for k, (vector, value, reason) in enumerate(zip(vectors, values, reasons, strict=True)):
            weighted_row = p.equal(
                times(g[a], applied(form, vector, a)), times(g[a], value),
                (g[a], p.at(facts[k], a)), show=False,
            )  # fmt: skip
            summed_rows = p.sum_equal(weighted_row, a)
            left, right = orthogonal(form).args[k].args
            parts.append(p.equal(left, right, (1, summed_rows), reason=reason))
        return p.both(*parts)

    if form is OUTSIDE:
        return lambda p: p.suppose(
            less(0, sigma), lambda _: prove(p), r"suppose that $x$ is not constant"
        )
    return prove


def twin_orthogonal(form: Form) -> Callable[[np.random.Generator], Iterator[Trial]]:
    def trials(rng: np.random.Generator) -> Iterator[Trial]:
        for rows in samples(rng):
            cotangents = rng.standard_normal(rows.shape)
            gradients = behind(form, rows, cotangents)
            yield agree(gradients.sum(axis=-1), np.zeros(3), f"sums, width {rows.shape[1]}")
            for row, cotangent, gradient in zip(rows, cotangents, gradients, strict=True):
                u, _, divisor = spread_and_divisor(form, row)
                kept = EPSILON / divisor**2 if form is OUTSIDE else EPSILON / divisor**3
                yield agree(gradient @ u, kept * (cotangent @ u), f"along u, width {row.size}")

    return trials


def orthogonal_mutations(form: Form) -> tuple[Mutation, ...]:
    along = orthogonal(form).args[1]
    return (
        Mutation(
            "the gradient keeps its sum",
            statement=if_spread(form, both(equal(total(back(form, b), b), total(g[a], a)), along)),
            counterexample=Example({**UNIT_ROW[form], g: [1, 0]}),
        ),
    )


def orthogonal_claim(form: Form) -> Claim:
    return Claim(
        id=f"layer-norm/orthogonal-{form.name}",
        title=f"Gradients behind LayerNorm add up to zero, with $\\epsilon$ {form.name} the root",
        source=Source(
            DERIVATIONS, ("A31",),
            FORMULA + r" What this means for the gradients is not said.",
        ),
        statement=implies(less(0, sigma), orthogonal(form))
        if form is OUTSIDE
        else orthogonal(form),
        given=row_given(form),
        proof=prove_orthogonal(form),
        defined=defined,
        twin=Twin("sums of gradients behind normalised rows", twin_orthogonal(form)),
        mutations=lambda: orthogonal_mutations(form),
        remark=r"$g$ is any gradient by the normalised row (with $\gamma$: by $y$, times "
        r"$\gamma$). For $\epsilon = 0$ the gradient by $x$ is orthogonal to $x - \mu$ as well.",
        expected=Verdict.PROVED,
    )  # fmt: skip


ORTHOGONAL = tuple(map(orthogonal_claim, FORMS))


def length(entry: Entry) -> Any:
    return root(total(square(entry(b)), b))


def shorter(p: Prover, form: Form) -> Theorem:
    """For numbers q, r, m, w with q = (r - m^2/d - w^2 (...)) / s^2: sqrt q <= sqrt r / s."""
    q, r, m, w = (T.var(name) for name in ("q", "r", "m", "w"))
    coupling, size, scale_of = (p.term(e) for e in (form.coupling, d, square(s)))
    variance = p.term(square(sigma))
    large = T.le(variance, T.mul(T.num(2), coupling))
    lost = T.add(
        T.div(T.power(m, 2), size),
        T.mul(T.div(T.power(w, 2), size),
              T.sub(T.div(T.num(2), coupling), T.div(variance, T.power(coupling, 2)))),
    )  # fmt: skip
    premises = [
        T.le(T.ZERO, q), T.le(T.ZERO, r), T.eq(q, T.div(T.sub(r, lost), scale_of)), large
    ]  # fmt: skip
    with ExitStack() as stack:
        signs = [stack.enter_context(p.supposing(h)) for h in premises]
        inverse = T.inv(scale_of)
        before = T.div(T.fn("sqrt", r), p.term(s))
        compared = p.order(
            T.le(T.power(T.fn("sqrt", q), 2), T.power(before, 2)),
            (-1, signs[2]),
            (T.div(inverse, size), p.square(m)),
            (T.mul(inverse, T.inv(T.mul(size, T.power(coupling, 2)))), p.square(w), signs[3]),
        )
        theorem = by_squares(p, T.fn("sqrt", q), before, compared)
    for h in reversed(premises):
        theorem = p.discharge(theorem, h)
    return p.for_all(theorem, q, r, m, w)


def prove_contraction(form: Form) -> Script:
    def prove(p: Prover, no_less: Theorem) -> Theorem:
        row = row_of(p, p.hyp(0), p.hyp(1), p.hyp(2 if form is OUTSIDE else 3))
        p.note(row.squares, r"the square of $\sigma$")
        coupling = form.coupling
        everything, along = total(g[a], a), total(times(g[a], centred(a)), a)
        plain = over(minus(minus(g[b], over(everything, d)),
                           times(centred(b), over(along, times(d, coupling)))), s)  # fmt: skip
        entry = p.equal(back(form, b), plain, reason="a component of $g$ times the Jacobian")
        excess = minus(over(2, coupling), over(square(sigma), square(coupling)))
        lost = plus(over(square(everything), d), times(over(square(along), d), excess))
        whole = p.equal(
            total(square(plain), b),
            over(minus(total(square(g[b]), b), lost), square(s)),
            (times(-1, power(s, -2), square(along), over(1, times(d, square(coupling)))),
             row.squares),
            (times(2, power(s, -2), everything, along, over(1, times(square(d), coupling))),
             row.sums),
            reason=r"square it and sum, with $\sum_b (x_b - \mu) = 0$ and $\sum_b (x_b - \mu)^2 = "
                   r"d_{\text{model}}\, \sigma^2$",
        )  # fmt: skip
        room = coupling_is_large(p, form, row, no_less)
        before = total(square(g[b]), b)
        law = p.at(shorter(p, form), total(square(plain), b), before, everything, along)
        shown = use(p, law, p.nonneg(total(square(plain), b)), p.nonneg(before), whole, room)
        p.note(shown, "nothing that is subtracted is negative; take roots")
        squares = flipped(p, summed(p, rewritten(p, square(back(form, b)), entry), b))
        bound = shown.conclusion.children[1]
        return p.note(
            p.rewrite(squares, shown, lambda e: T.le(T.fn("sqrt", e), bound)),
            "on the left stands the length of this row",
        )

    premise, reason = contraction(form).args[0], r"let $\epsilon$ not be negative"
    if form is INSIDE:
        return lambda p: p.suppose(premise, lambda no_less: prove(p, no_less), reason)
    return lambda p: p.suppose(
        premise, lambda both_of: prove(p, p.part(both_of, 1)), reason + ", and $x$ not constant"
    )


def coupling_is_large(p: Prover, form: Form, row: Row, no_less: Theorem) -> Theorem:
    """sigma^2 <= 2 coupling, as s is at least sigma."""
    goal = at_most(square(sigma), times(2, form.coupling))
    if form is OUTSIDE:
        return p.order(goal, (times(2, sigma), row.divisor), (times(2, sigma), no_less),
                       reason=r"as $s = \sigma + \epsilon$")  # fmt: skip
    return p.order(goal, (times(2, plus(s, form.divisor)), row.divisor), (2, no_less),
                   reason=r"as $s^2 = \sigma^2 + \epsilon$")  # fmt: skip


def contraction(form: Form) -> Any:
    bound = at_most(length(lambda i: back(form, i)), over(length(at(g)), s))
    no_less = at_most(0, epsilon)
    return implies(both(less(0, sigma), no_less) if form is OUTSIDE else no_less, bound)


def twin_contraction(form: Form) -> Callable[[np.random.Generator], Iterator[Trial]]:
    def trials(rng: np.random.Generator) -> Iterator[Trial]:
        for rows in samples(rng):
            cotangents = rng.standard_normal(rows.shape)
            gradients = behind(form, rows, cotangents)
            for row, cotangent, gradient in zip(rows, cotangents, gradients, strict=True):
                u, _, divisor = spread_and_divisor(form, row)
                bound = np.linalg.norm(cotangent) / divisor
                yield below(np.linalg.norm(gradient), bound, f"width {row.size}")
            if rows.shape[1] > 2:
                u, _, divisor = spread_and_divisor(form, rows[0])
                free = rng.standard_normal(u.size)
                free -= free.mean()
                free -= (free @ u) / (u @ u) * u
                reached = np.linalg.norm(behind(form, rows[:1], free[None]))
                yield agree(reached, np.linalg.norm(free) / divisor, "attained")

    return trials


def contraction_claim(form: Form) -> Claim:
    return Claim(
        id=f"layer-norm/contraction-{form.name}",
        title="LayerNorm divides lengths of gradients by $s$ at least, "
        f"with $\\epsilon$ {form.name} the root",
        source=Source(
            DERIVATIONS, ("A31",),
            FORMULA + r" What this means for lengths, and that $\epsilon \ge 0$, is not said.",
        ),
        statement=contraction(form),
        given=(MEAN, SPREAD, divisor_is(form)) if form is OUTSIDE else row_given(form),
        proof=prove_contraction(form),
        defined=defined,
        twin=Twin("lengths of gradients behind normalised rows", twin_contraction(form)),
        remark=r"$g$ is the gradient by the normalised row, on the left the one by $x$. Equality "
        r"holds for $g$ orthogonal to $\mathbf{1}$ and to $x - \mu$.",
        expected=Verdict.PROVED,
    )  # fmt: skip


CONTRACTIONS = tuple(map(contraction_claim, FORMS))


# ---------------------------------------------------------------------- rows and columns

AXES = (
    r"$\mu$ and $\sigma$ are taken over the features of a token, not over the batch, as in "
    r"BatchNorm."
)
n = dim("n")
t, t_other = index("t", n), index("u", n)
X, Z = tensor("X", n, d), tensor("Z", n, d)
columns = tensor("C", d, n)


def column(matrix: Any, i: Any) -> Entry:
    """The values of a feature in all rows."""
    return lambda j: matrix[j, i]


SAME_ROW = forall(c, equal(X[t, c], Z[t, c]))
SAME_COLUMN = forall(t, equal(X[t, c], Z[t, c]))


def prove_rows(p: Prover) -> Theorem:
    def then(entries: Theorem) -> Theorem:
        parts = [
            p.for_all(same_normalised(p, form, (at(X, t), at(Z, t)), entries, c, d), c)
            for form in FORMS
        ]
        return p.note(p.both(*parts), "so numerator and divisor are the same, in both forms")

    return silently(
        p, POSITIVE_EPSILON, lambda: p.suppose(SAME_ROW, then, "let the matrices agree in row $t$")
    )


Norm = Callable[[Form, Any], Any]


def over_rows(form: Form, rows: Any) -> Any:
    """Mean and deviation are taken over the rows of the matrix, feature by feature."""
    return hat(form, rows.T).T


def twin_rows(rng: np.random.Generator, norm: Norm = hat) -> Iterator[Trial]:
    """One row is replaced: what becomes of the others, forward and backward."""
    for size, width in ((2, 1), (3, 5), (4, 2)):
        rows, cotangents = rng.standard_normal((2, size, width))
        changed = rows.copy()
        changed[0] = 2 * rng.standard_normal(width)
        one_only = np.where(np.arange(size)[:, None] == 0, cotangents, 0)
        for form in FORMS:
            yield agree(norm(form, changed)[1:], norm(form, rows)[1:], "other rows", tolerance=0.0)
            behind_one = behind(form, rows, one_only)
            yield agree(behind_one[1:], np.zeros((size - 1, width)), "gradients by other rows")
            if width > 1:
                yield differs(hat(form, changed)[0], hat(form, rows)[0], by=1e-9, what="its own")


def row_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "mean and deviation are taken over the rows, along axis 0",
            statement=BATCH_ROWS.statement,
            counterexample=BATCH_ROWS.counterexample,
            twin=Twin(
                "rows of which one is replaced, normalised along the other axis",
                lambda rng: twin_rows(rng, over_rows),
            ),
        ),
    )


ROWS = Claim(
    id="layer-norm/rows",
    title="LayerNorm treats every token by itself",
    source=Source(DERIVATIONS, ("A32",), AXES + UNSAID),
    statement=implies(
        POSITIVE_EPSILON,
        implies(
            SAME_ROW,
            both_forms(
                lambda form: forall(
                    c, equal(normalised(form, at(X, t), c), normalised(form, at(Z, t), c))
                )
            ),
        ),
    ),
    proof=prove_rows,
    defined=defined,
    twin=Twin("rows of which one is replaced", twin_rows),
    mutations=row_mutations,
    remark=r"So the derivative of an output of row $t$ by an entry of another row is $0$.",
    expected=Verdict.PROVED,
)  # fmt: skip


TOKEN = at(X, t)


def prove_row_gradient(p: Prover) -> Theorem:
    def then(_: Theorem) -> Theorem:
        row = row_of(p, p.hyp(0), p.hyp(1), p.hyp(3), show=False, row=TOKEN)
        raw = p.gradient(
            GradientIs(normalised(OUTSIDE, TOKEN, c), X, (t_other, b), 0),
            *smoothness(p, OUTSIDE, row, p.hyp(2)),
        )
        for definition in (row.mean, row.deviation, row.divisor):
            raw = named(p, definition, raw)
        value = p.equal(
            p.partial(raw, t_other, b), times(one(t, t_other), jacobian(OUTSIDE, c, b, TOKEN)),
            row.mean, show=False,
        )  # fmt: skip
        theorem = p.with_partial(raw, value, t_other, b)
        p.note(
            theorem,
            "as for a single row; only row $t$ occurs, so that every term has the "
            r"factor $\delta_{tu}$",
        )
        return p.for_all(theorem, c)

    return p.suppose(less(0, sigma), then, "suppose that row $t$ is not constant")


def twin_row_gradient(rng: np.random.Generator, norm: Norm = hat) -> Iterator[Trial]:
    """All derivatives of a small batch by complex steps, against the Jacobians of its rows."""
    for size, width in ((1, 3), (3, 2), (2, 5)):
        rows = rng.standard_normal((size, width))
        steps = rows + 1e-30j * np.eye(size * width).reshape(size * width, size, width)
        outputs = np.stack([norm(OUTSIDE, moved) for moved in steps])
        measured = outputs.imag.reshape(size, width, size, width) / 1e-30
        claimed = np.zeros((size, width, size, width))
        for k, row in enumerate(rows):
            claimed[k, :, k] = jacobian_of_row(OUTSIDE, row).T
        yield agree(measured, claimed, f"{size} rows of {width}")
        if size > 1:
            mixed = batch_hat(steps).imag.reshape(size, width, size, width) / 1e-30
            yield differs(mixed[0, :, 1], claimed[0, :, 1], by=1e-9, what="BatchNorm")


def row_gradient_mutations() -> tuple[Mutation, ...]:
    everywhere = GradientIs(
        normalised(OUTSIDE, TOKEN, c), X, (t_other, b), jacobian(OUTSIDE, c, b, TOKEN)
    )
    unit = {key: value for key, value in UNIT_ROW[OUTSIDE].items() if key is not x}
    return (
        Mutation(
            "a token has the same gradient through the LayerNorm of every other one",
            statement=implies(less(0, sigma), everywhere),
            counterexample=Example({**unit, n: 2, t: 0, c: 0, X: [[1, -1], [0, 0]]}),
            twin=Twin(
                "derivatives of all rows, normalised along the other axis",
                lambda rng: twin_row_gradient(rng, over_rows),
            ),
        ),
    )


ROW_GRADIENT = Claim(
    id="layer-norm/rows-gradient",
    title="No token has a gradient through the LayerNorm of another",
    source=Source(
        DERIVATIONS, ("A32",), AXES + r" That $\sigma > 0$ where there is a derivative is not said."
    ),
    statement=implies(
        less(0, sigma),
        forall(
            c,
            GradientIs(normalised(OUTSIDE, TOKEN, c), X, (t_other, b),
                       times(one(t, t_other), jacobian(OUTSIDE, c, b, TOKEN))),
        ),
    ),
    given=(*statistics_of(TOKEN), usable(OUTSIDE), divisor_is(OUTSIDE)),
    proof=prove_row_gradient,
    defined=defined,
    twin=Twin("derivatives of all rows by all entries, by complex steps", twin_row_gradient),
    mutations=row_gradient_mutations,
    remark=r"$\mu$, $\sigma$ and $s$ belong to row $t$; for $u \ne t$ the derivative is "
    r"$0$.",
    expected=Verdict.PROVED,
)  # fmt: skip


def batch_hat(rows: Any) -> Any:
    from numeric import batch_norm

    width = rows.shape[-1]
    return batch_norm(rows, np.ones(width), np.zeros(width), epsilon=EPSILON)


def batch_behind(rows: Any, cotangent: Any) -> Any:
    from numeric import batch_norm_vjp

    width = rows.shape[-1]
    ones, zeros = np.ones(width), np.zeros(width)
    return batch_norm_vjp(rows, ones, zeros, cotangent, epsilon=EPSILON)[0]


def same_batch_norm(form: Form) -> Any:
    """Entry (t, c) is the same for X and for Z."""
    return equal(normalised(form, column(X, c), t, n), normalised(form, column(Z, c), t, n))


def prove_columns(p: Prover) -> Theorem:
    def then(entries: Theorem) -> Theorem:
        parts = [
            p.for_all(same_normalised(p, form, (column(X, c), column(Z, c)), entries, t, n), t)
            for form in FORMS
        ]
        return p.note(p.both(*parts), "so numerator and divisor are the same, in both forms")

    return silently(
        p,
        POSITIVE_EPSILON,
        lambda: p.suppose(SAME_COLUMN, then, "let the matrices agree in column $c$"),
    )


def twin_batch_rows(rng: np.random.Generator) -> Iterator[Trial]:
    for size, width in ((2, 1), (3, 5), (4, 2)):
        rows, cotangents = rng.standard_normal((2, size, width))
        changed = rows.copy()
        changed[0] += 2 + rng.random(width)
        yield differs(batch_hat(changed)[1:], batch_hat(rows)[1:], by=1e-9, what="other rows")
        one_only = np.where(np.arange(size)[:, None] == 0, cotangents, 0)
        behind_one = batch_behind(rows, one_only)[1:]
        yield differs(behind_one, np.zeros_like(behind_one), by=1e-9, what="their gradients")
        changed = rows.copy()
        changed[:, 0] = rng.standard_normal(size)
        same = batch_hat(changed)[:, 1:]
        yield agree(same, batch_hat(rows)[:, 1:], "other features", tolerance=0.0)


BATCH_ROWS = Claim(
    id="layer-norm/batch-norm-rows",
    title="Does BatchNorm treat every token by itself?",
    source=Source(
        DERIVATIONS, ("A32",), AXES + " Here: that rows are independent, for BatchNorm." + UNSAID
    ),
    statement=implies(
        POSITIVE_EPSILON, implies(SAME_ROW, forall(c, both_forms(same_batch_norm)))
    ),
    counterexample=Example({n: 2, d: 1, t: 0, X: [[0], [0]], Z: [[0], [2]], epsilon: 1}),
    correction=Correction(
        implies(
            POSITIVE_EPSILON,
            implies(SAME_COLUMN, both_forms(lambda form: forall(t, same_batch_norm(form)))),
        ),
        prove_columns,
        defined=defined,
    ),
    defined=defined,
    twin=Twin("batches of which one row, or one feature, is replaced", twin_batch_rows),
    remark=r"In training, where BatchNorm takes mean and deviation of each feature over the $n$ "
    r"rows of the batch (of all positions of all sequences): it treats every feature by itself.",
    expected=Verdict.REFUTED,
)  # fmt: skip


def bn_is_ln_of_transpose(form: Form) -> Any:
    one, other = (normalised(form, row, t, n) for row in (column(X, c), at(columns, c)))
    return forall([t, c], equal(one, other))


def prove_duality(p: Prover) -> Theorem:
    return silently(p, POSITIVE_EPSILON, lambda: duality_forms(p))


def duality_forms(p: Prover) -> Theorem:
    same = p.for_all(flipped(p, p.at(p.hyp(0), c, t)), t)
    parts = [
        p.for_all(same_normalised(p, form, (column(X, c), at(columns, c)), same, t, n), t, c)
        for form in FORMS
    ]
    return p.note(p.both(*parts), "so numerator and divisor are the same, in both forms")


def twin_duality(rng: np.random.Generator, norm: Norm = over_rows) -> Iterator[Trial]:
    for size, width in ((1, 3), (3, 5), (4, 2), (5, 1)):
        rows, cotangents = rng.standard_normal((2, size, width))
        yield agree(batch_hat(rows), norm(INSIDE, rows), f"{size} rows of {width}")
        claimed = behind(INSIDE, rows.T, cotangents.T).T
        yield agree(batch_behind(rows, cotangents), claimed, "backward")
        if size > 1 and width > 1:
            yield differs(batch_hat(rows), hat(INSIDE, rows), by=1e-9, what="not transposed")
    stacked = rng.standard_normal((2, 3, 4))
    flat = batch_hat(stacked.reshape(6, 4)).reshape(2, 3, 4)
    yield agree(batch_hat(stacked), flat, "all positions of all sequences are rows")


def duality_mutations() -> tuple[Mutation, ...]:
    def not_transposed(form: Form) -> Any:
        return equal(normalised(form, column(X, c), t, n), normalised(form, at(X, t), c))

    return (
        Mutation(
            "the matrix is not transposed",
            statement=implies(POSITIVE_EPSILON, both_forms(not_transposed)),
            counterexample=Example({n: 2, d: 1, t: 0, c: 0, X: [[0], [2]], epsilon: 1}),
            twin=Twin(
                "batch norm against layer norm of the same matrix",
                lambda rng: twin_duality(rng, hat),
            ),
        ),
    )


DUALITY = Claim(
    id="layer-norm/duality",
    title="BatchNorm is LayerNorm of the transposed matrix",
    source=Source(
        INTERVIEW, ("B42",),
        "LayerNorm and BatchNorm stand side by side in a heading; nothing follows. Beyond the "
        r"note: what they have in common, for $\epsilon > 0$.",
    ),
    statement=implies(POSITIVE_EPSILON, both_forms(bn_is_ln_of_transpose)),
    given=(Notation(forall([c, t], equal(columns[c, t], X[t, c])), r"$C = X^{\top}$"),),
    proof=prove_duality,
    defined=defined,
    twin=Twin("batch norm against layer norm of the transposed batch", twin_duality),
    mutations=duality_mutations,
    remark=r"$\mathrm{BN}(X) = \mathrm{LN}(X^{\top})^{\top}$, before $\gamma$ and $\beta$ and "
    "with the statistics of the batch.",
    expected=Verdict.PROVED,
)  # fmt: skip

single = tensor("X", 1, d)


def lone_output(form: Form) -> Any:
    return plus(times(gamma[c], normalised(form, column(single, c), 0, 1)), beta[c])


def prove_batch_of_one(p: Prover) -> Theorem:
    return silently(p, POSITIVE_EPSILON, lambda: lone_outputs(p))


def lone_outputs(p: Prover) -> Theorem:
    parts = [
        p.for_all(
            p.equal(lone_output(form), beta[c], reason=reason),
            c,
        )
        for form, reason in zip(
            FORMS,
            ("the only value is the mean, so the numerator is zero",
             "the same with the other divisor"),
            strict=True,
        )
    ]  # fmt: skip
    return p.both(*parts)


def twin_batch_of_one(rng: np.random.Generator) -> Iterator[Trial]:
    from numeric import batch_norm

    for width in WIDTHS:
        row, weights, biases = rng.standard_normal((3, width))
        output = batch_norm(row[None], weights, biases, epsilon=EPSILON)
        yield agree(output, biases[None], f"width {width}")
        if width > 1:
            yield differs(hat(INSIDE, row[None]), np.zeros((1, width)), by=1e-9, what="LayerNorm")


BATCH_OF_ONE = Claim(
    id="layer-norm/batch-of-one",
    title="BatchNorm of a single row forgets the row",
    source=Source(
        DERIVATIONS, ("A32",),
        AXES + " What that means for a batch of one row is not said." + UNSAID,
    ),
    statement=implies(
        POSITIVE_EPSILON, both_forms(lambda form: forall(c, equal(lone_output(form), beta[c])))
    ),
    proof=prove_batch_of_one,
    defined=defined,
    twin=Twin("batch norm of single rows", twin_batch_of_one),
    remark="In training. LayerNorm of a row is the same in any batch: see `layer-norm/rows`.",
    expected=Verdict.PROVED,
)  # fmt: skip

CLAIMS = (
    MEAN_ZERO,
    SPREAD_OF_OUTPUT,
    UNIT_VARIANCE,
    SPREAD_IS_ONE,
    SAME_DIVISORS,
    TWO_FORMS,
    NO_SUBSTITUTE,
    *JACOBIANS,
    *SPECTRA,
    SHIFT,
    SCALE,
    SCALE_INVARIANCE,
    *VJPS,
    AFFINE,
    *ORTHOGONAL,
    *CONTRACTIONS,
    ROWS,
    ROW_GRADIENT,
    BATCH_ROWS,
    DUALITY,
    BATCH_OF_ONE,
)

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
