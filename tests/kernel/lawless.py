"""Normal forms in which chosen functions have no laws, as if they were unknown symbols."""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType

from derive.kernel import terms as T
from derive.kernel.normal import Normaliser, Poly, Sign, _Known, to_term
from derive.kernel.terms import KernelError, Term

#: the evaluations that are about each function
LAWS_OF = {
    "pi": {"pi-sign", "trig-pi"},
    "exp": {"exp-zero", "exp-add", "exp-log", "exp-sign", "log-exp"},
    "log": {"log-one", "log-exp", "exp-log"},
    "sqrt": {"sqrt-square", "sqrt-product", "sqrt-rational", "sqrt-sign"},
    "abs": {"abs-value", "abs-product", "abs-square", "abs-sign", "integer-value"},
    "floor": {"floor-shift", "floor-unit", "floor-integer", "floor-sign"},
    "max": {"extremum-value", "extremum-order", "extremum-sign", "integer-value"},
    "min": {"extremum-value", "extremum-order", "extremum-sign", "integer-value"},
    "sin": {"trig-pi", "trig-parity"},
    "cos": {"trig-pi", "trig-parity"},
    "mod": {"remainder"},
    "rpow": {"real-power", "integer-power"},
    "E": {"expectation-linearity"},
}


class Lawless(Normaliser):
    """The functions `heads` have no laws, and `E` is not linear if it is among them."""

    def __init__(self, heads: Iterable[str], signs=None, integers=frozenset()) -> None:
        super().__init__(dict(signs or {}), integers)
        self.heads = frozenset(heads)
        self.own: dict[Term, _Known] = {}

    def again(self) -> Lawless:
        """Another one that knows the same."""
        return Lawless(self.heads, self.signs, self.integers)

    def _common(self, t: Term) -> _Known:
        found = self.own.get(t)
        if found is None:
            work = self.again()
            work.own = self.own
            poly = work._poly(t)
            found = self.own[t] = _Known(MappingProxyType(poly), tuple(work.used))
        self.record(found.used)
        return found

    def opaque(self, name: str, *args: Poly) -> Poly:
        return self.atom(T.fn(name, *map(to_term, args)))

    def _function(self, t: Term) -> Poly:
        if t.data in self.heads:
            return self.atom(self._normal_children(t))
        return super()._function(t)

    def _exp(self, p: Poly) -> Poly:
        return self.opaque("exp", p) if "exp" in self.heads else super()._exp(p)

    def _log(self, p: Poly) -> Poly:
        return self.opaque("log", p) if "log" in self.heads else super()._log(p)

    def _abs(self, p: Poly) -> Poly:
        return self.opaque("abs", p) if "abs" in self.heads else super()._abs(p)

    def _expectation(self, body: Term) -> Poly:
        if "E" in self.heads:
            return self.atom(T.expectation(self.term(body)))
        return super()._expectation(body)

    def _law(self, t: Term, e: int, factors: dict[Term, int]) -> Poly | None:
        if t.op == "fn" and t.data in self.heads:
            return None
        return super()._law(t, e, factors)

    def _merge_exp(self, factors: dict[Term, int]) -> Poly | None:
        return None if "exp" in self.heads else super()._merge_exp(factors)

    def _sign_of_value(self, name: str, args: tuple[Term, ...]) -> Sign:
        return Sign.UNKNOWN if name in self.heads else super()._sign_of_value(name, args)

    def _int_atom(self, t: Term) -> bool:
        if t.op == "fn" and t.data in self.heads:
            return t in self.integers
        return super()._int_atom(t)


class Without(Lawless):
    """All laws but one: where that is about to be applied, there is an error."""

    def __init__(self, law: str, signs=None, integers=frozenset()) -> None:
        super().__init__((), signs, integers)
        self.law = law

    def again(self) -> Without:
        return Without(self.law, self.signs, self.integers)

    def _apply(self, law: str) -> None:
        if law == self.law:
            raise KernelError(f"{law} is not there")
        super()._apply(law)


def functions(t: Term) -> frozenset[str]:
    """The functions that occur in a term, and "E" for an expectation."""
    own = {t.data} if t.op == "fn" else {"E"} if t.op == "E" else set()
    return frozenset(own).union(*map(functions, t.children))
