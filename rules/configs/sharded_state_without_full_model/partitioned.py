"""Launches under ZeRO-3 whose weights are not gathered where a Trainer saves its model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from distlint.findings import Place
from distlint.knowledge.configuration.launchers import Launcher
from distlint.knowledge.configuration.values import section_of
from distlint.launch.absent import jsons_named
from distlint.launch.deepspeed import stage_of, value_at
from distlint.launch.project import Format

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.launch.commands import Launch

_GATHERS: Final = "zero3_save_16bit_model"
"""What accelerate calls it."""
_GATHERS_IN_JSON: Final = tuple(
    f"{before}gather_{bits}_weights_on_model_save"
    for before in ("stage3_", "")
    for bits in ("16bit", "fp16")
)
"""deepspeed 0.19.8 runtime/zero/config.py: both names, and what the first was called once."""
_ELSEWHERE: Final = ("16bit_model", "on_model_save", "GatheredParameters", "zero_to_fp32", "merge")
"""What shows that a program gathers the weights itself, or knows that it has a checkpoint of shards."""


def partitioned(model: Model, path: str) -> tuple[Launch, Place, str] | None:
    """A launch of a script under ZeRO-3 that gathers nothing where a model is saved, the setting of the stage, and what would
    have the weights gathered.

    multi-gpu-sft 3d927ab mdx/run_full.sh:6: `zero_stage: 3` in configs/accelerate_config_zero3.yaml, and `trainer.save_model()`
    in train_full.py.
    """
    for script, launch in model.launch.starting(path):
        option = launch.options.get("config_file")
        if launch.launcher is Launcher.ACCELERATE and option is not None and option.value:
            found = model.launch.named(option.value, script.path, Format.ACCELERATE)
            values = found.values if found is not None else {}
            section = section_of(values, "deepspeed_config")
            if (
                found is not None
                and values.get("distributed_type") == "DEEPSPEED"
                and section.get("zero_stage") == 3
                and "deepspeed_config_file" not in section
                and str(section.get(_GATHERS, False)).lower() == "false"
                and _GATHERS not in launch.options
                and "deepspeed" not in launch.arguments
            ):
                return launch, found.place(("deepspeed_config", "zero_stage")), f"{_GATHERS}: true"
        named = launch.arguments.get("deepspeed")
        if named is not None and "per_device_train_batch_size" in launch.arguments:
            found = next(jsons_named(model.launch, named, script), None)
            if named.value is not None and found is not None and stage_of(found.values) == 3:
                stage = ("zero_optimization", "stage")
                if not any(value_at(found.values, (*stage[:1], key)) for key in _GATHERS_IN_JSON):
                    return launch, found.place(stage), f'"{_GATHERS_IN_JSON[0]}": true'
    return None


def is_gathered(model: Model) -> bool:
    """Whether the program itself sees to the weights."""
    return any(word in m.source.text for m in model.modules for word in _ELSEWHERE)
