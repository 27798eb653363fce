"""A statement that is taken out, with the import that only it needs."""

from __future__ import annotations

import ast
from itertools import pairwise

from distlint.analysis.program.definitions import Function
from distlint.analysis.program.environment import blocks, own_statements
from distlint.analysis.program.places import span_of
from distlint.edits import Delete, Edit, Replace
from distlint.nodes import walk


def taken_out(function: Function, call: ast.Call) -> tuple[Edit, ...]:
    """The edits that leave out a call which is a statement of its own; none where it is part of another.

    A handler that did nothing else goes on raising: RoboVLMs 8adc1d2 eval/calvin/eval_utils.py:75, where `pass` would give
    back half a list. So does what stopped alone where two lengths are not the same: hotr d3cb632
    hotr/models/hotr_matcher.py:122, in front of the `zip` of the two. Nor is it taken out of a loop that only it stops.
    """
    for statement, around in own_statements(function.body):
        if isinstance(statement, ast.Expr) and statement.value is call:
            if any(map(_never_ends, around)):
                return ()
            imports = without_import(function, call)
            removed = {(each.span.line, each.span.column) for each in imports}
            if any(_is_all_of(handler.body, statement, removed) for handler in _handlers(around)):
                return Replace(span_of(statement), "raise"), *imports
            if (unlike := _unlike(around)) and _is_all_of(unlike.body, statement, removed):
                text = ast.unparse(unlike.test)
                return Replace(span_of(statement), f"raise ValueError({text!r})"), *imports
            return Delete(span_of(statement), prune=True), *imports
    return ()


def _unlike(around: tuple[ast.stmt, ...]) -> ast.If | None:
    """The `if` around a statement that holds where two lengths or shapes are not the same."""
    match around[-1:]:
        case [ast.If(test=ast.Compare(left=left, ops=[ast.NotEq()], comparators=[right])) as found]:
            return found if _is_size(left) and _is_size(right) else None
    return None


def _is_size(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="len")) | ast.Attribute(attr="shape"):
            return True
        case ast.Subscript(value=inner):
            return _is_size(inner)
    return False


def _never_ends(statement: ast.stmt) -> bool:
    """Whether a statement is a loop without an end: FIBER ca0f36b fine_grained/tools/train_net.py:208, until the loss is no number."""
    match statement:
        case ast.While(test=ast.Constant(value=True)):
            return not any(walk(statement, ast.Break, ast.Return, ast.Raise))
    return False


def _handlers(around: tuple[ast.stmt, ...]) -> list[ast.ExceptHandler]:
    return around[-1].handlers if around and isinstance(around[-1], ast.Try) else []


def _is_all_of(body: list[ast.stmt], statement: ast.stmt, removed: set[tuple[int, int]]) -> bool:
    """Whether a block holds a statement and nothing else that stays."""
    left = [each for each in body if (each.lineno, each.col_offset) not in removed]
    return left == [statement]


def without_import(function: Function, call: ast.Call) -> tuple[Delete, ...]:
    """The import of what a call alone uses, where it imports nothing else.

    Several uses in one function may have an import each, right above them: HumanBench f3fd3b3
    PATH/core/data/datasets/images/reid_dataset.py:71 and :81.
    """
    name = ast.unparse(call.func).partition(".")[0]
    for scope in (function.node, function.module.source.tree):
        named = [n for n in walk(scope, ast.Name) if n.id == name]
        imports = [n for n in walk(scope) if _imports(n, name)]
        if not imports:
            continue
        above = _above(function, call)
        if len(imports) > 1 and len(imports) == len(named) and above in imports:
            imports = [above]
        elif len(named) > 1:
            return ()
        match imports:
            case [ast.Import(names=[_]) | ast.ImportFrom(names=[_]) as alone]:
                return (Delete(span_of(alone)),)
        return ()
    return ()


def _imports(node: ast.AST, name: str) -> bool:
    """Whether a statement binds a name by importing it."""
    return isinstance(node, ast.Import | ast.ImportFrom) and any(
        name == (each.asname or each.name.partition(".")[0]) for each in node.names
    )


def _above(function: Function, call: ast.Call) -> ast.stmt | None:
    """The statement in front of the one that a call is."""
    for block in blocks(function.body):
        for first, second in pairwise(block):
            if isinstance(second, ast.Expr) and second.value is call:
                return first
    return None
