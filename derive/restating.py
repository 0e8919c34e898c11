"""A statement from another form of it: what SymPy made of it while it was built.

Both forms are in the kernel's terms, and that the one follows from the other is proved: the sides
of every relation are shown to be equal under what is supposed there.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import count

from derive import auto, rewriting, search, substitution
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.kernel.terms import KernelError, Term
from derive.prover import Prover


def prove(p: Prover, goal: Term, hypotheses: Sequence[Term], conclusion: Term) -> Theorem:
    """The goal from `conclusion`, which is proved under other forms of the hypotheses, too."""
    with p.remembering(*_hypotheses(p, hypotheses)):
        return restated(p, auto.prove(p, conclusion), goal)


def _hypotheses(p: Prover, forms: Sequence[Term]) -> list[Theorem]:
    out = []
    for given, form in zip(p.given, forms, strict=True):
        if given.conclusion is not form:
            try:
                out.append(restated(p, given, form))
            except (search.NotFound, KernelError):
                continue
    return out


def restated(p: Prover, theorem: Theorem, goal: Term) -> Theorem:
    """The theorem in the form of the goal; raises `search.NotFound` or `KernelError`."""
    form = theorem.conclusion
    if form is goal:
        return theorem
    if form.op != goal.op or len(form.children) != len(goal.children):
        raise search.NotFound(goal, "another kind of statement")
    match goal.op:
        case "eq" | "le" | "lt" | "isint":
            return _relation(p, theorem, goal)
        case "and":
            parts = [restated(p, p.part(theorem, k), g) for k, g in enumerate(goal.children)]
            return infer("conj", parts)
        case "imp":
            with p.supposing(goal.children[0]) as case:
                premise = restated(p, case, form.children[0])
                done = restated(p, p.mp(theorem, premise), goal.children[1])
            return p.discharge(done, case)
        case "forall" if goal.data == form.data and goal.data[0] != "tensor":
            x = auto.fresh(goal.data[0], goal.children[:-1], p)
            instance = T.instantiate(goal.children[-1], (x,))
            return infer("generalise", [restated(p, p.at(theorem, x), instance)], x)
        case _:
            raise search.NotFound(goal, "another form of it is known")


def _relation(p: Prover, theorem: Theorem, goal: Term) -> Theorem:
    sides = zip(goal.children, theorem.conclusion.children, strict=True)
    changes = [None if new is old else _same(p, new, old) for new, old in sides]
    return substitution.from_changed(p, goal, changes, lambda form: theorem)


def _same(p: Prover, a: Term, b: Term) -> Theorem:
    """a = b, if need be part by part."""
    try:
        return auto.prove(p, T.eq(a, b), 0)
    except (search.NotFound, KernelError):
        alike = (a.op, a.data, len(a.children)) == (b.op, b.data, len(b.children))
        if a.op not in ("add", "mul", "pow", "fn") or not alike:
            raise
    theorem = rewriting.same(a)
    for k, part in enumerate(b.children):
        at = theorem.conclusion.children[1]
        if at.children[k] is not part:
            same = _same(p, at.children[k], part)
            theorem = p.rewrite(same, theorem, partial(_equal_to, a, at, k))
    return theorem


def _equal_to(a: Term, t: Term, place: int, part: Term) -> Term:
    """a = t, with another part at a place of t."""
    places = count()
    return T.eq(a, T.map_children(t, lambda c, _: part if next(places) == place else c))
