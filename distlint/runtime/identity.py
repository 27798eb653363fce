"""Who this process is: rank, world size, place on the machine, device.

The answers come from torch.distributed and the launcher's variables, never from accelerate:
under ``torchrun --nproc-per-node 2`` on a machine without a GPU its state says "main process of 1"
on both ranks (accelerate 1.15.0, state.py, measured).
"""

from __future__ import annotations

import os
import platform
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

LAUNCHERS = (
    ("WORLD_SIZE", "RANK"),  # torchrun, accelerate launch, deepspeed
    ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),  # Open MPI, mpirun(1)
    ("MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK"),  # MVAPICH2 user guide
    ("PMI_SIZE", "PMI_RANK"),  # MPICH and Intel MPI, Hydra
    # srun(1): of the tasks of this step. SLURM_NTASKS is there in a batch script as well, which is one process.
    ("SLURM_STEP_NUM_TASKS", "SLURM_PROCID"),
    ("JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_RANK"),  # IBM jsrun
)
"""What launchers say of their processes: how many there are, and which this is. The first counts."""

LOCAL_RANK_VARIABLES = (
    "LOCAL_RANK",  # torchrun, accelerate launch, deepspeed
    "OMPI_COMM_WORLD_LOCAL_RANK",  # Open MPI, mpirun(1)
    "MV2_COMM_WORLD_LOCAL_RANK",  # MVAPICH2 user guide
    "MPI_LOCALRANKID",  # Intel MPI
    "SLURM_LOCALID",  # srun(1)
    "JSM_NAMESPACE_LOCAL_RANK",  # IBM jsrun
)


def is_initialized() -> bool:
    """Whether this process has a default process group. Not collective, imports nothing."""
    distributed = sys.modules.get("torch.distributed")
    return distributed is not None and distributed.is_available() and distributed.is_initialized()


def rank() -> int:
    """The global rank of this process. Not collective.

    Of the default group where there is one; else what the launcher says (`LAUNCHERS`) where it has
    started more than one process; else 0.

    Raises:
        ValueError: a launcher's variable is not a number.
    """
    if is_initialized():
        return int(sys.modules["torch.distributed"].get_rank())
    if _launched() == 1:
        return 0
    set_here = (place for _, place in LAUNCHERS if place in os.environ)
    return _number(next(set_here, "RANK"), 0)


def world_size() -> int:
    """How many processes take part: of the default group, else what the launcher says, else 1.

    Not collective. Raises ValueError where the launcher's variable is not a number.
    """
    if is_initialized():
        return int(sys.modules["torch.distributed"].get_world_size())
    return _launched()


def size_variable() -> str:
    """The variable that says how many processes the launcher has started."""
    return next((size for size, _ in LAUNCHERS if size in os.environ), LAUNCHERS[0][0])


def _launched() -> int:
    return max(_number(size_variable(), 1), 1)


def local_rank() -> int:
    """The place of this process among those of its machine. Not collective.

    0 on one process; else what the launcher says (`LOCAL_RANK_VARIABLES`); else the global rank,
    which is right on one machine, the only case where processes start without a launcher.
    """
    if world_size() == 1:
        return 0
    for name in LOCAL_RANK_VARIABLES:
        if name in os.environ:
            return _number(name, 0)
    return rank()


def current_device() -> torch.device:
    """The device that this process computes on. Not collective; imports torch.

    The accelerator's current device where the process already uses one, else the one with the
    local rank's index, else the CPU.
    """
    import torch

    if not torch.cuda.is_available():
        return torch.device("cpu")
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        return torch.device("cuda", torch.cuda.current_device())
    return torch.device("cuda", local_rank() % torch.cuda.device_count())


@dataclass(frozen=True, slots=True)
class RankInfo:
    """Who a process is; ``str()`` of it is meant for log lines."""

    rank: int
    world_size: int
    local_rank: int
    host: str
    device: str

    def __str__(self) -> str:
        return (
            f"rank {self.rank}/{self.world_size} (local {self.local_rank}) "
            f"on {self.host}, {self.device}"
        )


def rank_info() -> RankInfo:
    """Names this process for log lines: ``rank 1/4 (local 1) on node7, cuda:1``.

    Not collective. Works uninitialised. Initialises no GPU. In a process that has not imported
    torch the device is ``cpu``.

    Raises:
        ValueError: RANK, WORLD_SIZE or LOCAL_RANK is set to something that is not a number.
    """
    device = str(current_device()) if "torch" in sys.modules else "cpu"
    return RankInfo(rank(), world_size(), local_rank(), platform.node(), device)


def _number(name: str, default: int) -> int:
    text = os.environ.get(name)
    if text is None:
        return default
    try:
        return int(text)
    except ValueError:
        raise ValueError(
            f"the environment variable {name} is {text!r}, not a number: "
            "set it as the launcher would, or unset it"
        ) from None
