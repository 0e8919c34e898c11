"""Sinusoidal position encoding: what shifting a position does to it.

By the addition formulas a shift of the position by k turns every pair of a sine and a cosine, by
an angle that depends on k and not on the position.  The blocks of all pairs make one orthogonal
matrix of determinant 1, and the matrices of all shifts make a group.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import sympy as sp

from derive import auto
from derive.claim import Claim, Correction, Example, Given, Mutation
from derive.claims._positions import (
    COLUMN,
    COMPONENT,
    ENCODING,
    OFFSET,
    PAIRS,
    PE,
    POSITION,
    POSITIONS,
    WIDTHS,
    a,
    angle,
    b,
    by_pairs,
    c,
    cos,
    cos_add,
    cosine,
    d,
    each_component,
    encodings,
    exists_function,
    i,
    j,
    k,
    l,
    offsets,
    omega,
    pair_of,
    parity,
    pos,
    r,
    sin,
    sin_add,
    sine,
    source,
    stretch,
)
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.kernel.terms import Lam, Term
from derive.language import (
    at_most,
    both,
    determinant,
    equal,
    exists,
    forall,
    implies,
    index,
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

ORDER = 32
TOPIC = "positional-encoding"


# ---------------------------------------------------------------------- A17: addition formulas

A, B = real("A"), real("B")


def prove_addition(p: Prover) -> Theorem:
    return p.both(
        p.note(p.axiom("sin-add", A, B), "the sine of a sum"),
        p.note(p.axiom("cos-add", A, B), "the cosine of a sum"),
    )


def twin_addition(rng: np.random.Generator, sign: int = -1) -> list[Trial]:
    """On encodings of one pair, and against complex products, which know nothing of sines."""
    from numeric import position_encoding

    x, y = rng.uniform(-50, 50, (2, 1000))
    turned = np.exp(1j * x) * np.exp(1j * y)
    (sin_x, cos_x), (sin_y, cos_y), (sin_sum, cos_sum) = (
        position_encoding(angles, 2).T for angles in (x, y, x + y)
    )
    sines = sin_x * cos_y + cos_x * sin_y
    cosines = cos_x * cos_y + sign * sin_x * sin_y
    return [
        agree(sines, turned.imag, "sine"),
        agree(cosines, turned.real, "cosine"),
        agree(sines, sin_sum, "sine of the sum"),
        agree(cosines, cos_sum, "cosine of the sum"),
    ]


def addition_mutations() -> tuple[Mutation, ...]:
    plain = minus(times(sin(A), cos(B)), times(cos(A), sin(B)))
    return (
        Mutation(
            "the cosine of a sum has a plus sign, as that of a difference has",
            statement=equal(cos(plus(A, B)), plus(times(cos(A), cos(B)), times(sin(A), sin(B)))),
            twin=Twin(
                "both formulas at random angles, the second with that sign",
                lambda rng: twin_addition(rng, sign=1),
            ),
        ),
        Mutation("the sine of a sum has a minus sign", statement=equal(sin(plus(A, B)), plain)),
        Mutation("the sine is additive", statement=equal(sin(plus(A, B)), plus(sin(A), sin(B)))),
    )


ADDITION = Claim(
    id="positional-encoding/addition-formulas",
    title="Addition formulas",
    source=source("A17", r"$\sin(A+B)$ and $\cos(A+B)$ in terms of the functions of $A$ and $B$."),
    statement=both(equal(sin(plus(A, B)), sin_add(A, B)), equal(cos(plus(A, B)), cos_add(A, B))),
    proof=prove_addition,
    twin=Twin("both formulas at random angles against complex products", twin_addition),
    mutations=addition_mutations,
    expected=Verdict.PROVED,
    remark="Both are axioms here, as in the note; everything below rests on them.",
)  # fmt: skip


# ---------------------------------------------------------------------- A19: rotation of a pair

shifted = plus(pos, k)
step = angle(k)


def rotated(x: Any, y: Any, turn: int = 1) -> tuple[sp.Expr, sp.Expr]:
    """The matrix of the note times (x, y); with `turn` -1 its transpose."""
    first, second = cos(step), sin(step)
    plain, opposite = times(second, x), times(-1, second, x)
    upper = times(second, y) if turn == 1 else times(-1, second, y)
    lower = opposite if turn == 1 else plain
    return plus(times(first, x), upper), plus(lower, times(first, y))


def rotation(turn: int = 1) -> Any:
    """The pair at position p + k is the pair at position p, turned."""
    upper, lower = rotated(sine(pos, i), cosine(pos, i), turn)
    return both(equal(sine(shifted, i), upper), equal(cosine(shifted, i), lower))


def rotate(p: Prover, *, show: bool = True) -> list[Theorem]:
    """Both lines of the rotation, for the pair i at position p."""
    _, _, sines, cosines = (p.hyp(e) for e in range(4))
    x = angle(pos)
    upper, lower = rotated(sine(pos, i), cosine(pos, i))
    out = []
    for component, f, expanded, turned in (
        (sine(shifted, i), "sin", sin_add(x, step), upper),
        (cosine(shifted, i), "cos", cos_add(x, step), lower),
    ):
        of = {"sin": sin, "cos": cos}[f]
        out.append(
            p.calc(
                component,
                (of(angle(shifted)), "definition, at position $p + k$", sines, cosines),
                (of(plus(x, step)), "multiply out the angle"),
                (
                    expanded,
                    r"addition formula, at $A = p\,\omega_i$ and $B = k\,\omega_i$",
                    p.axiom(f"{f}-add", x, step),
                ),
                (turned, "definition, at position $p$", sines, cosines),
                show=show,
            )
        )
    return out


def prove_rotation(p: Prover) -> Theorem:
    return p.both(*rotate(p))


def pairs_of(encoding: np.ndarray) -> np.ndarray:
    """(positions, width) as (positions, pairs, 2)."""
    return encoding.reshape(len(encoding), -1, 2)


def twin_rotation(
    rng: np.random.Generator, turn: int = 1, widest: int | None = None
) -> list[Trial]:
    """The 2 x 2 matrix of every pair, or its transpose, at every position at once."""
    from numeric import frequencies, position_encoding

    trials = []
    for width, positions, encoding in encodings(widest=widest):
        for offset in offsets(rng):
            x = offset * frequencies(width)
            y = turn * x
            block = np.array([[np.cos(x), np.sin(y)], [-np.sin(y), np.cos(x)]])
            moved = pairs_of(position_encoding(positions + offset, width))
            turned = np.einsum("rci,pic->pir", block, pairs_of(encoding))
            trials.append(agree(turned, moved, f"d={width}, k={offset:.3g}", 1e-11))
    return trials


def rotation_mutations() -> tuple[Mutation, ...]:
    quarter = Example({r: 1, i: 0, pos: 0, k: sp.pi / 2})
    cosines_first = (
        Given(forall([pos, i], equal(sine(pos, i), cos(angle(pos))))),
        Given(forall([pos, i], equal(cosine(pos, i), sin(angle(pos))))),
    )
    return (
        Mutation(
            "the matrix is transposed",
            statement=rotation(-1),
            counterexample=quarter,
            twin=Twin(
                "positions below 2000 turned by the transposed matrix of their pair",
                lambda rng: twin_rotation(rng, turn=-1, widest=6),
            ),
        ),
        Mutation(
            "the cosine stands before the sine in a pair",
            given=(*ENCODING[:2], *cosines_first),
            counterexample=quarter,
        ),
    )


ROTATION = Claim(
    id="positional-encoding/rotation",
    title="A shift of the position turns every pair",
    source=source(
        "A19",
        r"For every pair, the matrix with rows $(\cos k\omega_i, \sin k\omega_i)$ and "
        r"$(-\sin k\omega_i, \cos k\omega_i)$ takes the sine and the cosine at $p$ to those at "
        r"$p + k$.",
    ),
    statement=rotation(),
    given=ENCODING,
    proof=prove_rotation,
    twin=Twin("positions below 2000 turned by the matrix of their pair", twin_rotation),
    mutations=rotation_mutations,
    expected=Verdict.PROVED,
    remark=r"In the order (sine, cosine) this turns by $-k\omega_i$. Any frequencies will do.",
)  # fmt: skip


def prove_swapped(p: Prover) -> Theorem:
    first, second = rotate(p)
    upper, lower = rotated(cosine(pos, i), sine(pos, i), -1)
    return p.both(
        p.equal(
            cosine(shifted, i), upper, (1, second), reason="the second line, in the other order"
        ),
        p.equal(sine(shifted, i), lower, (1, first), reason="the first line, in the other order"),
    )


def twin_transposed(_rng: np.random.Generator) -> list[Trial]:
    """Where the transposed matrix goes wrong, and where it is right."""
    from numeric import position_encoding, shift_matrix

    trials = []
    for width, positions, encoding in encodings():
        moved = position_encoding(positions + 37, width)
        transposed = shift_matrix(37, width).T
        trials.append(differs(encoding @ transposed.T, moved, by=0.5, what=f"d={width}"))
        swap = np.arange(width) ^ 1
        turned = encoding[:, swap] @ transposed.T
        trials.append(agree(turned, moved[:, swap], f"cosine first, d={width}", 1e-11))
    return trials


def swapped_rotation() -> Any:
    upper, lower = rotated(cosine(pos, i), sine(pos, i), -1)
    return both(equal(cosine(shifted, i), upper), equal(sine(shifted, i), lower))


TRANSPOSED = Claim(
    id="positional-encoding/rotation-transposed",
    title="The transposed matrix turns every pair as well",
    source=source(
        "A19",
        r"The minus sign stands in the second row; with the minus sign in the first row the "
        r"matrix would be the usual one for a rotation by $k\omega_i$.",
    ),
    statement=rotation(-1),
    given=ENCODING,
    counterexample=Example({r: 1, i: 0, pos: 0, k: sp.pi / 2}),
    correction=Correction(swapped_rotation(), prove_swapped, ENCODING),
    twin=Twin("the transposed matrix in either order of the pair", twin_transposed),
    expected=Verdict.REFUTED,
    remark="The transposed matrix belongs to pairs in the order (cosine, sine).",
)  # fmt: skip

x, y = real("x"), real("y")


def fits_everywhere(component: Callable[[Any, Any], sp.Expr]) -> Any:
    """Row (x, y) takes the pair at every position to this component at the shifted one."""
    row = plus(times(x, sine(pos, i)), times(y, cosine(pos, i)))
    return forall(pos, equal(component(shifted, i), row))


ONLY_ROTATION = both(
    implies(fits_everywhere(sine), both(equal(x, cos(step)), equal(y, sin(step)))),
    implies(fits_everywhere(cosine), both(equal(x, times(-1, sin(step))), equal(y, cos(step)))),
)


def prove_only_rotation(p: Prover) -> Theorem:
    _, frequencies, sines, cosines = (p.hyp(e) for e in range(4))
    quarter = over(sp.pi, times(2, omega[i]))
    positive = p.fact(
        p.rewrite(
            p.equal(over(1, stretch(i)), omega[i], frequencies, show=False),
            p.trivial(less(0, over(1, stretch(i)))),
            lambda w: T.lt(T.ZERO, w),
        )
    )
    p.note(positive, "a frequency is positive, so that a quarter turn has a position")

    def row(
        component: Callable[[Any, Any], sp.Expr], f: str, at_start: Any, at_quarter: Any
    ) -> Theorem:
        of = {"sin": sin, "cos": cos}[f]

        def read_off(fits: Theorem) -> Theorem:
            second = p.calc(
                y,
                (
                    plus(times(x, sin(angle(0))), times(y, cos(angle(0)))),
                    "the sine of 0 is 0, its cosine is 1",
                ),
                (
                    plus(times(x, sine(0, i)), times(y, cosine(0, i))),
                    "definition, at position 0",
                    sines,
                    cosines,
                ),
                (component(plus(0, k), i), "the row fits at position 0", (-1, p.at(fits, 0))),
                (at_start, "definition, at position $k$", sines, cosines),
            )
            turned = angle(quarter)
            first = p.calc(
                x,
                (
                    plus(times(x, sin(turned)), times(y, cos(turned))),
                    r"the sine of $\pi/2$ is 1, its cosine is 0",
                ),
                (
                    plus(times(x, sine(quarter, i)), times(y, cosine(quarter, i))),
                    "definition, a quarter turn on",
                    sines,
                    cosines,
                ),
                (component(plus(quarter, k), i), "the row fits there", (-1, p.at(fits, quarter))),
                (of(plus(sp.pi / 2, step)), "definition", sines, cosines),
                (at_quarter, "addition formula", p.axiom(f"{f}-add", sp.pi / 2, step)),
            )
            return p.both(first, second)

        return p.suppose(fits_everywhere(component), read_off, "let a row fit at every position")

    return p.both(
        row(sine, "sin", sin(step), cos(step)), row(cosine, "cos", cos(step), times(-1, sin(step)))
    )


def twin_only_rotation(_rng: np.random.Generator) -> list[Trial]:
    """The matrix of a pair is what least squares finds from the positions."""
    from numeric import frequencies, position_encoding

    trials = []
    for width in (2, 4, 6, 8):
        encoding = pairs_of(position_encoding(POSITIONS, width))
        moved = pairs_of(position_encoding(POSITIONS + 37, width))
        for pair, w in enumerate(frequencies(width)):
            found = np.linalg.lstsq(encoding[:, pair], moved[:, pair], rcond=None)[0].T
            angle = 37 * w
            claimed = [[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]
            trials.append(agree(found, claimed, f"d={width}, pair {pair}", 1e-10))
    return trials


UNIQUE_ROTATION = Claim(
    id="positional-encoding/rotation-only",
    title="No other matrix turns a pair at every position",
    source=source("A19", "The matrix that takes a pair to the shifted pair is written down."),
    statement=ONLY_ROTATION,
    given=ENCODING,
    proof=prove_only_rotation,
    twin=Twin("matrices found by least squares", twin_only_rotation),
    expected=Verdict.PROVED,
)  # fmt: skip

# ---------------------------------------------------------------------- A18: the whole vector

M = sp.Function("M")
some_matrix = tensor("M", d, d)
same_pair = sp.KroneckerDelta(i, j)


def blocks(matrix: Callable[[Any, Any], Any], offset: Any) -> list[Any]:
    """What says that the matrix has the block of the note for every pair, and zeros elsewhere."""
    turn = angle(offset)
    entries = (
        (2 * i, 2 * j, times(same_pair, cos(turn))),
        (2 * i, 2 * j + 1, times(same_pair, sin(turn))),
        (2 * i + 1, 2 * j, times(-1, same_pair, sin(turn))),
        (2 * i + 1, 2 * j + 1, times(same_pair, cos(turn))),
    )
    return [forall([i, j], equal(matrix(row, column), value)) for row, column, value in entries]


def block_matrix() -> Lam:
    """That matrix, by one formula for all its entries (a, b)."""
    turn = T.mul(OFFSET, T.apply("omega", pair_of(COMPONENT)))
    equal_parity = T.mul(T.delta(parity(COMPONENT), parity(COLUMN)), T.fn("cos", turn))
    other_parity = T.mul(T.sub(parity(COLUMN), parity(COMPONENT)), T.fn("sin", turn))
    entry = T.mul(T.delta(pair_of(COMPONENT), pair_of(COLUMN)), T.add(equal_parity, other_parity))
    return Lam(2, T.abstract(entry, (COMPONENT, COLUMN)))


BLOCK_MATRIX = exists_function("M", both(*blocks(M, k)))


def prove_block_matrix(p: Prover) -> Theorem:
    matrix = block_matrix()
    at = T.instantiate(BLOCK_MATRIX.children[0], (matrix,))
    parts = []
    places = (
        "even row, even column", "even row, odd column",
        "odd row, even column", "odd row, odd column",
    )  # fmt: skip
    for part, place in zip(at.children, places, strict=True):
        x, y = p.term(i), p.term(j)
        entry = T.instantiate(T.instantiate(part.children[1], (x,)).children[1], (y,))
        parts.append(p.for_all(p.equal(*entry.children, reason=place), i, j))
    return p.note(
        p.exists(BLOCK_MATRIX, matrix, p.both(*parts)),
        "the same pair selects a block, and the parities an entry of it",
    )


def twin_blocks(rng: np.random.Generator) -> list[Trial]:
    """The matrix entry by entry: blocks of a pair on the diagonal, zeros elsewhere."""
    from math import cos, sin

    from numeric import shift_matrix

    trials = []
    for width in (2, 4, 6, 12):
        offset = float(rng.uniform(-99, 99))
        entries = np.zeros((width, width))
        for pair in range(width // 2):
            angle = offset / 10000 ** (2 * pair / width)
            rows = slice(2 * pair, 2 * pair + 2)
            entries[rows, rows] = [[cos(angle), sin(angle)], [-sin(angle), cos(angle)]]
        trials.append(agree(shift_matrix(offset, width), entries, f"d={width}"))
    return trials


BLOCKS = Claim(
    id="positional-encoding/block-matrix",
    title="The blocks of all pairs make one matrix",
    source=source("A18 A19", r"The encoding of $p + k$ comes from that of $p$ pair by pair."),
    statement=BLOCK_MATRIX,
    proof=prove_block_matrix,
    twin=Twin("entries of shift matrices", twin_blocks),
    expected=Verdict.PROVED,
)  # fmt: skip


def shift_by(matrix: Callable[[Any, Any], Any]) -> Any:
    """The encoding at p + k is the matrix times the encoding at p, for every p."""
    product = total(times(matrix(a, b), PE(pos, b)), b)
    return forall([pos, a], equal(PE(shifted, a), product))


LINEAR_SHIFT = forall(
    k, exists(some_matrix, shift_by(lambda row, column: some_matrix[row, column]))
)


def prove_linear_shift(p: Prover) -> Theorem:
    lines = [
        p.note(t, "the rotation of a pair, by the addition formulas") for t in rotate(p, show=False)
    ]
    turned = rotated(sine(pos, i), cosine(pos, i))

    def row(parity: int, entries: list[Theorem]) -> Theorem:
        """PE(p + k, 2i + parity) is that row of M times the encoding at p."""
        at = 2 * i + parity
        product = total(times(M(at, b), PE(pos, b)), b)
        by_pair = plus(times(M(at, 2 * j), sine(pos, j)), times(M(at, 2 * j + 1), cosine(pos, j)))
        found = p.calc(
            product,
            (total(by_pair, j), "pair by pair", by_pairs(p, product)),
            (turned[parity], "only pair $i$ has a block in this row", *entries),
            (PE(shifted, at), "the rotation of that pair", lines[parity]),
        )
        return p.for_all(p.equal(PE(shifted, at), product, (-1, found), show=False), i)

    def shifts(case: Theorem) -> Theorem:
        entries = [p.part(case, e) for e in range(4)]
        rows = [row(parity, entries) for parity in range(2)]
        every = p.formula(shift_by(M)).children[0]
        theorem = each_component(
            p,
            T.instantiate(every, (POSITION,)),
            lambda at, parity, goal: p.equal(*goal.children, p.at(rows[parity], at), show=False),
            "either parity",
        )
        return p.for_all(theorem, pos)

    let = "let $M$ have the block of pair $i$ in rows and columns $2i$, $2i + 1$, zeros elsewhere"
    for_such = infer("generalise-tensor", [p.suppose(both(*blocks(M, k)), shifts, let)], "M", 2)
    matrix = block_matrix()
    at_matrix = p.at(for_such, matrix)
    there_is = p.exists(
        T.instantiate(p.formula(LINEAR_SHIFT).children[0], (OFFSET,)),
        matrix,
        p.mp(at_matrix, auto.prove(p, at_matrix.conclusion.children[0])),
    )
    return p.for_all(p.note(there_is, "there is such a matrix, and it is one for all positions"), k)


def twin_linear(
    rng: np.random.Generator, widest: int | None = None, missing: int = 0
) -> list[Trial]:
    """One matrix for positions up to 2000; the last columns may be missing."""
    from numeric import position_encoding, shift_matrix

    trials = []
    for width, positions, encoding in encodings(widest=widest):
        kept = slice(width - missing)
        for offset in offsets(rng):
            moved = position_encoding(positions + offset, width)[:, kept]
            shifted = encoding[:, kept] @ shift_matrix(offset, width)[kept, kept].T
            trials.append(agree(shifted, moved, f"d={width}, k={offset:.3g}", 1e-10))
    return trials


def linear_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            r"the width is odd: at $d_{\text{model}} = 3$ the last sine has no cosine",
            statement=WIDTH_THREE,
            given=(),
            counterexample=ODD.counterexample,
            twin=Twin(
                "encodings without their last cosine, and shift matrices without it",
                lambda rng: twin_linear(rng, widest=6, missing=1),
            ),
        ),
    )


LINEAR = Claim(
    id="positional-encoding/linear-shift",
    title="A shift is one linear map for all positions",
    source=source(
        "A18",
        r"A linear transformation can express a relative shift: $\mathrm{PE}_{p+k}$ is a linear "
        r"function of $\mathrm{PE}_p$.",
    ),
    statement=LINEAR_SHIFT,
    given=ENCODING,
    proof=prove_linear_shift,
    twin=Twin("one shift matrix at positions below 2000", twin_linear),
    mutations=linear_mutations,
    expected=Verdict.PROVED,
    remark="The matrix is chosen before the position, so that it depends on the offset alone. "
    "With the position chosen first there would be little to prove: some matrix takes any given "
    "vector other than 0 to any other one.",
)  # fmt: skip


# ---------------------------------------------------------------------- A15, A18: odd widths

z, turns = real("z"), integer("n")
lone = over(1, power(10000, sp.Rational(2, 3)))
quarter_turn = times(over(sp.pi, 2), power(10000, sp.Rational(2, 3)))

WIDTH_THREE = exists(
    x,
    exists(
        y,
        exists(
            z,
            forall(
                pos,
                equal(
                    sin(times(shifted, lone)),
                    plus(times(x, sin(pos)), times(y, cos(pos)), times(z, sin(times(pos, lone)))),
                ),
            ),
        ),
    ),
)


def no_combination(p: Prover, target: Term) -> Theorem:
    """At a quarter turn of the lone sine its cosine is missing."""
    some = p.assume(target.children[0])
    turn = times(2, sp.pi, lone)

    def absurd(fits: Theorem) -> Theorem:
        at = [p.at(fits, where) for where in (0, 2 * sp.pi, -2 * sp.pi)]
        half = Fraction(1, 2)
        added = [(half, p.axiom("sin-add", times(e, turn), sp.pi / 2)) for e in (1, -1)]
        whole = p.equal(
            cos(turn), 1, (-half, added[0][1]), (-half, added[1][1]),
            (half, at[1]), (half, at[2]), (-1, at[0]), show=False,
        )  # fmt: skip
        return p.choose(p.mp(p.axiom("cos-one", turn), whole), turns, not_whole)

    def not_whole(found: Theorem) -> Theorem:
        """The frequency would be an integer, but its third power is 10^-8."""
        same = p.equal(lone, turns, (over(1, times(2, sp.pi)), found), show=False)
        positive = p.rewrite(same, p.trivial(less(0, lone)), lambda w: T.lt(T.ZERO, w))
        large = p.order(at_most(1, lone), (1, p.next_integer(positive)), (1, same))
        cofactor = plus(power(lone, 2), lone, 1)
        wrong = p.order(at_most(1, Fraction(1, 10**8)), (cofactor, large))
        right = p.trivial(T.negate(wrong.conclusion))
        return infer("contradiction", [wrong, right], target)

    def open_z(rest: Theorem) -> Theorem:
        return p.choose(rest, z, absurd)

    def open_y(rest: Theorem) -> Theorem:
        return p.choose(rest, y, open_z)

    return infer("deny", [p.choose(some, x, open_y)], some.conclusion)


def twin_odd(_rng: np.random.Generator) -> list[Trial]:
    """What the best linear map leaves over, with three components and with the fourth."""
    from numeric import position_encoding

    encoding, moved = (position_encoding(POSITIONS + e, 4, base=10000 ** (4 / 3)) for e in (0, 37))
    trials = []
    for width in (3, 4):
        found = np.linalg.lstsq(encoding[:, :width], moved[:, :width], rcond=None)[0]
        fitted = encoding[:, :width] @ found
        trials.append(
            differs(fitted, moved[:, :3], by=5e-3, what="three components")
            if width == 3
            else agree(fitted, moved, "four components", 1e-10)
        )
    return trials


ODD = Claim(
    id="positional-encoding/odd-width",
    title="At an odd width a shift is linear as well",
    source=source(
        "A15 A18",
        r"The components are numbered $2i$ and $2i + 1$ for $i < d_{\text{model}}/2$; that the "
        r"width has to be even is not said. Here the width is 3, and the last component is "
        r"$\sin(p/10000^{2/3})$.",
    ),
    statement=WIDTH_THREE,
    counterexample=Example({k: quarter_turn}, no_combination),
    correction=Correction(LINEAR_SHIFT, prove_linear_shift, ENCODING),
    twin=Twin("what the best linear map leaves over at width 3, and at width 4", twin_odd),
    expected=Verdict.REFUTED,
    remark="The last sine needs its cosine. No coefficients fit at the positions 0 and "
    r"$\pm 2\pi$ when the offset is a quarter of the wavelength.",
)  # fmt: skip


# ---------------------------------------------------------------------- A18: the group of shifts


def shift_entries(offset: Any) -> list[Any]:
    return blocks(lambda row, column: M(offset, row, column), offset)


SHIFTS = (
    PAIRS,
    *(
        Given(
            forall(k, entry),
            f"entry {divmod(e, 2)} of the blocks that the note writes for the pairs; in one matrix "
            "$M_x$ they stand along the diagonal, with zeros elsewhere",
        )
        for e, entry in enumerate(shift_entries(k))
    ),
)
EYE = sp.KroneckerDelta(a, b)
PARITIES = ((0, 0), (0, 1), (1, 0), (1, 1))
Matrix = Callable[[Any, Any], Any]


def shift(offset: Any) -> Matrix:
    return lambda row, column: M(offset, row, column)


def transpose(matrix: Matrix) -> Matrix:
    return lambda row, column: matrix(column, row)


def product(first: Matrix, second: Matrix) -> Matrix:
    return lambda row, column: total(times(first(row, c), second(c, column)), c)


def entries_agree(first: Matrix, second: Matrix) -> Any:
    return forall([a, b], equal(first(a, b), second(a, b)))


def unit(row: Any, column: Any) -> Any:
    return sp.KroneckerDelta(row, column)


NO_SHIFT = entries_agree(shift(0), unit)
COMPOSED = forall([k, l], entries_agree(product(shift(k), shift(l)), shift(plus(k, l))))
BACK = forall(k, entries_agree(shift(times(-1, k)), transpose(shift(k))))
ORTHOGONAL = forall(
    k,
    both(
        entries_agree(product(shift(k), transpose(shift(k))), unit),
        entries_agree(product(transpose(shift(k)), shift(k)), unit),
    ),
)


def each_entry(p: Prover, goal: Any, cases: dict[tuple[int, int], Theorem]) -> Theorem:
    """For all rows and columns, from equations for pairs i, j in rows and columns of any parity."""

    def row(at: Term, e: int, goal: Term) -> Theorem:
        def column(to: Term, f: int, goal: Term) -> Theorem:
            return p.equal(*goal.children, p.at(cases[e, f], at, to), show=False)

        return each_component(p, goal, column)

    return each_component(p, goal, row)


def no_shift(p: Prover) -> Theorem:
    """M_0 is the identity matrix."""
    entries, cases = [p.hyp(e) for e in range(1, 5)], {}
    for e, f in PARITIES:
        value, reason = (same_pair, r"$\cos 0 = 1$") if e == f else (0, r"$\sin 0 = 0$")
        entry = p.equal(M(0, 2 * i + e, 2 * j + f), value, *entries, reason=reason)
        cases[e, f] = p.for_all(entry, i, j)
    return each_entry(p, NO_SHIFT, cases)


def back(p: Prover) -> Theorem:
    """M_{-k} is the transpose of M_k."""
    entries, cases = [p.hyp(e) for e in range(1, 5)], {}
    for e, f in PARITIES:
        row, column = 2 * i + e, 2 * j + f
        reason = "the cosine is even" if e == f else "the sine is odd"
        sides = M(times(-1, k), row, column), M(k, column, row)
        cases[e, f] = p.for_all(p.equal(*sides, *entries, reason=reason), i, j)
    return p.for_all(
        each_entry(p, entries_agree(shift(times(-1, k)), transpose(shift(k))), cases), k
    )


def composed(p: Prover) -> Theorem:
    """M_k M_l = M_{k + l}."""
    entries, cases, s = [p.hyp(e) for e in range(1, 5)], {}, index("s", r)
    angles = angle(k), angle(l)
    for e, f in PARITIES:
        row, column = 2 * i + e, 2 * j + f
        by_pair = plus(
            times(M(k, row, 2 * s), M(l, 2 * s, column)),
            times(M(k, row, 2 * s + 1), M(l, 2 * s + 1, column)),
        )
        sign = (-1, same_pair) if (e, f) == (1, 0) else (same_pair,)
        name, of, expand = ("cos-add", cos, cos_add) if e == f else ("sin-add", sin, sin_add)
        added = times(-1, *sign), p.axiom(name, *angles)
        summed_up = product(shift(k), shift(l))(row, column)
        found = p.calc(
            summed_up,
            (total(by_pair, s), "pair by pair", by_pairs(p, summed_up)),
            (times(*sign, expand(*angles)), "only one pair has a block in this row", *entries),
            (times(*sign, of(plus(*angles))), "addition formula", added),
            (M(plus(k, l), row, column), "the same entry of the block for $k + l$", *entries),
        )
        cases[e, f] = p.for_all(found, i, j)
    goal = entries_agree(product(shift(k), shift(l)), shift(plus(k, l)))
    return p.for_all(each_entry(p, goal, cases), k, l)


def recall(p: Prover, prove: Callable[[Prover], Theorem], reason: str) -> Theorem:
    """What an earlier claim shows, as one line."""
    before = len(p.lines)
    theorem = prove(p)
    del p.lines[before:]
    return p.note(theorem, reason)


def orthogonal(p: Prover, joined: Theorem | None = None) -> Theorem:
    """M_k M_k^T and M_k^T M_k are the identity, given that shifts compose."""
    same = recall(p, no_shift, "`positional-encoding/shift-by-zero`: a shift by 0 changes nothing")
    turned = recall(p, back, "`positional-encoding/shift-back`: the shift back is the transpose")
    joined = joined or recall(p, composed, "`positional-encoding/composition`: shifts compose")
    parts = []
    for first, second in ((k, times(-1, k)), (times(-1, k), k)):
        one, other = (shift(k), transpose(shift(k)))
        if first is not k:
            one, other = other, one
        found = p.calc(
            product(one, other)(a, b),
            (product(shift(first), shift(second))(a, b), "the transpose is the shift back", turned),
            (M(plus(first, second), a, b), "shifts compose", joined),
            (M(0, a, b), "there and back"),
            (unit(a, b), "a shift by 0 changes nothing", same),
        )
        parts.append(p.for_all(found, a, b))
    return p.for_all(p.both(*parts), k)


def equal_determinants(entries: Theorem) -> Theorem:
    """det A = det B, from A = B entry by entry."""
    outer = entries.conclusion
    left = outer.children[1].children[1].children[0]
    return infer("extensionality", [entries], T.det(outer.children[0], left), 1)


def prove_determinant(p: Prover) -> Theorem:
    half = over(k, 2)
    joined = recall(p, composed, "`positional-encoding/composition`: shifts compose")
    inverses = recall(
        p,
        lambda p: orthogonal(p, joined),
        "`positional-encoding/orthogonal`: shifts are orthogonal",
    )
    twice, inverse = p.at(joined, half, half), p.part(p.at(inverses, half), 0)
    entry = T.apply("M", p.term(half), COMPONENT, COLUMN)
    one, flipped = T.abstract(entry, (COMPONENT, COLUMN)), T.abstract(entry, (COLUMN, COMPONENT))
    det = determinant(d, shift(half))
    squared = p.equal(
        determinant(d, shift(k)),
        determinant(d, shift(plus(half, half))),
        show=False,
    )
    found = p.calc(
        determinant(d, shift(k)),
        (
            determinant(d, product(shift(half), shift(half))),
            "two shifts by half the offset",
            (1, squared),
            (-1, equal_determinants(twice)),
        ),
        (times(det, det), r"$\det AB = \det A \det B$", p.axiom("det-product", d, one, one)),
        (
            times(det, determinant(d, transpose(shift(half)))),
            r"$\det A^\top = \det A$",
            (times(-1, det), p.axiom("det-transpose", d, one)),
        ),
        (
            determinant(d, product(shift(half), transpose(shift(half)))),
            r"$\det AB = \det A \det B$, from right to left",
            (-1, p.axiom("det-product", d, one, flipped)),
        ),
        (determinant(d, unit), "the matrix is orthogonal", equal_determinants(inverse)),
        (1, r"$\det I = 1$", p.axiom("det-identity", d)),
    )
    return p.for_all(found, k)


def matrices(rng: np.random.Generator) -> list[tuple[int, float, np.ndarray]]:
    """Shift matrices of every width but the widest, at several offsets."""
    from numeric import shift_matrix

    return [(w, k, shift_matrix(k, w)) for w in (2, 4, 6, 8, 64) for k in offsets(rng)]


def twin_no_shift(_rng: np.random.Generator) -> list[Trial]:
    from numeric import shift_matrix

    return [agree(shift_matrix(0.0, width), np.eye(width), f"d={width}") for width in WIDTHS]


def twin_back(rng: np.random.Generator) -> list[Trial]:
    from numeric import shift_matrix

    return [agree(shift_matrix(-k, w), m.T, f"d={w}, k={k:.3g}") for w, k, m in matrices(rng)]


def twin_composed(rng: np.random.Generator) -> list[Trial]:
    from numeric import shift_matrix

    trials = []
    for width, offset, matrix in matrices(rng):
        other = float(rng.uniform(-99, 99))
        both = matrix @ shift_matrix(other, width)
        trials.append(agree(both, shift_matrix(offset + other, width), f"d={width}"))
    return trials


def twin_orthogonal(rng: np.random.Generator) -> list[Trial]:
    trials = []
    for width, _, matrix in matrices(rng):
        trials += [
            agree(matrix @ matrix.T, np.eye(width), f"rows, d={width}"),
            agree(matrix.T @ matrix, np.eye(width), f"columns, d={width}"),
        ]
    return trials


def twin_determinant(rng: np.random.Generator) -> list[Trial]:
    return [agree(np.linalg.det(m), 1.0, f"d={w}, k={k:.3g}") for w, k, m in matrices(rng)]


def group_claim(
    name: str, title: str, statement: Any, proof: Callable[[Prover], Theorem], twin: Twin
) -> Claim:
    return Claim(
        id=f"positional-encoding/{name}",
        title=title,
        source=source(
            "A18 A19",
            "The matrix of a shift is written down, pair by pair. Beyond the note: how shifts "
            "combine.",
        ),
        statement=statement,
        given=SHIFTS,
        proof=proof,
        twin=twin,
        expected=Verdict.PROVED,
    )


GROUP = (
    group_claim(
        "shift-by-zero", "A shift by 0 is the identity", NO_SHIFT, no_shift,
        Twin("shift matrices at offset 0", twin_no_shift),
    ),
    group_claim(
        "shift-back", "The shift back is the transpose", BACK, back,
        Twin("shift matrices at opposite offsets", twin_back),
    ),
    group_claim(
        "composition", "Shifts compose", COMPOSED, composed,
        Twin("products of shift matrices", twin_composed),
    ),
    group_claim(
        "orthogonal", "The shift matrix is orthogonal", ORTHOGONAL, orthogonal,
        Twin("shift matrices times their transposes", twin_orthogonal),
    ),
    group_claim(
        "determinant", "The shift matrix is a rotation",
        forall(k, equal(determinant(d, shift(k)), 1)), prove_determinant,
        Twin("determinants of shift matrices", twin_determinant),
    ),
)  # fmt: skip

CLAIMS = (
    ADDITION, ROTATION, TRANSPOSED, UNIQUE_ROTATION, BLOCKS, LINEAR, ODD, *GROUP,
)  # fmt: skip

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
