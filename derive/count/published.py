"""Published totals against exact counts: exact, rounds to what is printed, or does not match."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_DOWN, ROUND_HALF_UP, Context, Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Any, Final

from derive.count import closed, sizes
from derive.count.counting import Count, count, forward_work
from derive.count.description import Stage, Work
from derive.count.printing import SCHEMA, grouped
from derive.count.published_rows import (
    DIFFERENCES,
    ORIGINAL,
    ComputeRow,
    Reading,
    Row,
    compute_rows,
    rows,
)
from derive.terminal import WIDTH, Style, fit, wrap

_CONTEXT: Final = Context(prec=60)


class Status(StrEnum):
    EXACT = "exact"
    ROUNDS = "rounds to the printed value"
    DIFFERS = "does not match"


#: The family of rows that are about operations and not about parameters.
_COMPUTE: Final = "operations"
_SHORT: Final = {Status.EXACT: "exact", Status.ROUNDS: "rounds", Status.DIFFERS: "no match"}


def status(number: int, printed: str) -> Status:
    """How an exact number stands to a printed one, whose last digit is the last that counts."""
    if "e" not in printed:
        return Status.EXACT if number == int(printed) else Status.DIFFERS
    return Status.ROUNDS if _cut(number, printed, ROUND_HALF_UP) else Status.DIFFERS


def _cut(number: int, printed: str, rounding: str) -> bool:
    """Whether the number, shortened to the digits that are printed, is the printed one."""
    value = Decimal(printed)
    unit = Decimal((0, (1,), int(value.as_tuple().exponent)))
    return Decimal(number).quantize(unit, rounding=rounding, context=_CONTEXT) == value


def reason(number: int, printed: str) -> str:
    """Why a number does not match, where the digits tell."""
    if status(number, printed) is Status.DIFFERS and "e" in printed:
        if _cut(number, printed, ROUND_DOWN):
            return "the printed value is the count cut off, not rounded"
        digits = len(Decimal(printed).as_tuple().digits)
        off = abs(Fraction(number) / Fraction(Decimal(printed)) - 1)
        return f"to {digits} digits the count is {_shortened(number, printed)}" + (
            f", {float(100 * off):.1f} % off" if off > Fraction(1, 1000) else ""
        )
    return ""


def _shortened(number: int, printed: str) -> str:
    """The number with as many digits as are printed."""
    digits = len(Decimal(printed).as_tuple().digits)
    rounded = Context(prec=digits, rounding=ROUND_HALF_UP).create_decimal(number)
    return f"{rounded:.{digits - 1}e}"


# ---------------------------------------------------------------------------- rows with answers


@dataclass(frozen=True)
class Read:
    """A reading of a row with its count."""

    reading: Reading
    count: Count
    number: int
    status: Status


@dataclass(frozen=True)
class Answer:
    """A published number, the exact one, and how they stand to each other."""

    id: str
    family: str
    name: str
    source: str
    text: str
    printed: str
    number: int
    status: Status
    reasons: tuple[str, ...]
    conventions: tuple[str, ...]
    readings: tuple[Read, ...] = ()

    @property
    def in_short(self) -> str:
        return _SHORT[self.status]

    @property
    def counts_parameters(self) -> bool:
        return self.family != _COMPUTE


def answers() -> list[Answer]:
    """All published totals, with the differences and operations that were published."""
    table = list(rows())
    found = [answer(row) for row in table]
    return [*found, *differences(table), *map(_compute, compute_rows())]


def answer(row: Row) -> Answer:
    """The first reading that gives the printed number counts, or else the first."""
    reads = tuple(_read(row, reading) for reading in row.readings)
    best = next((r for r in reads if r.status is not Status.DIFFERS), reads[0])
    return Answer(
        row.id, row.family, row.name, row.source, row.text, row.printed, best.number, best.status,
        tuple(_reasons(row, reads, best)), best.count.architecture.conventions, reads,
    )  # fmt: skip


def _read(row: Row, reading: Reading) -> Read:
    found = count(reading.model)
    quantity = found.total if row.of == "total" or found.active is None else found.active
    return Read(reading, found, quantity.number, status(quantity.number, row.printed))


def _reasons(row: Row, reads: Sequence[Read], best: Read) -> Iterator[str]:
    if best.reading.why:
        yield best.reading.why
    if best.status is Status.DIFFERS and (why := reason(best.number, row.printed)):
        yield why
    if row.note:
        yield row.note
    for other in reads:
        if other is not best:
            yield f"{other.reading.why}: {grouped(other.number)}, {other.status}"
    if row.family == ORIGINAL and best.status is Status.DIFFERS:
        low, high = fitting_vocabulary(best.count, row.printed)
        yield f"a vocabulary of {grouped(low)} to {grouped(high)} would round to it"


def fitting_vocabulary(found: Count, printed: str) -> tuple[int, int]:
    """The vocabularies with which the total, linear in them, rounds to the printed value."""
    empty, one = (found.total.closed.at({**found.values, sizes.vocabulary: v}) for v in (1, 2))
    value = Fraction(Decimal(printed))
    half = Fraction(10) ** int(Decimal(printed).as_tuple().exponent) / 2
    low, high = ((value + side - empty) / (one - empty) + 1 for side in (-half, half))
    return -(-low.numerator // low.denominator), -(-high.numerator // high.denominator) - 1


# ---------------------------------------------------------------------------- between rows


def differences(table: Sequence[Row]) -> list[Answer]:
    """Differences of rows in which the vocabulary cancels, and what vocabulary fits them all."""
    originals = {row.name: row for row in table if row.family == ORIGINAL}
    return [
        *(_difference(originals[a], originals[b]) for a, b in DIFFERENCES),
        _one_vocabulary(originals),
    ]


def _difference(more: Row, less: Row) -> Answer:
    a, b = answer(more), answer(less)
    number, printed = a.number - b.number, Decimal(more.printed) - Decimal(less.printed)
    fits = abs(number - printed) <= 10**6  # each of the two is off by at most half a million
    name = f"{more.name} less {less.name}"
    return Answer(
        f"{ORIGINAL}/{name}", ORIGINAL, name, more.source, f"{int(printed) // 10**6} x 10^6",
        str(printed), number, Status.ROUNDS if fits else Status.DIFFERS,
        ("the vocabulary cancels; both rows are rounded to 10^6",), a.conventions,
    )  # fmt: skip


def _one_vocabulary(originals: dict[str, Row]) -> Answer:
    """Whether there is a vocabulary with which every row rounds to what is printed."""
    ranges = {
        name: fitting_vocabulary(count(row.readings[0].model), row.printed)
        for name, row in originals.items()
    }
    low = max(low for low, _ in ranges.values())
    high = min(high for _, high in ranges.values())
    big = ranges.pop("big")
    others = max(low for low, _ in ranges.values()), min(high for _, high in ranges.values())
    spans = [f"{grouped(a)} to {grouped(b)}" for a, b in (others, big)]
    return Answer(
        f"{ORIGINAL}/one vocabulary", ORIGINAL, "one vocabulary for the table",
        originals["base"].source, "all rows", "", max(0, high - low + 1),
        Status.ROUNDS if low <= high else Status.DIFFERS,
        ("number of vocabularies with which every row rounds to its printed value",
         f"all rows but big: {spans[0]}", f"big: {spans[1]}"),
        count(originals["base"].readings[0].model).architecture.conventions,
    )  # fmt: skip


# ---------------------------------------------------------------------------- operations


def _compute(row: ComputeRow) -> Answer:
    found = count(row.model)
    number = _six(found, row) if not row.parts else sum(_part(found, row, p) for p in row.parts)
    how = (
        "six operations for every parameter and token; attention products left out"
        if not row.parts
        else "leading operations; layers computed twice forward, output head once; all gradients"
    )
    why = [] if (w := reason(number, row.printed)) == "" else [w]
    return Answer(
        f"{_COMPUTE}/{row.name}", _COMPUTE, row.name, row.source, row.text, row.printed,
        number, status(number, row.printed), (how, *why), found.architecture.conventions,
    )  # fmt: skip


def _six(found: Count, row: ComputeRow) -> int:
    return 6 * found.total.number * row.tokens


def _part(found: Count, row: ComputeRow, part: str) -> int:
    """The leading operations of the steps of that name, on all tokens."""
    steps = [(s, w) for s, w in forward_work(found.architecture.parts.stages) if s.name == part]
    per_token = found.per_token(_leading(found, steps))
    total = per_token * row.times[part] * row.tokens
    return int(total)


def _leading(found: Count, steps: Sequence[tuple[Stage, Work]]) -> int:
    return closed.of_work(steps, "leading").at(found.values)


# ---------------------------------------------------------------------------- printing


@dataclass(frozen=True)
class Published:
    """The table as text and as an object."""

    answers: tuple[Answer, ...]

    def tally(self) -> dict[str, int]:
        return {s.value: sum(a.status is s for a in self.answers) for s in Status}

    def as_object(self, *, explain: bool) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "summary": {"rows": len(self.answers), **self.tally()},
            "rows": [_object(a) for a in self.answers],
        }

    def as_text(self, style: Style, *, explain: bool) -> str:
        lines: list[str] = []
        for family in dict.fromkeys(a.family for a in self.answers):
            lines += [*([""] if lines else []), family]
            for source in dict.fromkeys(a.source for a in self._of(family)):
                lines += wrap(source, "  ", "    ")
                for a in self._of(family):
                    lines += _lines(a, style) if a.source == source else []
        tally = "; ".join(f"{number} {name}" for name, number in self.tally().items())
        lines += ["", *wrap(f"{len(self.answers)} published numbers: {tally}.", "", "  ")]
        return "".join(f"{style.plain(line)}\n" for line in lines)

    def _of(self, family: str) -> list[Answer]:
        return [a for a in self.answers if a.family == family]


def _lines(a: Answer, style: Style) -> Iterator[str]:
    cells = f" {a.text.split(' (')[0]:>12} {grouped(a.number):>22}"
    yield f"    {a.in_short:<9} {fit(a.name, WIDTH - 14 - len(cells), style)}{cells}"
    for why in a.reasons:
        yield from wrap(why, "              ", "                ")


def _object(a: Answer) -> dict[str, Any]:
    return {
        "id": a.id,
        "family": a.family,
        "model": a.name,
        "source": a.source,
        "published": a.text,
        "exact": a.number,
        "status": a.status.value,
        "reasons": list(a.reasons),
        "conventions": list(a.conventions),
        "readings": [
            {"reading": r.reading.why, "exact": r.number, "status": r.status.value}
            for r in a.readings
        ],
    }


def published() -> Published:
    return Published(tuple(answers()))
