"""The sigmoid 1/(1 + e^-z) and its reflection, which claims about activations share."""

from __future__ import annotations

from typing import Any

from derive.claims._softmax import exp
from derive.kernel.rules import Theorem
from derive.language import plus, power, real, times
from derive.prover import Prover


def sigmoid(z: Any) -> Any:
    return power(plus(1, exp(times(-1, z))), -1)


def reflection(p: Prover) -> Theorem:
    """For all z: e^-z sigma(z) = sigma(-z)."""
    z = real("z")
    here, there = plus(1, exp(times(-1, z))), plus(1, exp(z))
    law = p.equal(
        times(exp(times(-1, z)), power(here, -1)), power(there, -1),
        (times(-1, exp(times(-1, z)), power(here, -1)), p.cancel(there)),
        (power(there, -1), p.cancel(here)), show=False,
    )  # fmt: skip
    return p.for_all(law, z)
