"""Attention over long inputs, forward and backward: blockwise against all scores at once.

    python -m tests.benchmarks.long_attention [--lengths 2048 4096 8192 16384] [--json -]

d_model 512, h 8 (so queries, keys and values are (8, n, 64)), float32.  ``blockwise`` is
`blockwise_attention` and its vjp, ``plain`` is `scaled_dot_product_attention` with its pullback, up
to a length at which its scores still fit.  Seconds are wall-clock times of one run; peak memory is
what the process needs on top of its inputs (Linux).  Every measurement gets a process of its own
with the environment of `encoder_layer`.  It judges nothing.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np

from tests.benchmarks.encoder_layer import Step, in_a_process, peak_above_inputs, seconds

D, H = 512, 8
LENGTHS = (2048, 4096, 8192, 16384)
#: Beyond it the scores of `plain` take several gigabytes.
LONGEST_PLAIN = 4096
MODULE = "tests.benchmarks.long_attention"


def inputs(n: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(0)
    return tuple(rng.standard_normal((H, n, D // H), dtype=np.float32) for _ in range(4))


def blockwise(n: int) -> Step:
    from numeric import blockwise_attention, blockwise_attention_vjp

    q, k, v, cotangent = inputs(n)

    def both() -> None:
        blockwise_attention(q, k, v)
        blockwise_attention_vjp(q, k, v, cotangent)

    return both


def plain(n: int) -> Step:
    from numeric import scaled_dot_product_attention_pullback

    q, k, v, cotangent = inputs(n)
    return lambda: scaled_dot_product_attention_pullback(q, k, v)[1](cotangent)


def measured(name: str, n: int) -> dict[str, float]:
    make = {"blockwise": blockwise, "plain": plain}[name]
    make(64)()  # what is loaded late
    step = make(n)
    taken = 0.0

    def timed() -> None:
        nonlocal taken
        taken = seconds(step)

    megabytes = peak_above_inputs(timed)
    return {"seconds": round(taken, 3), "peak_megabytes": megabytes}


def measure(lengths: list[int]) -> dict[str, Any]:
    cases = [("blockwise", n) for n in lengths]
    cases += [("plain", n) for n in lengths if n <= LONGEST_PLAIN]
    return {f"{name}_{n}": in_a_process(1, name, str(n), module=MODULE) for name, n in cases} | {
        "numpy": np.__version__,
        "threads": 1,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--lengths", type=int, nargs="+", default=list(LENGTHS))
    parser.add_argument("--json", choices=["-"])
    parser.add_argument("--part", nargs="+", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.part:
        name, n = args.part
        print(json.dumps(measured(name, int(n))))
        return
    print(json.dumps(measure(args.lengths), indent=None if args.json else 2))


if __name__ == "__main__":
    main()
