r"""Expansion: what the factor of the up-projection costs, and what it can separate.

The interview note expands by the factor 4, calls the number empirical, and gives two reasons for
an expansion: it makes information easier to separate, and it makes up for what ReLU loses.

A set of points with labels (positive or negative numbers) is linearly separable if some affine
function has the sign of the label at every point.  Points are rows of `x`, their images under the
up-projection have the components ``sum_a W[j, a] x[i, a] + b[j]``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import sympy as sp

from derive.claim import Claim, Correction, Example, Mutation
from derive.claims._relu import half, of, source
from derive.convert import Converter
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.kernel.terms import Lam, Term
from derive.language import (
    both,
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
from derive.result import Verdict
from derive.twin import Trial, Twin, differs, sampled
from derive.twin import equal as agree

ORDER = 59
TOPIC = "expansion"

d, f, n, N = dims("d_model d_ff n N")
a, j, i, s = index("a", d), index("j", f), index("i", N), index("s", n)
W, b = tensor("W", f, d), tensor("b", f)
x, y = tensor("x", N, d), tensor("y", N)
w, u = tensor("w", f), tensor("u", d)
k, c = real("k"), real("c")
r, q, larger = real("r"), real("q"), real("t")

# ---------------------------------------------------------------------- what is empirical

DOWN = Claim(
    id="expansion/empirical-factor",
    title="The factor 4 is empirical",
    source=source(
        "B31",
        "The dimension is raised to $4d$ and reduced again, the note says to $4d$; the 4 is a "
        "result of experience.",
    ),
    reason="Experience is not proved. The reduction ends at $d$, not at $4d$: only then can its "
    "result be added to the input; the layer's shapes are claims of their own.",
    expected=Verdict.NOT_MATHEMATICAL,
)

BALANCE = Claim(
    id="expansion/balance",
    title="A good balance",
    source=source(
        "B34", "The factor 4 balances computing cost, number of parameters and expressive power."
    ),
    reason="Nothing is said of how the three are weighed. What the factor costs is known exactly, "
    "and is what other claims say; it grows evenly with the factor and has no optimum.",
    expected=Verdict.NOT_MATHEMATICAL,
)

# ---------------------------------------------------------------------- what the factor costs

expanded = equal(f, times(r, d))
FACTOR = "the hidden width is $r$ times that of the model"
weights = plus(total(1, j, a), total(1, a, j))


def prove_weights(p: Prover) -> Theorem:
    def within(width: Theorem) -> Theorem:
        return p.calc(
            weights,
            (times(2, f, d), "each matrix has one entry for every pair of indices"),
            (times(2, r, power(d, 2)), FACTOR, width),
        )

    return p.suppose(expanded, within, FACTOR)


def twin_weights(rng: np.random.Generator) -> Iterator[Trial]:
    from numeric import FeedForwardWeights

    for width, factor in ((3, 4), (5, 2), (4, 1), (1, 7)):
        layer = FeedForwardWeights.init(rng, width, factor * width)
        stored = layer.w_1.size + layer.w_2.size
        yield agree(stored, 2 * factor * width**2, f"d={width}, r={factor}")


def weight_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "one matrix is counted in place of both",
            statement=implies(expanded, equal(weights, times(r, power(d, 2)))),
            counterexample=Example({d: 1, f: 1, r: 1}),
        ),
        Mutation(
            "the factor enters with its square",
            statement=implies(expanded, equal(weights, times(2, power(r, 2), power(d, 2)))),
            counterexample=Example({d: 1, f: 2, r: 2}),
        ),
    )


WEIGHTS = Claim(
    id="expansion/weights",
    title="Weights of a layer with expansion factor $r$",
    source=source(
        "B34",
        "The factor 4 balances cost, size and expressive power. Beyond the note: the number of "
        "weights for any factor.",
    ),
    statement=implies(expanded, equal(weights, times(2, r, power(d, 2)))),
    proof=prove_weights,
    twin=Twin("stored weights of built layers", twin_weights),
    mutations=weight_mutations,
    expected=Verdict.PROVED,
    remark=r"$8d_{\text{model}}^2$ for $r=4$; biases add $(r+1)\,d_{\text{model}}$.",
)

#: for every token and every output: products, sums of them, and the bias
into_hidden = total(plus(d, minus(d, 1), 1), s, j)
into_output = total(plus(f, minus(f, 1), 1), s, a)
operations = plus(into_hidden, into_output)


def prove_operations(p: Prover) -> Theorem:
    def within(width: Theorem) -> Theorem:
        return p.calc(
            operations,
            (
                plus(times(2, n, f, d), times(2, n, d, f)),
                "every output takes two operations for each of its inputs, with the bias",
            ),
            (times(4, n, r, power(d, 2)), FACTOR, width),
        )

    return p.suppose(expanded, within, FACTOR)


def counted(columns: int, weight: np.ndarray) -> int:
    """Operations of one token, counted one by one as a loop does them."""
    count = 0
    for _ in range(weight.shape[1]):
        for position in range(columns):
            count += 1 + (position > 0)  # a product, and a sum from the second one on
        count += 1  # the bias
    return count


def twin_operations(rng: np.random.Generator) -> Iterator[Trial]:
    from numeric import FeedForwardWeights

    for tokens, width, factor in ((2, 3, 4), (3, 4, 2), (1, 1, 5)):
        layer = FeedForwardWeights.init(rng, width, factor * width)
        one = counted(width, layer.w_1) + counted(factor * width, layer.w_2)
        yield agree(tokens * one, 4 * tokens * factor * width**2, f"d={width}, r={factor}")


def operation_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "products are counted, and no sums",
            statement=implies(expanded, equal(operations, times(2, n, r, power(d, 2)))),
            counterexample=Example({d: 1, f: 1, n: 1, r: 1}),
        ),
    )


OPERATIONS = Claim(
    id="expansion/operations",
    title="Operations of a layer with expansion factor $r$",
    source=source(
        "B34",
        "The factor 4 balances cost, size and expressive power. Beyond the note: the "
        "multiplications and additions for $n$ tokens and any factor, those of ReLU apart.",
    ),
    statement=implies(expanded, equal(operations, times(4, n, r, power(d, 2)))),
    proof=prove_operations,
    twin=Twin("operations of loops over the weights of built layers", twin_operations),
    mutations=operation_mutations,
    expected=Verdict.PROVED,
)

more = less(r, larger)
dearer = both(
    less(times(2, r, power(d, 2)), times(2, larger, power(d, 2))),
    less(times(4, n, r, power(d, 2)), times(4, n, larger, power(d, 2))),
)


def prove_dearer(p: Prover) -> Theorem:
    def within(above: Theorem) -> Theorem:
        return p.both(
            p.order(
                dearer.args[0],
                (times(2, power(d, 2)), above),
                reason=r"times $2d_{\text{model}}^2$",
            ),
            p.order(
                dearer.args[1],
                (times(4, n, power(d, 2)), above),
                reason=r"times $4nd_{\text{model}}^2$",
            ),
        )

    return p.suppose(more, within, "of two factors let $r$ be the smaller one")


def twin_dearer(rng: np.random.Generator) -> Iterator[Trial]:
    from numeric import FeedForwardWeights

    sizes = [sum(m.size for m in (layer.w_1, layer.w_2)) for layer in (
        FeedForwardWeights.init(rng, 3, 3 * factor) for factor in range(1, 9))]  # fmt: skip
    yield agree(np.diff(sizes), np.full(7, 2 * 3**2), "every step of the factor costs the same")


DEARER = Claim(
    id="expansion/no-optimum-of-cost",
    title="The cost alone singles out no factor",
    source=source(
        "B34",
        "The factor 4 balances cost, size and expressive power. Beyond the note: both costs grow "
        "evenly with the factor.",
    ),
    statement=implies(more, dearer),
    proof=prove_dearer,
    twin=Twin("weights of layers with growing factor", twin_dearer),
    expected=Verdict.PROVED,
)

# ---------------------------------------------------------------------- separable points

SEPARATES = "Raising the dimension makes information easier to separate."


def image(point: Any) -> Callable[[Any], Any]:
    """The components of a point after the up-projection."""
    return lambda unit: plus(total(times(W[unit, a], x[point, a]), a), b[unit])


def after(point: Any) -> Any:
    """An affine function of the image of a point."""
    return plus(total(times(w[j], image(point)(j)), j), c)


def before(point: Any) -> Any:
    """An affine function of a point."""
    return plus(total(times(u[a], x[point, a]), a), k)


separable_after = exists(w, exists(c, forall(i, less(0, times(y[i], after(i))))))
separable_before = exists(u, exists(k, forall(i, less(0, times(y[i], before(i))))))

#: the affine function of the point that a readout of the image amounts to
pulled_back = total(times(w[j], W[j, a]), j)
offset = plus(total(times(w[j], b[j]), j), c)


def prove_pulled_back(p: Prover) -> Theorem:
    some = p.formula(separable_before)

    def readout(signs: Theorem) -> Theorem:
        p.note(signs, "let $w$ and $c$ be the weights and the constant that separate the images")
        same = p.equal(
            after(i), plus(total(times(pulled_back, x[i, a]), a), offset),
            reason="exchange the sums: this is an affine function of the point",
        )  # fmt: skip
        at_point = p.at(signs, i)
        moved = p.order(
            less(0, times(y[i], same_form(i))), (1, at_point), (times(-1, y[i]), same),
            reason="it has the signs of the labels",
        )  # fmt: skip
        every = p.for_all(moved, i)
        found = p.exists(T.instantiate(some.children[0], (PULLED_BACK,)), offset, every)
        return p.exists(some, PULLED_BACK, found)

    def within(case: Theorem) -> Theorem:
        return p.choose(case, w, lambda inner: p.choose(inner, c, readout))

    return p.suppose(separable_after, within, "let the images be separable")


def same_form(point: Any) -> Any:
    return plus(total(times(pulled_back, x[point, a]), a), offset)


def entries(entry: Any, index: Any) -> Lam:
    """The vector with these entries."""
    converter = Converter()
    return Lam(1, T.abstract(converter.term(entry), (converter.term(index),)))


PULLED_BACK = entries(pulled_back, a)

l = index("l", N)
distinct = forall([i, l], implies(forall(a, equal(x[i, a], x[l, a])), equal(i, l)))
CORNERS, PARITY = [[0, 0], [0, 1], [1, 0], [1, 1]], [-1, 1, 1, -1]


def no_readout(p: Prover, goal: Term, chosen: tuple[Any, ...] = (W, b, w, c)) -> Theorem:
    """No affine function has the signs of the exclusive or: the four conditions add up to 0 < 0."""
    premise, separated = goal.children[0].children

    def signs(inner: Theorem) -> Theorem:
        four = [p.at(inner, corner) for corner in range(4)]
        return p.order(less(0, 0), *((1, condition) for condition in four))

    def readout(inner: Theorem, left: tuple[Any, ...]) -> Theorem:
        if not left:
            return signs(inner)
        return p.choose(inner, left[0], lambda at: readout(at, left[1:]))

    some = p.assume(separated)
    below = readout(some, chosen)
    absurd = infer("contradiction", [below, p.trivial(negation(less(0, 0)))], T.negate(separated))
    return infer("not-implies", [p.trivial(premise), infer("deny", [absurd], separated)])


def twin_separates(
    rng: np.random.Generator, act: Callable[[np.ndarray], np.ndarray] = of
) -> Iterator[Trial]:
    """Images of a parallelogram are one again; a readout of them is one of the points."""
    from numeric import linear

    corners = np.array(CORNERS, dtype=float)
    for width in (1, 2, 8):
        matrix, shift = rng.standard_normal((2, width)), rng.standard_normal(width)
        images = linear(corners, matrix, shift)
        yield agree(images[0] + images[3], images[1] + images[2], f"parallelogram, d_ff={width}")
    points, labels = rng.standard_normal((20, 3)), rng.choice([-1.0, 1.0], 20)
    matrix, shift, readout = (rng.standard_normal(shape) for shape in ((3, 7), 7, 7))
    lifted = linear(points, matrix, shift) @ readout + 0.3
    pulled = points @ (matrix @ readout) + (shift @ readout + 0.3)
    yield agree(labels * lifted, labels * pulled, "the same margins at every point")
    bent = act(linear(corners, np.ones((2, 2)), np.array([0.0, -1.0]))) @ np.array([1.0, -2.0])
    yield agree(np.sign(bent - 0.5), PARITY, "with ReLU between, two units are enough")


def separation_mutations() -> tuple[Mutation, ...]:
    lifted = {W: [[1, 0], [0, 1], [1, 1]], b: [0, 0, -1]}
    corners = {d: 2, f: 3, N: 4, x: CORNERS, y: PARITY}
    return (
        Mutation(
            "any linear lift to more dimensions separates the exclusive or",
            statement=implies(both(less(d, f), distinct), separable_after),
            counterexample=Example({**corners, **lifted}, partial(no_readout, chosen=(w, c))),
            twin=Twin(
                "the exclusive or after a lift without ReLU",
                lambda rng: twin_separates(rng, act=lambda v: v),
            ),
        ),
    )


SEPARATION = Claim(
    id="expansion/separates",
    title="An up-projection by itself makes any points separable",
    source=source(
        "B32",
        f"{SEPARATES} Read here for the affine map alone: different points can be separated after "
        "a suitable up-projection, whatever their labels are.",
    ),
    statement=implies(
        both(less(d, f), distinct), exists(W, exists(b, separable_after))
    ),
    counterexample=Example({d: 2, f: 3, N: 4, x: CORNERS, y: PARITY}, no_readout),
    correction=Correction(implies(separable_after, separable_before), prove_pulled_back),
    twin=Twin("images of parallelograms, and margins before and after", twin_separates),
    mutations=separation_mutations,
    expected=Verdict.REFUTED,
    remark="The example is the exclusive or. What is separable after an affine map was separable "
           "before it; nor is the map a projection in the sense of linear algebra.",
)  # fmt: skip

L = tensor("L", d, f)
e = index("e", d)
undone = forall([a, e], equal(total(times(L[a, j], W[j, e]), j), sp.KroneckerDelta(a, e)))
lifted_back = total(times(u[a], L[a, j]), a)
back_offset = minus(k, total(times(lifted_back, b[j]), j))


def prove_kept(p: Prover) -> Theorem:
    some = p.formula(separable_after)

    def readout(inverse: Theorem, signs: Theorem) -> Theorem:
        p.note(signs, "let $u$ and $k$ be the weights and the constant that separate the points")
        lifted = plus(total(times(lifted_back, image(i)(j)), j), back_offset)
        same = p.calc(
            lifted,
            (
                plus(total(times(u[a], total(times(L[a, j], W[j, e]), j), x[i, e]), a, e), k),
                "multiply out, and exchange the sums; the constants cancel",
            ),
            (before(i), "$L$ undoes $W$", inverse),
        )
        moved = p.order(
            less(0, times(y[i], lifted)), (1, p.at(signs, i)), (y[i], same),
            reason="the readout $u L$ of the image has the signs of the labels",
        )  # fmt: skip
        values = entries(lifted_back, j)
        found = p.exists(
            T.instantiate(some.children[0], (values,)), back_offset, p.for_all(moved, i)
        )
        return p.exists(some, values, found)

    def within(inverse: Theorem) -> Theorem:
        def given(case: Theorem) -> Theorem:
            return p.choose(
                case, u, lambda inner: p.choose(inner, k, lambda signs: readout(inverse, signs))
            )

        return p.suppose(separable_before, given, "let the points be separable")

    return p.suppose(undone, within, "let some matrix $L$ undo $W$, so that no two points meet")


def twin_kept(rng: np.random.Generator) -> Iterator[Trial]:
    from numeric import linear

    for width, hidden in ((3, 5), (2, 2), (1, 4)):
        matrix, shift = rng.standard_normal((width, hidden)), rng.standard_normal(hidden)
        readout, points = rng.standard_normal(width), rng.standard_normal((6, width))
        lifted = np.linalg.pinv(matrix) @ readout
        margins = linear(points, matrix, shift) @ lifted - shift @ lifted
        yield agree(margins, points @ readout, f"d={width}, d_ff={hidden}", tolerance=1e-9)


KEPT = Claim(
    id="expansion/keeps-separability",
    title="Separable points stay separable under an up-projection that can be undone",
    source=source(
        "B32",
        f"{SEPARATES} Beyond the note: the affine map alone leaves separability as it is.",
    ),
    statement=implies(undone, implies(separable_before, separable_after)),
    proof=prove_kept,
    twin=Twin("margins after an up-projection that has a left inverse", twin_kept),
    expected=Verdict.PROVED,
)

# ---------------------------------------------------------------------- with ReLU

first, second = real("x1"), real("x2")


def binary(bit: Any) -> Any:
    return either(equal(bit, 0), equal(bit, 1))


bits = both(binary(first), binary(second))
both_units = minus(
    relu(plus(first, second)), times(2, relu(minus(plus(first, second), 1)))
)  # fmt: skip
exclusive_or = equal(both_units, minus(plus(first, second), times(2, first, second)))


def prove_exclusive_or(p: Prover) -> Theorem:
    goal = p.formula(exclusive_or)

    def with_values(values: dict[Term, Term]) -> Callable[[Term, Term], Term]:
        return lambda symbol, value: T.substitute(goal, {**values, symbol: value})

    def at(places: dict[Term, Term], conditions: list[Theorem]) -> Theorem:
        """The statement at 0 or 1, moved to the symbols that are equal to it."""
        theorem = p.trivial(T.substitute(goal, places))
        left = dict(places)
        for symbol, condition in zip(places, conditions, strict=True):
            back = p.equal(left.pop(symbol), symbol, (-1, condition), show=False)
            template = partial(with_values(dict(left)), symbol)
            theorem = p.rewrite(back, theorem, template)
        return p.note(theorem, "by evaluation")

    def outer(case: Theorem) -> Theorem:
        p.note(case, "one case of the first bit")
        return p.cases(p.part(known, 1), *(lambda inner: combined(case, inner),) * 2)

    def combined(one: Theorem, other: Theorem) -> Theorem:
        p.note(other, "and one of the second")
        places = {t.conclusion.children[0]: t.conclusion.children[1] for t in (one, other)}
        return at(places, [one, other])

    with p.supposing(bits) as known:
        p.note(known, "two bits")
        proved = p.cases(p.part(known, 0), outer, outer)
    return p.discharge(proved, known)


def twin_exclusive_or(rng: np.random.Generator, second: float = -2.0) -> Iterator[Trial]:
    """`second` is the weight of the second unit in the output."""
    from numeric import FeedForwardWeights, feed_forward

    down = np.array([[1.0, 0.0], [second, 0.0]])
    layer = FeedForwardWeights(np.ones((2, 2)), down, np.array([0.0, -1.0]), np.zeros(2))
    output = feed_forward(np.array(CORNERS, dtype=float), layer)[:, 0]
    yield agree(output, [0, 1, 1, 0], "a layer of the model's own width")


def exclusive_or_mutations() -> tuple[Mutation, ...]:
    added = plus(first, second)
    once = minus(relu(added), relu(minus(added, 1)))
    return (
        Mutation(
            "the second unit is taken away once, not twice",
            statement=implies(bits, equal(once, exclusive_or.args[1])),
            counterexample=Example({first: 1, second: 1}),
            twin=Twin(
                "a layer whose second unit has the weight $-1$",
                lambda rng: twin_exclusive_or(rng, second=-1.0),
            ),
        ),
        Mutation(
            "the numbers need not be bits",
            statement=exclusive_or,
            counterexample=Example({first: 2, second: 0}),
        ),
    )


EXCLUSIVE_OR = Claim(
    id="expansion/exclusive-or",
    title="With ReLU the exclusive or is separable without any expansion",
    source=source(
        "B32",
        f"{SEPARATES} Beyond the note: two units with ReLU separate points in the plane that no "
        "affine function separates, so that the activation does it and not the dimension.",
    ),
    statement=implies(bits, exclusive_or),
    proof=prove_exclusive_or,
    twin=Twin("a feed-forward layer with two inputs and two units at the four corners",
              twin_exclusive_or),
    mutations=exclusive_or_mutations,
    expected=Verdict.PROVED,
)  # fmt: skip

# ---------------------------------------------------------------------- which factor makes up

COMPENSATES = "The dimension is raised before the activation to make up for the half that is lost."
left_over = equal(times(minus(1, q), f), d)
LEFT = "let $q$ be the share that is lost, and as many units be left as the model has components"


def prove_factor_two(p: Prover) -> Theorem:
    def within(case: Theorem) -> Theorem:
        share, left = p.part(case, 0), p.part(case, 1)
        return p.calc(
            f,
            (
                times(2, minus(1, q), f), r"$q=\frac12$", (times(2, f), share),
            ),
            (times(2, d), "what is left", (2, left)),
        )  # fmt: skip

    return p.suppose(both(equal(q, half), left_over), within, LEFT)


def twin_factor(rng: np.random.Generator) -> Iterator[Trial]:
    """Mean number of active units of random layers of width 2 d and 4 d."""
    width, tokens = 8, 4_000
    for factor, lost in ((2, 0.5), (4, 0.5)):
        values = of(rng.standard_normal((tokens, factor * width)))
        active = (values > 0).sum(axis=1)
        spread = (factor * width / 4 / tokens) ** 0.5
        what = f"mean number of active units, factor {factor}"
        yield sampled(active.mean(), (1 - lost) * factor * width, spread, what)
    yield differs(4 * width * 0.5, width, by=width, what="factor 4 leaves twice as many")


def factor_two_mutations() -> tuple[Mutation, ...]:
    def in_every_layer(rng: np.random.Generator) -> list[Trial]:
        width, tokens = 8, 4_000
        active = (of(rng.standard_normal((tokens, 2 * width))) > 0).sum(axis=1)
        enough = np.mean(active >= width)
        return [sampled(enough, 1.0, 0.5 / tokens**0.5, "tokens with enough active units")]

    premise = both(equal(q, half), left_over)
    return (
        Mutation(
            "with the factor 2 there are enough active units almost always",
            twin=Twin("whether as many units are active as there are components", in_every_layer),
        ),
        Mutation(
            "a loss of one half belongs to the factor 3",
            statement=implies(premise, equal(f, times(3, d))),
            counterexample=Example({d: 1, f: 2, q: half}),
        ),
        Mutation(
            "nothing is made up for",
            statement=implies(premise, equal(f, d)),
            counterexample=Example({d: 1, f: 2, q: half}),
        ),
    )


FACTOR_TWO = Claim(
    id="expansion/factor-for-half",
    title="For a loss of one half the factor is 4",
    source=source(
        "B36",
        f"{COMPENSATES} The factor that is explained by this is 4.",
    ),
    statement=implies(both(equal(q, half), left_over), equal(f, times(4, d))),
    counterexample=Example({d: 1, f: 2, q: half}),
    correction=Correction(
        implies(both(equal(q, half), left_over), equal(f, times(2, d))), prove_factor_two
    ),
    twin=Twin("active units of layers with Gaussian pre-activations", twin_factor),
    mutations=factor_two_mutations,
    expected=Verdict.REFUTED,
    remark="If half of the units are active on average, a layer of twice the width has as many "
    "active units as the model has components.",
)


def prove_factor_four(p: Prover) -> Theorem:
    def within(left: Theorem) -> Theorem:
        there = p.suppose(
            equal(f, times(4, d)),
            lambda four: p.equal(
                q, sp.Rational(3, 4),
                (over(-1, times(4, d)), left), (over(minus(1, q), times(4, d)), four),
                reason=r"then $(1-q)\cdot4=1$",
            ),
            "suppose that the factor is 4",
        )  # fmt: skip
        back = p.suppose(
            equal(q, sp.Rational(3, 4)),
            lambda share: p.equal(
                f, times(4, d), (4, left), (times(4, f), share), reason="a quarter is left"
            ),
            "conversely, suppose that three quarters are lost",
        )
        return p.both(there, back)

    return p.suppose(left_over, within, LEFT)


def factor_four_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "the factor 4 belongs to a loss of one half",
            statement=implies(left_over, iff(equal(f, times(4, d)), equal(q, half))),
            counterexample=Example({d: 1, f: 2, q: half}),
        ),
    )


FACTOR_FOUR = Claim(
    id="expansion/factor-four",
    title="The factor 4 belongs to a loss of three quarters",
    source=source(
        "B36",
        f"{COMPENSATES} Beyond the note: the loss for which the same argument gives 4.",
    ),
    statement=implies(left_over, iff(equal(f, times(4, d)), equal(q, sp.Rational(3, 4)))),
    proof=prove_factor_four,
    twin=Twin("active units of layers with Gaussian pre-activations", twin_factor),
    mutations=factor_four_mutations,
    expected=Verdict.PROVED,
)

CLAIMS = (
    DOWN, SEPARATION, KEPT, EXCLUSIVE_OR, BALANCE, WEIGHTS, OPERATIONS, DEARER,
    FACTOR_TWO, FACTOR_FOUR,
)  # fmt: skip

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
