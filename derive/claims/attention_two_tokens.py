r"""Two heads whose sum is linear in an input of two tokens: opposite scores are possible, too.

Beyond the interview note, which calls the output of attention linear.  For two tokens a weight less
one half is an odd function of the difference of two scores, so that opposite scores with equal
values make up for each other.  There is no third way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import sympy as sp

from derive.claim import Claim, Mutation
from derive.claims import INTERVIEW
from derive.claims._softmax import itself, m
from derive.claims.attention_average import SELF, bumped_output, c, of_itself
from derive.claims.attention_two_heads import (
    ADDITIVE,
    at_tokens,
    cleared_law,
    divided,
    exp_apart,
    factor,
    mixed_at,
    score,
    u,
    value,
    y,
)
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.language import (
    both,
    either,
    equal,
    forall,
    implies,
    less,
    minus,
    plus,
    power,
    real,
    times,
)
from derive.prover import Prover
from derive.result import Source, Verdict
from derive.twin import Trial, Twin
from derive.twin import at_most as no_more
from derive.twin import equal as agree

ORDER = 54
TOPIC = "attention-average"

Pair = Sequence[Any]


def criterion(l: Pair, v: Pair) -> Any:
    """What has to hold of the scores and the values of both heads."""
    turned = equal(l[0], times(-1, l[1]))
    return both(
        *(either(equal(v[k], 0), equal(l[k], 0), equal(*l), turned) for k in (0, 1)),
        implies(equal(*l), either(equal(l[0], 0), equal(plus(*v), 0))),
        implies(turned, either(equal(l[0], 0), equal(minus(*v), 0))),
    )


def numerator(l: Pair, v: Pair, times_u: int) -> Any:
    """What both heads add to the mean, on one denominator."""
    a, b = (power(sp.exp(x), times_u) for x in l)
    return plus(times(v[0], minus(a, 1), plus(b, 1)), times(v[1], minus(b, 1), plus(a, 1)))


STATEMENT = implies(both(equal(m, 2), ADDITIVE), forall([u, y], forall(c, criterion(score, value))))
L, V = (real("l"), real("l'")), (real("v"), real("v'"))
one, two = (sp.exp(x) for x in L)
NUMBERS = criterion(L, V)


def prove_two_tokens(p: Prover) -> Theorem:
    def then(case: Theorem) -> Theorem:
        pair = p.note(p.part(case, 0), "let there be two tokens")
        several = p.order(less(1, m), (1, pair))
        every = p.for_all(at_tokens(p, p.part(case, 1), bumped_output(p)), factor)
        cleared = cleared_law(p, several)
        law = numbers_law(p)
        equations = []
        for n, reason in (
            (1, "take $u$ for one token and $u-y$ for the other, as a sum of $u$ for both and of 0 "
                "and $-y$; what additivity says of the first, on one denominator"),
            (2, "the same for $2u$, which squares the exponentials"),
        ):  # fmt: skip
            found = mixed_at(p, every, cleared, n)
            gaps = (
                times(v, minus(power(sp.exp(x), n), 1)) for x, v in zip(score, value, strict=True)
            )
            equations.append(p.equal(
                numerator(score, value, n), 0, (1, found), (times(-1, plus(*gaps)), pair),
                reason=reason,
            ))  # fmt: skip
        theorem = p.for_all(p.mp(p.at(law, *score, *value), p.both(*equations)), c)
        for x in (y, u):
            theorem = p.for_all_tensors(theorem, x)
        return theorem

    return p.suppose(STATEMENT.args[0], then, "let the sum of two heads be additive")


def numbers_law(p: Prover) -> Theorem:
    """For all l, l', v, v': `criterion`, if the numerators are 0 for them and for 2 l and 2 l'."""
    with p.supposing(both(*(equal(numerator(L, V, n), 0) for n in (1, 2)))) as case:
        p.note(case, "let two scores $l$, $l'$ and their values $v$, $v'$ meet two equations")
        equations = [p.part(case, k) for k in (0, 1)]
        found = p.both(
            *(_one_head(p, _eliminated(p, equations, k), k) for k in (0, 1)),
            p.suppose(
                equal(*L), lambda same: _together(p, equations[0], same, 1), "if the scores agree"
            ),
            p.suppose(
                NUMBERS.args[3].args[0], lambda turned: _together(p, equations[0], turned, -1),
                "if they are opposite",
            ),
        )  # fmt: skip
    found = p.note(
        p.discharge(found, case),
        "so it is for any two scores and values for which both equations hold",
    )
    return p.for_all(found, *L, *V)


def _eliminated(p: Prover, equations: list[Theorem], number: int) -> Theorem:
    """v (a - 1) (a - b) (1/b - a) = 0, without the value of the other head."""
    a, b = (one, two) if number == 0 else (two, one)
    turned = sp.exp(times(-1, L[1 - number]))
    scale = times(sp.Rational(1, 2), turned)
    return p.equal(
        times(V[number], minus(a, 1), minus(a, b), minus(turned, a)), 0,
        (times(scale, plus(a, 1)), equations[1]),
        (times(-1, scale, plus(b, 1), plus(power(a, 2), 1)), equations[0]),
        reason="eliminate the value of the other head from both equations",
    )  # fmt: skip


def _one_head(p: Prover, product: Theorem, number: int) -> Theorem:
    """One of the factors is 0; each case that is excluded takes one of them away."""
    goal = p.formula(NUMBERS.args[number])
    a, b = (one, two) if number == 0 else (two, one)
    turned, back = sp.exp(times(-1, L[1 - number])), sp.exp(minus(*L))
    against = times(-1, L[1])
    #: the place of a case, the factor that is not 0 without it, and how to write the rest by it
    excluded = (
        (1, minus(a, 1), (L[number], 0), 1),
        (2, minus(one, two), L, 1 if number == 0 else -1),
        (3, minus(one, sp.exp(against)), (L[0], against), times(-1, 1 if number == 0 else back)),
    )
    rests = (
        times(V[number], minus(a, b), minus(turned, a)), times(V[number], minus(turned, a)),
        V[number],
    )  # fmt: skip

    def without(k: int, known: Theorem) -> Theorem:
        if k == len(excluded):
            return infer("disjunct", [known], goal, 0)
        place, by, (first, second), ratio = excluded[k]

        def apart(case: Theorem) -> Theorem:
            whole = p.equal(times(by, rests[k]), 0, (ratio, known), show=False)
            nonzero = exp_apart(p, first, second, case)
            return without(k + 1, divided(p, by, nonzero, whole, rests[k]))

        here = goal.children[place]
        return p.cases(
            infer("excluded-middle", [], here),
            lambda zero: infer("disjunct", [zero], goal, place), apart,
        )  # fmt: skip

    return p.note(without(0, product), "one of the factors is 0")


def _together(p: Prover, equation: Theorem, related: Theorem, sign: int) -> Theorem:
    """l = 0, or v + v' = 0 (for l = l') or v - v' = 0 (for l = -l')."""
    both_values = plus(*V) if sign == 1 else minus(*V)
    goal = p.formula(NUMBERS.args[2 if sign == 1 else 3].args[1])
    a = p.term(one)
    powers = p.rewrite(related, itself(p, a), lambda x: T.eq(a, T.fn("exp", x)))
    gap = minus(one, 1)
    mixed = plus(times(V[0], gap), times(V[1], plus(one, 1)))
    uses = ((1, equation), (mixed, powers))
    if sign == -1:
        uses = ((one, equation), (times(-1, two, mixed), powers))
    whole = p.equal(times(gap, plus(one, 1), both_values), 0, *uses, show=False)

    def scored(no_score: Theorem) -> Theorem:
        own = exp_apart(p, L[0], 0, no_score)
        rest = times(plus(one, 1), both_values)
        left = divided(p, gap, own, p.equal(times(gap, rest), 0, (1, whole), show=False), rest)
        wide = p.order(less(0, plus(one, 1)), (1, p.trivial(less(0, one))))
        return infer("disjunct", [divided(p, plus(one, 1), wide, left, both_values)], goal, 1)

    return p.cases(
        infer("excluded-middle", [], p.formula(equal(L[0], 0))),
        lambda none: infer("disjunct", [none], goal, 0), scored,
    )  # fmt: skip


# ---------------------------------------------------------------------- twin and mistakes


def twin_two_tokens(
    rng: np.random.Generator, ways: tuple[tuple[float, float], ...] = ((1, -1), (-1, 1))
) -> Iterator[Trial]:
    """Two heads of two tokens; `ways` are factors of scores and values of the second head."""
    one, other = rng.standard_normal((2, 2, 5))
    to_query, to_key = rng.standard_normal((2, 5, 3))
    value_map = rng.standard_normal((5, 2))

    def gap(scores: float, values: float) -> Any:
        def whole(tokens: Any) -> Any:
            return of_itself(tokens, to_query, to_key, value_map) + of_itself(
                tokens, scores * to_query, to_key, values * value_map
            )

        return whole(one + other) - whole(one) - whole(other)

    for scores, values in ways:
        yield agree(gap(scores, values), np.zeros((2, 2)), f"scores {scores}, values {values}")
    for scores, values in ((1, 2), (-1, -2), (2, -1), (-0.5, 1), (0, 1)):
        least = float(np.abs(gap(scores, values)).max())
        yield no_more(1e-6, least, f"not additive: scores {scores}, values {values}")


def two_token_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "opposite scores need opposite values",
            twin=Twin(
                "two heads with opposite scores and opposite values",
                lambda rng: twin_two_tokens(rng, ((-1, -1),)),
            ),
        ),
        Mutation(
            "the same scores need the same values",
            twin=Twin(
                "two heads with the same scores and values",
                lambda rng: twin_two_tokens(rng, ((1, 1),)),
            ),
        ),
    )


TWO_TOKENS = Claim(
    id="attention-average/two-tokens",
    title="Two heads that are linear together, for two tokens",
    source=Source(
        INTERVIEW, ("B19",),
        f"{SELF} Beyond the note: two heads, with $B$ and $B'$ for "
        "$W^Q(W^K)^\\top/\\sqrt{d_k}$ and with $W$ and $W'$ for $W^V W^O$, and what has to hold "
        "for two tokens if their sum is additive.",
    ),
    statement=STATEMENT,
    proof=prove_two_tokens,
    twin=Twin("sums of inputs of two tokens to two NumPy heads", twin_two_tokens),
    mutations=two_token_mutations,
    expected=Verdict.PROVED,
    remark="So there are three ways for vectors in general position: degenerate heads, the same "
    "scores with opposite values, and opposite scores with the same values. The last ones are "
    "additive, too: `head-patterns/two-opposite-heads-cancel`.",
)  # fmt: skip

CLAIMS = (TWO_TOKENS,)

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
