"""Calls in files of distributed code to which several ranks may come, though nothing shows that they come together."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from distlint.analysis.live.joint_entry import in_handlers
from distlint.analysis.program.definitions import dotted_name, last_name
from distlint.analysis.program.environment import evaluated_here, own_statements
from distlint.analysis.program.memory import all_remembered, remembered
from distlint.analysis.program.syntax import mentions_rank, own_nodes
from distlint.nodes import walk

if TYPE_CHECKING:
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Function, Module

Around = tuple[ast.stmt, ...]


def possible(
    live: LiveProgram, names: Collection[str]
) -> Iterator[tuple[Function, ast.Call, str, Around]]:
    """The calls of some names in files of distributed code, each with its name and the statements around it.

    What stands under a condition of the rank or of debugging is left out, and so is what is called under one.
    """
    wanted = frozenset(names)
    for module in live.modules:
        yield from _in_file(live, module, wanted)


@all_remembered
def _in_file(
    live: LiveProgram, module: Module, names: frozenset[str]
) -> Iterator[tuple[Function, ast.Call, str, Around]]:
    text = module.source.text
    words = ({name.partition(".")[0], name.rpartition(".")[2]} - {"builtins"} for name in names)
    if not any(all(w in text for w in each) for each in words) or not live.is_distributed(module):
        return
    ends = {name.rpartition(".")[2] for name in names}
    for function in module.all_functions:
        if function in live.alone:
            continue
        called = {
            id(n): name
            for n in own_nodes(function, ast.Call)
            if last_name(n.func) in ends and (name := _name(live, function, n)) in names
        }
        if not called:
            continue
        for statement, around in own_statements(function.body):
            for node in evaluated_here(statement):
                chain = (*around, statement)
                if not (isinstance(node, ast.Call) and id(node) in called):
                    continue
                if not _is_kept_apart(live, function, node, chain):
                    yield function, node, called[id(node)], chain


def _name(live: LiveProgram, function: Function, node: ast.Call) -> str:
    group = live.call_at(node)
    if group is not None:
        return group.site.name
    found = live.resolve(function.module, node.func)
    if isinstance(found, str):
        return found
    return (
        f"builtins.{last_name(node.func)}"
        if isinstance(node.func, ast.Name)
        else dotted_name(node.func)
    )


def _is_kept_apart(
    live: LiveProgram, function: Function, node: ast.Call, chain: tuple[ast.stmt, ...]
) -> bool:
    """Whether a condition of the rank or of debugging stands around a call, above it, or around a call of its function."""
    return (
        any(map(_asks, chain))
        or any(
            isinstance(n, ast.IfExp | ast.BoolOp)
            and mentions_rank(n)
            and any(p is node for p in walk(n))
            for n in evaluated_here(chain[-1])
        )
        or any(_leaves(n) for n in own_nodes(function, ast.If) if n.lineno < chain[-1].lineno)
        or any(_asks(around) for each in _calls_by_name(live, function) for around in each)
        or _is_made_apart(live, function)
    )


def _is_made_apart(live: LiveProgram, function: Function) -> bool:
    """Whether each object that has a method is made under such a condition."""
    made = list(makers(live, function))
    return bool(made) and all(any(map(_asks, around)) for around in made)


def _asks(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.If):
        return False
    text = ast.unparse(statement.test)
    if "__name__" in text:
        return False
    constant = isinstance(statement.test, ast.Constant)
    return (
        constant
        or mentions_rank(statement.test)
        or "main" in text
        or "master" in text
        or "debug" in text.lower()
    )


def _leaves(statement: ast.If) -> bool:
    """Whether ranks leave at a condition: `if not is_main_process(): return`."""
    return _asks(statement) and isinstance(statement.body[-1], ast.Return | ast.Raise)


def _callers(live: LiveProgram, function: Function) -> Iterator[Around]:
    """The statements around each call by the name of a function, and of its class: who makes the object has it."""
    yield from _calls_by_name(live, function)
    yield from makers(live, function)


def _calls_by_name(live: LiveProgram, function: Function) -> Iterator[Around]:
    if not function.is_module_body and function.name != "__init__":
        yield from _calls_of(live, function.name)


def makers(live: LiveProgram, function: Function) -> Iterator[Around]:
    """The statements around each call by the name of the class of a method, that of the call last."""
    if function.cls is not None:
        yield from _calls_of(live, function.cls.name)


def _calls_of(live: LiveProgram, name: str) -> Iterator[Around]:
    for module in live.program.modules.values():
        if name in module.source.text:
            yield from _calling(module).get(name, ())


@remembered
def _calling(module: Module) -> dict[str, list[Around]]:
    """The statements of a file that call something, each below those around it, by the last name of what they call."""
    found: dict[str, list[Around]] = {}
    for caller in module.all_functions:
        for statement, around in own_statements(caller.body):
            calls = (n for n in evaluated_here(statement) if isinstance(n, ast.Call))
            for name in {last_name(call.func) for call in calls}:
                found.setdefault(name, []).append((*around, statement))
    return found


def is_used(live: LiveProgram, function: Function) -> bool:
    """Whether something calls a function by its name; methods are called from anywhere."""
    return function.cls is not None or any(True for _ in _callers(live, function))


def failing_blocks(function: Function) -> Iterator[list[ast.stmt]]:
    """The blocks of a function that a failure leads into, or that end in one: ranks without it never come there.

    HumanBench f3fd3b3 PATH/core/data/datasets/images/parsing_dataset.py:529: `if not list_lines: …; raise IOError`.
    """
    for node in own_nodes(function, ast.ExceptHandler, ast.If):
        match node:
            case ast.ExceptHandler(body=body):
                yield body
            case ast.If(body=body, orelse=orelse):
                yield from (block for block in (body, orelse) if _raises(block))


def _raises(block: list[ast.stmt]) -> bool:
    return bool(block) and isinstance(block[-1], ast.Raise)


def for_errors(function: Function, chain: tuple[ast.stmt, ...], node: ast.AST) -> bool:
    """Whether a call stands where data or a call went wrong: in an `except`, under a question about values."""
    return any(
        isinstance(s, ast.If)
        and isinstance(s.test, ast.Compare | ast.Call | ast.BoolOp | ast.UnaryOp)
        for s in chain
    ) or id(node) in in_handlers(function)
