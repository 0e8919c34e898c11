"""Sinusoidal position encoding: exactly which scores depend on the offset only.

Within one pair the form has to be a multiple of a rotation; between two pairs there must be
nothing.  A sum over all pairs cannot make good what its parts do wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import sympy as sp

from derive.claim import Claim, Example, Mutation
from derive.claims._positions import (
    ENCODING,
    PE,
    b,
    by_pairs,
    cos,
    cosine,
    d,
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
    summed,
)
from derive.claims.positional_frequencies import (
    sine_positive,
)
from derive.claims.positional_independence import (
    coefficients_vanish,
    known_frequencies,
    law_of_independence,
    whole,
)
from derive.claims.positional_scores import (
    SAID,
    B,
    admissible,
    alpha,
    beta,
    form_entries,
    prove_blocks,
    score,
)
from derive.counterexample import denied
from derive.denials import closed
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.kernel.terms import Term
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
    times,
    total,
)
from derive.prover import Prover
from derive.result import Verdict
from derive.twin import Trial, Twin
from derive.twin import equal as agree

ORDER = 33
TOPIC = "positional-scores"

HALF = sp.Rational(1, 2)
to = integer("n")
BY_ONE = forall([whole, to], equal(score(plus(whole, 1), plus(to, 1)), score(whole, to)))
#: Entries of the form in the rows of pair i and the columns of pair j.
u, v = B(2 * i, 2 * j), B(2 * i, 2 * j + 1)
w, z = B(2 * i + 1, 2 * j), B(2 * i + 1, 2 * j + 1)
ROTATIONS = forall(
    i,
    both(
        equal(B(2 * i, 2 * i), B(2 * i + 1, 2 * i + 1)),
        equal(B(2 * i, 2 * i + 1), times(-1, B(2 * i + 1, 2 * i))),
    ),
)
NOTHING_ELSE = forall(
    [i, j], implies(negation(equal(i, j)), both(*(equal(x, 0) for x in (u, v, w, z))))
)
BLOCKS = both(ROTATIONS, NOTHING_ELSE)
BY_ANYTHING = forall([pos, other, k], equal(score(plus(pos, k), plus(other, k)), score(pos, other)))


# ---------------------------------------------------------------------- what one step says


def row(e: int, pair: Any, at: Any) -> Any:
    """Row 2i + e of the form times the encoding."""
    return total(times(B(2 * pair + e, b), PE(at, b)), b)


def after_a_step(pair: Any, at: Any) -> tuple[Any, Any]:
    """Of sin(m w_i) and cos(m w_i) in the change of the score: what one step adds to them."""
    c, s = cos(omega[pair]), sin(omega[pair])
    even, odd = (row(e, pair, plus(at, 1)) for e in (0, 1))
    return (
        minus(minus(times(c, even), times(s, odd)), row(0, pair, at)),
        minus(plus(times(s, even), times(c, odd)), row(1, pair, at)),
    )


def step_of_rows(p: Prover, law: Theorem, free: Theorem) -> tuple[Theorem, Theorem]:
    """For all n: the two rows of pair i, one step on, are those at n, turned back."""
    _, _, sines, cosines = (p.hyp(e) for e in range(4))
    at = times(whole, omega[i])
    waves = plus(*(times(x, f(at)) for x, f in zip(after_a_step(i, to), (sin, cos), strict=True)))
    parts = [
        plus(times(sine(m, i), row(0, i, n)), times(cosine(m, i), row(1, i, n)))
        for m, n in ((plus(whole, 1), plus(to, 1)), (whole, to))
    ]
    cofactors = [
        (row(0, i, plus(to, 1)), p.axiom("sin-add", at, omega[i])),
        (row(1, i, plus(to, 1)), p.axiom("cos-add", at, omega[i])),
        (row(0, i, plus(to, 1)), p.at(sines, plus(whole, 1), i)),
        (row(1, i, plus(to, 1)), p.at(cosines, plus(whole, 1), i)),
        (times(-1, row(0, i, to)), p.at(sines, whole, i)),
        (times(-1, row(1, i, to)), p.at(cosines, whole, i)),
    ]
    each = p.equal(
        minus(*parts), waves, *cofactors, reason="definition and addition formulas, for one pair"
    )
    shifted, here = score(plus(whole, 1), plus(to, 1)), score(whole, to)
    zero = p.equal(
        total(waves, i), 0,
        (-1, summed(p, p.for_all(each, i))),
        (-1, by_pairs(p, shifted)),
        (1, by_pairs(p, here)),
        (1, p.at(free, whole, to)),
        reason="summed over the pairs, it is the change of the score",
    )  # fmt: skip
    found = coefficients_vanish(
        p, law, p.for_all(zero, whole), lambda pair: after_a_step(pair, to), i
    )
    first, second = (
        p.for_all(p.note(t, "by independence of the components at $m$"), to) for t in found
    )
    return first, second


def step_of_entries(p: Prover, law: Theorem, rows: tuple[Theorem, Theorem]) -> tuple[Theorem, ...]:
    """Four equations between the entries of pair i with pair j."""
    expanded = [expanded_row(p, e) for e in (0, 1)]
    out: list[Theorem] = []
    c, s = cos(omega[i]), sin(omega[i])
    for e, own in enumerate(((c, times(-1, s)), (s, c))):
        waves, each = _change_of_pair(p, own, e)
        zero = p.equal(
            total(waves, j), 0,
            (-1, summed(p, p.for_all(each, j))),
            *((times(-1, f), p.at(t, plus(whole, 1))) for f, t in zip(own, expanded, strict=True)),
            (1, p.at(expanded[e], whole)),
            (1, p.at(rows[e], whole)),
            reason="the rows of the form, written out in sines and cosines",
        )  # fmt: skip
        out += coefficients_vanish(p, law, p.for_all(zero, whole), partial(_turned, own=own, e=e))
    return tuple(p.note(t, "by independence of the components once more") for t in out)


def _change_of_pair(p: Prover, own: tuple[Any, Any], e: int) -> tuple[Any, Theorem]:
    """What pair j adds to row e one step on, turned back, less the row itself."""
    here, there = times(whole, omega[j]), times(plus(whole, 1), omega[j])
    turned = (p.axiom(f"{f}-add", here, omega[j]) for f in ("sin", "cos"))
    sine_law, cosine_law = turned
    parts, cofactors = [], []
    for x, factor in enumerate(own):
        even, odd = _entries(j, x)
        parts.append(times(factor, plus(times(even, sin(there)), times(odd, cos(there)))))
        cofactors += [(times(factor, even), sine_law), (times(factor, odd), cosine_law)]
    even, odd = _entries(j, e)
    before = plus(times(even, sin(here)), times(odd, cos(here)))
    left = _turned(j, own, e)
    waves = plus(times(left[0], sin(here)), times(left[1], cos(here)))
    return waves, p.equal(minus(plus(*parts), before), waves, *cofactors, show=False)


def _entries(pair: Any, e: int) -> tuple[Any, Any]:
    return B(2 * i + e, 2 * pair), B(2 * i + e, 2 * pair + 1)


def _turned(pair: Any, own: tuple[Any, Any], e: int) -> tuple[Any, Any]:
    """Of sin(m w_j) and cos(m w_j) in row e one step on, turned back, less the row itself."""
    c, s = cos(omega[pair]), sin(omega[pair])
    of_sine, of_cosine = [], []
    for x, factor in enumerate(own):
        even, odd = _entries(pair, x)
        of_sine.append(times(factor, minus(times(even, c), times(odd, s))))
        of_cosine.append(times(factor, plus(times(even, s), times(odd, c))))
    before = _entries(pair, e)
    return minus(plus(*of_sine), before[0]), minus(plus(*of_cosine), before[1])


def expanded_row(p: Prover, e: int) -> Theorem:
    """For all m: row 2i + e of the form times the encoding at m, in sines and cosines."""
    _, _, sines, cosines = (p.hyp(x) for x in range(4))
    even, odd = _entries(j, e)
    at = times(whole, omega[j])
    by_pair = total(plus(times(even, sine(whole, j)), times(odd, cosine(whole, j))), j)
    found = p.calc(
        row(e, i, whole),
        (by_pair, "pair by pair", by_pairs(p, row(e, i, whole))),
        (total(plus(times(even, sin(at)), times(odd, cos(at))), j), "definition", sines, cosines),
        show=False,
    )
    return p.for_all(found, whole)


# ---------------------------------------------------------------------- what the entries have to be


def prove_all(p: Prover) -> Theorem:
    return p.both(
        p.suppose(BY_ONE, lambda free: only_blocks(p, free), "suppose that one step changes "
                  "nothing"),
        p.suppose(BLOCKS, lambda case: any_shift(p, case), "conversely, let the form have blocks"),
    )  # fmt: skip


def only_blocks(p: Prover, free: Theorem) -> Theorem:
    known = known_frequencies(p)
    decreasing, limit, above = known
    law = law_of_independence(p, known)
    equations = step_of_entries(p, law, step_of_rows(p, law, free))
    sums = sum_parts(p, equations, limit, above)
    opposite = p.for_all(p.both(*sums), i, j)
    rotations = p.for_all(p.note(p.at(opposite, i, i), "for $j = i$"), i)
    with p.supposing(negation(equal(i, j))) as apart:
        differences = difference_parts(p, equations, apart, decreasing, (limit, above))
        zeros = all_zero(p, sums, differences)
    return p.both(rotations, p.for_all(p.discharge(zeros, apart), i, j))


SUM_TURNS = (
    r"let $(u, v)$ and $(w, z)$ be the rows of this block: the pair $(u - z, v + w)$ turns by "
    r"$\omega_i + \omega_j$, and stays"
)
DIFFERENCE_TURNS = (
    r"with these letters, the pair $(u + z, w - v)$ turns by $\omega_i - \omega_j$, and stays"
)


def sum_parts(
    p: Prover, equations: tuple[Theorem, ...], limit: Theorem, above: Theorem
) -> list[Theorem]:
    """u = z and v = -w."""
    theta = plus(omega[i], omega[j])
    positive = p.order(less(0, theta), (1, p.at(above, i)), (1, p.at(above, j)))
    upto = p.order(at_most(theta, 2), (1, p.at(limit, i)), (1, p.at(limit, j)))
    below = below_one(p, theta, positive, upto)
    first, second = minus(u, z), plus(v, w)
    e_1, e_2, e_3, e_4 = equations
    laws = _sum_laws(p, omega[i], omega[j])
    turned = (
        p.equal(
            minus(times(first, cos(theta)), times(second, sin(theta))), first,
            (1, e_1), (-1, e_4), (first, laws[1]), (times(-1, second), laws[0]), show=False,
        ),
        p.equal(
            plus(times(second, cos(theta)), times(first, sin(theta))), second,
            (1, e_2), (1, e_3), (second, laws[1]), (first, laws[0]), show=False,
        ),
    )  # fmt: skip
    for t in turned:
        p.note(t, SUM_TURNS)
    zero = fixed_by_a_turn(p, theta, below, first, second, turned)
    return [
        p.equal(u, z, (1, zero[0]), reason="so it is 0"),
        p.equal(v, times(-1, w), (1, zero[1]), reason="and so is this"),
    ]


def _sum_laws(p: Prover, x: Any, y: Any) -> tuple[Theorem, Theorem]:
    return p.axiom("sin-add", x, y), p.axiom("cos-add", x, y)


def below_one(p: Prover, theta: Any, positive: Theorem, upto: Theorem) -> Theorem:
    """0 < 1 - cos(theta), from 0 < theta <= 2."""
    half = over(theta, 2)
    sine_above = sine_positive(
        p, half,
        p.order(less(0, half), (HALF, positive)),
        p.order(at_most(half, 2), (HALF, upto)),
    )  # fmt: skip
    return p.note(
        p.order(
            less(0, minus(1, cos(theta))),
            (2, sine_above, sine_above),
            (-1, p.axiom("cos-add", half, half)),
            (-1, p.axiom("pythagoras", half)),
        ),
        r"$1 - \cos\theta = 2\sin^2\frac\theta2$, which is positive for $0 < \theta \le 2$",
    )


def fixed_by_a_turn(
    p: Prover, theta: Any, below: Theorem, x: Any, y: Any, turned: tuple[Theorem, Theorem]
) -> tuple[Theorem, Theorem]:
    """x = y = 0, from x cos - y sin = x and y cos + x sin = y, where cos is not 1."""
    gap = minus(1, cos(theta))
    inverse, square = p.cancel(gap, below), p.axiom("pythagoras", theta)
    share = over(over(1, gap), 2)

    def zero(value: Any, own: Theorem, across: Theorem, sine_part: Any) -> Theorem:
        return p.equal(
            value, 0,
            (times(-1, share, gap), own), (times(share, sine_part), across),
            (times(-1, share, value), square), (times(-1, value), inverse), show=False,
        )  # fmt: skip

    s, (first, second) = sin(theta), turned
    return zero(x, first, second, s), zero(y, second, first, times(-1, s))


def difference_parts(
    p: Prover, equations: tuple[Theorem, ...], apart: Theorem, decreasing: Theorem,
    bounds: tuple[Theorem, Theorem],
) -> tuple[Theorem, Theorem]:  # fmt: skip
    """u + z = 0 and w - v = 0, for two different pairs."""
    theta = minus(omega[i], omega[j])
    below = _different_frequencies(p, apart, decreasing, bounds)
    first, second = plus(u, z), minus(w, v)
    e_1, e_2, e_3, e_4 = equations
    sine_law, cosine_law = _sum_laws(p, omega[i], times(-1, omega[j]))
    turned = (
        p.equal(
            minus(times(first, cos(theta)), times(second, sin(theta))), first,
            (1, e_1), (1, e_4), (first, cosine_law), (times(-1, second), sine_law),
            reason=DIFFERENCE_TURNS,
        ),
        p.equal(
            plus(times(second, cos(theta)), times(first, sin(theta))), second,
            (-1, e_2), (1, e_3), (second, cosine_law), (first, sine_law), reason="likewise",
        ),
    )  # fmt: skip
    return fixed_by_a_turn(p, theta, below, first, second, turned)


def _different_frequencies(
    p: Prover, apart: Theorem, decreasing: Theorem, bounds: tuple[Theorem, Theorem]
) -> Theorem:
    """0 < 1 - cos(w_i - w_j)."""
    goal = p.formula(less(0, minus(1, cos(minus(omega[i], omega[j])))))

    def ordered(fast: Any, slow: Any, before: Theorem) -> Theorem:
        limit, above = (p.at(t, x) for t, x in zip(bounds, (fast, slow), strict=True))
        slower = p.mp(p.at(decreasing, fast, slow), before)
        theta = minus(omega[fast], omega[slow])
        positive = p.order(less(0, theta), (1, slower))
        upto = p.order(at_most(theta, 2), (1, limit), (1, above))
        return p.order(goal, (1, below_one(p, theta, positive, upto)))

    def not_later(upto: Theorem) -> Theorem:
        def same(reached: Theorem) -> Theorem:
            return infer("contradiction", [infer("antisymmetry", [upto, reached]), apart], goal)

        return p.cases(p.dichotomy(j, i), same, lambda before: ordered(i, j, before))

    return p.cases(p.dichotomy(i, j), not_later, lambda before: ordered(j, i, before))


def all_zero(p: Prover, sums: list[Theorem], differences: tuple[Theorem, Theorem]) -> Theorem:
    """u = v = w = z = 0."""
    (same, opposite), (first, second) = sums, differences
    halves = (
        (u, (HALF, first), (HALF, same)), (v, (HALF, opposite), (-HALF, second)),
        (w, (HALF, opposite), (HALF, second)), (z, (HALF, first), (-HALF, same)),
    )  # fmt: skip
    zeros = (p.equal(x, 0, *uses, show=False) for x, *uses in halves)
    return p.note(p.both(*zeros), "so between different pairs all four entries are 0")


# ---------------------------------------------------------------------- conversely


def any_shift(p: Prover, case: Theorem) -> Theorem:
    rotations, nothing = p.part(case, 0), p.part(case, 1)
    law = prove_blocks(p)
    for tensor in (beta, alpha):
        law = p.for_all_tensors(law, tensor)
    own = [p.lam(B(2 * i, 2 * i + e), i) for e in (0, 1)]
    at_form = p.at(law, *own)
    entries = [
        entry_of_blocks(p, part, rotations, nothing, e)
        for e, part in enumerate(at_form.conclusion.children[0].children)
    ]
    by_blocks = p.for_all(p.mp(at_form, p.both(*entries)), pos, other)
    moved, here = p.at(by_blocks, plus(pos, k), plus(other, k)), p.at(by_blocks, pos, other)
    same = p.equal(
        score(plus(pos, k), plus(other, k)), score(pos, other), (1, moved), (-1, here),
        reason="the offset of the two positions is the same",
    )  # fmt: skip
    return p.for_all(same, pos, other, k)


def entry_of_blocks(p: Prover, goal: Term, rotations: Theorem, nothing: Theorem, e: int) -> Theorem:
    """For all i, j: entry e of the block (i, j) is delta(i, j) times that of a rotation."""
    x, y = p.term(i), p.term(j)
    wanted = T.instantiate(T.instantiate(goal.children[1], (x,)).children[1], (y,))
    at_diagonal = T.substitute(wanted, {y: x})
    of_pair = p.at(rotations, i)
    diagonal = p.equal(
        *at_diagonal.children, *((c, p.part(of_pair, n)) for n, c in DIAGONAL[e]), show=False
    )
    split = infer("excluded-middle", [], p.formula(equal(i, j)))

    def same(case: Theorem) -> Theorem:
        return p.rewrite(case, diagonal, lambda t: T.substitute(wanted, {y: t}))

    def apart(case: Theorem) -> Theorem:
        zero = p.part(p.mp(p.at(nothing, i, j), case), e)
        delta, gap = T.delta(x, y), T.sub(x, y)
        product = p.equal(T.mul(delta, gap), 0, show=False)
        vanish = p.equal(
            delta, 0, (T.inv(gap), product), (T.neg(delta), p.cancel(gap, case)), show=False
        )
        right = wanted.children[1]
        rest = T.mul(*(c for c in right.children if c is not delta))
        return p.equal(*wanted.children, (1, zero), (T.neg(rest), vanish), show=False)

    return p.for_all(p.cases(split, same, apart), i, j)


#: Which of the two equations of a rotation gives an entry of its block, and with which factor.
DIAGONAL: tuple[tuple[tuple[int, int], ...], ...] = ((), (), ((1, 1),), ((0, -1),))


# ---------------------------------------------------------------------- twin and mistakes


def unchanged(width: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The singular values of the map from a form to the change of its scores in one step.

    Also the right singular vectors, as forms.
    """
    from numeric import position_encoding

    count = 6 * width**2
    rows, columns = rng.integers(0, 4000, (2, count)).astype(float)
    now, later = (
        np.einsum("na,nb->nab", *(position_encoding(x + o, width) for x in (rows, columns)))
        for o in (0.0, 1.0)
    )
    change = (later - now).reshape(count, -1)
    _, values, forms = np.linalg.svd(change, full_matrices=False)
    return values, forms.reshape(-1, width, width)


def twin_all(rng: np.random.Generator, extra: int = 0) -> list[Trial]:
    """As many forms are left unchanged as there are components, and these have the blocks."""
    trials = []
    for width in (2, 4, 6):
        values, forms = unchanged(width, rng)
        silent = values < 1e-11 * values[0]
        trials.append(agree(int(silent.sum()), width + extra, f"free numbers, d={width}"))
        form, *_ = admissible(rng, width)
        inside = np.einsum("nab,ab->n", forms[silent], form)
        rest = form - np.einsum("n,nab->ab", inside, forms[silent])
        trials.append(agree(rest, np.zeros_like(form), f"blocks, d={width}", 1e-8))
    return trials


def shown_to_change(*at: Any) -> Callable[[Prover, Term], Theorem]:
    """The form has the blocks that are claimed; a shift of these positions changes its score."""

    def deny(p: Prover, parts: Term) -> Theorem:
        premise, every = parts.children[1].children
        opened = [every]
        for x in at:
            opened.append(T.instantiate(opened[-1].children[0], (p.term(x),)))
        theorem = infer("decide", [], T.negate(opened.pop()))
        for goal, x in zip(reversed(opened), reversed(at), strict=True):
            theorem = infer("not-forall", [theorem], T.negate(goal), p.term(x))
        wrong = infer("not-implies", [closed(premise), theorem])
        return infer("not-conj", [wrong], T.negate(parts), 1)

    def example(p: Prover, target: Term) -> Theorem:
        return denied(target.children[0], len(ENCODING), lambda parts: deny(p, parts))

    return example


def all_mutations() -> tuple[Mutation, ...]:
    symmetric = forall(
        i,
        both(
            equal(B(2 * i, 2 * i), B(2 * i + 1, 2 * i + 1)),
            equal(B(2 * i, 2 * i + 1), B(2 * i + 1, 2 * i)),
        ),
    )
    mixed = [[0, 0, 0, 1], [0] * 4, [0] * 4, [0] * 4]
    quarter = sp.pi / 2

    def claimed(blocks: Any) -> Any:
        return both(implies(BY_ONE, blocks), implies(blocks, BY_ANYTHING))

    return (
        Mutation(
            "the entries off the diagonal of a block are equal, not opposite",
            statement=claimed(both(symmetric, NOTHING_ELSE)),
            counterexample=Example(
                {r: 1, d: 2, form_entries: [[0, 1], [1, 0]]},
                shown_to_change(quarter, 0, quarter),
            ),
        ),
        Mutation(
            "between different pairs anything may stand",
            statement=claimed(ROTATIONS),
            counterexample=Example(
                {r: 2, d: 4, form_entries: mixed},
                shown_to_change(quarter, 0, -quarter),
            ),
            twin=Twin("the number of free entries, one more", lambda rng: twin_all(rng, 1)),
        ),
    )


ALL_PAIRS = Claim(
    id="positional-scores/all-pairs-iff",
    title="Exactly which scores of encodings depend on the offset only",
    source=source(
        "A20",
        f"{SAID} Beyond the note: for which weights $B = W^Q (W^K)^\\top$, over all pairs at once.",
    ),
    statement=both(implies(BY_ONE, BLOCKS), implies(BLOCKS, BY_ANYTHING)),
    given=ENCODING,
    proof=prove_all,
    twin=Twin("the forms whose scores one step leaves unchanged", twin_all),
    mutations=all_mutations,
    expected=Verdict.PROVED,
    remark=r"So $d_{\text{model}}$ of the $d_{\text{model}}^2$ entries are free. One step at whole "
    "positions is enough to force the blocks; with them, shifts by any real number change nothing.",
)  # fmt: skip

CLAIMS = (ALL_PAIRS,)

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
