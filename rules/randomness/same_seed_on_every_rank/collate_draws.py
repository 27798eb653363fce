"""The functions that loaders of training data call for each batch, in workers whose seeds torch's common stream gives."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from distlint.analysis.model import Model
from distlint.analysis.program.definitions import Function
from distlint.analysis.program.memory import all_remembered, remembered
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.knowledge.conventions import LOADER
from distlint.nodes import last_name, walk

from .training_draws import NOT_TRAINING

_DEPTH: Final = 3
_HELD_OUT: Final = (*NOT_TRAINING, "val", "dev")


@all_remembered
def collates(model: Model, function: Function) -> Iterator[Function]:
    """The functions that make the batches of the loaders of a function.

    1xgpt 0069734 train.py:444: `collate_fn = default_data_collator if args.llama_config is not None else
    get_maskgit_collator(config)`, and the second gives a function back that draws the noise of a batch.
    """
    for call in own_nodes(function, ast.Call):
        if model.resolve(function.module, call.func) == LOADER:
            data = [*call.args[:1], *(k.value for k in call.keywords if k.arg == "dataset")]
            if any(word in ast.unparse(each).lower() for each in data for word in _HELD_OUT):
                continue
            for keyword in call.keywords:
                if keyword.arg == "collate_fn":
                    yield from _meant(model, function, keyword.value, _DEPTH)


def _meant(model: Model, function: Function, node: ast.expr, depth: int) -> Iterator[Function]:
    """The functions that an expression may be."""
    if not depth:
        return
    match node:
        case ast.IfExp(body=body, orelse=orelse):
            for arm in (body, orelse):
                yield from _meant(model, function, arm, depth)
        case ast.Call(func=func):
            maker = model.resolve(function.module, func)
            if isinstance(maker, Function):
                for each in own_nodes(maker, ast.Return):
                    if each.value is not None:
                        yield from _meant(model, maker, each.value, depth - 1)
        case ast.Name(id=name):
            nested = next((o.nested[name] for o in function.outward() if name in o.nested), None)
            values = assignments(function).get(name, ())
            if nested is not None:
                yield nested
            elif values:
                for value in values:
                    yield from _meant(model, function, value, depth - 1)
            else:
                meaning = model.resolve(function.module, node)
                if isinstance(meaning, Function):
                    yield meaning


@remembered
def pads(function: Function) -> bool:
    """Whether a function fills the samples of a batch up to the longest one: ranks then draw for other lengths."""
    return any("pad" in last_name(node.func) for node in walk(function.node, ast.Call))
