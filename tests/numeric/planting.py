"""Plants a mistake in a copy of the package and lets an ordinary test look at the copy.

The copy is the package itself, loaded once more from its files with one line of one function
changed, so that a mistake cannot drift away from the code that it is a mistake of. The test is one
of the other files in this folder, loaded over the copy.
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
import itertools
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

import numpy as np
import pytest

FOLDER = Path(__file__).parent
PACKAGE = FOLDER.parents[1] / "numeric"


@dataclass(frozen=True)
class Planted:
    """In `numeric/<module>.py`, function `function`, `wrong` stands in the place of `right`.

    `test` is the name of a test in `test_numeric_<topic>.py`, written `topic::name`.
    """

    mistake: str
    module: str
    function: str
    right: str
    wrong: str
    test: str

    def source(self) -> str:
        """The file of the module with the mistake in it."""
        text = (PACKAGE / f"{self.module}.py").read_text(encoding="utf-8")
        lines = text.splitlines(keepends=True)
        first, last = _lines_of(text, self.function)
        body = "".join(lines[first:last])
        if body.count(self.right) != 1:
            raise ValueError(
                f"{self.mistake}: {self.right!r} occurs {body.count(self.right)} times in "
                f"{self.module}.{self.function}; expected once"
            )
        changed = body.replace(self.right, self.wrong)
        return "".join([*lines[:first], changed, *lines[last:]])


def is_caught(planted: Planted) -> bool:
    """Whether its test fails over the copy with the mistake, for any of its parameters."""
    with _copy_of_package(planted.module, planted.source()):
        return fails(planted.test)


def fails(test: str) -> bool:
    topic, name = test.split("::")
    function = getattr(_load_test_file(FOLDER / f"test_numeric_{topic}.py"), name)
    for arguments in _arguments(function):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                function(**arguments)
        except (AssertionError, pytest.fail.Exception, RuntimeWarning, ValueError):
            return True
    return False


def _lines_of(text: str, function: str) -> tuple[int, int]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and node.name == function:
            return node.lineno - 1, node.end_lineno or node.lineno
    raise ValueError(f"there is no function {function}")


def _load_test_file(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"planted_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _arguments(function: Callable[..., None]) -> Iterator[dict[str, object]]:
    """What pytest would call it with: the product of its parameters, and the generator."""
    choices = []
    for mark in getattr(function, "pytestmark", []):
        if mark.name == "parametrize":
            names, values = mark.args
            names = names.split(",") if isinstance(names, str) else names
            choices.append([_named(names, value) for value in values])
    for chosen in itertools.product(*choices):
        arguments = {name: value for pairs in chosen for name, value in pairs.items()}
        missing = set(inspect.signature(function).parameters) - set(arguments)
        if missing == {"rng"}:
            arguments["rng"] = np.random.default_rng(20240611)
        elif missing:
            raise ValueError(f"{function.__name__} needs {missing}; only rng can be given")
        yield arguments


def _named(names: Sequence[str], value: object) -> dict[str, object]:
    if isinstance(value, type(pytest.param())):
        value = value.values if len(names) > 1 else value.values[0]
    values = value if len(names) > 1 else [value]
    return dict(zip([name.strip() for name in names], values, strict=True))


class _Loader(SourceFileLoader):
    def __init__(self, fullname: str, path: str, source: str) -> None:
        super().__init__(fullname, path)
        self.source = source

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.source, self.path, "exec")


class _Finder(MetaPathFinder):
    def __init__(self, module: str, source: str) -> None:
        self.module, self.source = module, source

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: object = None
    ) -> ModuleSpec | None:
        if fullname != self.module:
            return None
        spec = PathFinder.find_spec(fullname, path)
        assert spec is not None
        assert spec.origin is not None
        spec.loader = _Loader(fullname, spec.origin, self.source)
        return spec


@contextmanager
def _copy_of_package(module: str, source: str) -> Iterator[None]:
    """While it lasts, `import numeric` gives a copy, with `source` for this module.

    What does not import the module, directly or not, cannot tell and is not loaded again.
    """
    again = {"numeric", *(f"numeric.{name}" for name in _with_dependents(module))}

    def loaded() -> list[str]:
        return [name for name in sys.modules if name in again]

    kept = {name: sys.modules.pop(name) for name in loaded()}
    finder = _Finder(f"numeric.{module}", source)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in loaded():
            del sys.modules[name]
        sys.modules.update(kept)


def _with_dependents(module: str) -> set[str]:
    """The module and all that import it, also through others."""
    found = {module}
    while more := {name for name, imported in _imports().items() if imported & found} - found:
        found |= more
    return found


@cache
def _imports() -> dict[str, set[str]]:
    """What each module of the package imports from the others."""
    imports = {}
    for path in PACKAGE.glob("*.py"):
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        sources = [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
        imports[path.stem] = {name.removeprefix("numeric.") for name in sources}
    return imports
