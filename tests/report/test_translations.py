"""The catalogues: how they are read, that nothing is missing, and what is said with them."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest
import report_samples as samples

from derive import certify, messages, po, runner, translations
from derive.catalogue import all_claims, select
from derive.cli import main
from derive.messages import counted, listing, say, sentences, speaking
from derive.report import compiling, write_fragments, write_report
from derive.report.characters import in_fandol
from derive.report.localizing import composed, formula, localized, with_texts
from derive.report.widths import upright_width
from derive.result import StepView, TwinStatus, TwinView, Verdict
from derive.runner import Broken
from derive.translations import Text, english, faults

FOLDER = Path(messages.__file__).parent / "locale" / "zh" / "LC_MESSAGES"
DOMAINS = sorted(path.stem for path in FOLDER.glob("*.po"))

SAMPLE = r"""
# a comment
msgid ""
msgstr ""
"Content-Type: text/plain; charset=utf-8\n"
"Plural-Forms: nplurals=1; plural=0;\n"

#. where it stands
msgid "a \"word\"\n"
"and $\\alpha$"
msgstr "一个"
"“词”与 $\\alpha$"
msgid "{number} row"
msgid_plural "{number} rows"
msgstr[0] "{number} 行"

#, fuzzy
msgid "guessed"
msgstr "猜的"

msgid "missing"
msgstr ""

#~ msgid "gone"
#~ msgstr "没了"
"""


# -- reading -----------------------------------------------------------------------------------


def test_a_catalogue_is_read() -> None:
    head, first, second, guessed, missing = po.parse(SAMPLE, "sample.po")
    assert head.msgid == ""
    assert first.msgid == 'a "word"\nand $\\alpha$'
    assert first.translations == {0: "一个“词”与 $\\alpha$"}
    assert (second.plural, second.translations) == ("{number} rows", {0: "{number} 行"})
    assert [e.translated for e in (first, second, guessed, missing)] == [True, True, False, False]


def test_the_standard_library_finds_what_was_read() -> None:
    catalogue = po.translations(po.parse(SAMPLE, "sample.po"))
    assert catalogue.gettext('a "word"\nand $\\alpha$') == "一个“词”与 $\\alpha$"
    assert catalogue.ngettext("{number} row", "{number} rows", 7) == "{number} 行"
    for untranslated in ("guessed", "missing", "gone", "other"):
        assert catalogue.gettext(untranslated) == untranslated


@pytest.mark.parametrize(
    "line", ["msgid", 'msgid "a" b', "nothing", 'msgctxt "a"', 'msgstr[x] "a"']
)
def test_what_is_not_a_catalogue_is_refused_with_its_place(line: str) -> None:
    with pytest.raises(po.PoSyntax, match=r"sample\.po:3: "):
        po.parse(f'msgid "a"\nmsgstr "b"\n{line}\n', "sample.po")


# -- saying ------------------------------------------------------------------------------------


def test_english_is_what_is_written() -> None:
    assert say("line {tag}", tag=3) == "line 3"
    assert counted("{number} claim", "{number} claims", 1) == "1 claim"
    assert counted("{number} claim", "{number} claims", 2) == "2 claims"
    assert sentences("A.", "", "B.") == "A. B."
    assert listing("a", "b") == "a, b"


def test_chinese_comes_from_the_catalogue() -> None:
    with speaking("zh"):
        assert say("line {tag}", tag=3) == "第 3 行"
        assert counted("{number} claim", "{number} claims", 1) == "1 个论断"
        assert sentences("甲。", "", "乙。") == "甲。乙。"
        assert listing("a", "b") == "a，b"
        assert messages.told("a text that nobody has translated", "claims-relu").isascii()
    assert messages.language() == "en"


def test_braces_of_formulas_are_no_fields() -> None:
    assert say(r"${breaks}$ and $d_{\text{model}}$, {other}", breaks="x_{i}") == (
        r"$x_{i}$ and $d_{\text{model}}$, {other}"
    )


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(ValueError, match="en, zh"), speaking("fr"):
        pass


def test_what_was_put_together_is_taken_apart() -> None:
    with speaking("zh"):
        assert composed("its proof log does not replay: there is no witness in it") == (
            "其证明日志不能重放：其中没有见证"
        )
        over = "the proof script ran over the claim's time limit of 2 s"
        assert composed(over) == "证明脚本超过了该论断的时限 2 秒"
        raised = "the twin raised ValueError: no (file.py:3)"
        assert composed(raised) == "对照引发了异常 ValueError: no (file.py:3)"
        assert composed("something else") == "something else"


def test_words_in_formulas_are_told_and_names_are_kept() -> None:
    latex = r"f \text{ is differentiable at } x_{\text{model}},\ y \quad\text{is undefined}"
    assert formula(latex) == latex
    with speaking("zh"):
        assert formula(latex) == (r"f \text{ 可微于点}\; x_{\text{model}},\ y \quad\text{没有定义}")
        assert formula(r"123\ \text{(40 digits)}") == r"123\ \text{（40 位）}"


def test_between_an_axiom_and_a_reason_stands_a_colon_of_the_language() -> None:
    steps = (StepView("0 < 1", "axiom", "exp-sign: so"), StepView("0 < 1", "axiom", "exp-sign"))
    with speaking("zh"):
        told = localized(replace(samples.HEADS, steps=steps)).steps
    assert [step.reason for step in told] == ["exp-sign：so", "exp-sign"]


def test_every_text_of_a_result_is_told() -> None:
    """What `with_texts` leaves out would stay in English."""
    seen: list[str] = []

    def mark(text: str, what: str) -> str:
        seen.append(what)
        return f"<{text}>" if text else ""

    changed = with_texts(samples.HEADS, mark)
    kept = {
        "id", "topic", "verdict", "expected", "replayed", "logs", "certificate",
        "seconds_symbolic", "seconds_numeric",
    }  # fmt: skip
    same = {name for name, value in vars(changed).items() if value == vars(samples.HEADS)[name]}
    filled = {name for name in same if vars(samples.HEADS)[name]}
    assert filled <= kept
    assert {"title", "note of a hypothesis", "reason of a step", "formula"} <= set(seen)


# -- what is missing ---------------------------------------------------------------------------


@pytest.fixture
def catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    def entries(language: str, domain: str) -> list[po.Entry]:
        assert (language, domain) == ("zh", "sample")
        pairs = {
            "the width $d_k$ of `x_1` is {number}": "{number} 是 `x_1` 的宽度 $d_k$",
            r"$a \text{ is odd}$": r"$a \text{ 是奇数}$",
            "a formula $d_k$ lost": "公式丢了",
            "a formula $d_k$ changed": "公式 $d_v$ 变了",
            "a symbol $d_{\\text{model}}$ changed": "符号 $d_{\\text{模型}}$ 变了",
            "a name `x` lost": "名称丢了",
            "a field {number} changed": "字段 {count} 变了",
            "the sum of all rows": "the sum of all rows，未翻译",
            "empty": "",
        }
        return [po.Entry(msgid, translations={0: told}) for msgid, told in pairs.items()]

    monkeypatch.setattr(messages, "entries_of", entries)


def found(message: str) -> list[str]:
    return faults([Text("sample", message, "somewhere")])


@pytest.mark.usefixtures("catalogue")
def test_a_good_translation_has_no_fault() -> None:
    assert found("the width $d_k$ of `x_1` is {number}") == []
    assert found(r"$a \text{ is odd}$") == []


@pytest.mark.usefixtures("catalogue")
@pytest.mark.parametrize(
    ("message", "why"),
    [
        ("a formula $d_k$ lost", "formulas differ: lacks d_k"),
        ("a formula $d_k$ changed", "formulas differ: lacks d_k adds d_v"),
        ("a symbol $d_{\\text{model}}$ changed", "formulas differ"),
        ("a name `x` lost", "names differ: lacks `x`"),
        ("a field {number} changed", "fields differ: lacks {number} adds {count}"),
        ("the sum of all rows", "English is left in it: the sum of"),
        ("empty", "has no translation"),
        ("a text that is new", "has no translation"),
    ],
)
def test_what_is_wrong_is_named(message: str, why: str) -> None:
    (fault,) = found(message)
    assert fault.startswith("sample.po: somewhere: ")
    assert why in fault


def test_english_is_found_among_chinese() -> None:
    assert english("行的 LayerNorm 与 Post-LN 以及 $a b c d$ 和 `the code of it`") == ""
    assert english("Rudin, Principles of Mathematical Analysis，第 3 版") == ""
    assert english("这里 is still some English") == "is still some"


@pytest.mark.parametrize("domain", DOMAINS)
def test_every_entry_is_translated(domain: str) -> None:
    assert faults(translations.held([domain])) == []


def test_all_that_is_said_whatever_the_claims_is_translated() -> None:
    assert faults(translations.texts([])) == []


def test_every_character_can_be_printed() -> None:
    told = "".join(
        text
        for domain in DOMAINS
        for entry in messages.entries_of("zh", domain)
        for text in entry.translations.values()
    )
    beyond = {c for c in told if c > "\u2fff" and not in_fandol(c)}
    assert beyond == set()


def test_the_command_names_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    assert translations.main(["program"]) == 0
    assert capsys.readouterr().out == ""
    assert translations.main(["no-such-domain"]) == 2
    assert "no-such-domain" in capsys.readouterr().err


# -- the report --------------------------------------------------------------------------------


def words_of(html: str) -> str:
    """What a reader of the page sees, without formulas and names."""
    body = re.sub(r"(?s)run-dependent part: begins.*", "", html)
    gone = r"(?s)<(script|style|math|code|svg)\b.*?</\1>"
    return unescape(re.sub(r"<[^>]*>", "\n", re.sub(gone, "·", body)))


def test_no_english_is_left(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Neither in a small report nor, with ``--report-page``, in that of all claims."""
    path = Path(request.config.getoption("--report-page") or tmp_path / "report-zh.html")
    if not path.exists():
        asked = ["remarks/*", "one-pattern/*"]
        results = runner.verify(select(all_claims(asked), asked))
        write_report(results, tmp_path, settings={}, language="zh")
    html = path.read_text("utf-8")
    assert "<html lang=zh>" in html
    assert english(words_of(html)) == ""
    assert english("".join(words_of(html.replace("结论", "the verdict of it"))))
    assert "有条件成立" in html


def test_both_languages_lie_in_one_folder(tmp_path: Path) -> None:
    for language in messages.LANGUAGES:
        write_report(samples.ALL, tmp_path, settings={}, language=language)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["report-zh.html", "report-zh.tex", "report.html", "report.tex"]
    english_page, chinese_page = ((tmp_path / name).read_text("utf-8") for name in names[2::-2])
    assert "Derivation" in english_page
    assert "推导" in chinese_page


def test_the_same_words_whatever_was_written_before(tmp_path: Path) -> None:
    texts = [
        (write_report(samples.ALL, tmp_path, settings={}, language=language)[0]).read_bytes()
        for language in ("zh", "en", "zh", "en")
    ]
    assert texts[0] == texts[2] != texts[1] == texts[3]


def test_a_result_that_broke_off_is_told(tmp_path: Path) -> None:
    broken = Broken(
        id="user/broken", title="the twin is a title of the user's", topic="user",
        source=samples.HEADS.source,
        statement="a = b", verdict=Verdict.UNDECIDED, expected=Verdict.PROVED,
        twin=TwinView(TwinStatus.DISAGREES, reason="the twin raised ValueError (x.py:1)"),
        reason="the proof script ran over the claim's time limit of 1 s",
    )  # fmt: skip
    _, html = write_report([broken], tmp_path, settings={}, language="zh")
    text = html.read_text("utf-8")
    assert "证明脚本超过了该论断的时限 1 秒" in text
    assert "对照引发了异常 ValueError (x.py:1)" in text
    assert "the twin is a title of the user's" in unescape(text)


def test_in_english_nothing_is_looked_up() -> None:
    assert localized(samples.HEADS) is samples.HEADS


def test_fragments_in_chinese_have_a_style_of_their_own(tmp_path: Path) -> None:
    plain = write_fragments([samples.HEADS], tmp_path)
    told = write_fragments([samples.HEADS], tmp_path, language="zh")
    assert {p.name for p in plain}.isdisjoint({p.name for p in told})
    style = (tmp_path / "derive-claims-zh.sty").read_text("utf-8")
    assert r"\ProvidesPackage{derive-claims-zh}" in style
    assert "已证明" in style
    assert "xeCJK" in style
    assert "xeCJK" not in (tmp_path / "derive-claims.sty").read_text("utf-8")
    body = (tmp_path / f"{samples.HEADS.id.replace('/', '.')}-zh.tex").read_text("utf-8")
    assert r"\deriverows{假设}" in body


@pytest.mark.parametrize(
    ("log", "missing"),
    [
        ("! LaTeX Error: File `xeCJK.sty' not found.", "xeCJK.sty"),
        ('! Package fontspec Error: The font "FandolSong-Regular.otf" cannot be\nfound.', "Fandol"),
    ],
)
def test_the_packages_for_chinese_are_named(tmp_path: Path, log: str, missing: str) -> None:
    tex, _ = write_report(samples.ALL, tmp_path, settings={}, language="zh")
    tex.with_suffix(".log").write_text(log, encoding="utf-8")
    told = str(compiling._failure(tex, b""))
    assert missing in told
    assert told.endswith(" texlive-lang-chinese")
    plain, _ = write_report(samples.ALL, tmp_path, settings={})
    assert "chinese" not in str(compiling._failure(plain, log.encode()))


def has_chinese() -> bool:
    """Whether TeX is there, with what Chinese needs."""
    if not all(map(shutil.which, ("latexmk", "xelatex", "kpsewhich"))):
        return False
    found = subprocess.run(["kpsewhich", "xeCJK.sty"], capture_output=True, check=False)
    return found.returncode == 0


@pytest.mark.skipif(
    not has_chinese(), reason="latexmk, xelatex or texlive-lang-chinese is not installed"
)
def test_tex_sets_chinese_cleanly(tmp_path: Path) -> None:
    results = runner.verify(select(all_claims(["one-pattern/*"]), ["one-pattern/*"]))
    style, *paths = write_fragments(results, tmp_path, language="zh")
    paper = tmp_path / "paper.tex"
    inputs = "".join(rf"\input{{{path.stem}}}" for path in paths)
    paper.write_text(
        rf"\documentclass{{article}}\usepackage{{{style.stem}}}\begin{{document}}"
        rf"\section{{一}}{inputs}\end{{document}}",
        encoding="utf-8",
    )
    assert compiling.compile_pdf(paper).read_bytes().startswith(b"%PDF")
    log = paper.with_suffix(".log").read_text("utf-8", errors="replace")
    assert "Missing character" not in log
    assert "undefined" not in log


def test_an_unknown_language_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "--lang", "fr"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "--lang" in error
    assert "'fr' is not one of en, zh" in error


def test_chinese_characters_fill_a_square() -> None:
    assert upright_width("没有定义") == 4.0


def test_a_title_with_a_claim_in_it_is_told_once() -> None:
    """Texts of one claim do not change what another says."""
    renamed = replace(samples.HEADS, title="proved")
    with speaking("zh"):
        assert localized(renamed).title == "已证明"
    assert renamed.title == "proved"


def reasons_of_coq() -> list[str]:
    """Why the encoder takes no log, with a word in place of what is put in."""
    folder = Path(certify.__file__).parent
    calls = (
        node
        for file in ("deep.py", "encode.py")
        for node in ast.walk(ast.parse((folder / file).read_text("utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Unsupported"
    )
    found = []
    for call in calls:
        parts = getattr(call.args[0], "values", call.args)
        found.append("".join(p.value if isinstance(p, ast.Constant) else "'x'" for p in parts))
    return found


def test_why_there_is_no_certificate_is_told() -> None:
    reasons = reasons_of_coq()
    assert "the rule 'x' has no counterpart in Coq yet" in reasons
    with speaking("zh"):
        left = [reason for reason in reasons if english(composed(reason))]
    assert not left
