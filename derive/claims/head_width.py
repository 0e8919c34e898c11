"""Head width: when is ``h * d_v`` the model width?

The derivations note sets ``d_k = d_v = d_model / h``, lays the heads side by side and uses
``h (d_model / h) = d_model``.  Over the rationals that always holds; as a statement about numbers
of columns it needs that `h` divides `d_model`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp

from derive.claim import Added, Claim, Example, Given, Mutation
from derive.claims import DERIVATIONS
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.kernel.terms import Term
from derive.language import (
    IsInteger,
    at_most,
    both,
    call,
    dim,
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
    negation,
    over,
    plus,
    times,
    total,
)
from derive.prover import Prover
from derive.result import Source, Verdict
from derive.twin import Trial, Twin, differs
from derive.twin import at_most as bounded
from derive.twin import equal as agree
from numeric import MultiHeadWeights, concat_heads, head_width

ORDER = 20
TOPIC = "head-width"

d, h, d_v = dims("d_model h d_v")
w = dim("w")
quotient = over(d, h)
floor_width = call(sp.floor, quotient)
remainder = call(sp.Mod, d, h)


def widths(rng: np.random.Generator) -> list[tuple[int, int]]:
    """Model widths and head counts that divide them, and the degenerate cases."""
    heads = rng.integers(1, 12, size=40)
    drawn = [(int(n * q), int(n)) for n, q in zip(heads, rng.integers(1, 70, 40), strict=True)]
    return [*drawn, (512, 8), (12, 4), (30, 5), (8, 8), (2, 1), (1, 1)]


def any_widths(rng: np.random.Generator) -> list[tuple[int, int]]:
    """Model widths and head counts, whether or not they divide."""
    drawn = [(int(m), int(n)) for m, n in rng.integers(1, 65, size=(60, 2))]
    return [*drawn, (100, 8), (3, 5), *widths(rng)]


# ---------------------------------------------------------------------- the base model


def prove_base(p: Prover) -> Theorem:
    return p.calc(
        over(512, 8),
        (over(times(8, 64), 8), r"$512 = 8 \cdot 64$"),
        (64, "the factor 8 cancels"),
    )


def twin_base(rng: np.random.Generator) -> list[Trial]:
    weights = MultiHeadWeights.init(rng, d_model=512, h=8)
    return [agree((weights.d_k, weights.d_v), (64, 64), "head widths of the base model")]


BASE = Claim(
    id="head-width/base",
    title="Head width of the base model",
    source=Source(
        DERIVATIONS, ("A01",),
        r"Transformer base has $h = 8$ heads and $d_{\text{model}} = 512$, hence head width 64.",
    ),
    statement=equal(over(512, 8), 64),
    proof=prove_base,
    twin=Twin("columns of built projection matrices", twin_base),
    expected=Verdict.PROVED,
)  # fmt: skip


# ---------------------------------------------------------------------- a number of columns

some_width = exists(w, equal(times(h, w), d))


def width_from_divisibility(p: Prover, divisible: Theorem) -> Theorem:
    """If d_model / h is an integer, it is a width that fits."""
    positive = p.trivial(less(0, quotient))
    at_least_one = p.order(
        at_most(1, quotient),
        (1, p.next_integer(positive, divisible)),
        reason=r"$d_{\text{model}}/h$ is positive, and a positive integer is at least 1",
    )
    fits = p.equal(times(h, quotient), d, reason="it fits: $h$ cancels")
    return p.note(
        p.exists(some_width, quotient, fits, divisible, at_least_one),
        r"take $w = d_{\text{model}}/h$",
    )


def prove_whole(p: Prover) -> Theorem:
    return width_from_divisibility(p, p.hyp(0))


def no_width(p: Prover, target: Term) -> Theorem:
    """At d_model = 100 and h = 8 a width would be 100/8, which is not an integer."""
    some = p.assume(target.children[0])

    def absurd(fits: Theorem) -> Theorem:
        size = p.equal(over(100, 8), w, fits, show=False)
        integer = infer("integer", [], p.term(w))
        back = p.equal(w, over(100, 8), size, show=False)
        whole = p.rewrite(back, integer, T.isint)
        not_whole = p.trivial(negation(IsInteger(over(100, 8))))
        return infer("contradiction", [whole, not_whole], target)

    return infer("deny", [p.choose(some, w, absurd)], some.conclusion)


def hands_out_a_width(model_width: int, heads: int) -> bool:
    """Whether the layers accept the two, rather than drop columns in silence."""
    try:
        head_width(model_width, heads)
    except ValueError:
        return False
    return True


def twin_whole(rng: np.random.Generator) -> list[Trial]:
    given = [agree(hands_out_a_width(m, n), True, f"d={m}, h={n}") for m, n in widths(rng)]
    return [*given, agree(hands_out_a_width(100, 8), False, "d=100, h=8")]


WHOLE = Claim(
    id="head-width/whole-number",
    title="A whole number of columns",
    source=Source(
        DERIVATIONS, ("A01",),
        r"$d_k = d_v = d_{\text{model}}/h$ is introduced as the width of a head, which is a whole "
        r"number of columns.",
    ),
    statement=some_width,
    added=(
        Added(
            divides(h, d),
            Example({d: 100, h: 8}, no_width),
            "the note does not say that the number of heads divides the width",
        ),
    ),
    witness=Example({d: 12, h: 4}),
    proof=prove_whole,
    twin=Twin("widths that are handed out, and one that is refused", twin_whole),
    expected=Verdict.CONDITIONAL,
)  # fmt: skip


def prove_exists_iff(p: Prover) -> Theorem:
    def divisible(some: Theorem) -> Theorem:
        return p.choose(some, w, from_width)

    def from_width(fits: Theorem) -> Theorem:
        p.note(fits, "call it $w$")
        same = p.calc(
            w,
            (over(times(h, w), h), "multiply and divide by $h$"),
            (quotient, "the width fits", (over(1, h), fits)),
        )
        whole = p.rewrite(same, infer("integer", [], p.term(w)), T.isint)
        return p.note(whole, r"$d_{\text{model}}/h = w$ is an integer")

    return p.both(
        p.suppose(some_width, divisible, "suppose that some width fits"),
        p.suppose(
            divides(h, d),
            lambda divisible: width_from_divisibility(p, divisible),
            "conversely, suppose that the quotient is an integer",
        ),
    )


def twin_exists_iff(rng: np.random.Generator) -> list[Trial]:
    def searched(m: int, n: int) -> bool:
        return any(n * k == m for k in range(1, m + 1))

    return [
        agree(hands_out_a_width(m, n), searched(m, n), f"d={m}, h={n}") for m, n in any_widths(rng)
    ]


EXISTS_IFF = Claim(
    id="head-width/exists-iff",
    title="When there is a head width",
    source=Source(
        DERIVATIONS, ("A01",),
        r"$d_k = d_v = d_{\text{model}}/h$; when this is a number of columns is left open.",
    ),
    statement=iff(some_width, divides(h, d)),
    proof=prove_exists_iff,
    twin=Twin("widths that are handed out against a search of all widths", twin_exists_iff),
    expected=Verdict.PROVED,
)  # fmt: skip


# ---------------------------------------------------------------------- the concatenation

i, j = index("i", h), index("j", h)
c, e = index("c", d_v), index("e", d_v)
l = natural("l")


def position(head: Any, column: Any) -> sp.Expr:
    """Where a column of a head stands in the concatenation."""
    return plus(times(head, d_v), column)


#: (h, n, d_v): no two sizes coincide; then one head, one column, one token, one of each.
SHAPES = ((4, 3, 5), (2, 7, 3), (1, 2, 3), (3, 2, 1), (5, 1, 2), (1, 1, 1))


Joined = Callable[[np.ndarray], np.ndarray]


def concatenations(
    rng: np.random.Generator, joined: Joined | None = None
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Heads (h, n, d_v) with random entries, and their concatenation (n, h*d_v)."""
    drawn = [rng.standard_normal(shape) for shape in SHAPES]
    return [(heads, (joined or concat_heads)(heads)) for heads in drawn]


def prove_in_range(p: Prover) -> Theorem:
    low = p.order(at_most(0, position(i, c)), reason="no summand is negative")
    head = p.order(at_most(plus(i, 1), h), reason="the last head has index $h - 1$")
    column = p.order(at_most(plus(c, 1), d_v), reason="the last column has index $d_v - 1$")
    high = p.order(
        less(position(i, c), times(h, d_v)),
        (d_v, head),
        (1, column),
        reason=r"$i\,d_v + c < i\,d_v + d_v = (i + 1)\,d_v \le h\,d_v$",
    )
    return p.for_all(p.both(low, high), i, c)


def twin_in_range(rng: np.random.Generator) -> list[Trial]:
    trials = []
    for heads, together in concatenations(rng):
        number, _, width = heads.shape
        at = [a * width + b for a in range(number) for b in range(width)]
        trials += [
            bounded(0, min(at), "first position"),
            bounded(max(at) + 1, together.shape[1], "last position"),
        ]
    return trials


def in_range_mutations() -> tuple[Mutation, ...]:
    mixed = plus(times(i, h), c)
    return (
        Mutation(
            "the heads stand $h$ columns apart in place of $d_v$",
            statement=forall([i, c], less(mixed, times(h, d_v))),
            counterexample=Example({h: 2, d_v: 1}),
        ),
    )


IN_RANGE = Claim(
    id="head-width/position-in-range",
    title="Concatenation: within range",
    source=Source(
        DERIVATIONS, ("A05",),
        r"The heads are laid side by side along the last axis, which gives $h\,d_v$ columns: "
        r"column $c$ of head $i$ becomes column $i\,d_v + c$.",
    ),
    statement=forall([i, c], both(at_most(0, position(i, c)), less(position(i, c), times(h, d_v)))),
    proof=prove_in_range,
    twin=Twin("positions against the columns of the concatenated array", twin_in_range),
    mutations=in_range_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip


def read_head(p: Prover, head: sp.Idx, column: sp.Idx) -> Theorem:
    """The head can be read off the position."""
    return p.calc(
        call(sp.floor, over(position(head, column), d_v)),
        (call(sp.floor, plus(head, over(column, d_v))), "divide term by term"),
        (head, f"${head}$ is an integer, and $0 \\le {column}/d_v < 1$"),
    )


def prove_distinct(p: Prover) -> Theorem:
    def same(meet: Theorem) -> Theorem:
        first, second = read_head(p, i, c), read_head(p, j, e)
        moved = p.rewrite(
            meet, first, lambda x: T.eq(T.fn("floor", T.div(x, p.term(d_v))), p.term(i))
        )
        heads = p.calc(
            i,
            (
                call(sp.floor, over(position(j, e), d_v)),
                "the first head, read off the other form of the position",
                moved,
            ),
            (j, "as read off for the second column", (1, second)),
        )
        columns = p.calc(
            c,
            (minus(position(i, c), times(i, d_v)), "a column is its position less the offset"),
            (minus(position(j, e), times(i, d_v)), "the positions agree", meet),
            (e, "$i = j$, so the offsets cancel", heads),
        )
        return p.both(heads, columns)

    meeting = equal(position(i, c), position(j, e))
    return p.for_all(p.suppose(meeting, same, "let two columns have one place"), i, c, j, e)


def twin_distinct(rng: np.random.Generator) -> list[Trial]:
    """No column overwrites another: every entry of every head is there, once."""
    trials = []
    for heads, together in concatenations(rng):
        trials += [
            agree(np.sort(together, axis=None), np.sort(heads, axis=None), "entries"),
            agree(np.unique(together).size, heads.size, "number of different entries"),
        ]
    return trials


def distinct_mutations() -> tuple[Mutation, ...]:
    closer = minus(d_v, 1)
    meet = equal(plus(times(i, closer), c), plus(times(j, closer), e))
    return (
        Mutation(
            "each head begins on the last column of the one before",
            statement=forall([i, c, j, e], implies(meet, both(equal(i, j), equal(c, e)))),
        ),
    )


DISTINCT = Claim(
    id="head-width/positions-distinct",
    title="Concatenation: no overlap",
    source=Source(
        DERIVATIONS, ("A05",),
        r"The heads are laid side by side, so that no column covers another one.",
    ),
    statement=forall(
        [i, c, j, e],
        implies(equal(position(i, c), position(j, e)), both(equal(i, j), equal(c, e))),
    ),
    proof=prove_distinct,
    twin=Twin("entries of the concatenated array against those of the heads", twin_distinct),
    mutations=distinct_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip

head_at = call(sp.floor, over(l, d_v))
column_at = call(sp.Mod, l, d_v)
some_column = exists(c, equal(position(i, c), l))


def take_apart(p: Prover, within: Theorem) -> Theorem:
    """Euclid's division of l by d_v."""
    share = over(l, d_v)
    rounding = p.both(p.axiom("floor-lower", share), p.axiom("floor-upper", share))
    p.note(rounding, "what rounding down means")
    down, up = p.part(rounding, 0), p.part(rounding, 1)
    below = p.order(less(share, h), (over(1, d_v), within), reason="divide by $d_v$")
    under = p.order(
        less(head_at, h), (1, down), (1, below), reason="rounding down does not make it larger"
    )
    head = p.note(
        p.next_integer(under),
        r"both are integers, so $\lfloor l/d_v \rfloor$ is an index of a head",
    )
    low = p.order(
        at_most(0, column_at), (d_v, down), reason=r"$\lfloor l/d_v \rfloor \le l/d_v$, times $d_v$"
    )
    high = p.order(
        less(column_at, d_v), (d_v, up), reason=r"$l/d_v < \lfloor l/d_v \rfloor + 1$, times $d_v$"
    )
    column = p.note(
        p.next_integer(high), r"both are integers, so $l \bmod d_v$ is an index of a column"
    )
    place = p.equal(
        position(head_at, column_at),
        l,
        reason=r"$l \bmod d_v = l - d_v \lfloor l/d_v \rfloor$ by definition",
    )
    inner = p.exists(exists(c, equal(position(head_at, c), l)), column_at, place, low, column)
    outer = p.exists(exists(i, some_column), head_at, inner, head)
    return p.note(outer, r"take $i = \lfloor l/d_v \rfloor$ and $c = l \bmod d_v$")


def prove_reached(p: Prover) -> Theorem:
    within = less(l, times(h, d_v))
    place = p.suppose(within, lambda below: take_apart(p, below), "let $l$ be one of the columns")
    return p.for_all(place, l)


def twin_reached(rng: np.random.Generator, joined: Joined | None = None) -> list[Trial]:
    """Column l of the concatenation is column l mod d_v of head l // d_v."""
    trials = []
    for heads, together in concatenations(rng, joined):
        for place in range(together.shape[1]):
            head, column = divmod(place, heads.shape[2])
            trials.append(agree(together[:, place], heads[head, :, column], f"column {place}"))
    return trials


def reached_mutations() -> tuple[Mutation, ...]:
    def dealt_out(heads: np.ndarray) -> np.ndarray:
        return concat_heads(heads.transpose(2, 1, 0))

    return (
        Mutation(
            "the columns of the heads take turns: column $c$ of head $i$ in place $c\\,h + i$",
            twin=Twin(
                "columns of the array in which the heads take turns",
                lambda rng: twin_reached(rng, dealt_out),
            ),
        ),
    )


REACHED = Claim(
    id="head-width/positions-reached",
    title="Concatenation: no gap",
    source=Source(
        DERIVATIONS, ("A05",),
        r"The concatenation consists of the heads and of nothing else: each of its $h\,d_v$ "
        r"columns is a column of a head.",
    ),
    statement=forall(l, implies(less(l, times(h, d_v)), exists(i, some_column))),
    proof=prove_reached,
    twin=Twin("columns of the concatenated array, one by one", twin_reached),
    mutations=reached_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip


# ---------------------------------------------------------------------- the concatenated width

columns = total(1, i, c)


def prove_columns(p: Prover) -> Theorem:
    return p.calc(
        columns,
        (total(d_v, i), "each head has $d_v$ columns"),
        (times(h, d_v), "and there are $h$ heads"),
    )


def twin_columns(rng: np.random.Generator, joined: Joined | None = None) -> list[Trial]:
    return [
        agree(together.shape[1], heads.shape[0] * heads.shape[2], "columns")
        for heads, together in concatenations(rng, joined)
    ]


def columns_mutations() -> tuple[Mutation, ...]:
    def along_tokens(heads: np.ndarray) -> np.ndarray:
        return concat_heads(heads.reshape(1, -1, heads.shape[2]))

    return (
        Mutation(
            "the heads are laid one below the other, along the tokens",
            statement=equal(columns, d_v),
            twin=Twin(
                "shape of the array of heads one below the other",
                lambda rng: twin_columns(rng, along_tokens),
            ),
        ),
        Mutation("the widths are added in place of multiplied", statement=equal(columns, h + d_v)),
    )


COLUMNS = Claim(
    id="head-width/concatenated-columns",
    title="Concatenation: how many columns",
    source=Source(
        DERIVATIONS, ("A05",),
        r"$\mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_h)$ is an "
        r"$n \times (h \cdot d_v)$ matrix.",
    ),
    statement=equal(columns, times(h, d_v)),
    proof=prove_columns,
    twin=Twin("shape of the concatenated array", twin_columns),
    mutations=columns_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip


def prove_width_iff(p: Prover) -> Theorem:
    counted = prove_columns(p)

    def divided(fits: Theorem) -> Theorem:
        return p.calc(
            d_v,
            (over(columns, h), "one of $h$ equal parts of the columns"),
            (quotient, "as supposed", (over(1, h), fits)),
        )

    def multiplied(shared: Theorem) -> Theorem:
        return p.calc(
            columns,
            (times(h, d_v), "as counted", (1, counted)),
            (times(h, quotient), "as supposed", shared),
            (d, "$h$ cancels"),
        )

    return p.both(
        p.suppose(equal(columns, d), divided, "suppose that the concatenation has the model width"),
        p.suppose(equal(d_v, quotient), multiplied, "conversely, let the heads share the width"),
    )


def twin_width_iff(rng: np.random.Generator) -> list[Trial]:
    """The concatenation can stand where the input stood exactly if d_v = d_model / h."""
    trials = []
    for m, n, width in [(12, 4, 3), (12, 3, 5), (10, 5, 3), (7, 1, 7), (6, 6, 1), (1, 1, 1)]:
        weights = MultiHeadWeights.init(rng, m, n, d_k=2, d_v=width)
        square = weights.w_o.shape[0] == weights.w_o.shape[1]
        trials.append(agree(square, width == m / n, f"d={m}, h={n}, d_v={width}"))
    return trials


WIDTH_IFF = Claim(
    id="head-width/model-width-iff",
    title="Concatenation: the model width",
    source=Source(
        DERIVATIONS, ("A05",),
        r"$\mathbb{R}^{n \times (h \cdot d_v)} = \mathbb{R}^{n \times d_{\text{model}}}$ for "
        r"$d_v = d_{\text{model}}/h$.",
    ),
    statement=iff(equal(columns, d), equal(d_v, quotient)),
    proof=prove_width_iff,
    twin=Twin("whether the output matrix is square, for fitting and other widths", twin_width_iff),
    expected=Verdict.PROVED,
)  # fmt: skip


# ---------------------------------------------------------------------- over the rationals


def prove_over_rationals(p: Prover) -> Theorem:
    return p.equal(times(h, quotient), d, reason="a size is not zero, so the quotient cancels")


def twin_rounded(rng: np.random.Generator) -> list[Trial]:
    """Layers of h heads of d_model // h columns, whether or not that loses columns."""
    sizes = ((12, 4), (30, 5), (100, 8))
    drawn = [MultiHeadWeights.init(rng, m, n, d_k=m // n, d_v=m // n) for m, n in sizes]
    return [agree(w.w_o.shape[0], w.d_model, f"d={w.d_model}, h={w.h}") for w in drawn]


def twin_over_rationals(rng: np.random.Generator) -> list[Trial]:
    return [agree(n * head_width(m, n), m, "h * d_v") for m, n in widths(rng)]


def over_rationals_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation("the quotient is upside down", statement=equal(times(h, over(h, d)), d)),
        Mutation(
            "the width of a head is rounded down",
            statement=equal(times(h, floor_width), d),
            twin=Twin("rows of the output matrix of heads of rounded width", twin_rounded),
        ),
    )


OVER_RATIONALS = Claim(
    id="head-width/over-rationals",
    title="The head widths add up to the model width",
    source=Source(
        DERIVATIONS, ("A05", "A06"),
        r"The concatenated heads have width $h\,d_v$, which is $d_{\text{model}}$ because "
        r"$h\,(d_{\text{model}}/h) = d_{\text{model}}$.",
    ),
    statement=equal(times(h, quotient), d),
    proof=prove_over_rationals,
    twin=Twin("concatenated width of built weights against the model width", twin_over_rationals),
    mutations=over_rationals_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip


# ---------------------------------------------------------------------- with integer division


def prove_floor(p: Prover) -> Theorem:
    return p.calc(
        times(h, floor_width),
        (
            times(h, quotient),
            r"$d_{\text{model}}/h$ is an integer, so it is its own floor",
        ),
        (d, "$h$ cancels"),
    )


def twin_floor(rng: np.random.Generator) -> list[Trial]:
    divisible = [agree(n * (m // n), m, "h * (d // h)") for m, n in widths(rng)]
    return [*divisible, differs(8 * (100 // 8), 100, by=4, what="d=100, h=8")]


def floor_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "nothing is asked of the number of heads, $\\lfloor 100/8 \\rfloor = 12$",
            given=(),
            counterexample=Example({d: 100, h: 8}),
            twin=Twin("rows of the output matrix of heads of rounded width", twin_rounded),
        ),
        Mutation(
            "the model width has to divide the number of heads",
            given=(Given(divides(d, h)),),
        ),
    )


FLOOR = Claim(
    id="head-width/floor",
    title="Integer division loses nothing",
    source=Source(
        DERIVATIONS, ("A01", "A06"),
        r"The head width $d_k = d_v = d_{\text{model}}/h$ is used as a number of columns, so the "
        r"division is one of integers.",
    ),
    statement=equal(times(h, floor_width), d),
    added=(
        Added(
            divides(h, d),
            Example({d: 10, h: 3}),
            "the note does not say that the number of heads divides the width",
        ),
    ),
    witness=Example({d: 12, h: 4}),
    proof=prove_floor,
    twin=Twin("integer division over divisors, and one pair that does not divide", twin_floor),
    mutations=floor_mutations,
    expected=Verdict.CONDITIONAL,
)  # fmt: skip


def prove_floor_iff(p: Prover) -> Theorem:
    def divisible(fits: Theorem) -> Theorem:
        same = p.calc(
            floor_width,
            (over(times(h, floor_width), h), "multiply and divide by $h$"),
            (quotient, "as supposed", (over(1, h), fits)),
        )
        floor = infer("integer", [], p.term(floor_width))
        return p.note(p.rewrite(same, floor, T.isint), "the quotient is a floor, an integer")

    return p.both(
        p.suppose(equal(times(h, floor_width), d), divisible, "suppose that nothing is lost"),
        p.suppose(
            divides(h, d),
            lambda _: prove_floor(p),
            "conversely, suppose that the quotient is an integer",
        ),
    )


def twin_floor_iff(rng: np.random.Generator) -> list[Trial]:
    return [
        agree(n * (m // n) == m, hands_out_a_width(m, n), f"d={m}, h={n}")
        for m, n in any_widths(rng)
    ]


FLOOR_IFF = Claim(
    id="head-width/floor-iff",
    title="When integer division is exact",
    source=Source(
        DERIVATIONS, ("A06",),
        r"$h \cdot (d_{\text{model}}/h) = d_{\text{model}}$ without a word on divisibility.",
    ),
    statement=iff(equal(times(h, floor_width), d), divides(h, d)),
    proof=prove_floor_iff,
    twin=Twin("integer division against the widths that are handed out", twin_floor_iff),
    expected=Verdict.PROVED,
)  # fmt: skip


def prove_remainder(p: Prover) -> Theorem:
    rounding = p.both(p.axiom("floor-lower", quotient), p.axiom("floor-upper", quotient))
    p.note(rounding, "what rounding down means")
    down, up = p.part(rounding, 0), p.part(rounding, 1)
    parts = p.equal(
        plus(times(h, floor_width), remainder), d, reason="this is how the remainder is defined"
    )
    low = p.order(at_most(0, remainder), (h, down), reason="the first inequality, times $h$")
    high = p.order(less(remainder, h), (h, up), reason="the second inequality, times $h$")
    return p.both(parts, low, high)


def twin_remainder(rng: np.random.Generator) -> list[Trial]:
    """With columns dealt out to heads of equal width, these many are left over."""
    trials = []
    for m, n in any_widths(rng):
        left = m - sum(len(range(k, m, n)[: m // n]) for k in range(n))
        trials.append(agree(left, m % n, f"d={m}, h={n}"))
        trials.append(bounded(left, n - 1, f"d={m}, h={n}"))
    return trials


def remainder_mutations() -> tuple[Mutation, ...]:
    short = equal(minus(times(h, floor_width), remainder), d)
    return (Mutation("the remainder is taken away in place of added", statement=short),)


REMAINDER = Claim(
    id="head-width/remainder",
    title="What integer division loses",
    source=Source(
        DERIVATIONS, ("A06",),
        r"$h \cdot (d_{\text{model}}/h) = d_{\text{model}}$ as if nothing could be left over.",
    ),
    statement=both(
        equal(plus(times(h, floor_width), remainder), d),
        at_most(0, remainder),
        less(remainder, h),
    ),
    proof=prove_remainder,
    twin=Twin("columns that are left over when they are dealt out", twin_remainder),
    mutations=remainder_mutations,
    expected=Verdict.PROVED,
    remark=r"With $d_{\text{model}} = 100$ and $h = 8$ the heads cover 96 columns and 4 are lost.",
)  # fmt: skip


def prove_remainder_iff(p: Prover) -> Theorem:
    def divisible(nothing: Theorem) -> Theorem:
        same = p.calc(
            floor_width,
            (over(minus(d, remainder), h), "the definition of the remainder"),
            (quotient, "as supposed", (over(-1, h), nothing)),
        )
        floor = infer("integer", [], p.term(floor_width))
        return p.note(p.rewrite(same, floor, T.isint), "the quotient is a floor, an integer")

    def nothing_left(_divisible: Theorem) -> Theorem:
        return p.calc(
            remainder,
            (minus(d, times(h, floor_width)), "the definition of the remainder"),
            (minus(d, times(h, quotient)), "an integer is its own floor"),
            (0, "$h$ cancels"),
        )

    return p.both(
        p.suppose(equal(remainder, 0), divisible, "suppose that there is no remainder"),
        p.suppose(
            divides(h, d), nothing_left, "conversely, suppose that the quotient is an integer"
        ),
    )


def twin_remainder_iff(rng: np.random.Generator) -> list[Trial]:
    return [agree(m % n == 0, hands_out_a_width(m, n), f"d={m}, h={n}") for m, n in any_widths(rng)]


REMAINDER_IFF = Claim(
    id="head-width/remainder-iff",
    title="When there is no remainder",
    source=Source(
        DERIVATIONS, ("A01", "A06"),
        r"$d_k = d_v = d_{\text{model}}/h$; code has to test whether that is possible.",
    ),
    statement=iff(equal(remainder, 0), divides(h, d)),
    proof=prove_remainder_iff,
    twin=Twin("remainders against the widths that are handed out", twin_remainder_iff),
    expected=Verdict.PROVED,
)  # fmt: skip

CLAIMS = (
    BASE,
    WHOLE,
    EXISTS_IFF,
    IN_RANGE,
    DISTINCT,
    REACHED,
    COLUMNS,
    WIDTH_IFF,
    OVER_RATIONALS,
    FLOOR,
    FLOOR_IFF,
    REMAINDER,
    REMAINDER_IFF,
)

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
