r"""Sinusoidal position encoding: different positions have no least distance, at any width.

The derivations note says that different positions have different encodings.  How different is not
said: over long ranges, whole positions come as near to one another as one likes, since one whole
number of steps can be made to turn all pairs by nearly whole turns.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import sympy as sp

from derive.claim import Claim, Mutation
from derive.claims import _multiples as multiples
from derive.claims._positions import ENCODING, cos, i, omega, other, pos, r, sin, source
from derive.claims.positional_uniqueness import prove_distance, squared_distance
from derive.convert import Converter
from derive.kernel import terms as T
from derive.kernel.rules import Theorem
from derive.language import (
    at_most,
    both,
    exists,
    forall,
    integer,
    less,
    minus,
    natural,
    over,
    plus,
    positive,
    power,
    real,
    times,
)
from derive.prover import Prover
from derive.result import Verdict
from derive.twin import Trial, Twin
from derive.twin import at_most as no_more

ORDER = 32
TOPIC = "positional-encoding"

epsilon = positive("epsilon")
steps, turns, pair = natural("l"), integer("m"), natural("j")
u = real("u")
NEAR = forall(pos, at_most(squared_distance(plus(pos, steps), pos), epsilon))
STATEMENT = exists(steps, both(at_most(1, steps), NEAR))
#: How far from a whole number of turns the half angles may be.
rho = times(epsilon, power(plus(epsilon, times(4, r)), -1))
half_angle = over(times(omega[i], steps), 2)


@cache
def several_theorem() -> Theorem:
    """For all numbers w and all R: what `several_law` says."""
    own = Prover(Converter(), ())
    law = multiples.several_law(own, multiples.single_law(own))
    return own.for_all_tensors(law, multiples.w)


def small_sine_law(p: Prover) -> Theorem:
    """For all reals u: 0 <= u <= 1 -> sin^2 u <= u^2."""
    with p.supposing(both(at_most(0, u), at_most(u, 1))) as case:
        sign, small = p.part(case, 0), p.part(case, 1)
        upper = p.mp(p.axiom("sin-upper", u), sign)
        lower = p.mp(p.axiom("sin-lower", u), sign)
        cube = p.order(at_most(power(u, 3), u), (1, small, sign), (1, small, sign, sign))
        above = p.order(
            at_most(0, plus(u, sin(u))), (1, lower), (sp.Rational(1, 6), cube), (1, sign)
        )
        found = p.order(at_most(power(sin(u), 2), power(u, 2)), (1, upper, above))
    return p.for_all(p.discharge(found, case), u)


def prove_no_gap(p: Prover) -> Theorem:
    shown = len(p.lines)
    distance = p.for_all(prove_distance(p), pos, other)
    del p.lines[shown:]
    p.note(distance, "`positional-encoding/distance`: it depends on the number of steps only")
    place = T.substitute(p.term(omega[i]), {p.term(i): p.term(pair)})
    numbers = p.lam(T.mul(place, T.inv(T.mul(T.num(2), T.PI))), pair)
    law = p.at(several_theorem(), numbers, r, times(rho, power(sp.pi, -1)))
    some = p.mp(law, p.order(law.conclusion.children[0]))
    small = small_sine_law(p)
    once = p.cancel(plus(epsilon, times(4, r)))
    unit = p.order(at_most(rho, 1), (-1, once))

    def with_steps(case: Theorem) -> Theorem:
        least, every = p.part(case, 0), p.part(case, 1)
        close = p.mp(p.at(every, i), p.order(less(i, r)))
        bound = p.choose(close, turns, lambda near: turned_little(p, near, small, unit))
        bound = p.note(
            p.for_all(bound, i),
            "let $l$ be a number of steps that turns every pair by nearly whole turns: what is "
            "left of half an angle, up to multiples of $\\pi$, is at most "
            r"$\rho=\epsilon/(\epsilon+4r)$",
        )
        summed = p.sum_order(p.at(bound, i), i, reason="add over the pairs")
        at_shift = p.at(distance, plus(pos, steps), pos)
        goal = at_most(squared_distance(plus(pos, steps), pos), epsilon)
        near = p.order(
            goal,
            (4, summed),
            (-1, at_shift),
            (times(-1, epsilon), once),
            (times(4, r, rho), unit),
            reason=r"$4r\rho^2\le4r\rho\le\epsilon$",
        )
        return p.exists(STATEMENT, steps, p.both(least, p.for_all(near, pos)))

    return p.choose(some, steps, with_steps)


def turned_little(p: Prover, near: Theorem, small: Theorem, unit: Theorem) -> Theorem:
    """sin^2 of half the angle is at most rho^2, from half an angle near a multiple of pi."""
    low, high = p.part(near, 0), p.part(near, 1)
    left = minus(half_angle, times(sp.pi, turns))
    upper = p.order(at_most(left, rho), (sp.pi, high))
    lower = p.order(at_most(times(-1, left), rho), (sp.pi, low))
    square = power(sin(left), 2)
    goal = p.formula(at_most(square, power(rho, 2)))

    def of(sign: int, bound: Theorem) -> Any:
        def found(case: Theorem) -> Theorem:
            value = times(sign, left)
            here = p.order(at_most(0, value), (1, case))
            whole = p.mp(
                p.at(small, value), p.both(here, p.order(at_most(value, 1), (1, bound), (1, unit)))
            )
            return p.order(goal, (1, whole), (1, bound, bound), (2, here, bound))

        return found

    found = p.cases(p.dichotomy(0, left), of(1, upper), of(-1, lower))
    back = times(sp.pi, turns)
    added = p.axiom("sin-add", left, back)
    sum_of_both = plus(sin(half_angle), times(sin(left), cos(back)))
    same = p.equal(
        power(sin(half_angle), 2), square, (sum_of_both, added),
        (square, p.axiom("pythagoras", back)), show=False,
    )  # fmt: skip
    return p.order(at_most(power(sin(half_angle), 2), power(rho, 2)), (1, found), (-1, same))


def twin_no_gap(_rng: np.random.Generator, most: int = 40_000) -> Iterator[Trial]:
    """The least distance among so many steps, and what it is from any position on."""
    from numeric import frequencies, position_encoding

    offsets = np.arange(1, most)
    for width, least in ((2, 1e-4), (4, 8e-3), (8, 0.075)):
        squares = 4 * sum(np.sin(w * offsets / 2) ** 2 for w in frequencies(width))
        best = offsets[squares.argmin()]
        for start in (0, 7, 1000):
            here, there = position_encoding(np.array([start, start + best]), width)
            gap = float(np.linalg.norm(there - here))
            yield no_more(gap, least, f"{best} steps, d={width}, from {start}")


def gap_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "a hundred steps are enough, whatever the width and the distance",
            twin=Twin("distances within 100 steps", lambda rng: twin_no_gap(rng, most=100)),
        ),
    )


NO_GAP = Claim(
    id="positional-encoding/no-gap",
    title="Different positions come as near to one another as one likes",
    source=source(
        "A16",
        "Encodings of different positions differ. Beyond the note: whether they differ by some "
        r"least distance, for a given width. For every $\epsilon > 0$ there is a number of "
        r"steps $l$ for which the squared distance is at most $\epsilon$, from any position on.",
    ),
    statement=STATEMENT,
    given=ENCODING,
    proof=prove_no_gap,
    twin=Twin("the nearest encodings among 40,000 steps at three widths", twin_no_gap),
    mutations=gap_mutations,
    expected=Verdict.PROVED,
    remark="By Dirichlet's approximation of several numbers at once. It says nothing about short "
    "texts: the number of steps grows quickly with the width.",
)  # fmt: skip

CLAIMS = (NO_GAP,)

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
