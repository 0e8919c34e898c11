"""Sinusoidal position encoding: how fast its pairs turn.

The derivations note says that the pairs with a large index turn slowly and those with a small one
fast.  The frequencies do decrease, and so does the distance that a pair moves in one step; over
larger offsets a fast pair comes round again and may have moved less than a slow one.
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
    FREQUENCIES,
    PAIRS,
    cos,
    cosine,
    d,
    i,
    j,
    k,
    omega,
    pos,
    r,
    root,
    sin,
    sine,
    source,
    stretch,
)
from derive.claims.positional_uniqueness import first_frequency
from derive.counterexample import denied
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.kernel.terms import Term
from derive.language import (
    GradientIs,
    at_most,
    both,
    call,
    dim,
    equal,
    forall,
    implies,
    index,
    less,
    minus,
    over,
    plus,
    positive,
    power,
    real,
    tensor,
    times,
)
from derive.prover import Prover
from derive.result import Verdict
from derive.twin import Trial, Twin, differs
from derive.twin import at_most as bounded
from derive.twin import equal as agree

ORDER = 34
TOPIC = "positional-frequencies"

WIDTHS = (2, 4, 6, 8, 64, 512)
LOG = call(sp.log, 10000)
SAID = r"Components with a large $i$ have a small $\omega_i$ and change slowly, those with a small "
SAID += r"$i$ have a large $\omega_i$ and change fast."


# ---------------------------------------------------------------------- frequencies


def logarithm_sign(p: Prover, base: Any, beyond: Theorem, sense: int = 1) -> Theorem:
    """0 < log b from 1 < b, or log b < 0 from b < 1 (sense -1), for a positive base."""
    log = call(sp.log, base)
    goal = p.formula(less(0, log) if sense == 1 else less(log, 0))
    b = p.term(base)

    def wrong(same_or_less: Theorem) -> Theorem:
        """b <= 1 (or 1 <= b), against what is known."""
        bad = infer("not-le", [beyond])
        return infer("contradiction", [same_or_less, bad], goal)

    def vanishes(zero: Theorem) -> Theorem:
        """log b = 0, so that b = 1."""
        same = p.equal(T.fn("exp", T.fn("log", b)), T.fn("exp", T.fn("log", b)), show=False)
        one = p.rewrite(zero, same, lambda x: T.eq(T.fn("exp", T.fn("log", b)), T.fn("exp", x)))
        ends = (b, T.ONE) if sense == 1 else (T.ONE, b)
        return wrong(p.order(T.le(*ends), (-sense, one)))

    def reaches(other: Theorem) -> Theorem:
        """log b is not beyond 0: it is 0, or on the other side."""
        first, last = (T.fn("log", b), T.ZERO) if sense == 1 else (T.ZERO, T.fn("log", b))

        def equal_to(back: Theorem) -> Theorem:
            pair = [other, back] if sense == 1 else [back, other]
            return vanishes(infer("antisymmetry", pair))

        def strictly(past: Theorem) -> Theorem:
            grown = p.mp(p.axiom("exp-increasing", first, last), past)
            ends = (b, T.ONE) if sense == 1 else (T.ONE, b)
            return wrong(p.order(T.le(*ends), (1, grown)))

        return p.cases(p.dichotomy(last, first), equal_to, strictly)

    def already(strict: Theorem) -> Theorem:
        return strict

    ends = (log, 0) if sense == 1 else (0, log)
    return p.cases(p.dichotomy(*ends), reaches, already)


def positive_log(p: Prover) -> Theorem:
    """0 < log 10000."""
    return logarithm_sign(p, 10000, p.trivial(less(1, 10000)))


def exponent(pair: Any) -> sp.Expr:
    """omega_i = exp of this."""
    return times(-1, over(times(2, pair), d), LOG)


def as_exponential(p: Prover, frequencies: Theorem, pair: Any) -> Theorem:
    return p.equal(
        omega[pair],
        call(sp.exp, exponent(pair)),
        frequencies,
        reason=r"definition; a power is the exponential of a multiple of the logarithm",
    )


def slower(p: Prover, frequencies: Theorem, low: Any, high: Any, later: Theorem) -> Theorem:
    """omega_high < omega_low, from low < high."""
    p.fact(p.note(positive_log(p), "10000 is more than 1"))
    below = p.order(
        less(exponent(high), exponent(low)),
        (times(over(2, d), LOG), later),
        reason="the exponents decrease",
    )
    grows = p.note(
        p.mp(p.axiom("exp-increasing", exponent(high), exponent(low)), below),
        "the exponential increases",
    )
    first, second = (as_exponential(p, frequencies, x) for x in (high, low))
    return p.order(
        less(omega[high], omega[low]),
        (1, grows),
        (-1, first),
        (1, second),
        reason="which are the frequencies",
    )


DECREASING = forall([i, j], implies(less(i, j), less(omega[j], omega[i])))


def prove_decreasing(p: Prover, show: bool = True) -> Theorem:
    """DECREASING; without `show` the line i < j is left out, where it stands already."""

    def later(before: Theorem) -> Theorem:
        return slower(p, p.hyp(1), i, j, before)

    with p.supposing(less(i, j)) as before:
        if show:
            p.note(before, "let the second pair come later")
        slow = p.discharge(later(before), before)
    return p.for_all(slow, i, j)


def twin_decreasing(_rng: np.random.Generator, base: float = 10_000.0) -> list[Trial]:
    from numeric import frequencies

    trials = []
    for width in WIDTHS:
        steps = np.diff(frequencies(width, base))
        trials.append(agree(steps < 0, np.ones(len(steps), dtype=bool), f"d={width}"))
    return trials


def falling_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            r"the exponent of $\omega_i$ has the other sign",
            given=(PAIRS, Given(forall(i, equal(omega[i], stretch(i))))),
            counterexample=Example({r: 2}),
            twin=Twin(
                "neighbouring frequencies with that exponent",
                lambda rng: twin_decreasing(rng, base=1e-4),
            ),
        ),
        Mutation(
            "a pair is compared with itself as well",
            statement=implies(at_most(i, j), less(omega[j], omega[i])),
            counterexample=Example({r: 1, i: 0, j: 0}),
        ),
    )


FALLING = Claim(
    id="positional-frequencies/decreasing",
    title="Frequencies decrease",
    source=source("A21", SAID),
    statement=DECREASING,
    given=(PAIRS, FREQUENCIES),
    proof=prove_decreasing,
    twin=Twin("frequencies of neighbouring pairs", twin_decreasing),
    mutations=falling_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip

base = positive("b")
nu = tensor("nu", r)
OF_BASE = forall(i, equal(nu[i], over(1, power(base, over(2 * i, d)))))


def prove_any_base(p: Prover) -> Theorem:
    log = call(sp.log, base)

    def exponential(pair: Any, definition: Theorem) -> Theorem:
        return p.equal(
            nu[pair],
            call(sp.exp, times(-1, over(times(2, pair), d), log)),
            definition,
            reason="definition; a power is the exponential of a multiple of the logarithm",
        )

    def direction(sense: int, definition: Theorem) -> Theorem:
        premise = less(1, base) if sense == 1 else less(base, 1)

        def from_base(beyond: Theorem) -> Theorem:
            sign = p.note(
                logarithm_sign(p, base, beyond, sense), "and so the logarithm has this sign"
            )

            def from_order(before: Theorem) -> Theorem:
                first, last = (j, i) if sense == 1 else (i, j)
                exponents = [times(-1, over(times(2, x), d), log) for x in (first, last)]
                below = p.order(
                    less(*exponents),
                    (over(2, d), sign, before),
                    reason="so the exponents have this order",
                )
                grows = p.mp(p.axiom("exp-increasing", *exponents), below)
                p.note(grows, "the exponential increases")
                sides = [exponential(x, definition) for x in (first, last)]
                return p.order(
                    less(nu[first], nu[last]),
                    (1, grows),
                    (-1, sides[0]),
                    (1, sides[1]),
                    reason="which are the frequencies",
                )

            later = p.suppose(less(i, j), from_order, "let the second pair come later")
            return p.for_all(later, i, j)

        return p.suppose(premise, from_base, "suppose this of the base")

    def both_ways(definition: Theorem) -> Theorem:
        return p.both(direction(1, definition), direction(-1, definition))

    return p.suppose(OF_BASE, both_ways, "let the frequencies have this base")


def twin_any_base(rng: np.random.Generator) -> list[Trial]:
    from numeric import frequencies

    trials = []
    for b in (*rng.uniform(1.1, 500, 3), *rng.uniform(0.05, 0.9, 3)):
        for width in (4, 10, 64):
            falls = np.diff(frequencies(width, base=float(b))) < 0
            claimed = np.full(len(falls), b > 1)
            trials.append(agree(falls, claimed, f"b={b:.3g}, d={width}"))
    return trials


def base_mutations() -> tuple[Mutation, ...]:
    falling = forall([i, j], implies(less(i, j), less(nu[j], nu[i])))
    half = Example({r: 2, d: 4, base: sp.Rational(1, 2)})

    def below_one(_rng: np.random.Generator) -> list[Trial]:
        from numeric import frequencies

        steps = np.diff(frequencies(10, base=0.5))
        return [agree(steps < 0, np.ones(len(steps), dtype=bool), "b=0.5")]

    return (
        Mutation(
            "the frequencies fall whatever the base is",
            statement=implies(OF_BASE, falling),
            counterexample=half,
            twin=Twin("neighbouring frequencies of a base below 1", below_one),
        ),
        Mutation(
            "they fall for the base 1 as well",
            statement=implies(OF_BASE, implies(at_most(1, base), falling)),
            counterexample=Example({r: 2, d: 4, base: 1}),
        ),
    )


ANY_BASE = Claim(
    id="positional-frequencies/any-base",
    title="Frequencies of another base",
    source=source(
        "A21", SAID + r" Beyond the note: with a positive base $b$ in place of 10000, it depends "
        r"on whether $b$ is more than 1.",
    ),
    statement=implies(
        OF_BASE,
        both(
            implies(less(1, base), forall([i, j], implies(less(i, j), less(nu[j], nu[i])))),
            implies(less(base, 1), forall([i, j], implies(less(i, j), less(nu[i], nu[j])))),
        ),
    ),
    proof=prove_any_base,
    twin=Twin("frequencies of neighbouring pairs, for bases above and below 1", twin_any_base),
    mutations=base_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip

# ---------------------------------------------------------------------- wavelengths


#: The frequencies again, for indices of which only a proof knows that they fit.
frequency: Callable[[Any], sp.Expr] = sp.Function("omega")


def wavelength(pair: Any) -> sp.Expr:
    return over(times(2, sp.pi), frequency(pair))


def frequencies_known(p: Prover, goal: Term) -> Theorem:
    """A frequency is not 0, under hypotheses and for all indices."""
    if goal.op == "imp":
        with p.supposing(goal.children[0]) as case:
            theorem = frequencies_known(p, goal.children[1])
        return infer("discharge", [theorem], case.conclusion)
    if goal.op == "forall":
        p.opened += 1
        x = T.var(f"_i{p.opened}", "fin", goal.children[0])
        theorem = frequencies_known(p, T.instantiate(goal.children[1], (x,)))
        return infer("generalise", [theorem], x)
    (definition,) = (t for t in p.known() if t.conclusion is p.formula(FREQUENCIES.formula))
    (pair,) = goal.children[0].children[0].children
    same = p.at(definition, pair)
    left, inverse = same.conclusion.children
    positive = p.order(T.lt(T.ZERO, left), (1, same), (1, p.trivial(T.lt(T.ZERO, inverse))))
    return p.trivial(goal, positive)


def positive_frequency(p: Prover, frequencies: Theorem, pair: Any = i) -> Theorem:
    inverse = over(1, power(10000, over(2 * pair, d)))
    return p.rewrite(
        p.equal(inverse, omega[pair], frequencies, show=False),
        p.trivial(less(0, inverse)),
        lambda x: T.lt(T.ZERO, x),
    )


PERIOD = both(
    equal(sine(plus(pos, wavelength(i)), i), sine(pos, i)),
    equal(cosine(plus(pos, wavelength(i)), i), cosine(pos, i)),
)


def prove_period(p: Prover) -> Theorem:
    _, frequencies, sines, cosines = (p.hyp(e) for e in range(4))
    p.fact(p.note(positive_frequency(p, frequencies), "a frequency is positive"))
    x, whole = times(pos, omega[i]), times(2, sp.pi)
    parts = []
    for component, of, name, expanded in (
        (sine, sin, "sin", plus(times(sin(x), cos(whole)), times(cos(x), sin(whole)))),
        (cosine, cos, "cos", minus(times(cos(x), cos(whole)), times(sin(x), sin(whole)))),
    ):
        parts.append(
            p.calc(
                component(plus(pos, wavelength(i)), i),
                (of(plus(x, whole)), r"definition; $\omega_i$ cancels", sines, cosines),
                (expanded, "addition formula", p.axiom(f"{name}-add", x, whole)),
                (of(x), r"the sine of $2\pi$ is 0, its cosine is 1"),
                (component(pos, i), "definition", sines, cosines),
            )
        )
    return p.both(*parts)


def twin_period(rng: np.random.Generator) -> list[Trial]:
    from numeric import frequencies, position_encoding

    trials = []
    for width in WIDTHS[:-1]:
        for pair, w in enumerate(frequencies(width)[:5]):
            positions = rng.uniform(-9, 9, 5)
            here, there = (
                position_encoding(positions + o, width)[:, 2 * pair : 2 * pair + 2]
                for o in (0.0, 2 * np.pi / w)
            )
            trials.append(agree(there, here, f"d={width}, pair {pair}", 1e-11))
    return trials


WAVES = Claim(
    id="positional-frequencies/period",
    title="A pair repeats after its wavelength",
    source=source("A21", SAID + r" Beyond the note: after $2\pi/\omega_i$ a pair is back."),
    statement=PERIOD,
    given=ENCODING,
    proof=prove_period,
    defined=frequencies_known,
    twin=Twin("pairs at positions that are a wavelength apart", twin_period),
    expected=Verdict.PROVED,
)  # fmt: skip

last = minus(r, 1)
LONGEST = times(2, sp.pi, power(10000, minus(1, over(2, d))))


def prove_wavelengths(p: Prover) -> Theorem:
    frequencies = p.hyp(1)
    start = p.equal(
        wavelength(0),
        times(2, sp.pi),
        (times(2, sp.pi), inverse_of(p, frequencies, 0)),
        reason="the first pair has frequency 1",
    )

    def ratio(follows: Theorem) -> Theorem:
        longer = inverse_of(p, frequencies, j)
        right = longer.conclusion.children[0]
        next_one = p.rewrite(
            follows,
            longer,
            lambda x: T.eq(right, T.fn("rpow", T.num(10000), T.div(T.mul(T.num(2), x), p.term(d)))),
        )
        p.note(next_one, "definition, for the next pair")
        here = inverse_of(p, frequencies, i)
        step = power(10000, over(2, d))
        return p.equal(
            wavelength(j),
            times(step, wavelength(i)),
            (times(2, sp.pi), next_one),
            (times(-2, sp.pi, step), here),
            reason="add the exponents",
        )

    each = p.suppose(equal(j, plus(i, 1)), ratio, "let the second pair be the next one")
    return p.both(start, p.for_all(each, i, j))


def inverse_of(p: Prover, frequencies: Theorem, pair: Any) -> Theorem:
    """1 / omega_i = 10000^(2i/d)."""
    stretch = power(10000, over(times(2, pair), d))
    same = p.at(frequencies, pair)
    left = p.term(over(1, frequency(pair)))
    unchanged = p.equal(left, left, show=False)
    inverted = p.rewrite(same, unchanged, lambda x: T.eq(left, T.mul(T.ONE, T.inv(x))))
    return p.equal(left, stretch, inverted, show=False)


def prove_longest(p: Prover) -> Theorem:
    pairs, frequencies = p.hyp(0), p.hyp(1)
    halves = p.equal(
        over(times(2, last), d),
        minus(1, over(2, d)),
        (over(-1, d), pairs),
        reason=r"$2(r - 1) = d_{\text{model}} - 2$",
    )
    inverted = inverse_of(p, frequencies, last)
    right = inverted.conclusion.children[0]
    named = p.rewrite(halves, inverted, lambda x: T.eq(right, T.fn("rpow", T.num(10000), x)))
    longest = p.equal(
        wavelength(last), LONGEST, (times(2, sp.pi), named), reason="definition, for the last pair"
    )
    p.fact(p.note(positive_log(p), "10000 is more than 1"))
    below = p.order(
        less(times(minus(1, over(2, d)), LOG), LOG),
        reason=r"since $2/d_{\text{model}}$ is positive",
    )
    grows = p.mp(
        p.axiom("exp-increasing", *map(p.term, (times(minus(1, over(2, d)), LOG), LOG))), below
    )
    p.note(grows, "the exponential increases")
    shorter = p.order(
        less(LONGEST, times(2, sp.pi, 10000)),
        (times(2, sp.pi), grows),
        reason="the two sides are powers of 10000",
    )
    return p.both(longest, shorter)


def twin_wavelengths(_rng: np.random.Generator) -> list[Trial]:
    from numeric import frequencies

    trials = []
    for width in WIDTHS:
        waves = 2 * np.pi / frequencies(width)
        trials.append(agree(waves[0], 2 * np.pi, f"first, d={width}"))
        if width > 2:
            ratios = waves[1:] / waves[:-1]
            claimed = np.full(len(ratios), 10000 ** (2 / width))
            trials.append(agree(ratios, claimed, f"ratios, d={width}"))
    return trials


WAVELENGTHS = Claim(
    id="positional-frequencies/wavelengths",
    title="Wavelengths form a geometric progression",
    source=source("A21", SAID + r" Beyond the note: the wavelengths $2\pi/\omega_i$."),
    statement=both(
        equal(wavelength(0), times(2, sp.pi)),
        forall(
            [i, j],
            implies(
                equal(j, plus(i, 1)),
                equal(wavelength(j), times(power(10000, over(2, d)), wavelength(i))),
            ),
        ),
    ),
    given=(PAIRS, FREQUENCIES),
    proof=prove_wavelengths,
    defined=frequencies_known,
    twin=Twin("wavelengths of the first and of neighbouring pairs", twin_wavelengths),
    expected=Verdict.PROVED,
)  # fmt: skip


def twin_longest(_rng: np.random.Generator) -> list[Trial]:
    from numeric import frequencies

    trials = []
    for width in WIDTHS:
        longest = 2 * np.pi / frequencies(width)[-1]
        trials += [
            agree(longest, 2 * np.pi * 10000 ** (1 - 2 / width), f"d={width}"),
            bounded(longest, 0.97 * 2 * np.pi * 10000, f"d={width}"),
        ]
    return trials


LONGEST_WAVE = Claim(
    id="positional-frequencies/longest-wavelength",
    title="The longest wavelength",
    source=source(
        "A21", SAID + r" Beyond the note: the slowest pair has a wavelength of less than "
        r"$10000 \cdot 2\pi$.",
    ),
    statement=both(equal(wavelength(last), LONGEST), less(LONGEST, times(2, sp.pi, 10000))),
    given=(PAIRS, FREQUENCIES),
    proof=prove_longest,
    defined=frequencies_known,
    twin=Twin("the last wavelength", twin_longest),
    expected=Verdict.PROVED,
    remark=r"For $d_{\text{model}} = 512$ it is about $9646.6 \cdot 2\pi$.",
)  # fmt: skip

# ---------------------------------------------------------------------- speed

n = dim("n")
t = tensor("t", n)
s_index, u_index = index("s", n), index("u", n)
turn = times(t[s_index], omega[i])
same_token = sp.KroneckerDelta(s_index, u_index)
VELOCITY = times(omega[i], cos(turn)), times(-1, omega[i], sin(turn))


def prove_speed(p: Prover) -> Theorem:
    slopes = []
    for of, velocity in ((sin, VELOCITY[0]), (cos, VELOCITY[1])):
        goal = GradientIs(of(turn), t, u_index, times(same_token, velocity))
        found = p.gradient(goal)
        simpler = p.equal(
            p.partial(found, u_index), times(same_token, velocity),
            reason="derivatives of sine and cosine, and of the angle",
        )  # fmt: skip
        slopes.append(p.with_partial(found, simpler, u_index))
        p.note(slopes[-1], "the slope of one component")
    speed = p.equal(
        plus(*(power(v, 2) for v in VELOCITY)),
        power(omega[i], 2),
        (power(omega[i], 2), p.axiom("pythagoras", turn)),
        reason=r"$\sin^2 + \cos^2 = 1$",
    )
    return p.both(*slopes, speed)


def twin_speed(rng: np.random.Generator) -> list[Trial]:
    """The slopes as vector-Jacobian products, and the speed of every pair."""
    from numeric import frequencies, position_encoding_vjp

    trials = []
    for width in WIDTHS[:-1]:
        positions = rng.uniform(-99, 99, 7)
        slopes = np.empty((7, width))
        for column in range(width):
            unit = np.zeros((7, width))
            unit[:, column] = 1
            slopes[:, column] = position_encoding_vjp(positions, width, unit)
        speeds = np.hypot(slopes[:, 0::2], slopes[:, 1::2])
        claimed = np.tile(frequencies(width), (7, 1))
        trials.append(agree(speeds, claimed, f"d={width}", 1e-11))
    return trials


SPEED = Claim(
    id="positional-frequencies/speed",
    title="A pair moves with the speed of its frequency",
    source=source(
        "A21", SAID + " Read as the speed with which a pair moves when the position is a real "
        "number.",
    ),
    statement=both(
        GradientIs(sin(turn), t, u_index, times(same_token, VELOCITY[0])),
        GradientIs(cos(turn), t, u_index, times(same_token, VELOCITY[1])),
        equal(plus(*(power(v, 2) for v in VELOCITY)), power(omega[i], 2)),
    ),
    proof=prove_speed,
    twin=Twin("slopes of encodings, pair by pair", twin_speed),
    expected=Verdict.PROVED,
    remark=r"At every position $t_s$ the same, and so decreasing in $i$.",
)  # fmt: skip

# ---------------------------------------------------------------------- steps


def gap(offset: Any, pair: Any, position: Any = pos) -> sp.Expr:
    """The squared distance that a pair moves when the position moves by the offset."""
    there = plus(position, offset)
    return plus(
        power(minus(sine(there, pair), sine(position, pair)), 2),
        power(minus(cosine(there, pair), cosine(position, pair)), 2),
    )


def moved(p: Prover, offset: Any, pair: Any) -> Theorem:
    """gap = 2 - 2 cos(k omega)."""
    _, _, sines, cosines = (p.hyp(e) for e in range(4))
    x, y = times(plus(pos, offset), omega[pair]), times(pos, omega[pair])
    return p.calc(
        gap(offset, pair),
        (
            plus(power(minus(sin(x), sin(y)), 2), power(minus(cos(x), cos(y)), 2)),
            "definition",
            sines,
            cosines,
        ),
        (
            minus(2, times(2, plus(times(cos(x), cos(y)), times(sin(x), sin(y))))),
            r"multiply out; $\sin^2 + \cos^2 = 1$ at either position",
            (1, p.axiom("pythagoras", x)),
            (1, p.axiom("pythagoras", y)),
        ),
        (
            minus(2, times(2, cos(times(offset, omega[pair])))),
            "addition formula",
            (2, p.axiom("cos-add", x, times(-1, y))),
        ),
    )


def prove_step(p: Prover) -> Theorem:
    half = over(times(k, omega[i]), 2)
    turned = moved(p, k, i)
    halved = p.calc(
        minus(2, times(2, cos(times(k, omega[i])))),
        (
            minus(2, times(2, minus(power(cos(half), 2), power(sin(half), 2)))),
            "addition formula, at twice one angle",
            (-2, p.axiom("cos-add", half, half)),
        ),
        (
            times(4, power(sin(half), 2)),
            r"$\sin^2 + \cos^2 = 1$",
            (-2, p.axiom("pythagoras", half)),
        ),
    )
    return p.linked(turned, halved)


def gaps(width: int, offset: float, positions: np.ndarray) -> np.ndarray:
    """(positions, pairs): measured on encodings."""
    from numeric import position_encoding

    change = position_encoding(positions + offset, width) - position_encoding(positions, width)
    return (change[:, 0::2] ** 2) + change[:, 1::2] ** 2


def twin_step(rng: np.random.Generator) -> list[Trial]:
    from numeric import frequencies

    trials = []
    for width in WIDTHS:
        positions, offset = rng.uniform(-99, 99, 9), float(rng.uniform(-20, 20))
        claimed = np.tile(4 * np.sin(offset * frequencies(width) / 2) ** 2, (9, 1))
        trials.append(agree(gaps(width, offset, positions), claimed, f"d={width}", 1e-11))
    return trials


def step_mutations() -> tuple[Mutation, ...]:
    def squared_sine(factor: int, turned: Any) -> Any:
        return equal(gap(k, i), times(factor, power(sin(turned), 2)))

    turn, half_turn = times(k, omega[i]), Example({r: 1, i: 0, pos: 0, k: sp.pi})
    return (
        Mutation(
            "the angle is not halved", statement=squared_sine(4, turn), counterexample=half_turn
        ),
        Mutation(
            "the factor is 2",
            statement=squared_sine(2, over(turn, 2)),
            counterexample=half_turn,
        ),
    )


STEP = Claim(
    id="positional-frequencies/step",
    title="How far a pair moves",
    source=source("A21", SAID + r" Read as the distance that a pair moves over an offset $k$."),
    statement=equal(gap(k, i), times(4, power(sin(over(times(k, omega[i]), 2)), 2))),
    given=ENCODING,
    proof=prove_step,
    twin=Twin("distances that pairs move, at random offsets", twin_step),
    mutations=step_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip


SINE_BOUND = r"$\sin y \ge y - \frac16 y^3$, which is positive for $0 < y \le 2$"


def sine_positive(p: Prover, x: Any, above: Theorem, below: Theorem, reason: str = "") -> Theorem:
    """0 < sin x, from 0 < x and x <= 2: x - x^3/6 is positive there."""
    at_least = p.mp(p.axiom("sin-lower", x), p.order(at_most(0, x), (1, above)))
    goal = less(0, sin(x))
    return p.order(
        goal,
        (1, at_least),
        (Fraction(1, 3), above),
        (Fraction(1, 3), above, below),
        (Fraction(1, 6), above, above, below),
        reason=reason or None,
    )


def at_most_one(p: Prover, frequencies: Theorem, decreasing: Theorem) -> Theorem:
    """omega_i <= 1."""
    unit = first_frequency(p)

    def first(reached: Theorem) -> Theorem:
        zero = infer("antisymmetry", [p.order(at_most(0, i)), reached])
        start = p.order(at_most(omega[0], 1), (-1, unit))
        return p.rewrite(zero, start, lambda x: T.le(T.apply("omega", x), T.ONE))

    def later(after: Theorem) -> Theorem:
        less_than = p.mp(p.at(decreasing, 0, i), after)
        return p.order(at_most(omega[i], 1), (1, less_than), (-1, unit))

    found = p.cases(p.dichotomy(i, 0), first, later)
    return p.note(found, r"$\omega_0 = 1$ is the largest one")


def ordered(
    p: Prover, offset: Any, before: Theorem, nonneg: Theorem, limit: Theorem, wide: bool
) -> Theorem:
    """gap_j < gap_i, from i < j for an offset 0 < k <= 2, or up to 3 if `wide`."""
    decreasing = prove_decreasing(p, show=False)  # i < j is what is supposed
    slow = p.mp(p.at(decreasing, i, j), before)
    unit = at_most_one(p, p.hyp(1), decreasing)
    low = positive_frequency(p, p.hyp(1), j)
    p.fact(p.note(low, "a frequency is positive"))
    p.fact(nonneg)
    mean = over(times(offset, plus(omega[i], omega[j])), 2)
    rest = over(times(offset, minus(omega[i], omega[j])), 2)
    half = over(offset, 2)
    mean_above = p.order(less(0, mean), (half, slow), (offset, low), reason="half the sum")
    rest_above = p.order(less(0, rest), (half, slow), reason="and half the difference")
    top = 3 if wide else 2
    mean_below = p.order(
        at_most(mean, top), (half, slow), (offset, unit), (1, limit),
        reason=r"since $\omega_j < \omega_i \le 1$" + (r" and $k \le 3$" if wide else ""),
    )  # fmt: skip
    rest_below = p.order(
        at_most(rest, top),
        (half, unit),
        (half, low),
        (Fraction(1, 2), limit),
        reason="for the same reason",
    )
    known = positive_sines(p, top)
    first, second = (
        p.note(p.mp(p.at(known, x), low, high), "as shown for every such angle")
        for x, low, high in ((mean, mean_above, mean_below), (rest, rest_above, rest_below))
    )
    far, near = moved(p, offset, i), moved(p, offset, j)
    p_sum, p_difference = (p.axiom("cos-add", mean, x) for x in (rest, times(-1, rest)))
    return p.order(
        less(gap(offset, j), gap(offset, i)),
        (4, first, second),
        (1, far),
        (-1, near),
        (-2, p_sum),
        (2, p_difference),
        reason=r"$\cos(y - z) - \cos(y + z) = 2 \sin y \sin z$ for the half sum $y$ and the half "
        r"difference $z$",
    )


any_angle = real("x")


def positive_sines(p: Prover, top: int) -> Theorem:
    """For all x: 0 < sin x, if 0 < x <= top, which is 2 or 3."""
    prove = sine_positive if top == 2 else sine_positive_to_three
    why = SINE_BOUND if top == 2 else r"$\sin x = 2 \sin\frac x2 \cos\frac x2$, both positive"

    def between(case: Theorem) -> Theorem:
        return prove(p, any_angle, p.part(case, 0), p.part(case, 1), why)

    premise = both(less(0, any_angle), at_most(any_angle, top))
    return p.for_all(p.suppose(premise, between, "let an angle be in this range"), any_angle)


def sine_positive_to_three(
    p: Prover, x: Any, above: Theorem, below: Theorem, reason: str = ""
) -> Theorem:
    """0 < sin x for 0 < x <= 3: sin x = 2 sin(x/2) cos(x/2), and cos(x/2) = 1 - 2 sin^2(x/4)."""
    half, fourth = over(x, 2), over(x, 4)
    half_above = p.order(less(0, half), (Fraction(1, 2), above))
    half_below = p.order(at_most(half, 2), (Fraction(1, 2), below))
    sine_half = sine_positive(p, half, half_above, half_below, reason=SINE_BOUND)
    small = square_below_half(p, x, above, below)
    cosine_half = p.order(
        less(0, cos(half)),
        (2, small),
        (1, p.axiom("cos-add", fourth, fourth)),
        (1, p.axiom("pythagoras", fourth)),
        reason="addition formula, at twice one angle: the cosine is $1 - 2 \\sin^2$ of the half",
    )
    return p.order(
        less(0, sin(x)),
        (2, sine_half, cosine_half),
        (1, p.axiom("sin-add", half, half)),
        reason=reason or None,
    )


def square_below_half(p: Prover, x: Any, above: Theorem, below: Theorem) -> Theorem:
    """sin^2(x/4) < 1/2 for 0 < x <= 3."""
    y, half, z = over(x, 4), over(x, 8), over(x, 16)
    quarter, goal = Fraction(1, 4), less(power(sin(y), 2), Fraction(1, 2))
    y_above = p.order(less(0, y), (quarter, above))
    y_below = p.order(at_most(y, Fraction(3, 4)), (quarter, below))
    y_small = p.order(at_most(y, 2), (1, y_below))
    p.fact(sine_positive(p, y, y_above, y_small))
    upper = p.mp(p.axiom("sin-upper", y), p.order(at_most(0, y), (1, y_above)))

    def short(low: Theorem) -> Theorem:
        bound = p.order(
            at_most(sin(y), Fraction(7, 10)),
            (1, upper),
            (1, low),
            reason=r"$\sin y \le y$; first for $y = \frac x4 \le \frac7{10}$",
        )
        return p.order(goal, (plus(Fraction(7, 10), sin(y)), bound), reason="its square")

    def long(high: Theorem) -> Theorem:
        """sin y = 2 sin(y/2) cos(y/2) with cos(y/2) = 1 - 2 sin^2(y/4) well below 1."""
        z_above = p.order(less(0, z), (quarter, y_above))
        least = p.mp(p.axiom("sin-lower", z), p.order(at_most(0, z), (1, z_above)))
        most = p.order(at_most(z, Fraction(3, 16)), (quarter, y_below))
        cube = cube_bound(p, z, z_above, most)
        z_sine = p.order(
            at_most(Fraction(17, 100), sin(z)),
            (1, least),
            (quarter, high),
            (Fraction(1, 6), cube),
            reason=r"otherwise $z = \frac y4$ is between $\frac7{40}$ and $\frac3{16}$; and "
            r"$\sin z \ge z - \frac16 z^3$",
        )
        z_square = p.order(
            at_most(Fraction(289, 10000), power(sin(z), 2)),
            (plus(sin(z), Fraction(17, 100)), z_sine),
            facts=[p.order(less(0, sin(z)), (1, z_sine))],
        )
        half_above = p.order(less(0, half), (Fraction(1, 2), y_above))
        half_small = p.order(at_most(half, 2), (Fraction(1, 2), y_small))
        p.fact(sine_positive(p, half, half_above, half_small))
        half_upper = p.mp(p.axiom("sin-upper", half), p.order(at_most(0, half), (1, half_above)))
        cosine = p.order(
            at_most(cos(half), Fraction(4711, 5000)),
            (2, z_square),
            (-1, p.axiom("cos-add", z, z)),
            (-1, p.axiom("pythagoras", z)),
            reason=r"$\cos 2z = 1 - 2\sin^2 z$",
        )
        bound = p.order(
            at_most(sin(y), Fraction(707, 1000)),
            (times(2, sin(half)), cosine),
            (Fraction(4711, 2500), half_upper),
            (Fraction(4711, 5000), y_below),
            (-1, p.axiom("sin-add", half, half)),
            reason=r"$\sin 4z = 2\sin 2z \cos 2z$, with $\sin 2z \le 2z \le \frac38$",
        )
        return p.order(
            goal, (plus(Fraction(707, 1000), sin(y)), bound), reason="its square is still less"
        )

    return p.cases(p.dichotomy(y, Fraction(7, 10)), short, long)


def cube_bound(p: Prover, z: Any, above: Theorem, below: Theorem) -> Theorem:
    """z^3 <= (3/16)^3 for 0 < z <= 3/16."""
    top = Fraction(3, 16)
    return p.order(
        at_most(power(z, 3), top**3),
        (top**2, below),
        (top, above, below),
        (1, above, above, below),
    )


def prove_one_step(p: Prover) -> Theorem:
    def later(before: Theorem) -> Theorem:
        one = p.trivial(less(0, 1))
        return ordered(p, 1, before, one, p.trivial(at_most(1, 2)), wide=False)

    return p.suppose(less(i, j), later, "let the second pair come later")


def twin_one_step(rng: np.random.Generator, offset: float = 1.0) -> list[Trial]:
    trials = []
    for width in WIDTHS:
        moved_by = gaps(width, offset, rng.integers(0, 999, 5).astype(float))
        falls = np.diff(moved_by, axis=1) < 0
        trials.append(agree(falls, np.ones_like(falls), f"d={width}"))
    return trials


def one_step_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "a later pair moves less over 6 steps as well",
            statement=implies(less(i, j), less(gap(6, j), gap(6, i))),
            counterexample=Example({r: 4, d: 8, i: 0, j: 1, pos: 0}, come_round),
            twin=Twin(
                "distances that neighbouring pairs move over 6 steps",
                lambda rng: twin_one_step(rng, offset=6.0),
            ),
        ),
        Mutation(
            "a pair is compared with itself as well",
            statement=implies(at_most(i, j), less(gap(1, j), gap(1, i))),
            counterexample=Example({r: 1, i: 0, j: 0, pos: 0}),
        ),
    )


ONE_STEP = Claim(
    id="positional-frequencies/one-step",
    title="In one step a later pair moves less",
    source=source("A21", SAID + " Read as the distance that a pair moves from token to token."),
    statement=implies(less(i, j), less(gap(1, j), gap(1, i))),
    given=ENCODING,
    proof=prove_one_step,
    twin=Twin("distances that neighbouring pairs move in one step", twin_one_step),
    mutations=one_step_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip


def prove_few_steps(p: Prover) -> Theorem:
    def short(case: Theorem) -> Theorem:
        before, above, limit = (p.part(case, e) for e in range(3))
        return ordered(p, k, before, above, limit, wide=True)

    premise = both(less(i, j), less(0, k), at_most(k, 3))
    return p.suppose(premise, short, "let the second pair come later, and the offset be short")


steps = dim("m")


def come_round(p: Prover, target: Term) -> Theorem:
    """At width 8 the first pair has nearly come round after 6 steps, the second one has not."""
    sines = sine_of_three(p)
    first = p.calc(
        plus(power(minus(sin(6), sin(0)), 2), power(minus(cos(6), cos(0)), 2)),
        (minus(2, times(2, cos(6))), "", p.axiom("pythagoras", 6)),
        (
            times(4, power(sin(3), 2)),
            "",
            (-2, p.axiom("cos-add", 3, 3)),
            (-2, p.axiom("pythagoras", 3)),
        ),
    )
    slow = p.mp(p.axiom("sin-lower", Fraction(3, 10)), p.trivial(at_most(0, Fraction(3, 10))))
    square = p.order(
        at_most(Fraction(8, 100), power(sin(Fraction(3, 10)), 2)),
        (plus(sin(Fraction(3, 10)), Fraction(591, 2000)), slow),
        facts=[p.order(less(0, sin(Fraction(3, 10))), (1, slow))],
    )
    tenth, angle = Fraction(1, 10), Fraction(6, 10)

    def moved_at(frequency: Term) -> Term:
        turn = T.mul(T.num(6), frequency)
        change = T.sub(T.fn("cos", turn), T.ONE)
        return T.add(T.power(T.fn("sin", turn), 2), T.power(change, 2))

    second = p.order(
        T.le(T.num(Fraction(32, 100)), moved_at(T.num(tenth))),
        (4, square),
        (1, p.axiom("pythagoras", angle)),
        (-2, p.axiom("cos-add", Fraction(3, 10), Fraction(3, 10))),
        (-2, p.axiom("pythagoras", Fraction(3, 10))),
    )
    w = T.fn("rpow", T.num(10000), T.num(Fraction(-2, 8)))
    same = p.equal(tenth, w, (-1, root(p, w, tenth, 4)), show=False)
    second = p.rewrite(same, second, lambda x: T.le(T.num(Fraction(32, 100)), moved_at(x)))

    def deny(p: Prover, statement: Term) -> Theorem:
        later, less_than = statement.children
        with p.supposing(less_than) as case:
            wrong = p.order(
                at_most(Fraction(32, 100), Fraction(24, 100)),
                (1, case), (1, second), (-1, first), (4, sines),
            )  # fmt: skip
            right = infer("decide", [], T.negate(wrong.conclusion))
            none = infer("contradiction", [wrong, right], T.negate(less_than))
        refuted = infer("deny", [none], less_than)
        return infer("not-implies", [p.trivial(later), refuted])

    return denied(target.children[0], len(ENCODING), lambda statement: deny(p, statement))


def sine_of_three(p: Prover) -> Theorem:
    """sin^2 3 <= 6/100: sin 3 = sin 1 (3 - 4 sin^2 1), and sin 1 lies between 5/6 and 7/8."""
    one, half = sin(1), sin(Fraction(1, 2))
    low = p.mp(p.axiom("sin-lower", 1), p.trivial(at_most(0, 1)))
    half_low = p.mp(p.axiom("sin-lower", Fraction(1, 2)), p.trivial(at_most(0, Fraction(1, 2))))
    half_high = p.mp(p.axiom("sin-upper", Fraction(1, 2)), p.trivial(at_most(0, Fraction(1, 2))))
    p.fact(p.order(less(0, half), (1, half_low)))
    p.fact(p.order(less(0, one), (1, low)))
    quarter = p.order(
        at_most(power(half, 2), Fraction(1, 4)), (plus(half, Fraction(1, 2)), half_high)
    )
    cosine = p.order(
        at_most(Fraction(1, 2), cos(1)),
        (2, quarter),
        (1, p.axiom("cos-add", Fraction(1, 2), Fraction(1, 2))),
        (1, p.axiom("pythagoras", Fraction(1, 2))),
    )
    p.fact(p.order(less(0, cos(1)), (1, cosine)))
    cosine_square = p.order(
        at_most(Fraction(1, 4), power(cos(1), 2)), (plus(cos(1), Fraction(1, 2)), cosine)
    )
    high = p.order(
        at_most(power(one, 2), Fraction(3, 4)), (1, cosine_square), (-1, p.axiom("pythagoras", 1))
    )
    square = p.order(at_most(Fraction(25, 36), power(one, 2)), (plus(one, Fraction(5, 6)), low))
    rest = minus(3, times(4, power(one, 2)))
    rest_low = p.order(at_most(0, rest), (4, high))
    rest_high = p.order(at_most(rest, Fraction(2, 9)), (4, square))
    triple = p.equal(
        sin(3),
        times(one, rest),
        (1, p.axiom("sin-add", 2, 1)),
        (cos(1), p.axiom("sin-add", 1, 1)),
        (one, p.axiom("cos-add", 1, 1)),
        (times(3, one), p.axiom("pythagoras", 1)),
        show=False,
    )
    squared = p.equal(
        power(sin(3), 2),
        times(power(one, 2), power(rest, 2)),
        (plus(sin(3), times(one, rest)), triple),
        show=False,
    )
    return p.order(
        at_most(power(sin(3), 2), Fraction(6, 100)),
        (-1, squared),
        (Fraction(2, 9), high, rest_low),
        (power(one, 2), rest_high, rest_low),
        (Fraction(1, 6), rest_high),
    )


def twin_larger(rng: np.random.Generator) -> list[Trial]:
    """Up to offset 3 later pairs move less; at offset 6 the first one has nearly come round."""
    trials = []
    for width in WIDTHS:
        for offset in (0.5, 1.0, 2.0, 3.0):
            moved_by = gaps(width, offset, rng.integers(0, 999, 3).astype(float))
            falls = np.diff(moved_by, axis=1) < 0
            trials.append(agree(falls, np.ones_like(falls), f"d={width}, k={offset}"))
    first, second = gaps(8, 6.0, np.zeros(1))[0, :2]
    wide = gaps(64, 4.0, np.zeros(1))[0, :2]
    return [
        *trials,
        differs(second, first, by=0.2, what="d=8, k=6"),
        bounded(wide[0], wide[1], "d=64, k=4"),
    ]


LARGER = Claim(
    id="positional-frequencies/any-offset",
    title="Over any offset a later pair moves less",
    source=source("A21", SAID + " Read as the distance moved over any number of steps."),
    statement=implies(less(i, j), less(gap(steps, j), gap(steps, i))),
    given=ENCODING,
    counterexample=Example({r: 4, d: 8, i: 0, j: 1, pos: 0, steps: 6}, come_round),
    correction=Correction(
        implies(both(less(i, j), less(0, k), at_most(k, 3)), less(gap(k, j), gap(k, i))),
        prove_few_steps,
        ENCODING,
    ),
    twin=Twin("distances that neighbouring pairs move, over several offsets", twin_larger),
    expected=Verdict.REFUTED,
    remark=r"After 6 steps the first pair has turned by nearly $2\pi$. From 4 steps on the "
    "statement fails at some width.",
)  # fmt: skip

MEANING = Claim(
    id="positional-frequencies/meaning",
    title="What low and high frequencies are for",
    source=source(
        "A21",
        "The slow components are said to capture structure over long distances, the fast ones "
        "fine detail of the position.",
    ),
    reason="What a component captures is an interpretation; the speeds behind it are claims of "
    "their own.",
    expected=Verdict.NOT_MATHEMATICAL,
)

CLAIMS = (
    FALLING,
    ANY_BASE,
    WAVES,
    WAVELENGTHS,
    LONGEST_WAVE,
    SPEED,
    STEP,
    ONE_STEP,
    LARGER,
    MEANING,
)

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
