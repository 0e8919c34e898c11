"""The automatic prover: simple strategies over the moves of `Prover`.

It looks for ring identities, uses hypotheses as rewriting rules, completes them with the
identities of the functions that occur (``sin^2 + cos^2 = 1``, ``x^-1 x = 1``) and splits into
cases at maxima, minima and absolute values.  It may fail; it cannot be wrong, since every move
ends in kernel rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations, islice
from typing import Final

from derive import (
    connectives,
    consequences,
    fractions,
    gradients,
    growth,
    inequalities,
    instances,
    lemmas,
    norms,
    orders,
    piecewise,
    powers,
    proportional,
    residues,
    search,
    sizes,
    solving,
    substitution,
    sums,
    tangents,
    termwise,
    weights,
)
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, fact_normaliser, infer
from derive.kernel.terms import KernelError, Term
from derive.prover import Prover

MAX_SPLITS: Final = 3
_SPLIT: Final = ("max", "min", "abs")
#: Ranges of a literal length up to this are tried one index at a time.
MAX_CASES: Final = 4
#: Statements that are proved part by part.
_STRUCTURE: Final = ("imp", "forall", "and")

Strategy = Callable[[Prover, Term], Theorem]


def prove(p: Prover, goal: Term, splits: int = MAX_SPLITS) -> Theorem:
    """A theorem with conclusion `goal`; raises `search.NotFound` or `KernelError`."""
    if not (p.patient and splits == MAX_SPLITS) or goal.op in _STRUCTURE:
        return _by_parts(p, goal, splits)
    with p.remembering(*consequences.of_absolute_values(p)):
        try:
            return _by_parts(p, goal, splits)
        except (search.NotFound, KernelError) as error:
            failure = error
        return _at_last(p, goal, splits, failure)


def _at_last(p: Prover, goal: Term, splits: int, failure: Exception) -> Theorem:
    """In cases, for any weights, or with what follows from all that is known."""
    strategies = (
        lambda: residues.by_cases(p, goal, lambda part: prove(p, part, splits - 1)),
        lambda: _piecewise(p, goal),
        lambda: weights.made_general(p, goal, lambda new: _by_parts(p, new, splits)),
    )
    for strategy in strategies:
        try:
            return strategy()
        except (search.NotFound, KernelError):
            continue
    further = consequences.of(p)
    with p.remembering(*further):
        try:
            if further:
                return _by_parts(p, goal, splits)
        except (search.NotFound, KernelError):
            pass
    raise failure


def _by_parts(p: Prover, goal: Term, splits: int) -> Theorem:
    """The goal as it is or, if need be, in the cases of what is left open."""
    try:
        return _prove(p, goal, splits)
    except (search.NotFound, KernelError) as error:
        if not (p.patient and splits) or goal.op in _STRUCTURE:
            raise
        failure = error
    try:
        return connectives.opened(p, goal, lambda part: prove(p, part, splits - 1))
    except (search.NotFound, KernelError):
        raise failure from None


def _prove(p: Prover, goal: Term, splits: int) -> Theorem:
    match goal.op:
        case "and" if goal.children:
            return infer("conj", [prove(p, c, splits) for c in goal.children])
        case "imp":
            return _implication(p, goal, splits)
        case "forall":
            return _universal(p, goal, splits)
        case "eq" | "le" | "lt":
            return _relation(p, goal, splits)
        case "isint":
            return _integer(p, goal, splits)
        case "grad":
            return gradients.prove(p, goal, lambda c: prove(p, c, splits))
        case "not" if goal.children[0].op == "eq":
            return _unequal(p, goal)
        case _:
            return _connected(p, goal, splits)


def _connected(p: Prover, goal: Term, splits: int) -> Theorem:
    """By evaluation, or "or", "there is" and "not" by their parts."""
    try:
        return search.decided(goal, p.facts())
    except KernelError:
        if not (p.patient and splits) or goal.op not in ("or", "exists", "not"):
            raise
    strategies = {
        "or": connectives.alternative, "exists": connectives.some, "not": connectives.denial,
    }  # fmt: skip
    return strategies[goal.op](p, goal, lambda part: prove(p, part, splits - 1))


def _unequal(p: Prover, goal: Term) -> Theorem:
    """not a = b: from known signs, or since one of the two is less."""
    try:
        return search.decided(goal, p.facts())
    except KernelError as error:
        if not p.patient:
            raise
        failure = error
    lemmas.learn(p, goal.children[0])
    a, b = goal.children[0].children
    try:
        return lemmas.nonzero(p, a) if b is T.ZERO else search.decided(goal, p.facts())
    except KernelError:
        pass
    for less in (T.lt(a, b), T.lt(b, a)):
        try:
            return infer("apart", [prove(p, less, 0)]) if less.children[0] is a else _apart(p, less)
        except (search.NotFound, KernelError):
            continue
    with p.supposing(goal.children[0]) as case:
        try:
            return infer("deny", [connectives.no_fraction(p, case)], case.conclusion)
        except KernelError:
            pass
    try:
        return powers.nonzero(p, a if b is T.ZERO else T.ZERO)
    except (search.NotFound, KernelError):
        raise failure from None


def _apart(p: Prover, less: Term) -> Theorem:
    """not a = b from b < a."""
    a, b = reversed(less.children)
    supposed = infer("assume", [], T.eq(a, b))
    swapped = p.equal(b, a, (-1, supposed), show=False)
    absurd = infer("contradiction", [swapped, infer("apart", [prove(p, less, 0)])],
                   T.negate(T.eq(a, b)))  # fmt: skip
    return infer("deny", [absurd], T.eq(a, b))


def _integer(p: Prover, goal: Term, splits: int) -> Theorem:
    """t is an integer: as a known integer plus another, with known values put in, by induction."""
    (t,) = goal.children
    try:
        return infer("integer", _needed(p, goal), t)
    except KernelError as error:
        if not p.patient:
            raise
        failure = error
    for known in p.facts():
        if known.conclusion.op == "isint":
            try:
                return _from_integer(p, known, t)
            except (search.NotFound, KernelError):
                continue
    for one, other in combinations(
        islice((g for g in p.facts() if g.conclusion.op == "isint"), 4), 2
    ):
        try:
            return _from_product(p, one, other, t)
        except (search.NotFound, KernelError):
            continue
    try:
        return substitution.rewritten(
            p, goal, lambda new: infer("integer", p.facts(), *new.children)
        )
    except (search.NotFound, KernelError):
        return _over_sizes(p, goal, splits, failure)


def _from_integer(p: Prover, known: Theorem, t: Term) -> Theorem:
    """t = u + (t - u) is an integer if u is known to be one and t - u is seen to be one."""
    (u,) = known.conclusion.children
    difference = fact_normaliser("search", p.facts()).term(T.sub(t, u))
    v = T.var("_v", "real")
    with p.supposing(T.isint(v)) as case:
        law = p.discharge(infer("integer", p.facts(), T.add(v, difference)), case)
    both = p.mp(p.at(p.for_all(law, v), u), known)
    same = p.equal(T.add(u, difference), t, show=False)
    return p.rewrite(same, both, T.isint)


def _from_product(p: Prover, one: Theorem, other: Theorem, t: Term) -> Theorem:
    """t = u v is an integer if u and v are known to be."""
    factors = [g.conclusion.children[0] for g in (one, other)]
    same = p.equal(T.mul(*factors), t, show=False)
    names = [T.var(f"_v{k}", "real") for k in range(2)]
    with p.supposing(T.conj(*map(T.isint, names))) as case:
        law = p.discharge(infer("integer", p.facts(), T.mul(*names)), case)
    both = p.mp(p.at(p.for_all(law, *names), *factors), one, other)
    return p.rewrite(same, both, T.isint)


def _needed(p: Prover, goal: Term) -> list[Theorem]:
    try:
        infer("integer", [], goal.children[0])
    except KernelError:
        return p.facts()
    return []


def _implication(p: Prover, goal: Term, splits: int) -> Theorem:
    premise, conclusion = goal.children
    with p.supposing(premise) as case:
        theorem = prove(p, conclusion, splits)
    return infer("discharge", [theorem], case.conclusion)


def _universal(p: Prover, goal: Term, splits: int) -> Theorem:
    sort, arity = goal.data
    if sort == "tensor":
        p.opened += 1
        name = f"_X{p.opened}"
        theorem = prove(p, T.instantiate(goal.children[-1], (name,)), splits)
        return infer("generalise-tensor", [theorem], name, arity)
    x = fresh(sort, goal.children[:-1], p)
    try:
        theorem = prove(p, T.instantiate(goal.children[-1], (x,)), splits)
    except (search.NotFound, KernelError):
        if sort == "nat" and splits:
            return _by_induction(p, goal, x)
        if sort == "fin" and splits and _may_be_zero(goal.children[0]):
            return sizes.zero_or_more(p, goal, goal.children[0], lambda new: prove(p, new, 0))
        if sort != "fin" or goal.children[0].op != "num" or goal.children[0].data > MAX_CASES:
            raise
        values = [T.num(k) for k in range(int(goal.children[0].data))]
        each = [prove(p, T.instantiate(goal.children[-1], (v,)), splits) for v in values]
        return infer("finite-forall", each, goal)
    return infer("generalise", [theorem], x)


def _may_be_zero(size: Term) -> bool:
    return size.op == "var" and bool(size.data[1] == "nat")


def _by_induction(p: Prover, goal: Term, x: Term) -> Theorem:
    """The goal from the case 0 and the step, with all that is known at the number before."""
    body = goal.children[-1]
    base = prove(p, T.instantiate(body, (T.ZERO,)), 0)
    after = T.instantiate(body, (T.add(x, T.ONE),))
    with p.supposing(T.instantiate(body, (x,))) as case:
        step = prove(p, after, 0)
    step = infer("generalise", [infer("discharge", [step], case.conclusion)], x)
    return infer("induction", [base, step])


def fresh(sort: str, size: tuple[Term, ...], p: Prover) -> Term:
    p.opened += 1
    return T.var(f"_x{p.opened}", sort, *size)


def _relation(p: Prover, goal: Term, splits: int) -> Theorem:
    try:
        return _directly(p, goal)
    except (search.NotFound, KernelError) as error:
        failure = error
    bounds = _BOUNDS if goal.op != "eq" else ()
    strategies = (_with_powers, _with_lemmas, *_FURTHER, *bounds) if p.patient else (_with_lemmas,)
    for strategy in strategies:
        try:
            return strategy(p, goal)
        except (search.NotFound, KernelError):
            continue
    split = _split(goal, p) if splits else None
    if split is None:
        return _over_sizes(p, goal, splits, failure)

    def branch(case: Theorem) -> Theorem:
        try:
            return prove(p, goal, splits - 1)
        except (search.NotFound, KernelError):
            return _by_order(p, goal)

    try:
        return p.cases(p.dichotomy(*split), branch, branch)
    except (search.NotFound, KernelError):
        return _over_sizes(p, goal, splits, failure)


def _over_sizes(p: Prover, goal: Term, splits: int, failure: Exception) -> Theorem:
    """The goal by induction over one of its sizes; where that is no use either, the failure."""
    if splits < MAX_SPLITS or not p.patient:
        raise failure
    for strategy in (_by_sizes, _multiplied):
        try:
            return strategy(p, goal)
        except (search.NotFound, KernelError):
            continue
    raise failure


def _by_sizes(p: Prover, goal: Term) -> Theorem:
    return sizes.by_induction(p, goal, lambda new: prove(p, new, 0))


def _multiplied(p: Prover, goal: Term) -> Theorem:
    """a/b = c with powers, from a = c b by induction."""
    if goal.op != "eq" or not powers.occur(goal):
        raise search.NotFound(goal, "no equation with powers")
    for side, other in (goal.children, goal.children[::-1]):
        for place, part in enumerate(side.children if side.op == "mul" else ()):
            if part.op == "pow" and part.data == -1 and part.children[0].op == "add":
                below = part.children[0]
                above = T.mul(*side.children[:place], *side.children[place + 1 :])
                apart = prove(p, T.negate(T.eq(below, T.ZERO)), 0)
                inverse = infer("modus-ponens", [infer("axiom", [], "inverse", below), apart])
                product = prove(p, T.eq(above, T.mul(other, below)))
                sign = T.ONE if side is goal.children[0] else T.num(-1)
                items = (T.mul(sign, part), product), (T.mul(sign, other), inverse)
                return p.equal(*goal.children, *items, show=False)
    raise search.NotFound(goal, "no composite denominator")


def _by_order(p: Prover, goal: Term) -> Theorem:
    """In a case: since there is no such case, or since each side is at most the other."""
    try:
        return _absurd(p, goal)
    except (search.NotFound, KernelError):
        if goal.op != "eq":
            raise
    a, b = goal.children
    return infer("antisymmetry", [inequalities.prove(p, T.le(a, b)),
                                  inequalities.prove(p, T.le(b, a))])  # fmt: skip


def _absurd(p: Prover, goal: Term) -> Theorem:
    """Anything, where what is known of the order contradicts itself."""
    for known in reversed(p.facts()):
        if known.conclusion.op == "lt":
            a, b = known.conclusion.children
            try:
                other = inequalities.prove(p, T.le(b, a))
            except (search.NotFound, KernelError):
                continue
            return infer("contradiction", [other, infer("not-le", [known])], goal)
    false = T.le(T.ONE, T.ZERO)
    known = inequalities.prove(p, false)
    return infer("contradiction", [known, infer("decide", [], T.negate(false))], goal)


def _directly(p: Prover, goal: Term) -> Theorem:
    a, b = goal.children
    if goal.op != "eq":
        try:
            return p.nonneg(b) if goal.op == "le" and a is T.ZERO else p.order(goal)
        except KernelError:
            known = [g for g in p.known() if g.conclusion.op in ("eq", "le", "lt")]
            return p.order(goal, *((T.ONE, g) for g in known))
    equations = [g for g in p.known() if _is_equation(g.conclusion)]
    return p.equal(a, b, *equations, *_identities(p, goal), show=False)


def _with_lemmas(p: Prover, goal: Term) -> Theorem:
    """The goal with facts and identities that are found from the functions in it."""
    learned = lemmas.learn(p, goal)
    if goal.op != "eq":
        if p.patient:
            orders.learn(p, goal)
        return inequalities.prove(p, goal)
    a, b = goal.children
    equations = [g for g in p.known() if _is_equation(g.conclusion)]
    found = lemmas.equations(p, goal)
    if p.patient:
        found += proportional.equations(p, goal)
    if found or learned:
        try:
            return p.equal(a, b, *equations, *_cancellations(p, goal), *found, show=False)
        except (search.NotFound, KernelError):
            pass
    return lemmas.cleared(p, goal)


def _with_powers(p: Prover, goal: Term) -> Theorem:
    """The goal from what it becomes with powers of a symbolic exponent taken apart."""
    rewritten = partial(_rewritten, apart=True)

    def proved(new: Term) -> Theorem:
        ways = (_directly, _with_lemmas, rewritten, _solved, _divided, _with_instances)
        return _first(p, new, ways, "no proof with powers taken apart")

    return powers.prove(p, goal, proved)


def _rewritten(p: Prover, goal: Term, *, apart: bool = False) -> Theorem:
    """The goal from what it becomes with known values put in and arguments divided out.

    `apart`: powers have been taken apart before.  That is not done again, since values may lead to
    each other, g to v and v to g, and the terms would grow for ever.
    """

    def proved(new: Term) -> Theorem:
        again = (_with_powers,) if powers.occur(new) and not apart else ()
        try:
            return _first(p, new, (_directly, *again), "no proof with values put in")
        except search.NotFound:
            return _with_lemmas(p, new)

    return substitution.rewritten(p, goal, proved)


def _solved(p: Prover, goal: Term) -> Theorem:
    """An equation as a combination of known ones, if need be after they are used as rules."""
    if goal.op != "eq":
        raise search.NotFound(goal, "an inequality")
    a, b = goal.children
    equations = [g for g in p.known() if _is_equation(g.conclusion)]
    try:
        return search.equation(a, b, equations, p.facts())
    except search.NotFound as error:
        if error.rest is None or error.rest is T.sub(a, b):
            return solving.prove(p, goal)
        rest = error.rest
    first = search.equation(a, T.add(b, rest), equations, p.facts())
    second = solving.prove(p, T.eq(rest, T.ZERO))
    return p.equal(a, b, (1, first), (1, second), show=False)


def _antisymmetric(p: Prover, goal: Term) -> Theorem:
    """a = b, where a <= b and b <= a are known as they stand."""
    if goal.op == "eq":
        a, b = goal.children
        known = {g.conclusion: g for g in p.known()}
        if T.le(a, b) in known and T.le(b, a) in known:
            return infer("antisymmetry", [known[T.le(a, b)], known[T.le(b, a)]])
    raise search.NotFound(goal, "not bounded from both sides")


def _divided(p: Prover, goal: Term) -> Theorem:
    """a = b, from (s - t) (a - b) = 0 where s = t is known to be false."""
    if goal.op != "eq":
        raise search.NotFound(goal, "an inequality")
    gap = T.sub(*goal.children)
    apart_from = [T.sub(*g.conclusion.children[0].children) for g in p.known()
                  if g.conclusion.op == "not" and g.conclusion.children[0].op == "eq"]  # fmt: skip
    if any(g.conclusion.op == "eq" for g in p.known()):
        apart_from.append(T.add(*goal.children))  # from a^2 = b^2
    for by in apart_from:
        try:
            product = _solved(p, T.eq(T.mul(by, gap), T.ZERO))  # the cheaper one to miss
            apart = prove(p, T.negate(T.eq(by, T.ZERO)), 0)
            inverse = infer("modus-ponens", [infer("axiom", [], "inverse", by), apart])
            return p.equal(
                *goal.children, (T.inv(by), product), (T.neg(gap), inverse), show=False
            )  # fmt: skip
        except (search.NotFound, KernelError):
            continue
    raise search.NotFound(goal, "nothing to divide by")


def _roots(p: Prover, goal: Term) -> Theorem:
    """An equation from x = 0, where a power of x is known to be 0."""
    if goal.op != "eq":
        raise search.NotFound(goal, "an inequality")
    return powers.root(p, goal)


def _summed(p: Prover, goal: Term) -> Theorem:
    """An inequality between sums, from squares and from what is known of all terms."""
    if goal.op == "eq" or not any(_adds_up(c) for c in (goal, *(g.conclusion for g in p.known()))):
        raise search.NotFound(goal, "nothing is added up")
    return inequalities.prove(p, goal, sums.uses(p, goal))


def _summed_at_indices(p: Prover, goal: Term) -> Theorem:
    """The same, with what is known for all indices at those of the goal."""
    instances_there = list(sums.at_free_indices(p, goal)) if goal.op != "eq" else []
    if not instances_there:
        raise search.NotFound(goal, "nothing is known of its indices")
    with p.remembering(*instances_there):
        return _summed(p, goal)


def _mirrored(p: Prover, goal: Term) -> Theorem:
    """An equation whose difference is turned into its opposite by what is known."""
    if goal.op != "eq":
        raise search.NotFound(goal, "an inequality")
    return solving.mirrored(p, goal)


def _vanishing(p: Prover, goal: Term) -> Theorem:
    """a = b, from (a - b)^2 <= 0, where sums are known."""
    if goal.op != "eq" or not any(_adds_up(g.conclusion) for g in p.known()):
        raise search.NotFound(goal, "no sums are known")
    gap = T.sub(*goal.children)
    small = _summed(p, T.le(T.power(gap, 2), T.ZERO))
    square = infer("antisymmetry", [small, p.square(gap)])

    def nonzero(apart: Theorem) -> Theorem:
        inverse = infer("modus-ponens", [infer("axiom", [], "inverse", gap), apart])
        return p.equal(gap, 0, (T.inv(gap), square), (T.neg(gap), inverse), show=False)

    zero = p.cases(infer("excluded-middle", [], T.eq(gap, T.ZERO)), lambda zero: zero, nonzero)
    return p.equal(*goal.children, (1, zero), show=False)


def _adds_up(c: Term) -> bool:
    return c.op in ("eq", "le", "lt") and any(t.op == "sum" for t in T.subterms(c))


def _compared(p: Prover, goal: Term) -> Theorem:
    """An inequality of quotients, from its numerator."""
    if goal.op == "eq":
        raise search.NotFound(goal, "an equation")
    return fractions.compared(p, goal, lambda new: prove(p, new, 0))


def _through_functions(p: Prover, goal: Term) -> Theorem:
    """An inequality from one between the arguments of a logarithm or root."""
    if goal.op == "eq":
        raise search.NotFound(goal, "an equation")
    return orders.through_functions(p, goal, lambda new: prove(p, new, 0))


def _simply(p: Prover, goal: Term) -> Theorem:
    """An inequality by what leads to no other one."""
    return _first(
        p, goal, (_directly, _with_lemmas, _summed, _summed_at_indices), "no simple proof"
    )


def _first(p: Prover, goal: Term, ways: Sequence[Strategy], failure: str) -> Theorem:
    """The proof by the first of these ways that finds one."""
    for way in ways:
        try:
            return way(p, goal)
        except (search.NotFound, KernelError):
            continue
    raise search.NotFound(goal, failure)


def _common_factor(p: Prover, goal: Term) -> Theorem:
    """a f <= b f from a <= b, for a positive factor f of all terms."""
    if goal.op == "eq":
        raise search.NotFound(goal, "an equation")
    return fractions.by_common_factor(p, goal, lambda new: _simply(p, new))


def _squared(p: Prover, goal: Term) -> Theorem:
    """a <= b from a^2 <= b^2, for b >= 0, where there is a root in b or one of these is known."""
    rooted = goal.op == "le" and lemmas.free_functions(goal.children[1], "sqrt")
    if not rooted and not any(_is_known(p, orders.square_of(side)) for side in goal.children):
        raise search.NotFound(goal, "no squares are known")
    if goal.op != "eq":
        return orders.by_squares(p, goal, lambda new: _simply(p, new))
    a, b = goal.children
    both = [orders.by_squares(p, c, lambda new: _simply(p, new)) for c in (T.le(a, b), T.le(b, a))]
    return infer("antisymmetry", both)


def _is_known(p: Prover, t: Term) -> bool:
    """Whether something is known of a term."""
    relations = (g.conclusion for g in p.known() if g.conclusion.op in ("eq", "le", "lt"))
    return any(s is t for c in relations if t.free <= c.free for s in T.subterms(c))


def _inverted(p: Prover, goal: Term) -> Theorem:
    """An equation from a known one between exponentials, by the logarithms of both sides."""
    if goal.op != "eq":
        raise search.NotFound(goal, "an inequality")
    logs = list(orders.logarithms_of_exponentials(p))
    if not logs:
        raise search.NotFound(goal, "no exponentials are known to be equal")
    with p.remembering(*logs):
        return _solved(p, goal)


def _between_exponentials(p: Prover, goal: Term) -> Theorem:
    """An inequality with exponentials, from those of what is known to be less."""
    if goal.op == "eq" or not any(t.op == "fn" and t.data == "exp" for t in T.subterms(goal)):
        raise search.NotFound(goal, "no inequality of exponentials")
    with p.remembering(*orders.exponentials(p)):
        return _simply(p, goal)


def _all_alike(p: Prover, goal: Term) -> Theorem:
    """An equation where entries for all indices are known to be that at an index of the goal."""
    if goal.op == "eq":
        for rule in sums.alike(p, goal):
            try:
                left, right = (p.replace(side, rule) for side in goal.children)
                return p.equal(*goal.children, (1, left), (-1, right), show=False)
            except (search.NotFound, KernelError):
                continue
    raise search.NotFound(goal, "no entries are alike")


def _grown(p: Prover, goal: Term) -> Theorem:
    """An inequality with exponentials, from the order of their exponents."""
    uses = growth.compared(p, goal)
    if not uses:
        raise search.NotFound(goal, "no exponentials are compared")
    return inequalities.prove(p, goal, uses)


def _by_product(p: Prover, goal: Term) -> Theorem:
    """An inequality of logarithms, from one between the products of their arguments."""
    return growth.by_product(p, goal, lambda new: _without_logarithms(p, new))


def _without_logarithms(p: Prover, goal: Term) -> Theorem:
    ways = (_simply, _grown, _compared, _common_factor)
    return _first(p, goal, ways, "no proof of the order of products")


def _tangent(p: Prover, goal: Term) -> Theorem:
    """An inequality of logarithms, from log x <= x - 1 at quotients of their arguments."""
    if not any(t.op == "fn" and t.data == "log" for t in T.subterms(goal)):
        raise search.NotFound(goal, "no inequality of logarithms")
    try:
        return inequalities.prove(p, goal, tangents.uses(p, goal))
    except search.NotFound:
        pass

    def proved(new: Term) -> Theorem:
        return inequalities.prove(p, new, tangents.uses(p, new))

    return lemmas.expanded(p, goal, proved)


def _positive(p: Prover, goal: Term) -> Theorem:
    """0 < t, for sums of what is positive."""
    if goal.op != "lt" or goal.children[0] is not T.ZERO:
        raise search.NotFound(goal, "not that something is positive")
    return growth.positive(p, goal.children[1])


def _by_norms(p: Prover, goal: Term) -> Theorem:
    """An inequality with norms, from <x, y> <= |x| |y| for the vectors that stand under roots."""

    def proved(uses: Sequence[norms.Use]) -> Theorem:
        try:
            return inequalities.prove(p, goal, uses)
        except search.NotFound:
            return orders.through_functions(p, goal, lambda new: _simply(p, new))

    return norms.by_inner_products(p, goal, lambda new: _squared(p, new), proved)


def _term_by_term(p: Prover, goal: Term) -> Theorem:
    """An inequality of sums over one index, from that of every term."""
    return termwise.each(p, goal, lambda new: _each(p, new))


def _each(p: Prover, goal: Term) -> Theorem:
    return _first(p, goal, (_with_lemmas, _piecewise), "no simple proof of a term")


def _piecewise(p: Prover, goal: Term) -> Theorem:
    """An inequality of maxima and absolute values, in all cases of these."""
    if goal.op not in ("le", "lt") or not lemmas.free_functions(goal, *_SPLIT):
        raise KernelError("no inequality of maxima")
    return piecewise.by_cases(p, goal, _split)


def _by_logarithm(p: Prover, goal: Term) -> Theorem:
    """An inequality with an exponential, from one between logarithms."""
    return growth.by_logarithm(p, goal, lambda new: _between_logarithms(p, new))


def _between_logarithms(p: Prover, goal: Term) -> Theorem:
    try:
        return _simply(p, goal)
    except (search.NotFound, KernelError):
        return _tangent(p, goal)


def _as_integers(p: Prover, goal: Term) -> Theorem:
    """Integers are at most others if they are less than the others plus 1."""
    a, b = goal.children
    work = fact_normaliser("search", p.facts())
    if goal.op == "lt" or not (work.is_int(a) and work.is_int(b)):
        raise search.NotFound(goal, "not between integers")
    one_way = _at_most(p, a, b)
    return one_way if goal.op == "le" else infer("antisymmetry", [one_way, _at_most(p, b, a)])


def _at_most(p: Prover, a: Term, b: Term) -> Theorem:
    below = inequalities.prove(p, T.lt(a, T.add(b, T.ONE)))
    return p.order(T.le(a, b), (1, p.next_integer(below)))


def _with_instances(p: Prover, goal: Term) -> Theorem:
    """The goal with instances of what is known for all indices, and what follows from them."""
    with p.remembering():
        if not instances.learn(p, goal):
            raise search.NotFound(goal, "no instances")
        first = (_directly, _with_powers) if powers.occur(goal) else (_directly,)
        ways = (*first, _with_lemmas, _rewritten, _solved, _squared)
        return _first(p, goal, ways, "instances do not help")


_FURTHER: Final = (
    _antisymmetric, _rewritten, _solved, _compared, _divided, _through_functions, _as_integers,
    _mirrored, _summed, _summed_at_indices, _vanishing, _with_instances, _common_factor, _squared,
    _inverted, _between_exponentials, _all_alike, _roots,
)  # fmt: skip
#: What is tried for inequalities only.
_BOUNDS: Final = (
    _grown, _by_product, _by_logarithm, _tangent, _term_by_term, _by_norms, _positive,
)  # fmt: skip


def _is_equation(c: Term) -> bool:
    while c.op == "forall" and c.data[0] != "tensor":
        c = c.children[-1]
    return c.op == "eq"


def _identities(p: Prover, goal: Term) -> list[Theorem]:
    """Instances of axioms for the functions and composite inverses in the goal."""
    out = _cancellations(p, goal)
    poly = fact_normaliser("search", p.facts()).poly(T.sub(*goal.children))
    atoms = dict.fromkeys(t for m in poly for t, _ in m.factors)
    for x in dict.fromkeys(t.children[0] for t in atoms if t.op == "fn" and t.data == "sin"):
        if not any(s.data[0].startswith("%") for s in T.free_symbols(x) if isinstance(s, Term)):
            out.append(p.axiom("pythagoras", x))
    return out


def _cancellations(p: Prover, goal: Term) -> list[Theorem]:
    """``t^-1 t = 1`` for the composite inverses in the goal."""
    out: list[Theorem] = []
    poly = fact_normaliser("search", p.facts()).poly(T.sub(*goal.children))
    for t in search.inverses(poly):
        try:
            out.append(p.cancel(t))
        except KernelError:
            continue
    return out


def _split(goal: Term, p: Prover) -> tuple[Term, Term] | None:
    """A comparison that decides a maximum, minimum or absolute value in the goal, a short one."""
    done = {g.conclusion for g in p.facts()}
    work = fact_normaliser("search", p.facts())
    simpler = T.eq(*map(work.term, goal.children))  # what is known decides some of them
    for formula in (goal, simpler):
        found = []
        for t in lemmas.free_functions(formula, *_SPLIT):
            a, b = (T.ZERO, t.children[0]) if t.data == "abs" else t.children[:2]
            nested = _has_split(a) or _has_split(b)
            if formula is goal and (nested or not _has_split(work.term(t))):
                continue
            if T.le(a, b) not in done and T.lt(b, a) not in done and a is not b:
                found.append((a, b))
        if found:
            return min(found, key=lambda s: sum(1 for c in s for _ in T.subterms(c)))
    return None


def _has_split(t: Term) -> bool:
    return any(s.op == "fn" and s.data in _SPLIT for s in T.subterms(t))


def prove_obligations(
    p: Prover, goals: Sequence[Term], by_hand: Callable[[Prover, Term], Theorem] | None
) -> list[Theorem]:
    """The obligations of a statement, each without hypotheses."""
    out = []
    p.patient = by_hand is None  # what is proved by hand need not be searched for long
    for g in goals:
        try:
            out.append(prove(p, g))
        except (search.NotFound, KernelError):
            if by_hand is None:
                raise
            out.append(by_hand(p, g))
    return out
