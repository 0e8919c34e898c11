"""Exact linear programming: non-negative solutions of a system of equations."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Final, TypeVar

K = TypeVar("K", bound=Hashable)
Row = dict[int, Fraction]

#: The right side of an equation in a row of the table.
RIGHT: Final = -1


def nonnegative_solution(
    columns: Sequence[Mapping[K, Fraction]], wanted: Mapping[K, Fraction]
) -> list[Fraction] | None:
    """x >= 0 with Sum x_j columns_j = wanted, None if there is none."""
    rows: dict[K, Row] = {r: {RIGHT: c} for r, c in wanted.items() if c}
    for j, column in enumerate(columns):
        for r, c in column.items():
            if c:
                rows.setdefault(r, {})[j] = c
    if not _without_useless(rows):
        return None
    found = _first_phase([_with_positive_right_side(row) for row in rows.values() if row])
    return None if found is None else [found.get(j, Fraction(0)) for j in range(len(columns))]


def _without_useless(rows: dict[K, Row]) -> bool:
    """Take out columns that nothing can cancel; False if there is no solution."""
    zero: set[int] = set()
    changed = True
    while changed:
        changed = False
        for row in rows.values():
            for j in [j for j in row if j in zero]:
                del row[j]
            right = row.get(RIGHT, Fraction(0))
            signs = {c > 0 for j, c in row.items() if j != RIGHT}
            if right and (right > 0) not in signs:
                return False
            if not right and len(signs) == 1:
                zero.update(row)
                changed = True
    return True


def _with_positive_right_side(row: Row) -> Row:
    return {j: -c for j, c in row.items()} if row.get(RIGHT, 0) < 0 else row


def _first_phase(table: list[Row]) -> dict[int, Fraction] | None:
    """The first phase of the simplex method, with an artificial variable for every row."""
    basis: list[int | None] = [None] * len(table)
    costs: Row = {}
    for row in table:
        _add(costs, row, Fraction(1))
    while True:
        entering = min((j for j, c in costs.items() if c > 0 and j != RIGHT), default=None)
        if entering is None:
            break
        _, _, leaving = min(
            (row.get(RIGHT, Fraction(0)) / row[entering], _order(basis[i]), i)
            for i, row in enumerate(table) if row.get(entering, 0) > 0
        )  # fmt: skip
        _pivot(table, costs, leaving, entering)
        basis[leaving] = entering
    if costs.get(RIGHT):
        return None
    zero = Fraction(0)
    return {j: row.get(RIGHT, zero) for j, row in zip(basis, table, strict=True) if j is not None}


def _order(variable: int | None) -> tuple[bool, int]:
    """Artificial variables leave last, and of the others the first one: this ends."""
    return (variable is None, 0 if variable is None else variable)


def _pivot(table: list[Row], costs: Row, at: int, column: int) -> None:
    scale = table[at][column]
    chosen = table[at] = {j: c / scale for j, c in table[at].items()}
    for i, row in enumerate(table):
        if i != at and column in row:
            _add(row, chosen, -row[column])
    if column in costs:
        _add(costs, chosen, -costs[column])


def _add(row: Row, other: Row, factor: Fraction) -> None:
    """row + factor * other, in place."""
    for j, c in other.items():
        total = row.get(j, 0) + factor * c
        if total:
            row[j] = total
        else:
            row.pop(j, None)
