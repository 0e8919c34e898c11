"""Verdicts: what each one needs, and that nothing less gives it."""

from __future__ import annotations

from typing import Any

import pytest
import sympy as sp

from derive import auto
from derive import language as L
from derive.claim import Added, Claim, Correction, Example, Given, Notation
from derive.kernel.check import check
from derive.kernel.rules import Theorem, infer
from derive.kernel.terms import KernelError
from derive.prover import Prover
from derive.result import Source, Verdict
from derive.verify import settle

d, h, w = L.dims("d h w")
x, y = L.real("x"), L.real("y")
FLOOR = L.equal(h * sp.floor(d / h), d)
SOURCE = Source("a note", ("1",), "a claim")


def claim(**parts: Any) -> Claim:
    defaults = {"id": "tests/claim", "title": "t", "source": SOURCE, "expected": Verdict.PROVED}
    return Claim(**{**defaults, **parts})


def verdict(**parts: Any) -> Verdict:
    settled = settle(claim(**parts))
    for log, goal, kind in zip(settled.logs, settled.goals, settled.kinds, strict=True):
        shown = check(log)
        assert (shown.goal.key.hex(), shown.kind) == (goal, kind)
    return settled.result.verdict


# ------------------------------------------------------------------ proved


def test_a_proof_from_what_the_source_states_is_proved() -> None:
    given = (Given(L.equal(h * w, d)),)
    assert verdict(statement=L.equal(2 * h * w, 2 * d), given=given) is Verdict.PROVED


def test_used_hypotheses_are_told_from_unused_ones() -> None:
    given = (Given(L.equal(h * w, d)), Given(L.less(x, y)))
    result = settle(claim(statement=L.equal(2 * h * w, 2 * d), given=given)).result
    assert [v.used for v in result.hypotheses] == [True, False]


def test_a_notation_is_told_from_what_the_source_states() -> None:
    given = (Given(L.less(0, x)), Notation(L.equal(y, 2 * x), "twice"))
    result = settle(claim(statement=L.less(0, y), given=given)).result
    assert result.verdict is Verdict.PROVED
    assert [(v.notation, v.used) for v in result.hypotheses] == [(False, True), (True, True)]


def test_a_notation_that_supposes_something_settles_nothing() -> None:
    for formula in (L.less(0, y), L.equal(d, 2 * h), L.equal(y, y + x)):
        settled = settle(claim(statement=L.equal(x, x), given=(Notation(formula),)))
        assert settled.result.verdict is Verdict.UNDECIDED
        assert "more than a definition" in settled.result.reason
    twice = (Notation(L.equal(y, x)), Notation(L.equal(y, 0)))
    assert verdict(statement=L.equal(x, 0), given=twice) is Verdict.UNDECIDED
    after = (Given(L.less(y, 0)), Notation(L.equal(y, x**2)))
    assert verdict(statement=L.less(0, 0), given=after) is Verdict.UNDECIDED


def test_a_hypothesis_that_only_definedness_needs_counts_as_used() -> None:
    given = (Given(L.negation(L.equal(x, 0))),)
    statement = L.equal(L.minus(L.over(1, x), L.over(1, x)), 0)
    result = settle(claim(statement=statement, given=given)).result
    assert result.verdict is Verdict.PROVED
    assert result.hypotheses[0].used


def test_a_script_that_proves_something_else_proves_nothing() -> None:
    statement = L.equal(x + y, y + x + 1)
    assert verdict(statement=statement, proof=lambda p: p.equal(x, x)) is Verdict.UNDECIDED


def test_a_script_may_not_assume_more_than_the_hypotheses() -> None:
    statement = L.equal(x, y)
    assert verdict(statement=statement, proof=lambda p: p.assume(statement)) is Verdict.UNDECIDED


def test_a_true_but_undefined_statement_is_not_proved() -> None:
    statement = L.equal(L.minus(L.over(1, x), L.over(1, x)), 0)
    assert verdict(statement=statement) is Verdict.REFUTED
    scripted = verdict(statement=statement, proof=lambda p: p.equal(*statement.args))
    assert scripted is Verdict.UNDECIDED


def test_an_undefined_hypothesis_is_noticed() -> None:
    given = (Given(L.equal(L.over(1, x), y)),)
    assert verdict(statement=L.equal(y, y + 0 * x), given=given) is not Verdict.PROVED


def test_a_step_that_is_an_axiom_names_it() -> None:
    def proof(p: Prover) -> Theorem:
        return p.note(p.axiom("floor-lower", x), "rounding down")

    settled = settle(claim(statement=L.at_most(sp.floor(x), x), proof=proof))
    assert [s.reason for s in settled.result.steps] == ["floor-lower: rounding down"]


# ------------------------------------------------------------------ conditional


def conditional(**parts: Any) -> Verdict:
    added = parts.pop("added", (Added(L.divides(h, d), Example({d: 10, h: 3})),))
    witness = parts.pop("witness", Example({d: 12, h: 4}))
    return verdict(statement=FLOOR, added=added, witness=witness, **parts)


def test_a_needed_condition_with_example_and_witness_is_conditional() -> None:
    assert conditional() is Verdict.CONDITIONAL


@pytest.mark.parametrize(
    "example",
    [
        {d: 12, h: 4},  # meets the condition
        {d: 10, h: sp.Rational(5, 2)},  # outside the domain
        {d: 10, h: -3},
        {d: 10},  # leaves a symbol open
    ],
)
def test_an_example_that_does_not_break_condition_and_statement_is_refused(example: Any) -> None:
    assert conditional(added=(Added(L.divides(h, d), Example(example)),)) is Verdict.UNDECIDED


def test_an_example_has_to_meet_what_the_source_states() -> None:
    given = (Given(L.less(11, d)),)
    assert conditional(given=given) is Verdict.UNDECIDED


def test_a_witness_has_to_meet_every_hypothesis() -> None:
    assert conditional(witness=Example({d: 10, h: 3})) is Verdict.UNDECIDED


def test_contradictory_hypotheses_have_no_witness() -> None:
    added = (Added(L.both(L.divides(h, d), L.less(d, d)), Example({d: 10, h: 3})),)
    assert conditional(added=added) is Verdict.UNDECIDED


def test_a_condition_that_is_not_used_leaves_the_claim_proved() -> None:
    added = (Added(L.less(x, y), Example({x: 1, y: 0})),)
    assert (
        verdict(statement=L.equal(d + 1, 1 + d), added=added, witness=Example({x: 0, y: 1}))
        is Verdict.PROVED
    )


# ------------------------------------------------------------------ refuted


def test_an_exact_counterexample_refutes() -> None:
    assert verdict(statement=FLOOR, counterexample=Example({d: 10, h: 3})) is Verdict.REFUTED


@pytest.mark.parametrize(
    "example", [{d: 12, h: 3}, {d: 10, h: 0}, {d: -10, h: 3}, {d: sp.Rational(1, 2), h: 3}, {d: 7}]
)
def test_what_is_no_counterexample_refutes_nothing(example: Any) -> None:
    assert verdict(statement=FLOOR, counterexample=Example(example)) is Verdict.UNDECIDED


def test_what_is_denied_is_shown_evaluated_below_its_quantifiers() -> None:
    i, v = L.index("i", d), L.tensor("v", d)
    never = L.negation(L.forall([x, i], L.equal(v[i] * x, x)))

    def deny(p: Prover, target: Any) -> Theorem:
        denial = p.assume(target.children[0])
        always = auto.prove(p, denial.conclusion.children[0])
        return infer("deny", [infer("contradiction", [always, denial], target)], denial.conclusion)

    (shown,) = settle(
        claim(statement=never, counterexample=Example({d: 2, v: [1, 1]}, deny))
    ).result.counterexamples
    # not x = x: what the values make of v stands beside its name
    assert shown.latex == r"\forall x \in \mathbb{R}:\ x\,v_{0} = x \ \land\  x\,v_{1} = x"


def shown_at(statement: Any, example: dict[Any, Any], proof: Any = None) -> str:
    settled = settle(claim(statement=statement, counterexample=Example(example, proof)))
    (shown,) = settled.result.counterexamples
    check(settled.logs[0])
    return shown.latex


def test_sides_that_are_the_same_are_shown_with_their_value() -> None:
    i, v, w = L.index("i", d), L.tensor("v", d), L.tensor("w", d)
    apart = L.negation(L.equal(L.total(v[i], i), L.total(w[i] ** 2, i)))
    text = shown_at(apart, {d: 2, v: [1, 4], w: [1, 2]})
    assert text == r"\sum_{i=0}^{1} v_{i} = 5 = \sum_{i=0}^{1} w_{i}^{2}"
    assert shown_at(L.negation(L.equal(x + 1, 2 * y)), {x: 3, y: 2}) == r"3+1 = 4 = 2 \cdot 2"


def test_what_differs_is_shown_by_its_values() -> None:
    i, v = L.index("i", d), L.tensor("v", d)
    assert shown_at(L.equal(L.total(v[i], i), x), {d: 2, v: [1, 4], x: 3}) == r"5 \ne 3"
    assert shown_at(L.less(L.total(v[i], i), x), {d: 2, v: [1, 4], x: 5}) == r"5 \ge 5"


BOUND = L.exists(x, L.forall(y, L.at_most(y, x)))


def larger(p: Prover, target: Any) -> Theorem:
    """not x + 1 <= x"""
    (bounded,) = target.children
    with p.supposing(bounded) as case:
        wrong = p.order(L.less(0, 0), (1, case))
        absurd = infer(
            "contradiction", [wrong, p.trivial(L.negation(L.less(0, 0)))], target
        )  # fmt: skip
    return infer("deny", [absurd], bounded)


def test_values_within_quantifiers_are_shown_and_may_depend_on_what_there_is() -> None:
    settled = settle(claim(statement=BOUND, counterexample=Example({}, larger, {x: x, y: x + 1})))
    (shown,) = settled.result.counterexamples
    assert settled.result.verdict is Verdict.REFUTED
    assert (shown.values, shown.latex) == (
        {"y": r"x \mapsto x+1"}, r"\forall x \in \mathbb{R}:\ x < 1+x",
    )  # fmt: skip
    check(settled.logs[0])


@pytest.mark.parametrize(
    "within",
    [
        {x: 0, y: 1},  # there may be another x
        {x: x, y: x},  # at which the statement holds
        {y: x + 1, x: x},  # another order
        {x: x, y: x + 1, d: d},  # one quantifier too many
        {x: x},
    ],
    ids=str,
)
def test_values_within_quantifiers_have_to_deny_the_statement(within: Any) -> None:
    example = Example({}, larger, within)
    assert verdict(statement=BOUND, counterexample=example) is Verdict.UNDECIDED


def test_a_counterexample_has_to_meet_the_hypotheses() -> None:
    given = (Given(L.divides(h, d)),)
    example = Example({d: 10, h: 3})
    assert verdict(statement=FLOOR, given=given, counterexample=example) is Verdict.UNDECIDED


def test_a_correction_that_is_not_proved_is_not_given() -> None:
    wrong = Correction(L.equal(h * sp.floor(d / h), d + 1))
    example = Example({d: 10, h: 3})
    assert verdict(statement=FLOOR, counterexample=example, correction=wrong) is Verdict.UNDECIDED


def test_a_floating_point_counterexample_is_refused() -> None:
    statement = L.equal(sp.sqrt(x**2), x)
    assert verdict(statement=statement, counterexample=Example({x: -0.5})) is Verdict.UNDECIDED


def test_without_a_script_a_false_statement_is_refuted_by_search() -> None:
    assert verdict(statement=FLOOR) is Verdict.REFUTED


# ------------------------------------------------------------------ the rest


def test_what_can_be_neither_proved_nor_refuted_is_undecided() -> None:
    statement = L.equal(sp.sin(x) ** 2 + sp.Function("g")(x), sp.Function("k")(x))
    result = settle(claim(statement=statement, proof=lambda p: p.equal(*statement.args))).result
    assert result.verdict is Verdict.UNDECIDED
    assert "left over" in result.reason


def test_what_is_not_mathematical_says_why() -> None:
    result = settle(claim(reason="history", expected=Verdict.NOT_MATHEMATICAL)).result
    assert result.verdict is Verdict.NOT_MATHEMATICAL
    assert result.reason == "history"


def test_the_expected_verdict_is_not_copied() -> None:
    assert settle(claim(statement=FLOOR, expected=Verdict.PROVED)).result.unexpected


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"statement": FLOOR, "reason": "both"},
        {"statement": FLOOR, "id": "no-topic"},
        {"statement": FLOOR, "added": (Added(L.divides(h, d), Example({d: 10, h: 3})),)},
        {"statement": FLOOR, "proof": lambda p: p, "counterexample": Example({d: 10, h: 3})},
    ],
)
def test_an_incomplete_claim_cannot_be_made(parts: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"claim id|tests/claim"):
        claim(**parts)


def test_a_log_of_another_goal_is_told_apart() -> None:
    settled = settle(claim(statement=L.equal(x + y, y + x)))
    other = settle(claim(statement=L.equal(x * y, y * x)))
    assert check(settled.logs[0]).goal.key.hex() != other.goals[0]


def test_a_log_with_an_altered_conclusion_is_rejected() -> None:
    (log,) = settle(claim(statement=L.equal(x + y, y + x))).logs
    log["steps"][0]["conclusion"] = 0
    with pytest.raises(KernelError):
        check(log)


def test_names_that_are_printed_alike() -> None:
    """The statements would read x_0 = x_0 and sin(pi) = 0, and be refuted."""
    v, k = L.tensor("v", d), L.index("k", d)
    for one, other in (
        (L.real("v_0"), v[0]),
        (L.real("v_k"), v[k]),
        (L.real("x1"), L.real("x_1")),
        (L.tensor("x_1", d)[0], L.real("x1")),
        (sp.sin(L.real("pi")), 0),
        (L.real("e"), sp.E),
        (L.real("\u03b1"), L.real("alpha")),
        (sp.sin(L.real("\u03c0")), 0),
        (L.real("a"), L.real("\u0430")),  # the Cyrillic letter
        (L.real("W_\u0395"), L.real("W_E")),  # the Greek letter
        (L.tensor("\u0441", d)[0], L.tensor("c", d)[0]),
        (L.tensor("x_\u0456", d)[0], L.tensor("x_i", d)[0]),
    ):
        settled = settle(claim(statement=L.equal(one, other)))
        assert settled.result.verdict is Verdict.UNDECIDED
        assert "both printed as" in settled.result.reason
        wrong = Correction(L.equal(one, other), given=(Given(L.equal(one, other)),))
        example = Example({x: 1})
        refuted = claim(statement=L.equal(x, 0), counterexample=example, correction=wrong)
        assert "both printed as" in settle(refuted).result.reason
    bound = L.forall(L.real("e"), L.less(0, L.real("e") ** 2 + 1))
    assert verdict(statement=L.both(bound, L.equal(v[0], L.tensor("v", d)[0]))) is Verdict.PROVED


def test_the_norm_of_a_part_of_a_vector_is_written_out() -> None:
    """Else a statement about v and its first n entries reads |v| <= |v|, or |v| < |v|."""
    n = L.dim("n")
    i, j, v = L.index("i", n), L.index("j", n + 1), L.tensor("v", n + 1)
    W, x = L.tensor("W", n, n + 1), L.sequence("x")

    def root(entry: sp.Expr, k: sp.Idx) -> sp.Expr:
        return sp.sqrt(L.total(entry**2, k))

    for entry, k, whole in (
        (v[i], i, False), (v[j], j, True), (W[i, j], j, True), (W[i, i], i, False),
        (W[0, i], i, False), (x[i], i, False), (v[j] + W[0, j], j, True),
        (v[i] - W[i, 0], i, False),
    ):  # fmt: skip
        shown = settle(claim(statement=L.at_most(0, root(entry, k)))).result.statement
        assert ("Vert" in shown) is whole, shown
    given = (Given(L.equal(root(v[i], i), 1)),)
    result = settle(claim(statement=L.at_most(1, root(v[i], i)), given=given)).result
    assert "Vert" not in result.hypotheses[0].latex
    some = L.exists(v, L.less(root(v[i], i), root(v[j], j)))
    result = settle(claim(statement=some)).result
    assert result.verdict is Verdict.PROVED  # and once read "there is v with |v| < |v|"
    assert "Vert" not in result.statement
    every = L.forall(v, L.at_most(0, root(v[j], j)))
    assert "Vert" in settle(claim(statement=every)).result.statement


def test_a_free_index_of_a_range_that_may_be_empty_is_named() -> None:
    r = L.natural("r")
    u, v = L.index("u", r), L.sequence("v")
    for statement, given in (
        (L.less(u, r), ()),
        (L.less(v[u], v[u]), ()),
        (L.less(0, L.total(v[u] ** 2, u)), (Given(L.less(0, v[u])),)),
    ):
        result = settle(claim(statement=statement, given=given)).result
        assert result.verdict is Verdict.UNDECIDED
        assert "the free index u, whose range r may be empty" in result.reason


def test_statements_that_sympy_has_evaluated_are_not_taken_for_what_was_written() -> None:
    """They are undefined for some x, but arrive as x = x, 1 = 1 and 0 <= 0."""
    v = L.tensor("v", d)
    for arrived in (
        L.equal(sp.sqrt(x) ** 2, x),
        L.equal(x / x, 1),
        L.at_most(0, 0 * sp.log(x)),
        L.equal(sp.exp(sp.log(v[0])), v[0]),
        L.forall(x, L.equal(sp.exp(sp.log(x)), x)),
        L.implies(L.less(x, y), L.equal(x**d * x ** (-d), 1)),
    ):
        result = settle(claim(statement=arrived)).result
        assert result.verdict is Verdict.UNDECIDED
        assert "SymPy evaluated it while it was built" in result.reason
    assert verdict(statement=L.equal(x * y, y * x)) is Verdict.PROVED
    assert verdict(statement=L.equal(L.over(x, x), 1)) is Verdict.REFUTED


def test_names_that_would_be_read_as_formulas() -> None:
    """They would read 2 < 0, x^2 < 0, sin(x) < sin(x), delta_ij < delta_ij and x^n < x^n."""
    n = L.dim("n")
    i, j, v = L.index("i", n), L.index("j", n), L.tensor("v", n)

    def reason(statement: Any, *given: Any) -> str:
        settled = settle(claim(statement=statement, given=tuple(map(Given, given))))
        assert settled.result.verdict is Verdict.UNDECIDED, settled.result.statement
        return settled.result.reason

    for bad in ("2", "x^2", "x+y", "n-1", "x y", r"\pi", r"\frac{1}{2}", "|x|", "x_", "x^", "sin"):
        assert "would be read as a formula" in reason(
            L.less(L.real(bad), 0), L.less(L.real(bad), -1)
        )
    for bad in ("x\u00b2", "\uff58", "x\u2081", "\u2113"):  # a square, a wide x, a subscript, l
        assert "would be read as" in reason(L.less(L.real(bad), 0))
    sine = sp.Function("sin")(x)
    assert "read as a formula" in reason(L.less(sine, sp.sin(x)), L.less(sine, sp.sin(x)))
    entry = L.tensor("delta", n, n)[i, j]
    assert "the delta of" in reason(L.less(entry, sp.KroneckerDelta(i, j)), L.equal(entry, -1))
    power = L.real("x^n")
    assert "printed as a power" in reason(L.less(power, x**n), L.less(power, x**n))
    for good in ("W^Q'", "d_k'", "mu_+", "W_all^K", "x1", "lambda", "d_model", "\u03b1", "B^d"):
        number = L.real(good)
        assert verdict(statement=L.equal(number + n, n + number)) is Verdict.PROVED, good
    number = L.real("v_t")
    shown = settle(claim(statement=L.equal(
        L.total(v[j] - number, j), L.total(v[j], j) - n * number
    ))).result.statement  # fmt: skip
    assert r"\sum_{s=0}^{n-1} (v_{s}-v_{t})" in shown  # with t it would be 0


def test_a_mean_over_outcomes_is_one_by_the_hypotheses_of_the_claim() -> None:
    i = L.index("i", d)
    P, a = L.tensor("P", d), L.tensor("a", d)
    law = (Given(L.equal(L.total(P[i], i), 1)), Given(L.forall(i, L.at_most(0, P[i]))))
    bounded = Given(L.forall(i, L.at_most(a[i], x)))
    mean = L.at_most(L.total(P[i] * a[i], i), x)
    found = settle(claim(statement=mean, given=(*law, bounded))).result
    assert found.statement == r"\mathbb{E}_{P}[a] \le x"
    assert found.steps[-1].latex == found.statement
    found = settle(claim(statement=mean, given=(law[0], bounded))).result
    assert found.statement == r"\sum_{i=0}^{d-1} P_{i}\,a_{i} \le x"


# ------------------------------------------------------------------ contradictory hypotheses

size = L.dim("n")
at = L.index("i", size)
entries = L.tensor("a", size)
CONTRADICTORY = [
    [L.less(x, 0), L.less(0, x)],
    [L.less(x, y), L.less(y, x)],
    [L.less(x**2, 0)],
    [L.equal(x, 1), L.equal(x, 2)],
    [L.equal(x, y), L.negation(L.equal(x, y))],
    [L.equal(d, 0)],
    [L.less(L.positive("u"), 0)],
    [L.less(0, L.integer("k")), L.less(L.integer("k"), 1)],
    [L.either(L.less(x, 0), L.less(1, x)), L.equal(x, sp.Rational(1, 2))],
    [L.forall(at, L.less(0, entries[at])), L.equal(L.total(entries[at], at), 0)],
    [L.forall(at, L.equal(entries[at], 1)), L.forall(at, L.equal(entries[at], 2))],
    [L.equal(L.power(sp.exp(x), 1), 0)],
]
POSSIBLE = [
    [L.less(x, 0), L.less(0, y)],
    [L.at_most(x, 0), L.at_most(0, x)],
    [L.equal(h * w, d), L.divides(h, d)],
    [L.forall(at, L.at_most(0, entries[at])), L.equal(L.total(entries[at], at), 1)],
    [L.forall(x, L.forall(at, L.at_most(x * entries[at], x**2 + entries[at] ** 2)))],
    [L.implies(L.less(0, x), L.less(x, 0))],
    [L.negation(L.equal(x, y))],
]


def from_all(*stated: Any) -> Any:
    """A script that proves 2 y = y + y and uses every hypothesis."""

    def script(p: Prover) -> Theorem:
        theorem = p.equal(2 * y, L.plus(y, y))
        for known in p.given:
            theorem = infer("conjunct", [infer("conj", [theorem, known])], 0)
        return theorem

    return claim(
        statement=L.equal(2 * y, L.plus(y, y)), given=tuple(map(Given, stated)), proof=script
    )


@pytest.mark.parametrize("stated", CONTRADICTORY)
def test_contradictory_hypotheses_settle_nothing(stated: list[Any]) -> None:
    result = settle(from_all(*stated)).result
    assert result.verdict is Verdict.UNDECIDED
    assert "so that anything follows: $" in result.reason
    assert settle(from_all(*stated), wary=False).result.verdict is Verdict.PROVED


@pytest.mark.parametrize("stated", POSSIBLE)
def test_hypotheses_that_can_hold_are_not_taken_for_contradictory(stated: list[Any]) -> None:
    assert settle(from_all(*stated)).result.verdict is Verdict.PROVED


def test_contradictory_hypotheses_are_named_and_only_where_they_are_used() -> None:
    given = tuple(map(Given, (L.less(y, 1), *CONTRADICTORY[0])))
    found = settle(claim(statement=L.equal(x, y), given=given)).result
    assert found.verdict is Verdict.UNDECIDED
    assert found.reason == (
        "these hypotheses contradict each other, so that anything follows: $x < 0$,  $0 < x$"
    )
    unused = settle(claim(statement=L.equal(x + y, y + x), given=given)).result
    assert unused.verdict is Verdict.PROVED


def test_tensors_are_shown_as_long_as_they_are() -> None:
    n, m = L.dims("n m")
    i, v, M = L.index("i", n), L.tensor("v", n), L.tensor("M", m, n)
    five, block = L.tensor("w", 5), L.tensor("B", n * m)

    def shown(statement: Any, values: Any) -> dict[str, str]:
        given = claim(statement=statement, counterexample=Example(values))
        return settle(given).result.counterexamples[0].values

    more = {n: 1, v: [2, 3, 4]}
    assert shown(L.equal(L.total(v[i], i), 1), more) == {"n": "1", "v": "[2]"}
    less = {n: 3, v: [2]}
    assert shown(L.equal(L.total(v[i], i), 1), less) == {"n": "3", "v": "[2, 0, 0]"}
    assert shown(L.equal(five[4], 1), {five: [2]}) == {"w": "[2, 0, 0, 0, 0]"}
    values = {n: 2, m: 1, M: [[1, 2, 3], [4, 5, 6]], block: [1, 1, 1]}
    statement = L.equal(L.total(M[0, i], i), block[0])
    assert shown(statement, values)["M"] == "[[1, 2]]"
    assert shown(statement, values)["B"] == "[1, 1]"
    assert shown(L.equal(v[0], 1), {v: [2, 3]}) == {"v": "[2, 3]"}  # nothing is said of n
