"""Writes `report.tex`: all of it or nothing."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from derive.report.document import build
from derive.report.rendering import render
from derive.result import Result


def write_report(
    results: Sequence[Result], out: Path, *, seed: int, versions: Mapping[str, str]
) -> Path:
    """Write the derivation report into the directory `out` and return the path of `report.tex`.

    `out` is made if it is missing. Raises `ReportError` for a formula or a text that cannot be
    printed and `OSError` for a directory that cannot be written; in both cases an older
    `report.tex` is left as it was. The same input gives the same bytes, apart from the marked
    part at the end that holds versions and times.
    """
    text = render(build(results, seed=seed, versions=versions))
    out.mkdir(parents=True, exist_ok=True)
    path = out / "report.tex"
    _replace(path, text)
    return path


def _replace(path: Path, text: str) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".report-", suffix=".tex")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
        temporary.chmod(0o644)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
