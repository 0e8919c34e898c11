"""Residual connections: what becomes of a gradient that passes through y = x + f(x).

Gradients are rows, and the Jacobian of `f` has the component of the output as its row:
``J[b, a]`` is the derivative of component b of ``f(x)`` by ``x[a]``.  A gradient ``g`` by the
output of a block becomes the gradient ``g (I + J)`` by its input.  Lengths are Euclidean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

from derive import auto
from derive.claim import Added, Claim, Correction, Example, Given, Mutation
from derive.claims import DERIVATIONS
from derive.convert import Converter
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.language import (
    Differentiable,
    GradientIs,
    InOrder,
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
    natural,
    negation,
    norm,
    plus,
    power,
    product,
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

ORDER = 40
TOPIC = "residual"

Entry = Callable[..., Any]

d = dim("d_model")
a, b, c = (index(name, d) for name in "abc")
l, L, m = natural("l"), natural("L"), natural("m")
#: one block: input, branch, loss as a function of the output
x = tensor("x", d)
f = VectorFunction("f", d, d)
loss = VectorFunction("loss", d)
#: gradient by the output of a block, and two Jacobians
g = tensor("g", d)
J, K = tensor("J", d, d), tensor("K", d, d)
#: the same, layer by layer: layer l has input x_l and output x_(l+1)
xs, gs = sequence("x", d), sequence("g", d)
Js, Ps = sequence("J", d, d), sequence("P", d, d)
half, tenth = sp.Rational(1, 2), sp.Rational(1, 10)
rho, rhos = real("rho"), sequence("rho")
u, w, v = (tensor(name, d) for name in "uwv")


def one(i: Any, j: Any) -> Any:
    """An entry of the identity matrix."""
    return sp.KroneckerDelta(i, j)


def at(t: Any, *first: Any) -> Entry:
    """The entries of a tensor, or of the part of it with these first indices."""
    return lambda *rest: t[(*first, *rest)]


def minus(entry: Entry) -> Entry:
    return lambda i: times(-1, entry(i))


def through(g: Entry, jacobian: Entry) -> Entry:
    """``g J``; the summed index is b, which `g` and `jacobian` do not use themselves."""
    return lambda i: total(times(g(b), jacobian(b, i)), b)


def passed(g: Entry, jacobian: Entry) -> Entry:
    """``g (I + J)``, in the same way."""
    return lambda i: total(times(g(b), plus(one(b, i), jacobian(b, i))), b)


def length(entry: Entry) -> Any:
    return norm(entry, d)


def bounded(jacobian: Entry, by: Any) -> Any:
    """The Jacobian makes no row more than `by` times as long."""
    return forall(v, at_most(length(through(at(v), jacobian)), times(by, length(at(v)))))


def each_layer(layer: Any, body: Any) -> Any:
    """For each of the L layers."""
    return forall(layer, implies(less(layer, L), body))


def output(i: Any) -> Any:
    """A component of y = x + f(x)."""
    return plus(x[i], f(x)[i])


# ---------------------------------------------------------------------- moves of this module


#: What `lemma` has proved already.
_lemmas: dict[str, Theorem] = {}


def lemma(claim: Claim) -> Theorem:
    """The statement of a proved claim, with each of its hypotheses as a premise."""
    if claim.id not in _lemmas:
        _lemmas[claim.id] = _lemma(claim)
    return _lemmas[claim.id]


def _lemma(claim: Claim) -> Theorem:
    converter = Converter()
    stated: list[Any] = [*claim.given, *claim.added]
    given = [converter.formula(h.formula) for h in stated]
    assert claim.proof is not None
    theorem = claim.proof(Prover(converter, given))
    for h in reversed(given):
        theorem = infer("discharge", [theorem], h)
    return theorem


def use(p: Prover, theorem: Theorem, *premises: Theorem) -> Theorem:
    """The conclusion of an implication with several premises."""
    for h in premises:
        theorem = p.mp(theorem, h)
    return theorem


def squared(e: Any) -> Any:
    """The square as it is written: SymPy takes the square of a root apart."""
    return power(e, 2)


def row(p: Prover, entry: Entry) -> Any:
    """The row with these entries, as a value for a tensor."""
    return p.lam(entry(a), a)


def deny_for_ones(p: Prover, target: T.Term) -> Theorem:
    """Not for all rows v, as it fails for the row of ones."""
    ones = T.Lam(1, T.ONE)
    instance = T.instantiate(target.children[0].children[-1], (ones,))
    return infer("not-forall", [p.trivial(T.negate(instance))], target, ones)


def powers(base: Fraction) -> T.Lam:
    """The sequence of matrices whose entries in matrix l are ``base^l``."""
    return T.Lam(3, T.fn("rpow", T.num(base), T.bound(2)))


def multiples(factor: Fraction) -> T.Lam:
    """The sequence of Jacobians of f_l(x) = factor x, in width 1."""
    return T.Lam(3, T.num(factor))


def climb(
    p: Prover, claimed: Callable[[Any], Any], base: Theorem,
    step: Callable[[Theorem, Theorem], Theorem],
) -> Theorem:  # fmt: skip
    """For L layers, from no layer and from m < L layers to one more, by induction."""
    return p.mp(p.at(climb_all(p, claimed, base, step), L), p.order(at_most(L, L)))


def climb_all(
    p: Prover, claimed: Callable[[Any], Any], base: Theorem,
    step: Callable[[Theorem, Theorem], Theorem],
) -> Theorem:  # fmt: skip
    """The same for each number of layers up to L."""
    start = p.discharge(base, p.formula(at_most(0, L)))
    earlier = p.formula(implies(at_most(m, L), claimed(m)))
    with p.supposing(earlier) as supposed, p.supposing(at_most(m + 1, L)) as limit:
        reached = p.mp(supposed, p.order(at_most(m, L), (1, limit)))
        p.note(reached, "suppose this for $m < L$ layers")
        proved = step(reached, p.order(less(m, L), (1, limit)))
    following = p.discharge(p.discharge(proved, limit), earlier)
    return p.note(p.induction(start, following, m), "by induction on the number of layers")


def in_layer(p: Prover, theorem: Theorem, layer: Any, limit: Theorem) -> Theorem:
    """What holds for each of the L layers, for this one."""
    return p.mp(p.at(theorem, layer), limit)


def same_length(p: Prover, entries: Theorem) -> Theorem:
    """From u_a = w_a for all a: u and w have the same length."""
    left, right = p.at(entries, a).conclusion.children
    return p.mp(p.at(lengths_agree(p), row(p, lambda _: left), row(p, lambda _: right)), entries)


def lengths_agree(p: Prover) -> Theorem:
    """For all u, w: if u_a = w_a for all a, then they have the same length."""
    with p.supposing(forall(a, equal(u[a], w[a]))) as entries:
        square = p.equal(u[a] ** 2, w[a] ** 2, p.at(entries, a), show=False)
        summed = p.sum_equal(square, a)
        root = T.fn("sqrt", summed.conclusion.children[0])
        same = p.equal(root, root, show=False)
        lengths = p.rewrite(summed, same, lambda s: T.eq(root, T.fn("sqrt", s)))
    return for_all_rows(p, p.discharge(lengths, entries), u, w)


def by_squares(p: Prover, smaller: Any, larger: Any, squares: Theorem) -> Theorem:
    """From s^2 <= t^2, where t is known not to be negative: s <= t."""
    s, t = p.term(smaller), p.term(larger)
    sign = p.order(T.le(T.ZERO, t))
    exactly = p.order(T.le(T.power(s, 2), T.power(t, 2)), (1, squares))
    return use(p, p.at(root_law(p), s, t), sign, exactly)


def root_law(p: Prover) -> Theorem:
    """For all reals s, t: if 0 <= t and s^2 <= t^2, then s <= t."""
    s, t = T.var("s"), T.var("t")
    goal = T.le(s, t)
    with p.supposing(T.le(T.ZERO, t)) as sign, p.supposing(T.le(T.power(s, 2), T.power(t, 2))) as q:

        def otherwise(case: Theorem) -> Theorem:
            """t < s would give t^2 < s^2, as (s - t)^2 + 2 t (s - t) is positive."""
            above = p.order(
                T.lt(T.power(t, 2), T.power(s, 2)), (1, case, case), (T.mul(T.num(2), t), case)
            )
            return infer("contradiction", [q, infer("not-le", [above])], goal)

        law = p.cases(p.dichotomy(s, t), lambda case: case, otherwise)
    return p.for_all(p.discharge(p.discharge(law, q), sign), s, t)


def at_most_its_size(p: Prover, s: Any) -> Theorem:
    """s <= |s|."""
    goal = at_most(s, sp.Abs(s))

    def positive(case: Theorem) -> Theorem:
        return p.order(goal, (1, p.mp(p.axiom("abs-nonneg", s), case)))

    return p.cases(p.dichotomy(0, s), positive, lambda case: p.order(goal, (1, case)))


# ---------------------------------------------------------------------- the numeric side


def tanh_branch() -> Sublayer:
    """f(x) = tanh(x W) with its vjp; W is not symmetric in what follows."""
    from numeric import Sublayer

    def vjp(x: Any, weight: Any, cotangent: Any) -> Any:
        before = cotangent * (1 - np.tanh(x @ weight) ** 2)
        return before @ weight.T, x.T @ before

    return Sublayer(lambda x, weight: np.tanh(x @ weight), vjp)


def tanh_jacobian(x: Any, weight: Any) -> Any:
    """Row b, column a: the derivative of component b by x_a."""
    return (1 - np.tanh(x @ weight) ** 2)[:, None] * weight.T


def mistaken_branch(backward: Callable[[Any, Any], Any]) -> Sublayer:
    """The same branch; `backward` makes of its Jacobian and a row what should be ``g J``."""
    from numeric import Sublayer

    def vjp(x: Any, weight: Any, cotangent: Any) -> Any:
        rows = [backward(tanh_jacobian(r, weight), g) for r, g in zip(x, cotangent, strict=True)]
        return np.array(rows), np.zeros_like(weight)

    return Sublayer(tanh_branch().forward, vjp)


def linear_branch() -> Sublayer:
    """f(x) = J x for columns, so J is its Jacobian."""
    from numeric import Sublayer

    return Sublayer(
        lambda x, jacobian: x @ jacobian.T,
        lambda x, jacobian, cotangent: (cotangent @ jacobian, cotangent.T @ x),
    )


WIDTHS = (1, 2, 5, 7)


def blocks(rng: np.random.Generator) -> Iterator[tuple[int, Any, Any, Any]]:
    """Width, input, weight and a random cotangent of a block around `tanh_branch`."""
    for width in WIDTHS:
        yield (width, rng.standard_normal(width), rng.standard_normal((width, width)),
               rng.standard_normal(width))  # fmt: skip


def behind_block(x: Any, weight: Any, cotangent: Any, branch: Sublayer | None = None) -> Any:
    from numeric import residual_vjp

    return residual_vjp(branch or tanh_branch(), x[None], weight, cotangent[None])[0][0]


def stacks(rng: np.random.Generator) -> Iterator[tuple[Any, list[Any], Any]]:
    """Input, weights and cotangent of stacks of no, one and more tanh blocks."""
    for width, depth in ((4, 0), (1, 3), (3, 1), (5, 2), (4, 6)):
        weights = [rng.standard_normal((width, width)) for _ in range(depth)]
        yield rng.standard_normal(width), weights, rng.standard_normal(width)


def inside(point: Any, weights: list[Any], cotangent: Any) -> tuple[list[Any], list[Any]]:
    """The gradient by the input of every layer and by the last output, and the Jacobians."""
    from numeric import residual_stack, residual_stack_vjp

    states = [
        residual_stack([tanh_branch()] * k, point[None], weights[:k])[0]
        for k in range(len(weights) + 1)
    ]
    gradients = [
        residual_stack_vjp([tanh_branch()] * len(rest), state[None], rest, cotangent[None])[0][0]
        for state, rest in zip(states, [weights[k:] for k in range(len(states))], strict=True)
    ]
    return gradients, [tanh_jacobian(s, w) for s, w in zip(states[:-1], weights, strict=True)]


def linear_stack_gradient(jacobians: Any, cotangent: Any) -> Any:
    from numeric import residual_stack_vjp

    layers = [linear_branch()] * len(jacobians)
    start = np.zeros((1, len(cotangent)))
    return residual_stack_vjp(layers, start, list(jacobians), cotangent[None])[0][0]


def of_norm(rng: np.random.Generator, width: int, largest: float) -> Any:
    """A random matrix with this largest singular value."""
    left, _ = np.linalg.qr(rng.standard_normal((width, width)))
    right, _ = np.linalg.qr(rng.standard_normal((width, width)))
    values = largest * rng.random(width)
    values[0] = largest
    return left @ np.diag(values) @ right


# ---------------------------------------------------------------------- one block


def prove_jacobian(p: Prover) -> Theorem:
    raw = p.gradient(
        JACOBIAN.statement.args[1],
        p.at(p.hyp(0), a),
        reason=r"derivative of a sum; inside $f$, $\partial x_c/\partial x_b = \delta_{bc}$",
    )
    value = p.equal(
        p.partial(raw, b),
        plus(one(a, b), f.partial(x)[a, b]),
        reason=r"the Kronecker delta leaves only the term with $c = b$",
    )
    theorem = p.for_all(p.with_partial(raw, value, b), a)
    return p.note(theorem, r"in matrices: $\partial y/\partial x = I + \partial f/\partial x$")


DIFFERENTIABLE_BRANCH = Given(
    forall(a, Differentiable(f(x)[a])),
    r"the note writes $\partial f/\partial x$, so it takes $f$ to be differentiable at $x$",
)
DIFFERENTIABLE_LOSS = Given(
    Differentiable(loss(output)[()]),
    r"the note writes $\partial\mathcal{L}/\partial y$, so it takes $\mathcal{L}$ to be "
    r"differentiable at $y$",
)


def twin_jacobian(rng: np.random.Generator) -> Iterator[Trial]:
    from numeric import residual

    for width, point, weight, _ in blocks(rng):
        steps = point + 1e-30j * np.eye(width)
        columns = [residual(tanh_branch(), s[None], weight)[0].imag / 1e-30 for s in steps]
        measured = np.stack(columns, axis=1)
        jacobian = tanh_jacobian(point, weight)
        yield agree(measured, np.eye(width) + jacobian, f"I + J at width {width}")
        if width > 1:
            yield differs(measured, 1 + jacobian, by=0.9, what="1 added to every entry")


JACOBIAN = Claim(
    id="residual/jacobian",
    title="The Jacobian of a residual block is $I + J$",
    source=Source(
        DERIVATIONS, ("A29",),
        r"For $y = x + f(x)$ the derivative $\partial y/\partial x$ is written "
        r"$1 + \partial f/\partial x$.",
    ),
    statement=forall(a, GradientIs(output(a), x, b, plus(one(a, b), f.partial(x)[a, b]))),
    given=(DIFFERENTIABLE_BRANCH,),
    proof=prove_jacobian,
    twin=Twin("columns of the Jacobian by complex steps", twin_jacobian),
    remark=r"The $1$ of the note is the identity matrix: component $a$ by component $b$ is "
    r"$\delta_{ab}$.",
    expected=Verdict.PROVED,
)  # fmt: skip


def prove_gradient(p: Prover) -> Theorem:
    raw = p.gradient(
        GRADIENT.statement,
        reason=r"chain rule through $\mathcal{L}$ and through $f$; "
        r"$\partial x_b/\partial x_a = \delta_{ab}$",
    )
    value = p.equal(
        p.partial(raw, a),
        passed(loss.partial(output).__getitem__, lambda i, j: f.partial(x)[i, j])(a),
        reason=r"the Kronecker delta leaves only the term with $c = a$ of the inner sum",
    )
    theorem = p.with_partial(raw, value, a)
    return p.note(
        theorem,
        r"in rows and matrices, with $J$ for the Jacobian of $f$ at $x$: "
        r"$\partial\mathcal{L}/\partial x = \partial\mathcal{L}/\partial y\,(I + J)$",
    )


def twin_gradient(rng: np.random.Generator, branch: Sublayer | None = None) -> Iterator[Trial]:
    """The loss is a sum of sines of the outputs, with random weights; then three tokens."""
    from numeric import central_difference_error, residual, residual_vjp

    for width, point, weight, slopes in blocks(rng):
        steps = point + 1e-30j * np.eye(width)
        values = [np.sin(residual(tanh_branch(), s[None], weight)[0]) @ slopes for s in steps]
        cotangent = slopes * np.cos(residual(tanh_branch(), point[None], weight)[0])
        factor = np.eye(width) + tanh_jacobian(point, weight)
        gradient = behind_block(point, weight, cotangent, branch)
        yield agree(gradient, np.imag(values) / 1e-30, f"complex steps at width {width}")
        yield agree(gradient, cotangent @ factor, f"g (I + J) at width {width}")
        error = central_difference_error(
            lambda tokens, matrix: residual(tanh_branch(), tokens, matrix),
            lambda tokens, matrix, g: residual_vjp(tanh_branch(), tokens, matrix, g),
            (rng.standard_normal((3, width)), weight),
            rng,
        )
        yield Trial(error, 1e-7, f"central differences at width {width}")


def gradient_mutations() -> tuple[Mutation, ...]:
    """In the statements the branch is f(x) = J x, and the loss is g y."""
    branch = plus(x[b], total(times(J[b, c], x[c]), c))

    def claimed(value: Any) -> Any:
        return GradientIs(total(times(g[b], branch), b), x, a, value)

    one_way = {d: 2, x: [0, 0], g: [1, 0], J: [[0, 3], [0, 0]]}
    return (
        Mutation(
            r"the factor stands on the other side, as in $(I + J)\,g$",
            statement=claimed(applied(at(J), at(g))(a)),
            given=(),
            counterexample=Example(one_way),
            twin=Twin(
                "`residual_vjp` with $J g$ in place of $g J$, against complex steps",
                lambda rng: twin_gradient(rng, mistaken_branch(lambda m, row: m @ row)),
            ),
        ),
        Mutation(
            "the number 1 is added to every entry of $J$",
            statement=claimed(with_ones(at(g), at(J))(a)),
            given=(),
            counterexample=Example(one_way),
            twin=Twin(
                "`residual_vjp` with a 1 in every entry, against complex steps",
                lambda rng: twin_gradient(rng, mistaken_branch(lambda m, row: row @ (1 + m) - row)),
            ),
        ),
        Mutation(
            "the $+1$ is forgotten",
            statement=claimed(through(at(g), at(J))(a)),
            given=(),
            counterexample=Example(one_way),
            twin=Twin(
                "`residual_vjp` of a block that takes its input away again",
                lambda rng: twin_gradient(rng, mistaken_branch(lambda m, row: row @ m - row)),
            ),
        ),
    )


GRADIENT = Claim(
    id="residual/gradient",
    title="The gradient behind a residual block",
    source=Source(
        DERIVATIONS, ("A29",),
        r"For $y = x + f(x)$ the gradient by $x$ is the gradient by $y$ times "
        r"$\left(1 + \partial f/\partial x\right)$.",
    ),
    statement=GradientIs(
        loss(output)[()], x, a,
        passed(loss.partial(output).__getitem__, lambda i, j: f.partial(x)[i, j])(a),
    ),
    given=(DIFFERENTIABLE_BRANCH, DIFFERENTIABLE_LOSS),
    proof=prove_gradient,
    twin=Twin("`residual_vjp` against complex steps of a loss", twin_gradient),
    mutations=gradient_mutations,
    remark=r"Read with the gradient as a row and $1$ as the identity matrix. Differentiable is "
    r"meant in the sense of Fréchet, for every component of $f$ and for $\mathcal{L}$.",
    expected=Verdict.PROVED,
)  # fmt: skip


def prove_plus_one(p: Prover) -> Theorem:
    whole = p.note(
        use(p, lemma(GRADIENT), p.hyp(0), p.hyp(1)), "the gradient behind a residual block"
    )
    slope, branch = loss.partial(output), f.partial(x)
    value = p.calc(
        p.partial(whole, a),
        (plus(total(times(slope[b], one(b, a)), b), total(times(slope[b], branch[b, a]), b)),
         "multiply out and split the sum"),
        (plus(slope[a], total(times(slope[b], branch[b, a]), b)),
         "the Kronecker delta leaves only the term with $b = a$: this is the $+1$"),
    )  # fmt: skip
    return p.note(p.with_partial(whole, value, a), "so the gradient by $y$ arrives unchanged, "
                  "and what comes through the branch is added to it")  # fmt: skip


def twin_plus_one(rng: np.random.Generator) -> Iterator[Trial]:
    for width, point, weight, cotangent in blocks(rng):
        through_branch, _ = tanh_branch().vjp(point[None], weight, cotangent[None])
        claimed = cotangent + through_branch[0]
        yield agree(behind_block(point, weight, cotangent), claimed, f"width {width}")


PLUS_ONE = Claim(
    id="residual/plus-one",
    title="The +1 term is the gradient by the output itself",
    source=Source(
        DERIVATIONS, ("A29", "A30"),
        r"The gradient contains a $+1$ term, a path by which it reaches the input directly.",
    ),
    statement=GradientIs(
        loss(output)[()], x, a,
        plus(loss.partial(output)[a],
             total(times(loss.partial(output)[b], f.partial(x)[b, a]), b)),
    ),
    given=(DIFFERENTIABLE_BRANCH, DIFFERENTIABLE_LOSS),
    proof=prove_plus_one,
    twin=Twin("cotangent plus the vjp of the branch alone", twin_plus_one),
    expected=Verdict.PROVED,
)  # fmt: skip


# ---------------------------------------------------------------------- one component

x1 = tensor("x", 1)
f1 = VectorFunction("f", 1, 1)
loss1 = VectorFunction("loss", 1)
i1 = index("i", 1)


def output1(i: Any) -> Any:
    return plus(x1[i], f1(x1)[i])


def prove_scalar(p: Prover) -> Theorem:
    for_all_widths = infer("generalise", [lemma(GRADIENT)], p.term(d))
    at_one = p.at(for_all_widths, 1)
    each = infer("finite-forall", [p.hyp(0)], at_one.conclusion.children[0])
    whole = p.note(use(p, at_one, each, p.hyp(1)), r"the vector form at $d_{\text{model}} = 1$")
    value = p.equal(
        p.partial(whole, 0),
        times(loss1.partial(output1)[0], InOrder(1, f1.partial(x1)[0, 0])),
        reason=r"the sum has one term, and $\delta_{00} = 1$",
    )
    goal = p.formula(SCALAR.statement)
    equations = T.quantified("forall", "fin", T.eq(whole.conclusion.children[-1],
                             goal.children[-1]), T.ONE)  # fmt: skip
    only = infer("finite-forall", [value], equations)
    theorem = infer("gradient-value", [whole, only], goal.children[-1])
    return p.note(theorem, "there is no other component")


def twin_scalar(rng: np.random.Generator) -> Iterator[Trial]:
    for point, weight, cotangent in rng.standard_normal((20, 3)):
        slope = weight * (1 - np.tanh(point * weight) ** 2)
        measured = behind_block(np.array([point]), np.array([[weight]]), np.array([cotangent]))
        yield agree(measured, [cotangent * (1 + slope)], "width 1")


SCALAR = Claim(
    id="residual/scalar",
    title="With one component the formula holds as it is printed",
    source=Source(
        DERIVATIONS, ("A29",),
        r"$\frac{\partial\mathcal{L}}{\partial x} = \frac{\partial\mathcal{L}}{\partial y}"
        r"\left(1 + \frac{\partial f}{\partial x}\right)$, read as an equation of numbers.",
    ),
    statement=GradientIs(
        loss1(output1)[()], x1, i1,
        times(loss1.partial(output1)[0], InOrder(1, f1.partial(x1)[0, 0])),
    ),
    given=(
        Given(Differentiable(f1(x1)[0]), r"presupposed by $\partial f/\partial x$"),
        Given(
            Differentiable(loss1(output1)[()]), r"presupposed by $\partial\mathcal{L}/\partial y$"
        ),
    ),
    proof=prove_scalar,
    twin=Twin("`residual_vjp` at width 1 against its formula", twin_scalar),
    expected=Verdict.PROVED,
)  # fmt: skip


# ---------------------------------------------------------------------- readings of the formula


def with_ones(g: Entry, jacobian: Entry) -> Entry:
    """``g (1 + J)`` with the number 1 added to every entry of J."""
    return lambda i: total(times(g(b), InOrder(1, jacobian(b, i))), b)


ONES_AGREE = iff(
    forall(a, equal(passed(at(g), at(J))(a), with_ones(at(g), at(J))(a))),
    either(equal(d, 1), forall(a, equal(g[a], 0))),
)


def prove_ones_agree(p: Prover) -> Theorem:
    agreeing, exceptions = (p.formula(part) for part in ONES_AGREE.args[0].args)
    sum_of_g = total(g[b], b)

    def only_then(same: Theorem) -> Theorem:
        product_of_both = through(at(g), at(J))(a)
        entry = p.for_all(
            p.calc(
                g[a],
                (plus(passed(at(g), at(J))(a), times(-1, product_of_both)), "multiply out"),
                (plus(with_ones(at(g), at(J))(a), times(-1, product_of_both)),
                 "both readings give the same", p.at(same, a)),
                (sum_of_g, "multiply out again"),
            ),
            a,
        )  # fmt: skip
        p.note(entry, r"every entry of $g$ is the sum of all")
        summed = p.sum_equal(entry, a, reason=r"sum this over $a$; the right side is constant")
        moved = p.equal(
            times(d - 1, sum_of_g), 0, (-1, summed), reason="bring both to one side"
        )  # fmt: skip

        def several(more: Theorem) -> Theorem:
            vanish = p.equal(
                sum_of_g, 0, (1 / (d - 1), moved), (-sum_of_g, p.cancel(d - 1)),
                reason=r"for $d_{\text{model}} > 1$ divide by $d_{\text{model}} - 1$",
            )  # fmt: skip
            zero = p.for_all(p.equal(g[a], 0, p.at(entry, a), vanish, show=False), a)
            p.note(zero, r"then every entry is zero")
            return infer("disjunct", [zero], exceptions, 1)

        def single(least: Theorem) -> Theorem:
            width = infer("antisymmetry", [least, p.order(at_most(1, d))])
            p.note(width, "otherwise there is one component, as a size is at least 1")
            return infer("disjunct", [width], exceptions, 0)

        return p.cases(p.dichotomy(d, 1), single, several)

    def then(either_one: Theorem) -> Theorem:
        def single(width: Theorem) -> Theorem:
            one_term = p.trivial(T.substitute(agreeing, {p.term(d): T.ONE}))
            p.note(one_term, "with one component both sums have one term, and it is the same")
            same_width = p.equal(1, d, (-1, width), show=False)
            return p.rewrite(
                same_width, one_term, lambda size: T.substitute(agreeing, {p.term(d): size})
            )

        def zero(nothing: Theorem) -> Theorem:
            both_zero = p.equal(
                passed(at(g), at(J))(a), with_ones(at(g), at(J))(a), nothing,
                reason="if $g = 0$ both sides are $0$",
            )  # fmt: skip
            return p.for_all(both_zero, a)

        return p.cases(either_one, single, zero)

    return p.both(
        p.suppose(agreeing, only_then, "suppose that both readings agree"),
        p.suppose(exceptions, then, "conversely, suppose this"),
    )


def twin_scalar_one(rng: np.random.Generator) -> Iterator[Trial]:
    for width, point, weight, cotangent in blocks(rng):
        jacobian = tanh_jacobian(point, weight)
        measured = behind_block(point, weight, cotangent)
        yield agree(measured, cotangent @ (np.eye(width) + jacobian), f"width {width}")
        broadcast = cotangent @ (1 + jacobian)
        if width == 1:
            yield agree(measured, broadcast, "one component: both readings agree")
        else:
            gap = np.abs(cotangent.sum() - cotangent).max()
            yield differs(measured, broadcast, by=0.9 * gap, what=f"width {width}")


SCALAR_ONE = Claim(
    id="residual/scalar-one",
    title="The number 1 stands for the identity matrix",
    source=Source(
        DERIVATIONS, ("A29",),
        r"The factor is printed as $1 + \partial f/\partial x$, a number added to a matrix; array "
        r"programs add it to every entry.",
    ),
    statement=forall(a, equal(passed(at(g), at(J))(a), with_ones(at(g), at(J))(a))),
    counterexample=Example({d: 2, g: [1, 0], J: [[0, 3], [2, 0]]}),
    correction=Correction(ONES_AGREE, prove_ones_agree),
    twin=Twin("`residual_vjp` against both readings", twin_scalar_one),
    remark=r"$g$ is the gradient by $y$ and $J$ the Jacobian of $f$ at $x$. The left side is the "
    r"gradient by $x$; the right side is wrong for every $g \ne 0$ as soon as there are two "
    r"components.",
    expected=Verdict.REFUTED,
)  # fmt: skip


def applied(jacobian: Entry, g: Entry) -> Entry:
    """``(I + J) g``, with g as a column."""
    return lambda i: total(times(plus(one(i, b), jacobian(i, b)), g(b)), b)


ORDERS_AGREE = iff(
    forall(g, forall(a, equal(passed(at(g), at(J))(a), applied(at(J), at(g))(a)))),
    forall([a, b], equal(J[a, b], J[b, a])),
)


def prove_orders_agree(p: Prover) -> Theorem:
    always, symmetric = (p.formula(part) for part in ORDERS_AGREE.args[0].args)

    def only_then(orders: Theorem) -> Theorem:
        at_unit = p.at(orders, row(p, lambda i: one(i, b)), c)
        p.note(at_unit, r"take for $g$ the row with $1$ at place $b$ and $0$ elsewhere")
        swapped = p.equal(J[b, c], J[c, b], at_unit, reason="only the term at that place is left")
        return p.for_all(swapped, b, c)

    def then(same: Theorem) -> Theorem:
        term = p.equal(
            times(g[b], plus(one(b, a), J[b, a])),
            times(plus(one(a, b), J[a, b]), g[b]),
            (g[b], p.at(same, b, a)),
            reason="the two sides agree term by term",
        )
        return p.for_all_tensors(p.for_all(p.sum_equal(term, b), a), g)

    return p.both(
        p.suppose(always, only_then, "suppose that the order never matters"),
        p.suppose(symmetric, then, "conversely, suppose that $J$ is symmetric"),
    )


def twin_factor_order(rng: np.random.Generator) -> Iterator[Trial]:
    from numeric import residual_vjp

    for width in WIDTHS:
        jacobian, cotangent = rng.standard_normal((width, width)), rng.standard_normal(width)
        for matrix in (jacobian, jacobian + jacobian.T):
            gradient, _ = residual_vjp(
                linear_branch(), np.zeros((1, width)), matrix, cotangent[None]
            )
            factor = np.eye(width) + matrix
            yield agree(gradient[0], cotangent @ factor, f"row, width {width}")
            yield agree(gradient[0], factor.T @ cotangent, f"column, width {width}")
            if width > 1 and matrix is jacobian:
                gap = np.abs((matrix - matrix.T) @ cotangent).max()
                yield differs(gradient[0], factor @ cotangent, by=0.9 * gap, what="wrong order")
            else:
                yield agree(gradient[0], factor @ cotangent, "symmetric: the order is free")


FACTOR_ORDER = Claim(
    id="residual/factor-order",
    title="Gradient and Jacobian factor commute",
    source=Source(
        DERIVATIONS, ("A29",),
        r"The gradient by $y$ and the factor $1 + \partial f/\partial x$ stand side by side like "
        r"numbers; nothing says which is a row, and on which side it stands.",
    ),
    statement=forall(a, equal(passed(at(g), at(J))(a), applied(at(J), at(g))(a))),
    counterexample=Example({d: 2, g: [1, 0], J: [[0, 1], [0, 0]]}),
    correction=Correction(ORDERS_AGREE, prove_orders_agree),
    twin=Twin("`residual_vjp` against both orders", twin_factor_order),
    remark=r"On the left stands the gradient by $x$, $g\,(I + J)$; on the right $(I + J)\,g$ with "
    r"$g$ as a column. With columns the gradient by $x$ is $(I + J^{\top})\,g$.",
    expected=Verdict.REFUTED,
)  # fmt: skip


# ---------------------------------------------------------------------- many blocks

#: branch l as a function of its input, and the loss as a function of the output of l layers
branches = VectorFunction("f", d, sp.oo, d)
losses = VectorFunction("loss", d, sp.oo)


def layer_output(i: Any) -> Any:
    return plus(xs[l, i], branches(at(xs, l))[l, i])


def prove_recurrence(p: Prover) -> Theorem:
    raw = p.gradient(RECURRENCE.statement, reason=r"chain rule at $v = x_l$, as for a single block")
    slope = losses.partial(layer_output)[l + 1, b]
    next_slope = losses.partial(at(xs, l + 1))[l + 1, b]
    state = p.equal(layer_output(a), xs[l + 1, a], p.hyp(0), show=False)
    t = p.term(slope)
    replaced = infer("extensionality", [p.for_all(state, a)], t, len(t.children) - 1)
    p.note(replaced, "the output of layer $l$ is the input of the next")
    branch = branches.partial(at(xs, l))
    value = p.calc(
        p.partial(raw, a),
        (total(times(slope, plus(one(b, a), branch[l, b, a])), b),
         "the Kronecker delta leaves one term of the inner sum"),
        (total(times(next_slope, plus(one(b, a), branch[l, b, a])), b),
         r"$\mathcal{L}_{l+1}$ is differentiated at $x_{l+1}$", p.for_all(replaced, b)),
    )  # fmt: skip
    theorem = p.with_partial(raw, value, a)
    return p.note(theorem, r"with $g_l$ for the gradient by $x_l$ and $J_l$ for the Jacobian of "
                  r"$f_l$ at $x_l$: $g_l = g_{l+1}\,(I + J_l)$")  # fmt: skip


def twin_recurrence(rng: np.random.Generator) -> Iterator[Trial]:
    for point, weights, cotangent in stacks(rng):
        gradients, jacobians = inside(point, weights, cotangent)
        yield agree(gradients[-1], cotangent, "behind the last layer")
        for before, behind, jacobian in zip(gradients[:-1], gradients[1:], jacobians, strict=True):
            yield agree(before, behind @ (np.eye(len(point)) + jacobian), "one layer")


RECURRENCE = Claim(
    id="residual/recurrence",
    title="From one layer to the one before it",
    source=Source(
        DERIVATIONS, ("A29", "A30"),
        r"The formula for $y = x + f(x)$ is applied layer after layer, so that the gradient "
        r"reaches earlier layers.",
    ),
    statement=GradientIs(
        losses(lambda i: plus(v[i], branches(v)[l, i]))[l + 1], v, a,
        passed(lambda i: losses.partial(at(xs, l + 1))[l + 1, i],
               lambda i, j: branches.partial(at(xs, l))[l, i, j])(a),
        xs[l, a],
    ),
    given=(
        Given(forall(a, equal(xs[l + 1, a], layer_output(a))), r"$y = x + f(x)$ in layer $l$"),
        Given(
            forall(a, Differentiable(branches(at(xs, l))[l, a])),
            r"presupposed by $\partial f/\partial x$",
        ),
        Given(
            Differentiable(losses(layer_output)[l + 1]),
            r"presupposed by $\partial\mathcal{L}/\partial y$; $\mathcal{L}_{l+1}$ is the loss as "
            r"a function of the output of layer $l$",
        ),
    ),
    proof=prove_recurrence,
    twin=Twin("gradients inside a stack, layer by layer", twin_recurrence),
    remark=r"The loss as a function of $x_l$ is "
    r"$\mathcal{L}_l(v) = \mathcal{L}_{l+1}(v + f_l(v))$, so this is the recurrence "
    r"$g_l = g_{l+1}\,(I + J_l)$ between the gradients $g_l$ by $x_l$.",
    expected=Verdict.PROVED,
)  # fmt: skip

GRADIENTS = Given(
    each_layer(l, forall(a, equal(gs[l, a], passed(at(gs, l + 1), at(Js, l))(a)))),
    r"the formula of the note for layer $l$: $g_l = g_{l+1}\,(I + J_l)$",
)


def no_factor(matrix: Callable[[Any], Entry]) -> Any:
    """For no layer the matrix is I."""
    return forall([a, b], equal(matrix(0)(a, b), one(a, b)))


def with_factor(jacobian: Entry, matrix: Entry) -> Entry:
    """``(I + J) P``; the summed index is c."""
    return lambda i, j: total(times(plus(one(i, c), jacobian(i, c)), matrix(c, j)), c)


def next_factor(jacobian: Callable[[Any], Entry], matrix: Callable[[Any], Entry]) -> Any:
    """One more layer puts its factor to the left of the others."""
    following = equal(matrix(l + 1)(a, b), with_factor(jacobian(l), matrix(l))(a, b))
    return each_layer(l, forall([a, b], following))


PRODUCTS = (
    Given(
        no_factor(lambda k: at(Ps, k)),
        r"$P_l$ is the product of the factors of $l$ layers; that of no factors is $I$",
    ),
    Given(
        next_factor(lambda k: at(Js, k), lambda k: at(Ps, k)),
        r"the factor that the note gives for a layer, one more in every layer: "
        r"$P_{l+1} = (I + J_l)\,P_l$, the later layer to the left",
    ),
)


def prove_layers(p: Prover) -> Theorem:
    recurrence, start, products = (p.hyp(k) for k in range(3))

    def claimed(k: Any) -> Any:
        return forall(a, equal(gs[0, a], through(at(gs, k), at(Ps, k))(a)))

    none = p.equal(
        gs[0, a], through(at(gs, 0), at(Ps, 0))(a), start, reason="no layer: $P_0 = I$"
    )  # fmt: skip

    def step(earlier: Theorem, limit: Theorem) -> Theorem:
        factor = plus(one(c, b), Js[m, c, b])
        entry = p.calc(
            gs[0, a],
            (through(at(gs, m), at(Ps, m))(a), "by what is supposed", p.at(earlier, a)),
            (total(times(total(times(gs[m + 1, c], factor), c), Ps[m, b, a]), b),
             "the gradient passes layer $m$", in_layer(p, recurrence, m, limit)),
            (total(times(gs[m + 1, c], total(times(factor, Ps[m, b, a]), b)), c),
             "exchange the sums"),
            (through(at(gs, m + 1), at(Ps, m + 1))(a),
             r"$P_{m+1} = (I + J_m)\,P_m$", in_layer(p, products, m, limit)),
        )  # fmt: skip
        return p.for_all(entry, a)

    return climb(p, claimed, p.for_all(none, a), step)


def twin_layers(rng: np.random.Generator, *, backwards: bool = False) -> Iterator[Trial]:
    """`backwards` puts the factors of later layers to the right."""
    from numeric import complex_step_error, residual_stack, residual_stack_vjp

    for point, weights, cotangent in stacks(rng):
        gradients, jacobians = inside(point, weights, cotangent)
        if backwards:
            jacobians = jacobians[::-1]
        jacobian_of_stack = np.eye(len(point))
        reversed_order = np.eye(len(point))
        for jacobian in jacobians:
            jacobian_of_stack = (np.eye(len(point)) + jacobian) @ jacobian_of_stack
            reversed_order = reversed_order @ (np.eye(len(point)) + jacobian)
        yield agree(gradients[0], cotangent @ jacobian_of_stack, f"{len(weights)} layers")
        branches = [tanh_branch()] * len(weights)
        error = complex_step_error(
            lambda tokens, matrices, layers=branches: residual_stack(layers, tokens, matrices),
            lambda tokens, matrices, g, layers=branches: residual_stack_vjp(
                layers, tokens, matrices, g
            ),
            (rng.standard_normal((3, len(point))), tuple(weights)),
            rng,
        )
        yield Trial(error, 1e-11, f"complex steps through {len(weights)} layers")
        if len(weights) > 1 and len(point) > 1:
            gap = np.abs(cotangent @ (jacobian_of_stack - reversed_order)).max()
            yield differs(
                gradients[0], cotangent @ reversed_order, by=0.9 * gap, what="wrong order"
            )


def layer_mutations() -> tuple[Mutation, ...]:
    depth, i, j = (T.bound(k) for k in (2, 1, 0))  # two components, J = [[0, 1], [0, 0]]
    corner = T.mul(T.delta(i, T.ZERO), T.delta(j, T.ONE))
    one_layer = {
        d: 2, L: 1, Js: T.Lam(3, corner),
        Ps: T.Lam(3, T.add(T.delta(i, j), T.mul(depth, corner))),
        gs: T.Lam(2, T.sub(T.ONE, T.mul(i, j))),
    }  # fmt: skip
    return (
        Mutation(
            "the product of the factors is transposed",
            statement=forall(a, equal(gs[0, a], total(times(gs[L, b], Ps[L, a, b]), b))),
            counterexample=Example(one_layer),
            twin=Twin(
                "`residual_stack_vjp` against the product in the other order",
                lambda rng: twin_layers(rng, backwards=True),
            ),
        ),
    )


LAYERS = Claim(
    id="residual/layers",
    title="The gradient behind $L$ residual blocks",
    source=Source(
        DERIVATIONS, ("A29", "A30"),
        r"One block gives the factor $1 + \partial f/\partial x$; the gradient goes on to earlier "
        r"layers. Beyond the note: the factors of $L$ blocks, and their order.",
    ),
    statement=forall(a, equal(gs[0, a], through(at(gs, L), at(Ps, L))(a))),
    given=(GRADIENTS, *PRODUCTS),
    proof=prove_layers,
    twin=Twin("`residual_stack_vjp` against the product of the factors", twin_layers),
    mutations=layer_mutations,
    remark=r"$P_L = (I + J_{L-1}) \cdots (I + J_0)$, so "
    r"$g_0 = g_L\,(I + J_{L-1}) \cdots (I + J_0)$. That this is the derivative of the loss by the "
    r"first input is `residual/stack-gradient`.",
    expected=Verdict.PROVED,
)  # fmt: skip


def arrives(k: Any) -> Any:
    """What the branch of layer k adds to component a of the gradient."""
    return through(at(gs, k + 1), at(Js, k))(a)


def added_up_to(k: Any) -> Any:
    """What the branches of the first k layers add to component a."""
    return total(arrives(index("k", k)), index("k", k))


def prove_direct_path(p: Prover) -> Theorem:
    def claimed(k: Any) -> Any:
        return forall(a, equal(gs[0, a], plus(gs[k, a], added_up_to(k))))

    none = p.equal(
        gs[0, a], plus(gs[0, a], added_up_to(0)), reason="no layer: the sum is empty"
    )  # fmt: skip

    def step(earlier: Theorem, limit: Theorem) -> Theorem:
        longer = infer("unroll", [], "sum", p.term(m), p.term(added_up_to(m)).children[1])
        p.note(longer, "the sum over one more layer has one more term")
        passing = p.at(in_layer(p, p.hyp(0), m, limit), a)
        entry = p.calc(
            gs[0, a],
            (plus(gs[m, a], added_up_to(m)), "by what is supposed", p.at(earlier, a)),
            (plus(passed(at(gs, m + 1), at(Js, m))(a), added_up_to(m)),
             "the gradient passes layer $m$", (1, passing)),
            (plus(gs[m + 1, a], arrives(m), added_up_to(m)),
             "the $+1$ term and the branch term of layer $m$"),
            (plus(gs[m + 1, a], added_up_to(m + 1)), "put the last term into the sum",
             (-1, longer)),
        )  # fmt: skip
        return p.for_all(entry, a)

    return climb(p, claimed, p.for_all(none, a), step)


def twin_direct(rng: np.random.Generator) -> Iterator[Trial]:
    for point, weights, cotangent in stacks(rng):
        gradients, jacobians = inside(point, weights, cotangent)
        added = [g @ jacobian for g, jacobian in zip(gradients[1:], jacobians, strict=True)]
        yield agree(gradients[0], cotangent + sum(added), f"{len(weights)} layers")


DIRECT_PATH = Claim(
    id="residual/direct-path",
    title="The gradient by the last output arrives at the first input, with something added",
    source=Source(
        DERIVATIONS, ("A30",),
        r"Along the $+1$ path the gradient reaches earlier layers directly. Beyond the note: what "
        r"comes to it on the way.",
    ),
    statement=forall(a, equal(gs[0, a], plus(gs[L, a], added_up_to(L)))),
    given=(GRADIENTS,),
    proof=prove_direct_path,
    twin=Twin("gradients inside a stack, and what the branches add", twin_direct),
    remark=r"In rows: $g_0 = g_L + \sum_{l<L} g_{l+1} J_l$. What is added may cancel $g_L$: see "
    r"`residual/no-vanishing`. The same for the derivative by the first input: "
    r"`residual/stack-direct-path`.",
    expected=Verdict.PROVED,
)  # fmt: skip


def product_entry(left: Entry, right: Entry) -> Any:
    """Entry (a, b) of ``(I + left)(I + right)``."""
    return total(times(plus(one(a, c), left(a, c)), plus(one(c, b), right(c, b))), c)


def plain_product(left: Entry, right: Entry) -> Any:
    return total(times(left(a, c), right(c, b)), c)


LAYERS_COMMUTE = iff(
    forall([a, b], equal(product_entry(at(J), at(K)), product_entry(at(K), at(J)))),
    forall([a, b], equal(plain_product(at(J), at(K)), plain_product(at(K), at(J)))),
)


def prove_layers_commute(p: Prover) -> Theorem:
    factors, jacobians = (p.formula(part) for part in LAYERS_COMMUTE.args[0].args)
    pairs = ((J, K), (K, J))
    one_way, other_way = (
        p.equal(
            product_entry(at(left), at(right)),
            plus(one(a, b), left[a, b], right[a, b], plain_product(at(left), at(right))),
            reason="multiply out; the deltas are contracted",
        )
        for left, right in pairs
    )
    others = "the other three terms are the same"

    def only_then(same: Theorem) -> Theorem:
        sides = (plain_product(at(m), at(n)) for m, n in pairs)
        entry = p.equal(
            *sides, (-1, one_way), (1, other_way), (1, p.at(same, a, b)), reason=others
        )  # fmt: skip
        return p.for_all(entry, a, b)

    def then(same: Theorem) -> Theorem:
        sides = (product_entry(at(m), at(n)) for m, n in pairs)
        entry = p.equal(
            *sides, (1, one_way), (-1, other_way), (1, p.at(same, a, b)), reason=others
        )  # fmt: skip
        return p.for_all(entry, a, b)

    return p.both(
        p.suppose(factors, only_then, "suppose that the factors commute"),
        p.suppose(jacobians, then, "conversely, suppose that the Jacobians commute"),
    )


def twin_layer_order(rng: np.random.Generator) -> Iterator[Trial]:
    for width in WIDTHS:
        first, second = rng.standard_normal((2, width, width))
        cotangent = rng.standard_normal(width)
        diagonal = [np.diag(np.diag(m)) for m in (first, second)]
        for pair in ((first, second), diagonal):
            one_way, other_way = (linear_stack_gradient(p, cotangent) for p in (pair, pair[::-1]))
            factors = [np.eye(width) + jacobian for jacobian in pair]
            yield agree(one_way, cotangent @ factors[1] @ factors[0], "the last layer first")
            gap = np.abs(cotangent @ (pair[1] @ pair[0] - pair[0] @ pair[1])).max()
            if gap > 1e-3:
                yield differs(one_way, other_way, by=0.9 * gap, what=f"width {width}")
            else:
                yield agree(one_way, other_way, "Jacobians that commute")


LAYER_ORDER = Claim(
    id="residual/layer-order",
    title="The factors of two layers commute",
    source=Source(
        DERIVATIONS, ("A29", "A30"),
        r"The factors $1 + \partial f/\partial x$ of the layers are written like numbers, whose "
        r"product does not depend on their order.",
    ),
    statement=forall([a, b], equal(product_entry(at(J), at(K)), product_entry(at(K), at(J)))),
    counterexample=Example({d: 2, J: [[0, 1], [0, 0]], K: [[0, 0], [1, 0]]}),
    correction=Correction(LAYERS_COMMUTE, prove_layers_commute),
    twin=Twin("two layers in both orders", twin_layer_order),
    remark="For a gradient as a row the factor of the last layer comes first: see "
    "`residual/layers`.",
    expected=Verdict.REFUTED,
)  # fmt: skip


# ---------------------------------------------------------------------- lengths


def inner(u: Entry, w: Entry) -> Any:
    return total(times(u(a), w(a)), a)


def square_length(u: Entry) -> Any:
    return total(u(a) ** 2, a)


def prove_cauchy_schwarz(p: Prover) -> Theorem:
    minor = plus(times(u[a], w[b]), times(-1, u[b], w[a])) ** 2
    square = p.note(p.square(minor.base), "a square is not negative")
    squares = p.sum_order(square, a, b, reason="sum over all pairs of components")
    identity = p.equal(
        total(minor, a, b),
        times(2, plus(times(square_length(at(u)), square_length(at(w))),
                      times(-1, inner(at(u), at(w)) ** 2))),
        reason="Lagrange's identity: multiply the square out and sum its three terms",
    )  # fmt: skip
    products = p.rewrite(identity, squares, lambda e: T.le(T.ZERO, e))
    size = sp.Abs(inner(at(u), at(w)))
    lengths = times(length(at(u)), length(at(w)))
    same = p.equal(
        squared(lengths),
        times(square_length(at(u)), square_length(at(w))),
        reason="the square of a length is the sum of the squares",
    )
    compared = p.order(
        at_most(squared(size), squared(lengths)), (half, products), (1, same),
        reason="halve; the square of an absolute value is that of the number",
    )  # fmt: skip
    theorem = by_squares(p, size, lengths, compared)
    return p.note(theorem, "neither side is negative, so the same holds without the squares")


def twin_cauchy(rng: np.random.Generator) -> Iterator[Trial]:
    """With w = g J: |u.w| and the product of lengths; equality for multiples."""
    for _, point, weight, cotangent in blocks(rng):
        branch = behind_block(point, weight, cotangent) - cotangent
        lengths = np.linalg.norm(cotangent) * np.linalg.norm(branch)
        yield below(abs(cotangent @ branch), lengths, "gradient and branch")
        yield below(abs(cotangent @ (-3 * cotangent)), 3 * cotangent @ cotangent, "multiples")


def cauchy_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "the product of the lengths is the smaller side",
            statement=at_most(times(length(at(u)), length(at(w))), sp.Abs(inner(at(u), at(w)))),
            counterexample=Example({d: 2, u: [1, 0], w: [0, 1]}),
        ),
    )


CAUCHY_SCHWARZ = Claim(
    id="residual/cauchy-schwarz",
    title="Cauchy–Schwarz in any width",
    source=Source(
        DERIVATIONS, ("A30",),
        r"That a gradient does not vanish is said without a measure. Beyond the note: its length, "
        r"and the two inequalities on which the estimates below rest.",
    ),
    statement=at_most(sp.Abs(inner(at(u), at(w))), times(length(at(u)), length(at(w)))),
    proof=prove_cauchy_schwarz,
    twin=Twin("a gradient and what comes through a branch", twin_cauchy),
    mutations=cauchy_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip


def summed(u: Entry, w: Entry) -> Entry:
    return lambda i: plus(u(i), w(i))


def prove_triangle(p: Prover) -> Theorem:
    cauchy_schwarz = p.note(lemma(CAUCHY_SCHWARZ), "Cauchy–Schwarz")
    s = inner(at(u), at(w))
    positive = at_most_its_size(p, s)
    both_vectors = square_length(summed(at(u), at(w)))
    p.fact(p.nonneg(both_vectors))
    whole = p.calc(
        squared(length(summed(at(u), at(w)))),
        (both_vectors, "the square of a length is the sum of the squares"),
        (plus(square_length(at(u)), times(2, s), square_length(at(w))), "multiply out"),
        (plus(squared(length(at(u))), times(2, s), squared(length(at(w)))), "lengths again"),
    )  # fmt: skip
    lengths = plus(length(at(u)), length(at(w)))
    compared = p.order(
        at_most(squared(length(summed(at(u), at(w)))), squared(lengths)),
        (-1, whole), (2, cauchy_schwarz), (2, positive),
        reason=r"as $\sum_a u_a w_a \le |\sum_a u_a w_a| \le \lVert u\rVert\,\lVert w\rVert$",
    )  # fmt: skip
    theorem = by_squares(p, length(summed(at(u), at(w))), lengths, compared)
    return p.note(theorem, "neither side is negative, so the same holds without the squares")


def twin_triangle(rng: np.random.Generator) -> Iterator[Trial]:
    for _, point, weight, cotangent in blocks(rng):
        whole = behind_block(point, weight, cotangent)
        branch, _ = tanh_branch().vjp(point[None], weight, cotangent[None])
        lengths = np.linalg.norm(cotangent) + np.linalg.norm(branch)
        yield below(np.linalg.norm(whole), lengths, "gradient behind a block")


def triangle_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "the lengths add up, as those of vectors in one direction do",
            statement=at_most(plus(length(at(u)), length(at(w))), length(summed(at(u), at(w)))),
            counterexample=Example({d: 1, u: [1], w: [-1]}),
        ),
    )


TRIANGLE = Claim(
    id="residual/triangle",
    title="The triangle inequality in any width",
    source=CAUCHY_SCHWARZ.source,
    statement=at_most(
        length(summed(at(u), at(w))), plus(length(at(u)), length(at(w)))
    ),
    proof=prove_triangle,
    twin=Twin("a gradient and what comes through a branch", twin_triangle),
    mutations=triangle_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip


def for_all_rows(p: Prover, theorem: Theorem, *tensors: Any) -> Theorem:
    for t in reversed(tensors):
        theorem = p.for_all_tensors(theorem, t)
    return theorem


def prove_one_block(p: Prover) -> Theorem:
    triangle = for_all_rows(p, lemma(TRIANGLE), u, w)
    behind, branch = passed(at(g), at(J)), through(at(g), at(J))
    small = p.note(p.at(p.hyp(0), row(p, at(g))), "what is given, for $v = g$")
    apart = p.at(triangle, row(p, behind), row(p, minus(branch)))
    p.note(apart, r"triangle inequality for $g\,(I + J)$ and $-g J$")
    without = p.order(
        at_most(length(at(g)), plus(length(behind), length(branch))), (1, apart),
        reason=r"their sum is $g$, and a row is as long as its negative",
    )  # fmt: skip
    lower = p.order(
        at_most(times(plus(1, times(-1, rho)), length(at(g))), length(behind)),
        (1, without), (1, small), reason=r"put the first line in and bring $\rho$ to the left",
    )  # fmt: skip
    together = p.at(triangle, row(p, at(g)), row(p, branch))
    p.note(together, r"triangle inequality for $g$ and $g J$")
    upper = p.order(
        at_most(length(behind), times(InOrder(1, rho), length(at(g)))),
        (1, together), (1, small), reason=r"their sum is $g\,(I + J)$; put the first line in",
    )  # fmt: skip
    return p.both(lower, upper)


SMALL = Given(
    bounded(at(J), rho),
    r"the note calls $\partial f/\partial x$ small; how small is measured by the most that it "
    r"lengthens a row, $\rho$",
)


def twin_one_block(rng: np.random.Generator) -> Iterator[Trial]:
    for width in WIDTHS:
        for norm_of_branch in (0.0, 0.1, 0.9, 1.0, 2.5):
            cotangent = rng.standard_normal(width)
            jacobian = of_norm(rng, width, norm_of_branch)
            after = np.linalg.norm(linear_stack_gradient([jacobian], cotangent))
            before = np.linalg.norm(cotangent)
            yield below((1 - norm_of_branch) * before, after, "lower bound")
            yield below(after, (1 + norm_of_branch) * before, "upper bound")
            for sign, factor in ((1, 1 + norm_of_branch), (-1, abs(1 - norm_of_branch))):
                scaled = sign * norm_of_branch * np.eye(width)
                attained = np.linalg.norm(linear_stack_gradient([scaled], cotangent))
                yield agree(attained, factor * before, "attained by a multiple of I")


def one_block_mutations() -> tuple[Mutation, ...]:
    lower, upper = ONE_BLOCK.statement.args
    return (
        Mutation(
            "a block with a small branch shortens no gradient",
            statement=both(at_most(length(at(g)), length(passed(at(g), at(J)))), upper),
            counterexample=Example({d: 1, rho: tenth, g: [1], J: [[-tenth]]}),
        ),
        Mutation(
            "nor does it lengthen any",
            statement=both(lower, at_most(length(passed(at(g), at(J))), length(at(g)))),
            counterexample=Example({d: 1, rho: tenth, g: [1], J: [[tenth]]}),
        ),
    )


ONE_BLOCK = Claim(
    id="residual/one-block",
    title="How much one block can change the length of a gradient",
    source=Source(
        DERIVATIONS, ("A30",),
        r"Even if $\partial f/\partial x$ is small, the gradient passes through the $+1$ path. "
        r"Beyond the note: how much shorter or longer it can get.",
    ),
    statement=both(
        at_most(times(plus(1, times(-1, rho)), length(at(g))), length(passed(at(g), at(J)))),
        at_most(length(passed(at(g), at(J))), times(InOrder(1, rho), length(at(g)))),
    ),
    given=(SMALL,),
    proof=prove_one_block,
    twin=Twin("length of a gradient behind a linear branch of given norm", twin_one_block),
    mutations=one_block_mutations,
    remark=r"$g$ is the gradient by $y$, $J$ the Jacobian of $f$ at $x$, $g\,(I + J)$ the gradient "
    r"by $x$. True for any $\rho$; the lower bound says something only for $\rho < 1$.",
    expected=Verdict.PROVED,
)  # fmt: skip


def prove_aligned(p: Prover) -> Theorem:
    behind, branch = passed(at(g), at(J)), through(at(g), at(J))
    along = p.note(p.at(p.hyp(0), row(p, at(g))), "what is given, for $v = g$")
    p.fact(p.nonneg(square_length(behind)))
    gained = p.note(p.nonneg(square_length(branch)), "squares are not negative")
    whole = p.calc(
        squared(length(behind)),
        (square_length(behind), "the square of a length is the sum of the squares"),
        (plus(square_length(at(g)), times(2, inner(at(g), branch)), square_length(branch)),
         r"multiply out, with $g\,(I + J) = g + g J$"),
    )  # fmt: skip
    compared = p.order(
        at_most(squared(length(at(g))), squared(length(behind))),
        (1, whole), (2, along), (1, gained), reason="nothing that is added is negative",
    )  # fmt: skip
    theorem = by_squares(p, length(at(g)), length(behind), compared)
    return p.note(theorem, "neither side is negative, so the same holds without the squares")


def twin_aligned(rng: np.random.Generator) -> Iterator[Trial]:
    """A positive semidefinite part and any skew one, however large."""
    for width in WIDTHS:
        root, skew = rng.standard_normal((2, width, width))
        jacobian = root @ root.T + 3 * (skew - skew.T)
        cotangent = rng.standard_normal(width)
        after = np.linalg.norm(linear_stack_gradient([jacobian], cotangent))
        yield below(np.linalg.norm(cotangent), after, f"width {width}")
        against = np.linalg.norm(linear_stack_gradient([-0.5 * np.eye(width)], cotangent))
        yield agree(against, 0.5 * np.linalg.norm(cotangent), "a branch against its input")


def aligned_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "any branch will do",
            given=(),
            counterexample=Example({d: 1, g: [2], J: [[-half]]}),
        ),
        Mutation(
            "such a branch makes every gradient longer",
            statement=less(length(at(g)), length(passed(at(g), at(J)))),
            counterexample=Example({d: 1, g: [1], J: [[0]]}, auto.prove),
        ),
    )


ALIGNED = Claim(
    id="residual/aligned-branch",
    title="A branch that does not turn against its input shortens no gradient",
    source=Source(
        DERIVATIONS,
        ("A30",),
        r"Even if $\partial f/\partial x$ is small, the gradient passes through the $+1$ path. "
        r"Read as: it loses nothing of its length.",
    ),
    statement=at_most(length(at(g)), length(passed(at(g), at(J)))),
    added=(
        Added(
            forall(v, at_most(0, inner(at(v), through(at(v), at(J))))),
            Example({d: 1, g: [2], J: [[-half]]}, deny_for_ones),
            r"in place of smallness: $v J v^{\top} \ge 0$ for all $v$, that is, $J + J^{\top}$ is "
            r"positive semidefinite",
        ),
    ),
    witness=Example({d: 2, g: [1, 2], J: [[1, -1], [1, 1]]}, auto.prove),
    proof=prove_aligned,
    twin=Twin("length of a gradient behind a branch with such a Jacobian", twin_aligned),
    mutations=aligned_mutations,
    expected=Verdict.CONDITIONAL,
)  # fmt: skip


# ---------------------------------------------------------------------- does it vanish?


def vanishes(entry: Entry) -> Any:
    return forall(a, equal(entry(a), 0))


def prove_vanishing(p: Prover) -> Theorem:
    gone, opposite = (p.formula(part) for part in VANISHING.statement.args[0].args)
    behind, branch = passed(at(g), at(J)), through(at(g), at(J))
    split = p.equal(behind(a), plus(g[a], branch(a)), reason="the $+1$ term and the branch")

    def only_then(zero: Theorem) -> Theorem:
        entry = p.equal(branch(a), minus(at(g))(a), (-1, split), (1, p.at(zero, a)),
                        reason="what the branch adds cancels the $+1$ term")  # fmt: skip
        return p.for_all(entry, a)

    def then(cancels: Theorem) -> Theorem:
        entry = p.equal(behind(a), 0, (1, split), (1, p.at(cancels, a)),
                        reason="the two terms cancel")  # fmt: skip
        return p.for_all(entry, a)

    return p.both(
        p.suppose(gone, only_then, "suppose that nothing is left of the gradient"),
        p.suppose(opposite, then, "conversely, suppose this"),
    )


def twin_vanishing(rng: np.random.Generator) -> Iterator[Trial]:
    """J = -(g^T g) / |g|^2 sends g to -g and everything orthogonal to 0."""
    for width in WIDTHS:
        cotangent = rng.standard_normal(width)
        jacobian = -np.outer(cotangent, cotangent) / (cotangent @ cotangent)
        yield agree(linear_stack_gradient([jacobian], cotangent), np.zeros(width), "killed")
        other = rng.standard_normal(width)
        left = other - (other @ cotangent) / (cotangent @ cotangent) * cotangent
        yield agree(linear_stack_gradient([jacobian], other), left, "the orthogonal part passes")


def vanishing_mutations() -> tuple[Mutation, ...]:
    gone = vanishes(passed(at(g), at(J)))
    return (
        Mutation(
            "a gradient vanishes where the branch passes nothing on",
            statement=iff(gone, vanishes(through(at(g), at(J)))),
            counterexample=Example({d: 1, g: [1], J: [[0]]}),
        ),
        Mutation(
            "nothing that is not zero vanishes",
            statement=implies(negation(vanishes(at(g))), negation(gone)),
            counterexample=Example({d: 1, g: [1], J: [[-1]]}),
        ),
    )


VANISHING = Claim(
    id="residual/vanishing",
    title="Exactly when one block kills a gradient",
    source=Source(
        DERIVATIONS, ("A30",),
        r"Because of the $+1$ term the gradient does not vanish. Beyond the note: exactly when it "
        r"does.",
    ),
    statement=iff(
        vanishes(passed(at(g), at(J))),
        forall(a, equal(through(at(g), at(J))(a), minus(at(g))(a))),
    ),
    proof=prove_vanishing,
    twin=Twin("a gradient that a branch maps to its negative", twin_vanishing),
    mutations=vanishing_mutations,
    remark=r"$g$ is the gradient by $y$ and $J$ the Jacobian of $f$ at $x$; on the left stands "
    r"that the gradient by $x$ is zero. So a block passes every $g \ne 0$ if and only if $-1$ is "
    r"not an eigenvalue of $J$. The danger is not a small $J$, but one that is close to $-I$ in "
    r"some direction.",
    expected=Verdict.PROVED,
)  # fmt: skip


def no_length_no_entry(p: Prover, short: Theorem) -> Theorem:
    """From ||g|| <= 0: every entry of g is 0."""
    squares = square_length(at(g))
    none = p.order(
        at_most(squares, 0), (length(at(g)), short),
        reason=r"multiply by $\lVert g\rVert$, whose square is the sum of the squares",
    )  # fmt: skip
    others = p.square(times(plus(1, times(-1, one(a, b))), g[b]))
    one_of_them = p.order(
        at_most(g[a] ** 2, squares), (1, p.sum_order(others, b)),
        reason=r"the other terms of the sum are squares",
    )  # fmt: skip

    def nonzero(case: Theorem) -> Theorem:
        positive = p.order(less(0, g[a] ** 2))
        at_most_zero = p.order(at_most(g[a] ** 2, 0), (1, one_of_them), (1, none))
        return infer(
            "contradiction", [at_most_zero, infer("not-le", [positive])], p.formula(equal(g[a], 0))
        )

    either_way = infer("excluded-middle", [], p.formula(equal(g[a], 0)))
    entry = p.cases(either_way, lambda case: case, nonzero)
    return p.note(p.for_all(entry, a), "a number whose square is not positive is $0$")


def prove_no_vanishing(p: Prover) -> Theorem:
    small, less_than_one = p.hyp(0), p.hyp(1)
    something, arrives_too = p.formula(NO_VANISHING.statement).children
    gone = arrives_too.children[0]

    def arrives_if(given: Theorem) -> Theorem:
        with p.supposing(gone) as zero:
            p.note(zero, "suppose that the gradient by $x$ vanishes nevertheless")
            exactly = p.part(lemma(VANISHING), 0)
            opposite = p.note(p.mp(exactly, zero), "then the branch cancels the $+1$ term")
            same = p.note(same_length(p, opposite), "so both have the same length")
            bound = p.note(p.at(small, row(p, at(g))), "what is given, for $v = g$")
            squeezed = p.order(
                at_most(length(at(g)), times(rho, length(at(g)))), (1, same), (1, bound),
                reason=r"as $-g$ is as long as $g$",
            )  # fmt: skip
            short = p.note(
                no_longer(p, squeezed, less_than_one),
                r"were it positive, $\rho < 1$ would make the right side less than the left",
            )
            nothing = no_length_no_entry(p, short)
            absurd = infer("contradiction", [nothing, given], T.negate(gone))
        return p.note(infer("deny", [absurd], gone), "which contradicts what is supposed of $g$")

    return p.suppose(something, arrives_if, "let the gradient by $y$ not vanish")


def no_longer(p: Prover, squeezed: Theorem, less_than_one: Theorem) -> Theorem:
    """From ||g|| <= rho ||g|| and rho < 1: ||g|| <= 0."""
    size = length(at(g))

    def positive(case: Theorem) -> Theorem:
        shrinks = p.order(less(times(rho, size), size), (1, less_than_one, case))
        goal = p.formula(at_most(size, 0))
        return infer("contradiction", [squeezed, infer("not-le", [shrinks])], goal)

    return p.cases(p.dichotomy(size, 0), lambda case: case, positive)


def nearly_one(rng: np.random.Generator, width: int) -> Any:
    return of_norm(rng, width, 0.999)


def twin_no_vanishing(
    rng: np.random.Generator, small: Callable[[np.random.Generator, int], Any] = nearly_one
) -> Iterator[Trial]:
    for width in WIDTHS:
        cotangent = rng.standard_normal(width)
        jacobian = small(rng, width)
        after = linear_stack_gradient([jacobian], cotangent)
        yield differs(after, np.zeros(width), by=1e-4 * np.abs(cotangent).max(), what="norm 0.999")
        gone = linear_stack_gradient([-np.eye(width)], cotangent)
        yield agree(gone, np.zeros(width), "f(x) = -x", tolerance=0.0)


def no_vanishing_mutations() -> tuple[Mutation, ...]:
    at_one = Example({d: 1, rho: 1, g: [1], J: [[-1]]})
    return (
        Mutation(
            "$f(x) = -x$ is small enough, too",
            given=(SMALL, Given(at_most(rho, 1))),
            counterexample=at_one,
            twin=Twin(
                "gradients behind $f(x) = -x$",
                lambda rng: twin_no_vanishing(rng, lambda _, width: -np.eye(width)),
            ),
        ),
        Mutation("however large the branch is", given=(SMALL,), counterexample=at_one),
    )


NO_VANISHING = Claim(
    id="residual/no-vanishing",
    title="Does the +1 term keep the gradient from vanishing?",
    source=Source(
        DERIVATIONS, ("A30",),
        r"Because of the $+1$ term a gradient that is not zero behind the block is not zero before "
        r"it, even if $\partial f/\partial x$ is small.",
    ),
    statement=implies(negation(vanishes(at(g))), negation(vanishes(passed(at(g), at(J))))),
    given=(SMALL,),
    added=(
        Added(
            less(rho, 1),
            Example({d: 1, rho: 1, g: [1], J: [[-1]]}),
            r"the note does not say how small: at $\rho = 1$ the branch can be $f(x) = -x$",
        ),
    ),
    witness=Example({d: 2, rho: half, g: [1, 2], J: [[0, half], [-half, 0]]}, auto.prove),
    proof=prove_no_vanishing,
    twin=Twin("gradients behind small branches, and behind $f(x) = -x$", twin_no_vanishing),
    mutations=no_vanishing_mutations,
    remark=r"$g$ is the gradient by $y$ and $J$ the Jacobian of $f$ at $x$. For $f(x) = -x$ the "
    r"block is $y = 0$, and no gradient passes it.",
    expected=Verdict.CONDITIONAL,
)  # fmt: skip


# ---------------------------------------------------------------------- does depth matter?

SMALL_LAYERS = Given(
    each_layer(l, bounded(at(Js, l), rhos[l])),
    r"$\partial f/\partial x$ is small in every layer, by a measure $\rho_l$",
)


def lower_factor(k: Any) -> Any:
    return plus(1, times(-1, rhos[k]))


def upper_factor(k: Any) -> Any:
    return InOrder(1, rhos[k])


def product_up_to(factor: Entry, k: Any) -> Any:
    return product(factor(index("k", k)), index("k", k))


def behind_layers(k: Any) -> Entry:
    """``g P_k``: the gradient g behind k layers."""
    return through(at(g), at(Ps, k))


def behind_one(k: Any) -> Entry:
    """``g (I + J_k)``."""
    return passed(at(g), at(Js, k))


def no_layer(p: Prover) -> Theorem:
    """``g P_0`` is as long as g."""
    entry = p.equal(behind_layers(0)(a), g[a], p.hyp(0), reason="no layer: $P_0 = I$")
    return same_length(p, p.for_all(entry, a))


def one_more_layer(p: Prover, limit: Theorem) -> tuple[Theorem, Theorem]:
    """``g P_(m+1) = (g (I + J_m)) P_m``: the entries for every a, and the lengths."""
    entry = p.calc(
        behind_layers(m + 1)(a),
        (through(at(g), with_factor(at(Js, m), at(Ps, m)))(a),
         r"$P_{m+1} = (I + J_m)\,P_m$", in_layer(p, p.hyp(1), m, limit)),
        (total(times(total(times(g[c], plus(one(c, b), Js[m, c, b])), c), Ps[m, b, a]), b),
         "exchange the sums: first layer $m$, then the layers before it"),
    )  # fmt: skip
    entries = p.for_all(entry, a)
    return entries, same_length(p, entries)


def layer_bounds(p: Prover, small: Theorem, limit: Theorem) -> tuple[Theorem, Theorem]:
    """How layer m changes the length of g, from below and from above."""
    block = for_all_rows(p, p.for_all(lemma(ONE_BLOCK), rho), g, J)
    jacobian = p.lam(Js[m, b, a], b, a)
    bounds = p.mp(p.at(block, row(p, at(g)), jacobian, rhos[m]), in_layer(p, small, m, limit))
    return p.part(bounds, 0), p.part(bounds, 1)


def not_negative(p: Prover, small: Theorem, limit: Theorem) -> Theorem:
    """``0 <= rho_m``, as a row of ones is not made shorter than nothing."""
    ones = p.at(in_layer(p, small, m, limit), row(p, lambda _: sp.Integer(1)))
    size = T.fn("sqrt", p.term(d))
    return p.order(
        at_most(0, rhos[m]), (T.inv(size), ones),
        reason=r"no length is negative: take $v = (1, \dots, 1)$ in what is given for layer $m$",
    )  # fmt: skip


def prove_product_bounds(p: Prover) -> Theorem:
    small, size = p.hyp(2), length(at(g))
    low, high = (
        (lambda k: product_up_to(lower_factor, k)),
        (lambda k: product_up_to(upper_factor, k)),
    )

    def claimed(k: Any) -> Any:
        after = length(behind_layers(k))
        within = both(at_most(times(low(k), size), after), at_most(after, times(high(k), size)))
        return both(at_most(0, low(k)), at_most(0, high(k)), forall(g, within))

    same, nothing = no_layer(p), claimed(0).args
    lower, upper = nothing[2].args[1].args
    within = p.both(p.order(lower, (1, same)), p.order(upper, (-1, same)))
    signs = [p.trivial(sign) for sign in nothing[:2]]
    base = p.both(*signs, p.for_all_tensors(within, g))
    p.note(base, "no layer: both products are empty, so $1$")

    def step(earlier: Theorem, limit: Theorem) -> Theorem:
        low_sign, high_sign, before = (p.part(earlier, k) for k in range(3))
        rho_sign = not_negative(p, small, limit)
        rho_limit = in_layer(p, p.hyp(3), m, limit)
        longer_low, longer_high = (
            infer("unroll", [], "prod", p.term(m), p.term(t(m)).children[1]) for t in (low, high)
        )
        signs = p.both(
            p.order(at_most(0, low(m + 1)), (1, longer_low), (1, low_sign, rho_limit)),
            p.order(
                at_most(0, high(m + 1)),
                (1, longer_high), (1, high_sign), (1, high_sign, rho_sign),
            ),
        )  # fmt: skip
        p.note(signs, r"no factor is negative, as $0 \le \rho_m \le 1$")
        _, same = one_more_layer(p, limit)
        passing = p.at(before, row(p, behind_one(m)))
        p.note(passing, r"what is supposed, for $g\,(I + J_m)$ in place of $g$")
        one_low, one_high = layer_bounds(p, small, limit)
        p.note(one_low, "the bounds for one block, in layer $m$, from below")
        p.note(one_high, "and from above")
        after = length(behind_layers(m + 1))
        from_below = p.order(
            at_most(times(low(m + 1), size), after),
            (-size, longer_low), (1, low_sign, one_low), (1, p.part(passing, 0)), (1, same),
            reason=r"multiply the bound from below by $\prod_{s<m} (1 - \rho_s) \ge 0$, and go on",
        )  # fmt: skip
        from_above = p.order(
            at_most(after, times(high(m + 1), size)),
            (size, longer_high), (1, high_sign, one_high), (1, p.part(passing, 1)), (-1, same),
            reason=r"and the bound from above by $\prod_{s<m} (1 + \rho_s)$",
        )  # fmt: skip
        rows = p.for_all_tensors(p.both(from_below, from_above), g)
        return p.both(p.part(signs, 0), p.part(signs, 1), rows)

    everything = climb(p, claimed, base, step)
    return p.note(p.at(p.part(everything, 2), row(p, at(g))), "for $L$ layers and this $g$")


def twin_product_bounds(
    rng: np.random.Generator, kept: Callable[[Any], Any] = lambda norms: np.prod(1 - norms)
) -> Iterator[Trial]:
    for width, depth in ((1, 4), (2, 0), (3, 1), (5, 7), (4, 12)):
        norms = rng.random(depth)
        jacobians = [of_norm(rng, width, n) for n in norms]
        cotangent = rng.standard_normal(width)
        before = np.linalg.norm(linear_stack_gradient(jacobians, cotangent))
        yield below(kept(norms) * np.linalg.norm(cotangent), before, "lower bound")
        yield below(before, np.prod(1 + norms) * np.linalg.norm(cotangent), "upper bound")
        whole = np.stack([linear_stack_gradient(jacobians, row) for row in np.eye(width)])
        values = np.linalg.svd(whole, compute_uv=False)
        yield below(kept(norms), values[-1], "smallest singular value")
        yield below(values[0], np.prod(1 + norms), "largest singular value")


def product_mutations() -> tuple[Mutation, ...]:
    size, behind = length(at(g)), length(behind_layers(L))
    shrinking = {
        d: 1, L: 2, rhos: T.Lam(1, T.num(Fraction(1, 10))), g: [1],
        Ps: powers(Fraction(9, 10)), Js: multiples(Fraction(-1, 10)),
    }  # fmt: skip
    return (
        Mutation(
            "the lower bound is 1: no length is lost",
            statement=at_most(size, behind),
            counterexample=Example(shrinking),
            twin=Twin(
                "length of a gradient behind linear branches against its own",
                lambda rng: twin_product_bounds(rng, kept=lambda _: 1.0),
            ),
        ),
        Mutation(
            "both products change places",
            statement=at_most(times(product_up_to(upper_factor, L), size), behind),
            counterexample=Example(shrinking),
        ),
    )


PRODUCT_BOUNDS = Claim(
    id="residual/product-bounds",
    title="How much $L$ blocks can change the length of a gradient",
    source=Source(
        DERIVATIONS, ("A30",),
        r"The gradient reaches the earlier layers through the $+1$ paths, even if the derivatives "
        r"of the branches are small. Read as: of its length no more is lost than every layer takes "
        r"by itself.",
    ),
    statement=both(
        at_most(times(product_up_to(lower_factor, L), length(at(g))), length(behind_layers(L))),
        at_most(length(behind_layers(L)), times(product_up_to(upper_factor, L), length(at(g)))),
    ),
    given=(*PRODUCTS, SMALL_LAYERS),
    added=(
        Added(
            each_layer(l, at_most(rhos[l], 1)),
            Example({d: 1, L: 2, rhos: T.Lam(1, T.num(3)), g: [1], Ps: powers(Fraction(1, 2)),
                     Js: multiples(Fraction(-1, 2))}),
            r"the note does not say how small; of two factors $1 - \rho_l < 0$ the product is "
            r"positive again",
        ),
    ),
    witness=Example({d: 1, L: 2, rhos: T.Lam(1, T.num(Fraction(1, 2))), g: [1],
                     Ps: powers(Fraction(1, 2)), Js: multiples(Fraction(-1, 2))}, auto.prove),
    proof=prove_product_bounds,
    twin=Twin("length of a gradient behind stacks of linear branches of given norms",
              twin_product_bounds),
    mutations=product_mutations,
    remark=r"$g P_L$ is the gradient behind the $L$ layers, see `residual/stack-gradient`. With a "
    r"constant $\rho$ the lower bound is $(1 - \rho)^L$, which tends to $0$, and it is attained by "
    r"$f_l(x) = -\rho x$.",
    expected=Verdict.CONDITIONAL,
)  # fmt: skip


DEPTH_FREE_BOUND = at_most(times(half, length(at(g))), length(behind_layers(L)))
TENTHS = each_layer(l, bounded(at(Js, l), tenth))


def spent(k: Any) -> Any:
    """What the first k layers can take, together."""
    return total(rhos[index("k", k)], index("k", k))


def left_over(k: Any) -> Any:
    return plus(1, times(-1, spent(k)))


SUMMABLE = both(SMALL_LAYERS.formula, at_most(spent(L), half))


def prove_summable(p: Prover) -> Theorem:
    def claimed(k: Any) -> Any:
        bound = at_most(times(left_over(k), length(at(g))), length(behind_layers(k)))
        return both(at_most(0, spent(k)), forall(g, bound))

    def then(summable: Theorem) -> Theorem:
        small, few = p.part(summable, 0), p.part(summable, 1)
        bound = p.order(
            at_most(times(left_over(0), length(at(g))), length(behind_layers(0))),
            (1, no_layer(p)),
        )  # fmt: skip
        base = p.both(p.trivial(at_most(0, spent(0))), p.for_all_tensors(bound, g))
        p.note(base, "no layer: the sum is empty")
        everything = climb(p, claimed, base, lambda earlier, limit: step(small, earlier, limit))
        for_this = p.at(p.part(everything, 1), row(p, at(g)))
        return p.order(
            DEPTH_FREE_BOUND, (1, for_this), (length(at(g)), few),
            reason="for $L$ layers and this $g$; the sum is at most one half",
        )  # fmt: skip

    def step(small: Theorem, earlier: Theorem, limit: Theorem) -> Theorem:
        sign, before = p.part(earlier, 0), p.part(earlier, 1)
        rho_sign = not_negative(p, small, limit)
        longer = infer("unroll", [], "sum", p.term(m), p.term(spent(m)).children[1])
        next_sign = p.order(at_most(0, spent(m + 1)), (1, longer), (1, sign), (1, rho_sign))
        p.note(next_sign, "the sum over one more layer has one more term, which is not negative")
        _, same = one_more_layer(p, limit)
        passing = p.at(before, row(p, behind_one(m)))
        p.note(passing, r"what is supposed, for $g\,(I + J_m)$ in place of $g$")
        one_low, _ = layer_bounds(p, small, limit)
        p.note(one_low, "the bound for one block, in layer $m$, from below")
        size = length(at(g))
        goal = at_most(times(left_over(m + 1), size), length(behind_layers(m + 1)))

        def within(case: Theorem) -> Theorem:
            return p.order(
                goal,
                (size, longer), (1, case, one_low), (1, passing), (1, same),
                (size, sign, rho_sign),
                reason=r"if the sum $s$ up to there is at most $1$: "
                r"$(1 - s)(1 - \rho_m) \ge 1 - s - \rho_m$",
            )  # fmt: skip

        def beyond(case: Theorem) -> Theorem:
            return p.order(
                goal, (size, longer), (size, case), (size, rho_sign),
                reason="if it is more, the left side is not positive",
            )  # fmt: skip

        rows = p.for_all_tensors(p.cases(p.dichotomy(spent(m), 1), within, beyond), g)
        return p.both(next_sign, rows)

    return p.suppose(SUMMABLE, then, "let the layers together take at most one half")


def twin_depth_free(rng: np.random.Generator) -> Iterator[Trial]:
    for width, depth in ((1, 6), (1, 7), (3, 7), (2, 100)):
        cotangent = rng.standard_normal(width)
        shrinking = [-0.1 * np.eye(width)] * depth
        ratio = np.linalg.norm(linear_stack_gradient(shrinking, cotangent)) / np.linalg.norm(
            cotangent
        )
        yield agree(ratio, 0.9**depth, f"{depth} layers with f(x) = -x/10")
        yield agree(ratio < 0.5, depth >= 7, f"below one half after {depth} layers")
        norms = rng.random(depth)
        norms /= 2 * norms.sum()
        jacobians = [of_norm(rng, width, n) for n in norms]
        kept = np.linalg.norm(linear_stack_gradient(jacobians, cotangent))
        yield below(0.5 * np.linalg.norm(cotangent), kept, "norms that sum to one half")


DEPTH_FREE = Claim(
    id="residual/depth-free",
    title="Is there a lower bound that does not depend on the depth?",
    source=Source(
        DERIVATIONS, ("A30",),
        r"The gradient goes straight to the earlier layers; that it vanishes with the depth is "
        r"said to be avoided, if the derivatives of the branches are small. Read as a bound for "
        r"any number of layers: with derivatives of at most $1/10$ half of its length is left.",
    ),
    statement=implies(TENTHS, DEPTH_FREE_BOUND),
    given=PRODUCTS,
    counterexample=Example(
        {d: 1, L: 7, g: [1], Ps: powers(Fraction(9, 10)), Js: multiples(Fraction(-1, 10))}
    ),
    correction=Correction(
        implies(SUMMABLE, DEPTH_FREE_BOUND), prove_summable, given=PRODUCTS
    ),
    twin=Twin("stacks of branches $f(x) = -x/10$, and of branches whose norms sum to one half",
              twin_depth_free),
    remark=r"The branches are $f_l(x) = -x/10$ with $P_l = (9/10)^l$: after seven layers "
    r"$(9/10)^7 < 1/2$ of the length is left, and after $L$ layers $(9/10)^L$.",
    expected=Verdict.REFUTED,
)  # fmt: skip


# ---------------------------------------------------------------------- small is not idle

d_ff = dim("d_ff")
j = index("j", d_ff)
W1, W2 = tensor("W_1", d_ff, d), tensor("W_2", d, d_ff)


def hidden(unit: Any) -> Any:
    return total(times(W1[unit, a], x[a]), a)


def branch_jacobian(i: Any, k: Any) -> Any:
    """``W_2 W_1``, the Jacobian of the branch f(x) = W_2 W_1 x."""
    return total(times(W2[i, j], W1[j, k]), j)


NO_JACOBIAN = forall([a, b], equal(branch_jacobian(a, b), 0))


def prove_unchanged(p: Prover) -> Theorem:
    def then(zero: Theorem) -> Theorem:
        entry = p.calc(
            passed(at(g), branch_jacobian)(c),
            (plus(g[c], through(at(g), branch_jacobian)(c)), "the $+1$ term and the branch"),
            (g[c], "the Jacobian of the branch is zero", zero),
        )
        return p.for_all(entry, c)

    return p.suppose(NO_JACOBIAN, then, "suppose this")


def twin_idle(rng: np.random.Generator) -> Iterator[Trial]:
    """The feed-forward block of the note with output weights zero."""
    from numeric import FeedForwardWeights, Sublayer, feed_forward, feed_forward_vjp, residual_vjp

    for width, inner_width in ((1, 3), (4, 7)):
        weights = FeedForwardWeights.init(rng, width, inner_width)
        silent = np.zeros_like(weights.w_2)
        weights = replace(weights, w_2=silent, b_1=np.full(inner_width, 3.0))
        point, cotangent = rng.standard_normal((2, 5, width))
        block = Sublayer(feed_forward, feed_forward_vjp)
        gradient, by_weights = residual_vjp(block, point, weights, cotangent)
        yield agree(gradient, cotangent, "the gradient passes unchanged", tolerance=0.0)
        expected = np.maximum(0, point @ weights.w_1 + 3).T @ cotangent
        yield agree(by_weights.w_2, expected, "gradient by the output weights")
        yield differs(by_weights.w_2, silent, by=0.01, what="it is not zero")


IDLE_BRANCH = Claim(
    id="residual/small-is-not-idle",
    title="Does a small derivative by the input mean that a branch hardly learns?",
    source=Source(
        DERIVATIONS, ("A30",),
        r"A small $\partial f/\partial x$ is taken to mean that the branch learns next to nothing.",
    ),
    statement=implies(NO_JACOBIAN, forall([b, j], equal(times(g[b], hidden(j)), 0))),
    counterexample=Example({d: 1, d_ff: 1, W1: [[1]], W2: [[0]], g: [1], x: [1]}),
    correction=Correction(
        implies(NO_JACOBIAN, forall(c, equal(passed(at(g), branch_jacobian)(c), g[c]))),
        prove_unchanged,
    ),
    twin=Twin("feed-forward branch with zero output weights", twin_idle),
    remark=r"For $f(x) = W_2 W_1 x$: left the Jacobian by $x$, right the gradient "
    r"$g_b (W_1 x)_j$ by the weight $(W_2)_{bj}$. With $W_2 = 0$, as some initialise it, the first "
    r"is zero and the second is not. What follows is only that the gradient by $x$ is the one by "
    r"$y$.",
    expected=Verdict.REFUTED,
)  # fmt: skip

CLAIMS = (
    JACOBIAN,
    GRADIENT,
    PLUS_ONE,
    SCALAR,
    SCALAR_ONE,
    FACTOR_ORDER,
    RECURRENCE,
    LAYERS,
    LAYER_ORDER,
    DIRECT_PATH,
    CAUCHY_SCHWARZ,
    TRIANGLE,
    ONE_BLOCK,
    ALIGNED,
    VANISHING,
    NO_VANISHING,
    PRODUCT_BOUNDS,
    DEPTH_FREE,
    IDLE_BRANCH,
)

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
