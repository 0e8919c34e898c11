"""A limit to the time of what a user's file or claim does."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from typing import Any, Final

_LONGEST_TIMER: Final = 1e8


class TimeUp(BaseException):
    """Not an `Exception`, so that a proof script that catches those does not catch it."""


@contextlib.contextmanager
def limited(seconds: float | None) -> Iterator[None]:
    """Raise `TimeUp` after so many seconds, and again should the first one get lost."""
    if seconds is None:
        yield
        return

    def ring(*_: Any) -> None:
        raise TimeUp

    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, min(seconds, _LONGEST_TIMER), 0.5)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
