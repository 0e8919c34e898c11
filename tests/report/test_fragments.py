"""Single claims in somebody else's document: they compile there, and meet none of its commands."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import report_samples as samples

from derive.cli import main
from derive.report import ReportError, compile_pdf
from derive.report.fragments import STYLE, write_fragments

THEIRS = ("row", "note", "code", "term", "claim", "fit", "alarm", "rows", "labelled")


def test_a_file_for_each_claim_and_the_style(tmp_path: Path) -> None:
    paths = write_fragments(samples.ALL, tmp_path)
    assert {*paths} == {*tmp_path.iterdir()}
    assert paths[0].name == f"{STYLE}.sty"
    assert len(paths) == len(samples.ALL) + 1
    for path in paths:
        text = path.read_text("utf-8")
        assert r"\documentclass" not in text
        assert r"\begin{document}" not in text
        defined = set(re.findall(r"\\newcommand\{\\(\w+)\}", text))
        assert all(name.startswith("derive") for name in defined)


def test_commands_are_ours_alone(tmp_path: Path) -> None:
    (_, heads) = write_fragments([samples.HEADS], tmp_path)
    text = heads.read_text("utf-8")
    assert r"\deriveclaim{" in text
    for name in THEIRS:
        assert rf"\{name}{{" not in text


def test_what_cannot_be_printed_changes_nothing(tmp_path: Path) -> None:
    write_fragments([samples.HEADS], tmp_path)
    old = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(ReportError, match=samples.HEADS.id):
        write_fragments([replace(samples.HEADS, statement="{")], tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == old


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "head-width/floor", "--fragment", "--out", str(tmp_path)]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown == [f"{tmp_path}/{STYLE}.sty", f"{tmp_path}/head-width.floor.tex"]
    assert main(["report", "head-width/floor", "--fragment", "--format", "html"]) == 2
    assert "--fragment" in capsys.readouterr().err


@pytest.mark.skipif(
    shutil.which("latexmk") is None or shutil.which("xelatex") is None,
    reason="latexmk and xelatex are not installed",
)
def test_they_compile_in_a_document_with_commands_of_the_same_names(tmp_path: Path) -> None:
    paths = write_fragments(samples.ALL, tmp_path)
    theirs = "\n".join(rf"\newcommand{{\{name}}}{{theirs}}" for name in THEIRS)
    inputs = "\n".join(rf"\input{{{path.stem}}}" for path in paths[1:])
    paper = tmp_path / "paper.tex"
    paper.write_text(
        rf"""\documentclass{{article}}
\usepackage{{{STYLE}}}
{theirs}
\begin{{document}}
\section{{A paper}} See section~\ref{{{paths[1].stem}}}. \row
{inputs}
\end{{document}}
""",
        encoding="utf-8",
    )
    assert compile_pdf(paper).read_bytes().startswith(b"%PDF")
    log = paper.with_suffix(".log").read_text("utf-8", errors="replace")
    assert "undefined" not in log
    assert "Missing character" not in log
