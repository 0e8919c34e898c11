"""Proofs that were found before, kept in the user's cache folder.

Finding a proof takes longer than checking it.  So what was found is kept, and a later run replays
the kept logs in the checker, as it does with new ones, instead of running the scripts and the
search again.  Nothing is believed because it is kept: a log counts only after the checker has
accepted it in this run, and only for the goals that the claim states.

What a claim states is told by its module, which takes SymPy to read.  A file that bears the seal
of this very user (an HMAC, whose key lies elsewhere) was written by this program after it had
compared the two, and is not compared again; any other file, such as one that somebody passed on,
is.

The file belongs to one state of the program: its name is a digest of all source files of the
package and of the versions of Python and SymPy.  ``DERIVE_STORE`` names another folder; "off"
keeps nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import secrets
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

_FOLDER: Final = "derive-transformer"
_SUFFIX: Final = ".proofs"
_FIELDS: Final = frozenset({"id", "result", "goals", "kinds"})


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
    `complete`.  `sealed` says that this user's program wrote the file.
    """

    def __init__(
        self,
        path: Path | None,
        entries: dict[str, Any],
        modules: Iterable[Module] = (),
        *,
        complete: bool = False,
        sealed: bool = False,
    ) -> None:
        self.path = path
        self.entries = entries
        self.modules = tuple(modules)
        self.complete = complete
        self.sealed = sealed
        self._others: dict[str, Any] = {}
        self._new: dict[str, Any] = {}
        self._changed = False

    def put_aside(self) -> None:
        """Take nothing from what is kept, and lose nothing of it that has the seal."""
        self._others, self.entries = (self.entries if self.sealed else {}), {}

    def keep(self, name: str, entry: dict[str, Any], *, found: bool = True) -> None:
        """Keep what was found in this run, or has been compared with its claim in this run."""
        self._new[name] = entry
        self._changed = self._changed or found

    def know(self, modules: Iterable[Module], *, complete: bool) -> None:
        """Note which claims there are: all of the topics of these modules, or all of them."""
        known = {m.name: m for m in (*self.modules, *modules)}
        if len(known) > len(self.modules) or complete > self.complete:
            self.modules = tuple(sorted(known.values()))
            self.complete = self.complete or complete
            self._changed = True

    def save(self) -> None:
        """Write what is new, all or nothing; a folder that cannot be written to keeps nothing.

        What came without the seal gets it only if it has been compared.
        """
        self.entries = {**self._others, **(self.entries if self.sealed else {}), **self._new}
        if self.path is None or not (self._new or self._changed):
            return
        key = _key(make=True)
        if not self._changed and not key:
            return
        text = "\n".join(self._lines()).encode()
        with contextlib.suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            beside = self.path.with_suffix(f".{os.getpid()}.tmp")
            try:
                beside.write_bytes(_seal(self.path, text, key).encode() + b"\n" + text)
                os.replace(beside, self.path)
            finally:
                beside.unlink(missing_ok=True)
            for old in self.path.parent.glob(f"*{self.path.suffix}"):
                if old != self.path:
                    old.unlink(missing_ok=True)

    def _lines(self) -> Iterable[str]:
        """The modules; then for each claim a line about it, and its logs on a line each."""
        modules = [[m.order, m.name, m.topic, m.claims] for m in self.modules]
        yield json.dumps({"complete": self.complete, "modules": modules})
        for name, entry in self.entries.items():
            about = {k: v for k, v in entry.items() if k != "logs"}
            yield json.dumps({"id": name, **about})
            yield from entry["logs"]


def open_store(*, fresh: bool = False, suffix: str = _SUFFIX, also: bytes = b"") -> Store:
    """What is kept for this state of the program; with `fresh` nothing is taken from it.

    `suffix` is that of the file's name, and `also` tells what else its contents depend on.
    """
    where = folder()
    if where is None:
        return Store(None, {})
    store = read(where / f"{_state(also)}{suffix}")
    if fresh:
        store.put_aside()
    return store


def read(path: Path) -> Store:
    """What a file holds; nothing if there is no file, or one that is not of this form."""
    try:
        seal, _, text = path.read_bytes().partition(b"\n")
        key = _key(make=False)
        sealed = bool(key) and hmac.compare_digest(_seal(path, text, key).encode(), seal)
        return _contents(path, iter(text.decode().split("\n")), sealed)
    except (OSError, ValueError, KeyError, TypeError, StopIteration, RecursionError):
        return Store(path, {})


def _contents(path: Path, lines: Iterator[str], sealed: bool) -> Store:
    head, entries = json.loads(next(lines)), {}
    modules = [
        Module(order, str(name), str(topic), tuple(map(str, claims)))
        for order, name, topic, claims in head["modules"]
    ]
    for line in lines:
        about = json.loads(line)
        if set(about) != _FIELDS:
            raise ValueError("a line is not about a claim")
        name = about.pop("id")
        entries[name] = {**about, "logs": [next(lines) for _ in about["kinds"]]}
    if not sealed:  # nobody has compared it with the claims
        return Store(path, entries)
    return Store(path, entries, modules, complete=head["complete"] is True, sealed=True)


def _seal(path: Path, text: bytes, key: bytes) -> str:
    """For this text under this name, which tells the state of the program."""
    named = path.name.encode() + b"\n" + text
    return hmac.new(key, named, hashlib.sha256).hexdigest() if key else ""


def _key(*, make: bool) -> bytes:
    """The user's key, apart from what it seals; empty where there is none."""
    with contextlib.suppress(OSError, RuntimeError):
        state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
        path = Path(state) / _FOLDER / "key"
        if make and not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as f:
                f.write(secrets.token_bytes(32))
        key = path.read_bytes()
        return key if len(key) == 32 else b""
    return b""


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
