"""Programs that clip through an Accelerator, which leaves that to DeepSpeed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.model import place_of
from distlint.analysis.program.linked import imported_below
from distlint.analysis.program.syntax import own_nodes
from distlint.findings import Place, Related
from distlint.launch.project import Configuration, Format, Script
from distlint.nodes import last_name

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Module
    from distlint.launch.commands import Launch

KEY = "gradient_clipping"
CLIPS_SINCE = (0, 19, 3)
"""The version of DeepSpeed that clips at 1.0 where the JSON says nothing."""
_NAMED_BY = ("deepspeed", "deepspeed_config", "deepspeed_config_file")


def clipped(model: Model) -> Iterator[tuple[Place, tuple[Related, ...]]]:
    """The calls of `accelerator.clip_grad_norm_()` in what is started with a JSON without the key, and what shows that.

    RoboticsDiffusionTransformer deb71d8 train/train.py:440, started by finetune.sh with configs/zero2.json.
    """
    seen: set[ast.Call] = set()
    for module in model.modules:
        calls = [
            (each, call)
            for each in sorted(imported_below(model.program, module), key=lambda each: each.path)
            for call in _clips(each)
            if call not in seen
        ]
        for script, launch in model.launch.starting(module.path) if calls else ():
            json = _json_of(model, script, launch)
            if (
                json is None
                or KEY in json.values
                or not model.launch.older_than("deepspeed", CLIPS_SINCE, json.path)
            ):
                continue
            seen |= {call for _, call in calls}
            places = (Related(json.place(()), "the JSON"), Related(launch.place, "names it"))
            yield from ((place_of(each, call), places) for each, call in calls)
            break


def _clips(module: Module) -> Iterator[ast.Call]:
    for function in module.all_functions if "clip_grad_norm_" in module.source.text else ():
        for node in own_nodes(function):
            match node:
                case ast.Call(func=ast.Attribute(attr="clip_grad_norm_", value=receiver)):
                    if "accelerator" in last_name(receiver):
                        yield node


def _json_of(model: Model, script: Script, launch: Launch) -> Configuration | None:
    """The JSON of DeepSpeed that a launch names: to the script, to `accelerate launch`, or in its configuration."""
    for option in (*launch.arguments.values(), *launch.options.values()):
        if option.name in _NAMED_BY and option.value and option.sure:
            return model.launch.named(option.value, script.path, Format.DEEPSPEED)
    configuration = model.launch.configured(script, launch)
    return model.launch.json_of(configuration) if configuration is not None else None
