"""Which parts of a formula stand on the page already.

A part is a clause, that is what stands between connectives, or a side of a clause that is a single
relation.  Two are the same if they are written alike, whatever is bound before them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from derive.messages import mark, say
from derive.report import mathml
from derive.report.costs import CLAUSE_LINKS, depths
from derive.report.formulas import prefix_length, single_relation
from derive.report.memory import remembered
from derive.report.pieces import source_of
from derive.report.reading import read
from derive.report.told import Formula, Part, Words


class Side(Enum):
    BOTH = "{what}"
    LEFT = mark("the left side of {what}")
    RIGHT = mark("the right side of {what}")


@dataclass(frozen=True)
class Place:
    """Where a part stands: the number of its line, of its clause (0 for all), and its side."""

    line: int
    clause: int
    side: Side

    def named(self, what: str) -> str:
        """How the part is named in a line that is named `what`."""
        clause = say("clause {number} of {what}", number=self.clause, what=what)
        return say(self.side.value, what=clause if self.clause else what)


@dataclass
class Standing:
    """The places of the wide parts of the lines that were added."""

    _places: dict[str, Place] = field(default_factory=dict)

    def add(self, line: int, latex: str) -> None:
        """The formula stands in this line."""
        found = clauses(latex)
        for number, (_, _, body, left, _, right) in enumerate(found, start=1):
            clause = number if len(found) > 1 else 0
            for side, part in ((Side.BOTH, body), (Side.LEFT, left), (Side.RIGHT, right)):
                if part and not mathml.is_narrow(part):
                    self._places.setdefault(part, Place(line, clause, side))

    def without_repetition(self, part: Part) -> Iterator[Part | Place]:
        """The part of a line, with places in it for what stands elsewhere."""
        if isinstance(part, Words):
            yield part
            return
        run: list[str] = []
        for found in self._parts(part.latex):
            if isinstance(found, str):
                run += [found] if found else []
                continue
            if run:
                yield Formula(" ".join(run))
                run = []
            yield found
        if run:
            yield Formula(" ".join(run))

    def _parts(self, latex: str) -> Iterator[str | Part | Place]:
        """The sign before a place at the right is a formula by itself: it stays with the place."""
        for link, prefix, body, left, sign, right in clauses(latex):
            yield link
            yield prefix
            if body in self._places or not sign:
                yield self._places.get(body, body)
                continue
            yield self._places.get(left, left)
            yield Formula(sign) if right in self._places else sign
            yield self._places.get(right, right)


@remembered
def clauses(latex: str) -> list[list[str]]:
    """Clause by clause: the connective before it, what it binds, its body, and the left side, the
    sign and the right side of that, if it is a single relation.
    """
    pieces = read(latex)
    nesting = depths(pieces)
    links = [k for k, p in enumerate(pieces) if p.kind in CLAUSE_LINKS and nesting[k] == 0]
    found = []
    for link, end in zip([-1, *links], [*links, len(pieces)], strict=True):
        clause = pieces[link + 1 : end]
        binding = prefix_length(clause)
        prefix, body = source_of(clause[:binding]), source_of(clause[binding:])
        sides = (body and single_relation(body)) or ("", "", "")
        found.append([pieces[link].source if link >= 0 else "", prefix, body, *sides])
    return found
