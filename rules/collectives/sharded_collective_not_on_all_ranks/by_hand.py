"""Whether the gradients are averaged by hand, parameter by parameter, which only whole parameters allow."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import dotted_name, last_name
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import own_nodes
from distlint.nodes import walk
from distlint.patterns import pattern

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Function

_AVERAGES: Final = frozenset({"reduce", "all_reduce"})
_LISTS: Final = frozenset({"parameters", "named_parameters"})
_OF_TRAINING: Final = pattern(r"opt|sched|load|data", re.IGNORECASE)
"""Names of what is prepared beside a model."""
_ON_SEVERAL: Final = pattern(
    r"[\w.]*sync_gradients|[\w.]*distributed_type != [\w.]*\.NO|[\w.]*(?:num_processes|world_size|get_world_size\(\)) > 1"
)
"""Conditions that hold in the steps of every launch of several processes."""


@remembered
def averages_by_hand(function: Function) -> bool:
    """Whether each step reduces `param.grad` over the ranks, in a program that DeepSpeed does not run either.

    FSDP leaves a rank the gradients of its shards, and none of other parameters: the first step mixes or misses them, so
    that no such run comes to a save. DeepSpeed keeps its gradients itself, and wants a data loader with the first model
    that is prepared (accelerate 1.15.0 accelerator.py:2199). musubi-tuner 30c658c src/musubi_tuner/hv_train.py:1102.
    Not so sd-scripts 48d368f train_network.py, whose other arm prepares `ds_model` for DeepSpeed.
    """
    methods = [*function.cls.methods.values()] if function.cls is not None else [function]
    return (
        any(_averages(method.body) for method in methods)
        and any(_prepares_alone(method) for method in methods)
        and not any(map(_names_deepspeed, methods))
    )


def _averages(block: Iterable[ast.stmt]) -> bool:
    """Whether the steps in a block reduce the gradients of all parameters of a model, under no option."""
    for statement in block:
        match statement:
            case ast.For(target=target, iter=ast.Call(func=func)) if last_name(func) in _LISTS:
                grads = {f"{part.id}.grad" for part in walk(target, ast.Name)}
                if any(
                    last_name(node.func) in _AVERAGES
                    and any(dotted_name(given) in grads for given in node.args[:1])
                    for node in walk(statement, ast.Call)
                ):
                    return True
            case ast.If(test=test, body=body):
                if _ON_SEVERAL.fullmatch(ast.unparse(test)) and _averages(body):
                    return True
            case ast.For(body=body) | ast.While(body=body) | ast.With(body=body):
                if _averages(body):
                    return True
    return False


def _prepares_alone(function: Function) -> bool:
    """Whether a function prepares a model by itself."""
    return any(
        last_name(node.func) == "prepare"
        and len(node.args) == 1
        and dotted_name(node.args[0])
        and not _OF_TRAINING.search(dotted_name(node.args[0]))
        for node in own_nodes(function, ast.Call)
    )


def _names_deepspeed(function: Function) -> bool:
    return any(
        "deepspeed" in last_name(node).lower()
        for node in own_nodes(function, ast.Name, ast.Attribute)
    )
