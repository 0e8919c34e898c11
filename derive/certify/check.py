"""Lets Coq compile the sources and audits what it has accepted.

The exit status of ``coqc`` alone proves nothing: a file may admit what it states.  So every
theorem is held against its statement in ``Spec.v``, and the axioms under all of them together have
to be those of Coq's real numbers.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from derive.certify.project import LIBRARY, PARTS, Certificate, Project, audit_source, replayed

ALLOWED: Final = frozenset(
    ["sig_forall_dec", "sig_not_dec", "functional_extensionality_dep", "classic"]
)
PACKAGES: Final = "coq libcoq-coquelicot"


class CoqError(Exception):
    """Coq refused a source, or the audit found an axiom that is not allowed."""


@dataclass(frozen=True)
class Audited:
    """The certificates that Coq accepted, and the axioms under them."""

    accepted: tuple[Certificate, ...]
    axioms: tuple[str, ...]


def has_coq() -> bool:
    return all(shutil.which(program) for program in ("coqc", "coqchk"))


def check(project: Project, out: Path) -> Audited:
    """Compile everything in `out`, where `project.write` has put the sources."""
    _library(out)
    answers = _compile(out, [f"Logs{k + 1}" for k in range(PARTS)])
    good = [c for k, said in enumerate(answers) for c in replayed(project, k, said)]
    _compile(out, [f"Proofs{k + 1}" for k in range(PARTS)])
    _write(out / "Audit.v", audit_source(good))
    axioms = audit(out)
    _recheck(out)
    return Audited(tuple(good), axioms)


def audit(out: Path) -> tuple[str, ...]:
    """Compile ``Audit.v`` and return the axioms that it prints; refuses any that is not allowed."""
    (answer,) = _compile(out, ["Audit"])
    axioms = assumptions(answer)
    foreign = sorted(set(axioms) - ALLOWED)
    if foreign:
        raise CoqError(f"Audit.v: the theorems rest on {', '.join(foreign)}")
    return axioms


def prepare(out: Path) -> None:
    """Compile the hand-written part alone."""
    for name in LIBRARY:
        _compile(out, [name])


def assumptions(output: str) -> tuple[str, ...]:
    """The names after ``Axioms:`` in what ``Print Assumptions`` prints, without their modules."""
    head, _, listed = output.partition("Axioms:")
    if not listed:
        if "Closed under the global context" in head:
            return ()
        raise CoqError("Audit.v: Coq did not say what the theorems rest on")
    names = re.findall(r"^(\S+)(?:\s*:|\s*$)", listed, re.MULTILINE)
    return tuple(name.rsplit(".", 1)[-1] for name in names)


def _library(out: Path) -> None:
    prepare(out)
    _compile(out, ["Spec"])


def _compile(out: Path, names: Sequence[str]) -> list[str]:
    """Compile modules that do not depend on each other, at once; what each of them printed."""
    running = [
        subprocess.Popen(
            ["coqc", "-q", "-Q", ".", "Derive", f"{name}.v"], cwd=out, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "LC_ALL": "C.UTF-8"},
        )
        for name in names
    ]  # fmt: skip
    answers = [process.communicate() for process in running]
    for name, process, (_, errors) in zip(names, running, answers, strict=True):
        if process.returncode:
            lines = " ".join(errors.split())
            raise CoqError(f"{name}.v: coqc refuses it: {lines[:400]}")
    return [said for said, _ in answers]


def _recheck(out: Path) -> None:
    """The separate checker over the library and the statements."""
    modules = [part for name in (*LIBRARY, "Spec") for part in ("-norec", f"Derive.{name}")]
    done = subprocess.run(
        ["coqchk", "-silent", "-Q", ".", "Derive", *modules], cwd=out, text=True,
        capture_output=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise CoqError(f"coqchk refuses the library: {' '.join(done.stderr.split())[:400]}")


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
