"""Which claims there are: those of `derive.claims`, and those of a user's own files."""

from __future__ import annotations

import ast
import contextlib
import difflib
import importlib
import importlib.util
import os
import pkgutil
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from fnmatch import fnmatchcase
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from derive.store import Module
from derive.timing import TimeUp

if TYPE_CHECKING:
    from derive.claim import Claim

PACKAGE = "derive.claims"


class InputError(Exception):
    """What was asked for cannot be done; the message is one line that says what and where."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))


class NoMatch(InputError):
    """A pattern means none of the claims."""


# ---------------------------------------------------------------------------- the project's own


def all_claims(patterns: Sequence[str] = ()) -> tuple[Claim, ...]:
    """The claims of every module of `derive.claims`, by the module's ORDER, then as listed.

    With patterns, modules that are about other topics are left alone: loading all of them takes
    longer than settling a few claims.
    """
    modules = sorted(_modules(patterns), key=lambda module: (_order(module), module.__name__))
    claims = [c for module in modules for c in _claims_of_topic(module)]
    _refuse_duplicates(claims, PACKAGE)
    return tuple(claims)


def places_of_claims(patterns: Sequence[str] = ()) -> list[Module]:
    """The modules that `all_claims` loads, with what is in them."""
    return [
        Module(
            _order(m), m.__name__.rpartition(".")[2], claims[0].topic, tuple(c.id for c in claims)
        )
        for m in _modules(patterns)
        if (claims := _claims_of_topic(m))
    ]


def _modules(patterns: Sequence[str]) -> Iterator[ModuleType]:
    package = importlib.import_module(PACKAGE)
    for info in pkgutil.iter_modules(package.__path__):
        if info.name.startswith("_"):
            continue
        spec = importlib.util.find_spec(f"{PACKAGE}.{info.name}")
        path = spec.origin if spec is not None and spec.origin is not None else info.name
        if patterns and not _may_match(patterns, _declared_topic(path)):
            continue
        with _one_line(path):
            yield importlib.import_module(f"{PACKAGE}.{info.name}")


_TOPIC: Final = re.compile(r'^TOPIC = "([a-z0-9-]+)"$', re.MULTILINE)


def _declared_topic(path: str) -> str | None:
    """The TOPIC of a module, without running it; None where it cannot be told."""
    try:
        found = _TOPIC.search(Path(path).read_text(encoding="utf-8"))
    except OSError:
        return None
    return found[1] if found else None


def _may_match(patterns: Sequence[str], topic: str | None) -> bool:
    """Whether a pattern could mean a claim of the topic."""
    heads = [p.split("/", 1)[0] if "/" in p else "*" for p in patterns if not is_file(p)]
    return topic is None or any(h == topic or any(c in h for c in "*?[") for h in heads)


def _claims_of_topic(module: ModuleType) -> tuple[Claim, ...]:
    """The claims of a module, which belong to the topic that it names."""
    claims = _claims_of(module, _file_of(module))
    topic = getattr(module, "TOPIC", None)
    for claim in claims:
        if topic is not None and claim.topic != topic:
            raise InputError(f"{_file_of(module)}: {claim.id} does not belong to {topic}/*")
    return claims


def _order(module: ModuleType) -> int:
    order = getattr(module, "ORDER", None)
    if type(order) is not int:
        raise InputError(f"{_file_of(module)}: ORDER is missing or not an integer")
    return order


def _file_of(module: ModuleType) -> str:
    return module.__file__ or module.__name__


# ---------------------------------------------------------------------------- a user's file


def load_file(path: str | Path) -> tuple[Claim, ...]:
    """The tuple CLAIMS that a Python file defines."""
    shown = str(path)
    if not os.path.exists(path):
        raise InputError(f"{shown}: there is no such file")
    name = f"derive_file_{Path(path).stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InputError(f"{shown}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    with _one_line(shown), _no_bytecode(), contextlib.redirect_stdout(sys.stderr):
        spec.loader.exec_module(module)
    claims = tuple(replace(c, from_file=True) for c in _claims_of(module, shown))
    _refuse_duplicates(claims, f"{shown}{_line_of_claims(shown)}")
    return _as_written(claims, spec, path)


def _as_written(claims: tuple[Claim, ...], spec: ModuleSpec, path: str | Path) -> tuple[Claim, ...]:
    """The claims of a file, with what stands in it before SymPy evaluates it."""
    from derive import verbatim, written

    def read_again() -> Sequence[Claim]:
        sys.modules[spec.name] = module = importlib.util.module_from_spec(spec)
        with _no_bytecode():
            verbatim.run(Path(path).read_bytes(), str(path), vars(module))
        return _claims_of(module, str(path))

    before = sys.modules[spec.name]
    try:
        return written.with_written(claims, read_again)
    finally:
        sys.modules[spec.name] = before


@contextlib.contextmanager
def _no_bytecode() -> Iterator[None]:
    """Leave no ``__pycache__`` beside a file that is not ours."""
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        yield
    finally:
        sys.dont_write_bytecode = before


# ---------------------------------------------------------------------------- checks


def _claims_of(module: ModuleType, path: str) -> tuple[Claim, ...]:
    from derive.claim import Claim

    claims: Any = getattr(module, "CLAIMS", None)
    if claims is None:
        raise InputError(f"{path}: defines no CLAIMS")
    fault = _fault(claims, Claim)
    if fault:
        raise InputError(f"{path}{_line_of_claims(path)}: {fault}")
    return tuple(claims)


def _fault(claims: Any, kind: type) -> str:
    if not isinstance(claims, tuple | list):
        return f"CLAIMS is not a tuple but {_a(claims)}"
    if not claims:
        return "CLAIMS is empty"
    for place, claim in enumerate(claims, start=1):
        if not isinstance(claim, kind):
            return f"entry {place} of CLAIMS is not a Claim but {_a(claim)}"
    return ""


def _a(value: Any) -> str:
    name = type(value).__name__
    return f"an {name}" if name[0] in "aeiou" else f"a {name}"


def _line_of_claims(path: str) -> str:
    """``:LINE`` of the assignment to CLAIMS, or nothing where it cannot be told."""
    try:
        tree = ast.parse(Path(path).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return ""
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(t, ast.Name) and t.id == "CLAIMS" for t in targets):
            return f":{node.lineno}"
    return ""


def _refuse_duplicates(claims: Iterable[Claim], where: str) -> None:
    seen: set[str] = set()
    for claim in claims:
        if claim.id in seen:
            raise InputError(f"{where}: two claims are called {claim.id}")
        seen.add(claim.id)


@contextlib.contextmanager
def _one_line(path: str) -> Iterator[None]:
    """Turn whatever the import of `path` raises into one line with the place in it."""
    try:
        yield
    except (KeyboardInterrupt, TimeUp):
        raise
    except BaseException as error:  # those of a file's own making, too
        line = _line_in(path, error)
        what = error.msg if isinstance(error, SyntaxError) else str(error)
        kind = type(error).__name__
        raise InputError(
            f"{path}{line}: {kind}: {what}" if what else f"{path}{line}: {kind}"
        ) from error


def _line_in(path: str, error: BaseException) -> str:
    if isinstance(error, SyntaxError) and error.lineno and _same(error.filename, path):
        return f":{error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if _same(frame.filename, path)]
    return f":{lines[-1]}" if lines else ""


def _same(filename: str | None, path: str) -> bool:
    return filename is not None and Path(filename).resolve() == Path(path).resolve()


# ---------------------------------------------------------------------------- choosing


def is_file(pattern: str) -> bool:
    return pattern.endswith(".py")


def select(
    claims: Sequence[Claim],
    patterns: Sequence[str],
    loading: Callable[[str], AbstractContextManager[Any]] = contextlib.nullcontext,
) -> tuple[Claim, ...]:
    """The claims that are meant: ids, globs over ids, or Python files.  No pattern means all.

    Claims keep the order of `claims`; those of files follow in the order of the files, each of
    which is loaded within `loading`.
    """
    if not patterns:
        return tuple(claims)
    wanted = {c for p in patterns if not is_file(p) for c in _matching(claims, p)}
    files = {Path(p).resolve(): p for p in reversed(patterns) if is_file(p)}
    chosen = [c for c in claims if c.id in wanted]
    for path in reversed(files.values()):
        with loading(path):
            chosen += load_file(path)
    _refuse_duplicates(chosen, ", ".join(patterns))
    return tuple(chosen)


def _matching(claims: Sequence[Claim], pattern: str) -> list[str]:
    found = [c.id for c in claims if fnmatchcase(c.id, pattern)]
    if found:
        return found
    if os.path.isfile(pattern):  # of any string, unlike the method of a path
        raise InputError(f"{pattern}: the name of a file of claims ends in .py")
    names = dict.fromkeys([c.id for c in claims] + [f"{c.topic}/*" for c in claims])
    near = difflib.get_close_matches(pattern, names, n=1, cutoff=0.0)
    hint = f"; the nearest is {near[0]}" if near else ""
    raise NoMatch(f"no claim matches {pattern!r}{hint}")


def matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, p) for p in patterns)
