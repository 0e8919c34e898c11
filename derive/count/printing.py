"""A count as text of 80 columns, and as an object for programs."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

from derive import latex
from derive.count import sizes
from derive.count.closed import products, value
from derive.count.counting import FEED_FORWARD, Count, Operations, Quantity
from derive.count.description import Tensor
from derive.kernel import terms as T
from derive.kernel.terms import Term
from derive.terminal import WIDTH, Style, wrap, wrap_formula

SCHEMA: Final = 1
COUNTING: Final = (
    "operations: a dot product of length k is k multiplications and k - 1 additions; an "
    "exponential, a root and an activation function are one operation each",
    "operations: the softmax does not subtract the maximum; attention is counted on the full "
    "square of tokens, whether or not a mask hides a part of it",
    "per token: per sequence, divided by the tokens of the sequence (of the target, where there "
    "is a source)",
    "leading: two operations for each multiplication of a matrix product, and nothing else",
    "training step: forward and backward; without loss, update and recomputation",
    "activations: what the backward pass reads besides weights and inputs, kept once; no dropout",
)
_PLURALS: Final = {
    "multiply": "multiplications", "add": "additions", "subtract": "subtractions",
    "divide": "divisions", "exponential": "exponentials", "root": "roots",
    "activation": "activation functions",
}  # fmt: skip


def conventions(c: Count) -> tuple[str, ...]:
    """What was counted and what was not, one thing on a line."""
    model = c.model
    found = [*c.architecture.conventions, *model.notes, *COUNTING]
    found.append(f"memory: {c.bytes} bytes for a number ({_why_so_many_bytes(c)})")
    chosen = [f"{x.data[0]} = {c.values[x]}" for x in c.model.lengths]
    if chosen:
        found.append(f"lengths: {', '.join(chosen)}; --set changes them")
    if model.defaults:
        given = ", ".join(f"{name} = {value}" for name, value in model.defaults.items())
        found.append(f"not in the configuration, taken from the library's defaults: {given}")
    return tuple(found)


def _why_so_many_bytes(c: Count) -> str:
    if c.bytes != c.model.bytes:
        return "as set"
    if c.model.dtype:
        return f"{c.model.dtype}, as the configuration says"
    return "by convention; --set bytes=4 changes it"


# ---------------------------------------------------------------------------- JSON


def as_object(c: Count, *, explain: bool) -> dict[str, Any]:
    """The object that ``derive count --json`` prints; with the derivation if asked for."""
    share = c.ffn_share
    found = {
        "schema": SCHEMA,
        "model_type": c.model.model_type,
        "family": c.architecture.title,
        "sizes": {str(x.data[0]): size for x, size in c.values.items()},
        "total": c.total.number,
        "active": c.total.number if c.active is None else c.active.number,
        "components": {name: q.number for name, q in c.components.items()},
        "ffn_share": float(share),
        "ffn_share_exact": f"{share.numerator}/{share.denominator}",
        "flops": {
            "lengths": {str(x.data[0]): c.values[x] for x in c.model.lengths},
            "forward": _operations_object(c, c.forward),
            "training": _operations_object(c, c.training),
        },
        "kv_cache_bytes_per_token": c.cache.number * c.bytes,
        "cross_attention_cache_bytes_per_source_token": c.cross_cache.number * c.bytes,
        "activation_bytes_per_sequence": c.activations.number * c.bytes,
        "bytes_per_number": c.bytes,
        "closed_forms": {
            "total": latex.latex(c.total.closed.term),
            "ffn_share": latex.latex(c.share.term),
            "components": {n: latex.latex(q.closed.term) for n, q in c.components.items()},
            "forward": latex.latex(c.forward.leading.closed.term),
            "training": latex.latex(c.training.leading.closed.term),
            "operations": {
                name: {kind: latex.latex(q.closed.term) for kind, q in found.kinds.items()}
                for name, found in (("forward", c.forward), ("training", c.training))
            },
            "kv_cache": latex.latex(c.cache.closed.term),
            "activations": latex.latex(c.activations.closed.term),
        },
        "tensors": [_tensor_object(c, t) for t in c.architecture.weights],
        "conventions": list(conventions(c)),
    }
    return {**found, "derivation": _derivation_object(c)} if explain else found


def _derivation_object(c: Count) -> list[dict[str, Any]]:
    """Component by component and for the total: sides, closed form, sizes inserted, number."""
    return [
        {
            "component": name,
            "sides": latex.latex(products(q.closed.summands)),
            "closed_form": latex.latex(q.closed.term),
            "inserted": latex.latex(_with_sizes(q, c)),
            "number": q.number,
        }
        for name, q in [*c.components.items(), ("total", c.total)]
    ]


def _operations_object(c: Count, found: Operations) -> dict[str, Any]:
    per_sequence = {kind: q.number for kind, q in found.kinds.items()}
    per_sequence |= {"total": found.total, "leading": found.leading.number}
    return {
        "per_sequence": per_sequence,
        "per_token": {kind: _exact(c.per_token(n)) for kind, n in per_sequence.items()},
    }


def _exact(number: Fraction) -> int | str:
    return int(number) if number.denominator == 1 else str(number)


def _tensor_object(c: Count, t: Tensor) -> dict[str, Any]:
    return {
        "name": t.name,
        "component": t.component,
        "copies": [_side(x, c) for x in t.copies],
        "shape": [_side(x, c) for x in t.shape],
        "parameters": c.quantity([t]).number,
    }


def _side(x: Term, c: Count) -> int:
    return int(value(x, c.values))


# ---------------------------------------------------------------------------- text


def as_text(c: Count, where: str, style: Style, *, explain: bool) -> str:
    """What ``derive count`` prints."""
    parts = [_title(c, where), _parameters(c, style)]
    if explain:
        parts += [_sizes(c, style), _shapes(c, style), _derivation(c, style)]
    parts.append(_costs(c, style))
    if explain:
        parts.append(_operations(c, style))
    parts += [_memory(c, style), _conventions(c, style)]
    return "\n".join(line.rstrip() for part in parts for line in [*part, ""]).rstrip() + "\n"


def _title(c: Count, where: str) -> list[str]:
    return wrap(f"{where}: {c.model.model_type}, {c.architecture.title}", "", "  ")


def grouped(number: int) -> str:
    return f"{number:,}"


def percent(share: Fraction) -> str:
    """To the nearest tenth of a percent."""
    tenths = (2000 * share.numerator + share.denominator) // (2 * share.denominator)
    return f"{tenths // 10}.{tenths % 10} %"


def _row(label: str, *cells: str) -> str:
    first, *others = cells
    return f"  {label:<32}{first:>22}" + "".join(f"{cell:>22}" for cell in others)


def _parameters(c: Count, style: Style) -> list[str]:
    lines = ["Parameters"]
    for name, q in c.components.items():
        share = percent(Fraction(q.number, c.total.number))
        lines.append(_row(name, grouped(q.number), share))
    lines.append(_row("total", grouped(c.total.number), "100.0 %"))
    if c.active is not None:
        lines.append(_row("used by one token", grouped(c.active.number)))
    lines += _formula("total = ", c.total, style)
    part, whole = grouped(c.components[FEED_FORWARD].number), grouped(c.total.number)
    lines += ["", f"Feed-forward share  {part} / {whole} = {percent(c.ffn_share)}"]
    shown = style.math(latex.latex(c.share.term))
    return [*lines, *wrap_formula(f"= {shown}", "  ", "    ", WIDTH)]


def _formula(label: str, q: Quantity, style: Style) -> list[str]:
    """A closed form, as far as one line carries and then in more."""
    shown = style.math(latex.latex(q.closed.term))
    return wrap_formula(label + shown, "  ", "    ", WIDTH)


def _sizes(c: Count, style: Style) -> list[str]:
    lines = ["Sizes"]
    for x, meaning in sizes.MEANINGS.items():
        if x in c.values:
            shown = style.math(latex.latex(x))
            lines.append(f"  {shown:<9}= {c.values[x]:>9}  {meaning}")
    return lines


def _shapes(c: Count, style: Style) -> list[str]:
    lines = ["Weights, each with its shape and its copies"]
    for t in c.architecture.weights:
        shape = style.plain(" × ").join(_axis(x, style) for x in t.shape)
        copies = "".join(f"{_axis(x, style)} of " for x in t.copies)
        lines.append(_row(t.name[:32], f"{copies}{shape}", grouped(c.quantity([t]).number)))
    return lines


def _axis(x: Term, style: Style) -> str:
    shown = style.math(latex.latex(x))
    return f"({shown})" if x.op == "add" else shown


def _derivation(c: Count, style: Style) -> list[str]:
    """From the shapes to the closed form to the number.

    The theorem behind the closed form is about the sum of 1 over all entries of all tensors.
    """
    lines = ["Derivation: the sides of all tensors multiplied, the closed form, its value"]
    for name, q in [*c.components.items(), ("total", c.total)]:
        lines.append(f"  {name}")
        if name == "total":
            lines += wrap("the components added up", "    ")
        else:
            sides = style.math(latex.latex(products(q.closed.summands)))
            lines += wrap_formula(sides, "    ", "      ", WIDTH)
        lines += wrap_formula(
            "= " + style.math(latex.latex(q.closed.term)), "    ", "      ", WIDTH
        )
        lines += wrap_formula("= " + _inserted(q, c, style), "    ", "      ", WIDTH)
        lines.append(f"    = {grouped(q.number)}")
    return lines


def _inserted(q: Quantity, c: Count, style: Style) -> str:
    return style.math(latex.latex(_with_sizes(q, c)))


def _with_sizes(q: Quantity, c: Count) -> Term:
    """The closed form with the sizes in place of their symbols."""
    return T.substitute(q.closed.term, {x: T.num(size) for x, size in c.values.items()})


def _costs(c: Count, style: Style) -> list[str]:
    chosen = ", ".join(f"{x.data[0]} = {c.values[x]}" for x in c.model.lengths)
    lines = [_row(f"Operations, {chosen}" if chosen else "Operations", "per sequence", "per token")]
    lines[0] = lines[0][2:35] + lines[0][33:]
    for name, found in (("forward", c.forward), ("training step", c.training)):
        lines.append(_cost(c, f"{name}, all operations", found.total))
        for kind, q in found.kinds.items():
            if q.number:
                lines.append(_cost(c, f"  {_PLURALS[kind]}", q.number))
        lines.append(_cost(c, f"{name}, leading", found.leading.number))
    return [*lines, *_formula("forward, leading = ", c.forward.leading, style)]


def _operations(c: Count, style: Style) -> list[str]:
    lines = ["Operations of a sequence, closed forms"]
    for name, found in (("forward", c.forward), ("training step", c.training)):
        for kind, q in found.kinds.items():
            if q.number:
                lines.append(f"  {name}, {_PLURALS[kind]}")
                lines += wrap_formula(
                    "= " + style.math(latex.latex(q.closed.term)), "    ", "      ", WIDTH
                )
        lines.append(f"  {name}, leading")
        lines += wrap_formula(
            "= " + style.math(latex.latex(found.leading.closed.term)), "    ", "      ", WIDTH
        )
    return lines


def _cost(c: Count, label: str, number: int) -> str:
    each = c.per_token(number)
    shown = grouped(int(each)) if each.denominator == 1 else _to_a_tenth(each)
    return _row(label, grouped(number), shown)


def _to_a_tenth(number: Fraction) -> str:
    tenths = round(10 * number)
    return f"{grouped(tenths // 10)}.{tenths % 10}"


def _memory(c: Count, style: Style) -> list[str]:
    lines = ["Memory"]
    if c.cache.number:
        lines.append(_row("cache of keys and values", grouped(c.cache.number * c.bytes),
                          "bytes per token"))  # fmt: skip
        lines += _formula("numbers per token = ", c.cache, style)
    if c.cross_cache.number:
        lines.append(_row("cache for cross-attention", grouped(c.cross_cache.number * c.bytes),
                          "bytes per token"))  # fmt: skip
        lines += _formula("numbers per token of the source = ", c.cross_cache, style)
    if not c.cache.number:
        lines.append("  cache of keys and values: none, every token sees all others")
    lines.append(_row("activations for the gradients", grouped(c.activations.number * c.bytes),
                      "bytes per sequence"))  # fmt: skip
    return [*lines, *_formula("numbers per sequence = ", c.activations, style)]


def _conventions(c: Count, style: Style) -> list[str]:
    lines = ["Conventions"]
    for text in conventions(c):
        lines += wrap(style.plain(text), "  - ", "    ")
    return lines
