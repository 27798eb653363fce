"""Texts of errors that a check of the doctor answers, by the name of the check."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

ERRORS: Final[Mapping[str, tuple[str, ...]]] = {
    "master-port": ("Address already in use", "EADDRINUSE"),
    "launcher-variables": (
        "environment variable RANK expected, but not set",
        "The client socket has timed out after",
    ),
    "device-map": (
        "You can't train a model that has been loaded with `device_map='auto'` in any distributed mode",
    ),
    "host-names": ("Name or service not known", "Temporary failure in name resolution"),
    "config-on-this-machine": ("invalid device ordinal", "Duplicate GPU detected : rank"),
    "accelerate-config": ("The config file at ... had unknown keys",),
    "deepspeed-json": (
        "Check batch related parameters. train_batch_size is not equal to",
        "Please correct the following DeepSpeed config values that mismatch TrainingArguments values",
    ),
    "communication-settings": ("no socket interface found", "NCCL WARN Bootstrap"),
    "shared-memory": ("Bus error", "unable to mmap", "No space left on device"),
    "memory": ("CUDA out of memory", "exitcode: -9", "exitcode  : -9", "exitcode -9", "oom-kill"),
    "ulimits": ("Too many open files", "received 0 items of ancdata"),
    "allocator": ("CUDA out of memory",),
}
"""Rows for checks that exist: a test compares the names."""
