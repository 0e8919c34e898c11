"""What Coq has accepted on this machine, so that the other commands can tell of it.

One file beside the kept proofs, written by `derive certify --check`. An entry counts only for the
very logs that Coq was given, and only as long as the sources that make the certificates are what
they were.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from derive import sealed, store
from derive.result import LogView, Result
from derive.wording import NOT_RUN

_NAME: Final = "certificates.record"
NOTHING: Final = "there is no proof log to certify"


def keep(results: Sequence[Result], entries: Mapping[str, tuple[str, str]]) -> None:
    """Keep (certificate, reason) of the claims, for the logs of their results."""
    folder = store.folder()
    if folder is None:
        return
    found = _read(folder)
    for r in results:
        if r.id in entries:
            certificate, reason = entries[r.id]
            found[r.id] = {"certificate": certificate, "reason": reason, "logs": _digests(r.logs)}
    told = json.dumps({"sources": _sources(), "claims": found})
    sealed.write(folder / _NAME, told.encode())


def attached(results: Sequence[Result]) -> list[Result]:
    """The results, each with what is known of its certificate."""
    folder = store.folder()
    known = {} if folder is None else _read(folder)
    return [_with_certificate(r, known.get(r.id)) for r in results]


def _with_certificate(r: Result, entry: Any) -> Result:
    if not r.replayed:
        return replace(r, certificate="none", certificate_reason=NOTHING)
    if entry is None or entry["logs"] != _digests(r.logs):
        return replace(r, certificate="none", certificate_reason=NOT_RUN)
    return replace(r, certificate=entry["certificate"], certificate_reason=entry["reason"])


def _digests(logs: Sequence[LogView]) -> list[str]:
    return [log.digest for log in logs]


def _read(folder: Path) -> dict[str, Any]:
    """The entries; none if there is no such file with the seal, or it is of other sources."""
    contents = sealed.read(folder / _NAME)
    found = {} if contents is None else json.loads(contents)
    return found["claims"] if found.get("sources") == _sources() else {}


def _sources() -> str:
    """A digest of all that makes certificates and checks them."""
    root = Path(__file__).resolve().parent
    digest = hashlib.sha256()
    for source in sorted([*root.rglob("*.py"), *root.rglob("*.v")]):
        digest.update(str(source.relative_to(root)).encode())
        digest.update(hashlib.sha256(source.read_bytes()).digest())
    return digest.hexdigest()
