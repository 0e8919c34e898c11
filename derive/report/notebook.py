"""How results and claims show in a notebook: as in the report, or as one formula."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from derive import wording
from derive.report import document, page
from derive.report.model import Paragraph
from derive.result import Result, Verdict

if TYPE_CHECKING:
    from derive.claim import Claim


def result_html(result: Result) -> str:
    """The result as it stands in the page of the report."""
    (key,) = document.keys([result])
    return _framed(page.render_claim(document.claim(result, key)))


def result_latex(result: Result) -> str:
    """The statement with its verdict in words, or the verdict alone."""
    verdict = wording.NAME[result.verdict]
    if not result.statement:
        return rf"$\text{{{verdict}}}$"
    return rf"$\displaystyle {result.statement} \qquad \text{{({verdict})}}$"


def claim_html(claim: Claim) -> str:
    """What the claim says, before it is settled."""
    whole = document.claim(_unsettled(claim), "unsettled")
    said = (b for b in whole.blocks if not isinstance(b, Paragraph) or b.label not in _SETTLED)
    verdict = Paragraph("Verdict", f"not settled yet; expected: {wording.NAME[claim.expected]}.")
    return _framed(page.render_claim(replace(whole, blocks=(*said, verdict))))


_SETTLED: Final = frozenset({"Verdict", "Numeric twin"})


def claim_latex(claim: Claim) -> str:
    """The statement; the title where there is none."""
    statement = _unsettled(claim).statement
    return rf"$\displaystyle {statement}$" if statement else claim.title


def _unsettled(claim: Claim) -> Result:
    from derive.verify import statement_latex

    return Result(
        id=claim.id,
        title=claim.title,
        topic=claim.topic,
        source=claim.source,
        statement=statement_latex(claim) if claim.statement is not None else "",
        verdict=Verdict.UNDECIDED,
        expected=Verdict.UNDECIDED,
        remark=claim.remark,
    )


def _framed(markup: str) -> str:
    """The markup with the look of the report, which reaches nothing else in the notebook."""
    scoped = page.style().replace(":root{", ":scope{", 1)
    return f"<div class=derive><style>@scope (.derive){{{scoped}}}</style>{markup}</div>"
