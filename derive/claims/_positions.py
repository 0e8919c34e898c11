"""What the claims about position encoding share: symbols, definitions, and two moves.

The derivations note encodes a position by pairs of a sine and a cosine, components 2i and 2i + 1
of the vector, with the frequency ``omega_i = 1 / 10000^(2i/d_model)``.  Its pair index runs over
0, ..., d_model/2 - 1, so that `d_model` is even: ``d_model = 2 r`` for `r` pairs.  The function
`PE` is known through the note's two formulas only; a proof that does not use the formula for the
frequencies holds for any frequencies.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import sympy as sp

from derive.claim import Given
from derive.claims import DERIVATIONS
from derive.convert import Converter
from derive.kernel import terms as T
from derive.kernel.rules import Theorem
from derive.kernel.terms import Term
from derive.language import (
    call,
    dims,
    equal,
    forall,
    index,
    minus,
    over,
    plus,
    power,
    real,
    tensor,
    times,
)
from derive.prover import Prover
from derive.result import Source

d, r = dims("d_model r")
pos, other, k, l = (real(x) for x in "pqkl")
i, j = index("i", r), index("j", r)
a, b, c = (index(x, d) for x in "abc")
omega = tensor("omega", r)
PE: Callable[[Any, Any], sp.Expr] = sp.Function("PE")

# ---------------------------------------------------------------------- definitions


def sin(x: Any) -> sp.Expr:
    return call(sp.sin, x)


def cos(x: Any) -> sp.Expr:
    return call(sp.cos, x)


def sine(position: Any, pair: Any) -> sp.Expr:
    return PE(position, 2 * pair)


def cosine(position: Any, pair: Any) -> sp.Expr:
    return PE(position, 2 * pair + 1)


def angle(position: Any) -> sp.Expr:
    """The angle of pair i."""
    return times(position, omega[i])


def stretch(pair: Any) -> sp.Expr:
    """What positions are divided by in a pair."""
    return power(10000, over(2 * pair, d))


PAIRS = Given(
    equal(d, 2 * r),
    r"the pair index runs over $0, \dots, d_{\text{model}}/2 - 1$: there are $r$ whole pairs",
)
FREQUENCIES = Given(forall(i, equal(omega[i], over(1, stretch(i)))), r"definition of $\omega_i$")
SINES = Given(forall([pos, i], equal(sine(pos, i), sin(angle(pos)))), "the even components")
COSINES = Given(forall([pos, i], equal(cosine(pos, i), cos(angle(pos)))), "the odd components")
ENCODING = (PAIRS, FREQUENCIES, SINES, COSINES)


def source(places: str, says: str) -> Source:
    return Source(DERIVATIONS, tuple(places.split()), says)


# ---------------------------------------------------------------------- parities

# Only a proof knows that half of a component is the index of a pair, so that formulas with
# halves are written for the kernel.

_WIDTH = T.var("d_model", "dim")
COMPONENT, COLUMN = T.var("a", "fin", _WIDTH), T.var("b", "fin", _WIDTH)
POSITION, OFFSET = T.var("p"), T.var("k")


def parity(component: Term) -> Term:
    return T.fn("mod", component, T.num(2))


def pair_of(component: Term) -> Term:
    return T.fn("floor", T.div(component, T.num(2)))


def exists_function(name: str, body: Any) -> Term:
    """There is a function of two arguments with this property."""
    opened = Converter().formula(body)
    return T.quantified("exists", "tensor", T.abstract_tensor(opened, name, 2), arity=2)


# ---------------------------------------------------------------------- moves


def each_component(
    p: Prover, goal: Any, case: Callable[[Term, int, Term], Theorem], reason: str = ""
) -> Theorem:
    """For all components: ``case(i, parity, goal at 2i + parity)`` proves either parity."""
    theorem = p.each_block(goal, r, 2, case, p.hyp(0))
    return p.note(theorem, reason) if reason else theorem


def by_pairs(p: Prover, summed: Any) -> Theorem:
    """A sum over the components as a sum over the pairs."""
    return p.blocks(summed, r, 2, p.hyp(0))


def sin_add(x: Any, y: Any) -> sp.Expr:
    return plus(times(sin(x), cos(y)), times(cos(x), sin(y)))


def cos_add(x: Any, y: Any) -> sp.Expr:
    return minus(times(cos(x), cos(y)), times(sin(x), sin(y)))


def difference_formula(p: Prover, first: Any, second: Any) -> Theorem:
    """cos(x - y) = cos x cos y + sin x sin y for the angles of pair i."""
    x, y = angle(first), angle(second)
    return p.equal(
        cos(minus(x, y)),
        plus(times(cos(x), cos(y)), times(sin(x), sin(y))),
        p.axiom("cos-add", x, times(-1, y)),
        reason=rf"addition formula, at $A = {first}\,\omega_i$ and $B = -{second}\,\omega_i$",
    )


def summed(p: Prover, equation: Theorem) -> Theorem:
    """The equation for every pair, summed over the pairs."""
    q = equation.conclusion
    left, right = (T.total(q.children[0], side) for side in q.children[1].children)
    return p.equal(left, right, equation, show=False)


def turned(first: Any, second: Any) -> sp.Expr:
    """The angle between two positions in pair i."""
    return times(omega[i], minus(first, second))


def root(p: Prover, w: Term, q: Fraction, n: int) -> Theorem:
    """w = q for positive w and q with w^n = q^n: w - q divides the difference of the powers."""
    cofactors = (T.mul(T.power(w, n - 1 - e), T.num(q**e)) for e in range(n))
    inverse = p.cancel(T.add(*cofactors))
    return p.equal(w, q, (T.sub(T.num(q), w), inverse), show=False)


# ---------------------------------------------------------------------- twins

WIDTHS = (2, 4, 6, 64, 512)
POSITIONS = np.arange(0, 2000, 7)


def encodings(
    every: int = 7, widest: int | None = None
) -> list[tuple[int, np.ndarray, np.ndarray]]:
    """For every width up to the widest: positions below 2000 and their encodings (n, width).

    Seven meets every residue of every short period.  At the width of the base model fewer
    positions show as much.
    """
    from numeric import position_encoding

    widths = (w for w in WIDTHS if widest is None or w <= widest)
    chosen = {w: np.arange(0, 2000, every if w < 100 else 37) for w in widths}
    return [(w, positions, position_encoding(positions, w)) for w, positions in chosen.items()]


def offsets(rng: np.random.Generator) -> list[float]:
    return [0.0, 37.0, -250.0, float(rng.uniform(-99, 99))]
