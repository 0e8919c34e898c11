"""Powers with a symbolic natural exponent, of bases of any sign, as users write them."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import sympy as sp
from verdicts import assert_settled

from derive import equal_factors, power_laws
from derive.catalogue import load_file
from derive.claim import Claim
from derive.convert import Converter
from derive.kernel import terms as T
from derive.kernel.normal import Normaliser, literal
from derive.kernel.rules import Theorem, evaluate
from derive.kernel.terms import Term
from derive.language import (
    dims,
    equal,
    forall,
    implies,
    index,
    integer,
    less,
    natural,
    positive,
    power,
    product,
    real,
    times,
    total,
)  # fmt: skip
from derive.latex import latex
from derive.result import Verdict
from derive.verify import settle

HEAD = """\
import sympy as sp
from sympy import Abs, exp, log

from derive.claim import Claim, Given
from derive.language import *
from derive.result import Source, Verdict

n, m = dims("n m")
k, l, t = map(natural, "klt")
a, b, c, g, r, x, y = map(real, "abcgrxy")
p = integer("p")
i = index("i", n)
q = tensor("q", n)
v, w = sequence("v"), sequence("w")


def claim(name, statement, *given):
    source = Source("note", ("1",), name)
    return Claim(id="mine/" + name, title=name, source=source, statement=statement,
                 given=tuple(map(Given, given)), expected=Verdict.PROVED)


def layers(value):
    return forall(l, equal(v[l + 1], value))


"""

#: name: statement and hypotheses
TRUE = {
    # laws of powers
    "next": "equal(x**(k + 1), x * x**k)",
    "next-of-a-size": "equal(x**n, x * x**(n - 1))",
    "sum": "equal(x**(k + l), x**k * x**l)",
    "sum-of-sizes": "equal(x**(m + n), x**m * x**n)",
    "for-all": "forall([x, k, l], equal(x**(k + l), x**k * x**l))",
    "product": "equal((x * y)**k, x**k * y**k)",
    "tower": "equal((x**k)**l, x**(k * l))",
    "tower-of-sizes": "equal((x**m)**n, (x**n)**m)",
    "even": "equal((-x)**(2 * k), x**(2 * k))",
    "odd": "equal((-x)**(2 * k + 1), -x**(2 * k + 1))",
    "sign": "equal((-1)**(2 * k), 1)",
    "number": "equal((-2 * x)**k, (-1)**k * 2**k * x**k)",
    "inverse": "equal((1 / x)**k, 1 / x**k), negation(equal(x, 0))",
    "quotient": "equal((x / y)**k, x**k / y**k), negation(equal(y, 0))",
    "difference": "equal(x**(k + l) / x**l, x**k), negation(equal(x, 0))",
    "nothing": "equal(x**k, 1), equal(k, 0)",
    "power-of-0": "equal(power(0, n), 0)",
    "power-of-1": "equal(power(1, k), 1)",
    "explicit": "equal(sp.Product(x, (p, 0, k)), x**(k + 1))",
    "not-0": "negation(equal(x**k, 0)), negation(equal(x, 0))",
    "whole": "IsInteger(p**k)",
    "turns": "equal(sp.cos(k * sp.pi), power(-1, k))",
    # sums
    "geometric": "equal((1 - r) * total(r**i, i), 1 - r**n)",
    "geometric-from-0": "equal((1 - r) * sp.Sum(r**p, (p, 0, k - 1)), 1 - r**k)",
    "geometric-quotient": "equal(total(r**i, i), (1 - r**n) / (1 - r)), negation(equal(r, 1))",
    "shifted": "equal(sp.Sum(r**p, (p, 0, n)), 1 + r * total(r**i, i))",
    "factors": "equal(x**n - y**n, (x - y) * total(x**i * y**(n - 1 - i), i))",
    "arithmetic-geometric": "equal((1 - r)**2 * total(i * r**i, i),"
    " r - n * r**n + (n - 1) * r**(n + 1))",
    "entries": "equal(total((x * q[i])**(2 * k), i), x**(2 * k) * total(q[i]**(2 * k), i))",
    # optimisers
    "moving-average": "equal((1 - b) * total(b**(n - 1 - i) * g, i), (1 - b**n) * g)",
    "moving-average-from-0": "equal((1 - b) * sp.Sum(b**(t - 1 - p) * g, (p, 0, t - 1)),"
    " (1 - b**t) * g)",
    "bias-corrected": "equal((1 - b) * total(b**(n - 1 - i) * g, i) / (1 - b**n), g),"
    " less(Abs(b), 1)",
    "bias-corrected-between": "equal((1 - b) * total(b**(n - 1 - i) * g, i) / (1 - b**n), g),"
    " less(-1, b), less(b, 1)",
    "by-steps": "equal(v[t] / (1 - b**t), g), equal(v[0], 0),"
    " layers(b * v[l] + (1 - b) * g), negation(equal(b**t, 1))",
    "momentum": "equal(v[t], sp.Sum(b**(t - 1 - p) * w[p], (p, 0, t - 1))), equal(v[0], 0),"
    " layers(b * v[l] + w[l])",
    "weights": "equal(b**n + (1 - b) * total(b**(n - 1 - i), i), 1)",
    # stacks of residual blocks
    "growth": "forall(t, equal(v[t], (1 + a)**t * v[0])), layers((1 + a) * v[l])",
    "growth-of-sizes": "equal(Abs(v[t]), Abs(1 + a)**t * Abs(v[0])), layers((1 + a) * v[l])",
    "growth-bound": "at_most(Abs(v[t]), c**t * Abs(v[0])), at_most(0, c),"
    " forall(l, at_most(Abs(v[l + 1]), c * Abs(v[l])))",
    "no-shrinking": "at_most(1, (1 + a)**t), at_most(0, a)",
    # order
    "not-negative": "at_most(0, x**k), at_most(0, x)",
    "even-not-negative": "at_most(0, x**(2 * k))",
    "even-by-hypothesis": "at_most(0, x**k), equal(k, 2 * l)",
    "absolute": "equal(Abs(x**k), Abs(x)**k)",
    "absolute-even": "equal(Abs(1 + x)**(2 * k), (1 + x)**(2 * k))",
    "at-most-1": "at_most(Abs(x)**k, 1), at_most(Abs(x), 1)",
    "less-than-1": "less(x**n, 1), less(-1, x), less(x, 1)",
    "falling": "at_most(x**(k + l), x**k), at_most(0, x), at_most(x, 1)",
    "growing": "at_most(x**k, y**k), at_most(0, x), at_most(x, y)",
    "bernoulli": "at_most(1 + n * x, (1 + x)**n), at_most(-1, x)",
    "rising": "less(x**k, x**(k + 1)), less(1, x)",
    "nothing-else": "iff(equal(x**n, 0), equal(x, 0))",
    # of entries, from what is known of all
    "entries-not-negative": "at_most(0, total(q[i]**k, i)), forall(i, at_most(0, q[i]))",
    "entries-at-most-1": "at_most(total(q[i]**k, i), n),"
    " forall(i, both(at_most(0, q[i]), at_most(q[i], 1)))",
    "logarithms": "equal(total(log(q[i]**k), i), k * total(log(q[i]), i)),"
    " forall(i, less(0, q[i]))",
    "logarithm": "equal(log(x**n), n * log(x)), less(1, x)",
    "exponential": "equal((1 - b)**k, exp(k * log(1 - b))), less(b, 1)",
    "sums-at-least": "at_most(n, total(x**i, i)), at_most(1, x)",
    # gradient descent on a quadratic function
    "descent": "equal(v[t] - y, (1 - a * g)**t * (v[0] - y)), layers(v[l] - a * g * (v[l] - y))",
    "contraction": "at_most(Abs(v[t] - y), c**t * Abs(v[0] - y)), at_most(0, c),"
    " forall(l, at_most(Abs(v[l + 1] - y), c * Abs(v[l] - y)))",
}
FALSE = {
    "next": "equal(x**(k + 1), x**k)",
    "sum": "equal(x**(m + n), x**m + x**n)",
    "tower": "equal((x**k)**l, x**(k + l))",
    "binomial": "equal((x + y)**k, x**k + y**k)",
    "sign": "equal((-x)**k, -x**k)",
    "not-negative": "at_most(0, x**k)",
    "odd": "at_most(0, x**k), equal(k, 2 * l + 1)",
    "even-positive": "less(0, x**(2 * k))",
    "power-of-0": "equal(power(0, k), 0)",
    "negative-exponent": "equal(x**(k - 1) * x, x**k)",
    "difference": "equal(x**(k + l) / x**l, x**k)",
    "geometric": "equal((1 - r) * total(r**i, i), 1 - r**(n + 1))",
    "geometric-quotient": "equal(total(r**i, i), (1 - r**n) / (1 - r))",
    "moving-average": "equal((1 - b) * total(b**(n - i) * g, i), (1 - b**n) * g)",
    "weights": "equal(total((1 - b) * b**(n - 1 - i), i), 1)",
    "not-corrected": "equal(v[t], g), equal(v[0], 0), layers(b * v[l] + (1 - b) * g)",
    "corrected-too-often": "equal(v[n] / (1 - b**n), g), equal(v[0], 0),"
    " layers(b * v[l] + (1 - b) * g), less(b, 1)",
    "wrong-start": "equal(v[t], (1 - b**t) * g), equal(v[0], g), layers(b * v[l] + (1 - b) * g)",
    "growth": "equal(v[t], (1 + a * t) * v[0]), layers((1 + a) * v[l])",
    "absolute": "equal(Abs(x)**k, x**k)",
    "less-than-1": "less(Abs(x)**k, 1), less(Abs(x), 1)",
    "growing": "at_most(x**k, y**k), at_most(x, y)",
    "bernoulli": "at_most(1 + n * x, (1 + x)**n)",
    "nothing-else": "iff(equal(x**k, 0), equal(x, 0))",
    "rising": "less(x**k, x**(k + 1)), at_most(1, x)",
    "entries": "at_most(0, total(q[i]**k, i))",
    "logarithm": "equal(log(x**(2 * n)), 2 * n * log(x)), negation(equal(x, 0))",
    "contraction": "at_most(Abs(v[t] - y), c**t * Abs(v[0] - y)), layers(c * (v[l] - y) + y)",
}
#: False as well; no counterexample is found.
OPEN = {
    "momentum": "equal(v[t], sp.Sum(b**(t - p) * w[p], (p, 0, t - 1))), equal(v[0], 0),"
    " layers(b * v[l] + w[l])",
    "contraction": "at_most(Abs(v[t] - y), c**t * Abs(v[0] - y)),"
    " forall(l, equal(v[l + 1] - y, c * (v[l] - y)))",
}


@pytest.fixture(scope="module")
def claims(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Claim]:
    path: Path = tmp_path_factory.mktemp("powers") / "mine.py"
    kinds = {"true": TRUE, "false": FALSE, "open": OPEN}
    lines = [
        f'    claim("{kind}-{name}", {said}),\n'
        for kind in kinds
        for name, said in kinds[kind].items()
    ]
    path.write_text(HEAD + "CLAIMS = [\n" + "".join(lines) + "]\n", encoding="utf-8")
    return {c.id.removeprefix("mine/"): c for c in load_file(str(path))}


@pytest.mark.parametrize("name", TRUE)
def test_true_statements_are_proved(claims: dict[str, Claim], name: str) -> None:
    assert_settled(settle(claims[f"true-{name}"]), Verdict.PROVED)


@pytest.mark.parametrize("name", FALSE)
def test_false_statements_are_refuted(claims: dict[str, Claim], name: str) -> None:
    assert_settled(settle(claims[f"false-{name}"]), Verdict.REFUTED)


@pytest.mark.parametrize("name", OPEN)
def test_other_false_statements_are_not_proved(claims: dict[str, Claim], name: str) -> None:
    assert settle(claims[f"open-{name}"]).result.verdict is not Verdict.PROVED


def test_a_first_value_that_was_chosen_is_told(claims: dict[str, Claim]) -> None:
    chosen = settle(claims["false-growth"]).result.counterexamples[0].values
    assert chosen["v_{0}"] == "1"
    given = settle(claims["false-not-corrected"]).result.counterexamples[0].values
    assert not any(name.startswith("v") for name in given)


# ---------------------------------------------------------------------------- the reading

n, m = dims("n m")
k, l = natural("k"), natural("l")
x, y = real("x"), real("y")
u, z, w = positive("u"), integer("z"), integer("w")
i = index("i", n)


def operations(e: Any, converter: Converter | None = None) -> set[str]:
    t = (converter or Converter()).term(e)
    return {"product" if equal_factors.is_power(s) else s.data for s in T.subterms(t)
            if s.op == "prod" or (s.op == "fn" and s.data == "rpow")}  # fmt: skip


@pytest.mark.parametrize(
    "exponent",
    [k, n, k + 1, n - 1, 2 * k, k * l, m * n - 1, i, n - 1 - i, sp.Max(k, 3), sp.floor(k / 2)],
    ids=str,
)
def test_natural_exponents_count_factors(exponent: Any) -> None:
    assert operations(power(x, exponent)) == {"product"}


@pytest.mark.parametrize(
    "exponent",
    [
        z,
        k - 1,
        n - 2,
        1 - k,
        k - l,
        n - i - 2,
        i - 1,
        k / 2,
        sp.Rational(1, 3),
        sp.floor(-k / 2),
        y,
    ],
    ids=str,
)
def test_other_exponents_do_not(exponent: Any) -> None:
    assert operations(power(x, exponent)) == {"rpow"}


def test_opposites_of_natural_exponents_divide() -> None:
    for exponent in (-k, 1 - n, -2 * k - 1):
        t = Converter().term(power(x, exponent))
        assert (t.op, t.data) == ("pow", -1)
        assert equal_factors.is_power(t.children[0])


def test_exponents_within_sums() -> None:
    p = integer("p")
    assert operations(sp.Sum(x ** (k - 1 - p), (p, 0, k - 1))) == {"product"}
    assert operations(sp.Sum(x ** (p - 1), (p, 1, k))) == {"product"}
    assert operations(sp.Sum(x ** (k - 1 - p), (p, 0, k))) == {"rpow"}
    assert operations(sp.Sum(x ** (p - 1), (p, 0, k))) == {"rpow"}


@pytest.mark.parametrize("base", [u, n, sp.Integer(2), 1 + u, u / n, sp.exp(x)], ids=str)
def test_positive_bases_have_real_powers(base: Any) -> None:
    assert operations(power(base, k)) <= {"rpow"}


@pytest.mark.parametrize("base", [x, k, z, sp.Integer(-2), 1 - u, x**2, sp.Abs(x)], ids=str)
def test_bases_of_any_sign_are_multiplied(base: Any) -> None:
    assert operations(power(base, k)) == {"product"}


def test_a_base_that_is_said_to_be_positive_keeps_the_form_of_its_powers() -> None:
    after, before = Converter(), Converter()
    after.formula(less(0, x))
    assert operations(x**k, after) == {"rpow"}
    assert operations(x**k, before) == {"product"}
    before.formula(less(0, x))
    assert operations(2 * x**k, before) == {"product"}


def test_positive_variables_of_quantifiers() -> None:
    said = Converter().formula(forall(u, implies(less(1, u), less(1, u**k))))
    assert not any(t.op == "prod" for t in T.subterms(said))


@pytest.mark.parametrize("base", [-2, -1, 0, Fraction(1, 3), 4])
@pytest.mark.parametrize("exponent", [k, k + 1, 2 * k, k * l, k * (k + 1)], ids=str)
def test_the_value_is_that_of_the_power(base: Any, exponent: Any) -> None:
    t = Converter().term(power(x, exponent))
    for first in range(4):
        values = {T.var("x"): T.num(base), T.var("k", "nat"): T.num(first),
                  T.var("l", "nat"): T.num(3)}  # fmt: skip
        expected = Fraction(base) ** int(exponent.subs({k: first, l: 3}))
        assert literal(Normaliser().poly(T.substitute(t, values))) == expected


@pytest.mark.parametrize(
    ("e", "text"),
    [
        (x**k, "x^{k}"),
        (power(times(x, y), k), r"(x\,y)^{k}"),
        (power(power(x, k), l), "(x^{k})^{l}"),
        (power(-x, k + 1), "(-x)^{k+1}"),
        (x**k * y, r"y\,x^{k}"),
        (y / x**k, r"\frac{y}{x^{k}}"),
        (product(times(x, i), i), r"\prod_{t=0}^{n-1} x\,t"),
        (sp.Product(x, (z, 1, k)), "x^{k}"),
        (sp.Product(x, (z, 1, k - 1)), r"\prod_{i=0}^{k-2} x"),  # k - 1 may be no number of factors
        (power(sp.Product(x, (z, 1, k - 1)), 2), r"\left(\prod_{i=0}^{k-2} x\right)^{2}"),
        (sp.Sum(x ** (k - z), (z, 0, k)), r"\sum_{i=0}^{k} x^{k-i}"),
        (
            sp.Sum(sp.Product(x, (z, 0, k - w)), (w, 0, k + 2)),
            r"\sum_{i=0}^{k+2} \;\prod_{j=0}^{k-i} x",
        ),
    ],
    ids=str,
)
def test_print(e: Any, text: str) -> None:
    assert latex(Converter().term(e)) == text


def test_sums_of_powers_print_the_powers() -> None:
    shown = latex(Converter().formula(equal((1 - x) * total(x**i, i), 1 - x**n)))
    assert shown == r"(1-x)\,\sum_{t=0}^{n-1} x^{t} = 1-x^{n}"


# ---------------------------------------------------------------------------- the laws

LAWS: list[Callable[[], Theorem]] = [
    power_laws.of_sum, power_laws.of_product, power_laws.of_power, power_laws.of_inverse,
    power_laws.of_absolute, power_laws.of_one, power_laws.of_positive, power_laws.not_negative,
    power_laws.not_zero, power_laws.growing, power_laws.growing_strictly,
]  # fmt: skip
NUMBERS = [Fraction(-2), Fraction(-1), Fraction(0), Fraction(1, 2), Fraction(1), Fraction(3)]


def instances(law: Term) -> list[Term]:
    if law.op != "forall":
        return [law]
    values = NUMBERS if law.data[0] == "real" else [Fraction(q) for q in range(3)]
    return [t for q in values for t in instances(T.instantiate(law.children[-1], (T.num(q),)))]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_laws_hold_at_numbers(law: Callable[[], Theorem]) -> None:
    theorem = law()
    assert not theorem.hypotheses
    tested = [evaluate(p, Normaliser()) for p in instances(theorem.conclusion)]
    assert False not in tested
    assert tested.count(True) > 10 or law is power_laws.of_one
