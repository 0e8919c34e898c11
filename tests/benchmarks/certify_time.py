"""How much CPU time the writing of Coq sources takes, once logs and claims are at hand.

Each run is a process of its own that reads kept proofs, so `derive certify` has to have run before.
Counted is what lies between them and the written files: reading the logs, statements, texts.

    python -m tests.benchmarks.certify_time --runs 10
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def measured() -> float:
    from derive import cli, store
    from derive.certify import project

    kept = store.open_store()
    results = [r for r in cli._settled([], kept=kept, twins=False) if r.replayed]
    logs = [(r.id, r.statement, kept.entries[r.id]["logs"]) for r in results]
    with tempfile.TemporaryDirectory() as out:
        start = time.process_time()
        made = project.build([(i, said, map(json.loads, texts)) for i, said, texts in logs])
        project.write(made, Path(out))
        return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--once", action="store_true", help="one run, in this process")
    args = parser.parse_args()
    if args.once:
        print(measured())
        return
    command = [sys.executable, "-m", "tests.benchmarks.certify_time", "--once"]
    loading = "import time, sympy, numpy; print(time.process_time())"
    for name, asked in (("writing", command), ("loading", [sys.executable, "-c", loading])):
        times = [float(subprocess.check_output(asked)) for _ in range(args.runs)]
        print(f"{name}: best {min(times):.2f} s, median {statistics.median(times):.2f} s of CPU")


if __name__ == "__main__":
    main()
