"""Formulas of a user's file are settled as they are written, not as SymPy evaluates them."""

from __future__ import annotations

from typing import Any

import cli_samples as samples
import pytest

from derive import verbatim
from derive.catalogue import load_file
from derive.result import Verdict
from derive.verify import settle, statement_latex

HEAD = """\
import functools
import math
import operator

import sympy as sp
from sympy import Mod, ceiling, exp, floor, log, sqrt

from derive.claim import Claim, Example, Given
from derive.language import dims, equal, index, integer, less, real, tensor, total
from derive.result import Source, Verdict

n, h, m = dims("n h m")
x, y = real("x"), real("y")
k = integer("k")
i = index("i", n)
z = tensor("z", n)


def claim(name, statement, *given, expected=Verdict.PROVED, **more):
    hypotheses = tuple(map(Given, given))
    return Claim(id="mine/" + name, title=name, source=Source("note", ("1",), name),
                 statement=statement, given=hypotheses, expected=expected, **more)


"""

FALSE = {
    "square": "exp(2 * log(x)) == x**2",
    "root": "sqrt(x) ** 2 + y == x + y",
    "quotient": "(x - 1) * (x + 1) / (x - 1) == x + 1",
    "factor": "x / y * y + 1 == x + 1",
    "size": "h * x * (n - 1) / (n - 1) == h * x",
    "entries": "total(z[i] / z[i], i) == n",
    "power": "(x**-1) ** -1 * y == x * y",
    "difference": "1 / x - 1 / x + y == y",
    "sum": "sum([1 / x, -1 / x, y]) + 1 == y + 1",
    "product": "math.prod([x, 1 / x, y]) + 1 == y + 1",
    "operator": "functools.reduce(operator.mul, [x, 1 / x, y]) + 1 == y + 1",
    "simplified": "sp.simplify(x**2 / x) + 1 == x + 1",
    "expanded": "((x + 1) / y * y).expand() == x + 1",
}
TRUE = {
    "remainders": "Mod(8 * Mod(floor(k / 64), 4), 64) == 8 * Mod(floor(k / 64), 4)",
    "slopes": "(2 ** (-8 / h)) ** h == sp.Rational(1, 256)",
    "padding": "m * ceiling(m * ceiling(k / m) / m) == m * ceiling(k / m)",
    "bits": "log(x**2 + 1, 2) * log(2) == log(1 + x**2)",
    "rounded-up": "ceiling(x) == -floor(-x)",
    "order": "x * y == y * x",
    "count": "6 * n * h == 2 * n * h + 2 * (2 * n * h)",
}


def loaded(tmp_path: Any, text: str) -> dict[str, Any]:
    claims = load_file(samples.write(tmp_path, HEAD + text))
    return {c.id.partition("/")[2]: c for c in claims}


def stated(cases: dict[str, str]) -> str:
    sides = ((name, *formula.split(" == ")) for name, formula in cases.items())
    return "CLAIMS = [\n" + "".join(
        f'    claim("{name}", equal({a}, {b})),\n' for name, a, b in sides
    ) + "]\n"  # fmt: skip


@pytest.mark.parametrize(
    ("cases", "verdict"), [(FALSE, Verdict.REFUTED), (TRUE, Verdict.PROVED)], ids=["false", "true"]
)
def test_claims_are_settled_as_they_are_written(tmp_path, cases, verdict):
    for name, claim in loaded(tmp_path, stated(cases)).items():
        result = settle(claim).result
        assert result.verdict is verdict, (name, result.reason)


def test_the_statement_is_shown_as_it_is_written(tmp_path):
    (claim,) = loaded(tmp_path, stated({"square": FALSE["square"]})).values()
    assert statement_latex(claim) == r"e^{2\,\log(x)} = x^{2}"


SCRIPTS = """\
CLAIMS = [
    claim("undefined", equal(exp(2 * log(x)), x**2), proof=lambda p: p.equal(x**2, x**2)),
    claim("defined", equal(exp(2 * log(x)), x**2), less(0, x),
          proof=lambda p: p.equal(x**2, x**2)),
]
"""


def test_what_a_script_proves_has_to_be_defined_as_it_is_written(tmp_path):
    claims = loaded(tmp_path, SCRIPTS)
    without = settle(claims["undefined"]).result
    assert without.verdict is Verdict.UNDECIDED
    assert "not shown to be defined as it is written" in without.reason
    assert settle(claims["defined"]).result.verdict is Verdict.PROVED


COMPUTED = """\
CLAIMS = [claim("derivative", equal(sp.diff(x**3, x), 3 * x * x)),
          claim("value", equal((x + y).subs(y, 2 * x) + x / 2, 7 * x / 2))]
"""


def test_what_sympy_computes_is_settled_too(tmp_path):
    for claim in loaded(tmp_path, COMPUTED).values():
        assert settle(claim).result.verdict is Verdict.PROVED


SAME = {
    "cancelled": "sp.cancel((x**2 - 1) / (x - 1)) == x + 1",
    "put-in": "(x * y / y).subs(y, 2) + y == x + y",
}


def test_what_is_the_same_only_as_sympy_has_computed_it_is_refused(tmp_path):
    for claim in loaded(tmp_path, stated(SAME)).values():
        result = settle(claim).result
        assert result.verdict is Verdict.UNDECIDED
        assert "SymPy evaluated it" in result.reason


ONCE = """\
import builtins
times_run = builtins.times_run = getattr(builtins, "times_run", 0) + 1
print("loading")
{again}
CLAIMS = [claim("square", equal(exp(2 * log(x)), x**2 + 0 * times_run), less(0, x))]
"""


@pytest.mark.parametrize(
    "again", ["assert times_run == 1", "if times_run > 1: raise SystemExit", "x = real('w')"]
)
def test_a_second_run_that_fails_changes_nothing(tmp_path, monkeypatch, capsys, again):
    monkeypatch.setattr("builtins.times_run", 0, raising=False)
    (claim,) = loaded(tmp_path, ONCE.format(again=again)).values()
    assert (claim.written is None) is (again[:1] != "x")
    assert capsys.readouterr() == ("", "loading\n")


PYTHON = """\
from fractions import Fraction


class Base:
    def __init__(self, *parts):
        self.parts = parts


class Derived(Base):
    def __init__(self, size):
        super().__init__(size - 1, -size)
        self.names = sorted(locals())


def sign(number):
    match number:
        case -1:
            return "minus"
        case _:
            return "another"


numbers = [1, 2, 3]
numbers[0] += 4
numbers += [5]
total_number = 0
for number in numbers:
    total_number += number * 2 ** -1
text = "a" + "b" * 2 + f"{1 / 4}"
part = Fraction(1, 2) - Fraction(1, 3)
made = Derived(n).parts[1], Derived(2).parts, Derived(2).names
signs = sign(-1), sign(1)
matrix = sp.Matrix([[x, y]]) * 2
power = x
power **= 2
float_ = 0.5 * 2
"""


def test_python_stays_what_it_is(tmp_path):
    usual: dict[str, Any] = {}
    exec(HEAD + PYTHON, usual)
    names: dict[str, Any] = {}
    verbatim.run((HEAD + PYTHON).encode(), "file.py", names)
    for name in ("numbers", "total_number", "text", "part", "made", "signs", "matrix", "power"):
        assert names[name] == usual[name], name
