"""Why a report could not be written. Every message says what was refused and where."""

from __future__ import annotations

import unicodedata


class ReportError(Exception):
    """A report cannot be made from this input."""

    def locate(self, place: str) -> None:
        """Say where the input stands."""
        self.args = (f"{place}: {self}",)


class MathSyntax(ReportError):
    """A formula that is not well-formed LaTeX math."""


class TextSyntax(ReportError):
    """Running text whose inline math is not closed."""


class UnprintableCharacter(ReportError):
    """A character that the fonts of the report do not have."""

    def __init__(self, char: str, where: str) -> None:
        name = unicodedata.name(char, "no Unicode name")
        super().__init__(f"the report's fonts lack U+{ord(char):04X} ({name}), found in: {where}")
