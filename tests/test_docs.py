"""The documents say what the code does: tables of rules and axioms, examples, commands.

`python tests/test_docs.py` prints the tables of `docs/trusted_base.md` as they should be.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from derive import plain_math
from derive.catalogue import all_claims
from derive.cli import main
from derive.kernel.axioms import ARITHMETIC, AXIOMS, EVALUATIONS, Axiom, Law
from derive.kernel.rules import RULES

ROOT = Path(__file__).resolve().parent.parent
TRUSTED_BASE = ROOT / "docs" / "trusted_base.md"
TRUSTED = (*AXIOMS.values(), *EVALUATIONS.values())
LAWS = tuple(ARITHMETIC.values())


def rule_rows() -> list[str]:
    """One row per rule: its name, and the first paragraph of its docstring."""
    rows = []
    for name, rule in RULES.items():
        text = " ".join((rule.__doc__ or "").strip().split("\n\n")[0].split())
        rows.append(f"| `{name}` | {text.replace('|-', '⊢').replace('|', '&#124;')} |")
    return rows


def fact_rows(facts: Iterable[Axiom | Law]) -> list[str]:
    """One row per axiom or law: formula, side condition, citation."""
    rows = []
    for fact in facts:
        formula, condition = (
            text.replace("|", r"\vert ") for text in (fact.formula, fact.condition)
        )
        words = re.search(r"[a-z]{4}", re.sub(r"\\[a-z]+", "", condition))
        symbols = re.search(r"[\\<>=]", condition) and not words
        shown = f"${condition}$" if symbols else condition
        rows.append(f"| `{fact.name}` | ${formula}$ | {shown} | {fact.citation} |")
    return rows


@pytest.mark.parametrize("row", [*rule_rows(), *fact_rows(TRUSTED), *fact_rows(LAWS)])
def test_trusted_base_lists_every_rule_and_axiom(row: str) -> None:
    assert row in TRUSTED_BASE.read_text(encoding="utf-8").splitlines()


def test_trusted_base_lists_nothing_else() -> None:
    text = TRUSTED_BASE.read_text(encoding="utf-8")
    listed = re.findall(r"^\| `([a-z-]+)` \|", text, flags=re.M)
    assert sorted(listed) == sorted([*RULES, *AXIOMS, *EVALUATIONS, *ARITHMETIC])


def test_every_rule_has_a_formula() -> None:
    assert all(rule.__doc__ and len(rule.__doc__) > 5 for rule in RULES.values())


def test_every_axiom_is_cited() -> None:
    assert all(f.citation for f in (*TRUSTED, *LAWS))


def test_the_example_of_writing_a_claim_runs(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "writing_a_claim.md").read_text(encoding="utf-8")
    example, _ = re.findall(r"```python\n(.*?)```", text, flags=re.S)
    path = tmp_path / "my_claims.py"
    path.write_text(example, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "derive", "verify", "--mutations", str(path)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "proved" in done.stdout
    assert "conditional" in done.stdout
    assert "Mutations: 1, all caught." in done.stdout


def test_the_patterns_of_writing_a_claim_are_settled_as_they_say(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "writing_a_claim.md").read_text(encoding="utf-8")
    _, patterns = re.findall(r"```python\n(.*?)```", text, flags=re.S)
    path = tmp_path / "patterns.py"
    path.write_text(patterns, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "derive", "verify", str(path)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    counted = re.search(r"(\d+) claims: (\d+) proved, (\d+) refuted\.", done.stdout)
    assert counted is not None, done.stdout
    claims = patterns.count("\nclaim(")
    refuted = patterns.count("expected=Verdict.REFUTED)")
    assert [*map(int, counted.groups())] == [claims, claims - refuted, refuted]


def test_the_derivation_in_the_readme_is_what_is_printed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["show", "head-width/floor"]) == 0
    assert f"```text\n{capsys.readouterr().out}```" in (ROOT / "README.md").read_text("utf-8")


def test_the_claims_in_the_readme_have_their_titles_and_verdicts() -> None:
    listing = (ROOT / "README.md").read_text("utf-8").split("```text\n")[1].split("```")[0]
    known = {claim.id: claim for claim in all_claims()}
    topic, seen = "", 0
    for row in listing.splitlines():
        topic = row if re.fullmatch("[a-z-]+", row) else topic
        found = re.fullmatch(r"  (proved|conditional|refuted) +(\S+) +(.+?)…? +✓ ✓", row)
        if found:
            claim, seen = known[f"{topic}/{found[2]}"], seen + 1
            assert found[1] == claim.expected.value
            assert plain_math.text(claim.title).startswith(found[3]), row
    assert seen > 20


def test_modules_named_in_the_documents_exist() -> None:
    for document in (*ROOT.glob("docs/*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"):
        for name in re.findall(r"`((?:derive|numeric|tests|docs)/[\w/.]+)`", document.read_text()):
            assert (ROOT / name).exists(), f"{document.name} names {name}"


if __name__ == "__main__":
    print("| rule | what it says |\n| --- | --- |")
    print("\n".join(rule_rows()))
    print("\n| axiom | formula | condition | citation |\n| --- | --- | --- | --- |")
    print("\n".join(fact_rows(TRUSTED)))
    print("\n| law | formula | condition | citation |\n| --- | --- | --- | --- |")
    print("\n".join(fact_rows(LAWS)))
