"""The checker: replays a proof log and says what it shows.

``python -m derive.kernel.check`` reads logs from standard input, one JSON object on each line, and
prints one answer on a line for each.  It runs no search and imports neither SymPy nor NumPy: every
step is given to the rule that it names, and the sequent that comes out has to be the one that the
log claims.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from dataclasses import dataclass
from typing import Any, Final

from derive.kernel import terms as T
from derive.kernel.domain import (
    conclusion_obligations,
    laws_of_obligations,
    obligations,
    premise_obligations,
)
from derive.kernel.log import (
    VERSION,
    contents,
    digest_fits,
    in_order,
    read_argument,
    read_term,
    read_terms,
)
from derive.kernel.normal import Normaliser
from derive.kernel.rules import Theorem, check_member, check_statement, infer
from derive.kernel.terms import KernelError, Lam, Term

#: What a log can show of its goal, a formula ``h1 -> ... -> hn -> conclusion``.
KINDS: Final = {
    "proof": "the goal holds for all values of its free symbols, and is well defined",
    "counterexample": "at the given values the goal is false, or all premises hold and an "
    "operation of the conclusion is undefined; and what the premises say is well defined",
    "witness": "at the given values the goal holds, and is well defined",
}


class Rejected(KernelError):
    """A log is not a proof of its goal."""


@dataclass(frozen=True)
class Shown:
    """What a log shows."""

    kind: str
    goal: Term
    values: dict[Term | str, Term | Lam]
    axioms: frozenset[str]


def check(log: Any) -> Shown:
    """Replay a log.  Raises `KernelError` unless every step and the whole hold."""
    try:
        text = json.dumps(log)
    except (TypeError, ValueError, RecursionError) as error:
        raise Rejected(f"log: not JSON data ({error})") from error
    return check_text(text)


def check_text(text: str) -> Shown:
    """Replay a log that is given as text, in the one form that `json.dumps` gives it."""
    try:
        log = json.loads(text)
        if not isinstance(log, dict) or log.keys() != _FIELDS:
            raise Rejected("log: the fields are not those of a log")
        if not digest_fits(text) or type(log["version"]) is not int or log["version"] != VERSION:
            raise Rejected("log: the digest does not fit the contents")
        return _check(log)
    except (
        TypeError, AttributeError, LookupError, ValueError, ArithmeticError, RecursionError,
    ) as error:  # fmt: skip
        raise Rejected(f"log: malformed ({error})") from error


_FIELDS: Final = frozenset(
    ["version", "kind", "goal", "values", "roots", "steps", "terms", "digest"]
)


def _check(log: Any) -> Shown:
    terms = read_terms(log["terms"])
    goal = read_term(log["goal"], terms)
    values = {read_argument(k, terms): read_argument(v, terms) for k, v in log["values"]}
    theorems: list[Theorem] = []
    for step in log["steps"]:
        theorems.append(_replay(step, theorems, terms))
    roots = [_pick(theorems, r) for r in log["roots"]]
    _check_all_used(theorems, roots)
    for r in roots:
        if r.hypotheses:
            raise Rejected(f"log: {r} still has hypotheses")
    check_statement(goal)
    wanted = required(log["kind"], goal, values)
    if not any([r.conclusion for r in roots] == list(w) for w in wanted):
        raise Rejected(f"log: the roots do not show the {log['kind']} of {goal}")
    if not _is_written_so(log, goal, roots, values):
        raise Rejected("log: the proof is not written in the one way that there is")
    axioms = laws_around(log["kind"], goal, values).union(*(r.axioms for r in roots))
    return Shown(log["kind"], goal, values, axioms)


def _is_written_so(
    log: Any, goal: Term, roots: list[Theorem], values: dict[Term | str, Term | Lam]
) -> bool:
    """Whether a log is what its proof is written as.

    True and 1.0 are equal to 1, but are not read where a number belongs.
    """
    written = contents(log["kind"], goal, roots, values)
    return all(log[part] == written[part] for part in written)


def _replay(step: Any, theorems: list[Theorem], terms: list[Term]) -> Theorem:
    if set(step) != {"rule", "premises", "args", "hypotheses", "conclusion", "axioms"}:
        raise Rejected("log: the fields are not those of a step")
    premises = [_pick(theorems, p) for p in step["premises"]]
    made = infer(step["rule"], premises, *[read_argument(a, terms) for a in step["args"]])
    hypotheses = [read_term(h, terms) for h in step["hypotheses"]]
    if in_order(made.hypotheses) != hypotheses:
        raise Rejected(f"log: rule {step['rule']} leaves other hypotheses than the step says")
    if made.conclusion is not read_term(step["conclusion"], terms):
        raise Rejected(f"log: rule {step['rule']} concludes {made.conclusion}")
    if sorted(made.axioms) != step["axioms"]:
        raise Rejected(f"log: rule {step['rule']} uses the axioms {sorted(made.axioms)}")
    return made


def _pick(theorems: list[Theorem], k: Any) -> Theorem:
    if type(k) is not int or not 0 <= k < len(theorems):
        raise Rejected(f"log: there is no step {k!r}")
    return theorems[k]


def _check_all_used(theorems: list[Theorem], roots: list[Theorem]) -> None:
    """Every step leads to a root: a log holds nothing that does not matter."""
    used = {id(r) for r in roots}
    for t in reversed(theorems):
        if id(t) in used:
            used.update(id(p) for p in t.premises)
    if any(id(t) not in used for t in theorems):
        raise Rejected("log: a step is not used")


def required(kind: str, goal: Term, values: dict[Term | str, Term | Lam]) -> list[tuple[Term, ...]]:
    """The lists of conclusions of which one has to be proved without hypotheses."""
    if kind == "proof":
        if values:
            raise Rejected("log: a proof has no values")
        return [(goal, *obligations(goal))]
    at = at_values(goal, values)
    if kind == "witness":
        return [(at, *obligations(at))]
    if kind == "counterexample":
        broken = [goal, *conclusion_obligations(goal)]
        return [(T.negate(at_values(p, values)), *premise_obligations(at)) for p in broken]
    raise Rejected(f"log: there is no kind {kind!r}")


def laws_around(kind: str, goal: Term, values: dict[Term | str, Term | Lam]) -> frozenset[str]:
    """The evaluations used outside the steps of a log.

    By them the values lie in their ranges, and obligations hold that no root has to show.
    """
    if kind == "proof":
        return laws_of_obligations(goal)
    return _read_values(values)[2] | laws_of_obligations(at_values(goal, values))


def at_values(p: Term, values: dict[Term | str, Term | Lam]) -> Term:
    """The formula at closed values that lie in the ranges of their symbols."""
    scalars, tensors, _ = _read_values(values)
    return T.substitute(p, scalars, tensors)


def _read_values(
    values: dict[Term | str, Term | Lam],
) -> tuple[dict[Term, Term], dict[str, Lam], frozenset[str]]:
    """The values of scalars and of tensors, and the evaluations by which they are in range."""
    scalars: dict[Term, Term] = {}
    tensors: dict[str, Lam] = {}
    norm = Normaliser()
    for symbol, value in values.items():
        if isinstance(symbol, Term) and isinstance(value, Term) and symbol.op == "var":
            scalars[symbol] = value
        elif isinstance(symbol, str) and isinstance(value, Lam):
            tensors[symbol] = value
        else:
            raise Rejected(f"log: {symbol} cannot have the value {value}")
    for symbol, value in scalars.items():
        size = T.substitute(symbol.children[0], scalars) if symbol.children else None
        check_member("counterexample", value, (symbol.data[1], 0), size, norm)
    if any(T.free_symbols(v) for v in scalars.values()) or any(
        T.free_symbols(f.body) for f in tensors.values()
    ):
        raise Rejected("log: a value has a free symbol")
    return scalars, tensors, frozenset(norm.used)


def answer(line: str) -> dict[str, Any]:
    """What the log on a line of text shows, or why it is rejected, and how long it took."""
    start = time.perf_counter()
    return {**_answer(line), "seconds": time.perf_counter() - start}


def _answer(line: str) -> dict[str, Any]:
    try:
        shown = check_text(line.rstrip("\n"))
    except KernelError as error:
        return {"accepted": False, "reason": str(error)}
    return {
        "accepted": True,
        "kind": shown.kind,
        "goal": shown.goal.key.hex(),
        "axioms": sorted(shown.axioms),
    }


def main() -> int:
    """Answer every line of standard input."""
    gc.disable()  # terms are kept for good, and hold no cycles
    for line in sys.stdin:
        print(json.dumps(answer(line)), flush=True)
    return 0


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)  # without taking every term apart
