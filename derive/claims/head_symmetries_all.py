r"""Multi-head attention: what all heads do together tells what each of them does.

The derivations note stresses that every head has matrices of its own.  A layer is the sum of its
heads, so two layers could do the same with different heads.  With three tokens or more they
cannot: for every form ``W^Q (W^K)^T`` that occurs, the sum of the maps ``W^V W^O`` of the heads
that have it is the same in both.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from derive.claim import Claim, Example, Mutation
from derive.claims import DERIVATIONS
from derive.claims.attention_all_heads import (
    DIFFERENT,
    X,
    all_heads,
    by_evaluation,
    c,
    d,
    d_v,
    drawn_forms,
    f,
    group_map,
    k,
    m,
    of,
    of_itself,
    prove_all,
    silent,
)
from derive.claims.attention_several_heads import B, C, groups, members, s
from derive.claims.attention_several_heads import j as member
from derive.convert import Converter
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.kernel.terms import Lam, Term
from derive.language import both, either, equal, forall, implies, less, minus, tensor
from derive.prover import Prover
from derive.result import Source, Verdict
from derive.twin import Trial, Twin
from derive.twin import equal as agree

ORDER = 17
TOPIC = "head-symmetries"

D = tensor("D", groups, members, d, d_v)


def with_maps(e: Any) -> Any:
    """The same of the other layer, whose maps are D."""
    return e.xreplace({C: D})


SAME = forall(X, forall([k, c], equal(all_heads(of(X)), with_maps(all_heads(of(X))))))
maps_agree = forall([f, c], equal(group_map(s, f, c), with_maps(group_map(s, f, c))))
DETERMINED = forall(s, either(silent, maps_agree))
STATEMENT = implies(both(less(2, m), DIFFERENT, SAME), DETERMINED)


def additive_law() -> Theorem:
    """For all C: what `attention-average/all-heads` says."""
    own = Prover(Converter(), ())
    return own.for_all_tensors(prove_all(own), C)


def prove_determined(p: Prover) -> Theorem:
    gap = p.lam(minus(C[s, member, f, c], D[s, member, f, c]), s, member, f, c)
    law = p.at(additive_law(), gap)

    def then(case: Theorem) -> Theorem:
        several, different, same = (p.part(case, n) for n in range(3))
        needed = law.conclusion.children[0].children[2]
        additive = p.note(
            _additive(p, needed, same),
            "the heads with the maps $C - D$ give 0, which is additive",
        )
        left = p.at(p.mp(law, p.both(several, different, additive)), s)
        p.note(left, "so in every group all scores are 0, or its maps $C - D$ add up to 0")
        goal = p.formula(DETERMINED.args[1])
        found = p.cases(
            left,
            lambda zero: infer("disjunct", [zero], goal, 0),
            lambda none: infer("disjunct", [p.for_all(p.equal(
                group_map(s, f, c), with_maps(group_map(s, f, c)), (1, p.at(none, f, c)),
                show=False), f, c)], goal, 1),
        )  # fmt: skip
        return p.for_all(found, s)

    return p.suppose(STATEMENT.args[0], then, "let two layers with different forms do the same")


def _additive(p: Prover, goal: Term, same: Theorem) -> Theorem:
    """For all X, Y: 0 = 0 + 0, for the heads with the maps C - D."""
    x, y = ("_X", "_Y")
    inner = T.instantiate(T.instantiate(goal.children[-1], (x,)).children[-1], (y,))
    token, column = p.term(k), p.term(c)
    equation = T.instantiate(T.instantiate(inner.children[1], (token,)).children[1], (column,))
    places = (T.bound(1), T.bound(0))
    one, other = T.apply(x, *places), T.apply(y, *places)
    inputs = (Lam(2, T.add(one, other)), Lam(2, one), Lam(2, other))
    used = [p.at(same, at, k, c) for at in inputs]
    found = p.equal(
        *equation.children, *zip((1, -1, -1), used, strict=True), show=False
    )  # fmt: skip
    found = p.for_all(found, k, c)
    for name in (y, x):
        found = infer("generalise-tensor", [found], name, 2)
    return found


# ---------------------------------------------------------------------- twin and mistakes


def outputs(rng: np.random.Generator, size: int, forms: list[tuple[Any, Any]]) -> Any:
    """What each head makes of some inputs, without value maps: (samples * tokens, heads * 3)."""
    rows = []
    for _ in range(6):
        tokens = 2 * rng.standard_normal((size, 3))
        rows.append(np.concatenate([of_itself(tokens, *x, np.eye(3)) for x in forms], axis=1))
    return np.concatenate(rows)


def twin_determined(rng: np.random.Generator, size: int = 3) -> Iterator[Trial]:
    """The maps of heads with different scores, from the output of the layer."""
    forms = drawn_forms(rng)
    for tokens in (size, size + 2):
        heads = outputs(rng, tokens, forms)
        maps = rng.standard_normal((heads.shape[1], 2))
        found = np.linalg.lstsq(heads, heads @ maps, rcond=None)[0]
        yield agree(found, maps, f"the maps, from {tokens} tokens", tolerance=1e-8)


def determined_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "the maps of groups with the same scores are told apart, too",
            statement=implies(both(less(2, m), SAME), DETERMINED),
            counterexample=Example({
                m: 3, d: 1, d_v: 1, groups: 2, members: 1, B: [[[1]], [[1]]],
                C: [[[[1]]], [[[0]]]], D: [[[[0]]], [[[1]]]],
            }, lambda p, target: by_evaluation(p, target, ("X",))),
        ),
        Mutation(
            "one token is enough",
            twin=Twin(
                "maps of heads, from the output of the layer for one token",
                lambda rng: twin_determined(rng, 1),
            ),
        ),
    )  # fmt: skip


ALL_DETERMINED = Claim(
    id="head-symmetries/determined",
    title="What all heads do together determines their maps",
    source=Source(
        DERIVATIONS, ("A04",),
        "Every head has its own matrices. Beyond the note: two layers, whose heads have the maps "
        r"$C_{il}$ and $D_{il}$ for $W^V W^O$; heads of group $i$ have the form $B_i$ for "
        r"$W^Q (W^K)^\top/\sqrt{d_k}$, and where only one layer has that form, the map of the "
        "other is 0.",
    ),
    statement=STATEMENT,
    proof=prove_determined,
    twin=Twin("maps of NumPy heads, from the output of the layer", twin_determined),
    mutations=determined_mutations,
    expected=Verdict.PROVED,
    remark="So layers whose heads all have different forms, none of them 0, and maps that are not "
    "0, do the same only if they have the same products, in some order; and products leave their "
    "factors undetermined up to changes of basis: `head-symmetries/only-basis-changes`.",
)  # fmt: skip

CLAIMS = (ALL_DETERMINED,)

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
