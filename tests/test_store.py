"""Kept proofs: recalled and replayed, and of no weight where they do not fit."""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from derive import language as L
from derive import runner
from derive.claim import Added, Claim, Correction, Example, Given
from derive.replay import Replay
from derive.result import Result, Source, Verdict, from_plain, to_plain
from derive.store import Store, open_store
from derive.verify import recall, settle

d, h, w = L.dims("d h w")
x = L.real("x")
SOURCE = Source("a note", ("1",), "a claim")
FLOOR = L.equal(L.times(h, L.call(L.sp.floor, L.over(d, h))), d)


def claim(name: str, **parts: Any) -> Claim:
    return Claim(**{"id": f"kept/{name}", "title": name, "source": SOURCE, **parts})


PROVED = claim(
    "proved", statement=L.equal(2 * h * w, 2 * d), given=(Given(L.equal(h * w, d)),),
    expected=Verdict.PROVED,
)  # fmt: skip
CONDITIONAL = claim(
    "conditional", statement=FLOOR, added=(Added(L.divides(h, d), Example({d: 10, h: 3})),),
    witness=Example({d: 12, h: 4}), expected=Verdict.CONDITIONAL,
)  # fmt: skip
REFUTED = claim(
    "refuted", statement=FLOOR, counterexample=Example({d: 10, h: 3}),
    correction=Correction(L.equal(d, d)), expected=Verdict.REFUTED,
)  # fmt: skip
CLAIMS = (PROVED, CONDITIONAL, REFUTED)


def timeless(results: list[Result]) -> list[Result]:
    return [replace(r, seconds_symbolic=0.0, seconds_numeric=0.0) for r in results]


def kept(path: Path) -> Store:
    store = Store(path, {})
    runner.verify(CLAIMS, store=store)
    return Store(path, json.loads(path.read_text()))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return kept(tmp_path / "state.json")


def test_a_result_survives_as_plain_data() -> None:
    for c in CLAIMS:
        result = settle(c).result
        assert from_plain(json.loads(json.dumps(to_plain(result)))) == result


def test_recalled_results_are_those_found_anew(store: Store) -> None:
    assert set(store.entries) == {c.id for c in CLAIMS}
    assert all(recall(c, store.entries[c.id]).recalled for c in CLAIMS)
    assert timeless(runner.verify(CLAIMS, store=store)) == timeless(runner.verify(CLAIMS))


def test_what_is_kept_is_replayed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = []
    send = Replay.send
    monkeypatch.setattr(Replay, "send", lambda self, log: sent.append(log) or send(self, log))
    assert all(r.replayed for r in runner.verify(CLAIMS, store=store))
    assert sent == [log for c in CLAIMS for log in store.entries[c.id]["logs"]]


def test_logs_sent_ahead_are_not_sent_again(store: Store) -> None:
    with Replay(2) as replay:
        replay.send_kept(store, store.entries)
        before = len(replay._places)
        assert all(r.replayed for r in runner.verify(CLAIMS, store=store, replay=replay))
        assert len(replay._places) == before


@pytest.mark.parametrize(
    "change",
    [
        {"statement": L.equal(2 * h * w, 3 * d)},
        {"statement": L.equal(2 * h * w, d)},
        {"given": ()},
        {"given": (Given(L.equal(h * w, d + 1)),)},
    ],
)
def test_a_claim_that_has_changed_is_settled_anew(store: Store, change: dict[str, Any]) -> None:
    changed = replace(PROVED, **change)
    settled = recall(changed, store.entries[PROVED.id])
    assert not settled.recalled
    assert settled.result.verdict is not Verdict.PROVED


def test_a_proof_kept_for_another_claim_is_of_no_use(store: Store) -> None:
    assert not recall(REFUTED, store.entries[PROVED.id]).recalled
    assert not recall(PROVED, store.entries[CONDITIONAL.id]).recalled


@pytest.mark.parametrize("verdict", ["proved", "undecided", "refuted", "nonsense"])
def test_a_kept_verdict_needs_the_logs_of_that_verdict(store: Store, verdict: str) -> None:
    entry = deepcopy(store.entries[CONDITIONAL.id])
    entry["result"]["verdict"] = verdict
    assert not recall(CONDITIONAL, entry).recalled


def test_a_proof_under_an_added_condition_is_no_kept_proof_without_it(store: Store) -> None:
    entry = deepcopy(store.entries[CONDITIONAL.id])
    (at,) = (k for k, kind in enumerate(entry["kinds"]) if kind == "proof")
    entry.update({field: [entry[field][at]] for field in ("logs", "goals", "kinds")})
    entry["result"]["verdict"] = "proved"
    assert not recall(CONDITIONAL, entry).recalled


@pytest.mark.parametrize("field", ["result", "logs", "goals", "kinds"])
@pytest.mark.parametrize("value", [None, [], {}, "x", 1])
def test_damaged_entries_are_settled_anew(store: Store, field: str, value: Any) -> None:
    entry = {**store.entries[PROVED.id], field: value}
    damaged = Store(None, {**store.entries, PROVED.id: entry})
    assert timeless(runner.verify(CLAIMS, store=damaged)) == timeless(runner.verify(CLAIMS))


def test_a_kept_log_that_does_not_replay_is_found_anew(store: Store) -> None:
    (log,) = map(json.loads, store.entries[PROVED.id]["logs"])
    log["steps"][0]["conclusion"] = 0
    store.entries[PROVED.id]["logs"] = [json.dumps(log)]
    assert timeless(runner.verify(CLAIMS, store=store)) == timeless(runner.verify(CLAIMS))


def test_a_damaged_file_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DERIVE_STORE", str(tmp_path))
    path = open_store().path
    assert path is not None
    for text in ("", "{", "[]", '{"a": 1}', "null"):
        path.write_text(text)
        assert open_store().entries == {}


def test_nothing_is_kept_where_nothing_can_be_written(tmp_path: Path) -> None:
    folder = tmp_path / "file"
    folder.write_text("")
    runner.verify((PROVED,), store=Store(folder / "state.json", {}))
    assert folder.read_text() == ""


def test_one_state_of_the_program_is_kept(store: Store, tmp_path: Path) -> None:
    (tmp_path / "older.json").write_text("{}")
    again = Store(store.path, {})
    runner.verify((PROVED,), store=again)
    assert [p.name for p in tmp_path.iterdir()] == ["state.json"]


def test_off_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DERIVE_STORE", "off")
    assert open_store().path is None


def test_fresh_takes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DERIVE_STORE", str(tmp_path))
    store = open_store()
    store.keep("a", {"result": 1, "logs": [], "goals": [], "kinds": []})
    store.save()
    assert open_store().entries
    assert not open_store(fresh=True).entries
