"""Statements about all random vectors, made for an experiment with finitely many outcomes.

Of an expectation nothing more is known than that it is linear, so that no values refute what is
said of it.  A mean over outcomes with probabilities is one such expectation: where a statement
fails for it, it does not hold for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy as sp

from derive.claim import Example
from derive.language import (
    Expectation,
    RandomTensor,
    at_most,
    both,
    dim,
    equal,
    forall,
    implies,
    index,
    tensor,
    times,
    total,
)

N = dim("N")
P = tensor("P", N)
w = index("w", N)
PROBABILITIES = both(forall(w, at_most(0, P[w])), equal(total(P[w], w), 1))


def counted(statement: Any) -> Any:
    """The statement with the mean over N outcomes in place of the expectation."""
    return implies(PROBABILITIES, _counted(statement, 0))


def outcomes(drawn: dict[RandomTensor, Sequence[Any]], values: dict[Any, Any]) -> Example:
    """As many equally likely outcomes as there are values drawn for every random tensor."""
    (number,) = {len(rows) for rows in drawn.values()}
    tables = {of_outcomes(x): list(rows) for x, rows in drawn.items()}
    return Example({N: number, P: [sp.Rational(1, number)] * number, **tables, **values})


def _counted(e: Any, depth: int) -> Any:
    if isinstance(e, Expectation):
        at = index(f"w_{depth}", N)
        return total(times(P[at], _at(_counted(e.args[0], depth + 1), at)), at)
    if not isinstance(e, sp.Basic) or not e.has(Expectation):
        return e
    parts = [_counted(a, depth) for a in e.args]
    try:
        return e.func(*parts, evaluate=False)
    except TypeError:
        return e.func(*parts)


def _at(e: Any, outcome: sp.Idx) -> Any:
    """The values of the random tensors in this outcome."""
    return e.xreplace({
        x: of_outcomes(x.base)[(outcome, *x.indices)]
        for x in e.atoms(sp.Indexed) if isinstance(x.base, RandomTensor)
    })  # fmt: skip


def of_outcomes(random: RandomTensor) -> Any:
    """A random tensor as one with the outcome for a first index."""
    return tensor(str(random.label), N, *random.shape)
