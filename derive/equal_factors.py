"""Products of equal factors: powers whose exponent is a natural number without a value."""

from __future__ import annotations

from typing import Final

from derive.kernel import terms as T
from derive.kernel.normal import Normaliser
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


def is_count(norm: Normaliser, exponent: Term) -> bool:
    """Whether an exponent is a natural number for sure."""
    return norm.is_int(exponent) and never_negative(norm, exponent)


def never_negative(norm: Normaliser, t: Term) -> bool:
    """Whether t >= 0 at the end of the range of every index.

    Those whose ranges depend on other indices come first.
    """
    poly = norm.poly(t)
    indices = [s for s in T.free_symbols(t) if isinstance(s, Term) and s.data[1] == "fin"]
    if norm.nonneg(poly) or not indices:
        return norm.nonneg(poly)
    k = min(indices, key=lambda s: (not _is_inner(s), s.key))
    within = [m for m in poly if any(k in T.free_symbols(f) for f, _ in m.factors)]
    if any(m.indices or m.factors != ((k, 1),) for m in within):
        return False  # not linear in k
    falls = any(poly[m] < 0 for m in within)
    end = T.sub(k.children[0], T.ONE) if falls else T.ZERO
    return never_negative(norm, norm.term(T.substitute(t, {k: end})))


def _is_inner(s: Term) -> bool:
    """Whether the range of an index depends on other indices."""
    ranges = T.free_symbols(s.children[0]) if s.children else ()
    return any(isinstance(r, Term) and r.data[1] == "fin" for r in ranges)
