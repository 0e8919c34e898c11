"""The code of docs/numeric.md runs as it stands."""

import re
from pathlib import Path

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "numeric.md"


def test_the_examples_run_one_after_the_other():
    blocks = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), flags=re.S)
    assert len(blocks) == 3
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(DOCUMENT), "exec"), names)


def test_every_module_is_named():
    text = DOCUMENT.read_text(encoding="utf-8")
    package = DOCUMENT.parents[1] / "numeric"
    aside = {"__init__", "arrays", "moments", "operations", "torch_layout"}
    for module in {path.stem for path in package.glob("*.py")} - aside:
        assert f"`{module}`" in text, module
