r"""Attention block by block: the online softmax gives what the softmax of all scores gives.

One query meets the keys block after block.  It keeps a shift ``M``, the sum ``L`` of the
exponentials of all scores so far, each less the shift, and the sums ``O`` of the values with these
factors; where a later block has another shift, what was kept is scaled to it.  Implementations
take the largest score so far for the shift, so that no exponential overflows; that the result is
right holds for any shifts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from derive.claim import Claim, Given, Notation
from derive.claims import NUMERIC
from derive.claims._softmax import exp, log
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.kernel.terms import Term
from derive.language import (
    GradientIs,
    both,
    dims,
    equal,
    forall,
    index,
    less,
    minus,
    natural,
    over,
    plus,
    real,
    sequence,
    tensor,
    times,
    total,
)
from derive.prover import Prover
from derive.result import Source, Verdict
from derive.twin import Trial, Twin
from derive.twin import equal as agree

ORDER = 80
TOPIC = "attention"

# ---------------------------------------------------------------------- two parts

m_1, m_2, d_v = dims("m_1 m_2 d_v")
i, j, c = index("i", m_1), index("j", m_2), index("c", d_v)
x, y = tensor("x", m_1), tensor("y", m_2)
V, U = tensor("V", m_1, d_v), tensor("U", m_2, d_v)
a, b, shift = real("a"), real("b"), real("mu")


def merged(first: Any, second: Any) -> Any:
    """What was kept of two parts, scaled to a common shift."""
    return plus(times(exp(minus(a, shift)), first), times(exp(minus(b, shift)), second))


KEPT = (
    total(exp(minus(x[i], a)), i),
    total(exp(minus(y[j], b)), j),
    total(times(exp(minus(x[i], a)), V[i, c]), i),
    total(times(exp(minus(y[j], b)), U[j, c]), j),
)
WHOLE = plus(total(exp(x[i]), i), total(exp(y[j]), j))
MERGE = forall(
    c,
    equal(
        over(merged(*KEPT[2:]), merged(*KEPT[:2])),
        over(plus(total(times(exp(x[i]), V[i, c]), i), total(times(exp(y[j]), U[j, c]), j)), WHOLE),
    ),
)


def prove_merge(p: Prover) -> Theorem:
    left, right = MERGE.args[1].args
    factor = exp(times(-1, shift))
    below = p.equal(
        merged(*KEPT[:2]), times(factor, WHOLE),
        reason=r"in the denominator: $e^{a-\mu} e^{x_i-a} = e^{-\mu} e^{x_i}$, and likewise for "
               "the second part",
    )  # fmt: skip
    above = p.equal(
        merged(*KEPT[2:]),
        times(factor, right.args[0]),
        reason="and in the numerator, value by value",
    )
    return p.for_all(quotient(p, left, right, above, below, times(-1, shift)), c)


def quotient(
    p: Prover, left: Any, right: Any, above: Theorem, below: Theorem, exponent: Any
) -> Theorem:
    """left = right, two quotients, from their parts, which differ by the factor e^exponent."""
    t, numerator, denominator = real("t"), real("N"), real("D")
    law = p.equal(
        over(times(exp(t), numerator), times(exp(t), denominator)), over(numerator, denominator),
        show=False,
    )  # fmt: skip
    law = p.for_all(law, t, numerator, denominator)
    parts = p.replace(left, above, below)
    cancelled = p.at(law, exponent, *right.args[:1], right.args[1].args[0])
    return p.note(p.linked(parts, cancelled), "the common factor cancels")


def parts(rng: np.random.Generator) -> Iterator[tuple[Any, ...]]:
    """Scores and values of two parts, three shifts."""
    for first, second, width in ((3, 5, 2), (1, 4, 3), (2, 1, 1)):
        scores = rng.standard_normal(first) * 3, rng.standard_normal(second) * 3
        values = rng.standard_normal((first, width)), rng.standard_normal((second, width))
        yield *scores, *values, rng.standard_normal(3) * 5


def twin_merge(rng: np.random.Generator) -> Iterator[Trial]:
    from numeric import softmax

    for one, two, v, u, (first, second, common) in parts(rng):
        totals = np.exp(one - first).sum(), np.exp(two - second).sum()
        sums = np.exp(one - first) @ v, np.exp(two - second) @ u
        scale = np.exp(first - common), np.exp(second - common)
        got = (scale[0] * sums[0] + scale[1] * sums[1]) / (
            scale[0] * totals[0] + scale[1] * totals[1]
        )
        whole = softmax(np.concatenate([one, two])) @ np.concatenate([v, u])
        yield agree(got, whole, f"{len(one)} and {len(two)} keys")


MERGED = Claim(
    id="attention/online-softmax-merge",
    title="Two parts of the keys, merged with any shifts",
    source=Source(
        NUMERIC, (),
        "`blockwise_attention` keeps of a part of the keys the sum of the exponentials of their "
        "scores, each less a shift, and the sum of the values with these factors. Two parts are "
        "merged by scaling both to a common shift.",
    ),
    statement=MERGE,
    proof=prove_merge,
    twin=Twin("two parts merged with random shifts, and softmax of all scores", twin_merge),
    remark=r"The two parts have the scores $x$ and $y$, the values $V$ and $U$ and the shifts $a$ "
    r"and $b$; $\mu$ is the shift of the whole. None of them has to be the largest score.",
    expected=Verdict.PROVED,
)  # fmt: skip

# ---------------------------------------------------------------------- block after block

l = natural("l")
w, rest = dims("w r")
s, shifts, kept = sequence("s"), sequence("M"), sequence("L")
v, mixed = sequence("v", d_v), sequence("O", d_v)
k, rest_key = index("k", w), index("k", rest)
last, output = real("S"), tensor("o", d_v)


def scaled(before: Any, after: Any, kept: Any, met: Any) -> Any:
    """What was kept, scaled from one shift to another, plus what is met now."""
    return plus(times(exp(minus(before, after)), kept), met)


def met(size: Any, start: Any, shift: Any, value: Any) -> Any:
    """The sum over a block that starts at a key; `value` takes the number of a key."""
    at = plus(start, size)
    return total(times(exp(minus(s[at], shift)), *value(at)), size)


def nothing(_: Any) -> tuple[Any, ...]:
    return ()


def of_value(at: Any) -> tuple[Any, ...]:
    return (v[at, c],)


def step(kept: Any, following: Any, value: Any) -> Any:
    block = met(k, times(l, w), shifts[l + 1], value)
    return equal(following, scaled(shifts[l], shifts[l + 1], kept, block))


def summed(number: Any, value: Any) -> Any:
    """The sum over the first keys."""
    at = index("k", number)
    return total(times(exp(s[at]), *value(at)), at)


START = Given(
    both(equal(kept[0], 0), forall(c, equal(mixed[0, c], 0))),
    "before the first block nothing is kept",
)
STEP = Given(
    forall(l, both(step(kept[l], kept[l + 1], nothing),
                   forall(c, step(mixed[l, c], mixed[l + 1, c], of_value)))),
    r"a block of $w$ keys: what was kept is scaled from the shift $M_l$ to $M_{l+1}$",
)  # fmt: skip


def after_blocks(kept: Any, value: Any) -> Any:
    return equal(kept, times(exp(times(-1, shifts[l])), summed(l * w, value)))


AFTER = both(after_blocks(kept[l], nothing), forall(c, after_blocks(mixed[l, c], of_value)))

LAST = Notation(
    equal(last, scaled(shifts[l], shift, kept[l], met(rest_key, times(l, w), shift, nothing))),
    r"the sum of the exponentials behind a last block of $r$ keys, with the shift $\mu$",
)
OUT = Notation(
    forall(
        c,
        equal(
            output[c],
            scaled(shifts[l], shift, mixed[l, c], met(rest_key, times(l, w), shift, of_value)),
        ),
    ),
    "and that of the values",
)
ALL_KEYS = plus(times(l, w), rest)
ATTENTION = over(summed(ALL_KEYS, of_value), summed(ALL_KEYS, nothing))
ONLINE = both(
    forall(c, equal(over(output[c], last), ATTENTION)),
    equal(plus(shift, log(last)), log(summed(ALL_KEYS, nothing))),
)

# ---------------------------------------------------------------------- proofs

f, start, number, key = sequence("f"), natural("a"), natural("b"), natural("k")


def by_induction(
    p: Prover, claim: Any, variable: Any, base: Callable[[Term], Theorem],
    step: Callable[[Theorem, Term], Theorem],
) -> Theorem:  # fmt: skip
    """For all naturals; `base` and `step` are given the case that they have to prove."""
    now, at = p.formula(claim), p.term(variable)
    first = base(T.substitute(now, {at: T.ZERO}))
    with p.supposing(now) as known:
        following = step(known, T.substitute(now, {at: T.add(at, T.ONE)}))
    return p.induction(first, p.discharge(following, known), variable)


def split_law(p: Prover) -> Theorem:
    """For all sequences and all a, b: the sum of a + b terms is that of a, and that of b behind."""
    whole, first, behind = (index("i", size) for size in (start + number, start, number))
    terms = total(f[whole], whole), total(f[first], first), total(f[start + behind], behind)
    claim = equal(terms[0], plus(*terms[1:]))

    def longer(sum_: Any) -> Theorem:
        size, body = p.term(sum_).children
        return infer("unroll", [], "sum", size, body)

    def step(known: Theorem, goal: Term) -> Theorem:
        one_more = longer(terms[0]), longer(terms[2])
        return p.equal(*goal.children, (1, one_more[0]), (-1, one_more[1]), (1, known), show=False)

    law = by_induction(
        p, claim, number, lambda goal: p.equal(*goal.children, show=False), step
    )  # fmt: skip
    return p.for_all_tensors(p.for_all(law, start), f)


#: what is summed, without and with the values
BODIES = (exp(s[key]), times(exp(s[key]), v[key, c]))


def of_both(p: Prover, goal: Term, proof: Callable[[int, Term], Theorem]) -> Theorem:
    """The statement about L, and for every column that about O."""
    kept, mixed = goal.children
    column = T.instantiate(mixed.children[1], (p.term(c),))
    return p.both(proof(0, kept), p.for_all(proof(1, column), c))


def parts_of(p: Prover, known: Theorem) -> tuple[Theorem, Theorem]:
    return p.part(known, 0), p.at(p.part(known, 1), c)


def after_all_blocks(p: Prover, start: Theorem, recurrence: Theorem) -> Theorem:
    """For all l: AFTER."""
    law = split_law(p)
    nothing_kept = parts_of(p, start)

    def base(goal: Term) -> Theorem:
        return of_both(
            p, goal, lambda n, part: p.equal(*part.children, nothing_kept[n], show=False)
        )

    def step(known: Theorem, goal: Term) -> Theorem:
        now, block = parts_of(p, known), parts_of(p, p.at(recurrence, l))
        scale, factor = exp(minus(shifts[l], shifts[l + 1])), exp(times(-1, shifts[l + 1]))

        def one_block_more(n: int, part: Term) -> Theorem:
            longer = p.at(law, p.lam(BODIES[n], key), l * w, w)
            return p.equal(
                *part.children, (1, block[n]), (scale, now[n]), (times(-1, factor), longer),
                show=False,
            )  # fmt: skip

        return of_both(p, goal, one_block_more)

    return by_induction(p, AFTER, l, base, step)


def behind_last(
    p: Prover, blocks: Theorem, last_sum: Theorem, last_values: Theorem
) -> tuple[Theorem, Theorem]:
    """The sums behind the last block are e^-mu times those over all keys."""
    law, now = split_law(p), parts_of(p, p.at(blocks, l))
    block = last_sum, p.at(last_values, c)
    scale, factor = exp(minus(shifts[l], shift)), exp(times(-1, shift))
    below, above = (
        p.equal(
            left, times(factor, summed(ALL_KEYS, value)), (1, block[n]), (scale, now[n]),
            (times(-1, factor), p.at(law, p.lam(BODIES[n], key), l * w, rest)), show=False,
        )
        for n, (left, value) in enumerate(((last, nothing), (output[c], of_value)))
    )  # fmt: skip
    return below, above


def prove_online(p: Prover) -> Theorem:
    blocks = p.note(
        after_all_blocks(p, p.hyp(0), p.hyp(1)),
        r"by induction: for no block both sides are 0, and with one block more $e^{M_l - M_{l+1}} "
        r"e^{-M_l} = e^{-M_{l+1}}$ stands before the sum over the earlier keys",
    )
    below, above = behind_last(p, blocks, p.hyp(2), p.hyp(3))
    p.note(below, r"the same for the last block, with the shift $\mu$")
    p.note(above, "and for the values")
    average = quotient(p, over(output[c], last), ATTENTION, above, below, times(-1, shift))
    return p.both(p.for_all(average, c), normalizer(p, below))


def normalizer(p: Prover, below: Theorem) -> Theorem:
    """The shift plus the logarithm of what was kept is the logarithm of the whole sum."""
    whole, factor = summed(ALL_KEYS, nothing), exp(times(-1, shift))
    split = p.mp(
        p.axiom("log-product", factor, whole), p.trivial(less(0, factor)),
        p.trivial(less(0, whole)),
    )  # fmt: skip
    return p.equal(
        plus(shift, log(last)), log(whole), (1, p.replace(log(last), below)), (1, split),
        reason=r"a product has the sum of the logarithms, and $\log e^{-\mu} = -\mu$",
    )  # fmt: skip


def online_defined(p: Prover, goal: Term, known: tuple[Theorem, ...] = ()) -> Theorem:
    """What is divided by is positive, since there is a key in the last block."""
    if goal.op == "imp":
        with p.supposing(goal.children[0]) as case:
            proved = online_defined(p, goal.children[1], (*known, case))
        return p.discharge(proved, case)
    start, recurrence, last_sum, last_values = known[:4]
    blocks = after_all_blocks(p, start, recurrence)
    below, _ = behind_last(p, blocks, last_sum, last_values)
    return p.trivial(goal, p.order(less(0, last), (1, below)))


# ---------------------------------------------------------------------- the implementation


def blocks_of(scores: Any, values: Any, width: int, shifts: Any) -> tuple[float, Any]:
    """What the recurrence keeps, with any shifts."""
    kept, mixed, before = 0.0, np.zeros(values.shape[1]), 0.0
    for number, at in enumerate(range(0, len(scores), width)):
        after = shifts[number]
        factors = np.exp(scores[at : at + width] - after)
        kept = np.exp(before - after) * kept + factors.sum()
        mixed = np.exp(before - after) * mixed + factors @ values[at : at + width]
        before = after
    return kept, mixed


def queries(rng: np.random.Generator) -> Iterator[tuple[Any, ...]]:
    """Queries, keys, values and the width of a block; no two sizes agree where they can differ."""
    sizes = ((3, 7, 4, 2, 3), (2, 6, 3, 5, 2), (1, 5, 2, 1, 8), (4, 3, 1, 2, 1))
    for rows, number, narrow, wide, width in sizes:
        yield (
            rng.standard_normal((rows, narrow)) * 2, rng.standard_normal((number, narrow)) * 2,
            rng.standard_normal((number, wide)), width,
        )  # fmt: skip


def twin_online(rng: np.random.Generator) -> Iterator[Trial]:
    """The recurrence with random shifts, and the implementation with the largest scores."""
    from numeric import scaled_dot_product_attention, scaled_scores
    from numeric.blockwise_attention import blockwise_attention

    for query, keys, values, width in queries(rng):
        plain = scaled_dot_product_attention(query, keys, values)
        yield agree(blockwise_attention(query, keys, values, block=width), plain, "implementation")
        for row, expected in zip(scaled_scores(query, keys), plain, strict=True):
            shifts = rng.standard_normal(len(row)) * 3
            kept, mixed = blocks_of(row, values, width, shifts)
            yield agree(mixed / kept, expected, f"blocks of {width}, any shifts")
            final = shifts[(len(row) - 1) // width]
            yield agree(final + np.log(kept), np.log(np.exp(row).sum()), "logarithm of the sum")


ONLINE_SOFTMAX = Claim(
    id="attention/online-softmax",
    title="Attention block by block is attention",
    source=Source(
        NUMERIC, (),
        "`blockwise_attention` never holds all scores of a query. Block by block it keeps a "
        "shift, the sum of the exponentials of the scores less the shift, and the sum of the "
        "values with these factors, scales what was kept where the shift changes, and divides at "
        "the end. The last block may have another length.",
    ),
    statement=ONLINE,
    given=(START, STEP, LAST, OUT),
    proof=prove_online,
    defined=online_defined,
    twin=Twin(
        "blockwise attention and the recurrence with random shifts, and attention", twin_online
    ),
    remark="$l$ blocks of $w$ keys and a last one of $r$ make any number of keys; $s_k$ is the "
    "score of key $k$ for one query. The shifts are any numbers. With the largest score so far no "
    "exponent is positive. The logarithm in the second equation is what the backward pass keeps.",
    expected=Verdict.PROVED,
)  # fmt: skip

# ---------------------------------------------------------------------- backward

(m,) = dims("m")
h, u, at = (index(name, m) for name in "kuj")
z, Y, g = tensor("z", m), tensor("V", m, d_v), tensor("g", d_v)
normal, mean = real("lambda"), real("rho")
BOTTOM = total(exp(z[u]), u)


def weight(i: Any) -> Any:
    return over(exp(z[i]), BOTTOM)


def by_weight(i: Any) -> Any:
    return total(times(g[c], Y[i, c]), c)


ATTENDED = total(times(weight(h), Y[h, c]), h)
NORMALIZER = Notation(
    equal(normal, log(BOTTOM)), "what the forward pass keeps of a query besides its output"
)
MEAN = Notation(
    equal(mean, total(times(g[c], ATTENDED), c)), "the product of the output with its cotangent"
)
BACKWARD = GradientIs(
    total(times(g[c], ATTENDED), c), z, at,
    times(exp(minus(z[at], normal)), minus(by_weight(at), mean)),
)  # fmt: skip


def prove_backward(p: Prover) -> Theorem:
    kept = exp(minus(z[at], normal))
    inserted = p.replace(kept, p.hyp(0))
    found = p.linked(inserted, p.equal(inserted.conclusion.children[1], weight(at), show=False))
    p.note(found, "so the weight of a key needs no other key")
    raw = p.gradient(BACKWARD, reason="product and quotient rule")
    entry = p.equal(
        p.partial(raw, at), BACKWARD.args[3], (minus(mean, by_weight(at)), found),
        (weight(at), p.hyp(1)),
        reason="the average of the gradients of the weights is the product with the output",
    )  # fmt: skip
    return p.note(p.with_partial(raw, entry, at), "so this is the gradient")


def twin_backward(rng: np.random.Generator) -> Iterator[Trial]:
    """The gradients by queries, keys and values from that by the scores."""
    from numeric import scaled_dot_product_attention, scaled_scores
    from numeric.blockwise_attention import blockwise_attention_vjp

    for query, keys, values, width in queries(rng):
        cotangent = rng.standard_normal((len(query), values.shape[1]))
        found = blockwise_attention_vjp(query, keys, values, cotangent, block=width)
        scores = scaled_scores(query, keys)
        output = scaled_dot_product_attention(query, keys, values)
        weights = np.exp(scores - np.log(np.exp(scores).sum(axis=1, keepdims=True)))
        product = (cotangent * output).sum(axis=1, keepdims=True)
        by_scores = weights * (cotangent @ values.T - product) / np.sqrt(query.shape[1])
        claimed = by_scores @ keys, by_scores.T @ query, weights.T @ cotangent
        for name, got, expected in zip("QKV", found, claimed, strict=True):
            yield agree(got, expected, f"gradient by {name}, blocks of {width}")


ONLINE_BACKWARD = Claim(
    id="attention/online-softmax-backward",
    title="The gradient by a score needs no other score",
    source=Source(
        NUMERIC, (),
        "`blockwise_attention_vjp` keeps of the forward pass the output and, for every query, the "
        "logarithm of the sum of the exponentials. It makes the scores of a block again; the "
        "weights are the exponentials of the scores less that logarithm, and in place of the "
        "average over all keys stands the product of the output with its cotangent.",
    ),
    statement=BACKWARD,
    given=(NORMALIZER, MEAN),
    proof=prove_backward,
    twin=Twin("the blockwise backward pass by its formula", twin_backward),
    expected=Verdict.PROVED,
)  # fmt: skip

CLAIMS = (MERGED, ONLINE_SOFTMAX, ONLINE_BACKWARD)

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
