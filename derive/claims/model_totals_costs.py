"""How many operations whole models take, and how many numbers they keep.

The notes count one attention layer.  Here every step of a model is listed with what an entry of its
result takes (`derive/count/families.py`): multiplications, additions and the rest each for
themselves, and the products alone with two operations for each multiplication.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from derive.claim import Claim, Notation
from derive.claims import DERIVATIONS, _counted_models
from derive.claims._counted_models import Tally
from derive.claims.model_totals import Case, at, cases, source, summands
from derive.count import closed, families, sizes
from derive.count.closed import Summand
from derive.count.counting import backward_work, forward_work
from derive.count.description import KINDS, Architecture, Tensor
from derive.count.families import LlamaOptions
from derive.kernel import terms as T
from derive.kernel.rules import Theorem
from derive.kernel.terms import Term
from derive.prover import Prover
from derive.result import Verdict
from derive.twin import Trial, Twin
from derive.twin import equal as agree

ORDER = 28
TOPIC = "model-totals"

_SYMBOLS = {
    "multiply": "T_M", "add": "T_A", "subtract": "T_S", "divide": "T_D", "exponential": "T_E",
    "root": "T_R", "activation": "T_F",
}  # fmt: skip
_WHAT = {
    "multiply": "multiplications", "add": "additions", "subtract": "subtractions",
    "divide": "divisions", "exponential": "exponentials", "root": "roots",
    "activation": "applications of the activation function",
}  # fmt: skip

# ---------------------------------------------------------------------- counting


@dataclass(frozen=True)
class Quantity:
    """A symbol, the list that it adds up, and the closed form that is computed from the list."""

    number: Term
    what: str
    listed: tuple[Summand, ...]
    closed: Term

    @property
    def definition(self) -> Notation:
        """What the number is: for every step the entries of its result, times what one takes."""
        return Notation(T.eq(self.number, closed.products(self.listed)), self.what)


def quantity(symbol: str, what: str, listed: Sequence[Summand]) -> Quantity:
    return Quantity(T.var(symbol, "real"), what, tuple(listed), closed.collected(listed))


def prove_quantity(p: Prover, q: Quantity, definition: Theorem) -> Theorem:
    return p.equal(
        q.number, q.closed, (1, definition), reason="summed over the layers and collected"
    )


def steps(work: Sequence[Any], kind: str) -> str:
    """The names of the steps that add operations of a kind, in the order of the sum."""
    named: dict[Any, dict[str, None]] = {}
    for stage, step in work:
        if closed.operations(step, kind) not in (None, T.ZERO):
            named.setdefault(stage.copies, {})[stage.name] = None
    single = named.pop((), {})
    groups = [", ".join(names) for names in (*named.values(), *([single] if single else []))]
    return "; ".join(groups)


def of_kind(work: Sequence[Any], kind: str) -> list[Summand]:
    """What the steps add to the operations of a kind; steps that add none are left out."""
    found = []
    for stage, step in work:
        body = closed.operations(step, kind)
        if body is not None and body is not T.ZERO:
            found.append(Summand(stage.copies, step.over, body))
    return found


@dataclass(frozen=True)
class Costs:
    """The operations of a family: by kind, those of its products, those of their gradients."""

    kinds: Mapping[str, Quantity]
    products: Quantity
    gradients: Quantity

    @property
    def all(self) -> tuple[Quantity, ...]:
        return (*self.kinds.values(), self.products, self.gradients)


def _told(kind: str, where: str) -> str:
    named = all(step.endswith(kind) for step in re.split("[,;] ", where))
    return _WHAT[kind] if named else f"{_WHAT[kind]} of {where}"


def costs(architecture: Architecture) -> Costs:
    stages = architecture.parts.stages
    work = forward_work(stages)
    kinds = {
        kind: quantity(_SYMBOLS[kind], _told(kind, steps(work, kind)), listed)
        for kind in KINDS
        if (listed := of_kind(work, kind))
    }
    back = backward_work(stages)
    products = quantity("T_P", "products, two for each multiplication", of_kind(work, "leading"))
    gradients = quantity(
        "T_G", f"gradients of both operands in {steps(back, 'leading')}", of_kind(back, "leading")
    )
    return Costs(kinds, products, gradients)


def statement_of(c: Costs) -> Term:
    twice = T.eq(c.gradients.number, T.mul(T.num(2), c.products.number))
    return T.conj(*(T.eq(q.number, q.closed) for q in c.all), twice)


def prove_costs(c: Costs) -> Callable[[Prover], Theorem]:
    """Kind by kind; and the gradients of both operands of a product cost what it costs, each."""

    def script(p: Prover) -> Theorem:
        found = [prove_quantity(p, q, p.hyp(k)) for k, q in enumerate(c.all)]
        twice = p.equal(
            c.gradients.number, T.mul(T.num(2), c.products.number), (1, found[-1]),
            (-2, found[-2]),
            reason="each operand of a product has a gradient, which is a product of its size",
        )  # fmt: skip
        return p.both(*found, twice)

    return script


def twin_of(c: Costs, counted: Callable[[Case], Tally], at_sizes: Sequence[Case]) -> Twin:
    def trials(_rng: np.random.Generator) -> list[Trial]:
        found = []
        for case in at_sizes:
            tally = counted(case)
            found += [agree(tally.kinds[k], at(q.closed, case), k) for k, q in c.kinds.items()]
            found.append(agree(2 * tally.products, at(c.products.closed, case), "products"))
            found.append(agree(2 * tally.gradients, at(c.gradients.closed, case), "gradients"))
        return found

    return Twin("operations counted while the layers are computed", trials)


def costs_claim(
    name: str, title: str, says: str, architecture: Architecture,
    counted: Callable[[Case], Tally], at_sizes: Sequence[Case],
) -> Claim:  # fmt: skip
    c = costs(architecture)
    return Claim(
        id=f"{TOPIC}/{name}",
        title=title,
        source=source(DERIVATIONS, "A13", says),
        statement=statement_of(c),
        given=tuple(q.definition for q in c.all),
        proof=prove_costs(c),
        twin=twin_of(c, counted, at_sizes),
        expected=Verdict.PROVED,
    )


GPT_COSTS = costs_claim(
    "gpt-operations",
    "Operations of GPT-2 and GPT-3",
    r"The cost is given as that of attention. Beyond the note: every operation of the model for "
    r"$n$ tokens, the softmax, norms and biases included; a training step takes three times as "
    r"many in its products.",
    families.gpt(),
    _counted_models.gpt,
    cases("n L d_model h d_ff V", (3, 2, 4, 2, 5, 7)),
)

LLAMA_COSTS = costs_claim(
    "llama-operations",
    "Operations of LLaMA and Mistral",
    r"The cost is given as that of attention. Beyond the note: the same with shared keys and "
    r"values, rotary positions and gated networks.",
    families.llama(),
    _counted_models.llama,
    cases("n L d_model h h_kv d_k d_ff V", (3, 2, 5, 4, 2, 1, 6, 7)),
)

MIXTURE_COSTS = costs_claim(
    "mixture-operations",
    "Operations of a mixture of experts",
    r"The cost is given as that of attention. Beyond the note: every token is sent to $k$ of $E$ "
    r"networks; only the router's cost grows with $E$.",
    families.llama(LlamaOptions("mixtral", "mixture of experts", mixture=True)),
    _counted_models.mixture,
    cases("n L d_model h h_kv d_k d_ff V E k", (3, 2, 5, 4, 2, 1, 6, 7, 9, 2)),
)

ORIGINAL_COSTS = costs_claim(
    "original-operations",
    "Operations of the original Transformer",
    r"The cost is given as that of attention. Beyond the note: encoder and decoder, for $m$ tokens "
    r"of the source and $n$ of the target.",
    families.original(),
    _counted_models.original,
    [
        {**case, "d_v": case["d_k"]}
        for case in cases("n m L_enc L_dec d_model h d_k d_ff V", (3, 2, 2, 3, 4, 5, 1, 6, 7))
    ],
)

# ---------------------------------------------------------------------- memory


@dataclass(frozen=True)
class Memory:
    """Numbers that a token leaves in the cache, with as many heads of keys as given, and with one
    for each head of queries; numbers that the backward pass of a sequence reads."""

    cache: Quantity
    full: Quantity
    kept: Quantity

    @property
    def all(self) -> tuple[Quantity, ...]:
        return (self.cache, self.full, self.kept)


def memory(architecture: Architecture) -> Memory:
    parts = architecture.parts
    everyone = [_with_all_heads(t) for t in parts.cache]
    return Memory(
        quantity("K", "numbers that a token leaves in the cache", summands(parts.cache)),
        quantity("K'", "the same with keys and values of every head", summands(everyone)),
        quantity("M", "activations that the backward pass reads", summands(parts.kept)),
    )


def _with_all_heads(t: Tensor) -> Tensor:
    shape = tuple(T.substitute(x, {sizes.kv_heads: sizes.heads}) for x in t.shape)
    return Tensor(t.name, t.component, shape, t.copies)


MEMORY = memory(families.llama())


def prove_memory(p: Prover) -> Theorem:
    found = [prove_quantity(p, q, p.hyp(k)) for k, q in enumerate(MEMORY.all)]
    ratio = p.equal(
        T.mul(sizes.heads, MEMORY.cache.number), T.mul(sizes.kv_heads, MEMORY.full.number),
        (sizes.heads, found[0]), (T.neg(sizes.kv_heads), found[1]),
        reason=r"of $h$ heads only $h_{\text{kv}}$ are kept",
    )  # fmt: skip
    return p.both(*found, ratio)


def twin_memory(rng: np.random.Generator) -> list[Trial]:
    """Arrays that the layers really make, for the sizes of a case."""
    found = []
    for s in cases("n L d_model h h_kv d_k d_ff", (3, 2, 5, 4, 2, 6, 7), (2, 3, 4, 3, 3, 2, 5)):
        found += [
            agree(s["L"] * cached(rng, s, s["h_kv"]), at(MEMORY.cache.closed, s), "cache"),
            agree(s["L"] * cached(rng, s, s["h"]), at(MEMORY.full.closed, s), "all heads"),
            agree(activations(rng, s), at(MEMORY.kept.closed, s), "activations"),
        ]
    return found


def cached(rng: np.random.Generator, s: Case, shared: int) -> int:
    """Keys and values of one token in one layer."""
    from numeric import MultiHeadWeights

    w = MultiHeadWeights.init(rng, s["d_model"], s["h"], d_k=s["d_k"], d_v=s["d_k"], g=shared)
    token = rng.standard_normal(s["d_model"])
    return int((token @ w.w_k).size + (token @ w.w_v).size)


def activations(rng: np.random.Generator, s: Case) -> int:
    """A forward pass that keeps what its gradients read."""
    x = rng.standard_normal((s["n"], s["d_model"]))
    kept = [array for _ in range(s["L"]) for array in kept_by_layer(rng, x, s)]
    return sum(array.size for array in (*kept, *kept_by_norm(x)))


def kept_by_norm(x: np.ndarray) -> list[np.ndarray]:
    """The normalised rows, what they were divided by, and the result."""
    root = np.sqrt(np.mean(x**2, axis=-1) + 0.1)
    return [x / root[:, None], root, x / root[:, None] * 2.0]


def kept_by_layer(rng: np.random.Generator, x: np.ndarray, s: Case) -> list[np.ndarray]:
    from numeric import GatedFeedForwardWeights, MultiHeadWeights, attention_weights

    d, h, shared, width = s["d_model"], s["h"], s["h_kv"], s["d_k"]
    w = MultiHeadWeights.init(rng, d, h, d_k=width, d_v=width, g=shared)
    gated = GatedFeedForwardWeights.init(rng, d, s["d_ff"])
    q, k, v = x @ w.w_q, x @ w.w_k, x @ w.w_v
    weights = attention_weights(q, np.repeat(k, h // shared, axis=0))
    heads = weights @ np.repeat(v, h // shared, axis=0)
    gate, up = x @ gated.w_gate, x @ gated.w_up
    return [*kept_by_norm(x), q, k, v, weights, heads, *kept_by_norm(x), gate, np.tanh(gate), up,
            gate * up]  # fmt: skip


LLAMA_MEMORY = Claim(
    id="model-totals/llama-memory",
    title="Cache and activations of LLaMA and Mistral",
    source=source(
        DERIVATIONS, "A14",
        r"Many heads cost as much as one, in order of magnitude. Beyond the note: what a token "
        r"leaves in the cache when heads share keys and values, against a cache of all heads, and "
        r"what a training step keeps.",
    ),
    statement=T.conj(
        *(T.eq(q.number, q.closed) for q in MEMORY.all),
        T.eq(T.mul(sizes.heads, MEMORY.cache.number),
             T.mul(sizes.kv_heads, MEMORY.full.number)),
    ),
    given=tuple(q.definition for q in MEMORY.all),
    proof=prove_memory,
    twin=Twin("sizes of the arrays that a forward pass makes", twin_memory),
    expected=Verdict.PROVED,
)  # fmt: skip

CLAIMS = (
    GPT_COSTS,
    LLAMA_COSTS,
    MIXTURE_COSTS,
    ORIGINAL_COSTS,
    LLAMA_MEMORY,
)

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
