"""Rules with random premises and arguments: what they accept is true wherever its hypotheses are.

Truth is computed by `exact_evaluation`, which knows no laws and no rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from random import Random

import pytest
from exact_evaluation import Unsettled, World
from kernel_symbols import RX, H, I, J, K, L, M, N, X, Y, Z
from random_terms import Generator

from derive.kernel import terms as T
from derive.kernel.normal import Normaliser
from derive.kernel.rules import Item, Theorem, infer
from derive.kernel.terms import KernelError, Lam, Term

SEEDS, WORLDS = 250, 12
#: ranges, some of which may be empty, negative or fractional
RANGES = (N, M, L, K, T.ZERO, T.num(2), T.sub(N, T.ONE), T.div(N, T.num(2)), T.add(I, T.ONE), X)
ODD = tuple(T.var(f"o{k}", "fin", size) for k, size in enumerate(RANGES))


class Attack:
    """Random premises and arguments."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.make = Generator(rng)

    def term(self, bound: int = 0) -> Term:
        return self.make.term(self.rng.randint(0, 2), bound)

    def size(self) -> Term:
        return self.rng.choice(RANGES)

    def index(self) -> Term:
        small = (T.ZERO, T.ONE, T.num(-1), N, T.sub(N, T.ONE), L)
        return self.rng.choice((*ODD, *ODD, I, J, H, *small, self.term()))

    def relation(self, bound: int = 0, ops: str = "eq le lt") -> Term:
        op = self.rng.choice(ops.split())
        sides = (self.term(bound), self.rng.choice((T.ZERO, T.ONE, self.term(bound))))
        return {"eq": T.eq, "le": T.le, "lt": T.lt}[op](*sides)

    def formula(self, depth: int = 2, bound: int = 0) -> Term:
        go = self.rng.randrange(9) if depth else 0

        def sub(more: int = 0) -> Term:
            return self.formula(depth - 1, bound + more)

        match go:
            case 1:
                return T.negate(sub())
            case 2:
                return T.implies(sub(), sub())
            case 3:
                return T.conj(sub(), sub())
            case 4:
                return T.disj(sub(), sub())
            case 5 | 6:
                op = self.rng.choice(["forall", "exists"])
                return T.quantified(op, "fin", sub(1), self.size())
            case 7:
                return T.isint(self.term(bound))
            case _:
                return self.relation(bound)

    def premise(self, ops: str = "eq le lt") -> tuple[Theorem, tuple[Term | Lam, ...]]:
        """A relation, perhaps for all indices or tensors, and values to use it at."""
        match self.rng.randrange(4):
            case 0 | 1:
                size = self.size()
                p = T.quantified("forall", "fin", self.relation(1, ops), size)
                mine = T.var("s", "fin", size)
                return _assume(p), (self.rng.choice((self.index(), mine, mine)),)
            case 2:
                entry = T.app(T.Head(1, 1), T.bound(0))
                body = T.eq(T.total(self.size(), T.mul(entry, self.term(1))), T.ZERO)
                value = T.delta(T.bound(0), self.index())
                p = T.quantified("forall", "tensor", body, arity=1)
                return _assume(p), (Lam(1, self.rng.choice((value, self.term(1)))),)
            case _:
                return _assume(self.relation(0, ops)), ()

    def facts(self) -> tuple[Theorem, ...]:
        kinds: tuple[Callable[[Term], Term], ...] = (
            lambda t: T.lt(T.ZERO, t),
            lambda t: T.le(t, T.ZERO),
            lambda t: T.negate(T.eq(t, T.ONE)),
            T.isint,
        )
        about = (X, Y, Z, K, self.term())
        return tuple(
            _assume(self.rng.choice(kinds)(self.rng.choice(about)))
            for _ in range(self.rng.randrange(3))
        )

    def items(self, premises: list[tuple[Theorem, tuple[Term | Lam, ...]]]) -> tuple[Item, ...]:
        out = []
        for _ in range(self.rng.randint(0, 2)):
            chosen = self.rng.choices(range(len(premises)), k=self.rng.choice((0, 1, 1, 1, 2)))
            uses = tuple((k, premises[k][1]) for k in chosen)
            found = {v for k in chosen for v in premises[k][1] if isinstance(v, Term)}
            indices = tuple(v for v in sorted(found, key=lambda v: v.key) if _is_index(v))
            cofactor = self.rng.choice((T.ONE, self.term(), T.power(self.term(), 2)))
            out.append(Item(uses, cofactor, indices if self.rng.random() < 0.5 else ()))
        return tuple(out)


def _is_index(v: Term) -> bool:
    return v.op == "var" and v.data[1] == "fin"


def _assume(p: Term) -> Theorem:
    return infer("assume", [], p)


def _combined(premises: list[tuple[Theorem, tuple[Term | Lam, ...]]], items: tuple[Item, ...]
              ) -> Term:  # fmt: skip
    """What the items add up to."""
    parts = []
    for item in items:
        factors = [item.cofactor]
        for k, values in item.uses:
            p = premises[k][0].conclusion
            for v in values:
                p = T.instantiate(p.children[-1], (v,))
            a, b = p.children
            factors.append(T.sub(a, b) if p.op == "eq" else T.sub(b, a))
        part = T.mul(*factors)
        for i in reversed(item.indices):
            part = T.sum_over(i, part)
        parts.append(part)
    return T.add(*parts)


# ---------------------------------------------------------------------------- one attack per rule


def _combination(a: Attack) -> Theorem:
    premises = [a.premise("eq") for _ in range(a.rng.randint(1, 2))]
    items, facts = a.items(premises), a.facts()
    goal = T.eq(Normaliser().term(_combined(premises, items)), T.ZERO)
    theorems = [p for p, _ in premises]
    return infer("linear-combination", [*theorems, *facts], goal, len(theorems), items)


def _order(a: Attack) -> Theorem:
    premises = [a.premise() for _ in range(a.rng.randint(1, 2))]
    items, facts = a.items(premises), a.facts()
    more = a.rng.choice((T.ZERO, T.ONE, T.power(a.term(), 2), T.fn("abs", a.term()), a.term()))
    value = Normaliser().term(T.add(_combined(premises, items), more))
    goal = a.rng.choice((T.le, T.lt))(T.ZERO, value)
    theorems = [p for p, _ in premises]
    return infer("order", [*theorems, *facts], goal, len(theorems), items)


def _specialise(a: Attack) -> Theorem:
    sort = a.rng.choice(("fin", "fin", "nat", "dim", "int", "real"))
    size = a.size() if sort == "fin" else None
    every = T.quantified("forall", sort, a.formula(1, 1), size)
    return infer("specialise", [_assume(every), *a.facts()], a.index())


def _witness(a: Attack) -> Theorem:
    goal = T.quantified("exists", "fin", a.formula(1, 1), a.size())
    value = a.index()
    held = _assume(T.instantiate(goal.children[-1], (value,)))
    return infer("witness", [held, *a.facts()], goal, value)


def _not_forall(a: Attack) -> Theorem:
    every = T.quantified("forall", "fin", a.formula(1, 1), a.size())
    value = a.index()
    held = _assume(T.negate(T.instantiate(every.children[-1], (value,))))
    return infer("not-forall", [held, *a.facts()], T.negate(every), value)


def _generalise(a: Attack) -> Theorem:
    p, q = a.formula(), a.formula()
    held = infer("modus-ponens", [_assume(T.implies(p, q)), _assume(p)])
    return infer("generalise", [held], a.rng.choice((*ODD, I, J, H, X, Y, K, L, N)))


def _choose(a: Attack) -> Theorem:
    x = a.rng.choice((*ODD, I, H))
    body = T.abstract(a.formula(1), (x,))
    some = T.quantified("exists", "fin", body, x.children[0])
    held = infer("conj", [_assume(T.instantiate(body, (x,))), _assume(a.formula(1))])
    use = infer("conjunct", [held], a.rng.randrange(2))
    return infer("choose", [_assume(some), use], x)


def _decide(a: Attack) -> Theorem:
    return infer("decide", a.facts(), a.formula())


def _integer(a: Attack) -> Theorem:
    return infer("integer", a.facts(), a.term())


def _integer_gap(a: Attack) -> Theorem:
    return infer("integer-gap", [_assume(a.relation(0, "lt")), *a.facts()])


def _leibniz(a: Attack) -> Theorem:
    hole, (s, t) = T.var("hole"), (a.term(), a.term())
    seen = a.rng.choice((a.formula(), T.eq(T.expectation(T.mul(RX, X)), a.term())))
    template = T.substitute(seen, {a.rng.choice((X, Y, Z)): hole})
    held = _assume(T.substitute(template, {hole: s}))
    return infer("leibniz", [_assume(T.eq(s, t)), held], hole, template)


def _extensionality(a: Attack) -> Theorem:
    size, (left, right) = a.size(), (a.term(1), a.term(1))
    other = a.rng.choice((size, size, a.size()))
    every = _assume(T.quantified("forall", "fin", T.eq(left, right), other))
    vector = T.app(T.Head("F", 0, (1,)), size, left)
    t = a.rng.choice((T.total(size, left), T.product(size, left), vector))
    return infer("extensionality", [every], t, 1)


def _unroll(a: Attack) -> Theorem:
    return infer("unroll", a.facts(), a.rng.choice(("sum", "prod")), a.size(), a.term(1))


def _block_sum(a: Attack) -> Theorem:
    return infer("block-sum", a.facts(), a.size(), a.size(), a.term(1))


def _block_forall(a: Attack) -> Theorem:
    rows, columns = a.size(), a.rng.randint(1, 2)
    body = a.formula(1, 1)
    goal = T.quantified("forall", "fin", body, T.mul(rows, T.num(columns)))
    position = T.mul(T.bound(0), T.num(columns))
    cases = [
        _assume(T.quantified("forall", "fin", T.instantiate(T.lift(body, 1, 1), (at,)), rows))
        for at in (T.add(position, T.num(c)) for c in range(columns))
    ]
    return infer("block-forall", cases, goal, columns)


def _finite_forall(a: Attack) -> Theorem:
    goal = T.quantified("forall", "fin", a.formula(1, 1), a.rng.choice((T.num(2), a.size())))
    cases = [_assume(T.instantiate(goal.children[1], (T.num(k),))) for k in range(2)]
    return infer("finite-forall", cases[: a.rng.randrange(3)], goal)


def _induction(a: Attack) -> Theorem:
    body = a.formula(1, 1)
    base = _assume(T.instantiate(body, (T.ZERO,)))
    following = T.instantiate(T.lift(body, 1, 1), (T.add(T.bound(0), T.ONE),))
    step = T.quantified("forall", "nat", T.implies(body, following))
    return infer("induction", [base, _assume(step)])


def _axiom(a: Attack) -> Theorem:
    names = ("inverse", "sin-add", "cos-add", "pythagoras", "sin-upper", "sin-lower", "max-right",
             "max-left", "min-left", "min-right", "abs-nonneg", "abs-nonpos", "log-product",
             "log-tangent", "exp-increasing", "floor-lower", "floor-upper", "det-product",
             "det-transpose", "det-identity")  # fmt: skip
    name = a.rng.choice(names)
    matrices = {"det-product": 2, "det-transpose": 1, "det-identity": 0}
    if name in matrices:
        return infer("axiom", [], name, a.size(), *(a.term(2) for _ in range(matrices[name])))
    two = ("add", "max", "min", "product", "increasing")
    return infer("axiom", [], name, *(a.term() for _ in range(1 + any(w in name for w in two))))


ATTACKS = {
    f.__name__[1:]: f
    for f in (
        _combination, _order, _specialise, _witness, _not_forall, _generalise, _choose, _decide,
        _integer, _integer_gap, _leibniz, _extensionality, _unroll, _block_sum, _block_forall,
        _finite_forall, _induction, _axiom,
    )
}  # fmt: skip


def accepted(name: str, seeds: range) -> Iterator[tuple[int, Theorem]]:
    for seed in seeds:
        try:
            yield seed, ATTACKS[name](Attack(Random(f"{name}{seed}")))
        except KernelError:
            continue


class Sampled(World):
    """Checks a "for all" at some numbers or tensors: enough of them for the rules that are tried.

    From p(0) and p(l) -> p(l + 1) for l <= 6 follows p(l) for l <= 6; a sum that is linear in a
    tensor is 0 if it is 0 for every unit vector; and an instance is among the numbers.
    """

    def __init__(self, seed: int, made: Theorem) -> None:
        super().__init__(seed)
        value = made.args[0] if made.rule == "specialise" else T.ZERO
        self.numbers = [*map(Fraction, range(-3, 7)), self.value(value)]

    def truth(self, p: Term, env: tuple = ()) -> bool:
        if p.op != "forall" or p.data[0] == "fin":
            return super().truth(p, env)
        if p.data[0] == "tensor":
            cases = [lambda i, k=k: Fraction(i == k) for k in range(8)]
        else:
            cases = [q for q in self.numbers if _is_member(q, p.data[0])]
        return all(self.truth(p.children[0], (c, *env)) for c in cases)


def _is_member(q: object, sort: str) -> bool:
    if sort == "real":
        return True
    if not isinstance(q, Fraction):
        raise Unsettled
    low = {"int": q, "nat": 0, "dim": 1}[sort]
    return q.denominator == 1 and q >= low


def holds(p: Theorem, seed: int) -> bool | None:
    """Whether a sequent holds in a world, None if that is not settled."""
    try:
        world = Sampled(seed, p)
        if not all(world.truth(h) for h in p.hypotheses):
            return None
        return world.truth(p.conclusion)
    except Unsettled:
        return None


@pytest.mark.parametrize("name", ATTACKS)
def test_what_a_rule_accepts_is_true(name: str) -> None:
    settled = 0
    for seed, made in accepted(name, range(SEEDS)):
        for k in range(WORLDS):
            held = holds(made, 1000 * seed + k)
            assert held is not False, (seed, made)
            settled += held is True
    assert settled > 5
