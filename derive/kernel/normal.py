"""The normal form: exact polynomials over opaque atoms, with sums of symbolic length.

A term is brought to a sum of monomials ``c * Sum_{i1<n1} ... Sum_{ir<nr} a1^e1 ... ak^ek`` with
rational ``c``.  Sums are pulled to the front (linearity and distribution), bound indices are
renamed canonically (exchange), deltas are contracted where the index is known to lie in range,
and constant bodies give the length of the range.  Two terms with the same normal form are equal;
different normal forms mean nothing.

Every law of a function or a constant that is applied is one of `EVALUATIONS` in `axioms` and is
recorded in `Normaliser.used`, so that a proof can say so; the rest is `ARITHMETIC`, which belongs
to the rules.
Conventions of `terms` make ``(x y)^-1 = x^-1 y^-1`` unconditional; ``x x^-1`` becomes 1 only when
`x` is known to be non-zero, and otherwise stays as the pair (exponent 0 in `Monomial.factors`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from fractions import Fraction
from functools import cache
from itertools import count, islice, permutations, product
from math import comb, factorial, floor, gcd, isqrt, lcm
from types import MappingProxyType
from typing import Final, NamedTuple

from derive.kernel import terms as T
from derive.kernel.axioms import EVALUATIONS
from derive.kernel.terms import Term

#: Sums whose length is a literal up to this are written out.
UNROLL: Final = 64
#: Ties between bound indices beyond this many orders are left as they come (incomplete, sound).
MAX_ORDERS: Final = 5040
#: Powers are refused beyond numbers of so many binary digits, products of so many sums (squares of
#: so many terms), and
#: expansions that multiply so many terms.
MAX_BITS: Final = 2_000_000
MAX_SUMS: Final = 200
#: The same for sums whose atoms change with the names of the summed variables, as e^(x_i) does:
#: every product brings all of them to normal form again.
MAX_RENAMED_SUMS: Final = 10
MAX_WORK: Final = 2_000_000


class Sign(IntEnum):
    """What is known of a value; a larger one implies a smaller, except NONZERO and NONNEG."""

    UNKNOWN = 0
    NONZERO = 1
    NONNEG = 2
    POS = 3


#: the evaluations by which the values of functions have a sign
_SIGN_LAWS: Final = {
    "pi": "pi-sign", "exp": "exp-sign", "sqrt": "sqrt-sign", "abs": "abs-sign",
    "floor": "floor-sign", "max": "extremum-sign", "min": "extremum-sign",
}  # fmt: skip

#: the atoms that have laws of their own, or with others, in a product
_LAWFUL: Final = frozenset(["delta", "add", "sum", "fn"])


class Monomial(NamedTuple):
    """`indices` are the summed variables (sort "fin"), `factors` atoms with their exponents."""

    indices: tuple[Term, ...]
    factors: tuple[tuple[Term, int], ...]


UNIT: Final = Monomial((), ())
#: Never changed once made: normal forms are shared.
Poly = Mapping[Monomial, Fraction]


#: The commonest coefficient, by which it is told without arithmetic.
ONE: Final = Fraction(1)


def constant(q: Fraction | int) -> Poly:
    if not q:
        return {}
    return {UNIT: ONE if q == 1 else Fraction(q)}


def literal(p: Poly) -> Fraction | None:
    """The value of a constant polynomial, None for any other."""
    if not p:
        return Fraction(0)
    return p[UNIT] if len(p) == 1 and UNIT in p else None


def _is_one(p: Poly) -> bool:
    if len(p) != 1:
        return False
    c = p.get(UNIT)
    return c is ONE or c == 1


def plus(p: Poly, q: Poly, scale: Fraction | int = 1) -> Poly:
    """p + scale * q."""
    if not q or scale == 0:
        return p
    if not p and scale == 1:
        return q
    out = dict(p)
    _add_into(out, q, scale)
    return out


def _add_into(out: dict[Monomial, Fraction], q: Poly, scale: Fraction | int) -> None:
    as_it_is = scale is ONE or scale == 1
    for m, c in q.items():
        if not as_it_is:
            c = -c if scale == -1 else c * scale
        old = out.get(m)
        if old is not None:
            c += old
        if c:
            out[m] = c
        else:
            out.pop(m, None)


def scaled(p: Poly, c: Fraction | int) -> Poly:
    return {m: k * c for m, k in p.items()} if c else {}


def unit_lead(p: Poly) -> Poly:
    """The positive multiple of `p` whose leading coefficient is 1 or -1."""
    return scaled(p, 1 / abs(p[min(p, key=monomial_key)])) if p else p


def monomial_key(m: Monomial) -> tuple[int, tuple[tuple[bytes, int], ...], tuple[bytes, ...]]:
    return (
        len(m.indices),
        tuple((t.key, e) for t, e in m.factors),
        tuple(i.key for i in m.indices),
    )


def monomial_term(m: Monomial, c: Fraction) -> Term:
    parts = [] if c is ONE or c == 1 else [T.num(c)]
    for t, e in m.factors:
        parts += [t, T.inv(t)] if e == 0 else [t if e == 1 else T.power(t, e)]
    body = T.mul(*parts)
    for i in reversed(m.indices):
        body = T.sum_over(i, body)
    return body


def to_term(p: Poly) -> Term:
    """The canonical term of a polynomial."""
    return T.add(*(monomial_term(m, p[m]) for m in sorted(p, key=monomial_key)))


@cache
def _prime_factors(n: int) -> tuple[tuple[int, int], ...] | None:
    """Factorisation by trial division; None when a composite part stays beyond the bound."""
    out, p = [], 2
    while p * p <= n and p < 2000:
        e = 0
        while n % p == 0:
            n, e = n // p, e + 1
        if e:
            out.append((p, e))
        p += 1
    if n > 1:
        if p * p <= n:
            return None
        out.append((n, 1))
    return tuple(out)


@dataclass(slots=True)
class _Known:
    """A normal form, the evaluations that it took, and its term where that has been asked for."""

    poly: Poly
    used: tuple[str, ...] = ()
    term: Term | None = None


#: The normal forms of variables and of entries at variables, which are these terms themselves.
_SYMBOLS: Final[dict[Term, _Known]] = {}
#: Normal forms by facts and term.
_SHARED: Final[dict[object, dict[Term, _Known]]] = {}


@dataclass
class Normaliser:
    """Normal forms under known signs and integers.

    `signs` maps normalised terms to what is known of them, `integers` holds normalised terms
    known to be integers.  Both come from theorems, through `rules`.
    """

    signs: dict[Term, Sign] = field(default_factory=dict)
    integers: frozenset[Term] = frozenset()
    #: the evaluations applied, in the order in which they came (see `forget`)
    used: dict[str, None] = field(default_factory=dict)
    _memo: dict[Term, _Known] = field(default_factory=dict)
    _fresh: count[int] = field(default_factory=count)
    _shared: dict[Term, _Known] = field(init=False)

    def __post_init__(self) -> None:
        facts = (frozenset(self.signs.items()), self.integers)
        self._shared = _SHARED.setdefault(facts, {})

    # ------------------------------------------------------------------ entry points

    def poly(self, t: Term) -> Poly:
        """The normal form of a real-valued term without loose indices."""
        return self._known(t).poly

    def term(self, t: Term) -> Term:
        known = self._known(t)
        if known.term is None:
            known.term = to_term(known.poly)
        return known.term

    def _known(self, t: Term) -> _Known:
        found = _SYMBOLS.get(t)
        if found is not None:
            return found
        if not T.is_reserved(t):
            return self._common(t)
        found = self._memo.get(t)
        if found is None:
            if t.loose or _has_names_at_rest(t):
                raise T.KernelError(f"normal form: {t} has an index outside its sum")
            if _is_symbol(t):
                return _SYMBOLS.setdefault(t, _Known(MappingProxyType(self.atom(t)), term=t))
            found = self._memo[t] = self._apart(t)
        if found.used:
            self.record(found.used)
        return found

    def _apart(self, t: Term) -> _Known:
        """The normal form of `t` with all that it uses, whatever has been used before."""
        outer, self.used = self.used, {}
        try:
            return _Known(MappingProxyType(self._poly(t)), tuple(self.used))
        finally:
            self.used = outer

    def _apply(self, law: str) -> None:
        """Record that one of `EVALUATIONS` is applied; no other law is."""
        self.used[EVALUATIONS[law].name] = None

    def record(self, laws: Iterable[str]) -> None:
        """Record what was applied elsewhere to find what is used here."""
        for law in laws:
            self.used[law] = None

    def forget(self, mark: int) -> None:
        """Take back what has been recorded since `used` had that length: it came to nothing."""
        while len(self.used) > mark:
            self.used.popitem()

    def _common(self, t: Term) -> _Known:
        """The normal form of a term without reserved names, computed once for given facts.

        It depends on the term and the facts alone: the work on it starts with fresh names of its
        own, whatever was done before.
        """
        found = self._shared.get(t)
        if found is None:
            if t.loose:
                raise T.KernelError(f"normal form: {t} has an index outside its sum")
            if _is_symbol(t):
                return _SYMBOLS.setdefault(t, _Known(MappingProxyType(self.atom(t)), term=t))
            work = Normaliser(self.signs, self.integers)
            found = _Known(MappingProxyType(work._poly(t)), tuple(work.used))
            work._shared[t] = found  # under the facts that `work` had, whatever became of ours
        if found.used:
            self.record(found.used)
        return found

    def same(self, a: Term, b: Term) -> bool:
        return a is b or not plus(self.poly(a), self.poly(b), -1)

    def fresh(self, size: Term) -> Term:
        return T.var(f"%f{next(self._fresh)}", "fin", size)

    # ------------------------------------------------------------------ by constructor

    def _poly(self, t: Term) -> Poly:
        match t.op:
            case "num":
                return constant(t.data)
            case "var":
                return self.atom(t)
            case "add":
                out: Poly = {}
                for c in t.children:
                    out = plus(out, self.poly(c))
                return out
            case "mul":
                out = constant(1)
                for c in t.children:
                    out = self.times(out, self.poly(c))
                return out
            case "pow":
                return self.pow(self.poly(t.children[0]), t.data)
            case "fn":
                return self._function(t)
            case "delta":
                return self._delta(t.children[0], t.children[1])
            case "sum":
                return self._sum(t.children[0], t.children[1])
            case "prod":
                return self._product(t.children[0], t.children[1])
            case "app":
                return self.atom(self._normal_children(t))
            case "det":
                return self.atom(self._normal_children(t))
            case "E":
                return self._expectation(t.children[0])
            case _:
                raise T.KernelError(f"normal form: {t} is not a closed real-valued term")

    def atom(self, t: Term, e: int = 1) -> Poly:
        return {Monomial((), ((t, e),)): ONE}

    def _normal_children(self, t: Term) -> Term:
        return T.map_children(t, self._under)

    def _under(self, body: Term, binders: int) -> Term:
        """Normalise below binders by opening them with unsorted variables.

        The names depend on `body` alone, since the order of its parts depends on them; they are
        chosen again when the normal form has fewer free symbols.
        """
        if binders == 0:
            return self.term(body)
        names: tuple[Term, ...] = ()
        while (chosen := tuple(map(T.var, _unused("%b", binders, (body,))))) != names:
            names = chosen
            body = T.abstract(self.term(T.instantiate(body, names)), names)
        return body

    # ------------------------------------------------------------------ products

    def times(self, p: Poly, q: Poly) -> Poly:
        if _is_one(p):
            return q
        if _is_one(q):
            return p
        out: dict[Monomial, Fraction] = {}
        for m, c in p.items():
            for n, d in q.items():
                scale = d if c is ONE else c if d is ONE else c * d
                _add_into(out, self._times(m, n), scale)
        return out

    def _times(self, m: Monomial, n: Monomial) -> Poly:
        if not m.factors and not m.indices:
            return {n: ONE}
        if not n.factors and not n.indices:
            return {m: ONE}
        m, n = self.opened(m), self.opened(n)
        factors = dict(m.factors)
        for t, e in n.factors:
            self._join(factors, t, e)
        return self._reduce(m.indices + n.indices, factors)

    def _join(self, factors: dict[Term, int], t: Term, e: int) -> None:
        if t not in factors:
            factors[t] = e
            return
        e += factors[t]
        if e == 0 and self.has_sign(t, Sign.NONZERO):
            del factors[t]
        else:
            factors[t] = e

    def opened(self, m: Monomial) -> Monomial:
        """Rename the summed variables of `m` to fresh ones.

        The names "%0", "%1", ... of a monomial at rest must not be seen by `poly`, or a sum
        inside a factor would capture them.
        """
        if not m.indices:
            return m
        names = {i: self.fresh(i.children[0]) for i in m.indices}
        return Monomial(
            tuple(names.values()), tuple((T.substitute(t, names), e) for t, e in m.factors)
        )

    def pow(self, p: Poly, e: int) -> Poly:
        _check_power(p, abs(e))
        if e >= 0:
            return self._repeated(p, e)
        if not p:
            return {}
        if len(p) == 1:
            ((m, c),) = p.items()
            if not m.indices:
                factors = {t: k * e for t, k in m.factors}
                return scaled(self._reduce((), factors), c**e)
        lead = p[min(p, key=monomial_key)]
        return scaled(self.atom(to_term(scaled(p, 1 / lead)), e), lead**e)

    def _repeated(self, p: Poly, e: int) -> Poly:
        """The product of `e` equal factors; by squaring where that makes no more terms."""
        out = constant(1)
        if len(p) == 1 and not next(iter(p)).indices:
            for digit in f"{e:b}":
                if len(out) > MAX_SUMS:  # the square of a root has as many terms as are under it
                    raise T.KernelError(f"normal form: a power with the exponent {e} is too long")
                out = self.times(out, out)
                if digit == "1":
                    out = self.times(out, p)
            return out
        renamed = (len(m.indices) for m in p if not all(_is_plain(t) for t, _ in m.factors))
        if e * max(renamed, default=0) > MAX_RENAMED_SUMS:
            raise T.KernelError(f"normal form: a power with the exponent {e} is too long")
        for _ in range(e):
            out = self.times(out, p)
        return out

    def _reduce(self, indices: tuple[Term, ...], factors: dict[Term, int]) -> Poly:
        """Apply the special laws of atoms until none applies, then close the indices."""
        if _LAWFUL.isdisjoint([t.op for t in factors]):
            return self._canonical(indices, factors)
        for t, e in list(factors.items()):
            extra = self._law(t, e, factors)
            if extra is not None:
                rest = self._reduce((), factors)
                return self._close_all(indices, self.times(rest, extra))
        merged = self._merge_exp(factors)
        if merged is not None:
            return self._close_all(indices, merged)
        replaced = self._apply_delta(factors)
        if replaced is not None:
            return self._close_all(indices, replaced)
        if indices and sum(t.op == "delta" for t in factors) > 1:  # they may tell an index together
            return self._close_all(indices, {_sorted_monomial((), factors): ONE})
        return self._canonical(indices, factors)

    def _close_all(self, indices: tuple[Term, ...], p: Poly) -> Poly:
        for i in indices:
            p = self._close(i, p)
        return p

    def _law(self, t: Term, e: int, factors: dict[Term, int]) -> Poly | None:
        """Take a power that has a simpler form out of `factors` and return that form."""
        if t.op == "delta" and e != 1:
            factors[t] = 1  # 0 and 1 are their own powers and inverses
            return constant(1)
        if t.op in ("add", "sum") and e > 0 and self.poly(t) != self.atom(t):
            del factors[t]  # arises when an inverse is inverted
            return self.pow(self.poly(t), e)
        if t.op != "fn":
            return None
        if t.data == "sqrt" and e not in (0, 1) and self.has_sign(t.children[0], Sign.NONNEG):
            self._apply("sqrt-square")
            half, odd = divmod(e, 2)
            factors.pop(t)
            base = self.pow(self.poly(t.children[0]), half)
            return self.times(base, self.atom(t)) if odd else base
        if t.data == "abs" and e % 2 == 0 and e != 0:
            self._apply("abs-square")
            factors.pop(t)
            return self.pow(self.poly(t.children[0]), e)
        return None

    def _merge_exp(self, factors: dict[Term, int]) -> Poly | None:
        """exp(a)^p exp(b)^q = exp(p a + q b)."""
        exps = [(t, e) for t, e in factors.items() if t.op == "fn" and t.data == "exp"]
        if not exps or (len(exps) == 1 and exps[0][1] == 1):
            return None
        self._apply("exp-add")
        argument: Poly = {}
        for t, e in exps:
            del factors[t]
            argument = plus(argument, self.poly(t.children[0]), e)
        return self.times(self._reduce((), factors), self._exp(argument))

    def _apply_delta(self, factors: dict[Term, int]) -> Poly | None:
        """delta(x, y) f(y) = delta(x, y) f(x) for variables, the larger replaced."""
        for t in factors:
            if t.op != "delta":
                continue
            x, y = t.children
            if x.op != "var" or y.op != "var" or T.is_random(t):
                continue  # in an expectation, a random symbol is another one than outside
            x, y = sorted((x, y), key=_variable_order)
            others = [(s, e) for s, e in factors.items() if s is not t]
            if any(T.in_a_size(y, s) for s, _ in others):
                continue  # an index of range y is another one than an index of range x
            if any(y in s.free for s, _ in others):
                rest = self._renormal(others, {y: x})
                return self.times(self.atom(t), rest)
        return None

    def _renormal(self, factors: Iterable[tuple[Term, int]], values: dict[Term, Term]) -> Poly:
        out = constant(1)
        for s, e in factors:
            p = self.poly(T.substitute(s, values))
            out = self.times(out, self.pow(p, e) if e else self.times(p, self.pow(p, -1)))
        return out

    # ------------------------------------------------------------------ sums

    def _sum(self, size: Term, body: Term) -> Poly:
        n = literal(self.poly(size))
        if n is not None and n.denominator == 1 and n <= UNROLL:
            if body.loose == 0:
                return scaled(self.poly(body), max(Fraction(0), n))
            out: Poly = {}
            for k in range(max(0, int(n))):
                out = plus(out, self.poly(T.instantiate(body, (T.num(k),))))
            return out
        size = self.term(size)
        if T.is_random(size) or any(
            isinstance(s, Term) and s.data[0].startswith("%") for s in size.free
        ):
            # a range that depends on an outer index or on the outcome: an opaque sum
            return self.atom(T.total(size, self._under(body, 1)))
        (name,) = _unused(
            "%w", 1, (body,)
        )  # the name that it will most likely have in `_canonical`
        i = T.var(name, "fin", size)
        return self._close(i, self.poly(T.instantiate(body, (i,))))

    def _close(self, i: Term, p: Poly) -> Poly:
        """The sum over the variable `i` of a polynomial."""
        out: Poly = {}
        for m, c in p.items():
            out = plus(out, self._close_monomial(i, m), c)
        return out

    def _close_monomial(self, i: Term, m: Monomial) -> Poly:
        if not any(i in t.free for t, _ in m.factors):
            size = i.children[0]
            if self.is_int(size) and self.nonneg(self.poly(size)):
                return self.times(self.poly(size), {m: ONE})
        if any(t.op == "delta" for t, _ in m.factors):
            m = self.opened(m)
        deltas = [t for t, _ in m.factors if t.op == "delta"]
        for t in deltas:
            k = self._solve_deltas(t, i, deltas)
            if k is not None:
                rest = [(s, e) for s, e in m.factors if s is not t]
                return self._close_all(m.indices, self._renormal(rest, {i: k}))
        return self._canonical((*m.indices, i), dict(m.factors))

    def _solve_deltas(self, t: Term, i: Term, deltas: list[Term]) -> Term | None:
        """`k` with 0 <= k < size of `i` known and `t` = [i = k], or `t` = [i = j] beside [j = k].

        `i` is not in `k`.
        """
        j = self._solve_delta(t, i)
        if j is None or self.in_range(j, i.children[0]):
            return j
        others = (s for s in deltas if s is not t and i not in s.free)
        values = (k for s in others for k in self._equals(j, s))
        return next((k for k in values if self.in_range(k, i.children[0])), None)

    def _equals(self, j: Term, s: Term) -> Iterator[Term]:
        """What `j` is, as a delta `s` has it: its value if it is a variable, else variables."""
        if j.op == "var":
            k = self._solve_delta(s, j)
            if k is not None:
                yield k
            return
        for k in sorted((v for v in s.free if isinstance(v, Term)), key=_variable_order):
            if self._solve_delta(s, k) is j:
                yield k

    def _solve_delta(self, t: Term, i: Term) -> Term | None:
        """`k` with delta = [i = k], `i` not in `k`."""
        difference = plus(self.poly(t.children[0]), self.poly(t.children[1]), -1)
        alone = Monomial((), ((i, 1),))
        c = difference.get(alone)
        if c is None:
            return None
        k = to_term(scaled(plus(difference, {alone: c}, -1), -1 / c))
        return None if i in k.free else k

    def _canonical(self, indices: tuple[Term, ...], factors: dict[Term, int]) -> Poly:
        """Rename and order the summed variables, and order the factors."""
        if not indices:
            return {_sorted_monomial((), factors): ONE}
        plain = all(map(_is_plain, factors))
        working = () if plain else _unused("%w", len(indices), factors, indices)
        best: tuple[tuple[tuple[bytes, int], ...], Fraction] | None = None
        out: Poly = {}
        for order in self._orders(indices, factors):
            sizes = [i.children[0] for i in order]
            rest = tuple(map(_at_rest, range(len(sizes)), sizes))
            kept, names, c = factors, order, ONE
            if not plain:
                names = tuple(T.var(w, "fin", n) for w, n in zip(working, sizes, strict=True))
                if names != order:
                    kept, c = self._renamed(factors, dict(zip(order, names, strict=True)))
            last = dict(zip(names, rest, strict=True))
            m = _sorted_monomial(rest, {T.substitute(t, last): e for t, e in kept.items()})
            key = (tuple((t.key, e) for t, e in m.factors), c)
            if best is None or key < best:
                best, out = key, {m: c}
        return out

    def _renamed(
        self, factors: dict[Term, int], names: dict[Term, Term]
    ) -> tuple[dict[Term, int], Fraction]:
        """The factors with other variables, normalised again, and a coefficient.

        The order of a sum inside an atom, and thereby its leading coefficient, depend on names.
        """
        p = self._renormal(factors.items(), names)
        ((m, c),) = p.items() if len(p) == 1 else ((UNIT, Fraction(0)),)
        if c == 0 or m.indices:  # there is more to simplify than was seen under the old names
            return {T.substitute(t, names): e for t, e in factors.items()}, ONE
        return dict(m.factors), c

    def _orders(
        self, indices: tuple[Term, ...], factors: dict[Term, int]
    ) -> Iterable[tuple[Term, ...]]:
        """Orders of the summed variables to compare: those that agree with their signatures."""
        if len(indices) == 1:
            return [indices]
        ranges: dict[bytes, list[Term]] = {}
        for i in indices:
            ranges.setdefault(i.children[0].key, []).append(i)
        groups: dict[object, list[Term]] = {}
        for size, members in ranges.items():
            for i in members:
                occurs = self._occurrence(i, indices, factors) if len(members) > 1 else ()
                groups.setdefault((size, occurs), []).append(i)
        keys = sorted(groups)  # type: ignore[type-var]
        orders = 1
        for k in keys:
            orders *= factorial(len(groups[k]))
        if orders > MAX_ORDERS:
            return [tuple(i for k in keys for i in groups[k])]
        return (
            tuple(i for part in parts for i in part)
            for parts in product(*(permutations(groups[k]) for k in keys))
        )

    def _occurrence(
        self, i: Term, indices: tuple[Term, ...], factors: dict[Term, int]
    ) -> tuple[tuple[bytes, int], ...]:
        """Where `i` occurs, with the other summed variables made indistinct."""
        names = {j: T.var("%other", "fin", j.children[0]) for j in indices}
        names[i] = T.var("%this", "fin", i.children[0])
        seen = []
        for t, e in factors.items():
            if i in t.free:
                u = T.substitute(t, names)
                seen.append((u.key if _is_plain(t) else self.term(u).key, e))
        return tuple(sorted(seen))

    def _product(self, size: Term, body: Term) -> Poly:
        n = literal(self.poly(size))
        if n is not None and n.denominator == 1 and n <= UNROLL:
            out = constant(1)
            for k in range(max(0, int(n))):
                out = self.times(out, self.poly(T.instantiate(body, (T.num(k),))))
            return out
        return self.atom(T.product(self.term(size), self._under(body, 1)))

    # ------------------------------------------------------------------ atoms

    def _delta(self, a: Term, b: Term) -> Poly:
        """0 or 1 where that is known; otherwise one form for all multiples of an equation."""
        difference = plus(self.poly(a), self.poly(b), -1)
        if not difference:
            return constant(1)
        if self._between_integers(difference):
            return {}
        difference = scaled(difference, 1 / difference[min(difference, key=monomial_key)])
        if len(difference) == 2:
            (m, c), (n, d) = difference.items()
            if c == -d and _is_variable(m) and _is_variable(n):
                x, y = sorted((m.factors[0][0], n.factors[0][0]), key=_variable_order)
                return self.atom(T.delta(x, y))
        return self.atom(T.delta(to_term(difference), T.ZERO))

    def _between_integers(self, p: Poly) -> bool:
        """Whether a multiple of `p` is an integer plus a fraction, so that `p` is not 0."""
        start = p.get(UNIT, Fraction(0))
        rest = plus(p, constant(start), -1)
        if not rest:
            return start != 0
        step = Fraction(
            gcd(*(c.numerator for c in rest.values())), lcm(*(c.denominator for c in rest.values()))
        )
        return (start / step).denominator != 1 and all(map(self._int_monomial, rest))

    def _function(self, t: Term) -> Poly:
        if t.data == "mod":
            self._apply("remainder")
            a, n = t.children
            return self.poly(T.sub(a, T.mul(n, T.fn("floor", T.div(a, n)))))
        args = [self.poly(c) for c in t.children]
        match t.data:
            case "pi":
                return self.atom(t)
            case "exp":
                return self._exp(args[0])
            case "log":
                return self._log(args[0])
            case "sqrt":
                return self._sqrt(args[0])
            case "sin" | "cos":
                return self._trig(t.data, args[0])
            case "abs":
                return self._abs(args[0])
            case "floor":
                return self._floor(args[0])
            case "max" | "min":
                return self._extremum(t.data, args)
            case "rpow":
                return self._real_power(*args)
            case _:
                raise T.KernelError(f"normal form: function {t.data} has no rule")

    def _exp(self, p: Poly) -> Poly:
        """exp(0) = 1; exp(k log x) = x^k for x > 0 and integer k."""
        out = constant(1)
        if not p:
            self._apply("exp-zero")
        for m, c in list(p.items()):
            x = _argument(m, "log")
            if x is not None and c.denominator == 1 and self.has_sign(x, Sign.POS):
                self._apply("exp-log")
                if len(p) > 1 or c != 1:
                    self._apply("exp-add")
                out = self.times(out, self.pow(self.poly(x), int(c)))
                p = plus(p, {m: c}, -1)
        if not p:
            return out
        return self.times(out, self.atom(T.fn("exp", to_term(p))))

    def _log(self, p: Poly) -> Poly:
        if literal(p) == 1:
            self._apply("log-one")
            return {}
        if len(p) == 1:
            ((m, c),) = p.items()
            x = _argument(m, "exp")
            if c == 1 and x is not None:
                self._apply("log-exp")
                return self.poly(x)
        return self.atom(T.fn("log", to_term(p)))

    def _real_power(self, base: Poly, exponent: Poly) -> Poly:
        """x^y = exp(y log x) for x > 0; integer literals as ordinary powers."""
        e = literal(exponent)
        if e is not None and e.denominator == 1:
            self._apply("integer-power")
            return self.pow(base, int(e))
        b = to_term(base)
        if self.has_sign(b, Sign.POS):
            self._apply("real-power")
            return self._exp(self.times(exponent, self._log(base)))
        return self.atom(T.fn("rpow", b, to_term(exponent)))

    def _sqrt(self, p: Poly) -> Poly:
        """sqrt(a b) = sqrt(a) sqrt(b) for a >= 0, sqrt(x^2) = |x|."""
        if not p:
            self._apply("sqrt-rational")
            return {}
        if len(p) > 1 or next(iter(p)).indices:
            lead = abs(p[min(p, key=monomial_key)])
            if lead != 1:
                self._apply("sqrt-product")
            return self.times(
                self._sqrt_rational(lead), self.atom(T.fn("sqrt", to_term(scaled(p, 1 / lead))))
            )
        ((m, c),) = p.items()
        if c == 1 and len(m.factors) == 1 and m.factors[0][1] == 1:
            return self.atom(T.fn("sqrt", m.factors[0][0]))
        if c == 1 and not m.factors:
            self._apply("sqrt-rational")
        roots = [self._sqrt_rational(abs(c))] if abs(c) != 1 else []
        kept = constant(1 if c > 0 else -1)
        for t, e in m.factors:
            root, rest = self._sqrt_power(t, e)
            roots += [root] if not _is_one(root) else []
            kept = self.times(kept, rest)
        out = constant(1)
        for root in roots:
            out = self.times(out, root)
        whole = literal(kept) == 1
        if len(roots) + (not whole) > 1:
            self._apply("sqrt-product")
        return out if whole else self.times(out, self.atom(T.fn("sqrt", to_term(kept))))

    def _sqrt_power(self, t: Term, e: int) -> tuple[Poly, Poly]:
        """r and s with sqrt(t^e u) = r sqrt(s u)."""
        one = constant(1)
        if e == 0:  # t t^-1 is 0 or 1, its own root
            self._apply("sqrt-rational")
            return self._pair(t), one
        if self.has_sign(t, Sign.NONNEG):
            if e not in (1, 2):
                self._apply("sqrt-product")
            return self.pow(self.atom(T.fn("sqrt", t)), e), one
        half, odd = divmod(e, 2)
        if half:
            self._apply("sqrt-square")
        if half not in (0, 1):
            self._apply("abs-product")
        root = self.pow(self._abs(self.poly(t)), half) if half else one
        return root, self.poly(t) if odd else one

    def _pair(self, t: Term) -> Poly:
        return self.times(self.poly(t), self.pow(self.poly(t), -1))

    def _sqrt_rational(self, q: Fraction) -> Poly:
        """The root of a positive rational as a rational times roots of distinct primes.

        What cannot be factored stays one.
        """
        n, r = q.numerator * q.denominator, Fraction(1, q.denominator)
        if isqrt(n) ** 2 == n:
            if n != 1:
                self._apply("sqrt-rational")
            return constant(isqrt(n) * r)
        factors = _prime_factors(n) or ((n, 1),)
        out = constant(1)
        for prime, e in factors:
            r *= prime ** (e // 2)
            if e % 2:
                out = self.times(out, self.atom(T.fn("sqrt", T.num(prime))))
        if r != 1:
            self._apply("sqrt-rational")
        if r != 1 or len(factors) > 1:
            self._apply("sqrt-product")
        return scaled(out, r)

    def _abs(self, p: Poly) -> Poly:
        """|x y| = |x| |y|, |x| = x for x >= 0 and |x| = -x for x <= 0."""
        for q in (p, scaled(p, -1)):
            if not q or self.has_sign(to_term(q), Sign.NONNEG):
                self._apply("abs-value")
                return q
        if len(p) == 1 and not next(iter(p)).indices:
            ((m, c),) = p.items()
            out = constant(abs(c))
            if c != 1 or len(m.factors) != 1 or m.factors[0][1] not in (0, 1):
                self._apply("abs-product")
            for s, e in m.factors:
                a = self.atom(T.fn("abs", s))
                if e == 0 or self.has_sign(s, Sign.NONNEG):  # s s^-1 is 0 or 1
                    self._apply("abs-value")
                    a = self.atom(s)
                out = self.times(out, self.pow(a, e) if e else self._pair(s))
            return out
        lead = p[min(p, key=monomial_key)]
        if lead != 1:
            self._apply("abs-product")
        return scaled(self.atom(T.fn("abs", to_term(scaled(p, 1 / lead)))), abs(lead))

    def _trig(self, name: str, p: Poly) -> Poly:
        """Parity, and the values at integer multiples of pi/2."""
        if not p:
            self._apply("trig-pi")
            return constant(0 if name == "sin" else 1)
        mark = len(self.used)
        turns = self._multiple_of_pi(p)
        if turns is not None:
            shift = Fraction(-1, 2) if name == "sin" else 0  # sin(x) = cos(x - pi/2)
            value = self._cos_at_half_turns(T.add(turns, T.num(shift)))
            if value is not None:
                self._apply("trig-pi")
                return constant(value)
        self.forget(mark)
        negative = p[min(p, key=monomial_key)] < 0
        if negative:
            self._apply("trig-parity")
        atom = self.atom(T.fn(name, to_term(scaled(p, -1) if negative else p)))
        return scaled(atom, -1) if negative and name == "sin" else atom

    def _cos_at_half_turns(self, x: Term) -> int | None:
        """cos(x pi): 0 if x - 1/2 is an integer, 1 if x is an even one, -1 if it is odd."""
        if self.is_int(T.sub(x, T.num(Fraction(1, 2)))):
            return 0
        if self.is_int(T.mul(T.num(Fraction(1, 2)), x)):
            return 1
        return -1 if self.is_int(T.mul(T.num(Fraction(1, 2)), T.sub(x, T.ONE))) else None

    def _multiple_of_pi(self, p: Poly) -> Term | None:
        q = self.times(p, self.atom(T.PI, -1))
        if any(t is T.PI for m in q for t, _ in m.factors):
            return None
        return to_term(q)

    def _floor(self, p: Poly) -> Poly:
        """floor(k + x) = k + floor(x) for an integer k; floor(c/n) = 0 for 0 <= c < n."""
        whole: Poly = {}
        for m, c in p.items():
            k = floor(c)
            if k and self._int_monomial(m):
                whole = plus(whole, scaled({m: ONE}, k))
        rest = plus(p, whole, -1)
        if whole or not rest:
            self._apply("floor-shift")
        if not rest:
            return whole
        if self._proper_fraction(rest):
            self._apply("floor-unit")
            return whole
        return plus(whole, self.atom(T.fn("floor", to_term(rest))))

    def _proper_fraction(self, p: Poly) -> bool:
        """Whether 0 <= p < 1 is known."""
        q = literal(p)
        if q is not None:
            return 0 <= q < 1
        sizes = {t: None for m in p if not m.indices for t, e in m.factors if e == -1}
        return any(self._is_part(p, size) for size in sizes)

    def _is_part(self, p: Poly, size: Term) -> bool:
        """Whether p = k/n with 0 <= k < n is known, for an integer k and the size n."""
        mark = len(self.used)
        if (
            self.is_int(size)
            and self.has_sign(size, Sign.POS)
            and self.in_range(to_term(self.times(p, self.atom(size))), size)
        ):
            return True
        self.forget(mark)
        return False

    def _extremum(self, name: str, args: list[Poly]) -> Poly:
        """max over the distinct arguments; one that is known to be dominated is dropped."""
        sense = 1 if name == "max" else -1
        kept: list[Poly] = []
        for p in args:
            if any(self.nonneg(plus(q, p, -1), sense) for q in kept):
                continue
            kept = [q for q in kept if not self.nonneg(plus(p, q, -1), sense)] + [p]
        if len(kept) < len(args) or len(kept) == 1:
            self._apply("extremum-value")
        if len(kept) == 1:
            return kept[0]
        terms = [to_term(p) for p in kept]
        ordered = sorted(terms, key=lambda t: t.key)
        if ordered != terms:
            self._apply("extremum-order")
        return self.atom(T.fn(name, *ordered))

    def _expectation(self, body: Term) -> Poly:
        """Linearity: what is not random leaves the expectation, sums and constants split."""
        out: Poly = {}
        for m, c in self.poly(body).items():
            m = self.opened(m)
            still = {t: e for t, e in m.factors if not T.is_random(t)}
            moving = {t: e for t, e in m.factors if T.is_random(t)}
            if moving:
                inner = monomial_term(Monomial((), tuple(moving.items())), ONE)
                self._join(still, T.expectation(self.term(inner)), 1)
            out = plus(out, self._close_all(m.indices, self._reduce((), still)), c)
        if out != self.atom(T.expectation(self.term(body))):
            self._apply("expectation-linearity")
        return out

    # ------------------------------------------------------------------ signs and integers

    def sign(self, t: Term) -> Sign:
        """What is known of the sign of a normalised atom or canonical term."""
        known = self.signs.get(t)
        if known is None:
            return self._sign(t)
        return known if known is Sign.POS else both_signs(known, self._sign(t))

    def has_sign(self, t: Term, wanted: Sign) -> bool:
        """Whether a normalised atom or canonical term has that sign, or is positive, for sure."""
        mark = len(self.used)
        if self.sign(t) in (wanted, Sign.POS):
            return True
        self.forget(mark)
        return False

    def sign_of(self, t: Term) -> Sign:
        """The sign of any term, whose powers and products may say more than its normal form."""
        mark = len(self.used)
        known = self.sign(self.term(t))
        if t.op == "pow" and known is not Sign.POS:
            known = both_signs(known, _sign_of_power(self.sign_of(t.children[0]), t.data))
        elif t.op == "mul" and known is not Sign.POS:
            known = both_signs(known, _sign_of_product([self.sign_of(c) for c in t.children]))
        if known is Sign.UNKNOWN:
            self.forget(mark)
        return known

    def term_has_sign(self, t: Term, wanted: Sign) -> bool:
        """Whether any term is known to have that sign, or to be positive."""
        mark = len(self.used)
        if self.sign_of(t) in (wanted, Sign.POS):
            return True
        self.forget(mark)
        return False

    def _sign(self, t: Term) -> Sign:
        match t.op:
            case "num":
                return Sign.POS if t.data > 0 else Sign.NONZERO if t.data < 0 else Sign.NONNEG
            case "var":
                return {"dim": Sign.POS, "nat": Sign.NONNEG, "fin": Sign.NONNEG}.get(
                    t.data[1], Sign.UNKNOWN
                )
            case "delta":
                return Sign.NONNEG
        mark = len(self.used)
        known = self._sign_by_parts(t)
        if known is Sign.UNKNOWN:
            self.forget(mark)
        return known

    def _sign_by_parts(self, t: Term) -> Sign:
        match t.op:
            case "add":
                return _sign_of_total([self.sign(c) for c in t.children])
            case "mul":
                return _sign_of_product([self.sign(c) for c in t.children])
            case "pow":
                return _sign_of_power(self.sign(t.children[0]), t.data)
            case "sum":
                return self._sign_of_sum(t)
            case "fn":
                return self._sign_of_function(t)
            case _:
                return Sign.UNKNOWN

    def _sign_of_sum(self, t: Term) -> Sign:
        size = t.children[0]
        i = self.fresh(size)
        s = self.sign(self.term(T.instantiate(t.children[1], (i,))))
        if s < Sign.NONNEG:
            return Sign.UNKNOWN
        return Sign.POS if s is Sign.POS and self.has_sign(size, Sign.POS) else Sign.NONNEG

    def _sign_of_function(self, t: Term) -> Sign:
        known = self._sign_of_value(t.data, t.children)
        if known is not Sign.UNKNOWN:
            self._apply(_SIGN_LAWS[t.data])
        return known

    def _sign_of_value(self, name: str, args: tuple[Term, ...]) -> Sign:
        match name:
            case "pi" | "exp":
                return Sign.POS
            case "sqrt":
                return Sign.POS if self.has_sign(args[0], Sign.POS) else Sign.NONNEG
            case "abs":
                return Sign.POS if self.has_sign(args[0], Sign.NONZERO) else Sign.NONNEG
            case "floor":
                known = self.has_sign(args[0], Sign.NONNEG)
                return Sign.NONNEG if known else Sign.UNKNOWN
            case "max" | "min":
                enough = any if name == "max" else all
                for least in (Sign.POS, Sign.NONNEG):
                    if enough(self.has_sign(c, least) for c in args):
                        return least
                return Sign.UNKNOWN
            case _:  # a real power of a positive number is an exponential here
                return Sign.UNKNOWN

    def is_int(self, t: Term) -> bool:
        """Whether `t` is known to be an integer."""
        mark = len(self.used)
        p = self.poly(t)
        if all(c.denominator == 1 and self._int_monomial(m) for m, c in p.items()):
            return True
        self.forget(mark)
        if self.term(t) in self.integers:
            return True
        self.forget(mark)
        return False

    def _int_monomial(self, m: Monomial) -> bool:
        if monomial_term(m, ONE) in self.integers:
            return True
        mark = len(self.used)
        m = self.opened(m)
        if all(e >= 0 and self._int_atom(t) for t, e in m.factors):
            return True
        self.forget(mark)
        return False

    def _int_atom(self, t: Term) -> bool:
        if t in self.integers or t.op == "delta":
            return True
        if t.op == "var":
            return bool(t.data[1] != "real")
        if t.op != "fn":
            return False
        if t.data != "floor" and not (
            t.data in ("max", "min", "abs") and all(self.is_int(c) for c in t.children)
        ):
            return False
        self._apply("floor-integer" if t.data == "floor" else "integer-value")
        return True

    def nonneg(self, p: Poly, sense: int = 1) -> bool:
        """Whether ``sense * p >= 0`` is known, with i <= n - 1 for an index i of range n."""
        p = scaled(p, sense)
        if self._coefficients_nonneg(p) or self.signs.get(to_term(unit_lead(p)), 0) >= Sign.NONNEG:
            return True
        found = {t for m in p if not m.indices for t, _ in m.factors if t.op == "var"}
        symbols = sorted(found, key=lambda s: s.key)  # what is used must not depend on chance
        bounds: dict[Term, list[Term]] = {n: [T.ONE] for n in symbols if n.data[1] == "dim"}
        for i in symbols:
            if i.data[1] == "fin" and i.children[0] in bounds:
                bounds[i.children[0]].append(T.add(i, T.ONE))
        if not bounds or len(bounds) > 4:
            return False
        for choice in product(*bounds.values()):
            values = {
                n: T.add(low, T.var(f"%s{next(self._fresh)}", "nat"))
                for n, low in zip(bounds, choice, strict=True)
            }
            if self._coefficients_nonneg(self._substitute_atoms(p, values)):
                return True
        return False

    def _substitute_atoms(self, p: Poly, values: dict[Term, Term]) -> Poly:
        out: Poly = {}
        for m, c in p.items():
            if m.indices:
                out = plus(out, {m: c})
                continue
            q = constant(c)
            for t, e in m.factors:
                base = self.poly(values[t]) if t in values else self.atom(t)
                q = self.times(q, self.pow(base, e) if e else self.times(base, self.pow(base, -1)))
            out = plus(out, q)
        return out

    def _coefficients_nonneg(self, p: Poly) -> bool:
        mark = len(self.used)
        if all(c > 0 and self.has_sign(monomial_term(m, ONE), Sign.NONNEG) for m, c in p.items()):
            return True
        self.forget(mark)
        return False

    def in_range(self, k: Term, size: Term) -> bool:
        """Whether 0 <= k <= size - 1 and k is an integer is known."""
        if k.op == "var" and k.data[1] == "fin" and self.same(k.children[0], size):
            return True
        mark = len(self.used)
        p = self.poly(k)
        room = plus(plus(self.poly(size), constant(1), -1), p, -1)
        if self.is_int(k) and self.nonneg(p) and self.nonneg(room):
            return True
        self.forget(mark)
        return False


def _check_power(p: Poly, e: int) -> None:
    """Refuse a power that would take too long to write out."""
    bits = max((max(abs(c.numerator), c.denominator).bit_length() for c in p.values()), default=0)
    terms = comb(len(p) + e - 1, e) if len(p) > 1 and e <= MAX_WORK else 1
    sums = max((len(m.indices) for m in p), default=0)
    work = e * len(p) * terms if len(p) > 1 else e * sums
    if (bits > 1 and bits * e > MAX_BITS) or work > (MAX_WORK if len(p) > 1 else MAX_SUMS):
        raise T.KernelError(f"normal form: a power with the exponent {e} is too long")


def _argument(m: Monomial, name: str) -> Term | None:
    """x if the monomial is just ``name(x)``."""
    if not m.indices and len(m.factors) == 1 and m.factors[0][1] == 1:
        t = m.factors[0][0]
        if t.op == "fn" and t.data == name:
            return t.children[0]
    return None


def both_signs(a: Sign, b: Sign) -> Sign:
    """What two facts about one value say together."""
    return Sign.POS if {a, b} == {Sign.NONNEG, Sign.NONZERO} else max(a, b)


def _sign_of_product(signs: list[Sign]) -> Sign:
    if any(s is Sign.UNKNOWN for s in signs):
        return Sign.UNKNOWN
    if all(s is Sign.POS for s in signs):
        return Sign.POS
    if all(s >= Sign.NONNEG for s in signs):
        return Sign.NONNEG
    return Sign.NONZERO if Sign.NONNEG not in signs else Sign.UNKNOWN


def _sign_of_power(s: Sign, e: int) -> Sign:
    if e == 0:
        return Sign.POS
    if e % 2 == 0:
        return Sign.POS if s in (Sign.POS, Sign.NONZERO) else Sign.NONNEG
    return s


def _sign_of_total(signs: list[Sign]) -> Sign:
    """The sign of a sum whose terms have these signs."""
    if any(s < Sign.NONNEG for s in signs):
        return Sign.UNKNOWN
    return Sign.POS if Sign.POS in signs else Sign.NONNEG


@cache
def _at_rest(k: int, size: Term) -> Term:
    """The canonical name of a summed variable of a monomial."""
    return T.var(f"%{k}", "fin", size)


@cache
def _has_names_at_rest(t: Term) -> bool:
    """Whether a canonical name of a summed variable of a monomial is free in `t`."""
    names = (s.data[0] for s in t.free if isinstance(s, Term))
    return any(name[0] == "%" and name[1:].isdecimal() for name in names)


def _unused(
    prefix: str, number: int, terms: Iterable[Term], apart_from: Sequence[Term] = ()
) -> list[str]:
    """The first names with that prefix that are not free in the terms, or only as these."""
    free = {s for t in terms for s in t.free if isinstance(s, Term)}
    used = {s.data[0] for s in free.difference(apart_from)}
    names = (f"{prefix}{k}" for k in count())
    return list(islice((w for w in names if w not in used), number))


def _sorted_monomial(indices: tuple[Term, ...], factors: dict[Term, int]) -> Monomial:
    if len(factors) < 2:
        return Monomial(indices, tuple(factors.items()))
    return Monomial(indices, tuple(sorted(factors.items(), key=lambda f: f[0].key)))


@cache
def _is_plain(t: Term) -> bool:
    """Whether the normal form of an atom does not depend on the names of its variables."""
    return t.op in ("var", "num") or (
        t.op == "app" and not t.data.arities and all(map(_is_plain, t.children))
    )


def _is_symbol(t: Term) -> bool:
    """Whether a term is its own normal form, whatever the facts are."""
    return t.op == "var" or (
        t.op == "app" and not t.data.arities and all([c.op == "var" for c in t.children])
    )


def _is_variable(m: Monomial) -> bool:
    return (
        not m.indices
        and len(m.factors) == 1
        and m.factors[0][1] == 1
        and m.factors[0][0].op == "var"
    )


def _variable_order(v: Term) -> tuple[bool, bytes]:
    """Summed variables come last, so that a delta replaces them by free ones."""
    return (v.data[0].startswith("%"), v.key)
