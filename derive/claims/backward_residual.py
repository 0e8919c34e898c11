r"""The backward pass of a residual block, without a norm and with one behind or before the branch.

Sublayer and norm may be any differentiable functions; the entries of all tokens stand in one
vector x.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from derive.claim import Claim, Given
from derive.claims._backward import Case, Draw, Mistakes, backward_claim, by_table, paired
from derive.evaluate import Smooth
from derive.language import (
    Differentiable,
    GradientIs,
    VectorFunction,
    dims,
    forall,
    index,
    plus,
    tensor,
    times,
    total,
)

ORDER = 75
TOPIC = "backward"

Entry = Callable[[Any], Any]

(size,) = dims("n")
i, j, k, o = (index(name, size) for name in "ijko")
x, g = tensor("x", size), tensor("g", size)
f, norm = VectorFunction("f", size, size), VectorFunction("N", size, size)


def back(function: VectorFunction, at: Any, cotangent: Entry, place: Any, summed: Any) -> Any:
    """The vjp of a function: what it passes back to an entry of its argument."""
    return total(times(cotangent(summed), function.partial(at)[summed, place]), summed)


def smooth(function: VectorFunction, at: Any, note: str) -> Given:
    return Given(forall(k, Differentiable(function(at)[k])), note)


def added(i: Any) -> Any:
    return plus(x[i], f(x)[i])


def normed(i: Any) -> Any:
    return norm(x)[i]


def behind_norm(i: Any) -> Any:
    """The gradient by the sum that enters the norm."""
    return back(norm, added, g.__getitem__, i, k)


def behind_branch(i: Any) -> Any:
    """The gradient by the normed input of the branch."""
    return back(f, normed, g.__getitem__, i, k)


DELTAS = "the deltas leave what passes the branch by, and the vjp of the branch"

# ---------------------------------------------------------------------- the implementation


def smooth_values(function: Callable[[Any], Any], shape: tuple[int, ...]) -> Smooth:
    """A function of all tokens as one of a vector; its derivatives by complex steps."""

    def value(v: Any) -> Any:
        return function(v.reshape(shape)).ravel()

    def slopes(v: Any) -> Any:
        steps = v + 1e-30j * np.eye(len(v))
        return np.stack([value(step).imag / 1e-30 for step in steps], axis=-1)

    return Smooth(value, slopes)


def draw(kind: str) -> Draw:
    """A feed-forward network as the branch, and LayerNorm."""

    def cases(rng: np.random.Generator) -> Iterator[Case]:
        import numeric

        def layer_norm(x: Any, weights: Any) -> Any:
            gamma, beta = weights
            return numeric.layer_norm(x, gamma, beta, epsilon=0.1)

        def layer_norm_vjp(x: Any, weights: Any, cotangent: Any) -> Any:
            gamma, beta = weights
            by_x, *others = numeric.layer_norm_vjp(x, gamma, beta, cotangent, epsilon=0.1)
            return by_x, tuple(others)

        branch = numeric.Sublayer(numeric.feed_forward, numeric.feed_forward_vjp)
        layer = numeric.Sublayer(layer_norm, layer_norm_vjp)
        for shape in ((3, 2), (1, 4), (2, 1)):
            w = numeric.FeedForwardWeights.init(rng, shape[1], 5)
            point, cotangent = rng.standard_normal((2, *shape))
            parts: tuple[Any, ...] = (branch, point, w)
            if kind != "residual":
                gains = tuple(rng.standard_normal((2, shape[1])))
                parts = (branch, layer, point, w, gains)
            output = getattr(numeric, kind)(*parts)
            gradient = getattr(numeric, f"{kind}_vjp")(*parts, cotangent)[0]
            values: dict[Any, Any] = {x: point.ravel(), g: cotangent.ravel()}
            values["f"] = smooth_values(partial(numeric.feed_forward, weights=w), shape)
            if kind != "residual":
                values["N"] = smooth_values(partial(layer_norm, weights=gains), shape)
            yield Case(values, paired(cotangent, output), gradient.ravel())

    return cases


# ---------------------------------------------------------------------- claims


def claim(
    kind: str, title: str, says: str, output: Entry, value: Any, given: tuple[Given, ...],
    mistakes: Mistakes,
) -> Claim:  # fmt: skip
    goal = GradientIs(total(times(g[i], output(i)), i), x, o, value)
    return backward_claim(
        f"{kind.replace('_', '-')}-input", f"{title}: backward to the input",
        f"`{kind}_vjp` returns as the gradient by $x$ {says}.",
        goal, by_table(goal, "sum and chain rule", DELTAS), draw(kind), given=given,
        mistakes=mistakes,
    )  # fmt: skip


RESIDUAL = claim(
    "residual", "Residual block", "the cotangent plus what the sublayer passes back", added,
    plus(g[o], back(f, x, g.__getitem__, o, k)),
    (smooth(f, x, "the sublayer is differentiable at $x$"),),
    lambda: (("the path past the sublayer is forgotten", back(f, x, g.__getitem__, o, k)),),
)  # fmt: skip
POST_NORM = claim(
    "post_norm", "Post-norm block",
    "that of the residual block for what the norm passes back from its output",
    lambda i: norm(added)[i],
    plus(behind_norm(o), back(f, x, behind_norm, o, j)),
    (
        smooth(f, x, "the sublayer is differentiable at $x$"),
        smooth(norm, added, "and the norm at $x + f(x)$"),
    ),
    lambda: (("one path passes the norm by", plus(g[o], back(f, x, behind_norm, o, j))),),
)  # fmt: skip
PRE_NORM = claim(
    "pre_norm", "Pre-norm block",
    "the cotangent plus what the sublayer and then the norm pass back",
    lambda i: plus(x[i], f(normed)[i]),
    plus(g[o], back(norm, x, behind_branch, o, j)),
    (
        smooth(norm, x, "the norm is differentiable at $x$"),
        smooth(f, normed, "and the sublayer at the normed $x$"),
    ),
    lambda: (("the norm is forgotten on the way back", plus(g[o], behind_branch(o))),),
)  # fmt: skip

CLAIMS = (RESIDUAL, POST_NORM, PRE_NORM)

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
