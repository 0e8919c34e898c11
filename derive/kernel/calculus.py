"""Gradients through index expressions: the derivative table, applied to a term.

`differentiate` computes the partial derivatives of an expression with respect to the components
of one tensor and lists the conditions under which the result holds.
"""

from __future__ import annotations

from typing import Final

from derive.kernel import terms as T
from derive.kernel.normal import Normaliser, Sign
from derive.kernel.terms import KernelError, Lam, Term

_X: Final = "%x"


def differentiate(
    dims: tuple[Term, ...], function: Term, point: Term
) -> tuple[Term, tuple[Term, ...], frozenset[str]]:
    """The gradient of `function` at `point`, as a body under one index per dimension.

    `function` has the tensor as bound index 0; `point` binds one index per dimension.  Returns
    the value, the conditions (formulas that have to hold for it to be the derivative) and the
    evaluations by which further conditions are known to hold.
    """
    if any(d.loose for d in dims) or function.loose > 1 or point.loose > len(dims):
        raise KernelError("derivative: a loose index")
    component = tuple(T.var(f"%c{k}", "fin", d) for k, d in enumerate(dims))
    work = _Derivation(dims, component, {_X: Lam(len(dims), point)})
    value = work.partial(T.instantiate(function, (_X,)))
    conditions = tuple(dict.fromkeys(work.conditions))
    gradient = T.abstract(work.at_point(value), component)
    return gradient, conditions, frozenset(work.norm.used)


class _Derivation:
    def __init__(
        self, dims: tuple[Term, ...], component: tuple[Term, ...], point: dict[str, Lam]
    ) -> None:
        self.dims = dims
        self.component = component
        self.point = point
        self.conditions: list[Term] = []
        #: the summed indices above the subterm, over which its conditions are closed
        self.above: list[Term] = []
        self.norm = Normaliser()

    def at_point(self, t: Term) -> Term:
        return T.substitute(t, {}, self.point)

    def require(self, condition: Term) -> None:
        for i in reversed(self.above):
            if i in T.free_symbols(condition):
                condition = T.forall(i, condition)
        self.conditions.append(condition)

    def partial(self, t: Term) -> Term:
        """The derivative of `t` by the component, with the tensor still free."""
        if _X not in T.free_symbols(t):
            return T.ZERO
        match t.op:
            case "app":
                return self._application(t)
            case "add":
                return T.add(*(d for c in t.children if (d := self.partial(c)) is not T.ZERO))
            case "mul":
                return self._product(t)
            case "pow":
                return self._power(t)
            case "sum":
                if _X in T.free_symbols(t.children[0]):
                    raise KernelError(f"derivative: the range of {t} depends on the variable")
                i = T.var(f"%d{len(self.above)}", "fin", t.children[0])
                self.above.append(i)
                inner = self.partial(T.instantiate(t.children[1], (i,)))
                self.above.pop()
                return T.sum_over(i, inner)
            case "fn" if t.data in ("sin", "cos", "exp", "log", "sqrt"):
                return self._function(t)
            case _:
                raise KernelError(f"derivative: no rule for {t}")

    def _product(self, t: Term) -> Term:
        parts = []
        for k, c in enumerate(t.children):
            d = self.partial(c)
            if d is not T.ZERO:
                parts.append(T.mul(*t.children[:k], d, *t.children[k + 1 :]))
        return T.add(*parts)

    def _power(self, t: Term) -> Term:
        base, e = t.children[0], t.data
        if e < 0:
            value = self.at_point(base)
            if not self.norm.term_has_sign(value, Sign.NONZERO):
                self.require(T.negate(T.eq(value, T.ZERO)))
        return T.mul(T.num(e), T.power(base, e - 1), self.partial(base))

    def _function(self, t: Term) -> Term:
        x = t.children[0]
        if t.data in ("log", "sqrt"):
            value = self.at_point(x)
            if not self.norm.term_has_sign(value, Sign.POS):
                self.require(T.lt(T.ZERO, value))
        outer = {
            "sin": lambda: T.fn("cos", x),
            "cos": lambda: T.neg(T.fn("sin", x)),
            "exp": lambda: t,
            "log": lambda: T.inv(x),
            "sqrt": lambda: T.div(T.num(1), T.mul(T.num(2), t)),
        }[t.data]()
        return T.mul(outer, self.partial(x))

    def _application(self, t: Term) -> Term:
        head = t.data
        scalars = t.children[: head.scalars]
        if any(_X in T.free_symbols(c) for c in scalars):
            raise KernelError(f"derivative: an index of {t} depends on the variable")
        if head.head == _X:
            return T.mul(*(T.delta(c, s) for c, s in zip(self.component, scalars, strict=True)))
        parts: list[Term] = []
        at = head.scalars
        for slot, arity in enumerate(head.arities):
            sizes, body = t.children[at : at + arity], t.children[at + arity]
            at += arity + 1
            if _X in T.free_symbols(body):
                if parts:  # being differentiable in each slot is less than in both together
                    raise KernelError(f"derivative: two arguments of {t} depend on the variable")
                parts.append(self._slot(t, slot, sizes, body))
            if any(_X in T.free_symbols(s) for s in sizes):
                raise KernelError(f"derivative: a size in {t} depends on the variable")
        return T.add(*parts)

    def _slot(self, t: Term, slot: int, sizes: tuple[Term, ...], body: Term) -> Term:
        """Chain rule: Sum over b of (partial of f by component b) * (partial of component b)."""
        self.require(T.differentiable(self.at_point(t), slot))
        head = t.data
        index = tuple(T.var(f"%e{len(self.above)}_{k}", "fin", n) for k, n in enumerate(sizes))
        outer_head = T.Head(
            head.head, head.scalars + len(index), head.arities,
            (*head.derivatives, slot), head.random,
        )  # fmt: skip
        outer = T.app(outer_head, *t.children[: head.scalars], *index, *t.children[head.scalars :])
        self.above.extend(index)
        inner = self.partial(T.instantiate(body, index))
        del self.above[len(self.above) - len(index) :]
        out = T.mul(outer, inner)
        for i in reversed(index):
            out = T.sum_over(i, out)
        return out
