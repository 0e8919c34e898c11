"""Cross-attention: verdicts, replay, twins, mutants, and agreement with the NumPy layers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
from claim_checks import CONCLUDED, mutant, settle, verdicts
from exact_evaluation import World, real

import numeric
from derive.claim import Given
from derive.claims import cross_attention as C
from derive.claims.cross_attention import (
    W_K,
    W_Q,
    W_V,
    A,
    D,
    G,
    K,
    M,
    Q,
    V,
    X,
    Y,
    b,
    c,
    d,
    d_k,
    d_v,
    e,
    m,
    n,
    q,
    r,
    s,
    t,
    u,
)
from derive.convert import Converter
from derive.language import GradientIs, equal, forall, minus, over, plus, times, total
from derive.result import TwinStatus, Verdict

BY_NAME = {claim.id.split("/")[1]: claim for claim in C.CLAIMS}


# ---------------------------------------------------------------------- mutants

root = sp.sqrt(d_k)
through_keys = total(times(total(times(D[t, r], Q[t, c]), t), W_K[b, c]), c)
through_values = total(times(total(times(A[t, r], G[t, e]), t), W_V[b, e]), e)
reading = C.MEMORY_GRADIENT.statement.args[0]
asking = C.QUERY_GRADIENT.statement.args[0]


def by_memory(partial):
    return GradientIs(reading, M, (r, b), partial)


def by_states(partial):
    return GradientIs(asking, Y, (q, b), partial)


def query_path(key, factor):
    return times(factor, total(times(total(times(D[q, s], key), s), W_Q[b, c]), c))


MUTANTS = {
    "memory: the keys alone": ("memory-gradient", by_memory(over(through_keys, root))),
    "memory: no root": ("memory-gradient", by_memory(plus(through_keys, through_values))),
    "memory: divided by the width": (
        "memory-gradient", by_memory(plus(over(through_keys, d_k), through_values)),
    ),
    "memory: sign of the keys": (
        "memory-gradient", by_memory(minus(through_values, over(through_keys, root))),
    ),
    "memory: D in place of A": (
        "memory-gradient",
        by_memory(
            plus(
                over(through_keys, root),
                total(times(total(times(D[t, r], G[t, e]), t), W_V[b, e]), e),
            )
        ),
    ),
    "memory: A in place of D": (
        "memory-gradient",
        by_memory(
            plus(
                over(total(times(total(times(A[t, r], Q[t, c]), t), W_K[b, c]), c), root),
                through_values,
            )
        ),
    ),
    "query: no root": ("query-gradient", by_states(query_path(K[s, c], 1))),
    "query: twice": ("query-gradient", by_states(query_path(K[s, c], over(2, root)))),
    "query: sign": ("query-gradient", by_states(query_path(K[s, c], over(-1, root)))),
    "cached: depends": (
        "cached", forall([s, c], GradientIs(C.key(M, s, c), Y, (q, b), W_K[b, c])),
    ),
    "source: the values": (
        "memory-source", forall([s, e], equal(C.value(M, s, e), C.value(X, s, e))),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_not_proved(name):
    original, statement = MUTANTS[name]
    claim = replace(mutant(BY_NAME[original], statement=statement), defined=None)
    assert not set(verdicts(claim)) & set(CONCLUDED)


@pytest.mark.parametrize("name", ["source: the values"])
def test_what_is_false_of_small_matrices_is_refuted(name):
    original, statement = MUTANTS[name]
    claim = replace(mutant(BY_NAME[original], statement=statement), proof=None)
    assert settle(claim).result.verdict is Verdict.REFUTED


WRONG_SCORES = {
    "no mean": times(A[t, s], total(times(G[t, e], V[s, e]), e)),
    "mean added": times(
        A[t, s],
        plus(
            total(times(G[t, e], V[s, e]), e),
            total(times(A[t, u], total(times(G[t, e], V[u, e]), e)), u),
        ),
    ),
}


@pytest.mark.parametrize("name", WRONG_SCORES)
def test_a_wrong_softmax_jacobian_is_not_proved(name):
    given = (C.ASKING, Given(forall([t, s], equal(D[t, s], WRONG_SCORES[name]))))
    claim = mutant(C.QUERY_GRADIENT, given=given)
    assert settle(claim).result.verdict not in CONCLUDED


@pytest.mark.parametrize("name", ["memory-gradient", "query-gradient"])
@pytest.mark.parametrize("position", [0, 1])
def test_no_definition_can_be_dropped(name, position):
    claim = BY_NAME[name]
    given = tuple(Given(equal(0, 0)) if k == position else g for k, g in enumerate(claim.given))
    assert settle(mutant(claim, given=given)).result.verdict not in CONCLUDED


# ---------------------------------------------------------------------- the same component


SIZES = {n: 2, m: 3, d: 4, d_k: 1, d_v: 2}


@pytest.fixture(scope="module")
def world():
    """Random rational matrices, for NumPy and for the direct evaluation of kernel terms."""
    rng = np.random.default_rng(4)
    tensors = {x: rng.integers(-4, 5, [SIZES[k] for k in x.shape]) / 4
               for x in (Y, M, W_Q, W_K, W_V, G)}  # fmt: skip
    queries, keys, values = (
        tensors[x] @ tensors[w] for x, w in ((Y, W_Q), (M, W_K), (M, W_V))
    )  # fmt: skip
    weights = numeric.attention_weights(queries, keys)
    upstream = tensors[G] @ values.T
    scores = weights * (upstream - (weights * upstream).sum(axis=1, keepdims=True))
    return {**tensors, Q: queries, K: keys, V: values, A: weights, D: scores}


def number(x):
    return Fraction(float(x))


def evaluated(expression, world, places):
    """The kernel's term at every value of the given indices, computed from its meaning."""
    converter = Converter()
    term = converter.term(expression)
    tensors = {str(x.label): lambda *at, x=x: number(world[x][tuple(map(int, at))]) for x in world}
    sizes = {converter.term(k): Fraction(v) for k, v in SIZES.items()}
    shape = [SIZES[i.upper + 1] for i in places]
    out = np.empty(shape)
    for at in np.ndindex(*shape):
        chosen = {converter.term(i): Fraction(k) for i, k in zip(places, at, strict=True)}
        out[at] = float(real(World(0, {**sizes, **chosen}, tensors).value(term)))
    return out


def test_the_symbolic_head_is_the_numeric_one(world):
    shares = evaluated(C.reading_weight(t, s), world, (t, s))
    np.testing.assert_allclose(shares, world[A], rtol=1e-13)
    output = total(times(C.reading_weight(t, s), C.value(M, s, e)), s)
    found = numeric.scaled_dot_product_attention(world[Q], world[K], world[V])
    np.testing.assert_allclose(evaluated(output, world, (t, e)), found, rtol=1e-12)


def test_the_symbolic_gradients_are_the_numeric_ones(world):
    by_q, by_k, by_v = numeric.scaled_dot_product_attention_vjp(
        world[Q], world[K], world[V], world[G]
    )
    memory = by_k @ world[W_K].T + by_v @ world[W_V].T
    states = by_q @ world[W_Q].T
    np.testing.assert_allclose(evaluated(C.by_memory(r, b), world, (r, b)), memory, atol=1e-13)
    np.testing.assert_allclose(evaluated(C.by_states(q, b), world, (q, b)), states, atol=1e-13)


def test_a_wrong_backward_pass_is_caught(monkeypatch):
    right = numeric.scaled_dot_product_attention_vjp

    def wrong(queries, keys, values, cotangent):
        by_q, by_k, by_v = right(queries, keys, values, cotangent)
        return by_q, 0 * by_k, by_v

    monkeypatch.setattr(numeric, "scaled_dot_product_attention_vjp", wrong)
    twin = BY_NAME["memory-gradient"].twin
    assert twin.run(0, "x").status is TwinStatus.DISAGREES
