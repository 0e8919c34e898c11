"""Training the feed-forward network: its gradients, and why the weights start at random.

The interview note says that the matrices come from random initialisation and gradient descent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import sympy as sp

from derive import gradients, latex
from derive.claim import Claim, Example, Given, Mutation
from derive.claims import INTERVIEW, _gates
from derive.claims._gates import (
    ROOT_SLOPE,
    Units,
    root_form,
    root_law,
    sided,
    slope_law,
    square_positive,
)
from derive.claims._network import (
    SIZES,
    W_1,
    W_2,
    X,
    a,
    b_1,
    b_2,
    before,
    c,
    d,
    f,
    j,
    k,
    n,
    network,
    networks,
    one,
    row,
    rows_of,
    s,
    t,
    under_relu,
    x,
    zero_network,
)
from derive.counterexample import denied
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.kernel.terms import Lam, Term
from derive.language import (
    GradientIs,
    both,
    equal,
    forall,
    implies,
    minus,
    natural,
    negation,
    plus,
    real,
    relu,
    sequence,
    tensor,
    times,
    total,
)
from derive.prover import Prover
from derive.result import Source, Verdict
from derive.twin import Trial, Twin, differs
from derive.twin import equal as agree

ORDER = 37
TOPIC = "feed-forward"

# ---------------------------------------------------------------------- gradients

G = tensor("G", n, d)
M = tensor("m", n, f)


def batch_loss(act: Callable[[Any], Any] = relu) -> Any:
    """The outputs of all tokens, each entry times its cotangent."""
    return total(times(G[t, a], network(row(X, t), a, act)), t, a)


def through_gates(p: Prover, gates: Theorem, goal: Any, place: tuple[Any, ...]) -> Theorem:
    """A gradient of the loss, by way of ReLU(z) = (z + sqrt(z^2)) / 2."""
    units = Units(before(row(X, t), j), M, (t, j))
    return _gates.through_gates(p, gates, goal, place, batch_loss, units)


def no_gradient(p: Prover, target: Term) -> Theorem:
    """Under the gates at the values, another gradient is claimed than that of the root form."""
    z = real("z")
    law = p.for_all(p.equal(relu(z), root_form(z), root_law(p), show=False), z)

    def differ(goal: Term) -> Theorem:
        *sizes, function, point, value = goal.children
        rooted = p.replace(T.instantiate(function, ("_w",)), law)
        same = infer("generalise-tensor", [rooted], "_w", len(sizes))
        smooth = T.grad(sizes, same.conclusion.children[-1].children[1], point, value)
        refuted = gradients.deny(smooth, p.trivial, lambda q: p.trivial(T.negate(q)))
        with p.supposing(goal) as case:
            moved_over = p.with_function(case, same)
            absurd = infer("contradiction", [moved_over, refuted], T.negate(goal))
        return infer("deny", [absurd], goal)

    return denied(target.children[0], 1, differ)


GATES = forall([t, j], sided(before(row(X, t), j), M[t, j]))


def into_units(token: Any, unit: Any) -> Any:
    """(W_2^T g)_unit."""
    return total(times(W_2[a, unit], G[token, a]), a)


def behind_units(token: Any, unit: Any) -> Any:
    """What comes back to a unit: its gate times (W_2^T g)_unit."""
    return times(M[token, unit], into_units(token, unit))


#: Takes weights, tokens, gates and cotangents; gives the name of an argument and its gradient.
Formula = Callable[[Any, Any, Any, Any], tuple[str, Any]]

#: One open unit, at one token.
ONE_UNIT_OPEN = {
    n: 1, d: 1, f: 1, W_1: [[1]], b_1: [0], W_2: [[2]], b_2: [0], X: [[3]], G: [[5]], M: [[1]]
}  # fmt: skip


def gradient_claim(
    name: str, title: str, says: str, goal: Any, place: tuple[Any, ...], what: str,
    entry: Formula, mistakes: Callable[[], tuple[tuple[str, Any, Formula], ...]],
) -> Claim:  # fmt: skip
    """A gradient that needs the gates; `entry` gives the formula in NumPy.

    The mistakes are texts with the gradients that would then be claimed, in either form.
    """

    def made() -> tuple[Mutation, ...]:
        return tuple(
            Mutation(
                text,
                statement=implies(GATES, GradientIs(*goal.args[:3], value)),
                counterexample=Example(ONE_UNIT_OPEN, no_gradient),
                twin=Twin(f"{what}: feed_forward_vjp and the formula with the mistake",
                          twin_of(formula)),
            )
            for text, value, formula in mistakes()
        )  # fmt: skip

    def prove(p: Prover) -> Theorem:
        return p.suppose(
            GATES, lambda gates: through_gates(p, gates, goal, place),
            "let no hidden unit of any token be at its kink, and call its gate $m$",
        )  # fmt: skip

    return Claim(
        id=f"feed-forward/{name}",
        title=title,
        source=Source(INTERVIEW, ("B39",), GRADIENT_SOURCE),
        statement=implies(GATES, goal),
        proof=prove,
        twin=Twin(f"{what}: feed_forward_vjp, complex steps and the formula", twin_of(entry)),
        mutations=made,
        remark=says,
        expected=Verdict.PROVED,
    )


GRADIENT_SOURCE = (
    "The two matrices are obtained by gradient descent; the gradients, and that they take units "
    "away from their kinks, are not written down."
)


def complex_slopes(loss: Callable[[Any], Any], at: Any) -> Any:
    """All partial derivatives by complex steps."""
    steps = np.empty(at.shape)
    for place in np.ndindex(at.shape):
        moved_ = at.astype(complex)
        moved_[place] += 1e-30j
        steps[place] = loss(moved_).imag / 1e-30
    return steps


def twin_of(entry: Formula) -> Callable[..., Iterator[Trial]]:
    def trials(rng: np.random.Generator) -> Iterator[Trial]:
        from numeric import FeedForwardWeights, feed_forward, feed_forward_vjp

        for w in networks(rng):
            tokens = rows_of(rng, w, 2)
            cotangent = rng.standard_normal((2, w.d_model))
            gates = (tokens @ w.w_1 + w.b_1 > 0).astype(float)
            name, claimed = entry(w, tokens, gates, cotangent)
            by_tokens, by_weights = feed_forward_vjp(tokens, w, cotangent)
            parts = {"w_1": w.w_1, "w_2": w.w_2, "b_1": w.b_1, "b_2": w.b_2}

            def loss(
                moved_: Any, w: Any = w, tokens: Any = tokens, g: Any = cotangent,
                name: str = name, parts: Any = parts,
            ) -> Any:  # fmt: skip
                if name == "x":
                    return (g * feed_forward(moved_, w)).sum()
                return (g * feed_forward(tokens, FeedForwardWeights(**{**parts, name: moved_}))
                        ).sum()  # fmt: skip

            got = by_tokens if name == "x" else getattr(by_weights, name)
            at = tokens if name == "x" else parts[name]
            yield agree(got, claimed, f"formula, width {w.d_model}")
            yield agree(complex_slopes(loss, at), claimed, f"complex steps, width {w.d_model}")

    return trials


BY_INPUT = gradient_claim(
    "gradient-input", "Gradient by the input",
    r"In columns, for every token: $\bar x = W_1^\top D\, W_2^\top g$ with the gates in the "
    r"diagonal matrix $D$. No other token enters.",
    GradientIs(
        batch_loss(), X, (t, c), total(times(W_1[j, c], behind_units(t, j)), j)
    ),
    (t, c),
    "the gradient by the tokens",
    lambda w, tokens, gates, g: ("x", (g @ w.w_2.T * gates) @ w.w_1.T),
    lambda: (
        (
            r"the gate is open where the unit is off",
            total(times(W_1[j, c], minus(1, M[t, j]), into_units(t, j)), j),
            lambda w, tokens, gates, g: ("x", (g @ w.w_2.T * (1 - gates)) @ w.w_1.T),
        ),
    ),
)  # fmt: skip

BY_FIRST = gradient_claim(
    "gradient-first-matrix", "Gradient by the first matrix",
    r"For one token $\bar W_1 = (D\,W_2^\top g)\,x^\top$; the tokens of a batch add up.",
    GradientIs(
        batch_loss(), W_1, (j, c), total(times(behind_units(t, j), X[t, c]), t)
    ),
    (j, c),
    "the gradient by the first matrix",
    lambda w, tokens, gates, g: ("w_1", tokens.T @ (g @ w.w_2.T * gates)),
    lambda: (
        (
            "the factor $x$ is left out",
            total(behind_units(t, j), t),
            lambda w, tokens, gates, g: (
                "w_1", np.ones_like(tokens).T @ (g @ w.w_2.T * gates)
            ),
        ),
    ),
)  # fmt: skip

BY_FIRST_BIAS = gradient_claim(
    "gradient-first-bias", "Gradient by the first bias",
    r"For one token $\bar b_1 = D\,W_2^\top g$.",
    GradientIs(batch_loss(), b_1, j, total(behind_units(t, j), t)),
    (j,),
    "the gradient by the first bias",
    lambda w, tokens, gates, g: ("b_1", (g @ w.w_2.T * gates).sum(axis=0)),
    lambda: (
        (
            "the gate is open where the unit is off",
            total(times(minus(1, M[t, j]), into_units(t, j)), t),
            lambda w, tokens, gates, g: ("b_1", (g @ w.w_2.T * (1 - gates)).sum(axis=0)),
        ),
    ),
)  # fmt: skip


def passed_on(token: Any, unit: Any) -> Any:
    return relu(before(row(X, token), unit))


def prove_second(p: Prover) -> Theorem:
    goal = BY_SECOND.statement
    raw = p.gradient(goal, reason="the output is linear in $W_2$; no kink is met")
    value = p.equal(p.partial(raw, a, j), goal.args[3], reason="the deltas leave one term")
    return p.note(p.with_partial(raw, value, a, j), "so this is the gradient")


def second_mutations() -> tuple[Mutation, ...]:
    shut = {**ONE_UNIT_OPEN, b_1: [-9]}
    return (
        Mutation(
            "ReLU is left out of what the units pass on",
            statement=GradientIs(
                batch_loss(), W_2, (a, j), total(times(G[t, a], before(row(X, t), j)), t)
            ),
            counterexample=Example(shut),
            twin=Twin(
                "the gradient by the second matrix against that formula",
                twin_of(lambda w, x_, gates, g: ("w_2", (x_ @ w.w_1 + w.b_1).T @ g)),
            ),
        ),
    )


BY_SECOND = Claim(
    id="feed-forward/gradient-second-matrix",
    title="Gradient by the second matrix",
    source=Source(INTERVIEW, ("B39",), GRADIENT_SOURCE),
    statement=GradientIs(
        batch_loss(), W_2, (a, j), total(times(G[t, a], passed_on(t, j)), t)
    ),
    proof=prove_second,
    twin=Twin(
        "the gradient by the second matrix: feed_forward_vjp, complex steps and the formula",
        twin_of(lambda w, x_, gates, g: ("w_2", np.maximum(x_ @ w.w_1 + w.b_1, 0).T @ g)),
    ),
    mutations=second_mutations,
    remark=r"For one token $\bar W_2 = g\,\mathrm{ReLU}(W_1 x + b_1)^\top$, also at the kinks.",
    expected=Verdict.PROVED,
)  # fmt: skip


def prove_second_bias(p: Prover) -> Theorem:
    goal = BY_SECOND_BIAS.statement
    raw = p.gradient(goal, reason="the bias is added to the output of every token")
    value = p.equal(p.partial(raw, a), goal.args[3], reason="the delta leaves one term")
    return p.note(p.with_partial(raw, value, a), "so this is the gradient")


BY_SECOND_BIAS = Claim(
    id="feed-forward/gradient-second-bias",
    title="Gradient by the second bias",
    source=Source(INTERVIEW, ("B39",), GRADIENT_SOURCE),
    statement=GradientIs(batch_loss(), b_2, a, total(G[t, a], t)),
    proof=prove_second_bias,
    twin=Twin(
        "the gradient by the second bias: feed_forward_vjp, complex steps and the formula",
        twin_of(lambda w, x_, gates, g: ("b_2", g.sum(axis=0))),
    ),
    expected=Verdict.PROVED,
)  # fmt: skip

row_gate = tensor("m", f)
ROW_GATES = forall(j, sided(before(row(X, t), j), row_gate[j]))


def jacobian(token: Any, out: Any, other: Any, entry: Any) -> Any:
    """delta_(token, other) (W_2 D W_1)_(out, entry)."""
    return times(one(token, other), total(times(W_2[out, j], row_gate[j], W_1[j, entry]), j))


def prove_jacobian(p: Prover) -> Theorem:
    z = before(row(X, t), j)

    def under(gates: Theorem) -> Theorem:
        law = p.note(root_law(p), "ReLU as a formula that the derivative table knows")
        away = p.for_all(square_positive(p, p.at(gates, j), z), j)
        p.note(away, "the root is not taken at 0, as no unit is there")
        output = network(row(X, t), a, root_form)
        raw = p.gradient(GradientIs(output, X, (s, c), 0), away)
        same = p.for_all_tensors(p.replace(output, law), X)
        slope = p.mp(p.at(slope_law(p), z, row_gate[j]), p.at(gates, j))
        p.note(slope, ROOT_SLOPE)
        gated_value = p.replace(p.partial(raw, s, c), p.for_all(slope, j))
        value = p.equal(
            gated_value.conclusion.children[1], jacobian(t, a, s, c),
            reason=r"only row $t$ of $X$ occurs, so its partial derivatives have a factor "
            r"$\delta_{ts}$",
        )  # fmt: skip
        whole = p.linked(gated_value, value)
        return p.for_all(p.with_function(p.with_partial(raw, whole, s, c), same), a)

    theorem = p.suppose(ROW_GATES, under, "let no hidden unit be at its kink in row $t$")
    how = (
        r"in matrices, with the gates in the diagonal matrix $D$: $W_2 D W_1$ for $s = t$, and 0 "
        "otherwise"
    )
    return p.note(p.for_all(theorem, t), how)


def output_entry(w: Any, token: int, out: int, first: Callable[[Any], Any]) -> Callable[[Any], Any]:
    from numeric import feed_forward

    return lambda tokens: feed_forward(first(tokens), w)[token, out]


def twin_jacobian(
    rng: np.random.Generator, first: Callable[[Any], Any] = lambda tokens: tokens
) -> Iterator[Trial]:
    """`first` is what the tokens pass in front of the network."""
    for w in networks(rng):
        tokens = rows_of(rng, w, 3)
        gates = (tokens @ w.w_1 + w.b_1 > 0).astype(float)
        for token in range(3):
            claimed = np.zeros((3, w.d_model, w.d_model))
            claimed[token] = (w.w_1 * gates[token]) @ w.w_2
            entries = [output_entry(w, token, q, first) for q in range(w.d_model)]
            measured = np.stack([complex_slopes(g, tokens) for g in entries], axis=-1)
            rest = np.arange(3) != token
            yield agree(measured[rest], claimed[rest], f"rows other than {token}")
            yield agree(measured, claimed, f"output {token}, width {w.d_model}")


def jacobian_mutations() -> tuple[Mutation, ...]:
    def batch_normalised(tokens: Any) -> Any:
        from numeric import batch_norm

        width = tokens.shape[-1]
        return batch_norm(tokens, np.ones(width), np.zeros(width), epsilon=0.1)

    every_row = total(times(W_2[a, j], row_gate[j], W_1[j, c]), j)
    two_tokens = {**ONE_UNIT_OPEN, n: 2, t: 0, a: 0, X: [[1], [1]], row_gate: [1]}
    del two_tokens[G], two_tokens[M]
    return (
        Mutation(
            "a position learns from every other one",
            statement=implies(ROW_GATES, GradientIs(network(row(X, t), a), X, (s, c), every_row)),
            counterexample=Example(two_tokens, no_gradient),
            twin=Twin(
                "partial derivatives of a network behind BatchNorm, which mixes the rows",
                lambda rng: twin_jacobian(rng, batch_normalised),
            ),
        ),
    )


JACOBIAN = Claim(
    id="feed-forward/jacobian",
    title="The Jacobian: no position looks at another",
    source=Source(
        INTERVIEW, ("B22",),
        "Attention has related the words to one another; the network works on the representation "
        "of each word. Its derivatives, and that they take units away from their kinks, are not "
        "written down.",
    ),
    statement=forall(
        t,
        implies(
            ROW_GATES,
            forall(a, GradientIs(network(row(X, t), a), X, (s, c), jacobian(t, a, s, c))),
        ),
    ),
    proof=prove_jacobian,
    twin=Twin("all partial derivatives by complex steps", twin_jacobian),
    mutations=jacobian_mutations,
    remark=r"What position $t$ learns of position $s$ it learns from attention.",
    expected=Verdict.PROVED,
)  # fmt: skip

# ---------------------------------------------------------------------- the start of training

ALL_ZERO = both(
    forall([j, c], equal(W_1[j, c], 0)),
    forall(j, equal(b_1[j], 0)),
    forall([a, j], equal(W_2[a, j], 0)),
)
ZERO_GRADIENTS = (
    GradientIs(batch_loss(), W_1, (j, c), 0),
    GradientIs(batch_loss(), b_1, j, 0),
    GradientIs(batch_loss(), W_2, (a, j), 0),
    GradientIs(batch_loss(), b_2, a, total(G[t, a], t)),
)


def without_units(p: Prover, second: Theorem, goal: Any) -> Theorem:
    """With W_2 = 0 the loss is a constant in W_1 and in b_1."""
    only_bias = total(times(G[t, a], b_2[a]), t, a)
    with p.supposing(second.conclusion) as vanishing:
        constant = p.equal(only_bias, batch_loss(), vanishing, show=False)
        law = p.discharge(p.for_all_tensors(constant, goal.args[1]), vanishing)
    flat = p.gradient(GradientIs(only_bias, *goal.args[1:]))
    same = p.note(
        p.mp(law, second),
        f"with $W_2 = 0$ the output is $b_2$, whatever ${latex.name(str(goal.args[1].label))}$ is",
    )
    return p.note(p.with_function(flat, same), "a constant, which has the gradient 0")


def prove_zero_gradients(p: Prover) -> Theorem:
    def at_zero(case: Theorem) -> Theorem:
        first, bias, second = (p.part(case, q) for q in range(3))
        parts = [without_units(p, second, goal) for goal in ZERO_GRADIENTS[:2]]
        silent = p.equal(
            before(row(X, t), j),
            0,
            first,
            bias,
            reason="with $W_1 = 0$ and $b_1 = 0$ no hidden unit receives anything",
        )
        idle = p.replace(passed_on(t, j), silent)
        raw = p.gradient(ZERO_GRADIENTS[2])
        gone = p.replace(p.partial(raw, a, j), p.for_all(idle, t, j))
        none = p.equal(gone.conclusion.children[1], 0, show=False)
        whole = p.linked(gone, none)
        parts.append(p.note(p.with_partial(raw, whole, a, j), "and passes nothing on to $W_2$"))
        last = p.gradient(ZERO_GRADIENTS[3])
        value = p.equal(p.partial(last, a), total(G[t, a], t), show=False)
        parts.append(p.note(p.with_partial(last, value, a), "only $b_2$ has a gradient"))
        return p.both(*parts)

    return p.suppose(ALL_ZERO, at_zero, "let all weights but $b_2$ be 0")


def zero_start(rng: np.random.Generator, width: int, hidden: int) -> Any:
    from numeric import FeedForwardWeights

    zero = zero_network(width, hidden)
    return FeedForwardWeights(zero.w_1, zero.w_2, zero.b_1, rng.standard_normal(width))


Start = Callable[[np.random.Generator, int, int], Any]


def twin_zero_gradients(rng: np.random.Generator, start: Start | None = None) -> Iterator[Trial]:
    from numeric import feed_forward_vjp

    for width, hidden in SIZES:
        tokens, cotangent = rng.standard_normal((2, 3, width))
        w = (start or zero_start)(rng, width, hidden)
        _, slopes = feed_forward_vjp(tokens, w, cotangent)
        for name in ("w_1", "b_1", "w_2"):
            yield agree(getattr(slopes, name), np.zeros_like(getattr(w, name)), name)
        yield agree(slopes.b_2, cotangent.sum(axis=0), "b_2")


def zero_mutations() -> tuple[Mutation, ...]:
    def first_matrix_random(rng: np.random.Generator, width: int, hidden: int) -> Any:
        from numeric import FeedForwardWeights

        zero = zero_start(rng, width, hidden)
        return FeedForwardWeights(rng.standard_normal(zero.w_1.shape), zero.w_2, zero.b_1, zero.b_2)

    zero = {**ONE_UNIT_OPEN, W_1: [[0]], W_2: [[0]]}
    return (
        Mutation(
            "it is enough that $W_2$ is zero",
            statement=implies(both(ALL_ZERO.args[1], ALL_ZERO.args[2]), ZERO_GRADIENTS[2]),
            counterexample=Example({**zero, W_1: [[1]]}),
            twin=Twin(
                "feed_forward_vjp where only $W_2$ and the first bias are zero",
                lambda rng: twin_zero_gradients(rng, first_matrix_random),
            ),
        ),
    )


ZERO_START = Claim(
    id="feed-forward/zero-gradients",
    title="At zero only the last bias has a gradient",
    source=Source(
        INTERVIEW, ("B39",),
        "The matrices are initialised at random and then learned by gradient descent; here they "
        "are 0 instead.",
    ),
    statement=implies(ALL_ZERO, both(*ZERO_GRADIENTS)),
    proof=prove_zero_gradients,
    twin=Twin("feed_forward_vjp at zero weights", twin_zero_gradients),
    mutations=zero_mutations,
    remark="These are true derivatives, though every hidden unit is at its kink: the output does "
    r"not depend on the units while $W_2 = 0$.",
    expected=Verdict.PROVED,
)  # fmt: skip

l = natural("l")
slope = sp.Function("D")
rate = sequence("eta")
W_1s, b_1s = sequence("W_1", f, d), sequence("b_1", f)
W_2s = sequence("W_2", d, f)
Xs, Gs = sequence("X", n, d), sequence("G", n, d)


def received(step: Any, token: Any, unit: Any) -> Any:
    return plus(total(times(W_1s[step, unit, c], Xs[step, token, c]), c), b_1s[step, unit])


def sent_back(step: Any, token: Any, unit: Any) -> Any:
    """The slope at what the unit received, times (W_2^T g)_unit."""
    back = total(times(W_2s[step, a, unit], Gs[step, token, a]), a)
    return times(slope(received(step, token, unit)), back)


def moved_by(old: Any, gradient: Any) -> Any:
    return minus(old, times(rate[l], gradient))


DESCENT = (
    Given(
        forall(
            [l, j, c],
            equal(W_1s[l + 1, j, c],
                  moved_by(W_1s[l, j, c], total(times(sent_back(l, t, j), Xs[l, t, c]), t))),
        ),
        r"gradient descent at a rate $\eta_l$; $D$ is the slope of ReLU, with any value at 0",
    ),
    Given(
        forall([l, j], equal(b_1s[l + 1, j], moved_by(b_1s[l, j], total(sent_back(l, t, j), t)))),
        "the same for the first bias",
    ),
    Given(
        forall(
            [l, a, j],
            equal(W_2s[l + 1, a, j],
                  moved_by(W_2s[l, a, j], total(times(Gs[l, t, a], relu(received(l, t, j))), t))),
        ),
        "and for the second matrix; the batch and the cotangents may change with every step",
    ),
)  # fmt: skip


def nothing(step: Any) -> Any:
    """All weights but the last bias are 0."""
    return both(
        forall([j, c], equal(W_1s[step, j, c], 0)),
        forall(j, equal(b_1s[step, j], 0)),
        forall([a, j], equal(W_2s[step, a, j], 0)),
    )


def prove_stays_zero(p: Prover) -> Theorem:
    def step(case: Theorem) -> Theorem:
        first, bias, second = (p.part(case, q) for q in range(3))
        p.note(case, "suppose that they are 0 after $l$ steps")
        up = p.equal(
            W_1s[l + 1, j, c], 0, p.hyp(0), first, second,
            reason="the gradient of $W_1$ has the factor $W_2 = 0$",
        )  # fmt: skip
        shift = p.equal(
            b_1s[l + 1, j], 0, p.hyp(1), bias, second, reason="and so has that of $b_1$"
        )
        silent = p.equal(received(l, t, j), 0, first, bias, show=False)
        nothing = p.replace(relu(received(l, t, j)), silent)
        idle = p.equal(relu(received(l, t, j)), 0, nothing, reason="no unit passes anything on")
        update = p.at(p.hyp(2), l, a, j)
        idle_update = p.replace(update.conclusion.children[1], p.for_all(idle, t, j))
        stays = p.equal(idle_update.conclusion.children[1], 0, second, show=False)
        down = p.note(p.linked(update, idle_update, stays), "so the gradient of $W_2$ is 0, too")
        return p.both(p.for_all(up, j, c), p.for_all(shift, j), p.for_all(down, a, j))

    def from_start(start: Theorem) -> Theorem:
        with p.supposing(nothing(l)) as case:
            one_more = step(case)
        return p.note(
            p.induction(start, p.discharge(one_more, case), l), "by induction over the steps"
        )

    return p.suppose(nothing(0), from_start, "let all weights but $b_2$ be 0 at the start")


def descended(rng: np.random.Generator, w: Any, steps: int) -> Any:
    """The weights after some steps of gradient descent with random batches and cotangents."""
    from numeric import FeedForwardWeights, feed_forward_vjp

    for _ in range(steps):
        tokens, cotangent = rng.standard_normal((2, 4, w.d_model))
        _, slopes = feed_forward_vjp(tokens, w, cotangent)
        pairs = ((getattr(w, q), getattr(slopes, q)) for q in ("w_1", "w_2", "b_1", "b_2"))
        w = FeedForwardWeights(*(old - 0.3 * g for old, g in pairs))
    return w


def twin_stays_zero(
    rng: np.random.Generator, moving: tuple[str, ...] = ("b_2",)
) -> Iterator[Trial]:
    for width, hidden in SIZES:
        w = zero_start(rng, width, hidden)
        after = descended(rng, w, 4)
        for name in ("w_1", "b_1", "w_2", "b_2"):
            old, new = getattr(w, name), getattr(after, name)
            if name in moving:
                yield differs(new, old, by=1e-9, what=f"{name} moves")
            else:
                yield agree(new, np.zeros_like(old), name)


def zero_start_mutations() -> tuple[Mutation, ...]:
    moves = negation(forall([j, c], equal(W_1s[1, j, c], 0)))
    one_everywhere = (sequence("D"), rate, Xs, Gs)
    zero_everywhere = (W_1s, b_1s, W_2s)
    return (
        Mutation(
            "$W_1$ learns in the first step",
            statement=implies(nothing(0), moves),
            counterexample=Example(
                {
                    n: 1, d: 1, f: 1,
                    **{x: Lam(len(x.shape), T.ONE) for x in one_everywhere},
                    **{x: Lam(len(x.shape), T.ZERO) for x in zero_everywhere},
                }
            ),
            twin=Twin(
                "whether the first matrix moves in steps of gradient descent from zero",
                lambda rng: twin_stays_zero(rng, ("b_2", "w_1")),
            ),
        ),
    )  # fmt: skip


STAYS_ZERO = Claim(
    id="feed-forward/zero-start",
    title="From zero, training moves one bias only",
    source=Source(
        INTERVIEW, ("B39",),
        "The matrices are initialised at random and then learned by gradient descent; here they "
        "start at 0 instead.",
    ),
    statement=implies(nothing(0), forall(l, nothing(l))),
    given=DESCENT,
    proof=prove_stays_zero,
    twin=Twin("weights after steps of gradient descent from zero", twin_stays_zero),
    mutations=zero_start_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip


def alike(step: Any) -> Any:
    """Units j and k have the same weights."""
    return both(
        forall(c, equal(W_1s[step, j, c], W_1s[step, k, c])),
        equal(b_1s[step, j], b_1s[step, k]),
        forall(a, equal(W_2s[step, a, j], W_2s[step, a, k])),
    )


def prove_stay_alike(p: Prover) -> Theorem:
    def step(case: Theorem) -> Theorem:
        first, bias, second = (p.part(case, q) for q in range(3))
        p.note(case, "suppose that units $j$ and $k$ are alike after $l$ steps")
        same = p.equal(received(l, t, j), received(l, t, k), first, bias,
                       reason="then they receive the same")  # fmt: skip
        pairs = [p.replace(g, same) for g in (slope(received(l, t, j)), relu(received(l, t, j)))]
        both_ = p.note(
            p.both(*(p.for_all(pair, t) for pair in pairs)),
            "have the same slope and pass on the same",
        )
        equal_slopes, equal_outputs = p.part(both_, 0), p.part(both_, 1)
        up = after_step(p, p.at(p.hyp(0), l), (j, c), (k, c), equal_slopes, first, second)
        shift = after_step(p, p.at(p.hyp(1), l), (j,), (k,), equal_slopes, bias, second)
        down = after_step(p, p.at(p.hyp(2), l), (a, j), (a, k), equal_outputs, second)
        return p.note(
            p.both(p.for_all(up, c), shift, p.for_all(down, a)),
            "so they have equal gradients, and stay alike",
        )

    def from_start(start: Theorem) -> Theorem:
        with p.supposing(alike(l)) as case:
            one_more = step(case)
        return p.note(
            p.induction(start, p.discharge(one_more, case), l), "by induction over the steps"
        )

    return p.suppose(alike(0), from_start, "let the two units be alike at the start")


def after_step(
    p: Prover, update: Theorem, place: tuple[Any, ...], other: tuple[Any, ...],
    within: Theorem, *using: Theorem,
) -> Theorem:  # fmt: skip
    """The weights at the two places are equal after an update."""
    here, there = p.at(update, *place), p.at(update, *other)
    changed = p.replace(here.conclusion.children[1], within)
    same = p.equal(changed.conclusion.children[1], there.conclusion.children[1], *using, show=False)
    x_ = there.conclusion.children[0]
    back = p.rewrite(there, p.equal(x_, x_, show=False), lambda y: T.eq(y, x_))
    return p.linked(here, changed, same, back)


def twins_units(rng: np.random.Generator, width: int, hidden: int) -> Any:
    """Random weights in which the first and the last hidden unit are alike."""
    from numeric import FeedForwardWeights

    w: Any = FeedForwardWeights.init(rng, width, hidden)
    for array in (w.w_1.T, w.w_2, w.b_1):
        array[-1] = array[0]
    return w


def twin_stay_alike(rng: np.random.Generator) -> Iterator[Trial]:
    from numeric import FeedForwardWeights

    for width, hidden in ((3, 5), (4, 2), (1, 3)):
        w = descended(rng, twins_units(rng, width, hidden), 5)
        for array, name in ((w.w_1.T, "w_1"), (w.w_2, "w_2"), (w.b_1, "b_1")):
            yield agree(array[-1], array[0], name)
        other = descended(rng, FeedForwardWeights.init(rng, width, hidden), 5)
        yield differs(other.w_1.T[-1], other.w_1.T[0], by=1e-6, what="random units")


STAY_ALIKE = Claim(
    id="feed-forward/equal-units",
    title="Equal units stay equal",
    source=Source(
        INTERVIEW, ("B39",),
        "The matrices are initialised at random and then learned by gradient descent; here two "
        "hidden units start with the same weights.",
    ),
    statement=implies(alike(0), forall(l, alike(l))),
    given=DESCENT,
    proof=prove_stay_alike,
    twin=Twin("two equal units after steps of gradient descent", twin_stay_alike),
    remark="Training cannot tell them apart, whatever the loss, the batches and the rates are. "
    "Random weights do.",
    expected=Verdict.PROVED,
)  # fmt: skip

SAME_UNITS = both(
    forall([j, c], equal(W_1[j, c], W_1[k, c])),
    forall(j, equal(b_1[j], b_1[k])),
    forall([a, j], equal(W_2[a, j], W_2[a, k])),
)


def prove_one_unit(p: Prover) -> Theorem:
    def under(case: Theorem) -> Theorem:
        first, bias, second = (p.part(case, q) for q in range(3))
        same = p.equal(
            before(row(x), j), before(row(x), k), p.at(first, j), p.at(bias, j),
            reason="every unit receives what unit $k$ does",
        )  # fmt: skip
        active = p.for_all(p.note(under_relu(p, same), "and passes on what it does"), j)
        changed = p.replace(network(row(x), a), active, p.at(second, a))
        value = p.equal(changed.conclusion.children[1], single_unit(a), show=False)
        return p.for_all(p.note(p.linked(changed, value), "all weights are equal: add them up"), a)

    return p.suppose(SAME_UNITS, under, "let all hidden units have the weights of unit $k$")


def single_unit(out: Any) -> Any:
    return plus(times(f, W_2[out, k], relu(before(row(x), k))), b_2[out])


def twin_one_unit(rng: np.random.Generator) -> Iterator[Trial]:
    from numeric import FeedForwardWeights, feed_forward

    for width, hidden in SIZES:
        one_: Any = FeedForwardWeights.init(rng, width, 1)
        many = FeedForwardWeights(
            np.repeat(one_.w_1, hidden, axis=1), np.repeat(one_.w_2, hidden, axis=0),
            np.repeat(one_.b_1, hidden), one_.b_2,
        )  # fmt: skip
        scaled = FeedForwardWeights(one_.w_1, hidden * one_.w_2, one_.b_1, one_.b_2)
        tokens = rng.standard_normal((4, width))
        yield agree(feed_forward(tokens, many), feed_forward(tokens, scaled), f"{hidden} units")


ONE_UNIT = Claim(
    id="feed-forward/one-unit",
    title="Equal units are worth one",
    source=Source(
        INTERVIEW, ("B39",),
        "The matrices are initialised at random; here all hidden units have the same weights.",
    ),
    statement=implies(SAME_UNITS, forall(a, equal(network(row(x), a), single_unit(a)))),
    proof=prove_one_unit,
    twin=Twin("a network of equal units against one unit", twin_one_unit),
    expected=Verdict.PROVED,
)  # fmt: skip

TRAINING = Claim(
    id="feed-forward/training",
    title="Learned, not derived",
    source=Source(
        INTERVIEW, ("B39",),
        "The matrices that widen and narrow are obtained automatically: random initialisation, "
        "then gradient descent.",
    ),
    reason="This describes a procedure; it asserts no property of the matrices that come out. What "
    "can be proved is what the gradients are, and what happens without the random start.",
    expected=Verdict.NOT_MATHEMATICAL,
)  # fmt: skip

CLAIMS = (
    BY_INPUT,
    BY_FIRST,
    BY_FIRST_BIAS,
    BY_SECOND,
    BY_SECOND_BIAS,
    JACOBIAN,
    ZERO_START,
    STAYS_ZERO,
    STAY_ALIKE,
    ONE_UNIT,
    TRAINING,
)

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
