"""Lets Coq compile the sources and audits what it has accepted.

The exit status of ``coqc`` alone proves nothing: a file may admit what it states.  So every
theorem is held against its statement in ``Spec.v``, and the axioms under all of them together have
to be those of Coq's real numbers.  Coq's separate checker then reads the compiled files again, and
none of them may declare an axiom, of whatever name.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from derive.certify.project import LIBRARY, PARTS, Certificate, Project, audit_source, replayed

ALLOWED: Final = frozenset([
    "ClassicalDedekindReals.sig_forall_dec",
    "ClassicalDedekindReals.sig_not_dec",
    "FunctionalExtensionality.functional_extensionality_dep",
    "Classical_Prop.classic",
])  # fmt: skip
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


def check(project: Project, out: Path, *, again: bool = False) -> Audited:
    """Compile everything in `out`, where `project.write` has put the sources.

    With `again`, ``coqchk`` checks all proofs of the logs and Coq's library, too.
    """
    prepare(out)
    answers = _compile(out, [f"Logs{k + 1}" for k in range(PARTS)])
    good = [c for k, said in enumerate(answers) for c in replayed(project, k, said)]
    _compile(out, [f"Proofs{k + 1}" for k in range(PARTS)])
    _write(out / "Audit.v", audit_source(good))
    axioms = audit(out)
    others = [*LIBRARY, "Spec", *(f"Logs{k + 1}" for k in range(PARTS))]
    if again:
        jobs = [(["Audit"], others), *(([f"Proofs{k + 1}"], []) for k in range(PARTS))]
        with ThreadPoolExecutor(PARTS) as pool:  # each takes a gigabyte
            list(pool.map(lambda job: recheck(out, *job), jobs))
    else:
        recheck(out, [*others, "Audit"])
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
    """Compile the hand-written part and the statements."""
    for stage in stages(out, [*LIBRARY, "Spec"]):
        _compile(out, stage)


def stages(out: Path, names: Sequence[str]) -> list[list[str]]:
    """The modules, given in an order of compilation, so that each stage needs earlier ones only."""
    found: list[list[str]] = []
    place: dict[str, int] = {}
    for name in names:
        source = (out / f"{name}.v").read_text(encoding="utf-8")
        needed = " ".join(re.findall(r"^From Derive Require (?:Import )?([^.]*)\.", source, re.M))
        place[name] = 1 + max((place[n] for n in needed.split()), default=-1)
        if place[name] == len(found):
            found.append([])
        found[place[name]].append(name)
    return found


def assumptions(output: str) -> tuple[str, ...]:
    """The names after ``Axioms:`` in what ``Print Assumptions`` prints."""
    head, _, listed = output.partition("Axioms:")
    if not listed:
        if "Closed under the global context" in head:
            return ()
        raise CoqError("Audit.v: Coq did not say what the theorems rest on")
    names = re.findall(r"^(\S+)(?:\s*:|\s*$)", listed, re.MULTILINE)
    return tuple(names)


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


def recheck(out: Path, modules: Sequence[str], with_needed: Sequence[str] = ()) -> None:
    """The separate checker over modules of ours, and over others with all that they need: what it
    accepts and assumes.

    The proofs of the logs are read, but not run again unless they are among `modules`.
    """
    asked = [part for name in modules for part in ("-norec", f"Derive.{name}")]
    asked += [f"Derive.{name}" for name in with_needed]
    done = subprocess.run(
        ["coqchk", "-silent", "-o", "-Q", ".", "Derive", *asked], cwd=out, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip
    if done.returncode:
        raise CoqError(f"coqchk refuses: {' '.join(done.stdout.split())[-400:]}")
    foreign = suspicious(done.stdout)
    if foreign:
        raise CoqError(f"coqchk: our modules rest on {', '.join(foreign)}")


def suspicious(summary: str) -> list[str]:
    """Of what ``coqchk -o`` prints: our own axioms, and whatever goes around Coq's checks."""
    if "* Axioms:" not in summary:
        raise CoqError("coqchk did not say what the modules rest on")
    found, part = [], ""
    for line in map(str.strip, summary[summary.index("* ") :].splitlines()):
        if line.startswith("* "):
            part = line.removeprefix("* ")
            if not part.endswith((": <none>", ":", "Set is predicative")):
                found.append(part)
        elif line and (part != "Axioms:" or line.startswith("Derive.")):
            found.append(line)
    return found


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
