"""Statements as newcomers write them, true ones and false siblings, without a proof script.

Everything here is settled by the automatic prover and the search for counterexamples alone.
"""

from __future__ import annotations

from typing import Any

import pytest
import sympy as sp
from sympy import Abs, KroneckerDelta, Max, Min, Rational, cos, exp, floor, log, pi, sin, sqrt
from unevaluated import mod
from verdicts import assert_settled

from derive.claim import Claim, Given
from derive.language import (
    GradientIs,
    IsInteger,
    at_most,
    both,
    call,
    dims,
    either,
    equal,
    exists,
    forall,
    iff,
    implies,
    index,
    integer,
    less,
    natural,
    negation,
    over,
    positive,
    product,
    real,
    relu,
    sequence,
    tensor,
    total,
)
from derive.result import Source, Verdict
from derive.verify import settle

n, m, d = dims("n m d")
a, b, c, t, x, y = map(real, "abctxy")
u, v, epsilon = map(positive, ("u", "v", "epsilon"))
k, r = map(integer, "kr")
N, M = map(natural, "NM")
f = sequence("f")
i, j, l, o = (index(name, n) for name in "ijlo")
p, q, s, w, z = (tensor(name, n) for name in "pqswz")
A, B = tensor("A", n, n), tensor("B", n, n)
half = Rational(1, 2)


def square_norm(entry: Any) -> Any:
    return total(entry(j) ** 2, j)


def norm_of(t: Any) -> Any:
    return sqrt(square_norm(lambda place: t[place]))


def mean(entry: Any) -> Any:
    return total(entry(l), l) / n


def variance(entry: Any) -> Any:
    return total((entry(j) - mean(entry)) ** 2, j) / n


def rms_norm(entry: Any, eps: Any = 0) -> Any:
    return entry(i) / sqrt(square_norm(entry) / n + eps)


def layer_norm(entry: Any, eps: Any = 0) -> Any:
    return (entry(i) - mean(entry)) / sqrt(variance(entry) + eps)


def rotary(at: Any, other: Any, q0: Any, q1: Any, k0: Any, k1: Any) -> Any:
    """The score of a query and a key of two entries, each turned by its position."""
    query = (cos(at) * q0 - sin(at) * q1, sin(at) * q0 + cos(at) * q1)
    key = (cos(other) * k0 - sin(other) * k1, sin(other) * k0 + cos(other) * k1)
    return query[0] * key[0] + query[1] * key[1]


def lse(entry: Any) -> Any:
    return log(total(exp(entry(l)), l))


def smoothed(place: Any) -> Any:
    return (1 - epsilon) * KroneckerDelta(place, o) + epsilon / n


def of_z(place: Any) -> Any:
    return z[place]


def scaled(factor: Any) -> Any:
    return lambda place: factor * z[place]


NOT_ZERO = less(0, square_norm(of_z))
VARIES = less(0, variance(of_z))
WEIGHTS = (equal(total(p[i], i), 1), forall(i, at_most(0, p[i])))
DISTRIBUTIONS = (
    equal(total(p[i], i), 1), equal(total(q[i], i), 1),
    forall(i, less(0, p[i])), forall(i, less(0, q[i])),
)  # fmt: skip

#: name: (statement, hypotheses ...)
TRUE: dict[str, tuple[Any, ...]] = {
    # normalisation
    "RMSNorm of a multiple": (equal(rms_norm(scaled(u)), rms_norm(of_z)), NOT_ZERO),
    "RMSNorm of a multiple, epsilon too": (
        equal(rms_norm(scaled(u), u**2 * epsilon), rms_norm(of_z, epsilon)),
    ),
    "RMSNorm of a multiple of any sign": (
        equal(rms_norm(scaled(c)), c / Abs(c) * rms_norm(of_z)), NOT_ZERO, negation(equal(c, 0)),
    ),
    "LayerNorm of a shift": (
        equal(layer_norm(lambda e: z[e] + c, epsilon), layer_norm(of_z, epsilon)),
    ),
    "LayerNorm of a multiple": (equal(layer_norm(scaled(u)), layer_norm(of_z)), VARIES),
    "LayerNorm of the opposite": (equal(layer_norm(scaled(-1)), -layer_norm(of_z)), VARIES),
    "LayerNorm has mean 0": (equal(total(layer_norm(of_z, epsilon), i), 0),),
    "norm of a multiple": (
        equal(sqrt(square_norm(scaled(c))), Abs(c) * sqrt(square_norm(of_z))),
    ),
    # logarithms
    "log-sum-exp of a shift": (equal(lse(lambda e: z[e] - c), lse(of_z) - c),),
    "log-softmax": (equal(log(exp(z[i]) / total(exp(z[j]), j)), z[i] - lse(of_z)),),
    "softplus of both signs": (equal(log(1 + exp(a)) - log(1 + exp(-a)), a),),
    "log of a square": (equal(log(x**2), 2 * log(Abs(x))), negation(equal(x, 0))),
    "tangent of the logarithm": (at_most(log(u), u - 1),),
    "tangent of the exponential": (at_most(1 + x, exp(x)),),
    "cross-entropy is entropy and divergence": (
        equal(-total(p[i] * log(q[i]), i),
              total(p[i] * log(p[i] / q[i]), i) - total(p[i] * log(p[i]), i)), *DISTRIBUTIONS,
    ),
    # sums and products of any length
    "telescoping": (equal(sp.Sum(f[k + 1] - f[k], (k, 0, n - 1)), f[n] - f[0]),),
    "telescoping inverses": (equal(total(1 / ((i + 1) * (i + 2)), i), 1 - 1 / (n + 1)),),
    "first term": (equal(sp.Sum(f[k], (k, 0, n)), f[0] + sp.Sum(f[k], (k, 1, n))),),
    "last term": (equal(sp.Sum(f[k], (k, 0, n)), f[n] + sp.Sum(f[k], (k, 0, n - 1))),),
    "geometric sum": (equal((1 - u) * total(u**i, i), 1 - u**n),),
    "geometric sum, a quotient": (
        equal(total(u**i, i), (1 - u**n) / (1 - u)), negation(equal(u, 1)),
    ),
    "powers of two": (equal(total(2**i, i), 2**n - 1),),
    "sum of cubes": (equal(total(i**3, i), total(i, i) ** 2),),
    "pairs i < j": (
        equal(total(s[i], i) ** 2, total(s[i]**2, i) + 2 * sp.Sum(
            sp.Sum(s[r] * s[k], (r, 0, k - 1)), (k, 0, n - 1))),
    ),
    "pairs j > i": (
        equal(sp.Sum(sp.Sum(1, (r, k + 1, n - 1)), (k, 0, n - 1)), n * (n - 1) / 2),
    ),
    "product of exponentials": (equal(product(exp(s[i]), i), exp(total(s[i], i))),),
    "product of one number": (equal(product(u, i), u**n),),
    "triangular numbers are integers": (IsInteger(n * (n + 1) / 2),),
    "groups of heads": (IsInteger(over(d, n)), equal(d, n * m)),
    "moving average from 0": (
        equal(f[N], (1 - u**N) * c), equal(f[0], 0),
        forall(M, equal(f[M + 1], u * f[M] + (1 - u) * c)),
    ),
    # sums, term by term
    "Cauchy-Schwarz": (at_most(total(s[i] * w[i], i) ** 2, total(s[i]**2, i) * total(w[i]**2, i)),),
    "square of a sum": (at_most(total(s[i], i) ** 2, n * total(s[i]**2, i)),),
    "absolute value of a sum": (at_most(Abs(total(s[i], i)), total(Abs(s[i]), i)),),
    "Gram matrices": (at_most(0, total(s[i] * A[i, l] * A[j, l] * s[j], i, j, l)),),
    "an average is at most a bound": (
        at_most(total(p[i] * s[i], i), c), *WEIGHTS, forall(i, at_most(s[i], c)),
    ),
    "an average grows": (
        at_most(total(p[i] * s[i], i), total(p[i] * (s[i] + 1), i)), forall(i, at_most(0, p[i])),
    ),
    "divergences are not negative": (
        at_most(0, total(p[i] * log(p[i] / q[i]), i)), *DISTRIBUTIONS,
    ),
    "a weight is at most 1": (at_most(exp(z[i]) / total(exp(z[j]), j), 1),),
    "the largest is below log-sum-exp": (at_most(z[i], lse(of_z)),),
    "log-sum-exp is at most a bound plus log n": (
        at_most(lse(of_z), c + log(n)), forall(j, at_most(z[j], c)),
    ),
    "log-sum-exp is at least a mean plus log n": (at_most(mean(of_z) + log(n), lse(of_z)),),
    "exponentials of bounded scores": (
        less(total(exp(z[j]), j), n * exp(c)), forall(j, less(z[j], c)),
    ),
    "from an exponential to a logarithm": (at_most(a, log(x)), at_most(exp(a), x)),
    "from a logarithm to an exponential": (less(log(x), a), less(0, x), less(x, exp(a))),
    "equal scores share evenly": (
        equal(exp(z[i]) / total(exp(z[j]), j), 1 / n), forall([i, j], equal(z[i], z[j])),
    ),
    "equal entries add up": (equal(total(z[j], j), n * z[i]), forall([i, j], equal(z[i], z[j]))),
    "RMSNorm stays below the root of the width": (
        at_most(total(rms_norm(of_z, epsilon) ** 2, i), n),
    ),
    # order through functions
    "logarithms grow": (implies(less(u, v), less(log(u), log(v))),),
    "root of a sum": (at_most(sqrt(u + v), sqrt(u) + sqrt(v)),),
    "cosine schedule": (
        both(at_most(a, a + (c - a) * (1 + cos(pi * t)) / 2),
             at_most(a + (c - a) * (1 + cos(pi * t)) / 2, c)), at_most(a, c),
    ),
    "forms of skew matrices": (
        equal(total(s[i] * A[i, j] * s[j], i, j), 0), forall([i, j], equal(A[i, j], -A[j, i])),
    ),
    "gradient of smoothed labels": (
        GradientIs(-total(smoothed(j) * (z[j] - lse(of_z)), j), z, i,
                   exp(z[i]) / total(exp(z[j]), j) - smoothed(i)),
    ),
    # angles
    "half of the angle": (equal((1 + cos(pi * t)) / 2, cos(pi * t / 2) ** 2),),
    "rotary scores of shifted positions": (
        equal(rotary(a + x, b + x, c, t, u, y), rotary(a, b, c, t, u, y)),
    ),
    # squares
    "means of two": (at_most(sqrt(u * v), (u + v) / 2),),
    "p (1 - p)": (at_most(t * (1 - t), Rational(1, 4)),),
    "three squares": (at_most(a * b + b * c + c * a, a**2 + b**2 + c**2),),
    "Young": (at_most(a * b, a**2 / (2 * u) + u * b**2 / 2),),
    "with its inverse": (at_most(2, u + 1 / u),),
    "Jensen, squares": (
        at_most((t * a + (1 - t) * b) ** 2, t * a**2 + (1 - t) * b**2),
        at_most(0, t), at_most(t, 1),
    ),
    "Jensen, exponentials": (at_most(exp((a + b) / 2), (exp(a) + exp(b)) / 2),),
    "Jensen, absolute values": (at_most(Abs((a + b) / 2), (Abs(a) + Abs(b)) / 2),),
    # floors
    "floor of a floor": (equal(floor(floor(x) / 3), floor(x / 3)),),
    "floor of a floor, integers": (equal(floor(floor(k / 2) / 3), floor(k / 6)),),
    "rounding up": (equal(-floor(-k / n), floor((k + n - 1) / n)),),
    "rounding up is enough": (at_most(d, m * floor((d + m - 1) / m)),),
    "halves": (equal(floor(k / 2) + floor((k + 1) / 2), k),),
    "remainders of a sum": (equal(mod(mod(k, n) + mod(d, n), n), mod(k + d, n)),),
    # maxima and absolute values
    "maximum of three": (equal(call(Max, a, call(Max, b, c)), call(Max, call(Max, a, b), c)),),
    "clipping": (at_most(Min(Max(x, 0), 6), 6),),
    "clipping by two ramps": (equal(Min(Max(x, 0), 6), relu(x) - relu(x - 6)),),
    "minimum of a maximum": (equal(Max(a, Min(b, c)), Min(Max(a, b), Max(a, c))),),
    "triangle inequality, below": (at_most(Abs(Abs(a) - Abs(b)), Abs(a - b)),),
    "ramps shrink distances": (at_most(Abs(relu(a) - relu(b)), Abs(a - b)),),
    "absolute value within a bound": (
        iff(at_most(Abs(x), c), both(at_most(-c, x), at_most(x, c))),
    ),
    # norms, from squares and inner products
    "cauchy by norms": (at_most(total(w[i] * z[i], i), norm_of(w) * norm_of(z)),),
    "minkowski": (at_most(sqrt(total((w[i] + z[i]) ** 2, i)), norm_of(w) + norm_of(z)),),
    "entry below the norm": (at_most(Abs(z[i]), norm_of(z)),),
    "square of the mean": (at_most(mean(of_z) ** 2, total(z[l] ** 2, l) / n),),
    # rows of an attention matrix
    "average of a row": (
        at_most(total(A[i, j] * z[j], j), a), forall([i, j], at_most(0, A[i, j])),
        forall(i, equal(total(A[i, j], j), 1)), forall(j, at_most(z[j], a)),
    ),
    "order of probabilities": (
        at_most(exp(z[i]) / total(exp(z[l]), l), exp(z[o]) / total(exp(z[l]), l)),
        at_most(z[i], z[o]),
    ),
    # integers that divide
    "divisors of divisors": (IsInteger(d / n), IsInteger(m / n), IsInteger(d / m)),
    "divisors are no larger": (at_most(n, d), IsInteger(d / n)),
    # equations that determine a value
    "exponentials": (equal(x, y), equal(exp(x), exp(y))),
    "positive roots": (equal(u, v), equal(u**2, v**2)),
    "a root": (exists(y, equal(y**2, x)), at_most(0, x)),
    "a larger integer": (exists(k, less(x, k)),),
    "a delta is at most 1": (at_most(KroneckerDelta(i, j), 1),),
}  # fmt: skip

FALSE: dict[str, tuple[Any, ...]] = {
    "RMSNorm of a multiple of any sign": (
        equal(rms_norm(scaled(c)), rms_norm(of_z)), NOT_ZERO, negation(equal(c, 0)),
    ),
    "RMSNorm of a multiple, epsilon not": (
        equal(rms_norm(scaled(u), epsilon), rms_norm(of_z, epsilon)),
    ),
    "LayerNorm of a multiple, epsilon not": (
        equal(layer_norm(scaled(u), epsilon), layer_norm(of_z, epsilon)),
    ),
    "LayerNorm of the opposite": (equal(layer_norm(scaled(-1)), layer_norm(of_z)), VARIES),
    "LayerNorm is RMSNorm": (equal(layer_norm(of_z, epsilon), rms_norm(of_z, epsilon)),),
    "norm of a multiple": (equal(sqrt(square_norm(scaled(c))), c * sqrt(square_norm(of_z))),),
    "log-sum-exp of a shift": (equal(lse(lambda e: z[e] - c), lse(of_z)),),
    "log-sum-exp is the sum": (equal(lse(of_z), total(z[j], j)),),
    "softplus of both signs": (equal(log(1 + exp(a)) + log(1 + exp(-a)), a),),
    "tangent of the exponential": (at_most(1 + 2 * x, exp(x)),),
    "cross-entropy is divergence": (
        equal(-total(p[i] * log(q[i]), i), total(p[i] * log(p[i] / q[i]), i)),
        *(forall(i, less(0, e[i])) for e in (p, q)),
    ),
    "telescoping": (equal(sp.Sum(f[k + 1] - f[k], (k, 0, n - 1)), f[n] - f[1]),),
    "telescoping inverses": (equal(total(1 / ((i + 1) * (i + 2)), i), 1 - 1 / n),),
    "first term": (equal(sp.Sum(f[k], (k, 0, n)), f[0] + sp.Sum(f[k], (k, 0, n))),),
    "geometric sum": (equal((1 - u) * total(u**i, i), 1 - u ** (n + 1)),),
    "geometric sum, a quotient": (equal(total(u**i, i), (1 - u**n) / (1 - u)),),
    "powers of two": (equal(total(2**i, i), 2**n),),
    "pairs i < j": (
        equal(total(s[i], i) ** 2, total(s[i]**2, i) + sp.Sum(
            sp.Sum(s[r] * s[k], (r, 0, k - 1)), (k, 0, n - 1))),
    ),
    "pairs j >= i": (equal(sp.Sum(sp.Sum(1, (r, k, n - 1)), (k, 0, n - 1)), n * (n - 1) / 2),),
    "product of one number": (equal(product(u, i), n * u),),
    "half of any size is an integer": (IsInteger(n / 2),),
    "groups of heads": (IsInteger(over(d, n)),),
    "Cauchy-Schwarz, turned": (
        at_most(total(s[i]**2, i) * total(w[i]**2, i), total(s[i] * w[i], i) ** 2),
    ),
    "square of a sum": (at_most(total(s[i], i) ** 2, total(s[i]**2, i)),),
    "absolute value of a sum": (equal(Abs(total(s[i], i)), total(Abs(s[i]), i)),),
    "forms are positive": (at_most(0, total(s[i] * A[i, j] * s[j], i, j)),),
    "an average without a sum of weights": (
        at_most(total(p[i] * s[i], i), c), WEIGHTS[1], forall(i, at_most(s[i], c)),
    ),
    "divergences of any weights": (
        at_most(0, total(p[i] * log(p[i] / q[i]), i)), *DISTRIBUTIONS[2:],
    ),
    "a weight is below 1": (less(exp(z[i]) / total(exp(z[j]), j), 1),),
    "log-sum-exp is below the largest": (at_most(lse(of_z), z[i]),),
    "log-sum-exp is at most a bound": (at_most(lse(of_z), c), forall(j, at_most(z[j], c))),
    "log-sum-exp is less than a bound plus log n": (
        less(lse(of_z), c + log(n)), forall(j, at_most(z[j], c)),
    ),
    "a logarithm below without its sign": (at_most(log(x), a), at_most(x, exp(a))),
    "two equal scores share evenly": (
        equal(exp(z[i]) / total(exp(z[j]), j), 1 / n), equal(z[i], z[l]),
    ),
    "root of a sum": (equal(sqrt(u + v), sqrt(u) + sqrt(v)),),
    "cosine schedule": (at_most(a + (c - a) * (1 + cos(pi * t)) / 2, c),),
    "no zero divisors": (
        implies(forall([i, j], equal(total(A[i, l] * B[l, j], l), 0)),
                either(forall([i, j], equal(A[i, j], 0)), forall([i, j], equal(B[i, j], 0)))),
    ),
    "nothing is nilpotent": (
        implies(forall([i, j], equal(total(A[i, l] * A[l, j], l), 0)),
                forall([i, j], equal(A[i, j], 0))),
    ),
    "projections are the identity": (
        implies(forall([i, j], equal(total(A[i, l] * A[l, j], l), A[i, j])),
                forall([i, j], equal(A[i, j], KroneckerDelta(i, j)))),
    ),
    "squares are below powers of two": (at_most(n**2, 2**n),),
    "forms of symmetric matrices": (
        equal(total(s[i] * A[i, j] * s[j], i, j), 0), forall([i, j], equal(A[i, j], A[j, i])),
    ),
    "half of the angle": (equal((1 + cos(pi * t)) / 2, cos(pi * t) ** 2),),
    "rotary scores of one shifted position": (
        equal(rotary(a + x, b, c, t, u, y), rotary(a, b, c, t, u, y)),
    ),
    "gradient of smoothed labels, unsmoothed": (
        GradientIs(-total(smoothed(j) * (z[j] - lse(of_z)), j), z, i,
                   exp(z[i]) / total(exp(z[j]), j) - KroneckerDelta(i, o)),
    ),
    "means of two, turned": (at_most((u + v) / 2, sqrt(u * v)),),
    "p (1 - p)": (less(t * (1 - t), Rational(1, 4)),),
    "three squares": (at_most(a**2 + b**2 + c**2, 2 * (a * b + b * c + c * a)),),
    "with its inverse": (at_most(2, x + 1 / x), negation(equal(x, 0))),
    "Jensen, any weights": (at_most((t * a + (1 - t) * b) ** 2, t * a**2 + (1 - t) * b**2),),
    "Jensen, exponentials, turned": (at_most((exp(a) + exp(b)) / 2, exp((a + b) / 2)),),
    "rounding up one more": (equal(-floor(-k / n), floor((k + n) / n)),),
    "rounding up loses nothing": (equal(m * floor((d + m - 1) / m), d),),
    "halves": (equal(2 * floor((k + 1) / 2), k),),
    "remainders of a sum": (equal(mod(k, n) + mod(d, n), mod(k + d, n)),),
    "clipping by two ramps": (equal(Min(Max(x, 0), 6), relu(x) - relu(6 - x)),),
    "minimum of a maximum": (equal(Max(a, Min(b, c)), Min(Max(a, b), c)),),
    "triangle inequality, below, turned": (at_most(Abs(a - b), Abs(Abs(a) - Abs(b))),),
    "ramps keep distances": (equal(Abs(relu(a) - relu(b)), Abs(a - b)),),
    "minkowski without signs": (
        equal(sqrt(total((w[i] + z[i]) ** 2, i)), norm_of(w) + norm_of(z)),
    ),
    "cauchy reversed": (at_most(norm_of(w) * norm_of(z), total(w[i] * z[i], i)),),
    "cauchy without one norm": (at_most(total(w[i] * z[i], i), norm_of(w)),),
    "norm below an entry": (at_most(norm_of(z), Abs(z[i])),),
    "mean square reversed": (at_most(total(z[l] ** 2, l) / n, mean(of_z) ** 2),),
    "average of a row of any sum": (
        at_most(total(A[i, j] * z[j], j), a), forall([i, j], at_most(0, A[i, j])),
        forall(j, at_most(z[j], a)),
    ),
    "strict order of probabilities": (
        less(exp(z[i]) / total(exp(z[l]), l), exp(z[o]) / total(exp(z[l]), l)),
        at_most(z[i], z[o]),
    ),
    "multiples of divisors": (IsInteger(d / n), IsInteger(d / m), IsInteger(n / m)),
    "proper divisors": (less(n, d), IsInteger(d / n)),
    "roots of any sign": (equal(x, y), equal(x**2, y**2)),
    "a root of any number": (exists(y, equal(y**2, x)),),
    "a zero among entries": (exists(i, equal(z[i], 0)),),
    "a delta is less than 1": (less(KroneckerDelta(i, j), 1),),
}  # fmt: skip


def settled(name: str, statement: Any, *given: Any) -> Any:
    return settle(Claim(
        id="everyday/statement", title=name, source=Source("everyday", ("1",), name),
        statement=statement, given=tuple(map(Given, given)), expected=Verdict.PROVED,
    ))  # fmt: skip


@pytest.mark.parametrize("name", TRUE)
def test_true_statements_are_proved(name):
    assert_settled(settled(name, *TRUE[name]), Verdict.PROVED)


@pytest.mark.parametrize("name", FALSE)
def test_false_statements_are_refuted(name):
    assert_settled(settled(name, *FALSE[name]), Verdict.REFUTED)
