"""The GPUs that the driver shows."""

from __future__ import annotations

from distlint.hardware.doctor.machine import Options, Unknown
from distlint.hardware.doctor.patience import patience
from distlint.hardware.gpus import Gpu, GpuQueryError, installed_gpus


def look(options: Options) -> tuple[Gpu, ...] | Unknown:
    """All installed GPUs; Unknown where nvidia-smi hangs or fails."""
    try:
        return installed_gpus(limit_s=5.0 * patience())
    except GpuQueryError as problem:
        return Unknown(str(problem), failed=True)
