"""The other half of a turnstile: `if rank != 0: barrier()` above, `if rank == 0: barrier()` below."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.interpreter.ir import CallSite
from distlint.analysis.interpreter.values import Value, Variance
from distlint.analysis.live.joint_entry import BARRIERS
from distlint.analysis.program.definitions import Function, last_name
from distlint.analysis.program.syntax import mentions_rank, own_nodes
from distlint.knowledge import ranks
from distlint.nodes import walk

if TYPE_CHECKING:
    from distlint.analysis.live.program import LiveProgram

_ASKED_BY_NAME: Final = frozenset(name.partition(".")[0] for name in ranks.FUNCTIONS)
"""Libraries whose questions for the rank are rows."""


def half_by_unknown_test(live: LiveProgram, site: CallSite | None) -> bool:
    """Whether the ranks that miss a barrier may come to one that stands alone under a test that is not understood.

    `if not context.is_first(): barrier()`: who comes to it is not seen, but a barrier that only some ranks come to
    is nobody's intention where another is written for the rest. `args.is_master` is named after the rank. To one
    under a setting (`if mode == "train":`) all ranks come, or none.
    """
    return site is not None and any(
        len(branch.body) == 1
        and _outcome(live, branch, barrier) == {None}
        and (mentions_rank(branch.test) or _asks_unseen_code(live, branch, barrier))
        for branch, barrier in _others(site.function, site.node)
    )


def is_half_under_option(function: Function, counterpart: ast.AST) -> bool:
    """Whether a barrier is all that stands under its test of the rank: what else keeps ranks from it is asked of all.

    DNABERT b6da04e examples/run_finetune.py:1089: `if args.local_rank == 0: barrier()`, like its other half in line 1052, but
    inside `if not args.do_visualize and not args.do_ensemble_pred:`.
    """
    return any(
        barrier is counterpart
        and len(branch.body) == 1
        and mentions_rank(branch.test)
        and not isinstance(branch.test, ast.BoolOp)
        for branch, barrier in _guarded(function)
    )


def has_other_half(live: LiveProgram, function: Function, call: ast.AST) -> bool:
    """Whether a barrier that one test lets some ranks come to may be answered by one under another test.

    Without its test the one of the two would wait for nobody. In the same function, where others come to it than to
    this one, and where nothing else stands under a test of the rank in one that has a caller in common with it.
    P-tuning-v2 b1520c9 PT-Retrieval/colbert/colbert/training/training.py:78: `if rank == 0: barrier()` lets those go
    on that wait under `if rank not in [-1, 0]`.
    """
    return any(
        _outcome(live, branch, barrier) != {True} and not _for_the_same(live, barrier, call)
        for branch, barrier in _others(function, call)
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


def _for_the_same(live: LiveProgram, barrier: ast.AST, call: ast.AST) -> bool:
    """Whether only ranks come to a barrier that come to the other as well: `if rank == 0: barrier()`, twice."""
    there, here = live.call_at(barrier), live.call_at(call)
    return there is not None and here is not None and there.classes <= here.classes


def _asks_unseen_code(live: LiveProgram, branch: ast.If, barrier: ast.Call) -> bool:
    """Whether what decides a test is the answer of code that is not seen, and that is handed nothing.

    Whose turn it is such code may know; `mode.startswith("eval")` says something of what it is handed, and of the
    libraries whose questions for the rank are rows all others are the same for all.
    """
    group = live.call_at(barrier)
    if group is None:
        return False
    decide = {
        _without_not(guard.value).key
        for _, site in group.sites
        for guard in site.guards
        if guard.node is branch.test
    }
    for node in own_nodes(group.site.function, ast.Call):
        match node:
            case ast.Call(args=[], keywords=[]) if ("call", id(node)) in decide:
                asked = live.call_at(node)
                return (
                    asked is not None
                    and asked.site.callee is None
                    and asked.site.name.partition(".")[0] not in _ASKED_BY_NAME
                )
    return False


def _without_not(value: Value) -> Value:
    while value.logic is not None and value.logic[0] == "not":
        (value,) = value.logic[1]
    return value


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
    for node in own_nodes(function, ast.If):
        for statement in (*node.body, *node.orelse):
            match statement:
                case ast.Expr(value=ast.Call() as call) if _is_barrier(call):
                    yield node, call


def _is_barrier(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func) in BARRIERS
