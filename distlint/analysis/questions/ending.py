"""Whether a rank that fails ends the job, or leaves the others waiting."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import Function
from distlint.analysis.program.syntax import attempts_around
from distlint.analysis.questions.caught import is_caught
from distlint.analysis.questions.launched import root_paths
from distlint.nodes import last_name, walk

if TYPE_CHECKING:
    from distlint.analysis.live.program import LiveProgram

_SUCCESS: Final = (0, None, False)
"""Exit codes of a process that has done its work: no launcher ends the others for one."""
_CATCH_EXITS: Final = frozenset({"SystemExit", "BaseException"})


def fails(node: ast.AST) -> bool:
    """Whether one answer to a test ends the process with an error: an exception, or an exit code that tells of one."""
    match node:
        case ast.Assert():
            return True
        case ast.If(body=[*_, last]):
            return ends_with_error(last)
    return False


def ends_with_error(last: ast.stmt) -> bool:
    """Whether a statement ends the process, where nothing catches it, with an exception or a code that tells of one."""
    match last:
        case ast.Assert():
            return True
        case ast.Raise(exc=raised):
            if raised is None or last_name(raised) != "SystemExit":
                return True
            return isinstance(raised, ast.Call) and _tells_of_error(raised)
        case ast.Expr(value=ast.Call() as call):
            name = last_name(call)
            return name == "abort" or (name in ("exit", "_exit", "quit") and _tells_of_error(call))
    return False


def _tells_of_error(call: ast.Call) -> bool:
    match call.args:
        case []:
            return False
        case [ast.Constant(value=code)]:
            return code not in _SUCCESS
    return True


def ends_the_job(
    live: LiveProgram, function: Function, node: ast.AST, left_alone: Callable[[str], bool]
) -> bool:
    """Whether the launcher ends the other ranks when one fails under a test of a function, so that nobody waits for long.

    torch 2.13.0 torch/distributed/elastic/agent/server/api.py: the agent stops all workers when one exits with a code
    that is not 0, as `torch.distributed.launch` and `mp.spawn` do, accelerate and DeepSpeed after them (SatMAE e31c11f
    engine_pretrain.py:47, `sys.exit(1)`). Slurm goes on unless `--kill-on-bad-exit` is given. No launcher hears of
    what a handler catches.

    Args:
        live: the program.
        function: where the test stands.
        node: the test's statement.
        left_alone: whether the ranks of a Python file are started by what leaves the others when one fails.
    """
    if not fails(node) or not isinstance(node, ast.stmt):
        return False
    return _is_heard(
        live, function, node.body[-1] if isinstance(node, ast.If) else node, left_alone
    )


def handlers_end_the_job(
    live: LiveProgram, function: Function, node: ast.AST, left_alone: Callable[[str], bool]
) -> bool:
    """Whether each handler of the `try` around a call (`node`) ends the process with an error of which the launcher hears.

    diffusers 0.42.1 commands/run.py:368: `except json.JSONDecodeError as e: raise SystemExit(…) from e`.

    Args:
        live: the program.
        function: where the `try` stands.
        node: the call.
        left_alone: whether the ranks of a Python file are started by what leaves the others when one fails.
    """
    around = attempts_around(function, node)
    innermost = max(around, key=lambda attempt: attempt.lineno, default=None)
    return (
        innermost is not None
        and bool(innermost.handlers)
        and all(
            ends_with_error(handler.body[-1])
            and _is_heard(live, function, handler.body[-1], left_alone)
            for handler in innermost.handlers
        )
    )


def _is_heard(
    live: LiveProgram, function: Function, last: ast.stmt, left_alone: Callable[[str], bool]
) -> bool:
    """Whether the launcher hears that a process ends at a statement, and ends the others."""
    exits = isinstance(last, ast.Expr) or (
        isinstance(last, ast.Raise) and last.exc is not None and last_name(last.exc) == "SystemExit"
    )
    if is_caught(live.program, function, last) and (not exits or _catches_exits(live)):
        return False
    paths = {function.module.source.path, *root_paths(live, function.module)}
    return not any(map(left_alone, paths))


def _catches_exits(live: LiveProgram) -> bool:
    """Whether some handler of the program catches that a process is to end."""
    return any(
        isinstance(node, ast.ExceptHandler)
        and (
            node.type is None
            or any(
                last_name(part) in _CATCH_EXITS for part in walk(node.type, ast.Name, ast.Attribute)
            )
        )
        for module in live.program.modules.values()
        if "SystemExit" in module.source.text
        for node in walk(module.source.tree)
    )
