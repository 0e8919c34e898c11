"""Which claims have a certificate that Coq accepted, and why the others have none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from derive.certify.check import Audited
from derive.certify.project import Project

NOT_RUN = "not checked: Coq was not run"


@dataclass(frozen=True)
class Coverage:
    """`certificate` is "coq" only if every log of the claim was accepted."""

    claim: str
    verdict: str
    certificate: str
    reason: str


def coverage(
    project: Project, verdicts: Sequence[tuple[str, str]], audited: Audited | None
) -> list[Coverage]:
    """One entry for each (claim, verdict) that rests on logs."""
    accepted = {c.name for c in audited.accepted} if audited is not None else set()
    out = []
    for claim, verdict in verdicts:
        logs = project.of(claim)
        missing = [c for c in logs if c.name not in accepted]
        if not missing:
            out.append(Coverage(claim, verdict, "coq", ""))
            continue
        first = missing[0]
        reason = first.reason or (
            NOT_RUN if audited is None else f"a step of its {first.kind} is not accepted in Coq"
        )
        out.append(Coverage(claim, verdict, "none", reason))
    return out


def summary(entries: Sequence[Coverage], project: Project, audited: Audited) -> str:
    """The counts, and every claim without a certificate with its reason."""
    lines = []
    for verdict in ("proved", "conditional", "refuted"):
        mine = [e for e in entries if e.verdict == verdict]
        if mine:
            done = sum(e.certificate == "coq" for e in mine)
            lines.append(f"{verdict}: {done} of {len(mine)} claims certified")
    accepted = {c.name for c in audited.accepted}
    examples = [c for c in project.certificates if c.kind == "counterexample"]
    if examples:
        done = sum(c.name in accepted for c in examples)
        lines.append(f"counterexamples: {done} of {len(examples)}")
    lines.append(f"axioms: {', '.join(sorted(audited.axioms)) or 'none'}")
    lines += [f"none  {e.claim}: {e.reason}" for e in entries if e.certificate == "none"]
    return "\n".join(lines) + "\n"
