"""What the report says by itself, whatever the claims are; `say` gives it in another language."""

from __future__ import annotations

from typing import Final

from derive.messages import mark, say, space

TITLE: Final = mark("Transformer mathematics: derivation report")
SUBTITLE: Final = mark("Every claim with its verdict, its derivation and its numeric check.")
GUIDE: Final = mark("How to read this report")
RUN: Final = mark("How to reproduce this report")
NO_CLAIMS: Final = mark("No claims were selected.")
FAULTS: Final = mark("Errors and ambiguities")
WRONG: Final = mark("What is wrong")
INSTEAD: Final = mark("What should stand there")
WARNING: Final = mark("Warning")

_IN_CLAIMS: Final = {
    "wordproved": mark("proved"),
    "wordconditional": mark("conditional"),
    "wordrefuted": mark("refuted"),
    "wordundecided": mark("undecided"),
    "wordnotmathematical": mark("not mathematical"),
    "wordattention": WARNING,
}
"""The words of `claims.sty`, as names of TeX macros."""

_IN_REPORT: Final = {
    "wordtitle": TITLE,
    "wordsubtitle": SUBTITLE,
    "wordcontents": mark("Contents"),
    "wordpdftitle": mark("Derivation report"),
    "wordverdict": mark("Verdict"),
    "wordclaim": mark("Claim"),
    "wordclaims": mark("Claims"),
    "wordmeaning": mark("Meaning"),
    "wordall": mark("all"),
    "wordguide": GUIDE,
    "wordnoclaims": NO_CLAIMS,
    "wordallclaims": mark("All claims"),
    "wordplace": mark("Place"),
    "wordplaces": mark("Places"),
    "wordpage": mark("Page"),
    "wordsays": mark("What it says"),
    "wordfaults": FAULTS,
    "wordwrong": WRONG,
    "wordinstead": INSTEAD,
    "wordpictures": mark("Pictures"),
    "wordmodels": mark("Totals of real models"),
    "wordrun": RUN,
    "wordlogs": mark("SHA-256 of every proof log that the checker accepted:"),
    "wordshows": mark("Shows a"),
    "wordsymbolic": mark("Symbolic, s"),
    "wordnumeric": mark("Numeric, s"),
}
"""Those of `preamble.sty`."""

_ABOUT_PLACES: Final = mark(
    "In the claims: {name}. Places and lines in its own order; verdicts with the page of the "
    "derivation."
)

KINDS_OF_LOGS: Final = (mark("proof"), mark("counterexample"), mark("witness"))
SETTINGS: Final = (mark("Command"), mark("Seed"))


def tex_words(*, whole: bool) -> list[str]:
    """Definitions of the macros that the style uses; `whole` for all of a report."""
    words = {name: say(text) for name, text in (_IN_CLAIMS | (_IN_REPORT if whole else {})).items()}
    words |= {"wordending": say("{label}.", label="")}
    lines = [rf"\newcommand{{\{name}}}{{{text}}}" for name, text in words.items()]
    if whole:
        lines.append(rf"\newcommand{{\wordspace}}{{{space()}}}")
        comma = say(", ").rstrip()
        page = ",~#1" if comma == "," else r"\mbox{（#1）}"  # no line with a number alone
        lines.append(rf"\newcommand{{\wordonpage}}[1]{{{page}}}")
        lines.append(rf"\newcommand{{\wordinclaims}}[1]{{{say(_ABOUT_PLACES, name='#1')}}}")
    return lines
