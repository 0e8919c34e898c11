r"""When all heads of a layer are linear together: never but for the two ways that are obvious.

Beyond the interview note, which calls the output of attention linear.  Heads with the same scores
act as one, so they are grouped.  With three tokens or more the sum of all heads is additive only if
every group is: it has no scores, or its value maps sum to 0.  Groups do not make up for each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import sympy as sp

from derive.claim import Claim, Example, Mutation
from derive.claims import INTERVIEW
from derive.claims import _gauge as gauge
from derive.claims import _generic as generic
from derive.claims import _rates as rates
from derive.claims._softmax import delta, i, j, k, m, put_in, same_or_apart, softmax
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
from derive.claims.attention_several_heads import B, C, groups, members, s
from derive.claims.attention_several_heads import j as member
from derive.convert import Converter
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.kernel.terms import Term
from derive.language import (
    both,
    either,
    equal,
    forall,
    implies,
    index,
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
from derive.twin import Trial, Twin
from derive.twin import at_most as no_more
from derive.twin import equal as agree

ORDER = 54
TOPIC = "attention-average"

other = index("w", groups)
u, y = tensor("u", d), tensor("y", d)


def group_map(group: Any, f: Any, c: Any) -> Any:
    """The sum of the value maps of a group."""
    return total(C[group, member, f, c], member)


def row(tokens: Callable[[Any, Any], Any]) -> Any:
    """Entry (k, c) of what the heads of group s give together."""
    scores = lambda e: total(times(tokens(k, f), B[s, f, h], tokens(e, h)), f, h)  # noqa: E731
    value = total(times(tokens(i, f), group_map(s, f, c)), f)
    return total(times(softmax(scores, i), value), i)


def all_heads(tokens: Callable[[Any, Any], Any]) -> Any:
    return total(row(tokens), s)


def of(x: Any) -> Callable[[Any, Any], Any]:
    return lambda e, f: x[e, f]


def added(e: Any, f: Any) -> Any:
    return plus(X[e, f], Y[e, f])


ADDITIVE = forall(
    [X, Y],
    forall([k, c], equal(all_heads(added), plus(all_heads(of(X)), all_heads(of(Y))))),
)
same_scores = forall([f, h], equal(B[s, f, h], B[other, f, h]))
DIFFERENT = forall([s, other], either(equal(s, other), negation(same_scores)))
silent = forall([f, h], equal(B[s, f, h], 0))
cancelled = forall([f, c], equal(group_map(s, f, c), 0))
CANCEL = forall(s, either(silent, cancelled))
STATEMENT = implies(both(less(2, m), DIFFERENT, ADDITIVE), CANCEL)

# ---------------------------------------------------------------------- what additivity says

factor = real("t")


def score(s: Any) -> Any:
    return total(times(u[f], B[s, f, h], y[h]), f, h)


def value(s: Any) -> Any:
    return total(times(y[f], group_map(s, f, c)), f)


def share(value: Any, score: Any, t: Any) -> Any:
    top = sp.exp(times(t, score))
    return times(value, over(top, plus(top, m, -1)))


def shares_law(p: Prover, additive: Theorem) -> Theorem:
    """For all t: the sum of the v_s e^{t l_s}/(e^{t l_s} + m - 1) is that of the v_s/m."""
    output = bumped_output(p)
    same = times(factor, u[f])
    others = plus(times(-1, y[f]), times(delta(j, k), y[f]))
    equation = p.at(additive, p.lam(same, j, f), p.lam(others, j, f), k, c)
    of_u = total(times(factor, u[f], B[s, f, h], factor, u[h]), f, h)
    along = total(times(u[f], group_map(s, f, c)), f)
    spread = times(factor, score(s))
    numbers = (
        (minus(of_u, spread), spread, minus(times(factor, along), value(s)), value(s)),
        (of_u, 0, times(factor, along), 0),
        (0, 0, times(-1, value(s)), value(s)),
    )
    left, right = equation.conclusion.children
    for whole, at in zip((left, *right.children), numbers, strict=True):
        body = T.instantiate(whole.children[1], (p.term(s),))
        closed = put_in(p, as_bumps(p, body, *at), p.at(output, *at))
        summed = infer("extensionality", [p.for_all(closed, s)], whole, 1)
        equation = put_in(p, equation, summed)
    shares = total(share(value(s), score(s), factor), s)
    found = p.equal(shares, total(over(value(s), m), s), (1, equation), show=False)
    return p.for_all(found, factor)


def turned_law(p: Prover) -> Theorem:
    """For all v, x: v/(1 + (m - 1) e^x) = v e^-x/(e^-x + m - 1)."""
    v, x = real("v"), real("x")
    above, below = plus(1, times(m - 1, sp.exp(x))), plus(sp.exp(-x), m - 1)
    spare = p.trivial(T.le(T.ONE, p.term(m)))
    cancels = [
        p.cancel(t, p.order(less(0, t), *((c, spare) for c in cofactor)))
        for t, cofactor in ((above, (sp.exp(x),)), (below, (1,)))
    ]
    # 1/a = e^-x/(e^-x a), and e^-x a = b
    found = p.equal(
        times(v, over(1, above)), times(v, over(sp.exp(-x), below)),
        (times(v, sp.exp(-x), power(below, -1)), cancels[0]),
        (times(-1, v, power(above, -1)), cancels[1]), show=False,
    )  # fmt: skip
    return p.for_all(found, v, x)


@cache
def rates_theorem() -> Theorem:
    """For all v, L, n > 0: what `rates_law` says."""
    own = Prover(Converter(), ())
    above = own.assume(less(0, gauge.more))
    found = own.for_all(own.discharge(rates.rates_law(own, above), above), gauge.more)
    for array in (rates.rate, rates.v):
        found = own.for_all_tensors(found, array)
    return found


def rates_apart(p: Prover, several: Theorem) -> Theorem:
    """For all numbers v_s, l_s: if the v_s e^{t l_s}/(e^{t l_s} + m - 1) add up to a constant, then
    for all s: l_s = 0, or the v of those with the same l sum to 0.
    """
    v, rate = tensor("v", groups), tensor("l", groups)
    law = p.at(rates_theorem(), p.lam(v[s], s), p.lam(rate[s], s), minus(m, 2))
    law = p.mp(law, p.order(law.conclusion.children[0], (1, several)))
    t = p.term(factor)
    left = T.instantiate(law.conclusion.children[0].children[0], (t,)).children[0]
    turned = turned_law(p)
    wide = power(times(minus(m, 2), m - 1, m), -1)
    shares = total(share(v[s], rate[s], factor), s)
    with p.supposing(forall(factor, equal(shares, total(over(v[s], m), s)))) as constant:
        uses = []
        for scale, sign in ((2, 1), (1, -1)):
            at = times(sign, wide)
            uses.append((times(at, power(m - 1, 2)), p.at(constant, times(scale, factor))))
            uses.append((at, p.at(constant, times(-scale, factor))))
            turn = p.at(turned, v[s], times(scale, factor, rate[s]))
            uses.append((at, p.sum_equal(turn, s)))
        zero = p.equal(left, 0, *uses, show=False)
        found = p.mp(law, p.for_all(zero, factor))
    found = p.discharge(found, constant)
    return p.for_all_tensors(p.for_all_tensors(found, rate), v)


# ---------------------------------------------------------------------- vectors that tell apart


@cache
def generic_theorems() -> tuple[Theorem, Theorem]:
    """`spared_law` and `one_more_law` for all sizes of the matrices."""
    own = Prover(Converter(), ())
    more = generic.one_more_law(own)
    spared = generic.spared_law(own, more)
    first, second = (own.for_all(law, generic.rows, generic.columns) for law in (spared, more))
    return first, second


def difference(other: Any, f: Any, h: Any) -> Any:
    """Of two groups: the difference of their forms; of group s with itself, its own form."""
    return plus(B[other, f, h], times(-1, B[s, f, h]), times(delta(other, s), B[s, f, h]))


def at_number(p: Prover, e: Any) -> Term:
    """What `e` says of a group, for any natural number."""
    return T.substitute(p.term(e), {p.term(other): p.term(generic.at)})


bent = total(times(u[f], difference(other, f, h), y[h]), f, h)


def told_apart(
    p: Prover, matrices: Theorem, column: Theorem, then: Callable[[Theorem, Theorem], Theorem]
) -> Theorem:
    """What `then` proves from: v_s is not 0, and u A_i y is not 0 for any group i.

    `matrices` proves that no A_i is 0, and `column` that not all (C_s)_fc are.
    """
    spared, more = generic_theorems()
    family = p.lam(at_number(p, difference(other, f, h)), generic.at, f, h)
    repeated = p.lam(group_map(s, h, c), f, h)

    def with_first(first: Theorem) -> Theorem:
        more_at = p.at(more, d, d, family, repeated, p.lam(y[h], h), groups)
        return p.choose(p.mp(more_at, first), y, with_y)

    def with_y(chosen: Theorem) -> Theorem:
        every, valued = p.part(chosen, 0), p.part(chosen, 1)
        images = total(times(difference(other, h, e), y[e]), e)
        vectors = p.lam(at_number(p, images), generic.at, f, h)
        some = p.at(spared, d, d, vectors, groups)
        return p.choose(some, u, lambda chosen: with_u(every, valued, chosen))

    def with_u(every: Theorem, valued: Theorem, chosen: Theorem) -> Theorem:
        within = p.order(less(other, groups))
        nonzero = p.at(matrices, other)
        image = _other_part(p, p.mp(p.at(every, other), within), nonzero)
        spares = p.mp(p.at(chosen, other), within)
        found = p.cases(
            spares,
            lambda zero: infer(
                "contradiction", [_row_by_row(p, image, p.at(zero, f)), image], T.negate(bent_zero)
            ),
            lambda apart: _denied(p, bent_zero, apart),
        )
        of_s = _other_part(p, valued, column)
        value_zero = p.formula(equal(value(s), 0))
        bends = p.note(p.for_all(found, other), TOLD_APART)
        return then(_denied(p, value_zero, of_s), bends)

    e = index("e", d)
    bent_zero = p.formula(equal(bent, 0))
    return p.choose(p.at(spared, d, d, family, groups), y, with_first)


def _other_part(p: Prover, spared: Theorem, nonzero: Theorem) -> Theorem:
    """What is left of two cases, the first of which is denied."""
    return p.cases(
        spared,
        lambda zero: infer("contradiction", [_entries(p, nonzero, zero), nonzero],
                           spared.conclusion.children[1]),
        lambda rest: rest,
    )  # fmt: skip


def _denied(p: Prover, zero: Term, apart: Theorem) -> Theorem:
    """not a = 0, from not for all f: b = 0, where b is a."""
    every = apart.conclusion.children[0]
    with p.supposing(zero) as case:
        each = T.instantiate(every.children[-1], (p.term(f),))
        every_zero = p.for_all(p.equal(*each.children, (1, case), show=False), f)
        wrong = infer("contradiction", [every_zero, apart], T.negate(zero))
    return infer("deny", [wrong], zero)


def _entries(p: Prover, nonzero: Theorem, zero: Theorem) -> Theorem:
    """For all f, h: the entry is 0, as the theorem that denies it writes it."""
    goal = nonzero.conclusion.children[0]
    each = T.instantiate(T.instantiate(goal.children[-1], (p.term(f),)).children[-1], (p.term(h),))
    return p.for_all(p.equal(*each.children, (1, p.at(zero, f, h)), show=False), f, h)


def _row_by_row(p: Prover, image: Theorem, zero: Theorem) -> Theorem:
    goal = image.conclusion.children[0]
    each = T.instantiate(goal.children[-1], (p.term(h),))
    return p.for_all(p.equal(*each.children, (1, p.at(zero, h)), show=False), h)


# ---------------------------------------------------------------------- groups stand alone


INDEPENDENT = (
    r"let $g(x)$ be the share of a group, $K = m-1$ and $z = e^{x\lambda}$ for its score "
    r"$\lambda$: the sum of $K^2(g(2x)-g(x))$ and $g(-2x)-g(-x)$ is $K^3-K$ times $z^2(z-1)$ times "
    "$(1+K^2)z^2+Kz+K$, divided by $Kz^4+(1+K^2)z^2+K$ and by $Kz^2+(1+K^2)z+K$, which falls like "
    "$1/z$ for large and like $z^2$ for small $z$. Of the scores whose values do not sum to 0, "
    "take the one that is nearest to 0, without loss of generality positive, and multiply by its "
    "$z$: as $x$ grows, all other terms fall at least like $1/x$, and its own does not"
)
TOLD_APART = (
    "else there are $u$ and $y$ for which the score of group $i$ is not 0 and no other group has "
    "the same, since finitely many matrices that are not 0 leave vectors that none of them maps to "
    "0; and the value of group $i$ is not 0, either"
)


def prove_all(p: Prover) -> Theorem:
    def then(case: Theorem) -> Theorem:
        several, different = (
            p.note(p.part(case, 0), "let there be three tokens or more"),
            p.part(case, 1),
        )
        shares = p.note(
            shares_law(p, p.part(case, 2)),
            "take $xu$ for one token and $xu-y$ for all others, as a sum of $xu$ for all tokens "
            "and of 0 and $-y$; what additivity says of the one token",
        )  # fmt: skip
        law = p.at(rates_apart(p, several), p.lam(value(s), s), p.lam(score(s), s))
        apart = p.note(p.mp(law, shares), INDEPENDENT)
        goal = p.formula(CANCEL.args[1])
        found = p.cases(
            infer("excluded-middle", [], goal.children[0]),
            lambda none: infer("disjunct", [none], goal, 0),
            lambda scored: infer("disjunct", [_no_map(p, different, scored, apart)], goal, 1),
        )
        return p.for_all(found, s)

    return p.suppose(STATEMENT.args[0], then, "let the sum of all heads be additive")


def _no_map(p: Prover, different: Theorem, scored: Theorem, apart: Theorem) -> Theorem:
    """For all f, c: the maps of group s sum to 0, since it has scores."""
    matrices = _matrices_apart(p, different, scored)
    column = p.formula(forall(f, equal(group_map(s, f, c), 0)))
    as_matrix = p.formula(forall([f, h], equal(group_map(s, h, c), 0)))

    def some_value(nonzero: Theorem) -> Theorem:
        with p.supposing(as_matrix) as zero:
            each = p.for_all(p.at(zero, f, f), f)
            wrong = infer("contradiction", [each, nonzero], T.negate(as_matrix))
        denied = infer("deny", [wrong], as_matrix)
        return told_apart(p, matrices, denied, lambda valued, bends: infer(
            "contradiction", [_value_zero(p, apart, bends), valued], column))  # fmt: skip

    found = p.cases(infer("excluded-middle", [], column), lambda zero: zero, some_value)
    return p.for_all(p.at(found, f), f, c)


def _matrices_apart(p: Prover, different: Theorem, scored: Theorem) -> Theorem:
    """For all groups i: not all entries of A_i are 0."""
    zero = p.formula(forall([f, h], equal(difference(other, f, h), 0)))
    here, there = B[s, f, h], B[other, f, h]

    def same(one: Theorem) -> Theorem:
        with p.supposing(zero) as case:
            none = p.equal(
                here, 0, (delta(other, s), p.at(case, f, h)), (times(-1, here), one), show=False
            )
            wrong = infer("contradiction", [p.for_all(none, f, h), scored], T.negate(zero))
        return infer("deny", [wrong], zero)

    def apart(unlike: Theorem, no_delta: Theorem) -> Theorem:
        with p.supposing(zero) as case:
            equals = p.equal(here, there, (-1, p.at(case, f, h)), (here, no_delta), show=False)
            equals = p.for_all(equals, f, h)
            wrong = p.cases(
                p.at(different, s, other),
                lambda alike: infer(
                    "contradiction", [rates.turned(p, alike), unlike], T.negate(zero)
                ),
                lambda forms: infer("contradiction", [equals, forms], T.negate(zero)),
            )
        return infer("deny", [wrong], zero)

    return p.for_all(same_or_apart(p, other, s, same, apart), other)


def _value_zero(p: Prover, apart: Theorem, bends: Theorem) -> Theorem:
    """v_s = 0, since s has a score that no other group has, and that is not 0."""
    goal = p.formula(equal(value(s), 0))

    def no_score(zero: Theorem) -> Theorem:
        own = p.at(bends, s)
        none = p.equal(*own.conclusion.children[0].children, (1, zero), show=False)
        return infer("contradiction", [none, own], goal)

    def alone(zero: Theorem) -> Theorem:
        weighted = p.equal(
            times(delta(score(other), score(s)), value(other)),
            times(delta(other, s), value(other)),
            (value(other), _same_delta(p, bends)), show=False,
        )  # fmt: skip
        return p.equal(value(s), 0, (1, zero), (-1, p.sum_equal(weighted, other)), show=False)

    return p.cases(p.at(apart, s), no_score, alone)


def _same_delta(p: Prover, bends: Theorem) -> Theorem:
    """delta(l_i, l_s) = delta(i, s)."""
    scores = p.term(delta(score(other), score(s)))
    groups_same = p.term(delta(other, s))

    def same(one: Theorem) -> Theorem:
        return p.equal(scores, groups_same, (T.neg(scores), one), show=False)

    def apart(_: Theorem, none: Theorem) -> Theorem:
        zero = p.formula(equal(score(other), score(s)))
        nonzero = p.at(bends, other)
        with p.supposing(zero) as case:
            left = nonzero.conclusion.children[0]
            bent = p.equal(*left.children, (1, case), (score(s), none), show=False)
            wrong = infer("contradiction", [bent, nonzero], T.negate(zero))
        unlike = rates.no_delta_of(p, infer("deny", [wrong], zero))
        return p.equal(scores, groups_same, (1, unlike), (-1, none), show=False)

    return same_or_apart(p, other, s, same, apart)


# ---------------------------------------------------------------------- twin and mistakes


def deviations(rng: np.random.Generator, size: int, forms: list[tuple[Any, Any]]) -> Any:
    """What each head adds to additivity, without value maps: (samples * tokens, heads * width)."""
    rows = []
    for _ in range(6):
        one, other = 2 * rng.standard_normal((2, size, 3))
        heads = [
            of_itself(one + other, *form, np.eye(3)) - of_itself(one, *form, np.eye(3))
            - of_itself(other, *form, np.eye(3))
            for form in forms
        ]  # fmt: skip
        rows.append(np.concatenate(heads, axis=1))
    return np.concatenate(rows)


def drawn_forms(rng: np.random.Generator) -> list[tuple[Any, Any]]:
    """Heads whose scores are opposite, twice and half as large, and any."""
    to_query, to_key, another = rng.standard_normal((3, 3, 2))
    return [(scale * to_query, to_key) for scale in (1, -1, 2, 0.5)] + [(another, to_key)]


def twin_all(rng: np.random.Generator) -> Iterator[Trial]:
    """No maps but 0 make the sum of several heads additive; of two that are the same, they do."""
    forms = drawn_forms(rng)
    for size in (3, 5):
        least = np.linalg.svd(deviations(rng, size, forms), compute_uv=False)[-1]
        yield no_more(1e-6, least, f"no combination, {size} tokens")
    least = np.linalg.svd(deviations(rng, 2, forms[:2]), compute_uv=False)[-1]
    yield agree(least, 0, "opposite heads, two tokens")
    one, other = rng.standard_normal((2, 4, 3))
    first, second = rng.standard_normal((2, 3, 2))

    def whole(tokens: Any) -> Any:
        maps = (first, second, -first - second)
        return sum(of_itself(tokens, *forms[0], value_map) for value_map in maps)

    yield agree(whole(one + other), whole(one) + whole(other), "the same scores, maps that cancel")


def by_evaluation(p: Prover, target: Term, inputs: tuple[str, ...] = ("X", "Y")) -> Theorem:
    """not (1 < 3 and for all inputs: ... -> ...), where evaluation tells each part."""
    premise, conclusion = target.children[0].children
    several, every = premise.children
    equation, free = every, []
    for name in inputs:
        equation = T.instantiate(equation.children[-1], (name,))
    for name in ("k", "c"):
        free.append(T.var(name, "fin", equation.children[0]))
        equation = T.instantiate(equation.children[1], (free[-1],))
    found = p.equal(*equation.children, show=False)
    for index_of in reversed(free):
        found = infer("generalise", [found], index_of)
    for name in reversed(inputs):
        found = infer("generalise-tensor", [found], name, 2)
    known = p.both(p.trivial(several), found)
    return infer("not-implies", [known, p.trivial(T.negate(conclusion))])


def all_mutations() -> tuple[Mutation, ...]:
    def two_tokens(rng: np.random.Generator) -> Iterator[Trial]:
        least = np.linalg.svd(deviations(rng, 2, drawn_forms(rng)), compute_uv=False)[-1]
        yield no_more(1e-6, least, "no combination, 2 tokens")

    return (
        Mutation(
            "groups with the same scores are told apart, too",
            statement=implies(both(less(2, m), ADDITIVE), CANCEL),
            counterexample=Example({
                m: 3, d: 1, d_v: 1, groups: 2, members: 1, B: [[[1]], [[1]]],
                C: [[[[1]]], [[[-1]]]],
            }, by_evaluation),
        ),
        Mutation(
            "two tokens are enough",
            twin=Twin("how far heads are from additive together, with two tokens", two_tokens),
        ),
    )  # fmt: skip


ALL_HEADS = Claim(
    id="attention-average/all-heads",
    title="All heads that are linear together",
    source=Source(
        INTERVIEW, ("B19",),
        f"{SELF} Beyond the note: any number of heads, of which those with the same "
        r"$B = W^Q(W^K)^\top/\sqrt{d_k}$ make a group; head $j$ of group $i$ has the map "
        r"$C_{ij} = W^V W^O$. What has to hold if the sum of all heads is additive.",
    ),
    statement=STATEMENT,
    proof=prove_all,
    twin=Twin("how far NumPy heads are from additive together, for all value maps", twin_all),
    mutations=all_mutations,
    expected=Verdict.PROVED,
    remark="The converse is `attention-average/several-heads`: with three tokens or more, several "
    "heads are linear together if and only if every group is, without scores or with maps that sum "
    "to 0. Groups do not make up for each other, however their scores are related. With two "
    "tokens opposite scores may: `head-patterns/two-opposite-heads-cancel`.",
)  # fmt: skip

CLAIMS = (ALL_HEADS,)

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
