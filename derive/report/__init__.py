"""The LaTeX derivation report: results -> document model -> `report.tex` -> PDF."""

from derive.report.compiling import TexFailed, TexMissing, compile_pdf
from derive.report.errors import MathSyntax, ReportError, TextSyntax, UnprintableCharacter
from derive.report.writing import write_report

__all__ = [
    "MathSyntax",
    "ReportError",
    "TexFailed",
    "TexMissing",
    "TextSyntax",
    "UnprintableCharacter",
    "compile_pdf",
    "write_report",
]
