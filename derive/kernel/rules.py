"""Theorems and the closed list of rules that make them.

A `Theorem` is a sequent ``hypotheses |- conclusion``.  `infer` is the only way to make one: it
looks the rule up in `RULES`, lets it check its premises and arguments, and keeps both, so that
every theorem carries its own proof.  A rule that refuses says which, on what, and why.

Wherever a rule needs a sign or an integer ("facts"), it takes theorems of the form ``0 < t``,
``0 <= t``, ``not t = 0`` or ``t is an integer`` as its last premises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import InitVar, dataclass
from functools import cache
from typing import Any, Final

from derive.kernel import terms as T
from derive.kernel.axioms import AXIOMS
from derive.kernel.calculus import differentiate
from derive.kernel.domain import laws_of_obligations, obligations
from derive.kernel.normal import (
    Normaliser,
    Poly,
    Sign,
    both_signs,
    constant,
    literal,
    monomial_key,
    plus,
    scaled,
    to_term,
    unit_lead,
)
from derive.kernel.terms import KernelError, Lam, Term


class Refused(KernelError):
    """A rule does not apply."""

    def __init__(self, rule: str, why: str) -> None:
        super().__init__(f"rule {rule}: {why}")
        self.rule = rule


@dataclass(frozen=True, eq=False)
class Theorem:
    """``hypotheses |- conclusion``, with the axioms used and the step that made it."""

    hypotheses: frozenset[Term]
    conclusion: Term
    axioms: frozenset[str]
    rule: str
    premises: tuple[Theorem, ...]
    args: tuple[Any, ...]
    made_by: InitVar[object] = None

    def __post_init__(self, made_by: object) -> None:
        if made_by is not _MINT:
            raise KernelError("a theorem is made by `infer` only")

    def __repr__(self) -> str:
        given = ", ".join(sorted(map(T.show, self.hypotheses)))
        return f"{given} |- {T.show(self.conclusion)}"


_MINT: Final = object()

#: Every theorem by its rule, premises and arguments, on which alone it depends: proofs have many
#: steps in common.
_MADE: Final[dict[tuple[str, tuple[Theorem, ...], tuple[Any, ...]], Theorem]] = {}


@dataclass(frozen=True)
class Conclusion:
    """What a rule returns: the new sequent and the axioms that this step itself uses."""

    hypotheses: frozenset[Term]
    formula: Term
    axioms: frozenset[str] = frozenset()


Rule = Callable[..., Conclusion]


def infer(rule: str, premises: Sequence[Theorem] = (), *args: Any) -> Theorem:
    """Apply a rule."""
    step = RULES.get(rule)
    if step is None:
        raise KernelError(f"there is no rule {rule!r}")
    given = tuple(premises)  # read once: what is checked is what is used
    for a in args:
        if type(a) not in _ARGUMENTS:  # exactly: a subclass may behave in another way
            raise KernelError(f"{a!r} is not an argument of a rule")
    try:
        known = _MADE.get((rule, given, args))
    except TypeError:  # what cannot be hashed is refused below
        known = None
    if known is not None:
        return known
    if not all(type(p) is Theorem for p in given):
        raise Refused(rule, "a premise is not a theorem")
    for t in _terms_in(args):
        if T.is_reserved(t):
            raise Refused(rule, f"the argument {t} uses a reserved name")
    try:
        made = step(given, *args)
    except (TypeError, AttributeError, LookupError, ValueError, ArithmeticError) as error:
        raise Refused(rule, f"the arguments do not fit: {error}") from error
    own = made.axioms
    for formula in (made.formula, *made.hypotheses):
        laws = _check_formula(rule, formula)
        if laws:
            own |= laws
    axioms = own.union(*(p.axioms for p in given))
    theorem = Theorem(made.hypotheses, made.formula, axioms, rule, given, args, _MINT)
    return _MADE.setdefault((rule, given, args), theorem)


def _terms_in(args: Iterable[Any]) -> Iterator[Term]:
    for a in args:
        kind = type(a)
        if kind is Term:
            yield a
        elif kind is Lam:
            yield from _terms_in((a.arity, a.body))
        elif kind is Item:
            yield from _terms_in((a.uses, a.cofactor, a.indices))
        elif kind is tuple:
            yield from _terms_in(a)
        elif kind is not str and kind is not int:
            raise KernelError(f"{a!r} is not an argument of a rule")


_NO_LAWS: Final[frozenset[str]] = frozenset()


@cache
def _standing(formula: Term) -> tuple[str | None, frozenset[str]]:
    """What keeps a formula from standing in a theorem, and the evaluations used to tell.

    Free indices have to range over a set that is not empty, or a theorem about them would say
    something about sizes; and a random quantity stands inside an expectation only, since a
    theorem holds for every value of its free symbols and an outcome is not one of them.
    """
    if type(formula) is not Term or not T.is_formula(formula) or formula.loose:
        return "is not a closed formula", _NO_LAWS
    if T.is_random(formula):
        return "has a random quantity outside an expectation", _NO_LAWS
    if T.is_reserved(formula):
        return "uses a reserved name", _NO_LAWS
    laws = _NO_LAWS
    for s in T.free_symbols(formula):
        why, more = _index(s)
        if why is not None:
            return f"has {why}", _NO_LAWS
        laws |= more
    return None, laws


@cache
def _index(s: Term | str) -> tuple[str | None, frozenset[str]]:
    """What keeps a symbol from standing for a number of its range, if it is an index.

    Also the evaluations by which the range is known not to be empty.
    """
    if isinstance(s, str) or s.data[1] != "fin":
        return None, _NO_LAWS
    size, norm = s.children[0], Normaliser()
    if T.is_random(size):
        return f"the free index {s} of random range {size}", _NO_LAWS
    if not norm.has_sign(norm.term(size), Sign.POS):
        return f"the free index {s}, whose range {size} may be empty", _NO_LAWS
    return None, frozenset(norm.used)


def _check_indices_exist(
    rule: str, parts: Iterable[Term | Lam], norm: Normaliser, summed: tuple[Term, ...] = ()
) -> None:
    """Nothing follows from what holds at an index of an empty range, unless it is summed over."""
    for part in parts:
        for s in T.free_symbols(part.body if isinstance(part, Lam) else part):
            if s in summed:
                continue
            why, laws = _index(s)
            if why is not None:
                raise Refused(rule, f"{part} has {why}")
            norm.record(laws)


def check_statement(formula: Term) -> None:
    """Check that a formula could stand in a theorem at all."""
    _check_formula("statement", formula)


def _check_formula(rule: str, formula: Term) -> frozenset[str]:
    """Check that a formula may stand in a theorem; the evaluations used to tell."""
    why, laws = _standing(formula)
    if why is not None:
        raise Refused(rule, f"{formula} {why}")
    return laws


def _all_hypotheses(premises: Iterable[Theorem]) -> frozenset[Term]:
    return frozenset().union(*(p.hypotheses for p in premises))


def fact_normaliser(rule: str, facts: Sequence[Theorem]) -> Normaliser:
    """A normal form that knows the given facts."""
    norm, integers = Normaliser(), set()
    signs: dict[Term, Sign] = {}
    for f in facts:
        c = f.conclusion
        if c.op == "isint":
            integers.add(norm.term(c.children[0]))
            continue
        for t, sign in _signs_of(norm, *_sign_fact(rule, c)):
            signs[t] = both_signs(signs.get(t, Sign.UNKNOWN), sign)
    return Normaliser(signs, frozenset(integers), norm.used)


def _signs_of(norm: Normaliser, sign: Sign, t: Term) -> Iterator[tuple[Term, Sign]]:
    """What the sign of `t` says of its canonical term, its monic multiple and its factors."""
    p = norm.poly(t)
    yield to_term(p), sign
    if not p:
        return
    lead = p[min(p, key=monomial_key)]
    nonzero = sign in (Sign.POS, Sign.NONZERO)
    yield to_term(unit_lead(p)), sign
    if nonzero:
        yield to_term(scaled(p, 1 / lead)), Sign.NONZERO
    ((m, _), *others) = p.items()
    if nonzero and not others and not m.indices:
        for factor, _e in m.factors:
            yield factor, Sign.NONZERO


def _sign_fact(rule: str, c: Term) -> tuple[Sign, Term]:
    if c.op in ("lt", "le"):
        difference = c.children[1] if c.children[0] is T.ZERO else T.sub(*reversed(c.children))
        return (Sign.POS if c.op == "lt" else Sign.NONNEG), difference
    if c.op == "not" and c.children[0].op == "eq":
        a, b = c.children[0].children
        return Sign.NONZERO, (a if b is T.ZERO else T.sub(a, b))
    raise Refused(rule, f"{c} is not a fact about a sign or an integer")


def _expect(rule: str, t: Term, op: str) -> Term:
    if t.op != op:
        raise Refused(rule, f"{t} is not of the form {op!r}")
    return t


def _free_in(x: Term | str, formulas: Iterable[Term]) -> bool:
    return any(x in T.free_symbols(f) for f in formulas)


def check_member(rule: str, value: Term | Lam, sort: tuple[str, int], size: Term | None,
            norm: Normaliser) -> None:  # fmt: skip
    """Check that `value` is in the range of a quantifier."""
    name, arity = sort
    if T.is_random(value.body if isinstance(value, Lam) else value):
        raise Refused(rule, f"{value} is random")
    if name == "tensor":
        if not isinstance(value, Lam) or value.arity != arity or value.body.loose > arity:
            raise Refused(rule, f"{value} is not a tensor with {arity} indices")
        return
    if not isinstance(value, Term) or value.loose or T.is_formula(value):
        raise Refused(rule, f"{value} is not a closed term")
    if name == "fin":
        assert size is not None
        if not norm.in_range(value, size):
            raise Refused(rule, f"0 <= {value} < {size} is not known")
        return
    if name != "real" and not norm.is_int(value):
        raise Refused(rule, f"{value} is not known to be an integer")
    low = {"nat": 0, "dim": 1}.get(name)
    if low is not None and not norm.nonneg(norm.poly(T.sub(value, T.num(low)))):
        raise Refused(rule, f"{low} <= {value} is not known")


def _instance(
    rule: str, q: Term, value: Term | Lam, norm: Normaliser, summed: tuple[Term, ...] = ()
) -> Term:
    """The body of the quantified formula `q` at `value`, which may mention the summed indices."""
    _check_indices_exist(rule, [value], norm, summed)
    size = q.children[0] if q.data[0] == "fin" else None
    check_member(rule, value, q.data, size, norm)
    return T.instantiate(q.children[-1], (value,))


# ---------------------------------------------------------------------------- logic


def _assume(premises: Sequence[Theorem], p: Term) -> Conclusion:
    """p |- p."""
    () = premises
    return Conclusion(frozenset([p]), p)


def _conj(premises: Sequence[Theorem]) -> Conclusion:
    """From p1, ..., pn: p1 and ... and pn."""
    return Conclusion(_all_hypotheses(premises), T.conj(*(p.conclusion for p in premises)))


def _conjunct(premises: Sequence[Theorem], i: int) -> Conclusion:
    """From p0 and ... and pn: pi."""
    (p,) = premises
    parts = _expect("conjunct", p.conclusion, "and").children
    if not 0 <= i < len(parts):
        raise Refused("conjunct", f"{p.conclusion} has no part {i}")
    return Conclusion(p.hypotheses, parts[i])


def _discharge(premises: Sequence[Theorem], h: Term) -> Conclusion:
    """From G, h |- p: G |- h -> p."""
    (p,) = premises
    return Conclusion(p.hypotheses - {h}, T.implies(h, p.conclusion))


def _modus_ponens(premises: Sequence[Theorem]) -> Conclusion:
    """From p -> q and p: q."""
    imp, p = premises
    a, b = _expect("modus-ponens", imp.conclusion, "imp").children
    if a is not p.conclusion:
        raise Refused("modus-ponens", f"{p.conclusion} is not the premise {a}")
    return Conclusion(_all_hypotheses(premises), b)


def _generalise(premises: Sequence[Theorem], x: Term) -> Conclusion:
    """From G |- p: G |- for all x: p, where x is a variable that is not free in G."""
    (p,) = premises
    if _free_in(x, p.hypotheses):
        raise Refused("generalise", f"{x} is free in a hypothesis")
    return Conclusion(p.hypotheses, T.forall(x, p.conclusion))


def _generalise_tensor(premises: Sequence[Theorem], name: str, arity: int) -> Conclusion:
    """From G |- p: G |- for all tensors T: p, where T is not free in G."""
    (p,) = premises
    if _free_in(name, p.hypotheses):
        raise Refused("generalise-tensor", f"{name} is free in a hypothesis")
    body = T.abstract_tensor(p.conclusion, name, arity)
    return Conclusion(p.hypotheses, T.quantified("forall", "tensor", body, arity=arity))


def _specialise(premises: Sequence[Theorem], value: Term | Lam) -> Conclusion:
    """From for all x: p(x), and facts: p(value), where value is known to be in the range of x."""
    q, *facts = premises
    _expect("specialise", q.conclusion, "forall")
    norm = fact_normaliser("specialise", facts)
    at = _instance("specialise", q.conclusion, value, norm)
    return Conclusion(_all_hypotheses(premises), at, frozenset(norm.used))


def _witness(premises: Sequence[Theorem], goal: Term, value: Term | Lam) -> Conclusion:
    """From p(value), and facts: there is x with p(x), where value is in the range of x."""
    p, *facts = premises
    _expect("witness", goal, "exists")
    norm = fact_normaliser("witness", facts)
    at = _instance("witness", goal, value, norm)
    if at is not p.conclusion:
        raise Refused("witness", f"{p.conclusion} is not the instance {at}")
    return Conclusion(_all_hypotheses(premises), goal, frozenset(norm.used))


def _choose(premises: Sequence[Theorem], x: Term | str) -> Conclusion:
    """From there is x with p(x), and G, p(x) |- q: G |- q, where x is free in neither G nor q.

    `x` is a variable, or the name of a tensor.
    """
    some, use = premises
    q = _expect("choose", some.conclusion, "exists")
    if not _fits(x, q):
        raise Refused("choose", f"{x} does not have the sort of {q}")
    rest = use.hypotheses - {T.instantiate(q.children[-1], (x,))}
    if _free_in(x, (*rest, use.conclusion, q)):
        raise Refused("choose", f"{x} is free in what remains")
    return Conclusion(rest | some.hypotheses, use.conclusion)


def _fits(x: Term | str, q: Term) -> bool:
    """Whether `x` can stand for what is bound by the quantified formula `q`."""
    sort, arity = q.data
    if isinstance(x, str):
        if sort != "tensor" or _free_in(x, (q,)):
            return False
        return T.abstract_tensor(T.instantiate(q.children[-1], (x,)), x, arity) is q.children[-1]
    if x.op != "var" or x.data[2]:
        return False
    return bool((x.data[1], 0) == q.data and x.children == q.children[:-1])


def _cases(premises: Sequence[Theorem]) -> Conclusion:
    """From p1 or ... or pn and Gi, pi |- q for every i: all Gi |- q."""
    some, *uses = premises
    parts = _expect("cases", some.conclusion, "or").children
    if len(uses) != len(parts) or not uses:
        raise Refused("cases", f"{len(uses)} cases for {some.conclusion}")
    if any(u.conclusion is not uses[0].conclusion for u in uses):
        raise Refused("cases", "the cases do not end in one conclusion")
    rest = [u.hypotheses - {p} for u, p in zip(uses, parts, strict=True)]
    return Conclusion(some.hypotheses.union(*rest), uses[0].conclusion)


def _disjunct(premises: Sequence[Theorem], goal: Term, i: int) -> Conclusion:
    """From pi: p0 or ... or pn."""
    (p,) = premises
    if i < 0 or _expect("disjunct", goal, "or").children[i] is not p.conclusion:
        raise Refused("disjunct", f"{p.conclusion} is not part {i} of {goal}")
    return Conclusion(p.hypotheses, goal)


def _excluded_middle(premises: Sequence[Theorem], p: Term) -> Conclusion:
    """p or not p."""
    () = premises
    return Conclusion(frozenset(), T.disj(p, T.negate(p)))


def _contradiction(premises: Sequence[Theorem], goal: Term) -> Conclusion:
    """From p and not p: anything."""
    p, q = premises
    if q.conclusion is not T.negate(p.conclusion):
        raise Refused("contradiction", f"{q.conclusion} does not deny {p.conclusion}")
    return Conclusion(_all_hypotheses(premises), goal)


def _deny(premises: Sequence[Theorem], h: Term) -> Conclusion:
    """From G, h |- not h: G |- not h."""
    (p,) = premises
    if p.conclusion is not T.negate(h):
        raise Refused("deny", f"{p.conclusion} is not the denial of {h}")
    return Conclusion(p.hypotheses - {h}, p.conclusion)


def _not_implies(premises: Sequence[Theorem]) -> Conclusion:
    """From p and not q: not (p -> q)."""
    p, q = premises
    inner = _expect("not-implies", q.conclusion, "not").children[0]
    hypotheses = _all_hypotheses(premises)
    return Conclusion(hypotheses, T.negate(T.implies(p.conclusion, inner)))


def _not_forall(premises: Sequence[Theorem], goal: Term, value: Term | Lam) -> Conclusion:
    """From not p(value), and facts: not for all x: p(x)."""
    p, *facts = premises
    q = _expect("not-forall", _expect("not-forall", goal, "not").children[0], "forall")
    norm = fact_normaliser("not-forall", facts)
    at = _instance("not-forall", q, value, norm)
    if p.conclusion is not T.negate(at):
        raise Refused("not-forall", f"{p.conclusion} does not deny the instance {at}")
    return Conclusion(_all_hypotheses(premises), goal, frozenset(norm.used))


def _not_conj(premises: Sequence[Theorem], goal: Term, i: int) -> Conclusion:
    """From not pi: not (p0 and ... and pn)."""
    (p,) = premises
    parts = _expect("not-conj", _expect("not-conj", goal, "not").children[0], "and").children
    if i < 0 or p.conclusion is not T.negate(parts[i]):
        raise Refused("not-conj", f"{p.conclusion} does not deny part {i}")
    return Conclusion(p.hypotheses, goal)


def _induction(premises: Sequence[Theorem]) -> Conclusion:
    """From p(0) and for all naturals l: p(l) -> p(l + 1): for all naturals l: p(l)."""
    base, step = premises
    q = _expect("induction", step.conclusion, "forall")
    imp = _expect("induction", q.children[-1], "imp")
    if q.data != ("nat", 0):
        raise Refused("induction", "the step is not over the naturals")
    x = T.var("%l", "nat")
    now = T.instantiate(imp.children[0], (x,))
    following = T.substitute(now, {x: T.add(x, T.ONE)})
    if T.instantiate(imp.children[1], (x,)) is not following:
        raise Refused("induction", "the step does not go from l to l + 1")
    if T.substitute(now, {x: T.ZERO}) is not base.conclusion:
        raise Refused("induction", f"{base.conclusion} is not the case l = 0")
    return Conclusion(_all_hypotheses(premises), T.forall(x, now))


def _axiom(premises: Sequence[Theorem], name: str, *args: Term) -> Conclusion:
    """An instance of a listed axiom."""
    () = premises
    schema = AXIOMS.get(name)
    if schema is None or len(args) != schema.arity:
        raise Refused("axiom", f"there is no axiom {name!r} with {len(args)} arguments")
    return Conclusion(frozenset(), schema.build(*args), frozenset([name]))


# ---------------------------------------------------------------------------- equality


@dataclass(frozen=True)
class Item:
    """A use of premises in a linear combination: ``Sum over indices of cofactor * product``.

    `uses` holds (number of the premise, values for its outer quantifiers).
    """

    uses: tuple[tuple[int, tuple[Term | Lam, ...]], ...]
    cofactor: Term
    indices: tuple[Term, ...] = ()


_ARGUMENTS: Final = frozenset([Term, Lam, Item, tuple, str, int])


def _linear_combination(
    premises: Sequence[Theorem], goal: Term, count: int, items: tuple[Item, ...]
) -> Conclusion:
    """a = b, if a - b is the given combination of the differences of the premises' equations.

    The first `count` premises are the equations, the others facts.
    """
    a, b = _expect("linear-combination", goal, "eq").children
    _check_count("linear-combination", premises, count)
    norm = fact_normaliser("linear-combination", premises[count:])
    _check_indices("linear-combination", premises, items)
    rest = plus(norm.poly(a), norm.poly(b), -1)
    for item in items:
        if not item.uses:  # the cofactor alone is not known to be zero
            raise Refused("linear-combination", f"the item {item.cofactor} uses no equation")
        value = _item_value("linear-combination", premises[:count], item, norm, ("eq",))
        rest = plus(rest, norm.poly(value), -1)
    if rest:
        raise Refused("linear-combination", f"{goal}: {_poly_text(rest)} is left over")
    return Conclusion(_all_hypotheses(premises), goal, frozenset(norm.used))


def _poly_text(p: Poly) -> str:
    return T.show(to_term(p))


def _check_count(rule: str, premises: Sequence[Theorem], count: int) -> None:
    if not 0 <= count <= len(premises):
        raise Refused(rule, f"there are {len(premises)} premises, not {count}")


def _check_indices(rule: str, premises: Sequence[Theorem], items: tuple[Item, ...]) -> None:
    """A premise holds for every value of an index only if no hypothesis is about that index."""
    hypotheses = _all_hypotheses(premises)
    for item in items:
        if any(_free_in(i, hypotheses) for i in item.indices):
            raise Refused(rule, "a summed index is free in a hypothesis")


def _item_value(rule: str, premises: Sequence[Theorem], item: Item, norm: Normaliser,
                allowed: tuple[str, ...]) -> Term:  # fmt: skip
    _check_indices_exist(rule, [item.cofactor, *item.indices], norm, item.indices)
    factors = [item.cofactor]
    for number, values in item.uses:
        if number < 0:
            raise Refused(rule, f"there is no premise {number}")
        c = _open_premise(rule, premises[number], values, norm, item.indices)
        if c.op not in allowed:
            raise Refused(rule, f"{c} is not of the form {' or '.join(allowed)}")
        # for an inequality a <= b the non-negative difference is b - a
        factors.append(T.sub(*c.children) if c.op == "eq" else T.sub(*reversed(c.children)))
    value = T.mul(*factors)
    for i in reversed(item.indices):
        value = T.sum_over(i, value)
    return value


def _open_premise(rule: str, p: Theorem, values: tuple[Term | Lam, ...], norm: Normaliser,
                  summed: tuple[Term, ...]) -> Term:  # fmt: skip
    """The premise at the given values, which may mention the summed indices."""
    c = p.conclusion
    for v in values:
        c = _instance(rule, _expect(rule, c, "forall"), v, norm, summed)
    return c


def _order(
    premises: Sequence[Theorem], goal: Term, count: int, items: tuple[Item, ...]
) -> Conclusion:
    """a <= b or a < b, if b - a is a sum of products that are known to be non-negative.

    Every item contributes ``cofactor * product of premise differences``: the cofactor has to be
    known non-negative, unless the item is a single equation.  What remains of b - a after all
    items has to be known non-negative, and for a < b either it or an item has to be positive.
    """
    if goal.op not in ("le", "lt"):
        raise Refused("order", f"{goal} is not an inequality")
    a, b = goal.children
    _check_count("order", premises, count)
    norm = fact_normaliser("order", premises[count:])
    _check_indices("order", premises, items)
    rest = plus(norm.poly(b), norm.poly(a), -1)
    strict = False
    for item in items:
        value = _item_value("order", premises[:count], item, norm, ("eq", "le", "lt"))
        strict = _check_item(premises, item, norm, strict=goal.op == "lt") or strict
        rest = plus(rest, norm.poly(value), -1)
    if not _has_sign(norm, rest, Sign.POS if goal.op == "lt" and not strict else Sign.NONNEG):
        raise Refused("order", f"{goal}: {_poly_text(rest)} is left over")
    return Conclusion(_all_hypotheses(premises), goal, frozenset(norm.used))


def _check_item(premises: Sequence[Theorem], item: Item, norm: Normaliser, *, strict: bool) -> bool:
    """Check the sign of an item's cofactor; tell whether the item is positive, if that matters."""
    kinds = [
        _open_premise("order", premises[n], values, norm, item.indices).op
        for n, values in item.uses
    ]
    if kinds == ["eq"]:
        return False
    positive = (
        strict
        and all(k == "lt" for k in kinds)
        and norm.term_has_sign(item.cofactor, Sign.POS)
        and all(norm.has_sign(norm.term(i.children[0]), Sign.POS) for i in item.indices)
    )
    if "eq" in kinds or not (positive or norm.term_has_sign(item.cofactor, Sign.NONNEG)):
        raise Refused("order", f"the cofactor {item.cofactor} is not known to be non-negative")
    return positive


def _known_sign(norm: Normaliser, p: Poly) -> Sign:
    """The sign of a polynomial, by its terms or by shifting sizes and indices."""
    sign = norm.sign(to_term(p))
    if sign is not Sign.POS and norm.nonneg(plus(p, constant(1), -1)):
        return Sign.POS
    if sign is Sign.UNKNOWN and norm.nonneg(p):
        return Sign.NONNEG
    return sign


def _antisymmetry(premises: Sequence[Theorem]) -> Conclusion:
    """From a <= b and b <= a: a = b."""
    p, q = premises
    a, b = _expect("antisymmetry", p.conclusion, "le").children
    if _expect("antisymmetry", q.conclusion, "le").children != (b, a):
        raise Refused("antisymmetry", f"{q.conclusion} is not the converse of {p.conclusion}")
    return Conclusion(_all_hypotheses(premises), T.eq(a, b))


def _dichotomy(premises: Sequence[Theorem], a: Term, b: Term) -> Conclusion:
    """a <= b or b < a."""
    () = premises
    return Conclusion(frozenset(), T.disj(T.le(a, b), T.lt(b, a)))


def _apart(premises: Sequence[Theorem]) -> Conclusion:
    """From a < b: not a = b."""
    (p,) = premises
    a, b = _expect("apart", p.conclusion, "lt").children
    return Conclusion(p.hypotheses, T.negate(T.eq(a, b)))


def _not_le(premises: Sequence[Theorem]) -> Conclusion:
    """From a < b: not b <= a."""
    (p,) = premises
    a, b = _expect("not-le", p.conclusion, "lt").children
    return Conclusion(p.hypotheses, T.negate(T.le(b, a)))


def _integer_gap(premises: Sequence[Theorem]) -> Conclusion:
    """From a < b, and facts: a + 1 <= b, where a and b are known to be integers."""
    p, *facts = premises
    a, b = _expect("integer-gap", p.conclusion, "lt").children
    norm = fact_normaliser("integer-gap", facts)
    if not (norm.is_int(a) and norm.is_int(b)):
        raise Refused("integer-gap", f"{a} and {b} are not both known to be integers")
    return Conclusion(_all_hypotheses(premises), T.le(T.add(a, T.ONE), b), frozenset(norm.used))


def _integer(premises: Sequence[Theorem], t: Term) -> Conclusion:
    """From facts: t is an integer."""
    norm = fact_normaliser("integer", premises)
    if not norm.is_int(t):
        raise Refused("integer", f"{t} is not known to be an integer")
    return Conclusion(_all_hypotheses(premises), T.isint(t), frozenset(norm.used))


def _leibniz(premises: Sequence[Theorem], hole: Term, template: Term) -> Conclusion:
    """From a = b and p(a): p(b); `template` is p with the variable `hole`."""
    e, p = premises
    a, b = _expect("leibniz", e.conclusion, "eq").children
    if hole.op != "var" or hole.data[1] != "real" or hole.data[2]:
        raise Refused("leibniz", f"{hole} is not a real variable")
    if T.in_a_size(hole, template):
        raise Refused("leibniz", f"{hole} is in the range of a free index")
    if T.substitute(template, {hole: a}) is not p.conclusion:
        raise Refused("leibniz", f"{p.conclusion} is not the template at {a}")
    return Conclusion(_all_hypotheses(premises), T.substitute(template, {hole: b}))


def _extensionality(premises: Sequence[Theorem], t: Term, i: int) -> Conclusion:
    """From for all indices in range: body = body': t = t', where child i of t is body.

    For sums, products, determinants and the vector arguments of a function.
    """
    (p,) = premises
    count = T.binders(t.op, t.data, i)
    if not 0 <= i < len(t.children) or not count or t.op not in ("sum", "prod", "det", "app"):
        raise Refused("extensionality", f"child {i} of {t} binds no index")
    sizes = t.children[i - count : i] if t.op != "det" else (t.children[0],) * 2
    c = p.conclusion
    for k, size in enumerate(sizes):
        _expect("extensionality", c, "forall")
        if c.data != ("fin", 0) or c.children[0] is not T.lift(size, k):
            raise Refused("extensionality", f"{p.conclusion} does not range over {sizes}")
        c = c.children[1]
    left, right = _expect("extensionality", c, "eq").children
    if left is not t.children[i]:
        raise Refused("extensionality", f"{left} is not the body {t.children[i]}")
    children = (*t.children[:i], right, *t.children[i + 1 :])
    return Conclusion(p.hypotheses, T.eq(t, _rebuild(t, children)))


def _rebuild(t: Term, children: tuple[Term, ...]) -> Term:
    at = iter(children)
    return T.map_children(t, lambda _c, _n: next(at))


# ---------------------------------------------------------------------------- sums and indices


def _unroll(premises: Sequence[Theorem], op: str, size: Term, body: Term) -> Conclusion:
    """The sum (product) over i < n + 1 is that over i < n, plus (times) the term at n.

    n is known, by sort or facts, to be a natural number.
    """
    norm = fact_normaliser("unroll", premises)
    check_member("unroll", size, ("nat", 0), None, norm)
    make, join = {"sum": (T.total, T.add), "prod": (T.product, T.mul)}[op]
    last = T.instantiate(body, (size,))
    goal = T.eq(make(T.add(size, T.ONE), body), join(make(size, body), last))
    return Conclusion(_all_hypotheses(premises), goal, frozenset(norm.used))


def _block_sum(premises: Sequence[Theorem], rows: Term, columns: Term, body: Term) -> Conclusion:
    """Sum over a < m n of f(a) = Sum over i < m of Sum over c < n of f(i n + c), m, n naturals."""
    norm = fact_normaliser("block-sum", premises)
    check_member("block-sum", rows, ("nat", 0), None, norm)
    check_member("block-sum", columns, ("nat", 0), None, norm)
    position = T.add(T.mul(T.bound(1), columns), T.bound(0))
    inner = T.instantiate(T.lift(body, 2, 1), (position,))
    goal = T.eq(T.total(T.mul(rows, columns), body), T.total(rows, T.total(columns, inner)))
    return Conclusion(_all_hypotheses(premises), goal, frozenset(norm.used))


def _block_forall(premises: Sequence[Theorem], goal: Term, columns: int) -> Conclusion:
    """From for all i < m: p(i k + c), for each c < k: for all a < m k: p(a); k a literal.

    One premise for every c, in order; m k is written as the product of m and the literal.
    """
    q = _expect("block-forall", goal, "forall")
    if q.data != ("fin", 0) or q.children[0].op != "mul" or columns < 1:
        raise Refused("block-forall", f"{goal} does not range over a product")
    rows, *rest = q.children[0].children
    if rest != [T.num(columns)] or len(premises) != columns:
        raise Refused("block-forall", f"{goal} does not range over {columns} columns")
    norm = Normaliser()
    check_member("block-forall", rows, ("nat", 0), None, norm)
    i = T.var("%i", "fin", rows)
    for c, p in enumerate(premises):
        position = T.add(T.mul(i, T.num(columns)), T.num(c))
        if p.conclusion is not T.forall(i, T.instantiate(q.children[1], (position,))):
            raise Refused("block-forall", f"{p.conclusion} is not the case of column {c}")
    return Conclusion(_all_hypotheses(premises), goal, frozenset(norm.used))


def _finite_forall(premises: Sequence[Theorem], goal: Term) -> Conclusion:
    """From p(0), ..., p(k - 1): for all i < k: p(i), for a literal k."""
    q = _expect("finite-forall", goal, "forall")
    norm = Normaliser()
    size = literal(norm.poly(q.children[0])) if q.data == ("fin", 0) else None
    if size is None or size != len(premises):
        raise Refused("finite-forall", f"{len(premises)} cases for {goal}")
    for k, p in enumerate(premises):
        if p.conclusion is not T.instantiate(q.children[1], (T.num(k),)):
            raise Refused("finite-forall", f"{p.conclusion} is not case {k}")
    return Conclusion(_all_hypotheses(premises), goal, frozenset(norm.used))


# ---------------------------------------------------------------------------- calculus


def _derivative(premises: Sequence[Theorem], dims: tuple[Term, ...], function: Term,
                point: Term) -> Conclusion:  # fmt: skip
    """The gradient of an expression at a point by the derivative table.

    `function` is the expression with the tensor it depends on as bound index 0.  The premises
    prove the conditions that `differentiate` lists: differentiability of function symbols at
    their arguments, and signs for inverses, logarithms and roots.
    """
    value, conditions, laws = differentiate(dims, function, point)
    proved = {p.conclusion for p in premises}
    missing = [c for c in conditions if c not in proved]
    if missing:
        raise Refused("derivative", f"not known: {', '.join(map(T.show, missing))}")
    goal = T.grad(dims, function, point, value)
    return Conclusion(_all_hypotheses(premises), goal, laws | {"derivative-table"})


def _gradient_value(premises: Sequence[Theorem], value: Term) -> Conclusion:
    """From gradient g, and for all c in range: g(c) = g'(c): gradient g'."""
    p, q = premises
    g = _expect("gradient-value", p.conclusion, "grad")
    dims, (f, point, old) = g.children[: g.data], g.children[g.data :]
    wanted = T.eq(old, value)
    for k in reversed(range(len(dims))):
        wanted = T.quantified("forall", "fin", wanted, T.lift(dims[k], k))
    if q.conclusion is not wanted:
        raise Refused("gradient-value", f"{q.conclusion} is not {wanted}")
    return Conclusion(_all_hypotheses(premises), T.grad(dims, f, point, value))


def _gradient_function(premises: Sequence[Theorem], function: Term) -> Conclusion:
    """From gradient of f, and for all tensors X: f(X) = h(X), well defined: gradient of h.

    Further premises prove what makes the equation well defined where sorts do not: a gradient at
    the point means that h is defined near it, and the table has not seen the operations of h.
    """
    p, q, *defined = premises
    g = _expect("gradient-function", p.conclusion, "grad")
    dims, (old, point, value) = g.children[: g.data], g.children[g.data :]
    equation = T.eq(old, function)
    wanted = T.quantified("forall", "tensor", equation, arity=len(dims))
    if q.conclusion is not wanted:
        raise Refused("gradient-function", f"{q.conclusion} is not {wanted}")
    proved = {d.conclusion for d in defined}
    missing = [o for o in obligations(wanted) if o not in proved]
    if missing:
        raise Refused("gradient-function", f"not known: {', '.join(map(T.show, missing))}")
    goal = T.grad(dims, function, point, value)
    return Conclusion(_all_hypotheses(premises), goal, laws_of_obligations(wanted))


def _gradient_unique(premises: Sequence[Theorem]) -> Conclusion:
    """From gradients g and g' of one function at one point: for all c in range: g(c) = g'(c)."""
    p, q = (_expect("gradient-unique", t.conclusion, "grad") for t in premises)
    if p.data != q.data or p.children[:-1] != q.children[:-1]:
        raise Refused("gradient-unique", f"{p} and {q} are not about one function at one point")
    equation = T.eq(p.children[-1], q.children[-1])
    for k in reversed(range(p.data)):
        equation = T.quantified("forall", "fin", equation, T.lift(p.children[k], k))
    return Conclusion(_all_hypotheses(premises), equation)


def _differentiable(premises: Sequence[Theorem], slot: int) -> Conclusion:
    """From gradient of f(X), at x, for a function symbol f: f is differentiable in X at x.

    X is the whole vector `slot` of f, of the size by which the gradient is taken, and occurs
    nowhere else in f(X).
    """
    (p,) = premises
    g = _expect("differentiable", p.conclusion, "grad")
    dims, (function, point, _) = g.children[: g.data], g.children[g.data :]
    goal = T.differentiable(T.instantiate(function, (Lam(g.data, point),)), slot)
    t = T.instantiate(function, ("%x",))
    arities = t.data.arities
    end = t.data.scalars + sum(a + 1 for a in arities[: slot + 1])
    start = end - arities[slot] - 1
    whole = T.apply("%x", *(T.bound(k) for k in reversed(range(g.data))))
    if t.children[start:end] != (*dims, whole):
        raise Refused("differentiable", f"{t} does not have the tensor as its vector {slot}")
    if _free_in("%x", (*t.children[:start], *t.children[end:])):
        raise Refused("differentiable", f"{t} depends on the tensor in another way as well")
    return Conclusion(p.hypotheses, goal)


# ---------------------------------------------------------------------------- evaluation


def _decide(premises: Sequence[Theorem], goal: Term) -> Conclusion:
    """A formula that evaluation at exact numbers shows to be true; facts may give signs."""
    norm = fact_normaliser("decide", premises)
    if evaluate(goal, norm) is not True:
        raise Refused("decide", f"evaluation does not show {goal}")
    return Conclusion(_all_hypotheses(premises), goal, frozenset(norm.used))


def evaluate(p: Term, norm: Normaliser) -> bool | None:
    """The truth of a formula as far as exact evaluation tells, None if it does not."""
    mark = len(norm.used)
    known = _evaluate(p, norm)
    if known is None:
        norm.forget(mark)
    return known


def _evaluate(p: Term, norm: Normaliser) -> bool | None:
    match p.op:
        case "eq" | "le" | "lt":
            return _evaluate_relation(p, norm)
        case "isint":
            q = literal(norm.poly(p.children[0]))
            known = norm.is_int(p.children[0]) or None
            return known if q is None else q.denominator == 1
        case "not":
            inner = evaluate(p.children[0], norm)
            return None if inner is None else not inner
        case "imp":
            sides = ((p.children[0], True), (p.children[1], False))
            return _any(_negated(evaluate(c, norm)) if left else evaluate(c, norm)
                        for c, left in sides)  # fmt: skip
        case "or":
            return _any(evaluate(c, norm) for c in p.children)
        case "and":
            return _negated(_any(_negated(evaluate(c, norm)) for c in p.children))
        case "forall" if p.data == ("fin", 0):
            size = literal(norm.poly(p.children[0]))
            if size is None or size.denominator != 1 or size > 64:
                return None
            cases = (T.instantiate(p.children[1], (T.num(k),)) for k in range(max(0, int(size))))
            return _negated(_any(_negated(evaluate(c, norm)) for c in cases))
        case _:
            return None


def _negated(b: bool | None) -> bool | None:
    return None if b is None else not b


def _any(parts: Iterable[bool | None]) -> bool | None:
    """Whether one of the parts is true; looks no further than the first that is."""
    known = True
    for part in parts:
        if part:
            return True
        known = known and part is not None
    return False if known else None


def _evaluate_relation(p: Term, norm: Normaliser) -> bool | None:
    a, b = p.children
    difference = plus(norm.poly(b), norm.poly(a), -1)
    opposite = plus({}, difference, -1)
    if p.op == "eq":
        if not difference:
            return True
        known = _has_sign(norm, difference, Sign.NONZERO) or _has_sign(norm, opposite, Sign.NONZERO)
        return False if known else None
    yes, no = (Sign.NONNEG, Sign.POS) if p.op == "le" else (Sign.POS, Sign.NONNEG)
    if _has_sign(norm, difference, yes):
        return True
    return False if _has_sign(norm, opposite, no) else None


def _has_sign(norm: Normaliser, p: Poly, wanted: Sign) -> bool:
    return _known_sign(norm, p) in (wanted, Sign.POS)


RULES: Final[dict[str, Rule]] = {
    "assume": _assume,
    "conj": _conj,
    "conjunct": _conjunct,
    "discharge": _discharge,
    "modus-ponens": _modus_ponens,
    "generalise": _generalise,
    "generalise-tensor": _generalise_tensor,
    "specialise": _specialise,
    "witness": _witness,
    "choose": _choose,
    "cases": _cases,
    "disjunct": _disjunct,
    "excluded-middle": _excluded_middle,
    "contradiction": _contradiction,
    "deny": _deny,
    "not-implies": _not_implies,
    "not-forall": _not_forall,
    "not-conj": _not_conj,
    "induction": _induction,
    "axiom": _axiom,
    "linear-combination": _linear_combination,
    "order": _order,
    "antisymmetry": _antisymmetry,
    "dichotomy": _dichotomy,
    "apart": _apart,
    "not-le": _not_le,
    "integer-gap": _integer_gap,
    "integer": _integer,
    "leibniz": _leibniz,
    "extensionality": _extensionality,
    "unroll": _unroll,
    "block-sum": _block_sum,
    "block-forall": _block_forall,
    "finite-forall": _finite_forall,
    "derivative": _derivative,
    "gradient-value": _gradient_value,
    "gradient-function": _gradient_function,
    "gradient-unique": _gradient_unique,
    "differentiable": _differentiable,
    "decide": _decide,
}
