"""What Coq accepts, and that it accepts nothing else (with ``--coq``)."""

from __future__ import annotations

import copy
import random

import pytest
from certify_samples import logs
from coq_trials import proves_the_same, still_proves

from derive.certify import check
from derive.certify.deep import Unsupported
from derive.certify.encode import Log
from derive.certify.project import build, replayed, write
from derive.kernel.terms import KernelError

MUTANTS = 240


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
        ("Axiom classic : Spec.c. Definition f := classic.", "rest on classic"),
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


def test_no_module_of_ours_may_declare_an_axiom(library) -> None:
    """Not even one that is called like an axiom of Coq, and that no theorem rests on."""
    (library / "Spec.v").write_text("Axiom classic : False.\n", encoding="utf-8")
    check._compile(library, ["Spec"])
    check.recheck(library, ["Run"])
    with pytest.raises(check.CoqError, match=r"rest on Derive\.Spec\.classic"):
        check.recheck(library, ["Spec"])


def _mutants(seed: int) -> list[tuple[str, str]]:
    """Texts of altered logs that prove something else or nothing, with those of the originals."""
    rng = random.Random(seed)
    pool = [log for _, _, proofs in logs() for log in proofs if len(log["steps"]) > 2]
    texts = {id(log): _text(log) for log in pool}
    pool = [log for log in pool if texts[id(log)]]
    found: list[tuple[str, str]] = []
    while len(found) < MUTANTS:
        original = rng.choice(pool)
        log = copy.deepcopy(original)
        rng.choice(_WAYS)(log, rng)
        if log["steps"] == original["steps"] or still_proves(log):
            continue
        made = _text(log)
        if made:
            found.append((made, texts[id(original)]))
    return found


def _text(log) -> str:
    """The text of a log; none if its steps do not even have the form of steps."""
    try:
        return Log(log).encoded()
    except (Unsupported, KernelError, LookupError, ValueError, TypeError, AttributeError):
        return ""


def _drop_premise(log, rng) -> None:
    step = rng.choice(log["steps"])
    if step["premises"]:
        step["premises"].pop(rng.randrange(len(step["premises"])))


def _other_argument(log, rng) -> None:
    step = rng.choice(log["steps"])
    places = [k for k, a in enumerate(step["args"]) if isinstance(a, dict) and "term" in a]
    if places:
        step["args"][rng.choice(places)] = {"term": rng.randrange(len(log["terms"]))}


def _other_premise(log, rng) -> None:
    at = rng.randrange(len(log["steps"]))
    step = log["steps"][at]
    if step["premises"] and at > 1:
        step["premises"][rng.randrange(len(step["premises"]))] = rng.randrange(at)


def _other_rule(log, rng) -> None:
    a, b = rng.choice(log["steps"]), rng.choice(log["steps"])
    a["rule"] = b["rule"]


def _drop_discharge(log, rng) -> None:
    """The premise of a discharge in its place: the hypothesis stays."""
    for step in log["steps"]:
        step["premises"] = [
            log["steps"][k]["premises"][0] if log["steps"][k]["rule"] == "discharge" else k
            for k in step["premises"]
        ]


_WAYS = (_drop_premise, _other_argument, _other_premise, _other_rule, _drop_discharge)


def test_a_refused_step_spoils_its_own_log_only(library) -> None:
    """Logs share a text: after one that is refused, the next ones are replayed all the same."""
    sound = [log for _, _, proofs in logs() for log in proofs][:3]
    bad = copy.deepcopy(sound[1])
    bad["steps"][0]["rule"] = "decide" if bad["steps"][0]["rule"] == "assume" else "assume"
    bad["steps"][0]["premises"], bad["steps"][0]["args"] = [], [{"term": bad["goal"]}]
    project = build([("a/b", "", [sound[0]]), ("c/d", "", [bad]), ("e/f", "", [sound[2]])])
    write(project, library)
    check._compile(library, ["Spec"])
    answers = check._compile(library, ["Logs1", "Logs2"])
    good = {c.name for k in range(2) for c in replayed(project, k, answers[k])}
    names = [c.name for c in project.certificates]
    assert good == {names[0], names[2]}


def test_no_altered_log_proves_its_claim(library) -> None:
    originals, altered = proves_the_same(library, _mutants(0))
    assert originals.count(True) > 0.8 * len(originals)
    assert altered.count(True) == 0
