r"""The backward passes of softmax, its logarithm, cross-entropy and linear layers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from derive.claim import Claim, Given
from derive.claims._backward import (
    Case,
    Draw,
    Mistakes,
    backward_claim,
    by_table,
    defined_as,
    in_form,
    normal,
    paired,
)
from derive.claims._softmax import delta, exp, log
from derive.kernel.rules import Theorem
from derive.language import (
    GradientIs,
    IsInteger,
    at_most,
    both,
    dims,
    equal,
    forall,
    index,
    minus,
    over,
    plus,
    tensor,
    times,
    total,
)
from derive.prover import Prover

ORDER = 70
TOPIC = "backward"

n, m = dims("n m")
t = index("t", n)
i, j, u = (index(name, m) for name in "iju")
Z, P, G, Y = (tensor(name, n, m) for name in "ZPGY")
w, C = tensor("w", n), tensor("c", n)

#: rows and entries; no two alike, then one entry, one row
SHAPES = ((3, 5), (2, 4), (4, 1), (1, 3))

# ---------------------------------------------------------------------- softmax


def softmax(i: Any) -> Any:
    """Entry i of the softmax of row t."""
    return over(exp(Z[t, i]), total(exp(Z[t, u]), u))


def log_softmax(i: Any) -> Any:
    return log(softmax(i))


PROBABILITIES = defined_as(P, (t, i), softmax(i), "row $t$ of $P$ is the softmax of row $t$ of $Z$")
ONE_ENTRY = "the deltas leave one row and one entry; the quotients are entries of $P$"

SOFTMAX_GOAL = GradientIs(
    total(times(G[t, i], softmax(i)), t, i), Z, (t, j),
    times(P[t, j], minus(G[t, j], total(times(P[t, i], G[t, i]), i))),
)  # fmt: skip


def draw_softmax(rng: np.random.Generator) -> Iterator[Case]:
    from numeric import softmax, softmax_vjp

    for shape in SHAPES:
        logits, cotangent = normal(rng, shape, shape)
        logits *= 3
        output, gradient = softmax(logits), softmax_vjp(logits, cotangent)
        yield Case({Z: logits, G: cotangent}, paired(cotangent, output), gradient)


SOFTMAX = backward_claim(
    "softmax", "Softmax: backward",
    r"`softmax_vjp` returns, row by row, $p \odot (g - p^\top g)$ with $p$ for the softmax "
    "of the row and $g$ for its cotangent.",
    SOFTMAX_GOAL, by_table(SOFTMAX_GOAL, "quotient rule", ONE_ENTRY, 0), draw_softmax,
    given=(PROBABILITIES,),
    mistakes=lambda: (
        ("no mean of the cotangent is taken away", times(P[t, j], G[t, j])),
        ("the mean is a plain one",
         times(P[t, j], minus(G[t, j], over(total(G[t, i], i), m)))),
    ),
)  # fmt: skip

LOG_SOFTMAX_GOAL = GradientIs(
    total(times(G[t, i], log_softmax(i)), t, i), Z, (t, j),
    minus(G[t, j], times(P[t, j], total(G[t, i], i))),
)  # fmt: skip


def draw_log_softmax(rng: np.random.Generator) -> Iterator[Case]:
    from numeric import log_softmax, log_softmax_vjp

    for shape in SHAPES:
        logits, cotangent = normal(rng, shape, shape)
        output, gradient = log_softmax(logits), log_softmax_vjp(logits, cotangent)
        yield Case({Z: logits, G: cotangent}, paired(cotangent, output), gradient)


BOTTOM = total(exp(Z[t, u]), u)


def prove_log_softmax(p: Prover) -> Theorem:
    raw = p.gradient(LOG_SOFTMAX_GOAL, reason="chain and quotient rule")
    summed = total(G[t, i], i)
    return in_form(
        p, raw, LOG_SOFTMAX_GOAL, ONE_ENTRY,
        (minus(G[t, j], times(summed, softmax(j))), p.cancel(BOTTOM)),
        (summed, p.at(p.hyp(0), t, j)),
    )  # fmt: skip


LOG_SOFTMAX = backward_claim(
    "log-softmax", "Logarithm of softmax: backward",
    r"`log_softmax_vjp` returns, row by row, $g - (\mathbf{1}^\top g)\,p$ with $p$ for the softmax "
    "of the row and $g$ for its cotangent.",
    LOG_SOFTMAX_GOAL, prove_log_softmax, draw_log_softmax, given=(PROBABILITIES,),
)  # fmt: skip

# ---------------------------------------------------------------------- cross-entropy

Target = Callable[[Any], Any]


def entropy(target: Target) -> Any:
    """The cross-entropy of every row with its target, times the weight of the row."""
    of_row = total(times(target(i), log_softmax(i)), i)
    return total(times(w[t], times(-1, of_row)), t)


def cross_entropy_goal(target: Target) -> GradientIs:
    """The gradient by the logits, where the targets of a row sum to 1."""
    return GradientIs(entropy(target), Z, (t, j), times(w[t], minus(P[t, j], target(j))))


def prove_cross_entropy(p: Prover, target: Target, one: Theorem) -> Theorem:
    """`one` says that the target of row t sums to 1."""
    goal = cross_entropy_goal(target)
    raw = p.gradient(goal, reason="chain and quotient rule")
    summed = total(target(i), i)
    return in_form(
        p, raw, goal, "the deltas leave one row; quotients are entries of $P$, and the target sums "
        "to 1",
        (times(w[t], minus(times(summed, softmax(j)), target(j))), p.cancel(BOTTOM)),
        (times(w[t], softmax(j)), one),
        (times(-1, w[t]), p.at(p.hyp(1), t, j)),
    )  # fmt: skip


def a_distribution(i: Any) -> Any:
    return Y[t, i]


def one_hot(i: Any) -> Any:
    return delta(i, C[t])


SUMS_TO_ONE = Given(
    forall(t, equal(total(Y[t, i], i), 1)), "the target of a row sums to 1"
)  # fmt: skip
CLASS_NUMBERS = Given(
    forall(t, both(IsInteger(C[t]), at_most(0, C[t]), at_most(plus(C[t], 1), m))),
    "$c_t$ is the number of a class, counted from 0",
)


def prove_distribution(p: Prover) -> Theorem:
    return prove_cross_entropy(p, a_distribution, p.at(p.hyp(0), t))


def prove_class(p: Prover) -> Theorem:
    known = p.at(p.hyp(0), t)
    for part in range(3):
        p.fact(p.part(known, part))
    one = p.equal(
        total(one_hot(i), i), 1, reason="$c_t$ is one of the indices, so one term is 1"
    )  # fmt: skip
    return prove_cross_entropy(p, one_hot, one)


def draw_distribution(rng: np.random.Generator) -> Iterator[Case]:
    """The cross-entropy is the product of the targets with the logarithm of the softmax."""
    from numeric import log_softmax, log_softmax_vjp, softmax

    for shape in SHAPES:
        logits, targets, weights = normal(rng, shape, shape, shape[:1])
        targets = softmax(targets)
        cotangent = -weights[:, None] * targets
        yield Case(
            {Z: logits, Y: targets, w: weights}, paired(cotangent, log_softmax(logits)),
            log_softmax_vjp(logits, cotangent),
        )  # fmt: skip


def draw_class(rng: np.random.Generator) -> Iterator[Case]:
    from numeric import cross_entropy, cross_entropy_vjp

    for shape in SHAPES:
        logits, weights = normal(rng, shape, shape[:1])
        classes = rng.integers(0, shape[1], shape[0])
        weights, cotangent = np.abs(weights), rng.standard_normal()
        options = {"token_weights": weights, "reduction": "sum"}
        output = cotangent * cross_entropy(logits, classes, **options)
        gradient = cross_entropy_vjp(logits, classes, cotangent, **options)
        yield Case({Z: logits, C: classes, w: cotangent * weights}, output, gradient)


CROSS_ENTROPY = backward_claim(
    "cross-entropy", "Cross-entropy behind softmax: backward, with class numbers",
    "`cross_entropy_vjp` returns for token $t$ its weight times $p_t$ minus the unit vector of its "
    "class $c_t$, where $p_t$ is the softmax of its logits.",
    cross_entropy_goal(one_hot), prove_class, draw_class, given=(CLASS_NUMBERS, PROBABILITIES),
    mistakes=lambda: (
        ("divided by the number of tokens once more",
         over(times(w[t], minus(P[t, j], one_hot(j))), n),
         {n: 2, m: 2, Z: [[0, 0], [0, 0]], C: [0, 0], w: [1, 1]}),
        ("the weights of the tokens are left out", minus(P[t, j], one_hot(j))),
    ),
    remark="With the mean over tokens the weights are divided by their sum; a token that does not "
    "count has the weight 0.",
)  # fmt: skip
DISTRIBUTION = backward_claim(
    "cross-entropy-distribution", "Cross-entropy behind softmax: backward, with distributions",
    r"The product of a target $y$ with the logarithm of the softmax has, by `log_softmax_vjp`, "
    "the gradient $p - y$ up to sign and weight, where $y$ sums to 1.",
    cross_entropy_goal(a_distribution), prove_distribution, draw_distribution,
    given=(SUMS_TO_ONE, PROBABILITIES),
    remark="The entries of $y$ may have any sign. Label smoothing is of this kind.",
)  # fmt: skip

# ---------------------------------------------------------------------- linear layers

d_in, d_out = dims("d_in d_out")
a, b, q = index("a", d_in), index("b", d_out), index("q", n)
X, W, bias = tensor("X", n, d_in), tensor("W", d_in, d_out), tensor("b", d_out)
H = tensor("G", n, d_out)
LINEAR = total(times(H[t, b], plus(total(times(X[t, a], W[a, b]), a), bias[b])), t, b)


def draw_linear(which: int) -> Draw:
    def cases(rng: np.random.Generator) -> Iterator[Case]:
        from numeric import linear, linear_vjp

        for rows, width, columns in ((3, 5, 2), (1, 2, 4), (4, 1, 3), (2, 3, 1)):
            x, weight, b, cotangent = normal(
                rng, (rows, width), (width, columns), (columns,), (rows, columns)
            )
            output = linear(x, weight, b)
            gradient = linear_vjp(x, weight, b, cotangent)[which]
            values = {X: x, W: weight, bias: b, H: cotangent}
            yield Case(values, paired(cotangent, output), gradient)

    return cases


def linear_claim(
    name: str,
    title: str,
    formula: str,
    goal: GradientIs,
    which: int,
    mistakes: Mistakes | None = None,
) -> Claim:
    return backward_claim(
        f"linear-{name}", f"Linear layer: backward to {title}",
        f"`linear_vjp` returns ${formula}$ as the gradient by {title}.", goal,
        by_table(goal, f"the output is linear in {title}", "the deltas leave one term"),
        draw_linear(which), mistakes=mistakes,
    )  # fmt: skip


LINEAR_CLAIMS = (
    linear_claim(
        "input", "the input", r"G\,W^\top",
        GradientIs(LINEAR, X, (q, a), total(times(H[q, b], W[a, b]), b)), 0,
    ),
    linear_claim(
        "weight", "$W$", r"X^\top G",
        GradientIs(LINEAR, W, (a, b), total(times(X[t, a], H[t, b]), t)), 1,
    ),
    linear_claim(
        "bias", "$b$", r"\mathbf{1}^\top G", GradientIs(LINEAR, bias, b, total(H[t, b], t)), 2,
        lambda: (("the mean over the rows", over(total(H[t, b], t), n)),
                 ("the first row only", H[0, b])),
    ),
)  # fmt: skip

CLAIMS = (SOFTMAX, LOG_SOFTMAX, CROSS_ENTROPY, DISTRIBUTION, *LINEAR_CLAIMS)

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
