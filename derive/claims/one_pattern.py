r"""Heads with one attention pattern: the single head that does the work of all.

The interview note says that heads which all give one pattern degenerate to a single head.  They
do, if its values are as wide as those of all heads together; a head of the old width is not
enough.  The converse does not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import sympy as sp

from derive.claim import Claim, Correction, Example, Given, Mutation
from derive.claims import INTERVIEW
from derive.claims._heads import (
    ALL_ALIKE,
    W_O,
    W_V,
    V,
    a,
    by_heads,
    d,
    d_v,
    f,
    h,
    head,
    i,
    j,
    l,
    layers,
    m,
    n,
    o,
    output_rows,
    own_rows,
    patterns,
    position,
    projected,
    s,
    t,
)
from derive.claims._softmax import same_or_apart
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.language import (
    all_equal,
    equal,
    exists,
    forall,
    implies,
    negation,
    over,
    tensor,
    times,
    total,
)
from derive.prover import Prover
from derive.result import Source, Verdict
from derive.twin import Trial, Twin, differs
from derive.twin import equal as agree

ORDER = 18
TOPIC = "one-pattern"

delta = sp.KroneckerDelta

common = tensor("A", n, m)
A_i = tensor("A'", h, n, m)
wide_V = tensor("W_all^V", d, h * d_v)
ONE_PATTERN = Given(
    forall([i, t, s], equal(A_i[i, t, s], common[t, s])), "all heads have the pattern $A$"
)
ADDED_UP = Given(
    forall([i, a, f], equal(wide_V[a, position(i, f)], W_V[i, a, f])),
    "one value matrix: those of the heads side by side",
)


def value_maps(a: Any, o: Any) -> Any:
    """Entry (a, o) of the sum of the maps ``W_i^V W_i^O``."""
    return total(times(W_V[i, a, f], own_rows(i, f, o)), i, f)


heads_added = total(times(A_i[i, t, s], projected(V, W_V, i, s, f), own_rows(i, f, o)), i, f, s)
one_head = total(times(common[t, s], total(times(V[s, a], wide_V[a, l]), a), W_O[l, o]), l, s)
by_map = total(times(common[t, s], V[s, a], value_maps(a, o)), s, a)


def prove_single(p: Prover) -> Theorem:
    pulled = p.equal(
        heads_added, by_map, p.hyp(0), reason="take the common pattern out of the sum over heads"
    )
    numbered = p.blocks(one_head, h, d_v)
    p.note(numbered, r"number the columns of the wide head by head $i$ and place $c$: $i\,d_v + c$")
    joined = p.equal(
        by_map, one_head, (-1, p.equal(one_head, by_map, numbered, p.hyp(1), show=False)),
        reason=r"column $i\,d_v+c$ of the wide values is column $c$ of head $i$",
    )  # fmt: skip
    return p.for_all(p.both(pulled, joined), t, o)


def twin_single(
    rng: np.random.Generator, joined: Callable[[Any, int], Any] = lambda maps, _: maps.sum(axis=0)
) -> Iterator[Trial]:
    from numeric import MultiHeadWeights, multi_head_attention

    for x, y, z, weights in layers(rng):
        shared = MultiHeadWeights(
            np.repeat(weights.w_q[:1], weights.h, axis=0),
            np.repeat(weights.w_k[:1], weights.h, axis=0), weights.w_v, weights.w_o,
        )  # fmt: skip
        wide = np.concatenate(list(weights.w_v), axis=1)[None]
        single = MultiHeadWeights(weights.w_q[:1], weights.w_k[:1], wide, weights.w_o)
        out = multi_head_attention(x, y, z, shared)
        yield agree(multi_head_attention(x, y, z, single), out, "one head of all widths")
        one_map = joined(weights.w_v @ output_rows(weights), weights.d_v)
        yield agree(patterns(x, y, shared)[0] @ z @ one_map, out, "one pattern, one map")


def best_of_rank(matrix: Any, rank: int) -> Any:
    """The nearest matrix of at most that rank."""
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    return left[:, :rank] * values[:rank] @ right[:rank]


def single_mutations() -> tuple[Mutation, ...]:
    def mistaken(compares: str, joined: Callable[[Any, int], Any]) -> Twin:
        return Twin(compares, lambda rng: twin_single(rng, joined))

    return (
        Mutation(
            "the single head is read as one of value width $d_v$",
            statement=NARROW.statement,
            given=(),
            counterexample=NARROW.counterexample,
            twin=mistaken(
                "a layer with shared queries and keys against the best map of rank d_v",
                lambda maps, width: best_of_rank(maps.sum(axis=0), width),
            ),
        ),
        Mutation(
            "the value maps of the heads are averaged in place of added",
            statement=forall([t, o], equal(heads_added, over(by_map, h))),
            counterexample=Example({
                n: 1, m: 1, d: 1, h: 2, d_v: 1, V: [[1]], W_V: [[[1]], [[1]]], W_O: [[1], [1]],
                common: [[1]], A_i: [[[1]], [[1]]], wide_V: [[1, 1]],
            }),
            twin=mistaken(
                "a layer with shared queries and keys against the average map",
                lambda maps, _: maps.mean(axis=0),
            ),
        ),
    )  # fmt: skip


SINGLE = Claim(
    id="one-pattern/one-head",
    title="With one pattern, all heads are one head of their joint width",
    source=Source(INTERVIEW, ("B11",), f"{ALL_ALIKE}."),
    statement=forall([t, o], all_equal(heads_added, by_map, one_head)),
    given=(ONE_PATTERN, ADDED_UP),
    proof=prove_single,
    twin=Twin("a layer with shared queries and keys against one head", twin_single),
    mutations=single_mutations,
    expected=Verdict.PROVED,
    remark=r"The single head has the value matrix $[W_1^V \dots W_h^V]$ of $h\,d_v$ columns and "
    r"the same $W^O$; its value map is $\sum_i W_i^V W_i^O$. That an advantage is lost is not a "
    "mathematical statement.",
)  # fmt: skip

silent = forall(j, implies(negation(equal(i, j)), forall([f, o], equal(own_rows(j, f, o), 0))))
alone = total(times(head[i, t, f], own_rows(i, f, o)), f)


def prove_silent(p: Prover) -> Theorem:
    def branch(others: Theorem) -> Theorem:
        same_head = delta(i, j)

        def itself(one: Theorem) -> Theorem:
            rows = own_rows(j, f, o)
            return p.equal(rows, times(same_head, rows), (times(-1, rows), one), show=False)

        def another(apart: Theorem, none: Theorem) -> Theorem:
            rows = own_rows(j, f, o)
            zero = p.at(p.mp(p.at(others, j), apart), f, o)
            return p.equal(
                rows, times(same_head, rows), (1, zero), (times(-1, rows), none), show=False
            )

        selected = p.note(
            same_or_apart(p, i, j, itself, another),
            r"the rows of head $j$ are $\delta_{ij}$ times themselves",
        )
        each = p.equal(
            times(head[j, t, f], own_rows(j, f, o)),
            times(head[j, t, f], same_head, own_rows(j, f, o)),
            (head[j, t, f], selected), reason="so is what it adds to the output",
        )  # fmt: skip
        summed = p.sum_equal(each, j, f)
        theorem = p.equal(by_heads, alone, (1, summed), reason="add up: one head is left")
        return p.for_all(theorem, t, o)

    return p.for_all(p.suppose(silent, branch, "let only the rows of head $i$ count"), i)


def twin_silent(rng: np.random.Generator, others: float = 0.0) -> Iterator[Trial]:
    """Head 0 keeps its rows, those of the others have one number in every place."""
    from numeric import MultiHeadWeights, attention_heads, multi_head_attention

    for x, y, z, weights in layers(rng):
        rows = np.full_like(output_rows(weights), others)
        rows[0] = output_rows(weights)[0]
        quiet = MultiHeadWeights(
            weights.w_q, weights.w_k, weights.w_v, rows.reshape(weights.w_o.shape)
        )
        first = attention_heads(x, y, z, weights)[0] @ rows[0]
        yield agree(multi_head_attention(x, y, z, quiet), first, "one head")
        if weights.h > 1 and len(y) > 1:
            found = patterns(x, y, weights)
            yield differs(found[1], found[0], by=1e-9, what="patterns of two heads")


def silent_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "the other heads have rows, too",
            statement=forall([t, o], equal(by_heads, alone)),
            counterexample=Example({
                n: 1, d: 1, h: 2, d_v: 1, i: 0, head: [[[0]], [[1]]], W_O: [[1], [1]],
            }),
            twin=Twin(
                "layers in which all heads have rows", lambda rng: twin_silent(rng, others=1.0)
            ),
        ),
    )  # fmt: skip


SILENT = Claim(
    id="one-pattern/silent-heads",
    title="One head can be left though the patterns differ",
    source=Source(
        INTERVIEW, ("B11",),
        f"{ALL_ALIKE}. Nothing is said of the converse; that the other heads have zero rows "
        "in $W^O$ is a premise of this claim.",
    ),
    statement=forall(i, implies(silent, forall([t, o], equal(by_heads, alone)))),
    proof=prove_silent,
    twin=Twin("layers in which one head has rows that are not zero", twin_silent),
    mutations=silent_mutations,
    expected=Verdict.PROVED,
    remark="The patterns of the silent heads are arbitrary: a layer that acts as one head does not "
    "have one pattern for that reason.",
)  # fmt: skip

U, Z = tensor("U", d, d_v), tensor("Z", d_v, d)
U_all, Z_all = tensor("U'", d, h * d_v), tensor("Z'", h * d_v, d)
narrow_map = forall([a, o], equal(value_maps(a, o), total(times(U[a, f], Z[f, o]), f)))
wide_map = forall([a, o], equal(value_maps(a, o), total(times(U_all[a, l], Z_all[l, o]), l)))


def deny_narrow(p: Prover, target: T.Term) -> Theorem:
    """1 = (u_0 z_0)(u_1 z_1) = (u_0 z_1)(u_1 z_0) = 0, if one column and one row made I."""
    some = target.children[0]

    def absurd(fits: Theorem) -> Theorem:
        def entry(k: int, r: int) -> Theorem:
            return p.equal(
                T.mul(T.apply("U", T.num(k), T.ZERO), T.apply("Z", T.ZERO, T.num(r))),
                int(k == r), (-1, p.at(fits, k, r)), show=False,
            )  # fmt: skip

        corner = {(k, r): entry(k, r) for k in (0, 1) for r in (0, 1)}
        below = p.term(T.mul(T.apply("U", T.ONE, T.ZERO), T.apply("Z", T.ZERO, T.ONE)))
        other = p.term(T.mul(T.apply("U", T.ONE, T.ZERO), T.apply("Z", T.ZERO, T.ZERO)))
        # 0 = (u_0 z_1)(u_1 z_0) = (u_0 z_0)(u_1 z_1) = u_1 z_1 = 1
        clash = p.equal(
            0, 1, (T.neg(other), corner[0, 1]), (below, corner[0, 0]), (1, corner[1, 1]),
            show=False,
        )  # fmt: skip
        different = p.trivial(T.negate(T.eq(T.ZERO, T.ONE)))
        return infer("contradiction", [clash, different], target)

    inner = lambda some_z: p.choose(some_z, Z, absurd)  # noqa: E731
    return infer("deny", [p.choose(p.assume(some), U, inner)], some)


def prove_wide(p: Prover) -> Theorem:
    place, width = p.term(l), p.term(d_v)
    head_at = T.fn("floor", T.div(place, width))
    column_at = T.fn("mod", place, width)
    beside = p.lam(T.apply("W^V", head_at, p.term(a), column_at), a, l)
    rows = p.lam(W_O[l, o], l, o)
    some = p.formula(exists(U_all, exists(Z_all, wide_map)))
    some_rows = T.instantiate(some.children[-1], (beside,))
    goal = T.instantiate(some_rows.children[-1], (rows,))
    for x in (a, o):
        goal = T.instantiate(goal.children[-1], (p.term(x),))
    joined = goal.children[1]
    numbered = p.blocks(joined, h, d_v)
    p.note(
        numbered,
        r"take the value matrices side by side, with column $i \bmod d_v$ of head "
        r"$\lfloor i/d_v\rfloor$ in place $i$, and the same $W^O$; then number the places by head "
        r"and column",
    )
    fits = p.equal(
        value_maps(a, o), joined, (-1, numbered),
        reason=r"place $i\,d_v+c$ is column $c$ of head $i$",
    )  # fmt: skip
    theorem = p.exists(some_rows, rows, p.for_all(fits, a, o))
    return p.note(p.exists(some, beside, theorem), "so these two matrices will do")


def twin_narrow(rng: np.random.Generator) -> Iterator[Trial]:
    for heads, width, column in ((3, 6, 2), (2, 2, 1), (1, 5, 2), (4, 5, 3)):
        w_v = rng.standard_normal((heads, width, column))
        rows = rng.standard_normal((heads, column, width))
        whole = (w_v @ rows).sum(axis=0)
        yield agree(
            np.concatenate(list(w_v), axis=1) @ np.concatenate(list(rows)), whole, "joint width"
        )
        best = best_of_rank(whole, column)
        if heads > 1:
            yield differs(best, whole, by=1e-6, what="the best map of the width of one head")
        else:
            yield agree(best, whole, "one head", 1e-12)


NARROW = Claim(
    id="one-pattern/narrow-head",
    title="One head of the old width is enough",
    source=Source(
        INTERVIEW, ("B11",),
        f"{ALL_ALIKE}. How wide that head is, is left open; a single head of this model has "
        "the value width $d_v$.",
    ),
    statement=exists(U, exists(Z, narrow_map)),
    counterexample=Example(
        {h: 2, d: 2, d_v: 1, W_V: [[[1], [0]], [[0], [1]]], W_O: [[1, 0], [0, 1]]}, deny_narrow
    ),
    correction=Correction(exists(U_all, exists(Z_all, wide_map)), prove_wide),
    twin=Twin("value maps of all heads against the best of one width", twin_narrow),
    expected=Verdict.REFUTED,
    remark="The value map of one head has rank $d_v$ at most, the sum over the heads can have any "
    r"rank up to $h\,d_v$ (and $d_{\text{model}}$).",
)  # fmt: skip

CLAIMS = (SINGLE, NARROW, SILENT)

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
