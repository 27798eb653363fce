"""What the machine is, for the record: versions and devices, no host name."""

from __future__ import annotations

import os
import platform
from dataclasses import asdict, dataclass
from importlib import metadata
from typing import Any

from distlint.hardware.gpus import GpuQueryError, installed_gpus

_LIBRARIES = ("accelerate", "transformers", "peft", "deepspeed", "numpy")


@dataclass(frozen=True, slots=True)
class GpuRow:
    """One GPU: its name, memory in bytes, compute capability as ``9.0``."""

    name: str
    memory: int
    compute: str


@dataclass(frozen=True, slots=True)
class MachineRecord:
    """Versions and devices. `visible_gpus` is what torch sees, `gpus` what the driver has."""

    distlint: str
    python: str
    system: str
    cores: int
    torch: str
    cuda: str | None
    nccl: str | None
    driver: str | None
    visible_gpus: int
    gpus: tuple[GpuRow, ...]
    libraries: dict[str, str]

    def as_object(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    @property
    def title(self) -> str:
        """One line: versions, then devices."""
        parts = [f"distlint {self.distlint}", f"torch {self.torch}"]
        parts += [f"NCCL {self.nccl}"] if self.nccl else ["no NCCL"]
        parts += [f"driver {self.driver}"] if self.driver else []
        parts += [f"Python {self.python}", self.system, f"{self.cores} cores"]
        names = [gpu.name for gpu in self.gpus]
        parts += [f"{names.count(name)} x {name}" for name in dict.fromkeys(names)] or ["no GPU"]
        return " · ".join(parts)


def machine_record() -> MachineRecord:
    """This machine. Imports torch. Raises ImportError where torch is not installed."""
    import torch
    import torch.distributed as dist

    try:
        gpus = installed_gpus()
    except GpuQueryError:
        gpus = ()
    nccl = None
    if dist.is_available() and dist.is_nccl_available():
        nccl = ".".join(str(part) for part in torch.cuda.nccl.version())  # type: ignore[no-untyped-call]
    return MachineRecord(
        distlint=metadata.version("distlint"),
        python=platform.python_version(),
        system=f"{platform.system()} {platform.machine()}",
        cores=os.cpu_count() or 1,
        torch=str(torch.__version__),
        cuda=torch.version.cuda,
        nccl=nccl,
        driver=gpus[0].driver if gpus else None,
        visible_gpus=torch.cuda.device_count() if torch.cuda.is_available() else 0,
        gpus=tuple(
            GpuRow(gpu.name, gpu.memory, f"{gpu.compute[0]}.{gpu.compute[1]}") for gpu in gpus
        ),
        libraries=_versions(),
    )


def _versions() -> dict[str, str]:
    installed = {}
    for name in _LIBRARIES:
        try:
            installed[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return installed
