"""Sinusoidal position encoding: what attention scores can make of it.

A shift of the positions turns every pair by an angle that does not depend on the position.  From
this the derivations note concludes that relations at an offset can be learned, whatever the
position is.  Scores that depend on the offset alone exist; most forms do not give them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp

from derive.claim import Claim, Correction, Example, Mutation
from derive.claims._positions import (
    ENCODING,
    PE,
    a,
    angle,
    b,
    by_pairs,
    cos,
    cosine,
    d,
    difference_formula,
    exists_function,
    i,
    j,
    k,
    omega,
    other,
    pos,
    r,
    sin,
    sine,
    source,
    stretch,
    summed,
    turned,
)
from derive.claims.positional_frequencies import positive_frequency, slower
from derive.claims.positional_uniqueness import full_turn, no_turns
from derive.counterexample import denied
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.kernel.terms import Term
from derive.language import (
    both,
    equal,
    forall,
    iff,
    implies,
    integer,
    less,
    minus,
    over,
    plus,
    power,
    real,
    tensor,
    times,
    total,
)
from derive.prover import Prover
from derive.result import Verdict
from derive.twin import Trial, Twin, differs
from derive.twin import equal as agree

ORDER = 33
TOPIC = "positional-scores"

SAID = (
    r"The rotation depends on the offset only, not on the position; so relations between tokens at "
    r"an offset $k$ can be learned without any influence of the position."
)


def difference_of_sines(p: Prover, first: Any, second: Any) -> Theorem:
    """sin(x - y) = sin x cos y - cos x sin y for the angles of pair i."""
    x, y = angle(first), angle(second)
    return p.equal(
        sin(minus(x, y)),
        minus(times(sin(x), cos(y)), times(cos(x), sin(y))),
        p.axiom("sin-add", x, times(-1, y)),
        reason=rf"addition formula, at $A = {first}\,\omega_i$ and $B = -{second}\,\omega_i$",
    )


# ---------------------------------------------------------------------- the turn itself

ahead = plus(pos, k)
overlap = plus(times(sine(ahead, i), sine(pos, i)), times(cosine(ahead, i), cosine(pos, i)))
area = minus(times(sine(ahead, i), cosine(pos, i)), times(cosine(ahead, i), sine(pos, i)))


def prove_turn(p: Prover) -> Theorem:
    _, _, sines, cosines = (p.hyp(e) for e in range(4))
    x, y = angle(ahead), angle(pos)
    parts = []
    for left, of, name, expanded in (
        (overlap, cos, "cosine", plus(times(sin(x), sin(y)), times(cos(x), cos(y)))),
        (area, sin, "sine", minus(times(sin(x), cos(y)), times(cos(x), sin(y)))),
    ):
        added = p.axiom("cos-add" if of is cos else "sin-add", x, times(-1, y))
        parts.append(
            p.calc(
                left,
                (expanded, "definition", sines, cosines),
                (of(minus(x, y)), f"addition formula of the {name}", (-1, added)),
                (of(angle(k)), "the position cancels"),
            )
        )
    return p.both(*parts)


#: Widths at which twins look: one pair, two, and more, with slow ones among them.
WIDTHS = (2, 4, 6, 64)


def twin_turn(rng: np.random.Generator, *, by_position: bool = False) -> list[Trial]:
    from numeric import frequencies, position_encoding

    trials = []
    for width in WIDTHS:
        positions, offset = rng.uniform(-999, 999, 40), float(rng.uniform(-9, 9))
        here, there = (position_encoding(positions + o, width) for o in (0.0, offset))
        by = positions if by_position else np.full(40, offset)
        angles = by[:, None] * frequencies(width)
        dots = there[:, 0::2] * here[:, 0::2] + there[:, 1::2] * here[:, 1::2]
        areas = there[:, 0::2] * here[:, 1::2] - there[:, 1::2] * here[:, 0::2]
        trials += [
            agree(dots, np.cos(angles), f"cosine, d={width}", 1e-11),
            agree(areas, np.sin(angles), f"sine, d={width}", 1e-11),
        ]
    return trials


def turn_mutations() -> tuple[Mutation, ...]:
    by_position = both(equal(overlap, cos(angle(pos))), equal(area, sin(angle(pos))))
    return (
        Mutation(
            "a pair turns by an angle that depends on the position",
            statement=by_position,
            counterexample=Example({r: 1, i: 0, pos: sp.pi, k: 0}),
            twin=Twin(
                "cosines and sines of the turn, against those of the position",
                lambda rng: twin_turn(rng, by_position=True),
            ),
        ),
        Mutation(
            "sine and cosine of the turn are exchanged",
            statement=both(equal(overlap, sin(angle(k))), equal(area, cos(angle(k)))),
            counterexample=Example({r: 1, i: 0, pos: 0, k: 0}),
        ),
    )


TURN = Claim(
    id="positional-scores/turn",
    title="By how much a pair turns does not depend on the position",
    source=source(
        "A20",
        r"The matrix that takes a pair from $p$ to $p + k$ depends on the offset $k$ and not on "
        r"the position $p$.",
    ),
    statement=both(equal(overlap, cos(angle(k))), equal(area, sin(angle(k)))),
    given=ENCODING,
    proof=prove_turn,
    twin=Twin("cosines and sines of the turn, at random positions", twin_turn),
    mutations=turn_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip


# ---------------------------------------------------------------------- scores of positions

B: Callable[[Any, Any], sp.Expr] = sp.Function("B")
form_entries = tensor("B", d, d)
first, second, moved = (integer(x) for x in "klm")


def score(at: Any, to: Any, form: Callable[[Any, Any], Any] = B) -> sp.Expr:
    """The score of two positions under a bilinear form."""
    return total(times(PE(at, a), form(a, b), PE(to, b)), a, b)


def unmoved(of: Callable[[Any, Any], Any]) -> Any:
    """Shifting both positions by a whole number changes nothing."""
    return equal(of(plus(first, moved), plus(second, moved)), of(first, second))


def sine_of_one(p: Prover) -> Theorem:
    """sin 1 is not 0: otherwise 2 would be a multiple of 2 pi, though pi is irrational."""
    vanishes = p.formula(equal(sin(1), 0))

    def absurd(zero: Theorem) -> Theorem:
        turned_round = full_turn(p, zero, 1, 2)
        wrong = no_turns(p, turned_round, 2)
        right = p.trivial(T.negate(wrong.conclusion))
        return infer("contradiction", [wrong, right], T.negate(vanishes))

    with p.supposing(vanishes) as zero:
        return infer("deny", [absurd(zero)], vanishes)


FROM_ORIGIN = {d: 2, r: 1, first: 0, second: 0, moved: 1}


def differing(
    differ: Callable[[Prover, Term, Theorem], Theorem],
) -> Callable[[Prover, Term], Theorem]:
    """Both at position 0, shifted by 1; `differ` denies that equation, from sin 1 != 0."""

    def example(p: Prover, target: Term) -> Theorem:
        nonzero = sine_of_one(p)
        return denied(target.children[0], len(ENCODING), lambda same: differ(p, same, nonzero))

    return example


def by_its_square(_p: Prover, same: Term, nonzero: Theorem) -> Theorem:
    """The scores differ by the square of sin 1."""
    return infer("decide", [nonzero], T.negate(same))


def by_itself(p: Prover, same: Term, nonzero: Theorem) -> Theorem:
    """The scores differ by sin 1, since sin^2 1 + cos^2 1 = 1."""
    with p.supposing(same) as case:
        zero = p.equal(sin(1), 0, (1, case), (-1, p.axiom("pythagoras", 1)), show=False)
        return infer("deny", [infer("contradiction", [zero, nonzero], T.negate(same))], same)


alpha, beta = tensor("alpha", r), tensor("beta", r)
same_pair = sp.KroneckerDelta(i, j)
ENTRIES = (
    forall([i, j], equal(B(2 * i, 2 * j), times(same_pair, alpha[i]))),
    forall([i, j], equal(B(2 * i, 2 * j + 1), times(same_pair, beta[i]))),
    forall([i, j], equal(B(2 * i + 1, 2 * j), times(-1, same_pair, beta[i]))),
    forall([i, j], equal(B(2 * i + 1, 2 * j + 1), times(same_pair, alpha[i]))),
)
by_offset = total(
    plus(times(alpha[i], cos(turned(pos, other))), times(beta[i], sin(turned(pos, other)))), i
)


def prove_blocks(p: Prover) -> Theorem:
    def from_entries(case: Theorem) -> Theorem:
        entries = [p.part(case, e) for e in range(4)]
        return scored_by_pairs(p, entries)

    return p.suppose(
        both(*ENTRIES), from_entries, r"let the form have blocks $\alpha_i I + \beta_i J$"
    )


def scored_by_pairs(p: Prover, entries: list[Theorem]) -> Theorem:
    _, _, sines, cosines = (p.hyp(e) for e in range(4))
    x, y = angle(pos), angle(other)
    rows = []
    for e, value in (
        (0, plus(times(alpha[i], sine(other, i)), times(beta[i], cosine(other, i)))),
        (1, plus(times(-1, beta[i], sine(other, i)), times(alpha[i], cosine(other, i)))),
    ):
        whole = total(times(B(2 * i + e, b), PE(other, b)), b)
        pairs = plus(
            times(B(2 * i + e, 2 * j), sine(other, j)),
            times(B(2 * i + e, 2 * j + 1), cosine(other, j)),
        )
        rows.append(
            p.calc(
                whole,
                (total(pairs, j), f"row $2i{' + 1' * e}$ of the form, pair by pair",
                 by_pairs(p, whole)),
                (value, "only one pair has a block in this row", *entries),
            )
        )  # fmt: skip
    cosines_differ = difference_formula(p, pos, other)
    sines_differ = difference_of_sines(p, pos, other)
    even, odd = (total(times(B(2 * i + e, b), PE(other, b)), b) for e in (0, 1))
    by_pair = plus(times(sine(pos, i), even), times(cosine(pos, i), odd))
    per_pair = p.calc(
        by_pair,
        (
            plus(
                times(sin(x), plus(times(alpha[i], sin(y)), times(beta[i], cos(y)))),
                times(cos(x), plus(times(-1, beta[i], sin(y)), times(alpha[i], cos(y)))),
            ),
            "both rows, and the definitions",
            (sine(pos, i), rows[0]),
            (cosine(pos, i), rows[1]),
            *encoded(p, sines, cosines),
        ),
        (
            plus(times(alpha[i], cos(minus(x, y))), times(beta[i], sin(minus(x, y)))),
            "collect, and use both formulas",
            (times(-1, alpha[i]), cosines_differ),
            (times(-1, beta[i]), sines_differ),
        ),
    )
    return p.calc(
        score(pos, other),
        (total(by_pair, i), "pair by pair", by_pairs(p, score(pos, other))),
        (by_offset, "what was shown for a pair", (1, summed(p, p.for_all(per_pair, i)))),
    )


def encoded(p: Prover, sines: Theorem, cosines: Theorem) -> list[tuple[Any, Theorem]]:
    """The cofactors with which the definitions take the two rows to angles."""
    at_first = [p.at(t, pos, i) for t in (sines, cosines)]
    at_second = [p.at(t, other, i) for t in (sines, cosines)]
    row_0 = plus(times(alpha[i], sine(other, i)), times(beta[i], cosine(other, i)))
    row_1 = plus(times(-1, beta[i], sine(other, i)), times(alpha[i], cosine(other, i)))
    x = angle(pos)
    return [
        (row_0, at_first[0]),
        (row_1, at_first[1]),
        (minus(times(sin(x), alpha[i]), times(cos(x), beta[i])), at_second[0]),
        (plus(times(sin(x), beta[i]), times(cos(x), alpha[i])), at_second[1]),
    ]


def gaps(table: np.ndarray) -> float:
    """How much a table of scores varies along its diagonals."""
    n = len(table)
    return max(float(np.ptp(np.diagonal(table, o))) for o in range(1 - n, n))


#: A form, and the numbers in its blocks.
Form = tuple[np.ndarray, np.ndarray, np.ndarray]


def admissible(rng: np.random.Generator, width: int) -> Form:
    """A form with blocks a I + b J, and the numbers in them."""
    first, second = rng.standard_normal((2, width // 2))
    form, even = np.zeros((width, width)), np.arange(0, width, 2)
    form[even, even] = form[even + 1, even + 1] = first
    form[even, even + 1], form[even + 1, even] = second, -second
    return form, first, second


def twin_forms(
    rng: np.random.Generator, drawn: Callable[[np.random.Generator, int], Form] = admissible
) -> list[Trial]:
    from numeric import frequencies, position_encoding

    trials = []
    positions = np.arange(40)
    for width in WIDTHS:
        encoding = position_encoding(positions, width)
        form, first, second = drawn(rng, width)
        angles = (positions[:, None] - positions)[..., None] * frequencies(width)
        claimed = np.cos(angles) @ first + np.sin(angles) @ second
        scores = encoding @ form @ encoding.T
        other = encoding @ rng.standard_normal((width, width)) @ encoding.T
        trials += [
            agree(scores, claimed, f"blocks, d={width}", 1e-11),
            agree(gaps(scores), 0.0, f"diagonals, d={width}", 1e-10),
            differs(gaps(other), 0.0, by=1e-2, what=f"any form, d={width}"),
        ]
    return trials


def form_mutations() -> tuple[Mutation, ...]:
    def of_pairs(*block: Any) -> Any:
        places = ((0, 0), (0, 1), (1, 0), (1, 1))
        return both(
            *(
                forall([i, j], equal(B(2 * i + e, 2 * j + f), times(same_pair, value)))
                for (e, f), value in zip(places, block, strict=True)
            )
        )

    def any_entries(rng: np.random.Generator, width: int) -> Form:
        return (rng.standard_normal((width, width)), *admissible(rng, width)[1:])

    one_pair = {r: 1, d: 2, alpha: [0], beta: [1]}
    swapped = total(
        plus(times(beta[i], cos(turned(pos, other))), times(alpha[i], sin(turned(pos, other)))), i
    )
    return (
        Mutation(
            "the form has any entries",
            statement=equal(score(pos, other), by_offset),
            counterexample=Example(
                {**one_pair, form_entries: [[0, 0], [0, 0]], pos: sp.pi / 2, other: 0}
            ),
            twin=Twin(
                "scores along the diagonals, for forms with any entries",
                lambda rng: twin_forms(rng, any_entries),
            ),
        ),
        Mutation(
            "the blocks are symmetric",
            statement=implies(
                of_pairs(alpha[i], beta[i], beta[i], alpha[i]), equal(score(pos, other), by_offset)
            ),
            counterexample=Example(
                {**one_pair, form_entries: [[0, 1], [1, 0]], pos: 0, other: sp.pi / 2}
            ),
        ),
        Mutation(
            "sine and cosine of the offset are exchanged",
            statement=implies(both(*ENTRIES), equal(score(pos, other), swapped)),
            counterexample=Example({**one_pair, form_entries: [[0, 1], [-1, 0]], pos: 0, other: 0}),
        ),
    )


ANY_FORM = Claim(
    id="positional-scores/any-form",
    title="Scores of encodings depend on the offset only",
    source=source(
        "A20", SAID + r" Read as: $\mathrm{PE}_p^\top B\,\mathrm{PE}_q$ depends on $p - q$ only, "
        r"whatever the weights $B = W^Q (W^K)^\top$ are.",
    ),
    statement=unmoved(score),
    given=ENCODING,
    counterexample=Example(
        {**FROM_ORIGIN, form_entries: [[1, 0], [0, 0]]}, differing(by_its_square)
    ),
    correction=Correction(
        implies(both(*ENTRIES), equal(score(pos, other), by_offset)), prove_blocks, ENCODING
    ),
    twin=Twin("scores along the diagonals, for forms with blocks and for random ones", twin_forms),
    mutations=form_mutations,
    expected=Verdict.REFUTED,
    remark=r"Here $J$ has the rows $(0, 1)$ and $(-1, 0)$. The counterexample: with the single "
    r"entry $B_{00} = 1$ the score of position 0 with itself is 0, that of position 1 is "
    r"$\sin^2 1$.",
)  # fmt: skip


# ---------------------------------------------------------------------- exactly which forms

u, v, w, z = (real(x) for x in "uvwz")


def pair_score(at: Any, to: Any) -> sp.Expr:
    """The score within pair i under the matrix with rows (u, v) and (w, z)."""
    return plus(
        times(u, sine(at, i), sine(to, i)), times(v, sine(at, i), cosine(to, i)),
        times(w, cosine(at, i), sine(to, i)), times(z, cosine(at, i), cosine(to, i)),
    )  # fmt: skip


def pair_angles(x: Any, y: Any) -> sp.Expr:
    return plus(
        times(u, sin(x), sin(y)), times(v, sin(x), cos(y)), times(w, cos(x), sin(y)),
        times(z, cos(x), cos(y)),
    )  # fmt: skip


OFFSET_ONLY = forall(
    [pos, other, k], equal(pair_score(plus(pos, k), plus(other, k)), pair_score(pos, other))
)
BLOCK = both(equal(u, z), equal(v, times(-1, w)))


def prove_pair_iff(p: Prover) -> Theorem:
    _, frequencies, sines, cosines = (p.hyp(e) for e in range(4))
    positive = p.fact(
        p.rewrite(
            p.equal(over(1, stretch(i)), omega[i], frequencies, show=False),
            p.trivial(less(0, over(1, stretch(i)))),
            lambda x: T.lt(T.ZERO, x),
        )
    )
    p.note(positive, "a frequency is positive, so that a quarter turn has a position")
    quarter, half = over(sp.pi, times(2, omega[i])), over(sp.pi, omega[i])

    def at(one: Any, two: Any, value: Any, where: str) -> Theorem:
        return p.calc(
            pair_score(one, two),
            (pair_angles(angle(one), angle(two)), f"definition, {where}", sines, cosines),
            (value, "sines and cosines of quarter turns"),
        )

    def read_off(free: Theorem) -> Theorem:
        origin = at(0, 0, z, "both at position 0")
        both_on = at(quarter, quarter, u, "both a quarter turn on")
        ahead = at(0, quarter, w, "one a quarter turn ahead")
        ahead_on = at(quarter, half, times(-1, v), "and both a quarter further")
        same = p.equal(
            u, z, (-1, both_on), (1, p.at(free, 0, 0, quarter)), (1, origin),
            reason="the first two agree",
        )  # fmt: skip
        opposite = p.equal(
            v, times(-1, w), (1, ahead_on), (-1, p.at(free, 0, quarter, quarter)), (-1, ahead),
            reason="and so do the last two",
        )  # fmt: skip
        return p.both(same, opposite)

    def of_block(case: Theorem) -> Theorem:
        same, opposite = p.part(case, 0), p.part(case, 1)
        x, y = angle(pos), angle(other)
        here = plus(
            times(z, plus(times(cos(x), cos(y)), times(sin(x), sin(y)))),
            times(w, minus(times(cos(x), sin(y)), times(sin(x), cos(y)))),
        )
        moved = [angle(plus(e, k)) for e in (pos, other)]
        theorem = p.calc(
            pair_score(plus(pos, k), plus(other, k)),
            (pair_angles(*moved), "definition", sines, cosines),
            (
                plus(times(z, cos(minus(*moved))), times(-1, w, sin(minus(*moved)))),
                r"$u = z$ and $v = -w$; addition formulas, from right to left",
                (times(sin(moved[0]), sin(moved[1])), same),
                (times(sin(moved[0]), cos(moved[1])), opposite),
                (times(-1, z), p.axiom("cos-add", moved[0], times(-1, moved[1]))),
                (w, p.axiom("sin-add", moved[0], times(-1, moved[1]))),
            ),
            (
                plus(times(z, cos(minus(x, y))), times(-1, w, sin(minus(x, y)))),
                r"$k\,\omega_i$ cancels",
            ),
            (
                here,
                "addition formulas",
                (z, p.axiom("cos-add", x, times(-1, y))),
                (times(-1, w), p.axiom("sin-add", x, times(-1, y))),
            ),
            (
                pair_angles(x, y),
                r"$u = z$ and $v = -w$ again",
                (times(-1, sin(x), sin(y)), same),
                (times(-1, sin(x), cos(y)), opposite),
            ),
            (pair_score(pos, other), "definition", sines, cosines),
        )
        return p.for_all(theorem, pos, other, k)

    return p.both(
        p.suppose(OFFSET_ONLY, read_off, "suppose that a shift changes nothing"),
        p.suppose(BLOCK, of_block, "conversely, suppose that the matrix is of this form"),
    )


def twin_pair_iff(rng: np.random.Generator) -> list[Trial]:
    from numeric import frequencies, position_encoding

    trials = []
    for width in (2, 6, 8):
        for pair, w in enumerate(frequencies(width)):
            steps = np.arange(12) * 0.3 / w
            x = position_encoding(steps, width)[:, 2 * pair : 2 * pair + 2]
            one, two, more = rng.uniform(0.5, 2, 3)
            block = np.array([[one, two], [-two, one]])
            for off, what in ((np.diag([more, 0]), "diagonal"), (np.eye(2)[::-1] * more, "other")):
                name = f"{what}, d={width}, pair {pair}"
                trials.append(differs(gaps(x @ (block + off) @ x.T), 0.0, by=0.1, what=name))
            trials.append(agree(gaps(x @ block @ x.T), 0.0, f"d={width}, pair {pair}", 1e-10))
    return trials


PAIR_IFF = Claim(
    id="positional-scores/pair-iff",
    title="Which scores of one pair depend on the offset only",
    source=source("A20", SAID + r" Beyond the note: for which weights, within one pair."),
    statement=iff(OFFSET_ONLY, BLOCK),
    given=ENCODING,
    proof=prove_pair_iff,
    twin=Twin("scores along the diagonals, for matrices of the form and others", twin_pair_iff),
    expected=Verdict.PROVED,
    remark=r"The matrix has the rows $(u, v)$ and $(w, z)$. Positions may be any real numbers "
    "here.",
)  # fmt: skip


def mixed_score(at: Any, to: Any) -> sp.Expr:
    """The score of pair i with pair j under the matrix with rows (u, v) and (w, z)."""
    return plus(
        times(u, sine(at, i), sine(to, j)), times(v, sine(at, i), cosine(to, j)),
        times(w, cosine(at, i), sine(to, j)), times(z, cosine(at, i), cosine(to, j)),
    )  # fmt: skip


MIXED_OFFSET_ONLY = forall(
    [pos, other, k], equal(mixed_score(plus(pos, k), plus(other, k)), mixed_score(pos, other))
)
NOTHING = both(*(equal(x, 0) for x in (u, v, w, z)))


def not_opposite(p: Prover, theta: Any, slow: Theorem) -> Theorem:
    """1 + cos(pi omega_j / omega_i) is not 0: the angle is less than half a turn."""
    opposite = p.formula(equal(plus(1, cos(theta)), 0))

    def absurd(half_turn: Theorem) -> Theorem:
        whole = plus(theta, sp.pi)
        one = p.equal(
            cos(whole), 1, (1, p.axiom("cos-add", theta, sp.pi)), (-1, half_turn), show=False
        )
        found = p.mp(p.axiom("cos-one", whole), one)

        def odd(turned: Theorem) -> Theorem:
            number = minus(times(2, moved), 1)
            share = p.equal(
                over(omega[j], omega[i]), number, (over(1, sp.pi), turned), show=False
            )  # fmt: skip
            positive = p.order(less(0, number), (-1, share))
            least = p.next_integer(positive)
            wrong = p.order(T.lt(T.ZERO, T.ZERO), (1, least), (over(1, omega[i]), slow), (1, share))
            right = p.trivial(T.negate(wrong.conclusion))
            return infer("contradiction", [wrong, right], T.negate(opposite))

        return p.choose(found, moved, odd)

    with p.supposing(opposite) as half_turn:
        theorem = infer("deny", [absurd(half_turn)], opposite)
    return p.note(
        theorem, r"since $0 < \omega_j/\omega_i < 1$, this angle is no odd multiple of $\pi$"
    )


def prove_mixed(p: Prover) -> Theorem:
    def ordered(before: Theorem) -> Theorem:
        slow = slower(p, p.hyp(1), i, j, before)
        for pair in (i, j):
            p.fact(p.note(positive_frequency(p, p.hyp(1), pair), "a frequency is positive"))
        theta = over(times(sp.pi, omega[j]), omega[i])
        p.fact(not_opposite(p, theta, slow))
        return p.both(
            p.suppose(
                MIXED_OFFSET_ONLY,
                lambda free: all_vanish(p, free, theta),
                "suppose that a shift changes nothing",
            ),
            p.suppose(NOTHING, lambda zero: nothing_left(p, zero), "conversely, let all be zero"),
        )

    return p.suppose(less(i, j), ordered, "let the second pair come later")


def nothing_left(p: Prover, zero: Theorem) -> Theorem:
    ends = (plus(pos, k), plus(other, k)), (pos, other)
    values = []
    for at, to in ends:
        parts = (
            times(sine(at, i), sine(to, j)), times(sine(at, i), cosine(to, j)),
            times(cosine(at, i), sine(to, j)), times(cosine(at, i), cosine(to, j)),
        )  # fmt: skip
        items = ((part, p.part(zero, e)) for e, part in enumerate(parts))
        values.append(p.equal(mixed_score(at, to), 0, *items, reason="every term is zero"))
    same = p.equal(
        mixed_score(*ends[0]), mixed_score(*ends[1]), (1, values[0]), (-1, values[1]),
        reason="both are zero",
    )  # fmt: skip
    return p.for_all(same, pos, other, k)


def all_vanish(p: Prover, free: Theorem, theta: Any) -> Theorem:
    """u = v = w = z = 0, from a shift by half a turn of the faster pair."""
    _, _, sines, cosines = (p.hyp(e) for e in range(4))
    half, quarter = over(sp.pi, omega[i]), over(sp.pi, times(2, omega[i]))
    other_quarter = over(sp.pi, times(2, omega[j]))
    turns = p.axiom("sin-add", theta, sp.pi / 2), p.axiom("cos-add", theta, sp.pi / 2)
    out = []
    for row, (first, second) in ((quarter, (u, v)), (0, (w, z))):
        there = plus(row, half)
        at_start = p.equal(
            mixed_score(row, 0), second, sines, cosines, reason="definition, at these positions"
        )
        moved_start = p.equal(
            mixed_score(there, plus(0, half)),
            times(-1, plus(times(first, sin(theta)), times(second, cos(theta)))),
            sines,
            cosines,
            reason="half a turn of the first pair on",
        )
        at_quarter = p.equal(
            mixed_score(row, other_quarter), first, sines, cosines, reason="the same, with the "
            "second pair a quarter turn on",
        )  # fmt: skip
        moved_quarter = p.equal(
            mixed_score(there, plus(other_quarter, half)),
            minus(times(second, sin(theta)), times(first, cos(theta))),
            sines,
            cosines,
            *turns,
            reason="and half a turn of the first pair on",
        )
        one, two = sin(theta), plus(1, cos(theta))
        begin = p.equal(
            plus(times(first, one), times(second, two)), 0,
            (1, moved_start), (-1, p.at(free, row, 0, half)), (-1, at_start),
            reason="a shift changes nothing",
        )  # fmt: skip
        end = p.equal(
            minus(times(first, two), times(second, one)), 0,
            (1, moved_quarter), (-1, p.at(free, row, other_quarter, half)), (-1, at_quarter),
            reason="here neither",
        )  # fmt: skip
        square, inverse = p.axiom("pythagoras", theta), p.cancel(two)
        share = over(power(two, -1), 2)
        for value, a_part, b_part in ((first, one, two), (second, two, times(-1, one))):
            out.append(
                p.equal(
                    value,
                    0,
                    (times(share, a_part), begin),
                    (times(share, b_part), end),
                    (times(-1, share, value), square),
                    (times(-1, value), inverse),
                    reason=r"$\sin^2\theta + (1 + \cos\theta)^2 = 2(1 + \cos\theta)$ is not zero, "
                    r"where $\theta$ is this angle",
                )
            )
    return p.both(*out)


def twin_mixed(rng: np.random.Generator) -> list[Trial]:
    """No matrix but zero between two pairs gives scores that are constant along diagonals."""
    from numeric import frequencies, position_encoding

    trials = []
    for width in (4, 6, 8):
        w = frequencies(width)
        for one, two in ((0, 1), (1, 0), (0, width // 2 - 1)):
            steps = np.arange(16) * 0.7 / w[max(one, two)]
            x = position_encoding(steps, width)
            left, right = (x[:, 2 * e : 2 * e + 2] for e in (one, two))
            scores = left @ rng.uniform(0.5, 2, (2, 2)) @ right.T
            trials.append(differs(gaps(scores), 0.0, by=0.1, what=f"d={width}, {one} and {two}"))
            trials.append(agree(gaps(left @ np.zeros((2, 2)) @ right.T), 0.0, "zero"))
    return trials


MIXED = Claim(
    id="positional-scores/different-pairs",
    title="Scores of two different pairs never depend on the offset only",
    source=source("A20", SAID + " Beyond the note: with weights between two different pairs."),
    statement=implies(less(i, j), iff(MIXED_OFFSET_ONLY, NOTHING)),
    given=ENCODING,
    proof=prove_mixed,
    twin=Twin("scores along the diagonals, for matrices between two pairs", twin_mixed),
    expected=Verdict.PROVED,
    remark="For $j < i$ the same holds, with the two positions exchanged.",
)  # fmt: skip


# ---------------------------------------------------------------------- what does exist


def kronecker(x: Any, y: Any) -> Any:
    return sp.KroneckerDelta(x, y)


SOME_FORM = exists_function(
    "B",
    forall([pos, other], equal(score(pos, other), total(cos(turned(pos, other)), i))),
)


def prove_some_form(p: Prover) -> Theorem:
    _, _, sines, cosines = (p.hyp(e) for e in range(4))
    formula = p.for_all(difference_formula(p, pos, other), i)
    x, y = angle(pos), angle(other)
    plain = total(times(PE(pos, a), PE(other, a)), a)
    by_pair = plus(
        times(sine(pos, i), sine(other, i)), times(cosine(pos, i), cosine(other, i))
    )  # fmt: skip
    found = p.calc(
        score(pos, other, kronecker),
        (plain, "with the identity the score is the inner product"),
        (total(by_pair, i), "pair by pair", by_pairs(p, plain)),
        (
            total(plus(times(sin(x), sin(y)), times(cos(x), cos(y))), i),
            "definition",
            sines,
            cosines,
        ),
        (total(cos(turned(pos, other)), i), "the formula above", (-1, summed(p, formula))),
    )
    identity = p.lam(kronecker(a, b), a, b)
    return p.note(
        p.exists(SOME_FORM, identity, p.for_all(found, pos, other)), "the identity is such a form"
    )


def twin_some_form(_rng: np.random.Generator) -> list[Trial]:
    """One head whose query and key weights are the identity."""
    from numeric import frequencies, position_encoding, scaled_scores

    trials = []
    positions = np.arange(40)
    for width in WIDTHS:
        encoding = position_encoding(positions, width)
        scores = scaled_scores(encoding @ np.eye(width), encoding @ np.eye(width)) * width**0.5
        angles = (positions[:, None] - positions)[..., None] * frequencies(width)
        trials += [
            agree(scores, np.cos(angles).sum(axis=-1), f"d={width}", 1e-11),
            agree(gaps(scores), 0.0, f"diagonals, d={width}", 1e-10),
        ]
    return trials


POSSIBLE = Claim(
    id="positional-scores/possible",
    title="Some scores of encodings depend on the offset only",
    source=source("A20", SAID + " Read as: there are weights with which this is so."),
    statement=SOME_FORM,
    given=ENCODING,
    proof=prove_some_form,
    twin=Twin("scores of a head whose weights are the identity", twin_some_form),
    expected=Verdict.PROVED,
    remark="Whether training finds such weights is another question.",
)  # fmt: skip


# ---------------------------------------------------------------------- with the tokens

token, next_token = tensor("e", d), tensor("f", d)


def token_score(at: Any, to: Any) -> sp.Expr:
    """The inner product of two tokens with their positions added."""
    return total(times(plus(token[a], PE(at, a)), plus(next_token[a], PE(to, a))), a)


four_terms = plus(
    total(times(token[a], next_token[a]), a),
    total(times(token[a], PE(other, a)), a),
    total(times(PE(pos, a), next_token[a]), a),
    total(cos(turned(pos, other)), i),
)


def prove_four_terms(p: Prover) -> Theorem:
    _, _, sines, cosines = (p.hyp(e) for e in range(4))
    formula = p.for_all(difference_formula(p, pos, other), i)
    x, y = angle(pos), angle(other)
    positions = total(times(PE(pos, a), PE(other, a)), a)
    by_pair = plus(
        times(sine(pos, i), sine(other, i)), times(cosine(pos, i), cosine(other, i))
    )  # fmt: skip
    last = p.calc(
        positions,
        (total(by_pair, i), "pair by pair", by_pairs(p, positions)),
        (
            total(plus(times(sin(x), sin(y)), times(cos(x), cos(y))), i),
            "definition",
            sines,
            cosines,
        ),
        (total(cos(turned(pos, other)), i), "the formula above", (-1, summed(p, formula))),
    )
    return p.calc(
        token_score(pos, other),
        (
            plus(
                total(times(token[a], next_token[a]), a),
                total(times(token[a], PE(other, a)), a),
                total(times(PE(pos, a), next_token[a]), a),
                positions,
            ),
            "multiply out",
        ),
        (four_terms, "the last sum", (1, last)),
    )


def twin_tokens(rng: np.random.Generator) -> list[Trial]:
    from numeric import frequencies, position_encoding

    trials = []
    positions = np.arange(30)
    for width in WIDTHS:
        encoding = position_encoding(positions, width)
        one, two = rng.standard_normal((2, width))
        scores = (one + encoding) @ (two + encoding).T
        angles = (positions[:, None] - positions)[..., None] * frequencies(width)
        claimed = one @ two + encoding @ one + (encoding @ two)[:, None]
        trials += [
            agree(scores, claimed + np.cos(angles).sum(axis=-1), f"d={width}", 1e-11),
            differs(gaps(scores), 0.0, by=1e-2, what=f"diagonals, d={width}"),
        ]
    return trials


def token_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "the two sums of a token with a position are left out",
            statement=equal(
                token_score(pos, other),
                plus(total(times(token[a], next_token[a]), a), total(cos(turned(pos, other)), i)),
            ),
            counterexample=Example(
                {r: 1, d: 2, token: [0, 1], next_token: [0, 0], pos: 0, other: 0}
            ),
        ),
    )


TOKENS = Claim(
    id="positional-scores/tokens",
    title="Scores of tokens with their positions depend on the offset only",
    source=source(
        "A20", SAID + " Read as: that of two tokens, each with the encoding of its position "
        "added, under the form that suits encodings alone, the identity.",
    ),
    statement=unmoved(token_score),
    given=ENCODING,
    counterexample=Example(
        {**FROM_ORIGIN, token: [1, 0], next_token: [0, 0]}, differing(by_itself)
    ),
    correction=Correction(equal(token_score(pos, other), four_terms), prove_four_terms, ENCODING),
    twin=Twin("scores of random tokens, as four sums and along the diagonals", twin_tokens),
    mutations=token_mutations,
    expected=Verdict.REFUTED,
    remark="Of the four sums only the first and the last are free of the positions themselves.",
)  # fmt: skip

x_vector, y_vector = sp.Function("x"), sp.Function("y")


def turned_pair(x: Any, position: Any) -> tuple[sp.Expr, sp.Expr]:
    """The pair i of a vector, turned by the note's matrix for that position."""
    t = angle(position)
    even, odd = x(2 * i), x(2 * i + 1)
    return (
        plus(times(cos(t), even), times(sin(t), odd)),
        plus(times(-1, sin(t), even), times(cos(t), odd)),
    )


def turned_score(at: Any, to: Any) -> sp.Expr:
    parts = zip(turned_pair(x_vector, at), turned_pair(y_vector, to), strict=True)
    return total(plus(*(times(s, t) for s, t in parts)), i)


def products(e: int, f: int) -> sp.Expr:
    return times(x_vector(2 * i + e), y_vector(2 * i + f))


turned_by_offset = total(
    plus(
        times(plus(products(0, 0), products(1, 1)), cos(turned(pos, other))),
        times(minus(products(1, 0), products(0, 1)), sin(turned(pos, other))),
    ),
    i,
)


def prove_turned(p: Prover) -> Theorem:
    cosines_differ = difference_formula(p, pos, other)
    sines_differ = difference_of_sines(p, pos, other)
    summand = plus(
        *(
            times(s, t)
            for s, t in zip(turned_pair(x_vector, pos), turned_pair(y_vector, other), strict=True)
        )
    )
    along, across = plus(products(0, 0), products(1, 1)), minus(products(1, 0), products(0, 1))
    x, y = angle(pos), angle(other)
    per_pair = p.calc(
        summand,
        (
            plus(
                times(along, plus(times(cos(x), cos(y)), times(sin(x), sin(y)))),
                times(across, minus(times(sin(x), cos(y)), times(cos(x), sin(y)))),
            ),
            "multiply out and collect",
        ),
        (
            plus(times(along, cos(minus(x, y))), times(across, sin(minus(x, y)))),
            "both formulas",
            (times(-1, along), cosines_differ),
            (times(-1, across), sines_differ),
        ),
    )
    return p.equal(
        turned_score(pos, other),
        turned_by_offset,
        (1, summed(p, p.for_all(per_pair, i))),
        reason="summed over the pairs",
    )


def twin_turned(rng: np.random.Generator) -> list[Trial]:
    from numeric import shift_matrix

    trials = []
    for width in (2, 4, 6, 12):
        queries, keys = rng.standard_normal((2, width))
        at = rng.uniform(-50, 50, 6)
        turned = [shift_matrix(float(t), width) for t in at]
        moved = [shift_matrix(float(t + 17.5), width) for t in at]
        scores, later = (
            np.array([[(m @ queries) @ (o @ keys) for o in ms] for m in ms])
            for ms in (turned, moved)
        )
        trials.append(agree(scores, later, f"d={width}", 1e-11))
    return trials


def turned_mutations() -> tuple[Mutation, ...]:
    queries, keys = tensor("x", d), tensor("y", d)
    return (
        Mutation(
            "the positions of query and key are exchanged",
            statement=equal(turned_score(other, pos), turned_by_offset),
            counterexample=Example(
                {r: 1, omega: [1], pos: sp.pi / 2, other: 0, queries: [1, 0], keys: [0, 1]}
            ),
        ),
    )


TURNED = Claim(
    id="positional-scores/turned-vectors",
    title="Vectors turned by their positions",
    source=source(
        "A20", SAID + " Beyond the note: the rotations are not added to the tokens but applied to "
        "queries and keys.",
    ),
    statement=equal(turned_score(pos, other), turned_by_offset),
    proof=prove_turned,
    twin=Twin("scores of vectors turned by shift matrices, before and after a shift", twin_turned),
    mutations=turned_mutations,
    expected=Verdict.PROVED,
    remark="Here the score depends on the offset whatever the vectors are, as in rotary encodings.",
)  # fmt: skip

CLAIMS = (TURN, ANY_FORM, PAIR_IFF, MIXED, POSSIBLE, TOKENS, TURNED)

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
