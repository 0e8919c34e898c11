"""Errors in what is asked for: one line on standard error that says what and where, status 2."""

from __future__ import annotations

import time

import cli_samples as samples
import pytest

from derive.cli import main


def refused(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    """The one line with which the program refuses."""
    assert main(args) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("derive: ")
    assert err.count("\n") == 1
    assert err.endswith("\n")
    return err.removeprefix("derive: ").rstrip("\n")


@pytest.mark.parametrize(
    ("args", "part"),
    [
        ([], "COMMAND"),
        (["prove"], "invalid choice: 'prove'"),
        (["--verbose"], "COMMAND"),
        (["verify", "--quick"], "--quick"),
        (["verify", "--seed"], "--seed: expected one argument"),
        (["verify", "--seed", "x"], "--seed: 'x' is not a whole number"),
        (["verify", "--seed", "-1"], "--seed"),
        (["verify", "--seed", "1.5"], "--seed: '1.5'"),
        (["verify", "--seed", "٣"], "--seed"),
        (["verify", "--seed", "1\n2"], "--seed"),
        (["verify", "--jobs", "0"], "--jobs: '0' is not a whole number, 1 or more"),
        (["verify", "--jobs", "-2"], "--jobs"),
        (["verify", "--jobs", "many"], "--jobs: 'many'"),
        (["verify", "--time-limit", "0"], "--time-limit: '0' is not a number of seconds above 0"),
        (["verify", "--time-limit", "-1"], "--time-limit"),
        (["verify", "--time-limit", "nan"], "--time-limit: 'nan'"),
        (["verify", "--time-limit", "inf"], "--time-limit: 'inf'"),
        (["verify", "--time-limit", "soon"], "--time-limit: 'soon'"),
        (["verify", "--json"], "--json: expected one argument"),
        (["verify", "--js", "-"], "--js"),
        (["show"], "ID"),
        (["show", "head-width/floor", "--axioms"], "not allowed with"),
        (["show", "head-width/floor", "head-width/base"], "unrecognized arguments"),
        (["list", "head-width/floor"], "unrecognized arguments: head-width/floor"),
        (["list", "--json", "--source"], "--source: expected one argument"),
        (["report", "--format", "docx"], "--format: 'docx' is not one of tex, html, pdf"),
        (["report", "--format"], "--format: expected at least one argument"),
        (["report", "--seed", "x"], "--seed"),
    ],
)
def test_usage(capsys, args, part):
    assert part in refused(capsys, *args)


def test_unknown_claim_names_the_nearest(capsys):
    assert refused(capsys, "show", "head-width/flor").endswith("the nearest is head-width/floor")
    assert "no claim matches 'head-width'" in refused(capsys, "verify", "head-width")
    assert refused(capsys, "verify", "head-width").endswith("the nearest is head-width/*")
    assert "no claim matches 'zzz*'" in refused(capsys, "verify", "head-width/*", "zzz*")
    assert "no claim matches ''" in refused(capsys, "verify", "")


def test_unknown_document_names_those_there_are(capsys):
    message = refused(capsys, "list", "--source", "paper.pdf")
    assert message.startswith("--source: no document is called 'paper.pdf'; there are ")
    assert "000_935e8c08fa86bec0.txt" in message


# ---------------------------------------------------------------------------- a user's file


def line_of(text: str, part: str) -> int:
    return next(k for k, line in enumerate(text.split("\n"), start=1) if part in line)


BAD = {
    "syntax": ("CLAIMS = (", "SyntaxError: '(' was never closed"),
    "name": ("CLAIMS = (undefined,)", "NameError: name 'undefined' is not defined"),
    "exit": ("CLAIMS = exit('enough')", "SystemExit: enough"),
    "own kind of exception": (
        "raise type('Odd', (BaseException,), {})('two\\nlines')",
        "Odd: two lines",
    ),
    "end of a generator": ("raise GeneratorExit", "GeneratorExit"),
    "bad id": (
        "CLAIMS = (claim('No Good', SAME),)",
        "ValueError: claim id",
    ),
    "no reason": ("CLAIMS = (claim('x', None),)", "ValueError: mine/x: give a statement"),
    "no twin": (
        "CLAIMS = (claim('x', SAME, twin=5),)",
        "ValueError: mine/x: twin is not of the kind",
    ),
    "places as text": (
        "CLAIMS = (claim('x', SAME, places='p. 3'),)",
        "ValueError: mine/x: source is not of the kind",
    ),
    "two lines": ("CLAIMS = int('a\\nb')", "ValueError: invalid literal"),
    "not a tuple": ("CLAIMS = {}", "CLAIMS is not a tuple but a dict"),
    "typed": ("CLAIMS: object = 5", "CLAIMS is not a tuple but an int"),
    "empty": ("CLAIMS = ()", "CLAIMS is empty"),
    "no claim": (
        "CLAIMS = (claim('a', SAME), 'b')",
        "entry 2 of CLAIMS is not a Claim but a str",
    ),
    "twice": (
        "CLAIMS = (claim('a', SAME), claim('a', SAME))",
        "two claims are called mine/a",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_file(capsys, tmp_path, case):
    last, reason = BAD[case]
    text = samples.HEAD + last + "\n"
    path = samples.write(tmp_path, text)
    for command in ("verify", "show", "report"):
        message = refused(capsys, command, path)
        assert message.startswith(f"{path}:")
        assert reason in message
        line = int(message.removeprefix(f"{path}:").split(":")[0])
        built = ("bad id", "no reason", "no twin", "places as text")
        inside = "return Claim(" if case in built else last
        assert line == line_of(text, inside)


def test_file_without_claims(capsys, tmp_path):
    path = samples.write(tmp_path, "x = 1\n")
    assert refused(capsys, "verify", path) == f"{path}: defines no CLAIMS"


def test_file_that_is_not_there(capsys, tmp_path):
    for name in ("none.py", "n" * 300 + ".py"):
        path = str(tmp_path / name)
        assert refused(capsys, "verify", path) == f"{path}: there is no such file"
    assert "no claim matches 'nnn" in refused(capsys, "verify", "n" * 300)


@pytest.mark.parametrize(
    "args", [["verify", "--json"], ["report", "--out"], ["certify", "--out"], ["count"]]
)
def test_names_that_are_too_long(capsys, args):
    assert refused(capsys, *args, "n" * 300).endswith(": File name too long")


def test_file_of_claims_with_another_name(tmp_path, capsys):
    path = tmp_path / "claims.txt"
    path.write_text("CLAIMS = ()", encoding="utf-8")
    told = refused(capsys, "verify", str(path))
    assert told == f"{path}: the name of a file of claims ends in .py"


def test_folder_and_bytes_instead_of_a_file(capsys, tmp_path):
    (tmp_path / "folder.py").mkdir()
    assert "folder.py: " in refused(capsys, "verify", str(tmp_path / "folder.py"))
    (tmp_path / "bytes.py").write_bytes(b"CLAIMS = '\xff'\n")
    assert "bytes.py" in refused(capsys, "verify", str(tmp_path / "bytes.py"))
    (tmp_path / "null.py").write_bytes(b"CLAIMS = '\0'\n")
    assert "null.py" in refused(capsys, "verify", str(tmp_path / "null.py"))


def test_error_in_what_a_file_imports(capsys, tmp_path):
    path = samples.write(tmp_path, "import math\n\nmath.sqrt(-1)\n")
    assert refused(capsys, "verify", path) == f"{path}:3: ValueError: math domain error"


def test_the_same_id_in_two_files(capsys, tmp_path):
    one = samples.write(tmp_path, samples.GOOD, "one.py")
    two = samples.write(tmp_path, samples.UNEXPECTED, "two.py")
    three = samples.write(tmp_path, samples.GOOD, "three.py")
    assert main(["verify", one, two]) == 1
    capsys.readouterr()
    assert "two claims are called mine/commutes" in refused(capsys, "verify", one, three)
    assert main(["verify", one, one]) == 0


# ---------------------------------------------------------------------------- where results go


def test_json_that_cannot_be_written_is_refused_before_anything_runs(capsys, tmp_path):
    path = samples.write(tmp_path, samples.SLOW)
    start = time.perf_counter()
    missing = tmp_path / "no" / "out.json"
    assert refused(capsys, "verify", path, "--json", str(missing)) == (
        f"--json {missing}: No such file or directory"
    )
    assert "is not the name of a file" in refused(capsys, "verify", path, "--json", str(tmp_path))
    assert "is not the name of a file" in refused(capsys, "verify", path, "--json", "")
    assert f"{path}/x: Not a directory" in refused(capsys, "verify", path, "--json", f"{path}/x")
    assert time.perf_counter() - start < 5
    assert [p.name for p in tmp_path.iterdir()] == ["mine.py"]


def test_a_bad_claim_leaves_no_json(capsys, tmp_path):
    out = tmp_path / "out.json"
    out.write_text("old")
    refused(capsys, "verify", "no-such/claim", "--json", str(out))
    assert out.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["out.json"]


def test_folder_of_the_report_that_cannot_be_made(capsys, tmp_path):
    path = samples.write(tmp_path, samples.SLOW)
    start = time.perf_counter()
    assert f"{path} is not a folder" in refused(capsys, "report", path, "--out", path)
    assert f"{path} is not a folder" in refused(capsys, "report", path, "--out", f"{path}/deep/er")
    assert time.perf_counter() - start < 5
    refused(capsys, "report", samples.write(tmp_path, samples.GOOD), "--out", "/proc/none")


# ---------------------------------------------------------------------------- the program


def test_usage_errors_and_help_are_quick(tmp_path):
    """They load neither SymPy nor NumPy."""
    code = (
        "import sys; from derive.cli import main; "
        "assert main(['verify', '--seed', 'x']) == 2; assert main(['show', '--axioms']) == 0; "
        "sys.exit(bool({'sympy', 'numpy'} & set(sys.modules)))"
    )
    import subprocess
    import sys

    run = subprocess.run(
        [sys.executable, "-c", code], env=samples.environment(), capture_output=True, check=False
    )
    assert run.returncode == 0


def test_module_and_help(tmp_path):
    run = samples.derive("--help", cwd=tmp_path)
    assert run.returncode == 0
    for command in (b"list", b"show", b"verify", b"report"):
        assert command in run.stdout
    assert samples.derive("--version", cwd=tmp_path).stdout.startswith(b"derive ")
    assert samples.derive("verify", "nope", cwd=tmp_path).returncode == 2
