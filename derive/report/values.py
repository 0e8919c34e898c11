"""Exact values as the reader sees them: symbol -> value becomes inline math."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

_BARE_SUBSCRIPT: Final = re.compile(r"([A-Za-z])_([A-Za-z]{2,})")
_MATH: Final = re.compile(r"[-+*/^()0-9A-Za-z.,; ]*")
_POWER: Final = re.compile(r"(?:\*\*|\^)(-?\w+)")
_WORD: Final = re.compile(r"(?<!\\)[A-Za-z]{2,}")


def assignment(values: Mapping[str, str]) -> str:
    """``$d = 10$, $h = 3$``: text with inline math, in the order given."""
    return ", ".join(_equation(symbol(name), value) for name, value in values.items())


def symbol(name: str) -> str:
    r"""The name's math; ``d_model`` is taken as ``d_{\text{model}}``."""
    return _BARE_SUBSCRIPT.sub(r"\1_{\\text{\2}}", name)


def _equation(name: str, value: str) -> str:
    """Math where the value reads as math, else the value as text."""
    matrix = _matrix(value)
    if matrix is not None:
        return f"${name} = {matrix}$"
    if "\\" in value and "$" not in value:
        return f"${name} = {value}$"
    if _MATH.fullmatch(value) and not _WORD.search(value):
        powers = _POWER.sub(r"^{\1}", value)
        return f"${name} = {powers.replace('*', ' ')}$"
    return f"${name} =$ {value}"


def _matrix(value: str) -> str | None:
    """A list of numbers as a row vector, lists of lists as a matrix, a list of matrices as such."""
    try:
        rows = json.loads(re.sub(r"(-?\d+(?:/\d+)?)", r'"\1"', value))
    except ValueError:
        return None
    return _array(rows) if isinstance(rows, list) and rows else None


def _array(rows: list[Any]) -> str | None:
    """None where the list is not rectangular, or holds something else than numbers."""
    if len(rows) == 1 and isinstance(rows[0], list) and len(rows[0]) == 1:
        return _array(rows[0])  # the brackets of one entry
    if all(isinstance(entry, str) for entry in rows):
        return rf"\left({', '.join(rows)}\right)"
    if not all(isinstance(row, list) and row and len(row) == len(rows[0]) for row in rows):
        return None
    if all(isinstance(entry, str) for row in rows for entry in row):
        body = r" \\ ".join(" & ".join(row) for row in rows)
        return rf"\left(\begin{{smallmatrix}} {body} \end{{smallmatrix}}\right)"
    parts = [_array(row) for row in rows]
    if None in parts or len({_shape(row) for row in rows}) > 1:
        return None
    return rf"\left({', '.join(part for part in parts if part)}\right)"


def _shape(rows: list[Any] | str) -> tuple[int, ...]:
    """The lengths of the lists along their first entries."""
    return (len(rows), *_shape(rows[0])) if isinstance(rows, list) and rows else ()


def number(value: float) -> str:
    """A float in two significant decimals, as inline math: ``$2.3 \\cdot 10^{-15}$``."""
    if value == 0 or value != value or value in (float("inf"), float("-inf")):
        return f"${value:g}$" if value == 0 else f"{value}"
    mantissa, exponent = f"{value:.1e}".split("e")
    if -3 <= int(exponent) <= 3:
        return f"${value:.3g}$"
    factor = "" if mantissa == "1.0" else rf"{mantissa} \cdot "
    return rf"${factor}10^{{{int(exponent)}}}$"
