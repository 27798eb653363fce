"""Whether a machine on which a checkpoint is missing fails, so that nobody begins anew there."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import dotted_name, last_name
from distlint.analysis.program.syntax import ends_process, own_nodes
from distlint.nodes import walk

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import Guard
    from distlint.analysis.program.definitions import Function

_EVALUATES: Final = re.compile(
    r"_*(?:test|eval|evaluate|evaluation|validate|infer|inference|predict)(?:_|$)"
)
_TRAINS: Final = re.compile(r"optim|backward|^train(?!ing$)|^fit$|^resume")


def fails_without(function: Function, guard: Guard) -> bool:
    """Whether a rank without the file fails, and with it the job.

    InternVideo 3965eef InternVideo2/multi_modality/tasks/shared_utils.py:126: `else:` … `assert config.pretrained_path == ""`.
    """
    for node in own_nodes(function):
        if isinstance(node, ast.Assert) and node.test is guard.node:
            return True
        if isinstance(node, ast.If) and node.test is guard.node:
            arm = node.orelse if guard.taken else node.body
            return bool(arm) and (_ends(arm[-1]) or _asserts_none(arm, guard.node))
    return False


def _ends(last: ast.stmt) -> bool:
    match last:
        case ast.Expr(value=ast.Call(func=function)):
            return ends_process(function)
    return isinstance(last, ast.Raise)


def _asserts_none(arm: list[ast.stmt], test: ast.expr) -> bool:
    """Whether an arm asserts something of the path that the test asked for."""
    asked = _paths(test)
    return any(
        isinstance(node, ast.Assert) and not asked.isdisjoint(_paths(node.test))
        for statement in arm
        for node in walk(statement)
    )


def _paths(node: ast.expr) -> set[str]:
    """The variables and attributes in an expression, as they are written out: of `args.resume`, not `args` too."""
    named = [part for part in walk(node) if isinstance(part, ast.Attribute | ast.Name)]
    owners = {id(part.value) for part in named if isinstance(part, ast.Attribute)}
    return {dotted_name(part) for part in named if id(part) not in owners} - {""}


def only_evaluates(function: Function) -> bool:
    """Whether a function loads what it evaluates, by its name, and trains nothing.

    NeuralRecon 88d7d0b main.py:228: `test()` looks for new checkpoints again and again, and prints of which epoch.
    """
    return _EVALUATES.match(function.name) is not None and not any(
        isinstance(node, ast.Name | ast.Attribute) and _TRAINS.search(last_name(node))
        for node in own_nodes(function)
    )
