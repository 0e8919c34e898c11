"""How many operations a multi-head layer takes.

The derivations note says that the layer costs about h times O(n^2 d_k), which is O(n^2 d_model),
as much as one head in order of magnitude.  Here every multiplication, addition, division and
exponential counts as one operation.  What the note says holds for the products with the attention
matrix; the four projections cost O(n d_model^2), and there the number of tokens decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import sympy as sp

from derive.claim import Added, Claim, Correction, Example, Given, Mutation, Notation
from derive.claims import DERIVATIONS, parameters
from derive.claims.parameters import FOUR_TIMES, KEYS_FIT, VALUES_FIT, d_k, d_v, f, stored, under
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.kernel.terms import Term
from derive.language import (
    all_equal,
    at_most,
    both,
    call,
    dims,
    divides,
    equal,
    exists,
    forall,
    iff,
    implies,
    index,
    less,
    minus,
    natural,
    over,
    plus,
    positive,
    power,
    real,
    sequence,
    times,
    total,
)
from derive.prover import Prover
from derive.result import Source, Verdict
from derive.twin import Trial, Twin, differs
from derive.twin import at_most as bounded
from derive.twin import equal as agree

ORDER = 25
TOPIC = "operation-counts"

n, m = dims("n m")
d, h = parameters.d, parameters.h
square = power(d, 2)
fitting = r"$h\,d_k = d_{\text{model}}$ and $h\,d_v = d_{\text{model}}$"

# ---------------------------------------------------------------------- counting


@dataclass(frozen=True)
class Stage:
    """A step of the layer, and the symbol for the number of its operations.

    `operations` is a sum over the entries of the result, `product` the same added up, and `inner`
    says what one entry takes.
    """

    number: sp.Symbol
    what: str
    operations: sp.Expr
    product: sp.Expr
    inner: str

    @property
    def definition(self) -> Given:
        return Notation(self.counted, f"{self.what}: what is counted")

    @property
    def counted(self) -> Any:
        return equal(self.number, self.operations)


@cache
def once(size: Any, letter: str = "a") -> sp.Expr:
    """One operation for every value of an index."""
    return total(1, index(letter, size))


@cache
def dot(length: Any) -> sp.Expr:
    """The operations of a dot product: as many multiplications as entries, one addition less."""
    return plus(once(length), once(minus(length, 1), "b"))


def dot_length(length: Any) -> sp.Expr:
    return minus(times(2, length), 1)


def stage(
    number: str, what: str, operations: Any, per_entry: Any, sizes: Sequence[Any], inner: str
) -> Stage:
    entries = [index(letter, size) for letter, size in zip("ijk", sizes, strict=False)]
    return Stage(
        natural(number), what, total(operations, *entries), times(*sizes, per_entry), inner
    )


def product_stage(number: str, what: str, length: Any, name: str, *sizes: Any) -> Stage:
    """A matrix product whose entries are dot products of that length."""
    inner = (
        f"a dot product of length ${name}$ is ${name}$ multiplications and ${name} - 1$ additions"
    )
    return stage(number, what, dot(length), dot_length(length), sizes, inner)


def softmax_stage(number: str, h: Any, n: Any, m: Any, deep: str) -> Stage:
    return stage(
        number, "the softmax of every row",
        plus(once(m), once(minus(m, 1), "b"), once(m, "c")), minus(times(3, m), 1), (h, n),
        f"a row takes ${deep}$ exponentials, ${deep} - 1$ additions and ${deep}$ divisions",
    )  # fmt: skip


class Layer:
    """The stages of a layer with `h` heads of widths `k` and `v`, for `n` queries and `m` keys."""

    def __init__(self, n: Any, m: Any, h: Any, k: Any, v: Any, prime: str = "") -> None:
        width, deep = r"d_{\text{model}}", ("m" if m is not n else "n")
        key, joined = (width, width) if h == 1 else ("d_k", r"h\,d_v")
        self.queries = product_stage(f"T_Q{prime}", "the queries", d, width, h, n, k)
        self.keys = product_stage(f"T_K{prime}", "the keys", d, width, h, m, k)
        self.values = product_stage(f"T_V{prime}", "the values", d, width, h, m, v)
        self.scores = product_stage(f"T_S{prime}", "the scores", k, key, h, n, m)
        self.scaling = stage(
            f"T_R{prime}", r"the scaling by $1/\sqrt{d_k}$", 1, 1, (h, n, m),
            "one multiplication for every score",
        )  # fmt: skip
        self.softmax = softmax_stage(f"T_E{prime}", h, n, m, deep)
        self.shifted = stage(
            f"T_F{prime}", "the softmax of every row, less its maximum first",
            plus(
                once(minus(m, 1), "a"), once(m, "b"), once(m, "c"), once(minus(m, 1), "s"),
                once(m, "t"),
            ),
            minus(times(5, m), 2), (h, n),
            f"${deep} - 1$ comparisons and ${deep}$ subtractions more",
        )  # fmt: skip
        self.heads = product_stage(f"T_A{prime}", "the weighted sums of values", m, deep, h, n, v)
        whole = times(h, v) if h != 1 else v
        self.output = product_stage(f"T_O{prime}", "the output projection", whole, joined, n, d)

    @property
    def projections(self) -> tuple[Stage, ...]:
        return (self.queries, self.keys, self.values, self.output)

    @property
    def attention(self) -> tuple[Stage, ...]:
        return (self.scores, self.scaling, self.softmax, self.heads)

    @property
    def stages(self) -> tuple[Stage, ...]:
        return (*self.projections, *self.attention)

    @property
    def stages_shifted(self) -> tuple[Stage, ...]:
        return (*self.projections, self.scores, self.scaling, self.shifted, self.heads)


def number(*stages: Stage) -> sp.Expr:
    return plus(*(s.number for s in stages))


def definitions(*stages: Stage) -> tuple[Given, ...]:
    return tuple(s.definition for s in stages)


def counted(p: Prover, s: Stage, given: Sequence[Theorem]) -> Theorem:
    """The theorem among the given ones that says what the number of a stage is."""
    (found,) = (t for t in given if t.conclusion.children[0] is p.term(s.number))
    return found


def added_up(p: Prover, s: Stage, given: Sequence[Theorem]) -> Theorem:
    """The operations of a stage as a product, in two lines."""
    return p.calc(
        s.number,
        (s.operations, f"{s.what}, entry by entry", counted(p, s, given)),
        (s.product, s.inner),
    )


def closed(p: Prover, stages: Sequence[Stage], given: Sequence[Theorem]) -> list[Theorem]:
    """The operations of the stages as products, one line for each."""
    return [p.equal(s.number, s.product, counted(p, s, given), reason=s.what) for s in stages]


def summed(*stages: Stage) -> sp.Expr:
    return plus(*(s.product for s in stages))


#: A proof from theorems of its hypotheses, in the order in which they are listed.
Argument = Callable[[Prover, Sequence[Theorem]], Theorem]


def stated(prove: Argument) -> Callable[[Prover], Theorem]:
    """The hypotheses are those of the claim."""
    return lambda p: prove(p, p.given[p.declared :])


def supposed(premises: Sequence[Any], prove: Argument) -> Callable[[Prover], Theorem]:
    """The hypotheses are the premises in the statement, and then those of the claim."""

    def script(p: Prover) -> Theorem:
        def then(*parts: Theorem) -> Theorem:
            return prove(p, [*parts, *p.given[p.declared :]])

        if len(premises) == 1:
            return p.suppose(premises[0], then, "let this be counted")
        return under(p, both(*premises), then, "let this be counted")

    return script


def counting(*stages: Stage) -> tuple[Any, ...]:
    """What the numbers are, for stages that the note does not speak of."""
    return tuple(s.counted for s in stages)


def source(places: str, says: str) -> Source:
    return Source(DERIVATIONS, tuple(places.split()), says)


SELF = Layer(n, n, h, d_k, d_v)
CROSS = Layer(n, m, h, d_k, d_v)
ONE = Layer(n, n, 1, d, d, "'")
FIT = (KEYS_FIT, VALUES_FIT)


# ---------------------------------------------------------------------- twins

#: (n, d_model, h): no two alike; as many heads as the width; one head; one token; all ones.
SIZES = ((3, 6, 2), (2, 4, 4), (4, 3, 1), (1, 2, 2), (5, 2, 1), (1, 1, 1))


@cache
def operations(n: int, m: int, d: int, h: int, shift: bool = False) -> dict[str, int]:
    """The operations of the stages of a layer that is run with loops; they do not depend on
    the weights."""
    from numeric import MultiHeadWeights, count_attention

    rng = np.random.default_rng(1)
    weights = MultiHeadWeights.init(rng, d, h)
    inputs = rng.standard_normal((n, d)), rng.standard_normal((m, d))
    _, stages = count_attention(*inputs, weights, shift=shift)
    return {name: counter.total() for name, counter in stages.items()}


def self_operations(shift: bool = False) -> list[tuple[int, int, int, dict[str, int]]]:
    return [(n, d, h, operations(n, n, d, h, shift)) for n, d, h in SIZES]


def what(n: int, d: int, h: int) -> str:
    return f"n={n}, d={d}, h={h}"


PROJECTIONS_OF = ("queries", "keys", "values", "output")
ATTENTION_OF = ("scores", "scaling", "softmax", "heads")


def part(counts: dict[str, int], *stages: str) -> int:
    return sum(counts[s] for s in stages)


SMALLEST = {n: 1, d: 1, h: 1, d_k: 1, d_v: 1}
#: one token and two heads
TWO_HEADS = {n: 1, d: 2, h: 2, d_k: 1, d_v: 1}


# ---------------------------------------------------------------------- A13: stage by stage


def prove_projections(p: Prover, given: Sequence[Theorem]) -> Theorem:
    counts = closed(p, SELF.projections, given)
    return p.calc(
        number(*SELF.projections),
        (summed(*SELF.projections), "add them up", *counts),
        (
            times(4, n, d, dot_length(d)),
            rf"{fitting}: each costs $n\,d_{{\text{{model}}}}\,(2\,d_{{\text{{model}}}} - 1)$",
            given[4],
            given[5],
        ),
    )


def twin_projections(
    _rng: np.random.Generator, stages: Sequence[str] = PROJECTIONS_OF
) -> list[Trial]:
    return [
        agree(part(c, *stages), 4 * n * d * (2 * d - 1), what(n, d, h))
        for n, d, h, c in self_operations()
    ]


def projections_mutations() -> tuple[Mutation, ...]:
    three = times(3, n, d, dot_length(d))
    return (
        Mutation(
            "the output projection is forgotten",
            statement=equal(number(*SELF.projections), three),
            counterexample=Example(SMALLEST),
            twin=Twin(
                "operations of three of the four projections",
                lambda rng: twin_projections(rng, PROJECTIONS_OF[:3]),
            ),
        ),
        Mutation(
            "additions are counted one for each multiplication",
            statement=equal(number(*SELF.projections), times(8, n, square)),
            counterexample=Example(SMALLEST),
        ),
    )


PROJECTIONS = Claim(
    id="operation-counts/projections",
    title="The four projections",
    source=source(
        "A13",
        r"The cost is given as that of attention inside the heads; every head projects queries, "
        r"keys and values first, and $W^O$ is applied at the end.",
    ),
    statement=equal(number(*SELF.projections), times(4, n, d, dot_length(d))),
    given=(*definitions(*SELF.projections), *FIT),
    proof=stated(prove_projections),
    twin=Twin("operations counted while the projections are computed", twin_projections),
    mutations=projections_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip

scored = (SELF.scores, SELF.scaling)


def prove_scores(p: Prover, given: Sequence[Theorem]) -> Theorem:
    counts = [added_up(p, s, given) for s in scored]
    return p.calc(
        number(*scored),
        (summed(*scored), "add them up", *counts),
        (times(2, power(n, 2), times(h, d_k)), "the scaling makes up for the missing addition"),
        (times(2, power(n, 2), d), r"$h\,d_k = d_{\text{model}}$", given[2]),
    )


def twin_scores(
    _rng: np.random.Generator, stages: Sequence[str] = ("scores", "scaling")
) -> list[Trial]:
    return [
        agree(part(c, *stages), 2 * n**2 * d, what(n, d, h)) for n, d, h, c in self_operations()
    ]


def scores_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            r"the scaling by $1/\sqrt{d_k}$ is not counted",
            statement=equal(SELF.scores.number, times(2, power(n, 2), d)),
            counterexample=Example(SMALLEST),
            twin=Twin(
                "operations of the scores without their scaling",
                lambda rng: twin_scores(rng, ("scores",)),
            ),
        ),
        Mutation(
            "the cost grows with the number of heads",
            statement=equal(number(*scored), times(2, power(n, 2), d, h)),
            counterexample=Example(TWO_HEADS),
        ),
    )


SCORES = Claim(
    id="operation-counts/scores",
    title="Scaled scores: the same for any number of heads",
    source=source(
        "A13",
        r"With $d_k = d_{\text{model}}/h$, $h$ heads cost about $h \times O(n^2 d_k) = "
        r"O(n^2 d_{\text{model}})$.",
    ),
    statement=equal(number(*scored), times(2, power(n, 2), d)),
    given=(*definitions(*scored), KEYS_FIT),
    proof=stated(prove_scores),
    twin=Twin("operations counted while scores are computed", twin_scores),
    mutations=scores_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip


def prove_softmax(p: Prover, given: Sequence[Theorem]) -> Theorem:
    return added_up(p, SELF.softmax, given)


def prove_softmax_shifted(p: Prover, given: Sequence[Theorem]) -> Theorem:
    s = SELF.shifted
    return p.linked(counted(p, s, given), p.equal(s.operations, s.product, reason=s.inner))


def twin_softmax(_rng: np.random.Generator, single: bool = False) -> list[Trial]:
    """With the operations of a layer of one head, if that is asked for."""
    counted = [(n, h, operations(n, n, d, 1 if single else h)) for n, d, h in SIZES]
    return [agree(c["softmax"], h * n * (3 * n - 1), f"n={n}, h={h}") for n, h, c in counted]


def softmax_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "the softmax of one head is counted",
            statement=equal(SELF.softmax.number, times(n, minus(times(3, n), 1))),
            counterexample=Example(TWO_HEADS),
            twin=Twin(
                "operations of the softmax of a single head",
                lambda rng: twin_softmax(rng, single=True),
            ),
        ),
        Mutation(
            "the divisions are not counted",
            statement=equal(SELF.softmax.number, times(h, n, minus(times(2, n), 1))),
            counterexample=Example(TWO_HEADS),
        ),
    )


SOFTMAX = Claim(
    id="operation-counts/softmax",
    title="Softmax",
    source=source(
        "A13", r"The cost is given without the softmax, which every head has for itself."
    ),
    statement=equal(SELF.softmax.number, SELF.softmax.product),
    given=(SELF.softmax.definition,),
    mutations=softmax_mutations,
    proof=stated(prove_softmax),
    twin=Twin("operations counted while rows are normalised", twin_softmax),
    expected=Verdict.PROVED,
)  # fmt: skip


def twin_softmax_shifted(_rng: np.random.Generator) -> list[Trial]:
    return [
        agree(c["softmax"], h * n * (5 * n - 2), what(n, d, h))
        for n, d, h, c in self_operations(shift=True)
    ]


SOFTMAX_SHIFTED = Claim(
    id="operation-counts/softmax-with-maximum",
    title="Softmax, with the maximum subtracted",
    source=source(
        "A13",
        r"The cost is given without the softmax. Beyond the note: libraries subtract the maximum "
        r"of every row first.",
    ),
    statement=implies(
        both(*counting(SELF.shifted)), equal(SELF.shifted.number, SELF.shifted.product)
    ),
    proof=supposed(counting(SELF.shifted), prove_softmax_shifted),
    twin=Twin("operations counted while rows are normalised", twin_softmax_shifted),
    expected=Verdict.PROVED,
)  # fmt: skip


def prove_heads(p: Prover, given: Sequence[Theorem]) -> Theorem:
    counted = added_up(p, SELF.heads, given)
    fitted = p.calc(
        SELF.heads.product,
        (times(n, d, dot_length(n)), r"$h\,d_v = d_{\text{model}}$", given[1]),
    )
    return p.equal(
        SELF.heads.number, times(n, d, dot_length(n)), (1, counted), (1, fitted), show=False
    )


def twin_heads(_rng: np.random.Generator) -> list[Trial]:
    return [
        agree(c["heads"], n * d * (2 * n - 1), what(n, d, h)) for n, d, h, c in self_operations()
    ]


HEADS = Claim(
    id="operation-counts/weighted-sums",
    title="Weighted sums of values",
    source=source(
        "A13", r"The $h$ heads cost about $h \times O(n^2 d_k)$, their weighted sums included."
    ),
    statement=equal(SELF.heads.number, times(n, d, dot_length(n))),
    given=(SELF.heads.definition, VALUES_FIT),
    proof=stated(prove_heads),
    twin=Twin("operations counted while values are averaged", twin_heads),
    expected=Verdict.PROVED,
)  # fmt: skip


# ---------------------------------------------------------------------- A13: the whole layer


def polynomial(n: Any, d: Any, h: Any) -> sp.Expr:
    """The operations of the whole layer."""
    return plus(
        times(8, n, power(d, 2)), times(4, power(n, 2), d), times(3, h, power(n, 2)),
        times(-5, n, d), times(-1, h, n),
    )  # fmt: skip


def polynomial_shifted(n: Any, d: Any, h: Any) -> sp.Expr:
    """The same, where rows are taken less their maximum."""
    return plus(
        times(8, n, power(d, 2)), times(4, power(n, 2), d), times(5, h, power(n, 2)),
        times(-5, n, d), times(-2, h, n),
    )  # fmt: skip


def whole(p: Prover, stages: Sequence[Stage], to: Any, given: Sequence[Theorem]) -> Theorem:
    """The stages add up to a polynomial in the sizes."""
    counts = closed(p, stages, given)
    return p.calc(
        number(*stages),
        (summed(*stages), "add them up", *counts),
        (to, f"{fitting}; multiply out", *given[-2:]),
    )


def prove_layer(p: Prover, given: Sequence[Theorem]) -> Theorem:
    return whole(p, SELF.stages, polynomial(n, d, h), given)


def twin_layer(
    _rng: np.random.Generator, left_out: Sequence[str] = (), shift: bool = False
) -> list[Trial]:
    return [
        agree(
            sum(c.values()) - part(c, *left_out),
            8 * n * d**2 + 4 * n**2 * d + 3 * h * n**2 - 5 * n * d - h * n,
            what(n, d, h),
        )
        for n, d, h, c in self_operations(shift)
    ]


def layer_mutations() -> tuple[Mutation, ...]:
    inside = minus(polynomial(n, d, h), times(4, n, d, dot_length(d)))
    return (
        Mutation(
            "the projections are dropped",
            statement=equal(number(*SELF.stages), inside),
            counterexample=Example(SMALLEST),
            twin=Twin(
                "operations of a layer without its projections",
                lambda rng: twin_layer(rng, PROJECTIONS_OF),
            ),
        ),
        Mutation(
            "the softmax is counted once, not for every head",
            statement=equal(number(*SELF.stages), polynomial(n, d, 1)),
            counterexample=Example(TWO_HEADS),
        ),
        Mutation(
            "the subtraction of the maximum is counted where there is none",
            statement=equal(number(*SELF.stages), polynomial_shifted(n, d, h)),
            counterexample=Example({**TWO_HEADS, n: 2}),
            twin=Twin(
                "operations of a layer that subtracts the maximum",
                lambda rng: twin_layer(rng, shift=True),
            ),
        ),
    )


LAYER = Claim(
    id="operation-counts/layer",
    title="All operations of a layer",
    source=source(
        "A13", r"The cost of the layer is about $O(n^2 d_{\text{model}})$; it is not counted out."
    ),
    statement=equal(number(*SELF.stages), polynomial(n, d, h)),
    given=(*definitions(*SELF.stages), *FIT),
    proof=stated(prove_layer),
    twin=Twin("operations counted while a layer is computed", twin_layer),
    mutations=layer_mutations,
    expected=Verdict.PROVED,
    remark="Biases are left out, and no maximum is subtracted in the softmax.",
)  # fmt: skip


def prove_layer_shifted(p: Prover, given: Sequence[Theorem]) -> Theorem:
    return whole(p, SELF.stages_shifted, polynomial_shifted(n, d, h), given)


def twin_layer_shifted(_rng: np.random.Generator) -> list[Trial]:
    return [
        agree(
            sum(c.values()),
            8 * n * d**2 + 4 * n**2 * d + 5 * h * n**2 - 5 * n * d - 2 * h * n,
            what(n, d, h),
        )
        for n, d, h, c in self_operations(shift=True)
    ]


LAYER_SHIFTED = Claim(
    id="operation-counts/layer-with-maximum",
    title="All operations, with the maximum subtracted",
    source=source(
        "A13",
        r"The cost of the layer is about $O(n^2 d_{\text{model}})$. Beyond the note: what it is "
        r"when the softmax subtracts the maximum of every row first.",
    ),
    statement=implies(
        both(*counting(SELF.shifted)),
        equal(number(*SELF.stages_shifted), polynomial_shifted(n, d, h)),
    ),
    given=(*definitions(*SELF.projections, SELF.scores, SELF.scaling, SELF.heads), *FIT),
    proof=supposed(counting(SELF.shifted), prove_layer_shifted),
    twin=Twin("operations counted while a layer is computed", twin_layer_shifted),
    expected=Verdict.PROVED,
)  # fmt: skip


def prove_cross(p: Prover, given: Sequence[Theorem]) -> Theorem:
    return whole(p, CROSS.stages, cross_polynomial, given)


cross_polynomial = plus(
    times(4, n, square), times(4, m, square), times(4, n, m, d), times(3, h, n, m),
    times(-3, n, d), times(-2, m, d), times(-1, h, n),
)  # fmt: skip


def twin_cross(_rng: np.random.Generator) -> list[Trial]:
    return [
        agree(
            sum(operations(n, m, d, h).values()),
            4 * (n + m) * d**2 + 4 * n * m * d + 3 * h * n * m - 3 * n * d - 2 * m * d - h * n,
            f"{what(n, d, h)}, m={m}",
        )
        for n, m, d, h in ((3, 5, 6, 2), (5, 2, 4, 4), (1, 3, 2, 1), (4, 1, 3, 3), (1, 1, 1, 1))
    ]


def cross_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "as many keys are counted as there are queries",
            statement=implies(
                both(*counting(*CROSS.stages)),
                equal(number(*CROSS.stages), polynomial(n, d, h)),
            ),
            counterexample=Example({**SMALLEST, m: 2}),
        ),
    )


CROSS_ATTENTION = Claim(
    id="operation-counts/cross-attention",
    title="All operations with other keys than queries",
    source=source(
        "A13",
        r"$O(n^2 d_{\text{model}})$ is for one sequence. Beyond the note: $n$ queries meet $m$ "
        r"keys.",
    ),
    statement=implies(
        both(*counting(*CROSS.stages)), equal(number(*CROSS.stages), cross_polynomial)
    ),
    given=FIT,
    proof=supposed(counting(*CROSS.stages), prove_cross),
    twin=Twin("operations counted while two sequences meet", twin_cross),
    mutations=cross_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip


# ---------------------------------------------------------------------- A13: orders of magnitude


def no_more_heads(p: Prover, fits: Theorem, reason: str | None = None) -> Theorem:
    """h <= d_model."""
    why = r"$d_{\text{model}} = h\,d_k$, and $d_k$ is at least 1"
    return p.order(at_most(h, d), (-1, fits), reason=why)


def prove_attention_order(p: Prover, given: Sequence[Theorem]) -> Theorem:
    counts = closed(p, SELF.attention, given)
    exact = plus(
        times(4, power(n, 2), d), times(3, h, power(n, 2)), times(-1, n, d), times(-1, h, n)
    )
    same = p.calc(
        number(*SELF.attention),
        (summed(*SELF.attention), "add them up", *counts),
        (exact, f"{fitting}; multiply out", given[4], given[5]),
    )
    heads = no_more_heads(p, given[4])
    low = p.order(
        at_most(times(4, power(n, 2), d), plus(exact, times(n, d))),
        reason=r"$3hn^2 \ge hn$",
    )
    lower = p.order(
        at_most(times(3, power(n, 2), d), number(*SELF.attention)),
        (1, low),
        (1, same),
        reason=r"and $n\,d_{\text{model}} \le n^2 d_{\text{model}}$",
    )
    upper = p.order(
        at_most(number(*SELF.attention), times(7, power(n, 2), d)),
        (times(3, power(n, 2)), heads),
        (-1, same),
        reason=r"$3hn^2 \le 3\,d_{\text{model}}\,n^2$, and the others are negative",
    )
    return p.both(lower, upper)


def twin_attention_order(
    _rng: np.random.Generator, stages: Sequence[str] = ATTENTION_OF
) -> list[Trial]:
    trials = []
    for n, d, h, c in self_operations():
        count = part(c, *stages)
        trials += [
            bounded(3 * n**2 * d, count, what(n, d, h)),
            bounded(count, 7 * n**2 * d, what(n, d, h)),
        ]
    return trials


def attention_order_mutations() -> tuple[Mutation, ...]:
    bounds = (
        at_most(times(3, power(n, 2), d), number(*SELF.stages)),
        at_most(number(*SELF.stages), times(7, power(n, 2), d)),
    )
    return (
        Mutation(
            "the projections are taken for part of the attention in the heads",
            statement=both(*bounds),
            given=(*definitions(*SELF.stages), *FIT),
            counterexample=Example(TWO_HEADS),
            twin=Twin(
                "operations of the whole layer, against both bounds",
                lambda rng: twin_attention_order(rng, (*ATTENTION_OF, *PROJECTIONS_OF)),
            ),
        ),
    )


ATTENTION_ORDER = Claim(
    id="operation-counts/attention-order",
    title="Attention inside the heads",
    source=source(
        "A13",
        r"$h$ heads of width $d_k = d_{\text{model}}/h$ cost about $h \times O(n^2 d_k) = "
        r"O(n^2 d_{\text{model}})$; read as the scores, the softmax and the weighted sums.",
    ),
    statement=both(
        at_most(times(3, power(n, 2), d), number(*SELF.attention)),
        at_most(number(*SELF.attention), times(7, power(n, 2), d)),
    ),
    given=(*definitions(*SELF.attention), *FIT),
    proof=stated(prove_attention_order),
    twin=Twin("operations counted inside the heads, against both bounds", twin_attention_order),
    mutations=attention_order_mutations,
    expected=Verdict.PROVED,
    remark="The constants do not depend on the number of heads; the softmax needs that there are "
    "no more heads than columns.",
)  # fmt: skip

C = real("C")
bounded_by_attention = exists(
    C,
    forall(
        [n, d, h],
        implies(divides(h, d), at_most(polynomial(n, d, h), times(C, power(n, 2), d))),
    ),
)


#: a width beyond the constant
wide = plus(call(sp.floor, power(C, 2)), 1)


def no_constant(p: Prover, target: Term) -> Theorem:
    """A single token with one head, at that width."""
    bounded = target.children[0]
    above = p.axiom("floor-upper", power(C, 2))
    gap = p.square(minus(C, 1))
    large = p.order(at_most(C, wide), (Fraction(1, 2), above), (Fraction(1, 2), gap))
    whole = infer("integer", [], bounded.children[0].children[0])
    with p.supposing(bounded.children[1]) as case:
        wrong = p.order(at_most(1, 0), (1, case), (wide, large))
        absurd = infer(
            "contradiction", [wrong, p.trivial(T.negate(wrong.conclusion))],
            T.negate(case.conclusion),
        )  # fmt: skip
    return infer("not-implies", [whole, infer("deny", [absurd], case.conclusion)])


reached = plus(times(n, square), times(power(n, 2), d))


def prove_order(p: Prover) -> Theorem:
    count = polynomial(n, d, h)

    def between(divisible: Theorem) -> Theorem:
        above = p.next_integer(p.trivial(less(0, over(d, h))), divisible)
        why = "a positive integer is at least 1"
        share = p.order(at_most(1, over(d, h)), (1, above), reason=why)
        fewer = p.order(at_most(h, d), (h, share), reason="so that $h$ is at most the width")
        lower = p.order(
            at_most(times(3, reached), count),
            reason=r"$5\,n\,d_{\text{model}} \le 5\,n\,d_{\text{model}}^2$ and $hn \le 3hn^2$",
        )
        upper = p.order(
            at_most(count, times(8, reached)),
            (times(3, power(n, 2)), fewer),
            reason=r"$3hn^2 \le 3\,d_{\text{model}}\,n^2$",
        )
        return p.both(lower, upper)

    return p.suppose(divides(h, d), between, "let the number of heads divide the width")


def twin_order(_rng: np.random.Generator) -> list[Trial]:
    """One token at growing widths: no multiple of n^2 d will do, but one of n d^2 + n^2 d does."""
    trials = []
    for n, d, h, c in self_operations():
        bound = n * d**2 + n**2 * d
        trials += [
            bounded(3 * bound, sum(c.values()), what(n, d, h)),
            bounded(sum(c.values()), 8 * bound, what(n, d, h)),
        ]
    ratios = [sum(operations(1, 1, d, 1).values()) / d for d in (2, 4, 8, 16)]
    return [*trials, bounded(1.5 * np.array(ratios[:-1]), ratios[1:], "one token")]


LAYER_ORDER = Claim(
    id="operation-counts/layer-order",
    title="The whole layer is of the order of attention",
    source=source(
        "A13",
        r"The cost is about $h \times O(n^2 d_k) = O(n^2 d_{\text{model}})$; read as that of the "
        r"whole layer, projections included: some multiple of $n^2 d_{\text{model}}$ is enough "
        r"for all sizes.",
    ),
    statement=bounded_by_attention,
    counterexample=Example({}, no_constant, {C: C, n: 1, d: wide, h: 1}),
    correction=Correction(
        implies(
            divides(h, d),
            both(
                at_most(times(3, reached), polynomial(n, d, h)),
                at_most(polynomial(n, d, h), times(8, reached)),
            ),
        ),
        prove_order,
    ),
    twin=Twin("operations of whole layers, and of one token at growing widths", twin_order),
    expected=Verdict.REFUTED,
    remark=r"One token with one head takes $8\,d_{\text{model}}^2 - d_{\text{model}} + 2$ "
    r"operations: whatever the constant $C$ is, a width of $\lfloor C^2 \rfloor + 1$ breaks it. "
    r"In the statement $w$, $p$ and $q$ are $n$, $d_{\text{model}}$ and $h$, and $x$ is the "
    r"constant.",
)  # fmt: skip

c = positive("c")
LONG = plus(7, times(8, c))


def prove_long(p: Prover, given: Sequence[Theorem]) -> Theorem:
    counted = p.equal(
        number(*SELF.stages), polynomial(n, d, h), *given[:10],
        reason="all operations: `operation-counts/layer`",
    )  # fmt: skip
    heads = no_more_heads(p, given[8])
    return p.order(
        at_most(number(*SELF.stages), times(LONG, power(n, 2), d)),
        (times(8, n, d), given[10]),
        (times(3, power(n, 2)), heads),
        (-1, counted),
        reason=r"$8\,n\,d_{\text{model}}^2 \le 8c\,n^2 d_{\text{model}}$ and "
        r"$3hn^2 \le 3\,d_{\text{model}}\,n^2$",
    )


def twin_long(_rng: np.random.Generator) -> list[Trial]:
    trials = []
    for n, d, h, c in self_operations():
        limit = (7 + 8 * d / n) * n**2 * d
        trials.append(bounded(sum(c.values()), limit, what(n, d, h)))
    short = sum(operations(1, 1, 16, 1).values())
    return [*trials, bounded(15 * 16, short, "one token, width 16")]


LAYER_LONG = Claim(
    id="operation-counts/layer-order-long",
    title="The whole layer, for long sequences",
    source=source(
        "A13",
        r"The cost of the layer is $O(n^2 d_{\text{model}})$; that the sequence has to be long "
        r"for this, in proportion to the width, is not said.",
    ),
    statement=at_most(number(*SELF.stages), times(LONG, power(n, 2), d)),
    given=(*definitions(*SELF.stages), *FIT),
    added=(
        Added(
            at_most(d, times(c, n)),
            Example({c: 1, n: 1, d: 2, h: 1, d_k: 2, d_v: 2}),
            r"the width is at most $c$ times the number of tokens",
        ),
    ),
    witness=Example({c: 2, n: 2, d: 4, h: 2, d_k: 2, d_v: 2}),
    proof=stated(prove_long),
    twin=Twin("operations of layers, against the bound for their proportions", twin_long),
    expected=Verdict.CONDITIONAL,
)  # fmt: skip

lengths, widths, heads = sequence("n"), sequence("d_model"), sequence("h")
l = natural("l")
PROPER = forall(l, both(at_most(1, lengths[l]), at_most(1, heads[l]), at_most(heads[l], widths[l])))
of_order = exists(
    C,
    forall(
        l,
        at_most(
            polynomial(lengths[l], widths[l], heads[l]),
            times(C, power(lengths[l], 2), widths[l]),
        ),
    ),
)
slope = real("c")
in_proportion = exists(slope, forall(l, at_most(widths[l], times(slope, lengths[l]))))


def prove_order_iff(p: Prover) -> Theorem:
    return p.suppose(
        PROPER,
        lambda proper: order_iff(p, p.at(proper, l)),
        r"let sizes be at least 1, and $h \le d_{\text{model}}$",
    )


def order_iff(p: Prover, at_l: Theorem) -> Theorem:
    long, some, fewer = (p.part(at_l, e) for e in range(3))
    length, width, count = lengths[l], widths[l], heads[l]
    wide = p.order(at_most(1, width), (1, some), (1, fewer), reason="there is a column")
    p.fact(p.order(less(0, length), (1, long)))
    p.fact(p.order(less(0, width), (1, wide)))
    p.fact(p.order(less(0, count), (1, some)))
    least = p.order(
        at_most(times(3, length, power(width, 2)), polynomial(length, width, count)),
        (times(5, length, width), wide),
        (times(count, length), long),
        reason=r"the projections alone: $5\,n\,d_{\text{model}} \le 5\,n\,d_{\text{model}}^2$ and "
        r"$hn \le hn^2$",
    )
    most = p.order(
        at_most(
            polynomial(length, width, count),
            plus(times(8, length, power(width, 2)), times(7, power(length, 2), width)),
        ),
        (times(3, power(length, 2)), fewer),
        reason=r"and no more than this, since $h \le d_{\text{model}}$",
    )

    def bounded_widths(bound: Theorem) -> Theorem:
        narrow = p.order(
            at_most(width, times(over(C, 3), length)),
            (over(1, times(3, length, width)), p.at(bound, l)),
            (over(1, times(3, length, width)), least),
            reason=r"divide by $3\,n\,d_{\text{model}}$",
        )
        return p.exists(in_proportion, over(C, 3), p.for_all(narrow, l))

    def bounded_cost(narrow: Theorem) -> Theorem:
        cheap = p.order(
            at_most(
                polynomial(length, width, count),
                times(plus(7, times(8, slope)), power(length, 2), width),
            ),
            (1, most),
            (times(8, length, width), p.at(narrow, l)),
            reason=r"$8\,n\,d_{\text{model}}^2 \le 8c\,n^2 d_{\text{model}}$",
        )
        return p.exists(of_order, plus(7, times(8, slope)), p.for_all(cheap, l))

    return p.both(
        p.suppose(
            of_order,
            lambda some: p.choose(some, C, bounded_widths),
            "suppose that there is a constant for the cost; let $C$ be one",
        ),
        p.suppose(
            in_proportion,
            lambda some: p.choose(some, slope, bounded_cost),
            "conversely, let no width be more than some number times the length, $c$ say",
        ),
    )


def twin_order_iff(_rng: np.random.Generator) -> list[Trial]:
    """Layers whose widths keep up with the lengths, and layers whose widths outgrow them."""
    sizes = (1, 2, 3, 4, 6, 8)
    kept = [sum(operations(s, s, 2 * s, 2).values()) / (s**2 * 2 * s) for s in sizes]
    outgrown = [sum(operations(2, 2, 2 * s, 1).values()) / (4 * 2 * s) for s in sizes]
    return [
        bounded(kept, 7 + 8 * 2, "widths twice the lengths"),
        bounded(3 * 2 * np.array(sizes) / 2, outgrown, "growing widths at two tokens"),
    ]


ORDER_IFF = Claim(
    id="operation-counts/layer-order-iff",
    title="When the whole layer is of the order of attention",
    source=source(
        "A13",
        r"The cost is $O(n^2 d_{\text{model}})$; how $n$ and $d_{\text{model}}$ grow is not said. "
        r"Beyond the note: $n_l$, $d_{\text{model}, l}$ and $h_l$ are the sizes of the $l$-th "
        r"layer of a family, with no more heads than columns.",
    ),
    statement=implies(PROPER, iff(of_order, in_proportion)),
    proof=prove_order_iff,
    twin=Twin("operations of families of layers, for growing sizes", twin_order_iff),
    expected=Verdict.PROVED,
    remark=r"In other words, if and only if $n = \Omega(d_{\text{model}})$.",
)  # fmt: skip


# ---------------------------------------------------------------------- A13: what costs more


def multiplications(number: str, what: str, length: Any, *sizes: Any) -> Stage:
    return stage(number, what, once(length), length, sizes, "one for every term of a dot product")


MULTIPLIED = (
    multiplications("M_Q", "multiplications for the queries", d, h, n, d_k),
    multiplications("M_K", "multiplications for the keys", d, h, n, d_k),
    multiplications("M_V", "multiplications for the values", d, h, n, d_v),
    multiplications("M_O", "multiplications for the output projection", times(h, d_v), n, d),
    multiplications("M_S", "multiplications for the scores", d_k, h, n, n),
    multiplications("M_A", "multiplications for the weighted sums", n, h, n, d_v),
)
projected, attended = MULTIPLIED[:4], MULTIPLIED[4:]


def prove_crossover(p: Prover, given: Sequence[Theorem]) -> Theorem:
    counts = closed(p, MULTIPLIED, given)
    outer = p.calc(
        number(*projected),
        (summed(*projected), "add them up", *counts[:4]),
        (times(4, n, square), fitting, given[6], given[7]),
    )
    inner = p.calc(
        number(*attended),
        (summed(*attended), "add them up", *counts[4:]),
        (times(2, power(n, 2), d), fitting, given[6], given[7]),
    )
    scale = times(2, n, d)
    longer, more = less(times(2, d), n), less(number(*projected), number(*attended))
    return p.both(
        p.suppose(
            more,
            lambda known: p.order(
                longer,
                (over(1, scale), known),
                (over(1, scale), outer),
                (over(-1, scale), inner),
                reason=r"divide by $2\,n\,d_{\text{model}}$",
            ),
            "suppose that attention takes more multiplications",
        ),
        p.suppose(
            longer,
            lambda known: p.order(
                more,
                (scale, known),
                (-1, outer),
                (1, inner),
                reason=r"multiply by $2\,n\,d_{\text{model}}$",
            ),
            "conversely, suppose that the sequence is longer than twice the width",
        ),
    )


@cache
def multiplied(n: int, d: int, h: int) -> tuple[int, int]:
    """Multiplications of the projections and of the two products with the attention matrix."""
    from numeric import MultiHeadWeights, count_attention

    x = np.ones((n, d))
    _, stages = count_attention(x, x, MultiHeadWeights.init(np.random.default_rng(2), d, h))
    counts = {name: counter["multiply"] for name, counter in stages.items()}
    return part(counts, *PROJECTIONS_OF), part(counts, "scores", "heads")


#: (n, d_model, h): below, at and above twice the width.
AROUND = ((1, 4, 2), (3, 2, 1), (4, 2, 2), (5, 2, 2), (6, 3, 3), (7, 3, 1), (2, 1, 1), (3, 1, 1))


def twin_crossover(_rng: np.random.Generator) -> list[Trial]:
    trials = []
    for n, d, h in AROUND:
        outer, inner = multiplied(n, d, h)
        trials.append(agree(inner > outer, n > 2 * d, what(n, d, h)))
    return trials


def crossover_mutations() -> tuple[Mutation, ...]:
    def at_the_width(_rng: np.random.Generator) -> list[Trial]:
        pairs = [(what(*sizes), sizes, *multiplied(*sizes)) for sizes in AROUND]
        return [agree(inner > outer, n > d, name) for name, (n, d, _), outer, inner in pairs]

    heavier = iff(less(number(*projected), number(*attended)), less(d, n))
    return (
        Mutation(
            "the crossover is put at the width in place of twice the width",
            statement=implies(both(*counting(*MULTIPLIED)), heavier),
            counterexample=Example({**SMALLEST, n: 2}),
            twin=Twin("multiplications counted, against the width", at_the_width),
        ),
    )


CROSSOVER = Claim(
    id="operation-counts/crossover",
    title="When attention outweighs the projections",
    source=source(
        "A13",
        r"$O(n^2 d_{\text{model}})$ names one of the two terms; which of them is larger depends on "
        r"the sizes. Beyond the note: multiplications only.",
    ),
    statement=implies(
        both(*counting(*MULTIPLIED)),
        iff(less(number(*projected), number(*attended)), less(times(2, d), n)),
    ),
    given=FIT,
    proof=supposed(counting(*MULTIPLIED), prove_crossover),
    twin=Twin("multiplications counted below, at and above twice the width", twin_crossover),
    mutations=crossover_mutations,
    expected=Verdict.PROVED,
    remark=r"Multiplications of matrix products only: $4\,n\,d_{\text{model}}^2$ against "
    r"$2\,n^2 d_{\text{model}}$.",
)  # fmt: skip

outweighs = less(
    plus(times(8, square), h), plus(times(4, n, d), times(3, d), times(3, h, n))
)  # fmt: skip


def prove_crossover_all(p: Prover, given: Sequence[Theorem]) -> Theorem:
    counts = closed(p, SELF.stages, given)
    outer = p.calc(
        number(*SELF.projections),
        (summed(*SELF.projections), "add them up", *counts[:4]),
        (plus(times(8, n, square), times(-4, n, d)), fitting, given[8], given[9]),
    )
    inner = p.calc(
        number(*SELF.attention),
        (summed(*SELF.attention), "add them up", *counts[4:]),
        (
            plus(
                times(4, power(n, 2), d), times(3, h, power(n, 2)), times(-1, n, d),
                times(-1, h, n),
            ),
            fitting,
            given[8],
            given[9],
        ),
    )  # fmt: skip
    more = less(number(*SELF.projections), number(*SELF.attention))
    return p.both(
        p.suppose(
            more,
            lambda known: p.order(
                outweighs,
                (over(1, n), known),
                (over(1, n), outer),
                (over(-1, n), inner),
                reason="divide by $n$ and collect",
            ),
            "suppose that attention takes more operations",
        ),
        p.suppose(
            outweighs,
            lambda known: p.order(
                more, (n, known), (-1, outer), (1, inner), reason="multiply by $n$"
            ),
            "conversely, suppose this",
        ),
    )


def twin_crossover_all(_rng: np.random.Generator) -> list[Trial]:
    trials = []
    for n, d, h in (*AROUND, *SIZES):
        counts = operations(n, n, d, h)
        more = part(counts, *ATTENTION_OF) > part(counts, *PROJECTIONS_OF)
        trials.append(agree(more, 4 * n * d + 3 * d + 3 * h * n > 8 * d**2 + h, what(n, d, h)))
    return trials


CROSSOVER_ALL = Claim(
    id="operation-counts/crossover-all",
    title="When attention outweighs the projections, all operations counted",
    source=source(
        "A13",
        r"$O(n^2 d_{\text{model}})$ names one of the two terms; which of them is larger depends on "
        r"the sizes.",
    ),
    statement=iff(less(number(*SELF.projections), number(*SELF.attention)), outweighs),
    given=(*definitions(*SELF.stages), *FIT),
    proof=stated(prove_crossover_all),
    twin=Twin("operations counted below, at and above twice the width", twin_crossover_all),
    expected=Verdict.PROVED,
    remark=r"The softmax lowers the point from $2\,d_{\text{model}}$ tokens to a little less; with "
    r"as many heads as columns to about $\frac{8}{7}\,d_{\text{model}}$.",
)  # fmt: skip


# ---------------------------------------------------------------------- feed-forward network


def affine(number: str, what: str, length: Any, name: str, *sizes: Any) -> Stage:
    """Dot products of that length, and a bias on each."""
    inner = f"${name}$ multiplications, ${name} - 1$ additions and the bias"
    return stage(number, what, plus(dot(length), 1), times(2, length), sizes, inner)


NETWORK = (
    affine("T_1", "the first layer", d, r"d_{\text{model}}", n, f),
    affine("T_2", "the second layer", f, "d_{ff}", n, d),
)


def prove_network(p: Prover, given: Sequence[Theorem]) -> Theorem:
    counts = [added_up(p, s, given) for s in NETWORK]
    any_width = p.calc(
        number(*NETWORK),
        (summed(*NETWORK), "add them up", *counts),
        (times(4, n, d, f), "collect"),
    )
    fourth = p.calc(
        times(4, n, d, f),
        (times(4, n, d, times(4, d)), r"$d_{ff} = 4\,d_{\text{model}}$", given[2]),
        (times(16, n, square), "multiply"),
    )
    return p.both(any_width, fourth)


@cache
def network_operations(n: int, d: int, f: int) -> int:
    from numeric import FeedForwardWeights, count_feed_forward

    weights = FeedForwardWeights.init(np.random.default_rng(3), d, f)
    _, stages = count_feed_forward(np.ones((n, d)), weights)
    return stages["first"].total() + stages["second"].total()


def twin_network(_rng: np.random.Generator) -> list[Trial]:
    widened = [
        agree(network_operations(n, d, 4 * d), 16 * n * d**2, f"n={n}, d={d}")
        for n, d in ((2, 3), (3, 2), (1, 4), (1, 1))
    ]
    others = [
        agree(network_operations(n, d, f), 4 * n * d * f, f"n={n}, d={d}, d_ff={f}")
        for n, d, f in ((2, 3, 5), (5, 4, 1), (1, 1, 3))
    ]
    return [*widened, *others]


FEED_FORWARD = Claim(
    id="operation-counts/feed-forward",
    title="The feed-forward network, with its biases",
    source=source(
        "A13",
        r"The cost of attention is given for itself. Beyond the note: that of the network that "
        r"follows, $d_{\text{model}} \to d_{ff} \to d_{\text{model}}$ with "
        r"$d_{ff} = 4\,d_{\text{model}}$ and biases.",
    ),
    statement=implies(
        both(*counting(*NETWORK)),
        all_equal(number(*NETWORK), times(4, n, d, f), times(16, n, square)),
    ),
    given=(FOUR_TIMES,),
    proof=supposed(counting(*NETWORK), prove_network),
    twin=Twin("operations counted while the network is computed", twin_network),
    expected=Verdict.PROVED,
    remark=r"The ReLU takes $n\,d_{ff}$ comparisons more.",
)  # fmt: skip

WIDENED = (
    multiplications("M_1", "multiplications for the first layer", d, n, f),
    multiplications("M_2", "multiplications for the second layer", f, n, d),
)


def prove_heavier(p: Prover, given: Sequence[Theorem]) -> Theorem:
    layer = p.equal(
        number(*MULTIPLIED),
        plus(times(4, n, square), times(2, power(n, 2), d)),
        *given[:6],
        *given[-3:-1],
        reason=rf"multiplications of the attention layer, with {fitting}: "
        "`operation-counts/crossover`",
    )
    network = p.equal(
        number(*WIDENED),
        times(8, n, square),
        given[6],
        given[7],
        given[10],
        reason=r"multiplications of the network, $d_{ff} = 4\,d_{\text{model}}$",
    )
    scale = times(2, n, d)
    longer, more = less(times(2, d), n), less(number(*WIDENED), number(*MULTIPLIED))
    return p.both(
        p.suppose(
            more,
            lambda known: p.order(
                longer,
                (over(1, scale), known),
                (over(1, scale), network),
                (over(-1, scale), layer),
                reason=r"divide by $2\,n\,d_{\text{model}}$",
            ),
            "suppose that attention takes more",
        ),
        p.suppose(
            longer,
            lambda known: p.order(
                more,
                (scale, known),
                (-1, network),
                (1, layer),
                reason=r"multiply by $2\,n\,d_{\text{model}}$",
            ),
            "conversely, suppose that the sequence is longer than twice the width",
        ),
    )


def twin_heavier(_rng: np.random.Generator) -> list[Trial]:
    from numeric import FeedForwardWeights, count_feed_forward

    trials = []
    for n, d, h in AROUND:
        weights = FeedForwardWeights.init(np.random.default_rng(3), d, 4 * d)
        _, stages = count_feed_forward(np.ones((n, d)), weights)
        network = sum(counter["multiply"] for counter in stages.values())
        trials.append(agree(sum(multiplied(n, d, h)) > network, n > 2 * d, what(n, d, h)))
    return trials


HEAVIER = Claim(
    id="operation-counts/attention-or-network",
    title="When the attention layer outweighs the feed-forward network",
    source=source(
        "A13",
        r"Attention costs $O(n^2 d_{\text{model}})$, which is quadratic in the length. Beyond the "
        r"note: the network, with $d_{ff} = 4\,d_{\text{model}}$, is linear in it; counted are "
        r"multiplications.",
    ),
    statement=implies(
        both(*counting(*MULTIPLIED, *WIDENED)),
        iff(less(number(*WIDENED), number(*MULTIPLIED)), less(times(2, d), n)),
    ),
    given=(*FIT, FOUR_TIMES),
    proof=supposed(counting(*MULTIPLIED, *WIDENED), prove_heavier),
    twin=Twin("multiplications counted below, at and above twice the width", twin_heavier),
    expected=Verdict.PROVED,
    remark=r"Multiplications of matrix products only: $4\,n\,d_{\text{model}}^2 + "
    r"2\,n^2 d_{\text{model}}$ against $8\,n\,d_{\text{model}}^2$.",
)  # fmt: skip


# ---------------------------------------------------------------------- A14: against one head

FOR_RATIO = (*definitions(*SELF.stages, *ONE.stages), *FIT)
many, one = number(*SELF.stages), number(*ONE.stages)
many_shifted, one_shifted = number(*SELF.stages_shifted), number(*ONE.stages_shifted)
single = r"one head of widths $d_k = d_v = d_{\text{model}}$"


def counted_twice(
    p: Prover, of: Callable[[Any, Any, Any], sp.Expr], given: Sequence[Theorem], shifted: bool
) -> tuple[Theorem, Theorem]:
    """The operations with h heads and with one head."""
    many, one = (x.stages_shifted if shifted else x.stages for x in (SELF, ONE))
    where = "layer-with-maximum" if shifted else "layer"
    first = p.equal(
        number(*many), of(n, d, h), *(counted(p, s, given) for s in many), *given[-2:],
        reason=f"all operations with $h$ heads: `operation-counts/{where}`",
    )  # fmt: skip
    second = p.equal(
        number(*one), of(n, d, 1), *(counted(p, s, given) for s in one),
        reason=f"the same for {single}",
    )  # fmt: skip
    return first, second


def prove_ratio_shifted(p: Prover, given: Sequence[Theorem]) -> Theorem:
    return prove_ratio(p, given, shifted=True)


def prove_ratio(p: Prover, given: Sequence[Theorem], shifted: bool = False) -> Theorem:
    of, factor = (polynomial, Fraction(7, 4)) if not shifted else (
        polynomial_shifted, Fraction(9, 4))  # fmt: skip
    first, second = counted_twice(p, of, given, shifted)
    fewer = no_more_heads(p, given[-2])
    row = minus(times(3, n), 1) if not shifted else minus(times(5, n), 2)
    p.fact(p.order(less(0, row), reason="a row takes at least one operation"))
    left, right = (many, one) if not shifted else (many_shifted, one_shifted)
    difference = p.equal(
        minus(left, right),
        times(minus(h, 1), n, row),
        (1, first),
        (-1, second),
        reason="they differ in the softmax, which every head has for itself",
    )
    low = p.order(at_most(right, left), (1, difference), reason="there is at least one head")
    high = p.order(
        less(left, times(factor, right)),
        (times(n, row), fewer),
        (-1, difference),
        (factor - 1, second),
        reason=r"$h \le d_{\text{model}}$, and what is left is positive",
    )
    return p.both(low, high)


def ratio_twin(shift: bool, limit: float) -> Callable[[np.random.Generator], list[Trial]]:
    def trials(_rng: np.random.Generator) -> list[Trial]:
        out = []
        for n, d in ((1, 1), (1, 6), (6, 1), (5, 6), (9, 4), (12, 2)):
            alone = sum(operations(n, n, d, 1, shift).values())
            for h in (h for h in range(1, d + 1) if d % h == 0):
                ratio = sum(operations(n, n, d, h, shift).values()) / alone
                out += [bounded(1, ratio, what(n, d, h)), bounded(ratio, limit, what(n, d, h))]
        return out

    return trials


def same_order_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "the factor is put at $3/2$",
            statement=both(at_most(one, many), less(many, times(Fraction(3, 2), one))),
            counterexample=Example({n: 128, d: 8, h: 8, d_k: 1, d_v: 1}),
        ),
        Mutation(
            "the cost is taken for exactly that of one head",
            statement=equal(many, one),
            counterexample=Example(TWO_HEADS),
            twin=Twin("operations counted with all numbers of heads", ratio_twin(False, 1)),
        ),
    )


SAME_ORDER = Claim(
    id="operation-counts/same-order",
    title="As much as one head, in order of magnitude",
    source=source(
        "A14",
        r"The cost of $h$ heads is of the same order as that of a single head; read as one head "
        r"of the full width, with the same output projection.",
    ),
    statement=both(at_most(one, many), less(many, times(Fraction(7, 4), one))),
    given=FOR_RATIO,
    proof=stated(prove_ratio),
    twin=Twin("operations counted with all numbers of heads", ratio_twin(False, 1.75)),
    mutations=same_order_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip

SAME_ORDER_SHIFTED = Claim(
    id="operation-counts/same-order-with-maximum",
    title="As much as one head, with the maximum subtracted",
    source=source(
        "A14",
        r"The cost of $h$ heads is of the same order as that of a single head. Beyond the note: "
        r"the softmax subtracts the maximum of every row first.",
    ),
    statement=implies(
        both(*counting(SELF.shifted, ONE.shifted)),
        both(
            at_most(one_shifted, many_shifted),
            less(many_shifted, times(Fraction(9, 4), one_shifted)),
        ),
    ),
    given=(
        *definitions(*SELF.projections, SELF.scores, SELF.scaling, SELF.heads),
        *definitions(*ONE.projections, ONE.scores, ONE.scaling, ONE.heads),
        *FIT,
    ),
    proof=supposed(counting(SELF.shifted, ONE.shifted), prove_ratio_shifted),
    twin=Twin("operations counted with all numbers of heads", ratio_twin(True, 2.25)),
    expected=Verdict.PROVED,
)  # fmt: skip

epsilon = positive("epsilon")
attained = exists(
    n,
    exists(
        d,
        less(
            times(minus(Fraction(7, 4), epsilon), polynomial(n, d, 1)),
            polynomial(n, d, d),
        ),
    ),
)


def prove_best(p: Prover) -> Theorem:
    size = plus(call(sp.floor, over(1, epsilon)), 1)
    above = p.note(p.axiom("floor-upper", over(1, epsilon)), r"let $K$ be the right side")
    enough = p.order(
        less(1, times(epsilon, size)),
        (epsilon, above),
        reason=r"so that $K \epsilon$ is more than 1",
    )
    width, length = times(2, size), times(16, power(size, 2))
    # what one head costs at these sizes, divided by K
    share = plus(
        times(2048, power(size, 4)), times(1280, power(size, 3)), times(-160, power(size, 2)),
        times(-16, size),
    )  # fmt: skip
    factor = minus(Fraction(7, 4), epsilon)
    larger = p.order(
        less(times(factor, polynomial(length, width, 1)), polynomial(length, width, width)),
        (share, enough),
        reason="with $2K$ columns, as many heads, and $16K^2$ tokens",
    )
    inner = p.exists(
        exists(d, less(times(factor, polynomial(length, d, 1)), polynomial(length, d, d))),
        width,
        larger,
        *p.facts(),
    )
    return p.note(p.exists(attained, length, inner, *p.facts()), "such sizes exist")


def twin_best(_rng: np.random.Generator) -> list[Trial]:
    """From the dimensions of the arrays alone, since the sizes are too large for loops."""
    trials = []
    for width in (2, 10, 100, 1000):
        length = 4 * width**2
        row = 3 * length - 1
        common = 4 * length * width * (2 * width - 1) + 2 * length**2 * width
        common += length * width * (2 * length - 1)
        ratio = (common + width * length * row) / (common + length * row)
        trials.append(bounded(1.75 - 2 / width, ratio, f"n={length}, d=h={width}"))
    return trials


BEST = Claim(
    id="operation-counts/same-order-sharp",
    title="No smaller factor than $7/4$ will do",
    source=source(
        "A14",
        r"The cost is of the same order; with as many heads as columns and many tokens the factor "
        r"comes as close to $\frac74$ as one likes. In the statement $w$ and $p$ are $n$ and "
        r"$d_{\text{model}}$.",
    ),
    statement=attained,
    proof=prove_best,
    twin=Twin("operations for growing sizes, from the shapes", twin_best),
    expected=Verdict.PROVED,
)  # fmt: skip


def prove_difference(p: Prover, given: Sequence[Theorem]) -> Theorem:
    first, second = counted_twice(p, polynomial, given, False)
    row = minus(times(3, n), 1)
    difference = p.equal(
        minus(many, one),
        times(minus(h, 1), n, row),
        (1, first),
        (-1, second),
        reason="they differ in the softmax, which every head has for itself",
    )
    cancelled = p.cancel(row)
    scale = over(power(row, -1), n)

    def only_one(same: Theorem) -> Theorem:
        return p.equal(
            h,
            1,
            (scale, same),
            (times(-1, scale), difference),
            (times(-1, minus(h, 1)), cancelled),
            reason=r"$n\,(3n - 1)$ is not zero and cancels",
        )

    def no_difference(only: Theorem) -> Theorem:
        return p.equal(
            many,
            one,
            (1, difference),
            (times(n, row), only),
            reason="then nothing is left of the difference",
        )

    return p.both(
        difference,
        p.both(
            p.suppose(equal(many, one), only_one, "suppose that the counts agree"),
            p.suppose(equal(h, 1), no_difference, "conversely, suppose that there is one head"),
        ),
    )


def twin_difference(_rng: np.random.Generator) -> list[Trial]:
    trials = []
    for n, d, h, c in self_operations():
        extra = sum(c.values()) - sum(operations(n, n, d, 1).values())
        trials.append(agree(extra, (h - 1) * n * (3 * n - 1), what(n, d, h)))
        if h > 1:
            trials.append(differs(extra, 0, by=1, what=what(n, d, h)))
    return trials


def same_count_mutations() -> tuple[Mutation, ...]:
    def between_rows(_rng: np.random.Generator) -> list[Trial]:
        trials = []
        for n, d, h, c in self_operations():
            extra = sum(c.values()) - sum(operations(n, n, d, 1).values())
            trials.append(agree(extra, h * n * (3 * n - 1), what(n, d, h)))
        return trials

    return (
        Mutation(
            "every head is counted as an extra one, $h$ in place of $h - 1$",
            statement=equal(minus(many, one), times(h, n, minus(times(3, n), 1))),
            counterexample=Example(SMALLEST),
            twin=Twin("operations counted with several heads and with one", between_rows),
        ),
    )


EQUAL = Claim(
    id="operation-counts/same-count",
    title="Exactly as many operations as one head",
    source=source(
        "A14",
        r"As the parameters are exactly as many as for a single head, so the cost is the same; "
        r"read as equality rather than as an order of magnitude.",
    ),
    statement=equal(many, one),
    given=FOR_RATIO,
    counterexample=Example({n: 3, d: 6, h: 2, d_k: 3, d_v: 3}),
    correction=Correction(
        both(
            equal(minus(many, one), times(minus(h, 1), n, minus(times(3, n), 1))),
            iff(equal(many, one), equal(h, 1)),
        ),
        stated(prove_difference),
        FOR_RATIO,
    ),
    twin=Twin("operations counted with several heads and with one", twin_difference),
    mutations=same_count_mutations,
    expected=Verdict.REFUTED,
)  # fmt: skip

weights_stored = stored("N_A", "A", h, n, m)
weights_single = stored("N_A'", "A'", 1, n, m)
one_softmax = softmax_stage("T_E'", 1, n, m, "m")
GROWING = (
    weights_stored.counted,
    weights_single.counted,
    *counting(CROSS.softmax, one_softmax),
)


def prove_grows(p: Prover, given: Sequence[Theorem]) -> Theorem:
    kept = [
        p.equal(s.number, s.sides, given[e], reason=why)
        for e, (s, why) in enumerate(
            (
                (weights_stored, "one number for every head, query and key"),
                (weights_single, "and for one head"),
            )
        )
    ]
    memory = p.equal(
        times(h, n, m),
        times(h, weights_single.number),
        (times(-1, h), kept[1]),
        reason="a multiple of the second",
    )
    times_h = p.calc(
        CROSS.softmax.number,
        (CROSS.softmax.product, CROSS.softmax.inner, given[2]),
        (times(h, one_softmax.number), "the same with one head", (times(-1, h), given[3])),
    )
    return p.both(p.both(kept[0], memory), times_h)


def twin_grows(rng: np.random.Generator) -> list[Trial]:
    """The attention weights of all heads as one array, and the operations of their softmax."""
    from numeric import MultiHeadWeights, attention_weights

    trials = []
    for n, m, d, h in ((3, 5, 6, 2), (5, 2, 4, 4), (1, 3, 2, 1), (4, 1, 3, 3)):
        w = MultiHeadWeights.init(rng, d, h)
        queries, keys = rng.standard_normal((n, d)) @ w.w_q, rng.standard_normal((m, d)) @ w.w_k
        name = f"{what(n, d, h)}, m={m}"
        alone = operations(n, m, d, 1)["softmax"]
        trials += [
            agree(attention_weights(queries, keys).size, h * n * m, name),
            agree(operations(n, m, d, h)["softmax"], h * alone, name),
        ]
    return trials


def grows_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "the attention weights are taken to be as many as with one head",
            statement=implies(both(*GROWING), equal(weights_stored.number, weights_single.number)),
            counterexample=Example({n: 1, m: 1, h: 2}),
        ),
    )


GROWS = Claim(
    id="operation-counts/grows-with-heads",
    title="Attention weights and their softmax grow with the number of heads",
    source=source(
        "A14",
        r"The cost of $h$ heads is of the same order as that of one. Beyond the note: the "
        r"attention weights that are kept, and their softmax.",
    ),
    statement=implies(both(*GROWING), both(
        all_equal(
            weights_stored.number, times(h, n, m), times(h, weights_single.number)
        ),
        equal(CROSS.softmax.number, times(h, one_softmax.number)),
    )),
    proof=supposed(GROWING, prove_grows),
    twin=Twin("sizes of attention weights, and operations of their softmax", twin_grows),
    mutations=grows_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip

CLAIMS = (
    PROJECTIONS,
    SCORES,
    SOFTMAX,
    SOFTMAX_SHIFTED,
    HEADS,
    LAYER,
    LAYER_SHIFTED,
    CROSS_ATTENTION,
    ATTENTION_ORDER,
    LAYER_ORDER,
    LAYER_LONG,
    ORDER_IFF,
    CROSSOVER,
    CROSSOVER_ALL,
    FEED_FORWARD,
    HEAVIER,
    SAME_ORDER,
    SAME_ORDER_SHIFTED,
    BEST,
    EQUAL,
    GROWS,
)

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
