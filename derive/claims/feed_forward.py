"""The feed-forward network: its shapes, one position at a time, and what is linear in it.

The derivations note writes FFN(x) = W_2 ReLU(W_1 x + b_1) + b_2 for a column x; the code of the
interview note multiplies rows from the right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import sympy as sp

from derive.claim import Added, Claim, Example, Given, Mutation, Notation
from derive.claims import DERIVATIONS, INTERVIEW
from derive.claims._dimension import null_vector, null_vector_law
from derive.claims._network import (
    SIZES,
    W_1,
    W_2,
    Entry,
    X,
    a,
    b_1,
    b_2,
    before,
    by_loops,
    c,
    d,
    f,
    j,
    k,
    m,
    n,
    network,
    networks,
    one,
    row,
    rows_of,
    s,
    t,
    u,
    under_relu,
    x,
    zero_network,
)
from derive.kernel import terms as T
from derive.kernel.rules import Item, Theorem, infer
from derive.kernel.terms import Term
from derive.language import (
    at_most,
    both,
    dim,
    dims,
    either,
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
    power,
    real,
    relu,
    tensor,
    times,
    total,
)
from derive.prover import Prover
from derive.result import Source, Verdict
from derive.twin import Trial, Twin, differs
from derive.twin import at_most as bounded
from derive.twin import equal as agree

ORDER = 36
TOPIC = "feed-forward"

# ---------------------------------------------------------------------- shapes

r_1, c_1, l_1 = dims("r_1 c_1 l_1")
r_2, c_2, l_2 = dims("r_2 c_2 l_2")
fits = both(equal(c_1, d), equal(l_1, r_1), equal(c_2, r_1), equal(l_2, r_2), equal(r_2, d))


def shaped(first: tuple[Any, Any], second: tuple[Any, Any]) -> Any:
    """There is a hidden width with which the matrices have these rows and columns."""
    return exists(
        f,
        both(
            equal(r_1, first[0]), equal(c_1, first[1]), equal(l_1, f),
            equal(r_2, second[0]), equal(c_2, second[1]), equal(l_2, d),
        ),
    )  # fmt: skip


stated = shaped((f, d), (d, f))


def prove_shapes(p: Prover) -> Theorem:
    def onward(case: Theorem) -> Theorem:
        first, bias, second, last, out = (p.part(case, q) for q in range(5))
        here = p.both(
            p.equal(r_1, r_1, show=False), first, bias, out, second,
            p.equal(l_2, d, last, out, show=False),
        )  # fmt: skip
        return p.note(p.exists(stated, r_1, here), "take the number of rows of $W_1$ for $d_{ff}$")

    def back(case: Theorem) -> Theorem:
        return p.choose(case, f, named)

    def named(case: Theorem) -> Theorem:
        rows, columns, bias, out, second, last = (p.part(case, q) for q in range(6))
        p.note(case, "call it $d_{ff}$")
        return p.both(
            columns,
            p.equal(l_1, r_1, (1, bias), (-1, rows), show=False),
            p.equal(c_2, r_1, (1, second), (-1, rows), show=False),
            p.equal(l_2, r_2, (1, last), (-1, out), show=False),
            out,
        )

    return p.both(
        p.suppose(
            fits, onward,
            "suppose that each operation of the formula finds what it needs: $W_1 x$, $+\\,b_1$, "
            "$W_2$ times that, $+\\,b_2$, and an output as long as $x$",
        ),
        p.suppose(stated, back, "conversely, suppose that the shapes are as stated"),
    )  # fmt: skip


def accepted(width: int, one_: tuple[int, int], two: tuple[int, int], lengths: Any) -> bool:
    """Whether the layer takes matrices with these rows and columns, and a token of that width."""
    from numeric import FeedForwardWeights, feed_forward

    try:
        w = FeedForwardWeights(
            np.ones(one_[::-1]), np.ones(two[::-1]), np.ones(lengths[0]), np.ones(lengths[1])
        )
        return feed_forward(np.ones(width), w).shape == (width,)
    except ValueError:
        return False


def twin_shapes(rng: np.random.Generator, *, swapped: bool = False) -> Iterator[Trial]:
    right = (3, 5, 3, 3, 5, 5, 3)  # d_model; W_1 rows, columns; W_2 rows, columns; biases
    for place in range(-1, 7):
        for wrong in (1, 2, 3, 5):
            sizes = list(right)
            if place >= 0:
                sizes[place] = wrong
            w, r1, c1, r2, c2, l1, l2 = sizes
            claimed = any(sizes == [w, u, w, w, u, u, w] for u in range(1, 6))
            matrices = ((c1, r1), (c2, r2)) if swapped else ((r1, c1), (r2, c2))
            got = accepted(w, *matrices, (l1, l2))
            yield agree(got, claimed, f"shapes {sizes}")


def exchanged_shapes(p: Prover, target: Term) -> Theorem:
    """With 3 hidden units there are such shapes, and the first matrix finds no input for them."""
    back = target.children[0].children[1]
    some, fitting = back.children
    there = p.exists(some, 3, p.trivial(T.instantiate(some.children[-1], (T.num(3),))))
    failing = infer("not-implies", [there, p.trivial(T.negate(fitting))])
    return infer("not-conj", [failing], target, 1)


def shape_mutations() -> tuple[Mutation, ...]:
    sizes = {d: 2, r_1: 2, c_1: 3, l_1: 3, r_2: 3, c_2: 2, l_2: 2}
    return (
        Mutation(
            "rows and columns of the matrices are exchanged",
            statement=iff(fits, shaped((d, f), (f, d))),
            counterexample=Example(sizes, exchanged_shapes),
            twin=Twin(
                "which shapes the layer accepts, with the matrices the other way round",
                lambda rng: twin_shapes(rng, swapped=True),
            ),
        ),
    )


SHAPES = Claim(
    id="feed-forward/shapes",
    title="The shapes are forced",
    source=Source(
        DERIVATIONS, ("A22", "A23"),
        r"$\mathrm{FFN}(x) = W_2\,\mathrm{ReLU}(W_1 x + b_1) + b_2$ with $W_1 \in "
        r"\mathbb{R}^{d_{ff} \times d_{\text{model}}}$ and $W_2 \in \mathbb{R}^{d_{\text{model}} "
        r"\times d_{ff}}$; the lengths of the biases are not given. Here $W_i$ has $r_i$ rows and "
        r"$c_i$ columns, and $b_i$ has the length $l_i$.",
    ),
    statement=iff(fits, stated),
    proof=prove_shapes,
    twin=Twin("which shapes the layer accepts, one size changed at a time", twin_shapes),
    mutations=shape_mutations,
    remark="The note has attention in row convention ($Q = X W^Q$) and this formula in column "
    "convention.",
    expected=Verdict.PROVED,
)  # fmt: skip

FOUR_TIMES = Given(equal(f, times(4, d)), "stated with the shapes of the matrices")
hidden_length, output_length = total(1, j), total(1, a)


def prove_widths(p: Prover) -> Theorem:
    inner = p.calc(
        hidden_length,
        (f, "one entry for every row of $W_1$"),
        (times(4, d), r"$d_{ff} = 4\,d_{\text{model}}$", p.hyp(0)),
    )
    return p.both(inner, p.equal(output_length, d, reason="one entry for every row of $W_2$"))


def lengths_of(width: int, hidden: int) -> tuple[int, int]:
    """How many numbers a token has inside the network, and after it."""
    from numeric import linear, relu

    w = zero_network(width, hidden)
    inner = relu(linear(np.ones((1, width), np.float32), w.w_1, w.b_1))
    return inner.size, linear(inner, w.w_2, w.b_2).size


def twin_widths(rng: np.random.Generator, factor: int = 4) -> Iterator[Trial]:
    for width in (1, 2, 3, 5, 12):
        yield agree(lengths_of(width, factor * width), (4 * width, width), f"width {width}")


def width_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "the network is widened by a factor of 2",
            statement=both(equal(hidden_length, times(2, d)), equal(output_length, d)),
            counterexample=Example({d: 1, f: 4}),
            twin=Twin(
                "entries of the hidden vector of a network twice as wide",
                lambda rng: twin_widths(rng, factor=2),
            ),
        ),
        Mutation(
            "it does not narrow again",
            statement=both(equal(hidden_length, times(4, d)), equal(output_length, f)),
            counterexample=Example({d: 1, f: 4}),
        ),
    )


WIDTHS = Claim(
    id="feed-forward/widths",
    title="Four times as wide, and back",
    source=Source(
        DERIVATIONS, ("A23", "A24"),
        r"$d_{ff} = 4\,d_{\text{model}}$: the network widens by a factor of 4 and narrows again.",
    ),
    statement=both(equal(hidden_length, times(4, d)), equal(output_length, d)),
    given=(FOUR_TIMES,),
    proof=prove_widths,
    twin=Twin("entries of the hidden vector and of the output", twin_widths),
    mutations=width_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip


def prove_workflow(p: Prover) -> Theorem:
    up = p.equal(times(4, 512), 2048, reason="multiply")
    return p.both(up, p.equal(over(2048, 4), 512, reason="and back by the same factor"))


def twin_workflow(rng: np.random.Generator, hidden: int = 4 * 512) -> list[Trial]:
    return [agree(lengths_of(512, hidden), (2048, 512), "lengths at the base width")]


def workflow_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "512 is widened to 1024",
            statement=both(equal(times(4, 512), 1024), equal(over(1024, 4), 512)),
            twin=Twin(
                "lengths inside a network with 1024 hidden units",
                lambda rng: twin_workflow(rng, hidden=1024),
            ),
        ),
    )


WORKFLOW = Claim(
    id="feed-forward/workflow",
    title="512 to 2048 and back",
    source=Source(
        INTERVIEW, ("B25",),
        r"The network goes from 512 dimensions to 2048, through ReLU, and back to 512.",
    ),
    statement=both(equal(times(4, 512), 2048), equal(over(2048, 4), 512)),
    proof=prove_workflow,
    twin=Twin("lengths inside and behind a network of the base width", twin_workflow),
    mutations=workflow_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip


def prove_comments(p: Prover) -> Theorem:
    return p.both(
        p.calc(
            hidden_length,
            (f, "the module has `d_ff` hidden units"),
            (2048, "unless it is told otherwise", p.hyp(0)),
        ),
        p.calc(
            output_length,
            (d, "and `d_model` outputs"),
            (512, "unless it is told otherwise", p.hyp(1)),
        ),
    )


def twin_comments(rng: np.random.Generator) -> list[Trial]:
    return [
        agree(lengths_of(512, 2048), (2048, 512), "default arguments"),
        differs(lengths_of(512, 64), (2048, 512), by=1, what="another d_ff"),
        differs(lengths_of(24, 2048), (2048, 512), by=1, what="another d_model"),
    ]


def comment_mutations() -> tuple[Mutation, ...]:
    def built_in(rng: np.random.Generator) -> list[Trial]:
        return [agree(lengths_of(5, 2048), (20, 5), "d_model=5, d_ff=20")]

    return (
        Mutation(
            "the hidden width is 2048 whatever the arguments are",
            given=(),
            counterexample=Example({d: 512, f: 64}),
            twin=Twin("lengths of a module that builds 2048 units in any case", built_in),
        ),
    )


COMMENTS = Claim(
    id="feed-forward/comments",
    title="The shapes in the comments",
    source=Source(
        INTERVIEW, ("B45",),
        r"Comments in the module say that the hidden tensor ends in 2048 and the output in 512.",
    ),
    statement=both(equal(hidden_length, 2048), equal(output_length, 512)),
    added=(
        Added(
            equal(f, 2048), Example({d: 512, f: 64}),
            "`d_ff` is an argument; 2048 is its default",
        ),
        Added(
            equal(d, 512), Example({d: 24, f: 2048}),
            "`d_model` is an argument; 512 is its default",
        ),
    ),
    witness=Example({d: 512, f: 2048}),
    proof=prove_comments,
    twin=Twin("lengths with the default arguments and with others", twin_comments),
    mutations=comment_mutations,
    expected=Verdict.CONDITIONAL,
)  # fmt: skip

rows = dim("r_2")
g_out = index("g", rows)


def prove_residual(p: Prover) -> Theorem:
    length = p.equal(
        total(1, g_out), rows, reason="$W_2$ has one row for every entry of its output"
    )
    wanted = p.equal(output_length, d, reason="$x$ has $d_{\\text{model}}$ entries")

    def onward(case: Theorem) -> Theorem:
        return p.equal(rows, d, (-1, length), (1, case), (1, wanted), reason="so these agree")

    def back(case: Theorem) -> Theorem:
        return p.equal(
            total(1, g_out), output_length, (1, length), (1, case), (-1, wanted), reason="likewise"
        )

    same = equal(total(1, g_out), output_length)
    return p.both(
        p.suppose(same, onward, "suppose that the two can be added"),
        p.suppose(equal(rows, d), back, "conversely, suppose that $W_2$ has as many rows"),
    )


def twin_residual(rng: np.random.Generator, *, narrow: bool = True) -> Iterator[Trial]:
    from numeric import Sublayer, linear, relu, residual

    for width, hidden in SIZES:
        for out in (1, 2, 3, 4, 5):
            up, down = np.ones((width, hidden)), np.ones((hidden, out))
            branch = Sublayer(
                lambda v, w: linear(relu(linear(v, w[0])), w[1]), lambda v, *_: (v, None)
            )
            try:
                added = residual(branch, np.ones((2, width)), (up, down)).shape == (2, width)
            except ValueError:
                added = False
            wanted = width if narrow else hidden
            yield agree(added, out == wanted, f"width {width}, output {out}")


def residual_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            r"$W_2$ keeps the hidden width $d_{ff}$",
            statement=iff(equal(total(1, g_out), output_length), equal(rows, f)),
            counterexample=Example({d: 1, f: 2, rows: 1}),
            twin=Twin(
                "whether the residual block accepts a branch of the hidden width",
                lambda rng: twin_residual(rng, narrow=False),
            ),
        ),
    )


RESIDUAL = Claim(
    id="feed-forward/residual-width",
    title=r"The sum $x + \operatorname{FFN}(x)$ needs the old width",
    source=Source(
        INTERVIEW, ("B33",),
        r"Narrowing again brings the vector back to the dimension that the next step needs.",
    ),
    statement=iff(equal(total(1, g_out), output_length), equal(rows, d)),
    proof=prove_residual,
    twin=Twin("whether the residual block accepts the branch", twin_residual),
    mutations=residual_mutations,
    remark=r"The next step is $x + \mathrm{FFN}(x)$. The same dimension is all that is needed: "
    r"$W_2$ need not undo $W_1$.",
    expected=Verdict.PROVED,
)  # fmt: skip

# ---------------------------------------------------------------------- linear parts

q_points = dim("q")
i = index("i", q_points)
points, factors = tensor("x", q_points, d), tensor("lambda", q_points)
functional = tensor("w", f)


def linear_part(v: Entry, unit: Any) -> Any:
    return total(times(W_1[unit, c], v(c)), c)


def prove_relations(p: Prover) -> Theorem:
    combined = total(times(factors[i], linear_part(row(points, i), j)), i)
    theorem = p.calc(
        combined,
        (
            total(times(W_1[j, c], total(times(factors[i], points[i, c]), i)), c),
            "exchange the sums: the combination of the inputs, transformed",
        ),
        (0, "which is 0", p.hyp(0)),
    )
    return p.for_all(theorem, j)


def twin_relations(rng: np.random.Generator) -> Iterator[Trial]:
    """One more point than dimensions: there is a relation, and the hidden vectors keep it."""
    for w in networks(rng):
        tokens = rng.standard_normal((w.d_model + 1, w.d_model))
        relation = np.linalg.svd(tokens.T)[2][-1]
        yield agree(relation @ tokens, np.zeros(w.d_model), "a relation")
        yield agree(relation @ (tokens @ w.w_1), np.zeros(w.d_ff), "kept")
        rank = np.linalg.matrix_rank(rng.standard_normal((9, w.d_model)) @ w.w_1)
        yield bounded(rank, w.d_model, "rank", tolerance=0.0)


RELATIONS = Claim(
    id="feed-forward/relations",
    title="Widening adds no linear dimension",
    source=Source(
        DERIVATIONS, ("A24",),
        r"The network first expands each vector four times. The vectors $W_1 x$ have "
        r"$4\,d_{\text{model}}$ entries; here some inputs satisfy a linear relation.",
    ),
    statement=forall(j, equal(total(times(factors[i], linear_part(row(points, i), j)), i), 0)),
    given=(
        Given(
            forall(c, equal(total(times(factors[i], points[i, c]), i), 0)),
            r"a relation, as any $d_{\text{model}} + 1$ vectors have",
        ),
    ),
    proof=prove_relations,
    twin=Twin("relations between inputs among the widened vectors, and the rank", twin_relations),
    remark=r"So no more than $d_{\text{model}}$ of the vectors $W_1 x$ are linearly independent: "
    r"the rank of $W_1$ stays at most $d_{\text{model}}$.",
    expected=Verdict.PROVED,
)  # fmt: skip

# any d_model + 1 of the widened vectors are dependent; some hidden vector is lost

wide = times(4, d)
e4 = index("j", wide)
up_4, down_4 = tensor("W_1", wide, d), tensor("W_2", d, wide)
one_more = index("i", d + 1)
inputs, combination = tensor("x", d + 1, d), tensor("lambda", d + 1)
normal, lost = tensor("w", wide), tensor("h", wide)


def not_zero(vector: Any, entry: Any) -> Any:
    return less(0, total(power(vector[entry], 2), entry))


def widened(number: Any, unit: Any) -> Any:
    return total(times(up_4[unit, c], inputs[number, c]), c)


DEPENDENT = exists(
    combination,
    both(
        not_zero(combination, one_more),
        forall(e4, equal(
            total(times(combination[one_more], widened(one_more, e4)), one_more), 0)),
    ),
)  # fmt: skip
HYPERPLANE = exists(
    normal,
    both(not_zero(normal, e4), forall(c, equal(total(times(normal[e4], up_4[e4, c]), e4), 0))),
)
LOST = exists(
    lost,
    both(not_zero(lost, e4), forall(a, equal(total(times(down_4[a, e4], lost[e4]), e4), 0))),
)


def prove_rank(p: Prover) -> Theorem:
    law = null_vector_law(p)

    def relation_kept(equations: Theorem, _unit: Term, goal: Term) -> Theorem:
        relation = p.for_all(at_each(p, equations, p.term(c)), c)
        return p.equal(*goal.children, relation, show=False)

    by_entry = p.lam(inputs[one_more, c], c, one_more)
    dependent = p.note(
        null_vector(p, law, by_entry, (d, 0), DEPENDENT, relation_kept),
        r"any $d_{\text{model}} + 1$ inputs satisfy a relation, since they have only "
        r"$d_{\text{model}}$ entries each, and the widened vectors keep it",
    )
    columns = p.lam(up_4[e4, c], c, e4)
    across = p.note(
        null_vector(p, law, columns, (d, minus(times(3, d), 1)), HYPERPLANE, as_it_is(p)),
        r"the $d_{\text{model}}$ columns of $W_1$ have $4\,d_{\text{model}}$ entries each, so "
        "some vector is normal to all of them",
    )
    return p.both(dependent, across)


def at_each(p: Prover, equations: Theorem, entry: Term) -> Theorem:
    """The equation with this index."""
    within = p.order(T.le(T.add(entry, T.ONE), p.term(d)))
    return p.mp(p.at(equations, entry), within)


def as_it_is(p: Prover) -> Callable[[Theorem, Term, Term], Theorem]:
    return lambda equations, place, goal: p.equal(
        *goal.children, (1, at_each(p, equations, place)), show=False
    )


def twin_rank(rng: np.random.Generator, factor: int = 1) -> Iterator[Trial]:
    from numeric import linear

    for width in (1, 2, 3, 5):
        up = rng.standard_normal((width, 4 * width))
        inside = linear(rng.standard_normal((factor * width + 1, width)), up)
        rank = np.linalg.matrix_rank(inside)
        yield agree(rank, factor * width, f"no more dependent than that, width {width}")
        yield agree(np.linalg.svd(inside)[1][width:], np.zeros(1), f"dependent, width {width}")
        across = np.linalg.svd(up)[2][-1]
        tokens = rng.standard_normal((7, width))
        yield agree(linear(tokens, up) @ across, np.zeros(7), f"one plane, width {width}")


def rank_mutations() -> tuple[Mutation, ...]:
    none_across = implies(
        forall(c, equal(total(times(normal[e4], up_4[e4, c]), e4), 0)),
        forall(e4, equal(normal[e4], 0)),
    )
    return (
        Mutation(
            r"$W_1$ has rank $4\,d_{\text{model}}$, so that no vector is normal to its columns",
            statement=none_across,
            counterexample=Example({d: 1, up_4: [[1], [0], [0], [0]], normal: [0, 1, 0, 0]}),
            twin=Twin(
                r"ranks of $4\,d_{\text{model}} + 1$ widened vectors",
                lambda rng: twin_rank(rng, factor=4),
            ),
        ),
    )


RANK = Claim(
    id="feed-forward/rank",
    title="Widening does not fill the wider space",
    source=Source(
        DERIVATIONS, ("A24",),
        r"The network first expands each vector to $4\,d_{\text{model}}$ entries.",
    ),
    statement=both(DEPENDENT, HYPERPLANE),
    proof=prove_rank,
    twin=Twin("ranks and a common normal of widened vectors", twin_rank),
    mutations=rank_mutations,
    remark=r"So the rank of $W_1$ is at most $d_{\text{model}}$, and all $W_1 x$ lie in one plane "
    r"$v \cdot z = 0$ of the wide space. What ReLU makes of them need not.",
    expected=Verdict.PROVED,
)  # fmt: skip


def prove_lost(p: Prover) -> Theorem:
    matrix = p.lam(down_4[a, e4], a, e4)
    sizes = (d, minus(times(3, d), 1))
    return p.note(
        null_vector(p, null_vector_law(p), matrix, sizes, LOST, as_it_is(p)),
        r"the $d_{\text{model}}$ outputs are equations for $4\,d_{\text{model}}$ hidden numbers",
    )


def twin_lost(rng: np.random.Generator) -> Iterator[Trial]:
    from numeric import linear

    for width in (1, 2, 3, 5):
        down = rng.standard_normal((4 * width, width))
        hidden = np.linalg.svd(down.T)[2][-1]
        yield agree(linear(hidden[None], down), np.zeros((1, width)), f"lost, width {width}")
        yield agree(hidden @ hidden, 1.0, "and not 0")


LOSES = Claim(
    id="feed-forward/narrowing",
    title="Narrowing loses hidden vectors",
    source=Source(
        DERIVATIONS, ("A24",),
        r"Then the network compresses the $4\,d_{\text{model}}$ hidden numbers to "
        r"$d_{\text{model}}$ again.",
    ),
    statement=LOST,
    proof=prove_lost,
    twin=Twin("a hidden vector that the second matrix sends to 0", twin_lost),
    remark=r"Hidden vectors that differ by such a $v$ give the same output: $W_2$ is not "
    "injective, whatever its weights are.",
    expected=Verdict.PROVED,
)  # fmt: skip


def prove_functional(p: Prover) -> Theorem:
    return p.calc(
        total(times(functional[j], before(row(x), j)), j),
        (
            plus(
                total(total(times(functional[j], W_1[j, c], x[c]), c), j),
                total(times(functional[j], b_1[j]), j),
            ),
            "multiply out",
        ),
        (
            plus(
                total(times(total(times(functional[j], W_1[j, c]), j), x[c]), c),
                total(times(functional[j], b_1[j]), j),
            ),
            "exchange the sums and take $x_a$ out",
        ),
    )


def twin_functional(rng: np.random.Generator) -> Iterator[Trial]:
    from numeric import linear

    for w in networks(rng):
        tokens, weights = rng.standard_normal((4, w.d_model)), rng.standard_normal(w.d_ff)
        wide = linear(tokens, w.w_1, w.b_1) @ weights
        yield agree(wide, tokens @ (w.w_1 @ weights) + w.b_1 @ weights, f"width {w.d_model}")


FUNCTIONAL = Claim(
    id="feed-forward/functional",
    title="A linear reading of the widened vector",
    source=Source(
        DERIVATIONS, ("A24",),
        "The network first expands each vector four times; what can be read off the wide vector "
        "linearly, before ReLU, is looked at here.",
    ),
    statement=equal(
        total(times(functional[j], before(row(x), j)), j),
        plus(
            total(times(total(times(functional[j], W_1[j, c]), j), x[c]), c),
            total(times(functional[j], b_1[j]), j),
        ),
    ),
    proof=prove_functional,
    twin=Twin("a linear reading of the wide vector against one of the input", twin_functional),
    remark="It could be read off $x$ as well: what the wide vector separates, $x$ separates.",
    expected=Verdict.PROVED,
)  # fmt: skip

# ---------------------------------------------------------------------- code and formula

batch = tensor("X", m, n, d)
V_1, V_2 = tensor("V_1", d, f), tensor("V_2", f, d)


def in_code(v: Entry, out: Any) -> Any:
    """What the module computes of one row: the rows are multiplied from the right."""
    units = plus(total(times(v(c), V_1[c, j]), c), b_1[j])
    return plus(total(times(relu(units), V_2[j, out]), j), b_2[out])


def prove_code(p: Prover) -> Theorem:
    v = row(batch, u, t)
    stored = p.replace(
        in_code(v, a), p.hyp(0), p.hyp(1),
        reason="the matrices that multiply from the right are the transposes of the stored ones",
    )  # fmt: skip
    order = p.equal(
        stored.conclusion.children[1], network(v, a),
        reason="the factors in the order of the formula",
    )  # fmt: skip
    return p.note(p.for_all(p.linked(stored, order), u, t, a), "for every row of the batch")


Layer = Callable[[Any, Any], Any]


def twin_code(
    rng: np.random.Generator, layer: Layer | None = None, drawn: Iterable[Any] | None = None
) -> Iterator[Trial]:
    from numeric import feed_forward

    compute = layer or feed_forward
    for w in networks(rng) if drawn is None else drawn:
        for leading in ((2, 3), (4,), (), (2, 1, 3)):
            tokens = rng.standard_normal((*leading, w.d_model))
            out = compute(tokens, w).reshape(-1, w.d_model)
            wanted = [by_loops(v, w) for v in tokens.reshape(-1, w.d_model)]
            yield agree(out, wanted, f"leading axes {leading}")


def relu_at_the_end(tokens: Any, w: Any) -> Any:
    from numeric import linear, relu

    return relu(linear(linear(tokens, w.w_1, w.b_1), w.w_2, w.b_2))


def no_last_bias(tokens: Any, w: Any) -> Any:
    from numeric import linear, relu

    return linear(relu(linear(tokens, w.w_1, w.b_1)), w.w_2)


def not_transposed(tokens: Any, w: Any) -> Any:
    from numeric import linear, relu

    return linear(relu(linear(tokens, w.w_1.T, w.b_1)), w.w_2.T, w.b_2)


def code_mutations() -> tuple[Mutation, ...]:
    v, e = row(batch, u, t), index("e", d)
    first, second = tensor("W_1", d, d), tensor("W_2", d, d)

    def square_layer(up: Callable[[Any, Any], Any]) -> Any:
        units = relu(total(times(v(c), up(c, e)), c))
        return total(times(units, second[a, e]), e)

    plain = plus(total(times(v(c), V_1[c, j]), c), b_1[j])
    ends_in_relu = relu(plus(total(times(plain, V_2[j, a]), j), b_2[a]))
    no_bias = total(times(relu(plain), V_2[j, a]), j)
    half = {m: 1, n: 1, d: 1, f: 1, u: 0, t: 0, a: 0}
    ones = {W_1: [[1]], b_1: [0], W_2: [[1]], b_2: [-1], V_1: [[1]], V_2: [[1]], batch: [[[0]]]}

    def square(rng: np.random.Generator) -> list[Any]:
        from numeric import FeedForwardWeights

        return [FeedForwardWeights.init(rng, width, width) for width in (2, 3)]

    return (
        Mutation(
            "ReLU stands behind the second layer",
            statement=equal(ends_in_relu, network(v, a)),
            counterexample=Example({**half, **ones}),
            twin=Twin(
                "two linear layers with ReLU behind them, against loops over the formula",
                lambda rng: twin_code(rng, relu_at_the_end),
            ),
        ),
        Mutation(
            "the second bias is dropped",
            statement=equal(no_bias, network(v, a)),
            counterexample=Example({**half, **ones}),
            twin=Twin(
                "the layer without its last bias, against loops over the formula",
                lambda rng: twin_code(rng, no_last_bias),
            ),
        ),
        Mutation(
            "the stored matrices are not transposed, which passes unnoticed if they are square",
            statement=equal(
                square_layer(lambda one_, two: first[one_, two]),
                square_layer(lambda one_, two: first[two, one_]),
            ),
            given=(),
            counterexample=Example(
                {
                    m: 1,
                    n: 1,
                    d: 2,
                    u: 0,
                    t: 0,
                    a: 0,
                    batch: [[[1, 0]]],
                    first: [[0, 1], [0, 0]],
                    second: [[0, 1], [0, 0]],
                }
            ),
            twin=Twin(
                "square networks with the matrices as they are stored, against loops",
                lambda rng: twin_code(rng, not_transposed, square(rng)),
            ),
        ),
    )


CODE = Claim(
    id="feed-forward/code",
    title="The code computes the formula",
    source=Source(
        INTERVIEW, ("B26",),
        r"The module computes ReLU of a linear layer of $x$, then another linear layer, for $x$ of "
        r"shape [batch, seq, $d_{\text{model}}$].",
    ),
    statement=forall(
        [u, t, a], equal(in_code(row(batch, u, t), a), network(row(batch, u, t), a))
    ),
    given=(
        Notation(
            forall([c, j], equal(V_1[c, j], W_1[j, c])),
            "a linear layer stores (outputs, inputs) and multiplies by the transpose",
        ),
        Notation(forall([j, a], equal(V_2[j, a], W_2[a, j])), "the second layer likewise"),
    ),
    proof=prove_code,
    twin=Twin("feed_forward against loops over the formula, any leading axes", twin_code),
    mutations=code_mutations,
    remark="Row $(u, t)$ of the output depends on the axes in front only by their indices, so any "
    "number of them will do.",
    expected=Verdict.PROVED,
)  # fmt: skip

# ---------------------------------------------------------------------- one position at a time

Y = tensor("Y", n, d)
Z = tensor("Z", m, d)


def follow(p: Prover, rows_agree: Theorem, one_row: Entry, other: Entry) -> Theorem:
    """From equal rows: equal outputs, step by step through the network."""
    units = p.equal(
        before(one_row, j), before(other, j), rows_agree,
        reason="each hidden unit receives the same",
    )  # fmt: skip
    active = p.for_all(p.note(under_relu(p, units), "and passes on the same"), j)
    out = p.replace(network(one_row, a), active)
    return p.for_all(p.note(out, "so every entry of the output is the same"), a)


def prove_same_map(p: Prover) -> Theorem:
    rows_agree = forall(c, equal(Z[u, c], X[t, c]))
    theorem = p.suppose(
        rows_agree, lambda case: follow(p, case, row(Z, u), row(X, t)),
        "let row $u$ of one input be row $t$ of another",
    )  # fmt: skip
    return p.for_all(theorem, u, t)


def twin_same_map(rng: np.random.Generator) -> Iterator[Trial]:
    """Rows picked from another sequence, with repetitions and gaps."""
    from numeric import feed_forward

    for w in networks(rng):
        tokens = rng.standard_normal((5, w.d_model))
        picked = rng.integers(0, 5, size=7)
        out = feed_forward(tokens, w)
        yield agree(feed_forward(tokens[picked], w), out[picked], "picked rows")


SAME_MAP = Claim(
    id="feed-forward/same-map",
    title="The same map at every position",
    source=Source(
        DERIVATIONS, ("A25",),
        "Each position is transformed by itself, after attention has gathered information.",
    ),
    statement=forall(
        [u, t],
        implies(
            forall(c, equal(Z[u, c], X[t, c])),
            forall(a, equal(network(row(Z, u), a), network(row(X, t), a))),
        ),
    ),
    proof=prove_same_map,
    twin=Twin("outputs of picked rows against picked outputs", twin_same_map),
    remark="The two inputs may have different lengths, and the row may stand elsewhere.",
    expected=Verdict.PROVED,
)  # fmt: skip


def prove_position_wise(p: Prover) -> Theorem:
    rows_agree = forall(c, equal(X[t, c], Y[t, c]))
    theorem = p.suppose(
        rows_agree, lambda case: follow(p, case, row(X, t), row(Y, t)),
        "let two inputs agree in row $t$, whatever stands in the others",
    )  # fmt: skip
    return p.for_all(theorem, t)


def twin_position_wise(
    rng: np.random.Generator, layer: Layer | None = None, drawn: Iterable[Any] | None = None
) -> Iterator[Trial]:
    """Other rows are changed, in which case row t has to stay as it is to the last bit."""
    from numeric import feed_forward

    compute = layer or feed_forward
    for w in networks(rng) if drawn is None else drawn:
        tokens = rng.standard_normal((4, w.d_model))
        for kept in range(4):
            changed = rng.standard_normal((4, w.d_model))
            changed[kept] = tokens[kept]
            one_, other = compute(tokens, w), compute(changed, w)
            yield agree(other[kept], one_[kept], f"row {kept}")
            if w.d_ff >= 5:  # of so many units some are active in some row
                yield differs(other, one_, by=1e-6, what="the other rows")


def along_tokens(tokens: Any, w: Any) -> Any:
    from numeric import feed_forward

    return feed_forward(tokens.T, w).T


def position_mutations() -> tuple[Mutation, ...]:
    up, down, last = tensor("W_1", f, n), tensor("W_2", n, f), tensor("b_2", n)

    def mixed(matrix: Any) -> Any:
        """Entry (t, c) of the network along the axis of the tokens."""
        units = plus(total(times(up[j, s], matrix[s, c]), s), b_1[j])
        return plus(total(times(down[t, j], relu(units)), j), last[t])

    def four_wide(rng: np.random.Generator) -> list[Any]:
        from numeric import FeedForwardWeights

        return [FeedForwardWeights.init(rng, 4, 5)]

    return (
        Mutation(
            "the network is applied along the axis of the tokens",
            statement=implies(
                forall(c, equal(X[t, c], Y[t, c])), forall(c, equal(mixed(X), mixed(Y)))
            ),
            counterexample=Example(
                {
                    n: 2,
                    d: 1,
                    f: 1,
                    t: 0,
                    up: [[0, 1]],
                    b_1: [0],
                    down: [[1], [0]],
                    last: [0, 0],
                    X: [[0], [0]],
                    Y: [[0], [1]],
                }
            ),
            twin=Twin(
                "a row of the output of a network along the other axis",
                lambda rng: twin_position_wise(rng, along_tokens, four_wide(rng)),
            ),
        ),
    )


POSITION_WISE = Claim(
    id="feed-forward/position-wise",
    title="Each position by itself",
    source=Source(
        DERIVATIONS, ("A25",),
        "The transformation is applied to each position independently of the others.",
    ),
    statement=forall(
        t,
        implies(
            forall(c, equal(X[t, c], Y[t, c])),
            forall(a, equal(network(row(X, t), a), network(row(Y, t), a))),
        ),
    ),
    proof=prove_position_wise,
    twin=Twin("a row of the output while all other rows of the input change", twin_position_wise),
    mutations=position_mutations,
    remark="So the derivative of output $t$ by any other row is 0, also where ReLU has a kink. "
    "Independent is meant of functions, not of random variables.",
    expected=Verdict.PROVED,
)  # fmt: skip

P = tensor("P", n, n)


def moved(matrix: Any, at: Any) -> Entry:
    """The entries of row `at` of P X."""
    return lambda e: total(times(P[at, s], matrix[s, e]), s)


def prove_equivariance(p: Prover) -> Theorem:
    q = index("q", n)
    picks = p.at(p.hyp(0), t)

    def at_row(case: Theorem) -> Theorem:
        """Row t of P has its 1 in column q."""
        p.note(case, "row $t$ of $P$ has its 1 in some column; call it $q$")
        inside = p.for_all(
            p.equal(moved(X, t)(c), X[q, c], case, reason="row $t$ of $PX$ is row $q$ of $X$"), c
        )
        same = p.at(follow(p, inside, moved(X, t), row(X, q)), a)
        last = p.equal(
            total(times(P[t, s], network(row(X, s), a)), s), network(row(X, q), a), case,
            reason="and row $t$ of $P$ times the outputs is output $q$",
        )  # fmt: skip
        goal = T.eq(same.conclusion.children[0], last.conclusion.children[0])
        items = (Item(((0, ()),), T.ONE), Item(((1, ()),), T.num(-1)))
        return infer("linear-combination", [same, last], goal, 2, items)

    return p.note(p.for_all(p.choose(picks, q, at_row), t, a), "for every position")


def twin_equivariance(rng: np.random.Generator) -> Iterator[Trial]:
    from numeric import feed_forward

    for w in networks(rng):
        tokens = rng.standard_normal((5, w.d_model))
        matrix = np.eye(5)[rng.permutation(5)]
        yield agree(feed_forward(matrix @ tokens, w), matrix @ feed_forward(tokens, w))


ONE_HOT = Given(
    forall(t, exists(index("q", n), forall(s, equal(P[t, s], one(index("q", n), s))))),
    "in a permutation matrix each row has one 1 and otherwise 0",
)


def equivariance_mutations() -> tuple[Mutation, ...]:
    one_unit = {d: 1, f: 1, W_1: [[1]], b_1: [0], W_2: [[1]], b_2: [1]}
    return (
        Mutation(
            "$P$ is any matrix",
            given=(),
            counterexample=Example({n: 1, **one_unit, P: [[0]], X: [[0]]}),
        ),
    )


EQUIVARIANCE = Claim(
    id="feed-forward/equivariance",
    title="Moved positions, moved outputs",
    source=Source(
        DERIVATIONS, ("A25",),
        "As each position is transformed by itself, moving the positions moves the outputs and "
        "does nothing else.",
    ),
    statement=forall(
        [t, a],
        equal(network(moved(X, t), a), total(times(P[t, s], network(row(X, s), a)), s)),
    ),
    given=(ONE_HOT,),
    proof=prove_equivariance,
    twin=Twin(r"$\mathrm{FFN}(PX)$ against $P\,\mathrm{FFN}(X)$", twin_equivariance),
    mutations=equivariance_mutations,
    remark="Attention without a mask is equivariant as well, and not position-wise: the converse "
    "fails.",
    expected=Verdict.PROVED,
)  # fmt: skip

# ---------------------------------------------------------------------- what is linear in it


def collapsed(v: Entry, out: Any) -> Any:
    """((W_2 W_1) v + (W_2 b_1 + b_2))_out."""
    matrix = total(times(total(times(W_2[out, j], W_1[j, c]), j), v(c)), c)
    return plus(matrix, plus(total(times(W_2[out, j], b_1[j]), j), b_2[out]))


def without_relu(v: Entry, out: Any) -> Any:
    return network(v, out, lambda z: z)


def prove_collapse(p: Prover) -> Theorem:
    v = row(x)
    theorem = p.calc(
        without_relu(v, a),
        (
            plus(
                total(total(times(W_2[a, j], W_1[j, c], x[c]), c), j),
                total(times(W_2[a, j], b_1[j]), j),
                b_2[a],
            ),
            "multiply out: the sum over the units splits in two",
        ),
        (collapsed(v, a), "exchange the two sums and take $x_b$ out"),
    )
    return p.for_all(theorem, a)


def one_layer(w: Any) -> tuple[Any, Any]:
    """The matrix, for rows, and the bias to which two linear layers collapse."""
    return w.w_1 @ w.w_2, w.b_1 @ w.w_2 + w.b_2


def twin_collapse(
    rng: np.random.Generator,
    joined: Callable[[Any], tuple[Any, Any]] = one_layer,
    drawn: Iterable[Any] | None = None,
) -> Iterator[Trial]:
    from numeric import feed_forward, linear

    for w in networks(rng) if drawn is None else drawn:
        tokens = rng.standard_normal((4, w.d_model))
        stacked = linear(linear(tokens, w.w_1, w.b_1), w.w_2, w.b_2)
        single = linear(tokens, *joined(w))
        yield agree(stacked, single, "without ReLU")
        if (linear(tokens, w.w_1, w.b_1) < 0).any():
            yield differs(feed_forward(tokens, w), single, by=1e-9, what="with ReLU")


def collapse_mutations() -> tuple[Mutation, ...]:
    matrix = total(times(total(times(W_2[a, j], W_1[j, c]), j), x[c]), c)
    one_unit = {d: 1, f: 1, a: 0, W_1: [[1]], b_1: [1], W_2: [[1]], b_2: [0]}
    first, second, e = tensor("W_1", d, d), tensor("W_2", d, d), index("e", d)

    def turned(rng: np.random.Generator) -> Iterator[Trial]:
        from numeric import FeedForwardWeights

        square = [FeedForwardWeights.init(rng, width, width) for width in (2, 3)]
        yield from twin_collapse(rng, lambda w: (w.w_2 @ w.w_1, one_layer(w)[1]), square)

    return (
        Mutation(
            "$W_2 b_1$ is forgotten",
            statement=equal(without_relu(row(x), a), plus(matrix, b_2[a])),
            counterexample=Example({**one_unit, x: [0]}),
            twin=Twin(
                "two linear layers against one with the second bias only",
                lambda rng: twin_collapse(rng, lambda w: (w.w_1 @ w.w_2, w.b_2)),
            ),
        ),
        Mutation(
            "the matrix is $W_1 W_2$, which has the right shape if both are square",
            statement=equal(
                total(times(second[a, e], total(times(first[e, c], x[c]), c)), e),
                total(times(total(times(first[a, e], second[e, c]), e), x[c]), c),
            ),
            counterexample=Example(
                {d: 2, a: 0, first: [[0, 1], [0, 0]], second: [[1, 0], [0, 0]], x: [0, 1]}
            ),
            twin=Twin("two square linear layers against the product in the other order", turned),
        ),
        Mutation(
            "with ReLU the two layers are one as well",
            statement=equal(network(row(x), a), collapsed(row(x), a)),
            counterexample=Example({**one_unit, x: [-2]}),
        ),
    )


COLLAPSE = Claim(
    id="feed-forward/collapse",
    title="Without ReLU two layers are one",
    source=Source(
        INTERVIEW, ("B14",),
        "A feed-forward network is put behind attention for a non-linear transformation; its ReLU "
        "is what does it.",
    ),
    statement=forall(a, equal(without_relu(row(x), a), collapsed(row(x), a))),
    proof=prove_collapse,
    twin=Twin("two linear layers against the product of their matrices", twin_collapse),
    mutations=collapse_mutations,
    remark=r"In matrices: $W_2(W_1 x + b_1) + b_2 = (W_2 W_1)\,x + (W_2 b_1 + b_2)$.",
    expected=Verdict.PROVED,
)  # fmt: skip

kept = plus(total(1, a, c), total(1, a))
spent = plus(total(1, j, a), total(1, j), total(1, a, j), total(1, a))


def prove_collapsed_count(p: Prover) -> Theorem:
    square = power(d, 2)
    single = p.equal(kept, plus(square, d), reason="a matrix with $d_{\\text{model}}$ rows and "
                     "columns, and a bias")  # fmt: skip
    double = p.calc(
        spent,
        (plus(times(2, d, f), f, d), "two matrices and two biases"),
        (plus(times(8, square), times(5, d)), r"$d_{ff} = 4\,d_{\text{model}}$", p.hyp(0)),
    )
    gap = p.equal(
        minus(spent, kept), plus(times(7, square), times(4, d)), (1, double), (-1, single),
        reason="subtract",
    )  # fmt: skip
    return p.both(single, gap)


def twin_collapsed_count(rng: np.random.Generator) -> Iterator[Trial]:
    from numeric import FeedForwardWeights

    for width in (1, 2, 3, 5):
        w = FeedForwardWeights.init(rng, width, 4 * width)
        single = (w.w_1 @ w.w_2).size + (w.b_1 @ w.w_2 + w.b_2).size
        yield agree(single, width**2 + width, f"one layer, width {width}")
        yield agree(w.parameter_count() - single, 7 * width**2 + 4 * width, f"width {width}")


COLLAPSED_COUNT = Claim(
    id="feed-forward/collapsed-count",
    title="What two linear layers would waste",
    source=Source(
        INTERVIEW, ("B14",),
        r"ReLU is what the network is for; here without it, and $d_{ff} = 4\,d_{\text{model}}$.",
    ),
    statement=both(
        equal(kept, plus(power(d, 2), d)),
        equal(minus(spent, kept), plus(times(7, power(d, 2)), times(4, d))),
    ),
    given=(Given(equal(f, times(4, d)), "four times as wide, as in the workflow of the note"),),
    proof=prove_collapsed_count,
    twin=Twin("numbers stored by the network and by the map it collapses to", twin_collapsed_count),
    expected=Verdict.PROVED,
)  # fmt: skip

gate = tensor("m", f)


def gated(v: Entry, out: Any) -> Any:
    """(W_2 D (W_1 v + b_1) + b_2)_out, where D has the gates on its diagonal."""
    return plus(total(times(W_2[out, j], gate[j], before(v, j)), j), b_2[out])


def open_or_shut(z: Any, g: Any) -> Any:
    """The gate is 1 where the unit receives something positive, and otherwise 0."""
    return either(both(less(0, z), equal(g, 1)), both(at_most(z, 0), equal(g, 0)))


def gate_law(p: Prover) -> Theorem:
    """For all z and g: if g is the gate of z, then ReLU(z) = g z."""
    z, g = real("z"), real("g")

    def opened(case: Theorem) -> Theorem:
        up = p.order(at_most(0, z), (1, p.part(case, 0)))
        value = p.mp(p.axiom("max-right", 0, z), up)
        return p.equal(
            relu(z), times(g, z), (1, value), (times(-1, z), p.part(case, 1)), show=False
        )

    def shut(case: Theorem) -> Theorem:
        value = p.mp(p.axiom("max-left", 0, z), p.part(case, 0))
        return p.equal(
            relu(z), times(g, z), (1, value), (times(-1, z), p.part(case, 1)), show=False
        )

    with p.supposing(open_or_shut(z, g)) as known:
        law = p.cases(known, opened, shut)
    return p.for_all(p.discharge(law, known), z, g)


def prove_cell(p: Prover) -> Theorem:
    each = p.for_all(p.mp(p.at(gate_law(p), before(row(x), j), gate[j]), p.at(p.hyp(0), j)), j)
    p.note(each, "open gate: ReLU passes $z$ on, and so does the factor 1; shut: 0 either way")
    theorem = p.replace(network(row(x), a), each, reason="so the gates may stand in for ReLU")
    order = p.equal(theorem.conclusion.children[1], gated(row(x), a), show=False)
    return p.for_all(p.linked(theorem, order), a)


def twin_cell(
    rng: np.random.Generator, layer: Layer | None = None, *, opened: bool = True
) -> Iterator[Trial]:
    """One affine map for all points with the gates of the first."""
    from numeric import feed_forward, linear

    compute = layer or feed_forward
    for w in networks(rng):
        point = rows_of(rng, w, 1)
        gates = ((linear(point, w.w_1, w.b_1) > 0) == opened).astype(float)[0]
        near = point + 1e-5 * rng.standard_normal((5, w.d_model))
        affine = linear(linear(near, w.w_1, w.b_1) * gates, w.w_2, w.b_2)
        yield agree(compute(near, w), affine, f"width {w.d_model}")


def cell_mutations() -> tuple[Mutation, ...]:
    shut = total(times(W_2[a, j], minus(1, gate[j]), before(row(x), j)), j)
    outside = plus(relu(total(times(W_2[a, j], before(row(x), j)), j)), b_2[a])
    open_unit = {d: 1, f: 1, a: 0, W_1: [[1]], b_1: [0], b_2: [0], x: [1], gate: [1]}
    return (
        Mutation(
            r"the gate is open where the unit is off, at $z \le 0$",
            statement=equal(network(row(x), a), plus(shut, b_2[a])),
            counterexample=Example({**open_unit, W_2: [[1]]}),
            twin=Twin(
                "the network against the affine map with the other gates",
                lambda rng: twin_cell(rng, opened=False),
            ),
        ),
        Mutation(
            "ReLU stands behind $W_2$",
            statement=equal(outside, gated(row(x), a)),
            counterexample=Example({**open_unit, W_2: [[-1]]}),
            twin=Twin(
                "a network with ReLU behind its second layer against the affine map",
                lambda rng: twin_cell(rng, relu_at_the_end),
            ),
        ),
    )


CELL = Claim(
    id="feed-forward/cell",
    title="Affine as long as no unit switches",
    source=Source(
        DERIVATIONS, ("A22",),
        r"$\mathrm{FFN}(x) = W_2\,\mathrm{ReLU}(W_1 x + b_1) + b_2$; here with a gate for every "
        "hidden unit that says whether ReLU passes its input on.",
    ),
    statement=forall(a, equal(network(row(x), a), gated(row(x), a))),
    given=(
        Given(
            forall(j, open_or_shut(before(row(x), j), gate[j])),
            r"what ReLU does to $z = W_1 x + b_1$, as a factor of 0 or 1 for every unit",
        ),
    ),
    proof=prove_cell,
    twin=Twin("the network against one affine map, on points with the same gates", twin_cell),
    mutations=cell_mutations,
    remark=r"Points with the same gates form a polyhedron, on which "
    r"$\mathrm{FFN}(x) = W_2 D (W_1 x + b_1) + b_2$ is affine.",
    expected=Verdict.PROVED,
)  # fmt: skip

other = tensor("y", d)


def gap(entry: Any) -> Any:
    return sp.Abs(minus(x[entry], other[entry]))


def spread(unit: Any) -> Any:
    """By how much the input of a unit can change: Sum_c |W_1| |x_c - y_c|."""
    return total(times(sp.Abs(W_1[unit, c]), gap(c)), c)


def bounded_product(p: Prover) -> Theorem:
    """For all w, s, b: if s <= b and -s <= b, then w s <= |w| b."""
    w, s_, b = real("omega"), real("sigma"), real("B")
    goal = at_most(times(w, s_), times(sp.Abs(w), b))
    with p.supposing(both(at_most(s_, b), at_most(times(-1, s_), b))) as known:
        above, below = p.part(known, 0), p.part(known, 1)

        def positive(case: Theorem) -> Theorem:
            size = p.mp(p.axiom("abs-nonneg", w), case)
            return p.order(goal, (1, case, above), (b, size))

        def negative(case: Theorem) -> Theorem:
            low = p.order(at_most(w, 0), (1, case))
            size = p.mp(p.axiom("abs-nonpos", w), low)
            return p.order(goal, (1, low, below), (b, size))

        law = p.cases(p.dichotomy(0, w), positive, negative)
    return p.for_all(p.discharge(law, known), w, s_, b)


def at_most_its_size(p: Prover, s_: Any) -> Theorem:
    """s <= |s| and -s <= |s|."""
    both_sides = both(at_most(s_, sp.Abs(s_)), at_most(times(-1, s_), sp.Abs(s_)))
    sides = both_sides.args

    def positive(case: Theorem) -> Theorem:
        size = p.mp(p.axiom("abs-nonneg", s_), case)
        return p.both(p.order(sides[0], (1, size)), p.order(sides[1], (1, size), (2, case)))

    def negative(case: Theorem) -> Theorem:
        low = p.order(at_most(s_, 0), (1, case))
        size = p.mp(p.axiom("abs-nonpos", s_), low)
        return p.both(p.order(sides[0], (1, size), (2, low)), p.order(sides[1], (1, size)))

    return p.cases(p.dichotomy(0, s_), positive, negative)


def relu_moves_less(p: Prover) -> Theorem:
    """For all u, v, b: if u - v <= b and v - u <= b, then ReLU(u) - ReLU(v) <= b."""
    one_, two, b = real("u"), real("v"), real("B")
    goal = at_most(minus(relu(one_), relu(two)), b)
    with p.supposing(both(at_most(minus(one_, two), b), at_most(minus(two, one_), b))) as known:
        first, second = p.part(known, 0), p.part(known, 1)

        def at_least(case: Theorem) -> Theorem:
            return p.order(at_most(two, relu(two)), (1, p.mp(p.axiom("max-right", 0, two), case)))

        above = p.cases(p.dichotomy(0, two), at_least, lambda case: p.order(
            at_most(two, relu(two)), (1, case)))  # fmt: skip

        def active(case: Theorem) -> Theorem:
            value = p.mp(p.axiom("max-right", 0, one_), case)
            return p.order(goal, (-1, value), (1, first), (1, above))

        def idle(case: Theorem) -> Theorem:
            value = p.mp(p.axiom("max-left", 0, one_), p.order(at_most(one_, 0), (1, case)))
            return p.order(goal, (-1, value), (Fraction(1, 2), first), (Fraction(1, 2), second))

        law = p.cases(p.dichotomy(0, one_), active, idle)
    return p.for_all(p.discharge(law, known), one_, two, b)


def prove_lipschitz(p: Prover) -> Theorem:
    here, there = row(x), row(other)
    product, move = bounded_product(p), relu_moves_less(p)

    def scaled(weight: Any, difference: Any, bound: Any, up: Theorem, down: Theorem) -> Theorem:
        """weight * difference <= |weight| * bound."""
        sides = p.both(
            p.order(at_most(difference, bound), (1, up)),
            p.order(at_most(times(-1, difference), bound), (1, down)),
        )
        return p.mp(p.at(product, weight, difference, bound), sides)

    step = minus(x[c], other[c])
    sizes = at_most_its_size(p, step)
    up, down = p.part(sizes, 0), p.part(sizes, 1)
    forth = p.sum_order(scaled(W_1[j, c], step, gap(c), up, down), c)
    back = p.sum_order(scaled(W_1[j, c], minus(other[c], x[c]), gap(c), down, up), c)
    z, z_other = before(here, j), before(there, j)
    inputs_ = p.note(
        p.both(
            p.order(at_most(minus(z, z_other), spread(j)), (1, forth)),
            p.order(at_most(minus(z_other, z), spread(j)), (1, back)),
        ),
        "what a unit receives changes by no more than this, in either direction",
    )
    swapped = p.both(p.part(inputs_, 1), p.part(inputs_, 0))
    passed = p.both(
        p.mp(p.at(move, z, z_other, spread(j)), inputs_),
        p.mp(p.at(move, z_other, z, spread(j)), swapped),
    )
    p.note(passed, "ReLU changes by no more than its input")
    rise, fall = p.part(passed, 0), p.part(passed, 1)
    ahead_, behind_ = minus(relu(z), relu(z_other)), minus(relu(z_other), relu(z))
    first = p.sum_order(scaled(W_2[a, j], ahead_, spread(j), rise, fall), j)
    second = p.sum_order(scaled(W_2[a, j], behind_, spread(j), fall, rise), j)
    return p.for_all(by_sides(p, first, second), a)


def output_change(out: Any) -> Any:
    return minus(network(row(x), out), network(row(other), out))


def output_bound(out: Any) -> Any:
    return total(times(sp.Abs(W_2[out, j]), spread(j)), j)


def by_sides(p: Prover, first: Theorem, second: Theorem) -> Theorem:
    """|s| <= b from s <= b and -s <= b."""
    change_, bound = output_change(a), output_bound(a)
    goal = at_most(sp.Abs(change_), bound)

    def positive(case: Theorem) -> Theorem:
        size = p.mp(p.axiom("abs-nonneg", change_), case)
        return p.order(goal, (-1, size), (1, first))

    def negative(case: Theorem) -> Theorem:
        low = p.order(at_most(change_, 0), (1, case))
        size = p.mp(p.axiom("abs-nonpos", change_), low)
        return p.order(goal, (-1, size), (1, second))

    theorem = p.cases(p.dichotomy(0, change_), positive, negative)
    return p.note(theorem, "add up the units; whichever sign the change of the output has")


def twin_lipschitz(
    rng: np.random.Generator, size: Callable[[Any], Any] = np.abs
) -> Iterator[Trial]:
    from numeric import feed_forward

    for w in networks(rng):
        points, near = rng.standard_normal((2, 6, w.d_model))
        change_ = np.abs(feed_forward(points, w) - feed_forward(near, w))
        bound = np.abs(points - near) @ np.abs(w.w_1) @ size(w.w_2)
        yield bounded(change_, bound, f"width {w.d_model}", tolerance=1e-12)
    one_sided = zero_network(2, 3)
    one_sided.w_1[:], one_sided.w_2[:], one_sided.b_1[:] = 1, 1, 9
    points, near = np.array([[1.0, 2.0]]), np.array([[0.5, 1.0]])
    change_ = feed_forward(points, one_sided) - feed_forward(near, one_sided)
    yield agree(change_, np.full((1, 2), 4.5), "the bound is met")


def lipschitz_mutations() -> tuple[Mutation, ...]:
    one_unit = {d: 1, f: 1, a: 0, W_1: [[1]], b_1: [0], b_2: [0], x: [1], other: [0]}
    return (
        Mutation(
            "the weights of $W_2$ are taken with their signs",
            statement=at_most(output_change(a), total(times(W_2[a, j], spread(j)), j)),
            counterexample=Example({**one_unit, W_2: [[-1]], x: [0], other: [1]}),
            twin=Twin(
                "changes of the output against a bound with signs",
                lambda rng: twin_lipschitz(rng, size=lambda weights: weights),
            ),
        ),
        Mutation(
            "half the bound is enough",
            statement=at_most(sp.Abs(output_change(a)), times(sp.Rational(1, 2), output_bound(a))),
            counterexample=Example({**one_unit, W_2: [[1]]}),
        ),
    )


LIPSCHITZ = Claim(
    id="feed-forward/lipschitz",
    title="How fast the output can change",
    source=Source(
        DERIVATIONS, ("A22",),
        r"$\mathrm{FFN}(x) = W_2\,\mathrm{ReLU}(W_1 x + b_1) + b_2$; how far apart the outputs "
        "of two inputs can be is not said.",
    ),
    statement=forall(a, at_most(sp.Abs(output_change(a)), output_bound(a))),
    proof=prove_lipschitz,
    twin=Twin("changes of the output against the bound, and a case that meets it", twin_lipschitz),
    mutations=lipschitz_mutations,
    remark="In matrices, with absolute values entry by entry: "
    r"$|\mathrm{FFN}(x) - \mathrm{FFN}(y)| \le |W_2|\,|W_1|\,|x - y|$. So the network is "
    "continuous.",
    expected=Verdict.PROVED,
)  # fmt: skip

# ---------------------------------------------------------------------- how non-linear it is

o = index("o", d)
U, V = tensor("u", d), tensor("v", d)


def ahead(e: Any) -> Any:
    return plus(U[e], V[e])


def behind(e: Any) -> Any:
    return minus(U[e], V[e])


def midpoint(out: Any) -> tuple[Any, Any]:
    """2 FFN(u) and FFN(u + v) + FFN(u - v) in one output: equal for every affine map."""
    return times(2, network(row(U), out)), plus(network(ahead, out), network(behind, out))


def change(unit: Any) -> Any:
    """(W_1 v)_unit."""
    return total(times(W_1[unit, c], V[c]), c)


ONE_SIGN = both(forall(j, at_most(0, W_2[o, j])), less(0, W_2[o, k]))
ACROSS = both(equal(before(row(U), k), 0), less(0, change(k)))


def convexity(p: Prover) -> Theorem:
    """For all z, y: 0 <= ReLU(z + y) + ReLU(z - y) - 2 ReLU(z)."""
    z, y = real("z"), real("y")
    up, down = relu(plus(z, y)), relu(minus(z, y))
    goal = at_most(0, plus(up, down, times(-2, relu(z))))

    def above(e: Any) -> Theorem:
        """e <= ReLU(e)."""

        def pos(case: Theorem) -> Theorem:
            return p.order(at_most(e, relu(e)), (1, p.mp(p.axiom("max-right", 0, e), case)))

        return p.cases(p.dichotomy(0, e), pos, lambda case: p.order(
            at_most(e, relu(e)), (1, case)))  # fmt: skip

    def active(case: Theorem) -> Theorem:
        value = p.mp(p.axiom("max-right", 0, z), case)
        return p.order(goal, (1, above(plus(z, y))), (1, above(minus(z, y))), (2, value))

    def inactive(case: Theorem) -> Theorem:
        low = p.order(at_most(z, 0), (1, case))
        return p.order(goal, (2, p.mp(p.axiom("max-left", 0, z), low)))

    return p.for_all(p.cases(p.dichotomy(0, z), active, inactive), z, y)


def bend(unit: Any) -> Any:
    """By how much a unit misses the midpoint law."""
    return plus(
        relu(before(ahead, unit)), relu(before(behind, unit)), times(-2, relu(before(row(U), unit)))
    )


def bend_of_unit(p: Prover, kink: Theorem, larger: Theorem) -> Theorem:
    """Unit k receives 0 at the kink and +-(W_1 v)_k at the two points, so it bends by that."""
    y = change(k)
    forth = p.equal(before(ahead, k), y, kink, reason="at $u + v$ unit $k$ receives $(W_1 v)_k$")
    back = p.equal(before(behind, k), times(-1, y), kink, reason="and at $u - v$ the opposite")
    up = p.mp(p.axiom("max-right", 0, y), p.order(at_most(0, y), (1, larger)))
    down = p.mp(
        p.axiom("max-left", 0, times(-1, y)), p.order(at_most(times(-1, y), 0), (1, larger))
    )
    value = p.replace(bend(k), kink, forth, back, up, down)
    last = p.equal(value.conclusion.children[1], y, show=False)
    return p.note(
        p.linked(value, last),
        "so it passes on more than twice what it does at $u$, by $(W_1 v)_k$",
    )


def prove_not_affine(p: Prover) -> Theorem:
    same_sign, weight = p.part(p.hyp(0), 0), p.part(p.hyp(0), 1)
    kink, larger = p.part(p.hyp(1), 0), p.part(p.hyp(1), 1)
    convex = p.note(
        p.for_all(p.at(convexity(p), before(row(U), j), change(j)), j),
        "ReLU is convex: no unit passes on less than twice that",
    )
    own = bend_of_unit(p, kink, larger)
    unit = p.term(j)
    others = T.power(T.sub(T.ONE, T.delta(unit, p.term(k))), 2)
    items = (
        Item(((0, (unit,)), (1, (unit,))), others, (unit,)),
        Item(((2, ()), (3, ())), T.ONE),
        Item(((4, ()),), p.term(W_2[o, k])),
    )
    premises = [same_sign, convex, weight, larger, own]
    gap = infer("order", premises, p.formula(less(*midpoint(o))), 5, items)
    p.note(gap, "add up the units with their weights, of which none is negative")
    return p.note(infer("apart", [gap]), "so the two differ")


def identity_law(p: Prover) -> Theorem:
    """For all z: ReLU(z) - ReLU(-z) = z."""
    z = real("z")
    goal = equal(minus(relu(z), relu(times(-1, z))), z)
    left, right = goal.args

    def pos(case: Theorem) -> Theorem:
        down = p.order(at_most(times(-1, z), 0), (1, case))
        values = (
            p.mp(p.axiom("max-right", 0, z), case),
            p.mp(p.axiom("max-left", 0, times(-1, z)), down),
        )
        return p.equal(left, right, (1, values[0]), (-1, values[1]), show=False)

    def neg(case: Theorem) -> Theorem:
        low, up = p.order(at_most(z, 0), (1, case)), p.order(at_most(0, times(-1, z)), (1, case))
        values = (
            p.mp(p.axiom("max-left", 0, z), low),
            p.mp(p.axiom("max-right", 0, times(-1, z)), up),
        )
        return p.equal(left, right, (1, values[0]), (-1, values[1]), show=False)

    return p.for_all(p.cases(p.dichotomy(0, z), pos, neg), z)


def midpoint_gap(w: Any, u_: Any, v_: Any) -> Any:
    from numeric import feed_forward

    return feed_forward(u_ + v_, w) + feed_forward(u_ - v_, w) - 2 * feed_forward(u_, w)


def twin_not_affine(rng: np.random.Generator) -> Iterator[Trial]:
    """Networks whose first output adds hidden units without a minus sign, and the identity."""
    from numeric import FeedForwardWeights

    for w in networks(rng):
        down = w.w_2.copy()
        down[:, 0] = np.abs(down[:, 0])
        same_sign = FeedForwardWeights(w.w_1, down, w.b_1, w.b_2)
        weights = w.w_1[:, 0]
        square = weights @ weights
        gap = midpoint_gap(same_sign, -w.b_1[0] / square * weights, weights)[0]
        yield bounded(down[0, 0] * square, gap, "at the kink of unit 0", tolerance=1e-12)
        yield differs(gap, 0.0, by=down[0, 0] * square / 2, what="misses the midpoint")
    identity = FeedForwardWeights(np.array([[1.0, -1.0]]), np.array([[1.0], [-1.0]]),
                                  np.zeros(2), np.zeros(1))  # fmt: skip
    points = rng.standard_normal((2, 20, 1))
    yield agree(midpoint_gap(identity, *points), np.zeros((20, 1)), "the identity network")


NOT_AFFINE = Claim(
    id="feed-forward/not-affine",
    title="Non-linear, if the kinks do not cancel",
    source=Source(
        DERIVATIONS, ("A25",),
        "The network applies a non-linear transformation to each position, whatever its weights.",
    ),
    statement=negation(equal(*midpoint(o))),
    added=(
        Added(
            ONE_SIGN,
            Example({d: 1, f: 2, o: 0, k: 0, W_1: [[1], [-1]], W_2: [[1, -1]], b_1: [0, 0],
                     b_2: [0], U: [0], V: [1]}),
            "no unit contributes to the output with a minus sign, and unit $k$ does contribute; "
            "the note says nothing of the weights",
        ),
        Added(
            ACROSS,
            Example({d: 1, f: 1, o: 0, k: 0, W_1: [[2]], W_2: [[1]], b_1: [0], b_2: [0],
                     U: [1], V: [1]}),
            "unit $k$ has its kink at $u$, and its input grows along $v$",
        ),
    ),
    witness=Example({d: 1, f: 1, o: 0, k: 0, W_1: [[1]], W_2: [[1]], b_1: [0], b_2: [0],
                     U: [0], V: [1]}),
    proof=prove_not_affine,
    twin=Twin("how far the network is from the midpoint law", twin_not_affine),
    remark=r"An affine map takes midpoints to midpoints. With $W_1 = [1; -1]$ and $W_2 = [1, -1]$ "
    r"the network is the identity, so some condition on the weights is needed.",
    expected=Verdict.CONDITIONAL,
)  # fmt: skip

# the identity in any width

e2 = index("j", times(2, d))
up_2, down_2 = tensor("W_1", times(2, d), d), tensor("W_2", d, times(2, d))
paired = minus(one(e2, times(2, c)), one(e2, plus(times(2, c), 1)))
joined = minus(one(e2, times(2, a)), one(e2, plus(times(2, a), 1)))


def doubled(out: Any) -> Any:
    units = relu(total(times(up_2[e2, c], x[c]), c))
    return total(times(down_2[out, e2], units), e2)


def prove_identity(p: Prover) -> Theorem:
    inside = p.replace(doubled(a), p.hyp(0), p.hyp(1), reason="the matrices as they are given")
    value = p.equal(
        inside.conclusion.children[1],
        minus(relu(x[a]), relu(times(-1, x[a]))),
        reason="only units $2a$ and $2a + 1$ reach output $a$; they receive $x_a$ and $-x_a$",
    )
    law = p.at(identity_law(p), x[a])
    last = p.note(law, "whichever sign $x_a$ has")
    return p.for_all(p.linked(inside, value, last), a)


def twin_identity(rng: np.random.Generator) -> Iterator[Trial]:
    from numeric import FeedForwardWeights, feed_forward

    for width in (1, 2, 3, 5):
        eye = np.eye(width)
        stacked = np.hstack([eye, -eye])
        paired_ = stacked.reshape(width, 2, width).swapaxes(1, 2).reshape(width, 2 * width)
        tokens = rng.standard_normal((4, width))
        for up in (stacked, paired_):
            w = FeedForwardWeights(up, up.T, np.zeros(2 * width), np.zeros(width))
            yield agree(feed_forward(tokens, w), tokens, f"width {width}")


IDENTITY = Claim(
    id="feed-forward/identity",
    title="A network that is the identity",
    source=Source(
        DERIVATIONS, ("A25",),
        "The transformation of each position is called non-linear; here are weights, with "
        r"$d_{ff} = 2\,d_{\text{model}}$, for which it is the identity.",
    ),
    statement=forall(a, equal(doubled(a), x[a])),
    given=(
        Notation(forall([e2, c], equal(up_2[e2, c], paired)), "rows of $I$ and of $-I$ in turn"),
        Notation(forall([a, e2], equal(down_2[a, e2], joined)), "the transpose"),
    ),
    proof=prove_identity,
    twin=Twin("outputs against inputs, also with $I$ above $-I$", twin_identity),
    remark="The order of the hidden units does not matter: $W_1$ may as well be $I$ above $-I$.",
    expected=Verdict.PROVED,
)  # fmt: skip

CLAIMS = (
    SHAPES,
    WIDTHS,
    WORKFLOW,
    COMMENTS,
    RESIDUAL,
    RELATIONS,
    RANK,
    LOSES,
    FUNCTIONAL,
    CODE,
    SAME_MAP,
    POSITION_WISE,
    EQUIVARIANCE,
    COLLAPSE,
    COLLAPSED_COUNT,
    CELL,
    LIPSCHITZ,
    NOT_AFFINE,
    IDENTITY,
)

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
