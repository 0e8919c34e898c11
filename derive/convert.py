"""From SymPy to the kernel: the only place where the two meet.

Conversion keeps every operation, division included, and every bound index becomes a fresh one
before anything else is done, so that a free and a bound index of one name are never confused.
What it does not understand it refuses, naming the sub-expression.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Hashable, Mapping
from fractions import Fraction
from typing import Any, Final

import sympy as sp
from sympy.core.function import AppliedUndef

from derive import equal_factors
from derive import language as L
from derive.kernel import terms as T
from derive.kernel.normal import Normaliser, Sign, literal
from derive.kernel.terms import Term

#: Names that print as names: one like 2, x^2 or x+y would be read as what it is not.
_NAME: Final = re.compile(r"[^\W\d_][^\W_]*(_([^\W_]+|[+-]))*(\^([^\W\d_][^\W_]*|[+-]))?'*")
_WORDS: Final = frozenset(
    ["abs", "cos", "cosh", "det", "exp", "floor", "ln", "log", "max", "min", "mod", "sin", "sinh",
     "softmax", "sqrt", "tan", "tanh", "Var"]
)  # fmt: skip


class ConversionError(ValueError):
    """A SymPy expression that has no meaning here; the message names the sub-expression."""


Scope = Mapping[Any, Any]

_FUNCTIONS: Final = {
    sp.sin: "sin", sp.cos: "cos", sp.exp: "exp", sp.log: "log", sp.Abs: "abs",
    sp.floor: "floor", sp.Max: "max", sp.Min: "min", sp.Mod: "mod",
}  # fmt: skip
_DEFINED: Final[dict[type, Callable[[Term], Term]]] = {
    sp.ceiling: lambda x: T.neg(T.fn("floor", T.neg(x))),
    sp.frac: lambda x: T.sub(x, T.fn("floor", x)),
    sp.tan: lambda x: _quotient(T.fn("sin", x), T.fn("cos", x)),
    sp.sinh: lambda x: T.mul(T.num(Fraction(1, 2)), T.sub(T.fn("exp", x), T.fn("exp", T.neg(x)))),
    sp.cosh: lambda x: T.mul(T.num(Fraction(1, 2)), T.add(T.fn("exp", x), T.fn("exp", T.neg(x)))),
    sp.tanh: lambda x: _quotient(
        T.sub(T.fn("exp", x), T.fn("exp", T.neg(x))), T.add(T.fn("exp", x), T.fn("exp", T.neg(x)))
    ),
}
#: What to write in place of what has no meaning here.
_HINTS: Final[dict[type, str]] = {
    sp.Piecewise: ": write max, min or abs, or an implication for each case",
    sp.Derivative: ": state derivatives with GradientIs",
    sp.Integral: ": integrals are not part of the language",
    sp.MatrixBase: ": write the entries of tensors, and sums over indices",
    sp.MatrixExpr: ": write the entries of tensors, and sums over indices",
    sp.IndexedBase: ": write one of its entries, with an index",
    sp.Trace: ": write the sum of the diagonal entries of a tensor",
}
_RELATIONS: Final[dict[type, Callable[[Term, Term], Term]]] = {
    sp.Eq: T.eq,
    sp.Le: T.le,
    sp.Lt: T.lt,
    sp.Ge: lambda a, b: T.le(b, a),
    sp.Gt: lambda a, b: T.lt(b, a),
    sp.Ne: lambda a, b: T.negate(T.eq(a, b)),
}
#: What a symbol may be declared to be: its sort, and whether a sign comes with it.
_KINDS: Final = {
    frozenset(sp.Symbol("_", **declared).assumptions0.items()): kind
    for declared, kind in (
        ({"real": True}, ("real", None)),
        ({"positive": True}, ("real", T.lt)),
        ({"nonnegative": True}, ("real", T.le)),
        ({"integer": True}, ("int", None)),
        ({"integer": True, "nonnegative": True}, ("nat", None)),
        ({"integer": True, "positive": True}, ("dim", None)),
    )
}
#: What a tensor or a function may be declared to be: nothing, or real.
_PLAIN: Final = [
    set(sp.Symbol("_", **declared).assumptions0.items()) for declared in ({}, {"real": True})
]


class Converter:
    """Converts expressions and formulas, and remembers the symbols that it met.

    `declared` holds, for every real symbol with a sign, the hypothesis that says so.
    """

    def __init__(self) -> None:
        self.declared: dict[Term, None] = {}
        self._symbols: dict[str, Any] = {}
        self._shapes: dict[str, Any] = {}
        self._tensors: dict[Any, str] = {}
        self._is_function: dict[str, bool] = {}
        self._count = 0
        self._norm = Normaliser()
        self._positive: dict[Term, Sign] = {}
        self._of_any_sign: set[Term | str] = set()
        self._memo: dict[tuple[type, Any], Term] = {}

    # ------------------------------------------------------------------ terms

    def term(self, e: Any, scope: Scope | None = None) -> Term:
        """A real-valued expression; `scope` holds what the bound indices stand for."""
        if isinstance(e, Term):
            return e
        if scope:
            return self._term(e, scope)
        if not isinstance(e, Hashable):
            raise ConversionError(f"{_text(e)} ({type(e).__name__}) is no number{_hint(e)}")
        key = (type(e), e)  # 1 is True and 1.0 for a dictionary
        found = self._memo.get(key)
        if found is None:
            given = sp.sympify(e) if isinstance(e, int | Fraction) else e
            found = self._memo[key] = self._term(given, {})
        return found

    def _term(self, e: Any, scope: Scope) -> Term:
        if e in scope:
            return self._scoped(e, scope)
        match e:
            case sp.Rational():
                return T.num(Fraction(int(e.p), int(e.q)))
            case sp.Float():
                raise ConversionError(f"{e} is a floating point number; write a Rational")
            case sp.Idx() | sp.Symbol():
                return self._symbol(e, scope)
            case sp.Add():
                return T.add(*(self._term(a, scope) for a in _ordered(e)))
            case L.InOrder():
                return T.add(*(self._term(a, scope) for a in e.args))
            case sp.Mul():
                return T.mul(*(self._term(a, scope) for a in _ordered(e)))
            case sp.Pow():
                return self._power(e, scope)
            case sp.Indexed():
                return self._entry(e, scope)
            case sp.Sum():
                return self._binder(e, scope, T.total)
            case sp.Product():
                return self._binder(e, scope, T.product)
            case sp.KroneckerDelta():
                return self._delta(e, scope)
            case L.Expectation():
                return T.expectation(self._term(e.args[0], scope))
            case L.Determinant():
                return self._determinant(e, scope)
            case L.Applied():
                return self._applied(e, scope)
            case AppliedUndef():
                return self._function(e, scope)
            case _:
                return self._constant_or_function(e, scope)

    def _constant_or_function(self, e: Any, scope: Scope) -> Term:
        if e is sp.pi:
            return T.PI
        if e is sp.E:
            return T.fn("exp", T.ONE)
        name = _FUNCTIONS.get(type(e))
        if name is None:
            return self._by_definition(e, scope)
        return T.fn(name, *(self._term(a, scope) for a in e.args))

    def _by_definition(self, e: Any, scope: Scope) -> Term:
        """A function that is a short formula in others."""
        define = _DEFINED.get(type(e))
        if define is None:
            kind = type(e).__name__
            raise ConversionError(
                f"{_text(e)} ({kind}) is not understood as a real number{_hint(e)}"
            )
        return define(self._term(e.args[0], scope))

    def _scoped(self, e: Any, scope: Scope) -> Term:
        value = scope[e]
        if not isinstance(value, Term):
            raise ConversionError(f"{_text(e)} is a tensor, not a number")
        return value

    def _symbol(self, e: Any, scope: Scope) -> Term:
        label = e.label if isinstance(e, sp.Idx) else e
        if label in scope:
            if isinstance(e, sp.Idx) and any(
                isinstance(s, sp.Idx) and s.label == label for s in scope
            ):
                raise ConversionError(f"two indices of different ranges are called {e}")
            return self._scoped(label, scope)
        name = _name(label)
        self._tell_apart(name, function=False)
        if self._symbols.setdefault(name, e) != e:
            raise ConversionError(f"two different symbols are called {name}")
        if isinstance(e, sp.Idx):
            return self._index(e, scope)
        sort, sign = _kind(e)
        x = T.var(name, sort)
        if sign is not None:
            self.declared.setdefault(sign(T.ZERO, x))
            self._note_sign(sign(T.ZERO, x))
        return x

    def _note_sign(self, relation: Term) -> None:
        """Real powers of what is said to be positive, if it was not the base of a product before.

        Either form of a power means the same; this is about which one proofs are found for.
        """
        if relation.op == "lt" and relation.children[0] is T.ZERO:
            x = relation.children[1]
            if x.op == "var" and x not in self._of_any_sign:
                self._positive[x] = Sign.POS

    def _index(self, e: Any, scope: Scope) -> Term:
        if _lower(e) != 0:
            raise ConversionError(f"the free index {e} starts at {e.lower}, not at 0")
        return T.var(_name(e.label), "fin", self._size(e.upper + 1, scope))

    def _opened(self, i: Any, size: Any, scope: Scope) -> tuple[Term, Scope]:
        """A fresh index in place of `i`, which ranges over that many numbers from 0."""
        if not isinstance(i, sp.Idx) or _lower(i) != 0 or i.upper + 1 != size:
            raise ConversionError(f"{_text(i)} is not an index 0 <= {_text(i)} < {_text(size)}")
        x = self.fresh(self._size(size, scope))
        return x, {**scope, i: x, i.label: x}

    def _delta(self, e: Any, scope: Scope) -> Term:
        if len(e.args) != 2:
            raise ConversionError(f"{_text(e)}: a delta with a range of its own is not understood")
        return T.delta(*(self._term(a, scope) for a in e.args))

    def _function(self, e: Any, scope: Scope) -> Term:
        name = _name(e.func.__name__)
        self._tell_apart(name, function=True)
        if {("commutative", True), *e.func._kwargs.items()} not in _PLAIN:
            raise ConversionError(
                f"what is declared of {name} is not understood: make it a hypothesis"
            )
        return T.apply(name, *(self._term(a, scope) for a in e.args))

    def _tell_apart(self, name: str, *, function: bool) -> None:
        """d(d + 1) with a number d was meant as a product, and not as a value of a function d."""
        if self._is_function.setdefault(name, function) is not function:
            raise ConversionError(f"{name} is a number and a function; write times for a product")

    def _size(self, e: Any, scope: Scope) -> Term:
        return self._term(e, scope)

    def _power(self, e: Any, scope: Scope) -> Term:
        base, exponent = e.args
        if base is sp.E:
            return T.fn("exp", self._term(exponent, scope))
        b = self._term(base, scope)
        if isinstance(exponent, sp.Integer):
            return T.power(b, int(exponent))
        if isinstance(exponent, sp.Rational) and exponent.q == 2:
            root = T.fn("sqrt", b)
            return root if exponent.p == 1 else T.power(root, int(exponent.p))
        y = self._term(exponent, scope)
        return self._natural_power(b, y) or T.fn("rpow", b, y)

    def _natural_power(self, b: Term, y: Term) -> Term | None:
        """A product of y factors, or the inverse of one of -y; None where neither is to be used."""
        opposite = T.neg(y)
        counts, divides = self._is_count(y), self._is_count(opposite)
        if not (counts or divides) or self._is_positive(b):
            return None
        self._of_any_sign |= T.free_symbols(b)
        return T.product(y, b) if counts else T.inv(T.product(self._norm.term(opposite), b))

    def _is_count(self, y: Term) -> bool:
        """Whether an exponent is a natural number for sure, and none that can be written out.

        A power is then a product of so many equal factors, of any sign, while a real power is of
        use where the base is positive.
        """
        symbolic = literal(self._norm.poly(y)) is None
        return symbolic and equal_factors.is_count(self._norm, y)

    def _is_positive(self, base: Term) -> bool:
        return Normaliser(dict(self._positive)).term_has_sign(base, Sign.POS)

    def _entry(self, e: Any, scope: Scope) -> Term:
        base = e.base
        indices = tuple(self._term(i, scope) for i in e.indices)
        name = self._tensor(base)
        if base.shape is not None:
            self._check_shape(e, base.shape, indices, e.indices, scope)
        if base in scope:
            return T.app(T.Head(scope[base], len(indices)), *indices)
        return T.apply(name, *indices, random=_is_random(base))

    def _tensor(self, base: Any) -> str:
        """The name of a tensor, which is remembered with its shape."""
        known = self._tensors.get(base)
        if known is not None:
            return known
        name = _name(base.label)
        if set(base.label.assumptions0.items()) not in _PLAIN:
            raise ConversionError(
                f"what is declared of {name} is not understood: make it a hypothesis"
            )
        self._declare(name, (base.shape, _is_random(base)))
        self._tensors[base] = name
        return name

    def _declare(self, name: Any, declared: Any) -> None:
        if self._shapes.setdefault(name, declared) != declared:
            raise ConversionError(f"{name} is declared twice, with different shapes or kinds")

    def shape_of(self, name: str) -> tuple[Term | None, ...] | None:
        """The sizes of a tensor's axes, None for an infinite one; None where they are not known."""
        shape = self._shapes.get(name, (None,))[0]
        if not isinstance(shape, tuple | sp.Tuple):
            return None
        return tuple(None if size is sp.oo else self.term(size) for size in shape)

    def _check_shape(
        self, e: Any, shape: Any, indices: tuple[Term, ...], given: Any, scope: Scope
    ) -> None:
        """Every index lies in the range of its axis: the judgement of shapes.

        Sizes are compared as polynomials in their symbols.
        """
        if len(shape) != len(indices):
            raise ConversionError(f"{_text(e)}: shape {shape} has {len(shape)} axes")
        for position, (size, i, shown) in enumerate(zip(shape, indices, given, strict=True)):
            if not self._fits(i, size, scope):
                have = (
                    f" with range {self._range(i, scope)}" if i.op == "var" and i.children else ""
                )
                raise ConversionError(
                    f"{_text(e)}: axis {position} has size {size}, which the index {shown}{have} "
                    "is not known to fit"
                )

    def _range(self, i: Term, scope: Scope) -> str:
        """The range of an index, with the names that the user gave to other indices."""
        named = {
            v: T.var(str(k)) for k, v in scope.items() if isinstance(v, Term) and v.op == "var"
        }
        return T.show(T.substitute(i.children[0], named))

    def _fits(self, i: Term, size: Any, scope: Scope) -> bool:
        """Whether an index is known to lie in the range; the infinite one is the naturals."""
        if size is sp.oo:
            return self._norm.is_int(i) and self._norm.nonneg(self._norm.poly(i))
        length = self._size(size, scope)
        return self._norm.in_range(i, length) or (
            self._norm.is_int(i)
            and self._never_negative(i)
            and self._never_negative(T.sub(T.sub(length, T.ONE), i))
        )

    def _never_negative(self, t: Term) -> bool:
        return equal_factors.never_negative(self._norm, t)

    # ------------------------------------------------------------------ binders

    def fresh(self, size: Term) -> Term:
        self._count += 1
        return T.var(f"_{self._count}", "fin", size)

    def _binder(self, e: Any, scope: Scope, make: Callable[[Term, Term], Term]) -> Term:
        """SymPy lists the innermost index first."""
        body, *limits = e.args
        opened: list[Term] = []
        inner = dict(scope)
        for limit in reversed(limits):
            if len(limit) != 3:
                raise ConversionError(f"{_text(e)}: the index {limit[0]} has no bounds")
            i, low, high = limit
            if not isinstance(i, sp.Idx) and not _may_run(i, low):
                raise ConversionError(
                    f"{_text(e)}: what {i} is declared to be does not fit its range"
                )
            lower = self._term(low, inner)
            size = self._term(high - low + 1, inner)
            x = self.fresh(size)
            opened.append(x)
            value = x if lower is T.ZERO else T.add(x, lower)
            inner[i] = value
            inner[i.label if isinstance(i, sp.Idx) else i] = value
        out = self._term(body, inner)
        for x in reversed(opened):
            out = make(x.children[0], T.abstract(out, (x,)))
        return out

    def _determinant(self, e: Any, scope: Scope) -> Term:
        size, row, column, body = e.args
        x, inner = self._opened(row, size, scope)
        y, inner = self._opened(column, size, inner)
        return T.det(self._term(size, scope), T.abstract(self._term(body, inner), (x, y)))

    def _applied(self, e: Any, scope: Scope) -> Term:
        name, indices, (size, i, body), order, shape = e.args
        n = self._term(size, scope)
        x, inner = self._opened(i, size, scope)
        vector = T.abstract(self._term(body, inner), (x,))
        scalars = tuple(self._term(a, scope) for a in indices)
        self._check_shape(f"{name}({_text(body)}){list(indices)}", shape, scalars, indices, scope)
        head = T.Head(_name(name), len(scalars), (1,), (0,) * int(order))
        self._declare(head.head, (size, tuple(shape)[: head.own_scalars]))  # not printed
        return T.app(head, *scalars, n, vector)

    # ------------------------------------------------------------------ formulas

    def formula(self, p: Any, scope: Scope | None = None) -> Term:
        """A statement: a relation, a connective or a quantifier."""
        return p if isinstance(p, Term) else self._formula(p, scope or {})

    def _formula(self, p: Any, scope: Scope) -> Term:
        if p in (sp.true, sp.false, True, False):
            raise ConversionError(
                f"the statement arrived as {p}: SymPy evaluated it while it was built; "
                "build it with derive.language (equal, over, times, ...)"
            )
        relation = _RELATIONS.get(type(p))
        if relation is not None:
            made = relation(self._term(p.args[0], scope), self._term(p.args[1], scope))
            self._note_sign(made)
            return made
        match p:
            case sp.And() | L.AllOf():
                return T.conj(*(self._formula(a, scope) for a in _logical(p)))
            case sp.Or() | L.AnyOf():
                return T.disj(*(self._formula(a, scope) for a in _logical(p)))
            case sp.Not():
                return T.negate(self._formula(p.args[0], scope))
            case sp.Implies():
                return T.implies(*(self._formula(a, scope) for a in p.args))
            case L.IsInteger():
                return T.isint(self._term(p.args[0], scope))
            case L.ForAll() | L.Exists():
                return self._quantifier(p, scope)
            case L.GradientIs():
                return self._gradient(p, scope)
            case L.Differentiable():
                return T.differentiable(self._term(p.args[0], scope), 0)
            case _:
                kind = type(p).__name__
                raise ConversionError(
                    f"{_text(p)} ({kind}) is not understood as a statement: "
                    "build one with equal, at_most, less, implies, forall, ..."
                )

    def _quantifier(self, p: Any, scope: Scope) -> Term:
        x, body = p.args
        op = "forall" if isinstance(p, L.ForAll) else "exists"
        if isinstance(x, sp.IndexedBase):
            self._tensor(x)
            if _is_random(x) or x.shape is None:
                raise ConversionError(f"{_text(x)} cannot be quantified over")
            self._count += 1
            name = f"_{self._count}"
            inner = self._formula(body, {**scope, x: name})
            arity = len(x.shape)
            return T.quantified(op, "tensor", T.abstract_tensor(inner, name, arity), arity=arity)
        v, value, condition = self._bound_symbol(x, scope)
        label = x.label if isinstance(x, sp.Idx) else x
        inner = self._formula(body, {**scope, x: value, label: value})
        if condition is not None:
            inner = T.implies(condition, inner) if op == "forall" else T.conj(condition, inner)
        return T.forall(v, inner) if op == "forall" else T.exists(v, inner)

    def _bound_symbol(self, x: Any, scope: Scope) -> tuple[Term, Term, Term | None]:
        """A fresh variable of the sort of `x`, what `x` is in it, and the sign of `x`."""
        if isinstance(x, sp.Idx):
            low = _lower(x)
            i = self.fresh(self._size(x.upper - low + 1, scope))
            return i, i if low == 0 else T.add(i, self._term(low, scope)), None
        if not isinstance(x, sp.Symbol):
            raise ConversionError(f"{_text(x)} cannot be quantified over")
        sort, sign = _kind(x)
        self._count += 1
        v = T.var(f"_{self._count}", sort)
        condition = None if sign is None else sign(T.ZERO, v)
        if condition is not None:
            self._note_sign(condition)
        return v, v, condition

    def _gradient(self, p: Any, scope: Scope) -> Term:
        function, x, place, value, *elsewhere = p.args
        indices = tuple(place) if isinstance(place, sp.Tuple) else (place,)
        if not isinstance(x, sp.IndexedBase) or x.shape is None or len(x.shape) != len(indices):
            one = "one index" if len(indices) == 1 else f"{len(indices)} indices"
            raise ConversionError(f"{_text(x)} needs {one} to be differentiated by")
        if _is_random(x):
            raise ConversionError(f"{_text(x)} is random, and no variable to differentiate by")
        if len(set(indices)) != len(indices):
            raise ConversionError(f"an entry of {_text(x)} needs an index for every axis")
        name = scope.get(x, self._tensor(x))
        opened, inner = [], scope
        for i, size in zip(indices, x.shape, strict=True):
            c, inner = self._opened(i, size, inner)
            opened.append(c)
        body = T.abstract_tensor(self._term(function, scope), name, len(opened))
        partial = T.abstract(self._term(value, inner), opened)
        point = T.apply(name, *(T.bound(k) for k in reversed(range(len(opened)))))
        if elsewhere:
            point = T.abstract(self._term(elsewhere[0], inner), opened)
        return T.grad([c.children[0] for c in opened], body, point, partial)


def _hint(e: Any) -> str:
    return next((hint for kind, hint in _HINTS.items() if isinstance(e, kind)), "")


def _quotient(a: Term, b: Term) -> Term:
    return T.mul(a, T.inv(b))


def _is_random(base: Any) -> bool:
    return isinstance(base, L.RandomTensor)


def _ordered(e: Any) -> tuple[Any, ...]:
    """The arguments in a readable order; what was built unevaluated keeps its own."""
    if isinstance(e, sp.Add):
        if isinstance(e, L.WrittenSum) or len(e.args) >= 8 or sp.Add(*e.args) != e:
            return e.args
        terms = e.as_ordered_terms()
        if terms[0].could_extract_minus_sign():  # b - a reads better than -a + b
            terms.sort(key=lambda t: bool(t.could_extract_minus_sign()))
        return tuple(terms)
    return e.args


def _logical(p: Any) -> tuple[Any, ...]:
    return tuple(p.args)


def _name(label: Any) -> str:
    """The name of a symbol, without SymPy's printer where it has one."""
    name = label.name if isinstance(label, sp.Symbol) else str(label)
    if name[:1] in ("_", "%"):
        raise ConversionError(f"the name {name} begins with {name[0]!r}, as those of bound ones do")
    plain = unicodedata.normalize("NFKC", name)
    if plain != name:
        raise ConversionError(f"the name {name} would be read as {plain}: write it like that")
    if not _NAME.fullmatch(name) or name in _WORDS:
        raise ConversionError(
            f"the name {name} would be read as a formula: write letters and digits, with scripts "
            "and primes behind them as in d_k, W^Q and x'"
        )
    return name


def _kind(symbol: Any) -> tuple[str, Callable[[Term, Term], Term] | None]:
    """The sort of a symbol, and the relation of 0 to it that it is declared with."""
    kind = _KINDS.get(frozenset(symbol.assumptions0.items()))
    if kind is None and not symbol.is_real:
        raise ConversionError(f"{symbol} is not declared real: say Symbol('{symbol}', real=True)")
    if kind is None:
        raise ConversionError(
            f"what is declared of {symbol} is not understood: make it a hypothesis"
        )
    return kind


def _may_run(i: Any, low: Any) -> bool:
    """Whether a symbol with these assumptions, which SymPy has used, can run up from `low`."""
    if set(i.assumptions0.items()) in _PLAIN:
        return True
    _kind(i)
    below = (low.is_positive or not i.is_positive) and (low.is_nonnegative or not i.is_nonnegative)
    return bool(below)


def _lower(i: Any) -> Any:
    if i.lower is None:
        raise ConversionError(f"the index {i} has no range: say Idx('{i}', size)")
    return i.lower


def _text(e: Any) -> str:
    text = str(e)
    return text if len(text) < 120 else text[:117] + "..."
