"""Rows of new tokens that are written into embeddings of which ZeRO-3 keeps a piece on each rank."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.syntax import own_nodes
from distlint.launch.deepspeed import stage_of
from distlint.launch.project import Format
from distlint.nodes import last_name

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function, Module
    from distlint.launch.project import Configuration

_EMBEDDINGS: Final = frozenset({"get_input_embeddings", "get_output_embeddings"})
_ASKS: Final = ("GatheredParameters", "zero3_enabled", "maybe_zero_3")
"""Words of code that knows of ZeRO-3."""
_PIECES_FROM: Final = (4, 32)
_PIECES_TO: Final = (4, 34)
_TRANSFORMERS: Final = "transformers"
_TRAINS: Final = ("TrainingArguments", "deepspeed")
"""Words of code that a configuration of DeepSpeed is meant for."""


def written_pieces(model: Model, module: Module) -> Iterator[tuple[ast.AST, Configuration]]:
    """The writes of a file to rows of embeddings, where the project has a configuration of ZeRO-3 to train with."""
    text = module.source.text
    if ".weight" not in text or not any(name in text for name in _EMBEDDINGS):
        return
    if any(word in text for word in _ASKS) or not any(word in text for word in _TRAINS):
        return
    whole = not _resizes_into_pieces(model, module)
    writes = [
        node
        for function in module.all_functions
        for node in _writes(function)
        if not (whole and _resized_above(function, node))
    ]
    if not writes:
        return
    config = next(
        (
            file
            for file in model.launch.of(Format.DEEPSPEED)
            if stage_of(file.values) == 3 and module.path.startswith(_project_of(model, file.path))
        ),
        None,
    )
    if config is not None:
        yield from ((node, config) for node in writes)


def _project_of(model: Model, path: str) -> str:
    """The folder, with its `/`, of the project of the repository that a configuration is of: the one with requirements.

    NVlabs' Eagle 783f656: Eagle/scripts/zero3.json is nothing to Embodied/, a project beside it.
    """
    folders = {each.path[: each.path.rfind("/") + 1] for each in model.launch.requirements}
    return max((folder for folder in folders if path.startswith(folder)), key=len, default="")


def _resizes_into_pieces(model: Model, module: Module) -> bool:
    """Whether the project pins a transformers whose `resize_token_embeddings` makes the new layer under `zero.Init`.

    Older and newer ones make a whole layer, which the engine cuts up only when it starts, with what has been written (read
    in transformers 4.29.2, 4.34.0, 4.38.2, 4.40.2, 4.45.2 and 5.23.0 modeling_utils.py, `_get_resized_embeddings`; under
    `zero.Init` in 4.32.1 and 4.33.0). LongLoRA d4eb344 fine-tune.py:90, WizardLM cd4b4cc WizardLM/src/train_freeform.py:91.
    """
    launch, path = model.launch, module.path
    return launch.asks_for(_TRANSFORMERS, _PIECES_FROM, path) and launch.older_than(
        _TRANSFORMERS, _PIECES_TO, path
    )


def _resized_above(function: Function, write: ast.stmt) -> bool:
    return any(
        last_name(node.func) == "resize_token_embeddings" and node.lineno < write.lineno
        for node in own_nodes(function, ast.Call)
    )


def _writes(function: Function) -> Iterator[ast.stmt]:
    """The first write of a function to a slice of a model's embeddings."""
    nodes = own_nodes(function, ast.Assign)
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
                for other in own_nodes(function, ast.Assign)
                if any(isinstance(t, ast.Name) and t.id == name for t in other.targets)
            ]
            return bool(values) and all(
                not isinstance(value, ast.Name) and _is_weight(function, value) for value in values
            )
        case ast.Attribute(attr="data", value=value):
            return _is_weight(function, value)
        case ast.Attribute(attr="weight", value=ast.Call(func=ast.Attribute(attr=attr))):
            return attr in _EMBEDDINGS
    return False
