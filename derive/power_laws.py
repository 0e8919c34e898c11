"""Powers with a symbolic natural exponent: products of so many equal factors.

x^k is the product over i < k of x, whatever the sign of x is; where x is known to be positive, it
is e^(k log x) as well.  The laws are proved here, by induction with the rule `unroll`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from derive import rewriting
from derive.convert import Converter
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.kernel.terms import Term
from derive.prover import Prover

_K, _M = T.var("_k", "nat"), T.var("_m", "nat")
_X, _Y = T.var("_x", "real"), T.var("_y", "real")
MINUS_ONE = T.num(-1)
Step = Callable[[Prover, Theorem], Theorem]


def _always(claimed: Term, step: Step, *variables: Term, given: Term | None = None) -> Theorem:
    """For all of the variables and all k: what is given -> `claimed`, by induction over k.

    `step` proves it for k + 1 from the theorem for k; it is plain for 0.
    """
    p = Prover(Converter(), () if given is None else [given])
    first = T.substitute(claimed, {_K: T.ZERO})
    base = p.equal(*first.children, show=False) if claimed.op == "eq" else p.trivial(first)
    with p.supposing(claimed) as case:
        theorem = p.induction(base, p.discharge(step(p, case), case), _K)
    if given is not None:
        theorem = p.for_all(p.discharge(p.at(theorem, _K), given), _K)
    return p.for_all(theorem, *variables)


def _one_more(x: Term, size: Term = _K) -> Theorem:
    """x^(k+1) = x^k x."""
    return infer("unroll", [], "prod", size, x)


def _next(t: Term) -> Term:
    return T.substitute(t, {_K: T.add(_K, T.ONE)})


# ---------------------------------------------------------------------------- equations


@cache
def of_sum() -> Theorem:
    """For all x, m, k: x^(m+k) = x^m x^k."""
    power = T.product(_M, _X)
    claimed = T.eq(T.product(T.add(_M, _K), _X), T.mul(power, T.product(_K, _X)))

    def step(p: Prover, case: Theorem) -> Theorem:
        longer, last = _one_more(_X, T.add(_M, _K)), _one_more(_X)
        items = (1, longer), (_X, case), (T.neg(power), last)
        return p.equal(*_next(claimed).children, *items, show=False)

    return _always(claimed, step, _X, _M)


@cache
def of_product() -> Theorem:
    """For all x, y, k: (x y)^k = x^k y^k."""
    both, left, right = T.mul(_X, _Y), T.product(_K, _X), T.product(_K, _Y)
    claimed = T.eq(T.product(_K, both), T.mul(left, right))

    def step(p: Prover, case: Theorem) -> Theorem:
        items = (1, _one_more(both)), (both, case)
        split = (T.neg(_next(right)), _one_more(_X)), (T.neg(T.mul(left, _X)), _one_more(_Y))
        return p.equal(*_next(claimed).children, *items, *split, show=False)

    return _always(claimed, step, _X, _Y)


@cache
def of_power() -> Theorem:
    """For all x, m, k: (x^m)^k = x^(m k)."""
    power = T.product(_M, _X)
    claimed = T.eq(T.product(_K, power), T.product(T.mul(_M, _K), _X))

    def step(p: Prover, case: Theorem) -> Theorem:
        longer = p.at(of_sum(), _X, T.mul(_M, _K), _M)
        items = (1, _one_more(power)), (power, case), (-1, longer)
        return p.equal(*_next(claimed).children, *items, show=False)

    return _always(claimed, step, _X, _M)


@cache
def _through(of: Callable[[Term], Term]) -> Theorem:
    """For all x, k: f(x)^k = f(x^k), where the normal form knows that f(x y) = f(x) f(y)."""
    power = T.product(_K, _X)
    claimed = T.eq(T.product(_K, of(_X)), of(power))

    def step(p: Prover, case: Theorem) -> Theorem:
        whole = of(_next(power))
        taken = p.rewrite(_one_more(_X), rewriting.same(whole), lambda t: T.eq(whole, of(t)))
        items = (1, _one_more(of(_X))), (of(_X), case), (-1, taken)
        return p.equal(*_next(claimed).children, *items, show=False)

    return _always(claimed, step, _X)


def absolute(t: Term) -> Term:
    return T.fn("abs", t)


def of_inverse() -> Theorem:
    """For all x, k: (1/x)^k = 1/x^k."""
    return _through(T.inv)


def of_absolute() -> Theorem:
    """For all x, k: |x|^k = |x^k|."""
    return _through(absolute)


@cache
def of_one() -> Theorem:
    """For all k: 1^k = 1."""
    claimed = T.eq(T.product(_K, T.ONE), T.ONE)

    def step(p: Prover, case: Theorem) -> Theorem:
        return p.equal(*_next(claimed).children, (1, _one_more(T.ONE)), (1, case), show=False)

    return _always(claimed, step)


@cache
def of_minus_one() -> tuple[Theorem, Theorem]:
    """For all k: ((-1)^k)^2 = 1 and |(-1)^k| = 1."""
    p, power = Prover(Converter(), ()), T.product(_K, MINUS_ONE)
    one = (1, p.at(of_one(), _K))
    square = (-1, p.at(of_product(), MINUS_ONE, MINUS_ONE, _K))
    size = (-1, p.at(of_absolute(), MINUS_ONE, _K))
    laws = (
        p.equal(T.power(power, 2), 1, square, one, show=False),
        p.equal(absolute(power), 1, size, one, show=False),
    )
    return p.for_all(laws[0], _K), p.for_all(laws[1], _K)


def of_absolute_squared(p: Prover, x: Term, k: Term) -> Theorem:
    """(|x|^k)^2 = (x^k)^2."""
    size, power = T.product(k, absolute(x)), T.product(k, x)
    both = T.add(size, absolute(power))
    law = p.at(of_absolute(), x, k)
    return p.equal(T.power(size, 2), T.power(power, 2), (both, law), show=False)


@cache
def absolute_of_product(count: int) -> Theorem:
    """For all x, y, ...: |x y ...| = |x| |y| ..."""
    names = [T.var(f"_v{k}", "real") for k in range(count)]
    p, whole = Prover(Converter(), ()), absolute(T.mul(*names))
    return p.for_all(p.equal(whole, T.mul(*map(absolute, names)), show=False), *names)


@cache
def of_positive() -> Theorem:
    """For all x, k: 0 < x -> x^k = e^(k log x)."""
    claimed = T.eq(T.product(_K, _X), T.fn("exp", T.mul(_K, T.fn("log", _X))))

    def step(p: Prover, case: Theorem) -> Theorem:
        return p.equal(*_next(claimed).children, (1, _one_more(_X)), (_X, case), show=False)

    return _always(claimed, step, _X, given=T.lt(T.ZERO, _X))


# ---------------------------------------------------------------------------- order


@cache
def not_negative() -> Theorem:
    """For all x, k: 0 <= x -> 0 <= x^k."""
    claimed = T.le(T.ZERO, T.product(_K, _X))

    def step(p: Prover, case: Theorem) -> Theorem:
        return p.order(_next(claimed), (1, case, p.hyp(0)), (1, _one_more(_X)))

    return _always(claimed, step, _X, given=T.le(T.ZERO, _X))


@cache
def not_zero() -> Theorem:
    """For all x, k: not x = 0 -> not x^k = 0."""

    def different(t: Term) -> Term:
        return T.negate(T.eq(t, T.ZERO))

    def step(p: Prover, case: Theorem) -> Theorem:
        longer, product = _one_more(_X).conclusion.children
        split = p.equal(product, longer, (-1, _one_more(_X)), show=False)
        return p.rewrite(split, p.trivial(different(product)), different)

    return _always(different(T.product(_K, _X)), step, _X, given=different(_X))


@cache
def growing() -> Theorem:
    """For all x, y, k: 0 <= x and x <= y -> x^k <= y^k."""
    claimed = T.le(T.product(_K, _X), T.product(_K, _Y))

    def step(p: Prover, case: Theorem) -> Theorem:
        low, up = (p.part(p.hyp(0), k) for k in range(2))
        above = p.mp(p.at(not_negative(), _Y, _K), p.order(T.le(T.ZERO, _Y), (1, low), (1, up)))
        split = (1, _one_more(_Y)), (-1, _one_more(_X))
        return p.order(_next(claimed), (1, above, up), (1, low, case), *split)

    given = T.conj(T.le(T.ZERO, _X), T.le(_X, _Y))
    return _always(claimed, step, _X, _Y, given=given)


@cache
def growing_strictly() -> Theorem:
    """For all x, y, k: 0 <= x and x < y -> x^(k+1) < y^(k+1)."""
    longer = T.add(_K, T.ONE)
    claimed = T.lt(T.product(longer, _X), T.product(longer, _Y))

    def step(p: Prover, case: Theorem) -> Theorem:
        low, up = (p.part(p.hyp(0), k) for k in range(2))
        least = p.mp(p.at(not_negative(), _X, longer), low)
        above = p.order(T.lt(T.ZERO, T.product(longer, _Y)), (1, least), (1, case))
        split = (1, _one_more(_Y, longer)), (-1, _one_more(_X, longer))
        return p.order(_next(claimed), (1, above, up), (1, low, case), *split)

    given = T.conj(T.le(T.ZERO, _X), T.lt(_X, _Y))
    return _always(claimed, step, _X, _Y, given=given)
