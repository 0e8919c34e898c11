"""The Coq sources of a set of claims, and what Coq says of them."""

from __future__ import annotations

import gc
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from derive.certify.deep import Deep, Symbols, Unsupported
from derive.certify.encode import Free, Log
from derive.certify.packed import Writer
from derive.certify.shared import Shared
from derive.certify.spec import HEADER, identifier, wrapped

#: The hand-written part, in the order of compilation.
LIBRARY: Final = (
    "Prelude", "Sums", "Niven", "Det", "Frechet", "Terms", "Poly", "Signs", "Normal", "NormalOk",
    "Rules", "RulesOk", "Derivative", "DerivativeOk", "Text", "Run",
)  # fmt: skip
#: Files of logs, so that several can be compiled at once.
PARTS: Final = 2
TOGETHER: Final = 80
#: The limits of a sum or product over all indices of a range
_RANGE: Final = re.compile(r"_\{(\w+)=0\}\^\{((?:[^{}]|\{[^{}]*\})*)-1\}")
#: The same with the last one of the indices
_LAST: Final = re.compile(r"_\{(\w+)=0\}\^(?:(\d)|\{(\d+)\})")
#: Several sums over such indices
_SUMS: Final = re.compile(r"(?:\\sum_\{\w+<(?:[^{}]|\{[^{}]*\})*\}){2,}")
#: The characters of a text in one string; Coq has no stack for all of them at once.
LINE: Final = 2000


@dataclass
class Certificate:
    """One proof log as a statement, and its place in the texts; `reason` says why it is in none."""

    claim: str
    kind: str
    name: str
    statement: str = ""
    defined: str = ""
    #: names of the definitions that the statements use
    premises: tuple[str, ...] = ()
    means: bool = False
    reason: str = ""
    part: int = 0
    number: int = 0


@dataclass
class Project:
    """All certificates, the comment above each claim's statements, and the logs as texts."""

    certificates: list[Certificate] = field(default_factory=list)
    comments: dict[str, str] = field(default_factory=dict)
    shared: Shared = field(default_factory=lambda: Shared([], set()))
    texts: list[str] = field(default_factory=lambda: [""] * PARTS)

    def of_part(self, part: int) -> list[Certificate]:
        return [c for c in self.certificates if c.part == part and not c.reason]

    def of(self, claim: str) -> list[Certificate]:
        return [c for c in self.certificates if c.claim == claim]


def build(claims: Iterable[tuple[str, str, Iterable[Any]]]) -> Project:
    """The certificates of (id, LaTeX of the statement, logs)."""
    collecting = gc.isenabled()
    gc.disable()  # nearly all that is made is kept to the end, and holds no cycles
    try:
        return _built(claims)
    finally:
        gc.freeze()
        if collecting:
            gc.enable()


def _built(claims: Iterable[tuple[str, str, Iterable[Any]]]) -> Project:
    project = Project()
    used: set[str] = set()
    deep = Deep(Symbols())
    made: list[tuple[Certificate, Log | None]] = []
    for claim, latex, logs in claims:
        project.comments[claim] = _comment(latex)
        count: dict[str, int] = {}
        for log in logs:
            kind = log["kind"]
            count[kind] = count.get(kind, 0) + 1
            name = _name(claim, kind, count[kind], used)
            c = Certificate(claim, kind, name, part=_part(len(made)))
            used |= {c.name, f"{c.name}_defined"}
            made.append((c, _read(c, log, deep)))
    project.certificates = [c for c, _ in made]
    readable = [(c, log) for c, log in made if log is not None]
    project.shared = Shared([log for _, log in readable], used)
    writers = [Writer(deep.symbols) for _ in range(PARTS)]
    _name_symbols(readable, writers)
    for c, log in readable:
        _fill(c, log, project.shared, writers[c.part])
    project.texts = [w.text() for w in writers]
    return project


def _part(k: int) -> int:
    """The part of log number k: some neighbours together, which have terms in common, and in turn,
    as long proofs are neighbours, too."""
    return k // TOGETHER % PARTS


def _name_symbols(logs: Sequence[tuple[Certificate, Log]], writers: Sequence[Writer]) -> None:
    """The symbols of the statements first, those of many logs before the others: short numbers."""
    counts = [Counter[Free]() for _ in writers]
    for c, log in logs:
        counts[c.part].update(log.statement.frees)
    for w, count in zip(writers, counts, strict=True):
        for f, _ in count.most_common():
            w.atom(w.symbols.of(f.symbol), f.size)


def _read(c: Certificate, data: Any, deep: Deep) -> Log | None:
    log = None
    try:
        log = Log(data, deep)
        log.read_steps()
    except Unsupported as error:
        c.reason = str(error)
    return log


def _fill(c: Certificate, log: Log, shared: Shared, writer: Writer) -> None:
    (c.statement, *defined), needed = shared.printed(log)
    c.defined = defined[0] if len(defined) == 1 else " /\\\n ".join(f"({p})" for p in defined)
    c.premises = tuple(needed)
    c.means = log.means
    c.number = writer.logs
    if not c.reason:
        log.encode(writer)
    writer.end()


def _name(claim: str, kind: str, k: int, used: set[str]) -> str:
    tail = {"proof": "", "counterexample": "_fails", "witness": "_holds"}[kind]
    return identifier(f"{claim.replace('/', '__')}{tail}" + (f"_{k}" if k > 1 else ""), used)


def _comment(latex: str) -> str:
    """The LaTeX without what only makes space or is not needed, and what would end a comment.

    A sum from 0 to n-1 is written as one over i<n, and sums over several such indices as one sum.
    """
    plain = re.sub(r" ?\\[,;:] ?|\\ +", " ", re.sub(r"\\(left|right)(?![a-z])", "", latex))
    plain = re.sub(r"\{\\(?:text|mathrm)(\{\w+\})\}", r"\1", plain)
    plain = re.sub(r"([_^])\{(\w)\}", r"\1\2", plain)
    plain = _LAST.sub(lambda f: f"_{{{f[1]}<{int(f[2] or f[3]) + 1}}}", plain)
    plain = " ".join(_RANGE.sub(r"_{\1<\2}", plain).split())
    plain = re.sub(r"(?<=[\w}]) (?=[=\\])|(?<=[=}]) (?=[\w(\\])| (?=<)|(?<=<) ", "", plain)
    plain = _SUMS.sub(lambda f: f[0].replace(r"}\sum_{", ","), plain)
    plain = re.sub(r"\\D (?![a-zA-Z])", r"\\D", plain.replace("d_{model}", r"\D "))
    inner = plain.replace("(*", "( *").replace("*)", "* )").replace('"', "''")
    return "\n".join(wrapped(f"(** {inner} *)", r" |(?=\\)"))


# ---------------------------------------------------------------------------- sources


def write(project: Project, out: Path) -> None:
    """Write the library, the statements, the logs and their audit into a folder."""
    out.mkdir(parents=True, exist_ok=True)
    for name in LIBRARY:
        source = files("derive.certify") / "coq" / f"{name}.v"
        (out / f"{name}.v").write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
    (out / "Spec.v").write_text(spec_source(project), encoding="utf-8")
    for k in range(PARTS):
        (out / f"Logs{k + 1}.v").write_text(logs_source(project.texts[k]), encoding="utf-8")
        (out / f"Proofs{k + 1}.v").write_text(proofs_source(k), encoding="utf-8")
    every = [c for c in project.certificates if not c.reason]
    (out / "Audit.v").write_text(audit_source(every), encoding="utf-8")


def spec_source(project: Project) -> str:
    lines = [HEADER.rstrip("\n")]
    last, known = "", set[str]()
    for c in project.certificates:
        new = [name for name in c.premises if name not in known]
        known.update(new)
        if c.claim != last or new:
            lines.append("")
        lines += [project.shared.definitions[name] for name in new]
        if c.claim != last:
            lines += [project.comments[c.claim]]
            last = c.claim
        if not c.statement:
            lines.append(f"(* {c.name}: {c.reason} *)")
            continue
        before = "forall (Omega : Type) (E : (Omega -> R) -> R), expectation E ->\n "
        before = before if c.means else ""
        lines.append(f"Definition {c.name} :=\n {before}{c.statement}.")
        if c.defined:
            lines.append(f"Definition {c.name}_defined :=\n {before}{c.defined}.")
    return "\n".join(lines) + "\n"


def logs_source(logs: str) -> str:
    lines = ";\n".join(f'"{logs[k : k + LINE]}"%blob' for k in range(0, len(logs), LINE))
    return f"""From Derive Require Import Prelude Text Run.
Definition logs := Eval vm_compute in text_of [{lines}].
Definition said := Eval vm_compute in replay logs.
Eval vm_compute in shown said.
"""


def proofs_source(part: int) -> str:
    """The one theorem about the logs of a part: what their replay says."""
    return f"""From Derive Require Import Run Logs{part + 1}.
Lemma replayed : replay logs = said.
Proof. vm_cast_no_check (eq_refl said). Qed.
"""


def audit_source(accepted: Sequence[Certificate]) -> str:
    """Every statement against what its log has shown, and all their assumptions at once."""
    parts = range(1, PARTS + 1)
    lines = [
        f"From Derive Require Import Prelude Run {' '.join(f'Proofs{k}' for k in parts)}.",
        "(* Last, so that these names are those of the statements. *)",
        "From Derive Require Import Spec.",
    ]
    proofs = []
    for k in parts:
        mine = {c.number: c for c in accepted if c.part == k - 1}
        stated = [_claimed(mine.get(n)) for n in range(max(mine, default=-1) + 1)]
        lines += [
            f"(* What the logs of text {k} show, in their order. *)",
            f"Definition claims{k} : list Prop :=",
            *wrapped(f"[{'; '.join(stated)}]."),
            f"Lemma shown{k} : all claims{k}. Proof. by_logs Proofs{k}.replayed 0%nat. Qed.",
        ]
        proofs.append(f"shown{k}")
        for c in mine.values():
            if c.means:
                name = f"means{len(proofs)}"
                by = f"of_means Proofs{k}.replayed {c.number}%nat"
                lines.append(f"Lemma {name} : {_stated(c)}. Proof. {by}. Qed.")
                proofs.append(name)
    lines += [f"Definition everything := ({', '.join(proofs)}).", "Print Assumptions everything."]
    return "\n".join(lines) + "\n"


def _claimed(c: Certificate | None) -> str:
    """What a log shows, if it is without expectations: those have a lemma each."""
    return "True" if c is None or c.means else _stated(c)


def _stated(c: Certificate) -> str:
    return f"{c.name} /\\ {c.name}_defined" if c.defined else c.name


# ---------------------------------------------------------------------------- answers


def replayed(project: Project, part: int, output: str) -> list[Certificate]:
    """Those whose log Coq has replayed, by what the file of logs printed."""
    answers = re.findall(r"\b(true|false)\b", output.rpartition(": list")[0])
    asked = project.of_part(part)
    if any(c.number >= len(answers) for c in asked):
        raise ValueError("Coq did not answer for every log")
    return [c for c in asked if answers[c.number] == "true"]
