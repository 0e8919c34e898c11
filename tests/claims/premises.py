"""The premises under which claims stand, and exact models in which they hold.

A theorem whose premises contradict each other says nothing.  A model is a choice of exact values
for all symbols at small sizes: numbers and tables, closed forms for sequences, a function for
every function symbol, and finitely many equally likely outcomes for what is random.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from derive import counterexample, definitions
from derive.claim import Claim
from derive.convert import Converter
from derive.denials import closed
from derive.kernel import terms as T
from derive.kernel.check import at_values
from derive.kernel.domain import obligations
from derive.kernel.rules import Theorem, infer
from derive.kernel.terms import KernelError, Lam, Term
from derive.prover import Prover
from derive.result import Verdict
from derive.verify import chain

#: Formulas that have to hold together.
Premises = tuple[Term, ...]
FALSE = T.eq(T.ONE, T.ZERO)


# ---------------------------------------------------------------------------- what is supposed


def premises_of(claim: Claim) -> list[list[Premises]]:
    """For every part of what the claim proves, the premises under which it stands.

    Of an equivalence it is enough that one side can hold: there are two alternatives.
    """
    stated = []
    if claim.expected in (Verdict.PROVED, Verdict.CONDITIONAL):
        stated.append(((*claim.given, *claim.added), claim.statement))
    if claim.correction is not None:
        stated.append((claim.correction.given, claim.correction.statement))
    out: list[list[Premises]] = []
    for given, statement in stated:
        converter = Converter()
        hypotheses = [converter.formula(g.formula) for g in given]
        conclusion = converter.formula(statement)
        out += _largest(_parts(conclusion, (*converter.declared, *hypotheses), count()))
    return out


def _parts(p: Term, above: Premises, opened: Iterator[int]) -> Iterator[list[Premises]]:
    match p.op:
        case "imp":
            yield from _parts(p.children[1], (*above, p.children[0]), opened)
        case "and" if _is_equivalence(p):
            yield [(*above, side) for side in p.children[0].children]
        case "and":
            for c in p.children:
                yield from _parts(c, above, opened)
        case "forall":
            k = next(opened)
            tensor = p.data[0] == "tensor"
            x = f"_t{k}" if tensor else T.var(f"_q{k}", p.data[0], *p.children[:-1])
            yield from _parts(T.instantiate(p.children[-1], (x,)), above, opened)
        case _:
            yield [above]


def _is_equivalence(p: Term) -> bool:
    first, *others = p.children
    return len(others) == 1 and all(
        c.op == "imp" and c.children == first.children[::step]
        for c, step in zip(p.children, (1, -1), strict=True)
    )


def _largest(parts: Iterator[list[Premises]]) -> Iterator[list[Premises]]:
    """Without those premises that hold wherever those of another part do, whichever these are."""
    found = [p for p in parts if any(p)]
    unique = {tuple(map(frozenset, p)): p for p in found}
    for sets, p in unique.items():
        if not any(all(sets[0] < other for other in o) for o in unique if len(sets) == 1):
            yield p


# ---------------------------------------------------------------------------- models

#: The value of a function of a vector: its indices, the size of the vector, and the entry of the
#: vector as a body under one index.
Of = Callable[[Sequence[Term], Term, Term], Term]


@dataclass(frozen=True)
class Function:
    """A function of a vector, and its partial derivatives (the last index is the component)."""

    value: Of
    partial: Of


@dataclass(frozen=True)
class Model:
    """Values by the names of the symbols.

    A value is a number, nested lists of numbers, or a function from indices to a term.  What is
    left out is given by the premises that define it, or else is 2 for a size, 0 for an index, and
    1 for everything else.  Random tensors have a list of values, one for each outcome.  `proof`
    is for a premise that evaluation and the automatic prover do not settle.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    functions: Mapping[str, Function] = field(default_factory=dict)
    outcomes: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    proof: Callable[[Prover, Term], Theorem] | None = None


def searched(premises: Premises) -> bool:
    """Whether the search for counterexamples finds values at which all of them hold."""
    return counterexample.find(chain(premises, FALSE)) is not None


def hold_in(premises: Premises, model: Model) -> None:
    """Prove that all of them hold in the model and are well defined there; raises if not."""
    goal = chain(premises, FALSE)
    goal = _interpret(_expectations(goal, model), model.functions)
    at = at_values(goal, _completed(goal, model))
    for o in obligations(at):
        shown(o)
    while at.op == "imp":
        theorem = _shown_in(model, at.children[0])
        assert theorem.conclusion is at.children[0]
        assert not theorem.hypotheses
        at = at.children[1]


def _shown_in(model: Model, p: Term) -> Theorem:
    try:
        return shown(p)
    except KernelError:
        if model.proof is None:
            raise
    return model.proof(Prover(Converter(), ()), p)


def shown(p: Term) -> Theorem:
    """A closed formula, proved."""
    match p.op:
        case "and":
            return infer("conj", [shown(c) for c in p.children])
        case "exists":
            return _some(p)
        case "forall" if p.data[0] == "fin" and p.children[0].op == "num":
            each = range(int(p.children[0].data))
            cases = [shown(T.instantiate(p.children[1], (T.num(k),))) for k in each]
            return infer("finite-forall", cases, p)
        case "forall" if p.data[0] == "nat" and _is_bounded(p.children[0]):
            return _below(p)
        case _:
            return closed(p)


def _is_bounded(body: Term) -> bool:
    premise = body.children[0] if body.op == "imp" else body
    return (
        premise.op == "lt" and premise.children[0].op == "bound" and not premise.children[1].loose
    )


def _below(p: Term) -> Theorem:
    """For all naturals l: l < n -> q(l), for a literal n, from q(0), ..., q(n - 1)."""
    prover, l = Prover(Converter(), ()), T.var("_l", "nat")
    premise, q = T.instantiate(p.children[0], (l,)).children
    end = premise.children[1]
    with prover.supposing(premise) as below:

        def at_least(k: int, lower: Theorem) -> Theorem:
            if T.num(k) is end:
                return infer("contradiction", [lower, infer("not-le", [below])], q)
            last = shown(T.substitute(q, {l: T.num(k)}))
            return prover.cases(
                prover.dichotomy(l, T.num(k)),
                lambda upper: prover.rewrite(
                    infer("antisymmetry", [lower, upper]), last, lambda x: T.substitute(q, {l: x})
                ),
                lambda above: at_least(
                    k + 1,
                    prover.order(T.le(T.num(k + 1), l), (1, prover.next_integer(above))),
                ),
            )

        proved = at_least(0, prover.order(T.le(T.ZERO, l)))
    return infer("generalise", [infer("discharge", [proved], premise)], l)


def _some(p: Term) -> Theorem:
    sort, arity = p.data
    options = [T.ONE, T.ZERO, T.num(2), T.num(10)]
    values: list[Term | Lam] = [Lam(arity, v) for v in options] if sort == "tensor" else [*options]
    for value in values:
        try:
            return infer("witness", [shown(T.instantiate(p.children[-1], (value,)))], p, value)
        except KernelError:
            continue
    raise KernelError(f"no example found: {T.show(p)}")


# ---------------------------------------------------------------------------- values


def _completed(goal: Term, model: Model) -> dict[Term | str, Term | Lam]:
    symbols = sorted(T.free_symbols(goal), key=str)
    arities = {t.data.head: t.data.scalars for t in T.subterms(goal) if t.op == "app"}
    named: dict[Term | str, Term | Lam] = {}
    for s in symbols:
        name = s if isinstance(s, str) else s.data[0]
        if name in model.values:
            named[s] = _value(model.values[name], arities.get(name, 0), isinstance(s, str))
    defined = definitions.defined_symbols(goal)
    chosen = {s: _default(s, arities) for s in symbols if s not in named and s not in defined}
    out = definitions.complete(goal, {**named, **chosen})
    return {**{s: _default(s, arities) for s in symbols if s not in out}, **out}


def _default(s: Term | str, arities: Mapping[str, int]) -> Term | Lam:
    if isinstance(s, str):
        return Lam(arities[s], T.ONE)
    return T.num({"dim": 2, "fin": 0}.get(s.data[1], 1))


def _value(value: Any, arity: int, is_tensor: bool) -> Term | Lam:
    if callable(value):
        places = tuple(T.var(f"_m{k}") for k in range(arity))
        return Lam(arity, T.abstract(value(*places), places))
    if not is_tensor:
        return value if isinstance(value, Term) else T.num(value)
    return counterexample.table(value)


def _expectations(p: Term, model: Model) -> Term:
    """Every expectation as the mean over the outcomes."""
    if p.op != "E":
        return T.map_children(p, lambda c, _: _expectations(c, model))
    body = _expectations(p.children[0], model)
    lengths = {len(of) for of in model.outcomes.values()}
    (number,) = lengths
    drawn = []
    for k in range(number):
        tables = {s: counterexample.table(of[k]) for s, of in model.outcomes.items()}
        drawn.append(_drawn(body, tables))
    return T.mul(T.inv(T.num(number)), T.add(*drawn))


def _drawn(t: Term, tables: Mapping[str, Lam]) -> Term:
    t = T.map_children(t, lambda c, _: _drawn(c, tables))
    if t.op == "app" and t.data.random:
        return T.instantiate(tables[t.data.head].body, t.children)
    return t


# ---------------------------------------------------------------------------- functions


def _interpret(p: Term, functions: Mapping[str, Function]) -> Term:
    """With the model's functions in place of function symbols.

    That a function is differentiable becomes that it has the gradient that the model gives.
    """
    if p.op == "diff":
        return _differentiable(p.children[0], functions)
    p = T.map_children(p, lambda c, _: _interpret(c, functions))
    if p.op != "app" or not p.data.arities:
        return p
    function = functions[p.data.head]
    of = function.partial if p.data.derivatives else function.value
    size, body = p.children[p.data.scalars :]
    return of(p.children[: p.data.scalars], size, body)


def _differentiable(at: Term, functions: Mapping[str, Function]) -> Term:
    function = functions[at.data.head]
    children = [_interpret(c, functions) for c in at.children]
    indices, (size, body) = children[: at.data.scalars], children[at.data.scalars :]
    under = [T.lift(i, 1) for i in indices]
    variable = T.app(T.Head(1, 1), T.bound(0))  # the tensor under the index of the vector
    value = function.value(under, T.lift(size, 1), variable)
    partial = function.partial([*under, T.bound(0)], T.lift(size, 1), T.lift(body, 1, 1))
    return T.grad((size,), value, body, partial)


def multiple(factor: Callable[[Sequence[Term]], Term]) -> Function:
    """f(x)_a = factor * x_a, where the factor may depend on the indices before the last."""
    return Function(
        lambda at, _, x: T.mul(factor(at[:-1]), T.instantiate(x, (at[-1],))),
        lambda at, _, x: T.mul(factor(at[:-2]), T.delta(at[-2], at[-1])),
    )


#: f(x)_a = x_a, and the sum of all entries.
IDENTITY = multiple(lambda _: T.ONE)
SUM = Function(lambda _, size, x: T.total(size, x), lambda *_: T.ONE)
