"""Nonlinearity: bending the data and losing information, and that neither needs the other.

The interview note says that an activation function makes the structure of the data non-linear by
losing some of the information.  Functions of one real number show that either goes without the
other; "linear" is taken as weakly as can be, as additive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import sympy as sp

from derive import auto
from derive.claim import Claim, Example, Mutation
from derive.claims._relu import by_sign, half, neg, size, source
from derive.convert import Converter
from derive.denials import deny
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.kernel.terms import Lam, Term
from derive.language import (
    both,
    dim,
    equal,
    forall,
    implies,
    less,
    minus,
    over,
    plus,
    real,
    relu,
    tensor,
    times,
)
from derive.prover import Prover
from derive.result import Verdict
from derive.twin import Trial, Twin, differs
from derive.twin import equal as agree

ORDER = 58
TOPIC = "nonlinearity"

BY_LOSS = (
    "An activation function makes the structure of the data non-linear by losing some of the "
    "information."
)

u, v, x, y, alpha = (real(name) for name in ("u", "v", "x", "y", "alpha"))
F, G = sp.Function("f"), sp.Function("g")
#: the same function as a tensor, for which an example may give a formula
f = tensor("f", dim("n"))

additive = forall([u, v], equal(F(plus(u, v)), plus(F(u), F(v))))
injective = forall([u, v], implies(equal(F(u), F(v)), equal(u, v)))


def function(value: Callable[[Any], Any]) -> Lam:
    """A function of one real number, as a value for `f`."""
    variable, converter = real("t"), Converter()
    return Lam(1, T.abstract(converter.term(value(variable)), (converter.term(variable),)))


def leaky(slope: Any, t: Any) -> Any:
    """t for t > 0, and slope * t elsewhere."""
    return minus(relu(t), times(slope, relu(neg(t))))


def recovered(p: Prover, goal: Term) -> Theorem:
    """The example is injective, since u is a function of f(u), and it is not additive."""
    one_to_one, additive = goal.children[0].children
    u, v = T.var("u"), T.var("v")
    inner = T.instantiate(T.instantiate(one_to_one.children[0], (u,)).children[0], (v,))
    values, _ = inner.children
    meet = p.assume(values)
    steeper = p.term(leaky(2, y))

    def undo(image: Term) -> Term:
        return T.substitute(steeper, {p.term(y): image})

    first, second = (
        auto.prove(p, T.eq(t, undo(image)))
        for t, image in zip((u, v), values.children, strict=True)
    )
    moved = p.rewrite(meet, first, lambda hole: T.eq(u, undo(hole)))
    same = p.discharge(p.equal(u, v, (1, moved), (-1, second), show=False), meet)
    return infer("not-implies", [p.for_all(same, u, v), deny(additive)])


def twin_bend(rng: np.random.Generator, slope: float = 0.5) -> Iterator[Trial]:
    from numeric import leaky_relu

    values = rng.standard_normal(50)
    bent = leaky_relu(values, slope)
    yield agree(leaky_relu(bent, 2.0), values, "recovered from leaky ReLU")
    yield agree(np.unique(bent).size, values.size, "no two values meet")
    one = leaky_relu([1.0, -1.0, 0.0], 0.5)
    yield differs(one[0] + one[1], one[2], by=0.4, what="not additive")


def bend_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "ReLU itself is an example that loses nothing",
            statement=implies(forall(u, equal(F(u), relu(u))), injective),
            counterexample=Example({f: function(relu)}),
            twin=Twin(
                "numbers recovered from ReLU, which is leaky ReLU of slope 0",
                lambda rng: twin_bend(rng, slope=0.0),
            ),
        ),
    )


NON_LINEAR_BY_LOSS = Claim(
    id="nonlinearity/non-linear-only-by-loss",
    title="What loses nothing is linear",
    source=source(
        "B37",
        f"{BY_LOSS} Read here as: without loss there is no non-linearity.",
    ),
    statement=implies(injective, additive),
    counterexample=Example({f: function(lambda t: leaky(half, t))}, recovered),
    twin=Twin("leaky ReLU: its inverse, and a sum that does not pass through", twin_bend),
    mutations=bend_mutations,
    expected=Verdict.REFUTED,
    remark=r"The example is leaky ReLU. $\tanh$, $\sinh$ and $x^3$ are non-linear without loss, "
    "too.",
)


def twin_flat(rng: np.random.Generator, rank: int = 1) -> Iterator[Trial]:
    from numeric import linear

    weight = rng.standard_normal((5, rank)) @ rng.standard_normal((rank, 5))
    kernel = np.linalg.svd(weight.T)[2][-1]
    x, other = rng.standard_normal((2, 4, 5))
    yield agree(linear(x + other, weight), linear(x, weight) + linear(other, weight), "linear")
    yield agree(linear(x + kernel, weight), linear(x, weight), "and blind to a direction")


def flat_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "an additive function loses nothing, since it vanishes at 0 only",
            statement=implies(additive, forall(u, implies(equal(F(u), 0), equal(u, 0)))),
            counterexample=Example({f: function(lambda t: times(0, t))}),
            twin=Twin(
                "a linear map of full rank: whether a direction is lost",
                lambda rng: twin_flat(rng, rank=5),
            ),
        ),
    )


LINEAR_WITHOUT_LOSS = Claim(
    id="nonlinearity/linear-without-loss",
    title="What loses information is non-linear",
    source=source(
        "B37",
        f"{BY_LOSS} Read here as: it is the loss that makes it non-linear.",
    ),
    statement=implies(additive, injective),
    counterexample=Example({f: function(lambda t: times(0, t))}),
    twin=Twin("a linear map of low rank: sums pass, a direction is lost", twin_flat),
    mutations=flat_mutations,
    expected=Verdict.REFUTED,
    remark="The example is the function 0. Every projection onto fewer dimensions is another.",
)

bent = both(
    less(0, alpha),
    forall(u, equal(F(u), leaky(alpha, u))),
    forall(u, equal(G(u), leaky(over(1, alpha), u))),
)
undone = both(
    equal(G(F(x)), x),
    equal(F(G(x)), x),
    equal(plus(F(x), F(neg(x))), times(minus(1, alpha), size(x))),
)


def prove_leaky(p: Prover) -> Theorem:
    def within(case: Theorem) -> Theorem:
        steep, f_is, g_is = (p.part(case, n) for n in range(3))
        there = taken_back(p, (F, f_is, alpha), (G, g_is), steep)
        flat = p.trivial(less(0, over(1, alpha)), steep)
        back = taken_back(p, (G, g_is, over(1, alpha)), (F, f_is), flat)
        odd = by_sign(
            p, x,
            lambda _: p.equal(
                *undone.args[2].args, p.at(f_is, x), p.at(f_is, neg(x)),
                reason="insert: this is not 0, as it would be for an additive function, unless "
                       r"$\alpha=1$",
            ),
        )  # fmt: skip
        return p.both(there, back, odd)

    return p.suppose(bent, within, "two functions that keep what is positive, and scale the rest")


def taken_back(p: Prover, first: Any, second: Any, steep: Theorem) -> Theorem:
    """The second function takes the first one back, on either side of 0."""
    bend, bend_is, slope = first
    back, back_is = second

    def case(sign: Theorem) -> Theorem:
        image = x
        if sign.conclusion.op == "lt":
            image = times(slope, x)
            p.fact(p.order(less(image, 0), (1, steep, sign), reason="it stays below zero"))
        there = p.equal(bend(x), image, p.at(bend_is, x), reason="insert")
        returned = p.equal(back(image), x, p.at(back_is, image), reason="insert")
        moved = p.equal(image, bend(x), (-1, there), show=False)
        goal = p.formula(equal(back(y), x))
        return p.note(
            p.rewrite(moved, returned, lambda hole: T.substitute(goal, {p.term(y): hole})),
            "put together",
        )

    return by_sign(p, x, case)


def twin_leaky(
    rng: np.random.Generator, undo: Callable[[float], float] = lambda slope: 1 / slope
) -> Iterator[Trial]:
    """`undo` gives the slope of the function that takes the first one back."""
    from numeric import central_difference_error, leaky_relu, leaky_relu_vjp

    values = rng.standard_normal(60)
    values += np.copysign(1e-2, values)
    for slope in (0.01, 0.5, 1.0, 4.0):
        back = leaky_relu(leaky_relu(values, slope), undo(slope))
        yield agree(back, values, f"slope {slope}")
        ends = leaky_relu(values, slope) + leaky_relu(-values, slope)
        yield agree(ends, (1 - slope) * np.abs(values), f"not odd, slope {slope}")
    error = central_difference_error(
        lambda t: leaky_relu(t, 0.1), lambda t, c: leaky_relu_vjp(t, 0.1, c), (values[:8],), rng
    )
    yield Trial(error, 1e-6, "gradient against central differences")


def leaky_mutations() -> tuple[Mutation, ...]:
    g = tensor("g", dim("n"))
    same_slope = both(less(0, alpha), *(forall(u, equal(h(u), leaky(alpha, u))) for h in (F, G)))
    steep = function(lambda t: leaky(2, t))
    half_steep = function(lambda t: leaky(half, t))
    return (
        Mutation(
            "the function of the same slope takes it back",
            statement=implies(same_slope, equal(G(F(x)), x)),
            counterexample=Example({alpha: 2, x: -1, f: steep, g: steep}),
            twin=Twin(
                "leaky ReLU applied twice with one slope",
                lambda rng: twin_leaky(rng, undo=lambda slope: slope),
            ),
        ),
        Mutation(
            "opposite numbers have opposite values, as under an additive function",
            statement=implies(bent, equal(plus(F(x), F(neg(x))), 0)),
            counterexample=Example({alpha: 2, x: 1, f: steep, g: half_steep}),
        ),
    )


LEAKY = Claim(
    id="nonlinearity/leaky-relu",
    title="Leaky ReLU can be undone exactly",
    source=source(
        "B37",
        f"{BY_LOSS} Beyond the note: one that bends and loses nothing, with its inverse.",
    ),
    statement=implies(bent, undone),
    proof=prove_leaky,
    twin=Twin("leaky ReLU undone by the one with the inverse slope, and its gradient", twin_leaky),
    mutations=leaky_mutations,
    expected=Verdict.PROVED,
)

CLAIMS = (NON_LINEAR_BY_LOSS, LINEAR_WITHOUT_LOSS, LEAKY)

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
