r"""Expansion: how likely it is that too few units of a wide layer are active.

The interview note widens the layer to make up for what ReLU loses.  Near an input the layer can be
undone if at least as many units are active as the input has components.  With four times the
width and units that are active by independent even chances, the chance of fewer falls
exponentially in the width.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import comb, exp

import numpy as np
import sympy as sp

from derive.claim import Claim, Mutation
from derive.claims import INTERVIEW
from derive.claims._softmax import exp_order
from derive.claims.positional_frequencies import logarithm_sign
from derive.kernel.rules import Theorem
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
    power,
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

d, N = dims("d_model N")
w = index("w", N)
P, active, event = tensor("P", N), tensor("A", N), tensor("I", N)
third = sp.Rational(2, 3)
#: In every outcome so many units are active; the event is that they are no more than d.
DRAWN = both(forall(w, at_most(0, P[w])), equal(total(P[w], w), 1))
TOO_FEW = forall(w, either(equal(event[w], 0), both(equal(event[w], 1), at_most(active[w], d))))
#: For 4 d independent units, each active with probability 1/2: the mean of 3^-A is a product.
INDEPENDENT = equal(
    total(times(P[w], power(3, times(-1, active[w]))), w), power(third, times(4, d))
)
BOUND = at_most(total(times(P[w], event[w]), w), times(power(3, d), power(third, times(4, d))))
STATEMENT = implies(both(DRAWN, TOO_FEW, INDEPENDENT), BOUND)


def prove_chance(p: Prover) -> Theorem:
    def then(case: Theorem) -> Theorem:
        reasons = (
            "let $P$ be the probabilities of the $N$ outcomes",
            r"let $I$ be 1 for outcomes with at most $d_{\text{model}}$ active units only",
            r"$4\,d_{\text{model}}$ independent units, half of the time active: the mean of the "
            r"product is the product of the means $\frac12(1 + \frac13)$",
        )
        drawn, few, moment = (p.part(case, e) for e in range(3))
        for part, reason in zip((drawn, few, moment), reasons, strict=True):
            p.note(part, reason)
        growth = p.fact(logarithm_sign(p, 3, p.trivial(less(1, 3))))
        p.note(growth, "3 is more than 1")
        scale = times(power(3, d), power(3, times(-1, active[w])))
        goal = at_most(event[w], scale)
        lost = times(call(sp.log, 3), minus(d, active[w]))
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
            r"outside the event the left side is 0; in it $3^{d-A}$ is at least 1",
        )  # fmt: skip
        weighted = p.order(
            at_most(times(P[w], event[w]), times(P[w], scale)), (1, p.at(p.part(drawn, 0), w),
            pointwise), reason="multiply by a probability",
        )  # fmt: skip
        summed = p.sum_order(weighted, w, reason="add over all outcomes")
        return p.order(
            BOUND, (1, summed), (times(-1, power(3, d)), moment), reason="insert the mean"
        )

    return p.suppose(STATEMENT.args[0], then, "let the units be independent")


def chance(width: int, factor: int) -> Fraction:
    """The chance of at most `width` active units among `factor` times as many."""
    units = factor * width
    return Fraction(sum(comb(units, k) for k in range(width + 1)), 2**units)


def twin_chance(_rng: np.random.Generator, factor: int = 4, base: float = 16 / 27
                ) -> Iterator[Trial]:  # fmt: skip
    """Exact binomial sums."""
    for width in (1, 2, 4, 16, 64):
        units = factor * width
        moment = sum(Fraction(comb(units, k), 3**k) for k in range(units + 1)) / 2**units
        claimed = Fraction(2, 3) ** units
        yield agree(float(moment / claimed), 1.0, f"mean of 3^-A, d={width}")
        yield no_more(float(chance(width, factor)), base**width, f"chance, d={width}")
        yield no_more(base**width, exp(-width / 2), f"Hoeffding's bound, d={width}")


def chance_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "twice the width makes it as unlikely",
            twin=Twin(
                "chances with twice the width", lambda rng: twin_chance(rng, factor=2)
            ),
        ),
        Mutation(
            r"the chance is at most $2^{-d_{\text{model}}}$",
            twin=Twin(
                "chances against powers of one half", lambda rng: twin_chance(rng, base=0.5)
            ),
        ),
    )  # fmt: skip


CHANCE = Claim(
    id="expansion/enough-active-units",
    title="With four times the width, too few active units are unlikely",
    source=Source(
        INTERVIEW, ("B36",),
        "The dimension is raised to make up for the loss. Beyond the note: if every unit is active "
        r"with probability $\frac12$, independently of the others, how likely it is that no more "
        r"than $d_{\text{model}}$ of $4\,d_{\text{model}}$ units are.",
    ),
    statement=STATEMENT,
    proof=prove_chance,
    twin=Twin("exact binomial sums, their bound, and Hoeffding's", twin_chance),
    mutations=chance_mutations,
    expected=Verdict.PROVED,
    remark=r"The bound is $(16/27)^{d_{\text{model}}}$, which is less than "
    r"$e^{-d_{\text{model}}/2}$. With twice the width the chance is above one half.",
)  # fmt: skip

CLAIMS = (CHANCE,)

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
