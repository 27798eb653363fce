"""The DeepSpeed JSON: readable, without contradictions, and in agreement with accelerate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from distlint.hardware.accelerate_config import keys
from distlint.hardware.doctor.check import Check, Result, error, ok, skipped, warning
from distlint.hardware.doctor.machine import Machine, Unknown


def deepspeed_json(machine: Machine) -> Iterator[Result]:
    """The JSON by itself and against accelerate's configuration."""
    if isinstance(machine.config, Unknown):
        yield skipped(machine.config.reason)
        return
    file = machine.config.deepspeed
    values = machine.accelerate
    missing = _package_missing(machine, uses=file is not None or _uses_deepspeed(values))
    if missing is not None:
        yield missing
    if file is None:
        if missing is None:
            yield skipped("no DeepSpeed configuration is named")
        return
    if file.missing:
        yield error(
            f"{file.path} ({file.source}): no such file",
            "every rank fails when accelerate reads it.",
            "give a path that is valid where the job starts.",
        )
        return
    if file.problem:
        yield error(f"{file.path} {file.problem}", "every rank fails on it.", "correct the file.")
        return
    found = [
        *_alone(file.path, file.values, machine.processes),
        *_against_accelerate(file.path, file.values, values),
    ]
    yield from found or [ok(f"{file.path}: ZeRO stage {_stage(file.values)}")]


def _uses_deepspeed(values: Mapping[str, Any]) -> bool:
    return values.get("distributed_type") == "DEEPSPEED"


def _package_missing(machine: Machine, *, uses: bool) -> Result | None:
    packages = machine.packages
    if not uses or isinstance(packages, Unknown):
        return None
    if any(package.name == "deepspeed" for package in packages):
        return None
    return error(
        "DeepSpeed is configured and not installed",
        "accelerate launch raises ImportError.",
        "pip install deepspeed",
    )


def _stage(values: Mapping[str, Any]) -> int | None:
    zero = values.get("zero_optimization")
    stage = zero.get("stage", 0) if isinstance(zero, dict) else None
    return stage if isinstance(stage, int) else None


def _alone(path: str, values: Mapping[str, Any], processes: int | None) -> Iterator[Result]:
    zero = values.get("zero_optimization")
    if not isinstance(zero, dict):
        # accelerate 1.15.0 utils/dataclasses.py, DeepSpeedPlugin.__post_init__
        yield error(
            f"{path} has no zero_optimization",
            "accelerate raises ValueError on every rank.",
            '"zero_optimization": {"stage": 2}',
        )
        return
    stage = zero.get("stage", 0)
    if stage not in (0, 1, 2, 3, "auto"):
        yield error(f"{path}: stage is {stage!r}", "there are 0, 1, 2 and 3.", '"stage": 2')
        return
    if _enabled(values, "fp16") and _enabled(values, "bf16"):
        # deepspeed 0.19.8 runtime/config.py, _initialize_params
        yield error(
            f"{path}: fp16 and bf16 are both enabled",
            "DeepSpeed asserts that only one is.",
            'leave one, or set both to "auto" for accelerate to decide.',
        )
    if _device(zero, "offload_param") in ("cpu", "nvme") and stage != 3:
        yield error(
            f"{path}: offload_param with stage {stage}",
            "only stage 3 divides parameters, so only stage 3 offloads them: no memory is saved.",
            '"stage": 3, or remove offload_param.',
        )
    if _device(zero, "offload_optimizer") in ("cpu", "nvme") and stage == 0:
        yield error(
            f"{path}: offload_optimizer with stage 0",
            "nothing is offloaded without ZeRO.",
            '"stage": 2',
        )
    for part in ("offload_param", "offload_optimizer"):
        section = zero.get(part)
        if _device(zero, part) == "nvme" and not (
            isinstance(section, dict) and section.get("nvme_path")
        ):
            yield error(
                f"{path}: {part} to nvme without nvme_path",
                "DeepSpeed has no place to write to.",
                '"nvme_path": "/local_nvme"',
            )
    yield from _batch(path, values, processes)


def _batch(path: str, values: Mapping[str, Any], processes: int | None) -> Iterator[Result]:
    """deepspeed 0.19.8 runtime/config.py, _batch_assertion: the product must be exact."""
    train = values.get("train_batch_size")
    micro = values.get("train_micro_batch_size_per_gpu")
    steps = values.get("gradient_accumulation_steps", 1)
    if not (isinstance(train, int) and isinstance(micro, int) and isinstance(steps, int)):
        return
    if processes is not None and train != micro * steps * processes:
        yield error(
            f"{path}: train_batch_size {train}, but {micro} per GPU x {steps} steps x "
            f"{processes} processes = {micro * steps * processes}",
            "DeepSpeed asserts that they are equal, on every rank.",
            'leave train_batch_size out, or set it to "auto".',
        )


def _against_accelerate(
    path: str, values: Mapping[str, Any], accelerate: Mapping[str, Any]
) -> Iterator[Result]:
    section = accelerate.get("deepspeed_config")
    section = section if isinstance(section, dict) else {}
    if section.get("deepspeed_config_file"):
        # accelerate 1.15.0: commands/launch.py collects the section's keys (and mixed_precision
        # where the file gives it), _deepspeed_config_checks refuses these.
        refused = [key for key in keys.IGNORED_WITH_DEEPSPEED_FILE if key in section]
        if accelerate.get("mixed_precision") is not None:
            refused.append("mixed_precision")
        if refused:
            yield error(
                f"accelerate's configuration has {', '.join(refused)} beside deepspeed_config_file",
                "accelerate raises ValueError on every rank: such values belong into the JSON.",
                "remove them from accelerate's configuration.",
            )
    elif accelerate.get("distributed_type") not in (None, "DEEPSPEED"):
        yield warning(
            f"{path} is given and distributed_type is {accelerate.get('distributed_type')}",
            "accelerate launch does not read it.",
            "distributed_type: DEEPSPEED with deepspeed_config_file in deepspeed_config.",
        )
    precision = accelerate.get("mixed_precision")
    other = {"fp16": "bf16", "bf16": "fp16"}.get(str(precision))
    if other is not None and _enabled(values, other):
        yield error(
            f"{path} enables {other}, accelerate's configuration says {precision}",
            "accelerate raises ValueError on every rank.",
            'set "enabled": "auto" in the JSON, or make them agree.',
        )
    init = section.get("zero3_init_flag")
    if init is True and _stage(values) not in (3, None):
        yield warning(
            f"zero3_init_flag is true with ZeRO stage {_stage(values)}",
            "accelerate switches it off with a warning.",
            "zero3_init_flag: false",
        )


def _enabled(values: Mapping[str, Any], section: str) -> bool:
    inner = values.get(section)
    return isinstance(inner, dict) and str(inner.get("enabled", "false")).lower() == "true"


def _device(zero: Mapping[str, Any], part: str) -> str:
    inner = zero.get(part)
    return str(inner.get("device", "none")) if isinstance(inner, dict) else "none"


CHECKS = (Check("deepspeed-json", "accelerate", deepspeed_json),)
