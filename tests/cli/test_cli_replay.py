"""A verdict stands only if the checker, in its own process, accepts every log of the claim."""

from __future__ import annotations

import copy
import json
import subprocess
from dataclasses import replace

import cli_samples as samples
import pytest

import derive.verify
from derive import replay, runner
from derive.catalogue import load_file
from derive.kernel.log import digest
from derive.result import AxiomView, TwinStatus, Verdict


@pytest.fixture
def claims(tmp_path):
    return load_file(samples.write(tmp_path, samples.GOOD))


def settle_with(monkeypatch, change):
    """Let `settle` return what `change` makes of its results."""
    honest = derive.verify.settle
    monkeypatch.setattr(derive.verify, "settle", lambda claim, **how: change(honest(claim, **how)))


def resigned(log, **changes):
    log = copy.deepcopy(log) | changes
    return log | {"digest": digest(log)}


def test_honest_logs_are_replayed(claims):
    results = runner.verify(claims)
    assert [r.replayed for r in results] == [True, True, True, False]
    assert not runner.failed(results)


def rejected(monkeypatch, claims, change, reason):
    settle_with(monkeypatch, change)
    results = runner.verify(claims[:3])
    for r in results:
        assert r.verdict is Verdict.UNDECIDED
        assert not r.replayed
        assert r.unexpected
        assert reason in r.reason
        assert (r.steps, r.counterexamples, r.correction, r.axioms) == ((), (), None, ())
        assert r.twin.status is TwinStatus.AGREES
    assert runner.failed(results)


def test_a_log_that_was_changed(monkeypatch, claims):
    def change(settled):
        last = {**settled.logs[-1], "steps": []}
        return replace(settled, logs=(*settled.logs[:-1], last))

    rejected(monkeypatch, claims, change, "the digest does not fit")


def test_a_log_that_was_changed_and_signed_again(monkeypatch, claims):
    def change(settled):
        last = resigned(settled.logs[-1], steps=settled.logs[-1]["steps"][:-1])
        return replace(settled, logs=(*settled.logs[:-1], last))

    rejected(monkeypatch, claims, change, "does not replay: log:")


def test_a_log_that_is_no_log(monkeypatch, claims):
    rejected(
        monkeypatch, claims, lambda s: replace(s, logs=(None,) * len(s.logs)), "not those of a log"
    )


def test_the_log_of_another_goal(monkeypatch, claims):
    rejected(
        monkeypatch,
        claims,
        lambda s: replace(s, goals=("00" * 16,) * len(s.goals)),
        "of another goal",
    )


def test_the_proof_of_another_claim(monkeypatch, claims):
    other = derive.verify.settle(claims[0])

    def change(settled):
        swapped = [
            other.logs[0] if k == "proof" else log
            for k, log in zip(settled.kinds, settled.logs, strict=True)
        ]
        return replace(settled, logs=tuple(swapped))

    settle_with(monkeypatch, change)
    results = runner.verify(claims)
    assert [r.verdict for r in results[:2]] == [Verdict.PROVED, Verdict.UNDECIDED]
    assert "is the proof of another goal" in results[1].reason


def test_a_log_of_another_kind(monkeypatch, claims):
    def change(settled):
        return replace(settled, kinds=tuple(reversed(settled.kinds)))

    settle_with(monkeypatch, change)
    floor = runner.verify(claims)[1]
    assert floor.verdict is Verdict.UNDECIDED
    assert "it shows a" in floor.reason


@pytest.mark.parametrize("kind", ["proof", "counterexample", "witness"])
def test_a_kind_of_log_that_is_missing(monkeypatch, claims, kind):
    def change(settled):
        keep = [k for k, has in enumerate(settled.kinds) if has != kind]
        return replace(
            settled,
            logs=tuple(settled.logs[k] for k in keep),
            goals=tuple(settled.goals[k] for k in keep),
            kinds=tuple(settled.kinds[k] for k in keep),
        )

    settle_with(monkeypatch, change)
    floor = runner.verify(claims)[1]
    assert floor.verdict is Verdict.UNDECIDED
    assert f"there is no {kind} in it" in floor.reason


def test_a_claim_without_logs(monkeypatch, claims):
    rejected(monkeypatch, claims, lambda s: replace(s, logs=(), goals=(), kinds=()), "there is no")


def test_logs_and_goals_of_different_number(monkeypatch, claims):
    rejected(monkeypatch, claims, lambda s: replace(s, goals=s.goals[1:]), "do not belong together")


def test_an_axiom_that_is_not_listed(monkeypatch, tmp_path):
    text = (
        samples.HEAD
        + "x = sp.Symbol('x', real=True)\n"
        + ("CLAIMS = (claim('p', equal(sp.sin(x) ** 2 + sp.cos(x) ** 2, 1)),)\n")
    )
    claims = load_file(samples.write(tmp_path, text))
    honest = runner.verify(claims)
    assert honest[0].verdict is Verdict.PROVED
    assert isinstance(honest[0].axioms[0], AxiomView)
    settle_with(monkeypatch, lambda s: replace(s, result=replace(s.result, axioms=())))
    found = runner.verify(claims)
    assert found[0].verdict is Verdict.UNDECIDED
    assert "uses the axiom pythagoras, which is not listed" in found[0].reason


def test_an_undecided_claim_whose_log_is_rejected_is_unexpected(monkeypatch, claims):
    def change(settled):
        return replace(settled, goals=("00" * 16,) * len(settled.goals))

    settle_with(monkeypatch, change)
    results = runner.verify([replace(claims[0], expected=Verdict.UNDECIDED)])
    assert results[0].verdict is results[0].expected is Verdict.UNDECIDED
    assert results[0].unexpected
    assert runner.failed(results)


# ---------------------------------------------------------------------------- the process


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("import sys; sys.exit('out of memory')", "ended with status 1: out of memory"),
        ("print('[]')", "ended with status 0"),
        ("print('nonsense')", "ended with status 0"),
        ("import os; os.kill(os.getpid(), 9)", "ended with status -9"),
    ],
)
def test_a_checker_that_fails(monkeypatch, claims, program, reason):
    start, *_ = replay._command()
    monkeypatch.setattr(replay, "_command", lambda: [start, "-c", program])
    results = runner.verify(claims)
    assert [r.verdict for r in results[:3]] == [Verdict.UNDECIDED] * 3
    assert all(reason in r.reason for r in results[:3])
    assert results[3].verdict is Verdict.NOT_MATHEMATICAL


def test_a_checker_that_never_ends(monkeypatch, claims):
    start, *_ = replay._command()
    monkeypatch.setattr(replay, "_command", lambda: [start, "-c", "import time; time.sleep(60)"])
    monkeypatch.setattr(runner, "GRACE_SECONDS", 0.1)
    results = runner.verify(claims[:1], time_limit=1.0)
    assert "the checker ran over the time limit" in results[0].reason


def test_the_checker_is_the_one_beside_the_program(monkeypatch, tmp_path, claims):
    """A `derive` or a `json` elsewhere on the path, or a start-up file, changes nothing."""
    for name in ("json.py", "sitecustomize.py"):
        (tmp_path / name).write_text("raise SystemExit('hijacked')\n")
    fake = tmp_path / "derive" / "kernel"
    fake.mkdir(parents=True)
    (fake / "check.py").write_text("print('{\"accepted\": true}')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert all(r.replayed for r in runner.verify(claims[:3]))


def test_the_checker_loads_neither_sympy_nor_numpy():
    command = replay._command()
    place = command.index("-c") + 1
    command[place] += (
        "; sys.exit(str(sorted({'sympy', 'numpy', 'derive.claim'} & set(sys.modules))))"
    )
    command[place] = command[place].replace("run_name='__main__'", "run_name='check'")
    run = subprocess.run(command, input=b"", capture_output=True, check=False)
    assert run.stderr.strip() == b"[]"


def test_one_process_replays_everything(monkeypatch, claims):
    started = []
    popen = subprocess.Popen

    def counting(*args, **options):
        started.append(args)
        return popen(*args, **options)

    monkeypatch.setattr(replay.subprocess, "Popen", counting)
    assert sum(r.replayed for r in runner.verify(claims)) == 3
    assert len(started) == 1


def test_several_checkers_share_the_logs(claims):
    logs = [json.dumps(log) for c in claims for log in derive.verify.settle(c).logs]
    with replay.Replay() as one:
        places = [one.send(log) for log in logs]
        expected = one.answers(None)
    assert all(a["accepted"] and a.pop("seconds") > 0 for a in expected)
    logs.insert(1, "{}")
    with replay.Replay(3) as several:
        assert [several.send(log) for log in logs] == [*places, len(logs) - 1]
        found = several.answers(None)
        assert all(checker._count for checker in several._checkers)
    assert not found.pop(1)["accepted"]
    assert all(a.pop("seconds") > 0 for a in found)
    assert found == expected


def test_a_checker_that_ends_leaves_the_others_alone(claims):
    logs = [json.dumps(log) for c in claims for log in derive.verify.settle(c).logs]
    with replay.Replay(2) as two:
        two._checkers[1]._process.kill()
        for log in logs:
            two.send(log)
        accepted = [a["accepted"] for a in two.answers(None)]
        lost = [checker is two._checkers[1] for checker, _ in two._places]
    assert any(lost)
    assert accepted == [not gone for gone in lost]


@pytest.mark.parametrize(
    ("claims", "jobs", "count"), [(0, 4, 1), (199, 4, 1), (200, 4, 2), (2000, 2, 2), (2000, 1, 1)]
)
def test_checkers_are_started_where_they_pay(claims, jobs, count):
    assert replay.checkers_for(claims, jobs) == count


def test_progress_is_told(claims):
    seen = []
    runner.verify(claims, progress=lambda *news: seen.append(news))
    assert seen == [
        (stage, k, 4, claims[k - 1].id) for stage in ("proofs", "twins") for k in range(1, 5)
    ]
