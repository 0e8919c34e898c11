r"""The backward passes of LayerNorm, with epsilon outside and inside the root, RMSNorm, BatchNorm.

All but the last treat every row by itself; BatchNorm (in training) treats every feature by itself,
whose mean and deviation are those over the rows.  gamma and beta belong to all rows, whose
contributions to their gradients add up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from derive.claim import Claim, Notation, Script
from derive.claims._backward import (
    Case,
    Draw,
    backward_claim,
    by_name,
    by_table,
    defined_as,
    in_form,
    inserted,
    normal,
    paired,
)
from derive.claims._norms import defined_by, flipped, root, square
from derive.kernel import terms as T
from derive.kernel.rules import Theorem
from derive.language import (
    GradientIs,
    dims,
    forall,
    index,
    less,
    minus,
    over,
    plus,
    positive,
    tensor,
    times,
    total,
)
from derive.prover import Prover

ORDER = 71
TOPIC = "backward"

n, d = dims("n d_model")
t, r, v = (index(name, n) for name in "trv")
a, b, c = (index(name, d) for name in "abc")
X, G, N = (tensor(name, n, d) for name in "XGN")
gamma, beta = tensor("gamma", d), tensor("beta", d)
mu, sigma, s = (tensor(name, n) for name in ("mu", "sigma", "s"))
mu_a, sigma_a, s_a = (tensor(name, d) for name in ("mu", "sigma", "s"))
epsilon = positive("epsilon")


def mean(body: Any) -> Any:
    """The mean over the features, with the index c."""
    return over(total(body, c), d)


def spread(centre: Any) -> Any:
    """The variance of row t, of which `centre` is the mean."""
    return mean(square(minus(X[t, c], centre)))


def over_rows(body: Any) -> Any:
    """The mean over the rows, with the index v."""
    return over(total(body, v), n)


def spread_over_rows(centre: Any) -> Any:
    """The variance of feature a, of which `centre` is the mean."""
    return over_rows(square(minus(X[v, a], centre)))


# ---------------------------------------------------------------------- the layers


@dataclass(frozen=True)
class Norm:
    """A layer: row t over its divisor, all in terms of X, and the names of what occurs in it.

    `names` are definitions in the order in which they are put in; the last is that of the output
    without gamma and beta.  `by_input` is the gradient by entry (r, b) of the input, `formula` the
    same for a row; `shifted` says whether there is a beta.  `variance` is that of row t, or of
    feature a, in terms of its mean, and `sums` tells what the entries of row r (of feature b) add
    up to, where a mean is subtracted.
    """

    name: str
    title: str
    function: str
    says: str
    normalised: Any
    names: tuple[Notation, ...]
    by_input: Any
    formula: str
    variance: Any = None
    sums: tuple[Any, Any] | None = None
    shifted: bool = True
    remark: str = ""

    @property
    def at(self) -> Any:
        """The index of what is normalised by itself: a row, or a feature."""
        return a if self is BATCH else t

    def loss(self) -> Any:
        """The entries of the output, each times its cotangent."""
        scaled = times(gamma[a], self.normalised)
        return total(times(G[t, a], plus(scaled, beta[a]) if self.shifted else scaled), t, a)


def inner(i: Any) -> Any:
    """The gradient by the normalised row r."""
    return times(gamma[i], G[r, i])


def along(direction: Any) -> Any:
    """The part of the gradient by row r that has this direction."""
    return times(direction, mean(times(inner(c), N[r, c])))


def without_mean(direction: Any) -> Any:
    """What LayerNorm passes back: the mean and the part along the normalised row are taken out."""
    return over(minus(minus(inner(b), mean(inner(c))), along(direction)), s[r])


MEAN = mean(X[t, c])
ROW = total(X[r, c], c), times(d, mu[r])
MU = defined_as(mu, (t,), MEAN, r"$\mu_t$ is the mean of row $t$")
SIGMA = defined_as(sigma, (t,), root(spread(mu[t])), r"$\sigma_t$ is its standard deviation")


def divisor(value: Any) -> Notation:
    return defined_as(s, (t,), value, "$s_t$ is what the row is divided by")


def hat(u: Any) -> Notation:
    return defined_as(N, (t, a), over(u, s[t]), "$N$ is the normalised input")


OUTSIDE = Norm(
    "layer-norm-outside", r"LayerNorm with $\sigma + \epsilon$", "layer_norm_outside",
    r"the divisor $s = \sigma + \epsilon$",
    over(minus(X[t, a], MEAN), plus(root(spread(MEAN)), epsilon)),
    (MU, SIGMA, divisor(plus(sigma[t], epsilon)), hat(minus(X[t, a], mu[t]))),
    without_mean(over(minus(X[r, b], mu[r]), sigma[r])),
    r"$\frac1s\left(g' - \operatorname{mean}(g') - "
    r"\frac{x - \mu}{\sigma}\,\operatorname{mean}(g' \odot \hat x)\right)$",
    spread(mu[t]), ROW,
    remark=r"For a constant row the implementation returns "
    r"$(g' - \operatorname{mean}(g'))/\epsilon$. The derivative table does not reach this case, "
    "since the root is taken at 0.",
)  # fmt: skip
INSIDE = Norm(
    "layer-norm-inside", r"LayerNorm with $\sqrt{\sigma^2 + \epsilon}$", "layer_norm",
    r"the divisor $s = \sqrt{\sigma^2 + \epsilon}$",
    over(minus(X[t, a], MEAN), root(plus(spread(MEAN), epsilon))),
    (MU, SIGMA, divisor(root(plus(square(sigma[t]), epsilon))), hat(minus(X[t, a], mu[t]))),
    without_mean(N[r, b]),
    r"$\frac1s\left(g' - \operatorname{mean}(g') - "
    r"\hat x\,\operatorname{mean}(g' \odot \hat x)\right)$",
    spread(mu[t]), ROW,
)  # fmt: skip
RMS_DIVISOR = root(plus(mean(square(X[t, c])), epsilon))
RMS = Norm(
    "rms-norm", "RMSNorm", "rms_norm",
    r"the divisor $s = \sqrt{\operatorname{mean}(x^2) + \epsilon}$",
    over(X[t, a], RMS_DIVISOR),
    (divisor(RMS_DIVISOR), hat(X[t, a])),
    over(minus(inner(b), along(N[r, b])), s[r]),
    r"$\frac1s\left(g' - \hat x\,\operatorname{mean}(g' \odot \hat x)\right)$",
    shifted=False,
    remark="No mean is taken out, since none was subtracted.",
)  # fmt: skip


def of_feature(i: Any) -> Any:
    """The gradient by entry (i, b) of the normalised input."""
    return times(gamma[b], G[i, b])


def without_mean_of_rows(subtracted: Any) -> Any:
    """What BatchNorm passes back."""
    return over(minus(minus(of_feature(r), subtracted), along_rows()), s_a[b])


def along_rows() -> Any:
    return times(N[r, b], over_rows(times(of_feature(v), N[v, b])))


BATCH_MEAN = over_rows(X[v, a])
BATCH = Norm(
    "batch-norm", "BatchNorm in training", "batch_norm",
    r"mean and variance of every feature over the rows, and the divisor "
    r"$s = \sqrt{\sigma^2 + \epsilon}$",
    over(minus(X[t, a], BATCH_MEAN), root(plus(spread_over_rows(BATCH_MEAN), epsilon))),
    (
        defined_as(mu_a, (a,), BATCH_MEAN, r"$\mu_a$ is the mean of feature $a$ over the rows"),
        defined_as(sigma_a, (a,), root(spread_over_rows(mu_a[a])),
                   r"$\sigma_a$ is its standard deviation"),
        defined_as(s_a, (a,), root(plus(square(sigma_a[a]), epsilon)),
                   "$s_a$ is what the feature is divided by"),
        defined_as(N, (t, a), over(minus(X[t, a], mu_a[a]), s_a[a]), "$N$ is the normalised input"),
    ),
    without_mean_of_rows(over_rows(of_feature(v))),
    r"$\frac1s\left(g' - \operatorname{mean}(g') - "
    r"\hat x\,\operatorname{mean}(g' \odot \hat x)\right)$",
    spread_over_rows(mu_a[a]), (total(X[v, b], v), times(n, mu_a[b])),
)  # fmt: skip


def mistakes_by_input(norm: Norm) -> tuple[tuple[str, Any], ...]:
    """What is easily forgotten, or taken from another norm."""
    if norm is RMS:
        return (("a mean is taken out", without_mean(N[r, b])),)
    if norm is BATCH:
        return (
            ("the mean is not taken out", over(minus(of_feature(r), along_rows()), s_a[b])),
            ("mean and deviation are taken for constants, as when the layer is used",
             over(of_feature(r), s_a[b])),
            ("the means of LayerNorm, over the features",
             without_mean_of_rows(mean(inner(c)))),
        )  # fmt: skip
    no_mean = over(minus(inner(b), along(N[r, b])), s[r])
    first_only = over(minus(inner(b), mean(inner(c))), s[r])
    out = (("the mean is not taken out", no_mean), ("only the mean is taken out", first_only))
    return (("the formula of the other form", INSIDE.by_input), *out) if norm is OUTSIDE else out


NOT_CONSTANT = forall(t, less(0, sigma[t]))

# ---------------------------------------------------------------------- proofs


def squares(p: Prover, norm: Norm) -> Theorem:
    """sigma^2 = the variance, from the definition of sigma; that this is not negative, a fact."""
    value = norm.variance
    p.fact(p.nonneg(value))
    deviation = (sigma_a if norm is BATCH else sigma)[norm.at]
    return p.equal(square(deviation), value, p.at(p.hyp(1), norm.at), show=False)


def room(p: Prover, norm: Norm) -> Theorem:
    """What stands under the root is positive, in terms of X alone."""
    if norm is RMS:
        value = mean(square(X[t, c]))
        return p.order(less(0, plus(value, epsilon)), (1, p.nonneg(value)))
    square_sum, variance = squares(p, norm), norm.variance
    if norm is OUTSIDE:
        wanted = p.formula(NOT_CONSTANT)
        not_constant = p.at(next(x for x in p.known() if x.conclusion is wanted), t)
        above = p.order(
            less(0, variance), (1, not_constant, not_constant), (-1, square_sum)
        )  # fmt: skip
    else:
        above = p.order(less(0, plus(variance, epsilon)), (1, p.nonneg(variance)))
    in_x = p.replace(above.conclusion.children[1], p.hyp(0))
    return p.rewrite(in_x, above, lambda value: T.lt(T.ZERO, value))


def smooth(p: Prover, norm: Norm) -> list[Theorem]:
    """What the derivative of a normalised row asks for, for every row (or feature)."""
    above = room(p, norm)
    divisor = p.term(norm.normalised).children[1].children[0]
    nonzero = p.trivial(T.negate(T.eq(divisor, T.ZERO)), above)
    return [p.for_all(x, norm.at) for x in (above, nonzero)]


def to_names(p: Prover, norm: Norm) -> list[Theorem]:
    """value = name, for every name of the layer; for epsilon in the root that of sigma^2."""
    out = [by_name(p, p.hyp(k), norm.at) for k in range(len(norm.names) - 1)]
    if norm in (INSIDE, BATCH):
        out[1] = p.for_all(flipped(p, squares(p, norm)), norm.at)
    return [*out, by_name(p, p.hyp(len(out)), t, a)]


def prove_input(norm: Norm, goal: GradientIs) -> Script:
    def prove(p: Prover) -> Theorem:
        conditions = smooth(p, norm)
        p.note(conditions[0], "no root is taken at 0")
        raw = p.gradient(goal, *conditions)
        *names, _ = to_names(p, norm)
        raw = inserted(p, raw, goal, *names)
        one = "feature by feature" if norm is BATCH else "row by row"
        p.note(raw, f"quotient and chain rule, {one}; what has a name is called by it")
        sums = [] if norm.sums is None else [p.equal(
            *norm.sums, p.hyp(0), reason="so the deviations from the mean add up to zero",
        )]  # fmt: skip
        left = "feature $b$" if norm is BATCH else "row $r$"
        return in_form(
            p, raw, goal, f"the deltas leave {left} alone; multiply out and collect the means",
            p.hyp(len(names)), *sums,
        )  # fmt: skip

    if norm is OUTSIDE:
        reason = r"suppose that no row is constant, so that every $\sigma_t$ is differentiable"
        return lambda p: p.suppose(NOT_CONSTANT, lambda _: prove(p), reason)
    return prove


ONE_FEATURE = "the delta leaves one feature of every row"


def prove_gamma(norm: Norm, goal: GradientIs) -> Script:
    def prove(p: Prover) -> Theorem:
        raw = inserted(p, p.gradient(goal), goal, *to_names(p, norm))
        p.note(raw, r"the output is linear in $\gamma$")
        return in_form(p, raw, goal, ONE_FEATURE)

    return prove


# ---------------------------------------------------------------------- the implementation

#: rows and width; no two alike, then one row, one feature (which is a constant row)
SHAPES = ((3, 5), (4, 2), (1, 4))


def draw(norm: Norm, which: int) -> Draw:
    def cases(rng: np.random.Generator) -> Iterator[Case]:
        import numeric

        forward = getattr(numeric, norm.function)
        backward = getattr(numeric, f"{norm.function}_vjp")
        for shape in SHAPES if which == 0 and norm is OUTSIDE else (*SHAPES, (3, 1)):
            x, cotangent = normal(rng, shape, shape)
            weights = tuple(normal(rng, *[shape[1:]] * (2 if norm.shifted else 1)))
            output = forward(x, *weights, epsilon=0.1)
            gradients = backward(x, *weights, cotangent, epsilon=0.1)
            values = dict(zip((gamma, beta), weights, strict=False))
            yield Case(
                {X: x, G: cotangent, epsilon: 0.1, **values}, paired(cotangent, output),
                gradients[which],
            )  # fmt: skip

    return cases


# ---------------------------------------------------------------------- claims

#: everything is defined, since a variance is not negative
DEFINED = defined_by(lambda q, premises, symbols: None)


def by_input(norm: Norm) -> Claim:
    goal = GradientIs(norm.loss(), X, (r, b), norm.by_input)
    return backward_claim(
        f"{norm.name}-input", f"{norm.title}: backward to the input",
        f"`{norm.function}_vjp` returns as the gradient by $X$, for {norm.says}, with "
        r"$g' = \gamma \odot g$ for a row $g$ of the cotangent, $\hat x$ for the normalised row, "
        rf"and means over the {'rows' if norm is BATCH else 'features'}: {norm.formula}.",
        goal, prove_input(norm, goal), draw(norm, 0),
        given=norm.names, premise=NOT_CONSTANT if norm is OUTSIDE else None, defined=DEFINED,
        mistakes=lambda: mistakes_by_input(norm),
        remark=norm.remark,
    )  # fmt: skip


def by_gamma(norm: Norm) -> Claim:
    goal = GradientIs(norm.loss(), gamma, b, total(times(G[t, b], N[t, b]), t))
    return backward_claim(
        f"{norm.name}-gamma", rf"{norm.title}: backward to $\gamma$",
        rf"`{norm.function}_vjp` returns as the gradient by $\gamma$, for {norm.says}, the sum "
        "over all rows of cotangent times normalised row.",
        goal, prove_gamma(norm, goal), draw(norm, 1), given=norm.names, defined=DEFINED,
        mistakes=lambda: (
            ("the input is not normalised", total(times(G[t, b], X[t, b]), t)),
            ("the mean over the rows", over(total(times(G[t, b], N[t, b]), t), n),
             rows_of_variance_1(norm)),
        ),
    )  # fmt: skip


def by_beta(norm: Norm) -> Claim:
    goal = GradientIs(norm.loss(), beta, b, total(G[t, b], t))
    return backward_claim(
        f"{norm.name}-beta", rf"{norm.title}: backward to $\beta$",
        rf"`{norm.function}_vjp` returns as the gradient by $\beta$, for {norm.says}, the sum of "
        "the cotangent over all rows.",
        goal, by_table(goal, r"$\beta$ is added to every row", ONE_FEATURE), draw(norm, 2),
        defined=DEFINED,
    )  # fmt: skip


def rows_of_variance_1(norm: Norm) -> dict[Any, Any]:
    """Rows (of BatchNorm features) that are divided by 2: with epsilon 1 outside of the root, and
    3 inside.
    """
    x = [[1, 1], [-1, -1]] if norm is BATCH else [[1, -1], [1, -1]]
    return {
        n: 2, d: 2, X: x, G: [[1, 0], [0, 0]], gamma: [1, 1], beta: [0, 0],
        epsilon: 1 if norm is OUTSIDE else 3,
    }  # fmt: skip


LAYER_NORMS = (OUTSIDE, INSIDE)
CLAIMS = (
    *(make(norm) for norm in LAYER_NORMS for make in (by_input, by_gamma, by_beta)),
    by_input(RMS),
    by_gamma(RMS),
    *(make(BATCH) for make in (by_input, by_gamma, by_beta)),
)

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
