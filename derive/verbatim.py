"""A user's file, run so that the formulas in it are built as they are written.

SymPy evaluates while it builds.  Here the operators and the functions that the file applies to
SymPy's expressions are called with ``evaluate=False``; all other code, SymPy's own and that of
other modules, does what it always does.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from fractions import Fraction
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
     sp.frac, sp.Max, sp.Min, sp.Mod, sp.Add, sp.Mul, sp.Pow]
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


def _times(*factors: Any) -> Any:
    return sp.Mul(*factors, evaluate=False)


def call(function: Any, *args: Any, **options: Any) -> Any:
    """A call, which leaves functions of formulas as they are written."""
    try:
        known = function in _FUNCTIONS or function in (sp.sqrt, sp.log)
    except TypeError:  # not hashable
        known = False
    if not known or options or not args or not _make_a_formula(args):
        return function(*args, **options)
    if function is sp.sqrt:
        return sp.Pow(*map(sp.sympify, args), sp.Rational(1, 2), evaluate=False)
    if function is sp.log and len(args) > 1:
        return apply("truediv", *(call(sp.log, a) for a in args))
    return function(*map(sp.sympify, args), evaluate=False)


def _make_a_formula(operands: tuple[Any, ...]) -> bool:
    """Whether these are real expressions and numbers, and not numbers alone."""
    kinds = (sp.Expr, int, Fraction)
    return all(
        isinstance(x, kinds) and not isinstance(x, sp.MatrixExpr | sp.Float | bool)
        for x in operands
    ) and not all(isinstance(x, sp.Number | int | Fraction) for x in operands)
