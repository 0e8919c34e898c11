r"""Splitting into heads: by columns, after the projection.

The interview note projects the inputs once and splits the result along the feature axis.  That is
the same as a projection by each head's own matrices.  As a reshape it needs the swap of two axes:
other ways to cut have the right shape, too, and take the wrong numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import sympy as sp

from derive.claim import Claim, Correction, Example, Given, Mutation
from derive.claims import INTERVIEW
from derive.claims._heads import (
    KEYS,
    QUERIES,
    VALUES,
    W_K,
    W_Q,
    W_V,
    WEIGHTS,
    A,
    K,
    Q,
    V,
    X,
    a,
    attends,
    average,
    c,
    d,
    d_k,
    d_v,
    f,
    h,
    i,
    j,
    keys,
    layers,
    m,
    n,
    other_A,
    position,
    projected,
    queries,
    s,
    same_weights,
    score,
    t,
    values,
)
from derive.kernel.rules import Theorem, infer
from derive.language import (
    at_most,
    dim,
    either,
    equal,
    forall,
    iff,
    implies,
    index,
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

ORDER = 16
TOPIC = "head-split"

delta = sp.KroneckerDelta


#: Splits the columns of an array (n, h * width) into (h, n, width).
Split = Callable[[Any, int], Any]


# ---------------------------------------------------------------------- project, then split

full_Q, full_K = tensor("W_all^Q", d, h * d_k), tensor("W_all^K", d, h * d_k)
full_V = tensor("W_all^V", d, h * d_v)
split_Q, split_K = tensor("q'", h, n, d_k), tensor("k'", h, m, d_k)
split_V = tensor("v'", h, m, d_v)


def column(i: Any, c: Any) -> Any:
    """Column `c` of the part of head `i`, where every head has d_k columns."""
    return plus(times(i, d_k), c)


def blocks(own: Any, full: Any, at: Any, c: Any) -> Given:
    return Given(
        forall([i, a, c], equal(own[i, a, c], full[a, at(i, c)])),
        "the matrices of the heads stand side by side in one",
    )


BLOCKS_Q = blocks(W_Q, full_Q, column, c)
BLOCKS_K = blocks(W_K, full_K, column, c)
BLOCKS_V = blocks(W_V, full_V, position, f)


def at_once(x: Any, full: Any, t: Any, column: Any) -> Any:
    """An entry of the input times the matrix of all heads."""
    return total(times(x[t, a], full[a, column]), a)


def beside(w: Any) -> Any:
    """The matrices of the heads side by side, (d_model, h * width)."""
    return np.concatenate(list(w), axis=1)


def prove_split(p: Prover) -> Theorem:
    theorem = p.equal(
        at_once(X, full_Q, t, column(i, c)), projected(X, W_Q, i, t, c), p.hyp(0),
        reason="a column of a product uses that column of the second factor only",
    )  # fmt: skip
    return p.for_all(theorem, i, t, c)


def dealt_out(x: Any, heads: int) -> Any:
    """Every h-th column for a head, (h, n, width)."""
    return np.stack([x[:, k::heads] for k in range(heads)])


def twin_split(rng: np.random.Generator, split: Split | None = None) -> Iterator[Trial]:
    from numeric import linear, split_heads

    for x, y, z, weights in layers(rng):
        for token, w in ((x, weights.w_q), (y, weights.w_k), (z, weights.w_v)):
            together = linear(token, beside(w))
            yield agree((split or split_heads)(together, weights.h), token @ w, "split")
            if weights.h > 1 and w.shape[2] > 1:
                strided = dealt_out(together, weights.h)
                yield differs(strided, token @ w, by=1e-9, what="every h-th column")


def split_mutations() -> tuple[Mutation, ...]:
    def split_with(column: Callable[[Any, Any], Any]) -> Any:
        product = at_once(X, full_Q, t, column(i, c))
        return forall([i, t, c], equal(product, projected(X, W_Q, i, t, c)))

    return (
        Mutation(
            "head $i$ gets every $h$-th column of the product, from column $i$ on",
            statement=split_with(strided),
            counterexample=Example({n: 1, d: 1, h: 2, d_k: 2, X: [[1]], full_Q: [[0, 1, 2, 3]]}),
            twin=Twin(
                "columns of one product that are dealt out",
                lambda rng: twin_split(rng, dealt_out),
            ),
        ),
        Mutation(
            "every head gets the columns of the first",
            statement=split_with(lambda i, c: c),
            counterexample=Example({n: 1, d: 1, h: 2, d_k: 1, X: [[1]], full_Q: [[0, 1]]}),
        ),
    )


SPLIT = Claim(
    id="head-split/project-then-split",
    title="One projection, split by columns",
    source=Source(
        INTERVIEW, ("B05", "B07"),
        r"The input $X$ is mapped linearly to $Q, K, V$, which are then split along the feature "
        "axis into the parts of the heads.",
    ),
    statement=forall(
        [i, t, c],
        equal(at_once(X, full_Q, t, column(i, c)), projected(X, W_Q, i, t, c)),
    ),
    given=(BLOCKS_Q,),
    proof=prove_split,
    twin=Twin("columns of one product against the products of the heads", twin_split),
    mutations=split_mutations,
    expected=Verdict.PROVED,
    remark="So matrices for each head need no split, and the split needs no matrices for each "
    "head: it is the same computation. What is split are the projected matrices.",
)  # fmt: skip


def splits(y: Any, x: Any, full: Any, t: Any, at: Any, c: Any) -> Given:
    return Given(
        forall([i, t, c], equal(y[i, t, c], at_once(x, full, t, at(i, c)))),
        "the part of head $i$, split off one product",
    )


SPLIT_WEIGHTS = attends(other_A, split_Q, split_K, "attention weights on the split parts")


def prove_split_heads(p: Prover) -> Theorem:
    query, key, value = (
        p.equal(
            split, own, p.hyp(3 + k), p.hyp(6 + k), p.hyp(k),
            reason=f"split {name} are those of the head",
        )
        for k, name, split, own in (
            (0, "queries", split_Q[i, t, c], queries[i, t, c]),
            (1, "keys", split_K[i, s, c], keys[i, s, c]),
            (2, "values", split_V[i, s, f], values[i, s, f]),
        )
    )  # fmt: skip
    scores = p.equal(
        score(split_Q, split_K), score(queries, keys), p.for_all(query, c), p.for_all(key, s, c),
        reason="so the scores are the same",
    )  # fmt: skip
    weights = same_weights(p, scores, p.at(p.hyp(10), i, t, s), p.at(p.hyp(9), i, t, s))
    theorem = p.equal(
        average(other_A, split_V, i, t, f), average(A, values, i, t, f),
        weights, p.for_all(value, s), reason="and so is the average",
    )  # fmt: skip
    return p.for_all(theorem, i, t, f)


def twin_split_heads(
    rng: np.random.Generator, attend: Callable[..., Any] | None = None
) -> Iterator[Trial]:
    from numeric import attention_heads, scaled_dot_product_attention, split_heads

    for x, y, z, weights in layers(rng):
        parts = [
            split_heads(token @ beside(w), weights.h)
            for token, w in ((x, weights.w_q), (y, weights.w_k), (z, weights.w_v))
        ]
        heads = (attend or scaled_dot_product_attention)(*parts)
        yield agree(heads, attention_heads(x, y, z, weights), "heads")


def one_softmax(queries: Any, keys: Any, values: Any) -> Any:
    """Attention of all heads with one softmax over their scores, side by side."""
    from numeric import concat_heads, scaled_scores, softmax, split_heads

    together = softmax(concat_heads(scaled_scores(queries, keys)))
    return split_heads(together, len(queries)) @ values


def split_heads_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "the scores of the heads are joined before the softmax",
            twin=Twin(
                "heads from split projections with one softmax for all",
                lambda rng: twin_split_heads(rng, one_softmax),
            ),
        ),
    )


SPLIT_HEADS = Claim(
    id="head-split/both-ways-agree",
    title="Splitting one projection gives the heads with their own matrices",
    source=Source(
        INTERVIEW, ("B05", "B06"),
        "Two descriptions: project once, then split into heads; or project each head by its own "
        "linear map. On each part, scaled dot-product attention is computed.",
    ),
    statement=forall(
        [i, t, f], equal(average(other_A, split_V, i, t, f), average(A, values, i, t, f))
    ),
    given=(
        BLOCKS_Q, BLOCKS_K, BLOCKS_V,
        splits(split_Q, Q, full_Q, t, column, c),
        splits(split_K, K, full_K, s, column, c),
        splits(split_V, V, full_V, s, position, f),
        QUERIES, KEYS, VALUES, WEIGHTS, SPLIT_WEIGHTS,
    ),
    proof=prove_split_heads,
    twin=Twin("heads from split projections against heads by their matrices", twin_split_heads),
    mutations=split_heads_mutations,
    expected=Verdict.PROVED,
    remark="The note uses $Q, K, V$ for the inputs of the layer in one place and for the projected "
    "matrices in another; here they are the inputs.",
)  # fmt: skip

r = dim("r")
x_column = index("k", r)
every = index("l", h * r)
parts_of_X, U = tensor("X", n, h * r), tensor("U", h, r, d_k)
diagonal = tensor("W", h * r, h * d_k)
block_diagonal = forall(
    [j, x_column, i, c],
    equal(diagonal[j * r + x_column, column(i, c)], times(delta(i, j), U[i, x_column, c])),
)


whole_token = total(times(parts_of_X[t, every], diagonal[every, column(i, c)]), every)
own_part = total(times(parts_of_X[t, i * r + x_column], U[i, x_column, c]), x_column)


def prove_split_first(p: Prover) -> Theorem:
    def branch(blocks: Theorem) -> Theorem:
        numbered = p.blocks(whole_token, h, r)
        p.note(numbered, r"number the columns by part $j$ and place $l$: $j\,r + l$")
        theorem = p.calc(
            whole_token,
            (
                total(
                    times(parts_of_X[t, j * r + x_column], delta(i, j), U[i, x_column, c]),
                    j, x_column,
                ),
                "insert the blocks", numbered, blocks,
            ),
            (own_part, "only the part with $j = i$ is left"),
        )  # fmt: skip
        return p.for_all(theorem, i, t, c)

    return p.suppose(
        block_diagonal, branch, "let the matrix have the blocks $U_i$ on its diagonal, else zeros"
    )


def twin_split_first(rng: np.random.Generator, elsewhere: float = 0.0) -> Iterator[Trial]:
    """Split, then project; its matrix has h^2 times fewer free entries in h^2 blocks."""
    from numeric import split_heads

    for heads, tokens, width, out in ((4, 3, 2, 5), (3, 2, 4, 1), (1, 3, 2, 4)):
        x = rng.standard_normal((tokens, heads * width))
        w = rng.standard_normal((heads, width, out))
        matrix = np.full((heads * width, heads * out), elsewhere)
        for k in range(heads):
            matrix[k * width : (k + 1) * width, k * out : (k + 1) * out] = w[k]
        yield agree(split_heads(x, heads) @ w, split_heads(x @ matrix, heads), "block-diagonal")
        if heads > 1:
            dense = rng.standard_normal(matrix.shape)
            far = split_heads(x @ dense, heads)
            yield differs(split_heads(x, heads) @ w, far, by=1e-2, what="another matrix")


def split_first_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "the input is split before a projection by any matrix",
            statement=forall([i, t, c], equal(whole_token, own_part)),
            counterexample=Example({
                n: 1, h: 1, r: 1, d_k: 1, parts_of_X: [[1]], diagonal: [[1]], U: [[[2]]],
            }),
            twin=Twin(
                "split inputs against a matrix without zeros",
                lambda rng: twin_split_first(rng, elsewhere=1.0),
            ),
        ),
    )  # fmt: skip


SPLIT_FIRST = Claim(
    id="head-split/split-before-projection",
    title="Splitting the input first is a special case",
    source=Source(
        INTERVIEW, ("B05",),
        "First the linear map, then the split; what the other order would be is not said. That "
        "the matrix is block-diagonal is a premise of this claim.",
    ),
    statement=implies(block_diagonal, forall([i, t, c], equal(whole_token, own_part))),
    proof=prove_split_first,
    twin=Twin("split inputs against a block-diagonal projection", twin_split_first),
    mutations=split_first_mutations,
    expected=Verdict.PROVED,
    remark=r"Head $i$ then sees only its part of every token. The blocks have $h\,r\,d_k$ entries, "
    r"where a full matrix has $h$ times as many.",
)  # fmt: skip


# ---------------------------------------------------------------------- reshapes


def row_major(t: Any, i: Any, c: Any) -> Any:
    """The place of entry (t, i d_k + c) of an n by h d_k matrix that is stored row by row."""
    return plus(times(t, times(h, d_k)), column(i, c))


def tokens_first(t: Any, i: Any, c: Any) -> Any:
    """The place of entry (t, i, c) of an array of shape (n, h, d_k)."""
    return plus(times(plus(times(t, h), i), d_k), c)


def heads_first(t: Any, i: Any, c: Any) -> Any:
    """The place of entry (i, t, c) of an array of shape (h, n, d_k)."""
    return plus(times(plus(times(i, n), t), d_k), c)


def strided(i: Any, c: Any) -> Any:
    """Column c of head i, if the heads take every h-th column in turn."""
    return plus(times(c, h), i)


FEATURES = "The split is along the feature axis. No code is given."


def prove_reshape(p: Prover) -> Theorem:
    theorem = p.equal(
        row_major(t, i, c), tokens_first(t, i, c),
        reason="take $d_k$ out of the first two terms",
    )  # fmt: skip
    return p.for_all(theorem, t, i, c)


def projections(rng: np.random.Generator) -> Iterator[tuple[Any, int, int, int]]:
    """Projected tokens (n, h d_k) with n, h and d_k; none of them coincide, then ones."""
    for tokens, heads, width in ((3, 4, 2), (2, 3, 5), (1, 4, 3), (3, 1, 2), (4, 2, 1)):
        yield rng.standard_normal((tokens, heads * width)), tokens, heads, width


def sliced(x: Any, heads: int, width: int) -> Any:
    return np.stack([x[:, k * width : (k + 1) * width] for k in range(heads)])


def swapped(x: Any, tokens: int, heads: int, width: int) -> Any:
    return x.reshape(tokens, heads, width).swapaxes(0, 1)


def twin_reshape(
    rng: np.random.Generator, reshaped: Callable[..., Any] = swapped
) -> Iterator[Trial]:
    from numeric import split_heads

    for x, tokens, heads, width in projections(rng):
        parts = reshaped(x, tokens, heads, width)
        yield agree(parts, split_heads(x, heads), "reshape and swap")
        yield agree(split_heads(x, heads), sliced(x, heads, width), "split_heads")


def reshape_mutations() -> tuple[Mutation, ...]:
    def at_once(x: Any, tokens: int, heads: int, width: int) -> Any:
        return x.reshape(heads, tokens, width)

    return (
        Mutation(
            "the array is reshaped to $(h, n, d_k)$ at once",
            statement=forall([t, i, c], equal(row_major(t, i, c), heads_first(t, i, c))),
            counterexample=Example({n: 2, h: 2, d_k: 1}),
            twin=Twin(
                "arrays reshaped at once against slices", lambda rng: twin_reshape(rng, at_once)
            ),
        ),
    )


RESHAPE = Claim(
    id="head-split/reshape-and-swap",
    title="Reshape to $(n, h, d_k)$, then swap the first two axes",
    source=Source(INTERVIEW, ("B07",), f"{FEATURES} This is how the split is computed."),
    statement=forall([t, i, c], equal(row_major(t, i, c), tokens_first(t, i, c))),
    proof=prove_reshape,
    twin=Twin("reshaped and swapped arrays against slices", twin_reshape),
    mutations=reshape_mutations,
    expected=Verdict.PROVED,
    remark=r"A reshape keeps every number at its place in memory, row by row: entry "
    r"$(t, i\,d_k + c)$ becomes entry $(t, i, c)$.",
)  # fmt: skip


def only_one(p: Prover, index: Any, size: Any, one: Theorem) -> Theorem:
    """The index is 0, where the size is 1."""
    below = p.order(at_most(plus(index, 1), size))
    high = p.order(at_most(index, 0), (1, below), (-1, one))
    return infer("antisymmetry", [high, p.order(at_most(0, index))])


def exactly_one(p: Prover, size: Any, at_most_one: Theorem) -> Theorem:
    return infer("antisymmetry", [at_most_one, p.order(at_most(1, size))])


def either_is_one(
    p: Prover, statement: Any, first: Any, second: Any,
    instance: Callable[[Theorem, Theorem], Theorem], trivially: Callable[[Theorem, Any], Theorem],
) -> Theorem:  # fmt: skip
    """statement <-> first = 1 or second = 1.

    `instance` proves second = 1 from the statement and 2 <= first; `trivially` proves the
    statement from the equation of one of the sizes with 1.
    """
    ones = either(equal(first, 1), equal(second, 1))

    def forward(everywhere: Theorem) -> Theorem:
        def small(case: Theorem) -> Theorem:
            return infer("disjunct", [exactly_one(p, first, case)], p.formula(ones), 0)

        def large(case: Theorem) -> Theorem:
            second_is_one = instance(everywhere, p.next_integer(case))
            return infer("disjunct", [second_is_one], p.formula(ones), 1)

        return p.cases(p.dichotomy(first, 1), small, large)

    def backward(some: Theorem) -> Theorem:
        return p.cases(some, lambda one: trivially(one, first), lambda one: trivially(one, second))

    return p.both(
        p.suppose(statement, forward, "suppose that the two agree everywhere"),
        p.suppose(ones, backward, "conversely, let one of the two sizes be 1"),
    )


straight = forall([t, i, c], equal(row_major(t, i, c), heads_first(t, i, c)))


def prove_direct_iff(p: Prover) -> Theorem:
    def instance(everywhere: Theorem, two: Theorem) -> Theorem:
        second_token = p.equal(
            times(h, d_k), d_k, (1, p.at(everywhere, 1, 0, 0, facts=[two])),
            reason="take the second token of the first head, $t=1$ and $i=c=0$",
        )  # fmt: skip
        return p.equal(h, 1, (over(1, d_k), second_token), reason="divide by $d_k$")

    def trivially(one: Theorem, size: Any) -> Theorem:
        zero = only_one(p, t if size is n else i, size, one)
        name = "t" if size is n else "i"
        theorem = p.equal(
            row_major(t, i, c), heads_first(t, i, c), one, zero,
            reason=f"with ${size}=1$ only ${name}=0$ occurs",
        )  # fmt: skip
        return p.for_all(theorem, t, i, c)

    return either_is_one(p, straight, n, h, instance, trivially)


def twin_direct(rng: np.random.Generator) -> Iterator[Trial]:
    for x, tokens, heads, width in projections(rng):
        right, direct = sliced(x, heads, width), x.reshape(heads, tokens, width)
        yield agree(direct.shape, right.shape, "shapes agree")
        same = bool(np.array_equal(direct, right))
        yield agree(same, tokens == 1 or heads == 1, f"n={tokens}, h={heads}")


def direct_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "only one token makes it right, not one head",
            statement=iff(straight, equal(n, 1)),
            counterexample=Example({n: 2, h: 1, d_k: 1}),
        ),
    )


DIRECT = Claim(
    id="head-split/reshape-without-swap",
    title="Reshaping to $(h, n, d_k)$ at once gives the heads",
    source=Source(
        INTERVIEW, ("B07",),
        f"{FEATURES} A reader may take it for a reshape into the shape $(h, n, d_k)$ that the "
        "heads have.",
    ),
    statement=straight,
    counterexample=Example({n: 2, h: 2, d_k: 1}),
    correction=Correction(iff(straight, either(equal(n, 1), equal(h, 1))), prove_direct_iff),
    twin=Twin("reshaped arrays against slices", twin_direct),
    mutations=direct_mutations,
    expected=Verdict.REFUTED,
    remark="The shape is right, but the rows of one head then come from several tokens. A test "
    "with one token or one head does not see it.",
)  # fmt: skip

every_hth = forall([i, c], equal(column(i, c), strided(i, c)))


def prove_stride_iff(p: Prover) -> Theorem:
    def instance(everywhere: Theorem, two: Theorem) -> Theorem:
        return p.equal(
            d_k, 1, (1, p.at(everywhere, 1, 0, facts=[two])),
            reason="take the first column of the second head, $i=1$ and $c=0$",
        )  # fmt: skip

    def trivially(one: Theorem, size: Any) -> Theorem:
        zero = only_one(p, i if size is h else c, size, one)
        name = "i" if size is h else "c"
        theorem = p.equal(
            column(i, c), strided(i, c), one, zero,
            reason=f"then only ${name}=0$ occurs",
        )  # fmt: skip
        return p.for_all(theorem, i, c)

    return either_is_one(p, every_hth, h, d_k, instance, trivially)


def twin_stride(rng: np.random.Generator) -> Iterator[Trial]:
    for x, _, heads, width in projections(rng):
        strides = np.stack([x[:, k::heads] for k in range(heads)])
        same = bool(np.array_equal(strides, sliced(x, heads, width)))
        yield agree(same, heads == 1 or width == 1, f"h={heads}, d_k={width}")


def stride_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "only one head makes it right, not one column",
            statement=iff(every_hth, equal(h, 1)),
            counterexample=Example({h: 2, d_k: 1}),
        ),
    )


STRIDE = Claim(
    id="head-split/split-by-stride",
    title="A head has every $h$-th column",
    source=Source(
        INTERVIEW, ("B05", "B07"),
        "Columns are dealt out to the heads; the note does not say which. A reader may give head "
        "$i$ the columns $i, i + h, i + 2h, \\dots$",
    ),
    statement=every_hth,
    counterexample=Example({h: 2, d_k: 2}),
    correction=Correction(iff(every_hth, either(equal(h, 1), equal(d_k, 1))), prove_stride_iff),
    twin=Twin("strided columns against blocks of columns", twin_stride),
    mutations=stride_mutations,
    expected=Verdict.REFUTED,
    remark="Used for all projections and for the rows of $W^O$ it is another order of the same "
    "parameters; mixed with blocks of columns, or with trained weights, it is wrong.",
)  # fmt: skip

even_share = equal(n, times(h, r))


def prove_tokens_iff(p: Prover) -> Theorem:
    def branch(share: Theorem) -> Theorem:
        def one(same: Theorem) -> Theorem:
            return p.equal(
                h, 1, (over(-1, r), share), (over(-1, r), same),
                reason="divide $h\\,r = r$ by $r$",
            )  # fmt: skip

        def all_rows(single: Theorem) -> Theorem:
            return p.calc(
                r,
                (times(h, r), "as $h = 1$", (times(-1, r), single)),
                (n, "so this head has them all", (-1, share)),
            )

        return p.both(
            p.suppose(equal(r, n), one, "suppose that every head has a row for each token"),
            p.suppose(equal(h, 1), all_rows, "conversely, take one head"),
        )

    return p.suppose(even_share, branch, "let the tokens be dealt out evenly, $r$ to a head")


def twin_tokens(rng: np.random.Generator) -> Iterator[Trial]:
    for tokens, heads in ((6, 3), (4, 4), (5, 1), (8, 2), (1, 1)):
        x = rng.standard_normal((tokens, 2 * heads))
        rows = len(np.split(x, heads, axis=0)[0])
        yield agree(rows == tokens, heads == 1, f"n={tokens}, h={heads}")
        yield agree(len(np.split(x, heads, axis=1)[0]), tokens, "along the features")


TOKENS = Claim(
    id="head-split/split-along-tokens",
    title="Split along the tokens, a head has a row for each token",
    source=Source(
        INTERVIEW, ("B07",),
        "The split is along the feature axis and not along the tokens. The reason is left out: a "
        "head is to have a row for each token. The even share is a premise of this claim.",
    ),
    statement=implies(even_share, equal(r, n)),
    counterexample=Example({h: 2, r: 1, n: 2}),
    correction=Correction(
        implies(even_share, iff(equal(r, n), equal(h, 1))), prove_tokens_iff
    ),
    twin=Twin("rows of arrays that are split along either axis", twin_tokens),
    expected=Verdict.REFUTED,
    remark="What is refuted is the reading that the note rules out: along the tokens, a head would "
    "see a part of the sequence only.",
)  # fmt: skip

CLAIMS = (
    SPLIT,
    SPLIT_HEADS,
    SPLIT_FIRST,
    RESHAPE,
    DIRECT,
    STRIDE,
    TOKENS,
)

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
