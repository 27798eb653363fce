"""Process groups that no run makes: the option under which they are made is cleared on every way there."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.program.linked import importers
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import SPAWNERS, literals, own_nodes
from distlint.analysis.questions.without_group import makers_of
from distlint.nodes import last_name, walk

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Function, Module
    from distlint.analysis.program.program import Program


@remembered
def makes_no_group(program: Program, entry: Module) -> bool:
    """Whether all that makes a process group in what an entry point leads to is switched off: its ranks do not exist.

    crossnorm-selfnorm 58e8c73 segmentation/tool/train.py:101: `args.distributed = False` in both arms, above the only
    `main_worker(…)` and `mp.spawn(main_worker, …)`, which asks `if args.distributed:` in front of `init_process_group()`.
    """
    # A process that is spawned makes the group itself.
    found = [e for e in makers_of(program, entry) if last_name(e[1].func) not in SPAWNERS]
    return bool(found) and all(
        any(
            _is_cleared(program, function, option)
            for option in _asked_above(function.body, call.lineno)
        )
        for function, call in found
    )


def _asked_above(block: list[ast.stmt], line: int) -> Iterator[str]:
    """The options, by their names, that have to be set for a run to come to a line."""
    for statement in block:
        if isinstance(statement, ast.If) and _holds(statement.body, line):
            for node, holds in literals(statement.test, True):
                match node:
                    case ast.Attribute(value=ast.Name(), attr=option) if holds:
                        yield option
        for name in ("body", "orelse", "finalbody"):
            if not isinstance(statement, ast.FunctionDef | ast.ClassDef):
                yield from _asked_above(getattr(statement, name, []), line)


def _holds(block: list[ast.stmt], line: int) -> bool:
    return block[0].lineno <= line <= (block[-1].end_lineno or block[-1].lineno)


def _is_cleared(program: Program, function: Function, option: str) -> bool:
    """Whether every run of a script clears an option in front of all that names a function of it, and none sets it later."""
    module = function.module
    if function.is_module_body or importers(program, module) != {module}:
        return False
    users = [
        (user, node.lineno)
        for user in module.all_functions
        for node in own_nodes(user, ast.Name)
        if node.id == function.name
    ]
    stored = [
        (user, node.lineno)
        for user in module.all_functions
        for node in own_nodes(user, ast.Attribute)
        if node.attr == option and not isinstance(node.ctx, ast.Load)
    ]
    return any(
        all(other is user and line > last for other, line in users)
        and all(other is user and line <= last for other, line in stored)
        for user, _ in users[:1]
        for statement in user.body
        if (last := statement.end_lineno or statement.lineno) and _clears([statement], option)
    )


def _clears(block: list[ast.stmt], option: str) -> bool:
    """Whether a block puts False into an option on each way through it, and nothing else behind that."""
    for statement in reversed(block):
        match statement:
            case ast.Assign(targets=[ast.Attribute(attr=attr)], value=ast.Constant(value=False)):
                if attr == option:
                    return True
            case ast.If(body=body, orelse=orelse) if orelse:
                if _clears(body, option) and _clears(orelse, option):
                    return True
        if any(node.attr == option for node in walk(statement, ast.Attribute)):
            return False
    return False
