"""Models that one turn of a loop leaves without their wrapper, and the next turn trains."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from distlint.analysis.interpreter.values import Wrap
from distlint.analysis.program.syntax import mentions_rank, own_nodes
from distlint.analysis.questions.training import Backward
from distlint.knowledge import facts
from distlint.nodes import last_name, walk
from distlint.patterns import pattern

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function

_COMPUTES: Final = pattern(r"loss|forward|criterion", re.IGNORECASE)
"""What runs a model that it is handed, by its name: `diffusion.training_losses(model, x, t)`."""


def rebinding(body: Sequence[ast.stmt], value: ast.expr, path: str) -> ast.Assign | None:
    """The assignment of the value to the same path, among the statements of a block."""
    for statement in body:
        if (
            isinstance(statement, ast.Assign)
            and statement.value is value
            and [ast.unparse(target) for target in statement.targets] == [path]
        ):
            return statement
    return None


def carried_back(
    function: Function, value: ast.expr, path: str
) -> tuple[ast.Assign | None, tuple[Function, ast.Call] | None]:
    """The assignment in a loop after which the next turn trains what it leaves, and where.

    PixArt-alpha train_scripts/train_pixart_lcm_lora.py:268: `model = accelerator.unwrap_model(model)` at the end of each
    `epoch % config.save_model_epochs`, to save adapters.
    """
    for loop in own_nodes(function):
        if isinstance(loop, ast.For | ast.While):
            statement = _again(loop.body, value, path)
            if statement is None:
                continue
            others = (n for n in walk(loop) if isinstance(n, ast.Assign) and n is not statement)
            if any(path in map(ast.unparse, other.targets) for other in others):
                continue
            backward = Backward(function)
            for node in walk(loop):
                if isinstance(node, ast.Call) and runs(node, path) and backward.reaches(node):
                    return statement, (function, node)
    return None, None


def _again(body: Sequence[ast.stmt], value: ast.expr, path: str) -> ast.Assign | None:
    """The assignment in a block of a loop that is come to again and again, and goes on to the next turn."""
    statement = rebinding(body, value, path)
    if statement is not None:
        return statement
    for inner in body:
        match inner:
            case ast.If(test=test, body=block) if _holds_again(test):
                pass
            case ast.With(body=block):
                pass
            case _:
                continue
        statement = _again(block, value, path)
        if statement is not None:
            leaves = any(
                isinstance(n, ast.Break | ast.Return) for each in block for n in walk(each)
            )
            return None if leaves else statement
    return None


def _holds_again(test: ast.expr) -> bool:
    """Whether a test holds more than once in a training: not at its end alone."""
    return any(
        isinstance(node, ast.Mod)
        or (isinstance(node, ast.Name | ast.Attribute) and "best" in last_name(node).lower())
        for node in walk(test)
    ) or mentions_rank(test)


def runs(call: ast.Call, path: str) -> bool:
    """Whether a call is the forward of a model, or hands it to what computes a loss with it."""
    return ast.unparse(call.func) == path or (
        _COMPUTES.search(last_name(call.func)) is not None and path in map(ast.unparse, call.args)
    )


def wraps_before(model: Model, function: Function, path: str) -> tuple[Wrap, ...]:
    """What is around a model when its function comes to a loop, after which it may be the model inside."""
    for call in model.calls():
        site = call.site
        if site.callee is function and path in function.parameters:
            given = site.argument(function.parameters.index(path), path)
            if given is not None and given.wraps:
                return given.wraps[-1:]
        fact = facts.wrapper(site.name)
        if fact is not None and site.function is function and _assigns(site.statement, path):
            return (Wrap(fact.kinds[0], site.node, site.module),)
    return ()


def _assigns(statement: ast.stmt, path: str) -> bool:
    return isinstance(statement, ast.Assign) and any(
        ast.unparse(part) == path
        for target in statement.targets
        for part in (target.elts if isinstance(target, ast.Tuple) else [target])
    )
