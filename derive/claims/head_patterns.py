r"""Attention patterns of several heads: when they agree, and when they are opposite.

The interview note says that heads may give the same pair of words different, even opposite
weights, and speaks of heads with one pattern.  Two patterns agree for all inputs exactly if the
products ``B_i = W_i^Q W_i^K^T`` agree; the matrices may differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import sympy as sp

from derive import auto
from derive.claim import Added, Claim, Correction, Example, Given, Mutation
from derive.claims import DERIVATIONS, INTERVIEW
from derive.claims._heads import (
    ALL_ALIKE,
    W_K,
    W_Q,
    K,
    Q,
    a,
    attention,
    b,
    c,
    d,
    d_k,
    dot,
    h,
    i,
    j,
    m,
    n,
    o,
    projected,
    s,
    same_softmax,
    scaled,
    softmax,
    t,
    u,
)
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.language import (
    at_most,
    both,
    call,
    equal,
    exists,
    forall,
    iff,
    implies,
    index,
    less,
    minus,
    negation,
    over,
    plus,
    tensor,
    times,
    total,
)
from derive.prover import Prover
from derive.result import Source, Verdict
from derive.twin import Trial, Twin, differs
from derive.twin import equal as agree

ORDER = 18
TOPIC = "head-patterns"

delta = sp.KroneckerDelta


# ---------------------------------------------------------------------- patterns and forms


def pattern(i: Any, t: Any, s: Any) -> Any:
    """The weight of key `s` for query `t` in head `i`, as a function of the inputs Q and K."""
    return attention(
        lambda i, t, c: projected(Q, W_Q, i, t, c), lambda i, s, c: projected(K, W_K, i, s, c),
        i, t, s,
    )  # fmt: skip


def form(i: Any, a: Any, b: Any) -> Any:
    """Entry (a, b) of ``B_i = W_i^Q W_i^K^T``."""
    return total(times(W_Q[i, a, c], W_K[i, b, c]), c)


def logit(i: Any, t: Any, s: Any) -> Any:
    return scaled(dot(lambda c: projected(Q, W_Q, i, t, c), lambda c: projected(K, W_K, i, s, c)))


one_pattern = forall([Q, K, t, s], equal(pattern(i, t, s), pattern(j, t, s)))
one_form = forall([a, b], equal(form(i, a, b), form(j, a, b)))


def prove_one_pattern(p: Prover, forms: Theorem) -> Theorem:
    """The patterns agree for all inputs, from equal forms."""

    def by_form(i: Any) -> Any:
        return scaled(total(times(Q[t, a], form(i, a, b), K[s, b]), a, b))

    scores = p.calc(
        logit(i, t, s),
        (by_form(i), "multiply out: the matrices act through their product only"),
        (by_form(j), "the products agree", forms),
        (logit(j, t, s), "and back again for head $j$"),
    )
    weights = p.note(same_softmax(p, scores, s), "equal scores give equal weights")
    theorem = p.for_all(weights, t, s)
    return p.for_all_tensors(p.for_all_tensors(theorem, K), Q)


def prove_forms_suffice(p: Prover) -> Theorem:
    return p.suppose(one_form, lambda forms: prove_one_pattern(p, forms), "let the products agree")


def with_forms(rng: np.random.Generator) -> Iterator[tuple[Any, ...]]:
    """Inputs, a head, another with other matrices and the same form, and one with another form."""
    for queries, keys, width, columns in ((3, 5, 4, 2), (2, 3, 2, 5), (1, 2, 1, 1)):
        x, y = rng.standard_normal((queries, width)), rng.standard_normal((keys, width))
        w_q, w_k = rng.standard_normal((2, width, columns))
        turn = rng.standard_normal((columns, columns)) + 3 * np.eye(columns)
        yield x, y, (w_q, w_k), (w_q @ turn, w_k @ np.linalg.inv(turn).T), (w_q, w_k + 1)


def weights_of(x: Any, y: Any, matrices: tuple[Any, Any]) -> Any:
    from numeric import attention_weights

    return attention_weights(x @ matrices[0], y @ matrices[1])


def twin_forms(rng: np.random.Generator) -> Iterator[Trial]:
    for x, y, first, second, other in with_forms(rng):
        yield agree(weights_of(x, y, second), weights_of(x, y, first), "same form", 1e-11)
        yield differs(second[0], first[0], by=1e-6, what="other matrices")
        gap = np.abs(first[0] @ first[1].T - other[0] @ other[1].T).max()
        yield differs(
            weights_of(x, y, other), weights_of(x, y, first), by=1e-6 * gap, what="other form"
        )


def forms_mutations() -> tuple[Mutation, ...]:
    def same_queries_only(rng: np.random.Generator) -> Iterator[Trial]:
        for x, y, first, _, other in with_forms(rng):
            yield agree(weights_of(x, y, other), weights_of(x, y, first), "other keys", 1e-11)

    return (
        Mutation(
            "equal query matrices are taken to be enough",
            statement=implies(same_queries, one_form),
            counterexample=Example({**SAME_PRODUCT, W_Q: [[[1]], [[1]]]}),
            twin=Twin("patterns of heads with equal queries and other keys", same_queries_only),
        ),
    )


FORMS_SUFFICE = Claim(
    id="head-patterns/equal-forms",
    title="Equal products give equal patterns",
    source=Source(
        INTERVIEW, ("B11",), f"{ALL_ALIKE}. When heads have one pattern is not said.",
    ),
    statement=implies(one_form, one_pattern),
    proof=prove_forms_suffice,
    twin=Twin("patterns of heads with equal and with other forms", twin_forms),
    mutations=forms_mutations,
    expected=Verdict.PROVED,
    remark=r"Equal patterns are not equal heads: the values may still differ.",
)  # fmt: skip


def prove_one_form(p: Prover, same: Theorem, two: Theorem) -> Theorem:
    """Equal forms, from equal patterns for all inputs and 2 <= m."""

    def sum_of(i: Any) -> Any:
        return total(sp.exp(times(u, form(i, a, b))), u)

    unit = p.lam(times(sp.sqrt(d_k), delta(a, o)), t, o)
    growing = p.lam(times(s, delta(b, o)), s, o)
    at_inputs = p.at(same, unit, growing)
    x, y = form(i, a, b), form(j, a, b)
    first = p.equal(
        over(1, sum_of(i)), over(1, sum_of(j)), (1, p.at(at_inputs, 0, 0)),
        reason=r"with unit vectors $e_a$ and $e_b$, take $\sqrt{d_k}\,e_a$ for every query and "
        r"$s\,e_b$ for key $s$: the weights of key 0",
    )  # fmt: skip
    second = p.equal(
        over(sp.exp(x), sum_of(i)), over(sp.exp(y), sum_of(j)),
        (1, p.at(at_inputs, 0, 1, facts=[two])), reason="and of key 1, since there are two keys",
    )  # fmt: skip
    powers = p.equal(
        sp.exp(x), sp.exp(y),
        (sum_of(i), second), (times(-1, sum_of(i), sp.exp(y)), first),
        (minus(sp.exp(y), sp.exp(x)), p.cancel(sum_of(i))),
        reason="divide the second by the first",
    )  # fmt: skip
    left = T.fn("log", powers.conclusion.children[0])
    logs = p.rewrite(
        powers, p.equal(left, left, show=False), lambda hole: T.eq(left, T.fn("log", hole))
    )
    entry = p.equal(x, y, (1, logs), reason="take logarithms")
    return p.for_all(entry, a, b)


def prove_iff(p: Prover) -> Theorem:
    def both_ways(two: Theorem) -> Theorem:
        return p.both(
            p.suppose(
                one_pattern, lambda same: prove_one_form(p, same, two),
                "suppose that the patterns agree for all inputs",
            ),
            p.suppose(
                one_form, lambda forms: prove_one_pattern(p, forms),
                "conversely, let the products agree",
            ),
        )  # fmt: skip

    return p.suppose(at_most(2, m), both_ways, "let there be two keys at least")


def twin_iff(rng: np.random.Generator, scale: Callable[[int], Any] = np.sqrt) -> Iterator[Trial]:
    """Forms read off the patterns at unit queries and multiples of a unit key."""
    for x, _, first, second, other in with_forms(rng):
        width, columns = first[0].shape
        read = []
        for matrices in (first, second, other):
            found = np.empty((width, width))
            for k in range(width):
                inputs = np.outer(np.arange(3), np.eye(width)[k])
                weights = weights_of(scale(columns) * np.eye(width), inputs, matrices)
                found[:, k] = np.log(weights[:, 1] / weights[:, 0])
            read.append(found)
            yield agree(found, matrices[0] @ matrices[1].T, "form read off", 1e-11)
        yield agree(read[0], read[1], "same patterns", 1e-11)
        one_key = weights_of(x, rng.standard_normal((1, width)), other)
        yield agree(one_key, np.ones((len(x), 1)), "with one key all patterns agree")


def iff_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            r"the factor $1/\sqrt{d_k}$ of the scores is forgotten when the product is read off",
            twin=Twin(
                "products read off as if scores were not scaled",
                lambda rng: twin_iff(rng, scale=lambda _: 1),
            ),
        ),
    )


IFF = Claim(
    id="head-patterns/same-pattern-iff",
    title="Exactly equal products give the same pattern for all inputs",
    source=Source(
        INTERVIEW, ("B11",),
        f"{ALL_ALIKE}. The note says neither when that is so, nor that two keys are needed to "
        "see a difference.",
    ),
    statement=implies(at_most(2, m), iff(one_pattern, one_form)),
    proof=prove_iff,
    twin=Twin("forms that are read off attention weights", twin_iff),
    mutations=iff_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip

same_queries = forall([a, c], equal(W_Q[i, a, c], W_Q[j, a, c]))
#: two heads with W^Q = 1 and 2, W^K = 2 and 1: different matrices, the same product
SAME_PRODUCT = {
    h: 2, d: 1, d_k: 1, i: 0, j: 1, W_Q: [[[1]], [[2]]], W_K: [[[2]], [[1]]]
}  # fmt: skip


def prove_forms_follow(p: Prover) -> Theorem:
    def branch(two: Theorem) -> Theorem:
        return p.suppose(
            one_pattern, lambda same: prove_one_form(p, same, two),
            "suppose that the patterns agree for all inputs",
        )  # fmt: skip

    return p.suppose(at_most(2, m), branch, "let there be two keys at least")


def deny_equal_matrices(p: Prover, target: T.Term) -> Theorem:
    """not (the patterns agree -> the matrices do), at numbers where the former can be proved."""
    agreeing, matrices = target.children[0].children
    return infer("not-implies", [auto.prove(p, agreeing), p.trivial(T.negate(matrices))])


def twin_matrices(rng: np.random.Generator) -> Iterator[Trial]:
    for x, y, first, second, _ in with_forms(rng):
        yield agree(weights_of(x, y, second), weights_of(x, y, first), "same pattern", 1e-11)
        yield differs(second[0], first[0], by=1e-6, what="other query matrices")


MATRICES = Claim(
    id="head-patterns/same-pattern-same-matrices",
    title="Heads with one pattern have the same matrices",
    source=Source(
        INTERVIEW, ("B11",),
        "Heads that give exactly the same attention pattern are treated as one head. A reader may "
        "conclude that their matrices are the same.",
    ),
    statement=implies(one_pattern, same_queries),
    counterexample=Example({**SAME_PRODUCT, n: 1, m: 2}, deny_equal_matrices),
    correction=Correction(
        implies(at_most(2, m), implies(one_pattern, one_form)), prove_forms_follow
    ),
    twin=Twin("patterns of heads with different matrices", twin_matrices),
    expected=Verdict.REFUTED,
)  # fmt: skip


# ---------------------------------------------------------------------- the key

DIFFERENT = negation(one_form)


def double_negation(p: Prover, theorem: Theorem) -> Theorem:
    denial = p.assume(T.negate(theorem.conclusion))
    absurd = infer("contradiction", [theorem, denial], T.negate(denial.conclusion))
    return infer("deny", [absurd], denial.conclusion)


def no_difference(p: Prover, target: T.Term) -> Theorem:
    """The patterns agree at these matrices for all inputs, so it is false that they do not."""
    return double_negation(p, auto.prove(p, target.children[0].children[0]))


def prove_different(p: Prover) -> Theorem:
    two, different = p.hyp(0), p.hyp(1)
    with p.supposing(one_pattern) as same:
        p.note(same, "suppose that no input shows a difference")
        forms = prove_one_form(p, same, two)
        absurd = infer("contradiction", [forms, different], T.negate(same.conclusion))
    return p.note(infer("deny", [absurd], same.conclusion), "but the products differ")


def twin_different(rng: np.random.Generator) -> Iterator[Trial]:
    for x, y, first, second, other in with_forms(rng):
        yield differs(weights_of(x, y, other), weights_of(x, y, first), by=1e-7, what="B differs")
        yield agree(weights_of(x, y, second), weights_of(x, y, first), "B agrees", 1e-11)


KEY = Claim(
    id="head-patterns/own-matrices",
    title="When matrices of its own let a head attend to something else",
    source=Source(
        DERIVATIONS, ("A04",),
        r"Every head has its own $W_i^Q, W_i^K, W_i^V$; this is called the key, which lets each "
        "head attend to something else.",
    ),
    statement=negation(one_pattern),
    added=(
        Added(
            at_most(2, m),
            Example(
                {h: 2, d: 1, d_k: 1, i: 0, j: 1, n: 1, m: 1,
                 W_Q: [[[1]], [[1]]], W_K: [[[1]], [[2]]]},
                no_difference,
            ),
            "with a single key every head gives it all the weight",
        ),
        Added(
            DIFFERENT, Example({**SAME_PRODUCT, n: 1, m: 2}, no_difference),
            r"matrices of its own are not enough: the products $W_i^Q (W_i^K)^\top$ have to differ",
        ),
    ),
    witness=Example(
        {h: 2, d: 1, d_k: 1, i: 0, j: 1, n: 1, m: 2,
         W_Q: [[[1]], [[1]]], W_K: [[[1]], [[2]]]},
    ),
    proof=prove_different,
    twin=Twin("patterns of heads with equal and with other forms", twin_different),
    expected=Verdict.CONDITIONAL,
    remark="So the matrices have to start differently, too: heads that start equal stay equal.",
)  # fmt: skip


# ---------------------------------------------------------------------- opposite patterns

w_q, w_k = tensor("W_1^Q", d, d_k), tensor("W_1^K", d, d_k)
u_q, u_k = tensor("W_2^Q", d, d_k), tensor("W_2^K", d, d_k)
OPPOSITE = (
    "If two heads learned quite different patterns, they may give the same pair of words different "
    "weights, even exactly opposite relations"
)


def single(x: Any, w: Any, t: Any, c: Any) -> Any:
    return total(times(x[t, a], w[a, c]), a)


def weight_by(query: Any, key: Any, t: Any, s: Any) -> Any:
    """The weight of key `s` for query `t` in a head with these two matrices."""
    return softmax(
        lambda s: scaled(dot(lambda c: single(Q, query, t, c), lambda c: single(K, key, s, c))), s
    )


reversed_order = forall(
    [Q, K, t, s, u],
    implies(
        less(weight_by(w_q, w_k, t, s), weight_by(w_q, w_k, t, u)),
        less(weight_by(u_q, u_k, t, u), weight_by(u_q, u_k, t, s)),
    ),
)


def prove_opposite(p: Prover) -> Theorem:
    def score_of(s: Any) -> Any:
        return scaled(dot(lambda c: single(Q, w_q, t, c), lambda c: single(K, w_k, s, c)))

    up, down = total(sp.exp(score_of(s)), s), total(sp.exp(times(-1, score_of(s))), s)
    opposite, same = p.lam(times(-1, w_q[a, c]), a, c), p.lam(w_k[a, c], a, c)
    some_head = p.formula(exists(u_q, exists(u_k, reversed_order)))
    some_key = T.instantiate(some_head.children[-1], (opposite,))
    inner = T.instantiate(some_key.children[-1], (same,))
    for name in ("Q", "K"):
        inner = T.instantiate(inner.children[-1], (name,))
    for x in (t, s, u):
        inner = T.instantiate(inner.children[-1], (p.term(x),))
    premise, conclusion = inner.children
    with p.supposing(premise) as heavier:
        p.note(heavier, "let head 1 give key $u$ more weight than key $s$")
        powers = p.order(
            less(sp.exp(score_of(s)), sp.exp(score_of(u))),
            (up, heavier),
            (minus(sp.exp(score_of(s)), sp.exp(score_of(u))), p.cancel(up)),
            reason="multiply by the common denominator",
        )  # fmt: skip
        turned = p.order(
            less(sp.exp(times(-1, score_of(u))), sp.exp(times(-1, score_of(s)))),
            (sp.exp(times(-1, plus(score_of(s), score_of(u)))), powers),
            reason="divide by both powers",
        )  # fmt: skip
        lighter = p.order(
            conclusion, (over(1, down), turned),
            reason="take $-W_1^Q$ for the queries of head 2: all its scores change sign",
        )  # fmt: skip
    theorem = p.for_all(p.discharge(lighter, heavier), t, s, u)
    theorem = p.for_all_tensors(p.for_all_tensors(theorem, K), Q)
    theorem = p.exists(some_head, opposite, p.exists(some_key, same, theorem))
    return p.note(theorem, "so this head 2 exists for every head 1")


def turned(matrices: tuple[Any, Any]) -> tuple[Any, Any]:
    """The matrices of the opposite head."""
    return -matrices[0], matrices[1]


def both_turned(matrices: tuple[Any, Any]) -> tuple[Any, Any]:
    return -matrices[0], -matrices[1]


Turn = Callable[[tuple[Any, Any]], tuple[Any, Any]]


def twin_opposite(rng: np.random.Generator, turn: Turn = turned) -> Iterator[Trial]:
    for x, y, first, _, _ in with_forms(rng):
        one, two = weights_of(x, y, first), weights_of(x, y, turn(first))
        yield agree(np.argsort(two, axis=1), np.argsort(-one, axis=1), "order reversed")
        yield agree(two, (1 / one) / (1 / one).sum(axis=1, keepdims=True), "reciprocals")


def opposite_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "queries and keys both change their sign",
            twin=Twin(
                "order of the weights when both matrices are turned",
                lambda rng: twin_opposite(rng, both_turned),
            ),
        ),
    )


OPPOSITE_HEAD = Claim(
    id="head-patterns/opposite-head",
    title="Every head has an opposite one",
    source=Source(INTERVIEW, ("B10",), f"{OPPOSITE}."),
    statement=exists(u_q, exists(u_k, reversed_order)),
    proof=prove_opposite,
    twin=Twin("order of the weights of a head and of its opposite", twin_opposite),
    mutations=opposite_mutations,
    expected=Verdict.PROVED,
    remark="Opposite in order: for every input, what the one weighs more the other weighs less. "
    "In the statement $M$ and $N$ are the matrices of the queries and keys of head 2, and $P$ and "
    "$X$ the inputs.",
)  # fmt: skip

TWO_WORDS = Given(at_most(2, m), "a pair of words")
doubled = forall(
    t,
    both(
        equal(weight_by(w_q, w_k, t, u), times(2, weight_by(w_q, w_k, t, s))),
        equal(weight_by(u_q, u_k, t, s), times(2, weight_by(u_q, u_k, t, u))),
    ),
)
opposite_pair = exists(s, exists(u, doubled))
for tensor_ in (K, Q, u_k, u_q, w_k, w_q):
    opposite_pair = exists(tensor_, opposite_pair)


def prove_pair(p: Prover) -> Theorem:
    """Scores s log 2 and -s log 2 for key s; keys 0 and 1."""
    first = p.lam(times(delta(a, 0), delta(c, 0)), a, c)
    other = p.lam(times(-1, delta(a, 0), delta(c, 0)), a, c)
    query = p.lam(times(sp.sqrt(d_k), delta(a, 0)), t, a)
    key = p.lam(times(s, sp.log(2), delta(a, 0)), s, a)
    two = p.hyp(0)
    goals = [p.formula(opposite_pair)]
    values: list[Any] = [first, first, other, first, query, key, T.ZERO, T.ONE]
    for v in values:
        goals.append(T.instantiate(goals[-1].children[-1], (v,)))
    up, down = (total(call(sp.exp, times(sign, s, sp.log(2))), s) for sign in (1, -1))
    shown = (
        p.equal(
            over(call(sp.exp, sp.log(2)), up), times(2, over(1, up)),
            reason="let the heads see coordinate 0 with opposite signs, all queries be "
            r"$\sqrt{d_k}$ there and key $s$ be $s \log 2$: its scores are $\pm s \log 2$, and "
            "head 1 gives key 1 twice the weight of key 0",
        ),
        p.equal(
            over(1, down), times(2, over(call(sp.exp, times(-1, sp.log(2))), down)),
            reason="head 2 gives key 0 twice the weight of key 1",
        ),
    )  # fmt: skip
    parts = T.instantiate(goals[-1].children[-1], (p.term(t),)).children
    weights = (
        p.equal(*part.children, (1, line), show=False)
        for part, line in zip(parts, shown, strict=True)
    )
    theorem = p.for_all(p.both(*weights), t)
    for v, goal in zip(reversed(values), reversed(goals[:-1]), strict=True):
        facts = [two] if v is T.ONE else []
        theorem = infer("witness", [theorem, *facts], goal, v)
    return p.note(theorem, "keys 0 and 1 are such a pair")


def twin_pair(rng: np.random.Generator) -> Iterator[Trial]:
    for queries, keys, width, columns in ((3, 5, 4, 2), (1, 2, 1, 1), (2, 3, 2, 3)):
        first = np.zeros((width, columns))
        first[0, 0] = 1
        x, y = np.zeros((queries, width)), np.zeros((keys, width))
        x[:, 0], y[:, 0] = np.sqrt(columns), np.arange(keys) * np.log(2)
        one, two = weights_of(x, y, (first, first)), weights_of(x, y, (-first, first))
        yield agree(one[:, 1], 2 * one[:, 0], "head 1")
        yield agree(two[:, 0], 2 * two[:, 1], "head 2")


PAIR = Claim(
    id="head-patterns/opposite-weights",
    title="Two heads, one pair of words, opposite weights",
    source=Source(INTERVIEW, ("B10",), f"{OPPOSITE}."),
    statement=opposite_pair,
    given=(TWO_WORDS,),
    proof=prove_pair,
    twin=Twin("the weights in this example", twin_pair),
    expected=Verdict.PROVED,
    remark="Head 1 gives the second word twice the weight of the first, head 2 half of it. "
    "With other matrices it can be any ratio. In the statement $M$ and $N$ are the matrices of the "
    "queries and keys of head 1, $P$ and $X$ those of head 2, and $Y$ and $Z$ the inputs.",
)  # fmt: skip

z, first, second = tensor("z", n, m), tensor("A_1", n, m), tensor("A_2", n, m)


def from_scores(weights: Any, scores: Any, sign: int, key: Any, every: Any, note: str) -> Given:
    def power(key: Any) -> Any:
        return sp.exp(scores[t, key] if sign > 0 else times(-1, scores[t, key]))

    weight = over(power(key), total(power(every), every))
    return Given(forall([t, key], equal(weights[t, key], weight)), note)


def opposite_scores(scores: Any, one: Any, two: Any, key: Any, every: Any) -> tuple[Given, Given]:
    return (
        from_scores(one, scores, 1, key, every, "head 1 has the scores $z$"),
        from_scores(two, scores, -1, key, every, "head 2 has the opposite scores"),
    )


up, down = total(sp.exp(z[t, u]), u), total(sp.exp(times(-1, z[t, u])), u)
reciprocals = total(over(1, first[t, u]), u)
lowered = sp.exp(times(-1, z[t, s]))


def reciprocal(p: Prover, weights: Theorem) -> Theorem:
    """1/A_1 written out, from the definition of A_1."""
    one = p.at(weights, t, s)
    left = T.inv(one.conclusion.children[0])
    inverse = p.rewrite(one, p.equal(left, left, show=False), lambda x: T.eq(left, T.inv(x)))
    return p.equal(
        over(1, first[t, s]), times(up, lowered), (1, inverse),
        reason="the reciprocal of a weight of head 1",
    )  # fmt: skip


def sum_of_reciprocals(p: Prover, inverse: Theorem) -> tuple[Theorem, Theorem]:
    """Their sum, and that it is positive."""
    summed = p.equal(
        reciprocals, times(up, down), p.for_all(inverse, s), reason="the sum of them all"
    )
    return summed, p.order(less(0, reciprocals), (1, summed), reason="which is positive")


def prove_reciprocal(p: Prover) -> Theorem:
    inverse = reciprocal(p, p.hyp(0))
    summed, positive = sum_of_reciprocals(p, inverse)
    multiplied = p.equal(
        times(second[t, s], reciprocals), over(1, first[t, s]),
        (reciprocals, p.at(p.hyp(1), t, s)), (over(lowered, down), summed),
        (times(up, lowered), p.cancel(down)), (-1, inverse),
        reason="times a weight of head 2: its denominator cancels",
    )  # fmt: skip
    divided = p.equal(
        second[t, s], over(over(1, first[t, s]), reciprocals),
        (over(1, reciprocals), multiplied),
        (times(-1, second[t, s]), p.cancel(reciprocals, positive)),
        reason="divide by the sum",
    )  # fmt: skip
    return p.for_all(divided, t, s)


def reciprocals_defined(p: Prover, goal: T.Term) -> Theorem:
    """No weight of head 1 is 0, and neither is the sum of their reciprocals."""
    given = []
    while goal.op == "imp":
        given.append(p.assume(goal.children[0]))
        goal = goal.children[1]
    inverse = reciprocal(p, given[0])
    weight = p.order(less(0, first[t, s]), (1, p.at(given[0], t, s)))
    positive = sum_of_reciprocals(p, inverse)[1]
    shown = (p.for_all(nonzero(p, weight), t, s), p.for_all(nonzero(p, positive), t))
    theorem = next(x for x in shown if x.conclusion is goal)
    for premise in reversed(given):
        theorem = p.discharge(theorem, premise)
    return theorem


def nonzero(p: Prover, positive: Theorem) -> Theorem:
    """not x = 0, from 0 < x."""
    return p.trivial(T.negate(T.eq(positive.conclusion.children[1], T.ZERO)), positive)


def twin_reciprocal(
    rng: np.random.Generator,
    claimed: Callable[[Any], Any] = lambda one: (1 / one) / (1 / one).sum(axis=1, keepdims=True),
) -> Iterator[Trial]:
    for x, y, matrices, _, _ in with_forms(rng):
        one, two = weights_of(x, y, matrices), weights_of(x, y, turned(matrices))
        yield agree(two, claimed(one), "reciprocals")
        if y.shape[0] > 2:
            yield differs(two, (1 - one) / (y.shape[0] - 1), by=1e-9, what="the rest to 1")


def reciprocal_mutations() -> tuple[Mutation, ...]:
    def mistaken(claimed: Callable[[Any], Any]) -> Twin:
        return Twin(
            "weights of the opposite head against what is claimed",
            lambda rng: twin_reciprocal(rng, claimed),
        )

    three_keys = {n: 1, m: 3, z: [[0, 0, 0]]}
    return (
        Mutation(
            "opposite is read as $A_2 = -A_1$",
            statement=forall([t, s], equal(second[t, s], times(-1, first[t, s]))),
            counterexample=Example({n: 1, m: 1, z: [[0]]}),
            twin=mistaken(lambda one: -one),
        ),
        Mutation(
            "opposite is read as $A_2 = 1 - A_1$, which holds with two keys only",
            statement=forall([t, s], equal(second[t, s], minus(1, first[t, s]))),
            counterexample=Example(three_keys),
            twin=mistaken(lambda one: 1 - one),
        ),
        Mutation(
            "the reciprocals are not divided by their sum",
            statement=forall([t, s], equal(second[t, s], over(1, first[t, s]))),
            counterexample=Example(three_keys),
            twin=mistaken(lambda one: 1 / one),
        ),
    )


RECIPROCAL = Claim(
    id="head-patterns/opposite-is-reciprocal",
    title="The weights of the opposite head",
    source=Source(INTERVIEW, ("B10",), f"{OPPOSITE}. What is meant by opposite is not said."),
    statement=forall(
        [t, s],
        equal(second[t, s], over(over(1, first[t, s]), total(over(1, first[t, u]), u))),
    ),
    given=opposite_scores(z, first, second, s, u),
    proof=prove_reciprocal,
    defined=reciprocals_defined,
    twin=Twin("weights of the opposite head against reciprocals", twin_reciprocal),
    mutations=reciprocal_mutations,
    expected=Verdict.PROVED,
    remark=r"Opposite scores give reciprocal weights, up to the sum.",
)  # fmt: skip


def prove_positive(p: Prover) -> Theorem:
    both_positive = p.both(
        p.order(
            less(0, first[t, s]), (1, p.at(p.hyp(0), t, s)),
            reason="a quotient of sums of exponentials is positive",
        ),
        p.order(less(0, second[t, s]), (1, p.at(p.hyp(1), t, s)), reason="and so is this one"),
    )  # fmt: skip
    return p.for_all(both_positive, t, s)


def twin_sign(rng: np.random.Generator) -> Iterator[Trial]:
    for x, y, matrices, _, _ in with_forms(rng):
        one, two = weights_of(x, y, matrices), weights_of(x, y, turned(matrices))
        yield agree(bool((one > 0).all() and (two > 0).all()), True, "both are positive")
        yield differs(two, -one, by=1e-6, what="opposite in sign")


SIGN = Claim(
    id="head-patterns/opposite-in-sign",
    title="Opposite weights are opposite in sign",
    source=Source(
        INTERVIEW, ("B10",),
        f"{OPPOSITE}. A reader may take that for weights of opposite sign, which cancel.",
    ),
    statement=forall([t, s], equal(second[t, s], times(-1, first[t, s]))),
    given=opposite_scores(z, first, second, s, u),
    counterexample=Example({n: 1, m: 1, z: [[0]]}),
    correction=Correction(
        forall([t, s], both(less(0, first[t, s]), less(0, second[t, s]))),
        prove_positive,
        opposite_scores(z, first, second, s, u),
    ),
    twin=Twin("signs of the weights of a head and of its opposite", twin_sign),
    expected=Verdict.REFUTED,
)  # fmt: skip

pair, pair_too = index("s", 2), index("u", 2)
z_2, first_2, second_2 = tensor("z", n, 2), tensor("A_1", n, 2), tensor("A_2", n, 2)
V_2 = tensor("V", 2, d)
two_sum = total(times(plus(first_2[t, pair], second_2[t, pair]), V_2[pair, a]), pair)


def prove_two_keys(p: Prover) -> Theorem:
    def exp(k: int, sign: int) -> Any:
        return sp.exp(times(sign, z_2[t, k]))

    up, down = plus(exp(0, 1), exp(1, 1)), plus(exp(0, -1), exp(1, -1))
    cancels = [p.cancel(up), p.cancel(down)]
    ones = []
    for k, word in ((0, "first"), (1, "second")):
        known = p.calc(
            plus(first_2[t, k], second_2[t, k]),
            (plus(over(exp(k, 1), up), over(exp(k, -1), down)), "insert both", p.hyp(0), p.hyp(1)),
            (
                1,
                f"for the {word} key: over the common denominator, the numerator is the same",
                *one_by_cancelling(p, exp, k, up, down, cancels),
            ),
        )  # fmt: skip
        ones.append(known)
    theorem = p.equal(
        two_sum, total(V_2[pair, a], pair), (V_2[0, a], ones[0]), (V_2[1, a], ones[1]),
        reason="so every value has the weight 1 in the sum of the two heads",
    )  # fmt: skip
    return p.for_all(theorem, t, a)


def one_by_cancelling(
    p: Prover, exp: Callable[[int, int], Any], k: int, up: Any, down: Any, cancels: list[Theorem]
) -> Iterator[tuple[Any, Theorem]]:
    """e_k/up + e_k^-1/down = 1, as both sides agree when multiplied by up and down."""
    inverse_up, inverse_down = over(1, up), over(1, down)
    # x/up (1 - down/down) + y/down (1 - up/up) - (1 - up down / (up down))
    yield times(-1, exp(k, 1), inverse_up), cancels[1]
    yield times(-1, exp(k, -1), inverse_down), cancels[0]
    yield 1, cancels[0]
    yield times(inverse_up, up), cancels[1]


def twin_two_keys(
    rng: np.random.Generator, keys: int = 2, signs: tuple[int, int] = (1, -1)
) -> Iterator[Trial]:
    from numeric import scaled_dot_product_attention

    for queries, width in ((3, 4), (1, 2), (5, 1)):
        q, values = rng.standard_normal((queries, 3)), rng.standard_normal((keys, width))
        k = rng.standard_normal((keys, 3))
        heads = [scaled_dot_product_attention(sign * q, k, values) for sign in signs]
        claimed = np.tile(values.sum(axis=0), (queries, 1))
        yield agree(heads[0] + heads[1], claimed, "two keys")
        k, values = rng.standard_normal((3, 3)), rng.standard_normal((3, width))
        heads = [scaled_dot_product_attention(sign * q, k, values) for sign in (1, -1)]
        claimed = np.tile(2 / 3 * values.sum(axis=0), (queries, 1))
        yield differs(heads[0] + heads[1], claimed, by=1e-9, what="three keys")


def two_keys_mutations() -> tuple[Mutation, ...]:
    twice = 2 * total(V_2[pair, a], pair)
    return (
        Mutation(
            "the two heads have the same scores",
            twin=Twin(
                "sums of two equal heads with two keys",
                lambda rng: twin_two_keys(rng, signs=(1, 1)),
            ),
        ),
        Mutation(
            "both heads are taken to give every value the weight 1",
            statement=forall([t, a], equal(two_sum, twice)),
            counterexample=Example({n: 1, d: 1, z_2: [[0, 0]], V_2: [[1], [0]]}),
        ),
        Mutation(
            "there are three keys",
            twin=Twin(
                "sums of opposite heads with three keys", lambda rng: twin_two_keys(rng, keys=3)
            ),
        ),
    )


TWO_KEYS = Claim(
    id="head-patterns/two-opposite-heads-cancel",
    title="With two keys, opposite heads with equal values cancel",
    source=Source(
        INTERVIEW, ("B10", "B19"),
        f"{OPPOSITE}. What the sum of two such heads does is not said.",
    ),
    statement=forall([t, a], equal(two_sum, total(V_2[pair, a], pair))),
    given=opposite_scores(z_2, first_2, second_2, pair, pair_too),
    proof=prove_two_keys,
    twin=Twin("sums of opposite heads with two keys, and with three", twin_two_keys),
    mutations=two_keys_mutations,
    expected=Verdict.PROVED,
    remark="The weights are $p$ and $1 - p$ in one head, $1 - p$ and $p$ in the other: their sum "
    "does not depend on the query at all. With three keys it does.",
)  # fmt: skip


CLAIMS = (
    FORMS_SUFFICE,
    IFF,
    MATRICES,
    KEY,
    OPPOSITE_HEAD,
    PAIR,
    RECIPROCAL,
    SIGN,
    TWO_KEYS,
)

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
