"""What values make of a statement, as the formula that is printed with a counterexample."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from derive import counterexample, latex
from derive.kernel import terms as T
from derive.kernel.check import at_values
from derive.kernel.domain import obligations
from derive.kernel.normal import Normaliser
from derive.kernel.terms import KernelError, Term

_RELATIONS: Final = {"eq": T.eq, "le": T.le, "lt": T.lt}


def denial_text(p: Term) -> str:
    """The denial of a formula at values."""
    if p.op in _RELATIONS:
        return latex.latex(_denied(p))
    return latex.latex(_tidied(T.negate(p), T.negate(p)))


def _denied(relation: Term) -> Term:
    """The opposite of a relation, with both sides evaluated."""
    a, b = (Normaliser().term(c) for c in relation.children)
    opposite = {
        "eq": lambda: T.negate(T.eq(a, b)),
        "le": lambda: T.lt(b, a),
        "lt": lambda: T.le(b, a),
    }
    return opposite[relation.op]()


def instance_text(conclusion: Term, values: counterexample.Values) -> str:
    """The statement at the values, evaluated as far as exact arithmetic goes."""
    at = at_values(conclusion, {k: v for k, v in values.items() if occurs(k, conclusion)})
    if _is_undefined(at):
        return rf"{latex.latex(_up_to_inverses(_undefined_part(at)))} \quad\text{{is undefined}}"
    whole = at
    at, named = _failing_part(at, _named(conclusion, values))
    if at.op == "not":
        return _holding_text(*_paired(_children, at, named)[0])
    if at.op not in _RELATIONS:
        if at is whole:
            return _denial_in_symbols(conclusion, values)
        return latex.latex(_tidied(T.negate(at), T.negate(named)))
    try:
        return _opposite_text(at.op, *(Normaliser().term(c) for c in at.children))
    except KernelError:
        return latex.latex(T.negate(at))


def _opposite_text(relation: str, a: Term, b: Term) -> str:
    sign = {"eq": r"\ne", "le": ">", "lt": r"\ge"}[relation]
    return f"{latex.latex(a)} {sign} {latex.latex(b)}"


def _named(p: Term, values: counterexample.Values) -> Term:
    """The formula with the numbers inserted, in which tensors keep their names."""
    numbers = {k: v for k, v in values.items() if isinstance(k, Term) and isinstance(v, Term)}
    return T.substitute(p, numbers)


def _denial_in_symbols(conclusion: Term, values: counterexample.Values) -> str:
    """The statement is false, by a proof: numbers are inserted, tensors keep their names."""
    while conclusion.op == "imp":  # the premises are known to hold
        conclusion = conclusion.children[1]
    named = _named(conclusion, values)
    if named.op in _RELATIONS:
        return _opposite_text(named.op, *named.children)
    return latex.latex(T.negate(named))


def _holding_text(p: Term, named: Term) -> str:
    """A formula that holds though it is denied, evaluated in each of its instances."""
    if p.op == "forall" and p.data[0] == "fin" and p.children[0].op == "num":
        pairs = _paired(_instances, p, named)
        return r" \ \land\  ".join(_holding_text(*pair) for pair in pairs)
    return latex.latex(_tidied(p, named))


def _tidied(p: Term, named: Term, depth: int = 0) -> Term:
    """The formula with the sides of its relations evaluated, also below quantifiers.

    Where both come out the same, 0 = 0 would tell nothing: their value stands between them as they
    are in `named`, the same formula with names of tensors.  Else what holds for one or two indices
    is written out for each.
    """
    if p.op in _RELATIONS:
        try:
            a, b = (Normaliser().term(c) for c in p.children)
        except KernelError:
            return p
        return _through(named, a) if p.op == "eq" and a is b else _RELATIONS[p.op](a, b)
    if _is_connective(p):
        parts = {c: _tidied(c, x, depth) for c, x in _paired(_children, p, named)}
        return T.map_children(p, lambda c, _: parts[c])
    if p.op not in ("forall", "exists"):
        return p
    sort, arity = p.data
    if sort == "tensor":
        name = f"_{depth}"
        inner = _tidied(*_paired(_opened_at(name), p, named)[0], depth + 1)
        body = T.abstract_tensor(inner, name, arity)
        return T.quantified(p.op, sort, body, arity=arity)
    x = T.var(f"_{depth}", sort, *p.children[:-1])
    ((body, named_body),) = _paired(_opened_at(x), p, named)
    few = p.op == "forall" and sort == "fin" and p.children[0] in (T.ONE, T.num(2))
    if few and p.children[0] is T.ONE:
        (body,) = _instances(p)
    inner = _tidied(body, named_body, depth + 1)
    if few and not _tells_value(inner):
        return T.conj(*(_tidied(*pair, depth) for pair in _paired(_instances, p, named)))
    return T.forall(x, inner) if p.op == "forall" else T.exists(x, inner)


def _through(equation: Term, value: Term) -> Term:
    """a = value = b, where a = b is the equation and neither side is just the value."""
    a, b = equation.children
    links = [T.eq(x, y) for x, y in ((a, value), (value, b)) if x is not y]
    return T.conj(*links) if links else equation


def _tells_value(p: Term) -> bool:
    """Whether it is a = value = b, for every index."""
    while p.op == "forall":
        p = p.children[-1]
    chain_of_two = p.op == "and" and [c.op for c in p.children] == ["eq", "eq"]
    return chain_of_two and p.children[0].children[1] is p.children[1].children[0]


def _paired(parts: Callable[[Term], list[Term]], p: Term, named: Term) -> list[tuple[Term, Term]]:
    """The parts of a formula at values, each with the same part where tensors have names."""
    ours, theirs = parts(p), parts(named) if named.op == p.op else []
    same = [x.op for x in ours] == [y.op for y in theirs]
    return list(zip(ours, theirs if same else ours, strict=True))


def _children(p: Term) -> list[Term]:
    return list(p.children)


def _opened_at(symbol: Term | str) -> Callable[[Term], list[Term]]:
    return lambda p: [T.instantiate(p.children[-1], (symbol,))]


def _is_connective(p: Term) -> bool:
    return p.op in ("and", "or", "not", "imp")


def occurs(symbol: Term | str, t: Term) -> bool:
    return symbol in T.free_symbols(t)


def _instances(p: Term) -> list[Term]:
    """The cases of a statement about every index of a literal range."""
    return [T.instantiate(p.children[1], (T.num(k),)) for k in range(int(p.children[0].data))]


def _failing_part(p: Term, named: Term) -> tuple[Term, Term]:
    """The first instance or part that is false, as far as evaluation tells; `named` as above."""
    for part, name in _paired(_parts, p, named):
        if counterexample.refutation(part, {}) is not None:
            return _failing_part(part, name)
    return p, named


def _undefined_part(p: Term) -> Term:
    """The first instance or part that is undefined."""
    for part in _parts(p):
        if _is_undefined(part):
            return _undefined_part(part)
    return p


def _is_undefined(p: Term) -> bool:
    return any(counterexample.refutation(o, {}) is not None for o in obligations(p))


def _parts(p: Term) -> list[Term]:
    if p.op == "and":
        return list(p.children)
    if p.op == "imp":
        end = p.children[1]  # the premises are known to hold, perhaps by a proof
        while end.op == "imp":
            end = end.children[1]
        return [end]
    if p.op == "forall" and p.data[0] == "fin" and p.children[0].op == "num":
        return _instances(p)
    return []


def _up_to_inverses(t: Term) -> Term:
    """`t` with numbers evaluated, but no inverse, so that one of 0 can be seen."""
    inverted = any(s.op == "pow" and s.data < 0 for s in T.subterms(t))
    if inverted and t.op in ("eq", "le", "lt", "mul", "pow"):
        return T.map_children(t, lambda c, _: _up_to_inverses(c))
    if inverted or T.is_formula(t):
        return t
    try:
        return Normaliser().term(t)
    except KernelError:
        return t
