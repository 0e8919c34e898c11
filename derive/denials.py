"""Proofs that a closed formula is false, or true, at exact values.

Evaluation settles most.  Where it does not see that two numbers with roots, exponentials or
logarithms differ, their squares, exponentials or logarithms may show it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Final

from derive import auto, gradients
from derive.candidates import table
from derive.convert import Converter
from derive.kernel import terms as T
from derive.kernel.normal import UNIT, Normaliser, Sign, plus, to_term
from derive.kernel.rules import Item, Theorem, evaluate, infer
from derive.kernel.terms import KernelError, Lam, Term
from derive.prover import Prover
from derive.search import NotFound

#: Quantifiers below one another of which instances are tried.
DEPTH: Final = 2
#: In ranges up to this length each index is tried.
MAX_LENGTH: Final = 8
#: Sums of more terms are not squared.
LARGEST: Final = 8
#: Roots of higher order are not taken to a power.
LARGEST_POWER: Final = 64
#: By how much numbers have to differ in floating point to be compared by a proof.
CLEARLY: Final = 1e-6


def closed(p: Term) -> Theorem:
    """A closed formula by evaluation or, where that does not tell, by a simple proof."""
    try:
        return infer("decide", [], p)
    except KernelError:
        if evaluate(p, Normaliser()) is False:
            raise
    if p.op == "not":
        try:
            return deny(p.children[0], 0)
        except KernelError:
            pass
    try:
        return auto.prove(Prover(Converter(), ()), p)
    except NotFound as error:
        raise KernelError(str(error)) from error


def deny(p: Term, depth: int = DEPTH, alone: bool = True) -> Theorem:
    """not p, for a closed formula p.

    With `alone` the automatic prover is asked where neither evaluation nor an instance tells.
    """
    try:
        return infer("decide", [], T.negate(p))
    except KernelError:
        if evaluate(p, Normaliser()) is True:
            raise
    match p.op:
        case "imp":
            failing = deny(p.children[1], depth, alone)
            return infer("not-implies", [closed(p.children[0]), failing])
        case "and":
            return _counter_part(p, depth, alone)
        case "or":
            return _no_part(p, depth, alone)
        case "forall" if depth > 0:
            return _counter_instance(p, depth, alone)
        case "grad":
            return gradients.deny(p, closed, lambda q: deny(q, depth, alone))
        case "eq" if _is_small(p):
            return _unequal(p)
        case "le" | "lt" if _is_small(p):
            return _not_ordered(p)
        case "exists" if p.data[0] == "fin" and _is_short(p.children[0]):
            return _no_instance(p, depth, alone)
        case "exists" | "not" if alone:
            return _by_proof(p)
        case _:
            raise KernelError(f"not known to be false: {T.show(p)}")


def _is_short(size: Term) -> bool:
    return size.op == "num" and size.data <= MAX_LENGTH


def _no_instance(p: Term, depth: int, alone: bool) -> Theorem:
    """not (there is i < k: q(i)), since q fails at each of the indices."""
    size, body = p.children
    failing = [deny(T.instantiate(body, (T.num(q),)), depth, alone) for q in range(int(size.data))]
    i = T.var("_i", "fin", size)
    instance = T.instantiate(body, (i,))
    everywhere = T.forall(i, T.negate(instance))
    denial = infer("specialise", [infer("finite-forall", failing, everywhere)], i)
    absurd = infer("contradiction", [infer("assume", [], instance), denial], T.negate(p))
    return infer("deny", [infer("choose", [infer("assume", [], p), absurd], i)], p)


def _by_proof(p: Term) -> Theorem:
    if p.op == "exists" and any(map(_is_true, _at_instances(p))):
        raise KernelError(f"not known to be false: {T.show(p)}")
    try:
        return auto.prove(Prover(Converter(), ()), T.negate(p))
    except NotFound as error:
        raise KernelError(str(error)) from error


def _at_instances(p: Term) -> Iterator[Term]:
    return (T.instantiate(p.children[-1], (v,)) for v in _instances(p))


def _is_true(p: Term) -> bool:
    return evaluate(p, Normaliser()) is True


def _counter_part(p: Term, depth: int, alone: bool) -> Theorem:
    for k, part in enumerate(p.children):
        try:
            return infer("not-conj", [deny(part, depth, alone)], T.negate(p), k)
        except KernelError:
            continue
    raise KernelError(f"not known to be false: {T.show(p)}")


def _no_part(p: Term, depth: int, alone: bool) -> Theorem:
    """not (p1 or ... or pn), since each of them contradicts itself."""
    failing = [deny(part, depth, alone) for part in p.children]
    wanted = T.negate(p)
    absurd = [
        infer("contradiction", [infer("assume", [], part), denial], wanted)
        for part, denial in zip(p.children, failing, strict=True)
    ]
    return infer("deny", [infer("cases", [infer("assume", [], p), *absurd])], p)


def _counter_instance(p: Term, depth: int, alone: bool) -> Theorem:
    for value in _instances(p):
        try:
            failing = deny(T.instantiate(p.children[-1], (value,)), depth - 1, alone)
        except KernelError:
            continue
        return infer("not-forall", [failing], T.negate(p), value)
    raise KernelError(f"not known to be false: {T.show(p)}")


def _instances(p: Term) -> Iterator[Term | Lam]:
    sort, arity = p.data
    if sort == "tensor":
        entries: object = [1, -1, 2]
        for _ in range(arity - 1):
            entries = [entries, [0, 1, 0], [2, 0, -1]]
        yield table(entries)
        return
    numbers: list[Fraction | int] = [1, 0, 2, 3]
    if sort == "fin":
        size = p.children[0]
        numbers = list(range(int(min(size.data, 4)))) if size.op == "num" else [0]
    elif sort in ("real", "int"):
        numbers += [-1, -2] + ([Fraction(1, 2)] if sort == "real" else [])
    yield from (T.num(q) for q in numbers if sort != "dim" or q >= 1)


# ---------------------------------------------------------------------------- numbers

_IMAGES: Final[tuple[Callable[[Term], Term], ...]] = (
    lambda x: T.power(x, 2),
    lambda x: T.fn("exp", x),
    lambda x: T.fn("log", x),
)


def _is_small(p: Term) -> bool:
    """Whether both sides are numbers that can be squared without harm."""
    norm = Normaliser()
    return not T.free_symbols(p) and all(len(norm.poly(c)) <= LARGEST for c in p.children)


def _unequal(p: Term) -> Theorem:
    """not a = b, since a - b is a product of other numbers, or f(a) = f(b) is false for some f."""
    try:
        return _nonzero_product(p)
    except KernelError:
        pass
    try:
        return _not_half_of_zero(p)
    except KernelError:
        pass
    supposed = infer("assume", [], p)
    for same in (supposed, _irrational_part(supposed)):
        for f in (*_IMAGES, *_powers(same.conclusion)):
            try:
                different = infer("decide", [], T.negate(T.eq(*map(f, same.conclusion.children))))
                return _absurd(p, _image(same, f), different)
            except KernelError:
                continue
    raise KernelError(f"not known to be false: {T.show(p)}")


def _not_half_of_zero(p: Term) -> Theorem:
    """not sin x = 0 and not cos x = 0, since sin 2x = 2 sin x cos x does not vanish."""
    t, zero = p.children
    if t.op != "fn" or t.data not in ("sin", "cos") or zero is not T.ZERO:
        raise KernelError(f"not sine or cosine: {T.show(p)}")
    x = t.children[0]
    double = T.eq(T.fn("sin", T.mul(T.num(2), x)), T.ZERO)
    supposed = infer("assume", [], p)
    factor = T.mul(T.num(2), T.fn("cos" if t.data == "sin" else "sin", x))
    items = (Item(((0, ()),), T.ONE), Item(((1, ()),), factor))
    sum_law = infer("axiom", [], "sin-add", x, x)
    consequence = infer("linear-combination", [sum_law, supposed], double, 2, items)
    return _absurd(p, consequence, infer("decide", [], T.negate(double)))


def _powers(equation: Term) -> Iterator[Callable[[Term], Term]]:
    """Powers that make numbers of roots, which are e^(q log x) with a fraction q."""
    sides = [Normaliser().term(c) for c in equation.children]
    exponentials = [t for c in sides for t in T.subterms(c) if t.op == "fn" and t.data == "exp"]
    below = {c.denominator for t in exponentials for c in Normaliser().poly(t.children[0]).values()}
    yield from (_to_the(k) for k in sorted(below - {1, 2}) if k <= LARGEST_POWER)


def _to_the(k: int) -> Callable[[Term], Term]:
    return lambda x: T.power(x, k)


def _irrational_part(equation: Theorem) -> Theorem:
    """From a = b: the terms of a - b with atoms are minus the constant one."""
    difference = Normaliser().poly(T.sub(*equation.conclusion.children))
    constant = difference.get(UNIT, Fraction(0))
    atoms = to_term(plus(difference, {UNIT: constant}, -1))
    goal = T.eq(atoms, T.num(-constant))
    return infer("linear-combination", [equation], goal, 1, (Item(((0, ()),), T.ONE),))


def _image(equation: Theorem, f: Callable[[Term], Term]) -> Theorem:
    """From a = b: f(a) = f(b)."""
    a, _ = equation.conclusion.children
    hole = T.var("y", "real")
    same = infer("linear-combination", [], T.eq(f(a), f(a)), 0, ())
    return infer("leibniz", [equation, same], hole, T.eq(f(a), f(hole)))


def _nonzero_product(p: Term) -> Theorem:
    """not a = b, since no factor of a - b vanishes."""
    norm = Normaliser()
    difference = norm.poly(T.sub(*p.children))
    (m, c), *others = difference.items()
    if others or m.indices or (c == 1 and len(m.factors) == 1):
        raise KernelError(f"not a product: {T.show(p)}")
    unknown = [t for t, _ in m.factors if norm.sign(t) not in (Sign.POS, Sign.NONZERO)]
    facts = [deny(T.eq(t, T.ZERO), 0) for t in unknown]
    return infer("decide", facts, T.negate(p))


def _not_ordered(p: Term) -> Theorem:
    """not a <= b, since not a^2 <= b^2, for a + b >= 0, or since b < a; the same for <."""
    try:
        return _not_ordered_squares(p)
    except KernelError:
        a, b = p.children
        if not _is_clearly_less(b, a):  # a proof would be looked for in vain
            raise
    reverse = (T.lt if p.op == "le" else T.le)(b, a)
    try:
        known = auto.prove(Prover(Converter(), ()), reverse)
    except NotFound as error:
        raise KernelError(str(error)) from error
    if p.op == "le":
        return infer("not-le", [known])
    return _absurd(p, known, infer("not-le", [infer("assume", [], p)]))


def _is_clearly_less(a: Term, b: Term) -> bool:
    """Whether a < b in floating point, by more than rounding: then a proof is looked for."""
    from derive.evaluate import Evaluation  # loads NumPy, which is seldom needed

    try:
        low, high = (float(Evaluation({}).entries(t)) for t in (a, b))
    except (KeyError, ValueError, ArithmeticError):
        return False
    return high - low > CLEARLY * max(1.0, abs(low), abs(high))


def _not_ordered_squares(p: Term) -> Theorem:
    a, b = p.children
    squares = T.le(T.power(a, 2), T.power(b, 2))
    if p.op == "lt":
        squares = T.lt(*squares.children)
    different = infer("decide", [], T.negate(squares))
    supposed = infer("assume", [], p)
    item = Item(((0, ()),), T.add(a, b))
    return _absurd(p, infer("order", [supposed], squares, 1, (item,)), different)


def _absurd(p: Term, consequence: Theorem, denial: Theorem) -> Theorem:
    """not p, from p |- q and not q."""
    negation = infer("contradiction", [consequence, denial], T.negate(p))
    return infer("deny", [negation], p)
