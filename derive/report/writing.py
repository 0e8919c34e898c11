"""Writes the report in the formats that are asked for: each file as a whole or not at all."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from derive import messages
from derive.children import end_with_parent
from derive.messages import suffix
from derive.report import memory, page, rendering
from derive.report.document import build
from derive.report.model import Figure, Report
from derive.result import Result

_RENDERERS: Final[dict[str, Callable[[Report], str]]] = {
    "tex": rendering.render,
    "html": page.render,
}
FORMATS: Final = tuple(_RENDERERS)
_MANY: Final = 60
"""With fewer claims than this a second process costs more than it saves."""


def write_report(
    results: Sequence[Result],
    out: Path,
    *,
    settings: Mapping[str, str],
    formats: Sequence[str] = FORMATS,
    complete: bool = False,
    figures: Sequence[Figure] = (),
    language: str = messages.ENGLISH,
    keep_in: Path | None = None,
) -> list[Path]:
    """Write the derivation report into the directory `out` and return the paths of its files.

    `settings` say how the results were made (seed, command, versions); `complete` says that they
    are all claims of the notes; `figures` are its pictures, which `report.tex` has beside it as
    files.  `keep_in` is the folder that keeps what is made of formulas for the next time, None
    keeps nothing.  `out` is made if it is missing.  Raises `ReportError` for a
    formula or a text that cannot be printed and `OSError` for a directory that cannot be written;
    older files are replaced by whole new ones or left as they were.  The same input gives the same
    bytes, apart from the marked part that holds settings, times and hashes.
    """
    with memory.kept(keep_in):
        report = build(
            results, settings=settings, complete=complete, figures=figures, language=language
        )
        texts = _render(report, formats, parallel=len(results) >= _MANY)
    out.mkdir(parents=True, exist_ok=True)
    written = [out / f"report{suffix(language)}.{kind}" for kind in formats]
    files: dict[Path, str | bytes] = dict(zip(written, texts, strict=True))
    if "tex" in formats:
        files |= {out / rendering.file_of(f, language): f.pdf for f in report.figures}
    replace_files(files)
    return written


def _render(report: Report, kinds: Sequence[str], *, parallel: bool) -> list[str]:
    """The text of each format; with many claims the first in a process of its own."""
    if not (parallel and len(kinds) > 1 and "fork" in multiprocessing.get_all_start_methods()):
        return [_RENDERERS[kind](report) for kind in kinds]
    context = multiprocessing.get_context("fork")
    with _no_warning(), ProcessPoolExecutor(1, context, end_with_parent) as pool:
        first = pool.submit(_rendered, kinds[0], report)
        others = [_RENDERERS[kind](report) for kind in kinds[1:]]
        text, learnt = first.result()
        memory.learn(learnt, new=True)
        return [text, *others]


def _rendered(kind: str, report: Report) -> tuple[str, dict[str, dict[str, Any]]]:
    """The text, and what was learnt of formulas on the way."""
    return _RENDERERS[kind](report), memory.news()


@contextmanager
def _no_warning() -> Iterator[None]:
    """Python 3.12 warns of forking beside NumPy's idle threads, which hold no locks."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


def replace_files(contents: Mapping[Path, str | bytes]) -> None:
    """Write all contents beside their files, then put each in its place."""
    written: list[tuple[Path, Path]] = []
    try:
        for path, content in contents.items():
            handle, name = tempfile.mkstemp(dir=path.parent, prefix=".report-", suffix=path.suffix)
            written.append((Path(name), path))
            with os.fdopen(handle, "wb") as stream:
                stream.write(content if isinstance(content, bytes) else content.encode())
            Path(name).chmod(0o644)
        for temporary, path in written:
            os.replace(temporary, path)
    finally:
        for temporary, _ in written:
            temporary.unlink(missing_ok=True)
