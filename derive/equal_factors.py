"""Products of equal factors: powers whose exponent is a natural number without a value."""

from __future__ import annotations

from typing import Final

from derive.kernel import terms as T
from derive.kernel.terms import Term

_INDEX: Final = T.var("_index", "int")


def base(t: Term) -> Term | None:
    """The factor of a product that is the same for all indices, as it reads outside; else None."""
    if t.op != "prod":
        return None
    factor = T.instantiate(t.children[1], (_INDEX,))
    return None if _INDEX in factor.free else factor


def is_power(t: Term) -> bool:
    return base(t) is not None
