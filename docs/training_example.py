"""Train the Transformer of the original paper, in NumPy, to sort: 3 1 4 1 -> 1 1 3 4.

    python docs/training_example.py

The source is a sequence of digits, the target the same digits in order behind a token that begins
it. Every gradient is hand-written (`numeric/`) and every step is one of Adam. It takes well under
a minute; the loss ends near 0, and nearly all new sequences are sorted without a mistake.
"""

from __future__ import annotations

import argparse
import os
from functools import partial

# Matrices as small as these gain nothing from threads, which wait for each other on a busy machine.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from numeric import (
    AdamState,
    TransformerWeights,
    adam_step,
    next_token_loss,
    transformer,
    transformer_pullback,
)

BEGIN, DIGITS = 0, 10  # token 0 begins a target; digit d is token d + 1


def draw(rng: np.random.Generator, size: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Sources (size, length) and targets (size, 1 + length)."""
    source = rng.integers(1, 1 + DIGITS, (size, length))
    begin = np.full((size, 1), BEGIN)
    return source, np.concatenate([begin, np.sort(source, axis=1)], axis=1)


def sort(source: np.ndarray, weights: TransformerWeights) -> np.ndarray:
    """Token after token, each the likeliest one: (size, length) -> (size, length)."""
    size, length = source.shape
    target = np.full((size, 1), BEGIN)
    for _ in range(length):
        logits = transformer(source, target, weights)
        target = np.concatenate([target, logits[:, -1:].argmax(axis=-1)], axis=1)
    return target[:, 1:]


def train(rng: np.random.Generator, steps: int, length: int) -> TransformerWeights:
    """The weights after so many steps, each on 64 new sequences."""
    sizes = {"v": 1 + DIGITS, "layers": 1, "d_model": 32, "h": 4, "d_ff": 64}
    weights = TransformerWeights.init(rng, **sizes).astype(np.float32)
    state, losses = AdamState.init(weights), []
    for step in range(1, steps + 1):
        source, target = draw(rng, 64, length)
        model = partial(transformer_pullback, source, weights=weights)
        loss, gradient = next_token_loss(model, target)
        warmed_up, slowing_down = min(1, step / 100), min(1, 3 * (1 - (step - 1) / steps))
        rate = 4e-3 * warmed_up * slowing_down
        weights, state = adam_step(weights, gradient, state, learning_rate=rate)
        losses.append(loss)
        if step % 100 == 0 or step == steps:
            print(f"step {step:5}   loss {np.mean(losses[-20:]):.5f}", flush=True)
    return weights


def main() -> None:
    parser = argparse.ArgumentParser(description="Train a Transformer to sort digits.")
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--length", type=int, default=8, help="digits in a sequence")
    parser.add_argument("--seed", type=int, default=0)
    settings = parser.parse_args()
    if min(settings.steps, settings.length) < 1 or settings.seed < 0:
        parser.error("--steps and --length have to be at least 1, and --seed at least 0")
    rng = np.random.default_rng(settings.seed)
    weights = train(rng, settings.steps, settings.length)
    source, target = draw(rng, 1000, settings.length)
    right = (sort(source, weights) == target[:, 1:]).all(axis=1)
    print(f"{right.sum()} of {len(right)} new sequences sorted without a mistake")


if __name__ == "__main__":
    main()
