"""Classes that are made only where a number is given that is 0 by default, and that nobody gives."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from distlint.analysis.program.memory import remembered
from distlint.nodes import last_name, walk

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function, Module


@remembered
def left_off(model: Model, function: Function) -> frozenset[ast.Call]:
    """The calls of a function that are made only with a parameter above 0, where it is 0 by default and the program gives no other.

    DiffBIR 3f8b530 diffbir/model/open_clip/transformer.py:382: `PatchDropout(patch_dropout) if patch_dropout > 0. else
    nn.Identity()`, of which a field of the settings is `0.`, and every caller hands on what it has by that name.
    """
    return frozenset(
        part
        for node in walk(function.node, ast.IfExp, ast.If)
        if _is_off(model, function, _number(node.test))
        for arm in (node.body if isinstance(node.body, list) else [node.body])
        for part in walk(arm, ast.Call)
    )


def _number(test: ast.expr) -> str:
    """The name that a test wants to be above 0; empty for other tests."""
    match test:
        case ast.Compare(
            left=ast.Name(id=name), ops=[ast.Gt()], comparators=[ast.Constant(value=0)]
        ):
            return name
    return ""


def _is_off(model: Model, function: Function, name: str) -> bool:
    if not name or name not in function.parameters:
        return False
    given = [each for module in model.program.modules.values() for each in _given(module, name)]
    return bool(given) and all(_is_nothing(each, name) for each in given)


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
    """Whether a value is 0, or what has the name elsewhere."""
    match value:
        case ast.Constant(value=None | False | 0):
            return True
        case ast.Name() | ast.Attribute():
            return last_name(value) == name
    return False
