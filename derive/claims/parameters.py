"""How many parameters a layer stores: multi-head attention and the feed-forward network.

A count is the sum of 1 over all entries of a weight tensor, so it follows from the shape.  The
derivations note counts matrices only; its feed-forward formula has biases as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from derive import latex
from derive.claim import Added, Claim, Correction, Example, Given, Mutation, Notation
from derive.claims import DERIVATIONS, INTERVIEW
from derive.kernel.rules import Theorem
from derive.language import (
    Tensor,
    all_equal,
    both,
    dim,
    dims,
    equal,
    iff,
    implies,
    index,
    natural,
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
from numeric import FeedForwardWeights, MultiHeadWeights, feed_forward, linear, relu

ORDER = 10
TOPIC = "parameters"


# ---------------------------------------------------------------------- counting


def ones(*shape: Any) -> sp.Expr:
    """1 for every entry of a tensor of that shape."""
    return total(1, *(index(f"a{k}", size) for k, size in enumerate(shape)))


@dataclass(frozen=True)
class Stored:
    """A tensor of parameters, and the symbol for the number of its entries."""

    number: sp.Symbol
    tensor: Tensor

    @property
    def entries(self) -> sp.Expr:
        return ones(*self.tensor.shape)

    @property
    def sides(self) -> sp.Expr:
        return times(*self.tensor.shape)

    @property
    def name(self) -> str:
        return f"${latex.name(str(self.tensor.label))}$"

    @property
    def how_many(self) -> str:
        alone = len(self.tensor.shape) == 1
        return f"the length of {self.name}" if alone else f"the sides of {self.name}, multiplied"

    @property
    def counted(self) -> Any:
        """What the number is: one for every entry."""
        return equal(self.number, self.entries)

    @property
    def definition(self) -> Given:
        return Notation(self.counted, f"the number of entries of {self.name}")


def stored(number: str, name: str, *shape: Any) -> Stored:
    return Stored(natural(number), tensor(name, *shape))


def definitions(*parts: Stored) -> tuple[Given, ...]:
    """What the numbers of tensors are that the source speaks of."""
    return tuple(s.definition for s in parts)


def counting(*parts: Stored) -> tuple[Any, ...]:
    """The same as premises, for tensors that the source does not speak of."""
    return tuple(s.counted for s in parts)


def number(*parts: Stored) -> sp.Expr:
    """How many parameters there are in all."""
    return plus(*(s.number for s in parts))


def sides(*parts: Stored) -> sp.Expr:
    return plus(*(s.sides for s in parts))


def by_axes(p: Prover, part: Stored, definition: Theorem, *axes: str) -> Theorem:
    """The number of entries, axis by axis from the last; `axes` says what each one holds."""
    shape = part.tensor.shape
    indices = list(map(index, "abc", shape))
    steps: list[tuple[Any, ...]] = [(part.entries, "one for every entry", definition)]
    for k, why in reversed(list(enumerate(axes))):
        inner = times(*shape[k:])
        steps.append((total(inner, *indices[:k]) if k else inner, why))
    return p.calc(part.number, *steps)


def by_sides(p: Prover, parts: Sequence[Stored], first: int = 0) -> list[Theorem]:
    """The number of entries of each part; hypothesis `first` defines the first of them."""
    return multiplied(p, parts, [p.hyp(first + k) for k in range(len(parts))])


def multiplied(p: Prover, parts: Sequence[Stored], counted: Sequence[Theorem]) -> list[Theorem]:
    return [
        p.equal(s.number, s.sides, c, reason=s.how_many)
        for s, c in zip(parts, counted, strict=True)
    ]


def under(p: Prover, premises: Any, then: Callable[..., Theorem], reason: str) -> Theorem:
    """premises -> what `then` proves from their theorems, one for each part."""

    def from_parts(case: Theorem) -> Theorem:
        return then(*(p.part(case, k) for k in range(len(case.conclusion.children))))

    return p.suppose(premises, from_parts, reason)


# ---------------------------------------------------------------------- multi-head attention

d, h, d_k, d_v = dims("d_model h d_k d_v")
square = power(d, 2)

W_Q, W_K = stored("N_Q", "W^Q", h, d, d_k), stored("N_K", "W^K", h, d, d_k)
W_V, W_O = stored("N_V", "W^V", h, d, d_v), stored("N_O", "W^O", times(h, d_v), d)
matrices = (W_Q, W_K, W_V, W_O)

KEYS_FIT = Given(equal(times(h, d_k), d), "the reason that the note gives for the query matrices")
VALUES_FIT = Given(equal(times(h, d_v), d), "the reason that the note gives for the concatenation")
fitting = r"$h\,d_k = d_{\text{model}}$ and $h\,d_v = d_{\text{model}}$"

SMALLEST = {d: 1, h: 1, d_k: 1, d_v: 1}

#: (d_model, h): divisible, no two alike; one head, as many heads as the width, width 1.
DIVISIBLE = ((12, 4), (12, 3), (30, 5), (8, 8), (2, 1), (7, 1), (1, 1))
#: (d_model, h, d_k, d_v): widths that are not tied to the model width.
WIDTHS = ((12, 4, 3, 5), (10, 3, 4, 7), (7, 1, 2, 3), (5, 2, 1, 4), (1, 1, 1, 1))


def squared(p: Prover, part: Stored, width: sp.Symbol, fits: Theorem) -> Theorem:
    """h d_model width = d_model^2 for the h projections of one kind."""
    counted = by_axes(
        p,
        part,
        p.hyp(0),
        "there are $h$ matrices",
        r"a matrix has $d_{\text{model}}$ rows",
        f"a row has ${width}$ entries",
    )
    product = p.calc(
        part.sides,
        (times(times(h, width), d), "in another order"),
        (times(d, d), rf"$h\,{width} = d_{{\text{{model}}}}$", fits),
        (square, "a square"),
    )
    return p.both(counted, product)


def twin_of_one(name: str) -> Twin:
    """Weights of that name hold d_model^2 numbers, whatever the number of heads."""
    return Twin(f"size of the stored array `{name}`", lambda rng: sizes_of_one(rng, name))


def sizes_of_one(rng: np.random.Generator, name: str, counted: slice = slice(None)) -> list[Trial]:
    drawn = [MultiHeadWeights.init(rng, m, n) for m, n in DIVISIBLE]
    return [agree(getattr(w, name)[counted].size, w.d_model**2, f"{name}, h={w.h}") for w in drawn]


def of_shape(part: Stored, *shape: Any) -> Given:
    """The definition of its number of entries for another shape than the part has."""
    return stored(str(part.number), str(part.tensor.label), *shape).definition


def prove_queries(p: Prover) -> Theorem:
    return squared(p, W_Q, d_k, p.hyp(1))


def queries_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "one of the $h$ matrices is counted in place of all",
            statement=equal(W_Q.number, times(d, d_k)),
            twin=Twin(
                "size of the first matrix of the stored array `w_q`",
                lambda rng: sizes_of_one(rng, "w_q", slice(1)),
            ),
        ),
    )


QUERIES = Claim(
    id="parameters/queries",
    title="Query matrices",
    source=Source(
        DERIVATIONS, ("A08",),
        r"The $h$ matrices $W_i^Q$ have $h \times d_{\text{model}} \times d_k = "
        r"d_{\text{model}}^2$ entries, because $h\,d_k = d_{\text{model}}$.",
    ),
    statement=all_equal(W_Q.number, W_Q.sides, square),
    given=(W_Q.definition, KEYS_FIT),
    proof=prove_queries,
    twin=twin_of_one("w_q"),
    mutations=queries_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip


def prove_keys(p: Prover) -> Theorem:
    return squared(p, W_K, d_k, p.hyp(1))


KEYS = Claim(
    id="parameters/keys",
    title="Key matrices",
    source=Source(
        DERIVATIONS, ("A09",),
        r"The matrices $W_i^K$ have $d_{\text{model}}^2$ entries, as those of the queries.",
    ),
    statement=all_equal(W_K.number, W_K.sides, square),
    given=(W_K.definition, KEYS_FIT),
    proof=prove_keys,
    twin=twin_of_one("w_k"),
    expected=Verdict.PROVED,
)  # fmt: skip


def prove_values(p: Prover) -> Theorem:
    return squared(p, W_V, d_v, p.hyp(1))


def values_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "$W_i^V$ gets the width $d_k$ of the keys",
            given=(of_shape(W_V, h, d, d_k), VALUES_FIT),
        ),
    )


VALUES = Claim(
    id="parameters/values",
    title="Value matrices",
    source=Source(
        DERIVATIONS, ("A09",),
        r"The matrices $W_i^V$ have $d_{\text{model}}^2$ entries; the widths are set to "
        r"$d_k = d_v = d_{\text{model}}/h$ at the beginning.",
    ),
    statement=all_equal(W_V.number, W_V.sides, square),
    given=(W_V.definition, VALUES_FIT),
    proof=prove_values,
    twin=twin_of_one("w_v"),
    mutations=values_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip


def prove_likewise(p: Prover) -> Theorem:
    return squared(p, W_V, d_v, p.hyp(2))


def twin_likewise(rng: np.random.Generator) -> list[Trial]:
    wide = MultiHeadWeights.init(rng, 12, 3, d_k=4, d_v=5)
    return [
        *sizes_of_one(rng, "w_v"),
        agree(wide.w_q.size, 12 * 12, "queries of width 4"),
        differs(wide.w_v.size, 12 * 12, by=36, what="values of width 5"),
    ]


LIKEWISE = Claim(
    id="parameters/likewise",
    title="Values need a reason of their own",
    source=Source(
        DERIVATIONS, ("A09",),
        r"The count of $W_i^V$ is said to follow in the way of $W_i^Q$; the reason given there is "
        r"$h\,d_k = d_{\text{model}}$, which says nothing about $d_v$.",
    ),
    statement=all_equal(W_V.number, W_V.sides, square),
    given=(W_V.definition, KEYS_FIT),
    added=(
        Added(
            equal(times(h, d_v), d),
            Example({d: 12, h: 3, d_k: 4, d_v: 5}),
            "the value width needs a hypothesis of its own",
        ),
    ),
    witness=Example({d: 12, h: 3, d_k: 4, d_v: 4}),
    proof=prove_likewise,
    twin=Twin("size of the stored value weights, also with another value width", twin_likewise),
    expected=Verdict.CONDITIONAL,
)  # fmt: skip


def prove_output(p: Prover) -> Theorem:
    counted = by_axes(
        p, W_O, p.hyp(0), r"there are $h\,d_v$ rows", r"a row has $d_{\text{model}}$ entries"
    )
    product = p.calc(
        W_O.sides,
        (times(d, d), r"$h\,d_v = d_{\text{model}}$", p.hyp(1)),
        (square, "a square"),
    )
    return p.both(counted, product)


def output_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "$W^O$ has the rows of one head only",
            given=(of_shape(W_O, d_v, d), VALUES_FIT),
        ),
    )


OUTPUT = Claim(
    id="parameters/output",
    title="Output matrix",
    source=Source(
        DERIVATIONS, ("A10",),
        r"$W^O$ has $h\,d_v \times d_{\text{model}} = d_{\text{model}}^2$ entries.",
    ),
    statement=all_equal(W_O.number, W_O.sides, square),
    given=(W_O.definition, VALUES_FIT),
    proof=prove_output,
    twin=twin_of_one("w_o"),
    mutations=output_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip

# ---------------------------------------------------------------------- the whole layer

any_widths = times(2, h, d, plus(d_k, d_v))
bias_widths = (times(2, h, d_k), times(h, d_v), d)


def bias_entries(heads: Any, keys: Any, values: Any, model: Any) -> sp.Expr:
    """1 for every entry of the biases of the queries, keys, values and output."""
    return plus(ones(heads, keys), ones(heads, keys), ones(heads, values), ones(model))


B = natural("B")
BIASES = equal(B, bias_entries(h, d_k, d_v, d))
by_heads = plus(times(2, d, times(h, d_k)), times(2, d, times(h, d_v)))


def layers(rng: np.random.Generator, bias: bool = False) -> list[MultiHeadWeights]:
    return [MultiHeadWeights.init(rng, m, n, bias=bias) for m, n in DIVISIBLE]


def prove_any_widths(p: Prover) -> Theorem:
    counts = by_sides(p, matrices)
    return p.calc(
        number(*matrices), (sides(*matrices), "add them up", *counts), (any_widths, "collect")
    )


def twin_any_widths(rng: np.random.Generator, keys_only: bool = False) -> list[Trial]:
    return [
        agree(
            MultiHeadWeights.init(rng, m, n, d_k=k, d_v=k if keys_only else v).parameter_count(),
            2 * n * m * (k + v),
            f"d={m}, h={n}, d_k={k}, d_v={v}",
        )
        for m, n, k, v in WIDTHS
    ]


def any_widths_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "the values get the width $d_k$ of the queries and keys",
            statement=equal(number(*matrices), times(4, h, d, d_k)),
            twin=Twin(
                "numbers stored by layers whose values are as wide as their keys",
                lambda rng: twin_any_widths(rng, keys_only=True),
            ),
        ),
    )


ANY_WIDTHS = Claim(
    id="parameters/layer-any-widths",
    title="Layer of any head widths",
    source=Source(
        DERIVATIONS, ("A11",),
        r"The total is the sum over $W^Q$, $W^K$, $W^V$ and $W^O$, and is given for "
        r"$h\,d_k = h\,d_v = d_{\text{model}}$. Beyond the note: what it is for any head widths.",
    ),
    statement=equal(number(*matrices), any_widths),
    given=definitions(*matrices),
    proof=prove_any_widths,
    twin=Twin("numbers stored by layers with unequal key and value widths", twin_any_widths),
    mutations=any_widths_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip


def prove_layer(p: Prover) -> Theorem:
    counts = by_sides(p, matrices)
    return p.calc(
        number(*matrices),
        (sides(*matrices), "add them up", *counts),
        (by_heads, "collect"),
        (plus(times(2, d, d), times(2, d, d)), fitting, p.hyp(4), p.hyp(5)),
        (times(4, square), "add up"),
    )


def twin_layer(rng: np.random.Generator, bias: bool = False) -> list[Trial]:
    drawn = layers(rng, bias)
    return [agree(w.parameter_count(), 4 * w.d_model**2, f"d={w.d_model}") for w in drawn]


def layer_mutations() -> tuple[Mutation, ...]:
    def forgotten(rng: np.random.Generator) -> list[Trial]:
        return [agree(w.parameter_count() - w.w_o.size, 4 * w.d_model**2) for w in layers(rng)]

    return (
        Mutation(
            "$W^O$ is forgotten",
            statement=equal(number(*matrices), times(3, square)),
            twin=Twin("numbers stored by layers, those of `w_o` left out", forgotten),
        ),
        Mutation(
            "biases are counted in a layer that has none",
            statement=equal(number(*matrices), plus(times(4, square), times(4, d))),
            twin=Twin(
                "numbers stored by layers with biases", lambda rng: twin_layer(rng, bias=True)
            ),
        ),
    )


LAYER = Claim(
    id="parameters/layer",
    title="Layer: four squares",
    source=Source(
        DERIVATIONS, ("A11",),
        r"A multi-head layer has $4\,d_{\text{model}}^2$ parameters in all.",
    ),
    statement=equal(number(*matrices), times(4, square)),
    given=(*definitions(*matrices), KEYS_FIT, VALUES_FIT),
    proof=prove_layer,
    twin=Twin("numbers stored by layers without biases", twin_layer),
    mutations=layer_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip


def reduce_with_biases(p: Prover, start: sp.Expr, keys: Theorem, values: Theorem) -> Theorem:
    """The counts with biases, when the head widths fit."""
    return p.calc(
        start,
        (
            plus(by_heads, times(2, times(h, d_k)), times(h, d_v), d),
            "collect the widths of all heads",
        ),
        (plus(times(2, d, d), times(2, d, d), times(2, d), d, d), fitting, keys, values),
        (plus(times(4, square), times(4, d)), "add up"),
    )


def prove_layer_with_biases(p: Prover) -> Theorem:
    def then(counted: Theorem) -> Theorem:
        counts = by_sides(p, matrices)
        shifts = p.equal(B, plus(*bias_widths), counted, reason="the lengths of the biases")
        general = p.calc(
            plus(number(*matrices), B),
            (plus(sides(*matrices), *bias_widths), "add them up", *counts, shifts),
            (plus(any_widths, *bias_widths), "collect"),
        )
        special = reduce_with_biases(p, plus(any_widths, *bias_widths), p.hyp(4), p.hyp(5))
        return p.both(general, special)

    return p.suppose(BIASES, then, "let $B$ count the biases")


def twin_layer_with_biases(rng: np.random.Generator) -> list[Trial]:
    fits = [
        agree(w.parameter_count(), 4 * w.d_model**2 + 4 * w.d_model, f"d={w.d_model}")
        for w in layers(rng, bias=True)
    ]
    others = [
        agree(
            MultiHeadWeights.init(rng, m, n, d_k=k, d_v=v, bias=True).parameter_count(),
            2 * n * m * (k + v) + 2 * n * k + n * v + m,
            f"d={m}, h={n}, d_k={k}, d_v={v}",
        )
        for m, n, k, v in WIDTHS
    ]
    return [*fits, *others]


def layer_with_biases_mutations() -> tuple[Mutation, ...]:
    with_biases = plus(number(*matrices), B)
    return (
        Mutation(
            "the output projection is left without a bias",
            statement=implies(BIASES, equal(with_biases, plus(times(4, square), times(3, d)))),
            counterexample=Example(SMALLEST),
        ),
    )


LAYER_WITH_BIASES = Claim(
    id="parameters/layer-with-biases",
    title="Layer with biases",
    source=Source(
        DERIVATIONS, ("A11",),
        r"The total of $4\,d_{\text{model}}^2$ counts matrices; the note has no biases. "
        r"Beyond the note: what it is when each projection has a bias, as in most libraries.",
    ),
    statement=implies(
        BIASES,
        all_equal(
            plus(number(*matrices), B),
            plus(any_widths, *bias_widths),
            plus(times(4, square), times(4, d)),
        ),
    ),
    given=(*definitions(*matrices), KEYS_FIT, VALUES_FIT),
    proof=prove_layer_with_biases,
    twin=Twin("numbers stored by layers with biases", twin_layer_with_biases),
    mutations=layer_with_biases_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip


def at_sizes(part: Stored, sizes: dict[sp.Symbol, int]) -> Stored:
    return Stored(
        part.number, tensor(str(part.tensor.label), *(s.subs(sizes) for s in part.tensor.shape))
    )


BASE = {d: 512, h: 8, d_k: 64, d_v: 64}
base_matrices = tuple(at_sizes(s, BASE) for s in matrices)
base_biases = bias_entries(8, 64, 64, 512)


def prove_base_layer(p: Prover) -> Theorem:
    counts = by_sides(p, base_matrices)
    large = p.calc(
        number(*base_matrices),
        (sides(*base_matrices), "add them up", *counts),
        (1_048_576, "multiply and add"),
    )
    small = p.calc(
        base_biases,
        (plus(times(8, 64), times(8, 64), times(8, 64), 512), "the lengths of the biases"),
        (2_048, "multiply and add"),
    )
    return p.both(large, small)


def twin_base_layer(rng: np.random.Generator) -> list[Trial]:
    weights = MultiHeadWeights.init(rng, 512, 8, bias=True)
    shifts = sum(
        b.size for b in (weights.b_q, weights.b_k, weights.b_v, weights.b_o) if b is not None
    )
    return [
        agree(weights.parameter_count() - shifts, 1_048_576, "matrices"),
        agree(shifts, 2_048, "biases"),
    ]


BASE_LAYER = Claim(
    id="parameters/base-layer",
    title="Layer of the base model",
    source=Source(
        DERIVATIONS, ("A01", "A11"),
        r"$4\,d_{\text{model}}^2$ parameters, for $d_{\text{model}} = 512$, $h = 8$ and head "
        r"width 64. Beyond the note: how many a bias for each projection would add.",
    ),
    statement=both(equal(number(*base_matrices), 1_048_576), equal(base_biases, 2_048)),
    given=definitions(*base_matrices),
    proof=prove_base_layer,
    twin=Twin("numbers stored by the base layer", twin_base_layer),
    expected=Verdict.PROVED,
)  # fmt: skip

g = dim("g")
shared = (stored("N_K'", "W^K'", g, d, d_k), stored("N_V'", "W^V'", g, d, d_v))
grouped = (W_Q, *shared, W_O)


def prove_grouped(p: Prover) -> Theorem:
    share = over(g, h)

    def then(keys: Theorem, values: Theorem) -> Theorem:
        counts = multiplied(p, grouped, (p.hyp(0), keys, values, p.hyp(1)))
        return p.calc(
            number(*grouped),
            (sides(*grouped), "add them up", *counts),
            (
                plus(
                    times(d, times(h, d_k)),
                    times(d, times(h, d_v)),
                    times(share, d, times(h, d_k)),
                    times(share, d, times(h, d_v)),
                ),
                r"$g = \frac{g}{h}\,h$",
            ),
            (
                plus(times(d, d), times(d, d), times(share, d, d), times(share, d, d)),
                fitting,
                (times(d, plus(1, share)), p.hyp(2)),
                (times(d, plus(1, share)), p.hyp(3)),
            ),
            (plus(times(2, square), times(2, square, share)), "add up"),
        )

    return under(p, GROUPED.statement.args[0], then, "let $g$ heads hold the keys and values")


def twin_grouped(rng: np.random.Generator) -> list[Trial]:
    trials = []
    for m, n, shared in [(12, 6, 2), (12, 6, 3), (8, 8, 1), (10, 5, 5), (12, 4, 3)]:
        own = MultiHeadWeights.init(rng, m, n)
        few = MultiHeadWeights.init(rng, m, shared, d_k=m // n, d_v=m // n)
        kept = own.w_q.size + few.w_k.size + few.w_v.size + own.w_o.size
        claimed = 2 * m * m + 2 * m * m * shared / n
        trials.append(agree(kept, claimed, f"d={m}, h={n}, g={shared}"))
    return trials


def grouped_mutations() -> tuple[Mutation, ...]:
    turned = plus(times(2, square), times(2, square, over(h, g)))
    return (
        Mutation(
            "the share $g/h$ is turned round",
            statement=implies(both(*counting(*shared)), equal(number(*grouped), turned)),
            counterexample=Example({**SMALLEST, g: 2}),
        ),
    )


GROUPED = Claim(
    id="parameters/grouped-queries",
    title="Layer with shared keys and values",
    source=Source(
        DERIVATIONS, ("A11",),
        r"The layer has as many key and value heads as query heads, and then "
        r"$4\,d_{\text{model}}^2$ parameters. Beyond the note: $g$ heads of keys and values, each "
        r"shared by several query heads.",
    ),
    statement=implies(
        both(*counting(*shared)),
        equal(number(*grouped), plus(times(2, square), times(2, square, over(g, h)))),
    ),
    given=(W_Q.definition, W_O.definition, KEYS_FIT, VALUES_FIT),
    proof=prove_grouped,
    twin=Twin("stored numbers, with the keys and values of a layer of fewer heads", twin_grouped),
    mutations=grouped_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip

# ---------------------------------------------------------------------- other numbers of heads

h2, d_k2, d_v2 = dims("h' d_k' d_v'")
other_matrices = (
    stored("N_Q'", "W^Q'", h2, d, d_k2),
    stored("N_K'", "W^K'", h2, d, d_k2),
    stored("N_V'", "W^V'", h2, d, d_v2),
    stored("N_O'", "W^O'", times(h2, d_v2), d),
)
B2 = natural("B'")
OTHER_BIASES = equal(B2, bias_entries(h2, d_k2, d_v2, d))
other_bias_widths = (times(2, h2, d_k2), times(h2, d_v2), d)
ALL_FIT = (
    KEYS_FIT,
    VALUES_FIT,
    Given(equal(times(h2, d_k2), d), "what the note says of $h$, for another number of heads"),
    Given(equal(times(h2, d_v2), d), "what the note says of $h$, for another number of heads"),
)
other_fitting = r"$h'\,d'_k = d_{\text{model}}$ and $h'\,d'_v = d_{\text{model}}$"


def prove_constant(p: Prover) -> Theorem:
    counts, others = by_sides(p, matrices), by_sides(p, other_matrices, first=4)
    return p.calc(
        number(*matrices),
        (sides(*matrices), "add up the first layer", *counts),
        (by_heads, "collect the widths of all heads"),
        (times(4, square), fitting, p.hyp(8), p.hyp(9)),
        (
            plus(times(2, d, times(h2, d_k2)), times(2, d, times(h2, d_v2))),
            other_fitting,
            (times(-2, d), p.hyp(10)),
            (times(-2, d), p.hyp(11)),
        ),
        (sides(*other_matrices), "distribute"),
        (number(*other_matrices), "add up the other layer", *((-1, c) for c in others)),
    )


def twin_constant(
    rng: np.random.Generator, bias: bool = False, width: int | None = None
) -> list[Trial]:
    """For every number of heads; with heads of one width, if that is given."""
    trials = []
    for m in (12, 30, 16, 7):
        heads = [n for n in range(1, m + 1) if m % n == 0]
        counts = [
            MultiHeadWeights.init(rng, m, n, d_k=width, d_v=width, bias=bias).parameter_count()
            for n in heads
        ]
        trials += [agree(c, counts[0], f"d={m}") for c in counts[1:]]
    return trials


def constant_mutations() -> tuple[Mutation, ...]:
    kept = (Given(equal(d_k2, d_k)), Given(equal(d_v2, d_v)))
    return (
        Mutation(
            "a head keeps its width when there are more of them",
            given=(*CONSTANT.given[:-2], *kept),
            counterexample=Example({**SMALLEST, h2: 2, d_k2: 1, d_v2: 1}),
            twin=Twin(
                "numbers stored for every number of heads of one width",
                lambda rng: twin_constant(rng, width=2),
            ),
        ),
    )


CONSTANT = Claim(
    id="parameters/constant-in-heads",
    title="More heads, as many parameters",
    source=Source(
        DERIVATIONS, ("A12",),
        r"The total of $4\,d_{\text{model}}^2$ does not depend on $h$.",
    ),
    statement=equal(number(*matrices), number(*other_matrices)),
    given=(*definitions(*matrices, *other_matrices), *ALL_FIT),
    proof=prove_constant,
    twin=Twin("numbers stored for every number of heads that divides the width", twin_constant),
    mutations=constant_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip


def prove_constant_with_biases(p: Prover) -> Theorem:
    def then(counted: Theorem, others_counted: Theorem) -> Theorem:
        counts, others = by_sides(p, matrices), by_sides(p, other_matrices, first=4)
        shifts = p.equal(B, plus(*bias_widths), counted, reason="the lengths of the biases")
        other_shifts = p.equal(
            B2, plus(*other_bias_widths), others_counted, reason="and in the other layer"
        )
        added = p.equal(
            plus(number(*matrices), B), plus(sides(*matrices), *bias_widths), *counts, shifts,
            reason="add up the first layer",
        )  # fmt: skip
        reduced = reduce_with_biases(p, plus(sides(*matrices), *bias_widths), p.hyp(8), p.hyp(9))
        return p.calc(
            plus(number(*matrices), B),
            (plus(times(4, square), times(4, d)), "so far", (1, added), (1, reduced)),
            (
                plus(sides(*other_matrices), *other_bias_widths),
                other_fitting,
                (plus(times(-2, d), -2), p.hyp(10)),
                (plus(times(-2, d), -1), p.hyp(11)),
            ),
            (
                plus(number(*other_matrices), B2),
                "add up the other layer",
                *((-1, c) for c in others),
                (-1, other_shifts),
            ),
        )

    return under(p, both(BIASES, OTHER_BIASES), then, "let $B$ and $B'$ count the biases")


CONSTANT_WITH_BIASES = Claim(
    id="parameters/constant-with-biases",
    title="More heads, as many parameters with biases",
    source=Source(
        DERIVATIONS, ("A12",),
        r"The total of $4\,d_{\text{model}}^2$ does not depend on $h$; biases are not spoken of. "
        r"Beyond the note: it does not with them, either.",
    ),
    statement=implies(
        both(BIASES, OTHER_BIASES),
        equal(plus(number(*matrices), B), plus(number(*other_matrices), B2)),
    ),
    given=(*definitions(*matrices, *other_matrices), *ALL_FIT),
    proof=prove_constant_with_biases,
    twin=Twin(
        "numbers stored with biases for every number of heads that divides the width",
        lambda rng: twin_constant(rng, bias=True),
    ),
    expected=Verdict.PROVED,
)  # fmt: skip


def prove_same_count_iff(p: Prover) -> Theorem:
    counts, others = by_sides(p, matrices), by_sides(p, other_matrices, first=4)
    one, other = times(h, plus(d_k, d_v)), times(h2, plus(d_k2, d_v2))
    left, right = number(*matrices), number(*other_matrices)
    mine = p.calc(left, (sides(*matrices), "add them up", *counts), (times(2, d, one), "collect"))
    yours = p.calc(
        right, (sides(*other_matrices), "add them up", *others), (times(2, d, other), "collect")
    )
    half = over(1, times(2, d))

    def divided(same: Theorem) -> Theorem:
        return p.calc(
            one,
            (over(left, times(2, d)), "divide by $2\\,d_{\\text{model}}$", (times(-1, half), mine)),
            (over(right, times(2, d)), "as supposed", (half, same)),
            (other, "the same division", (half, yours)),
        )

    def multiplied(same: Theorem) -> Theorem:
        return p.calc(
            left,
            (times(2, d, one), "as counted", (1, mine)),
            (times(2, d, other), "as supposed", (times(2, d), same)),
            (right, "as counted", (-1, yours)),
        )

    return p.both(
        p.suppose(equal(left, right), divided, "suppose that the counts agree"),
        p.suppose(equal(one, other), multiplied, "conversely, suppose that these widths agree"),
    )


def twin_same_count_iff(rng: np.random.Generator) -> list[Trial]:
    shapes = [(n, k, v) for n in (1, 2, 3, 6) for k in (1, 2, 4) for v in (1, 2, 5)]
    counts = [MultiHeadWeights.init(rng, 7, *s).parameter_count() for s in shapes]
    widths = [n * (k + v) for n, k, v in shapes]
    return [
        agree(counts[a] == counts[b], widths[a] == widths[b], f"{shapes[a]} and {shapes[b]}")
        for a in range(len(shapes))
        for b in range(a)
    ]


SAME_COUNT_IFF = Claim(
    id="parameters/same-count-iff",
    title="When two layers have equally many parameters",
    source=Source(
        DERIVATIONS, ("A12",),
        r"A layer with $h$ heads has as many parameters as one with a single head. Beyond the "
        r"note: exactly when two layers of the same model width have equally many.",
    ),
    statement=iff(
        equal(number(*matrices), number(*other_matrices)),
        equal(times(h, plus(d_k, d_v)), times(h2, plus(d_k2, d_v2))),
    ),
    given=definitions(*matrices, *other_matrices),
    proof=prove_same_count_iff,
    twin=Twin("counts of layers against the widths of all their heads", twin_same_count_iff),
    expected=Verdict.PROVED,
    remark=r"Only the width of all keys and values together matters; neither $h\,d_k = h'\,d'_k$ "
    r"nor $h\,d_v = h'\,d'_v$ is needed by itself.",
)  # fmt: skip

# ---------------------------------------------------------------------- which single head?

e_k, e_v = dims("e_k e_v")
u = natural("u")
single = (
    stored("M_Q", "U^Q", d, e_k),
    stored("M_K", "U^K", d, e_k),
    stored("M_V", "U^V", d, e_v),
    stored("M_O", "U^O", u, e_v, d),
)


def layer_is_four_squares(
    p: Prover, counts: list[Theorem], keys: Theorem, values: Theorem
) -> Theorem:
    return p.calc(
        number(*matrices),
        (sides(*matrices), "add up the layer with $h$ heads", *counts),
        (by_heads, "collect the widths of all heads"),
        (times(4, square), fitting, keys, values),
    )


def prove_single(p: Prover) -> Theorem:
    alone, counts = by_sides(p, single), by_sides(p, matrices, first=4)
    layer = layer_is_four_squares(p, counts, p.hyp(8), p.hyp(9))
    same_keys, same_values, output = p.hyp(10), p.hyp(11), p.hyp(12)
    return p.calc(
        number(*single),
        (sides(*single), "add up the single head", *alone),
        (
            plus(times(d, d), times(d, d), times(d, e_v), times(u, e_v, d)),
            r"$e_k = d_{\text{model}}$",
            same_keys,
        ),
        (
            plus(times(d, d), times(d, d), times(d, d), times(u, d, d)),
            r"$e_v = d_{\text{model}}$",
            same_values,
        ),
        (times(4, square), "$u = 1$", output),
        (number(*matrices), "as many as the layer has", (-1, layer)),
    )


def one_head(rng: np.random.Generator, m: int, k: int, v: int) -> MultiHeadWeights:
    return MultiHeadWeights.init(rng, m, 1, d_k=k, d_v=v)


def twin_single(rng: np.random.Generator) -> list[Trial]:
    trials = []
    for w in layers(rng):
        full = one_head(rng, w.d_model, w.d_model, w.d_model)
        trials.append(agree(full.parameter_count(), w.parameter_count(), f"h={w.h}"))
    layer, full = MultiHeadWeights.init(rng, 12, 4).parameter_count(), one_head(rng, 12, 12, 12)
    for what, count in (
        ("narrow keys", one_head(rng, 12, 3, 12).parameter_count()),
        ("narrow values", one_head(rng, 12, 12, 3).parameter_count()),
        ("no output projection", full.parameter_count() - full.w_o.size),
    ):
        trials.append(differs(count, layer, by=1, what=what))
    return trials


several = {d: 12, h: 4, d_k: 3, d_v: 3}


def single_mutations() -> tuple[Mutation, ...]:
    def without_output(rng: np.random.Generator) -> list[Trial]:
        trials = []
        for w in layers(rng):
            full = one_head(rng, w.d_model, w.d_model, w.d_model)
            trials.append(agree(full.parameter_count() - full.w_o.size, w.parameter_count()))
        return trials

    as_wide = tuple(Given(a.formula, a.note) for a in SINGLE.added[:2])
    return (
        Mutation(
            "the single head has no output projection",
            given=(*SINGLE.given, *as_wide),
            counterexample=Example({**SMALLEST, e_k: 1, e_v: 1, u: 0}),
            twin=Twin("numbers stored by one head less its output weights", without_output),
        ),
    )


SINGLE = Claim(
    id="parameters/single-head",
    title="As many parameters as a single head",
    source=Source(
        DERIVATIONS, ("A12",),
        r"The layer with $h$ heads is said to have exactly the parameters of a single head; which "
        r"single head is not said. Read here with key width $e_k$, value width $e_v$ and $u$ "
        r"output projections.",
    ),
    statement=equal(number(*single), number(*matrices)),
    given=(*definitions(*single, *matrices), KEYS_FIT, VALUES_FIT),
    added=(
        Added(
            equal(e_k, d),
            Example({**several, e_k: 3, e_v: 12, u: 1}),
            "its queries and keys have the model width",
        ),
        Added(
            equal(e_v, d),
            Example({**several, e_k: 12, e_v: 3, u: 1}),
            "its values have the model width",
        ),
        Added(
            equal(u, 1),
            Example({**several, e_k: 12, e_v: 12, u: 0}),
            "it keeps the output projection, though it has nothing to put together",
        ),
    ),
    witness=Example({**several, e_k: 12, e_v: 12, u: 1}),
    proof=prove_single,
    twin=Twin("numbers stored by layers with one head and with several", twin_single),
    mutations=single_mutations,
    expected=Verdict.CONDITIONAL,
)  # fmt: skip

bare = (stored("M_Q", "U^Q", d, d), stored("M_K", "U^K", d, d), stored("M_V", "U^V", d, d))


def prove_without_output(p: Prover) -> Theorem:
    alone, counts = by_sides(p, bare), by_sides(p, matrices, first=3)
    layer = layer_is_four_squares(p, counts, p.hyp(7), p.hyp(8))
    three = p.calc(
        number(*bare),
        (sides(*bare), "add up the single head", *alone),
        (times(3, square), "three squares"),
    )
    missing = p.calc(
        plus(number(*bare), square),
        (plus(times(3, square), square), "as counted", (1, three)),
        (times(4, square), "$3 + 1 = 4$"),
        (number(*matrices), "as many as the layer has", (-1, layer)),
    )
    return p.both(three, missing)


def twin_without_output(rng: np.random.Generator) -> list[Trial]:
    trials = []
    for w in layers(rng):
        full = one_head(rng, w.d_model, w.d_model, w.d_model)
        count = full.w_q.size + full.w_k.size + full.w_v.size
        trials += [
            agree(count, 3 * w.d_model**2, f"h={w.h}"),
            agree(w.parameter_count() - count, w.w_o.size, f"h={w.h}"),
        ]
    return trials


WITHOUT_OUTPUT = Claim(
    id="parameters/single-head-without-output",
    title="As many parameters as a single head without output matrix",
    source=Source(
        DERIVATIONS, ("A12",),
        r"As many as a single head, read as plain attention of the model width: "
        r"$\mathrm{Attention}(Q U^Q, K U^K, V U^V)$, where nothing has to be put together.",
    ),
    statement=equal(number(*bare), number(*matrices)),
    given=(*definitions(*bare, *matrices), KEYS_FIT, VALUES_FIT),
    counterexample=Example(several),
    correction=Correction(
        both(
            equal(number(*bare), times(3, square)),
            equal(plus(number(*bare), square), number(*matrices)),
        ),
        prove_without_output,
        (*definitions(*bare, *matrices), KEYS_FIT, VALUES_FIT),
    ),
    twin=Twin("numbers stored by one head less its output weights", twin_without_output),
    expected=Verdict.REFUTED,
)  # fmt: skip

narrow = (
    stored("M_Q", "U^Q", d, d_k),
    stored("M_K", "U^K", d, d_k),
    stored("M_V", "U^V", d, d_v),
    stored("M_O", "U^O", d_v, d),
)


def prove_narrow(p: Prover) -> Theorem:
    alone, counts = by_sides(p, narrow), by_sides(p, matrices, first=4)
    small = p.calc(
        number(*narrow),
        (sides(*narrow), "add up the single head", *alone),
        (times(over(1, h), by_heads), "multiply and divide by $h$"),
        (
            over(times(4, square), h),
            fitting,
            (over(times(2, d), h), p.hyp(8)),
            (over(times(2, d), h), p.hyp(9)),
        ),
    )
    all_heads = p.calc(
        times(h, number(*narrow)),
        (times(h, sides(*narrow)), r"$h$ such heads", *((h, c) for c in alone)),
        (sides(*matrices), "distribute"),
        (number(*matrices), "add up the layer with $h$ heads", *((-1, c) for c in counts)),
    )
    return p.both(small, all_heads)


def twin_narrow(rng: np.random.Generator) -> list[Trial]:
    trials = []
    for w in layers(rng):
        small, what = one_head(rng, w.d_model, w.d_k, w.d_v), f"d={w.d_model}, h={w.h}"
        trials += [
            agree(small.parameter_count(), 4 * w.d_model**2 / w.h, what),
            agree(small.parameter_count() * w.h, w.parameter_count(), what),
            agree(small.parameter_count() == w.parameter_count(), w.h == 1, what),
        ]
    return trials


NARROW = Claim(
    id="parameters/single-narrow-head",
    title="As many parameters as one of the heads",
    source=Source(
        DERIVATIONS, ("A12",),
        r"As many as a single head, read as one of the $h$ heads by itself, with widths $d_k$ and "
        r"$d_v$.",
    ),
    statement=equal(number(*narrow), number(*matrices)),
    given=(*definitions(*narrow, *matrices), KEYS_FIT, VALUES_FIT),
    counterexample=Example(several),
    correction=Correction(
        both(
            equal(number(*narrow), over(times(4, square), h)),
            equal(times(h, number(*narrow)), number(*matrices)),
        ),
        prove_narrow,
        (*definitions(*narrow, *matrices), KEYS_FIT, VALUES_FIT),
    ),
    twin=Twin("numbers stored by one narrow head and by the whole layer", twin_narrow),
    expected=Verdict.REFUTED,
)  # fmt: skip


def prove_narrow_iff(p: Prover) -> Theorem:
    alone, counts = by_sides(p, narrow), by_sides(p, matrices, first=4)
    left, right, widths = number(*narrow), number(*matrices), plus(d_k, d_v)
    small = p.calc(left, (sides(*narrow), "add them up", *alone), (times(2, d, widths), "collect"))
    large = p.calc(
        right, (sides(*matrices), "add them up", *counts), (times(h, 2, d, widths), "collect")
    )
    cancelled = p.cancel(widths)

    def divided(same: Theorem) -> Theorem:
        equation = p.calc(
            times(2, d, widths, h),
            (right, "as counted", (-1, large)),
            (left, "as supposed", (-1, same)),
            (times(2, d, widths), "as counted", (1, small)),
        )
        scale = over(power(widths, -1), times(2, d))
        return p.equal(
            h,
            1,
            (scale, equation),
            (times(-1, plus(h, -1)), cancelled),
            reason=r"$2\,d_{\text{model}}\,(d_k + d_v)$ is not zero and cancels",
        )

    def multiplied(only: Theorem) -> Theorem:
        return p.calc(
            left,
            (times(2, d, widths), "as counted", (1, small)),
            (times(h, 2, d, widths), "as supposed", (times(-2, d, widths), only)),
            (right, "as counted", (-1, large)),
        )

    return p.both(
        p.suppose(equal(left, right), divided, "suppose that the counts agree"),
        p.suppose(equal(h, 1), multiplied, "conversely, suppose that there is one head"),
    )


NARROW_IFF = Claim(
    id="parameters/narrow-head-iff",
    title="When one of the heads has as many parameters",
    source=Source(
        DERIVATIONS, ("A12",),
        r"As many as a single head, read as one of the $h$ heads by itself. Beyond the note: "
        r"exactly when that is so.",
    ),
    statement=iff(equal(number(*narrow), number(*matrices)), equal(h, 1)),
    given=definitions(*narrow, *matrices),
    proof=prove_narrow_iff,
    twin=Twin("numbers stored by one narrow head and by the whole layer", twin_narrow),
    expected=Verdict.PROVED,
)  # fmt: skip

# ---------------------------------------------------------------------- feed-forward network

f = dim("d_ff")
W_1, W_2 = stored("N_1", "W_1", f, d), stored("N_2", "W_2", d, f)
b_1, b_2 = stored("B_1", "b_1", f), stored("B_2", "b_2", d)
network = (W_1, b_1, W_2, b_2)
FOUR_TIMES = Given(equal(f, times(4, d)), "stated with the shapes of the matrices")
fourfold = r"$d_{ff} = 4\,d_{\text{model}}$"

#: (d_model, d_ff) that are not tied to each other.
SIZES = ((5, 7), (4, 3), (1, 2), (3, 1), (1, 1))


def fourfold_networks(rng: np.random.Generator, bias: bool) -> list[FeedForwardWeights]:
    return [FeedForwardWeights.init(rng, m, 4 * m, bias=bias) for m in (1, 2, 3, 5, 12)]


def prove_feed_forward(p: Prover) -> Theorem:
    counts = by_sides(p, (W_1, W_2))
    any_width = p.calc(
        number(W_1, W_2), (sides(W_1, W_2), "add them up", *counts), (times(2, d, f), "collect")
    )
    fourth = p.calc(
        times(2, d, f),
        (times(2, d, times(4, d)), fourfold, p.hyp(2)),
        (times(8, square), "multiply"),
    )
    return p.both(any_width, fourth)


def twin_feed_forward(rng: np.random.Generator, bias: bool = False) -> list[Trial]:
    drawn = [FeedForwardWeights.init(rng, m, n, bias=bias) for m, n in SIZES]
    return [
        *(agree(w.parameter_count(), 8 * w.d_model**2) for w in fourfold_networks(rng, bias=bias)),
        *(agree(w.parameter_count(), 2 * w.d_model * w.d_ff) for w in drawn),
    ]


def feed_forward_mutations() -> tuple[Mutation, ...]:
    def one_matrix(rng: np.random.Generator) -> list[Trial]:
        return [agree(w.w_1.size, 8 * w.d_model**2) for w in fourfold_networks(rng, bias=False)]

    return (
        Mutation(
            "one of the two matrices is counted",
            statement=equal(number(W_1, W_2), times(4, square)),
            twin=Twin("numbers stored in the first matrix", one_matrix),
        ),
        Mutation(
            "the count of the matrices is given for a network with biases",
            twin=Twin(
                "numbers stored by networks with biases",
                lambda rng: twin_feed_forward(rng, bias=True),
            ),
        ),
    )


FEED_FORWARD = Claim(
    id="parameters/feed-forward",
    title="Feed-forward matrices",
    source=Source(
        DERIVATIONS, ("A26",),
        r"The two matrices of the feed-forward network have $2 \times d_{\text{model}} \times "
        r"d_{ff} = 8\,d_{\text{model}}^2$ entries.",
    ),
    statement=all_equal(number(W_1, W_2), times(2, d, f), times(8, square)),
    given=(*definitions(W_1, W_2), FOUR_TIMES),
    proof=prove_feed_forward,
    twin=Twin("numbers stored by networks without biases", twin_feed_forward),
    mutations=feed_forward_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip


def prove_formula(p: Prover) -> Theorem:
    counts = by_sides(p, network)
    return p.calc(
        number(*network),
        (sides(*network), "add them up", *counts),
        (plus(times(4, d, d), times(4, d), times(d, times(4, d)), d), fourfold, p.hyp(4)),
        (plus(times(8, square), times(5, d)), "collect"),
    )


def twin_formula(rng: np.random.Generator) -> list[Trial]:
    trials = []
    for w in [*fourfold_networks(rng, bias=True), FeedForwardWeights.init(rng, 512, 2048)]:
        count, m = w.parameter_count(), w.d_model
        trials += [
            agree(count, 8 * m**2 + 5 * m, f"d={m}"),
            differs(count, 8 * m**2, by=5 * m, what=f"d={m}"),
        ]
    return trials


FORMULA = Claim(
    id="parameters/feed-forward-formula",
    title="Feed-forward with its biases: eight squares",
    source=Source(
        DERIVATIONS, ("A22", "A26"),
        r"$\mathrm{FFN}(x) = W_2\,\mathrm{ReLU}(W_1 x + b_1) + b_2$ has "
        r"$8\,d_{\text{model}}^2$ parameters.",
    ),
    statement=equal(number(*network), times(8, square)),
    given=(*definitions(*network), FOUR_TIMES),
    counterexample=Example({d: 512, f: 2048}),
    correction=Correction(
        equal(number(*network), plus(times(8, square), times(5, d))),
        prove_formula,
        (*definitions(*network), FOUR_TIMES),
    ),
    twin=Twin("numbers stored by networks with biases", twin_formula),
    expected=Verdict.REFUTED,
    remark="The formula adds two biases, which the count leaves out.",
)  # fmt: skip

r = real("r")


widened = equal(f, times(r, d))


def prove_ratio(p: Prover) -> Theorem:
    def then(wide: Theorem) -> Theorem:
        counts = by_sides(p, network)
        return p.calc(
            number(*network),
            (sides(*network), "add them up", *counts),
            (
                plus(times(r, d, d), times(r, d), times(d, times(r, d)), d),
                r"$d_{ff} = r\,d_{\text{model}}$",
                wide,
            ),
            (plus(times(2, r, square), times(plus(r, 1), d)), "collect"),
        )

    return p.suppose(widened, then, "let the network widen by the factor $r$")


def twin_ratio(rng: np.random.Generator) -> list[Trial]:
    trials = []
    for m, n in [(5, 10), (3, 8), (4, 16), (6, 3), (7, 7), *SIZES]:
        ratio = n / m
        count = FeedForwardWeights.init(rng, m, n).parameter_count()
        trials.append(agree(count, 2 * ratio * m**2 + (ratio + 1) * m, f"d={m}, d_ff={n}"))
    return trials


RATIO = Claim(
    id="parameters/feed-forward-ratio",
    title="Feed-forward of any hidden width",
    source=Source(
        DERIVATIONS, ("A26",),
        r"$8\,d_{\text{model}}^2$ is the count of the matrices for $d_{ff} = 4\,d_{\text{model}}$. "
        r"Beyond the note: $d_{ff} = r\,d_{\text{model}}$, and the biases counted.",
    ),
    statement=implies(
        widened, equal(number(*network), plus(times(2, r, square), times(plus(r, 1), d)))
    ),
    given=definitions(*network),
    proof=prove_ratio,
    twin=Twin("numbers stored by networks with biases", twin_ratio),
    expected=Verdict.PROVED,
)  # fmt: skip

W_G = stored("N_G", "W_G", f, d)
gated = (W_1, W_G, W_2)
#: 8/3 in place of 4, the usual choice for a gated network
narrower = equal(times(3, f), times(8, d))


def prove_gated(p: Prover) -> Theorem:
    def then(gate: Theorem, width: Theorem) -> Theorem:
        counts = multiplied(p, gated, (p.hyp(0), gate, p.hyp(1)))
        return p.calc(
            number(*gated),
            (sides(*gated), "add them up", *counts),
            (times(d, times(3, f)), "three of one size"),
            (times(d, times(8, d)), r"$3\,d_{ff} = 8\,d_{\text{model}}$", width),
            (times(8, square), "multiply"),
        )

    return under(
        p, both(W_G.counted, narrower), then,
        r"let the third matrix be $W_G$, and $d_{ff} = \frac{8}{3}\,d_{\text{model}}$",
    )  # fmt: skip


def twin_gated(
    rng: np.random.Generator, hidden: Callable[[int], int] = lambda m: 8 * m // 3
) -> list[Trial]:
    trials = []
    for m in (3, 6, 12, 30):
        up, gate = (FeedForwardWeights.init(rng, m, hidden(m), bias=False) for _ in range(2))
        trials.append(agree(up.parameter_count() + gate.w_1.size, 8 * m**2, f"d={m}"))
    return trials


def gated_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            r"the network keeps $d_{ff} = 4\,d_{\text{model}}$ though it has a third matrix",
            statement=implies(
                both(W_G.counted, FOUR_TIMES.formula), equal(number(*gated), times(8, square))
            ),
            counterexample=Example({d: 1, f: 4}),
            twin=Twin(
                "stored numbers, with a second matrix of the first kind, for the factor 4",
                lambda rng: twin_gated(rng, hidden=lambda m: 4 * m),
            ),
        ),
    )


GATED = Claim(
    id="parameters/feed-forward-gated",
    title="Gated feed-forward",
    source=Source(
        DERIVATIONS, ("A26",),
        r"$8\,d_{\text{model}}^2$ is the count for two matrices. Beyond the note: a gated network "
        r"has a third one, and with $d_{ff} = \frac{8}{3}\,d_{\text{model}}$ the same count.",
    ),
    statement=implies(both(W_G.counted, narrower), equal(number(*gated), times(8, square))),
    given=definitions(W_1, W_2),
    proof=prove_gated,
    twin=Twin("stored numbers, with a second matrix of the first kind", twin_gated),
    mutations=gated_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip

Network = Callable[[np.ndarray, FeedForwardWeights], np.ndarray]
turned_matrices = (stored("N_1'", "W_1'", d, f), stored("N_2'", "W_2'", f, d))
turned = (turned_matrices[0], b_1, turned_matrices[1], b_2)


def prove_code(p: Prover) -> Theorem:
    def then(*counted: Theorem) -> Theorem:
        counts = by_sides(p, network)
        first, second = multiplied(p, turned_matrices, counted)
        same = p.calc(
            number(*network),
            (sides(*network), "add up the first layer", *counts),
            (sides(*turned), "the order of the sides does not matter"),
            (
                number(*turned),
                "add up the others with the biases",
                (-1, first),
                (-1, second),
                (-1, counts[1]),
                (-1, counts[3]),
            ),
        )
        value = p.calc(
            number(*turned),
            (sides(*turned), "the same again", first, second, counts[1], counts[3]),
            (plus(times(2, d, f), f, d), "collect"),
        )
        return p.both(same, value)

    return under(
        p,
        both(*counting(*turned_matrices)),
        then,
        "let the primed matrices be stored the other way round",
    )


def twin_code(rng: np.random.Generator, network: Network = feed_forward) -> list[Trial]:
    """Weights stored the other way round give the same outputs, and are as many."""
    trials = []
    for m, n in SIZES:
        w = FeedForwardWeights.init(rng, m, n)
        assert w.b_1 is not None
        assert w.b_2 is not None
        linear1, linear2 = w.w_1.T.copy(), w.w_2.T.copy()
        x = rng.standard_normal((2, 3, m))
        hidden = np.maximum(np.einsum("btc,jc->btj", x, linear1) + w.b_1, 0)
        out = np.einsum("btj,aj->bta", hidden, linear2) + w.b_2
        count = linear1.size + w.b_1.size + linear2.size + w.b_2.size
        trials += [
            agree(network(x, w), out, f"output, d={m}, d_ff={n}"),
            agree(w.parameter_count(), count, f"count, d={m}, d_ff={n}"),
            agree(count, 2 * m * n + n + m, f"d={m}, d_ff={n}"),
        ]
    return trials


def code_mutations() -> tuple[Mutation, ...]:
    def without_biases(x: np.ndarray, w: FeedForwardWeights) -> np.ndarray:
        return feed_forward(x, FeedForwardWeights(w.w_1, w.w_2))

    def relu_last(x: np.ndarray, w: FeedForwardWeights) -> np.ndarray:
        return relu(linear(linear(x, w.w_1, w.b_1), w.w_2, w.b_2))

    def mistaken(compares: str, network: Network) -> Twin:
        return Twin(compares, lambda rng: twin_code(rng, network))

    matrices_only = all_equal(number(*network), number(*turned), times(2, d, f))
    return (
        Mutation(
            "the biases are dropped",
            statement=implies(both(*counting(*turned_matrices)), matrices_only),
            counterexample=Example({d: 1, f: 1}),
            twin=mistaken("outputs of networks without their biases", without_biases),
        ),
        Mutation(
            "ReLU stands behind the second layer in place of the first",
            twin=mistaken("outputs with ReLU behind the second layer", relu_last),
        ),
    )


CODE = Claim(
    id="parameters/feed-forward-code",
    title="Feed-forward module",
    source=Source(
        INTERVIEW, ("B26",),
        r"A module of two linear layers with biases, from $d_{\text{model}}$ to $d_{ff}$ and back. "
        r"Beyond the note: it has the same count whether a layer stores its matrix as (outputs, "
        r"inputs), as that library does, or the other way round.",
    ),
    statement=implies(
        both(*counting(*turned_matrices)),
        all_equal(number(*network), number(*turned), plus(times(2, d, f), f, d)),
    ),
    given=definitions(*network),
    proof=prove_code,
    twin=Twin("outputs and stored numbers with the matrices either way round", twin_code),
    mutations=code_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip

defaults = tuple(at_sizes(s, {d: 512, f: 2048}) for s in network)


def prove_defaults(p: Prover) -> Theorem:
    counts = by_sides(p, defaults)
    return p.calc(
        number(*defaults),
        (sides(*defaults), "add them up", *counts),
        (2_099_712, "multiply and add"),
    )


def twin_defaults(rng: np.random.Generator) -> list[Trial]:
    count = FeedForwardWeights.init(rng, 512, 2048).parameter_count()
    return [agree(count, 2_099_712), agree(count - 8 * 512**2, 5 * 512, "beyond the matrices")]


DEFAULTS = Claim(
    id="parameters/feed-forward-defaults",
    title="Feed-forward module, default sizes",
    source=Source(
        INTERVIEW, ("B26",),
        r"The module has $d_{\text{model}} = 512$ and $d_{ff} = 2048$ unless it is told otherwise.",
    ),
    statement=equal(number(*defaults), 2_099_712),
    given=definitions(*defaults),
    proof=prove_defaults,
    twin=Twin("numbers stored at the default sizes", twin_defaults),
    expected=Verdict.PROVED,
    remark=r"$8\,d_{\text{model}}^2$ would be 2097152.",
)  # fmt: skip

CLAIMS = (
    QUERIES,
    KEYS,
    VALUES,
    LIKEWISE,
    OUTPUT,
    ANY_WIDTHS,
    LAYER,
    LAYER_WITH_BIASES,
    BASE_LAYER,
    GROUPED,
    CONSTANT,
    CONSTANT_WITH_BIASES,
    SAME_COUNT_IFF,
    SINGLE,
    WITHOUT_OUTPUT,
    NARROW,
    NARROW_IFF,
    FEED_FORWARD,
    FORMULA,
    RATIO,
    GATED,
    CODE,
    DEFAULTS,
)

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
