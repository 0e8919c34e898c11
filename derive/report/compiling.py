"""`report.tex` -> PDF with latexmk and xelatex."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

from derive.report.errors import ReportError

DEBIAN_PACKAGES: Final = ("latexmk", "texlive-xetex", "texlive-latex-recommended")
_LEFTOVERS: Final = (".aux", ".fdb_latexmk", ".fls", ".out", ".toc", ".xdv")
_LOG_LINES: Final = 20
_MISSING_FILE: Final = re.compile(r"! LaTeX Error: File `([^']+)' not found")


class TexMissing(ReportError):
    """TeX is not installed, or not all of it."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} not found; on Debian: apt install {' '.join(DEBIAN_PACKAGES)}")


class TexFailed(ReportError):
    """TeX stopped with an error; the message ends with the last lines of its log."""


def compile_pdf(tex: Path) -> Path:
    """Compile `tex` beside itself and return the path of the PDF.

    Raises `TexMissing` without TeX and `TexFailed` when it stops; `tex` is kept either way.
    """
    for program in ("latexmk", "xelatex"):
        if shutil.which(program) is None:
            raise TexMissing(program)
    pdf = tex.with_suffix(".pdf")
    run = subprocess.run(
        [
            *("latexmk", "-norc", "-xelatex", "-interaction=nonstopmode", "-halt-on-error"),
            *("-latexoption=-no-shell-escape", tex.name),
        ],
        cwd=tex.parent,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=os.environ | {"MISSFONT_LOG": os.devnull},
        check=False,
    )
    if run.returncode != 0 or not pdf.exists():
        raise _failure(tex, run.stdout + run.stderr)
    for suffix in _LEFTOVERS:
        tex.with_suffix(suffix).unlink(missing_ok=True)
    return pdf


def _failure(tex: Path, output: bytes) -> ReportError:
    log = tex.with_suffix(".log")
    text = (log.read_bytes() if log.exists() else output).decode("utf-8", errors="replace")
    missing = _MISSING_FILE.search(text)
    if missing:
        return TexMissing(missing[1])
    tail = "\n".join(text.rstrip().splitlines()[-_LOG_LINES:])
    return TexFailed(f"TeX could not compile {tex}; its log ends with:\n{tail}")
