"""``derive count``: from a configuration, or the table of published totals, to what is printed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from derive.catalogue import InputError
from derive.count import configfile, printing
from derive.count.counting import Count, count
from derive.count.models import from_config
from derive.terminal import Style

_BYTES: Final = "bytes"
_DIGITS: Final = 15


class Answer(Protocol):
    """What can be printed in both ways."""

    def as_object(self, *, explain: bool) -> dict[str, Any]: ...

    def as_text(self, style: Style, *, explain: bool) -> str: ...


@dataclass(frozen=True)
class Counted:
    """The count of the model in a file."""

    where: str
    count: Count

    def as_object(self, *, explain: bool) -> dict[str, Any]:
        return printing.as_object(self.count, explain=explain)

    def as_text(self, style: Style, *, explain: bool) -> str:
        return printing.as_text(self.count, self.where, style, explain=explain)


def counted(path: str, settings: Sequence[str]) -> Counted:
    """The count of the model in a configuration file.  Raises InputError, one line."""
    model = from_config(configfile.read(path), path)
    chosen = _settings(settings)
    bytes_each = chosen.pop(_BYTES, None)
    try:
        return Counted(path, count(model, chosen, bytes_each))
    except ValueError as error:
        raise InputError(f"--set: {error}") from error


def _settings(settings: Sequence[str]) -> dict[str, int]:
    """Lengths and the bytes of a number, written as name=number."""
    found: dict[str, int] = {}
    for setting in settings:
        name, sign, number = setting.partition("=")
        if not (sign and number.isascii() and number.isdecimal() and len(number) <= _DIGITS
                and int(number)):  # fmt: skip
            raise InputError(f"--set: {setting!r:.60} is not of the form n=2048")
        if name in found:
            raise InputError(f"--set: {name} is set twice")
        found[name] = int(number)
    return found


def published() -> Answer:
    """The table of published totals."""
    from derive.count.published import published as table

    return table()
