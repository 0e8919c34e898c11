"""``derive verify``: verdicts, exit statuses, JSON, time limit, jobs and what may break off."""

from __future__ import annotations

import json
import os
import re
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import cli_samples as samples
import pytest

from derive import runner
from derive.cli import main
from derive.kernel.axioms import AXIOMS, EVALUATIONS

TOP = ["schema", "seed", "seconds", "summary", "claims"]
SUMMARY = [
    "claims", "proved", "conditional", "refuted", "undecided", "not-mathematical",
    "unexpected", "twin_disagreements",
]  # fmt: skip
CLAIM = [
    "id", "title", "source", "statement", "hypotheses", "verdict", "expected", "steps", "axioms",
    "counterexample", "correction", "replayed", "certificate", "certificate_reason", "twin",
    "seconds",
]  # fmt: skip
TWIN = ["status", "trials", "max_error", "tolerance", "reason"]
VERDICTS = {"proved", "conditional", "refuted", "undecided", "not-mathematical"}


def check_schema(text: str) -> dict:
    """The object of the contract, key by key and in order; numbers, texts and nulls as there."""
    found = json.loads(text)
    assert list(found) == TOP
    assert found["schema"] == 1
    assert type(found["seed"]) is int
    assert isinstance(found["seconds"], float)
    assert list(found["summary"]) == SUMMARY
    assert all(type(count) is int for count in found["summary"].values())
    for claim in found["claims"]:
        check_claim(claim)
    return found


def check_claim(claim: dict) -> None:
    assert list(claim) == CLAIM
    check_texts(claim["source"], ["document", "says"], places=list)
    assert all(isinstance(p, str) for p in claim["source"]["places"])
    for hypothesis in claim["hypotheses"]:
        check_texts(hypothesis, ["latex", "from"], used=bool)
        assert hypothesis["from"] in {"source", "added"}
    assert {claim["verdict"], claim["expected"]} <= VERDICTS
    for step in claim["steps"]:
        check_texts(step, ["latex", "rule"])
    for axiom in claim["axioms"]:
        check_texts(axiom, ["name", "citation"])
        assert axiom["name"] in AXIOMS or axiom["name"] in EVALUATIONS
    example = claim["counterexample"]
    assert example is None or all(isinstance(v, str) for v in example.values())
    assert claim["correction"] is None or isinstance(claim["correction"], str)
    assert type(claim["replayed"]) is bool
    assert claim["certificate"] in {"coq", "none"}
    check_twin(claim["twin"])
    assert list(claim["seconds"]) == ["symbolic", "numeric"]
    assert all(type(s) is float for s in claim["seconds"].values())
    for key in ("id", "title", "statement", "certificate_reason"):
        assert isinstance(claim[key], str)


def check_texts(part: dict, texts: list[str], **others: type) -> None:
    """A part has these keys and no others: texts, and what is not text."""
    assert part.keys() == {*texts, *others}
    assert all(isinstance(part[key], str) for key in texts)
    assert all(type(part[key]) is kind for key, kind in others.items())


def check_twin(twin: dict) -> None:
    assert list(twin) == TWIN
    assert twin["status"] in {"agrees", "disagrees", "none"}
    assert type(twin["trials"]) is int
    assert all(twin[key] is None or type(twin[key]) is float for key in ("max_error", "tolerance"))
    assert isinstance(twin["reason"], str)


def verify(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, dict]:
    status = main(["verify", *args, "--json", "-"])
    return status, check_schema(capsys.readouterr().out)


def without_times(found: dict) -> dict:
    claims = [{k: v for k, v in claim.items() if k != "seconds"} for claim in found["claims"]]
    return {k: v for k, v in found.items() if k != "seconds"} | {"claims": claims}


# ---------------------------------------------------------------------------- verdicts


def test_without_twins(tmp_path, capsys):
    path = samples.write(tmp_path, samples.GOOD)
    status, found = verify(capsys, path, "--no-twins")
    assert status == 0
    assert {c["twin"]["status"] for c in found["claims"]} == {"none"}
    assert [c["replayed"] for c in found["claims"]] == [True, True, True, False]
    _, complete = verify(capsys, path)
    assert {c["twin"]["status"] for c in complete["claims"]} == {"agrees", "none"}


def test_every_verdict_as_expected(tmp_path, capsys):
    status, found = verify(capsys, samples.write(tmp_path, samples.GOOD))
    assert status == 0
    assert found["summary"] == dict(zip(SUMMARY, [4, 1, 1, 1, 0, 1, 0, 0], strict=True))
    proved, conditional, refuted, story = found["claims"]
    assert proved["verdict"] == "proved"
    assert proved["replayed"]
    assert proved["steps"]
    assert conditional["hypotheses"] == [
        {"latex": r"h \mid d_{\text{model}}", "from": "added", "used": True}
    ]
    assert conditional["counterexample"] == {"d_model": "10", "h": "3"}
    assert refuted["counterexample"] == {"n": "3"}
    assert refuted["correction"]
    assert refuted["replayed"]
    assert story["verdict"] == "not-mathematical"
    assert story["statement"] == ""
    assert not story["replayed"]
    assert story["twin"]["status"] == "none"


def test_unexpected_verdict_is_status_1(tmp_path, capsys):
    status, found = verify(capsys, samples.write(tmp_path, samples.UNEXPECTED))
    assert status == 1
    assert found["summary"]["unexpected"] == 1
    wrong, right = found["claims"]
    assert (wrong["verdict"], wrong["expected"]) == ("refuted", "proved")
    assert right["verdict"] == "proved"


def test_unexpected_verdict_is_explained(tmp_path, capsys):
    assert main(["verify", samples.write(tmp_path, samples.UNEXPECTED)]) == 1
    out = capsys.readouterr().out
    assert "1 unexpected" in out
    assert re.search(r"mine/wrong\n +refuted, expected: proved", out)
    assert "n = 1" in out


def test_disagreeing_twin_is_status_1(tmp_path, capsys):
    path = samples.write(tmp_path, samples.DISAGREEING)
    status, found = verify(capsys, path)
    assert status == 1
    assert found["summary"]["twin_disagreements"] == 1
    assert found["summary"]["unexpected"] == 0
    assert found["claims"][0]["twin"]["status"] == "disagrees"
    assert main(["verify", path]) == 1
    assert "the numeric twin disagrees: two: error" in capsys.readouterr().out


def test_a_twin_without_numbers_is_still_json(tmp_path, capsys):
    text = samples.DISAGREEING.replace("2.001", "float('inf')")
    status, found = verify(capsys, samples.write(tmp_path, text))
    assert status == 1
    assert found["claims"][0]["twin"]["max_error"] is None


def test_seed_reaches_the_twin(tmp_path, capsys):
    text = samples.DISAGREEING.replace("2.001", "rng.standard_normal()")
    path = samples.write(tmp_path, text)
    errors = [
        verify(capsys, path, "--seed", seed)[1]["claims"][0]["twin"]["max_error"]
        for seed in ("1", "1", "2")
    ]
    assert errors[0] == errors[1] != errors[2]


# ---------------------------------------------------------------------------- what breaks off


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_time_limit_stops_one_claim_only(tmp_path, capsys, jobs):
    path = samples.write(tmp_path, samples.SLOW)
    start = time.perf_counter()
    status, found = verify(capsys, path, "--time-limit", "0.5", "--jobs", jobs)
    assert time.perf_counter() - start < 20
    assert status == 1
    verdicts = {c["id"]: c["verdict"] for c in found["claims"]}
    assert verdicts == {"mine/first": "proved", "mine/slow": "undecided", "mine/last": "proved"}
    slow = found["claims"][1]
    assert not slow["replayed"]
    assert slow["statement"] == r"n+d_{\text{model}} = d_{\text{model}}+n"
    assert slow["twin"]["reason"] == "not finished within the time limit"


def test_time_limit_is_the_reason(tmp_path, capsys):
    path = samples.write(tmp_path, samples.SLOW)
    assert main(["verify", path, "--time-limit", "0.25"]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert (
        "undecided, expected: proved; the proof script ran over the claim's time limit of 0.25 s"
        in out
    )


def test_time_limit_holds_for_loading_a_file(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(runner, "GRACE_SECONDS", 0.25)
    stubborn = """\
CLAIMS = ()
while True:
    try:
        while True:
            pass
    except BaseException as lost:
        if CLAIMS:
            raise
        CLAIMS = (lost,)
"""
    path = samples.write(tmp_path, stubborn)
    assert main(["verify", path, "--time-limit", "0.25"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == f"derive: {path}: loading it ran over the time limit of 0.25 s\n"


def test_time_limit_holds_for_twins(tmp_path, capsys):
    text = samples.DISAGREEING.replace(
        "    return [agree(2", "    time.sleep(60)\n    return [agree(2"
    )
    status, found = verify(capsys, samples.write(tmp_path, text), "--time-limit", "0.5")
    assert status == 1
    assert found["claims"][0]["verdict"] == "undecided"
    assert found["claims"][0]["twin"]["status"] == "none"


def test_a_claim_that_was_cut_short_is_unexpected_even_if_it_should_be_undecided(tmp_path, capsys):
    text = samples.SLOW.replace(
        '"slow", SAME',
        '"slow", SAME, Verdict.UNDECIDED',
    )
    status, found = verify(capsys, samples.write(tmp_path, text), "--time-limit", "0.5")
    assert status == 1
    assert found["claims"][1]["verdict"] == found["claims"][1]["expected"] == "undecided"
    assert found["summary"]["unexpected"] == 1


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_exceptions_stay_with_their_claims(tmp_path, capsys, jobs):
    path = samples.write(tmp_path, samples.RAISING)
    status, found = verify(capsys, path, "--jobs", jobs)
    assert status == 1
    verdicts = [c["verdict"] for c in found["claims"]]
    assert verdicts == ["undecided", "undecided", "proved", "proved"]
    assert found["claims"][2]["twin"]["status"] == "disagrees"
    assert found["claims"][2]["twin"]["reason"].startswith(
        "the twin raised RuntimeError: no numbers"
    )
    main(["verify", path])
    out = " ".join(capsys.readouterr().out.split())
    line = samples.RAISING.split("\n").index("    return 1 // 0") + 1
    assert f"raised ZeroDivisionError: integer division or modulo by zero (mine.py:{line})" in out


def test_a_claim_whose_process_dies(tmp_path, capsys):
    text = samples.RAISING.replace("    return 1 // 0", "    import os; os._exit(7)")
    status, found = verify(capsys, samples.write(tmp_path, text), "--jobs", "2")
    assert status == 1
    assert [c["verdict"] for c in found["claims"]] == ["undecided", "undecided", "proved", "proved"]


def test_scripts_that_print_do_not_spoil_the_output(tmp_path, capsys):
    text = samples.RAISING.replace("    return 1 // 0", "    print('noise')\n    return 1 // 0")
    text = text.replace("CLAIMS", "print('loud')\nCLAIMS")
    for jobs in ("1", "2"):
        _, found = verify(capsys, samples.write(tmp_path, text), "--jobs", jobs)
        assert found["summary"]["claims"] == len(found["claims"]) > 0


# ---------------------------------------------------------------------------- same output


@pytest.mark.parametrize("text", [samples.GOOD, samples.RAISING, samples.UNEXPECTED])
def test_the_number_of_jobs_changes_nothing(tmp_path, capsys, text):
    path = samples.write(tmp_path, text)
    runs = [verify(capsys, path, "--seed", "5", "--jobs", jobs) for jobs in ("1", "2", "5", "1")]
    first = runs[0][0], without_times(runs[0][1])
    assert all((status, without_times(found)) == first for status, found in runs)


def test_hash_seeds_change_nothing(tmp_path):
    path = samples.write(tmp_path, samples.GOOD)
    outs = [
        samples.derive("verify", path, cwd=tmp_path, PYTHONHASHSEED=seed).stdout
        for seed in ("1", "2")
    ]
    plain = [re.sub(rb"Seed 0, [\d.]+ s", b"", out) for out in outs]
    assert plain[0] == plain[1] != b""


# ---------------------------------------------------------------------------- output


def test_lines_of_the_terminal(tmp_path, capsys):
    assert main(["verify", samples.write(tmp_path, samples.GOOD)]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^  proved +commutes +Sizes commute: n d = d n +✓ ✓$", out, re.M)
    assert re.search(r"^  not maths +story +About story +- -$", out, re.M)
    assert "4 claims: 1 proved, 1 conditional, 1 refuted, 1 not mathematical." in out
    assert max(map(len, out.splitlines())) <= 80
    assert "\x1b" not in out


def test_nothing_on_standard_error_in_a_pipe(tmp_path):
    run = samples.derive("verify", samples.write(tmp_path, samples.GOOD), cwd=tmp_path)
    assert run.returncode == 0
    assert run.stderr == b""
    assert not (tmp_path / "__pycache__").exists()


def test_ascii_where_the_encoding_asks_for_it(tmp_path):
    path = samples.write(tmp_path, samples.GOOD)
    run = samples.derive("show", path, cwd=tmp_path, PYTHONIOENCODING="ascii")
    assert run.returncode == 0
    assert b"h floor(d_model/h) = d_model" in run.stdout
    assert b"gives 9 != 10" in run.stdout
    run.stdout.decode("ascii")


def on_a_terminal(*args: str, cwd: Path, **changes: str) -> bytes:
    """Everything that the program writes to a terminal on standard output and error."""
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "derive", *args],
        cwd=cwd, env=samples.environment(**{"TERM": "xterm", **changes}),
        stdout=theirs, stderr=theirs,
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 65536):
            shown += piece
    except OSError:
        pass  # Linux says EIO where the other side has closed
    os.close(ours)
    assert process.wait(60) == 0
    return shown


def test_colour_and_progress_on_a_terminal(tmp_path):
    path = samples.write(tmp_path, samples.GOOD)
    shown = on_a_terminal("verify", path, cwd=tmp_path)
    assert b"\x1b[32mproved" in shown
    assert b"proofs 4/4" in shown
    assert b"twins 4/4" in shown


@pytest.mark.parametrize("changes", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_no_colour_where_it_is_not_wanted(tmp_path, changes):
    path = samples.write(tmp_path, samples.GOOD)
    shown = on_a_terminal("verify", path, cwd=tmp_path, **changes)
    assert b"proved" in shown
    assert not re.search(rb"\x1b\[[\d;]*m", shown)


def test_json_file_beside_the_lines(tmp_path, capsys):
    path = samples.write(tmp_path, samples.GOOD)
    out = tmp_path / "out.json"
    assert main(["verify", path, "--json", str(out)]) == 0
    assert "4 claims" in capsys.readouterr().out
    assert check_schema(out.read_text())["summary"]["claims"] == 4
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mine.py", "out.json"]
    assert stat.S_IMODE(out.stat().st_mode) & 0o400


def test_json_file_through_a_link_and_over_an_old_one(tmp_path, capsys):
    path = samples.write(tmp_path, samples.GOOD)
    old, link = tmp_path / "old.json", tmp_path / "link.json"
    old.write_text("old")
    link.symlink_to(old)
    assert main(["verify", path, "--json", str(link)]) == 0
    assert link.is_symlink()
    check_schema(old.read_text())


def test_json_into_a_device(tmp_path, capsys):
    path = samples.write(tmp_path, samples.GOOD)
    before = os.stat(os.devnull)
    assert main(["verify", path, "--json", os.devnull]) == 0
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)
    assert os.stat(os.devnull).st_rdev == before.st_rdev


def test_a_reader_that_leaves(tmp_path):
    path = samples.write(tmp_path, samples.GOOD)
    ours, theirs = os.pipe()
    os.close(ours)
    run = subprocess.run(
        [sys.executable, "-m", "derive", "verify", path],
        cwd=tmp_path, env=samples.environment(), stdout=theirs, stderr=subprocess.PIPE, check=False,
    )  # fmt: skip
    os.close(theirs)
    assert run.stderr == b""
    assert run.returncode == 141


def test_a_full_disk(tmp_path):
    with open("/dev/full", "wb") as full:
        run = subprocess.run(
            [sys.executable, "-m", "derive", "show", "--axioms"],
            cwd=tmp_path, env=samples.environment(), stdout=full, stderr=subprocess.PIPE,
            check=False,
        )  # fmt: skip
    assert run.returncode == 2
    assert run.stderr == b"derive: standard output: No space left on device\n"


def _wait_for(path):
    deadline = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_interrupt_leaves_nothing_half_written(tmp_path, jobs):
    path = samples.write(tmp_path, samples.SLOW)
    process = subprocess.Popen(
        [sys.executable, "-m", "derive", "verify", path, "--json", "out.json", "--jobs", jobs],
        cwd=tmp_path, env=samples.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True,
        # a shell's background job ignores interrupts, and so would all that it starts
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    try:
        _wait_for(tmp_path / "mine.started")
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 130
    assert out == b""
    assert err == b"derive: interrupted\n"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mine.py", "mine.started"]
