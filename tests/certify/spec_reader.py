"""A second reader of ``Spec.v``: it makes kernel formulas of the text, for comparison.

Written apart from the printer, from Coq's grammar and the notations at the top of that file:
precedences, applications, binders, definitions of premises.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from derive.kernel import terms as T
from derive.kernel.terms import Head, Lam, Term

_TOKEN = re.compile(r"\s*(/\\|\\/|->|=>|<>|<=|[A-Za-z_][A-Za-z_0-9']*|[0-9]+|[-+*/^()=<~:;,])")
_FUNCTIONS = {
    "sin": "sin", "cos": "cos", "exp": "exp", "ln": "log", "sqrt": "sqrt", "Rabs": "abs",
    "floor": "floor",
}  # fmt: skip
_MANY = {"sizes": "dim", "nats": "nat", "ints": "int"}
_SORTS = {"is_int": "int", "is_nat": "nat", "is_size": "dim"}
_BINDERS = ("forall", "exists", "each", "some", *_MANY)
_DEFINITION = re.compile(r"Definition (\S+)([^=]*?)\s+:=\n(.*?)\.\n(?=Definition|\n|\Z|\(\*)", re.S)


def definitions(source: str) -> dict[str, tuple[list[str], str]]:
    """The definitions of a file: the names of the parameters, and the text."""
    return {
        name: (re.findall(r"[^\s():]+(?=[^():]*:)", parameters), body)
        for name, parameters, body in _DEFINITION.findall(source)
    }


class Misread(Exception):
    """The text does not go on as a reading of it needs."""


class Reader:
    def __init__(
        self,
        text: str,
        names: dict[str, Any],
        known: dict[str, tuple[list[str], str]] | None = None,
        *,
        conditions: bool = False,
    ) -> None:
        """`names` gives, for the free names, a variable or a head of the kernel.

        Conditions under which a claim is well defined are left out unless they are asked for.
        """
        self.tokens = _TOKEN.findall(text)
        assert "".join(self.tokens) == re.sub(r"\s", "", text)
        self.at = 0
        self.scope = dict(names)
        self.known = known or {}
        self.conditions = conditions

    def peek(self, k: int = 0) -> str:
        return self.tokens[self.at + k] if self.at + k < len(self.tokens) else ""

    def take(self, wanted: str = "") -> str:
        token = self.peek()
        if not token or wanted not in ("", token):
            raise Misread(wanted, self.tokens[self.at : self.at + 8])
        self.at += 1
        return token

    def whole(self) -> Term:
        p = self.formula()
        assert not self.peek(), self.tokens[self.at :]
        return p

    def whole_term(self) -> Term:
        t = self.sum()
        assert not self.peek(), self.tokens[self.at :]
        return t

    def closed(self, symbols: Sequence[Term | Head]) -> Term:
        """A formula under quantifiers for these symbols, in this order, or at values."""
        while self.peek() == "let":
            self.value()
        if [self.peek(k) for k in range(3)] == ["forall", "(", "Omega"]:
            while self.take() != "expectation":
                pass
            self.take("E")
            self.take("->")
        todo = list(symbols)
        while todo:
            word = self.take()
            if word == "each":
                name, s = self.take(), todo.pop(0)
                self.take("<")
                assert isinstance(s, Term)
                assert s.data[1] == "fin"
                assert flat(self.sum()) is flat(s.children[0])
                self.scope[name] = s
                self.take(",")
                continue
            for name, kind in self.binders(word):
                s = todo.pop(0)
                assert _kind(s) == kind, (name, s, kind)
                self.scope[name] = s
            self.take(",")
        return self.formula()

    def value(self) -> None:
        """A value of a name: a number, or a tensor by its entries."""
        self.take("let")
        name = self.take()
        indices: list[str] = []
        if self.peek() == "(":
            self.take()
            while self.peek() != ":":
                indices.append(self.take())
            for sign in (":", "R", ")"):
                self.take(sign)
        for sign in (":", "="):
            self.take(sign)
        body = self.under(indices, [T.ONE] * len(indices), self.sum)
        self.take("in")
        self.scope[name] = Lam(len(indices), body) if indices else body

    def binders(self, word: str) -> list[tuple[str, Any]]:
        """Names with what they range over: in brackets with a type, or all of one kind."""
        found: list[tuple[str, Any]] = []
        while self.peek() != ",":
            if word != "forall":
                found.append((self.take(), _MANY[word]))
                continue
            self.take("(")
            names = [self.take()]
            while self.peek() != ":":
                names.append(self.take())
            kind = self.type()
            self.take(")")
            found += [(name, kind) for name in names]
        return found

    # formulas: conditions, ->, \/, /\, ~, relations

    def formula(self) -> Term:
        if self.peek() == "defined":
            self.take()
            condition = self.formula()
            self.take(";")
            rest = self.formula()
            return T.conj(condition, rest) if self.conditions else rest
        left = self.disjunction()
        if self.peek() == "->":
            self.take()
            return T.implies(left, self.formula())
        return left

    def disjunction(self) -> Term:
        left = self.conjunction()
        if self.peek() == "\\/":
            self.take()
            return T.disj(left, self.disjunction())
        return left

    def conjunction(self) -> Term:
        left = self.denial()
        if self.peek() == "/\\":
            self.take()
            return T.conj(left, self.conjunction())
        return left

    def denial(self) -> Term:
        token = self.peek()
        if token == "~":
            self.take()
            return T.negate(self.denial())
        if token in _BINDERS:
            return self.quantified()
        if token in ("True", "False"):
            return T.TRUE if self.take() == "True" else T.FALSE
        if token == "is_int":
            self.take()
            return T.isint(self.atom())
        start = self.at
        if token in self.known:
            p = self.defined()
            if T.is_formula(p):
                return p
            self.at = start
        if re.fullmatch("gradient[1234]", token):
            return self.gradient(int(self.take()[-1]))
        try:
            return self.relation()
        except Misread:
            self.at = start
        self.take("(")
        p = self.formula()
        self.take(")")
        return p

    def relation(self) -> Term:
        a, sign = self.sum(), self.take()
        if sign not in ("=", "<>", "<=", "<"):
            raise Misread(sign)
        b = self.sum()
        match sign:
            case "=":
                return T.eq(a, b)
            case "<>":
                return T.negate(T.eq(a, b))
            case "<=":
                return T.le(a, b)
        return T.lt(a, b)

    def defined(self) -> Term:
        """What a definition says, a formula or a term, of the arguments of this call."""
        parameters, body = self.known[self.take()]
        scope = {p: self.scope[self.take()] for p in parameters}
        try:
            return Reader(body, scope, self.known, conditions=self.conditions).whole()
        except Misread:
            return Reader(body, scope, self.known).whole_term()

    def quantified(self) -> Term:
        word, name = self.take(), self.take()
        if word in ("each", "some"):
            return self.over_range(word == "each", name)
        if word in _MANY:
            self.take(",")
            return self.over(True, name, T.var(f"?{self.at}", _MANY[word]))
        kind = self.type()
        self.take(",")
        if kind != "real":
            return self.over_tensors(word, name, kind[1])
        sort = "real"
        if word == "exists" and self.peek() in _SORTS and self.peek(1) == name:
            sort = _SORTS[self.take()]
            self.take(name)
            self.take("/\\")
        return self.over(word == "forall", name, T.var(f"?{self.at}", sort))

    def over_range(self, every: bool, name: str) -> Term:
        self.take("<")
        x = T.var(f"?{self.at}", "fin", self.sum())
        before = self.scope.get(name)
        self.scope[name] = x
        body = self.over_range(every, self.take()) if self.take() == ";" else self.formula()
        self.scope[name] = before
        return (T.forall if every else T.exists)(x, body)

    def over(self, every: bool, name: str, x: Term) -> Term:
        before = self.scope.get(name)
        self.scope[name] = x
        body = self.formula()
        self.scope[name] = before
        return (T.forall if every else T.exists)(x, body)

    def type(self) -> Any:
        """A sort, or the shape of a head: random, the indices, functions of a vector."""
        self.take(":")
        parts = [self.take()]
        while self.peek() == "->":
            self.take()
            parts.append(self.take())
        random = parts[0] == "Omega"
        parts = parts[random:]
        if parts == ["R"]:
            return (True, 0, ()) if random else "real"
        if len(parts) == 1:
            return (random, int(parts[0].removeprefix("R")), ())
        assert parts[-2:] == ["R1", "R"]
        assert set(parts[:-2]) == {"R"}
        return (random, len(parts) - 3, (1,))

    def over_tensors(self, word: str, name: str, arity: int) -> Term:
        fresh, before = f"?{self.at}", self.scope.get(name)
        self.scope[name] = Head(fresh, arity)
        body = self.formula()
        self.scope[name] = before
        return T.quantified(word, "tensor", T.abstract_tensor(body, fresh, arity), arity=arity)

    def gradient(self, r: int) -> Term:
        sizes = [self.atom() for _ in range(r)]
        self.take("(")
        self.take("fun")
        name = self.take()
        self.take("=>")
        fresh, before = f"?{self.at}", self.scope.get(name)
        self.scope[name] = Head(fresh, r)
        function = T.abstract_tensor(self.sum(), fresh, r)
        self.scope[name] = before
        self.take(")")
        point, value = self.entries(sizes), self.entries(sizes)
        return T.grad(sizes, function, point, value)

    def entries(self, sizes: list[Term]) -> Term:
        if self.peek() != "(":
            return self.of_tensor(self.scope[self.take()], sizes)
        self.take("(")
        self.take("fun")
        names = [self.take() for _ in sizes]
        self.take("=>")
        body = self.under(names, sizes, self.sum)
        self.take(")")
        return body

    def of_tensor(self, head: Any, sizes: list[Term]) -> Term:
        """The entries of a tensor that stands by its name alone."""
        xs = [T.var(f"?{self.at}_{k}", "fin", n) for k, n in enumerate(sizes)]
        if isinstance(head, Lam):
            return T.abstract(T.instantiate(head.body, xs), xs)
        assert head.scalars == len(xs)
        return T.abstract(T.app(head, *xs), xs)

    def under(self, names: list[str], sizes: list[Term], read: Any) -> Term:
        xs = [T.var(f"?{self.at}_{k}", "fin", n) for k, n in enumerate(sizes)]
        before = dict(self.scope)
        self.scope.update(zip(names, xs, strict=True))
        body = read()
        self.scope = before
        return T.abstract(body, xs)

    # terms: + -, sums and products over ranges, * /, - and /, ^, applications

    def sum(self) -> Term:
        out = self.range()
        while self.peek() in ("+", "-"):
            out = T.add(out, self.range()) if self.take() == "+" else T.sub(out, self.range())
        return out

    def range(self) -> Term:
        if self.peek() not in ("sum", "prod", "mean", "softmax"):
            return self.product()
        return self.ranged(self.take())

    def ranged(self, word: str) -> Term:
        name = self.take()
        self.take("<")
        size = self.sum()
        if self.peek() == ";":
            self.take()
            assert word == "sum"
            return T.total(size, self.under([name], [size], lambda: self.ranged(word)))
        self.take(",")
        if word == "softmax":
            return self.softmax(self.scope[name], size)
        body = self.under([name], [size], self.range)
        if word == "mean":
            return T.div(T.total(size, body), size)
        return (T.total if word == "sum" else T.product)(size, body)

    def softmax(self, at: Term, size: Term) -> Term:
        whole = T.fn("exp", self.range())
        i = T.var(f"?{self.at}", "fin", size)
        return T.div(whole, T.total(size, T.abstract(T.substitute(whole, {at: i}), [i])))

    def product(self) -> Term:
        out = self.unary()
        while self.peek() in ("*", "/"):
            out = T.mul(out, self.unary()) if self.take() == "*" else T.div(out, self.unary())
        return out

    def unary(self) -> Term:
        if self.peek() == "-":
            self.take()
            return T.neg(self.unary())
        if self.peek() == "/":
            self.take()
            return T.inv(self.unary())
        return self.power()

    def power(self) -> Term:
        base = self.application()
        if self.peek() == "^":
            self.take()
            return T.power(base, int(self.take()))
        return base

    def application(self) -> Term:
        token = self.peek()
        if token in _FUNCTIONS:
            self.take()
            return T.fn(_FUNCTIONS[token], self.atom())
        if token in ("Rmax", "Rmin", "power", "delta"):
            self.take()
            a, b = self.atom(), self.atom()
            if token == "delta":
                return T.delta(a, b)
            return T.fn({"Rmax": "max", "Rmin": "min", "power": "rpow"}[token], a, b)
        if token == "Det":
            self.take()
            size = self.atom()
            return T.det(size, self.entries([size, size]))
        if token == "E":
            self.take()
            self.take("(")
            self.take("fun")
            self.take("w")
            self.take("=>")
            body = self.sum()
            self.take(")")
            return T.expectation(body)
        if token in self.known:
            return self.defined()
        symbol = self.scope.get(token)
        if isinstance(symbol, Head):
            return self.applied(symbol)
        if isinstance(symbol, Lam):
            self.take()
            return T.instantiate(symbol.body, [self.atom() for _ in range(symbol.arity)])
        return self.atom()

    def applied(self, head: Head) -> Term:
        self.take()
        if head.random:
            self.take("w")
        args = [self.atom() for _ in range(head.scalars)]
        for _ in head.arities:
            size = self.atom()
            self.take("(")
            self.take("vector")
            assert self.atom() is size
            args += [size, self.entries([size])]
            self.take(")")
        return T.app(head, *args)

    def atom(self) -> Term:
        token = self.take()
        if token == "(":
            if self.peek() == "-" and self.peek(1).isdigit() and self.peek(2) == ")":
                self.take()
                value = -int(self.take())
                self.take(")")
                return T.num(value)
            out = self.sum()
            self.take(")")
            return out
        if token.isdigit():
            return T.num(int(token))
        if token == "PI":
            return T.PI
        symbol = self.scope.get(token)
        if isinstance(symbol, Head | Lam) or token in self.known:
            self.at -= 1
            return self.application()
        if symbol is None:
            raise Misread(token)
        return self._random(symbol) if symbol.op == "var" and symbol.data[2] else symbol

    def _random(self, x: Term) -> Term:
        self.take("w")
        return x


def _kind(s: Term | Head) -> Any:
    if isinstance(s, Head):
        return (s.random, s.scalars, s.arities)
    return (True, 0, ()) if s.data[2] else s.data[1]


# ---------------------------------------------------------------------------- comparison


def cases(p: Term) -> set[tuple[Term, ...]]:
    """What a formula says in its parts: premises, and what follows from them."""
    if p.op == "and":
        return {c for q in p.children for c in cases(q)}
    if p.op == "imp":
        premise, rest = p.children
        return {(premise, *c) for c in cases(rest)}
    return {(p,)}


def flat(t: Term) -> Term:
    """The formula with sums, products and conjunctions flat, quotients and literals in one form."""
    match t.op:
        case "add" | "mul" | "and" | "or":
            parts = [flat(c) for c in t.children]
            make = {"add": T.add, "mul": _product, "and": T.conj, "or": T.disj}[t.op]
            return make(*(q for p in parts for q in (p.children if p.op == t.op else [p])))
        case "pow":
            base = flat(t.children[0])
            if base.op == "pow" and base.data == -1 and t.data > 0:
                return T.power(base.children[0], -t.data)
            if base.op == "num" and t.data == -1 and base.data:
                return T.num(1 / base.data)
            return T.power(base, t.data)
        case "fn" if t.data == "mod":
            a, n = map(flat, t.children)
            return flat(T.sub(a, T.mul(n, T.fn("floor", T.div(a, n)))))
        case "fn" if t.data in ("max", "min") and len(t.children) > 2:
            out = flat(t.children[0])
            for c in t.children[1:]:
                out = T.fn(t.data, out, flat(c))
            return out
        case "var":
            return t
        case "diff":
            return flat(gradient_of(t))
        case _:
            return T.map_children(t, lambda c, _n: flat(c))


def _product(*parts: Term) -> Term:
    number = T.num(1)
    rest = []
    for p in parts:
        if p.op == "num":
            number = T.num(number.data * p.data)
        else:
            rest.append(p)
    return T.mul(*rest) if number is T.ONE and rest else T.mul(number, *rest)


def gradient_of(t: Term) -> Term:
    """Differentiability in a vector, as the gradient that the derivative symbol gives."""
    (value,) = t.children
    head, n = value.data, value.data.scalars
    size, body = value.children[n:]
    x = T.app(Head("?X", 1), T.bound(0))
    f = T.app(head, *value.children[:n], size, x)
    c = T.var("?c", "fin", size)
    slope = Head(head.head, n + 1, head.arities, (*head.derivatives, 0), head.random)
    partial = T.app(slope, *value.children[:n], c, size, body)
    return T.grad((size,), T.abstract_tensor(f, "?X", 1), body, T.abstract(partial, (c,)))
