"""Of the first n members of a sequence that are marked, one is the lowest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.kernel.terms import Term
from derive.language import (
    at_most,
    both,
    either,
    equal,
    exists,
    forall,
    implies,
    less,
    natural,
    negation,
    sequence,
)
from derive.prover import Prover

many, at_m, at_j = natural("N"), natural("i"), natural("u")
marked, height = sequence("A"), sequence("H")


def _unless_marked(number: Any, bound: Any) -> Any:
    """Of the first ones: what is marked is no lower than the bound."""
    no_lower = either(equal(marked[at_m], 0), at_most(bound, height[at_m]))
    return forall(at_m, implies(less(at_m, number), no_lower))


def _lowest(number: Any) -> Any:
    unmarked = forall(at_m, implies(less(at_m, number), equal(marked[at_m], 0)))
    lowest = both(
        less(at_j, number), negation(equal(marked[at_j], 0)),
        _unless_marked(number, height[at_j]),
    )  # fmt: skip
    return either(unmarked, exists(at_j, lowest))


def lowest_law(p: Prover) -> Theorem:
    """For all n and sequences: of the first n, none is marked, or there is a lowest marked one."""
    formula = p.formula(_lowest(many))
    n = p.term(many)

    def of(number: Term) -> Term:
        return T.substitute(formula, {n: number})

    zero = of(T.ZERO)
    with p.supposing(less(at_m, 0)) as below:
        wrong = p.order(T.lt(T.ZERO, T.ZERO), (1, below))
        none = infer("contradiction", [wrong, p.trivial(T.negate(wrong.conclusion))],
                     p.formula(equal(marked[at_m], 0)))  # fmt: skip
    none = p.for_all(p.discharge(none, below), at_m)
    base = infer("disjunct", [none], zero, 0)
    with p.supposing(formula) as before:
        step = _one_more(p, before, of(T.add(n, T.ONE)))
    found = p.induction(base, p.discharge(step, before), many)
    return p.for_all_tensors(p.for_all_tensors(found, height), marked)


def _one_more(p: Prover, before: Theorem, goal: Term) -> Theorem:
    """For n + 1, from n: the new one may be unmarked, the first, the lowest, or none of these."""

    def unmarked(zero: Theorem) -> Theorem:
        def none(every: Theorem) -> Theorem:
            found = _each(p, goal.children[0], every, lambda _: zero)
            return infer("disjunct", [found], goal, 0)

        def some(lowest: Theorem) -> Theorem:
            return _keep(p, lowest, goal, lambda at_n: infer("disjunct", [zero], at_n, 0))

        return p.cases(before, none, lambda some_of: p.choose(some_of, at_j, some))

    def is_marked(nonzero: Theorem) -> Theorem:
        def none(every: Theorem) -> Theorem:
            def unmarked(within: Theorem, wanted: Term) -> Theorem:
                return infer("disjunct", [p.mp(p.at(every, at_m), within)], wanted, 0)

            return _take(p, nonzero, goal, unmarked)

        def some(lowest: Theorem) -> Theorem:
            return p.cases(
                p.dichotomy(height[at_j], height[many]),
                lambda above: _keep(
                    p, lowest, goal, lambda at_n: infer("disjunct", [above], at_n, 1)
                ),
                lambda below: _take(
                    p,
                    nonzero,
                    goal,
                    lambda within, wanted: _lower(p, lowest, below, within, wanted),
                ),
            )

        return p.cases(before, none, lambda some_of: p.choose(some_of, at_j, some))

    new = p.formula(equal(marked[many], 0))
    return p.cases(infer("excluded-middle", [], new), unmarked, is_marked)


def _lower(p: Prover, lowest: Theorem, below: Theorem, within: Theorem, wanted: Term) -> Theorem:
    """What is no lower than the lowest so far is no lower than the new one, which is lower."""
    return p.cases(
        p.mp(p.at(p.part(lowest, 2), at_m), within),
        lambda zero: infer("disjunct", [zero], wanted, 0),
        lambda above: infer(
            "disjunct", [p.order(wanted.children[1], (1, above), (1, below))], wanted, 1
        ),
    )


def _each(
    p: Prover, goal: Term, every: Theorem | Callable[[Theorem, Term], Theorem],
    at_last: Callable[[Term], Theorem],
) -> Theorem:  # fmt: skip
    """For all i < n + 1, from all i < n and from n; `at_last` takes its goal."""
    i, n = p.term(at_m), p.term(many)
    body = goal.children[0]
    with p.supposing(T.instantiate(body, (i,)).children[0]) as within:
        wanted = T.instantiate(body, (i,)).children[1]

        def last(reached: Theorem) -> Theorem:
            upto = p.order(T.le(i, n), (1, p.next_integer(within)))
            same = infer("antisymmetry", [reached, upto])
            at_n = at_last(T.instantiate(body, (n,)).children[1])
            return p.rewrite(same, at_n, lambda x: T.instantiate(body, (x,)).children[1])

        def earlier(below: Theorem) -> Theorem:
            if isinstance(every, Theorem):
                return p.mp(p.at(every, at_m), below)
            return every(below, wanted)

        found = p.cases(p.dichotomy(many, at_m), last, earlier)
    return p.for_all(p.discharge(found, within), at_m)


def _keep(
    p: Prover, lowest: Theorem, goal: Term, at_last: Callable[[Term], Theorem]
) -> Theorem:  # fmt: skip
    """The lowest one of n is that of n + 1, too."""
    some = goal.children[1]
    wanted = T.instantiate(some.children[0], (p.term(at_j),)).children
    found = p.both(
        p.order(wanted[0], (1, p.part(lowest, 0))), p.part(lowest, 1),
        _each(p, wanted[2], p.part(lowest, 2), at_last),
    )  # fmt: skip
    return infer("disjunct", [p.exists(some, at_j, found)], goal, 1)


def _take(
    p: Prover, nonzero: Theorem, goal: Term, earlier: Callable[[Theorem, Term], Theorem]
) -> Theorem:  # fmt: skip
    """The new one is the lowest of n + 1."""
    some = goal.children[1]
    wanted = T.instantiate(some.children[0], (p.term(many),)).children

    def itself(at_n: Term) -> Theorem:
        return infer("disjunct", [p.trivial(at_n.children[1])], at_n, 1)

    found = p.both(p.order(wanted[0]), nonzero, _each(p, wanted[2], earlier, itself))
    return infer("disjunct", [p.exists(some, many, found)], goal, 1)
