"""Fewer equations than unknowns: a system A v = 0 then has a solution that is not 0.

By induction over the rows.  If the last column is 0, its unit vector is a solution.  Otherwise a
row p with A[p, last] != 0 clears the last column of all others; the rows that remain, with the last
one in the place of row p, are one fewer, and their solution gives one of the whole system.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy as sp

from derive import rewriting
from derive.convert import Converter
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.kernel.terms import Term
from derive.language import (
    at_most,
    both,
    equal,
    exists,
    forall,
    implies,
    index,
    less,
    minus,
    natural,
    negation,
    plus,
    power,
    sequence,
    tensor,
    times,
    total,
)
from derive.prover import Prover

#: There are `rows` rows and rows + spare + 1 columns; their indices are natural numbers.
rows, spare = natural("r"), natural("k")
i, p_row = natural("i"), natural("p")
A = tensor("A", sp.oo, sp.oo)
v, w = sequence("v"), sequence("w")
last = rows + spare + 1


def column(size: Any) -> Any:
    return index("j", size)


def squares(vector: Any, size: Any) -> Any:
    return total(power(vector[column(size)], 2), column(size))


def dot(matrix: Any, row: Any, vector: Any, size: Any) -> Any:
    j = column(size)
    return total(times(matrix[row, j], vector[j]), j)


def solution(size: Any, number: Any, vector: Any = v) -> Any:
    """`vector` is not 0, and solves the equations of the first rows."""
    every = forall(i, implies(at_most(i + 1, number), equal(dot(A, i, vector, size), 0)))
    return both(less(0, squares(vector, size)), every)


SOLVABLE = forall([spare, A], exists(v, solution(last, rows)))


def null_vector_law(p: Prover) -> Theorem:
    """For all numbers of rows: SOLVABLE.  Its symbols are its own; its lines are shown in `p`."""
    own = Prover(Converter(), ())
    now, number = own.formula(SOLVABLE), own.term(rows)
    base = no_rows(own, T.substitute(now, {number: T.ZERO}))
    own.note(base, "a system without equations is solved by the vector of ones")
    with own.supposing(now) as known:
        own.note(known, "suppose that this holds for $r$ equations")
        step = one_row_more(own, known, T.substitute(now, {number: T.add(number, T.ONE)}))
    own.note(
        step,
        "take one more: if the last column is 0, its unit vector is a solution; otherwise clear it "
        "with a row whose last entry is not 0, and solve the $r$ rows that remain",
    )
    law = own.induction(base, own.discharge(step, known), rows)
    p.lines.extend(own.lines)
    return p.note(law, "so fewer equations than unknowns always have a solution that is not 0")


def null_vector(
    p: Prover, law: Theorem, matrix: T.Lam, sizes: tuple[Any, Any], goal: Any,
    row: Callable[[Theorem, Term, Term], Theorem],
) -> Theorem:  # fmt: skip
    """There is v with 0 < |v|^2 and for all indices q(v), where `row` proves q(v) at one of them.

    `sizes` holds the number of equations, and how many unknowns more than one more there are.
    `row` takes the equations, ``for all i: i + 1 <= equations -> Sum_j matrix[i, j] v[j] = 0``, the
    index, and the instance that it has to prove.
    """
    some = p.at(law, *sizes, matrix)
    wanted = p.formula(goal)
    vector = T.Lam(1, T.apply("_v", T.bound(0)))
    first, every = T.instantiate(wanted.children[-1], (vector,)).children
    place = T.var("_e", "fin", every.children[0])
    with p.supposing(T.instantiate(some.conclusion.children[-1], ("_v",))) as case:
        each = row(p.part(case, 1), place, T.instantiate(every.children[-1], (place,)))
        found = p.both(p.order(first, (1, p.part(case, 0))), p.for_all(each, place))
        theorem = p.exists(wanted, vector, found)
    return infer("choose", [some, theorem], "_v")


def _for_system(p: Prover, goal: Term, proof: Any) -> Theorem:
    """For all `spare` and A: what `proof` shows of the opened goal."""
    inner = T.instantiate(goal.children[-1], (p.term(spare),))
    opened = T.instantiate(inner.children[-1], ("A",))
    theorem = infer("generalise-tensor", [proof(opened)], "A", 2)
    return p.for_all(theorem, spare)


def _solved(p: Prover, goal: Term, value: T.Lam, positive: Any, row: Any) -> Theorem:
    """There is v: `positive` shows 0 < |v|^2, and ``row(i <= ..., equation)`` each equation."""
    first, every = T.instantiate(goal.children[-1], (value,)).children
    premise, equation = T.instantiate(every.children[-1], (p.term(i),)).children
    with p.supposing(premise) as within:
        theorem = row(within, equation)
    each = p.for_all(p.discharge(theorem, within), i)
    return p.exists(goal, value, p.both(positive(first), each))


def no_rows(p: Prover, goal: Term) -> Theorem:
    """Without equations every vector is a solution."""

    def absurd(within: Theorem, equation: Term) -> Theorem:
        never = infer("not-le", [p.order(less(0, i + 1))])
        outside = p.order(T.le(never.conclusion.children[0].children[0], T.ZERO), (1, within))
        return infer("contradiction", [outside, never], equation)

    ones = T.Lam(1, T.ONE)
    return _for_system(p, goal, lambda opened: _solved(p, opened, ones, p.order, absurd))


def one_row_more(p: Prover, known: Theorem, goal: Term) -> Theorem:
    some_pivot = exists(p_row, both(at_most(p_row, rows), negation(equal(A[p_row, last], 0))))

    def by_pivot(opened: Term) -> Theorem:
        split = infer("excluded-middle", [], p.formula(some_pivot))
        return p.cases(
            split,
            lambda some: p.choose(some, p_row, lambda pivot: eliminate(p, known, pivot, opened)),
            lambda none: clear_column(p, none, opened),
        )

    return _for_system(p, goal, by_pivot)


def clear_column(p: Prover, none: Theorem, goal: Term) -> Theorem:
    """The last column is 0: its unit vector is a solution."""
    unit = T.Lam(1, T.delta(T.bound(0), p.term(last)))

    def zero(within: Theorem, equation: Term) -> Theorem:
        entry = equal(A[i, last], 0)
        split = infer("excluded-middle", [], p.formula(entry))

        def absurd(case: Theorem) -> Theorem:
            inside = p.order(at_most(i, rows), (1, within))
            some = p.exists(none.conclusion.children[0], i, p.both(inside, case))
            return infer("contradiction", [some, none], p.formula(entry))

        vanishing = p.cases(split, lambda case: case, absurd)
        return p.equal(*equation.children, vanishing, show=False)

    return _solved(p, goal, unit, p.order, zero)


def outside(p: Prover, bound: Any) -> Theorem:
    """For all j < bound: delta(j, bound) = 0, as j is not the bound."""
    low, high = T.var("_x", "int"), T.var("_y", "int")
    gap, delta = T.sub(high, low), T.delta(low, high)
    product = p.equal(T.mul(delta, gap), 0, show=False)
    with p.supposing(T.lt(low, high)) as below:
        uses = ((T.inv(gap), product), (T.neg(delta), p.cancel(gap, below)))
        law = p.discharge(p.equal(delta, 0, *uses, show=False), below)
    size, limit = T.var("_q", "dim"), p.term(bound)
    some, j = T.var("_s", "fin", size), T.var("_j", "fin", limit)
    inside = p.order(T.lt(some, size))
    every = p.at(p.for_all(inside, size, some), limit)
    apart = p.mp(p.at(p.for_all(law, low, high), j, limit), p.at(every, j))
    return p.for_all(apart, j)


def eliminate(p: Prover, known: Theorem, pivot: Theorem, goal: Term) -> Theorem:
    """Row p has an entry in the last column that is not 0: use it to clear the others."""
    row, j = natural("c"), natural("d")
    smaller = plus(cleared(row, j), times(_one(row, p_row), cleared(rows, j)))
    some = p.at(known, spare, p.lam(smaller, row, j))

    def back(case: Theorem) -> Theorem:
        positive, solved = p.part(case, 0), p.part(case, 1)
        every = all_rows(p, solved, p.part(pivot, 0))
        return extend(p, positive, every, p.part(pivot, 1), goal)

    return p.choose(some, w, back)


def _one(a: Any, b: Any) -> Any:
    return sp.KroneckerDelta(a, b, evaluate=False)


def cleared(row: Any, at: Any) -> Any:
    """Row `row` times the pivot, less so much of row p that the last column is 0."""
    return minus(times(A[row, at], A[p_row, last]), times(A[row, last], A[p_row, at]))


def value(row: Any) -> Any:
    """The cleared row times w."""
    return total(times(cleared(row, column(last)), w[column(last)]), column(last))


def all_rows(p: Prover, solved: Theorem, within: Theorem) -> Theorem:
    """w solves the equations of all cleared rows, from those of the smaller system."""
    place = natural("c")
    at_place = p.term(value(place))

    def move(same: Theorem, theorem: Theorem) -> Theorem:
        return p.rewrite(
            same, theorem, lambda x: T.eq(T.substitute(at_place, {p.term(place): x}), T.ZERO)
        )

    own = p.equal(value(p_row), 0, show=False)

    def pivot_is_last(case: Theorem) -> Theorem:
        return move(infer("antisymmetry", [within, case]), own)

    def pivot_is_not(case: Theorem) -> Theorem:
        instead = p.mp(p.at(solved, p_row), p.next_integer(case))
        return p.equal(value(rows), 0, (1, instead), (-1, own), show=False)

    end = p.cases(p.dichotomy(rows, p_row), pivot_is_last, pivot_is_not)

    def earlier(case: Theorem) -> Theorem:
        here = p.mp(p.at(solved, i), p.next_integer(case))
        return p.equal(value(i), 0, (1, here), (times(-1, _one(i, p_row)), end), show=False)

    with p.supposing(at_most(i, rows)) as upto:
        theorem = p.cases(
            p.dichotomy(rows, i),
            lambda case: move(infer("antisymmetry", [case, upto]), end),
            earlier,
        )
    return p.for_all(p.discharge(theorem, upto), i)


def extend(p: Prover, positive: Theorem, every: Theorem, nonzero: Theorem, goal: Term) -> Theorem:
    """The pivot times w, and in the last place what makes row p vanish."""
    place, q = natural("d"), A[p_row, last]
    final = times(-1, dot(A, p_row, w, last))
    there = _one(place, last)
    entry = plus(times(there, final), times(minus(1, there), q, w[place]))
    apart, here = outside(p, last), p.equal(_one(last, last), 1, show=False)

    def split(term: Term, rest: Any, *using: Any) -> Theorem:
        """A sum over all columns is that over the first ones, and the last term."""
        unrolled = infer("unroll", [], "sum", p.term(last), term.children[1])
        columns = unrolled.conclusion.children[0].children[0]
        start = p.rewrite(
            p.equal(term.children[0], columns, show=False),
            rewriting.same(term),
            lambda size: T.eq(term, T.total(size, term.children[1])),
        )
        plain = p.replace(unrolled.conclusion.children[1], apart, here)
        end = p.equal(plain.conclusion.children[1], rest, *using, show=False)
        return p.linked(start, unrolled, plain, end)

    def not_zero(first: Term) -> Theorem:
        length = split(
            first.children[1], plus(times(power(q, 2), squares(w, last)), power(final, 2))
        )
        p.fact(nonzero)
        return p.order(first, (1, length), (power(q, 2), positive), (1, p.square(final)))

    def row(within: Theorem, equation: Term) -> Theorem:
        upto = p.order(at_most(i, rows), (1, within))
        known = p.mp(p.at(every, i), upto)
        return split(equation.children[0], 0, (1, known))

    return _solved(p, goal, p.lam(entry, place), not_zero, row)
