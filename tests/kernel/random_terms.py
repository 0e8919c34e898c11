"""Random kernel terms, formulas and facts from a `random.Random`."""

from __future__ import annotations

from fractions import Fraction
from random import Random

from kernel_symbols import RX, RY, H, I, J, K, L, M, N, X, Y, Z

from derive.kernel import terms as T
from derive.kernel.terms import Head, Term

SCALARS = (X, Y, Z, K, L, N, M, I, J, H)
VECTOR = Head("F", 0, (1,))


class Generator:
    """`bound` counts the indices above; random symbols appear only when `random` is on."""

    def __init__(self, rng: Random, *, wild: bool = True) -> None:
        self.rng = rng
        self.wild = wild

    def integer(self, low: int, high: int) -> int:
        return self.rng.randint(low, high)

    def pick(self, *options):
        return options[self.rng.randrange(len(options))]

    def rational(self) -> Term:
        return T.num(Fraction(self.integer(-3, 3), self.pick(1, 1, 1, 2, 3)))

    def leaf(self, bound: int, random: bool) -> Term:
        options = [*SCALARS, self.rational(), self.rational()]
        options += [T.bound(k) for k in range(bound)] * 3
        if random:
            options += [RX, RY] * 3
        return self.pick(*options)

    def index(self, bound: int) -> Term:
        options = [I, J, H, T.ZERO, T.ONE, K, *[T.bound(k) for k in range(bound)] * 3]
        return self.pick(*options)

    def size(self, bound: int, random: bool) -> Term:
        options = [N, N, M, T.mul(N, M), T.add(N, T.ONE), L, T.sub(N, T.ONE), T.num(2), T.num(0)]
        if self.wild:
            options += [K, T.div(N, M), *[T.bound(k) for k in range(bound)]]
            options += [T.fn("abs", RX)] if random else []
        return self.pick(*options)

    def term(self, depth: int, bound: int = 0, random: bool = False) -> Term:
        if depth <= 0:
            return self.leaf(bound, random)
        go = self.integer(0, 19 if self.wild else 9)

        def sub(more: int = 0) -> Term:
            return self.term(depth - 1, bound + more, random)

        match go:
            case 0 | 1:
                return T.add(*(sub() for _ in range(self.integer(2, 3))))
            case 2 | 3:
                return T.mul(*(sub() for _ in range(self.integer(2, 3))))
            case 4 | 5:
                return T.total(self.size(bound, random), sub(1))
            case 6:
                return T.delta(self.index(bound), self.index(bound))
            case 7:
                return T.apply("A", self.index(bound))
            case 8:
                return T.apply("B", self.index(bound), self.index(bound))
            case 9:
                return T.power(sub(), self.integer(0, 2))
            case 10 | 11:
                return T.power(sub(), self.pick(-1, -1, -2, 0, 1, 2))
            case 12 | 13:
                return T.fn(self.pick("sqrt", "abs", "sqrt", "abs", "exp", "log"), sub())
            case 14:
                name = self.pick("floor", "max", "min", "mod", "rpow", "sin", "cos")
                count = {"max": 2, "min": 2, "mod": 2, "rpow": 2}.get(name, 1)
                return T.fn(name, *(sub() for _ in range(count)))
            case 15:
                return T.product(self.size(bound, random), sub(1))
            case 16:
                return T.delta(sub(), sub())
            case 17:
                return T.expectation(self.term(depth - 1, bound, True))
            case 18:
                return T.app(VECTOR, self.size(bound, random), sub(1))
            case _:
                return self.pick(
                    T.det(self.pick(N, T.num(2), M), sub(2)),
                    T.apply("R", self.index(bound), random=random),
                    T.fn(
                        self.pick("sin", "cos"),
                        T.mul(T.PI, T.num(Fraction(self.integer(-3, 3), 2)), self.index(bound)),
                    ),
                )
