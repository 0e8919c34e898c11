"""How many parameters whole models have: the families, from their lists of weight tensors.

The notes count one layer.  A model has layers, embeddings, norms and heads, and published totals
differ because each counts other parts of these.  Here the parts of a family are listed
(`derive/count/families.py`), every tensor counts the product of its sides, and the total follows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from derive import latex
from derive.claim import Claim, Notation
from derive.claims import DERIVATIONS, INTERVIEW, _stored_models
from derive.count import closed, families, sizes
from derive.count.closed import Summand
from derive.count.description import Architecture, Tensor
from derive.count.families import GptOptions, LlamaOptions
from derive.kernel import terms as T
from derive.kernel.rules import Theorem
from derive.kernel.terms import Term
from derive.prover import Prover
from derive.result import Source, Verdict
from derive.twin import Trial, Twin
from derive.twin import equal as agree

ORDER = 27
TOPIC = "model-totals"

#: The symbol for the number of parameters of a component.
NUMBERS = {
    "token embedding": "N_E", "positions": "N_P", "segments": "N_S", "class token": "N_T",
    "patch embedding": "N_B", "embedding projections": "N_M", "normalisation": "N_L",
    "attention": "N_A", "cross-attention": "N_C", "feed-forward": "N_F", "router": "N_R",
    "output head": "N_O", "pooler": "N_Q",
}  # fmt: skip

Case = Mapping[str, int]

# ---------------------------------------------------------------------- counting


@dataclass(frozen=True)
class Component:
    """The tensors of one component: the symbol for their entries, and the closed form that is
    computed from the list."""

    name: str
    number: Term
    tensors: tuple[Tensor, ...]
    closed: Term

    @property
    def summands(self) -> list[Summand]:
        return summands(self.tensors)

    @property
    def definition(self) -> Notation:
        """For every tensor the product of its sides, summed over the layers."""
        counted = T.eq(self.number, closed.products(self.summands))
        note = self.what if self.what == self.name else f"{self.name}: {self.what}"
        return Notation(counted, note)

    @property
    def what(self) -> str:
        """The tensors by name, with the layers that have them."""
        groups: dict[tuple[Term, ...], list[str]] = {}
        for t in self.tensors:
            groups.setdefault(t.copies, []).append(t.name)
        if once := groups.pop((), None):  # as in the sum, where they stand last
            groups[()] = once
        return "; ".join(_held(copies, names) for copies, names in groups.items())


def _held(copies: Sequence[Term], names: Sequence[str]) -> str:
    where = "".join(f" for each of ${latex.latex(x)}$" for x in copies)
    return ", ".join(dict.fromkeys(names)) + where


def components(tensors: Iterable[Tensor]) -> tuple[Component, ...]:
    """The components of a list of tensors, in its order."""
    tensors = tuple(tensors)
    return tuple(
        _component(name, tuple(t for t in tensors if t.component == name))
        for name in dict.fromkeys(t.component for t in tensors)
    )


def _component(name: str, tensors: tuple[Tensor, ...]) -> Component:
    number = T.var(NUMBERS[name], "nat")
    return Component(name, number, tensors, closed.collected(summands(tensors)))


def summands(tensors: Iterable[Tensor]) -> list[Summand]:
    return [Summand(t.copies, t.shape) for t in tensors]


def total_of(tensors: Iterable[Tensor]) -> Term:
    return closed.collected(summands(tensors))


def prove_count(p: Prover, c: Component, definition: Theorem) -> Theorem:
    how = "summed over the layers" if any(t.copies for t in c.tensors) else "there once"
    return p.equal(c.number, c.closed, (1, definition), reason=f"{c.name}: {how}")


def prove_sum(p: Prover, parts: Sequence[Component], counts: Sequence[Theorem], total: Term
              ) -> Theorem:  # fmt: skip
    return p.calc(
        number(parts),
        (T.add(*(c.closed for c in parts)), "add the components up", *counts),
        (total, "collect what every layer has"),
    )


def prove_total(parts: Sequence[Component], total: Term) -> Callable[[Prover], Theorem]:
    """Component by component, and then the sum of these."""

    def script(p: Prover) -> Theorem:
        counts = [prove_count(p, c, p.hyp(k)) for k, c in enumerate(parts)]
        return p.both(*counts, prove_sum(p, parts, counts, total))

    return script


def number(parts: Sequence[Component]) -> Term:
    return T.add(*(c.number for c in parts))


def equations(parts: Sequence[Component], total: Term) -> list[Term]:
    return [*(T.eq(c.number, c.closed) for c in parts), T.eq(number(parts), total)]


# ---------------------------------------------------------------------- twins


def at(term: Term, case: Case) -> int:
    """A closed form at the sizes of a case."""
    by_name = {str(x.data[0]): x for x in sizes.MEANINGS}
    value = closed.value(term, {by_name[name]: size for name, size in case.items()})
    if value.denominator != 1:
        raise ValueError(f"{value} is not a whole number")
    return int(value)


def twin_of(
    parts: Sequence[Component], total: Term, stored: Callable[[Case], Mapping[str, int]],
    cases: Sequence[Case],
) -> Twin:  # fmt: skip
    """Arrays that are built at small sizes, component by component."""

    def trials(_rng: np.random.Generator) -> list[Trial]:
        found = []
        for case in cases:
            sizes_of = stored(case)
            same = set(sizes_of) == {c.name for c in parts}
            found.append(agree(same, True, "which components there are"))
            found += [agree(sizes_of[c.name], at(c.closed, case), c.name) for c in parts]
            found.append(agree(sum(sizes_of.values()), at(total, case), "total"))
        return found

    return Twin("sizes of arrays that were built as libraries store them", trials)


# ---------------------------------------------------------------------- claims


def family_claim(
    name: str, title: str, source: Source, architecture: Architecture,
    stored: Callable[[Case], Mapping[str, int]], *cases: Case, **more: Any,
) -> Claim:  # fmt: skip
    """The totals of a family, of its components and of all."""
    parts = components(architecture.weights)
    total = total_of(architecture.weights)
    return Claim(
        id=f"{TOPIC}/{name}",
        title=title,
        source=source,
        statement=T.conj(*equations(parts, total)),
        given=tuple(c.definition for c in parts),
        proof=prove_total(parts, total),
        twin=twin_of(parts, total, stored, cases),
        expected=Verdict.PROVED,
        **more,
    )


def source(note: str, place: str, says: str) -> Source:
    return Source(note, (place,), says)


def cases(names: str, *values: tuple[int, ...]) -> list[Case]:
    """Sizes by name, no two alike in the first case, all 1 in the last."""
    keys = names.split()
    return [dict(zip(keys, v, strict=True)) for v in (*values, (1,) * len(keys))]


GPT = family_claim(
    "gpt",
    "GPT-2 and GPT-3",
    source(
        DERIVATIONS, "A27",
        r"The feed-forward networks hold about 2/3 of all parameters of a Transformer. Beyond the "
        r"note: what all of them are, in a stack of decoder layers with biases, a final norm, "
        r"learned positions and an output head that is the embedding.",
    ),
    families.gpt(),
    _stored_models.gpt,
    *cases("L d_model d_ff V n_ctx", (3, 4, 7, 11, 5), (2, 6, 24, 3, 1)),
)  # fmt: skip

OPT = family_claim(
    "opt-narrow",
    "OPT with a narrow embedding",
    source(
        DERIVATIONS, "A27",
        r"The share of 2/3 is that of the layers. Beyond the note: a model whose embedding is "
        r"narrower than its layers and whose norms come after the sums, without a final one; its "
        r"table of positions has two rows more than positions.",
    ),
    families.gpt(GptOptions(
        "opt", "OPT", positions=T.add(sizes.context, T.num(2)), norm_first=False,
        final_norm=False, projected=True,
    )),
    _stored_models.opt,
    *cases("L d_model d_ff d_emb V n_ctx", (3, 4, 7, 2, 11, 5)),
)  # fmt: skip

BERT = family_claim(
    "bert",
    "BERT",
    source(
        INTERVIEW, "B24",
        r"The feed-forward networks hold the majority of all parameters. Beyond the note: what all "
        r"of them are, in an encoder with three embeddings, a norm after these, and a pooler.",
    ),
    families.bert(),
    _stored_models.bert,
    *cases("L d_model d_ff V n_ctx n_seg", (3, 4, 7, 11, 5, 2)),
)  # fmt: skip

LLAMA = family_claim(
    "llama",
    "LLaMA and Mistral",
    source(
        DERIVATIONS, "A27",
        r"The share of 2/3 rests on two matrices in a network and four in attention. Beyond the "
        r"note: gated networks of three matrices, heads that share keys and values, norms with a "
        r"gain only, and an output head of its own.",
    ),
    families.llama(),
    _stored_models.llama,
    *cases("L d_model d_ff h h_kv d_k V", (3, 4, 7, 6, 2, 5, 11), (2, 6, 9, 3, 3, 2, 4)),
)  # fmt: skip

mixture = families.llama(LlamaOptions("mixtral", "mixture of experts", mixture=True))
experts = components(mixture.weights)
all_experts = total_of(mixture.weights)
some_experts = total_of(t.used for t in mixture.weights)
#: The components as one token sees them; only the networks are others.
of_token = tuple(
    replace(c, number=T.var("N_F'", "nat")) if c.name == "feed-forward" else c
    for c in components(t.used for t in mixture.weights)
)
(network_of_token,) = (c for c in of_token if c.name == "feed-forward")


def prove_mixture(p: Prover) -> Theorem:
    counts = {c: prove_count(p, c, p.hyp(k)) for k, c in enumerate(experts)}
    whole = prove_sum(p, experts, list(counts.values()), all_experts)
    counts[network_of_token] = prove_count(p, network_of_token, p.hyp(len(experts)))
    one = prove_sum(p, of_token, [_count_of(c, counts) for c in of_token], some_experts)
    ours = [counts[c] for c in experts]
    return p.both(*ours, whole, counts[network_of_token], one)


def _count_of(wanted: Component, counts: Mapping[Component, Theorem]) -> Theorem:
    (found,) = (t for c, t in counts.items() if c.number is wanted.number)
    return found


def twin_mixture(rng: np.random.Generator) -> list[Trial]:
    twin = twin_of(experts, all_experts, _stored_models.mixture, MIXTURE_CASES)
    found = list(twin.trials(rng))
    for case in MIXTURE_CASES:
        fewer = _stored_models.mixture({**case, "E": case["k"]})
        router = case["L"] * case["d_model"] * (case["E"] - case["k"])
        found.append(agree(sum(fewer.values()) + router, at(some_experts, case), "one token"))
    return found


MIXTURE_CASES = cases("L d_model d_ff h h_kv d_k V E k", (3, 4, 7, 6, 2, 5, 11, 9, 2))

MIXTURE = Claim(
    id="model-totals/mixture",
    title="A mixture of experts, in all and for one token",
    source=source(
        DERIVATIONS, "A27",
        r"The share of 2/3 rests on one network in a layer. Beyond the note: $E$ networks, of "
        r"which a router sends a token to $k$.",
    ),
    statement=T.conj(
        *equations(experts, all_experts),
        T.eq(network_of_token.number, network_of_token.closed),
        T.eq(number(of_token), some_experts),
    ),
    given=(*(c.definition for c in experts), network_of_token.definition),
    proof=prove_mixture,
    twin=Twin("sizes of arrays, with all experts and with those of one token", twin_mixture),
    expected=Verdict.PROVED,
)  # fmt: skip

PALM = family_claim(
    "palm",
    "PaLM",
    source(
        DERIVATIONS, "A27",
        r"The share of 2/3 rests on keys and values of every head. Beyond the note: one head of "
        r"keys and values for all queries, a gated network beside it, no biases; gains of norms "
        r"are not counted.",
    ),
    families.palm(),
    _stored_models.palm,
    *cases("L d_model d_ff h d_k V", (3, 4, 7, 6, 5, 11)),
)  # fmt: skip

GOPHER = family_claim(
    "gopher",
    "Gopher and Chinchilla",
    source(
        DERIVATIONS, "A27",
        r"The share of 2/3 rests on four matrices in attention. Beyond the note: relative "
        r"positions have a fifth in every layer; gains of norms are not counted.",
    ),
    families.gopher(),
    _stored_models.gopher,
    *cases("L d_model d_ff h d_k V", (3, 4, 7, 6, 5, 11)),
)  # fmt: skip

T5 = family_claim(
    "t5",
    "T5",
    source(
        DERIVATIONS, "A27",
        r"The share of 2/3 leaves cross-attention out. Beyond the note: encoder and decoder with "
        r"heads of any width, norms with a gain only, and a table of $b$ relative positions in "
        r"each.",
    ),
    families.t5(),
    _stored_models.t5,
    *cases("L_enc L_dec d_model d_ff h d_k b V", (3, 2, 4, 7, 6, 5, 9, 11)),
)  # fmt: skip

T5_GATED = family_claim(
    "t5-gated",
    "T5 v1.1",
    source(
        DERIVATIONS, "A27",
        r"The share of 2/3 leaves cross-attention out. Beyond the note: the networks of T5 made "
        r"gated, with three matrices; each side has a table of $b$ relative positions.",
    ),
    families.t5(gated=True),
    _stored_models.t5_gated,
    *cases("L_enc L_dec d_model d_ff h d_k b V", (3, 2, 4, 7, 6, 5, 9, 11)),
)  # fmt: skip

ORIGINAL = family_claim(
    "original",
    "The original Transformer",
    source(
        INTERVIEW, "B24",
        r"The feed-forward networks hold the majority of all parameters. Beyond the note: all "
        r"parameters of encoder and decoder, with biases in the networks only, norms after the "
        r"sums, sinusoids, and one matrix for both embeddings and the output head.",
    ),
    families.original(),
    _stored_models.original,
    *cases("L_enc L_dec d_model d_ff h d_k d_v V", (3, 2, 4, 7, 6, 5, 9, 11)),
)  # fmt: skip

VIT = family_claim(
    "vit",
    "ViT",
    source(
        DERIVATIONS, "A27",
        r"About 2/3 of all parameters are in the networks. Beyond the note: an encoder of $N_p$ "
        r"patches of $p \times p$ pixels with $c$ channels, with a class token, learned positions "
        r"and a classifier of $C$ classes.",
    ),
    families.vit(),
    _stored_models.vit,
    *cases("L d_model d_ff N_p c p C", (3, 4, 7, 6, 2, 5, 11)),
)  # fmt: skip

CLAIMS = (
    ORIGINAL,
    BERT,
    GPT,
    OPT,
    T5,
    T5_GATED,
    LLAMA,
    MIXTURE,
    PALM,
    GOPHER,
    VIT,
)

if __name__ == "__main__":
    import sys

    from derive.cli import main_for

    sys.exit(main_for(CLAIMS))
