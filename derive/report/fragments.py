"""Single claims for somebody else's LaTeX document: bodies without a preamble, and a small style.

Every command of ours gets a name of its own there, so that it does not meet one of the document's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Final

from derive import messages
from derive.messages import suffix
from derive.report import layout, rendering
from derive.report.document import build
from derive.report.words import tex_words
from derive.report.writing import replace_files
from derive.result import Result

STYLE: Final = "derive-claims"
_PREFIX: Final = "derive"
_DEFINED: Final = re.compile(
    r"\\(?:newcommand|providecommand|DeclareRobustCommand|newsavebox)\{\\([A-Za-z]+)\}"
)
_HEAD: Final = rf"""% For what `derive report --fragment` has written: \usepackage{{{STYLE}}}, and
% \input{{...}} for each of them. A claim is a subsection; its label is the name of its file,
% without the language.
\NeedsTeXFormat{{LaTeX2e}}
\ProvidesPackage{{{STYLE}}}
\RequirePackage{{amsmath,amssymb,mathtools,array,graphicx,xcolor}}
% hyperref asks for a font that it does not use here and that may not be there.
\ifdefined\suppressfontnotfounderror\suppressfontnotfounderror=1\fi
\RequirePackage{{hyperref}}
\ifdefined\suppressfontnotfounderror\suppressfontnotfounderror=0\fi"""


def write_fragments(
    results: Sequence[Result], out: Path, *, language: str = messages.ENGLISH
) -> list[Path]:
    """Write each claim's body and the style into the directory `out`; returns the paths.

    Raises `ReportError` for what cannot be printed and `OSError` for a directory that cannot be
    written; then no file is changed.
    """
    report = build(results, settings={}, language=language)
    ending = suffix(language)
    with messages.speaking(language):
        style = _style(f"{STYLE}{ending}")
        names = _names(style)
        texts: dict[Path, str | bytes] = {out / f"{STYLE}{ending}.sty": _renamed(style, names)}
        for topic in report.topics:
            for claim in topic.claims:
                body = rendering.render_claim(claim)
                texts[out / f"{claim.key}{ending}.tex"] = _renamed(body, names) + "\n"
    out.mkdir(parents=True, exist_ok=True)
    replace_files(texts)
    return list(texts)


def _style(name: str) -> str:
    lengths = [rf"\newcommand{{\{name}}}{{{value}}}" for name, value in layout.tex_lengths()]
    look = resources.files("derive.report").joinpath("claims.sty").read_text("utf-8")
    fonts = [
        resources.files("derive.report").joinpath(name).read_text("utf-8").rstrip()
        for name in rendering.fonts(messages.language())
    ]
    return "\n".join([_HEAD.replace(STYLE, name), *lengths, *tex_words(whole=False), *fonts, look])


def _names(style: str) -> re.Pattern[str]:
    """The commands that the style defines, wherever they are used."""
    found = sorted({*_DEFINED.findall(style)}, key=len, reverse=True)
    return re.compile(rf"\\({'|'.join(found)})(?![A-Za-z])")


def _renamed(text: str, names: re.Pattern[str]) -> str:
    return names.sub(lambda found: f"\\{_PREFIX}{found[1]}", text)
