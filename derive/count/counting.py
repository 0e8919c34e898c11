"""What follows from an architecture at given sizes: totals, shares, operations, memory.

Every number is a closed form that the kernel has proved, evaluated at the sizes of the model and
held against the sum over the list at these sizes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final

from derive.count import closed, sizes
from derive.count.closed import Closed, Share
from derive.count.description import KINDS, Architecture, Stage, Tensor, Work
from derive.count.models import Model
from derive.kernel.terms import Term

FEED_FORWARD: Final = "feed-forward"
CROSS: Final = "cross-attention"


@dataclass(frozen=True)
class Quantity:
    """A proved closed form and its value."""

    closed: Closed
    number: int


@dataclass(frozen=True)
class Operations:
    """Operations by kind, and those of matrix products alone with two for each multiplication."""

    kinds: Mapping[str, Quantity]
    leading: Quantity

    @property
    def total(self) -> int:
        return sum(q.number for q in self.kinds.values())


@dataclass(frozen=True)
class Count:
    """A model, the lengths of its sequences, and how many bytes a number takes."""

    model: Model
    lengths: Mapping[Term, int]
    bytes: int

    @property
    def architecture(self) -> Architecture:
        return self.model.architecture

    @cached_property
    def values(self) -> dict[Term, int]:
        return {**self.model.values, **self.lengths}

    def quantity(self, tensors: Iterable[Tensor]) -> Quantity:
        found = closed.of_tensors(tensors)
        return Quantity(found, found.at(self.values))

    @cached_property
    def total(self) -> Quantity:
        return self.quantity(self.architecture.weights)

    @cached_property
    def components(self) -> dict[str, Quantity]:
        return {
            name: self.quantity(t for t in self.architecture.weights if t.component == name)
            for name in self.architecture.components
        }

    @cached_property
    def active(self) -> Quantity | None:
        """The parameters that one token makes use of, where these are not all."""
        weights = self.architecture.weights
        if all(t.active is None for t in weights):
            return None
        return self.quantity(t.used for t in weights)

    @cached_property
    def share(self) -> Share:
        """The feed-forward networks in all parameters, as a closed form."""
        return closed.share(self.components[FEED_FORWARD].closed, self.total.closed)

    @cached_property
    def ffn_share(self) -> Fraction:
        return self.share.at(self.values)

    @cached_property
    def forward(self) -> Operations:
        return self._operations(forward_work(self.architecture.parts.stages))

    @cached_property
    def training(self) -> Operations:
        """Forward and backward; without loss and update."""
        stages = self.architecture.parts.stages
        return self._operations([*forward_work(stages), *backward_work(stages)])

    def _operations(self, work: Iterable[tuple[Stage, Work]]) -> Operations:
        work = list(work)

        def of(kind: str) -> Quantity:
            found = closed.of_work(work, kind)
            return Quantity(found, found.at(self.values))

        return Operations({kind: of(kind) for kind in KINDS}, of("leading"))

    def per_token(self, operations: int) -> Fraction:
        return operations / closed.value(self.architecture.length, self.values)

    @cached_property
    def cache(self) -> Quantity:
        """Numbers that the cache keeps of a token, keys and values of all layers."""
        return self.quantity(t for t in self.architecture.parts.cache if t.component != CROSS)

    @cached_property
    def cross_cache(self) -> Quantity:
        """The same of a token of the source, for cross-attention."""
        return self.quantity(t for t in self.architecture.parts.cache if t.component == CROSS)

    @cached_property
    def activations(self) -> Quantity:
        """Numbers that are kept for the backward pass of one sequence."""
        return self.quantity(self.architecture.parts.kept)


def forward_work(stages: Iterable[Stage]) -> list[tuple[Stage, Work]]:
    return [(s, w) for s in stages for w in s.forward]


def backward_work(stages: Iterable[Stage]) -> list[tuple[Stage, Work]]:
    return [(s, w) for s in stages for w in s.backward]


def count(model: Model, chosen: Mapping[str, int] | None = None, bytes_each: int | None = None
          ) -> Count:  # fmt: skip
    """The count of a model; `chosen` gives lengths of sequences by name.

    Raises ValueError for a length that the model does not have, that its table of positions does
    not reach, or that leaves experts without a token.
    """
    chosen = chosen or {}
    names = {str(x.data[0]): x for x in model.lengths}
    for name, length in chosen.items():
        if name not in names:
            known = ", ".join(names) or "no length"
            raise ValueError(f"{model.model_type} has no length {name}; it has {known}")
        if model.limited and length > model.context:
            raise ValueError(
                f"{name} = {length}, but the table of positions ends at {model.context}"
            )
    lengths = {x: chosen.get(name, model.context) for name, x in names.items()}
    if sizes.n in lengths and sizes.experts in model.values:
        _tokens_for_all_experts(lengths[sizes.n], model.values)
    return Count(model, lengths, bytes_each or model.bytes)


def _tokens_for_all_experts(n: int, values: Mapping[Term, int]) -> None:
    """The gradient of an expert's matrix is a sum over its tokens, of which there has to be one."""
    experts, active = values[sizes.experts], values[sizes.active_experts]
    if n * active < experts:
        raise ValueError(
            f"n = {n} leaves some of {experts} experts without a token, which is not counted here; "
            f"the smallest is n = {-(-experts // active)}"
        )
