"""Mutations: what is said of a mistake, and that one that passes is told."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import sympy as sp

from derive import jsonout, runner, terminal
from derive import language as L
from derive.catalogue import InputError
from derive.claim import Added, Claim, Example, Given, Mutation
from derive.mutations import made_for, with_mutations
from derive.result import Source, TwinStatus, Verdict
from derive.twin import Twin
from derive.twin import equal as agree

d, h, w = L.dims("d h w")
x = L.real("x")
RIGHT = Twin("one and one", lambda rng: [agree(1 + 1, 2)])
WRONG = Twin("one and one", lambda rng: [agree(1 - 1, 2)])


def claim(**parts):
    default = {
        "id": "topic/name", "title": "A claim", "source": Source("notes.txt", ("A01",), "Says it."),
        "expected": Verdict.PROVED, "statement": L.equal(L.plus(d, d), 2 * d), "twin": RIGHT,
    }  # fmt: skip
    return Claim(**{**default, **parts})


def views(*mutations, **parts):
    made = claim(mutations=lambda: mutations, **parts)
    (result,) = with_mutations(runner.verify([made]), [made])
    assert result.verdict is made.expected
    assert runner.failed([result]) is not all(m.caught for m in result.mutations)
    return result.mutations


def test_a_false_statement_is_caught_by_a_counterexample():
    (m,) = views(Mutation("tripled", statement=L.equal(L.plus(d, d), 3 * d)))
    assert (m.caught, m.caught_by, m.verdict) == (True, "counterexample", Verdict.REFUTED)
    assert m.counterexample.values == {"d": "1"}
    assert m.counterexample.latex == r"2 \ne 3"
    assert m.twin.status is TwinStatus.NONE


def test_a_wrong_twin_is_caught_by_the_twin():
    (m,) = views(Mutation("taken away", twin=WRONG))
    assert (m.caught, m.caught_by, m.verdict, m.statement) == (True, "twin", None, "")
    assert m.twin.status is TwinStatus.DISAGREES


def test_both_may_catch_it():
    (m,) = views(Mutation("both", statement=L.equal(L.plus(d, d), 3 * d), twin=WRONG))
    assert m.caught_by == "counterexample and twin"


@pytest.mark.parametrize(
    "mutation",
    [
        Mutation("turned round", statement=L.equal(2 * d, L.plus(d, d))),
        Mutation("the same numbers", twin=RIGHT),
        Mutation("a true statement", statement=L.equal(2 * d, L.plus(d, d)), twin=WRONG),
        Mutation("an agreeing twin", statement=L.equal(d, 2 * d), twin=RIGHT),
    ],
)
def test_what_passes_is_told(mutation):
    (m,) = views(mutation)
    assert (m.caught, m.caught_by) == (False, "nothing")


def test_hypotheses_may_be_mistaken():
    parts = {"statement": L.equal(2 * h * w, 2 * d), "given": (Given(L.equal(h * w, d)),)}
    (dropped, other, same) = views(
        Mutation("dropped", given=()),
        Mutation("another", given=(Given(L.equal(h * w, d + 1)),)),
        Mutation("kept", statement=L.equal(h * w, 2 * d)),
        **parts,
    )
    assert {m.caught_by for m in (dropped, other, same)} == {"counterexample"}
    assert dropped.statement == r"2\,h\,w = 2\,d"
    assert other.statement == r"h\,w = d+1 \ \Rightarrow\  2\,h\,w = 2\,d"


def test_added_hypotheses_hold_for_a_mistaken_conclusion():
    parts = {
        "statement": L.equal(L.over(x * x, x), x),
        "added": (Added(L.negation(L.equal(x, 0)), Example({x: 0})),),
        "witness": Example({x: 1}),
        "expected": Verdict.CONDITIONAL,
    }  # fmt: skip
    (m,) = views(Mutation("halved", statement=L.equal(L.over(x * x, x), x / 2)), **parts)
    assert m.caught_by == "counterexample"
    assert m.counterexample.values["x"] != "0"


def test_no_proof_is_as_much_as_is_known_where_nothing_refutes_it():
    """Values of an abstract expectation cannot be chosen."""
    y = sp.Symbol("y", real=True)
    noise = L.random_tensor("u", d)
    i = L.index("i", d)
    parts = {"statement": L.forall(i, L.equal(L.Expectation(noise[i]), L.Expectation(noise[i])))}
    (m,) = views(
        Mutation("a mean of nought", L.forall(i, L.equal(L.Expectation(noise[i]), y))), **parts
    )
    assert (m.verdict, m.caught_by) == (Verdict.UNDECIDED, "no proof")


def test_a_mutation_changes_something():
    with pytest.raises(ValueError, match="changes nothing"):
        Mutation("nothing at all")


def test_faults_of_a_module_are_told_in_one_line():
    with pytest.raises(InputError, match=r"topic/name: its mutations cannot be made: ZeroDiv.*py:"):
        made_for(claim(mutations=lambda: 1 // 0))
    with pytest.raises(InputError, match="a mutation is not a Mutation but a int"):
        made_for(claim(mutations=lambda: (1,)))
    assert made_for(claim()) == ()


def test_what_is_printed():
    made = claim(mutations=lambda: (
        Mutation("tripled", statement=L.equal(L.plus(d, d), 3 * d)), Mutation("same", twin=RIGHT)
    ))  # fmt: skip
    results = with_mutations(runner.verify([made]), [made])
    found = json.loads(jsonout.dumps(jsonout.results_object(results, seed=0, seconds=0)))
    first, second = found["claims"][0]["mutations"]
    assert first["says"] == "tripled"
    assert first["verdict"] == "refuted"
    assert first["counterexample"] == {"d": "1"}
    assert first["caught_by"] == "counterexample"
    assert (second["verdict"], second["statement"]) == (None, None)
    assert (second["twin"]["status"], second["caught_by"]) == ("agrees", "nothing")
    text = terminal.show(results[0], terminal.Style(unicode=False))
    assert "caught by: counterexample" in text
    assert "caught by: nothing" in text
    text = terminal.verified(results, terminal.Style(unicode=False), seed=0, seconds=0)
    assert "Mutations: 2, 1 not caught." in text
    assert "the mutation is not caught: same" in text


def test_results_without_mutations_say_nothing_of_them():
    made = claim()
    found = jsonout.results_object(with_mutations(runner.verify([made]), [made]), seed=0, seconds=0)
    assert "mutations" not in found["claims"][0]
    assert replace(runner.verify([made])[0]).mutations == ()
