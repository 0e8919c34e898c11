"""Kept mutations: the same as new ones, replayed, and of no weight where a log does not fit."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from derive import kept_mutations, runner
from derive import language as L
from derive.claim import Claim, Mutation, Twin
from derive.kept_mutations import attached, open_store, send
from derive.mutations import with_mutations
from derive.replay import Replay
from derive.result import Result, Source, Verdict
from derive.store import Store
from derive.twin import equal

h, w = L.dims("h w")


def mistakes() -> tuple[Mutation, ...]:
    wrong = Twin("twice", lambda rng: iter([equal(1.0, 2.0)]))
    return (
        Mutation("one head is forgotten", statement=L.equal(h * w, h * w - w)),
        Mutation("only the numbers are mistaken", twin=wrong),
    )


CLAIM = Claim(
    id="kept/heads", title="heads", source=Source("a note", ("1",), "a claim"),
    statement=L.equal(h * w + w, (h + 1) * w), mutations=mistakes, expected=Verdict.PROVED,
)  # fmt: skip


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Result]:
    """The results with their mutations, which are kept as well."""
    monkeypatch.setenv("DERIVE_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return with_mutations(runner.verify([CLAIM]), [CLAIM], kept=open_store(0))


def taken(results: list[Result], kept: Store) -> list[Result] | None:
    bare = runner.verify([CLAIM])
    with Replay() as checkers:
        places = send(kept, [CLAIM.id], checkers)
        return places and attached(bare, kept, places, checkers.answers(None))


def test_they_come_back_as_they_were(results: list[Result]) -> None:
    found = taken(results, open_store(0))
    assert found is not None
    assert found[0].mutations == results[0].mutations
    assert [m.caught_by for m in found[0].mutations] == ["counterexample", "twin"]
    assert found[0].mutations[0].counterexample is not None


def test_what_refutes_is_replayed(results: list[Result], monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Any] = []
    plain = Replay.send
    monkeypatch.setattr(Replay, "send", lambda self, log: sent.append(log) or plain(self, log))
    kept = open_store(0)
    assert taken(results, kept)
    assert set(kept.entries[CLAIM.id]["logs"]) <= set(sent)


def other_goal(entry: dict[str, Any]) -> None:
    entry["goals"] = ["0" * 32 for _ in entry["goals"]]


def other_kind(entry: dict[str, Any]) -> None:
    entry["kinds"] = ["proof" for _ in entry["kinds"]]


def broken_log(entry: dict[str, Any]) -> None:
    entry["logs"] = [log.replace("counterexample", "proof") for log in entry["logs"]]


def no_goals(entry: dict[str, Any]) -> None:
    entry["goals"] = []


def other_view(entry: dict[str, Any]) -> None:
    entry["result"]["views"][0]["verdict"] = "settled"


@pytest.mark.parametrize("damage", [other_goal, other_kind, broken_log, no_goals, other_view])
def test_what_does_not_fit_is_not_taken(results: list[Result], damage: Any) -> None:
    kept = open_store(0)
    kept.entries = deepcopy(kept.entries)
    damage(kept.entries[CLAIM.id])
    assert taken(results, kept) is None


def test_what_bears_no_seal_is_not_taken(
    results: list[Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another"))
    assert taken(results, open_store(0)) is None


def test_another_seed_has_another_file(results: list[Result]) -> None:
    assert open_store(1).entries == {}
    assert open_store(0).path != open_store(1).path


def test_a_claim_that_is_not_kept_makes_all_be_found_again(results: list[Result]) -> None:
    with Replay() as checkers:
        assert send(open_store(0), [CLAIM.id, "kept/other"], checkers) is None


def test_proofs_and_mutations_lie_side_by_side(results: list[Result]) -> None:
    mutations = open_store(0).path
    assert mutations is not None
    proofs = mutations.with_name("state.proofs")
    proofs.write_text("")
    kept_mutations.keep(open_store(0), {"kept/other": ()}, {})
    assert proofs.exists()
    assert set(open_store(0).entries) == {CLAIM.id, "kept/other"}
