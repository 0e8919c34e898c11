"""What the reader of a claim has seen: a wide formula is not told twice, and neither is one of the
two sides of a relation; what stands above is named instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from derive.messages import say
from derive.report import mathml
from derive.report.formulas import relation


@dataclass(frozen=True)
class Words:
    """What is said in place of a part of a formula."""

    text: str


@dataclass(frozen=True)
class Formula:
    latex: str


Part = Words | Formula


@dataclass
class Told:
    """The names of the formulas of a claim, and of their sides."""

    _formulas: dict[str, str] = field(default_factory=dict)
    _sides: dict[tuple[str, str], str] = field(default_factory=dict)

    def learn(self, latex: str, name: str) -> None:
        """The reader has seen the formula under this name."""
        self._formulas.setdefault(latex, name)
        if (found := relation(latex)) is not None:
            bound, left, _, right = found
            self._sides.setdefault((bound, left), say("the left side of {what}", what=name))
            self._sides.setdefault((bound, right), say("the right side of {what}", what=name))

    def name(self, latex: str) -> str:
        """How a wide formula is named that was seen before; empty for any other."""
        return "" if mathml.is_narrow(latex) else self._formulas.get(latex, "")

    def parts(self, latex: str, shown: str) -> list[Part]:
        """The formula `latex`, of which `shown` is to be printed, with names for what was seen."""
        found = relation(latex)
        if found is None:
            return [Formula(shown)]
        bound, left, sign, right = found
        whole = shown == latex
        return list(
            _joined(
                [
                    *([Formula(bound)] if bound and whole else []),
                    *([self._side(bound, left)] if whole else []),
                    Formula(sign),
                    self._side(bound, right),
                ],
                shown,
            )
        )

    def _side(self, bound: str, side: str) -> Part:
        name = "" if mathml.is_narrow(side) else self._sides.get((bound, side), "")
        return Words(name) if name else Formula(side)


def _joined(parts: list[Part], whole: str) -> Iterator[Part]:
    """Formulas that stand side by side are one; without words between them, they are the whole.

    A relation to words at the end is one by itself.
    """
    if not any(isinstance(part, Words) for part in parts):
        yield Formula(whole)
        return
    if isinstance(parts[-1], Words) and len(parts) > 2:
        *before, relation_sign, last = parts
        yield from _runs(before)
        yield from (relation_sign, last)
        return
    yield from _runs(parts)


def _runs(parts: list[Part]) -> Iterator[Part]:
    formula: list[str] = []
    for part in parts:
        if isinstance(part, Formula):
            formula.append(part.latex)
            continue
        if formula:
            yield Formula(" ".join(formula))
            formula = []
        yield part
    if formula:
        yield Formula(" ".join(formula))
