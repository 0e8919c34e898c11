"""Freed memory is kept where the C library can be asked, and nothing else changes."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from numeric import memory

# In a process of its own, because the request cannot be taken back. The peak of resident memory
# does not tell; how often pages are asked for anew does.
SCRIPT = """
import resource
import numpy as np
from numeric import keep_freed_memory, softmax

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        softmax(logits)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

logits = np.random.default_rng(0).standard_normal((300, 1000))
before = softmax(logits)
assert keep_freed_memory()
assert keep_freed_memory()
assert (softmax(logits) == before).all()
kept = faults()
assert kept < 200, kept
"""


def test_pages_are_not_asked_for_again():
    if not memory._is_glibc():
        pytest.skip("the C library is not glibc")
    subprocess.run([sys.executable, "-c", SCRIPT], check=True)


def test_another_c_library_is_left_alone(monkeypatch):
    def no_such_name(name):
        raise ValueError(name)

    monkeypatch.setattr(memory.os, "confstr", no_such_name, raising=False)
    monkeypatch.setattr(memory.ctypes, "CDLL", None)  # a call would be an error
    assert memory.keep_freed_memory() is False
    monkeypatch.delattr(memory.os, "confstr")
    assert memory.keep_freed_memory() is False


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arrays_of_an_arena_lie_apart_and_keep_their_places(dtype):
    rng = np.random.default_rng(0)
    arena = memory.Arena(dtype)
    shapes = {f"array {k}": tuple(rng.integers(0, 200, rng.integers(0, 4))) for k in range(40)}
    shapes["longer than a block"] = (memory._BLOCK // np.dtype(dtype).itemsize + 1,)
    arrays = {name: arena.array(name, *shape) for name, shape in shapes.items()}
    for k, array in enumerate(arrays.values()):
        array[...] = k
    for k, (name, array) in enumerate(arrays.items()):
        assert (array.shape, array.dtype) == (shapes[name], dtype)
        assert array.ctypes.data % 64 == 0 or not array.size
        assert (array == k).all()
        assert arena.array(name, *shapes[name]).ctypes.data == array.ctypes.data
        assert arena.holds(array) or not array.size
    assert not arena.holds(np.empty(3, dtype))


def test_an_array_of_an_arena_moves_when_it_grows():
    arena = memory.Arena(np.float64)
    small, other = arena.array("a", 2, 3), arena.array("b", 4)
    small[...], other[...] = 1, 2
    large = arena.array("a", 3, 3)
    large[...] = 3
    assert (other == 2).all()
    assert np.shares_memory(arena.array("a", 5), large)
