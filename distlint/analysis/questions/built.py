"""Of which classes of the program a model is, and what those classes are built from, by names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import Class, Function
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.nodes import last_name, walk

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Module

_SAME_MODEL: Final = frozenset(
    {
        *("to", "cuda", "cpu", "train", "eval", "half", "float", "double", "bfloat16", "requires_grad_"),
        *("convert_sync_batchnorm", "compile"),
    }
)  # fmt: skip
"""Methods and functions that give the model back which they get."""
_DEPTH: Final = 4


def wrapped_classes(live: LiveProgram, wrap: CallSite) -> frozenset[Class | None]:
    """The classes that the model may be of which a call wraps; with None where one is not known."""
    value = wrap.argument(0, "module")
    meaning = live.program.lookup(value.type) if value is not None and value.type else None
    if isinstance(meaning, Class):
        return frozenset({meaning})
    node = wrap.argument_node(0, "module")
    return classes_of(live, wrap.function, node) if node is not None else frozenset({None})


def classes_of(
    live: LiveProgram, function: Function, node: ast.expr, depth: int = _DEPTH
) -> frozenset[Class | None]:
    """The classes that an expression of a function may make an object of; with None for what is not known."""
    unknown: frozenset[Class | None] = frozenset({None})
    if not depth:
        return unknown
    match node:
        case ast.Call(func=ast.Attribute(attr=attr, value=inner)) if attr in _SAME_MODEL:
            return (
                classes_of(live, function, node.args[0] if _is_module(inner) else inner, depth)
                if (node.args or not _is_module(inner))
                else unknown
            )
        case ast.Call():
            return _of_call(live, function, node, depth)
        case ast.Name() | ast.Attribute():
            path = ast.unparse(node)
            values = [v for f in _writers(function, path) for v in assignments(f).get(path, ())]
            made = [v for v in values if path not in {ast.unparse(n) for n in _names(v)}]
            found = [classes_of(live, function, value, depth - 1) for value in made]
            return frozenset().union(*found) or unknown
        case ast.IfExp(body=body, orelse=orelse):
            return classes_of(live, function, body, depth) | classes_of(
                live, function, orelse, depth
            )
    return unknown


def _of_call(
    live: LiveProgram, function: Function, call: ast.Call, depth: int
) -> frozenset[Class | None]:
    match live.resolve(function.module, call.func):
        case Class() as made:
            return frozenset({made})
        case Function() as builder:
            given = [
                n.value
                for n in own_nodes(builder)
                if isinstance(n, ast.Return) and n.value is not None
            ]
            found = [classes_of(live, builder, value, depth - 1) for value in given]
            return frozenset().union(*found) or frozenset({None})
    return frozenset({None})


def parts(live: LiveProgram, root: Class) -> tuple[list[Class], list[Function]]:
    """What a class is built from and runs: itself, its bases, and all that these name, at any distance.

    Returns:
        The classes and the functions of the program, each once.
    """
    seen: dict[Class | Function, None] = {root: None}
    work: list[Class | Function] = [root]
    while work:
        each = work.pop()
        for other in _mentioned(live, each.module, each.node):
            if other not in seen:
                seen[other] = None
                work.append(other)
    return [c for c in seen if isinstance(c, Class)], [f for f in seen if isinstance(f, Function)]


def _mentioned(live: LiveProgram, module: Module, node: ast.AST) -> Iterator[Class | Function]:
    for part in walk(node):
        if isinstance(part, (ast.Name, ast.Attribute)) and isinstance(part.ctx, ast.Load):
            meaning = live.resolve(module, part)
            if isinstance(meaning, (Class, Function)):
                yield meaning


def _writers(function: Function, path: str) -> list[Function]:
    """The functions in which a name of a function, or an attribute of its object, is assigned."""
    if path.startswith("self.") and function.cls is not None:
        return list(function.cls.methods.values())
    return [function]


def _is_module(node: ast.expr) -> bool:
    """Whether a method is called on a library: `nn.SyncBatchNorm.convert_sync_batchnorm(model)`."""
    return last_name(node) in ("SyncBatchNorm", "torch")


def _names(node: ast.expr) -> Iterator[ast.expr]:
    return (n for n in walk(node) if isinstance(n, (ast.Name, ast.Attribute)))
