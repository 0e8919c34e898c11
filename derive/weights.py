"""Weights of softmax as any weights: positive numbers that add up to 1.

What holds of all of these holds of ``exp(z_i) / sum_j exp(z_j)``, and is found without the
exponentials in the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from derive import consequences, lemmas
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.kernel.terms import KernelError, Lam, Term
from derive.prover import Prover

Prove = Callable[[Term], Theorem]


class _Weights(NamedTuple):
    """f_i / sum_j f_j, where the body is f with the index as bound index."""

    size: Term
    body: Term

    @property
    def sum(self) -> Term:
        return T.total(self.size, self.body)

    def at(self, i: Term) -> Term:
        return T.mul(T.instantiate(self.body, (i,)), T.inv(self.sum))


def made_general(p: Prover, goal: Term, prove: Prove) -> Theorem:
    """An inequality from the same about any weights in place of a softmax, which `prove` proves."""
    for found in dict.fromkeys(_found(goal) if goal.op in ("le", "lt") else ()):
        return _generally(p, goal, found, prove)
    raise KernelError("no weights of a softmax")


def _found(goal: Term) -> Iterator[_Weights]:
    for t in T.subterms(goal):
        for part in t.children if t.op == "mul" else ():
            if part.op == "pow" and part.data == -1 and not part.loose:
                total = part.children[0]
                if total.op == "sum" and total.children[1].op == "fn":
                    yield _Weights(*total.children)


def _generally(p: Prover, goal: Term, found: _Weights, prove: Prove) -> Theorem:
    p.opened += 1
    name = f"_W{p.opened}"
    general = _replaced(goal, found, name)
    if general is goal or found.size.loose:
        raise KernelError("no weights of a softmax")
    i = T.var(f"_i{p.opened}", "fin", found.size)
    positive = T.forall(i, T.lt(T.ZERO, T.apply(name, i)))
    whole = T.eq(T.sum_over(i, T.apply(name, i)), T.ONE)
    with p.supposing(T.conj(positive, whole)) as case, p.remembering(*consequences.of(p)):
        law = p.discharge(prove(general), case)
    law = infer("generalise-tensor", [law], name, 1)
    lam = Lam(1, T.abstract(found.at(i), (i,)))
    instance = infer("specialise", [law], lam)
    each = p.for_all(p.trivial(T.lt(T.ZERO, found.at(i))), i)
    total = lemmas.cleared(p, T.eq(T.sum_over(i, found.at(i)), T.ONE))
    theorem = p.mp(instance, each, total)  # the factors of the goal may stand in another order
    return p.order(goal, (1, theorem))


def _replaced(t: Term, found: _Weights, name: str) -> Term:
    """The term with an entry of the tensor in place of every weight."""
    below = T.inv(found.sum)
    if t.op == "mul" and below in t.children:
        others = [c for c in t.children if c is not below]
        for k, above in enumerate(others):
            place = _place(found.body, above)
            if place is not None:
                rest = [_replaced(c, found, name) for j, c in enumerate(others) if j != k]
                return T.mul(T.apply(name, place), *rest)
    return T.map_children(t, lambda c, _: _replaced(c, found, name))


def _place(body: Term, t: Term) -> Term | None:
    """i, if the term is the body at i."""
    for i in dict.fromkeys(T.subterms(t)):
        if i.op in ("bound", "var", "num", "add") and T.instantiate(body, (i,)) is t:
            return i
    return None
