r"""Two opposite heads with equal values: with which numbers of keys they cancel.

The interview note says that heads may give the same pair of words different, even opposite
weights.  The sum of two such heads is an average without weights if there are two keys; with more
keys the note's opposite heads do not cancel, and the sum of both depends on the query.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import sympy as sp

from derive.claim import Claim, Example, Mutation
from derive.claims import INTERVIEW
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.language import (
    at_most,
    dim,
    either,
    equal,
    iff,
    implies,
    less,
    minus,
    over,
    plus,
    power,
    real,
    times,
)
from derive.prover import Prover
from derive.result import Source, Verdict
from derive.twin import Trial, Twin
from derive.twin import equal as agree

ORDER = 18
TOPIC = "head-patterns"

m, x = dim("m"), real("x")
up, down = sp.exp(x), sp.exp(times(-1, x))
above, below = plus(up, m, -1), plus(down, m, -1)
#: The weight of a key with the score x in the one head, and -x in the other; other scores are 0.
both_weights = plus(over(up, above), over(down, below))
even = equal(both_weights, over(2, m))
STATEMENT = iff(even, either(at_most(m, 2), equal(x, 0)))


def prove_cancel_iff(p: Prover) -> Theorem:
    room = p.trivial(at_most(1, m))
    once = [p.cancel(t, p.order(less(0, t), (1, room))) for t in (above, below)]
    rest = times(minus(m, 1), minus(m, 2), power(minus(up, 1), 2))
    scale = times(m, above, below, up)
    excess = minus(both_weights, over(2, m))
    cleared = p.equal(
        times(scale, excess), rest, (times(m, below, power(up, 2)), once[0]),
        (times(m, above), once[1]),
        reason="multiply by $m$, both sums of exponentials, and $e^x$",
    )  # fmt: skip
    there = p.suppose(even, lambda same: _degenerate(p, same, cleared, rest, scale))

    def back(cases: Theorem) -> Theorem:
        none = p.cases(
            cases, lambda few: _few_keys(p, few, rest), lambda zero: _no_score(p, zero, rest)
        )
        p.note(none, "in each case one factor is 0")
        over_all = times(power(m, -1), power(above, -1), power(below, -1), down)
        return p.equal(
            both_weights, over(2, m), (over_all, cleared), (over_all, none),
            (times(-1, excess, power(above, -1), above), once[1]), (times(-1, excess), once[0]),
            reason="divide again",
        )  # fmt: skip

    return p.both(there, p.suppose(STATEMENT.args[1].args[0], back, "conversely, suppose one"))


def _degenerate(p: Prover, same: Theorem, cleared: Theorem, rest: Any, scale: Any) -> Theorem:
    """m <= 2 or x = 0, where both weights make up 2/m."""
    none = p.equal(rest, 0, (-1, cleared), (scale, same), reason="one of the factors is 0")
    goal = p.formula(STATEMENT.args[0].args[1])

    def several(many: Theorem) -> Theorem:
        later = p.order(less(1, m), (1, many))

        def wrong(apart: Theorem) -> Theorem:
            positive = p.order(less(0, rest), (1, later, many, apart, apart))
            bad = p.order(T.lt(T.ZERO, T.ZERO), (1, positive), (-1, none))
            return infer("contradiction", [bad, p.trivial(T.negate(bad.conclusion))], goal)

        def not_above(low: Theorem) -> Theorem:
            def equal_to(high: Theorem) -> Theorem:
                zero = infer("antisymmetry", [low, high])
                return infer("disjunct", [zero], goal, 1)

            return p.cases(
                p.dichotomy(0, x), equal_to,
                lambda under: wrong(p.mp(p.axiom("exp-increasing", x, 0), under)),
            )  # fmt: skip

        return p.cases(
            p.dichotomy(x, 0), not_above,
            lambda more: wrong(p.mp(p.axiom("exp-increasing", 0, x), more)),
        )  # fmt: skip

    return p.cases(p.dichotomy(m, 2), lambda few: infer("disjunct", [few], goal, 0), several)


def _few_keys(p: Prover, few: Theorem, rest: Any) -> Theorem:
    """The product of the factors is 0 for m <= 2."""

    def one(low: Theorem) -> Theorem:
        same = infer("antisymmetry", [low, p.trivial(at_most(1, m))])
        return p.equal(rest, 0, (times(minus(m, 2), power(minus(up, 1), 2)), same), show=False)

    def two(more: Theorem) -> Theorem:
        reached = p.order(at_most(2, m), (1, p.next_integer(more)))
        same = infer("antisymmetry", [few, reached])
        return p.equal(rest, 0, (times(minus(m, 1), power(minus(up, 1), 2)), same), show=False)

    return p.cases(p.dichotomy(m, 1), one, two)


def _no_score(p: Prover, zero: Theorem, rest: Any) -> Theorem:
    """It is 0 for x = 0, where e^x = 1."""
    back = p.equal(0, x, (-1, zero), show=False)
    one = p.rewrite(back, p.trivial(T.eq(T.fn("exp", T.ZERO), T.ONE)),
                    lambda e: T.eq(T.fn("exp", e), T.ONE))  # fmt: skip
    cofactor = times(minus(m, 1), minus(m, 2), minus(up, 1))
    return p.equal(rest, 0, (cofactor, one), show=False)


def twin_cancel(rng: np.random.Generator, most: int = 2) -> Iterator[Trial]:
    """Sums of both heads for values that tell keys apart; `most` keys are said to cancel."""
    from numeric import scaled_dot_product_attention

    for keys in (1, 2, 3, 7):
        query, score = rng.standard_normal((1, 4)), float(rng.uniform(0.5, 2))
        scores = np.zeros((keys, 4))
        scores[0] = query[0] * 2 * score / (query @ query.T)  # divided by the root of 4
        one, other = (
            scaled_dot_product_attention(sign * query, scores, np.eye(keys))[0, 0]
            for sign in (1, -1)
        )
        top = np.exp(score)
        claimed = top / (top + keys - 1) + 1 / (1 + top * (keys - 1))
        yield agree(one + other, claimed, f"both weights of one key, {keys} keys")
        cancels = bool(abs(one + other - 2 / keys) < 1e-9)
        yield agree(cancels, keys <= most, f"whether they cancel, {keys} keys")


def cancel_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "opposite heads cancel with any number of keys",
            statement=even,
            counterexample=Example({m: 3, x: sp.log(2)}),
            twin=Twin(
                "whether opposite heads cancel with three keys and more",
                lambda rng: twin_cancel(rng, most=7),
            ),
        ),
        Mutation(
            "they cancel with three keys, too",
            statement=implies(at_most(m, 3), even),
            counterexample=Example({m: 3, x: sp.log(2)}),
        ),
        Mutation(
            "the weights of one key sum to 1, whatever the number of keys",
            statement=equal(both_weights, 1),
            counterexample=Example({m: 3, x: 0}),
        ),
    )


CANCEL_IFF = Claim(
    id="head-patterns/opposite-heads-cancel-iff",
    title="Opposite heads with equal values cancel with two keys, and not with more",
    source=Source(
        INTERVIEW, ("B10", "B19"),
        "If two heads learned quite different patterns, they may give the same pair of words "
        "different weights, even exactly opposite relations. Beyond the note: one key has the "
        "score $x$ in one head and $-x$ in the other, all other scores are 0; when both weights of "
        "that key together are what they are without scores.",
    ),
    statement=STATEMENT,
    proof=prove_cancel_iff,
    twin=Twin("weights of both heads with one to seven keys", twin_cancel),
    mutations=cancel_mutations,
    expected=Verdict.PROVED,
    remark="So with three keys or more the sum of two opposite heads depends on the query, and is "
    "not linear in its input.",
)  # fmt: skip

CLAIMS = (CANCEL_IFF,)

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
