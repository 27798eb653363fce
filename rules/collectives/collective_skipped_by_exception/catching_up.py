"""Handlers that note a failure, for which the rank does behind the `try` what the others wait for."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.live.joint_entry import called
from distlint.analysis.program.syntax import own_nodes
from distlint.nodes import last_name, walk

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import Summary
    from distlint.analysis.model import Model
    from distlint.analysis.traces.divergence import Divergence

_DEPTH: Final = 3


def catches_up(model: Model, divergence: Divergence) -> bool:
    """Whether a flag that the handler sets leads, behind the `try`, to the collective that this rank has missed.

    ParlAI a29567f parlai/core/torch_generator_agent.py:806: `if oom_sync:` runs forward and backward on a batch that
    was kept for it.
    """
    handler, waits = divergence.node, divergence.event.node
    if not isinstance(handler, ast.ExceptHandler) or not isinstance(waits, ast.Call):
        return False
    inside = {
        id(call)
        for branch in _led_to(divergence, handler)
        for statement in branch.body
        for call in walk(statement, ast.Call)
    }
    name = last_name(waits.func)
    summaries = model.summaries_of(divergence.function) if inside else None
    return any(
        (id(call) in inside and last_name(call.func) == name)
        for call in own_nodes(divergence.function, ast.Call)
    ) or any(
        id(site.node) in inside and _performs(child, name, _DEPTH)
        for _, summary in (summaries.summaries() if summaries is not None else ())
        for site, child in called(summary)
    )


def _led_to(divergence: Divergence, handler: ast.ExceptHandler) -> Iterator[ast.If]:
    """The tests behind a `try` of what its handler has set."""
    flags = {
        target.id
        for statement in handler.body
        for node in walk(statement, ast.Assign)
        if isinstance(node.value, ast.Constant) and node.value.value is True
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    end = handler.end_lineno or handler.lineno
    for node in own_nodes(divergence.function, ast.If):
        match node:
            case ast.If(test=ast.Name(id=name)) if name in flags and node.lineno > end:
                yield node


def _performs(summary: Summary, name: str, depth: int) -> bool:
    """Whether a run makes a call of the name of the collective, itself or in what it calls."""
    return any(last_name(node.func) == name for node in own_nodes(summary.function, ast.Call)) or (
        depth > 0 and any(_performs(child, name, depth - 1) for _, child in called(summary))
    )
