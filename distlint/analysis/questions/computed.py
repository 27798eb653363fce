"""Whether a number is computed from another one, and not only made of what depends on it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.nodes import last_name

if TYPE_CHECKING:
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Function

_COMPUTES: Final = frozenset(
    {
        "abs",
        "all",
        "any",
        "bool",
        "float",
        "int",
        "isinstance",
        "max",
        "min",
        "round",
        "sum",
        "tensor",
        "timedelta",
    }
)
"""Functions whose result is a number of the numbers that they get; `len()` and constructors give another one."""
_DEPTH: Final = 6


def is_computed_from(
    live: LiveProgram, function: Function, node: ast.expr, origin: ast.AST, depth: int = _DEPTH
) -> bool:
    """Whether an expression of a function is computed from what `origin` gives: by arithmetic, methods and variables.

    Functions of the program count by what they return, attributes of the object by what its methods assign.
    """
    if node is origin:
        return True
    if not depth:
        return False
    if any(is_computed_from(live, function, part, origin, depth) for part in _operands(node)):
        return True
    match node:
        case ast.Name() | ast.Attribute():
            path = ast.unparse(node)
            return any(
                is_computed_from(live, writer, value, origin, depth - 1)
                for writer in _writers(function, path)
                for value in assignments(writer).get(path, ())
            )
        case ast.Call():
            call = live.call_at(node)
            called = call.site.callee if call is not None else None
            if called is not None:
                return any(
                    is_computed_from(live, called, returned.value, origin, depth - 1)
                    for returned in own_nodes(called, ast.Return)
                    if returned.value is not None
                )
    return False


def _operands(node: ast.expr) -> Iterator[ast.expr]:
    """The parts that a value is computed from."""
    match node:
        case ast.BinOp(left=left, right=right):
            yield from (left, right)
        case ast.BoolOp(values=values):
            yield from values
        case ast.UnaryOp(operand=operand):
            yield operand
        case ast.Compare(left=left, comparators=comparators):
            yield from (left, *comparators)
        case ast.Attribute(value=value) | ast.Subscript(value=value) | ast.NamedExpr(value=value):
            yield value
        case ast.Call(func=func, args=args):
            if isinstance(func, ast.Attribute):
                yield func.value
            if last_name(func) in _COMPUTES:
                yield from args


def _writers(function: Function, path: str) -> list[Function]:
    """The functions in which a name of a function, or an attribute of its object, is assigned."""
    if path.startswith("self.") and function.cls is not None:
        return list(function.cls.methods.values())
    return [*function.outward()]
