"""What a process that rank 0 alone starts has made, before the ranks ask for it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from distlint.analysis.live.joint_entry import BARRIERS
from distlint.analysis.program.definitions import Function, dotted_name, last_name
from distlint.analysis.program.syntax import mentions_rank, own_nodes
from distlint.nodes import walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from distlint.analysis.live.joint_entry import JointEntry
    from distlint.analysis.program.program import Program


def made_by_child(program: Program, joint_entry: JointEntry) -> bool:
    """Whether rank 0 has started a process that makes the same call, and all have waited, before all make it.

    diffusion-pipe 8f83dbf utils/dataset.py:1223: `Process(target=_cache_fn)` on rank 0, `dist.barrier()`, and
    `ds.cache_metadata(trust_cache=True)` as in `_cache_fn`.
    """
    call = joint_entry.call
    if call is None:
        return False
    waits = [
        node.lineno
        for node in own_nodes(call.function, ast.Call)
        if last_name(node.func) in BARRIERS
    ]
    return any(
        _calls(target, call.method) and any(started < line < call.node.lineno for line in waits)
        for started, target in _of_main(program, call.function)
    )


def _of_main(program: Program, function: Function) -> Iterator[tuple[int, Function]]:
    """The functions that rank 0 alone runs in processes of their own, each with the line."""
    for test in own_nodes(function, ast.If):
        if mentions_rank(test.test):
            for node in (inner for statement in test.body for inner in walk(statement)):
                if isinstance(node, ast.Call) and last_name(node.func) == "Process":
                    given = next((k.value for k in node.keywords if k.arg == "target"), None)
                    path = dotted_name(given) if given is not None else ""
                    target = program.resolve_dotted(function.module, path) if path else None
                    if isinstance(target, Function):
                        yield node.lineno, target


def _calls(function: Function, name: str) -> bool:
    return any(last_name(node.func) == name for node in own_nodes(function, ast.Call))
