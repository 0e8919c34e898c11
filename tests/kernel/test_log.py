"""Logs: written and read back, and rejected after any alteration."""

from __future__ import annotations

import io
import json
from typing import Any

import mutate
import pytest
from kernel_symbols import ONE, RX, TWO, ZERO, E, I, J, K, N, X, Y, assume, decide
from mutate import accepted_as_the_same, in_a_witness, in_every_field, mutations, shown_by
from proofs import LOGS, discharged

from derive.kernel import check as checker
from derive.kernel import terms as T
from derive.kernel.check import Rejected, check
from derive.kernel.log import digest, read_argument, read_terms, write
from derive.kernel.rules import Item, infer
from derive.kernel.terms import KernelError, Lam

#: the alterations that leave a proof of the same statement
STILL_PROOFS = {
    "cancellation": {"steps.2.premises.1: doubled"},
    "quotient": {"steps.1.premises: with a number more", "steps.1.premises.0: doubled"},
    "means": {
        "steps.1.premises: with a number more", "steps.1.premises.0: doubled",
        # the factors of the cofactor (x - y)^2
        "terms.12.2.1: moved up", "terms.13.2.1: moved up",
    },
    "gauss": {
        "steps.3.args.2.1: moved up",
        # the variable of the induction
        "terms.17.1.0: now l'", "terms.17.1.0: now 0", "terms.17.1.0: now 1/0",
        "terms.17.1.0: now -1", "terms.17.1.0: now  l",
    },
    "summed": {
        # the summed index
        "terms.14.1.0: now i'", "terms.14.1.0: now 0", "terms.14.1.0: now 1/0",
        "terms.14.1.0: now -1", "terms.14.1.0: now  i",
    },
    "gradient": {
        # the generalised index
        "terms.15.1.0: now j'", "terms.15.1.0: now 0", "terms.15.1.0: now 1/0",
        "terms.15.1.0: now -1", "terms.15.1.0: now  j",
    },
    "even": {
        # the chosen integer, and the order of the factors of the witness
        "terms.10.1.0: now j'", "terms.10.1.0: now 0", "terms.10.1.0: now 1/0",
        "terms.10.1.0: now -1", "terms.10.1.0: now  j", "terms.14.2.1: moved up",
    },
}  # fmt: skip


def sealed(log: Any, **changes: Any) -> Any:
    changed = {**log, **changes}
    return {**changed, "digest": digest(changed)}


def same(log: Any) -> list[tuple[str, Any]]:
    """All alterations that survive when they are sealed anew."""
    return accepted_as_the_same(log, mutations(log, reseal=True))


@pytest.fixture(params=sorted(LOGS))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_round_trip(name: str) -> None:
    log = LOGS[name]()
    again = json.loads(json.dumps(log))
    shown = check(again)
    assert shown.kind == log["kind"]
    assert shown.goal is read_terms(log["terms"])[log["goal"]]
    assert shown_by(log) == shown
    assert again == LOGS[name](), "the same proof has the same log"


def test_no_alteration_survives_the_digest(name: str) -> None:
    for description, altered in mutations(LOGS[name]()):
        assert shown_by(altered) is None, description


def test_no_alteration_survives_the_replay(name: str) -> None:
    survivors = {d for d, _ in same(LOGS[name]())}
    assert survivors == STILL_PROOFS.get(name, set())
    assert all(map(in_a_witness, survivors))


def test_the_mutations_reach_every_field(name: str) -> None:
    log = LOGS[name]()
    done = [d for d, _ in mutations(log)]
    for field in log:
        assert any(d.startswith(field) for d in done), field
    for k, step in enumerate(log["steps"]):
        for field in step:
            assert any(d.startswith(f"steps.{k}.{field}") for d in done)
    for k in range(len(log["terms"])):
        assert any(d.startswith(f"terms.{k}.0") for d in done)
    assert len(list(mutations(log, at_most=10))) <= 10


def test_a_careless_checker_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that does not compare what a step claims accepts alterations: the tests can fail."""

    def careless(step: Any, theorems: Any, terms: Any) -> Any:
        premises = [theorems[p] for p in step["premises"]]
        return infer(step["rule"], premises, *(read_argument(a, terms) for a in step["args"]))

    monkeypatch.setattr(checker, "_replay", careless)
    monkeypatch.setattr(checker, "_is_written_so", lambda *_: True)
    survivors = {d for d, _ in same(LOGS["absolute"]())}
    assert not all(map(in_a_witness, survivors))
    assert "steps.0.conclusion: +1" in survivors
    monkeypatch.setattr(mutate, "_replay", careless)
    log = LOGS["absolute"]()
    through = accepted_as_the_same(log, in_every_field(log, range(len(log["steps"]))))
    assert not all(in_a_witness(d) for d, _ in through)


# ---------------------------------------------------------------------------- malformed input


@pytest.mark.parametrize(
    "log",
    [
        None, 1, "x", [], {}, {"version": 1}, [[]], True, 1.5, {"digest": "0"},
        dict.fromkeys(
            ("version", "kind", "goal", "values", "roots", "steps", "terms", "digest")
        ),
    ],
    ids=repr,
)  # fmt: skip
def test_what_is_no_log(log: Any) -> None:
    with pytest.raises(KernelError):
        check(log)


@pytest.mark.parametrize(
    "term",
    [
        ["num", "1/0", []], ["num", "2/4", []], ["num", " 1", []], ["num", "1e3", []],
        ["num", 1, []], ["num", "x", []], ["num", "1", [0]], ["num", "1.5", []],
        ["var", ["x", "real"], []], ["var", ["x", "complex", False], []],
        ["var", ["", "real", False], []], ["var", ["x", "fin", False], []],
        ["var", ["x", "int", True], []], ["var", ["x", "real", 0], []],
        ["var", ["x", "real", False], [0]], ["bound", -1, []], ["bound", True, []],
        ["add", None, [0]], ["add", 0, [0, 0]], ["mul", None, []], ["pow", True, [0]],
        ["pow", 0.5, [0]], ["pow", 2, []], ["fn", "tan", [0]], ["fn", "sin", []],
        ["delta", None, [0]], ["sum", None, [0]], ["sum", None, [0, 0, 0]],
        ["app", ["f", -1, [-1], [], False], []], ["app", ["f", 1, [], [0], False], [0]],
        ["app", ["f", 1, [-1], [], False], [0]], ["app", [True, 1, [], [], False], [0]],
        ["app", ["f", 1, [1], [-1], False], [0, 0, 0]], ["app", [0, 1, [], [], True], [0]],
        ["app", ["f", 1, [True], [], False], [0, 0, 0]], ["app", ["f", 2, [], [], False], [0]],
        ["forall", ["real", 0], [0]], ["forall", ["tensor", 0], [0]],
        ["forall", ["tensor", -1], [0]], ["forall", ["fin", 0], [0]],
        ["grad", -1, [0, 0]], ["grad", True, [0, 0, 0, 0]], ["diff", 0, [0]],
        ["and", None, [0, 0]], ["not", None, [0]], ["Sum", None, [0, 0]], ["num", "1", {}],
        ["add", None, [0, 99]], ["add", None, [0, -1]], ["add", None, [0, True]],
        ["add", None, [0, "0"]], None, [], "add", ["add", None], {"op": "add"},
    ],
    ids=json.dumps,
)  # fmt: skip
def test_terms_that_are_none(term: Any) -> None:
    log = LOGS["false_root"]()
    broken = sealed(log, terms=[*log["terms"], term])
    with pytest.raises(KernelError):
        check(broken)


@pytest.mark.parametrize(
    "argument",
    [None, True, 1.5, {}, {"term": True}, {"term": -1}, {"term": 10**6}, {"term": 0, "x": 1},
     {"arity": True, "body": 0}, {"arity": 1}, {"item": []}, {"item": [0, 0]}],
    ids=repr,
)  # fmt: skip
def test_arguments_that_are_none(argument: Any) -> None:
    with pytest.raises((KernelError, ValueError)):
        read_argument(argument, [ZERO])
    log = LOGS["false_root"]()
    steps = [{**s, "args": [*s["args"], argument]} for s in log["steps"]]
    with pytest.raises(KernelError):
        check(sealed(log, steps=steps))


def test_deep_nesting_and_long_numbers() -> None:
    deep: Any = []
    for _ in range(10**5):
        deep = [deep]
    log = LOGS["false_root"]()
    with pytest.raises(KernelError):
        check({**log, "values": deep})
    terms: list[Any] = [["num", "1", []]]
    terms += [["pow", -1, [k]] for k in range(3000)]
    terms.append(["eq", None, [3000, 0]])
    step = {"rule": "decide", "premises": [], "args": [{"term": 3001}], "hypotheses": [],
            "conclusion": 3001, "axioms": []}  # fmt: skip
    with pytest.raises(KernelError):
        check(sealed(log, kind="proof", values=[], goal=3001, terms=terms, steps=[step]))


# ---------------------------------------------------------------------------- what is shown


def test_hypotheses_must_be_discharged() -> None:
    p = T.eq(X, Y)
    with pytest.raises(Rejected, match="still has hypotheses"):
        check(write("proof", p, [assume(p)]))


def test_steps_that_do_not_matter_are_refused() -> None:
    goal = T.eq(X, X)
    log = write("proof", goal, [decide(goal)])
    more = write("proof", goal, [decide(goal), decide(T.eq(Y, Y))])
    assert check(log)
    with pytest.raises(Rejected, match="do not show"):
        check(more)
    with pytest.raises(Rejected, match="not used"):
        check(sealed(more, roots=[0]))
    with pytest.raises(Rejected, match="one way"):
        check(sealed(log, terms=[*log["terms"], ["num", "7", []]]))


def test_a_proof_shows_that_its_goal_is_defined() -> None:
    goal = T.eq(T.sub(T.inv(X), T.inv(X)), ZERO)
    with pytest.raises(Rejected, match="do not show"):
        check(write("proof", goal, [decide(goal)]))
    with pytest.raises(Rejected, match="no values"):
        check(write("proof", T.eq(X, X), [decide(T.eq(X, X))], {X: ZERO}))


def test_a_counterexample_has_premises_that_are_defined() -> None:
    """1/x = 0 -> x = 5 says nothing of x = 0."""
    goal = T.implies(T.eq(T.inv(X), ZERO), T.eq(X, T.num(5)))
    at = T.negate(T.substitute(goal, {X: ZERO}))
    with pytest.raises(Rejected, match="do not show"):
        check(write("counterexample", goal, [decide(at)], {X: ZERO}))
    nothing = T.negate(T.negate(T.eq(ZERO, ZERO)))
    with pytest.raises(Rejected, match="do not show"):
        check(write("counterexample", goal, [decide(nothing)], {X: ZERO}))


def test_existence_is_not_refuted_by_an_undefined_instance() -> None:
    goal = T.exists(X, T.eq(T.inv(X), TWO))
    every = T.forall(X, T.negate(T.eq(X, ZERO)))
    no = infer("not-forall", (decide(T.negate(T.negate(T.eq(ZERO, ZERO)))),), T.negate(every), ZERO)
    with pytest.raises(Rejected, match="do not show"):
        check(write("counterexample", goal, [no]))


def test_a_witness_is_defined() -> None:
    goal = T.eq(T.inv(X), ZERO)
    with pytest.raises(Rejected, match="do not show"):
        check(write("witness", goal, [decide(T.eq(T.inv(ZERO), ZERO))], {X: ZERO}))
    fine = T.eq(T.inv(X), T.inv(TWO))
    assert check(write("witness", fine, [decide(T.eq(T.inv(TWO), T.inv(TWO)))], {X: TWO}))


@pytest.mark.parametrize(
    ("symbol", "value"),
    [
        (N, ZERO), (N, T.inv(TWO)), (K, T.inv(TWO)), (I, TWO), (X, Y), (X, RX), (X, K),
        (X, Lam(1, ZERO)), ("A", ZERO), ("A", Lam(1, X)), (T.add(X, Y), ZERO), (J, T.num(-1)),
    ],
    ids=str,
)  # fmt: skip
def test_values_lie_in_the_range_of_their_symbol(symbol: Any, value: Any) -> None:
    goal = T.eq(T.num(1), TWO)
    log = write("counterexample", goal, [decide(T.negate(goal))], {symbol: value})
    with pytest.raises(KernelError):
        check(log)
    assert check(write("counterexample", goal, [decide(T.negate(goal))], {N: TWO, J: ONE}))


def test_a_goal_can_be_stated() -> None:
    """A random quantity outside an expectation is no statement, not even one to refute."""
    goal = T.eq(RX, ZERO)
    no = decide(T.negate(T.eq(ONE, ZERO)))
    with pytest.raises(KernelError, match="random"):
        check(write("counterexample", goal, [no], {RX: ONE}))
    inside = T.eq(E(RX), ZERO)
    assert check(write("counterexample", inside, [decide(T.negate(T.eq(E(ONE), ZERO)))], {RX: ONE}))


def test_the_order_of_the_roots_is_that_of_the_obligations() -> None:
    log = LOGS["quotient"]()
    assert len(log["roots"]) == 2
    with pytest.raises(Rejected):
        check(sealed(log, roots=list(reversed(log["roots"]))))


def test_writing_refuses_what_it_cannot_read() -> None:
    p = T.eq(X, X)
    with pytest.raises(KernelError):
        write("proof", p, [discharged(assume(p), p)], {X: 1.5})  # type: ignore[dict-item]
    item = Item(((0, ()),), ONE)
    with pytest.raises(KernelError, match="argument"):
        infer("linear-combination", (assume(p),), p, 1, [item])


# ---------------------------------------------------------------------------- the program


def run(text: str, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> tuple[int, list[Any]]:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    status = checker.main()
    return status, [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_the_program_answers_for_every_log(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    good = LOGS["absolute"]()
    logs = [good, {**good, "kind": "witness"}, None, LOGS["false_root"]()]
    status, answers = run("\n".join(map(json.dumps, logs)), monkeypatch, capsys)
    assert status == 0
    assert [a["accepted"] for a in answers] == [True, False, False, True]
    assert answers[0]["axioms"] == ["abs-nonneg", "abs-sign"]
    assert answers[0]["goal"] == check(good).goal.key.hex()


@pytest.mark.parametrize(
    "text", ["\n", "{", "1", '{"a": 1}', "[]", "null", "[" * 10**5, "[1" + "0" * 9999 + "]"]
)
def test_a_line_that_is_no_log_is_rejected_and_the_next_one_read(
    text: str, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    good = json.dumps(LOGS["absolute"]())
    status, answers = run(text.rstrip("\n") + "\n" + good, monkeypatch, capsys)
    assert status == 0
    assert [a["accepted"] for a in answers] == [False, True]


def test_no_logs_are_no_answers(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    assert run("", monkeypatch, capsys) == (0, [])


@pytest.mark.parametrize("number", [True, 1.0])
def test_what_is_only_equal_to_a_number_is_no_number(number: object, name: str) -> None:
    """The proof is compared with what was read, for which 1, 1.0 and True are the same."""
    log = json.loads(json.dumps(LOGS[name]()))
    for holder, key in ones(log):
        holder[key] = number
        assert shown_by({**log, "digest": digest(log)}) is None, f"{holder} at {key}"
        holder[key] = 1


def ones(data: Any) -> list[tuple[Any, Any]]:
    """The places of the number 1."""
    items = data.items() if isinstance(data, dict) else enumerate(data)
    found: list[tuple[Any, Any]] = []
    for key, value in [*items]:
        if type(value) is int and value == 1:
            found.append((data, key))
        elif isinstance(value, dict | list):
            found += ones(value)
    return found
