"""The order of logarithms, roots and exponentials in an inequality, from their arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations, permutations
from typing import Final

from derive import fractions, inequalities, lemmas, search
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, fact_normaliser, infer
from derive.kernel.terms import KernelError, Term
from derive.prover import Prover

#: So many pairs of exponentials are compared.
MAX_PAIRS: Final = 6
#: So many pairs of norms are multiplied.
MAX_NORMS: Final = 3
_FAILED = (search.NotFound, KernelError)


def learn(p: Prover, goal: Term) -> None:
    """Add what can be known of functions in an inequality to the facts."""
    for t in dict.fromkeys(T.subterms(goal)):
        if t.op == "fn" and t.data in ("log", "rpow") and t.children[0].op == "num":
            lemmas.learn_logarithm(p, t.children[0])
    _learn_order_of_roots(p, lemmas.free_functions(goal, "sqrt"))
    _learn_order_of_logarithms(p, lemmas.free_functions(goal, "log"))
    _learn_order_of_exponentials(p, goal)
    _learn_positive_integers(p)


def _learn_positive_integers(p: Prover) -> None:
    """1 <= t for what is known to be a positive integer, as a quotient of sizes that divide."""
    for whole in [f for f in p.facts() if f.conclusion.op == "isint"]:
        try:
            p.fact(p.next_integer(p.trivial(T.lt(T.ZERO, whole.conclusion.children[0]))))
        except _FAILED:
            continue


def _learn_order_of_roots(p: Prover, roots: list[Term]) -> None:
    """sqrt a <= sqrt b where a <= b is known, and the same for <."""
    known = {f.conclusion: f for f in p.facts()}
    for s, t in permutations(roots, 2):
        a, b = s.children[0], t.children[0]
        for relation, order in ((T.lt, known.get(T.lt(a, b))), (T.le, known.get(T.le(a, b)))):
            if order is not None and relation(s, t) not in known:
                try:
                    p.fact(_order_of_roots(p, relation(s, t), order))
                except _FAILED:
                    continue


def _order_of_roots(p: Prover, goal: Term, order: Theorem) -> Theorem:
    """By contradiction: roots in the other order have squares in the other order."""
    s, t = goal.children
    a, b = order.conclusion.children
    if goal.op == "le":
        split = p.dichotomy(s, t)

        def wrong(case: Theorem) -> Theorem:
            squares = p.order(T.lt(b, a), (1, case, case), (T.mul(T.num(2), t), case))
            return infer("contradiction", [order, infer("not-le", [squares])], goal)

        return p.cases(split, lambda case: case, wrong)
    split = p.dichotomy(t, s)

    def wrong_or_equal(case: Theorem) -> Theorem:
        squares = p.order(T.le(b, a), (1, case, case), (T.mul(T.num(2), t), case))
        return infer("contradiction", [squares, infer("not-le", [order])], goal)

    return p.cases(split, wrong_or_equal, lambda case: case)


def _learn_order_of_logarithms(p: Prover, logs: list[Term]) -> None:
    """log a <= log b where a <= b is known, and the same for <."""
    known = {f.conclusion: f for f in p.facts()}
    for s, t in permutations(logs, 2):
        a, b = s.children[0], t.children[0]
        for relation, order in ((T.lt, known.get(T.lt(a, b))), (T.le, known.get(T.le(a, b)))):
            if order is not None and relation(s, t) not in known:
                try:
                    p.fact(order_of_logarithms(p, relation(s, t), order))
                except _FAILED:
                    continue


def order_of_logarithms(p: Prover, goal: Term, order: Theorem) -> Theorem:
    """log a <= log b from a <= b, since log(a/b) <= a/b - 1."""
    a, b = order.conclusion.children
    v, w = T.var("_v", "real"), T.var("_w", "real")
    inverse = T.inv(w)
    related = T.lt if goal.op == "lt" else T.le
    premise = T.conj(T.lt(T.ZERO, v), T.lt(T.ZERO, w), related(v, w))
    with p.supposing(premise) as case:
        split = lemmas.log_of_product(p, [v, inverse])
        tangent = p.mp(p.axiom("log-tangent", T.mul(v, inverse)),
                       p.trivial(T.lt(T.ZERO, T.mul(v, inverse))))  # fmt: skip
        law = p.order(related(T.fn("log", v), T.fn("log", w)),
                      (1, tangent), (1, split), (inverse, p.part(case, 2)))  # fmt: skip
    law = p.for_all(p.discharge(law, case), v, w)
    positive = p.trivial(T.lt(T.ZERO, a))
    try:
        signs = (positive, p.trivial(T.lt(T.ZERO, b)))
    except KernelError:  # it is no less than a
        signs = (positive, p.order(T.lt(T.ZERO, b), (1, positive), (1, order)))
    return p.mp(p.at(law, a, b), *signs, order)


def through_functions(p: Prover, goal: Term, prove: Callable[[Term], Theorem]) -> Theorem:
    """r <= log x from e^r <= x, log x <= r from x <= e^r, and sqrt x <= r from x <= r^2, r >= 0."""
    a, b = goal.children
    work = fact_normaliser("search", p.facts())
    for m, c in work.poly(T.sub(b, a)).items():
        functions = [t.data for t, e in m.factors if e == 1 and t.op == "fn"]
        if m.indices or len(functions) != len(m.factors):
            continue
        try:
            if functions == ["log"] and abs(c) == 1:
                side = _above_logarithm if c == 1 else _below_logarithm
                return side(p, goal, m.factors[0][0], prove)
            if {*functions} == {"sqrt"} and c < 0:
                root = T.mul(T.num(-c), *(t for t, _ in m.factors))
                return _below_root(p, goal, root, prove)
        except _FAILED:
            continue
    raise search.NotFound(goal, search.leftover(b, a))


def _above_logarithm(p: Prover, goal: Term, log: Term, prove: Callable[[Term], Theorem]) -> Theorem:
    a, b = goal.children
    rest = fact_normaliser("search", p.facts()).term(T.sub(log, T.sub(b, a)))
    related = T.lt if goal.op == "lt" else T.le
    power, x = T.fn("exp", rest), log.children[0]
    order = prove(related(power, x))
    p.fact(p.order(T.lt(T.ZERO, x), (1, order)))
    logs = order_of_logarithms(p, related(T.fn("log", power), log), order)
    return p.order(goal, (1, logs), (1, _logarithm_of_exponential(p, rest)))


def _logarithm_of_exponential(p: Prover, x: Term) -> Theorem:
    """log e^x = x, also where the normal form of e^x is a product."""
    v = T.var("_v", "real")
    law = p.equal(T.fn("log", T.fn("exp", v)), v, show=False)
    return p.at(p.for_all(law, v), x)


def _below_logarithm(p: Prover, goal: Term, log: Term, prove: Callable[[Term], Theorem]) -> Theorem:
    a, b = goal.children
    rest = fact_normaliser("search", p.facts()).term(T.add(log, T.sub(b, a)))
    related = T.lt if goal.op == "lt" else T.le
    power, x = T.fn("exp", rest), log.children[0]
    p.fact(lemmas.positive(p, x))
    order = prove(related(x, power))
    logs = order_of_logarithms(p, related(log, T.fn("log", power)), order)
    return p.order(goal, (1, logs), (-1, _logarithm_of_exponential(p, rest)))


def _below_root(p: Prover, goal: Term, root: Term, prove: Callable[[Term], Theorem]) -> Theorem:
    a, b = goal.children
    rest = fact_normaliser("search", p.facts()).term(T.add(T.sub(b, a), root))
    nonneg = prove(T.le(T.ZERO, rest))
    related = T.lt if goal.op == "lt" else T.le
    with p.remembering(*_inner_products(p, lemmas.free_functions(rest, "sqrt"), prove)):
        squares = prove(related(T.power(root, 2), T.power(rest, 2)))
    order = _order_of_bases(p, related(root, rest), squares, nonneg)
    return p.order(goal, (1, order))


def _inner_products(
    p: Prover, roots: list[Term], prove: Callable[[Term], Theorem]
) -> Iterator[Theorem]:
    """<x, y> <= |x| |y| for the norms among the roots."""
    norms = [(root, t) for root in roots if (t := _squared_entry(root.children[0])) is not None]
    for (s, x), (t, y) in list(combinations(norms, 2))[:MAX_NORMS]:
        size = s.children[0].children[0]
        if t.children[0].children[0] is not size:
            continue
        product = T.total(size, T.mul(x, y))
        for inner in (product, T.neg(product)):
            try:
                yield by_squares(p, T.le(inner, T.mul(s, t)), prove)
            except _FAILED:
                continue


def _squared_entry(t: Term) -> Term | None:
    """x_i for the sum of all x_i^2."""
    body = t.children[1] if t.op == "sum" else None
    return body.children[0] if body is not None and body.op == "pow" and body.data == 2 else None


def square_of(t: Term) -> Term:
    """What stands in a statement about the square of t, as y for sqrt(y)."""
    match t.data if t.op == "fn" else None:
        case "sqrt":
            return t.children[0]
        case "abs":
            return square_of(t.children[0])
    return T.power(t, 2)


def by_squares(p: Prover, goal: Term, prove: Callable[[Term], Theorem]) -> Theorem:
    """a <= b from a^2 <= b^2 and 0 <= b, and the same for <."""
    a, b = goal.children
    try:
        nonneg = p.nonneg(b)
    except _FAILED:
        nonneg = prove(T.le(T.ZERO, b))
    squares = prove((T.lt if goal.op == "lt" else T.le)(T.power(a, 2), T.power(b, 2)))
    return _order_of_bases(p, goal, squares, nonneg)


def logarithms_of_exponentials(p: Prover) -> Iterator[Theorem]:
    """x = y for what is known of the form e^x = e^y."""
    for known in p.known():
        c = known.conclusion
        if c.op == "eq" and all(t.op == "fn" and t.data == "exp" for t in c.children):
            x, y = (t.children[0] for t in c.children)
            hole, log = T.var("_y", "real"), T.fn("log", c.children[0])
            same = p.equal(log, log, show=False)
            logs = infer("leibniz", [known, same], hole, T.eq(log, T.fn("log", hole)))
            yield p.equal(x, y, (1, logs), show=False)


def _order_of_bases(p: Prover, goal: Term, squares: Theorem, above: Theorem) -> Theorem:
    """s <= t from s^2 <= t^2 and 0 <= t: in the other order the squares would be, too."""
    s, t = goal.children

    def refuted(case: Theorem) -> Theorem:
        reverse = T.lt(T.power(t, 2), T.power(s, 2))
        if goal.op == "le":
            other = p.order(reverse, (1, case, case), (2, above, case))
            return infer("contradiction", [squares, infer("not-le", [other])], goal)
        other = p.order(T.le(*reverse.children), (1, case, case), (2, above, case))
        return infer("contradiction", [other, infer("not-le", [squares])], goal)

    if goal.op == "le":
        return p.cases(p.dichotomy(s, t), lambda case: case, refuted)
    return p.cases(p.dichotomy(t, s), refuted, lambda case: case)


def _learn_order_of_exponentials(p: Prover, goal: Term) -> None:
    """e^x < e^y for exponentials in the goal with x < y."""
    work = fact_normaliser("search", p.facts())
    poly = work.poly(T.sub(*goal.children))
    atoms = dict.fromkeys(t for m in poly for t, _ in m.factors)
    atoms.update(dict.fromkeys(s for t in atoms if t.op == "add" for s in T.subterms(t)))
    found = [t for t in atoms if t.op == "fn" and t.data == "exp" and inequalities.is_free(t)]
    known = {f.conclusion for f in p.facts()}
    zero = [T.ZERO] if found else []
    exponents = [t.children[0] for t in found if not t.loose] + zero
    for x, y in list(permutations(exponents, 2))[:MAX_PAIRS]:
        less = T.lt(T.fn("exp", x), T.fn("exp", y))
        if less in known:
            continue
        try:
            p.fact(p.mp(p.axiom("exp-increasing", x, y), _less(p, T.lt(x, y))))
        except _FAILED:
            for order in [f for f in p.facts() if f.conclusion is T.le(x, y)][:1]:
                p.fact(order_of_exponentials(p, order))


def exponentials(p: Prover) -> Iterator[Theorem]:
    """e^x <= e^y for what is known of the form x <= y, and the same for < and for all indices."""
    for known in p.known():
        try:
            at, indices = _at_indices(p, known)
            if at.conclusion.op == "lt":
                powers = p.mp(p.axiom("exp-increasing", *at.conclusion.children), at)
            elif at.conclusion.op == "le":
                powers = order_of_exponentials(p, at)
            else:
                continue
            yield p.for_all(powers, *indices)
        except _FAILED:
            continue


def _at_indices(p: Prover, known: Theorem) -> tuple[Theorem, list[Term]]:
    """What is known for all indices, at new ones."""
    indices: list[Term] = []
    while known.conclusion.op == "forall" and known.conclusion.data[0] == "fin":
        p.opened += 1
        indices.append(T.var(f"_i{p.opened}", "fin", known.conclusion.children[0]))
        known = infer("specialise", [known], indices[-1])
    return known, indices


def order_of_exponentials(p: Prover, known: Theorem) -> Theorem:
    """e^x <= e^y from x <= y."""
    x, y = known.conclusion.children
    goal = T.le(T.fn("exp", x), T.fn("exp", y))

    def same(case: Theorem) -> Theorem:
        hole, e = T.var("_y", "real"), goal.children[0]
        equal, itself = infer("antisymmetry", [known, case]), p.equal(e, e, show=False)
        values = infer("leibniz", [equal, itself], hole, T.eq(e, T.fn("exp", hole)))
        return p.order(goal, (-1, values))

    def less(case: Theorem) -> Theorem:
        return p.order(goal, (1, p.mp(p.axiom("exp-increasing", x, y), case)))

    return p.cases(p.dichotomy(y, x), same, less)


def _less(p: Prover, goal: Term) -> Theorem:
    try:
        return inequalities.prove(p, goal)
    except _FAILED:
        return fractions.compared(p, goal, lambda new: _known_order(p, new))


def _known_order(p: Prover, goal: Term) -> Theorem:
    try:
        return p.order(goal)
    except KernelError:
        return inequalities.prove(p, goal)
