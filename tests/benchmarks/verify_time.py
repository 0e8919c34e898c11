"""Whole processes, in turn: ``derive verify`` against ``import sympy, numpy``.

    python -m tests.benchmarks.verify_time [--runs N] [--json -]

``families`` are the five topics of `FAMILIES`, ``all`` is every claim, ``proofs`` is every claim
without its twin.  ``_fresh`` finds every proof (``--fresh``); without it the logs that the package
has held since it was built, or that were found before, are replayed, and only that and the twins
are computed.  The commands run in turn, so that a drift of the machine's speed meets all of them;
the medians of wall-clock times and of the ratios within each turn are printed.  It judges nothing.
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

VERIFY = [sys.executable, "-m", "derive", "verify", "--json", "-"]
#: parameter totals, head width, position encoding, residual gradient, root of the key width
FAMILIES = [f"{t}/*" for t in
            ("parameters", "head-width", "positional-encoding", "residual", "scaling")]  # fmt: skip
COMMANDS = {
    "import": [sys.executable, "-c", "import sympy, numpy"],
    "families_fresh": [*VERIFY, "--fresh", *FAMILIES],
    "families": [*VERIFY, *FAMILIES],
    "all_fresh": [*VERIFY, "--fresh"],
    "all": VERIFY,
    "proofs": [*VERIFY, "--no-twins"],
}


def seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


def measure(runs: int) -> dict[str, object]:
    for command in COMMANDS.values():  # compiled files, the file cache and the kept proofs
        seconds(command)
    turns = [{name: seconds(c) for name, c in COMMANDS.items()} for _ in range(runs)]
    out: dict[str, object] = {"runs": runs}
    for name in COMMANDS:
        out[f"{name}_seconds"] = round(statistics.median(t[name] for t in turns), 3)
    for name in [n for n in COMMANDS if n != "import"]:
        out[f"{name}_ratio"] = round(statistics.median(t[name] / t["import"] for t in turns), 2)
    return {
        **out,
        "slowest_proofs": slowest(5),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
    }


def slowest(count: int) -> list[tuple[str, float]]:
    out = subprocess.run(COMMANDS["all_fresh"], check=True, capture_output=True, text=True).stdout
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
        print(f"{key:22} {value}")


if __name__ == "__main__":
    main()
