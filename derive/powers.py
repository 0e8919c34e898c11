"""Goals with powers that have a symbolic natural exponent: all of them are taken apart.

x^(m+2) = x^m x^2, (x y)^k = x^k y^k, (x^m)^n = x^(m n), |x|^k = |x^k|, and x^k = e^(k log x) where
x is known to be positive, so that what is left are powers of atoms, and laws of rings.  What is
known of the order of bases goes over to their powers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Final

from derive import inequalities, lemmas, power_laws, power_orders, rewriting, search, substitution
from derive.equal_factors import is_power
from derive.kernel import terms as T
from derive.kernel.normal import (
    UNIT,
    Monomial,
    Normaliser,
    Poly,
    Sign,
    constant,
    literal,
    monomial_key,
    monomial_term,
    plus,
    scaled,
    to_term,
)
from derive.kernel.rules import Theorem, fact_normaliser, infer
from derive.kernel.terms import KernelError, Term
from derive.power_laws import MINUS_ONE
from derive.prover import Prover

Prove = Callable[[Term], Theorem]
#: Powers that would fall into more parts are left as they are.
MAX_PARTS: Final = 8
_FAILED = (search.NotFound, KernelError)
_RELATIONS: Final = {"eq": T.eq, "le": T.le, "lt": T.lt}


def occur(t: Term) -> bool:
    return any(map(is_power, T.subterms(t)))


def prove(p: Prover, goal: Term, prove: Prove) -> Theorem:
    """`goal`, a relation, from what `prove` proves: the same with all powers taken apart."""
    known = [g for g in p.known() if g.conclusion.op in _RELATIONS and occur(g.conclusion)]
    if not known and not occur(goal):
        raise search.NotFound(goal, "no powers")
    try:
        return _from_parts(p, goal, known, prove)
    except _FAILED as error:
        failure = error
    signs = list(_signs(p, [goal, *(g.conclusion for g in known)]))
    if not signs:
        raise failure
    with p.remembering(*signs):  # then powers are exponentials
        return _from_parts(p, goal, known, prove)


def _from_parts(p: Prover, goal: Term, known: Sequence[Theorem], prove: Prove) -> Theorem:
    apart = _Apart(p, [goal, *(g.conclusion for g in known)])
    orders = apart.theorems(power_orders.orders(p, apart.whole, partial(_found, p)))
    with p.remembering(*orders):
        changed = [new for g in known if (new := apart.theorem(g)) is not g]
        changes = [apart.side(side) for side in goal.children]
        learned = [*orders, *changed, *apart.identities()]
        if not learned and not any(changes):
            raise search.NotFound(goal, "powers of atoms only")
        with p.remembering(*learned[len(orders) :]):
            return substitution.from_changed(p, goal, changes, prove)


def _signs(p: Prover, formulas: Sequence[Term]) -> Iterator[Theorem]:
    """0 < x for the bases of which that is not known yet, but found."""
    apart = _Apart(p, formulas)
    for base in dict.fromkeys(t.children[1] for t in apart.whole[: power_orders.MAX_COMPARED]):
        positive = _found(p, T.lt(T.ZERO, base))
        if positive is not None and apart.work.sign_of(base) is not Sign.POS:
            yield positive


def nonzero(p: Prover, t: Term) -> Theorem:
    """not t = 0, from what is known of the bases of its powers."""
    if not occur(t):
        raise search.NotFound(t, "no powers")
    whole = _Apart(p, [t]).whole
    with p.remembering(*power_orders.orders(p, whole, partial(_found, p))):
        return lemmas.nonzero(p, t)


def root(p: Prover, goal: Term) -> Theorem:
    """x = 0 from x^k = 0."""
    for g in p.known():
        c = g.conclusion
        if c.op != "eq" or c.children[1] is not T.ZERO or not is_power(c.children[0]):
            continue
        k, x = c.children[0].children
        zero = T.eq(x, T.ZERO)

        def absurd(apart: Theorem, g: Theorem = g, k: Term = k, x: Term = x) -> Theorem:
            different = p.mp(p.at(power_laws.not_zero(), x, k), apart)
            return infer("contradiction", [g, different], T.eq(x, T.ZERO))

        same = p.cases(infer("excluded-middle", [], zero), lambda case: case, absurd)
        try:
            return p.equal(*goal.children, same, show=False)
        except _FAILED:
            continue
    raise search.NotFound(goal, "no power is known to be 0")


class _Apart:
    """Takes apart the powers in some formulas.

    `whole` are those that stand outside all sums.
    """

    def __init__(self, p: Prover, formulas: Sequence[Term]) -> None:
        self.p = p
        self.work = fact_normaliser("search", p.facts())
        found = [place for f in formulas for place in self._places(f, ())]
        whole = (t for t, opened in found if is_power(t) and t.free.isdisjoint(opened))
        self.whole = list(dict.fromkeys(whole))
        self._shifted = any(self._falls(t.children[0]) for t, _ in found if is_power(t))
        self._left: dict[Term, None] = {}  # powers that cannot be taken apart any more

    # ------------------------------------------------------------------ formulas

    def side(self, side: Term) -> Theorem | None:
        """side = side', None if nothing changes."""
        out: Theorem | None = None
        for rule in dict.fromkeys(self._rules(side)):
            before = side if out is None else out.conclusion.children[1]
            step = rewriting.replaced(before, rule)
            if step.conclusion.children[1] is not before:
                out = step if out is None else self.p.linked(out, step)
        return out

    def theorem(self, theorem: Theorem) -> Theorem:
        """The theorem, a relation or the denial of one, in other words."""
        denied = theorem.conclusion.op == "not"
        relation = theorem.conclusion.children[0] if denied else theorem.conclusion
        for place, side in enumerate(relation.children):
            change = self.side(side)
            if change is not None:
                theorem = self.p.rewrite(change, theorem, _with_side(theorem.conclusion, place))
        return theorem

    def theorems(self, found: Iterator[Theorem]) -> list[Theorem]:
        return [self.theorem(t) for t in found]

    def identities(self) -> Iterator[Theorem]:
        """What else is known of the powers that have been met.

        ((-1)^k)^2 = |(-1)^k| = 1, and (|x|^k)^2 = (x^k)^2 for a sum x.
        """
        for k, base in (t.children for t in self._left):
            if base is MINUS_ONE:
                yield from (self.p.at(law, k) for law in power_laws.of_minus_one())
            if _is_absolute(base):
                yield power_laws.of_absolute_squared(self.p, base.children[0], k)

    def _rules(self, side: Term) -> Iterator[Theorem]:
        for t, indices in self._places(side, ()):
            try:
                law = self._law_at(t, indices)
            except _FAILED:
                continue
            if law.conclusion.children[1] is not t:
                yield self.p.for_all(law, *(i for i in indices if i in T.free_symbols(t)))

    def _law_at(self, t: Term, indices: Sequence[Term]) -> Theorem:
        """t = t', with what is known for all indices at these."""
        before = self.work
        with self.p.remembering(*lemmas.instances(self.p, indices)):
            if indices:
                self.work = fact_normaliser("search", self.p.facts())
            try:
                return self._law(t)
            finally:
                self.work = before

    def _law(self, t: Term) -> Theorem:
        if t.op == "prod":
            return self.power(t)
        (inside,) = t.children
        if inside.op == "mul":
            law = power_laws.absolute_of_product(len(inside.children))
            return self.p.at(law, *inside.children)
        k, base = inside.children
        law = self.p.at(power_laws.of_absolute(), base, k)
        size = self.power(law.conclusion.children[0])
        return self._equal(t, size.conclusion.children[1], (-1, law), (1, size))

    def _places(
        self, t: Term, indices: tuple[Term, ...]
    ) -> Iterator[tuple[Term, tuple[Term, ...]]]:
        """The powers in a term, with the indices of the sums that they stand under.

        Also the absolute values that the normal form does not take apart.
        """
        if is_power(t) or (_is_absolute(t) and self._is_product_with_sum(t.children[0])):
            yield t, indices
        elif t.op == "sum":
            self.p.opened += 1
            i = T.var(f"_i{self.p.opened}", "fin", t.children[0])
            yield from self._places(T.instantiate(t.children[1], (i,)), (*indices, i))
        else:
            for k, c in enumerate(t.children):
                if not t.binds[k]:
                    yield from self._places(c, indices)

    def _is_product_with_sum(self, t: Term) -> bool:
        factors = t.children[1:] if is_power(t) else t.children if t.op == "mul" else ()
        return any(len(self.work.poly(f)) > 1 for f in factors)

    # ------------------------------------------------------------------ bases

    def power(self, t: Term) -> Theorem:
        """t = t', powers of atoms."""
        k, base = t.children
        parts = self._factors(self.work.poly(base))
        if parts == [T.ONE]:
            return self._equal(t, T.ONE, (1, self.p.at(power_laws.of_one(), k)))
        if len(parts) > 1 and self.work.sign_of(base) is not Sign.POS:
            first, rest = parts[0], T.mul(*parts[1:])
            law = self.p.at(power_laws.of_product(), first, rest, k)
            return self._split(t, law, T.product(k, first), T.product(k, rest))
        return self._of_atom(t, k, parts[0] if len(parts) == 1 else self.work.term(base))

    def _of_atom(self, t: Term, k: Term, base: Term) -> Theorem:
        p = self.p
        inside = base.children[0] if base.children else base
        if _is_absolute(base) and inside.op != "add":
            return self._through(t, k, inside, power_laws.of_absolute(), power_laws.absolute)
        if base.op == "pow" and base.data == -1:
            return self._through(t, k, inside, power_laws.of_inverse(), T.inv)
        if self.work.sign_of(base) is Sign.POS:
            positive = p.trivial(T.lt(T.ZERO, base))
            law = p.mp(p.at(power_laws.of_positive(), base, k), positive)
            return self._equal(t, law.conclusion.children[1], (1, law))
        if is_power(base):
            m, x = base.children
            law = p.at(power_laws.of_power(), x, m, k)
            inner = self.power(T.product(self.work.term(T.mul(m, k)), x))
            return self._equal(t, inner.conclusion.children[1], (1, law), (1, inner))
        return self._by_exponent(t, k, base)

    def _through(
        self, t: Term, k: Term, x: Term, law: Theorem, of: Callable[[Term], Term]
    ) -> Theorem:
        """f(x)^k = f(x^k), and what that is."""
        inner = self.power(T.product(k, x))
        whole = T.product(k, of(x))
        taken = self.p.rewrite(inner, self.p.at(law, x, k), lambda y: T.eq(whole, of(y)))
        return self._equal(t, taken.conclusion.children[1], (1, taken))

    def _factors(self, base: Poly) -> list[Term]:
        """The base as a product: numbers, inverses and what has no factors."""
        if not base:
            return [T.ZERO]
        lead = base[min(base, key=monomial_key)]
        numbers = ([MINUS_ONE] if lead < 0 else []) + ([T.num(abs(lead))] if abs(lead) != 1 else [])
        ((m, _), *others) = base.items()
        if others or m.indices or any(e == 0 for _, e in m.factors):
            parts = [to_term(scaled(base, 1 / lead))]
        else:
            parts = [t if e > 0 else T.inv(t) for t, e in m.factors for _ in range(abs(e))]
        parts = [*numbers, *parts] or [T.ONE]
        if len(parts) > MAX_PARTS:
            raise KernelError("powers: too many factors")
        return parts

    # ------------------------------------------------------------------ exponents

    def _by_exponent(self, t: Term, k: Term, base: Term) -> Theorem:
        exponent = self.work.poly(k)
        number = literal(exponent)
        if number is not None:
            return self._equal(t, T.power(base, int(number)))
        parts = self._terms(exponent)
        if len(parts) == 1:
            if self._is_count(exponent):
                self._left[T.product(parts[0], base)] = None
            return self._equal(t, T.product(parts[0], base))
        first, rest = parts[0], T.add(*parts[1:])
        law = self.p.at(power_laws.of_sum(), base, first, rest)
        return self._split(t, law, T.product(first, base), T.product(rest, base))

    def _terms(self, k: Poly) -> list[Term]:
        """An exponent as a sum of natural numbers that are as simple as can be."""
        if self._is_sum_of_naturals(k):
            number = int(k.get(UNIT, Fraction(0)))
            parts = [part for m, c in k.items() if m != UNIT for part in self._shift(m) * int(c)]
            number += sum(int(q.data) for q in parts if q.op == "num")
            parts = [q for q in parts if q.op != "num"]
        else:
            number = next((c for c in range(MAX_PARTS, 0, -1) if self._is_count(_minus(k, c))), 0)
            parts = [to_term(_minus(k, number))]
        if len(parts) > MAX_PARTS:
            raise KernelError("powers: too many terms in an exponent")
        return [*parts, *([T.num(number)] if number else [])]

    def _shift(self, m: Monomial) -> list[Term]:
        """k, or n - 1 and 1 for a size n, where other exponents are less than sizes."""
        term = monomial_term(m, Fraction(1))
        if self._shifted and term.op == "var" and term.data[1] == "dim":
            return [self.work.term(T.sub(term, T.ONE)), T.ONE]
        return [term]

    def _is_sum_of_naturals(self, k: Poly) -> bool:
        whole = all(c.denominator == 1 and c > 0 for c in k.values())
        return whole and all(self._is_count({m: Fraction(1)}) for m in k)

    def _is_count(self, k: Poly) -> bool:
        return self.work.is_int(to_term(k)) and self.work.nonneg(k)

    def _falls(self, k: Term) -> bool:
        return any(c < 0 for c in self.work.poly(k).values())

    # ------------------------------------------------------------------ equations

    def _split(self, t: Term, law: Theorem, first: Term, rest: Term) -> Theorem:
        """From t = x y, what x and y are."""
        a, b = self.power(first), self.power(rest)
        whole = T.mul(a.conclusion.children[1], b.conclusion.children[1])
        return self._equal(t, whole, (1, law), (rest, a), (a.conclusion.children[1], b))

    def _equal(self, t: Term, value: Term, *items: tuple[object, Theorem]) -> Theorem:
        return self.p.equal(t, Normaliser().term(value), *items, show=False)


def _minus(k: Poly, c: int) -> Poly:
    return plus(k, constant(c), -1)


def _is_absolute(t: Term) -> bool:
    return t.op == "fn" and bool(t.data == "abs")


def _with_side(formula: Term, place: int) -> Callable[[Term], Term]:
    """The formula, a relation or the denial of one, with something else for a side of it."""
    denied = formula.op == "not"
    relation = formula.children[0] if denied else formula
    make = _RELATIONS[relation.op]

    def template(x: Term) -> Term:
        made = make(*(x if k == place else t for k, t in enumerate(relation.children)))
        return T.negate(made) if denied else made

    return template


def _found(p: Prover, goal: Term) -> Theorem | None:
    """What follows of the order of two terms without a long search."""
    patient, p.patient = p.patient, False
    try:
        return inequalities.prove(p, goal)
    except _FAILED:
        return None
    finally:
        p.patient = patient
