"""The Coq sources of a set of claims, and what Coq says of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from derive.certify.deep import Unsupported
from derive.certify.encode import Free, Log, frees
from derive.certify.spec import Printer, identifier, symbol_names

#: The hand-written part, in the order of compilation.
LIBRARY: Final = (
    "Prelude", "Sums", "Niven", "Det", "Terms", "Poly", "Signs", "Normal", "NormalOk", "Rules",
    "RulesOk", "Run",
)  # fmt: skip
#: Files of logs, so that several can be compiled at once.
PARTS: Final = 2


@dataclass
class Certificate:
    """One proof log as a statement and its text; `reason` says why there is no text."""

    claim: str
    kind: str
    name: str
    statement: str
    defined: str
    means: bool = False
    text: str = ""
    reason: str = ""
    #: what the names of its log in the generated files end in
    number: int = 0


@dataclass
class Project:
    """All certificates, and the comment above each claim's statements."""

    certificates: list[Certificate] = field(default_factory=list)
    comments: dict[str, str] = field(default_factory=dict)
    unprinted: dict[str, str] = field(default_factory=dict)

    def of(self, claim: str) -> list[Certificate]:
        return [c for c in self.certificates if c.claim == claim]


def build(claims: Sequence[tuple[str, str, Sequence[Any]]]) -> Project:
    """The certificates of (id, LaTeX of the statement, logs)."""
    project = Project()
    used: set[str] = set()
    for claim, latex, logs in claims:
        project.comments[claim] = _comment(claim, latex)
        count: dict[str, int] = {}
        for log in logs:
            kind = log["kind"]
            count[kind] = count.get(kind, 0) + 1
            name = _name(claim, kind, count[kind], used)
            used |= {name, f"{name}_defined"}
            try:
                made = _certificate(claim, kind, name, log)
                made.number = len(project.certificates)
                project.certificates.append(made)
            except Unsupported as error:
                project.unprinted[name] = str(error)
                project.certificates.append(
                    Certificate(claim, kind, name, "", "", reason=str(error))
                )
    return project


def _certificate(claim: str, kind: str, name: str, data: Any) -> Certificate:
    log = Log(data)
    first, *rest = log.roots
    statement = _printed(log, first)
    defined = " /\\\n  ".join(f"({_printed(log, p)})" for p in rest) if rest else ""
    made = Certificate(claim, kind, name, statement, defined, means=_has_means(log))
    try:
        made.text = log.encoded()
    except Unsupported as error:
        made.reason = str(error)
    return made


def _printed(log: Log, p: Any) -> str:
    free: list[Free] = frees(log.deep, [p])
    names = symbol_names(free)
    numbers = [log.symbols.of(f.symbol) for f in free]
    printer = Printer(dict(zip(numbers, names, strict=True)))
    return printer.closed(free, numbers, log.deep(p))


def _has_means(log: Log) -> bool:
    return any(t.op == "E" for t in log.terms)


def _name(claim: str, kind: str, k: int, used: set[str]) -> str:
    tail = "" if kind == "proof" else f"_{kind}"
    return identifier(f"{claim.replace('/', '__')}{tail}" + (f"_{k}" if k > 1 else ""), used)


def _comment(claim: str, latex: str) -> str:
    inner = latex.replace("(*", "( *").replace("*)", "* )").replace('"', "''")
    return f"(** {claim}: {inner} *)"


# ---------------------------------------------------------------------------- sources


def write(project: Project, out: Path) -> None:
    """Write the library, the statements and the logs into a folder."""
    out.mkdir(parents=True, exist_ok=True)
    for name in LIBRARY:
        source = files("derive.certify") / "coq" / f"{name}.v"
        (out / f"{name}.v").write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
    (out / "Spec.v").write_text(spec_source(project), encoding="utf-8")
    for k, part in enumerate(split(project)):
        (out / f"Logs{k + 1}.v").write_text(logs_source(part), encoding="utf-8")


def split(project: Project) -> list[list[Certificate]]:
    """The certificates that have a text, in parts of about the same length."""
    parts: list[list[Certificate]] = [[] for _ in range(PARTS)]
    load = [0] * PARTS
    for c in sorted(project.certificates, key=lambda c: -len(c.text)):
        if c.text:
            k = load.index(min(load))
            parts[k].append(c)
            load[k] += len(c.text)
    return parts


def spec_source(project: Project) -> str:
    lines = [
        "(** What is claimed, generated from the claims.  A claim whose statement needs no further",
        "    condition to be well defined has no [_defined]. *)",
        "From Derive Require Import Prelude.",
        "Open Scope R_scope.",
    ]
    last = ""
    for c in project.certificates:
        if c.claim != last:
            lines += ["", project.comments[c.claim]]
            last = c.claim
        if not c.statement:
            lines.append(f"(* {c.name}: {c.reason} *)")
            continue
        before = "forall (Omega : Type) (E : (Omega -> R) -> R), expectation E ->\n  "
        before = before if c.means else ""
        lines.append(f"Definition {c.name} : Prop :=\n  {before}{c.statement}.")
        if c.defined:
            lines.append(f"Definition {c.name}_defined : Prop :=\n  {before}{c.defined}.")
    return "\n".join(lines) + "\n"


def logs_source(part: Sequence[Certificate]) -> str:
    lines = ["From Derive Require Import Run Rules Terms.", ""]
    for c in part:
        says, log = f"says{c.number}", f"log{c.number}"
        lines += [
            f'Definition {log} : blob := "{c.text}"%blob.',
            f"Definition {says} : option fm := Eval vm_compute in replay {log}.",
            f"Eval vm_compute in match {says} with Some _ => true | None => false end.",
        ]
    return "\n".join(lines) + "\n"


def proofs_source(part: Sequence[Certificate], k: int) -> str:
    """The theorems of the logs that Coq has replayed."""
    imports = f"From Derive Require Import Prelude Terms Run Spec Logs{k}."
    lines = [imports, "Open Scope R_scope.", ""]
    for c in part:
        stated = f"Spec.{c.name}" + (f" /\\ Spec.{c.name}_defined" if c.defined else "")
        n = c.number
        lines += [
            f"Definition p{n} := Eval vm_compute in said says{n}.",
            f"Lemma r{n} : replay log{n} = Some p{n}.",
            f"Proof. vm_cast_no_check (eq_refl (Some p{n})). Qed.",
        ]
        if c.means:
            lines += _means_theorem(c)
        else:
            lines.append(f"Theorem {c.name}_holds : {stated}.")
            lines.append(f"Proof. exact (truth_ok _ _ r{n}). Qed.")
    return "\n".join(lines) + "\n"


def _means_theorem(c: Certificate) -> list[str]:
    """The expectation of a statement is any; it gives an outcome to read the rest at."""
    at = (
        "intros Omega E HE; destruct (outcome Omega E HE) as [w _]; "
        f"pose proof (means_ok _ _ r{c.number} Omega E HE w) as H; hnf in H"
    )
    if not c.defined:
        return [f"Theorem {c.name}_holds : Spec.{c.name}.", f"Proof. {at}; exact H. Qed."]
    return [
        f"Theorem {c.name}_holds : Spec.{c.name} /\\ Spec.{c.name}_defined.",
        f"Proof. split; {at}; [exact (proj1 H)|exact (proj2 H)]. Qed.",
    ]


def audit_source(parts: Sequence[Sequence[Certificate]]) -> str:
    """Every theorem against its statement, and all their assumptions at once."""
    names = " ".join(f"Proofs{k + 1}" for k in range(len(parts)))
    lines = [f"From Derive Require Import Spec {names}.", ""]
    all_names = []
    for k, part in enumerate(parts):
        for c in part:
            theorem = f"Proofs{k + 1}.{c.name}_holds"
            if c.defined:
                lines.append(f"Definition {c.name}_a : Spec.{c.name} := proj1 {theorem}.")
                lines.append(f"Definition {c.name}_b : Spec.{c.name}_defined := proj2 {theorem}.")
                all_names += [f"{c.name}_a", f"{c.name}_b"]
            else:
                lines.append(f"Definition {c.name}_a : Spec.{c.name} := {theorem}.")
                all_names.append(f"{c.name}_a")
    tuple_ = "I"
    for name in all_names:
        tuple_ = f"(conj {name} {tuple_})"
    lines += [f"Definition everything := {tuple_}.", "Print Assumptions everything."]
    return "\n".join(lines) + "\n"


# ---------------------------------------------------------------------------- answers


def replayed(part: Sequence[Certificate], output: str) -> list[Certificate]:
    """Those whose log Coq has replayed, by what the file of logs printed."""
    answers = re.findall(r"= (true|false)\b", output)
    if len(answers) != len(part):
        raise ValueError("Coq did not answer for every log")
    return [c for c, a in zip(part, answers, strict=True) if a == "true"]
