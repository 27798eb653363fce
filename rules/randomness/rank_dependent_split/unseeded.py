"""Shuffles in the constructors of data sets, and splits, before anything is seeded."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import Class, last_name
from distlint.analysis.program.syntax import mentions_rank, own_nodes
from distlint.knowledge import facts
from distlint.nodes import walk

from .unordered import is_divided

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Module

_SHUFFLES: Final = ("random.shuffle", "numpy.random.shuffle")
_DATA_SET: Final = "torch.utils.data.Dataset"
_SEED_LATER: Final = "transformers.Trainer"
_DIVIDES: Final = (
    "accelerate.Accelerator.prepare",
    "torch.nn.parallel.DistributedDataParallel",
    "torch.utils.data.DistributedSampler",
    "deepspeed.initialize",
)
_SPLIT: Final = "train_test_split"
_RANDOM_SPLIT: Final = "torch.utils.data.random_split"
_SPLIT_SEEDS: Final = frozenset(
    {"seed", "random_state", "generator", "generators", "shuffle", None}
)
_WORDS: Final = ("seed", "determin")


def unseeded_shuffles(model: Model, module: Module) -> Iterator[tuple[ast.Call, ast.Call]]:
    """The shuffles of data sets of a script that first its Trainer seeds, and where that is made.

    A Trainer seeds all ranks alike when it is made, and gives each rank its part of the indices.
    """
    if "shuffle" not in module.source.text:
        return
    shuffles = [
        node
        for cls in module.all_classes
        if _DATA_SET in facts.with_bases(model.program.mro(cls)[1])
        for node in _shuffles(model, cls)
    ]
    if not shuffles:  # as nearly everywhere
        return
    trainers = [
        node
        for function in module.all_functions
        for node in walk(function.node)
        if isinstance(node, ast.Call) and _is_trainer(model, module, node)
    ]
    if trainers and not any(_seeds(m) for m in model.program.modules.values()):
        yield from ((node, trainers[0]) for node in shuffles)


def unseeded_splits(model: Model, module: Module) -> Iterator[ast.Call]:
    """The splits that each rank makes by itself, in a program that seeds nothing.

    scikit-learn and datasets draw from NumPy's global generator, `random_split` from torch's: each process starts
    both with a number of its own (torch 2.13.0 aten/src/ATen/CPUGeneratorImpl.cpp: `getNonDeterministicRandom`).
    """
    found: list[ast.Call] = []
    if _SPLIT in module.source.text and _has_ranks(model, module):
        for call in model.calls(f".{_SPLIT}", module=module):
            words = {k.arg for k in call.site.node.keywords}
            if not (call.guarded_by_rank or words & _SPLIT_SEEDS or call.site.callee is not None):
                found.append(call.site.node)
    if "random_split" in module.source.text and model.is_distributed(module):
        found += [] if not is_divided(model, module) else _torch_splits(model, module)
    if found and not any(_seeds(m) for m in model.program.modules.values()):
        yield from found


def _torch_splits(model: Model, module: Module) -> Iterator[ast.Call]:
    """The calls of `random_split` without a generator; a function that does nothing else is not followed."""
    for function in module.all_functions:
        nodes = own_nodes(function)
        if any(isinstance(node, ast.If) and mentions_rank(node.test) for node in nodes):
            continue
        for node in nodes:
            if (
                isinstance(node, ast.Call)
                and model.resolve(module, node.func) == _RANDOM_SPLIT
                and len(node.args) < 3
                and not any(keyword.arg in ("generator", None) for keyword in node.keywords)
            ):
                yield node


def _has_ranks(model: Model, module: Module) -> bool:
    """Whether several ranks divide data in a file."""
    return any(True for _ in model.calls(*_DIVIDES, module=module))


def _is_trainer(model: Model, module: Module, node: ast.Call) -> bool:
    meaning = model.resolve(module, node.func)
    if isinstance(meaning, Class):
        return _SEED_LATER in facts.with_bases(model.program.mro(meaning)[1])
    return meaning == _SEED_LATER


def _shuffles(model: Model, cls: Class) -> Iterator[ast.Call]:
    made = cls.methods.get("__init__")
    if made is None:
        return
    for node in walk(made.node):
        meaning = model.resolve(made.module, node.func) if isinstance(node, ast.Call) else None
        if isinstance(node, ast.Call) and isinstance(meaning, str) and meaning in _SHUFFLES:
            yield node


def _seeds(module: Module) -> bool:
    """Whether anything in a file may seed, by the name of what it calls."""
    return any(
        any(word in last_name(node.func).lower() for word in _WORDS)
        for node in walk(module.source.tree)
        if isinstance(node, ast.Call)
    )
