"""Sinusoidal position encoding: what its formulas define.

The two formulas of the derivations note give every component of the vector once, provided that
the width is even.  Then all positions have encodings of one length, and the inner product of two
of them depends on the difference of the positions only.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import sympy as sp

from derive.claim import Added, Claim, Example, Given, Mutation
from derive.claims._positions import (
    COMPONENT,
    ENCODING,
    FREQUENCIES,
    PAIRS,
    PE,
    POSITION,
    POSITIONS,
    WIDTHS,
    a,
    angle,
    by_pairs,
    cos,
    cosine,
    d,
    difference_formula,
    each_component,
    encodings,
    exists_function,
    i,
    omega,
    other,
    pair_of,
    parity,
    pos,
    r,
    root,
    sin,
    sine,
    source,
    stretch,
    summed,
    turned,
)
from derive.counterexample import denied
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.kernel.terms import Lam, Term
from derive.language import (
    at_most,
    both,
    call,
    divides,
    either,
    equal,
    exists,
    forall,
    less,
    minus,
    natural,
    over,
    plus,
    power,
    tensor,
    times,
    total,
)
from derive.prover import Prover
from derive.result import Verdict
from derive.twin import Trial, Twin
from derive.twin import at_most as bounded
from derive.twin import equal as agree

ORDER = 30
TOPIC = "positional-encoding"


# ---------------------------------------------------------------------- A15: the components

pair = natural("l")
in_pair = either(equal(a, 2 * pair), equal(a, 2 * pair + 1))
reached = exists(pair, both(at_most(pair, minus(over(d, 2), 1)), in_pair))


def prove_partition(p: Prover) -> Theorem:
    half = call(sp.floor, over(a, 2))
    low = p.note(p.axiom("floor-lower", over(a, 2)), r"take the pair $\lfloor a/2 \rfloor$")
    high = p.note(p.axiom("floor-upper", over(a, 2)), "the other half of the definition")
    below = p.order(
        less(half, over(d, 2)),
        (1, low),
        (Fraction(1, 2), p.order(less(a, d))),
        reason=r"since $a < d_{\text{model}}$",
    )
    room = p.order(
        at_most(half, minus(over(d, 2), 1)),
        (1, p.next_integer(below)),
        reason=r"both are integers, because $d_{\text{model}}$ is even",
    )
    even, odd = times(2, half), plus(times(2, half), 1)
    choice = p.formula(either(equal(a, even), equal(a, odd)))
    from_even = p.order(at_most(even, a), (2, low))
    below_next = p.order(less(a, plus(even, 2)), (2, high))
    to_odd = p.order(at_most(a, odd), (1, p.next_integer(below_next)))

    def is_even(to_even: Theorem) -> Theorem:
        return infer("disjunct", [infer("antisymmetry", [to_even, from_even])], choice, 0)

    def is_odd(above: Theorem) -> Theorem:
        from_odd = p.order(at_most(odd, a), (1, p.next_integer(above)))
        return infer("disjunct", [infer("antisymmetry", [to_odd, from_odd])], choice, 1)

    which = p.cases(p.dichotomy(a, even), is_even, is_odd)
    p.note(which, r"no integer lies strictly between $2\lfloor a/2\rfloor$ and the next one")
    found = p.note(p.exists(reached, half, p.both(room, which)), "so that this pair is one of them")
    return p.for_all(found, a)


def stands_alone(p: Prover, target: Term) -> Theorem:
    """At d_model = 3, component 2 belongs to no pair."""
    q = target.children[0]
    some = p.assume(T.instantiate(q.children[1], (T.num(2),)))

    def absurd(found: Theorem) -> Theorem:
        room, which = p.part(found, 0), p.part(found, 1)

        def first(low: Theorem) -> Theorem:
            """The pair is 0, and its components are 0 and 1."""
            even = lambda e: refute(p.order(at_most(2, 0), (2, low), (-1, e)))  # noqa: E731
            odd = lambda e: refute(p.order(at_most(2, 1), (2, low), (-1, e)))  # noqa: E731
            return p.cases(which, even, odd)

        def later(high: Theorem) -> Theorem:
            return refute(p.order(at_most(1, Fraction(1, 2)), (1, p.next_integer(high)), (1, room)))

        return p.cases(p.dichotomy(pair, 0), first, later)

    def refute(wrong: Theorem) -> Theorem:
        right = infer("decide", [], T.negate(wrong.conclusion))
        return infer("contradiction", [wrong, right], T.negate(some.conclusion))

    none = infer("deny", [p.choose(some, pair, absurd)], some.conclusion)
    return infer("not-forall", [none], target, T.num(2))


def twin_partition(_rng: np.random.Generator) -> list[Trial]:
    """The columns of a built encoding that the sines and cosines of the pairs account for."""
    from numeric import frequencies, position_encoding

    trials = []
    for width in WIDTHS:
        encoding = position_encoding(POSITIONS[:50], width)
        columns = [f(POSITIONS[:50] * w) for w in frequencies(width) for f in (np.sin, np.cos)]
        trials.append(agree(encoding, np.stack(columns, axis=1), f"columns at d={width}"))
    for width in (1, 3, 511):
        trials.append(agree(has_encoding(width), False, f"d={width}"))
    return trials


def has_encoding(width: int) -> bool:
    from numeric import position_encoding

    try:
        return position_encoding([0], width).shape == (1, width)
    except ValueError:
        return False


PARTITION = Claim(
    id="positional-encoding/partition",
    title="Every component belongs to a pair",
    source=source(
        "A15",
        r"Components $2i$ and $2i + 1$ are given for $i = 0, \dots, d_{\text{model}}/2 - 1$; this "
        r"$i$ is called the index of the dimension, though it counts pairs of components.",
    ),
    statement=forall(a, reached),
    added=(
        Added(
            divides(2, d),
            Example({d: 3}, stands_alone),
            "the note does not say that the width is even; otherwise the last sine stands alone",
        ),
    ),
    witness=Example({d: 4}),
    proof=prove_partition,
    twin=Twin("columns of encodings against the sines and cosines of the pairs", twin_partition),
    expected=Verdict.CONDITIONAL,
)  # fmt: skip


def entry(position: Term, component: Term) -> Term:
    """A component of the encoding in one formula."""
    angle = T.mul(position, T.apply("omega", pair_of(component)))
    return T.add(
        T.mul(T.delta(parity(component), T.ZERO), T.fn("sin", angle)),
        T.mul(T.delta(parity(component), T.ONE), T.fn("cos", angle)),
    )


ONE_FORMULA = T.forall(
    POSITION,
    T.forall(COMPONENT, T.eq(T.apply("PE", POSITION, COMPONENT), entry(POSITION, COMPONENT))),
)


written_angle = over(pos, stretch(i))
AS_WRITTEN = (
    Given(forall([pos, i], equal(sine(pos, i), sin(written_angle))), "the even components"),
    Given(forall([pos, i], equal(cosine(pos, i), cos(written_angle))), "the odd components"),
)


def prove_components(p: Prover) -> Theorem:
    _, frequencies, sines, cosines = (p.hyp(n) for n in range(4))
    same = p.equal(written_angle, angle(pos), frequencies, reason=r"$\omega_i$ is short for this")
    lines = []
    for stated, f in ((sines, "sin"), (cosines, "cos")):
        written = p.at(stated, pos, i)
        left = written.conclusion.children[0]
        lines.append(p.rewrite(same, written, lambda x: T.eq(left, T.fn(f, x))))  # noqa: B023
    p.note(lines[0], r"an even component has parity 0 and belongs to pair $\lfloor 2i/2 \rfloor$")
    p.note(lines[1], r"an odd one has parity 1 and belongs to pair $\lfloor (2i+1)/2 \rfloor$")
    rules = [p.for_all(line, pos, i) for line in lines]

    def case(_i: Term, _c: int, goal: Term) -> Theorem:
        return p.equal(*goal.children, *rules, show=False)

    every = each_component(p, T.instantiate(ONE_FORMULA.children[0], (POSITION,)), case)
    return p.note(p.for_all(every, pos), "one formula fits either parity")


def twin_components(
    rng: np.random.Generator, base: float = 10_000.0, *, interleaved: bool = True
) -> list[Trial]:
    """The one formula, evaluated entry by entry, against the encoding."""
    from math import cos, sin

    from numeric import position_encoding

    trials = []
    for width in (2, 4, 6, 12):
        positions = [0.0, 1.0, 37.0, 1999.0, *rng.uniform(-99, 99, 4)]
        one_by_one = [
            [(cos if e % 2 else sin)(x / 10000 ** (2 * (e // 2) / width)) for e in range(width)]
            for x in positions
        ]
        encoding = position_encoding(positions, width, base)
        if not interleaved:
            encoding = np.hstack([encoding[:, 0::2], encoding[:, 1::2]])
        trials.append(agree(encoding, one_by_one, f"d={width}"))
    return trials


def other_exponents(p: Prover, target: Term) -> Theorem:
    """At width 4 and position 100 pi: the cosine of pi is not that of ten pi."""

    def turned_by(root_of: int) -> Theorem:
        """The cosine at the frequency 10000^(-1/n)."""
        w, q = T.fn("rpow", T.num(10_000), T.num(Fraction(-1, root_of))), 10 ** (4 // root_of)
        same = p.equal(Fraction(1, q), w, (-1, root(p, w, Fraction(1, q), root_of)), show=False)
        turn = lambda x: T.fn("cos", T.mul(T.num(100), T.PI, x))  # noqa: E731
        value = T.num((-1) ** (100 // q))
        exact = p.trivial(T.eq(turn(T.num(Fraction(1, q))), value))
        return p.rewrite(same, exact, lambda x: T.eq(turn(x), value))

    def differ(statement: Term) -> Theorem:
        with p.supposing(statement) as case:
            wrong = p.equal(-1, 1, (-1, turned_by(2)), (1, case), (1, turned_by(4)), show=False)
            right = p.trivial(T.negate(wrong.conclusion))
            none = infer("contradiction", [wrong, right], T.negate(statement))
        return infer("deny", [none], statement)

    return denied(target.children[0], len(COMPONENTS.given), differ)


def sines_first() -> Lam:
    """The encoding of width 4 with both sines before both cosines."""
    x, e = T.var("p"), T.var("a", "fin", T.num(4))
    half, pair = T.fn("floor", T.div(e, T.num(2))), T.fn("mod", e, T.num(2))
    turn = T.mul(x, T.fn("rpow", T.num(10_000), T.div(T.neg(pair), T.num(2))))
    entry = T.add(
        T.mul(T.delta(half, T.ZERO), T.fn("sin", turn)),
        T.mul(T.delta(half, T.ONE), T.fn("cos", turn)),
    )
    return Lam(2, T.abstract(entry, (x, e)))


def component_mutations() -> tuple[Mutation, ...]:
    halved = Given(forall(i, equal(omega[i], over(1, power(10000, over(i, d))))))
    exchanged = (
        Given(forall([pos, i], equal(sine(pos, i), cos(written_angle)))),
        Given(forall([pos, i], equal(cosine(pos, i), sin(written_angle)))),
    )
    separate = (
        Given(forall([pos, i], equal(PE(pos, i), sin(angle(pos))))),
        Given(forall([pos, i], equal(PE(pos, plus(r, i)), cos(angle(pos))))),
    )
    return (
        Mutation(
            r"the exponent is $i/d_{\text{model}}$, without its factor 2",
            statement=equal(cosine(pos, i), cos(angle(pos))),
            given=(PAIRS, halved, *AS_WRITTEN),
            counterexample=Example({r: 2, i: 1, pos: 100 * sp.pi}, other_exponents),
            twin=Twin(
                "the formula for one component against an encoding with those exponents",
                lambda rng: twin_components(rng, base=100.0),
            ),
        ),
        Mutation(
            "all sines stand before all cosines",
            statement=equal(cosine(pos, i), cos(angle(pos))),
            given=(PAIRS, FREQUENCIES, *separate),
            counterexample=Example({r: 2, i: 0, pos: 0, tensor("PE", d, d): sines_first()}),
            twin=Twin(
                "the formula for one component against the columns in that order",
                lambda rng: twin_components(rng, interleaved=False),
            ),
        ),
        Mutation(
            "the even components are the cosines",
            given=(PAIRS, FREQUENCIES, *exchanged),
        ),
    )


COMPONENTS = Claim(
    id="positional-encoding/components",
    title="The two formulas as one formula for every component",
    source=source(
        "A15",
        r"$\mathrm{PE}_{p,2i} = \sin(p/10000^{2i/d_{\text{model}}})$ and "
        r"$\mathrm{PE}_{p,2i+1} = \cos(p/10000^{2i/d_{\text{model}}})$ at every position $p$.",
    ),
    statement=ONE_FORMULA,
    given=(PAIRS, FREQUENCIES, *AS_WRITTEN),
    proof=prove_components,
    twin=Twin("the formula for one component against the encoding", twin_components),
    mutations=component_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip


SOME_ENCODING = exists_function(
    "PE",
    forall(
        [pos, i],
        both(
            equal(sine(pos, i), sin(angle(pos))),
            equal(cosine(pos, i), cos(angle(pos))),
        ),
    ),
)


def prove_consistent(p: Prover) -> Theorem:
    position, component = POSITION, T.var("a")
    formula = Lam(2, T.abstract(entry(position, component), (position, component)))
    even = p.equal(
        entry(position, p.term(2 * i)),
        sin(angle(pos)),
        reason=r"the one formula at $2i$: the parity is 0, and $\lfloor 2i/2 \rfloor = i$",
    )
    odd = p.equal(
        entry(position, p.term(2 * i + 1)),
        cos(angle(pos)),
        reason=r"and at $2i + 1$: the parity is 1, and $\lfloor (2i+1)/2 \rfloor = i$",
    )
    fits = p.for_all(p.both(even, odd), pos, i)
    return p.note(p.exists(SOME_ENCODING, formula, fits), "so it meets both definitions at once")


CONSISTENT = Claim(
    id="positional-encoding/consistent",
    title="No component is defined twice",
    source=source("A15", "The even components are sines, the odd ones are cosines."),
    statement=SOME_ENCODING,
    proof=prove_consistent,
    twin=Twin("the formula for one component against the encoding", twin_components),
    expected=Verdict.PROVED,
    remark="So there is an encoding that meets the hypotheses of the other claims.",
)  # fmt: skip


def prove_range(p: Prover) -> Theorem:
    _, _, sines, cosines = (p.hyp(n) for n in range(4))
    x = angle(pos)
    circle = p.note(p.axiom("pythagoras", x), "a sine and a cosine of one angle")

    def square_at_most_one(stated: Theorem, value: sp.Expr) -> Theorem:
        definition = p.at(stated, pos, i)
        component = definition.conclusion.children[0]
        theorem = p.order(
            T.le(T.power(component, 2), T.ONE),
            (-1, circle),
            (T.neg(T.add(component, p.term(value))), definition),
            reason="the other square is not negative",
        )
        return p.for_all(theorem, i)

    squares = [square_at_most_one(sines, sin(x)), square_at_most_one(cosines, cos(x))]

    def case(at: Term, parity: int, goal: Term) -> Theorem:
        return p.order(goal, (1, p.at(squares[parity], at)))

    component = PE(pos, a)
    square = forall(a, at_most(power(component, 2), 1))
    every = p.at(each_component(p, square, case, "either parity"), a)
    half = Fraction(1, 2)
    low = p.order(
        at_most(-1, component),
        (half, p.square(plus(1, component))),
        (half, every),
        reason=r"let $x$ be the component: $1 + x = \frac12 (1 + x)^2 + \frac12 (1 - x^2)$",
    )
    high = p.order(
        at_most(component, 1),
        (half, p.square(minus(1, component))),
        (half, every),
        reason=r"$1 - x = \frac12 (1 - x)^2 + \frac12 (1 - x^2)$",
    )
    return p.for_all(p.both(low, high), pos, a)


def twin_range(_rng: np.random.Generator) -> list[Trial]:
    return [bounded(np.abs(encoding), 1.0, f"d={width}") for width, _, encoding in encodings()]


RANGE = Claim(
    id="positional-encoding/range",
    title="Every component lies between $-1$ and 1",
    source=source("A15", "Every component is a sine or a cosine."),
    statement=forall([pos, a], both(at_most(-1, PE(pos, a)), at_most(PE(pos, a), 1))),
    given=ENCODING,
    proof=prove_range,
    twin=Twin("entries of encodings", twin_range),
    expected=Verdict.PROVED,
)  # fmt: skip


def prove_origin(p: Prover) -> Theorem:
    _, _, sines, cosines = (p.hyp(n) for n in range(4))
    first = p.calc(sine(0, i), (sin(angle(0)), "definition", sines), (0, r"$\sin 0 = 0$"))
    second = p.calc(cosine(0, i), (cos(angle(0)), "definition", cosines), (1, r"$\cos 0 = 1$"))
    return p.for_all(p.both(first, second), i)


def twin_origin(_rng: np.random.Generator) -> list[Trial]:
    alternating = [np.tile([0.0, 1.0], width // 2) for width in WIDTHS]
    return [agree(e[0], z, f"d={w}") for (w, _, e), z in zip(encodings(), alternating, strict=True)]


ORIGIN = Claim(
    id="positional-encoding/origin",
    title="Position 0 is encoded by 0, 1, 0, 1, ...",
    source=source("A15", "Positions are counted from 0."),
    statement=forall(i, both(equal(sine(0, i), 0), equal(cosine(0, i), 1))),
    given=ENCODING,
    proof=prove_origin,
    twin=Twin("the encoding of position 0", twin_origin),
    expected=Verdict.PROVED,
)  # fmt: skip


# ---------------------------------------------------------------------- A15: lengths and angles


def pairwise(first: Any, second: Any) -> sp.Expr:
    """The contribution of pair i to an inner product."""
    return plus(times(sine(first, i), sine(second, i)), times(cosine(first, i), cosine(second, i)))


def inner(first: Any, second: Any) -> sp.Expr:
    return total(times(PE(first, a), PE(second, a)), a)


def prove_inner(p: Prover) -> Theorem:
    _, _, sines, cosines = (p.hyp(n) for n in range(4))
    formula = p.for_all(difference_formula(p, pos, other), i)
    x, y = angle(pos), angle(other)
    by_angles = plus(times(sin(x), sin(y)), times(cos(x), cos(y)))
    return p.calc(
        inner(pos, other),
        (total(pairwise(pos, other), i), "pair by pair", by_pairs(p, inner(pos, other))),
        (total(by_angles, i), "definition", sines, cosines),
        (total(cos(turned(pos, other)), i), "the formula above", (-1, summed(p, formula))),
    )


def twin_inner(_rng: np.random.Generator) -> list[Trial]:
    from numeric import frequencies

    trials = []
    for width, positions, encoding in encodings():
        gap = positions[:, None] - positions[:30]
        claimed = sum(np.cos(w * gap) for w in frequencies(width))
        trials.append(agree(encoding @ encoding[:30].T, claimed, f"d={width}", 1e-11))
    return trials


def inner_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "the cosines are those of the sum of the positions",
            statement=equal(inner(pos, other), total(cos(times(omega[i], plus(pos, other))), i)),
        ),
    )


INNER = Claim(
    id="positional-encoding/inner-product",
    title="Inner products depend on the difference of the positions only",
    source=source("A15", "The same frequencies are used for the sine and the cosine of a pair."),
    statement=equal(inner(pos, other), total(cos(turned(pos, other)), i)),
    given=ENCODING,
    proof=prove_inner,
    twin=Twin("Gram matrices against sums of cosines", twin_inner),
    mutations=inner_mutations,
    expected=Verdict.PROVED,
    remark="The Gram matrix of the positions is a Toeplitz matrix.",
)  # fmt: skip


def squared_norm(position: Any) -> sp.Expr:
    return total(power(PE(position, a), 2), a)


def prove_norm(p: Prover) -> Theorem:
    pairs, _, sines, cosines = (p.hyp(n) for n in range(4))
    x = angle(pos)
    circle = p.for_all(p.axiom("pythagoras", x), i)
    squares = plus(power(sine(pos, i), 2), power(cosine(pos, i), 2))
    return p.calc(
        squared_norm(pos),
        (total(squares, i), "pair by pair", by_pairs(p, squared_norm(pos))),
        (total(plus(power(sin(x), 2), power(cos(x), 2)), i), "definition", sines, cosines),
        (total(1, i), r"$\sin^2 + \cos^2 = 1$", circle),
        (r, "a constant, once for every pair"),
        (over(d, 2), "there are half as many pairs as components", pairs),
    )


def twin_norm(_rng: np.random.Generator) -> list[Trial]:
    return [
        agree((encoding**2).sum(axis=1), np.full(len(encoding), width / 2), f"d={width}")
        for width, _, encoding in encodings()
    ]


def norm_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            r"the squared length is $d_{\text{model}}$, as if every component were 1 or $-1$",
            statement=equal(squared_norm(pos), d),
        ),
    )


NORM = Claim(
    id="positional-encoding/norm",
    title="Every position has an encoding of the same length",
    source=source("A15", "Every pair holds a sine and the cosine of the same angle."),
    statement=equal(squared_norm(pos), over(d, 2)),
    given=ENCODING,
    proof=prove_norm,
    twin=Twin("squared lengths at positions below 2000", twin_norm),
    mutations=norm_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip

CLAIMS = (PARTITION, COMPONENTS, CONSISTENT, RANGE, ORIGIN, NORM, INNER)

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
