"""Loaders that a Trainer of Lightning leaves as they are: it is told to, or is given what is no loader of torch."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distlint.analysis.interpreter.ir import CallSite
from distlint.analysis.model import Model
from distlint.analysis.program.definitions import Class, Function, Module
from distlint.analysis.program.linked import imported_below
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import own_nodes
from distlint.analysis.questions.lightning import fits, given_to, leaves_data_whole
from distlint.analysis.questions.origins import Origin, origins
from distlint.patterns import pattern
from distlint.records import dataclass

from .left_out import LOADER

_DIVIDES = pattern(
    r"\b(?:global_|local_|process_)?rank\b|get_rank|process_index|world_size|num_replicas|node_count"
    r"|Distributed\w*Sampler\(|split_\w*by_node|\bshard|IterableDataset|webdataset|\bwds\."
)
"""What gives a rank its part, or may."""
_PLAIN = frozenset(
    f"torch.utils.data.{name}"
    for name in ("RandomSampler", "SequentialSampler", "WeightedRandomSampler")
)


@dataclass(frozen=True, slots=True)
class LeftWhole:
    """A loader that each rank goes through as it is, what has it so, and the `fit` that starts the ranks."""

    function: Function
    node: ast.Call
    why: str
    fit: CallSite


def left_whole(model: Model) -> Iterator[LeftWhole]:
    """The loaders of trainings on several ranks of which Lightning divides none, nor does what makes them."""
    for sites in model.answer(fits).values():
        for fit in sites:
            whole = leaves_data_whole(fit.module)
            for _, value in given_to(fit):
                made = origins(model, fit.function, value)
                for each in (found for one in made if one for found in _loaders(model, one)):
                    if whole and _is_whole(model, fit, each):
                        why = "the Trainer is told to leave the samplers alone"
                        yield LeftWhole(each.function, each.call, why, fit)
                    elif not whole and _hides_loaders(model, fit, each):
                        why = f"the Trainer divides a `DataLoader`, and a `{ast.unparse(each.call.func)}` is none"
                        yield LeftWhole(each.function, each.call, why, fit)


def _loaders(model: Model, made: Origin) -> Iterator[Origin]:
    """What goes through the data of the training: the value itself, or what a data module or a model makes."""
    if not isinstance(made.meaning, Class):
        yield made
        return
    method = model.program.find_method(made.meaning, "train_dataloader")
    if method is None:
        return
    for node in own_nodes(method, ast.Return):
        if node.value is not None:
            yield from (each for each in origins(model, method, node.value) if each is not None)


def _is_whole(model: Model, fit: CallSite, made: Origin) -> bool:
    """Whether a loader has all of a data set: a plain sampler, or one of the program that knows of no ranks."""
    given = {keyword.arg: keyword.value for keyword in made.call.keywords}
    if made.meaning != LOADER or None in given or "batch_sampler" in given:
        return False
    sampler = given.get("sampler")
    if sampler is None:
        return not _may_divide(model, fit.module)
    found = origins(model, made.function, sampler)
    return all(
        each is not None and (each.meaning in _PLAIN or _is_without_ranks(model, each.meaning))
        for each in found
    ) and not _DIVIDES.search(_code(made.function.module))


def _is_without_ranks(model: Model, meaning: object) -> bool:
    if not isinstance(meaning, Class):
        return False
    own, outside = model.program.mro(meaning)
    return not any("Distributed" in name for name in outside) and not any(
        _DIVIDES.search(ast.unparse(cls.node)) for cls in own
    )


def _hides_loaders(model: Model, fit: CallSite, made: Origin) -> bool:
    """Whether something is a class of the program that goes through loaders, and is no loader of torch.

    facebookresearch/multimodal 3c2a85a examples/common/data/multidata.py: `MultiDataLoader(loaders)`; Lightning asks
    `isinstance(dataloader, DataLoader)` (pytorch-lightning 2.6.6
    pytorch_lightning/trainer/connectors/data_connector.py, `_prepare_dataloader`).
    """
    if not isinstance(made.meaning, Class):
        return False
    own, outside = model.program.mro(made.meaning)
    return (
        not set(outside) - {"object", "typing.Generic", "abc.ABC"}
        and any("__iter__" in cls.methods for cls in own)
        and any("loader" in p for cls in own for p in _init_parameters(cls))
        and not any(_DIVIDES.search(_code(cls.module)) for cls in own)
        and not _may_divide(model, fit.module)
    )


def _init_parameters(cls: Class) -> list[str]:
    init = cls.methods.get("__init__")
    return init.parameters if init is not None else []


def _may_divide(model: Model, module: Module) -> bool:
    """Whether a file that makes loaders, of those that a script leads to, gives ranks their part."""
    files = imported_below(model.program, module)
    making = [each for each in files if "DataLoader(" in each.source.text]
    return not making or any(_DIVIDES.search(_code(each)) for each in (module, *making))


@remembered
def _code(module: Module) -> str:
    """The code of a file without its comments."""
    return ast.unparse(module.source.tree)
