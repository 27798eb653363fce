"""Where a program starts CUDA, and where it names a device by a constant; by resolved calls and syntax."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.program.environment import evaluated_here
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


def _calls(statement: ast.stmt, function: _Function | None) -> bool:
    """Whether a statement runs a function, as far as names say."""
    return function is not None and any(
        isinstance(n, ast.Call) and last_name(n.func) == function.name for n in walk(statement)
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
