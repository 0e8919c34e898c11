"""Equations between long formulas with exponentials, proved for any numbers in their place.

The normal form of a sum multiplies everything out, and looks into every exponential each time that
an index gets another name.  Where an equation holds whatever the exponentials are, it is shorter to
prove it for a tensor in their place, and to put them in at the end: a substitution, which takes no
normal form.  Nothing here is trusted: each step is a kernel rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.kernel.terms import Lam, Term

#: From so many exponentials of sums on, it pays.
WORTH_WHILE: Final = 4
Prove = Callable[[Term, Sequence[Theorem]], Theorem]


def proved(goal: Term, using: Sequence[Theorem], prove: Prove) -> Theorem | None:
    """The equation by `prove`, with tensors for exponentials; None where there are too few."""
    opaque = _Opaque([goal, *(t.conclusion for t in using)])
    if opaque.count < WORTH_WHILE:
        return None
    forms = [opaque.of(t.conclusion) for t in using]
    assumed = [
        t if form is t.conclusion else infer("assume", [], form)
        for t, form in zip(using, forms, strict=True)
    ]
    theorem = prove(opaque.of(goal), assumed)
    needed = [
        (t, form)
        for t, form in zip(using, forms, strict=True)
        if form is not t.conclusion and form in theorem.hypotheses
    ]
    for _, form in needed:
        theorem = infer("discharge", [theorem], form)
    for name, lam in opaque.tensors:
        theorem = infer("generalise-tensor", [theorem], name, lam.arity)
    for _, lam in reversed(opaque.tensors):
        theorem = infer("specialise", [theorem], lam)
    for t, _ in reversed(needed):
        theorem = infer("modus-ponens", [theorem, t])
    return theorem


class _Opaque:
    """Tensors for the exponentials of sums in some formulas, one for all that differ in indices."""

    def __init__(self, formulas: Sequence[Term]) -> None:
        self.count = 0
        self._names: dict[Term, str] = {}
        self._taken = {s for f in formulas for s in f.free}
        self._found: dict[Term, Term] = {}
        for f in formulas:
            self._count_in(f)

    @property
    def tensors(self) -> list[tuple[str, Lam]]:
        return [(name, Lam(_arity(skeleton), skeleton)) for skeleton, name in self._names.items()]

    def _count_in(self, t: Term) -> None:
        if _is_heavy(t):
            self.count += 1
        else:
            for c in t.children:
                self._count_in(c)

    def of(self, t: Term) -> Term:
        """The formula with tensors for its exponentials."""
        found = self._found.get(t)
        if found is None:
            made = self._entry(t) if _is_heavy(t) else T.map_children(t, lambda c, _: self.of(c))
            found = self._found[t] = made
        return found

    def _entry(self, t: Term) -> Term:
        places: list[Term] = []
        skeleton = _with_holes(t, places, 0)
        # the holes are the outermost bound indices of the tensor, the last of them index 0
        body = T.abstract(skeleton, [_hole(k) for k in range(len(places))])
        name = self._names.get(body)
        if name is None:
            k = len(self._names)
            while f"_e{k}" in self._taken:
                k += 1
            name = self._names[body] = f"_e{k}"
            self._taken.add(name)
        return T.apply(name, *places)


def _is_heavy(t: Term) -> bool:
    return t.op == "fn" and t.data == "exp" and any(s.op == "sum" for s in T.subterms(t))


def _hole(k: int) -> Term:
    return T.var(f"_hole{k}")


def _arity(body: Term) -> int:
    return body.loose


def _with_holes(t: Term, places: list[Term], depth: int) -> Term:
    """`t` with a hole for every index that it gets from outside; `places` gets the indices."""
    outside = T.bound(t.data - depth) if t.op == "bound" and t.data >= depth else None
    if t.op == "var" and t.data[1] == "fin":
        outside = t
    if outside is not None:
        places.append(outside)
        return _hole(len(places) - 1)
    return T.map_children(t, lambda c, n: _with_holes(c, places, depth + n))
