r"""The backward pass of scaled dot-product attention, without a mask and with one.

A mask is added to the scores, and minus infinity excludes a key; what it does to the exponential
of a score is a factor that is not negative.  So factors stand for masks here, and every query has
a key whose factor is not 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import sympy as sp

from derive import auto
from derive.claim import Claim, Given, Script
from derive.claims._backward import (
    Case,
    Draw,
    Mistake,
    backward_claim,
    defined_as,
    in_form,
    normal,
    paired,
)
from derive.claims._softmax import delta, exp, i, j, k, m, u
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.kernel.terms import Term
from derive.language import (
    GradientIs,
    at_most,
    dims,
    equal,
    forall,
    index,
    less,
    minus,
    negation,
    over,
    power,
    tensor,
    times,
    total,
)
from derive.prover import Prover

ORDER = 72
TOPIC = "backward"

n, d_k, d_v = dims("n d_k d_v")
t, r = index("t", n), index("r", n)
c, e = index("c", d_v), index("e", d_k)
Q, K, V, G = tensor("Q", n, d_k), tensor("K", m, d_k), tensor("V", m, d_v), tensor("G", n, d_v)
Row = Callable[[Any], Any]
A, D, E, S = (tensor(name, n, m) for name in "ADES")
root = sp.sqrt(d_k)

# ---------------------------------------------------------------------- the layer


def score(t: Any, i: Any) -> Any:
    """The scaled dot product of query t with key i."""
    return over(total(times(Q[t, e], K[i, e]), e), root)


def visible(t: Any, i: Any, score: Callable[[Any, Any], Any] = score) -> Any:
    """The exponential of a score, times the factor of the mask."""
    return times(E[t, i], exp(score(t, i)))


def unmasked(t: Any, i: Any) -> Any:
    return exp(score(t, i))


def share(term: Callable[[Any, Any], Any]) -> Any:
    """The weight of key i for query t."""
    return over(term(t, i), total(term(t, u), u))


def loss(term: Callable[[Any, Any], Any]) -> Any:
    """The entries of the output, each times its cotangent."""
    return total(times(G[t, c], total(times(share(term), V[i, c]), i)), t, c)


def upstream(i: Any) -> Any:
    """The gradient by the weight of key i for query t."""
    return total(times(G[t, c], V[i, c]), c)


BY_SCORES = defined_as(
    D, (t, i), times(A[t, i], minus(upstream(i), total(times(A[t, j], upstream(j)), j))),
    r"$D$ is the gradient by the scores before they are scaled: $G V^\top$, passed back through "
    "the softmax",
)  # fmt: skip
BY_QUERY = over(total(times(D[r, i], K[i, e]), i), root)
BY_KEY = over(total(times(D[t, k], Q[t, e]), t), root)
BY_VALUE = total(times(A[t, k], G[t, c]), t)

NOT_NEGATIVE = Given(
    forall([t, i], at_most(0, E[t, i])),
    r"$E$ holds the exponentials of the mask, 0 where that is $-\infty$",
)
SEES_A_KEY = Given(
    forall(t, less(0, total(E[t, i], i))), "every query has a key that the mask does not exclude"
)

# ---------------------------------------------------------------------- proofs


def positive_sum(
    p: Prover, factor: Row, score: Row, at: tuple[Any, Any], not_negative: Row, sees: Theorem
) -> Theorem:
    """0 < Sum_u factor(u) e^{score(u)}: else every factor would be 0.

    `at` are two indices of keys; that a factor is not negative and that their sum is positive are
    given.
    """
    key, u = at

    def term(u: Any) -> Any:
        return times(factor(u), exp(score(u)))

    bottom = total(term(u), u)
    goal = p.formula(less(0, bottom))

    def empty(none: Theorem) -> Theorem:
        apart = 1 - delta(key, u)
        others = p.sum_order(
            p.order(
                at_most(0, times(power(apart, 2), term(u))),
                (exp(score(u)), p.square(apart), not_negative(u)),
            ), u,
        )  # fmt: skip
        lift = exp(-score(key))
        hidden = p.order(at_most(factor(key), 0), (lift, none), (lift, others))
        absurd = p.order(less(0, 0), (1, sees), (1, p.sum_order(hidden, key)))
        return infer("contradiction", [absurd, p.trivial(negation(less(0, 0)))], goal)

    return p.cases(p.dichotomy(bottom, 0), empty, lambda above: above)


def visible_positive(p: Prover, not_negative: Theorem, sees: Theorem) -> Theorem:
    """For every query 0 < Sum_u E_tu e^{z_tu}."""
    positive = positive_sum(
        p, lambda u: E[t, u], lambda u: S[t, u], (k, u),
        lambda u: p.at(not_negative, t, u), p.at(sees, t),
    )  # fmt: skip
    for_any_scores = p.for_all_tensors(p.for_all(positive, t), S)
    return p.at(for_any_scores, p.lam(score(t, u), t, u))


def mask_defined(p: Prover, goal: Term) -> Theorem:
    """No sum of visible exponentials is 0, by the first two hypotheses."""
    if goal.op == "imp":
        with p.supposing(goal.children[0]) as case:
            proved = mask_defined(p, goal.children[1])
        return p.discharge(proved, case)
    if goal.op == "forall":
        x = auto.fresh(goal.data[0], goal.children[:-1], p)
        return p.for_all(mask_defined(p, T.instantiate(goal.children[-1], (x,))), x)
    positive = visible_positive(p, *p.known()[:2])
    queries = (x for x in T.free_symbols(goal) if isinstance(x, Term) and x.data[1] == "fin")
    return p.trivial(goal, p.at(positive, next(queries)))


def prove(goal: GradientIs, masked: bool, *using: int) -> Script:
    """`using` numbers the definitions that the goal needs, from 0 on.

    The softmax is differentiated where the gradient is not told by the weights alone.
    """
    first = 2 if masked else 0

    def script(p: Prover) -> Theorem:
        smooth = [nothing_undefined(p)] if masked and len(using) > 1 else []
        raw = p.gradient(goal, *smooth, reason="product, quotient and chain rule")
        return in_form(
            p, raw, goal, "the deltas leave one row; the rest is what the names stand for",
            *(p.hyp(first + k) for k in using),
        )  # fmt: skip

    return script


def nothing_undefined(p: Prover) -> Theorem:
    """No sum of visible exponentials is 0."""
    positive = p.note(
        visible_positive(p, p.hyp(0), p.hyp(1)),
        "terms of visible keys are positive, and no term is negative",
    )
    bottom = total(visible(t, u), u)
    return p.for_all(p.trivial(negation(equal(bottom, 0)), p.at(positive, t)), t)


# ---------------------------------------------------------------------- the implementation

#: queries, keys, d_k, d_v: no two alike, then one query, one key, one column
SIZES = ((3, 5, 4, 2), (4, 2, 3, 7), (1, 6, 2, 3), (3, 1, 2, 4), (2, 3, 1, 1))


def draw(which: int, masked: bool) -> Draw:
    """`which` numbers the argument."""

    def cases(rng: np.random.Generator) -> Iterator[Case]:
        from numeric import scaled_dot_product_attention, scaled_dot_product_attention_vjp

        for queries, keys, narrow, wide in SIZES:
            q, k, v, cotangent = normal(
                rng, (queries, narrow), (keys, narrow), (keys, wide), (queries, wide)
            )
            mask = random_mask(rng, queries, keys) if masked else None
            output = scaled_dot_product_attention(q, k, v, mask=mask)
            gradients = scaled_dot_product_attention_vjp(q, k, v, cotangent, mask=mask)
            values = {Q: q, K: k, V: v, G: cotangent}
            if mask is not None:
                values[E] = np.exp(mask)
            yield Case(values, paired(cotangent, output), gradients[which])

    return cases


def random_mask(rng: np.random.Generator, queries: int, keys: int) -> Any:
    """Numbers of any sign, and minus infinity for about a third; a key is left for every query."""
    mask = rng.standard_normal((queries, keys))
    mask[rng.random((queries, keys)) < 1 / 3] = -np.inf
    mask[np.arange(queries), rng.integers(0, keys, queries)] = rng.standard_normal(queries)
    return mask


# ---------------------------------------------------------------------- claims

TITLE = {True: "Masked attention", False: "Attention"}
SCORES = (
    r" and $D = A \odot (GV^\top - \rho \mathbf{1}^\top)$, where $\rho$ holds the row sums of "
    r"$A \odot GV^\top$."
)
REMARK = (
    "The implementation gives weights 0 to a query from which every key is excluded; nothing flows "
    "back from it."
)


#: a query that gives both keys the weight 1/2, which are then varied, or varies itself
TWO_KEYS: dict[Any, Any] = {n: 1, m: 2, d_k: 4, d_v: 1, G: [[1]], V: [[1], [0]], E: [[1, 1]]}
NO_QUERY = TWO_KEYS | {Q: [[0, 0, 0, 0]], K: [[1, 0, 0, 0], [0, 0, 0, 0]]}
NO_KEYS = TWO_KEYS | {Q: [[1, 0, 0, 0]], K: [[0, 0, 0, 0], [0, 0, 0, 0]]}

MISTAKES: tuple[tuple[Mistake, ...], ...] = (
    (
        ("not divided by the root", total(times(D[r, i], K[i, e]), i), NO_QUERY),
        (
            "the root of the wrong width",
            over(total(times(D[r, i], K[i, e]), i), sp.sqrt(d_v)),
            NO_QUERY,
        ),
    ),
    (("divided by the width", over(total(times(D[t, k], Q[t, e]), t), d_k), NO_KEYS),),
    (("the weights of the first query", times(A[0, k], G[0, c])),),
)


def claims(masked: bool) -> tuple[Claim, ...]:
    """The gradients by queries, keys and values."""
    term = visible if masked else unmasked
    weights = defined_as(A, (t, i), share(term), "$A$ holds the attention weights")
    summed = loss(term)
    mask = (NOT_NEGATIVE, SEES_A_KEY) if masked else ()

    def claim(
        name: str, formula: str, which: int, goal: GradientIs, definitions: tuple[Given, ...]
    ) -> Claim:
        using = reversed(range(len(definitions)))
        return backward_claim(
            f"attention-{'masked-' if masked else ''}{name}",
            f"{TITLE[masked]}: backward to the {name}",
            f"`scaled_dot_product_attention_vjp` returns ${formula}$ as the gradient by the "
            f"{name}, with $A$ for the attention weights" + (SCORES if which < 2 else ".")
            + (" It takes a mask that is added to the scores." if masked else ""),
            goal, prove(goal, masked, *using), draw(which, masked),
            given=(*mask, *definitions), defined=mask_defined if masked else None,
            mistakes=lambda: MISTAKES[which], remark=REMARK if masked and which == 0 else "",
        )  # fmt: skip

    return (
        claim("queries", r"DK/\sqrt{d_k}", 0, GradientIs(summed, Q, (r, e), BY_QUERY),
              (weights, BY_SCORES)),
        claim("keys", r"D^\top Q/\sqrt{d_k}", 1, GradientIs(summed, K, (k, e), BY_KEY),
              (weights, BY_SCORES)),
        claim("values", r"A^\top G", 2, GradientIs(summed, V, (k, c), BY_VALUE), (weights,)),
    )  # fmt: skip


CLAIMS = (*claims(masked=False), *claims(masked=True))

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
