"""No claim is proved from premises that contradict each other.

For every part of what a claim proves there are exact values, at small sizes, at which the kernel
proves everything that is supposed there: the search finds them, or a model is given here.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb
from typing import Any, Final

import pytest
from premises import (
    IDENTITY,
    SUM,
    Function,
    Model,
    hold_in,
    multiple,
    premises_of,
    searched,
)

from derive import auto
from derive.catalogue import all_claims
from derive.claim import Claim, Given
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.kernel.terms import KernelError, Term
from derive.language import (
    Differentiable,
    Expectation,
    VectorFunction,
    both,
    dim,
    equal,
    forall,
    iff,
    implies,
    index,
    less,
    random_tensor,
    real,
    tensor,
)
from derive.prover import Prover
from derive.result import Source, Verdict

CLAIMS = {c.id: c for c in all_claims() if c.statement is not None}


# ---------------------------------------------------------------------- closed forms


def one_over(l: Term) -> Term:
    return T.inv(T.add(l, T.ONE))


def next_number(l: Term) -> Term:
    return T.add(l, T.ONE)


def identity(*at: Term) -> Term:
    """The unit matrix, of every layer."""
    return T.delta(at[-2], at[-1])


def zero(*_: Term) -> Term:
    return T.ZERO


def by_layer(of: Any) -> Any:
    """of(l) in every entry of layer l."""
    return lambda l, *_: of(l)


def alternating(_: Term, a: Term) -> Term:
    """1 and -1 for the two features of every layer."""
    return T.sub(T.ONE, T.mul(T.num(2), a))


def on_diagonal(of: Any) -> Any:
    """of(l) times the unit matrix."""
    return lambda l, a, b: T.mul(of(l), T.delta(a, b))


#: x_(l+1) = x_l + x_l/(l + 1), that is x_l = (l + 1) x_0: every branch is a multiple of its input.
GROWING: Final = multiple(lambda at: one_over(at[0]))
STACK: Final = {"f": GROWING, "X": multiple(lambda at: next_number(at[0])), "loss": SUM}
#: A gradient g_l = g_(l+1) (l + 2)/(l + 1) behind Jacobians of the branches I/(l + 1).
GRADIENTS: Final = {
    "J": on_diagonal(one_over), "P": on_diagonal(next_number), "g": by_layer(one_over),
    "N": identity,
}  # fmt: skip
#: Branches that pass nothing on.
IDLE: Final = {"J": zero, "P": identity, "g": by_layer(lambda _: T.ONE), "L": 2}

#: Two independent signs, as one component each of a query and a key.
SIGNS: Final = Model(
    {"d_k": 1},
    outcomes={"q": [[1], [1], [-1], [-1]], "k": [[1], [-1], [1], [-1]]},
)
#: The same as numbers with probabilities.
COUNTED_SIGNS: Final = {
    "d_k": 1, "N": 4, "P": [Fraction(1, 4)] * 4,
    "q": [[1], [1], [-1], [-1]], "k": [[1], [-1], [1], [-1]],
}  # fmt: skip
#: Two independent masks, which are 0 or 1.
HALF: Final = T.num(Fraction(1, 2))
MASKS: Final = Model(
    {"m": 2, "rho": HALF},
    outcomes={"M": [[1, 1], [1, 0], [0, 1], [0, 0]]},
)
#: A number with fourth moment 3 and variance 1, as a normal one, in one component.
ROOT: Final = T.fn("sqrt", T.num(3))
NORMAL: Final = [[ROOT], [T.neg(ROOT)], [0], [0], [0], [0]]

#: A row with mean 0 and standard deviation 1, behind a loss that is the sum of its arguments.
ROW: Final = Model(
    {"d_model": 2, "x": [1, -1], "epsilon": 1},
    {"loss": SUM, "f": IDENTITY},
)
#: The same row in every layer.  The loss is 0, as no other gradient passes two features.
ROWS: Final = {
    "d_model": 2, "L": 2, "epsilon": 0, "p": zero,
    "mu": by_layer(lambda _: T.ZERO),
}  # fmt: skip


def tail(at_origin: Term) -> Model:
    """At the threshold 0: a density 1 of slope 0, and a tail of slope -1 with this value."""
    falling = Function(
        lambda _, size, x: T.sub(at_origin, T.instantiate(x, (T.ZERO,))), lambda *_: T.num(-1)
    )
    constant = Function(lambda *_: T.ONE, lambda *_: T.ZERO)
    return Model({"t": [0]}, {"Q": falling, "phi": constant})


def two_units(p: Prover, goal: Term) -> Theorem:
    """x -> (relu(x), relu(-x)) takes no two numbers to one pair, since x is the difference."""
    x, y = (T.apply(name, T.ZERO) for name in ("_X1", "_X2"))
    alike = T.instantiate(T.instantiate(goal.children[0], ("_X1",)).children[0], ("_X2",))
    premise, conclusion = alike.children

    def parts(t: Term) -> Theorem:
        return auto.prove(p, T.eq(t, T.sub(_relu(t), _relu(T.neg(t)))))

    with p.supposing(premise) as same:
        units = [p.at(same, T.num(k)) for k in (0, 1)]
        found = p.equal(x, y, (1, parts(x)), (-1, parts(y)), (1, units[0]), (-1, units[1]))
        every = infer("finite-forall", [found], conclusion)
    theorem = infer("discharge", [every], premise)
    for name in ("_X2", "_X1"):
        theorem = infer("generalise-tensor", [theorem], name, 1)
    return theorem


def _relu(t: Term) -> Term:
    return T.fn("max", T.ZERO, t)


def halves(b: Term) -> Term:
    """2^-b"""
    return T.product(b, T.num(Fraction(1, 2)))


def rising(a: Term, b: Term) -> Term:
    """The product of the (b + l + 1)/(2 (l + 1)) for l < a."""
    place = T.add(T.bound(0), T.ONE)
    factor = T.mul(T.add(T.lift(b, 1), place), T.inv(T.mul(T.num(2), place)))
    return T.product(a, factor)


def fair_units(a: Term, b: Term) -> Term:
    """The number of ways to choose a of a + b, over 2^(a + b)."""
    return T.mul(halves(b), rising(a, b))


def fair_units_add_up(p: Prover, goal: Term) -> Theorem:
    """The recursion for the closed form, unit by unit; for d = 0 there is one outcome only."""
    a, b = T.var("a", "nat"), T.var("b", "nat")
    one_more = lambda x: T.add(x, T.ONE)  # noqa: E731
    once = p.cancel(one_more(a))

    def unrolled(t: Term) -> Theorem:
        """The product over l < n + 1 in terms of that over l < n."""
        return infer("unroll", [], "prod", t.children[0].children[0], t.children[1])

    def ratio(a: Term) -> Term:
        return T.eq(
            T.mul(one_more(b), rising(a, one_more(b))), T.mul(T.add(a, b, T.ONE), rising(a, b))
        )

    base = p.equal(*ratio(T.ZERO).children)
    with p.supposing(ratio(a)) as known:
        two = [unrolled(rising(one_more(a), x)) for x in (one_more(b), b)]
        step = p.equal(*ratio(one_more(a)).children, *two, known, once)
    ratios = p.induction(base, p.discharge(step, known), a)
    (first, down, across, inner), total = goal.children[0].children, goal.children[1]
    more = unrolled(halves(one_more(b)))
    at_a = T.instantiate(down.children[-1], (a,))
    at_b = T.instantiate(across.children[-1], (b,))
    at_both = T.instantiate(T.instantiate(inner.children[-1], (a,)).children[-1], (b,))
    wide, narrow = (unrolled(rising(one_more(a), x)) for x in (one_more(b), b))
    laws = (
        p.equal(*first.children),
        p.for_all(p.equal(*at_a.children, unrolled(rising(one_more(a), T.ZERO)), once), a),
        p.for_all(p.equal(*at_b.children, more), b),
        p.for_all(p.equal(*at_both.children, more, wide, narrow, p.at(ratios, a), once), a, b),
    )
    return p.both(p.both(*laws), p.equal(*total.children))


MODELS: Final = {
    "head-symmetries/equal-heads-stay-equal": Model(
        {"theta": by_layer(next_number), "eta": lambda l: T.neg(one_over(l))}, {"F": IDENTITY}
    ),
    "head-symmetries/only-basis-changes": Model({"d_model": 1, "k": 1, "E": [[-1]], "_t0": [[0]]}),
    "head-symmetries/basis-of-queries": Model(
        {"M": identity, "N": identity, "d_k": 1, "d_model": 1, "h": 1, "n": 1, "m": 1}
    ),
    "operation-counts/layer-order-iff": Model(),
    "positional-encoding/rotation-only": (
        Model({"r": 1, "k": 0, "i": 0, "x": 1, "y": 0}),
        Model({"r": 1, "k": 0, "i": 0, "x": 0, "y": 1}),
    ),
    "positional-scores/pair-iff": Model({"r": 1, "i": 0, "u": 1, "v": 2, "w": -2, "z": 1}),
    # between two different pairs, which are the second and third variable of the statement
    "positional-scores/all-pairs-iff": Model({"r": 2, "B": zero, "_q1": 0, "_q2": 1}),
    "positional-scores/different-pairs": Model(
        {"r": 2, "i": 0, "j": 1, "u": 0, "v": 0, "w": 0, "z": 0}
    ),
    "feed-forward/equivariance": Model({"P": identity}),
    "feed-forward/equal-units": Model({"W_1": zero, "b_1": zero, "W_2": zero}),
    "feed-forward/interpolation": Model(
        {
            "x": lambda l: l,
            "y": lambda l: T.mul(T.num(Fraction(1, 2)), l, next_number(l)),
            "w": by_layer(lambda _: T.ONE),
        }
    ),
    "residual/jacobian": Model(functions={"f": IDENTITY}),
    "residual/gradient": Model(functions={"f": IDENTITY, "loss": SUM}),
    "residual/plus-one": Model(functions={"f": IDENTITY, "loss": SUM}),
    "residual/scalar": Model(functions={"f": IDENTITY, "loss": SUM}),
    "residual/recurrence": Model({"x": by_layer(next_number), "l": 1}, {"f": GROWING, "loss": SUM}),
    "residual/layers": Model(GRADIENTS),
    "residual/direct-path": Model(GRADIENTS),
    "residual/product-bounds": Model(IDLE),
    "residual/depth-free": Model({**IDLE, "rho": lambda l: T.num(Fraction(1, 4))}),
    "residual/stack-jacobian": Model({"L": 2}, STACK),
    "residual/stack-gradient": Model({"L": 2, "P": on_diagonal(next_number)}, STACK),
    "residual/stack-direct-path": Model({"L": 2}, STACK),
    "residual/stack-bounds": Model(
        {"L": 2, "J": zero, "g": lambda a: T.ONE, "G": lambda a: T.ONE},
        {"f": multiple(lambda _: T.ZERO), "X": IDENTITY, "loss": SUM},
    ),
    "layer-norm/vjp-outside": ROW,
    "layer-norm/vjp-inside": ROW,
    "layer-norm/affine": ROW,
    "norm-placement/post-ln-jacobian": ROW,
    "norm-placement/post-ln-gradient-sum": ROW,
    "norm-placement/pre-ln-jacobian": ROW,
    "norm-placement/post-ln-layers": Model(GRADIENTS),
    "norm-placement/pre-ln-layers": Model(GRADIENTS),
    "norm-placement/pre-ln-direct-path": Model(GRADIENTS),
    "norm-placement/pre-ln-past-the-norm": Model({**IDLE, "N": identity}),
    "norm-placement/pre-ln-lower-bound": Model({**IDLE, "N": identity}),
    "norm-placement/post-ln-identity-path": Model({**ROWS, "z": alternating}),
    "norm-placement/post-ln-halving": Model(
        {
            **ROWS,
            "z": lambda l, a: T.mul(T.fn("sqrt", T.num(2)), alternating(l, a)),
            "sigma": lambda l: T.fn("sqrt", T.num(2)),
            "s": lambda l: T.fn("sqrt", T.num(2)),
        }
    ),
    "norm-placement/spread-of-sum": Model({"d_model": 4, "x": [1, 1, -1, -1], "y": [1, -1, 1, -1]}),
    "norm-placement/pre-ln-growth": Model(
        {"d_model": 4, "L": 1, "x": [[1, 1, -1, -1], [2, 0, 0, -2]], "f": [[1, -1, 1, -1]]}
    ),
    "scaling/moments": SIGNS,
    "scaling/one-white-side": SIGNS,
    "scaling/exact-condition": SIGNS,
    "scaling/unequal-variances": SIGNS,
    "scaling/non-zero-means": SIGNS,
    "scaling/in-a-head": Model({"d_k": 1, "h": 3, "d_model": 3}, outcomes=SIGNS.outcomes),
    "scaling/correlated": Model({"d_k": 1}, outcomes={"q": NORMAL, "k": NORMAL}),
    "scaling/initialisation": Model({"d_model": 1, "d_k": 1}, outcomes={"W": [[[1]], [[-1]]]}),
    "scaling/unit-variance": Model(COUNTED_SIGNS),
    "scaling/chebyshev": Model({**COUNTED_SIGNS, "A": [1, 1, 1, 1]}),
    "scaling/by-width": Model(COUNTED_SIGNS),
    "scaling/by-model-width": Model({**COUNTED_SIGNS, "h": 3, "d_model": 3}),
    "attention-average/dropout-mean": MASKS,
    "attention-average/dropout-variance": MASKS,
    "attention-average/all-heads": Model(
        {"m": 3, "d": 1, "d_v": 1, "q": 2, "r": 1, "B": [[[1]], [[0]]], "C": zero}
    ),
    "head-symmetries/determined": Model(
        {"m": 3, "d": 1, "d_v": 1, "q": 2, "r": 1, "B": [[[1]], [[0]]], "C": zero, "D": zero}
    ),
    "attention-average/two-tokens": Model(
        {"m": 2, "d": 1, "d_v": 1, "B": zero, "B'": zero, "W": zero, "W'": zero}
    ),
    "attention-average/two-heads": Model(
        {"m": 3, "d": 1, "d_v": 1, "B": zero, "B'": zero, "W": zero, "W'": zero}
    ),
    "information-loss/biased-share": Model(
        {"N": 2, "P": [HALF, HALF], "z": [0, 2], "A": [1, 0], "mu": 1, "sigma": 1}
    ),
    "information-loss/kept-energy": (tail(HALF), tail(T.num(Fraction(1, 8)))),
    "information-loss/half-inactive": Model({"N": 2, "P": [Fraction(1, 2)] * 2, "z": [1, -1]}),
    "information-loss/gate-entropy": Model({"p": T.num(Fraction(1, 3))}),
    "injectivity/two-units-each": Model({"d_model": 1, "V": [[1], [-1]]}),
    "injectivity/four-times-needed": Model(
        {"d_model": 1, "d_ff": 2, "W": [[1], [-1]], "b": zero}, proof=two_units
    ),
    # four units, counted by how many are active
    "expansion/enough-active-units": Model(
        {
            "d_model": 1,
            "N": 5,
            "P": [Fraction(comb(4, k), 16) for k in range(5)],
            "A": [0, 1, 2, 3, 4],
            "I": [1, 1, 0, 0, 0],
            "k": 3,
        }
    ),
    "expansion/twice-the-width": Model({"d": 0, "p": fair_units}, proof=fair_units_add_up),
    # of the paths through branches that pass nothing on, the one past all of them is I
    "residual/paths": Model(
        {
            "d_model": 1,
            "L": 1,
            "J": zero,
            "P": identity,
            "R": lambda _, path, a, b: T.mul(T.delta(path, T.ZERO), T.delta(a, b)),
        }
    ),
    "positional-encoding/only-shift": Model({"r": 1, "d_model": 2, "k": 0, "q": 0, "M": identity}),
    "expansion/separates": Model(),
    "expansion/keeps-separability": Model({"d_model": 1, "d_ff": 1}),
    "backward/residual-input": Model(functions={"f": IDENTITY, "N": IDENTITY}),
    "backward/post-norm-input": Model(functions={"f": IDENTITY, "N": IDENTITY}),
    "backward/pre-norm-input": Model(functions={"f": IDENTITY, "N": IDENTITY}),
    # a function with the slope of the normal distribution at 0
    "backward/gelu": Model(
        {"n": 2, "x": [0, 0]},
        {"Phi": multiple(lambda _: T.inv(T.fn("sqrt", T.mul(T.num(2), T.PI))))},
    ),
    "attention/online-softmax": Model(
        {"s": zero, "M": zero, "mu": 0, "w": 1, "r": 1, "L": lambda l: l, "O": lambda l, c: l}
    ),
}


@pytest.mark.parametrize("name", CLAIMS)
def test_the_premises_of_a_claim_can_hold_together(name: str) -> None:
    for alternatives in premises_of(CLAIMS[name]):
        if name in MODELS:
            _some_hold(name, alternatives)
        else:
            assert any(map(searched, alternatives)), name


def _some_hold(name: str, alternatives: list[tuple[Term, ...]]) -> None:
    models = MODELS[name] if isinstance(MODELS[name], tuple) else (MODELS[name],)
    *others, last = [(p, m) for p in alternatives for m in models]
    for premises, model in others:
        try:
            hold_in(premises, model)
            return
        except KernelError:
            continue
    hold_in(*last)


def test_every_model_belongs_to_a_claim() -> None:
    assert set(MODELS) <= set(CLAIMS)


# ---------------------------------------------------------------------- what has to be noticed

d = dim("d")
i = index("i", d)
x, y = real("x"), real("y")
v = tensor("v", d)


def claim(*given: Any, statement: Any = None) -> Claim:
    return Claim(
        id="made/up",
        title="Made up",
        source=Source("a test", ("1",), "nothing"),
        given=tuple(map(Given, given)),
        statement=equal(x, y) if statement is None else statement,
        expected=Verdict.PROVED,
    )


def only_premises(of: Claim) -> tuple[Term, ...]:
    ((premises,),) = premises_of(of)
    return premises


CONTRADICTIONS: Final = {
    "two signs": (less(0, x), less(x, 0)),
    "two values": (equal(x, y), equal(y, x + 1)),
    "a square": (equal(x**2, -1),),
    "every entry": (forall(i, equal(v[i], x)), forall(i, less(x, v[i]))),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_premises_that_contradict_each_other_are_noticed(name: str) -> None:
    premises = only_premises(claim(*CONTRADICTIONS[name]))
    assert not searched(premises)
    with pytest.raises(KernelError):
        hold_in(premises, Model({"x": 1, "y": 2}))


def test_premises_inside_the_statement_count() -> None:
    hidden = implies(less(0, x), implies(less(x, 0), equal(x, y)))
    assert not searched(only_premises(claim(statement=hidden)))
    assert not searched(
        only_premises(claim(less(x, 0), statement=implies(less(0, x), equal(x, y))))
    )


def test_each_part_of_a_statement_has_its_own_premises() -> None:
    parts = both(implies(less(0, x), equal(x, y)), implies(less(x, 0), equal(x, y)))
    assert len(premises_of(claim(statement=parts))) == 2


def test_one_side_of_an_equivalence_is_enough() -> None:
    ((one, other),) = premises_of(claim(statement=iff(equal(x, x + 1), less(0, y))))
    assert not searched(one)
    assert searched(other)


def test_what_only_one_side_supposes_is_shown_on_its_own() -> None:
    other = less(0, y)
    parts = both(iff(equal(x, 1), other), implies(other, equal(x, x**2)))
    shown = premises_of(claim(statement=parts))
    assert [len(alternatives) for alternatives in shown] == [2, 1]


def test_a_model_with_other_moments_is_refused() -> None:
    q = random_tensor("q", d)
    premises = only_premises(claim(forall(i, equal(Expectation(q[i] ** 2), 1))))
    hold_in(premises, Model({"d": 1}, outcomes={"q": [[1], [-1]]}))
    with pytest.raises(KernelError):
        hold_in(premises, Model({"d": 1}, outcomes={"q": [[1], [-2]]}))


def test_a_model_with_another_derivative_is_refused() -> None:
    f = VectorFunction("f", d)
    premises = only_premises(claim(Differentiable(f(v)[()]), forall(i, equal(f.partial(v)[i], 1))))
    hold_in(premises, Model(functions={"f": SUM}))
    for wrong in (
        Function(SUM.value, lambda *_: T.num(2)),
        Function(lambda *_: T.ONE, SUM.partial),
    ):
        with pytest.raises(KernelError):
            hold_in(premises, Model(functions={"f": wrong}))


def test_a_model_where_a_premise_is_not_defined_is_refused() -> None:
    premises = only_premises(claim(equal(1 / x, 0)))
    with pytest.raises(KernelError):
        hold_in(premises, Model({"x": 0}))
