"""What a settled claim looks like: plain data, read by the terminal, the JSON and the report."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any


class Verdict(StrEnum):
    """The five answers; `docs/trusted_base.md` says what each one needs."""

    PROVED = "proved"
    CONDITIONAL = "conditional"
    REFUTED = "refuted"
    UNDECIDED = "undecided"
    NOT_MATHEMATICAL = "not-mathematical"


class Origin(StrEnum):
    """Who states a hypothesis: the source itself, or the author of the claim module."""

    SOURCE = "source"
    ADDED = "added"


class TwinStatus(StrEnum):
    AGREES = "agrees"
    DISAGREES = "disagrees"
    NONE = "none"


@dataclass(frozen=True)
class Source:
    """Where a claim stands: document, places in it, and what is said there in our own words."""

    document: str
    places: tuple[str, ...]
    says: str


@dataclass(frozen=True)
class HypothesisView:
    """One hypothesis as the reader sees it (`latex` without dollar signs).

    `matrix` is the same in matrix form, empty where there is none.
    """

    latex: str
    origin: Origin
    used: bool
    note: str = ""
    notation: bool = False
    matrix: str = ""


@dataclass(frozen=True)
class StepView:
    """One line of a derivation: what holds (`latex`), the kernel rule, and the reason in words.

    `matrix` is the same in matrix form, empty where there is none.
    """

    latex: str
    rule: str
    reason: str = ""
    matrix: str = ""


@dataclass(frozen=True)
class AxiomView:
    """`condition` says where the formula holds, as LaTeX or in words; empty for everywhere."""

    name: str
    citation: str
    latex: str = ""
    condition: str = ""


@dataclass(frozen=True)
class CounterexampleView:
    """Exact values that meet the hypotheses and break the statement.

    `values` maps a symbol (its LaTeX name) to an exact value as text; `latex` is the evaluated
    statement, for instance ``9 \\neq 10``; `breaks` is the LaTeX of the added hypothesis that
    it violates, empty when the claim is refuted outright.
    """

    values: dict[str, str]
    latex: str
    breaks: str = ""


class Measure(StrEnum):
    """What the error of a comparison counts."""

    EXACT = "exact"
    """Whole numbers, or yes and no; they agree or they do not."""
    DIFFERENCE = "difference"
    """Floating-point numbers; the difference in units of the largest of them, at least 1."""
    STANDARD_ERRORS = "standard errors"
    """A mean over random samples; its distance from the value in standard errors of that mean."""
    APART = "apart"
    """Numbers that have to differ; the error is what is missing of that."""


@dataclass(frozen=True)
class Errors:
    """The comparisons of one measure and tolerance, and the largest of their errors."""

    measure: Measure
    tolerance: float
    trials: int
    largest: float


@dataclass(frozen=True)
class TwinView:
    """The numeric evidence: how many trials, and for each measure the largest error.

    `max_error` and `tolerance` are those of the trial whose error is largest for its tolerance.
    """

    status: TwinStatus
    trials: int = 0
    max_error: float = 0.0
    tolerance: float = 0.0
    reason: str = ""
    errors: tuple[Errors, ...] = ()


@dataclass(frozen=True)
class MutationView:
    """A mistake, and what became of it.

    `verdict` is that of the mistaken statement, None where only the numbers are mistaken; a
    refuted one has its counterexample.
    """

    says: str
    statement: str = ""
    verdict: Verdict | None = None
    counterexample: CounterexampleView | None = None
    twin: TwinView = TwinView(TwinStatus.NONE)

    @property
    def caught(self) -> bool:
        """Whether nothing lets the mistake pass: neither a proof nor the twin that has it."""
        proved = self.verdict in (Verdict.PROVED, Verdict.CONDITIONAL)
        return not proved and self.twin.status is not TwinStatus.AGREES

    @property
    def caught_by(self) -> str:
        """What catches it: "counterexample", "no proof", "twin", or two of them; or "nothing"."""
        if not self.caught:
            return "nothing"
        ways = {Verdict.REFUTED: ["counterexample"], Verdict.UNDECIDED: ["no proof"]}
        found = [] if self.verdict is None else list(ways[self.verdict])
        if self.twin.status is TwinStatus.DISAGREES:
            found.append("twin")
        return " and ".join(found)


@dataclass(frozen=True)
class LogView:
    """A proof log that the checker has accepted: what it shows, and the SHA-256 of its text."""

    kind: str
    digest: str


@dataclass(frozen=True)
class Result:
    """Everything known about one claim after proof, replay and twin.

    `ranges` says what the numbers that are free in the statement and the hypotheses may be.
    `counterexamples` holds one entry for a refuted claim and one for each added hypothesis of a
    conditional one. `witness` shows values that meet all hypotheses of a conditional claim.
    `reason` says why a claim is undecided or not mathematical, and is empty otherwise.
    `matrix` and `correction_matrix` are statement and correction in matrix form, if there is one.
    """

    id: str
    title: str
    topic: str
    source: Source
    statement: str
    verdict: Verdict
    expected: Verdict
    hypotheses: tuple[HypothesisView, ...] = ()
    steps: tuple[StepView, ...] = ()
    axioms: tuple[AxiomView, ...] = ()
    counterexamples: tuple[CounterexampleView, ...] = ()
    witness: dict[str, str] = field(default_factory=dict)
    correction: str | None = None
    correction_steps: tuple[StepView, ...] = ()
    replayed: bool = False
    logs: tuple[LogView, ...] = ()
    certificate: str = "none"
    certificate_reason: str = ""
    twin: TwinView = TwinView(TwinStatus.NONE)
    reason: str = ""
    remark: str = ""
    ranges: str = ""
    matrix: str = ""
    correction_matrix: str = ""
    mutations: tuple[MutationView, ...] = ()
    seconds_symbolic: float = 0.0
    seconds_numeric: float = 0.0

    @property
    def unexpected(self) -> bool:
        return self.verdict is not self.expected

    def _repr_html_(self) -> str:
        """For notebooks, as `_repr_latex_`."""
        from derive.report import notebook

        return notebook.result_html(self)

    def _repr_latex_(self) -> str:
        from derive.report import notebook

        return notebook.result_latex(self)


@dataclass(frozen=True)
class Settled:
    """A result before replay, with the logs that have to be replayed, their goals and kinds."""

    result: Result
    logs: tuple[Any, ...] = ()
    goals: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    recalled: bool = False


def to_plain(result: Result) -> dict[str, Any]:
    """A result as JSON data, without the mutations: those are made when they are asked for."""
    return asdict(replace(result, mutations=()))


def from_plain(data: dict[str, Any]) -> Result:
    """The result that `to_plain` gave; raises `TypeError`, `KeyError` or `ValueError` otherwise."""
    source, twin = data["source"], data["twin"]
    return Result(
        **{
            **data,
            "source": Source(source["document"], tuple(source["places"]), source["says"]),
            "verdict": Verdict(data["verdict"]),
            "expected": Verdict(data["expected"]),
            "hypotheses": tuple(
                HypothesisView(**{**h, "origin": Origin(h["origin"])}) for h in data["hypotheses"]
            ),
            "steps": tuple(StepView(**s) for s in data["steps"]),
            "axioms": tuple(AxiomView(**a) for a in data["axioms"]),
            "counterexamples": tuple(CounterexampleView(**c) for c in data["counterexamples"]),
            "correction_steps": tuple(StepView(**s) for s in data["correction_steps"]),
            "mutations": (),
            "logs": tuple(LogView(**log) for log in data["logs"]),
            "twin": _twin_from_plain(twin),
        }
    )


def mutation_from_plain(data: dict[str, Any]) -> MutationView:
    """The view that `asdict` gave; raises `TypeError`, `KeyError` or `ValueError` otherwise."""
    verdict, example = data["verdict"], data["counterexample"]
    return MutationView(
        **{
            **data,
            "verdict": None if verdict is None else Verdict(verdict),
            "counterexample": None if example is None else CounterexampleView(**example),
            "twin": _twin_from_plain(data["twin"]),
        }
    )


def _twin_from_plain(data: dict[str, Any]) -> TwinView:
    errors = tuple(Errors(**{**e, "measure": Measure(e["measure"])}) for e in data["errors"])
    return TwinView(**{**data, "status": TwinStatus(data["status"]), "errors": errors})
