r"""Injectivity: how many units with ReLU it takes to lose nothing.

The interview note says that ReLU loses about half of the information and that the dimension is
raised to four times the width to make up for that.  Read as a question about a layer
``x -> relu(W x + b)``: can its input be recovered from its output?  On all of R^d that takes twice
as many units as there are components, and that many are enough; on bounded inputs it takes no
expansion at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import sympy as sp

from derive.claim import Claim, Correction, Example, Mutation
from derive.claims import _injectivity as far_out
from derive.claims._relu import absolute_at_least, by_sign, neg, of, size, source
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.kernel.terms import Lam, Term
from derive.language import (
    at_most,
    both,
    dims,
    equal,
    exists,
    forall,
    implies,
    index,
    minus,
    plus,
    real,
    relu,
    tensor,
    times,
    total,
)
from derive.prover import Prover
from derive.result import Verdict
from derive.twin import Trial, Twin, differs
from derive.twin import equal as agree

ORDER = 57
TOPIC = "injectivity"

d, f = dims("d_model d_ff")
a, c, j = index("a", d), index("c", d), index("j", f)
W, b = tensor("W", f, d), tensor("b", f)
x, y = tensor("x", d), tensor("y", d)
t, beta = real("t"), real("beta")

LOST = "ReLU loses about half of the information; by which measure is not said."
MADE_UP = "The dimension is raised to four times the width to make up for what ReLU loses."


def unit(point: Any) -> Any:
    """Unit j of the layer at a point."""
    return relu(plus(total(times(W[j, a], point[a]), a), b[j]))


same_outputs = forall(j, equal(unit(x), unit(y)))
injective = forall(x, forall(y, implies(same_outputs, forall(c, equal(x[c], y[c])))))


def parts(p: Prover) -> Theorem:
    """ReLU(t) - ReLU(-t) = t for every t."""
    whole = equal(minus(relu(t), relu(neg(t))), t)
    theorem = by_sign(
        p, t, lambda _: p.equal(*whole.args, reason="one of the two terms is 0")
    )  # fmt: skip
    return p.for_all(theorem, t)


def put_in(p: Prover, equation: Theorem) -> Theorem:
    """From a = b: ReLU(a) = ReLU(b)."""
    left = T.fn("max", T.ZERO, equation.conclusion.children[0])
    itself = p.equal(left, left, show=False)
    return p.rewrite(equation, itself, lambda hole: T.eq(left, T.fn("max", T.ZERO, hole)))


# ---------------------------------------------------------------------- two units for a component

V = tensor("V", 2 * d, d)
stacked = both(
    forall([c, a], equal(V[c, a], sp.KroneckerDelta(c, a))),
    forall([c, a], equal(V[d + c, a], neg(sp.KroneckerDelta(c, a)))),
)


def hidden(row: Any) -> Any:
    return relu(total(times(V[row, a], x[a]), a))


def prove_read_back(p: Prover) -> Theorem:
    def within(matrix: Theorem) -> Theorem:
        whole = parts(p)
        rows = (c, plus(d, c))
        sums = [
            p.equal(
                total(times(V[row, a], x[a]), a), value, p.part(matrix, n),
                reason="only the term with $a=c$ remains",
            )
            for n, (row, value) in enumerate(zip(rows, (x[c], neg(x[c])), strict=True))
        ]  # fmt: skip
        upper, lower = (put_in(p, equation) for equation in sums)
        return p.for_all(
            p.equal(
                minus(hidden(rows[0]), hidden(rows[1])), x[c],
                (1, upper), (-1, lower), (1, p.at(whole, x[c])),
                reason="the two units of the component hold its two parts",
            ),
            c,
        )  # fmt: skip

    return p.suppose(stacked, within, "an identity matrix above its negative")


def twin_read_back(rng: np.random.Generator, sign: int = -1) -> Iterator[Trial]:
    from numeric import FeedForwardWeights, feed_forward

    for width in (1, 2, 5):
        eye = np.eye(width)
        layer = FeedForwardWeights(np.hstack([eye, -eye]), np.vstack([eye, sign * eye]))
        points = rng.standard_normal((4, width)) * 10.0 ** rng.integers(-3, 4, (4, width))
        yield agree(feed_forward(points, layer), points, f"d={width}")


def read_back_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "the two units are added, not taken from one another",
            statement=implies(stacked, forall(c, equal(plus(hidden(c), hidden(plus(d, c))), x[c]))),
            counterexample=Example({d: 1, V: [[1], [-1]], x: [-1]}),
            twin=Twin(
                "layers of twice the width that add both parts",
                lambda rng: twin_read_back(rng, sign=1),
            ),
        ),
    )


READ_BACK = Claim(
    id="injectivity/two-units-each",
    title="With twice the width nothing is lost",
    source=source(
        "B35 B36",
        f"{LOST} {MADE_UP} Beyond the note: with twice the width, and suitable weights, the input "
        "can be read off the output.",
    ),
    statement=implies(stacked, forall(c, equal(minus(hidden(c), hidden(plus(d, c))), x[c]))),
    proof=prove_read_back,
    twin=Twin("feed-forward layers of twice the width that are the identity", twin_read_back),
    mutations=read_back_mutations,
    expected=Verdict.PROVED,
)

# ---------------------------------------------------------------------- four times


def one_component(p: Prover, goal: Term) -> Theorem:
    """The example, units x and -x, is injective, and 4 <= 2 is false."""
    premise, enough = goal.children[0].children
    inner = T.instantiate(T.instantiate(premise.children[0], ("x",)).children[0], ("y",))
    outputs, conclusion = inner.children
    whole = parts(p)
    with p.supposing(outputs) as case:
        first, second = T.apply("x", T.ZERO), T.apply("y", T.ZERO)
        same = p.equal(
            first, second, (1, p.at(case, 0)), (-1, p.at(case, 1)),
            (-1, p.at(whole, first)), (1, p.at(whole, second)), show=False,
        )  # fmt: skip
        theorem = p.discharge(infer("finite-forall", [same], conclusion), case)
    for name in ("y", "x"):
        theorem = infer("generalise-tensor", [theorem], name, 1)
    return infer("not-implies", [theorem, p.trivial(T.negate(enough))])


def collision(
    rng: np.random.Generator, matrix: np.ndarray, shift: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Two inputs of one output, for fewer than 2 d rows: far out, on the side of fewer units."""
    direction = rng.standard_normal(matrix.shape[1])
    slopes = matrix @ direction
    if (slopes > 0).sum() >= matrix.shape[1]:
        direction, slopes = -direction, -slopes
    active = matrix[slopes > 0]
    step = np.linalg.svd(np.vstack([active, np.zeros(matrix.shape[1])]))[2][-1]
    off = slopes < 0
    reach = (np.abs(shift) + np.abs(matrix @ step))[off] / -slopes[off]
    far = (1 + np.max(reach, initial=0.0)) * direction
    return far, far + step


def twin_collision(rng: np.random.Generator) -> Iterator[Trial]:
    from numeric import linear

    for width in (1, 2, 3, 6):
        matrix = rng.standard_normal((2 * width - 1, width))
        shift = rng.standard_normal(2 * width - 1)
        pair = np.array(collision(rng, matrix, shift))
        outputs = of(linear(pair, matrix.T, shift))
        scale = max(1.0, float(np.abs(outputs).max()))
        yield agree(outputs[0] / scale, outputs[1] / scale, f"d={width}, 2d-1 units", 1e-12)
        yield differs(np.linalg.norm(pair[0] - pair[1]), 0.0, by=0.9, what="of two inputs")
        both_signs = np.vstack([np.eye(width), -np.eye(width)])
        held = of(linear(pair, both_signs.T))
        yield agree(held[:, :width] - held[:, width:], pair, f"d={width}, 2d units: recovered")


def number_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            "three units for every component are needed",
            statement=implies(injective, at_most(times(3, d), f)),
            counterexample=Example({d: 1, f: 2, W: [[1], [-1]], b: [0, 0]}, one_component),
        ),
    )


FOUR_TIMES = Claim(
    id="injectivity/four-times-needed",
    title="Four times the width is needed",
    source=source(
        "B35 B36",
        f"{LOST} {MADE_UP} Read here as: a layer that loses nothing has at least "
        r"$4d_{\text{model}}$ units.",
    ),
    statement=implies(injective, at_most(times(4, d), f)),
    counterexample=Example({d: 1, f: 2, W: [[1], [-1]], b: [0, 0]}, one_component),
    correction=Correction(
        implies(injective, at_most(times(2, d), f)), far_out.needs_two_for_each
    ),
    twin=Twin(
        "inputs that random layers with $2d-1$ units do not tell apart, recovered with $2d$ units",
        twin_collision,
    ),
    mutations=number_mutations,
    expected=Verdict.REFUTED,
    remark="Twice the width is needed, whatever weights and bias are, and is enough for suitable "
    "ones. For random weights the literature has larger factors.",
)  # fmt: skip

# ---------------------------------------------------------------------- twice is enough

wide_enough = at_most(times(2, d), f)
some_layer = exists(W, exists(b, injective))
_A, _J = T.var("a", "fin", T.var("d_model", "dim")), T.var("j", "fin", T.var("d_ff", "dim"))


def interleaved(row: Term, column: Term) -> Term:
    """Row 2 a takes component a, row 2 a + 1 its negative; the other rows are 0."""
    even = T.mul(T.num(2), column)
    return T.sub(T.delta(row, even), T.delta(row, T.add(even, T.ONE)))


def prove_enough(p: Prover) -> Theorem:
    goal = p.formula(some_layer)
    matrix = Lam(2, T.abstract(interleaved(_J, _A), (_J, _A)))
    no_bias: far_out.Vector = lambda _: T.ZERO  # noqa: E731
    claim = far_out.injective(interleaved, no_bias)
    with p.supposing(wide_enough) as wide:
        p.note(wide, "let there be two units for every component")
        whole = parts(p)
        inner = T.instantiate(T.instantiate(claim.children[0], ("x",)).children[0], ("y",))
        with p.supposing(inner.children[0]) as case:
            p.note(
                case,
                "let two inputs have the same outputs; units $2a$ and $2a+1$ take component $a$ "
                "and its negative",
            )
            upper = p.order(at_most(plus(times(2, c), 1), f), (1, wide))
            lower = p.order(at_most(plus(times(2, c), 2), f), (1, wide))
            for fact in (upper, lower):
                p.fact(fact)
            same = p.equal(
                x[c], y[c],
                (1, p.at(case, times(2, c))), (-1, p.at(case, plus(times(2, c), 1))),
                (-1, p.at(whole, x[c])), (1, p.at(whole, y[c])),
                reason="both parts of every component agree, and so does their difference",
            )  # fmt: skip
            theorem = p.discharge(p.for_all(same, c), case)
        for name in ("y", "x"):
            theorem = infer("generalise-tensor", [theorem], name, 1)
        with_matrix = T.instantiate(goal.children[0], (matrix,))
        found = p.exists(with_matrix, far_out.lam(no_bias, _J), theorem)
        found = p.note(p.exists(goal, matrix, found), "such a layer has an inverse")
        return p.discharge(found, wide)


def twin_enough(rng: np.random.Generator, missing: int = 0) -> Iterator[Trial]:
    """The last units in use may be missing."""
    from numeric import linear

    for width, units in ((1, 2), (3, 6), (3, 8), (2, 9)):
        matrix = np.zeros((units, width))
        matrix[0 : 2 * width : 2], matrix[1 : 2 * width : 2] = np.eye(width), -np.eye(width)
        matrix[2 * width - missing :] = 0
        points = rng.standard_normal((5, width))
        held = of(linear(points, matrix.T))
        yield agree(held[:, 0 : 2 * width : 2] - held[:, 1 : 2 * width : 2], points, f"d={width}")


def too_few(p: Prover, target: Term) -> Theorem:
    """One unit for the one component: an injective layer would have two."""
    premise, some_layer = target.children[0].children
    law = p.at(p.for_all(far_out.needs_two_for_each(p), d, f), 1, 1)
    some = p.assume(some_layer)
    wrong = p.choose(some, W, lambda at: p.choose(at, b, lambda layer: p.mp(law, layer)))
    right = p.trivial(T.negate(wrong.conclusion))
    none = infer("deny", [infer("contradiction", [wrong, right], T.negate(some_layer))], some_layer)
    return infer("not-implies", [p.trivial(premise), none])


def enough_mutations() -> tuple[Mutation, ...]:
    return (
        Mutation(
            r"$2\,d_{\text{model}} - 1$ units are enough",
            statement=implies(at_most(times(2, d), plus(f, 1)), some_layer),
            counterexample=Example({d: 1, f: 1}, too_few),
            twin=Twin(
                "inputs read off layers in which one unit is missing",
                lambda rng: twin_enough(rng, missing=1),
            ),
        ),
    )


ENOUGH = Claim(
    id="injectivity/twice-is-enough",
    title="Twice the width is enough, and so is every larger one",
    source=source(
        "B36", f"{MADE_UP} Beyond the note: from which factor on a layer can lose nothing."
    ),
    statement=implies(wide_enough, some_layer),
    proof=prove_enough,
    twin=Twin("inputs recovered from layers with two or more units each", twin_enough),
    mutations=enough_mutations,
    expected=Verdict.PROVED,
)

# ---------------------------------------------------------------------- bounded inputs

Q, R = tensor("W", d, d), tensor("L", d, d)
e = index("e", d)


def product(row: Any) -> Any:
    return total(times(Q[row, a], x[a]), a)


inverse = forall([e, a], equal(total(times(R[e, c], Q[c, a]), c), sp.KroneckerDelta(e, a)))
within_reach = forall(c, at_most(size(product(c)), beta))
recovered = total(times(R[e, c], minus(relu(plus(product(c), beta)), beta)), c)


def prove_bounded(p: Prover) -> Theorem:
    def within(case: Theorem) -> Theorem:
        undo, bound = p.part(case, 0), p.part(case, 1)
        p.fact(
            p.order(
                at_most(0, plus(product(c), beta)),
                (1, p.at(bound, c)), (1, absolute_at_least(p, product(c), -1)),
                reason="the bias lifts every unit to where it is active",
            )
        )  # fmt: skip
        kept = p.equal(
            minus(relu(plus(product(c), beta)), beta), product(c),
            reason="there ReLU keeps its argument",
        )  # fmt: skip
        one = p.equal(
            times(R[e, c], minus(relu(plus(product(c), beta)), beta)), times(R[e, c], product(c)),
            (R[e, c], kept), show=False,
        )  # fmt: skip
        every = p.sum_equal(one, c, reason="add over all units")
        undone = p.equal(
            total(times(R[e, c], product(c)), c), x[e], undo, reason="$L$ undoes $W$"
        )  # fmt: skip
        return p.for_all(p.equal(recovered, x[e], (1, every), (1, undone), show=False), e)

    return p.suppose(
        both(inverse, within_reach), within,
        r"let $W$ be invertible, and the bias $\beta$ as large as the largest product",
    )  # fmt: skip


def twin_bounded(rng: np.random.Generator, lifted: float = 1.0) -> Iterator[Trial]:
    """`lifted` is the factor of a bias that is large enough."""
    from numeric import linear

    for width in (1, 2, 5):
        points = rng.standard_normal((6, width))
        points *= (width / (points**2).sum(axis=1, keepdims=True)) ** 0.5
        matrix = rng.standard_normal((width, width)) + 3 * np.eye(width)
        shift = np.full(width, lifted * np.abs(matrix).sum() * width)
        held = of(linear(points, matrix.T, shift))
        back = np.linalg.solve(matrix, (held - shift).T).T
        yield agree(back, points, f"inputs of length sqrt(d), d={width}", tolerance=1e-9)
        no_shift = of(linear(np.vstack([points, -points]), matrix.T))
        lost = np.linalg.solve(matrix, no_shift.T).T[:6]
        yield differs(lost, points, by=1e-9, what="without the bias they are not recovered")


def bounded_mutations() -> tuple[Mutation, ...]:
    no_bias = {d: 1, Q: [[1]], R: [[1]], x: [-1], beta: 0}
    return (
        Mutation(
            "any bias will do",
            statement=implies(inverse, forall(e, equal(recovered, x[e]))),
            counterexample=Example(no_bias),
            twin=Twin(
                "inputs recovered from a square layer without a bias",
                lambda rng: twin_bounded(rng, lifted=0.0),
            ),
        ),
        Mutation(
            "the bias is not taken away again",
            statement=implies(
                both(inverse, within_reach),
                forall(e, equal(total(times(R[e, c], relu(plus(product(c), beta))), c), x[e])),
            ),
            counterexample=Example({**no_bias, beta: 1}),
        ),
    )


BOUNDED = Claim(
    id="injectivity/bounded-inputs",
    title="On bounded inputs nothing need be lost, without any expansion",
    source=source(
        "B35",
        f"{LOST} Beyond the note: the inputs of the layer are bounded, since they are normalised, "
        "and then a large bias keeps all units active.",
    ),
    statement=implies(both(inverse, within_reach), forall(e, equal(recovered, x[e]))),
    proof=prove_bounded,
    twin=Twin("inputs of a fixed length recovered from a square layer", twin_bounded),
    mutations=bounded_mutations,
    expected=Verdict.PROVED,
)

CLAIMS = (READ_BACK, FOUR_TIMES, ENOUGH, BOUNDED)

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
