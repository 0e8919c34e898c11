"""Operation counts against models whose numbers count what is done to them."""

from __future__ import annotations

from collections import Counter

import counted_models as M
import numpy as np
import pytest
from counted_models import Shape

from derive.count import families, sizes
from derive.count.counting import count
from derive.count.models import Model

#: No two sizes alike; several layers; one token, one head; as many heads as the width.
SHAPES = (
    Shape(n=3, layers=2, d=4, heads=2, shared=1, d_k=2, inner=5, words=7),
    Shape(n=5, layers=1, d=6, heads=3, shared=3, d_k=2, inner=4, words=3),
    Shape(n=1, layers=1, d=2, heads=1, shared=1, d_k=2, inner=3, words=4),
    Shape(n=2, layers=3, d=8, heads=4, shared=2, d_k=2, inner=9, words=5),
)
FAMILIES = {
    "gpt": (families.gpt(), M.gpt_weights, M.gpt_forward, M.gpt_backward),
    "llama": (families.llama(), M.llama_weights, M.llama_forward, M.llama_backward),
}


def model_of(name: str, s: Shape) -> Model:
    values = {
        sizes.layers: s.layers, sizes.d_model: s.d, sizes.heads: s.heads, sizes.d_ff: s.inner,
        sizes.vocabulary: s.words, sizes.context: s.n, sizes.kv_heads: s.shared,
        sizes.d_k: s.d_k,
    }  # fmt: skip
    return Model(name, FAMILIES[name][0], values, s.n)


def tallied(counter: Counter[str]) -> dict[str, int]:
    return {kind: counter[kind] for kind in counter if counter[kind]}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", list(FAMILIES))
def test_every_operation_is_counted(name: str, shape: Shape) -> None:
    """Forward and training step, kind by kind, exactly."""
    _, weights, forward, backward = FAMILIES[name]
    rng = np.random.default_rng(5)
    w, tokens = weights(rng, shape), rng.integers(shape.words, size=shape.n)
    cotangent = M.counted(rng.standard_normal((shape.n, shape.words)))
    found = count(model_of(name, shape))
    M.TALLY.clear()
    _, kept = forward(w, tokens, shape)
    assert tallied(M.TALLY) == tallied(
        Counter({k: q.number for k, q in found.forward.kinds.items()})
    )
    backward(cotangent, w, tokens, kept, shape)
    assert tallied(M.TALLY) == tallied(
        Counter({k: q.number for k, q in found.training.kinds.items()})
    )
    assert sum(array.size for array in w.values()) == found.total.number


@pytest.mark.parametrize("name", list(FAMILIES))
def test_the_counted_gradients_are_right(name: str) -> None:
    """The counting model computes gradients, not just as many operations as they take."""
    _, weights, forward, backward = FAMILIES[name]
    shape, rng = SHAPES[0], np.random.default_rng(6)
    w, tokens = weights(rng, shape), rng.integers(shape.words, size=shape.n)
    cotangent = rng.standard_normal((shape.n, shape.words))
    _, kept = forward(w, tokens, shape)
    gradients = backward(M.counted(cotangent), w, tokens, kept, shape)
    assert gradients.keys() == w.keys()
    direction = {k: rng.standard_normal(a.shape) for k, a in w.items()}
    along = sum(float(np.sum(M.values(gradients[k]) * direction[k])) for k in w)

    def loss(t: float) -> float:
        moved = {k: M.counted(M.values(a) + t * direction[k]) for k, a in w.items()}
        return float(np.sum(cotangent * M.values(forward(moved, tokens, shape)[0])))

    assert (loss(1e-5) - loss(-1e-5)) / 2e-5 == pytest.approx(along, rel=1e-6)
