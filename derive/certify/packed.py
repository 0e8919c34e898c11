"""Steps of proof logs as the text that ``coq/Text.v`` unpacks and ``coq/Run.v`` replays.

Terms and formulas are written out, operation first. A large one that a log needs again is marked
where it first stands, and is from then on its distance back among those marked. They are
written apart from the numbers between them, which makes both shorter: the bytes are deflated (RFC
1951), and nine of them become eleven printable characters.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import repeat
from typing import Final

from derive.certify.deep import KINDS, ZERO, Node, Symbols, is_formula
from derive.kernel.terms import Head, Term

_TERMS: Final = (
    "Num", "Pi", "Free", "Bound", "Add", "Mul", "Opp", "Inv", "Pow", "Fn", "Max", "Min", "RPow",
    "Delta", "TSum", "TProd", "Exp_", "Val", "HFree", "HBound", "Ap", "ApV", "Lam",
    "TDet",
)  # fmt: skip
_FORMULAS: Final = (
    "FEq", "FLe", "FLt", "FInt", "FTrue", "FFalse", "FAnd", "FOr", "FNot", "FImp", "FAll", "FEx",
    "FGrad1", "FGrad2", "FGrad3", "FGrad4",
)  # fmt: skip
_CODE: Final = {name: k for names in (_TERMS, _FORMULAS) for k, name in enumerate(names)}
_RANGES: Final = {"QNum": 0, "QTen": 1, "QFun": 2, "QRan": 3}
#: instead of a term (a formula): one that was marked; behind it, one that is marked with it
_AGAIN: Final = (24, 16)
_MARKED: Final = (25, 17)
_EACH: Final = 18
_BOUND: Final = range(26, 34)
_SMALL: Final = range(34, 46)
_LEAST: Final = -2
_ATOM: Final = 46
#: A term or formula with as many bytes is worth a mark.
LARGE: Final = 12
END: Final = 0
#: the printable characters, with the space in place of the quotation mark
_CHARACTERS: Final = [chr(33 + d) if d != 1 else " " for d in range(94)]
_PAIRS: Final = [b + a for a in _CHARACTERS for b in _CHARACTERS]

Part = int | Node


class Streams:
    """What is written, in pieces: the terms and formulas, and all numbers between them."""

    def __init__(self) -> None:
        self.terms: list[bytes] = []
        self.numbers: list[bytes] = []


class Large:
    """A term or formula that is worth a mark where a log needs it again: what it is made of, in
    turn, and how it stands in the log that counted its uses."""

    __slots__ = ("again", "log", "marked", "parts", "place", "uses")

    def __init__(self, n: Node, parts: list[bytes | Large]) -> None:
        formula = is_formula(n)
        self.parts = parts
        self.again, self.marked = number(_AGAIN[formula]), number(_MARKED[formula])
        self.log = self.place = -1
        self.uses = 0


def characters(*contents: bytes) -> str:
    """The bytes deflated, with codes for each of the contents, as digits of base 94, the least
    significant byte and the least significant digit first."""
    packer = zlib.compressobj(9, wbits=-15)
    packed = b"".join(
        packer.compress(each) + packer.flush(zlib.Z_SYNC_FLUSH) for each in contents[:-1]
    )
    packed += packer.compress(contents[-1]) + packer.flush()
    return "".join(map(_eleven, range(0, len(packed), 9), repeat(packed)))


def _eleven(at: int, packed: bytes) -> str:
    """The digits of nine bytes from a place on."""
    n = int.from_bytes(packed[at : at + 9], "little")
    pairs = []
    for _ in range(5):
        n, pair = divmod(n, 8836)
        pairs.append(_PAIRS[pair])
    return "".join(pairs) + _CHARACTERS[n]


@cache
def number(n: int) -> bytes:
    """Digits of base 64 from byte 192 on, the highest first, then one of base 192."""
    n, low = divmod(n, 192)
    out = bytes([low])
    while n:
        n, digit = divmod(n, 64)
        out = bytes([192 + digit]) + out
    return out


def numbers(parts: Iterable[int]) -> bytes:
    return b"".join(map(number, parts))


#: The operations that have no numbers beside their parts
_BEGIN: Final = {
    op: number(code) for op, code in _CODE.items()
    if op not in ("Num", "Free", "Bound", "Pow", "Fn", "Val", "HFree", "HBound", "FAll", "FEx")
}  # fmt: skip


def _plain(p: bytes | Large) -> list[bytes]:
    """All of it, without marks."""
    return [p] if isinstance(p, bytes) else [b for part in p.parts for b in _plain(part)]


class Writer:
    """The logs of one text. They share the list of their free symbols, which stands before them."""

    def __init__(self, symbols: Symbols) -> None:
        self.symbols = symbols
        self.theorems = 0
        self.logs = 0
        self._parts: list[Part] = []
        self._written = Streams()
        self._atoms: dict[int, int] = {}
        self._head = Streams()
        self._made: dict[int, bytes | Large] = {}
        #: how many are marked in this log
        self._marks = 0

    # ------------------------------------------------------------------ steps

    def theorem(self, k: int) -> int:
        return self.theorems - 1 - k

    def step(self, code: int, parts: Sequence[Part]) -> int:
        """Add a step, and give the number of its theorem."""
        self._parts.append(code)
        self._parts += parts
        self.theorems += 1
        return self.theorems - 1

    def add(self, steps: int, parts: Iterable[Part]) -> None:
        """Add as many steps at once; `parts` are the codes and what stands behind them."""
        self._parts += parts
        self.theorems += steps

    def end(self) -> None:
        """End a log: what follows are the theorems of another."""
        self._marks = 0
        parts = [p if isinstance(p, int) else self._of(p) for p in self._parts]
        for p in parts:
            if isinstance(p, Large):
                self._count(p)
        for p in parts:
            if isinstance(p, int):
                self._written.numbers.append(number(p))
            else:
                self._put(p)
        self._written.numbers.append(number(END))
        self._parts = []
        self.theorems = 0
        self.logs += 1

    def text(self) -> str:
        """How many numbers there are, the numbers, and the terms."""
        head = [number(len(self._atoms)), *self._head.numbers]
        inner = head + self._written.numbers
        terms = b"".join(self._head.terms + self._written.terms)
        return characters(number(len(inner)) + b"".join(inner), terms)

    # ------------------------------------------------------------------ symbols

    def atom(self, x: int, size: Node = ZERO) -> int:
        """The place of a free symbol in the list of them; what is new is added."""
        place = self._atoms.get(x)
        if place is None:
            described = self._described(self.symbols.named[x], size)
            place = self._atoms[x] = len(self._atoms)
            self._head.numbers += map(number, described)
            if described == [KINDS["fin"]]:
                self._head.terms += _plain(self._of(size))
        return place

    def _described(self, s: Term | Head, size: Node) -> list[int]:
        """A kind of numbers, or of a head what it is, and its indices."""
        if isinstance(s, Head):
            return [7 if s.random else 6 if s.arities else 5, s.scalars]
        if s.data[2]:
            return [7, 0]
        if s.children:
            self._of(size)  # so that its own symbols stand before it
        return [KINDS[s.data[1]]]

    # ------------------------------------------------------------------ terms and formulas

    def _count(self, large: Large) -> None:
        """How often this log uses it, and those in it."""
        if large.log == self.logs:
            large.uses += 1
            return
        large.log, large.uses, large.place = self.logs, 1, -1
        for p in large.parts:
            if type(p) is Large:
                self._count(p)

    def _put(self, p: bytes | Large) -> None:
        out = self._written
        if isinstance(p, bytes):
            out.terms.append(p)
            return
        if p.place >= 0:
            out.terms.append(p.again)
            out.numbers.append(number(self._marks - 1 - p.place))
            return
        marked = p.uses > 1
        if marked:
            out.terms.append(p.marked)
        for part in p.parts:
            self._put(part)
        if marked:
            p.place = self._marks
            self._marks += 1

    def _of(self, n: Node) -> bytes | Large:
        """The bytes of a term or formula if it is small."""
        found = self._made.get(id(n))
        if found is not None:
            return found
        begin = _BEGIN.get(n[0])
        parts: Sequence[Node] = n[1:]
        if begin is None:
            codes, parts = self._taken_apart(n)
            begin = numbers(codes)
        made: list[bytes | Large] = [begin]
        for p in parts:
            part, last = self._made.get(id(p)) or self._of(p), made[-1]
            if type(part) is bytes and type(last) is bytes:
                made[-1] = last + part
            else:
                made.append(part)
        first, *more = made
        small = type(first) is bytes and len(first) < LARGE and not more
        whole = self._made[id(n)] = first if small else Large(n, made)
        return whole

    def _taken_apart(self, n: Node) -> tuple[list[int], Sequence[Node]]:
        """The operation and its numbers, and the terms and formulas behind them."""
        op, *data = n
        match op:
            case "Num":
                p, q = data
                if q == 1 and 0 <= p - _LEAST < len(_SMALL):
                    return [_SMALL[p - _LEAST]], []
                return [_CODE[op], int(p < 0), abs(p), q - 1], []
            case "Bound" if data[0] < len(_BOUND):
                return [_BOUND[data[0]]], []
            case "Free":
                return [_ATOM + self.atom(data[0], data[2])], []
            case "HFree":
                return [_CODE[op], self.atom(data[0])], []
            case "Val":
                return self._application(n) or ([_CODE[op]], [data[0]])
            case "FAll" if data[0] == ("QNum", 4):
                return [_EACH], data[1:]
            case "FAll" | "FEx":
                (kind, k), size, body = data
                return [_CODE[op], _RANGES[kind], k], [size, body]
            case _:
                others = [d for d in data if type(d) is not tuple]
                return [_CODE[op], *others], [d for d in data if type(d) is tuple]

    def _application(self, n: Node) -> tuple[list[int], list[Node]] | None:
        """A free symbol with all of its arguments; nothing if it is something else."""
        args: list[Node] = []
        h = n[1]
        if h[0] == "ApV":
            args += [h[3], h[2]]
            h = h[1]
        while h[0] == "Ap":
            args.append(h[2])
            h = h[1]
        if h[0] != "HFree":
            return None
        return [_ATOM + self.atom(h[1])], args[::-1]
