"""Past the network: when the sum of input and network loses nothing.

The interview note speaks of a loss in the activation function.  A feed-forward network narrows
again, so that it does lose; but its output is added to its input, and the sum can be undone if the
network moves points less far apart than they were.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import sympy as sp

from derive.claim import Claim, Example, Mutation
from derive.claims import INTERVIEW
from derive.kernel.rules import Theorem, infer
from derive.language import (
    at_most,
    both,
    dim,
    equal,
    forall,
    implies,
    index,
    less,
    minus,
    plus,
    power,
    real,
    tensor,
    times,
    total,
)
from derive.prover import Prover
from derive.result import Source, Verdict
from derive.twin import Trial, Twin, differs
from derive.twin import at_most as no_more
from derive.twin import equal as agree

ORDER = 57
TOPIC = "injectivity"

d = dim("d_model")
a, b = index("a", d), index("b", d)
x, y = tensor("x", d), tensor("y", d)
#: What the network makes of x and of y.
at_x, at_y = tensor("f", d), tensor("g", d)
rho = real("rho")


def squares(entry: Any) -> Any:
    return total(power(entry(b), 2), b)


def apart(e: Any) -> Any:
    return minus(x[e], y[e])


def moved(e: Any) -> Any:
    return minus(at_x[e], at_y[e])


CONTRACTS = both(
    at_most(0, rho), less(rho, 1), at_most(squares(moved), times(power(rho, 2), squares(apart)))
)
SAME_SUM = forall(a, equal(plus(x[a], at_x[a]), plus(y[a], at_y[a])))
SAME = forall(a, equal(x[a], y[a]))


def prove_undone(p: Prover) -> Theorem:
    def then(contracts: Theorem) -> Theorem:
        return p.suppose(
            SAME_SUM, lambda same: nothing_between(p, contracts, same), "and let the sums agree"
        )

    return p.suppose(CONTRACTS, then, "let the network bring the two points closer")


def nothing_between(p: Prover, contracts: Theorem, same: Theorem) -> Theorem:
    nonneg, below, closer = (p.part(contracts, e) for e in range(3))
    at_b = p.at(same, b)
    opposite = p.equal(
        power(moved(b), 2), power(apart(b), 2), (minus(moved(b), apart(b)), at_b), show=False
    )
    distance = p.equal(
        squares(moved), squares(apart), (1, p.sum_equal(opposite, b)),
        reason="the network differs by as much as the points, in the other direction",
    )  # fmt: skip
    rest = minus(1, power(rho, 2))
    left = p.fact(p.order(less(0, rest), (1, below), (1, nonneg, below)))
    inverse = p.cancel(rest, left)
    shrunk = p.order(at_most(times(rest, squares(apart)), 0), (1, closer), (1, distance))
    none = p.order(
        at_most(squares(apart), 0), (power(rest, -1), shrunk), (squares(apart), inverse),
        reason=r"$(1 - \rho^2)\lVert x - y\rVert^2 \le 0$, and $\rho$ is less than 1",
    )  # fmt: skip
    others = p.sum_order(
        p.order(
            at_most(0, times(power(minus(1, kronecker(b)), 2), power(apart(b), 2))),
            (1, p.square(times(minus(1, kronecker(b)), apart(b)))),
        ), b,
    )  # fmt: skip
    single = p.order(
        at_most(power(apart(a), 2), 0), (1, others), (1, none),
        reason="no square is more than the sum of all squares",
    )  # fmt: skip
    zero = infer("antisymmetry", [single, p.square(apart(a))])
    return p.for_all(_from_square(p, zero), a)


def kronecker(e: Any) -> Any:
    return sp.KroneckerDelta(a, e)


def _from_square(p: Prover, zero: Theorem) -> Theorem:
    """x_a = y_a, from (x_a - y_a)^2 = 0."""
    gap = apart(a)

    def nonzero(case: Theorem) -> Theorem:
        inverse = p.cancel(gap, case)
        vanish = p.equal(gap, 0, (power(gap, -1), zero), (times(-1, gap), inverse), show=False)
        return p.equal(x[a], y[a], (1, vanish), show=False)

    found = p.cases(
        infer("excluded-middle", [], p.formula(equal(gap, 0))),
        lambda case: p.equal(x[a], y[a], (1, case), show=False),
        nonzero,
    )
    return p.note(found, "so the points agree")


def network(rng: np.random.Generator, width: int, size: float) -> Any:
    """A feed-forward network without biases whose Lipschitz constant is at most `size`."""
    from numeric import FeedForwardWeights, feed_forward

    up, down = rng.standard_normal((width, 4 * width)), rng.standard_normal((4 * width, width))
    bound = np.linalg.norm(up, 2) * np.linalg.norm(down, 2)
    weights = FeedForwardWeights(up * size / bound, down)
    return lambda v: feed_forward(v[None], weights)[0]


def twin_undone(rng: np.random.Generator) -> Iterator[Trial]:
    """The input from the sum, by repeated substitution; and points that a wider step merges."""
    for width in (1, 2, 5):
        f = network(rng, width, 0.5)
        point, other = rng.standard_normal((2, width))
        no_further = np.linalg.norm(f(point) - f(other)) / np.linalg.norm(point - other)
        yield no_more(no_further, 0.5, f"Lipschitz constant, width {width}")
        value, found = point + f(point), np.zeros(width)
        for _ in range(60):
            found = value - f(found)
        yield agree(found, point, f"the input again, width {width}")
        yield differs(point + f(point), other + f(other), by=1e-6, what="two sums")


def undone_mutations() -> tuple[Mutation, ...]:
    weaker = both(
        at_most(0, rho), at_most(rho, 1),
        at_most(squares(moved), times(power(rho, 2), squares(apart))),
    )  # fmt: skip

    def cancelling(rng: np.random.Generator) -> Iterator[Trial]:
        point, other = rng.standard_normal((2, 3))
        yield differs(point - point, other - other, by=1e-6, what="f(x) = -x")

    return (
        Mutation(
            r"$\rho = 1$ is enough",
            statement=implies(weaker, implies(SAME_SUM, SAME)),
            counterexample=Example({d: 1, x: [1], y: [0], at_x: [-1], at_y: [0], rho: 1}),
            twin=Twin("sums with a network that takes the input away", cancelling),
        ),
    )


UNDONE = Claim(
    id="injectivity/residual-sum",
    title="The sum with a small network can be undone",
    source=Source(
        INTERVIEW, ("B35",),
        "The activation function loses about half of the information. Beyond the note: the network "
        "behind it is added to its input, so that nothing needs to be lost.",
    ),
    statement=implies(CONTRACTS, implies(SAME_SUM, SAME)),
    proof=prove_undone,
    twin=Twin("inputs found again from the sum with a network", twin_undone),
    mutations=undone_mutations,
    expected=Verdict.PROVED,
    remark=r"Here $f$ and $g$ are what the network makes of $x$ and of $y$. It is enough that its "
    r"Lipschitz constant is less than 1.",
)  # fmt: skip

CLAIMS = (UNDONE,)

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
