"""Mutations: mistakes that are easily made in a claim, each of which has to be caught.

A mistaken statement is settled like any other, by the automatic prover and the search for
counterexamples, and what refutes it is replayed; a mistaken twin has to disagree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from derive import kept_mutations, latex, runner
from derive.catalogue import InputError
from derive.claim import Claim, Given, Mutation
from derive.convert import Converter
from derive.result import MutationView, Result, Verdict
from derive.store import Store
from derive.verify import chain


def with_mutations(
    results: Sequence[Result],
    claims: Sequence[Claim],
    *,
    seed: int = 0,
    jobs: int = 1,
    kept: Store | None = None,
) -> list[Result]:
    """The results of the claims, each with what became of the claim's mutations.

    `kept` keeps that for the next time.
    """
    made = {c.id: made_for(c) for c in claims}
    mistaken = [
        as_claim(c, mutation, k) for c in claims for k, mutation in enumerate(made[c.id], start=1)
    ]
    logs = Store(None, {})
    settled = iter(runner.verify(mistaken, seed=seed, jobs=jobs, store=logs))
    of = {c.id: c for c in claims}
    views = {r.id: tuple(_view(of[r.id], m, next(settled)) for m in made[r.id]) for r in results}
    if kept is not None:
        kept_mutations.keep(kept, views, logs.entries)
    return [replace(r, mutations=views[r.id]) for r in results]


def made_for(claim: Claim) -> tuple[Mutation, ...]:
    """The claim's mutations; raises `InputError` where its module does not give any such."""
    if claim.mutations is None:
        return ()
    try:
        made = tuple(claim.mutations())
    except Exception as error:
        raise InputError(
            f"{claim.id}: its mutations cannot be made: {runner.described(error)}"
        ) from error
    for m in made:
        if not isinstance(m, Mutation):
            raise InputError(f"{claim.id}: a mutation is not a Mutation but a {type(m).__name__}")
    return made


def as_claim(claim: Claim, mutation: Mutation, number: int) -> Claim:
    """The claim with the mistake in it, and without what settles it."""
    id_ = f"{claim.id}-mutation-{number}"
    bare = replace(
        claim, id=id_, written=None, twin=mutation.twin, proof=None, added=(), witness=None,
        correction=None, counterexample=mutation.counterexample, mutations=None,
        expected=Verdict.REFUTED,
    )  # fmt: skip
    if mutation.statement is None and mutation.given is None:
        reason = "only the numbers are mistaken"
        return replace(bare, statement=None, given=(), reason=reason)
    statement = claim.statement if mutation.statement is None else mutation.statement
    added = tuple(Given(a.formula, a.note) for a in claim.added)
    given = (*claim.given, *added) if mutation.given is None else mutation.given
    return replace(bare, statement=statement, given=given)


def _view(claim: Claim, mutation: Mutation, result: Result) -> MutationView:
    if result.verdict is Verdict.NOT_MATHEMATICAL:
        return MutationView(mutation.says, twin=result.twin)
    example = result.counterexamples[0] if result.verdict is Verdict.REFUTED else None
    statement = _under_new_hypotheses(claim, mutation) or result.statement
    return MutationView(mutation.says, statement, result.verdict, example, result.twin)


def _under_new_hypotheses(claim: Claim, mutation: Mutation) -> str:
    """The statement behind the hypotheses that the mutation puts in; empty if there are none."""
    new = [g for g in mutation.given or () if g not in claim.given]
    if not new:
        return ""
    converter = Converter()
    hypotheses = [converter.formula(g.formula) for g in new]
    statement = claim.statement if mutation.statement is None else mutation.statement
    known = claim.given if mutation.given is None else mutation.given
    conclusion = converter.formula(statement)
    goal = chain([converter.formula(g.formula) for g in known], conclusion)
    drawn = latex.drawn_over(goal)
    return latex.latex(chain(hypotheses, conclusion), converter.shape_of, drawn=drawn)
