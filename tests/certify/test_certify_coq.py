"""What Coq accepts, and that it accepts nothing else (with ``--coq``)."""

from __future__ import annotations

import pytest
from certify_samples import logs

from derive.certify import check
from derive.certify.project import build, write


def test_sample_claims_pass_the_audit(library, tmp_path) -> None:
    chosen = [e for e in logs() if e[0].startswith("head-width/")]
    project = build(chosen)
    write(project, library)
    audited = check.check(project, library)
    assert set(audited.axioms) <= check.ALLOWED
    proved = {c.name for c in audited.accepted}
    assert {c.name for c in project.certificates} == proved


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("Lemma f : Spec.c. Proof. Admitted.", "rest on f"),
        ("Axiom f : Spec.c.", "rest on f"),
        ("Definition f : Spec.c := I.", "refuses"),
    ],
)
def test_what_is_not_proved_is_refused(library, source: str, why: str) -> None:
    (library / "Spec.v").write_text("Definition c : Prop := 0 = 1.\n", encoding="utf-8")
    lines = ["From Derive Require Import Spec.", source, "Definition a : Spec.c := f.",
             "Print Assumptions a."]  # fmt: skip
    (library / "Audit.v").write_text("\n".join(lines), encoding="utf-8")
    check._compile(library, ["Spec"])
    with pytest.raises(check.CoqError, match=why):
        check.audit(library)
