"""The order of logarithms, roots and exponentials in an inequality, from their arguments."""

from __future__ import annotations

from itertools import permutations
from typing import Final

from derive import fractions, inequalities, lemmas, search
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, fact_normaliser, infer
from derive.kernel.terms import KernelError, Term
from derive.prover import Prover

#: So many pairs of exponentials are compared.
MAX_PAIRS: Final = 6
_FAILED = (search.NotFound, KernelError)


def learn(p: Prover, goal: Term) -> None:
    """Add what can be known of functions in an inequality to the facts."""
    for t in dict.fromkeys(T.subterms(goal)):
        if t.op == "fn" and t.data in ("log", "rpow") and t.children[0].op == "num":
            _learn_logarithm(p, t.children[0])
    _learn_order_of_roots(p, lemmas.free_functions(goal, "sqrt"))
    _learn_order_of_exponentials(p, goal)


def _learn_logarithm(p: Prover, x: Term) -> None:
    """0 < log x for a number x > 1, since log(1/x) <= 1/x - 1."""
    inverse = T.num(1 / x.data) if x.data > 1 else x
    goal = T.lt(T.ZERO, T.fn("log", x))
    if inverse is x or goal in {f.conclusion for f in p.facts()}:
        return
    tangent = p.mp(p.axiom("log-tangent", inverse), p.trivial(T.lt(T.ZERO, inverse)))
    p.fact(p.order(goal, (-1, lemmas.log_of_product(p, [inverse, x])), (1, tangent)))


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
            continue


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
