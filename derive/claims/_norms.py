"""What the claims about layer normalisation share: symbols, formulas, and moves of their proofs.

One token is a row ``x`` of width d with mean mu and standard deviation sigma over its features.
A norm divides ``u = x - mu`` by a divisor s; the note writes ``s = sigma + epsilon``, others take
``s = sqrt(sigma^2 + epsilon)``.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import sympy as sp

from derive import auto, lemmas, search
from derive.claim import Argument, Given, Notation
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.kernel.terms import KernelError
from derive.language import (
    at_most,
    dim,
    equal,
    index,
    less,
    minus,
    over,
    plus,
    power,
    real,
    tensor,
    times,
    total,
)
from derive.prover import Prover

Entry = Callable[..., Any]

d = dim("d_model")
a, b, c = (index(name, d) for name in "abc")
x, g = tensor("x", d), tensor("g", d)
gamma, beta = tensor("gamma", d), tensor("beta", d)
mu, sigma, epsilon, s = (real(name) for name in ("mu", "sigma", "epsilon", "s"))
half = sp.Rational(1, 2)


def root(e: Any) -> Any:
    """The square root as it is written (SymPy takes roots of quotients apart)."""
    return power(e, half)


def square(e: Any) -> Any:
    return power(e, 2)


def one(i: Any, j: Any) -> Any:
    """An entry of the identity matrix."""
    return sp.KroneckerDelta(i, j)


# What is built again and again is kept: SymPy walks through every sum that it makes.
@cache
def at(t: Any, *first: Any) -> Entry:
    """The entries of a tensor, or of the part of it with these first indices."""
    return lambda *rest: t[(*first, *rest)]


@cache
def mean_of(entry: Entry, size: Any = d) -> Any:
    """The mean of the entries of a row of that length."""
    i = index(f"c_{size}", size)
    return over(total(entry(i), i), size)


def variance_of(entry: Entry, centre: Any, size: Any = d) -> Any:
    """The mean of the squared distances from the centre (nothing is subtracted from the size)."""
    return mean_of(lambda i: square(minus(entry(i), centre)), size)


def deviation_of(entry: Entry, centre: Any, size: Any = d) -> Any:
    return root(variance_of(entry, centre, size))


@dataclass(frozen=True)
class Form:
    """Where epsilon stands.

    `divisor` is s in terms of sigma, `of_variance` in terms of a variance and epsilon; `usable` is
    positive where s is.  A change of the variance changes s by half of it over `slope`; in the
    Jacobian ``u_a u_b`` is divided by d and by `coupling`, and ``u J = kept u``.
    """

    name: str
    divisor: Any
    of_variance: Callable[..., Any]
    usable: Any
    slope: Any
    coupling: Any
    kept: Any
    note: str


OUTSIDE = Form(
    "outside",
    plus(sigma, epsilon),
    lambda variance, eps=epsilon: plus(root(variance), eps),
    plus(sigma, epsilon),
    sigma,
    times(sigma, s),
    over(epsilon, square(s)),
    "the divisor of the note",
)
INSIDE = Form(
    "inside",
    root(plus(square(sigma), epsilon)),
    lambda variance, eps=epsilon: root(plus(variance, eps)),
    plus(square(sigma), epsilon),
    s,
    square(s),
    over(epsilon, power(s, 3)),
    "the divisor of the paper on LayerNorm and of most programs",
)
FORMS = (OUTSIDE, INSIDE)


def statistics_of(row: Entry) -> tuple[Given, Given]:
    """What mu and sigma are."""
    return (
        Given(equal(mu, mean_of(row)), r"$\mu$ is the mean over the features"),
        Given(
            equal(sigma, deviation_of(row, mu)),
            r"$\sigma$ is the standard deviation over the features. The note does not say by what "
            r"it divides; LayerNorm divides by $d_{\text{model}}$",
        ),
    )


THE_ROW = at(x)
MEAN, SPREAD = statistics_of(THE_ROW)


def divisor_is(form: Form) -> Given:
    return Notation(equal(s, form.divisor), form.note)


def usable(form: Form, why: str = "the note divides by it, as by a positive number") -> Given:
    return Given(less(0, form.usable), why)


USABLE = (usable(OUTSIDE), usable(INSIDE, "the same for the other form"))


def centred(i: Any, row: Entry = THE_ROW) -> Any:
    """u = x - mu."""
    return minus(row(i), mu)


@cache
def jacobian(form: Form, i: Any, j: Any, row: Entry = THE_ROW) -> Any:
    """The derivative of component i of (x - mu) / s by x_j, in terms of mu, sigma and s."""
    coupled = over(times(centred(i, row), centred(j, row)), times(d, form.coupling))
    return over(plus(one(i, j), times(-1, over(1, d)), times(-1, coupled)), s)


@cache
def normalised(form: Form, row: Entry, i: Any, size: Any = d, eps: Any = epsilon) -> Any:
    """Component i of (x - mu) / s, all in terms of x."""
    centre = mean_of(row, size)
    return over(minus(row(i), centre), form.of_variance(variance_of(row, centre, size), eps))


def over_s(i: Any) -> Any:
    """Component i of the normalised row, in terms of mu and s."""
    return over(centred(i), s)


# ---------------------------------------------------------------------- moves of these proofs


def replaced(t: T.Term, old: T.Term, new: T.Term) -> T.Term:
    """`t` with one closed term in place of another."""
    if t is old:
        return new
    return T.map_children(t, lambda child, _: replaced(child, old, new))


def named(p: Prover, definition: Theorem, theorem: Theorem) -> Theorem:
    """From ``name = value`` and a gradient: the name for the value in its partial derivatives."""
    value = definition.conclusion.children[1]
    back = flipped(p, definition)
    *first, slope = theorem.conclusion.children
    count = theorem.conclusion.data
    sizes, (function, point) = tuple(first[:count]), first[count:]
    return p.rewrite(
        back,
        theorem,
        lambda e: T.grad(sizes, function, point, replaced(slope, value, e)),
    )


def spelled_out(p: Prover, theorem: Theorem, *definitions: Theorem) -> Theorem:
    """From ``name = value`` and a theorem: the same with the value for the name, one by one."""
    for equation in definitions:
        q, name = theorem.conclusion, equation.conclusion.children[0]
        theorem = p.rewrite(equation, theorem, partial(replaced, q, name))
    return theorem


def rewritten(p: Prover, t: Any, *equations: Theorem) -> Theorem:
    """t = t', where t' has the right sides of the equations for their left sides, one by one."""
    first = last = p.term(t)
    theorem = _reflexive(first)
    for equation in equations:
        theorem = p.rewrite(equation, theorem, partial(_put, first, last, equation))
        last = theorem.conclusion.children[1]
    return theorem


def _put(first: T.Term, last: T.Term, equation: Theorem, new: T.Term) -> T.Term:
    """first = last, with something new for the left side of the equation."""
    return T.eq(first, replaced(last, equation.conclusion.children[0], new))


def summed(p: Prover, entry: Theorem, i: Any) -> Theorem:
    """From f(i) = g(i) with i free: the sums over i are the same, as they are written."""
    index_of_sum = p.term(i)
    whole = T.sum_over(index_of_sum, entry.conclusion.children[0])
    return infer("extensionality", [p.for_all(entry, i)], whole, 1)


def flipped(p: Prover, equation: Theorem) -> Theorem:
    """b = a, from a = b; nothing is multiplied out."""
    first, _ = equation.conclusion.children
    return p.rewrite(equation, _reflexive(first), lambda e: T.eq(e, first))


def _reflexive(t: T.Term) -> Theorem:
    """t = t, as an instance of the same statement about all numbers."""
    y = T.var("y")
    general = infer("linear-combination", [], T.eq(y, y), 0, ())
    return infer("specialise", [infer("generalise", [general], y)], t)


def same_normalised(
    p: Prover, form: Form, rows: tuple[Entry, Entry], entries: Theorem, i: Any, size: Any
) -> Theorem:
    """Component i of two normalised rows is the same, from: all their entries are the same.

    The steps are shown for the first form only.
    """
    first, second = rows
    j = index(f"c_{size}", size)
    entry, at_i = p.at(entries, j), p.at(entries, i)
    sums = p.sum_equal(entries, j)
    one_mean, other_mean = (mean_of(row, size) for row in rows)
    first_form = form is OUTSIDE
    means = p.equal(
        one_mean, other_mean, (over(1, size), sums),
        reason="the same entries have the same mean", show=first_form,
    )  # fmt: skip
    both = plus(first(j), second(j), times(-1, one_mean), times(-1, other_mean))
    squares = p.equal(
        square(minus(first(j), one_mean)), square(minus(second(j), other_mean)),
        (both, entry), (times(-1, both), means), show=False,
    )  # fmt: skip
    variances = p.equal(
        variance_of(first, one_mean, size), variance_of(second, other_mean, size),
        (over(1, size), p.sum_equal(squares, j)),
        reason="and the same variance", show=first_form,
    )  # fmt: skip
    return rewritten(p, normalised(form, first, i, size), variances, means, at_i)


@dataclass(frozen=True)
class Row:
    """What follows from the definitions of mu, sigma and s.

    `mean`, `deviation` and `divisor` are these; `sums` is Sum u = 0, `squares` sigma^2 = the mean
    of u^2.  That s is positive, and the variance not negative, are among the prover's facts.
    """

    mean: Theorem
    deviation: Theorem
    divisor: Theorem
    sums: Theorem
    squares: Theorem


def row_of(
    p: Prover,
    mean: Theorem,
    deviation: Theorem,
    divisor: Theorem,
    show: bool = True,
    row: Entry = THE_ROW,
) -> Row:
    squares = square_of_deviation(p, deviation)
    p.fact(p.order(less(0, s), (1, divisor)))
    return Row(mean, deviation, divisor, sum_of_centred(p, mean, show, row), squares)


def sum_of_centred(
    p: Prover, mean: Theorem, show: bool = True, row: Entry = THE_ROW
) -> Theorem:  # fmt: skip
    reason = r"the deviations from the mean add up to zero"
    return p.equal(total(centred(a, row), a), 0, mean, reason=reason, show=show)


def variance_in(deviation: Theorem) -> T.Term:
    """The variance, from sigma = its root."""
    return deviation.conclusion.children[1].children[0]


def square_of_deviation(p: Prover, deviation: Theorem) -> Theorem:
    """sigma^2 = the variance, and 0 <= sigma as a fact."""
    value = variance_in(deviation)
    p.fact(p.nonneg(value))
    p.fact(p.order(at_most(0, sigma), (1, deviation)))
    return p.equal(square(sigma), value, deviation, show=False)


def in_terms_of_x(
    p: Prover, form: Form, mean: Theorem, deviation: Theorem, positive: Theorem
) -> Theorem:
    """The divisor (or what is under its root) is positive, written in terms of x alone."""
    if form is OUTSIDE:
        return spelled_out(p, positive, deviation, mean)
    squares = square_of_deviation(p, deviation)
    room = T.lt(T.ZERO, T.add(variance_in(deviation), p.term(epsilon)))
    return spelled_out(p, p.order(room, (1, positive), (-1, squares)), mean)


def smoothness(p: Prover, form: Form, row: Row, positive: Theorem) -> list[Theorem]:
    """What the derivative of the normalised row asks for: nothing under a root or below is 0.

    For epsilon outside the root, 0 < sigma has to be among what is known.
    """
    room = in_terms_of_x(p, form, row.mean, row.deviation, positive)
    divisor = room.conclusion.children[1]
    if form is INSIDE:
        nonzero = T.negate(T.eq(T.fn("sqrt", divisor), T.ZERO))
        return [room, search.decided(nonzero, [room])]
    wanted = p.formula(less(0, sigma))
    spread = next(t for t in p.known() if t.conclusion is wanted)
    variance = T.lt(T.ZERO, variance_in(row.deviation))
    under = spelled_out(p, p.order(variance, (1, spread, spread), (-1, row.squares)), row.mean)
    return [under, search.decided(T.negate(T.eq(divisor, T.ZERO)), [room])]


Learner = Callable[[Prover, list[Theorem], frozenset[T.Term | str]], None]


def defined_by(learn: Learner) -> Argument:
    """Proves an obligation after `learn`, which adds facts that follow from its premises."""

    def prove(p: Prover, goal: T.Term) -> Theorem:
        q = Prover(p.converter, ())
        premises: list[Theorem] = []
        layers: list[T.Term] = []  # premises and indices, the outermost first
        with ExitStack() as stack:
            while goal.op in ("imp", "forall"):
                if goal.op == "imp":
                    premises.append(stack.enter_context(q.supposing(goal.children[0])))
                    layers.append(goal.children[0])
                    goal = goal.children[1]
                else:
                    layers.append(auto.fresh(goal.data[0], goal.children[:-1], q))
                    goal = T.instantiate(goal.children[-1], layers[-1:])
            learn(q, premises, T.free_symbols(goal))
            _learn_roots(q, goal)
            theorem = auto.prove(q, goal)
        for t in reversed(layers):
            rule = "discharge" if T.is_formula(t) else "generalise"
            theorem = infer(rule, [theorem], t)
        return theorem

    return prove


def _learn_roots(q: Prover, goal: T.Term) -> None:
    """A variance is not negative, and with a positive epsilon the sum is positive."""
    for root_term in lemmas.free_functions(goal, "sqrt"):
        under = root_term.children[0]
        with suppress(KernelError, search.NotFound):
            if under.op == "add":
                room = T.lt(T.ZERO, under)
                q.fact(q.order(room, (1, q.nonneg(under.children[0]))))
            else:
                q.fact(q.nonneg(under))


def definitions(q: Prover, premises: list[Theorem]) -> tuple[Theorem | None, ...]:
    """The definitions of mu, sigma and s among the premises."""
    by_name = {t.conclusion.children[0]: t for t in premises if t.conclusion.op == "eq"}
    return tuple(by_name.get(q.term(name)) for name in (mu, sigma, s))


def _learn_from(q: Prover, premises: list[Theorem], symbols: frozenset[T.Term | str]) -> None:
    """What the premises say of s, or of a row that is written in terms of x alone."""
    mean, deviation, divisor = definitions(q, premises)
    if divisor is not None and q.term(s) in symbols:
        with suppress(KernelError):
            q.fact(q.order(less(0, s), (1, divisor)))
    elif mean is not None and deviation is not None and q.term(mu) not in symbols:
        signs = {t.conclusion: t for t in premises}
        for form in FORMS:
            positive = signs.get(q.formula(less(0, form.usable)))
            if positive is not None:
                q.fact(in_terms_of_x(q, form, mean, deviation, positive))


#: What is written in terms of x alone is defined, by the hypotheses about mu, sigma and s.
defined = defined_by(_learn_from)
