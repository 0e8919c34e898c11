"""The kernel stands alone: the standard library and itself, nothing else."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import derive.kernel

KERNEL = Path(derive.kernel.__file__).parent
FILES = sorted(KERNEL.rglob("*.py"))


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            module = node.module or ""
            names |= {f"{module}.{a.name}" if module == "derive.kernel" else module
                      for a in node.names}  # fmt: skip
        elif isinstance(node, ast.Call):
            called = node.func
            name = called.id if isinstance(called, ast.Name) else getattr(called, "attr", "")
            assert name not in ("__import__", "import_module", "exec", "eval"), f"{path}: {name}"
    return names


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_only_the_standard_library_and_the_kernel(path: Path) -> None:
    for name in imported(path):
        top = name.partition(".")[0]
        inside = name.startswith("derive.kernel")
        assert inside or (top in sys.stdlib_module_names), f"{path.name} imports {name}"


def test_the_walk_sees_a_foreign_import(tmp_path: Path) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text("def f():\n    import sympy\n    from derive.search import equation\n")
    assert imported(bad) == {"sympy", "derive.search"}


def test_the_package_itself_imports_nothing() -> None:
    package = KERNEL.parent / "__init__.py"
    assert not package.exists() or not imported(package) - {"__future__"}
    assert not imported(KERNEL / "__init__.py") - {"__future__"}


def test_the_checker_loads_the_kernel_only() -> None:
    code = "import sys, derive.kernel.check; print('\\n'.join(sys.modules))"
    root = KERNEL.parent.parent
    run = subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=root, capture_output=True, text=True, check=True
    )
    loaded = set(run.stdout.split())
    assert "derive.kernel.rules" in loaded
    foreign = {m for m in loaded if m.partition(".")[0] in ("sympy", "numpy", "mpmath", "numeric")}
    assert not foreign
    ours = {m for m in loaded if m.partition(".")[0] == "derive"}
    assert all(m in ("derive", "derive.kernel") or m.startswith("derive.kernel.") for m in ours)
