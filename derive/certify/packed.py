"""Steps of proof logs as the text that ``coq/Text.v`` unpacks and ``coq/Run.v`` replays.

Terms and formulas are written out, operation first. A large one that a log needs again is marked
where it first stands, and is from then on its distance back among those marked. The bytes are
deflated (RFC 1951), and four of them become five printable characters.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, Final

from derive.certify.deep import KINDS, ZERO, Node, Symbols
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
LARGE: Final = 14
END: Final = 0
#: base64's alphabet of 85 characters becomes the 85 after the quotation mark
_CHARACTERS: Final = bytes.maketrans(
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~",
    bytes(range(35, 120)),
)

Part = int | Node


def characters(contents: bytes) -> str:
    """The bytes deflated, least significant byte first, as digits of base 85 from "#" on."""
    packer = zlib.compressobj(9, wbits=-15)
    packed = packer.compress(contents) + packer.flush()
    packed += bytes(-len(packed) % 4)
    words = struct.unpack(f"<{len(packed) // 4}I", packed)
    return base64.b85encode(struct.pack(f">{len(words)}I", *words)).translate(_CHARACTERS).decode()


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


class Writer:
    """The logs of one text. They share the list of their free symbols, which stands before them."""

    def __init__(self, symbols: Symbols) -> None:
        self.symbols = symbols
        self.theorems = 0
        self.logs = 0
        self._steps: list[tuple[int, Sequence[Part]]] = []
        self._out: list[bytes] = []
        self._atoms: dict[int, int] = {}
        self._head: list[bytes] = []
        #: of small nodes the bytes; of large ones the parts, of which the small ones are bytes
        self._small: dict[int, bytes | None] = {}
        self._large: dict[int, list[bytes | Node]] = {}

    # ------------------------------------------------------------------ steps

    def theorem(self, k: int) -> int:
        return self.theorems - 1 - k

    def step(self, code: int, parts: Sequence[Part]) -> int:
        """Add a step, and give the number of its theorem."""
        self._steps.append((code, parts))
        self.theorems += 1
        return self.theorems - 1

    def end(self) -> None:
        """End a log: what follows are the theorems of another."""
        uses: dict[int, int] = {}
        for _, parts in self._steps:
            for p in parts:
                if type(p) is tuple:
                    self._count(p, uses)
        places: dict[int, int] = {}
        for code, parts in self._steps:
            self._out.append(number(code))
            for p in parts:
                if type(p) is tuple:
                    self._put(p, uses, places)
                else:
                    self._out.append(number(p))
        self._out.append(number(END))
        self._steps = []
        self.theorems = 0
        self.logs += 1

    def drop(self) -> None:
        """Forget the steps of the log that is being written."""
        self._steps = []

    def text(self) -> str:
        return characters(b"".join([number(len(self._head)), *self._head, *self._out]))

    # ------------------------------------------------------------------ symbols

    def atom(self, x: int, size: Node = ZERO) -> int:
        """The place of a free symbol in the list of them; what is new is added."""
        place = self._atoms.get(x)
        if place is None:
            described = self._described(self.symbols.named[x], size)
            place = self._atoms[x] = len(self._head)
            self._head.append(described)
        return place

    def _described(self, s: Term | Head, size: Node) -> bytes:
        """A kind of numbers, with the size of a range; or of a head what it is, and its indices."""
        if isinstance(s, Head):
            return numbers([7 if s.random else 6 if s.arities else 5, s.scalars])
        if s.data[2]:
            return numbers([7, 0])
        kind = KINDS[s.data[1]]
        return number(kind) + (self._written(size) if kind == KINDS["fin"] else b"")

    # ------------------------------------------------------------------ terms and formulas

    def _written(self, n: Node) -> bytes:
        """All of a term, without marks."""
        small = self._bytes(n)
        if small is not None:
            return small
        return b"".join(p if isinstance(p, bytes) else self._written(p) for p in self._large[id(n)])

    def _count(self, n: Node, uses: dict[int, int]) -> None:
        if self._bytes(n) is None:
            k = uses[id(n)] = uses.get(id(n), 0) + 1
            if k == 1:
                for p in self._large[id(n)]:
                    if type(p) is tuple:
                        self._count(p, uses)

    def _put(self, n: Node, uses: dict[int, int], places: dict[int, int]) -> None:
        small = self._bytes(n)
        if small is not None:
            self._out.append(small)
            return
        formula = n[0][0] == "F" and n[0] not in ("Free", "Fn")
        place = places.get(id(n))
        if place is not None:
            self._out.append(numbers([_AGAIN[formula], len(places) - 1 - place]))
            return
        if uses[id(n)] > 1:
            self._out.append(number(_MARKED[formula]))
        for p in self._large[id(n)]:
            if type(p) is tuple:
                self._put(p, uses, places)
            else:
                self._out.append(p)  # type: ignore[arg-type]
        if uses[id(n)] > 1:
            places[id(n)] = len(places)

    def _bytes(self, n: Node) -> bytes | None:
        """A term or formula if it is small."""
        try:
            return self._small[id(n)]
        except KeyError:
            pass
        pieces: list[bytes | Node] = []
        total = 0
        for p in self._parts(n):
            piece = number(p) if type(p) is int else self._bytes(p) or p
            total += len(piece) if type(piece) is bytes else LARGE
            pieces.append(piece)
        small = None
        if total < LARGE:
            small = b"".join(pieces)  # type: ignore[arg-type]
        else:
            self._large[id(n)] = _joined(pieces)
        self._small[id(n)] = small
        return small

    def _parts(self, n: Node) -> list[Any]:
        op, *data = n
        match op:
            case "Num":
                p, q = data
                if q == 1 and 0 <= p - _LEAST < len(_SMALL):
                    return [_SMALL[p - _LEAST]]
                return [_CODE[op], int(p < 0), abs(p), q - 1]
            case "Bound" if data[0] < len(_BOUND):
                return [_BOUND[data[0]]]
            case "Free":
                return [_ATOM + self.atom(data[0], data[2])]
            case "HFree":
                return [_CODE[op], self.atom(data[0])]
            case "Val":
                return self._application(n) or [_CODE[op], data[0]]
            case "FAll" if data[0] == ("QNum", 4):
                return [_EACH, *data[1:]]
            case "FAll" | "FEx":
                (kind, k), size, body = data
                return [_CODE[op], _RANGES[kind], k, size, body]
            case _:
                return [_CODE[op], *map(_part, data)]

    def _application(self, n: Node) -> list[Any]:
        """A free symbol with all of its arguments; nothing if it is something else."""
        args: list[Any] = []
        h = n[1]
        if h[0] == "ApV":
            args += [h[3], h[2]]
            h = h[1]
        while h[0] == "Ap":
            args.append(h[2])
            h = h[1]
        if h[0] != "HFree":
            return []
        return [_ATOM + self.atom(h[1]), *reversed(args)]


def _part(d: Any) -> Any:
    return d if type(d) is tuple else int(d)


def _joined(pieces: Sequence[bytes | Node]) -> list[bytes | Node]:
    """The pieces, with neighbouring bytes together."""
    out: list[bytes | Node] = []
    for p in pieces:
        if out and type(p) is bytes and type(out[-1]) is bytes:
            out[-1] += p
        else:
            out.append(p)
    return out
