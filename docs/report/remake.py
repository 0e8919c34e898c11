"""Makes the sample report and its picture again: ``python docs/report/remake.py``.

It needs what the PDF and the pictures need (TeX, matplotlib), and Chromium for the picture of the
page.  Both files are written here when all has gone well.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

HERE = Path(__file__).parent
ARTICLE = "attention-average.gradient-queries"
"""The claim in the picture: index sums, the same in matrix form, hypotheses."""

WIDTH, HEIGHT = 1180, 800
MOST_BYTES = {"report.pdf": 5_000_000, "report.png": 300_000}


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = ["report", "--out", "report", "--format", "html", "pdf"]
        subprocess.run([sys.executable, "-m", "derive", *command], cwd=folder, check=True)
        made = folder / "report"
        screenshot(made / "report.html", made / "report.png")
        for file, most in MOST_BYTES.items():
            if (size := (made / file).stat().st_size) > most:
                raise SystemExit(f"{file} has {size} bytes, more than {most}")
        for file in MOST_BYTES:
            shutil.copyfile(made / file, HERE / file)


def screenshot(page: Path, picture: Path) -> None:
    """What Chromium shows of the page at one claim, in 128 colours."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        raise SystemExit("chromium is missing")
    with sync_playwright() as play:
        shown = play.chromium.launch(executable_path=browser, args=["--no-sandbox"]).new_page(
            viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light"
        )
        shown.goto(f"{page.as_uri()}#{ARTICLE}")
        shown.evaluate("document.fonts.ready")
        shown.locator(f"article[id='{ARTICLE}']").evaluate("article => article.scrollIntoView()")
        shown.screenshot(path=picture)
    with Image.open(picture) as image:
        few = image.convert("RGB").quantize(128)
    few.save(picture, optimize=True)


if __name__ == "__main__":
    main()
