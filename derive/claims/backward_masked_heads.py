r"""The backward pass of multi-head attention with a mask, by its four matrices and its input.

What a mask does to the exponential of a score is a factor that is not negative (see
`backward_attention`), here one for every head, query and key.  Once the weights have a name the
gradients are those of the layer without a mask.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from derive import auto
from derive.claim import Claim, Given, Script
from derive.claims._backward import Case, Draw, Mistakes, backward_claim, defined_as, paired
from derive.claims._heads import (
    CONCAT,
    W_K,
    W_O,
    W_Q,
    W_V,
    Entry,
    K,
    Q,
    V,
    X,
    a,
    average,
    c,
    concat,
    entries,
    f,
    h,
    head,
    i,
    j,
    l,
    m,
    n,
    o,
    scaled,
    t,
)
from derive.claims._softmax import delta, exp
from derive.claims.backward_attention import REMARK, positive_sum
from derive.claims.backward_multi_head import (
    BY_HEADS,
    G,
    Layer,
    drawn,
    e,
    in_both,
    of_layer,
    prove_output_weight,
    r,
    through_scores,
    through_values,
    told,
)
from derive.claims.backward_multi_head import (
    g as BY_HEAD,
)
from derive.kernel import terms as T
from derive.kernel.rules import Theorem
from derive.kernel.terms import Term
from derive.language import (
    GradientIs,
    at_most,
    equal,
    forall,
    index,
    less,
    negation,
    plus,
    tensor,
    times,
    total,
)
from derive.prover import Prover

ORDER = 73
TOPIC = "backward"


class Masked(Layer):
    """The layer with factors E, the exponentials of a mask."""

    def __init__(self, rows: Any, q_input: Any, k_input: Any, v_input: Any) -> None:
        super().__init__(rows, q_input, k_input, v_input, tensor("E", h, n, rows))
        self.other, self.S = index("u'", rows), tensor("S", h, n, rows)
        s = self.s
        self.mask = (
            Given(
                forall([i, t, s], at_most(0, self.factors[i, t, s])),
                r"$E_i$ holds the exponentials of the mask of head $i$, 0 where that is $-\infty$",
            ),
            Given(
                forall([i, t], less(0, total(self.factors[i, t, s], s))),
                "in every head, every query has a key that the mask does not exclude",
            ),
        )

    def nonzero(
        self, p: Prover, not_negative: Theorem, sees: Theorem, *forms: tuple[Entry, Entry]
    ) -> list[Theorem]:
        """For every head and query the sum of the exponentials is not 0, where queries and keys
        have these forms."""

        def seen(u: Any) -> Any:
            return times(self.factors[i, t, u], exp(self.S[i, t, u]))

        positive = positive_sum(
            p, lambda u: self.factors[i, t, u], lambda u: self.S[i, t, u], (self.other, self.u),
            lambda u: p.at(not_negative, i, t, u), p.at(sees, i, t),
        )  # fmt: skip
        one = p.trivial(negation(equal(total(seen(self.u), self.u), 0)), positive)
        law = p.for_all_tensors(p.for_all(one, i, t), self.S)
        return [p.at(law, p.lam(self.score(q, k, self.u), i, t, self.u)) for q, k in forms]

    def smooth(self, p: Prover) -> list[Theorem]:
        (nonzero,) = self.nonzero(p, p.hyp(0), p.hyp(1), self.explicit[:2])
        p.note(nonzero, "terms of visible keys are positive, and no term is negative")
        here = p.at(nonzero, i, t)
        return [here, p.for_all(here, t, i)]

    def defined(self, p: Prover, goal: Term) -> Theorem:
        """No quotient has the divisor 0, whatever queries and keys are called."""
        if goal.op == "imp":
            with p.supposing(goal.children[0]) as case:
                proved = self.defined(p, goal.children[1])
            return p.discharge(proved, case)
        if goal.op == "forall":
            x = auto.fresh(goal.data[0], goal.children[:-1], p)
            return p.for_all(self.defined(p, T.instantiate(goal.children[-1], (x,))), x)
        free = [x for x in T.free_symbols(goal) if isinstance(x, Term)]
        heads, queries = ([x for x in free if x.children == (p.term(y),)] for y in (h, n))
        forms = self.explicit[:2], (entries(self.q), entries(self.k))
        not_negative, sees, *_ = p.known()
        facts = self.nonzero(p, not_negative, sees, *forms)
        at = (p.at(fact, *place) for fact in facts for place in product(heads, queries))
        return next(fact for fact in at if fact.conclusion is goal)


CROSS, SELF = Masked(m, Q, K, V), Masked(n, X, X, X)

# ---------------------------------------------------------------------- the implementation


def random_mask(rng: np.random.Generator, heads: int, queries: int, keys: int) -> Any:
    """Numbers of any sign, and minus infinity for about a third; a key is left for every query."""
    mask = rng.standard_normal((heads, queries, keys))
    mask[rng.random(mask.shape) < 1 / 3] = -np.inf
    kept = rng.integers(0, keys, (heads, queries, 1))
    np.put_along_axis(mask, kept, rng.standard_normal(kept.shape), axis=-1)
    return mask


def draw(which: str | int) -> Draw:
    """`which` names the argument, or numbers an input."""

    def cases(rng: np.random.Generator) -> Iterator[Case]:
        from numeric import (
            attention_heads,
            concat_heads,
            multi_head_attention,
            multi_head_attention_vjp,
        )

        for x, y, z, w in drawn(rng):
            cotangent, mask = rng.standard_normal(x.shape), random_mask(rng, w.h, len(x), len(y))
            *inputs, weights = multi_head_attention_vjp(x, y, z, w, cotangent, mask=mask)
            gradient = getattr(weights, which) if isinstance(which, str) else inputs[which]
            output = multi_head_attention(x, y, z, w, mask=mask)
            together = concat_heads(attention_heads(x, y, z, w, mask=mask))
            values = {Q: x, K: y, V: z, G: cotangent, concat: together, **of_layer(w)}
            values[CROSS.factors] = np.exp(mask)
            yield Case(values, paired(cotangent, output), gradient)

    return cases


def draw_self(rng: np.random.Generator) -> Iterator[Case]:
    from numeric import self_attention, self_attention_vjp

    for x, _, _, w in drawn(rng):
        cotangent, mask = rng.standard_normal(x.shape), random_mask(rng, w.h, len(x), len(x))
        gradient, _ = self_attention_vjp(x, w, cotangent, mask=mask)
        values = {X: x, G: cotangent, SELF.factors: np.exp(mask), **of_layer(w)}
        yield Case(values, paired(cotangent, self_attention(x, w, mask=mask)), gradient)


# ---------------------------------------------------------------------- claims

FORWARD = CROSS.forward()
BY_QUERIES, BY_KEYS, BY_VALUES = CROSS.backward()
SCORES = (*FORWARD, BY_HEADS, CROSS.by_scores())
HEADS = defined_as(
    head, (i, t, f), average(CROSS.A, CROSS.v, i, t, f), "head $i$ is $A_i v_i$"
)  # fmt: skip
s = CROSS.s


def claim(
    name: str, title: str, formula: str, goal: GradientIs, proof: Script, which: str | int,
    definitions: tuple[Given, ...], mistakes: Mistakes | None = None,
) -> Claim:  # fmt: skip
    return backward_claim(
        f"multi-head-masked-{name}", f"Masked multi-head attention: backward to {title}",
        f"`multi_head_attention_vjp` takes a mask that is added to the scores, and returns "
        f"${formula}$ as the gradient by {title}. The mask changes the weights alone."
        + told(formula),
        goal, proof, draw(which), given=(*CROSS.mask, *definitions), defined=CROSS.defined,
        mistakes=mistakes, only_in_numbers=True, remark=REMARK if name == "query-weight" else "",
    )  # fmt: skip


def in_query(i: Any, t: Any, s: Any) -> Any:
    """How the scaled score of key s for query t changes with entry (a, c) of W^Q_j."""
    return scaled(times(delta(i, j), Q[t, a], CROSS.k[i, s, c]))


def in_key(i: Any, t: Any, s: Any) -> Any:
    return scaled(times(delta(i, j), K[s, a], CROSS.q[i, t, c]))


QUERY_GOAL = GradientIs(
    CROSS.loss, W_Q, (j, a, c), total(times(Q[t, a], CROSS.by_q[j, t, c]), t)
)  # fmt: skip
KEY_GOAL = GradientIs(CROSS.loss, W_K, (j, a, c), total(times(K[s, a], CROSS.by_k[j, s, c]), s))
VALUE_GOAL = GradientIs(CROSS.loss, W_V, (j, a, e), total(times(V[s, a], CROSS.by_v[j, s, e]), s))
OUTPUT_GOAL = GradientIs(CROSS.loss, W_O, (l, o), total(times(concat[t, l], G[t, o]), t))
INPUT_GOAL = GradientIs(
    SELF.loss, X, (r, a),
    plus(
        total(times(SELF.by_q[i, r, c], W_Q[i, a, c]), i, c),
        total(times(SELF.by_k[i, r, c], W_K[i, a, c]), i, c),
        total(times(SELF.by_v[i, r, f], W_V[i, a, f]), i, f),
    ),
)  # fmt: skip

CLAIMS = (
    claim(
        "query-weight", "$W^Q_i$", r"Q^\top q'_i", QUERY_GOAL,
        through_scores(CROSS, QUERY_GOAL, in_query, 6, 5), "w_q", (*SCORES, BY_QUERIES),
        lambda: (("excluded keys count as well", total(times(Q[t, a], CROSS.k[j, s, c]), t, s)),),
    ),
    claim(
        "key-weight", "$W^K_i$", r"K^\top k'_i", KEY_GOAL,
        through_scores(CROSS, KEY_GOAL, in_key, 6, 5), "w_k", (*SCORES, BY_KEYS),
    ),
    claim(
        "value-weight", "$W^V_i$", r"V^\top v'_i", VALUE_GOAL,
        through_values(CROSS, VALUE_GOAL, 4), "w_v", (*FORWARD[:3], BY_HEADS, BY_VALUES),
        lambda: (
            ("every key counts as much as its factor",
             total(times(V[s, a], CROSS.factors[j, t, s], BY_HEAD[j, t, e]), s, t)),
        ),
    ),
    claim(
        "output-weight", "$W^O$", r"\mathrm{Concat}^\top G", OUTPUT_GOAL,
        prove_output_weight(OUTPUT_GOAL, CROSS), "w_o", (*FORWARD, HEADS, CONCAT),
    ),
    backward_claim(
        "self-attention-masked-input", "Masked self-attention: backward to the input",
        "`self_attention_vjp` takes a mask that is added to the scores, and returns as the "
        "gradient by $X$ the sum of what queries, keys and values pass back.",
        INPUT_GOAL,
        through_scores(SELF, INPUT_GOAL, lambda *at: in_both(SELF, *at), 8, 7, 6, 5),
        draw_self,
        given=(*SELF.mask, *SELF.forward(), BY_HEADS, SELF.by_scores(), *SELF.backward()),
        defined=SELF.defined, only_in_numbers=True,
        mistakes=lambda: (
            ("the path through the keys is forgotten",
             plus(*(INPUT_GOAL.args[3].args[path] for path in (0, 2)))),
        ),
    ),
)  # fmt: skip

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
