"""Statements as they are written: SymPy evaluates while it builds, and what it drops is not seen.

``exp(2*log(x))`` arrives as ``x**2``, which is defined where the other is not.  So a user's file
is run a second time by `verbatim`, and what is settled is what stands there.  A claim of which the
second reading says something else (SymPy has computed parts of it, say) is taken from the first.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import sympy as sp
from sympy.concrete.expr_with_limits import ExprWithLimits

from derive import language as L
from derive.convert import ConversionError, Converter
from derive.kernel.terms import KernelError, Term
from derive.timing import TimeUp

if TYPE_CHECKING:
    from derive.claim import Claim, Example


def with_written(
    claims: Sequence[Claim], read_again: Callable[[], Sequence[Claim]]
) -> tuple[Claim, ...]:
    """The claims, each with its formulas as they are written where they read differently."""
    try:
        with _in_silence():
            again = read_again()
    except (KeyboardInterrupt, TimeUp):
        raise
    except BaseException:  # of a file's own making; the first reading stands
        return tuple(claims)
    if [c.id for c in again] != [c.id for c in claims]:
        return tuple(claims)
    return tuple(_with(c, w) for c, w in zip(claims, again, strict=True))


@contextlib.contextmanager
def _in_silence() -> Iterator[None]:
    """Without the output and the warnings of a file, which have been seen."""
    with (
        warnings.catch_warnings(action="ignore"),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        yield


def _with(claim: Claim, written: Claim) -> Claim:
    """The claim with its form as it is written, if that says the same and differs."""
    if claim.statement is None or written.statement is None:
        return claim
    formulas, others = _formulas(claim), _formulas(written)
    try:
        if _read(formulas) == _read(others) or _read(map(evaluated, formulas)) != _read(
            map(evaluated, others)
        ):
            return claim
    except (ConversionError, KernelError, TypeError, ValueError):
        return claim
    return replace(claim, written=replace(claim, **_parts(claim, written)))


def _formulas(claim: Claim) -> list[Any]:
    given, added = ([h.formula for h in stated] for stated in (claim.given, claim.added))
    return [*given, *added, claim.statement]


def _read(formulas: Any) -> list[Term]:
    converter = Converter()
    return [converter.formula(f) for f in formulas]


def _parts(claim: Claim, written: Claim) -> dict[str, Any]:
    """What is to be settled, with the symbols as they were declared the second time."""
    example = claim.counterexample
    added = [
        replace(a, formula=w.formula, counterexample=_example(a.counterexample, w.counterexample))
        for a, w in zip(claim.added, written.added, strict=True)
    ]
    return {
        "statement": written.statement,
        "given": tuple(
            replace(g, formula=w.formula)
            for g, w in zip(claim.given, written.given, strict=True)
        ),
        "added": tuple(added),
        "witness": claim.witness and _example(claim.witness, written.witness),
        "counterexample": example and _example(example, written.counterexample),
    }  # fmt: skip


def _example(example: Example, written: Example | None) -> Example:
    """The values of the first reading, for the symbols of the second."""
    assert written is not None
    return replace(example, values=dict(zip(written.values, example.values.values(), strict=True)))


def evaluated(e: Any) -> Any:
    """The expression or formula as SymPy would have built it."""
    if not isinstance(e, sp.Basic) or not e.args or isinstance(e, sp.Idx | sp.IndexedBase):
        return e
    args = [evaluated(a) for a in e.args]
    match e:
        case ExprWithLimits():
            made = sp.Expr.__new__(type(e), *args)  # as in `language.total`
            made.is_commutative = True
            return made
        case L.WrittenSum():
            return sp.Add(*args)
        case sp.core.relational.Relational() | sp.logic.boolalg.BooleanFunction():
            return e.func(*args, evaluate=False)
        case _:
            return e.func(*args)
