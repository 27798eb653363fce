"""What is made or drawn only where a number is given that is 0 by default, or a flag, and that nobody gives."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from distlint.analysis.program.memory import remembered
from distlint.analysis.questions.given_nothing import given_nothing, said_nothing
from distlint.nodes import walk

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function


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
    return name in function.parameters and given_nothing(model.program, name)


def asks_what_is_off(model: Model, test: ast.expr) -> bool:
    """Whether a condition asks for a part of an object that every call by its name leaves off, and one says so.

    zwd-into-aurora 06e19fd aurora/model/smoe.py:311: `if self.noise and self.training`, and `noise=False` wherever a layer
    is made, but for the one that the file makes to be tried.
    """
    match test:
        case ast.Attribute(value=ast.Name(id="self"), attr=name) if name != "training":
            return said_nothing(model.program, name)
    return False
