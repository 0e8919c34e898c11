"""Kept proofs: recalled and replayed, and of no weight where they do not fit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from derive import kept, runner, sealed
from derive import language as L
from derive.catalogue import PACKAGE
from derive.claim import Added, Claim, Correction, Example, Given
from derive.replay import Replay
from derive.result import Result, Source, Verdict, from_plain, to_plain
from derive.store import Module, Store, open_store, read
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


@pytest.fixture(autouse=True)
def key(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    path = tmp_path / "state.proofs"
    runner.verify(CLAIMS, store=Store(path, {}))
    return read(path)


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


def test_nothing_is_kept_where_nothing_can_be_written(tmp_path: Path) -> None:
    folder = tmp_path / "file"
    folder.write_text("")
    runner.verify((PROVED,), store=Store(folder / "state.proofs", {}))
    assert folder.read_text() == ""


def test_off_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DERIVE_STORE", "off")
    assert open_store().path is None


def test_fresh_takes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DERIVE_STORE", str(tmp_path))
    store = open_store()
    store.keep("a", {"result": 1, "logs": ["x"], "goals": ["y"], "kinds": ["proof"]})
    store.save()
    assert open_store().entries == store.entries
    assert not open_store(fresh=True).entries


# ---------------------------------------------------------------------------- the seal

MODULE = Module(1, "a_module", "kept", tuple(c.id for c in CLAIMS))


def test_what_this_user_has_written_is_read_again(store: Store) -> None:
    store.know([MODULE], complete=True)
    store.save()
    assert store.path is not None
    again = read(store.path)
    assert again.complete
    assert again.modules == (MODULE,)
    assert again.entries == store.entries


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("kept/proved", "kept/other"),
        ('"verdict": "conditional"', '"verdict": "proved"'),
        ('"rule": ', '"rule":  '),
        ('"complete": true', '"complete": false'),
        ('"latex": "', '"latex": "0 = 1 '),
    ],
)
def test_an_edited_file_is_no_file(store: Store, before: str, after: str) -> None:
    store.know([MODULE], complete=True)
    store.save()
    assert store.path is not None
    text = store.path.read_text()
    assert before in text
    store.path.write_text(text.replace(before, after, 1))
    other = read(store.path)
    assert not other.entries
    assert not other.modules
    assert not other.complete
    assert timeless(runner.verify(CLAIMS, store=other)) == timeless(runner.verify(CLAIMS))


def test_a_file_of_somebody_else_is_no_file(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another"))
    assert store.path is not None
    assert not read(store.path).entries
    sealed.write(tmp_path / f"{'0' * 32}.other", b"")
    assert len(list((tmp_path / "another").rglob("key"))) == 1
    assert not read(store.path).entries, "nor with a key of one's own"


def test_a_file_of_another_state_is_no_file(store: Store) -> None:
    assert store.path is not None
    assert read(store.path).entries
    renamed = store.path.rename(store.path.with_name("other.proofs"))
    assert not read(renamed).entries
    assert not read(renamed.rename(store.path.with_suffix(".mutations"))).entries


def test_fresh_runs_lose_nothing(store: Store) -> None:
    store.put_aside()
    assert not store.entries
    runner.verify((PROVED,), store=store)
    assert store.path is not None
    assert set(read(store.path).entries) == {c.id for c in CLAIMS}


# ---------------------------------------------------------------------------- results as kept


def test_names_are_told_only_where_all_are_known(store: Store) -> None:
    assert kept.names(store, ["kept/*"]) is None
    store.know([MODULE], complete=False)
    assert kept.names(store, ["kept/*"]) == [c.id for c in CLAIMS]
    assert kept.names(store, ["kept/re*"]) == [REFUTED.id]
    for patterns in ([], ["*"], ["k*/*"], ["kept"], ["kept/none"], ["kept/*", "other/*"]):
        assert kept.names(store, patterns) is None
    store.know([], complete=True)
    for patterns in ([], ["*"], ["k*/*"]):
        assert kept.names(store, patterns) == [c.id for c in CLAIMS]
    store.entries = {i: e for i, e in store.entries.items() if i != REFUTED.id}
    assert kept.names(store, []) is None
    assert kept.names(store, ["kept/proved"]) == [PROVED.id]


def as_kept(store: Store, seed: int = 0, *, twins: bool = True, jobs: int = 1) -> Any:
    names = list(store.entries)
    with Replay(1) as replay:
        replay.send_kept(store, names)
        return kept.results(store, names, replay, seed=seed, jobs=jobs, twins=twins)


@pytest.fixture
def of_module(store: Store, monkeypatch: pytest.MonkeyPatch) -> Store:
    """The same store, with the claims in a module of the package."""
    module = ModuleType(f"{PACKAGE}.a_module")
    module.CLAIMS = CLAIMS  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    store.know([MODULE], complete=True)
    return store


@pytest.mark.parametrize("jobs", [1, 2])
def test_results_as_kept_are_those_of_the_claims(of_module: Store, jobs: int) -> None:
    assert timeless(as_kept(of_module, jobs=jobs)) == timeless(runner.verify(CLAIMS))


def test_a_log_that_is_not_accepted_gives_no_results(of_module: Store) -> None:
    (log,) = map(json.loads, of_module.entries[PROVED.id]["logs"])
    log["steps"][0]["conclusion"] = 0
    of_module.entries[PROVED.id]["logs"] = [json.dumps(log)]
    assert as_kept(of_module, twins=False) is None


@pytest.mark.parametrize(
    "change",
    [{"goals": []}, {"goals": ["00"]}, {"kinds": ["witness"]}, {"logs": []}, {"result": {}}],
)
def test_an_entry_that_does_not_fit_gives_no_results(
    of_module: Store, change: dict[str, Any]
) -> None:
    of_module.entries[PROVED.id].update(change)
    assert as_kept(of_module, twins=False) is None


def test_a_module_that_cannot_be_read_gives_no_results(
    of_module: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, f"{PACKAGE}.a_module", None)
    assert as_kept(of_module) is None
    assert as_kept(of_module, twins=False) is not None


PROGRAM = """
import sys
from derive.cli import main
status = main(["verify", "relu/*", *sys.argv[1:], "--json", "-"])
print("sympy" in sys.modules, file=sys.stderr)
sys.exit(status)
"""


def test_the_program_gives_the_same_as_kept(tmp_path: Path) -> None:
    def run(*options: str) -> tuple[Any, str]:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, *options], capture_output=True, text=True, check=True,
            env={**os.environ, "DERIVE_STORE": str(tmp_path)},
        )  # fmt: skip
        found = json.loads(done.stdout)
        del found["seconds"]
        for c in found["claims"]:
            del c["seconds"]
        return found, done.stderr.strip()

    first, loaded = run()
    assert loaded == "True"
    assert run() == (first, "True"), "the twins need the modules"
    bare, loaded = run("--no-twins")
    assert loaded == "False"
    assert bare == run("--no-twins", "--fresh")[0]
    assert first == run("--time-limit", "60")[0]
