"""Proofs that were found before, kept in the user's cache folder.

Finding a proof takes longer than checking it.  So what was found is kept, and a later run replays
the kept logs in the checker, as it does with new ones, instead of running the scripts and the
search again.  Nothing is believed because it is kept: a log counts only for the goals that the
claim states now, and only after the checker has accepted it in this run.

The file belongs to one state of the program: its name is a digest of all source files of the
package and of the versions of Python and SymPy.  ``DERIVE_STORE`` names another folder; "off"
keeps nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

_FOLDER: Final = "derive-transformer"
_FIELDS: Final = frozenset({"result", "logs", "goals", "kinds"})


class Store:
    """The kept proofs by the id of their claim: plain JSON data, as `verify.recall` reads it."""

    def __init__(self, path: Path | None, entries: dict[str, Any]) -> None:
        self.path = path
        self.entries = entries
        self._new: dict[str, Any] = {}

    def keep(self, name: str, entry: dict[str, Any]) -> None:
        self._new[name] = entry

    def save(self) -> None:
        """Write what is new, all or nothing; a folder that cannot be written to keeps nothing."""
        self.entries.update(self._new)
        if self.path is None or not self._new:
            return
        with contextlib.suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            beside = self.path.with_suffix(f".{os.getpid()}.tmp")
            try:
                beside.write_text(json.dumps(self.entries), encoding="utf-8")
                os.replace(beside, self.path)
            finally:
                beside.unlink(missing_ok=True)
            for old in self.path.parent.glob("*.json"):
                if old != self.path:
                    old.unlink(missing_ok=True)


def open_store(*, fresh: bool = False) -> Store:
    """What is kept for this state of the program; with `fresh` nothing is taken from it."""
    where = folder()
    if where is None:
        return Store(None, {})
    path = where / f"{_state()}.json"
    return Store(path, {} if fresh else _read(path))


def folder() -> Path | None:
    """Where proofs and pictures are kept; None if nothing is to be kept."""
    chosen = os.environ.get("DERIVE_STORE")
    if chosen == "off":
        return None
    if chosen:
        return Path(chosen)
    try:
        cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:  # nobody's home
        return None
    return Path(cache) / _FOLDER


def _state() -> str:
    """A digest of everything that proofs are made with."""
    root = Path(__file__).resolve().parent
    digest = hashlib.sha256(sys.version.encode() + _sympy())
    for source in sorted(root.rglob("*.py")):
        digest.update(str(source.relative_to(root)).encode())
        digest.update(hashlib.sha256(source.read_bytes()).digest())
    return digest.hexdigest()[:32]


def _sympy() -> bytes:
    """The file of SymPy that names its release; the package itself takes long to load."""
    spec = find_spec("sympy")
    if spec is None or spec.origin is None:
        return b""
    return (Path(spec.origin).parent / "release.py").read_bytes()


def _read(path: Path) -> dict[str, Any]:
    """The entries of a file; none if there is no file, or one that is not of this form."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {
        name: entry
        for name, entry in found.items()
        if isinstance(entry, dict) and set(entry) == _FIELDS and isinstance(entry["logs"], list)
    }
