r"""LaTeX math -> one line of text for a terminal.

``\frac{\partial L}{\partial x_{i}} = \sum_{j=0}^{n-1} g_{j}`` reads
``∂L/∂x_i = ∑_{j=0}^{n-1} g_j``.
A command that is not known stays as its LaTeX source, and so does a formula that is not well
formed: nothing is left out.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Final

from derive.report import vocabulary
from derive.report.characters import MATH_OF
from derive.report.pieces import Kind

_TOKEN: Final = re.compile(r"\\[A-Za-z]+\*?|\\.|\d+(?:\.\d+)?|\s+|.", re.DOTALL)
_DOLLAR: Final = re.compile(r"(?<!\\)\$")

_SYNONYMS: Final = {
    "le": "≤", "leqslant": "≤", "ge": "≥", "geqslant": "≥", "ne": "≠", "rightarrow": "→",
    "land": "∧", "wedge": "∧", "lor": "∨", "vee": "∨", "lnot": "¬", "implies": "⟹", "iff": "⟺",
    "impliedby": "⟸", "lvert": "|", "rvert": "|", "vert": "|", "lVert": "‖", "rVert": "‖",
    "Vert": "‖", "|": "‖", "mid": "|", "nmid": "∤", "lbrace": "{", "rbrace": "}", "{": "{",
    "}": "}", "lbrack": "[", "rbrack": "]", "dots": "…", "cdots": "⋯", "ast": "*", "star": "⋆",
    "prime": "′", "colon": ":", "epsilon": "ε", "phi": "φ", "setminus": "∖", "circ": "∘",
    "top": "ᵀ", "intercal": "ᵀ", "bullet": "•", "backslash": "\\", "%": "%", "#": "#", "$": "$",
    "&": "&", "_": "_", "lt": "<", "gt": ">", "bmod": "mod", "notin": "∉", "checkmark": "✓",
    "ldots": "…", "cdot": "·", "infty": "∞", "emptyset": "∅", "varnothing": "∅", "neg": "¬",
    "coloneqq": ":=", "longrightarrow": "⟶", "hookrightarrow": "↪", "models": "⊨", "vdash": "⊢",
    "prec": "≺", "succ": "≻", "preceq": "≼", "succeq": "≽", "doteq": "≐", "triangleq": "≜",
    "ni": "∋", "perp": "⊥", "hbar": "ℏ", "Re": "Re", "Im": "Im", "bigcup": "⋃", "bigcap": "⋂",
    "bigoplus": "⨁", "bigotimes": "⨂", "coprod": "∐", "sqcup": "⊔", "supset": "⊃", "cong": "≅",
}  # fmt: skip
_SYMBOL: Final = {
    **{latex: char for char, latex in reversed(MATH_OF.items()) if latex[0] == "\\"},
    **{f"\\{name}": char for name, char in _SYNONYMS.items()},
}
_KIND: Final = {
    **vocabulary.KIND_OF,
    **{_SYMBOL[t]: k for t, k in vocabulary.KIND_OF.items() if t in _SYMBOL and t != r"\neg"},
    **{"|": Kind.SLASH, "‖": Kind.SLASH, "(": Kind.OPEN, ")": Kind.CLOSE, "−": Kind.SUM},
    **{r"\mid": Kind.WEAK_RELATION, "∣": Kind.WEAK_RELATION, r"\bmod": Kind.PRODUCT},
    **{"=": Kind.RELATION, ":": Kind.PUNCTUATION, "→": Kind.WEAK_RELATION},
}
_PREFIXES: Final = frozenset("∂∇¬∀∃")
_BARS: Final = frozenset({"|", "‖"})
_RELATIONS: Final = frozenset({Kind.RELATION, Kind.WEAK_RELATION, Kind.ARROW, Kind.CONNECTIVE})
_OPERAND: Final = frozenset({Kind.ORDINARY, Kind.CLOSE, Kind.FRACTION, Kind.TEXT})
_ACCENT: Final = {
    r"\hat": "\u0302", r"\widehat": "\u0302", r"\bar": "\u0304", r"\overline": "\u0304",
    r"\tilde": "\u0303", r"\widetilde": "\u0303", r"\dot": "\u0307", r"\ddot": "\u0308",
    r"\vec": "\u20d7", r"\underline": "\u0332",
}  # fmt: skip
_ALPHABET: Final = {
    r"\mathbb": "DOUBLE-STRUCK", r"\mathcal": "SCRIPT", r"\mathscr": "SCRIPT",
    r"\mathfrak": "FRAKTUR", r"\mathbf": "BOLD", r"\boldsymbol": "BOLD", r"\bm": "BOLD",
}  # fmt: skip
_PLAIN_FONTS: Final = frozenset({r"\mathit", r"\mathsf", r"\mathrm", r"\mathtt", r"\mathop"})
_RAISED: Final = dict(zip("0123456789+-n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ", strict=True))
_LOWERED: Final = dict(zip("0123456789", "₀₁₂₃₄₅₆₇₈₉", strict=True))
_BRACKETS: Final = {
    "pmatrix": ("(", ")"), "bmatrix": ("[", "]"), "vmatrix": ("|", "|"), "Vmatrix": ("‖", "‖"),
    "Bmatrix": ("{", "}"), "cases": ("{", "}"),
}  # fmt: skip


class _Level(IntEnum):
    """How tightly the parts of a text hold together."""

    RELATION = 0
    SUM = 1
    QUOTIENT = 2
    PRODUCT = 3
    ATOM = 4


@dataclass(frozen=True)
class _Part:
    """`spaced`: white space stood before it; `prefix`: it binds to what follows."""

    text: str
    kind: Kind
    level: _Level = _Level.ATOM
    spaced: bool = False
    prefix: bool = False


class _NotWellFormed(Exception):
    pass


def formula(latex: str) -> str:
    """The formula as text; its source where it is not well-formed LaTeX."""
    reader = _Reader(_TOKEN.findall(latex))
    try:
        parts = reader.parts(frozenset())
        if reader.peek():
            return latex
    except _NotWellFormed:
        return latex
    return _join(parts, tight=False)


def text(prose: str) -> str:
    """Running text with its ``$...$`` formulas as text."""
    pieces = _DOLLAR.split(prose)
    if len(pieces) % 2 == 0:
        return prose
    shown = (formula(p) if k % 2 else p.replace(r"\$", "$") for k, p in enumerate(pieces))
    return "".join(shown)


def value(exact: str) -> str:
    """An exact value of a counterexample: LaTeX or plain text."""
    return formula(exact) if "\\" in exact else exact


# ---------------------------------------------------------------------------- reading


class _Reader:
    """A cursor over the tokens of a formula; `tight` writes it as scripts are written."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._at = 0
        self._tight = 0

    def peek(self) -> str:
        """The next token that is not white space, or nothing; the cursor stays."""
        at = self._at
        while at < len(self._tokens) and self._tokens[at].isspace():
            at += 1
        return self._tokens[at] if at < len(self._tokens) else ""

    def take(self, expected: str = "") -> str:
        token = self.peek()
        if not token or (expected and token != expected):
            raise _NotWellFormed
        while self._tokens[self._at].isspace():
            self._at += 1
        self._at += 1
        return token

    def parts(self, until: frozenset[str]) -> list[_Part]:
        """Everything up to one of `until`, or to the end."""
        found: list[_Part] = []
        bars: list[str] = []
        spaced = False
        while (token := self.peek()) and token not in until:
            spaced = spaced or self._tokens[self._at].isspace()
            if token in {"}", "&", r"\right", r"\end"}:
                raise _NotWellFormed
            kind = _KIND.get(token)
            if kind in {Kind.THIN_SPACE, Kind.WIDE_SPACE} or token in vocabulary.STYLES:
                self.take()
                spaced = spaced or kind is not None
                continue
            made = self._construct()
            if made and made[0].text in _BARS and made[0].kind is Kind.SLASH:
                made[0] = self._bar(made[0], token, found, bars)
            if made:
                made[0] = replace(made[0], spaced=spaced)
                made[-1] = self._scripted(made[-1])
                spaced = False
            found.extend(made)
        return found

    def _bar(self, bar: _Part, token: str, before: list[_Part], bars: list[str]) -> _Part:
        """An opening or closing bar, or one that stands between two operands."""
        operand = bool(before) and before[-1].kind in _OPERAND
        if bars and bars[-1] == bar.text and operand:
            bars.pop()
            return replace(bar, kind=Kind.CLOSE)
        if token in self._tokens[self._at :]:
            bars.append(bar.text)
            return replace(bar, kind=Kind.OPEN)
        return replace(bar, kind=Kind.WEAK_RELATION)

    def _construct(self) -> list[_Part]:
        """The next construct without its scripts."""
        token = self.take()
        if token == "{":
            inner = self.parts(frozenset("}"))
            self.take("}")
            return [self._group(inner)] if self.peek() in {"^", "_", "'"} else inner
        if token == r"\left":
            return self._fence()
        if token in vocabulary.SIZES:
            return [self._delimiter(Kind.SLASH)]
        return [self._nucleus(token)]

    def _fence(self) -> list[_Part]:
        opening = self._delimiter(Kind.OPEN)
        inner = self.parts(frozenset({r"\right"}))
        self.take(r"\right")
        return [opening, *inner, self._delimiter(Kind.CLOSE)]

    def _delimiter(self, kind: Kind) -> _Part:
        token = self.take()
        shown = "" if token == "." else _SYMBOL.get(token, token)
        natural = _KIND.get(token, Kind.SLASH)
        return _Part(shown, natural if kind is Kind.SLASH else kind)

    def _nucleus(self, token: str) -> _Part:
        if token in vocabulary.FRACTIONS:
            return self._fraction(token)
        if token == r"\sqrt":
            return self._root()
        if token == r"\begin":
            return self._environment()
        if token == r"\not":
            return _Part(
                unicodedata.normalize("NFC", self._argument_text() + "\u0338"), Kind.RELATION
            )
        if token in _ACCENT:
            return self._accented(token)
        if token in _ALPHABET:
            return _Part(_in_alphabet(self._argument_text(), _ALPHABET[token]), Kind.ORDINARY)
        if token in _PLAIN_FONTS:
            return _Part(self._words(), Kind.ORDINARY)
        if token.startswith(r"\operatorname"):
            return _Part(self._words(), Kind.OPERATOR)
        if token in vocabulary.UPRIGHT:
            return _text_part(text(self._verbatim()))
        if token == r"\substack":
            return self._stack()
        if token == r"\pmod":
            return _Part(f"(mod {self._argument_text()})", Kind.TEXT)
        if token == ":" and self.peek() == "=":
            return _Part(":" + self.take(), Kind.RELATION)
        if token in vocabulary.FUNCTIONS and token not in _SYMBOL:
            return _Part(token[1:], Kind.OPERATOR)
        if token == "\\\\":
            return _Part(";", Kind.PUNCTUATION)
        if token[0] == "\\" and token not in _SYMBOL:
            return self._unknown(token)
        shown = _SYMBOL.get(token, token)
        kind = _KIND.get(token, _KIND.get(shown, Kind.ORDINARY))
        return _Part(shown, kind, prefix=shown in _PREFIXES)

    def _unknown(self, token: str) -> _Part:
        """The source of a command with its arguments."""
        while self.peek() == "{":
            token += "{" + self._verbatim() + "}"
        return _Part(token, Kind.ORDINARY)

    def _fraction(self, token: str) -> _Part:
        upper, lower = self._argument(), self._argument()
        tight = self._tight > 0
        if "binom" in token:
            shown = f"binom({_join(upper, tight)}, {_join(lower, tight)})"
            return _Part(shown, Kind.ORDINARY)
        above = _enclosed(upper, _Level.PRODUCT, tight)
        return _Part(
            f"{above}/{_enclosed(lower, _Level.ATOM, tight)}", Kind.FRACTION, _Level.QUOTIENT
        )

    def _root(self) -> _Part:
        degree = ""
        if self.peek() == "[":
            self.take("[")
            degree = _join(self.parts(frozenset("]")), tight=True)
            self.take("]")
        inner = self._argument()
        if degree.isdigit():
            degree = "".join(_RAISED[c] for c in degree)
        elif degree:
            return _Part(f"root({degree}, {_join(inner, tight=False)})", Kind.ORDINARY)
        return _Part(f"{degree}√{_enclosed(inner, _Level.ATOM, self._tight > 0)}", Kind.ORDINARY)

    def _accented(self, token: str) -> _Part:
        inner = self._argument_text()
        if len(inner) == 1:
            return _Part(unicodedata.normalize("NFC", inner + _ACCENT[token]), Kind.ORDINARY)
        return _Part(f"{token[1:]}({inner})", Kind.ORDINARY)

    def _environment(self) -> _Part:
        name = self._verbatim()
        if name.startswith("array"):
            self._verbatim()
        left, right = _BRACKETS.get(name, ("", ""))
        rows: list[list[str]] = [[]]
        while True:
            rows[-1].append(_join(self.parts(frozenset({"&", "\\\\", r"\end"})), self._tight > 0))
            token = self.take()
            if token == r"\end":
                break
            if token == "\\\\":
                rows.append([])
        if self._verbatim() != name:
            raise _NotWellFormed
        between = ", " if "matrix" in name else " "
        lines = [between.join(cell for cell in row if cell) for row in rows]
        return _Part(left + "; ".join(line for line in lines if line) + right, Kind.ORDINARY)

    def _stack(self) -> _Part:
        self.take("{")
        lines = [self.parts(frozenset({"\\\\", "}"}))]
        while self.take() != "}":
            lines.append(self.parts(frozenset({"\\\\", "}"})))
        return _Part(",".join(_join(line, tight=True) for line in lines), Kind.ORDINARY)

    def _argument(self) -> list[_Part]:
        """A group, or a single token: ``\\frac12`` is one half."""
        if self.peek() == "{":
            self.take("{")
            inner = self.parts(frozenset("}"))
            self.take("}")
            return inner
        token = self.peek()
        if len(token) > 1 and token[0].isdigit():
            self.take()
            self._tokens[self._at - 1 : self._at] = [token[0], token[1:]]
            self._at -= 1
        return self._construct()

    def _argument_text(self) -> str:
        return _join(self._argument(), self._tight > 0)

    def _words(self) -> str:
        """The argument of a font command, letter by letter as it is written."""
        return text(self._verbatim()).strip() if self.peek() == "{" else self._argument_text()

    def _verbatim(self) -> str:
        """The source between the braces of a group."""
        self.take("{")
        start, depth = self._at, 1
        while depth:
            if self._at >= len(self._tokens):
                raise _NotWellFormed
            depth += {"{": 1, "}": -1}.get(self._tokens[self._at], 0)
            self._at += 1
        return "".join(self._tokens[start : self._at - 1])

    def _group(self, inner: list[_Part]) -> _Part:
        """A braced group that scripts are attached to."""
        if len(inner) == 1:
            (part,) = inner
            return replace(part, text=f"({part.text})") if "^" in part.text else part
        return _Part(_enclosed(inner, _Level.ATOM, self._tight > 0) if inner else "", Kind.ORDINARY)

    # -- scripts -----------------------------------------------------------------------------

    def _scripted(self, part: _Part) -> _Part:
        """The part with the primes and scripts that follow it, those below first."""
        above = below = primes = ""
        while (token := self.peek()) in {"^", "_", "'", "!", r"\limits", r"\nolimits"}:
            self.take()
            if token in {"'", "!"}:
                primes += token.replace("'", "′")
            elif token in {"^", "_"}:
                self._tight += 1
                inner = self._argument()
                self._tight -= 1
                if token == "^":
                    while len(inner) > 1 and inner[0].text == "′":
                        primes, inner = primes + "′", inner[1:]
                    above += _superscript(inner, part.kind)
                else:
                    below += _subscript(inner, part.kind)
        if not (above or below or primes):
            return part
        bare = part.level is _Level.ATOM and not ("√" in part.text[:2] and (above or primes))
        base = part.text if bare else f"({part.text})"
        kind = Kind.ORDINARY if part.kind is Kind.FRACTION else part.kind
        if below and f"\\{part.text}" in vocabulary.WITH_LIMITS:
            kind = Kind.BIG_OPERATOR
        return replace(part, text=base + primes + below + above, kind=kind, level=_Level.ATOM)


def _superscript(inner: list[_Part], base: Kind) -> str:
    shown = _join(inner, tight=True)
    if base is Kind.BIG_OPERATOR:
        return f"^{{{shown}}}"
    if shown in {"T", "ᵀ"}:
        return "ᵀ"
    if shown in {"*", "⋆", "†", "+", "-"} or set(shown) == {"′"}:
        return shown
    if shown == "∘":
        return "°"
    if shown and all(c in _RAISED for c in shown):
        return "".join(_RAISED[c] for c in shown)
    bare = re.fullmatch(r"\w+", shown) and _level(inner) is _Level.ATOM and "_" not in shown
    return f"^{shown}" if bare or _is_fenced(inner) else f"^({shown})"


def _subscript(inner: list[_Part], base: Kind) -> str:
    shown = _join(inner, tight=True)
    if re.fullmatch(r"\w( \w)+", shown):
        shown = shown.replace(" ", "")
    if shown and all(c in _LOWERED for c in shown):
        return "".join(_LOWERED[c] for c in shown)
    bare = re.fullmatch(r"[^\W_]+", shown) and base is not Kind.BIG_OPERATOR
    return f"_{shown}" if bare or _is_fenced(inner) else f"_{{{shown}}}"


# ---------------------------------------------------------------------------- joining


def _join(parts: Sequence[_Part], tight: bool) -> str:
    """One text, with the spaces that the kinds of the neighbours ask for."""
    out = ""
    before: _Part | None = None
    for k, part in enumerate(parts):
        here = _signed(part, before)
        if here.kind is Kind.FRACTION and _is_factor(parts, k):
            here = replace(here, text=f"({here.text})", kind=Kind.ORDINARY)
        if before is not None:
            out += _gap(before, here, tight)
        out += here.text
        before = here
    return re.sub(r"  +", " ", out)


def _signed(part: _Part, before: _Part | None) -> _Part:
    """A sign that has no operand before it binds to what follows."""
    after_operand = before is not None and before.kind in _OPERAND
    if part.kind is Kind.SUM and part.text in {"+", "-", "−", "±", "∓"} and not after_operand:
        return replace(part, prefix=True)
    return part


def _is_factor(parts: Sequence[_Part], k: int) -> bool:
    """Whether a fraction stands beside a factor or below a function, so that it needs brackets."""
    follows = parts[k + 1].kind if k + 1 < len(parts) else Kind.CLOSE
    leads = parts[k - 1].kind if k and not parts[k - 1].prefix else Kind.OPEN
    beside = {Kind.ORDINARY, Kind.OPERATOR, Kind.FRACTION, Kind.SLASH}
    return follows in beside | {Kind.OPEN, Kind.BIG_OPERATOR} or leads in beside | {Kind.CLOSE}


def _gap(a: _Part, b: _Part, tight: bool) -> str:
    if b.kind in {Kind.PUNCTUATION, Kind.CLOSE} or a.kind is Kind.OPEN or a.prefix:
        return ""
    if Kind.TEXT in {a.kind, b.kind}:
        return "" if b.text[:1] in {",", ".", ";", ":"} else " "
    if a.kind is Kind.PUNCTUATION:
        return "" if tight else " "
    kinds = {a.kind, b.kind}
    if kinds & _RELATIONS or Kind.SUM in kinds or Kind.PRODUCT in kinds:
        return "" if tight and not (a.text[-1:].isalpha() and b.text[:1].isalpha()) else " "
    if Kind.SLASH in kinds:
        return ""
    if b.kind is Kind.OPEN or b.text.startswith("("):
        wide = b.spaced and a.kind is not Kind.OPERATOR
        return " " if wide or a.kind is Kind.BIG_OPERATOR else ""
    if a.text.isascii() and a.text.isdecimal():
        word = b.text[:2].isalpha() and len(b.text) > 1
        return " " if word or b.text[:1].isdecimal() else ""
    return " "


def _level(parts: Sequence[_Part]) -> _Level:
    """How tightly the whole holds together; what stands in brackets counts as one."""
    depth, levels, count = 0, [_Level.ATOM], 0
    before: _Part | None = None
    for part in parts:
        here = _signed(part, before)
        before = here
        if here.kind is Kind.CLOSE:
            depth -= 1
        if depth == 0 and here.kind is not Kind.CLOSE:
            if here.kind in _RELATIONS or here.kind in {Kind.PUNCTUATION, Kind.TEXT}:
                levels.append(_Level.RELATION)
            elif here.kind in {Kind.SUM, Kind.BIG_OPERATOR}:
                levels.append(_Level.SUM)
            elif here.kind in {Kind.SLASH, Kind.FRACTION}:
                levels.append(_Level.QUOTIENT)
            elif not here.prefix:
                count += 1
                levels.append(here.level)
        if here.kind is Kind.OPEN:
            depth += 1
    return min(*levels, _Level.PRODUCT if count > 1 else _Level.ATOM)


def _is_fenced(parts: Sequence[_Part]) -> bool:
    return bool(parts) and parts[0].text == "(" and _level(parts) is _Level.ATOM


def _enclosed(parts: Sequence[_Part], least: _Level, tight: bool) -> str:
    """The text, in brackets unless it holds together at least as tightly as `least`."""
    shown = _join(parts, tight)
    return shown if _level(parts) >= least else f"({shown})"


def _text_part(words: str) -> _Part:
    bare = words.strip()
    return _Part(bare, Kind.TEXT if " " in words or not bare else Kind.ORDINARY)


def _in_alphabet(letters: str, alphabet: str) -> str:
    return "".join(_letter(c, alphabet) for c in letters)


def _letter(char: str, alphabet: str) -> str:
    words = unicodedata.name(char, "").split()
    match words:
        case ["LATIN", size, "LETTER", letter]:
            name = f"{size} {letter}"
        case ["DIGIT", digit]:
            name = f"DIGIT {digit}"
        case _:
            return char
    for prefix in ("", "MATHEMATICAL "):
        try:
            return unicodedata.lookup(f"{prefix}{alphabet} {name}")
        except KeyError:
            continue
    return char


# ---------------------------------------------------------------------------- ASCII

_ASCII: Final = {
    "≤": "<=", "≥": ">=", "≠": "!=", "≰": "not <=", "≮": "not <", "≱": "not >=", "\u0338": "(not)",
    "≈": "~", "≡": "==", "→": "->", "⟶": "->", "←": "<-",
    "↦": "|->", "⇒": "=>", "⟹": "=>", "⇐": "<=", "⟸": "<=", "⇔": "<=>", "⟺": "<=>", "↔": "<->",
    "·": "*", "×": " x ", "⊙": "(.)", "∘": "o", "−": "-", "–": "-", "—": "-", "…": "...",
    "⋯": "...", "‖": "||", "⌊": "floor(", "⌋": ")", "⌈": "ceil(", "⌉": ")", "⟨": "<", "⟩": ">",
    "∈": " in ", "∉": " not in ", "∤": "does not divide", "∣": "|", "∀": "for all ",
    "∃": "exists ", "¬": "not ", "∧": "and", "∨": "or", "∑": "sum", "∏": "prod", "∫": "int",
    "∂": "d", "∇": "grad ", "∞": "inf", "√": "sqrt ", "ᵀ": "^T", "′": "'", "°": "deg",
    "“": '"', "”": '"', "‘": "'", "’": "'", "✓": "ok", "✗": "NO", "─": "-", "±": "+-",
    "∼": "~", "∝": "~", "≪": "<<", "≫": ">>", "⊂": "subset", "⊆": "subset", "∪": "union",
    "∩": "intersect", "⊗": "(x)", "⊕": "(+)", "∅": "{}", "≔": ":=", "\xa0": " ", "⋆": "*",
    "\u0302": "hat", "\u0304": "bar", "\u0303": "tilde", "\u0307": "dot", "\u20d7": "vec",
    "÷": "/", "†": "+", "•": "*", "≅": "~=", "≃": "~=", "∎": "", "□": "",
}  # fmt: skip
_GREEK: Final = re.compile("[Α-Ωα-ωϑϕϵ]")
_RAISED_RUN: Final = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ]+")
_LOWERED_RUN: Final = re.compile("[₀₁₂₃₄₅₆₇₈₉]+")
_LEVELLED: Final = {ord(v): k for k, v in (*_RAISED.items(), *_LOWERED.items())}


def ascii_only(shown: str) -> str:
    """The text in ASCII, for an output that can show nothing else."""
    if shown.isascii():
        return shown
    for mark, run in (("^", _RAISED_RUN), ("_", _LOWERED_RUN)):
        shown = run.sub(lambda found, mark=mark: mark + found[0].translate(_LEVELLED), shown)  # type: ignore[misc]
    composed = unicodedata.normalize("NFC", shown).replace("√(", "sqrt(")
    out = "".join(c if c.isascii() else _ascii_char(c) for c in composed)
    return re.sub(r"(?<=\S)  +", " ", out)


def _ascii_char(char: str) -> str:
    if char in _ASCII:
        return _ASCII[char]
    if _GREEK.match(char):
        name = unicodedata.name(char).removesuffix(" SYMBOL").split()
        word = name[-1].lower().replace("lamda", "lambda")
        return word.capitalize() if "CAPITAL" in name else word
    parts = unicodedata.normalize("NFD", char)
    if len(parts) > 1:
        return "".join(c if c.isascii() else _ascii_char(c) for c in parts)
    if unicodedata.combining(char):
        return ""
    return "".join(c for c in unicodedata.normalize("NFKD", char) if c.isascii()) or "?"
