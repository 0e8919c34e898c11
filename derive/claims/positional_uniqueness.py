"""Sinusoidal position encoding: are positions told apart?

The derivations note says that different positions have different encodings.  For whole positions
that is so, at every width, because pi is irrational; real positions can share an encoding.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import sympy as sp

from derive.claim import Claim, Correction, Example, Given, Mutation
from derive.claims._positions import (
    ENCODING,
    PE,
    WIDTHS,
    a,
    angle,
    by_pairs,
    cos,
    cosine,
    d,
    difference_formula,
    encodings,
    i,
    omega,
    other,
    pos,
    r,
    root,
    sin,
    sine,
    source,
    summed,
    turned,
)
from derive.counterexample import denied
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.kernel.terms import Term
from derive.language import (
    at_most,
    equal,
    forall,
    implies,
    integer,
    minus,
    natural,
    over,
    plus,
    power,
    times,
    total,
)
from derive.prover import Prover
from derive.result import Verdict
from derive.twin import Trial, Twin, differs
from derive.twin import at_most as bounded
from derive.twin import equal as agree

ORDER = 31
TOPIC = "positional-encoding"


# ---------------------------------------------------------------------- A16: uniqueness

m, n, turns = integer("k"), integer("l"), integer("m")


def first_frequency(p: Prover) -> Theorem:
    """omega_0 = 1."""
    return p.calc(
        omega[0],
        (over(1, power(10000, over(0, d))), "the first frequency, by definition", p.hyp(1)),
        (1, "whatever the base and the width are"),
    )


def collide(first: Any, second: Any) -> Any:
    """The two positions have the same encoding."""
    return forall(a, equal(PE(first, a), PE(second, a)))


def injective(first: Any, second: Any) -> Any:
    return implies(collide(first, second), equal(first, second))


ON_INTEGERS = forall([m, n], injective(m, n))


def in_first_pair(p: Prover, unit: Theorem, position: Any, f: str) -> Theorem:
    """PE(p, 0) = sin p or PE(p, 1) = cos p, from omega_0 = 1."""
    stated = p.at(p.hyp({"sin": 2, "cos": 3}[f]), position, 0)
    component, x = stated.conclusion.children[0], p.term(position)
    return p.rewrite(unit, stated, lambda w: T.eq(component, T.fn(f, T.mul(x, w))))


def agree_in_first_pair(
    p: Prover, unit: Theorem, same: Theorem, first: Any, second: Any, f: str
) -> Theorem:
    """sin p = sin q or cos p = cos q, from the equality of that component."""
    left, right = (in_first_pair(p, unit, x, f) for x in (first, second))
    return p.equal(
        T.fn(f, p.term(first)),
        T.fn(f, p.term(second)),
        (1, same),
        (-1, left),
        (1, right),
        reason=f"component {['sin', 'cos'].index(f)}, where the frequency is 1",
    )


def no_turns(p: Prover, one: Theorem, whole: Any) -> Theorem:
    """whole = 0, from cos(whole) = 1, for an integer."""
    found = p.note(p.mp(p.axiom("cos-one", whole), one), "the cosine is 1 at whole turns only")

    def none(turned: Theorem) -> Theorem:
        p.note(turned, "let $m$ be the number of turns")
        twice = 2 * turns
        irrational = p.both(
            infer("integer", [], p.term(whole)),
            infer("integer", [], p.term(twice)),
            p.equal(whole, times(sp.pi, twice), turned, show=False),
        )
        zero = p.mp(p.axiom("pi-irrational", whole, twice), irrational)
        p.note(zero, r"the left side and $2m$ are integers, but $\pi$ is irrational")
        return p.equal(whole, 0, (1, turned), (sp.pi, zero), reason="so that nothing is left")

    return p.choose(found, turns, none)


def prove_unique(p: Prover) -> Theorem:
    def same_position(same: Theorem) -> Theorem:
        unit = first_frequency(p)
        wide = p.order(at_most(2, d), (1, p.hyp(0)))
        sin_same = agree_in_first_pair(p, unit, p.at(same, 0), m, n, "sin")
        cos_same = agree_in_first_pair(p, unit, p.at(same, 1, facts=[wide]), m, n, "cos")
        gap = minus(m, n)
        one = p.calc(
            cos(gap),
            (
                plus(times(cos(m), cos(n)), times(sin(m), sin(n))),
                "addition formula of the cosine",
                p.axiom("cos-add", m, times(-1, n)),
            ),
            (
                plus(power(cos(n), 2), power(sin(n), 2)),
                "the sines agree, and so do the cosines",
                (cos(n), cos_same),
                (sin(n), sin_same),
            ),
            (1, r"$\sin^2 + \cos^2 = 1$", p.axiom("pythagoras", n)),
        )
        return p.equal(m, n, (1, no_turns(p, one, gap)), reason="they are one position")

    same = p.suppose(collide(m, n), same_position, "let two integers have one encoding")
    return p.for_all(same, m, n)


Encodings = list[tuple[int, np.ndarray, np.ndarray]]


def twin_unique(rng: np.random.Generator, given: Encodings | None = None) -> list[Trial]:
    """How close any of the positions, 2000 unless given, comes to the first and a few others."""
    trials = []
    for width, _, encoding in encodings(every=1) if given is None else given:
        for start in (0, *rng.integers(1, len(encoding), 3)):
            distance = np.linalg.norm(encoding - encoding[start], axis=1)
            others = np.delete(distance, start)
            trials.append(bounded(1e-8, others.min(), f"d={width}, position {start}"))
    return trials


def unique_mutations() -> tuple[Mutation, ...]:
    periodic = Given(forall(i, equal(omega[i], over(2 * sp.pi, power(10, i)))))

    def common_periods(rng: np.random.Generator) -> list[Trial]:
        """Those frequencies are 2 pi b^(-2i/d) for b = 10^(d/2)."""
        from numeric import position_encoding

        turns = 2 * np.pi * np.arange(2000)
        made = ((w, turns, position_encoding(turns, w, base=10 ** (w / 2))) for w in (2, 4, 6, 8))
        return twin_unique(rng, list(made))

    def real_positions(rng: np.random.Generator) -> list[Trial]:
        from numeric import position_encoding

        positions = np.append(np.arange(200.0), (0.3, 0.3 + 200 * np.pi))
        start = np.roll(positions, 1)
        return twin_unique(rng, [(4, start, position_encoding(start, 4))])

    return (
        Mutation(
            r"the frequencies are $2\pi \cdot 10^{-i}$, which have a common period",
            given=(ENCODING[0], periodic, *ENCODING[2:]),
            counterexample=Example({r: 1, m: 0, n: 1}),
            twin=Twin("smallest distance of encodings with those frequencies", common_periods),
        ),
        Mutation(
            "positions are any real numbers",
            statement=injective(pos, other),
            counterexample=Example(
                {r: 1, pos: sp.Rational(3, 10), other: sp.Rational(3, 10) + 2 * sp.pi}
            ),
            twin=Twin(
                r"smallest distance among whole positions, $0.3$ and $0.3 + 200\pi$ at width 4",
                real_positions,
            ),
        ),
    )


UNIQUE = Claim(
    id="positional-encoding/unique",
    title="Different positions have different encodings",
    source=source("A16", "Every position $0, 1, 2, \\dots$ has an encoding that no other one has."),
    statement=ON_INTEGERS,
    given=ENCODING,
    proof=prove_unique,
    twin=Twin("smallest distance among positions below 2000", twin_unique),
    mutations=unique_mutations,
    expected=Verdict.PROVED,
    remark=r"The first pair alone tells integers apart; only $\omega_0 = 1$ is used. Distances are "
    r"not bounded from below: whole numbers come close to multiples of $2\pi$.",
)  # fmt: skip


def twin_reals(rng: np.random.Generator) -> list[Trial]:
    """Positions that are a common period apart have one encoding, to rounding."""
    from numeric import position_encoding

    periods = {2: 2 * np.pi, 4: 200 * np.pi, 8: 2000 * np.pi}
    trials = []
    for width, period in periods.items():
        first = rng.uniform(-9, 9, 5)
        collision = position_encoding(first + period, width), position_encoding(first, width)
        trials.append(agree(*collision, f"d={width}", 1e-11))
    for width in (6, 10, 64):
        far = position_encoding([0.0, 2000 * np.pi], width)
        trials.append(differs(far[1], far[0], by=1e-2, what=f"d={width}"))
    return trials


UNIQUE_REAL = Claim(
    id="positional-encoding/unique-on-reals",
    title="Different real positions have different encodings",
    source=source(
        "A16", "Different positions have different encodings; positions count whole tokens."
    ),
    statement=injective(pos, other),
    given=ENCODING,
    counterexample=Example({r: 1, pos: 0, other: 2 * sp.pi}),
    correction=Correction(ON_INTEGERS, prove_unique, ENCODING),
    twin=Twin("positions that are a common period apart", twin_reals),
    expected=Verdict.REFUTED,
    remark="There is a common period at the widths 2, 4 and 8. At the other even widths the "
    "second frequency is irrational, so that there is none: "
    "`positional-encoding/unique-on-reals-otherwise`.",
)  # fmt: skip


def period_of(width: int) -> sp.Expr:
    return 2 * sp.pi * 10 ** (4 - 8 // width)


def common_period(width: int) -> Example:
    """At widths 4 and 8 every frequency is a power of 1/10: 2 pi times the largest is a period."""
    step, period = 8 // width, period_of(width)

    def agree_at(p: Prover, component: int, goal: Term) -> Theorem:
        """Both encodings have the same component: the angle makes whole turns."""
        pair, f = component // 2, ("sin", "cos")[component % 2]
        w = T.fn("rpow", T.num(10000), T.num(Fraction(-2 * pair, width)))
        q = Fraction(1, 10 ** (step * pair))
        value = T.num(component % 2)

        def value_at(frequency: Term) -> Term:
            return T.fn(f, T.mul(p.term(period), frequency))

        exact = p.trivial(T.eq(value_at(T.num(q)), value))
        if pair:
            same = p.equal(q, w, (-1, root(p, w, q, width // 2)), show=False)
            exact = p.rewrite(same, exact, lambda x: T.eq(value_at(x), value))
        return p.equal(*goal.children, (-1, exact), show=False)

    def differ(p: Prover, statement: Term) -> Theorem:
        """The encodings agree, and the positions do not."""
        same, positions = statement.children
        components = [T.instantiate(same.children[1], (T.num(e),)) for e in range(width)]
        agreeing = [agree_at(p, e, goal) for e, goal in enumerate(components)]
        collision = infer("finite-forall", agreeing, same)
        return infer("not-implies", [collision, p.trivial(T.negate(positions))])

    return Example(
        {r: width // 2, pos: 0, other: period},
        lambda p, target: denied(target.children[0], 1 + len(ENCODING), lambda s: differ(p, s)),
    )


def real_collision(width: int) -> Claim:
    return Claim(
        id=f"positional-encoding/unique-on-reals-width-{width}",
        title=f"At width {width} different real positions have different encodings",
        source=UNIQUE_REAL.source,
        statement=implies(equal(d, width), injective(pos, other)),
        given=ENCODING,
        counterexample=common_period(width),
        twin=UNIQUE_REAL.twin,
        expected=Verdict.REFUTED,
        remark="All frequencies are powers of $1/10$ at this width.",
    )


# ---------------------------------------------------------------------- A16: one half of a pair


def full_turn(p: Prover, vanishes: Theorem, half: Any, whole: Any) -> Theorem:
    """cos(whole) = 1, from sin(whole / 2) = 0."""
    return p.calc(
        cos(whole),
        (
            minus(power(cos(half), 2), power(sin(half), 2)),
            "addition formula of the cosine",
            p.axiom("cos-add", half, half),
        ),
        (
            minus(1, times(2, power(sin(half), 2))),
            r"$\sin^2 + \cos^2 = 1$",
            p.axiom("pythagoras", half),
        ),
        (1, "the sine is zero", (times(-2, sin(half)), vanishes)),
    )


def doubled(p: Prover, known: Theorem, half: Any, whole: Any, value: int) -> Theorem:
    """cos(whole) = 2 v^2 - 1, from cos(whole / 2) = v."""
    return p.calc(
        cos(whole),
        (
            minus(times(2, power(cos(half), 2)), 1),
            r"addition formula of the cosine, and $\sin^2 = 1 - \cos^2$",
            p.axiom("cos-add", half, half),
            p.axiom("pythagoras", half),
        ),
        (
            2 * value**2 - 1,
            "the cosine of half the angle is known",
            (times(2, plus(cos(half), value)), known),
        ),
    )


def a_factor_is_zero(
    p: Prover, zero: Theorem, x: Any, y: Any,
    first: Callable[[Theorem], Theorem], second: Callable[[Theorem], Theorem],
) -> Theorem:  # fmt: skip
    """From x y = 0: what follows from x = 0 and from y = 0."""

    def this(vanishes: Theorem) -> Theorem:
        return first(
            p.note(vanishes, "a product is zero only if one factor is: let it be the first")
        )

    def other(nonzero: Theorem) -> Theorem:
        inverse = p.mp(p.axiom("inverse", x), nonzero)
        steps = (times(-1, y), inverse), (over(1, x), zero)
        return second(p.equal(y, 0, *steps, reason="otherwise it is the second"))

    return p.cases(infer("excluded-middle", [], p.formula(equal(x, 0))), this, other)


def prove_sines(p: Prover) -> Theorem:
    x, y, half = over(plus(m, n), 2), over(minus(m, n), 2), Fraction(1, 2)

    def same_position(same: Theorem) -> Theorem:
        unit = first_frequency(p)
        sines = agree_in_first_pair(p, unit, p.at(same, 0), m, n, "sin")
        zero = p.calc(
            times(sin(y), cos(x)),
            (
                over(minus(sin(m), sin(n)), 2),
                r"addition formula of the sine, at $\frac{k+l}2 \pm \frac{k-l}2$",
                (-half, p.axiom("sin-add", x, y)),
                (half, p.axiom("sin-add", x, times(-1, y))),
            ),
            (0, "the sines agree", (half, sines)),
        )

        def gap_vanishes(vanishes: Theorem) -> Theorem:
            gap = minus(m, n)
            none = no_turns(p, full_turn(p, vanishes, y, gap), gap)
            return p.equal(m, n, (1, none), reason="they are one position")

        def absurd(vanishes: Theorem) -> Theorem:
            opposite = doubled(p, vanishes, x, plus(m, n), 0)
            none = no_turns(p, doubled(p, opposite, plus(m, n), 2 * (m + n), -1), 2 * (m + n))
            empty = p.equal(plus(m, n), 0, (half, none), show=False)
            wrong = p.rewrite(empty, opposite, lambda z: T.eq(T.fn("cos", z), T.num(-1)))
            p.note(wrong, r"$k + l = 0$ in what was shown; this case does not occur")
            right = p.trivial(T.negate(wrong.conclusion))
            return infer("contradiction", [wrong, right], p.formula(equal(m, n)))

        return a_factor_is_zero(p, zero, sin(y), cos(x), gap_vanishes, absurd)

    same = forall(i, equal(sine(m, i), sine(n, i)))
    return p.for_all(p.suppose(same, same_position, "let the sines of two integers agree"), m, n)


def closest(start: int, width: int, component: int) -> float:
    """How close two of the positions start, ..., 1000 come in one component."""
    from numeric import position_encoding

    encoding = position_encoding(np.arange(start, 1001), width)
    return float(np.diff(np.sort(encoding[:, component])).min())


def twin_sines(_rng: np.random.Generator) -> list[Trial]:
    return [bounded(1e-9, closest(-1000, width, 0), f"d={width}") for width in WIDTHS]


SINES_ALONE = Claim(
    id="positional-encoding/unique-by-sines",
    title="The sines alone tell integers apart",
    source=source("A16", "The encodings differ; each has sines and cosines."),
    statement=forall([m, n], implies(forall(i, equal(sine(m, i), sine(n, i))), equal(m, n))),
    given=ENCODING,
    proof=prove_sines,
    twin=Twin("smallest distance of the sines among 2001 positions", twin_sines),
    expected=Verdict.PROVED,
)  # fmt: skip

from_zero = natural("l"), natural("k")  # in the order in which two naturals are printed


def cosines_agree(first: Any, second: Any) -> Any:
    return forall(i, equal(cosine(first, i), cosine(second, i)))


def prove_cosines(p: Prover) -> Theorem:
    m, n = from_zero
    x, y, half = over(plus(m, n), 2), over(minus(m, n), 2), Fraction(1, 2)

    def same_position(same: Theorem) -> Theorem:
        unit = first_frequency(p)
        cosines = agree_in_first_pair(p, unit, p.at(same, 0), m, n, "cos")
        zero = p.calc(
            times(sin(y), sin(x)),
            (
                over(minus(cos(n), cos(m)), 2),
                r"addition formula of the cosine, at $\frac{l+k}2 \mp \frac{l-k}2$",
                (half, p.axiom("cos-add", x, y)),
                (-half, p.axiom("cos-add", x, times(-1, y))),
            ),
            (0, "the cosines agree", (-half, cosines)),
        )

        def gap_vanishes(vanishes: Theorem) -> Theorem:
            gap = minus(m, n)
            none = no_turns(p, full_turn(p, vanishes, y, gap), gap)
            return p.equal(m, n, (1, none), reason="they are one position")

        def both_are_zero(vanishes: Theorem) -> Theorem:
            none = no_turns(p, full_turn(p, vanishes, x, plus(m, n)), plus(m, n))
            low = p.order(at_most(m, n), (-1, none))
            high = p.order(at_most(n, m), (-1, none))
            return p.note(
                infer("antisymmetry", [low, high]),
                "neither is negative and their sum is zero, so that both are zero",
            )

        return a_factor_is_zero(p, zero, sin(y), sin(x), gap_vanishes, both_are_zero)

    let = "let the cosines of two natural numbers agree"
    return p.for_all(p.suppose(cosines_agree(m, n), same_position, let), m, n)


def twin_cosines(rng: np.random.Generator) -> list[Trial]:
    """Cosines alone mix up p and -p, and nothing among the natural numbers."""
    from numeric import position_encoding

    trials = []
    for width in WIDTHS:
        first = rng.integers(1, 2000, 5)
        mirrored = position_encoding(-first, width)[:, 1::2]
        trials += [
            agree(position_encoding(first, width)[:, 1::2], mirrored, f"d={width}"),
            bounded(1e-9, closest(0, width, 1), f"natural positions, d={width}"),
        ]
    return trials


COSINES_ALONE = Claim(
    id="positional-encoding/unique-by-cosines",
    title="The cosines alone tell integers apart",
    source=source("A16", "The encodings differ; each has sines and cosines."),
    statement=implies(cosines_agree(integer("p"), integer("q")), equal(integer("p"), integer("q"))),
    given=ENCODING,
    counterexample=Example({r: 1, integer("p"): 1, integer("q"): -1}),
    correction=Correction(
        forall(from_zero, implies(cosines_agree(*from_zero), equal(*from_zero))),
        prove_cosines,
        ENCODING,
    ),
    twin=Twin("cosines of mirrored positions, and their smallest distance from 0 on", twin_cosines),
    expected=Verdict.REFUTED,
    remark="Among the positions 0, 1, 2, ... of the note the cosines alone are enough as well.",
)  # fmt: skip

# ---------------------------------------------------------------------- A16: distances


def squared_distance(first: Any, second: Any) -> sp.Expr:
    return total(power(minus(PE(first, a), PE(second, a)), 2), a)


def prove_distance(p: Prover) -> Theorem:
    _, _, sines, cosines = (p.hyp(n) for n in range(4))
    formula = difference_formula(p, pos, other)
    x, y, t = angle(pos), angle(other), over(turned(pos, other), 2)
    gaps = plus(
        power(minus(sine(pos, i), sine(other, i)), 2),
        power(minus(cosine(pos, i), cosine(other, i)), 2),
    )
    half_angle = minus(power(cos(t), 2), power(sin(t), 2))
    twice = p.equal(
        cos(minus(x, y)),
        half_angle,
        p.axiom("cos-add", t, t),
        reason="addition formula of the cosine, at twice one angle",
    )
    per_pair = p.calc(
        gaps,
        (
            plus(power(minus(sin(x), sin(y)), 2), power(minus(cos(x), cos(y)), 2)),
            "definition",
            sines,
            cosines,
        ),
        (
            minus(2, times(2, plus(times(cos(x), cos(y)), times(sin(x), sin(y))))),
            r"multiply out; $\sin^2 + \cos^2 = 1$ at either position",
            p.axiom("pythagoras", x),
            p.axiom("pythagoras", y),
        ),
        (minus(2, times(2, cos(minus(x, y)))), "the first formula", (2, formula)),
        (minus(2, times(2, half_angle)), "the second", (-2, twice)),
        (times(4, power(sin(t), 2)), r"$1 - \cos^2 = \sin^2$", (-2, p.axiom("pythagoras", t))),
    )
    return p.calc(
        squared_distance(pos, other),
        (total(gaps, i), "pair by pair", by_pairs(p, squared_distance(pos, other))),
        (
            times(4, total(power(sin(t), 2), i)),
            "what was shown for a pair",
            (1, summed(p, p.for_all(per_pair, i))),
        ),
    )


def twin_distance(_rng: np.random.Generator) -> list[Trial]:
    from numeric import frequencies

    trials = []
    for width, positions, encoding in encodings():
        measured = ((encoding[:, None] - encoding[:10]) ** 2).sum(axis=2)
        gap = positions[:, None] - positions[:10]
        claimed = 4 * sum(np.sin(w * gap / 2) ** 2 for w in frequencies(width))
        trials.append(agree(measured, claimed, f"d={width}", 1e-11))
    return trials


def distance_mutations() -> tuple[Mutation, ...]:
    def of_sines(f: Callable[[Any], sp.Expr], angle: Any) -> Any:
        return equal(squared_distance(pos, other), times(4, total(power(f(angle), 2), i)))

    return (
        Mutation(
            "the angles are not halved",
            statement=of_sines(sin, turned(pos, other)),
            counterexample=Example({r: 1, pos: 0, other: sp.pi}),
        ),
        Mutation(
            "cosines stand for the sines",
            statement=of_sines(cos, over(turned(pos, other), 2)),
            counterexample=Example({r: 1, pos: 0, other: 0}),
        ),
    )


DISTANCE = Claim(
    id="positional-encoding/distance",
    title="How far apart two encodings are",
    source=source("A16", "Encodings of different positions differ; by how much is not said."),
    statement=equal(
        squared_distance(pos, other), times(4, total(power(sin(over(turned(pos, other), 2)), 2), i))
    ),
    given=ENCODING,
    proof=prove_distance,
    twin=Twin("distances of encodings against sums of squared sines", twin_distance),
    mutations=distance_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip

CLAIMS = (
    UNIQUE, UNIQUE_REAL, real_collision(4), real_collision(8), SINES_ALONE, COSINES_ALONE, DISTANCE,
)  # fmt: skip

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
