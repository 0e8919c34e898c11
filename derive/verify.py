"""From a claim to its verdict and its proof logs.

`settle` runs the proof script or looks for a proof or counterexample by itself, and applies the
rules for verdicts.  What it returns as proved, conditional or refuted still has to be replayed by
the checker, which is the runner's business.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import sympy as sp

from derive import (
    auto,
    contradictions,
    counterexample,
    definitions,
    language,
    latex,
    outcomes,
    restating,
)
from derive.claim import Added, Argument, Claim, Correction, Example, Given, Notation, Script
from derive.convert import ConversionError, Converter
from derive.kernel import terms as T
from derive.kernel.axioms import AXIOMS, EVALUATIONS
from derive.kernel.check import at_values, laws_around
from derive.kernel.domain import conclusion_obligations, obligations
from derive.kernel.log import Json, write
from derive.kernel.normal import Normaliser, literal
from derive.kernel.rules import Theorem, check_statement, infer
from derive.kernel.terms import KernelError, Lam, Term
from derive.matrix_form import matrix_latex
from derive.prover import Line, Prover
from derive.result import (
    AxiomView,
    CounterexampleView,
    HypothesisView,
    Origin,
    Result,
    Settled,
    StepView,
    Verdict,
    from_plain,
)
from derive.search import NotFound

Values = counterexample.Values
_SEARCH_FAILED = (NotFound, KernelError, ConversionError)


class Unsettled(Exception):
    """A claim's material does not carry its verdict; the message becomes the reason."""


@dataclass
class _Proved:
    steps: tuple[StepView, ...]
    used: frozenset[Term]


@dataclass
class _Work:
    """The statement of a claim in the kernel's language, and the logs made so far."""

    converter: Converter
    conclusion: Term
    given: tuple[Term, ...]
    added: tuple[Term, ...]
    #: the same as SymPy evaluates it, where that is another form
    evaluated: _Work | None = None
    logs: list[tuple[str, Term, Json]] = field(default_factory=list)
    axioms: set[str] = field(default_factory=set)

    @property
    def declared(self) -> tuple[Term, ...]:
        return tuple(self.converter.declared)

    @property
    def hypotheses(self) -> tuple[Term, ...]:
        return (*self.declared, *self.given, *self.added)

    def goal(self, *, with_added: bool) -> Term:
        """The statement as one formula: every hypothesis implies the rest."""
        extra = self.added if with_added else ()
        return chain((*self.declared, *self.given, *extra), self.conclusion)

    def latex(self, p: Term) -> str:
        """A formula under the hypotheses."""
        drawn = latex.drawn_over(self.goal(with_added=True))
        return latex.latex(p, self.converter.shape_of, drawn=drawn)

    def record(self, kind: str, goal: Term, roots: Sequence[Theorem], values: Values | None = None
               ) -> None:  # fmt: skip
        self.logs.append((kind, goal, write(kind, goal, roots, values)))
        self.axioms.update(laws_around(kind, goal, values or {}), *(r.axioms for r in roots))


#: So many candidates for a counterexample are tried before a long search for a proof.
EARLY: Final = 96


def chain(hypotheses: Sequence[Term], conclusion: Term) -> Term:
    for h in reversed(hypotheses):
        conclusion = T.implies(h, conclusion)
    return conclusion


def settle(claim: Claim, *, wary: bool = True) -> Settled:
    """Prove or refute a claim.  Errors in its material make it undecided, with the reason.

    With `wary`, so do hypotheses that are found to contradict each other: those of our own claims
    are known not to.
    """
    start = time.perf_counter()
    if claim.statement is None:
        return Settled(_result(claim, Verdict.NOT_MATHEMATICAL, "", reason=claim.reason))
    try:
        if claim.written is None or claim.has_scripts:
            settled = _settle(claim, wary)
        else:
            settled = _settle(claim.written, wary, claim)
    except (*_SEARCH_FAILED, Unsettled) as error:
        statement = _statement_latex(claim)
        reason = f"{type(error).__name__}: {error}" if not str(error) else str(error)
        settled = Settled(_result(claim, Verdict.UNDECIDED, statement, reason=reason))
    seconds = time.perf_counter() - start
    return replace(settled, result=replace(settled.result, seconds_symbolic=seconds))


def recall(claim: Claim, entry: Any) -> Settled:
    """What was settled before, if the kept logs are about the goals that the claim states now.

    Otherwise the claim is settled anew.  The logs still have to be replayed.
    """
    start = time.perf_counter()
    try:
        work = _read(claim)
        result = from_plain(entry["result"])
        logs, goals, kinds = (tuple(entry[part]) for part in ("logs", "goals", "kinds"))
        shown = {(kind, goal) for kind, goal, _ in zip(kinds, goals, logs, strict=True)}
        fits = shown == _goals(claim, work, result)
    except (*_SEARCH_FAILED, Unsettled, TypeError, KeyError, ValueError):
        fits = False
    if not fits:
        return settle(claim, wary=False)
    result = replace(
        result, id=claim.id, title=claim.title, topic=claim.topic, source=claim.source,
        statement=work.latex(work.conclusion),
        ranges=_ranges(claim, work),
        expected=claim.expected, remark=claim.remark,
        seconds_symbolic=time.perf_counter() - start,
    )  # fmt: skip
    return Settled(result, logs, goals, kinds, recalled=True)


def _goals(claim: Claim, work: _Work, result: Result) -> set[tuple[str, str]]:
    """What the logs of a claim with this verdict have to show, and no more."""
    bare = work.goal(with_added=False)
    wanted: list[tuple[str, Term]] = []
    match result.verdict:
        case Verdict.PROVED:
            wanted = [("proof", bare)]
        case Verdict.CONDITIONAL:
            used = [h.used for h in result.hypotheses if h.origin is Origin.ADDED]
            broken = [h for h, needed in zip(work.added, used, strict=True) if needed]
            everything = T.conj(*work.declared, *work.given, *work.added)
            wanted = [("proof", work.goal(with_added=True)), ("witness", everything)]
            wanted += [("counterexample", goal) for goal in (bare, *broken)]
        case Verdict.REFUTED:
            wanted = [("counterexample", bare)]
            if claim.correction is not None:
                given, conclusion = _read_correction(work, claim.correction)
                wanted.append(("proof", chain((*work.declared, *given), conclusion)))
    return {(kind, goal.key.hex()) for kind, goal in wanted}


def statement_latex(claim: Claim) -> str:
    """The statement as LaTeX, empty for what is not mathematics."""
    return _statement_latex(claim) if claim.statement is not None else ""


def _statement_latex(claim: Claim) -> str:
    if claim.written is not None and not claim.has_scripts:
        claim = claim.written
    hypotheses: tuple[Given | Added, ...] = (*claim.given, *claim.added)
    for stated in (hypotheses, ()):  # a hypothesis may be what is wrong
        converter = Converter()
        try:
            given = tuple(converter.formula(g.formula) for g in stated)
            conclusion = converter.formula(claim.statement)
            return _Work(converter, conclusion, given, ()).latex(conclusion)
        except (ConversionError, KernelError):
            continue
    return r"\text{(not understood)}"


def _settle(claim: Claim, wary: bool, evaluated: Claim | None = None) -> Settled:
    work = _read(claim)
    if evaluated is not None:
        work.evaluated = _read(evaluated, said=True)
    if claim.counterexample is not None:
        return _refuted(claim, work, claim.counterexample)
    if claim.proof is None and not claim.added:
        early = _early_counterexample(work)
        if early is not None:
            return _refuted_at(claim, work, *early)
    try:
        proved = _prove(claim, work)
    except (*_SEARCH_FAILED, Unsettled):
        if claim.proof is not None:
            raise
        found = counterexample.find(work.goal(with_added=False))
        if found is None or claim.added:
            if wary:
                _refuse_contradictory(work, work.hypotheses)
            raise
        return _refuted_at(claim, work, *found)
    if not work.added:
        if wary:  # those of a conditional claim have a witness
            _refuse_contradictory(work, [h for h in work.hypotheses if h in proved.used])
        return _finish(claim, work, Verdict.PROVED, proved)
    if not any(h in proved.used for h in work.added):  # then the log must not mention them, either
        return _settle(_without_added(claim), wary, evaluated and _without_added(evaluated))
    return _conditional(claim, work, proved)


def _without_added(claim: Claim) -> Claim:
    return replace(claim, added=(), witness=None)


def _refuse_contradictory(work: _Work, hypotheses: Sequence[Term]) -> None:
    """Refuse hypotheses from which anything follows, as far as that is found."""
    absurd = contradictions.found(hypotheses)
    if absurd is not None:
        stated = [h for h in hypotheses if h in absurd.hypotheses]
        shown = ",  ".join(f"${work.latex(h)}$" for h in stated)
        what = (
            "this hypothesis cannot hold"
            if len(stated) == 1
            else "these hypotheses contradict each other"
        )
        raise Unsettled(f"{what}, so that anything follows: {shown}")


def _early_counterexample(work: _Work) -> tuple[Values, list[Theorem]] | None:
    """One of the first candidates, unless a proof is found at once: long ones can wait for this."""
    goal = work.goal(with_added=False)
    conclusion = goal
    for _ in work.hypotheses:
        conclusion = conclusion.children[1]
    prover = Prover(work.converter, work.hypotheses, len(work.declared))
    prover.patient = False
    try:
        auto.prove(prover, conclusion)
    except _SEARCH_FAILED:
        return counterexample.find(goal, tries=EARLY)
    return None


def _read(claim: Claim, *, said: bool = False) -> _Work:
    """A claim in the kernel's language; `said`: another form of it is what is settled."""
    converter = Converter()
    given = tuple(converter.formula(g.formula) for g in claim.given)
    added = tuple(converter.formula(a.formula) for a in claim.added)
    conclusion = converter.formula(claim.statement)
    _check_notation(claim.given, (*converter.declared, *given))
    _check_print((*given, *added, conclusion))
    if not said:
        _check_said(claim, conclusion)
    for formula in (*converter.declared, *given, *added, conclusion):
        check_statement(formula)  # else a search would end in a message about something else
    return _Work(converter, conclusion, given, added)


def _check_said(claim: Claim, conclusion: Term) -> None:
    """Refuse x = x and 1 = 1: that is what SymPy makes of sqrt(x)**2 = x and of x/x = 1.

    Where the formulas are as they are written, nobody writes the same on both sides: then SymPy has
    computed one of them, and nothing but that would be proved.
    """
    as_written = claim.from_file and claim.written is None
    said = conclusion
    while said.op in ("imp", "forall"):
        said = said.children[-1]
    same = said.op in ("eq", "le") and said.children[0] is said.children[1]
    plain = same and said.children[0].op in ("num", "var", "app", "bound")
    if plain or (as_written and _has_equal_sides(claim.statement)):
        raise Unsettled(
            f"the statement arrived as ${latex.latex(conclusion)}$: SymPy evaluated it while it "
            "was built; build it with derive.language (times, over, power, call, ...)"
        )


def _has_equal_sides(statement: Any) -> bool:
    """Whether they are the same to SymPy; -floor(-x) and ceiling(x) are so to the kernel."""
    while isinstance(statement, language.ForAll | sp.Implies):
        statement = statement.args[-1]
    return isinstance(statement, sp.Eq | sp.Le | sp.Ge) and statement.args[0] == statement.args[1]


def _check_print(formulas: Sequence[Term]) -> None:
    """Refuse names that a reader could not tell apart: x1 and x_1, x_0 and entry 0 of x, x^n."""
    named: dict[str, str] = {r"\pi": "the number pi", "e": "the number e"}
    numbers = {s.data[0] for p in formulas for s in p.free if isinstance(s, Term)}
    seen: set[Term] = set()
    stack = list(formulas)
    while stack:
        t = stack.pop()
        if t in seen:
            continue
        seen.add(t)
        stack.extend(t.children)
        if t.op not in ("var", "app") or isinstance(name := _name(t), int):
            continue
        if t.op == "app" and name == "delta" and t.data.scalars == 2:
            raise Unsettled("an entry of delta is printed as the delta of its indices")
        if t.op == "var" and name.partition("^")[2] in numbers:
            raise Unsettled(f"{name} is printed as a power")
        forms = [latex.name(name)] if t.op == "var" or name not in ("pi", "e") else []
        if t.op == "app" and not t.loose and not t.data.arities:
            forms.append(latex.latex(t))
        for form in forms:
            other = named.setdefault(_as_seen(form), name)
            if other != name:
                raise Unsettled(f"{name} and {other} are both printed as {form}")


#: Letters of other scripts that look like Latin ones.
_LATIN: Final = str.maketrans(
    dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧοАВЕЅІЈКМНОРСТХУаеѕіјорсхуԁһԛԝ",
             "ABEZHIKMNOPTYXoABESIJKMHOPCTXYaesijopcxydhqw", strict=True))
)  # fmt: skip


def _as_seen(form: str) -> str:
    """LaTeX with letters of other scripts in place of those that they look like."""
    return re.sub(r"\\mathrm\{(\w)\}", r"\1", form.translate(_LATIN))


def _name(t: Term) -> str | int:
    found: str | int = t.data[0] if t.op == "var" else t.data.head
    return found


def _check_notation(stated: Sequence[Given], hypotheses: Sequence[Term]) -> None:
    declared = len(hypotheses) - len(stated)
    for k, hypothesis in enumerate(stated, start=declared):
        if isinstance(hypothesis, Notation) and not definitions.only_defines(
            hypotheses[k], hypotheses[:k]
        ):
            raise Unsettled(f"this notation is more than a definition: {T.show(hypotheses[k])}")


# ---------------------------------------------------------------------------- proofs


def _prove(claim: Claim, work: _Work) -> _Proved:
    goal = work.goal(with_added=True)
    proved = _prove_goal(work, claim.proof, goal, work.hypotheses, claim.defined)
    if claim.written is not None:
        _check_defined(_read(claim.written).goal(with_added=True), claim.defined)
    return proved


def _check_defined(goal: Term, by_hand: Argument | None) -> None:
    """Refuse what is not defined as it is written, though it is as SymPy evaluates it."""
    try:
        auto.prove_obligations(Prover(Converter(), ()), obligations(goal), by_hand)
    except _SEARCH_FAILED as error:
        raise Unsettled(f"not shown to be defined as it is written: {error}") from error


def _prove_goal(
    work: _Work, script: Script | None, goal: Term, hypotheses: tuple[Term, ...], defined: Any
) -> _Proved:
    prover = Prover(work.converter, hypotheses, len(work.declared))
    conclusion = goal
    for _ in hypotheses:
        conclusion = conclusion.children[1]
    if script is None:
        theorem = _found(prover, work, conclusion)
        prover.note(theorem, "found by the automatic prover")
    else:
        theorem = script(prover)
    if theorem.conclusion is not conclusion:
        raise Unsettled(
            f"the proof script proves {T.show(theorem.conclusion)}, "
            f"which is not the statement {T.show(conclusion)}"
        )
    extra = theorem.hypotheses - set(hypotheses)
    if extra:
        raise Unsettled(f"the proof assumes {', '.join(map(T.show, extra))}")
    used = theorem.hypotheses
    for h in reversed(hypotheses):
        theorem = infer("discharge", [theorem], h)
    try:
        roots = auto.prove_obligations(Prover(work.converter, ()), obligations(goal), defined)
    except _SEARCH_FAILED as error:
        raise Unsettled(f"not shown to be defined: {error}") from error
    work.record("proof", goal, [theorem, *roots])
    for r in roots:
        used |= _premises_needed(r, hypotheses)
    return _Proved(_steps(prover, goal), used)


def _found(p: Prover, work: _Work, conclusion: Term) -> Theorem:
    """By the automatic prover, if need be by the form that SymPy gives to the statement."""
    try:
        return auto.prove(p, conclusion)
    except _SEARCH_FAILED as error:
        other = work.evaluated
        if other is None or conclusion is not work.conclusion:
            raise
        failure = error
    try:
        return restating.prove(p, conclusion, other.hypotheses, other.conclusion)
    except _SEARCH_FAILED:
        raise failure from None


def _premises_needed(root: Theorem, hypotheses: Sequence[Term]) -> frozenset[Term]:
    """The hypotheses that the proof of an obligation assumed on the way."""
    seen: set[int] = set()
    needed: set[Term] = set()
    stack = [root]
    while stack:
        t = stack.pop()
        if id(t) in seen:
            continue
        seen.add(id(t))
        if t.rule != "assume" and t.rule != "discharge":
            needed |= {h for h in hypotheses if any(p.conclusion is h for p in t.premises)}
        stack.extend(t.premises)
    return frozenset(needed)


def _steps(prover: Prover, goal: Term) -> tuple[StepView, ...]:
    drawn = latex.drawn_over(goal)
    return tuple(_step(line, prover.converter, drawn) for line in prover.lines)


def _step(line: Line, converter: Converter, drawn: frozenset[Term]) -> StepView:
    t = line.theorem
    shown = latex.latex(t.conclusion, converter.shape_of, drawn=drawn)
    in_matrices = matrix_latex(t.conclusion, shown, t.hypotheses, converter.shape_of)
    return StepView(shown, t.rule, _reason(line), in_matrices)


def _reason(line: Line) -> str:
    """The reason in words; behind the name of the axiom, where the line is one."""
    name = str(line.theorem.args[0]) if line.theorem.rule == "axiom" else ""
    return ": ".join(filter(None, (name, line.reason)))


# ---------------------------------------------------------------------------- examples


def _values(work: _Work, example: Example) -> Values:
    out: Values = {}
    for symbol, value in example.values.items():
        if isinstance(symbol, sp.IndexedBase):
            lam = value if isinstance(value, Lam) else counterexample.table(value)
            out[str(symbol.label)] = lam
        else:
            out[work.converter.term(symbol)] = work.converter.term(value)
    return definitions.complete(work.goal(with_added=False), out)


def _at(work: _Work, target: Term, example: Example) -> Theorem:
    """A proof, without hypotheses, of the closed formula `target` at exact values."""
    try:
        return infer("decide", [], target)
    except KernelError:
        if example.proof is None:
            raise
    if example.within:
        theorem = _opened(work, target.children[0], example.within, example.proof)
    else:
        theorem = example.proof(Prover(work.converter, ()), target)
    if theorem.conclusion is not target or theorem.hypotheses:
        raise Unsettled(f"the example proves {theorem}, not {T.show(target)}")
    return theorem


def _opened(work: _Work, statement: Term, within: Mapping[Any, Any], proof: Argument) -> Theorem:
    def deny(left: Term) -> Theorem:
        return proof(Prover(work.converter, ()), T.negate(left))

    return counterexample.opened(statement, _pairs(work, within), deny)


def _pairs(work: _Work, within: Mapping[Any, Any]) -> list[tuple[Term, Term]]:
    term = work.converter.term
    return [(term(symbol), term(value)) for symbol, value in within.items()]


def _break(work: _Work, goal: Term, values: Values, example: Example) -> None:
    """Record that `goal` is false or undefined at the values."""
    # values within quantifiers are shown, so they have to be what denies the statement
    for target in () if example.within else (goal, *conclusion_obligations(goal)):
        roots = counterexample.refuting(goal, target, values)
        if roots is not None:
            work.record("counterexample", goal, roots, values)
            return
    target = T.negate(at_values(goal, values))
    roots = [_at(work, target, example), *counterexample.premises_defined(goal, values)]
    work.record("counterexample", goal, roots, values)


def _view(work: _Work, values: Values, breaks: Term | None = None) -> CounterexampleView:
    text = outcomes.instance_text(work.conclusion, values)
    return CounterexampleView(
        _shown(work, values),
        text,
        "" if breaks is None else work.latex(breaks),
    )


def _view_within(work: _Work, values: Values, within: Mapping[Any, Any]) -> CounterexampleView:
    """The values for the quantifiers, and what they make of the statement.

    Symbols that "there is" binds are free in it: the denial holds for any value of them.  What
    depends on them is shown as a function of them.
    """
    left = at_values(
        work.conclusion, {k: v for k, v in values.items() if outcomes.occurs(k, work.conclusion)}
    )
    shown, free = _shown(work, values), []
    for symbol, value in _pairs(work, within):
        left = T.instantiate(left.children[-1], (value,))
        if value is symbol:
            free.append(symbol)
            continue
        of = [latex.name(x.data[0]) for x in free if outcomes.occurs(x, value)]
        variables = of[0] if len(of) == 1 else f"({','.join(of)})"
        text = latex.latex(value)
        shown[latex.name(symbol.data[0])] = rf"{variables} \mapsto {text}" if of else text
    while left.op == "imp":  # the premises hold
        left = left.children[1]
    text = outcomes.denial_text(left)
    bound = ", ".join(rf"{latex.name(x.data[0])} \in {latex.SETS[x.data[1]]}" for x in free)
    return CounterexampleView(shown, rf"\forall {bound}:\ {text}" if free else text)


def _shown(work: _Work, values: Values) -> dict[str, str]:
    """The values, apart from functions that the hypotheses already spell out.

    Of a sequence with a recurrence and no first value, the first one that was chosen is told.
    """
    goal = work.goal(with_added=False)
    spelled_out = definitions.spelled_out(goal)
    starts = definitions.without_first_value(goal)
    out = {}
    for k, v in values.items():
        if isinstance(k, str) and k in starts and isinstance(v, Lam):
            first = Normaliser().term(T.instantiate(v.body, (T.ZERO,)))
            out[latex.latex(T.apply(k, T.ZERO))] = latex.value(first)
        elif not (isinstance(k, str) and k in spelled_out):
            symbol = latex.name(k if isinstance(k, str) else k.data[0])
            out[symbol] = latex.value(v, _sizes(work, k, values))
    return out


def _sizes(work: _Work, symbol: Term | str, values: Values) -> tuple[int | None, ...]:
    """How long the axes of a tensor are at the values, None where that is not known."""
    shape = work.converter.shape_of(symbol) if isinstance(symbol, str) else None
    numbers = {s: v for s, v in values.items() if isinstance(s, Term) and isinstance(v, Term)}

    def length(size: Term | None) -> int | None:
        found = None if size is None else literal(Normaliser().poly(T.substitute(size, numbers)))
        return int(found) if found is not None and found.denominator == 1 and found > 0 else None

    return tuple(map(length, shape or ()))


# ---------------------------------------------------------------------------- verdicts


def _refuted(claim: Claim, work: _Work, example: Example) -> Settled:
    values = _values(work, example)
    _break(work, work.goal(with_added=False), values, example)
    view = _view_within(work, values, example.within) if example.within else _view(work, values)
    return _with_correction(claim, work, view)


def _refuted_at(claim: Claim, work: _Work, values: Values, roots: list[Theorem]) -> Settled:
    work.record("counterexample", work.goal(with_added=False), roots, values)
    return _with_correction(claim, work, _view(work, values))


def _with_correction(claim: Claim, work: _Work, view: CounterexampleView) -> Settled:
    proved = _Proved((), frozenset((*work.declared, *work.given)))  # the counterexample meets them
    corrected = {} if claim.correction is None else _prove_correction(work, claim.correction)
    return _finish(claim, work, Verdict.REFUTED, proved, counterexamples=(view,), **corrected)


def _prove_correction(work: _Work, correction: Correction) -> dict[str, Any]:
    """The parts of the result that tell of the correction."""
    given, conclusion = _read_correction(work, correction)
    hypotheses = (*work.declared, *given)
    goal = chain(hypotheses, conclusion)
    proved = _prove_goal(work, correction.proof, goal, hypotheses, correction.defined)
    new = [g for g in given if g not in work.given]
    whole = chain(new, conclusion)
    drawn = latex.drawn_over(goal)
    shown = latex.latex(whole, work.converter.shape_of, drawn=drawn)
    return {
        "correction": shown,
        "correction_matrix": matrix_latex(whole, shown, hypotheses, work.converter.shape_of),
        "correction_steps": proved.steps,
    }


def _read_correction(work: _Work, correction: Correction) -> tuple[tuple[Term, ...], Term]:
    given = tuple(work.converter.formula(g.formula) for g in correction.given)
    statement = work.converter.formula(correction.statement)
    _check_print((*given, statement))
    return given, statement


def _conditional(claim: Claim, work: _Work, proved: _Proved) -> Settled:
    views = []
    for formula, added in zip(work.added, claim.added, strict=True):
        if formula in proved.used:
            views.append(_needed(work, formula, added))
    assert claim.witness is not None
    values = _values(work, claim.witness)
    everything = T.conj(*work.declared, *work.given, *work.added)
    target = at_values(everything, values)
    roots = [_at(work, t, claim.witness) for t in (target, *obligations(target))]
    work.record("witness", everything, roots, values)
    return _finish(
        claim, work, Verdict.CONDITIONAL, proved, counterexamples=tuple(views),
        witness=_shown(work, values),
    )  # fmt: skip


def _needed(work: _Work, formula: Term, added: Added) -> CounterexampleView:
    """Show that the added hypothesis is needed: without it the statement can fail."""
    example = added.counterexample
    values = _values(work, example)
    _break(work, work.goal(with_added=False), values, example)
    broken = {k: v for k, v in values.items() if outcomes.occurs(k, formula)}
    _break(work, formula, broken, example)
    return _view(work, values, formula)


def _finish(claim: Claim, work: _Work, verdict: Verdict, proved: _Proved, **parts: Any) -> Settled:
    shown = work.latex(work.conclusion)
    result = _result(
        claim, verdict, shown,
        hypotheses=_hypotheses(claim, work, proved), steps=proved.steps,
        axioms=_axioms(work.axioms), ranges=_ranges(claim, work),
        matrix=matrix_latex(work.conclusion, shown, work.hypotheses, work.converter.shape_of),
        **parts,
    )  # fmt: skip
    return Settled(
        result,
        tuple(log for _, _, log in work.logs),
        tuple(goal.key.hex() for _, goal, _ in work.logs),
        tuple(kind for kind, _, _ in work.logs),
    )


def _ranges(claim: Claim, work: _Work) -> str:
    goal = work.goal(with_added=True)
    if claim.correction is not None:
        given, corrected = _read_correction(work, claim.correction)
        goal = chain((*given, corrected), goal)
    return latex.ranges(goal)


def _hypotheses(claim: Claim, work: _Work, proved: _Proved) -> tuple[HypothesisView, ...]:
    out = []
    rows: list[tuple[Term, Given | Added | None, Origin]] = [
        (h, None, Origin.SOURCE) for h in work.declared
    ]
    rows += [(h, g, Origin.SOURCE) for h, g in zip(work.given, claim.given, strict=True)]
    rows += [(h, a, Origin.ADDED) for h, a in zip(work.added, claim.added, strict=True)]
    for h, stated, origin in rows:
        note = "the letter stands for such numbers only" if stated is None else stated.note
        notation = isinstance(stated, Notation)
        shown = work.latex(h)
        in_matrices = matrix_latex(h, shown, (h,), work.converter.shape_of)
        out.append(HypothesisView(shown, origin, h in proved.used, note, notation, in_matrices))
    return tuple(out)


def _axioms(names: set[str]) -> tuple[AxiomView, ...]:
    out = []
    for n in sorted(names):
        fact = AXIOMS[n] if n in AXIOMS else EVALUATIONS[n]
        out.append(AxiomView(n, fact.citation, fact.formula, fact.condition))
    return tuple(out)


def _result(claim: Claim, verdict: Verdict, statement: str, **parts: Any) -> Result:
    return Result(
        id=claim.id, title=claim.title, topic=claim.topic, source=claim.source,
        statement=statement, verdict=verdict, expected=claim.expected, remark=claim.remark,
        **parts,
    )  # fmt: skip
