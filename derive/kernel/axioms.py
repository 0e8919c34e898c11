"""The closed list of what is assumed rather than proved.

`AXIOMS` are schemas that the rule "axiom" instantiates; a side condition is the antecedent of an
implication, so that it has to be proved before the axiom is of use.  `EVALUATIONS` are the laws of
functions and constants that the normal form applies on its own, when their condition is known to
hold; a theorem names those that were applied on the way to it.  `ARITHMETIC` are the laws of
numbers, finite sums and deltas that every normal form rests on; they belong to the rules, and no
theorem names them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from derive.kernel import terms as T
from derive.kernel.terms import Term


@dataclass(frozen=True)
class Axiom:
    """`build` takes `arity` terms (matrices as bodies under two indices where it says so)."""

    name: str
    arity: int
    build: Callable[..., Term]
    formula: str
    condition: str
    citation: str


@dataclass(frozen=True)
class Law:
    """What the normal form applies by itself."""

    name: str
    formula: str
    condition: str
    citation: str


_HANDBOOK: Final = "Abramowitz and Stegun, Mathematical Functions (1964)"
_RUDIN: Final = "Rudin, Principles of Mathematical Analysis, 3rd ed. (1976)"
_AXLER: Final = "Axler, Linear Algebra Done Right, 4th ed. (2024)"


def _sin(x: Term) -> Term:
    return T.fn("sin", x)


def _cos(x: Term) -> Term:
    return T.fn("cos", x)


def _sin_add(a: Term, b: Term) -> Term:
    right = T.add(T.mul(_sin(a), _cos(b)), T.mul(_cos(a), _sin(b)))
    return T.eq(_sin(T.add(a, b)), right)


def _cos_add(a: Term, b: Term) -> Term:
    right = T.sub(T.mul(_cos(a), _cos(b)), T.mul(_sin(a), _sin(b)))
    return T.eq(_cos(T.add(a, b)), right)


def _pythagoras(a: Term) -> Term:
    return T.eq(T.add(T.power(_sin(a), 2), T.power(_cos(a), 2)), T.ONE)


def _cos_one(x: Term) -> Term:
    turns = T.mul(T.num(2), T.PI, T.bound(0))
    period = T.quantified("exists", "int", T.eq(T.lift(x, 1), turns))
    return T.implies(T.eq(_cos(x), T.ONE), period)


def _pi_irrational(m: Term, n: Term) -> Term:
    both = T.conj(T.isint(m), T.isint(n), T.eq(m, T.mul(T.PI, n)))
    return T.implies(both, T.eq(n, T.ZERO))


def _matrix_product(size: Term, a: Term, b: Term) -> Term:
    """The body of the product of two matrix bodies (bound indices: row 1, column 0)."""
    row = T.instantiate(T.lift(a, 1, 2), (T.bound(2), T.bound(0)))
    column = T.instantiate(T.lift(b, 1, 2), (T.bound(0), T.bound(1)))
    return T.total(T.lift(size, 2), T.mul(row, column))


def _det_product(size: Term, a: Term, b: Term) -> Term:
    left = T.det(size, _matrix_product(size, a, b))
    return T.eq(left, T.mul(T.det(size, a), T.det(size, b)))


def _det_transpose(size: Term, a: Term) -> Term:
    flipped = T.instantiate(T.lift(a, 2, 2), (T.bound(0), T.bound(1)))
    return T.eq(T.det(size, flipped), T.det(size, a))


def _det_identity(size: Term) -> Term:
    return T.eq(T.det(size, T.delta(T.bound(1), T.bound(0))), T.ONE)


def _when(condition: Term, conclusion: Term) -> Term:
    return T.implies(condition, conclusion)


def _log_product(a: Term, b: Term) -> Term:
    total = T.add(T.fn("log", a), T.fn("log", b))
    positive = T.conj(T.lt(T.ZERO, a), T.lt(T.ZERO, b))
    return _when(positive, T.eq(T.fn("log", T.mul(a, b)), total))


def _sin_upper(x: Term) -> Term:
    return _when(T.le(T.ZERO, x), T.le(_sin(x), x))


def _sin_lower(x: Term) -> Term:
    bound = T.sub(x, T.div(T.power(x, 3), T.num(6)))
    return _when(T.le(T.ZERO, x), T.le(bound, _sin(x)))


def _inverse(x: Term) -> Term:
    return _when(T.negate(T.eq(x, T.ZERO)), T.eq(T.mul(T.inv(x), x), T.ONE))


_LIST: Final = (
    Axiom("inverse", 1, _inverse, r"x^{-1}x=1", r"x\ne0", "field axiom"),
    Axiom(
        "sin-add", 2, _sin_add,
        r"\sin(a+b)=\sin a\cos b+\cos a\sin b", "", f"{_HANDBOOK}, 4.3.16",
    ),
    Axiom(
        "cos-add", 2, _cos_add,
        r"\cos(a+b)=\cos a\cos b-\sin a\sin b", "", f"{_HANDBOOK}, 4.3.17",
    ),
    Axiom("pythagoras", 1, _pythagoras, r"\sin^2a+\cos^2a=1", "", f"{_HANDBOOK}, 4.3.10"),
    Axiom(
        "cos-one", 1, _cos_one, r"\cos x=1\Rightarrow\exists k\in\mathbb Z:\ x=2\pi k",
        r"\cos x=1", f"{_RUDIN}, Theorem 8.7",
    ),
    Axiom(
        "sin-upper", 1, _sin_upper, r"\sin x\le x", r"x\ge0",
        f"{_RUDIN}, Theorem 5.15 (Taylor's theorem, order 1)",
    ),
    Axiom(
        "sin-lower", 1, _sin_lower, r"x-\tfrac16x^3\le\sin x", r"x\ge0",
        f"{_RUDIN}, Theorem 5.15 (Taylor's theorem, order 3)",
    ),
    Axiom(
        "pi-irrational", 2, _pi_irrational, r"m=\pi n\Rightarrow n=0", r"m,n\in\mathbb Z",
        "Niven, A simple proof that pi is irrational, Bull. AMS 53 (1947), 509",
    ),
    Axiom("det-product", 3, _det_product, r"\det(AB)=\det A\det B", "", f"{_AXLER}, section 9C"),
    Axiom("det-transpose", 2, _det_transpose, r"\det A^\top=\det A", "", f"{_AXLER}, section 9C"),
    Axiom("det-identity", 1, _det_identity, r"\det I=1", "", f"{_AXLER}, section 9C"),
    Axiom(
        "max-right", 2, lambda a, b: _when(T.le(a, b), T.eq(T.fn("max", a, b), b)),
        r"\max(a,b)=b", r"a\le b", "definition of the maximum",
    ),
    Axiom(
        "max-left", 2, lambda a, b: _when(T.le(b, a), T.eq(T.fn("max", a, b), a)),
        r"\max(a,b)=a", r"b\le a", "definition of the maximum",
    ),
    Axiom(
        "min-left", 2, lambda a, b: _when(T.le(a, b), T.eq(T.fn("min", a, b), a)),
        r"\min(a,b)=a", r"a\le b", "definition of the minimum",
    ),
    Axiom(
        "min-right", 2, lambda a, b: _when(T.le(b, a), T.eq(T.fn("min", a, b), b)),
        r"\min(a,b)=b", r"b\le a", "definition of the minimum",
    ),
    Axiom(
        "abs-nonneg", 1, lambda x: _when(T.le(T.ZERO, x), T.eq(T.fn("abs", x), x)),
        r"|x|=x", r"x\ge0", "definition of the absolute value",
    ),
    Axiom(
        "abs-nonpos", 1, lambda x: _when(T.le(x, T.ZERO), T.eq(T.fn("abs", x), T.neg(x))),
        r"|x|=-x", r"x\le0", "definition of the absolute value",
    ),
    Axiom(
        "log-product", 2, _log_product,
        r"\log(ab)=\log a+\log b", r"a,b>0", f"{_HANDBOOK}, 4.1.6",
    ),
    Axiom(
        "log-tangent", 1, lambda x: _when(T.lt(T.ZERO, x), T.le(T.fn("log", x), T.sub(x, T.ONE))),
        r"\log x\le x-1", r"x>0", f"{_HANDBOOK}, 4.1.33",
    ),
    Axiom(
        "exp-increasing", 2,
        lambda a, b: _when(T.lt(a, b), T.lt(T.fn("exp", a), T.fn("exp", b))),
        r"e^a<e^b", r"a<b", f"{_RUDIN}, Theorem 8.6",
    ),
    Axiom(
        "floor-lower", 1, lambda x: T.le(T.fn("floor", x), x), r"\lfloor x\rfloor\le x", "",
        "definition of the floor",
    ),
    Axiom(
        "floor-upper", 1, lambda x: T.lt(x, T.add(T.fn("floor", x), T.ONE)),
        r"x<\lfloor x\rfloor+1", "", "definition of the floor",
    ),
)  # fmt: skip

AXIOMS: Final = {a.name: a for a in _LIST}

_ABS: Final = "definition of the absolute value"
_ROOT: Final = "definition of the square root"
_FLOOR: Final = "definition of the floor"
_EXTREMUM: Final = "definition of the maximum and the minimum"

EVALUATIONS: Final = {
    law.name: law
    for law in (
        Law("exp-zero", r"e^0=1", "", "definition of the exponential function"),
        Law(
            "exp-add", r"e^a e^b=e^{a+b},\ (e^a)^k=e^{ka}", r"k\in\mathbb Z",
            f"{_HANDBOOK}, 4.2.18 and 4.2.19",
        ),
        Law("exp-log", r"e^{\log x}=x", r"x>0", f"{_HANDBOOK}, 4.2.4"),
        Law("exp-sign", r"e^x>0", "", f"{_RUDIN}, Theorem 8.6"),
        Law("log-one", r"\log 1=0", "", "definition of the logarithm"),
        Law("log-exp", r"\log e^x=x", "", f"{_HANDBOOK}, 4.2.2"),
        Law("real-power", r"x^y=e^{y\log x}", r"x>0", f"{_HANDBOOK}, 4.2.7"),
        Law(
            "integer-power", r"x^k=x\cdots x,\ x^{-k}=(x^{-1})^k", r"k\in\{0,1,2,\dots\}",
            "definition of the power with an integer exponent",
        ),
        Law("sqrt-square", r"\sqrt x^2=x,\ \sqrt{y^2}=|y|", r"x\ge0", _ROOT),
        Law(
            "sqrt-product", r"\sqrt{ab}=\sqrt a\sqrt b", r"a\ge0", f"{_RUDIN}, Theorem 1.21"
        ),
        Law("sqrt-rational", r"\sqrt{q^2}=q", r"q\in\mathbb Q,\ q\ge0", _ROOT),
        Law(
            "sqrt-sign", r"\sqrt x\ge0,\ \sqrt y>0", r"y>0", _ROOT
        ),
        Law("abs-value", r"|x|=x,\ |y|=-y", r"x\ge0,\ y\le0", _ABS),
        Law("abs-product", r"|xy|=|x||y|,\ |x^{-1}|=|x|^{-1}", "", _ABS),
        Law("abs-square", r"|x|^2=x^2", "", _ABS),
        Law("abs-sign", r"|x|\ge0,\ |y|>0", r"y\ne0", _ABS),
        Law("extremum-value", r"\max(a,b)=b,\ \min(a,b)=a", r"a\le b", _EXTREMUM),
        Law(
            "extremum-order", r"\max(a,b)=\max(b,a),\ \min(a,b)=\min(b,a)", "", _EXTREMUM
        ),
        Law(
            "extremum-sign", r"\max(a,b)\ge a,\ \min(c,d)>0,\ \min(u,v)\ge0",
            r"c,d>0,\ u,v\ge0", _EXTREMUM,
        ),
        Law(
            "floor-shift", r"\lfloor k+x\rfloor=k+\lfloor x\rfloor,\ \lfloor k\rfloor=k",
            r"k\in\mathbb Z", _FLOOR,
        ),
        Law("floor-unit", r"\lfloor x\rfloor=0", r"0\le x<1", _FLOOR),
        Law("floor-integer", r"\lfloor x\rfloor\in\mathbb Z", "", _FLOOR),
        Law("floor-sign", r"\lfloor x\rfloor\ge0", r"x\ge0", _FLOOR),
        Law(
            "integer-value", r"|a|,\ \max(a,b),\ \min(a,b)\in\mathbb Z", r"a,b\in\mathbb Z",
            "definitions of the absolute value, the maximum and the minimum",
        ),
        Law(
            "remainder", r"a\bmod n=a-n\lfloor a/n\rfloor", r"n\ne0",
            "Knuth, The Art of Computer Programming, vol. 1, 3rd ed. (1997), section 1.2.4",
        ),
        Law(
            "trig-pi",
            r"\sin k\pi=0,\ \cos k\pi=\sin(k\pi+\tfrac\pi2)=(-1)^k,\ \cos(k\pi+\tfrac\pi2)=0",
            r"k\in\mathbb Z", f"{_RUDIN}, Theorem 8.7 and the lines before it",
        ),
        Law(
            "trig-parity", r"\sin(-x)=-\sin x,\ \cos(-x)=\cos x", "", f"{_HANDBOOK}, 4.3.13"
        ),
        Law("pi-sign", r"\pi>0", "", f"{_RUDIN}, the lines before Theorem 8.7"),
        Law(
            "expectation-linearity",
            r"\mathbb E[aX+bY]=a\,\mathbb E[X]+b\,\mathbb E[Y],\ \mathbb E[1]=1",
            "$a$ and $b$ are not random; all moments that occur are finite",
            "Billingsley, Probability and Measure, 3rd ed. (1995), section 21",
        ),
        Law(
            "derivative-table",
            r"(u+v)'=u'+v',\ (uv)'=u'v+uv',\ (u^k)'=ku^{k-1}u',\ (u\circ v)'=(u'\circ v)\,v',"
            r"\ \sin'=\cos,\ \cos'=-\sin,\ \exp'=\exp,\ \log'=1/x,\ \sqrt{x}'=1/(2\sqrt x)",
            "the inner functions are differentiable at the point; $x>0$ for logarithm and root, "
            "and $u$ is not 0 for negative $k$",
            f"{_RUDIN}, Theorems 5.3, 5.5 and 9.15",
        ),
    )
}  # fmt: skip

_FIELD: Final = "axioms of an ordered field"
_INVERSE: Final = "definition of the inverse, with 1/0 = 0"
_SUM: Final = "definition of the finite sum"
_DELTA: Final = "definition of the delta"

ARITHMETIC: Final = {
    law.name: law
    for law in (
        Law(
            "ring", r"x+y=y+x,\ xy=yx,\ x(y+z)=xy+xz,\ x^jx^k=x^{j+k}", r"j,k\in\mathbb N",
            f"{_FIELD}; numbers are added and multiplied exactly",
        ),
        Law("congruence", r"f(x)=f(y)", "x=y", "logic of equality, for every operation"),
        Law("inverse-product", r"(xy)^{-1}=x^{-1}y^{-1},\ (x^{-1})^{-1}=x", "", _INVERSE),
        Law("inverse-power", r"x^jx^{-k}=x^{j-k}", r"x\ne0\text{ or }j\ne k", _INVERSE),
        Law("sum-linear", r"\sum_i(af_i+bg_i)=a\sum_if_i+b\sum_ig_i", "", _SUM),
        Law("sum-product", r"\sum_if_i\sum_jg_j=\sum_i\sum_jf_ig_j", "", _SUM),
        Law("sum-exchange", r"\sum_i\sum_jf_{ij}=\sum_j\sum_if_{ij}", "", _SUM),
        Law("sum-constant", r"\sum_{i<n}c=nc", r"n\in\mathbb N", _SUM),
        Law(
            "sum-literal", r"\sum_{i<k}f_i=f_0+\dots+f_{k-1},\ \prod_{i<k}f_i=f_0\cdots f_{k-1}",
            r"k\in\mathbb Z,\ k\le64", "definitions of the finite sum and the finite product",
        ),
        Law(
            "delta-value", r"\delta_{aa}=1,\ \delta_{ab}=0,\ \delta_{ab}=\delta_{ba},"
            r"\ \delta_{ab}^k=\delta_{ab}", r"a\ne b,\ k\ne0", _DELTA,
        ),
        Law("delta-scale", r"\delta_{ab}=\delta_{c(a-b),0}", r"c\ne0", _DELTA),
        Law("delta-replace", r"\delta_{ab}f(b)=\delta_{ab}f(a)", "", _DELTA),
        Law(
            "delta-sum", r"\sum_{i<n}\delta_{ik}f_i=f_k", r"k\in\mathbb Z,\ 0\le k<n",
            f"{_DELTA}, {_SUM}",
        ),
        Law(
            "signs", r"x+y,\ xy,\ x^{-1},\ \sum_ix_i,\ z^2,\ \delta_{ab}\ge0,\ uv,\ u^{-1}\ne0",
            r"x,y,x_i\ge0,\ u,v\ne0", _FIELD,
        ),
        Law(
            "strict-signs", r"x+y,\ xz,\ x^{-1},\ \sum_{i<n}x_i,\ u^2>0",
            r"x,z,x_i,n>0,\ y\ge0,\ u\ne0", _FIELD,
        ),
        Law("integers", r"j+k,\ jk,\ \delta_{ab}\in\mathbb Z", r"j,k\in\mathbb Z", _FIELD),
        Law(
            "ranges", r"d\ge1,\ l\ge0,\ 0\le i\le n-1;\ d,l,i\in\mathbb Z",
            "$d$ is a size, $l$ a natural number, $i$ an index of range $n$",
            "definition of the sorts",
        ),
    )
}  # fmt: skip
