r"""When the sum of several heads is linear in the input.

The interview note says that the output of attention is linear.  One head is not, unless it is
degenerate; several heads can cancel what is not linear in them: heads with the same scores are one
head with the sum of their value maps, and if that sum is 0, nothing of them is left.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from derive.claim import Claim, Example, Mutation, Notation
from derive.claims import INTERVIEW
from derive.claims._softmax import i, k, m, softmax, under
from derive.claims.attention_average import (
    LOG_2,
    SELF,
    X,
    Y,
    Z,
    as_mean,
    c,
    d,
    d_v,
    f,
    h,
    of_itself,
    of_x,
    of_y,
    of_z,
    one_factor,
    other_factor,
)
from derive.claims.attention_average import NOTATION as ONE_HEAD
from derive.claims.attention_average import combined as linear
from derive.kernel.rules import Theorem
from derive.language import (
    dims,
    either,
    equal,
    forall,
    implies,
    index,
    plus,
    tensor,
    times,
    total,
)
from derive.prover import Prover
from derive.result import Source, Verdict
from derive.twin import Trial, Twin, differs
from derive.twin import equal as agree

ORDER = 54
TOPIC = "attention-average"

groups, members = dims("q r")
s, j = index("i", groups), index("j", members)
#: The heads of group i all have the form B_i; head j of it has the value map C_ij.
B = tensor("B", groups, d, d)
C = tensor("C", groups, members, d, d_v)

# ---------------------------------------------------------------------- groups of heads


def scores(tokens: Any, group: Any) -> Callable[[Any], Any]:
    """What token k makes of the others in the heads of a group."""
    return lambda u: total(times(tokens[k, f], B[group, f, h], tokens[u, h]), f, h)


def head(tokens: Any) -> Any:
    """Entry (k, c) of the output of head j of group s."""
    value = total(times(tokens[i, f], C[s, j, f, c]), f)
    return total(times(softmax(scores(tokens, s), i), value), i)


def summed_map(group: Any) -> Any:
    return total(C[group, j, f, c], j)


def group_output(tokens: Any) -> Any:
    """Entry (k, c) of what the heads of group s give together."""
    value = total(times(tokens[i, f], total(C[s, j, f, c], j)), f)
    return total(times(softmax(scores(tokens, s), i), value), i)


def attends(output: Any, tokens: Any, name: str) -> Notation:
    return Notation(
        forall([k, c], equal(output[k, c], total(head(tokens), s, j))),
        f"${output.label}$ is the output of all heads for ${name}$",
    )


NOTATION = (
    ONE_HEAD[0], attends(of_x, X, "X"), attends(of_y, Y, "Y"), attends(of_z, Z, "Z"),
)  # fmt: skip
silent = forall([f, h], equal(B[s, f, h], 0))
cancelled = forall([f, c], equal(summed_map(s), 0))
CANCEL = forall(s, either(silent, cancelled))


def prove_cancel(p: Prover) -> Theorem:
    def then(every: Theorem) -> Theorem:
        wholes = [_by_groups(p, n, x) for n, x in ((1, X), (2, Y), (3, Z))]
        p.note(
            wholes[0], "heads of a group have the same weights, so their value maps add up; so "
            "do those for $Y$ and $Z$",
        )  # fmt: skip
        each = p.cases(p.at(every, s), lambda c: _silent(p, c), lambda c: _cancelled(p, c))
        p.note(
            each, "so every group is linear: without scores it takes the mean, without a map it "
            "gives 0",
        )  # fmt: skip
        outputs = [p.at(p.hyp(n), k, c) for n in (1, 2, 3)]
        same = p.equal(
            of_z[k, c], plus(times(one_factor, of_x[k, c]), times(other_factor, of_y[k, c])),
            *((x, t) for x, t in zip((times(-1, one_factor), times(-1, other_factor), 1), outputs,
                                     strict=True)),
            *((x, t) for x, t in zip((times(-1, one_factor), times(-1, other_factor), 1), wholes,
                                     strict=True)),
            (1, p.sum_equal(each, s)),
            reason="and so is the sum of all groups",
        )  # fmt: skip
        return p.for_all(same, k, c)

    return under(p, CANCEL, ["let the scores of every group be 0, or the sum of its maps"], then)


def _by_groups(p: Prover, n: int, tokens: Any) -> Theorem:
    """The output of all heads is the sum of the groups'."""
    return p.equal(total(head(tokens), s, j), total(group_output(tokens), s), show=False)


def _linear(x: Any, y: Any, z: Any) -> tuple[Any, Any]:
    return z, plus(times(one_factor, x), times(other_factor, y))


def _cancelled(p: Prover, zero: Theorem) -> Theorem:
    nothing = [p.equal(group_output(x), 0, zero, show=False) for x in (X, Y, Z)]
    return p.equal(*_linear(*map(group_output, (X, Y, Z))), *nothing, show=False)


def _silent(p: Prover, zero: Theorem) -> Theorem:
    means = [as_mean(p, p.term(group_output(x)), zero) for x in (X, Y, Z)]
    return p.equal(*_linear(*map(group_output, (X, Y, Z))), *means, p.hyp(0), show=False)


# ---------------------------------------------------------------------- twin and mistakes


def drawn_heads(rng: np.random.Generator, silent_group: bool, cancelling: bool) -> list[Any]:
    """Weights of the heads of three groups with two or three members, as (W^Q, W^K, map)."""
    width, inner, columns = 5, 3, 4
    heads = []
    for group, size in enumerate((2, 3, 2)):
        to_query, to_key = rng.standard_normal((2, width, inner))
        if group == 1 and silent_group:
            to_query[:, 1:], to_key[:, 0] = 0, 0
        maps = rng.standard_normal((size, width, columns))
        if not (group == 1 and silent_group) and cancelling:
            maps[-1] = -maps[:-1].sum(axis=0)
        heads += [(to_query, to_key, value_map) for value_map in maps]
    return heads


def twin_cancel(
    rng: np.random.Generator, silent_group: bool = True, cancelling: bool = True
) -> list[Trial]:
    """A combination of two inputs to all heads."""
    trials = []
    for size in (1, 2, 4):
        heads = drawn_heads(rng, silent_group, cancelling)
        one, other = rng.standard_normal((2, size, 5))
        first, second = rng.uniform(1, 2, 2)

        def whole(tokens: Any, heads: list[Any] = heads) -> Any:
            return sum(of_itself(tokens, *weights) for weights in heads)

        found = whole(first * one + second * other)
        apart = first * whole(one) + second * whole(other)
        trials.append(agree(found, apart, f"m={size}"))
        if size > 1:
            others = drawn_heads(rng, False, False)
            bent = whole(first * one + second * other, others)
            straight = first * whole(one, others) + second * whole(other, others)
            trials.append(differs(bent, straight, by=1e-6, what=f"any heads, m={size}"))
    return trials


def cancel_mutations() -> tuple[Mutation, ...]:
    altogether = forall([f, c], equal(total(C[s, j, f, c], s, j), 0))

    def together(rng: np.random.Generator) -> list[Trial]:
        one, other = rng.standard_normal((2, 4, 5))
        heads = drawn_heads(rng, False, False)
        rest = sum(value_map for *_, value_map in heads[:-1])
        heads[-1] = (*heads[-1][:2], -rest)

        def whole(tokens: Any) -> Any:
            return sum(of_itself(tokens, *weights) for weights in heads)

        return [agree(whole(one + other), whole(one) + whole(other), "all maps sum to 0")]

    return (
        Mutation(
            "it is enough that the maps of all heads sum to 0, whatever the scores are",
            statement=implies(altogether, linear),
            counterexample=Example({
                m: 2, d: 1, d_v: 1, groups: 2, members: 1, B: [[[LOG_2]], [[0]]],
                C: [[[[1]]], [[[-1]]]], X: [[0], [1]], Y: [[0], [0]], one_factor: 2,
                other_factor: 0,
            }),
            twin=Twin("sums of inputs to heads whose maps sum to 0", together),
        ),
    )  # fmt: skip


SEVERAL = Claim(
    id="attention-average/several-heads",
    title="Heads that cancel are linear together",
    source=Source(
        INTERVIEW, ("B19",),
        f"{SELF} Beyond the note: several heads, of which those with the same "
        r"$B = W^Q(W^K)^\top/\sqrt{d_k}$ make a group; head $j$ of group $i$ has the map "
        r"$C_{ij} = W^V W^O$.",
    ),
    statement=implies(CANCEL, linear),
    given=NOTATION,
    proof=prove_cancel,
    twin=Twin("NumPy heads of three groups, of combined inputs", twin_cancel),
    mutations=cancel_mutations,
    expected=Verdict.PROVED,
    remark="With three tokens or more nothing else is linear: `attention-average/all-heads`. With "
    "two tokens opposite heads cancel, too: `head-patterns/two-opposite-heads-cancel`.",
)  # fmt: skip

CLAIMS = (SEVERAL,)

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
