"""One encoder layer, forward and with all gradients: NumPy against the bare matrix products.

    python -m tests.benchmarks.encoder_layer [--runs N] [--json -] [--threads 1 2]

Post-LN, d_model 512, h 8, d_ff 2048, n 512, batch 1 and 8, float32 and float64.  ``bare`` is only
the matrix products, of the same shapes and into arrays that are there already; ``plain`` is
`encoder_layer` with its pullback, ``fast`` is `FastEncoderLayer`, ``torch`` is PyTorch's layer in
eager mode, where it can be imported.  The variants run in turn, so that a drift of the machine's
speed meets all of them; the medians of wall-clock times and of the ratios to ``bare`` within each
turn are printed, and to ``torch`` those of the others.  ``memory_kept`` is ``plain`` once more,
beside ``bare`` in a process that has called `keep_freed_memory`.  Peak memory is what a process
needs on top of its inputs.  It judges nothing.

Every measurement gets a process of its own, without OPENBLAS_CORETYPE and OPENBLAS_L2_SIZE in its
environment.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

D, H, F, N = 512, 8, 2048, 512
BATCHES = (1, 8)
DTYPES = ("float32", "float64")
MODULE = "tests.benchmarks.encoder_layer"
#: They choose another kernel than the one made for the processor.
TAKEN_OUT = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
Step = Callable[[], Any]


def variants(dtype: str, batch: int, names: list[str]) -> dict[str, tuple[Step, Step]]:
    """Forward, and forward with all gradients, of every variant."""
    makers = {"bare": bare, "plain": plain, "fast": fast, "torch": torch_layer}
    return {name: makers[name](np.dtype(dtype), batch) for name in names}


def installed() -> list[str]:
    return ["bare", "plain", "fast"] + (["torch"] if find_spec("torch") is not None else [])


def inputs(dtype: Any, batch: int) -> tuple[Any, Any, Any]:
    from numeric import EncoderLayerWeights

    rng = np.random.default_rng(0)
    weights = EncoderLayerWeights.init(rng, D, H, F).astype(dtype)
    x, cotangent = (rng.standard_normal((batch, N, D)).astype(dtype) for _ in range(2))
    return x, weights, cotangent


def bare(dtype: Any, batch: int) -> tuple[Step, Step]:
    """Every operand and result has a place of its own, as in a layer; nothing else is done."""
    rows, k = batch * N, D // H
    matrices = [(rows, D, 3 * D), (rows, D, D), (rows, D, F), (rows, F, D)]
    scores, mixed = (N, k, N), (N, N, k)
    shapes = [((), *m) for m in matrices] + [((batch, H), *m) for m in (scores, mixed)]
    forward = [_product(dtype, *shape) for shape in shapes]
    backward = [
        _product(dtype, leading, *sizes)
        for leading, a, b, c in shapes
        for sizes in ((a, c, b), (b, a, c))
    ]

    def run(products: list[Any]) -> None:
        for a, b, out in products:
            np.matmul(a, b, out=out)

    return lambda: run(forward), lambda: run([*forward, *backward])


def _product(dtype: Any, leading: tuple[int, ...], a: int, b: int, c: int) -> tuple[Any, Any, Any]:
    """Operands and a place for the result of (..., a, b) @ (..., b, c)."""
    rng = np.random.default_rng(0)
    left = rng.standard_normal((*leading, a, b)).astype(dtype)
    right = rng.standard_normal((*leading, b, c)).astype(dtype)
    return left, right, np.zeros((*leading, a, c), dtype)


def plain(dtype: Any, batch: int) -> tuple[Step, Step]:
    from numeric import encoder_layer
    from numeric.encoder import encoder_layer_pullback

    x, weights, cotangent = inputs(dtype, batch)
    return lambda: encoder_layer(x, weights), lambda: encoder_layer_pullback(x, weights)[1](
        cotangent
    )


def fast(dtype: Any, batch: int) -> tuple[Step, Step]:
    from numeric.fast_encoder import FastEncoderLayer

    x, weights, cotangent = inputs(dtype, batch)
    layer = FastEncoderLayer(weights)

    def both() -> None:
        layer.forward(x)
        layer.backward(cotangent)

    return lambda: layer.forward(x), both


def torch_layer(dtype: Any, batch: int) -> tuple[Step, Step]:
    import torch

    x, _, cotangent = inputs(dtype, batch)
    kind = getattr(torch, str(dtype))
    layer = torch.nn.TransformerEncoderLayer(D, H, F, dropout=0.0, batch_first=True, dtype=kind)
    tokens = torch.from_numpy(x).requires_grad_()
    upstream = torch.from_numpy(cotangent)

    def forward() -> Any:
        return layer(tokens)

    def both() -> None:
        layer.zero_grad()
        tokens.grad = None
        layer(tokens).backward(upstream)

    return forward, both


# ---------------------------------------------------------------------- measuring


def seconds(step: Step) -> float:
    start = time.perf_counter()
    step()
    return time.perf_counter() - start


def times(dtype: str, batch: int, runs: int, names: list[str]) -> dict[str, Any]:
    made = variants(dtype, batch, names)
    for step in (s for pair in made.values() for s in pair):
        step()
    turns = [{name: [seconds(s) for s in pair] for name, pair in made.items()} for _ in range(runs)]
    return {
        what: {
            name: _summary([t[name][at] for t in turns], {
                other: [t[name][at] / t[other][at] for t in turns]
                for other in ("bare", "torch") if other in made and other != name
            })
            for name in made
        }
        for at, what in enumerate(("forward", "forward_backward"))
    }  # fmt: skip


def _summary(found: list[float], ratios: dict[str, list[float]]) -> dict[str, float]:
    out = {"seconds": round(statistics.median(found), 4)}
    return out | {f"to_{other}": round(statistics.median(r), 3) for other, r in ratios.items()}


def times_with_memory_kept(dtype: str, batch: int, runs: int) -> dict[str, Any]:
    """Of the plain form, or nothing where the C library cannot be asked."""
    from numeric import keep_freed_memory

    if not keep_freed_memory():
        return {}
    found = times(dtype, batch, runs, ["bare", "plain"])
    return {what: by_name["plain"] for what, by_name in found.items()}


def peak_megabytes(name: str, dtype: str, batch: int) -> float:
    """How far forward and backward raise the memory of this process above what it starts with."""
    make = {"plain": plain, "fast": fast, "torch": torch_layer}[name]
    make(np.dtype(dtype), 1)[1]()  # what is loaded late and kept by thread pools
    both = make(np.dtype(dtype), batch)[1]
    return peak_above_inputs(both)


def peak_above_inputs(step: Step) -> float:
    """In megabytes; Linux only: the kernel is told to forget the peak before."""
    ctypes.CDLL(None).malloc_trim(0)  # else what was freed before would be used without being seen
    with open("/proc/self/clear_refs", "w") as control:
        control.write("5")
    before = _status("VmRSS")
    step()
    return round((_status("VmHWM") - before) / 1024, 1)


def _status(field: str) -> int:
    """In kibibytes."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(field + ":"))


def blas() -> Any:
    """The kernel that the products run with, where threadpoolctl is there to tell."""
    if find_spec("threadpoolctl") is None:
        return "unknown: install threadpoolctl"
    from threadpoolctl import threadpool_info

    kept = ("internal_api", "version", "architecture", "num_threads")
    return [{key: pool.get(key) for key in kept} for pool in threadpool_info()]


def in_a_process(threads: int, *arguments: str, module: str = MODULE) -> Any:
    """The answer of a benchmark in a fresh process with so many threads."""
    chosen = {name: str(threads) for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS",
                                              "MKL_NUM_THREADS")}  # fmt: skip
    kept = {name: value for name, value in os.environ.items() if name not in TAKEN_OUT}
    command = [sys.executable, "-m", module, "--part", *arguments]
    run = subprocess.run(command, env=kept | chosen, check=True, stdout=subprocess.PIPE)
    return json.loads(run.stdout)


def measure(runs: int, threads: list[int]) -> dict[str, Any]:
    out: dict[str, Any] = {"runs": runs, "numpy": np.__version__, "cores": os.cpu_count(),
                           "python": platform.python_version(),
                           "taken_out_of_environment": [n for n in TAKEN_OUT if n in os.environ],
                           "memory_kept": "plain, after keep_freed_memory()"}  # fmt: skip
    for count in threads:
        out[f"threads_{count}"] = {
            "blas": in_a_process(count, "blas"),
            **{f"{dtype}_batch_{batch}": measured(count, dtype, str(batch), str(runs))
               for dtype in DTYPES for batch in BATCHES},
        }  # fmt: skip
    out["peak_megabytes_float32_batch_8"] = {
        name: in_a_process(1, "memory", name, "float32", "8") for name in installed()[1:]
    }
    return out


def measured(threads: int, *case: str) -> dict[str, Any]:
    found: dict[str, Any] = in_a_process(threads, "times", *case)
    for what, plain_form in in_a_process(threads, "kept", *case).items():
        found[what]["memory_kept"] = plain_form
    return found


def part(arguments: list[str]) -> Any:
    match arguments:
        case ["blas"]:
            return blas()
        case ["times", dtype, batch, runs]:
            return times(dtype, int(batch), int(runs), installed())
        case ["kept", dtype, batch, runs]:
            return times_with_memory_kept(dtype, int(batch), int(runs))
        case ["memory", name, dtype, batch]:
            return peak_megabytes(name, dtype, int(batch))
        case _:
            raise SystemExit(f"there is no part {arguments}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--json", choices=["-"])
    parser.add_argument("--part", nargs="+", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.part:
        print(json.dumps(part(args.part)))
        return
    result = measure(args.runs, args.threads)
    print(json.dumps(result, indent=None if args.json else 2))


if __name__ == "__main__":
    main()
