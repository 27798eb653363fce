"""The sections of accelerate's configuration: read at all, keys and values, what goes together."""

from __future__ import annotations

from collections.abc import Iterator

from distlint.hardware.doctor.check import Check, Result, ok, skipped, told
from distlint.hardware.doctor.machine import Machine, Unknown
from distlint.launch.accelerate import sections


def config_sections(machine: Machine) -> Iterator[Result]:
    """The sections against distributed_type, and what is in them."""
    values = machine.accelerate
    if isinstance(machine.config, Unknown) or not values:
        yield skipped("no configuration")
        return
    path = machine.config.accelerate.path
    found = [told(path, defect) for defect in sections(values)]
    yield from found or [ok(f"{path}: sections and distributed_type go together")]


CHECKS = (Check("config-sections", "accelerate", config_sections),)
