"""Where a syntax node stands: for findings, for edits, and as text; and what stands at a line."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from distlint.analysis.program.definitions import Function, Module
from distlint.columns import segment
from distlint.edits import Span
from distlint.findings import Place, Related


def place_of(module: Module, node: ast.AST) -> Place:
    """The place of a syntax node in its file."""
    line = getattr(node, "lineno", 1)
    column = getattr(node, "col_offset", 0)
    return Place(
        module.path,
        line,
        column,
        getattr(node, "end_lineno", None) or line,
        getattr(node, "end_col_offset", None) or column,
    )


def related(module: Module, node: ast.AST, message: str, *, needed: bool = False) -> Related:
    """A place that explains a finding."""
    return Related(place_of(module, node), message, needed)


def span_of(node: ast.AST) -> Span:
    """The span of a syntax node, for edits."""
    place = place_of_any(node)
    return Span(*place)


def place_of_any(node: ast.AST) -> tuple[int, int, int, int]:
    """Line, column, end line and end column of a node; a decorated definition starts at its decorator."""
    decorators: Sequence[ast.expr] = getattr(node, "decorator_list", ())
    line = min([node.lineno, *(d.lineno for d in decorators)])  # type: ignore[attr-defined]
    column = node.col_offset  # type: ignore[attr-defined]
    return line, column, node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]


def source_of(module: Module, node: ast.AST) -> str:
    """The text of a node as written."""
    return segment(module.source.text, node)


def functions_at(module: Module, line: int) -> list[Function]:
    """The functions with a name that hold a line of a file."""
    return [
        each
        for each in module.all_functions
        if isinstance(each.node, ast.FunctionDef | ast.AsyncFunctionDef)
        and each.node.lineno <= line <= (each.node.end_lineno or each.node.lineno)
    ]


def innermost_at(module: Module, line: int) -> Function:
    """The innermost of them; the file's body where there is none."""
    return max(
        functions_at(module, line),
        key=lambda each: getattr(each.node, "lineno", 0),
        default=module.body,
    )
