"""The derivative table in Coq: what it accepts, and what it refuses (with ``--coq``)."""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest
from coq_trials import proves, proves_the_same, still_proves

from derive.catalogue import all_claims
from derive.certify.deep import Unsupported
from derive.certify.derivatives import premise
from derive.certify.encode import Log
from derive.kernel import log as kernel_log
from derive.kernel import terms as T
from derive.kernel.calculus import differentiate
from derive.kernel.rules import infer
from derive.kernel.terms import Head, KernelError, Term
from derive.verify import settle

CLAIMS = (
    "softmax/jacobian", "residual/gradient", "residual/recurrence",
    "layer-norm/jacobian-outside", "feed-forward/jacobian", "feed-forward/zero-gradients",
    "positional-frequencies/speed", "head-symmetries/slope-by-values", "backward/linear-weight",
    "backward/cross-entropy", "backward/relu", "backward/pre-norm-input",
)  # fmt: skip
RULES = (
    "derivative", "gradient-value", "gradient-function", "gradient-unique", "differentiable",
)  # fmt: skip
MUTANTS = 160

N = T.var("n", "dim")
M = T.var("m", "dim")
I = T.var("i", "fin", N)
J = T.var("j", "fin", N)
K = T.var("k", "fin", M)


def entry(name: str, *indices: Term) -> Term:
    return T.apply(name, *indices)


X_I, X_J = entry("X", I), entry("X", J)
SQUARES = T.sum_over(J, T.power(X_J, 2))


def _of_vector(body: Term, name: str = "f", derivatives: tuple[int, ...] = (), *at: Term) -> Term:
    """f(body), a function of a vector with n entries; `body` is under the index j."""
    return T.app(Head(name, len(at), (1,), derivatives), *at, N, T.abstract(body, (J,)))


def _body(t: Term) -> Term:
    """A function of X, which becomes the bound tensor."""
    return T.abstract_tensor(t, "X", 1)


def _point(t: Term) -> Term:
    return T.abstract(t, (J,))


AT = _point(entry("p", J))


def _log(function: Term, conditions: Sequence[Term], value: Term | None = None) -> Any:
    """The log that the conditions imply the gradient of `function` in X at p, by the kernel; or,
    where it would refuse, or with another value than that of the table, a forged one."""
    body = _body(function)
    premises = [infer("assume", [], c) for c in conditions]
    if value is not None:
        return _forged(body, premises, value)
    try:
        theorem = infer("derivative", premises, (N,), body, AT)
    except KernelError:
        return _forged(body, premises, differentiate((N,), body, AT)[0])
    for c in conditions:
        theorem = infer("discharge", [theorem], c)
    return kernel_log.write("proof", theorem.conclusion, [theorem])


def _forged(body: Term, premises: Sequence[Any], value: Term) -> Any:
    """A log with a step that the kernel refuses."""
    goal = T.grad((N,), body, AT, value)
    writer = kernel_log.Writer()
    at = [writer.step(p) for p in premises]
    steps = writer.steps
    args = [[{"term": writer.term(N)}], {"term": writer.term(body)}, {"term": writer.term(AT)}]
    steps.append({"rule": "derivative", "premises": at, "args": args,
                  "conclusion": writer.term(goal)})  # fmt: skip
    for p in premises:
        goal = T.implies(p.conclusion, goal)
        steps.append({"rule": "discharge", "premises": [len(steps) - 1],
                      "args": [{"term": writer.term(p.conclusion)}],
                      "conclusion": writer.term(goal)})  # fmt: skip
    return {"kind": "proof", "terms": writer.terms, "steps": steps, "roots": [len(steps) - 1],
            "goal": writer.term(goal), "values": []}  # fmt: skip


def _differentiable(at: Term, name: str = "f") -> Term:
    return T.differentiable(_of_vector(at, name), 0)


ACCEPTED = {
    "product": (T.mul(X_I, SQUARES), ()),
    "out of range": (T.mul(entry("X", T.num(-1)), X_I), ()),
    "power": (T.power(X_I, 3), ()),
    "sine, cosine, exponential": (
        T.add(T.fn("sin", X_I), T.fn("cos", SQUARES), T.fn("exp", T.neg(X_I))), ()),
    "inverse": (T.inv(X_I), (T.negate(T.eq(entry("p", I), T.ZERO)),)),
    "inverse of a power": (T.power(X_I, -3), (T.negate(T.eq(entry("p", I), T.ZERO)),)),
    "inverse by its sign": (T.inv(T.add(T.ONE, SQUARES)), ()),
    "logarithm": (T.fn("log", X_I), (T.lt(T.ZERO, entry("p", I)),)),
    "logarithms": (T.sum_over(J, T.fn("log", X_J)),
                   (T.forall(J, T.lt(T.ZERO, entry("p", J))),)),
    "root": (T.fn("sqrt", X_I), (T.lt(T.ZERO, entry("p", I)),)),
    "function": (_of_vector(T.mul(T.num(2), X_J)),
                 (_differentiable(T.mul(T.num(2), entry("p", J))),)),
    "functions inside each other": (
        _of_vector(T.app(Head("g", 1, (1,)), J, N, _point(X_J))),
        (
            T.differentiable(_of_vector(T.app(Head("g", 1, (1,)), J, N, AT)), 0),
            T.forall(J, T.differentiable(T.app(Head("g", 1, (1,)), J, N, AT), 0)),
        ),
    ),
}  # fmt: skip

_COS = T.mul(T.fn("cos", entry("p", I)), T.delta(T.bound(0), I))
REFUSED = {
    "inverse without its condition": (T.inv(X_I), (), None),
    "logarithm without its condition": (T.fn("log", X_I), (), None),
    "root without its condition": (T.fn("sqrt", X_I), (), None),
    "root of a square": (T.fn("sqrt", T.power(X_I, 2)), (), None),
    "root at zero allowed": (T.fn("sqrt", X_I), (T.le(T.ZERO, entry("p", I)),), None),
    "root of what is not zero": (
        T.fn("sqrt", X_I), (T.negate(T.eq(entry("p", I), T.ZERO)),), None),
    "condition at another point": (T.fn("log", X_I), (T.lt(T.ZERO, entry("q", I)),), None),
    "condition at another index": (T.fn("log", X_I), (T.lt(T.ZERO, entry("p", J)),), None),
    "condition for another range": (
        T.sum_over(J, T.fn("log", X_J)), (T.forall(K, T.lt(T.ZERO, entry("p", K))),), None),
    "condition under a premise": (
        T.fn("log", X_I), (T.implies(T.eq(N, T.ONE), T.lt(T.ZERO, entry("p", I))),), None),
    "function without differentiability": (_of_vector(X_J), (), None),
    "function differentiable elsewhere": (
        _of_vector(X_J), (_differentiable(T.mul(T.num(2), entry("p", J))),), None),
    "another function differentiable": (
        _of_vector(X_J), (_differentiable(entry("p", J), "g"),), None),
    "absolute value": (T.fn("abs", X_I), (T.lt(T.ZERO, entry("p", I)),), T.delta(T.bound(0), I)),
    "maximum": (T.fn("max", X_I, T.ZERO), (T.lt(T.ZERO, entry("p", I)),),
                T.delta(T.bound(0), I)),
    "floor": (T.fn("floor", X_I), (), T.ZERO),
    "delta": (T.delta(X_I, T.ZERO), (), T.ZERO),
    "index that depends on the tensor": (entry("y", X_I), (), T.ZERO),
    "range that depends on the tensor": (T.total(X_I, T.ONE), (), T.ZERO),
    "product over an index": (T.product(N, T.abstract(X_J, (J,))), (), T.ZERO),
    "sign": (T.fn("sin", X_I), (), T.neg(_COS)),
    "forgotten inner derivative": (
        T.fn("sin", T.mul(T.num(2), X_I)), (),
        T.mul(T.fn("cos", T.mul(T.num(2), entry("p", I))), T.delta(T.bound(0), I))),
    "derivative at another point": (
        T.fn("sin", X_I), (), T.mul(T.fn("cos", entry("q", I)), T.delta(T.bound(0), I))),
    "derivative by another entry": (
        T.fn("sin", X_I), (), T.mul(T.fn("cos", entry("p", I)), T.delta(T.bound(0), J))),
    "product rule with one part": (
        T.mul(X_I, X_I), (), T.mul(entry("p", I), T.delta(T.bound(0), I))),
}  # fmt: skip


def test_what_the_table_gives_is_accepted(library) -> None:
    texts = [Log(_log(*case)).encoded() for case in ACCEPTED.values()]
    found = dict(zip(ACCEPTED, proves(library, texts), strict=True))
    assert [name for name, good in found.items() if not good] == []


def test_what_has_no_such_gradient_is_refused(library) -> None:
    texts = [Log(_log(*case)).encoded() for case in REFUSED.values()]
    found = dict(zip(REFUSED, proves(library, texts), strict=True))
    assert [name for name, good in found.items() if good] == []


SLOPE = _of_vector(X_J, "f", (), K)


def _by_rule(altered: str = "") -> str:
    """The text of a proof by the rule `differentiable`; something in it may be altered."""
    found = infer("assume", [], T.grad((N,), _body(SLOPE), AT, T.apply("u", T.bound(0))))
    theorem = infer("differentiable", [found], 0)
    theorem = infer("discharge", [theorem], found.conclusion)
    log = Log(kernel_log.write("proof", theorem.conclusion, [theorem]))
    rules = [step["rule"] for step in log.steps]
    where = {rule: log.steps[rules.index(rule)] for rule in rules}
    given = premise(_of_vector(X_J, "g", (), K).data)
    for t in (given, entry("q", I), T.apply("q", T.bound(0)), T.bound(0)):
        log.terms.append(t)
    at = len(log.terms)
    match altered:
        case "without the premise":
            log.steps[-1] = {**where["discharge"], "conclusion": log.steps[-1]["conclusion"]}
        case "of another function":
            where["assume"]["args"] = [{"term": at - 4}]
        case "of other numbers":
            where["specialise"]["args"] = [{"term": at - 3}]
        case "at another point":
            points = [s for s in log.steps if s["rule"] == "specialise"]
            points[-2]["args"] = [{"arity": 1, "body": at - 2}]
        case "with another value":
            where["gradient-value"]["args"] = [{"term": at - 2}]
    return log.encoded()


def test_a_vector_of_another_length_has_no_such_premise() -> None:
    twice = T.mul(T.num(2), N)
    body = T.app(Head("f", 0, (1,)), twice, T.app(Head(1, 1), T.bound(0)))
    found = infer("assume", [], T.grad((twice,), body, AT, T.apply("u", T.bound(0))))
    theorem = infer("differentiable", [found], 0)
    theorem = infer("discharge", [theorem], found.conclusion)
    with pytest.raises(Unsupported, match="'differentiable' has no counterpart"):
        Log(kernel_log.write("proof", theorem.conclusion, [theorem])).encoded()


def test_a_derivative_symbol_is_a_gradient_by_its_premise_only(library) -> None:
    ways = ("without the premise", "of another function", "of other numbers", "at another point",
            "with another value")  # fmt: skip
    assert proves(library, [_by_rule(), *map(_by_rule, ways)]) == [True, *[False] * len(ways)]


@cache
def _logs() -> tuple[Any, ...]:
    chosen = [claim for claim in all_claims(CLAIMS) if claim.id in CLAIMS]
    return tuple(log for claim in chosen for log in settle(claim).logs)


def _drop_premise(log: Log, step: Any, rng: random.Random) -> None:
    step["premises"].pop(rng.randrange(len(step["premises"])))


def _other_premise(log: Log, step: Any, rng: random.Random) -> None:
    step["premises"][rng.randrange(len(step["premises"]))] = rng.randrange(log.steps.index(step))


def _swapped_premises(log: Log, step: Any, rng: random.Random) -> None:
    step["premises"].reverse()


def _other_value(log: Log, step: Any, rng: random.Random) -> None:
    """Another value of the partial derivatives, here and wherever this conclusion is used."""
    *rest, value = log.terms[step["conclusion"]].children
    doubled, more = T.mul(T.num(2), value), T.add(value, T.ONE)
    _conclude(log, step, [*rest, rng.choice([doubled, more, T.neg(value)])])


def _other_point(log: Log, step: Any, rng: random.Random) -> None:
    *rest, point, value = log.terms[step["conclusion"]].children
    _conclude(log, step, [*rest, T.add(point, T.ONE), value])


def _other_function(log: Log, step: Any, rng: random.Random) -> None:
    *rest, function, point, value = log.terms[step["conclusion"]].children
    _conclude(log, step, [*rest, T.mul(function, function), point, value])


def _conclude(log: Log, step: Any, children: Sequence[Term]) -> None:
    """The step with this gradient as its conclusion, and with the arguments that it would have."""
    *dims, function, point, value = children
    added = [*children, T.grad(dims, function, point, value)]
    at = len(log.terms)
    for t in added:
        log.terms.append(t)
    step["conclusion"] = at + len(added) - 1
    refs = [{"term": at + k} for k in range(len(children))]
    step["args"] = {
        "derivative": [refs[:-3], *refs[-3:-1]],
        "gradient-value": [refs[-1]],
        "gradient-function": [refs[-3]],
    }.get(step["rule"], step["args"])


_PREMISES = (_drop_premise, _other_premise, _swapped_premises)
_CONCLUSIONS = (_other_value, _other_point, _other_function)


def _mutants(seed: int) -> list[tuple[str, str]]:
    """Texts of logs with one altered step about gradients, with those of the originals."""
    rng = random.Random(seed)
    originals = {k: Log(log).encoded() for k, log in enumerate(_logs())}
    found: dict[str, str] = {}
    for _ in range(40 * MUTANTS):
        k = rng.choice(sorted(originals))
        log = Log(copy.deepcopy(_logs()[k]))
        about = [s for s in log.steps if s["rule"] in RULES]
        if about:
            try:
                way = rng.choice([*_PREMISES, *_CONCLUSIONS])
                way(log, rng.choice(about), rng)
                if way in _PREMISES and still_proves({**_logs()[k], "steps": log.steps}):
                    continue
                made = log.encoded()
            except (Unsupported, KernelError, LookupError, ValueError, TypeError, AttributeError):
                continue
            if made != originals[k]:
                found.setdefault(made, originals[k])
        if len(found) == MUTANTS:
            break
    return list(found.items())


def test_no_altered_gradient_proves_its_claim(library) -> None:
    mutants = _mutants(0)
    assert len(mutants) == MUTANTS
    originals, altered = proves_the_same(library, mutants)
    assert all(originals)
    assert altered.count(True) == 0


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_the_kernel_refuses_it_as_well(name: str) -> None:
    function, conditions, _ = REFUSED[name]
    premises = [infer("assume", [], c) for c in conditions]
    if REFUSED[name][2] is None or name in ("absolute value", "maximum", "floor", "delta"):
        with pytest.raises(KernelError):
            infer("derivative", premises, (N,), _body(function), AT)
