"""Where the norm stands: behind the sum (Post-LN), or in front of the branch (Pre-LN).

Post-LN is ``LN(x + f(x))``, Pre-LN is ``x + f(LN(x))``.  Gradients are rows as in `residual`;
LayerNorm divides by ``s = sigma + epsilon`` as in the note.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

from derive.claim import Claim, Correction, Example, Given, Mutation, Script
from derive.claims import DERIVATIONS, INTERVIEW
from derive.claims._norms import (
    OUTSIDE,
    USABLE,
    Entry,
    a,
    at,
    b,
    beta,
    c,
    centred,
    d,
    defined,
    defined_by,
    deviation_of,
    divisor_is,
    epsilon,
    g,
    gamma,
    jacobian,
    mean_of,
    mu,
    named,
    normalised,
    one,
    rewritten,
    root,
    row_of,
    s,
    sigma,
    smoothness,
    spelled_out,
    square,
    statistics_of,
    summed,
    variance_of,
    x,
)
from derive.claims.layer_norm import (
    CONTRACTIONS,
    EPSILON,
    ORTHOGONAL,
    silently,
    whole_output,
)
from derive.claims.layer_norm import output as normed
from derive.claims.residual import (
    DIFFERENTIABLE_BRANCH,
    DIRECT_PATH,
    PRODUCT_BOUNDS,
    L,
    behind_layers,
    bounded,
    climb,
    each_layer,
    f,
    in_layer,
    l,
    lemma,
    length,
    linear_branch,
    lower_factor,
    m,
    no_factor,
    of_norm,
    output,
    product_up_to,
    rhos,
    same_length,
    tanh_branch,
    tanh_jacobian,
    through,
    use,
    v,
)
from derive.claims.residual import row as row_with
from derive.kernel import terms as T
from derive.kernel.rules import Theorem
from derive.kernel.terms import KernelError
from derive.language import (
    Differentiable,
    GradientIs,
    at_most,
    both,
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
    real,
    sequence,
    tensor,
    times,
    total,
)
from derive.prover import Prover
from derive.result import Source, Verdict
from derive.twin import Trial, Twin, differs
from derive.twin import at_most as below
from derive.twin import equal as agree

if TYPE_CHECKING:
    from numeric import Sublayer

ORDER = 44
TOPIC = "norm-placement"

POST = r"Post-LN: the output of a block is $\mathrm{LayerNorm}(x + \mathrm{SubLayer}(x))$."
PRE = r"Pre-LN: the output of a block is $x + \mathrm{SubLayer}(\mathrm{LayerNorm}(x))$."
FLOWS = (
    r"In Pre-LN the gradient flows directly through the residual path, not through LayerNorm; so "
    r"training is said to be more stable than with Post-LN."
)
NOT_CONSTANT = r"nor that LayerNorm has a derivative only where $\sigma > 0$."

# ---------------------------------------------------------------------- the numeric side


def branch_and_norm() -> tuple[Sublayer, Sublayer]:
    """f(x) = tanh(x W), and the LayerNorm of the note with gamma and beta."""
    from numeric import Sublayer, layer_norm_outside, layer_norm_outside_vjp

    def vjp(rows: Any, weights: Any, cotangent: Any) -> Any:
        scale, offset = weights
        by_rows, *others = layer_norm_outside_vjp(rows, scale, offset, cotangent, epsilon=EPSILON)
        return by_rows, tuple(others)

    def forward(rows: Any, weights: Any) -> Any:
        return layer_norm_outside(rows, *weights, epsilon=EPSILON)

    return tanh_branch(), Sublayer(forward, vjp)


Drawn = tuple[int, Any, Any, tuple[Any, Any], Any]


def blocks(rng: np.random.Generator) -> Iterator[Drawn]:
    """Width, input, weight of the branch, gamma and beta, and a cotangent."""
    for width in (2, 3, 7):
        row, weights, biases, cotangent = rng.standard_normal((4, width))
        yield width, row, rng.standard_normal((width, width)), (weights, biases), cotangent


def norm_jacobian(row: Any) -> Any:
    """J of the normalisation at that row, written out."""
    u, deviation = row - row.mean(), row.std()
    divisor = deviation + EPSILON
    flat = np.eye(row.size) - 1 / row.size
    return (flat - np.outer(u, u) / (row.size * deviation * divisor)) / divisor


def normed_row(row: Any, weights: tuple[Any, Any]) -> Any:
    return weights[0] * (row - row.mean()) / (row.std() + EPSILON) + weights[1]


def post_factor(row: Any, weight: Any, weights: tuple[Any, Any]) -> Any:
    at_sum = weights[0][:, None] * norm_jacobian(row + np.tanh(row @ weight))
    return at_sum @ (np.eye(row.size) + tanh_jacobian(row, weight))


def pre_factor(row: Any, weight: Any, weights: tuple[Any, Any]) -> Any:
    branch = tanh_jacobian(normed_row(row, weights), weight)
    return np.eye(row.size) + branch @ (weights[0][:, None] * norm_jacobian(row))


# ---------------------------------------------------------------------- one block

e = index("e", d)


def post_output(i: Any) -> Any:
    return plus(times(gamma[i], normalised(OUTSIDE, output, i)), beta[i])


def post_jacobian(i: Any, j: Any) -> Any:
    """``gamma J_LN (I + J_f)``."""
    inner = total(times(jacobian(OUTSIDE, i, c, output), plus(one(c, j), f.partial(x)[c, j])), c)
    return times(gamma[i], inner)


POST_STATISTICS = (*statistics_of(output), USABLE[0], divisor_is(OUTSIDE))
PRE_STATISTICS = (*statistics_of(at(x)), USABLE[0], divisor_is(OUTSIDE))


def slope_of_sum(i: Any) -> Any:
    """The derivative of component i of x + f(x) by x_b."""
    return plus(one(i, b), f.partial(x)[i, b])


def prove_post_jacobian(p: Prover) -> Theorem:
    def then(_: Theorem) -> Theorem:
        row = row_of(p, p.hyp(0), p.hyp(1), p.hyp(3), show=False, row=output)
        raw = p.gradient(
            GradientIs(post_output(a), x, b, 0),
            *smoothness(p, OUTSIDE, row, p.hyp(2)), p.at(p.hyp(4), a),
        )  # fmt: skip
        for definition in (row.mean, row.deviation, row.divisor):
            raw = named(p, definition, raw)
        moved = minus(slope_of_sum(a), mean_of(slope_of_sum))
        spread = total(times(centred(c, output), minus(slope_of_sum(c), mean_of(slope_of_sum))), c)
        first = p.equal(
            p.partial(raw, b),
            times(gamma[a], minus(over(moved, s), times(over(centred(a, output), square(s)),
                                                        over(spread, times(d, sigma))))),
            show=False,
        )  # fmt: skip
        quotient = p.with_partial(raw, first, b)
        p.note(quotient, r"quotient and chain rule; $x_c + f_c(x)$ changes by "
               r"$\delta_{cb} + \partial_b f_c(x)$")  # fmt: skip
        value = p.equal(
            p.partial(quotient, b), post_jacobian(a, b), row.mean,
            reason=r"as the deviations from the mean add up to zero: the Jacobian of the "
            r"normalisation at $x + f(x)$, times that of the sum",
        )  # fmt: skip
        theorem = p.for_all(p.with_partial(quotient, value, b), a)
        return p.note(theorem, r"in matrices: $\gamma \odot J\,(I + J_f)$")

    return p.suppose(less(0, sigma), then, r"suppose that $x + f(x)$ is not constant")


Block = Callable[..., Any]


def twin_post_jacobian(
    rng: np.random.Generator, behind: Sublayer | None = None, forward: Block | None = None
) -> Iterator[Trial]:
    """The norm of the backward pass, and the whole forward pass, may be others."""
    from numeric import post_norm, post_norm_vjp

    branch, norm = branch_and_norm()
    for width, row, weight, weights, cotangent in blocks(rng):
        factor = post_factor(row, weight, weights)
        arguments = row[None], weight, weights, cotangent[None]
        got = post_norm_vjp(branch, behind or norm, *arguments)[0][0]
        yield agree(got, cotangent @ factor, f"backward, width {width}")
        steps = row + 1e-30j * np.eye(width)
        compute = forward or post_norm
        columns = [compute(branch, norm, r[None], weight, weights)[0].imag for r in steps]
        yield agree(np.transpose(columns) / 1e-30, factor, f"steps, width {width}")
        without = np.eye(width) + tanh_jacobian(row, weight)
        yield differs(factor, without, by=1e-9, what="the norm forgotten")
        at_input = weights[0][:, None] * norm_jacobian(row) @ without
        yield differs(factor, at_input, by=1e-9, what="the norm differentiated at x")


def norm_without_backward() -> Sublayer:
    from numeric import Sublayer

    norm = branch_and_norm()[1]
    return Sublayer(norm.forward, lambda rows, weights, cotangent: (cotangent, weights))


def norm_then_add(branch: Sublayer, norm: Sublayer, rows: Any, weight: Any, weights: Any) -> Any:
    """LN(x) + f(x)."""
    return norm.forward(rows, weights) + branch.forward(rows, weight)


def post_mutations() -> tuple[Mutation, ...]:
    """In the statements the branch is f(x) = W x, and gamma is 1."""
    in_front = plus(normalised(OUTSIDE, at(x), a), linear(at(x))(a))
    return (
        Mutation(
            r"the gradient does not pass LayerNorm: the factor is $I + J_f$ alone",
            statement=GradientIs(
                normalised(OUTSIDE, linear_sum, a), x, b, plus(one(a, b), W[a, b])
            ),
            given=(Given(less(0, epsilon)),),
            counterexample=Example({d: 2, a: 0, x: [1, -1], W: [[0, 0], [0, 0]], epsilon: 1}),
            twin=Twin(
                "`post_norm_vjp` of a norm that passes gradients on as they are",
                lambda rng: twin_post_jacobian(rng, behind=norm_without_backward()),
            ),
        ),
        Mutation(
            r"the norm stands in front of the sum: $\mathrm{LN}(x) + f(x)$",
            statement=equal(normalised(OUTSIDE, linear_sum, a), in_front),
            given=(Given(less(0, epsilon)),),
            counterexample=Example({d: 2, a: 0, x: [1, -1], W: [[1, 0], [0, 1]], epsilon: 1}),
            twin=Twin(
                r"complex steps through $\mathrm{LN}(x) + f(x)$",
                lambda rng: twin_post_jacobian(rng, forward=norm_then_add),
            ),
        ),
    )


POST_JACOBIAN = Claim(
    id="norm-placement/post-ln-jacobian",
    title="The Jacobian of a Post-LN block",
    source=Source(
        DERIVATIONS, ("A28",),
        POST + r" Under this heading stands the gradient of $x + f(x)$ alone; that of the "
        r"LayerNorm around it is not given, " + NOT_CONSTANT,
    ),
    statement=implies(
        less(0, sigma), forall(a, GradientIs(post_output(a), x, b, post_jacobian(a, b)))
    ),
    given=(*POST_STATISTICS, DIFFERENTIABLE_BRANCH),
    proof=prove_post_jacobian,
    defined=defined,
    twin=Twin("`post_norm` around a tanh branch, by its vjp and by complex steps",
              twin_post_jacobian),
    mutations=post_mutations,
    remark=r"$\mu$, $\sigma$ and $s$ belong to $x + f(x)$. The branch has to keep the width, or "
    r"the sum means nothing.",
    expected=Verdict.PROVED,
)  # fmt: skip


def pre_output(i: Any) -> Any:
    return plus(x[i], f(whole_output(OUTSIDE))[i])


def pre_jacobian(i: Any, j: Any) -> Any:
    """``I + J_f gamma J_LN``, the branch differentiated at LN(x)."""
    inner = total(times(f.partial(normed)[i, c], times(gamma[c], jacobian(OUTSIDE, c, j))), c)
    return plus(one(i, j), inner)


def prove_pre_jacobian(p: Prover) -> Theorem:
    def then(_: Theorem) -> Theorem:
        row = row_of(p, p.hyp(0), p.hyp(1), p.hyp(3), show=False)
        definitions = (row.mean, row.deviation, row.divisor)
        smooth = spelled_out(p, p.at(p.hyp(4), a), *reversed(definitions))
        raw = p.gradient(
            GradientIs(pre_output(a), x, b, 0), *smoothness(p, OUTSIDE, row, p.hyp(2)), smooth
        )
        for definition in definitions:
            raw = named(p, definition, raw)
        spread = total(times(centred(e), minus(one(e, b), over(1, d))), e)
        outer = over(spread, times(d, sigma))
        moved = minus(
            over(minus(one(c, b), over(1, d)), s), times(over(centred(c), square(s)), outer)
        )
        first = p.equal(
            p.partial(raw, b),
            plus(one(a, b), total(times(f.partial(normed)[a, c], times(gamma[c], moved)), c)),
            show=False,
        )  # fmt: skip
        chain = p.with_partial(raw, first, b)
        p.note(chain, r"chain rule: $x_a$ gives $\delta_{ab}$, the branch its derivatives at the "
               "normalised row, times those of the quotient")  # fmt: skip
        value = p.equal(
            p.partial(chain, b), pre_jacobian(a, b), row.mean,
            reason="as the deviations from the mean add up to zero: the Jacobian of the "
            "normalisation at $x$",
        )  # fmt: skip
        theorem = p.for_all(p.with_partial(chain, value, b), a)
        return p.note(theorem, r"in matrices: $I + J_f\,(\gamma \odot J)$")

    return p.suppose(less(0, sigma), then, r"suppose that $x$ is not constant")


def twin_pre_jacobian(rng: np.random.Generator, backward: Block | None = None) -> Iterator[Trial]:
    from numeric import pre_norm, pre_norm_vjp

    branch, norm = branch_and_norm()
    for width, row, weight, weights, cotangent in blocks(rng):
        factor = pre_factor(row, weight, weights)
        arguments = row[None], weight, weights, cotangent[None]
        got = (backward or pre_norm_vjp)(branch, norm, *arguments)[0][0]
        yield agree(got, cotangent @ factor, f"backward, width {width}")
        steps = row + 1e-30j * np.eye(width)
        columns = [pre_norm(branch, norm, r[None], weight, weights)[0].imag for r in steps]
        yield agree(np.transpose(columns) / 1e-30, factor, f"steps, width {width}")
        scaled = weights[0][:, None] * norm_jacobian(row)
        at_input = np.eye(width) + tanh_jacobian(row, weight) @ scaled
        yield differs(factor, at_input, by=1e-9, what="the branch differentiated at x")
        yield differs(factor, factor - np.eye(width), by=0.9, what="the identity forgotten")


def branch_at_input(
    branch: Sublayer, norm: Sublayer, rows: Any, weight: Any, weights: Any, cotangent: Any
) -> tuple[Any, ...]:
    """The backward pass of Pre-LN, with the branch differentiated at x."""
    through, by_weight = branch.vjp(rows, weight, cotangent)
    by_rows, by_weights = norm.vjp(rows, weights, through)
    return cotangent + by_rows, by_weight, by_weights


def pre_mutations() -> tuple[Mutation, ...]:
    """In the statements the branch squares every component, and gamma is 1."""
    block = plus(x[a], square(normalised(OUTSIDE, at(x), a)))

    def claimed(point: Any, *identity: Any) -> Any:
        value = plus(*identity, times(2, point, jacobian(OUTSIDE, a, b)))
        return implies(less(0, sigma), GradientIs(block, x, b, value))

    unit = Example({d: 2, a: 0, x: [1, -1], mu: 0, sigma: 1, epsilon: 1, s: 2})
    return (
        Mutation(
            r"the branch is differentiated at $x$, not at $\mathrm{LN}(x)$",
            statement=claimed(x[a], one(a, b)),
            given=PRE_STATISTICS,
            counterexample=unit,
            twin=Twin(
                "a backward pass whose branch is differentiated at $x$",
                lambda rng: twin_pre_jacobian(rng, branch_at_input),
            ),
        ),
        Mutation(
            "the identity is forgotten",
            statement=claimed(over(centred(a), s)),
            given=PRE_STATISTICS,
            counterexample=unit,
        ),
    )


PRE_JACOBIAN = Claim(
    id="norm-placement/pre-ln-jacobian",
    title="The Jacobian of a Pre-LN block",
    source=Source(DERIVATIONS, ("A33",), PRE + " Its derivative is not given, " + NOT_CONSTANT),
    statement=implies(
        less(0, sigma), forall(a, GradientIs(pre_output(a), x, b, pre_jacobian(a, b)))
    ),
    given=(
        *PRE_STATISTICS,
        Given(
            forall(a, Differentiable(f(normed)[a])),
            r"the branch is differentiable at the normalised row, as the note takes it to be",
        ),
    ),
    proof=prove_pre_jacobian,
    defined=defined,
    twin=Twin("`pre_norm` around a tanh branch, by its vjp and by complex steps",
              twin_pre_jacobian),
    mutations=pre_mutations,
    remark=r"The derivative of the branch is taken at $\mathrm{LayerNorm}(x)$, not at $x$; the "
    r"identity stands outside of it.",
    expected=Verdict.PROVED,
)  # fmt: skip


# ---------------------------------------------------------------------- the order of the two

W = tensor("W", d, d)


def linear(row: Entry) -> Entry:
    """The branch f(x) = W x."""
    return lambda i: total(times(W[i, b], row(b)), b)


def linear_sum(i: Any) -> Any:
    return plus(x[i], linear(at(x))(i))


def linear_pre(i: Any) -> Any:
    return plus(x[i], linear(lambda j: normalised(OUTSIDE, at(x), j))(i))


MEANS = both(
    equal(mean_of(lambda i: normalised(OUTSIDE, linear_sum, i)), 0),
    equal(
        mean_of(linear_pre),
        plus(mean_of(at(x)), mean_of(linear(lambda j: normalised(OUTSIDE, at(x), j)))),
    ),
)


def prove_means(p: Prover) -> Theorem:
    def conclusion() -> Theorem:
        first, second = (part.args for part in MEANS.args)
        return p.both(
            p.equal(*first, reason="the mean is subtracted after everything was added"),
            p.equal(*second, reason="the mean of a sum"),
        )

    return silently(p, less(0, epsilon), conclusion)


def twin_add_norm(rng: np.random.Generator) -> Iterator[Trial]:
    from numeric import post_norm, pre_norm

    branch, norm = branch_and_norm()
    for width, row, weight, _, _ in blocks(rng):
        plain = np.ones(width), np.zeros(width)
        post, pre = (
            block(branch, norm, row[None], weight, plain)[0] for block in (post_norm, pre_norm)
        )
        yield agree(post.mean(), 0.0, f"mean behind the norm, width {width}")
        shifted = pre_norm(branch, norm, row[None] + 5, weight, plain)[0]
        yield agree(shifted.mean(), pre.mean() + 5, f"mean of Pre-LN, width {width}")
        yield differs(post, pre, by=1e-2, what="the orders agree")


ADD_THEN_NORM = Claim(
    id="norm-placement/add-then-norm",
    title="It makes no difference whether the norm stands before or behind the sum",
    source=Source(
        INTERVIEW, ("B41",),
        r"A heading: Add & Norm, a residual connection and a LayerNorm, in this order; nothing "
        r"follows. With the norm behind the sum this is Post-LN. Here: that it is the same as "
        r"Pre-LN.",
    ),
    statement=implies(
        less(0, epsilon), forall(a, equal(normalised(OUTSIDE, linear_sum, a), linear_pre(a)))
    ),
    counterexample=Example({d: 2, x: [1, -1], W: [[0, 0], [0, 0]], epsilon: 1}),
    correction=Correction(implies(less(0, epsilon), MEANS), prove_means, defined=defined),
    defined=defined,
    twin=Twin("both blocks around the same branch", twin_add_norm),
    remark=r"For the linear branch $f(x) = W x$, before $\gamma$ and $\beta$. Already with "
    r"$W = 0$ the blocks differ: one is LayerNorm, the other the identity.",
    expected=Verdict.REFUTED,
)  # fmt: skip


# ---------------------------------------------------------------------- gradients in Post-LN


def entering(i: Any) -> Any:
    """The gradient by x + f(x), from the gradient g by the output."""
    return total(times(times(g[a], gamma[a]), jacobian(OUTSIDE, a, i, output)), a)


def prove_entering(p: Prover) -> Theorem:
    def then(spread: Theorem) -> Theorem:
        law = lemma(ORTHOGONAL[0])
        for symbol in (x, g):
            law = p.for_all_tensors(law, symbol)
        law = p.at(law, p.lam(times(g[a], gamma[a]), a), p.lam(output(a), a))
        known = p.mp(use(p, law, *(p.hyp(k) for k in range(4))), spread)
        return p.note(p.part(known, 0), r"gradients behind a LayerNorm add up to zero (see "
                      r"`layer-norm/orthogonal-outside`), here with $g \odot \gamma$ and "
                      r"$x + f(x)$")  # fmt: skip

    return p.suppose(less(0, sigma), then, r"suppose that $x + f(x)$ is not constant")


def twin_entering(rng: np.random.Generator) -> Iterator[Trial]:
    """Around a branch without weights and derivative, the gradient by x is that by the sum."""
    from numeric import Sublayer, post_norm_vjp, pre_norm_vjp

    _, norm = branch_and_norm()
    idle = Sublayer(lambda rows, _: 0 * rows + 1, lambda rows, _, g: (0 * g, None))
    for width, row, _, weights, cotangent in blocks(rng):
        arguments = idle, norm, row[None], None, weights, cotangent[None]
        yield agree(post_norm_vjp(*arguments)[0].sum(), 0.0, f"Post-LN, width {width}")
        yield agree(pre_norm_vjp(*arguments)[0][0], cotangent, f"Pre-LN, width {width}")


ENTERING = Claim(
    id="norm-placement/post-ln-gradient-sum",
    title="The gradient that enters a Post-LN sum adds up to zero",
    source=Source(
        DERIVATIONS, ("A28",),
        POST + r" The gradient is said to pass the $+1$ path unchanged; that it has passed the "
        r"LayerNorm before is not said, " + NOT_CONSTANT,
    ),
    statement=implies(less(0, sigma), equal(total(entering(b), b), 0)),
    given=POST_STATISTICS,
    proof=prove_entering,
    defined=defined,
    twin=Twin("gradients behind Post-LN and Pre-LN blocks whose branch is constant",
              twin_entering),
    remark=r"Whatever $g$ and $\gamma$ are: a component of the gradient along $(1, \dots, 1)$ is "
    r"lost in every Post-LN block.",
    expected=Verdict.PROVED,
)  # fmt: skip


# ---------------------------------------------------------------------- many blocks

xs, fs, gs = sequence("x", d), sequence("f", d), sequence("g", d)
Js, Ns, Ps = sequence("J", d, d), sequence("N", d, d), sequence("P", d, d)
layer = index("k", L)
Factor = Callable[[Any, Any, Any], Any]


def post_step(k: Any, i: Any, j: Any) -> Any:
    """``N_k (I + J_k)``."""
    return total(times(Ns[k, i, c], plus(one(c, j), Js[k, c, j])), c)


def branch_step(k: Any, i: Any, j: Any) -> Any:
    """``J_k N_k``."""
    return total(times(Js[k, i, c], Ns[k, c, j]), c)


def pre_step(k: Any, i: Any, j: Any) -> Any:
    """``I + J_k N_k``."""
    return plus(one(i, j), branch_step(k, i, j))


def gradients(factor: Factor, why: str) -> Given:
    passed = equal(gs[l, a], total(times(gs[l + 1, b], factor(l, b, a)), b))
    return Given(each_layer(l, forall(a, passed)), why)


def products(factor: Factor, why: str) -> tuple[Given, Given]:
    following = equal(Ps[l + 1, a, b], total(times(factor(l, a, e), Ps[l, e, b]), e))
    return (
        Given(no_factor(lambda k: at(Ps, k)), "the product of no factors is $I$"),
        Given(each_layer(l, forall([a, b], following)), why),
    )


def behind(k: Any) -> Any:
    """g_0 from the gradient behind k layers and the product of their factors."""
    return forall(a, equal(gs[0, a], total(times(gs[k, b], Ps[k, b, a]), b)))


BEHIND_L = behind(L)


def prove_layers(factor: Factor) -> Script:
    def prove(p: Prover) -> Theorem:
        recurrence, start, following = (p.hyp(k) for k in range(3))
        none = p.equal(
            gs[0, a], total(times(gs[0, b], Ps[0, b, a]), b), start, reason="no layer: $P_0 = I$"
        )

        def step(earlier: Theorem, limit: Theorem) -> Theorem:
            entry = p.calc(
                gs[0, a],
                (total(times(gs[m, b], Ps[m, b, a]), b), "by what is supposed", p.at(earlier, a)),
                (total(times(total(times(gs[m + 1, e], factor(m, e, b)), e), Ps[m, b, a]), b),
                 "the gradient passes layer $m$", in_layer(p, recurrence, m, limit)),
                (total(times(gs[m + 1, e], total(times(factor(m, e, b), Ps[m, b, a]), b)), e),
                 "exchange the sums"),
                (total(times(gs[m + 1, b], Ps[m + 1, b, a]), b),
                 "the product gets the factor of layer $m$", in_layer(p, following, m, limit)),
            )  # fmt: skip
            return p.for_all(entry, a)

        return climb(p, behind, p.for_all(none, a), step)

    return prove


def stacks(rng: np.random.Generator) -> Iterator[tuple[Any, Any, Any, Any]]:
    """Input, weights, gammas and betas, and a cotangent for several depths."""
    for width, depth in ((3, 0), (2, 1), (5, 2), (4, 6)):
        yield (rng.standard_normal(width), rng.standard_normal((depth, width, width)),
               rng.standard_normal((depth, 2, width)), rng.standard_normal(width))  # fmt: skip


def through_stack(
    block: Callable[..., Any], vjp: Callable[..., Any], drawn: tuple[Any, Any, Any, Any]
) -> tuple[list[Any], list[Any]]:
    """The input of every layer, and the gradient by each of them and by the last output."""
    branch, norm = branch_and_norm()
    state, matrices, scales, cotangent = drawn
    layers = [(m, tuple(w)) for m, w in zip(matrices, scales, strict=True)]
    states = [state[None]]
    for layer_of in layers:
        states.append(block(branch, norm, states[-1], *layer_of))
    found = [cotangent[None]]
    for point, layer_of in zip(reversed(states[:-1]), reversed(layers), strict=True):
        found.append(vjp(branch, norm, point, *layer_of, found[-1])[0])
    return [point[0] for point in states], [gradient[0] for gradient in reversed(found)]


def twin_post_layers(rng: np.random.Generator) -> Iterator[Trial]:
    from numeric import post_norm, post_norm_vjp

    for drawn in stacks(rng):
        states, found = through_stack(post_norm, post_norm_vjp, drawn)
        whole = np.eye(len(drawn[0]))
        for point, weight, scales in zip(states[:-1], drawn[1], drawn[2], strict=True):
            whole = post_factor(point, weight, tuple(scales)) @ whole
        yield agree(found[0], drawn[3] @ whole, f"{len(states) - 1} layers")
        if len(states) > 1:
            yield agree(found[0] @ np.ones(len(found[0])), drawn[3] @ whole.sum(axis=1), "sums")


def twin_pre_layers(rng: np.random.Generator) -> Iterator[Trial]:
    from numeric import pre_norm, pre_norm_vjp

    for drawn in stacks(rng):
        states, found = through_stack(pre_norm, pre_norm_vjp, drawn)
        whole = np.eye(len(drawn[0]))
        for point, weight, scales in zip(states[:-1], drawn[1], drawn[2], strict=True):
            whole = pre_factor(point, weight, tuple(scales)) @ whole
        yield agree(found[0], drawn[3] @ whole, f"{len(states) - 1} layers")


POST_GRADIENTS = gradients(
    post_step, r"a Post-LN block as above: $g_l = g_{l+1} N_l (I + J_l)$, with $N_l$ for the "
    r"Jacobian of LayerNorm at $x_l + f_l(x_l)$ and $J_l$ for that of $f_l$ at $x_l$",
)  # fmt: skip
PRE_GRADIENTS = gradients(
    pre_step, r"a Pre-LN block as above: $g_l = g_{l+1} (I + J_l N_l)$, with $N_l$ for the "
    r"Jacobian of LayerNorm at $x_l$ and $J_l$ for that of $f_l$ behind it",
)  # fmt: skip

POST_LAYERS = Claim(
    id="norm-placement/post-ln-layers",
    title="The gradient behind $L$ blocks of Post-LN",
    source=Source(
        DERIVATIONS, ("A28", "A34"), POST + " What $L$ blocks do to a gradient is not written down."
    ),
    statement=BEHIND_L,
    given=(
        POST_GRADIENTS,
        *products(post_step, r"$P_{l+1} = N_l (I + J_l)\,P_l$: the later layer stands left"),
    ),
    proof=prove_layers(post_step),
    twin=Twin("gradients in front of stacks of Post-LN blocks", twin_post_layers),
    remark=r"$g_0 = g_L\, N_{L-1} (I + J_{L-1}) \cdots N_0 (I + J_0)$: every path through the "
    r"blocks passes every $N_l$.",
    expected=Verdict.PROVED,
)

PRE_LAYERS = Claim(
    id="norm-placement/pre-ln-layers",
    title="The gradient behind $L$ blocks of Pre-LN",
    source=Source(
        DERIVATIONS, ("A33", "A34"), PRE + " What $L$ blocks do to a gradient is not written down."
    ),
    statement=BEHIND_L,
    given=(
        PRE_GRADIENTS,
        *products(pre_step, r"$P_{l+1} = (I + J_l N_l)\,P_l$: the later layer stands left"),
    ),
    proof=prove_layers(pre_step),
    twin=Twin("gradients in front of stacks of Pre-LN blocks", twin_pre_layers),
    remark=r"$g_0 = g_L\, (I + J_{L-1} N_{L-1}) \cdots (I + J_0 N_0)$: one of the $2^L$ paths "
    r"passes no LayerNorm.",
    expected=Verdict.PROVED,
)


def through_branch(k: Any, i: Any) -> Any:
    """What the branch of layer k adds to component i of the gradient."""
    return total(times(gs[k + 1, b], branch_step(k, b, i)), b)


ARRIVES = forall(a, equal(gs[0, a], plus(gs[L, a], total(through_branch(layer, a), layer))))


def prove_arrives(p: Prover) -> Theorem:
    law = p.for_all_tensors(lemma(DIRECT_PATH), Js)
    law = p.at(law, p.lam(branch_step(l, b, a), l, b, a))
    return p.note(
        p.mp(law, p.hyp(0)),
        r"block after block, by induction on the number of layers, as for any residual blocks (see "
        r"`residual/direct-path`), with $J_l N_l$ for the Jacobian of the branch",
    )


def twin_arrives(
    rng: np.random.Generator, placed: tuple[Block, Block] | None = None
) -> Iterator[Trial]:
    """The forward and backward pass of the blocks, if they are not Pre-LN."""
    from numeric import pre_norm, pre_norm_vjp

    for drawn in stacks(rng):
        forward, backward = placed or (pre_norm, pre_norm_vjp)
        states, found = through_stack(forward, backward, drawn)
        added = np.zeros_like(found[-1])
        layers = zip(states[:-1], drawn[1], drawn[2], found[1:], strict=True)
        for point, weight, scales, gradient in layers:
            factor = pre_factor(point, weight, tuple(scales)) - np.eye(point.size)
            added += gradient @ factor
        yield agree(found[0], found[-1] + added, f"{len(states) - 1} layers")
        if len(states) > 1:
            gap = np.abs(added).max()
            yield differs(found[0], found[-1], by=0.9 * gap, what="nothing passes LayerNorm")


def direct_mutations() -> tuple[Mutation, ...]:
    def behind_the_sum(rng: np.random.Generator) -> Iterator[Trial]:
        from numeric import post_norm, post_norm_vjp

        yield from twin_arrives(rng, (post_norm, post_norm_vjp))

    halves = {
        d: 1, L: 1, Ns: T.Lam(3, T.num(Fraction(1, 2))), Js: T.Lam(3, T.num(3)),
        gs: T.Lam(2, T.fn("rpow", T.num(Fraction(1, 2)), T.bound(1))),
    }  # fmt: skip
    return (
        Mutation(
            "the norm stands behind the sum, as in Post-LN",
            given=(POST_GRADIENTS,),
            counterexample=Example(halves),
            twin=Twin(
                "gradients in front of stacks of Post-LN blocks, and what the branches add",
                behind_the_sum,
            ),
        ),
    )


DIRECT = Claim(
    id="norm-placement/pre-ln-direct-path",
    title="In Pre-LN the last gradient arrives at the first input unchanged, with something added",
    source=Source(DERIVATIONS, ("A34",), FLOWS),
    statement=ARRIVES,
    given=(PRE_GRADIENTS,),
    proof=prove_arrives,
    twin=Twin("gradients in front of stacks of Pre-LN blocks, and what the branches add",
              twin_arrives),
    mutations=direct_mutations,
    remark=r"In rows: $g_0 = g_L + \sum_{k<L} g_{k+1} J_k N_k$. The first term passes no "
    r"LayerNorm inside the stack; one behind the stack, as models with Pre-LN have it, has "
    r"changed $g_L$ before.",
    expected=Verdict.PROVED,
)  # fmt: skip

UNCHANGED = forall(a, equal(gs[0, a], gs[L, a]))
NOTHING_ADDED = forall(a, equal(total(through_branch(layer, a), layer), 0))


def prove_unchanged(p: Prover) -> Theorem:
    arrives = prove_arrives(p)
    same, nothing = p.formula(UNCHANGED), p.formula(NOTHING_ADDED)
    added = total(through_branch(layer, a), layer)

    def only_then(case: Theorem) -> Theorem:
        entry = p.equal(added, 0, (-1, p.at(arrives, a)), (1, p.at(case, a)),
                        reason="then the second term is zero")  # fmt: skip
        return p.for_all(entry, a)

    def then(case: Theorem) -> Theorem:
        entry = p.equal(gs[0, a], gs[L, a], (1, p.at(arrives, a)), (1, p.at(case, a)),
                        reason="then the first term is left")  # fmt: skip
        return p.for_all(entry, a)

    return p.both(
        p.suppose(same, only_then, "suppose that the gradient arrives as it was"),
        p.suppose(nothing, then, "conversely, suppose this"),
    )


SIGN = T.sub(T.delta(T.bound(0), T.ZERO), T.delta(T.bound(0), T.ONE))
SIGNS = T.Lam(2, SIGN)


def alternating(factor: Fraction | int) -> T.Lam:
    """The rows ``factor^l (1, -1)``."""
    return T.Lam(2, T.mul(T.fn("rpow", T.num(factor), T.bound(1)), SIGN))


#: the Jacobian of LayerNorm at the row (1, -1) for epsilon = 1, in every layer
NORM_AT_SIGNS = T.Lam(
    3,
    T.mul(T.num(Fraction(1, 8)), T.sub(T.mul(T.num(2), T.delta(T.bound(1), T.bound(0))), T.ONE)),
)
IDENTITIES = T.Lam(3, T.delta(T.bound(1), T.bound(0)))

ALL_PAST = Claim(
    id="norm-placement/pre-ln-past-the-norm",
    title="The gradient of Pre-LN passes no LayerNorm",
    source=Source(
        DERIVATIONS, ("A34",),
        FLOWS + " Here word for word: that nothing of the gradient passes a LayerNorm, so that it "
        "arrives as it was.",
    ),
    statement=UNCHANGED,
    given=(PRE_GRADIENTS,),
    counterexample=Example(
        {d: 2, L: 1, gs: alternating(Fraction(4, 5)), Ns: NORM_AT_SIGNS, Js: IDENTITIES}
    ),
    correction=Correction(iff(UNCHANGED, NOTHING_ADDED), prove_unchanged, given=(PRE_GRADIENTS,)),
    twin=Twin("gradients in front of stacks of Pre-LN blocks, and what the branches add",
              twin_arrives),
    remark=r"$N_l$ is the Jacobian of LayerNorm at $(1, -1)$ for $\epsilon = 1$, and the branches "
    r"are $f_l(x) = x$. The branches do pass LayerNorm, and they carry what the layers have "
    r"learned.",
    expected=Verdict.REFUTED,
)  # fmt: skip


def _parts(q: Prover, premise: Theorem) -> list[Theorem]:
    if premise.conclusion.op != "and":
        return [premise]
    return [q.part(premise, k) for k in range(len(premise.conclusion.children))]


def learn_layers(q: Prover, premises: list[Theorem], symbols: frozenset[T.Term | str]) -> None:
    """What the premises say of the signs in the layers below L that are spoken of."""
    parts = [t for p in premises for t in _parts(q, p)]
    every = [t for t in parts if t.conclusion.op == "forall" and t.conclusion.data == ("nat", 0)]
    for limit in parts:
        if limit.conclusion.op != "lt" or limit.conclusion.children[0] not in symbols:
            continue
        known = [in_layer(q, t, limit.conclusion.children[0], limit) for t in every]
        for t in known:
            if t.conclusion.op in ("lt", "le"):
                q.fact(t)
        for t in known:
            if t.conclusion.op == "eq":
                with suppress(KernelError):  # only the divisor is known to be positive
                    q.fact(q.order(T.lt(T.ZERO, t.conclusion.children[0]), (1, t)))


# ---------------------------------------------------------------------- how much is left in Pre-LN

divisors = sequence("s")
SMALL_BRANCHES = both(
    each_layer(l, less(0, divisors[l])),
    each_layer(l, bounded(at(Ns, l), over(1, divisors[l]))),
    each_layer(l, bounded(at(Js, l), times(rhos[l], divisors[l]))),
    each_layer(l, at_most(rhos[l], 1)),
)
REMAINS = implies(
    SMALL_BRANCHES,
    at_most(times(product_up_to(lower_factor, L), length(at(g))), length(behind_layers(L))),
)


def prove_remains(p: Prover) -> Theorem:
    law = p.for_all_tensors(lemma(PRODUCT_BOUNDS), Js)
    law = p.at(law, p.lam(branch_step(l, b, a), l, b, a))

    def then(case: Theorem) -> Theorem:
        with p.supposing(less(l, L)) as limit:
            positive, norm, branch = (in_layer(p, p.part(case, k), l, limit) for k in range(3))
            p.fact(positive)
            together = branch_behind_norm(p, norm, branch)
        small = p.for_all(p.discharge(together, limit), l)
        p.note(small, r"so $J_l N_l$ makes no row more than $\rho_l$ times as long")
        bounds = use(p, law, p.hyp(0), p.hyp(1), small, p.part(case, 3))
        return p.note(p.part(bounds, 0), "as for any residual blocks (see "
                      "`residual/product-bounds`), with $J_l N_l$ for the Jacobian of the "
                      "branch")  # fmt: skip

    return p.suppose(SMALL_BRANCHES, then, r"suppose this; $s_l$ is the divisor of LayerNorm")


def branch_behind_norm(p: Prover, norm: Theorem, branch: Theorem) -> Theorem:
    """For all v: ||v J N|| <= rho ||v||, from the bounds of both factors."""

    def through_branch(i: Any) -> Any:
        return total(times(v[e], Js[l, e, i]), e)

    def behind_both(i: Any) -> Any:
        return through(at(v), lambda j, k: branch_step(l, j, k))(i)

    first = p.at(branch, row_with(p, at(v)))
    second = p.at(norm, row_with(p, through_branch))
    entry = p.equal(behind_both(a), through(through_branch, at(Ns, l))(a), show=False)
    same = same_length(p, p.for_all(entry, a))
    together = p.order(
        at_most(length(behind_both), times(rhos[l], length(at(v)))),
        (-1, same), (1, second), (over(1, divisors[l]), first),
    )  # fmt: skip
    return p.for_all_tensors(together, v)


def twin_remains(rng: np.random.Generator) -> Iterator[Trial]:
    """Branches f(x) = J x whose largest singular value is a random share of s_l."""
    from numeric import pre_norm, pre_norm_vjp

    _, norm = branch_and_norm()
    branch = linear_branch()
    for width, depth in ((2, 1), (3, 0), (5, 4), (4, 9)):
        plain = np.ones(width), np.zeros(width)
        states, matrices = [rng.standard_normal((1, width))], []
        shares = rng.random(depth)
        for share in shares:
            matrices.append(of_norm(rng, width, share * (states[-1].std() + EPSILON)))
            states.append(pre_norm(branch, norm, states[-1], matrices[-1], plain))
        gradient = cotangent = rng.standard_normal((1, width))
        for point, matrix in zip(reversed(states[:-1]), reversed(matrices), strict=True):
            gradient = pre_norm_vjp(branch, norm, point, matrix, plain, gradient)[0]
        least = np.prod(1 - shares) * np.linalg.norm(cotangent)
        yield below(least, np.linalg.norm(gradient), f"{depth} blocks of width {width}")


REMAINING = Claim(
    id="norm-placement/pre-ln-lower-bound",
    title="How much of a gradient is left by $L$ blocks of Pre-LN at least",
    source=Source(
        DERIVATIONS, ("A34",),
        FLOWS + r" How small the branches have to be for something to arrive is not said. Here: "
        r"$J_l$ makes rows at most $\rho_l s_l$ times as long with $\rho_l \le 1$, and $N_l$ at "
        r"most $1/s_l$ times, as LayerNorm does (`layer-norm/contraction-outside`).",
    ),
    statement=REMAINS,
    given=products(pre_step, r"$P_{l+1} = (I + J_l N_l)\,P_l$: the later layer stands left"),
    proof=prove_remains,
    defined=defined_by(learn_layers),
    twin=Twin("lengths of gradients in front of stacks of Pre-LN blocks with linear branches",
              twin_remains),
    remark=r"A branch may be the steeper, the larger the spread of its input is. No such bound "
    r"holds for Post-LN, where a gradient along $(1, \dots, 1)$ is lost: see "
    r"`norm-placement/post-ln-gradient-sum`.",
    expected=Verdict.PROVED,
)  # fmt: skip


# ---------------------------------------------------------------------- past the branches

zs, ps = sequence("z", d), sequence("p", d)
mus, sigmas, ss = sequence("mu"), sequence("sigma"), sequence("s")
smallest = real("r")  # no deviation is less


def norm_step(k: Any, i: Any, j: Any) -> Any:
    """The Jacobian of the LayerNorm of block k."""
    u = [minus(zs[k, place], mus[k]) for place in (i, j)]
    coupled = over(times(*u), times(d, sigmas[k], ss[k]))
    return over(plus(one(i, j), times(-1, over(1, d)), times(-1, coupled)), ss[k])


def length_of(rows: Any, k: Any) -> Any:
    return root(total(square(rows[k, b]), b))


PATH = (
    Given(each_layer(l, equal(mus[l], mean_of(at(zs, l)))),
          r"$\mu_l$ is the mean of $z_l = x_l + f_l(x_l)$"),
    Given(each_layer(l, equal(sigmas[l], deviation_of(at(zs, l), mus[l]))),
          r"$\sigma_l$ is its standard deviation"),
    Given(each_layer(l, less(0, sigmas[l])),
          r"the gradient passes LayerNorm, so that LayerNorm has a derivative: $z_l$ is not "
          r"constant"),
    Given(each_layer(l, less(0, plus(sigmas[l], epsilon))), "the note divides by it"),
    Given(each_layer(l, equal(ss[l], plus(sigmas[l], epsilon))), "the divisor of the note"),
    Given(
        each_layer(
            l, forall(a, equal(ps[l, a], total(times(ps[l + 1, b], norm_step(l, b, a)), b)))
        ),
        r"$p_l = p_{l+1} N_l$: what a Post-LN block does to a gradient on the path past the branch",
    ),
)  # fmt: skip


def divided(k: Any) -> Any:
    """After k layers the length is divided by r^k at least."""
    return at_most(times(power(smallest, k), length_of(ps, 0)), length_of(ps, k))


DIVIDED = implies(
    both(at_most(0, epsilon), less(0, smallest), each_layer(l, at_most(smallest, sigmas[l]))),
    divided(L),
)


def prove_divided(p: Prover) -> Theorem:
    def then(case: Theorem) -> Theorem:
        sign, positive, least = (p.part(case, k) for k in range(3))
        none = T.substitute(p.formula(divided(m)), {p.term(m): T.ZERO})
        base = p.note(p.trivial(none), "no block: $r^0 = 1$")

        def step(earlier: Theorem, limit: Theorem) -> Theorem:
            shorter = one_norm_shortens(p, sign, limit)
            no_less = p.order(
                at_most(smallest, ss[m]),
                (1, in_layer(p, least, m, limit)), (1, sign), (1, in_layer(p, p.hyp(4), m, limit)),
                reason=r"as $r \le \sigma_m \le \sigma_m + \epsilon$",
            )  # fmt: skip
            p.fact(p.order(less(0, ss[m]), (1, positive), (1, no_less)))
            return p.order(
                divided(m + 1),
                (ss[m], shorter), (length_of(ps, m), no_less), (smallest, earlier),
                reason="multiply what is supposed by $r$ and put both in",
            )  # fmt: skip

        return climb(p, divided, base, step)

    return p.suppose(DIVIDED.args[0], then, r"suppose that no $\sigma_l$ is less than $r$")


def one_norm_shortens(p: Prover, sign: Theorem, limit: Theorem) -> Theorem:
    """||p_m|| <= ||p_(m+1)|| / s_m."""
    law = lemma(CONTRACTIONS[0])
    for symbol in (g, x):
        law = p.for_all_tensors(law, symbol)
    law = p.for_all(law, mu, sigma, s)
    law = p.at(law, mus[m], sigmas[m], ss[m])
    law = p.at(law, p.lam(zs[m, a], a), p.lam(ps[m + 1, a], a))
    *known, spread, recurrence = (in_layer(p, p.hyp(k), m, limit) for k in (0, 1, 4, 2, 5))
    bound = p.mp(use(p, law, *known), spread, sign)
    squares = bound.conclusion.children[0].children[0]  # under the root
    entry = T.instantiate(squares.children[1], (p.term(b),)).children[0]
    same = p.equal(entry, ps[m, b], (-1, p.at(recurrence, b)), show=False)
    lengths = summed(p, rewritten(p, T.power(entry, 2), same), b)
    right = bound.conclusion.children[1]
    theorem = p.rewrite(lengths, bound, lambda e: T.le(T.fn("sqrt", e), right))
    return p.note(theorem, r"LayerNorm divides by $s_m$ at least (see "
                  r"`layer-norm/contraction-outside`)")  # fmt: skip


def shrinking_path(rng: np.random.Generator, width: int, depth: int) -> tuple[Any, Any, Any]:
    """Rows of deviation sqrt 2 at least, a gradient, and what Post-LN blocks leave of it."""
    from numeric import Sublayer, post_norm_vjp

    _, norm = branch_and_norm()
    idle = Sublayer(lambda rows, _: 0 * rows, lambda rows, _, cotangent: (0 * cotangent, None))
    rows = rng.standard_normal((depth, width))
    rows *= np.sqrt(2) * (1 + rng.random((depth, 1))) / rows.std(axis=1, keepdims=True)
    plain = np.ones(width), np.zeros(width)
    cotangent = rng.standard_normal(width)
    gradient = cotangent[None]
    for row in rows:
        gradient = post_norm_vjp(idle, norm, row[None], None, plain, gradient)[0]
    return rows, cotangent, gradient[0]


def twin_path(rng: np.random.Generator, *, unchanged: bool = False) -> Iterator[Trial]:
    for width, depth in ((2, 1), (3, 4), (5, 0), (7, 12)):
        rows, cotangent, left = shrinking_path(rng, width, depth)
        least = rows.std(axis=1).min() if depth else 1.0
        ratio = np.linalg.norm(left) / np.linalg.norm(cotangent)
        if unchanged:
            yield agree(ratio, 1.0, f"{depth} norms, width {width}")
        yield below(ratio, least**-depth, f"{depth} norms, width {width}")
        yield below(ratio, 2 ** (-depth / 2), f"half a power of two for each of {depth} norms")
        if depth:
            yield differs(left, cotangent, by=1e-2 * np.abs(cotangent).max(), what="unchanged")


PATH_LOSES = at_most(length_of(ps, L), length_of(ps, 0))


def path_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "the path past the branches has norm 1, as in Pre-LN",
            statement=equal(length_of(ps, L), length_of(ps, 0)),
            counterexample=POST_PATH.counterexample,
            twin=Twin(
                "lengths of gradients behind Post-LN blocks whose branch does nothing, against "
                "those in front of them",
                lambda rng: twin_path(rng, unchanged=True),
            ),
        ),
    )


POST_PATH = Claim(
    id="norm-placement/post-ln-identity-path",
    title="Does the path past the branches keep a gradient in Post-LN?",
    source=Source(
        DERIVATIONS, ("A28", "A34"),
        POST + r" Under this heading a $+1$ path is said to pass gradients on directly. Here: that "
        r"past the branches a gradient loses nothing of its length.",
    ),
    statement=PATH_LOSES,
    given=PATH,
    counterexample=Example(
        {
            d: 2,
            L: 1,
            epsilon: 1,
            zs: SIGNS,
            mus: T.Lam(1, T.ZERO),
            sigmas: T.Lam(1, T.ONE),
            ss: T.Lam(1, T.num(2)),
            ps: alternating(4),
        }
    ),
    correction=Correction(DIVIDED, prove_divided, given=PATH, defined=defined_by(learn_layers)),
    defined=defined_by(learn_layers),
    twin=Twin("lengths of gradients behind Post-LN blocks whose branch does nothing", twin_path),
    mutations=path_mutations,
    remark=r"$p_l$ is the gradient by $x_l$, as far as it has passed no branch, with "
    r"$\gamma = 1$. In Pre-LN the corresponding path is $p_l = p_{l+1}$, so that $p_0 = p_L$.",
    expected=Verdict.REFUTED,
)  # fmt: skip

ROOT_TWO = sp.sqrt(2)
HALVED = implies(
    both(at_most(0, epsilon), each_layer(l, equal(sigmas[l], ROOT_TWO))),
    at_most(times(power(ROOT_TWO, L), length_of(ps, 0)), length_of(ps, L)),
)


def prove_halved(p: Prover) -> Theorem:
    law = p.at(p.for_all(prove_divided(p), smallest), ROOT_TWO)

    def then(case: Theorem) -> Theorem:
        sign, spreads = p.part(case, 0), p.part(case, 1)
        with p.supposing(less(l, L)) as limit:
            spread = in_layer(p, spreads, l, limit)
            no_less = p.order(at_most(ROOT_TWO, sigmas[l]), (1, spread))
        least = p.for_all(p.discharge(no_less, limit), l)
        return p.note(
            p.mp(law, sign, p.trivial(less(0, ROOT_TWO)), least),
            r"this is the case $r = \sqrt 2$",
        )

    return p.suppose(HALVED.args[0], then, "now suppose this")


HALVED_PATH = Claim(
    id="norm-placement/post-ln-halving",
    title="Past the branches, Post-LN leaves $2^{-L/2}$ of a gradient at most",
    source=Source(
        DERIVATIONS, ("A34",),
        FLOWS + r" What LayerNorm does on the residual path of Post-LN is not computed. Here: if "
        r"every sum has the standard deviation $\sqrt 2$ (see `norm-placement/spread-of-sum`), "
        r"and $\epsilon \ge 0$, which the note does not state.",
    ),
    statement=HALVED,
    given=PATH,
    proof=prove_halved,
    defined=defined_by(learn_layers),
    twin=Twin("lengths of gradients behind Post-LN blocks whose branch does nothing", twin_path),
    remark=r"$\lVert p_0 \rVert \le 2^{-L/2} \lVert p_L \rVert$; in Pre-LN $p_0 = p_L$.",
    expected=Verdict.PROVED,
)  # fmt: skip


# ---------------------------------------------------------------------- variances

y = tensor("y", d)


def spread_of(row: Entry) -> Any:
    return variance_of(row, mean_of(row))


def covariance(one_row: Entry, other_row: Entry) -> Any:
    product = times(minus(one_row(b), mean_of(one_row)), minus(other_row(b), mean_of(other_row)))
    return over(total(product, b), d)


def sum_of(i: Any) -> Any:
    return plus(x[i], y[i])


UNCORRELATED = both(
    equal(spread_of(at(x)), 1), equal(spread_of(at(y)), 1), equal(covariance(at(x), at(y)), 0)
)


def prove_spread_of_sum(p: Prover) -> Theorem:
    def then(case: Theorem) -> Theorem:
        parts = [p.part(case, k) for k in range(3)]
        whole = p.calc(
            spread_of(sum_of),
            (plus(spread_of(at(x)), spread_of(at(y)), times(2, covariance(at(x), at(y)))),
             "multiply out"),
            (2, "put in what is supposed", (1, parts[0]), (1, parts[1]), (2, parts[2])),
        )  # fmt: skip
        theorem = rewritten(p, deviation_of(sum_of, mean_of(sum_of)), whole)
        return p.note(theorem, "take roots")

    return p.suppose(UNCORRELATED, then, "suppose this")


def uncorrelated_rows(rng: np.random.Generator, width: int) -> Any:
    """Two rows of variance 1 whose covariance is 0."""
    one_row, other_row = rng.standard_normal((2, width))
    one_row -= one_row.mean()
    other_row -= other_row.mean()
    other_row -= (other_row @ one_row) / (one_row @ one_row) * one_row
    return one_row / one_row.std() + rng.normal(), other_row / other_row.std() - rng.normal()


def twin_spread_of_sum(rng: np.random.Generator) -> Iterator[Trial]:
    """The divisor is seen in the output of a Post-LN block whose branch adds y."""
    from numeric import Sublayer, post_norm

    _, norm = branch_and_norm()
    for width in (3, 5, 33):
        row, added = uncorrelated_rows(rng, width)
        adding = Sublayer(lambda rows, w: 0 * rows + w, lambda rows, w, cotangent: (0 * rows, w))
        plain = np.ones(width), np.zeros(width)
        got = post_norm(adding, norm, row[None], added, plain)[0]
        u = row + added - (row + added).mean()
        yield agree(got, u / (np.sqrt(2) + EPSILON), f"width {width}")
        yield differs(got, u / (1 + EPSILON), by=1e-2, what="the spread of x alone")


SPREAD_OF_SUM = Claim(
    id="norm-placement/spread-of-sum",
    title="The standard deviation behind the sum of a Post-LN block",
    source=Source(
        DERIVATIONS, ("A34",),
        FLOWS + r" What is divided by is not computed. Here: if $x$ and $y = f(x)$ both have "
        r"variance $1$ over the features and are uncorrelated.",
    ),
    statement=implies(UNCORRELATED, equal(deviation_of(sum_of, mean_of(sum_of)), ROOT_TWO)),
    proof=prove_spread_of_sum,
    twin=Twin("`post_norm` around a branch that adds an uncorrelated row", twin_spread_of_sum),
    expected=Verdict.PROVED,
)  # fmt: skip

GROWING = both(
    each_layer(l, equal(spread_of(at(fs, l)), 1)),
    each_layer(l, equal(covariance(at(xs, l), at(fs, l)), 0)),
)


def grown(k: Any) -> Any:
    return equal(spread_of(at(xs, k)), plus(spread_of(at(xs, 0)), k))


def prove_growing(p: Prover) -> Theorem:
    def then(case: Theorem) -> Theorem:
        base = p.note(p.trivial(grown(0)), "no block")

        def step(earlier: Theorem, limit: Theorem) -> Theorem:
            units, uncorrelated = (in_layer(p, p.part(case, k), m, limit) for k in range(2))
            return p.calc(
                spread_of(at(xs, m + 1)),
                (plus(spread_of(at(xs, m)), spread_of(at(fs, m)),
                      times(2, covariance(at(xs, m), at(fs, m)))),
                 r"as $x_{m+1} = x_m + f_m$", in_layer(p, p.hyp(0), m, limit)),
                (plus(spread_of(at(xs, 0)), m + 1), "by what is supposed",
                 (1, earlier), (1, units), (2, uncorrelated)),
            )  # fmt: skip

        return climb(p, grown, base, step)

    return p.suppose(GROWING, then, "suppose this")


def twin_growing(rng: np.random.Generator) -> Iterator[Trial]:
    from numeric import Sublayer, pre_norm

    _, norm = branch_and_norm()
    adding = Sublayer(lambda rows, w: 0 * rows + w, lambda rows, w, cotangent: (0 * rows, w))
    for width, depth in ((3, 1), (5, 4), (33, 20)):
        state, plain = rng.standard_normal(width), (np.ones(width), np.zeros(width))
        start = state.var()
        for _ in range(depth):
            added = rng.standard_normal(width)
            added -= added.mean()
            u = state - state.mean()
            added -= (added @ u) / (u @ u) * u
            state = pre_norm(adding, norm, state[None], added / added.std(), plain)[0]
        yield agree(state.var(), start + depth, f"{depth} blocks of width {width}")


GROWTH = Claim(
    id="norm-placement/pre-ln-growth",
    title="In Pre-LN the variance grows with the number of blocks",
    source=Source(
        DERIVATIONS, ("A33", "A34"),
        PRE + r" The size of $x_l$ is not spoken of. Here: if every branch adds a row of variance "
        r"$1$ that is uncorrelated with $x_l$ over the features.",
    ),
    statement=implies(GROWING, grown(L)),
    given=(
        Given(each_layer(l, forall(a, equal(xs[l + 1, a], plus(xs[l, a], fs[l, a])))),
              r"$f_l$ is what the branch of block $l$ adds"),
    ),
    proof=prove_growing,
    twin=Twin("`pre_norm` around branches that add uncorrelated rows", twin_growing),
    remark=r"The LayerNorm in front of branch $l$ divides by its root, so that later branches "
    r"contribute less and less to the gradient.",
    expected=Verdict.PROVED,
)  # fmt: skip

STABILITY = Claim(
    id="norm-placement/stability",
    title="Is training with Pre-LN more stable?",
    source=Source(DERIVATIONS, ("A34",), FLOWS),
    reason="It is not defined what stable means, and what is observed in training is not proved. "
    "What can be proved about the two placements are the Jacobians, the paths and the variances "
    "above.",
    expected=Verdict.NOT_MATHEMATICAL,
)

CLAIMS = (
    POST_JACOBIAN,
    ENTERING,
    POST_LAYERS,
    PRE_JACOBIAN,
    PRE_LAYERS,
    ADD_THEN_NORM,
    DIRECT,
    ALL_PAST,
    REMAINING,
    POST_PATH,
    SPREAD_OF_SUM,
    HALVED_PATH,
    GROWTH,
    STABILITY,
)

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
