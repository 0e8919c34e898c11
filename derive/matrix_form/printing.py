"""Matrix forms as LaTeX.

Scalars are printed by the printer of terms, with a variable in the place of every form in them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from derive import latex
from derive.kernel import terms as T
from derive.kernel.terms import Term
from derive.matrix_form.forms import Form, NoForm, fresh_scalar

_SUM, _PRODUCT, _ATOM = 0, 1, 2
_PLACE: Final = re.compile(r"\\mathrm\{(%m\d+)\}")


@dataclass(frozen=True)
class Printer:
    """`taken` are the names in use; `letters` the names of the indices of outer sums."""

    taken: frozenset[str]
    letters: Mapping[Term, str]

    def latex(self, a: Form) -> str:
        return self._form(a)[0]

    def _at(self, a: Form, level: int) -> str:
        text, own = self._form(a)
        return text if own >= level else latex.fenced(text)

    def _form(self, a: Form) -> tuple[str, int]:
        text, level = self._printed(a)
        return text, _SUM if text.startswith("-") else level

    def _printed(self, a: Form) -> tuple[str, int]:
        match a.op:
            case "tensor":
                return self._tensor(a), _ATOM
            case "scalar":
                term, names = a.data
                return self._scalar(term, dict(zip(names, a.parts, strict=True)))
            case "scale":
                return self._scaled(*a.parts)
            case "identity":
                return self._reserved("I"), _ATOM
            case "zero":
                return "0", _ATOM
            case "ones":
                return r"\mathbf{1}", _ATOM
            case "transpose":
                return self._raised(a.parts[0]) + r"^{\top}", _ATOM
            case "product":
                return r"\,".join(self._at(p, _PRODUCT) for p in a.parts), _PRODUCT
            case "hadamard":
                return r" \odot ".join(self._at(p, _ATOM) for p in a.parts), _SUM
            case "add":
                return self._sum(a.parts), _SUM
            case "summed":
                return self._outer_sum(a)
            case "reciprocal" | "diagonal":
                raise NoForm(f"no notation for {a.op}")
            case _:
                return self._function(a), _ATOM

    def _function(self, a: Form) -> str:
        inside = [self.latex(p) for p in a.parts if p.op != "reciprocal"]
        match a.op:
            case "diag" if a.parts[0].op == "reciprocal":
                vector = self.latex(a.parts[0].parts[0])
                return rf"\operatorname{{diag}}{latex.fenced(vector)}^{{-1}}"
            case "diag" | "softmax":
                return rf"\operatorname{{{a.op}}}{latex.fenced(inside[0])}"
            case "relu":
                return rf"\operatorname{{ReLU}}{latex.fenced(inside[0])}"
            case "trace":
                return rf"\operatorname{{tr}}{latex.fenced(inside[0])}"
            case "frobenius":
                return rf"\left\langle {', '.join(inside)} \right\rangle"
            case "norm" | "norm2":
                kind = "" if a.parts[0].cols is None else "_{F}"
                power = "^{2}" if a.op == "norm2" else ""
                return rf"\left\lVert {inside[0]} \right\rVert{kind}{power}"
            case _:
                raise NoForm(f"no LaTeX for {a.op}")

    def _reserved(self, name: str) -> str:
        if name in self.taken:
            raise NoForm(f"{name} is the name of something else")
        return name

    def _raised(self, a: Form) -> str:
        text = self._at(a, _ATOM)
        raised = "^" in text or "'" in text  # TeX takes a prime for an exponent, too
        return latex.fenced(text) if raised and not text.endswith(")") else text

    def _sum(self, parts: Sequence[Form]) -> str:
        out = ""
        for p in parts:
            text = self.latex(p)  # a sum reaches to the end
            text = latex.fenced(text) if p.op == "summed" and p is not parts[-1] else text
            out += text if not out or text.startswith("-") else f" + {text}"
        return out

    def _outer_sum(self, a: Form) -> tuple[str, int]:
        size = a.data.children[0]
        letter = latex.letter_for(size, self.taken)
        inner = Printer(self.taken | {letter}, {**self.letters, a.data: letter})
        nested = a.parts[0].op == "summed"
        text = inner.latex(a.parts[0]) if nested else inner._at(a.parts[0], _PRODUCT)
        top = latex.last_index(size, self.taken)
        return rf"\sum_{{{letter}=0}}^{{{top}}} {text}", _SUM

    # ------------------------------------------------------------------ scalars and tensors

    def _scaled(self, s: Form, a: Form) -> tuple[str, int]:
        term, names = s.data if s.op == "scalar" else ((v := fresh_scalar()), (v,))
        parts = s.parts if s.op == "scalar" else (s,)
        place = fresh_scalar()
        factors = term.children if term.op == "mul" else (term,)
        inside = {**dict(zip(names, parts, strict=True)), place: a}
        return self._scalar(T.mul(*factors, place), inside, beside=place)

    def _scalar(
        self, term: Term, inside: Mapping[Term, Form], beside: Term | None = None
    ) -> tuple[str, int]:
        """`beside` is the matrix or vector that the scalar is a factor of: products of matrices
        that are numbers stand in parentheses there.
        """
        named = T.substitute(term, {x: T.var(name, "fin", *x.children)
                                    for x, name in self.letters.items()})  # fmt: skip
        text, level = latex.term_in(named, self.taken)
        forms = {v.data[0]: f for v, f in inside.items()}
        out, end = "", 0
        for found in _PLACE.finditer(text):
            out += text[end : found.start()]
            end = found.end()
            bracketed = out.endswith("[") and text.startswith("]", end)
            form = forms[found[1]]
            shown, own = self._form(form)
            number = beside is not None and found[1] != beside.data[0] and form.op == "product"
            if bracketed:  # as in an expectation: brackets as tall as what they hold
                out, end = out[:-1] + latex.fenced(shown, "[]"), end + 1
            else:
                out += latex.fenced(shown) if number or _binds(out, text[end:], own) else shown
        alone = _PLACE.fullmatch(text)
        own = _PRODUCT if level >= latex.PRODUCT else _SUM
        own = self._form(forms[alone[1]])[1] if alone else own
        return out + text[end:], own

    def _tensor(self, a: Form) -> str:
        t: Term = T.substitute(a.data, {x: T.var(name, "fin", *x.children)
                                        for x, name in self.letters.items()})  # fmt: skip
        head, holes = t.data, 1 if a.cols is None else 2
        others = T.Head(head.head, head.scalars - holes, head.arities, (), head.random)
        if not head.derivatives:
            return latex.term_in(T.app(others, *t.children[: others.scalars],
                                       *t.children[head.scalars :]), self.taken)[0]  # fmt: skip
        if head.arities != (1,):
            raise NoForm("a derivative by one of several vectors, or by a matrix")
        kept = t.children[: others.scalars]
        if holes == 1:  # the gradient of a function
            text = latex.term_in(T.app(others, *kept, *t.children[head.scalars :]), self.taken)[0]
            return rf"\nabla {text}"
        self._reserved("J")
        base = latex.term_in(T.apply(head.head, *kept), self.taken)[0]
        at = T.app(T.Head("J", 0, head.arities), *t.children[head.scalars :])
        text = latex.term_in(at, self.taken)[0]
        return f"J_{{{base}}}{text.removeprefix('J')}"


def _binds(before: str, after: str, own: int) -> bool:
    """Whether what stands around a place would take only a part of what is put there."""
    if after.startswith(("^", "_")) or before.endswith("/"):
        return True
    if own >= _PRODUCT:
        return False
    enclosed = before.endswith(("{", "(", r"\left(")) and after.startswith(("}", ")", r"\right)"))
    whole = not before and not after
    return not (enclosed or whole)
