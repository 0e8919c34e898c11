"""How formulas are printed: signs beside quantifiers, functions of a real number."""

import sympy as sp

from derive.convert import Converter
from derive.kernel import terms as T
from derive.language import (
    dim,
    equal,
    exists,
    forall,
    implies,
    index,
    less,
    natural,
    positive,
    real,
    tensor,
    times,
    total,
)
from derive.latex import latex

x, y = real("x"), real("y")
e = positive("e")


def printed(formula):
    return latex(Converter().formula(formula))


def test_a_sign_stands_beside_its_quantifier():
    assert printed(forall(e, equal(e, y))) == r"\forall x > 0:\ x = y"
    assert printed(exists(e, equal(e, y))) == r"\exists x > 0:\ x = y"


def test_other_premises_stay():
    assert r"\in \mathbb{R}:\ y < " in printed(forall(x, implies(less(y, x), equal(x, x))))
    assert r"\in \mathbb{R}:\ 0 < y" in printed(forall(x, implies(less(0, y), equal(x, y))))


def test_a_function_of_a_real_number_has_parentheses():
    g = sp.Function("g")
    assert printed(equal(g(x), g(-x))) == "g(x) = g(-x)"
    every = T.quantified("forall", "tensor", T.abstract_tensor(
        Converter().formula(equal(g(x), 0)), "g", 1), arity=1)  # fmt: skip
    assert latex(every) == r"\forall g:\ g(x) = 0"


def test_an_index_stands_below():
    n = dim("n")
    i, z, l = index("i", n), tensor("z", n), natural("l")
    assert printed(equal(total(times(2, z[i]), i), sp.Function("f")(l))) == (
        r"\sum_{t=0}^{n-1} 2\,z_{t} = f_{l}"
    )
