"""Freed memory is kept where the C library can be asked, and nothing else changes."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from numeric import memory

# In a process of its own, because the request cannot be taken back. The peak of resident memory
# does not tell; how often pages are asked for anew does.
FAULTS = """
import resource
import numpy as np
from numeric import keep_freed_memory, softmax

def faults(function):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        function(logits)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

logits = np.random.default_rng(0).standard_normal((300, 1000))
"""
ASKED = """
before = np.exp(logits)
assert keep_freed_memory()
assert keep_freed_memory()
assert (np.exp(logits) == before).all()
kept = faults(np.exp)
assert kept < 200, kept
"""
BY_DEFAULT = """
before = softmax(logits)
kept = faults(softmax)
assert kept < 200, kept
assert (softmax(logits) == before).all()
"""


@pytest.mark.parametrize("script", [ASKED, BY_DEFAULT])
def test_pages_are_not_asked_for_again(script):
    if not memory._is_glibc():
        pytest.skip("the C library is not glibc")
    subprocess.run([sys.executable, "-c", FAULTS + script], check=True)


def test_another_c_library_is_left_alone(monkeypatch):
    def no_such_name(name):
        raise ValueError(name)

    monkeypatch.setattr(memory.os, "confstr", no_such_name, raising=False)
    monkeypatch.setattr(memory.ctypes, "CDLL", None)  # a call would be an error
    assert memory.keep_freed_memory() is False
    monkeypatch.delattr(memory.os, "confstr")
    assert memory.keep_freed_memory() is False


LARGE = (memory._LARGE // 8, 2)  # in float64, twice as long as it has to be


@pytest.fixture
def nothing_kept():
    memory.release_memory()
    yield
    memory.release_memory()


@pytest.mark.usefixtures("nothing_kept")
def test_memory_is_used_again_when_no_view_is_left():
    array = memory.empty(LARGE, np.float64)
    assert array.flags.carray
    place = array.ctypes.data
    part = array[3:5].T
    part[...] = 7
    del array
    other = memory.empty(LARGE, np.float64)
    other[...] = 1
    assert other.ctypes.data != place
    assert (part == 7).all()
    del part
    again = memory.empty(LARGE[::-1], np.float64)
    assert (again.ctypes.data, again.shape) == (place, LARGE[::-1])
    assert memory.empty(LARGE, np.float32).ctypes.data not in (place, other.ctypes.data)


@pytest.mark.usefixtures("nothing_kept")
def test_no_more_than_the_limit_is_kept(monkeypatch):
    size = 8 * np.prod(LARGE)
    monkeypatch.setattr(memory, "_KEPT", 3 * size)
    arrays = [memory.empty(LARGE, np.float64) for _ in range(5)]
    del arrays
    assert memory._kept() == 3 * size
    other = memory.empty((LARGE[0] + 1, 2), np.float64)  # no room beside those, so they go
    assert memory._kept() == 0
    del other
    assert memory._kept() == size + 16
    memory.release_memory()
    assert memory._kept() == 0


@pytest.mark.usefixtures("nothing_kept")
def test_threads_never_share_memory():
    def work(seed):
        rng = np.random.default_rng(seed)
        kept = {}
        for k in range(300):
            rows = LARGE[0] + int(rng.integers(4))
            kept[rng.integers(3)] = array = memory.empty((rows, 2), np.float64)
            array[::997] = tag = 1000 * seed + k
            array[-1] = tag
            for mine in kept.values():
                assert (mine[::997] == mine[-1, 0]).all()
        return len({array.ctypes.data for array in kept.values()}) == len(kept)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(8)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128, np.longdouble])
@pytest.mark.parametrize("shapes", [((3, 5), (5, 2)), ((4, 3, 5), (4, 5, 2)), ((0, 5), (5, 2)),
                                    ((400, 300), (300, 500)), ((3, 0), (0, 2))])  # fmt: skip
def test_products(shapes, dtype):
    left, right = (np.random.default_rng(0).standard_normal(s).astype(dtype) for s in shapes)
    found = memory.matmul(left, right)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, left @ right)
    assert memory.matmul(left, right.real.astype(np.float32)).dtype == dtype


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
