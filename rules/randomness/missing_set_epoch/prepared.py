"""Batch samplers of the project's own behind `accelerator.prepare()`, whose wrapper hides `set_epoch`.

accelerate 1.15.0 accelerate/data_loader.py:110: on several processes a `BatchSamplerShard` stands around the batch
sampler. It has no `set_epoch`, and `DataLoaderShard.set_epoch` looks for one on it and on the sampler inside.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from distlint.analysis.program.definitions import Function, Module
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.nodes import last_name

from .epochs import epoch_loops


def hidden_samplers(
    module: Module, is_sampler: Callable[[ast.Call], bool]
) -> Iterator[tuple[ast.Call, str, ast.Call | None]]:
    """The calls that make such a sampler, its name, and the call that means to tell it the epoch; None for none.

    F5-TTS src/f5_tts/model/trainer.py:352: `if hasattr(train_dataloader.batch_sampler, "set_epoch")` is never true.

    Args:
        module: the file.
        is_sampler: whether a call makes a sampler that can be told the epoch and shuffles by it.
    """
    imported = {name.partition(".")[0] for name in module.imports.values()}
    if "accelerate" not in imported or "batch_sampler" not in module.source.text:
        return
    for function in module.all_functions:
        if not any(epoch_loops(function)):
            continue
        for loader, sampler in _loaders(function):
            made = [v for v in assignments(function).get(sampler, ()) if isinstance(v, ast.Call)]
            if len(made) == 1 and is_sampler(made[0]) and _is_prepared(function, loader):
                told = list(_told(function))
                hidden = {loader, f"{loader}.batch_sampler"}
                if all(ast.unparse(receiver) in hidden for _, receiver in told):
                    yield made[0], sampler, told[0][0] if told else None


def _loaders(function: Function) -> Iterator[tuple[str, str]]:
    """The names of loaders and of the batch samplers that they are given."""
    for name, values in assignments(function).items():
        for value in values:
            if isinstance(value, ast.Call) and last_name(value.func) == "DataLoader":
                for keyword in value.keywords:
                    if keyword.arg == "batch_sampler" and isinstance(keyword.value, ast.Name):
                        yield name, keyword.value.id


def _is_prepared(function: Function, loader: str) -> bool:
    return any(
        last_name(node.func) == "prepare"
        and any(ast.unparse(argument) == loader for argument in node.args)
        for node in own_nodes(function, ast.Call)
    )


def _told(function: Function) -> Iterator[tuple[ast.Call, ast.expr]]:
    for node in own_nodes(function, ast.Call):
        match node:
            case ast.Call(func=ast.Attribute(value=receiver, attr="set_epoch")):
                yield node, receiver
