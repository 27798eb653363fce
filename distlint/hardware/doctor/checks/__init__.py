"""The table of checks, in the order in which they are shown; one module for each group."""

from __future__ import annotations

from distlint.hardware.doctor.check import Check
from distlint.hardware.doctor.checks import (
    accelerate,
    allocator,
    collectives,
    config_sections,
    deepspeed,
    devices,
    job,
    launcher,
    limits,
    scheduler,
    settings,
    storage,
    strategy,
    variable_names,
    versions,
)

CHECKS: tuple[Check, ...] = (
    *devices.CHECKS,
    *allocator.CHECKS,
    *launcher.CHECKS,
    *scheduler.CHECKS,
    *accelerate.CHECKS,
    *config_sections.CHECKS,
    *deepspeed.CHECKS,
    *collectives.CHECKS,
    *settings.CHECKS,
    *variable_names.CHECKS,
    *limits.CHECKS,
    *storage.CHECKS,
    *versions.CHECKS,
    *job.CHECKS,
    *strategy.CHECKS,
)
