"""Results and claims as JSON.  The keys and their order are a contract with other programs.

A claim has the key "mutations" only where they were asked for (``derive verify --mutations``).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from derive import plain_math
from derive.places import Place, about, whole
from derive.result import (
    CounterexampleView,
    MutationView,
    Result,
    Source,
    TwinStatus,
    TwinView,
    Verdict,
)

if TYPE_CHECKING:
    from derive.certify.coverage import Coverage
    from derive.claim import Claim

SCHEMA: Final = 1


def results_object(results: Sequence[Result], *, seed: int, seconds: float) -> dict[str, Any]:
    """The object that ``derive verify --json`` prints."""
    return {
        "schema": SCHEMA,
        "seed": seed,
        "seconds": _seconds(seconds),
        "summary": summary(results),
        "claims": [_result(r) for r in results],
    }


def claims_object(claims: Sequence[Claim]) -> dict[str, Any]:
    """The object that ``derive list --json`` prints."""
    return {"schema": SCHEMA, "claims": [_claim(c) for c in claims]}


def places_object(
    claims: Sequence[Claim], places: Sequence[Place], results: Sequence[Result]
) -> dict[str, Any]:
    """The object that ``derive list --source DOC --json`` prints."""
    return {
        **claims_object(claims),
        "places": [
            {
                "place": place.name,
                "lines": place.lines,
                "says": place.says,
                "claims": [{"id": r.id, "verdict": r.verdict.value}
                           for r in about(place, results)],
            }
            for place in places
        ],
    }  # fmt: skip


def certificates_object(entries: Sequence[Coverage]) -> dict[str, Any]:
    """The object that ``derive certify --json`` prints."""
    return {
        "schema": SCHEMA,
        "claims": [
            {
                "id": e.claim,
                "verdict": e.verdict,
                "certificate": e.certificate,
                "reason": e.reason,
            }
            for e in entries
        ],
    }


def dumps(value: Any) -> str:
    """JSON in ASCII, so that it is the same bytes whatever the encoding of the output."""
    return json.dumps(value, indent=1, allow_nan=False) + "\n"


def summary(results: Sequence[Result]) -> dict[str, int]:
    counts = {v.value: sum(r.verdict is v for r in results) for v in Verdict}
    disagreeing = sum(r.twin.status is TwinStatus.DISAGREES for r in results)
    unexpected = sum(r.unexpected for r in results)
    return {
        "claims": len(results),
        **counts,
        "unexpected": unexpected,
        "twin_disagreements": disagreeing,
    }


def _result(r: Result) -> dict[str, Any]:
    made = {"mutations": [_mutation(m) for m in r.mutations]} if r.mutations else {}
    return {
        "id": r.id,
        "title": r.title,
        "source": _source(r.source),
        "statement": r.statement,
        "hypotheses": [
            {"latex": h.latex, "from": h.origin.value, "used": h.used} for h in r.hypotheses
        ],
        "verdict": r.verdict.value,
        "expected": r.expected.value,
        "steps": [{"latex": s.latex, "rule": s.rule} for s in r.steps],
        "axioms": [{"name": a.name, "citation": a.citation} for a in r.axioms],
        "counterexample": _counterexample(r.counterexamples),
        "correction": r.correction,
        "replayed": r.replayed,
        "certificate": r.certificate,
        "certificate_reason": r.certificate_reason,
        "twin": _twin(r.twin),
        "seconds": {
            "symbolic": _seconds(r.seconds_symbolic),
            "numeric": _seconds(r.seconds_numeric),
        },
        **made,
    }


def _mutation(m: MutationView) -> dict[str, Any]:
    example = () if m.counterexample is None else (m.counterexample,)
    return {
        "says": m.says,
        "statement": m.statement or None,
        "verdict": None if m.verdict is None else m.verdict.value,
        "counterexample": _counterexample(example),
        "twin": _twin(m.twin),
        "caught_by": m.caught_by,
    }


def _claim(c: Claim) -> dict[str, Any]:
    return {
        "id": c.id,
        "title": c.title,
        "source": _source(c.source),
        "expected": c.expected.value,
    }


def _source(source: Source) -> dict[str, Any]:
    return {
        "document": source.document,
        "places": list(dict.fromkeys(name for p in source.places for name in (whole(p), p))),
        "says": source.says,
    }


def _counterexample(views: Sequence[CounterexampleView]) -> dict[str, str] | None:
    if not views:
        return None
    return {_name(k): plain_math.value(v) for k, v in views[0].values.items()}


def _name(symbol: str) -> str:
    r"""A symbol's LaTeX as an identifier: ``d_{\text{model}}`` is ``d_model``."""
    return re.sub(r"\\(?:text|mathrm|mathtt|operatorname)\b|[\\{}]", "", symbol)


def _twin(view: TwinView) -> dict[str, Any]:
    return {
        "status": view.status.value,
        "trials": view.trials,
        "max_error": _finite(view.max_error),
        "tolerance": _finite(view.tolerance),
        "reason": view.reason,
    }


def _finite(x: float) -> float | None:
    """JSON has no infinity: an error that is not finite is null."""
    return float(x) if math.isfinite(x) else None


def _seconds(x: float) -> float:
    return round(x, 3)
