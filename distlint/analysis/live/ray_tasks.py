"""Functions that Ray runs once, in one process: `ray.remote(num_gpus=4)(train)` whose task is started in one place."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from distlint.analysis.program.definitions import Function, Module, dotted_name, last_name
from distlint.analysis.program.program import Program
from distlint.nodes import children, walk

_REMOTE: Final = "ray.remote"
_AGAIN: Final = (
    ast.For, ast.AsyncFor, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda,
)  # fmt: skip
"""What may start a task more than once."""


def is_one_task(program: Program, user: Function, call: ast.Call, task: Function) -> bool:
    """Whether a call makes a task of a function (`task`), which its `user` starts in one place and in no loop.

    pytorch/rl ae9719f sota-implementations/grpo/grpo-async.py:487: the trainer is one process, its model is spread over
    the devices of the task. A task that starts others of its own, workers among them, is another matter.
    """
    if starts_tasks(task) or user.is_module_body or not _makes_task(program, user.module, call):
        return False
    starts = list(_starts(user, _names_of(user, call)))
    return len(starts) == 1 and not starts[0]


def starts_tasks(function: Function) -> bool:
    """Whether a function starts tasks or methods of Ray's actors."""
    return any(last_name(node.func) == "remote" for node in walk(function.node, ast.Call))


def _makes_task(program: Program, module: Module, call: ast.Call) -> bool:
    """Whether a call is `ray.remote(train)` or `ray.remote(num_gpus=4)(train)`."""
    made = call.func.func if isinstance(call.func, ast.Call) else call.func
    return program.resolve_dotted(module, dotted_name(made)) == _REMOTE


def _names_of(user: Function, call: ast.Call) -> frozenset[str]:
    return frozenset(
        ast.unparse(target)
        for node in walk(user.node, ast.Assign)
        if node.value is call
        for target in node.targets
    )


def _starts(user: Function, names: frozenset[str]) -> Iterator[bool]:
    """The reads of a task that a function has made: whether each may start it more than once, or hands it on."""
    work: list[tuple[ast.AST, ast.AST, bool]] = [(user.node, user.node, False)]
    while work:
        node, parent, again = work.pop()
        if (
            isinstance(node, ast.Name | ast.Attribute)
            and isinstance(node.ctx, ast.Load)
            and ast.unparse(node) in names
        ):
            yield again or not (isinstance(parent, ast.Attribute) and parent.attr == "remote")
        within = again or isinstance(node, _AGAIN)
        work.extend((child, node, within) for child in children(node))
