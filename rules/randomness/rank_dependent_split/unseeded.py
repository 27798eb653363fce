"""Shuffles in the constructors of data sets, and splits, before anything is seeded."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import Class, last_name
from distlint.knowledge import facts
from distlint.nodes import walk

if TYPE_CHECKING:
    from distlint.analysis.model import CallGroup, Model
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
_SPLIT_SEEDS: Final = frozenset(
    {"seed", "random_state", "generator", "generators", "shuffle", None}
)
_WORDS: Final = ("seed", "determin")


def unseeded_shuffles(model: Model, module: Module) -> Iterator[tuple[Module, ast.Call, ast.Call]]:
    """The shuffles of data sets of a script that first its Trainer seeds, each with its file, and where that is made.

    A Trainer seeds all ranks alike when it is made, and gives each rank its part of the indices. The classes of
    the data sets are in the script, or it makes objects of them (Qwen3-VL issue 1971).
    """
    if "rainer" not in module.source.text:
        return
    calls = [
        node
        for function in module.all_functions
        for node in walk(function.node)
        if isinstance(node, ast.Call)
    ]
    trainers = [node for node in calls if _is_trainer(model, module, node)]
    if not trainers:
        return
    made = (model.resolve(module, node.func) for node in calls)
    shuffles = [
        (cls.module, node)
        for cls in dict.fromkeys([*module.all_classes, *(c for c in made if isinstance(c, Class))])
        if _DATA_SET in facts.with_bases(model.program.mro(cls)[1])
        for node in _shuffles(model, cls)
    ]
    if shuffles and not any(_seeds(m) for m in model.program.modules.values()):
        yield from ((where, node, trainers[0]) for where, node in shuffles)


def unseeded_splits(model: Model, module: Module) -> Iterator[CallGroup]:
    """The splits that each rank makes by itself, in a program that seeds nothing.

    scikit-learn and datasets draw from NumPy's global generator, which each process starts differently;
    `random_split` draws from torch's, which starts alike (torch 2.13.0, `default_rng_seed_val`).
    """
    if _SPLIT not in module.source.text or not _has_ranks(model, module):
        return
    for call in model.calls(f".{_SPLIT}", module=module):
        words = {k.arg for k in call.site.node.keywords}
        if call.guarded_by_rank or words & _SPLIT_SEEDS or call.site.callee is not None:
            continue
        if not any(_seeds(m) for m in model.program.modules.values()):
            yield call


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
