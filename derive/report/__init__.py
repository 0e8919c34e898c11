"""The derivation report: results -> document model -> `report.tex`, its PDF, `report.html`."""

from derive.report.compiling import TexFailed, TexMissing, compile_pdf
from derive.report.errors import MathSyntax, ReportError, TextSyntax, UnprintableCharacter
from derive.report.fragments import write_fragments
from derive.report.pictures.kept import available as can_draw
from derive.report.pictures.kept import drawn
from derive.report.writing import FORMATS, write_report

__all__ = [
    "FORMATS",
    "MathSyntax",
    "ReportError",
    "TexFailed",
    "TexMissing",
    "TextSyntax",
    "UnprintableCharacter",
    "can_draw",
    "compile_pdf",
    "drawn",
    "write_fragments",
    "write_report",
]
