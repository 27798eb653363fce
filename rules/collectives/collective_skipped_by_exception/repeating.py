"""Handlers that make the call which has failed once more, with nothing to catch it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.environment import statements
from distlint.analysis.program.syntax import attempts_around, own_nodes
from distlint.analysis.questions.caught import is_caught
from distlint.nodes import last_name, walk

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Function
    from distlint.analysis.program.program import Program

_OF_A_PROCESS: Final = frozenset({"CalledProcessError", "SubprocessError", "TimeoutExpired"})
_NO_PROGRAM: Final = frozenset({"FileNotFoundError"})

Arms = frozenset[tuple[str, bool]]
"""The conditions around a statement, with the arm that it stands in."""


def fails_again(program: Program, function: Function, node: ast.AST) -> bool:
    """Whether what failed fails in each handler as well: the exception leaves the function, and ends the rank.

    EasyAnimate c2a70d1 scripts/train.py:1570: `os.listdir(args.output_dir)` in the `try` and in its `except`.
    """
    if not isinstance(node, ast.Call):
        return False
    for attempt in own_nodes(function):
        if not isinstance(attempt, ast.Try):
            continue
        for failed, arms in _calls(attempt.body):
            if failed is node:
                return bool(attempt.handlers) and all(
                    any(
                        again <= arms and _fails_like(call, node)
                        for call, again in _calls(handler.body)
                    )
                    and not is_caught(program, function, handler.body[0])
                    for handler in attempt.handlers
                )
    return False


def is_installed_or_raised(function: Function, node: ast.AST) -> bool:
    """Whether what a process failed with is raised again, and the handlers beside it are for a program that is not there.

    fairchem 31c0963 src/fairchem/core/common/distutils.py:98: Slurm is installed for all ranks of a job, or for none.
    """
    return any(
        len(attempt.handlers) > 1
        and all(
            _raises_the_same(handler)
            if _names(handler) & _OF_A_PROCESS
            else _names(handler) == _NO_PROGRAM
            for handler in attempt.handlers
        )
        for attempt in attempts_around(function, node)
    )


def _names(handler: ast.ExceptHandler) -> frozenset[str]:
    caught = handler.type
    kinds = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return frozenset(last_name(kind) for kind in kinds if kind is not None)


def _raises_the_same(handler: ast.ExceptHandler) -> bool:
    match handler.body:
        case [ast.Raise(exc=None)]:
            return True
        case [ast.Raise(exc=ast.Name(id=name), cause=None)]:
            return name == handler.name
    return False


def _fails_like(again: ast.Call, failed: ast.Call) -> bool:
    """Whether a call fails where another did: it is the same, or wants a folder where there was a file.

    DCNv4 4b848f7 classification/main_accelerate.py:156: whether `torch.load(path)` or `accelerator.load_state(path)` can
    read it, is the same on all ranks; a file that one rank alone cannot read is no folder there.
    """
    match failed, again:
        case (
            ast.Call(func=ast.Attribute(attr="load"), args=[path, *_]),
            ast.Call(func=ast.Attribute(attr="load_state", value=owner)),
        ) if last_name(owner) == "accelerator":
            given = [*again.args[:1], *(k.value for k in again.keywords if k.arg == "input_dir")]
            return [ast.unparse(each) for each in given] == [ast.unparse(path)]
    return ast.unparse(again) == ast.unparse(failed)


def _calls(body: list[ast.stmt]) -> Iterator[tuple[ast.Call, Arms]]:
    """The calls below a body that no inner handler or function holds, with their conditions."""
    for statement, above in statements(body):
        if any(not isinstance(outer, ast.If | ast.With) for outer in above):
            continue
        arms = frozenset(
            (ast.unparse(outer.test), any(statement in walk(s) for s in outer.body))
            for outer in above
            if isinstance(outer, ast.If)
        )
        if isinstance(statement, ast.Expr | ast.Assign | ast.AnnAssign | ast.Return):
            for node in walk(statement, ast.Call):
                yield node, arms
