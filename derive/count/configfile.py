"""Reading `config.json`: strict JSON, and its values one by one, with errors of one line.

Nothing in the file is evaluated.  Sizes are whole numbers, 1 or more; what a library would round,
cut or take for true is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from derive.catalogue import InputError

#: A configuration takes a few kilobytes; some hold the names of thousands of classes.
LARGEST_FILE: Final = 8 * 2**20
LARGEST_DIGITS: Final = 100
_REQUIRED: Final = object()


def read(path: str) -> dict[str, Any]:
    """The object in a JSON file.  Raises InputError, one line, for anything else."""
    try:
        with Path(path).open("rb") as file:
            raw = file.read(LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    if len(raw) > LARGEST_FILE:
        raise InputError(f"{path}: more than {LARGEST_FILE} bytes, too large for a configuration")
    try:
        text = raw.decode("utf-8-sig")
        found = json.loads(text, object_pairs_hook=_without_duplicates, parse_int=_whole,
                           parse_constant=_refused_constant)  # fmt: skip
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 at byte {error.start}") from error
    except json.JSONDecodeError as error:
        raise InputError(f"{path}:{error.lineno}: not JSON: {error.msg}") from error
    except RecursionError as error:
        raise InputError(f"{path}: nested too deeply") from error
    if not isinstance(found, dict):
        raise InputError(f"{path}: not a JSON object but {_kind(found)}")
    return found


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise InputError(f"the key {short(key)} is there twice")
        found[key] = value
    return found


def _whole(text: str) -> int:
    if len(text) > LARGEST_DIGITS:
        raise InputError(f"a number of {len(text)} digits ({text[:10]}...) is no size")
    return int(text)


def _refused_constant(text: str) -> Any:
    raise InputError(f"{text} is not JSON")


def _kind(value: Any) -> str:
    names = {bool: "true or false", str: "text", int: "a number", float: "a number", list: "a list",
             dict: "an object", type(None): "null"}  # fmt: skip
    return names[type(value)]


def short(value: Any) -> str:
    """A value as it would be written, cut where it is long."""
    text = json.dumps(value, default=repr)
    return text if len(text) <= 40 else text[:37] + "..."


class Keys:
    """The values of a configuration, asked for by name; `defaults` notes what was not there."""

    def __init__(self, where: str, values: Mapping[str, Any], kind: str = "") -> None:
        self.where, self.values, self.kind = where, values, kind
        self.defaults: dict[str, Any] = {}

    def fail(self, message: str) -> InputError:
        return InputError(f"{self.where}: {message}")

    def size(self, *names: str, default: Any = _REQUIRED) -> int:
        """A whole number, 1 or more, under one of several names."""
        return int(self._checked(names, default, nullable=False))

    def optional_size(self, *names: str) -> int | None:
        """The same where the library takes null for an answer."""
        found = self._checked(names, None, nullable=True)
        return None if found is None else int(found)

    def flag(self, name: str, default: bool) -> bool:
        found = self.values.get(name, default)
        if type(found) is not bool:
            raise self.fail(f"{name} is {short(found)}, not true or false")
        return found

    def word(self, name: str, default: str) -> str:
        found = self.values.get(name, default)
        if type(found) is not str:
            raise self.fail(f"{name} is {short(found)}, not text")
        return found

    def _checked(self, names: Sequence[str], default: Any, *, nullable: bool) -> Any:
        given = {name: self.values[name] for name in names if name in self.values}
        for name, value in given.items():
            if not (value is None and nullable) and not (type(value) is int and value >= 1):
                raise self.fail(f"{name} is {short(value)}, not a whole number, 1 or more")
        if len(set(given.values())) > 1:
            both = " and ".join(f"{name} = {value}" for name, value in given.items())
            raise self.fail(f"{both} contradict each other")
        if given:
            return next(iter(given.values()))
        if default is _REQUIRED:
            raise self.fail(f"{names[0]} is missing, and {self.kind!r} has no default for it")
        if default is not None:
            self.defaults[names[0]] = default
        return default

    def refuse(self, name: str, *allowed: Any) -> None:
        """Refuse a setting that changes what there is to count."""
        if name in self.values and self.values[name] not in (None, *allowed):
            shown = short(self.values[name])
            raise self.fail(f"{name} = {shown} is not counted here")

    def divides(self, part: tuple[str, int], whole: tuple[str, int]) -> int:
        """whole / part.  Raises InputError where it leaves a remainder."""
        if whole[1] % part[1]:
            raise self.fail(f"{part[0]} = {part[1]} does not divide {whole[0]} = {whole[1]}")
        return whole[1] // part[1]
