"""A handful of proofs, one of each kind of log, made with `infer`."""

from __future__ import annotations

from typing import Any

from kernel_symbols import (
    ONE,
    TWO,
    ZERO,
    A,
    B,
    I,
    J,
    K,
    L,
    N,
    X,
    Y,
    Z,
    assume,
    axiom,
    decide,
    nonzero,
)  # fmt: skip

from derive.kernel import terms as T
from derive.kernel.log import write
from derive.kernel.rules import Item, Theorem, infer
from derive.kernel.terms import Lam, Term


def discharged(t: Theorem, *hypotheses: Term) -> Theorem:
    for h in reversed(hypotheses):
        t = infer("discharge", (t,), h)
    return t


def cancellation() -> Any:
    """x y = x z and x != 0 give y = z, and y = z makes sense wherever x / x does."""
    e, apart = T.eq(T.mul(X, Y), T.mul(X, Z)), T.negate(T.eq(X, ZERO))
    item = Item(((0, ()),), T.inv(X))
    t = infer("linear-combination", (assume(e), nonzero(X)), T.eq(Y, Z), 1, (item,))
    t = discharged(t, apart, e)
    return write("proof", t.conclusion, [t])


def quotient() -> Any:
    """A statement with an obligation: x != 0 -> x / x = 1."""
    apart = T.negate(T.eq(X, ZERO))
    t = discharged(decide(T.eq(T.div(X, X), ONE), nonzero(X)), apart)
    return write("proof", t.conclusion, [t, discharged(assume(apart), apart)])


def gauss() -> Any:
    """2 (0 + 1 + ... + l) = l (l + 1), by induction."""

    def claim(n: Term) -> Term:
        return T.eq(T.mul(TWO, T.total(n, T.bound(0))), T.sub(T.power(n, 2), n))

    base = decide(T.substitute(claim(L), {L: ZERO}))
    more = infer("unroll", (), "sum", L, T.bound(0))
    items = (Item(((0, ()),), ONE), Item(((1, ()),), TWO))
    now, following = claim(L), T.substitute(claim(L), {L: T.add(L, ONE)})
    t = infer("linear-combination", (assume(now), more), following, 2, items)
    step = infer("generalise", (discharged(t, now),), L)
    t = infer("induction", (base, step))
    return write("proof", t.conclusion, [t])


def means() -> Any:
    """2 x y <= x^2 + y^2, strictly where x and y differ."""
    square = T.power(T.sub(X, Y), 2)
    apart = T.negate(T.eq(X, Y))
    goal = T.lt(T.mul(TWO, X, Y), T.add(T.power(X, 2), T.power(Y, 2)))
    t = infer("order", (assume(apart),), goal, 0, (Item((), square),))
    t = discharged(t, apart)
    return write("proof", t.conclusion, [t])


def summed() -> Any:
    """Equal entries have equal sums, also inside a function of the vector."""
    every = T.forall(I, T.eq(A(I), B(I, I)))
    left, right = T.sum_over(I, A(I)), T.sum_over(I, B(I, I))
    t = infer("linear-combination", (assume(every),), T.eq(left, right), 1,
              (Item(((0, (I,)),), ONE, (I,)),))  # fmt: skip
    head = T.Head("F", 0, (1,))
    u = infer("extensionality", (assume(every),), T.app(head, N, A(T.bound(0))), 1)
    t = infer("conj", (t, u))
    t = infer("conj", (infer("conjunct", (t,), 0), infer("conjunct", (t,), 1)))
    t = discharged(t, every)
    return write("proof", t.conclusion, [t])


def absolute() -> Any:
    """x <= |x|, by cases."""
    goal = T.le(X, T.fn("abs", X))
    split = infer("dichotomy", (), ZERO, X)
    up, down = split.conclusion.children
    same = infer("modus-ponens", (axiom("abs-nonneg", X), assume(up)))
    first = infer("order", (same,), goal, 1, (Item(((0, ()),), ONE),))
    second = infer("order", (assume(down),), goal, 1, (Item(((0, ()),), ONE),))
    t = infer("cases", (split, first, second))
    return write("proof", t.conclusion, [t])


def gradient() -> Any:
    """The gradient of the sum of squares."""
    v = T.app(T.Head(1, 1), T.bound(0))
    function = T.total(N, T.power(v, 2))
    t = infer("derivative", (), (N,), function, A(T.bound(0)))
    old = t.conclusion.children[-1]
    new = T.mul(TWO, A(T.bound(0)))
    at = [T.instantiate(b, (J,)) for b in (old, new)]
    same = infer("generalise", (decide(T.eq(*at)),), J)
    t = infer("gradient-value", (t, same), new)
    return write("proof", t.conclusion, [t])


def even() -> Any:
    """A witness inside a proof, and a choice: an even number is twice an integer again."""
    j = T.var("j", "int")
    even_k = T.exists(j, T.eq(K, T.mul(TWO, j)))
    goal = T.exists(j, T.eq(T.add(K, TWO), T.mul(TWO, j)))
    here = T.eq(K, T.mul(TWO, j))
    value = T.add(j, ONE)
    at = T.eq(T.add(K, TWO), T.mul(TWO, value))
    t = infer("linear-combination", (assume(here),), at, 1, (Item(((0, ()),), ONE),))
    t = infer("witness", (t,), goal, value)
    t = discharged(infer("choose", (assume(even_k), t), j), even_k)
    return write("proof", t.conclusion, [t])


def false_root() -> Any:
    """sqrt(x^2) = x fails at x = -1."""
    goal = T.eq(T.fn("sqrt", T.power(X, 2)), X)
    at = T.substitute(goal, {X: T.num(-1)})
    return write("counterexample", goal, [decide(T.negate(at))], {X: T.num(-1)})


def undefined() -> Any:
    """x = 0 -> 1/x = 0 is not even defined where its premise holds."""
    goal = T.implies(T.eq(X, ZERO), T.eq(T.inv(X), ZERO))
    broken = T.implies(T.eq(X, ZERO), T.negate(T.eq(X, ZERO)))
    t = decide(T.negate(T.substitute(broken, {X: ZERO})))
    return write("counterexample", goal, [t], {X: ZERO})


def tensor_witness() -> Any:
    """A tensor and a size at which a statement holds."""
    value = Lam(1, T.mul(TWO, T.bound(0)))
    values: dict[Any, Any] = {N: T.num(3), "A": value}
    goal = T.eq(T.sum_over(I, A(I)), T.mul(TWO, N))
    at = T.substitute(goal, {N: T.num(3)}, {"A": value})
    return write("witness", goal, [decide(at)], values)


LOGS = {
    f.__name__: f
    for f in (
        cancellation, quotient, gauss, means, summed, absolute, gradient, even, false_root,
        undefined, tensor_witness,
    )
}  # fmt: skip
