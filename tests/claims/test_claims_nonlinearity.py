"""The claims about nonlinearity: verdicts, mutants, and formulas against the code."""

from __future__ import annotations

from dataclasses import replace

import pytest
import sympy as sp
from claim_checks import CONCLUDED, mutant, settle, value, verdicts

from derive.claim import Example
from derive.claims import nonlinearity as B
from derive.language import (
    both,
    equal,
    forall,
    implies,
    less,
    minus,
    negation,
    over,
    plus,
    relu,
    times,
)
from derive.result import Verdict
from numeric import leaky_relu

BY_NAME = {c.id.split("/")[1]: c for c in B.CLAIMS}
each_claim = pytest.mark.parametrize("name", BY_NAME)
F, G, x, u, alpha = B.F, B.G, B.x, B.u, B.alpha


def test_expected_verdicts():
    for name, claim in BY_NAME.items():
        assert claim.expected is (Verdict.PROVED if name == "leaky-relu" else Verdict.REFUTED)


definitions = both(*B.bent.args[1:])
wrong_sign = both(less(0, alpha), B.bent.args[1],
                  forall(u, equal(G(u), B.leaky(over(-1, alpha), u))))  # fmt: skip
MUTANTS = [
    implies(definitions, B.undone),
    implies(wrong_sign, B.undone),
    implies(B.bent, equal(G(F(x)), times(alpha, x))),
    implies(B.bent, equal(G(x), F(x))),
    implies(B.bent, equal(plus(F(x), F(B.neg(x))), times(minus(alpha, 1), B.size(x)))),
    implies(B.bent, equal(F(x), x)),
]


@pytest.mark.parametrize("statement", MUTANTS)
def test_mutants_are_not_proved(statement):
    assert not set(verdicts(mutant(B.LEAKY, statement=statement))) & set(CONCLUDED)


LINES = {
    "leaky": lambda t: B.leaky(sp.S.Half, t),
    "zero": lambda t: times(0, t),
    "identity": lambda t: t,
    "relu": relu,
}
#: which of the functions are counterexamples
BREAK = {"non-linear-only-by-loss": "leaky", "linear-without-loss": "zero"}


@pytest.mark.parametrize("line", ["leaky", "zero", "identity", "relu"])
@pytest.mark.parametrize("name", BREAK)
def test_only_what_meets_the_premise_and_breaks_the_conclusion_refutes(name, line):
    claim = BY_NAME[name]
    given = Example({B.f: B.function(LINES[line])}, claim.counterexample.proof)
    verdict = settle(replace(claim, counterexample=given)).result.verdict
    assert verdict is (Verdict.REFUTED if line == BREAK[name] else Verdict.UNDECIDED)


@pytest.mark.parametrize("statement", [
    implies(B.injective, B.additive), implies(B.additive, B.injective),
    implies(negation(B.additive), B.injective), B.additive, B.injective])  # fmt: skip
def test_neither_direction_is_proved(statement):
    claim = mutant(B.NON_LINEAR_BY_LOSS, statement=statement, proof=None)
    assert settle(claim).result.verdict not in CONCLUDED


@pytest.mark.parametrize("at", [sp.Rational(k, 2) for k in range(-5, 6)])
@pytest.mark.parametrize("slope", [sp.Rational(1, 10), sp.S.Half, 3])
def test_the_symbolic_function_is_the_one_of_the_code(at, slope):
    exact = value(B.leaky(slope, x), {x: at})
    assert float(exact) == pytest.approx(float(leaky_relu(float(at), float(slope))), abs=1e-15)
