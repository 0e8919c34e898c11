"""The derivation report: results -> document model -> `report.tex`, its PDF, `report.html`.

What is listed here is loaded when it is asked for: the terminal needs only the vocabulary.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from derive.report.compiling import TexFailed, TexMissing, compile_pdf
    from derive.report.errors import MathSyntax, ReportError, TextSyntax, UnprintableCharacter
    from derive.report.fragments import write_fragments
    from derive.report.pictures.kept import drawn, missing_to_draw
    from derive.report.writing import FORMATS, write_report

_MODULES = {
    "compiling": ("TexFailed", "TexMissing", "compile_pdf"),
    "errors": ("MathSyntax", "ReportError", "TextSyntax", "UnprintableCharacter"),
    "fragments": ("write_fragments",),
    "pictures.kept": ("drawn", "missing_to_draw"),
    "writing": ("FORMATS", "write_report"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "FORMATS",
    "MathSyntax",
    "ReportError",
    "TexFailed",
    "TexMissing",
    "TextSyntax",
    "UnprintableCharacter",
    "compile_pdf",
    "drawn",
    "missing_to_draw",
    "write_fragments",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
