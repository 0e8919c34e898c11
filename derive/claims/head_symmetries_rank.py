r"""Multi-head attention: what a head is of, and that changes of basis are all that it does not see.

A head uses its matrices in two products only, ``W^Q (W^K)^T`` and ``W^V W^O``.  The derivations
note calls it a projection to a subspace of lower dimension: the products have rank at most the
width of the head.  A change of the factors that leaves their product as it is, to first order, is
a change of basis, so that a head of full rank has exactly ``d_k^2 + d_v^2`` redundant numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import sympy as sp

from derive.claim import Claim, Example, Mutation
from derive.claims import DERIVATIONS
from derive.claims._dimension import null_vector, null_vector_law
from derive.kernel import terms as T
from derive.kernel.rules import Theorem
from derive.kernel.terms import Term
from derive.language import (
    both,
    dims,
    equal,
    exists,
    forall,
    iff,
    implies,
    index,
    less,
    plus,
    power,
    tensor,
    times,
    total,
)
from derive.prover import Prover
from derive.result import Source, Verdict
from derive.twin import Trial, Twin
from derive.twin import equal as agree

ORDER = 17
TOPIC = "head-symmetries"

d, k = dims("d_model k")
a, b = index("a", d), index("b", d)
c, e, f = (index(x, k) for x in "cef")
delta = sp.KroneckerDelta

# ---------------------------------------------------------------------- the rank of a product

left, right = tensor("U", d, k), tensor("V", d, k)
several = index("j", k + 1)
tokens, weights = tensor("X", k + 1, d), tensor("v", k + 1)
seen = total(
    times(
        weights[several], tokens[several, a], total(times(left[a, c], right[b, c]), c)
    ),
    several, a,
)  # fmt: skip
DEPENDENT = exists(
    weights, both(less(0, total(power(weights[several], 2), several)), forall(b, equal(seen, 0)))
)


def prove_rank(p: Prover) -> Theorem:
    law = null_vector_law(p)
    place = T.var("c", "fin", p.term(k))
    images = p.lam(total(times(tokens[several, a], left[a, c]), a), c, several)

    def silent(equations: Theorem, _place: Term, goal: Term) -> Theorem:
        equation = p.at(equations, place)
        within = p.order(T.le(T.add(place, T.ONE), p.term(k)))
        zero = p.for_all(p.mp(equation, within), place)
        at_b = T.mul(p.term(right[b, c]))
        weighted = p.sum_equal(
            p.equal(T.mul(p.at(zero, c).conclusion.children[0], at_b), 0,
                    (at_b, p.at(zero, c)), show=False), c,
        )  # fmt: skip
        return p.equal(*goal.children, (1, weighted), show=False)

    found = null_vector(p, law, images, (k, 0), DEPENDENT, _every(silent, p))
    return p.note(
        found,
        "any $k+1$ tokens have images with $k$ entries each, which satisfy a relation; the product "
        "of the two matrices keeps it",
    )


def _every(
    proof: Callable[[Theorem, Term, Term], Theorem], p: Prover
) -> Callable[[Theorem, Term, Term], Theorem]:
    """The proof at the index b of the statement."""

    def at(equations: Theorem, place: Term, goal: Term) -> Theorem:
        moved = T.substitute(goal, {place: p.term(b)})
        theorem = p.for_all(proof(equations, place, moved), b)
        return p.at(theorem, place)

    return at


def heads(rng: np.random.Generator) -> Iterator[tuple[Any, Any, int]]:
    """Two factors and the width of a head, all sizes different."""
    for width, inner in ((5, 2), (7, 3), (4, 1), (3, 3)):
        yield *rng.standard_normal((2, width, inner)), inner


def twin_rank(rng: np.random.Generator, more: int = 0) -> Iterator[Trial]:
    for first, second, inner in heads(rng):
        rank = np.linalg.matrix_rank(first @ second.T)
        yield agree(int(rank), inner + more, f"rank, width {len(first)}")
        images = rng.standard_normal((inner + 1, len(first))) @ first @ second.T
        least = np.linalg.svd(images)[1][-1] if len(first) > inner else 0.0
        yield agree(least, 0.0, f"{inner + 1} tokens, width {len(first)}")


def rank_mutations() -> tuple[Mutation, ...]:
    independent = implies(forall(b, equal(seen, 0)), forall(several, equal(weights[several], 0)))
    return (
        Mutation(
            "one more than $k$ tokens can stay independent",
            statement=independent,
            counterexample=Example({
                d: 2, k: 1, left: [[1], [0]], right: [[1], [0]], tokens: [[1, 0], [0, 1]],
                weights: [0, 1],
            }),
            twin=Twin("ranks against one more", lambda rng: twin_rank(rng, more=1)),
        ),
    )  # fmt: skip


RANK = Claim(
    id="head-symmetries/rank",
    title="A head compares and passes on no more than its width",
    source=Source(
        DERIVATIONS, ("A03",),
        "A head works in a subspace of lower dimension. Beyond the note: what is made of tokens by "
        r"$W^Q (W^K)^\top$, or by $W^V W^O$, here $U V^\top$ with $k$ columns in $U$ and in $V$.",
    ),
    statement=DEPENDENT,
    proof=prove_rank,
    twin=Twin("ranks of products of two narrow matrices", twin_rank),
    mutations=rank_mutations,
    expected=Verdict.PROVED,
    remark=r"So $U V^\top$ has rank at most $k$: of any $k + 1$ tokens one is, for this head, a "
    "combination of the others.",
)  # fmt: skip


# ---------------------------------------------------------------------- only changes of basis

step_left, step_right = tensor("D", d, k), tensor("E", d, k)
back_left, back_right = tensor("L", k, d), tensor("R", k, d)
basis = tensor("M", k, k)
FULL = both(
    forall([c, e], equal(total(times(back_left[c, a], left[a, e]), a), delta(c, e))),
    forall([c, e], equal(total(times(back_right[c, b], right[b, e]), b), delta(c, e))),
)
UNSEEN = forall(
    [a, b],
    equal(total(plus(times(step_left[a, c], right[b, c]), times(left[a, c], step_right[b, c])), c),
          0),
)  # fmt: skip
TURNED = both(
    forall([a, c], equal(step_left[a, c], total(times(left[a, e], basis[e, c]), e))),
    forall([b, c], equal(step_right[b, c], total(times(-1, right[b, e], basis[c, e]), e))),
)
CHANGE = exists(basis, TURNED)
UNIQUE = forall(
    basis,
    implies(
        forall([a, c], equal(total(times(left[a, e], basis[e, c]), e), 0)),
        forall([c, e], equal(basis[c, e], 0)),
    ),
)


def prove_only(p: Prover) -> Theorem:
    def then(full: Theorem) -> Theorem:
        of_left, of_right = p.part(full, 0), p.part(full, 1)
        return p.both(
            p.both(
                p.suppose(UNSEEN, lambda zero: a_basis(p, zero, of_left, of_right),
                          "let the product not change, to first order"),
                p.suppose(CHANGE, lambda some: back(p, some), "conversely, let there be such an "
                          "$M$"),
            ),
            unique(p, of_left),
        )  # fmt: skip

    return p.suppose(FULL, then, "let both factors have left inverses")


product = total(plus(times(step_left[a, e], right[b, e]), times(left[a, e], step_right[b, e])), e)


def a_basis(p: Prover, zero: Theorem, of_left: Theorem, of_right: Theorem) -> Theorem:
    def entry(row: Any, column: Any) -> Any:
        """M = -E^T R^T."""
        return times(-1, total(times(step_right[b, row], back_right[column, b]), b))

    whole = p.sum_equal(
        p.equal(times(product, back_right[c, b]), 0, (back_right[c, b], p.at(zero, a, b)),
                show=False), b,
    )  # fmt: skip
    kept = p.sum_equal(
        p.equal(
            times(step_left[a, e], total(times(back_right[c, b], right[b, e]), b)),
            times(step_left[a, e], delta(c, e)), (step_left[a, e], p.at(of_right, c, e)),
            show=False,
        ), e,
    )  # fmt: skip
    first = p.equal(
        step_left[a, c], total(times(left[a, e], entry(e, c)), e), (-1, kept), (1, whole),
        reason="multiply by $R$",
    )  # fmt: skip
    at_step = p.for_all(first, a, c)
    second = _other_factor(p, zero, of_left, at_step, entry)
    parts = p.both(at_step, p.for_all(second, b, c))
    matrix = p.lam(entry(e, c), e, c)
    return p.note(
        p.exists(CHANGE, matrix, parts), r"so there is such a matrix, $M = -E^\top R^\top$"
    )


def _other_factor(
    p: Prover, zero: Theorem, of_left: Theorem, at_step: Theorem, entry: Callable[[Any, Any], Any]
) -> Theorem:
    """E = -V M^T, from the equation for D."""
    whole = p.sum_equal(
        p.equal(times(back_left[c, a], product), 0, (back_left[c, a], p.at(zero, a, b)),
                show=False), a,
    )  # fmt: skip

    def cleared(weight: Any, at: Any) -> Theorem:
        """The left inverse takes the factor U away."""
        inverse = total(times(back_left[c, a], left[a, at]), a)
        return p.sum_equal(
            p.equal(times(inverse, weight), times(delta(c, at), weight),
                    (weight, p.at(of_left, c, at)), show=False), at,
        )  # fmt: skip

    replaced = p.sum_equal(
        p.equal(
            times(back_left[c, a], right[b, e], step_left[a, e]),
            times(back_left[c, a], right[b, e], total(times(left[a, f], entry(f, e)), f)),
            (times(back_left[c, a], right[b, e]), p.at(at_step, a, e)), show=False,
        ), a, e,
    )  # fmt: skip
    again = cleared(total(times(right[b, e], entry(f, e)), e), f)
    return p.equal(
        step_right[b, c], total(times(-1, right[b, e], entry(c, e)), e),
        (1, whole), (-1, cleared(step_right[b, e], e)), (-1, replaced), (-1, again),
        reason="multiply by $L$, and insert this",
    )  # fmt: skip


def back(p: Prover, some: Theorem) -> Theorem:
    def instance(case: Theorem) -> Theorem:
        first, second = p.part(case, 0), p.part(case, 1)
        one = p.sum_equal(
            p.equal(
                times(step_left[a, c], right[b, c]),
                times(total(times(left[a, e], basis[e, c]), e), right[b, c]),
                (right[b, c], p.at(first, a, c)), show=False,
            ), c,
        )  # fmt: skip
        two = p.sum_equal(
            p.equal(
                times(left[a, c], step_right[b, c]),
                times(left[a, c], total(times(-1, right[b, e], basis[c, e]), e)),
                (left[a, c], p.at(second, b, c)), show=False,
            ), c,
        )  # fmt: skip
        zero = p.equal(
            UNSEEN.args[1].args[1].args[0], 0, (1, one), (1, two),
            reason=r"$U M V^\top - U M V^\top$",
        )  # fmt: skip
        return p.for_all(zero, a, b)

    return p.choose(some, basis, instance)


def unique(p: Prover, of_left: Theorem) -> Theorem:
    premise = UNIQUE.args[1].args[0]

    def then(zero: Theorem) -> Theorem:
        whole = p.sum_equal(
            p.equal(
                times(back_left[c, a], total(times(left[a, e], basis[e, f]), e)), 0,
                (back_left[c, a], p.at(zero, a, f)), show=False,
            ), a,
        )  # fmt: skip
        inverse = total(times(back_left[c, a], left[a, e]), a)
        cleared = p.sum_equal(
            p.equal(times(inverse, basis[e, f]), times(delta(c, e), basis[e, f]),
                    (basis[e, f], p.at(of_left, c, e)), show=False), e,
        )  # fmt: skip
        found = p.equal(
            basis[c, f], 0, (1, whole), (-1, cleared), reason="$M$ is determined: multiply by $L$"
        )
        return p.for_all(p.at(p.for_all(found, c, f), c, e), c, e)

    return p.for_all_tensors(p.suppose(premise, then, "and let $U M$ be 0"), basis)


def unseen_directions(first: Any, second: Any) -> int:
    """How many independent changes of the factors keep the product, to first order."""
    width, inner = first.shape
    columns = []
    for factor in (0, 1):
        for place in np.ndindex(width, inner):
            step = np.zeros((width, inner))
            step[place] = 1
            columns.append((step @ second.T if factor == 0 else first @ step.T).ravel())
    return 2 * width * inner - int(np.linalg.matrix_rank(np.array(columns)))


def twin_only(rng: np.random.Generator, less_by: int = 0) -> Iterator[Trial]:
    for first, second, inner in heads(rng):
        claimed = inner**2 - less_by
        yield agree(unseen_directions(first, second), claimed, f"{len(first)} x {inner}")
        matrix = rng.standard_normal((inner, inner))
        change = first @ matrix @ second.T - first @ (second @ matrix.T).T
        yield agree(change, np.zeros_like(change), "changes of basis")


def only_mutations() -> tuple[Mutation, ...]:
    same_way = both(
        TURNED.args[0],
        forall([b, c], equal(step_right[b, c], total(times(right[b, e], basis[c, e]), e))),
    )
    ones = {x: [[1]] for x in (left, right, back_left, back_right, step_left, step_right, basis)}
    return (
        Mutation(
            "$M$ is determined by factors of any rank",
            statement=UNIQUE,
            counterexample=Example({d: 1, k: 1, left: [[0]]}),
        ),
        Mutation(
            "both factors change with the same sign",
            statement=implies(FULL, implies(same_way, UNSEEN)),
            counterexample=Example({d: 1, k: 1, **ones}),
        ),
        Mutation(
            "one number fewer is redundant",
            twin=Twin(
                "redundant numbers of products, against one fewer",
                lambda rng: twin_only(rng, less_by=1),
            ),
        ),
    )


ONLY_BASES = Claim(
    id="head-symmetries/only-basis-changes",
    title="Only changes of basis are not seen by a head",
    source=Source(
        DERIVATIONS, ("A04",),
        "Every head has its own matrices. Beyond the note: which small changes $D$, $E$ of the two "
        r"factors of $U V^\top$, which is $W^Q (W^K)^\top$ or $W^V W^O$ with $V = (W^O)^\top$, "
        "leave the product as it is, if the factors have full rank.",
    ),
    statement=implies(FULL, both(iff(UNSEEN, CHANGE), UNIQUE)),
    proof=prove_only,
    twin=Twin("how many changes of random factors keep their product", twin_only),
    mutations=only_mutations,
    expected=Verdict.PROVED,
    remark="So exactly $k^2$ of the $2 d_{\\text{model}} k$ numbers of a head's two factors are "
    "redundant: this is what `head-symmetries/free-numbers` takes off, twice for every head. "
    "The outputs of the layer determine the products of its heads, where these are all different "
    "and none is 0: `head-symmetries/determined`.",
)  # fmt: skip

CLAIMS = (RANK, ONLY_BASES)

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
