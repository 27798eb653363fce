"""Who may ask a person: a process that another Python process has started has no terminal."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import SPAWNERS, assignments, ends_process, own_nodes
from distlint.nodes import last_name, walk

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite, Guard
    from distlint.analysis.live.joint_entry import JointEntry
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Function, Module

QUESTIONS: Final = ("builtins.input", "getpass.getpass")
_STARTERS: Final = SPAWNERS | {"Process"}
_HANDED: Final = frozenset({"fn", "target"})


def without_terminal(live: LiveProgram, entry: JointEntry) -> bool:
    """Whether those that come together are children of `multiprocessing`: it gives them an empty input.

    CPython 3.11 Lib/multiprocessing/process.py:308, `util._close_stdin()`. MedSAM d71e8a1 train_multi_gpus.py:261.
    """
    if isinstance(entry.node, ast.Call) and last_name(entry.node.func) in _STARTERS:
        return True
    line = getattr(entry.node, "lineno", 0)
    around = [
        f
        for f in entry.module.all_functions
        if not isinstance(f.node, ast.Module) and f.node.lineno <= line <= (f.node.end_lineno or 0)
    ]
    return any(f.name in _started(entry.module) for f in around) or _each_caller_is(live, around)


def _each_caller_is(live: LiveProgram, functions: list[Function]) -> bool:
    callers = [site.function for f in functions for site in live.callers.get(f, ())]
    return bool(callers) and all(f.name in _started(f.module) for f in callers)


@remembered
def _started(module: Module) -> frozenset[str]:
    """The functions that a file has other processes run, by name."""
    if not any(word in module.source.text for word in _STARTERS):
        return frozenset()
    return frozenset(
        given.id
        for function in (module.body, *module.all_functions)
        for node in own_nodes(function, ast.Call)
        if last_name(node.func) in _STARTERS
        for given in (*node.args[:1], *(k.value for k in node.keywords if k.arg in _HANDED))
        if isinstance(given, ast.Name)
    )


def never_answered(live: LiveProgram, site: CallSite, entry: JointEntry) -> bool:
    """Whether a question stands on every way to a call, and those that come together there have no terminal."""
    held = {(id(guard.node), guard.taken) for guard in site.guards}
    return any(
        call.site.function is site.function
        and call.site.node.lineno < site.node.lineno
        and not call.site.tries
        and {(id(guard.node), guard.taken) for guard in call.site.guards} <= held
        for call in live.calls(*QUESTIONS, module=site.module)
    ) and without_terminal(live, entry)


def leaves_on_answer(live: LiveProgram, function: Function, guard: Guard) -> bool:
    """Whether ranks leave below a test only as a person answers, who sits there and sees what becomes of the run.

    SparseBEV 024778a train.py:68: `if input('Path "%s" already exists, overwrite it? [Y/n] ' % work_dir) == 'n': exit(0)`.
    """
    asked = {id(call.site.node) for call in live.calls(*QUESTIONS, module=function.module)}
    branches = own_nodes(function, ast.If) if asked else ()
    answered = [branch for branch in branches if _is_answer(function, branch.test, asked)]
    inside = {id(part) for branch in answered for part in walk(branch)}
    ways_out = [
        part
        for branch in branches
        if any(part is guard.node for part in walk(branch.test))
        for part in walk(branch)
        if isinstance(part, ast.Return) or (isinstance(part, ast.Call) and ends_process(part.func))
    ]
    return bool(ways_out) and all(id(part) in inside for part in ways_out)


def _is_answer(function: Function, test: ast.expr, asked: set[int]) -> bool:
    """Whether a test asks what was typed: in the test itself, or in what a variable in it was assigned."""
    parts = [test]
    for part in walk(test, ast.Name):
        parts += assignments(function).get(part.id, [])
    return any(id(node) in asked for part in parts for node in walk(part))
