"""How formulas are printed: signs beside quantifiers, functions of a real number."""

from fractions import Fraction

import sympy as sp

from derive.convert import Converter
from derive.kernel import terms as T
from derive.language import (
    Expectation,
    at_most,
    both,
    dim,
    dims,
    equal,
    exists,
    forall,
    iff,
    implies,
    index,
    less,
    minus,
    natural,
    negation,
    over,
    positive,
    power,
    random_tensor,
    real,
    sequence,
    tensor,
    times,
    total,
    variance,
)
from derive.latex import latex, name, ranges, value

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


def test_an_equivalence_behind_an_arrow_has_parentheses():
    both_ways = iff(less(x, y), less(y, x))
    assert printed(implies(equal(x, y), both_ways)).endswith(
        r"\ \Rightarrow\  (x < y \ \Leftrightarrow\  y < x)"
    )
    assert "(" not in printed(implies(equal(x, y), implies(less(x, y), less(y, x))))


def test_brackets_stand_close():
    n = dim("n")
    i, j = index("i", n), index("j", n)
    q, k = random_tensor("q", n), random_tensor("k", n)
    assert printed(forall(i, equal(variance(q[i]), Expectation(q[i] * k[i])))) == (
        r"\forall t < n:\ \operatorname{Var}[q_{t}] = \mathbb{E}[k_{t}\,q_{t}]"
    )
    assert printed(equal(sp.KroneckerDelta(i, j + 1), x)) == "[j+1=i] = x"


def test_first_powers_and_single_factors_have_no_parentheses():
    z = T.var("z", "real")
    one_of_one = T.mul(T.mul(T.add(z, T.ONE), T.ONE), T.power(z, -1))
    assert latex(one_of_one) == r"\frac{z+1}{z}"
    assert latex(T.mul(T.num(2), T.power(T.add(z, T.ONE), 1))) == "2\\,(z+1)"


def test_a_product_has_one_sign():
    z, w, n = T.var("z", "real"), T.var("w", "real"), T.var("n", "dim")
    negative = T.mul(T.num(-1), w)
    assert latex(T.mul(z, negative)) == r"-z\,w"
    assert latex(T.mul(negative, negative)) == r"w\,w"
    assert latex(T.mul(z, T.mul(T.num(-1), T.power(w, -1)))) == r"-\frac{z}{w}"
    assert latex(T.mul(T.num(-1), T.mul(negative, z), T.power(z, -2))) == r"\frac{w\,z}{z^{2}}"
    assert latex(T.mul(z, T.add(negative, T.ONE))) == "z\\,(-w+1)"
    assert latex(T.power(negative, 2)) == "(-w)^{2}"
    opposite = T.total(n, T.mul(T.num(-1), T.apply("x", T.bound(0))))
    assert latex(opposite) == r"\sum_{t=0}^{n-1} (-x_{t})"
    several = T.mul(z, T.total(n, T.apply("x", T.bound(0))))
    assert latex(T.add(w, T.mul(T.num(-1), several))) == r"w-z\,\sum_{t=0}^{n-1} x_{t}"


def test_a_factor_one_over_x_stands_below_the_others():
    z, w = T.var("z", "real"), T.var("w", "real")
    half = T.mul(T.num(Fraction(1, 2)), T.power(z, -1))
    assert latex(T.mul(half, T.num(2), w)) == r"\frac{2\,w}{2\,z}"


def test_a_map_of_one_index_has_no_parentheses():
    a, b = T.bound(0), T.bound(1)
    assert value(T.Lam(1, T.mul(T.num(3), a))) == r"a \mapsto 3\,a"
    assert value(T.Lam(2, T.mul(a, b))) == r"(a,b) \mapsto b\,a"
    assert value(T.Lam(1, T.mul(T.ZERO, a))) == r"a \mapsto 0"


def test_a_limit_has_its_letters():
    a, u, v, w = (T.var(c, "real") for c in "auvw")
    close = T.implies(T.lt(u, v), T.lt(u, w))

    def limit(p):
        return T.forall(w, T.implies(T.lt(T.ZERO, w), T.exists(v, T.conj(T.lt(T.ZERO, v), p))))

    assert latex(limit(close)) == (
        r"\forall \epsilon > 0:\ \exists \delta > 0:\ u < \delta \ \Rightarrow\  u < \epsilon"
    )
    bracket = T.lt(T.delta(T.var("k", "int"), T.ZERO), v)
    assert latex(limit(bracket)) == r"\forall x > 0:\ \exists y > 0:\ \delta_{k,0} < y"
    small = limit(T.lt(v, T.var("epsilon", "real")))
    assert latex(small) == r"\forall x > 0:\ \exists \delta > 0:\ \delta < \epsilon"
    assert latex(T.exists(v, T.conj(T.lt(T.ZERO, v), T.lt(v, a)))) == r"\exists x > 0:\ x < a"


def test_primes_and_superscripts_share_a_place():
    assert name("W'") == "W'"
    for symbol, shown in (("W^Q'", r"W^{\prime Q}"), ("W_all^Q'", r"W_{\text{all}}^{\prime Q}")):
        assert name(symbol) == shown
    n = dim("n")
    i, w = index("i", n), tensor("W^Q'", n)
    assert printed(equal(w[i], x)) == r"W_{i}^{\prime Q} = x"


def test_the_numbers_that_a_formula_is_about() -> None:
    """The formula does not tell an integer from a real number."""
    k, size = T.var("k", "int"), T.var("d_model", "dim")
    p, q, i = T.var("q"), T.var("p"), T.var("i", "fin", size)
    x = T.apply("x", i)
    formula = T.implies(T.eq(T.add(p, q), k), T.lt(T.ZERO, T.expectation(T.mul(x, size))))
    assert ranges(formula) == (
        r"d_{\text{model}} \in \mathbb{N}_{\ge 1};\ k \in \mathbb{Z};\ "
        r"p, q \in \mathbb{R};\ i < d_{\text{model}}"
    )
    assert ranges(T.forall(k, T.eq(k, k))) == ""


def test_quotients_in_scripts_have_a_slash():
    d, k = dim("d_model"), natural("k")
    z = sequence("z")
    for exponent, script in (
        (2 * x / d, r"2\,x/d_{\text{model}}"),
        (x / (2 * d), r"x/(2\,d_{\text{model}})"),
        ((x + y) / d, r"(x+y)/d_{\text{model}}"),
        (1 / (x + y), "1/(x+y)"),
        (-sp.Rational(1, 3) * x, "-x/3"),
    ):
        assert printed(equal(power(10000, exponent), y)) == f"10000^{{{script}}} = y"
    assert printed(equal(sp.exp(x / 2), y)) == "e^{x/2} = y"
    assert printed(equal(z[sp.floor(k / 2)], y)) == (
        r"z_{\left\lfloor k/2 \right\rfloor} = y"
    )  # fmt: skip


def test_a_quotient_with_a_slash_is_one_factor():
    d = dim("d")
    for exponent, script in (
        (times(x, over(y, d)), r"x\,(y/d)"),
        (over(x, over(y, d)), "x/(y/d)"),
        (over(over(x, y), d), "(x/y)/d"),
        (power(over(x, d), 2), "(x/d)^{2}"),
        (minus(x, over(y, d)), "x-y/d"),
    ):
        assert printed(equal(power(10, exponent), y)) == f"10^{{{script}}} = y"


def test_what_reaches_to_the_right_stays_above_a_line():
    n = dim("n")
    z, i = tensor("z", n), index("i", n)
    assert printed(equal(power(2, over(total(z[i], i), n)), y)) == (
        r"2^{\frac{\sum_{t=0}^{n-1} z_{t}}{n}} = y"
    )


def test_a_bound_size_is_not_called_like_a_size_of_the_field():
    a, b, c = dims("a b c")
    text = printed(forall(a, forall(b, forall(c, at_most(a * b, a * b * c)))))
    assert text.startswith(
        r"\forall w \in \mathbb{N}_{\ge 1}:\ \forall p \in \mathbb{N}_{\ge 1}:\ \forall q \in"
    )


def test_long_softmax_weights_have_their_name():
    m, d = dims("m d")
    s, u, c = index("s", m), index("u", m), index("c", d)
    q, K, v = tensor("q", d), tensor("K", m, d), tensor("v", m)

    def score(i):
        return total(q[c] * K[i, c], c)

    weight = over(sp.exp(score(s)), total(sp.exp(score(u)), u))
    scores = r"\sum_{i=0}^{d-1} q_{i}\,K_{s\,i}"
    assert printed(forall(s, equal(weight, 2 * v[s]))) == (
        rf"\forall s < m:\ \operatorname{{softmax}}_{{s}}\left({scores}\right) = 2\,v_{{s}}"
    )
    assert r"\operatorname{softmax}_{s}" in printed(equal(total(times(weight, v[s]), s), 0))
    assert r"\operatorname{softmax}_{s}" in printed(equal(times(2, weight, v[s]), 0))


def test_the_other_factors_of_a_softmax_stay_as_they_are():
    m, d = dims("m d")
    s, u, c = index("s", m), index("u", m), index("c", d)
    q, K, v = tensor("q", d), tensor("K", m, d), tensor("v", m)
    converter = Converter()

    def term(expression):
        return converter.formula(equal(expression, 0)).children[0]

    weight, below = (
        term(times(sp.exp(total(q[c] * K[s, c], c)))),
        term(total(sp.exp(total(q[c] * K[u, c], c)), u)),
    )
    soft = r"\operatorname{softmax}_{s}\left(\sum_{i=0}^{d-1} q_{i}\,K_{s\,i}\right)"
    x, total_v, share = term(v[s]), term(total(v[u], u)), term(over(1, d))
    inverse = T.power(below, -1)
    sums = r"\sum_{u=0}^{m-1} \exp\left(\sum_{i=0}^{d-1} q_{i}\,K_{u\,i}\right)"
    for product, shown in (
        (T.mul(weight, total_v, inverse), rf"{soft}\,\sum_{{u=0}}^{{m-1}} v_{{u}}"),
        (T.mul(T.mul(weight, x), inverse), rf"{soft}\,v_{{s}}"),
        (T.mul(T.mul(weight, T.mul(x, share)), inverse), rf"{soft}\,\frac{{v_{{s}}}}{{d}}"),
        (
            T.mul(weight, T.mul(T.num(-1), T.power(below, -2), x)),
            rf"-{soft}\,\frac{{v_{{s}}}}{{{sums}}}",
        ),
        (
            T.mul(T.power(weight, 2), inverse),
            rf"\frac{{\left({latex(weight)}\right)^{{2}}}}{{{sums}}}",
        ),
    ):
        assert latex(product) == shown


def test_bounds_and_indices_are_added_up():
    size = T.add(T.add(T.var("l", "nat"), T.add(T.var("r", "nat"), T.ONE)), T.ONE)
    assert latex(T.total(size, T.ONE)) == r"\sum_{i=0}^{l+r+1} 1"
    assert (
        latex(T.total(T.add(T.add(T.var("l", "nat"), T.ZERO), T.ONE), T.ONE)) == r"\sum_{i=0}^{l} 1"
    )
    entry = T.apply("x", T.add(T.mul(T.num(2), T.ZERO), T.ONE))
    assert latex(entry) == "x_{1}"
    counted = T.add(T.add(T.var("l", "nat"), T.ONE), T.ONE)
    assert latex(T.apply("x", counted)) == "x_{l+2}"
    assert latex(T.apply("x", T.add(T.ZERO, T.var("l", "nat")))) == "x_{l}"
    assert latex(T.total(T.add(T.ZERO, T.ONE), T.apply("x", T.bound(0)))) == (
        r"\sum_{i=0}^{0} x_{i}"
    )


def test_a_power_of_a_root_has_parentheses():
    root = T.fn("sqrt", T.var("z", "real"))
    assert latex(T.power(root, 2)) == r"(\sqrt{z})^{2}"


def test_what_is_no_softmax_is_not_called_so():
    m, d = dims("m d")
    s, u, c = index("s", m), index("u", m), index("c", d)
    first, longer = index("i", m), tensor("L", m + 1, d)
    q, K = tensor("q", d), tensor("K", m, d)
    whole = index("w", m + 1)

    def score(i, keys=K):
        return total(q[c] * keys[i, c], c)

    others = (
        over(sp.exp(score(s)), total(sp.exp(2 * score(u)), u)),  # of other scores
        over(sp.exp(score(s)), total(sp.exp(score(u)), u) + 1),  # something is added
        over(sp.exp(score(s)), total(sp.exp(score(u)), u) ** 2),
        over(sp.exp(score(whole, longer)), total(sp.exp(score(first, longer)), first)),  # a part
        times(sp.exp(score(s)), total(sp.exp(score(u)), u)),
    )
    for other in others:
        assert "softmax" not in printed(equal(other, 0))
    short = tensor("z", m)
    assert "softmax" not in printed(equal(over(sp.exp(short[s]), total(sp.exp(short[u]), u)), 0))


def test_sums_with_weights_p_are_means_only_where_they_are_said_to_be_probabilities():
    n = dim("n")
    i = index("i", n)
    P, a = tensor("P", n), tensor("a", n)
    mean = equal(total(times(P[i], a[i]), i), x)
    one, positive_ones = equal(total(P[i], i), 1), forall(i, at_most(0, P[i]))
    shown = r"\mathbb{E}_{P}[a] = x"
    for premises in (both(one, positive_ones), both(positive_ones, equal(1, total(P[i], i)))):
        assert printed(implies(premises, mean)).endswith(shown)
    converter = Converter()
    assert latex(converter.formula(mean), drawn=frozenset([converter.term(n)])) == shown
    assert printed(implies(one, implies(forall(i, less(0, P[i])), mean))).endswith(shown)
    lacking = (one, positive_ones, both(equal(total(P[i], i), 2), positive_ones),
               both(one, forall(i, at_most(P[i], 0))), both(one, forall(i, at_most(0, a[i]))),
               negation(both(one, positive_ones)))  # fmt: skip
    for formula in (mean, *(implies(p, mean) for p in lacking), implies(mean, both(one, one))):
        assert r"\mathbb{E}" not in printed(formula)


def test_a_variance_is_one_in_either_order_and_means_inside_means_keep_their_law():
    n = dim("n")
    i, j = index("i", n), index("j", n)
    P, a, b = tensor("P", n), tensor("a", n), tensor("b", n)
    one, positive_ones = equal(total(P[i], i), 1), forall(i, at_most(0, P[i]))

    def shown(random):
        mean = equal(total(times(P[i], random), i), x)
        return printed(implies(both(one, positive_ones), mean))

    mean_of_a = total(times(P[j], a[j]), j)
    for deviation in (a[i] - mean_of_a, -mean_of_a + a[i]):
        for order in (deviation.args, deviation.args[::-1]):
            written = sp.Pow(sp.Add(*order, evaluate=False), 2, evaluate=False)
            assert shown(written).endswith(r"\operatorname{Var}_{P}[a] = x")
    text = shown(sp.Pow(sp.Add(b[i], -mean_of_a, evaluate=False), 2, evaluate=False))
    assert "Var" not in text
    assert text.count(r"\mathbb{E}") == text.count(r"\mathbb{E}_{P}") == 2


def test_sums_over_some_outcomes_are_no_means():
    n = dim("n")
    i, j, k = index("i", n), index("j", n), index("k", n - 1)
    P, a = tensor("P", n), tensor("a", n)
    law = both(forall(i, at_most(0, P[i])), equal(total(P[i], i), 1))
    part, mean = total(times(P[k], a[k]), k), total(times(P[i], a[i]), i)
    whole = printed(implies(law, equal(part + P[n - 1] * a[n - 1], mean)))
    assert r"\sum_{t=0}^{n-2} P_{t}\,a_{t}" in whole
    assert whole.endswith(r"= \mathbb{E}_{P}[a]")
    assert whole.count(r"\mathbb{E}") == 1
    spread = total(times(P[i], (a[i] - part) ** 2), i)
    assert "Var" not in printed(implies(law, equal(spread, x)))
    # a_j is the value at one outcome, and no component of the random a
    product = printed(implies(law, equal(total(times(P[i], a[i], a[j]), i), times(a[j], mean))))
    assert product.count(r"\mathbb{E}") == 1
