"""Files of claims as a user would write them, and what else the tests of the program share."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

HEAD = """\
import time
from pathlib import Path

import sympy as sp

from derive.claim import Added, Claim, Correction, Example, Given
from derive.language import dims, divides, equal, less, over, plus, times
from derive.result import Source, Verdict
from derive.twin import Trial, Twin
from derive.twin import equal as agree

d, h, n = dims("d_model h n")
NOTE = "my note.txt"
SAME = equal(plus(n, d), plus(d, n))


def twin(rng):
    a, b = rng.standard_normal(5), rng.standard_normal(5)
    return [agree(a * b, b * a, "products")]


def claim(name, statement, expected=Verdict.PROVED, places=("A1",), **more):
    more = {"twin": Twin("two products", twin), "title": "About " + name} | more
    source = Source(NOTE, places, "What the note says of $n$.")
    return Claim(
        id="mine/" + name, source=source, statement=statement, expected=expected, **more
    )


"""

#: One claim of each verdict that can be expected, all of them as expected.
GOOD = (
    HEAD
    + """\
COMMUTES = claim("commutes", equal(times(n, d), times(d, n)), title="Sizes commute: $n d = d n$")
FLOOR = claim(
    "floor",
    equal(times(h, sp.floor(d / h)), d),
    Verdict.CONDITIONAL,
    added=(Added(divides(h, d), Example({d: 10, h: 3}), "left out"),),
    witness=Example({d: 12, h: 4}),
    places=("A10", "A2"),
)
SUCCESSOR = claim(
    "successor",
    equal(plus(n, 1), n),
    Verdict.REFUTED,
    given=(Given(less(0, n), "said there"),),
    counterexample=Example({n: 3}),
    correction=Correction(equal(plus(n, 1), plus(1, n))),
    remark="Off by one.",
)
STORY = claim("story", None, Verdict.NOT_MATHEMATICAL, reason="a metaphor", twin=None)
CLAIMS = (COMMUTES, FLOOR, SUCCESSOR, STORY)
"""
)

#: A false claim that its author expects to be proved.
UNEXPECTED = HEAD + 'CLAIMS = (claim("wrong", equal(plus(n, 1), n)), claim("right", SAME))\n'

#: A true claim whose twin computes something else.
DISAGREEING = (
    HEAD
    + """\
def bad(rng):
    return [agree(2.001, 2.0, "two")]


CLAIMS = (claim("planted", SAME, twin=Twin("a planted error", bad)),)
"""
)

#: A proof that takes longer than anyone waits, between two that do not.
SLOW = (
    HEAD
    + """\
def slow(prover):
    Path(__file__).with_suffix(".started").touch()
    try:
        time.sleep(60)
    except Exception:
        pass
    return prover.equal(*SAME.args)


CLAIMS = (
    claim("first", SAME),
    claim("slow", SAME, proof=slow),
    claim("last", SAME),
)
"""
)

#: Scripts that raise, and one that ends the process.
RAISING = (
    HEAD
    + """\
def raising(prover):
    return 1 // 0


def leaving(prover):
    raise SystemExit(3)


def bad_twin(rng):
    yield Trial(0.0)
    raise RuntimeError("no\\nnumbers")


CLAIMS = (
    claim("raising", SAME, proof=raising),
    claim("leaving", SAME, proof=leaving),
    claim("twin", SAME, twin=Twin("a twin that raises", bad_twin)),
    claim("fine", SAME),
)
"""
)


def write(folder: Path, text: str, name: str = "mine.py") -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def environment(**changes: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if k not in {"NO_COLOR", "PYTHONIOENCODING"}}
    return kept | {"PYTHONPATH": str(ROOT)} | changes


def derive(*args: str, cwd: Path, **changes: str) -> subprocess.CompletedProcess[bytes]:
    """Run the program in a process of its own, in another folder than its sources."""
    return subprocess.run(
        [sys.executable, "-m", "derive", *args],
        cwd=cwd, env=environment(**changes), capture_output=True, timeout=120, check=False,
    )  # fmt: skip
