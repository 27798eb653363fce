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
    clips = {m: found for m in model.program.modules.values() if (found := list(_clips(m)))}
    seen: set[ast.Call] = set()
    for module in model.modules if clips else ():
        near = clips.keys() & imported_below(model.program, module)
        calls = [
            (each, call)
            for each in sorted(near, key=lambda each: each.path)
            for call in clips[each]
            if call not in seen
        ]
        for json, named in _configured(model, module) if calls else ():
            if KEY not in json.values and model.launch.older_than(
                "deepspeed", CLIPS_SINCE, json.path
            ):
                seen |= {call for _, call in calls}
                places = (Related(json.place(()), "the JSON"), Related(named, "names it"))
                yield from ((place_of(each, call), places) for each, call in calls)
                break


def _configured(model: Model, module: Module) -> Iterator[tuple[Configuration, Place]]:
    """The JSON files that launches of a script name, or, where none does, the plugins that it makes: all, or none at all."""
    launched = [
        (json, launch.place)
        for script, launch in model.launch.starting(module.path)
        if (json := _json_of(model, script, launch)) is not None
    ]
    yield from launched
    made = sorted(_plugins(module), key=lambda each: each[0].lineno) if not launched else []
    jsons = [
        model.launch.named(value.value, module.path, Format.DEEPSPEED)
        for _, value in made
        if isinstance(value, ast.Constant) and isinstance(value.value, str)
    ]
    if len(jsons) == len(made) and all(j is not None and KEY not in j.values for j in jsons):
        for json, (call, _) in zip(jsons, made, strict=True):
            if json is not None:
                yield json, place_of(module, call)


def _plugins(module: Module) -> Iterator[tuple[ast.Call, ast.expr | None]]:
    """The plugins of DeepSpeed that a file makes, each with the configuration that it is given.

    UNO d305981 train.py:211: `DeepSpeedPlugin(hf_ds_config='config/deepspeed/zero2_config.json')`.
    """
    for function in module.all_functions if "DeepSpeedPlugin(" in module.source.text else ():
        for node in own_nodes(function, ast.Call):
            if last_name(node.func) == "DeepSpeedPlugin":
                given = {keyword.arg: keyword.value for keyword in node.keywords}
                yield node, given.get("hf_ds_config")


def _clips(module: Module) -> Iterator[ast.Call]:
    for function in module.all_functions if "clip_grad_norm_" in module.source.text else ():
        for node in own_nodes(function, ast.Call):
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
