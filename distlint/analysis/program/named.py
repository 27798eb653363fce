"""What code leads to by the names in it: the functions and classes that it names, and what these name in turn."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from distlint.analysis.program.configured import made_at
from distlint.analysis.program.definitions import Class, Function, Module, dotted_name
from distlint.analysis.program.memory import remembered
from distlint.nodes import walk

if TYPE_CHECKING:
    from distlint.analysis.program.program import Program

Part = tuple[Module, ast.AST]
"""A statement of a file, or a function or class of it."""


def named_from(program: Program, parts: Iterable[Part]) -> Iterator[Part]:
    """Some parts of files, and all functions and classes that they name, at any depth; each once."""
    work = list(parts)
    seen: set[ast.AST] = set()
    while work:
        part = work.pop()
        if part[1] not in seen:
            seen.add(part[1])
            yield part
            work += _named(program, *part)


@remembered
def _named(program: Program, module: Module, part: ast.AST) -> tuple[Part, ...]:
    """The functions and classes that a part of a file names, or has configurations name."""
    found: dict[ast.AST, Module] = {}
    configured = made_at(program)
    for node in walk(part):
        for each in configured.get(node, ()):
            found[each.node] = each.module
        if isinstance(node, ast.Name | ast.Attribute):
            meaning = program.resolve_dotted(module, dotted_name(node))
            if isinstance(meaning, Function | Class):
                found[meaning.node] = meaning.module
    return tuple((home, node) for node, home in found.items())


def run_on_import(module: Module) -> Iterator[Part]:
    """The statements that an import of a file runs; a decorator may keep what it stands on in a table."""
    return ((module, statement) for statement in module.source.tree.body if _is_run(statement))


def _is_run(statement: ast.stmt) -> bool:
    match statement:
        case ast.Import() | ast.ImportFrom():
            return False
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return bool(statement.decorator_list)
        case ast.If(test=ast.Compare(left=ast.Name(id="__name__"))):
            return False
    return True
