"""Freed memory is kept where the C library can be asked, and nothing else changes."""

from __future__ import annotations

import subprocess
import sys

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
