"""The other half of a turnstile: `if rank != 0: barrier()` above, `if rank == 0: barrier()` below."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.interpreter.ir import CallSite
from distlint.analysis.interpreter.values import Variance
from distlint.analysis.live.joint_entry import BARRIERS
from distlint.analysis.program.definitions import Function, last_name
from distlint.analysis.program.syntax import mentions_rank, own_nodes
from distlint.nodes import walk

if TYPE_CHECKING:
    from distlint.analysis.live.program import LiveProgram


def half_by_unknown_test(live: LiveProgram, site: CallSite | None) -> bool:
    """Whether the ranks that miss a barrier may come to one that stands alone under a test of unknown outcome.

    `if not context.is_first(): barrier()`: who comes to it is not seen, but a barrier that only some ranks come to
    is nobody's intention where another is written for the rest.
    """
    return site is not None and any(
        len(branch.body) == 1 and _outcome(live, branch, barrier) == {None}
        for branch, barrier in _others(site.function, site.node)
    )


def has_other_half(live: LiveProgram, function: Function, call: ast.AST) -> bool:
    """Whether a barrier that one test lets some ranks come to may be answered by one under another test.

    Without its test the one of the two would wait for nobody. In the same function, and where nothing else stands
    under a test of the rank in one that has a caller in common with it.
    """
    return any(
        _outcome(live, branch, barrier) != {True} for branch, barrier in _others(function, call)
    ) or any(
        len(branch.body) == 1 and mentions_rank(branch.test)
        for each in _siblings(live, function)
        for branch, _ in _others(each, call)
    )


def _siblings(live: LiveProgram, function: Function) -> Iterator[Function]:
    """The other functions that the callers of a function call, and the other methods of its class."""
    above = {site.function for site in live.callers.get(function, ())}
    for each, calls in live.callers.items():
        if each is not function and any(site.function in above for site in calls):
            yield each
    if function.cls is not None:
        yield from (method for method in function.cls.methods.values() if method is not function)


def _outcome(live: LiveProgram, branch: ast.If, barrier: ast.Call) -> set[bool | None]:
    """How a test comes out, of what is not the rank's own, for those that come to the barrier under it."""
    group = live.call_at(barrier)
    return {
        guard.value.truthiness() if guard.value.variance is Variance.UNIFORM else False
        for _, site in (group.sites if group is not None else ())
        for guard in site.guards
        if guard.node is branch.test
    }


def _others(function: Function, call: ast.AST) -> Iterator[tuple[ast.If, ast.Call]]:
    """The tests with a barrier directly under them, besides those around a barrier that is asked for."""
    if not _is_barrier(call):
        return
    for branch, barrier in _guarded(function):
        if all(node is not call for node in walk(branch)):
            yield branch, barrier


def _guarded(function: Function) -> Iterator[tuple[ast.If, ast.Call]]:
    """The barriers that stand as a statement directly under a test."""
    for node in own_nodes(function):
        if isinstance(node, ast.If):
            for statement in (*node.body, *node.orelse):
                match statement:
                    case ast.Expr(value=ast.Call() as call) if _is_barrier(call):
                        yield node, call


def _is_barrier(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func) in BARRIERS
