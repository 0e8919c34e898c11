"""What is kept of Coq's answers counts for the logs that it was given, and for nothing else."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from derive import runner, wording
from derive.catalogue import all_claims
from derive.certify import record
from derive.cli import main

NAMES = ("head-width/floor", "head-width/remainder")


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.setenv("DERIVE_STORE", str(tmp_path))
    claims = [c for c in all_claims(["head-width/*"]) if c.id in NAMES]
    return runner.verify(claims)


def test_nothing_is_known_before_coq_has_run(results):
    found = record.attached(results)
    assert {(r.certificate, r.certificate_reason) for r in found} == {("none", record.NOT_RUN)}


def test_what_coq_said_is_told_of_the_same_logs(results):
    first, second = results
    record.keep(results, {first.id: ("coq", ""), second.id: ("none", "no rule for it")})
    a, b = record.attached(results)
    assert (a.certificate, a.certificate_reason) == ("coq", "")
    assert (b.certificate, b.certificate_reason) == ("none", "no rule for it")
    assert wording.replayed(a).endswith("the independent checker and by Coq.")
    assert wording.replayed(b).endswith("the independent checker. No certificate: no rule for it.")


def test_another_log_has_no_certificate(results):
    record.keep(results, {r.id: ("coq", "") for r in results})
    first = results[0]
    for logs in ((), first.logs[:1], (*first.logs, first.logs[0]), first.logs[::-1],
                 (replace(first.logs[0], digest="0" * 64), *first.logs[1:])):  # fmt: skip
        (found,) = record.attached([replace(first, logs=logs)])
        assert found.certificate == ("coq" if logs == first.logs else "none")


def test_what_is_not_replayed_has_no_certificate(results):
    record.keep(results, {r.id: ("coq", "") for r in results})
    (found,) = record.attached([replace(results[0], replayed=False)])
    assert (found.certificate, found.certificate_reason) == ("none", record.NOTHING)


def test_later_runs_add_to_what_is_kept(results):
    first, second = results
    record.keep([first], {first.id: ("coq", "")})
    record.keep([second], {second.id: ("coq", "")})
    assert [r.certificate for r in record.attached(results)] == ["coq", "coq"]


def test_other_sources_make_other_certificates(results, monkeypatch):
    record.keep(results, {r.id: ("coq", "") for r in results})
    monkeypatch.setattr(record, "_sources", lambda: "others")
    assert {r.certificate for r in record.attached(results)} == {"none"}


@pytest.mark.parametrize(
    "damage",
    ["", "[]", "{}", "nonsense", '{"sources": 1, "claims": {}}', '{"claims": []}'],
)
def test_a_damaged_file_says_nothing(results, tmp_path, damage):
    record.keep(results, {r.id: ("coq", "") for r in results})
    (tmp_path / "certificates.record").write_text(damage)
    assert {r.certificate for r in record.attached(results)} == {"none"}


@pytest.mark.parametrize(("before", "after"), [('"none"', '"coq"'), ("{", " {"), ("\n", "\n\n")])
def test_an_edited_file_says_nothing(results, tmp_path, before, after):
    record.keep(results, {r.id: ("none", "no rule for it") for r in results})
    path = tmp_path / "certificates.record"
    path.write_text(path.read_text().replace(before, after, 1))
    assert {r.certificate_reason for r in record.attached(results)} == {record.NOT_RUN}


def test_verify_tells_it(results, capsys):
    record.keep(results, {results[0].id: ("coq", "")})
    assert main(["verify", *(r.id for r in results), "--json", "-"]) == 0
    claims = json.loads(capsys.readouterr().out)["claims"]
    assert [c["certificate"] for c in claims] == ["coq", "none"]
    assert [c["certificate_reason"] for c in claims] == ["", record.NOT_RUN]


def test_where_nothing_is_kept_nothing_is_known(results, monkeypatch):
    monkeypatch.setenv("DERIVE_STORE", "off")
    record.keep(results, {r.id: ("coq", "") for r in results})
    assert {r.certificate for r in record.attached(results)} == {"none"}
