"""What the claims about backward passes share: how they are stated, proved and measured.

A backward pass takes the gradient G of a loss by the output and returns its gradients by the
inputs.  By the chain rule these are the gradients of the sum of all entries of the output, each
times its entry of G, where G does not change with the inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import sympy as sp

from derive.claim import Argument, Claim, Example, Given, Mutation, Notation, Script
from derive.claims import NUMERIC
from derive.claims._norms import flipped
from derive.convert import Converter
from derive.evaluate import Evaluation
from derive.kernel.rules import Theorem
from derive.kernel.terms import Term
from derive.language import GradientIs, equal, forall, implies
from derive.prover import Prover
from derive.result import Source, Verdict
from derive.twin import Trial, Twin
from derive.twin import equal as agree

Place = tuple[Any, ...]


@dataclass(frozen=True)
class Case:
    """Numbers and arrays for the symbols, and what the implementation makes of them.

    `output` is the sum of the entries of its output, each times its coefficient.
    """

    values: dict[Any, Any]
    output: Any
    gradient: Any


Draw = Callable[[np.random.Generator], Iterator[Case]]
Mistake = tuple[str, Any] | tuple[str, Any, dict[Any, Any]]
Mistakes = Callable[[], tuple[Mistake, ...]]
COMPARED = "the formula that was proved, at random arrays, and the backward pass in NumPy"


def backward_claim(
    name: str, title: str, says: str, gradient: GradientIs, proof: Script, draw: Draw, *,
    given: tuple[Given, ...] = (), premise: Any = None, defined: Argument | None = None,
    mistakes: Mistakes | None = None, only_in_numbers: bool = False, remark: str = "",
) -> Claim:  # fmt: skip
    """That a gradient has the form in which `numeric/` computes it.

    `says` tells what the implementation returns, and `draw` runs it.  `mistakes` are texts, the
    gradients that would then be claimed, and values at which those are others than the true ones,
    where the search does not find any; of long formulas only the numbers are looked at.
    """

    def stated(gradient: GradientIs) -> Any:
        return gradient if premise is None else implies(premise, gradient)

    def mutations() -> tuple[Mutation, ...]:
        return tuple(mistaken(*mistake) for mistake in (mistakes or tuple)())

    def mistaken(text: str, value: Any, values: dict[Any, Any] | None = None) -> Mutation:
        statement = stated(with_value(gradient, value))
        twin = Twin(COMPARED, partial(trials, statement, given, draw))
        return Mutation(
            text, statement=None if only_in_numbers else statement, twin=twin,
            counterexample=None if values is None else Example(values),
        )  # fmt: skip

    statement = stated(gradient)
    return Claim(
        id=f"backward/{name}",
        title=title,
        source=Source(NUMERIC, (), says),
        statement=statement,
        given=given,
        proof=proof,
        defined=defined,
        twin=Twin(COMPARED, partial(trials, statement, given, draw)),
        mutations=None if mistakes is None else mutations,
        expected=Verdict.PROVED,
        remark=remark,
    )


# ---------------------------------------------------------------------- proofs


def by_table(
    goal: GradientIs, first: str, then: str, *using: int, last: str = "so this is the gradient"
) -> Script:
    """The derivative table, and one equation that brings what it gives to the form of the goal.

    `using` numbers the hypotheses that the equation needs.
    """

    def prove(p: Prover) -> Theorem:
        raw = p.gradient(goal, reason=first)
        return in_form(p, raw, goal, then, *(p.hyp(k) for k in using), last=last)

    return prove


def in_form(
    p: Prover, raw: Theorem, goal: GradientIs, reason: str, *using: Any,
    last: str = "so this is the gradient",
) -> Theorem:  # fmt: skip
    """The gradient with the partial derivatives of the goal, which equal those that it has."""
    place = place_of(goal)
    entry = p.equal(p.partial(raw, *place), goal.args[3], *using, reason=reason)
    return p.note(p.with_partial(raw, entry, *place), last)


def inserted(p: Prover, raw: Theorem, goal: GradientIs, *rules: Theorem) -> Theorem:
    """The gradient with the right sides of the rules in its partial derivatives."""
    place = place_of(goal)
    return p.with_partial(raw, p.replace(p.partial(raw, *place), *rules), *place)


def defined_as(name: Any, at: Place, value: Any, note: str) -> Notation:
    """For all indices: the entry of `name` is the value."""
    return Notation(forall(list(at), equal(name[at] if at else name, value)), note)


def by_name(p: Prover, definition: Theorem, *at: Any) -> Theorem:
    """For all indices: value = name, from the definition of the name."""
    return p.for_all(flipped(p, p.at(definition, *at)), *at)


def with_value(goal: GradientIs, value: Any) -> GradientIs:
    """The same with another gradient."""
    return GradientIs(*goal.args[:3], value)


def place_of(goal: GradientIs) -> Place:
    at = goal.args[2]
    return tuple(at) if isinstance(at, sp.Tuple) else (at,)


# ---------------------------------------------------------------------- twins


@cache
def _formulas(
    statement: Any, given: tuple[Given, ...]
) -> tuple[Term, tuple[tuple[Term, bool], ...]]:
    """The statement and the hypotheses as kernel terms; a hypothesis may be a definition."""
    converter = Converter()
    hypotheses = tuple((converter.formula(h.formula), isinstance(h, Notation)) for h in given)
    return converter.formula(statement), hypotheses


def trials(
    statement: Any, given: tuple[Given, ...], draw: Draw, rng: np.random.Generator
) -> Iterator[Trial]:
    """What is differentiated, and its gradient by the formula, against the implementation."""
    goal, hypotheses = _formulas(statement, given)
    for number, case in enumerate(draw(rng), start=1):
        at = Evaluation(named(case.values))
        for hypothesis, defines in hypotheses:
            if defines:
                at.define(hypothesis)
            else:
                yield agree(at.holds(hypothesis), True, f"case {number}: a hypothesis")
        gradient = goal
        if goal.op == "imp":
            gradient = goal.children[1]
            yield agree(at.holds(goal.children[0]), True, f"case {number}: the premise")
        output, partials = at.gradient(gradient)
        yield agree(output, case.output, f"case {number}: what is differentiated")
        yield agree(partials, case.gradient, f"case {number}: its gradient")


def named(values: dict[Any, Any]) -> dict[str, Any]:
    """The values by the names of the symbols, and the sizes that the arrays have."""
    out: dict[str, Any] = {}
    for symbol, value in values.items():
        if isinstance(symbol, sp.IndexedBase):
            out[str(symbol.label)] = value
            for size, length in zip(symbol.shape, np.shape(value), strict=True):
                if isinstance(size, sp.Symbol):
                    known = out.setdefault(size.name, length)
                    if known != length:
                        raise ValueError(f"{symbol}: {size} is {known}, not {length}")
        else:
            out[symbol if isinstance(symbol, str) else symbol.name] = value
    return out


def paired(cotangent: Any, output: Any) -> float:
    """The sum of all entries of the output, each times its coefficient."""
    return float(np.sum(cotangent * output))


def normal(rng: np.random.Generator, *shapes: Sequence[int]) -> Iterator[Any]:
    """Random arrays of these shapes."""
    return (rng.standard_normal(shape) for shape in shapes)
