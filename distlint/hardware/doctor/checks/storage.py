"""The directory for checkpoints: room for one, and whether it can replace the last one safely."""

from __future__ import annotations

from collections.abc import Iterator

from distlint.hardware.doctor.check import Check, Result, error, ok, skipped, warning
from distlint.hardware.doctor.machine import Machine, Unknown

_GIB = 1 << 30

# Weights and Adam's two moments, in fp32: what a resumable checkpoint holds for a parameter.
_BYTES_PER_PARAMETER = 12
_SLOW_S = 2.0


def checkpoints(machine: Machine) -> Iterator[Result]:
    """Room and atomic rename in --checkpoint-dir."""
    facts = machine.storage
    if isinstance(facts, Unknown):
        if facts.failed:
            yield error(
                facts.reason,
                "a file server that does not answer stops every rank that saves, and the others "
                "wait for it.",
                "look at the mount (df, dmesg); save elsewhere.",
            )
        else:
            yield skipped(facts.reason)
        return
    if facts.write_error:
        yield error(
            f"{facts.path}: {facts.write_error}",
            "the first checkpoint fails after all the training before it.",
            "choose a directory that this user can write to.",
        )
        return
    if facts.rename_error:
        yield error(
            f"{facts.path}: a file cannot replace another: {facts.rename_error}",
            "a checkpoint cannot be written beside the old one and swapped in: a crash while "
            "saving destroys both.",
            "save to a local or POSIX file system and copy from there.",
        )
        return
    on = f" ({facts.file_system})" if facts.file_system else ""
    saw = f"{facts.path}{on}: {facts.free / _GIB:.1f} GiB free, rename replaces files"
    if not facts.exists:
        saw += "; it does not exist yet, its parent was tried"
    parameters = machine.options.parameters
    needed = 2 * _BYTES_PER_PARAMETER * parameters if parameters else 0
    if needed > facts.free:
        yield error(
            f"{saw}; two checkpoints take {needed / _GIB:.1f} GiB",
            "the old one must stay until the new one is complete: the disk fills while saving.",
            "free space, or save to another disk.",
        )
    elif facts.seconds > _SLOW_S:
        yield warning(
            f"{saw}; 1 MiB took {facts.seconds:.1f} s",
            "all ranks wait while rank 0 saves, and may reach the collective timeout.",
            "save to a local disk and copy from there.",
        )
    else:
        yield ok(saw)


CHECKS = (Check("checkpoints", "storage", checkpoints),)
