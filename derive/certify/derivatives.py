"""Derivative symbols: what they are, as a premise of the statements whose proofs need it.

In the kernel the derivative symbol of a function is its gradient wherever it has one, by the rule
`differentiable`.  In Coq it is any other function, so that these proofs become proofs of their
statements under the premise that it is the gradient.  There is such a function for each, and the
premise says nothing else of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from derive.certify.deep import slope
from derive.certify.reading import Terms
from derive.kernel import terms as T
from derive.kernel.terms import Head, Lam, Term

_RULE: Final = "differentiable"


def premise(f: Head) -> Term:
    """For all numbers, sizes n, vectors x and v: if f has the gradient v in its vector at x, then
    v is the derivative symbol at x."""
    numbers = [T.var(f"?{k}") for k in range(f.scalars)]
    n, x, v = T.var("?n", "dim"), Head("?x", 1), Head("?v", 1)
    c = T.var("?c", "fin", n)
    point, gradient = (T.app(h, T.bound(0)) for h in (x, v))
    function = T.abstract_tensor(T.app(f, *numbers, n, T.app(Head("?X", 1), T.bound(0))), "?X", 1)
    agrees = T.forall(c, T.eq(T.app(v, c), T.app(slope(f), *numbers, c, n, point)))
    p = T.implies(T.grad((n,), function, point, gradient), agrees)
    for h in (v, x):
        p = T.quantified("forall", "tensor", T.abstract_tensor(p, str(h.head), 1), arity=1)
    for number in (n, *reversed(numbers)):
        p = T.forall(number, p)
    return p


class Explained:
    """The steps and roots of a log, with the premise instead of the rule where it says enough."""

    def __init__(self, terms: Terms, steps: Sequence[Any], roots: Sequence[int]) -> None:
        self.terms = terms
        self.steps: list[Any] = []
        #: for each step the premises of above that it rests on
        self._rests: list[dict[Term, None]] = []
        places: list[int] = []
        for step in steps:
            premises = [places[k] for k in step["premises"]]
            if step["rule"] == _RULE and _of_one_vector(terms[step["conclusion"]]):
                places.append(self._applied(premises[0], terms[step["conclusion"]]))
            else:
                places.append(self._step(step["rule"], premises, step["args"], step["conclusion"]))
        self.roots = [self._root(places[k]) for k in roots]

    def _step(self, rule: str, premises: list[int], args: Sequence[Any], conclusion: int) -> int:
        step = {"rule": rule, "premises": premises, "args": args, "conclusion": conclusion}
        self.steps.append(step)
        self._rests.append({p: None for k in premises for p in self._rests[k]})
        return len(self.steps) - 1

    def _made(self, rule: str, premises: list[int], argument: Term | Lam | None, p: Term) -> int:
        """A step with at most one argument, of which the conclusion is given."""
        args: list[Any] = []
        if isinstance(argument, Term):
            args = [{"term": self._term(argument)}]
        elif argument is not None:
            args = [{"arity": argument.arity, "body": self._term(argument.body)}]
        return self._step(rule, premises, args, self._term(p))

    def _term(self, t: Term) -> int:
        self.terms.append(t)
        return len(self.terms) - 1

    def _conclusion(self, k: int) -> Term:
        return self.terms[self.steps[k]["conclusion"]]

    def _applied(self, gradient: int, conclusion: Term) -> int:
        """From the gradient of f and what the derivative symbol is: it is the gradient."""
        (applied,) = conclusion.children
        f = applied.data
        n, function, point, value = self._conclusion(gradient).children
        given = premise(f)
        at = self._made("assume", [], given, given)
        self._rests[at] = {given: None}
        values: list[Term | Lam] = [*applied.children[: f.scalars], n]
        for v in (*values, Lam(1, point), Lam(1, value)):
            p = T.instantiate(self._conclusion(at).children[-1], (v,))
            at = self._made("specialise", [at], v, p)
        agrees = self._conclusion(at).children[1]
        at = self._made("modus-ponens", [at, gradient], None, agrees)
        symbol = agrees.children[1].children[1]
        shown = T.grad((n,), function, point, symbol)
        return self._made("gradient-value", [gradient, at], symbol, shown)

    def _root(self, at: int) -> int:
        for p in reversed(self._rests[at]):
            at = self._made("discharge", [at], p, T.implies(p, self._conclusion(at)))
        return at


def _of_one_vector(conclusion: Term) -> bool:
    """Whether the function has one vector, whose length is a size."""
    (applied,) = conclusion.children
    f = applied.data
    length = applied.children[f.scalars]
    return f.arities == (1,) and length.op == "var" and length.data[1] == "dim"


def explained(terms: Terms, steps: Sequence[Any], roots: Sequence[int]) -> tuple[Any, Any]:
    """Steps and roots without the rule, for functions of one vector; terms that they need are added
    to the others."""
    if all(step["rule"] != _RULE for step in steps):
        return steps, roots
    made = Explained(terms, steps, roots)
    return made.steps, made.roots
