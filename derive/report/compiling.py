"""`report.tex` -> PDF with latexmk and xelatex."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from derive.report.errors import ReportError

DEBIAN_PACKAGES: Final = ("latexmk", "texlive-xetex", "texlive-latex-recommended")
FOR_CHINESE: Final = "texlive-lang-chinese"
_LOG_LINES: Final = 20
_MISSING_FILE: Final = re.compile(
    r"! LaTeX Error: File `([^']+)' not found|The font \"([^\"]+)\" cannot be\s+found"
)


class TexMissing(ReportError):
    """TeX is not installed, or not all of it."""

    def __init__(self, what: str, *, chinese: bool = False) -> None:
        packages = (*DEBIAN_PACKAGES, *([FOR_CHINESE] if chinese else []))
        super().__init__(f"{what} not found; on Debian: apt install {' '.join(packages)}")


class TexFailed(ReportError):
    """TeX stopped with an error; the message ends with the last lines of its log."""


def compile_pdf(tex: Path) -> Path:
    """Compile `tex` and put the PDF and the log beside it; returns the path of the PDF.

    Raises `TexMissing` without TeX and `TexFailed` when it stops; `tex` and an older PDF are kept
    either way.
    """
    for program in ("latexmk", "xelatex"):
        if shutil.which(program) is None:
            raise TexMissing(program, chinese=_is_chinese(tex))
    pdf, log = tex.with_suffix(".pdf"), tex.with_suffix(".log")
    with tempfile.TemporaryDirectory(dir=tex.parent, prefix=".report-") as name:
        work = Path(name)
        run = subprocess.run(
            [
                *("latexmk", "-norc", "-xelatex", "-interaction=nonstopmode", "-halt-on-error"),
                *(f"-outdir={work.name}", "-latexoption=-no-shell-escape", tex.name),
            ],
            cwd=tex.parent,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=os.environ | {"MISSFONT_LOG": os.devnull},
            check=False,
        )
        made = work / pdf.name
        if (work / log.name).exists():
            os.replace(work / log.name, log)
        if run.returncode != 0 or not made.exists():
            raise _failure(tex, run.stdout + run.stderr)
        os.replace(made, pdf)
    return pdf


def _is_chinese(tex: Path) -> bool:
    return r"\RequirePackage{xeCJK}" in tex.read_text("utf-8")


def _failure(tex: Path, output: bytes) -> ReportError:
    log = tex.with_suffix(".log")
    text = (log.read_bytes() if log.exists() else output).decode("utf-8", errors="replace")
    missing = _MISSING_FILE.search(text)
    if missing:
        return TexMissing(missing[1] or missing[2], chinese=_is_chinese(tex))
    tail = "\n".join(text.rstrip().splitlines()[-_LOG_LINES:])
    return TexFailed(f"TeX could not compile {tex}; its log ends with:\n{tail}")
