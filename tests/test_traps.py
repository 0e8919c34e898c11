"""Identities that look right: the false ones are never proved, the true ones are.

Every statement is settled without a proof script, by the automatic prover and the search for
counterexamples.  Computer algebra systems are known to go wrong on these kinds: branches of roots,
logarithms and powers, floors and remainders, bound and free indices of one name, empty ranges,
inverses of what may vanish, and numbers too small for floating point.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import pytest
import sympy as sp
from sympy import KroneckerDelta as delta
from sympy import Rational, pi
from unevaluated import (
    absolute,
    ceiling,
    cos,
    exp,
    floor,
    half,
    log,
    maximum,
    minimum,
    mod,
    nonzero,
    ramp,
    root,
    sin,
)

from derive.claim import Claim, Given
from derive.kernel import terms as T
from derive.kernel.check import at_values, check
from derive.kernel.domain import obligations
from derive.kernel.log import read_argument, read_terms
from derive.language import (
    at_most,
    both,
    dims,
    divides,
    equal,
    forall,
    implies,
    index,
    integer,
    less,
    minus,
    natural,
    negation,
    over,
    plus,
    positive,
    power,
    product,
    real,
    tensor,
    times,
    total,
)
from derive.result import Source, Verdict
from derive.verify import settle


@dataclass(frozen=True)
class Case:
    statement: Any
    given: tuple[Any, ...] = ()


def given(statement: Any, *hypotheses: Any) -> Case:
    return Case(statement, hypotheses)


# ---------------------------------------------------------------------- notation

d, h, n, m, d_k = dims("d_model h n m d_k")
a, b, x, y, z = map(real, "abxyz")
k, j = integer("k"), integer("j")
r = natural("r")
u, v = positive("u"), positive("v")
i, l, o = index("i", n), index("l", n), index("o", n)
s, t, g = (tensor(name, n) for name in "stg")
A, B = tensor("A", n, n), tensor("B", n, n)
X = tensor("X", 2, 2)
c2, e2, f2 = (index(name, 2) for name in "cef")


def mean(x: Any) -> Any:
    return over(total(x(i), i), n)


def variance(x: Any) -> Any:
    return over(total(power(minus(x(l), mean(x)), 2), l), n)


def normalised(x: Any, epsilon: Any = 0) -> Any:
    """The mean square of (x - mean) / sqrt(variance + epsilon)."""
    spread = variance(x) if epsilon == 0 else plus(variance(x), epsilon)
    return over(total(power(over(minus(x(l), mean(x)), root(spread)), 2), l), n)


def softmax(x: Any, place: Any) -> Any:
    return over(exp(x(place)), total(exp(x(l)), l))


def entry(x: Any) -> Any:
    return lambda place: x[place]


def from_to(e: Any, variable: Any, low: Any, high: Any) -> Any:
    return sp.Sum(e, (variable, low, high))


det_X = minus(times(X[0, 0], X[1, 1]), times(X[0, 1], X[1, 0]))
trace_X = plus(X[0, 0], X[1, 1])


def inverse_of_X(row: Any, column: Any) -> Any:
    """The adjugate of a 2 x 2 matrix is trace times identity minus the matrix."""
    return over(minus(times(trace_X, delta(row, column)), X[row, column]), det_X)


X_times_inverse = forall(
    [c2, e2], equal(total(times(X[c2, f2], inverse_of_X(f2, e2)), f2), delta(c2, e2))
)
slowest = times(u, power(over(v, u), -1))

# ---------------------------------------------------------------------- false

FALSE: dict[str, Any] = {
    # the list that no verifier may prove
    "sqrt(x^2) = x": equal(root(power(x, 2)), x),
    "log(ab) = log a + log b": equal(log(times(a, b)), plus(log(a), log(b))),
    "sqrt a sqrt b = sqrt(ab)": equal(times(root(a), root(b)), root(times(a, b))),
    "x/x = 1": equal(over(x, x), 1),
    "0^x = 0": equal(power(0, x), 0),
    "(x^a)^b = x^(ab)": equal(power(power(x, a), b), power(x, times(a, b))),
    "relu(x) + relu(-x) = x": equal(plus(ramp(x), ramp(-x)), x),
    "relu(x+y) = relu x + relu y": equal(ramp(plus(x, y)), plus(ramp(x), ramp(y))),
    "max(x, -10^6) = x": equal(maximum(x, -(10**6)), x),
    "h floor(d/h) = d": equal(times(h, floor(over(d, h))), d),
    "floor(log10(n+1)) = floor(log10 n)": equal(
        floor(over(log(n + 1), log(10))), floor(over(log(n), log(10)))
    ),
    "(I+J)g = g(I+J)": forall(
        i,
        equal(
            total(times(plus(delta(i, l), A[i, l]), g[l]), l),
            total(times(g[l], plus(delta(l, i), A[l, i])), l),
        ),
    ),
    "Q K^T = K^T Q": forall(
        [i, l],
        equal(
            total(times(A[i, o], B[l, o]), o), total(times(B[o, i], A[o, l]), o)
        ),
    ),
    "x x^-1 = 1": equal(times(x, power(x, -1)), 1),
    "X X^-1 = I": X_times_inverse,
    "LayerNorm has variance 1": equal(normalised(entry(s)), 1),
    # roots
    "sqrt a + sqrt b = sqrt(a+b)": given(
        equal(plus(root(a), root(b)), root(plus(a, b))), less(0, a), less(0, b)
    ),
    "sqrt(a^2+b^2) = a + b": equal(root(plus(power(a, 2), power(b, 2))), plus(a, b)),
    "sqrt(x^6) = x^3": equal(root(power(x, 6)), power(x, 3)),
    "sqrt x <= x": given(at_most(root(x), x), at_most(0, x)),
    "sqrt(x)^2 = x": equal(power(root(x), 2), x),
    "sqrt(1/x) = 1/sqrt x": given(equal(root(over(1, x)), over(1, root(x))), nonzero(x)),
    "sqrt(x^2 y) = x sqrt y": given(
        equal(root(times(power(x, 2), y)), times(x, root(y))), at_most(0, y)
    ),
    "sqrt d = d": equal(root(d), d),
    "sqrt(d^2+1) = d + 1": equal(root(plus(power(d, 2), 1)), plus(d, 1)),
    # powers
    "(xy)^a = x^a y^a": equal(power(times(x, y), a), times(power(x, a), power(y, a))),
    "x^(a+b) = x^a x^b": equal(power(x, plus(a, b)), times(power(x, a), power(x, b))),
    "r^2 = 2^r": equal(power(r, 2), power(2, r)),
    "(a+b)^2 = a^2 + b^2": equal(power(plus(a, b), 2), plus(power(a, 2), power(b, 2))),
    "x^2 = 1 implies x = 1": implies(equal(power(x, 2), 1), equal(x, 1)),
    "x^2 <= x^3 below 1/2": given(at_most(power(x, 2), power(x, 3)), at_most(x, half)),
    "2^-99 = 2^-98": equal(power(2, -99), power(2, -98)),
    "2^-98 <= 2^-99": at_most(power(2, -98), power(2, -99)),
    "1/2004! = 1/2006!": equal(over(1, math.factorial(2004)), over(1, math.factorial(2006))),
    "1/2004! <= 1/2006!": at_most(over(1, math.factorial(2004)), over(1, math.factorial(2006))),
    # logarithm and exponential
    "log(a+b) = log a + log b": given(
        equal(log(plus(a, b)), plus(log(a), log(b))), less(0, a), less(0, b)
    ),
    "log(x^2) = 2 log x": given(equal(log(power(x, 2)), times(2, log(x))), nonzero(x)),
    "exp(a+b) = exp a + exp b": equal(exp(plus(a, b)), plus(exp(a), exp(b))),
    "exp(ab) = exp a exp b": equal(exp(times(a, b)), times(exp(a), exp(b))),
    "exp(2x) = 2 exp x": equal(exp(times(2, x)), times(2, exp(x))),
    "exp(log x) = x": equal(exp(log(x)), x),
    "log(uv) = log u log v": equal(log(times(u, v)), times(log(u), log(v))),
    "log(u/v) = log u / log v": given(
        equal(log(over(u, v)), over(log(u), log(v))), nonzero(log(v))
    ),
    # floor and remainder
    "floor(x+y) = floor x + floor y": equal(floor(plus(x, y)), plus(floor(x), floor(y))),
    "floor(-x) = -floor x": equal(floor(-x), times(-1, floor(x))),
    "floor(2x) = 2 floor x": equal(floor(times(2, x)), times(2, floor(x))),
    "2 floor(k/2) = k": equal(times(2, floor(over(k, 2))), k),
    "floor(x)/2 = floor(x/2)": equal(over(floor(x), 2), floor(over(x, 2))),
    "floor x < x": less(floor(x), x),
    "floor(x y) = floor x floor y": equal(floor(times(x, y)), times(floor(x), floor(y))),
    "-k mod 3 = -(k mod 3)": equal(mod(times(-1, k), 3), times(-1, mod(k, 3))),
    "k j mod 3 = (k mod 3)(j mod 3)": equal(mod(times(k, j), 3), times(mod(k, 3), mod(j, 3))),
    "nested remainder, inner one squared": equal(
        mod(times(8, mod(floor(over(k, 64)), 4)), 64),
        times(8, mod(power(mod(floor(over(k, 64)), 4), 2), 8)),
    ),
    "(k mod 4) mod 3 = k mod 3": equal(mod(mod(k, 4), 3), mod(k, 3)),
    "256 ceil(k/256) = k": equal(times(256, ceiling(over(k, 256))), k),
    "ceil x = floor x + 1": equal(ceiling(x), plus(floor(x), 1)),
    "256 floor(8d/3/256) = 256 ceil(8d/3/256)": equal(
        times(256, floor(over(times(8, d), 768))), times(256, ceiling(over(times(8, d), 768)))
    ),
    # maximum, minimum, absolute value
    "|x+y| = |x| + |y|": equal(absolute(plus(x, y)), plus(absolute(x), absolute(y))),
    "|x| = x": equal(absolute(x), x),
    "|xy| = x|y|": equal(absolute(times(x, y)), times(x, absolute(y))),
    "relu(ax) = a relu x": equal(ramp(times(a, x)), times(a, ramp(x))),
    "relu(x)^2 = x^2": equal(power(ramp(x), 2), power(x, 2)),
    "relu x = (x-|x|)/2": equal(ramp(x), over(minus(x, absolute(x)), 2)),
    "max(x,y) = min(x,y)": equal(maximum(x, y), minimum(x, y)),
    "min(max(x,0),1) = x": equal(minimum(maximum(x, 0), 1), x),
    "max(ax, ay) = a max(x,y)": equal(maximum(a * x, a * y), times(a, maximum(x, y))),
    "max(x,y) max(x,y) = max(x^2,y^2)": equal(
        power(maximum(x, y), 2), maximum(power(x, 2), power(y, 2))
    ),
    # sine and cosine
    "sin 2x = 2 sin x": equal(sin(times(2, x)), times(2, sin(x))),
    "sin(pi x) = 0": equal(sin(times(pi, x)), 0),
    "sin(pi k/2) = 0": equal(sin(times(pi, k, half)), 0),
    "cos(x+pi) = cos x": equal(cos(plus(x, pi)), cos(x)),
    "cos^2 - sin^2 = 1": equal(minus(power(cos(x), 2), power(sin(x), 2)), 1),
    "sin(x+y) = sin x + sin y": equal(sin(plus(x, y)), plus(sin(x), sin(y))),
    "sin(-x) = sin x": equal(sin(-x), sin(x)),
    "cos(-x) = -cos x": equal(cos(-x), times(-1, cos(x))),
    "sin x = x": equal(sin(x), x),
    "cos^6 + sin^6 = 1 - sin^2 cos^2": equal(
        plus(power(cos(x), 6), power(sin(x), 6)),
        minus(1, times(power(sin(x), 2), power(cos(x), 2))),
    ),
    # inverses
    "1/(x+y) = 1/x + 1/y": given(
        equal(over(1, plus(x, y)), plus(over(1, x), over(1, y))), nonzero(x, y, plus(x, y))
    ),
    "(x^2-1)/(x-1) = x+1": equal(over(minus(power(x, 2), 1), minus(x, 1)), plus(x, 1)),
    "x/(xy) = 1/y": given(equal(over(x, times(x, y)), over(1, y)), nonzero(y)),
    "1/(1/x) = x": equal(over(1, over(1, x)), x),
    "inverse root instead of root": given(
        equal(over(x, power(root(plus(power(a, 2), u)), -1)), over(x, root(plus(power(a, 2), u)))),
    ),
    # order
    "x <= x^2": at_most(x, power(x, 2)),
    "x <= y implies x^2 <= y^2": implies(at_most(x, y), at_most(power(x, 2), power(y, 2))),
    "x < y implies 1/y < 1/x": given(
        implies(less(x, y), less(over(1, y), over(1, x))), nonzero(x, y)
    ),
    "2xy <= x^2 + y^2 - 1": at_most(times(2, x, y), minus(plus(power(x, 2), power(y, 2)), 1)),
    # sums, products, deltas
    "sum of products is product of sums": equal(
        total(times(s[i], t[i]), i), times(total(s[i], i), total(t[i], i))
    ),
    "bound and free index of one name": equal(total(s[i], i), times(n, s[i])),
    "other index taken for the summed one": equal(
        total(times(s[i], s[l]), i), total(power(s[i], 2), i)
    ),
    "sum from 1 to n of i, off by one": equal(from_to(k, k, 1, n), over(times(n, n - 1), 2)),
    "sum from 0 to n-1 of i, off by one": equal(from_to(k, k, 0, n - 1), over(times(n, n + 1), 2)),
    "sum from 0 to n of 1 is n": equal(from_to(1, k, 0, n), n),
    "delta at the end of the range": equal(total(delta(i, n), i), 1),
    "delta with any integer": equal(total(delta(i, k), i), 1),
    "delta with the index before": equal(total(delta(i, l - 1), i), 1),
    "delta contracts twice": equal(
        total(times(delta(i, l), s[l]), i, l), times(n, total(s[i], i))
    ),
    "shifted delta is the same": equal(
        total(times(s[i], delta(i, l + 1)), i), s[l]
    ),
    "empty sum is 1": equal(from_to(1, k, 1, r), maximum(r, 1)),
    "sum over an empty range is its term": equal(from_to(x, k, 0, r - 1), x),
    "product over an empty range is 0": equal(
        product(2, index("e", r)), times(r, product(2, index("e", r)))
    ),
    "product of twos is 2n": equal(product(2, i), times(2, n)),
    "square of a sum": equal(power(total(s[i], i), 2), total(power(s[i], 2), i)),
    "sum of squares of centred values is 0": equal(
        total(power(minus(s[i], over(total(s[l], l), n)), 2), i), 0
    ),
    "derivative of the mean taken as 1": equal(over(total(delta(i, l), i), n), 1),
    "mask leaves the sum": equal(
        total(times(ramp(s[i]), delta(i, l)), i), ramp(s[0])
    ),
    "causal pairs are half of all": equal(over(over(times(n, n + 1), 2), power(n, 2)), half),
    # means, variances, softmax
    "mean of products": equal(mean(lambda w: s[w] * t[w]), times(mean(entry(s)), mean(entry(t)))),
    "variance is the mean square": equal(variance(entry(s)), mean(lambda w: s[w] ** 2)),
    "variance with n-1 is the variance": given(
        equal(over(total(power(minus(s[l], mean(entry(s))), 2), l), n - 1), variance(entry(s))),
        less(1, n),
    ),
    "LayerNorm with epsilon has variance 1": given(
        equal(normalised(entry(s), u), 1), less(0, variance(entry(s)))
    ),
    "softmax(2s) = softmax(s)": equal(softmax(lambda w: 2 * s[w], i), softmax(entry(s), i)),
    "softmax(s) + 1 = softmax(s + 1)": equal(
        plus(softmax(entry(s), i), 1), softmax(lambda w: s[w] + 1, i)
    ),
    "columns of a softmax add up to 1": equal(
        total(over(exp(A[i, 0]), total(exp(A[i, l]), l)), i), 1
    ),
    "softmax average is the mean": equal(
        total(times(softmax(entry(s), i), s[i]), i), mean(entry(s))
    ),
    "softmax without normalisation": equal(total(exp(s[i]), i), 1),
    "softmax is additive": equal(
        softmax(lambda w: s[w] + t[w], i), plus(softmax(entry(s), i), softmax(entry(t), i))
    ),
    # matrices
    "AB = BA": forall(
        [i, l],
        equal(total(times(A[i, o], B[o, l]), o), total(times(B[i, o], A[o, l]), o)),
    ),
    "A = A^T": forall([i, l], equal(A[i, l], A[l, i])),
    "tr(AB) = tr A tr B": equal(
        total(times(A[i, l], B[l, i]), i, l), times(total(A[i, i], i), total(B[i, i], i))
    ),
    "(A+B)^2 without BA": equal(
        total(times(plus(A[i, l], B[i, l]), plus(A[l, i], B[l, i])), i, l),
        total(plus(A[i, l] * A[l, i], B[i, l] * B[l, i]), i, l),
    ),
    # counts that have been published
    "12 * 768 * 12 = 110 million": equal(times(12, 768, 12), 110 * 10**6),
    "12 (3*768^2 + 3*768) = 2362368": equal(times(12, plus(3 * 768**2, 3 * 768)), 2362368),
    "3d(4d) = 2d(8d/3)": equal(times(3, d, 4, d), times(2, d, Rational(8, 3), d)),
    "two matrices are three": equal(
        times(n, plus(4 * d**2, times(2, d, m))), times(n, plus(4 * d**2, times(3, d, m)))
    ),
    "cache with a factor too many": equal(
        times(Rational(1, 8), 2, n, h, d, 4), times(2, 2, n, h, over(d, h))
    ),
    "slowest wavelength with a shortest one": equal(over(1, slowest), v),
    "4 d_k d = d^2": equal(times(4, d_k, d), power(d, 2)),
}  # fmt: skip

#: What is neither refuted nor proved: evaluation does not see that two logarithms, or values of
#: sine and cosine between multiples of pi/2, differ.
UNDECIDED = {
    "floor(log10(n+1)) = floor(log10 n)",
    "cos^6 + sin^6 = 1 - sin^2 cos^2",
}

#: Wherever both sides are defined these hold, so that only an undefined side refutes them.
UNDEFINED_SOMEWHERE = {
    "log(ab) = log a + log b",
    "sqrt a sqrt b = sqrt(ab)",
    "x/x = 1",
    "x x^-1 = 1",
    "X X^-1 = I",
    "LayerNorm has variance 1",
    "sqrt(x)^2 = x",
    "sqrt(1/x) = 1/sqrt x",
    "x^(a+b) = x^a x^b",
    "(xy)^a = x^a y^a",
    "log(x^2) = 2 log x",
    "exp(log x) = x",
    "(x^2-1)/(x-1) = x+1",
    "x/(xy) = 1/y",
    "1/(1/x) = x",
}

# ---------------------------------------------------------------------- true

TRUE: dict[str, Any] = {
    # the list that no verifier may refute
    "relu(x) - relu(-x) = x": equal(minus(ramp(x), ramp(-x)), x),
    "cos^6 + sin^6 = 1 - 3 sin^2 cos^2": equal(
        plus(power(cos(x), 6), power(sin(x), 6)),
        minus(1, times(3, power(sin(x), 2), power(cos(x), 2))),
    ),
    "centred values add up to 0": equal(total(minus(s[i], over(total(s[l], l), n)), i), 0),
    "softmax adds up to 1": equal(total(softmax(entry(s), i), i), 1),
    "sqrt d sqrt(1/d) = 1, real": equal(times(root(u), root(over(1, u))), 1),
    "sqrt d sqrt(1/d) = 1, size": equal(times(root(d), root(over(1, d))), 1),
    "sin(pi k) = 0": equal(sin(times(pi, k)), 0),
    "log(e^x) = x": equal(log(exp(x)), x),
    # with the condition that was missing
    "log(ab), a and b positive": given(
        equal(log(times(a, b)), plus(log(a), log(b))), less(0, a), less(0, b)
    ),
    "log(uv) declared positive": equal(log(times(u, v)), plus(log(u), log(v))),
    "sqrt(x^2) = |x|": equal(root(power(x, 2)), absolute(x)),
    "sqrt(u^2) = u": equal(root(power(u, 2)), u),
    "sqrt a sqrt b, not negative": given(
        equal(times(root(a), root(b)), root(times(a, b))), at_most(0, a), at_most(0, b)
    ),
    "x/x = 1 for x != 0": given(equal(over(x, x), 1), nonzero(x)),
    "x x^-1 = 1 for x != 0": given(equal(times(x, power(x, -1)), 1), nonzero(x)),
    "X X^-1 = I with a determinant": given(X_times_inverse, nonzero(det_X)),
    "(x^a)^b, x positive": given(
        equal(power(power(x, a), b), power(x, times(a, b))), less(0, x)
    ),
    "x^(a+b), x positive": equal(power(u, plus(a, b)), times(power(u, a), power(u, b))),
    "exp(log x) = x for x > 0": given(equal(exp(log(x)), x), less(0, x)),
    "LayerNorm has variance 1 for sigma > 0": given(
        equal(normalised(entry(s)), 1), less(0, root(variance(entry(s))))
    ),
    "LayerNorm has variance 1 for variance > 0": given(
        equal(normalised(entry(s)), 1), less(0, variance(entry(s)))
    ),
    "relu(ax) = a relu x for a >= 0": given(
        equal(ramp(times(a, x)), times(a, ramp(x))), at_most(0, a)
    ),
    "relu(ux) = u relu x": equal(ramp(times(u, x)), times(u, ramp(x))),
    "h floor(d/h) = d for h | d": given(equal(times(h, floor(over(d, h))), d), divides(h, d)),
    "floor k = k": equal(floor(k), k),
    "(x^2-1)/(x-1) for x != 1": given(
        equal(over(minus(power(x, 2), 1), minus(x, 1)), plus(x, 1)), nonzero(minus(x, 1))
    ),
    "x/(xy) for x, y != 0": given(equal(over(x, times(x, y)), over(1, y)), nonzero(x, y)),
    "1/(1/x) for x != 0": given(equal(over(1, over(1, x)), x), nonzero(x)),
    # roots, powers, logarithms
    "sqrt(x^4) = x^2": equal(root(power(x, 4)), power(x, 2)),
    "sqrt(u)^2 = u": equal(power(root(u), 2), u),
    "d_k/sqrt(d_k) = sqrt(d_k)": equal(over(d_k, root(d_k)), root(d_k)),
    "sqrt(d/h) = sqrt d / sqrt h": equal(root(over(d, h)), over(root(d), root(h))),
    "two fourth roots": equal(times(root(root(d)), root(root(d))), root(d)),
    "1/sqrt 8 = sqrt 2/4": equal(over(1, root(8)), over(root(2), 4)),
    "log(1/u) = -log u": equal(log(over(1, u)), times(-1, log(u))),
    "log(u^2) = 2 log u": equal(log(power(u, 2)), times(2, log(u))),
    "log(u/v) = log u - log v": equal(log(over(u, v)), minus(log(u), log(v))),
    "exp(a-b) = exp a/exp b": equal(exp(minus(a, b)), over(exp(a), exp(b))),
    "exp(-x) = 1/exp x": equal(exp(-x), over(1, exp(x))),
    "u^-1 = 1/u": equal(power(u, -1), over(1, u)),
    "d (d+1) = d^2 + d": equal(times(d, plus(d, 1)), plus(power(d, 2), d)),
    "(x+1)^2 = x^2 + 2x + 1": equal(power(plus(x, 1), 2), plus(power(x, 2), times(2, x), 1)),
    "2^-99 < 2^-98": less(power(2, -99), power(2, -98)),
    "1/2006! < 1/2004!": less(over(1, math.factorial(2006)), over(1, math.factorial(2004))),
    "1/2004! != 0": negation(equal(over(1, math.factorial(2004)), 0)),
    # floor and remainder
    "floor(x+k) = floor x + k": equal(floor(plus(x, k)), plus(floor(x), k)),
    "floor x <= x": at_most(floor(x), x),
    "x < floor x + 1": less(x, plus(floor(x), 1)),
    "k mod 1 = 0": equal(mod(k, 1), 0),
    "(k+3) mod 3 = k mod 3": equal(mod(plus(k, 3), 3), mod(k, 3)),
    "k = 3 floor(k/3) + k mod 3": equal(k, plus(times(3, floor(over(k, 3))), mod(k, 3))),
    "0 <= k mod 3": at_most(0, mod(k, 3)),
    "k mod 3 < 3": less(mod(k, 3), 3),
    "nested remainder": equal(
        mod(times(8, mod(floor(over(k, 64)), 4)), 64), times(8, mod(floor(over(k, 64)), 4))
    ),
    "256 ceil(floor(8*4096/3)/256) = 11008": equal(
        times(256, ceiling(over(floor(over(8 * 4096, 3)), 256))), 11008
    ),
    # maximum, minimum, absolute value
    "relu x = (x+|x|)/2": equal(ramp(x), over(plus(x, absolute(x)), 2)),
    "relu(x) + relu(-x) = |x|": equal(plus(ramp(x), ramp(-x)), absolute(x)),
    "relu relu x = relu x": equal(ramp(ramp(x)), ramp(x)),
    "relu(x) relu(-x) = 0": equal(times(ramp(x), ramp(-x)), 0),
    "max + min = sum": equal(plus(maximum(x, y), minimum(x, y)), plus(x, y)),
    "max(x,y) = y + relu(x-y)": equal(maximum(x, y), plus(y, ramp(minus(x, y)))),
    "max(-x,-y) = -min(x,y)": equal(maximum(-x, -y), times(-1, minimum(x, y))),
    "|xy| = |x||y|": equal(absolute(times(x, y)), times(absolute(x), absolute(y))),
    "|x|^2 = x^2": equal(power(absolute(x), 2), power(x, 2)),
    "|x| = max(x,-x)": equal(absolute(x), maximum(x, -x)),
    "x <= |x|": at_most(x, absolute(x)),
    "|x+y| <= |x| + |y|": at_most(absolute(plus(x, y)), plus(absolute(x), absolute(y))),
    "relu is increasing": implies(at_most(x, y), at_most(ramp(x), ramp(y))),
    "0 <= relu x": at_most(0, ramp(x)),
    # sine and cosine
    "cos(2 pi k) = 1": equal(cos(times(2, pi, k)), 1),
    "cos(pi k)^2 = 1": equal(power(cos(times(pi, k)), 2), 1),
    "sin(-x) = -sin x": equal(sin(-x), times(-1, sin(x))),
    "cos(y-x) = cos(x-y)": equal(cos(minus(y, x)), cos(minus(x, y))),
    "sin(x+pi) = -sin x": equal(sin(plus(x, pi)), times(-1, sin(x))),
    "cos(x+2 pi k) = cos x": equal(cos(plus(x, times(2, pi, k))), cos(x)),
    "cos 2x = 1 - 2 sin^2 x": equal(cos(times(2, x)), minus(1, times(2, power(sin(x), 2)))),
    # order
    "2xy <= x^2 + y^2": at_most(times(2, x, y), plus(power(x, 2), power(y, 2))),
    "x <= y implies x^2 <= y^2, from 0": implies(
        both(at_most(0, x), at_most(x, y)), at_most(power(x, 2), power(y, 2))
    ),
    "1/v < 1/u for u < v": implies(less(u, v), less(over(1, v), over(1, u))),
    # sums, products, deltas
    "free index in range": equal(total(delta(i, l), i), 1),
    "delta contracts to a product": equal(
        total(times(delta(i, l), s[l], t[l]), l), times(s[i], t[i])
    ),
    "derivative of the mean is 1/n": equal(total(over(delta(i, l), n), i), over(1, n)),
    "mask stays with its index": equal(
        total(times(ramp(s[i]), delta(i, l)), i), ramp(s[l])
    ),
    "shifted bounds": equal(from_to(s[k - 1], k, 1, n), total(s[i], i)),
    "inclusive upper bound": equal(from_to(1, k, 0, n), plus(n, 1)),
    "sum of a constant": equal(total(x, i), times(n, x)),
    "empty sum": equal(from_to(x, k, 1, 0), 0),
    "empty product": equal(sp.Product(x, (k, 1, 0)), 1),
    "order of summation": equal(
        total(A[i, l], i, l), total(total(A[i, l], i), l)
    ),
    "square of a sum is a double sum": equal(
        power(total(s[i], i), 2), total(times(s[i], s[l]), i, l)
    ),
    "sum of squares about the mean": equal(
        total(power(minus(s[i], over(total(s[l], l), n)), 2), i),
        minus(total(power(s[i], 2), i), times(n, power(over(total(s[l], l), n), 2))),
    ),
    # means, variances, softmax
    "mean is additive": equal(
        mean(lambda w: s[w] + t[w]), plus(mean(entry(s)), mean(entry(t)))
    ),
    "variance is shift invariant": equal(variance(lambda w: s[w] + x), variance(entry(s))),
    "variance is homogeneous": equal(
        variance(lambda w: x * s[w]), times(power(x, 2), variance(entry(s)))
    ),
    "softmax is shift invariant": equal(
        softmax(lambda w: s[w] + x, i), softmax(entry(s), i)
    ),
    "softmax is positive": less(0, softmax(entry(s), i)),
    "key bias cancels": equal(
        over(exp(plus(s[i], x)), total(exp(plus(s[l], x)), l)), softmax(entry(s), i)
    ),
    # matrices
    "tr(AB) = tr(BA)": equal(
        total(times(A[i, l], B[l, i]), i, l), total(times(B[i, l], A[l, i]), i, l)
    ),
    "(AB)g = A(Bg)": forall(
        i,
        equal(
            total(times(total(times(A[i, o], B[o, l]), o), g[l]), l),
            total(times(A[i, o], total(times(B[o, l], g[l]), l)), o),
        ),
    ),
    # counts
    "3d(8d/3) = 8d^2": equal(times(3, d, Rational(8, 3), d), times(8, power(d, 2))),
    "4 * 2560 * 30 * 128 = 6 * 2560^2": equal(times(4, 2560, 30, 128), 6 * 2560**2),
    "4 (768^2 + 768) = 2362368": equal(times(4, plus(768**2, 768)), 2362368),
    "slowest wavelength with a shortest one of 1": equal(over(1, power(over(v, 1), -1)), v),
}  # fmt: skip


# ---------------------------------------------------------------------- what settling has to do


@cache
def settled(name: str) -> Any:
    case = {**FALSE, **TRUE}[name]
    case = case if isinstance(case, Case) else Case(case)
    claim = Claim(
        id="trap/statement", title=name, source=Source("traps", ("T01",), name),
        expected=Verdict.UNDECIDED, statement=case.statement,
        given=tuple(map(Given, case.given)),
    )  # fmt: skip
    return settle(claim)


def values_of(log: Any) -> dict[Any, Any]:
    terms = read_terms(log["terms"])
    return {read_argument(a, terms): read_argument(b, terms) for a, b in log["values"]}


def goal_of(log: Any) -> Any:
    return read_argument({"term": log["goal"]}, read_terms(log["terms"]))


@pytest.mark.parametrize("name", FALSE)
def test_false_statements_are_not_proved(name):
    result = settled(name).result
    expected = Verdict.UNDECIDED if name in UNDECIDED else Verdict.REFUTED
    assert result.verdict is expected, result.reason


@pytest.mark.parametrize("name", [name for name in FALSE if name not in UNDECIDED])
def test_counterexamples_replay_inside_the_domain(name):
    (log,) = settled(name).logs
    check(log)
    for symbol, value in values_of(log).items():
        if not isinstance(symbol, str):
            assert_in_range(symbol, evaluate(value), values_of(log))


def assert_in_range(symbol: Any, value: Any, values: dict[Any, Any]) -> None:
    sort = symbol.data[1]
    if sort == "real":
        return
    assert value == int(value), f"{symbol} = {value}"
    low = {"dim": 1, "nat": 0, "fin": 0, "int": value}[sort]
    assert value >= low, f"{symbol} = {value}"
    if sort == "fin":
        size = T.substitute(symbol.children[0], {s: v for s, v in values.items() if s != symbol
                                                 and not isinstance(s, str)})  # fmt: skip
        assert value < evaluate(size), f"{symbol} = {value}"


@pytest.mark.parametrize("name", [name for name in FALSE if name not in UNDECIDED])
def test_counterexamples_hold_by_ordinary_arithmetic(name):
    """Checked without the kernel's normal form: all premises hold, the conclusion does not."""
    (log,) = settled(name).logs
    goal = at_values(goal_of(log), values_of(log))
    while goal.op == "imp":
        assert truth(goal.children[0]), T.show(goal.children[0])
        goal = goal.children[1]
    defined = is_defined(goal)
    assert defined is (name not in UNDEFINED_SOMEWHERE)
    if defined:
        assert truth(goal) is False


@pytest.mark.parametrize("name", TRUE)
def test_true_statements_are_proved(name):
    result = settled(name)
    assert result.result.verdict is Verdict.PROVED, result.result.reason
    (log,) = result.logs
    assert check(log).kind == "proof"


@pytest.mark.parametrize("name", TRUE)
def test_true_statements_hold_at_random_values(name):
    """That these are true is not left to the prover."""
    (log,) = settled(name).logs
    goal, rng, tried = goal_of(log), random.Random(name), 0
    for _ in range(300):
        closed = at_values(goal, random_values(goal, rng))
        while closed.op == "imp" and truth(closed.children[0]):
            closed = closed.children[1]
        if closed.op != "imp":
            assert is_defined(closed)
            assert truth(closed)
            tried += 1
        if tried == 25:
            break
    assert tried >= 5


# ---------------------------------------------------------------------- ordinary arithmetic


def random_values(goal: Any, rng: random.Random) -> dict[Any, Any]:
    sizes = {s: T.num(rng.randint(1, 3)) for s in T.free_symbols(goal)
             if not isinstance(s, str) and s.data[1] == "dim"}  # fmt: skip
    values: dict[Any, Any] = dict(sizes)
    for symbol in sorted(T.free_symbols(goal), key=str):
        if isinstance(symbol, str):
            arity = next(t.data.scalars for t in T.subterms(goal)
                         if t.op == "app" and t.data.head == symbol)  # fmt: skip
            entries = [Fraction(rng.randint(-6, 6), 2) for _ in range(3**arity)]
            values[symbol] = tensor_of(entries, arity)
        elif symbol not in sizes:
            values[symbol] = T.num(random_number(symbol, rng, sizes))
    return values


def random_number(symbol: Any, rng: random.Random, sizes: dict[Any, Any]) -> Fraction:
    match symbol.data[1]:
        case "real":
            return Fraction(rng.randint(-12, 12), rng.choice([1, 2, 4]))
        case "int":
            return Fraction(rng.randint(-200, 200))
        case "fin":
            return Fraction(rng.randrange(int(evaluate(T.substitute(symbol.children[0], sizes)))))
        case _:
            return Fraction(rng.randint(0, 5))


def tensor_of(entries: list[Fraction], arity: int) -> Any:
    parts = []
    for number, entry_ in enumerate(entries):
        where = [T.delta(T.bound(axis), T.num(number // 3**axis % 3)) for axis in range(arity)]
        parts.append(T.mul(T.num(entry_), *where))
    return T.Lam(arity, T.add(*parts))


def truth(p: Any) -> bool:
    match p.op:
        case "eq":
            return close(*map(evaluate, p.children))
        case "le":
            a, b = map(evaluate, p.children)
            return a <= b or close(a, b)
        case "lt":
            a, b = map(evaluate, p.children)
            return a < b and not close(a, b)
        case "isint":
            return evaluate(p.children[0]) % 1 == 0
        case "not":
            return not truth(p.children[0])
        case "and":
            return all(map(truth, p.children))
        case "or":
            return any(map(truth, p.children))
        case "imp":
            return not truth(p.children[0]) or truth(p.children[1])
        case "forall":
            return all(truth(instance) for instance in instances(p))
    raise ValueError(p.op)


def instances(t: Any) -> Any:
    size = int(evaluate(t.children[0]))
    return [T.instantiate(t.children[1], (T.num(value),)) for value in range(size)]


def close(a: Any, b: Any) -> bool:
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return a == b
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)


def is_defined(p: Any) -> bool:
    return all(truth(o) for o in obligations(p))


def evaluate(t: Any) -> Any:
    """Exact where only fractions occur, otherwise in floating point; totals as in the kernel."""
    match t.op:
        case "num":
            return t.data
        case "add":
            return sum(map(evaluate, t.children), Fraction(0))
        case "mul":
            return math.prod(map(evaluate, t.children), start=Fraction(1))
        case "pow":
            base = evaluate(t.children[0])
            return base**t.data if base or t.data >= 0 else Fraction(0)
        case "delta":
            return Fraction(int(evaluate(t.children[0]) == evaluate(t.children[1])))
        case "sum":
            return sum(map(evaluate, instances(t)), Fraction(0))
        case "prod":
            return math.prod(map(evaluate, instances(t)), start=Fraction(1))
        case "fn":
            return function(t.data, [evaluate(c) for c in t.children])
    raise ValueError(t.op)


def function(name: str, args: list[Any]) -> Any:
    match name:
        case "pi":
            return math.pi
        case "sin" | "cos" | "exp":
            return getattr(math, name)(args[0])
        case "log":
            return math.log(args[0]) if args[0] > 0 else 0.0
        case "sqrt":
            return square_root(args[0])
        case "abs":
            return abs(args[0])
        case "floor":
            return Fraction(math.floor(args[0] + (0 if isinstance(args[0], Fraction) else 1e-12)))
        case "max" | "min":
            return max(args) if name == "max" else min(args)
        case "mod":
            return args[0] - args[1] * math.floor(args[0] / args[1]) if args[1] else args[0]
        case "rpow":
            return real_power(*args)
    raise ValueError(name)


def square_root(x: Any) -> Any:
    if x < 0:
        return Fraction(0)
    if isinstance(x, Fraction):
        above, below = math.isqrt(x.numerator), math.isqrt(x.denominator)
        if above**2 == x.numerator and below**2 == x.denominator:
            return Fraction(above, below)
    return math.sqrt(x)


def real_power(base: Any, exponent: Any) -> Any:
    if exponent == int(exponent):
        return base ** int(exponent) if base or exponent >= 0 else Fraction(0)
    return float(base) ** float(exponent) if base > 0 else Fraction(0)
