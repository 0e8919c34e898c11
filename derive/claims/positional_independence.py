"""Sinusoidal position encoding: the only matrix that shifts it, as components are independent.

The derivations note says that a shift of the position is a linear map.  No other linear map does
the same: the components satisfy no linear relation at all positions 0, 1, 2, ...
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp

from derive.claim import Claim, Example, Mutation
from derive.claims._independence import frequency, high, independence_law, low
from derive.claims._positions import (
    COSINES,
    ENCODING,
    PAIRS,
    PE,
    SINES,
    a,
    b,
    by_pairs,
    cos,
    cosine,
    d,
    i,
    j,
    k,
    omega,
    r,
    sin,
    sine,
    source,
)
from derive.claims.positional_frequencies import (
    at_most_one,
    positive_frequency,
    prove_decreasing,
    sine_positive,
)
from derive.claims.positional_shift import M, blocks, some_matrix
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.language import (
    at_most,
    both,
    equal,
    forall,
    implies,
    integer,
    less,
    minus,
    negation,
    over,
    plus,
    tensor,
    times,
    total,
)
from derive.prover import Prover
from derive.result import Verdict
from derive.twin import Trial, Twin, differs
from derive.twin import equal as agree

ORDER = 32
TOPIC = "positional-encoding"

SAID = r"$\mathrm{PE}_{p+k}$ is a linear function of $\mathrm{PE}_p$."
whole = integer("m")
HALF = sp.Rational(1, 2)


# ---------------------------------------------------------------------- frequencies lie apart


#: For all pairs: frequencies decrease, are at most 1, and are positive.
Frequencies = tuple[Theorem, Theorem, Theorem]


def known_frequencies(p: Prover) -> Frequencies:
    decreasing = prove_decreasing(p)
    unit = p.for_all(at_most_one(p, p.hyp(1), decreasing), i)
    positive = p.for_all(p.note(positive_frequency(p, p.hyp(1), i), "a frequency is positive"), i)
    return decreasing, unit, positive


def frequencies_apart(p: Prover, known: Frequencies) -> Theorem:
    """APART for the frequencies of the note."""
    decreasing, unit, positive = known
    sines = p.for_all(_sine_apart(p, unit, positive), i)
    with p.supposing(both(less(low, high), less(high, r))) as order:
        before, within = p.part(order, 0), p.part(order, 1)
        inside = p.order(less(low, r), (1, before), (1, within))
        first, second = _pair(p, low, inside), _pair(p, high, within)
        slow = p.mp(p.at(decreasing, low, high, facts=[first, second]), before)
        below, above = p.at(unit, low, facts=[first]), p.at(positive, high, facts=[second])
        cosines = _cosines_apart(p, slow, below, above)
    parted = p.for_all(p.discharge(cosines, order), low, high)
    with p.supposing(less(low, r)) as within:
        vanish = p.at(sines, low, facts=[_pair(p, low, within)])
    return p.note(
        p.both(parted, p.for_all(p.discharge(vanish, within), low)),
        r"since $0 < \omega_j < \omega_i \le 1$ for $i < j$, neither these sines nor the "
        r"differences of cosines, $2\sin\frac{\omega_i + \omega_j}{2}"
        r"\sin\frac{\omega_i - \omega_j}{2}$, are 0",
    )


def _pair(p: Prover, number: Any, within: Theorem) -> Theorem:
    """That the number is the index of a pair, in the form that an instance asks for."""
    return p.order(at_most(0, minus(r - 1, number)), (1, p.next_integer(within)))


def _sine_apart(p: Prover, unit: Theorem, positive: Theorem) -> Theorem:
    upto = p.order(at_most(omega[i], 2), (1, p.at(unit, i)))
    above = sine_positive(p, omega[i], p.at(positive, i), upto)
    return p.trivial(negation(equal(sin(omega[i]), 0)), above)


def _cosines_apart(p: Prover, slow: Theorem, below: Theorem, above: Theorem) -> Theorem:
    """not cos w_i = cos w_j, from w_j < w_i <= 1 and 0 < w_j."""
    fast, slower = frequency(low), frequency(high)
    mean, rest = over(plus(fast, slower), 2), over(minus(fast, slower), 2)
    of_mean = sine_positive(
        p, mean,
        p.order(less(0, mean), (HALF, slow), (1, above)),
        p.order(at_most(mean, 2), (1, below), (HALF, slow)),
    )  # fmt: skip
    of_rest = sine_positive(
        p, rest,
        p.order(less(0, rest), (HALF, slow)),
        p.order(at_most(rest, 2), (1, below), (HALF, slow), (1, above)),
    )  # fmt: skip
    greater = p.order(
        less(cos(fast), cos(slower)),
        (2, of_mean, of_rest),
        (1, p.axiom("cos-add", mean, times(-1, rest))),
        (-1, p.axiom("cos-add", mean, rest)),
    )
    return infer("apart", [greater])


#: Of the sine and of the cosine of a pair.
Coefficients = Callable[[Any], tuple[Any, Any]]


def coefficients_vanish(
    p: Prover, law: Theorem, vanishes: Theorem, coefficients: Coefficients, pair: Any = j,
    start: Any = 0,
) -> tuple[Theorem, Theorem]:  # fmt: skip
    """Both coefficients of a pair are 0.

    `vanishes` says for all integers p, or for those from `start` on that the law asks for, that the
    sum over the pairs of ``a sin(p w_j) + b cos(p w_j)`` is 0, where ``a, b = coefficients(j)``;
    `law` is the law of independence.
    """
    at = p.at(law, start, *(p.lam(x, pair) for x in coefficients(pair)))
    premise = at.conclusion.children[0]
    wanted = T.instantiate(premise.children[0], (p.term(whole),))
    zero = p.at(vanishes, whole)
    with p.supposing(wanted.children[0]) as among:
        here = p.mp(zero, among) if zero.conclusion.op == "imp" else zero
        shown = p.equal(*wanted.children[1].children, (1, here), show=False)
    found = p.at(p.mp(at, p.for_all(p.discharge(shown, among), whole)), pair)
    both_zero = p.mp(found, p.order(found.conclusion.children[0]))
    return p.part(both_zero, 0), p.part(both_zero, 1)


# ---------------------------------------------------------------------- no relation

alpha, beta = tensor("alpha", r), tensor("beta", r)
relation = total(plus(times(alpha[i], sine(whole, i)), times(beta[i], cosine(whole, i))), i)
first = integer("q")


def in_a_row(count: Any) -> Any:
    """The position is one of so many in a row."""
    return both(at_most(first, whole), less(whole, plus(first, count)))


#: As many positions as the encoding has components.
AMONG = in_a_row(d)
NO_RELATION = implies(
    forall(whole, implies(AMONG, equal(relation, 0))),
    forall(j, both(equal(alpha[j], 0), equal(beta[j], 0))),
)


def for_each_position(p: Prover, zero: Callable[[Theorem], Theorem]) -> Theorem:
    """For all of 2 r positions in a row: what `zero` proves of d in a row."""
    with p.supposing(in_a_row(times(2, r))) as among:
        low_end, high_end = p.part(among, 0), p.part(among, 1)
        upto = p.order(AMONG.args[1], (1, high_end), (1, p.hyp(0)))
        found = zero(p.both(low_end, upto))
    return p.for_all(p.discharge(found, among), whole)


def law_of_independence(p: Prover, known: Frequencies) -> Theorem:
    return independence_law(p, r, frequencies_apart(p, known))


def prove_no_relation(p: Prover) -> Theorem:
    _, _, sines, cosines = (p.hyp(e) for e in range(4))
    law = law_of_independence(p, known_frequencies(p))

    def vanish(zero: Theorem) -> Theorem:
        w = times(whole, omega[i])
        angles = total(plus(times(alpha[i], sin(w)), times(beta[i], cos(w))), i)
        same = p.equal(relation, angles, sines, cosines, reason="definition")
        at = for_each_position(
            p, lambda among: p.equal(
                angles, 0, (-1, same), (1, p.mp(p.at(zero, whole), among)), show=False
            )
        )  # fmt: skip
        found = coefficients_vanish(p, law, at, lambda e: (alpha[e], beta[e]), start=first)
        return p.for_all(p.note(p.both(*found), "so all coefficients are 0"), j)

    return p.suppose(
        NO_RELATION.args[0], vanish,
        r"suppose a relation at $d_{\text{model}}$ positions in a row, from $q$ on",
    )  # fmt: skip


def twin_no_relation(
    _rng: np.random.Generator, doubled: bool = False, missing: int = 0
) -> list[Trial]:
    """The least singular value of the encodings of many positions, and of as few as are enough."""
    from numeric import position_encoding

    trials = []
    for width, start, least in ((2, 0, 0.4), (2, 1000, 0.4), (4, 0, 1e-3), (4, 71, 1e-3)):
        encoding = position_encoding(start + np.arange(width - missing), width)
        found = np.sqrt(np.linalg.svd(encoding.T @ encoding, compute_uv=False)[-1])
        trials.append(differs(found, 0.0, by=least, what=f"d={width} in a row from {start}"))
    for width in (2, 4, 6, 8):
        positions = np.arange(0, 40_000, 370)
        encoding = position_encoding(positions, width)
        if doubled:
            encoding[:, :2] = encoding[:, -2:]
        least = np.linalg.svd(encoding, compute_uv=False)[-1] / len(positions) ** 0.5
        trials.append(differs(least, 0.0, by=0.1, what=f"d={width}"))
    return trials


def no_relation_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "one position fewer is enough",
            twin=Twin(
                "the least singular value for one position less",
                lambda rng: twin_no_relation(rng, missing=1),
            ),
        ),
        Mutation(
            "the frequencies may be any numbers",
            given=(PAIRS, SINES, COSINES),
            counterexample=Example(
                {r: 2, omega: [1, 1], alpha: [1, -1], beta: [0, 0], j: 0, first: 0}
            ),
            twin=Twin(
                "the least singular value where two pairs have one frequency",
                lambda rng: twin_no_relation(rng, doubled=True),
            ),
        ),
    )


NO_LINEAR_RELATION = Claim(
    id="positional-encoding/no-relation",
    title="The components of the encoding are linearly independent",
    source=source(
        "A18", f"{SAID} Beyond the note: is it the only one? No linear relation between the "
        "components holds at as many positions in a row as there are components.",
    ),
    statement=NO_RELATION,
    given=ENCODING,
    proof=prove_no_relation,
    twin=Twin("least singular values of encodings", twin_no_relation),
    mutations=no_relation_mutations,
    expected=Verdict.PROVED,
    remark="So the encodings of any $d_{\\text{model}}$ positions in a row span all of "
    "$\\mathbb{R}^{d_{\\text{model}}}$.",
)  # fmt: skip


# ---------------------------------------------------------------------- only one shift

moves = forall(whole, implies(AMONG, forall(
    a, equal(total(times(M(a, b), PE(whole, b)), b), PE(plus(whole, k), a))
)))  # fmt: skip
same_pair = sp.KroneckerDelta(i, j)
ONLY_SHIFT = implies(moves, both(*blocks(M, k)))


def _component(p: Prover, row: Any) -> Theorem:
    """That 2i or 2i + 1 is the index of a component, in the form that an instance asks for."""
    return p.order(at_most(0, minus(d - 1, row)), (1, p.hyp(0)))


def prove_only_shift(p: Prover) -> Theorem:
    law = law_of_independence(p, known_frequencies(p))
    step = times(k, omega[i])
    entries = (
        (cos(step), times(same_pair, cos(step))), (sin(step), times(same_pair, sin(step))),
        (times(-1, sin(step)), times(-1, same_pair, sin(step))),
        (cos(step), times(same_pair, cos(step))),
    )  # fmt: skip

    def rows(fits: Theorem) -> Theorem:
        parts = []
        for parity in (0, 1):
            values = entries[2 * parity : 2 * parity + 2]
            found = entries_of_row(p, law, fits, parity, [v for v, _ in values])
            for column, (_, shown) in enumerate(values):
                entry = p.equal(
                    M(2 * i + parity, 2 * j + column), shown, (1, found[column]),
                    reason="the coefficients on both sides agree, by independence",
                )  # fmt: skip
                parts.append(p.for_all(entry, i, j))
        return p.both(*parts)

    return p.suppose(
        moves, rows,
        r"let a matrix shift $d_{\text{model}}$ positions in a row, from $q$ on, by $k$",
    )  # fmt: skip


def entries_of_row(
    p: Prover, law: Theorem, fits: Theorem, parity: int, values: list[Any]
) -> tuple[Theorem, Theorem]:
    """Entries of row 2i + parity at columns 2j and 2j + 1, less their values for j = i, are 0."""

    def left_over(pair: Any) -> tuple[Any, Any]:
        even, odd = (
            minus(M(row, 2 * pair + e), times(kronecker(i, pair), values[e])) for e in (0, 1)
        )
        return even, odd

    row = 2 * i + parity
    zero = for_each_position(
        p, lambda among: _row_vanishes(
            p, p.mp(p.at(fits, whole), among), parity, values, left_over
        )
    )  # fmt: skip
    return coefficients_vanish(p, law, zero, left_over, start=first)


def _row_vanishes(
    p: Prover, fits: Theorem, parity: int, values: list[Any], left_over: Coefficients
) -> Theorem:
    """The combination with these coefficients is 0 at a position where the matrix fits."""
    _, _, sines, cosines = (p.hyp(e) for e in range(4))
    row, w = 2 * i + parity, times(whole, omega[j])
    here = total(times(M(row, b), PE(whole, b)), b)
    at = times(whole, omega[i])
    there = p.calc(
        total(plus(times(M(row, 2 * j), sin(w)), times(M(row, 2 * j + 1), cos(w))), j),
        (
            total(
                plus(
                    times(M(row, 2 * j), sine(whole, j)), times(M(row, 2 * j + 1), cosine(whole, j))
                ),
                j,
            ),
            "definition", sines, cosines,
        ),
        (here, "pair by pair", by_pairs(p, here)),
        (
            PE(plus(whole, k), row), "the matrix fits",
            (1, p.at(fits, row, facts=[_component(p, row)])),
        ),
        (
            plus(times(values[0], sin(at)), times(values[1], cos(at))),
            "definition and addition formula", sines, cosines,
            p.axiom("cos-add" if parity else "sin-add", at, times(k, omega[i])),
        ),
    )  # fmt: skip
    waves = plus(*(times(x, f(w)) for x, f in zip(left_over(j), (sin, cos), strict=True)))
    return p.equal(total(waves, j), 0, (1, there), show=False)


def kronecker(one: Any, two: Any) -> Any:
    return sp.KroneckerDelta(one, two)


def twin_only_shift(_rng: np.random.Generator, sign: int = 1) -> list[Trial]:
    """What least squares finds from whole positions."""
    from numeric import position_encoding, shift_matrix

    trials = []
    for width in (2, 4, 6, 8):
        positions = np.arange(0, 40_000, 370)
        for offset in (1.0, 37.0, -2.5):
            before, after = (position_encoding(positions + o, width) for o in (0.0, offset))
            found = np.linalg.lstsq(before, after, rcond=None)[0].T
            wanted = shift_matrix(sign * offset, width)
            trials.append(agree(found, wanted, f"d={width}, k={offset}", 1e-9))
    return trials


def only_shift_mutations() -> tuple[Mutation, ...]:
    swapped = blocks(M, times(-1, k))
    return (
        Mutation(
            "the matrix is the one that shifts back",
            statement=implies(moves, both(*swapped)),
            counterexample=Example({
                r: 1, d: 2, k: sp.pi / 2, omega: [1], some_matrix: [[0, 1], [-1, 0]], first: 0,
            }),
            twin=Twin(
                "what least squares finds, against the matrix of the opposite shift",
                lambda rng: twin_only_shift(rng, sign=-1),
            ),
        ),
    )  # fmt: skip


ONLY_SHIFT_MATRIX = Claim(
    id="positional-encoding/only-shift",
    title="No other matrix shifts the encodings",
    source=source(
        "A18 A19", f"{SAID} Beyond the note: the matrix with the blocks of the note is the only "
        r"matrix that shifts the encodings of $d_{\text{model}}$ positions in a row by $k$.",
    ),
    statement=ONLY_SHIFT,
    given=ENCODING,
    proof=prove_only_shift,
    twin=Twin("matrices found by least squares", twin_only_shift),
    mutations=only_shift_mutations,
    expected=Verdict.PROVED,
    remark="Numerically the matrix can hardly be found from the first few positions, whose "
    "encodings nearly satisfy linear relations.",
)  # fmt: skip

CLAIMS = (NO_LINEAR_RELATION, ONLY_SHIFT_MATRIX)

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
