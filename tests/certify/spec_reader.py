"""A second reader of ``Spec.v``: it makes kernel formulas of the text, for comparison.

Written apart from the printer, from Coq's grammar: precedences, applications, binders.
"""

from __future__ import annotations

import re
from typing import Any

from derive.kernel import terms as T
from derive.kernel.terms import Head, Term

_TOKEN = re.compile(
    r"\s*(forall|exists|fun|/\\|\\/|->|=>|<>|<=|[A-Za-z_][A-Za-z_0-9']*|[0-9]+|[-+*/^()=<~:,])"
)
_FUNCTIONS = {
    "sin": "sin", "cos": "cos", "exp": "exp", "ln": "log", "sqrt": "sqrt", "Rabs": "abs",
    "floor": "floor",
}  # fmt: skip
_SORTS = {"is_int": "int", "is_nat": "nat", "is_size": "dim", "is_index": "fin"}


class Reader:
    def __init__(self, text: str, names: dict[str, Any]) -> None:
        """`names` gives, for the free names, a variable or a head of the kernel."""
        self.tokens = _TOKEN.findall(text)
        assert "".join(self.tokens) == re.sub(r"\s", "", text)
        self.at = 0
        self.scope = dict(names)

    def peek(self, k: int = 0) -> str:
        return self.tokens[self.at + k] if self.at + k < len(self.tokens) else ""

    def take(self, wanted: str = "") -> str:
        token = self.peek()
        assert token
        assert wanted in ("", token), (wanted, self.tokens[self.at : self.at + 8])
        self.at += 1
        return token

    def whole(self) -> Term:
        p = self.formula()
        assert not self.peek()
        return p

    # formulas: ->, \/, /\, ~, relations

    def formula(self) -> Term:
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
        if token in ("forall", "exists"):
            return self.quantified()
        if token in ("True", "False"):
            return T.TRUE if self.take() == "True" else T.FALSE
        if token == "is_int":
            self.take()
            return T.isint(self.atom())
        if re.fullmatch("gradient[1234]", token):
            return self.gradient(int(self.take()[-1]))
        if token == "(" and self.is_formula():
            self.take("(")
            p = self.formula()
            self.take(")")
            return p
        a, sign, b = self.sum(), self.take(), self.sum()
        match sign:
            case "=":
                return T.eq(a, b)
            case "<>":
                return T.negate(T.eq(a, b))
            case "<=":
                return T.le(a, b)
        assert sign == "<"
        return T.lt(a, b)

    def is_formula(self) -> bool:
        """Whether the bracket here is closed over a relation or a connective."""
        depth, k = 0, self.at
        while True:
            token = self.tokens[k]
            depth += (token == "(") - (token == ")")
            k += 1
            if depth == 0:
                break
            if depth == 1 and token in ("=", "<>", "<=", "<", "/\\", "\\/", "->", "~", "forall",
                                        "exists", "is_int", "True", "False"):  # fmt: skip
                return True
            if depth == 1 and token.startswith("gradient"):
                return True
            if depth > 1 and k == self.at + 2 and token == "(":
                return self._inner()
        return False

    def _inner(self) -> bool:
        """A bracket directly inside a bracket: a relation may follow behind it."""
        depth, k = 0, self.at
        while True:
            token = self.tokens[k]
            depth += (token == "(") - (token == ")")
            if depth == 0:
                return False
            if depth == 1 and token in ("=", "<>", "<=", "<", "/\\", "\\/", "->"):
                return True
            k += 1

    def quantified(self) -> Term:
        word, name = self.take(), self.take()
        self.take(":")
        arity = self.type()
        self.take(",")
        if arity > 0:
            return self.over_tensors(word, name, arity)
        sort, size = "real", None
        if self.peek() in _SORTS and not (self.peek() == "is_int" and self.peek(1) != name):
            sort = _SORTS[self.take()]
            size = self.atom() if sort == "fin" else None
            self.take(name)
            self.take("->" if word == "forall" else "/\\")
        x = T.var(f"?{self.at}", sort, size) if size is None or not size.loose else None
        assert x is not None
        before = self.scope.get(name)
        self.scope[name] = x
        body = self.formula()
        self.scope[name] = before
        return (T.forall if word == "forall" else T.exists)(x, body)

    def type(self) -> int:
        arrows = 0
        self.take("R")
        while self.peek() == "->":
            self.take()
            self.take("R")
            arrows += 1
        return arrows

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
        self.take("(")
        self.take("fun")
        names = [self.take() for _ in sizes]
        self.take("=>")
        xs = [T.var(f"?{self.at}_{k}", "fin", n) for k, n in enumerate(sizes)]
        before = dict(self.scope)
        self.scope.update(zip(names, xs, strict=True))
        body = self.sum()
        self.scope = before
        self.take(")")
        return T.abstract(body, xs)

    # terms: + -, * /, - and /, ^, applications

    def sum(self) -> Term:
        out = self.product()
        while self.peek() in ("+", "-"):
            out = T.add(out, self.product()) if self.take() == "+" else T.sub(out, self.product())
        return out

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
        if token in ("Sum", "Product"):
            self.take()
            size = self.atom()
            body = self.entries([size])
            return (T.total if token == "Sum" else T.product)(size, body)
        if token == "Det":
            self.take()
            size = self.atom()
            return T.det(size, self.entries([size, size]))
        if token == "E":
            self.take()
            self.take("(")
            self.take("fun")
            self.take("outcome")
            self.take("=>")
            body = self.sum()
            self.take(")")
            return T.expectation(body)
        symbol = self.scope.get(token)
        if isinstance(symbol, Head):
            return self.applied(symbol)
        return self.atom()

    def applied(self, head: Head) -> Term:
        self.take()
        if head.random:
            self.take("outcome")
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
        symbol = self.scope[token]
        if isinstance(symbol, Head):
            self.at -= 1
            return self.applied(symbol)
        return symbol if not symbol.data[2] else self._random(symbol)

    def _random(self, x: Term) -> Term:
        self.take("outcome")
        return x


# ---------------------------------------------------------------------------- comparison


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
