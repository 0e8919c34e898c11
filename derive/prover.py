"""How a proof script talks to the kernel.

A `Prover` holds the hypotheses of one claim as theorems and offers the moves that mathematicians
use: calculate along a chain of equations, take an instance, prove for every index, split into
cases, argue by induction.  Every move ends in kernel rules; the lines that a reader sees
(`Prover.lines`) are the conclusions of theorems that were made on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import sympy as sp

from derive import rewriting, search
from derive.convert import Converter
from derive.kernel import terms as T
from derive.kernel.calculus import differentiate
from derive.kernel.rules import Item, Theorem, infer
from derive.kernel.terms import KernelError, Lam, Term


@dataclass(frozen=True)
class Line:
    """One displayed step: the theorem, whose conclusion is printed, and why it holds."""

    theorem: Theorem
    reason: str


class Prover:
    """The moves of a proof script.

    Expressions and formulas may be SymPy's or the kernel's own.  `given` holds the theorems of
    the hypotheses in order: what the symbols' declarations say, then the source's, then the
    added ones.  `hyp(k)` is the k-th hypothesis that the claim states itself.
    """

    def __init__(self, converter: Converter, hypotheses: Sequence[Term], declared: int = 0) -> None:
        self.converter = converter
        self.hypotheses = tuple(hypotheses)
        self.given = [infer("assume", [], h) for h in hypotheses]
        self.declared = declared
        self.lines: list[Line] = []
        self.opened = 0
        #: whether the automatic prover tries everything that it knows
        self.patient = True
        self._facts: list[Theorem] = []
        self._known: list[Theorem] = []
        for g in self.given:
            self.learn(g)

    # ------------------------------------------------------------------ reading

    def term(self, e: Any) -> Term:
        return self.converter.term(e)

    def formula(self, p: Any) -> Term:
        return self.converter.formula(p)

    def hyp(self, k: int) -> Theorem:
        return self.given[self.declared + k]

    def learn(self, theorem: Theorem) -> None:
        """Remember what is known, and each part of it."""
        self._known.append(theorem)
        if theorem.conclusion.op == "and":
            for k in range(len(theorem.conclusion.children)):
                self.learn(self.part(theorem, k))
        elif _is_fact(theorem.conclusion):
            self._facts.append(theorem)

    def known(self) -> list[Theorem]:
        """What is assumed at this point, with the parts of conjunctions."""
        return list(self._known)

    @contextmanager
    def supposing(self, p: Any) -> Iterator[Theorem]:
        """Assume `p` within the block."""
        case = infer("assume", [], self.formula(p))
        with self.remembering(case):
            yield case

    @contextmanager
    def remembering(self, *theorems: Theorem) -> Iterator[None]:
        """Take what the theorems say as known, and forget at the end what was learned within."""
        marks = len(self._known), len(self._facts)
        for t in theorems:
            self.learn(t)
        try:
            yield
        finally:
            del self._known[marks[0] :]
            del self._facts[marks[1] :]

    @contextmanager
    def setting_aside(self, theorem: Theorem) -> Iterator[None]:
        """Do without something that is known within the block, where it is used up."""
        place = next(k for k, t in enumerate(self._known) if t is theorem)
        del self._known[place]
        try:
            yield
        finally:
            self._known.insert(place, theorem)

    def facts(self, *more: Theorem) -> list[Theorem]:
        """Signs and integers that are known: from hypotheses and from `fact`."""
        return [*self._facts, *more]

    def fact(self, theorem: Theorem) -> Theorem:
        """Let the following steps use a sign or an integer that was proved."""
        self._facts.append(theorem)
        return theorem

    def note(self, theorem: Theorem, reason: str) -> Theorem:
        """Show the theorem as a line of the derivation."""
        self.lines.append(Line(theorem, reason))
        return theorem

    # ------------------------------------------------------------------ equations

    def equal(self, a: Any, b: Any, *using: Any, reason: str = "", show: bool = True) -> Theorem:
        """a = b, by ring laws and the given equations, read from left to right.

        With (cofactor, equation) in place of every equation nothing is searched: a - b is the sum
        of the equations' differences, each times its cofactor.
        """
        theorem = self._equation(self.term(a), self.term(b), using)
        return self.note(theorem, reason) if show else theorem

    def calc(self, start: Any, *steps: tuple[Any, ...], show: bool = True) -> Theorem:
        """``start = e1 = e2 = ...``; a step is (expression, reason, equations used ...)."""
        first = before = self.term(start)
        links: list[Theorem] = []
        for expression, reason, *using in steps:
            after = self.term(expression)
            links.append(self._equation(before, after, using))
            if show:
                self.note(links[-1], reason)
            before = after
        return links[0] if len(links) == 1 else self._chain(first, before, links)

    def _equation(self, a: Term, b: Term, using: Sequence[Any]) -> Theorem:
        if not any(isinstance(u, tuple) for u in using):
            return search.equation(a, b, using, self._facts)
        items = tuple(Item(((k, ()),), self.term(c)) for k, (c, _) in enumerate(using))
        return search.combination(T.eq(a, b), [t for _, t in using], items, self._facts)

    def _chain(self, first: Term, last: Term, links: list[Theorem]) -> Theorem:
        items = tuple(Item(((k, ()),), T.ONE) for k in range(len(links)))
        try:
            return infer("linear-combination", links, T.eq(first, last), len(links), items)
        except KernelError:  # only the facts of the links tell that both ends are as they are
            premises = [*links, *self._facts]
            return infer("linear-combination", premises, T.eq(first, last), len(links), items)

    def replace(self, t: Any, *rules: Theorem, reason: str = "") -> Theorem:
        """t = t' with the right sides of the rules in place of their left sides, as they stand."""
        theorem = rewriting.replaced(self.term(t), rules[0])
        for rule in rules[1:]:
            after = rewriting.replaced(theorem.conclusion.children[1], rule)
            theorem = self.linked(theorem, after)
        return self.note(theorem, reason) if reason else theorem

    def linked(self, *links: Theorem) -> Theorem:
        """a = z from a = b, b = c, ..., as they stand."""
        theorem = links[0]
        first = theorem.conclusion.children[0]
        for link in links[1:]:
            theorem = self.rewrite(link, theorem, lambda x: T.eq(first, x))
        return theorem

    def trivial(self, goal: Any, *facts: Theorem) -> Theorem:
        """A formula that exact evaluation, sorts and known signs decide."""
        return search.decided(self.formula(goal), self.facts(*facts))

    def axiom(self, name: str, *args: Any) -> Theorem:
        """An axiom at the arguments, without a side condition or with it as the premise."""
        return infer("axiom", [], name, *(self.term(a) for a in args))

    def cancel(self, t: Any, *facts: Theorem) -> Theorem:
        """``t^-1 t = 1`` for a composite `t` whose sign is known."""
        return search.cancellation(self.term(t), self.facts(*facts))

    def sum_equal(self, theorem: Theorem, *indices: Any, reason: str | None = None) -> Theorem:
        """From a = b for every value of the indices: the same for the sums over them."""
        theorem, opened, sides = self._under_sums(theorem, indices)
        item = Item(((0, opened),), T.ONE, opened)
        theorem = infer("linear-combination", [theorem], T.eq(*sides), 1, (item,))
        return theorem if reason is None else self.note(theorem, reason)

    def _under_sums(
        self, theorem: Theorem, indices: Sequence[Any]
    ) -> tuple[Theorem, tuple[Term, ...], list[Term]]:
        """The theorem for all indices, the indices, and the sums of its two sides over them.

        The theorem has quantifiers in the order of the indices, or free indices.
        """
        opened = tuple(map(self.term, indices))
        if theorem.conclusion.op != "forall":
            theorem = self.for_all(theorem, *opened)
        goal = theorem.conclusion
        for i in opened:
            goal = T.instantiate(goal.children[-1], (i,))
        sides = [c if c is T.ZERO else _summed(c, opened) for c in goal.children]
        return theorem, opened, sides

    # ------------------------------------------------------------------ order

    def order(
        self, goal: Any, *items: tuple[Any, ...], facts: Sequence[Theorem] = (),
        reason: str | None = None, sparing: bool = True,
    ) -> Theorem:  # fmt: skip
        """An inequality as a sum of products of known ones.

        An item is (cofactor, theorem ...): the product of the cofactor with the differences
        that the theorems say are non-negative (right minus left).  As few of the facts are used as
        it takes; not `sparing`, all are, which saves the time to find out.
        """
        premises: list[Theorem] = []
        out: list[Item] = []
        for cofactor, *theorems in items:
            uses = []
            for t in theorems:
                if t not in premises:
                    premises.append(t)
                uses.append((premises.index(t), ()))
            out.append(Item(tuple(uses), self.term(cofactor)))
        wanted = self.formula(goal)
        theorem = search.opposed(wanted, premises, out)
        if theorem is None:
            known, count, combined = self.facts(*facts), len(premises), tuple(out)
            if sparing:
                theorem = self._order(wanted, premises, combined, known)
            else:
                theorem = infer("order", [*premises, *known], wanted, count, combined)
        return theorem if reason is None else self.note(theorem, reason)

    @staticmethod
    def _order(
        goal: Term, premises: list[Theorem], items: tuple[Item, ...], facts: list[Theorem]
    ) -> Theorem:
        count, kept = len(premises), list(facts)
        try:
            return infer("order", premises, goal, count, items)
        except KernelError:
            theorem = infer("order", [*premises, *kept], goal, count, items)
        for f in facts if len(facts) > 1 else ():  # without any it failed
            fewer = [g for g in kept if g is not f]
            try:
                theorem = infer("order", [*premises, *fewer], goal, count, items)
                kept = fewer
            except KernelError:
                continue
        return theorem

    def square(self, t: Any) -> Theorem:
        """0 <= t^2 for any real t."""
        x = T.var("t", "real")
        theorem = infer("order", [], T.le(T.ZERO, T.power(x, 2)), 0, ())
        return infer("specialise", [infer("generalise", [theorem], x)], self.term(t))

    def sum_order(self, theorem: Theorem, *indices: Any, reason: str | None = None) -> Theorem:
        """From a <= b for every value of the indices: the same for the sums over them."""
        theorem, opened, sides = self._under_sums(theorem, indices)
        item = Item(((0, opened),), T.ONE, opened)
        theorem = infer("order", [theorem], T.le(*sides), 1, (item,))
        return theorem if reason is None else self.note(theorem, reason)

    def nonneg(self, t: Any) -> Theorem:
        """0 <= t by its form: squares, what is known, and sums and products of such."""
        t = self.term(t)
        goal = T.le(T.ZERO, t)
        match t.op:
            case "pow" if t.data == 2:
                return self.square(t.children[0])
            case "pow" if t.data > 0 and t.data % 2 == 0:
                return self.order(goal, (1, self.square(T.power(t.children[0], t.data // 2))))
            case "sum":
                self.opened += 1
                i = T.var(f"_i{self.opened}", "fin", t.children[0])
                try:
                    return self.sum_order(self.nonneg(T.instantiate(t.children[1], (i,))), i)
                except KernelError:
                    return self.order(goal)
            case "add" | "mul":
                try:
                    return self.order(goal)
                except KernelError:
                    parts = [self.nonneg(c) for c in t.children]
                items = [(1, part) for part in parts] if t.op == "add" else [(1, *parts)]
                return self.order(goal, *items)
            case _:
                return self.order(goal)

    # ------------------------------------------------------------------ calculus

    def gradient(self, goal: Any, *conditions: Theorem, reason: str = "") -> Theorem:
        """The gradient that the derivative table finds for the function in `goal`.

        Only the function, the tensor and the point of `goal` are looked at.  The conditions of
        the table are taken from what is known, from `conditions`, and from known signs.
        """
        g = self.formula(goal)
        sizes, (function, point) = g.children[: g.data], g.children[g.data : g.data + 2]
        _, needed, _ = differentiate(sizes, function, point)
        found = {t.conclusion: t for t in (*self._known, *conditions)}
        premises = [found[c] if c in found else self.trivial(c) for c in needed]
        theorem = infer("derivative", premises, sizes, function, point)
        return self.note(theorem, reason) if reason else theorem

    def partial(self, gradient: Theorem, *components: Any) -> Term:
        """The partial derivative by one component, as a gradient theorem states it."""
        value = gradient.conclusion.children[-1]
        return T.instantiate(value, tuple(map(self.term, components)))

    def with_partial(self, gradient: Theorem, equation: Theorem, *components: Any) -> Theorem:
        """A gradient in another form, from an equation between the partial derivatives."""
        new = T.abstract(equation.conclusion.children[1], tuple(map(self.term, components)))
        return infer("gradient-value", [gradient, self.for_all(equation, *components)], new)

    def with_function(self, gradient: Theorem, equation: Theorem, *defined: Theorem) -> Theorem:
        """The gradient of h, from that of f and f(X) = h(X) for all tensors X.

        `defined` proves what makes the equation well defined, where sorts do not.
        """
        same = equation.conclusion.children[-1]
        return infer("gradient-function", [gradient, equation, *defined], same.children[1])

    def differentiable(self, gradient: Theorem) -> Theorem:
        """From the gradient of a function symbol by its only vector: it is differentiable there."""
        return infer("differentiable", [gradient], 0)

    def same_partials(self, gradient: Theorem, other: Theorem, *components: Any) -> Theorem:
        """From two gradients of one function at one point: their entries agree."""
        same = infer("gradient-unique", [gradient, other])
        return self.at(same, *components) if components else same

    # ------------------------------------------------------------------ logic

    def both(self, *parts: Theorem) -> Theorem:
        return infer("conj", parts)

    def part(self, theorem: Theorem, i: int) -> Theorem:
        return infer("conjunct", [theorem], i)

    def mp(self, implication: Theorem, *premises: Theorem) -> Theorem:
        """Use an implication whose premise is the conjunction of the given theorems."""
        premise = premises[0] if len(premises) == 1 else self.both(*premises)
        return infer("modus-ponens", [implication, premise])

    def assume(self, p: Any) -> Theorem:
        return infer("assume", [], self.formula(p))

    def discharge(self, theorem: Theorem, h: Theorem | Term) -> Theorem:
        """From h |- p: h -> p."""
        return infer("discharge", [theorem], h.conclusion if isinstance(h, Theorem) else h)

    def at(self, theorem: Theorem, *values: Any, facts: Sequence[Theorem] = ()) -> Theorem:
        """An instance of a statement about all x (or all tensors, with a `Lam`)."""
        for v in values:
            value = v if isinstance(v, Lam) else self.term(v)
            try:
                theorem = infer("specialise", [theorem], value)
            except KernelError:
                theorem = infer("specialise", [theorem, *self.facts(*facts)], value)
        return theorem

    def for_all(self, theorem: Theorem, *variables: Any) -> Theorem:
        """For all of the variables, the last innermost."""
        for v in reversed(variables):
            theorem = infer("generalise", [theorem], self.term(v))
        return theorem

    def for_all_tensors(self, theorem: Theorem, tensor: Any) -> Theorem:
        """For all tensors of that name and number of indices."""
        return infer("generalise-tensor", [theorem], str(tensor.label), len(tensor.shape))

    def exists(self, goal: Any, value: Any, theorem: Theorem, *facts: Theorem) -> Theorem:
        """There is x: p(x), from p(value); `value` is a term, or a `Lam` for a tensor."""
        v = value if isinstance(value, Lam) else self.term(value)
        return infer("witness", [theorem, *facts], self.formula(goal), v)

    def cases(self, disjunction: Theorem, *branches: Callable[[Theorem], Theorem]) -> Theorem:
        """Prove one conclusion in each case; a branch takes the theorem of its case."""
        proofs = []
        for p, branch in zip(disjunction.conclusion.children, branches, strict=True):
            with self.supposing(p) as case:
                proofs.append(branch(case))
        return infer("cases", [disjunction, *proofs])

    def suppose(
        self, p: Any, branch: Callable[[Theorem], Theorem], reason: str = "suppose this"
    ) -> Theorem:
        """p -> what `branch` proves from the theorem of p; p is shown as a line."""
        with self.supposing(p) as case:
            self.note(case, reason)
            proved = branch(case)
        return self.discharge(proved, case)

    def choose(self, some: Theorem, x: Any, branch: Callable[[Theorem], Theorem]) -> Theorem:
        """From there is x with p(x): what `branch` proves from p(x) without mention of x.

        `x` is a symbol or an index, or a tensor.
        """
        v = str(x.label) if isinstance(x, sp.IndexedBase) else self.term(x)
        instance = T.instantiate(some.conclusion.children[-1], (v,))
        with self.supposing(instance) as case:
            proved = branch(case)
        return infer("choose", [some, proved], v)

    def next_integer(self, below: Theorem, *facts: Theorem) -> Theorem:
        """From a < b: a + 1 <= b, where a and b are known to be integers."""
        try:
            return infer("integer-gap", [below])
        except KernelError:
            return infer("integer-gap", [below, *self.facts(*facts)])

    def dichotomy(self, a: Any, b: Any) -> Theorem:
        """a <= b or b < a."""
        return infer("dichotomy", [], self.term(a), self.term(b))

    def rewrite(
        self, equation: Theorem, theorem: Theorem, template: Callable[[Term], Term]
    ) -> Theorem:
        """From a = b and p(a): p(b), where ``template(x)`` is p."""
        hole = T.var("?", "real")
        return infer("leibniz", [equation, theorem], hole, template(hole))

    def induction(self, base: Theorem, step: Theorem, variable: Any) -> Theorem:
        """For all naturals, from the case 0 and ``p(l) -> p(l + 1)`` with `variable` free."""
        return infer("induction", [base, self.for_all(step, variable)])

    # ------------------------------------------------------------------ blocks

    def blocks(self, total: Any, rows: Any, columns: Any, size: Theorem | None = None) -> Theorem:
        """Sum over a < rows * columns of f(a) = Sum over i < rows, c < columns of f(i columns + c).

        `size` says what the range of the sum is, when it is not written as that product.
        """
        t = self.term(total)
        m, n = self.term(rows), self.term(columns)
        theorem = infer("block-sum", [], m, n, t.children[1])
        if size is None:
            return theorem
        left = infer("linear-combination", [], T.eq(t, t), 0, ())
        resized = self.rewrite(
            self._equation(t.children[0], T.mul(m, n), [size]),
            left,
            lambda x: T.eq(t, T.total(x, t.children[1])),
        )
        return self._chain(t, theorem.conclusion.children[1], [resized, theorem])

    def each_block(
        self, goal: Any, rows: Any, columns: int, case: Callable[[Term, int, Term], Theorem],
        size: Theorem | None = None,
    ) -> Theorem:  # fmt: skip
        """For all a < rows * columns: p(a), where ``case(i, c, p(i columns + c))`` proves its goal.

        `size` says what the range is, when it is not written as that product.
        """
        q = self.formula(goal)
        body, m = q.children[1], self.term(rows)
        product = T.mul(m, T.num(columns))
        self.opened += 1
        i = T.var(f"_i{self.opened}", "fin", m)
        places = [T.add(T.mul(i, T.num(columns)), T.num(c)) for c in range(columns)]
        proofs = [case(i, c, T.instantiate(body, (a,))) for c, a in enumerate(places)]
        premises = [self.for_all(t, i) for t in proofs]
        theorem = infer(
            "block-forall", premises, T.quantified("forall", "fin", body, product), columns
        )
        if size is None:
            return theorem
        return self.rewrite(
            self._equation(product, q.children[0], [size]),
            theorem,
            lambda x: T.quantified("forall", "fin", body, x),
        )

    def lam(self, entry: Any, *indices: Any) -> Lam:
        """The tensor with these entries, as a witness."""
        return Lam(len(indices), T.abstract(self.term(entry), tuple(map(self.term, indices))))


def _summed(t: Term, indices: Sequence[Term]) -> Term:
    for i in reversed(indices):
        t = T.sum_over(i, t)
    return t


def _is_fact(p: Term) -> bool:
    return p.op in ("lt", "le", "isint") or (p.op == "not" and p.children[0].op == "eq")
