"""The section about whole models: closed forms of the families, published totals, shares."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from derive import latex, messages
from derive.kernel import terms as T
from derive.messages import mark, say
from derive.report.localizing import PUBLISHED
from derive.report.model import Bar, Bars, Block, Note, Notes, Paragraph, Table
from derive.result import Result

if TYPE_CHECKING:
    from derive.count.published import Answer

MODELS: Final = mark("Totals of real models")
_TOPIC: Final = "model-totals"

#: Whose share of feed-forward parameters is drawn: the ids of rows of the table.
_DRAWN: Final = (
    "Attention Is All You Need/base", "BERT/base, uncased", "GPT-2/small", "GPT-2/xl",
    "GPT-3/175B", "T5/Base, rounded", "T5 v1.1/base", "LLaMA/7B", "Llama 3/8B",
    "Llama 3/405B, checkpoint", "Mixtral/8x7B", "Gopher/280B", "PaLM/540B", "ViT/B/16",
)  # fmt: skip


_MODEL: Final = {"model": r"\text{model}", "kv": r"\text{kv}"}


def _named(found: re.Match[str]) -> str:
    """`h d_k` or `d_ff=1024` as a formula."""
    below = found["below"]
    name = rf"{found['letter']}_{{{_MODEL.get(below, below)}}}" if below else found["letter"]
    factor = "h\\," if found["factor"] else ""
    return f"${factor}{name}{found['value'] or ''}$"


_FORMULAS: Final = (
    (re.compile(r"(\d+) x 10\^(\d+)"), r"$\1 \\cdot 10^{\2}$"),
    (re.compile(r"(?<![{\d])10\^(\d+)"), r"$10^{\1}$"),
    (re.compile(r"(\d[\d.]*)e\+(\d+)"), r"$\1 \\cdot 10^{\2}$"),
    (
        re.compile(
            r"(?P<factor>\bh )?\b(?P<letter>[dh])_(?P<below>model|k|ff|kv)\b(?P<value> ?= ?\d+)?"
        ),
        _named,
    ),
    (re.compile(r"(?P<factor>)\b(?P<letter>[hdN])(?P<below>)(?P<value>=\d+)"), _named),
    (re.compile(r" x (?=[$h])"), r" $\\times$ "),
    (re.compile(r"\b([hbCE]) (?=heads|buckets|classes|gated)"), r"$\1$ "),
    (re.compile(r"(?<=to )k(?= of them)"), "$k$"),
    (re.compile(r"(?<![\w$])([hbCEk]) ?(?=个)"), r"$\1$ "),
)
"""How numbers and names are written where there are no formulas, and the formulas."""
_LONG: Final = re.compile(r"(?<![\w.,^={])[1-9]\d{6,}(?![\w.,]*\d)")
"""Whole numbers of so many digits that they are not read without separators."""


def models(results: Sequence[Result]) -> tuple[Block, ...]:
    """The section, if the report is about the totals of models."""
    if all(result.topic != _TOPIC for result in results):
        return ()
    from derive.count.published import answers  # loaded where the section is asked for

    found = answers()
    return (
        Paragraph(
            mark("Closed forms"),
            say(
                "Each is the sum of 1 over all entries of all weight tensors of a family, proved "
                "for all sizes; beside it stand the model at whose sizes it is used and what is "
                "counted. The derivations are the claims `model-totals`."
            ),
        ),
        Notes("", tuple(_forms(found))),
        Paragraph(
            mark("Published and exact"),
            say(
                "An exact count is the value of the closed form. It rounds to the published "
                "number if shortening it to the digits that are printed gives these."
            ),
        ),
        Table((say("Model"), say("Published"), say("Exact"), say("Answer")), tuple(_groups(found))),
        _shares(found),
    )


def _forms(found: Sequence[Answer]) -> Iterator[Note]:
    """The first row of each architecture."""
    seen = set()
    for a in found:
        count = a.readings[0].count if a.readings else None
        if count is None or count.architecture.title in seen:
            continue
        seen.add(count.architecture.title)
        total = latex.latex(T.eq(T.var("N", "nat"), count.total.closed.term))
        title, conventions = _told(count.architecture.title), _joined(a.conventions)
        if a.family in count.architecture.title:  # which would be said twice
            text = say("{title}, {model}: {conventions}", title=title, model=_told(a.name),
                       conventions=conventions)  # fmt: skip
        else:
            model = messages.listing(_told(a.family), _told(a.name))
            text = say("{title} ({model}): {conventions}", title=title, model=model,
                       conventions=conventions)  # fmt: skip
        yield Note("", total, "", text)


def _groups(
    found: Sequence[Answer],
) -> Iterator[tuple[str, tuple[tuple[str, str, str, str], ...]]]:
    totals = [a for a in found if a.counts_parameters]
    for family, source in dict.fromkeys((a.family, a.source) for a in totals):
        rows = [a for a in totals if (a.family, a.source) == (family, source)]
        yield say("{what}: {more}", what=_told(family), more=_told(source)), tuple(map(_row, rows))


def _row(a: Answer) -> tuple[str, str, str, str]:
    answer = _told(a.in_short)
    if a.reasons:
        answer = say("{what}: {more}", what=answer, more=_joined(a.reasons))
    return _told(a.name), _told(a.text), f"{a.number:,}", answer


def _joined(said: Sequence[str]) -> str:
    return say("; ").join(map(_told, said))


def _told(text: str) -> str:
    """In the language of the reader, with numbers and names in formulas set as such."""
    told = _LONG.sub(lambda found: f"{int(found[0]):,}", messages.told(text, PUBLISHED))
    for plain, formula in _FORMULAS:
        told = plain.sub(formula, told)
    return told


def _shares(found: Sequence[Answer]) -> Bars:
    by_id = {a.id: a for a in found}
    bars = []
    for name in _DRAWN:
        a = by_id[name]
        share = a.readings[0].count.ffn_share
        bars.append(Bar(messages.listing(_told(a.family), _told(a.name)), round(1000 * share)))
    caption = say(
        "The share of the feed-forward networks in all parameters. The last bar is the 2/3 of a "
        "single layer whose attention has 4 squares of the model width as parameters and whose "
        "network has 8: cross-attention and the embeddings of small models pull "
        "a share below it, gated networks and many experts above it."
    )
    return Bars(caption, tuple(bars), Bar(say("two thirds"), 667))


def texts() -> Iterator[tuple[str, str]]:
    """The texts of the table and of the closed forms, and where each stands."""
    from derive.count.published import answers

    for a in answers():
        where = f"{a.family}, {a.name}"
        for text in (a.family, a.name, a.source, a.text, a.in_short, *a.reasons, *a.conventions):
            yield text, where
        if a.readings:
            yield a.readings[0].count.architecture.title, where
