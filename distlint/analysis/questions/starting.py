"""What runs in the process that starts the ranks: `mp.spawn(work, …)`, and what stands above or beside it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.live.joint_entry import asks_for_script, spawn_of
from distlint.analysis.program.definitions import last_name
from distlint.analysis.program.handed import namings
from distlint.analysis.program.memory import all_remembered
from distlint.analysis.program.places import innermost_at
from distlint.analysis.program.syntax import SPAWNERS, own_nodes, spawned_index
from distlint.knowledge.numbering import is_numbered

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Function, Module
    from distlint.analysis.program.program import Program

_MAX_CALLERS: Final = 5


def is_before_ranks(program: Program, module: Module, line: int) -> bool:
    """Whether a line runs only in the process that spawns the ranks, above the place where it does.

    EasyNLP a4ee956 examples/agree/training/main_all.py:267: `main` copies the code, asks `if args.distributed:` and spawns.
    The option says whether there will be ranks; it does not tell them apart. The top of a script is each rank's, which imports
    it again.
    """
    function = innermost_at(module, line)
    if (
        function.is_module_body
        and spawn_of(module) is not None
        and not _is_for_script(module, line)
    ):
        return False
    return _is_above(program, function, line, _MAX_CALLERS)


def _is_for_script(module: Module, line: int) -> bool:
    """Whether a line stands in the block for `__name__ == "__main__"`."""
    return any(
        node.lineno <= line <= (node.end_lineno or node.lineno) and asks_for_script(node.test)
        for node in module.source.tree.body
        if isinstance(node, ast.If)
    )


def starts_ranks(function: Function) -> bool:
    """Whether a function starts the ranks itself, in a file that asks no launcher for its number: the parent alone runs it.

    mrl-clip-training-daquar 522105d main_ddp.py:320: what stands behind `mp.spawn(…, join=True)`; under the `torchrun` of its
    README each process would start ranks of its own, and find the port taken.
    """
    return (
        not spawned_index(function)
        and bool(_spawning(function))
        and not is_numbered(function.module.source.text)
    )


@all_remembered
def _spawning(function: Function) -> Iterator[int]:
    """The lines of a function at which it starts processes."""
    for node in own_nodes(function, ast.Call):
        if last_name(node.func) in SPAWNERS:
            yield node.lineno


def _is_above(program: Program, function: Function, line: int, depth: int) -> bool:
    if spawned_index(function):
        return False
    if any(line < spawning for spawning in _spawning(function)):
        # Else a launcher may have started this one.
        return not is_numbered(function.module.source.text)
    if depth == 0 or function.is_module_body:
        return False
    calls, others = namings(program, function.name)
    return (
        bool(calls)
        and not others
        and all(
            user is not function and _is_above(program, user, call.lineno, depth - 1)
            for user, call in calls
        )
    )
