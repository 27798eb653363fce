"""Files whose loaders go to a library that tells their samplers the epoch."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import Function
from distlint.analysis.program.linked import linked
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.knowledge import facts
from distlint.nodes import last_name, walk
from distlint.patterns import pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Module
    from distlint.analysis.program.program import Program

_SETS_EPOCH: Final = frozenset(
    {"lightning", "pytorch_lightning", "composer", "mmengine", "ignite", "ray", "catalyst"}
)
"""Libraries that set the epoch of the samplers of loaders that they are given."""
_TOOLS: Final = pattern(
    r"(?:(?:pytorch_)?lightning\.(?:\w+\.)?(?:utilities|loggers)|ignite\.metrics)\b"
)
"""Parts of Lightning and ignite that train nothing: Show-o's `CombinedLoader` begins its loaders anew, and no more;
2021_hemo_3D_patch_seg d6d15d8 src/ddp_example.py:45, `from ignite import metrics`."""
_HOLDS_LOADERS: Final = pattern(r"(?:pytorch_)?lightning\.(?:\w+\.)*LightningDataModule$")
"""Makes loaders, and tells nobody the epoch: that is for the Trainer which is given it.

facebookresearch/multimodal 3c2a85a examples/albef/finetune_retrieval.py:45 goes through
`datamodule.train_dataloader()` itself.
"""
_RUNS_LOADERS: Final = pattern(r"Trainer|Fabric|LightningCLI|LightningModule")
_DIVIDES: Final = pattern(r"\bAccelerator\(|\.prepare\(|prepare_data_loader|Trainer\(")
"""What has accelerate divide data; llama-recipes faae2fd src/llama_cookbook/utils/train_utils.py asks it for `is_xpu_available()`."""
_HIDES_SAMPLER: Final = frozenset({"webdataset.WebLoader"})
"""Loaders without an attribute `sampler`: nobody who is given one finds whom to tell the epoch.

webdataset 0.2.86 webdataset/compat.py: a WebLoader is a pipeline with a DataLoader as its first stage.
"""
_ONLY_HOLDS: Final = pattern(r"(?:pytorch_)?lightning\.(?:\w+\.)*CombinedLoader$")
"""Goes through several loaders, and is none: accelerate 1.15.0 accelerate/accelerator.py:1341 (`_prepare_one`) gives back what is no
`DataLoader`, model, optimizer or scheduler."""
_TRAINER: Final = "transformers.Trainer"
_PREPARES: Final = frozenset({"prepare", "prepare_data_loader"})
_NO_LOADER: Final = pattern(
    r"model|net|optim|sched|ema|encoder|decoder|vae|transformer|disc|critic|actor|policy|adapter|module"
)
_LOADER: Final = pattern(r"data|load|\bdl|dl\b|iter|batch|set\b")


def hidden_by_loaders(
    model: Model, module: Module, is_sampler: Callable[[Function, ast.Call], bool]
) -> Iterator[tuple[ast.Call, ast.Call]]:
    """The samplers whose loaders keep them from the framework, and these loaders, where nobody calls `set_epoch`.

    InstantMesh 08822c5 src/data/objaverse.py:62: `wds.WebLoader(data, sampler=sampler)` for Lightning.

    Args:
        model: what is asked.
        module: the file.
        is_sampler: whether a call of a function makes a sampler that shuffles, for data that is trained on.
    """
    if "webdataset" not in module.source.text or not tells_epochs(model.program, module):
        return
    if any("set_epoch(" in each.source.text for each in linked(model.program, module)):
        return
    for function in module.all_functions:
        for call in own_nodes(function, ast.Call):
            if model.resolve(module, call.func) in _HIDES_SAMPLER:
                for given in (k.value for k in call.keywords if k.arg == "sampler"):
                    for made in (given, *assignments(function).get(last_name(given), ())):
                        if isinstance(made, ast.Call) and is_sampler(function, made):
                            yield made, call


def kept_from_trainer(
    model: Model, module: Module, is_sampler: Callable[[Function, ast.Call], bool]
) -> Iterator[ast.Call]:
    """The samplers of loaders that a Trainer's own `get_train_dataloader` gives as they are.

    transformers 4.48.0 trainer.py:2444: `if hasattr(epoch_dataloader, "set_epoch")`, which a loader of accelerate has and
    one of torch has not; 4.31.0 tells nobody, 4.30.2 trainer.py:1882 the sampler of a plain loader. pyreft
    pyreft/reft_trainer.py:163.
    """
    if "get_train_dataloader" not in module.source.text or model.launch.older_than(
        "transformers", (4, 31), module.source.path
    ):
        return
    for cls in module.all_classes:
        own, outside = model.program.mro(cls)
        method = cls.methods.get("get_train_dataloader")
        if method is None or _TRAINER not in facts.with_bases(outside):
            continue
        if any("set_epoch" in each.module.source.text for each in own) or _may_prepare(
            model, method
        ):
            continue
        for call in own_nodes(method, ast.Call):
            if is_sampler(method, call):
                yield call


def _may_prepare(model: Model, method: Function) -> bool:
    """Whether a method, or a function that it calls, may hand its loader to accelerate."""
    called = [model.resolve(method.module, node.func) for node in own_nodes(method, ast.Call)]
    bodies = [method, *(each for each in called if isinstance(each, Function))]
    return any(
        "prepare" in ast.unparse(each.node) and not _prepares_only_holders(model, each)
        for each in bodies
    )


def _prepares_only_holders(model: Model, function: Function) -> bool:
    """Whether all that a function has accelerate prepare are objects that only hold loaders, which it gives back as they are.

    OmniMamba b372978 trainer.py:110: `self.accelerator.prepare(combined_dataloader)`.
    """
    flows = assignments(function)
    calls = [node for node in own_nodes(function, ast.Call) if "prepare" in last_name(node.func)]
    given = [
        flows.get(argument.id, [argument]) if isinstance(argument, ast.Name) else [argument]
        for call in calls
        for argument in (*call.args, *(k.value for k in call.keywords))
    ]
    return bool(given) and all(
        isinstance(made, ast.Call)
        and isinstance(meaning := model.resolve(function.module, made.func), str)
        and _ONLY_HOLDS.match(meaning) is not None
        for values in given
        for made in values
    )


def tells_epochs(program: Program, module: Module) -> bool:
    """Whether a file hands its loaders to such a library, or may: what accelerate prepares it tells the epoch.

    Show-o 45a5a2d training/train.py:449: `accelerator.prepare(model, optimizer, lr_scheduler)`, and the loaders over
    samplers made by hand stay as they are; Otter 1e7eb9a has them in a file beside the one that prepares.
    """
    used = [name for name in module.imports.values() if not _TOOLS.match(name)]
    imported = {name.partition(".")[0] for name in used if not _HOLDS_LOADERS.match(name)}
    if not _SETS_EPOCH.isdisjoint(imported):
        return True
    if any(map(_HOLDS_LOADERS.match, used)) and _named_around(program, module, _RUNS_LOADERS):
        return True
    return (
        "accelerate" in imported
        and _named_around(program, module, _DIVIDES)
        and not _prepares_no_loader(linked(program, module))
    )


def _named_around(program: Program, module: Module, words: re.Pattern[str]) -> bool:
    return any(words.search(each.source.text) for each in linked(program, module))


@remembered
def _given_to_prepare(module: Module) -> tuple[ast.expr, ...]:
    """What a file has accelerate prepare."""
    if "prepare" not in module.source.text:
        return ()
    return tuple(
        argument
        for node in walk(module.source.tree, ast.Call)
        if last_name(node.func) in _PREPARES
        for argument in node.args
    )


def _prepares_no_loader(modules: frozenset[Module]) -> bool:
    """Whether all that files have accelerate prepare are models, optimizers and schedulers."""
    given = [argument for module in modules for argument in _given_to_prepare(module)]
    return bool(given) and all(
        isinstance(argument, ast.Name | ast.Attribute)
        and _NO_LOADER.search(last_name(argument).lower()) is not None
        and _LOADER.search(last_name(argument).lower()) is None
        for argument in given
    )
