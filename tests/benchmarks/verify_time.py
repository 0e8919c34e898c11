"""Whole processes, paired: ``derive verify`` against ``import sympy, numpy``.

    python -m tests.benchmarks.verify_time [--runs N] [--json -]

Runs the two commands in turn, so that a drift of the machine's speed meets both, and prints the
medians of wall-clock times and of their ratio pair by pair.  It reports and judges nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time

COMMANDS = {
    "import": [sys.executable, "-c", "import sympy, numpy"],
    "verify": [sys.executable, "-m", "derive", "verify", "--json", "-"],
}


def seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


def measure(runs: int) -> dict[str, object]:
    for command in COMMANDS.values():  # compiled files and the file cache
        seconds(command)
    pairs = [(seconds(COMMANDS["import"]), seconds(COMMANDS["verify"])) for _ in range(runs)]
    return {
        "runs": runs,
        "import_seconds": round(statistics.median(a for a, _ in pairs), 3),
        "verify_seconds": round(statistics.median(b for _, b in pairs), 3),
        "ratio": round(statistics.median(b / a for a, b in pairs), 2),
        "slowest_proofs": slowest(5),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
    }


def slowest(count: int) -> list[tuple[str, float]]:
    out = subprocess.run(COMMANDS["verify"], check=True, capture_output=True, text=True).stdout
    claims = json.loads(out)["claims"]
    times = sorted(((c["seconds"]["symbolic"], c["id"]) for c in claims), reverse=True)
    return [(i, round(s, 4)) for s, i in times[:count]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=11)
    parser.add_argument("--json", choices=["-"])
    args = parser.parse_args()
    result = measure(args.runs)
    if args.json:
        print(json.dumps(result, indent=2))
        return
    for key, value in result.items():
        print(f"{key:16} {value}")


if __name__ == "__main__":
    main()
