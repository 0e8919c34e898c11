"""The page in a real browser: Debian's chromium, driven by Playwright, judged by axe-core."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import report_samples as samples
from test_breaking import AROUND, random_formula

from derive.messages import LANGUAGES, say, speaking
from derive.report import lines, mathml, write_report
from derive.report.page import FORMULA
from derive.report.words import TITLE
from derive.result import HypothesisView, Result, StepView, Verdict

playwright_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
axe_api = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not there")

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")

DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 360, "height": 780}
TRIM = """
    for (const [group, part, kept] of [['.topic', 'article', 1], ['.entries tbody', 'tr', 3],
                                       ['main > section', '.place', 6], ['article', '.rows li', 3]])
        for (const whole of document.querySelectorAll(group))
            [...whole.querySelectorAll(part)].slice(kept).forEach((e) => e.remove());
"""
"""Axe compares every element with every other; of the parts that are all alike it sees a few."""

COUNT = "{shown} of {all} claims"
UNFOLD = "for (const part of document.querySelectorAll('details')) part.open = true"


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    with playwright_api.sync_playwright() as playwright:
        # a container's root may not use the sandbox of Linux
        arguments = ["--no-sandbox"] if os.getuid() == 0 else []
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield running
        running.close()


def varied_results() -> list[Result]:
    """Every verdict, and formulas of random shape, some of them wide."""
    rng = random.Random(11)
    steps = tuple(StepView(random_formula(rng, AROUND), "rule", "a reason") for _ in range(8))
    sums = StepView("y = " + " + ".join(f"x_{{{k}}} z_{{{k}}}" for k in range(60)), "sum")
    shapes = replace(samples.ROTATION, id="random/shapes", title="$a = b$", steps=(*steps, sums))
    return [*samples.ALL, shapes]


@pytest.fixture(scope="session")
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    given = request.config.getoption("--report-page")
    if given:
        return Path(given).resolve()
    return written(tmp_path_factory.mktemp("page"))


def written(folder: Path, language: str = "en") -> Path:
    (found,) = write_report(
        varied_results(), folder, settings=samples.SETTINGS, formats=["html"], language=language
    )
    return found


def said(page: Any, message: str, **fields: object) -> str:
    """A message as the page says it, in its own language."""
    with speaking(page.evaluate("document.documentElement.lang")):
        return say(message, **fields)


@contextmanager
def opened(browser: Any, path: Path, **options: Any) -> Iterator[Any]:
    """The page in a context of its own; whatever goes wrong in it makes the test fail."""
    context = browser.new_context(**{"viewport": DESKTOP, **options})
    page = context.new_page()
    trouble: list[str] = []
    page.on("console", lambda message: trouble.append(message.text))
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("request", lambda r: trouble.append(r.url) if r.url != path.as_uri() else None)
    page.goto(path.as_uri())
    try:
        yield page
        assert trouble == []
    finally:
        context.close()


def shown(page: Any, selector: str) -> int:
    return page.locator(selector).filter(visible=True).count()


def test_it_opens_without_a_word_and_loads_nothing(browser: Any, path: Path) -> None:
    with opened(browser, path) as page:
        page.wait_for_function("document.querySelectorAll('.z').length === 0")
        assert page.title() == said(page, TITLE)
        assert page.locator("article").count() > 5
        assert page.locator("math").count() > 50


def test_every_anchor_resolves(browser: Any, path: Path) -> None:
    with opened(browser, path) as page:
        lost = page.evaluate(
            """() => [...document.querySelectorAll('a')].map((a) => a.getAttribute('href'))
                .filter((h) => !h.startsWith('#') || !document.getElementById(h.slice(1)))"""
        )
        assert lost == []


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE])
def test_nothing_runs_out_of_the_screen(browser: Any, path: Path, viewport: Any) -> None:
    with opened(browser, path, viewport=viewport) as page:
        page.evaluate(UNFOLD)
        assert page.evaluate("document.documentElement.scrollWidth") == viewport["width"]
        cut = page.evaluate(
            """(formula) => [...document.querySelectorAll(formula)]
                .filter((f) => !f.matches('[tabindex]') && f.scrollWidth > f.clientWidth + 1)
                .map((f) => f.textContent)""",
            FORMULA,
        )
        assert cut == []  # what has to be scrolled can be reached by keyboard


def test_no_table_is_wider_than_a_phone(browser: Any, path: Path) -> None:
    with opened(browser, path, viewport=PHONE) as page:
        page.evaluate(UNFOLD)
        tables = page.locator(".scroll")
        assert tables.count() > 0
        assert tables.evaluate_all("all => all.filter((t) => t.scrollWidth > t.clientWidth)") == []


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE])
def test_the_number_of_a_line_stands_beside_its_first_row(
    browser: Any, path: Path, viewport: Any
) -> None:
    with opened(browser, path, viewport=viewport) as page:
        page.evaluate(UNFOLD)
        page.wait_for_function("document.querySelectorAll('.z').length === 0")
        apart = page.evaluate(
            """() => [...document.querySelectorAll('.rows li:has(> b)')].flatMap((line) => {
                const first = line.querySelector('b + p:not(.t) math')?.firstElementChild;
                if (!first || !['mi', 'mn'].includes(first.localName)) return [];
                const [number, sign] = [line.querySelector('b'), first]
                    .map((part) => part.getBoundingClientRect());
                return [Math.abs(number.top + number.bottom - sign.top - sign.bottom) / 2];
            })"""
        )
        assert apart
        assert max(apart) < 6


@pytest.mark.parametrize(("viewport", "scheme"), [(DESKTOP, "light"), (PHONE, "dark")])
def test_axe_finds_no_violation(browser: Any, path: Path, viewport: Any, scheme: str) -> None:
    with opened(browser, path, viewport=viewport, color_scheme=scheme) as page:
        # a formula that is already gone could not be put where another one refers to it
        page.wait_for_function("document.querySelectorAll('.z, .g').length === 0")
        page.evaluate(TRIM)
        page.evaluate(UNFOLD)
        found = axe_api.Axe().run(page)
        assert found.violations_count == 0, found.generate_report()


def test_axe_sees_what_is_planted(browser: Any, path: Path) -> None:
    with opened(browser, path) as page:
        page.evaluate("document.querySelector('main').append(document.createElement('button'))")
        found = axe_api.Axe().run(page, options={"runOnly": ["button-name"]})
        assert "button-name" in found.generate_snapshot()


def test_filters(browser: Any, path: Path) -> None:
    with opened(browser, path) as page:
        everything = page.locator("article").count()
        assert page.locator("#count").text_content() == said(
            page, COUNT, shown=everything, all=everything
        )
        page.locator("input[value=p]").uncheck()
        left = everything - page.locator("article[data-v=p]").count()
        assert 0 < left < everything
        assert shown(page, "article") == left == shown(page, ".entries td:first-child")
        assert page.locator("#count").text_content() == said(
            page, COUNT, shown=left, all=everything
        )
        page.locator("input[value=p]").check()
        topic = page.locator("select[name=t] option").nth(1).get_attribute("value")
        page.locator("select[name=t]").select_option(topic)
        assert shown(page, "article") == page.locator(f"#{topic} article").count() < everything
        assert shown(page, "section.topic") == 1
        page.locator("select[name=t]").select_option("")
        code = page.locator("article .meta code").nth(2).text_content()
        page.locator("input[name=q]").fill(code.upper())
        assert 1 <= shown(page, "article") < everything
        page.locator("input[name=q]").fill("xyzzy")
        assert shown(page, "article") == 0


def test_a_link_to_a_claim_that_is_filtered_out_shows_it(browser: Any, path: Path) -> None:
    with opened(browser, path) as page:
        page.locator("input[value=r]").uncheck()
        link = page.locator(".links li:has(b.r) a").first
        target = link.get_attribute("href")[1:]
        assert not page.locator(f"[id='{target}']").is_visible()
        link.click()
        page.locator(f"[id='{target}']").wait_for()
        assert page.locator("input[value=r]").is_checked()


def test_folds(browser: Any, path: Path) -> None:
    with opened(browser, path) as page:
        details = page.locator("article details")
        page.locator("#unfold").click()
        assert shown(page, "article .rows li") > 20
        page.locator("#fold").click()
        assert details.filter(has=page.locator("xpath=self::*[@open]")).count() == 0
        details.first.locator("summary").press("Enter")
        assert details.first.get_attribute("open") is not None


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_formula_is_copied_as_latex_by_mouse_and_keyboard(
    browser: Any, tmp_path: Path, language: str
) -> None:
    path = written(tmp_path, language)
    granted = ["clipboard-read", "clipboard-write"]
    with opened(browser, path, permissions=granted) as page:
        page.locator("#unfold").click()
        for result, act in ((samples.ROTATION, "click"), (samples.HEADS, "press")):
            article = page.locator(f"[id='{result.id.replace('/', '.')}']")
            button = article.get_by_role("button", name=said(page, "Copy {tag} as LaTeX", tag=1))
            button.press("Enter") if act == "press" else button.click()
            page.locator("#said").filter(has_text=said(page, "LaTeX copied")).wait_for()
            assert page.evaluate("navigator.clipboard.readText()") == result.steps[0].latex
            page.evaluate("document.getElementById('said').textContent = ''")


def test_without_the_clipboard_the_latex_is_shown(browser: Any, tmp_path: Path) -> None:
    with opened(browser, written(tmp_path)) as page:
        page.evaluate(
            "void (navigator.clipboard.writeText = () => Promise.reject(new Error('no')))"
        )
        page.locator("#unfold").click()
        article = page.locator(f"[id='{samples.HEADS.id.replace('/', '.')}']")
        article.get_by_role("button", name="Copy 1 as LaTeX").click()
        page.locator("#said").filter(has_text=samples.HEADS.steps[0].latex).wait_for()


def test_without_script_all_can_be_read(browser: Any, path: Path) -> None:
    with opened(browser, path, java_script_enabled=False) as page:
        assert not page.locator("form").is_visible()
        assert page.locator("article").first.is_visible()
        details = page.locator("article details").first
        assert not details.locator("li").first.is_visible()
        details.locator("summary").click()
        assert details.locator("li").first.is_visible()
        assert page.locator("article math").first.is_visible()


def test_end_tags_that_are_left_out_change_nothing(browser: Any, path: Path) -> None:
    rng = random.Random(5)
    whole = [mathml.displayed(random_formula(rng, AROUND))[0] for _ in range(40)]
    pairs = [(markup.replace("</mtext><mtext>", ""), mathml.shortened(markup)) for markup in whole]
    assert all(len(short) < len(markup) for markup, short in pairs)
    parse = """(pairs) => pairs.filter((pair) => {
        const [whole, short] = pair.map((markup) => {
            const line = document.createElement('p');
            line.innerHTML = markup;
            return line;
        });
        return !whole.isEqualNode(short) || !short.querySelector('math');
    })"""
    with opened(browser, path) as page:
        assert page.evaluate(parse, pairs) == []
        assert page.evaluate(parse, [("<math><mi>x</math>", "<math><mn>x</math>")]) != []


def test_without_script_every_formula_is_mathml(browser: Any, tmp_path: Path) -> None:
    formula = "y = " + " + ".join(f"x_{{{k}}} z_{{{k}}}" for k in range(40))
    shared = HypothesisView(formula, "source", True)
    twice = [
        replace(samples.HEADS, id=f"same/{name}", hypotheses=(shared,)) for name in ("one", "two")
    ]
    settings = samples.SETTINGS
    (path,) = write_report(
        [*varied_results(), *twice], tmp_path, settings=settings, formats=["html"]
    )
    wanting = """(formula) => [...document.querySelectorAll(formula)].map((f) => {
        const link = f.querySelector('a');
        return link ? document.getElementById(link.hash.slice(1)) : f;
    }).filter((f) => !f.querySelector('math') || f.textContent.includes('\\\\'))
        .map((f) => f.textContent)"""
    with opened(browser, path, java_script_enabled=False) as page:
        assert page.locator(FORMULA).count() > 40
        assert page.locator(".g").count() >= 1
        assert page.evaluate(wanting, FORMULA) == []
        link = page.locator("[id='same.two'] .g a").first
        link.click()
        assert page.locator(link.get_attribute("href")).is_visible()
    with opened(browser, path) as page:
        page.wait_for_function("document.querySelectorAll('.g').length === 0")
        assert page.locator(f":is({FORMULA}):not(:has(math))").count() == 0
        one, two = (page.locator(f"[id='same.{name}'] .rows p") for name in ("one", "two"))
        assert one.first.inner_html() == two.first.inner_html()


def test_packed_lines_are_text_that_the_script_makes_formulas(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = len(written(tmp_path / "full").read_bytes())
    monkeypatch.setattr(lines, "BUDGET_BYTES", size - 20_000)
    path = written(tmp_path / "light")
    with opened(browser, path, java_script_enabled=False) as page:
        packed = page.locator(".z").count()
        assert packed > 0
        texts = page.locator(".z").all_text_contents()
        assert any("x₀ z₀ + x₁ z₁" in text for text in texts)
    with opened(browser, tmp_path / "full" / "report.html") as page:
        whole = page.locator("main").inner_html().count("<math")
    with opened(browser, path) as page:
        page.wait_for_function("document.querySelectorAll('.z').length === 0")
        assert page.locator("main").inner_html().count("<math") == whole


def test_print_shows_what_is_folded_and_leaves_out_what_cannot_be_used(
    browser: Any, path: Path
) -> None:
    with opened(browser, path) as page:
        page.emulate_media(media="print")
        assert not page.locator("form").is_visible()
        assert not page.locator("nav").is_visible()
        heights = page.evaluate(
            """() => [...document.querySelectorAll('article .rows li')].slice(0, 20)
                .map((li) => li.getBoundingClientRect().height)"""
        )
        assert heights
        assert min(heights) > 10
        assert page.pdf().startswith(b"%PDF")


def test_colours_follow_the_system_and_can_be_chosen(browser: Any, path: Path) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    with opened(browser, path, color_scheme="dark") as page:
        dark = page.evaluate(background)
        page.locator("select[name=m]").select_option("light")
        assert page.evaluate(background) == "rgb(255, 255, 255)" != dark


def test_the_keyboard_reaches_the_report_first(browser: Any, path: Path) -> None:
    with opened(browser, path) as page:
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        page.keyboard.press("Enter")
        assert page.evaluate("location.hash") == "#main"


def test_every_verdict_can_be_chosen(browser: Any, path: Path) -> None:
    with opened(browser, path) as page:
        assert page.locator("input[name=v]").count() == len(Verdict)
