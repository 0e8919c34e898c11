"""ReLU: what ``max(0, x)`` does to a real number.

The interview note defines the function, says in words what it does, and calls it non-linear.
What it does to numbers that are drawn at random, and to the information in them, is the topic of
`information_loss` and `expansion`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import sympy as sp

from derive.claim import Added, Claim, Correction, Example, Mutation
from derive.claims._relu import (
    absolute_at_least,
    at_zero,
    below_ramp,
    bracket_law,
    by_sign,
    half,
    inactive,
    neg,
    of,
    size,
    source,
)
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.kernel.terms import Term
from derive.language import (
    at_most,
    both,
    equal,
    exists,
    forall,
    iff,
    implies,
    less,
    minus,
    negation,
    over,
    plus,
    positive,
    real,
    relu,
    times,
)
from derive.prover import Prover
from derive.result import Verdict
from derive.twin import Trial, Twin, differs
from derive.twin import at_most as below
from derive.twin import equal as agree

ORDER = 56
TOPIC = "relu"

x, y, a, b, g, s, t = (real(name) for name in "xyabgst")
eps, gap = positive("epsilon"), positive("delta")

DEFINITION = r"$\mathrm{ReLU}(x)=\max(0,x)$."


def samples(rng: np.random.Generator) -> np.ndarray:
    """Numbers of either sign and several magnitudes, with zeros of both signs."""
    drawn = rng.standard_normal(40) * 10.0 ** rng.integers(-3, 4, 40)
    return np.concatenate([drawn, [0.0, -0.0, 1.0, -1.0]])


# ---------------------------------------------------------------------- two closed forms

closed_form = over(plus(x, size(x)), 2)
masked = times(x, minus(1, inactive(x)))


def prove_forms(p: Prover) -> Theorem:
    law = p.equal(
        times(at_zero(x), x), 0, bracket_law(p, x),
        reason="a bracket or $\\delta$ is 1 where the two are equal, and 0 otherwise",
    )  # fmt: skip

    def case(_: Theorem) -> Theorem:
        return p.both(
            p.equal(relu(x), closed_form, reason="$|x|$ is $x$ or $-x$, as the case may be"),
            p.equal(
                relu(x), masked, law,
                reason="the bracket keeps $x$ for $x>0$, and makes it 0 otherwise",
            ),
        )  # fmt: skip

    return by_sign(p, x, case)


def twin_forms(
    rng: np.random.Generator, mask: Callable[[np.ndarray], np.ndarray] = lambda v: v > 0
) -> Iterator[Trial]:
    values = samples(rng)
    yield agree(of(values), (values + np.abs(values)) / 2, "half the sum with the absolute value")
    yield agree(of(values), values * mask(of(values)), "times a mask of the activation")
    yield agree(of(values), values * mask(values), "times a mask")
    yield differs(of(values), (values - np.abs(values)) / 2, by=0.5, what="with the sign changed")


def form_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "the mask keeps what is not positive",
            statement=equal(relu(x), times(x, inactive(x))),
            twin=Twin(
                "ReLU against the mask of what it sets to zero",
                lambda rng: twin_forms(rng, mask=lambda v: v <= 0),
            ),
        ),
        Mutation(
            "the absolute value is taken away", statement=equal(relu(x), over(minus(x, size(x)), 2))
        ),
    )


FORMS = Claim(
    id="relu/closed-forms",
    title="Two other ways to write ReLU",
    source=source(
        "B28",
        f"{DEFINITION} Beyond the note: as code computes it, with a mask, and as calculations do, "
        "with an absolute value.",
    ),
    statement=both(equal(relu(x), closed_form), equal(relu(x), masked)),
    proof=prove_forms,
    twin=Twin("ReLU against a mask and against the absolute value", twin_forms),
    mutations=form_mutations,
    expected=Verdict.PROVED,
    remark=r"$[\max(0,x)=0]$ is 1 for $x\le0$ and 0 for $x>0$.",
)


# ---------------------------------------------------------------------- in words


def prove_words(p: Prover) -> Theorem:
    kept = p.suppose(
        at_most(0, x), lambda _: p.equal(relu(x), x, reason="it is the larger one of $0$ and $x$"),
        "let $x$ not be negative",
    )  # fmt: skip
    dropped = p.suppose(
        at_most(x, 0), lambda _: p.equal(relu(x), 0, reason="now the larger one is $0$"),
        "let $x$ not be positive",
    )  # fmt: skip
    return p.both(kept, dropped)


Function = Callable[[np.ndarray], np.ndarray]


def twin_words(rng: np.random.Generator, f: Function = of) -> Iterator[Trial]:
    values = samples(rng)
    yield agree(f(values[values >= 0]), values[values >= 0], "kept as it is")
    yield agree(f(values[values <= 0]), 0 * values[values <= 0], "set to zero")
    yield differs(of(values[values < 0]), -values[values < 0], by=0.5, what="absolute value")
    yield differs(of(values[values < 0]), values[values < 0] / 8, by=0.05, what="a leaky slope")


def word_mutations() -> tuple[Mutation, ...]:
    slope = sp.Rational(1, 100)

    def leaky(rng: np.random.Generator) -> Iterator[Trial]:
        from numeric import leaky_relu

        yield from twin_words(rng, lambda v: leaky_relu(v, float(slope)))

    return (
        Mutation(
            "what is negative loses its sign only",
            statement=implies(at_most(x, 0), equal(relu(x), neg(x))),
            twin=Twin(
                "the two parts of numbers added, which is their absolute value",
                lambda rng: twin_words(rng, lambda v: of(v) + of(-v)),
            ),
        ),
        Mutation(
            "a small part of what is negative is kept",
            statement=implies(at_most(x, 0), equal(relu(x), times(slope, x))),
            twin=Twin("leaky ReLU of numbers of either sign", leaky),
        ),
    )


WORDS = Claim(
    id="relu/in-words",
    title="What ReLU does, in words",
    source=source(
        "B29",
        "What is above zero is returned as it is, what is below becomes zero. The case $x=0$ is "
        "left out; here it is added to either half, which thereby give the same value there.",
    ),
    statement=both(
        implies(at_most(0, x), equal(relu(x), x)), implies(at_most(x, 0), equal(relu(x), 0))
    ),
    proof=prove_words,
    twin=Twin("ReLU of numbers of either sign, and of zero", twin_words),
    mutations=word_mutations,
    expected=Verdict.PROVED,
)


# ---------------------------------------------------------------------- positive and negative part

parts = both(
    equal(minus(relu(x), relu(neg(x))), x),
    equal(plus(relu(x), relu(neg(x))), size(x)),
    equal(times(relu(x), relu(neg(x))), 0),
)


def prove_parts(p: Prover) -> Theorem:
    def case(_: Theorem) -> Theorem:
        return p.both(
            p.equal(minus(relu(x), relu(neg(x))), x, reason="one of the two terms is 0"),
            p.equal(plus(relu(x), relu(neg(x))), size(x), reason="likewise"),
            p.equal(times(relu(x), relu(neg(x))), 0, reason="one of the factors is 0"),
        )

    return by_sign(p, x, case)


def twin_parts(rng: np.random.Generator) -> Iterator[Trial]:
    values = samples(rng)
    up, down = of(values), of(-values)
    yield agree(up - down, values, "difference")
    yield agree(up + down, np.abs(values), "sum")
    yield agree(up * down, 0 * values, "product")
    yield differs(up + down, values, by=0.5, what="sum against the number itself")


PARTS = Claim(
    id="relu/two-parts",
    title="Two units hold a number",
    source=source(
        "B28",
        f"{DEFINITION} Beyond the note: of $x$ and of $-x$ it gives the two parts of a number.",
    ),
    statement=parts,
    proof=prove_parts,
    twin=Twin("difference, sum and product of the two parts", twin_parts),
    expected=Verdict.PROVED,
)


# ---------------------------------------------------------------------- twice, and scaled


def prove_twice(p: Prover) -> Theorem:
    return p.equal(
        relu(relu(x)), relu(x),
        reason=r"$\max(0,x)$ is not negative, and what is not negative is kept as it is",
    )  # fmt: skip


def twin_twice(rng: np.random.Generator) -> Iterator[Trial]:
    values = samples(rng)
    yield agree(of(of(values)), of(values), "twice")


TWICE = Claim(
    id="relu/idempotent",
    title="A second ReLU in a row changes nothing",
    source=source("B28", f"{DEFINITION} Beyond the note: what a second one in a row does."),
    statement=equal(relu(relu(x)), relu(x)),
    proof=prove_twice,
    twin=Twin("ReLU applied twice", twin_twice),
    expected=Verdict.PROVED,
)


def prove_scaled(p: Prover) -> Theorem:
    scale = p.hyp(0)

    def case(sign: Theorem) -> Theorem:
        if sign.conclusion.op == "le":
            above = p.order(at_most(0, times(a, x)), (1, scale, sign), reason="a product of both")
        else:
            above = p.order(
                at_most(times(a, x), 0), (1, scale, sign), reason="one factor is negative"
            )
        p.fact(above)
        return p.equal(
            relu(times(a, x)), times(a, relu(x)), reason="both sides by the definition"
        )  # fmt: skip

    return by_sign(p, x, case)


def twin_scaled(rng: np.random.Generator, sign: int = 1) -> Iterator[Trial]:
    values = samples(rng)
    for factor in sign * np.array([0.0, 0.5, 1.0, rng.uniform(1, 9)]):
        yield agree(of(factor * values), factor * of(values), f"a={factor:.3g}")
    yield differs(of(-values), -of(values), by=0.5, what="a=-1")


def factor_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "a negative factor passes through as well",
            given=(),
            counterexample=Example({a: -1, x: 1}),
            twin=Twin(
                "ReLU of multiples by negative factors", lambda rng: twin_scaled(rng, sign=-1)
            ),
        ),
        Mutation(
            "a number that is added passes through",
            statement=equal(relu(plus(a, x)), plus(a, relu(x))),
            counterexample=Example({a: 1, x: -1}),
        ),
    )


SCALED = Claim(
    id="relu/positively-homogeneous",
    title="A factor passes through ReLU, unless it is negative",
    source=source(
        "B28",
        f"{DEFINITION} Whether a factor may be taken out is not said; of a linear map it may.",
    ),
    statement=equal(relu(times(a, x)), times(a, relu(x))),
    added=(
        Added(
            at_most(0, a), Example({a: -1, x: 1}),
            "factors that are not negative: for $a=-1$ the wrong half would be kept",
        ),
    ),
    witness=Example({a: 2, x: -1}),
    proof=prove_scaled,
    twin=Twin("ReLU of multiples", twin_scaled),
    mutations=factor_mutations,
    expected=Verdict.CONDITIONAL,
)  # fmt: skip


# ---------------------------------------------------------------------- convex, and no steeper

mixture = plus(times(s, x), times(minus(1, s), y))
chord = plus(times(s, relu(x)), times(minus(1, s), relu(y)))


def smallest_above(p: Prover, t: Any, bound: Any, above: Theorem, floor: Theorem) -> Theorem:
    """ReLU(t) <= bound, from t <= bound and 0 <= bound."""
    goal = at_most(relu(t), bound)
    return p.cases(
        p.dichotomy(0, t),
        lambda _: p.order(goal, (1, above)),
        lambda _: p.order(goal, (1, floor)),
    )


def prove_convex(p: Prover) -> Theorem:
    def within(share: Theorem) -> Theorem:
        low, high = p.part(share, 0), p.part(share, 1)
        first = p.note(below_ramp(p, x), "a number is at most the larger one of $0$ and itself")
        second = p.note(below_ramp(p, y), "likewise")
        not_negative = [p.trivial(at_most(0, relu(v))) for v in (x, y)]
        above = p.order(
            at_most(mixture, chord), (1, low, first), (1, high, second),
            reason="add the two with the weights $s$ and $1-s$, which are not negative",
        )  # fmt: skip
        floor = p.order(
            at_most(0, chord), (1, low, not_negative[0]), (1, high, not_negative[1]),
            reason="no term is negative",
        )  # fmt: skip
        return p.note(
            smallest_above(p, mixture, chord, above, floor),
            "the left side is one of the two left sides above",
        )

    shares = both(at_most(0, s), at_most(s, 1))
    return p.suppose(shares, within, "let $s$ and $1-s$ be the weights of a mean")


def twin_convex(rng: np.random.Generator) -> Iterator[Trial]:
    left, right = samples(rng), rng.permutation(samples(rng))
    for share in (0.0, 0.25, 0.8, 1.0):
        mean = share * left + (1 - share) * right
        chords = share * of(left) + (1 - share) * of(right)
        yield below(of(mean), chords, f"s={share}", tolerance=1e-9)


def convex_mutations() -> tuple[Mutation, ...]:
    shares = both(at_most(0, s), at_most(s, 1))
    return (
        Mutation(
            "the chord lies below the graph",
            statement=implies(shares, at_most(chord, relu(mixture))),
            counterexample=Example({s: half, x: 1, y: -1}),
        ),
        Mutation(
            "the weights of the mean need not be at most 1",
            statement=implies(at_most(0, s), at_most(relu(mixture), chord)),
            counterexample=Example({s: 2, x: 0, y: -1}),
        ),
    )


CONVEX = Claim(
    id="relu/convex",
    title="ReLU is convex",
    source=source(
        "B28", f"{DEFINITION} Beyond the note: its graph has one kink, which opens upwards."
    ),
    statement=implies(both(at_most(0, s), at_most(s, 1)), at_most(relu(mixture), chord)),
    proof=prove_convex,
    twin=Twin("values at means against means of values", twin_convex),
    mutations=convex_mutations,
    expected=Verdict.PROVED,
)

not_steeper = both(
    at_most(size(minus(relu(x), relu(y))), size(minus(x, y))),
    implies(at_most(x, y), at_most(relu(x), relu(y))),
)


def one_side(p: Prover, u: Any, v: Any) -> Theorem:
    """ReLU(u) - ReLU(v) <= |x - y|, for u and v the numbers x and y in either order."""
    apart = size(minus(x, y))
    bound = plus(relu(v), apart)
    step = absolute_at_least(p, minus(x, y), 1 if u is x else -1)
    above = p.order(at_most(u, bound), (1, step), (1, below_ramp(p, v)))
    p.note(above, rf"${u} = {v} + ({u}-{v})$, and neither summand is more than the one here")
    floor = p.order(at_most(0, bound))
    return p.note(
        smallest_above(p, u, bound, above, floor), "the right side is not negative, either"
    )


def prove_lipschitz(p: Prover) -> Theorem:
    up, down = one_side(p, x, y), one_side(p, y, x)
    change, apart = minus(relu(x), relu(y)), size(minus(x, y))
    close = p.cases(
        p.dichotomy(0, change),
        lambda _: p.order(at_most(size(change), apart), (1, up)),
        lambda _: p.order(at_most(size(change), apart), (1, down)),
    )
    p.note(close, "the absolute value is one of the two differences")

    def ordered(less_or_equal: Theorem) -> Theorem:
        above = p.order(
            at_most(x, relu(y)), (1, less_or_equal), (1, below_ramp(p, y)),
            reason=r"$x \le y$, which is at most the larger one of $0$ and $y$",
        )  # fmt: skip
        floor = p.trivial(at_most(0, relu(y)))
        return p.note(smallest_above(p, x, relu(y), above, floor), "and $0$ is no more, either")

    return p.both(close, p.suppose(at_most(x, y), ordered, "for the order, let $x$ be at most $y$"))


def twin_lipschitz(rng: np.random.Generator) -> Iterator[Trial]:
    left, right = samples(rng), rng.permutation(samples(rng))
    yield below(np.abs(of(left) - of(right)), np.abs(left - right), "distances")
    yield below(np.diff(of(np.sort(left))), np.abs(np.diff(np.sort(left))), "neighbours")
    yield below(0, np.min(np.diff(of(np.sort(left)))), "the order is kept")
    positive = np.abs(left)
    yield agree(np.diff(of(positive)), np.diff(positive), "attained for positive numbers")


LIPSCHITZ = Claim(
    id="relu/lipschitz",
    title="ReLU moves no two numbers further apart, and keeps their order",
    source=source("B28", f"{DEFINITION} Beyond the note: it cannot enlarge a difference."),
    statement=not_steeper,
    proof=prove_lipschitz,
    twin=Twin("distances before and after", twin_lipschitz),
    expected=Verdict.PROVED,
)


# ---------------------------------------------------------------------- derivative


def off_the_line(at: Any, slope: Any) -> Any:
    """What the value at a distance t differs from the line of that slope."""
    rise = relu(t) if at == 0 else minus(relu(plus(at, t)), relu(at))
    if slope == 0:
        return rise
    return minus(rise, t if slope == 1 else times(slope, t))


def has_slope(at: Any, slope: Any) -> Any:
    """The derivative of ReLU at a number, written out."""
    error = size(off_the_line(at, slope))
    close = forall(t, implies(less(size(t), gap), at_most(error, times(eps, size(t)))))
    return forall(eps, exists(gap, close))


def prove_slopes(p: Prover) -> Theorem:
    right = p.suppose(
        less(0, x), lambda case: slope_on_one_side(p, case, 1, x), "let $x$ be positive"
    )
    left = p.suppose(
        less(x, 0), lambda case: slope_on_one_side(p, case, 0, neg(x)), "let $x$ be negative"
    )
    return p.both(right, left)


def slope_on_one_side(p: Prover, sign: Theorem, slope: int, margin: Any) -> Theorem:
    """Within the margin of the kink, ReLU is the line with that slope."""
    tolerance = real("epsilon")
    some = p.formula(has_slope(x, slope)).children[0].children[1]

    def within(near: Theorem) -> Theorem:
        moved = plus(x, t)
        nearest = absolute_at_least(p, t, -1 if slope else 1)
        if slope:
            stays = p.order(
                less(0, moved), (1, near), (1, nearest), reason="$x+t$ is still positive"
            )
        else:
            stays = p.order(
                less(moved, 0), (1, near), (1, nearest), reason="$x+t$ is still negative"
            )
        p.fact(stays)
        step = off_the_line(x, slope)
        exact = p.equal(step, 0, reason="there ReLU is a line, and the difference vanishes")
        bound = p.term(times(tolerance, size(t)))
        return p.note(
            p.rewrite(
                p.equal(0, step, (-1, exact), show=False),
                p.order(T.le(T.fn("abs", T.ZERO), bound)),
                lambda hole: T.le(T.fn("abs", hole), bound),
            ),
            "so that nothing is left to be estimated",
        )

    with p.supposing(less(0, tolerance)) as positive:
        near = less(size(t), margin)
        steps = p.for_all(p.suppose(near, within, "and $t$ closer to $0$ than $x$ is"), t)
        goal = T.instantiate(some, (p.term(tolerance),))
        value = p.term(margin)
        room = p.order(less(0, margin), (1, sign))
        found = p.exists(goal, value, p.both(room, steps))
        theorem = p.discharge(found, positive)
    return p.note(p.for_all(theorem, tolerance), "the distance of $x$ from $0$ serves as margin")


def twin_slopes(rng: np.random.Generator) -> Iterator[Trial]:
    """Difference quotients with a step that does not cross the kink, and the hand-written vjp."""
    from numeric import central_difference_error, relu_vjp

    values = samples(rng)
    values = values[np.abs(values) > 1e-3]
    step = 1e-4 * np.where(rng.uniform(size=values.size) < half, 1, -1)
    quotients = (of(values + step) - of(values)) / step
    cotangent = rng.standard_normal(values.size)
    yield agree(quotients, values > 0, "difference quotients", tolerance=1e-6)
    yield agree(relu_vjp(values, cotangent), cotangent * (values > 0), "hand-written gradient")
    error = central_difference_error(of, relu_vjp, (values[:8],), rng)
    yield Trial(error, 1e-6, "gradient against central differences")


SLOPES = Claim(
    id="relu/derivative",
    title="Derivative 1 on the right of the kink, 0 on the left",
    source=source(
        "B28 B29",
        f"{DEFINITION} What is positive is kept and what is negative is dropped; so changes "
        "of the one are kept, and changes of the other are dropped.",
    ),
    statement=both(
        implies(less(0, x), has_slope(x, 1)), implies(less(x, 0), has_slope(x, 0))
    ),
    proof=prove_slopes,
    twin=Twin("difference quotients and the backward pass, off the kink", twin_slopes),
    expected=Verdict.PROVED,
    remark="The definition of a derivative, written out: changes of less than some $\\delta$ are "
    "met up to any fraction $\\epsilon$ of the change.",
)  # fmt: skip

no_slope = negation(exists(a, has_slope(0, a)))


def prove_kink(p: Prover) -> Theorem:
    some = p.note(p.assume(no_slope.args[0]), "suppose that there is a derivative, and call it $a$")
    target = p.formula(no_slope)

    def slope(limit: Theorem) -> Theorem:
        quarter = sp.Rational(1, 4)
        near = p.mp(p.at(limit, quarter), p.trivial(less(0, quarter)))
        p.note(near, r"at the tolerance $\frac14$ there is a margin; call it $g$")
        return p.choose(near, g, lambda found: absurd(p, found, target))

    return infer("deny", [p.choose(some, a, slope)], some.conclusion)


def absurd(p: Prover, found: Theorem, target: Term) -> Theorem:
    """Half the margin, to either side of 0."""
    room = p.fact(p.part(found, 0))
    ends = []
    for end, step in ((times(half, g), times(half, g, minus(1, a))),
                      (times(-half, g), times(half, g, a))):  # fmt: skip
        inside = p.order(less(size(end), g), (half, room))
        close = p.mp(p.at(p.part(found, 1), end), inside)
        signed = absolute_at_least(p, step, 1)
        ends.append(
            p.order(
                at_most(step, times(sp.Rational(1, 8), g)), (1, close), (1, signed),
                reason=f"put in ${'-' if end.args[0] < 0 else ''}\\frac{{g}}2$",
            )
        )  # fmt: skip
    above = p.order(
        at_most(g, 0), *((4, e) for e in ends), reason=r"add the two: $\frac g2\le\frac g4$"
    )
    return infer("contradiction", [above, infer("not-le", [room])], target)


def twin_kink(rng: np.random.Generator) -> Iterator[Trial]:
    """One-sided difference quotients at 0, and what the backward pass makes of it."""
    from numeric import relu_vjp

    steps = 10.0 ** -np.arange(1, 9)
    yield agree(of(steps) / steps, np.ones(8), "from the right")
    yield agree(of(-steps) / -steps, np.zeros(8), "from the left")
    cotangent = rng.standard_normal(3)
    yield agree(relu_vjp(np.zeros(3), cotangent), 0 * cotangent, "code takes the left one")


KINK = Claim(
    id="relu/no-derivative-at-zero",
    title="ReLU has no derivative at its kink",
    source=source(
        "B28 B29",
        "The case $x=0$ is left out. For the value that does no harm; beyond the note, for the "
        "slope it does.",
    ),
    statement=no_slope,
    proof=prove_kink,
    twin=Twin("one-sided difference quotients at zero", twin_kink),
    expected=Verdict.PROVED,
)

supporting = forall(t, at_most(times(g, t), relu(t)))


def prove_subgradients(p: Prover) -> Theorem:
    def there(line: Theorem) -> Theorem:
        left = p.order(at_most(0, g), (1, p.at(line, -1)), reason="put in $-1$")
        right = p.order(at_most(g, 1), (1, p.at(line, 1)), reason="put in $1$")
        return p.both(left, right)

    def back(between: Theorem) -> Theorem:
        low, high = p.part(between, 0), p.part(between, 1)

        def case(sign: Theorem) -> Theorem:
            gap = low if sign.conclusion.op == "lt" else high
            return p.order(
                at_most(times(g, t), relu(t)), (1, gap, sign),
                reason="the difference is a product of two factors that are not negative",
            )  # fmt: skip

        return p.for_all(by_sign(p, t, case), t)

    return p.both(
        p.suppose(supporting, there, "let the line of slope $g$ through the kink stay below"),
        p.suppose(both(at_most(0, g), at_most(g, 1)), back, "conversely"),
    )


def twin_subgradients(rng: np.random.Generator) -> Iterator[Trial]:
    values = samples(rng)
    for slope in (0.0, 0.5, 1.0):
        yield below(slope * values, of(values), f"g={slope}")
    for slope in (-0.1, 1.1):
        excess = float(np.max(slope * values - of(values)))
        yield differs(excess, 0.0, by=0.05, what=f"g={slope} crosses")


SUBGRADIENTS = Claim(
    id="relu/subgradients",
    title="Which slopes may be used at the kink",
    source=source(
        "B28 B29",
        "The case $x=0$ is left out. Beyond the note: code has to choose a slope there, and these "
        "are the slopes of lines below the graph.",
    ),
    statement=iff(supporting, both(at_most(0, g), at_most(g, 1))),
    proof=prove_subgradients,
    twin=Twin("lines through the kink against the graph", twin_subgradients),
    expected=Verdict.PROVED,
)


# ---------------------------------------------------------------------- not linear

NON_LINEAR = "ReLU is there to make the layer non-linear."


def prove_subadditive(p: Prover) -> Theorem:
    right = plus(relu(x), relu(y))
    above = p.order(
        at_most(plus(x, y), right), (1, below_ramp(p, x)), (1, below_ramp(p, y)),
        reason="a number is at most the larger one of $0$ and itself",
    )  # fmt: skip
    floor = p.order(at_most(0, right), reason="no term is negative")
    return p.note(
        smallest_above(p, plus(x, y), right, above, floor),
        "the left side is one of the two left sides above",
    )


def twin_additive(rng: np.random.Generator) -> Iterator[Trial]:
    left, right = samples(rng), rng.permutation(samples(rng))
    yield below(of(left + right), of(left) + of(right), "sums", tolerance=1e-9)
    yield differs(of(np.array(0.0)), of(np.array(1.0)) + of(np.array(-1.0)), by=1, what="1 and -1")


def additive_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "the inequality is the other way round",
            statement=at_most(plus(relu(x), relu(y)), relu(plus(x, y))),
        ),
    )


ADDITIVE = Claim(
    id="relu/additive",
    title="ReLU is additive",
    source=source("B30", f"{NON_LINEAR} Were it linear, sums would pass through it."),
    statement=equal(relu(plus(x, y)), plus(relu(x), relu(y))),
    counterexample=Example({x: 1, y: -1}),
    correction=Correction(
        at_most(relu(plus(x, y)), plus(relu(x), relu(y))), prove_subadditive
    ),
    twin=Twin("ReLU of sums against sums of ReLUs", twin_additive),
    mutations=additive_mutations,
    expected=Verdict.REFUTED,
)  # fmt: skip

not_affine = negation(
    exists(a, exists(b, forall(x, equal(relu(x), plus(times(a, x), b)))))
)  # fmt: skip


def prove_not_affine(p: Prover) -> Theorem:
    some = p.note(
        p.assume(not_affine.args[0]),
        "suppose that the graph were a line, and call its slope $a$ and its constant $b$",
    )
    target = p.formula(not_affine)

    def line(everywhere: Theorem) -> Theorem:
        values = ((-1, b - a), (0, b), (1, a + b))
        left, middle, right = (
            p.equal(sp.Max(0, at), value, (1, p.at(everywhere, at)), reason=f"put in ${at}$")
            for at, value in values
        )
        none = p.equal(
            1, 0, (1, left), (-2, middle), (1, right),
            reason="the outer two less twice the middle one",
        )  # fmt: skip
        return infer("contradiction", [none, p.trivial(negation(equal(1, 0)))], target)

    theorem = p.choose(some, a, lambda inner: p.choose(inner, b, line))
    return infer("deny", [theorem], some.conclusion)


def twin_not_affine(rng: np.random.Generator) -> Iterator[Trial]:
    """The best line through values on both sides leaves an error; on one side it does not."""
    for low, by in ((-1.0, 0.1), (0.0, None)):
        grid = np.linspace(low, 1, 21)
        line = np.polyval(np.polyfit(grid, of(grid), 1), grid)
        if by is None:
            yield agree(line, of(grid), "on one side of the kink", tolerance=1e-9)
        else:
            yield differs(line, of(grid), by=by, what="across the kink")


NOT_AFFINE = Claim(
    id="relu/not-affine",
    title="ReLU is not linear, even with a constant added",
    source=source("B30", NON_LINEAR),
    statement=not_affine,
    proof=prove_not_affine,
    twin=Twin("the best line through values of ReLU", twin_not_affine),
    expected=Verdict.PROVED,
)

CLAIMS = (
    FORMS, WORDS, PARTS, TWICE, SCALED, CONVEX, LIPSCHITZ, SLOPES, KINK, SUBGRADIENTS,
    ADDITIVE, NOT_AFFINE,
)  # fmt: skip

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
