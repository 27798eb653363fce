"""The DeepSpeed JSON: readable, without contradictions, and in agreement with accelerate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from distlint.hardware.doctor.check import Check, Result, error, ok, skipped, told
from distlint.hardware.doctor.machine import Machine, Unknown
from distlint.hardware.version_numbers import satisfies
from distlint.knowledge.configuration import deepspeed_keys
from distlint.launch.deepspeed import (
    against_accelerate,
    alone,
    batch,
    bounds,
    names,
    stage_of,
)


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
    installed = _installed(machine)
    removed = installed is None or satisfies(installed, f">={deepspeed_keys.DEEPSPEED_VERSION}")
    found = [
        *names(file.values, removed=removed),
        *bounds(file.values),
        *alone(file.values),
        *batch(file.values, machine.world_size, steps_left_out=1),
        *against_accelerate(file.values, values),
    ]
    results = [told(file.path, defect) for defect in found]
    yield from results or [ok(f"{file.path}: ZeRO stage {stage_of(file.values)}")]


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


def _installed(machine: Machine) -> str | None:
    packages = () if isinstance(machine.packages, Unknown) else machine.packages
    return next((one.version for one in packages if one.name == "deepspeed"), None)


CHECKS = (Check("deepspeed-json", "accelerate", deepspeed_json),)
