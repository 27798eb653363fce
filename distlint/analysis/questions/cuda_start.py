"""Where a program starts CUDA, and where it names a device by a constant; by resolved calls and syntax."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from distlint.analysis.program.environment import blocks_of, evaluated_here, statements
from distlint.knowledge.devices import DEVICE_CALLS, DEVICE_TYPES
from distlint.nodes import last_name, walk

if TYPE_CHECKING:
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Module

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def starts_cuda(live: LiveProgram, module: Module, node: ast.expr) -> bool:
    """Whether evaluating a call makes the CUDA driver read the environment, which it does once."""
    if not isinstance(node, ast.Call):
        return False
    meaning = live.resolve(module, node.func)
    row = DEVICE_CALLS.get(meaning) if isinstance(meaning, str) else None
    if row is not None:
        return row.initialises
    match node:
        case ast.Call(func=ast.Attribute(attr="cuda"), args=[] | [_]):
            return not isinstance(meaning, str)
        case ast.Call(func=ast.Attribute(attr="to"), args=[argument, *_]):
            return constant_device(argument) is not None
    return (
        any(k.arg == "device" and constant_device(k.value) is not None for k in node.keywords)
        and isinstance(meaning, str)
        and meaning.startswith("torch.")
    )


def started_on_import(
    live: LiveProgram, module: Module, statement: ast.stmt, function: _Function | None
) -> tuple[Module, ast.expr] | None:
    """What starts CUDA while a file is imported, of those imported before a statement runs: the file, the call.

    Args:
        live: the program.
        module: the file of the statement.
        statement: what runs later.
        function: the function it stands in; None at the top of the file.
    """
    seen = {module}
    work = [(module, statement if function is None else None)]
    while work:
        where, end = work.pop()
        for each in where.source.tree.body:
            if (end is not None and each.lineno >= end.lineno) or _calls(each, function):
                break
            match each:
                case ast.Import() | ast.ImportFrom():
                    new = [m for m in _imported(live, where, each) if m not in seen]
                    seen.update(new)
                    work += [(other, None) for other in new]
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                    continue
            for node in evaluated_here(each):
                if (function is not None or where is not module) and starts_cuda(live, where, node):
                    return where, node
    return None


def evaluated_before(
    module: Module,
    function: _Function | None,
    above: Sequence[ast.stmt],
    statement: ast.stmt,
) -> Iterator[ast.expr]:
    """The expressions that have been evaluated whenever a statement runs: in its block, and in those around it.

    Args:
        module: the file.
        function: the function the statement stands in; None at the top of the file.
        above: the statements around it.
        statement: what runs later.
    """
    for before in passed_before(module, function, above, statement):
        yield from evaluated_here(before)


def passed_before(
    module: Module,
    function: _Function | None,
    above: Sequence[ast.stmt],
    statement: ast.stmt,
) -> Iterator[ast.stmt]:
    """The statements that a process has come to whenever a statement runs, those around it included."""
    body = function.body if function is not None else module.source.tree.body
    path = [s for s in above if function is None or s.lineno > function.lineno]
    yield from (s for s in _before(body, [*path, statement]) if s is not statement)


def _before(body: list[ast.stmt], path: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that have run when the last of a path runs; of those above it, their headers."""
    while path:
        for statement in body:
            if statement is path[0]:
                yield statement
                break
            if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield statement
                if isinstance(statement, ast.With | ast.AsyncWith):
                    yield from (s for s, _ in statements(statement.body))
        else:
            return
        inner = path[1:2]
        body = next((b for b in blocks_of(path[0]) if inner and any(s is inner[0] for s in b)), [])
        path = path[1:]


def _calls(statement: ast.stmt, function: _Function | None) -> bool:
    """Whether a statement runs a function, as far as names say."""
    return function is not None and any(
        last_name(n.func) == function.name for n in walk(statement, ast.Call)
    )


def _imported(
    live: LiveProgram, module: Module, statement: ast.Import | ast.ImportFrom
) -> Iterator[Module]:
    """The files of the program that an import at the top of a file runs."""
    for alias in statement.names:
        full = module.imports.get(alias.asname or alias.name.partition(".")[0], "")
        for name in (full, full.rpartition(".")[0]):
            if name in live.program.modules:
                yield live.program.modules[name]


def constant_device(node: ast.expr) -> str | None:
    """The text of a device that is written as a constant ("cuda", "cuda:0"); None for others."""
    match node:
        case ast.Constant(value=str() as text) if text.partition(":")[0] in DEVICE_TYPES:
            return text
        case ast.Call(func=ast.Attribute(attr="device"), args=[ast.Constant(value=str() as text)]):
            return text if text.partition(":")[0] in DEVICE_TYPES else None
    return None
