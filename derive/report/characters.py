"""Which characters the report can print, and how.

Text is set in Latin Modern: what it has is printed as it is; a mathematical character goes into
math mode; anything else is refused by name, because TeX would drop it silently.  A report in
Chinese has Fandol besides.
"""

from __future__ import annotations

import bisect
from typing import Final

from derive import messages
from derive.report.errors import UnprintableCharacter

# Latin letters and punctuation that all faces of Latin Modern in use (roman, bold, italic,
# typewriter, 9 pt) share, as inclusive ranges; read off the fonts with \iffontchar.
_TEXT_RANGES: Final = (
    *((0x20, 0x7E), (0xA0, 0x131), (0x134, 0x137), (0x139, 0x148), (0x14A, 0x165)),
    *((0x168, 0x17F), (0x192, 0x192), (0x1A0, 0x1A1), (0x1AF, 0x1B0), (0x1CD, 0x1D4)),
    *((0x1D7, 0x1DC), (0x1E6, 0x1E7), (0x1EA, 0x1EB), (0x1F0, 0x1F0), (0x1F4, 0x1F5)),
    *((0x1FA, 0x201), (0x218, 0x21B), (0x237, 0x237), (0x258, 0x259), (0x1E0C, 0x1E0F)),
    *((0x1E24, 0x1E27), (0x1E2A, 0x1E2B), (0x1E36, 0x1E39), (0x1E42, 0x1E47), (0x1E58, 0x1E5D)),
    *((0x1E62, 0x1E63), (0x1E6C, 0x1E6F), (0x1E80, 0x1E85), (0x1E92, 0x1E93), (0x1EA0, 0x1EF9)),
    *((0x2010, 0x2011), (0x2013, 0x2014), (0x2018, 0x201A), (0x201C, 0x201E), (0x2020, 0x2022)),
    *((0x2026, 0x2026), (0x2030, 0x2030), (0x2039, 0x203A), (0x20AC, 0x20AC), (0x2116, 0x2116)),
)
_RANGE_STARTS: Final = [first for first, _ in _TEXT_RANGES]

_SMALL_GREEK: Final = (
    "alpha beta gamma delta varepsilon zeta eta theta iota kappa lambda mu nu xi pi rho "
    "sigma tau upsilon varphi chi psi omega"
)
_CAPITAL_GREEK: Final = "Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega"
_GREEK: Final = {
    **dict(zip("αβγδεζηθικλμνξπρστυφχψω", _SMALL_GREEK.split(), strict=True)),
    **dict(zip("ΓΔΘΛΞΠΣΥΦΨΩ", _CAPITAL_GREEK.split(), strict=True)),
    "ϵ": "epsilon", "ϑ": "vartheta", "ϕ": "phi", "ϱ": "varrho", "ς": "varsigma", "µ": "mu",
}  # fmt: skip

_SYMBOLS: Final = {
    "≤": "leq", "≥": "geq", "≠": "neq", "≈": "approx", "≡": "equiv", "∼": "sim", "∝": "propto",
    "≪": "ll", "≫": "gg", "≔": "coloneqq", "≃": "simeq", "≅": "cong",
    "∈": "in", "∉": "notin", "∋": "ni", "⊂": "subset", "⊆": "subseteq", "⊃": "supset",
    "⊇": "supseteq", "∪": "cup", "∩": "cap", "∅": "emptyset", "∖": "setminus",
    "∣": "mid", "∤": "nmid", "∥": "parallel", "⟂": "perp", "⊥": "perp",
    "⊢": "vdash",
    "→": "to", "←": "leftarrow", "↔": "leftrightarrow", "↦": "mapsto", "⇒": "Rightarrow",
    "⇐": "Leftarrow", "⇔": "Leftrightarrow", "⟹": "Longrightarrow", "⟺": "Longleftrightarrow",
    "⟶": "longrightarrow", "↑": "uparrow", "↓": "downarrow",
    "×": "times", "÷": "div", "±": "pm", "∓": "mp", "·": "cdot", "⋅": "cdot", "∗": "ast",
    "∘": "circ", "⊙": "odot", "⊗": "otimes", "⊕": "oplus", "⊤": "top", "√": "surd",
    "∑": "sum", "∏": "prod", "∫": "int", "∂": "partial", "∇": "nabla", "∞": "infty",
    "∀": "forall", "∃": "exists", "¬": "neg", "∧": "land", "∨": "lor",
    "⟨": "langle", "⟩": "rangle", "⌊": "lfloor", "⌋": "rfloor", "⌈": "lceil", "⌉": "rceil",
    "‖": "Vert", "…": "ldots", "⋯": "cdots", "⋮": "vdots", "⋱": "ddots", "ℓ": "ell",
    "′": "prime", "°": "degree", "∎": "blacksquare", "✓": "checkmark", "□": "square",
}  # fmt: skip

_SUPERSCRIPTS: Final = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱᵀ", "0123456789+-=()niT", strict=True))
_SUBSCRIPTS: Final = dict(
    zip("₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚₛₜₓᵥ", "0123456789+-=()aehijklmnopstxv", strict=True)
)
_LETTERS: Final = {"ℝ": "R", "ℕ": "N", "ℤ": "Z", "ℚ": "Q", "ℂ": "C", "𝔼": "E", "ℙ": "P", "𝟙": "1"}


def _math_table() -> dict[str, str]:
    commands = {char: rf"\{name}" for char, name in (_GREEK | _SYMBOLS).items()}
    raised = {char: f"^{{{plain}}}" for char, plain in _SUPERSCRIPTS.items()}
    lowered = {char: f"_{{{plain}}}" for char, plain in _SUBSCRIPTS.items()}
    doubled = {char: rf"\mathbb{{{plain}}}" for char, plain in _LETTERS.items()}
    others = {"−": "-", "\u2217": "*", "°": r"^{\circ}", "\xa0": "~", "𝟙": r"\mathbf{1}"}
    return commands | raised | lowered | doubled | others


MATH_OF: Final = _math_table()
"""Unicode character -> LaTeX that prints it in math mode."""

TEXT_SPECIAL: Final = {
    "&": r"\&", "%": r"\%", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}", "$": r"\$",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}",
    "`": r"\textasciigrave{}", "\xa0": "~",
}  # fmt: skip

_TEXT_FIRST: Final = frozenset("…¹²³°·×±÷¬µ")
"""Mathematical characters that Latin Modern has as text, where text keeps the text form."""


def in_latin_modern(char: str) -> bool:
    """Whether every face in use has the character."""
    index = bisect.bisect_right(_RANGE_STARTS, ord(char)) - 1
    return index >= 0 and ord(char) <= _TEXT_RANGES[index][1]


def in_fandol(char: str) -> bool:
    """Whether it is one of the characters of GB 2312, for which Fandol is made."""
    try:
        return len(char.encode("gb2312")) == 2
    except UnicodeEncodeError:
        return False


def text_char(char: str, where: str) -> str:
    """LaTeX that prints one character of running text; `where` is quoted in the refusal."""
    if char in TEXT_SPECIAL:
        return TEXT_SPECIAL[char]
    return char if " " <= char <= "~" else unicode_in_text(char, where)


def unicode_in_text(char: str, where: str) -> str:
    r"""As `text_char` for text that is LaTeX already, such as the argument of ``\text``."""
    if char in MATH_OF and char not in _TEXT_FIRST and ord(char) > 0x7E:
        return f"${MATH_OF[char]}$"
    if in_latin_modern(char) or (messages.language() == "zh" and in_fandol(char)):
        return char
    raise UnprintableCharacter(char, where)


def math_char(char: str, where: str) -> str:
    """LaTeX that prints one character of a formula."""
    if " " < char <= "~":
        return char
    if char in MATH_OF:
        return MATH_OF[char]
    raise UnprintableCharacter(char, where)
