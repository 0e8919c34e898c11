"""A vector that none of finitely many matrices maps to 0, unless the matrix is 0 itself.

By induction over the number of matrices.  If y does for the first ones and the next matrix maps it
to 0, that matrix does not map some unit vector e to 0.  Then t y + e does for all of them, where t
is so large that t A y + A e is not 0 for the first ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy as sp

from derive.claims._softmax import delta
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
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
    implies,
    index,
    less,
    natural,
    negation,
    plus,
    power,
    real,
    sequence,
    tensor,
    times,
    total,
)
from derive.prover import Prover

rows, columns = dims("p d")
number, at = natural("N"), natural("K")
f, g, unit = index("f", rows), index("g", columns), index("e", columns)
A, D = sequence("A", rows, columns), tensor("D", rows, columns)
y = tensor("y", columns)


def image(matrix: Callable[[Any, Any], Any], y: Any, f: Any = f) -> Any:
    return total(times(matrix(f, g), y[g]), g)


def spared(matrix: Callable[[Any, Any], Any], y: Any) -> Any:
    """The matrix is 0, or it does not map y to 0."""
    zero = forall([f, g], equal(matrix(f, g), 0))
    return either(zero, negation(forall(f, equal(image(matrix, y), 0))))


def of(k: Any) -> Callable[[Any, Any], Any]:
    return lambda f, g: A[k, f, g]


def alone(f: Any, g: Any) -> Any:
    return D[f, g]


def all_spared(y: Any, number: Any = number) -> Any:
    return forall(at, implies(less(at, number), spared(of(at), y)))


SPARED_TOO = exists(y, both(all_spared(y), spared(alone, y)))
#: over one more than there are, so that there is one
k, l = index("k", number + 1), index("l", number + 1)


def square(k: Any) -> Any:
    """|A_k y|^2"""
    return total(power(image(of(k), y), 2), f)


def along(k: Any) -> Any:
    """(A_k y) (A_k e)"""
    return total(times(image(of(k), y), A[k, f, unit]), f)


def ratio(k: Any) -> Any:
    return times(along(k), power(square(k), -1))


def bound(k: Any) -> Any:
    return plus(1, power(ratio(k), 2))


LARGE = plus(1, total(bound(l), l))
t = real("t")
IS_LARGE = forall(k, at_most(plus(1, bound(k)), t))


def one_more_law(p: Prover) -> Theorem:
    """For all A, D, n, y: if y is spared by the first n of A, some vector is, and by D as well."""
    goal = p.formula(SPARED_TOO)
    larger = _larger(p)
    with p.supposing(all_spared(y)) as case:
        at_y = T.instantiate(goal.children[0], (str(y.label),))

        def here(kind: int) -> Callable[[Theorem], Theorem]:
            def found(known: Theorem) -> Theorem:
                spares = infer("disjunct", [known], at_y.children[1], kind)
                return p.exists(goal, p.lam(y[g], g), p.both(case, spares))

            return found

        zero, null = at_y.children[1].children[0], at_y.children[1].children[1].children[0]

        def nonzero(known: Theorem) -> Theorem:
            return p.cases(
                infer("excluded-middle", [], null),
                lambda none: _moved(p, goal, case, some_entry(p, known), none, larger), here(1),
            )  # fmt: skip

        found = p.cases(infer("excluded-middle", [], zero), here(0), nonzero)
    found = p.for_all(p.discharge(found, case), number)
    for array in (y, D, A):
        found = p.for_all_tensors(found, array)
    return found


def some_entry(p: Prover, nonzero: Theorem) -> Theorem:
    """There are f, e with D_fe not 0, from not all D_fe = 0."""
    entry = p.formula(negation(equal(D[f, unit], 0)))
    some = p.formula(exists(f, exists(unit, negation(equal(D[f, unit], 0)))))

    def none(nowhere: Theorem) -> Theorem:
        def there(apart: Theorem) -> Theorem:
            inner = T.instantiate(some.children[-1], (p.term(f),))
            found = p.exists(some, f, p.exists(inner, unit, apart))
            return infer("contradiction", [found, nowhere], entry.children[0])

        each = p.cases(infer("excluded-middle", [], entry.children[0]), lambda z: z, there)
        return infer("contradiction", [p.for_all(each, f, unit), nonzero], some)

    return p.cases(infer("excluded-middle", [], some), lambda found: found, none)


def entry_law(p: Prover) -> Theorem:
    """For all a and q: if no a_l is negative, a_k <= the sum of the a_l for all k < q."""
    q = dim("q")
    a, i, j = tensor("a", q), index("i", q), index("j", q)
    with p.supposing(forall(j, at_most(0, a[j]))) as case:
        others = times(power(1 - delta(i, j), 2), a[j])
        positive = p.order(at_most(0, others), (1, p.square(1 - delta(i, j)), p.at(case, j)))
        found = p.order(at_most(a[i], total(a[j], j)), (1, p.sum_order(positive, j)))
    return p.for_all_tensors(p.for_all(p.discharge(p.for_all(found, i), case), q), a)


def _larger(p: Prover) -> Theorem:
    """For all k <= n: 2 + r_k^2 <= t."""
    positive = p.for_all(p.order(at_most(0, bound(l)), (1, p.square(ratio(l)))), l)
    upto = p.mp(p.at(entry_law(p), p.lam(bound(l), l), plus(number, 1)), positive)
    return p.for_all(p.order(at_most(plus(1, bound(k)), LARGE), (1, p.at(upto, k))), k)


def _moved(
    p: Prover, goal: Term, case: Theorem, entry: Theorem, null: Theorem, larger: Theorem
) -> Theorem:
    """t y + e does, where D maps y to 0 and e not."""

    def at_entry(apart: Theorem) -> Theorem:
        with p.supposing(IS_LARGE) as large:
            found = _at_large(p, goal, case, apart, null, large)
        law = p.for_all(p.discharge(found, large), t)
        return p.mp(p.at(law, LARGE), larger)

    return p.choose(entry, f, lambda some: p.choose(some, unit, at_entry))


def _at_large(
    p: Prover, goal: Term, case: Theorem, apart: Theorem, null: Theorem, large: Theorem
) -> Theorem:
    moved = p.lam(plus(times(t, y[g]), delta(g, unit)), g)
    wanted = T.instantiate(goal.children[0], (moved,))
    spares = wanted.children[1].children[1]
    there = T.instantiate(spares.children[0].children[-1], (p.term(f),))
    same = p.equal(there.children[0], D[f, unit], (t, p.at(null, f)), show=False)
    failing = _also_apart(p, there, same, apart)
    failing = infer("not-forall", [failing], spares, p.term(f))
    one = infer("disjunct", [failing], wanted.children[1], 1)
    return p.exists(goal, moved, p.both(_others(p, wanted.children[0], case, large), one))


def _also_apart(p: Prover, zero: Term, same: Theorem, apart: Theorem) -> Theorem:
    """not a = 0, from a = b and not b = 0."""
    with p.supposing(zero) as vanishes:
        none = p.equal(apart.conclusion.children[0].children[0], 0, (-1, same), (1, vanishes),
                       show=False)  # fmt: skip
        wrong = infer("contradiction", [none, apart], T.negate(zero))
    return infer("deny", [wrong], zero)


def _others(p: Prover, goal: Term, case: Theorem, large: Theorem) -> Theorem:
    """The first ones are not 0 at t y + e, where they are not 0 at y."""
    premise, wanted = T.instantiate(goal.children[0], (p.term(at),)).children
    with p.supposing(premise) as within:
        p.fact(p.next_integer(within))
        larger, beyond = p.at(large, at), _beyond(p)
        own, other = p.lam(image(of(at), y), f), p.lam(A[at, f, unit], f)
        cancels = p.at(_no_product(p), own, other, t)

        def not_null(apart: Theorem) -> Theorem:
            null = wanted.children[1].children[0]
            with p.supposing(null) as vanishes:
                each = p.equal(
                    plus(times(t, image(of(at), y)), A[at, f, unit]), 0, (1, p.at(vanishes, f)),
                    show=False,
                )  # fmt: skip
                total_zero = p.mp(cancels, p.for_all(each, f))
                positive = p.mp(p.at(beyond, square(at), along(at), t), p.both(
                    _norm_positive(p, apart), larger))  # fmt: skip
                wrong = p.order(less(0, 0), (1, positive), (-1, total_zero))
                wrong = infer("contradiction", [wrong, p.trivial(negation(less(0, 0)))],
                              T.negate(null))  # fmt: skip
            return infer("disjunct", [infer("deny", [wrong], null)], wanted, 1)

        found = p.cases(
            p.mp(p.at(case, at), within),
            lambda zero: infer("disjunct", [zero], wanted, 0), not_null,
        )  # fmt: skip
    return p.for_all(p.discharge(found, within), at)


def _beyond(p: Prover) -> Theorem:
    """For all N, X, t: 0 < N and 2 + (X / N)^2 <= t -> 0 < t N + X."""
    norm, cross = real("n"), real("x")
    r = times(cross, power(norm, -1))
    with p.supposing(both(less(0, norm), at_most(plus(1, plus(1, power(r, 2))), t))) as case:
        found = p.order(
            less(0, plus(times(t, norm), cross)), (norm, p.part(case, 1)),
            (norm, p.square(plus(r, sp.Rational(1, 2)))),
        )  # fmt: skip
    return p.for_all(p.discharge(found, case), norm, cross, t)


def _no_product(p: Prover) -> Theorem:
    """For all u, v, t: if t u + v = 0 in every row, t |u|^2 + u v = 0."""
    u, v = tensor("u", rows), tensor("v", rows)
    with p.supposing(forall(f, equal(plus(times(t, u[f]), v[f]), 0))) as case:
        product = p.equal(
            times(u[f], plus(times(t, u[f]), v[f])), 0, (u[f], p.at(case, f)), show=False
        )
        found = p.equal(
            plus(times(t, total(power(u[f], 2), f)), total(times(u[f], v[f]), f)), 0,
            (1, p.sum_equal(product, f)), show=False,
        )  # fmt: skip
    found = p.for_all(p.discharge(found, case), t)
    return p.for_all_tensors(p.for_all_tensors(found, v), u)


def _norm_positive(p: Prover, apart: Theorem) -> Theorem:
    """0 < |A y|^2, from not all (A y)_f = 0."""
    norm, own = square(at), image(of(at), y)
    each = p.lam(power(own, 2), f)
    upto = p.mp(p.at(entry_law(p), each, rows), p.for_all(p.square(own), f))
    upto = p.at(upto, f)

    def vanishes(none: Theorem) -> Theorem:
        small = p.order(at_most(power(own, 2), 0), (1, upto), (1, none))
        each = p.for_all(_root_of_zero(p, own, small), f)
        return infer("contradiction", [each, apart], p.formula(less(0, norm)))

    return p.cases(p.dichotomy(norm, 0), vanishes, lambda positive: positive)


def _root_of_zero(p: Prover, x: Any, small: Theorem) -> Theorem:
    """x = 0, from x^2 <= 0."""
    square = infer("antisymmetry", [small, p.square(x)])
    goal = p.formula(equal(x, 0))

    def nonzero(apart: Theorem) -> Theorem:
        return p.equal(x, 0, (power(x, -1), square), (times(-1, x), p.cancel(x, apart)), show=False)

    return p.cases(infer("excluded-middle", [], goal), lambda zero: zero, nonzero)


def spared_law(p: Prover, more: Theorem) -> Theorem:
    """For all A and n there is a vector that the first n of A spare; `more` is the law above."""
    formula = p.formula(exists(y, all_spared(y)))
    n = p.term(number)

    def of_size(size: Term) -> Term:
        return T.substitute(formula, {n: size})

    zero = of_size(T.ZERO)
    with p.supposing(less(at, 0)) as below:
        wrong = p.order(T.lt(T.ZERO, T.ZERO), (1, below))
        none = infer("contradiction", [wrong, p.trivial(T.negate(wrong.conclusion))],
                     p.formula(spared(of(at), y)))  # fmt: skip
    base = p.exists(zero, p.lam(y[g], g), p.for_all(p.discharge(none, below), at))
    goal = of_size(T.add(n, T.ONE))
    with p.supposing(formula) as before:

        def then(case: Theorem) -> Theorem:
            at_new = p.at(more, p.lam(A[at, f, g], at, f, g), p.lam(A[number, f, g], f, g),
                          p.lam(y[g], g), number)  # fmt: skip
            return p.choose(p.mp(at_new, case), y, lambda two: _joined(p, goal, two))

        step = p.choose(before, y, then)
    found = p.induction(base, p.discharge(step, before), number)
    return p.for_all_tensors(found, A)


def _joined(p: Prover, goal: Term, two: Theorem) -> Theorem:
    wanted = T.instantiate(goal.children[0], (str(y.label),))
    every, last = p.part(two, 0), p.part(two, 1)
    i, n = p.term(at), p.term(number)
    body = wanted.children[0]
    with p.supposing(T.instantiate(body, (i,)).children[0]) as within:

        def is_last(reached: Theorem) -> Theorem:
            upto = p.order(T.le(i, n), (1, p.next_integer(within)))
            same = infer("antisymmetry", [reached, upto])
            return p.rewrite(same, last, lambda x: T.instantiate(body, (x,)).children[1])

        found = p.cases(
            p.dichotomy(number, at), is_last, lambda below: p.mp(p.at(every, at), below)
        )
    return p.exists(goal, p.lam(y[g], g), p.for_all(p.discharge(found, within), at))
