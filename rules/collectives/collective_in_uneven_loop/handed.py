"""A rank's share of a data set that goes to an object, which trains on all of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import Class, Function, Module, dotted_name, last_name
from distlint.analysis.program.handed import argument_of
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.analysis.questions.training import goes_backward
from distlint.knowledge.conventions import LOADER
from distlint.nodes import walk

from .evened import is_joined, is_made_even

if TYPE_CHECKING:
    from distlint.analysis.model import Model

_SHARES: Final = frozenset({"shard", "split_dataset_by_node"})
"""Calls of `datasets` that give a rank its part, whose lengths differ by one (5.0.0 datasets/arrow_dataset.py)."""


def handed_shares(model: Model, module: Module) -> Iterator[tuple[ast.Call, Module, ast.For]]:
    """Each share that the constructor of a class keeps, and the loop of the class that trains on a loader of it.

    sae e657340 sparsify/__main__.py:161: `dataset = dataset.shard(dist.get_world_size(), rank)`, then
    `Trainer(args, dataset, model)`.
    """
    if not any(name in module.source.text for name in _SHARES):
        return
    for function in (module.body, *module.all_functions):
        shares = {
            name: value
            for name, values in assignments(function).items()
            for value in values
            if isinstance(value, ast.Call)
            and _is_share(value)
            and not is_made_even(model, function, value)
        }
        for call in own_nodes(function) if shares else ():
            if isinstance(call, ast.Call):
                for name, share in shares.items():
                    for user, loop in _trains_on(model, function, call, name):
                        yield share, user.module, loop


def _is_share(call: ast.Call) -> bool:
    """Whether a call gives each rank another part: it speaks of the rank."""
    given = (*call.args, *(keyword.value for keyword in call.keywords))
    return last_name(call.func) in _SHARES and any(
        "rank" in last_name(each).lower() or "process_index" in last_name(each) for each in given
    )


def _trains_on(
    model: Model, function: Function, call: ast.Call, name: str
) -> Iterator[tuple[Function, ast.For]]:
    cls = model.resolve(function.module, call.func)
    init = cls.methods.get("__init__") if isinstance(cls, Class) else None
    if not isinstance(cls, Class) or init is None:
        return
    given = {p: argument_of(call, init, p) for p in init.parameters}
    kept = [p for p, each in given.items() if each is not None and dotted_name(each) == name]
    attributes = {
        target
        for target, values in assignments(init).items()
        if target.startswith("self.") and any(dotted_name(v) in kept for v in values)
    }
    for method in cls.methods.values() if attributes else ():
        for loop in _loops_over(model, method, attributes):
            if goes_backward(loop) and not is_joined(method, loop):
                yield method, loop


def _loops_over(model: Model, method: Function, attributes: set[str]) -> Iterator[ast.For]:
    """The loops of a method over a loader of an attribute's data without a sampler."""
    known = assignments(method)
    data = attributes | {
        name for name, values in known.items() if any(_mentions(v, attributes) for v in values)
    }
    loaders = {
        name
        for name, values in known.items()
        for value in values
        if isinstance(value, ast.Call)
        and model.resolve(method.module, value.func) == LOADER
        and value.args
        and dotted_name(value.args[0]) in data
        and not {"sampler", "batch_sampler"} & {k.arg for k in value.keywords}
    }
    for node in own_nodes(method) if loaders else ():
        if isinstance(node, ast.For) and _mentions(node.iter, loaders):
            yield node


def _mentions(node: ast.expr, names: set[str]) -> bool:
    return any(dotted_name(part) in names for part in walk(node, ast.Name, ast.Attribute))
