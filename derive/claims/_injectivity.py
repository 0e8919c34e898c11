r"""Why ``relu(W x + b)`` can be injective on all of R^d only with at least 2 d units.

Along a direction `x` that no row of `W` is orthogonal to (apart from rows that are 0), and far out,
the units that are active are those with ``W_j . x > 0``; the opposite direction has the others.  If
the first kind were fewer than d, some ``v != 0`` would be orthogonal to all their rows, and adding
`v` far out would change no output.  So there are at least d of either kind.

Three things are proved for that, each by induction: that finitely many numbers have a bound, that
such a direction exists, and that fewer than d equations in d unknowns have a solution other than 0.
Existence of vectors is avoided: instead of "there is x with p(x)" the proof says of a statement q
that it holds if it follows from p(x) for every x.

Rows are counted by natural numbers here.  A vector is a Python function from an index to an entry,
so that one function writes a formula for a symbol and for what is put in its place.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from derive.claims._relu import bracket_law, count_brackets
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.kernel.terms import ONE, ZERO, Lam, Term
from derive.prover import Prover

Vector = Callable[[Term], Term]
Matrix = Callable[[Term, Term], Term]

D, F = T.var("d_model", "dim"), T.var("d_ff", "dim")
L, J = T.var("l", "nat"), T.var("k", "nat")
A_, C, P_ = T.var("a", "fin", D), T.var("c", "fin", D), T.var("p", "fin", D)
HALF, TWO = T.num(Fraction(1, 2)), T.num(2)


def vector(name: str) -> Vector:
    return lambda i: T.apply(name, i)


def matrix(name: str) -> Matrix:
    return lambda j, a: T.apply(name, j, a)


def lam(v: Vector, index: Term) -> Lam:
    return Lam(1, T.abstract(v(index), (index,)))


def every(name: str, body: Term, arity: int = 1) -> Term:
    """For all tensors in place of the free one with this name."""
    return T.quantified("forall", "tensor", T.abstract_tensor(body, name, arity), arity=arity)


def dot(w: Matrix, j: Term, v: Vector) -> Term:
    return T.sum_over(A_, T.mul(w(j, A_), v(A_)))


def rows(limit: Term, body: Callable[[Term], Term]) -> Term:
    """For every natural number k < limit."""
    return T.forall(J, T.implies(T.lt(J, limit), body(J)))


def not_zero(t: Term) -> Term:
    return T.negate(T.eq(t, ZERO))


def either_way(p: Prover, formula: Term, yes: Callable[[Theorem], Theorem],
               no: Callable[[Theorem], Theorem]) -> Theorem:  # fmt: skip
    return p.cases(infer("excluded-middle", [], formula), yes, no)


def absurd(holds: Theorem, denied: Theorem, goal: Term) -> Theorem:
    return infer("contradiction", [holds, denied], goal)


def denied(p: Prover, formula: Term, contradiction: Callable[[Theorem, Term], Theorem]) -> Theorem:
    """not formula; `contradiction` derives that from the formula."""
    with p.supposing(formula) as case:
        theorem = contradiction(case, T.negate(formula))
    return infer("deny", [theorem], formula)


# ---------------------------------------------------------------------- rows one by one


def no_rows(p: Prover, body: Callable[[Term], Term]) -> Theorem:
    """There is no row below 0."""
    with p.supposing(T.lt(J, ZERO)) as case:
        below = infer("not-le", [case])
        theorem = p.discharge(absurd(p.trivial(T.le(ZERO, J)), below, body(J)), case)
    return p.for_all(theorem, J)


def one_more_row(p: Prover, limit: Term, body: Callable[[Term], Term], before: Theorem,
                 last: Theorem) -> Theorem:  # fmt: skip
    """From the rows k < limit, and the row `limit`: the rows k < limit + 1."""
    with p.supposing(T.lt(J, T.add(limit, ONE))) as case:

        def new(other: Theorem) -> Theorem:
            gap = p.next_integer(case)
            upper = p.order(T.le(J, limit), (ONE, gap))
            same = infer("antisymmetry", [other, upper])
            return p.rewrite(same, last, body)

        theorem = p.cases(p.dichotomy(limit, J), new, lambda below: p.mp(p.at(before, J), below))
        theorem = p.discharge(theorem, case)
    return p.for_all(theorem, J)


# ---------------------------------------------------------------------- a bound


def bounded(r: Vector, limit: Term) -> Term:
    """There is a number that is at least 0 and all r_k with k < limit."""
    top = T.var("m")
    return T.exists(top, T.conj(T.le(ZERO, top), rows(limit, lambda j: T.le(r(j), top))))


def has_bound(p: Prover, r: Vector, nonneg: Theorem, limit: Term) -> Theorem:
    """Finitely many numbers that are not negative have a bound, by induction."""
    top = T.var("m")

    def goal(size: Term, bound: Term) -> Theorem | Term:
        return T.conj(T.le(ZERO, bound), rows(size, lambda j: T.le(r(j), bound)))

    zero = p.both(p.trivial(T.le(ZERO, ZERO)), no_rows(p, lambda j: T.le(r(j), ZERO)))
    base = p.exists(bounded(r, ZERO), ZERO, zero)
    with p.supposing(bounded(r, L)) as some:

        def larger(found: Theorem) -> Theorem:
            low, below = p.part(found, 0), p.part(found, 1)
            fresh = p.at(nonneg, L)
            total = T.add(top, r(L))
            with p.supposing(T.lt(J, L)) as case:
                raised = p.order(T.le(r(J), total), (ONE, p.mp(p.at(below, J), case)), (ONE, fresh))
                raised = p.discharge(raised, case)
            last = p.order(T.le(r(L), total), (ONE, low))
            all_rows = one_more_row(
                p, L, lambda j: T.le(r(j), total), p.for_all(raised, J), last
            )  # fmt: skip
            whole = p.order(T.le(ZERO, total), (ONE, low), (ONE, fresh))
            return p.exists(bounded(r, T.add(L, ONE)), total, p.both(whole, all_rows))

        step = p.discharge(p.choose(some, top, larger), some)
    return p.at(p.induction(base, step, L), limit)


# ---------------------------------------------------------------------- counting equations


def only_zero(limit: Term, w: Matrix, s: Vector, t: Vector) -> Term:
    """Vectors supported by `t` that solve the equations k < limit chosen by `s` are 0."""
    v = vector("v")
    supported = T.forall(C, T.eq(v(C), T.mul(t(C), v(C))))
    solves = rows(limit, lambda j: T.eq(T.mul(s(j), dot(w, j, v)), ZERO))
    vanishes = T.forall(C, T.eq(v(C), ZERO))
    return every("v", T.implies(T.conj(supported, solves), vanishes))


def bits(s: Vector, t: Vector) -> Term:
    return T.conj(
        T.forall(C, T.eq(T.mul(t(C), t(C)), t(C))), T.forall(J, T.eq(T.mul(s(J), s(J)), s(J)))
    )


def chosen(s: Vector, limit: Term) -> Term:
    """How many rows are chosen."""
    i = T.var("i", "fin", limit)
    return T.sum_over(i, s(i))


def counted(limit: Term, w: Matrix, s: Vector, t: Vector) -> Term:
    size = T.sum_over(A_, t(A_))
    enough = T.le(size, chosen(s, limit))
    return T.implies(T.conj(bits(s, t), only_zero(limit, w, s, t)), enough)


def counting(limit: Term) -> Term:
    """Equations that leave only 0 are at least as many as the components that may differ from 0."""
    body = counted(limit, matrix("A"), vector("s"), vector("t"))
    return every("A", every("s", every("t", body)), 2)


def equations_count(p: Prover) -> Theorem:
    """`counting` for every number of rows, by elimination of one unknown after the other."""
    base = _generalised(_no_equations(p))
    with p.supposing(counting(L)) as before:
        step = p.discharge(_generalised(_one_more_equation(p, before)), before)
    return p.induction(base, step, L)


def _generalised(theorem: Theorem) -> Theorem:
    for name, arity in (("t", 1), ("s", 1), ("A", 2)):
        theorem = infer("generalise-tensor", [theorem], name, arity)
    return theorem


def _no_equations(p: Prover) -> Theorem:
    w, s, t = matrix("A"), vector("s"), vector("t")
    goal = counted(ZERO, w, s, t)
    with p.supposing(goal.children[0]) as case:
        squares, only = p.part(p.part(case, 0), 0), p.part(case, 1)
        itself = p.equal(t(C), T.mul(t(C), t(C)), (T.num(-1), p.at(squares, C)), show=False)
        solves = no_rows(p, lambda j: T.eq(T.mul(s(j), dot(w, j, t)), ZERO))
        zero = p.mp(p.at(only, lam(t, C)), p.both(p.for_all(itself, C), solves))
        size = p.equal(T.sum_over(A_, t(A_)), ZERO, zero, show=False)
        enough = p.order(goal.children[1], (T.num(-1), size))
        p.note(
            enough,
            "let $s$ be 1 for the equations that are chosen and $t$ for the unknowns that there "
            "are, and 0 for the others: without equations $t$ itself is a solution, so that it is "
            "0",
        )
        return p.discharge(enough, case)


def _one_more_equation(p: Prover, before: Theorem) -> Theorem:
    w, s, t = matrix("A"), vector("s"), vector("t")
    more = T.add(L, ONE)
    goal = counted(more, w, s, t)
    with p.supposing(goal.children[0]) as case:
        given = p.part(case, 0)
        squares, choices, only = p.part(given, 0), p.part(given, 1), p.part(case, 1)
        i = T.var("i", "fin", L)
        unrolled = infer("unroll", [], "sum", L, T.abstract(s(i), (i,)))

        def from_fewer(rest: Theorem, extra: Theorem, reason: str) -> Theorem:
            """The number of rows k < l, and what is known of s_l."""
            theorem = p.order(goal.children[1], (ONE, rest), (ONE, unrolled), (ONE, extra))
            return p.note(theorem, reason)

        def row_is_free(last: Callable[[Vector, Theorem], Theorem]) -> Theorem:
            """Row l follows from the others, so that those leave only 0 as well."""
            v = vector("v")
            inner = T.instantiate(only_zero(L, w, s, t).children[0], ("v",))
            with p.supposing(inner.children[0]) as solution:
                supported, solves = p.part(solution, 0), p.part(solution, 1)
                equation = lambda j: T.eq(T.mul(s(j), dot(w, j, v)), ZERO)  # noqa: E731
                all_rows = one_more_row(p, L, equation, solves, last(v, supported))
                zero = p.mp(p.at(only, lam(v, C)), p.both(supported, all_rows))
                theorem = p.discharge(zero, solution)
            theorem = infer("generalise-tensor", [theorem], "v", 1)
            return _apply(p, before, w, s, t, p.both(given, theorem))

        def not_chosen(zero: Theorem) -> Theorem:
            def last(v: Vector, _: Theorem) -> Theorem:
                return p.equal(T.mul(s(L), dot(w, L, v)), ZERO, (dot(w, L, v), zero), show=False)

            return from_fewer(
                row_is_free(last), p.order(T.le(ZERO, s(L)), (ONE, zero)),
                "one more equation that is not chosen changes nothing",
            )  # fmt: skip

        def is_chosen(nonzero: Theorem) -> Theorem:
            one = p.equal(s(L), ONE, (T.inv(s(L)), p.at(choices, L)), show=False)
            pivot = T.exists(P_, not_zero(T.mul(t(P_), w(L, P_))))
            return either_way(p, pivot, lambda some: with_pivot(some, one),
                              lambda none: without_pivot(none, one))  # fmt: skip

        def without_pivot(none: Theorem, one: Theorem) -> Theorem:
            product = T.mul(t(C), w(L, C))
            at_c = either_way(
                p, T.eq(product, ZERO), lambda zero: zero,
                lambda some: absurd(p.exists(none.conclusion.children[0], C, some), none,
                                    T.eq(product, ZERO)),
            )  # fmt: skip

            def last(v: Vector, supported: Theorem) -> Theorem:
                term = p.equal(
                    T.mul(w(L, C), v(C)), ZERO, (w(L, C), p.at(supported, C)), (v(C), at_c),
                    show=False,
                )  # fmt: skip
                row = p.equal(dot(w, L, v), ZERO, p.for_all(term, C), show=False)
                return p.equal(T.mul(s(L), dot(w, L, v)), ZERO, (s(L), row), show=False)

            return from_fewer(
                row_is_free(last), p.order(T.le(ZERO, s(L)), (ONE, one)),
                "an equation in which no unknown occurs changes nothing, either",
            )  # fmt: skip

        def with_pivot(some: Theorem, one: Theorem) -> Theorem:
            return p.choose(some, P_, lambda _: eliminated(one))

        def eliminated(one: Theorem) -> Theorem:
            unit = p.equal(t(P_), ONE, (T.inv(t(P_)), p.at(squares, P_)), show=False)
            fewer, reduced = _without(t), _reduced(w)
            delta = T.delta(C, P_)
            square = p.equal(
                T.mul(fewer(C), fewer(C)), fewer(C),
                (ONE, p.at(squares, C)), (T.mul(T.num(-2), delta), unit), show=False,
            )  # fmt: skip
            still_bits = p.both(p.for_all(square, C), choices)
            alone = _reduced_only_zero(p, only, unit, w, s, t)
            rest = _apply(p, before, reduced, s, fewer, p.both(still_bits, alone))
            return from_fewer(
                rest, one,
                "and one in which some unknown occurs removes it from the others, so that there is "
                "one unknown less and one equation less",
            )  # fmt: skip

        theorem = either_way(p, T.eq(s(L), ZERO), not_chosen, is_chosen)
        return p.discharge(theorem, case)


def _apply(p: Prover, before: Theorem, w: Matrix, s: Vector, t: Vector, given: Theorem) -> Theorem:
    body = Lam(2, T.abstract(w(J, C), (J, C)))
    return p.mp(p.at(before, body, lam(s, J), lam(t, C)), given)


def _without(t: Vector) -> Vector:
    """The components without the pivot."""
    return lambda c: T.sub(t(c), T.delta(c, P_))


def _reduced(w: Matrix) -> Matrix:
    """The equations after the elimination of the pivot by row l."""
    return lambda j, c: T.sub(w(j, c), T.mul(w(j, P_), w(L, c), T.inv(w(L, P_))))


def _reduced_only_zero(p: Prover, only: Theorem, unit: Theorem, w: Matrix, s: Vector, t: Vector
                       ) -> Theorem:  # fmt: skip
    """A solution of the reduced equations becomes one of the others with a suitable pivot."""
    fewer, reduced, u = _without(t), _reduced(w), vector("v")
    inner = T.instantiate(only_zero(L, reduced, s, fewer).children[0], ("v",))
    delta = T.delta(C, P_)
    rho = T.mul(dot(w, L, u), T.inv(w(L, P_)))
    v: Vector = lambda c: T.sub(u(c), T.mul(T.delta(c, P_), rho))  # noqa: E731
    with p.supposing(inner.children[0]) as solution:
        supported, solves = p.part(solution, 0), p.part(solution, 1)
        at_pivot = p.equal(
            u(P_), ZERO, (ONE, p.at(supported, P_)), (u(P_), unit), show=False
        )  # fmt: skip
        carried = p.equal(
            v(C), T.mul(t(C), v(C)),
            (ONE, p.at(supported, C)), (T.neg(delta), at_pivot), (T.mul(delta, rho), unit),
            show=False,
        )  # fmt: skip
        with p.supposing(T.lt(J, L)) as below:
            old = p.equal(
                T.mul(s(J), dot(w, J, v)), ZERO, (ONE, p.mp(p.at(solves, J), below)), show=False
            )
            old = p.discharge(old, below)
        last = p.equal(T.mul(s(L), dot(w, L, v)), ZERO, show=False)
        equation = lambda j: T.eq(T.mul(s(j), dot(w, j, v)), ZERO)  # noqa: E731
        all_rows = one_more_row(p, L, equation, p.for_all(old, J), last)
        zero = p.mp(p.at(only, lam(v, C)), p.both(p.for_all(carried, C), all_rows))
        back = p.equal(
            u(C), ZERO, (ONE, p.at(zero, C)), (T.neg(delta), p.at(zero, P_)), (delta, at_pivot),
            show=False,
        )  # fmt: skip
        theorem = p.discharge(p.for_all(back, C), solution)
    return infer("generalise-tensor", [theorem], "v", 1)


# ---------------------------------------------------------------------- a generic direction

W, B = matrix("W"), vector("b")


def length(j: Term) -> Term:
    """The square of the length of row j of W."""
    return dot(W, j, lambda a: W(j, a))


def generic(limit: Term, x: Vector) -> Term:
    """Every row k < limit is 0, or it is not orthogonal to x."""
    return rows(
        limit, lambda j: T.disj(T.eq(length(j), ZERO), not_zero(dot(W, j, x)))
    )  # fmt: skip


def follows(limit: Term, claim: Term) -> Term:
    """The claim holds if it holds for every generic direction as the premise."""
    premise = every("x", T.implies(generic(limit, vector("x")), claim))
    return T.implies(premise, claim)


def some_direction(p: Prover, claim: Term) -> Theorem:
    """`follows` for every number of rows: there is a generic direction, in other words."""

    def disjunction(x: Vector) -> Callable[[Term], Term]:
        return lambda j: T.disj(T.eq(length(j), ZERO), not_zero(dot(W, j, x)))

    goal = follows(ZERO, claim)
    with p.supposing(goal.children[0]) as case:
        zero: Vector = lambda _: ZERO  # noqa: E731
        vacuous = no_rows(p, disjunction(zero))
        base = p.discharge(p.mp(p.at(case, lam(zero, C)), vacuous), case)
    steps = p.note(
        small_step(p),
        "a small enough step $x$ along other numbers moves none of finitely many numbers to 0",
    )
    with p.supposing(follows(L, claim)) as before:
        goal = follows(T.add(L, ONE), claim)
        with p.supposing(goal.children[0]) as wanted:
            x = vector("x")
            with p.supposing(generic(L, x)) as old:

                def by_row(v: Vector, older: Theorem, part: int, last: Theorem) -> Theorem:
                    """The claim at v, whose other rows are known and whose row l is the given one.

                    `part` says in which of the two ways row l is generic.
                    """
                    row = infer("disjunct", [last], disjunction(v)(L), part)
                    all_rows = one_more_row(p, L, disjunction(v), older, row)
                    return p.mp(p.at(wanted, lam(v, C)), all_rows)

                def longer(nonzero: Theorem) -> Theorem:
                    return either_way(
                        p, T.eq(dot(W, L, x), ZERO),
                        lambda orthogonal: _turned(p, steps, x, old, nonzero, orthogonal, by_row),
                        lambda other: by_row(x, old, 1, other),
                    )  # fmt: skip

                found = either_way(
                    p, T.eq(length(L), ZERO), lambda zero: by_row(x, old, 0, zero), longer
                )
                found = p.discharge(found, old)
            found = infer("generalise-tensor", [found], "x", 1)
            step = p.discharge(p.mp(before, found), wanted)
        step = p.discharge(step, before)
    return p.induction(base, step, L)


def small_step(p: Prover) -> Theorem:
    """For tensors g, h and every l: some e != 0 has g_k + e h_k != 0 wherever g_k != 0, k < l."""
    g, h = vector("g"), vector("h")
    ratio: Vector = lambda j: T.mul(T.power(h(j), 2), T.power(g(j), -2))  # noqa: E731
    nonneg = p.for_all(p.order(T.le(ZERO, ratio(J))), J)
    top, e = T.var("m"), T.var("e")
    goal = stepped(g, h, L)

    def within(found: Theorem) -> Theorem:
        low, below = p.fact(p.part(found, 0)), p.part(found, 1)
        more = T.add(ONE, top)
        inverse = T.exists(e, T.eq(T.mul(e, more), ONE))
        exists = p.exists(inverse, T.inv(more), p.cancel(more, low))
        return p.choose(exists, e, lambda unit: step(unit, below))

    def step(unit: Theorem, below: Theorem) -> Theorem:
        def no_step(zero: Theorem, target: Term) -> Theorem:
            one = p.equal(ONE, ZERO, (T.num(-1), unit), (T.add(ONE, top), zero), show=False)
            return absurd(one, p.trivial(not_zero(ONE)), target)

        nonzero = denied(p, T.eq(e, ZERO), no_step)
        with p.supposing(T.lt(J, L)) as case, p.supposing(not_zero(g(J))) as apart:
            moved = T.add(g(J), T.mul(e, h(J)))

            def meets(zero: Theorem, target: Term) -> Theorem:
                """Then h = -(1 + m) g, so that h^2/g^2 = (1 + m)^2 > m."""
                more = T.add(ONE, top)
                height = p.equal(
                    h(J), T.neg(T.mul(more, g(J))), (more, zero), (T.neg(h(J)), unit), show=False
                )
                opposite = T.mul(T.sub(h(J), T.mul(more, g(J))), T.power(g(J), -2))
                squared = p.equal(ratio(J), T.power(more, 2), (opposite, height), show=False)
                small = p.mp(p.at(below, J), case)
                large = p.order(T.lt(top, ratio(J)), (ONE, squared))
                return absurd(small, infer("not-le", [large]), target)

            row = p.discharge(denied(p, T.eq(moved, ZERO), meets), apart)
            row = p.discharge(row, case)
        return p.exists(goal, e, p.both(nonzero, p.for_all(row, J)))

    theorem = p.choose(has_bound(p, ratio, nonneg, L), top, within)
    for name in ("h", "g"):
        theorem = infer("generalise-tensor", [theorem], name, 1)
    return theorem


def stepped(g: Vector, h: Vector, limit: Term) -> Term:
    e = T.var("e")
    keeps = rows(
        limit,
        lambda j: T.implies(not_zero(g(j)), not_zero(T.add(g(j), T.mul(e, h(j))))),
    )
    return T.exists(e, T.conj(not_zero(e), keeps))


def product_not_zero(p: Prover, a: Term, b: Term, first: Theorem, second: Theorem) -> Theorem:
    """not a b = 0, from the same for a and b, whatever they are made of."""
    u, v = T.var("u"), T.var("v")
    with p.supposing(not_zero(u)) as one, p.supposing(not_zero(v)) as other:
        theorem = p.trivial(not_zero(T.mul(u, v)))
        theorem = p.discharge(p.discharge(theorem, other), one)
    return p.mp(p.mp(p.at(p.for_all(theorem, u, v), a, b), first), second)


def _turned(p: Prover, steps: Theorem, x: Vector, old: Theorem, nonzero: Theorem,
            orthogonal: Theorem, by_row: Callable[[Vector, Theorem, int, Theorem], Theorem]
            ) -> Theorem:  # fmt: skip
    """A small step along row l, to which x is orthogonal, makes that row generic as well."""
    e = T.var("e")
    g: Vector = lambda j: dot(W, j, x)  # noqa: E731
    h: Vector = lambda j: dot(W, j, lambda a: W(L, a))  # noqa: E731
    moved: Vector = lambda a: T.add(x(a), T.mul(e, W(L, a)))  # noqa: E731
    some = p.at(steps, lam(g, J), lam(h, J))

    def within(found: Theorem) -> Theorem:
        step, keeps = p.part(found, 0), p.part(found, 1)
        disjunction = T.disj(T.eq(length(J), ZERO), not_zero(dot(W, J, moved)))

        def put(theorem: Theorem, value: Term, row: Term) -> Theorem:
            same = p.equal(value, dot(W, row, moved), show=False)
            return p.rewrite(same, theorem, not_zero)

        with p.supposing(T.lt(J, L)) as case:

            def apart(other: Theorem) -> Theorem:
                kept = p.mp(p.mp(p.at(keeps, J), case), other)
                value = T.add(g(J), T.mul(e, h(J)))
                return infer("disjunct", [put(kept, value, J)], disjunction, 1)

            row = p.cases(
                p.mp(p.at(old, J), case),
                lambda zero: infer("disjunct", [zero], disjunction, 0), apart,
            )  # fmt: skip
            row = p.discharge(row, case)
        product = product_not_zero(p, e, length(L), step, nonzero)
        value = T.mul(e, length(L))
        same = p.equal(value, dot(W, L, moved), (T.num(-1), orthogonal), show=False)
        last = p.rewrite(same, product, not_zero)
        return by_row(moved, p.for_all(row, J), 1, last)

    return p.choose(some, e, within)


# ---------------------------------------------------------------------- far out


def relu(t: Term) -> Term:
    return T.fn("max", ZERO, t)


def output(j: Term, v: Vector, w: Matrix = W, b: Vector = B) -> Term:
    """Unit j at the point v."""
    return relu(T.add(dot(w, j, v), b(j)))


def active(j: Term, x: Vector) -> Term:
    """1 if unit j is active far out in the direction x, otherwise 0."""
    return T.sub(ONE, T.delta(relu(dot(W, j, x)), ZERO))


def reach(g: Term, b: Term, k: Term) -> Term:
    """How far out is far enough for one unit."""
    return T.mul(T.add(ONE, T.power(b, 2), T.power(k, 2)), T.add(ONE, T.power(g, -2)))


def switched_off(p: Prover) -> Theorem:
    """For g < 0 and a distance t of at least the reach: t g + b <= 0 and t g + b + k <= 0."""
    t, g, b, k = (T.var(name) for name in "tgbk")
    goal = T.conj(
        T.le(T.add(T.mul(t, g), b), ZERO), T.le(T.add(T.mul(t, g), k, b), ZERO)
    )  # fmt: skip
    far = T.le(reach(g, b, k), t)
    with p.supposing(T.lt(g, ZERO)) as down, p.supposing(far) as away:
        steep = p.order(T.lt(ZERO, T.neg(T.inv(g))), (T.power(g, -2), down))
        weight = p.nonneg(T.add(ONE, T.power(b, 2), T.power(k, 2)))
        common = [(ONE, away, down), (ONE, steep, weight, p.square(T.add(ONE, g)))]
        squares = {s: p.square(s) for s in (b, k, T.sub(b, HALF), T.sub(k, HALF))}
        first = p.order(
            goal.children[0], *common, (ONE, squares[b]), (TWO, squares[k]),
            (ONE, squares[T.sub(b, HALF)]),
        )  # fmt: skip
        second = p.order(goal.children[1], *common, *((ONE, square) for square in squares.values()))
        theorem = p.discharge(p.discharge(p.both(first, second), away), down)
        p.note(
            theorem,
            "a unit with the slope $g<0$ and the bias $b$ is off at this distance $t$, and still "
            "after a step of $k$",
        )
    return p.for_all(theorem, t, g, b, k)


def injective(w: Matrix = W, b: Vector = B) -> Term:
    """The layer gives different outputs for different inputs."""
    j = T.var("j", "fin", F)
    x, y = vector("x"), vector("y")
    same = T.forall(j, T.eq(output(j, x, w, b), output(j, y, w, b)))
    return every("x", every("y", T.implies(same, T.forall(C, T.eq(x(C), y(C))))))


def active_rows_determine(p: Prover, one_to_one: Theorem) -> Theorem:
    """For every generic x: only 0 is orthogonal to the rows that are active in its direction."""
    x = vector("x")
    ones: Vector = lambda _: ONE  # noqa: E731
    goal = only_zero(F, W, lambda j: active(j, x), ones)
    off = switched_off(p)
    with p.supposing(generic(F, x)) as direction:
        inner = T.instantiate(goal.children[0], ("v",))
        with p.supposing(inner.children[0]) as solution:
            v, solves = vector("v"), p.part(solution, 1)
            distances: Vector = lambda j: reach(dot(W, j, x), B(j), dot(W, j, v))  # noqa: E731
            nonneg = p.for_all(p.nonneg(distances(J)), J)
            top = T.var("m")

            def within(found: Theorem) -> Theorem:
                bound = p.part(found, 1)
                here: Vector = lambda a: T.mul(top, x(a))  # noqa: E731
                there: Vector = lambda a: T.add(here(a), v(a))  # noqa: E731
                with p.supposing(T.lt(J, F)) as case:
                    unit = _Unit(p, x, v, here, there)
                    same = unit.agrees(
                        p.mp(p.at(direction, J), case), p.mp(p.at(solves, J), case),
                        p.mp(p.at(bound, J), case), off,
                    )  # fmt: skip
                    same = p.discharge(same, case)
                j = T.var("j", "fin", F)
                all_rows = p.mp(p.at(p.for_all(same, J), j), p.trivial(T.lt(j, F)))
                equal = p.mp(p.at(one_to_one, lam(here, C), lam(there, C)), p.for_all(all_rows, j))
                return p.for_all(
                    p.equal(v(C), ZERO, (T.num(-1), p.at(equal, C)), show=False), C
                )  # fmt: skip

            zero = p.choose(has_bound(p, distances, nonneg, F), top, within)
            theorem = p.discharge(zero, solution)
        theorem = infer("generalise-tensor", [theorem], "v", 1)
        theorem = p.discharge(theorem, direction)
    return infer("generalise-tensor", [theorem], "x", 1)


class _Unit:
    """Unit k at the points `here` and `there`, far out: its two outputs agree."""

    def __init__(self, p: Prover, x: Vector, v: Vector, here: Vector, there: Vector) -> None:
        self.p, self.here, self.there = p, here, there
        self.slope, self.shift = dot(W, J, x), dot(W, J, v)
        self.goal = T.eq(output(J, here), output(J, there))
        self.pre = [T.add(dot(W, J, point), B(J)) for point in (here, there)]

    def agrees(self, kind: Theorem, solves: Theorem, bound: Theorem, off: Theorem) -> Theorem:
        p, slope = self.p, self.slope

        def not_negative(low: Theorem) -> Theorem:
            return p.cases(
                p.dichotomy(slope, ZERO),
                lambda high: self.at_rest(kind, infer("antisymmetry", [high, low])),
                lambda positive: self.orthogonal(
                    self.chosen(positive, solves),
                    "units with a positive product: their rows are orthogonal to the step $v$",
                ),
            )

        return p.cases(
            p.dichotomy(ZERO, slope), not_negative, lambda down: self.off(down, bound, off)
        )

    def chosen(self, positive: Theorem, solves: Theorem) -> Theorem:
        """The unit is active in the direction x, so that its row is among the equations."""
        p = self.p
        t = T.var("t")
        with p.supposing(T.lt(ZERO, t)) as above:
            bracket = T.delta(relu(t), ZERO)
            none = p.equal(bracket, ZERO, (T.inv(t), bracket_law(p, t)), show=False)
            none = p.discharge(none, above)
        none = p.mp(p.at(p.for_all(none, t), self.slope), positive)
        return p.equal(self.shift, ZERO, (ONE, solves), (self.shift, none), show=False)

    def at_rest(self, kind: Theorem, orthogonal: Theorem) -> Theorem:
        """The row is 0."""
        p = self.p

        def zero(length_zero: Theorem) -> Theorem:
            entries = p.for_all(entry_zero(p, length_zero), C)
            return self.orthogonal(
                p.equal(self.shift, ZERO, entries, show=False),
                "units whose row is 0: no step changes them",
            )

        return p.cases(kind, zero, lambda other: absurd(orthogonal, other, self.goal))

    def orthogonal(self, unmoved: Theorem, reason: str) -> Theorem:
        """The step does not change what comes before the activation."""
        same = self.p.equal(*self.pre, (T.num(-1), unmoved), show=False)
        left = relu(self.pre[0])
        itself = self.p.equal(left, left, show=False)
        theorem = self.p.rewrite(same, itself, lambda hole: T.eq(left, relu(hole)))
        return self.p.note(theorem, reason)

    def off(self, down: Theorem, bound: Theorem, off: Theorem) -> Theorem:
        """The unit gives 0 at both points."""
        p = self.p
        at = p.at(off, T.var("m"), self.slope, B(J), self.shift)
        both = p.mp(p.mp(at, down), bound)
        zeros = []
        for n, pre in enumerate(self.pre):
            below = p.order(T.le(pre, ZERO), (ONE, p.part(both, n)))
            zeros.append(p.mp(p.axiom("max-left", ZERO, pre), below))
        return p.equal(
            *self.goal.children, (ONE, zeros[0]), (T.num(-1), zeros[1]),
            reason="units with a negative product: they give 0 at both points",
        )  # fmt: skip


def entry_zero(p: Prover, length_zero: Theorem) -> Theorem:
    """W_kc = 0, since its square is at most the square of the length of the row."""
    entry = W(J, C)
    others = T.sum_over(A_, T.power(T.mul(T.sub(ONE, T.delta(A_, C)), W(J, A_)), 2))
    most = p.order(T.le(T.power(entry, 2), ZERO), (ONE, p.nonneg(others)), (T.num(-1), length_zero))
    square = infer("antisymmetry", [most, p.square(entry)])
    return either_way(
        p, T.eq(entry, ZERO), lambda zero: zero,
        lambda _: p.equal(entry, ZERO, (T.inv(entry), square), show=False),
    )  # fmt: skip


# ---------------------------------------------------------------------- the count

ENOUGH = T.le(T.mul(TWO, D), F)


def needs_two_for_each(p: Prover) -> Theorem:
    """injective -> 2 d <= the number of units."""
    x = vector("x")
    opposite: Vector = lambda a: T.neg(x(a))  # noqa: E731
    exists = p.note(
        p.at(some_direction(p, ENOUGH), F),
        "for what follows a direction $x$ may be taken to which no row is orthogonal, but those "
        "that are 0: by induction over the rows, with a small step along each row for which it is "
        "not so",
    )
    count = p.note(
        equations_count(p),
        "equations that leave only 0 are at least as many as the unknowns, by induction over the "
        "equations; $v$ and $w$ say which equations and which unknowns there are",
    )
    with p.supposing(injective()) as case:
        p.note(case, "let no two inputs have the same output")
        determine = p.note(
            active_rows_determine(p, case),
            "all outputs agree, so that the step is 0: rows with a positive product leave only 0",
        )
        with p.supposing(generic(F, x)) as direction:
            sides = (x, opposite), (
                r"hence at least $d_{\text{model}}$ units are active far out in the direction $x$",
                "and as many in the opposite direction",
            )  # fmt: skip
            parts = [
                p.note(_enough(p, determine, count, v, _opposed(p, direction, x, v)), reason)
                for v, reason in zip(*sides, strict=True)
            ]
            j = T.var("j", "fin", F)
            once = p.order(
                T.le(T.add(active(j, x), active(j, opposite)), ONE),
                (ONE, p.at(count_brackets(p), dot(W, j, x))),
                reason="no unit is active in both",
            )
            theorem = p.order(
                ENOUGH, *((ONE, part) for part in parts), (ONE, p.sum_order(once, j)),
                reason="count the units, in such a direction $x$",
            )  # fmt: skip
            theorem = p.discharge(theorem, direction)
        theorem = infer("generalise-tensor", [theorem], "x", 1)
        return p.discharge(p.mp(exists, theorem), case)


def _opposed(p: Prover, direction: Theorem, x: Vector, v: Vector) -> Theorem:
    """If x is generic, so is -x."""
    if v is x:
        return direction
    value, negated = dot(W, J, x), dot(W, J, v)
    disjunction = T.disj(T.eq(length(J), ZERO), not_zero(negated))
    with p.supposing(T.lt(J, F)) as case:

        def apart(other: Theorem) -> Theorem:
            def back(zero: Theorem, target: Term) -> Theorem:
                return absurd(p.equal(value, ZERO, (T.num(-1), zero), show=False), other, target)

            return infer("disjunct", [denied(p, T.eq(negated, ZERO), back)], disjunction, 1)

        row = p.cases(
            p.mp(p.at(direction, J), case),
            lambda zero: infer("disjunct", [zero], disjunction, 0), apart,
        )  # fmt: skip
        row = p.discharge(row, case)
    return p.for_all(row, J)


def _enough(p: Prover, determine: Theorem, count: Theorem, v: Vector, direction: Theorem
            ) -> Theorem:  # fmt: skip
    """d <= the number of units that are active in the direction v."""
    ones: Vector = lambda _: ONE  # noqa: E731
    signs: Vector = lambda j: active(j, v)  # noqa: E731
    only = p.mp(p.at(determine, lam(v, C)), direction)
    one = p.equal(T.mul(ONE, ONE), ONE, show=False)
    square = p.equal(T.mul(signs(J), signs(J)), signs(J), show=False)
    given = p.both(p.both(p.for_all(one, C), p.for_all(square, J)), only)
    return _apply(p, p.at(count, F), W, signs, ones, given)
