"""Replacing terms inside others, also under sums, without bringing anything to normal form.

A chain of equations through normal forms multiplies everything out; where a few places of a long
formula change, it is shorter to say so.  Nothing here is trusted: each step is a kernel rule.
"""

from __future__ import annotations

from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.kernel.terms import KernelError, Term

Binding = dict[Term, Term]


def replaced(t: Term, rule: Theorem) -> Theorem:
    """t = t', where t' has the right side of `rule` in place of every instance of the left side.

    `rule` is an equation, possibly for all values of some variables.  What has been replaced is
    not looked at again.
    """
    variables: list[Term] = []
    pattern = rule.conclusion
    while pattern.op == "forall" and pattern.data[0] != "tensor":
        v = T.var(f"_?{len(variables)}", pattern.data[0], *pattern.children[:-1])
        variables.append(v)
        pattern = T.instantiate(pattern.children[-1], (v,))
    if pattern.op != "eq":
        raise KernelError(f"replace: {rule.conclusion} is not an equation")
    made = _Replacing(rule, tuple(variables), pattern.children[0]).walk(t, 0)
    return same(t) if made is None else made


def same(t: Term) -> Theorem:
    """t = t."""
    x = T.var("_x", "real")
    law = infer("generalise", [infer("linear-combination", [], T.eq(x, x), 0, ())], x)
    return infer("specialise", [law], t)


def _with_children(t: Term, children: list[Term]) -> Term:
    at = iter(children)
    return T.map_children(t, lambda _c, _n: next(at))


class _Replacing:
    def __init__(self, rule: Theorem, variables: tuple[Term, ...], left: Term) -> None:
        self.rule = rule
        self.variables = variables
        self.left = left

    def walk(self, t: Term, depth: int) -> Theorem | None:
        """t = t', None if nothing in `t` is replaced."""
        binding = self.match(self.left, t, {})
        if binding is not None:
            return self.instance(binding)
        if t.op == "sum":
            i = T.var(f"_r{depth}", "fin", t.children[0])
            inner = self.walk(T.instantiate(t.children[1], (i,)), depth + 1)
            if inner is None:
                return None
            return infer("extensionality", [infer("generalise", [inner], i)], t, 1)
        return self.children(t, depth)

    def children(self, t: Term, depth: int) -> Theorem | None:
        changed: Theorem | None = None
        hole = T.var("_hole", "real")
        for k, c in enumerate(t.children):
            inner = self.walk(c, depth) if not t.binds[k] and t.op != "var" else None
            if inner is None:
                continue
            if changed is None:
                changed = same(t)
            now = list(changed.conclusion.children[1].children)
            now[k] = hole
            template = T.eq(t, _with_children(t, now))
            changed = infer("leibniz", [inner, changed], hole, template)
        return changed

    def instance(self, binding: Binding) -> Theorem | None:
        theorem = self.rule
        for v in self.variables:
            if v not in binding:
                return None
            try:
                theorem = infer("specialise", [theorem], binding[v])
            except KernelError:  # not known to be in the range of the variable
                return None
        return theorem

    def match(self, p: Term, t: Term, binding: Binding) -> Binding | None:
        if p in self.variables:
            if p in binding:
                return binding if binding[p] is t else None
            return None if t.loose or T.is_formula(t) else {**binding, p: t}
        if p is t:
            return binding
        if p.op != t.op or p.data != t.data or len(p.children) != len(t.children):
            return None
        for a, b in zip(p.children, t.children, strict=True):
            found = self.match(a, b, binding)
            if found is None:
                return None
            binding = found
        return binding
