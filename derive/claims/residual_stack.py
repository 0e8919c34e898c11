"""A stack of residual blocks as one function, and its derivative by the first input.

``X_l(v)`` is what the first l layers make of the input v: ``X_0(v) = v`` and
``X_(l+1)(v) = X_l(v) + f_l(X_l(v))``.  The branches f_l are any functions that are differentiable
where they are used.  Here the product of the factors ``I + J_l`` is derived and not supposed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import sympy as sp

from derive.claim import Claim, Given, Mutation
from derive.claims import DERIVATIONS
from derive.claims.residual import (
    PRODUCT_BOUNDS,
    Entry,
    Js,
    L,
    Ps,
    a,
    at,
    b,
    bounded,
    branches,
    c,
    climb,
    climb_all,
    d,
    each_layer,
    for_all_rows,
    g,
    in_layer,
    inside,
    l,
    lemma,
    length,
    linear_branch,
    loss,
    lower_factor,
    m,
    next_factor,
    no_factor,
    of_norm,
    one,
    product_up_to,
    rhos,
    row,
    same_length,
    stacks,
    tanh_branch,
    tanh_jacobian,
    through,
    upper_factor,
    use,
    v,
    with_factor,
    x,
)
from derive.kernel.rules import Theorem, infer
from derive.language import (
    Differentiable,
    GradientIs,
    VectorFunction,
    at_most,
    both,
    equal,
    forall,
    implies,
    index,
    less,
    plus,
    tensor,
    times,
    total,
)
from derive.prover import Prover
from derive.result import Source, Verdict
from derive.twin import Trial, Twin, differs
from derive.twin import at_most as below
from derive.twin import equal as agree

ORDER = 41
TOPIC = "residual"

#: the input as it passes the layers, a function of the first input
stack = VectorFunction("X", d, sp.oo, d)
G = tensor("G", d)


def state(start: Any, layers: Any) -> Entry:
    """``X_l``: what that many layers make of the input."""
    return lambda i: stack(start)[layers, i]


def block(start: Any, layer: Any) -> Entry:
    """``X_l + f_l(X_l)``."""
    inner = state(start, layer)
    return lambda i: plus(inner(i), branches(inner)[layer, i])


def branch_jacobian(layer: Any) -> Entry:
    """``J_l``: the Jacobian of the branch f_l at its input."""
    return lambda i, j: branches.partial(state(x, layer))[layer, i, j]


def stack_jacobian(layers: Any) -> Entry:
    """The Jacobian of ``X_l`` at the first input."""
    return lambda i, j: stack.partial(x)[layers, i, j]


def last_slope(i: Any) -> Any:
    """The gradient of the loss by the last output."""
    return loss.partial(state(x, L))[i]


INPUT = Given(
    forall(v, forall(a, equal(state(v, 0)(a), v[a]))),
    "$X_l(v)$ is what $l$ layers make of the input $v$; no layer leaves it as it is",
)
BLOCKS = Given(
    forall(v, each_layer(l, forall(a, equal(state(v, l + 1)(a), block(v, l)(a))))),
    r"$y = x + f(x)$ in layer $l$",
)
SMOOTH_BRANCHES = Given(
    each_layer(l, forall(a, Differentiable(branches(state(x, l))[l, a]))),
    r"presupposed by $\partial f/\partial x$ in each of the $L$ layers",
)
SMOOTH_LOSS = Given(
    Differentiable(loss(state(x, L))[()]), r"presupposed by $\partial\mathcal{L}/\partial y$"
)
#: P_l is the product of the factors of l layers.
FACTORS = both(no_factor(lambda k: at(Ps, k)), next_factor(branch_jacobian, lambda k: at(Ps, k)))


# ---------------------------------------------------------------------- the Jacobian of the stack


def gradient_of_input(p: Prover) -> Theorem:
    """``X_0`` has the identity matrix as its Jacobian: component a."""
    same = p.equal(v[a], state(v, 0)(a), p.at(p.hyp(0), row(p, at(v))), show=False)
    itself = p.gradient(GradientIs(v[a], v, b, 0, x[b]))
    value = p.equal(p.partial(itself, b), one(a, b), show=False)
    gradient = p.with_function(p.with_partial(itself, value, b), p.for_all_tensors(same, v))
    return p.note(gradient, "no layer: $X_0(v) = v$")


def gradient_of_layer(p: Prover, smooth: Theorem, limit: Theorem, *, show: bool) -> Theorem:
    """The gradient of component a of ``X_(m+1)``, if ``X_m`` is differentiable."""
    branch = p.at(in_layer(p, p.hyp(2), m, limit), a)
    raw = p.gradient(
        GradientIs(block(v, m)(a), v, b, 0, x[b]), p.at(smooth, a), smooth, branch,
        reason=r"chain rule through $f_m$ and $X_m$" if show else "",
    )  # fmt: skip
    value = p.equal(
        p.partial(raw, b),
        with_factor(branch_jacobian(m), stack_jacobian(m))(a, b),
        reason="the Kronecker deltas leave one term each; then take the factor out",
        show=show,
    )
    output = in_layer(p, p.at(p.hyp(1), row(p, at(v))), m, limit)
    same = p.equal(block(v, m)(a), state(v, m + 1)(a), output, show=False)
    gradient = p.with_function(p.with_partial(raw, value, b), p.for_all_tensors(same, v))
    return p.note(gradient, "what is differentiated is $X_{m+1}$") if show else gradient


def smooth(layers: Any) -> Any:
    return forall(a, Differentiable(state(x, layers)(a)))


def prove_jacobian(p: Prover) -> Theorem:
    def step(earlier: Theorem, limit: Theorem) -> Theorem:
        gradient = gradient_of_layer(p, earlier, limit, show=True)
        return p.note(
            p.for_all(p.differentiable(gradient), a), "so $X_{m+1}$ is differentiable as well"
        )

    first = gradient_of_input(p)
    base = p.for_all(p.differentiable(first), a)
    every = climb_all(p, smooth, base, step)
    none = only_partials(p, 0, p.at(base, a), first)
    p.note(none, "the gradient of $X_0$, as a function has only one")
    return p.both(p.mp(p.at(every, L), p.order(at_most(L, L))), none, factor_by_factor(p, every))


def only_partials(p: Prover, layers: Any, smooth: Theorem, gradient: Theorem) -> Theorem:
    """The partial derivatives of ``X_l`` are those of its gradient, for all components."""
    own = p.gradient(GradientIs(state(v, layers)(a), v, b, 0, x[b]), smooth)
    entry = p.equal(
        stack_jacobian(layers)(a, b), p.partial(gradient, b),
        p.same_partials(own, gradient, b), show=False,
    )  # fmt: skip
    return p.for_all(entry, a, b)


def factor_by_factor(p: Prover, every: Theorem) -> Theorem:
    """The Jacobian of one more layer, for each of the L layers."""
    with p.supposing(less(m, L)) as limit:
        earlier = p.mp(p.at(every, m), p.order(at_most(m, L), (1, limit)))
        following = p.mp(p.at(every, m + 1), p.next_integer(limit))
        gradient = gradient_of_layer(p, earlier, limit, show=False)
        entries = only_partials(p, m + 1, p.at(following, a), gradient)
    theorem = p.for_all(p.discharge(entries, limit), m)
    return p.note(theorem, "the gradient of $X_{m+1}$ from above, as a function has only one")


def twin_jacobian(rng: np.random.Generator) -> Iterator[Trial]:
    """Columns by complex steps through the whole stack, and the product of the factors."""
    from numeric import residual_stack

    for point, weights, _ in stacks(rng):
        width = len(point)
        jacobian = np.eye(width)
        for depth in range(len(weights) + 1):
            layers = [tanh_branch()] * depth
            steps = point + 1e-30j * np.eye(width)
            outputs = [residual_stack(layers, s[None], weights[:depth])[0] for s in steps]
            measured = np.stack(outputs, axis=1).imag / 1e-30
            yield agree(measured, jacobian, f"{depth} layers of width {width}")
            if depth < len(weights):
                middle = residual_stack(layers, point[None], weights[:depth])[0]
                jacobian = (np.eye(width) + tanh_jacobian(middle, weights[depth])) @ jacobian


JACOBIAN = Claim(
    id="residual/stack-jacobian",
    title="The Jacobian of a stack gets one factor $I + J$ from every layer",
    source=Source(
        DERIVATIONS, ("A29", "A30"),
        r"The derivative of $y = x + f(x)$ is $1 + \partial f/\partial x$; it is used for layers "
        r"that follow one another. Beyond the note: what that gives for all of them together.",
    ),
    statement=both(
        smooth(L), no_factor(stack_jacobian), next_factor(branch_jacobian, stack_jacobian)
    ),
    given=(INPUT, BLOCKS, SMOOTH_BRANCHES),
    proof=prove_jacobian,
    twin=Twin("columns of the Jacobian of stacks by complex steps", twin_jacobian),
    remark=r"In matrices: $\partial X_{l+1} = (I + J_l)\,\partial X_l$ with $J_l$ the Jacobian of "
    r"$f_l$ at $x_l = X_l(x)$, so $\partial X_L = (I + J_{L-1}) \cdots (I + J_0)$.",
    expected=Verdict.PROVED,
)  # fmt: skip


# ---------------------------------------------------------------------- the gradient behind it


def total_loss(start: Any) -> Any:
    """The loss as a function of the first input."""
    return loss(state(start, L))[()]


def behind_stack(p: Prover, jacobian: Theorem) -> Theorem:
    """The gradient of the loss by the first input, with the Jacobian of the stack."""
    raw = p.gradient(
        GradientIs(total_loss(v), v, a, 0, x[a]), p.part(jacobian, 0), p.hyp(3),
        reason=r"chain rule through $\mathcal{L}$ and $X_L$",
    )  # fmt: skip
    value = p.equal(
        p.partial(raw, a), through(last_slope, stack_jacobian(L))(a),
        reason="the Kronecker delta leaves one term of the inner sum",
    )  # fmt: skip
    return p.with_partial(raw, value, a)


def known_jacobian(p: Prover) -> Theorem:
    parts = use(p, lemma(JACOBIAN), p.hyp(0), p.hyp(1), p.hyp(2))
    return p.note(parts, "the Jacobian of the stack: `residual/stack-jacobian`")


def prove_gradient(p: Prover) -> Theorem:
    jacobian = known_jacobian(p)

    def claimed(layers: Any) -> Any:
        return forall([a, b], equal(stack_jacobian(layers)(a, b), Ps[layers, a, b]))

    def then(factors: Theorem) -> Theorem:
        start = p.equal(
            stack_jacobian(0)(a, b), Ps[0, a, b], p.part(jacobian, 1), p.part(factors, 0),
            reason="no layer: both are $I$",
        )  # fmt: skip

        def step(earlier: Theorem, limit: Theorem) -> Theorem:
            entry = p.calc(
                stack_jacobian(m + 1)(a, b),
                (with_factor(branch_jacobian(m), stack_jacobian(m))(a, b),
                 "the Jacobian gets the factor of layer $m$",
                 in_layer(p, p.part(jacobian, 2), m, limit)),
                (with_factor(branch_jacobian(m), at(Ps, m))(a, b), "by what is supposed", earlier),
                (Ps[m + 1, a, b], "and so does the product",
                 in_layer(p, p.part(factors, 1), m, limit)),
            )  # fmt: skip
            return p.for_all(entry, a, b)

        same = climb(p, claimed, p.for_all(start, a, b), step)
        raw = behind_stack(p, jacobian)
        value = p.equal(
            p.partial(raw, a), through(last_slope, at(Ps, L))(a), same,
            reason=r"the Jacobian of the stack is $P_L$",
        )  # fmt: skip
        return p.note(
            p.with_partial(raw, value, a),
            r"in rows and matrices: $\partial\mathcal{L}/\partial x_0 = "
            r"\partial\mathcal{L}/\partial x_L\,(I + J_{L-1}) \cdots (I + J_0)$",
        )

    return p.suppose(FACTORS, then, "let $P_l$ be the product of the factors of $l$ layers")


def twin_gradient(rng: np.random.Generator, *, backwards: bool = False) -> Iterator[Trial]:
    """The loss is a sum of sines of the outputs, with random weights.

    `backwards` puts the factors of later layers to the right.
    """
    from numeric import residual_stack

    for point, weights, slopes in stacks(rng):
        width, layers = len(point), [tanh_branch()] * len(weights)
        steps = point + 1e-30j * np.eye(width)
        losses = [np.sin(residual_stack(layers, s[None], weights)[0]) @ slopes for s in steps]
        cotangent = slopes * np.cos(residual_stack(layers, point[None], weights)[0])
        gradients, jacobians = inside(point, weights, cotangent)
        product, swapped = np.eye(width), np.eye(width)
        for jacobian in reversed(jacobians) if backwards else jacobians:
            product = (np.eye(width) + jacobian) @ product
            swapped = swapped @ (np.eye(width) + jacobian)
        measured = np.imag(losses) / 1e-30
        yield agree(measured, cotangent @ product, f"{len(weights)} layers of width {width}")
        yield agree(gradients[0], measured, "residual_stack_vjp")
        if len(weights) > 1 and width > 1:
            gap = np.abs(cotangent @ (product - swapped)).max()
            yield differs(measured, cotangent @ swapped, by=0.9 * gap, what="the other order")


def gradient_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "the factors of later layers stand to the right",
            twin=Twin(
                "complex steps of a loss behind a stack, and the product in the other order",
                lambda rng: twin_gradient(rng, backwards=True),
            ),
        ),
    )


GRADIENT = Claim(
    id="residual/stack-gradient",
    title="The gradient of the loss by the first input of $L$ residual blocks",
    source=Source(
        DERIVATIONS, ("A29", "A30"),
        r"$\partial\mathcal{L}/\partial x = \partial\mathcal{L}/\partial y\,(1 + \partial f/"
        r"\partial x)$ for one block, and the gradient goes on to earlier layers. Beyond the note: "
        r"the formula for $L$ blocks.",
    ),
    statement=implies(
        FACTORS,
        GradientIs(total_loss(v), v, a, through(last_slope, at(Ps, L))(a), x[a]),
    ),
    given=(INPUT, BLOCKS, SMOOTH_BRANCHES, SMOOTH_LOSS),
    proof=prove_gradient,
    twin=Twin("complex steps of a loss behind a whole stack", twin_gradient),
    mutations=gradient_mutations,
    remark=r"With columns: $(I + J_0)^{\top} \cdots (I + J_{L-1})^{\top} g$ for the gradient $g$ "
    r"by the last output. $J_l$ is the Jacobian of $f_l$ at $x_l = X_l(x)$.",
    expected=Verdict.PROVED,
)  # fmt: skip


# ---------------------------------------------------------------------- the direct path


def through_branch(layer: Any) -> Entry:
    """What goes down to layer l past the others, through its branch, and then down all blocks."""
    return through(
        lambda i: total(times(last_slope(c), branch_jacobian(layer)(c, i)), c),
        stack_jacobian(layer),
    )


def through_branches(layers: Any, i: Any) -> Any:
    k = index("k", layers)
    return total(through_branch(k)(i), k)


def prove_direct_path(p: Prover) -> Theorem:
    jacobian = known_jacobian(p)

    def behind(layers: Any) -> Any:
        return through(last_slope, stack_jacobian(layers))(a)

    def claimed(layers: Any) -> Any:
        return forall(
            a, equal(behind(layers), plus(last_slope(a), through_branches(layers, a)))
        )  # fmt: skip

    start = p.equal(
        behind(0), plus(last_slope(a), through_branches(0, a)), p.part(jacobian, 1),
        reason="no layer: $I$, and the sum is empty",
    )  # fmt: skip

    def step(earlier: Theorem, limit: Theorem) -> Theorem:
        longer = infer("unroll", [], "sum", p.term(m), p.term(through_branches(m, a)).children[1])
        p.note(longer, "the sum over one more layer has one more term")
        entry = p.calc(
            behind(m + 1),
            (through(last_slope, with_factor(branch_jacobian(m), stack_jacobian(m)))(a),
             "the Jacobian gets the factor of layer $m$",
             in_layer(p, p.part(jacobian, 2), m, limit)),
            (plus(behind(m), through_branch(m)(a)),
             "the $+1$ term and the branch term of layer $m$"),
            (plus(last_slope(a), through_branches(m, a), through_branch(m)(a)),
             "by what is supposed", (1, p.at(earlier, a))),
            (plus(last_slope(a), through_branches(m + 1, a)), "put the last term into the sum",
             (-1, longer)),
        )  # fmt: skip
        return p.for_all(entry, a)

    split = climb(p, claimed, p.for_all(start, a), step)
    raw = behind_stack(p, jacobian)
    value = p.equal(
        p.partial(raw, a), plus(last_slope(a), through_branches(L, a)), (1, p.at(split, a)),
        reason="for all $L$ layers",
    )  # fmt: skip
    return p.note(
        p.with_partial(raw, value, a),
        "the gradient by the last output arrives, and what the branches add to it",
    )


def twin_direct_path(rng: np.random.Generator) -> Iterator[Trial]:
    """The gradient from `residual_stack_vjp`, and a sum over the branches by complex steps."""
    from numeric import residual_stack

    for point, weights, cotangent in stacks(rng):
        width, (gradients, jacobians) = len(point), inside(point, weights, cotangent)
        steps = point + 1e-30j * np.eye(width)
        added = np.zeros(width)
        for k, jacobian in enumerate(jacobians):
            layers = [tanh_branch()] * k
            states = [residual_stack(layers, s[None], weights[:k])[0] for s in steps]
            added += cotangent @ jacobian @ (np.stack(states, axis=1).imag / 1e-30)
        yield agree(gradients[0], cotangent + added, f"{len(weights)} layers of width {width}")


DIRECT_PATH = Claim(
    id="residual/stack-direct-path",
    title="The gradient by the first input is that by the last output, with something added",
    source=Source(
        DERIVATIONS, ("A30",),
        r"Along the $+1$ path the gradient reaches earlier layers directly. Beyond the note: what "
        r"comes to it on the way through $L$ blocks.",
    ),
    statement=GradientIs(
        total_loss(v), v, a, plus(last_slope(a), through_branches(L, a)), x[a]
    ),
    given=(INPUT, BLOCKS, SMOOTH_BRANCHES, SMOOTH_LOSS),
    proof=prove_direct_path,
    twin=Twin("the gradient of a stack against a sum over its branches", twin_direct_path),
    remark=r"In rows: $\partial\mathcal{L}/\partial x_0 = g + \sum_{l<L} g\,J_l\,\partial X_l$ for "
    r"the gradient $g$ by the last output. The sum may cancel $g$: see `residual/vanishing`.",
    expected=Verdict.PROVED,
)  # fmt: skip


# ---------------------------------------------------------------------- its length

NAMES = both(
    each_layer(l, forall([a, b], equal(Js[l, a, b], branch_jacobian(l)(a, b)))),
    forall(a, equal(g[a], last_slope(a))),
    GradientIs(total_loss(v), v, a, G[a], x[a]),
)
SMALL = both(
    each_layer(l, bounded(at(Js, l), rhos[l])), each_layer(l, at_most(rhos[l], 1))
)  # fmt: skip
WITHIN = both(
    at_most(times(product_up_to(lower_factor, L), length(at(g))), length(at(G))),
    at_most(length(at(G)), times(product_up_to(upper_factor, L), length(at(g)))),
)


def prove_bounds(p: Prover) -> Theorem:
    jacobian = known_jacobian(p)

    def then(names: Theorem, small: Theorem) -> Theorem:
        slopes, last, gradient = (p.part(names, k) for k in range(3))
        whole = p.lam(stack_jacobian(l)(a, b), l, a, b)
        bounds = use(
            p, p.at(for_all_rows(p, lemma(PRODUCT_BOUNDS), Ps), whole),
            p.part(jacobian, 1), with_names(p, p.part(jacobian, 2), slopes),
            p.part(small, 0), p.part(small, 1),
        )  # fmt: skip
        p.note(bounds, r"`residual/product-bounds`, with $\partial X_L$ as the product")
        raw = behind_stack(p, jacobian)
        entry = p.calc(
            G[a],
            (p.partial(raw, a), "a function has only one gradient",
             p.same_partials(gradient, raw)),
            (through(at(g), stack_jacobian(L))(a), "$g$ is the gradient by the last output",
             last),
        )  # fmt: skip
        size = same_length(p, p.for_all(entry, a))
        lower, upper = WITHIN.args
        return p.both(
            p.order(lower, (1, p.part(bounds, 0)), (1, size), reason="and so from below for $G$"),
            p.order(upper, (1, p.part(bounds, 1)), (-1, size), reason="and from above"),
        )

    def named(names: Theorem) -> Theorem:
        return p.suppose(
            SMALL, lambda small: then(names, small),
            r"let no branch make a row more than $\rho_l \le 1$ times as long",
        )  # fmt: skip

    return p.suppose(
        NAMES, named,
        "let $J_l$ be the Jacobian of $f_l$ at its input, $g$ the gradient by the last output and "
        "$G$ that by the first input",
    )  # fmt: skip


def with_names(p: Prover, factors: Theorem, slopes: Theorem) -> Theorem:
    """The Jacobian of one more layer, with $J_l$ for that of the branch."""
    with p.supposing(less(m, L)) as limit:
        entry = p.equal(
            stack_jacobian(m + 1)(a, b), with_factor(at(Js, m), stack_jacobian(m))(a, b),
            in_layer(p, factors, m, limit), in_layer(p, slopes, m, limit), show=False,
        )  # fmt: skip
        entries = p.for_all(entry, a, b)
    return p.for_all(p.discharge(entries, limit), m)


def twin_bounds(rng: np.random.Generator) -> Iterator[Trial]:
    """tanh blocks whose Jacobians have norms below 1; then f(x) = -rho x and f(x) = rho x."""
    from numeric import residual_stack_vjp

    for width, depth in ((1, 3), (3, 0), (4, 6), (5, 2)):
        weights = [of_norm(rng, width, float(rng.random())) for _ in range(depth)]
        cotangent = rng.standard_normal(width)
        gradients, jacobians = inside(rng.standard_normal(width), weights, cotangent)
        norms = np.array([np.linalg.norm(jacobian, 2) for jacobian in jacobians])
        size, arrived = np.linalg.norm(cotangent), np.linalg.norm(gradients[0])
        yield below(np.prod(1 - norms) * size, arrived, f"lower bound, {depth} layers")
        yield below(arrived, np.prod(1 + norms) * size, f"upper bound, {depth} layers")
        for sign in (-1, 1):
            jacobians = [sign * n * np.eye(width) for n in norms]
            layers, start = [linear_branch()] * depth, np.zeros((1, width))
            extreme = residual_stack_vjp(layers, start, jacobians, cotangent[None])[0][0]
            attained = np.prod(1 + sign * norms) * size
            yield agree(np.linalg.norm(extreme), attained, f"attained, {depth} layers")


BOUNDS = Claim(
    id="residual/stack-bounds",
    title="How long the gradient by the first input of $L$ residual blocks is",
    source=Source(
        DERIVATIONS, ("A30",),
        r"The gradient reaches earlier layers along the $+1$ paths, even if the derivatives of the "
        r"branches are small. Beyond the note: how much of its length is sure to arrive, if the "
        r"branch of layer $l$ makes no row more than $\rho_l \le 1$ times as long.",
    ),
    statement=implies(NAMES, implies(SMALL, WITHIN)),
    given=(INPUT, BLOCKS, SMOOTH_BRANCHES, SMOOTH_LOSS),
    proof=prove_bounds,
    twin=Twin("length of a gradient behind stacks of tanh blocks of known norms", twin_bounds),
    remark=r"`residual/product-bounds` says why $\rho_l \le 1$ is needed.",
    expected=Verdict.PROVED,
)  # fmt: skip

CLAIMS = (JACOBIAN, GRADIENT, DIRECT_PATH, BOUNDS)

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
