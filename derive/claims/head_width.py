"""Head width: when is ``h * d_v`` the model width?

The derivations note sets ``d_k = d_v = d_model / h`` and uses ``h (d_model / h) = d_model``.
"""

from __future__ import annotations

import numpy as np
import sympy as sp

from derive.claim import Added, Claim, Example
from derive.claims import DERIVATIONS
from derive.kernel.rules import Theorem
from derive.language import dims, divides, equal, over, times
from derive.prover import Prover
from derive.result import Source, Verdict
from derive.twin import Trial, Twin, differs
from derive.twin import equal as agree

ORDER = 20

d, h = dims("d_model h")
floor_width = sp.floor(d / h)


# ---------------------------------------------------------------------- over the rationals


def prove_over_rationals(p: Prover) -> Theorem:
    return p.equal(times(h, over(d, h)), d, reason="a size is not zero, so the quotient cancels")


def widths(rng: np.random.Generator) -> list[tuple[int, int]]:
    """Widths and head counts that divide them, and the degenerate cases."""
    heads = rng.integers(1, 12, size=40)
    return [(int(n * w), int(n)) for n, w in zip(heads, rng.integers(1, 70, 40), strict=True)]


def twin_over_rationals(rng: np.random.Generator) -> list[Trial]:
    from numeric import head_width

    return [agree(n * head_width(w, n), w, "h * d_v") for w, n in [*widths(rng), (512, 8), (1, 1)]]


OVER_RATIONALS = Claim(
    id="head-width/over-rationals",
    title="The head widths add up to the model width",
    source=Source(
        DERIVATIONS, ("A05", "A06"),
        r"The concatenated heads have width $h\,d_v$, which is $d_{\text{model}}$ because "
        r"$h\,(d_{\text{model}}/h) = d_{\text{model}}$.",
    ),
    statement=equal(times(h, over(d, h)), d),
    proof=prove_over_rationals,
    twin=Twin("concatenated width of built weights against the model width", twin_over_rationals),
    expected=Verdict.PROVED,
)  # fmt: skip


# ---------------------------------------------------------------------- with integer division


def prove_floor(p: Prover) -> Theorem:
    """If h divides d_model, the quotient is an integer and its own floor."""
    return p.equal(
        times(h, floor_width),
        d,
        reason=r"$d_{\text{model}}/h$ is an integer, so it is its own floor",
    )


def twin_floor(rng: np.random.Generator) -> list[Trial]:
    divisible = [agree(n * (w // n), w, "h * (d // h)") for w, n in widths(rng)]
    return [*divisible, differs(8 * (100 // 8), 100, by=4, what="d=100, h=8")]


FLOOR = Claim(
    id="head-width/floor",
    title="The same with integer division",
    source=Source(
        DERIVATIONS, ("A01", "A06"),
        r"The head width $d_k = d_v = d_{\text{model}}/h$ is used as a number of columns, so the "
        r"division is one of integers.",
    ),
    statement=equal(times(h, floor_width), d),
    added=(
        Added(
            divides(h, d),
            Example({d: 10, h: 3}),
            "the note does not say that the number of heads divides the width",
        ),
    ),
    witness=Example({d: 12, h: 4}),
    proof=prove_floor,
    twin=Twin("integer division over divisors, and one pair that does not divide", twin_floor),
    expected=Verdict.CONDITIONAL,
)  # fmt: skip

CLAIMS = (OVER_RATIONALS, FLOOR)

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
