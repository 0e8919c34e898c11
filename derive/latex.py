"""Kernel terms as LaTeX: what is printed is the object that was proved.

Bound indices have no name in the kernel; they get a letter by the size that they run over, apart
from the names that are in use.  A node that is not known raises; nothing is printed as a guess.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from math import prod
from typing import Final

from derive import equal_factors
from derive.kernel import terms as T
from derive.kernel.normal import Normaliser, literal
from derive.kernel.terms import Lam, Term

#: Letters for an index by the size that it runs over.
LETTERS: Final = {
    "h": "ijl", "d_model": "abce", "d_k": "ceab", "d_v": "ceab", "n": "tsur", "m": "sutr",
    "d_ff": "jlr", "L": "l", "r": "ijl",
}  # fmt: skip
DEFAULT: Final = "ijklrstuabce"
BY_SORT: Final = {
    "real": "xyzuvw", "int": "klmrs", "nat": "lkmrs", "dim": "wpqrs", "tensor": "vwuMN",
}  # fmt: skip
SETS: Final = {"real": r"\mathbb{R}", "int": r"\mathbb{Z}", "nat": r"\mathbb{N}",
               "dim": r"\mathbb{N}_{\ge 1}"}  # fmt: skip
SIGNS: Final = {"eq": "=", "le": r"\le", "lt": "<"}
_GREEK_NAMES: Final = """
    alpha beta gamma delta epsilon eta theta kappa lambda mu nu xi pi rho sigma tau phi chi psi
    omega Sigma Omega Delta Gamma Phi
"""
GREEK: Final = frozenset(_GREEK_NAMES.split())
_BY_LETTER: Final = dict(zip("αβγδεηθκλμνξπρστφχψωΣΩΔΓΦ", _GREEK_NAMES.split(), strict=True))

_MOD, _ADD, _SUM, _MUL, _POW, _ATOM = 0, 1, 2, 3, 4, 5
PRODUCT: Final = _MUL
"""The level of a product; what is below it is put in parentheses beside a factor."""
_SLASH: Final = _SUM
"""A quotient with a slash: a term of a sum, and never a factor without parentheses."""


#: The sizes of a tensor's axes by its name, None for an infinite one; None where not known.
Shapes = Callable[[str], tuple[Term | None, ...] | None]
#: Before the name of a tensor, among the names in use: its norm is that of a part of an axis.
_PART: Final = "%part "
#: Before the key of a range, among the names in use: `_P` holds probabilities over it.
_LAW: Final = "%law "
_UNDER_LAW: Final = "%under law"
#: The tensor whose sums are means over outcomes, where it holds their probabilities.
_P: Final = "P"
#: A table with more entries than that is shown as far as it was written.
_MOST_ENTRIES: Final = 256
_BOUND: Final = "a tensor of a quantifier"


def latex(t: Term, shapes: Shapes | None = None, *, drawn: frozenset[Term] = frozenset()) -> str:
    """The LaTeX of a term or formula, without dollar signs.

    With `shapes`, a root of squares of some of a vector's entries is not printed as its norm.
    `drawn` are the ranges over which ``P`` is supposed to hold probabilities (`drawn_over`).
    """
    names = frozenset(str(s.data[0]) if isinstance(s, Term) else s for s in T.free_symbols(t))
    names |= set(_subscripts(t))
    if shapes is not None:
        names |= {_PART + name for name in _in_part(t, shapes)}
    names |= {_LAW + size.key.hex() for size in drawn | drawn_over(t)}
    return _Printer(names).formula(t) if T.is_formula(t) else _Printer(names).term(t)


def _subscripts(t: Term) -> Iterator[str]:
    """What no bound index may be called, or a number v_t would be read as an entry of v.

    The names of sizes, as d_k, are not mistaken for entries.
    """
    for s in T.free_symbols(t):
        if isinstance(s, str) or s.data[1] != "dim":
            symbol = s if isinstance(s, str) else str(s.data[0])
            yield from re.findall("_([A-Za-z])(?![^_^'])", symbol)


def _in_part(t: Term, shapes: Shapes) -> Iterator[str]:
    """The tensors of which a root of a sum of squares takes only a part of an axis.

    Those of quantifiers have no shape in the kernel: all of them, if sums run over several ranges
    of one axis.
    """
    ranges: dict[tuple[int, int], set[Term]] = {}
    for s in T.subterms(t):
        for entry, axis in _summed(s) if s.op == "sum" else ():
            if isinstance(entry.data.head, int):
                ranges.setdefault((len(entry.children), axis), set()).add(s.children[0])
        if s.op != "fn" or s.data != "sqrt" or s.children[0].op != "sum":
            continue
        size = s.children[0].children[0]
        for entry, axis in _summed(s.children[0]):
            shape = shapes(entry.data.head) if isinstance(entry.data.head, str) else None
            if shape is None or axis >= len(shape):
                continue
            whole = shape[axis]
            if whole is None or size.loose or not Normaliser().same(whole, size):
                yield entry.data.head
    if any(len(sizes) > 1 for sizes in ranges.values()):
        yield _BOUND


def _summed(total: Term) -> Iterator[tuple[Term, int]]:
    """The entries of tensors at the index of a sum, each with the axis along which it runs."""
    size, body = total.children
    x = T.var("%", "fin", size) if not size.loose else T.var("%")
    for entry in T.subterms(T.instantiate(body, (x,))):
        if entry.op == "app" and not entry.data.arities:
            yield from ((entry, axis) for axis, i in enumerate(entry.children) if i is x)


def term_in(t: Term, taken: frozenset[str]) -> tuple[str, int]:
    """The LaTeX of a term where these names are in use, and how tightly it holds together."""
    return _Printer(taken)._term(t)


def formula_in(p: Term, taken: frozenset[str]) -> str:
    """The LaTeX of a formula where these names are in use."""
    return _Printer(taken).formula(p)


def drawn_over(p: Term) -> frozenset[Term]:
    """The ranges over which ``P`` holds probabilities, as the premises of a formula say.

    These are not negative, and their sum is 1.
    """
    stated = [c for q in _premises(p) if _P in q.free for c in _conjuncts(q)]
    entry = T.apply(_P, T.bound(0))
    sizes = {
        whole.children[0]
        for c in stated
        if c.op == "eq"
        for whole, one in (c.children, c.children[::-1])
        if one is T.ONE and whole.op == "sum" and whole.children[1] is entry
    }
    return frozenset(
        c.children[0] for c in stated
        if c.op == "forall" and c.data[0] == "fin" and c.children[0] in sizes
        and c.children[1].op in ("le", "lt") and c.children[1].children == (T.ZERO, entry)
    )  # fmt: skip


def _conjuncts(p: Term) -> Iterator[Term]:
    if p.op == "and":
        for part in p.children:
            yield from _conjuncts(part)
    else:
        yield p


def _premises(p: Term) -> Iterator[Term]:
    """What the formula supposes before it says something."""
    while p.op in ("imp", "forall"):
        if p.op == "imp":
            yield p.children[0]
        p = p.children[-1]


def has_weighted_mean(t: Term) -> bool:
    """Whether a sum in `t` is printed as a mean over outcomes, where it is known that they are."""
    if _P not in t.free:
        return False
    return any(s.op == "sum" and _weighted(s) is not None for s in T.subterms(t))


def letter_for(size: Term | None, taken: frozenset[str], sort: str = "fin") -> str:
    """A name for an index that runs over `size`, or for a number of this sort."""
    return _Printer(taken).letter(size, sort)


def last_index(size: Term, taken: frozenset[str]) -> str:
    """The LaTeX of the last index of a range."""
    return _Printer(taken)._before(size)


def ranges(t: Term) -> str:
    """What the free scalars of `t` range over: sizes first, then other numbers, then indices."""
    free = [s for s in T.free_symbols(t) if isinstance(s, Term) and not s.data[2]]
    parts = []
    for sort in ("dim", "nat", "int", "real"):
        names = sorted({name(s.data[0]) for s in free if s.data[1] == sort}, key=_alphabetical)
        if names:
            parts.append(rf"{', '.join(names)} \in {SETS[sort]}")
    indices = {f"{name(s.data[0])} < {latex(s.children[0])}" for s in free if s.data[1] == "fin"}
    return r";\ ".join([*parts, *sorted(indices, key=_alphabetical)])


def _alphabetical(text: str) -> tuple[str, str]:
    return text.lstrip("\\").lower(), text


def name(symbol: str) -> str:
    """``d_model`` as ``d_{\\text{model}}``, ``W^Q`` as ``W^{Q}``."""
    symbol = symbol.lstrip("_")
    match = re.fullmatch(r"([^_^']+)(?:_([^_^']+))?(?:\^([^_^']+))?('*)", symbol)
    if match is None:
        return r"\mathtt{" + symbol.replace("_", r"\_").replace("^", r"\hat{}") + "}"
    base, below, above, primes = match.groups()
    out = _word(base) + ("" if above else primes)
    if below:
        out += "_{" + _script(below) + "}"
    if above:
        out += "^{" + r"\prime" * len(primes) + (" " if primes else "") + _script(above) + "}"
    return out


def _word(base: str) -> str:
    base = _BY_LETTER.get(base, base)
    if base in GREEK:
        return r"\varphi" if base == "phi" else "\\" + base
    if base == "loss":
        return r"\mathcal{L}"
    letters = re.fullmatch(r"([A-Za-z])(\d*)", base)
    if letters:
        return letters[1] + (f"_{{{letters[2]}}}" if letters[2] else "")
    return r"\mathrm{" + base + "}"


def _script(s: str) -> str:
    s = _BY_LETTER.get(s, s)
    if s in GREEK:
        return "\\" + s
    short = {"ff": "ff"}
    return s if len(s) == 1 or s.isdigit() or s in short else r"\text{" + s + "}"


class _Printer:
    """`script` is set inside sub- and superscripts, where fractions would be too small to read."""

    def __init__(self, taken: frozenset[str], depth: int = 0, *, script: bool = False) -> None:
        self.taken = taken
        self.depth = depth
        self.script = script

    def scripted(self, t: Term) -> str:
        """A term in a sub- or superscript, with its quotients written with a slash."""
        return _Printer(self.taken, self.depth, script=True).term(t)

    # ------------------------------------------------------------------ names

    def letter(self, size: Term | None, sort: str) -> str:
        if size is not None:
            main = size.children[0] if size.op == "add" and len(size.children) == 2 else size
            key = str(main.data[0]) if main.op == "var" else T.show(size)
            letters = LETTERS.get(key, "") + DEFAULT
        else:
            letters = BY_SORT[sort] + DEFAULT
        for c in letters:
            if c not in self.taken:
                return c
        k = 1
        while f"i_{k}" in self.taken:
            k += 1
        return f"i_{k}"

    def open(self, body: Term, sizes: Sequence[Term | None], sort: str = "fin", wanted: str = ""
             ) -> tuple[Term, list[str], _Printer]:  # fmt: skip
        """Name the bound indices of `body`; returns the body, the names and a printer for it.

        `wanted` is the name of the one index, instead of the usual ones.
        """
        inner, values, names = self, [], []
        for size in sizes:
            letter = wanted or inner.letter(size, sort)
            names.append(letter)
            values.append(T.var(letter, "fin", size) if size is not None else T.var(letter, sort))
            inner = _Printer(inner.taken | {letter}, self.depth + 1, script=self.script)
        return T.instantiate(body, values), names, inner

    # ------------------------------------------------------------------ terms

    def term(self, t: Term, level: int = 0) -> str:
        text, own = self._term(t)
        return fenced(text) if own < level else text

    def _term(self, t: Term) -> tuple[str, int]:
        match t.op:
            case "num":
                return _number(t.data, slash=self.script)
            case "var":
                return name(t.data[0]), _ATOM
            case "add":
                return self._add(t), _ATOM if _covariance(t) else _ADD
            case "mul":
                return self._mul(t)
            case "pow":
                return self._pow(t)
            case "fn":
                return self._function(t)
            case "delta":
                return self._delta(t), _ATOM
            case "app":
                return self._application(t), _ATOM
            case "sum" if self._is_drawn(t) and (weighted := _weighted(t)) is not None:
                return self._under_law()._expectation(weighted), _ATOM
            case "prod" if (base := _base_of_power(t)) is not None:
                return f"{self._base(base)}^{{{self.scripted(t.children[0])}}}", _POW
            case "sum" | "prod":
                return self._big(t), _SUM
            case "det":
                body, (a, b), inner = self.open(t.children[1], (t.children[0],) * 2)
                entry = fenced(inner.term(body), "[]")
                return rf"\det{entry}_{{{a},{b}<{self.scripted(t.children[0])}}}", _ATOM
            case "E":
                return self._expectation(t.children[0]), _ATOM
            case _:
                raise ValueError(f"latex: no rule for {t}")

    def _add(self, t: Term) -> str:
        if not t.children:
            return "0"
        if (pair := _covariance(t)) is not None:
            inside = f"{self.term(pair[0])}, {self.term(pair[1])}"
            return rf"\operatorname{{Cov}}{fenced(inside, '[]')}"
        out = self.term(t.children[0], _ADD)
        for c in t.children[1:]:
            text = self.term(c, _ADD + 1 if c.op == "add" else _ADD)
            out += text if text.startswith("-") else "+" + text
        return out

    def _mul(self, t: Term) -> tuple[str, int]:
        """Long softmax weights by their name, the index that they sum to 1 over below it."""
        found = _softmax(t)
        if found is None:
            return self._plain_mul(t)
        named, scores, along = found
        inside = self.term(scores)
        if r"\sum" not in inside:
            return self._plain_mul(t)
        text = rf"\operatorname{{softmax}}_{{{name(along.data[0])}}}{fenced(inside)}"
        if named is _SOFTMAX:
            return text, _ATOM
        if any(c.op == "pow" and c.data < 0 for c in _factors(named)):  # beside the quotient
            others = self.term(_with_factors(named, [(_SOFTMAX, T.ONE)]), _MUL)
            sign = "-" if others.startswith("-") else ""
            return rf"{sign}{text}\,{others[len(sign) :]}", _SUM if sign else _MUL
        product, level = self._term(named)
        return product.replace(r"\mathrm{%softmax}", text), level

    def _plain_mul(self, t: Term) -> tuple[str, int]:
        factors = list(_unnested(t))
        numbers, above, below = [c.data for c in factors if c.op == "num"], [], []
        for c in factors:
            if c.op == "num":
                continue
            if c.op == "pow" and c.data < 0:
                base = c.children[0]
                below.append(base if c.data == -1 else T.power(base, -c.data))
            else:
                above.append(c)
        sign = "-" if sum(q < 0 for q in numbers) % 2 else ""
        numerator = [T.num(abs(q.numerator)) for q in numbers if abs(q.numerator) != 1] + above
        denominator = [T.num(q.denominator) for q in numbers if q.denominator != 1] + below
        numerator = numerator or [T.ONE]
        if not sign and not denominator and len(numerator) == 1:
            return self._term(numerator[0])
        if denominator and self.script and not _reaches(*numerator, *denominator):
            top, minus = self._juxtapose(numerator, _MUL)
            bottom, minus_below = self._juxtapose(denominator, _POW)
            sign = _minus(sign, minus, minus_below)
            return f"{sign}{top}/{bottom if len(denominator) == 1 else fenced(bottom)}", _SLASH
        if denominator:
            top, minus = self._juxtapose(numerator)
            bottom, minus_below = self._juxtapose(denominator)
            sign = _minus(sign, minus, minus_below)
            return rf"{sign}\frac{{{top}}}{{{bottom}}}", _MUL
        alone = _SLASH if self.script else _MUL
        text, minus = self._juxtapose(numerator, alone)
        return _minus(sign, minus) + text, _SUM if _reaches(*numerator) else _MUL

    def _juxtapose(self, factors: list[Term], alone: int = 0) -> tuple[str, str]:
        """Factors side by side, and "-" if the sign of the product is left out; sums and products
        last, since they reach to the right.

        `alone` is the level of a single factor: 0 where nothing stands beside it.
        """
        big = [f for f in factors if _is_big(f)]
        small = [f for f in factors if not _is_big(f)]
        level = _MUL if len(factors) > 1 else alone
        levels = [level for _ in (*small, *big[:-1])] + [min(level, _SUM) for _ in big[-1:]]
        texts, minus = [], ""
        for factor, least in zip([*small, *big], levels, strict=True):
            text, own = self._term(factor)
            text = fenced(text) if own < least else text
            if text.startswith("-") and own > _ADD:
                text, minus = text[1:], _minus(minus, "-")
            texts.append(text)
        out = texts[0]
        for text in texts[1:]:
            out += (r" \cdot " if re.match(r"[0-9]", text) else r"\,") + text
        return out, minus

    def _pow(self, t: Term) -> tuple[str, int]:
        base, e = t.children[0], t.data
        if e == 1:  # left by the derivative of a square
            return self._term(base)
        if e < 0:
            below = base if e == -1 else T.power(base, -e)
            if self.script:
                return f"1/{self.term(below, _POW)}", _SLASH
            return rf"\frac{{1}}{{{self.term(below)}}}", _MUL
        if base.op == "fn" and base.data in ("sin", "cos"):
            inside = fenced(self.term(base.children[0]))
            return rf"\{base.data}^{{{e}}}{inside}", _POW
        return f"{self._base(base)}^{{{e}}}", _POW

    def _base(self, base: Term) -> str:
        text = self.term(base, _ATOM)
        scripted = "^" in text and not text.startswith(("(", r"\left"))
        return fenced(text) if scripted or text.startswith(r"\sqrt") else text

    def _function(self, t: Term) -> tuple[str, int]:
        args = [self.term(c) for c in t.children]
        match t.data:
            case "pi":
                return r"\pi", _ATOM
            case "sqrt":
                return self._root(t.children[0]), _ATOM
            case "abs":
                return rf"\left|{args[0]}\right|", _ATOM
            case "floor":
                return rf"\left\lfloor {args[0]} \right\rfloor", _ATOM
            case "exp":
                short = len(args[0]) < 24 and r"\sum" not in args[0]
                if short:
                    return f"e^{{{self.scripted(t.children[0])}}}", _POW
                return rf"\exp{fenced(args[0])}", _POW
            case "rpow":
                return f"{self._base(t.children[0])}^{{{self.scripted(t.children[1])}}}", _POW
            case "mod":
                a, n = (self.term(c, _MUL) for c in t.children)
                return rf"{a} \bmod {n}", _MOD
            case "sin" | "cos" | "log" | "max" | "min":
                return rf"\{t.data}{fenced(', '.join(args))}", _ATOM
            case _:
                raise ValueError(f"latex: no rule for the function {t.data}")

    def _root(self, x: Term) -> str:
        """The root of a sum of squares of entries is the norm of the vector."""
        if x.op == "sum" and x.children[1].op == "pow" and x.children[1].data == 2:
            vector = self._vector(x.children[0], x.children[1].children[0])
            named = (s for s in (*x.free, _BOUND) if isinstance(s, str))
            whole = not any(_PART + s in self.taken for s in named)
            if vector is not None and whole:
                return rf"\left\lVert {vector} \right\rVert"
        return rf"\sqrt{{{self.term(x)}}}"

    def _delta(self, t: Term) -> str:
        a, b = sorted(t.children, key=lambda c: c.op == "num")
        if all(c.op in ("var", "num") for c in t.children):
            gap = "," if T.ZERO in t.children or T.ONE in t.children else r"\,"
            return rf"\delta_{{{self.scripted(a)}{gap}{self.scripted(b)}}}"
        return fenced(f"{self.term(a)}={self.term(b)}", "[]")

    def _big(self, t: Term) -> str:
        size = t.children[0]
        body, (i,), inner = self.open(t.children[1], (size,))
        sign = r"\sum" if t.op == "sum" else r"\prod"
        top = self._before(size)
        level = _SUM if t.op == "sum" else _MUL
        text = inner.term(body, level)
        text = fenced(text) if text.startswith("-") else text
        gap = r"\;" if text.startswith((r"\sum", r"\prod")) else ""  # wide limits would touch
        return rf"{sign}_{{{name(i)}=0}}^{{{top}}} {gap}{text}"

    def _before(self, size: Term) -> str:
        """The last index of a range: n - 1 for n, n for n + 1, and n - 2 for n - 1."""
        size = _collected(size)
        if size.op == "num":
            return str(size.data - 1)
        if size.op == "add" and not T.free_symbols(size.children[-1]):
            rest, last = T.add(*size.children[:-1]), T.add(size.children[-1], T.num(-1))
            shift = literal(Normaliser().poly(last))
            if shift is not None:
                return self.scripted(rest if shift == 0 else T.add(rest, T.num(shift)))
        return f"{self.scripted(size)}-1"

    def _is_drawn(self, t: Term) -> bool:
        """Whether a sum runs over all outcomes: over some of them it is no mean."""
        return _LAW + t.children[0].key.hex() in self.taken

    def _under_law(self) -> _Printer:
        """For a mean over outcomes, and for the means inside it."""
        return _Printer(self.taken | {_UNDER_LAW}, self.depth, script=self.script)

    def _expectation(self, x: Term) -> str:
        law = r"_{P}" if _UNDER_LAW in self.taken else ""
        if (y := _varying(x)) is not None:
            return rf"\operatorname{{Var}}{law}{fenced(self._apart(y), '[]')}"
        return rf"\mathbb{{E}}{law}{fenced(self._apart(x), '[]')}"

    def _apart(self, x: Term) -> str:
        """What stands in brackets, apart from them if it begins with one itself."""
        text = self.term(x)
        return rf"\,{text}\," if text.startswith("[") else text

    # ------------------------------------------------------------------ applications

    def _application(self, t: Term) -> str:
        head = t.data
        base = name(str(head.head))
        if not head.arities:
            if _is_value(t):
                return base + fenced(self.term(t.children[0]))
            return indexed(base, [self.scripted(_computed(c)) for c in t.children])
        own = head.own_scalars
        out = indexed(base, [self.scripted(c) for c in t.children[:own]])
        at = own
        for slot in head.derivatives:
            count = head.arities[slot]
            below = ",".join(self.scripted(c) for c in t.children[at : at + count])
            out = rf"\partial_{{{below}}} {out}"
            at += count
        return out + fenced(", ".join(self._vectors(t)))

    def _vectors(self, t: Term) -> list[str]:
        out, at = [], t.data.scalars
        for arity in t.data.arities:
            sizes, body = t.children[at : at + arity], t.children[at + arity]
            text = self._vector(sizes[0], body) if arity == 1 else None
            if text is None:
                opened, letters, inner = self.open(body, sizes)
                text = rf"{fenced(inner.term(opened))}_{{{','.join(map(name, letters))}}}"
            out.append(text)
            at += arity + 1
        return out

    def _vector(self, size: Term, body: Term) -> str | None:
        """A body in which every term is an entry of a vector, without its index."""
        hole = T.var("%", "fin", size)
        entry = T.instantiate(body, (hole,))
        plain = _without_index(entry, hole, row=True) or _without_index(entry, hole, row=False)
        if plain is None or (_IDENTITY in T.free_symbols(plain) and "I" in self.taken):
            return None
        return self.term(plain)

    # ------------------------------------------------------------------ formulas

    def formula(self, p: Term, level: int = 0) -> str:
        """`level` 1 asks for parentheses around implications and quantifiers."""
        match p.op:
            case "eq" | "le" | "lt":
                return self._relations([p])
            case "not":
                return self._negation(p.children[0])
            case "and" if is_equivalence(p):
                a, b = p.children[0].children
                text = rf"{self.formula(a, 1)} \ \Leftrightarrow\  {self.formula(b, 1)}"
                return fenced(text) if level else text
            case "and" if p.children:
                runs = _runs(p.children)
                parts = [self._relations(r) if r[0].op in SIGNS else self.formula(r[0], 2)
                         for r in runs]  # fmt: skip
                text = r" \ \land\  ".join(parts)
                return fenced(text) if level == 2 and len(runs) > 1 else text
            case "or" if p.children:
                text = r" \ \lor\  ".join(self.formula(c, 2) for c in p.children)
                return fenced(text) if level == 2 else text
            case "and" | "or":
                return r"\text{true}" if p.op == "and" else r"\text{false}"
            case "imp":
                a, b = p.children
                text = rf"{self.formula(a, 1)} \ \Rightarrow\  {self.formula(b, is_equivalence(b))}"
                return fenced(text) if level else text
            case "isint":
                return self._integer(p.children[0])
            case "forall" | "exists":
                text = self._quantifier(p)
                return fenced(text) if level else text
            case "grad":
                return self._gradient(p)
            case "diff":
                return self._differentiable(p)
            case _:
                raise ValueError(f"latex: no rule for {p}")

    def _relations(self, run: Sequence[Term]) -> str:
        """Relations of which each begins where the one before ends: a = b <= c."""
        out = self.term(run[0].children[0])
        for r in run:
            out += f" {SIGNS[r.op]} {self.term(r.children[1])}"
        return out

    def _negation(self, p: Term) -> str:
        if p.op == "eq":
            return rf"{self.term(p.children[0])} \ne {self.term(p.children[1])}"
        if p.op in ("le", "lt"):
            sign = r"\not\le" if p.op == "le" else r"\not<"
            return rf"{self.term(p.children[0])} {sign} {self.term(p.children[1])}"
        if p.op == "isint":
            x = p.children[0]
            pair = _quotient(x)
            if pair:
                return rf"{self.term(pair[1])} \nmid {self.term(pair[0])}"
            return rf"{self.term(x)} \notin \mathbb{{Z}}"
        return rf"\neg {fenced(self.formula(p))}"

    def _integer(self, x: Term) -> str:
        pair = _quotient(x)
        if pair:
            return rf"{self.term(pair[1])} \mid {self.term(pair[0])}"
        return rf"{self.term(x)} \in \mathbb{{Z}}"

    def _quantifier(self, p: Term) -> str:
        sort, _ = p.data
        sign = rf"\{p.op}"
        if sort == "tensor":
            letter = tensor_letter(p, self.taken)
            inner = _Printer(self.taken | {letter}, self.depth + 1)
            body = T.instantiate(p.children[-1], (letter,))
            return rf"{sign} {letter}:\ {inner.formula(body)}"
        size = p.children[0] if sort == "fin" else None
        body, (x,), inner = self.open(p.children[-1], (size,), sort, self._margin(p))
        where = f"< {self.term(size)}" if size is not None else rf"\in {SETS[sort]}"
        if sort == "real" and (rest := _above_zero(p.op, body, T.var(x))) is not None:
            where, body = "> 0", rest
        return rf"{sign} {name(x)} {where}:\ {inner.formula(body)}"

    def _margin(self, p: Term) -> str:
        """The letters of a limit: for every epsilon > 0 there is a delta > 0."""
        x = T.var("%", "real")
        if p.data[0] != "real" or _above_zero(p.op, T.instantiate(p.children[-1], (x,)), x) is None:
            return ""
        if any(t.op == "delta" for t in T.subterms(p)):
            return ""  # the Kronecker delta has this letter
        if p.op == "exists":
            return "delta" if {"epsilon", "delta"} & self.taken == {"epsilon"} else ""
        below = p.children[-1].children[1]
        limit = below.op == "exists" and below.data[0] == "real"
        return "epsilon" if limit and not {"epsilon", "delta"} & self.taken else ""

    def _gradient(self, p: Term) -> str:
        dims, (function, point, value) = p.children[: p.data], p.children[p.data :]
        entries = tuple(T.bound(k) for k in reversed(range(p.data)))
        plain = point.op == "app" and point.children == entries and isinstance(point.data.head, str)
        if plain and point.data.head not in T.free_symbols(function):
            x = str(point.data.head)
        else:  # the variable needs a name of its own
            plain = False
            x = next(c for c in BY_SORT["tensor"] + DEFAULT if c not in self.taken)
        value_open, letters, inner = self.open(value, dims)
        below = indexed(name(x), [name(c) for c in letters])
        text = _Printer(inner.taken | {x}, inner.depth).term(T.instantiate(function, (x,)))
        at = "" if plain else rf"\Big|_{{{name(x)}={self._point(point, dims)}}}"
        return rf"\frac{{\partial}}{{\partial {below}}} {fenced(text, '[]')}{at} = " + inner.term(
            value_open
        )

    def _point(self, point: Term, dims: Sequence[Term]) -> str:
        text = self._vector(dims[0], point) if len(dims) == 1 else None
        if text is None:
            body, letters, inner = self.open(point, dims)
            text = rf"{fenced(inner.term(body))}_{{{','.join(map(name, letters))}}}"
        return text

    def _differentiable(self, p: Term) -> str:
        t = p.children[0]
        own = [self.scripted(c) for c in t.children[: t.data.own_scalars]]
        base = indexed(name(str(t.data.head)), own)
        return rf"{base} \text{{ is differentiable at }} {', '.join(self._vectors(t))}"


def _computed(index: Term) -> Term:
    """The number that an index without variables is; else the index with its numbers added up."""
    if index.op == "add" and T.free_symbols(index):
        return _collected(index)
    if index.op not in ("add", "mul") or index.loose or T.free_symbols(index):
        return index
    number = literal(Normaliser().poly(index))
    return index if number is None else T.num(number)


def _collected(size: Term) -> Term:
    """A sum without parentheses, its numbers added up at the end."""
    terms = list(_summands(size))
    numbers = [t.data for t in terms if t.op == "num"]
    if len(terms) == len(size.children) and len(numbers) <= 1 and 0 not in numbers:
        return size
    others = [t for t in terms if t.op != "num"]
    return T.add(*others, T.num(sum(numbers))) if sum(numbers) else T.add(*others)


def _summands(t: Term) -> Iterator[Term]:
    if t.op != "add":
        yield t
    for c in t.children if t.op == "add" else ():
        yield from _summands(c)


def tensor_letter(p: Term, taken: frozenset[str]) -> str:
    """The name that the tensor of a quantifier gets."""
    letters = "MNPXYZUW" if p.data[1] == 2 else BY_SORT["tensor"]
    opened = T.instantiate(p.children[-1], ("?",))
    if any(_is_value(s) and s.data.head == "?" for s in T.subterms(opened)):
        letters = "gfq"
    return next(c for c in letters + DEFAULT if c not in taken)


def _minus(*signs: str) -> str:
    """The sign of a product of what has these signs."""
    return "-" if sum(sign == "-" for sign in signs) % 2 else ""


def _unnested(t: Term) -> Iterator[Term]:
    """The factors of a product; those of 1/x in it are its own, so that x stands below all, and
    those of the product that only a sign stands before.
    """
    signed = all(abs(c.data) == 1 for c in t.children if c.op == "num")
    alone = signed and sum(c.op != "num" for c in t.children) == 1
    for c in t.children:
        below = all(f.op == "num" or (f.op == "pow" and f.data < 0) for f in c.children)
        if c.op == "mul" and (alone or below):
            yield from c.children
        else:
            yield c


def _reaches(*factors: Term) -> bool:
    """Whether one of the factors is a sum or product, which reaches as far as it can."""
    return any(map(_is_big, factors))


def _is_big(t: Term) -> bool:
    """A sum, or a product of different factors: that of equal ones is a power."""
    return t.op == "sum" or (t.op == "prod" and _base_of_power(t) is None)


def _base_of_power(t: Term) -> Term | None:
    """x for a product of k equal factors x, if k is a natural number for sure.

    Else x^k would be read as 1/x^(-k) where k is negative, and the product has no meaning there.
    """
    base = equal_factors.base(t)
    counted = base is not None and equal_factors.is_count(Normaliser(), t.children[0])
    return base if counted else None


_SOFTMAX: Final = T.var("%softmax")


def _softmax(t: Term) -> tuple[Term, Term, Term] | None:
    """For a factor e^z_i over the sum of e^z_j over all j: the product that has `_SOFTMAX` in its
    place, z and i.
    """
    factors = list(_factors(t))
    for above in (c for c in factors if c.op == "fn" and c.data == "exp"):
        for below in (c for c in factors if c.op == "pow" and c.data < 0):
            if below.children[0].op != "sum":
                continue
            size, body = below.children[0].children
            for i in above.free - below.free:
                ranges = isinstance(i, Term) and i.data[1] == "fin" and i.children[0] is size
                if ranges and isinstance(i, Term) and T.instantiate(body, (i,)) is above:
                    left = T.power(below.children[0], below.data + 1) if below.data < -1 else T.ONE
                    named = _with_factors(t, [(above, _SOFTMAX), (below, left)])
                    return named, above.children[0], i
    return None


def _factors(t: Term) -> Iterator[Term]:
    """The factors of a product, also of the products in it."""
    if t.op != "mul":
        yield t
    for c in t.children if t.op == "mul" else ():
        yield from _factors(c)


def _with_factors(t: Term, changes: list[tuple[Term, Term]]) -> Term:
    """The product with each change made at one of its factors; what becomes 1 is left out."""
    if t.op == "mul":
        kept = [_with_factors(c, changes) for c in t.children]
        return T.mul(*(c for c in kept if c is not T.ONE))
    for k, (old, new) in enumerate(changes):
        if t is old:
            del changes[k]
            return new
    return t


def _covariance(t: Term) -> tuple[Term, Term] | None:
    """(x, y) for the term E[x y] - E[x] E[y]."""
    if len(t.children) != 2 or t.children[0].op != "E":
        return None
    xy = t.children[0].children[0]
    if xy.op != "mul" or len(xy.children) != 2:
        return None
    x, y = xy.children
    means = T.mul(T.num(-1), T.expectation(x), T.expectation(y))
    return (x, y) if t.children[1] is means else None


def _varying(t: Term) -> Term | None:
    """y for the term (y - E[y])^2, whichever of the two stands first."""
    inner = t.children[0] if t.op == "pow" and t.data == 2 else T.ZERO
    if inner.op == "add" and len(ends := inner.children) == 2:
        for y, mean in (ends, ends[::-1]):
            if mean is T.mul(T.num(-1), T.expectation(y)):
                return y
    return None


def _weighted(t: Term) -> Term | None:
    """The random quantity of a mean over outcomes, ``Sum over w of P[w] * x[w]``.

    `P` holds the probabilities of the outcomes; the outcome is the first index of what is random.
    The mean is returned without the index, with means inside it as expectations.
    """
    body = t.children[1]
    here = T.apply(_P, T.bound(0))
    if body.op != "mul" or body.children.count(here) != 1:
        return None
    w = T.var("%", "fin", t.children[0])
    x = T.instantiate(T.mul(*(c for c in body.children if c is not here)), (w,))
    mean = _without_outcome(x, w)
    return None if mean is None or _is_of_two_kinds(mean) else mean


def _is_of_two_kinds(t: Term) -> bool:
    """Whether a name stands for what is random and for its value at one outcome: x, and x_j."""
    kinds: dict[object, int] = {}
    entries = (s.data for s in T.subterms(t) if s.op == "app")
    return any(kinds.setdefault(h.head, h.scalars) != h.scalars for h in entries)


def _without_outcome(t: Term, w: Term) -> Term | None:
    whole = t.op == "sum" and t.children[0] is w.children[0]
    if whole and (inner := _weighted(t)) is not None:
        return T.expectation(inner)
    if t.op == "E":
        return None  # one of another law
    if t.op == "app" and not t.data.arities and t.children and t.children[0] is w:
        t = T.apply(t.data.head, *t.children[1:])
    children = [_without_outcome(c, w) for c in t.children]
    if t is w or None in children:
        return None
    rebuilt = iter(children)
    return T.map_children(t, lambda _c, _n: next(rebuilt) or T.ZERO)


def _runs(parts: Sequence[Term]) -> list[list[Term]]:
    """The parts of a conjunction, with relations that continue one another put together."""
    out: list[list[Term]] = []
    for p in parts:
        last = out[-1][-1] if out else T.TRUE
        if p.op in SIGNS and last.op in SIGNS and last.children[1] is p.children[0]:
            out[-1].append(p)
        else:
            out.append([p])
    return out


def is_equivalence(p: Term) -> bool:
    """Whether this is p -> q and q -> p."""
    if len(p.children) != 2 or any(c.op != "imp" for c in p.children):
        return False
    return p.children[0].children == p.children[1].children[::-1]


def _is_value(t: Term) -> bool:
    """Whether `t` is a function of one real number, at a number that is no index."""
    return t.op == "app" and t.data.scalars == 1 and not t.data.arities and _is_real(t.children[0])


def _is_real(t: Term) -> bool:
    """Whether `t` is made of numbers that are not integers by sort."""
    if t.op == "var":
        return bool(t.data[1] == "real")
    if t.op == "fn":
        return t.data not in ("floor", "mod") and any(map(_is_real, t.children))
    return t.op == "app" or (t.op in ("add", "mul", "pow") and any(map(_is_real, t.children)))


def _above_zero(op: str, body: Term, x: Term) -> Term | None:
    """What is said of a quantified `x` beside ``0 < x``: a premise, or the first of two parts."""
    if body.op == {"forall": "imp", "exists": "and"}[op] and len(body.children) == 2:
        condition, rest = body.children
        return rest if condition is T.lt(T.ZERO, x) else None
    return None


def _quotient(x: Term) -> tuple[Term, Term] | None:
    """(d, h) for the term d * h^-1."""
    if x.op == "mul" and len(x.children) == 2 and x.children[1].op == "pow":
        d, h = x.children
        if h.data == -1:
            return d, h.children[0]
    return None


#: How the identity matrix is printed in a product.
_IDENTITY: Final = T.var("I", "real")


def _without_index(t: Term, hole: Term, *, row: bool) -> Term | None:
    """Entries ``x[hole]`` as the vector ``x``; None where a term is not such an entry.

    With matrices the vectors are rows, or all of them are columns: ``(M v) N`` and ``M (v N)``
    would look the same.
    """
    if hole not in T.free_symbols(t):
        return None
    if t.op == "add":
        parts = [_without_index(c, hole, row=row) for c in t.children]
        return None if None in parts else T.add(*(p for p in parts if p is not None))
    if t.op == "mul":
        with_hole = [c for c in t.children if hole in T.free_symbols(c)]
        if len(with_hole) != 1:
            return None
        inner = _without_index(with_hole[0], hole, row=row)
        return (
            None
            if inner is None
            else T.mul(*(inner if c is with_hole[0] else c for c in t.children))
        )
    if t.op == "app" and t.data.own_scalars and t.data.own_scalars == t.data.scalars:
        at = t.data.scalars - 1
        kept = [c for k, c in enumerate(t.children) if k != at]
        if t.children[at] is hole and not any(hole in T.free_symbols(c) for c in kept):
            return T.app(T.Head(t.data.head, at, t.data.arities, (), t.data.random), *kept)
    if t.op == "sum":
        return _matrix_product(t, hole, row=row)
    return None


def _matrix_product(t: Term, hole: Term, *, row: bool) -> Term | None:
    """A sum ``Sum_s v_s M_(s, hole)`` as ``v M``, or ``Sum_s M_(hole, s) v_s`` as ``M v``."""
    s = T.var(f"%{hole.data[0]}", "fin", t.children[0])  # unlike the index of a sum outside
    body = T.instantiate(t.children[1], (s,))
    factors = body.children if body.op == "mul" else ()
    matrices = [f for f in factors if hole in T.free_symbols(f)]
    vectors = [f for f in factors if hole not in T.free_symbols(f)]
    if len(matrices) != 1 or len(vectors) != 1 or hole.children != s.children:
        return None
    v = _without_index(vectors[0], s, row=row)
    at, other = ((s, hole), (hole, s)) if row else ((hole, s), (s, hole))
    matrix = _matrix(matrices[0], *at)
    if v is None or matrix is None or _matrix(matrices[0], *other) is not None:
        return None
    many = v.children if v.op == "mul" else (v,)
    return T.mul(*many, matrix) if row else T.mul(matrix, *many)


def _matrix(t: Term, row: Term, column: Term) -> Term | None:
    """Entries ``M[row, column]`` as the matrix ``M``; a delta of the two is ``I``."""
    if t.op == "add":
        parts = [_matrix(c, row, column) for c in t.children]
        return None if None in parts else T.add(*(p for p in parts if p is not None))
    if t.op == "delta" and set(t.children) == {row, column}:
        return _IDENTITY
    if t.op == "app" and not t.data.arities and t.children[-2:] == (row, column):
        kept = t.children[:-2]
        if not any({row, column} & T.free_symbols(c) for c in kept):
            return T.app(T.Head(t.data.head, len(kept), (), (), t.data.random), *kept)
    return None


def indexed(base: str, indices: list[str]) -> str:
    """A symbol with indices; they join the subscript that it has."""
    if not indices:
        return base
    apart = base.startswith("\\mathrm") or any(len(i) > 1 for i in indices)
    joined = ("," if apart else r"\,").join(indices)
    match = re.fullmatch(r"(.*?)_\{((?:[^{}]|\{[^{}]*\})*)\}((?:\^\{.*\})?)", base)
    if match:
        return f"{match[1]}_{{{match[2]},{joined}}}{match[3]}"
    if "^" in base:
        stem, above = base.split("^", 1)
        return f"{stem}_{{{joined}}}^{above}"
    return f"{base}_{{{joined}}}"


def _number(q: Fraction, *, slash: bool) -> tuple[str, int]:
    sign, above = "-" if q < 0 else "", _digits(abs(q.numerator))
    if q.denominator == 1:
        return sign + above, _ATOM if q >= 0 else _ADD
    if slash:
        return f"{sign}{above}/{_digits(q.denominator)}", _SLASH if q >= 0 else _ADD
    return rf"{sign}\frac{{{above}}}{{{_digits(q.denominator)}}}", _MUL if q >= 0 else _ADD


def _digits(n: int) -> str:
    """A natural number; one of very many digits as a factorial, or by its ends and length."""
    if n.bit_length() <= T.DECIMAL_BITS:
        return str(n)
    k, factorial = 1, 1
    while factorial < n:
        k += 1
        factorial *= k
    if factorial == n:
        return f"{k}!"
    length = int(n.bit_length() * 0.30102999566398120)
    length += n >= 10**length
    ends = rf"{n // 10 ** (length - 6)}\ldots{n % 10**6:06}"
    return rf"{ends}\ \text{{({length} digits)}}"


def fenced(text: str, fence: str = "()") -> str:
    tall = any(s in text for s in (r"\frac", r"\sum", r"\prod", r"\left\lVert"))
    left, right = fence[0], fence[1]
    return rf"\left{left}{text}\right{right}" if tall else f"{left}{text}{right}"


def value(v: Term | Lam, shape: Sequence[int | None] = ()) -> str:
    """An exact value: a number as such, a tensor of small integers as nested lists.

    `shape` tells how many entries are shown along each axis, None where it is not known.
    """
    if isinstance(v, Term):
        return latex(v)
    table = _table(v, shape or (None,) * v.arity)
    if table is not None:
        return table
    names = [T.var(c, "real") for c in "abce"[: v.arity]]
    indices = ",".join(str(n.data[0]) for n in names)
    indices = indices if v.arity == 1 else fenced(indices)
    body = T.instantiate(v.body, names)
    number = literal(Normaliser().poly(body))
    return rf"{indices} \mapsto {latex(body if number is None else T.num(number))}"


def _table(v: Lam, shape: Sequence[int | None]) -> str | None:
    """Nested lists for a tensor that vanishes outside the literal places of its deltas."""
    places = {
        (t.children[0].data, int(t.children[1].data))
        for t in T.subterms(v.body)
        if t.op == "delta" and t.children[0].op == "bound" and t.children[1].op == "num"
    }
    pure = all(t.op in ("add", "mul", "num", "delta", "bound") for t in T.subterms(v.body))
    loose_outside_delta = any(
        c.op == "bound" for t in T.subterms(v.body) if t.op != "delta" for c in t.children
    )
    if not places or not pure or loose_outside_delta or v.body.op == "bound":
        return None
    norm = Normaliser()
    own = [1 + max((k for i, k in places if i == axis), default=0) for axis in range(v.arity)][::-1]
    sizes = [a if b is None else b for a, b in zip(own, shape, strict=True)]
    if prod(sizes) > _MOST_ENTRIES:
        sizes = own

    def rows(index: tuple[Term, ...]) -> str:
        if len(index) == v.arity:
            return T.show(norm.term(T.instantiate(v.body, index)))
        size = sizes[len(index)]
        return "[" + ", ".join(rows((*index, T.num(k))) for k in range(size)) + "]"

    return rows(())
