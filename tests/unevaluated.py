"""Functions of SymPy, left as they are written: it would simplify them before anyone looks."""

from __future__ import annotations

from typing import Any

import sympy as sp

from derive.language import both, call, equal, negation, power, times

half = sp.Rational(1, 2)


def root(e: Any) -> Any:
    return power(e, half)


def log(e: Any) -> Any:
    return call(sp.log, e)


def exp(e: Any) -> Any:
    return call(sp.exp, e)


def sin(e: Any) -> Any:
    return call(sp.sin, e)


def cos(e: Any) -> Any:
    return call(sp.cos, e)


def floor(e: Any) -> Any:
    return call(sp.floor, e)


def ceiling(e: Any) -> Any:
    return times(-1, floor(times(-1, e)))


def mod(e: Any, size: Any) -> Any:
    return call(sp.Mod, e, size)


def absolute(e: Any) -> Any:
    return call(sp.Abs, e)


def maximum(*e: Any) -> Any:
    return call(sp.Max, *e)


def minimum(*e: Any) -> Any:
    return call(sp.Min, *e)


def ramp(e: Any) -> Any:
    """ReLU as it is written: SymPy would reorder the arguments."""
    return maximum(0, e)


def nonzero(*e: Any) -> Any:
    return both(*(negation(equal(f, 0)) for f in e)) if len(e) > 1 else negation(equal(e[0], 0))
