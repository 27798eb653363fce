"""What a program does only where a model has an attribute, and leaves out where the wrapper is asked for it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from distlint.analysis.program.syntax import own_nodes
from distlint.analysis.questions.training import goes_backward
from distlint.nodes import walk

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import AttributeSite


def asked_in_vain(site: AttributeSite) -> ast.If | None:
    """The `if hasattr(model, "name")` around a read in a function that trains, where nothing stands for the model inside.

    ocp 8c3e6d1 src/fairchem/core/trainers/base_trainer.py:768: `if hasattr(self.model, "shared_parameters")` scales
    gradients, and never does under DDP.
    """
    path = ast.unparse(site.node.value)
    function = site.function
    if not goes_backward(function.node):
        return None
    text = ast.unparse(function.node)
    if f"{path}.module" in text or "unwrap" in text:
        return None
    for statement in own_nodes(function, ast.If):
        if (
            not statement.orelse
            and _asks(statement.test, path, site.attr)
            and any(part is site.node for each in statement.body for part in walk(each))
        ):
            return statement
    return None


def _asks(test: ast.expr, path: str, attr: str) -> bool:
    match test:
        case ast.BoolOp(op=ast.And(), values=values):
            return any(_asks(value, path, attr) for value in values)
        case ast.Call(func=ast.Name(id="hasattr"), args=[owner, ast.Constant(value=name)]):
            return name == attr and ast.unparse(owner) == path
    return False
