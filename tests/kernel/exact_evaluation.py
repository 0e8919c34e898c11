"""The meaning of kernel terms, computed directly: no normal form, no laws.

A `World` gives every symbol a value; `World.value` evaluates a term and `World.truth` a formula.
Numbers are fractions as long as they can be, and 60-digit floats below roots and transcendental
functions; a comparison or a floor that 60 digits do not settle raises `Unsettled`.
"""

from __future__ import annotations

from fractions import Fraction
from hashlib import md5
from itertools import permutations, product
from math import ceil, floor, isqrt

import mpmath

from derive.kernel.terms import Lam, Term

MP = mpmath.mp.clone()
MP.dps = 60
NEAR = MP.mpf(10) ** -35
#: the probabilities of the outcomes
WEIGHTS = (Fraction(1, 2), Fraction(1, 3), Fraction(1, 6))
SMALL = tuple(Fraction(q) for q in ("0", "1", "-1", "2", "-2", "3", "1/2", "-3/2"))

Number = object


class Unsettled(Exception):
    """The evaluation has no answer: too large, or too close to tell."""


def real(q):
    return MP.mpf(q.numerator) / q.denominator if isinstance(q, Fraction) else q


def is_zero(q) -> bool:
    if isinstance(q, Fraction):
        return q == 0
    if abs(q) < NEAR:
        return True
    if abs(q) < NEAR**0.5:
        raise Unsettled
    return False


def negative(q) -> bool:
    return not is_zero(q) and q < 0


def plus(a, b):
    return a + b if isinstance(a, Fraction) and isinstance(b, Fraction) else real(a) + real(b)


def times(a, b):
    return a * b if isinstance(a, Fraction) and isinstance(b, Fraction) else real(a) * real(b)


def inverse(a):
    return Fraction(0) if is_zero(a) else 1 / a


def power(a, e: int):
    if e < 0:
        return power(inverse(a), -e)
    out = Fraction(1)
    for _ in range(e):
        out = times(out, a)
    return out


def length(n) -> int:
    """How many i there are with 0 <= i < n."""
    if not isinstance(n, Fraction) or n > 70:
        raise Unsettled
    return max(0, ceil(n))


class World:
    """Values for all symbols, drawn from a seed; `values` and `tensors` fix some of them."""

    def __init__(self, seed: int, values=None, tensors=None) -> None:
        self.seed = seed
        self.values = dict(values or {})
        self.tensors = dict(tensors or {})

    def draw(self, *key, among=SMALL):
        digest = md5(repr((self.seed, key)).encode()).digest()
        return among[int.from_bytes(digest[:4], "big") % len(among)]

    # ------------------------------------------------------------------ terms

    def value(self, t: Term, env: tuple = (), outcome: int | None = None):
        """`env` holds the bound indices, the innermost first."""
        match t.op:
            case "num":
                return t.data
            case "bound":
                return env[t.data]
            case "var":
                return self.symbol(t, env, outcome)
            case "add" | "mul":
                out = Fraction(0 if t.op == "add" else 1)
                for c in t.children:
                    out = (plus if t.op == "add" else times)(out, self.value(c, env, outcome))
                return out
            case "pow":
                return power(self.value(t.children[0], env, outcome), t.data)
            case "fn":
                return function(t.data, [self.value(c, env, outcome) for c in t.children])
            case "delta":
                a, b = (self.value(c, env, outcome) for c in t.children)
                return Fraction(1 if is_zero(plus(a, times(Fraction(-1), b))) else 0)
            case "sum" | "prod":
                join, out = (plus, Fraction(0)) if t.op == "sum" else (times, Fraction(1))
                for i in range(length(self.value(t.children[0], env, outcome))):
                    out = join(out, self.value(t.children[1], (Fraction(i), *env), outcome))
                return out
            case "det":
                return self.determinant(t, env, outcome)
            case "E":
                out = Fraction(0)
                for w, p in enumerate(WEIGHTS):
                    out = plus(out, times(p, self.value(t.children[0], env, w)))
                return out
            case "app":
                return self.application(t, env, outcome)
        raise AssertionError(f"no meaning for {t}")

    def symbol(self, t: Term, env: tuple, outcome: int | None):
        if t in self.values:
            return self.values[t]
        name, sort, random = t.data
        if random:
            return self.draw("var", name, outcome)
        match sort:
            case "real":
                return self.draw("var", name)
            case "int":
                return Fraction(self.draw("int", name, among=range(-3, 4)))
            case "nat":
                return Fraction(self.draw("nat", name, among=range(4)))
            case "dim":
                return Fraction(self.draw("dim", name, among=range(1, 4)))
        count = length(self.value(t.children[0], env, outcome))
        if count == 0:
            raise Unsettled
        return Fraction(self.draw("fin", name, among=range(count)))

    def determinant(self, t: Term, env: tuple, outcome: int | None):
        n = length(self.value(t.children[0], env, outcome))
        if n > 4:
            raise Unsettled
        entry = {
            (i, j): self.value(t.children[1], (Fraction(j), Fraction(i), *env), outcome)
            for i, j in product(range(n), repeat=2)
        }
        out = Fraction(0)
        for order in permutations(range(n)):
            swaps = sum(a > b for k, a in enumerate(order) for b in order[k + 1 :])
            term = Fraction((-1) ** swaps)
            for i, j in enumerate(order):
                term = times(term, entry[i, j])
            out = plus(out, term)
        return out

    def application(self, t: Term, env: tuple, outcome: int | None):
        head = t.data
        scalars = tuple(self.value(c, env, outcome) for c in t.children[: head.scalars])
        if isinstance(head.head, int):
            return env[head.head](*scalars)
        if head.head in self.tensors and not head.arities:
            return self.tensors[head.head](*scalars)
        vectors, at = [], head.scalars
        for arity in head.arities:
            sizes = t.children[at : at + arity]
            body = t.children[at + arity]
            at += arity + 1
            counts = [range(length(self.value(s, env, outcome))) for s in sizes]
            vectors.append(
                (
                    tuple(map(len, counts)),
                    tuple(
                        _text(self.value(body, (*map(Fraction, reversed(place)), *env), outcome))
                        for place in product(*counts)
                    ),
                )
            )
        key = (head.head, tuple(map(_text, scalars)), tuple(vectors), head.derivatives)
        return self.draw("app", key, outcome if head.random else None)

    # ------------------------------------------------------------------ formulas

    def truth(self, p: Term, env: tuple = ()) -> bool:
        match p.op:
            case "eq" | "le" | "lt":
                a, b = (self.value(c, env) for c in p.children)
                d = plus(b, times(Fraction(-1), a))
                if p.op == "eq":
                    return is_zero(d)
                return not negative(d) and (p.op == "le" or not is_zero(d))
            case "isint":
                q = self.value(p.children[0], env)
                if not isinstance(q, Fraction):
                    raise Unsettled
                return q.denominator == 1
            case "not":
                return not self.truth(p.children[0], env)
            case "imp":
                return not self.truth(p.children[0], env) or self.truth(p.children[1], env)
            case "and":
                return all([self.truth(c, env) for c in p.children])
            case "or":
                return any([self.truth(c, env) for c in p.children])
            case "forall" | "exists" if p.data[0] == "fin":
                count = length(self.value(p.children[0], env))
                cases = [self.truth(p.children[1], (Fraction(i), *env)) for i in range(count)]
                return all(cases) if p.op == "forall" else any(cases)
        raise Unsettled

    def tensor(self, lam: Lam):
        """The function of a closed `Lam`."""
        return lambda *indices: self.value(lam.body, tuple(reversed(indices)))


def _text(q) -> str:
    """Numbers that are the same, exactly or as floats, have the same text."""
    return "0" if is_zero(q) else MP.nstr(real(q), 25)


def function(name: str, args: list):
    if name == "pi":
        return +MP.pi
    x = args[0]
    match name:
        case "abs":
            return abs(x)
        case "max" | "min":
            out = x
            for y in args[1:]:
                above = negative(plus(out, times(Fraction(-1), y)))
                out = y if above is (name == "max") else out
            return out
        case "floor":
            return _floor(x)
        case "mod":
            n = args[1]
            return plus(x, times(Fraction(-1), times(n, _floor(times(x, inverse(n))))))
        case "rpow":
            return _real_power(x, args[1])
        case "sqrt":
            return _sqrt(x)
        case "exp":
            if is_zero(x):
                return Fraction(1)
            if abs(x) > 40:
                raise Unsettled
            return MP.exp(real(x))
        case "log":
            return _log(x)
        case "sin" | "cos":
            if is_zero(x):
                return Fraction(0 if name == "sin" else 1)
            return getattr(MP, name)(real(x))
    raise AssertionError(name)


def _floor(x):
    if isinstance(x, Fraction):
        return Fraction(floor(x))
    if abs(x) > 10**15 or abs(x - MP.nint(x)) < NEAR**0.5:
        raise Unsettled
    return Fraction(int(MP.floor(x)))


def _sqrt(x):
    if is_zero(x) or negative(x):
        return Fraction(0)
    if isinstance(x, Fraction):
        p, q = isqrt(x.numerator), isqrt(x.denominator)
        if p * p == x.numerator and q * q == x.denominator:
            return Fraction(p, q)
    return MP.sqrt(real(x))


def _log(x):
    if is_zero(x) or negative(x) or x == 1:
        return Fraction(0)
    return MP.log(real(x))


def _real_power(x, y):
    if not isinstance(y, Fraction) and is_zero(y - MP.nint(y)):
        y = Fraction(int(MP.nint(y)))
    if isinstance(y, Fraction) and y.denominator == 1 and abs(y) < 50:
        return power(x, int(y))
    if is_zero(x) or negative(x):
        return Fraction(0)
    return function("exp", [times(y, _log(x))])
