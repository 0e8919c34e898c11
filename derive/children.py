"""Forked processes that do not outlive the one that they work for."""

from __future__ import annotations

import multiprocessing
import os
import threading


def end_with_parent() -> None:
    """To be called in a forked process: it ends when its parent does, in whatever way.

    Without that, one that writes to its parent would wait for ever: it holds, as its neighbours do,
    copies of the very ends that the parent has left.
    """
    parent = multiprocessing.parent_process()

    def wait() -> None:
        assert parent is not None
        parent.join()
        os._exit(1)

    if parent is not None:
        threading.Thread(target=wait, daemon=True).start()
