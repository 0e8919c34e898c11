r"""LaTeX math -> pieces.  Reads structure (groups, arguments, scripts, fences, environments) and
estimates widths; it never rewrites: joined, the pieces give the tokens of the formula back."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import Final

from derive.report import vocabulary
from derive.report.errors import MathSyntax
from derive.report.pieces import Kind, Piece, source_of, tallest, width, with_scripts
from derive.report.tokens import TEXT_COMMANDS, is_command_word, join, tokenize
from derive.report.widths import MEDIUM, SCRIPT, THICK, THIN, token_width, upright_width

_SPACE_AROUND: Final = {
    Kind.RELATION: 2 * THICK,
    Kind.WEAK_RELATION: 2 * THICK,
    Kind.ARROW: 2 * THICK,
    Kind.CONNECTIVE: 2 * MEDIUM,
    Kind.SUM: 2 * MEDIUM,
    Kind.PRODUCT: 2 * MEDIUM,
    Kind.PUNCTUATION: THIN,
    Kind.OPERATOR: THIN,
    Kind.BIG_OPERATOR: THIN,
    Kind.FRACTION: 0.24,
}
_FIXED_SIZE: Final = ("big", "Big", "Bigg")
_LONG_TEXT_EM: Final = 8.0
_INNER_FRACTION: Final = 0.85
"""Small type is wider for its size than large type."""
_ENDS: Final = frozenset({"}", "&", "\\\\", r"\right", r"\end", r"\middle"})
_NOT_BOUND: Final = frozenset({
    Kind.ARROW, Kind.CONNECTIVE, Kind.PUNCTUATION, Kind.WIDE_SPACE, Kind.BIG_OPERATOR,
})  # fmt: skip
"""What does not stand between a quantifier and its colon."""


def read(latex: str) -> list[Piece]:
    """The pieces of a formula; refuses unbalanced groups and alignment outside environments."""
    return list(_read(latex))


@cache
def _read(latex: str) -> tuple[Piece, ...]:
    reader = _Reader(tokenize(latex), latex)
    pieces = reader.pieces(until=frozenset())
    if reader.peek() is not None:
        raise reader.refusal(f"unexpected {reader.peek()}")
    return tuple(pieces)


class _Reader:
    """A cursor over the tokens of one formula; every method reads one construct and moves on."""

    def __init__(self, tokens: list[str], latex: str) -> None:
        self._tokens = tokens
        self._at = 0
        self._latex = latex
        self._fences = 0
        self._in_text_style = 0

    def refusal(self, why: str) -> MathSyntax:
        return MathSyntax(f"{why} in the formula {self._latex}")

    def peek(self) -> str | None:
        """The next token that is not white space; the cursor stands on it afterwards."""
        while self._at < len(self._tokens) and self._tokens[self._at] == " ":
            self._at += 1
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def take(self, expected: str | None = None) -> str:
        token = self.peek()
        if token is None:
            raise self.refusal(f"{expected or 'something'} is missing at the end")
        if expected is not None and token != expected:
            raise self.refusal(f"{token} stands where {expected} should")
        self._at += 1
        return token

    def pieces(self, until: frozenset[str]) -> list[Piece]:
        """Everything up to one of the tokens `until`, or up to the end."""
        found: list[Piece] = []
        while (token := self.peek()) is not None and token not in until:
            found.extend(self._construct(token))
        return found

    def _construct(self, token: str) -> list[Piece]:
        if token in _ENDS:
            raise self.refusal(f"unexpected {token}")
        if token == r"\left":
            return self._fence(opening="", closing="")
        if token == "{" and self._wraps_a_fence():
            return self._wrapped_fence()
        if token in TEXT_COMMANDS:
            return self._text()
        if token in vocabulary.QUANTIFIERS:
            return [self._quantifier()]
        return [self._scripted(self._nucleus())]

    # -- quantifiers -------------------------------------------------------------------------

    def _quantifier(self) -> Piece:
        r"""``\forall i < n:`` up to its colon as one piece; without a colon the sign alone."""
        start, fences = self._at, self._fences
        bound = [self._scripted(self._nucleus())]
        inside = 0
        while (token := self.peek()) != ":" or self._tokens[self._at + 1 :][:1] == ["="]:
            kind = vocabulary.KIND_OF.get(token or "")
            inside += {Kind.OPEN: 1, Kind.CLOSE: -1}.get(kind or Kind.ORDINARY, 0)
            if token is None or token in _ENDS or kind in _NOT_BOUND or inside < 0:
                self._at, self._fences = start, fences
                return self._scripted(self._nucleus())
            bound += self._construct(token)
        bound.append(self._nucleus())
        return Piece(source_of(bound), Kind.QUANTIFIER, width(bound), tallest(bound))

    # -- fences ------------------------------------------------------------------------------

    def _fence(self, opening: str, closing: str) -> list[Piece]:
        r"""``\left( ... \right)`` with scripts; `opening` and `closing` are braces around it."""
        number = self._fences
        self._fences += 1
        self.take(r"\left")
        marks = [self.take()]
        parts: list[list[Piece]] = []
        while True:
            parts.append(self.pieces(until=frozenset({r"\right", r"\middle"})))
            command = self.take()
            marks.append(self.take())
            if command == r"\right":
                break
        if closing:
            self.take(closing)
        tall = max(tallest(part) for part in parts)
        open_piece, *middle, close_piece = _delimiters(marks, tall, number)
        found = [replace(open_piece, source=opening + open_piece.source)]
        for part, delimiter in zip(parts, [*middle, None], strict=True):
            found += part if delimiter is None else [*part, delimiter]
        closed = replace(close_piece, source=close_piece.source + closing)
        return [*found, self._scripted(closed)]

    def _wraps_a_fence(self) -> bool:
        r"""Whether ``{\left( ... \right)}`` starts here, as SymPy writes function arguments."""
        rest = [token for token in self._tokens[self._at :] if token != " "]
        if rest[1:2] != [r"\left"]:
            return False
        braces = lefts = 0
        for place, token in enumerate(rest):
            braces += {"{": 1, "}": -1}.get(token, 0)
            lefts += {r"\left": 1, r"\right": -1}.get(token, 0)
            if token == r"\right" and lefts == 0:
                return braces == 1 and rest[place + 2 : place + 3] == ["}"]
        return False

    def _wrapped_fence(self) -> list[Piece]:
        self.take("{")
        return self._fence(opening="{", closing="}")

    # -- text --------------------------------------------------------------------------------

    def _text(self) -> list[Piece]:
        r"""``\text{some words}``: one piece, or one piece a word when it is long."""
        start = self._at
        command = self.take()
        body = self._verbatim_group()
        piece = Piece(join(self._tokens[start : self._at]), Kind.TEXT, upright_width(body))
        scripted = self._scripted(piece)
        plain = command == r"\text" and not re.search(r"[{}$\\]", body)
        if scripted is piece and plain and piece.em > _LONG_TEXT_EM:
            return _words(body)
        return [scripted]

    def _verbatim_group(self) -> str:
        """The source between the braces of a group, white space included."""
        self.take("{")
        start, depth = self._at, 1
        while depth:
            if self._at >= len(self._tokens):
                raise self.refusal("a brace is not closed")
            depth += {"{": 1, "}": -1}.get(self._tokens[self._at], 0)
            self._at += 1
        return "".join(self._tokens[start : self._at - 1])

    # -- single pieces -----------------------------------------------------------------------

    def _nucleus(self) -> Piece:
        start = self._at
        token = self.take()
        kind = vocabulary.KIND_OF.get(token, Kind.ORDINARY)
        em, tall = token_width(token), 0
        if token == "{":
            self._at -= 1
            em, tall, _ = self._argument()
        elif token == ":" and self.peek() == "=":
            self.take()
            kind, em = Kind.RELATION, 1.06
        elif token == r"\begin":
            em, tall = self._environment(), 2
        elif token in vocabulary.TWO_ARGUMENTS:
            kind, em, tall = self._two_arguments(token)
        elif token == r"\substack":
            em = self._stack()
        elif token == r"\sqrt":
            em, tall = self._root()
        elif token in vocabulary.SIZES:
            kind, em = self._sized(token)
        elif token == r"\not":
            kind, em = Kind.RELATION, token_width(self.take())
        elif token in vocabulary.ONE_ARGUMENT:
            em, tall, _ = self._argument()
            em = 1.15 * em + 0.1
        elif token in vocabulary.UPRIGHT:
            em = self._upright()
            kind = Kind.OPERATOR if token.startswith(r"\operatorname") else kind
        elif token in vocabulary.FUNCTIONS:
            em = upright_width(token[1:])
        elif is_command_word(token) and token not in vocabulary.KIND_OF:
            em, tall = self._unknown_command(em)
        if token in vocabulary.BIG_OPERATORS:
            tall = 2
        source = join(self._tokens[start : self._at])
        return Piece(source, kind, em + _SPACE_AROUND.get(kind, 0.0), tall)

    def _argument(self) -> tuple[float, int, list[Piece]]:
        """Width, tallness and pieces of one argument: a group or a single construct."""
        if self.peek() != "{":
            self._split_number()
            found = [self._nucleus()]
        else:
            self.take("{")
            found = self.pieces(until=frozenset({"}"}))
            self.take("}")
        return width(found), tallest(found), found

    def _upright(self) -> float:
        r"""Width of ``\mathrm{name}`` and its like; without braces a single letter."""
        if self.peek() == "{":
            return upright_width(self._verbatim_group())
        return upright_width(self.take())

    def _split_number(self) -> None:
        r"""Without braces an argument is one digit: ``\frac12`` is one half."""
        token = self._tokens[self._at] if self._at < len(self._tokens) else ""
        if token[:1].isdigit() and len(token) > 1:
            self._tokens[self._at : self._at + 1] = [token[0], token[1:]]

    def _two_arguments(self, token: str) -> tuple[Kind, float, int]:
        fraction = token in vocabulary.FRACTIONS
        self._in_text_style += fraction
        upper_em, upper_tall, _ = self._argument()
        lower_em, lower_tall, lower = self._argument()
        self._in_text_style -= fraction
        if fraction:
            parentheses = 1.3 if "binom" in token else 0.0
            tall = 2 if max(upper_tall, lower_tall) else 1
            inner = self._in_text_style > 0 and not token.startswith(r"\d")
            em = max(upper_em, lower_em) * (_INNER_FRACTION if inner else 1.0)
            return Kind.FRACTION, em + parentheses, tall
        kind = lower[0].kind if lower else Kind.ORDINARY
        return kind, max(upper_em * SCRIPT, lower_em), 1

    def _root(self) -> tuple[float, int]:
        if self.peek() == "[":
            self.take("[")
            self.pieces(until=frozenset({"]"}))
            self.take("]")
        em, tall, _ = self._argument()
        return em + 0.95, tall

    def _sized(self, token: str) -> tuple[Kind, float]:
        mark = self.take()
        natural = vocabulary.KIND_OF.get(mark, Kind.SLASH)
        kind = {"l": Kind.OPEN, "r": Kind.CLOSE, "m": Kind.SLASH}.get(token[-1], natural)
        return kind, 0.8

    def _unknown_command(self, symbol_em: float) -> tuple[float, int]:
        """A symbol, or a command such as an accent or a font with the groups that follow it."""
        if self.peek() != "{":
            return symbol_em, 0
        em, tall = 0.1, 0
        while self.peek() == "{":
            group_em, group_tall, _ = self._argument()
            em, tall = em + 1.15 * group_em, max(tall, group_tall)
        return em, tall

    def _stack(self) -> float:
        r"""Width of ``\substack{first \\ second}``: its widest line."""
        self.take("{")
        ends = frozenset({"\\\\", "}"})
        widest = width(self.pieces(until=ends))
        while self.take() != "}":
            widest = max(widest, width(self.pieces(until=ends)))
        return widest

    def _environment(self) -> float:
        """Width of a matrix, `cases` and the like: the widest cell of every column."""
        name = self._verbatim_group()
        if name == "array":
            self._verbatim_group()
        ends = frozenset({"&", "\\\\", r"\end"})
        self._in_text_style += 1
        columns: list[float] = []
        column = 0
        while True:
            em = width(self.pieces(until=ends))
            columns += [0.0] * (column + 1 - len(columns))
            columns[column] = max(columns[column], em)
            token = self.take()
            if token == r"\end":
                break
            column = column + 1 if token == "&" else 0
            if token != "&" and self.peek() == "[":
                self._row_gap()
        self._in_text_style -= 1
        if self._verbatim_group() != name:
            raise self.refusal(f"\\begin{{{name}}} is closed by another environment")
        return sum(columns) + len(columns) + 1.6

    def _row_gap(self) -> None:
        r"""The ``[2pt]`` after ``\\``."""
        while self.take() != "]":
            pass

    # -- scripts -----------------------------------------------------------------------------

    def _scripted(self, piece: Piece) -> Piece:
        r"""`piece` with the ``^``, ``_``, primes, ``!`` and ``\limits`` that follow it."""
        start = self._at
        above = below = beside = 0.0
        end = start
        while (token := self.peek()) is not None:
            if token in {"^", "_"}:
                self.take()
                em, _, _ = self._argument()
                above, below = (em, below) if token == "^" else (above, em)
            elif token in {"'", "!"}:
                self.take()
                beside += 0.3
            elif token in {r"\limits", r"\nolimits"}:
                self.take()
            else:
                break
            end = self._at
        self._at = end
        if end == start:
            return piece
        command = re.match(r"\\operatorname\*|\\[A-Za-z]+", piece.source)
        limits = (
            command is not None and command[0] in vocabulary.WITH_LIMITS and not self._in_text_style
        )
        script_em = SCRIPT * max(above, below) + (0.05 if max(above, below) else 0.0) + beside
        return with_scripts(piece, join(self._tokens[start:end]), script_em, limits=limits)


def _delimiters(marks: list[str], tall: int, fence: int) -> list[Piece]:
    """The pieces for a pair of delimiters and whatever stands between them, such as a bar."""
    commands = [r"\left", *[r"\middle"] * (len(marks) - 2), r"\right"]
    kinds = {r"\left": Kind.OPEN, r"\middle": Kind.SLASH, r"\right": Kind.CLOSE}
    sides = {r"\left": "l", r"\middle": "m", r"\right": "r"}
    size = _FIXED_SIZE[tall]
    return [
        Piece(
            source=command + mark,
            kind=kinds[command],
            em=0.12 if mark == "." else 0.5 + 0.13 * tall,
            tall=tall,
            fence=fence,
            fixed=rf"\{size}{sides[command]}" + mark,
        )
        for command, mark in zip(commands, marks, strict=True)
    ]


def _words(body: str) -> list[Piece]:
    """One piece of text a word, glued to the word before."""
    words = re.findall(r"\S+\s*|\s+", body)
    return [
        Piece(rf"\text{{{word}}}", Kind.TEXT, upright_width(word), glued=place > 0)
        for place, word in enumerate(words)
    ]
