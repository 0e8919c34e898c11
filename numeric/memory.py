"""Memory that is used again: by the process for new arrays, or by name in an `Arena`.

Functions that return new arrays give memory back and take it again all the time. By default the
C library of Linux (glibc) hands a large array back to the kernel the moment it is freed, and the
kernel clears every page of it before it gives it out anew. In a layer at batch 8 that is about a
quarter of the time of forward and backward.
"""

from __future__ import annotations

import ctypes
import math
import os
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from numeric.arrays import Array

#: Names of parameters in malloc.h. -1 is "never" for the first.
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_MAX = -1, -2, -4
_MEBIBYTE = 1 << 20
#: NumPy asks Linux for huge pages in arrays of 4 MiB and more; blocks of memory are such arrays.
_BLOCK, _PAGE, _LINE = 16 * _MEBIBYTE, 2 * _MEBIBYTE, 64
#: Smaller arrays come from the C library, which keeps what they give back in any case.
_LARGE = 256 * 1024
#: So many bytes are kept for later arrays.
_KEPT = 1024 * _MEBIBYTE


def keep_freed_memory() -> bool:
    """Ask the C library to keep what is freed, for the rest of the process.

    The process then stays as large as it once was. Returns whether the library was asked: True
    with glibc, False (and nothing has changed) with any other. Results are the same either way.
    Source: mallopt(3).
    """
    if not _is_glibc():
        return False
    mallopt = ctypes.CDLL(None).mallopt
    # No block of its own for a large array, never a trim, and growth by some arrays at a time.
    wanted = {_MMAP_MAX: 0, _TRIM_THRESHOLD: -1, _TOP_PAD: 64 * _MEBIBYTE}
    return all([mallopt(name, value) == 1 for name, value in wanted.items()])


def _is_glibc() -> bool:
    try:
        return (os.confstr("CS_GNU_LIBC_VERSION") or "").startswith("glibc")
    except (AttributeError, ValueError, OSError):  # Windows, or a C library without that name
        return False


class _Blocks:
    """Pieces of memory side by side, in blocks that begin with a huge page."""

    def __init__(self) -> None:
        self._rest = np.empty(0, np.uint8)
        self._lock = Lock()

    def take(self, size: int) -> Array:
        """So many bytes, from the beginning of a cache line on."""
        if size > _PAGE:  # in a block it might not fit beside the last piece, whose rest is lost
            return _pages(size)[:size]
        with self._lock:
            if size > self._rest.size:
                self._rest = _pages(_BLOCK)
            taken, self._rest = self._rest[:size], self._rest[-(-size // _LINE) * _LINE :]
        return taken

    def drop(self) -> None:
        """Leave the rest of the last block to what has been taken from it."""
        with self._lock:
            self._rest = np.empty(0, np.uint8)


def _pages(size: int) -> Array:
    """At least so many bytes, whole pages from the beginning of one on."""
    pages = -(-size // _PAGE)
    memory = np.empty((pages + 1) * _PAGE, np.uint8)
    start = -memory.ctypes.data % _PAGE
    return memory[start : start + pages * _PAGE]


# ---------------------------------------------------------------------- for any array

_blocks = _Blocks()
#: Pieces of memory that no array uses at the moment, by their size in bytes.
_free: dict[int, list[Array]] = {}


def empty(shape: tuple[int, ...], dtype: npt.DTypeLike) -> Array:
    """As `np.empty`, but a large array takes the memory that one of its size has given back."""
    dtype = np.dtype(dtype)
    size = math.prod(shape) * dtype.itemsize
    if size < _LARGE:
        return np.empty(shape, dtype)
    return np.asarray(_Loan(size, shape, dtype))


def matmul(left: Array, right: Array) -> Array:
    """(..., a, b) @ (..., b, c), whose leading axes agree, in memory of `empty`."""
    shape = (*left.shape[:-1], right.shape[-1])
    return np.matmul(left, right, out=empty(shape, np.result_type(left, right)))


def release_memory() -> None:
    """Give back what is kept for later arrays."""
    _free.clear()
    _blocks.drop()


class _Loan:
    """What an array has its memory from; it gives the memory back when no array needs it any more.

    That may be at any moment and in any thread; to append and to pop cannot be interrupted.
    """

    def __init__(self, size: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        if not _free.get(size) and _kept() + size > _KEPT:
            release_memory()  # it may be of sizes that nobody asks for again
        self._alike = _free.setdefault(size, [])
        try:
            self._memory = self._alike.pop()
        except IndexError:
            self._memory = _blocks.take(size)
        self.__array_interface__ = {
            "version": 3,
            "shape": shape,
            "typestr": dtype.str,
            "data": (self._memory.ctypes.data, False),
        }

    def __del__(self) -> None:
        if _kept() + self._memory.size <= _KEPT:
            self._alike.append(self._memory)


def _kept() -> int:
    """In bytes."""
    return sum(size * len(pieces) for size, pieces in [*_free.items()])


# ---------------------------------------------------------------------- by name


class Arena:
    """Arrays with names.

    An array keeps its place from call to call until a larger one is asked for by its name.
    """

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self._dtype = np.dtype(dtype)
        self._places: dict[str, Array] = {}
        self._blocks = _Blocks()

    def array(self, name: str, *shape: int) -> Array:
        """The array with that name, in that shape; its numbers are those of the last use."""
        size = math.prod(shape)
        found = self._places.get(name)
        if found is None or found.size < size:
            memory = self._blocks.take(size * self._dtype.itemsize)
            found = self._places[name] = memory.view(self._dtype)
        return found[:size].reshape(shape)

    def holds(self, array: Array) -> bool:
        """Whether some of the array lies in it."""
        return any(np.may_share_memory(array, place) for place in self._places.values())
