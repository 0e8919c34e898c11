"""Operation counts against models whose numbers count what is done to them."""

from __future__ import annotations

from collections import Counter

import counted_models as M
import counted_tape
import numpy as np
import pytest
from counted_models import Shape
from counted_tape import Tape

from derive.count import families, sizes
from derive.count.counting import count
from derive.count.families import LlamaOptions
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


# ---------------------------------------------------------------------- the other families

BASE = {"n": 3, "m": 5, "L": 2, "L_enc": 2, "L_dec": 3, "d_model": 4, "d_ff": 7, "h": 2, "d_k": 2,
        "h_kv": 1, "V": 6, "n_ctx": 3, "n_seg": 2, "b": 9, "E": 3, "k": 2, "N_p": 4, "c": 2, "p": 3,
        "C": 5}  # fmt: skip
ONES = {**dict.fromkeys(BASE, 1), "d_model": 2, "d_k": 2}
TAPED = {
    "gpt": families.gpt(), "bert": families.bert(), "original": families.original(),
    "t5": families.t5(),
    "t5_gated": families.t5(gated=True), "palm": families.palm(), "gopher": families.gopher(),
    "vit": families.vit(), "mixture": families.llama(LlamaOptions(mixture=True)),
}  # fmt: skip


@pytest.mark.parametrize("case", [BASE, ONES, {**BASE, "m": 2, "n": 4, "n_ctx": 4, "d_v": 3}])
@pytest.mark.parametrize("name", list(TAPED))
def test_every_operation_of_the_other_families(name: str, case: dict[str, int]) -> None:
    """Forward and training step, kind by kind, of models that are built from a tape; and what the
    gradients read."""
    if "d_v" in case and name != "original":
        case = {k: v for k, v in case.items() if k != "d_v"}
    by_name = {str(x.data[0]): x for x in sizes.MEANINGS}
    values = {by_name[k]: v for k, v in {"d_v": case["d_k"], **case}.items()}
    lengths = tuple(x for x in (sizes.n, sizes.m) if name != "vit")
    found = count(Model(name, TAPED[name], values, 9, lengths=lengths),
                  {str(x.data[0]): values[x] for x in lengths})  # fmt: skip
    tape = Tape(7)
    M.TALLY.clear()
    out = getattr(counted_tape, name)(tape, case)
    assert tallied(M.TALLY) == tallied(
        Counter({k: q.number for k, q in found.forward.kinds.items()})
    )
    tape.backward(out)
    assert tallied(M.TALLY) == tallied(
        Counter({k: q.number for k, q in found.training.kinds.items()})
    )
    if name != "mixture":  # there the tape copies the rows that it sends to the experts
        assert sum(array.size for array in tape.read.values()) == found.activations.number
    if not name.startswith("t5"):  # whose tables of positions are drawn for every distance
        assert sum(w.value.size for w in tape.weights.values()) == found.total.number


@pytest.mark.parametrize("name", list(TAPED))
def test_the_gradients_of_the_tape_are_right(name: str) -> None:
    tape = Tape(7)
    tape.backward(getattr(counted_tape, name)(tape, BASE))
    along = sum(
        float(np.sum(M.values(w.gradient) * tape.directions[k])) for k, w in tape.weights.items()
    )

    def loss(moved: float) -> float:
        out = getattr(counted_tape, name)(Tape(7, moved), BASE)
        return float(np.sum(counted_tape.cotangent(out) * M.values(out.value)))

    assert (loss(1e-5) - loss(-1e-5)) / 2e-5 == pytest.approx(along, rel=1e-6)
