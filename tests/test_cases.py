"""Statements that people made about Transformers, right and wrong, and how they are settled.

Each group is one question that was asked in public, in our own words and formulas: the statement
itself, what is right instead, and siblings with other letters, factors and side conditions.  Most
are settled by the automatic prover and the search for counterexamples; the others carry a short
proof or exact values.  Every log is replayed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import pytest
import sympy as sp
from sympy import KroneckerDelta as delta
from sympy import Rational, pi
from unevaluated import ceiling, cos, exp, floor, half, log, mod, nonzero, root, sin

from derive.candidates import candidates
from derive.claim import Added, Claim, Example, Given
from derive.convert import ConversionError, Converter
from derive.counterexample import refuting
from derive.kernel import terms as T
from derive.kernel.check import check
from derive.language import (
    Expectation,
    GradientIs,
    IsInteger,
    at_most,
    both,
    call,
    dims,
    divides,
    equal,
    exists,
    forall,
    iff,
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
    random_tensor,
    real,
    relu,
    sequence,
    tensor,
    times,
    total,
    variance,
)
from derive.prover import Prover
from derive.result import Source, Verdict
from derive.verify import chain, settle

Values = dict[Any, Any]


@dataclass(frozen=True)
class Case:
    statement: Any
    verdict: Verdict
    given: tuple[Any, ...] = ()
    added: tuple[tuple[Any, Values], ...] = ()
    witness: Values | None = None
    at: Values | None = None
    proof: Callable[[Prover], Any] | None = None
    deny: Callable[[Prover, Any], Any] | None = None


def holds(statement: Any, *given: Any, proof: Any = None) -> Case:
    return Case(statement, Verdict.PROVED, given, proof=proof)


def fails(statement: Any, *given: Any, at: Values | None = None, deny: Any = None) -> Case:
    return Case(statement, Verdict.REFUTED, given, at=at, deny=deny)


def needs(
    statement: Any, *conditions: tuple[Any, Values], witness: Values, given: tuple[Any, ...] = (),
    proof: Any = None,
) -> Case:  # fmt: skip
    """Right under the conditions only; each comes with values that break it and the statement."""
    return Case(statement, Verdict.CONDITIONAL, given, conditions, witness, proof=proof)


# ---------------------------------------------------------------------- notation

LOG_2 = T.fn("log", T.num(2))
d, h, n, m, r, d_k, d_ff, L, h_kv, D = dims("d h n m r d_k d_ff L h_kv D")
x, y, a, b, t, omega, p, k = (real(name) for name in ("x", "y", "a", "b", "t", "omega", "p", "k"))
u, j = integer("u"), integer("j")

CASES: dict[str, Case] = {}

# ---------------------------------------------------------------------- position encoding

i = index("i", r)
more = less(1, r)


def ends_at_base(e: Any) -> Any:
    """The frequencies of code that divides by the number of pairs less one."""
    return power(10000, times(-1, over(e, minus(r, 1))))


def as_published(e: Any) -> Any:
    return power(10000, times(-1, over(e, r)))


CASES |= {
    "frequencies: r - 1 steps are r steps": needs(
        equal(ends_at_base(i), as_published(i)),
        (equal(i, 0), {r: 8, i: 7}), witness={r: 8, i: 0}, given=(more,),
    ),
    "frequencies: they agree at the first pair": holds(
        equal(ends_at_base(0), as_published(0)), more
    ),
    "frequencies: r - 1 steps are faster at the start": fails(
        less(as_published(i), ends_at_base(i)), more, less(0, i)
    ),
    "frequencies: r - 1 steps are slower from the second pair on": holds(
        less(ends_at_base(i), as_published(i)), more, less(0, i)
    ),
    "frequencies: they differ from the second pair on": holds(
        negation(equal(ends_at_base(i), as_published(i))), more, less(0, i)
    ),
    "frequencies: the slowest one in code": holds(
        equal(ends_at_base(minus(r, 1)), Rational(1, 10000)), more
    ),
    "frequencies: the slowest one as published, in terms of d": holds(
        equal(as_published(minus(r, 1)), power(10000, times(-1, over(minus(d, 2), d)))),
        equal(d, times(2, r)),
    ),
    "frequencies: width 16, last pair, code": holds(
        equal(power(10000, Rational(-7, 7)), Rational(1, 10000))
    ),
    "frequencies: width 16, last pair, published is the same": fails(
        equal(power(10000, Rational(-7, 8)), Rational(1, 10000))
    ),
    "frequencies: width 16, last pair, published": holds(
        equal(power(power(10000, Rational(-7, 8)), 2), power(10, -7))
    ),
    "frequencies: exponential of a logarithm, as published": holds(
        equal(exp(times(-1, over(times(2, i), times(2, r)), log(10000))), as_published(i))
    ),
    "frequencies: exponential of a logarithm, r - 1 steps": holds(
        equal(exp(times(-1, i, over(log(10000), minus(r, 1)))), ends_at_base(i)), more
    ),
    "frequencies: 2i/r in the exponent": fails(
        equal(exp(times(-1, over(times(2, i), r), log(10000))), as_published(i))
    ),
}  # fmt: skip

shortest, longest = positive("T_min"), positive("T_max")
apart = less(1, m)


def scaled(factor: Any, e: Any) -> Any:
    return times(factor, power(over(longest, shortest), times(-1, over(e, minus(m, 1)))))


last = minus(m, 1)
CASES |= {
    "timescales: times the shortest reaches the longest": needs(
        equal(over(1, scaled(shortest, last)), longest),
        (equal(shortest, 1), {shortest: 2, longest: 10000, m: 8}),
        witness={shortest: 1, longest: 10000, m: 8}, given=(apart,),
    ),
    "timescales: times the shortest, what it reaches": holds(
        equal(over(1, scaled(shortest, last)), over(longest, power(shortest, 2))), apart
    ),
    "timescales: over the shortest reaches the longest": holds(
        equal(over(1, scaled(over(1, shortest), last)), longest), apart
    ),
    "timescales: over the shortest starts at the shortest": holds(
        equal(over(1, scaled(over(1, shortest), 0)), shortest), apart
    ),
    "timescales: times the shortest starts at the shortest": needs(
        equal(over(1, scaled(shortest, 0)), shortest),
        (equal(shortest, 1), {shortest: 2, longest: 10000, m: 8}),
        witness={shortest: 1, longest: 10000, m: 8}, given=(apart,),
    ),
    "timescales: 2 and 10000": holds(equal(over(1, times(2, over(2, 10000))), 2500)),
    "timescales: m steps reach the longest": fails(
        equal(over(1, times(over(1, shortest),
                            power(over(longest, shortest), times(-1, over(last, m))))), longest)
    ),
}  # fmt: skip


# ---- a linear function of the sine alone

sine_is_affine = exists(a, exists(b, forall(x, equal(sin(plus(x, t)), plus(times(a, sin(x)), b)))))


def prove_not_affine(q: Prover) -> Any:
    """At 0 and at pi the sine vanishes, so that b is sin t and -sin t."""

    def values(law: Any) -> Any:
        start, turn = q.at(law, 0), q.at(law, sp.pi)
        over_pi = q.axiom("sin-add", pi, t)
        return q.equal(sin(t), 0, (half, start), (-half, turn), (half, over_pi), show=False)

    def inner(some: Any) -> Any:
        return q.choose(some, b, values)

    with q.supposing(sine_is_affine) as case:
        forward = q.discharge(q.choose(case, a, inner), case)
    with q.supposing(equal(sin(t), 0)) as case:
        shifted = q.equal(
            sin(plus(x, t)), plus(times(cos(t), sin(x)), 0),
            q.axiom("sin-add", x, t), case, show=False,
        )  # fmt: skip
        law = q.for_all(shifted, x)
        inside = exists(b, forall(x, equal(sin(plus(x, t)), plus(times(cos(t), sin(x)), b))))
        backward = q.discharge(q.exists(sine_is_affine, cos(t), q.exists(inside, 0, law)), case)
    return q.both(forward, backward)


def shifted_pair(sign: int) -> Any:
    """(sin, cos) at p + k by a matrix with `sign` at the sine of its first row."""
    c, s = cos(times(omega, k)), sin(times(omega, k))
    before = sin(times(omega, p)), cos(times(omega, p))
    return both(
        equal(sin(times(omega, plus(p, k))), plus(times(c, before[0]), times(sign, s, before[1]))),
        equal(cos(times(omega, plus(p, k))), plus(times(-sign, s, before[0]), times(c, before[1]))),
    )


angle, moved = times(omega, p), times(omega, k)
overlap = plus(times(sin(angle), sin(moved)), times(cos(angle), cos(moved)))
CASES |= {
    "sine alone: affine exactly for multiples of pi": holds(
        iff(sine_is_affine, equal(sin(t), 0)), proof=prove_not_affine
    ),
    "sine alone: shifted by a quarter turn it is a multiple": fails(
        equal(sin(plus(x, over(pi, 2))), times(y, sin(x)))
    ),
    "sine alone: shifted by a half turn": holds(equal(sin(plus(x, pi)), times(-1, sin(x)))),
    "sine alone: with the cosine": holds(
        equal(sin(plus(x, t)), plus(times(cos(t), sin(x)), times(sin(t), cos(x))))
    ),
    "rotation: sine first, minus at the lower left": holds(shifted_pair(1)),
    "rotation: sine first, the usual rotation": needs(
        shifted_pair(-1),
        (equal(sin(moved), 0), {omega: 1, k: pi / 2, p: pi / 2}),
        witness={omega: 1, k: pi, p: pi / 2},
    ),
    "rotation: cosine first, the usual rotation": holds(both(
        equal(cos(times(omega, plus(p, k))),
              minus(times(cos(moved), cos(angle)), times(sin(moved), sin(angle)))),
        equal(sin(times(omega, plus(p, k))),
              plus(times(sin(moved), cos(angle)), times(cos(moved), sin(angle)))),
    )),
    "rotation: back by k": holds(
        equal(sin(times(omega, minus(p, k))),
              minus(times(cos(moved), sin(angle)), times(sin(moved), cos(angle))))
    ),
    "rotation: back by k with the sign of forward": fails(
        equal(sin(times(omega, minus(p, k))),
              plus(times(cos(moved), sin(angle)), times(sin(moved), cos(angle))))
    ),
    "rotation: overlap of two positions": holds(equal(overlap, cos(times(omega, minus(p, k))))),
    "rotation: overlap by the sum of positions": fails(
        equal(overlap, cos(times(omega, plus(p, k))))
    ),
}  # fmt: skip

# ---------------------------------------------------------------------- initialisation and scale

glorot = over(2, plus(d, d_k))
e, f = index("e", d), index("f", d)
c, g = index("c", d_k), index("g", d_k)
W, X = random_tensor("W", d), random_tensor("x", d)
q_random, k_random = random_tensor("q", d_k), random_tensor("k", d_k)
independent_weights = forall(
    [e, f], equal(Expectation(times(W[e], W[f], X[e], X[f])), times(delta(e, f), glorot))
)
mean_square = Expectation(power(total(times(W[e], X[e]), e), 2))
dot = total(times(q_random[c], k_random[c]), c)
white = forall(
    [c, g], equal(Expectation(times(q_random[c], k_random[c], q_random[g], k_random[g])),
                  delta(c, g))
)  # fmt: skip
heads = equal(d, times(h, d_k))

CASES |= {
    "unit variance: fan-in times Glorot": needs(
        equal(times(d, glorot), 1),
        (equal(d, d_k), {d: 512, d_k: 64}), witness={d: 512, d_k: 512},
    ),
    "unit variance: only for square matrices": holds(
        iff(equal(times(d, glorot), 1), equal(d, d_k))
    ),
    "unit variance: of a query of d_k components": holds(
        equal(mean_square, over(times(2, d), plus(d, d_k))), independent_weights
    ),
    "unit variance: of a query, square": holds(
        equal(mean_square, 1), independent_weights, equal(d, d_k)
    ),
    "unit variance: 512 to 64": holds(equal(times(512, over(2, 512 + 64)), Rational(16, 9))),
    "unit variance: one matrix for all three": holds(
        equal(times(d, over(2, plus(d, times(3, d)))), half)
    ),
    "unit variance: one matrix for all three gives 1": fails(
        equal(times(d, over(2, plus(d, times(3, d)))), 1)
    ),
    "unit variance: a third of 1/fan-in": holds(
        equal(times(d, over(1, times(3, d))), Rational(1, 3))
    ),
    "unit variance: 1/fan-in": holds(equal(times(d, over(1, d)), 1)),
    "unit variance: 2/fan-in": fails(equal(times(d, over(2, d)), 1)),
    "by model width: the variance is 1": needs(
        equal(over(d_k, power(root(d), 2)), 1),
        (equal(h, 1), {d: 512, h: 8, d_k: 64}), witness={d: 64, h: 1, d_k: 64}, given=(heads,),
    ),
    "by model width: the variance is 1/h": holds(
        equal(Expectation(power(over(dot, root(d)), 2)), over(1, h)), white, heads
    ),
    "by model width: one head": holds(
        equal(Expectation(power(over(dot, root(d)), 2)), 1), white, heads, equal(h, 1)
    ),
    "by head width: the variance is 1": holds(
        equal(Expectation(power(over(dot, root(d_k)), 2)), 1), white
    ),
    "by model width: the scores are no larger": holds(
        at_most(over(x, root(d)), over(x, root(d_k))), at_most(d_k, d), at_most(0, x)
    ),
    "by model width: the scores are larger": fails(
        less(over(x, root(d_k)), over(x, root(d))), at_most(d_k, d), at_most(0, x)
    ),
}  # fmt: skip


def first_of_two(score: Any) -> Any:
    """The softmax weight of a score against 0."""
    return over(exp(score), plus(exp(score), 1))


CASES |= {
    "by model width: the softmax is sharper": fails(
        less(first_of_two(over(x, root(d_k))), first_of_two(over(x, root(d)))),
        less(d_k, d), less(0, x),
    ),
    "by model width: the softmax is flatter": holds(
        less(first_of_two(over(x, root(d))), first_of_two(over(x, root(d_k)))),
        less(d_k, d), less(0, x),
    ),
    "temperature: a larger score has a larger weight": holds(
        less(first_of_two(x), first_of_two(y)), less(x, y)
    ),
    "temperature: the weight doubles with the score": fails(
        equal(first_of_two(times(2, x)), times(2, first_of_two(x)))
    ),
}  # fmt: skip

q, key = tensor("q", d_k), tensor("k", d_k)
scores = total(times(q[c], key[c]), c)
fourth = power(d_k, Rational(-1, 4))
CASES |= {
    "scale on one side: queries": holds(
        equal(total(times(over(q[c], root(d_k)), key[c]), c), over(scores, root(d_k)))
    ),
    "scale on one side: keys": holds(
        equal(total(times(q[c], over(key[c], root(d_k))), c), over(scores, root(d_k)))
    ),
    "scale on one side: on both instead": needs(
        equal(total(times(over(q[c], root(d_k)), over(key[c], root(d_k))), c),
              over(scores, root(d_k))),
        (equal(d_k, 1), {d_k: 4, q: [1, 0, 0, 0], key: [1, 0, 0, 0]}),
        witness={d_k: 1, q: [1], key: [1]},
    ),
    "scale on one side: on both divides by the width": holds(
        equal(total(times(over(q[c], root(d_k)), over(key[c], root(d_k))), c), over(scores, d_k))
    ),
    "fourth root: on both sides": holds(
        equal(total(times(fourth, q[c], fourth, key[c]), c), over(scores, root(d_k)))
    ),
    "fourth root: two numbers": holds(
        equal(times(fourth, x, fourth, y), over(times(x, y), root(d_k)))
    ),
    "fourth root: once": fails(
        equal(total(times(fourth, q[c], key[c]), c), over(scores, root(d_k)))
    ),
    "fourth root: as a root of a root": holds(
        equal(total(times(over(q[c], root(root(d_k))), over(key[c], root(root(d_k)))), c),
              over(scores, root(d_k)))
    ),
    "fourth root: of 64": holds(
        equal(times(power(64, Rational(-1, 4)), power(64, Rational(-1, 4))), Rational(1, 8))
    ),
    "fourth root: of 64 is 1/8": fails(equal(power(64, Rational(-1, 4)), Rational(1, 8))),
    "fourth root: power 3/2 is the width times its root": holds(
        equal(power(d_k, Rational(3, 2)), times(d_k, root(d_k)))
    ),
    "scale after the softmax": fails(
        equal(over(first_of_two(x), root(d_k)), first_of_two(over(x, root(d_k))))
    ),
}  # fmt: skip

# ---------------------------------------------------------------------- attention

w = index("w", n)
v, z = index("v", n), index("z", n)
s, bias, val, gain = (tensor(name, n) for name in ("s", "beta", "val", "gain"))
query, shared = tensor("q", d), tensor("b", d)
keys = tensor("k", n, d)


def softmax(score: Callable[[Any], Any], place: Any) -> Any:
    return over(exp(score(place)), total(exp(score(z)), z))


def plain(place: Any) -> Any:
    return total(times(query[e], keys[place, e]), e)


def with_bias(place: Any) -> Any:
    return total(times(query[e], plus(keys[place, e], shared[e])), e)


def out(score: Callable[[Any], Any]) -> Any:
    return total(times(softmax(score, w), val[w]), w)


plane, offset = tensor("k", n, 2), tensor("b", 2)


def turned(share: int) -> Callable[[Any], Any]:
    """Scores of the query (1, 1) with keys that get the bias before they are turned."""
    return lambda place: plus(
        times(cos(times(omega, place)), plus(plane[place, 0], times(share, offset[0]))),
        times(sin(times(omega, place)), plus(plane[place, 1], times(share, offset[1]))),
    )


other = tensor("o", n)
head, group = index("g", h), dims("rho")[0]
in_groups = index("g", times(group, h_kv))
CASES |= {
    "key bias: one for all keys": holds(equal(softmax(with_bias, v), softmax(plain, v))),
    "key bias: with scaled scores": holds(
        equal(softmax(lambda o: over(with_bias(o), root(d)), v),
              softmax(lambda o: over(plain(o), root(d)), v))
    ),
    "key bias: the output": holds(
        equal(total(times(val[w], softmax(with_bias, w)), w),
              total(times(val[w], softmax(plain, w)), w))
    ),
    "key bias: no gradient": holds(
        GradientIs(total(times(val[w], softmax(with_bias, w)), w), shared, f, 0)
    ),
    "key bias: a gradient like that of a query": fails(
        GradientIs(total(times(val[w], softmax(plain, w)), w), query, f, 0),
        at={d: 1, n: 2, query: [0], keys: [[0], [1]], val: [0, 1]},
    ),
    "key bias: another one for every key": needs(
        equal(softmax(lambda o: plus(s[o], bias[o]), v), softmax(lambda o: s[o], v)),
        (forall(w, equal(bias[w], x)),
         {n: 2, v: 0, x: 0, s: [0, 0], bias: [LOG_2, 0]}),
        witness={n: 2, v: 0, x: 1, s: [0, 0], bias: [1, 1]},
    ),
    "key bias: before the keys are turned": needs(
        equal(softmax(turned(1), v), softmax(turned(0), v)),
        (equal(omega, 0), {omega: pi, n: 2, v: 0, plane: [[0, 0], [0, 0]],
                           offset: [LOG_2, 0]}),
        witness={omega: 0, n: 2, v: 0, plane: [[0, 0], [0, 0]], offset: [0, 1]},
    ),
    "query bias: cancels as well": fails(
        equal(softmax(lambda o: total(times(plus(query[e], shared[e]), keys[o, e]), e), v),
              softmax(plain, v))
    ),
    "value bias: cancels as well": fails(
        equal(total(times(softmax(lambda o: s[o], w), plus(val[w], x)), w), out(lambda o: s[o]))
    ),
    "value bias: comes through": holds(
        equal(total(times(softmax(lambda o: s[o], w), plus(val[w], x)), w),
              plus(out(lambda o: s[o]), x))
    ),
    "grouped queries: the sum of the queries of a group": needs(
        equal(out(lambda o: plus(s[o], other[o])), out(lambda o: s[o])),
        (forall(w, equal(other[w], 0)),
         {n: 2, s: [0, 0], other: [LOG_2, 0], val: [1, 0]}),
        witness={n: 2, s: [0, 1], other: [0, 0], val: [1, 0]},
    ),
    "grouped queries: the sum of the outputs": fails(
        equal(out(lambda o: plus(s[o], other[o])),
              plus(out(lambda o: s[o]), out(lambda o: other[o])))
    ),
    "grouped queries: repeating is tiling": fails(
        equal(floor(over(times(u, 2), 4)), mod(u, 2)), at_most(0, u), less(u, 4)
    ),
    "grouped queries: a head of its own for each": holds(
        equal(floor(over(times(head, h), h)), head)
    ),
    "grouped queries: one for all": holds(equal(floor(over(times(head, 1), h)), 0)),
    "grouped queries: the shared head exists": holds(
        less(floor(over(times(head, h_kv), h)), h_kv)
    ),
    "grouped queries: the shared head by the size of groups": holds(
        equal(floor(over(times(in_groups, h_kv), times(group, h_kv))),
              floor(over(in_groups, group)))
    ),
    "average: between a bound and its double": holds(
        less(0, softmax(lambda o: s[o], v))
    ),
    "average: of equal values": holds(
        equal(total(times(softmax(lambda o: s[o], w), x), w), x)
    ),
    "average: of the scores is their mean": fails(
        equal(total(times(softmax(lambda o: s[o], w), s[w]), w), over(total(s[w], w), n))
    ),
    "cross-attention: one more score on both sides": holds(
        equal(out(lambda o: plus(s[o], y)), out(lambda o: s[o]))
    ),
    "cross-attention: the sum of two memories": fails(
        equal(total(times(softmax(lambda o: s[o], w), plus(val[w], gain[w])), w),
              times(2, out(lambda o: s[o])))
    ),
    "cross-attention: linear in the memory's values": holds(
        equal(total(times(softmax(lambda o: s[o], w), plus(val[w], gain[w])), w),
              plus(out(lambda o: s[o]), total(times(softmax(lambda o: s[o], w), gain[w]), w)))
    ),
}  # fmt: skip

# ---------------------------------------------------------------------- ReLU and feed-forward

CASES |= {
    "ReLU: a scale that may be negative": needs(
        equal(relu(times(a, x)), times(a, relu(x))),
        (at_most(0, a), {a: -1, x: 1}),
        witness={a: 2, x: 1},
    ),
    "ReLU: of a difference": fails(equal(relu(minus(x, y)), minus(relu(x), relu(y)))),
    "ReLU: of a difference at least": holds(at_most(minus(relu(x), relu(y)), relu(minus(x, y)))),
    "ReLU: of a square": holds(equal(relu(power(x, 2)), power(x, 2))),
    "ReLU: square of it": fails(equal(power(relu(x), 2), relu(power(x, 2)))),
    "ReLU: product with x": holds(equal(times(x, relu(x)), power(relu(x), 2))),
    "ReLU: bias inside": fails(equal(relu(plus(x, b)), plus(relu(x), b))),
}

# ---------------------------------------------------------------------- residual and normalisation

mu, V = real("mu"), real("V")
epsilon, sigma = positive("epsilon"), positive("sigma")
spread = root(plus(V, epsilon))
no_less = at_most(0, V)
mean = over(total(s[w], w), n)
var = over(total(power(minus(s[w], mean), 2), w), n)
spread_given = equal(times(n, power(sigma, 2)), total(power(minus(s[w], mean), 2), w))


def jacobian(at: Any, by: Any, deviation: Any) -> Any:
    constant = over(minus(times(n, delta(at, by)), 1), times(n, deviation))
    product = times(minus(s[at], mean), minus(s[by], mean))
    return minus(constant, over(product, times(n, power(deviation, 3))))


def by_spread(prover: Prover, sum_: Any) -> Any:
    """sum = 0, since n sigma^2 is the sum of the squared deviations."""
    cofactor = over(minus(s[v], mean), times(n, power(sigma, 3)))
    return prover.equal(sum_, 0, (cofactor, prover.hyp(0)), show=False)


unbiased = over(total(power(minus(s[w], mean), 2), w), minus(n, 1))
CASES |= {
    "reciprocal root: divided by it": fails(
        equal(over(minus(x, mu), power(spread, -1)), over(minus(x, mu), spread)), no_less
    ),
    "reciprocal root: divided by it is times the root": holds(
        equal(over(minus(x, mu), power(spread, -1)), times(minus(x, mu), spread)), no_less
    ),
    "reciprocal root: times it": holds(
        equal(times(minus(x, mu), power(plus(V, epsilon), Rational(-1, 2))),
              over(minus(x, mu), spread)), no_less
    ),
    "reciprocal root: times the reciprocal variance": fails(
        equal(times(minus(x, mu), power(plus(V, epsilon), -1)), over(minus(x, mu), spread)),
        no_less,
    ),
    "reciprocal root: epsilon outside": fails(
        equal(over(minus(x, mu), plus(root(V), epsilon)), over(minus(x, mu), spread)), no_less
    ),
    "Jacobian of the normalisation": holds(
        GradientIs(over(minus(s[v], mean), root(var)), s, w, jacobian(v, w, root(var))),
        less(0, var),
    ),
    "Jacobian of the normalisation: without a condition": needs(
        GradientIs(over(minus(s[v], mean), root(var)), s, w, jacobian(v, w, root(var))),
        (less(0, var), {n: 1, v: 0, s: [1]}), witness={n: 2, v: 0, s: [0, 2]},
    ),
    "Jacobian of the normalisation: the identity part alone": fails(
        GradientIs(over(minus(s[v], mean), root(var)), s, w, over(delta(v, w), root(var))),
        less(0, var), at={n: 2, v: 0, s: [0, 2]},
    ),
    "Jacobian of the normalisation: with n - 1": fails(
        GradientIs(over(minus(s[v], mean), root(unbiased)), s, w, jacobian(v, w, root(unbiased))),
        less(0, unbiased), less(1, n), at={n: 3, v: 0, s: [0, 3, 6]},
    ),
    "Jacobian of the normalisation: symmetric": holds(
        equal(jacobian(v, w, sigma), jacobian(w, v, sigma))
    ),
    "Jacobian of the normalisation: loses constants": holds(
        equal(total(jacobian(v, w, sigma), w), 0)
    ),
    "Jacobian of the normalisation: loses the deviations": holds(
        equal(total(times(jacobian(v, w, sigma), minus(s[w], mean)), w), 0), spread_given,
        proof=lambda q: by_spread(q, total(times(jacobian(v, w, sigma), minus(s[w], mean)), w)),
    ),
    "Jacobian of the normalisation: loses the row itself": holds(
        equal(total(times(jacobian(v, w, sigma), s[w]), w), 0), spread_given,
        proof=lambda q: by_spread(q, total(times(jacobian(v, w, sigma), s[w]), w)),
    ),
    "Jacobian of the normalisation: has row sums 1": fails(
        equal(total(jacobian(v, w, sigma), w), 1)
    ),
}  # fmt: skip

depth = natural("l")
variances, norms, C = sequence("V"), sequence("N"), real("C")
grows_by_one = forall(depth, equal(variances[depth + 1], plus(variances[depth], 1)))
starts_at_one = equal(variances[0], 1)
linear = T.Lam(1, T.add(T.ONE, T.bound(0)))
CASES |= {
    "growth: three unit branches": holds(equal(variances[3], 4), grows_by_one, starts_at_one),
    "growth: linear in depth": holds(
        forall(depth, equal(variances[depth], plus(1, depth))), grows_by_one, starts_at_one
    ),
    "growth: doubling with every layer": fails(
        equal(variances[2], times(2, variances[1])), grows_by_one, starts_at_one,
        at={variances: linear},
    ),
    "growth: exponential in depth": fails(
        forall(depth, equal(variances[depth], power(2, depth))), grows_by_one, starts_at_one,
        at={variances: linear},
        deny=lambda prover, target: deny_at(prover, target, 2),
    ),
    "growth: doubling if every gain is 2": holds(
        forall(depth, equal(variances[depth], power(2, depth))),
        forall(depth, equal(variances[depth + 1], times(2, variances[depth]))), starts_at_one,
    ),
    "growth: norms by at most C a layer": holds(
        forall(depth, at_most(norms[depth], plus(norms[0], times(depth, C)))),
        forall(depth, at_most(norms[depth + 1], plus(norms[depth], C))),
    ),
}  # fmt: skip


def deny_at(prover: Prover, target: Any, number: int) -> Any:
    """not (premises -> for all l: p(l)) at one l."""
    from derive.counterexample import denied
    from derive.kernel.rules import infer

    def no(p: Any) -> Any:
        failing = infer("decide", [], T.negate(T.instantiate(p.children[-1], (T.num(number),))))
        return infer("not-forall", [failing], T.negate(p), T.num(number))

    body, premises = target.children[0], 0
    while body.op == "imp":
        body, premises = body.children[1], premises + 1
    return denied(target.children[0], premises, no)


eta, step, warm = real("eta"), positive("s"), positive("w")
rate = call(sp.Min, times(step, power(warm, Rational(-3, 2))), power(step, Rational(-1, 2)))
CASES |= {
    "warm-up: a rate of one's own": needs(
        equal(times(eta, root(warm), rate), times(power(d, Rational(-1, 2)), rate)),
        (equal(eta, power(times(d, warm), Rational(-1, 2))), {eta: 0, d: 1, warm: 1, step: 1}),
        witness={eta: Rational(1, 4), d: 4, warm: 4, step: 1},
    ),
    "warm-up: the two branches meet at w": holds(
        equal(times(warm, power(warm, Rational(-3, 2))), power(warm, Rational(-1, 2)))
    ),
    "warm-up: the two branches meet at 2w": fails(
        equal(times(2, warm, power(warm, Rational(-3, 2))), power(times(2, warm), -half))
    ),
}  # fmt: skip
# ---------------------------------------------------------------------- counting parameters


def multi_head(width: Any, number: Any) -> Any:
    """Three projections a head with biases, and one output projection with its bias."""
    own = plus(times(3, width, over(width, number)), times(3, over(width, number)))
    return plus(times(number, own), times(width, number, over(width, number)), width)


bert = plus(
    times(plus(30522, 512, 2), 768), times(2, 768),
    times(12, plus(times(12, power(768, 2)), times(13, 768))), power(768, 2), 768,
)  # fmt: skip
vocabulary, embedding, hidden, inner, attention, layers, output = dims("V E H I A L O")
twice_counted = plus(
    times(vocabulary, embedding),
    times(layers, plus(
        times(2, plus(power(hidden, 2), times(attention, over(hidden, attention), hidden))),
        times(2, plus(times(hidden, inner), times(inner, hidden))),
    )),
    times(hidden, output),
)  # fmt: skip
base_sizes = [
    equal(symbol, size) for symbol, size in (
        (vocabulary, 30522), (embedding, 768), (hidden, 768), (inner, 3072), (attention, 12),
        (layers, 12), (output, 30522),
    )
]  # fmt: skip


def llama(width: Any) -> Any:
    return times(256, ceiling(over(floor(over(times(8, width), 3)), 256)))


def gated(matrices: int) -> Any:
    return times(L, plus(times(4, d, d), times(matrices, d, d_ff)))


estimate, exact_cache = times(Rational(1, 8), 2, L, h, d, 4), times(2, 2, L, h_kv, over(d, h))
other_h = dims("h_2")[0]
CASES |= {
    "heads add no parameters": holds(
        equal(multi_head(d, h), plus(times(4, power(d, 2)), times(4, d)))
    ),
    "heads add no parameters: any two numbers": holds(
        equal(multi_head(d, h), multi_head(d, other_h))
    ),
    "heads add no parameters: twice as many do": fails(
        less(multi_head(d, h), multi_head(d, times(2, h)))
    ),
    "heads add no parameters: they multiply": fails(
        equal(multi_head(d, h), times(h, multi_head(d, 1)))
    ),
    "heads add no parameters: without the biases": fails(
        equal(multi_head(d, h), times(4, power(d, 2)))
    ),
    "heads add no parameters: rounded widths": needs(
        equal(times(4, d, h, floor(over(d, h))), times(4, power(d, 2))),
        (divides(h, d), {d: 2560, h: 30}), witness={d: 512, h: 8},
    ),
    "heads add no parameters: width 512": holds(
        equal(plus(times(4, 512, 512), times(4, 512)), 1050624)
    ),
    "heads that do not divide: a width of their own": holds(
        equal(times(4, 2560, 30, 128), times(6, 2560, 2560))
    ),
    "heads that do not divide: any width": needs(
        equal(times(4, d, h, d_k), times(6, power(d, 2))),
        (equal(times(2, h, d_k), times(3, d)), {d: 2560, h: 30, d_k: 85}),
        witness={d: 2560, h: 30, d_k: 128},
    ),
    "heads that do not divide: only for h d_k = 3d/2": holds(
        implies(equal(times(4, d, h, d_k), times(6, power(d, 2))),
                equal(times(2, h, d_k), times(3, d)))
    ),
    "heads that do not divide: rounded down": holds(equal(times(30, floor(over(2560, 30))), 2550)),
    "heads that do not divide: nothing lost": fails(equal(times(30, floor(over(2560, 30))), 2560)),
    "heads that do not divide: never too wide": holds(at_most(times(h, floor(over(d, h))), d)),
    "heads that do not divide: rounded up is enough": holds(
        at_most(d, times(h, ceiling(over(d, h))))
    ),
    "heads that do not divide: what is lost": holds(
        equal(minus(d, times(h, floor(over(d, h)))), mod(d, h))
    ),
    "published size: 12 * 768 * 12": fails(equal(times(12, 768, 12), 110 * 10**6)),
    "published size: 12 * 768 * 12, evaluated": holds(equal(times(12, 768, 12), 110592)),
    "published size: every matrix": holds(equal(bert, 109482240)),
    "published size: 110 million exactly": fails(equal(bert, 110 * 10**6)),
    "published size: 110 million in millions": holds(
        both(less(109 * 10**6, bert), less(bert, 110 * 10**6))
    ),
    "published size: a block": holds(
        equal(plus(times(4, d, d), times(4, d), times(2, d, times(4, d)), times(4, d), d,
                   times(2, d), times(2, d)),
              plus(times(12, power(d, 2)), times(13, d)))
    ),
    "published size: a block without biases": fails(
        equal(plus(times(12, power(d, 2)), times(13, d)), times(12, power(d, 2)))
    ),
    "two matrices counted twice": fails(equal(twice_counted, 109482240), *base_sizes),
    "two matrices counted twice: what comes out": holds(
        equal(twice_counted, 188439552), *base_sizes
    ),
    "two matrices counted twice: in general": fails(
        equal(times(2, plus(times(hidden, inner), times(inner, hidden))),
              plus(times(hidden, inner), times(inner, hidden)))
    ),
    "full matrices in every head": fails(
        equal(times(12, plus(3 * 768**2, 3 * 768)), 2362368)
    ),
    "full matrices in every head: all heads together": holds(
        equal(times(4, plus(768**2, 768)), 2362368)
    ),
    "full matrices in every head: what comes out": holds(
        equal(times(12, plus(3 * 768**2, 3 * 768)), 21261312)
    ),
    "full matrices in every head: 12 more for the output": fails(
        equal(plus(times(4, plus(768**2, 768)), times(12, 768, 768)), 2362368)
    ),
    "gated width: swapped": fails(
        equal(times(3, d, times(4, d)), times(2, d, times(Rational(8, 3), d)))
    ),
    "gated width: the right way round": holds(
        equal(times(3, d, times(Rational(8, 3), d)), times(2, d, times(4, d)))
    ),
    "gated width: which width keeps the count": holds(
        iff(equal(times(3, d, d_ff), times(2, d, times(4, d))), equal(times(3, d_ff), times(8, d)))
    ),
    "gated width: two thirds of the usual one": holds(
        equal(times(3, d, times(Rational(2, 3), times(4, d))), times(8, power(d, 2)))
    ),
    "gated width: half of the usual one": fails(
        equal(times(3, d, times(half, times(4, d))), times(8, power(d, 2)))
    ),
    "rounded width: 4096": holds(equal(llama(4096), 11008)),
    "rounded width: 5120": holds(equal(llama(5120), 13824)),
    "rounded width: down to a multiple of 64": fails(
        equal(times(64, floor(over(floor(over(8 * 5120, 3)), 64))), 13824)
    ),
    "rounded width: down to a multiple of 64, evaluated": holds(
        equal(times(64, floor(over(floor(over(8 * 5120, 3)), 64))), 13632)
    ),
    "rounded width: down to a multiple of 256": holds(
        equal(times(256, floor(over(floor(over(8 * 5120, 3)), 256))), 13568)
    ),
    "rounded width: two thirds of itself": fails(equal(times(Rational(2, 3), 11008), 11008)),
    "rounded width: by adding 255": holds(
        equal(times(256, floor(over(plus(floor(over(8 * 4096, 3)), 255), 256))), 11008)
    ),
    "rounded width: a multiple of 256": holds(IsInteger(over(llama(d), 256))),
    "rounded width: not below": holds(at_most(floor(over(times(8, d), 3)), llama(d))),
    "rounded width: less than 256 above": holds(
        less(llama(d), plus(floor(over(times(8, d), 3)), 256))
    ),
    "rounded width: no rounding": fails(equal(llama(d), over(times(8, d), 3))),
    "gated network: two matrices": fails(equal(gated(2), gated(3))),
    "gated network: what is missing": holds(equal(minus(gated(3), gated(2)), times(L, d, d_ff))),
    "gated network: too few": holds(less(gated(2), gated(3))),
    "gated network: two, evaluated": holds(
        equal(times(32, plus(times(4, 4096, 4096), times(2, 4096, 11008))), 5033164800)
    ),
    "gated network: three, evaluated": holds(
        equal(times(32, plus(times(4, 4096, 4096), times(3, 4096, 11008))), 6476005376)
    ),
    "cache: a factor too many": needs(
        equal(estimate, exact_cache),
        (equal(power(h, 2), times(4, h_kv)), {L: 32, h: 32, d: 4096, h_kv: 32}),
        witness={L: 1, h: 4, d: 8, h_kv: 4},
    ),
    "cache: by which factor": holds(
        equal(over(estimate, exact_cache), over(power(h, 2), times(4, h_kv)))
    ),
    "cache: only for h^2 = 4 h_kv": holds(
        implies(equal(estimate, exact_cache), equal(power(h, 2), times(4, h_kv)))
    ),
    "cache: 32 heads": holds(equal(over(32**2, times(4, 32)), 8)),
    "cache: shared heads keep their share": holds(
        equal(exact_cache, times(over(h_kv, h), 2, 2, L, d))
    ),
}  # fmt: skip

# ---------------------------------------------------------------------- counting operations

row, column, summand = index("i", m), index("l", n), index("c", d)
multiplied, operations = total(1, row, column, summand), total(2, row, column, summand)
later, earlier = integer("later"), integer("earlier")
causal = sp.Sum(sp.Sum(1, (earlier, 0, later)), (later, 0, n - 1))
share = over(causal, power(n, 2))
forward, backward, part = real("f"), real("g"), real("c")
training = times(2, plus(forward, backward), part, h, d_k, n)
full = times(4, power(n, 2), d)
projections = times(8, n, power(d, 2))
limit = real("epsilon")
CASES |= {
    "multiply-adds: half as many as operations": holds(equal(operations, times(2, multiplied))),
    "multiply-adds: twice as many as operations": fails(equal(multiplied, times(2, operations))),
    "multiply-adds: of a product of matrices": holds(equal(multiplied, times(m, n, d))),
    "multiply-adds: without the first addition": holds(
        equal(total(plus(d, minus(d, 1)), row, column), minus(times(2, m, n, d), times(m, n)))
    ),
    "multiply-adds: the first addition is for free": fails(
        equal(total(plus(d, minus(d, 1)), row, column), times(2, m, n, d))
    ),
    "causal: half of the scores": fails(equal(share, half)),
    "causal: which share": holds(equal(share, over(plus(n, 1), times(2, n)))),
    "causal: always more than half": holds(less(half, over(plus(n, 1), times(2, n)))),
    "causal: how far from half": holds(
        equal(minus(over(plus(n, 1), times(2, n)), half), over(1, times(2, n)))
    ),
    "causal: close to half for long sequences": holds(
        less(over(plus(n, 1), times(2, n)), plus(half, limit)), less(0, limit),
        less(1, times(2, n, limit)),
    ),
    "causal: all scores": needs(
        equal(share, 1), (equal(n, 1), {n: 2}), witness={n: 1},
    ),
    "causal: the scores": holds(equal(causal, over(times(n, plus(n, 1)), 2))),
    "causal: without the diagonal": fails(equal(causal, over(times(n, minus(n, 1)), 2))),
    "causal: all less those above": holds(
        equal(minus(times(n, n), over(times(n, minus(n, 1)), 2)), over(times(n, plus(n, 1)), 2))
    ),
    "causal: sum of 1 to n": holds(
        equal(sp.Sum(later, (later, 1, n)), over(times(n, plus(n, 1)), 2))
    ),
    "causal: sum of 1 to n, off by one": fails(
        equal(sp.Sum(later, (later, 1, n)), over(times(n, minus(n, 1)), 2))
    ),
    "causal: sum of the first squares": holds(
        equal(sp.Sum(later**2, (later, 1, n)),
              over(times(n, plus(n, 1), plus(times(2, n), 1)), 6))
    ),
    "causal: eight positions": holds(
        equal(over(sp.Sum(sp.Sum(1, (earlier, 0, later)), (later, 0, 7)), 64), Rational(9, 16))
    ),
    "training cost: 12": needs(
        equal(training, times(12, h, d_k, n)),
        (equal(backward, times(2, forward)),
         {forward: 2, backward: 5, part: 1, h: 1, d_k: 1, n: 1}),
        (equal(part, 1), {forward: 2, backward: 4, part: half, h: 1, d_k: 1, n: 1}),
        witness={forward: 2, backward: 4, part: 1, h: 1, d_k: 1, n: 1},
        given=(equal(forward, 2),),
    ),
    "training cost: 6 with a causal mask": holds(
        equal(training, times(6, h, d_k, n)), equal(forward, 2), equal(backward, 4),
        equal(part, half),
    ),
    "training cost: 7 with a product computed again": holds(
        equal(training, times(7, h, d_k, n)), equal(forward, 2), equal(backward, 5),
        equal(part, half),
    ),
    "training cost: 6 with a product computed again": fails(
        equal(training, times(6, h, d_k, n)), equal(forward, 2), equal(backward, 5),
        equal(part, half),
    ),
    "order: n^2 d for a fixed width": holds(
        at_most(plus(full, projections), times(plus(4, times(8, d)), power(n, 2), d))
    ),
    "order: n^2 d with one constant": needs(
        at_most(plus(full, projections), times(12, power(n, 2), d)),
        (at_most(d, n), {n: 1, d: 512}), witness={n: 512, d: 512},
    ),
    "order: n^2 d + n d^2": holds(
        at_most(plus(full, projections),
                times(8, plus(times(power(n, 2), d), times(n, power(d, 2)))))
    ),
    "order: as much as the projections": holds(
        iff(equal(full, projections), equal(n, times(2, d)))
    ),
    "order: as much as the projections at n = d": fails(
        implies(equal(n, d), equal(full, projections))
    ),
    "order: as much as all matrices": holds(
        iff(equal(full, times(24, n, power(d, 2))), equal(n, times(6, d)))
    ),
}  # fmt: skip
# ---------------------------------------------------------------------- traps of computer algebra

A, B = tensor("A", n, n), tensor("B", n, n)
M, other_s = tensor("M", n), tensor("t", n)
o1, o2, o3, o4, o5 = (index(name, n) for name in ("i", "j", "a", "b", "c"))
mask = forall(
    o2, both(implies(less(0, s[o2]), equal(M[o2], 1)), implies(at_most(s[o2], 0), equal(M[o2], 0)))
)
masked = times(-1, total(times(M[o1], delta(o1, o2)), o1))
centre, only = tensor("m", 1), index("z", 1)
distance = total(power(minus(s[o1], centre[0]), 2), o1)
growth, decay = real("lambda"), real("mu")
larger, smaller = exp(times(growth, x)), exp(times(decay, x))
trace, det = plus(larger, smaller), exp(plus(times(growth, x), times(decay, x)))


def product(left: Any, right: Any) -> Any:
    return total(times(left[o1, o3], right[o3, o2]), o3)


half_angle = times(sin(over(x, 2)), cos(over(x, 2)))
second, fourth_moment, mixed = real("p"), real("q"), real("w")
RX, RY = random_tensor("X", 1)[0], random_tensor("Y", 1)[0]
standard = [equal(Expectation(e), 0) for e in (RX, RY)]
standard += [equal(Expectation(power(e, 2)), 1) for e in (RX, RY)]
P = tensor("P", n)
XP, YP = tensor("x", n), tensor("y", n)


def average(f: Callable[[Any], Any]) -> Any:
    return total(times(P[w], f(w)), w)


product_variance = minus(
    average(lambda o: power(times(XP[o], YP[o]), 2)), power(average(lambda o: XP[o] * YP[o]), 2)
)
CASES |= {
    "bound and free index: gradient of the mean": holds(
        GradientIs(over(total(s[w], w), n), s, v, over(1, n))
    ),
    "bound and free index: the same letter": holds(
        GradientIs(over(total(s[v], v), n), s, v, over(1, n))
    ),
    "bound and free index: gradient of the mean is 1": fails(
        GradientIs(over(total(s[v], v), n), s, v, 1)
    ),
    "bound and free index: gradient of the mean square": holds(
        GradientIs(over(total(power(s[v], 2), v), n), s, v, over(times(2, s[v]), n))
    ),
    "bound and free index: gradient of the variance": holds(
        GradientIs(var, s, v, over(times(2, minus(s[v], mean)), n))
    ),
    "bound and free index: gradient of a product of sums": fails(
        GradientIs(times(total(s[v], v), total(s[v], v)), s, v, total(s[v], v))
    ),
    "mask and delta: the mask keeps its place": holds(equal(masked, times(-1, M[o2])), mask),
    "mask and delta: the mask is forgotten": needs(
        equal(masked, -1), (less(0, s[o2]), {n: 1, o2: 0, s: [-1], M: [0]}),
        witness={n: 1, o2: 0, s: [1], M: [1]}, given=(mask,),
    ),
    "mask and delta: the place of another": fails(equal(masked, times(-1, M[0])), mask),
    "eigenvalues: of an exponential": holds(
        both(*(equal(plus(power(e, 2), times(-1, trace, e), det), 0) for e in (larger, smaller)))
    ),
    "eigenvalues: of an exponential, the larger": holds(
        at_most(smaller, larger), less(decay, growth), less(0, x)
    ),
    "eigenvalues: of an exponential, the sum": fails(
        equal(plus(power(det, 2), times(-1, trace, det), det), 0)
    ),
    "transpose: is not swallowed": needs(
        equal(total(times(A[o1, o3], A[o4, o3], A[o5, o4], A[o5, o2]), o3, o4, o5),
              total(times(A[o1, o3], A[o3, o4], A[o4, o5], A[o5, o2]), o3, o4, o5)),
        (forall([o3, o4], equal(A[o3, o4], A[o4, o3])),
         {n: 2, o1: 0, o2: 0, A: [[1, 1], [0, 1]]}),
        witness={n: 1, o1: 0, o2: 0, A: [[2]]},
    ),
    "transpose: A A^T is symmetric": holds(
        equal(total(times(A[o1, o3], A[o2, o3]), o3), total(times(A[o2, o3], A[o1, o3]), o3))
    ),
    "transpose: A A^T is A^T A": fails(
        equal(total(times(A[o1, o3], A[o2, o3]), o3), total(times(A[o3, o1], A[o3, o2]), o3))
    ),
    "commutator: with half angles": fails(
        equal(times(half_angle, minus(product(A, B), product(B, A))), 0)
    ),
    "commutator: half angles alone": holds(
        equal(times(half_angle, product(A, B)), times(half, sin(x), product(A, B)))
    ),
    "commutator: has trace 0": holds(
        equal(minus(total(times(A[o1, o3], B[o3, o1]), o1, o3),
                    total(times(B[o1, o3], A[o3, o1]), o1, o3)), 0)
    ),
    "nested remainder": holds(
        equal(mod(times(8, mod(floor(over(j, 64)), 4)), 64), times(8, mod(floor(over(j, 64)), 4)))
    ),
    "nested remainder: at 128": holds(
        equal(mod(times(8, mod(floor(over(128, 64)), 4)), 64), 16)
    ),
    "nested remainder: at 128 it is 32": fails(
        equal(mod(times(8, mod(floor(over(128, 64)), 4)), 64), 32)
    ),
    "nested remainder: a range that is too short": fails(
        equal(mod(times(8, mod(floor(over(j, 64)), 4)), 16), times(8, mod(floor(over(j, 64)), 4)))
    ),
    "nested remainder: by a divisor": holds(equal(mod(mod(j, 12), 4), mod(j, 4))),
    "nested remainder: by no divisor": fails(equal(mod(mod(j, 12), 8), mod(j, 8))),
    "nested remainder: a factor on both": holds(equal(mod(times(2, j), 6), times(2, mod(j, 3)))),
    "letter before a bracket: product": holds(equal(times(d, plus(d, 1)), plus(power(d, 2), d))),
    "letter before a bracket: inverse of a product": holds(
        equal(over(1, times(x, minus(y, a))), over(over(1, x), minus(y, a))),
        nonzero(x), nonzero(minus(y, a)),
    ),
    "letter before a bracket: 1/x times the bracket": fails(
        equal(over(1, times(x, minus(y, a))), times(over(1, x), minus(y, a))),
        nonzero(x), nonzero(minus(y, a)),
    ),
    "inside a sum: put in": holds(
        equal(total(A[o1, o2], o1), total(B[o1, o2], o1)),
        forall([o3, o4], equal(A[o3, o4], B[o3, o4])),
    ),
    "inside a sum: put in for the transposed": holds(
        equal(total(A[o1, o2], o1), total(B[o2, o1], o1)),
        forall([o3, o4], equal(A[o3, o4], B[o4, o3])),
    ),
    "inside a sum: known for one column only": fails(
        equal(total(A[o1, o2], o1), total(B[o1, o2], o1)),
        forall(o3, equal(A[o3, 0], B[o3, 0])),
    ),
    "delta: entries, no sum": holds(
        equal(total(times(delta(o1, o2), s[o2], other_s[o2]), o2), times(s[o1], other_s[o1]))
    ),
    "delta: an inner product instead": fails(
        equal(total(times(delta(o1, o2), s[o2], other_s[o2]), o2),
              total(times(s[o2], other_s[o2]), o2))
    ),
    "delta: in a product of a matrix and a vector": holds(
        equal(total(times(delta(o1, o2), A[o2, o3], s[o3]), o2, o3),
              total(times(A[o1, o3], s[o3]), o3))
    ),
    "independence: variance of a product": holds(
        equal(variance(times(RX, RY)), 1), *standard,
        equal(Expectation(times(RX, RY)), times(Expectation(RX), Expectation(RY))),
        equal(Expectation(times(power(RX, 2), power(RY, 2))),
              times(Expectation(power(RX, 2)), Expectation(power(RY, 2)))),
    ),
    "independence: one variable twice": holds(
        equal(variance(times(RX, RX)), 2), standard[2], equal(Expectation(power(RX, 4)), 3)
    ),
    "independence: not said": needs(
        equal(product_variance, 1),
        (equal(average(lambda o: XP[o] * YP[o]), 0),
         {n: 2, P: [half, half], XP: [1, -1], YP: [1, -1]}),
        (equal(average(lambda o: power(XP[o] * YP[o], 2)), 1),
         {n: 4, P: [Rational(1, 4)] * 4, XP: [1, -1, 0, 0], YP: [0, 0, 1, -1]}),
        witness={n: 4, P: [Rational(1, 4)] * 4, XP: [1, 1, -1, -1], YP: [1, -1, 1, -1]},
        given=(equal(total(P[w], w), 1), equal(average(lambda o: XP[o]), 0),
               equal(average(lambda o: YP[o]), 0)),
    ),
    "centred values: add up to 0": holds(equal(total(minus(s[o1], mean), o1), 0)),
    "centred values: one letter for both": holds(
        equal(total(minus(s[w], over(total(s[w], w), n)), w), 0)
    ),
    "centred values: mean over n - 1": fails(
        equal(total(minus(s[o1], over(total(s[w], w), minus(n, 1))), o1), 0), less(1, n)
    ),
    "assumptions: root of a square, size": holds(equal(root(power(d, 2)), d)),
    "assumptions: root of a square, real": needs(
        equal(root(power(x, 2)), x), (at_most(0, x), {x: -1}), witness={x: 2},
    ),
    "assumptions: derivative of a root": needs(
        GradientIs(root(centre[0]), centre, only, over(1, times(2, root(centre[0])))),
        (less(0, centre[0]), {centre: [0]}), witness={centre: [4]},
    ),
    "trace: derivative by a shift": holds(
        GradientIs(distance, centre, only, times(-2, total(minus(s[o1], centre[0]), o1)))
    ),
    "trace: derivative by a shift, multiplied out": holds(
        GradientIs(distance, centre, only, plus(times(-2, total(s[o1], o1)),
                                                times(2, centre[0], n)))
    ),
    "trace: derivative by a shift, wrong sign": fails(
        GradientIs(distance, centre, only, times(2, total(minus(s[o1], centre[0]), o1)))
    ),
    "trace: derivative by a shift, one summand": fails(
        GradientIs(distance, centre, only, plus(times(-2, total(s[o1], o1)), times(2, centre[0])))
    ),
    "trace: half the square norm of a difference": holds(
        GradientIs(over(total(power(minus(s[w], val[w]), 2), w), 2), s, v, minus(s[v], val[v]))
    ),
    "trace: half the square norm of a difference, turned": fails(
        GradientIs(over(total(power(minus(s[w], val[w]), 2), w), 2), s, v, minus(val[v], s[v]))
    ),
    "structure: a square": holds(
        equal(power(plus(x, 1), 2), plus(power(x, 2), times(2, x), 1))
    ),
    "structure: a cube": fails(equal(power(minus(x, 1), 3), minus(power(x, 3), 1))),
    "structure: a chain with a wrong end": fails(both(
        equal(minus(power(plus(x, 1), 2), power(minus(x, 1), 2)), times(4, x)),
        equal(times(4, x), times(2, x)),
    )),
    "structure: a chain": holds(both(
        equal(minus(power(plus(x, 1), 2), power(minus(x, 1), 2)),
              minus(plus(power(x, 2), times(2, x), 1), plus(power(x, 2), times(-2, x), 1))),
        equal(minus(plus(power(x, 2), times(2, x), 1), plus(power(x, 2), times(-2, x), 1)),
              times(4, x)),
    )),
}  # fmt: skip

# ---------------------------------------------------------------------- how they are settled


def claim_of(name: str, case: Case) -> Claim:
    return Claim(
        id="case/statement", title=name, source=Source("cases", ("C01",), name),
        expected=case.verdict, statement=case.statement, given=tuple(map(Given, case.given)),
        added=tuple(Added(formula, Example(values)) for formula, values in case.added),
        witness=None if case.witness is None else Example(case.witness),
        counterexample=None if case.at is None else Example(case.at, case.deny),
        proof=case.proof,
    )  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_verdict(name):
    settled = settle(claim_of(name, CASES[name]))
    assert settled.result.verdict is CASES[name].verdict, settled.result.reason
    for replayed in settled.logs:
        check(replayed)


CONDITIONS = [
    (name, k) for name, case in CASES.items() for k in range(len(case.added))
]  # fmt: skip


@pytest.mark.parametrize(("name", "k"), CONDITIONS)
def test_no_proof_without_the_condition(name, k):
    """Each condition left out, the automatic prover must not find a proof."""
    case = CASES[name]
    left = tuple(formula for i, (formula, _) in enumerate(case.added) if i != k)
    bare = replace(case, added=(), witness=None, given=(*case.given, *left))
    assert settle(claim_of(name, bare)).result.verdict is not Verdict.PROVED


@pytest.mark.parametrize("name", [n for n, c in CASES.items() if c.verdict is Verdict.PROVED])
def test_what_is_proved_is_not_refuted(name):
    """The search for counterexamples, asked about what is right, finds none."""
    case = CASES[name]
    converter = Converter()
    parts = [converter.formula(f) for f in (*case.given, case.statement)]
    assert find(chain((*converter.declared, *parts[:-1]), parts[-1]), tries=6) is None


def find(goal: Any, tries: int) -> Any:
    """Values at which `goal` is denied, among the first candidates."""
    for values in islice(candidates(goal, 1), tries):
        if refuting(goal, goal, values) is not None:
            return values
    return None


def test_a_number_is_not_called_as_a_function():
    """d(d + 1) with a number d is refused, in whichever order the two are met."""
    called = sp.Function("d")(d + 1)
    for statement in (equal(called, times(d, plus(d, 1))), equal(d, called)):
        with pytest.raises(ConversionError, match="a number and a function"):
            Converter().formula(statement)
    Converter().formula(equal(sp.Function("f")(d), sp.Function("f")(d)))
