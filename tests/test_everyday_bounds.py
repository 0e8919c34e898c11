"""Bounds as newcomers write them: from squares, entries, logarithms, entropies and remainders.

True statements and false siblings of them, settled without a proof script.
"""

from __future__ import annotations

from typing import Any

import pytest
import sympy as sp
from sympy import Abs, Max, Min, exp, floor, log, sqrt
from test_everyday import settled
from unevaluated import mod
from verdicts import assert_settled

from derive.language import (
    IsInteger,
    at_most,
    dims,
    either,
    equal,
    exists,
    forall,
    index,
    integer,
    less,
    negation,
    positive,
    real,
    relu,
    tensor,
    total,
)
from derive.result import Verdict

n, m = dims("n m")
a, b, c, t, x, y = map(real, "abctxy")
u, v = map(positive, "uv")
k, r = map(integer, "kr")
i, j, l, o = (index(name, n) for name in "ijlo")
p, q, s, w, z = (tensor(name, n) for name in "pqswz")
A = tensor("A", n, n)


def norm(entry: Any) -> Any:
    return sqrt(total(entry(j) ** 2, j))


def of(e: Any) -> Any:
    return lambda place: e[place]


def lse(e: Any) -> Any:
    return log(total(exp(e[j]), j))


def softmax(e: Any, place: Any) -> Any:
    return exp(e[place]) / total(exp(e[j]), j)


def dot(e: Any, f: Any) -> Any:
    return total(e[i] * f[i], i)


NORMS = (norm(of(z)), norm(of(s)))
SQUARES = (total(z[j] ** 2, j), total(s[j] ** 2, j))
DISTANCE = norm(lambda e: z[e] - s[e])
BOUNDED = forall(i, at_most(Abs(z[i]), c))
CLOSE = forall(i, at_most(Abs(z[i] - s[i]), c))
WEIGHTS = (equal(total(p[i], i), 1), forall(i, at_most(0, p[i])))
OF_P = (equal(total(p[i], i), 1), forall(i, less(0, p[i])))
OF_Q = (equal(total(q[i], i), 1), forall(i, less(0, q[i])))
ENTROPY = -total(p[i] * log(p[i]), i)
CROSS_ENTROPY = -total(p[i] * log(q[i]), i)
BINARY = -t * log(t) - (1 - t) * log(1 - t)

#: name: (statement, hypotheses ...)
TRUE: dict[str, tuple[Any, ...]] = {
    # from squares
    "equal squares": (equal(a, b), equal(a**2, b**2), at_most(0, a), at_most(0, b)),
    "order of squares": (at_most(a, b), at_most(a**2, b**2), at_most(0, b)),
    "strict order of squares": (less(a, b), less(a**2, b**2), at_most(0, b)),
    "absolute values from squares": (equal(Abs(a), Abs(b)), equal(a**2, b**2)),
    "a bound from squares": (at_most(Abs(a), b), at_most(a**2, b**2), at_most(0, b)),
    "a root from its square": (equal(a, sqrt(b)), equal(a**2, b), at_most(0, a)),
    "below a root": (at_most(a, sqrt(b)), at_most(a**2, b)),
    "order of roots": (at_most(sqrt(a), sqrt(b)), at_most(0, a), at_most(a, b)),
    "equal roots": (equal(a, b), at_most(0, a), at_most(0, b), equal(sqrt(a), sqrt(b))),
    "norms from their squares": (equal(*NORMS), equal(*SQUARES)),
    "squares from norms": (equal(*SQUARES), equal(*NORMS)),
    "strict order of norms": (less(*NORMS), less(*SQUARES)),
    "a bound of a norm": (at_most(NORMS[0], c), at_most(SQUARES[0], c**2), at_most(0, c)),
    "entries from their squares": (
        equal(z[i], s[i]), equal(z[i] ** 2, s[i] ** 2),
        forall(i, at_most(0, z[i])), forall(i, at_most(0, s[i])),
    ),
    # bounded entries
    "a bound is not negative": (at_most(0, c), BOUNDED),
    "sum of bounded entries": (at_most(Abs(total(z[i], i)), n * c), BOUNDED),
    "mean of bounded entries": (at_most(Abs(total(z[i], i) / n), c), BOUNDED),
    "strictly bounded entries": (
        less(total(z[i], i), n * c), forall(i, less(Abs(z[i]), c)),
    ),
    "inner product of bounded entries": (
        at_most(Abs(dot(z, s)), n * b * c), BOUNDED, forall(i, at_most(Abs(s[i]), b)),
    ),
    "average of bounded entries": (at_most(Abs(dot(p, z)), c), BOUNDED, *WEIGHTS),
    "norm of bounded entries": (at_most(NORMS[0], sqrt(n) * c), BOUNDED),
    "variance of bounded entries": (
        at_most(total(z[i] ** 2, i) / n - (total(z[i], i) / n) ** 2, c**2), BOUNDED,
    ),
    "rows of a bounded matrix": (
        at_most(Abs(total(A[i, j] * z[j], j)), n * b * c),
        forall([i, j], at_most(Abs(A[i, j]), b)), BOUNDED,
    ),
    "largest weight of bounded scores": (at_most(softmax(z, i), exp(2 * c) / n), BOUNDED),
    "least weight of bounded scores": (at_most(exp(-2 * c) / n, softmax(z, i)), BOUNDED),
    "two weights of bounded scores": (
        at_most(softmax(z, i), exp(2 * c) * softmax(z, o)), BOUNDED,
    ),
    "log-sum-exp of bounded scores": (at_most(Abs(lse(z) - log(n)), c), BOUNDED),
    "attention to bounded values": (
        at_most(Abs(total(softmax(z, i) * s[i], i)), b), forall(i, at_most(Abs(s[i]), b)),
    ),
    # logarithms
    "equal logarithms": (equal(u, v), equal(log(u), log(v))),
    "order from logarithms": (at_most(u, v), at_most(log(u), log(v))),
    "logarithm of a root": (equal(log(sqrt(u)), log(u) / 2),),
    "logarithm of a product of primes": (equal(log(12), 2 * log(2) + log(3)),),
    "multiples of logarithms": (less(3 * log(2), 2 * log(3)),),
    "mean of logarithms": (at_most((log(u) + log(v)) / 2, log((u + v) / 2)),),
    "sums of logarithms": (
        at_most(total(log(p[i]), i), total(log(q[i]), i)),
        forall(i, less(0, p[i])), forall(i, at_most(p[i], q[i])),
    ),
    # entropy
    "entropy is not negative": (at_most(0, ENTROPY), *OF_P),
    "perplexity is at least 1": (at_most(1, exp(ENTROPY)), *OF_P),
    "perplexity is at most n": (at_most(exp(ENTROPY), n), *OF_P),
    "entropy is at most log n": (at_most(ENTROPY, log(n)), *OF_P),
    "Gibbs": (at_most(ENTROPY, CROSS_ENTROPY), *OF_P, *OF_Q),
    "cross-entropy is not negative": (at_most(0, CROSS_ENTROPY), *OF_P, *OF_Q),
    "divergence by differences": (
        at_most(0, total(p[i] * (log(p[i]) - log(q[i])), i)), *OF_P, *OF_Q,
    ),
    "divergence is at most cross-entropy": (
        at_most(total(p[i] * log(p[i] / q[i]), i), CROSS_ENTROPY), *OF_P, *OF_Q,
    ),
    "Jensen, logarithms": (
        at_most(total(p[i] * log(q[i]), i), log(dot(p, q))), *OF_P, OF_Q[1],
    ),
    "binary entropy is at most log 2": (at_most(BINARY, log(2)), less(0, t), less(t, 1)),
    "binary cross-entropy is not negative": (
        at_most(0, -a * log(t) - (1 - a) * log(1 - t)),
        less(0, t), less(t, 1), at_most(0, a), at_most(a, 1),
    ),
    "entropy of softmax is not negative": (
        at_most(0, -total(softmax(z, i) * log(softmax(z, i)), i)),
    ),
    "cross-entropy with softmax is not negative": (
        at_most(0, -total(p[i] * log(softmax(z, i)), i)), *WEIGHTS,
    ),
    # remainders
    "one of two neighbours is even": (IsInteger(k * (k + 1) / 2),),
    "one of three neighbours is a multiple of 3": (IsInteger((k**3 - k) / 6),),
    "remainders of halves": (either(equal(mod(k, 2), 0), equal(mod(k, 2), 1)),),
    "remainders of squares": (either(equal(mod(k**2, 4), 0), equal(mod(k**2, 4), 1)),),
    "a square is as odd as its root": (equal(mod(k**2, 2), mod(k, 2)),),
    "two odd numbers": (
        IsInteger((k + r) / 2), equal(mod(k, 2), 1), equal(mod(r, 2), 1),
    ),
    "even or odd": (exists(r, either(equal(k, 2 * r), equal(k, 2 * r + 1))),),
    "even is not odd": (negation(equal(2 * k, 2 * r + 1)),),
    "odd numbers add up to squares": (equal(sp.Sum(2 * r - 1, (r, 1, n)), n**2),),
    "halves of an even number": (equal(2 * floor(k / 2), k), IsInteger(k / 2)),
    # Lipschitz bounds
    "clipping shrinks distances": (
        at_most(Abs(Min(Max(x, 0), 1) - Min(Max(y, 0), 1)), Abs(x - y)),
    ),
    "leaky ramps shrink distances": (
        at_most(Abs(Max(x, t * x) - Max(y, t * y)), Abs(x - y)), at_most(0, t), at_most(t, 1),
    ),
    "maxima shrink distances": (
        at_most(Abs(Max(a, b) - Max(x, y)), Max(Abs(a - x), Abs(b - y))),
    ),
    "ramps shrink norms": (
        at_most(norm(lambda e: relu(z[e]) - relu(s[e])), DISTANCE),
    ),
    "norms shrink distances": (at_most(Abs(NORMS[0] - NORMS[1]), DISTANCE),),
    "linear forms": (at_most(Abs(dot(w, z) - dot(w, s)), norm(of(w)) * DISTANCE),),
    "means of close entries": (at_most(Abs(total(z[i], i) / n - total(s[i], i) / n), c), CLOSE),
    "log-sum-exp of close scores": (at_most(lse(z), lse(s) + c), CLOSE),
    "cosine of unit vectors": (
        at_most(Abs(dot(z, s)), 1), equal(NORMS[0], 1), equal(NORMS[1], 1),
    ),
}  # fmt: skip

FALSE: dict[str, tuple[Any, ...]] = {
    "equal squares": (equal(a, b), equal(a**2, b**2), at_most(0, a)),
    "order of squares": (at_most(a, b), at_most(a**2, b**2), at_most(0, a)),
    "a bound from squares": (at_most(Abs(a), b), at_most(a**2, b**2)),
    "a root from its square": (equal(a, sqrt(b)), equal(a**2, b), at_most(0, b)),
    "strict order of norms": (less(*NORMS), at_most(*SQUARES)),
    "a bound of a norm": (at_most(NORMS[0], c), at_most(SQUARES[0], c**2)),
    "sum of bounded entries": (at_most(Abs(total(z[i], i)), c), BOUNDED),
    "norm of bounded entries": (at_most(NORMS[0], c), BOUNDED),
    "average without a sum of weights": (at_most(Abs(dot(p, z)), c), BOUNDED, WEIGHTS[0]),
    "strictly less than the largest weight": (
        less(softmax(z, i), exp(2 * c) / n), BOUNDED,
    ),
    "log-sum-exp of bounded scores": (at_most(lse(z), c), BOUNDED),
    "multiples of logarithms": (less(2 * log(3), 3 * log(2)),),
    "logarithm of a product of primes": (equal(log(12), log(2) + 2 * log(3)),),
    "logarithm of a root": (equal(log(sqrt(u)), 2 * log(u)),),
    "entropy is at least 1": (at_most(1, ENTROPY), *OF_P),
    "entropy is less than log n": (less(ENTROPY, log(n)), *OF_P),
    "entropy of any numbers": (at_most(0, ENTROPY), OF_P[1]),
    "Gibbs, turned": (at_most(CROSS_ENTROPY, ENTROPY), *OF_P, *OF_Q),
    "divergence is positive": (less(0, total(p[i] * log(p[i] / q[i]), i)), *OF_P, *OF_Q),
    "one of two neighbours is a multiple of 4": (IsInteger(k * (k + 1) / 4),),
    "remainders of thirds": (either(equal(mod(k, 3), 0), equal(mod(k, 3), 1)),),
    "remainders of squares": (equal(mod(k**2, 4), mod(k, 4)),),
    "odd and even": (IsInteger((k + r) / 2), equal(mod(k, 2), 1)),
    "even or next to it": (exists(r, either(equal(k, 3 * r), equal(k, 3 * r + 1))),),
    "multiples may meet": (negation(equal(2 * k, 4 * r + 2)),),
    "steep ramps": (at_most(Abs(Max(x, t * x) - Max(y, t * y)), Abs(x - y)),),
    "squares shrink distances": (at_most(Abs(x**2 - y**2), Abs(x - y)),),
    "ramps halve squares": (
        at_most(total((relu(z[i]) - relu(s[i])) ** 2, i), total((z[i] - s[i]) ** 2, i) / 2),
    ),
    "log-sum-exp of close scores": (at_most(Abs(lse(z) - lse(s)), c / 2), CLOSE),
    "cosine of any vectors": (at_most(dot(z, s), 1), equal(NORMS[0], 1)),
}  # fmt: skip


@pytest.mark.parametrize("name", TRUE)
def test_true_bounds_are_proved(name):
    assert_settled(settled(name, *TRUE[name]), Verdict.PROVED)


@pytest.mark.parametrize("name", FALSE)
def test_false_bounds_are_refuted(name):
    assert_settled(settled(name, *FALSE[name]), Verdict.REFUTED)
