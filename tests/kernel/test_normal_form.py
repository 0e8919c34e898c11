"""The normal form against the meaning: equal terms are identified, different ones are not."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest
from exact_evaluation import MP, SMALL, Unsettled, World, is_zero, negative, plus, times
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from kernel_symbols import H, I, J, K, L, M, N, X, Y, Z
from random_terms import Generator

from derive.kernel import terms as T
from derive.kernel.normal import Normaliser, Sign
from derive.kernel.terms import Term

settings.register_profile(
    "kernel", derandomize=True, deadline=None, database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)  # fmt: skip
PROFILE = settings.get_profile("kernel")
many = settings(PROFILE, max_examples=150)
few = settings(PROFILE, max_examples=60)
seeds = st.integers(0, 2**32)


# ---------------------------------------------------------------------------- tensor polynomials


def polynomial(rng: Random, depth: int = 3) -> Term:
    """A closed polynomial in tensors and sums; its ranges are sizes."""
    return Generator(rng, wild=False).term(depth)


def shuffled(t: Term, rng: Random) -> Term:
    """An equal term: sums exchanged, products distributed, factors reordered, deltas inserted."""
    move = rng.randrange(8)
    if t.op == "add" and move < 4:
        parts = [shuffled(c, rng) for c in t.children]
        rng.shuffle(parts)
        return T.add(T.add(*parts[:1]), T.add(*parts[1:]))
    if t.op == "mul":
        parts = [shuffled(c, rng) for c in t.children]
        rng.shuffle(parts)
        head, rest = parts[0], T.mul(*parts[1:])
        if head.op == "add" and move < 6:
            return T.add(*(T.mul(c, rest) for c in head.children))
        if head.op == "sum":
            return T.total(head.children[0], T.mul(head.children[1], T.lift(rest, 1)))
        return T.mul(head, rest)
    if t.op == "sum":
        return _shuffled_sum(t, rng, move)
    if t.op == "pow" and t.data == 2:
        return T.mul(shuffled(t.children[0], rng), t.children[0])
    if move == 0:
        return T.add(T.mul(T.num(2), t), T.neg(t))
    return t


def _shuffled_sum(t: Term, rng: Random, move: int) -> Term:
    size, body = t.children[0], shuffled(t.children[1], rng)
    inner = body.op == "sum" and body.children[0].loose == 0
    if inner and move < 5:
        size2, body2 = body.children
        swapped = T.instantiate(T.lift(body2, 2, 2), (T.bound(0), T.bound(1)))
        return T.total(size2, T.total(T.lift(size, 1), swapped))
    if body.op == "add" and move < 6:
        return T.add(*(T.total(size, c) for c in body.children))
    if move == 6:  # f(i) = Sum_j [i = j] f(j)
        diagonal = T.delta(T.bound(0), T.bound(1))
        return T.total(size, T.total(T.lift(size, 1), T.mul(diagonal, T.lift(body, 1, 1))))
    if move == 7:
        return T.neg(T.total(size, T.neg(body)))
    return T.total(size, body)


def difference(a: Term, b: Term, world: World) -> bool | None:
    """Whether two terms have different values in a world, None if that is not settled."""
    try:
        return not is_zero(plus(world.value(a), times(Fraction(-1), world.value(b))))
    except Unsettled:
        return None


@many
@given(seeds)
def test_equal_terms_have_one_normal_form(seed: int) -> None:
    rng = Random(seed)
    t = polynomial(rng)
    u = shuffled(t, rng)
    assert Normaliser().term(t) is Normaliser().term(u)
    assert difference(t, u, World(seed)) is not True, "the shuffle itself is right"


@many
@given(seeds)
def test_what_normal_forms_tell_apart_differs_somewhere(seed: int) -> None:
    """For polynomials the normal form is complete: another form has another value somewhere."""
    rng = Random(seed)
    t = polynomial(rng, 2)
    u = polynomial(rng, 2) if seed % 3 else T.add(shuffled(t, rng), T.delta(I, K))
    if Normaliser().same(t, u):
        assert not any(difference(t, u, World(seed + k)) for k in range(6))
    else:
        assume(_simple_deltas(t) and _simple_deltas(u))
        assert any(difference(t, u, World(seed + k)) for k in range(60)), (t, u)


def _simple_deltas(t: Term) -> bool:
    """Without deltas, whose relations (such as [i = j] [i = k] [j = k]) are not all laws."""
    return not any(s.op == "delta" for s in T.subterms(t)) or t.op == "delta"


@many
@given(seeds)
def test_the_normal_form_has_the_same_value(seed: int) -> None:
    t = Generator(Random(seed)).term(4)
    u = Normaliser().term(t)
    for k in range(4):
        assert difference(t, u, World(seed + k)) is not True, (t, u)


@many
@given(seeds)
def test_the_normal_form_under_facts(seed: int) -> None:
    rng = Random(seed)
    t = Generator(rng).term(4)
    signs = {v: rng.choice([Sign.POS, Sign.NONNEG, Sign.NONZERO]) for v in (X, Y, Z)}
    norm = Normaliser(dict(signs))
    u = norm.term(t)
    for k in range(4):
        world = World(seed + k, {v: rng.choice(_allowed(s)) for v, s in signs.items()})
        assert difference(t, u, world) is not True, (t, u)
        _check_claims(norm, t, world)


def _allowed(sign: Sign) -> list[Fraction]:
    if sign is Sign.NONZERO:
        return [q for q in SMALL if q != 0]
    return [q for q in SMALL if q > 0 or (q == 0 and sign is Sign.NONNEG)]


def _check_claims(norm: Normaliser, t: Term, world: World) -> None:
    """What `sign`, `is_int` and `nonneg` say of a term holds."""
    try:
        value = world.value(t)
        zero, below = is_zero(value), negative(value)
    except Unsettled:
        return
    for sign in (norm.sign(norm.term(t)), norm.sign_of(t)):
        assert not (sign >= Sign.NONNEG and below), t
        assert not (sign in (Sign.POS, Sign.NONZERO) and zero), t
    if norm.is_int(t):
        assert is_zero(value - (Fraction(round(value)) if isinstance(value, Fraction)
                                else MP.nint(value))), t  # fmt: skip
    assert not (norm.nonneg(norm.poly(t)) and below), t
    assert not (norm.nonneg(norm.poly(t), -1) and not zero and not below), t


@few
@given(seeds)
def test_random_symbols_stay_inside_expectations(seed: int) -> None:
    t = T.expectation(Generator(Random(seed)).term(4, random=True))
    u = Normaliser().term(t)
    assert not T.is_random(u)
    assert difference(t, u, World(seed)) is not True, (t, u)


@few
@given(seeds, st.integers(1, 40))
def test_the_normal_form_does_not_depend_on_what_came_before(seed: int, used: int) -> None:
    """Names chosen on the way must not show: the checker has to find what the prover found."""
    t = Generator(Random(seed)).term(4)
    fresh, later = Normaliser(), Normaliser()
    for k in range(used):
        later.fresh(T.num(k))
    assert fresh.term(t) is later.term(t)


@few
@given(seeds)
def test_ranges_and_members(seed: int) -> None:
    rng = Random(seed)
    g = Generator(rng, wild=False)
    k, size = g.term(2), g.size(0, False)
    norm = Normaliser()
    if norm.in_range(k, size):
        for w in range(6):
            world = World(seed + w)
            value = world.value(k)
            assert value.denominator == 1
            assert 0 <= value < world.value(size), (k, size)


# ---------------------------------------------------------------------------- pinned cases


def A(*i: Term) -> Term:
    return T.apply("A", *i)


def same(a: Term, b: Term) -> bool:
    return Normaliser().same(a, b)


@pytest.mark.parametrize("used", range(12))
def test_bodies_below_binders_are_ordered_canonically(used: int) -> None:
    """The order of a sum inside an atom depends on names, which must be canonical."""
    a, b = A(T.bound(0)), T.apply("B", T.bound(0))
    head = T.Head("F", 0, (1,))
    for left, right in (
        (T.total(N, T.fn("exp", T.add(a, Y))), T.total(N, T.fn("exp", T.add(Y, a)))),
        (T.total(N, T.inv(T.add(a, b))), T.total(N, T.inv(T.add(b, a)))),
        (T.total(N, T.fn("cos", T.sub(a, b))), T.total(N, T.fn("cos", T.sub(b, a)))),
        (T.app(head, N, T.add(a, b)), T.app(head, N, T.add(b, a))),
        (T.product(N, T.add(a, Y)), T.product(N, T.add(Y, a))),
        (T.total(N, T.fn("max", a, b)), T.total(N, T.fn("max", b, a))),
    ):
        norm = Normaliser()
        for _ in range(used):
            norm.fresh(N)
        assert norm.same(left, right)
        assert not norm.same(left, T.add(right, T.ONE))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (T.total(N, A(T.bound(0))), T.total(M, A(T.bound(0)))),
        (T.total(N, T.mul(A(I), A(T.bound(0)))), T.total(N, T.power(A(T.bound(0)), 2))),
        (T.total(N, T.total(N, A(T.bound(0), T.bound(1)))), T.total(N, A(T.bound(0), T.bound(0)))),
        (T.total(N, T.fn("exp", A(T.bound(0)))), T.fn("exp", T.total(N, A(T.bound(0))))),
        (T.total(N, T.fn("sqrt", T.total(M, A(T.bound(1), T.bound(0))))),
         T.total(N, T.fn("sqrt", T.total(M, A(T.bound(0), T.bound(1)))))),
        (T.power(T.total(N, A(T.bound(0))), 2), T.mul(N, T.total(N, T.power(A(T.bound(0)), 2)))),
        (T.total(L, T.ONE), T.total(L, T.bound(0))),
        (T.mul(T.delta(I, J), A(I)), T.delta(I, J)),
        (T.mul(T.delta(I, H), A(I)), A(I)),
        (T.total(N, T.delta(T.bound(0), H)), T.ONE),
        (T.mul(X, T.inv(X), Y, T.inv(Y)), T.mul(X, T.inv(X))),
        (T.product(N, A(T.bound(0))), T.product(N, A(I))),
        (T.det(N, A(T.bound(1), T.bound(0))), T.det(M, A(T.bound(1), T.bound(0)))),
    ],
    ids=lambda t: T.show(t),
)  # fmt: skip
def test_terms_that_differ(a: Term, b: Term) -> None:
    assert not same(a, b)
    assert any(difference(a, b, World(k)) for k in range(30))


def test_a_delta_whose_index_has_a_coefficient() -> None:
    half = T.div(T.sub(T.mul(T.num(2), T.bound(0)), T.num(4)), T.num(3))
    body = T.mul(T.delta(half, T.ZERO), A(T.bound(0)))
    assert same(T.total(T.add(N, T.num(3)), body), A(T.num(2)))
    assert not same(T.total(N, body), A(T.num(2)))


def test_a_delta_between_ranges_keeps_the_indices() -> None:
    i, h = T.bound(1), T.bound(0)
    both = T.total(N, T.total(M, T.mul(T.delta(i, h), A(h))))
    assert not same(both, T.total(M, A(T.bound(0))))
    assert not same(both, T.total(N, A(T.bound(0))))
    assert same(both, T.total(N, T.total(M, T.mul(T.delta(i, h), A(i)))))


def test_deltas_that_tell_an_index_together() -> None:
    """[i = a] [a = b] = [i = a] [i = b] leaves one sum where `a` and `b` have one range."""
    a, b = T.bound(1), T.bound(0)

    def twice(n: Term, m: Term, *factors: Term) -> Term:
        return T.total(n, T.total(m, T.mul(*factors)))

    for x in (I, H, K, T.ONE, T.add(K, T.ONE)):
        once = T.total(M, T.mul(T.delta(x, T.bound(0)), A(T.bound(0))))
        assert same(twice(M, M, T.delta(x, a), T.delta(a, b), A(b)), once)
        assert same(twice(M, M, T.delta(x, a), T.delta(x, b), A(b)), once)
        assert not same(twice(M, L, T.delta(x, a), T.delta(x, b), A(b)), once)
        assert not same(twice(M, M, T.delta(x, a), T.delta(T.add(x, T.ONE), b), A(b)), once)
    ends = T.mul(T.delta(K, T.ONE), T.total(N, T.mul(T.delta(K, T.bound(0)), X)))
    reach = T.add(N, T.ONE)  # 1 lies in the range of N + 1 entries, not in that of N
    assert not same(ends, T.mul(T.delta(K, T.ONE), X))
    ends = T.mul(T.delta(K, T.ONE), T.total(reach, T.mul(T.delta(K, T.bound(0)), X)))
    assert same(ends, T.mul(T.delta(K, T.ONE), X))


def test_indices_outside_their_sum_are_refused() -> None:
    with pytest.raises(T.KernelError, match="outside"):
        Normaliser().poly(T.bound(0))
    with pytest.raises(T.KernelError, match="outside"):
        Normaliser().poly(T.add(X, T.var("%0", "fin", N)))
    with pytest.raises(T.KernelError, match="not a closed"):
        Normaliser().poly(T.eq(X, X))


def test_the_floor_of_a_sum_of_inverses() -> None:
    t = T.fn("floor", T.total(M, T.inv(T.mul(N, T.bound(0)))))
    assert Normaliser().term(t).op == "fn"


def test_a_literal_sum_is_written_out() -> None:
    three = Normaliser().term(T.total(T.num(3), A(T.bound(0))))
    assert set(three.children) == {A(T.num(k)) for k in range(3)}
    long = T.total(T.num(1000), T.ONE)
    assert same(long, T.num(1000))
    assert same(T.total(T.num(-2), A(T.bound(0))), T.ZERO)
