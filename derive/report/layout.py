"""The measures of the page, told once: Python breaks formulas with them, TeX sets type with them.

Lengths in Python are in em of the size in use (10 pt for formulas, 9 pt for reasons).
"""

from __future__ import annotations

from typing import Final

TEXT_WIDTH_PT: Final = 455.0
"""Width of the text block: A4 less two margins of 25 mm."""

TAG_SHARE: Final = 0.055
FORMULA_SHARE: Final = 0.635
REASON_SHARE: Final = 0.28
"""Shares of the text width that a row gives to its number, its formula and its reason."""

NOTED_SHARE: Final = 0.445
NOTE_SHARE: Final = 0.48
"""Shares for a formula and a note: hypotheses and axioms, where more is to be said."""

MAX_LINES: Final = 14
MAX_ROW_LINES: Final = 7
MAX_ROW_HEIGHT: Final = 14.0
"""A formula of more lines than this, or in a row higher than so many lines of text, is set in
several blocks, so that a page can end between: blocks of a display are centred one by one, those
of a row stand below one another."""

SMALLER: Final = 1.2
"""How much wider than its column a formula may be that is set smaller rather than in a line of its
own: 10 pt become 8.3 pt.
"""

DISPLAY_EM: Final = 0.96 * TEXT_WIDTH_PT / 10
FORMULA_EM: Final = 0.96 * FORMULA_SHARE * TEXT_WIDTH_PT / 10
WIDE_EM: Final = 0.96 * (1 - TAG_SHARE) * TEXT_WIDTH_PT / 10
NOTED_EM: Final = 0.96 * NOTED_SHARE * TEXT_WIDTH_PT / 10
NOTE_EM: Final = 0.96 * NOTE_SHARE * TEXT_WIDTH_PT / 9
REASON_EM: Final = 0.96 * REASON_SHARE * TEXT_WIDTH_PT / 9
ENTRY_EM: Final = 24.0
SAYS_EM: Final = 19.0
FAULT_EM: Final = 12.0
LINK_EM: Final = 14.0
CELL_EM: Final = 11.0
BODY_EM: Final = 0.90 * TEXT_WIDTH_PT / 10
"""Room for a displayed formula, for a formula beside its reason and above it, for one beside a
note, for inline math in a note, in a reason, in the table of claims, in what a place says, in what
is wrong there, in the title of a claim beside them, in a cell, in a paragraph; each a little less
than the true width, because widths in Python are estimates.
"""


def tex_lengths() -> list[tuple[str, str]]:
    """What `preamble.sty` takes from here, as names and values of TeX macros."""
    return [
        ("reportwidth", f"{TEXT_WIDTH_PT:g}pt"),
        ("tagshare", f"{TAG_SHARE:g}"),
        ("formulashare", f"{FORMULA_SHARE:g}"),
        ("reasonshare", f"{REASON_SHARE:g}"),
        ("notedshare", f"{NOTED_SHARE:g}"),
        ("noteshare", f"{NOTE_SHARE:g}"),
    ]
