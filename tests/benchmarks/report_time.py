"""Whole processes, in turn: ``derive report`` (LaTeX, HTML, pictures) against ``derive verify``.

    python -m tests.benchmarks.report_time [--runs N]

Both from the second run on, when proofs, mutations, pictures and what was made of formulas are
kept.  Medians of the wall-clock and CPU times, all processes together, and of the differences
within each turn are printed.  It judges nothing.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

DERIVE = [sys.executable, "-m", "derive"]


def seconds(command: list[str]) -> tuple[float, float]:
    """Wall-clock and CPU time of the command and all that it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "report")
        commands = {"verify": [*DERIVE, "verify"], "report": [*DERIVE, "report", "--out", out]}
        for command in commands.values():  # what is kept
            seconds(command)
        turns = [{name: seconds(c) for name, c in commands.items()} for _ in range(runs)]
        size = os.path.getsize(os.path.join(out, "report.html"))
    for at, kind in enumerate(("wall-clock", "CPU")):
        for name in commands:
            print(f"{name} {kind:10} {statistics.median(t[name][at] for t in turns):6.2f} s")
        more = statistics.median(t["report"][at] - t["verify"][at] for t in turns)
        print(f"beyond {kind:10} {more:6.2f} s")
    print(f"report.html {size} bytes")


if __name__ == "__main__":
    main()
