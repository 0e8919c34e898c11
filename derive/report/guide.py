"""How to read the report: the parts of a claim, the signs, and the rules that its steps name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from derive import messages
from derive.kernel.rules import RULES
from derive.messages import mark, say
from derive.report.localizing import TRUSTED
from derive.report.model import Block, Glossary, Paragraph
from derive.result import Result, StepView

_PARTS: Final = (
    (
        mark("A claim"),
        mark(
            "Statement, source, hypotheses, derivation, verdict, numeric twin. “For all” says "
            "what the numbers in statement and hypotheses may be; other letters stand for any "
            "real vectors, matrices or functions. What the source says is told in our own words; "
            "the numbers behind the name of the document, such as A15, are places in it. A "
            "hypothesis is “from the source” if the source states it or needs it for what it "
            "writes to have a meaning, and “added” if the claim fails without it and the source "
            "does not state it. A “notation” says what a letter of ours stands for; it supposes "
            "nothing."
        ),
    ),
    (
        mark("A derivation"),
        mark(
            "Each line holds for all values of its letters that meet the hypotheses and what was "
            "supposed above it. At its right stand the rule of the proof checker that gives the "
            "line, if it is not `linear-combination`, and the reason in words. The checker is a "
            "separate program that reads the logged steps and accepts or refuses each of them."
        ),
    ),
    (
        mark("A numeric twin"),
        mark(
            "A computation in floating-point numbers that shares nothing with the proof. Its "
            "differences are measured in units of the largest number compared, or of 1 if that is"
            " larger; means of random samples are compared in standard errors."
        ),
    ),
)

_RULES: Final = mark(
    "What stands behind a colon follows from what stands before it. $G \\vdash p$ says that $p$ "
    "follows from the assumptions $G$; where none are written, those of all premises are kept."
)

_SIGNS: Final = (
    (r"<|sum|prod", r"$i < n$", mark(r"indices count from 0: $i$ is one of $0, \ldots, n-1$")),
    (
        r"\\mathbb\{N\}",
        r"$\mathbb{N}$, $\mathbb{N}_{\ge 1}$",
        mark("the integers from 0 on, from 1 on"),
    ),
    (
        r"\\(?:forall|exists) [A-Za-z]:",
        r"$\forall v:$",
        mark("all vectors (matrices) $v$ that fit"),
    ),
    (r"\\delta", r"$\delta_{ij}$", mark("1 if $i = j$, else 0")),
    (r"\[[^\]\[]*=[^\]\[]*\]", r"$[a = b]$", mark("1 if $a = b$, else 0")),
    (r"\\bmod", r"$a \bmod n$", mark("the remainder of $a$ in the division by $n$, at least 0")),
    (r"\\mid", r"$h \mid d$", mark("$d/h$ is an integer")),
    (r"\\lfloor", r"$\lfloor x \rfloor$", mark("$x$ rounded down to an integer")),
    (
        r"\\lVert",
        r"$\lVert v \rVert$",
        mark("the square root of the sum of the squares of the entries"),
    ),
    (
        r"\\partial_",
        r"$\partial_{a} f(x)$",
        mark("the derivative of $f$ by the component $a$ of $x$"),
    ),
    (r"\\mathcal\{L\}", r"$\mathcal{L}$", mark("the loss")),
    (r"\\top", r"$A^{\top}$", mark("the transposed matrix; vectors are columns")),
    (r"\\mathbf\{1\}", r"$\mathbf{1}$", mark("the column of ones, as long as needed")),
    (r"\\odot", r"$A \odot B$", mark("the product entry by entry")),
    (
        r"\{diag\}",
        r"$\operatorname{diag}(v)$",
        mark("the diagonal matrix with the entries of $v$"),
    ),
    (r"\\langle", r"$\langle A, B \rangle$", r"$\sum_{i,j} A_{ij} B_{ij}$"),
    (
        r"\{softmax\}_",
        r"$\operatorname{softmax}_{s}(z_{s})$",
        mark(r"$e^{z_{s}} / \sum_{u} e^{z_{u}}$, where $u$ runs over the values of $s$"),
    ),
    (
        r"\{softmax\}[^_]",
        r"$\operatorname{softmax}(Z)$",
        mark("of every row of the matrix $Z$, or of the vector $Z$"),
    ),
    (r"\{ReLU\}", r"$\operatorname{ReLU}(Z)$", mark("the larger of 0 and each entry")),
    (
        r"J_\{",
        r"$J_{f}(x)$",
        mark(r"the matrix with $\partial_{a} f_{b}(x)$ in row $b$ and column $a$"),
    ),
    (
        r"\\frac\{\\partial\}\{\\partial [^_}]*\}",
        r"$\frac{\partial}{\partial x} [f(x)]$",
        mark("the same matrix"),
    ),
    (
        r"\\nabla",
        r"$\nabla_{X} [f]$",
        mark("the derivatives of $f$ by the entries of $X$, in the form of $X$"),
    ),
    (
        r"\\mathbb\{E\}\\?[l\[]",
        r"$\mathbb{E}[x]$",
        mark("the expectation of the random quantity $x$"),
    ),
    (
        r"_\{?P\}?",
        r"$\mathbb{E}_{P}[x]$",
        mark("the mean of $x$ over outcomes of probabilities $P$"),
    ),
)
"""A pattern of formulas that need the sign explained, the sign, and what it stands for."""


def guide(results: Sequence[Result]) -> tuple[Block, ...]:
    """What a reader of these results has to know; nothing without results."""
    if not results:
        return ()
    formulas = "\n".join(_formulas(results))
    signs = tuple((sign, say(text)) for when, sign, text in _SIGNS if re.search(when, formulas))
    used = {step.rule for result in results for step in _steps(result)}
    rules = tuple(
        (f"`{name}`", _typeset(messages.told(rule_in_words(name), TRUSTED)))
        for name in RULES
        if name in used
    )
    blocks: list[Block] = [Paragraph(label, say(text)) for label, text in _PARTS]
    if signs:
        blocks.append(Glossary(mark("Signs"), signs))
    if rules:
        blocks += [Paragraph(mark("Rules"), say(_RULES)), Glossary("", rules)]
    return tuple(blocks)


_LETTER: Final = re.compile(
    r"\b([pG])i\b|\b([b-zGTHX])\b"
    r"|\b(a)\b(?= [=≤<+-])|(?<=[≤<] )(a)\b(?! [a-z])|(?<=- )(a)\b|(a)(?= and b)|(?<=\()(a)(?=\))"
    r"|(?<=[\u4e00-\u9fff] )(a)\b"
)
"""The letters of a rule; `a` may be an article, too."""


def _typeset(text: str) -> str:
    """The text of a rule with its letters and signs as in formulas."""
    text = re.sub(r"\bp([01n])\b", r"$p_{\1}$", text).replace("...", "…")
    parts = re.split(r"(\$[^$]*\$)", text)
    parts[::2] = (
        _LETTER.sub(_letter, part).replace(" -> ", r" $\Rightarrow$ ").replace(" - ", " − ")
        for part in parts[::2]
    )
    return re.sub(r"([a-z])\$'", r"\1'$", "".join(parts))


def _letter(found: re.Match[str]) -> str:
    return f"${found[1]}_{{i}}$" if found[1] else f"${found[0]}$"


def _steps(result: Result) -> tuple[StepView, ...]:
    return (*result.steps, *result.correction_steps)


def _formulas(results: Sequence[Result]) -> Iterator[str]:
    for result in results:
        yield result.statement
        yield result.ranges
        yield result.matrix
        yield result.correction_matrix
        yield from (step.matrix for step in _steps(result))
        for hypothesis in result.hypotheses:
            yield from (hypothesis.latex, hypothesis.matrix)
        yield from (step.latex for step in _steps(result))


def rule_in_words(rule: str) -> str:
    """The first paragraph of the rule's docstring in the kernel."""
    text = " ".join((RULES[rule].__doc__ or "").strip().split("\n\n")[0].split())
    return text.replace("<=", "≤").replace("|-", "⊢").replace("`", "")
