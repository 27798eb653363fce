"""Assignments to CUDA_VISIBLE_DEVICES that come after CUDA has read it, and change nothing."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.environment import Access, evaluated_here, statements
from distlint.analysis.program.syntax import SPAWNERS, mentions_rank, own_nodes, target_names
from distlint.analysis.questions.cuda_start import (
    evaluated_before,
    passed_before,
    started_on_import,
    starts_cuda,
)
from distlint.nodes import last_name, walk

if TYPE_CHECKING:
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Module

_SETS_DEVICE: Final = "torch.cuda.set_device"
_STARTS_RANKS: Final = SPAWNERS | {"Process"}
_STARTS_CHILD: Final = _STARTS_RANKS | {"Popen", "system", "check_call", "check_output"}


def set_too_late(
    live: LiveProgram, module: Module, access: Access
) -> tuple[Module, ast.expr] | None:
    """What has started CUDA before an assignment that is for this process alone: the file, the call."""
    if _restores(access) or _renames(access) or _for_children(live, module, access):
        return None
    for node in evaluated_before(module, access.function, access.above, access.statement):
        if node.lineno <= access.node.lineno and starts_cuda(live, module, node):
            return module, node
    return started_on_import(live, module, access.statement, access.function)


def chosen_by_rank(live: LiveProgram, module: Module, access: Access) -> bool:
    """Whether the process has taken the device of its rank above an assignment, in its block or in those around it.

    DFC2025 45c5b5b train.py:154: `if local_rank != -1: torch.cuda.set_device(local_rank)`, and 157 sets the variable.
    """
    before = passed_before(module, access.function, access.above, access.statement)
    return any(
        live.resolve(module, node.func) == _SETS_DEVICE and any(map(mentions_rank, node.args))
        for statement in before
        if all(statement is not each for each in access.above)
        for node in walk(statement, ast.Call)
    )


def _restores(access: Access) -> bool:
    """Whether the value is put back in a clean-up."""
    return any(isinstance(s, ast.Try) for s in access.above)


def _renames(access: Access) -> bool:
    """Whether the devices are those that another variable of the kind has named, before CUDA started.

    verl 0.9.1 verl/single_controller/base/worker.py:253: what HIP_VISIBLE_DEVICES held.
    """
    function = access.function
    values = [access.value] if access.value is not None else []
    if isinstance(access.value, ast.Name) and function is not None:
        values += [
            statement.value
            for statement, _ in statements(function.body)
            if isinstance(statement, ast.Assign)
            and any(access.value.id in target_names(target) for target in statement.targets)
        ]
    return any("VISIBLE_DEVICES" in ast.unparse(value) for value in values)


def _for_children(live: LiveProgram, module: Module, access: Access) -> bool:
    """Whether the function starts a process below the assignment, which inherits the variable.

    Or another method of the object that is being made: Uni-Mol 90f52c4 unimol_tools/unimol_tools/tasks/trainer.py:92, in what
    `__init__` calls, and line 188 spawns the ranks.
    """
    if _starts_ranks_later(module, access):
        return True
    body = access.function.body if access.function is not None else module.source.tree.body
    return any(
        statement.lineno > access.node.lineno and _starts_child(live, module, node)
        for statement, _ in statements(body)
        for node in evaluated_here(statement)
        if isinstance(node, ast.Call)
    )


def _starts_ranks_later(module: Module, access: Access) -> bool:
    """Whether an assignment is part of making an object of which another method starts processes."""
    method = next((f for f in module.all_functions if f.node is access.function), None)
    if method is None or method.cls is None:
        return False
    methods = method.cls.methods
    called = {
        name: {last_name(node) for node in own_nodes(each, ast.Call)}
        for name, each in methods.items()
    }
    making = {"__init__"} & methods.keys()
    while more := {n for name in making for n in called[name]} & methods.keys() - making:
        making |= more
    return method.name in making and any(
        called[name] & _STARTS_RANKS for name in methods.keys() - making
    )


def _starts_child(live: LiveProgram, module: Module, call: ast.Call) -> bool:
    name = last_name(call.func)
    meaning = live.resolve(module, call.func)
    return (
        name in _STARTS_CHILD
        or "launch" in name
        or (isinstance(meaning, str) and meaning.startswith("subprocess."))
    )
