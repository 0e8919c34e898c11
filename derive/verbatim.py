"""A user's file, run so that the formulas in it are built as they are written.

SymPy evaluates while it builds.  Here the operators and the functions that the file applies to
SymPy's expressions are called with ``evaluate=False``; all other code, SymPy's own and that of
other modules, does what it always does.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from functools import partial, reduce
from typing import Any, Final

import sympy as sp

_OPERATORS: Final[dict[type[ast.operator], str]] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.Pow: "pow",
}  # fmt: skip
_APPLY: Final = "_derive_apply"
_CALL: Final = "_derive_call"
#: These look at the frame that calls them.
_OF_THE_FRAME: Final = frozenset(["super", "locals", "globals", "vars", "dir", "eval", "exec"])
_FUNCTIONS: Final = frozenset(
    [sp.exp, sp.sin, sp.cos, sp.tan, sp.sinh, sp.cosh, sp.tanh, sp.Abs, sp.floor, sp.ceiling,
     sp.frac, sp.Max, sp.Min, sp.Mod, sp.Add, sp.Mul, sp.Pow, sp.log]
)  # fmt: skip
#: What SymPy rewrites without changing its value, it says.
_REWRITING: Final = frozenset(
    ["simplify", "expand", "factor", "cancel", "together", "apart", "radsimp", "ratsimp",
     "powsimp", "powdenest", "trigsimp", "logcombine", "collect", "expand_log", "expand_mul",
     "expand_power_base", "expand_power_exp", "expand_trig", "nsimplify", "doit"]
)  # fmt: skip


def run(source: bytes, path: str, names: dict[str, Any]) -> None:
    """Run the source with `names` as its global ones."""
    tree = ast.fix_missing_locations(_Verbatim().visit(ast.parse(source, path)))
    names |= {_APPLY: apply, _CALL: call}
    exec(compile(tree, path, "exec", dont_inherit=True), names)


class _Verbatim(ast.NodeTransformer):
    """Puts `apply` and `call` in the place of operators and calls."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        name = _OPERATORS.get(type(node.op))
        return node if name is None else _applied(node, name, node.left, node.right)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return _applied(node, "neg", node.operand) if isinstance(node.op, ast.USub) else node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        name = _OPERATORS.get(type(node.op))
        if name is None or not isinstance(node.target, ast.Name):
            return node
        before = ast.copy_location(ast.Name(node.target.id, ast.Load()), node)
        value = _applied(node, name, before, node.value)
        return ast.copy_location(ast.Assign([node.target], value), node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in _OF_THE_FRAME:
            return node
        function = ast.Name(_CALL, ast.Load())
        return ast.copy_location(
            ast.Call(function, [node.func, *node.args], node.keywords), node
        )  # fmt: skip

    def visit_MatchValue(self, node: ast.MatchValue) -> ast.AST:
        return node


def _applied(node: ast.AST, name: str, *operands: ast.expr) -> ast.expr:
    arguments: list[ast.expr] = [ast.Constant(name), *operands]
    return ast.copy_location(ast.Call(ast.Name(_APPLY, ast.Load()), arguments, []), node)


def apply(name: str, *operands: Any) -> Any:
    """An operator of Python, as it is written where it makes a formula."""
    usual: Callable[..., Any] = getattr(operator, name)
    if not _make_a_formula(operands):
        return usual(*operands)
    a, *rest = map(sp.sympify, operands)
    match name:
        case "neg":
            return _times(-1, a)
        case "add":
            return sp.Add(a, *rest, evaluate=False)
        case "sub":
            b = rest[0]
            return sp.Add(a, -b if b.is_Number else _times(-1, b), evaluate=False)
        case "mul":
            return _times(a, *rest)
        case "truediv":
            inverse = sp.Pow(*rest, -1, evaluate=False)
            return inverse if a is sp.S.One else _times(a, inverse)
        case _:
            return sp.Pow(a, *rest, evaluate=False)


#: Python's operators as functions, and its sums and products.
_BY_OPERATOR: Final = {
    getattr(operator, name): partial(apply, name) for name in (*_OPERATORS.values(), "neg")
}
_FOLDS: Final[dict[Any, tuple[str, int]]] = {sum: ("add", 0), math.prod: ("mul", 1)}


def _times(*factors: Any) -> Any:
    return sp.Mul(*factors, evaluate=False)


def call(function: Any, *given: Any, **options: Any) -> Any:
    """A call, which leaves functions of formulas as they are written."""
    if not isinstance(function, Hashable):
        return function(*given, **options)
    function, *args = map(_of_formulas, (function, *given))
    if _rewrites(function, args):
        return args[0] if args else function.__self__
    if function in _FOLDS and not options:
        name, start = _FOLDS[function]
        return reduce(partial(apply, name), args[0], *(args[1:] or [start]))
    if options or not args or not _make_a_formula(args):
        return function(*args, **options)
    if function is sp.sqrt:
        return sp.Pow(*map(sp.sympify, args), sp.Rational(1, 2), evaluate=False)
    if function is sp.log and len(args) > 1:
        return apply("truediv", *(call(sp.log, a) for a in args))
    if function in _FUNCTIONS:
        return function(*map(sp.sympify, args), evaluate=False)
    return function(*args)


def _of_formulas(function: Any) -> Any:
    """The operator that leaves formulas as they are written, for one of Python's."""
    hashable = isinstance(function, Hashable) and callable(function)
    return _BY_OPERATOR.get(function, function) if hashable else function


def _rewrites(function: Any, args: Sequence[Any]) -> bool:
    """Whether SymPy only gives another form to a formula."""
    if getattr(function, "__name__", "") not in _REWRITING:
        return False
    own = isinstance(getattr(function, "__self__", None), sp.Expr)
    public = getattr(sp, function.__name__, None) is function
    return own or (public and isinstance(args[0] if args else None, sp.Expr))


def _make_a_formula(operands: Sequence[Any]) -> bool:
    """Whether these are real expressions and numbers, and not numbers alone."""
    kinds = (sp.Expr, int, Fraction)
    return all(
        isinstance(x, kinds) and not isinstance(x, sp.MatrixExpr | sp.Float | bool)
        for x in operands
    ) and not all(isinstance(x, sp.Number | int | Fraction) for x in operands)
