"""Inner products of vectors whose norms occur: ``<x, y> <= |x| |y|``, proved for all vectors.

The vectors are what stands under the roots as it is written, such as differences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Final

from derive import search
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.kernel.terms import KernelError, Lam, Term
from derive.prover import Prover

Prove = Callable[[Term], Theorem]
Use = tuple[Term, tuple[Theorem, ...]]
#: So many norms are multiplied with each other.
MAX_NORMS: Final = 4


def found(p: Prover, goal: Term) -> list[Term]:
    """The norms in the goal and in the relations that are known."""
    known = (g.conclusion for g in p.known() if g.conclusion.op in ("eq", "le", "lt"))
    parts = dict.fromkeys(t for c in (goal, *known) for t in T.subterms(c))
    return [t for t in parts if _is_norm(t) and not t.loose][:MAX_NORMS]


def _is_norm(t: Term) -> bool:
    if t.op != "fn" or t.data != "sqrt" or t.children[0].op != "sum":
        return False
    body = t.children[0].children[1]
    return body.op == "pow" and body.data == 2


def inner_products(p: Prover, norms: Sequence[Term], prove: Prove) -> Iterator[Theorem]:
    """<x, y> <= |x| |y| and -<x, y> <= |x| |y| for any two of the norms."""
    pairs = [(s, t) for s, t in combinations(norms, 2) if _size(s) is _size(t)]
    for sign in (1, -1) if pairs else ():
        laws: dict[Term, Theorem] = {}
        for s, t in pairs:
            size = _size(s)
            if size not in laws:
                laws[size] = _cauchy(p, size, sign, prove)
            theorem = laws[size]
            for norm in (s, t):
                theorem = infer("specialise", [theorem], Lam(1, _entry(norm)))
            yield theorem


def _size(norm: Term) -> Term:
    return norm.children[0].children[0]


def _entry(norm: Term) -> Term:
    return norm.children[0].children[1].children[0]


def _cauchy(p: Prover, size: Term, sign: int, prove: Prove) -> Theorem:
    """For all x and y of that length: <x, y> <= |x| |y|, or the same with -x."""
    p.opened += 1
    names = [f"_X{p.opened}", f"_Y{p.opened}"]
    i = T.var(f"_i{p.opened}", "fin", size)
    x, y = (T.apply(name, i) for name in names)
    roots = [T.fn("sqrt", T.sum_over(i, T.power(t, 2))) for t in (x, y)]
    product = T.sum_over(i, T.mul(x, y))
    theorem = prove(T.le(product if sign > 0 else T.neg(product), T.mul(*roots)))
    for name in reversed(names):
        theorem = infer("generalise-tensor", [theorem], name, 1)
    return theorem


def uses(p: Prover, norms: Sequence[Term], products: Sequence[Theorem]) -> list[Use]:
    """The bounds of inner products, and what is known of norms times the others."""
    out: list[Use] = [(T.ONE, (t,)) for t in products]
    for g in p.known():
        c = g.conclusion
        if c.op in ("eq", "le", "lt") and any(t in norms for t in T.subterms(c)):
            for factor in norms:
                out.append((factor, (g,)))
                if c.op == "eq":
                    out.append((T.neg(factor), (g,)))
    return out


def by_inner_products(
    p: Prover, goal: Term, law: Prove, prove: Callable[[Sequence[Use]], Theorem]
) -> Theorem:
    """What `prove` makes of the goal with the bounds of inner products, which `law` proves."""
    norms = found(p, goal)
    try:
        products = list(inner_products(p, norms, law))
    except KernelError as error:
        raise search.NotFound(goal, str(error)) from error
    if not products:
        raise search.NotFound(goal, "no two norms")
    with p.remembering(*products):
        return prove(uses(p, norms, products))
