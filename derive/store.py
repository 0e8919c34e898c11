"""Proofs that were found before, kept in the user's cache folder.

Finding a proof takes longer than checking it.  So what was found is kept, and a later run replays
the kept logs in the checker, as it does with new ones, instead of running the scripts and the
search again.  A log counts only after the checker has accepted it in this run.  That it is about
what the claim states was seen when it was found; the file has the user's seal (`derive.sealed`),
and without it counts as none.

The file belongs to one state of the program: its name is a digest of all source files of the
package and of the versions of Python and SymPy.  ``DERIVE_STORE`` names another folder; "off"
keeps nothing.  An installed package holds such a file itself, which was written when it was built
(`derive.building`); it is used until the user's folder has one of the same name, and it is
trusted as the sources beside it are.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from derive import sealed

_SUFFIX: Final = ".proofs"
#: What the build of the package has put there (`derive.building`).
BUILT: Final = Path(__file__).resolve().parent / "proofs"


@dataclass(frozen=True, order=True)
class Module:
    """Where claims of the package are: a module, by its place among all, and what it holds."""

    order: int
    name: str
    topic: str
    claims: tuple[str, ...]


class Store:
    """The kept proofs by the id of their claim: plain JSON data, as `verify.recall` reads it.

    `modules` are those that are known to hold all claims of their topics, of all topics if
    `complete`.
    """

    def __init__(
        self,
        path: Path | None,
        entries: Mapping[str, Any],
        modules: Iterable[Module] = (),
        *,
        complete: bool = False,
    ) -> None:
        self.path = path
        self.entries = entries
        self.modules = tuple(modules)
        self.complete = complete
        self._others: Mapping[str, Any] = {}
        self._new: dict[str, Any] = {}
        self._changed = False

    def put_aside(self) -> None:
        """Take nothing from what is kept, and lose nothing of it."""
        self._others, self.entries = self.entries, {}

    def keep(self, name: str, entry: dict[str, Any]) -> None:
        """Keep what was found in this run."""
        self._new[name] = entry

    def know(self, modules: Iterable[Module], *, complete: bool) -> None:
        """Note which claims there are: all of the topics of these modules, or all of them."""
        known = {m.name: m for m in (*self.modules, *modules)}
        if len(known) > len(self.modules) or complete > self.complete:
            self.modules = tuple(sorted(known.values()))
            self.complete = self.complete or complete
            self._changed = True

    def save(self) -> None:
        """Write what is new, all or nothing; a folder that cannot be written to keeps nothing."""
        self.entries = {**self._others, **self.entries, **self._new}
        if self.path is not None and (self._new or self._changed):
            sealed.write(self.path, "\n".join(self._lines()).encode())

    def _lines(self) -> Iterable[str]:
        """What there is; then for each claim a line about it, and its logs on a line each."""
        modules = [[m.order, m.name, m.topic, m.claims] for m in self.modules]
        logs = [[name, len(entry["logs"])] for name, entry in self.entries.items()]
        yield json.dumps({"complete": self.complete, "modules": modules, "logs": logs})
        for entry in self.entries.values():
            yield json.dumps({k: v for k, v in entry.items() if k != "logs"})
            yield from entry["logs"]


class _Entries(Mapping[str, Any]):
    """The entries of a file, each taken out of its lines when it is asked for."""

    def __init__(self, logs: Iterable[tuple[str, int]], lines: Sequence[bytes]) -> None:
        self._lines = lines
        self._places: dict[str, slice] = {}
        self._found: dict[str, Any] = {}
        start = 0
        for name, count in logs:
            self._places[name] = slice(start, start + count + 1)
            start += count + 1

    def __getitem__(self, name: str) -> Any:
        found = self._found.get(name)
        if found is None:
            about, *logs = self._lines[self._places[name]]
            found = {**json.loads(about), "logs": [log.decode() for log in logs]}
            self._found[name] = found
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def open_store(*, fresh: bool = False, suffix: str = _SUFFIX, also: bytes = b"") -> Store:
    """What is kept for this state of the program; with `fresh` nothing is taken from it.

    `suffix` is that of the file's name, and `also` tells what else its contents depend on.
    """
    where = folder()
    if where is None:
        return Store(None, {})
    path = where / f"{_state(also)}{suffix}"
    store = read(path)
    if not store.entries:
        store = _built(path)
    if fresh:
        store.put_aside()
    return store


def read(path: Path) -> Store:
    """What a file holds; nothing if there is no file with the seal."""
    contents = sealed.read(path)
    return Store(path, {}) if contents is None else _contents(path, contents)


def _built(path: Path) -> Store:
    """What the package itself holds under the name of a file, which nobody has sealed."""
    try:
        contents = (BUILT / path.name).read_bytes()
    except OSError:
        return Store(path, {})
    return _contents(path, contents)


def _contents(path: Path, contents: bytes) -> Store:
    first, *lines = contents.split(b"\n")
    head = json.loads(first)
    modules = [
        Module(order, name, topic, tuple(claims)) for order, name, topic, claims in head["modules"]
    ]
    return Store(path, _Entries(head["logs"], lines), modules, complete=head["complete"])


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
    return Path(cache) / sealed.FOLDER


def _state(also: bytes = b"") -> str:
    """A digest of everything that proofs are made with."""
    root = Path(__file__).resolve().parent
    digest = hashlib.sha256(sys.version.encode() + _sympy() + also)
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
