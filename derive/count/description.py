"""What an architecture consists of: tensors with shapes and copies, and the steps of computing.

Sizes are terms of the kernel.  `copies` are axes in front of the shape (layers, experts): a tensor
with copies (L,) and shape (d, d) is there L times.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from derive.kernel import terms as T
from derive.kernel.terms import Term

Shape = tuple[Term, ...]

#: The kinds of operations, in the order in which they are shown.
KINDS: Final = (
    "multiply", "add", "subtract", "divide", "exponential", "root", "activation",
)  # fmt: skip


@dataclass(frozen=True)
class Tensor:
    """Weights, or numbers that are kept; `active` are the copies that one token makes use of."""

    name: str
    component: str
    shape: Shape
    copies: Shape = ()
    active: Shape | None = None

    @property
    def axes(self) -> Shape:
        return (*self.copies, *self.shape)

    @property
    def used(self) -> Tensor:
        """The part of it that one token makes use of."""
        return self if self.active is None else replace(self, copies=self.active, active=None)


@dataclass(frozen=True)
class Work:
    """What each entry of an array with the shape `over` takes, by kind of operation.

    `inner` is the length of the dot product, where the array is a matrix product.
    """

    over: Shape
    each: Mapping[str, Term]
    inner: Term | None = None


@dataclass(frozen=True)
class Stage:
    """A step of the forward pass, and what its gradients take in the backward pass."""

    name: str
    component: str
    forward: tuple[Work, ...]
    backward: tuple[Work, ...] = ()
    copies: Shape = ()


@dataclass(frozen=True)
class Part:
    """Some of an architecture: its weights, steps, activations kept for the backward pass, and
    the cache of keys and values, for one token."""

    weights: tuple[Tensor, ...] = ()
    stages: tuple[Stage, ...] = ()
    kept: tuple[Tensor, ...] = ()
    cache: tuple[Tensor, ...] = ()

    def __add__(self, other: Part) -> Part:
        return Part(
            (*self.weights, *other.weights), (*self.stages, *other.stages),
            (*self.kept, *other.kept), (*self.cache, *other.cache),
        )  # fmt: skip

    def repeated(self, *copies: Term) -> Part:
        """The same for every layer."""

        def tensor(t: Tensor) -> Tensor:
            active = None if t.active is None else (*copies, *t.active)
            return replace(t, copies=(*copies, *t.copies), active=active)

        return Part(
            tuple(map(tensor, self.weights)),
            tuple(replace(s, copies=(*copies, *s.copies)) for s in self.stages),
            tuple(map(tensor, self.kept)),
            tuple(map(tensor, self.cache)),
        )

    def named(self, prefix: str) -> Part:
        """The same with longer names."""

        def tensor(t: Tensor) -> Tensor:
            return replace(t, name=f"{prefix} {t.name}")

        return Part(
            tuple(map(tensor, self.weights)),
            tuple(replace(s, name=f"{prefix} {s.name}") for s in self.stages),
            tuple(map(tensor, self.kept)),
            tuple(map(tensor, self.cache)),
        )


@dataclass(frozen=True)
class Architecture:
    """A family of models: what it is called, its parts, and the conventions of counting.

    `length` is the number of tokens to which a cost per token refers.
    """

    family: str
    title: str
    parts: Part
    conventions: tuple[str, ...] = ()
    length: Term = field(default=T.ONE)

    @property
    def weights(self) -> tuple[Tensor, ...]:
        return self.parts.weights

    @property
    def components(self) -> tuple[str, ...]:
        """The components that hold weights, in the order of the list."""
        return tuple(dict.fromkeys(t.component for t in self.weights))


def joined(parts: Iterable[Part]) -> Part:
    out = Part()
    for part in parts:
        out += part
    return out


def summed(axes: Shape, body: Term = T.ONE) -> Term:
    """The sum of `body` over all entries of a tensor with these axes."""
    for size in reversed(axes):
        body = T.total(size, body)
    return body
