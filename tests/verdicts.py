"""What a test says of a settled claim."""

from __future__ import annotations

from derive.kernel.check import check
from derive.result import Settled, Verdict


def assert_settled(settled: Settled, verdict: Verdict) -> None:
    """The claim has that verdict, and every log of it replays."""
    assert settled.result.verdict is verdict, settled.result.reason
    assert settled.logs
    for log in settled.logs:
        check(log)
