"""What was made of formulas before, kept in the user's cache folder.

Taking formulas apart and breaking them into lines is most of the work of a report, and depends on
nothing but the formula and the room for it.  The file belongs to one state of the sources that do
it and of latex2mathml: its name is a digest of these.  What is kept changes no byte of a report.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterator
from functools import wraps
from importlib import metadata
from pathlib import Path
from typing import Any, Final, ParamSpec, TypeVar

from derive import sealed

_SUFFIX: Final = ".formulas"

P = ParamSpec("P")
R = TypeVar("R")

_TABLES: Final[dict[str, dict[str, Any]]] = {}
"""By the name of the function: its values by the text of its arguments."""

_NEW: Final[dict[str, dict[str, Any]]] = {}


def remembered(function: Callable[P, R]) -> Callable[P, R]:
    """Remember the values of a function of texts and numbers: texts, truth values or tuples."""
    name = f"{function.__module__}.{function.__qualname__}"
    table = _TABLES.setdefault(name, {})
    new = _NEW.setdefault(name, {})

    @wraps(function)
    def known(*args: P.args, **kwargs: P.kwargs) -> R:
        key = json.dumps([args, sorted(kwargs.items())])
        if key not in table:
            table[key] = new[key] = function(*args, **kwargs)
        value: R = table[key]
        return value

    return known


@contextlib.contextmanager
def kept(folder: Path | None) -> Iterator[None]:
    """Within it, what the folder keeps is known, and at its end what is new is kept there."""
    path = None if folder is None else folder / f"{_state()}{_SUFFIX}"
    if path is not None:
        learn(_read(path))
    for new in _NEW.values():
        new.clear()
    yield
    if path is not None and any(_NEW.values()):
        _write(path)


def news() -> dict[str, dict[str, Any]]:
    """What was learnt since the start: for the process that this one was forked from."""
    return {name: new for name, new in _NEW.items() if new}


def learn(tables: dict[str, dict[str, Any]], *, new: bool = False) -> None:
    """Take values over; `new` if they have not been kept yet."""
    for name, values in tables.items():
        if name in _TABLES:
            for key, value in values.items():
                if key not in _TABLES[name]:
                    _TABLES[name][key] = value
                    if new:
                        _NEW[name][key] = value


# -- the file ----------------------------------------------------------------------------------


def _state() -> str:
    """A digest of the sources and of the converter."""
    digest = hashlib.sha256(metadata.version("latex2mathml").encode())
    here = Path(__file__).parent
    for source in sorted([*here.glob("*.py"), here.parent / "plain_math.py"]):
        digest.update(hashlib.sha256(source.read_bytes()).digest())
    return digest.hexdigest()[:32]


def _read(path: Path) -> dict[str, dict[str, Any]]:
    """The tables of a file; none if there is no file with the seal."""
    contents = sealed.read(path)
    found = {} if contents is None else json.loads(contents)
    return {
        name: {key: _restored(value) for key, value in table.items()}
        for name, table in found.items()
    }


def _restored(value: Any) -> Any:
    """JSON has no tuples: they are kept as objects."""
    return tuple(value["tuple"]) if isinstance(value, dict) else value


def _write(path: Path) -> None:
    """A folder that cannot be written to keeps nothing."""
    tables = {
        name: {
            key: {"tuple": value} if isinstance(value, tuple) else value
            for key, value in table.items()
        }
        for name, table in _TABLES.items()
    }
    sealed.write(path, json.dumps(tables).encode())
