"""The proofs that the build puts into the package."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from derive import language as L
from derive import runner, store
from derive.building import add_proofs
from derive.claim import Claim
from derive.result import Source, Verdict

d = L.dim("d")
CLAIM = Claim(
    id="built/halves", title="halves", source=Source("a note", ("1",), "a claim"),
    statement=L.equal(L.plus(d, d), L.times(2, d)), expected=Verdict.PROVED,
)  # fmt: skip


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("DERIVE_STORE", str(tmp_path / "kept"))
    monkeypatch.setattr(store, "BUILT", tmp_path / "built")


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """A file as the build leaves it: what a run has kept, without its seal."""
    mine = store.open_store()
    assert not mine.entries
    assert mine.path is not None
    runner.verify([CLAIM], store=mine)
    _, _, contents = mine.path.read_bytes().partition(b"\n")
    mine.path.unlink()
    place = tmp_path / "built" / mine.path.name
    place.parent.mkdir()
    place.write_bytes(contents)
    return place


def test_what_the_package_holds_is_recalled_and_replayed(built: Path, tmp_path: Path) -> None:
    found = store.open_store()
    assert set(found.entries) == {CLAIM.id}
    (result,) = runner.verify([CLAIM], store=found)
    assert result.replayed
    assert not list((tmp_path / "kept").iterdir())


def test_it_belongs_to_one_state_of_the_program(built: Path) -> None:
    built.rename(built.with_stem("0" * 32))
    assert not store.open_store().entries


def test_a_log_in_it_that_was_altered_carries_nothing(built: Path) -> None:
    head, about, log = built.read_text().split("\n")
    steps = json.loads(log)
    steps["steps"][0]["conclusion"] = 0
    built.write_text("\n".join([head, about, json.dumps(steps)]))
    (result,) = runner.verify([CLAIM], store=store.open_store())
    assert result.replayed  # found anew
    (entry,) = store.open_store().entries.values()
    assert entry["logs"] == [log]


def test_what_is_found_anew_goes_to_the_folder_of_the_user(built: Path, tmp_path: Path) -> None:
    fresh = store.open_store(fresh=True)
    assert not fresh.entries
    runner.verify([CLAIM], store=fresh)
    assert [p.name for p in (tmp_path / "kept").iterdir()] == [built.name]
    assert set(store.open_store().entries) == {CLAIM.id}


def test_off_takes_nothing_from_it(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DERIVE_STORE", "off")
    assert not store.open_store().entries


def package(folder: Path, main: str) -> Path:
    """A package `derive` of which `main` is what ``python -m derive`` does."""
    (folder / "derive").mkdir(parents=True)
    (folder / "derive" / "__init__.py").touch()
    (folder / "derive" / "__main__.py").write_text(main)
    return folder


KEEPS = """
import os, pathlib, sys
assert sys.argv[1] == "verify"
folder = pathlib.Path(os.environ["DERIVE_STORE"])
(folder / "a.proofs").write_text("seal\\nfirst\\nsecond")
(folder / "a.other").write_text("seal\\nfirst")
"""


def test_the_build_adds_what_was_kept_without_the_seal(tmp_path: Path) -> None:
    folder = package(tmp_path / "lib", KEEPS)
    assert add_proofs(folder) == ""
    (found,) = (folder / "derive" / "proofs").iterdir()
    assert (found.name, found.read_text()) == ("a.proofs", "first\nsecond")
    assert not list(folder.rglob("__pycache__"))


@pytest.mark.parametrize(
    ("main", "why"),
    [
        (KEEPS + "raise SystemExit('one is unexpected')", "one is unexpected"),
        ("import nothing_of_that_name", "ModuleNotFoundError"),
        ("", "no proofs were kept"),
    ],
)
def test_the_build_goes_on_without_proofs(tmp_path: Path, main: str, why: str) -> None:
    folder = package(tmp_path / "lib", main)
    assert why in add_proofs(folder)
    assert sorted(os.listdir(folder / "derive")) == ["__init__.py", "__main__.py"]
