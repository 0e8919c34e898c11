"""``derive list``, ``show`` and ``report``; which claims are found and chosen."""

from __future__ import annotations

import json
import re
import sys
from itertools import groupby
from pathlib import Path

import cli_samples as samples
import pytest

import derive.claims
from derive import catalogue, report
from derive import places as places_of_notes
from derive.catalogue import InputError, all_claims, load_file, select
from derive.cli import main, main_for, run_topic
from derive.report import TexFailed, TexMissing


@pytest.fixture
def mine(tmp_path):
    return load_file(samples.write(tmp_path, samples.GOOD))


# ---------------------------------------------------------------------------- the catalogue


def test_all_claims_are_found_in_order():
    claims = all_claims()
    assert claims
    assert len({c.id for c in claims}) == len(claims)
    modules = Path(derive.claims.__path__[0]).glob("[!_]*.py")
    orders = {}
    for path in modules:
        module = sys.modules[f"derive.claims.{path.stem}"]
        orders[path.stem] = module.ORDER
        assert {c.id for c in module.CLAIMS} <= {c.id for c in claims}
    in_modules = [c for name in sorted(orders, key=lambda n: (orders[n], n))
                  for c in sys.modules[f"derive.claims.{name}"].CLAIMS]  # fmt: skip
    assert list(claims) == in_modules


def test_the_claims_of_a_topic_stand_together():
    """Lists have one heading for each topic."""
    topics = [topic for topic, _ in groupby(c.id.split("/")[0] for c in all_claims())]
    assert len(topics) == len(set(topics))


def package(tmp_path, monkeypatch, **modules):
    """A package of claims that stands in for the project's own."""
    folder = tmp_path / "standin"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(catalogue, "PACKAGE", "standin")
    for name in [n for n in sys.modules if n.split(".")[0] == "standin"]:
        monkeypatch.delitem(sys.modules, name)


def module(order, *names):
    claims = "".join(f"claim({name!r}, SAME), " for name in names)
    return f"{samples.HEAD}ORDER = {order}\nCLAIMS = ({claims})\n"


def test_order_of_modules_then_of_claims(tmp_path, monkeypatch):
    package(
        tmp_path, monkeypatch,
        zeta=module(1, "c", "a"), alpha=module(3, "b"), beta=module(3, "e"), _helper="1 / 0",
    )  # fmt: skip
    assert [c.id for c in all_claims()] == ["mine/c", "mine/a", "mine/b", "mine/e"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (module(1, "a", "a"), "two claims are called mine/a"),
        (module(1, "b"), "two claims are called mine/b"),
        (samples.HEAD + "ORDER = 1\n", "defines no CLAIMS"),
        (module("'x'", "c"), "ORDER is missing or not an integer"),
        (module("1 / 0", "c"), "ZeroDivisionError: division by zero"),
        ('TOPIC = "ours"\n' + module(1, "c"), "mine/c does not belong to ours/*"),
    ],
)
def test_bad_module(tmp_path, monkeypatch, text, reason):
    package(tmp_path, monkeypatch, one=text, two=module(2, "b"))
    with pytest.raises(InputError, match=re.escape(reason)):
        all_claims()


@pytest.mark.parametrize(
    ("patterns", "loaded"),
    [
        (["mine/a"], {"one"}),
        (["mine/*", "none.py"], {"one"}),
        (["ours/*"], {"two"}),
        (["ours/b", "mine/a"], {"one", "two"}),
        (["*/a"], {"one", "two"}),
        (["mi*"], {"one", "two"}),
        (["mine"], {"one", "two"}),
        ([], {"one", "two"}),
    ],
)
def test_modules_of_other_topics_are_not_loaded(tmp_path, monkeypatch, patterns, loaded):
    ours = (
        module(2, "b")
        .replace("claim('b'", "replace(claim('b'")
        .replace("SAME)", "SAME), id='ours/b')")
    )
    package(
        tmp_path, monkeypatch, one='TOPIC = "mine"\n' + module(1, "a"),
        two='TOPIC = "ours"\nfrom dataclasses import replace\n' + ours,
    )  # fmt: skip
    all_claims(patterns)
    assert {n.split(".")[1] for n in sys.modules if n.startswith("standin.")} == loaded


def test_a_module_without_a_topic_is_always_loaded(tmp_path, monkeypatch):
    package(tmp_path, monkeypatch, one=module(1, "a"))
    assert [c.id for c in all_claims(["other/*"])] == ["mine/a"]


def test_choosing(mine):
    ids = [c.id for c in mine]
    assert [c.id for c in select(mine, [])] == ids
    assert [c.id for c in select(mine, ["mine/s*"])] == ["mine/successor", "mine/story"]
    assert [c.id for c in select(mine, ["mine/story", "mine/floor", "mine/fl*"])] == [
        "mine/floor", "mine/story",
    ]  # fmt: skip
    assert [c.id for c in select(mine, ["*"])] == ids


def test_files_come_after_claims_and_only_once(mine, tmp_path):
    path = samples.write(tmp_path, samples.UNEXPECTED, "other.py")
    chosen = select(mine, [path, "mine/floor", path])
    assert [c.id for c in chosen] == ["mine/floor", "mine/wrong", "mine/right"]


# ---------------------------------------------------------------------------- list


def test_list(capsys):
    assert main(["list"]) == 0
    out = capsys.readouterr().out
    claims = all_claims()
    for claim in claims:
        listed = re.search(rf"^  {claim.id}((?: .*)?\n(?:      .*\n)*)", out, re.M)
        assert listed is not None
        assert set(claim.source.places) <= set(listed[1].split())
    assert not re.search(r" $", out, re.M)
    assert out.rstrip().endswith(f"{len(claims)} claim" + ("" if len(claims) == 1 else "s"))
    assert max(map(len, out.splitlines())) <= 80


def test_list_as_json(capsys):
    assert main(["list", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found) == ["schema", "claims"]
    assert [c["id"] for c in found["claims"]] == [c.id for c in all_claims()]
    for claim in found["claims"]:
        assert list(claim) == ["id", "title", "source", "expected"]
        assert list(claim["source"]) == ["document", "places", "says"]


def test_list_of_one_source(capsys, monkeypatch, tmp_path):
    text = samples.GOOD.replace("CLAIMS =", "ORDER = 1\nCLAIMS =")
    package(tmp_path, monkeypatch, one=text)
    for name in ("my note.txt", "my"):
        assert main(["list", "--source", name]) == 0
        out = capsys.readouterr().out
        assert re.findall(r"^  (A\d+)$", out, re.M) == ["A1", "A2", "A10"]
        assert re.findall(r"^    (\S.*\S) +(mine/\S+)", out, re.M) == [
            ("proved", "mine/commutes"), ("refuted", "mine/successor"),
            ("not maths", "mine/story"), ("conditional", "mine/floor"),
            ("conditional", "mine/floor"),
        ]  # fmt: skip
        assert out.rstrip().split("\n\n")[-1].startswith("3 places, 4 claims: ")


def test_list_of_one_source_as_json(capsys, monkeypatch, tmp_path):
    text = samples.GOOD.replace("CLAIMS =", "ORDER = 1\nCLAIMS =")
    package(tmp_path, monkeypatch, one=text)
    assert main(["list", "--json", "--source", "my note.txt"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found) == ["schema", "claims", "places"]
    assert len(found["claims"]) == 4
    assert found["places"][0] == {
        "place": "A1", "lines": "", "says": "",
        "claims": [
            {"id": "mine/commutes", "verdict": "proved"},
            {"id": "mine/successor", "verdict": "refuted"},
            {"id": "mine/story", "verdict": "not-mathematical"},
        ],
    }  # fmt: skip


def test_claims_without_a_place(capsys, monkeypatch, tmp_path):
    """They are listed by themselves, behind those of places."""
    text = samples.GOOD.replace('("A10", "A2")', "()")
    package(tmp_path, monkeypatch, one=text.replace("CLAIMS =", "ORDER = 1\nCLAIMS ="))
    assert main(["list", "--source", "my"]) == 0
    *_, places, others, count = capsys.readouterr().out.rstrip().split("\n\n")
    assert "A1\n" in places
    assert re.fullmatch(r"    conditional +mine/floor +About floor", others)
    assert count.startswith("1 place, 4 claims: ")
    assert main(["list", "--json", "--source", "my"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [c["source"]["places"] for c in found["claims"]].count([]) == 1


def test_a_source_without_any_place(capsys, monkeypatch, tmp_path):
    text = re.sub(r"\(\"A\d+\",[^)]*\)", "()", samples.GOOD)
    package(tmp_path, monkeypatch, one=text.replace("CLAIMS =", "ORDER = 1\nCLAIMS ="))
    assert main(["list"]) == 0
    assert "\nmy note.txt: 4 claims\n4 claims\n" in capsys.readouterr().out
    assert main(["list", "--source", "my"]) == 0
    document, claims, count = capsys.readouterr().out.rstrip().split("\n\n")
    assert document == "my note.txt"
    assert len(claims.splitlines()) == 4
    assert count.startswith("4 claims: ")
    assert main(["list", "--json", "--source", "my"]) == 0
    assert json.loads(capsys.readouterr().out)["places"] == []


def test_the_notes_are_listed_in_their_own_order(capsys):
    for document, places in places_of_notes.NOTES.items():
        assert main(["list", "--source", document]) == 0
        out = capsys.readouterr().out
        shown = re.findall(r"^  ([AB]\d\d)   lines? (.*)$", out, re.M)
        assert shown == [(p.name, p.lines) for p in places]
        starts = [int(re.match(r"\d+", lines)[0]) for _, lines in shown[:-1]]
        assert max(b - a for a, b in zip(starts[1:], starts, strict=False)) <= 6
        assert f"{len(places)} places" in out.rstrip().split("\n\n")[-1]
        assert max(map(len, out.splitlines())) <= 80


def test_parts_of_a_place_are_listed_under_it(capsys, monkeypatch, tmp_path):
    text = samples.GOOD.replace('("A10", "A2")', '("A2b", "A10", "A2", "A3a", "A3c")')
    package(tmp_path, monkeypatch, one=text.replace("CLAIMS =", "ORDER = 1\nCLAIMS ="))
    assert main(["list", "--source", "my"]) == 0
    places = re.findall(r"^  (A\w+)$", capsys.readouterr().out, re.M)
    assert places == ["A1", "A2", "A3", "A10"]
    assert main(["list", "--json", "--source", "my"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["claims"][1]["source"]["places"] == ["A2", "A2b", "A10", "A3", "A3a", "A3c"]
    second = found["places"][1]
    assert (second["place"], second["claims"]) == (
        "A2", [{"id": "mine/floor", "verdict": "conditional"}],
    )  # fmt: skip


def test_what_is_said_of_a_part_is_listed_under_the_whole():
    assert {*map(places_of_notes.whole, ("B01", "B01a", "B01b"))} == {"B01"}
    others = ("B011", "B010", "B0", "B01ab", "B01A")
    assert "B01" not in map(places_of_notes.whole, others)
    known = places_of_notes.places_of("002_a5704eef18f0c1f0.txt", ["B01a", "B01b", "B01"])
    assert known == places_of_notes.NOTES["002_a5704eef18f0c1f0.txt"]


# ---------------------------------------------------------------------------- show


def test_show(capsys, tmp_path):
    assert main(["show", samples.write(tmp_path, samples.GOOD)]) == 0
    out = capsys.readouterr().out
    for part in (
        "mine/floor\n  About floor\n",
        "Source          my note.txt, A10, A2",
        "Statement       h ⌊d_model/h⌋ = d_model",
        "For all         d_model, h ∈ ℕ_{≥1}",
        "Hypotheses      h | d_model\n                      added, used: left out",
        "[linear-combination: found by the automatic prover]",
        "Verdict         conditional (as expected): proved once hypotheses are added",
        "The proof log was replayed by the independent checker.",
        "Counterexample  d_model = 10, h = 3\n",
        "                  breaks the added hypothesis h | d_model\n",
        "gives 9 ≠ 10",
        "from the source: said there",
        "Witness         d_model = 12, h = 4",
        "Correction      n + 1 = ",
        "Numeric twin    agrees in 1 comparison, exactly",
        "Remark          Off by one.",
        "a metaphor",
        "4 claims: 1 proved, 1 conditional, 1 refuted, 1 not mathematical.",
    ):
        assert part in out
    assert max(map(len, out.splitlines())) <= 80


def test_show_says_when_something_is_unexpected(capsys, tmp_path):
    assert main(["show", samples.write(tmp_path, samples.UNEXPECTED)]) == 1
    assert "refuted (expected: proved)" in capsys.readouterr().out
    assert main(["show", samples.write(tmp_path, samples.DISAGREEING)]) == 1
    assert "disagrees: 1 comparison, largest error 0.0005" in capsys.readouterr().out
    assert main(["show", samples.write(tmp_path, samples.RAISING)]) == 1
    assert "the proof script raised ZeroDivisionError" in capsys.readouterr().out


def test_show_one_of_our_own(capsys):
    claim = all_claims()[0]
    assert main(["show", claim.id]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{claim.id}\n")
    assert "replayed by the independent checker" in out
    assert "1 claim:" not in out


def test_show_axioms_lists_all_that_is_trusted(capsys):
    from derive.kernel.axioms import ARITHMETIC, AXIOMS, EVALUATIONS
    from derive.kernel.rules import RULES

    assert main(["show", "--axioms"]) == 0
    out = capsys.readouterr().out
    names = re.findall(r"^  ([a-z]\S*)  ", out, re.M)
    assert names == [*RULES, *AXIOMS, *EVALUATIONS, *ARITHMETIC]
    flat = " ".join(out.split())
    for rule in RULES.values():
        assert " ".join(rule.__doc__.split("\n")[0].split()) in flat
    for fact in (*AXIOMS.values(), *EVALUATIONS.values(), *ARITHMETIC.values()):
        assert f"({fact.citation})" in flat
    assert "if x ≥ 0" in flat
    assert max(map(len, out.splitlines())) <= 80


def test_topic_as_a_script(capsys, mine, tmp_path):
    assert main_for(mine) == 0
    out = capsys.readouterr().out
    assert out.startswith("mine/commutes\n")
    assert "4 claims" in out

    class Module:
        CLAIMS = mine[:1]

    assert run_topic(Module) == 0
    assert capsys.readouterr().out.startswith("mine/commutes\n")
    assert main_for(load_file(samples.write(tmp_path, samples.UNEXPECTED, "bad.py"))) == 1


# ---------------------------------------------------------------------------- report


def test_report(capsys, tmp_path):
    path = samples.write(tmp_path, samples.GOOD)
    out = tmp_path / "new" / "folder"
    assert main(["report", path, "--out", str(out), "--seed", "3"]) == 0
    assert capsys.readouterr().out == f"{out}/report.tex\n{out}/report.html\n"
    for name in ("report.tex", "report.html"):
        text = (out / name).read_text()
        assert "mine" in text
        assert "SymPy" in text
        assert "--seed 3" in text.replace(r"\allowbreak{}", "")
    assert sorted(p.name for p in out.iterdir()) == ["report.html", "report.tex"]


def test_report_goes_to_a_folder_of_its_own(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = samples.write(tmp_path, samples.GOOD)
    assert main(["report", path, "--format", "html"]) == 0
    assert capsys.readouterr().out == "report/report.html\n"


def test_report_of_something_unexpected_is_written_all_the_same(capsys, tmp_path):
    path = samples.write(tmp_path, samples.UNEXPECTED)
    assert main(["report", path, "--out", str(tmp_path / "r")]) == 1
    out, err = capsys.readouterr()
    assert out == f"{tmp_path}/r/report.tex\n{tmp_path}/r/report.html\n"
    assert err == "derive: not every claim is as expected; the report says which\n"


def pretend(monkeypatch, what):
    """Compile without TeX."""

    def compile_pdf(tex):
        if isinstance(what, Exception):
            raise what
        tex.with_suffix(".pdf").write_bytes(b"%PDF")
        return tex.with_suffix(".pdf")

    monkeypatch.setattr(report, "compile_pdf", compile_pdf)


@pytest.mark.parametrize(
    "formats",
    [["--format", "pdf"], ["--format", "tex", "pdf"], ["--format", "tex", "--format", "pdf"]],
)
def test_report_as_pdf(capsys, tmp_path, monkeypatch, formats):
    pretend(monkeypatch, None)
    path, out = samples.write(tmp_path, samples.GOOD), tmp_path / "r"
    assert main(["report", "--out", str(out), *formats, path]) == 0
    assert capsys.readouterr().out == f"{out}/report.tex\n{out}/report.pdf\n"


def test_tex_is_missing(capsys, tmp_path, monkeypatch):
    pretend(monkeypatch, TexMissing("latexmk"))
    path, out = samples.write(tmp_path, samples.GOOD), tmp_path / "r"
    assert main(["report", path, "--out", str(out), "--format", "pdf"]) == 2
    shown, err = capsys.readouterr()
    assert shown == f"{out}/report.tex\n"
    assert err.count("\n") == 1
    for package_name in ("latexmk", "texlive-xetex", "texlive-latex-recommended"):
        assert package_name in err


def test_tex_fails(capsys, tmp_path, monkeypatch):
    pretend(monkeypatch, TexFailed("TeX could not compile r.tex; its log ends with:\n! Oops\nl.3"))
    path = samples.write(tmp_path, samples.GOOD)
    assert main(["report", path, "--out", str(tmp_path / "r"), "--format", "pdf"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("derive: --format pdf: TeX could not compile r.tex")
    assert err.count("\n") == 1


def test_a_formula_that_the_report_cannot_print(capsys, tmp_path):
    text = samples.GOOD.replace('"Off by one."', '"A $ alone."')
    path = samples.write(tmp_path, text)
    assert main(["report", path, "--out", str(tmp_path / "r")]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "A $ alone." in err
    assert err.count("\n") == 1


# ---------------------------------------------------------------------------- order of arguments


def test_claims_and_options_in_any_order(capsys, tmp_path):
    path = samples.write(tmp_path, samples.GOOD)
    other = samples.write(tmp_path, samples.UNEXPECTED, "other.py")
    for args in (
        ["--seed", "1", path, "--jobs", "2", other],
        [path, "--seed", "1", other, "--jobs", "2"],
        [path, other, "--jobs", "2", "--seed=1"],
    ):
        assert main(["verify", *args, "--json", "-"]) == 1
        found = json.loads(capsys.readouterr().out)
        assert found["seed"] == 1
        assert found["summary"]["claims"] == 6
