"""What a claim is: a statement with its source, hypotheses, proof or counterexample, and twin.

A claim without a source, a statement (or the reason why there is none) or an expected verdict
cannot be constructed.  The expected verdict is compared with the result and never copied to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from derive.kernel.rules import Theorem
from derive.kernel.terms import Term
from derive.prover import Prover
from derive.result import Source, Verdict
from derive.twin import Twin

Script = Callable[[Prover], Theorem]
#: Proves the formula that it is given, without hypotheses.
Argument = Callable[[Prover, Term], Theorem]


@dataclass(frozen=True)
class Given:
    """A hypothesis that the source itself states; `note` says where or in which words."""

    formula: Any
    note: str = ""


@dataclass(frozen=True)
class Notation(Given):
    """An equation that says what a symbol of ours stands for, and supposes nothing.

    The symbol stands alone on the left side, in no hypothesis before this one and not on the right
    side; a claim with a "notation" of another form is not settled.
    """


@dataclass(frozen=True)
class Example:
    """Exact values for symbols: numbers for scalars, nested lists or a `Lam` for tensors.

    `proof` is needed only where evaluation does not settle what is to be shown at the values.
    `within` gives values for what the statement quantifies over, in the order of its quantifiers:
    a symbol that "there is" binds stands for itself, and the values after it may depend on it.
    Then `proof` shows that what is left of the statement is false.
    """

    values: Mapping[Any, Any]
    proof: Argument | None = None
    within: Mapping[Any, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Added:
    """A hypothesis that the source leaves out, with an example that shows it is needed.

    The example meets what the source states, violates this hypothesis and breaks the statement.
    """

    formula: Any
    counterexample: Example
    note: str = ""


@dataclass(frozen=True)
class Correction:
    """What should stand in the source instead, with its own proof (`defined` as in a claim)."""

    statement: Any
    proof: Script | None = None
    given: tuple[Given, ...] = ()
    defined: Argument | None = None


@dataclass(frozen=True)
class Mutation:
    """A mistake that is easily made in a claim, and has to be caught.

    `says` names it in words.  `statement` is what would then be claimed, under the hypotheses
    `given` if those are changed as well: it must not be provable.  `twin` is the claim's twin with
    the mistake made in the numbers: it must disagree.  At least one of the two is given.
    """

    says: str
    statement: Any = None
    given: tuple[Given, ...] | None = None
    twin: Twin | None = None
    counterexample: Example | None = None

    def __post_init__(self) -> None:
        if self.statement is None and self.given is None and self.twin is None:
            raise ValueError(f"the mutation {self.says!r} changes nothing")


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One statement of a source.

    `id` is "topic/name".  `statement` is a formula in `derive.language`; None stands for what is
    not mathematics, and then `reason` says why.  `proof` is a script that returns a theorem with
    the statement as its conclusion; without one the automatic prover is asked.  A claim that is
    meant to be false gives `counterexample` and, where one exists, `correction`.  `defined`
    proves an obligation of well-definedness that does not follow from sorts and hypotheses.
    `mutations` makes the mistakes that have to be caught; it is called where they are asked for.
    `from_file` tells the claims of a user's file; `written` is the same claim as it stands there,
    before SymPy evaluates it.
    """

    id: str
    title: str
    source: Source
    expected: Verdict
    statement: Any = None
    given: tuple[Given, ...] = ()
    added: tuple[Added, ...] = ()
    proof: Script | None = None
    witness: Example | None = None
    counterexample: Example | None = None
    correction: Correction | None = None
    defined: Argument | None = None
    twin: Twin | None = None
    mutations: Callable[[], Sequence[Mutation]] | None = None
    remark: str = ""
    reason: str = ""
    from_file: bool = field(default=False, compare=False)
    written: Claim | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        _check_kinds(self)
        if not re.fullmatch(r"[a-z0-9-]+/[a-z0-9-]+", self.id):
            raise ValueError(f"claim id {self.id!r} is not of the form topic/name")
        if (self.statement is None) is not bool(self.reason):
            raise ValueError(f"{self.id}: give a statement, or the reason why there is none")
        if self.added and self.witness is None:
            raise ValueError(f"{self.id}: added hypotheses need a witness that meets them")
        if self.counterexample is not None and (self.proof is not None or self.added):
            raise ValueError(f"{self.id}: a claim is proved or refuted, not both")

    @property
    def topic(self) -> str:
        return self.id.split("/")[0]

    @property
    def has_scripts(self) -> bool:
        """Whether anything in it is proved by hand."""
        stated = (self.witness, self.counterexample, *(a.counterexample for a in self.added))
        scripts = [self.proof, self.defined, *(e.proof for e in stated if e is not None)]
        return any(s is not None for s in scripts) or self.correction is not None

    def _repr_html_(self) -> str:
        """For notebooks, as `_repr_latex_`."""
        from derive.report import notebook

        return notebook.claim_html(self)

    def _repr_latex_(self) -> str:
        from derive.report import notebook

        return notebook.claim_latex(self)


def _check_kinds(claim: Claim) -> None:
    """Refuse what could not be printed or run, before anything is settled."""
    source = claim.source
    texts = (claim.title, claim.remark, claim.reason)
    wrong = {
        "id": not isinstance(claim.id, str),
        "title, remark or reason": not all(isinstance(t, str) for t in texts),
        "source": not isinstance(source, Source)
        or not isinstance(source.places, tuple)
        or not all(isinstance(t, str) for t in (source.document, source.says, *source.places)),
        "expected": not isinstance(claim.expected, Verdict),
        "twin": not isinstance(claim.twin, Twin | None),
    }
    for part, is_wrong in wrong.items():
        if is_wrong:
            raise ValueError(f"{claim.id}: {part} is not of the kind that it has to be")
