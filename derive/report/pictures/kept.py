"""The pictures, drawn in a process of its own while the claims are settled, and kept.

They take longer to draw than the rest of the report.  They depend on the seed, on the sources that
compute and draw them, and on the versions of NumPy and matplotlib: the name of the file is a digest
of these.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import multiprocessing
from collections.abc import Callable, Iterator
from importlib import metadata
from importlib.util import find_spec
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from derive import messages, sealed
from derive.children import end_with_parent
from derive.report.errors import ReportError
from derive.report.model import Figure

Pictures = Callable[[], tuple[Figure, ...]]
"""Waits until the pictures are there."""


def _suffix(language: str) -> str:
    """The pictures of each language have a file of their own."""
    return f".pictures{messages.suffix(language)}"


def missing_to_draw(language: str = messages.ENGLISH) -> str:
    """What the pictures cannot be drawn without; empty if all is there."""
    if find_spec("matplotlib") is None:
        return "matplotlib; pip install matplotlib"
    if language == "zh":
        from derive.report.pictures.drawing import chinese_font

        return "" if chinese_font() else f"a Chinese font; on Debian: apt install {_FONT_PACKAGE}"
    return ""


_FONT_PACKAGE = "fonts-arphic-gbsn00lp"


@contextlib.contextmanager
def drawn(seed: int, folder: Path | None, language: str = messages.ENGLISH) -> Iterator[Pictures]:
    """The pictures for this seed, with words of this language.

    `folder` keeps them for the next time, None keeps nothing.
    Whoever waits for them gets a `ReportError` if they cannot be drawn.
    """
    path = None if folder is None else folder / f"{_state(seed, language)}{_suffix(language)}"
    found = None if path is None else _read(path)
    if found is not None:
        yield lambda: found
        return
    if "fork" not in multiprocessing.get_all_start_methods():
        yield lambda: _kept(path, _drawn_here(seed, language), language)
        return
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(seed, language, sender), daemon=True)
    process.start()
    sender.close()
    try:
        yield lambda: _kept(path, _received(receiver), language)
    finally:
        process.kill()
        process.join()
        receiver.close()


def _drawn_here(seed: int, language: str) -> tuple[Figure, ...]:
    from derive.report.pictures.drawing import draw

    try:
        with messages.speaking(language):
            return draw(seed)
    except Exception as error:
        raise ReportError(f"no pictures: {type(error).__name__} {error}") from error


def _send(seed: int, language: str, sender: Connection) -> None:
    end_with_parent()
    try:
        sender.send(_drawn_here(seed, language))
    except ReportError as error:
        sender.send(str(error))


def _received(receiver: Connection) -> tuple[Figure, ...]:
    try:
        found: tuple[Figure, ...] | str = receiver.recv()
    except EOFError:
        raise ReportError("no pictures: the process that draws them ended") from None
    if isinstance(found, str):
        raise ReportError(found)
    return found


# -- the kept file -----------------------------------------------------------------------------


def _state(seed: int, language: str) -> str:
    """A digest of all that the pictures depend on."""
    versions = [metadata.version(name) for name in ("numpy", "matplotlib")]
    words = messages.entries_of(language, messages.PROGRAM)
    said = [[entry.msgid, *entry.translations.values()] for entry in words]
    digest = hashlib.sha256(json.dumps([seed, language, said, *versions]).encode())
    spec = find_spec("numeric")  # not imported: it brings NumPy with it
    computing = [Path(spec.origin).parent] if spec is not None and spec.origin is not None else []
    for folder in (*computing, Path(__file__).parent):
        for source in sorted(folder.glob("*.py")):
            digest.update(hashlib.sha256(source.read_bytes()).digest())
    return digest.hexdigest()[:32]


def _read(path: Path) -> tuple[Figure, ...] | None:
    """The pictures of a file; None if there is no file with the seal."""
    contents = sealed.read(path)
    return None if contents is None else tuple(map(_figure, json.loads(contents)))


def _figure(entry: dict[str, Any]) -> Figure:
    pdf = base64.b64decode(entry["pdf"], validate=True)
    texts = {name: str(entry[name]) for name in ("name", "title", "caption", "svg")}
    return Figure(topics=tuple(map(str, entry["topics"])), pdf=pdf, **texts)


def _kept(path: Path | None, figures: tuple[Figure, ...], language: str) -> tuple[Figure, ...]:
    """Keep them where that can be done; a folder that cannot be written to keeps nothing."""
    if path is None:
        return figures
    entries = [{**vars(f), "pdf": base64.b64encode(f.pdf).decode()} for f in figures]
    sealed.write(path, json.dumps(entries).encode())
    return figures
