"""Files that all ranks open and into which one rank writes."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.syntax import literals, mentions_rank
from distlint.nodes import walk

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function

_WRITES_NOTHING: Final = frozenset({"flush", "close", "fileno"})
_OF_ONE: Final = ("main", "master", "first", "zero")
"""Words of names that hold on one rank."""
_DEPTH: Final = 4


def filled_by_one(model: Model, site: CallSite) -> bool:
    """Whether one rank alone fills the file of `with open(path, "w") as file:`, and those of the others stay empty.

    THUDM/GLM 4f61ed7 generate_samples.py:245: each `write()` stands under `mpu.get_model_parallel_rank() == 0`.
    """
    if not isinstance(site.statement, ast.With):
        return False
    for item in site.statement.items:
        if item.context_expr is site.node and isinstance(item.optional_vars, ast.Name):
            return _by_one(model, site.function, item.optional_vars.id, _DEPTH) is True
    return False


def _by_one(model: Model, function: Function, name: str, depth: int) -> bool | None:
    """Whether one rank alone writes into the file that a name stands for; None where a function does not write."""
    of_one = _of_one_rank(function)
    found = None
    for node in walk(function.node):
        if not isinstance(node, ast.Call):
            continue
        match node.func:
            case ast.Attribute(attr=attr, value=ast.Name(id=owner)) if owner == name:
                used = attr not in _WRITES_NOTHING
            case _:
                used = any(
                    isinstance(given, ast.Name) and given.id == name
                    for given in (*node.args, *(keyword.value for keyword in node.keywords))
                )
        if not used:
            continue
        one = True if id(node) in of_one else _in_callee(model, node, name, depth)
        if one is False:
            return False
        found = found or one
    return found


def _in_callee(model: Model, node: ast.Call, name: str, depth: int) -> bool | None:
    """Whether one rank alone writes into a file in the function of the program that it is handed to."""
    call = model.call_at(node)
    callee = call.site.callee if call is not None else None
    if callee is None or callee.cls is not None or depth == 0:
        return False
    places = [
        i for i, given in enumerate(node.args) if isinstance(given, ast.Name) and given.id == name
    ]
    if len(places) != 1 or places[0] >= len(callee.parameters):
        return False
    return _by_one(model, callee, callee.parameters[places[0]], depth - 1)


def _of_one_rank(function: Function) -> set[int]:
    """The nodes of a function, by their identity, that stand under a test which one rank passes."""
    return {
        id(node)
        for test in walk(function.node, ast.If)
        if any(_names_one(part, holds) for part, holds in literals(test.test, True))
        for statement in test.body
        for node in walk(statement)
    }


def _names_one(test: ast.expr, holds: bool) -> bool:
    """Whether what is known of a condition leaves one rank: `rank == 0`, `is_main_process`."""
    if not holds or not mentions_rank(test):
        return False
    if isinstance(test, ast.Compare):
        return isinstance(test.ops[0], ast.Eq)
    return any(word in ast.unparse(test) for word in _OF_ONE)  # not `if rank:`
