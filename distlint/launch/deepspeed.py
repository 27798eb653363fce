"""The DeepSpeed JSON: without contradictions, and in agreement with accelerate."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from distlint.knowledge.configuration import deepspeed_keys, keys
from distlint.knowledge.configuration.values import section_of
from distlint.launch.accelerate import offload
from distlint.launch.defects import Defect, mended, mild, severe
from distlint.launch.spelling import named

_IN_VAIN = keys.OF_LAUNCHER | {"data_parallel_size"}
"""Keys that DeepSpeed does not read, and loses nothing by: it counts the replicas itself (ray_train_tensor_parallel fe9b45b
autotp_strategy.py:276)."""


def names(
    values: Mapping[str, Any],
    *,
    removed: bool,
    is_older: Callable[[tuple[int, ...]], bool] = lambda _: False,
) -> Iterator[Defect]:
    """Keys that DeepSpeed does not read, or refuses; with `removed`, those of features that are gone.

    `is_older` says whether the DeepSpeed that reads them is older than a version.
    """
    known = deepspeed_keys.TOP_LEVEL | deepspeed_keys.EXTENSIONS | deepspeed_keys.REMOVED
    unknown = sorted(
        key
        for key, value in values.items()
        if key not in known and not _is_note(key) and not _asks_for_nothing(values, value)
    )
    if unknown:
        yield (mended if _IN_VAIN.issuperset(unknown) else mild)(
            (unknown[0],),
            f"has unknown {named(unknown, deepspeed_keys.TOP_LEVEL)}",
            "DeepSpeed never reads it: what it asks for does not happen.",
            "correct or remove it.",
        )
    for row in deepspeed_keys.STRICT:
        inner, older = value_at(values, row.path), is_older(row.since)
        allowed = row.keys | row.before if older else row.keys
        unknown = (
            sorted(key for key in inner if key not in allowed) if isinstance(inner, dict) else []
        )
        if unknown:
            yield _refused(row, unknown, older=older)
    if not removed:
        return
    version = deepspeed_keys.DEEPSPEED_VERSION
    zero = value_at(values, ("zero_optimization",))
    gone = [key for key in sorted(deepspeed_keys.REMOVED) if key in values]
    gone += [
        f"zero_optimization.{key}"
        for key in sorted(deepspeed_keys.ZERO_REMOVED)
        if isinstance(zero, dict) and key in zero
    ]
    if gone:
        yield severe(
            tuple(gone[0].split(".")),
            f"has {', '.join(gone)}",
            f"DeepSpeed {version} has no such feature any more and raises on every rank.",
            "remove it.",
        )


def _refused(row: deepspeed_keys.Strict, unknown: list[str], *, older: bool) -> Defect:
    """Keys that a section's model does not know: refused, or never read by a DeepSpeed that is older than the model.

    NExT-GPT 60d618b dsconfig/stage_1.json:18: `opt_level` is apex's, and asks DeepSpeed for nothing.
    """
    since = ".".join(map(str, row.since))
    saw = f"{'.'.join(row.path)} has unknown {named(unknown, row.keys)}"
    why = f"DeepSpeed {since} and later allow no other key there and raise on every rank."
    if older:
        why = f"the DeepSpeed that the project asks for never reads it, and {since} and later raise on every rank."
    meant = "did you mean" in saw
    do = "correct or remove it."
    return Defect((*row.path, unknown[0]), not older, saw, why, do, mended=older and not meant)


def bounds(values: Mapping[str, Any]) -> Iterator[Defect]:
    """Values outside of what DeepSpeed takes."""
    for bound in deepspeed_keys.BOUNDS:
        value = value_at(values, bound.path)
        if value is not None and value != "auto" and not bound.kind.takes(value):
            yield severe(
                bound.path,
                f"{'.'.join(bound.path)} is {value!r}",
                "DeepSpeed refuses it on every rank.",
                f"{bound.kind.words()}.",
            )


def value_at(values: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    """The value at a path of keys; None where there is none."""
    found: Any = values
    for key in path:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def _asks_for_nothing(values: Mapping[str, Any], value: Any) -> bool:
    """Whether nothing is missed of what a key asks for: it is off, or its section sets what the file sets itself.

    SLAM-LLM a68e78f examples/aispeech_asr/conf/ds_config.json:35: `"checkpoint_activations": false`; GRiT 39b33db
    train_deepspeed.py:88: `'logging': {'steps_per_print': 200000}` below `'steps_per_print'`.
    """
    if isinstance(value, dict):
        return all(key in values and key in deepspeed_keys.TOP_LEVEL for key in value)
    return value is None or value is False


def _is_note(key: str) -> bool:
    """JSON has no comments: people write them as keys."""
    return key.startswith(("_", "#", "//", "comment"))


def stage_of(values: Mapping[str, Any]) -> int | None:
    """The ZeRO stage; None where the file does not say it."""
    zero = values.get("zero_optimization")
    stage = zero.get("stage", 0) if isinstance(zero, dict) else None
    return stage if isinstance(stage, int) else None


def alone(values: Mapping[str, Any]) -> Iterator[Defect]:
    """What does not go together."""
    zero = values.get("zero_optimization")
    if not isinstance(zero, dict):
        # accelerate 1.15.0 utils/dataclasses.py, DeepSpeedPlugin.__post_init__
        yield severe(
            (),
            "has no zero_optimization",
            "accelerate raises ValueError on every rank.",
            '"zero_optimization": {"stage": 2}',
        )
        return
    stage = zero.get("stage", 0)
    if _enabled(values, "fp16") and _enabled(values, "bf16"):
        # deepspeed 0.19.8 runtime/config.py, _initialize_params
        yield severe(
            ("bf16", "enabled"),
            "fp16 and bf16 are both enabled",
            "DeepSpeed asserts that only one is.",
            'leave one, or set both to "auto" for accelerate to decide.',
        )
    for precision in ("fp16", "bf16"):
        if _enabled(values, "torch_autocast") and _enabled(values, precision):
            # deepspeed 0.19.8 runtime/torch_autocast.py, _validate_auto_cast_settings
            yield severe(
                (precision, "enabled"),
                f"torch_autocast and {precision} are both enabled",
                "DeepSpeed asserts that only one is.",
                "leave one.",
            )
        if _enabled(values, "amp") and _enabled(values, precision):
            yield severe(
                ("amp", "enabled"),
                f"amp and {precision} are both enabled",
                "two ways of mixed precision: DeepSpeed refuses to start.",
                "remove amp.",
            )
    devices = {part: _device(zero, f"offload_{part}") for part in ("param", "optimizer")}
    places = {part: ("zero_optimization", f"offload_{part}", "device") for part in devices}
    yield from offload(str(stage), devices, places)
    for part in ("offload_param", "offload_optimizer"):
        section = zero.get(part)
        if _device(zero, part) == "nvme" and not (
            isinstance(section, dict) and section.get("nvme_path")
        ):
            yield severe(
                ("zero_optimization", part),
                f"{part} to nvme without nvme_path",
                "DeepSpeed has no place to write to.",
                '"nvme_path": "/local_nvme"',
            )


def batch(
    values: Mapping[str, Any], world: int | None, *, steps_left_out: int | None
) -> Iterator[Defect]:
    """deepspeed 0.19.8 runtime/config.py, _batch_assertion: the product must be exact.

    What is "auto", or left out, is computed and must come out even.

    Args:
        values: the file.
        world: the processes.
        steps_left_out: what gradient_accumulation_steps become where the file does not name them: accelerate, and
            transformers' Trainer through it, write 1 (DeepSpeedPlugin.__post_init__); None where DeepSpeed
            computes them, from a file that nobody else reads.
    """
    train = values.get("train_batch_size")
    micro = values.get("train_micro_batch_size_per_gpu")
    steps = values.get("gradient_accumulation_steps", steps_left_out)
    if not isinstance(train, int) or world is None or train < 1:
        return
    for parallel in (
        values.get("sequence_parallel_size"),
        value_at(values, ("tensor_parallel", "autotp_size")),
    ):
        if isinstance(parallel, int) and parallel > 1:
            world = max(1, world // parallel)
    known = {"per GPU": micro, "steps": steps}
    factors = {name: n for name, n in known.items() if isinstance(n, int) and n > 0}
    product = math.prod(factors.values()) * world
    shown = " x ".join([*(f"{n} {name}" for name, n in factors.items()), f"{world} processes"])
    if train % product or (len(factors) == len(known) and train != product):
        yield severe(
            ("train_batch_size",),
            f"train_batch_size {train}, but {shown} = {product}",
            "DeepSpeed asserts that it is the product of all, on every rank.",
            'leave train_batch_size out, or set it to "auto".',
        )


def against_accelerate(
    values: Mapping[str, Any], accelerate: Mapping[str, Any]
) -> Iterator[Defect]:
    section = section_of(accelerate, "deepspeed_config")
    if section.get("deepspeed_config_file"):
        # accelerate 1.15.0: commands/launch.py collects the section's keys (and mixed_precision
        # where the file gives it), _deepspeed_config_checks refuses these.
        refused = [key for key in keys.IGNORED_WITH_DEEPSPEED_FILE if key in section]
        if accelerate.get("mixed_precision") is not None:
            refused.append("mixed_precision")
        if refused:
            yield severe(
                (),
                f"accelerate's configuration has {', '.join(refused)} beside deepspeed_config_file",
                "accelerate raises ValueError on every rank: such values belong into the JSON.",
                "remove them from accelerate's configuration.",
            )
    elif accelerate.get("distributed_type") not in (None, "DEEPSPEED"):
        yield mild(
            (),
            f"is given and distributed_type is {accelerate.get('distributed_type')}",
            "accelerate launch does not read it.",
            "distributed_type: DEEPSPEED with deepspeed_config_file in deepspeed_config.",
        )
    precision = accelerate.get("mixed_precision")
    other = {"fp16": "bf16", "bf16": "fp16"}.get(str(precision))
    if other is not None and _enabled(values, other):
        yield severe(
            (other, "enabled"),
            f"enables {other}, accelerate's configuration says {precision}",
            "accelerate raises ValueError on every rank.",
            'set "enabled": "auto" in the JSON, or make them agree.',
        )
    init = section.get("zero3_init_flag")
    if init is True and stage_of(values) not in (3, None):
        yield mended(
            ("zero_optimization", "stage"),
            f"zero3_init_flag is true with ZeRO stage {stage_of(values)}",
            "accelerate switches it off with a warning.",
            "zero3_init_flag: false",
        )


def _enabled(values: Mapping[str, Any], section: str) -> bool:
    inner = values.get(section)
    return isinstance(inner, dict) and str(inner.get("enabled", "false")).lower() == "true"


def _device(zero: Mapping[str, Any], part: str) -> str:
    inner = zero.get(part)
    return str(inner.get("device", "none")) if isinstance(inner, dict) else "none"
