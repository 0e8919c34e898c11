"""Theorems about the functions in a goal that the automatic prover may use.

`learn` adds facts: roots of what is known not to be negative, the order of the arguments of
maxima.  `equations` gives identities: logarithms of products, sines and cosines of sums, floors of
numbers between 0 and 1.  `cleared` proves an equation of fractions by clearing denominators.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations

from derive import inequalities, search
from derive.kernel import terms as T
from derive.kernel.normal import (
    UNIT,
    Monomial,
    Normaliser,
    Poly,
    Sign,
    monomial_term,
    to_term,
)
from derive.kernel.rules import Theorem, fact_normaliser, infer
from derive.kernel.terms import KernelError, Term
from derive.prover import Prover

_FAILED = (search.NotFound, KernelError)


def free_functions(goal: Term, *names: str) -> list[Term]:
    """The terms with these functions that stand under no index."""
    found = dict.fromkeys(t for t in T.subterms(goal) if t.op == "fn" and t.data in names)
    return [t for t in found if not t.loose]


# ---------------------------------------------------------------------------- facts


def learn(p: Prover, goal: Term) -> bool:
    """Add what can be known of roots and maxima in the goal; whether there was anything."""
    before = {f.conclusion for f in p.facts()}
    for t in free_functions(goal, "sqrt"):
        _learn_root(p, t.children[0])
    for t in dict.fromkeys(T.subterms(goal)) if p.patient else ():
        if t.op == "pow" and t.data < 0 and not t.loose:
            _learn_nonzero(p, t.children[0])
        if t.op == "fn" and t.data == "log" and t.children[0].op == "num":
            learn_logarithm(p, t.children[0])
    for t in free_functions(goal, "max", "min", "abs"):
        a, b = (T.ZERO, t.children[0]) if t.data == "abs" else t.children[:2]
        if len(t.children) <= 2 and any(c.op == "mul" for c in (a, b)):
            _learn_order(p, a, b)
    return any(f.conclusion not in before for f in p.facts())


def _learn_root(p: Prover, x: Term) -> None:
    known = {f.conclusion for f in p.facts()}
    if p.patient and T.lt(T.ZERO, x) not in known:
        try:
            p.fact(positive(p, x))
            return
        except _FAILED:
            pass
    if T.le(T.ZERO, x) not in known:
        try:
            p.fact(_nonneg(p, x))
        except _FAILED:
            return
    root = T.fn("sqrt", x)
    for f in p.facts():
        if f.conclusion is T.lt(T.ZERO, root) and T.lt(T.ZERO, x) not in known:
            try:
                p.fact(p.order(T.lt(T.ZERO, x), (1, f, f)))
            except _FAILED:
                continue


def _nonneg(p: Prover, x: Term) -> Theorem:
    """0 <= x by its form or, as for x >= a^2, by what is known."""
    try:
        return p.nonneg(x)
    except KernelError:
        if not p.patient or x.op not in ("var", "app"):
            raise
    return inequalities.prove(p, T.le(T.ZERO, x))


def positive(p: Prover, t: Term) -> Theorem:
    """0 < t by its form: what is known, a positive part of a sum, positive factors."""
    goal = T.lt(T.ZERO, t)
    try:
        return p.trivial(goal)
    except KernelError:
        if t.op not in ("add", "mul", "sum"):
            raise
    if t.op == "mul":
        return p.order(goal, (1, *(positive(p, c) for c in t.children)))
    if t.op == "sum":
        return inequalities.prove(p, goal)
    return p.order(goal, *((1, part) for part in _positive_parts(p, t.children)))


def _positive_parts(p: Prover, parts: Sequence[Term]) -> list[Theorem]:
    """0 < c for the first part of which this is found, and 0 <= c for the others."""
    out: list[Theorem] = []
    found = False
    for c in parts:
        try:
            if not found:
                out.append(positive(p, c))
                found = True
                continue
        except _FAILED:
            pass
        out.append(p.nonneg(c))
    if not found:
        raise KernelError("no part of the sum is known to be positive")
    return out


def _learn_nonzero(p: Prover, t: Term) -> None:
    """A product that is inverted does not vanish, if none of its factors does."""
    if t.op not in ("mul", "pow"):
        return
    try:
        p.trivial(T.negate(T.eq(t, T.ZERO)))
    except KernelError:
        try:
            p.fact(nonzero(p, t))
        except _FAILED:
            return


def nonzero(p: Prover, t: Term) -> Theorem:
    """not t = 0: by what is known or, for products and powers, since no factor vanishes."""
    goal = T.negate(T.eq(t, T.ZERO))
    try:
        return p.trivial(goal)
    except KernelError:
        if t.op != "mul" and not (t.op == "pow" and t.data > 0):
            raise
    parts = [nonzero(p, c) for c in t.children]
    names = [T.var(f"_v{k}", "real") for k in range(len(parts))]
    whole = T.mul(*names) if t.op == "mul" else T.power(names[0], t.data)
    premise = T.conj(*(T.negate(T.eq(v, T.ZERO)) for v in names))
    with p.supposing(premise) as case:
        law = p.discharge(p.trivial(T.negate(T.eq(whole, T.ZERO))), case)
    return p.mp(p.at(p.for_all(law, *names), *t.children), *parts)


def learn_logarithm(p: Prover, x: Term) -> None:
    """The sign of log x for a number x > 0, since log x <= x - 1 and log(1/x) <= 1/x - 1."""
    if x.data <= 0 or x.data == 1:
        return
    log, inverse = T.fn("log", x), T.num(1 / x.data)
    small = x if x.data < 1 else inverse
    goal = T.lt(log, T.ZERO) if small is x else T.lt(T.ZERO, log)
    if goal not in {f.conclusion for f in p.facts()}:
        tangent = p.mp(p.axiom("log-tangent", small), p.trivial(T.lt(T.ZERO, small)))
        law = () if small is x else ((-1, log_of_product(p, [inverse, x])),)
        p.fact(p.order(goal, *law, (1, tangent)))


def _learn_order(p: Prover, a: Term, b: Term) -> None:
    known = {f.conclusion for f in p.facts()}
    for goal in (T.le(a, b), T.le(b, a)):
        if goal in known:
            return
        try:
            p.fact(inequalities.prove(p, goal))
        except _FAILED:
            continue


# ---------------------------------------------------------------------------- identities


def equations(p: Prover, goal: Term) -> list[Theorem]:
    """Identities for the functions in the goal, as rules from left to right."""
    return list(_equations(p, goal))


def expanded(p: Prover, goal: Term, prove: Callable[[Term], Theorem]) -> Theorem:
    """a <= b or a < b from 0 <= r, where the identities turn b - a into r."""
    difference = T.sub(*reversed(goal.children))
    found = equations(p, goal)
    try:
        first = search.equation(difference, T.ZERO, found, p.facts())
        rest = T.ZERO
    except search.NotFound as error:
        if error.rest is None or not found:
            raise
        rest = error.rest
        first = search.equation(difference, rest, found, p.facts())
    related = T.lt if goal.op == "lt" else T.le
    return p.order(goal, (1, first), (1, prove(related(T.ZERO, rest))))


def _equations(p: Prover, goal: Term) -> Iterator[Theorem]:
    work = fact_normaliser("search", p.facts())
    poly = work.poly(T.sub(*goal.children))
    yield from _power_sums(p, poly)
    atoms = dict.fromkeys(t for m in poly for t, _ in m.factors if t.op == "fn")
    yield from _half_angles(p, list(atoms), work)
    for t in atoms if p.patient else [t for t in atoms if inequalities.is_free(t)]:
        opened = {v: T.var(f"_{k}", "fin", v.children[0]) for k, v in enumerate(_summed(t))}
        with p.remembering(*instances(p, list(opened.values()))):
            inner = fact_normaliser("search", p.facts()) if opened else work
            for law in _laws(p, T.substitute(t, opened), inner):
                yield p.for_all(law, *opened.values())


def _summed(t: Term) -> list[Term]:
    """The variables of the sums under which an atom of a normal form stands."""
    free = (s for s in T.free_symbols(t) if isinstance(s, Term) and s.data[0].startswith("%"))
    return sorted(free, key=lambda s: s.data[0])


def instances(p: Prover, places: Sequence[Term]) -> Iterator[Theorem]:
    """What is known for all indices, at these."""
    for g in p.known() if places else ():
        for i in places:
            try:
                yield infer("specialise", [g], i)
            except KernelError:
                continue


def _laws(p: Prover, t: Term, work: Normaliser) -> Iterator[Theorem]:
    """Identities for one function of a closed argument."""
    if len(t.children) != 1:  # pi, max, ...
        return
    argument = work.poly(t.children[0])
    try:
        match t.data:
            case "log":
                yield from _logarithm(p, argument, work)
            case "exp":
                yield from _exponential(p, argument, work)
            case "sin" | "cos":
                yield from _angle_sum(p, t.data, argument)
            case "floor":
                yield _floor_value(p, t, argument, work)
    except _FAILED:
        return


def _power_sums(p: Prover, poly: Poly) -> Iterator[Theorem]:
    """Sum over i < n of i = n (n - 1) / 2, and of i^2, for the ranges in the polynomial."""
    found = dict.fromkeys(
        (i.children[0], e)
        for m in poly for i in m.indices for t, e in m.factors if t is i and e in (1, 2)
    )  # fmt: skip
    for size, e in found:
        if inequalities.is_free(size):
            yield p.at(_power_sum(p, e), size)


def _power_sum(p: Prover, e: int) -> Theorem:
    """For every natural n, by induction."""
    n = T.var("_n", "nat")

    def both(size: Term) -> Term:
        closed = [size, T.sub(size, T.ONE), T.num(Fraction(1, 2 if e == 1 else 6))]
        if e == 2:
            closed.append(T.sub(T.mul(T.num(2), size), T.ONE))
        return T.eq(T.total(size, T.power(T.bound(0), e) if e > 1 else T.bound(0)), T.mul(*closed))

    base = p.equal(*both(T.ZERO).children, show=False)
    with p.supposing(both(n)) as case:
        after = both(T.add(n, T.ONE))
        last = infer("unroll", [], "sum", n, after.children[0].children[1])
        step = p.equal(*after.children, (1, last), (1, case), show=False)
    return p.induction(base, p.discharge(step, case), n)


def _half_angles(p: Prover, atoms: list[Term], work: Normaliser) -> Iterator[Theorem]:
    """sin x and cos x by x/2, where sine or cosine of both x and x/2 occur."""
    angles = dict.fromkeys(
        t.children[0] for t in atoms if t.data in ("sin", "cos") and inequalities.is_free(t)
    )
    for x in angles:
        half = work.term(T.mul(T.num(Fraction(1, 2)), x))
        if half in angles:
            yield p.axiom("sin-add", half, half)
            yield p.axiom("cos-add", half, half)


def _logarithm(p: Prover, argument: Poly, work: Normaliser) -> Iterator[Theorem]:
    """log(c a^k b^-1 ...) = log c + k log a - log b ..., for positive factors.

    Where only |a| is known to be positive, as of a^2 for a != 0, it stands in place of a.
    """
    if len(argument) != 1:
        return
    ((m, c),) = argument.items()
    if m.indices:
        return
    parts = [] if c == 1 else [T.num(c)]
    for t, e in m.factors:
        size = t if e % 2 or work.sign(t) is Sign.POS else T.fn("abs", t)
        parts += [size if e > 0 else T.inv(size)] * abs(e)
    if parts and (len(parts) > 1 or parts[0].op == "pow" or _is_root(parts[0])):
        yield log_of_product(p, parts)


def log_of_product(p: Prover, parts: list[Term]) -> Theorem:
    first, *rest = parts
    if not rest:
        return _log_of_factor(p, first)
    tail = T.mul(*rest)
    positive = p.both(p.trivial(T.lt(T.ZERO, first)), p.trivial(T.lt(T.ZERO, tail)))
    split = infer("modus-ponens", [p.axiom("log-product", first, tail), positive])
    whole = T.fn("log", T.mul(first, tail))
    head, inner = _log_of_factor(p, first), log_of_product(p, rest)
    total = T.add(head.conclusion.children[1], inner.conclusion.children[1])
    return p.equal(whole, total, (1, split), (1, head), (1, inner), show=False)


def _is_root(t: Term) -> bool:
    return t.op == "fn" and t.data == "sqrt"


def _log_of_root(p: Prover, x: Term) -> Theorem:
    """log sqrt(x) = (log x) / 2, since sqrt(x) sqrt(x) = x."""
    v = T.var("_v", "real")
    root, half = T.fn("sqrt", v), Fraction(1, 2)
    with p.supposing(T.lt(T.ZERO, v)) as case:
        positive = p.trivial(T.lt(T.ZERO, root))
        split = p.mp(p.axiom("log-product", root, root), p.both(positive, positive))
        value = T.mul(T.num(half), T.fn("log", v))
        law = p.discharge(p.equal(T.fn("log", root), value, (-half, split), show=False), case)
    return p.mp(p.at(p.for_all(law, v), x), p.trivial(T.lt(T.ZERO, x)))


def _log_of_factor(p: Prover, t: Term) -> Theorem:
    if _is_root(t):
        return _log_of_root(p, t.children[0])
    if t.op != "pow":
        return p.equal(T.fn("log", t), T.fn("log", t), show=False)
    x = t.children[0]
    v = T.var("_v", "real")  # the inverse of a sum would be multiplied out
    with p.supposing(T.lt(T.ZERO, v)) as case:
        positive = p.both(p.trivial(T.lt(T.ZERO, v)), p.trivial(T.lt(T.ZERO, T.inv(v))))
        split = p.mp(p.axiom("log-product", v, T.inv(v)), positive)
        log = T.fn("log", v)
        law = p.equal(T.fn("log", T.inv(v)), T.neg(log), (-1, split), show=False)
    law = p.for_all(p.discharge(law, case), v)
    return p.mp(p.at(law, x), p.trivial(T.lt(T.ZERO, x)))


def _exponential(p: Prover, argument: Poly, work: Normaliser) -> Iterator[Theorem]:
    """e^(q log x + rest) = x^n sqrt(x) e^rest for q = n + 1/2, and the like, for positive x."""
    whole: list[tuple[Term, Term]] = []  # a part of the exponent, and the exponential of it
    rest: list[Term] = []
    for m, c in argument.items():
        x = _under_log(m)
        if x is None or work.sign(x) is not Sign.POS:
            rest.append(monomial_term(m, c))
            continue
        n, part = c // 1, c % 1
        log = T.fn("log", x)
        if n:
            whole.append((T.mul(T.num(n), log), T.power(x, int(n))))
        if part == Fraction(1, 2):
            whole.append((T.mul(T.num(part), log), T.fn("sqrt", x)))
        elif part:
            rest.append(T.mul(T.num(part), log))
    if not whole:
        return
    parts = [exponent for exponent, _ in whole] + ([T.add(*rest)] if rest else [])
    names = [T.var(f"_e{k}", "real") for k in range(len(parts))]
    product = T.mul(*(T.fn("exp", v) for v in names))
    law = p.for_all(p.equal(T.fn("exp", T.add(*names)), product, show=False), *names)
    theorem = p.at(law, *parts)
    for exponent, value in whole:
        theorem = _put(p, theorem, _exp_of_log(p, exponent, value))
    right = theorem.conclusion.children[1]
    yield p.equal(T.fn("exp", to_term(argument)), right, (1, theorem), show=False)


def _under_log(m: Monomial) -> Term | None:
    if m.indices or len(m.factors) != 1:
        return None
    ((t, e),) = m.factors
    return t.children[0] if e == 1 and t.op == "fn" and t.data == "log" else None


def _exp_of_log(p: Prover, part: Term, value: Term) -> Theorem:
    """exp(n log x) = x^n, and exp(log x / 2) = sqrt(x)."""
    e = T.fn("exp", part)
    if value.op != "fn":
        return p.equal(e, value, show=False)
    v = T.var("_v", "real")
    with p.supposing(T.le(T.ZERO, v)) as case:
        law = p.equal(T.fn("sqrt", T.power(v, 2)), v, show=False)
    law = p.for_all(p.discharge(law, case), v)
    root = p.mp(p.at(law, e), p.trivial(T.le(T.ZERO, e)))
    return p.equal(e, value, (-1, root), show=False)


def _put(p: Prover, theorem: Theorem, rule: Theorem) -> Theorem:
    """a = b with the right side of the rule in place of its left side, a factor of b."""
    a, b = theorem.conclusion.children
    old = rule.conclusion.children[0]
    factors = b.children if b.op == "mul" else (b,)

    def template(x: Term) -> Term:
        return T.eq(a, T.mul(*(x if f is old else f for f in factors)))

    return p.rewrite(rule, theorem, template)


def _angle_sum(p: Prover, name: str, argument: Poly) -> Iterator[Theorem]:
    """sin(a + b) and cos(a + b), where a is the first term of the argument, and cos^2 of each."""
    yield _square_of_cosine(p, to_term(argument))
    terms = [monomial_term(m, c) for m, c in argument.items()]
    if len(terms) == 1:
        ((m, c),) = argument.items()
        if c.denominator != 1 or c not in (2, -2):
            return
        terms = [monomial_term(m, c / 2)] * 2
    first, rest = terms[0], T.add(*terms[1:])
    yield p.axiom(f"{name}-add", first, rest)
    for part in dict.fromkeys((first, rest)):
        yield _square_of_cosine(p, part)


def _square_of_cosine(p: Prover, x: Term) -> Theorem:
    """cos^2 x = 1 - sin^2 x; sines stay, so that rewriting comes to an end."""
    square, rest = T.power(T.fn("cos", x), 2), T.power(T.fn("sin", x), 2)
    return p.equal(square, T.sub(T.ONE, rest), (1, p.axiom("pythagoras", x)), show=False)


def _floor_value(p: Prover, t: Term, argument: Poly, work: Normaliser) -> Theorem:
    """floor(x) = k for an integer k with k <= x < k + 1; k is a sum of terms of x, rounded up."""
    whole = [monomial_term(m, Fraction(1)) for m in argument if m != UNIT and not m.indices]
    whole = [x for x in whole if work.is_int(x)][:3]
    for count in range(len(whole) + 1):
        for chosen in combinations(whole, count):
            try:
                return _floor_is(p, t, T.add(*chosen))
            except _FAILED:
                continue
    raise search.NotFound(T.eq(t, T.ZERO), T.show(t))


def _floor_is(p: Prover, t: Term, k: Term) -> Theorem:
    x = t.children[0]
    low = inequalities.prove(p, T.le(k, x))
    high = inequalities.prove(p, T.lt(x, T.add(k, T.ONE)))
    below = p.order(T.lt(t, T.add(k, T.ONE)), (1, high), (1, p.axiom("floor-lower", x)))
    above = p.order(T.lt(k, T.add(t, T.ONE)), (1, low), (1, p.axiom("floor-upper", x)))
    upper = p.order(T.le(t, k), (1, p.next_integer(below)))
    lower = p.order(T.le(k, t), (1, p.next_integer(above)))
    return infer("antisymmetry", [upper, lower])


# ---------------------------------------------------------------------------- fractions


def cleared(p: Prover, goal: Term) -> Theorem:
    """a = b by clearing composite denominators that are known not to vanish."""
    a, b = goal.children
    work = fact_normaliser("search", p.facts())
    poly = work.poly(T.sub(a, b))
    powers: dict[Term, int] = {}
    for m in poly:
        for t in search.inverses({m: poly[m]}):
            powers[t] = max(powers.get(t, 0), -dict(m.factors)[t])
    if not powers or not all(map(inequalities.is_free, powers)):
        raise search.NotFound(goal, search.leftover(a, b))
    cancels = {t: p.cancel(t) for t in powers}
    items: list[tuple[Term, Theorem]] = []
    for m, c in poly.items():
        items += _missing(m, monomial_term(_opened(m), c), powers, cancels)
    return p.equal(a, b, *items, show=False)


def _opened(m: Monomial) -> Monomial:
    names = {i: T.var(f"_s{k}", "fin", i.children[0]) for k, i in enumerate(m.indices)}
    factors = tuple((T.substitute(t, names), e) for t, e in m.factors)
    return Monomial(tuple(names.values()), factors)


def _missing(
    m: Monomial, term: Term, powers: dict[Term, int], cancels: dict[Term, Theorem]
) -> Iterator[tuple[Term, Theorem]]:
    """term = term * (d^-1 d) ... for every denominator that the term lacks."""
    present = dict(m.factors)
    for t, most in powers.items():
        for _ in range(most + min(present.get(t, 0), 0)):
            yield T.neg(term), cancels[t]
            term = T.mul(term, T.inv(t), t)
