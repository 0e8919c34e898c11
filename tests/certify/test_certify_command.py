"""The command ``derive certify``."""

from __future__ import annotations

import json

import pytest

from derive.certify import check
from derive.cli import main

CLAIM = "head-width/position-in-range"


def test_sources_are_written(tmp_path, capsys) -> None:
    out = tmp_path / "coq"
    assert main(["certify", CLAIM, "--out", str(out), "--json", str(tmp_path / "c.json")]) == 0
    assert capsys.readouterr().out == f"{out}\n"
    written = {p.name for p in out.iterdir()}
    assert {"Prelude.v", "Run.v", "Spec.v", "Logs1.v", "Logs2.v", "Audit.v"} <= written
    assert "Definition head_width__position_in_range :=" in (out / "Spec.v").read_text("utf-8")
    (claim,) = json.loads((tmp_path / "c.json").read_text(encoding="utf-8"))["claims"]
    assert claim["id"] == CLAIM
    assert claim["certificate"] == "none"
    assert "Coq was not run" in claim["reason"]


def test_without_coq_the_packages_are_named(tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.setattr(check, "has_coq", lambda: False)
    assert main(["certify", CLAIM, "--out", str(tmp_path / "a"), "--check"]) == 2
    assert capsys.readouterr().err == (
        "derive: --check: coqc or coqchk is missing; install coq libcoq-coquelicot\n"
    )
    assert main(["certify", CLAIM, "--out", str(tmp_path / "a"), "--recheck"]) == 2
    assert capsys.readouterr().err.startswith("derive: --recheck: coqc or coqchk is missing")
    assert not (tmp_path / "a").exists()
    assert main(["certify", CLAIM, "--out", str(tmp_path / "a")]) == 0
    assert "install coq libcoq-coquelicot" in capsys.readouterr().err


@pytest.mark.parametrize("asked", [["no/such-claim"], ["--out"], [CLAIM, "--out", "/dev/null/x"]])
def test_bad_input_is_told_in_one_line(asked: list[str], capsys) -> None:
    assert main(["certify", *asked]) == 2
    error = capsys.readouterr().err
    assert error.startswith("derive: ")
    assert error.count("\n") == 1


def test_what_is_asked_of_coq(tmp_path, monkeypatch) -> None:
    asked = []
    monkeypatch.setattr(check, "has_coq", lambda: True)
    monkeypatch.setattr(check, "_compile", lambda out, names: ["= [] : list bool"] * len(names))
    monkeypatch.setattr(check, "replayed", lambda project, part, said: [])
    monkeypatch.setattr(check, "audit", lambda out: ())
    monkeypatch.setattr(check, "recheck", lambda out, *names: asked.append(tuple(map(set, names))))
    for option in ("--check", "--recheck"):
        main(["certify", CLAIM, "--out", str(tmp_path / "a"), option])
    once, *again = asked
    ours = {p.stem for p in (tmp_path / "a").glob("*.v")}
    replays = {"Proofs1", "Proofs2"}
    assert once == (ours - replays,)
    # With all that the others need, and so Coq's library; the replays at the same time.
    alone, with_needed = (set().union(*sets) for sets in zip(*again, strict=True))
    assert alone == {"Audit", *replays}
    assert with_needed == ours - alone


def test_a_source_that_coq_refuses_ends_with_status_1(tmp_path, capsys, monkeypatch) -> None:
    def refuse(*_: object, **_how: object) -> None:
        raise check.CoqError("Proofs1.v: coqc refuses it: no")

    monkeypatch.setattr(check, "has_coq", lambda: True)
    monkeypatch.setattr(check, "check", refuse)
    assert main(["certify", CLAIM, "--out", str(tmp_path / "a"), "--check"]) == 1
    assert capsys.readouterr().err == "derive: Proofs1.v: coqc refuses it: no\n"


def test_modules_are_compiled_in_stages(tmp_path) -> None:
    requires = {"A": "", "B": "A", "C": "A", "D": "B\n  C", "E": "A"}
    for name, needed in requires.items():
        line = f"From Derive Require Import {needed}.\n" if needed else ""
        (tmp_path / f"{name}.v").write_text(f"Require Import Reals.\n{line}", encoding="utf-8")
    assert check.stages(tmp_path, [*requires]) == [["A"], ["B", "C", "E"], ["D"]]
