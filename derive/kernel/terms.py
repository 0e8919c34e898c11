"""Terms and formulas: one immutable, interned node type with de Bruijn indices.

Every term denotes a real number for every assignment of its free symbols, every formula a truth
value.  Partial operations are total by convention (``1/0 = 0``, ``sqrt(x) = 0`` for ``x < 0``,
``log(x) = 0`` for ``x <= 0``); a claim never leans on a convention, because `obligations` asks
for a proof that each such operation in its statement is used inside its natural domain.

Bound indices carry no name, so two terms that differ only in the names of bound indices are the
same object, and ``is`` decides syntactic equality.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from hashlib import blake2b
from typing import Any, Final, NamedTuple, cast


class KernelError(Exception):
    """A rule, a constructor or the checker refuses; the message says which, on what and why."""


# op -> what its data holds; children are described in `binders`.
TERM_OPS: Final = frozenset(
    ["num", "var", "bound", "add", "mul", "pow", "fn", "delta", "app", "sum", "prod", "det", "E"]
)
FORMULA_OPS: Final = frozenset(
    ["eq", "le", "lt", "and", "or", "not", "imp", "forall", "exists", "isint", "grad", "diff"]
)
#: Function names and their number of arguments (-1: one or more).
FUNCTIONS: Final = {
    "pi": 0, "sin": 1, "cos": 1, "exp": 1, "log": 1, "sqrt": 1, "abs": 1, "floor": 1,
    "max": -1, "min": -1, "mod": 2, "rpow": 2,
}  # fmt: skip
#: Numbers of more binary digits are written in base 16.
DECIMAL_BITS: Final = 4096
#: Sorts of scalar variables: reals, integers, naturals, sizes (>= 1), indices 0..n-1.
SORTS: Final = ("real", "int", "nat", "dim", "fin")


class _Node:
    """A term in the making, which can still be written to."""

    __slots__ = ("__weakref__", "_key", "binds", "children", "data", "free", "loose", "op")

    op: str
    data: Any
    children: tuple[Term, ...]
    _key: bytes | None
    #: how many indices each child binds
    binds: tuple[int, ...]
    #: one more than the largest bound index that points outside the term; 0 if closed
    loose: int
    #: free variables (as terms, with those in their sizes) and the names of applied symbols
    free: frozenset[Term | str]


class Term(_Node):
    """An interned node: `op`, `data` (what is not a term) and `children`; see the constructors."""

    __slots__ = ()

    @property
    def key(self) -> bytes:
        """A digest of the structure: a total order that is the same in every process."""
        return self._key or _make_key(self)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("terms are immutable")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("terms are immutable")

    def __reduce__(self) -> Any:
        return (_node, (self.op, self.data, self.children))

    def __repr__(self) -> str:
        return show(self)


#: the nodes whose children may be under indices that they bind (see `binders`)
_BINDING: Final = frozenset(["sum", "prod", "det", "forall", "exists", "app", "grad"])

_TABLE: dict[tuple[str, Any, tuple[Term, ...]], Term] = {}


def _node(op: str, data: Any, children: tuple[Term, ...]) -> Term:
    found = _TABLE.get((op, data, children))
    if found is not None:
        return found
    _check_kinds(op, children)
    t = _Node()
    t.op, t.data, t.children, t._key = op, data, children, None
    loose = data + 1 if op == "bound" else 0
    if op == "app" and type(data.head) is int:
        loose = data.head + 1
    if op in _BINDING and (op != "app" or data.arities):
        binds = tuple([binders(op, data, i) for i in range(len(children))])
        for child, count in zip(children, binds, strict=True):
            if child.loose - count > loose:
                loose = child.loose - count
    else:
        binds = (0,) * len(children)
        for child in children:
            if child.loose > loose:
                loose = child.loose
    t.binds, t.loose = binds, loose
    term = cast("Term", t)
    t.free = _free(term)
    t.__class__ = Term  # from here on it cannot be written to
    _TABLE[(op, data, children)] = term
    return term


def interned(op: str, data: Any, children: tuple[Term, ...]) -> Term | None:
    """The node, if it has been made before."""
    return _TABLE.get((op, data, children))


def _make_key(t: Term) -> bytes:
    text = number_text(t.data) if _is_long(t.data) else repr(t.data)
    head = f"{t.op}|{text}|{len(t.children)}|".encode()
    key = blake2b(b"".join([head, *[c.key for c in t.children]]), digest_size=16).digest()
    object.__setattr__(t, "_key", key)
    return key


_NOTHING: Final[frozenset[Term | str]] = frozenset()


def _free(t: Term) -> frozenset[Term | str]:
    out = _NOTHING
    for c in t.children:
        if c.free is not out and c.free:
            out = out | c.free if out else c.free
    if t.op == "var":
        return out | {t}
    if t.op == "app" and isinstance(t.data.head, str) and t.data.head not in out:
        return out | {t.data.head}
    return out


def number_text(q: Fraction) -> str:
    """An exact number as text; in base 16 if long, since Python limits decimal conversions."""
    return f"{q.numerator:#x}/{q.denominator:#x}" if _is_long(q) else str(q)


def _is_long(data: object) -> bool:
    if not isinstance(data, Fraction):
        return False
    return max(abs(data.numerator), data.denominator).bit_length() > DECIMAL_BITS


@cache
def read_number(text: str) -> Fraction:
    """The number that `number_text` writes as this text."""
    if "x" not in text:
        if not set(text) <= set("-/0123456789"):  # 1e999999999 would fill the memory
            raise ValueError(f"{text!r} is not an exact number")
        return Fraction(text)
    above, below = text.split("/")
    return Fraction(int(above, 16), int(below, 16))


def _check_kinds(op: str, children: tuple[Term, ...]) -> None:
    """Formulas stand below connectives and quantifiers only, terms everywhere else."""
    below = op in ("and", "or", "not", "imp")
    last = len(children) - 1 if op in ("forall", "exists") else -1
    for i, c in enumerate(children):
        wanted = below or i == last
        if (c.op in FORMULA_OPS) is not wanted:
            kind = "formula" if wanted else "term"
            raise KernelError(f"{op}: child {c} is not a {kind}")


class Head(NamedTuple):
    """What an application applies.

    `head` is a name, or the index of a bound tensor.  `scalars` counts the scalar arguments (the
    indices), `arities` the number of indices of each vector argument.  Every entry of
    `derivatives` is a vector slot by whose component the function is differentiated; that
    component's indices stand at the end of the scalar arguments.
    """

    head: str | int
    scalars: int
    arities: tuple[int, ...] = ()
    derivatives: tuple[int, ...] = ()
    random: bool = False

    @property
    def own_scalars(self) -> int:
        return self.scalars - sum(self.arities[s] for s in self.derivatives)


def binders(op: str, data: Any, i: int) -> int:
    """How many indices child `i` of a node binds."""
    match op:
        case "sum" | "prod":
            return 1 if i == 1 else 0
        case "det":
            return 2 if i == 1 else 0
        case "forall" | "exists":
            # children: (size,) body for "fin", body otherwise
            return 1 if i == (1 if data[0] == "fin" else 0) else 0
        case "app":
            at = i - data.scalars
            for arity in data.arities:
                if at == arity:
                    return int(arity)
                at -= arity + 1
                if at < 0:
                    break
            return 0
        case "grad":
            # children: dims (r of them), function (binds a tensor), point (r), value (r)
            return (0, 1, data, data)[max(0, i - data + 1)]
        case _:
            return 0


# ---------------------------------------------------------------------------- constructors


_NUMBERS: dict[tuple[int, int], Term] = {}


def num(q: int | Fraction) -> Term:
    if type(q) is not int and type(q) is not Fraction:
        raise KernelError(f"num: {q!r} is not an exact rational")
    pair = (q.numerator, q.denominator)
    found = _NUMBERS.get(pair)  # faster than by the hash of a fraction
    if found is None:
        found = _NUMBERS[pair] = _node("num", Fraction(q), ())
    return found


ZERO: Final = num(0)
ONE: Final = num(1)


def var(name: str, sort: str = "real", size: Term | None = None, *, random: bool = False) -> Term:
    """A free scalar symbol; `size` is the range of a "fin" symbol."""
    if type(name) is not str or not name:
        raise KernelError(f"var: {name!r} is not a name")
    if sort not in SORTS or (sort == "fin") != (size is not None):
        raise KernelError(f"var {name}: sort {sort!r} with size {size}")
    if random and sort != "real":
        raise KernelError(f"var {name}: a random symbol is real")
    if size is not None and size.loose:
        raise KernelError(f"var {name}: a free index cannot range over the bound size {size}")
    return _node("var", (name, sort, random), () if size is None else (size,))


def bound(k: int) -> Term:
    if not _is_count(k):
        raise KernelError(f"bound: {k!r} is not the number of an index")
    return _node("bound", k, ())


def _is_count(k: object) -> bool:
    return type(k) is int and k >= 0


def add(*terms: Term) -> Term:
    if len(terms) == 1:
        return terms[0]
    return _node("add", None, tuple(terms)) if terms else ZERO


def mul(*terms: Term) -> Term:
    if len(terms) == 1:
        return terms[0]
    return _node("mul", None, tuple(terms)) if terms else ONE


def neg(t: Term) -> Term:
    return num(-t.data) if t.op == "num" else mul(num(-1), t)


def sub(a: Term, b: Term) -> Term:
    return add(a, neg(b))


def power(base: Term, exponent: int) -> Term:
    """An integer power; ``x^0 = 1``, and a negative power is a power of the inverse."""
    if isinstance(exponent, bool) or not isinstance(exponent, int):
        raise KernelError(f"pow: exponent {exponent!r} is not an integer")
    return _node("pow", exponent, (base,))


def inv(t: Term) -> Term:
    return power(t, -1)


def div(a: Term, b: Term) -> Term:
    return mul(a, inv(b))


def fn(name: str, *args: Term) -> Term:
    arity = FUNCTIONS.get(name)
    if arity is None or (arity >= 0 and len(args) != arity) or (arity < 0 and not args):
        raise KernelError(f"fn: {name} with {len(args)} arguments is not known")
    return _node("fn", name, tuple(args))


PI: Final = fn("pi")


def delta(a: Term, b: Term) -> Term:
    """1 if the two are equal, otherwise 0."""
    return _node("delta", None, (a, b))


def total(size: Term, body: Term) -> Term:
    """The sum of `body` over an index 0 <= i < size; `body` has bound index 0."""
    return _node("sum", None, (size, body))


def product(size: Term, body: Term) -> Term:
    return _node("prod", None, (size, body))


def det(size: Term, body: Term) -> Term:
    """Determinant of the size x size matrix `body`: bound index 1 is the row, 0 the column."""
    return _node("det", None, (size, body))


def expectation(body: Term) -> Term:
    return _node("E", None, (body,))


def app(head: Head, *children: Term) -> Term:
    known = _TABLE.get(("app", head, children))
    if known is not None:
        return known
    if not _is_head(head):
        raise KernelError(f"app {head.head}: {head} is not a head")
    if len(children) != head.scalars + sum(a + 1 for a in head.arities):
        raise KernelError(f"app {head.head}: {len(children)} arguments do not fit {head}")
    return _node("app", head, tuple(children))


def _is_head(h: Head) -> bool:
    counts = all(map(_is_count, (h.scalars, *h.arities, *h.derivatives)))
    if not counts or any(s >= len(h.arities) for s in h.derivatives) or h.own_scalars < 0:
        return False
    if isinstance(h.head, str):
        return type(h.head) is str and bool(h.head)
    return _is_count(h.head) and not h.arities and not h.random


def apply(name: str, *indices: Term, random: bool = False) -> Term:
    """An entry of a tensor, or a function of scalars."""
    return app(Head(name, len(indices), random=random), *indices)


def eq(a: Term, b: Term) -> Term:
    return _node("eq", None, (a, b))


def le(a: Term, b: Term) -> Term:
    return _node("le", None, (a, b))


def lt(a: Term, b: Term) -> Term:
    return _node("lt", None, (a, b))


def conj(*parts: Term) -> Term:
    return parts[0] if len(parts) == 1 else _node("and", None, tuple(parts))


def disj(*parts: Term) -> Term:
    return parts[0] if len(parts) == 1 else _node("or", None, tuple(parts))


TRUE: Final = conj()
FALSE: Final = disj()


def negate(p: Term) -> Term:
    return _node("not", None, (p,))


def implies(p: Term, q: Term) -> Term:
    return _node("imp", None, (p, q))


def isint(t: Term) -> Term:
    return _node("isint", None, (t,))


def quantified(op: str, sort: str, body: Term, size: Term | None = None, arity: int = 0) -> Term:
    """`op` is "forall" or "exists"; sort "tensor" quantifies over all tensors of `arity`."""
    if op not in ("forall", "exists") or sort not in (*SORTS, "tensor"):
        raise KernelError(f"quantifier {op} over {sort!r}")
    if not _is_count(arity) or (sort == "tensor") != (arity > 0):
        raise KernelError(f"quantifier {op}: {sort} with arity {arity!r}")
    if (sort == "fin") != (size is not None):
        raise KernelError(f"quantifier {op}: {sort} with size {size}")
    return _node(op, (sort, arity), (body,) if size is None else (size, body))


def forall(x: Term, body: Term) -> Term:
    """``for all x: body`` for a scalar variable `x`, which becomes the bound index."""
    return _close("forall", x, body)


def exists(x: Term, body: Term) -> Term:
    return _close("exists", x, body)


def _close(op: str, x: Term, body: Term) -> Term:
    if x.op != "var" or x.data[2]:
        raise KernelError(f"{op}: {x} is not a deterministic variable")
    size = x.children[0] if x.children else None
    return quantified(op, x.data[1], abstract(body, (x,)), size)


def sum_over(x: Term, body: Term) -> Term:
    """The sum over an index variable of sort "fin"."""
    if x.op != "var" or x.data[1] != "fin":
        raise KernelError(f"sum: {x} is not an index")
    return total(x.children[0], abstract(body, (x,)))


def grad(dims: Sequence[Term], function: Term, point: Term, value: Term) -> Term:
    """``function`` (one bound tensor) is differentiable at ``point``, with partials ``value``.

    `point` and `value` bind one index per dimension.
    """
    return _node("grad", len(dims), (*dims, function, point, value))


def differentiable(t: Term, slot: int) -> Term:
    """The applied function symbol in `t` is differentiable in vector `slot` at its arguments."""
    if t.op != "app" or not _is_count(slot) or slot >= len(t.data.arities):
        raise KernelError(f"differentiable: {t} has no vector argument {slot}")
    return _node("diff", slot, (t,))


def is_formula(t: Term) -> bool:
    return t.op in FORMULA_OPS


# ---------------------------------------------------------------------------- binding


@dataclass(frozen=True)
class Lam:
    """A tensor given by a formula: `body` under `arity` bound indices (the last is index 0)."""

    arity: int
    body: Term


Replacement = Term | Lam | str


def map_children(t: Term, f: Callable[[Term, int], Term]) -> Term:
    """Rebuild `t` with `f(child, binders)` for every child."""
    return _with_children(t, tuple(map(f, t.children, t.binds)))


def _with_children(t: Term, children: tuple[Term, ...]) -> Term:
    return t if children == t.children else _node(t.op, t.data, children)


def lift(t: Term, by: int, above: int = 0) -> Term:
    """Raise the loose indices of `t` that are at least `above`."""
    if by == 0 or t.loose <= above:
        return t
    if t.op == "bound":
        return bound(t.data + by)
    out = map_children(t, lambda c, n: lift(c, by, above + n))
    if t.op == "app" and isinstance(t.data.head, int) and t.data.head >= above:
        return app(_rehead(t.data, t.data.head + by), *out.children)
    return out


def _rehead(head: Head, new: str | int, random: bool = False) -> Head:
    return Head(new, head.scalars, head.arities, head.derivatives, random)


def instantiate(body: Term, values: Sequence[Replacement], depth: int = 0) -> Term:
    """Put `values` for the outermost bound indices of `body`; the last value is for index 0."""
    count = len(values)
    if body.loose <= depth:
        return body
    if body.op == "bound":
        k = body.data - depth
        if k >= count:
            return bound(body.data - count)
        value = values[count - 1 - k]
        if not isinstance(value, Term):
            raise KernelError("instantiate: a tensor stands where a number is needed")
        return lift(value, depth)
    children = [
        c if c.loose <= depth + n else instantiate(c, values, depth + n)
        for c, n in zip(body.children, body.binds, strict=True)
    ]
    out = _with_children(body, tuple(children))
    if body.op == "app" and isinstance(body.data.head, int) and body.data.head >= depth:
        k = body.data.head - depth
        if k >= count:
            return app(_rehead(body.data, body.data.head - count), *out.children)
        return _apply_value(values[count - 1 - k], body.data, out.children, depth)
    return out


def _apply_value(value: Replacement, head: Head, args: Sequence[Term], depth: int) -> Term:
    if isinstance(value, str):
        return app(_rehead(head, value, head.random), *args)
    if not isinstance(value, Lam) or value.arity != len(args):
        raise KernelError(f"instantiate: {value} does not take {len(args)} indices")
    return instantiate(lift(value.body, depth, value.arity), args)


def abstract(t: Term, variables: Sequence[Term], depth: int = 0) -> Term:
    """Turn free variables into bound indices; the last variable becomes index 0."""
    if t.loose <= depth and free_symbols(t).isdisjoint(variables):
        return t
    if t.op == "bound" or (t.op == "app" and isinstance(t.data.head, int)):
        if t.loose > depth and t.op == "bound" and t.data >= depth:
            return bound(t.data + len(variables))
        if t.op == "app" and t.data.head >= depth:
            t = app(_rehead(t.data, t.data.head + len(variables)), *t.children)
    if t.op == "var":
        for i, v in enumerate(reversed(variables)):
            if t is v:
                return bound(depth + i)
            if v in free_symbols(t):
                raise KernelError(f"abstract: {v} is in the range of {t}; abstract {t} first")
    return map_children(t, lambda c, n: abstract(c, variables, depth + n))


def abstract_tensor(t: Term, name: str, arity: int, depth: int = 0) -> Term:
    """Turn the free tensor `name` into the bound tensor with index 0."""
    if t.op == "bound":
        return bound(t.data + 1) if t.data >= depth else t
    out = map_children(t, lambda c, n: abstract_tensor(c, name, arity, depth + n))
    if t.op == "app":
        if isinstance(t.data.head, int):
            if t.data.head >= depth:
                return app(_rehead(t.data, t.data.head + 1), *out.children)
        elif t.data.head == name:
            if t.data != Head(name, arity):
                raise KernelError(f"abstract: {name} is used as {t.data}, not as a plain tensor")
            return app(Head(depth, arity), *out.children)
    return out


def substitute(t: Term, values: dict[Term, Term], tensors: dict[str, Lam] | None = None) -> Term:
    """Replace free scalar variables and free tensors.  Replacements must be closed."""
    for v, value in values.items():
        if value.loose:
            raise KernelError("substitute: a replacement has a loose index")
        if v.op != "var":
            raise KernelError("substitute: only variables and tensors can be replaced")
    if not tensors:
        return t if t.free.isdisjoint(values) else _substitute(t, values, {}, {}, values.keys())
    if any(f.body.loose > f.arity for f in tensors.values()):
        raise KernelError("substitute: a replacement has a loose index")
    return _substitute(t, values, tensors, {}, {*values, *tensors})


def _substitute(
    t: Term, values: dict[Term, Term], tensors: dict[str, Lam], memo: dict[Term, Term],
    symbols: Collection[Term | str],
) -> Term:  # fmt: skip
    if t.free.isdisjoint(symbols):
        return t
    found = memo.get(t) or values.get(t)
    if found is not None:
        return found
    children = [
        c if c.free.isdisjoint(symbols) else _substitute(c, values, tensors, memo, symbols)
        for c in t.children
    ]
    out = _with_children(t, tuple(children))
    if t.op == "app" and t.data.head in tensors:
        lam = tensors[t.data.head]
        if t.data != Head(t.data.head, lam.arity):
            raise KernelError(f"substitute: {t.data.head} is used as {t.data}")
        out = instantiate(lam.body, out.children)
    memo[t] = out
    return out


def free_symbols(t: Term) -> frozenset[Term | str]:
    """Free variables (as terms, with those in their sizes) and the names of applied symbols."""
    return t.free


@cache
def is_reserved(t: Term) -> bool:
    """Whether a name in `t` begins with "%": those belong to the kernel's own work on a term."""
    return any((s.data[0] if isinstance(s, Term) else s)[0] == "%" for s in free_symbols(t))


@cache
def is_random(t: Term) -> bool:
    """Whether a random symbol occurs in `t` outside an expectation."""
    if t.op == "E":
        return False
    if (t.op == "var" and t.data[2]) or (t.op == "app" and t.data.random):
        return True
    return any(is_random(c) for c in t.children)


def in_a_size(x: Term, t: Term) -> bool:
    """Whether `x` occurs in the range of a free index of `t`."""
    return any(isinstance(s, Term) and s is not x and x in free_symbols(s) for s in free_symbols(t))


def subterms(t: Term) -> Iterator[Term]:
    yield t
    for c in t.children:
        yield from subterms(c)


# ---------------------------------------------------------------------------- plain text

_SYMBOL: Final = {
    "eq": " = ", "le": " <= ", "lt": " < ", "and": " and ", "or": " or ", "imp": " -> ",
    "add": " + ", "mul": "*",
}  # fmt: skip


def show(t: Term) -> str:
    """A compact text for messages; bound indices are shown as #k."""
    match t.op:
        case "num":
            return number_text(t.data)
        case "var":
            return str(t.data[0])
        case "bound":
            return f"#{t.data}"
        case "add" | "mul" | "eq" | "le" | "lt" | "and" | "or" | "imp":
            inner = _SYMBOL[t.op].join(show(c) for c in t.children)
            return f"({inner})" if t.children else {"and": "true", "or": "false"}[t.op]
        case "pow":
            return f"{show(t.children[0])}^{t.data}"
        case "fn":
            return f"{t.data}({', '.join(show(c) for c in t.children)})" if t.children else t.data
        case "app":
            d = "".join(f"d{s}" for s in t.data.derivatives)
            head = t.data.head if isinstance(t.data.head, str) else f"#{t.data.head}"
            return f"{d}{head}[{', '.join(show(c) for c in t.children)}]"
        case _:
            note = "" if t.data is None else f"{t.data}"
            return f"{t.op}{note}({', '.join(show(c) for c in t.children)})"
