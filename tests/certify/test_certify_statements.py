"""Statements in Coq's notation: what is printed is what is claimed."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from certify_samples import logs
from spec_reader import Misread, Reader, cases, definitions, flat

from derive import runner, store
from derive.catalogue import all_claims
from derive.certify.check import ALLOWED, CoqError, assumptions, suspicious
from derive.certify.coverage import coverage
from derive.certify.deep import Deep, Symbols, Unsupported
from derive.certify.derivatives import premise
from derive.certify.encode import Log, frees
from derive.certify.project import LIBRARY, build, spec_source
from derive.certify.spec import HEADER, Printer, identifier, symbol_names
from derive.kernel import log as kernel_log
from derive.kernel import terms as T
from derive.kernel.rules import Theorem, infer
from derive.kernel.terms import Head

ROOT = Path(__file__).resolve().parents[2]
N, H = T.var("n", "dim"), T.var("h", "dim")
I = T.var("i", "fin", N)
X, Y = T.var("x"), T.var("y")


def printed(p: T.Term) -> str:
    deep = Deep(Symbols())
    free = frees(deep, [p])
    numbers = [deep.symbols.of(f.symbol) for f in free]
    names = dict(zip(numbers, symbol_names(free), strict=True))
    return " ".join(Printer(names).closed(free, numbers, deep(p)).split())


Known = dict[str, tuple[list[str], str]]


def read_back(claims: Sequence[tuple[str, str, Sequence[Any]]]) -> int:
    """Hold the claims against what the second reader finds in ``Spec.v``; how many statements."""
    project = build(claims)
    assert project.shared.definitions
    known = definitions(spec_source(project))
    proofs = [data for _, _, found in claims for data in found]
    pairs = zip(project.certificates, proofs, strict=True)
    return sum(compared(c.name, Log(data), known) for c, data in pairs if c.statement)


def compared(name: str, log: Log, known: Known) -> int:
    first, *rest = log.roots
    symbols = [f.symbol for f in log.statement.frees]
    parsed = Reader(known[name][1], {}, known).closed(symbols)
    assert flat(parsed) is flat(first), name
    assert log.kind != "proof" or without_symbols(first) is log.goal, name
    if not rest:
        return 1
    whole = Reader(known[name][1], {}, known, conditions=True).closed(symbols)
    said = cases(flat(whole))
    if log.conditions:
        said |= conditions(known[f"{name}_defined"][1], log, known)
    assert said == {case for root in log.roots for case in cases(flat(root))}, name
    return 2


def without_symbols(p: T.Term) -> T.Term:
    """A statement without the premises that tell what derivative symbols are."""
    heads = {t.data for t in T.subterms(p) if t.op == "app"}
    told = {premise(f) for f in heads if f.arities == (1,) and isinstance(f.head, str)}
    while p.op == "imp" and p.children[0] in told:
        p = p.children[1]
    return p


def conditions(text: str, log: Log, known: Known) -> set[tuple[T.Term, ...]]:
    """What a text says of when a claim is well defined: the parts that the log states together."""
    reader, said = Reader(text, {}, known), set()
    several = len(log.conditions) > 1
    for k, stated in enumerate(log.conditions):
        if k:
            reader.take("/\\")
        if several:
            reader.take("(")
        said |= cases(flat(reader.closed([f.symbol for f in stated.frees])))
        if several:
            reader.take(")")
    assert not reader.peek()
    return said


@pytest.mark.parametrize(
    ("formula", "shown"),
    [
        (T.eq(T.sub(X, Y), T.num(0)), "forall (x y : R), x - y = 0"),
        (T.le(T.sub(X, T.sub(Y, X)), Y), "forall (x y : R), x - (y - x) <= y"),
        (T.lt(T.div(X, T.mul(Y, X)), Y), "forall (x y : R), x/(y*x) < y"),
        (T.eq(T.neg(T.power(X, 2)), Y), "forall (x y : R), - x^2 = y"),
        (T.eq(T.power(T.neg(X), 2), Y), "forall (x y : R), (- x)^2 = y"),
        (
            T.eq(T.sum_over(I, T.apply("a", I)), N),
            "sizes n, forall (a : R1), sum i<n, a i = n",
        ),
        (
            T.eq(T.det(N, T.delta(T.bound(1), T.num(2))), X),
            "sizes n, forall (x : R), Det n (fun i j => delta i 2) = x",
        ),
        (
            T.forall(I, T.le(T.ZERO, I)),
            "sizes n, each i<n, 0 <= i",
        ),
        (
            T.implies(T.conj(T.lt(X, Y), T.lt(Y, X)), T.FALSE),
            "forall (x y : R), x < y /\\ y < x -> False",
        ),
        (
            T.implies(T.implies(T.eq(X, Y), T.lt(X, Y)), T.negate(T.le(X, Y))),
            "forall (x y : R), (x = y -> x < y) -> ~ x <= y",
        ),
    ],
)
def test_formulas(formula: T.Term, shown: str) -> None:
    assert printed(formula) == shown


def test_a_derivative_symbol_is_the_gradient_wherever_there_is_one() -> None:
    shown = printed(premise(Head("f", 1, (1,))))
    assert shown == (
        "forall (f' : R -> R -> R -> R1 -> R) (f : R -> R -> R1 -> R), "
        "forall x : R, sizes x1, forall T : R1, forall T1 : R1, "
        "gradient1 x1 (fun X => f x x1 (vector x1 X)) T T1 "
        "-> each i<x1, T1 i = f' x i x1 (vector x1 T)"
    )


def test_names_are_kept_apart() -> None:
    p = T.eq(T.add(T.apply("k", X), T.var("k"), T.var("sin"), T.apply("W^K", X)), T.apply("W_K", X))
    shown = printed(p)
    assert shown.startswith("forall (k sin_2 x : R) (W_K W_K_2 k_2 : R1),")
    shown = printed(T.eq(T.add(*(T.var(name, "dim") for name in ("D", "d_model"))), X))
    assert shown == "sizes D_2 D, forall (x : R), D_2 + D = x"
    assert identifier("1/x'", ()) == "x1_x'"
    assert identifier("forall", ()) != "forall"


def test_a_bound_name_does_not_hide_a_free_one() -> None:
    i = T.var("i")
    shown = printed(T.eq(T.sum_over(I, T.mul(i, I)), T.ZERO))
    assert "sum j<n, i*j" in shown


def test_what_coq_does_not_have_is_refused_by_name() -> None:
    with pytest.raises(Unsupported, match="5 indices"):
        printed(T.grad((N,) * 5, T.ZERO, T.ZERO, T.ZERO))


def test_the_second_reader_finds_the_claims_in_what_is_printed() -> None:
    assert read_back(logs()) > 60


def test_the_second_reader_finds_every_claim(request) -> None:
    if not request.config.getoption("--coq"):
        pytest.skip("with --coq, as all claims have to be proved")
    kept = store.open_store()
    results = [r for r in runner.verify(all_claims(()), store=kept) if r.replayed]
    found = [(r.id, r.statement, map(json.loads, kept.entries[r.id]["logs"])) for r in results]
    assert read_back([(name, latex, tuple(proofs)) for name, latex, proofs in found]) > 600


_SWAPS = {
    "<=": "<", "<": "<=", "=": "<>", "+": "-", "-": "+", "*": "/", "/": "*", "sum": "prod",
    "each": "some", "forall": "exists", "sizes": "nats", "mean": "sum", "exp": "sin", "2": "3",
    "1": "0", "->": "/\\", "/\\": "\\/",
}  # fmt: skip


def test_an_altered_statement_is_noticed() -> None:
    claims = [e for e in logs() if e[0].startswith("softmax/")]
    project = build(claims)
    known = definitions(spec_source(project))
    proofs = [data for _, _, found in claims for data in found]
    rng = random.Random(0)
    noticed = 0
    while noticed < 60:
        k = rng.randrange(len(proofs))
        name = project.certificates[k].name
        parameters, body = known[name]
        words = re.split(r"(\s+|->|/\\|\\/|<=|<>|[-+*/^<=])", body)
        places = [i for i, word in enumerate(words) if word in _SWAPS]
        if not places:
            continue
        at = rng.choice(places)
        words[at] = _SWAPS[words[at]]
        with pytest.raises((AssertionError, Misread, KeyError, T.KernelError)):
            compared(name, Log(proofs[k]), {**known, name: (parameters, "".join(words))})
        noticed += 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (" defined a*Delta^2 <> 0;\n", ""),
        ("defined a*Delta^2 <> 0;", "a*Delta^2 <> 0 ->"),
        ("a*Delta^2 <> 0", "a <> 0"),
        (";\n each i<m; j<m,", ";\n defined each i<m; j<m,"),
    ],
)
def test_an_altered_condition_is_noticed(old: str, new: str) -> None:
    claims = [e for e in logs() if e[0] == "softmax/scaled-vanishing"]
    known = definitions(spec_source(build(claims)))
    name, log = "softmax__scaled_vanishing", Log(claims[0][2][0])
    assert compared(name, log, known) == 2
    parameters, body = known[name]
    assert old in body
    with pytest.raises((AssertionError, Misread)):
        compared(name, log, {**known, name: (parameters, body.replace(old, new))})


def _tautology(p: T.Term) -> Theorem:
    return infer("discharge", [infer("assume", [], p)], p)


def test_conditions_under_other_indices_stand_apart() -> None:
    """A condition holds for an index, whose range may be empty, where the claim has none."""
    roots = [_tautology(T.eq(t, X)) for t in (Y, X, I)]
    data = kernel_log.write("proof", roots[0].conclusion, roots)
    source = spec_source(build([("a/b", "", [data])]))
    known = definitions(source)
    assert known["a__b"][1].startswith(" forall (x y : R),\n defined x = x -> x = x;\n y = x ->")
    assert known["a__b_defined"][1].startswith(" sizes n, forall (x : R), each i<n,\n i = x ->")
    assert compared("a__b", Log(data), known) == 2


def test_a_random_tensor_does_not_stand_for_another_one() -> None:
    """What is said of tensors in the same words gets one definition; random ones have none."""

    def logged(*tensors: T.Term) -> Any:
        sums = (T.sum_over(I, T.mul(a, T.fn("exp", T.fn("sin", a)))) for a in tensors)
        sides = [T.expectation(t) if T.is_random(t) else t for t in sums]
        theorem = _tautology(T.eq(T.add(*sides), X))
        return kernel_log.write("proof", theorem.conclusion, [theorem])

    a, b = T.apply("a", I), T.apply("b", I)
    claims = [("a/b", "", [logged(a), logged(a, b)]),
              ("a/c", "", [logged(T.apply("a", I, random=True))])]  # fmt: skip
    assert read_back(claims) == 3
    (name,) = build(claims).shared.definitions
    assert spec_source(build(claims)).count(f"{name} n") == 6


@pytest.mark.parametrize(
    ("right", "wrong"),
    [("x - y", "y - x"), ("x <= y", "x < y"), ("x / y", "x * y"), ("x ^ 2", "x ^ 3")],
)
def test_the_second_reader_tells_statements_apart(right: str, wrong: str) -> None:
    names = {"x": X, "y": Y}
    tails = "" if "<" in right else " = 0"
    a, b = (flat(Reader(s + tails, names).whole()) for s in (right, wrong))
    assert a is not b


def test_every_claim_has_its_comment_and_its_statement() -> None:
    project = build(logs())
    source = spec_source(project)
    for claim, _, _ in logs():
        assert project.comments[claim].startswith("(** ")
        assert project.comments[claim] in source
    for c in project.certificates:
        assert source.count(f"Definition {c.name} :=") == (1 if c.statement else 0)
    assert len({c.name for c in project.certificates}) == len(project.certificates)


def test_comments_are_latex_without_what_makes_space() -> None:
    latex = (
        r"\left(x_{1}\,y^{2}\right) = z_{12} \ \Rightarrow\  \frac{x}{y}\;\leftarrow\;\text{d} = "
        r"\sum_{i=0}^{d_{\text{model}}-1} \sum_{i=0}^{x^{2}-1} \prod_{j=0}^{3} \sum_{l=0}^{11} "
        r"\sum_{k=0}^{n-1} k"
        r"\,d_{\text{model}} n < d_{\text{model}}"
    )
    project = build([("a/b", latex, ())])
    shown = project.comments["a/b"].replace("\n ", "")
    assert shown == (
        r"(** (x_1 y^2) =z_{12}\Rightarrow\frac{x}{y}\leftarrow\text{d}="
        r"\sum_{i<\D,i<x^2}\prod_{j<4}\sum_{l<12,k<n}k \D n<\D *)"
    )


def test_claims_that_are_named_alike_are_kept_apart() -> None:
    _, latex, proofs = logs()[0]
    project = build([("a/b-c", latex, proofs), ("a/b_c", latex + ' *) (* "', proofs)])
    names = [c.name for c in project.certificates]
    assert len(set(names)) == len(names) == 2 * len(proofs)
    stated = spec_source(project).removeprefix(HEADER)
    assert stated.count("(*") == stated.count("*)") == 2
    assert stated.count('"') == 0


def test_nothing_is_certified_before_coq_has_run() -> None:
    project = build(logs())
    entries = coverage(project, [(claim, "proved") for claim, _, _ in logs()], None)
    assert entries
    assert all(e.certificate == "none" and e.reason for e in entries)


_AXIOMS = """Axioms:
ClassicalDedekindReals.sig_not_dec : forall P : Prop, {~ ~ P} + {~ P}
FunctionalExtensionality.functional_extensionality_dep
  : forall (A : Type) (B : A -> Type) (f g : forall x : A, B x),
    (forall x : A, f x = g x) -> f = g
"""


def test_assumptions_are_read() -> None:
    assert set(assumptions(_AXIOMS)) < ALLOWED
    assert len(ALLOWED) == 4
    for planted in ("mine", "classic", "Proofs1.classic", "Classical_Prop.classic_too"):
        named = assumptions(f"{_AXIOMS}{planted} : False\n")
        assert set(named) - ALLOWED == {planted}
    assert assumptions("Closed under the global context\n") == ()
    with pytest.raises(CoqError, match="did not say"):
        assumptions("")


_SUMMARY = """
CONTEXT SUMMARY
===============

* Theory: Set is predicative
  
* Axioms:
    Coq.Reals.ClassicalDedekindReals.sig_not_dec
    Coq.Logic.Classical_Prop.classic
  
* Constants/Inductives relying on type-in-type: <none>
  
* Inductives whose positivity is assumed: <none>
"""  # noqa: W293


def test_what_coqchk_says_is_read() -> None:
    assert suspicious(_SUMMARY) == []
    with pytest.raises(CoqError, match="did not say"):
        suspicious("")


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("    Coq.Logic.Classical_Prop.classic", "    Derive.Run.classic", "Derive.Run.classic"),
        ("type-in-type: <none>", "type-in-type:\n    Coq.Init.Logic.x", "Coq.Init.Logic.x"),
        ("is assumed: <none>", "is assumed:\n    Derive.Det.t", "Derive.Det.t"),
        ("is predicative", "is impredicative", "Theory: Set is impredicative"),
    ],
)
def test_what_goes_around_coq_is_named(old: str, new: str, named: str) -> None:
    assert old in _SUMMARY
    assert suspicious(_SUMMARY.replace(old, new)) == [named]


def test_the_documentation_counts_what_has_to_be_read() -> None:
    text = " ".join((ROOT / "docs" / "trusted_base.md").read_text(encoding="utf-8").split())
    prelude = (ROOT / "derive" / "certify" / "coq" / "Prelude.v").read_text(encoding="utf-8")
    assert f"`Prelude.v` ({len(prelude.splitlines())} lines)" in text
    assert f"the first {len(HEADER.splitlines())} lines of `Spec.v`" in text
    assert f"`{' '.join(LIBRARY[1:-1])}`" in text
