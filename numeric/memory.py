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

import numpy as np
import numpy.typing as npt

from numeric.arrays import Array

#: Names of parameters in malloc.h. -1 is "never" for the first.
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_MAX = -1, -2, -4
_MEBIBYTE = 1 << 20
#: NumPy asks Linux for huge pages (2 MiB) in arrays of 4 MiB and more; an arena takes this much.
_BLOCK, _PAGE, _LINE = 16 * _MEBIBYTE, 2 * _MEBIBYTE, 64


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


class Arena:
    """Arrays with names, side by side in large blocks, where they lie on huge pages together.

    An array keeps its place from call to call until a larger one is asked for by its name.
    """

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self._dtype = np.dtype(dtype)
        self._places: dict[str, Array] = {}
        self._free = np.empty(0, self._dtype)
        self._blocks: list[Array] = []

    def array(self, name: str, *shape: int) -> Array:
        """The array with that name, in that shape; its numbers are those of the last use."""
        size = math.prod(shape)
        found = self._places.get(name)
        if found is None or found.size < size:
            found = self._places[name] = self._take(size)
        return found[:size].reshape(shape)

    def holds(self, array: Array) -> bool:
        """Whether some of the array lies in it."""
        return any(np.may_share_memory(array, block) for block in self._blocks)

    def _take(self, size: int) -> Array:
        if size > self._free.size:
            self._free = self._block(size)
        line = _LINE // self._dtype.itemsize
        taken, self._free = self._free[:size], self._free[-(-size // line) * line :]
        return taken

    def _block(self, size: int) -> Array:
        """At least so many numbers, and up to the end of a page."""
        pages = -(-max(size * self._dtype.itemsize, _BLOCK) // _PAGE)
        memory = np.empty((pages + 1) * _PAGE, np.uint8)
        start = -memory.ctypes.data % _PAGE
        self._blocks.append(memory)
        return memory[start : start + pages * _PAGE].view(self._dtype)
