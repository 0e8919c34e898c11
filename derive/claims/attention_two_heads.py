r"""Two heads whose sum is linear in the input: what has to hold of them.

Beyond the interview note, which calls the output of attention linear: with three tokens or more two
heads can only be linear together if, wherever a head has both scores and values, the other one has
the same scores and the opposite values.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import sympy as sp

from derive.claim import Claim, Mutation
from derive.claims import INTERVIEW
from derive.claims._softmax import delta, i, itself, j, k, m, put_in, softmax
from derive.claims.attention_average import (
    SELF,
    X,
    Y,
    as_bumps,
    bumped_output,
    c,
    d,
    d_v,
    f,
    h,
    of_itself,
)
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.kernel.terms import Term
from derive.language import (
    at_most,
    both,
    either,
    equal,
    forall,
    implies,
    less,
    minus,
    negation,
    over,
    plus,
    power,
    real,
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

forms = tensor("B", d, d), tensor("B'", d, d)
maps = tensor("W", d, d_v), tensor("W'", d, d_v)
u, y = tensor("u", d), tensor("y", d)


def head(tokens: Any, number: int) -> Any:
    """Entry (k, c) of one head."""
    form, value_map = forms[number], maps[number]
    scores = lambda e: total(times(tokens(k, f), form[f, h], tokens(e, h)), f, h)  # noqa: E731
    value = total(times(tokens(i, f), value_map[f, c]), f)
    return total(times(softmax(scores, i), value), i)


def both_heads(tokens: Any) -> Any:
    return plus(head(tokens, 0), head(tokens, 1))


def of(x: Any) -> Any:
    return lambda s, f: x[s, f]


ADDITIVE = forall(
    [X, Y],
    forall(
        [k, c],
        equal(
            both_heads(lambda s, f: plus(X[s, f], Y[s, f])),
            plus(both_heads(of(X)), both_heads(of(Y))),
        ),
    ),
)
score = [total(times(u[f], form[f, h], y[h]), f, h) for form in forms]
value = [total(times(y[f], value_map[f, c]), f) for value_map in maps]
CRITERION = both(
    either(equal(value[0], 0), equal(score[0], 0), equal(score[0], score[1])),
    either(equal(value[1], 0), equal(score[1], 0), equal(score[0], score[1])),
    implies(equal(score[0], score[1]), either(equal(score[0], 0), equal(plus(*value), 0))),
)
STATEMENT = implies(both(less(2, m), ADDITIVE), forall([u, y], forall(c, CRITERION)))


# ---------------------------------------------------------------------- what additivity says

factor = real("l")


def at_tokens(p: Prover, additive: Theorem, output: Theorem) -> Theorem:
    """Additivity for l u at all tokens, and -y at all but token k, with all sums written out."""
    same = times(factor, u[f])
    others = plus(times(-1, y[f]), times(delta(j, k), y[f]))
    equation = p.at(additive, p.lam(same, j, f), p.lam(others, j, f), k, c)
    left, right = equation.conclusion.children
    of_u = [total(times(factor, u[f], form[f, h], factor, u[h]), f, h) for form in forms]
    along = [total(times(u[f], value_map[f, c]), f) for value_map in maps]
    numbers = []
    for n in (0, 1):
        numbers.append((
            plus(of_u[n], times(-1, factor, score[n])), times(factor, score[n]),
            plus(times(factor, along[n]), times(-1, value[n])), value[n],
        ))  # fmt: skip
    for n in (0, 1):
        numbers.append((of_u[n], 0, times(factor, along[n]), 0))
    for n in (0, 1):
        numbers.append((0, 0, times(-1, value[n]), value[n]))
    for row, at in zip([*_rows(left), *_rows(right)], numbers, strict=True):
        equation = put_in(p, equation, as_bumps(p, row, *at), p.at(output, *at))
    return equation


def _rows(t: Term) -> Iterator[Term]:
    if t.op == "sum":
        yield t
    else:
        for child in t.children:
            yield from _rows(child)


# ---------------------------------------------------------------------- what follows for numbers

a, b, r, s = (real(name) for name in ("a", "b", "r", "w"))
rest = plus(m, -1)


def mixed(a: Any, b: Any, r: Any = r, s: Any = s) -> Any:
    """What the two heads add to the mean, on one denominator."""
    return plus(times(r, minus(a, 1), plus(b, rest)), times(s, minus(b, 1), plus(a, rest)))


def divided(p: Prover, by: Any, nonzero: Theorem, product: Theorem, rest: Any) -> Theorem:
    """rest = 0, from by * rest = 0."""
    inverse = p.cancel(by, nonzero)
    return p.equal(
        rest, 0, (power(by, -1), product), (times(-1, rest), inverse), show=False
    )  # fmt: skip


def cleared_law(p: Prover, several: Theorem) -> Theorem:
    """For all 0 < a, b: r a/(a+m-1) + s b/(b+m-1) = (r + s)/m -> mixed(a, b) = 0."""
    shares = equal(
        plus(times(r, over(a, plus(a, rest))), times(s, over(b, plus(b, rest)))),
        over(plus(r, s), m),
    )
    with p.supposing(both(less(0, a), less(0, b), shares)) as case:
        room = p.order(less(0, rest), (1, several))
        bottoms = plus(a, rest), plus(b, rest)
        cancels = [
            p.cancel(x, p.order(less(0, x), (1, p.part(case, n)), (1, room)))
            for n, x in enumerate(bottoms)
        ]
        scaled = p.equal(
            times(rest, mixed(a, b)), 0,
            (times(m, *bottoms), p.part(case, 2)),
            (times(-1, m, r, a, bottoms[1]), cancels[0]),
            (times(-1, m, s, b, bottoms[0]), cancels[1]), show=False,
        )  # fmt: skip
        found = divided(p, rest, room, scaled, mixed(a, b))
    return p.for_all(p.discharge(found, case), a, b, r, s)


def products_law(p: Prover, several: Theorem) -> Theorem:
    """For all 0 < a, b with mixed = 0 for them, their squares and their fourth powers:
    r (a - 1) (a - b) and s (b - 1) (a - b) are 0, where m is more than 2.
    """
    powers = [equal(mixed(power(a, n), power(b, n)), 0) for n in (1, 2, 4)]
    with p.supposing(both(less(0, a), less(0, b), *powers)) as case:
        parts = [p.part(case, n) for n in range(5)]
        first = times(r, minus(a, 1), minus(a, b))
        second = times(s, minus(b, 1), minus(a, b))
        across = [
            _eliminated(p, parts, several, first, minus(b, 1), (a, b)),
            _eliminated(p, parts, several, second, minus(a, 1), (b, a)),
        ]
        opposite = divided(
            p, m, p.order(less(0, m)),
            p.equal(
                times(m, plus(first, second)), 0, (minus(a, b), parts[2]), (-1, across[0]),
                (-1, across[1]), show=False,
            ),
            plus(first, second),
        )  # fmt: skip
        square = p.equal(
            power(first, 2), 0,
            (times(r, minus(a, 1), minus(a, 1)), opposite),
            (times(-1, r, minus(a, 1)), across[1]),
            (times(-1, r, minus(a, 1)), across[0]), show=False,
        )  # fmt: skip
        none = _root_of_zero(p, first, square)
        other = p.equal(second, 0, (1, opposite), (-1, none), show=False)
        found = p.both(none, other)
    return p.for_all(p.discharge(found, case), a, b, r, s)


def _eliminated(
    p: Prover, parts: list[Theorem], several: Theorem, product: Any, gap: Any, pair: tuple[Any, Any]
) -> Theorem:
    """product * gap = 0, from the equations for first, second and fourth powers."""
    one, two = pair
    whole = times(product, gap)
    sums = times(plus(a, 1), plus(b, 1), plus(a, b))
    wide = p.order(less(0, sums), *_products_of_sums(parts))
    at = []
    for n, (first, second) in ((1, parts[2:4]), (2, parts[3:5])):
        x, z = power(one, n), power(two, n)
        sign = 1 if pair == (a, b) else -1
        extra = sums if n == 2 else 1
        scaled = p.equal(
            times(m, minus(times(power(a, n), power(b, n)), rest), extra, whole), 0,
            (times(sign, minus(power(z, 2), 1), plus(power(x, 2), rest)), first),
            (times(-1, sign, minus(z, 1), plus(x, rest)), second), show=False,
        )  # fmt: skip
        scaled = divided(
            p, m, p.order(less(0, m)), scaled,
            times(minus(times(power(a, n), power(b, n)), rest), extra, whole),
        )  # fmt: skip
        at.append(scaled)
    squares = divided(
        p, sums, wide, at[1], times(minus(times(power(a, 2), power(b, 2)), rest), whole)
    )
    left = minus(power(rest, 2), rest)
    final = p.equal(
        times(left, whole), 0, (1, squares), (times(-1, plus(times(a, b), rest)), at[0]), show=False
    )
    above = p.order(less(0, left), (1, several, several), (1, several))
    return divided(p, left, above, final, whole)


def _products_of_sums(parts: list[Theorem]) -> list[tuple[Any, ...]]:
    """(a + 1)(b + 1)(a + b) as a sum of products of a and b."""
    x, z = parts[0], parts[1]
    return [(1, x, x, z), (1, x, z, z), (1, x, x), (1, z, z), (2, x, z), (1, x), (1, z)]


def _root_of_zero(p: Prover, x: Any, square: Theorem) -> Theorem:
    """x = 0, from x^2 = 0."""
    t = p.term(x)
    return p.cases(
        infer("excluded-middle", [], T.eq(t, T.ZERO)),
        lambda zero: zero,
        lambda nonzero: divided(p, x, nonzero, square, x),
    )


# ---------------------------------------------------------------------- what follows for the heads


def prove_two(p: Prover) -> Theorem:
    def then(case: Theorem) -> Theorem:
        several = p.note(p.part(case, 0), "let there be three tokens or more")
        output = bumped_output(p)
        every = p.for_all(at_tokens(p, p.part(case, 1), output), factor)
        cleared = p.note(
            cleared_law(p, several), "on one denominator, for any two positive numbers and factors"
        )
        law = p.note(
            products_law(p, several),
            "eliminate one factor from the first two equations, and from the last two: what is "
            "left is the other factor times three differences, times the product of the two "
            "numbers less $m-1$, or that of their squares less $m-1$; these are not both 0 for "
            "$m>2$",
        )
        powers = [sp.exp(x) for x in score]
        equations = [mixed_at(p, every, cleared, n) for n in (1, 2, 4)]
        p.note(
            equations[0], "take $u$ for one token and $u-y$ for all others, as a sum of $u$ for "
            "all tokens and of 0 and $-y$; what additivity says of the one token",
        )  # fmt: skip
        signs = [p.trivial(less(0, x)) for x in powers]
        products = p.mp(p.at(law, *powers, *value), p.both(*signs, *equations))
        p.note(products, "the same for $2u$ and $4u$, which squares the exponentials")
        found = p.both(
            _one_head(p, p.part(products, 0), 0), _one_head(p, p.part(products, 1), 1),
            p.suppose(equal(*score), lambda same: _same_scores(p, equations[0], same),
                      "if the scores agree"),
        )  # fmt: skip
        theorem = p.for_all(found, c)
        for x in (y, u):
            theorem = p.for_all_tensors(theorem, x)
        return theorem

    return p.suppose(both(less(2, m), ADDITIVE), then, "let the sum of two heads be additive")


def mixed_at(p: Prover, every: Theorem, cleared: Theorem, times_u: int) -> Theorem:
    """mixed = 0 for the powers of the exponentials of the scores."""
    at = p.at(every, times_u)
    scaled = [sp.exp(times(times_u, x)) for x in score]
    law = p.at(cleared, *scaled, *value)
    shares = law.conclusion.children[0].children[2]
    known = p.equal(*shares.children, (1, at), show=False)
    signs = [p.trivial(less(0, x)) for x in scaled]
    found = p.mp(law, p.both(*signs, known))
    powers = [power(sp.exp(x), times_u) for x in score]
    return p.equal(mixed(*powers, *value), 0, (1, found), show=False)


def _one_head(p: Prover, product: Theorem, number: int) -> Theorem:
    """v = 0, or x = 0, or both scores agree, from v (e^x - 1) (e^{x_1} - e^{x_2}) = 0."""
    goal = p.formula(CRITERION.args[number])

    def scored(no_score: Theorem) -> Theorem:
        def different(apart: Theorem) -> Theorem:
            own = exp_apart(p, score[number], 0, no_score)
            across = exp_apart(p, score[0], score[1], apart)
            powers = [sp.exp(x) for x in score]
            gap, between = minus(powers[number], 1), minus(*powers)
            rest_of = times(value[number], between)
            first = divided(p, gap, own, p.equal(times(gap, rest_of), 0, (1, product), show=False),
                            rest_of)  # fmt: skip
            second = divided(
                p, between, across,
                p.equal(times(between, value[number]), 0, (1, first), show=False), value[number],
            )  # fmt: skip
            return infer("disjunct", [second], goal, 0)

        return p.cases(
            infer("excluded-middle", [], p.formula(equal(*score))),
            lambda same: infer("disjunct", [same], goal, 2), different,
        )  # fmt: skip

    found = p.cases(
        infer("excluded-middle", [], p.formula(equal(score[number], 0))),
        lambda none: infer("disjunct", [none], goal, 1), scored,
    )  # fmt: skip
    return p.note(found, "one of the factors is 0")


def exp_apart(p: Prover, x: Any, z: Any, apart: Theorem) -> Theorem:
    """not e^x - e^z = 0, from not x = z; e^0 is written 1."""
    one, two = sp.exp(x), 1 if z == 0 else sp.exp(z)
    goal = p.formula(negation(equal(minus(one, two), 0)))

    def ordered(low: Any, high: Any, below: Theorem) -> Theorem:
        grows = p.mp(p.axiom("exp-increasing", low, high), below)
        return p.trivial(goal, grows)

    def not_above(upto: Theorem) -> Theorem:
        def same(reached: Theorem) -> Theorem:
            both_ways = infer("antisymmetry", [upto, reached])
            return infer("contradiction", [both_ways, apart], goal)

        return p.cases(p.dichotomy(z, x), same, lambda below: ordered(x, z, below))

    return p.cases(p.dichotomy(x, z), not_above, lambda below: ordered(z, x, below))


def _same_scores(p: Prover, equation: Theorem, same: Theorem) -> Theorem:
    """x = 0, or the values cancel."""
    goal = p.formula(CRITERION.args[2].args[1])
    one = p.term(sp.exp(score[0]))
    powers = p.rewrite(same, itself(p, one), lambda x: T.eq(one, T.fn("exp", x)))
    first = sp.exp(score[0])
    bottom = plus(first, rest)
    whole = p.equal(
        times(minus(first, 1), bottom, plus(*value)), 0, (1, equation),
        (plus(times(value[0], minus(first, 1)), times(value[1], bottom)), powers), show=False,
    )  # fmt: skip
    positive = p.order(
        less(0, bottom), (1, p.trivial(less(0, first))), (1, p.trivial(at_most(1, m)))
    )

    def scored(no_score: Theorem) -> Theorem:
        own = exp_apart(p, score[0], 0, no_score)
        rest_of = times(bottom, plus(*value))
        left = divided(p, minus(first, 1), own, p.equal(
            times(minus(first, 1), rest_of), 0, (1, whole), show=False), rest_of)  # fmt: skip
        cancel = divided(p, bottom, positive, left, plus(*value))
        return infer("disjunct", [cancel], goal, 1)

    return p.cases(
        infer("excluded-middle", [], p.formula(equal(score[0], 0))),
        lambda none: infer("disjunct", [none], goal, 0), scored,
    )  # fmt: skip


# ---------------------------------------------------------------------- twin and mistakes


def twin_two(rng: np.random.Generator, size: int = 4) -> Iterator[Trial]:
    """Sums of inputs to two heads: any two, and the two ways to be linear; two opposite ones."""
    one, other = rng.standard_normal((2, size, 5))
    to_query, to_key = rng.standard_normal((2, 5, 3))
    first, second = rng.standard_normal((2, 5, 2))

    def gap(*heads: Any) -> tuple[Any, Any]:
        def whole(tokens: Any) -> Any:
            return sum(of_itself(tokens, *weights) for weights in heads)

        return whole(one + other), whole(one) + whole(other)

    head_one = (to_query, to_key, first)
    yield agree(*gap(head_one, (to_query, to_key, -first)), "opposite values")
    yield agree(*gap((to_query, to_key, 0 * first), (0 * to_query, to_key, second)), "degenerate")
    yield differs(*gap(head_one, (to_query, to_key, second)), by=1e-6, what="other values")
    yield differs(*gap(head_one, (2 * to_query, to_key, -first)), by=1e-6, what="other scores")
    opposite = gap(head_one, (-to_query, to_key, first))
    yield differs(*opposite, by=1e-6, what=f"opposite scores, {size} tokens")
    pair = gap_of_two_tokens(rng)
    yield agree(*pair, "opposite scores, two tokens")


def gap_of_two_tokens(rng: np.random.Generator) -> tuple[Any, Any]:
    one, other = rng.standard_normal((2, 2, 5))
    to_query, to_key = rng.standard_normal((2, 5, 3))
    value_map = rng.standard_normal((5, 2))

    def whole(tokens: Any) -> Any:
        return of_itself(tokens, to_query, to_key, value_map) + of_itself(
            tokens, -to_query, to_key, value_map
        )

    return whole(one + other), whole(one) + whole(other)


def two_mutations() -> tuple[Mutation, ...]:
    def opposite(rng: np.random.Generator) -> Iterator[Trial]:
        one, other = rng.standard_normal((2, 4, 5))
        to_query, to_key = rng.standard_normal((2, 5, 3))
        value_map = rng.standard_normal((5, 2))

        def whole(tokens: Any) -> Any:
            return of_itself(tokens, to_query, to_key, value_map) + of_itself(
                tokens, -to_query, to_key, value_map
            )

        yield agree(whole(one + other), whole(one) + whole(other), "four tokens")

    return (
        Mutation(
            "opposite scores with the same values cancel for any number of tokens",
            twin=Twin("sums of inputs of four tokens to two opposite heads", opposite),
        ),
    )


TWO_HEADS = Claim(
    id="attention-average/two-heads",
    title="Two heads that are linear together",
    source=Source(
        INTERVIEW, ("B19",),
        f"{SELF} Beyond the note: two heads, with $B$ and $B'$ for "
        "$W^Q(W^K)^\\top/\\sqrt{d_k}$ and with $W$ and $W'$ for $W^V W^O$, and what has to hold if "
        "their sum is additive.",
    ),
    statement=STATEMENT,
    proof=prove_two,
    twin=Twin("sums of inputs to two NumPy heads", twin_two),
    mutations=two_mutations,
    expected=Verdict.PROVED,
    remark="This is so for all vectors and all columns at once. That leaves two ways only, since a "
    "product of polynomials that vanishes everywhere has a factor that does: both heads are "
    "degenerate, or they have the same scores and opposite values. With two tokens opposite scores "
    "are possible, too: `head-patterns/two-opposite-heads-cancel`. For any "
    "number of heads: `attention-average/all-heads`.",
)  # fmt: skip

CLAIMS = (TWO_HEADS,)

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
