"""Rows of new tokens that are written into embeddings of which ZeRO-3 keeps a piece on each rank."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.syntax import own_nodes
from distlint.launch.deepspeed import stage_of
from distlint.launch.project import Format

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function, Module
    from distlint.launch.project import Configuration

_EMBEDDINGS: Final = frozenset({"get_input_embeddings", "get_output_embeddings"})
_ASKS: Final = ("GatheredParameters", "zero3_enabled", "maybe_zero_3")
"""Words of code that knows of ZeRO-3."""
_TRAINS: Final = ("TrainingArguments", "deepspeed")
"""Words of code that a configuration of DeepSpeed is meant for."""


def written_pieces(model: Model, module: Module) -> Iterator[tuple[ast.AST, Configuration]]:
    """The writes of a file to rows of embeddings, where the project has a configuration of ZeRO-3 to train with."""
    text = module.source.text
    if ".weight" not in text or not any(name in text for name in _EMBEDDINGS):
        return
    if any(word in text for word in _ASKS) or not any(word in text for word in _TRAINS):
        return
    writes = [node for function in module.all_functions for node in _writes(function)]
    if not writes:
        return
    config = next(
        (file for file in model.launch.of(Format.DEEPSPEED) if stage_of(file.values) == 3), None
    )
    if config is not None:
        yield from ((node, config) for node in writes)


def _writes(function: Function) -> Iterator[ast.AST]:
    """The first write of a function to a slice of a model's embeddings."""
    nodes = [n for n in own_nodes(function) if isinstance(n, ast.Assign)]
    for node in sorted(nodes, key=lambda n: n.lineno):
        for target in node.targets:
            if isinstance(target, ast.Subscript) and _is_weight(function, target.value):
                yield node
                return


def _is_weight(function: Function, node: ast.expr) -> bool:
    """Whether an expression is `model.get_input_embeddings().weight`, or its data."""
    match node:
        case ast.Name(id=name):
            values = [
                other.value
                for other in own_nodes(function)
                if isinstance(other, ast.Assign)
                and any(isinstance(t, ast.Name) and t.id == name for t in other.targets)
            ]
            return bool(values) and all(
                not isinstance(value, ast.Name) and _is_weight(function, value) for value in values
            )
        case ast.Attribute(attr="data", value=value):
            return _is_weight(function, value)
        case ast.Attribute(attr="weight", value=ast.Call(func=ast.Attribute(attr=attr))):
            return attr in _EMBEDDINGS
    return False
