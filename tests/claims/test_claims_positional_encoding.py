"""Position encoding: verdicts, replay, twins, mutants, and agreement with the NumPy encoding."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
from claim_checks import CONCLUDED, mutant, settle, verdicts, without

import numeric
from derive import counterexample
from derive.claim import Example, Given
from derive.claims import _positions as P
from derive.claims import positional_encoding as E
from derive.claims import positional_shift as S
from derive.claims import positional_uniqueness as U
from derive.claims._positions import (
    COSINES,
    ENCODING,
    FREQUENCIES,
    PAIRS,
    PE,
    SINES,
    a,
    angle,
    b,
    cos,
    cos_add,
    cosine,
    d,
    i,
    j,
    k,
    l,
    omega,
    other,
    pos,
    r,
    sin,
    sin_add,
    sine,
    stretch,
    turned,
)
from derive.convert import Converter
from derive.definitions import complete
from derive.kernel import terms as T
from derive.kernel.terms import Lam, Term
from derive.language import (
    ForAll,
    at_most,
    both,
    determinant,
    divides,
    either,
    equal,
    exists,
    forall,
    implies,
    less,
    minus,
    over,
    plus,
    power,
    times,
    total,
)
from derive.result import TwinStatus, Verdict

CLAIMS = (*E.CLAIMS, *U.CLAIMS, *S.CLAIMS)
BY_NAME = {x.id.split("/")[1]: x for x in CLAIMS}
TRIVIAL = Given(equal(0, 0))


# ---------------------------------------------------------------------- every claim


def test_verdicts_other_than_proved():
    kinds = {n: x.expected.value for n, x in BY_NAME.items() if x.expected is not Verdict.PROVED}
    assert kinds == {
        "partition": "conditional",
        "unique-on-reals": "refuted",
        "unique-on-reals-width-4": "refuted",
        "unique-on-reals-width-8": "refuted",
        "unique-by-cosines": "refuted",
        "rotation-transposed": "refuted",
        "odd-width": "refuted",
    }
    assert {x.topic for x in CLAIMS} == {"positional-encoding"}
    assert {p for x in CLAIMS for p in x.source.places} == {"A15", "A16", "A17", "A18", "A19"}


def used(name):
    """Which of the claim's hypotheses its proof uses."""
    return [h.used for h in settle(BY_NAME[name]).result.hypotheses]


def test_what_the_frequencies_matter_for():
    """In the order of `ENCODING`: an even width, the frequencies, the sines, the cosines."""
    assert used("rotation") == [False, False, True, True]
    assert (
        used("linear-shift") == used("norm") == used("inner-product") == [True, False, True, True]
    )
    assert used("unique") == [True, True, True, True]
    assert used("unique-by-sines") == [False, True, True, False]
    assert used("rotation-only") == [False, True, True, True]
    assert used("components") == [True, True, True, True]
    assert all(all(used(name)) for name in ("composition", "orthogonal", "determinant"))


def axioms(name):
    return {x.name for x in settle(BY_NAME[name]).result.axioms}


def test_what_is_assumed():
    frequency = {"real-power", "exp-sign"}  # 10000^(2i/d) is not 0
    assert axioms("rotation") == {"sin-add", "cos-add"} | frequency
    assert axioms("norm") == {"pythagoras"} | frequency
    halves = {"remainder", "floor-shift", "floor-unit"}  # a position in the row is 2i or 2i + 1
    assert axioms("linear-shift") == {"sin-add", "cos-add"} | frequency | halves
    assert axioms("components") == {"exp-add"} | frequency | halves
    assert axioms("composition") == {"sin-add", "cos-add"}
    assert {"cos-one", "pi-irrational"} < axioms("unique")
    assert {"det-product", "det-transpose", "det-identity"} < axioms("determinant")
    irrational = {n for n in BY_NAME if "pi-irrational" in axioms(n)}
    assert irrational == {"unique", "unique-on-reals", "unique-by-sines", "unique-by-cosines"}


def test_counterexamples_are_exact():
    def shown(name):
        (found,) = settle(BY_NAME[name]).result.counterexamples
        return found.values

    assert shown("partition") == {r"d_{\text{model}}": "3"}
    assert shown("unique-on-reals") | {"p": "0", "q": r"2\,\pi"} == shown("unique-on-reals")
    assert shown("unique-on-reals-width-4")["q"] == r"200\,\pi"
    assert shown("unique-on-reals-width-8")["q"] == r"2000\,\pi"
    assert shown("rotation-transposed")["k"] == r"\frac{\pi}{2}"


# ---------------------------------------------------------------------- mutants

shifted, step, M = S.shifted, S.step, S.M
m, n = U.m, U.n
pair = E.pair


def given(claim, **replaced):
    """The claim's hypotheses with other formulas in place of those named."""
    names = {"pairs": PAIRS, "frequencies": FREQUENCIES, "sines": SINES, "cosines": COSINES}
    return tuple(
        next((Given(f) for key, f in replaced.items() if names[key] is h), h) for h in claim.given
    )


def of_pair(even, odd):
    """Definitions of the even and odd components."""
    return {
        "sines": forall([pos, i], equal(sine(pos, i), even)),
        "cosines": forall([pos, i], equal(cosine(pos, i), odd)),
    }


def turn(upper_cos, upper_sin, lower_sin, lower_cos):
    """A rotation with these entries."""
    return both(
        equal(
            sine(shifted, i), plus(times(upper_cos, sine(pos, i)), times(upper_sin, cosine(pos, i)))
        ),
        equal(
            cosine(shifted, i),
            plus(times(lower_sin, sine(pos, i)), times(lower_cos, cosine(pos, i))),
        ),
    )


minus_sin = times(-1, sin(step))
rational = forall(i, equal(omega[i], over(2 * sp.pi, power(10, i))))

REFUTED = {
    "components: the opposite cosine": mutant(
        E.COMPONENTS, given=(*E.COMPONENTS.given[:3], Given(
            forall([pos, i], equal(cosine(pos, i), times(-1, cos(over(pos, stretch(i))))))))
    ),
    "range: at most one half": mutant(E.RANGE, statement=at_most(PE(pos, a), over(1, 2))),
    "range: less than one": mutant(E.RANGE, statement=less(PE(pos, a), 1)),
    "range: not negative": mutant(E.RANGE, statement=at_most(0, PE(pos, a))),
    "origin: sine and cosine exchanged": mutant(
        E.ORIGIN, statement=forall(i, both(equal(sine(0, i), 1), equal(cosine(0, i), 0)))
    ),
    "origin: all zero": mutant(E.ORIGIN, statement=equal(PE(0, a), 0)),
    "norm: not squared": mutant(E.NORM, statement=equal(total(PE(pos, a), a), over(d, 2))),
    "norm: sines only": mutant(
        E.NORM, statement=equal(total(power(sine(pos, i), 2), i), over(d, 2))
    ),
    "norm: one pair more": mutant(E.NORM, statement=equal(E.squared_norm(pos), plus(r, 1))),
    "inner: sines": mutant(
        E.INNER, statement=equal(E.inner(pos, other), total(sin(turned(pos, other)), i))
    ),
    "inner: twice": mutant(
        E.INNER, statement=equal(E.inner(pos, other), times(2, total(cos(turned(pos, other)), i)))
    ),
    "distance: twice": mutant(
        U.DISTANCE,
        statement=equal(
            U.squared_distance(pos, other),
            times(2, total(power(sin(over(turned(pos, other), 2)), 2), i)),
        ),
    ),
    # uniqueness
    "unique: frequencies that are rational multiples of pi": mutant(
        U.UNIQUE,
        given=given(U.UNIQUE, frequencies=forall(i, equal(omega[i], times(sp.pi, plus(i, 1))))),
    ),
    "unique: the opposite position": mutant(
        U.UNIQUE,
        statement=forall([m, n], implies(U.collide(m, n), equal(m, times(-1, n)))),
    ),
    "unique: the next position": mutant(
        U.UNIQUE, statement=forall([m, n], implies(U.collide(m, n), equal(m, plus(n, 1))))
    ),
    "unique: no sine": mutant(
        U.UNIQUE, statement=forall([m, n], implies(U.cosines_agree(m, n), equal(m, n)))
    ),
    "sines: real positions": mutant(
        U.SINES_ALONE,
        statement=implies(forall(i, equal(sine(pos, i), sine(other, i))), equal(pos, other)),
    ),
    "sines: frequencies that are rational multiples of 2 pi": mutant(
        U.SINES_ALONE, given=given(U.SINES_ALONE, frequencies=rational)
    ),
    "sines: the opposite position": mutant(
        U.SINES_ALONE,
        statement=forall(
            [m, n],
            implies(forall(i, equal(sine(m, i), sine(n, i))), equal(m, times(-1, n))),
        ),
    ),
    "cosines: real positions": mutant(
        U.COSINES_ALONE, statement=implies(U.cosines_agree(pos, other), equal(pos, other))
    ),
    "cosines: the next natural number": mutant(
        U.COSINES_ALONE,
        proof=U.prove_cosines,
        statement=forall(
            U.from_zero,
            implies(
                U.cosines_agree(*U.from_zero), equal(U.from_zero[0], plus(U.from_zero[1], 1))
            ),
        ),
    ),
    # addition formulas
    "addition: functions exchanged": mutant(
        S.ADDITION,
        statement=both(
            equal(cos(plus(S.A, S.B)), sin_add(S.A, S.B)),
            equal(sin(plus(S.A, S.B)), cos_add(S.A, S.B)),
        ),
    ),
    # rotation
    "rotation: no minus": mutant(
        S.ROTATION, statement=turn(cos(step), sin(step), sin(step), cos(step))
    ),
    "rotation: minus at a cosine": mutant(
        S.ROTATION, statement=turn(cos(step), sin(step), minus_sin, times(-1, cos(step)))
    ),
    "rotation: sine and cosine exchanged": mutant(
        S.ROTATION, statement=turn(sin(step), cos(step), cos(step), minus_sin)
    ),
    "rotation: angle of the position": mutant(
        S.ROTATION,
        statement=turn(
            cos(angle(pos)), sin(angle(pos)), times(-1, sin(angle(pos))), cos(angle(pos))
        ),
    ),
    "rotation: twice the angle": mutant(
        S.ROTATION,
        statement=turn(
            cos(2 * step), sin(2 * step), times(-1, sin(2 * step)), cos(2 * step)
        ),
    ),
    "rotation: opposite sines": mutant(
        S.ROTATION,
        given=given(S.ROTATION, **of_pair(times(-1, sin(angle(pos))), cos(angle(pos)))),
    ),
    "rotation: the transposed one, pairs not exchanged": mutant(
        S.TRANSPOSED, proof=S.prove_swapped
    ),
    # shift matrices
    "zero: twice the identity": mutant(
        S.GROUP[0], statement=S.entries_agree(S.shift(0), lambda x, y: times(2, S.unit(x, y)))
    ),
    "zero: nothing": mutant(S.GROUP[0], statement=S.entries_agree(S.shift(0), lambda x, y: 0)),
    "zero: a shift by 1": mutant(S.GROUP[0], statement=S.entries_agree(S.shift(k), S.unit)),
    "back: the same matrix": mutant(
        S.GROUP[1], statement=S.entries_agree(S.shift(times(-1, k)), S.shift(k))
    ),
    "back: the opposite matrix": mutant(
        S.GROUP[1],
        statement=S.entries_agree(
            S.shift(times(-1, k)), lambda x, y: times(-1, M(k, y, x))
        ),
    ),
    "back: a symmetric matrix": mutant(
        S.GROUP[1], statement=S.entries_agree(S.shift(k), S.transpose(S.shift(k)))
    ),
    "composition: difference": mutant(
        S.GROUP[2],
        statement=S.entries_agree(S.product(S.shift(k), S.shift(l)), S.shift(minus(k, l))),
    ),
    "composition: product of the offsets": mutant(
        S.GROUP[2],
        statement=S.entries_agree(S.product(S.shift(0), S.shift(l)), S.shift(times(0, l))),
    ),
    "composition: second transposed": mutant(
        S.GROUP[2],
        statement=S.entries_agree(
            S.product(S.shift(k), S.transpose(S.shift(l))), S.shift(plus(k, l))
        ),
    ),
    "orthogonal: squared": mutant(
        S.GROUP[3], statement=S.entries_agree(S.product(S.shift(k), S.shift(k)), S.unit)
    ),
    "orthogonal: twice": mutant(
        S.GROUP[3],
        statement=S.entries_agree(
            S.product(S.shift(k), S.transpose(S.shift(k))), lambda x, y: times(2, S.unit(x, y))
        ),
    ),
}  # fmt: skip

concatenated = {
    "sines": forall([pos, i], equal(PE(pos, i), sin(angle(pos)))),
    "cosines": forall([pos, i], equal(PE(pos, plus(r, i)), cos(angle(pos)))),
}
mixed = of_pair(sin(angle(pos)), cos(times(pos, omega[0])))
#: A search by evaluation does not deny that something exists, nor evaluate determinants or powers
#: of 10000 inside a sine; these only have to stay open.
OPEN = {
    "partition: any width": mutant(E.PARTITION, given=(TRIVIAL,)),
    "partition: one pair less": mutant(
        E.PARTITION, given=(Given(divides(2, d)),), statement=forall(a, exists(
            pair, both(at_most(pair, minus(over(d, 2), 2)), E.in_pair)))
    ),
    "partition: no odd components": mutant(
        E.PARTITION, given=(Given(divides(2, d)),),
        statement=forall(a, exists(pair, equal(a, 2 * pair))),
    ),
    "partition: three to a pair": mutant(
        E.PARTITION, given=(Given(divides(2, d)),), statement=forall(a, exists(
            pair, both(at_most(pair, minus(over(d, 3), 1)),
                       either(equal(a, 3 * pair), equal(a, 3 * pair + 1)))))
    ),
    "components: exponent i/d in the components": mutant(
        E.COMPONENTS,
        given=(*E.COMPONENTS.given[:2], *(Given(f) for f in of_pair(
            sin(over(pos, power(10000, over(i, d)))), cos(over(pos, power(10000, over(i, d)))),
        ).values())),
    ),
    "consistent: a component that is both": mutant(
        E.CONSISTENT,
        statement=E.exists_function("PE", forall([pos, i], both(
            equal(sine(pos, i), sin(angle(pos))), equal(sine(pos, i), cos(angle(pos)))))),
    ),
    "rotation: concatenated": mutant(S.ROTATION, given=given(S.ROTATION, **concatenated)),
    "rotation: one frequency for the cosines": mutant(
        S.ROTATION, given=given(S.ROTATION, **mixed)
    ),
    "linear shift: one matrix for all offsets": mutant(
        S.LINEAR, statement=exists(
            S.some_matrix, forall(k, S.shift_by(lambda x, y: S.some_matrix[x, y])))
    ),
    "linear shift: any width": mutant(S.LINEAR, given=(TRIVIAL, *ENCODING[1:])),
    "linear shift: twice the position": mutant(
        S.LINEAR, statement=exists(S.some_matrix, forall([pos, a], equal(
            PE(2 * pos, a), total(times(S.some_matrix[a, b], PE(pos, b)), b))))
    ),
    "linear shift: one frequency for the cosines": mutant(
        S.LINEAR, given=given(S.LINEAR, **mixed)
    ),
    "rotation only: row exchanged": mutant(
        S.UNIQUE_ROTATION,
        statement=implies(
            S.fits_everywhere(sine), both(equal(S.x, sin(step)), equal(S.y, cos(step)))
        ),
    ),
    "rotation only: first row for both": mutant(
        S.UNIQUE_ROTATION,
        statement=implies(
            S.fits_everywhere(cosine), both(equal(S.x, cos(step)), equal(S.y, sin(step)))
        ),
    ),
    "block matrix: an entry that is both": mutant(
        S.BLOCKS, statement=E.exists_function("M", both(
            forall([i, j], equal(M(2 * i, 2 * j), cos(angle(k)))),
            forall([i, j], equal(M(2 * i, 2 * j), sin(angle(k))))))
    ),
    "odd width: by the proof for even ones": mutant(
        S.ODD, proof=S.prove_linear_shift, given=ENCODING
    ),
    "determinant: -1": mutant(
        S.GROUP[4], statement=forall(k, equal(determinant(d, S.shift(k)), -1))
    ),
    "determinant: 0": mutant(S.GROUP[4], statement=forall(k, equal(determinant(d, S.shift(k)), 0))),
    "determinant: of the sum": mutant(
        S.GROUP[4],
        statement=forall(
            k, equal(determinant(d, lambda x, y: plus(M(k, x, y), M(k, y, x))), 1)
        ),
    ),
}  # fmt: skip


def opened(statement):
    """The statement without its outermost quantifiers, so that the search chooses the values."""
    while isinstance(statement, ForAll):
        statement = statement.args[1]
    for name in "pab":
        if isinstance(statement, Term) and statement.op == "forall":
            x = T.var(name, statement.data[0], *statement.children[:-1])
            statement = T.instantiate(statement.children[-1], (x,))
    return statement


@pytest.mark.parametrize("name", REFUTED)
def test_mutants_are_caught(name):
    claim = REFUTED[name]
    assert settle(claim).result.verdict not in CONCLUDED
    alone = replace(claim, proof=None, statement=opened(claim.statement))
    assert settle(alone).result.verdict is Verdict.REFUTED


@pytest.fixture
def no_search(monkeypatch):
    """The search has nothing to find, and takes its time over matrices."""
    monkeypatch.setattr(counterexample, "find", lambda goal, seed=0, tries=None: None)


@pytest.mark.usefixtures("no_search")
@pytest.mark.parametrize("name", OPEN)
def test_mutants_beyond_the_search_are_not_proved(name):
    by_hand, alone = verdicts(OPEN[name])
    assert by_hand not in CONCLUDED
    assert alone not in CONCLUDED


USED = [
    (name, e)
    for name, claim in BY_NAME.items()
    if claim.proof is not None
    for e in range(len(claim.given))
    if used(name)[e]
]


@pytest.mark.usefixtures("no_search")
@pytest.mark.parametrize(("name", "position"), USED)
def test_no_script_goes_through_without_a_hypothesis_that_it_uses(name, position):
    claim = BY_NAME[name]
    by_hand, alone = verdicts(mutant(claim, given=without(claim, position)))
    assert by_hand not in CONCLUDED
    assert alone not in CONCLUDED


@pytest.mark.parametrize(
    ("width", "period"), [(2, 3 * sp.pi), (4, 100 * sp.pi), (4, 20 * sp.pi), (8, 200 * sp.pi)]
)
def test_a_shorter_period_is_no_counterexample(width, period):
    claim = BY_NAME["unique-on-reals" if width == 2 else f"unique-on-reals-width-{width}"]
    example = replace(claim.counterexample, values={r: width // 2, pos: 0, other: period})
    wrong = replace(claim, counterexample=example, correction=None)
    assert settle(wrong).result.verdict is Verdict.UNDECIDED


def test_other_widths_do_not_collide_at_a_period_of_the_first_pair():
    for width in (6, 10):
        example = replace(U.UNIQUE_REAL, correction=None, counterexample=Example(
            {r: width // 2, pos: 0, other: 2000 * sp.pi}))  # fmt: skip
        assert settle(example).result.verdict is Verdict.UNDECIDED


def test_the_transposed_matrix_is_right_where_no_sine_is_left():
    for values in ({pos: 0, k: sp.pi}, {pos: sp.pi / 2, k: 0}, {pos: 0, k: 0}):
        example = Example({r: 1, i: 0, **values})
        wrong = replace(S.TRANSPOSED, counterexample=example, correction=None)
        assert settle(wrong).result.verdict is Verdict.UNDECIDED


def test_the_lone_sine_is_a_combination_at_whole_half_turns():
    """The proof of the counterexample is about a quarter turn and no other offset."""
    for offset in (0, 2 * S.quarter_turn):
        example = replace(S.ODD.counterexample, values={k: offset})
        wrong = replace(S.ODD, counterexample=example, correction=None)
        assert settle(wrong).result.verdict is Verdict.UNDECIDED


# ---------------------------------------------------------------------- agreement with NumPy


def approximate(t: Term) -> float:
    """The value of a closed term in floating point; it shares nothing with the normal form."""
    x = [approximate(child) for child in t.children]
    match t.op:
        case "num":
            return float(t.data)
        case "add":
            return math.fsum(x)
        case "mul":
            return math.prod(x)
        case "pow":
            return x[0] ** t.data
        case "delta":
            return float(x[0] == x[1])
        case "fn":
            return {
                "pi": lambda: math.pi, "sin": math.sin, "cos": math.cos, "floor": math.floor,
                "mod": math.fmod, "rpow": math.pow,
            }[t.data](*x)  # fmt: skip
    raise ValueError(t)


def defined(claim, pairs):
    """What the claim's hypotheses make of the symbols, at that many pairs."""
    converter = Converter()
    goal = converter.formula(claim.statement)
    for h in reversed(claim.given):
        goal = T.implies(converter.formula(h.formula), goal)
    return complete(goal, {T.var("r", "dim"): T.num(pairs)})


def at(function: Lam, *arguments) -> float:
    numbers = [T.num(e) if isinstance(e, int) else e for e in arguments]
    return approximate(T.instantiate(function.body, numbers))


@pytest.mark.parametrize("pairs", [1, 2, 3, 5])
@pytest.mark.parametrize("name", ["components", "rotation"])
def test_the_defined_components_are_those_of_the_layers(name, pairs):
    rng = np.random.default_rng(pairs)
    values = defined(BY_NAME[name], pairs)
    assert values[T.var("d_model", "dim")] is T.num(2 * pairs)
    for p in (0, 1, *map(int, rng.integers(-2000, 2000, 4))):
        symbolic = [at(values["PE"], p, e) for e in range(2 * pairs)]
        np.testing.assert_allclose(
            symbolic, numeric.position_encoding([p], 2 * pairs)[0], atol=1e-12
        )
    frequencies = [at(values["omega"], e) for e in range(pairs)]
    np.testing.assert_allclose(frequencies, numeric.frequencies(2 * pairs), rtol=1e-13)


@pytest.mark.parametrize("pairs", [1, 2, 3, 5])
def test_the_one_formula_is_the_encoding_of_the_layers(pairs):
    omegas = defined(BY_NAME["components"], pairs)["omega"]
    for p in (0, 1, 37, 1999):
        terms = (E.entry(T.num(p), T.num(e)) for e in range(2 * pairs))
        symbolic = [approximate(T.substitute(t, {}, {"omega": omegas})) for t in terms]
        np.testing.assert_allclose(
            symbolic, numeric.position_encoding([p], 2 * pairs)[0], atol=1e-12
        )


@pytest.mark.parametrize("pairs", [1, 2, 3, 5])
def test_the_shift_matrices_are_those_of_the_layers(pairs):
    """Both the witness of the linear map and the matrix that the group claims speak of."""
    rng = np.random.default_rng(pairs)
    omegas = defined(BY_NAME["components"], pairs)["omega"]
    omega_values = {"omega": omegas}
    blocks = defined(S.GROUP[2], pairs)["M"]
    width = 2 * pairs
    for offset in (0, 1, -37, int(rng.integers(-500, 500))):
        wanted = numeric.shift_matrix(offset, width)
        formula = T.substitute(
            T.instantiate(T.abstract(S.block_matrix().body, (T.var("k"),)), (T.num(offset),)),
            {}, omega_values,
        )  # fmt: skip
        witness = [[at(Lam(2, formula), x, y) for y in range(width)] for x in range(width)]
        np.testing.assert_allclose(witness, wanted, atol=1e-12)
        at_rest = Lam(3, T.substitute(blocks.body, {}, omega_values))
        entries = [[at(at_rest, offset, x, y) for y in range(width)] for x in range(width)]
        np.testing.assert_allclose(entries, wanted, atol=1e-12)


def test_one_pair_is_one_turn():
    """At width 2 both sides of the rotation are exact at quarter turns."""
    for quarters in range(-3, 4):
        shift = numeric.shift_matrix(quarters * math.pi / 2, 2)
        exact = [[round(e) for e in row] for row in shift]
        values = defined(S.GROUP[2], 1)["M"]
        turn = T.mul(T.num(Fraction(quarters, 2)), T.PI)
        unit = {"omega": Lam(1, T.ONE)}
        found = [
            [at(Lam(3, T.substitute(values.body, {}, unit)), turn, x, y) for y in range(2)]
            for x in range(2)
        ]
        np.testing.assert_allclose(found, exact, atol=1e-12)


# ---------------------------------------------------------------------- twins that disagree


def disagreeing(monkeypatch, **replaced):
    """The claims whose twins notice at small widths that NumPy functions are replaced."""
    for module in (P, E, U, S):
        if hasattr(module, "WIDTHS"):
            monkeypatch.setattr(module, "WIDTHS", SMALL)
    for name, function in replaced.items():
        monkeypatch.setattr(numeric, name, function)
    runs = {n: x.twin.run(0, x.id).status for n, x in BY_NAME.items()}
    return {n for n, s in runs.items() if s is TwinStatus.DISAGREES}


ENCODED = {
    "partition", "components", "consistent", "inner-product", "distance", "rotation",
    "rotation-transposed", "rotation-only", "linear-shift",
}  # fmt: skip
SMALL = (2, 4, 6, 8)
right, right_shift = numeric.position_encoding, numeric.shift_matrix


def columns(order):
    return lambda positions, width, base=1e4: right(positions, width, base)[:, order(width)]


def test_twins_notice_an_exponent_without_its_factor(monkeypatch):
    """i/d in place of 2i/d: the base is its square root."""
    wrong = lambda positions, width, base=1e4: right(positions, width, base**0.5)  # noqa: E731
    found = disagreeing(monkeypatch, position_encoding=wrong)
    assert {"components", "consistent", "partition", "rotation", "linear-shift"} <= found
    assert not {"norm", "range", "origin", "unique"} & found


def test_twins_notice_a_concatenated_layout(monkeypatch):
    wrong = columns(lambda width: [*range(0, width, 2), *range(1, width, 2)])
    found = disagreeing(monkeypatch, position_encoding=wrong)
    assert {"components", "partition", "rotation", "linear-shift", "origin"} <= found
    assert not {"norm", "range", "inner-product", "distance"} & found


def test_twins_notice_cosines_first(monkeypatch):
    wrong = columns(lambda width: np.arange(width) ^ 1)
    found = disagreeing(monkeypatch, position_encoding=wrong)
    assert {"components", "rotation", "rotation-transposed", "rotation-only", "origin"} <= found


def test_twins_notice_opposite_sines(monkeypatch):
    def wrong(positions, width, base=1e4):
        encoding = right(positions, width, base)
        encoding[:, 0::2] *= -1
        return encoding

    found = disagreeing(monkeypatch, position_encoding=wrong)
    assert {"components", "rotation", "rotation-only", "linear-shift"} <= found


def test_twins_notice_frequencies_with_a_common_period(monkeypatch):
    """2 pi 10^-i: positions repeat, and the position 10 is encoded like the position 0."""
    frequencies = lambda width, base=1e4: 2 * np.pi * 10.0 ** -np.arange(width // 2)  # noqa: E731
    monkeypatch.setattr("numeric.positional.frequencies", frequencies)
    found = disagreeing(monkeypatch, frequencies=frequencies)
    assert {"unique", "unique-by-sines", "unique-by-cosines", "unique-on-reals"} <= found
    assert not {"rotation", "linear-shift", "norm", "inner-product"} & found


def test_twins_notice_a_transposed_shift(monkeypatch):
    wrong = lambda offset, width, base=1e4: right_shift(offset, width, base).T  # noqa: E731
    found = disagreeing(monkeypatch, shift_matrix=wrong)
    assert {"linear-shift", "rotation-transposed", "block-matrix"} == found


def test_twins_notice_a_shift_that_is_no_rotation(monkeypatch):
    wrong = lambda offset, width, base=1e4: 1.001 * right_shift(offset, width, base)  # noqa: E731
    found = disagreeing(monkeypatch, shift_matrix=wrong)
    group = {"shift-by-zero", "composition", "orthogonal", "determinant"}
    assert {"linear-shift", "rotation-transposed", "block-matrix", *group} == found


def test_twins_notice_a_reflection(monkeypatch):
    def wrong(offset, width, base=1e4):
        matrix = right_shift(offset, width, base)
        matrix[0] *= -1
        return matrix

    found = disagreeing(monkeypatch, shift_matrix=wrong)
    assert {"determinant", "shift-by-zero", "composition", "linear-shift"} <= found
    assert "orthogonal" not in found


def test_twins_notice_that_an_odd_width_is_accepted(monkeypatch):
    def wrong(positions, width, base=1e4):
        return right(positions, width + width % 2, base)[:, :width]

    assert "partition" in disagreeing(monkeypatch, position_encoding=wrong)


def test_every_encoded_claim_notices_noise(monkeypatch):
    rng = np.random.default_rng(0)

    def wrong(positions, width, base=1e4):
        encoding = right(positions, width, base)
        return encoding + 1e-6 * rng.standard_normal(encoding.shape)

    assert disagreeing(monkeypatch, position_encoding=wrong) >= ENCODED | {"norm", "origin"}
