"""Trainers whose own `_save` drops the state that was gathered for it."""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import Class, dotted_name, last_name
from distlint.analysis.program.syntax import own_nodes
from distlint.knowledge import facts
from distlint.launch.deepspeed import stage_of
from distlint.launch.engines import Engine
from distlint.launch.project import Format
from distlint.patterns import pattern

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function, Module
    from distlint.launch.engines import Start

_TRAINER: Final = "transformers.Trainer"
_GIVEN: Final = "state_dict"
_STATE_OF_PRETRAINED: Final = "transformers.PreTrainedModel.state_dict"
_GATHERS: Final = pattern(r"zero|deepspeed|fsdp|gather|consolidat", re.IGNORECASE)
"""Words of code that looks which engine there is, or gathers what it divided."""


def dropped_states(model: Model) -> Iterator[tuple[Function, ast.Call]]:
    """The calls of `state_dict()` in a Trainer's `_save` in place of the state that it is given.

    transformers 5.23.0 trainer.py, `save_model`: under ZeRO-3 and FSDP the state is gathered on all ranks, and
    given to `_save`, which one rank runs.
    """
    for module in model.modules:
        for cls in module.all_classes if "_save" in module.source.text else ():
            method = cls.methods.get("_save")
            if (
                method is not None
                and _may_be_sharded(model, module)
                and _GIVEN in method.parameters
                and _TRAINER in set(facts.with_bases(model.program.mro(cls)[1]))
                and not any(_asks(node) for node in own_nodes(method))
            ):
                for node in own_nodes(method, ast.Call):
                    match node:
                        case ast.Call(func=ast.Attribute(attr="state_dict", value=owner)) if (
                            ast.unparse(owner) in ("self.model", "self.model_wrapped")
                        ):
                            yield method, node


def ungathered_states(model: Model) -> Iterator[tuple[CallSite, Start]]:
    """States of a Trainer's own model that are saved, where a launch of the program shards it with ZeRO-3.

    DeepSeek-Coder 2f9fd85 finetune/finetune_deepseekcoder.py:44: `trainer.model.state_dict()`, and its README.md launches
    it with configs/ds_config_zero3.json. What asks for the engine, or gathers, says so in words.
    """
    for call in model.calls(".state_dict", "torch.nn.Module.state_dict", _STATE_OF_PRETRAINED):
        site = call.site
        function = site.node.func
        if not isinstance(function, ast.Attribute) or site.node.args or site.node.keywords:
            continue
        if not (isinstance(function.value, ast.Attribute) and function.value.attr == "model"):
            continue
        owner = site.receiver.receiver if site.receiver is not None else None
        if owner is None or not _is_trainer(model, owner.type) or _GATHERS.search(_text(site)):
            continue
        start = model.start_in({Engine.ZERO3}, site.module) if _is_saved(site) else None
        if start is not None:
            yield site, start


def _is_trainer(model: Model, name: str | None) -> bool:
    cls = model.program.lookup(name) if name else None
    outside = model.program.mro(cls)[1] if isinstance(cls, Class) else (name,) if name else ()
    return _TRAINER in set(facts.with_bases(outside))


def _text(site: CallSite) -> str:
    return ast.unparse(site.function.node)


def _is_saved(site: CallSite) -> bool:
    """Whether a function hands a state to what saves it."""
    return any(
        (
            dotted_name(node.func) in ("torch.save", "safetensors.torch.save_file")
            or ("save" in last_name(node.func) and any(k.arg == _GIVEN for k in node.keywords))
        )
        for node in own_nodes(site.function, ast.Call)
    )


def _asks(node: ast.AST) -> bool:
    """Whether a node asks whether a state was given."""
    return isinstance(node, ast.Compare) and ast.unparse(node.left) == _GIVEN


def _may_be_sharded(model: Model, module: Module) -> bool:
    """Whether a configuration around a file asks for ZeRO-3; under stages below each rank has the whole state.

    FlagEmbedding's research folders have each their own.
    """
    around = posixpath.dirname(posixpath.dirname(module.path))
    return any(
        stage_of(file.values) == 3
        and (file.path.startswith(f"{around}/") or "/" not in file.path or not around)
        for file in model.launch.of(Format.DEEPSPEED)
    )
