r"""The paths through a stack of residual blocks: the product of the factors I + J, multiplied out.

At every block a path goes past the branch or through it, so that there are ``2^L`` paths through L
blocks.  They are numbered in binary, the last block in the last digit; number 0 is the path past
all branches, which passes a gradient as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import sympy as sp

from derive.claim import Claim, Example, Given, Mutation
from derive.claims import DERIVATIONS
from derive.claims.residual import Js, L, Ps, a, at, b, c, d, l, no_factor, one, with_factor
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.kernel.terms import Term
from derive.language import (
    IsInteger,
    both,
    equal,
    forall,
    implies,
    index,
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

ORDER = 41
TOPIC = "residual"

s = sp.Symbol("s", integer=True, nonnegative=True)
Rs = tensor("R", sp.oo, sp.oo, d, d)
PRODUCT = (
    Given(
        no_factor(lambda k: at(Ps, k)),
        r"$P_l$ is the product of the factors of $l$ layers; that of no factors is $I$",
    ),
    Given(
        forall(l, forall([a, b], equal(Ps[l + 1, a, b], with_factor(at(Js, l), at(Ps, l))(a, b)))),
        r"the factor that the note gives for a layer: $P_{l+1} = (I + J_l)\,P_l$",
    ),
)
#: The product of the Jacobians on a path, for all paths through any number of blocks.
PATHS = both(
    forall([a, b], equal(Rs[0, 0, a, b], one(a, b))),
    forall([l, s], forall([a, b], equal(Rs[l + 1, 2 * s, a, b], Rs[l, s, a, b]))),
    forall([l, s], forall([a, b], equal(
        Rs[l + 1, 2 * s + 1, a, b], total(times(Js[l, a, c], Rs[l, s, c, b]), c)
    ))),
)  # fmt: skip


def number_of(layers: Any) -> Any:
    return power(2, layers)


def all_paths(layers: Any, i: Any = a, j: Any = b) -> Any:
    """The sum over the numbers of all paths."""
    path = index("S", number_of(layers))
    return total(Rs[layers, path, i, j], path)


path = index("S", number_of(l))


SUM = forall([a, b], equal(Ps[L, a, b], all_paths(L)))
DIRECT = forall([a, b], equal(Rs[L, 0, a, b], one(a, b)))
STATEMENT = implies(PATHS, both(SUM, DIRECT))


def prove_paths(p: Prover) -> Theorem:
    return p.suppose(
        STATEMENT.args[0], lambda paths: _sum_over_paths(p, paths),
        r"let $R_{lk}$ be the product along the path with the number $k$ through $l$ blocks: "
        "the number of a path that goes on past a branch gets the digit 0 put behind it, through "
        "it the digit 1",
    )  # fmt: skip


def _sum_over_paths(p: Prover, paths: Theorem) -> Theorem:
    start, following = (p.hyp(k) for k in range(2))
    none, past, through = (p.part(paths, k) for k in range(3))
    claim = p.formula(both(
        IsInteger(number_of(l)), forall([a, b], equal(Ps[l, a, b], all_paths(l))),
        forall([a, b], equal(Rs[l, 0, a, b], one(a, b))),
    ))  # fmt: skip
    layer = p.term(l)

    def proved(goal: Term, *using: Any) -> Theorem:
        return p.for_all(p.equal(*_entry(p, goal).children, *using, show=False), a, b)

    whole, added, direct = T.substitute(claim, {layer: T.ZERO}).children
    base = p.both(
        p.trivial(whole),
        proved(added, (1, p.at(start, a, b)), (-1, p.at(none, a, b))),
        proved(direct, (1, p.at(none, a, b))),
    )  # fmt: skip
    with p.supposing(claim) as case:
        integer, earlier, straight = (p.part(case, k) for k in range(3))
        whole, added, direct = T.substitute(claim, {layer: T.add(layer, T.ONE)}).children
        halves = _by_last_digit(p, _entry(p, added).children[1], integer)
        digits = [p.sum_equal(p.at(law, l, path, a, b), path) for law in (past, through)]
        inner = p.sum_equal(
            p.equal(times(Js[l, a, c], Ps[l, c, b]), times(Js[l, a, c], all_paths(l, c, b)),
                    (Js[l, a, c], p.at(earlier, c, b)), show=False), c,
        )  # fmt: skip
        p.note(halves, "the last digit is 0 or 1")
        step = p.both(
            p.trivial(whole, integer),
            proved(
                added, (1, p.at(following, l, a, b)), (1, p.at(earlier, a, b)), (1, inner),
                (-1, halves), *((-1, digit) for digit in digits),
            ),
            proved(direct, (1, p.at(past, l, 0, a, b)), (1, p.at(straight, a, b))),
        )  # fmt: skip
    every = p.induction(base, p.discharge(step, case), l)
    found = p.at(every, L)
    return p.both(
        p.note(p.part(found, 1), "by induction: every path is continued past and through"),
        p.note(p.part(found, 2), "and the path with the number 0 is always continued past"),
    )


def _entry(p: Prover, goal: Term) -> Term:
    for index_of in (a, b):
        goal = T.instantiate(goal.children[-1], (p.term(index_of),))
    return goal


def _by_last_digit(p: Prover, paths: Term, integer: Theorem) -> Theorem:
    """The sum over twice as many paths, as a sum over their last digit and all others."""
    size, two = p.term(number_of(l)), T.num(2)
    blocks = infer("block-sum", [integer], size, two, paths.children[1])
    resized = p.equal(paths.children[0], T.mul(size, two), show=False)
    same = p.equal(paths, paths, show=False)
    moved = p.rewrite(resized, same, lambda n: T.eq(paths, T.total(n, paths.children[1])))
    return p.linked(moved, blocks)


def twin_paths(rng: np.random.Generator, skipped: int | None = None) -> Iterator[Trial]:
    """Products of chosen factors, one for every path; `skipped` leaves a path out."""
    for layers, width in ((0, 2), (1, 3), (4, 3), (8, 2)):
        jacobians = rng.standard_normal((layers, width, width)) / 4
        whole = np.eye(width)
        for jacobian in jacobians:
            whole = (np.eye(width) + jacobian) @ whole
        paths = []
        for taken in product((False, True), repeat=layers):
            path = np.eye(width)
            for jacobian, through in zip(jacobians, taken, strict=True):
                path = jacobian @ path if through else path
            paths.append(path)
        yield agree(len(paths), 2**layers, f"number of paths through {layers} layers")
        yield agree(paths[0], np.eye(width), f"the path past {layers} branches")
        kept = [path for k, path in enumerate(paths) if k != skipped]
        yield agree(sum(kept, np.zeros_like(whole)), whole, f"the sum, {layers} layers")


def path_mutations() -> tuple[Mutation, ...]:
    number, i, j = (T.bound(k) for k in (2, 1, 0))  # branches that pass nothing on
    idle = {
        d: 1, L: 1, Js: T.Lam(3, T.ZERO), Ps: T.Lam(3, T.delta(i, j)),
        Rs: T.Lam(4, T.mul(T.delta(number, T.ZERO), T.delta(i, j))),
    }  # fmt: skip
    twice = plus(all_paths(L), Rs[L, 0, a, b])
    return (
        Mutation(
            "the path past all branches is counted beside all paths",
            statement=implies(PATHS, forall([a, b], equal(Ps[L, a, b], twice))),
            counterexample=Example(idle),
        ),
        Mutation(
            "a path is left out",
            twin=Twin("sums without one path", lambda rng: twin_paths(rng, skipped=0)),
        ),
    )


PATHS_ADDED = Claim(
    id="residual/paths",
    title="The gradient takes $2^L$ paths, of which one passes all branches by",
    source=Source(
        DERIVATIONS, ("A30",),
        r"Along the $+1$ path the gradient reaches earlier layers directly. Beyond the note: which "
        r"other paths there are through $L$ blocks, and how many.",
    ),
    statement=STATEMENT,
    given=PRODUCT,
    proof=prove_paths,
    twin=Twin("products of factors against sums over all paths, one by one", twin_paths),
    mutations=path_mutations,
    expected=Verdict.PROVED,
    remark=r"$\prod_l (I + J_l) = \sum_S \prod_{l \in S} J_l$, over all subsets $S$ of the layers. "
    r"Only one of the $2^L$ terms is $I$, and the others may cancel it.",
)  # fmt: skip

CLAIMS = (PATHS_ADDED,)

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
