"""Names to which a program gives nothing: numbers that are 0 and paths that are empty, wherever they are handed."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from distlint.analysis.program.memory import remembered
from distlint.analysis.questions.entry_points import importers_of_none
from distlint.nodes import last_name, walk

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Module
    from distlint.analysis.program.program import Program


@remembered
def given_nothing(program: Program, name: str) -> bool:
    """Whether the program gives a name something, and that is 0, False, None or empty, or has the name elsewhere."""
    given = _given_in(program, name)
    return bool(given) and all(_is_nothing(each, name) for each in given)


@remembered
def said_nothing(program: Program, name: str) -> bool:
    """Whether all that the program gives a name is 0, False, None or empty, or what has the name elsewhere, and one call says so."""
    given = _given_in(program, name)
    return all(_is_nothing(each, name) for each in given) and any(
        keyword.arg == name and _is_nothing(keyword.value, "")
        for module in program.modules.values()
        if name in module.source.text
        for keyword in walk(module.source.tree, ast.keyword)
    )


def _given_in(program: Program, name: str) -> list[ast.expr]:
    """What the program gives a name, but for what files that others import do when they are run themselves."""
    found: list[ast.expr] = []
    for module in program.modules.values():
        given = _given(module, name)
        if given and not importers_of_none(program, module):
            tried = [
                node
                for node in module.source.tree.body
                if isinstance(node, ast.If) and "__main__" in ast.unparse(node.test)
            ]
            given = [
                each
                for each in given
                if not any(t.lineno <= each.lineno <= (t.end_lineno or t.lineno) for t in tried)
            ]
        found += given
    return found


def _given(module: Module, name: str) -> list[ast.expr]:
    """What a file gives a name: as a default, a field, an argument, an assignment, or by a text that is the name."""
    if name not in module.source.text and name.replace("_", "-") not in module.source.text:
        return []
    found: list[ast.expr] = []
    for node in walk(
        module.source.tree, ast.arguments, ast.keyword, ast.AnnAssign, ast.Assign, ast.Constant
    ):
        match node:
            case ast.arguments(posonlyargs=first, args=args, defaults=defaults):
                placed = [*first, *args]
                found += (
                    default
                    for argument, default in zip(placed[-len(defaults) :], defaults, strict=False)
                    if argument.arg == name
                )
                found += (
                    default
                    for argument, default in zip(node.kwonlyargs, node.kw_defaults, strict=True)
                    if argument.arg == name and default is not None
                )
            case ast.keyword(arg=given, value=value) if given == name:
                found.append(value)
            case ast.AnnAssign(target=target, value=ast.expr() as value) if (
                last_name(target) == name
            ):
                found.append(value)
            case ast.Assign(targets=targets, value=value) if name in map(last_name, targets):
                found += () if _is_made(targets[0], value) else (value,)
            case ast.Constant(value=str(text)) if text.lstrip("-").replace("-", "_") == name:
                found.append(node)
    return found


def _is_made(target: ast.expr, value: ast.expr) -> bool:
    """Whether an object keeps under the name what it makes of it: `self.left_out = LeftOut(left_out)`."""
    own = isinstance(target, ast.Attribute) and last_name(target.value) == "self"
    return own and isinstance(value, ast.Call | ast.IfExp)


def _is_nothing(value: ast.expr, name: str) -> bool:
    """Whether a value is 0 or empty, or what has the name elsewhere."""
    match value:
        case ast.Constant(value=None | False | 0 | ""):
            return True
        case ast.Name() | ast.Attribute():
            return last_name(value) == name
    return False
