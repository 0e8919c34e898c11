r"""Expansion: how likely it is that too few units of a wide layer are active.

The interview note widens the layer to make up for what ReLU loses.  Near an input the layer can be
undone if at least as many units are active as the input has components.  Where units are active by
independent even chances, the chance that twice the width is enough falls to one half as the width
grows.  With any larger factor the chance of too few falls exponentially; four is not singled out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from math import comb, exp
from typing import Any

import numpy as np
import sympy as sp

from derive.claim import Claim, Example, Mutation
from derive.claims import INTERVIEW
from derive.claims._softmax import exp_order
from derive.claims.positional_frequencies import logarithm_sign
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.kernel.terms import Term
from derive.language import (
    at_most,
    both,
    call,
    dims,
    either,
    equal,
    forall,
    implies,
    index,
    less,
    minus,
    natural,
    over,
    plus,
    positive,
    power,
    product,
    tensor,
    times,
    total,
)
from derive.prover import Prover
from derive.result import Source, Verdict
from derive.twin import Trial, Twin
from derive.twin import at_most as no_more
from derive.twin import equal as agree

ORDER = 59
TOPIC = "expansion"
half = sp.Rational(1, 2)

d, N = dims("d_model N")
w = index("w", N)
k = positive("k")  # one less than there are units for every component
P, active, event = tensor("P", N), tensor("A", N), tensor("I", N)
#: In every outcome so many units are active; the event is that they are no more than d.
DRAWN = both(forall(w, at_most(0, P[w])), equal(total(P[w], w), 1))
TOO_FEW = forall(w, either(equal(event[w], 0), both(equal(event[w], 1), at_most(active[w], d))))
#: For (k + 1) d independent units, each active with probability 1/2, the mean of k^-A is a product.
ONE_UNIT = over(plus(k, 1), times(2, k))
INDEPENDENT = equal(
    total(times(P[w], power(k, times(-1, active[w]))), w), power(ONE_UNIT, times(plus(k, 1), d))
)
PER_COMPONENT = times(k, power(ONE_UNIT, plus(k, 1)))
BOUND = at_most(
    total(times(P[w], event[w]), w), times(power(k, d), power(ONE_UNIT, times(plus(k, 1), d)))
)
STATEMENT = implies(
    less(1, k), both(less(PER_COMPONENT, 1), implies(both(DRAWN, TOO_FEW, INDEPENDENT), BOUND))
)


def prove_chance(p: Prover) -> Theorem:
    def wide(growth: Theorem) -> Theorem:
        chance = p.suppose(
            both(DRAWN, TOO_FEW, INDEPENDENT),
            lambda drawn: prove_bound(p, drawn, growth), "let the units be independent",
        )  # fmt: skip
        return p.both(prove_falling(p, growth), chance)

    return p.suppose(less(1, k), wide, "let there be more than two units for every component")


def prove_falling(p: Prover, wide: Theorem) -> Theorem:
    """k ((k + 1)/(2 k))^(k + 1) < 1, for 1 < k."""
    mean = over(plus(k, 1), 2)
    x, y = call(sp.log, mean), call(sp.log, ONE_UNIT)
    grows = p.fact(logarithm_sign(p, mean, p.order(less(1, mean), (half, wide))))
    root = call(sp.exp, over(x, 2))
    tangent = p.mp(p.axiom("log-tangent", root), p.trivial(less(0, root)))
    whole = p.equal(power(root, 2), mean, show=False)
    first = p.order(
        less(x, minus(mean, 1)), (1, tangent, tangent), (plus(x, 2), tangent),
        (-1, whole), (sp.Rational(1, 4), grows, grows),
    )  # fmt: skip
    p.note(
        first,
        r"with $m=(k+1)/2$, which is more than 1: $\log m=2\log\sqrt m$ is at most "
        r"$2(\sqrt m-1)$, which is less than $m-1$, as $(\sqrt m-1)^2>0$",
    )
    unit = p.trivial(less(0, ONE_UNIT))
    second = p.mp(p.axiom("log-tangent", ONE_UNIT), unit)
    split = p.mp(p.axiom("log-product", ONE_UNIT, k), p.both(unit, p.trivial(less(0, k))))
    same = p.equal(times(ONE_UNIT, k), mean, show=False)
    split = p.rewrite(same, split, lambda t: T.eq(T.fn("log", t), split.conclusion.children[1]))
    p.note(second, "the tangent of the logarithm at 1, for the quotient")
    total = plus(call(sp.log, k), times(plus(k, 1), y))
    below = p.order(less(total, 0), (1, first), (k, second), (1, split))
    grown = p.mp(p.axiom("exp-increasing", total, 0), below)
    return p.order(less(PER_COMPONENT, 1), (1, grown), reason="add, and take exponentials")


def prove_bound(p: Prover, case: Theorem, beyond: Theorem) -> Theorem:
    reasons = (
        "let $P$ be the probabilities of the $N$ outcomes",
        r"let $I$ be 1 for outcomes with at most $d_{\text{model}}$ active units only",
        r"$(k+1)\,d_{\text{model}}$ independent units, half of the time active: the mean of the "
        r"product is the product of the means $\frac12(1 + \frac1k)$",
    )
    drawn, few, moment = (p.part(case, e) for e in range(3))
    for part, reason in zip((drawn, few, moment), reasons, strict=True):
        p.note(part, reason)
    growth = p.fact(logarithm_sign(p, k, beyond))
    p.note(growth, "$k$ is more than 1")
    scale = times(power(k, d), power(k, times(-1, active[w])))
    goal = at_most(event[w], scale)
    lost = times(call(sp.log, k), minus(d, active[w]))
    whole = p.equal(call(sp.exp, lost), scale, show=False)
    positive = p.trivial(less(0, call(sp.exp, lost)))

    def inside(yes: Theorem) -> Theorem:
        room = p.order(at_most(0, lost), (1, growth, p.part(yes, 1)))
        grown = exp_order(p, room)
        return p.order(goal, (1, grown), (-1, p.part(yes, 0)), (1, whole))

    pointwise = p.note(
        p.cases(
            p.at(few, w),
            lambda no: p.order(goal, (-1, no), (1, whole), (1, positive)), inside,
        ),
        r"outside the event the left side is 0; in it $k^{d_{\text{model}}-A}$ is at least 1",
    )  # fmt: skip
    weighted = p.order(
        at_most(times(P[w], event[w]), times(P[w], scale)), (1, p.at(p.part(drawn, 0), w),
        pointwise), reason="multiply by a probability",
    )  # fmt: skip
    summed = p.sum_order(weighted, w, reason="add over all outcomes")
    return p.order(BOUND, (1, summed), (times(-1, power(k, d)), moment), reason="insert the mean")


def chance(width: int, factor: int) -> Fraction:
    """The chance of at most `width` active units among `factor` times as many."""
    units = factor * width
    return Fraction(sum(comb(units, k) for k in range(width + 1)), 2**units)


def twin_chance(_rng: np.random.Generator, factor: int | None = None, base: float | None = None
                ) -> Iterator[Trial]:  # fmt: skip
    """Exact binomial sums, for one factor or for several."""
    for many in (factor,) if factor else (3, 4, 6):
        share = base or (many - 1) * (many / (2 * (many - 1))) ** many
        for width in (1, 2, 4, 16):
            units = many * width
            weights = (Fraction(comb(units, k), (many - 1) ** k) for k in range(units + 1))
            claimed = Fraction(many, 2 * (many - 1)) ** units
            yield agree(float(sum(weights) / 2**units / claimed), 1.0, f"mean, d={width}")
            yield no_more(float(chance(width, many)), share**width, f"chance, d={width}")
        yield no_more(share, 0.99, f"chance for each component, factor {many}")
    yield no_more(16 / 27, exp(-1 / 2), "Hoeffding's bound, factor 4")


def chance_mutations() -> tuple[Mutation, ...]:
    values = {d: 1, N: 1, P: [1], active: [1], event: [1], k: 1}
    return (
        Mutation(
            "twice the width makes it as unlikely",
            statement=implies(at_most(1, k), STATEMENT.args[1]),
            counterexample=Example(values),
            twin=Twin(
                "chances with twice the width",
                lambda rng: twin_chance(rng, factor=2, base=0.9),
            ),
        ),
        Mutation(
            r"the chance is at most $2^{-d_{\text{model}}}$",
            twin=Twin(
                "chances against powers of one half",
                lambda rng: twin_chance(rng, factor=4, base=0.5),
            ),
        ),
    )  # fmt: skip


COMPENSATES = "The dimension is raised to make up for the loss."
CHANCE = Claim(
    id="expansion/enough-active-units",
    title="With more than twice the width, too few active units are unlikely",
    source=Source(
        INTERVIEW, ("B36",),
        f"{COMPENSATES} Beyond the note: if every unit is active with probability $\\frac12$, "
        r"independently of the others, how likely it is that no more than $d_{\text{model}}$ of "
        r"$(k+1)\,d_{\text{model}}$ units are.",
    ),
    statement=STATEMENT,
    proof=prove_chance,
    twin=Twin("exact binomial sums and their bound, and Hoeffding's", twin_chance),
    mutations=chance_mutations,
    expected=Verdict.PROVED,
    remark=r"With four times the width, $k=3$, the bound is $(16/27)^{d_{\text{model}}}$, which is "
    r"less than $e^{-d_{\text{model}}/2}$. Every factor above 2 gives an exponential bound: the "
    "factor 4 is not singled out.",
)  # fmt: skip

# ---------------------------------------------------------------------- twice the width

a, b, n, width = (natural(name) for name in ("a", "b", "n", "d"))
p_ab = tensor("p", sp.oo, sp.oo)
e, g = index("e", width + 1), index("g", width + 1)
factor = index("l", width)
#: The chance that of a + b units the ones that are active are a in number, unit by unit.
ONE_BY_ONE = both(
    equal(p_ab[0, 0], 1),
    forall(a, equal(p_ab[a + 1, 0], times(half, p_ab[a, 0]))),
    forall(b, equal(p_ab[0, b + 1], times(half, p_ab[0, b]))),
    forall([a, b], equal(
        p_ab[a + 1, b + 1], times(half, plus(p_ab[a, b + 1], p_ab[a + 1, b]))
    )),
)  # fmt: skip
apart = sp.KroneckerDelta(e + g, width)
enough = total(times(apart, p_ab[width + e, g]), e, g)
few = total(times(apart, p_ab[g, width + e]), e, g)
tie = p_ab[width, width]
ALL_OUTCOMES = equal(plus(enough, few, times(-1, tie)), 1)


def step_factor(x: Any) -> Any:
    return over(plus(times(2, x), 1), plus(times(2, x), 2))


SUCCESS = equal(enough, plus(half, times(half, tie)))
TIE = equal(tie, product(step_factor(factor), factor))
TIE_BOUND = at_most(times(power(tie, 2), plus(times(2, width), 1)), 1)
TWICE_STATEMENT = implies(both(ONE_BY_ONE, ALL_OUTCOMES), both(SUCCESS, TIE, TIE_BOUND))


def by_induction(
    p: Prover, claim: Any, variable: Any, start: Callable[[Term], Theorem],
    step: Callable[[Term, Theorem], Theorem],
) -> Theorem:  # fmt: skip
    """For all naturals; `start` and `step` prove the goals that they are given."""
    x, formula = p.term(variable), p.formula(claim)
    base = start(T.substitute(formula, {x: T.ZERO}))
    with p.supposing(formula) as case:
        following = step(T.substitute(formula, {x: T.add(x, T.ONE)}), case)
    return p.induction(base, p.discharge(following, case), variable)


def symmetric_law(p: Prover, down: Theorem, across: Theorem, inner: Theorem) -> Theorem:
    """p_ab = p_ba."""
    first = by_induction(
        p, equal(p_ab[0, b], p_ab[b, 0]), b,
        lambda goal: p.equal(*goal.children, show=False),
        lambda goal, known: p.equal(
            *goal.children, (1, p.at(across, b)), (half, known), (-1, p.at(down, b)), show=False
        ),
    )  # fmt: skip

    def next_row(_goal: Term, row: Theorem) -> Theorem:
        return by_induction(
            p, equal(p_ab[a + 1, b], p_ab[b, a + 1]), b,
            lambda goal: p.equal(*goal.children, (-1, p.at(first, a + 1)), show=False),
            lambda goal, known: p.equal(
                *goal.children, (1, p.at(inner, a, b)), (-1, p.at(inner, b, a)),
                (half, p.at(row, b + 1)), (half, known), show=False,
            ),
        )  # fmt: skip

    return by_induction(p, forall(b, equal(p_ab[a, b], p_ab[b, a])), a, lambda _: first, next_row)


def ratio_law(p: Prover, down: Theorem, across: Theorem, inner: Theorem) -> Theorem:
    """2 (a + 1) p_(a+1)b = (a + b + 1) p_ab."""
    ratio = equal(times(2, plus(a, 1), p_ab[a + 1, b]), times(plus(a, b, 1), p_ab[a, b]))

    def first(goal: Term) -> Theorem:
        each = T.instantiate(goal.children[-1], (p.term(a),))
        return p.for_all(p.equal(*each.children, (2 * (a + 1), p.at(down, a)), show=False), a)

    def next_column(_goal: Term, column: Theorem) -> Theorem:
        after = T.substitute(p.formula(ratio), {p.term(b): T.add(p.term(b), T.ONE)})
        return by_induction(
            p, after, a,
            lambda goal: p.equal(
                *goal.children, (2, p.at(inner, 0, b)), (half, p.at(column, 0)),
                (times(-1, plus(b, 1)), p.at(across, b)), show=False,
            ),
            lambda goal, known: p.equal(
                *goal.children, (2 * (a + 2), p.at(inner, a + 1, b)),
                (half, p.at(column, a + 1)), (times(-1, plus(a, b, 2)), p.at(inner, a, b)),
                (half, known), show=False,
            ),
        )  # fmt: skip

    return by_induction(p, forall(a, ratio), b, first, next_column)


def tie_law(p: Prover, at_zero: Theorem, centre: Theorem) -> Theorem:
    """p_nn is the product, p_nn^2 (2 n + 1) <= 1, and 0 <= p_nn."""
    here, l = p_ab[n, n], index("l", n)
    claim = both(
        equal(here, product(step_factor(l), l)),
        at_most(times(power(here, 2), plus(times(2, n), 1)), 1), at_most(0, here),
    )  # fmt: skip

    def start(goal: Term) -> Theorem:
        closed, bound, sign = goal.children
        one = p.equal(power(p_ab[0, 0], 2), 1, (plus(p_ab[0, 0], 1), at_zero), show=False)
        return p.both(
            p.equal(*closed.children, (1, at_zero), show=False), p.order(bound, (-1, one)),
            p.order(sign, (1, at_zero)),
        )  # fmt: skip

    def step(goal: Term, known: Theorem) -> Theorem:
        closed, bound, sign = goal.children
        product_here, bound_here, sign_here = (p.part(known, k) for k in range(3))
        grows, then = p.at(centre, n), step_factor(n)
        unrolled = infer("unroll", [], "prod", p.term(n), closed.children[1].children[1])
        square = p.equal(
            power(p_ab[n + 1, n + 1], 2), times(power(then, 2), power(here, 2)),
            (plus(p_ab[n + 1, n + 1], times(then, here)), grows), show=False,
        )  # fmt: skip
        once = p.cancel(plus(n, 1))
        twice = p.equal(
            times(power(plus(n, 1), 2), power(plus(n, 1), -2)), 1,
            (plus(times(plus(n, 1), power(plus(n, 1), -1)), 1), once), show=False,
        )  # fmt: skip
        shrinks = times(2 * n + 3, 2 * n + 1, power(2 * n + 2, -2))
        return p.both(
            p.equal(*closed.children, (1, grows), (then, product_here), (-1, unrolled), show=False),
            p.order(bound, (-1, twice), (shrinks, bound_here), (times(-1, 2 * n + 3), square)),
            p.order(sign, (then, sign_here), (1, grows)),
        )

    return by_induction(p, claim, n, start, step)


def prove_twice(p: Prover) -> Theorem:
    def then(case: Theorem) -> Theorem:
        law, everything = p.part(case, 0), p.part(case, 1)
        at_zero, down, across, inner = (p.part(law, k) for k in range(4))
        swap = p.note(
            symmetric_law(p, down, across, inner),
            "active and inactive units may be exchanged, by induction",
        )
        ratio = p.note(ratio_law(p, down, across, inner), "by induction over the number of units")
        centre = p.equal(
            p_ab[n + 1, n + 1], times(step_factor(n), p_ab[n, n]), (1, p.at(inner, n, n)),
            (half, p.at(swap, n, n + 1)), (power(2 * n + 2, -1), p.at(ratio, n, n)),
            (times(-1, p_ab[n + 1, n]), p.cancel(plus(n, 1))), show=False,
        )  # fmt: skip
        centre = p.note(p.for_all(centre, n), "both last units, of which one is active")
        at_width = p.at(tie_law(p, at_zero, centre), width)
        closed = p.note(p.part(at_width, 0), "step by step")
        bound = p.note(
            p.part(at_width, 1),
            r"by induction on $d$, as $(2d+1)(2d+3)\le(2d+2)^2$",
        )
        each = p.equal(
            times(apart, p_ab[width + e, g]), times(apart, p_ab[g, width + e]),
            (apart, p.at(swap, width + e, g)), show=False,
        )  # fmt: skip
        same = p.sum_equal(each, e, g, reason="as many outcomes are on either side")
        success = p.equal(
            *SUCCESS.args, (half, same), (half, everything),
            reason="the two chances overlap in the tie, and make up 1 without it",
        )  # fmt: skip
        return p.both(success, closed, bound)

    return p.suppose(
        TWICE_STATEMENT.args[0], then,
        "let $p_{lk}$ be the chance that $l$ of $l+k$ units are active, unit by unit",
    )  # fmt: skip


def twin_twice(
    _rng: np.random.Generator, claimed: Callable[[float], float] = lambda tie: (1 + tie) / 2
) -> Iterator[Trial]:
    """`claimed` is the chance of success, as told by the chance of a tie."""
    for layer in (1, 2, 5, 40):
        even = comb(2 * layer, layer) / 4**layer
        success = float(1 - chance(layer, 2)) + even
        yield agree(success, claimed(even), f"at least d of 2 d units, d={layer}")
        closed = np.prod([(2 * k + 1) / (2 * k + 2) for k in range(layer)])
        yield agree(even, closed, f"a tie, d={layer}")
        yield no_more(even**2 * (2 * layer + 1), 1, f"bound of a tie, d={layer}")


def twice_mutations() -> tuple[Mutation, ...]:
    def mistaken(claimed: Callable[[float], float]) -> Callable[..., Iterator[Trial]]:
        return lambda rng: twin_twice(rng, claimed)

    return (
        Mutation(
            "the chance of enough active units tends to 1",
            twin=Twin("chances against 1, up to a tie", mistaken(lambda tie: 1 - tie)),
        ),
        Mutation(
            "a tie is forgotten, so that the chance is one half",
            twin=Twin("chances against one half", mistaken(lambda _: 0.5)),
        ),
    )


TWICE = Claim(
    id="expansion/twice-the-width",
    title="With twice the width, the chance of enough active units falls to one half as $d$ grows",
    source=Source(
        INTERVIEW, ("B36",),
        f"{COMPENSATES} Beyond the note: if every unit is active with probability $\\frac12$, "
        r"independently of the others, how likely it is that at least $d$ of $2\,d$ units are.",
    ),
    statement=TWICE_STATEMENT,
    proof=prove_twice,
    twin=Twin("exact binomial sums", twin_twice),
    mutations=twice_mutations,
    expected=Verdict.PROVED,
    remark=r"The chance of a tie is $\binom{2d}{d}/4^d$, at most $1/\sqrt{2d+1}$: the chance of "
    r"enough active units tends to one half and not to 1. Twice the width makes up for the loss "
    "on average only.",
)  # fmt: skip

CLAIMS = (CHANCE, TWICE)

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
