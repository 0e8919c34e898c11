"""Models learn: hand-written gradients and steps of training together."""

import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from numeric import (
    AdamState,
    DecoderOnlyWeights,
    LayerOptions,
    Rotary,
    adam_step,
    decoder_only,
    decoder_only_pullback,
    next_token_loss,
    sgd_step,
)

ROOT = Path(__file__).resolve().parents[2]
CLASSIC = LayerOptions(norm_first=True)
TODAY = LayerOptions(norm_first=True, rotary=Rotary())


def example(*arguments):
    return subprocess.run(
        [sys.executable, str(ROOT / "docs" / "training_example.py"), *arguments],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_the_example_learns_to_sort():
    done = example("--length", "4", "--steps", "200")
    assert done.returncode == 0, done.stderr
    first, last = map(float, re.findall(r"loss (\S+)", done.stdout))
    assert last < 0.1 < first
    (sorted_right,) = re.findall(r"^(\d+) of 1000 new sequences", done.stdout, flags=re.M)
    assert int(sorted_right) > 950


def test_the_example_refuses_no_steps():
    done = example("--steps", "0")
    assert done.returncode == 2
    assert "--steps and --length have to be at least 1" in done.stderr


@pytest.mark.parametrize(
    ("settings", "options"),
    [
        pytest.param({}, CLASSIC, id="classic"),
        pytest.param({"g": 1, "gated": True, "rms": True, "bias": False}, TODAY, id="of today"),
    ],
)
@pytest.mark.parametrize(("optimizer", "steps"), [("sgd", 400), ("adam", 150)])
def test_a_decoder_only_model_learns_sequences_by_heart(optimizer, steps, settings, options, rng):
    tokens = rng.integers(1, 7, (4, 7))
    tokens[:, 0] = [0, 1, 2, 3]  # what follows has to be told from the first token
    weights = DecoderOnlyWeights.init(rng, v=7, layers=1, d_model=12, h=2, d_ff=16, **settings)
    state, losses = AdamState.init(weights), []
    for _ in range(steps):
        model = partial(decoder_only_pullback, weights=weights, options=options)
        loss, gradient = next_token_loss(model, tokens)
        losses.append(loss)
        if optimizer == "sgd":
            weights = sgd_step(weights, gradient, learning_rate=0.2)
        else:
            weights, state = adam_step(weights, gradient, state, learning_rate=0.02)
    assert losses[-1] < 0.1 < 1 < losses[0]
    logits = decoder_only(tokens[:, :-1], weights, options=options)
    np.testing.assert_array_equal(logits.argmax(axis=-1), tokens[:, 1:])
