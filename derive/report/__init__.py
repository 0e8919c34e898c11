"""The derivation report: results -> document model -> `report.tex`, its PDF, `report.html`."""

from derive.report.compiling import TexFailed, TexMissing, compile_pdf
from derive.report.errors import MathSyntax, ReportError, TextSyntax, UnprintableCharacter
from derive.report.writing import FORMATS, write_report

__all__ = [
    "FORMATS",
    "MathSyntax",
    "ReportError",
    "TexFailed",
    "TexMissing",
    "TextSyntax",
    "UnprintableCharacter",
    "compile_pdf",
    "write_report",
]
