"""The terms of a proof log, each read when it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any, Final

from derive.certify.deep import Deep, Node
from derive.kernel.log import read_node
from derive.kernel.terms import KernelError, Term

_OPERATION: Final = itemgetter(0)
#: These are made from terms of the kernel only.
_BY_TERM: Final = frozenset(["var", "diff"])


class Terms(Sequence[Term]):
    """The terms by number, as the kernel's and as the nodes that are written.

    Many stand in a log only for the sequents that its steps claim, and those Coq finds by itself;
    most of the others are needed as nodes only.
    """

    def __init__(self, encoded: Sequence[Any], deep: Deep) -> None:
        self._encoded = encoded
        self._deep = deep
        self._terms: list[Term | None] = [None] * len(encoded)
        self._nodes: list[Node | None] = [None] * len(encoded)

    def __len__(self) -> int:
        return len(self._terms)

    def __getitem__(self, k: Any) -> Any:
        return self._terms[k] or self._term(k)

    def append(self, t: Term) -> None:
        """Add a term that the log does not list."""
        self._terms.append(t)
        self._nodes.append(None)

    def node(self, k: int) -> Node:
        return self._nodes[k] or self._node(k)

    def parts(self, k: int) -> int:
        """How many parts a term has."""
        return len(self._encoded[k][2] if k < len(self._encoded) else self[k].children)

    def has(self, op: str) -> bool:
        """Whether the log lists a term with this operation."""
        return op in map(_OPERATION, self._encoded)

    def _term(self, k: int) -> Term:
        op, data, places = self._encoded[k]
        parts = [self._terms[p] or self._term(_earlier(p, k)) for p in places]
        found = read_node(op, data, tuple(parts))
        self._terms[k] = found
        return found

    def _node(self, k: int) -> Node:
        if k >= len(self._encoded) or self._encoded[k][0] in _BY_TERM:
            found = self._deep(self[k])
        else:
            op, data, places = self._encoded[k]
            parts = [self._nodes[p] or self._node(_earlier(p, k)) for p in places]
            found = self._deep.entry(op, data, parts)
        self._nodes[k] = found
        return found


def _earlier(place: int, k: int) -> int:
    if not 0 <= place < k:
        raise KernelError(f"log: term {k} refers to a later one")
    return place
