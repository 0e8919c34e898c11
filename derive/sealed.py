"""Files that this program writes for itself, under the user's seal.

The seal is an HMAC of a file's name and contents under a random key of the user, which lies in
another folder.  A file with the seal was written by this very user's program; what anybody else
has written, edited, renamed or handed on is as good as no file.  The name of a file tells the state
of the sources that made it, so nothing is written once a source has changed in this run: what was
computed may then be of another state.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import re
import secrets
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Final

FOLDER: Final = "derive-transformer"
#: A source that has changed so shortly before the start may have been read before that, too.
_MARGIN: Final = 200_000_000
_START: Final = time.time_ns()
_KEY_BYTES: Final = 32


def read(path: Path) -> bytes | None:
    """The contents of a file with the seal, None for any other."""
    key = _key()
    try:
        seal, _, contents = path.read_bytes().partition(b"\n")
    except OSError:
        return None
    return contents if key and hmac.compare_digest(_seal(path, contents, key), seal) else None


def write(path: Path, contents: bytes) -> None:
    """Write a file, all or nothing, and remove those of other states beside it.

    Nothing is written where the folder or the key cannot be, or a source has just changed.
    """
    if not _sources_are_older():
        return
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        key = _key() or _new_key()
        if not key:
            return
        beside = path.with_suffix(f".{os.getpid()}.tmp")
        try:
            beside.write_bytes(_seal(path, contents, key) + b"\n" + contents)
            os.replace(beside, path)
        finally:
            beside.unlink(missing_ok=True)
        for old in path.parent.glob(f"*{path.suffix}"):
            if old != path and _STATE.fullmatch(old.stem):
                old.unlink(missing_ok=True)


#: The name of a file that tells a state of the program; others with such an ending are not ours.
_STATE: Final = re.compile("[0-9a-f]{32}")


def _seal(path: Path, contents: bytes, key: bytes) -> bytes:
    named = path.name.encode() + b"\n" + contents
    return hmac.new(key, named, hashlib.sha256).hexdigest().encode()


def _sources_are_older() -> bool:
    """Whether no source of the package or of `numeric` has changed since this program started."""
    for name in ("derive", "numeric"):
        spec = find_spec(name)  # not imported: NumPy takes long to load
        if spec is None or spec.origin is None:
            continue
        for source in Path(spec.origin).parent.rglob("*.py"):
            try:
                found = source.stat()
            except OSError:
                return False
            if max(found.st_ctime_ns, found.st_mtime_ns) > _START - _MARGIN:
                return False
    return True


def _key_path() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / FOLDER / "key"


def _key() -> bytes:
    """The user's key; empty where there is none."""
    with contextlib.suppress(OSError, RuntimeError):
        key = _key_path().read_bytes()
        return key if len(key) == _KEY_BYTES else b""
    return b""


def _new_key() -> bytes:
    """A new key in place of none, or of a damaged one; the one that is there if others were faster.

    It becomes visible only when it is whole, and readable by the user alone.
    """
    try:
        path = _key_path()
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not _key():
            path.unlink()
        beside = path.with_suffix(f".{os.getpid()}")
        with os.fdopen(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
            file.write(secrets.token_bytes(_KEY_BYTES))
        try:
            with contextlib.suppress(FileExistsError):
                os.link(beside, path)
        finally:
            beside.unlink()
    except (OSError, RuntimeError):
        return b""
    return _key()
